/*
 * The reverse map: from a page to the ptes that map it (Linux mm/rmap.c).
 *
 * A page's anon_vma (anon_vma.c) gives the VMAs, its index the address in each, and the page tables
 * say whether it is really there: a VMA may have copied the page, or never touched it. Walks are made
 * by reclaim, which holds the page lock; they hold the family's rwsem for read, so that neither VMAs
 * nor their tables go away, and each pte under its table's lock.
 *
 * Translations are flushed per pte, or (4.3, knob reclaim.unmap_flush) noted in the task's tlb_ubc and
 * flushed once for all pages of a batch; whoever changes entries meanwhile and relies on the TLB flushes
 * for itself, flush_tlb_batched_pending().
 *
 * A huge page's references are counted here; otherwise reclaim has it split first (huge_split.c).
 *
 * File pages are in rmap_file.c. Left out: KSM.
 */
#include <string.h>

#include "core/huge_memory.h"
#include "core/mlock.h"
#include "core/rmap.h"

/* ---- mapping counts ---------------------------------------------------------------------------- */

/*
 * One more pte maps a page that others know: one that was read from swap, or is still in the swap
 * cache. The page lock is held, and the pte lock.
 *
 * A page that already has an anon_vma keeps it, even unmapped: whoever still holds a swap entry of it
 * got that through a VMA linked to this anon_vma. A page that was read back has lost it, and which of
 * the family brought it in is not known: it goes to the root, unless it is @exclusive.
 */
void do_page_add_anon_rmap(struct machine *m, struct page *page, struct vm_area_struct *vma, u64 va,
                           bool exclusive)
{
	struct anon_vma *anon_vma = vma->anon_vma;

	charge(COST_PAGE_FLAG);
	if (page_is_compound(page))
		compound_head(page)[1].total_mapcount += 1;
	if (page->mapcount++ > 0)
		return;
	/* Mapped by a PMD elsewhere, it counts already. */
	if (unlikely(page_is_compound(page)) && compound_head(page)[1].compound_mapcount)
		return;
	mod_node_state(page_zone(m, page), NR_ANON_MAPPED, 1);
	if (page_is_anon(page))
		return;
	page->mapping = anon_vma_mapping(m, exclusive ? anon_vma : anon_vma->root);
	page->index = vma_index(vma, va);
}

void page_add_anon_rmap(struct machine *m, struct page *page, struct vm_area_struct *vma, u64 va)
{
	do_page_add_anon_rmap(m, page, vma, va, false);
}

/* The page turned out to be @vma's alone: later walks need not visit its relatives. Page locked. */
void page_move_anon_rmap(struct machine *m, struct page *page, struct vm_area_struct *vma)
{
	page->mapping = anon_vma_mapping(m, vma->anon_vma);
}

void page_dup_rmap(struct page *page)
{
	page->mapcount += 1;
	if (page_is_compound(page))
		compound_head(page)[1].total_mapcount += 1;
}

void page_remove_rmap(struct machine *m, struct page *page)
{
	charge(COST_PAGE_FLAG);
	if (page_is_compound(page)) {
		page_remove_rmap_compound(m, page);
		return;
	}
	/* The mapping stays until the page is freed: an anonymous one is only meaningful while mapped. */
	if (__page_remove_rmap(page))
		mod_node_state(page_zone(m, page),
		               likely(page_is_anon(page)) ? NR_ANON_MAPPED : NR_FILE_MAPPED, -1);
}

/* ---- walks ---------------------------------------------------------------------------------------- */

/* To the entry in one VMA, the locks apart. */
static void charge_rmap_step(void)
{
	charge2(COST_RMAP_STEP, COST_PT_WALK);
	charge(COST_PTE_COLD);
}

/*
 * The anon_vma of @page, its root locked for read; NULL if the page is not mapped (any more).
 * Trylock: *@busy if the lock is taken. The reference keeps it through the wait for the lock, as
 * page_lock_anon_vma_read() does; without contention Linux gets by without, so it is not charged.
 *
 * Nearly every page is mapped once: the step to its first entry is paid for here, so that looking the
 * page up, locking, and reading the entry need one order point between them, before the first of them.
 */
static struct anon_vma *page_lock_anon_vma(struct machine *m, struct page *page, bool try,
                                           bool *busy)
{
	struct anon_vma *anon_vma;

	*busy = false;
	charge(COST_RMAP_LOOKUP);
	/* As it was at the last order point: in reclaim that is the page lock's, without which nobody maps. */
	if (!page_mapped(page))
		return NULL;
	if (likely(!page_is_compound(page)))
		charge_rmap_step();
	world_order();
	if (!page_is_anon(page) || !page_mapped(page))
		return NULL;
	anon_vma = page_anon_vma(m, page);
	anon_vma->refcount += 1;
	if (try) {
		*busy = !down_read_trylock(&anon_vma->root->rwsem);
		if (*busy)
			goto out_put;
	} else {
		down_read(&anon_vma->root->rwsem);
	}
	if (page_mapped(page))
		return anon_vma;
	up_read(&anon_vma->root->rwsem);
out_put:
	put_anon_vma(m, anon_vma);
	return NULL;
}

static void page_unlock_anon_vma(struct machine *m, struct anon_vma *anon_vma)
{
	up_read(&anon_vma->root->rwsem);
	put_anon_vma(m, anon_vma);
}

static u64 vma_address(const struct page *page, const struct vm_area_struct *vma)
{
	return vma->vm_start + ((page->index - vma->vm_pgoff) << PAGE_SHIFT);
}

bool page_check_address(struct machine *m, struct page *page, struct vm_area_struct *vma,
                        struct rmap_pte *r)
{
	pte_t entry;

	r->vma = vma;
	r->va = vma_address(page, vma);
	VM_BUG_ON(r->va < vma->vm_start || r->va >= vma->vm_end);
	r->table = pt_find_rmap(m, vma->vm_mm, r->va);
	if (!r->table)
		return false;
	r->pte = pt_entry(m, r->table, r->va);
	if (!pte_present(READ_ONCE(*r->pte)))
		return false;
	spin_lock(&m->table[r->table].ptl);
	entry = *r->pte;
	if (pte_maps(entry, page_to_pfn(m, page)))
		return true;
	spin_unlock(&m->table[r->table].ptl);
	return false;
}

/* The entry at @pte, if it maps frame @pfn, was young? It is made old; its table is locked. */
static bool clear_young(pte_t *pte, u64 pfn, bool *dirty)
{
	pte_t entry = *pte;

	if (!pte_maps(entry, pfn))
		return false;
	*dirty |= pte_dirty(entry);
	if (!pte_young(entry))
		return false;
	*pte = pte_clear(entry, PTE_ACCESSED);
	charge(COST_PTE);
	return true;
}

/*
 * Where @vma maps some of the huge page: by a PMD entry, or by ptes. To 4.10 only the head's pte is asked,
 * since then (page_vma_mapped_walk()) all of them.
 */
static int huge_referenced_one(struct machine *m, struct page *head, struct vm_area_struct *vma,
                               bool *dirty)
{
	u64 begin = max(head->index, vma->vm_pgoff);
	u64 end = min(head->index + compound_nr(head), vma->vm_pgoff + vma_pages(vma));
	u64 va = vma->vm_start + ((begin - vma->vm_pgoff) << PAGE_SHIFT);
	u64 pfn = page_to_pfn(m, head) + begin - head->index;
	int referenced = 0;
	u32 table;
	pte_t *pmd;

	charge2(COST_RMAP_STEP, COST_PTE_COLD);
	table = pt_find_pmd(m, vma->vm_mm, va, &pmd);
	if (table && pte_huge(READ_ONCE(*pmd))) {
		spin_lock(pmd_lockptr(m, table));
		if (pte_huge(*pmd)) {
			referenced = clear_young(pmd, page_to_pfn(m, head), dirty);
			spin_unlock(pmd_lockptr(m, table));
			return referenced;
		}
		spin_unlock(pmd_lockptr(m, table));
	}
	if (m->knob.thp_split_walk != SPLIT_WALK_RANGE)
		end = begin == head->index ? begin + 1 : begin;
	table = pt_find(m, vma->vm_mm, va);
	if (!table || begin == end)
		return 0;
	spin_lock(&m->table[table].ptl);
	charge_n(COST_PTE, end - begin);
	for (; begin < end; begin++, va += PAGE_SIZE, pfn++)
		referenced += clear_young(pt_entry(m, table, va), pfn, dirty);
	spin_unlock(&m->table[table].ptl);
	return referenced;
}

bool huge_found_locked(struct machine *m, struct page *head, struct vm_area_struct *vma,
                       bool *whole)
{
	u64 begin = max(head->index, vma->vm_pgoff);
	u64 end = min(head->index + compound_nr(head), vma->vm_pgoff + vma_pages(vma));
	u64 va = vma->vm_start + ((begin - vma->vm_pgoff) << PAGE_SHIFT);
	u64 pfn = page_to_pfn(m, head) + begin - head->index;
	struct spinlock *ptl;
	u32 table, nr = 0;
	pte_t *pmd;

	*whole = false;
	charge2(COST_RMAP_STEP, COST_PTE_COLD);
	table = pt_find_pmd(m, vma->vm_mm, va, &pmd);
	if (!table || pte_none(READ_ONCE(*pmd)))
		return false;
	ptl = pmd_lockptr(m, table);
	spin_lock(ptl);
	if (pte_huge(*pmd)) {
		nr = pte_pfn(*pmd) == page_to_pfn(m, head);
		*whole = nr && mlock_today(m);
		goto out_found;
	}
	spin_unlock(ptl);
	table = pt_find(m, vma->vm_mm, va);
	if (!table)
		return false;
	ptl = &m->table[table].ptl;
	spin_lock(ptl);
	charge_n(COST_PTE, end - begin);
	for (; begin < end; begin++, va += PAGE_SIZE, pfn++)
		nr += pte_maps(*pt_entry(m, table, va), pfn);
	*whole = nr == compound_nr(head) && mlock_today(m) && mlock_counts_ptes(m, head);
out_found:
	if (*whole)
		mlock_found(m, head, vma);
	spin_unlock(ptl);
	return nr;
}

static int huge_referenced(struct machine *m, struct page *head, struct anon_vma *anon_vma,
                           u32 *vm_flags, bool *dirty)
{
	struct interval_node *node;
	int referenced = 0;

	interval_tree_for_each (node, &anon_vma->rb_root, head->index,
	                        head->index + compound_nr(head) - 1) {
		struct vm_area_struct *vma = container_of(node, struct anon_vma_chain, node)->vma;
		bool whole;
		int nr;

		/* Today what a locked VMA has of it does not count, if that is not all: it will be split. */
		if (unlikely(vma->vm_flags & VM_LOCKED)) {
			if (!huge_found_locked(m, head, vma, &whole) || (!whole && mlock_today(m)))
				continue;
			*vm_flags |= VM_LOCKED;
			break;
		}
		nr = huge_referenced_one(m, head, vma, dirty);
		if (nr)
			*vm_flags |= vma->vm_flags;
		referenced += nr;
	}
	return referenced;
}

/* A walk over the VMAs that may map a page. An anon_vma with one VMA needs no look at its tree. */
struct rmap_walk {
	const struct anon_vma *anon_vma;
	u64 index;
	struct interval_node *node;
};

static struct vm_area_struct *rmap_walk_vma(const struct rmap_walk *w)
{
	return w->node ? container_of(w->node, struct anon_vma_chain, node)->vma : NULL;
}

static struct vm_area_struct *rmap_walk_first(struct rmap_walk *w, const struct anon_vma *anon_vma,
                                              const struct page *page)
{
	const struct rb_root_cached *root = &anon_vma->rb_root;
	u64 index = page->index;

	w->anon_vma = anon_vma;
	w->index = index;
	if (likely(anon_vma->nr_chains == 1)) {
		w->node = rb_entry(root->leftmost, struct interval_node, rb);
		if (unlikely(index < w->node->start || index > w->node->last))
			w->node = NULL;
	} else {
		w->node = interval_tree_iter_first(root, index, index);
	}
	return rmap_walk_vma(w);
}

static struct vm_area_struct *rmap_walk_next(struct rmap_walk *w)
{
	if (likely(w->anon_vma->nr_chains == 1))
		return NULL;
	w->node = interval_tree_iter_next(w->node, w->index, w->index);
	if (w->node)
		charge_rmap_step();
	return rmap_walk_vma(w);
}

/*
 * Host time only: reclaim will soon look for the entry of @page, which lies in a part of the page tables
 * that nobody has used for long. What is mapped once, in the table looked at last, is worth fetching.
 */
void rmap_fetch_ahead(struct machine *m, const struct page *page)
{
	const struct anon_vma *anon_vma;
	const struct vm_area_struct *vma;
	struct rmap_walk w;
	u64 cache;
	u64 va;

	if (!page_is_anon(page) || !page_mapped(page))
		return;
	anon_vma = page_anon_vma(m, page);
	if (anon_vma->nr_chains != 1)
		return;
	vma = rmap_walk_first(&w, anon_vma, page);
	if (!vma)
		return;
	va = vma_address(page, vma);
	cache = vma->vm_mm->rmap_leaf_cache;
	if (cache >> 32 == leaf_cache_key(va))
		__builtin_prefetch(pt_entry(m, (u32)cache, va), 1);
}

/*
 * How many ptes found the page in use since the last look; they are made old. No flush, since 3.16: a
 * stale "accessed" in a TLB only means that one access is not seen (knob reclaim.young_flush).
 * Ends when all ptes that the mapcount promised have been seen.
 */
int page_referenced(struct machine *m, struct page *page, bool is_locked, u32 *vm_flags,
                    bool *dirty)
{
	struct vm_area_struct *vma;
	struct anon_vma *anon_vma;
	struct rmap_walk w;
	struct rmap_pte r;
	int mapcount = page->mapcount;
	int referenced = 0;
	bool busy;

	*dirty = false;
	if (!page_is_anon(page))
		return page_referenced_file(m, page, is_locked, vm_flags);
	*vm_flags = 0;
	anon_vma = page_lock_anon_vma(m, page, m->knob.rmap_lock == RMAP_LOCK_TRY, &busy);
	if (!anon_vma)
		return busy ? -1 : 0;
	if (page_is_compound(page)) {
		referenced = huge_referenced(m, page, anon_vma, vm_flags, dirty);
		page_unlock_anon_vma(m, anon_vma);
		return referenced;
	}
	for (vma = rmap_walk_first(&w, anon_vma, page); vma; vma = rmap_walk_next(&w)) {
		pte_t entry;

		if (!page_check_address(m, page, vma, &r))
			continue;
		if (unlikely(vma->vm_flags & VM_LOCKED)) {
			*vm_flags |= VM_LOCKED;
			if (mlock_today(m))
				mlock_found(m, page, vma);
			spin_unlock(&m->table[r.table].ptl);
			break;
		}
		entry = *r.pte;
		if (pte_young(entry)) {
			*r.pte = pte_clear(entry, PTE_ACCESSED);
			charge(COST_PTE);
			flush_young(m, &r);
			referenced += 1;
			*vm_flags |= vma->vm_flags;
		}
		*dirty |= pte_dirty(entry);
		spin_unlock(&m->table[r.table].ptl);
		if (--mapcount == 0)
			break;
	}
	page_unlock_anon_vma(m, anon_vma);
	return referenced;
}

/* ---- batched flushes (mm/rmap.c, 4.3) ---------------------------------------------------------------- */

/*
 * May the flush wait for the end of the batch? Only where it saves an IPI: if CPUs other than this
 * one may have the translation.
 */
static bool should_defer_flush(struct machine *m, const struct mm_struct *mm, u32 flags)
{
	unsigned int cpu = world_cpu_id();
	u32 nr_loaded;

	if (!(flags & TTU_BATCH_FLUSH) || m->knob.unmap_flush != UNMAP_FLUSH_BATCH)
		return false;
	nr_loaded = READ_ONCE(mm->as.nr_loaded);
	return nr_loaded > (mm->as.cpumask[cpu / 64] >> cpu % 64 & 1);
}

static void set_tlb_ubc_flush_pending(struct machine *m, struct mm_struct *mm, bool writable)
{
	struct tlbflush_unmap_batch *ubc = &current_task()->tlb_ubc;

	for (u32 i = 0; i < DIV_ROUND_UP(m->nr_cpus, 64); i++)
		ubc->cpumask[i] |= mm->as.cpumask[i];
	ubc->flush_required = true;
	/* A page that can still be written through a stale translation must not be written out. */
	ubc->writable |= writable;
	mm->tlb_flush_batched = true;
}

void unmap_flush(struct machine *m, struct mm_struct *mm, u64 va, pte_t entry, u32 flags)
{
	if (should_defer_flush(m, mm, flags))
		set_tlb_ubc_flush_pending(m, mm, pte_dirty(entry));
	else
		world_tlb_flush(&mm->as, va, va + PAGE_SIZE);
}

void try_to_unmap_flush(struct machine *m)
{
	struct tlbflush_unmap_batch *ubc = &current_task()->tlb_ubc;

	if (world_self->task->id <= m->nr_world_tasks || !ubc->flush_required)
		return;
	span_enter(SPAN_TLB_FLUSH);
	world_tlb_flush_mask(ubc->cpumask);
	span_exit();
	memset(ubc->cpumask, 0, DIV_ROUND_UP(m->nr_cpus, 64) * sizeof(u64));
	ubc->flush_required = false;
	ubc->writable = false;
}

void try_to_unmap_flush_dirty(struct machine *m)
{
	if (world_self->task->id > m->nr_world_tasks && current_task()->tlb_ubc.writable)
		try_to_unmap_flush(m);
}

/*
 * Reclaim unmapped pages of @mm and owes the flush. Who is about to change entries under a table's
 * lock, and counts on "not present" meaning "in no TLB", pays for it first. Table lock held.
 */
void flush_tlb_batched_pending(struct mm_struct *mm)
{
	if (likely(!READ_ONCE(mm->tlb_flush_batched)))
		return;
	world_tlb_flush(&mm->as, 0, TASK_SIZE);
	mm->tlb_flush_batched = false;
}

/* ---- try_to_unmap ------------------------------------------------------------------------------------ */

/*
 * May the pte of a lazily freed page just be dropped? SWAP_SUCCESS: yes; SWAP_AGAIN: this pte is an
 * ordinary one; otherwise it must be restored. The pte's dirty bit has been moved to PG_dirty.
 */
static enum ttu_result lazyfree_check(struct page *page, pte_t entry, u32 flags)
{
	if (!page_test(page, PG_swapbacked)) {
		/* 4.12: only if nobody but the ptes and the caller holds it; else written, or pinned. */
		if (page_test(page, PG_dirty)) {
			page_set(page, PG_swapbacked);
			return SWAP_DIRTY;
		}
		return page->refcount == 1 + page->mapcount ? SWAP_SUCCESS : SWAP_FAIL;
	}
	if (!(flags & TTU_FREE))
		return SWAP_AGAIN;
	/* 4.5: it has a slot already, and is swapped after all if it was written. */
	if (page_test(page, PG_swapcache))
		return page_test(page, PG_dirty) ? SWAP_AGAIN : SWAP_SUCCESS;
	/* Seed's tree: this very pte tells. */
	return pte_dirty(entry) ? SWAP_DIRTY : SWAP_SUCCESS;
}

/* Puts a swap entry where the page was. False: no memory for the slot's count. */
static bool swap_out_pte(struct machine *m, struct page *page, struct rmap_pte *r)
{
	struct mm_struct *mm = r->vma->vm_mm;
	swp_entry_t entry = page_swap_entry(m, page);

	VM_BUG_ON(!page_test(page, PG_swapcache));
	if (swap_duplicate(m, entry) < 0)
		return false;
	atomic_long_add(-1, &mm->rss[MM_ANONPAGES]);
	atomic_long_add(1, &mm->rss[MM_SWAPENTS]);
	charge_n(COST_RSS, 2);
	charge(COST_PTE);
	set_pte(m, r->table, r->pte, swp_entry_to_pte(entry));
	return true;
}

/*
 * Takes the page out of one VMA; its table's lock is held. SWAP_AGAIN: done, go on with the next.
 *
 * The entry is cleared before it is judged, so that no CPU can make it dirty afterwards; what must
 * not go is put back as it was.
 */
static enum ttu_result try_to_unmap_one(struct machine *m, struct page *page, struct rmap_pte *r,
                                        u32 flags)
{
	struct mm_struct *mm = r->vma->vm_mm;
	pte_t entry = *r->pte;
	enum ttu_result ret;

	set_pte(m, r->table, r->pte, (pte_t){0});
	charge(COST_PTE);
	unmap_flush(m, mm, r->va, entry, flags);
	if (pte_dirty(entry))
		page_set(page, PG_dirty);

	ret = lazyfree_check(page, entry, flags);
	if (ret == SWAP_SUCCESS) {
		atomic_long_add(-1, &mm->rss[MM_ANONPAGES]);
		charge(COST_RSS);
	} else if (ret == SWAP_AGAIN) {
		if (!swap_out_pte(m, page, r))
			ret = SWAP_FAIL;
	}
	if (ret == SWAP_DIRTY || ret == SWAP_FAIL) {
		set_pte(m, r->table, r->pte, entry);
		return ret;
	}
	page_remove_rmap(m, page);
	/* The caller's reference keeps the page. */
	VM_BUG_ON(page->refcount < 2);
	page->refcount -= 1;
	charge(COST_PAGE_FLAG);
	return SWAP_AGAIN;
}

enum ttu_result try_to_unmap(struct machine *m, struct page *page, u32 flags)
{
	enum ttu_result ret = SWAP_AGAIN;
	struct vm_area_struct *vma;
	struct anon_vma *anon_vma;
	struct rmap_walk w;
	struct rmap_pte r;
	bool busy;

	VM_BUG_ON(!page_test(page, PG_locked));
	if (!page_is_anon(page))
		return try_to_unmap_file(m, page, flags);
	if (unlikely(page_is_compound(page)))
		return try_to_unmap_huge(m, page, flags);
	anon_vma = page_lock_anon_vma(m, page, false, &busy);
	if (!anon_vma)
		return page_mapped(page) ? SWAP_FAIL : SWAP_SUCCESS;
	for (vma = rmap_walk_first(&w, anon_vma, page); vma; vma = rmap_walk_next(&w)) {
		if (!page_check_address(m, page, vma, &r))
			continue;
		if (unlikely(vma->vm_flags & VM_LOCKED))
			ret = mlock_found(m, page, vma) ? SWAP_MLOCK : SWAP_AGAIN;
		else
			ret = try_to_unmap_one(m, page, &r, flags);
		spin_unlock(&m->table[r.table].ptl);
		if (ret != SWAP_AGAIN || !page_mapped(page))
			break;
	}
	page_unlock_anon_vma(m, anon_vma);
	return page_mapped(page) ? ret : SWAP_SUCCESS;
}

/* ---- try_to_munlock -------------------------------------------------------------------------------- */

enum ttu_result try_to_munlock(struct machine *m, struct page *page)
{
	enum ttu_result ret = SWAP_AGAIN;
	struct anon_vma *anon_vma;
	struct interval_node *node;
	struct rmap_pte r;
	bool busy;

	if (!page_is_anon(page))
		return try_to_munlock_file(m, page);
	if (page_is_compound(page)) /* page_check_address() does not see huge entries */
		return ret;
	anon_vma = page_lock_anon_vma(m, page, false, &busy);
	if (!anon_vma)
		return ret;
	interval_tree_for_each (node, &anon_vma->rb_root, page->index, page->index) {
		struct vm_area_struct *vma = container_of(node, struct anon_vma_chain, node)->vma;

		if (!page_check_address(m, page, vma, &r))
			continue;
		if (vma->vm_flags & VM_LOCKED && mlock_found(m, page, vma))
			ret = SWAP_MLOCK;
		spin_unlock(&m->table[r.table].ptl);
		if (ret == SWAP_MLOCK)
			break;
	}
	page_unlock_anon_vma(m, anon_vma);
	return ret;
}
