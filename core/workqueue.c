/*
 * Per-CPU work items (Linux kernel/workqueue.c since 2.6.36, kernel/sched/completion.c).
 *
 * Each CPU has a pool: a list of items, and a worker that is bound to the CPU and runs them in order.
 * Who queues an item on another CPU takes the lock of that CPU's pool and wakes its worker, which then
 * waits for its CPU as any task does: a call such as lru_add_drain_all() is as slow as the busiest CPU.
 * Who flushes an item puts another one behind it, a barrier, and sleeps until the worker gets there.
 *
 * Nothing here says how long that takes. It follows from locks, lines that go from CPU to CPU, wake-ups,
 * IPIs, idle states and switches.
 *
 * Left out: several workers per pool (nothing that is queued here sleeps for long), unbound pools,
 * cancelling, delayed work. A worker appears with the first item for its CPU.
 */
#include "core/workqueue.h"

#include <stdio.h>

#include "core/internal.h"

struct worker_pool {
	struct machine *machine;          /* (c) */
	struct spinlock lock;             /* irq-safe */
	struct list_head worklist;        /* (p) of work_struct */
	struct work_struct *current_work; /* (p) being done */
	bool idle;                        /* (p) the worker sleeps, or is about to */
	u16 cpu;                          /* (c) */
	struct task worker;
};

/* ---- completions ----------------------------------------------------------------------------- */

void init_completion(struct machine *m, struct completion *x)
{
	spin_lock_init(m->world, &x->lock, LOCK_COMPLETION);
	x->done = false;
	init_waitqueue_head(&x->wait);
}

/*
 * The waiter may free @x as soon as it has seen done under the lock. Nothing between waking it and the
 * release of the lock is an order point, so it cannot get there before.
 */
void complete(struct completion *x)
{
	struct wait_queue_entry *e;

	spin_lock_irq(&x->lock);
	x->done = true;
	e = list_first_entry_or_null(&x->wait.list, struct wait_queue_entry, list);
	if (e) {
		e->woken = true;
		list_del(&e->list);
		world_self->w->ops->wake(e->task);
	}
	spin_unlock(&x->lock);
	world_irq_restore();
}

void wait_for_completion(struct completion *x)
{
	struct wait_queue_entry e;

	spin_lock_irq(&x->lock);
	while (!x->done) {
		prepare_to_wait(&x->wait, &e, 0, true, WORLD_TASK_UNINTERRUPTIBLE);
		spin_unlock_irq(&x->lock);
		schedule_timeout(WORLD_FOREVER);
		finish_wait(&e);
		spin_lock_irq(&x->lock);
	}
	spin_unlock_irq(&x->lock);
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Runs the first item. Lock held, and dropped meanwhile. */
static void process_one_work(struct worker_pool *pool, struct work_struct *work)
{
	work_func_t *func = work->func;

	/* The item was written where it was queued. */
	charge2(COST_WORK, world_distance(world_self, work->from));
	list_del(&work->entry);
	work->pending = false;
	pool->current_work = work;
	spin_unlock_irq(&pool->lock);
	func(pool->machine, work); /* @work may be gone after this */
	world_cond_resched();
	spin_lock_irq(&pool->lock);
	pool->current_work = NULL;
}

static void worker_thread(void *arg)
{
	struct worker_pool *pool = arg;

	for (;;) {
		struct work_struct *work;

		spin_lock_irq(&pool->lock);
		pool->idle = false;
		while ((work = list_first_entry_or_null(&pool->worklist, struct work_struct,
		                                        entry)))
			process_one_work(pool, work);
		pool->idle = true;
		world_self->task->state = WORLD_TASK_UNINTERRUPTIBLE;
		spin_unlock_irq(&pool->lock);
		schedule_timeout(WORLD_FOREVER);
	}
}

static void create_worker(struct worker_pool *pool)
{
	struct machine *m = pool->machine;
	char name[24];

	snprintf(name, sizeof(name), "kworker/%u:0", pool->cpu);
	kthread_run(m, &pool->worker, name, WORLD_TASK_KTHREAD, worker_thread, pool,
	            (int)pool->cpu);
}

static struct worker_pool *cpu_pool(struct machine *m, u32 cpu)
{
	struct worker_pool *pool = m->worker_pool[cpu];

	if (likely(pool))
		return pool;
	pool = arena_new(&m->arena, struct worker_pool);
	pool->machine = m;
	pool->cpu = (u16)cpu;
	spin_lock_init(m->world, &pool->lock, LOCK_WORKQUEUE);
	INIT_LIST_HEAD(&pool->worklist);
	m->worker_pool[cpu] = pool;
	create_worker(pool);
	return pool;
}

/* ---- items ----------------------------------------------------------------------------------- */

void init_work(struct work_struct *work, work_func_t *func)
{
	*work = (struct work_struct){.func = func};
}

/* Linux wakes a worker only if none is running: one that is will find the item. */
static void wake_up_worker(struct worker_pool *pool)
{
	if (!pool->idle)
		return;
	pool->idle = false;
	world_self->w->ops->wake(&pool->worker.w);
}

bool queue_work_on(struct machine *m, u32 cpu, struct work_struct *work)
{
	struct worker_pool *pool = cpu_pool(m, cpu);
	bool queued = false;

	/* Items are per CPU, or were last used by that CPU. */
	charge2(COST_WORK, world_distance(world_self, cpu));
	spin_lock_irq(&pool->lock);
	if (!work->pending) {
		work->pending = true;
		work->cpu = (u16)cpu;
		work->from = world_self->id;
		list_add_tail(&work->entry, &pool->worklist);
		wake_up_worker(pool);
		queued = true;
	}
	spin_unlock_irq(&pool->lock);
	return queued;
}

struct wq_barrier {
	struct work_struct work;
	struct completion done;
};

static void wq_barrier_func(struct machine *m, struct work_struct *work)
{
	(void)m;
	complete(&container_of(work, struct wq_barrier, work)->done);
}

/* Puts the barrier where the worker gets as soon as @work is done. Lock held. */
static void insert_wq_barrier(struct worker_pool *pool, struct wq_barrier *barr,
                              struct work_struct *work)
{
	charge(COST_WORK);
	barr->work.pending = true;
	barr->work.cpu = pool->cpu;
	barr->work.from = world_self->id;
	if (pool->current_work == work)
		list_add(&barr->work.entry, &pool->worklist);
	else
		list_add(&barr->work.entry, &work->entry);
}

bool flush_work(struct machine *m, struct work_struct *work)
{
	struct worker_pool *pool = m->worker_pool[work->cpu];
	struct wq_barrier barr;
	bool wait;

	if (!pool)
		return false;
	span_enter(SPAN_FLUSH_WORK);
	charge(COST_WORK);
	spin_lock_irq(&pool->lock);
	wait = work->pending || pool->current_work == work;
	if (wait) {
		init_work(&barr.work, wq_barrier_func);
		init_completion(m, &barr.done);
		insert_wq_barrier(pool, &barr, work);
	}
	spin_unlock_irq(&pool->lock);
	if (wait)
		wait_for_completion(&barr.done);
	span_exit();
	return wait;
}

/* ---- boot ------------------------------------------------------------------------------------ */

bool workqueue_is_idle(const struct machine *m)
{
	for (u32 cpu = 0; cpu < m->nr_cpus; cpu++)
		if (m->worker_pool[cpu] && !m->worker_pool[cpu]->idle)
			return false;
	return true;
}

int workqueue_init(struct machine *m)
{
	m->worker_pool = arena_array(&m->arena, struct worker_pool *, m->nr_cpus);
	mutex_init(m->world, &m->drain_lock, LOCK_LRU_DRAIN);
	/* One set of items for each task that is in lru_add_drain_all() at the same time. */
	return pool_init(&m->drain_pool, m->nr_cpus * (u32)sizeof(struct work_struct), 1u << 18,
	                 "works");
}

void workqueue_destroy(struct machine *m)
{
	pool_destroy(&m->drain_pool);
}
