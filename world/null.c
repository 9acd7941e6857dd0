/*
 * The null world: tasks, time, locks, interrupts. See null.h for what it promises; null_hw.c has the
 * rest of the machine.
 *
 * Tasks run on ucontext stacks: slow, and free of assembly. Each remembers who resumed it, and goes
 * back there when it ends or waits.
 */
#include "world/null_impl.h"

#include <stdlib.h>

#include "lib/bitmap.h"

#define NULL_STACK_BYTES (256 << 10)

struct null_task {
	ucontext_t context;
	ucontext_t *resumer; /* whom it gives the thread back to; NULL: does not run */
	char *stack;
	void (*fn)(void *arg);
	void *arg;
	struct world_task *task;
	struct list_head list;
};

/* A waiter of a semaphore, on its stack. */
struct null_waiter {
	struct list_head list;
	struct world_task *task;
	bool write;
	bool granted;
};

/* ---- timers and time ------------------------------------------------------------------------ */

/* The first timer of @c that is due at @time, or NULL. */
static struct world_timer *null_timer_due(struct world_cpu *c, u64 time)
{
	struct world_timer *t;

	list_for_each_entry (t, &null_of(c->w)->timers, list) {
		if (t->expires > time)
			break;
		if (t->cpu == c->id)
			return t;
	}
	return NULL;
}

/* Order points stop at the first timer of the CPU. */
static void null_set_limit(struct world_cpu *c)
{
	struct world_timer *t = null_timer_due(c, UINT64_MAX);

	c->limit = t ? t->expires : UINT64_MAX;
	c->turn = c->limit;
}

void null_irq_enter(struct world_cpu *c)
{
	c->in_irq += 1;
	c->irq_off += 1;
}

void null_irq_exit(struct world_cpu *c)
{
	c->in_irq -= 1;
	c->irq_off -= 1;
}

static void null_run_timer(struct world_timer *t)
{
	struct world_cpu *self = world_self;
	struct world_cpu *c = self->w->cpu[t->cpu];

	list_del(&t->list);
	if (c->clock < t->expires)
		c->clock = t->expires;
	t->expires = 0;
	null_set_limit(c);
	world_self = c;
	null_irq_enter(c);
	t->fn(t);
	null_irq_exit(c);
	world_self = self;
}

void null_order(struct world_cpu *c)
{
	struct world_timer *t;

	while (!c->irq_off && (t = null_timer_due(c, c->clock)))
		null_run_timer(t);
}

void null_timer_cancel(struct world_timer *t)
{
	if (!t->expires)
		return;
	list_del(&t->list);
	t->expires = 0;
	null_set_limit(world_self->w->cpu[t->cpu]);
}

void null_timer_arm(struct world_timer *t, u64 expires)
{
	struct world_cpu *c = world_self;
	struct list_head *head = &null_self()->timers;
	struct list_head *before = head;

	null_timer_cancel(t);
	t->expires = expires ? expires : 1; /* 0 means not armed */
	t->cpu = c->id;
	while (before->prev != head &&
	       list_entry(before->prev, struct world_timer, list)->expires > t->expires)
		before = before->prev;
	list_add_tail(&t->list, before);
	null_set_limit(c);
}

void null_advance(struct world *w, u64 ns)
{
	VM_BUG_ON(world_self->w != w);
	charge_ns(ns);
	world_order();
}

/* ---- the test's place ----------------------------------------------------------------------- */

void null_set_cpu(struct world *w, u32 cpu)
{
	struct world_cpu *c = w->cpu[cpu];

	VM_BUG_ON(cpu >= w->hw->nr_cpus);
	if (c->clock < world_self->clock)
		c->clock = world_self->clock;
	world_self = c;
}

/* @t takes the place of the CPU's present task. */
static void null_switch(struct world_cpu *c, struct world_task *t)
{
	struct world_task *prev = c->task;

	if (prev == t)
		return;
	if (prev) {
		world_task_account(c, prev);
		prev->span = c->span;
	}
	c->task = t;
	t->cpu = c->id;
	t->mode_start = c->clock;
	t->nr_switches += 1;
	__span_to(c, t->span);
	if (t->as)
		null_load_as(c, t->as);
}

void null_set_task(struct world *w, struct world_task *t)
{
	for (u32 i = 0; t && i < w->hw->nr_cpus; i++)
		if (w->cpu[i]->task == t && w->cpu[i] != world_self)
			null_switch(w->cpu[i], &null_of(w)->cpus[i].boot);
	null_switch(world_self, t ? t : &null_of(w)->cpus[world_cpu_id()].boot);
	world_self->task->state = WORLD_TASK_RUNNING;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static void null_task_main(void)
{
	struct null_task *nt = world_self->task->engine;

	nt->fn(nt->arg);
	world_task_exit();
}

void null_task_init(struct world *w, struct world_task *t, const char *name,
                    enum world_task_kind kind, enum world_stack stack, void (*fn)(void *arg),
                    void *arg)
{
	struct null_task *nt = calloc(1, sizeof(*nt));

	(void)stack;
	if (!nt)
		panic("no host memory for a task");
	world_task_setup(w, t, name, kind);
	t->engine = nt;
	nt->fn = fn;
	nt->arg = arg;
	nt->task = t;
	list_add_tail(&nt->list, &null_of(w)->tasks);
}

void null_task_start(struct world_task *t, int cpu)
{
	VM_BUG_ON(t->state != WORLD_TASK_NEW);
	t->state = WORLD_TASK_RUNNING;
	if (cpu >= 0)
		t->cpu = (u16)cpu;
}

void null_task_free(struct world_task *t)
{
	struct null_task *nt = t->engine;

	VM_BUG_ON(nt->resumer);
	list_del(&nt->list);
	free(nt->stack);
	free(nt);
	t->engine = NULL;
}

void null_free_tasks(struct null_world *nw)
{
	struct null_task *nt;
	struct null_task *next;

	list_for_each_entry_safe (nt, next, &nw->tasks, list) {
		free(nt->stack);
		free(nt);
	}
}

/* The task gives the host thread back to whoever resumed it. */
static void null_yield(struct null_task *nt)
{
	swapcontext(&nt->context, nt->resumer);
}

void null_task_exit(void)
{
	struct world_task *t = world_current();
	struct null_task *nt = t->engine;

	if (!nt || !nt->resumer)
		panic("world_task_exit() by the test itself");
	null_use_as(NULL);
	t->state = WORLD_TASK_DEAD;
	null_yield(nt);
}

bool null_run_task(struct world_task *t)
{
	struct world_cpu *c = world_self;
	struct world_task *prev = c->task;
	struct null_task *nt = t->engine;
	ucontext_t here;

	if (t->state != WORLD_TASK_RUNNING)
		panic("null_run_task(): %s is not started, waits or has ended", t->name);
	VM_BUG_ON(nt->resumer);
	if (!nt->stack) {
		nt->stack = malloc(NULL_STACK_BYTES);
		if (!nt->stack)
			panic("no host memory for a stack");
		getcontext(&nt->context);
		nt->context.uc_stack.ss_sp = nt->stack;
		nt->context.uc_stack.ss_size = NULL_STACK_BYTES;
		makecontext(&nt->context, null_task_main, 0);
	}
	null_switch(c, t);
	nt->resumer = &here;
	swapcontext(&here, &nt->context);
	nt->resumer = NULL;
	null_switch(c, prev);
	return t->state == WORLD_TASK_DEAD;
}

/* ---- sleeping ------------------------------------------------------------------------------- */

static void null_check_may_sleep(const struct world_cpu *c)
{
	VM_BUG_ON_MSG(c->in_irq, "an interrupt sleeps");
	VM_BUG_ON_MSG(c->irq_off, "a task sleeps with interrupts off");
	VM_BUG_ON_MSG(c->nr_spin, "a task sleeps with %u spin locks held", c->nr_spin);
}

/* A wait of the test itself: what was put off happens now. */
static void null_wait_for_world(struct null_world *nw, struct world_task *t)
{
	while (t->state != WORLD_TASK_RUNNING) {
		if (null_complete_io(&nw->w, 1))
			continue;
		if (list_empty(&nw->timers))
			panic("%s waits%s%s, and nothing can end it", t->name,
			      t->waits_class ? " for " : "",
			      t->waits_class ? ledger_lock_name[t->waits_class] : "");
		null_run_timer(list_first_entry(&nw->timers, struct world_timer, list));
	}
}

u64 null_schedule(u64 timeout)
{
	struct world_cpu *c = world_self;
	struct world_task *t = c->task;
	struct null_task *nt = t->engine;
	struct world_timer *timer;
	u64 end = timeout == WORLD_FOREVER ? WORLD_FOREVER : c->clock + timeout;

	null_check_may_sleep(c);
	world_order();
	if (t->state == WORLD_TASK_INTERRUPTIBLE && t->signal)
		t->state = WORLD_TASK_RUNNING;
	if (t->state == WORLD_TASK_RUNNING)
		return timeout;
	null_self()->stats.nr_sleeps += 1;
	if (end == WORLD_FOREVER) {
		if (nt && nt->resumer)
			null_yield(nt);
		else
			null_wait_for_world(null_self(), t);
		return WORLD_FOREVER;
	}
	while (t->state != WORLD_TASK_RUNNING && (timer = null_timer_due(c, end)))
		null_run_timer(timer);
	if (t->state == WORLD_TASK_RUNNING)
		return end > c->clock ? end - c->clock : 0;
	if (c->clock < end)
		c->clock = end;
	t->state = WORLD_TASK_RUNNING;
	return 0;
}

void null_cond_resched(void)
{
	world_self->need_resched = false;
}

bool null_wake(struct world_task *t)
{
	if (t->state != WORLD_TASK_INTERRUPTIBLE && t->state != WORLD_TASK_UNINTERRUPTIBLE)
		return false;
	charge(COST_WAKEUP);
	null_self()->stats.nr_wakeups += 1;
	t->state = WORLD_TASK_RUNNING;
	return true;
}

/* Nobody asks for the shares of time. */
void null_memstall(struct world_task *t)
{
	(void)t;
}

/* ---- locks ---------------------------------------------------------------------------------- */

void null_spin_lock(struct spinlock *l)
{
	struct world_cpu *c = world_self;
	struct ledger_lock_stat *st = &c->ledger->lock[l->class];

	world_order();
	if (!l->owner && l->free_at <= c->clock) {
		__spin_taken(c, l);
		return;
	}
	if (l->owner)
		panic("spin lock %s is held by CPU %u%s", ledger_lock_name[l->class], l->owner - 1,
		      spin_held(l) ? ", this one" : ", which will never release it");
	/* Released by a CPU that is ahead in time. */
	st->contentions += 1;
	st->wait_ns += l->free_at - c->clock;
	st->wait_ns_max = max(st->wait_ns_max, l->free_at - c->clock);
	c->clock = l->free_at;
	__spin_taken(c, l);
}

/* Nobody ever waits for a spin lock here. */
void null_spin_unlock(struct spinlock *l)
{
	panic("spin lock %s has waiters", ledger_lock_name[l->class]);
}

static bool null_sem_held(const struct rw_semaphore *s, bool write)
{
	return s->writer || s->nr_waiters || (write && s->nr_readers);
}

void null_down(struct rw_semaphore *s, bool write)
{
	struct world_cpu *c = world_self;
	struct null_waiter me = {.task = c->task, .write = write};
	u64 free_at = write ? max(s->free_at, s->read_free_at) : s->free_at;

	null_check_may_sleep(c);
	c->ledger->lock[s->class].contentions += 1;
	if (!null_sem_held(s, write)) {
		c->ledger->lock[s->class].wait_ns += free_at - c->clock;
		c->clock = free_at;
		__rwsem_taken(c, s, write);
		return;
	}
	list_add_tail(&me.list, &s->waiters);
	s->nr_waiters += 1;
	c->task->waits_for = s;
	c->task->waits_class = s->class;
	while (!me.granted) {
		c->task->state = WORLD_TASK_UNINTERRUPTIBLE;
		null_schedule(WORLD_FOREVER);
	}
	c->task->waits_for = NULL;
	c->task->waits_class = 0;
}

/* Hands @s to the first waiter: a writer, or all readers up to the next writer. */
void null_up(struct rw_semaphore *s, bool write)
{
	struct world_cpu *c = world_self;
	struct null_waiter *w;
	struct null_waiter *next;

	(void)write;
	list_for_each_entry_safe (w, next, &s->waiters, list) {
		if (s->writer || (w->write && s->nr_readers))
			return;
		list_del(&w->list);
		s->nr_waiters -= 1;
		__rwsem_taken(c, s, w->write);
		if (w->write)
			s->writer = w->task;
		w->granted = true;
		null_wake(w->task);
	}
}

/* ---- interrupts ----------------------------------------------------------------------------- */

void null_ipi(const u64 *cpumask, void (*fn)(void *arg), void *arg)
{
	struct world_cpu *self = world_self;
	struct world *w = self->w;
	u32 nr = 0;
	u64 cpu;

	VM_BUG_ON_MSG(self->irq_off, "an IPI is waited for with interrupts off");
	for_each_set_bit (cpu, cpumask, w->hw->nr_cpus) {
		struct world_cpu *c = w->cpu[cpu];

		if (c == self)
			continue;
		if (c->irq_off)
			panic("IPI to CPU %lu, which has interrupts off for ever", cpu);
		charge(nr++ ? COST_IPI_SEND_MORE : COST_IPI_SEND);
		if (c->clock < self->clock + self->cost[COST_IPI_FLIGHT])
			c->clock = self->clock + self->cost[COST_IPI_FLIGHT];
		world_self = c;
		null_irq_enter(c);
		charge(COST_IRQ);
		fn(arg);
		null_irq_exit(c);
		world_self = self;
		if (self->clock < c->clock)
			self->clock = c->clock;
	}
	null_self()->stats.nr_ipis += nr;
}
