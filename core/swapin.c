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
#include "core/mlock.h"

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
 * the swap cache. SWAP_HAS_CACHE keeps others off the slot until the page is mapped, which the caller
 * ends with swapcache_free(). -ENOMEM, or -EBUSY if another thread is reading it.
 */
static int swapin_direct(struct vm_fault *f, swp_entry_t entry, struct page **pagep)
{
	struct machine *m = f->m;
	struct page *page = alloc_pages_vma(m, GFP_HIGHUSER_MOVABLE, 0, f->vma, f->va);
	u64 shadow;
	u64 pfn;

	if (!page)
		return -ENOMEM;
	if (swapcache_prepare(m, entry)) {
		put_page(m, page);
		world_sleep(world_ticks_to_ns(1));
		return -EBUSY;
	}
	pfn = page_to_pfn(m, page);
	page_set(page, PG_locked);
	page_set(page, PG_swapbacked);
	shadow = get_shadow_from_swap_cache(m, entry);
	if (shadow)
		workingset_refault(m, page, shadow);
	lru_cache_add(m, page);
	m->page_private[pfn] = entry.v;
	swap_readpage(m, page);
	m->page_private[pfn] = 0;
	*pagep = page;
	return 0;
}

static bool swap_reads_direct(struct machine *m, swp_entry_t entry)
{
	return swap_is_synchronous(m, entry) && swp_swapcount(m, entry) == 1;
}

static int swap_in(struct vm_fault *f, swp_entry_t entry, struct page **page, bool *direct)
{
	int err = 0;

	psi_memstall_enter(); /* Linux: if the page was in the working set, which most are */
	span_enter(SPAN_SWAP_IN);
	*direct = swap_reads_direct(f->m, entry);
	if (*direct) {
		err = swapin_direct(f, entry, page);
	} else {
		*page = swapin_readahead(f->m, entry, GFP_HIGHUSER_MOVABLE, f->vma, f->va);
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
	if (unlikely(f->vma->vm_flags & VM_LOCKED) && mlock_today(m) && !page_is_compound(page))
		mlock_folio(m, page);
	return pte;
}

int do_swap_page(struct vm_fault *f)
{
	struct machine *m = f->m;
	swp_entry_t entry = pte_to_swp_entry(f->orig);
	bool direct = false;
	struct page *page;
	struct page *head; /* whose lock and state are its */
	int ret = 0;
	int err;

	VM_BUG_ON(!pte_swap(f->orig));
	page = lookup_swap_cache(m, entry, f->vma, f->va);
	if (!page) {
		err = swap_in(f, entry, &page, &direct);
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

	f->orig = map_swapped_page(f, page, entry, direct);
	unlock_page(m, head);
	if (f->write && !pte_write(f->orig))
		return ret | do_wp_page(f); /* shared: copy it. Drops the table's lock. */
	spin_unlock(fault_ptl(f));
	return ret;

out_unlock:
	unlock_page(m, head);
	if (direct)
		swapcache_free(m, entry);
out_put:
	put_page(m, page);
	return ret;
}
