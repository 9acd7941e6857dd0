/*
 * Boot of zones: what becomes of a memory map, who falls back on whom, and what boot costs.
 */
#include "tests/core/bare.h"

#include <time.h>

#include "core/ballast.c"
#include "core/mmzone.c"

static long host_rss_kb(void)
{
	long size, resident;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &size, &resident), 2);
	fclose(f);
	return resident * 4;
}

static double seconds_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

TEST(ranges_become_zones_with_their_three_sizes)
{
	/* This host's kind of map: DMA from frame 1, a hole, DMA32, Normal; some of each reserved. */
	static const struct hw_range range[] = {
		{1, 158, 30, 0},
		{256, 3840, 128, 0},
		{4096, 782336, 9421, 0},
		{1 << 20, 5000, 1000, 0},
	};
	struct hw_machine *hw = bare_hw(2, 4, range);
	struct machine *m = bare_create(hw, "6.18", NULL);
	struct zone *dma = bare_zone(m, ZONE_DMA);

	assert_int_equal(dma->zone_start_pfn, 1);
	assert_int_equal(dma->spanned_pages, 4095);
	assert_int_equal(dma->present_pages, 3998);
	assert_int_equal(dma->managed_pages, 3840);
	assert_int_equal(bare_zone(m, ZONE_DMA32)->managed_pages, 772915);
	assert_int_equal(bare_zone(m, ZONE_NORMAL)->managed_pages, 4000);
	assert_false(populated_zone(bare_zone(m, ZONE_MOVABLE)));
	assert_int_equal(m->totalram_pages, 3840 + 772915 + 4000);
	assert_int_equal(m->max_pfn, (1 << 20) + 5000);
	assert_int_equal(m->node[0].node_spanned_pages, (1 << 20) + 4999);
	assert_int_equal(stat_exact(m, &dma->stat, NR_FREE_PAGES), 3840);
	assert_int_equal(nr_free_pages(m), m->totalram_pages);
	page_alloc_audit(m);
	bare_destroy(m, hw);
}

/*
 * The pool of huge pages comes from Normal down to its low mark, then from DMA32. What a zone is to
 * have is left of it exactly, and what it has not got is said.
 */
TEST(ballast_comes_from_the_zones_that_huge_pages_come_from)
{
	static const struct hw_range range[] = {
		{256, 3840, 0, 0},
		{4096, 64 * 1024, 0, 0},
		{1 << 20, 64 * 1024, 0, 0},
	};
	struct hw_machine *hw = bare_hw(1, 3, range);
	struct machine *m = bare_create(hw, "6.18", NULL);
	struct zone *normal = bare_zone(m, ZONE_NORMAL);
	struct zone *dma32 = bare_zone(m, ZONE_DMA32);
	u64 low = wmark(normal, WMARK_LOW);

	assert_int_equal(machine_take_blocks(m, 9, 150), 150);
	assert_true(zone_page_state(normal, NR_FREE_PAGES) > low);
	assert_true(zone_page_state(normal, NR_FREE_PAGES) <= low + 512);
	assert_int_equal(nr_free_pages(m), 3840 + 2 * 64 * 1024 - 150 * 512);
	assert_int_equal(bare_reclaim.nr_kswapd_wakes, 0);

	assert_int_equal(machine_leave_free(m, 0, "DMA32", 10000), 0);
	assert_int_equal(stat_exact(m, &dma32->stat, NR_FREE_PAGES), 10000);
	assert_int_equal(machine_leave_free(m, 0, "DMA32", 10001), -1);
	assert_int_equal(machine_leave_free(m, 0, "Movable", 5), -5);
	page_alloc_audit(m);
	bare_destroy(m, hw);
}

TEST(every_frame_that_is_not_reserved_is_handed_out_once)
{
	static const struct hw_range range[] = {{3, 500, 11, 0}, {600, 2900, 100, 0}};
	struct hw_machine *hw = bare_hw(1, 2, range);
	struct machine *m = bare_create(hw, "4.0", NULL);
	bool seen[4096] = {false};
	u64 nr = 0;
	struct page *p;

	while ((p = rmqueue_buddy(bare_zone(m, ZONE_DMA), 0, MIGRATE_MOVABLE, 0))) {
		u64 pfn = page_to_pfn(m, p);

		assert_false(seen[pfn]);
		seen[pfn] = true;
		assert_int_equal(page_zonenum(p), ZONE_DMA);
		assert_true((pfn >= 14 && pfn < 503) || (pfn >= 700 && pfn < 3500));
		nr += 1;
	}
	assert_int_equal(nr, 489 + 2800);
	bare_destroy(m, hw);
}

/* ---- zonelists ---- */

/* @nr_nodes nodes of DMA32 or Normal memory, one CPU each, with these distances. */
static struct hw_machine *numa_hw(u32 nr_nodes, const u8 *distance)
{
	struct hw_machine *hw = null_hw(nr_nodes, nr_nodes, 64);

	for (u32 i = 0; i < nr_nodes; i++) {
		hw->range[i] = (struct hw_range){(1UL << 20) + i * 2048, 2048, 0, (u16)i};
		hw->cpu[i].node = (u16)i;
	}
	hw->nr_ranges = nr_nodes;
	if (distance)
		memcpy(hw->distance, distance, (size_t)nr_nodes * nr_nodes);
	return hw;
}

static void check_order(struct machine *m, u32 nid, const char *order)
{
	const struct pglist_data *pgdat = &m->node[nid];
	char text[64] = "";

	for (u32 i = 0; i < pgdat->nr_zonelist; i++)
		text[i] = (char)('0' + pgdat->zonelist[i]->pgdat->node_id);
	assert_string_equal(text, order);
}

TEST(zonelists_go_to_the_nearest_node_first)
{
	/* Two pairs: 0 and 1, 2 and 3. */
	static const u8 distance[16] = {
		10, 20, 30, 30, 20, 10, 30, 30, 30, 30, 10, 20, 30, 30, 20, 10,
	};
	struct hw_machine *hw = numa_hw(4, distance);
	struct machine *m = bare_create(hw, "4.0", NULL);

	check_order(m, 0, "0123");
	/* Of equals, the one that fewer lists have first in its group. */
	check_order(m, 1, "1032");
	check_order(m, 2, "2301");
	check_order(m, 3, "3210");
	bare_destroy(m, hw);
}

TEST(equally_near_nodes_share_the_spill)
{
	u8 distance[16];
	struct hw_machine *hw;
	struct machine *m;

	memset(distance, 20, sizeof(distance));
	for (int i = 0; i < 4; i++)
		distance[i * 5] = 10;
	hw = numa_hw(4, distance);
	m = bare_create(hw, "4.0", NULL);
	/* "Prefer the next node"; then lower ones, which heads fewer lists first. */
	check_order(m, 0, "0123");
	check_order(m, 1, "1230");
	check_order(m, 2, "2301");
	check_order(m, 3, "3012");
	bare_destroy(m, hw);
}

TEST(zones_of_a_node_go_from_high_to_low)
{
	struct hw_machine *hw = bare_zones(1, 4000, 8000, 3000);
	struct machine *m = bare_create(hw, "4.0", NULL);
	const struct pglist_data *pgdat = &m->node[0];

	assert_int_equal(pgdat->nr_zonelist, 3);
	assert_int_equal(pgdat->nr_local_zones, 3);
	assert_int_equal(pgdat->zonelist[0]->type, ZONE_NORMAL);
	assert_int_equal(pgdat->zonelist[1]->type, ZONE_DMA32);
	assert_int_equal(pgdat->zonelist[2]->type, ZONE_DMA);
	bare_destroy(m, hw);
}

TEST(a_node_without_memory_uses_the_others)
{
	struct hw_machine *hw = numa_hw(3, NULL);
	struct machine *m;

	hw->range[1] = hw->range[2];
	hw->nr_ranges = 2;
	m = bare_create(hw, "6.18", NULL);
	assert_int_equal(m->node[1].nr_local_zones, 0);
	assert_int_equal(m->node[1].nr_zonelist, 2);
	assert_int_equal(m->node[1].zonelist[0]->pgdat->node_id, 2);
	page_alloc_audit(m);
	bare_destroy(m, hw);
}

TEST(lists_and_counters_are_the_zone_s_or_the_node_s)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw = bare_zones(1, 4000, 8000, 0);
		struct machine *m = bare_create(hw, era ? "6.18" : "4.0", NULL);
		struct zone *dma = bare_zone(m, ZONE_DMA);
		struct zone *dma32 = bare_zone(m, ZONE_DMA32);

		assert_int_equal(dma->lruvec == dma32->lruvec, era);
		assert_int_equal(dma->node_stat == dma32->node_stat, era);
		assert_ptr_equal(dma->node_stat, era ? &m->node[0].stat : &dma->stat);
		bare_destroy(m, hw);
	}
}

/* ---- maps that are none ---- */

static void check_refused(struct hw_machine *hw, const char *says)
{
	char err[200] = "";

	assert_int_equal(check_hw(hw, err, sizeof(err)), -EINVAL);
	if (!strstr(err, says))
		fail_msg("'%s' does not contain '%s'", err, says);
	null_hw_free(hw);
}

TEST(impossible_machines_are_refused_with_a_sentence)
{
	static const struct hw_range crossing[] = {{4000, 200, 0, 0}};
	static const struct hw_range overlapping[] = {{10, 100, 0, 0}, {100, 50, 0, 0}};
	static const struct hw_range all_reserved[] = {{10, 100, 100, 0}};
	static const struct hw_range reserved[] = {{10, 100, 101, 0}};
	static const struct hw_range nowhere[] = {{10, 100, 0, 1}};
	struct hw_machine *hw = bare_hw(1, 1, crossing);

	check_refused(hw, "memory range 0 crosses a zone boundary");
	check_refused(bare_hw(1, 2, overlapping), "range 1 begins before range 0 ends");
	check_refused(bare_hw(1, 1, all_reserved), "memory that is not reserved");
	check_refused(bare_hw(1, 1, reserved), "100 pages, 101 of them reserved");
	check_refused(bare_hw(1, 1, nowhere), "on node 1 of 1");
	hw = bare_hw(1, 1, nowhere);
	hw->nr_cpus = 0;
	check_refused(hw, "1 to 4096 CPUs");
}

/* ---- boot costs ---- */

TEST(sixteen_tib_and_2048_cpus_cost_almost_nothing_until_used)
{
	struct hw_machine *hw = null_hw(2048, 256, 64);
	u64 pages = 1UL << 24; /* 64 GiB a node */
	struct machine *m;
	double start;
	long rss;

	free(hw->range);
	hw->range = calloc(256, sizeof(*hw->range));
	for (u32 i = 0; i < 256; i++)
		hw->range[i] = (struct hw_range){(1UL << 20) + i * pages, pages, 0, (u16)i};
	hw->nr_ranges = 256;
	rss = host_rss_kb();
	start = seconds_now();
	m = bare_create(hw, "6.18", NULL);
	start = seconds_now() - start;
	rss = host_rss_kb() - rss;
	printf("boot: %.3f s, %ld kB, the null world's included\n", start, rss);
	assert_int_equal(m->totalram_pages, 1UL << 32);
	assert_true(rss < 256 << 10);
	bare_destroy(m, hw);
}

TEST_MAIN("mmzone")
