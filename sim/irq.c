/*
 * Interrupts: what is pending on each CPU, and how it is delivered.
 *
 * A pending interrupt is an event in the CPU's tree, ordered by time; `next_irq` is the first of
 * them or the next tick. It is delivered at the first order point after its time with interrupts
 * on, on the stack of the interrupted task; an interrupt is not interrupted. Each entry charges
 * IRQ, except the tick, whose cost is whole; timers that are due together share one entry.
 *
 * Its time goes to the span irq/..., and to the system time of the task that was interrupted.
 */
#include "sim/engine.h"

#include "lib/bitmap.h"

/* ---- what is pending ------------------------------------------------------------------------ */

static bool sim_event_before(const struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct sim_event, node)->time <
	       rb_entry(b, struct sim_event, node)->time;
}

static struct sim_event *sim_first_event(const struct sim_cpu *s)
{
	return rb_entry_safe(rb_first_cached(&s->events), struct sim_event, node);
}

/* The first event or the tick has changed. */
static void sim_update_next_irq(struct sim_cpu *s)
{
	const struct sim_event *first = sim_first_event(s);
	u64 next = first && first->time < s->tick_at ? first->time : s->tick_at;

	if (next == s->next_irq)
		return;
	s->next_irq = next;
	if (s->parked != SIM_RUNS)
		sim_rekey(s);
	else if (&s->cpu == world_self)
		sim_refresh(s->sim);
}

void sim_post(struct sim_cpu *s, struct sim_event *e, u64 time)
{
	VM_BUG_ON(e->pending);
	e->time = time;
	e->cpu = s->cpu.id;
	e->pending = true;
	rb_add_cached(&e->node, &s->events, sim_event_before);
	sim_update_next_irq(s);
}

void sim_cancel(struct sim *sim, struct sim_event *e)
{
	struct sim_cpu *s = sim_cpu(sim, e->cpu);

	VM_BUG_ON(!e->pending);
	rb_erase_cached(&e->node, &s->events);
	e->pending = false;
	sim_update_next_irq(s);
}

/* ---- timers, which take their events from a pool -------------------------------------------- */

static struct sim_event *sim_event_new(struct sim *sim, enum sim_event_kind kind, void *arg)
{
	u32 handle = pool_alloc(&sim->events);
	struct sim_event *e;

	if (!handle)
		panic("too many timers and IPIs at once");
	e = pool_ptr(&sim->events, handle);
	e->kind = (u8)kind;
	e->arg = arg;
	return e;
}

static void sim_event_free(struct sim *sim, struct sim_event *e)
{
	pool_free(&sim->events, pool_index(&sim->events, e));
}

void sim_timer_cancel(struct world_timer *t)
{
	struct sim *sim = sim_of(world_self->w);
	struct sim_event *e = t->engine;

	if (!t->expires)
		return;
	t->expires = 0;
	t->engine = NULL;
	sim_cancel(sim, e);
	sim_event_free(sim, e);
}

void sim_timer_arm(struct world_timer *t, u64 expires)
{
	struct sim_cpu *s = sim_self();
	struct sim_event *e;

	sim_timer_cancel(t);
	e = sim_event_new(s->sim, SIM_EVENT_TIMER, t);
	t->expires = expires ? expires : 1; /* 0 means not armed */
	t->cpu = s->cpu.id;
	t->engine = e;
	sim_post(s, e, t->expires);
}

static void sim_timer_run(struct sim *sim, struct sim_event *e)
{
	struct world_timer *t = e->arg;

	sim_event_free(sim, e);
	t->engine = NULL;
	t->expires = 0;
	span_enter(SPAN_TIMER);
	charge(COST_TIMER);
	t->fn(t);
	span_exit();
}

static void sim_timeout_run(struct sim_event *e)
{
	struct sim_task *t = e->arg;

	span_enter(SPAN_TIMER);
	charge(COST_TIMER);
	sched_wake(t);
	span_exit();
}

/* ---- ticks ---------------------------------------------------------------------------------- */

/* Ticks come at the same times on all CPUs, as Linux's do without skew_tick. */
void sim_tick_start(struct sim_cpu *s)
{
	u64 tick = s->sim->w.ns_per_tick;

	s->tick_at = (s->cpu.clock / tick + 1) * tick;
	sim_update_next_irq(s);
}

void sim_tick_stop(struct sim_cpu *s)
{
	s->tick_at = SIM_NEVER;
	sim_update_next_irq(s);
}

static void sim_tick_run(struct sim_cpu *s)
{
	u64 tick = s->sim->w.ns_per_tick;

	/* Ticks that interrupts-off time has swallowed are not made up for. */
	s->tick_at = (s->cpu.clock / tick + 1) * tick;
	span_enter(SPAN_TICK);
	charge(COST_TICK);
	sched_tick(s);
	span_exit();
}

/* ---- IPIs ----------------------------------------------------------------------------------- */

/* A function that other CPUs run; on the sender's stack. */
struct sim_call {
	void (*fn)(void *arg);
	void *arg;
	struct sim_cpu *sender;
	struct sim_wait wait;
	u64 done_at;
	u32 nr_left;
};

void sim_ipi(const u64 *cpumask, void (*fn)(void *arg), void *arg)
{
	struct sim_cpu *s = sim_self();
	struct world_cpu *c = &s->cpu;
	struct sim *sim = s->sim;
	struct sim_call call = {.fn = fn, .arg = arg, .sender = s, .wait.at = SIM_NEVER};
	u64 cpu;

	world_order();
	for_each_set_bit (cpu, cpumask, sim->w.hw->nr_cpus) {
		struct sim_event *e;

		if (cpu == c->id)
			continue;
		VM_BUG_ON_MSG(c->irq_off, "an IPI is waited for with interrupts off");
		charge(call.nr_left++ ? COST_IPI_SEND_MORE : COST_IPI_SEND);
		if (!sim->running)
			continue;
		e = sim_event_new(sim, SIM_EVENT_CALL, &call);
		sim_post(sim_cpu(sim, cpu), e, c->clock + c->cost[COST_IPI_FLIGHT]);
	}
	if (!call.nr_left)
		return;
	VM_BUG_ON_MSG(!sim->running, "the boot task sends IPIs");
	world_trace(EVENT_IPI, call.nr_left, 0);
	span_enter(SPAN_IPI_WAIT);
	sim_wait(s, &call.wait, SIM_PARKED_IPI);
	span_exit();
}

static void sim_call_run(struct sim_cpu *s, struct sim_event *e)
{
	struct world_cpu *c = &s->cpu;
	struct sim_call *call = e->arg;
	u64 sent = e->time - c->cost[COST_IPI_FLIGHT];
	u64 received = c->clock;
	u64 done_at;

	sim_event_free(s->sim, e);
	span_enter(SPAN_IPI);
	charge(COST_IRQ);
	call->fn(call->arg);
	/* The sender sees the line on which this CPU has written that it is done. */
	done_at = c->clock + c->cost[world_distance(c, call->sender->cpu.id)];
	call->done_at = max(call->done_at, done_at);
	if (--call->nr_left == 0)
		sim_grant(call->sender, &call->wait, call->done_at);
	if (unlikely(s->sim->slices))
		slice_ipi(s->sim, &call->sender->cpu, sent, c, received);
	span_exit();
}

static void sim_resched_run(struct world_cpu *c)
{
	span_enter(SPAN_IPI);
	charge(COST_IRQ);
	c->need_resched = true;
	span_exit();
}

/* ---- delivery ------------------------------------------------------------------------------- */

static void sim_event_run(struct sim_cpu *s, struct sim_event *e, bool *timer_entry)
{
	switch ((enum sim_event_kind)e->kind) {
	case SIM_EVENT_TIMER:
	case SIM_EVENT_TIMEOUT:
		if (!*timer_entry)
			charge(COST_IRQ);
		*timer_entry = true;
		if (e->kind == SIM_EVENT_TIMER)
			sim_timer_run(s->sim, e);
		else
			sim_timeout_run(e);
		break;
	case SIM_EVENT_RESCHED:
		sim_resched_run(&s->cpu);
		break;
	case SIM_EVENT_CALL:
		sim_call_run(s, e);
		break;
	case SIM_EVENT_DISK:
		sim_disk_event(s, e);
		break;
	}
}

/* Runs what is due on @s, the CPU that runs. Interrupts are on. */
void sim_run_irqs(struct sim_cpu *s)
{
	struct world_cpu *c = &s->cpu;
	struct world_task *t = c->task;
	bool was_user = t->in_user;
	bool timer_entry = false;
	struct ledger_node *span = c->span;

	world_task_account(c, t);
	t->in_user = false;
	c->irq_off = 1;
	c->in_irq = 1;
	__span_to(c, ledger_root(c->ledger, SPAN_IRQ));
	sim_set_limit(s);
	while (s->next_irq <= c->clock) {
		struct sim_event *e = sim_first_event(s);

		if (!e || s->tick_at < e->time) {
			sim_tick_run(s);
			sim_update_next_irq(s);
			continue;
		}
		rb_erase_cached(&e->node, &s->events);
		e->pending = false;
		sim_update_next_irq(s);
		sim_event_run(s, e, &timer_entry);
	}
	__span_to(c, span);
	c->in_irq = 0;
	c->irq_off = 0;
	world_task_account(c, t);
	t->in_user = was_user;
}

/* Not an order point, though the interrupts may contain some. */
void sim_irq_restore(struct world_cpu *c)
{
	struct sim_cpu *s = sim_cpu_of(c);

	if (s->next_irq <= c->clock && s->sim->running)
		sim_run_irqs(s);
}
