/*
 * Refault distances.
 *
 * Aim: a page that comes back goes to the active list exactly if it was away for no more evictions
 * and activations than there are pages it could have displaced. Method: by hand, on lists whose sizes
 * the test sets.
 */
#include "core/workingset.c"

#include "tests/core/rig.h"

static struct lruvec *start(void)
{
	rig_start(1, 4096, "6.18", NULL);
	assert_int_equal(do_swapon(rig.m, 0, -1), 0);
	return &rig.m->node[0].lruvec;
}

static long item(enum vm_item i)
{
	return stat_exact(rig.m, &rig.m->node[0].stat, i);
}

/* A locked page that has just been evicted; @shadow is what it leaves. */
static struct page *evict(u64 *shadow, bool workingset)
{
	struct page *page = rig_page();

	assert_true(trylock_page(rig.m, page));
	if (workingset)
		page_set(page, PG_workingset);
	*shadow = workingset_eviction(rig.m, page);
	assert_int_not_equal(*shadow, 0);
	page_clear(page, PG_workingset);
	return page;
}

TEST(shadows_keep_what_they_are_given)
{
	struct lruvec *l = start();
	struct shadow s;

	s = unpack_shadow(rig.m, pack_shadow(l, 123456789, true));
	assert_ptr_equal(s.lruvec, l);
	assert_int_equal(s.eviction, 123456789);
	assert_true(s.workingset);
	/* The largest fits beside the bit that the swap cache needs. */
	assert_int_equal(pack_shadow(l, EVICTION_MASK, true) >> 63, 0);
	rig_stop();
}

/*
 * Evicted at age 1. After 99 more evictions the age is 100; the distance counts them and itself: 100.
 * It could have displaced the active anonymous pages and, being anonymous, all file pages.
 */
TEST(a_page_is_activated_if_its_distance_fits_the_other_lists)
{
	static const struct {
		unsigned long active_anon, inactive_file, active_file;
		bool activated;
	} row[] = {{100, 0, 0, true},
	           {99, 0, 0, false},
	           {0, 100, 0, true},
	           {40, 30, 30, true},
	           {40, 30, 29, false}};

	for (u32 i = 0; i < ARRAY_SIZE(row); i++) {
		struct lruvec *l = start();
		struct page *page;
		u64 shadow;

		l->size[LRU_ACTIVE_ANON] = row[i].active_anon;
		l->size[LRU_INACTIVE_FILE] = row[i].inactive_file;
		l->size[LRU_ACTIVE_FILE] = row[i].active_file;
		l->size[LRU_INACTIVE_ANON] = 1000; /* the list it was evicted from: no matter */
		page = evict(&shadow, false);
		workingset_age_nonresident(l, 99);
		workingset_refault(rig.m, page, shadow);
		assert_int_equal(page_test(page, PG_active), row[i].activated);
		assert_int_equal(item(WORKINGSET_REFAULT_ANON), 1);
		assert_int_equal(item(WORKINGSET_ACTIVATE_ANON), row[i].activated);
		/* An activation ages the others. */
		assert_int_equal(l->nonresident_age, 100 + row[i].activated);
		rig_stop();
	}
}

/* Without free swap the active anonymous pages could not have been given up. */
TEST(without_swap_active_anonymous_pages_do_not_count)
{
	struct lruvec *l = start();
	struct page *page;
	u64 shadow;

	l->size[LRU_ACTIVE_ANON] = 1000;
	page = evict(&shadow, false);
	atomic_long_set(&rig.m->nr_swap_pages, 0);
	workingset_refault(rig.m, page, shadow);
	assert_false(page_test(page, PG_active));
	rig_stop();
}

/* It had been active: it is restored as such, and its read is charged to the anonymous side. */
TEST(a_page_of_the_workingset_is_restored_and_costs)
{
	struct lruvec *l = start();
	struct page *page;
	u64 shadow;

	l->size[LRU_ACTIVE_ANON] = 1000;
	page = evict(&shadow, true);
	workingset_refault(rig.m, page, shadow);
	assert_true(page_test(page, PG_active));
	assert_true(page_test(page, PG_workingset));
	assert_int_equal(item(WORKINGSET_RESTORE_ANON), 1);
	assert_int_equal(l->anon_cost, SWAP_CLUSTER_MAX);
	rig_stop();
}

TEST(before_5_9_nothing_is_remembered)
{
	struct page *page;

	rig_start(1, 4096, "4.0", NULL);
	page = rig_page();
	assert_int_equal(workingset_eviction(rig.m, page), 0);
	rig_stop();
}

/* Pages of a whole cycle through the swap cache: out, evicted, back in, and active. */
TEST(a_refault_through_the_swap_cache_activates_the_page)
{
	struct lruvec *l = start();
	struct page *page;
	swp_entry_t e;
	bool again;

	l->size[LRU_ACTIVE_FILE] = 10;
	page = rig_swap_page(1);
	e = page_swap_entry(rig.m, page);
	__delete_from_swap_cache(rig.m, page, workingset_eviction(rig.m, page));
	swapcache_free(rig.m, e);
	page->refcount -= 1;
	page = read_swap_cache_async(rig.m, e, GFP_HIGHUSER_MOVABLE, NULL, 0);
	again = page_test(page, PG_active);
	assert_true(again);
	assert_int_equal(get_shadow_from_swap_cache(rig.m, e), 0);
	rig_stop();
}

TEST_MAIN("workingset")
