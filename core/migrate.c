/*
 * Migration entries: taking them away again (Linux mm/migrate.c).
 *
 * While a page is split or moved its ptes are migration entries (world/pte.h), set under the page lock by
 * whoever does it (huge_split.c). Here they become ptes again, of the same frame or of another.
 */
#include "core/huge_memory.h"

/*
 * The pte of @va becomes one of @page if it is a migration entry of @old. Its table is locked. The VMA's
 * present protection decides what may be written, and the entry remembers whether it was allowed to be.
 */
bool remove_migration_pte_of(struct machine *m, struct vm_area_struct *vma, u32 table, u64 va,
                             struct page *page, u64 old_pfn)
{
	pte_t *pte = pt_entry(m, table, va);
	pte_t entry = *pte;
	pte_t new = pte_make(page_to_pfn(m, page), PTE_PRESENT);

	if (!pte_migration(entry) || pte_pfn(entry) != old_pfn)
		return false;
	if (vma->vm_flags & (VM_READ | VM_WRITE))
		new = pte_set(new, PTE_USER);
	if (entry.v & PTE_MIGRATION_WRITE && vma->vm_flags & VM_WRITE)
		new = pte_set(new, PTE_WRITE);
	new = pte_set(new, entry.v & PTE_DIRTY);
	charge(COST_PAGE_FLAG);
	get_page(page);
	page_add_anon_rmap(m, page, vma, va);
	charge(COST_PTE);
	set_pte(m, table, pte, new);
	return true;
}

bool remove_migration_pte(struct machine *m, struct vm_area_struct *vma, u32 table, u64 va,
                          struct page *page)
{
	return remove_migration_pte_of(m, vma, table, va, page, page_to_pfn(m, page));
}
