/*
 * Threads that share an address space, under random operations.
 *
 * Aim: what one thread does to the memory that another is using is either before or after it: faults
 * meet munmap, mprotect, madvise, fork and reclaim in every phase, under mmap_sem or the VMA's own lock.
 * Method: 2 to 6 threads on 1 to 4 CPUs map, touch, advise, protect and unmap the same few mappings,
 * with too little memory; contents are tagged and checked, and the whole machine is audited at the end.
 */
#include "tests/test.h"

#include <errno.h>

#include "core/internal.h"
#include "sim/sim.h"
#include "tests/hw_util.h"

#define MAPS 6
#define MAP_PAGES 700

struct plan {
	struct machine *m;
	u64 seed;
	u32 nr_threads;
	u32 nr_ops;
	u64 va[MAPS]; /* the host runs one task at a time: no lock */
};

struct worker {
	struct plan *p;
	struct rand_stream r;
};

static int random_op(struct worker *w)
{
	static const int prot[] = {MM_PROT_READ, MM_PROT_READ | MM_PROT_WRITE, MM_PROT_NONE};
	static const enum mm_advice advice[] = {MM_MADV_DONTNEED, MM_MADV_FREE, MM_MADV_WILLNEED};
	struct machine *m = w->p->m;
	u64 *map = &w->p->va[rand_below(&w->r, MAPS)];
	u64 first = rand_below(&w->r, MAP_PAGES);
	u64 nr = 1 + rand_below(&w->r, MAP_PAGES - first);
	u64 va = *map + first * PAGE_SIZE;
	u64 op = rand_below(&w->r, 100);

	if (op < 60)
		return mm_access(m, va, nr * PAGE_SIZE, (enum world_access)rand_below(&w->r, 4),
		                 rand_u64(&w->r) | 1);
	if (op < 75)
		return do_madvise(m, va, nr * PAGE_SIZE, advice[rand_below(&w->r, 3)]);
	if (op < 88)
		return do_mprotect(m, va, nr * PAGE_SIZE, prot[op % 3 ? 1 : rand_below(&w->r, 3)]);
	if (op < 94)
		return do_munmap(m, va, nr * PAGE_SIZE);
	return do_mmap(m, MAP_PAGES * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, 0, map);
}

static void nothing(struct task *t, void *arg)
{
	(void)t, (void)arg;
}

static void fork_and_wait(struct worker *w)
{
	struct task *child = NULL;

	if (do_fork(w->p->m, "child", nothing, NULL, &child))
		return;
	task_start(child, -1);
	do_wait(child);
}

static void thread_main(struct task *t, void *arg)
{
	struct worker *w = arg;

	for (u32 i = 0; i < w->p->nr_ops && !task_killed(t); i++) {
		int rc = random_op(w);

		/* Holes, protections and no memory are what is being made here. */
		BUG_ON(rc && rc != -EFAULT && rc != -ENOMEM && rc != -EINTR);
		if (rand_below(&w->r, 40) == 0)
			fork_and_wait(w);
	}
}

static void leader_main(struct task *t, void *arg)
{
	struct plan *p = arg;
	struct worker worker[6];
	struct task *thread[6];

	for (u32 i = 0; i < MAPS; i++)
		BUG_ON(do_mmap(p->m, MAP_PAGES * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, 0,
		               &p->va[i]));
	for (u32 i = 0; i < p->nr_threads; i++) {
		worker[i].p = p;
		rand_init(&worker[i].r, p->seed, 2, i);
		world_syscall_enter();
		thread[i] = task_create(p->m, "thread", t, thread_main, &worker[i]);
		world_syscall_exit();
		if (thread[i])
			task_start(thread[i], -1);
	}
	for (u32 i = 0; i < p->nr_threads; i++)
		if (thread[i])
			do_wait(thread[i]);
}

static void random_knobs(struct knobs *k, struct rand_stream *r)
{
	char err[256];

	for (u32 i = 0; i < knob_count(); i++) {
		const struct knob_info *info = knob_at(i);

		if (info->nr_values && rand_below(r, 5) == 0)
			assert_int_equal(0, knob_set(k, info->name,
			                             info->value[rand_below(r, info->nr_values)],
			                             err, sizeof(err)));
	}
}

static void run_case(u64 seed)
{
	struct plan plan = {.seed = seed};
	struct rand_stream r;
	struct hw_machine *hw;
	struct knobs knobs;
	struct world *w;
	char err[512];
	u64 disk;

	rand_init(&r, seed, 1, 0);
	hw = hw_make(1 + (u32)rand_below(&r, 4), 1, 2600 + rand_below(&r, 3000));
	disk = rand_below(&r, 3);
	if (disk == 0)
		hw_add_flash(hw, 64 << 20);
	else if (disk == 1)
		hw_add_zram(hw, 64 << 20);
	assert_int_equal(0, knobs_preset(&knobs, rand_below(&r, 2) ? "4.0" : "6.18"));
	if (rand_below(&r, 2))
		random_knobs(&knobs, &r);
	w = sim_create(hw,
	               &(struct sim_options){.seed = seed, .check = true, .max_ns = 600000000000},
	               err);
	assert_non_null(w);
	plan.m = machine_create(w, &knobs, err, sizeof(err));
	if (!plan.m)
		fail_msg("case 0x%lx: %s", seed, err);
	if (hw->nr_disks)
		assert_int_equal(0, do_swapon(plan.m, 0, -1));
	plan.nr_threads = 2 + (u32)rand_below(&r, 5);
	plan.nr_ops = 20 + (u32)rand_below(&r, 60);
	task_start(task_create(plan.m, "leader", NULL, leader_main, &plan), -1);
	if (sim_run(w))
		fail_msg("case 0x%lx: the machine does not end", seed);
	machine_audit(plan.m);
	assert_true(list_empty(&plan.m->tasks));
	/* The OOM reaper may still be holding a victim's memory when the last task has ended. */
	if (!vm_event_sum(plan.m, OOM_KILL)) {
		assert_true(list_empty(&plan.m->mms));
		assert_int_equal(pool_live(&plan.m->slab[SLAB_VMA].pool), 0);
		assert_int_equal(pool_live(&plan.m->slab[SLAB_ANON_VMA].pool), 0);
		assert_int_equal(pool_live(&plan.m->slab[SLAB_AVC].pool), 0);
	}
	machine_destroy(plan.m);
	sim_destroy(w);
	hw_free(hw);
}

TEST(threads_may_do_anything_to_each_others_memory)
{
	const char *nr = getenv("QUIRE_CASES");
	u64 cases = nr ? strtoull(nr, NULL, 0) : 30;

	for (u64 i = 0; i < cases; i++) {
		u64 seed = rand_hash(test_seed(), 0, i, 0);

		if (getenv("QUIRE_CASE"))
			seed = strtoull(getenv("QUIRE_CASE"), NULL, 0);
		if (getenv("QUIRE_VERBOSE"))
			print_message("case %lu: QUIRE_CASE=0x%lx QUIRE_CASES=1\n", i, seed);
		run_case(seed);
	}
}

TEST_MAIN("threads")
