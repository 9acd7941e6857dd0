/*
 * The swap cache, readahead, and the I/O behind them.
 *
 * Aim: a page in the cache is found, one that has left is not, and what goes wrong on the way in or out
 * leaves everything as it was; readahead reads as much, and what, it should. Method: by hand, with
 * I/O put off where its order matters.
 */
#include "core/swap_state.c"

#include "tests/core/rig.h"

static enum hw_disk_kind kind;

static void disk(struct hw_machine *hw, struct knobs *k)
{
	(void)k;
	hw_disk_set_kind(&hw->disk[0], kind);
	hw->disk[0].size_bytes = 4UL << 20;
}

static void start(enum hw_disk_kind k, const char *preset)
{
	kind = k;
	rig_start(2, 4096, preset, disk);
	rig_become();
	assert_int_equal(do_swapon(rig.m, 0, -1), 0);
}

/* Out to disk and out of memory: slots @from .. @to have one pte each and no page. */
static void make_swapped(u64 from, u64 to)
{
	while (from <= to) {
		swp_entry_t e = get_swap_page(rig.m);

		assert_int_equal(swp_offset(e), from++);
		assert_int_equal(swap_duplicate(rig.m, e), 0);
		swapcache_free(rig.m, e);
	}
}

static bool cached(u64 offset)
{
	return cache_is_page(rig.m->swap[0]->cache[offset]);
}

/* ---- zram ---- */

/* One stream: the mutex is taken for each page written, and for none that is read. */
static u64 streams_taken(const char *preset)
{
	struct page *page;
	u64 before;
	u64 taken;

	start(HW_DISK_RAM, preset);
	page = rig_page();
	page_set(page, PG_locked);
	assert_true(add_to_swap(rig.m, page));
	page_clear(page, PG_dirty);
	before = rig.w->ledger.lock[LOCK_ZSTRM].acquisitions;
	assert_int_equal(swap_duplicate(rig.m, page_swap_entry(rig.m, page)), 0);
	assert_int_equal(swap_writepage(rig.m, page), 0);
	assert_null(rig.m->swap[0]->zram.stream.sem.writer);
	taken = rig.w->ledger.lock[LOCK_ZSTRM].acquisitions - before;
	rig_stop();
	return taken;
}

TEST(zsmalloc_locks_for_each_page_stored_and_freed)
{
	const struct ledger_lock_stat *st;
	struct page *page;

	start(HW_DISK_RAM, "4.0");
	page = rig_page();
	page_set(page, PG_locked);
	assert_true(add_to_swap(rig.m, page));
	page_clear(page, PG_dirty);
	assert_int_equal(swap_duplicate(rig.m, page_swap_entry(rig.m, page)), 0);
	st = &rig.w->ledger.lock[LOCK_ZS_CLASS];
	assert_int_equal(swap_writepage(rig.m, page), 0);
	assert_int_equal(st->acquisitions, 1);
	swap_free(rig.m, page_swap_entry(rig.m, page)); /* the cache still has the slot */
	assert_int_equal(st->acquisitions, 1);
	assert_true(trylock_page(rig.m, page));
	assert_true(try_to_free_swap(rig.m, page));
	assert_int_equal(st->acquisitions, 2);
	rig_stop();
}

TEST(zram_compresses_one_page_at_a_time_to_4_6)
{
	assert_int_equal(streams_taken("4.0"), 1);
	assert_int_equal(streams_taken("6.18"), 0);
}

/* ---- how much ---- */

TEST(readahead_sizes_are_those_of_the_vectors)
{
	/* Linux's: hits 0: random 1, adjacent 2, last window 8 -> next at least 4. */
	assert_int_equal(swapin_nr_pages(100, 200, 0, 8, 0), 1);
	assert_int_equal(swapin_nr_pages(100, 101, 0, 8, 0), 2);
	assert_int_equal(swapin_nr_pages(100, 99, 0, 8, 0), 2);
	assert_int_equal(swapin_nr_pages(100, 200, 0, 8, 8), 4);
	/* 1 to 2 hits: 3 or 4 pages, at least 4; 3 to 6: 8; the largest is 1 << page_cluster. */
	assert_int_equal(swapin_nr_pages(0, 200, 1, 8, 0), 4);
	assert_int_equal(swapin_nr_pages(0, 200, 2, 8, 0), 4);
	assert_int_equal(swapin_nr_pages(0, 200, 3, 8, 0), 8);
	assert_int_equal(swapin_nr_pages(0, 200, 6, 8, 0), 8);
	assert_int_equal(swapin_nr_pages(0, 200, 7, 8, 0), 8);
	assert_int_equal(swapin_nr_pages(0, 200, 7, 32, 0), 16);
}

/* Starts with 4 hits: 4 + 2 = 6, rounded up to 8. Without hits: 8 / 2, 4 / 2, 2 / 2. */
TEST(the_window_starts_at_8_and_shrinks_by_halves)
{
	start(HW_DISK_ROTATING, "4.0");
	assert_int_equal(swap_cluster_window(rig.m, 100), 8);
	assert_int_equal(swap_cluster_window(rig.m, 300), 4);
	assert_int_equal(swap_cluster_window(rig.m, 500), 2);
	assert_int_equal(swap_cluster_window(rig.m, 700), 1);
	assert_int_equal(swap_cluster_window(rig.m, 701), 2);
	rig.m->swapin_readahead_hits = 3;
	assert_int_equal(swap_cluster_window(rig.m, 900), 8);
	rig.m->knob.page_cluster = 0;
	assert_int_equal(swap_cluster_window(rig.m, 901), 1);
	rig_stop();
}

/* ---- what, by slot ---- */

TEST(an_aligned_block_of_slots_is_read_without_the_header)
{
	struct page *page;

	start(HW_DISK_ROTATING, "4.0");
	make_swapped(1, 20);
	page = swapin_readahead(rig.m, swp_entry(0, 5), GFP_HIGHUSER_MOVABLE, NULL, 0);
	assert_non_null(page);
	assert_true(page_test(page, PG_uptodate));
	assert_false(page_test(page, PG_locked));
	assert_false(page_test(page, PG_readahead));
	assert_int_equal(page->refcount, 2); /* the cache's and ours: batches are drained */
	for (u64 i = 1; i <= 20; i++)
		assert_int_equal(cached(i), i <= 7);
	assert_int_equal(rig_event(PSWPIN), 7);
	/* Neighbours in the plug are one request. */
	assert_int_equal(null_stats(rig.w)->nr_io[0], 1);
	rig_stop();
}

TEST(pages_that_readahead_brought_count_as_hits_when_used)
{
	struct page *page;

	start(HW_DISK_ROTATING, "4.0");
	make_swapped(1, 20);
	put_page(rig.m, swapin_readahead(rig.m, swp_entry(0, 9), GFP_HIGHUSER_MOVABLE, NULL, 0));
	assert_int_equal(rig.m->swapin_readahead_hits, 0);
	page = lookup_swap_cache(rig.m, swp_entry(0, 10), NULL, 0);
	assert_non_null(page);
	assert_int_equal(rig.m->swapin_readahead_hits, 1);
	assert_false(page_test(page, PG_readahead));
	put_page(rig.m, page);
	put_page(rig.m, lookup_swap_cache(rig.m, swp_entry(0, 10), NULL, 0));
	put_page(rig.m, lookup_swap_cache(rig.m, swp_entry(0, 9), NULL, 0)); /* was wanted */
	assert_int_equal(rig.m->swapin_readahead_hits, 1);
	rig_stop();
}

TEST(free_slots_of_a_block_are_passed_over)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 p = 0; p < 2; p++) {
		u64 allocs;

		start(HW_DISK_ROTATING, preset[p]);
		for (u64 i = 0; i < 20; i++) {
			swp_entry_t e = get_swap_page(rig.m);

			assert_int_equal(swap_duplicate(rig.m, e), 0);
			swapcache_free(rig.m, e);
		}
		/* 4.0 fills slots from 1; cluster lists take the first whole cluster: 512 on. */
		u64 base = p ? 512 : 0;

		for (u64 i = 9; i < 16; i++)
			if (i != 12)
				swap_free(rig.m, swp_entry(0, base + i));
		allocs = vm_event_zones(rig.m, PGALLOC_DMA);
		put_page(rig.m, swapin_readahead(rig.m, swp_entry(0, base + 12),
		                                 GFP_HIGHUSER_MOVABLE, NULL, 0));
		assert_int_equal(rig_event(PSWPIN), 2); /* 8 and 12 */
		/* 4.0 takes a page before it finds the slot free, and gives it back. One is the bios'. */
		assert_int_equal(vm_event_zones(rig.m, PGALLOC_DMA) - allocs, (p ? 2 : 8) + 1);
		rig_stop();
	}
}

/* ---- what, by address ---- */

/* A window of 4 at pages 100 .. 199 of a VMA; the leaf table covers pages 0 .. 511. */
TEST(windows_by_address_go_on_in_the_direction_of_the_faults)
{
	struct vm_area_struct vma = {.vm_start = 100 * PAGE_SIZE, .vm_end = 200 * PAGE_SIZE};
	struct swap_ra_range r;

	r = swap_vma_range(&vma, 150 * PAGE_SIZE, 149 * PAGE_SIZE, 4);
	assert_int_equal(r.start, 150 * PAGE_SIZE);
	assert_int_equal(r.end, 154 * PAGE_SIZE);
	r = swap_vma_range(&vma, 150 * PAGE_SIZE, 151 * PAGE_SIZE, 4);
	assert_int_equal(r.start, 147 * PAGE_SIZE);
	assert_int_equal(r.end, 151 * PAGE_SIZE);
	r = swap_vma_range(&vma, 150 * PAGE_SIZE, 120 * PAGE_SIZE, 4); /* left (4 - 1) / 2 = 1 */
	assert_int_equal(r.start, 149 * PAGE_SIZE);
	assert_int_equal(r.end, 153 * PAGE_SIZE);
	r = swap_vma_range(&vma, 199 * PAGE_SIZE, 198 * PAGE_SIZE, 8);
	assert_int_equal(r.end, 200 * PAGE_SIZE);
	r = swap_vma_range(&vma, 100 * PAGE_SIZE, 101 * PAGE_SIZE, 8);
	assert_int_equal(r.start, 100 * PAGE_SIZE);
	vma.vm_end = 600 * PAGE_SIZE;
	r = swap_vma_range(&vma, 510 * PAGE_SIZE, 509 * PAGE_SIZE, 8);
	assert_int_equal(r.end, 512 * PAGE_SIZE);
}

TEST(hits_of_a_vma_are_kept_in_the_vma)
{
	struct vm_area_struct vma = {0};
	struct page *page;

	start(HW_DISK_FLASH, "6.18");
	page = rig_swap_page(1);
	unlock_page(rig.m, page);
	page_set(page, PG_readahead);
	put_page(rig.m, lookup_swap_cache(rig.m, page_swap_entry(rig.m, page), &vma, 0x5000));
	assert_int_equal(swap_ra_hits(vma.swap_readahead_info), 5); /* from 4 */
	assert_int_equal(vma.swap_readahead_info >> PAGE_SHIFT, 5);
	assert_int_equal(rig_event(SWAP_RA_HIT), 1);
	for (u32 i = 0; i < 100; i++) {
		page_set(page, PG_readahead);
		put_page(rig.m, lookup_swap_cache(rig.m, page_swap_entry(rig.m, page), &vma, 0));
	}
	assert_int_equal(swap_ra_hits(vma.swap_readahead_info), 63);
	rig_stop();
}

TEST(one_rotating_area_ends_reading_by_address)
{
	start(HW_DISK_ROTATING, "6.18");
	assert_false(swap_use_vma_readahead(rig.m));
	rig_stop();
	start(HW_DISK_FLASH, "6.18");
	assert_true(swap_use_vma_readahead(rig.m));
	rig_stop();
}

/* ---- what goes wrong ---- */

TEST(without_a_node_for_the_tree_the_slot_is_given_back)
{
	struct page *page;

	start(HW_DISK_FLASH, "4.0");
	page = rig_page();
	assert_true(trylock_page(rig.m, page));
	rig.w->fail_every[WORLD_FAIL_RADIX] = 1;
	assert_false(add_to_swap(rig.m, page));
	assert_int_equal(get_nr_swap_pages(rig.m), 1023);
	assert_int_equal(page->refcount, 1);
	assert_false(page_test(page, PG_swapcache));
	assert_null(read_swap_cache_async(rig.m, swp_entry(0, 1), GFP_HIGHUSER_MOVABLE, NULL, 0));
	rig.w->fail_every[WORLD_FAIL_RADIX] = 0;
	assert_true(add_to_swap(rig.m, page));
	rig_stop();
}

TEST(without_a_frame_nothing_is_read)
{
	start(HW_DISK_ROTATING, "4.0");
	make_swapped(1, 1);
	rig.w->fail_every[WORLD_FAIL_PAGE_ALLOC] = 1;
	assert_null(read_swap_cache_async(rig.m, swp_entry(0, 1), GFP_HIGHUSER_MOVABLE, NULL, 0));
	rig.w->fail_every[WORLD_FAIL_PAGE_ALLOC] = 0;
	assert_int_equal(rig.m->swap[0]->swap_map[1], 1);
	rig_stop();
}

TEST(an_entry_that_was_freed_is_not_read)
{
	start(HW_DISK_ROTATING, "4.0");
	assert_null(read_swap_cache_async(rig.m, swp_entry(0, 9), GFP_HIGHUSER_MOVABLE, NULL, 0));
	assert_int_equal(rig_event(PSWPIN), 0);
	rig_stop();
}

TEST(a_page_that_could_not_be_read_is_unlocked_and_not_up_to_date)
{
	struct page *page;

	start(HW_DISK_ROTATING, "4.0");
	make_swapped(1, 1);
	null_fail_io(rig.w, 1);
	page = read_swap_cache_async(rig.m, swp_entry(0, 1), GFP_HIGHUSER_MOVABLE, NULL, 0);
	assert_false(page_test(page, PG_locked));
	assert_false(page_test(page, PG_uptodate));
	assert_int_equal(rig.m->nr_swap_errors[0], 1);
	assert_int_equal(rig.m->swap[0]->swap_map[1], 1 | SWAP_HAS_CACHE);
	rig_stop();
}

TEST(a_page_that_could_not_be_written_stays_dirty_in_its_slot)
{
	struct page *page;

	start(HW_DISK_FLASH, "4.0");
	page = rig_swap_page(1);
	page_clear(page, PG_dirty);
	page_set(page, PG_reclaim);
	null_fail_io(rig.w, 1);
	assert_int_equal(swap_writepage(rig.m, page), 0);
	assert_true(page_test(page, PG_dirty));
	assert_false(page_test(page, PG_reclaim));
	assert_false(page_test(page, PG_writeback));
	assert_true(page_test(page, PG_swapcache));
	assert_int_equal(rig.m->nr_swap_errors[1], 1);
	assert_int_equal(rig_event(PGROTATED), 0);
	rig_stop();
}

TEST(a_page_whose_slot_nobody_needs_is_not_written)
{
	struct page *page;

	start(HW_DISK_FLASH, "4.0");
	page = rig_swap_page(0);
	page_clear(page, PG_dirty);
	swap_writepage(rig.m, page);
	assert_false(page_test(page, PG_swapcache));
	assert_false(page_test(page, PG_locked));
	assert_true(page_test(page, PG_dirty));
	assert_int_equal(rig_event(PSWPOUT), 0);
	rig_stop();
}

/* ---- plugs ---- */

static void write_out(struct page *page)
{
	page_clear(page, PG_dirty);
	swap_writepage(rig.m, page);
}

/* Forty pages in a row: a request has 32 at most. Nothing is submitted before the plug is let go. */
TEST(a_plug_merges_neighbours_and_holds_them_back)
{
	struct blk_plug plug;
	struct page *page[40];

	start(HW_DISK_ROTATING, "4.0");
	for (u32 i = 0; i < 40; i++)
		page[i] = rig_swap_page(1);
	blk_start_plug(rig.m, &plug);
	for (u32 i = 40; i-- > 0;) /* downwards: each goes before the last */
		write_out(page[i]);
	assert_int_equal(null_stats(rig.w)->nr_io[1], 0);
	assert_true(page_test(page[0], PG_writeback));
	blk_finish_plug(rig.m, &plug);
	assert_int_equal(null_stats(rig.w)->nr_io[1], 2);
	assert_false(page_test(page[0], PG_writeback));
	assert_int_equal(rig_event(PSWPOUT), 40);
	assert_int_equal(rig_event(PGPGOUT), 160); /* KiB */
	rig_stop();
}

TEST(a_plug_is_let_go_after_16_requests_or_before_a_sleep)
{
	struct blk_plug plug, inner;
	struct page *page[40];

	start(HW_DISK_ROTATING, "4.0");
	for (u32 i = 0; i < 40; i++)
		page[i] = rig_swap_page(1);
	blk_start_plug(rig.m, &plug);
	blk_start_plug(rig.m, &inner); /* does nothing */
	for (u32 i = 0; i < 34; i += 2)
		write_out(page[i]);
	blk_finish_plug(rig.m, &inner);
	assert_int_equal(null_stats(rig.w)->nr_io[1], 16);
	congestion_wait(rig.m, true, 1);
	assert_int_equal(null_stats(rig.w)->nr_io[1], 17);
	blk_finish_plug(rig.m, &plug);
	assert_int_equal(null_stats(rig.w)->nr_io[1], 17);
	rig_stop();
}

/* ---- shadows ---- */

TEST(a_shadow_stays_in_the_place_of_a_page_until_the_slot_is_free)
{
	struct page *page;
	swp_entry_t e;
	u64 shadow = 0;

	start(HW_DISK_FLASH, "6.18");
	page = rig_swap_page(2);
	e = page_swap_entry(rig.m, page);
	__delete_from_swap_cache(rig.m, page, 12345);
	swapcache_free(rig.m, e);
	page->refcount -= 1;
	assert_null(find_get_swap_page(rig.m, e));
	assert_int_equal(get_shadow_from_swap_cache(rig.m, e), 12345);
	assert_int_equal(swapcache_prepare(rig.m, e), 0);
	assert_int_equal(add_to_swap_cache(rig.m, page, e, &shadow), 0);
	assert_int_equal(shadow, 12345);
	__delete_from_swap_cache(rig.m, page, 777);
	swapcache_free(rig.m, e);
	swap_free(rig.m, e);
	assert_int_equal(get_shadow_from_swap_cache(rig.m, e), 777);
	swap_free(rig.m, e);
	assert_int_equal(get_shadow_from_swap_cache(rig.m, e), 0);
	rig_stop();
}

TEST_MAIN("swap_state")
