/*
 * Huge pages, of any size, that are swapped out whole (Linux 4.13 on, other sizes than 2 MiB: 6.10; mm/vmscan.c,
 * mm/rmap.c; knob thp.swapout).
 *
 * Where a swap area has as many free slots in a row, a huge page gets them all and is written as it is. Its
 * PMD entries become tables first, and then every entry a swap entry of its own. While it is in the swap cache
 * it has a reference for each of its slots, and whoever faults meanwhile maps a part of it, or all again
 * (swapin.c). Otherwise (no slots, or a part of it is mapped by nobody) it is split, as it always was to 4.12.
 *
 * Lazily freed ones are dropped whole, too (6.11, 6.16): all entries of a table, or the PMD entry, go at once, if
 * none of them has been written through.
 */
#include "core/huge_memory.h"
#include "core/mlock.h"
#include "core/rmap.h"
#include "core/swap.h"

/* ---- out of the page tables ---------------------------------------------------------------------------- */

/* TTU_SPLIT_HUGE_PMD: a PMD entry that maps the page becomes a table. The rmap lock is held. */
static void split_pmd_of(struct machine *m, struct page *head, const struct huge_range *r)
{
	pte_t *pmd;
	u32 pmd_table;

	if (compound_order(head) != HPAGE_PMD_ORDER)
		return;
	pmd_table = pt_find_pmd(m, r->vma->vm_mm, r->va, &pmd);
	if (!pmd_table || !pte_huge(READ_ONCE(*pmd)))
		return;
	spin_lock(pmd_lockptr(m, pmd_table));
	if (pte_huge(*pmd) && pte_pfn(*pmd) == page_to_pfn(m, head))
		split_huge_pmd_locked(m, r->vma, pmd_table, pmd, r->va & PMD_MASK, false);
	spin_unlock(pmd_lockptr(m, pmd_table));
}

/*
 * The pte becomes page @i's swap entry. Flushed one by one, or with the batch: only what needs no slots is unmapped
 * in runs (6.18). False: no memory for the slot's count. Its table is locked.
 */
static bool swap_out_part(struct machine *m, struct page *head, u32 i, const struct rmap_pte *r,
                          u32 flags)
{
	pte_t entry = *r->pte;

	if (swap_duplicate(m, page_swap_entry(m, head + i)) < 0)
		return false;
	charge_n(COST_PTE, 2);
	set_pte(m, r->table, r->pte, swp_entry_to_pte(page_swap_entry(m, head + i)));
	unmap_flush(m, r->vma->vm_mm, r->va, entry, flags);
	if (pte_dirty(entry))
		page_set(head, PG_dirty);
	page_remove_rmap(m, head + i);
	VM_BUG_ON(head->refcount < 2);
	head->refcount -= 1;
	charge(COST_PAGE_FLAG);
	return true;
}

/* Those of @nr entries of one leaf table, from page @i's on, that map the page. False: no memory. */
static bool unmap_huge_ptes(struct machine *m, struct page *head, u32 i, u32 nr, struct rmap_pte *r,
                            u32 flags)
{
	struct mm_struct *mm = r->vma->vm_mm;
	u64 pfn = page_to_pfn(m, head);
	long swapped = 0;
	bool ok = true;

	r->table = pt_find(m, mm, r->va);
	if (!r->table)
		return true;
	spin_lock(&m->table[r->table].ptl);
	r->pte = pt_entry(m, r->table, r->va);
	for (; nr-- && ok; i++, r->pte++, r->va += PAGE_SIZE) {
		charge(COST_PTE);
		if (!pte_maps(*r->pte, pfn + i))
			continue;
		ok = swap_out_part(m, head, i, r, flags);
		swapped += ok;
	}
	if (swapped) {
		atomic_long_add(-swapped, &mm->rss[MM_ANONPAGES]);
		atomic_long_add(swapped, &mm->rss[MM_SWAPENTS]);
		charge_n(COST_RSS, 2);
	}
	spin_unlock(&m->table[r->table].ptl);
	return ok;
}

/* ---- lazily freed ---------------------------------------------------------------------------------------- */

/*
 * May the entries of @head that have just been looked at be dropped? Not if the page has been written since, when it
 * is an ordinary one again, or if anybody but its entries and the caller holds it. Their table is locked.
 */
static enum ttu_result huge_lazyfree_check(struct page *head)
{
	if (page_test(head, PG_dirty)) {
		page_set(head, PG_swapbacked);
		return SWAP_DIRTY;
	}
	return head->refcount == 1 + head[1].total_mapcount ? SWAP_AGAIN : SWAP_FAIL;
}

/* Entries of @mm in [@va, @end) that mapped @nr pages, with @refs references, are gone. */
static void huge_dropped(struct mm_struct *mm, struct page *head, u64 va, u64 end, u32 nr, u32 refs)
{
	world_tlb_flush(&mm->as, va, end);
	atomic_long_add(-(long)nr, &mm->rss[MM_ANONPAGES]);
	charge_n(COST_RSS, 1);
	VM_BUG_ON(head->refcount <= (s32)refs);
	head->refcount -= (s32)refs;
}

/* Those of @nr entries of one leaf table that map the page: none of them goes, or all do. */
static enum ttu_result discard_huge_ptes(struct machine *m, struct page *head, u32 i, u32 nr,
                                         struct rmap_pte *r)
{
	u64 pfn = page_to_pfn(m, head);
	enum ttu_result ret;
	u32 nr_ptes = 0;
	long nr_unmapped = 0;

	r->table = pt_find(m, r->vma->vm_mm, r->va);
	if (!r->table)
		return SWAP_AGAIN;
	spin_lock(&m->table[r->table].ptl);
	r->pte = pt_entry(m, r->table, r->va);
	charge_n(COST_PTE, nr);
	for (u32 n = 0; n < nr; n++)
		if (pte_maps(r->pte[n], pfn + i + n) && pte_dirty(r->pte[n]))
			page_set(head, PG_dirty);
	ret = huge_lazyfree_check(head);
	for (u32 n = 0; n < nr && ret == SWAP_AGAIN; n++) {
		if (!pte_maps(r->pte[n], pfn + i + n))
			continue;
		set_pte(m, r->table, r->pte + n, (pte_t){0});
		nr_unmapped += __page_remove_rmap_compound(head + i + n);
		nr_ptes += 1;
	}
	if (nr_ptes) {
		charge_n(COST_PAGE_FLAG, nr_ptes);
		mod_node_state(page_zone(m, head), NR_ANON_MAPPED, -nr_unmapped);
		huge_dropped(r->vma->vm_mm, head, r->va, r->va + ((u64)nr << PAGE_SHIFT), nr_ptes,
		             nr_ptes);
	}
	spin_unlock(&m->table[r->table].ptl);
	return ret;
}

/* The PMD entry of one VMA. *@done: there was one that mapped the page. */
static enum ttu_result discard_huge_pmd(struct machine *m, struct page *head,
                                        const struct huge_range *r, bool *done)
{
	struct mm_struct *mm = r->vma->vm_mm;
	enum ttu_result ret;
	u32 leaf = 0;
	pte_t *pmd;
	u32 pmd_table = pt_find_pmd(m, mm, r->va, &pmd);

	*done = false;
	if (!pmd_table || !pte_huge(READ_ONCE(*pmd)))
		return SWAP_AGAIN;
	spin_lock(pmd_lockptr(m, pmd_table));
	if (!pte_huge(*pmd) || pte_pfn(*pmd) != page_to_pfn(m, head)) {
		spin_unlock(pmd_lockptr(m, pmd_table));
		return SWAP_AGAIN;
	}
	*done = true;
	if (pte_dirty(*pmd))
		page_set(head, PG_dirty);
	ret = huge_lazyfree_check(head);
	if (ret == SWAP_AGAIN) {
		charge(COST_PTE);
		set_pte(m, pmd_table, pmd, (pte_t){0});
		leaf = pt_withdraw(m, pmd_table);
		page_remove_rmap_huge(m, head);
		huge_dropped(mm, head, r->va, r->va + PMD_SIZE, HPAGE_PMD_NR, 1);
	}
	spin_unlock(pmd_lockptr(m, pmd_table));
	if (leaf)
		pt_free(m, mm, leaf);
	return ret;
}

static enum ttu_result discard_huge_one(struct machine *m, struct page *head,
                                        struct huge_range *range)
{
	enum ttu_result ret = SWAP_AGAIN;
	u64 va = range->va;
	bool done = false;

	charge2(COST_RMAP_STEP, COST_PTE_COLD);
	if (compound_order(head) == HPAGE_PMD_ORDER)
		ret = discard_huge_pmd(m, head, range, &done);
	for (u32 i = range->first; i <= range->last && !done && ret == SWAP_AGAIN;) {
		struct rmap_pte r = {.vma = range->vma, .va = va};
		u32 nr = min(range->last - i + 1, PTRS_PER_TABLE - pte_index(va, 0));

		ret = discard_huge_ptes(m, head, i, nr, &r);
		i += nr;
		va += (u64)nr << PAGE_SHIFT;
	}
	return ret;
}

/* ---- both ---------------------------------------------------------------------------------------------------- */

/* All entries of one VMA, each table's under one hold of its lock: mremap() may have put them in two. */
static enum ttu_result unmap_huge_one(struct machine *m, struct page *head,
                                      struct huge_range *range, u32 flags)
{
	u32 i = range->first;
	u64 va = range->va;

	charge2(COST_RMAP_STEP, COST_PTE_COLD);
	split_pmd_of(m, head, range);
	while (i <= range->last) {
		struct rmap_pte r = {.vma = range->vma, .va = va};
		u32 nr = min(range->last - i + 1, PTRS_PER_TABLE - pte_index(va, 0));

		if (!unmap_huge_ptes(m, head, i, nr, &r, flags))
			return SWAP_FAIL;
		i += nr;
		va += (u64)nr << PAGE_SHIFT;
	}
	return SWAP_AGAIN;
}

enum ttu_result try_to_unmap_huge(struct machine *m, struct page *head, u32 flags)
{
	enum ttu_result ret = SWAP_AGAIN;
	struct anon_vma *anon_vma;
	struct interval_node *node;

	VM_BUG_ON(!page_test(head, PG_locked));
	VM_BUG_ON(!page_test(head, PG_swapcache) && page_test(head, PG_swapbacked));
	charge(COST_RMAP_LOOKUP);
	world_order();
	if (!page_mapped(head))
		return SWAP_SUCCESS;
	anon_vma = page_anon_vma(m, head);
	anon_vma->refcount += 1;
	down_read(&anon_vma->root->rwsem);
	interval_tree_for_each (node, &anon_vma->rb_root, head->index,
	                        head->index + compound_nr(head) - 1) {
		struct vm_area_struct *vma = container_of(node, struct anon_vma_chain, node)->vma;
		struct huge_range r = huge_range(head, vma);
		bool whole;

		if (unlikely(vma->vm_flags & VM_LOCKED))
			ret = huge_found_locked(m, head, vma, &whole) ? SWAP_MLOCK : SWAP_AGAIN;
		else if (!page_test(head, PG_swapbacked))
			ret = discard_huge_one(m, head, &r);
		else
			ret = unmap_huge_one(m, head, &r, flags);
		if (ret != SWAP_AGAIN || !page_mapped(head))
			break;
	}
	up_read(&anon_vma->root->rwsem);
	put_anon_vma(m, anon_vma);
	return page_mapped(head) ? ret : SWAP_SUCCESS;
}

/* ---- to be swapped out whole? ----------------------------------------------------------------------------- */

bool may_swap_out_whole(struct machine *m, struct page *head)
{
	s32 cached = page_test(head, PG_swapcache) ? (s32)compound_nr(head) : 0;

	if (m->knob.thp_swapout == THP_SWAPOUT_SPLIT || m->knob.thp_partial == THP_PARTIAL_PAGE)
		return false;
	if (m->knob.thp_swapout == THP_SWAPOUT_WHOLE && compound_order(head) != HPAGE_PMD_ORDER)
		return false;
	if (cached)
		return true;
	if (!page_test(head, PG_swapbacked)) /* no slots are needed */
		return m->knob.thp_swapout == THP_SWAPOUT_LARGE;
	/* What is unmapped of it can be freed without I/O. */
	return !(head[1].compound_flags & COMPOUND_DEFERRED);
}
