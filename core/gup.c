/*
 * Faulting in ranges: what mlock(), MAP_POPULATE and MAP_LOCKED need of get_user_pages() (Linux
 * mm/gup.c; to 3.16 mm/memory.c, mm/mlock.c).
 *
 * Each page is looked up as the hardware would do it for a write, if the mapping may be written (so
 * that copies are made now and not at the first store), or else for a read; what is missing is faulted
 * in. To 5.17 this is also where the pages of locked VMAs become mlocked, one by one.
 *
 * Left out: everything about pages for callers (pins, long-term, remote).
 */
#include "core/huge_memory.h"
#include "core/mlock.h"

/* What gup is about with one page. */
struct gup_page {
	u32 table;
	pte_t pte;
};

/* True: mapped as wanted; its table's lock is held. */
static bool follow_page(struct machine *m, struct mm_struct *mm, u64 va, bool write,
                        struct gup_page *g)
{
	g->table = pt_find(m, mm, va);
	if (!g->table)
		return false;
	spin_lock(&m->table[g->table].ptl);
	charge(COST_PTE);
	g->pte = *pt_entry(m, g->table, va);
	if (pte_present(g->pte) && (!write || pte_write(g->pte)))
		return true;
	spin_unlock(&m->table[g->table].ptl);
	return false;
}

/* FOLL_TOUCH: as if it had been used. Table lock held. */
static void touch_page(struct machine *m, struct page *page, pte_t pte, bool write)
{
	charge(COST_PAGE_LINE);
	if (write && !pte_dirty(pte) && !page_test(page, PG_dirty))
		page_set(page, PG_dirty);
	mark_page_accessed(m, page_is_anon(page) ? page : compound_head(page));
}

/*
 * FOLL_MLOCK. The page lock is only tried, the table's being held: who has it will see VM_LOCKED, or
 * reclaim will. The CPU's own batches are emptied first, as the page is most likely there.
 */
static void follow_page_mlock(struct machine *m, struct page *page)
{
	if (!trylock_page(m, page))
		return;
	if (m->knob.mlock_drain != MLOCK_DRAIN_NONE)
		lru_add_drain(m);
	mlock_vma_page(m, page);
	unlock_page(m, page);
}

/* May the huge page that has been found be mlocked? See mlock_walk.c. */
static bool may_mlock_huge(const struct machine *m, const struct page *head)
{
	if (m->knob.mlock_huge == MLOCK_HUGE_NEW)
		return false;
	return m->knob.thp_partial == THP_PARTIAL_PAGE ||
	       (head[1].compound_mapcount == 1 && head[1].total_mapcount == 1);
}

/* Does a huge entry map @va as wanted? */
static bool follow_huge(struct machine *m, struct vm_area_struct *vma, u64 va, bool write)
{
	pte_t *pmd;
	u32 pmd_table = pt_find_pmd(m, vma->vm_mm, va, &pmd);
	pte_t entry;
	bool found;

	if (!pmd_table || !pte_huge(READ_ONCE(*pmd)))
		return false;
	spin_lock(pmd_lockptr(m, pmd_table));
	charge(COST_PTE);
	entry = *pmd;
	found = pte_huge(entry) && (!write || pte_write(entry));
	if (found && !pte_special(entry) && vma->vm_flags & VM_LOCKED && !mlock_today(m) &&
	    may_mlock_huge(m, pfn_to_page(m, pte_pfn(entry))))
		follow_page_mlock(m, pfn_to_page(m, pte_pfn(entry)));
	spin_unlock(pmd_lockptr(m, pmd_table));
	return found;
}

/* The page at *@va, which moves behind it, or behind the huge entry that maps it. */
static int populate_page(struct machine *m, struct vm_area_struct *vma, u64 *va, bool write)
{
	struct gup_page g;
	struct page *page;
	int err;

	while (!follow_page(m, vma->vm_mm, *va, write, &g)) {
		if (follow_huge(m, vma, *va, write)) {
			*va = (*va & PMD_MASK) + PMD_SIZE;
			return 0;
		}
		err = faultin_page(m, vma, *va, write);
		if (err)
			return err;
		world_cond_resched();
	}
	if (!pte_special(g.pte)) {
		page = pfn_to_page(m, pte_pfn(g.pte));
		touch_page(m, page, g.pte, write);
		if (vma->vm_flags & VM_LOCKED && !mlock_today(m) && !page_is_compound(page))
			follow_page_mlock(m, page);
	}
	spin_unlock(&m->table[g.table].ptl);
	*va += PAGE_SIZE;
	return 0;
}

/* mmap_sem held for read. */
static int populate_vma_page_range(struct machine *m, struct vm_area_struct *vma, u64 start,
                                   u64 end)
{
	bool write = (vma->vm_flags & (VM_WRITE | VM_SHARED)) == VM_WRITE;
	int err = 0;

	if (vma->vm_flags & VM_LOCKONFAULT)
		return 0;
	if (!(vma->vm_flags & (VM_READ | VM_WRITE)))
		return -EFAULT;
	for (u64 va = start; va < end && !err;) {
		if (current_task()->killed)
			return -EINTR;
		world_cond_resched();
		err = populate_page(m, vma, &va, write);
	}
	/* 5.18: what has just been mlocked is on its list at the end. */
	if (mlock_today(m) && m->knob.mlock_drain != MLOCK_DRAIN_NONE)
		lru_add_drain(m);
	return err;
}

int mm_populate(struct machine *m, struct mm_struct *mm, u64 start, u64 len, bool ignore_errors)
{
	u64 end = start + len;
	struct vm_area_struct *vma;
	int err = 0;

	if (!len)
		return 0;
	span_enter(SPAN_POPULATE);
	down_read(&mm->mmap_sem);
	for (vma = find_vma(mm, start); vma && vma->vm_start < end; vma = vma_next(mm, vma)) {
		err = populate_vma_page_range(m, vma, max(start, vma->vm_start),
		                              min(end, vma->vm_end));
		if (err && (!ignore_errors || err == -EINTR))
			break;
		err = 0;
	}
	up_read(&mm->mmap_sem);
	span_exit();
	return err;
}
