/*
 * How tasks of the scenario spend time, and wait for each other. See sim_target.c.
 */
#include "cli/sim_internal.h"

int op_sleep(struct target_task *t, u64 ns)
{
	(void)t;
	return sim_sleep_until(world_now() + ns);
}

int op_compute(struct target_task *t, u64 ns)
{
	(void)t;
	world_user_compute(ns);
	return killed();
}

/* Sleeps on @q until *@flag differs from @old, or the task is killed. In the kernel. */
static void wait_change(struct wait_queue_head *q, const u32 *flag, u32 old)
{
	struct wait_queue_entry e;

	for (;;) {
		prepare_to_wait(q, &e, 0, false, WORLD_TASK_INTERRUPTIBLE);
		if (READ_ONCE(*flag) != old || current_task()->killed)
			break;
		schedule_timeout(WORLD_FOREVER);
		finish_wait(&e);
	}
	finish_wait(&e);
}

int op_barrier(struct target_task *t, u32 barrier)
{
	struct sim_barrier *b = &sim_of(t)->barrier[barrier];
	u32 generation;

	world_syscall_enter();
	world_order();
	generation = b->generation;
	if (++b->arrived == b->size) {
		b->arrived = 0;
		b->generation += 1;
		wake_up_all(&b->queue);
	} else {
		wait_change(&b->queue, &b->generation, generation);
	}
	world_syscall_exit();
	return killed();
}

int op_event_set(struct target_task *t, u32 event)
{
	struct sim_event *e = &sim_of(t)->event[event];

	world_syscall_enter();
	WRITE_ONCE(e->set, true);
	wake_up_all(&e->queue);
	world_syscall_exit();
	return killed();
}

int op_event_wait(struct target_task *t, u32 event)
{
	struct sim_event *e = &sim_of(t)->event[event];
	struct wait_queue_entry w;

	world_syscall_enter();
	for (;;) {
		prepare_to_wait(&e->queue, &w, 0, false, WORLD_TASK_INTERRUPTIBLE);
		if (READ_ONCE(e->set) || current_task()->killed)
			break;
		schedule_timeout(WORLD_FOREVER);
		finish_wait(&w);
	}
	finish_wait(&w);
	world_syscall_exit();
	return killed();
}

int op_counter_add(struct target_task *t, u32 counter, s64 delta, s64 *value)
{
	s64 *c = &sim_of(t)->counter[counter];

	world_order(); /* an atomic of user code */
	charge(COST_ATOMIC);
	*value = *c = (s64)((u64)*c + (u64)delta); /* as Lua's own numbers wrap */
	return killed();
}

u64 op_now(struct target_task *t)
{
	(void)t;
	return world_now();
}
