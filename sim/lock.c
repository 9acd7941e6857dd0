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

enum sim_spin_stage {
	SPIN_ARRIVES,    /* CPUs that are behind may come first */
	SPIN_QUEUED,     /* behind the owner and others */
	SPIN_CATCHES_UP, /* is the owner, from when the last one has released it */
	SPIN_OWNS,
};

/* A CPU that wants a lock; on its stack. */
struct sim_spinner {
	struct sim_step step; /* first */
	struct sim_wait wait;
	struct sim_cpu *cpu;
	struct spinlock *lock;
	enum sim_spin_stage stage;
	u64 since;
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

static u64 sim_spin_queue(struct sim_cpu *s, struct sim_spinner *me)
{
	struct spinlock *l = me->lock;
	struct sim_spinner *first = l->waiters;

	me->stage = SPIN_QUEUED;
	s->spins_on = l;
	if (first) {
		first->last->next = me;
		first->last = me;
	} else {
		me->last = me;
		l->waiters = me;
	}
	l->nr_waiters += 1;
	return sim_park_here(s, &me->wait, SIM_PARKED_SPIN);
}

/* Nobody is behind @s: it gets the lock, or waits for it. */
static u64 sim_spin_step(struct sim_cpu *s, struct sim_step *step)
{
	struct sim_spinner *me = container_of(step, struct sim_spinner, step);
	struct spinlock *l = me->lock;
	u64 now = s->cpu.clock;

	if (me->stage == SPIN_ARRIVES && (l->owner || l->free_at > now)) {
		s->cpu.ledger->lock[l->class].contentions += 1;
		me->since = now;
		if (l->owner)
			return sim_spin_queue(s, me);
		/* Released, by a CPU that is ahead: those that arrive until then queue up. */
		l->owner = s->cpu.id + 1u;
		me->stage = SPIN_CATCHES_UP;
		now = l->free_at;
	} else if (me->stage == SPIN_CATCHES_UP) {
		me->stage = SPIN_OWNS;
		now += sim_handoff_ns(s->sim, l->nr_waiters);
	}
	return heap_key(now, s->rank);
}

/* What has passed since @me began to wait, which the engine has noted, was that wait. */
static void sim_spin_enter(struct world_cpu *c, const struct sim_spinner *me)
{
	u64 now = c->clock;

	c->clock = me->since;
	span_enter(SPAN_SPIN_WAIT);
	c->clock = now;
}

/* An interrupt of @s is due, before the lock is its own or right then. */
static void sim_spin_interrupted(struct sim_cpu *s, struct sim_spinner *me)
{
	struct world_cpu *c = &s->cpu;

	sim_spin_enter(c, me);
	if (me->stage == SPIN_QUEUED) {
		sim_wait_on(s, &me->wait, SIM_PARKED_SPIN, me->since);
	} else {
		sim_order(c);
		if (me->stage == SPIN_CATCHES_UP) {
			c->clock += sim_handoff_ns(s->sim, me->lock->nr_waiters);
			sim_order(c);
		}
	}
	span_exit();
}

void sim_spin_lock(struct spinlock *l)
{
	struct sim_cpu *s = sim_self();
	struct world_cpu *c = &s->cpu;
	struct sim_spinner me = {
		.step.fn = sim_spin_step,
		.wait.at = SIM_NEVER,
		.cpu = s,
		.lock = l,
	};

	VM_BUG_ON(c->unseen);
	if (unlikely(c->clock >= c->limit && c->clock < c->turn)) {
		sim_look(c);
		spin_lock(l);
		return;
	}
	if (l->owner == c->id + 1u)
		panic("spin lock %s is taken twice by CPU %u", ledger_lock_name[l->class], c->id);
	if (!s->sim->running) {
		VM_BUG_ON_MSG(l->owner, "the boot task waits for spin lock %s",
		              ledger_lock_name[l->class]);
		__spin_taken(c, l);
		return;
	}
	sim_order_step(s, &me.step);
	if (likely(!sim_irq_due(s))) {
		sim_set_limit_of_first(s);
		if (me.stage == SPIN_ARRIVES) {
			__spin_taken(c, l);
			return;
		}
		VM_BUG_ON(me.stage == SPIN_QUEUED ? me.wait.at > c->clock : me.stage != SPIN_OWNS);
		s->parked = SIM_RUNS;
		s->wait = NULL;
		sim_spin_enter(c, &me);
		span_exit();
	} else {
		if (me.stage == SPIN_ARRIVES) {
			sim_order(c);
			spin_lock(l);
			return;
		}
		sim_spin_interrupted(s, &me);
	}
	s->spins_on = NULL;
	sim_lock_waited(c, l->class, me.since);
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
	s->nr_spinners += 1;
	list_add_tail(&me->spinners, &c->sim->spinners);
	while (sim_should_spin(s, me)) {
		sim_owner(s)->spun_on = true;
		me->spin = (struct sim_wait){.at = SIM_NEVER, .while_unwanted = true};
		sim_wait(c, &me->spin, SIM_PARKED_SPIN);
	}
	list_del(&me->spinners);
	s->nr_spinners -= !me->granted;
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
		if (spins && (sleeps || s->nr_spinners == s->nr_waiters))
			break;
	}
	if (spins) {
		list_del(&spins->list);
		s->nr_waiters -= 1;
		s->nr_spinners -= 1;
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
