/*
 * One simulated machine at a time, and tasks on it, for tests of whole machines.
 *
 *	stage_begin("6.18", 2, 1, 4096);       CPUs, nodes, pages; then disks, knobs, options
 *	hw_add_flash(stage.hw, 64 << 20);
 *	stage_build();                         contents are checked, the first disk is swapped to
 *	stage_task("task", fn, NULL);
 *	stage_run();                           to the tasks' ends; audited
 *	stage_strike();
 *
 * What a task finds out it leaves in stage.result, which stage_play() wants to be 0, or in the test's own
 * variables; a BUG_ON() says at once where.
 */
#ifndef TESTS_MACHINE_STAGE_H
#define TESTS_MACHINE_STAGE_H

#include "tests/test.h"

#include <errno.h>

#include "core/fs.h"
#include "sim/sim.h"
#include "tests/hw_util.h"

#define PAGES(n) ((u64)(n)*PAGE_SIZE)
#define MB(n) ((u64)(n) << 20)
#define MS(n) ((u64)(n)*1000000)
#define S(n) ((u64)(n)*1000000000)
#define RW (MM_PROT_READ | MM_PROT_WRITE)

#define STAGE_TASKS 3

typedef void (*stage_fn)(struct task *t, void *arg);

static struct stage {
	struct hw_machine *hw;
	struct world *w;
	struct machine *m;
	struct knobs knobs;     /* of the machine that stage_build() makes */
	struct sim_options opt; /* the same */
	u32 nr_tasks;
	struct task *task[STAGE_TASKS]; /* until stage_run() */
	bool killed[STAGE_TASKS];       /* from then on */
	int result;                     /* what the tasks' calls returned, all or'ed */
	u32 file;                       /* stage_file() */
} stage;

__attribute__((unused)) static void stage_begin(const char *preset, u32 nr_cpus, u32 nr_nodes,
                                                u64 pages)
{
	memset(&stage, 0, sizeof(stage));
	stage.hw = hw_make(nr_cpus, nr_nodes, pages);
	stage.opt = (struct sim_options){.seed = 1, .check = true};
	BUG_ON(knobs_preset(&stage.knobs, preset));
	stage.knobs.min_free_kbytes = 1024;
}

__attribute__((unused)) static void stage_build(void)
{
	char err[SIM_ERROR_MAX];

	stage.w = sim_create(stage.hw, &stage.opt, err);
	assert_non_null(stage.w);
	stage.m = machine_create(stage.w, &stage.knobs, err, sizeof(err));
	assert_non_null(stage.m);
	if (stage.hw->nr_disks && !stage.hw->disk[0].files)
		assert_int_equal(do_swapon(stage.m, 0, -1), 0);
}

/* Makes the file "data", whose number is stage.file then. */
__attribute__((unused)) static void stage_file(u64 pages, bool sparse)
{
	assert_int_equal(machine_file_create(stage.m, "data", PAGES(pages), sparse, &stage.file),
	                 0);
}

/* Started where the scheduler likes. */
__attribute__((unused)) static struct task *stage_task(const char *name, stage_fn fn, void *arg)
{
	struct task *t = task_create(stage.m, name, NULL, fn, arg);

	assert_non_null(t);
	assert_true(stage.nr_tasks < STAGE_TASKS);
	stage.task[stage.nr_tasks++] = t;
	task_start(t, -1);
	return t;
}

__attribute__((unused)) static void stage_run(void)
{
	assert_int_equal(sim_run(stage.w), 0);
	for (u32 i = 0; i < stage.nr_tasks; i++) {
		stage.killed[i] = task_killed(stage.task[i]);
		task_put(stage.task[i]);
	}
	stage.nr_tasks = 0;
	machine_audit(stage.m);
}

/* One task, whose calls all succeed. */
__attribute__((unused)) static void stage_play(stage_fn fn)
{
	stage_task("task", fn, NULL);
	stage_run();
	assert_int_equal(stage.result, 0);
}

__attribute__((unused)) static void stage_strike(void)
{
	machine_destroy(stage.m);
	sim_destroy(stage.w);
	hw_free(stage.hw);
}

__attribute__((unused)) static u64 stage_item(enum vm_item i)
{
	return (u64)item_exact(stage.m, i);
}

__attribute__((unused)) static u64 stage_event(enum vm_event e)
{
	return vm_event_sum(stage.m, e);
}

#endif
