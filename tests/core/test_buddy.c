/*
 * The buddy allocator against a bitmap: which frames are free, and the blocks they must form, since
 * a buddy's blocks follow from the set of free frames alone.
 */
#include "tests/core/bare.h"

#include "core/buddy.c"

#define MODEL_FRAMES 12288

/* The bitmap, and what was handed out. */
struct model {
	bool managed[MODEL_FRAMES];
	bool free[MODEL_FRAMES];
	struct {
		u64 pfn;
		unsigned int order;
	} held[MODEL_FRAMES];
	u32 nr_held;
};

static bool model_block_free(const struct model *md, u64 pfn, unsigned int order)
{
	for (u64 i = 0; i < 1UL << order; i++)
		if (pfn + i >= MODEL_FRAMES || !md->free[pfn + i])
			return false;
	return true;
}

/* How many blocks of each order the free frames form, merged as far as can be. */
static void model_blocks(const struct model *md, unsigned long *nr_free)
{
	u64 pfn = 0;

	memset(nr_free, 0, MAX_ORDER * sizeof(*nr_free));
	while (pfn < MODEL_FRAMES) {
		unsigned int order = 0;

		if (!md->free[pfn]) {
			pfn += 1;
			continue;
		}
		while (order < MAX_ORDER - 1 && IS_ALIGNED(pfn, 2UL << order) &&
		       model_block_free(md, pfn, order + 1))
			order += 1;
		nr_free[order] += 1;
		pfn += 1UL << order;
	}
}

static void compare(struct zone *z, const struct model *md, int step)
{
	unsigned long nr_free[MAX_ORDER];

	model_blocks(md, nr_free);
	for (unsigned int order = 0; order < MAX_ORDER; order++)
		if (z->free_area[order].nr_free != nr_free[order])
			fail_msg("step %d: %lu blocks of order %u, the bitmap has %lu", step,
			         z->free_area[order].nr_free, order, nr_free[order]);
	buddy_audit(z);
	assert_int_equal(stat_exact(z->machine, &z->stat, NR_FREE_PAGES), buddy_count_free(z));
}

static void model_take(struct machine *m, struct model *md, struct page *p, unsigned int order,
                       int step)
{
	u64 pfn = page_to_pfn(m, p);

	assert_true(IS_ALIGNED(pfn, 1UL << order));
	for (u64 i = 0; i < 1UL << order; i++) {
		if (pfn + i >= MODEL_FRAMES || !md->managed[pfn + i] || !md->free[pfn + i])
			fail_msg("step %d: frame 0x%lx handed out twice", step, pfn + i);
		md->free[pfn + i] = false;
	}
	md->held[md->nr_held].pfn = pfn;
	md->held[md->nr_held++].order = order;
}

static void model_give(struct zone *z, struct model *md, u32 which)
{
	u64 pfn = md->held[which].pfn;
	unsigned int order = md->held[which].order;

	free_one_page(z, pfn_to_page(z->machine, pfn), order);
	for (u64 i = 0; i < 1UL << order; i++)
		md->free[pfn + i] = true;
	md->held[which] = md->held[--md->nr_held];
}

/* One allocation of random order and type, alone or in bulk; it fails only if the model agrees. */
static void random_take(struct zone *z, struct model *md, struct rand_stream *r, int step)
{
	unsigned int order = rand_chance(r, 2, 3) ? 0 : (unsigned int)rand_below(r, MAX_ORDER);
	enum migratetype mt = (enum migratetype)rand_below(r, MIGRATE_TYPES);
	u32 flags = rand_chance(r, 1, 4) ? ALLOC_KSWAPD : 0;
	unsigned long nr_free[MAX_ORDER];
	unsigned long large = 0;
	struct page_list list;
	struct page *p;

	if (order == 0 && rand_chance(r, 1, 2)) {
		page_list_init(&list, z->pgdat->mem_map);
		rmqueue_bulk(z, 0, (u32)rand_below(r, 40), &list, mt, flags);
		while ((p = page_list_pop(&list)))
			model_take(z->machine, md, p, 0, step);
		return;
	}
	p = rmqueue_buddy(z, order, mt, flags);
	if (p) {
		model_take(z->machine, md, p, order, step);
		return;
	}
	model_blocks(md, nr_free);
	for (unsigned int o = order; o < MAX_ORDER; o++)
		large += nr_free[o];
	assert_int_equal(large, 0);
}

static void run_against_bitmap(const char *preset, const struct hw_range *range, u32 nr, u64 stream)
{
	struct hw_machine *hw = bare_hw(1, nr, range);
	struct machine *m = bare_create(hw, preset, NULL);
	struct zone *z = page_zone(m, pfn_to_page(m, 0));
	static struct model md;
	struct rand_stream r;

	z = bare_zone(m, range[0].start_pfn < 4096 ? ZONE_DMA : ZONE_DMA32);
	memset(&md, 0, sizeof(md));
	for (u32 i = 0; i < nr; i++)
		for (u64 pfn = range[i].nr_reserved; pfn < range[i].nr_pages; pfn++)
			md.managed[range[i].start_pfn + pfn] = md.free[range[i].start_pfn + pfn] =
				true;
	rand_init(&r, test_seed(), 2, stream);
	for (int step = 0; step < 4000; step++) {
		/* Phases of filling and of emptying, so that both ends are reached. */
		bool fill = rand_chance(&r, step / 500 % 2 ? 1 : 3, 4);

		if (fill || !md.nr_held)
			random_take(z, &md, &r, step);
		else
			model_give(z, &md, (u32)rand_below(&r, md.nr_held));
		if (step % 16 == 0)
			compare(z, &md, step);
	}
	while (md.nr_held)
		model_give(z, &md, md.nr_held - 1);
	compare(z, &md, -1);
	bare_destroy(m, hw);
}

TEST(buddy_matches_bitmap)
{
	/* Odd ends, holes, reserved frames; with and without whole blocks; one below 12 MiB. */
	static const struct hw_range tiny[] = {{1, 62, 3, 0}};
	static const struct hw_range odd[] = {
		{5, 700, 7, 0}, {900, 1500, 0, 0}, {2500, 1596, 30, 0}};
	static const struct hw_range large[] = {{4096, 8192, 100, 0}};

	for (int era = 0; era < 2; era++) {
		const char *preset = era ? "6.18" : "4.0";

		run_against_bitmap(preset, tiny, 1, (u64)era);
		run_against_bitmap(preset, odd, 3, 10 + (u64)era);
		run_against_bitmap(preset, large, 1, 20 + (u64)era);
	}
}

/* What of a zone the order of later allocations depends on. */
static u64 zone_digest(struct machine *m, struct zone *z)
{
	u64 digest = m->world->cpu[0]->clock;

	for (unsigned int order = 0; order < MAX_ORDER; order++)
		for (int mt = 0; mt < MIGRATE_TYPES; mt++) {
			const struct page_list *l = free_list(z, order, (enum migratetype)mt);

			for (u32 link = l->first; link; link = page_link(l, link)->lru_next)
				digest =
					rand_mix(digest ^ (page_to_pfn(m, page_link(l, link)) << 8 |
				                           order << 4 | (u32)mt));
		}
	return digest;
}

TEST(pages_in_bulk_are_those_of_as_many_single_requests)
{
	struct hw_machine *hw[2];
	struct machine *m[2];
	static struct page *held[2][8192];
	u32 nr_held = 0;
	struct rand_stream r;

	for (int i = 0; i < 2; i++) {
		hw[i] = bare_zones(1, 0, 8192, 0);
		m[i] = bare_create(hw[i], "6.18", NULL);
	}
	rand_init(&r, test_seed(), 5, 0);
	for (int step = 0; step < 3000; step++) {
		u32 count = 1 + (u32)rand_below(&r, 70);
		enum migratetype mt = (enum migratetype)rand_below(&r, MIGRATE_TYPES);
		u32 frees = rand_chance(&r, step % 300, 300) ? count : 0;
		struct page_list list;
		struct zone *z;
		u32 nr;

		for (int i = 0; i < 2; i++) {
			world_self = m[i]->world->cpu[0];
			z = bare_zone(m[i], ZONE_DMA32);
			page_list_init(&list, z->pgdat->mem_map);
			if (i) {
				nr = rmqueue_bulk(z, 0, count, &list, mt, 0);
			} else {
				spin_lock_irq(&z->lock);
				for (nr = 0; nr < count && take_block(z, 0, &list, mt, 0);)
					nr += 1;
				for (u32 j = 0; j < nr; j++)
					mod_zone_state(z, NR_FREE_PAGES, -1);
				spin_unlock_irq(&z->lock);
			}
			for (u32 j = 0; j < nr; j++)
				held[i][nr_held + j] = page_list_pop(&list);
			assert_true(page_list_empty(&list));
		}
		for (u32 j = 0; j < nr; j++)
			assert_int_equal(page_to_pfn(m[0], held[0][nr_held + j]),
			                 page_to_pfn(m[1], held[1][nr_held + j]));
		nr_held += nr;
		for (; frees && nr_held; frees--) {
			u32 which = (u32)rand_below(&r, nr_held);

			nr_held -= 1;
			for (int i = 0; i < 2; i++) {
				world_self = m[i]->world->cpu[0];
				free_one_page(bare_zone(m[i], ZONE_DMA32), held[i][which], 0);
				held[i][which] = held[i][nr_held];
			}
		}
		for (u32 c = 0; c < NR_WORLD_COSTS; c++)
			assert_int_equal(m[0]->world->ledger.cost_count[c],
			                 m[1]->world->ledger.cost_count[c]);
		assert_int_equal(zone_digest(m[0], bare_zone(m[0], ZONE_DMA32)),
		                 zone_digest(m[1], bare_zone(m[1], ZONE_DMA32)));
	}
	for (int i = 0; i < 2; i++)
		bare_destroy(m[i], hw[i]);
}

TEST(never_used_memory_is_carved_in_ascending_order)
{
	struct hw_machine *hw = bare_zones(1, 0, 8192, 0);
	struct machine *m = bare_create(hw, "4.0", NULL);
	struct zone *z = bare_zone(m, ZONE_DMA32);

	assert_int_equal(z->free_area[10].nr_free, 8);
	for (u64 i = 0; i < 8192; i++)
		assert_int_equal(page_to_pfn(m, rmqueue_buddy(z, 0, MIGRATE_MOVABLE, 0)), 4096 + i);
	assert_null(rmqueue_buddy(z, 0, MIGRATE_MOVABLE, 0));
	bare_destroy(m, hw);
}

TEST(a_freed_block_is_reused_before_memory_never_used)
{
	struct hw_machine *hw = bare_zones(1, 0, 8192, 0);
	struct machine *m = bare_create(hw, "4.0", NULL);
	struct zone *z = bare_zone(m, ZONE_DMA32);
	struct page *p = rmqueue_buddy(z, 10, MIGRATE_MOVABLE, 0);

	free_one_page(z, p, 10);
	assert_ptr_equal(rmqueue_buddy(z, 10, MIGRATE_MOVABLE, 0), p);
	bare_destroy(m, hw);
}

TEST(a_page_whose_partner_will_soon_merge_goes_to_the_tail)
{
	struct hw_machine *hw = bare_zones(1, 0, 4096, 0);
	struct machine *m = bare_create(hw, "4.0", NULL);
	struct zone *z = bare_zone(m, ZONE_DMA32);
	struct page *p[8];

	for (int i = 0; i < 8; i++)
		p[i] = rmqueue_buddy(z, 0, MIGRATE_MOVABLE, 0);
	/* 4 is alone; 2 and 3 are a free pair beside 0 and 1. Freeing 0: its pair's buddy is free. */
	free_one_page(z, p[4], 0);
	free_one_page(z, p[2], 0);
	free_one_page(z, p[3], 0);
	free_one_page(z, p[0], 0);
	assert_ptr_equal(page_list_last(free_list(z, 0, MIGRATE_MOVABLE)), p[0]);
	/* 6 has no such partner, and goes to the head. */
	free_one_page(z, p[6], 0);
	assert_ptr_equal(page_list_first(free_list(z, 0, MIGRATE_MOVABLE)), p[6]);
	bare_destroy(m, hw);
}

/* ---- fallback between types ---- */

static struct page *take(struct zone *z, unsigned int order, enum migratetype mt, u32 flags)
{
	return rmqueue_buddy(z, order, mt, flags);
}

TEST(types_do_not_mix_while_there_are_whole_blocks)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw = bare_zones(1, 0, 8192, 0);
		struct machine *m = bare_create(hw, era ? "6.18" : "4.0", NULL);
		struct zone *z = bare_zone(m, ZONE_DMA32);
		u64 movable = page_to_pfn(m, take(z, 0, MIGRATE_MOVABLE, 0));
		u64 unmovable = page_to_pfn(m, take(z, 0, MIGRATE_UNMOVABLE, 0));

		/* The second order-10 block changes its type. */
		assert_int_equal(movable, 4096);
		assert_int_equal(unmovable, 5120);
		assert_int_equal(get_pageblock_migratetype(z, 4096), MIGRATE_MOVABLE);
		assert_int_equal(get_pageblock_migratetype(z, 5120), MIGRATE_UNMOVABLE);
		assert_int_equal(get_pageblock_migratetype(z, 5120 + 512), MIGRATE_UNMOVABLE);
		assert_int_equal(get_pageblock_migratetype(z, 6144), MIGRATE_MOVABLE);
		/* Its rest serves the next one. */
		assert_int_equal(page_to_pfn(m, take(z, 0, MIGRATE_UNMOVABLE, 0)), 5121);
		assert_int_equal(z->watermark_boost, 0);
		bare_destroy(m, hw);
	}
}

/*
 * A zone of 6 order-9 blocks, all movable and all taken but the frames of the first one that
 * @keep says are free.
 */
static struct machine *mixed_machine(struct hw_machine **hw, const char *preset, u64 keep_from,
                                     u64 keep_to)
{
	struct hw_range range = {4096, 512 * 6, 0, 0};
	struct machine *m;
	struct zone *z;

	*hw = bare_hw(1, 1, &range);
	m = bare_create(*hw, preset, NULL);
	z = bare_zone(m, ZONE_DMA32);
	for (u64 i = 0; i < range.nr_pages; i++)
		assert_non_null(take(z, 0, MIGRATE_MOVABLE, 0));
	for (u64 i = keep_from; i < keep_to; i++)
		free_one_page(z, pfn_to_page(m, 4096 + i), 0);
	return m;
}

TEST(in_4_0_a_block_half_free_is_claimed_and_else_only_its_free_pages_move)
{
	struct hw_machine *hw;
	struct machine *m = mixed_machine(&hw, "4.0", 0, 256);
	struct zone *z = bare_zone(m, ZONE_DMA32);

	take(z, 0, MIGRATE_UNMOVABLE, 0);
	assert_int_equal(get_pageblock_migratetype(z, 4096), MIGRATE_UNMOVABLE);
	bare_destroy(m, hw);

	m = mixed_machine(&hw, "4.0", 0, 255);
	z = bare_zone(m, ZONE_DMA32);
	take(z, 0, MIGRATE_UNMOVABLE, 0);
	assert_int_equal(get_pageblock_migratetype(z, 4096), MIGRATE_MOVABLE);
	for (unsigned int o = 0; o < MAX_ORDER; o++)
		assert_true(page_list_empty(free_list(z, o, MIGRATE_MOVABLE)));
	bare_destroy(m, hw);
}

TEST(in_4_0_a_movable_request_takes_the_largest_block_and_keeps_its_rest)
{
	struct hw_machine *hw;
	/* 8 + 2 free pages: orders 3 and 1. Order 3 is below half a pageblock's order: no more moves. */
	struct machine *m = mixed_machine(&hw, "4.0", 0, 10);
	struct zone *z = bare_zone(m, ZONE_DMA32);

	move_freepages_block(z, 4096, MIGRATE_UNMOVABLE, false);
	set_pageblock_migratetype(z, 4096, MIGRATE_UNMOVABLE);
	assert_int_equal(page_to_pfn(m, take(z, 0, MIGRATE_MOVABLE, 0)), 4096);
	assert_int_equal(free_list(z, 1, MIGRATE_UNMOVABLE)->nr, 1);
	assert_int_equal(free_list(z, 2, MIGRATE_MOVABLE)->nr, 1);
	assert_int_equal(get_pageblock_migratetype(z, 4096), MIGRATE_UNMOVABLE);
	bare_destroy(m, hw);
}

TEST(in_6_18_a_movable_request_steals_the_smallest_block_and_leaves_the_rest)
{
	struct hw_machine *hw;
	struct machine *m = mixed_machine(&hw, "6.18", 0, 10);
	struct zone *z = bare_zone(m, ZONE_DMA32);

	move_freepages_block(z, 4096, MIGRATE_UNMOVABLE, false);
	set_pageblock_migratetype(z, 4096, MIGRATE_UNMOVABLE);
	assert_int_equal(page_to_pfn(m, take(z, 0, MIGRATE_MOVABLE, 0)), 4096 + 8);
	assert_int_equal(free_list(z, 3, MIGRATE_UNMOVABLE)->nr, 1);
	assert_int_equal(free_list(z, 0, MIGRATE_UNMOVABLE)->nr, 1);
	assert_int_equal(z->watermark_boost, 0);
	bare_destroy(m, hw);
}

TEST(in_6_18_claiming_counts_what_is_alike_and_boosts_the_marks)
{
	struct hw_machine *hw;
	struct machine *m = mixed_machine(&hw, "6.18", 0, 64);
	struct zone *z = bare_zone(m, ZONE_DMA32);

	/* 64 are free, 448 are used; 200 of those are on LRU lists, so 248 are alike: 312 >= 256. */
	for (u64 i = 64; i < 264; i++)
		page_set(pfn_to_page(m, 4096 + i), PG_lru);
	take(z, 0, MIGRATE_UNMOVABLE, ALLOC_KSWAPD);
	assert_int_equal(get_pageblock_migratetype(z, 4096), MIGRATE_UNMOVABLE);
	assert_int_equal(z->watermark_boost, 512);
	assert_true(z->flags & ZONE_BOOSTED_WATERMARK);
	bare_destroy(m, hw);

	/* With 260 movable ones only 188 are alike: 252 is too few, and one page is stolen. */
	m = mixed_machine(&hw, "6.18", 0, 64);
	z = bare_zone(m, ZONE_DMA32);
	for (u64 i = 64; i < 324; i++)
		page_set(pfn_to_page(m, 4096 + i), PG_lru);
	take(z, 0, MIGRATE_UNMOVABLE, 0);
	assert_int_equal(get_pageblock_migratetype(z, 4096), MIGRATE_MOVABLE);
	assert_int_equal(free_list(z, 0, MIGRATE_MOVABLE)->nr, 1);
	bare_destroy(m, hw);
}

TEST(nofragment_refuses_to_mix)
{
	struct hw_machine *hw;
	struct machine *m = mixed_machine(&hw, "6.18", 0, 300);
	struct zone *z = bare_zone(m, ZONE_DMA32);

	assert_null(take(z, 0, MIGRATE_UNMOVABLE, ALLOC_NOFRAGMENT));
	assert_non_null(take(z, 0, MIGRATE_UNMOVABLE, 0));
	bare_destroy(m, hw);
}

TEST(blocks_of_two_types_that_merge_become_one_type_in_6_18)
{
	struct hw_machine *hw = bare_zones(1, 0, 4096, 0);
	struct machine *m = bare_create(hw, "6.18", NULL);
	struct zone *z = bare_zone(m, ZONE_DMA32);
	struct page *low = take(z, 9, MIGRATE_MOVABLE, 0);
	struct page *high = take(z, 9, MIGRATE_MOVABLE, 0);

	set_pageblock_migratetype(z, page_to_pfn(m, high), MIGRATE_RECLAIMABLE);
	free_one_page(z, high, 9);
	free_one_page(z, low, 9);
	assert_int_equal(get_pageblock_migratetype(z, page_to_pfn(m, high)), MIGRATE_MOVABLE);
	buddy_audit(z);
	bare_destroy(m, hw);
}

TEST(zones_do_not_merge_into_each_other)
{
	/* Two nodes that meet in the middle of a block: frames 0 to 99 and 100 to 199. */
	struct hw_machine *hw = null_hw(2, 2, 64);
	struct machine *m;

	free(hw->range);
	hw->range = calloc(2, sizeof(*hw->range));
	hw->range[0] = (struct hw_range){0, 100, 0, 0};
	hw->range[1] = (struct hw_range){100, 100, 0, 1};
	hw->nr_ranges = 2;
	m = bare_create(hw, "4.0", NULL);
	for (u32 nid = 0; nid < 2; nid++) {
		struct zone *z = &m->node[nid].zone[ZONE_DMA];
		struct page *p[100];

		for (int i = 0; i < 100; i++) {
			p[i] = take(z, 0, MIGRATE_UNMOVABLE, 0);
			assert_int_equal(page_nid(p[i]), nid);
		}
		assert_null(take(z, 0, MIGRATE_UNMOVABLE, 0));
		for (int i = 0; i < 100; i++)
			free_one_page(z, p[i], 0);
	}
	buddy_audit(&m->node[0].zone[ZONE_DMA]);
	buddy_audit(&m->node[1].zone[ZONE_DMA]);
	/* 100 = 64 + 32 + 4; 100..199 = 4 + 8 + 16 + 64 + 8. */
	assert_int_equal(m->node[0].zone[ZONE_DMA].free_area[6].nr_free, 1);
	assert_int_equal(m->node[1].zone[ZONE_DMA].free_area[3].nr_free, 2);
	bare_destroy(m, hw);
}

TEST_MAIN("buddy")
