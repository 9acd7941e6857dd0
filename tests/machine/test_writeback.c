/*
 * Flushers and dirty throttling on a whole machine.
 *
 * Aim: dirty pages are written when Linux writes them, by whom, and who dirties is held to the disk's
 * speed. Method: small simulated machines, one or two tasks, a disk of known speed; what is expected is
 * derived from the timers and limits beside it.
 */
#include "tests/machine/stage.h"

static u32 file[2];
static u64 took_ns[2];
static u64 longest_write_ns;
static long most_dirty;

static void set(const char *preset, u64 disk_bytes_per_s, void (*tweak)(struct knobs *k))
{
	longest_write_ns = 0;
	most_dirty = 0;
	stage_begin(preset, 2, 1, MB(64) / PAGE_SIZE);
	hw_add_files(stage.hw, MB(512))->write_bytes_per_s = disk_bytes_per_s;
	if (tweak)
		tweak(&stage.knobs);
	stage_build();
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(machine_file_create(stage.m, "data", 0, true, &file[i]), 0);
}

static void play(stage_fn fn, u32 nr)
{
	static const u32 number[2] = {0, 1};

	for (u32 i = 0; i < nr; i++)
		stage_task("task", fn, (void *)&number[i]);
	stage_run();
	stage_strike();
}

static void sleep_until(u64 ns)
{
	world_syscall_enter();
	if (world_now() < ns)
		world_sleep(ns - world_now());
	world_syscall_exit();
}

static u32 opened(u32 i)
{
	u32 fd;

	assert_int_equal(do_open(stage.m, file[i], &fd), 0);
	return fd;
}

static long nr(enum vm_item item)
{
	return item_exact(stage.m, item);
}

static void write_pages(u32 fd, u64 from, u64 pages)
{
	for (u64 i = from; i < from + pages; i++) {
		u64 start = world_now();
		u64 done;

		assert_int_equal(do_pwrite(stage.m, fd, PAGES(i), PAGE_SIZE, &done), 0);
		longest_write_ns = max(longest_write_ns, world_now() - start);
		most_dirty = max(most_dirty, nr(NR_FILE_DIRTY) + nr(NR_WRITEBACK));
	}
}

/* ---- timers ---- */

/*
 * The first dirty page arms a timer of 5 s, and each look arms the next when it is done: at 5, 10 ... 25 s
 * the file has not been dirty for 30 s, the sixth time it has.
 */
static void write_and_wait(struct task *t, void *arg)
{
	(void)t, (void)arg;
	write_pages(opened(0), 0, 10);
	sleep_until(S(29));
	assert_int_equal(nr(NR_WRITTEN), 0);
	assert_int_equal(nr(NR_FILE_DIRTY), 10);
	sleep_until(S(31));
	assert_int_equal(nr(NR_WRITTEN), 10);
	assert_int_equal(nr(NR_FILE_DIRTY), 0);
}

TEST(a_file_is_written_at_the_first_look_after_it_has_expired)
{
	static const char *const presets[] = {"2.6.36", "3.16", "6.18"};

	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i], MB(100), NULL);
		play(write_and_wait, 1);
	}
}

/* Looks every 2 s for what is older than 3 s: at 2 s not, at 4 s. */
static void short_times(struct knobs *k)
{
	k->dirty_writeback_centisecs = 200;
	k->dirty_expire_centisecs = 300;
}

static void write_and_wait_4(struct task *t, void *arg)
{
	(void)t, (void)arg;
	write_pages(opened(0), 0, 10);
	sleep_until(3900000000);
	assert_int_equal(nr(NR_WRITTEN), 0);
	sleep_until(4100000000);
	assert_int_equal(nr(NR_WRITTEN), 10);
	/* Dirty again: the clock starts again. */
	write_pages(opened(0), 0, 5);
	sleep_until(6900000000);
	assert_int_equal(nr(NR_FILE_DIRTY), 5);
	sleep_until(S(9));
	assert_int_equal(nr(NR_FILE_DIRTY), 0);
}

TEST(the_timers_are_the_sysctls)
{
	set("3.16", MB(100), short_times);
	play(write_and_wait_4, 1);
}

static void no_timer(struct knobs *k)
{
	k->dirty_writeback_centisecs = 0;
}

static void write_and_wait_long(struct task *t, void *arg)
{
	(void)t, (void)arg;
	write_pages(opened(0), 0, 10);
	sleep_until(S(120));
	assert_int_equal(nr(NR_FILE_DIRTY), 10);
}

TEST(without_a_timer_nothing_is_written_by_itself)
{
	set("3.16", MB(100), no_timer);
	play(write_and_wait_long, 1);
}

/* ---- limits ---- */

/* Background from 1 MB on, pauses from 6 MB, the limit is 11. */
static void limits(struct knobs *k)
{
	k->dirty_background_bytes = MB(1);
	k->dirty_bytes = MB(11);
}

static void write_4_mb(struct task *t, void *arg)
{
	(void)t, (void)arg;
	write_pages(opened(0), 0, MB(4) / PAGE_SIZE);
	sleep_until(S(2));
	/* It may stop as soon as it is below. */
	assert_true(nr(NR_FILE_DIRTY) <= (long)(MB(1) / PAGE_SIZE));
	assert_true(nr(NR_WRITTEN) >= (long)(MB(3) / PAGE_SIZE));
}

TEST(above_the_background_threshold_the_flusher_writes)
{
	set("3.16", MB(100), limits);
	play(write_4_mb, 1);
	assert_true(longest_write_ns < 10000000); /* nobody had to wait */
}

/*
 * 60 MB on a disk of 10 MB/s: all but the 11 MB that may be dirty have been written when the last write()
 * returns, in 4.9 s. No pause is longer than 200 ms, which a sleep rounds up by a tick, and while a write
 * goes on the task is woken and runs again within that.
 */
static void write_60_mb(struct task *t, void *arg)
{
	u32 me = *(u32 *)arg;
	u64 start = world_now();

	(void)t;
	write_pages(opened(me), 0, MB(60) / PAGE_SIZE);
	took_ns[me] = world_now() - start;
}

TEST(a_dirtier_is_held_to_the_speed_of_the_disk_by_pauses)
{
	set("3.16", MB(10), limits);
	play(write_60_mb, 1);
	assert_true(took_ns[0] > 4900000000);
	assert_true(took_ns[0] < S(7));
	assert_true(longest_write_ns <= 200000000 + 2 * 4000000 + 1000000);
	assert_true(longest_write_ns > 5000000);
	assert_true(most_dirty <= (long)(MB(11) / PAGE_SIZE) + 64);
}

TEST(two_dirtiers_share_the_disk)
{
	set("3.16", MB(20), limits);
	play(write_60_mb, 2);
	/* 120 MB less 11 at 20 MB/s. */
	assert_true(max(took_ns[0], took_ns[1]) > 5450000000);
	assert_true(max(took_ns[0], took_ns[1]) < S(8));
	assert_true(took_ns[0] * 10 < took_ns[1] * 13);
	assert_true(took_ns[1] * 10 < took_ns[0] * 13);
}

/* To 3.1 the dirtier writes, up to one and a half of what it dirtied. */
TEST(before_3_2_a_dirtier_writes)
{
	set("3.1", MB(10), limits);
	play(write_60_mb, 1);
	assert_true(took_ns[0] > 4900000000);
	assert_true(took_ns[0] < S(9));
	assert_true(most_dirty <= (long)(MB(11) / PAGE_SIZE) + 64);
}

/* ---- who asks ---- */

static void sync_and_fsync(struct task *t, void *arg)
{
	u32 fd[2] = {opened(0), opened(1)};

	(void)t, (void)arg;
	write_pages(fd[0], 0, 300);
	write_pages(fd[1], 0, 200);
	assert_int_equal(do_fsync(stage.m, fd[1]), 0);
	assert_int_equal(nr(NR_WRITTEN), 200);
	assert_int_equal(nr(NR_FILE_DIRTY), 300);
	write_pages(fd[1], 100, 50);
	assert_int_equal(do_sync(stage.m), 0);
	assert_int_equal(nr(NR_WRITTEN), 550);
	assert_int_equal(nr(NR_FILE_DIRTY) + nr(NR_WRITEBACK), 0);
}

TEST(fsync_writes_a_file_and_sync_all)
{
	set("3.16", MB(100), NULL);
	play(sync_and_fsync, 1);
}

/* A file that is removed while the flusher is at it: whoever removes it waits for that. */
static void remove_while_written(struct task *t, void *arg)
{
	u32 fd;
	u32 ino;

	(void)t, (void)arg;
	for (u32 i = 0; i < 20; i++) {
		assert_int_equal(do_creat(stage.m, "tmp", &ino), 0);
		assert_int_equal(do_open(stage.m, ino, &fd), 0);
		write_pages(fd, 0, 600 + 40 * i);
		assert_int_equal(do_unlink(stage.m, ino), 0);
		assert_int_equal(do_close(stage.m, fd), 0);
	}
	assert_int_equal(nr(NR_FILE_DIRTY) + nr(NR_WRITEBACK), 0);
	assert_true(nr(NR_WRITTEN) > 0);
	assert_true(nr(NR_WRITTEN) < nr(NR_DIRTIED));
}

TEST(a_file_can_be_removed_while_it_is_written)
{
	set("3.16", MB(10), limits);
	play(remove_while_written, 1);
}

/* A dirty tail: direct reclaim has it written, by the pages it scanned or all. */
static void dirty_all(struct task *t, void *arg)
{
	u32 fd = opened(0);
	u64 va;

	(void)t, (void)arg;
	write_pages(fd, 0, MB(24) / PAGE_SIZE);
	if (do_mmap(stage.m, MB(56), MM_PROT_READ | MM_PROT_WRITE, 0, &va) == 0)
		mm_access(stage.m, va, MB(44), WORLD_FILL, 0);
	assert_true(nr(NR_VMSCAN_IMMEDIATE) > 0);
	assert_true(nr(NR_WRITTEN) > 0);
}

static void no_limits(struct knobs *k)
{
	k->dirty_background_ratio = 100;
	k->dirty_ratio = 100;
	k->dirty_writeback_centisecs = 0;
}

TEST(reclaim_that_meets_dirty_pages_wakes_the_flusher)
{
	static const char *const presets[] = {"3.16", "6.18"};

	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i], MB(100), no_limits);
		play(dirty_all, 1);
	}
}

TEST_MAIN("writeback")
