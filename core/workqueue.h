/*
 * Work that another CPU is to do, and waiting for it: Linux's per-CPU work items and completions.
 *
 * Letters: (p) the lock of the CPU's pool   (x) completion's lock   (c) constant while it is queued
 */
#ifndef CORE_WORKQUEUE_H
#define CORE_WORKQUEUE_H

#include "lib/list.h"
#include "lib/types.h"
#include "world/world.h"

struct machine;
struct work_struct;

typedef void work_func_t(struct machine *m, struct work_struct *work);

/* Embedded by its owner, who keeps it until it has been flushed. Zeroed: not queued. */
struct work_struct {
	struct list_head entry; /* (p) */
	work_func_t *func;      /* (c) */
	u16 cpu;                /* (c) whose worker runs it */
	u16 from;               /* (c) the CPU that queued it */
	bool pending;           /* (p) queued, and not begun */
};

/* An event that happens once, and a task that waits for it. */
struct completion {
	struct spinlock lock; /* irq-safe */
	bool done;            /* (x) */
	struct wait_queue_head wait;
};

void init_completion(struct machine *m, struct completion *x);
void wait_for_completion(struct completion *x); /* may switch tasks */
void complete(struct completion *x);

void init_work(struct work_struct *work, work_func_t *func);

/* @work is to be done by @cpu's worker. False: it is queued there already. Never switches tasks. */
bool queue_work_on(struct machine *m, u32 cpu, struct work_struct *work);

/* Waits until @work is done, if it was queued. False: it was not, or had ended. May switch tasks. */
bool flush_work(struct machine *m, struct work_struct *work);

/* Every worker sleeps. For who wants to see the machine at rest; between tasks. */
bool workqueue_is_idle(const struct machine *m);

int workqueue_init(struct machine *m); /* boot; 0 or -ENOMEM */
void workqueue_destroy(struct machine *m);

#endif
