/*
 * madvise(): DONTNEED, FREE, WILLNEED, NORMAL ... (Linux mm/madvise.c). COLD and PAGEOUT: madvise_cold.c.
 *
 * DONTNEED gives pages and swap entries back at once; the next touch is a first touch. FREE only makes
 * the entries old and clean, and leaves the pages to reclaim: one that is not written again before
 * reclaim meets it is dropped without I/O. What that means has changed several times,
 * and each change is a knob:
 *
 *   madvise.free       lazy; mail 000's throttle; or always as DONTNEED
 *   madvise.free_swap  swap entries in the range are kept (and read back at the next write), or freed
 *   madvise.free_list  the pages stay where they are, move to the inactive anonymous list (4.5), or to
 *                      the inactive file list (4.12), which needs no swap to be reclaimed
 *   madvise.free_slot  reclaim's business: see lazyfree_rule()
 */
#include "core/fs.h"
#include "core/khugepaged.h"

/* ---- MADV_FREE ---------------------------------------------------------------------------------------- */

/* One call's work on one VMA. */
struct madvise_free {
	struct machine *m;
	struct mmu_gather tlb;
	u64 nr_swap_freed;
};

/*
 * May this page be freed lazily? What has a copy in swap must lose it: reclaim would take a clean page
 * in the swap cache for one that can be read back. Trylock, as the table's lock is held; a page that is
 * busy is left as it is. Where PG_dirty counts as well (4.5 on) it goes too, and so the page must not be
 * shared: another's clean entry may rely on it. In the seed's tree each entry speaks for itself.
 */
static bool lazyfree_prepare(struct machine *m, struct page *page)
{
	bool strict = lazyfree_rule(m) != LAZYFREE_CLEAN_PTES;
	bool ok = true;

	if (!page_test(page, PG_swapcache) && !(strict && page_test(page, PG_dirty)))
		return true;
	if (!trylock_page(m, page))
		return false;
	if (strict && page->mapcount != 1)
		ok = false;
	else if (page_test(page, PG_swapcache))
		ok = try_to_free_swap(m, page);
	if (ok)
		page_clear(page, PG_dirty);
	unlock_page(m, page);
	return ok;
}

static void madvise_free_present(struct madvise_free *f, pte_t *pte, u64 va)
{
	struct machine *m = f->m;
	struct page *page = pfn_to_page(m, pte_pfn(*pte));

	charge(COST_PAGE_LINE);
	if (!lazyfree_prepare(m, page))
		return;
	world_contents_zero(&f->tlb.mm->as, va, va + PAGE_SIZE, false);
	if (pte->v & (PTE_ACCESSED | PTE_DIRTY)) {
		charge(COST_PTE);
		*pte = pte_clear(*pte, PTE_ACCESSED | PTE_DIRTY);
		tlb_remove_tlb_entry(&f->tlb, va);
		if (m->knob.free_list == FREE_LIST_INACTIVE_ANON && page_test(page, PG_active))
			deactivate_page(m, page);
	}
	if (m->knob.free_list == FREE_LIST_INACTIVE_FILE)
		mark_page_lazyfree(m, page);
}

/* A swap entry: its contents were advised away too, since 4.5. */
static void madvise_free_swap(struct madvise_free *f, u32 table, pte_t *pte, u64 va)
{
	if (f->m->knob.free_swap == FREE_SWAP_KEEP)
		return;
	world_contents_zero(&f->tlb.mm->as, va, va + PAGE_SIZE, false);
	f->nr_swap_freed += 1;
	free_swap_and_cache(f->m, pte_to_swp_entry(*pte));
	set_pte(f->m, table, pte, (pte_t){0});
}

/*
 * A page of a huge page that is the caller's alone: it is split, so that its pages can go one by one. The
 * table's lock is dropped meanwhile. False: shared or busy, it is left as it is. Either way the lock is
 * held again, and entries may have changed.
 */
static bool madvise_split(struct madvise_free *f, u32 table, struct page *page)
{
	struct machine *m = f->m;
	struct page *head = compound_head(page);
	bool split = false;

	if (page_mapcount(page) != 1 || !trylock_page(m, head))
		return false;
	get_page(head);
	spin_unlock(&m->table[table].ptl);
	split = !split_huge_page(m, head);
	unlock_page(m, head);
	put_page(m, head);
	spin_lock(&m->table[table].ptl);
	flush_tlb_batched_pending(f->tlb.mm);
	return split;
}

#define MADVISE_PREFETCH 8

static void madvise_free_pte_range(struct madvise_free *f, u32 table, u64 va, u64 end)
{
	struct machine *m = f->m;
	pte_t *pte = pt_entry(m, table, va);
	pte_t *last = pt_entry(m, table, end - PAGE_SIZE);

	spin_lock(&m->table[table].ptl);
	flush_tlb_batched_pending(f->tlb.mm);
	for (; va < end; va += PAGE_SIZE, pte++) {
		if (pte + MADVISE_PREFETCH <= last && pte_present(pte[MADVISE_PREFETCH]))
			__builtin_prefetch(pfn_to_page(m, pte_pfn(pte[MADVISE_PREFETCH])), 1);
		charge(COST_PTE);
		if (pte_none(*pte) || pte_special(*pte))
			continue;
		if (pte_present(*pte) && page_is_compound(pfn_to_page(m, pte_pfn(*pte)))) {
			if (madvise_split(f, table, pfn_to_page(m, pte_pfn(*pte)))) {
				va -= PAGE_SIZE; /* once more, as a page of its own */
				pte -= 1;
			}
			continue;
		}
		if (pte_present(*pte))
			madvise_free_present(f, pte, va);
		else if (likely(!pte_migration(*pte)))
			madvise_free_swap(f, table, pte, va);
	}
	spin_unlock(&m->table[table].ptl);
}

static void madvise_free_single_vma(struct machine *m, struct vm_area_struct *vma, u64 start,
                                    u64 end)
{
	struct madvise_free f = {.m = m};
	u64 va = start;
	u32 table;

	lru_add_drain(m);
	tlb_gather_mmu(&f.tlb, m, vma->vm_mm, false);
	while (va < end && (table = pt_next_leaf(m, vma->vm_mm, &va, end))) {
		u64 next = min(end, ALIGN_DOWN(va, PMD_SIZE) + PMD_SIZE);

		if (table != PT_HUGE)
			madvise_free_pte_range(&f, table, va, next);
		else if (!madvise_free_huge_pmd(&f.tlb, vma, va, next))
			continue; /* a table now */
		va = next;
		world_cond_resched();
	}
	if (f.nr_swap_freed) {
		atomic_long_add(-(long)f.nr_swap_freed, &vma->vm_mm->rss[MM_SWAPENTS]);
		charge(COST_RSS);
	}
	tlb_finish_mmu(&f.tlb);
}

/*
 * Free lazily, or at once? Pages on the anonymous lists can only be reclaimed if there is swap, although
 * these need none. Mail 000: nor is lazy any good if reclaim is about to run anyway, which it takes free
 * memory at or below 1.5 times min_free_kbytes to mean. Asked once per call and VMA.
 */
static bool madvise_free_is_lazy(struct machine *m)
{
	unsigned long threshold = m->min_free_kbytes >> (PAGE_SHIFT - 10);
	unsigned long free = 0;
	bool lazy;

	if (m->knob.madvise_free == MADV_ZAP)
		lazy = false;
	else
		lazy = m->knob.free_list == FREE_LIST_INACTIVE_FILE || get_nr_swap_pages(m) > 0;
	if (lazy && m->knob.madvise_free == MADV_THROTTLE) {
		threshold += threshold >> 1;
		free = nr_free_pages(m);
		lazy = free > threshold;
	}
	world_trace(EVENT_MADVISE_CHOICE, lazy, free);
	return lazy;
}

/* ---- MADV_WILLNEED --------------------------------------------------------------------------------------- */

/* Starts reading what is swapped out in the range. Each entry is looked at under the table's lock. */
static void madvise_willneed(struct machine *m, struct vm_area_struct *vma, u64 start, u64 end)
{
	u64 va = start;
	u32 table;

	for (; va < end && (table = pt_next_leaf(m, vma->vm_mm, &va, end)); va += PAGE_SIZE) {
		struct page *page;
		pte_t pte;

		if (table == PT_HUGE) {
			va = (va | ~PMD_MASK) & PAGE_MASK;
			continue;
		}
		spin_lock(&m->table[table].ptl);
		pte = *pt_entry(m, table, va);
		charge(COST_PTE);
		spin_unlock(&m->table[table].ptl);
		if (!pte_swap(pte))
			continue;
		page = read_swap_cache_async(m, pte_to_swp_entry(pte), GFP_HIGHUSER_MOVABLE, vma,
		                             va);
		if (page)
			put_page(m, page);
	}
	lru_add_drain(m); /* to the lists, so that reclaim can weigh them */
}

/* The file's pages, whether they are mapped or not; private copies that are swapped out stay so. */
static void madvise_willneed_file(struct machine *m, struct vm_area_struct *vma, u64 start, u64 end)
{
	if (mapping_is_shmem(vma_mapping(vma))) {
		shmem_willneed(m, vma_mapping(vma), vma_index(vma, start), vma_index(vma, end));
		return;
	}
	force_page_cache_readahead(m, vma->vm_file, vma_index(vma, start),
	                           (end - start) >> PAGE_SHIFT);
}

/* ---- flags of VMAs: RANDOM, SEQUENTIAL, HUGEPAGE ... ---------------------------------------------------------------- */

/* Advice for faults to come; what is mapped stays as it is. */
static int madvise_behavior(struct machine *m, struct vm_area_struct **vmap,
                            struct vm_area_struct **prev, u64 start, u64 end, enum mm_advice advice)
{
	u32 vm_flags = (*vmap)->vm_flags;
	int err;

	switch (advice) {
	case MM_MADV_HUGEPAGE:
		vm_flags = (vm_flags & ~VM_NOHUGEPAGE) | VM_HUGEPAGE;
		break;
	case MM_MADV_NOHUGEPAGE:
		vm_flags = (vm_flags & ~VM_HUGEPAGE) | VM_NOHUGEPAGE;
		break;
	case MM_MADV_NORMAL:
		vm_flags &= ~(VM_RAND_READ | VM_SEQ_READ);
		break;
	case MM_MADV_SEQUENTIAL:
		vm_flags = (vm_flags & ~VM_RAND_READ) | VM_SEQ_READ;
		break;
	case MM_MADV_RANDOM:
		vm_flags = (vm_flags & ~VM_SEQ_READ) | VM_RAND_READ;
		break;
	case MM_MADV_DONTNEED:
	case MM_MADV_FREE:
	case MM_MADV_WILLNEED:
	case MM_MADV_COLD:
	case MM_MADV_PAGEOUT:
		break;
	}
	if (vm_flags == (*vmap)->vm_flags)
		return 0;
	err = vma_modify_flags(m, vmap, *prev, start, end, vm_flags);
	if (!err && advice == MM_MADV_HUGEPAGE && (*vmap)->anon_vma)
		khugepaged_enter(m, *vmap);
	return err;
}

/* ---- the call --------------------------------------------------------------------------------------------- */

/* *@prev is the VMA before *@vmap, and becomes the one that has the end of the range. */
static int madvise_vma(struct machine *m, struct vm_area_struct **vmap,
                       struct vm_area_struct **prev, u64 start, u64 end, enum mm_advice advice)
{
	struct vm_area_struct *vma = *vmap;

	switch (advice) {
	case MM_MADV_NORMAL:
	case MM_MADV_RANDOM:
	case MM_MADV_SEQUENTIAL:
	case MM_MADV_HUGEPAGE:
	case MM_MADV_NOHUGEPAGE:
		return madvise_behavior(m, vmap, prev, start, end, advice);
	case MM_MADV_WILLNEED:
		if (vma->vm_file)
			madvise_willneed_file(m, vma, start, end);
		else
			madvise_willneed(m, vma, start, end);
		return 0;
	case MM_MADV_COLD:
	case MM_MADV_PAGEOUT:
		return madvise_cold_or_pageout(m, vma, start, end, advice == MM_MADV_PAGEOUT);
	case MM_MADV_FREE:
		if (vma->vm_flags & VM_LOCKED || vma->vm_file)
			return -EINVAL;
		if (madvise_free_is_lazy(m)) {
			madvise_free_single_vma(m, vma, start, end);
			return 0;
		}
		break;
	case MM_MADV_DONTNEED:
		break;
	}
	if (vma->vm_flags & VM_LOCKED)
		return -EINVAL;
	zap_page_range(m, vma, start, end);
	return 0;
}

/* Holes in the range are an error in the end, but do not keep the rest from being advised. */
static int madvise_walk(struct machine *m, struct mm_struct *mm, u64 start, u64 end,
                        enum mm_advice advice)
{
	struct vm_area_struct *vma = find_vma(mm, start);
	struct vm_area_struct *prev = vma ? vma_prev(vma) : NULL;
	int unmapped = 0;

	while (start < end) {
		int err;

		if (!vma || vma->vm_start >= end)
			return -ENOMEM;
		if (start < vma->vm_start) {
			unmapped = -ENOMEM;
			start = vma->vm_start;
		}
		if (start > vma->vm_start)
			prev = vma;
		err = madvise_vma(m, &vma, &prev, start, min(end, vma->vm_end), advice);
		if (err)
			return err;
		start = vma->vm_end;
		prev = vma;
		vma = vma_next(mm, vma);
	}
	return unmapped;
}

/* What changes VMA flags takes mmap_sem for write. */
static bool madvise_needs_write(enum mm_advice advice)
{
	return advice != MM_MADV_DONTNEED && advice != MM_MADV_FREE && advice != MM_MADV_WILLNEED &&
	       advice != MM_MADV_COLD && advice != MM_MADV_PAGEOUT;
}

static int __do_madvise(struct machine *m, struct mm_struct *mm, u64 va, u64 len,
                        enum mm_advice advice)
{
	bool write = madvise_needs_write(advice);
	int err;

	if (advice > (m->knob.madvise_cold == KNOB_ON ? MM_MADV_PAGEOUT : MM_MADV_NOHUGEPAGE) ||
	    (va & ~PAGE_MASK) || len > TASK_SIZE || va > TASK_SIZE - len)
		return -EINVAL;
	if (!len)
		return 0;
	if (write)
		mmap_write_lock(mm);
	else
		down_read(&mm->mmap_sem);
	err = madvise_walk(m, mm, va, va + ALIGN(len, PAGE_SIZE), advice);
	if (write)
		mmap_write_unlock(mm);
	else
		up_read(&mm->mmap_sem);
	return err;
}

int do_madvise(struct machine *m, u64 va, u64 len, enum mm_advice advice)
{
	struct task *t = sys_enter(SPAN_MADVISE);
	u64 start = world_now();
	int err;

	world_trace(EVENT_MADVISE, va, advice);
	err = __do_madvise(m, t->mm, va, len, advice);
	world_latency(HIST_MADVISE, start);
	return sys_exit(t, err);
}
