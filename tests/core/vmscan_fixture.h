/* What the tests of reclaim share: a request for pages, and a task with some to reclaim. */
#ifndef TESTS_CORE_VMSCAN_FIXTURE_H
#define TESTS_CORE_VMSCAN_FIXTURE_H

#include "core/vmscan.h"

#include "tests/core/mm_fixture.h"

static u64 va;

static inline struct scan_control new_sc(void)
{
	return (struct scan_control){
		.nr_to_reclaim = 32,
		.gfp = GFP_HIGHUSER_MOVABLE,
		.priority = DEF_PRIORITY,
		.reclaim_idx = MAX_NR_ZONES - 1,
		.may_writepage = true,
		.may_unmap = true,
		.may_swap = true,
	};
}

static inline void in_kernel(void)
{
	world_syscall_enter();
}

static inline void in_user(void)
{
	world_syscall_exit();
}

static inline void row_stop(void)
{
	in_user();
	fix_stop();
}

static inline void fill(u64 nr_pages)
{
	va = fix_mmap(nr_pages);
	assert_int_equal(mm_access(fix.m, va, nr_pages * PAGE_SIZE, WORLD_FILL, 0), 0);
	in_kernel();
	lru_add_drain(fix.m);
}

/* Everything old, so that reclaim can have it. */
static inline void make_old(u64 nr_pages)
{
	for (u64 i = 0; i < nr_pages; i++) {
		u64 a = va + i * PAGE_SIZE;

		pt_entry(fix.m, pt_find(fix.m, fix.t->mm, a), a)->v &= ~PTE_ACCESSED;
	}
}

#endif
