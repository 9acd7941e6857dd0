/*
 * MADV_COLD and MADV_PAGEOUT (Linux mm/madvise.c, 5.4; knob madvise.cold).
 *
 * Cold pages lose their marks of use and go to the inactive lists, where reclaim will find them before
 * others. Pageout does not wait for that: pages are isolated, a leaf table's worth at a time, and reclaimed
 * there and then, whether they have been used or not. Both leave alone what others map as well, and what is
 * on no list because it waits in a batch; the running CPU's batches are emptied first.
 */
#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/vmscan.h"

/* One call's work on one VMA. */
struct madvise_cold {
	struct machine *m;
	struct vm_area_struct *vma;
	struct mmu_gather tlb;
	bool pageout;
	u32 nr; /* pages isolated from the present table */
	struct page *page[PTRS_PER_TABLE];
};

/* ---- reclaim of what was isolated ------------------------------------------------------------------ */

/* Reclaims the first @nr of @page, which are all of one lruvec. */
static void reclaim_run(struct machine *m, struct page **page, u32 nr)
{
	struct lruvec *lruvec = page_lruvec(m, page[0]);
	struct scan_control sc = {
		.gfp = GFP_KERNEL,
		.may_writepage = true,
		.may_unmap = true,
		.may_swap = true,
		.ignore_references = true,
	};
	struct reclaim_stat stat = {0};
	long nr_isolated[2] = {0};
	struct page_list list;
	struct page *left;

	page_list_init(&list, lruvec->pgdat->mem_map);
	for (u32 i = 0; i < nr; i++) {
		nr_isolated[page_is_file(page[i])] += compound_nr(page[i]);
		page_clear(page[i], PG_active);
		page_set(page[i], PG_isolated);
		page_list_add(&list, page[i]);
	}
	mod_node_state(lruvec_zone(lruvec), NR_ISOLATED_ANON, nr_isolated[0]);
	mod_node_state(lruvec_zone(lruvec), NR_ISOLATED_FILE, nr_isolated[1]);
	shrink_page_list(m, &list, lruvec, &sc, &stat);
	mod_node_state(lruvec_zone(lruvec), NR_ISOLATED_ANON, -nr_isolated[0]);
	mod_node_state(lruvec_zone(lruvec), NR_ISOLATED_FILE, -nr_isolated[1]);
	while ((left = page_list_pop(&list))) {
		page_clear(left, PG_isolated);
		putback_lru_page(m, left);
	}
}

static void reclaim_pages(struct madvise_cold *c)
{
	u32 first = 0;

	for (u32 i = 1; i <= c->nr; i++) {
		if (i < c->nr && page_lruvec(c->m, c->page[i]) == page_lruvec(c->m, c->page[first]))
			continue;
		reclaim_run(c->m, c->page + first, i - first);
		first = i;
	}
	c->nr = 0;
}

/* ---- pages ------------------------------------------------------------------------------------------ */

/* Its entry, whose table is locked, has been made old. */
static void cold_page(struct madvise_cold *c, struct page *page)
{
	struct machine *m = c->m;

	charge(COST_PAGE_FLAG);
	page_clear(page, PG_referenced);
	if (!c->pageout) {
		deactivate_page(m, page);
		return;
	}
	if (!isolate_lru_page(m, page))
		return;
	if (page_test(page, PG_unevictable))
		putback_lru_page(m, page);
	else
		c->page[c->nr++] = page;
}

static pte_t make_old(struct madvise_cold *c, pte_t pte, u64 va)
{
	if (!pte_young(pte))
		return pte;
	charge(COST_PTE);
	tlb_remove_tlb_entry(&c->tlb, va);
	return pte_clear(pte, PTE_ACCESSED);
}

/*
 * A part of a huge page that is this task's alone: it is split. The lock, of @lock, is dropped, and the page
 * has been found under it. True: done.
 */
static bool split_for_advice(struct machine *m, struct spinlock *lock, struct page *head)
{
	bool split = false;

	get_page(head);
	spin_unlock(lock);
	if (trylock_page(m, head)) {
		split = !split_huge_page(m, head);
		unlock_page(m, head);
	}
	put_page(m, head);
	return split;
}

/*
 * A large folio, @page's, if all of it is mapped from @va on, and nowhere else; of anonymous ones since 6.10. (Of
 * a file's only a part of which is advised Linux splits, too.) Returns how many entries are done with.
 */
static u32 cold_folio(struct madvise_cold *c, pte_t *pte, u64 va, u64 end, struct page *page)
{
	struct page *head = compound_head(page);
	u32 nr = compound_nr(head);

	if (page != head || head[1].total_mapcount != (s32)nr || !page_test(head, PG_lru) ||
	    va + ((u64)nr << PAGE_SHIFT) > end)
		return 1;
	charge_n(COST_PTE, nr - 1);
	for (u32 i = 0; i < nr; i++)
		if (!pte_present(pte[i]) || pte_special(pte[i]) ||
		    pte_pfn(pte[i]) != page_to_pfn(c->m, head) + i)
			return 1;
	for (u32 i = 0; i < nr; i++)
		pte[i] = make_old(c, pte[i], va + ((u64)i << PAGE_SHIFT));
	cold_page(c, head);
	return nr;
}

static void cold_pte_range(struct madvise_cold *c, u32 table, u64 va, u64 end)
{
	struct machine *m = c->m;
	struct spinlock *ptl = &m->table[table].ptl;
	bool whole = m->knob.thp_swapout == THP_SWAPOUT_LARGE;

	spin_lock(ptl);
	flush_tlb_batched_pending(c->tlb.mm);
	for (; va < end; va += PAGE_SIZE) {
		pte_t *pte = pt_entry(m, table, va);
		struct page *page;

		charge(COST_PTE);
		if (!pte_present(*pte) || pte_special(*pte))
			continue;
		page = pfn_to_page(m, pte_pfn(*pte));
		charge(COST_PAGE_LINE);
		if (page_mapcount(page) != 1)
			continue;
		if (page_is_compound(page) && (whole || !page_is_anon(page))) {
			u32 nr = cold_folio(c, pte, va, end, page);

			va += (nr - 1UL) << PAGE_SHIFT;
			if (nr > 1 || !page_is_anon(page))
				continue;
		}
		if (page_is_compound(page)) {
			if (split_for_advice(m, ptl, compound_head(page)))
				va -= PAGE_SIZE; /* once more, as a page of its own */
			spin_lock(ptl);
			continue;
		}
		if (!page_test(page, PG_lru))
			continue;
		*pte = make_old(c, *pte, va);
		cold_page(c, page);
	}
	spin_unlock(ptl);
	if (c->nr)
		reclaim_pages(c);
}

/* A huge entry at @va. False: it is, or has become, a table. */
static bool cold_huge_pmd(struct madvise_cold *c, u64 va, u64 end)
{
	struct machine *m = c->m;
	struct page *page;
	pte_t *pmd;
	u32 pmd_table = pt_find_pmd(m, c->tlb.mm, va, &pmd);
	struct spinlock *lock;

	VM_BUG_ON(!pmd_table);
	lock = pmd_lockptr(m, pmd_table);
	spin_lock(lock);
	if (!pte_huge(*pmd)) {
		bool moving = pmd_leaf(*pmd);

		spin_unlock(lock);
		return moving;
	}
	page = pfn_to_page(m, pte_pfn(*pmd));
	if (!pte_special(*pmd) && page[1].total_mapcount == 1) {
		if (va & ~PMD_MASK || end - va < PMD_SIZE)
			return !split_for_advice(m, lock, page);
		if (page_test(page, PG_lru)) {
			*pmd = make_old(c, *pmd, va);
			cold_page(c, page);
		}
	}
	spin_unlock(lock);
	if (c->nr)
		reclaim_pages(c);
	return true;
}

/* -EINVAL: locked. mmap_sem held for read. May switch tasks. */
int madvise_cold_or_pageout(struct machine *m, struct vm_area_struct *vma, u64 start, u64 end,
                            bool pageout)
{
	struct madvise_cold c = {.m = m, .vma = vma, .pageout = pageout};
	u64 va = start;
	u32 table;

	if (vma->vm_flags & VM_LOCKED)
		return -EINVAL;
	lru_add_drain(m);
	tlb_gather_mmu(&c.tlb, m, vma->vm_mm, false);
	while (va < end && (table = pt_next_leaf(m, vma->vm_mm, &va, end))) {
		u64 next = min(end, ALIGN_DOWN(va, PMD_SIZE) + PMD_SIZE);

		if (current_task()->killed)
			break;
		if (table != PT_HUGE)
			cold_pte_range(&c, table, va, next);
		else if (!cold_huge_pmd(&c, va, next))
			continue; /* a table now */
		va = next;
		world_cond_resched();
	}
	tlb_finish_mmu(&c.tlb);
	return 0;
}
