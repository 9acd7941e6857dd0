/*
 * The null world: a machine on which nothing waits, for unit tests of the core.
 *
 * The test is the boot context: it runs on CPU 0 as a task of the world's own and says which CPU it
 * is on, and as which task. Time passes only by charges and sleeps. I/O completes inside submit
 * unless the test defers it. A sleep with a timeout returns at once, with the clock advanced.
 *
 * A started task runs when the test calls null_run_task(), until it ends or waits without a
 * timeout. When the test itself waits without a timeout, deferred I/O is completed and timers run
 * until something wakes it; if nothing can, the program ends with a panic. So does taking a spin
 * lock that another CPU holds.
 */
#ifndef WORLD_NULL_H
#define WORLD_NULL_H

#include "world/world.h"

/* What a test may want to count. */
struct null_stats {
	u64 nr_tlb_flushes; /* calls that had something to flush */
	u64 nr_tlb_pages;   /* pages flushed one by one */
	u64 nr_ipis;        /* receivers, TLB flushes included */
	u64 nr_sleeps;
	u64 nr_wakeups; /* of tasks that slept */
	u64 nr_faults;  /* upcalls */
	u64 nr_io[2];   /* requests read, written */
	u64 nr_discarded_sectors;
	u64 nr_cleared; /* frames; frame calls are counted under w->check only */
	u64 nr_copied;
	u64 nr_freed;
};

/*
 * A machine description with default costs: @nr_cpus on @nr_nodes, @nr_pages on each node from pfn 0
 * on (cut at zone boundaries), nothing reserved, one flash disk of 1 GiB. The caller may change it
 * before null_create(), and frees it with null_hw_free() after null_destroy().
 */
struct hw_machine *null_hw(u32 nr_cpus, u32 nr_nodes, u64 nr_pages);
void null_hw_free(struct hw_machine *hw);

/* Builds the world and makes the caller its boot context. Panics if the host has no memory. */
struct world *null_create(const struct hw_machine *hw);
void null_destroy(struct world *w);

/* The test goes on on @cpu, whose clock becomes at least the present one. */
void null_set_cpu(struct world *w, u32 cpu);

/* The test goes on as @t (prepared by world_task_init(), not started); NULL: as the boot task. */
void null_set_task(struct world *w, struct world_task *t);

/* Runs @t, started or woken, on this CPU: true if it has ended, false if it waits. */
bool null_run_task(struct world_task *t);

/* Time passes on this CPU, and the timers that are due run. */
void null_advance(struct world *w, u64 ns);

/* From now on I/O waits for null_complete_io(), which ends the oldest @nr and says how many. */
void null_defer_io(struct world *w, bool defer);
u32 null_complete_io(struct world *w, u32 nr);

/* The next @nr requests fail with -EIO. */
void null_fail_io(struct world *w, u32 nr);

/* What world_disk_congested() says of every disk. */
void null_set_congested(struct world *w, bool read, bool write);

struct null_stats *null_stats(struct world *w);

#endif
