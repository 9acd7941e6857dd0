/*
 * The page lock and waiting for writeback.
 *
 * Aim: one holder at a time, waiters get the lock in order of arrival, one per unlock; the end of
 * writeback wakes all who wait for it and nobody else. Method: tasks of the null world that note
 * what they got, run by hand.
 */
#include "core/filemap.c"

#include "tests/core/rig.h"

static struct waiter {
	struct world_task w;
	struct page *page;
	bool writeback;
	u32 nr; /* order in which it got through; 0: not yet */
} waiters[4];

static u32 nr_through;

static void waiter_main(void *arg)
{
	struct waiter *w = arg;

	if (w->writeback)
		wait_on_page_writeback(rig.m, w->page);
	else
		lock_page(rig.m, w->page);
	w->nr = ++nr_through;
}

/* A task of the world's own kind of size: it has no plug, like boot tasks. */
static void wait_for(u32 i, struct page *page, bool writeback)
{
	struct waiter *w = &waiters[i];

	*w = (struct waiter){.page = page, .writeback = writeback};
	rig.m->nr_world_tasks = ~0u;
	world_task_init(rig.w, &w->w, "waiter", WORLD_TASK_KTHREAD, WORLD_STACK_KERNEL, waiter_main,
	                w);
	world_task_start(rig.w, &w->w, -1);
	assert_false(null_run_task(&w->w));
}

static struct page *start(void)
{
	rig_start(1, 4096, "4.0", NULL);
	nr_through = 0;
	return rig_page();
}

TEST(trylock_fails_while_somebody_has_the_lock)
{
	struct page *page = start();

	assert_true(trylock_page(rig.m, page));
	assert_false(trylock_page(rig.m, page));
	unlock_page(rig.m, page);
	assert_true(trylock_page(rig.m, page));
	unlock_page(rig.m, page);
	rig_stop();
}

TEST(an_unlock_wakes_one_waiter_the_first)
{
	struct page *page = start();

	lock_page(rig.m, page);
	wait_for(0, page, false);
	wait_for(1, page, false);
	assert_true(page_test(page, PG_waiters));
	unlock_page(rig.m, page);
	assert_int_equal(waiters[0].w.state, WORLD_TASK_RUNNING);
	assert_int_equal(waiters[1].w.state, WORLD_TASK_UNINTERRUPTIBLE);
	assert_true(null_run_task(&waiters[0].w));
	assert_true(page_test(page, PG_locked));
	unlock_page(rig.m, page);
	assert_false(page_test(page, PG_waiters));
	assert_true(null_run_task(&waiters[1].w));
	assert_int_equal(waiters[0].nr, 1);
	assert_int_equal(waiters[1].nr, 2);
	unlock_page(rig.m, page);
	rig_stop();
}

/* A barging trylock between the wake-up and the waiter sends the waiter to sleep again. */
TEST(a_waiter_that_comes_too_late_waits_again)
{
	struct page *page = start();

	lock_page(rig.m, page);
	wait_for(0, page, false);
	unlock_page(rig.m, page);
	assert_true(trylock_page(rig.m, page));
	assert_false(null_run_task(&waiters[0].w));
	assert_true(page_test(page, PG_waiters));
	unlock_page(rig.m, page);
	assert_true(null_run_task(&waiters[0].w));
	unlock_page(rig.m, page);
	rig_stop();
}

TEST(the_end_of_writeback_wakes_all_who_wait_for_it_and_no_locker)
{
	struct page *page = start();

	lock_page(rig.m, page);
	set_page_writeback(rig.m, page);
	wait_for(0, page, true);
	wait_for(1, page, false);
	wait_for(2, page, true);
	assert_int_equal(stat_exact(rig.m, &page_zone(rig.m, page)->stat, NR_WRITEBACK), 1);
	end_page_writeback(rig.m, page);
	assert_int_equal(stat_exact(rig.m, &page_zone(rig.m, page)->stat, NR_WRITEBACK), 0);
	assert_int_equal(stat_exact(rig.m, &page_zone(rig.m, page)->stat, NR_WRITTEN), 1);
	assert_int_equal(waiters[1].w.state, WORLD_TASK_UNINTERRUPTIBLE);
	assert_true(page_test(page, PG_waiters));
	assert_true(null_run_task(&waiters[0].w));
	assert_true(null_run_task(&waiters[2].w));
	unlock_page(rig.m, page);
	assert_true(null_run_task(&waiters[1].w));
	unlock_page(rig.m, page);
	rig_stop();
}

/* Pages whose pfns differ by the size of the table share a queue. */
TEST(waiters_of_other_pages_in_the_same_queue_sleep_on)
{
	struct page *page = start();
	struct page *other = page + PAGE_WAIT_TABLE + 1;

	while (page_waitqueue(rig.m, other) != page_waitqueue(rig.m, page))
		other++;
	other->refcount = 1;
	lock_page(rig.m, page);
	assert_true(trylock_page(rig.m, other));
	wait_for(0, page, false);
	wait_for(1, other, false);
	unlock_page(rig.m, other);
	assert_int_equal(waiters[0].w.state, WORLD_TASK_UNINTERRUPTIBLE);
	assert_int_equal(waiters[1].w.state, WORLD_TASK_RUNNING);
	assert_true(null_run_task(&waiters[1].w));
	unlock_page(rig.m, page);
	assert_true(null_run_task(&waiters[0].w));
	rig_stop();
}

TEST(a_page_marked_for_reclaim_is_rotated_when_its_write_ends)
{
	struct page *page = start();

	lru_cache_add(rig.m, page);
	for (u32 i = 0; i < 3; i++)
		lru_cache_add(rig.m, rig_page());
	lru_add_drain(rig.m);
	lock_page(rig.m, page);
	set_page_writeback(rig.m, page);
	page_set(page, PG_reclaim);
	unlock_page(rig.m, page);
	end_page_writeback(rig.m, page);
	lru_add_drain(rig.m);
	assert_int_equal(rig_event(PGROTATED), 1);
	assert_ptr_equal(page_list_last(&page_lruvec(rig.m, page)->list[LRU_INACTIVE_ANON]), page);
	rig_stop();
}

TEST_MAIN("filemap")
