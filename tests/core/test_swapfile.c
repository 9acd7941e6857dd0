/*
 * Swap areas: counts of slots, and where free ones are found.
 *
 * Aim: the map always says what a plain array of numbers says, whatever the order of operations and
 * however large a count gets, and no slot is given out twice. Method: random operations beside the
 * array, on each kind of disk and with both ways of finding slots, audited as they go; then vectors,
 * worked out by hand, for the order in which slots are found.
 */
#include "core/swapfile.c"

#include "tests/core/rig.h"

#define MiB (1UL << 20)

static struct swap_info_struct *start(enum hw_disk_kind k, u64 bytes, const char *preset)
{
	rig_start_disks(2, 4096, preset, k, bytes, 1);
	assert_int_equal(do_swapon(rig.m, 0, -1), 0);
	return rig.m->swap[0];
}

/* A slot with one pte and no page in the cache, as after a swap-out; 0: none. */
static u64 take_slot(void)
{
	swp_entry_t e = get_swap_page(rig.m);

	if (!e.v)
		return 0;
	assert_int_equal(swap_duplicate(rig.m, e), 0);
	swapcache_free(rig.m, e);
	return swp_offset(e);
}

static void free_slot(u64 offset)
{
	swap_free(rig.m, swp_entry(0, offset));
}

/* ---- model ---- */

static struct slot_model {
	u32 count[1024];
	bool cache[1024];
	u64 nr_used;
	u64 max;
} mo;

static void model_take(void)
{
	swp_entry_t e = get_swap_page(rig.m);
	u64 i = swp_offset(e);

	if (!e.v) {
		assert_int_equal(mo.nr_used, mo.max - 1);
		return;
	}
	assert_true(i > 0 && i < mo.max);
	assert_false(mo.count[i] || mo.cache[i]);
	mo.cache[i] = true;
	mo.nr_used += 1;
}

static void model_op(struct rand_stream *r)
{
	u64 i = 1 + rand_below(r, mo.max - 1);
	swp_entry_t e = swp_entry(0, i);
	bool used = mo.count[i] || mo.cache[i];

	switch (rand_below(r, 6)) {
	case 0:
	case 1:
		model_take();
		break;
	case 2: /* many at once, so that counts get large */
		for (u64 n = rand_below(r, 100); used && n; n--) {
			assert_int_equal(swap_duplicate(rig.m, e), 0);
			mo.count[i] += 1;
		}
		break;
	case 3:
		for (u64 n = rand_below(r, 100); mo.count[i] && n; n--) {
			swap_free(rig.m, e);
			mo.count[i] -= 1;
		}
		break;
	case 4:
		assert_int_equal(swapcache_prepare(rig.m, e), mo.cache[i]   ? -EEXIST
		                                              : mo.count[i] ? 0
		                                                            : -ENOENT);
		mo.cache[i] |= used;
		break;
	default:
		if (mo.cache[i])
			swapcache_free(rig.m, e);
		mo.cache[i] = false;
	}
	mo.nr_used -= used && !mo.count[i] && !mo.cache[i];
	assert_int_equal(swp_swapcount(rig.m, e), mo.count[i]);
}

static void run_model(enum hw_disk_kind k, const char *preset)
{
	struct swap_info_struct *si = start(k, 3 * MiB, preset);
	struct rand_stream r;

	rand_init(&r, test_seed(), k, 0);
	mo = (struct slot_model){.max = si->max};
	for (u32 step = 0; step < 30000; step++) {
		null_set_cpu(rig.w, (u32)rand_below(&r, 2));
		model_op(&r);
		assert_int_equal(si->inuse_pages, mo.nr_used);
		assert_int_equal(get_nr_swap_pages(rig.m), si->pages - mo.nr_used);
		if (step % 1000 == 0)
			swap_clusters_audit(si);
	}
	for (u64 i = 1; i < si->max; i++)
		assert_int_equal(si->swap_map[i] != 0, mo.count[i] || mo.cache[i]);
	rig_stop();
}

TEST(the_map_counts_like_an_array_on_a_rotating_disk)
{
	run_model(HW_DISK_ROTATING, "4.0");
}

TEST(the_map_counts_like_an_array_on_flash)
{
	run_model(HW_DISK_FLASH, "4.0");
}

TEST(the_map_counts_like_an_array_with_cluster_lists)
{
	run_model(HW_DISK_FLASH, "6.18");
	run_model(HW_DISK_ROTATING, "6.18");
}

/* ---- counts ---- */

/*
 * 0x3e fit the map. The next carries into a continuation frame, as does every 63rd after it; one
 * frame has a byte per slot, good for 127 carries: 62 + 127 * 63 = 8063 counts, then a second one.
 */
TEST(counts_go_on_in_continuation_frames)
{
	struct swap_info_struct *si = start(HW_DISK_FLASH, MiB, "4.0");
	swp_entry_t e = get_swap_page(rig.m);
	u64 i = swp_offset(e);

	for (u32 n = 0; n < 62; n++)
		assert_int_equal(swap_duplicate(rig.m, e), 0);
	assert_int_equal(si->swap_map[i], SWAP_HAS_CACHE | SWAP_MAP_MAX);
	assert_int_equal(si->cont_levels[0], 0);
	assert_int_equal(swap_duplicate(rig.m, e), 0);
	assert_int_equal(si->swap_map[i], SWAP_HAS_CACHE | COUNT_CONTINUED);
	assert_int_equal(si->cont_levels[0], 1);
	for (u32 n = 63; n < 8063; n++)
		assert_int_equal(swap_duplicate(rig.m, e), 0);
	assert_int_equal(si->cont_levels[0], 1);
	assert_int_equal(swap_duplicate(rig.m, e), 0);
	assert_int_equal(si->cont_levels[0], 2);
	assert_int_equal(swp_swapcount(rig.m, e), 8064);
	for (u32 n = 0; n < 8064; n++)
		swap_free(rig.m, e);
	assert_int_equal(si->swap_map[i], SWAP_HAS_CACHE);
	swapcache_free(rig.m, e);
	assert_int_equal(si->swap_map[i], 0);
	rig_stop();
}

TEST(without_a_frame_for_the_count_duplicate_fails_and_changes_nothing)
{
	struct swap_info_struct *si = start(HW_DISK_FLASH, MiB, "4.0");
	swp_entry_t e = get_swap_page(rig.m);

	for (u32 n = 0; n < 62; n++)
		assert_int_equal(swap_duplicate(rig.m, e), 0);
	rig.w->fail_every[WORLD_FAIL_PAGE_ALLOC] = 1;
	assert_int_equal(swap_duplicate(rig.m, e), -ENOMEM);
	assert_int_equal(swp_swapcount(rig.m, e), 62);
	rig.w->fail_every[WORLD_FAIL_PAGE_ALLOC] = 0;
	assert_int_equal(swap_duplicate(rig.m, e), 0);
	(void)si;
	rig_stop();
}

TEST(a_slot_can_be_made_to_fail)
{
	start(HW_DISK_FLASH, MiB, "4.0");
	rig.w->fail_every[WORLD_FAIL_SWAP_SLOT] = 3;
	assert_int_not_equal(get_swap_page(rig.m).v, 0);
	assert_int_not_equal(get_swap_page(rig.m).v, 0);
	assert_int_equal(get_swap_page(rig.m).v, 0);
	assert_int_equal(get_nr_swap_pages(rig.m), 253);
	rig_stop();
}

TEST(entries_beyond_the_area_are_refused)
{
	start(HW_DISK_FLASH, MiB, "4.0");
	assert_int_equal(swapcache_prepare(rig.m, swp_entry(0, 256)), -EINVAL);
	assert_int_equal(swapcache_prepare(rig.m, swp_entry(0, 0)), -ENOENT); /* the header */
	assert_int_equal(swp_swapcount(rig.m, swp_entry(0, 1 << 20)), 0);
	rig_stop();
}

/* ---- rotating: runs of 256 ---- */

/* Slots 1 .. 1023 of 4 MiB: the first run is the lowest, and runs follow each other. */
TEST(a_rotating_disk_is_filled_from_its_start)
{
	start(HW_DISK_ROTATING, 4 * MiB, "4.0");
	for (u64 i = 1; i < 1024; i++)
		assert_int_equal(take_slot(), i);
	assert_int_equal(take_slot(), 0);
	rig_stop();
}

/*
 * 600 slots taken: two runs (1-256, 257-512) and 88 of the third (513-768), which goes on. Freed
 * meanwhile: 100-199, too short for a run; and, in a second round, 1-300 as well. The third run ends
 * at 768; then the lowest 256 free slots that lie together are 1-256.
 */
TEST(the_next_run_is_the_lowest_on_the_disk_that_is_free)
{
	start(HW_DISK_ROTATING, 4 * MiB, "4.0");
	for (u64 i = 1; i <= 600; i++)
		take_slot();
	for (u64 i = 100; i < 200; i++)
		free_slot(i);
	assert_int_equal(take_slot(), 601);
	for (u64 i = 1; i <= 300; i++)
		if (i < 100 || i >= 200)
			free_slot(i);
	for (u64 i = 602; i <= 768; i++)
		assert_int_equal(take_slot(), i);
	for (u64 i = 1; i <= 256; i++)
		assert_int_equal(take_slot(), i);
	/* 257-300 is no run; 769-1023 is 255 long, no run either: first free from the lowest. */
	assert_int_equal(take_slot(), 257);
	rig_stop();
}

/* Runs need not be aligned: 10 slots in use push the first one to 11. */
TEST(a_run_starts_anywhere)
{
	struct swap_info_struct *si = start(HW_DISK_ROTATING, 4 * MiB, "4.0");

	for (u64 i = 1; i <= 10; i++)
		take_slot();
	free_slot(4);
	si->cluster_nr = 0; /* as if the run were used up */
	assert_int_equal(take_slot(), 11);
	rig_stop();
}

/* Fewer than 256 free: no search for a run, the next free slot upwards, then from the start. */
TEST(when_few_slots_are_free_the_search_goes_round)
{
	struct swap_info_struct *si = start(HW_DISK_ROTATING, 4 * MiB, "4.0");

	for (u64 i = 1; i < 1024; i++)
		take_slot();
	free_slot(500);
	free_slot(900);
	free_slot(300);
	si->cluster_next = 600;
	assert_int_equal(take_slot(), 900);
	assert_int_equal(take_slot(), 300);
	assert_int_equal(take_slot(), 500);
	assert_int_equal(take_slot(), 0);
	rig_stop();
}

/* A byte looked at costs SWAP_SCAN: 1 for a slot in its run, 1 + 256 for the first of a run. */
TEST(searching_costs_a_step_per_slot)
{
	u64 *scans;
	u64 before;

	start(HW_DISK_ROTATING, 4 * MiB, "4.0");
	scans = &rig.w->ledger.cost_count[COST_SWAP_SCAN];
	before = *scans;
	take_slot();
	assert_int_equal(*scans - before, 257);
	before = *scans;
	take_slot();
	assert_int_equal(*scans - before, 1);
	rig_stop();
}

/* ---- flash, 3.12: a cluster per CPU ---- */

TEST(each_cpu_has_a_cluster_of_its_own)
{
	u64 a, b;

	start(HW_DISK_FLASH, 8 * MiB, "4.0");
	null_set_cpu(rig.w, 0);
	a = take_slot();
	null_set_cpu(rig.w, 1);
	b = take_slot();
	assert_int_not_equal(a / SWAPFILE_CLUSTER, b / SWAPFILE_CLUSTER);
	assert_int_equal(a % SWAPFILE_CLUSTER, 0);
	assert_int_equal(b % SWAPFILE_CLUSTER, 0);
	for (u64 i = 1; i < 256; i++) {
		null_set_cpu(rig.w, 0);
		assert_int_equal(take_slot(), a + i);
		null_set_cpu(rig.w, 1);
		assert_int_equal(take_slot(), b + i);
	}
	rig_stop();
}

/*
 * CPU 0's cluster becomes free while it still has it, and goes to the end of the free list. What CPU
 * 0 takes next must not be from the middle of that list; and CPU 1, when it comes to that cluster,
 * must get slots nobody has.
 */
TEST(a_cluster_freed_under_its_cpu_is_not_used_twice)
{
	struct swap_info_struct *si = start(HW_DISK_FLASH, 4 * MiB, "4.0");
	bool taken[1024] = {false};
	u64 first;

	null_set_cpu(rig.w, 0);
	first = take_slot();
	free_slot(first);
	assert_int_equal(si->cluster[first / SWAPFILE_CLUSTER].list, SWAP_CLUSTERS_FREE);
	for (u32 i = 0; i < 1023; i++) {
		u64 slot;

		null_set_cpu(rig.w, i % 2);
		slot = take_slot();
		assert_true(slot && !taken[slot]);
		taken[slot] = true;
		swap_clusters_audit(si);
	}
	assert_int_equal(take_slot(), 0);
	rig_stop();
}

/* ---- 6.12: free, nonfull, full ---- */

TEST(free_clusters_come_before_nonfull_ones)
{
	struct swap_info_struct *si = start(HW_DISK_FLASH, 8 * MiB, "6.18");
	u64 first;

	null_set_cpu(rig.w, 0);
	first = take_slot();
	assert_int_equal(first, 512); /* cluster 0 has the header: nonfull */
	for (u64 i = 1; i < 512; i++)
		assert_int_equal(take_slot(), first + i);
	assert_int_equal(si->cluster[1].list, SWAP_CLUSTERS_FULL);
	free_slot(first + 7);
	assert_int_equal(si->cluster[1].list, SWAP_CLUSTERS_NONFULL);
	assert_int_equal(take_slot(), 2 * 512);
	for (u64 i = 1; i < 1024; i++)
		take_slot();
	/* None is free any more. The nonfull list holds 0 and 1, in this order. */
	assert_int_equal(take_slot(), 1);
	rig_stop();
}

/* ---- full ---- */

/*
 * 255 usable slots: full means free * 2 < total, so 127 free or fewer. A slot that only the cache
 * holds is then taken from it in passing.
 */
TEST(a_slot_that_only_the_cache_holds_is_taken_when_swap_is_full)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 p = 0; p < 2; p++) {
		struct page *page;
		u64 slot;

		start(HW_DISK_FLASH, MiB, preset[p]);
		assert_false(vm_swap_full(rig.m));
		page = rig_swap_page(0);
		slot = swp_offset(page_swap_entry(rig.m, page));
		unlock_page(rig.m, page);
		for (u32 i = 0; i < 126; i++)
			take_slot();
		assert_false(vm_swap_full(rig.m)); /* 128 free */
		take_slot();
		assert_true(vm_swap_full(rig.m)); /* 127 */
		for (u32 i = 0; i < 127; i++)
			assert_int_not_equal(take_slot(), 0);
		assert_true(page_test(page, PG_swapcache) || p == 0);
		/* Nothing is counted as free: nobody looks. Give one back, and take two. */
		free_slot(slot == 1 ? 2 : 1);
		assert_int_not_equal(take_slot(), 0);
		if (page_test(page, PG_swapcache))
			assert_true(try_to_reclaim_swap(rig.m, rig.m->swap[0], slot));
		assert_false(page_test(page, PG_swapcache));
		assert_true(page_test(page, PG_dirty));
		rig_stop();
	}
}

TEST(a_locked_page_keeps_its_slot)
{
	struct page *page;

	start(HW_DISK_FLASH, MiB, "4.0");
	page = rig_swap_page(0);
	assert_false(try_to_reclaim_swap(rig.m, rig.m->swap[0],
	                                 swp_offset(page_swap_entry(rig.m, page))));
	assert_true(page_test(page, PG_swapcache));
	rig_stop();
}

/* ---- several areas ---- */

TEST(areas_are_used_by_priority_and_equals_in_turn)
{
	rig_start_disks(1, 4096, "4.0", HW_DISK_ROTATING, MiB, 3);
	assert_int_equal(do_swapon(rig.m, 0, 5), 0);
	assert_int_equal(do_swapon(rig.m, 1, 10), 0);
	assert_int_equal(do_swapon(rig.m, 2, 10), 0);
	for (u32 i = 0; i < 510; i++)
		assert_int_equal(swp_type(get_swap_page(rig.m)), 1 + i % 2);
	for (u32 i = 0; i < 255; i++)
		assert_int_equal(swp_type(get_swap_page(rig.m)), 0);
	assert_int_equal(get_swap_page(rig.m).v, 0);
	swapcache_free(rig.m, swp_entry(2, 77));
	assert_int_equal(get_swap_page(rig.m).v, swp_entry(2, 77).v);
	rig_stop();
}

TEST(areas_without_a_priority_are_used_in_order_of_swapon)
{
	rig_start_disks(1, 4096, "4.0", HW_DISK_ROTATING, MiB, 2);
	assert_int_equal(do_swapon(rig.m, 1, -1), 0);
	assert_int_equal(do_swapon(rig.m, 0, -1), 0);
	assert_int_equal(rig.m->swap[swp_type(get_swap_page(rig.m))]->disk, 1);
	assert_int_equal(rig.m->swap[1]->prio, -2);
	rig_stop();
}

TEST(swapon_refuses_what_is_no_disk_or_taken)
{
	start(HW_DISK_FLASH, MiB, "4.0");
	assert_int_equal(do_swapon(rig.m, 0, -1), -EBUSY);
	assert_int_equal(do_swapon(rig.m, 7, -1), -EINVAL);
	assert_int_equal(rig.m->total_swap_pages, 255);
	rig_stop();
}

/* ---- the page's side ---- */

TEST(a_slot_is_given_up_only_when_nobody_needs_it)
{
	struct page *page;

	start(HW_DISK_FLASH, MiB, "4.0");
	page = rig_swap_page(1);
	assert_false(try_to_free_swap(rig.m, page));
	swap_free(rig.m, page_swap_entry(rig.m, page));
	page_set(page, PG_writeback);
	assert_false(try_to_free_swap(rig.m, page));
	page_clear(page, PG_writeback);
	page_clear(page, PG_dirty);
	assert_true(try_to_free_swap(rig.m, page));
	assert_true(page_test(page, PG_dirty));
	assert_int_equal(page->refcount, 1);
	assert_int_equal(get_nr_swap_pages(rig.m), 255);
	rig_stop();
}

/* mapcount + swapcount <= 1: nobody else can see the page. */
TEST(reuse_needs_one_user_and_takes_the_page_out_of_the_cache)
{
	struct page *page;

	start(HW_DISK_FLASH, MiB, "4.0");
	page = rig_swap_page(1);
	page->mapcount = 1;
	assert_false(reuse_swap_page(rig.m, page)); /* 1 + 1 */
	swap_free(rig.m, page_swap_entry(rig.m, page));
	page_set(page, PG_writeback);
	assert_true(reuse_swap_page(rig.m, page)); /* but it cannot leave the cache yet */
	assert_true(page_test(page, PG_swapcache));
	page_clear(page, PG_writeback);
	assert_true(reuse_swap_page(rig.m, page));
	assert_false(page_test(page, PG_swapcache));
	page->mapcount = 2;
	assert_false(reuse_swap_page(rig.m, page));
	page->mapcount = 0;
	rig_stop();
}

TEST(zap_of_the_last_entry_frees_the_cached_page_unless_it_is_busy)
{
	struct page *page;
	swp_entry_t e;

	start(HW_DISK_FLASH, MiB, "4.0");
	page = rig_swap_page(2);
	e = page_swap_entry(rig.m, page);
	assert_true(free_swap_and_cache(rig.m, e)); /* one pte left */
	assert_true(page_test(page, PG_swapcache));
	assert_true(free_swap_and_cache(rig.m, e)); /* none left, but it is locked */
	assert_true(page_test(page, PG_swapcache));
	assert_int_equal(swap_duplicate(rig.m, e), 0);
	unlock_page(rig.m, page);
	assert_true(free_swap_and_cache(rig.m, e));
	assert_false(page_test(page, PG_swapcache));
	assert_int_equal(get_nr_swap_pages(rig.m), 255);
	rig_stop();
}

/* The map of 8 GiB of swap is 2 MiB: 512 frames of the machine. */
TEST(the_map_takes_frames)
{
	u64 before;

	rig_start_disks(1, 8192, "4.0", HW_DISK_FLASH, 8192 * MiB, 1);
	before = vm_event_zones(rig.m, PGALLOC_DMA);
	assert_int_equal(do_swapon(rig.m, 0, -1), 0);
	assert_int_equal(vm_event_zones(rig.m, PGALLOC_DMA) - before, 512);
	rig_stop();
}

TEST_MAIN("swapfile")
