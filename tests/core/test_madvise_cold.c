/*
 * MADV_COLD and MADV_PAGEOUT: what they do to pages, and to which.
 *
 * Method: a user task on the null world, whose disk is done when a write is submitted, so that what is paged
 * out is gone when the call returns.
 */
#include "tests/core/mm_fixture.h"

#define P(n) ((u64)(n)*PAGE_SIZE)

static u64 filled(u32 nr)
{
	u64 va = fix_mmap(nr);

	for (u32 i = 0; i < nr; i++)
		fix_write(va + P(i), 100 + i);
	lru_add_drain(fix.m);
	return va;
}

static void start(const char *preset)
{
	fix_start(1, 4096, preset, NULL);
	fix_swapon();
}

TEST(they_are_unknown_before_5_4)
{
	u64 va;

	start("4.5");
	va = filled(4);
	assert_int_equal(do_madvise(fix.m, va, P(4), MM_MADV_COLD), -EINVAL);
	assert_int_equal(do_madvise(fix.m, va, 0, MM_MADV_PAGEOUT), -EINVAL);
	fix_stop();
}

TEST(cold_pages_are_old_and_inactive)
{
	u64 va;

	start("6.18");
	va = filled(10);
	for (u32 i = 0; i < 10; i++) {
		page_set(fix_page(fix.t, va + P(i)), PG_referenced);
		activate_page(fix.m, fix_page(fix.t, va + P(i)));
	}
	lru_add_drain(fix.m);
	assert_true(page_test(fix_page(fix.t, va + P(2)), PG_active));
	assert_int_equal(do_madvise(fix.m, va + P(2), P(5), MM_MADV_COLD), 0);
	lru_add_drain(fix.m);
	for (u32 i = 0; i < 10; i++) {
		bool cold = i >= 2 && i < 7;

		assert_int_equal(page_test(fix_page(fix.t, va + P(i)), PG_active), !cold);
		assert_int_equal(pte_young(fix_pte(fix.t, va + P(i))), !cold);
		assert_int_equal(fix_read(va + P(i)), 100 + i);
	}
	assert_int_equal(fix_event(PGDEACTIVATE), 5);
	assert_int_equal(fix_event(PSWPOUT), 0);
	fix_stop();
}

TEST(paged_out_is_in_swap_used_or_not)
{
	u64 va;

	start("6.18");
	va = filled(10);
	assert_int_equal(do_madvise(fix.m, va, P(8), MM_MADV_PAGEOUT), 0);
	assert_int_equal(fix_event(PSWPOUT), 8);
	assert_int_equal(fix_rss(fix.t, MM_SWAPENTS), 8);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 2);
	assert_int_equal(item_exact(fix.m, NR_ISOLATED_ANON), 0);
	/* It is no reclaim of the machine's. */
	assert_int_equal(vm_event_zones(fix.m, PGSTEAL_DIRECT_DMA), 0);
	for (u32 i = 0; i < 10; i++)
		assert_int_equal(fix_read(va + P(i)), 100 + i);
	fix_stop();
}

TEST(what_others_map_stays)
{
	struct task *parent, *child;
	u64 va;

	start("6.18");
	va = filled(6);
	parent = fix.t;
	assert_int_equal(do_fork(fix.m, "child", fix_body, NULL, &child), 0);
	fix_write(va, 7); /* its own again */
	lru_add_drain(fix.m);
	assert_int_equal(do_madvise(fix.m, va, P(6), MM_MADV_PAGEOUT), 0);
	assert_int_equal(fix_event(PSWPOUT), 1);
	assert_int_equal(do_madvise(fix.m, va, P(6), MM_MADV_COLD), 0);
	assert_true(pte_young(fix_pte(fix.t, va + P(1))));
	fix_end(child);
	task_put(child);
	fix_become(parent);
	assert_int_equal(fix_read(va), 7);
	assert_int_equal(fix_read(va + P(1)), 101);
	fix_stop();
}

TEST(without_swap_nothing_goes)
{
	u64 va;

	fix_start(1, 4096, "6.18", NULL);
	va = filled(10);
	assert_int_equal(do_madvise(fix.m, va, P(10), MM_MADV_PAGEOUT), 0);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 10);
	assert_int_equal(item_exact(fix.m, NR_ISOLATED_ANON), 0);
	fix_stop();
}

TEST(what_was_freed_lazily_goes_without_io)
{
	u64 va;

	start("6.18");
	va = filled(10);
	assert_int_equal(do_madvise(fix.m, va, P(10), MM_MADV_FREE), 0);
	lru_add_drain(fix.m);
	fix_write(va, 1);
	assert_int_equal(do_madvise(fix.m, va, P(10), MM_MADV_PAGEOUT), 0);
	assert_int_equal(fix_event(PGLAZYFREED), 9);
	assert_int_equal(fix_read(va), 1);
	assert_int_equal(fix_read(va + P(1)), 0);
	fix_stop();
}

TEST_MAIN("madvise_cold")
