/*
 * The OOM killer.
 *
 * Aim: the task whose death frees most is chosen, adjusted as it asked; nobody is chosen while a
 * victim is dying; and when nobody can be killed, that is said. Method: a few tasks with pages, and
 * the killer called by hand; then a machine that really runs out.
 */
#include "core/oom_kill.c"

#include "tests/core/mm_fixture.h"

static struct task *a, *b, *c;

/* A task with @nr pages of its own; the test goes on as the first one. */
static struct task *task_with(const char *name, u64 nr)
{
	struct task *me = fix.t;
	struct task *t = fix_task(name, NULL);
	u64 va;

	task_start(t, -1);
	fix_become(t);
	va = fix_mmap(nr);
	assert_int_equal(mm_access(fix.m, va, nr * PAGE_SIZE, WORLD_WRITE, 0), 0);
	world_syscall_enter();
	fix_become(me);
	return t;
}

static void start(const char *preset)
{
	fix_start(2, 8192, preset, NULL);
	fix_swapon();
	world_syscall_enter();
	fix_become(NULL);
	a = task_with("a", 100);
	b = task_with("b", 300);
	c = task_with("c", 200);
}

static void stop(void)
{
	machine_destroy(fix.m);
	null_destroy(fix.w);
	null_hw_free(fix.hw);
	free(fix.tag);
	free(fix.disk_tag);
}

/* Pages, swap entries and tables: 300 pages in reach of one leaf table need 4 tables in all. */
TEST(badness_counts_pages_swap_and_tables)
{
	long total;

	start("4.0");
	total = (long)(fix.m->totalram_pages + fix.m->total_swap_pages);
	assert_int_equal(oom_badness(fix.m, b), 300 + (long)b->mm->nr_tables);
	atomic_long_add(50, &b->mm->rss[MM_SWAPENTS]);
	assert_int_equal(oom_badness(fix.m, b), 350 + (long)b->mm->nr_tables);
	atomic_long_add(-50, &b->mm->rss[MM_SWAPENTS]);
	a->oom_score_adj = 10;
	assert_int_equal(oom_badness(fix.m, a), 100 + (long)a->mm->nr_tables + 10 * (total / 1000));
	a->oom_score_adj = -999;
	assert_int_equal(oom_badness(fix.m, a), 1); /* never below */
	stop();
	start("6.18");
	a->oom_score_adj = -999;
	assert_true(oom_badness(fix.m, a) < 0);
	stop();
}

TEST(the_largest_is_killed_and_nobody_else_while_it_is_dying)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 p = 0; p < 2; p++) {
		start(preset[p]);
		assert_true(out_of_memory(fix.m, GFP_KERNEL, 0));
		assert_true(b->killed);
		assert_true(b->w.signal);
		assert_true(b->flags & TIF_MEMDIE);
		assert_false(a->killed || c->killed);
		assert_int_equal(fix_event(OOM_KILL), 1);
		assert_true(out_of_memory(fix.m, GFP_KERNEL, 0)); /* waits for b */
		assert_int_equal(fix_event(OOM_KILL), 1);
		stop();
	}
}

TEST(a_task_with_minus_1000_is_never_killed)
{
	start("4.0");
	b->oom_score_adj = OOM_SCORE_ADJ_MIN;
	assert_true(out_of_memory(fix.m, GFP_KERNEL, 0));
	assert_true(c->killed);
	stop();
}

TEST(all_who_share_the_address_space_die)
{
	struct task *thread;

	start("4.0");
	thread = task_create(fix.m, "thread", b, fix_body, NULL);
	task_start(thread, -1);
	assert_true(out_of_memory(fix.m, GFP_KERNEL, 0));
	assert_true(b->killed && thread->killed);
	assert_false(a->killed);
	assert_int_equal(fix.m->oom_victims, 1);
	stop();
}

TEST(a_task_that_has_been_killed_starts_no_thread)
{
	start("6.18");
	assert_true(out_of_memory(fix.m, GFP_KERNEL, 0));
	assert_true(b->killed);
	assert_null(task_create(fix.m, "thread", b, fix_body, NULL));
	assert_int_equal(b->mm->mm_users, 1);
	stop();
}

TEST(nobody_left_to_kill_is_said)
{
	struct task *t;

	start("4.0");
	list_for_each_entry (t, &fix.m->tasks, tasks)
		t->oom_score_adj = OOM_SCORE_ADJ_MIN;
	assert_false(out_of_memory(fix.m, GFP_KERNEL, 0));
	assert_int_equal(fix_event(OOM_KILL), 0);
	stop();
}

/* A task that is being killed gets the reserves instead of another victim. */
TEST(a_dying_caller_is_helped_along)
{
	start("4.0");
	fix_become(a);
	world_syscall_enter();
	a->killed = true;
	assert_true(out_of_memory(fix.m, GFP_KERNEL, 0));
	assert_true(a->flags & TIF_MEMDIE);
	assert_false(b->killed);
	stop();
}

TEST(the_exit_of_a_victim_lets_the_next_one_be_chosen)
{
	start("4.0");
	out_of_memory(fix.m, GFP_KERNEL, 0);
	assert_true(null_run_task(&b->w));
	assert_int_equal(fix.m->oom_victims, 0);
	out_of_memory(fix.m, GFP_KERNEL, 0);
	assert_true(c->killed);
	assert_int_equal(fix_event(OOM_KILL), 2);
	stop();
}

TEST(light_reclaim_is_no_reason_to_kill)
{
	start("6.18");
	assert_true(out_of_memory(fix.m, GFP_NOFS, 0));
	assert_int_equal(fix_event(OOM_KILL), 0);
	stop();
}

static struct world_task *reaper(void)
{
	return &fix.m->oom_reaper->w;
}

/* 4.6: its memory goes before it does, and then it is nobody to wait for. */
TEST(the_reaper_takes_the_victims_memory)
{
	start("6.18");
	assert_false(null_run_task(reaper())); /* to its first sleep */
	out_of_memory(fix.m, GFP_KERNEL, 0);
	assert_int_equal(reaper()->state, WORLD_TASK_RUNNING);
	assert_false(null_run_task(reaper()));
	assert_int_equal(fix_rss(b, MM_ANONPAGES), 0);
	assert_true(b->mm->oom_skip);
	out_of_memory(fix.m, GFP_KERNEL, 0);
	assert_true(c->killed);
	stop();
}

/* Ten tries, a tenth of a second apart; then it is given up as well. */
TEST(a_victim_whose_mmap_sem_is_held_is_given_up_after_ten_tries)
{
	u64 before;

	start("6.18");
	null_run_task(reaper());
	out_of_memory(fix.m, GFP_KERNEL, 0);
	down_write(&b->mm->mmap_sem);
	before = world_now();
	null_run_task(reaper());
	assert_in_range(world_now() - before, 1000000000, 1040000000);
	assert_true(b->mm->oom_skip);
	assert_int_equal(fix_rss(b, MM_ANONPAGES), 300);
	up_write(&b->mm->mmap_sem);
	stop();
}

TEST_MAIN("oom")
