/*
 * mprotect(): new protections for a range (Linux mm/mprotect.c).
 *
 * VMAs are split and merged as the range demands, then the entries of what is mapped follow. Entries of
 * private memory never become writable here, even if the VMA is: the next write faults and finds out
 * whether the page is shared (before 6.1; since then a page known to be exclusive is made writable at
 * once). PROT_NONE is an entry the user may not use, PTE_USER clear, not one that is absent.
 */
#include "core/fs.h"
#include "core/huge_memory.h"

/* Entry of a page with the VMA's present protection: pte_modify(). */
static pte_t pte_modify(pte_t pte, u32 vm_flags)
{
	pte = pte_clear(pte, PTE_WRITE | PTE_USER);
	return vm_flags & (VM_READ | VM_WRITE | VM_EXEC) ? pte_set(pte, PTE_USER) : pte;
}

/* Present entries that were changed in [@va, @end) of one leaf table. */
static u64 change_pte_range(struct machine *m, struct vm_area_struct *vma, u32 table, u64 va,
                            u64 end)
{
	pte_t *pte = pt_entry(m, table, va);
	u64 nr = (end - va) >> PAGE_SHIFT;
	u64 changed = 0;

	spin_lock(&m->table[table].ptl);
	flush_tlb_batched_pending(vma->vm_mm);
	for (u64 i = 0; i < nr; i++) {
		if (unlikely(pte_migration(pte[i]))) {
			pte[i] = pte_clear(pte[i], PTE_MIGRATION_WRITE);
			changed++;
		}
		if (!pte_present(pte[i]))
			continue;
		pte[i] = pte_modify(pte[i], vma->vm_flags);
		if (vma_dirties_unseen(vma))
			pte[i] = pte_set(pte[i], PTE_WRITE);
		changed++;
	}
	charge_n(COST_PTE, nr + changed);
	spin_unlock(&m->table[table].ptl);
	return changed;
}

static void change_protection(struct machine *m, struct vm_area_struct *vma, u64 start, u64 end)
{
	u64 changed = 0;
	u64 va = start;
	u32 table;

	while (va < end && (table = pt_next_leaf(m, vma->vm_mm, &va, end))) {
		u64 next = min(end, ALIGN_DOWN(va, PMD_SIZE) + PMD_SIZE);

		if (table != PT_HUGE)
			changed += change_pte_range(m, vma, table, va, next);
		else if (!change_huge_pmd(m, vma, va, next, &changed))
			continue; /* a table now */
		va = next;
		world_cond_resched();
	}
	if (changed)
		world_tlb_flush(&vma->vm_mm->as, start, end);
}

/*
 * Gives [@start, @end) of *@vmap @vm_flags; *@prev and *@vmap move to where it ended up, which is the
 * same VMA for both if it grew together with what is before it.
 */
static int mprotect_fixup(struct machine *m, struct vm_area_struct **vmap,
                          struct vm_area_struct **prev, u64 start, u64 end, u32 vm_flags)
{
	struct vm_area_struct *vma = *vmap;
	unsigned long charged = 0;
	int err;

	if (vma->vm_flags == vm_flags) {
		*prev = vma;
		return 0;
	}
	/* Private memory that becomes writable is accounted from then on. */
	if (vm_flags & VM_WRITE &&
	    !(vma->vm_flags & (VM_ACCOUNT | VM_WRITE | VM_SHARED | VM_NORESERVE))) {
		charged = (end - start) >> PAGE_SHIFT;
		if (vm_enough_memory(m, vma->vm_mm, charged))
			return -ENOMEM;
		vm_flags |= VM_ACCOUNT;
	}
	err = vma_modify_flags(m, vmap, *prev, start, end, vm_flags);
	if (err) {
		vm_unacct_memory(m, charged);
		return err;
	}
	change_protection(m, *vmap, start, end);
	*prev = *vmap;
	return 0;
}

static int __do_mprotect(struct machine *m, struct mm_struct *mm, u64 start, u64 end, int prot)
{
	struct vm_area_struct *vma = find_vma(mm, start);
	struct vm_area_struct *prev;
	u64 at = start;

	if (!vma || vma->vm_start > start)
		return -ENOMEM;
	prev = start > vma->vm_start ? vma : vma_prev(vma);
	for (;;) {
		u32 vm_flags = vma->vm_flags & ~(VM_READ | VM_WRITE | VM_EXEC);
		u64 next = min(end, vma->vm_end);
		int err;

		vm_flags |= prot & MM_PROT_READ ? VM_READ : 0;
		vm_flags |= prot & MM_PROT_WRITE ? VM_WRITE : 0;
		vm_flags |= prot & MM_PROT_EXEC ? VM_EXEC : 0;
		err = mprotect_fixup(m, &vma, &prev, at, next, vm_flags);
		if (err)
			return err;
		at = max(next, prev->vm_end);
		if (at >= end)
			return 0;
		vma = vma_next(mm, prev);
		if (!vma || vma->vm_start != at)
			return -ENOMEM;
	}
}

int do_mprotect(struct machine *m, u64 va, u64 len, int prot)
{
	struct task *t = sys_enter(SPAN_MPROTECT);
	int err = -EINVAL;

	if (va & ~PAGE_MASK)
		goto out;
	err = 0;
	if (!len)
		goto out;
	err = -ENOMEM;
	if (va > TASK_SIZE || len > TASK_SIZE - va)
		goto out;
	mmap_write_lock(t->mm);
	err = __do_mprotect(m, t->mm, va, va + ALIGN(len, PAGE_SIZE), prot);
	mmap_write_unlock(t->mm);
out:
	return sys_exit(t, err);
}
