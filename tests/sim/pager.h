/*
 * A memory manager of fifty lines for the tests of user mode: one address space of up to 16 leaf
 * tables, frames that follow addresses, no reclaim.
 */
#ifndef TESTS_SIM_PAGER_H
#define TESTS_SIM_PAGER_H

#include "tests/sim/machine.h"

#define PAGER_LEAVES 16
#define PAGER_PAGES (PAGER_LEAVES * PTRS_PER_TABLE)
#define PAGER_FIRST_FRAME 64

struct pager {
	struct world_as as;
	pte_t *tables; /* 0 to 2: upper levels; 3 + i: leaf i */
	u32 nr_faults;
	u64 fault_ns;   /* charged by each */
	bool read_only; /* maps reads without PTE_WRITE */
	bool dont_clear;
	u64 log[PAGER_PAGES]; /* addresses of faults, in order */
	u32 nr_spurious;      /* faults it does nothing about */
};

static inline pte_t *pager_pte(struct pager *p, u64 va)
{
	return &p->tables[3 * PTRS_PER_TABLE + (va >> PAGE_SHIFT)];
}

static inline u64 pager_frame(u64 va)
{
	return PAGER_FIRST_FRAME + (va >> PAGE_SHIFT);
}

static int pager_fault(void *machine, struct world_task *t, u64 va, enum world_access kind)
{
	struct pager *p = machine;
	bool write = kind == WORLD_WRITE || kind == WORLD_FILL;
	pte_t *pte = pager_pte(p, va);

	VM_BUG_ON(t->in_user);

	p->log[p->nr_faults++ % PAGER_PAGES] = va;
	charge_ns(p->fault_ns);
	world_order();
	if (p->nr_spurious) {
		p->nr_spurious--;
	} else if (va >= PAGER_PAGES * PAGE_SIZE) {
		return -EFAULT;
	} else {
		if ((!pte_present(*pte) || pte_special(*pte)) && !p->dont_clear)
			world_frame_clear(pager_frame(va));
		*pte = pte_make(pager_frame(va),
		                PTE_PRESENT | PTE_USER | (write || !p->read_only ? PTE_WRITE : 0));
	}
	return 0;
}

static const struct world_upcalls pager_upcalls = {.fault = pager_fault};

__attribute__((unused)) static void pager_init(struct test_machine *m, struct pager *p)
{
	u64 flags = PTE_PRESENT | PTE_USER | PTE_WRITE;

	memset(p, 0, sizeof(*p));
	p->tables = aligned_alloc(PAGE_SIZE, (3 + PAGER_LEAVES) * PAGE_SIZE);
	memset(p->tables, 0, (3 + PAGER_LEAVES) * PAGE_SIZE);
	p->tables[0] = pte_make(1, flags);
	p->tables[PTRS_PER_TABLE] = pte_make(2, flags);
	for (u32 i = 0; i < PAGER_LEAVES; i++)
		p->tables[2 * PTRS_PER_TABLE + i] = pte_make(3 + i, flags);
	world_attach(m->w, &pager_upcalls, p, p->tables);
}

__attribute__((unused)) static int pager_access(struct pager *p, u64 page, u64 nr,
                                                enum world_access kind, u64 seed)
{
	int err;

	world_syscall_exit();
	err = world_user_access(&p->as, page * PAGE_SIZE, nr * PAGE_SIZE, kind, seed);
	world_syscall_enter();
	return err;
}

#endif
