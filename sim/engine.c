/*
 * Order: which CPU runs, and until when. See engine.h.
 */
#include "sim/engine.h"

#include <errno.h>

/* ---- changing CPUs -------------------------------------------------------------------------- */

/*
 * All CPUs have come to @now, which is a time to pause at. Whoever samples sees what a CPU that is a
 * little ahead has done to its own memory; nobody is behind.
 */
static noinline void sim_pause(struct sim *sim, u64 now)
{
	while (sim->sample_at <= now && sim->sample_at < sim->stop_at)
		sim->sample_at = sim->sample(sim->sample_arg, sim->sample_at);
	sim->pause_at = min(sim->sample_at, sim->stop_at);
	if (now >= sim->stop_at)
		sim_end(sim, sim->stop ? 0 : -ETIME);
}

/* Nobody can go on. If a disk does not answer that is the outcome of the run, and no mistake in it. */
static _Noreturn void sim_end_deadlock(struct sim *sim)
{
	if (sim_disk_has_hung(sim))
		sim_end(sim, -ENODEV);
	sim_report_deadlock(sim);
	sim_end(sim, -EDEADLK);
}

/* Can the first CPU of the queue, that of @key, run? If there is none, nothing will ever happen again. */
static inline u64 sim_next(struct sim *sim, u64 key)
{
	if (unlikely(key == KEYHEAP_EMPTY)) {
		sim_end_deadlock(sim);
	}
	if (unlikely(heap_key_value(key) >= sim->pause_at))
		sim_pause(sim, heap_key_value(key));
	return key;
}

/* A CPU's leaf of the queue gets @key; returns what heap_top() is then. */
static __always_inline u64 sim_replay(struct sim *sim, u32 rank, u64 key)
{
	return __heap_replay(&sim->heap, sim->heap.leaves + rank, key);
}

/*
 * The CPU of @key is the first in the queue and has left a step. Returns the key of one that is, and has
 * none left to make.
 */
static noinline u64 sim_make_steps(struct sim *sim, u64 key)
{
	struct sim_cpu *s = sim_ranked(sim, heap_key_id(key));

	do {
		u64 next;

		if (unlikely(heap_key_value(key) >= sim->pause_at))
			sim_pause(sim, heap_key_value(key));
		s->cpu.clock = heap_key_value(key);
		next = sim_irq_due(s) ? key : s->step->fn(s, s->step);
		if (next == key) {
			s->step = NULL;
			return key;
		}
		if (s->parked != SIM_RUNS)
			s->step = NULL;
		key = sim_next(sim, sim_replay(sim, s->rank, next));
		s = sim_ranked(sim, heap_key_id(key));
	} while (s->step);
	return key;
}

/* The CPU of @key, the first in the queue, runs; the present one goes on later at @from. */
static __always_inline void sim_run_cpu(struct sim *sim, struct fiber *from, u64 key)
{
	struct sim_cpu *next = sim_ranked(sim, heap_key_id(key));

	if (unlikely(next->step)) {
		key = sim_make_steps(sim, key);
		next = sim_ranked(sim, heap_key_id(key));
	}
	next->cpu.clock = heap_key_value(key);
	world_self = &next->cpu;
	fiber_switch(from, &next->fiber);
}

void sim_order(struct world_cpu *c)
{
	struct sim_cpu *s = sim_cpu_of(c);
	struct sim *sim = s->sim;

	for (;;) {
		u64 key;
		u64 first;

		if (unlikely(s->next_irq <= c->clock) && !c->irq_off)
			sim_run_irqs(s);
		key = heap_key(c->clock, s->rank);
		first = sim_replay(sim, s->rank, key);
		if (first == key)
			break;
		sim_run_cpu(sim, &s->fiber, first);
		if (likely(s->next_irq > c->clock))
			break; /* it was the first in the queue: nobody is behind it */
	}
	if (unlikely(c->clock >= sim->pause_at))
		sim_pause(sim, c->clock);
	sim_set_limit_of_first(s);
}

void sim_look(struct world_cpu *c)
{
	struct sim *sim = sim_cpu_of(c)->sim;

	if (c->clock >= sim->pause_at)
		sim_pause(sim, c->clock);
	c->limit = min(c->turn, sim->pause_at);
}

void sim_order_point(struct world_cpu *c)
{
	VM_BUG_ON(c->unseen);
	if (unlikely(c->clock < c->turn))
		sim_look(c);
	else
		sim_order(c);
}

void sim_order_step(struct sim_cpu *s, struct sim_step *step)
{
	struct sim *sim = s->sim;
	u64 key = heap_key(s->cpu.clock, s->rank);

	s->step = step;
	/* Is it the first? Then its key need not be known to the others: it will have another one. */
	if (s->cpu.clock >= s->cpu.turn)
		key = sim_replay(sim, s->rank, key);
	sim_run_cpu(sim, &s->fiber, key);
}

/* ---- parking -------------------------------------------------------------------------------- */

static u64 sim_park_key(const struct sim_cpu *s)
{
	u64 at = s->wait ? s->wait->at : SIM_NEVER;

	if (s->park_irqs && s->next_irq < at)
		at = s->next_irq;
	if (at == SIM_NEVER)
		return KEYHEAP_EMPTY;
	/* Later than any run may last is as late as that. */
	return heap_key(min(max(at, s->cpu.clock), SIM_TIME_MAX), s->rank);
}

static void sim_idle_main(void);

/* The key of @s, which is parked, becomes @key. */
static __always_inline void sim_requeue(struct sim_cpu *s, u64 key)
{
	struct sim *sim = s->sim;

	sim_replay(sim, s->rank, key);
	/*
	 * The CPU that runs may not run further than to the new key. That it may now run further than
	 * it thinks it finds out at an order point that has nothing to do.
	 */
	if (sim_runs_here(sim) && key != KEYHEAP_EMPTY) {
		struct world_cpu *c = world_self;

		c->turn = min(c->turn, sim_limit_of(sim_self()->rank, key));
		c->limit = min(c->limit, c->turn);
	}
}

void sim_rekey(struct sim_cpu *s)
{
	struct sim *sim = s->sim;
	u64 key;

	if (s->parked == SIM_RUNS)
		return;
	key = sim_park_key(s);
	if (key == heap_key_of(&sim->heap, s->rank))
		return;
	if (unlikely(!s->idle.stack.base)) {
		/* A CPU that has never run. */
		s->idle.stack = fiber_stack_get(&sim->stacks[WORLD_STACK_KERNEL]);
		fiber_init(&s->fiber, s->idle.stack, sim_idle_main);
	}
	sim_requeue(s, key);
}

u64 sim_park_here(struct sim_cpu *s, struct sim_wait *w, enum sim_parked why)
{
	s->wait = w;
	s->park_irqs = !s->cpu.irq_off;
	s->parked = (u8)why;
	return sim_park_key(s);
}

void sim_park(struct sim_cpu *s, struct sim_wait *w, enum sim_parked why)
{
	struct sim *sim = s->sim;
	u64 key = sim_park_here(s, w, why);

	key = sim_next(sim, sim_replay(sim, s->rank, key));
	if (heap_key_id(key) == s->rank)
		s->cpu.clock = heap_key_value(key);
	else
		sim_run_cpu(sim, &s->fiber, key);
	s->parked = SIM_RUNS;
	s->wait = NULL;
}

/* Can anything but a tick still happen on @s? The CPU that runs has been found waiting. */
static bool sim_is_alive(const struct sim_cpu *s)
{
	if (s->parked == SIM_RUNS && &s->cpu != world_self)
		return true; /* it is ready */
	if (s->wait && s->wait->at != SIM_NEVER)
		return true;
	return s->park_irqs && rb_first_cached(&s->events);
}

/*
 * CPUs that spin have ticks, so that the queue does not run empty when they wait for each other.
 * One that has spun for long looks around.
 */
static void sim_check_stuck(struct sim *sim)
{
	for (u32 i = 0; i < sim->w.hw->nr_cpus; i++)
		if (sim_is_alive(&sim->cpus[i]))
			return;
	sim_end_deadlock(sim);
}

static bool sim_must_wait(const struct world_cpu *c, const struct sim_wait *w)
{
	return c->clock < w->at && !(w->while_unwanted && c->need_resched);
}

void sim_wait_on(struct sim_cpu *s, struct sim_wait *w, enum sim_parked why, u64 since)
{
	struct world_cpu *c = &s->cpu;
	bool first;

	s->parked = SIM_RUNS;
	s->wait = NULL;
	for (;;) {
		first = !sim_irq_due(s);
		if (!first)
			sim_run_irqs(s);
		if (w->at == SIM_NEVER && c->clock - since > 2 * s->sim->w.ns_per_tick)
			sim_check_stuck(s->sim);
		if (!sim_must_wait(c, w))
			break;
		sim_park(s, w, why);
	}
	/* Nobody was behind when it was resumed, but interrupts may have taken it past that time. */
	if (likely(first))
		sim_set_limit_of_first(s);
	else
		sim_order(c);
}

void sim_wait(struct sim_cpu *s, struct sim_wait *w, enum sim_parked why)
{
	struct world_cpu *c = &s->cpu;
	u8 outer = s->waits; /* an interrupt of a CPU that waits may wait too */
	u64 since = c->clock;

	s->waits = (u8)why;
	if (sim_must_wait(c, w)) {
		sim_park(s, w, why);
		sim_wait_on(s, w, why, since);
	} else {
		sim_order(c);
	}
	s->waits = outer;
}

void sim_grant(struct sim_cpu *s, struct sim_wait *w, u64 at)
{
	w->at = at;
	if (s->wait == w)
		sim_requeue(s, sim_park_key(s));
}

/* ---- idle CPUs ------------------------------------------------------------------------------ */

/* The CPU's task is the idle task already. Returns the key of the CPU that runs next. */
static u64 sim_park_idle(struct sim_cpu *s)
{
	struct sim *sim = s->sim;

	s->cpu.idle = true;
	s->wait = NULL;
	s->park_irqs = true;
	s->parked = SIM_PARKED_IDLE;
	return sim_next(sim, sim_replay(sim, s->rank, sim_park_key(s)));
}

/*
 * Kernel tasks and timers that go round for ever keep a machine alive whose user tasks all wait for
 * each other. When none has run for long, and none has a time at which it will, that is the end.
 */
static void sim_check_hung(struct sim *sim)
{
	struct sim_task *t;

	sim->user_ran_at = world_now();
	list_for_each_entry (t, &sim->tasks, list) {
		const struct world_task *wt = t->task;

		if (!t->counted || wt->state == WORLD_TASK_DEAD)
			continue;
		if (wt->state == WORLD_TASK_RUNNING || t->timeout.pending)
			return;
	}
	sim_end_deadlock(sim);
}

/*
 * The idle fiber. It gets the CPU whenever an interrupt ends an idle time, also one that began when
 * a task went to sleep: then sched_leave_idle() returns true.
 */
static void sim_idle_main(void)
{
	struct sim_cpu *s = sim_self();
	struct world_cpu *c = &s->cpu;

	fiber_begin(&s->sim->main);
	for (;;) {
		u64 key;

		s->parked = SIM_RUNS;
		charge(COST_IDLE_EXIT);
		sim_order(c); /* runs the interrupts */
		c->idle = false;
		if (unlikely(c->clock > s->sim->user_ran_at + SIM_HUNG_NS))
			sim_check_hung(s->sim);
		if (sched_leave_idle(s))
			continue;
		key = sim_park_idle(s);
		if (heap_key_id(key) == s->rank)
			c->clock = heap_key_value(key);
		else
			sim_run_cpu(s->sim, &s->fiber, key);
	}
}

void sim_go_idle(struct sim_cpu *s, struct fiber *from)
{
	u64 key;

	s->fiber = s->idle.fiber;
	key = sim_park_idle(s);
	sim_run_cpu(s->sim, from, key);
}

/* ---- beginning and end ---------------------------------------------------------------------- */

void sim_end(struct sim *sim, int result)
{
	struct fiber gone;

	sim->result = result;
	fiber_switch(&gone, &sim->main);
	__builtin_unreachable();
}

void sim_stop(struct world *w)
{
	struct sim *sim = sim_of(w);

	sim->stop = true;
	sim_expire(w);
	sim_refresh(sim);
}

void sim_expire(struct world *w)
{
	struct sim *sim = sim_of(w);

	/* Seen when the CPU that runs comes to its limit, which is a tick away at most. */
	sim->stop_at = 0;
	sim->pause_at = 0;
}

/* The books of the boot task are kept apart: it may charge, but nothing takes time. */
void sim_boot_enter(struct sim *sim)
{
	struct sim_cpu *s = sim_cpu(sim, 0);
	struct world_cpu *c = &s->cpu;

	c->cost = sim->boot_cost;
	c->cost_count = sim->boot_count;
	c->limit = UINT64_MAX;
	c->turn = UINT64_MAX;
	c->task = &sim->boot;
	c->span = sim->boot.span;
	c->span_start = c->clock;
	c->irq_off = 0;
	c->in_irq = 0;
	c->nr_spin = 0;
	c->idle = false;
	world_self = c;
}

void sim_boot_leave(struct sim *sim)
{
	struct ledger *l = &sim->w.ledger;
	struct sim_cpu *s = sim_cpu(sim, 0);
	struct world_cpu *c = &s->cpu;

	ledger_restart(l);
	c->cost = sim->w.hw->cost_ns;
	c->cost_count = l->cost_count;
	c->clock = 0;
	c->span_start = 0;
	c->task = &s->idle_task;
	c->span = s->idle_task.span;
	c->idle = true;
	c->need_resched = false;
}

/* Time that is left over at the end counts as idle, and everything that is open is booked. */
static void sim_close_cpu(struct sim *sim, struct sim_cpu *s)
{
	struct world_cpu *c = &s->cpu;
	u64 *since = c->task == &s->idle_task ? &s->idle_ns : &s->busy_ns;

	world_task_account(c, c->task);
	*since += c->clock - s->since;
	if (sim->slices && c->task != &s->idle_task)
		slice_run(s, c->task, s->run_since);
	__span_to(c, s->idle_task.span);
	s->idle_ns += sim->elapsed - c->clock;
	s->idle_task.utime_ns += sim->elapsed - c->clock;
	c->clock = sim->elapsed;
	__span_to(c, c->span);
	s->since = c->clock;
}

int sim_run(struct world *w)
{
	struct sim *sim = sim_of(w);
	u64 key;

	VM_BUG_ON_MSG(sim->ended, "sim_run() is called once");
	VM_BUG_ON_MSG(world_self != w->cpu[0], "sim_run() is called by the boot task");
	sim_boot_leave(sim);
	sim->running = true;
	if (sim->nr_user) {
		key = heap_top(&sim->heap);
		if (key == KEYHEAP_EMPTY)
			panic("tasks have been started, but no CPU runs");
		sim_run_cpu(sim, &sim->main, key);
	}
	sim->running = false;
	sim->ended = true;
	ledger_settle(&w->ledger);
	sim->elapsed = sim->result == -ETIME ? sim->stop_at : 0;
	for (u32 i = 0; i < w->hw->nr_cpus; i++)
		sim->elapsed = max(sim->elapsed, w->cpu[i]->clock);
	for (u32 i = 0; i < w->hw->nr_cpus; i++)
		w->cpu[i]->task->span = w->cpu[i]->span; /* for sim_task_where() */
	for (u32 i = 0; i < w->hw->nr_cpus; i++)
		sim_close_cpu(sim, sim_cpu(sim, i));
	sim_boot_enter(sim);
	return sim->result;
}

u64 sim_elapsed(const struct world *w)
{
	return sim_of(w)->elapsed;
}

/*
 * What a CPU has open is booked from now on only. A CPU ahead of now has booked that part already
 * and books it again under what it does then, one that is behind now books less: so each CPU's
 * spans still add up to what is left of the run, to the nanosecond.
 */
void sim_start_measuring(struct world *w)
{
	world_order();
	ledger_restart(&w->ledger);
	for (u32 i = 0; i < w->hw->nr_cpus; i++)
		w->cpu[i]->span_start = world_now();
	sim_of(w)->measured_from = world_now();
}

u64 sim_measured_from(const struct world *w)
{
	return sim_of(w)->measured_from;
}

struct sim_cpu_times sim_cpu_times(const struct world *w, u32 cpu)
{
	const struct sim_cpu *s = sim_cpu(sim_of(w), cpu);

	return (struct sim_cpu_times){.busy_ns = s->busy_ns, .idle_ns = s->idle_ns};
}
