/*
 * The simulated machine, for whoever joins it to a memory manager.
 *
 *     w = sim_create(hw, &options, err);
 *     ... boot: the caller is the boot task on CPU 0; what it charges costs nothing ...
 *     sim_run(w);        until every user task has ended
 *     ... the caller is the boot task again: audits, reports ...
 *     sim_destroy(w);
 *
 * The boot task must not sleep, nor touch user memory. One world runs at a time in a host thread,
 * but many can exist. How it works is told in engine.h.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdio.h>

#include "world/slices.h"
#include "world/world.h"

#define SIM_ERROR_MAX 512
#define SIM_NORMAL_SPEED 10000

struct sim_trace_event;

struct sim_options {
	u64 seed;
	u64 max_ns;         /* sim_run() gives up at this virtual time; 0: at SIM_TIME_MAX */
	bool check;         /* tag and verify contents */
	bool tracing;       /* keep trace events */
	bool explore;       /* ties between CPUs are broken by the seed, not by CPU number */
	bool heat;          /* keep who touched what when */
	u32 nr_slices_max;  /* slices kept: the longest; 0: none */
	u64 slices_from_ns; /* only those that touch this part of the run */
	u64 slices_to_ns;   /* 0: to its end */
	u32 nr_trace_max;   /* trace events kept, the last ones; 0: a million */
	const char *again;  /* the command that repeats this run, for reports; NULL: unknown */
	FILE *report;       /* where a deadlock is explained; NULL: stderr */
	u32 fail_every[8];  /* failure injection, by enum world_fail */

	/*
	 * Called when every CPU has come to virtual time @now, first at sample_ns; returns the time of
	 * the next call, which must be later. It looks and changes nothing. NULL: never.
	 */
	u64 (*sample)(void *arg, u64 now);
	void *sample_arg;
	u64 sample_ns;

	/*
	 * With tracing: called at each trace event instead of keeping it, in the task that causes it;
	 * may call sim_stop() and the functions that look, nothing else. NULL: they are kept.
	 */
	void (*watch)(void *arg, const struct sim_trace_event *e);
	void *watch_arg;
};

/*
 * Builds the machine @hw describes, which must stay as it is until sim_destroy().
 * NULL if it is impossible (errno EINVAL) or the host has no memory (errno ENOMEM), with the reason
 * in @err (SIM_ERROR_MAX).
 */
struct world *sim_create(const struct hw_machine *hw, const struct sim_options *opt, char *err);

/*
 * Runs until every user task that was started has ended, background tasks apart, or until
 * sim_stop(). May be called once. Returns 0; -ETIME at max_ns; -EDEADLK if tasks remain, and
 * nothing will ever wake one, with a report of who waits for what; -ELOOP if a task will never get to the
 * end of an access, because the fault it causes is handled and comes back.
 */
int sim_run(struct world *w);

/* Called by a task or interrupt: the run ends at the next order point. */
void sim_stop(struct world *w);

/* The same for a signal handler: it ends there with -ETIME. */
void sim_expire(struct world *w);

/* What made sim_run() return -ELOOP: a task whose access faults again and again. */
struct sim_stuck {
	u32 task;
	u64 va;
	u64 nr; /* times */
};

struct sim_stuck sim_stuck(const struct world *w);

void sim_destroy(struct world *w);

/* When the run ended. Every CPU's busy and idle time add up to this. */
u64 sim_elapsed(const struct world *w);

/*
 * Called by a task: what came before was for warming up. The ledger (spans, locks, latencies, costs)
 * starts again at this instant; the spans of each CPU add up to the time from here to the end.
 */
void sim_start_measuring(struct world *w);

/* When that was called last; 0 if never. */
u64 sim_measured_from(const struct world *w);

struct sim_cpu_times {
	u64 busy_ns; /* tasks and interrupts */
	u64 idle_ns; /* the way out of idleness included */
};

struct sim_cpu_times sim_cpu_times(const struct world *w, u32 cpu);

/* ---- tasks: after world_task_init() ------------------------------------------------------------ */

/* @t's user code takes @bp parts in 10,000 of what the profile says. */
void sim_task_set_speed(struct world_task *t, u32 bp);

/* sim_run() does not wait for @t. Before it is started. */
void sim_task_set_background(struct world_task *t);

/* Bytes of the stack of @t that have ever been used. */
u64 sim_task_stack_used(const struct world_task *t);

/* The same for the deepest stack of a kind so far, tasks that have ended and idle CPUs included. */
u64 sim_stack_used_max(const struct world *w, enum world_stack kind);

/* ---- looking at it from outside, at any moment (dump.c) ------------------------------------------ */

/* What each CPU and each task does, with the spans it is in. */
void sim_dump(struct world *w, FILE *f);

/* "worker (7) in user/fault/alloc" for the task of number @id. */
/* A task that waits for what will not come, as khungtaskd would find it. */
struct sim_hung_task {
	const char *name;
	u32 id;
	u64 since_ns;
	u64 reported_ns; /* when Linux would print it */
	char where[256];
};
/* Calls @fn for each that would have been reported by @until. After sim_run(). */
void sim_hung_tasks(const struct world *w, u64 until,
                    void (*fn)(const struct sim_hung_task *h, void *arg), void *arg);
void sim_task_where(const struct world *w, u32 id, char *buf, size_t n);

/* The lock that a task sleeps for, and who has it; false: it waits for none. */
bool sim_task_lock(const struct world *w, u32 id, char *buf, size_t n);

/* ---- disks ------------------------------------------------------------------------------------- */

/* Arrays are indexed by direction: 0 reads, 1 writes. */
struct sim_disk_stats {
	u64 nr_requests[2];
	u64 nr_merges[2]; /* world_ios that joined a queued request */
	u64 nr_pages[2];
	u64 nr_ended;
	u64 nr_errors;
	u64 nr_unanswered; /* in service for ever: hw_disk.hang_at_ns */
	u64 nr_discarded_sectors;
	u64 nr_slept[2];     /* submitters that waited for a request */
	u64 nr_congested[2]; /* times the direction became congested */
	u32 nr_used_max[2];
	u64 busy_ns;            /* something was being served */
	u64 depth_ns;           /* requests in use, integrated over time */
	struct hist latency[2]; /* from joining the queue to being served, ns */
};

/*
 * The machine as a whole. The two stall times are of the time since the last call, each CPU's weighted
 * by how long it was not idle, as Linux aggregates them every two seconds.
 */
struct sim_load {
	u64 idle_ns;    /* of all CPUs together */
	u32 nr_running; /* tasks that have a CPU */
	u32 nr_queued;  /* tasks that wait for one */
	u64 some_ns; /* memory pressure, as PSI has it: some tasks were held up since the last call */
	u64 full_ns; /* ... and nobody did anything else */
};

struct sim_load sim_load_at(const struct world *w, u64 now);

const struct sim_disk_stats *sim_disk_stats(const struct world *w, u32 disk);

/* ---- slices, kept if options.nr_slices_max: see slices.c ---------------------------------------- */

/* In order of their ends, nearly; NULL: none are kept. */
const struct slice *sim_slices(const struct world *w, struct slices_info *info);

/* Names of the tasks that were seen, dead ones included. Returns how many there are. */
u32 sim_slice_names(const struct world *w, struct slice_task *name, u32 max);

/* ---- memory touched, kept if options.heat: see heat.c --------------------------------------------- */

struct sim_heat_row {
	u32 space;        /* of its address space, in order of being seen */
	const char *name; /* a task that uses it: "hog 8" */
	u64 page;
	u64 nr_pages;
	const u32 *touched; /* [nr_columns] */
};

/* How many rows there are, in no order; each column lasts *@column_ns. */
u32 sim_heat_rows(const struct world *w, u64 *column_ns, u32 *nr_columns);
void sim_heat_row(const struct world *w, u32 i, struct sim_heat_row *r);

/* ---- trace events, kept if options.tracing ----------------------------------------------------- */

struct sim_trace_event {
	u64 clock;
	u64 a; /* as enum ledger_event says */
	u64 b;
	u32 task;
	u16 cpu;
	u8 event; /* enum ledger_event */
};

/* How many are kept, and (unless NULL) how many older ones have been lost. */
u64 sim_trace_count(const struct world *w, u64 *nr_lost);

/* The @i-th that is kept, in order of recording: clocks rise per CPU, and nearly so over all. */
const struct sim_trace_event *sim_trace_at(const struct world *w, u64 i);

#endif
