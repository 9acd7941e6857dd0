/*
 * Watermarks against vectors from Linux's formulas and from live machines, and the test of a watermark
 * against a straightforward model.
 */
#include "tests/core/bare.h"

#include "core/watermark.c"

/* ---- min_free_kbytes ---- */

static unsigned long min_free_of(const char *preset, u64 pages)
{
	struct hw_machine *hw = bare_zones(2, 0, 0, pages);
	struct machine *m = bare_create(hw, preset, NULL);
	unsigned long kb = m->min_free_kbytes;

	bare_destroy(m, hw);
	return kb;
}

TEST(min_free_kbytes_follows_the_square_root_and_its_bounds)
{
	/* 1.2's table; the size of low memory in MiB. */
	static const struct {
		u64 mib;
		unsigned long s;
		unsigned long t;
	} row[] = {
		{1, 128, 128}, /* sqrt(1024 * 16) */
		{128, 1448, 1448},
		{256, 2048, 2048},
		{512, 2896, 2896},
		{1024, 4096, 4096},
		{2048, 5792, 5792},
		{3072, 7094, 7094},
		{4096, 8192, 8192},
		{8192, 11585, 11585},
		{16384, 16384, 16384},
		{32768, 23170, 23170},
		{65536, 32768, 32768},
		{262144, 65536, 65536},
		{1UL << 20, 65536, 131072},
		{4UL << 20, 65536, 262144},
		{8UL << 20, 65536, 262144},
	};

	for (u32 i = 0; i < ARRAY_SIZE(row); i++) {
		assert_int_equal(min_free_of("4.0", row[i].mib << 8), row[i].s);
		assert_int_equal(min_free_of("6.18", row[i].mib << 8), row[i].t);
	}
}

static void thp_madvise(struct machine *m)
{
	m->knob.thp_enabled = THP_MADVISE;
}

TEST(khugepaged_raises_min_free_kbytes_by_the_number_of_zones)
{
	struct hw_machine *hw[] = {
		bare_zones(2, 3840, 772808, 163840),
		bare_zones(12, 3840, 772808, 0),
		bare_zones(2, 0, 1000000, 0),
	};
	static const unsigned long kb[] = {67584, 45056, 22528};

	for (u32 i = 0; i < ARRAY_SIZE(hw); i++) {
		struct machine *m = bare_create(hw[i], "4.0", thp_madvise);

		assert_int_equal(m->min_free_kbytes, kb[i]);
		bare_destroy(m, hw[i]);
	}
}

TEST(khugepaged_asks_for_no_more_than_a_twentieth_of_memory)
{
	/* 64 MiB: 16384 pages; sqrt(65536 * 16) = 1024 kB = 256 pages, high 384; 16000 / 20 = 800. */
	struct hw_machine *hw = bare_zones(2, 0, 16384, 0);
	struct machine *m = bare_create(hw, "4.0", thp_madvise);

	assert_int_equal(m->min_free_kbytes, 3200);
	bare_destroy(m, hw);
}

static void user_min_free(struct machine *m)
{
	m->knob.thp_enabled = THP_ALWAYS;
	m->knob.min_free_kbytes = 1000;
}

TEST(min_free_kbytes_set_by_the_user_is_final)
{
	struct hw_machine *hw = bare_zones(2, 3840, 772808, 0);
	struct machine *m = bare_create(hw, "6.18", user_min_free);

	assert_int_equal(m->min_free_kbytes, 1000);
	bare_destroy(m, hw);
}

TEST(mail_000_s_threshold_is_1_5_times_the_minimum)
{
	/* 3 GiB: min 7094 kB = 1773 pages, and with khugepaged on DMA and DMA32 11264 pages. */
	assert_int_equal((min_free_of("4.0", 786432) >> 2) * 3 / 2, 2659);

	struct hw_machine *hw = bare_zones(12, 4096, 782336, 0);
	struct machine *m = bare_create(hw, "4.0", thp_madvise);

	assert_int_equal((m->min_free_kbytes >> 2) * 3 / 2, 16896);
	bare_destroy(m, hw);
}

/* ---- whole zone tables ---- */

struct zone_row {
	unsigned long managed;
	unsigned long min;
	unsigned long low;
	unsigned long high;
	unsigned long promo;
	u32 threshold;
	s32 batch;
	s32 high_min;
	s32 high_max;
	long protection[MAX_NR_ZONES];
};

static void check_zone_table(const struct zone_row *row)
{
	struct hw_machine *hw = bare_zones(2, row[0].managed, row[1].managed, row[2].managed);
	struct machine *m = bare_create(hw, "6.18", thp_madvise);

	for (int i = 0; i < MAX_NR_ZONES; i++) {
		struct zone *z = bare_zone(m, (enum zone_type)i);

		assert_int_equal(z->managed_pages, row[i].managed);
		assert_int_equal(z->_watermark[WMARK_MIN], row[i].min);
		assert_int_equal(z->_watermark[WMARK_LOW], row[i].low);
		assert_int_equal(z->_watermark[WMARK_HIGH], row[i].high);
		assert_int_equal(z->_watermark[WMARK_PROMO], row[i].promo);
		assert_memory_equal(z->lowmem_reserve, row[i].protection,
		                    sizeof(z->lowmem_reserve));
		if (!row[i].managed)
			continue;
		assert_int_equal(z->threshold_normal, row[i].threshold);
		assert_int_equal(z->pcp_batch, row[i].batch);
		assert_int_equal(z->pcp_high_min, row[i].high_min);
		assert_int_equal(z->pcp_high_max, row[i].high_max);
	}
	bare_destroy(m, hw);
}

TEST(zone_table_of_machine_a_is_the_live_one)
{
	static const struct zone_row row[MAX_NR_ZONES] = {
		{3840, 68, 85, 102, 119, 4, 1, 42, 240, {0, 3018, 3658, 3658}},
		{772808, 13883, 17353, 20823, 24293, 24, 63, 8676, 48300, {0, 0, 640, 640}},
		{163840, 2943, 3678, 4413, 5148, 16, 31, 1839, 10240, {0}},
		{0, 32, 32, 32, 32, 0, 0, 0, 0, {0}},
	};

	check_zone_table(row);
}

TEST(zone_table_of_machine_b_is_the_live_one)
{
	static const struct zone_row row[MAX_NR_ZONES] = {
		{3840, 10, 13, 16, 19, 4, 1, 6, 240, {0, 3018, 24090, 24090}},
		{772808, 2115, 2887, 3659, 4431, 24, 63, 1443, 48300, {0, 0, 21071, 21071}},
		{5394257, 14769, 20163, 25557, 30951, 36, 63, 10081, 337141, {0}},
		{0, 32, 32, 32, 32, 0, 0, 0, 0, {0}},
	};

	check_zone_table(row);
}

/* 3.7's table: one of @nr_nodes equal nodes. */
static void check_worked_row(const char *preset, u32 nr_cpus, u32 nr_nodes, u64 pages,
                             unsigned long min, unsigned long low, unsigned long high,
                             unsigned long mark, u32 threshold, u32 pressure)
{
	struct hw_machine *hw = null_hw(nr_cpus, nr_nodes, 64);
	struct machine *m;
	struct zone *z;

	for (u32 i = 0; i < nr_nodes; i++)
		hw->range[i] = (struct hw_range){
			.start_pfn = (1UL << 20) + i * pages,
			.nr_pages = pages,
			.node = (u16)i,
		};
	hw->nr_ranges = nr_nodes;
	m = bare_create(hw, preset, NULL);
	z = bare_zone(m, ZONE_NORMAL);
	assert_int_equal(z->_watermark[WMARK_MIN], min);
	assert_int_equal(z->_watermark[WMARK_LOW], low);
	assert_int_equal(z->_watermark[WMARK_HIGH], high);
	assert_int_equal(z->percpu_drift_mark, mark);
	assert_int_equal(z->threshold_normal, threshold);
	if (mark)
		assert_int_equal(z->threshold_pressure, pressure);
	bare_destroy(m, hw);
}

TEST(worked_numbers_of_seed_004_come_out)
{
	check_worked_row("4.0", 2, 1, 524288, 1448, 1810, 2172, 0, 24, 0);
	check_worked_row("4.0", 2, 1, 524287, 1448, 1810, 2172, 0, 20, 0);
	check_worked_row("4.0", 64, 4, 2097152, 1448, 1810, 2172, 9340, 112, 5);
	check_worked_row("4.0", 2048, 256, 16777216, 64, 80, 96, 256096, 125, 1);
	/* T: d = managed / 1000. */
	check_worked_row("6.18", 2, 1, 524288, 1448, 1972, 2496, 0, 24, 0);
	check_worked_row("6.18", 64, 4, 2097152, 1448, 3545, 5642, 12810, 112, 32);
}

/* ---- mail 004: vmstat.free_estimate ---- */

static u32 policy_under_test;

static void set_policy(struct machine *m)
{
	m->knob.free_estimate = policy_under_test;
}

/* One of @nr_nodes equal nodes; @mark: what is left of the drift mark. */
static void check_policy(u32 policy, u32 nr_cpus, u32 nr_nodes, u64 pages, unsigned long min,
                         unsigned long mark)
{
	struct hw_machine *hw = null_hw(nr_cpus, nr_nodes, 64);
	struct machine *m;
	struct zone *z;

	for (u32 i = 0; i < nr_nodes; i++)
		hw->range[i] = (struct hw_range){
			.start_pfn = (1UL << 20) + i * (pages + 4096),
			.nr_pages = pages,
			.node = (u16)i,
		};
	hw->nr_ranges = nr_nodes;
	policy_under_test = policy;
	m = bare_create(hw, "4.0", set_policy);
	z = bare_zone(m, ZONE_NORMAL);
	assert_int_equal(z->_watermark[WMARK_MIN], min);
	assert_int_equal(z->_watermark[WMARK_LOW], min + min / 4);
	assert_int_equal(z->_watermark[WMARK_HIGH], min + min / 2);
	assert_int_equal(z->percpu_drift_mark, mark);
	assert_int_equal(z->estimate_mark, policy == ESTIMATE_PRESSURE ? 0 : mark);
	bare_destroy(m, hw);
}

TEST(mail_004_s_reserve_is_the_drift_where_that_is_below_one_percent)
{
	/* 3.7. Exactly 2 GiB: 1448 + 2 x 24; a page less: 1448 + 2 x 20, the mail's 1488. */
	check_policy(ESTIMATE_RESERVE, 2, 1, 524288, 1448 + 48, 0);
	check_policy(ESTIMATE_RESERVE, 2, 1, 524287, 1488, 0);
	/* 4 x 8 GiB, 64 CPUs: 64 x 112 = 7168; with the mail's threshold of 98, 6272: 7720. */
	check_policy(ESTIMATE_RESERVE, 64, 4, 2097152, 1448 + 7168, 0);
	/* A page less in each of four: 98, and the mail's 7720. */
	check_policy(ESTIMATE_RESERVE, 64, 4, 2097151, 7720, 0);
	/* 2048 CPUs: 256000 is more than 167772; min is 64, for the clamp at 64 MiB. */
	check_policy(ESTIMATE_RESERVE, 2048, 256, 16777216, 64, 256096);
	check_policy(ESTIMATE_SNAPSHOT, 2048, 256, 16777216, 64, 256096);
	check_policy(ESTIMATE_SNAPSHOT, 64, 4, 2097152, 1448, 9340);
	check_policy(ESTIMATE_SNAPSHOT, 2, 1, 524288, 1448, 0);
	check_policy(ESTIMATE_CHEAP, 64, 4, 2097152, 1448, 0);
	check_policy(ESTIMATE_PRESSURE, 64, 4, 2097152, 1448, 9340);
	/* The patch as posted adds nothing where no mark is set. */
	check_policy(ESTIMATE_AS_POSTED, 2, 1, 524288, 1448, 0);
}

TEST(mail_004_s_new_min_is_7720_pages)
{
	/* 1448 + 98 x 64: the mail's second example, a zone of 8 GB less its descriptors. */
	struct hw_machine *hw = bare_zones(64, 0, 0, 2068480);
	struct machine *m;

	policy_under_test = ESTIMATE_RESERVE;
	m = bare_create(hw, "4.0", set_policy);
	/* The only zone has all of pages_min. */
	set_marks(m, 1448 * 4);
	assert_int_equal(bare_zone(m, ZONE_NORMAL)->_watermark[WMARK_MIN], 7720);
	assert_int_equal(bare_zone(m, ZONE_NORMAL)->min_unreserved, 1448);
	bare_destroy(m, hw);
}

TEST(mail_004_s_patch_as_posted_adds_up_over_the_zones)
{
	static const unsigned long min[] = {3556, 5664, 7772, 9881};
	struct hw_machine *hw = null_hw(64, 4, 64);
	struct machine *m;

	for (u32 i = 0; i < 4; i++)
		hw->range[i] = (struct hw_range){
			.start_pfn = (1UL << 20) + i * 2097152UL,
			.nr_pages = 2068480,
			.node = (u16)i,
		};
	hw->nr_ranges = 4;
	m = bare_create(hw, "4.0", NULL);
	/* 19.5: pages_min of 23170 kB, and the mark that the mail's zone had, 2161 + 6272. */
	for (u32 i = 0; i < 4; i++)
		m->node[i].zone[ZONE_NORMAL].percpu_drift_mark = 8433;
	setup_wmarks_as_posted(m, 23170 / 4, 4 * 2068480UL);
	for (u32 i = 0; i < 4; i++) {
		assert_int_equal(m->node[i].zone[ZONE_NORMAL]._watermark[WMARK_MIN], min[i]);
		assert_int_equal(m->node[i].zone[ZONE_NORMAL].percpu_drift_mark, 0);
	}
	bare_destroy(m, hw);
}

TEST(to_3_8_a_zone_is_what_is_present_but_its_descriptors)
{
	/* 8 GiB with 56 bytes of struct page each: 28672 pages. The kernel has 1000 more. */
	struct hw_machine *hw = bare_zones(64, 0, 0, 2097152);
	struct zone *z;
	struct machine *m;

	hw->range[0].nr_reserved = 28672 + 1000;
	hw->descriptor_bytes = 56;
	m = bare_create(hw, "4.0", NULL);
	z = bare_zone(m, ZONE_NORMAL);
	assert_int_equal(zone_size(z), 2097152 - 28672 - 1000);
	m->knob.watermark_pages = WMARK_PAGES_PRESENT;
	assert_int_equal(zone_size(z), 2068480);
	bare_destroy(m, hw);
}

/* A CPU that has taken @nr of the zone's pages and told nobody. */
static void hide_pages(struct machine *m, struct zone *z, u32 cpu, long nr)
{
	null_set_cpu(m->world, cpu);
	mod_zone_state(z, NR_FREE_PAGES, -nr);
	z->nr_free -= nr;
}

TEST(the_snapshot_is_taken_only_below_the_mark_and_while_kswapd_is_awake)
{
	struct hw_machine *hw = bare_zones(64, 0, 0, 2068480);
	struct wait_queue_entry asleep;
	struct machine *m;
	struct zone *z;

	policy_under_test = ESTIMATE_SNAPSHOT;
	m = bare_create(hw, "4.0", set_policy);
	z = bare_zone(m, ZONE_NORMAL);
	init_waitqueue_head(&z->pgdat->kswapd_wait);
	/* 64 CPUs hide 98 each. */
	for (u32 cpu = 0; cpu < 64; cpu++)
		hide_pages(m, z, cpu, 98);
	atomic_long_set(&z->stat.v[NR_FREE_PAGES], z->estimate_mark);
	assert_int_equal(zone_nr_free_pages(z), z->estimate_mark);
	atomic_long_set(&z->stat.v[NR_FREE_PAGES], z->estimate_mark - 1);
	assert_int_equal(zone_nr_free_pages(z), z->estimate_mark - 1 - 6272);
	list_add(&asleep.list, &z->pgdat->kswapd_wait.list);
	assert_int_equal(zone_nr_free_pages(z), z->estimate_mark - 1);
	bare_destroy(m, hw);
}

TEST(a_breach_of_min_counts_if_the_estimate_does_not_see_it)
{
	static const u32 blind[] = {ESTIMATE_CHEAP, ESTIMATE_SNAPSHOT};

	for (u32 i = 0; i < 2; i++) {
		struct hw_machine *hw = bare_zones(64, 0, 0, 2068480);
		struct machine *m;
		struct zone *z;

		policy_under_test = blind[i];
		m = bare_create(hw, "4.0", set_policy);
		z = bare_zone(m, ZONE_NORMAL);
		init_waitqueue_head(&z->pgdat->kswapd_wait);
		for (u32 cpu = 0; cpu < 64; cpu++)
			hide_pages(m, z, cpu, 98);
		/* The counter says min + 31, and 31 pages more are taken: 6272 short, unseen. */
		atomic_long_set(&z->stat.v[NR_FREE_PAGES], z->min_unreserved + 1);
		z->nr_free = z->min_unreserved + 32 - 6272;
		zone_free_taken(z, 31);
		assert_int_equal(z->min_breach_pages, blind[i] == ESTIMATE_CHEAP ? 6272 - 1 : 0);
		bare_destroy(m, hw);
	}
}

TEST(seed_004_s_machine_has_the_thresholds_it_printed)
{
	/* min 2876 by itself; the printed marks are those of one of four nodes. */
	check_worked_row("6.18", 64, 1, 2068480, 2876, 4944, 7012, 13284, 98, 32);
	assert_int_equal(2 * fls(64) * (1 + fls64(2068480 >> 15)), 98);
}

static void scale_100(struct machine *m)
{
	m->knob.watermark_scale_factor = 100;
}

TEST(the_scale_factor_widens_the_gaps_of_newer_kernels)
{
	struct hw_machine *hw = bare_zones(2, 0, 524288, 0);
	struct machine *m = bare_create(hw, "6.18", scale_100);

	/* 1 % of 524288 */
	assert_int_equal(bare_zone(m, ZONE_DMA32)->_watermark[WMARK_LOW], 1448 + 5242);
	bare_destroy(m, hw);
	hw = bare_zones(2, 0, 524288, 0);
	m = bare_create(hw, "4.0", scale_100);
	assert_int_equal(bare_zone(m, ZONE_DMA32)->_watermark[WMARK_LOW], 1810);
	bare_destroy(m, hw);
}

TEST(inactive_ratio_grows_with_the_root_of_the_zone)
{
	assert_int_equal(zone_inactive_ratio(1), 1);
	assert_int_equal(zone_inactive_ratio(1UL << 18), 3);
	assert_int_equal(zone_inactive_ratio(10UL << 18), 10);
	assert_int_equal(zone_inactive_ratio(100UL << 18), 31);
	assert_int_equal(zone_inactive_ratio(1024UL << 18), 101);
}

TEST(totalreserve_is_high_marks_and_largest_reserves)
{
	struct hw_machine *hw = bare_zones(2, 3840, 772808, 163840);
	struct machine *m = bare_create(hw, "6.18", thp_madvise);

	/* DMA: 3658 + 102, DMA32: 640 + 20823, Normal: 4413, Movable has no pages. */
	assert_int_equal(m->totalreserve_pages, 3760 + 21463 + 4413);
	bare_destroy(m, hw);
}

static void no_reserve(struct machine *m)
{
	m->knob.lowmem_reserve_dma = 0;
	m->knob.lowmem_reserve_dma32 = 16;
}

TEST(lowmem_reserve_follows_its_ratios)
{
	struct hw_machine *hw = bare_zones(2, 3840, 772808, 163840);
	struct machine *m = bare_create(hw, "4.0", no_reserve);

	assert_int_equal(bare_zone(m, ZONE_DMA)->lowmem_reserve[ZONE_NORMAL], 0);
	assert_int_equal(bare_zone(m, ZONE_DMA32)->lowmem_reserve[ZONE_NORMAL], 163840 / 16);
	bare_destroy(m, hw);
}

/* ---- the test ---- */

static void decay(struct machine *m)
{
	m->knob.watermark_order = WMARK_ORDER_DECAY;
}

static void block(struct machine *m)
{
	m->knob.watermark_order = WMARK_ORDER_BLOCK;
}

/* A zone whose free lists hold what the test says. */
static struct zone fake_zone(struct machine *m, const unsigned long *nr_free, long reserve)
{
	struct zone z = {.machine = m};

	for (int o = 0; o < MAX_ORDER; o++)
		z.free_area[o].nr_free = nr_free[o];
	z.lowmem_reserve[ZONE_NORMAL] = reserve;
	return z;
}

TEST(a_request_needs_more_than_mark_and_reserve)
{
	static const unsigned long none[MAX_ORDER];
	struct hw_machine *hw = bare_zones(1, 0, 1024, 0);

	for (int era = 0; era < 2; era++) {
		struct machine *m = bare_create(hw, "4.0", era ? block : decay);
		struct zone z = fake_zone(m, none, 50);

		assert_false(__zone_watermark_ok(&z, 0, 100, ZONE_NORMAL, 0, 150));
		assert_true(__zone_watermark_ok(&z, 0, 100, ZONE_NORMAL, 0, 151));
		assert_true(__zone_watermark_ok(&z, 0, 100, ZONE_DMA, 0, 101));
		/* __GFP_HIGH: half of the mark; GFP_ATOMIC: three eighths. */
		assert_false(__zone_watermark_ok(&z, 0, 100, ZONE_NORMAL, ALLOC_HIGH, 100));
		assert_true(__zone_watermark_ok(&z, 0, 100, ZONE_NORMAL, ALLOC_HIGH, 101));
		assert_false(__zone_watermark_ok(&z, 0, 100, ZONE_NORMAL, ALLOC_HIGH | ALLOC_HARDER,
		                                 88));
		assert_true(__zone_watermark_ok(&z, 0, 100, ZONE_NORMAL, ALLOC_HIGH | ALLOC_HARDER,
		                                89));
		/* Not being able to wait counts by itself only in the older form. */
		assert_int_equal(__zone_watermark_ok(&z, 0, 100, ZONE_NORMAL, ALLOC_HARDER, 126),
		                 !era);
		assert_true(__zone_watermark_ok(&z, 0, 100, ZONE_NORMAL, ALLOC_OOM, 101));
		null_destroy(m->world);
		arena_destroy(&(struct arena){.base = m->arena.base, .size = m->arena.size});
	}
	null_hw_free(hw);
}

/* 1.4 written down once more, as it stands there. */
static bool model_ok(bool s, const unsigned long *nr_free, unsigned int order, long min,
                     long reserve, long free)
{
	free = free - (1L << order) + 1;
	if (free <= min + reserve)
		return false;
	if (s) {
		for (unsigned int o = 0; o < order; o++) {
			free -= (long)nr_free[o] << o;
			min >>= 1;
			if (free <= min)
				return false;
		}
		return true;
	}
	if (!order)
		return true;
	for (unsigned int o = order; o < MAX_ORDER; o++)
		if (nr_free[o])
			return true;
	return false;
}

TEST(the_test_for_blocks_agrees_with_its_description)
{
	struct hw_machine *hw = bare_zones(1, 0, 1024, 0);
	struct machine *m = bare_create(hw, "4.0", NULL);
	struct rand_stream r;

	rand_init(&r, test_seed(), 1, 0);
	for (int i = 0; i < 200000; i++) {
		bool s = rand_chance(&r, 1, 2);
		unsigned int order = (unsigned int)rand_below(&r, MAX_ORDER);
		long min = (long)rand_below(&r, 200);
		long reserve = (long)rand_below(&r, 50);
		unsigned long nr_free[MAX_ORDER];
		long free = 0;

		for (int o = 0; o < MAX_ORDER; o++) {
			nr_free[o] = rand_below(&r, 3);
			if (o && rand_chance(&r, o, MAX_ORDER))
				nr_free[o] = 0;
			free += (long)nr_free[o] << o;
		}

		struct zone z = fake_zone(m, nr_free, reserve);

		m->knob.watermark_order = s ? WMARK_ORDER_DECAY : WMARK_ORDER_BLOCK;
		assert_int_equal(
			__zone_watermark_ok(&z, order, (unsigned long)min, ZONE_NORMAL, 0, free),
			model_ok(s, nr_free, order, min, reserve, free));
	}
	bare_destroy(m, hw);
}

TEST(the_safe_test_counts_what_the_cheap_counter_misses)
{
	struct hw_machine *hw = bare_zones(64, 0, 0, 2097152);
	struct machine *m = bare_create(hw, "4.0", NULL);
	struct zone *z = bare_zone(m, ZONE_NORMAL);
	long cheap = (long)z->_watermark[WMARK_HIGH] + 1;

	/* All but what is just above high are gone, and 64 CPUs know of 5 more that are. */
	atomic_long_set(&z->stat.v[NR_FREE_PAGES], cheap);
	for (u32 cpu = 0; cpu < 64; cpu++) {
		null_set_cpu(m->world, cpu);
		mod_zone_state(z, NR_FREE_PAGES, -5);
	}
	assert_true(zone_watermark_ok(z, 0, wmark(z, WMARK_HIGH), ZONE_NORMAL, 0));
	assert_false(zone_watermark_ok_safe(z, 0, wmark(z, WMARK_HIGH), ZONE_NORMAL, 0));
	assert_true(zone_watermark_ok_safe(z, 0, wmark(z, WMARK_HIGH) - 320, ZONE_NORMAL, 0));
	bare_destroy(m, hw);
}

TEST(boost_goes_up_by_a_pageblock_to_one_and_a_half_high_marks)
{
	struct hw_machine *hw = bare_zones(1, 0, 0, 1 << 18);
	struct machine *m = bare_create(hw, "6.18", NULL);
	struct zone *z = bare_zone(m, ZONE_NORMAL);
	unsigned long most = z->_watermark[WMARK_HIGH] * 15000 / 10000;

	/* 1 GiB: min 1024, d = max(256, 262), high 1548; most 2322: four blocks and a piece. */
	assert_int_equal(most, 2322);
	boost_watermark(z, 0);
	assert_int_equal(z->watermark_boost, 512);
	assert_int_equal(wmark(z, WMARK_LOW), z->_watermark[WMARK_LOW] + 512);
	assert_false(z->flags & ZONE_BOOSTED_WATERMARK);
	boost_watermark(z, ALLOC_KSWAPD);
	assert_true(z->flags & ZONE_BOOSTED_WATERMARK);
	for (int i = 0; i < 10; i++)
		boost_watermark(z, 0);
	assert_int_equal(z->watermark_boost, most);
	bare_destroy(m, hw);
}

TEST(tiny_zones_and_older_kernels_are_not_boosted)
{
	struct hw_machine *hw = bare_zones(1, 0, 2047, 0);
	struct machine *m = bare_create(hw, "6.18", NULL);

	boost_watermark(bare_zone(m, ZONE_DMA32), 0);
	assert_int_equal(bare_zone(m, ZONE_DMA32)->watermark_boost, 0);
	bare_destroy(m, hw);
	hw = bare_zones(1, 0, 1 << 18, 0);
	m = bare_create(hw, "4.0", NULL);
	boost_watermark(bare_zone(m, ZONE_DMA32), 0);
	assert_int_equal(bare_zone(m, ZONE_DMA32)->watermark_boost, 0);
	bare_destroy(m, hw);
}

TEST_MAIN("watermark")
