/*
 * Huge pages, and large folios, that move whole (Linux 4.14 on; mm/huge_memory.c, mm/migrate.c, mm/rmap.c; knob
 * thp.migration).
 *
 * While a page is being moved a migration entry stands where a PMD entry mapped it, with the table laid aside
 * beside it as before, and 512 pages in the counts of the address space. It is the page lock that stands
 * for it: who faults there waits for that. Others do with it what they do with huge entries: fork copies it (and
 * takes from both the right to write), mprotect() takes that right away, mremap() moves it, munmap() and its like
 * drop it, without touching the page, and whoever needs a table there makes 512 migration entries of it. What
 * looks at pages (mlock(), advice, khugepaged, move_pages()) passes over it.
 *
 * Where ptes map it each becomes a migration entry. The entries of a folio are flushed together (6.3); before, one
 * by one.
 *
 * Locks: a PMD entry's are as huge_memory.h says. Page locked, the rmap lock held.
 */
#include "core/huge_memory.h"
#include "core/migrate.h"
#include "core/mlock.h"

/* ---- migration entries of huge pages --------------------------------------------------------------------- */

int pmd_migration_entry_wait(struct vm_fault *f, u32 pmd_table, const pte_t *pmd, pte_t orig)
{
	struct page *page = pfn_to_page(f->m, pte_pfn(orig));
	bool there;

	spin_lock(pmd_lockptr(f->m, pmd_table));
	there = pmd->v == orig.v;
	/* Who set the entry has locked the page, and will not let go of it before that. */
	spin_unlock(pmd_lockptr(f->m, pmd_table));
	if (there)
		wait_on_page_locked(f->m, page);
	return 0;
}

void split_pmd_migration(struct machine *m, u32 leaf, pte_t entry)
{
	pte_t *ptes = table_entries(m, leaf);

	/* They are looked at by who finds the ptes. */
	prep_tails(m, pfn_to_page(m, pte_pfn(entry)));
	charge_n(COST_PTE, PTRS_PER_TABLE);
	for (u64 i = 0; i < PTRS_PER_TABLE; i++)
		ptes[i] = (pte_t){pte_clear(entry, PTE_HUGE).v + (i << PTE_PFN_SHIFT)};
	m->table[leaf].nr_used = PTRS_PER_TABLE;
}

/* The PMD entry of @va, which maps @head; its table is locked. */
static void set_pmd_migration_entry(struct machine *m, struct page *head,
                                    struct vm_area_struct *vma, pte_t *pmd, u64 va)
{
	pte_t entry = *pmd;

	charge_n(COST_PTE, 2);
	*pmd = pmd_make_migration(entry);
	world_tlb_flush(&vma->vm_mm->as, va & PMD_MASK, (va & PMD_MASK) + PMD_SIZE);
	if (pte_dirty(entry))
		page_set(head, PG_dirty);
	page_remove_rmap_huge(m, head);
	munlock_vma_folio(m, head, vma, true);
	mlock_drain_local(m); /* its batch's reference would make the migration fail */
	VM_BUG_ON(head->refcount < 2);
	head->refcount -= 1;
	charge(COST_PAGE_FLAG);
}

/* And back, of @head or of the page that has taken its place. */
static void remove_migration_pmd(struct machine *m, struct page *head, struct vm_area_struct *vma,
                                 pte_t *pmd)
{
	pte_t entry = *pmd;
	pte_t new = pte_make(page_to_pfn(m, head), PTE_PRESENT | PTE_HUGE);

	if (vma->vm_flags & (VM_READ | VM_WRITE))
		new = pte_set(new, PTE_USER);
	if (entry.v & PTE_MIGRATION_WRITE && vma->vm_flags & VM_WRITE)
		new = pte_set(new, PTE_WRITE);
	get_page(head);
	page_add_anon_rmap_huge(m, head);
	charge(COST_PTE);
	*pmd = pte_set(new, entry.v & PTE_DIRTY);
	mlock_vma_folio(m, head, vma, HPAGE_PMD_NR, true);
	mlock_drain_local(m);
}

/* ---- all of a page in one VMA ------------------------------------------------------------------------------- */

/* The PMD entry of @va if it is a leaf, its table, which is locked, in *@lock; NULL: it is none. */
static pte_t *lock_pmd_leaf(struct machine *m, struct mm_struct *mm, u64 va, struct spinlock **lock)
{
	pte_t *pmd;
	u32 pmd_table = pt_find_pmd(m, mm, va, &pmd);

	if (!pmd_table || !pmd_leaf(READ_ONCE(*pmd)))
		return NULL;
	*lock = pmd_lockptr(m, pmd_table);
	spin_lock(*lock);
	if (pmd_leaf(*pmd))
		return pmd;
	spin_unlock(*lock);
	return NULL;
}

/* False: ptes may map it. */
static bool migrate_pmd_of(struct machine *m, struct page *head, const struct huge_range *r)
{
	struct spinlock *lock;
	pte_t *pmd;
	bool maps;

	if (compound_order(head) != HPAGE_PMD_ORDER)
		return false;
	pmd = lock_pmd_leaf(m, r->vma->vm_mm, r->va, &lock);
	if (!pmd)
		return false;
	maps = pte_huge(*pmd) && pte_pfn(*pmd) == page_to_pfn(m, head);
	if (maps)
		set_pmd_migration_entry(m, head, r->vma, pmd, r->va);
	spin_unlock(lock);
	return maps;
}

void try_to_migrate_in(struct machine *m, struct page *head, struct vm_area_struct *vma)
{
	struct huge_range r = huge_range(head, vma);
	u64 pfn = page_to_pfn(m, head) + r.first;
	u64 end = r.va + ((u64)(r.last - r.first + 1) << PAGE_SHIFT);

	charge2(COST_RMAP_STEP, COST_PTE_COLD);
	if (migrate_pmd_of(m, head, &r))
		return;
	for (u64 va = r.va; va < end;) {
		u64 stop = min(end, ALIGN_DOWN(va, PMD_SIZE) + PMD_SIZE);
		u32 table = pt_find(m, vma->vm_mm, va);

		if (!table) {
			pfn += (stop - va) >> PAGE_SHIFT;
			va = stop;
			continue;
		}
		spin_lock(&m->table[table].ptl);
		for (; va < stop; va += PAGE_SIZE, pfn++) {
			pte_t entry = *pt_entry(m, table, va);

			charge(COST_PTE);
			if (!pte_present(entry) || pte_special(entry) || pte_pfn(entry) != pfn)
				continue;
			if (pte_dirty(entry))
				page_set(head, PG_dirty);
			set_migration_pte(m, pfn_to_page(m, pfn), vma, table, va, TTU_BATCH_FLUSH);
		}
		spin_unlock(&m->table[table].ptl);
	}
}

/* False: there is no PMD entry, but there may be ptes. */
static bool remove_migration_pmd_of(struct machine *m, struct page *old, struct page *new,
                                    const struct huge_range *r)
{
	struct spinlock *lock;
	pte_t *pmd;
	bool was;

	if (compound_order(new) != HPAGE_PMD_ORDER)
		return false;
	pmd = lock_pmd_leaf(m, r->vma->vm_mm, r->va, &lock);
	if (!pmd)
		return false;
	was = pmd_migration(*pmd) && pte_pfn(*pmd) == page_to_pfn(m, old);
	if (was)
		remove_migration_pmd(m, new, r->vma, pmd);
	spin_unlock(lock);
	return was;
}

void remove_migration_folio_in(struct machine *m, struct vm_area_struct *vma, struct page *old,
                               struct page *new)
{
	struct huge_range r = huge_range(new, vma);
	u64 end = r.va + ((u64)(r.last - r.first + 1) << PAGE_SHIFT);
	u32 i = r.first;

	charge2(COST_RMAP_STEP, COST_PTE_COLD);
	if (remove_migration_pmd_of(m, old, new, &r))
		return;
	prep_tails(m, new);
	for (u64 va = r.va; va < end;) {
		u64 stop = min(end, ALIGN_DOWN(va, PMD_SIZE) + PMD_SIZE);
		u32 table = pt_find(m, vma->vm_mm, va);

		if (!table) {
			i += (u32)((stop - va) >> PAGE_SHIFT);
			va = stop;
			continue;
		}
		spin_lock(&m->table[table].ptl);
		charge_n(COST_PTE, (stop - va) >> PAGE_SHIFT);
		for (; va < stop; va += PAGE_SIZE, i++)
			remove_migration_pte_of(m, vma, table, va, new + i,
			                        page_to_pfn(m, old) + i);
		spin_unlock(&m->table[table].ptl);
	}
}
