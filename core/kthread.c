/*
 * Kernel tasks: what kswapd, kcompactd, the workers and the OOM reaper have in common (Linux
 * kernel/kthread.c). They have no address space, borrow the last one's, and never end.
 */
#include "core/internal.h"

void kthread_run(struct machine *m, struct task *t, const char *name, enum world_task_kind kind,
                 void (*fn)(void *arg), void *arg, int cpu)
{
	t->machine = m;
	INIT_LIST_HEAD(&t->tasks);
	init_waitqueue_head(&t->exit_wait);
	world_task_init(m->world, &t->w, name, kind, WORLD_STACK_KERNEL, fn, arg);
	world_task_start(m->world, &t->w, cpu);
}
