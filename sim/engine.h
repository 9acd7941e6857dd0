/*
 * How the simulated machine works, for the files of sim/.
 *
 * Every CPU has a clock and a fiber that waits to go on. One CPU runs, and it is the one with the
 * smallest clock: at an order point it looks whether another is behind it, and if so that one runs.
 * They are in a queue by (clock, rank), each in one of two states:
 *
 *   ready    its clock is its key
 *   parked   it has nothing to do before some time, which is its key: the next interrupt, if it may
 *            be interrupted, or the end of what it waits for. Without either it is not queued.
 *
 * Idle CPUs, waiters of spin locks and IPIs, and user code that computes are parked. Whatever
 * changes that time (an interrupt posted or cancelled, a lock granted) calls sim_rekey().
 *
 * A ready CPU may have left a step (struct sim_step), which the engine makes in its place when it is the
 * first: whoever comes to a spin lock is queued that way, and resumed when it has the lock.
 *
 * A CPU's `turn` caches how far it may run on: to the next CPU's key, its own next interrupt, or
 * the end of the run. Whatever makes one of these earlier lowers it. It may be lower than it need be:
 * then an order point finds nothing to do. `limit` is that, or when somebody wants to look at the machine, if
 * that is earlier. `ahead` is the same for work on memory that is its task's
 * alone: SIM_RUN_AHEAD_NS past the time at which it was the first, unless a task is in a memory stall.
 *
 *   engine.c   order, switching CPUs, parking, starting and ending a run
 *   irq.c      pending interrupts, timers, ticks, IPIs
 *   sched.c    which task a CPU runs; task.c: their lives, sleeping and waking
 *   lock.c     spin locks and semaphores that somebody has to wait for
 *   mmu.c      user mode, address spaces, TLBs; tags.c: contents; heat.c: what is touched when
 *   disk.c     disks; psi.c: the shares of time that tasks lost to want of memory
 *   report.c   deadlocks, traces; slices.c: what a picture of the run is drawn from
 *
 * Keys are clock << 12 | rank. A CPU's rank is its number, or a seeded permutation of it when
 * schedules are explored.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "lib/arena.h"
#include "lib/heap.h"
#include "lib/random.h"
#include "lib/rbtree.h"
#include "sim/fiber.h"
#include "sim/sim.h"
#include "world/impl.h"

#define SIM_NEVER UINT64_MAX
#define SIM_TIME_MAX ((u64)KEYHEAP_VALUE_MAX)
#define SIM_RUN_AHEAD_NS 20000 /* a task works on its own memory for so long between order points */
#define SIM_HUNG_NS                                                                                \
	600000000000UL /* no user task has run for so long: look whether one ever will */

/* Streams of lib/random.h. */
enum sim_stream {
	SIM_STREAM_RANK = 0x53494d00,
	SIM_STREAM_JITTER,
	SIM_STREAM_PATTERN,
	SIM_STREAM_DISK,
	SIM_STREAM_DISK_ERROR,
};

/* ---- interrupts ---------------------------------------------------------------------------- */

enum sim_event_kind {
	SIM_EVENT_TIMER,   /* a world_timer */
	SIM_EVENT_TIMEOUT, /* a task's sleep ends */
	SIM_EVENT_RESCHED, /* the IPI that makes a CPU look at its run queue */
	SIM_EVENT_CALL,    /* an IPI with a function */
	SIM_EVENT_DISK,    /* a disk has finished something */
};

/* An interrupt that is pending on a CPU. */
struct sim_event {
	struct rb_node node; /* by time; equal times in order of posting */
	u64 time;
	void *arg;
	u16 cpu;
	u8 kind;
	bool pending;
};

/* ---- waiting on a CPU ---------------------------------------------------------------------- */

enum sim_parked {
	SIM_RUNS, /* or is ready to */
	SIM_PARKED_IDLE,
	SIM_PARKED_SPIN,
	SIM_PARKED_IPI,
	SIM_PARKED_COMPUTE,
};

/* What a parked CPU waits for. @at: when it may go on, SIM_NEVER while that is not known. */
struct sim_wait {
	u64 at;
	bool while_unwanted; /* need_resched ends the wait, too */
};

struct sim_cpu;

/*
 * What a CPU at an order point would do first of all, when nobody is behind it. It leaves that to the
 * engine, which need not change fibers to find out that the CPU has to wait. @fn returns the CPU's new
 * key, the present one (its clock's) if it is to run.
 */
struct sim_step {
	u64 (*fn)(struct sim_cpu *s, struct sim_step *step);
};

/* ---- tasks --------------------------------------------------------------------------------- */

struct sim_task {
	struct fiber fiber; /* while it does not run */
	struct world_task *task;
	struct sim *sim;
	struct fiber_stack stack;
	struct rb_node node; /* in a run queue */
	s64 vruntime;        /* normalised to its run queue's min_vruntime when it changes CPUs */
	u64 exec_start;      /* clock of the last update */
	u64 sum_exec_ns;
	u64 prev_sum_exec_ns; /* when it was last switched to */
	u64 ready_at;         /* became runnable */
	u32 weight;
	bool on_cpu;
	bool spun_on; /* others spin, or have, on a mutex that it owns */
	bool queued;
	bool pinned;     /* to its CPU */
	bool background; /* sim_run() does not wait for it */
	u32 nr_runs;     /* times switched to */
	bool counted;    /* in nr_user */
	u8 psi;          /* enum sim_psi_state: how psi.c has it */
	u16 psi_cpu;     /* and on which CPU */
	enum world_stack stack_kind;
	u32 speed_bp;
	u32 nr_batch; /* requests that it may take beyond a disk's limit */
	u64 batch_since;
	u64 nr_accesses; /* for the jitter's stream */
	struct sim_event timeout;
	const struct rw_semaphore *sem; /* that it waits for; for reports */
	void (*fn)(void *arg);
	void *arg;
	struct list_head list; /* of all tasks */
};

/* Tasks that are ready for a CPU, the running one apart. */
struct sim_rq {
	struct rb_root_cached tree; /* by (vruntime, task id) */
	u32 nr;
	u64 load; /* sum of weights */
	s64 min_vruntime;
};

/* ---- CPUs ---------------------------------------------------------------------------------- */

/* What psi.c counts on a CPU. */
struct sim_psi {
	u64 since; /* the times are right until then */
	u32 nr_stalled;
	u32 nr_running; /* or ready to */
	u32 nr_both;
	u64 some_ns;
	u64 full_ns;
	u64 nonidle_ns;
};

struct sim_cpu {
	/* What a change of CPUs touches. */
	struct fiber fiber; /* while another CPU runs */
	u64 next_irq;       /* the first pending interrupt or tick, or SIM_NEVER */
	struct sim *sim;
	struct sim_step *step; /* that the engine makes before it runs the CPU; NULL: none */
	u32 rank;
	u8 parked;      /* enum sim_parked: what it does now */
	u8 waits;       /* enum sim_parked: what its task or interrupt is in the middle of */
	bool park_irqs; /* and may be interrupted */
	struct world_cpu cpu __attribute__((aligned(64)));

	struct sim_wait *wait; /* that it is parked for */
	u64 tick_at;           /* SIM_NEVER while idle */
	struct rb_root_cached events;
	struct sim_rq rq;
	struct world_as *loaded; /* what the TLB may hold entries of */
	struct sim_event resched;
	const struct spinlock *spins_on; /* for reports */
	u64 since;                       /* when the present task was switched to */
	u64 run_since;                   /* the same, for slices */
	u64 busy_ns;
	u64 idle_ns;
	u32 in_socket; /* index in its socket's list */
	u16 socket;
	struct sim_psi psi;
	struct world_task idle_task;
	struct sim_task idle;
};

static inline struct sim_cpu *sim_cpu_of(struct world_cpu *c)
{
	return container_of(c, struct sim_cpu, cpu);
}

static inline struct sim_cpu *sim_self(void)
{
	return sim_cpu_of(world_self);
}

/* CPUs that share the last cache; the scheduler looks for idle ones here. */
struct sim_socket {
	u32 nr;
	u32 nr_busy;         /* CPUs that are not idle */
	u32 nr_queued;       /* tasks in run queues */
	u16 *cpu;            /* [nr] by (core, number) */
	unsigned long *idle; /* [nr] bits */
};

struct sim_disk;
struct sim_tags;
struct sim_trace_ring;
struct sim_slices;
struct sim_heat;

struct sim {
	struct world w; /* first */
	struct keyheap heap __attribute__((aligned(64)));
	u64 stop_at;            /* the run ends here */
	struct sim_stuck stuck; /* why it ended with -ELOOP */
	u64 sample_at;          /* and here somebody looks; SIM_NEVER: nobody */
	u64 pause_at;           /* the earlier of the two */
	struct sim_cpu *cpus;   /* [nr_cpus], by rank; by number they are sim_cpu() */
	bool running;
	bool ended;
	bool stop;
	bool explore;
	int result;
	struct sim_socket *socket;
	u32 nr_sockets;
	u32 nr_stalled;  /* tasks in memory stalls: psi.c */
	u32 nr_queued;   /* tasks in run queues */
	u32 nr_in_group; /* user tasks that run or wait for a CPU */
	u32 nr_user;     /* that sim_run() waits for */
	u64 user_ran_at; /* a user task was last switched to */
	u64 elapsed;
	u64 measured_from; /* sim_start_measuring() */
	struct fiber main; /* the caller of sim_run() */
	struct world_task boot;
	struct fiber_stacks stacks[2]; /* by enum world_stack */
	struct pool events;            /* of timers and calls */
	struct list_head tasks;
	struct list_head spinners; /* lock.c */
	struct sim_disk *disk;
	struct sim_tags *tags;
	struct sim_trace_ring *trace;
	struct sim_slices *slices; /* NULL: nobody wants them */
	struct sim_heat *heat;     /* the same */
	u64 (*sample)(void *arg, u64 now);
	void *sample_arg;
	void (*watch)(void *arg, const struct sim_trace_event *e);
	void *watch_arg;
	FILE *report;

	/* The scheduler's constants, scaled by the number of CPUs. */
	u64 sched_latency_ns;
	u64 sched_min_granularity_ns;
	u64 sched_wakeup_granularity_ns;

	/* What the boot task's charges go to. */
	u32 boot_cost[NR_WORLD_COSTS];
	u64 boot_count[NR_WORLD_COSTS];

	u64 *heap_words;
	u16 *socket_of;
	u16 *core_of;
};

static inline struct sim *sim_of(const struct world *w)
{
	return (struct sim *)(uintptr_t)w;
}

static __always_inline struct sim_cpu *sim_ranked(const struct sim *sim, u32 rank)
{
	return &sim->cpus[rank];
}

static inline struct sim_cpu *sim_cpu(const struct sim *sim, u32 id)
{
	return sim_cpu_of(sim->w.cpu[id]);
}

/* ---- engine.c ------------------------------------------------------------------------------ */

/* Others that are behind run first, interrupts that are due too. */
void sim_order(struct world_cpu *c);

/*
 * The same at an order point, where the CPU has come to its limit. It may still have its turn: then only somebody
 * who looks on wanted it to stop, sim_look(), and nothing may be different for that.
 */
void sim_order_point(struct world_cpu *c);
void sim_look(struct world_cpu *c);

/*
 * The same; what is to be done then is @step. It has not asked for more when this returns, or an interrupt
 * is due. The caller sets the limit.
 */
void sim_order_step(struct sim_cpu *s, struct sim_step *step);

/* Until when may CPU @rank run on, if the CPU of @key is the next one? */
static __always_inline u64 sim_limit_of(u32 rank, u64 key)
{
	return heap_key_value(key) + (rank < heap_key_id(key));
}

/*
 * How far may @s, the first in the queue, run on? Its key is its clock at the last order point. The
 * CPU that comes next is fetched into the host's cache.
 */
static __always_inline void sim_set_limit_of_first(struct sim_cpu *s)
{
	struct sim *sim = s->sim;
	u64 next = heap_runner_up(&sim->heap);
	u64 stop = min(s->next_irq, sim->stop_at);
	u64 limit = SIM_NEVER;
	u64 ahead = 0;

	if (likely(next != KEYHEAP_EMPTY)) {
		const struct sim_cpu *n = sim_ranked(sim, heap_key_id(next));

		/* Its stack, clock, span and task: saves 2 to 5 % of a fault's host time on 12 and 64 CPUs. */
		for (u32 i = 0; i < 4; i++)
			__builtin_prefetch((char *)n->fiber.sp + 64 * i);
		__builtin_prefetch(&n->cpu);
		__builtin_prefetch(&n->cpu.span);
		__builtin_prefetch(n->cpu.task);
		limit = sim_limit_of(s->rank, next);
	}
	if (likely(!sim->nr_stalled))
		ahead = heap_key_value(heap_top(&sim->heap)) + SIM_RUN_AHEAD_NS;
	s->cpu.turn = min(limit, stop);
	s->cpu.limit = min(s->cpu.turn, sim->pause_at);
	s->cpu.ahead = min(ahead, stop);
}

/* How far may @s, the CPU that runs, run on? */
static inline void sim_set_limit(struct sim_cpu *s)
{
	if (likely(heap_key_id(heap_top(&s->sim->heap)) == s->rank))
		sim_set_limit_of_first(s);
	else
		s->cpu.limit = s->cpu.turn = s->cpu.ahead = 0;
}

/* Is @s to be interrupted now? */
static __always_inline bool sim_irq_due(const struct sim_cpu *s)
{
	return unlikely(s->next_irq <= s->cpu.clock) && !s->cpu.irq_off;
}

static inline bool sim_runs_here(const struct sim *sim)
{
	return sim->running && world_self->w == &sim->w;
}

/* The queue has changed: the CPU that runs looks again. */
static inline void sim_refresh(struct sim *sim)
{
	if (sim_runs_here(sim))
		sim_set_limit(sim_self());
}

/* The time of @s's next event has changed, or what it is parked for. */
void sim_rekey(struct sim_cpu *s);

/*
 * The CPU waits until @w->at is known and reached, serving interrupts meanwhile if they are on.
 * Other CPUs run.
 */
void sim_wait(struct sim_cpu *s, struct sim_wait *w, enum sim_parked why);

/* The same for a CPU that a step has parked in its name. */
void sim_wait_on(struct sim_cpu *s, struct sim_wait *w, enum sim_parked why, u64 since);

/* For a step: the CPU waits as by sim_wait(). Returns its key. */
u64 sim_park_here(struct sim_cpu *s, struct sim_wait *w, enum sim_parked why);

/* The same, but returns also when an interrupt is due; the caller calls sim_order() then. */
void sim_park(struct sim_cpu *s, struct sim_wait *w, enum sim_parked why);

/* @w, which CPU @s waits for, will end at @at. */
void sim_grant(struct sim_cpu *s, struct sim_wait *w, u64 at);

/* The CPU has no task: its idle fiber takes over, and other CPUs run. @from: the fiber that runs. */
void sim_go_idle(struct sim_cpu *s, struct fiber *from);

/* Ends the run with @result; does not return. */
void sim_end(struct sim *sim, int result) __attribute__((noreturn));

/* Takes the boot task's charges out of the books, or back in. */
void sim_boot_enter(struct sim *sim);
void sim_boot_leave(struct sim *sim);

/* ---- irq.c --------------------------------------------------------------------------------- */

void sim_post(struct sim_cpu *s, struct sim_event *e, u64 time);
void sim_cancel(struct sim *sim, struct sim_event *e);
void sim_run_irqs(struct sim_cpu *s);
void sim_irq_restore(struct world_cpu *c);
void sim_tick_start(struct sim_cpu *s);
void sim_tick_stop(struct sim_cpu *s);
void sim_timer_arm(struct world_timer *t, u64 expires);
void sim_timer_cancel(struct world_timer *t);
void sim_ipi(const u64 *cpumask, void (*fn)(void *arg), void *arg);

/* ---- sched.c ------------------------------------------------------------------------------- */

void sched_init(struct sim *sim);
void sched_fork(struct sim_task *t, int cpu);
bool sched_wake(struct sim_task *t);
void sched_tick(struct sim_cpu *s);

/* The CPU's present task gives way: it stays ready (@ready) or not. May switch tasks. */
void sched_switch(struct sim_cpu *s, bool ready);

/*
 * On the idle fiber: runs a task if there is one. Returns false if there is none, and true when the
 * CPU has run tasks, become idle again, and been woken.
 */
bool sched_leave_idle(struct sim_cpu *s);

/* ---- task.c -------------------------------------------------------------------------------- */

void sim_task_init(struct world *w, struct world_task *t, const char *name,
                   enum world_task_kind kind, enum world_stack stack, void (*fn)(void *arg),
                   void *arg);
void sim_task_start(struct world_task *t, int cpu);
void sim_task_free(struct world_task *t);
void sim_task_exit(void);
u64 sim_schedule(u64 timeout);
void sim_cond_resched(void);
bool sim_wake(struct world_task *t);
void sim_free_tasks(struct sim *sim);

/* Gives way if need_resched; the task must be about to return to user mode. */
void sim_preempt_point(void);

/* ---- lock.c -------------------------------------------------------------------------------- */

void sim_spin_lock(struct spinlock *l);
void sim_spin_unlock(struct spinlock *l);
void sim_owner_leaves(struct sim *sim, struct sim_task *t);
void sim_down(struct rw_semaphore *s, bool write);
void sim_up(struct rw_semaphore *s, bool write);

/* ---- mmu.c --------------------------------------------------------------------------------- */

void sim_user(bool enter);
void sim_user_compute(u64 ns);
void sim_use_as(struct world_as *as);
void sim_load_as(struct sim_cpu *s, struct world_as *as);
int sim_user_access(struct world_as *as, u64 va, u64 len, enum world_access kind, u64 seed);
void sim_tlb_flush(struct world_as *as, u64 start, u64 end);
void sim_tlb_flush_mask(const u64 *cpumask);

/* ---- tags.c -------------------------------------------------------------------------------- */

int sim_tags_create(struct sim *sim);
void sim_tags_destroy(struct sim *sim);

/* User code has accessed the page at @va of @as, which @pte maps. */
void sim_tag_access(struct sim *sim, struct world_as *as, u64 va, pte_t pte,
                    enum world_access kind);

/* No task uses @as any more. */

/* What is written is what the frames hold when @io is submitted; it has ended with @err. */
void sim_tag_io_submit(struct sim *sim, struct world_io *io);
void sim_tag_io_end(struct sim *sim, struct world_io *io, int err);
void sim_tag_disk_discard(struct sim *sim, u32 disk, u64 sector, u64 nr_sectors);

void sim_frame_clear(u64 pfn);
void sim_frame_copy(u64 to, u64 from);
void sim_frame_free(u64 pfn);
void sim_contents_zero(struct world_as *as, u64 start, u64 end, bool done);
void sim_contents_fork(struct world_as *parent, struct world_as *child);
void sim_contents_map(struct world_as *as, u64 start, u64 end, u64 file, u64 index, bool shared);
bool sim_disk_has_hung(const struct sim *sim);
void sim_contents_copied(struct world_as *as, u64 va, u64 pfn);
void sim_contents_move(struct world_as *as, u64 from, u64 to, u64 len);
void sim_contents_file(enum world_file_event event, u64 file, u64 index, u64 arg);

/* ---- disk.c -------------------------------------------------------------------------------- */

int sim_disks_create(struct sim *sim);
void sim_disks_destroy(struct sim *sim);
void sim_disk_event(struct sim_cpu *s, struct sim_event *e);
int sim_io_submit(struct world_io *io);
bool sim_disk_congested(struct world *w, u32 disk, bool write);
void sim_disk_discard(struct world *w, u32 disk, u64 sector, u64 nr_sectors);

/* ---- psi.c --------------------------------------------------------------------------------- */

void sim_memstall(struct world_task *t);

/* @t may have become able to run, unable, or moved to another CPU, at @now. */
void psi_task_change(struct sim_task *t, bool runnable, u64 now);

/* ---- report.c ------------------------------------------------------------------------------ */

void sim_report_deadlock(struct sim *sim);
int sim_trace_create(struct sim *sim, u32 nr);
void sim_trace_destroy(struct sim *sim);
const struct sim_task *sim_find_task(const struct sim *sim, u32 id); /* NULL: there is none */
void sim_report_task(struct sim *sim, FILE *out, struct world_task *t);
void sim_trace(struct world_cpu *c, enum ledger_event e, u64 a, u64 b);

/* ---- heat.c --------------------------------------------------------------------------------- */

int sim_heat_create(struct sim *sim);
void sim_heat_destroy(struct sim *sim);

/* User code has accessed @nr pages from @page on. Only if sim->heat. */
void sim_heat(struct sim *sim, const struct world_as *as, u64 page, u64 nr);

/* ---- slices.c: all but the first three only if sim->slices ----------------------------------- */

int sim_slices_create(struct sim *sim, const struct sim_options *opt);
void sim_slices_destroy(struct sim *sim);
void sim_span(struct world_cpu *c, bool enter);
void slice_run(struct sim_cpu *s, const struct world_task *t, u64 begin);
void slice_lock(const struct world_cpu *c, u32 class, u64 since);
void slice_io(struct sim *sim, u32 disk, bool write, u64 sector, u64 nr_sectors, u64 queued,
              u64 now);
void slice_ipi(struct sim *sim, const struct world_cpu *from, u64 sent, const struct world_cpu *to,
               u64 received);
void slice_instant(const struct world_cpu *c, enum ledger_event e, u64 a, u64 b);

#endif
