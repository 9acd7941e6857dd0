/*
 * Memory policies on machines of two nodes.
 *
 * Aim: pages come from where the policy says, the counters say so, and who is bound to a full node reclaims
 * there, or is killed rather than somebody who could not help. Method: small simulated machines, tasks that
 * look at the nodes of the pages they have touched.
 */
#include "tests/machine/stage.h"

/*
 * The one CPU is on node 0, which has 2,048 pages fewer than three quarters of a machine of 8,192; node 1 has
 * 2,048.
 */
static void set(const char *preset, u64 swap_bytes, u64 pages)
{
	stage_begin(preset, 1, 2, pages);
	if (swap_bytes)
		hw_add_flash(stage.hw, swap_bytes);
	stage.knobs.overcommit_memory = OVERCOMMIT_ALWAYS;
	stage_build();
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

static const char *const presets[] = {"3.16", "6.18"};

/* ---- where pages come from ---- */

static void each_policy(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 hit, miss, foreign, other, il, va;

	(void)t, (void)arg;
	BUG_ON(pages_on(touched(100), 100, 1)); /* local */

	other = stage_item(NUMA_OTHER);
	hit = stage_item(NUMA_HIT);
	stage.result |= do_set_mempolicy(m, MM_MPOL_PREFERRED, 1 << 1);
	BUG_ON(pages_on(touched(100), 100, 1) != 100);
	/* What is preferred was hit; it is not where the CPU is. */
	BUG_ON(stage_item(NUMA_OTHER) - other < 100 || stage_item(NUMA_HIT) - hit < 100);

	stage.result |= do_set_mempolicy(m, MM_MPOL_BIND, 1 << 1);
	BUG_ON(pages_on(touched(100), 100, 1) != 100);

	il = stage_item(NUMA_INTERLEAVE_HIT);
	stage.result |= do_set_mempolicy(m, MM_MPOL_INTERLEAVE, 3);
	/* Page tables and the like take their turns too. */
	BUG_ON(abs((int)pages_on(touched(100), 100, 1) - 50) > 3);
	BUG_ON(stage_item(NUMA_INTERLEAVE_HIT) - il < 100);

	/* A range's own policy wins, by offset; and is no policy of what lies beside it. */
	stage.result |= do_set_mempolicy(m, MM_MPOL_DEFAULT, 0);
	miss = stage_item(NUMA_MISS);
	foreign = stage_item(NUMA_FOREIGN);
	stage.result |= do_mmap(m, PAGES(300), RW, 0, &va);
	stage.result |= do_mbind(m, va + PAGES(100), PAGES(100), MM_MPOL_INTERLEAVE, 3);
	stage.result |= mm_access(m, va, PAGES(300), WORLD_FILL, 7);
	BUG_ON(pages_on(va, 100, 1) || pages_on(va + PAGES(200), 100, 1));
	BUG_ON(pages_on(va + PAGES(100), 100, 1) != 50);
	for (u32 i = 0; i < 100; i += 2)
		BUG_ON(pages_on(va + PAGES(100 + i), 1, 0) != pages_on(va + PAGES(100), 1, 0));
	BUG_ON(stage_item(NUMA_MISS) != miss || stage_item(NUMA_FOREIGN) != foreign);
	BUG_ON(current_task()->mm->map_count < 3);
	/* The same as its neighbours again: they are one. */
	stage.result |= do_mbind(m, va + PAGES(100), PAGES(100), MM_MPOL_DEFAULT, 0);
}

TEST(pages_come_from_where_the_policy_says)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i], 0, 16384);
		stage_play(each_policy);
		stage_strike();
	}
}

/* Pages of 64 KiB take turns as small ones do: by the VMA's offset in such pages, or by the task's count. */
static void large_pages(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va;

	(void)t, (void)arg;
	stage.result |= do_mmap(m, PAGES(256 + 16), RW, 0, &va);
	va = ALIGN(va, PAGES(16));
	stage.result |= do_mbind(m, va, PAGES(256), MM_MPOL_INTERLEAVE, 3);
	stage.result |= mm_access(m, va, PAGES(256), WORLD_FILL, 0);
	for (u32 i = 0; i < 256; i += 16) {
		u32 nid = (va / PAGES(16) + i / 16) & 1;

		BUG_ON(pages_on(va + PAGES(i), 16, nid) != 16);
	}
	stage.result |= do_set_mempolicy(m, MM_MPOL_BIND, 1 << 1);
	BUG_ON(pages_on(touched(100), 100, 1) != 100);
	BUG_ON(!m->mthp_stat[4][MTHP_ANON_FAULT_ALLOC] ||
	       m->mthp_stat[4][MTHP_ANON_FAULT_FALLBACK]);
}

TEST(large_pages_come_from_there_too)
{
	stage_begin("6.18", 1, 2, 16384);
	stage.knobs.thp_64kB = MTHP_ALWAYS;
	stage_build();
	stage_play(large_pages);
	stage_strike();
}

/* Weights 3, 1, 2 and 1: a round is seven pages. */
static void weighted(struct task *t, void *arg)
{
	static const u32 turn[] = {0, 0, 0, 1, 2, 2, 3};
	struct machine *m = stage.m;
	u64 va;

	(void)t, (void)arg;
	stage.result |= do_mmap(m, PAGES(70), RW, 0, &va);
	stage.result |= do_mbind(m, va, PAGES(70), MM_MPOL_WEIGHTED_INTERLEAVE, 15);
	stage.result |= mm_access(m, va, PAGES(70), WORLD_FILL, 0);
	for (u32 i = 0; i < 70; i++)
		BUG_ON(!pages_on(va + PAGES(i), 1, turn[((va >> PAGE_SHIFT) + i) % 7]));
	/* Without node 0 a round is four. */
	stage.result |= do_mmap(m, PAGES(40), RW, 0, &va);
	stage.result |= do_mbind(m, va, PAGES(40), MM_MPOL_WEIGHTED_INTERLEAVE, 14);
	stage.result |= mm_access(m, va, PAGES(40), WORLD_FILL, 0);
	for (u32 n = 1; n < 4; n++)
		BUG_ON(pages_on(va, 40, n) != (n == 2 ? 20 : 10));
	/* A task's is by its count, of which page tables take some. */
	stage.result |= do_set_mempolicy(m, MM_MPOL_WEIGHTED_INTERLEAVE, 3);
	BUG_ON(abs((int)pages_on(touched(100), 100, 1) - 25) > 2);
	stage.result |= do_set_mempolicy(m, MM_MPOL_DEFAULT, 0);
}

static void not_yet(struct task *t, void *arg)
{
	(void)t, (void)arg;
	BUG_ON(do_set_mempolicy(stage.m, MM_MPOL_WEIGHTED_INTERLEAVE, 3) != -EINVAL);
}

TEST(nodes_have_turns_by_weight_since_6_9)
{
	stage_begin("6.18", 1, 4, 16384);
	stage.knobs.numa_weight_0 = 3;
	stage.knobs.numa_weight_2 = 2;
	stage_build();
	stage_play(weighted);
	stage_strike();
	set("4.0", 0, 16384);
	stage_play(not_yet);
	stage_strike();
}

/* Node 0, the CPU's, is filled but for less than a huge page; what is huge elsewhere is counted. */
static void huge_when_full(struct task *t, void *arg)
{
	u32 expect = *(u32 *)arg;
	u64 va = 0;
	long nr = 0;
	u32 table;
	pte_t *pmd;

	for (u32 i = 0; i < MAX_NR_ZONES; i++)
		nr += (long)zone_page_state(&stage.m->node[0].zone[i], NR_FREE_PAGES);
	nr -= 400;
	stage.result |= do_mmap(stage.m, PAGES(nr), RW, 0, &va);
	stage.result |= do_madvise(stage.m, va, PAGES(nr), MM_MADV_NOHUGEPAGE);
	stage.result |= do_set_mempolicy(stage.m, MM_MPOL_BIND, 1);
	stage.result |= mm_access(stage.m, va, PAGES(nr), WORLD_FILL, 0);
	stage.result |= do_set_mempolicy(stage.m, MM_MPOL_DEFAULT, 0);
	stage.result |= do_mmap(stage.m, 2 * PMD_SIZE, RW, 0, &va);
	va = ALIGN(va, PMD_SIZE);
	if (expect & 2)
		stage.result |= do_madvise(stage.m, va, PMD_SIZE, MM_MADV_HUGEPAGE);
	stage.result |= mm_access(stage.m, va, PAGE_SIZE, WORLD_FILL, 0);
	table = pt_find_pmd(stage.m, t->mm, va, &pmd);
	BUG_ON(!table || pte_huge(*pmd) != (expect & 1));
	BUG_ON(pte_huge(*pmd) && page_nid(pfn_to_page(stage.m, pte_pfn(*pmd))) != 1);
}

/* Without advice nothing is done for it (thp.defrag = madvise): no far huge page, but a near small one. */
static void play_huge(const char *preset, enum thp_node_policy node, u32 expect)
{
	stage_begin(preset, 1, 2, 16384);
	stage.knobs.thp_enabled = THP_ALWAYS;
	stage.knobs.thp_defrag = THP_DEFRAG_MADVISE;
	stage.knobs.thp_node = node;
	stage_build();
	stage_task("task", huge_when_full, &expect);
	stage_run();
	assert_int_equal(stage.result, 0);
	stage_strike();
}

TEST(a_far_huge_page_is_taken_only_for_who_takes_pains_since_5_4)
{
	play_huge("6.18", THP_NODE_POLICY, 1);
	play_huge("6.18", THP_NODE_LOCAL_FIRST, 0);
	play_huge("6.18", THP_NODE_LOCAL_FIRST, 3);
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
	stage_play(has_child);
	stage_strike();
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
	BUG_ON(stage_item(NUMA_MISS) < 2500 || stage_item(NUMA_FOREIGN) != stage_item(NUMA_MISS));
}

TEST(preferred_is_no_more_than_that)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i], 64 << 20, 8192);
		stage_play(prefers_more_than_there_is);
		assert_int_equal(stage_event(OOM_KILL), 0);
		stage_strike();
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
		stage_play(binds_more_than_there_is);
		assert_true(stage_event(PSWPOUT) > 1200);
		/* Node 0 has all it had. */
		assert_true(stat_exact(stage.m, &stage.m->node[0].zone[ZONE_DMA].stat,
		                       NR_FREE_PAGES) > 2000);
		stage_strike();
	}
}

static bool may_end; /* the task on node 0 */

/* A big task bound to node 0, and one that fills node 1 without swap: the second dies. */
static void fills_node_0(struct task *t, void *arg)
{
	(void)arg;
	stage.result |= do_set_mempolicy(stage.m, MM_MPOL_BIND, 1 << 0);
	touched(3000);
	while (!READ_ONCE(may_end) && !task_killed(t))
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
	may_end = true;
}

TEST(the_oom_killer_leaves_alone_who_could_not_help)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i], 0, 8192);
		may_end = false;
		stage_task("other", fills_node_0, NULL);
		stage_task("task", fills_node_1, NULL);
		stage_run();
		assert_int_equal(stage.result, 0);
		assert_false(stage.killed[0]);
		assert_true(stage.killed[1]);
		assert_int_equal(stage_event(OOM_KILL), 1);
		stage_strike();
	}
}

TEST_MAIN("mempolicy")
