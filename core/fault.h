/*
 * One page fault, as memory.c and swapin.c hand it around (Linux's struct vm_fault).
 */
#ifndef CORE_FAULT_H
#define CORE_FAULT_H

#include "core/internal.h"

/* What became of a fault. 0: handled, or somebody else did; the access is tried again. */
enum vm_fault_reason {
	VM_FAULT_OOM = 1 << 0,
	VM_FAULT_SIGBUS = 1 << 1,
	VM_FAULT_SIGSEGV = 1 << 2,
	VM_FAULT_MAJOR = 1 << 3, /* it had to read */
	VM_FAULT_RETRY = 1 << 4, /* it waited without the lock of the address space: start again */
};
#define VM_FAULT_ERROR (VM_FAULT_OOM | VM_FAULT_SIGBUS | VM_FAULT_SIGSEGV)

struct vm_fault {
	struct machine *m;
	struct mm_struct *mm;
	struct vm_area_struct *vma;
	u64 va; /* page-aligned */
	bool write;
	bool may_retry;  /* it may drop the lock while it waits; at most once */
	bool killable;   /* a fault of user code: not worth waiting for if the task is to die */
	bool vma_locked; /* what is held is the VMA's lock, not mmap_sem */
	u32 table;       /* leaf table of va */
	pte_t *pte;      /* its entry, and what stood there without the lock */
	pte_t orig;
};

/* Three operations at one store to the clock: the path of a first touch is what simulation time is. */
static inline void charge3(enum world_cost a, enum world_cost b, enum world_cost c)
{
	struct world_cpu *cpu = world_self;

	cpu->clock += cpu->cost[a] + cpu->cost[b] + cpu->cost[c];
	cpu->cost_count[a] += 1;
	cpu->cost_count[b] += 1;
	cpu->cost_count[c] += 1;
}

static inline struct spinlock *fault_ptl(const struct vm_fault *f)
{
	return &f->m->table[f->table].ptl;
}

/* Takes the table's lock. False, and not locked: the entry has changed since the fault looked. */
static __always_inline bool __must_check fault_lock_pte(const struct vm_fault *f)
{
	spin_lock(fault_ptl(f));
	if (likely(f->pte->v == f->orig.v))
		return true;
	spin_unlock(fault_ptl(f));
	return false;
}

static inline void fault_set_pte(const struct vm_fault *f, pte_t entry)
{
	charge(COST_PTE);
	set_pte(f->m, f->table, f->pte, entry);
}

/* An entry for @page as the VMA's protection allows, not writable: Linux's mk_pte(). */
static inline pte_t fault_mk_pte(const struct vm_fault *f, const struct page *page)
{
	return pte_make(page_to_pfn(f->m, page), PTE_PRESENT | PTE_USER | PTE_ACCESSED);
}

/* Writable if the VMA is, and dirty: maybe_mkwrite(pte_mkdirty()). */
static inline pte_t fault_mkwrite(const struct vm_fault *f, pte_t entry)
{
	return pte_set(entry, PTE_DIRTY | (f->vma->vm_flags & VM_WRITE ? PTE_WRITE : 0));
}

/* What is to be done depends on the entry, which is looked at first. mmap_sem, or the VMA's lock, held. */
int handle_pte_fault(struct vm_fault *f);

/* Maps a page of zeros where nothing is, unless another CPU has; @late is what is still to be charged. */
int map_zeroed_page(struct vm_fault *f, struct page *page, u32 late);

/* 0, VM_FAULT_OOM, or VM_FAULT_RETRY (lock dropped) if the VMA's lock alone will not do. */
int __fault_anon_prepare(struct vm_fault *f);
static inline int fault_anon_prepare(struct vm_fault *f)
{
	return likely(f->vma->anon_vma) ? 0 : __fault_anon_prepare(f);
}
/* Drops mmap_sem or the VMA's lock. */
static __always_inline void fault_unlock_mm(struct vm_fault *f)
{
	if (f->vma_locked)
		up_read(&f->vma->vm_lock);
	else
		up_read(&f->mm->mmap_sem);
}

/* A write to a page that is mapped read-only: reuses or copies it. Table lock held, and dropped. */
int do_wp_page(struct vm_fault *f);
int do_swap_page(struct vm_fault *f);

/*
 * Locks @page. False: it had to be waited for, and the lock of the address space has been dropped
 * meanwhile, so that munmap() and mmap() of other threads do not wait for the disk as well.
 */
bool lock_page_or_retry(struct vm_fault *f, struct page *page);

/* Maps a new anonymous page, filled by the caller, at an empty entry; table locked. */
void fault_map_anon(struct vm_fault *f, struct page *page);

#endif
