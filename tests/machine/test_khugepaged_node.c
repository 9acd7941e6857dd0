/*
 * On which node khugepaged takes its huge pages.
 *
 * Aim: where most of a range's pages are, as each era counts and breaks ties, and what happens where that node
 * has none. Method: a machine of two nodes; a task puts so many of a range's pages on either, allows huge
 * pages, sleeps over a scan and looks where the huge page is.
 */
#include "tests/machine/stage.h"

#include "core/khugepaged.h"

#define RANGES 3

static u32 on_1
	[RANGES]; /* pages of each range on node 1; the others, which come after them, are on 0 */
static u32 nr_ranges;
static s32 expect[RANGES]; /* node of the huge page; -1: none */
static u32 leave_on_1;     /* not 0: node 1 is filled but for so many pages */

static void put_pages(u64 va, u32 nr, u32 nid)
{
	if (!nr)
		return;
	BUG_ON(do_set_mempolicy(stage.m, MM_MPOL_BIND, 1UL << nid));
	BUG_ON(mm_access(stage.m, va, PAGES(nr), WORLD_FILL, 0));
}

static void fill_node_1(void)
{
	long nr = (long)zone_page_state(&stage.m->node[1].zone[ZONE_DMA32], NR_FREE_PAGES) +
	          (long)zone_page_state(&stage.m->node[1].zone[ZONE_NORMAL], NR_FREE_PAGES) -
	          (long)leave_on_1;
	u64 va;

	BUG_ON(nr <= 0 || do_mmap(stage.m, PAGES(nr), RW, 0, &va));
	BUG_ON(do_madvise(stage.m, va, PAGES(nr), MM_MADV_NOHUGEPAGE));
	put_pages(va, (u32)nr, 1);
}

static s32 huge_at(struct task *t, u64 va)
{
	pte_t *pmd;

	if (!pt_find_pmd(stage.m, t->mm, va, &pmd) || !pte_huge(*pmd))
		return -1;
	return (s32)page_nid(pfn_to_page(stage.m, pte_pfn(*pmd)));
}

static void ranges(struct task *t, void *arg)
{
	u64 va;

	(void)arg;
	BUG_ON(do_mmap(stage.m, (RANGES + 1) * PMD_SIZE, RW, 0, &va));
	va = ALIGN(va, PMD_SIZE);
	BUG_ON(do_madvise(stage.m, va, nr_ranges * PMD_SIZE, MM_MADV_NOHUGEPAGE));
	for (u32 i = 0; i < nr_ranges; i++) {
		u64 at = va + i * PMD_SIZE;

		put_pages(at, on_1[i], 1);
		put_pages(at + PAGES(on_1[i]), 512 - on_1[i], 0);
	}
	if (leave_on_1)
		fill_node_1();
	BUG_ON(do_set_mempolicy(stage.m, MM_MPOL_DEFAULT, 0));
	world_syscall_enter();
	lru_add_drain(stage.m);
	world_syscall_exit();
	BUG_ON(do_madvise(stage.m, va, nr_ranges * PMD_SIZE, MM_MADV_HUGEPAGE));
	world_syscall_enter();
	world_sleep(S(11));
	world_syscall_exit();
	for (u32 i = 0; i < nr_ranges; i++) {
		s32 nid = huge_at(t, va + i * PMD_SIZE);

		VM_BUG_ON_MSG(nid != expect[i],
		              "range %u, with %u pages on node 1: on node %d, not %d", i, on_1[i],
		              nid, expect[i]);
	}
	BUG_ON(mm_access(stage.m, va, nr_ranges * PMD_SIZE, WORLD_SCAN, 0));
}

static void set(const char *name, const char *value)
{
	char err[256];

	if (knob_set(&stage.knobs, name, value, err, sizeof(err)))
		panic("%s", err);
}

static void play(const char *preset, const char *node, u64 zone_reclaim, const char *abort)
{
	stage_begin(preset, 1, 2, 16384);
	stage.hw->distance[1] = stage.hw->distance[2] = 40;
	set("thp.enabled", "always");
	set("thp.defrag", "never");
	if (node)
		set("khugepaged.node", node);
	if (abort)
		set("khugepaged.node_abort", abort);
	stage.knobs.zone_reclaim_mode = zone_reclaim;
	stage.knobs.khugepaged_max_ptes_none = 0;
	stage_build();
	stage_play(ranges);
	stage_strike();
	leave_on_1 = 0;
}

static void one_range(u32 pages_on_1, s32 node)
{
	nr_ranges = 1;
	on_1[0] = pages_on_1;
	expect[0] = node;
}

TEST(it_is_taken_where_most_pages_are_or_the_first_to_3_12)
{
	static const char *const most[] = {"4.0", "4.5", "6.18"};

	for (u32 i = 0; i < ARRAY_SIZE(most); i++) {
		one_range(300, 1);
		play(most[i], NULL, 0, NULL);
		one_range(200, 0);
		play(most[i], NULL, 0, NULL);
	}
	one_range(1, 1);
	play("3.1", NULL, 0, NULL);
	one_range(0, 0);
	play("3.1", NULL, 0, NULL);
}

/* 256 each: node 0; then the next one; then there is no next one. Since 6.2 the first is preferred always. */
TEST(nodes_with_as_many_take_turns_to_6_1)
{
	nr_ranges = RANGES;
	for (u32 i = 0; i < RANGES; i++) {
		on_1[i] = 256;
		expect[i] = i % 2;
	}
	play("4.0", NULL, 0, NULL);
	expect[1] = 0;
	play("6.18", NULL, 0, NULL);
}

/* 400 pages are no huge page. */
TEST(where_that_node_has_none_others_are_tried_or_not)
{
	leave_on_1 = 400;
	one_range(300, 0);
	play("4.0", "most", 0, NULL);
	leave_on_1 = 400;
	one_range(300, -1);
	play("4.0", "most_only", 0, NULL);
	leave_on_1 = 400;
	one_range(300, -1);
	play("6.18", NULL, 0, NULL);
	leave_on_1 = 400;
	one_range(256, 0);
	play("6.18", NULL, 0, NULL);
}

/* The nodes are 40 apart, 30 is near. */
TEST(pages_far_apart_stay_where_they_are_if_nodes_reclaim)
{
	one_range(300, 1);
	play("6.18", NULL, 0, "on");
	one_range(300, -1);
	play("6.18", NULL, 1, "on");
	one_range(512, 1);
	play("6.18", NULL, 1, "on");
	one_range(300, 1);
	play("6.18", NULL, 1, "off");
}

TEST_MAIN("khugepaged_node")
