/*
 * Faults on swap entries (Linux mm/memory.c, do_swap_page()).
 *
 * The entry is looked up in the swap cache, or read with its neighbours; then the page is locked, and
 * everything that may have changed while the fault waited is looked at again: the page may have left
 * the cache, its slot may belong to something else by now, another thread may have mapped it.
 *
 * Dirty or clean? A page read back has a good copy in its slot, so Linux maps it clean unless it is
 * written, and drops it later without I/O. But the tree of mail 000 recognises a lazily freed page by
 * its clean ptes once it is outside the swap cache, and a page that was only read looks the same as
 * soon as its slot is given up (vm_swap_full(), or MADV_FREE's try_to_free_swap()): its contents would
 * be thrown away. With that rule (LAZYFREE_CLEAN_PTES) every swapped-in pte is therefore made dirty, as
 * a companion patch of 11 March 2015 did, at the price of writing out again what was never changed.
 * The later rules look at PG_dirty or PG_swapbacked of the page, which a page that left the swap cache
 * has, and need no such thing.
 */
#include "core/fault.h"
#include "core/huge_memory.h"
#include "core/mlock.h"
#include "core/swap.h"

bool lock_page_or_retry(struct vm_fault *f, struct page *page)
{
	if (trylock_page(f->m, page))
		return true;
	if (!f->may_retry && !f->killable) {
		lock_page(f->m, page);
		return true;
	}
	if (!f->may_retry) {
		if (!lock_page_killable(f->m, page))
			return true;
		fault_unlock_mm(f);
		return false;
	}
	fault_unlock_mm(f);
	if (!lock_page_killable(f->m, page))
		unlock_page(f->m, page);
	return false;
}

/* ---- reading -------------------------------------------------------------------------------------------- */

/*
 * RAM disks (4.15, knob swap.synchronous): a slot with one user is read into a page that never enters
 * the swap cache; since 6.13 also several in a row into a large page. SWAP_HAS_CACHE keeps others off the
 * slots until the page is mapped, which the caller ends with swapcache_free_nr(). *@entry: the first slot.
 * -ENOMEM, or -EBUSY if another thread is reading one of them.
 */
static int swapin_direct(struct vm_fault *f, swp_entry_t *entry, struct page **pagep)
{
	struct machine *m = f->m;
	struct page *page = alloc_swap_folio(f);
	u64 shadow;
	u64 pfn;
	u32 nr;

	if (!page)
		return -ENOMEM;
	nr = compound_nr(page);
	entry->v = ALIGN_DOWN(entry->v, (u64)nr);
	if (nr == 1 ? swapcache_prepare(m, *entry) : swapcache_prepare_nr(m, *entry, nr)) {
		put_page(m, page);
		world_sleep(world_ticks_to_ns(1));
		return -EBUSY;
	}
	pfn = page_to_pfn(m, page);
	page_set(page, PG_locked);
	page_set(page, PG_swapbacked);
	shadow = get_shadow_from_swap_cache(m, *entry);
	if (shadow)
		workingset_refault(m, page, shadow);
	lru_cache_add(m, page);
	for (u32 i = 0; i < nr; i++)
		m->page_private[pfn + i] = entry->v + i;
	swap_readpage(m, page);
	for (u32 i = 0; i < nr; i++)
		m->page_private[pfn + i] = 0;
	*pagep = page;
	return 0;
}

static bool swap_reads_direct(struct machine *m, swp_entry_t entry)
{
	return swap_is_synchronous(m, entry) && swp_swapcount(m, entry) == 1;
}

static int swap_in(struct vm_fault *f, swp_entry_t *entry, struct page **page, bool *direct)
{
	int err = 0;

	psi_memstall_enter(); /* Linux: if the page was in the working set, which most are */
	span_enter(SPAN_SWAP_IN);
	*direct = swap_reads_direct(f->m, *entry);
	if (*direct) {
		err = swapin_direct(f, entry, page);
	} else {
		*page = swapin_readahead(f->m, *entry, GFP_HIGHUSER_MOVABLE, f->vma, f->va);
		if (!*page)
			err = -ENOMEM;
	}
	span_exit();
	psi_memstall_leave();
	return err;
}

/* Nothing was read. Out of frames, unless somebody has dealt with the entry meanwhile. */
static int swap_in_failed(struct vm_fault *f, int err)
{
	if (err == -EBUSY || !fault_lock_pte(f))
		return 0;
	spin_unlock(fault_ptl(f));
	return VM_FAULT_OOM;
}

/* ---- mapping -------------------------------------------------------------------------------------------- */

/* Still what the entry named? Page locked. */
static bool swap_page_valid(const struct machine *m, struct page *page, swp_entry_t entry,
                            bool direct)
{
	return direct || (page_test(compound_head(page), PG_swapcache) &&
	                  page_swap_entry(m, page).v == entry.v);
}

/*
 * Maps the page; page and table lock held. Returns the entry that was set, which is writable if the
 * fault is a write and nobody shares the page.
 */
static pte_t map_swapped_page(struct vm_fault *f, struct page *page, swp_entry_t entry, bool direct)
{
	struct machine *m = f->m;
	bool exclusive = direct || (f->write && reuse_swap_page(m, page));
	pte_t pte = fault_mk_pte(f, page);

	if (lazyfree_rule(m) == LAZYFREE_CLEAN_PTES)
		pte = pte_set(pte, PTE_DIRTY);
	if (f->write && exclusive)
		pte = fault_mkwrite(f, pte);
	atomic_long_add(1, &f->mm->rss[MM_ANONPAGES]);
	atomic_long_add(-1, &f->mm->rss[MM_SWAPENTS]);
	charge_n(COST_RSS, 2);
	do_page_add_anon_rmap(m, page, f->vma, f->va, exclusive);
	fault_set_pte(f, pte);
	/* The page must be reachable through the pte before the slot can be another's. */
	swap_free(m, entry);
	if (direct) {
		/*
		 * This is the only copy now. (Linux leaves the page clean; a process that shares it
		 * by fork can then lose it to another's MADV_FREE, which looks at PG_dirty.)
		 */
		page_set(page, PG_dirty);
		swapcache_free(m, entry);
	} else if (vm_swap_full(m) || f->vma->vm_flags & VM_LOCKED || page_test(page, PG_mlocked)) {
		try_to_free_swap(m, compound_head(page));
	}
	mlock_vma_folio(m, page, f->vma, 1, false);
	return pte;
}

/* ---- mapping all of a large page ----------------------------------------------------------------------- */

/*
 * Do the entries around the fault name all of @page, a part of a large page, one after the other? Then *@first is
 * the head's. To 6.10 only one was mapped. Table lock held.
 */
static bool names_whole_page(struct vm_fault *f, struct page *page, swp_entry_t *first)
{
	struct page *head = compound_head(page);
	u64 idx = (u64)(page - head);
	u64 start = f->va - (idx << PAGE_SHIFT);
	u32 nr = compound_nr(head);
	const pte_t *pte = f->pte - idx;

	if (f->m->knob.thp_swapin != THP_SWAPIN_LARGE)
		return false;
	/* mremap() may have moved them to where they are not in one table. */
	if (idx << PAGE_SHIFT > f->va - max(f->va & PMD_MASK, f->vma->vm_start) ||
	    start + ((u64)nr << PAGE_SHIFT) > min((f->va & PMD_MASK) + PMD_SIZE, f->vma->vm_end))
		return false;
	charge_n(COST_PTE, nr);
	first->v = pte_to_swp_entry(f->orig).v - idx;
	return pte_swap(*pte) && pte_to_swp_entry(*pte).v == first->v &&
	       swap_pte_batch(f->m, pte, nr) == nr;
}

/* No entry but the @nr that are about to become ptes, and name slots from @first on, uses @head. */
static bool is_exclusive(struct machine *m, struct page *head, swp_entry_t first, u32 nr)
{
	return !head[1].total_mapcount && swap_entries_single(m, first, nr);
}

/* A page that was read past the swap cache is new, and nobody else's. */
static void add_new_anon_rmap_folio(struct vm_fault *f, struct page *head, u64 va)
{
	u32 nr = compound_nr(head);

	head->mapping = anon_vma_mapping(f->m, f->vma->anon_vma);
	head->index = vma_index(f->vma, va);
	head[1].total_mapcount = (s32)nr;
	charge_n(COST_PAGE_FLAG, nr);
	for (u32 i = 0; i < nr; i++)
		head[i].mapcount = 1;
	mod_node_state(page_zone(f->m, head), NR_ANON_MAPPED, nr);
}

/* As map_swapped_page(), for all of the large page that @page is part of. */
static pte_t map_swapped_folio(struct vm_fault *f, struct page *page, swp_entry_t first,
                               bool direct)
{
	struct machine *m = f->m;
	struct page *head = compound_head(page);
	u32 nr = compound_nr(head);
	u64 idx = (u64)(page - head);
	u64 va = f->va - (idx << PAGE_SHIFT);
	bool write = f->write && is_exclusive(m, head, first, nr);

	atomic_long_add(nr, &f->mm->rss[MM_ANONPAGES]);
	atomic_long_add(-(long)nr, &f->mm->rss[MM_SWAPENTS]);
	charge_n(COST_RSS, 2);
	if (direct)
		add_new_anon_rmap_folio(f, head, va);
	charge_n(COST_PTE, nr);
	for (u32 i = 0; i < nr; i++) {
		pte_t pte = fault_mk_pte(f, head + i);

		if (lazyfree_rule(m) == LAZYFREE_CLEAN_PTES)
			pte = pte_set(pte, PTE_DIRTY);
		if (!direct)
			do_page_add_anon_rmap(m, head + i, f->vma, va + ((u64)i << PAGE_SHIFT),
			                      false);
		set_pte(m, f->table, f->pte - idx + i, write ? fault_mkwrite(f, pte) : pte);
	}
	head->refcount += (s32)nr - 1; /* the fault's is one of them */
	swap_free_nr(m, first, nr);
	if (direct) {
		page_set(head, PG_dirty);
		swapcache_free_nr(m, first, nr);
	} else if (vm_swap_full(m) || f->vma->vm_flags & VM_LOCKED || page_test(head, PG_mlocked)) {
		try_to_free_swap(m, head);
	}
	mlock_vma_folio(m, head, f->vma, nr, false);
	return *f->pte;
}

int do_swap_page(struct vm_fault *f)
{
	struct machine *m = f->m;
	swp_entry_t entry = pte_to_swp_entry(f->orig);
	bool direct = false;
	swp_entry_t first;
	struct page *page;
	struct page *head; /* whose lock and state are its */
	int ret = 0;
	int err;

	VM_BUG_ON(!pte_swap(f->orig));
	page = lookup_swap_cache(m, entry, f->vma, f->va);
	if (!page) {
		err = swap_in(f, &entry, &page, &direct);
		if (err)
			return swap_in_failed(f, err);
		ret = VM_FAULT_MAJOR;
		count_vm_event(m, PGMAJFAULT);
	}
	head = compound_head(page);
	if (direct) {
		lock_page(m, page); /* nobody else knows it but reclaim */
	} else if (!lock_page_or_retry(f, head)) {
		ret |= VM_FAULT_RETRY;
		goto out_put;
	}
	if (!swap_page_valid(m, page, entry, direct))
		goto out_unlock;
	if (!fault_lock_pte(f))
		goto out_unlock;
	if (!page_test(head, PG_uptodate)) {
		ret |= VM_FAULT_SIGBUS;
		spin_unlock(fault_ptl(f));
		goto out_unlock;
	}

	if (likely(!page_is_compound(page))) {
		f->orig = map_swapped_page(f, page, entry, direct);
	} else {
		if (direct)
			page += pte_to_swp_entry(f->orig).v - entry.v;
		if (names_whole_page(f, page, &first)) {
			f->orig = map_swapped_folio(f, page, first, direct);
		} else if (direct) { /* a part has been unmapped meanwhile */
			spin_unlock(fault_ptl(f));
			goto out_unlock;
		} else {
			f->orig = map_swapped_page(f, page, entry, false);
		}
	}
	unlock_page(m, head);
	if (f->write && !pte_write(f->orig))
		return ret | do_wp_page(f); /* shared: copy it. Drops the table's lock. */
	spin_unlock(fault_ptl(f));
	return ret;

out_unlock:
	unlock_page(m, head);
	if (direct)
		swapcache_free_nr(m, entry, compound_nr(head));
out_put:
	put_page(m, head);
	return ret;
}
