/*
 * How far reclaim scans each list, and when it stops.
 *
 * Aim: the arithmetic of the balance is the documented one, in each era's form. Method: lists that have
 * a size and no pages are given to the functions that divide the scan; the expected numbers are worked
 * out by hand in comments.
 */
#include "core/vmscan.c"
#include "core/vmscan_balance.c"

#include "tests/core/vmscan_fixture.h"

/* ---- the balance, 4.0 ---- */

static struct lruvec fake;

/* Sizes of the four lists on a zone of their own; no counters behind them. */
static struct lruvec *fake_lists(struct zone *zone, unsigned long ia, unsigned long aa,
                                 unsigned long in_f, unsigned long af)
{
	memset(&fake, 0, sizeof(fake));
	spin_lock_init(fix.w, &fake.lru_lock, LOCK_LRU);
	fake.size[LRU_INACTIVE_ANON] = ia;
	fake.size[LRU_ACTIVE_ANON] = aa;
	fake.size[LRU_INACTIVE_FILE] = in_f;
	fake.size[LRU_ACTIVE_FILE] = af;
	fake.zone = zone;
	fake.pgdat = &fix.m->node[0];
	return &fake;
}

static struct zone *balance_start(const char *preset)
{
	fix_start(1, 8192, preset, NULL);
	fix_swapon();
	in_kernel();
	return &fix.m->node[0].zone[ZONE_DMA32];
}

/* Free is far above high, and there are no file pages: "plenty of inactive cache", which is none. */
TEST(with_free_memory_4_0_scans_file_pages_even_if_there_are_none)
{
	struct zone *z = balance_start("4.0");
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];

	get_scan_count_recent(fix.m, fake_lists(z, 40960, 40960, 0, 0), &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 0);
	assert_int_equal(nr[LRU_ACTIVE_ANON], 0);
	row_stop();
}

/* file 0 + free <= high: anonymous pages only, a 4096th of each list: 40960 >> 12 = 10. */
TEST(when_free_and_file_are_below_high_4_0_scans_anonymous_pages)
{
	struct zone *z = balance_start("4.0");
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];

	z->_watermark[WMARK_HIGH] = 1 << 20;
	get_scan_count_recent(fix.m, fake_lists(z, 40960, 8192, 4096, 0), &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 10);
	assert_int_equal(nr[LRU_ACTIVE_ANON], 2);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 0);
	row_stop();
}

/*
 * File inactive is low (active 8192 > inactive 4096), so both are scanned. Anon 40960 in all: 20000
 * scanned is more than a quarter, halved to 10000, rotated 4000 to 2000. File 12288: 3000 scanned is
 * no more than a quarter (3072); 999 rotated.
 * ap = 60 * 10001 / 2001 = 299;  fp = 140 * 3001 / 1000 = 420;  denominator 299 + 420 + 1 = 720.
 * At priority 2: anon 40960 >> 2 = 10240 * 299 / 720 = 4252;  file 4096 >> 2 = 1024 * 420 / 720 = 597
 * and 8192 >> 2 = 2048 * 420 / 720 = 1194.
 */
TEST(the_fractions_of_4_0)
{
	struct zone *z = balance_start("4.0");
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];
	struct lruvec *l = fake_lists(z, 40960, 0, 4096, 8192);

	l->reclaim_stat = (struct zone_reclaim_stat){{4000, 999}, {20000, 3000}};
	sc.priority = 2;
	get_scan_count_recent(fix.m, l, &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 4252);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 597);
	assert_int_equal(nr[LRU_ACTIVE_FILE], 1194);
	assert_int_equal(l->reclaim_stat.recent_scanned[0], 10000);
	assert_int_equal(l->reclaim_stat.recent_rotated[0], 2000);
	assert_int_equal(l->reclaim_stat.recent_scanned[1], 3000);
	row_stop();
}

/*
 * The same numbers, and each swappiness counts one more: ap = 61 * 10001 / 2001 = 304;
 * fp = 141 * 3001 / 1000 = 423; sum 728. At priority 2: anon 10240 * 304 / 728 = 4276; file
 * 1024 * 423 / 728 = 594 and 2048 * 423 / 728 = 1189. At priority 12 anon is 10 * 304 / 728 = 4 pages,
 * which come together as 32 at the eighth time.
 */
TEST(the_fractions_of_2_6_36_and_what_it_saves_for_later)
{
	struct zone *z = balance_start("2.6.36");
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];
	struct lruvec *l = fake_lists(z, 40960, 0, 4096, 8192);

	l->reclaim_stat = (struct zone_reclaim_stat){{4000, 999}, {20000, 3000}};
	sc.priority = 2;
	get_scan_count_batched(fix.m, l, &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 4276);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 594);
	assert_int_equal(nr[LRU_ACTIVE_FILE], 1189);
	sc.priority = DEF_PRIORITY;
	for (u32 i = 1; i <= 8; i++) {
		get_scan_count_batched(fix.m, l, &sc, nr);
		assert_int_equal(nr[LRU_INACTIVE_ANON], i < 8 ? 0 : 32);
	}
	row_stop();
}

TEST(priority_0_scans_all_of_every_list)
{
	struct zone *z = balance_start("4.0");
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];

	sc.priority = 0;
	get_scan_count_recent(fix.m, fake_lists(z, 11, 12, 13, 14), &sc, nr);
	for (u32 l = 0; l < 4; l++)
		assert_int_equal(nr[l], 11 + l);
	row_stop();
}

TEST(without_swap_only_file_pages_are_scanned)
{
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];

	fix_start(1, 8192, "4.0", NULL);
	in_kernel();
	sc.priority = 0;
	get_scan_count_recent(fix.m, fake_lists(&fix.m->node[0].zone[1], 11, 12, 13, 14), &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 0);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 13);
	row_stop();
}

/* ---- the balance, today ---- */

/*
 * anon cost 300, file cost 100: total 400, ac = 700, fc = 500, total 1200.
 * ap = 60 * 1201 / 701 = 102;  fp = 140 * 1201 / 501 = 335;  sum 437.
 * Per-zone lists are used here, so that sizes can be given: 43700 >> 0 ... at priority 1:
 * anon 43700 >> 1 = 21850 * 102 / 437 = 5100;  file 8740 >> 1 = 4370 * 335 / 437 = 3350.
 */
TEST(the_fractions_of_today)
{
	struct zone *z = balance_start("6.18");
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];

	sc.priority = 1;
	sc.anon_cost = 300;
	sc.file_cost = 100;
	get_scan_count_cost(fix.m, fake_lists(z, 43700, 0, 8740, 0), &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 5100);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 3350);
	sc.file_is_tiny = true;
	get_scan_count_cost(fix.m, &fake, &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 21850);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 0);
	sc.file_is_tiny = false;
	sc.cache_trim_mode = true;
	get_scan_count_cost(fix.m, &fake, &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 0);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 4370);
	row_stop();
}

/* 3 pages of I/O and 10 rotated: 3 * 32 + 10 = 106; above a quarter of 400 pages both are halved. */
TEST(costs_are_noted_and_fade)
{
	struct zone *z = balance_start("6.18");
	struct lruvec *l = fake_lists(z, 400, 0, 40, 0);

	lru_note_cost(l, false, 3, 10); /* 106 <= 110 */
	assert_int_equal(l->anon_cost, 106);
	lru_note_cost(l, true, 0, 6); /* 112 > 110 */
	assert_int_equal(l->anon_cost, 53);
	assert_int_equal(l->file_cost, 3);
	row_stop();
}

TEST(refaults_since_the_last_round_allow_deactivation)
{
	struct scan_control sc = new_sc();
	struct lruvec *lruvec;

	fix_start(1, 4096, "6.18", NULL);
	fix_swapon();
	fill(40);
	lruvec = &fix.m->node[0].lruvec;
	prepare_scan_control(fix.m, lruvec, &sc);
	assert_int_equal(sc.may_deactivate, 0); /* 40 inactive, none active: not low */
	mod_node_state(&fix.m->node[0].zone[0], WORKINGSET_ACTIVATE_ANON, 100);
	prepare_scan_control(fix.m, lruvec, &sc);
	assert_int_equal(sc.may_deactivate, DEACTIVATE_ANON);
	snapshot_refaults(fix.m, &fix.m->node[0]);
	prepare_scan_control(fix.m, lruvec, &sc);
	assert_int_equal(sc.may_deactivate, 0);
	sc.force_deactivate = true;
	prepare_scan_control(fix.m, lruvec, &sc);
	assert_int_equal(sc.may_deactivate, DEACTIVATE_ANON | DEACTIVATE_FILE);
	row_stop();
}

/* int_sqrt(10 * GiB), and 1 below one GiB. */
TEST(inactive_ratios_are_those_of_the_table)
{
	static const struct {
		unsigned long gib;
		unsigned long ratio;
	} row[] = {{0, 1}, {1, 3}, {4, 6}, {10, 10}, {32, 17}, {100, 31}, {1024, 101}, {4096, 202}};

	for (u32 i = 0; i < ARRAY_SIZE(row); i++)
		assert_int_equal(inactive_ratio_of(row[i].gib << 18), row[i].ratio);
}

TEST(inactive_lists_are_low_by_ratio)
{
	struct zone *z = balance_start("4.0");

	z->inactive_ratio = 3;
	assert_false(inactive_is_low(fix.m, fake_lists(z, 100, 300, 100, 100), LRU_INACTIVE_ANON));
	assert_true(inactive_is_low(fix.m, fake_lists(z, 100, 301, 100, 100), LRU_INACTIVE_ANON));
	assert_false(inactive_is_low(fix.m, fake_lists(z, 0, 0, 100, 100), LRU_INACTIVE_FILE));
	assert_true(inactive_is_low(fix.m, fake_lists(z, 0, 0, 100, 101), LRU_INACTIVE_FILE));
	/* Today by the lists' own size: 400 pages are less than 1 GiB, ratio 1. */
	assert_true(inactive_is_low(fix.m, fake_lists(NULL, 199, 201, 0, 0), LRU_INACTIVE_ANON));
	row_stop();
}

/* ---- proportional stop ---- */

/*
 * Targets anon 100 + 100, file 400 + 400; left when enough is reclaimed: anon 40 + 0, file 300 + 200.
 * Anon has less left (40 against 500): percentage left = 40 * 100 / (200 + 1) = 19. File shall be
 * scanned to 81 %: 400 * 81 / 100 = 324, less the 100 done = 224; active 324 - 200 = 124.
 */
TEST(the_larger_type_goes_on_to_the_proportion_the_smaller_reached)
{
	unsigned long targets[NR_LRU_LISTS] = {100, 100, 400, 400};
	unsigned long nr[NR_LRU_LISTS] = {40, 0, 300, 200};

	assert_true(scale_to_proportion(targets, nr));
	assert_int_equal(nr[LRU_INACTIVE_ANON], 0);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 224);
	assert_int_equal(nr[LRU_ACTIVE_FILE], 124);
	nr[LRU_INACTIVE_FILE] = 0;
	nr[LRU_ACTIVE_FILE] = 0;
	assert_false(scale_to_proportion(targets, nr));
}

TEST_MAIN("vmscan_balance")
