/*
 * Unmapping a range: munmap(), exit, MADV_DONTNEED (Linux mm/memory.c, mm/swap_state.c).
 *
 * Each leaf table is emptied under one hold of its lock. The pages are gathered, with the references
 * their ptes held, until the stale translations have been flushed; then their swap cache copies are
 * dropped where nobody needs them and they are freed together. Swap entries are freed on the spot.
 *
 * As Linux 4.0, whose mmu_gather is still today's in all that matters here: a gather holds 8 pages
 * and then up to 19 frames full of pointers, taken with GFP_NOWAIT. When none is left, or to be had,
 * the gather is flushed and freed in the middle of the range.
 */
#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/mlock.h"
#include "core/swap.h"

int gather_init(struct machine *m)
{
	/* No more at once than tasks that zap, times batches; only used ones are ever committed. */
	return pool_init(&m->gather_pool, sizeof(struct mmu_gather_batch), 1u << 22, "mmu_gather");
}

void gather_destroy(struct machine *m)
{
	pool_destroy(&m->gather_pool);
}

static void gather_rewind(struct mmu_gather *tlb)
{
	tlb->nr_local = 0;
	tlb->last = NULL;
	tlb->cursor = tlb->local;
	tlb->limit = tlb->local + MMU_GATHER_BUNDLE;
	tlb->start = TASK_SIZE;
	tlb->end = 0;
}

void tlb_gather_mmu(struct mmu_gather *tlb, struct machine *m, struct mm_struct *mm, bool fullmm)
{
	tlb->m = m;
	tlb->mm = mm;
	tlb->fullmm = fullmm;
	tlb->atomic = false;
	tlb->first = NULL;
	tlb->nr_batches = 0;
	gather_rewind(tlb);
}

/* Pages in the present batch. */
static u32 gather_fill(const struct mmu_gather *tlb)
{
	struct page *const *begin = tlb->last ? tlb->last->pages : tlb->local;

	return (u32)(tlb->cursor - begin);
}

static void gather_close_batch(struct mmu_gather *tlb)
{
	if (tlb->last)
		tlb->last->nr = gather_fill(tlb);
	else
		tlb->nr_local = gather_fill(tlb);
}

/* Makes room after the present batch has filled up; false: flush first. Never switches tasks. */
static bool tlb_next_batch(struct mmu_gather *tlb)
{
	struct mmu_gather_batch *next = tlb->last ? tlb->last->next : tlb->first;

	gather_close_batch(tlb);
	if (!next) {
		struct page *frame;

		if (tlb->nr_batches == MMU_GATHER_BATCH_COUNT)
			return false;
		frame = alloc_page(tlb->m, GFP_NOWAIT | __GFP_NOWARN);
		if (!frame)
			return false;
		next = pool_ptr_or_null(&tlb->m->gather_pool, pool_alloc(&tlb->m->gather_pool));
		VM_BUG_ON(!next);
		next->frame = frame;
		tlb->nr_batches += 1;
		if (tlb->last)
			tlb->last->next = next;
		else
			tlb->first = next;
	}
	tlb->last = next;
	tlb->cursor = next->pages;
	tlb->limit = next->pages + MMU_GATHER_BATCH;
	return true;
}

/* False: it was gathered, but no other can be before the gather has been flushed. */
static inline bool __tlb_remove_page(struct mmu_gather *tlb, struct page *page)
{
	VM_BUG_ON(tlb->cursor == tlb->limit);
	*tlb->cursor++ = page;
	return likely(tlb->cursor < tlb->limit) || tlb_next_batch(tlb);
}

bool tlb_remove_page(struct mmu_gather *tlb, struct page *page)
{
	return __tlb_remove_page(tlb, page);
}

/* Drops the page's swap slot if it is the last user: trylock, as the caller must not sleep. */
static void free_swap_cache(struct machine *m, struct page *page)
{
	if (likely(!(page->flags & (1u << PG_swapcache | 1u << PG_compound))))
		return;
	page = compound_head(page);
	if (page_test(page, PG_swapcache) && !page_mapped(page) && trylock_page(m, page)) {
		try_to_free_swap(m, page);
		unlock_page(m, page);
	}
}

static void free_pages_and_swap_cache(struct machine *m, struct page **pages, u32 nr)
{
	/* Pages still in the CPU's add batch have a reference more, and would not be freed here. */
	lru_add_drain(m);
	for (u32 i = 0; i < nr; i++)
		free_swap_cache(m, pages[i]);
	release_pages(m, pages, nr);
}

static void tlb_flush_mmu_tlbonly(struct mmu_gather *tlb)
{
	if (tlb->start >= tlb->end)
		return;
	if (tlb->fullmm)
		world_tlb_flush(&tlb->mm->as, 0, TASK_SIZE);
	else
		world_tlb_flush(&tlb->mm->as, tlb->start, tlb->end);
	tlb->start = TASK_SIZE;
	tlb->end = 0;
}

static void tlb_flush_mmu_free(struct mmu_gather *tlb)
{
	struct mmu_gather_batch *last = tlb->last;

	gather_close_batch(tlb);
	if (tlb->nr_local)
		free_pages_and_swap_cache(tlb->m, tlb->local, tlb->nr_local);
	for (struct mmu_gather_batch *b = last ? tlb->first : NULL; b; b = b->next) {
		if (b->nr)
			free_pages_and_swap_cache(tlb->m, b->pages, b->nr);
		if (b == last)
			break;
	}
	gather_rewind(tlb);
}

void tlb_flush_mmu(struct mmu_gather *tlb)
{
	tlb_flush_mmu_tlbonly(tlb);
	tlb_flush_mmu_free(tlb);
}

void tlb_finish_mmu(struct mmu_gather *tlb)
{
	struct mmu_gather_batch *b, *next;

	tlb_flush_mmu(tlb);
	for (b = tlb->first; b; b = next) {
		next = b->next;
		__free_pages(tlb->m, b->frame, 0);
		pool_free(&tlb->m->gather_pool, pool_index(&tlb->m->gather_pool, b));
	}
}

/* ---- emptying tables ------------------------------------------------------------------------- */

#define ZAP_NO_ZONE ~0u

/* What one hold of a leaf table's lock has to account for. */
struct zap_count {
	long rss[NR_MM_COUNTERS];
	u32 nr_ptes;       /* looked at and not yet charged */
	u32 nr_present;    /* pages unmapped and not yet charged */
	u32 zone_key;      /* the zone whose pages are being counted, as in page->flags */
	long nr_mapped;    /* pages of it that lost their last pte */
	struct page *huge; /* some of it was unmapped: is all of it? */
	const struct page *
		accessed; /* the last large folio that was marked as used: once for its run of entries */
};

static noinline void zap_account_mapped(struct machine *m, struct zap_count *c)
{
	if (c->nr_mapped)
		mod_node_state(zone_of_key(m, c->zone_key), NR_ANON_MAPPED, -c->nr_mapped);
	c->nr_mapped = 0;
}

/* NR_ANON_MAPPED falls once for each run of pages of a zone: sums commute. */
static inline void zap_count_mapped(struct machine *m, struct zap_count *c, const struct page *page)
{
	u32 key = page->flags >> PAGE_ZONE_SHIFT;

	if (unlikely(key != c->zone_key)) {
		zap_account_mapped(m, c);
		c->zone_key = key;
	}
	c->nr_mapped += 1;
}

/* What of the huge page just left behind is still mapped? (6.2 on, see defers_at_once().) */
static void zap_leave_huge(struct machine *m, struct zap_count *c)
{
	if (c->huge && page_is_head(c->huge) && c->huge[1].total_mapcount)
		deferred_split_huge_page(m, c->huge);
	c->huge = NULL;
}

/* A page of a huge page. Its reference, which is the head's, is gathered as others'. */
static noinline void zap_compound(struct machine *m, struct zap_count *c, struct page *page)
{
	struct page *head = compound_head(page);

	if (!__page_remove_rmap_compound(page))
		return;
	zap_count_mapped(m, c, head);
	if (defers_at_once(m)) {
		deferred_split_huge_page(m, head);
		return;
	}
	if (c->huge != head)
		zap_leave_huge(m, c);
	c->huge = head;
}

static void zap_charge(struct zap_count *c)
{
	charge_n(COST_PTE, c->nr_ptes);
	charge_n(COST_PAGE_LINE, c->nr_present);
	charge_n(COST_PAGE_FLAG, c->nr_present);
	c->nr_ptes = 0;
	c->nr_present = 0;
}

static void zap_account(struct mmu_gather *tlb, struct zap_count *c)
{
	zap_charge(c);
	zap_leave_huge(tlb->m, c);
	zap_account_mapped(tlb->m, c);
	for (int i = 0; i < NR_MM_COUNTERS; i++) {
		if (c->rss[i]) {
			atomic_long_add(c->rss[i], &tlb->mm->rss[i]);
			charge(COST_RSS);
		}
	}
}

/*
 * How far ahead the struct pages are fetched. What limits a zap is host memory latency on them, as
 * it is on a real machine.
 */
#define ZAP_PREFETCH 12

static inline void zap_prefetch(const struct machine *m, const pte_t *pte)
{
	if (pte_present(*pte))
		__builtin_prefetch(pfn_to_page(m, pte_pfn(*pte)), 1);
}

/*
 * Frees the swap slots of the entry at @pte and of those after it, at most @max in all, that name the slots
 * after its own. Charges first: the calls look at shared state. Returns how many entries are done with.
 */
static u32 zap_swap_entries(struct mmu_gather *tlb, struct zap_count *c, pte_t *pte, u64 va,
                            u32 max)
{
	pte_t entry = *pte;
	u32 nr = pte_swap(entry) ? swap_pte_batch(tlb->m, pte, max) : 1;

	if (unlikely(tlb->m->world->check)) /* other threads may have written until now */
		world_contents_zero(&tlb->mm->as, va, va + ((u64)nr << PAGE_SHIFT), false);
	for (u32 i = 0; i < nr; i++)
		pte[i] = (pte_t){0};
	if (pte_migration(entry)) { /* whoever set it has the page's references */
		c->rss[migration_counter(tlb->m, entry)] -= 1;
		return 1;
	}
	c->nr_ptes += nr - 1;
	c->rss[MM_SWAPENTS] -= nr;
	zap_charge(c);
	if (nr == 1)
		free_swap_and_cache(tlb->m, pte_to_swp_entry(entry));
	else
		free_swap_and_cache_nr(tlb->m, pte_to_swp_entry(entry), nr);
	return nr;
}

/* @page is of a large folio of which an entry of the same run has been zapped, and was young. */
static bool was_accessed(struct zap_count *c, struct page *page)
{
	const struct page *head = compound_head(page);

	if (likely(!page_is_compound(page)))
		return false;
	if (head == c->accessed)
		return true;
	c->accessed = head;
	return false;
}

/*
 * A page of a file: what the entry knew of its use goes to the page, which stays in the cache. One that
 * was dirty must be flushed before the table's lock is dropped, or a CPU could go on writing to a page
 * that is being cleaned: false, as if the gather were full.
 */
static bool zap_file_page(struct mmu_gather *tlb, struct zap_count *c, struct page *page,
                          pte_t entry)
{
	struct machine *m = tlb->m;
	bool dirty = pte_dirty(entry);

	zap_charge(c);
	if (dirty)
		set_page_dirty(m, page);
	if (pte_young(entry) && !tlb->seq_read && !was_accessed(c, page))
		mark_page_accessed(m, compound_head(page));
	c->rss[MM_FILEPAGES] -= 1;
	charge2(COST_PAGE_LINE, COST_PAGE_FLAG);
	if (unlikely(page_is_compound(page)) ? __page_remove_rmap_compound(page)
	                                     : __page_remove_rmap(page))
		mod_node_state(page_zone(m, page), NR_FILE_MAPPED, -1);
	tlb->force_flush |= dirty;
	return __tlb_remove_page(tlb, page) && !dirty;
}

/*
 * The entries from @pte on, at most @max, that map a single anonymous page of the zone being counted, and are
 * the only ones that do: nearly all. What they have in common is accounted once, so that a page costs 32
 * instructions and not 73. Returns how many; one place of the gather stays free. There must be such a zone:
 * ZAP_NO_ZONE, shifted, could be another's flags.
 */
static u32 zap_anon_run(struct mmu_gather *tlb, struct zap_count *c, pte_t *pte, u32 max)
{
	struct page *map = tlb->m->mem_map;
	struct page **cursor = tlb->cursor;
	u32 alike = 1u << PG_compound | ~0u << PAGE_ZONE_SHIFT; /* flags: not set, and the zone's */
	u32 zone_flags = c->zone_key << PAGE_ZONE_SHIFT;
	u32 last_fetch = max > ZAP_PREFETCH ? max - ZAP_PREFETCH : 0;
	u32 nr;

	max = min(max, (u32)(tlb->limit - cursor) - 1);
	for (nr = 0; nr < max; nr++) {
		pte_t entry = pte[nr];
		struct page *page = map + pte_pfn(entry);

		if (unlikely((entry.v & (PTE_PRESENT | PTE_SPECIAL)) != PTE_PRESENT ||
		             (page->flags & alike) != zone_flags || !page_is_anon(page) ||
		             page->mapcount != 1))
			break;
		if (nr < last_fetch) /* if it maps nothing, no harm is done */
			__builtin_prefetch(map + pte_pfn(pte[nr + ZAP_PREFETCH]), 1);
		page->mapcount = 0;
		pte[nr] = (pte_t){0};
		*cursor++ = page;
	}
	tlb->cursor = cursor;
	c->nr_ptes += nr;
	c->nr_present += nr;
	c->nr_mapped += nr;
	c->rss[MM_ANONPAGES] -= nr;
	return nr;
}

/*
 * Empties [@va, @end) of a leaf table, lock held; returns where it stopped, which is before @end
 * only if the gather is full.
 */
static u64 zap_locked(struct mmu_gather *tlb, u32 table, u64 va, u64 end)
{
	struct machine *m = tlb->m;
	struct zap_count c = {.zone_key = ZAP_NO_ZONE};
	u32 nr_used = m->table[table].nr_used;
	u64 first = end; /* what was mapped, */
	u64 last = va;   /* to be flushed */
	pte_t *pte = pt_entry(m, table, va);
	pte_t *prefetch_end = pte + ((end - va) >> PAGE_SHIFT) -
	                      min_t(u64, (end - va) >> PAGE_SHIFT, ZAP_PREFETCH);
	bool check = m->world->check;
	bool room = true;

	for (; va != end && nr_used && room; va += PAGE_SIZE, pte++) {
		pte_t entry = *pte;
		struct page *page;
		u32 nr;

		if (likely(!check && pte_present(entry) && c.zone_key != ZAP_NO_ZONE)) {
			nr = zap_anon_run(tlb, &c, pte,
			                  min(nr_used, (u32)((end - va) >> PAGE_SHIFT)));
			if (nr) {
				first = min(first, va);
				va += (u64)nr << PAGE_SHIFT;
				last = va;
				pte += nr;
				nr_used -= nr;
				if (va == end || !nr_used)
					break;
				entry = *pte;
			}
		}
		c.nr_ptes += 1;
		if (pte < prefetch_end)
			zap_prefetch(m, pte + ZAP_PREFETCH);
		if (pte_none(entry))
			continue;
		if (unlikely(!pte_present(entry))) {
			nr = zap_swap_entries(tlb, &c, pte, va, (u32)((end - va) >> PAGE_SHIFT));
			nr_used -= nr;
			va += (u64)(nr - 1) << PAGE_SHIFT;
			pte += nr - 1;
			continue;
		}
		if (unlikely(check)) /* other threads may have written until now */
			world_contents_zero(&tlb->mm->as, va, va + PAGE_SIZE, false);
		*pte = (pte_t){0};
		nr_used -= 1;
		first = min(first, va);
		last = va + PAGE_SIZE;
		if (unlikely(pte_special(entry)))
			continue;
		page = pfn_to_page(m, pte_pfn(entry));
		if (unlikely(!page_is_anon(page))) {
			room = zap_file_page(tlb, &c, page, entry);
			continue;
		}
		c.rss[MM_ANONPAGES] -= 1;
		c.nr_present += 1;
		if (page_is_compound(page)) {
			zap_compound(m, &c, page);
			/* The reference is the head's, and stays so if the page is split meanwhile (to 4.4). */
			page = compound_head(page);
		} else if (__page_remove_rmap(page)) {
			zap_count_mapped(m, &c, page);
		}
		room = __tlb_remove_page(tlb, page);
	}
	/* An empty rest of a table is still looked at, in Linux. */
	if (!nr_used && room) {
		c.nr_ptes += (u32)((end - va) >> PAGE_SHIFT);
		va = end;
	}
	m->table[table].nr_used = nr_used;
	if (first < last)
		tlb_remove_tlb_range(tlb, first, last);
	zap_account(tlb, &c);
	return va;
}

/* @mlocked (today): the VMA is VM_LOCKED, and is counted out at each page first. */
static void zap_pte_range(struct mmu_gather *tlb, u32 table, u64 va, u64 end, bool mlocked)
{
	while (va != end) {
		u64 stop = end;
		bool full;

		tlb->force_flush = false;
		spin_lock(&tlb->m->table[table].ptl);
		flush_tlb_batched_pending(tlb->mm);
		if (unlikely(mlocked)) { /* of those pages that go now, under the lock */
			stop = min(end, va + ((u64)(tlb->limit - tlb->cursor) << PAGE_SHIFT));
			munlock_ptes(tlb->m, table, va, stop);
		}
		va = zap_locked(tlb, table, va, stop);
		/* It may also have filled up with the last page of the range. */
		full = tlb->cursor == tlb->limit || tlb->force_flush;
		/* Before the lock goes: a page may be mapped anew while its old user still sees it. */
		if (full)
			tlb_flush_mmu_tlbonly(tlb);
		spin_unlock(&tlb->m->table[table].ptl);
		if (full)
			tlb_flush_mmu_free(tlb);
	}
}

void unmap_vma_range(struct mmu_gather *tlb, struct vm_area_struct *vma, u64 start, u64 end)
{
	u64 va = max(start, vma->vm_start);
	bool mlocked = vma->vm_flags & VM_LOCKED && mlock_today(tlb->m);
	u32 table;

	tlb->seq_read = vma->vm_flags & VM_SEQ_READ;
	end = min(end, vma->vm_end);
	while (va < end && (table = pt_next_leaf(tlb->m, tlb->mm, &va, end))) {
		u64 next = min(end, ALIGN_DOWN(va, PMD_SIZE) + PMD_SIZE);

		if (table != PT_HUGE)
			zap_pte_range(tlb, table, va, next, mlocked);
		else if (!zap_huge_pmd(tlb, vma, va, next))
			continue; /* a table now */
		va = next;
		if (!tlb->atomic)
			world_cond_resched();
	}
}

void zap_page_range(struct machine *m, struct vm_area_struct *vma, u64 start, u64 end)
{
	struct mmu_gather tlb;

	span_enter(SPAN_ZAP);
	lru_add_drain(m);
	tlb_gather_mmu(&tlb, m, vma->vm_mm, false);
	unmap_vma_range(&tlb, vma, start, end);
	tlb_finish_mmu(&tlb);
	world_contents_zero(&vma->vm_mm->as, start, end, true);
	span_exit();
}

void zap_file_range(struct machine *m, struct vm_area_struct *vma, u64 start, u64 end)
{
	struct mmu_gather tlb;

	span_enter(SPAN_ZAP);
	tlb_gather_mmu(&tlb, m, vma->vm_mm, false);
	tlb.atomic = true;
	unmap_vma_range(&tlb, vma, start, end);
	tlb_finish_mmu(&tlb);
	span_exit();
}
