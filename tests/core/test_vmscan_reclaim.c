/*
 * Direct reclaim and kswapd: what makes them begin, go on and stop, and who is throttled.
 *
 * Aim: each era counts its stalls, gives up and waits where Linux does. Method: tiny machines with a task
 * whose pages are all old, or with nothing to reclaim at all; the null world's clock says who has waited.
 */
#include "core/kswapd.c"
#include "core/vmscan.c"

#include "tests/core/vmscan_fixture.h"

/* ---- direct reclaim and kswapd ---- */

TEST(direct_reclaim_frees_pages_and_counts_a_stall)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 p = 0; p < 2; p++) {
		fix_start(1, 8192, preset[p], NULL);
		fix_swapon();
		fill(2000);
		make_old(2000);
		for (int i = 0; i < MAX_NR_ZONES; i++)
			fix.m->node[0].zone[i]._watermark[WMARK_HIGH] = 1 << 20;
		assert_true(try_to_free_pages(fix.m, GFP_HIGHUSER_MOVABLE, 0) >= 32);
		assert_int_equal(vm_event_zones(fix.m, ALLOCSTALL_DMA), 1);
		/* Counted for the highest zone the request may use. */
		assert_int_equal(
			fix_event(ZONE_EVENT(ALLOCSTALL_DMA, gfp_zone(GFP_HIGHUSER_MOVABLE))), 1);
		assert_true(vm_event_zones(fix.m, PGSTEAL_DIRECT_DMA) >= 32);
		assert_int_equal(vm_event_zones(fix.m, PGSCAN_KSWAPD_DMA), 0);
		lru_audit(fix.m);
		in_user();
		fix_audit();
		fix_stop();
	}
}

/* Nothing to reclaim: from priority 12 to 0 twice, which counts as two stalls. */
TEST(direct_reclaim_of_nothing_fails_after_two_walks)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 p = 0; p < 2; p++) {
		fix_start(1, 8192, preset[p], NULL);
		in_kernel();
		assert_int_equal(try_to_free_pages(fix.m, GFP_HIGHUSER_MOVABLE, 0), 0);
		assert_int_equal(vm_event_zones(fix.m, ALLOCSTALL_DMA), 2);
		row_stop();
	}
}

TEST(kswapd_reclaims_until_the_node_is_balanced)
{
	static const char *const preset[] = {"2.6.36", "3.1", "4.0", "6.18"};

	for (u32 p = 0; p < ARRAY_SIZE(preset); p++) {
		struct pglist_data *pgdat;

		fix_start(1, 8192, preset[p], NULL);
		fix_swapon();
		fill(3000);
		make_old(3000);
		pgdat = &fix.m->node[0];
		/* Both zones 300 pages short of their high marks. */
		for (int i = 0; i <= ZONE_DMA32; i++)
			pgdat->zone[i]._watermark[WMARK_HIGH] =
				zone_page_state_snapshot(&pgdat->zone[i], NR_FREE_PAGES) + 300;
		assert_false(null_run_task(&pgdat->kswapd->w)); /* until it sleeps */
		assert_true(fix_event(PAGEOUTRUN) >= 1);
		assert_true(fix_event(KSWAPD_HIGH_WMARK_HIT_QUICKLY) >= 1); /* no nap before */
		assert_true(vm_event_zones(fix.m, PGSTEAL_KSWAPD_DMA) >= 300);
		assert_int_equal(vm_event_zones(fix.m, PGSTEAL_DIRECT_DMA), 0);
		in_user();
		fix_stop();
	}
}

TEST(a_balanced_node_does_not_wake_kswapd)
{
	static const char *const preset[] = {"2.6.36", "3.1", "4.0", "6.18"};

	for (u32 p = 0; p < ARRAY_SIZE(preset); p++) {
		struct pglist_data *pgdat;

		fix_start(1, 8192, preset[p], NULL);
		in_kernel();
		pgdat = &fix.m->node[0];
		null_run_task(&pgdat->kswapd->w);
		wakeup_kswapd(fix.m, &pgdat->zone[ZONE_DMA32], 0, ZONE_MOVABLE);
		assert_int_equal(pgdat->kswapd->w.state, WORLD_TASK_INTERRUPTIBLE);
		pgdat->zone[ZONE_DMA]._watermark[WMARK_HIGH] = 1 << 20;
		pgdat->zone[ZONE_DMA32]._watermark[WMARK_HIGH] = 1 << 20;
		/* 2.6.36 looks at the low mark. */
		pgdat->zone[ZONE_DMA32]._watermark[WMARK_LOW] = 1 << 20;
		wakeup_kswapd(fix.m, &pgdat->zone[ZONE_DMA32], 0, ZONE_MOVABLE);
		assert_int_equal(pgdat->kswapd->w.state, WORLD_TASK_RUNNING);
		row_stop();
	}
}

/*
 * kswapd of 2.6.36 stops after 32 pages of a pass, and begins again at priority 12: each time counts
 * as a run. From 3.12 on it is one run, however long.
 */
TEST(kswapd_of_2_6_36_begins_again_until_all_zones_are_balanced)
{
	struct pglist_data *pgdat;

	fix_start(1, 8192, "2.6.36", NULL);
	fix_swapon();
	fill(3000);
	make_old(3000);
	pgdat = &fix.m->node[0];
	pgdat->zone[ZONE_DMA32]._watermark[WMARK_HIGH] =
		zone_page_state_snapshot(&pgdat->zone[ZONE_DMA32], NR_FREE_PAGES) + 300;
	null_run_task(&pgdat->kswapd->w);
	assert_true(fix_event(PAGEOUTRUN) > 1);
	assert_true(pgdat_balanced_2_6_36(pgdat, 0));
	in_user();
	fix_stop();
}

/* 16 runs without a page, and it leaves the node to direct reclaim (4.12). */
TEST(a_hopeless_kswapd_gives_up_today)
{
	struct pglist_data *pgdat;

	fix_start(1, 8192, "6.18", NULL);
	in_kernel();
	pgdat = &fix.m->node[0];
	for (int i = 0; i < MAX_NR_ZONES; i++)
		pgdat->zone[i]._watermark[WMARK_HIGH] = 1 << 20;
	assert_false(null_run_task(&pgdat->kswapd->w));
	assert_int_equal(pgdat->kswapd_failures, MAX_RECLAIM_RETRIES);
	assert_int_equal(fix_event(PAGEOUTRUN), MAX_RECLAIM_RETRIES);
	wakeup_kswapd(fix.m, &pgdat->zone[ZONE_DMA32], 0, ZONE_MOVABLE);
	assert_int_equal(pgdat->kswapd->w.state, WORLD_TASK_INTERRUPTIBLE);
	row_stop();
}

/* Of the file list, on which lazily freed pages are, nothing can be had but the last @nr pages. */
static void lock_lazy(u64 nr_pages, bool lock)
{
	for (u64 i = 0; i < nr_pages; i++) {
		u64 a = va + i * PAGE_SIZE;
		pte_t pte = *pt_entry(fix.m, pt_find(fix.m, fix.t->mm, a), a);

		if (lock)
			assert_true(trylock_page(fix.m, pfn_to_page(fix.m, pte_pfn(pte))));
		else
			unlock_page(fix.m, pfn_to_page(fix.m, pte_pfn(pte)));
	}
}

/*
 * 4,200 pages of files at priority 12 are enough for it to think that there are plenty, and to look at those
 * alone. It looks at others if a whole run has freed nothing, and not if most of a run has.
 */
TEST(today_kswapd_doubts_that_file_pages_are_plenty_if_a_whole_run_freed_nothing)
{
	const u64 nr_lazy = 4200;

	for (u64 nr_free = 0; nr_free <= 8; nr_free += 8) {
		struct pglist_data *pgdat;
		int order = 0;
		int zoneidx = ZONE_DMA32;

		fix_start(1, 16384, "6.18", NULL);
		fix_swapon();
		fill(nr_lazy + 1000);
		in_user();
		assert_int_equal(do_madvise(fix.m, va, nr_lazy * PAGE_SIZE, MM_MADV_FREE), 0);
		in_kernel();
		lru_add_drain(fix.m);
		make_old(nr_lazy + 1000);
		lock_lazy(nr_lazy - nr_free, true);
		pgdat = &fix.m->node[0];
		/* Each 10 pages short, which is less than there are pages of files. */
		for (int i = 0; i <= ZONE_DMA32; i++)
			pgdat->zone[i]._watermark[WMARK_HIGH] =
				zone_page_state_snapshot(&pgdat->zone[i], NR_FREE_PAGES) + 10;
		balance_pgdat_6_18(fix.m, pgdat, &order, &zoneidx);
		assert_int_equal(fix_event(PGLAZYFREED) > 0, nr_free > 0);
		assert_false(pgdat_balanced_6_18(pgdat, 0, zoneidx));
		assert_int_equal(fix_event(PGSCAN_ANON) > 0, !nr_free);
		lock_lazy(nr_lazy - nr_free, false);
		row_stop();
	}
}

/* ---- throttles ---- */

/* Isolated > inactive / 8: 4.0 waits a tenth of a second each time it looks; here for ever. */
TEST(too_many_isolated_pages_stop_direct_reclaim_but_not_kswapd)
{
	struct scan_control sc = new_sc();
	struct lruvec *lruvec;
	u64 before;

	fix_start(1, 4096, "6.18", NULL);
	fix_swapon();
	fill(80);
	lruvec = &fix.m->node[0].lruvec;
	mod_isolated(lruvec, LRU_INACTIVE_ANON, 10);
	assert_true(wait_too_many_isolated(fix.m, lruvec, false, &sc)); /* 10 <= 80 / 8 */
	mod_isolated(lruvec, LRU_INACTIVE_ANON, 3); /* more than a CPU keeps to itself */
	before = world_now();
	assert_false(wait_too_many_isolated(fix.m, lruvec, false, &sc));
	/* HZ/50 at 250 Hz: 5 ticks of 4 ms, and what is left of the present one. */
	assert_in_range(world_now() - before, 20000000, 24100000);
	sc.kswapd = true;
	assert_true(wait_too_many_isolated(fix.m, lruvec, false, &sc));
	sc.kswapd = false;
	sc.gfp = GFP_NOIO; /* may hold what those with I/O wait for: all of the list, 13 <= 80 */
	assert_true(wait_too_many_isolated(fix.m, lruvec, false, &sc));
	mod_isolated(lruvec, LRU_INACTIVE_ANON, -13);
	row_stop();
}

/* Counters stay as far off as they were when the test began. */
static void never_fold(struct knobs *k)
{
	k->stat_interval = 3600;
}

/* Less than half of the min marks free, and something to reclaim: wait for kswapd. */
TEST(direct_reclaimers_wait_while_reserves_are_low)
{
	struct pglist_data *pgdat;

	fix_start(1, 8192, "4.0", never_fold);
	fix_swapon();
	fill(100);
	pgdat = &fix.m->node[0];
	assert_true(allow_direct_reclaim(fix.m, pgdat));
	null_run_task(&pgdat->kswapd->w);
	pgdat->zone[ZONE_DMA32]._watermark[WMARK_MIN] = 1 << 20;
	assert_false(allow_direct_reclaim(fix.m, pgdat));
	assert_int_equal(pgdat->kswapd->w.state, WORLD_TASK_RUNNING);
	/* A killed task does not wait. */
	fix.t->w.signal = true;
	assert_false(throttle_direct_reclaim(fix.m, GFP_KERNEL));
	fix.t->w.signal = false;
	/* Without __GFP_FS at most a second. */
	assert_false(throttle_direct_reclaim(fix.m, GFP_NOFS));
	assert_int_equal(fix_event(PGSCAN_DIRECT_THROTTLE), 1);
	row_stop();
}

TEST(writes_that_end_wake_those_who_wait_for_writeback)
{
	struct pglist_data *pgdat;
	struct page *page;

	fix_start(1, 4096, "6.18", NULL);
	fix_swapon();
	fill(1);
	pgdat = &fix.m->node[0];
	page = fix_page(fix.t, va);
	pgdat->nr_writeback_throttled.v = 1;
	pgdat->nr_reclaim_start = 0;
	for (u32 i = 0; i < 32; i++)
		acct_reclaim_writeback(fix.m, page);
	assert_int_equal(stat_exact(fix.m, &pgdat->stat, NR_THROTTLED_WRITTEN), 32);
	pgdat->nr_writeback_throttled.v = 0;
	acct_reclaim_writeback(fix.m, page); /* nobody waits: not counted */
	assert_int_equal(stat_exact(fix.m, &pgdat->stat, NR_THROTTLED_WRITTEN), 32);
	row_stop();
}

/* congestion_wait() sleeps whether or not anything is congested; wait_iff_congested() only then. */
TEST(congestion_waits_last_until_a_disk_is_free_or_the_time_is_over)
{
	struct zone *z;
	u64 before;

	fix_start(1, 4096, "4.0", NULL);
	in_kernel();
	z = &fix.m->node[0].zone[0];
	before = world_now();
	congestion_wait(fix.m, true, 25);
	assert_in_range(world_now() - before, 100000000, 104000000);
	before = world_now();
	wait_iff_congested(fix.m, z, true, 25);
	z->flags |= ZONE_CONGESTED;
	wait_iff_congested(fix.m, z, true, 25);
	assert_true(world_now() - before < 1000000);
	null_set_congested(fix.w, false, true);
	wait_iff_congested(fix.m, z, true, 25);
	assert_in_range(world_now() - before, 100000000, 108000000);
	null_set_congested(fix.w, false, false);
	row_stop();
}

/* Else somebody who is throttled until half of its min mark is free is never told that it is (6.13). */
TEST(a_zone_of_free_pages_alone_counts_them_today)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 p = 0; p < 2; p++) {
		struct zone *z;

		fix_start(1, 4096, preset[p], NULL);
		in_kernel();
		z = &fix.m->node[0].zone[0];
		assert_int_equal(zone_reclaimable_pages(z), p ? nr_free_pages(fix.m) : 0);
		assert_true(nr_free_pages(fix.m) > 2048);
		row_stop();
	}
}

TEST_MAIN("vmscan_reclaim")
