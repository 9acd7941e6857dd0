/*
 * A simulated machine for the engine's tests: tasks are C functions with a number.
 */
#ifndef TESTS_SIM_MACHINE_H
#define TESTS_SIM_MACHINE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "tests/test.h"
#include "world/null.h"

#define TEST_TASKS_MAX 256

struct test_machine;

struct test_task {
	struct world_task task;
	struct test_machine *m;
	u32 i;
	void (*fn)(struct test_machine *m, u32 i);
	u64 ended_at;
};

struct test_machine {
	struct hw_machine *hw;
	struct sim_options opt;
	struct world *w;
	struct test_task task[TEST_TASKS_MAX];
	u32 nr_tasks;
	void *data;
};

/* Nothing is built yet: the caller may change m->hw and m->opt. */
__attribute__((unused)) static void test_machine_init(struct test_machine *m, u32 nr_cpus,
                                                      u32 nr_nodes)
{
	memset(m, 0, sizeof(*m));
	m->hw = null_hw(nr_cpus, nr_nodes, 4096);
	m->opt.seed = test_seed();
	m->opt.max_ns = 100UL * 1000 * 1000 * 1000;
}

__attribute__((unused)) static void test_machine_build(struct test_machine *m)
{
	char err[SIM_ERROR_MAX];

	m->w = sim_create(m->hw, &m->opt, err);
	if (!m->w)
		fail_msg("%s", err);
}

static void test_task_main(void *arg)
{
	struct test_task *t = arg;

	if (t->task.kind == WORLD_TASK_USER)
		world_syscall_enter();
	t->fn(t->m, t->i);
	t->ended_at = world_now();
	if (t->task.kind == WORLD_TASK_USER)
		world_syscall_exit();
}

/* A task that runs @fn(m, its number) in the kernel, on @cpu or anywhere. */
__attribute__((unused)) static struct test_task *
test_task_start(struct test_machine *m, enum world_task_kind kind, int cpu,
                void (*fn)(struct test_machine *m, u32 i))
{
	struct test_task *t = &m->task[m->nr_tasks];
	char name[24];

	assert_true(m->nr_tasks < TEST_TASKS_MAX);
	t->m = m;
	t->i = m->nr_tasks++;
	t->fn = fn;
	snprintf(name, sizeof(name), "task/%u", t->i);
	world_task_init(m->w, &t->task, name, kind, WORLD_STACK_KERNEL, test_task_main, t);
	world_task_start(m->w, &t->task, cpu);
	return t;
}

/* All books agree: per CPU, over tasks, over spans. */
__attribute__((unused)) static void test_machine_check_books(struct test_machine *m)
{
	struct world *w = m->w;
	u64 busy = 0;
	u64 idle = 0;
	u64 tasks = 0;
	u64 spans = 0;
	u64 irqs_in_idle = 0;
	u64 idle_spans = 0;

	for (u32 i = 0; i < w->hw->nr_cpus; i++) {
		struct sim_cpu_times t = sim_cpu_times(w, i);

		assert_int_equal(t.busy_ns + t.idle_ns, sim_elapsed(w));
		busy += t.busy_ns;
		idle += t.idle_ns;
	}
	for (u32 i = 0; i < m->nr_tasks; i++)
		tasks += m->task[i].task.utime_ns + m->task[i].task.stime_ns;
	for (u32 i = 1; i < w->ledger.nr_nodes; i++) {
		spans += w->ledger.node[i].ns;
		if (w->ledger.node[i].span == SPAN_IDLE && !w->ledger.node[i].parent)
			idle_spans += w->ledger.node[i].ns;
	}
	assert_int_equal(spans, busy + idle);
	assert_int_equal(tasks, busy);
	/* Interrupts of idle CPUs are in the idle task's time, but not in the span. */
	irqs_in_idle = idle - idle_spans;
	assert_true(irqs_in_idle < idle || !idle);
}

__attribute__((unused)) static void test_machine_destroy(struct test_machine *m)
{
	for (u32 i = 0; i < m->nr_tasks; i++)
		if (m->task[i].task.engine)
			world_task_free(m->w, &m->task[i].task);
	sim_destroy(m->w);
	null_hw_free(m->hw);
}

#endif
