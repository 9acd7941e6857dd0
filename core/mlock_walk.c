/*
 * From a locked VMA's entries to its pages (Linux mm/mlock.c: munlock_vma_pages_range(), mlock_pte_range()).
 *
 * To 5.17 populate mlocks what it finds (gup.c), and unlocking looks each page up, waits for its lock, and
 * munlocks it. Today both go along a table under one hold of its lock, and leave the rest to a batch.
 *
 * Huge pages, and large folios of files, are mlocked as a whole or not at all. When, the knob mlock.huge says:
 *
 *   new    2.6.38: those that a fault puts into a locked VMA
 *   pmd    3.7: and those that populate finds a huge entry of. Since 4.5 (thp.partial_unmap = pmd) that may be the
 *          only one, and the page is munlocked when it becomes ptes: PG_mlocked must not get to those of its pages
 *          that other VMAs have
 *   whole  6.7: those, too, that ptes map, if all of them are in one VMA and in the range (today's form only)
 *
 * Where a huge page is not mlocked, or not any more, though some of it is locked, reclaim finds the lock (rmap.c): to
 * 5.17 it splits the page and mlocks the small ones; today it mlocks the page if it is whole in the VMA.
 */
#include "core/huge_memory.h"
#include "core/mlock.h"

/* ---- to 5.17 ----------------------------------------------------------------------------------- */

/*
 * The page that the pte at @va maps, with a reference; NULL: none, the zero page, or part of a huge one; or (*@again) one
 * that had to be waited for, as it is being moved or split.
 */
static struct page *get_small_page(struct machine *m, u32 table, u64 va, bool *again)
{
	struct spinlock *ptl = &m->table[table].ptl;
	struct page *page = NULL;
	pte_t pte;

	spin_lock(ptl);
	charge(COST_PTE);
	pte = *pt_entry(m, table, va);
	if (pte_present(pte) && !pte_special(pte))
		page = pfn_to_page(m, pte_pfn(pte));
	if (pte_migration(pte)) {
		/* (Linux passes over it, and the page may stay mlocked.) */
		page = compound_head(pfn_to_page(m, pte_pfn(pte)));
		spin_unlock(ptl);
		wait_on_page_locked(m, page);
		*again = true;
		return NULL;
	}
	if (page && page_is_compound(page)) {
		*again = page_is_being_split(m, page);
		if (*again) {
			wait_split_huge_page(m, page, ptl);
			return NULL;
		}
		page = NULL;
	}
	if (page) {
		charge(COST_PAGE_LINE);
		get_page(page);
	}
	spin_unlock(ptl);
	return page;
}

/* The same of a huge entry; *@again: it has become a table, or was being moved. */
static struct page *get_huge_page(struct machine *m, struct mm_struct *mm, u64 va, bool *again)
{
	pte_t *pmd;
	u32 pmd_table = pt_find_pmd(m, mm, va, &pmd);
	struct page *page = NULL;

	VM_BUG_ON(!pmd_table);
	spin_lock(pmd_lockptr(m, pmd_table));
	charge(COST_PTE);
	*again = !pte_huge(*pmd);
	if (unlikely(pmd_migration(*pmd))) {
		page = pfn_to_page(m, pte_pfn(*pmd));
		spin_unlock(pmd_lockptr(m, pmd_table));
		wait_on_page_locked(m, page);
		return NULL;
	}
	if (pte_huge(*pmd) && !pte_special(*pmd)) {
		page = pfn_to_page(m, pte_pfn(*pmd));
		charge(COST_PAGE_LINE);
		get_page(page);
	}
	spin_unlock(pmd_lockptr(m, pmd_table));
	return page;
}

/* Empty tables cost one look each. */
static void munlock_vma_pages_range(struct machine *m, struct vm_area_struct *vma, u64 start,
                                    u64 end)
{
	struct mm_struct *mm = vma->vm_mm;
	u64 va = start;
	u32 table;

	while (va < end && (table = pt_next_leaf(m, mm, &va, end))) {
		u32 nr = table == PT_HUGE ? HPAGE_PMD_NR : 1;
		bool again = false;
		struct page *page = table == PT_HUGE ? get_huge_page(m, mm, va, &again)
		                                     : get_small_page(m, table, va, &again);

		/* VMAs, and with them huge entries, are split before they are unlocked in part. */
		VM_BUG_ON(table == PT_HUGE && !again && va & ~PMD_MASK);
		if (page) {
			lock_page(m, page);
			nr = compound_nr(
				page); /* it may have been split before it could be locked */
			munlock_vma_page(m, page);
			unlock_page(m, page);
			put_page(m, page);
		}
		va += again ? 0 : nr * PAGE_SIZE;
		world_cond_resched();
	}
}

/* ---- today ------------------------------------------------------------------------------------- */

/* How many ptes in a row, @max at most, map @page, which the first one maps, and what follows it in its folio. */
static u32 folio_pte_batch(struct machine *m, struct page *page, const pte_t *pte, u64 max)
{
	struct page *head = compound_head(page);
	u64 pfn = page_to_pfn(m, page);
	u32 nr = 1;

	max = min(max, (u64)compound_nr(head) - (u64)(page - head));
	while (nr < max && pte_maps(pte[nr], pfn + nr))
		nr++;
	return nr;
}

static void mlock_ptes(struct machine *m, u32 table, u64 va, u64 end, bool lock)
{
	const pte_t *pte = pt_entry(m, table, va);
	u32 nr;

	charge_n(COST_PTE, (end - va) >> PAGE_SHIFT);
	for (; va < end; va += nr * PAGE_SIZE, pte += nr) {
		struct page *page = pfn_to_page(m, pte_pfn(*pte));

		nr = 1;
		if (!pte_present(*pte) || pte_special(*pte))
			continue;
		charge(COST_PAGE_LINE);
		if (page_is_compound(page)) {
			nr = folio_pte_batch(m, page, pte, (end - va) >> PAGE_SHIFT);
			page = compound_head(page);
			if (m->knob.mlock_huge != MLOCK_HUGE_WHOLE ||
			    (lock && nr != compound_nr(page)))
				continue;
		}
		if (lock)
			mlock_folio(m, page);
		else
			munlock_folio(m, page);
	}
}

/* A large folio, once for each run of its pages: it is too little locked then, rather than too much. */
void munlock_ptes(struct machine *m, u32 table, u64 va, u64 end)
{
	mlock_ptes(m, table, va, end, false);
}

/* False: the entry has become a table. A page that is being moved counts itself in when it is mapped again. */
static bool mlock_pmd(struct machine *m, struct mm_struct *mm, u64 va, bool lock)
{
	pte_t *pmd;
	u32 pmd_table = pt_find_pmd(m, mm, va, &pmd);
	bool huge;

	VM_BUG_ON(!pmd_table);
	spin_lock(pmd_lockptr(m, pmd_table));
	charge(COST_PTE);
	huge = pmd_leaf(*pmd);
	if (pte_huge(*pmd) && !pte_special(*pmd)) {
		struct page *page = pfn_to_page(m, pte_pfn(*pmd));

		charge(COST_PAGE_LINE);
		if (lock)
			mlock_folio(m, page);
		else
			munlock_folio(m, page);
	}
	spin_unlock(pmd_lockptr(m, pmd_table));
	return huge;
}

/*
 * Counts the VMA in or out at all its pages. Meanwhile VM_IO keeps reclaim, which reads the flags
 * without mmap_sem, from counting it in as well.
 */
static void mlock_vma_pages_range(struct machine *m, struct vm_area_struct *vma, u64 start, u64 end)
{
	bool lock = vma->vm_flags & VM_LOCKED;
	bool drain = m->knob.mlock_drain != MLOCK_DRAIN_NONE;
	u64 va = start;
	u32 table;

	if (lock)
		vma->vm_flags |= VM_IO;
	if (drain)
		lru_add_drain(m);
	while (va < end && (table = pt_next_leaf(m, vma->vm_mm, &va, end))) {
		u64 next = min(end, ALIGN_DOWN(va, PMD_SIZE) + PMD_SIZE);

		if (table != PT_HUGE) {
			spin_lock(&m->table[table].ptl);
			mlock_ptes(m, table, va, next, lock);
			spin_unlock(&m->table[table].ptl);
		} else if (!mlock_pmd(m, vma->vm_mm, va, lock)) {
			continue;
		}
		va = next;
		world_cond_resched();
	}
	if (drain)
		lru_add_drain(m);
	if (lock)
		vma->vm_flags &= ~(u32)VM_IO;
}

/* ---- either ------------------------------------------------------------------------------------ */

void mlock_vma_pages(struct machine *m, struct vm_area_struct *vma, u64 start, u64 end)
{
	if (mlock_today(m))
		mlock_vma_pages_range(m, vma, start, end);
	else if (!(vma->vm_flags & VM_LOCKED))
		munlock_vma_pages_range(m, vma, start, end);
}
