/*
 * A disk that stops answering, and what waits for it.
 *
 * Aim: the run ends, soon and by itself; tasks that wait for the disk are found as khungtaskd finds them, and
 * killing them does not help; what does not need the disk goes on; every invariant holds. Method: small
 * simulated machines whose disk completes nothing from a given time on.
 */
#include "tests/machine/stage.h"

static struct sim_hung_task hung[16];
static u32 nr_hung;
static bool ended[STAGE_TASKS];

/* A machine that has swap, or files, on a disk that hangs at @at. */
static void set(const char *preset, bool files, u64 at, u64 max_ns)
{
	nr_hung = 0;
	memset(ended, 0, sizeof(ended));
	stage_begin(preset, 2, 1, 4096);
	(files ? hw_add_files(stage.hw, MB(64)) : hw_add_flash(stage.hw, MB(64)))->hang_at_ns = at;
	stage.knobs.overcommit_memory = OVERCOMMIT_ALWAYS;
	stage.opt.max_ns = max_ns;
	stage_build();
	if (files)
		stage_file(3000, false);
}

static void note_hung(const struct sim_hung_task *h, void *arg)
{
	(void)arg;
	if (nr_hung < ARRAY_SIZE(hung))
		hung[nr_hung] = *h;
	nr_hung += 1;
}

/* Not stage_run(): some do not come to their ends. */
static int play(const stage_fn fn[STAGE_TASKS])
{
	static const char *const name[] = {"first", "second", "third"};
	int rc;

	for (u32 i = 0; i < STAGE_TASKS && fn[i]; i++)
		stage_task(name[i], fn[i], &ended[i]);
	rc = sim_run(stage.w);
	sim_hung_tasks(stage.w, rc == -ENODEV ? ~0UL : sim_elapsed(stage.w), note_hung, NULL);
	machine_audit(stage.m);
	return rc;
}

static bool is_hung(const char *name)
{
	for (u32 i = 0; i < nr_hung && i < ARRAY_SIZE(hung); i++)
		if (strcmp(hung[i].name, name) == 0)
			return true;
	return false;
}

/* ---- reading ---- */

static void reads(struct task *t, void *arg)
{
	bool *ended = arg;
	u64 done;
	u32 fd;

	(void)t;
	if (do_open(stage.m, stage.file, &fd))
		return;
	for (u32 i = 0; i < 100; i++) /* again and again, past what fits */
		if (do_pread(stage.m, fd, 0, PAGES(3000), &done) ||
		    do_fadvise(stage.m, fd, 0, 0, MM_FADV_DONTNEED))
			return;
	*ended = true;
}

static void computes(struct task *t, void *arg)
{
	bool *ended = arg;
	u64 va;

	(void)t;
	for (u32 i = 0; i < 20; i++) {
		world_user_compute(MS(20));
		if (do_mmap(stage.m, PAGES(200), RW, 0, &va) ||
		    mm_access(stage.m, va, PAGES(200), WORLD_FILL, 0) ||
		    do_munmap(stage.m, va, PAGES(200)))
			return;
	}
	*ended = true;
}

TEST(a_reader_hangs_and_others_go_on)
{
	static const char *const preset[] = {"2.6.36", "4.0", "6.18"};

	for (u32 i = 0; i < ARRAY_SIZE(preset); i++) {
		set(preset[i], true, MS(40), S(1000));
		assert_int_equal(-ENODEV, play((const stage_fn[]){reads, computes, NULL}));
		assert_false(ended[0]);
		assert_true(ended[1]);
		assert_true(sim_elapsed(stage.w) < S(60));
		/* It waits for a page, which a signal can end: khungtaskd does not count those. */
		assert_int_equal(nr_hung, 0);
		assert_int_equal(stage.task[0]->w.state, WORLD_TASK_INTERRUPTIBLE);
		assert_true(sim_disk_stats(stage.w, 0)->nr_unanswered > 0);
		stage_strike();
	}
}

/* ---- swapping ---- */

static void swaps(struct task *t, void *arg)
{
	bool *ended = arg;
	u64 va;

	(void)t;
	if (do_mmap(stage.m, PAGES(6000), RW, 0, &va))
		return;
	for (u32 i = 0; i < 200; i++)
		if (mm_access(stage.m, va, PAGES(6000), WORLD_WRITE, i))
			return;
	*ended = true;
}

/* Who wants memory finds only pages that are being written; who wants a page back waits for it. */
TEST(swap_that_does_not_answer_ends_in_a_bounded_time)
{
	static const char *const preset[] = {"2.6.36", "4.0", "6.18"};

	for (u32 i = 0; i < ARRAY_SIZE(preset); i++) {
		int rc;

		set(preset[i], false, MS(60), S(300));
		rc = play((const stage_fn[]){swaps, swaps, NULL});
		/* Waiting for ever, looking for memory for ever, or killed for want of it. */
		assert_true(rc == -ENODEV || rc == -ETIME || rc == 0);
		if (!rc)
			assert_true(task_killed(stage.task[0]) || task_killed(stage.task[1]));
		assert_false(ended[0] && ended[1]);
		assert_true(sim_disk_stats(stage.w, 0)->nr_unanswered > 0);
		assert_true(sim_elapsed(stage.w) <= S(301));
		stage_strike();
	}
}

/* ---- killing ---- */

static void kills(struct task *t, void *arg)
{
	bool *ended = arg;

	(void)t;
	world_syscall_enter();
	world_sleep(MS(500));
	world_syscall_exit();
	stage.task[0]->killed = true;
	world_wake_signal(&stage.task[0]->w);
	world_syscall_enter();
	world_sleep(MS(500));
	world_syscall_exit();
	*ended = true;
}

TEST(a_signal_ends_the_wait_for_a_page)
{
	set("6.18", true, MS(40), S(1000));
	assert_int_equal(0, play((const stage_fn[]){reads, kills, NULL}));
	assert_true(ended[1]);
	assert_true(task_killed(stage.task[0]));
	assert_int_equal(stage.task[0]->w.state, WORLD_TASK_DEAD);
	stage_strike();
}

/* ---- writing ---- */

static void writes(struct task *t, void *arg)
{
	bool *ended = arg;
	u64 done;
	u32 fd;

	(void)t;
	if (do_open(stage.m, stage.file, &fd))
		return;
	for (u32 i = 0; i < 100; i++)
		if (do_pwrite(stage.m, fd, PAGES(i * 20), PAGES(20), &done) ||
		    do_fsync(stage.m, fd))
			return;
	*ended = true;
}

TEST(fsync_of_a_disk_that_does_not_answer_never_returns)
{
	/* Nor does a signal help. */
	set("6.18", true, MS(5), S(1000));
	assert_int_equal(-ENODEV, play((const stage_fn[]){writes, computes, kills}));
	assert_false(ended[0]);
	assert_true(ended[1]);
	assert_true(task_killed(stage.task[0]));
	assert_true(is_hung("first"));
	assert_false(is_hung("second"));
	assert_true(hung[0].since_ns < S(1));
	/* Blocked in the first second: seen at 120 s, and still there at 240 s. */
	assert_int_equal(hung[0].reported_ns, S(240));
	stage_strike();
}

TEST_MAIN("hung_disk")
