/*
 * Cluster lists of swap areas, 6.12 on.
 *
 * Aim: slots of every order are given out once, in a row and aligned, from clusters in the order that the
 * lists say; and what is given back in runs is what was taken. Method: vectors worked out by hand, then random
 * operations of random orders beside a plain array, on two CPUs, audited as they go.
 */
#include "core/swap_cluster.c"

#include "tests/core/rig.h"

#define MiB (1UL << 20)
#define CLUSTER 512

static struct swap_info_struct *start(enum hw_disk_kind k, u64 bytes, u32 areas)
{
	rig_start_disks(2, 4096, "6.18", k, bytes, areas);
	for (u32 i = 0; i < areas; i++)
		assert_int_equal(do_swapon(rig.m, i, 5), 0);
	null_set_cpu(rig.w, 0);
	return rig.m->swap[0];
}

/* The first of 2^@order slots that a pte each names, and no cache holds; 0: none. */
static u64 take(u32 order)
{
	swp_entry_t e = get_swap_pages(rig.m, order);

	if (!e.v)
		return 0;
	for (u32 i = 0; i < 1u << order; i++)
		assert_int_equal(swap_duplicate(rig.m, (swp_entry_t){e.v + i}), 0);
	swapcache_free_nr(rig.m, e, 1u << order);
	return swp_offset(e);
}

static void give_back(u64 offset, u32 nr)
{
	swap_free_nr(rig.m, swp_entry(0, offset), nr);
}

/* Cluster 0 has the header, and is for small pages; 1 to 4 are free. Each order that comes takes the next. */
TEST(each_order_has_a_cluster_of_its_own_and_goes_on_there)
{
	struct swap_info_struct *si = start(HW_DISK_FLASH, 10 * MiB, 1);

	assert_int_equal(take(4), 1 * CLUSTER);
	assert_int_equal(take(2), 2 * CLUSTER);
	assert_int_equal(take(0), 3 * CLUSTER);
	assert_int_equal(take(4), 1 * CLUSTER + 16);
	assert_int_equal(take(2), 2 * CLUSTER + 4);
	assert_int_equal(take(0), 3 * CLUSTER + 1);
	assert_int_equal(si->cluster[1].order, 4);
	assert_int_equal(si->cluster[1].list, SWAP_CLUSTERS_FRAG + 4);
	/* Given back in part, its cluster has slots for certain; as a whole it is for anybody. */
	give_back(1 * CLUSTER, 16);
	assert_int_equal(si->cluster[1].list, SWAP_CLUSTERS_NONFULL + 4);
	give_back(1 * CLUSTER + 16, 16);
	assert_int_equal(si->cluster[1].list, SWAP_CLUSTERS_FREE);
	assert_int_equal(si->cluster[1].order, 0);
	swap_clusters_audit(si);
	rig_stop();
}

/* Whole clusters 1 and 2, full of 16 slots at a time: 32 each. What a CPU is given next is what is said here. */
TEST(nonfull_clusters_come_after_free_ones_and_before_those_searched_in_vain)
{
	struct swap_info_struct *si = start(HW_DISK_FLASH, 6 * MiB, 1);

	for (u32 i = 0; i < 32; i++)
		assert_int_equal(take(4), CLUSTER + 16 * i);
	assert_int_equal(si->cluster[1].list, SWAP_CLUSTERS_FULL);
	give_back(CLUSTER + 64, 16);
	assert_int_equal(si->cluster[1].list, SWAP_CLUSTERS_NONFULL + 4);
	assert_int_equal(take(4), 2 * CLUSTER); /* the free one */
	for (u32 i = 1; i < 32; i++)
		take(4);
	assert_int_equal(take(4), CLUSTER + 64);
	/* One slot of 16 is no room for 16: the cluster has been searched in vain. */
	give_back(CLUSTER + 80, 1);
	assert_int_equal(take(4), 0);
	assert_int_equal(si->cluster[1].list, SWAP_CLUSTERS_FRAG + 4);
	/* Small pages have cluster 0's 511 slots; then they take what larger ones have left. */
	for (u32 i = 1; i < CLUSTER; i++)
		assert_int_equal(take(0), i);
	assert_int_equal(take(0), CLUSTER + 80);
	assert_int_equal(take(0), 0);
	swap_clusters_audit(si);
	rig_stop();
}

/* 511 + 512 + 512 slots. A huge page needs a whole cluster; one slot in use, and there is none. */
TEST(a_huge_page_gets_a_whole_cluster_or_nothing)
{
	start(HW_DISK_FLASH, 6 * MiB, 1);
	assert_int_equal(take(9), CLUSTER);
	assert_int_equal(take(0), 2 * CLUSTER);
	assert_int_equal(take(9), 0);
	assert_int_equal(get_nr_swap_pages(rig.m), 3 * CLUSTER - 1 - CLUSTER - 1);
	give_back(2 * CLUSTER, 1);
	assert_int_equal(take(9), 2 * CLUSTER);
	rig_stop();
}

/* Two areas of 1 MiB and one priority: 255 slots and no whole cluster in either, and only one is asked. */
TEST(a_large_page_is_tried_in_one_area_only)
{
	u64 before;

	start(HW_DISK_FLASH, MiB, 2);
	before = rig.w->ledger.lock[LOCK_SWAP_AVAIL].acquisitions;
	assert_int_equal(take(4), 0);
	assert_int_equal(rig.w->ledger.lock[LOCK_SWAP_AVAIL].acquisitions - before, 1);
	for (u32 i = 0; i < 510; i++)
		assert_int_not_equal(get_swap_page(rig.m).v, 0);
	rig_stop();
}

/* Swap areas of one priority take turns by clusters: a CPU goes on where it is. */
TEST(a_cpu_stays_in_its_cluster_and_its_area)
{
	start(HW_DISK_FLASH, 4 * MiB, 2);
	null_set_cpu(rig.w, 0);
	for (u32 i = 0; i < CLUSTER; i++)
		assert_int_equal(get_swap_page(rig.m).v, swp_entry(0, CLUSTER + i).v);
	for (u32 i = 0; i < CLUSTER; i++)
		assert_int_equal(get_swap_page(rig.m).v, swp_entry(1, CLUSTER + i).v);
	assert_int_equal(get_swap_page(rig.m).v, swp_entry(0, 1).v);
	rig_stop();
}

/* The count of each slot is what one by one would leave; a run's lock is taken once per cluster. */
TEST(runs_of_slots_are_given_back_under_one_hold_of_their_cluster_s_lock)
{
	struct swap_info_struct *si = start(HW_DISK_FLASH, 6 * MiB, 1);
	u64 *acquired = &rig.w->ledger.lock[LOCK_SWAP_INFO].acquisitions;
	u64 first = take(6);
	u64 before;

	/* A second pte of the middle one, so that two runs become free: 32 slots and 31. */
	swap_duplicate(rig.m, swp_entry(0, first + 32));
	before = *acquired;
	give_back(first, 64);
	/* The cluster's; then for each run si->lock to change its list (the first one only) and its counts. */
	assert_int_equal(*acquired - before, 1 + 2 + 1);
	assert_int_equal(si->inuse_pages, 1);
	assert_int_equal(swp_swapcount(rig.m, swp_entry(0, first + 32)), 1);
	/* Across the border of two clusters. */
	give_back(first + 32, 1);
	for (u32 i = 0; i < 2 * CLUSTER; i++)
		take(0);
	give_back(2 * CLUSTER - 3, 6);
	assert_int_equal(si->inuse_pages, 2 * CLUSTER - 6);
	assert_int_equal(si->cluster[1].count, CLUSTER - 3);
	assert_int_equal(si->cluster[2].count, CLUSTER - 3);
	swap_clusters_audit(si);
	rig_stop();
}

/* ---- model ---- */

#define SLOTS (6 * CLUSTER)

static struct slot_model {
	u8 count[SLOTS]; /* a pte each, at most 3 */
	bool cache[SLOTS];
	u64 nr_used;
	u64 nr_taken[SWAP_NR_ORDERS];
} mo;

static void model_take(u32 order)
{
	swp_entry_t e = get_swap_pages(rig.m, order);
	u64 first = swp_offset(e);

	if (!e.v) {
		assert_true(order || mo.nr_used == SLOTS - 1);
		return;
	}
	assert_true(first && !(first & ((1u << order) - 1)) && first + (1u << order) <= SLOTS);
	for (u64 i = first; i < first + (1u << order); i++) {
		assert_false(mo.count[i] || mo.cache[i]);
		mo.cache[i] = true;
	}
	mo.nr_used += 1u << order;
	mo.nr_taken[order] += 1;
}

/* The most slots from @i on, up to @max, that all have a count, or the cache's hold. */
static u32 model_run(u64 i, u32 max, bool cache)
{
	u32 nr = 0;

	while (nr < max && i + nr < SLOTS && (cache ? mo.cache[i + nr] : mo.count[i + nr] != 0))
		nr++;
	return nr;
}

static void model_op(struct rand_stream *r)
{
	u64 i = 1 + rand_below(r, SLOTS - 1);
	bool cache = rand_below(r, 2);
	u32 nr;

	switch (rand_below(r, 4)) {
	case 0:
		model_take((u32)rand_below(r, 3) ? 0 : (u32)rand_below(r, SWAP_NR_ORDERS));
		return;
	case 1:
		if (!(mo.count[i] || mo.cache[i]) || mo.count[i] == 3)
			return;
		assert_int_equal(swap_duplicate(rig.m, swp_entry(0, i)), 0);
		mo.count[i] += 1;
		return;
	default:
		break;
	}
	nr = model_run(i, 1 + (u32)rand_below(r, 700), cache);
	if (!nr)
		return;
	if (cache)
		swapcache_free_nr(rig.m, swp_entry(0, i), nr);
	else
		swap_free_nr(rig.m, swp_entry(0, i), nr);
	for (; nr--; i++) {
		mo.count[i] -= !cache;
		mo.cache[i] &= !cache;
		mo.nr_used -= !mo.count[i] && !mo.cache[i];
	}
}

static void model_give_all_back(struct swap_info_struct *si)
{
	for (u64 i = 1; i < SLOTS; i++) {
		while (mo.count[i]) {
			swap_free(rig.m, swp_entry(0, i));
			mo.count[i] -= 1;
		}
		if (mo.cache[i])
			swapcache_free(rig.m, swp_entry(0, i));
		mo.cache[i] = false;
	}
	mo.nr_used = 0;
	assert_int_equal(si->clusters[SWAP_CLUSTERS_FREE].nr, SLOTS / CLUSTER - 1);
}

/*
 * One search at a time, which goes on behind the last one whichever CPU's that was; on others each CPU has a
 * cluster of its own, and no such lock.
 */
TEST(all_cpus_go_on_in_one_place_on_a_disk_that_says_it_is_rotating)
{
	const struct ledger_lock_stat *lock;
	u64 first;

	for (u32 rotating = 0; rotating < 2; rotating++) {
		start(rotating ? HW_DISK_ROTATING : HW_DISK_FLASH, 10 * MiB, 1);
		lock = &rig.w->ledger.lock[LOCK_SWAP_GLOBAL_CLUSTER];
		first = take(0);
		null_set_cpu(rig.w, 1);
		assert_int_equal(take(0), rotating ? first + 1 : first + CLUSTER);
		assert_int_equal(lock->acquisitions, rotating ? 2 : 0);
		rig_stop();
	}
}

static void run_model(enum hw_disk_kind k)
{
	struct swap_info_struct *si = start(k, SLOTS * PAGE_SIZE, 1);
	struct rand_stream r;

	rand_init(&r, test_seed(), k, 0);
	mo = (struct slot_model){0};
	for (u32 step = 0; step < 30000; step++) {
		null_set_cpu(rig.w, (u32)rand_below(&r, 2));
		model_op(&r);
		assert_int_equal(si->inuse_pages, mo.nr_used);
		assert_int_equal(get_nr_swap_pages(rig.m), si->pages - mo.nr_used);
		if (step % 100 == 0)
			swap_clusters_audit(si);
		if (step % 500 == 0)
			model_give_all_back(si);
	}
	for (u64 i = 1; i < si->max; i++)
		assert_int_equal(si->swap_map[i], mo.count[i] | (mo.cache[i] ? SWAP_HAS_CACHE : 0));
	for (u32 o = 0; o < SWAP_NR_ORDERS; o++)
		assert_int_not_equal(mo.nr_taken[o], 0);
	rig_stop();
}

TEST(slots_of_every_order_are_given_out_once_and_come_back)
{
	run_model(HW_DISK_FLASH);
	run_model(HW_DISK_ROTATING);
	run_model(HW_DISK_RAM);
}

TEST_MAIN("swap_cluster")
