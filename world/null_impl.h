/*
 * What the files of the null world share.
 */
#ifndef WORLD_NULL_IMPL_H
#define WORLD_NULL_IMPL_H

#include <ucontext.h>

#include "world/impl.h"
#include "world/null.h"

struct null_cpu {
	struct world_cpu cpu; /* first */
	struct world_as *loaded;
	struct world_task boot;
};

struct null_world {
	struct world w; /* first */
	struct null_cpu *cpus;
	u16 *socket_of;
	u16 *core_of;
	struct list_head timers; /* by expiry, then by order of arming */
	struct list_head io;     /* deferred, in order of submission */
	struct list_head tasks;
	struct null_stats stats;
	u32 nr_fail_io;
	bool defer_io;
	bool congested[2];
};

static inline struct null_world *null_of(struct world *w)
{
	return (struct null_world *)w;
}

static inline struct null_world *null_self(void)
{
	return null_of(world_self->w);
}

/* null.c */
void null_irq_enter(struct world_cpu *c);
void null_irq_exit(struct world_cpu *c);
void null_order(struct world_cpu *c);
void null_timer_arm(struct world_timer *t, u64 expires);
void null_timer_cancel(struct world_timer *t);
void null_task_init(struct world *w, struct world_task *t, const char *name,
                    enum world_task_kind kind, enum world_stack stack, void (*fn)(void *arg),
                    void *arg);
void null_task_start(struct world_task *t, int cpu);
void null_task_free(struct world_task *t);
void null_free_tasks(struct null_world *nw);
void null_task_exit(void);
u64 null_schedule(u64 timeout);
void null_cond_resched(void);
bool null_wake(struct world_task *t);
void null_memstall(struct world_task *t);
void null_spin_lock(struct spinlock *l);
void null_spin_unlock(struct spinlock *l);
void null_down(struct rw_semaphore *s, bool write);
void null_up(struct rw_semaphore *s, bool write);
void null_ipi(const u64 *cpumask, void (*fn)(void *arg), void *arg);

/* null_hw.c */
void null_load_as(struct world_cpu *c, struct world_as *as);
void null_use_as(struct world_as *as);

#endif
