/*
 * Per-CPU lists: sizes by era, what a full list returns, how 6.18's lists grow and shrink, drains.
 */
#include "tests/core/bare.h"

#include "core/pcp.c"

static struct zone *first_zone(struct machine *m)
{
	return m->node[0].zonelist[0];
}

static struct page *take(struct zone *z)
{
	return rmqueue_pcplist(z->machine, z, 0, MIGRATE_MOVABLE, 0);
}

static void give(struct zone *z, struct page *p)
{
	free_pcp_page(z->machine, z, p, 0, false);
}

/* ---- sizes ---- */

TEST(batches_follow_the_size_of_the_zone)
{
	/* 2.1; the older rule: managed / 4096 before rounding, at most 31. */
	static const struct {
		u64 mib;
		s32 s;
		s32 t;
	} row[] = {
		{2, 0, 1},     {32, 1, 1},    {64, 3, 3},     {128, 7, 7},    {256, 15, 15},
		{512, 31, 31}, {640, 31, 31}, {1024, 31, 63}, {8192, 31, 63},
	};

	for (u32 i = 0; i < ARRAY_SIZE(row); i++) {
		static struct machine m = {.knob.watermark_pages = WMARK_PAGES_MANAGED};
		struct zone z = {.machine = &m, .managed_pages = row[i].mib << 8};

		assert_int_equal(zone_batchsize_fixed(&z), row[i].s);
		assert_int_equal(zone_batchsize_auto(&z), row[i].t);
	}
}

TEST(in_4_0_high_is_six_batches_and_a_batch_of_none_counts_as_one)
{
	struct hw_machine *hw = bare_zones(2, 512, 0, 1 << 21);
	struct machine *m = bare_create(hw, "4.0", NULL);

	assert_int_equal(bare_zone(m, ZONE_NORMAL)->pcp_batch, 31);
	assert_int_equal(bare_zone(m, ZONE_NORMAL)->pcp_high, 186);
	assert_int_equal(bare_zone(m, ZONE_DMA)->pcp_batch, 1);
	assert_int_equal(bare_zone(m, ZONE_DMA)->pcp_high, 0);
	bare_destroy(m, hw);
}

static void fraction(struct machine *m)
{
	m->knob.pcp_high_fraction = 16;
}

TEST(a_fraction_set_by_the_user_replaces_the_computed_size)
{
	struct hw_machine *hw = bare_zones(4, 0, 65536, 0);
	struct machine *m = bare_create(hw, "6.18", fraction);

	assert_int_equal(first_zone(m)->pcp_high_min, 65536 / 16 / 4);
	assert_int_equal(first_zone(m)->pcp_high_max, 65536 / 16 / 4);
	bare_destroy(m, hw);
	hw = bare_zones(4, 0, 65536, 0);
	m = bare_create(hw, "4.0", fraction);
	assert_int_equal(first_zone(m)->pcp_high, 65536 / 16);
	assert_int_equal(first_zone(m)->pcp_batch, 96);
	bare_destroy(m, hw);
}

/* ---- 4.0 ---- */

static struct machine *fixed_machine(struct hw_machine **hw, u32 nr_cpus)
{
	*hw = bare_zones(nr_cpus, 0, 16384, 0); /* 64 MiB: batch 3, high 18 */
	return bare_create(*hw, "4.0", NULL);
}

TEST(in_4_0_an_empty_list_fetches_a_batch_and_the_counter_falls_by_it)
{
	struct hw_machine *hw;
	struct machine *m = fixed_machine(&hw, 1);
	struct zone *z = first_zone(m);
	u64 first = page_to_pfn(m, take(z));

	assert_int_equal(z->pcp[0]->count, 2);
	assert_int_equal(stat_exact(m, &z->stat, NR_FREE_PAGES), 16384 - 3);
	/* Ascending addresses, and no second trip until the batch is used up. */
	assert_int_equal(page_to_pfn(m, take(z)), first + 1);
	assert_int_equal(page_to_pfn(m, take(z)), first + 2);
	assert_int_equal(z->pcp[0]->count, 0);
	assert_int_equal(stat_exact(m, &z->stat, NR_FREE_PAGES), 16384 - 3);
	assert_int_equal(page_to_pfn(m, take(z)), first + 3);
	assert_int_equal(stat_exact(m, &z->stat, NR_FREE_PAGES), 16384 - 6);
	bare_destroy(m, hw);
}

TEST(in_4_0_the_page_freed_last_is_taken_first_and_a_cold_one_last)
{
	struct hw_machine *hw;
	struct machine *m = fixed_machine(&hw, 1);
	struct zone *z = first_zone(m);
	struct page *p[3] = {take(z), take(z), take(z)};

	give(z, p[0]);
	free_pcp_page(m, z, p[1], 0, true);
	give(z, p[2]);
	assert_ptr_equal(take(z), p[2]);
	assert_ptr_equal(take(z), p[0]);
	assert_ptr_equal(take(z), p[1]);
	bare_destroy(m, hw);
}

TEST(in_4_0_a_list_that_reaches_high_returns_its_coldest_batch)
{
	struct hw_machine *hw;
	struct machine *m = fixed_machine(&hw, 1);
	struct zone *z = first_zone(m);
	struct page *p[18];

	for (int i = 0; i < 18; i++)
		p[i] = take(z);
	for (int i = 0; i < 17; i++)
		give(z, p[i]);
	assert_int_equal(z->pcp[0]->count, 17);
	give(z, p[17]);
	assert_int_equal(z->pcp[0]->count, 15);
	/* The first three freed went back, the others are still here. */
	for (int i = 0; i < 18; i++)
		assert_int_equal(page_test(p[i], PG_buddy) || p[i]->index > 0xff ? 1 : 0,
		                 i < 3 && page_test(p[i], PG_buddy));
	assert_ptr_equal(page_list_last(&z->pcp[0]->list[MIGRATE_MOVABLE]), p[3]);
	page_alloc_audit(m);
	bare_destroy(m, hw);
}

TEST(in_4_0_a_batch_goes_round_the_types_and_takes_more_where_others_are_empty)
{
	struct hw_machine *hw;
	struct machine *m = fixed_machine(&hw, 1);
	struct zone *z = first_zone(m);
	struct per_cpu_pages *pcp;
	static const u32 given[3] = {2, 6, 1}; /* unmovable, movable, reclaimable */

	give(z, take(z));
	pcp = z->pcp[0];
	drain_all_pages(m);
	for (int mt = 0; mt < 3; mt++) {
		rmqueue_bulk(z, 0, given[mt], &pcp->list[mt], (enum migratetype)mt, 0);
		pcp->count += (s32)given[mt];
	}
	/*
	 * One of movable, one of reclaimable, one of unmovable; then reclaimable is empty. Movable 1,
	 * and after skipping it unmovable 2, of which there is 1.
	 */
	world_irq_save();
	free_pcppages_bulk(z, pcp, 5, 0);
	world_irq_restore();
	assert_int_equal(pcp->list[MIGRATE_RECLAIMABLE].nr, 0);
	assert_int_equal(pcp->list[MIGRATE_MOVABLE].nr, 4);
	assert_int_equal(pcp->list[MIGRATE_UNMOVABLE].nr, 0);
	assert_int_equal(pcp->count, 4);
	bare_destroy(m, hw);
}

TEST(in_4_0_a_drain_interrupts_only_those_who_hold_pages)
{
	struct hw_machine *hw;
	struct machine *m = fixed_machine(&hw, 4);
	struct zone *z = first_zone(m);

	for (u32 cpu = 0; cpu < 4; cpu += 2) {
		null_set_cpu(m->world, cpu);
		take(z);
	}
	assert_int_equal(pcp_count_pages(z), 4);
	null_set_cpu(m->world, 1);
	drain_all_pages(m);
	assert_int_equal(null_stats(m->world)->nr_ipis, 2);
	assert_int_equal(pcp_count_pages(z), 0);
	page_alloc_audit(m);
	bare_destroy(m, hw);
}

/* ---- 6.18 ---- */

static struct machine *auto_machine(struct hw_machine **hw, u32 nr_cpus)
{
	*hw = bare_zones(nr_cpus, 0, 65536, 0); /* 256 MiB: batch 15 */
	return bare_create(*hw, "6.18", NULL);
}

TEST(in_6_18_batches_double_while_a_cpu_only_takes)
{
	struct hw_machine *hw;
	struct machine *m = auto_machine(&hw, 1);
	struct zone *z = first_zone(m);
	struct per_cpu_pages *pcp;
	/* 15 << 0, 1 ... 5, and no further. */
	static const s32 batch[] = {15, 30, 60, 120, 240, 480, 480};

	for (u32 i = 0; i < ARRAY_SIZE(batch); i++) {
		take(z);
		pcp = z->pcp[0];
		assert_int_equal(pcp->count, batch[i] - 1);
		assert_int_equal(pcp->alloc_factor, min(i + 1, 5u));
		while (pcp->count)
			take(z);
	}
	/* A free halves the factor. */
	give(z, take(z));
	assert_int_equal(pcp->alloc_factor, 2);
	bare_destroy(m, hw);
}

TEST(in_6_18_high_grows_with_refills_but_not_below_the_high_mark)
{
	struct hw_machine *hw;
	struct machine *m = auto_machine(&hw, 1);
	struct zone *z = first_zone(m);

	take(z);
	assert_int_equal(z->pcp[0]->high, z->pcp_high_min + 15);
	while (z->pcp[0]->count)
		take(z);
	z->flags |= ZONE_BELOW_HIGH;
	take(z);
	assert_int_equal(z->pcp[0]->high, z->pcp_high_min + 15);
	bare_destroy(m, hw);
}

/* Takes @n pages into @p. */
static void take_many(struct zone *z, struct page **p, int n)
{
	for (int i = 0; i < n; i++)
		assert_non_null(p[i] = take(z));
}

TEST(in_6_18_a_full_list_grows_or_under_pressure_gives_back)
{
	struct hw_machine *hw;
	struct machine *m = auto_machine(&hw, 1);
	struct zone *z = first_zone(m);
	static struct page *p[20000];
	struct per_cpu_pages *pcp;
	s32 before;

	take_many(z, p, 20000);
	pcp = z->pcp[0];
	for (int i = 0; i < 5000; i++)
		give(z, p[i]);
	/* Freeing in a row: 480 freed in a row is remembered, and the list is at its high mark. */
	assert_int_equal(pcp->free_count, 480);
	assert_true(pcp->count <= pcp->high);
	assert_in_range(pcp->high, pcp->high_min, pcp->high_max);

	/* Below the high mark the list gets shorter, down to high_min. */
	before = pcp->high;
	z->flags |= ZONE_BELOW_HIGH;
	z->_watermark[WMARK_HIGH] = 1 << 20;
	for (int i = 5000; i < 5010; i++)
		give(z, p[i]);
	assert_true(pcp->high < before || pcp->high == pcp->high_min);
	assert_true(z->flags & ZONE_BELOW_HIGH);
	/* The flag goes when a list that is full again finds the zone above it. */
	z->_watermark[WMARK_HIGH] = 0;
	for (int i = 5010; i < 5010 + pcp->high_min; i++)
		give(z, p[i]);
	assert_false(z->flags & ZONE_BELOW_HIGH);

	/* While the zone is being reclaimed, four batches are enough. */
	z->flags |= ZONE_RECLAIM_ACTIVE;
	for (int i = 8000; i < 12000; i++)
		give(z, p[i]);
	assert_true(pcp->count < 4 * 15);
	page_alloc_audit(m);
	bare_destroy(m, hw);
}

TEST(in_6_18_an_idle_list_decays_to_its_minimum)
{
	struct hw_machine *hw;
	struct machine *m = auto_machine(&hw, 1);
	struct zone *z = first_zone(m);
	static struct page *p[4000];
	struct per_cpu_pages *pcp;
	s32 high;

	take_many(z, p, 4000);
	for (int i = 0; i < 4000; i++)
		give(z, p[i]);
	pcp = z->pcp[0];
	pcp->high = 3000;
	high = max3(pcp->count - 480, 3000 - 375, pcp->high_min);
	assert_true(decay_pcp_high(m, z, pcp));
	assert_int_equal(pcp->high, high);
	assert_true(pcp->count <= high);
	for (int i = 0; i < 100 && decay_pcp_high(m, z, pcp); i++)
		;
	assert_int_equal(pcp->high, pcp->high_min);
	assert_true(pcp->count <= pcp->high_min);
	/* The fold of counters does it by itself, and then stops. */
	pcp->high = 3000;
	mod_zone_state(z, NR_WRITTEN, 1);
	for (int i = 0; i < 60; i++)
		null_advance(m->world, 1000000001);
	assert_int_equal(pcp->high, pcp->high_min);
	assert_int_equal(m->cpu[0]->stat_timer.expires, 0);
	bare_destroy(m, hw);
}

TEST(in_6_18_orders_up_to_three_have_lists_of_their_own)
{
	struct hw_machine *hw;
	struct machine *m = auto_machine(&hw, 1);
	struct zone *z = first_zone(m);
	struct page *p = rmqueue_pcplist(m, z, 3, MIGRATE_UNMOVABLE, 0);

	/* 15 >> 3 is 1, but at least two blocks come. */
	assert_int_equal(z->pcp[0]->count, 8);
	assert_int_equal(z->pcp[0]->list[3 * MIGRATE_PCPTYPES + MIGRATE_UNMOVABLE].nr, 1);
	free_pcp_page(m, z, p, 3, false);
	assert_int_equal(z->pcp[0]->count, 16);
	assert_true(pcp_allowed_order(m, 3));
	assert_false(pcp_allowed_order(m, 4));
	page_alloc_audit(m);
	drain_all_pages(m);
	assert_int_equal(stat_exact(m, &z->stat, NR_FREE_PAGES), 65536);
	bare_destroy(m, hw);
}

TEST(in_6_18_a_drain_takes_the_locks_and_sends_no_ipi)
{
	struct hw_machine *hw;
	struct machine *m = auto_machine(&hw, 4);
	struct zone *z = first_zone(m);

	for (u32 cpu = 0; cpu < 4; cpu++) {
		null_set_cpu(m->world, cpu);
		take(z);
	}
	drain_all_pages(m);
	assert_int_equal(pcp_count_pages(z), 0);
	assert_int_equal(null_stats(m->world)->nr_ipis, 0);
	assert_int_equal(stat_exact(m, &z->stat, NR_FREE_PAGES), 65536 - 4);
	bare_destroy(m, hw);
}

TEST(in_6_18_a_list_that_is_being_drained_is_passed_by)
{
	struct hw_machine *hw;
	struct machine *m = auto_machine(&hw, 2);
	struct zone *z = first_zone(m);
	struct page *p = take(z);
	s32 count = z->pcp[0]->count;

	null_set_cpu(m->world, 1);
	world_irq_save();
	spin_lock(&z->pcp[0]->lock);
	null_set_cpu(m->world, 0);
	assert_non_null(take(z));
	give(z, p);
	assert_int_equal(z->pcp[0]->count, count);
	null_set_cpu(m->world, 1);
	spin_unlock(&z->pcp[0]->lock);
	world_irq_restore();
	page_alloc_audit(m);
	bare_destroy(m, hw);
}

/* ---- both ---- */

TEST(random_takes_gives_and_drains_lose_no_page)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw;
		struct machine *m = era ? auto_machine(&hw, 3) : fixed_machine(&hw, 3);
		struct zone *z = first_zone(m);
		static struct {
			struct page *page;
			unsigned int order;
		} held[4096];
		u32 nr_held = 0;
		u64 pages = 0;
		struct rand_stream r;

		rand_init(&r, test_seed(), 4, (u64)era);
		for (int step = 0; step < 60000; step++) {
			unsigned int order = era ? (unsigned int)rand_below(&r, 4) : 0;

			null_set_cpu(m->world, (u32)rand_below(&r, 3));
			if (rand_chance(&r, 1, 5000))
				drain_all_pages(m);
			if (nr_held < 4096 && rand_chance(&r, step / 5000 % 2 ? 1 : 3, 4)) {
				enum migratetype mt = (enum migratetype)rand_below(&r, 3);
				struct page *p = rmqueue_pcplist(m, z, order, mt, 0);

				if (!p)
					continue;
				assert_int_equal(p->refcount, 0);
				p->refcount = 1;
				held[nr_held].page = p;
				held[nr_held++].order = order;
				pages += 1UL << order;
			} else if (nr_held) {
				u32 i = (u32)rand_below(&r, nr_held);

				assert_int_equal(held[i].page->refcount, 1);
				held[i].page->refcount = 0;
				free_pcp_page(m, z, held[i].page, held[i].order,
				              rand_chance(&r, 1, 2));
				pages -= 1UL << held[i].order;
				held[i] = held[--nr_held];
			}
			if (step % 1000)
				continue;
			page_alloc_audit(m);
			assert_int_equal(buddy_count_free(z) + pcp_count_pages(z) + pages,
			                 z->managed_pages);
		}
		bare_destroy(m, hw);
	}
}

TEST_MAIN("pcp")
