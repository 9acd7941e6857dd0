/*
 * A target that does almost nothing, to test scenarios without a machine.
 *
 * Tasks are contexts on stacks of the simulation's size, in a virtual time of their own: the task
 * with the smallest clock runs, an access costs 100 ns a page. Mappings are lists of ranges; no
 * memory stands behind them. Every call is written into a log, which two runs can be compared by.
 */
#ifndef TESTS_LOAD_FAKE_TARGET_H
#define TESTS_LOAD_FAKE_TARGET_H

#include "load/target.h"

#define FAKE_STACK (256u << 10) /* what a Lua task has in the simulation */

extern const struct target_ops fake_target_ops;

/* For the next open(): the @nr-th call (from 1) of the task of that group and index kills it. */
void fake_kill(const char *function, u32 index, u32 nr);

/* For the next open(): mmap of more than this fails with -ENOMEM; 0: no limit. */
void fake_limit_mmap(u64 bytes);

/* Of the last run. */
struct fake_stats {
	u32 nr_tasks;
	u32 nr_calls_after_kill;
	u64 pages[4]; /* by enum target_access */
	u64 nr_random;
	u32 nr_madvise[4]; /* by enum target_advice */
	u64 stack_bytes_max;
};
const struct fake_stats *fake_stats(void);
const char *fake_log(void);

#endif
