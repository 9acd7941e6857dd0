/*
 * Memory policies on machines of two nodes.
 *
 * Aim: pages come from where the policy says, the counters say so, and who is bound to a full node reclaims
 * there, or is killed rather than somebody who could not help. Method: small simulated machines, tasks that
 * look at the nodes of the pages they have touched.
 */
#include "tests/test.h"

#include <errno.h>

#include "core/fs.h"
#include "sim/sim.h"
#include "tests/hw_util.h"

#define PAGES(n) ((u64)(n)*PAGE_SIZE)
#define RW (MM_PROT_READ | MM_PROT_WRITE)

/*
 * The one CPU is on node 0, which has 2,048 pages fewer than three quarters of a machine of 8,192; node 1 has
 * 2,048.
 */
static struct stage {
	struct hw_machine *hw;
	struct world *w;
	struct machine *m;
	int result;
	struct task *other;
	bool done;
} stage;

static void set(const char *preset, u64 swap_bytes, u64 pages)
{
	struct knobs knobs;
	char err[SIM_ERROR_MAX];

	memset(&stage, 0, sizeof(stage));
	stage.hw = hw_make(1, 2, pages);
	if (swap_bytes)
		hw_add_flash(stage.hw, swap_bytes);
	BUG_ON(knobs_preset(&knobs, preset));
	knobs.min_free_kbytes = 1024;
	knobs.overcommit_memory = OVERCOMMIT_ALWAYS;
	stage.w = sim_create(stage.hw, &(struct sim_options){.seed = 1, .check = true}, err);
	assert_non_null(stage.w);
	stage.m = machine_create(stage.w, &knobs, err, sizeof(err));
	assert_non_null(stage.m);
	if (swap_bytes)
		assert_int_equal(do_swapon(stage.m, 0, -1), 0);
}

/* Runs @fn, and @other, if any. */
static bool play(void (*fn)(struct task *, void *), void (*other)(struct task *, void *))
{
	struct task *t = task_create(stage.m, "task", NULL, fn, NULL);
	bool killed;

	assert_non_null(t);
	if (other) {
		stage.other = task_create(stage.m, "other", NULL, other, NULL);
		task_start(stage.other, -1);
	}
	task_start(t, -1);
	assert_int_equal(sim_run(stage.w), 0);
	killed = task_killed(t);
	task_put(t);
	machine_audit(stage.m);
	assert_int_equal(stage.result, 0);
	return killed;
}

static void strike(void)
{
	if (stage.other)
		task_put(stage.other);
	machine_destroy(stage.m);
	sim_destroy(stage.w);
	hw_free(stage.hw);
}

/* How many of the @nr pages at @va are on @nid. */
static u32 pages_on(u64 va, u32 nr, u32 nid)
{
	struct mm_struct *mm = current_task()->mm;
	u32 on = 0;

	for (u32 i = 0; i < nr; i++) {
		u32 table = __pt_find(stage.m, mm, va + PAGES(i));
		pte_t pte = *pt_entry(stage.m, table, va + PAGES(i));

		on += pte_present(pte) && page_nid(pfn_to_page(stage.m, pte_pfn(pte))) == nid;
	}
	return on;
}

static u64 touched(u32 nr)
{
	u64 va = 0;

	stage.result |= do_mmap(stage.m, PAGES(nr), RW, 0, &va);
	stage.result |= mm_access(stage.m, va, PAGES(nr), WORLD_FILL, 0);
	return va;
}

static u64 numa(enum vm_item item)
{
	return (u64)item_exact(stage.m, item);
}

static const char *const presets[] = {"3.16", "6.18"};

/* ---- where pages come from ---- */

static void each_policy(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 hit, miss, foreign, other, il, va;

	(void)t, (void)arg;
	BUG_ON(pages_on(touched(100), 100, 1)); /* local */

	other = numa(NUMA_OTHER);
	hit = numa(NUMA_HIT);
	stage.result |= do_set_mempolicy(m, MM_MPOL_PREFERRED, 1 << 1);
	BUG_ON(pages_on(touched(100), 100, 1) != 100);
	/* What is preferred was hit; it is not where the CPU is. */
	BUG_ON(numa(NUMA_OTHER) - other < 100 || numa(NUMA_HIT) - hit < 100);

	stage.result |= do_set_mempolicy(m, MM_MPOL_BIND, 1 << 1);
	BUG_ON(pages_on(touched(100), 100, 1) != 100);

	il = numa(NUMA_INTERLEAVE_HIT);
	stage.result |= do_set_mempolicy(m, MM_MPOL_INTERLEAVE, 3);
	/* Page tables and the like take their turns too. */
	BUG_ON(abs((int)pages_on(touched(100), 100, 1) - 50) > 3);
	BUG_ON(numa(NUMA_INTERLEAVE_HIT) - il < 100);

	/* A range's own policy wins, by offset; and is no policy of what lies beside it. */
	stage.result |= do_set_mempolicy(m, MM_MPOL_DEFAULT, 0);
	miss = numa(NUMA_MISS);
	foreign = numa(NUMA_FOREIGN);
	stage.result |= do_mmap(m, PAGES(300), RW, 0, &va);
	stage.result |= do_mbind(m, va + PAGES(100), PAGES(100), MM_MPOL_INTERLEAVE, 3);
	stage.result |= mm_access(m, va, PAGES(300), WORLD_FILL, 7);
	BUG_ON(pages_on(va, 100, 1) || pages_on(va + PAGES(200), 100, 1));
	BUG_ON(pages_on(va + PAGES(100), 100, 1) != 50);
	for (u32 i = 0; i < 100; i += 2)
		BUG_ON(pages_on(va + PAGES(100 + i), 1, 0) != pages_on(va + PAGES(100), 1, 0));
	BUG_ON(numa(NUMA_MISS) != miss || numa(NUMA_FOREIGN) != foreign);
	BUG_ON(current_task()->mm->map_count < 3);
	/* The same as its neighbours again: they are one. */
	stage.result |= do_mbind(m, va + PAGES(100), PAGES(100), MM_MPOL_DEFAULT, 0);
}

TEST(pages_come_from_where_the_policy_says)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i], 0, 16384);
		play(each_policy, NULL);
		strike();
	}
}

static void is_child(struct task *t, void *arg)
{
	(void)t, (void)arg;
	BUG_ON(pages_on(touched(50), 50, 1) != 50);
}

static void has_child(struct task *t, void *arg)
{
	struct task *child;

	(void)t, (void)arg;
	stage.result |= do_set_mempolicy(stage.m, MM_MPOL_BIND, 1 << 1);
	stage.result |= do_fork(stage.m, "child", is_child, NULL, &child);
	task_start(child, -1);
	stage.result |= do_wait(child);
}

TEST(children_inherit_it)
{
	set("6.18", 0, 16384);
	play(has_child, NULL);
	strike();
}

/* ---- when there is none left there ---- */

/* More than node 1 has: what is preferred gives way, what is bound reclaims. */
static void prefers_more_than_there_is(struct task *t, void *arg)
{
	u64 va;

	(void)t, (void)arg;
	stage.result |= do_set_mempolicy(stage.m, MM_MPOL_PREFERRED, 1 << 1);
	va = touched(5000);
	BUG_ON(pages_on(va, 5000, 1) < 1000 || pages_on(va, 5000, 0) < 2500);
	BUG_ON(numa(NUMA_MISS) < 2500 || numa(NUMA_FOREIGN) != numa(NUMA_MISS));
}

TEST(preferred_is_no_more_than_that)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i], 64 << 20, 8192);
		play(prefers_more_than_there_is, NULL);
		assert_int_equal(vm_event_sum(stage.m, OOM_KILL), 0);
		strike();
	}
}

static void binds_more_than_there_is(struct task *t, void *arg)
{
	u64 va;

	(void)t, (void)arg;
	stage.result |= do_set_mempolicy(stage.m, MM_MPOL_BIND, 1 << 1);
	va = touched(3500);
	BUG_ON(pages_on(va, 3500, 0));
}

TEST(bound_memory_is_swapped_while_the_other_node_is_free)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i], 64 << 20, 8192);
		play(binds_more_than_there_is, NULL);
		assert_true(vm_event_sum(stage.m, PSWPOUT) > 1200);
		/* Node 0 has all it had. */
		assert_true(stat_exact(stage.m, &stage.m->node[0].zone[ZONE_DMA].stat,
		                       NR_FREE_PAGES) > 2000);
		strike();
	}
}

/* A big task bound to node 0, and one that fills node 1 without swap: the second dies. */
static void fills_node_0(struct task *t, void *arg)
{
	(void)arg;
	stage.result |= do_set_mempolicy(stage.m, MM_MPOL_BIND, 1 << 0);
	touched(3000);
	while (!READ_ONCE(stage.done) && !task_killed(t))
		world_user_compute(1000000);
}

static void fills_node_1(struct task *t, void *arg)
{
	u64 va;

	(void)arg;
	world_user_compute(50000000);
	if (!do_set_mempolicy(stage.m, MM_MPOL_BIND, 1 << 1) &&
	    !do_mmap(stage.m, PAGES(6000), RW, 0, &va))
		mm_access(stage.m, va, PAGES(6000), WORLD_FILL, 0);
	BUG_ON(!task_killed(t));
	stage.done = true;
}

TEST(the_oom_killer_leaves_alone_who_could_not_help)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i], 0, 8192);
		assert_true(play(fills_node_1, fills_node_0));
		assert_int_equal(vm_event_sum(stage.m, OOM_KILL), 1);
		assert_false(task_killed(stage.other));
		strike();
	}
}

TEST_MAIN("mempolicy")
