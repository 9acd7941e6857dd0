/*
 * Locks that somebody has to wait for. The inline half, in world.h, takes and releases free ones.
 *
 * A lock released at time t is held until t for everyone, although the CPU that released it may
 * have run ahead. So there are two ways to wait. If the lock has an owner, one joins the queue, and
 * the release hands over. If it has none but is free only at a later time, one becomes the owner
 * now, so that later arrivals queue, and lets the other CPUs catch up before using it.
 *
 * The wait goes to the span spin_wait, interrupts apart. Handing over costs SPIN_HANDOFF; with a
 * ticket lock all the others that wait re-read the line first, one LINE_SOCKET each.
 */
#include "sim/engine.h"

/* ---- spin locks ----------------------------------------------------------------------------- */

/* A CPU in the queue of a lock; on its stack. */
struct sim_spinner {
	struct sim_wait wait;
	struct sim_cpu *cpu;
	struct sim_spinner *next;
	struct sim_spinner *last; /* valid in the first */
};

static void sim_lock_waited(const struct world_cpu *c, u32 class, u64 since)
{
	struct ledger_lock_stat *st = &c->ledger->lock[class];
	u64 ns = c->clock - since;

	if (unlikely(c->ledger->slices))
		slice_lock(c, class, since);
	st->wait_ns += ns;
	st->wait_ns_max = max(st->wait_ns_max, ns);
}

static u64 sim_handoff_ns(struct sim *sim, u32 nr_others)
{
	const u32 *cost = sim->w.hw->cost_ns;

	sim->w.ledger.cost_count[COST_SPIN_HANDOFF] += 1;
	if (sim->w.hw->queued_spinlocks)
		return cost[COST_SPIN_HANDOFF];
	sim->w.ledger.cost_count[COST_LINE_SOCKET] += nr_others;
	return cost[COST_SPIN_HANDOFF] + (u64)cost[COST_LINE_SOCKET] * nr_others;
}

static void sim_spin_queue(struct sim_cpu *s, struct spinlock *l)
{
	struct sim_spinner me = {.wait.at = SIM_NEVER, .cpu = s, .last = &me};
	struct sim_spinner *first = l->waiters;

	if (first) {
		first->last->next = &me;
		first->last = &me;
	} else {
		l->waiters = &me;
	}
	l->nr_waiters += 1;
	s->spins_on = l;
	sim_wait(s, &me.wait, SIM_PARKED_SPIN);
	s->spins_on = NULL;
}

void sim_spin_lock(struct spinlock *l)
{
	struct sim_cpu *s = sim_self();
	struct world_cpu *c = &s->cpu;
	struct ledger_lock_stat *st = &c->ledger->lock[l->class];
	u64 since = c->clock;

	if (l->owner == c->id + 1u)
		panic("spin lock %s is taken twice by CPU %u", ledger_lock_name[l->class], c->id);
	if (!s->sim->running) {
		VM_BUG_ON_MSG(l->owner, "the boot task waits for spin lock %s",
		              ledger_lock_name[l->class]);
		__spin_taken(c, l);
		return;
	}
	st->contentions += 1;
	span_enter(SPAN_SPIN_WAIT);
	if (l->owner) {
		sim_spin_queue(s, l);
	} else {
		l->owner = c->id + 1u;
		c->clock = l->free_at;
		sim_order(c); /* those that arrive until then queue up */
		c->clock += sim_handoff_ns(s->sim, l->nr_waiters);
		sim_order(c);
	}
	span_exit();
	sim_lock_waited(c, l->class, since);
	__spin_taken(c, l);
}

/* Hands @l to the first waiter. */
void sim_spin_unlock(struct spinlock *l)
{
	struct world_cpu *c = world_self;
	struct sim *sim = sim_of(c->w);
	struct sim_spinner *first = l->waiters;
	struct sim_spinner *second = first->next;

	l->nr_waiters -= 1;
	l->waiters = second;
	if (second)
		second->last = first->last;
	l->owner = first->cpu->cpu.id + 1u;
	l->free_at = c->clock;
	sim_grant(first->cpu, &first->wait, c->clock + sim_handoff_ns(sim, l->nr_waiters));
}

/* ---- semaphores ----------------------------------------------------------------------------- */

/* A task in the queue of a semaphore; on its stack. */
struct sim_sem_waiter {
	struct list_head list;
	struct world_task *task;
	u64 granted_at; /* SIM_NEVER: not yet */
	bool write;
};

static void sim_sem_take(struct rw_semaphore *s, struct world_task *t, bool write, u64 now)
{
	if (write)
		s->writer = t;
	else
		s->nr_readers += 1;
	if (write || s->nr_readers == 1)
		s->taken_at = now;
	world_self->ledger->lock[s->class].acquisitions += 1;
}

/* Nobody holds it any more, but it was released later than now. */
static void sim_sem_wait_until(struct world_cpu *c, u64 free_at)
{
	span_enter(SPAN_SPIN_WAIT);
	c->clock = max(c->clock, free_at);
	sim_order(c);
	span_exit();
}

/* Spins for a short while, as long as the owner may be about to release it, then sleeps. */
static void sim_sem_queue(struct rw_semaphore *s, bool write)
{
	struct world_task *t = world_current();
	struct sim_sem_waiter me = {.task = t, .granted_at = SIM_NEVER, .write = write};

	list_add_tail(&me.list, &s->waiters);
	s->nr_waiters += 1;
	t->waits_for = s;
	t->waits_class = s->class;
	((struct sim_task *)t->engine)->sem = s;
	span_enter(SPAN_SPIN_WAIT);
	charge(COST_MUTEX_SPIN);
	sim_order(world_self);
	span_exit();
	while (me.granted_at == SIM_NEVER) {
		t->state = WORLD_TASK_UNINTERRUPTIBLE;
		sim_schedule(WORLD_FOREVER);
	}
	if (me.granted_at > world_now()) /* by a CPU that is ahead */
		sim_sem_wait_until(world_self, me.granted_at);
	t->waits_for = NULL;
	t->waits_class = 0;
	((struct sim_task *)t->engine)->sem = NULL;
}

/* ---- mutexes -------------------------------------------------------------------------------- */

/*
 * Linux spins on a mutex while its owner runs and nobody else wants the CPU (optimistic spinning,
 * 2.6.30; the spinners queue, 3.15). The release goes to the first that spins, and wakes the first
 * that sleeps; who comes by until that runs takes the mutex before it. Once awake it spins too, which
 * it does in Linux only from 4.10 on; before, it went to sleep again and could lose for long.
 *
 * Who spins is parked until one of these happens: the mutex becomes its own, the owner leaves its CPU,
 * an interrupt finds that its own CPU is wanted.
 */
struct sim_mutex_waiter {
	struct list_head list;
	struct list_head spinners; /* of all mutexes: sim->spinners */
	struct rw_semaphore *mutex;
	struct world_task *task;
	struct sim_wait spin;
	struct sim_cpu *cpu; /* that spins; NULL: sleeps */
	bool granted;
};

static struct sim_task *sim_owner(const struct rw_semaphore *s)
{
	return s->writer ? s->writer->engine : NULL;
}

static bool sim_should_spin(const struct rw_semaphore *s, const struct sim_mutex_waiter *me)
{
	const struct sim_task *owner = sim_owner(s);

	return owner && owner->on_cpu && !me->granted && !me->cpu->cpu.need_resched;
}

static void sim_mutex_spin(struct rw_semaphore *s, struct sim_mutex_waiter *me)
{
	struct sim_cpu *c = sim_self();

	me->cpu = c;
	list_add_tail(&me->spinners, &c->sim->spinners);
	while (sim_should_spin(s, me)) {
		sim_owner(s)->spun_on = true;
		me->spin = (struct sim_wait){.at = SIM_NEVER, .while_unwanted = true};
		sim_wait(c, &me->spin, SIM_PARKED_SPIN);
	}
	list_del(&me->spinners);
	me->cpu = NULL;
	me->spin.while_unwanted = false;
	if (me->granted)
		sim_wait(c, &me->spin, SIM_PARKED_SPIN);
}

/* @t, which has been spun on, leaves its CPU: those that spin on what it owns look again. */
void sim_owner_leaves(struct sim *sim, struct sim_task *t)
{
	struct sim_mutex_waiter *w;

	t->spun_on = false;
	list_for_each_entry (w, &sim->spinners, spinners)
		if (w->mutex->writer == t->task)
			sim_grant(w->cpu, &w->spin, world_now());
}

static void sim_mutex_queue(struct rw_semaphore *s)
{
	struct world_task *t = world_current();
	struct sim_mutex_waiter me = {.mutex = s, .task = t};

	list_add_tail(&me.list, &s->waiters);
	s->nr_waiters += 1;
	t->waits_for = s;
	t->waits_class = s->class;
	((struct sim_task *)t->engine)->sem = s;
	while (s->writer && !me.granted) {
		span_enter(SPAN_SPIN_WAIT);
		sim_mutex_spin(s, &me);
		span_exit();
		if (!s->writer || me.granted)
			break;
		t->state = WORLD_TASK_UNINTERRUPTIBLE;
		sim_schedule(WORLD_FOREVER);
	}
	t->state = WORLD_TASK_RUNNING;
	if (!me.granted) {
		list_del(&me.list);
		s->nr_waiters -= 1;
		sim_sem_take(s, t, true, world_now());
	}
	t->waits_for = NULL;
	t->waits_class = 0;
	((struct sim_task *)t->engine)->sem = NULL;
}

static void sim_mutex_lock(struct rw_semaphore *s)
{
	if (s->writer)
		sim_mutex_queue(s);
	else
		sim_sem_take(s, world_current(), true, world_now());
	/* Released, but by a CPU that is ahead. */
	if (s->free_at > world_now())
		sim_sem_wait_until(world_self, s->free_at);
	s->taken_at = world_now();
}

static void sim_mutex_unlock(struct rw_semaphore *s)
{
	struct sim_mutex_waiter *spins = NULL;
	struct sim_mutex_waiter *sleeps = NULL;
	struct sim_mutex_waiter *w;

	list_for_each_entry (w, &s->waiters, list) {
		if (w->cpu)
			spins = spins ? spins : w;
		else
			sleeps = sleeps ? sleeps : w;
	}
	if (spins) {
		list_del(&spins->list);
		s->nr_waiters -= 1;
		spins->granted = true;
		((struct sim_task *)spins->task->engine)->spun_on =
			true; /* perhaps not the only one */
		sim_sem_take(s, spins->task, true, world_now());
		sim_grant(spins->cpu, &spins->spin,
		          world_now() + sim_handoff_ns(spins->cpu->sim, 0));
	}
	if (sleeps)
		sim_wake(sleeps->task);
}

/* ---- both ----------------------------------------------------------------------------------- */

void sim_down(struct rw_semaphore *s, bool write)
{
	struct world_cpu *c = world_self;
	struct sim *sim = sim_of(c->w);
	struct ledger_lock_stat *st = &c->ledger->lock[s->class];
	u64 since = c->clock;

	VM_BUG_ON_MSG(c->in_irq, "an interrupt takes semaphore %s", ledger_lock_name[s->class]);
	VM_BUG_ON_MSG(c->irq_off || c->nr_spin, "semaphore %s is waited for in an atomic section",
	              ledger_lock_name[s->class]);
	VM_BUG_ON_MSG(s->writer == c->task, "semaphore %s is taken twice by task %s",
	              ledger_lock_name[s->class], c->task->name);
	st->contentions += 1;
	if (s->is_mutex && sim->running) {
		sim_mutex_lock(s);
	} else if (s->writer || s->nr_waiters || (write && s->nr_readers)) {
		VM_BUG_ON_MSG(!sim->running, "the boot task waits for semaphore %s",
		              ledger_lock_name[s->class]);
		sim_sem_queue(s, write);
	} else {
		sim_sem_take(s, c->task, write, c->clock);
		if (sim->running)
			sim_sem_wait_until(c,
			                   write ? max(s->free_at, s->read_free_at) : s->free_at);
		if (write)
			s->taken_at = c->clock;
	}
	sim_lock_waited(world_self, s->class, since);
	world_line_write(&s->line);
	charge(COST_RWSEM);
}

/* Hands @s to the first waiter: a writer, or all readers up to the next writer. */
void sim_up(struct rw_semaphore *s, bool write)
{
	struct sim_sem_waiter *w;
	struct sim_sem_waiter *next;

	(void)write;
	if (s->is_mutex) {
		sim_mutex_unlock(s);
		return;
	}
	list_for_each_entry_safe (w, next, &s->waiters, list) {
		struct world_task *t = w->task;

		if (s->writer || (w->write && s->nr_readers))
			return;
		list_del(&w->list);
		s->nr_waiters -= 1;
		w->granted_at = max(world_now(), w->write ? s->read_free_at : 0);
		sim_sem_take(s, t, w->write, w->granted_at);
		sim_wake(t); /* not needed if it still spins */
	}
}
