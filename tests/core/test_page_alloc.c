/*
 * The allocator's front and its slow path: which zone gives, when reclaim is asked, who may use the
 * reserves, and what a free checks.
 */
#include "tests/core/bare.h"

#include "core/alloc_slowpath.c"
#include "core/page_alloc.c"

static u64 zone_events(struct machine *m, enum zone_type type)
{
	return vm_event_sum(m, ZONE_EVENT(PGALLOC_DMA, type));
}

static struct page *user_page(struct machine *m)
{
	return alloc_page(m, GFP_HIGHUSER_MOVABLE);
}

/* Per-CPU lists of next to nothing, so that counts are exact. */
static void one_by_one(struct machine *m)
{
	m->knob.pcp_high_fraction = 1 << 20;
}

/* ---- requests ---- */

TEST(zone_bits_say_which_zone_may_be_used)
{
	assert_int_equal(gfp_zone(GFP_KERNEL), ZONE_NORMAL);
	assert_int_equal(gfp_zone(GFP_KERNEL | __GFP_DMA), ZONE_DMA);
	assert_int_equal(gfp_zone(GFP_KERNEL | __GFP_DMA32), ZONE_DMA32);
	assert_int_equal(gfp_zone(GFP_HIGHUSER_MOVABLE), ZONE_MOVABLE);
	assert_int_equal(gfp_zone(__GFP_HIGHMEM), ZONE_NORMAL);
	assert_int_equal(gfp_zone(__GFP_MOVABLE), ZONE_NORMAL);
	assert_int_equal(gfp_zone(GFP_ATOMIC), ZONE_NORMAL);
}

TEST(a_new_page_is_blank_and_has_one_reference)
{
	struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
	struct machine *m = bare_create(hw, "6.18", NULL);
	struct page *p = alloc_pages(m, GFP_KERNEL, 2);

	assert_int_equal(p->refcount, 1);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(p[i].flags, page_zone(m, p)->page_flags);
		assert_int_equal(p[i].mapcount, 0);
		assert_int_equal(p[i].mapping, 0);
	}
	assert_int_equal(zone_events(m, ZONE_DMA32), 4);
	__free_pages(m, p, 2);
	assert_int_equal(vm_event_sum(m, PGFREE), 4);
	assert_null(alloc_pages(m, GFP_KERNEL, MAX_ORDER));
	page_alloc_audit(m);
	bare_destroy(m, hw);
}

TEST(a_zeroed_page_is_cleared_frame_by_frame)
{
	struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
	struct machine *m = bare_create(hw, "4.0", NULL);

	m->world->check = true;
	__free_pages(m, alloc_pages(m, GFP_KERNEL | __GFP_ZERO, 3), 3);
	assert_int_equal(null_stats(m->world)->nr_cleared, 8);
	assert_int_equal(null_stats(m->world)->nr_freed, 8);
	bare_destroy(m, hw);
}

/* ---- which zone ---- */

TEST(dma_keeps_its_reserve_from_those_who_could_use_more)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw = bare_zones(1, 3840, 65536, 0);
		struct machine *m = bare_create(hw, era ? "6.18" : "4.0", NULL);
		struct zone *dma = bare_zone(m, ZONE_DMA);
		u64 left;

		while (user_page(m))
			;
		/* 65536 / 256 = 256 pages stay, and what is below the min mark. */
		left = buddy_count_free(dma);
		assert_int_equal(dma->lowmem_reserve[ZONE_DMA32], 256);
		assert_true(left <= 256 + dma->_watermark[WMARK_MIN]);
		assert_true(left + (u64)dma->pcp_batch * 32 >= 256 + dma->_watermark[WMARK_MIN]);
		/* They are there for those who can use nothing else. */
		assert_non_null(alloc_page(m, GFP_KERNEL | __GFP_DMA));
		bare_destroy(m, hw);
	}
}

TEST(in_4_0_the_zones_of_a_node_take_turns)
{
	struct hw_machine *hw = bare_zones(1, 0, 131072, 131072);
	struct machine *m = bare_create(hw, "4.0", NULL);
	u64 dma32, normal;

	for (int i = 0; i < 100000; i++)
		assert_non_null(user_page(m));
	dma32 = zone_events(m, ZONE_DMA32);
	normal = zone_events(m, ZONE_NORMAL);
	/* Equal zones: equal shares, but for one unfinished round and its drift. */
	assert_int_equal(dma32 + normal, 100000);
	assert_in_range(dma32, 49000, 51000);
	assert_int_equal(bare_reclaim.nr_kswapd_wakes, 0);
	bare_destroy(m, hw);
}

TEST(in_6_18_the_highest_zone_is_used_up_first)
{
	struct hw_machine *hw = bare_zones(1, 0, 131072, 131072);
	struct machine *m = bare_create(hw, "6.18", NULL);

	for (int i = 0; i < 100000; i++)
		assert_non_null(user_page(m));
	assert_int_equal(zone_events(m, ZONE_NORMAL), 100000);
	bare_destroy(m, hw);
}

TEST(a_full_node_spills_to_the_next_before_kswapd_wakes)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw = null_hw(2, 2, 64);
		struct machine *m;
		u64 miss, foreign;

		for (u32 i = 0; i < 2; i++) {
			hw->range[i] = (struct hw_range){(1 << 20) + i * 16384, 16384, 0, (u16)i};
			hw->cpu[i].node = (u16)i;
		}
		hw->nr_ranges = 2;
		m = bare_create(hw, era ? "6.18" : "4.0", one_by_one);
		while (!bare_reclaim.nr_kswapd_wakes)
			assert_non_null(user_page(m));
		miss = (u64)stat_exact(m, &m->node[1].zone[ZONE_NORMAL].stat, NUMA_MISS);
		foreign = (u64)stat_exact(m, &m->node[0].zone[ZONE_NORMAL].stat, NUMA_FOREIGN);
		assert_true(miss > 15000);
		assert_int_equal(miss, foreign);
		assert_int_equal(stat_exact(m, &m->node[1].zone[ZONE_NORMAL].stat, NUMA_OTHER),
		                 miss);
		assert_int_equal(stat_exact(m, &m->node[0].zone[ZONE_NORMAL].stat, NUMA_HIT),
		                 stat_exact(m, &m->node[0].zone[ZONE_NORMAL].stat, NUMA_LOCAL));
		bare_destroy(m, hw);
	}
}

TEST(thisnode_stays_on_its_node)
{
	struct hw_machine *hw = null_hw(2, 2, 64);
	struct machine *m;
	struct page *p;

	for (u32 i = 0; i < 2; i++)
		hw->range[i] = (struct hw_range){(1 << 20) + i * 16384, 16384, 0, (u16)i};
	hw->nr_ranges = 2;
	m = bare_create(hw, "4.0", NULL);
	while ((p = alloc_page(m, GFP_NOWAIT | __GFP_THISNODE)))
		assert_int_equal(page_nid(p), 0);
	p = alloc_page(m, GFP_NOWAIT);
	assert_int_equal(page_nid(p), 1);
	bare_destroy(m, hw);
}

/* ---- marks and reserves ---- */

/* Frames left when requests under @gfp begin to fail. */
static u64 left_after(struct machine *m, gfp_t gfp)
{
	while (alloc_page(m, gfp | __GFP_NOWARN))
		;
	return (u64)stat_exact(m, &bare_zone(m, ZONE_DMA32)->stat, NR_FREE_PAGES);
}

TEST(each_kind_of_request_stops_at_its_own_mark)
{
	struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
	struct machine *m = bare_create(hw, "4.0", one_by_one);
	unsigned long min = bare_zone(m, ZONE_DMA32)->_watermark[WMARK_MIN];
	u64 drift = bare_zone(m, ZONE_DMA32)->threshold_normal;

	assert_int_equal(min, 256);
	/* GFP_NOWAIT may not wait, and has a quarter; GFP_ATOMIC a half and a quarter of that. */
	assert_in_range(left_after(m, GFP_KERNEL), min - drift, min);
	assert_in_range(left_after(m, GFP_NOWAIT), min * 3 / 4 - drift, min * 3 / 4);
	assert_in_range(left_after(m, GFP_ATOMIC), min * 3 / 8 - drift, min * 3 / 8);
	assert_int_equal(left_after(m, GFP_KERNEL | __GFP_MEMALLOC), 0);
	bare_destroy(m, hw);

	hw = bare_zones(1, 0, 16384, 0);
	m = bare_create(hw, "6.18", one_by_one);
	/* Here not being able to wait gives nothing without __GFP_HIGH. A list holds up to 12. */
	assert_in_range(left_after(m, GFP_NOWAIT), min - 12 - drift, min);
	assert_in_range(left_after(m, GFP_ATOMIC), min * 3 / 8 - 12 - drift, min * 3 / 8);
	assert_int_equal(left_after(m, GFP_KERNEL | __GFP_MEMALLOC), 0);
	bare_destroy(m, hw);
}

/* ---- a task to run as ---- */

static struct task test_task;

static struct task *become_task(struct machine *m, u32 flags)
{
	memset(&test_task, 0, sizeof(test_task));
	world_task_init(m->world, &test_task.w, "taker", WORLD_TASK_KTHREAD, WORLD_STACK_KERNEL,
	                NULL, NULL);
	test_task.machine = m;
	test_task.flags = flags;
	null_set_task(m->world, &test_task.w);
	return &test_task;
}

static void end_task(struct machine *m)
{
	null_set_task(m->world, NULL);
	world_task_free(m->world, &test_task.w);
}

TEST(an_oom_victim_has_all_reserves_or_half_of_min)
{
	struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
	struct machine *m = bare_create(hw, "4.0", one_by_one);

	become_task(m, TIF_MEMDIE);
	assert_int_equal(left_after(m, GFP_KERNEL), 0);
	end_task(m);
	bare_destroy(m, hw);

	hw = bare_zones(1, 0, 16384, 0);
	m = bare_create(hw, "6.18", one_by_one);
	become_task(m, TIF_MEMDIE);
	/* Unless it must not. */
	assert_in_range(left_after(m, GFP_KERNEL | __GFP_NOMEMALLOC), 256 - 24, 256);
	assert_in_range(left_after(m, GFP_KERNEL), 128 - 24, 128);
	end_task(m);
	bare_destroy(m, hw);
}

/* ---- slow path ---- */

static struct page *kept[20000];
static u32 nr_kept;

/* Reclaim that frees up to 32 of the pages kept. */
static unsigned long free_some(struct machine *m, gfp_t gfp, unsigned int order)
{
	unsigned long nr = 0;

	(void)gfp, (void)order;
	assert_true(current_flags(m) & PF_MEMALLOC);
	for (; nr < 32 && nr_kept; nr++)
		__free_pages(m, kept[--nr_kept], 0);
	return nr;
}

static void keep_all(struct machine *m)
{
	struct page *p;

	nr_kept = 0;
	while ((p = alloc_page(m, GFP_NOWAIT | __GFP_NOMEMALLOC)))
		kept[nr_kept++] = p;
}

TEST(reclaim_is_asked_when_the_min_mark_is_reached_and_its_pages_are_found)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
		struct machine *m = bare_create(hw, era ? "6.18" : "4.0", NULL);

		keep_all(m);
		become_task(m, 0);
		bare_reclaim.reclaim = free_some;
		bare_reclaim.reclaimable = 1000;
		bare_reclaim.nr_reclaims = bare_reclaim.nr_kswapd_wakes = 0;
		for (int i = 0; i < 100; i++)
			assert_non_null(user_page(m));
		assert_true(bare_reclaim.nr_reclaims >= 3);
		assert_true(bare_reclaim.nr_kswapd_wakes >= bare_reclaim.nr_reclaims);
		assert_int_equal(bare_reclaim.nr_oom, 0);
		assert_false(current_flags(m) & PF_MEMALLOC);
		assert_true(m->world->ledger.hist[HIST_ALLOC_SLOW].count > 0);
		end_task(m);
		page_alloc_audit(m);
		bare_destroy(m, hw);
	}
}

/* Reclaim that reports progress twice before anybody sees a page. */
static unsigned long free_third_time(struct machine *m, gfp_t gfp, unsigned int order)
{
	return bare_reclaim.nr_reclaims < 3 ? 32 : free_some(m, gfp, order);
}

TEST(kswapd_is_woken_once_a_request_or_from_3_19_on_before_each_round)
{
	static const char *const preset[] = {"2.6.36", "3.16", "4.0"};

	for (u32 p = 0; p < ARRAY_SIZE(preset); p++) {
		struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
		struct machine *m = bare_create(hw, preset[p], NULL);

		keep_all(m);
		become_task(m, 0);
		while (alloc_page(m, GFP_ATOMIC | __GFP_NOMEMALLOC))
			;
		bare_reclaim.reclaim = free_third_time;
		bare_reclaim.nr_reclaims = bare_reclaim.nr_kswapd_wakes = 0;
		bare_reclaim.nr_congestion_waits = 0;
		assert_non_null(alloc_page(m, GFP_KERNEL));
		/* How often after the third depends on how far the zone was below min. */
		assert_true(bare_reclaim.nr_reclaims >= 3);
		assert_int_equal(bare_reclaim.nr_kswapd_wakes,
		                 p < 2 ? 1 : bare_reclaim.nr_reclaims);
		assert_int_equal(bare_reclaim.nr_congestion_waits, bare_reclaim.nr_reclaims - 1);
		end_task(m);
		bare_destroy(m, hw);
	}
}

/* Reclaim whose pages end in the list of CPU 1, where CPU 0 does not see them. */
static unsigned long free_elsewhere(struct machine *m, gfp_t gfp, unsigned int order)
{
	unsigned long nr;

	(void)gfp, (void)order;
	null_set_cpu(m->world, 1);
	for (nr = 0; nr < 12 && nr_kept; nr++)
		__free_pages(m, kept[--nr_kept], 0);
	null_set_cpu(m->world, 0);
	null_set_task(m->world, &test_task.w);
	return nr;
}

TEST(pages_in_other_cpus_lists_are_drained_once_before_another_round)
{
	struct hw_machine *hw = bare_zones(2, 0, 16384, 0);
	struct machine *m = bare_create(hw, "4.0", NULL);

	keep_all(m);
	become_task(m, 0);
	bare_reclaim.reclaim = free_elsewhere;
	bare_reclaim.nr_reclaims = 0;
	drain_all_pages(m);
	while (buddy_count_free(bare_zone(m, ZONE_DMA32)) >
	       bare_zone(m, ZONE_DMA32)->_watermark[WMARK_MIN])
		assert_non_null(alloc_page(m, GFP_KERNEL));
	null_stats(m->world)->nr_ipis = 0;
	for (int i = 0; i < 20 && !null_stats(m->world)->nr_ipis; i++)
		assert_non_null(alloc_page(m, GFP_KERNEL));
	assert_true(null_stats(m->world)->nr_ipis > 0);
	assert_int_equal(bare_reclaim.nr_oom, 0);
	end_task(m);
	bare_destroy(m, hw);
}

TEST(whoever_may_not_wait_or_is_reclaiming_gets_no_reclaim)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
		struct machine *m = bare_create(hw, era ? "6.18" : "4.0", NULL);
		u64 asked;

		keep_all(m);
		become_task(m, PF_MEMALLOC);
		bare_reclaim.nr_reclaims = 0;
		/* Reserves to the last page, and then failure. */
		while (alloc_page(m, GFP_KERNEL))
			;
		assert_int_equal(buddy_count_free(bare_zone(m, ZONE_DMA32)), 0);
		test_task.flags = 0;
		assert_null(alloc_page(m, GFP_ATOMIC));
		world_irq_save();
		assert_null(alloc_page(m, GFP_KERNEL));
		world_irq_restore();
		assert_int_equal(bare_reclaim.nr_reclaims, 0);
		assert_null(alloc_page(m, GFP_KERNEL | __GFP_NORETRY));
		asked = bare_reclaim.nr_reclaims;
		assert_int_equal(asked, 1);
		assert_int_equal(bare_reclaim.nr_oom, 0);
		/* A costly order is not worth an OOM kill, nor a second round. */
		assert_null(alloc_pages(m, GFP_KERNEL, 4));
		assert_int_equal(bare_reclaim.nr_reclaims, asked + 1);
		assert_int_equal(bare_reclaim.nr_oom, 0);
		end_task(m);
		bare_destroy(m, hw);
	}
}

static u32 nr_rounds;

/* The OOM killer finds somebody the third time; its pages come back. */
static bool kill_third(struct machine *m)
{
	if (++nr_rounds < 3)
		return true;
	for (int i = 0; i < 1000 && nr_kept; i++)
		__free_pages(m, kept[--nr_kept], 0);
	return true;
}

TEST(out_of_memory_is_reached_without_progress_and_the_request_goes_on_after_a_kill)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
		struct machine *m = bare_create(hw, era ? "6.18" : "4.0", NULL);

		keep_all(m);
		become_task(m, 0);
		bare_reclaim.oom = kill_third;
		bare_reclaim.nr_reclaims = 0;
		nr_rounds = 0;
		while (nr_rounds < 3)
			assert_non_null(alloc_page(m, GFP_KERNEL));
		assert_int_equal(bare_reclaim.nr_oom, 3);
		assert_int_equal(bare_reclaim.nr_reclaims, 3);
		/* Only the older form rests between rounds. */
		assert_int_equal(bare_reclaim.nr_congestion_waits, era ? 0 : 3);
		assert_int_equal(m->oom_lock.sem.writer == NULL, 1);
		end_task(m);
		bare_destroy(m, hw);
	}
}

TEST(nothing_to_kill_means_failure)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
		struct machine *m = bare_create(hw, era ? "6.18" : "4.0", NULL);

		keep_all(m);
		become_task(m, 0);
		while (alloc_page(m, GFP_KERNEL))
			;
		assert_int_equal(bare_reclaim.nr_oom, 1);
		/* Requests for low memory kill nobody. */
		while (alloc_page(m, GFP_KERNEL | __GFP_DMA32))
			;
		assert_int_equal(bare_reclaim.nr_oom, 1);
		end_task(m);
		bare_destroy(m, hw);
	}
}

/* Without __GFP_FS nobody is killed; the request loops until others have freed something. */
static unsigned long free_at_last(struct machine *m, gfp_t gfp, unsigned int order)
{
	return ++nr_rounds < 5 ? 0 : free_some(m, gfp, order);
}

TEST(a_request_that_may_not_enter_file_systems_loops_without_killing)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
		struct machine *m = bare_create(hw, era ? "6.18" : "4.0", NULL);

		keep_all(m);
		become_task(m, 0);
		bare_reclaim.reclaim = free_at_last;
		nr_rounds = 0;
		while (nr_rounds < 5)
			assert_non_null(alloc_page(m, GFP_NOFS));
		assert_int_equal(bare_reclaim.nr_oom, 0);
		end_task(m);
		bare_destroy(m, hw);
	}
}

TEST(in_6_18_a_hopeful_request_retries_sixteen_times)
{
	struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
	struct machine *m = bare_create(hw, "6.18", NULL);

	keep_all(m);
	become_task(m, 0);
	bare_reclaim.reclaimable = 10000;
	while (alloc_page(m, GFP_KERNEL))
		;
	/* One round and MAX_RECLAIM_RETRIES more, each without progress. */
	assert_int_equal(bare_reclaim.nr_reclaims, 17);
	assert_int_equal(bare_reclaim.nr_oom, 1);
	end_task(m);
	bare_destroy(m, hw);
}

TEST(who_finds_another_at_the_oom_killer_sleeps_a_tick_and_tries_again)
{
	struct hw_machine *hw = bare_zones(2, 0, 16384, 0);
	struct machine *m = bare_create(hw, "6.18", NULL);
	struct alloc_state s = {.gfp = GFP_KERNEL, .progress = 0};
	u64 before;

	mutex_lock(&m->oom_lock);
	before = world_now();
	assert_null(alloc_may_oom(m, &s));
	assert_int_equal(s.progress, 1);
	assert_true(world_now() - before >= m->world->ns_per_tick);
	assert_int_equal(bare_reclaim.nr_oom, 0);
	mutex_unlock(&m->oom_lock);
	bare_destroy(m, hw);
}

TEST(injected_failures_come_when_asked_for)
{
	struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
	struct machine *m = bare_create(hw, "4.0", NULL);
	int failed = 0;

	m->world->fail_every[WORLD_FAIL_PAGE_ALLOC] = 3;
	for (int i = 0; i < 30; i++)
		failed += !alloc_page(m, GFP_KERNEL);
	assert_int_equal(failed, 10);
	bare_destroy(m, hw);
}

/* ---- freeing ---- */

TEST(a_page_in_use_cannot_be_freed)
{
	struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
	struct machine *m = bare_create(hw, "4.0", NULL);
	struct page *p = user_page(m);

	assert_panics("nonzero refcount", free_unref_page(m, p));
	p->refcount = 0;
	p->mapcount = 1;
	assert_panics("still mapped", free_unref_page(m, p));
	p->mapcount = 0;
	page_set(p, PG_lru);
	assert_panics("flags set that must not be", free_unref_page(m, p));
	page_clear(p, PG_lru);
	page_set(p, PG_dirty);
	free_unref_page(m, p);
	assert_int_equal(p->flags, page_zone(m, p)->page_flags);
	/* And not twice: its refcount is 0. */
	assert_panics("page->refcount <= 0", __free_pages(m, p, 0));
	bare_destroy(m, hw);
}

TEST(a_reference_keeps_a_page)
{
	struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
	struct machine *m = bare_create(hw, "4.0", NULL);
	struct page *p = user_page(m);

	get_page(p);
	__free_pages(m, p, 0);
	assert_int_equal(p->refcount, 1);
	assert_int_equal(vm_event_sum(m, PGFREE), 0);
	__free_pages(m, p, 0);
	assert_int_equal(vm_event_sum(m, PGFREE), 1);
	bare_destroy(m, hw);
}

TEST(a_list_of_pages_of_two_zones_goes_back_to_both)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw = bare_zones(1, 3000, 16384, 0);
		struct machine *m = bare_create(hw, era ? "6.18" : "4.0", NULL);
		struct page_list list;
		u64 acquired;

		page_list_init(&list, m->node[0].mem_map);
		for (int i = 0; i < 300; i++) {
			gfp_t gfp = GFP_NOWAIT | (i % 100 < 50 ? __GFP_DMA : 0);
			struct page *p = alloc_page(m, gfp);

			p->refcount = 0;
			page_list_add_tail(&list, p);
		}
		acquired = m->world->ledger.lock[LOCK_PCP].acquisitions;
		if (era)
			free_unref_page_list(m, &list);
		else
			free_cold_page_list(m, &list);
		acquired = m->world->ledger.lock[LOCK_PCP].acquisitions - acquired;
		/* Six runs of 50 pages of a zone, each two folio batches. */
		assert_int_equal(acquired, era ? 12 : 0);
		assert_int_equal(list.nr, 0);
		drain_all_pages(m);
		page_alloc_audit(m);
		assert_int_equal(buddy_count_free(bare_zone(m, ZONE_DMA)), 3000);
		assert_int_equal(buddy_count_free(bare_zone(m, ZONE_DMA32)), 16384);
		bare_destroy(m, hw);
	}
}

TEST(the_hot_path_passes_one_order_point_and_enters_no_span)
{
	struct hw_machine *hw = bare_zones(1, 0, 16384, 0);
	struct machine *m = bare_create(hw, "4.0", NULL);
	u32 nodes;
	u64 ns;

	__free_pages(m, user_page(m), 0);
	nodes = m->world->ledger.nr_nodes;
	ns = world_now();
	user_page(m);
	ns = world_now() - ns;
	/* ALLOC, WATERMARK, a line, PCP, PAGE_LINE and three counters. */
	assert_int_equal(ns, 25 + 6 + 1 + 8 + 15 + 3);
	assert_int_equal(m->world->ledger.nr_nodes, nodes);
	bare_destroy(m, hw);
}

/* A machine that goes the general way: an injected failure is due, after 4 billion pages. */
static void general_way(struct machine *m)
{
	m->world->fail_every[WORLD_FAIL_PAGE_ALLOC] = UINT32_MAX;
}

/* One request on both machines; they give the same frame at the same cost. */
static void take_on_both(struct machine **m, u32 cpu, gfp_t gfp, struct page **p)
{
	for (int i = 0; i < 2; i++) {
		world_self = m[i]->world->cpu[cpu]; /* each world has its time */
		p[i] = alloc_page(m[i], gfp);
	}
	assert_int_equal(!p[0], !p[1]);
	if (p[0])
		assert_int_equal(page_to_pfn(m[0], p[0]), page_to_pfn(m[1], p[1]));
}

static void compare_machines(struct machine **m)
{
	for (u32 cpu = 0; cpu < m[0]->nr_cpus; cpu++) {
		assert_int_equal(m[0]->world->cpu[cpu]->clock, m[1]->world->cpu[cpu]->clock);
		for (int e = 0; m[0]->cpu[cpu] && e < NR_VM_EVENTS; e++)
			assert_int_equal(m[0]->cpu[cpu]->event[e], m[1]->cpu[cpu]->event[e]);
	}
	assert_memory_equal(m[0]->world->ledger.cost_count, m[1]->world->ledger.cost_count,
	                    sizeof(m[0]->world->ledger.cost_count));
	for (int item = 0; item < NR_VM_ITEMS; item++) {
		assert_int_equal(m[0]->vm_stat.v[item].v, m[1]->vm_stat.v[item].v);
		for (int type = 0; type < ZONE_MOVABLE; type++) {
			struct zone *a = bare_zone(m[0], (enum zone_type)type);
			struct zone *b = bare_zone(m[1], (enum zone_type)type);

			if (populated_zone(a))
				assert_int_equal(stat_exact(m[0], &a->stat, (enum vm_item)item),
				                 stat_exact(m[1], &b->stat, (enum vm_item)item));
		}
	}
}

TEST(the_short_way_and_the_general_one_are_the_same)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw[2];
		struct machine *m[2];
		static struct page *held[16384][2];
		u32 nr_held = 0;
		struct rand_stream r;

		for (int i = 0; i < 2; i++) {
			hw[i] = bare_zones(3, 1000, 8192, 4096);
			m[i] = bare_create(hw[i], era ? "6.18" : "4.0", i ? general_way : NULL);
		}
		rand_init(&r, test_seed(), 7, (u64)era);
		for (int step = 0; step < 40000; step++) {
			static const gfp_t gfp[] = {GFP_NOWAIT, GFP_ATOMIC,
			                            GFP_NOWAIT | __GFP_DMA32,
			                            GFP_NOWAIT | __GFP_HIGHMEM | __GFP_MOVABLE,
			                            GFP_NOWAIT | __GFP_THISNODE};
			u32 cpu = (u32)rand_below(&r, 3);

			if (nr_held < 16384 && rand_chance(&r, step / 4000 % 2 ? 1 : 3, 4)) {
				take_on_both(m, cpu, gfp[rand_below(&r, ARRAY_SIZE(gfp))],
				             held[nr_held]);
				nr_held += held[nr_held][0] != NULL;
			} else if (nr_held) {
				u32 which = (u32)rand_below(&r, nr_held);

				nr_held -= 1;
				for (int i = 0; i < 2; i++) {
					world_self = m[i]->world->cpu[cpu];
					__free_pages(m[i], held[which][i], 0);
					held[which][i] = held[nr_held][i];
				}
			}
			compare_machines(m);
		}
		for (int i = 0; i < 2; i++)
			bare_destroy(m[i], hw[i]);
	}
}

TEST_MAIN("page_alloc")
