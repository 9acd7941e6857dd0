/*
 * Tasks: their lives, sleeping and waking.
 */
#include "sim/engine.h"

#include <stdlib.h>

static void sim_task_main(void)
{
	struct sim_task *t = world_current()->engine;

	fiber_begin(&t->sim->main);
	t->fn(t->arg);
	sim_task_exit();
}

void sim_task_init(struct world *w, struct world_task *t, const char *name,
                   enum world_task_kind kind, enum world_stack stack, void (*fn)(void *arg),
                   void *arg)
{
	struct sim *sim = sim_of(w);
	struct sim_task *st = calloc(1, sizeof(*st));

	if (!st)
		panic("the host has no memory for another task");
	world_task_setup(w, t, name, kind);
	t->engine = st;
	st->task = t;
	st->sim = sim;
	st->stack_kind = stack;
	st->speed_bp = SIM_NORMAL_SPEED;
	st->timeout.kind = SIM_EVENT_TIMEOUT;
	st->timeout.arg = st;
	st->fn = fn;
	st->arg = arg;
	list_add_tail(&st->list, &sim->tasks);
}

void sim_task_start(struct world_task *t, int cpu)
{
	struct sim_task *st = t->engine;
	struct sim *sim = st->sim;

	VM_BUG_ON(t->state != WORLD_TASK_NEW);
	VM_BUG_ON(cpu >= (int)sim->w.hw->nr_cpus);
	world_order();
	st->stack = fiber_stack_get(&sim->stacks[st->stack_kind]);
	fiber_init(&st->fiber, st->stack, sim_task_main);
	st->pinned = cpu >= 0 && t->kind == WORLD_TASK_KTHREAD;
	st->counted = t->kind == WORLD_TASK_USER && !st->background;
	sim->nr_user += st->counted;
	t->state = WORLD_TASK_RUNNING;
	charge(COST_WAKEUP);
	sched_fork(st, cpu);
}

static void sim_task_release(struct sim_task *st)
{
	if (st->stack.base)
		fiber_stack_put(&st->sim->stacks[st->stack_kind], st->stack);
	list_del(&st->list);
	st->task->engine = NULL;
	free(st);
}

void sim_task_free(struct world_task *t)
{
	struct sim_task *st = t->engine;

	if (st->sim->running && t->state != WORLD_TASK_DEAD && t->state != WORLD_TASK_NEW)
		panic("task %s is freed before it has ended", t->name);
	sim_task_release(st);
}

/* Those that the core has not freed: it was not asked to, or is gone already. */
void sim_free_tasks(struct sim *sim)
{
	struct sim_task *st;
	struct sim_task *next;

	list_for_each_entry_safe (st, next, &sim->tasks, list) {
		if (st->stack.base)
			fiber_stack_put(&sim->stacks[st->stack_kind], st->stack);
		free(st);
	}
}

void sim_task_exit(void)
{
	struct world_task *t = world_current();
	struct sim_task *st = t->engine;

	if (!st)
		panic("the boot task ends");
	world_order();
	sim_use_as(NULL);
	t->state = WORLD_TASK_DEAD;
	if (st->counted && --st->sim->nr_user == 0)
		sim_end(st->sim, 0);
	sched_switch(sim_self(), false);
	panic("a task that has ended runs");
}

/* ---- sleeping and waking -------------------------------------------------------------------- */

u64 sim_schedule(u64 timeout)
{
	struct sim_cpu *s = sim_self();
	struct world_cpu *c = &s->cpu;
	struct world_task *t = c->task;
	struct sim_task *st = t->engine;
	u64 end;

	VM_BUG_ON_MSG(!s->sim->running, "the boot task sleeps");
	VM_BUG_ON_MSG(c->in_irq, "an interrupt sleeps");
	VM_BUG_ON_MSG(c->irq_off, "a task sleeps with interrupts off");
	VM_BUG_ON_MSG(c->nr_spin, "a task sleeps with %u spin locks held", c->nr_spin);
	world_order();
	if (t->state == WORLD_TASK_INTERRUPTIBLE && t->signal)
		t->state = WORLD_TASK_RUNNING;
	if (t->state == WORLD_TASK_RUNNING)
		return timeout;
	if (timeout == WORLD_FOREVER) {
		sched_switch(s, false);
		return WORLD_FOREVER;
	}
	end = c->clock + timeout;
	sim_post(s, &st->timeout, end);
	sched_switch(s, false);
	return end > world_now() ? end - world_now() : 0;
}

bool sim_wake(struct world_task *t)
{
	if (t->state != WORLD_TASK_INTERRUPTIBLE && t->state != WORLD_TASK_UNINTERRUPTIBLE)
		return false;
	return sched_wake(t->engine);
}

void sim_cond_resched(void)
{
	struct sim_cpu *s = sim_self();

	/* Where the caller may not leave its CPU, it goes on. The tick will ask again. */
	if (s->cpu.in_irq || s->cpu.irq_off || s->cpu.nr_spin)
		panic("world_cond_resched() where the task may not leave its CPU");
	sched_switch(s, true);
}

void sim_preempt_point(void)
{
	world_order();
	while (world_self->need_resched) {
		sched_switch(sim_self(), true);
		world_order();
	}
}

/* ---- for the task's maker ------------------------------------------------------------------- */

void sim_task_set_speed(struct world_task *t, u32 bp)
{
	struct sim_task *st = t->engine;

	VM_BUG_ON(!bp);
	st->speed_bp = bp;
}

void sim_task_set_background(struct world_task *t)
{
	struct sim_task *st = t->engine;

	VM_BUG_ON(t->state != WORLD_TASK_NEW);
	st->background = true;
}

u64 sim_task_stack_used(const struct world_task *t)
{
	const struct sim_task *st = t->engine;

	return st->stack.base ? fiber_stack_used(st->stack) : 0;
}

u64 sim_stack_used_max(const struct world *w, enum world_stack kind)
{
	const struct sim *sim = sim_of(w);
	const struct fiber_stacks *p = &sim->stacks[kind];
	const struct sim_task *t;
	u64 used = 0;

	list_for_each_entry (t, &sim->tasks, list) {
		if (t->stack_kind == kind && t->stack.base)
			used = max(used, fiber_stack_used(t->stack));
	}
	for (u32 i = 0; kind == WORLD_STACK_KERNEL && i < w->hw->nr_cpus; i++) {
		if (sim->cpus[i].idle.stack.base)
			used = max(used, fiber_stack_used(sim->cpus[i].idle.stack));
	}
	for (u32 i = 0; i < p->nr_free; i++)
		used = max(used, fiber_stack_used((struct fiber_stack){p->free[i], p->size, 0}));
	return used;
}
