/*
 * Compaction and migration: pages move and keep what they hold and who maps them, free pages become
 * blocks, and what cannot move stays. Memory is cut into pieces by mapping all of it and giving back
 * every second page.
 */
#include "tests/core/mm_fixture.h"

#include "core/compact_defer.c"
#include "core/huge_memory.h"
#include "core/swap.h"

#define NR_PAGES 4096 /* of the machine: 16 MiB, all of it in ZONE_DMA */

static u64 area;
static u64 nr_mapped;

static struct zone *zone(void)
{
	return page_zone(fix.m, fix_page(fix.t, area));
}

/* Fills memory down to @left free pages, each page with a value of its own. */
static void fill(u64 left)
{
	u64 nr = global_page_state(fix.m, NR_FREE_PAGES);

	area = fix_mmap(nr);
	for (nr_mapped = 0; global_page_state(fix.m, NR_FREE_PAGES) > left; nr_mapped++)
		fix_write(area + nr_mapped * PAGE_SIZE, (u32)nr_mapped + 1);
}

/* Gives back the pages of [from, to) whose number leaves 1 when divided by @step. */
static void cut(u64 from, u64 to, u64 step)
{
	for (u64 i = from; i < to; i++)
		if (i % step == 1)
			assert_int_equal(do_madvise(fix.m, area + i * PAGE_SIZE, PAGE_SIZE,
			                            MM_MADV_DONTNEED),
			                 0);
	drain_all_pages(fix.m);
}

static void check_contents(u64 step)
{
	for (u64 i = 0; i < nr_mapped; i++)
		if (i % step != 1)
			assert_int_equal(fix_read(area + i * PAGE_SIZE), i + 1);
}

static void small_reserve(struct knobs *k)
{
	k->min_free_kbytes = 128;
	k->watermark_boost_factor = 0;
}

static void start(const char *preset)
{
	fix_start(1, NR_PAGES, preset, small_reserve);
	fill(56); /* and what per-CPU lists hold */
}

static unsigned int largest_free_order(void)
{
	unsigned int order = MAX_ORDER - 1;

	while (order && !zone()->free_area[order].nr_free)
		order--;
	return order;
}

static enum compact_result compact(int order, enum migrate_mode mode)
{
	struct compact_control cc = {
		.zone = zone(),
		.order = order,
		.migratetype = fresh_type(fix.m),
		.alloc_flags = WMARK_LOW,
		.highest_zoneidx = ZONE_NORMAL,
		.mode = mode,
		.ignore_skip_hint = true,
	};

	return compact_zone(fix.m, &cc);
}

TEST(free_pages_become_blocks_and_contents_stay)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 i = 0; i < ARRAY_SIZE(preset); i++) {
		start(preset[i]);
		cut(0, nr_mapped, 2);
		assert_true(largest_free_order() < 8);
		assert_true(compact(-1, MIGRATE_SYNC_LIGHT) >= COMPACT_COMPLETE);
		drain_all_pages(fix.m);
		/* Half of memory is free, and only the two blocks where they met can be mixed. */
		assert_true(largest_free_order() >= 9);
		assert_true(fix_event(PGMIGRATE_SUCCESS) > nr_mapped / 8);
		check_contents(2);
		fix_audit();
		fix_stop();
	}
}

TEST(all_who_map_a_page_follow_it)
{
	struct task *parent, *child = NULL;

	start("6.18");
	parent = fix.t;
	cut(0, nr_mapped, 2);
	assert_int_equal(do_fork(fix.m, "child", fix_body, NULL, &child), 0);
	compact(-1, MIGRATE_SYNC_LIGHT);
	assert_true(fix_event(PGMIGRATE_SUCCESS) > nr_mapped / 8);
	for (u64 i = 0; i < nr_mapped; i += 2) {
		struct page *page = fix_page(parent, area + i * PAGE_SIZE);

		assert_ptr_equal(page, fix_page(child, area + i * PAGE_SIZE));
		assert_int_equal(page->mapcount, 2);
		assert_false(pte_write(fix_pte(child, area + i * PAGE_SIZE)));
	}
	check_contents(2);
	fix_become(child);
	check_contents(2);
	fix_audit();
	fix_end(child);
	fix_become(parent);
	assert_int_equal(do_wait(child), 0);
	fix_stop();
}

TEST(what_somebody_holds_stays_where_it_is)
{
	struct page *held;

	start("6.18");
	held = fix_page(fix.t, area);
	get_page(held);
	cut(0, nr_mapped, 2);
	compact(-1, MIGRATE_SYNC_LIGHT);
	assert_ptr_equal(fix_page(fix.t, area), held);
	/* It is not even taken off its list: its references are more than its ptes. */
	assert_int_equal(fix_event(PGMIGRATE_FAIL), 0);
	assert_true(page_test(held, PG_lru) || held->refcount == 3); /* or in an add batch */
	check_contents(2);
	put_page(fix.m, held);
	fix_audit();
	fix_stop();
}

TEST(a_page_takes_its_place_in_the_swap_cache_along)
{
	struct page *old, *page;
	swp_entry_t entry;

	fix_start(1, NR_PAGES, "6.18", small_reserve);
	fix_swapon();
	fill(56);
	fix_swap_out(area, false);
	/* Read back, and still in the cache. */
	assert_int_equal(fix_read(area), 1);
	old = fix_page(fix.t, area);
	lock_page(fix.m, old);
	if (!page_test(old, PG_swapcache))
		assert_true(add_to_swap(fix.m, old));
	entry = page_swap_entry(fix.m, old);
	unlock_page(fix.m, old);
	cut(0, nr_mapped, 2);
	compact(-1, MIGRATE_SYNC_LIGHT);
	page = fix_page(fix.t, area);
	assert_true(page_test(page, PG_swapcache));
	assert_int_equal(page_swap_entry(fix.m, page).v, entry.v);
	assert_ptr_equal(find_get_swap_page(fix.m, entry), page);
	put_page(fix.m, page);
	check_contents(2);
	fix_audit();
	fix_stop();
}

TEST(a_request_for_a_block_compacts_before_it_reclaims)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 i = 0; i < ARRAY_SIZE(preset); i++) {
		struct page *page;

		start(preset[i]);
		cut(0, nr_mapped, 2);
		page = alloc_pages(fix.m, GFP_HIGHUSER_MOVABLE | __GFP_NORETRY | __GFP_COMP, 7);
		assert_non_null(page);
		assert_int_equal(fix_event(COMPACTSTALL), 1);
		assert_int_equal(fix_event(COMPACTSUCCESS), 1);
		assert_int_equal(fix_event(COMPACTFAIL), 0);
		assert_int_equal(vm_event_zones(fix.m, ALLOCSTALL_DMA), 0);
		put_page(fix.m, page);
		check_contents(2);
		fix_audit();
		fix_stop();
	}
}

TEST(without_compaction_the_request_fails)
{
	start("6.18");
	fix.m->knob.compaction = COMPACTION_OFF;
	cut(0, nr_mapped, 2);
	assert_null(alloc_pages(fix.m, GFP_HIGHUSER_MOVABLE | __GFP_NORETRY | __GFP_COMP, 7));
	assert_int_equal(fix_event(COMPACTSTALL), 0);
	fix_stop();
}

TEST(asynchronous_scanners_leave_blocks_of_other_types_alone)
{
	struct zone *z;

	start("6.18");
	z = zone();
	cut(0, nr_mapped, 2);
	for (u64 pfn = z->zone_start_pfn; pfn < zone_end_pfn(z); pfn += PAGEBLOCK_PAGES)
		set_pageblock_migratetype(z, pfn, MIGRATE_UNMOVABLE);
	compact(7, MIGRATE_ASYNC);
	assert_int_equal(fix_event(COMPACTISOLATED), 0);
	for (u64 pfn = z->zone_start_pfn; pfn < zone_end_pfn(z); pfn += PAGEBLOCK_PAGES)
		set_pageblock_migratetype(z, pfn, MIGRATE_MOVABLE);
	fix_stop();
}

TEST(the_fragmentation_index_tells_pieces_from_shortage)
{
	struct zone *z;

	start("6.18");
	z = zone();
	for (unsigned int o = 0; o < MAX_ORDER; o++)
		z->free_area[o].nr_free = 0;
	assert_int_equal(fragmentation_index(z, 3), 0);
	/* 1 page for 8: 1000 - (1000 + 1 * 1000 / 8) / 1 */
	z->free_area[0].nr_free = 1;
	assert_int_equal(fragmentation_index(z, 3), -125);
	/* 16 single pages: 1000 - (1000 + 16 * 1000 / 8) / 16 */
	z->free_area[0].nr_free = 16;
	assert_int_equal(fragmentation_index(z, 3), 813);
	z->free_area[5].nr_free = 1;
	assert_int_equal(fragmentation_index(z, 3), -1000);
	/* The machine is not used any more; the free lists no longer say what they hold. */
	fix.m = NULL;
}

TEST(failures_are_followed_by_more_and_more_requests_that_do_not_try)
{
	struct zone z = {.compact_order_failed = 0};

	for (u32 shift = 1; shift <= COMPACT_MAX_DEFER_SHIFT + 1; shift++) {
		u32 limit = 1U << min(shift, (u32)COMPACT_MAX_DEFER_SHIFT);

		defer_compaction(&z, 0);
		for (u32 i = 1; i < limit; i++)
			assert_true(compaction_deferred(&z, 4));
		assert_false(compaction_deferred(&z, 4));
	}
	/* It has worked for order 4: only larger ones wait, until one of these got its block. */
	compaction_defer_reset(&z, 4, false);
	z.compact_considered = 0;
	assert_false(compaction_deferred(&z, 4));
	assert_true(compaction_deferred(&z, 5));
	compaction_defer_reset(&z, 5, true);
	assert_false(compaction_deferred(&z, 5));
	assert_int_equal(z.compact_defer_shift, 0);
}

TEST_MAIN("compaction")
