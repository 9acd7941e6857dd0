/*
 * The part of world.h that takes, waits for and gives back: spin locks, semaphores and mutexes, wait queues,
 * completions. Their structs and the world's calls for who must wait are in world.h, which includes this.
 */
#ifndef WORLD_LOCK_H
#define WORLD_LOCK_H

#include "world/world.h"

/* ---- spin locks ---------------------------------------------------------------------------- */

static inline void spin_lock_init(struct world *w, struct spinlock *l, enum ledger_lock class)
{
	*l = (struct spinlock){.class = class};
	world_line_init(w, &l->line);
}

/* How spin locks of a class have been taken. Both at once is a deadlock that waits to happen. */
enum world_lock_use {
	WORLD_LOCK_IN_IRQ = 1,
	WORLD_LOCK_IRQS_ON = 2,
};

static inline void __spin_check_use(struct world_cpu *c, const struct spinlock *l)
{
	u8 *use = &c->w->lock_use[l->class];

	if (DEBUG_VM < 1)
		return;
	*use |= c->in_irq ? WORLD_LOCK_IN_IRQ : c->irq_off ? 0 : WORLD_LOCK_IRQS_ON;
	VM_BUG_ON_MSG(*use == (WORLD_LOCK_IN_IRQ | WORLD_LOCK_IRQS_ON),
	              "locks of class %s are taken by interrupts and with interrupts on",
	              ledger_lock_name[l->class]);
}

static inline void __spin_taken_unchecked(struct world_cpu *c, struct spinlock *l)
{
	c->nr_spin += 1;
	l->owner = c->mark;
	__charge2(c, __world_line_write(c, &l->line), COST_SPIN);
	l->taken_at = c->clock;
}

static inline void __spin_taken(struct world_cpu *c, struct spinlock *l)
{
	__spin_check_use(c, l);
	__spin_taken_unchecked(c, l);
}

/*
 * Takes @l, waiting for it. Assumes this CPU does not hold it (checked). Order point: the world makes it
 * part of the waiting.
 */
static __always_inline void spin_lock(struct spinlock *l)
{
	struct world_cpu *c = world_self;

	if (likely(c->clock < c->limit && !l->owner && l->free_at <= c->clock))
		__spin_taken(c, l);
	else
		c->w->ops->spin_lock(l);
}

/* Takes @l if nobody holds it now, in virtual time. Order point. */
static inline bool __must_check spin_trylock(struct spinlock *l)
{
	struct world_cpu *c = world_self;

	world_order();
	if (l->owner || l->free_at > c->clock) {
		world_line_read(&l->line);
		return false;
	}
	__spin_taken(c, l);
	return true;
}

/*
 * The same for an interrupt, of a lock that tasks hold with interrupts on: only waiting for it could be
 * for ever, and what the interrupted task holds is found taken.
 */
static inline bool __must_check spin_trylock_in_irq(struct spinlock *l)
{
	struct world_cpu *c = world_self;

	world_order();
	if (l->owner || l->nr_waiters || l->free_at > c->clock) {
		world_line_read(&l->line);
		return false;
	}
	__spin_taken_unchecked(c, l);
	return true;
}

/* Releases @l as of now. Waiters get it in order of arrival. */
static inline void spin_unlock(struct spinlock *l)
{
	struct world_cpu *c = world_self;
	struct ledger_lock_stat *st = &c->ledger->lock[l->class];
	u64 held;

	VM_BUG_ON(l->owner != c->mark);
	c->nr_spin -= 1;
	__charge(c, COST_SPIN);
	held = c->clock - l->taken_at;
	st->acquisitions += 1;
	st->hold_ns += held;
	if (held > st->hold_ns_max)
		st->hold_ns_max = held;
	if (unlikely(l->nr_waiters)) {
		c->w->ops->spin_unlock(l);
		return;
	}
	l->owner = 0;
	l->free_at = c->clock;
}

/*
 * May the running CPU take @l at once, and does it have its line? Then, without an order point in between,
 * nobody can see that it is taken: __spin_held() says afterwards that it has been, since @taken_at, and the
 * caller's path has paid for it.
 */
static __always_inline bool __spin_is_at_hand(const struct world_cpu *c, const struct spinlock *l)
{
	return !l->owner && l->free_at <= c->clock && l->line.holder == c->mark;
}

/* @l has been taken @nr times, for @held ns each, the last time until @end: see __spin_is_at_hand(). */
static __always_inline void __spins_held(struct world_cpu *c, struct spinlock *l, u64 end, u64 held,
                                         u32 nr)
{
	struct ledger_lock_stat *st = &c->ledger->lock[l->class];

	__spin_check_use(c, l);
	st->acquisitions += nr;
	st->hold_ns += held * nr;
	if (held > st->hold_ns_max)
		st->hold_ns_max = held;
	l->free_at = end;
}

static __always_inline void __spin_held(struct world_cpu *c, struct spinlock *l, u64 taken_at)
{
	__spins_held(c, l, c->clock, c->clock - taken_at, 1);
}

static inline bool spin_is_locked(const struct spinlock *l)
{
	return l->owner || l->free_at > world_self->clock;
}

static inline void spin_lock_irq(struct spinlock *l)
{
	world_irq_save();
	spin_lock(l);
}

static inline void spin_unlock_irq(struct spinlock *l)
{
	spin_unlock(l);
	world_irq_restore();
}

static __always_inline void world_unseen(struct world_cpu *c, const struct spinlock *l)
{
	if (DEBUG_VM)
		c->unseen = l;
}

/*
 * spin_lock_irq() and spin_unlock_irq() around a section that has no order point in it, which is checked: if the
 * lock is at hand, nobody can see that it is taken, and only its books are kept. spin_held() is false then.
 */
static __always_inline void spin_lock_unseen(struct spinlock *l)
{
	struct world_cpu *c = world_self;

	world_irq_save();
	if (unlikely(c->clock >= c->limit || !__spin_is_at_hand(c, l))) {
		spin_lock(l);
		return;
	}
	__charge2(c, COST_LINE_OWN, COST_SPIN);
	l->taken_at = c->clock;
	world_unseen(c, l);
}

static __always_inline void spin_unlock_unseen(struct spinlock *l)
{
	struct world_cpu *c = world_self;

	if (unlikely(l->owner)) {
		spin_unlock(l);
	} else {
		world_unseen(c, NULL);
		__charge(c, COST_SPIN);
		__spin_held(c, l, l->taken_at);
	}
	world_irq_restore();
}

static inline bool spin_held(const struct spinlock *l)
{
	return l->owner == world_self->mark;
}

/* ---- sleeping locks -------------------------------------------------------------------------- */

static inline void init_rwsem(struct world *w, struct rw_semaphore *s, enum ledger_lock class)
{
	*s = (struct rw_semaphore){.class = class};
	world_line_init(w, &s->line);
	INIT_LIST_HEAD(&s->waiters);
}

static inline bool rwsem_is_free(const struct rw_semaphore *s, const struct world_cpu *c,
                                 bool write)
{
	if (s->writer || s->nr_waiters || s->free_at > c->clock)
		return false;
	return !write || (!s->nr_readers && s->read_free_at <= c->clock);
}

static __always_inline void __rwsem_taken(struct world_cpu *c, struct rw_semaphore *s, bool write)
{
	if (write)
		s->writer = c->task;
	else
		s->nr_readers += 1;
	__charge2(c, __world_line_write(c, &s->line), COST_RWSEM);
	if (write || s->nr_readers == 1)
		s->taken_at = c->clock;
	c->ledger->lock[s->class].acquisitions += 1;
}

/* May switch tasks. */
static inline void down_read(struct rw_semaphore *s)
{
	struct world_cpu *c = world_self;

	world_order();
	if (likely(rwsem_is_free(s, c, false)))
		__rwsem_taken(c, s, false);
	else
		c->w->ops->down(s, false);
}

/* May switch tasks. */
static inline void down_write(struct rw_semaphore *s)
{
	struct world_cpu *c = world_self;

	world_order();
	if (likely(rwsem_is_free(s, c, true)))
		__rwsem_taken(c, s, true);
	else
		c->w->ops->down(s, true);
}

static inline bool __must_check down_read_trylock(struct rw_semaphore *s)
{
	struct world_cpu *c = world_self;

	world_order();
	if (!rwsem_is_free(s, c, false))
		return false;
	__rwsem_taken(c, s, false);
	return true;
}

static inline bool __must_check down_write_trylock(struct rw_semaphore *s)
{
	struct world_cpu *c = world_self;

	world_order();
	if (!rwsem_is_free(s, c, true))
		return false;
	__rwsem_taken(c, s, true);
	return true;
}

static inline void __rwsem_held(struct world_cpu *c, struct rw_semaphore *s)
{
	struct ledger_lock_stat *st = &c->ledger->lock[s->class];
	u64 held = c->clock - s->taken_at;

	st->hold_ns += held;
	if (held > st->hold_ns_max)
		st->hold_ns_max = held;
}

static __always_inline void __reader_leaves(struct world_cpu *c, struct rw_semaphore *s)
{
	/* The last reader to come here is not always the last in time. */
	if (s->read_free_at < c->clock)
		s->read_free_at = c->clock;
	if (--s->nr_readers == 0)
		__rwsem_held(c, s);
	if (unlikely(s->nr_waiters))
		c->w->ops->up(s, false);
}

static __always_inline void up_read(struct rw_semaphore *s)
{
	struct world_cpu *c = world_self;

	VM_BUG_ON(s->nr_readers <= 0);
	__charge2(c, __world_line_write(c, &s->line), COST_RWSEM);
	__reader_leaves(c, s);
}

/* The same for readers of a semaphore, whom others can see: is it free, and its line here? */
static __always_inline bool __rwsem_is_at_hand(const struct world_cpu *c,
                                               const struct rw_semaphore *s)
{
	return rwsem_is_free(s, c, false) && s->line.holder == c->mark;
}

/* Taken for read as of @now, and given back; the line has been paid for. */
static __always_inline void __down_read_paid(struct world_cpu *c, struct rw_semaphore *s, u64 now)
{
	s->nr_readers += 1;
	if (s->nr_readers == 1)
		s->taken_at = now;
	c->ledger->lock[s->class].acquisitions += 1;
}

static __always_inline void __up_read_paid(struct world_cpu *c, struct rw_semaphore *s)
{
	__reader_leaves(c, s);
}

/* The same, @nr times, for @held ns each, and the last time until now; nobody else reads. */
static __always_inline void __reads_held(struct world_cpu *c, struct rw_semaphore *s, u64 held,
                                         u32 nr)
{
	struct ledger_lock_stat *st = &c->ledger->lock[s->class];

	s->taken_at = c->clock - held;
	st->acquisitions += nr;
	st->hold_ns += held * nr;
	if (held > st->hold_ns_max)
		st->hold_ns_max = held;
	if (s->read_free_at < c->clock)
		s->read_free_at = c->clock;
}

static inline void up_write(struct rw_semaphore *s)
{
	struct world_cpu *c = world_self;

	VM_BUG_ON(s->writer != c->task);
	__charge(c, COST_RWSEM);
	__rwsem_held(c, s);
	s->writer = NULL;
	s->free_at = c->clock;
	if (unlikely(s->nr_waiters))
		c->w->ops->up(s, true);
}

static inline void mutex_init(struct world *w, struct mutex *m, enum ledger_lock class)
{
	init_rwsem(w, &m->sem, class);
	m->sem.is_mutex = true;
}

static inline void mutex_lock(struct mutex *m)
{
	down_write(&m->sem);
}

static inline bool __must_check mutex_trylock(struct mutex *m)
{
	return down_write_trylock(&m->sem);
}

static inline void mutex_unlock(struct mutex *m)
{
	up_write(&m->sem);
}

/* ---- sleeping and waking --------------------------------------------------------------------- */

#define WORLD_FOREVER (~0UL)

static inline void init_waitqueue_head(struct wait_queue_head *q)
{
	INIT_LIST_HEAD(&q->list);
}

/*
 * To wait for a condition: prepare_to_wait(), look, schedule_timeout(), finish_wait(). Whoever makes
 * the condition true calls wake_up() afterwards; a wake-up between prepare and schedule is not lost.
 * @state: WORLD_TASK_INTERRUPTIBLE or _UNINTERRUPTIBLE.
 */
static inline void prepare_to_wait(struct wait_queue_head *q, struct wait_queue_entry *e, u64 key,
                                   bool exclusive, enum world_task_state state)
{
	world_order();
	e->task = world_self->task;
	e->key = key;
	e->exclusive = exclusive;
	e->woken = false;
	list_add_tail(&e->list, &q->list);
	e->task->state = state;
	e->task->waits_for = q;
}

/*
 * Sleeps until woken, or for @timeout_ns (WORLD_FOREVER: without end), which is not rounded.
 * Returns what is left of it, 0 if it ran out. Returns at once if the task's state is
 * WORLD_TASK_RUNNING (it has been woken already) or, when interruptible, a signal is pending.
 * May switch tasks; without prepare_to_wait() the caller sets the state first.
 */
static inline u64 schedule_timeout(u64 timeout_ns)
{
	return world_self->w->ops->schedule(timeout_ns);
}

static inline void finish_wait(struct wait_queue_entry *e)
{
	e->task->state = WORLD_TASK_RUNNING;
	e->task->waits_for = NULL;
	if (!e->woken)
		list_del(&e->list);
}

/* Sleeps for @ns, uninterruptible. May switch tasks. */
static inline void world_sleep(u64 ns)
{
	world_order();
	world_self->task->state = WORLD_TASK_UNINTERRUPTIBLE;
	schedule_timeout(ns);
}

/* ns until the tick that is @ticks ticks from now ends: what schedule_timeout(ticks) sleeps in Linux. */
static inline u64 world_ticks_to_ns(u64 ticks)
{
	u64 tick = world_self->w->ns_per_tick;

	return (world_now() / tick + ticks + 1) * tick - world_now();
}

/* Makes @t runnable; false if it was. Never switches tasks; usable from interrupts. */
static inline bool world_wake(struct world_task *t)
{
	world_order();
	return world_self->w->ops->wake(t);
}

/* Marks a fatal signal pending for @t, and wakes it if it sleeps interruptibly. */
static inline void world_wake_signal(struct world_task *t)
{
	world_order();
	t->signal = true;
	if (t->state == WORLD_TASK_INTERRUPTIBLE)
		world_self->w->ops->wake(t);
}

/*
 * Wakes the waiters of @q whose key is @key (0: any), all that are not exclusive and at most
 * @nr_exclusive that are. Returns how many. Never switches tasks.
 */
static inline u32 wake_up_key(struct wait_queue_head *q, u64 key, u32 nr_exclusive)
{
	struct wait_queue_entry *e, *n;
	u32 nr = 0;

	world_order();
	list_for_each_entry_safe (e, n, &q->list, list) {
		if (key && e->key && e->key != key)
			continue;
		if (e->exclusive && !nr_exclusive)
			break;
		nr_exclusive -= e->exclusive;
		e->woken = true;
		list_del(&e->list);
		world_self->w->ops->wake(e->task);
		nr++;
	}
	return nr;
}

static inline void wake_up(struct wait_queue_head *q)
{
	wake_up_key(q, 0, 1);
}

static inline void wake_up_all(struct wait_queue_head *q)
{
	wake_up_key(q, 0, ~0u);
}

static inline bool waitqueue_active(const struct wait_queue_head *q)
{
	world_order();
	return !list_empty(&q->list);
}

#define wait_event_key(q, k, condition)                                                            \
	do {                                                                                       \
		struct wait_queue_entry __e;                                                       \
		for (;;) {                                                                         \
			prepare_to_wait((q), &__e, (k), false, WORLD_TASK_UNINTERRUPTIBLE);        \
			if (condition)                                                             \
				break;                                                             \
			schedule_timeout(WORLD_FOREVER);                                           \
			finish_wait(&__e);                                                         \
		}                                                                                  \
		finish_wait(&__e);                                                                 \
	} while (0)

#define wait_event(q, condition) wait_event_key(q, 0, condition)

/*
 * What the running task does from here on, also while it sleeps, is for want of memory: it reclaims,
 * waits for somebody who does, or reads back what was taken from it. The world keeps the shares of
 * time in which some, or all, tasks were so (Linux's PSI). Nests.
 */
static inline void psi_memstall_enter(void)
{
	struct world_task *t = world_self->task;

	if (t->memstall++ == 0)
		world_self->w->ops->memstall(t);
}

static inline void psi_memstall_leave(void)
{
	struct world_task *t = world_self->task;

	VM_BUG_ON(!t->memstall);
	if (--t->memstall == 0)
		world_self->w->ops->memstall(t);
}

#endif
