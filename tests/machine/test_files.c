/*
 * Files on a whole machine, and what can go wrong with them.
 *
 * Aim: what is written is what is read, through calls and mappings, in memory or from the disk; a disk
 * that fails or is full, and a file that is cut off under a mapping, end in the error that Linux gives,
 * to the right caller, and lose nothing else. Method: small simulated machines whose contents are checked
 * at every access (--check), audited at the end; tasks that take turns by sleeping.
 */
#include "tests/machine/stage.h"

static int result[2]; /* what a task says of itself */
static bool is_full;

static void set(u64 ram_pages, u64 disk_pages, const char *preset)
{
	memset(result, 0, sizeof(result));
	stage_begin(preset, 2, 1, ram_pages);
	hw_add_files(stage.hw, PAGES(disk_pages));
	stage_build();
}

/* Runs the tasks to their ends; NULL: only one. */
static void play(stage_fn first, stage_fn second)
{
	stage_task("first", first, &result[0]);
	if (second)
		stage_task("second", second, &result[1]);
	stage_run();
}

static void wait_ms(u64 ms)
{
	world_syscall_enter();
	world_sleep(ms * 1000000);
	world_syscall_exit();
}

static u32 opened(void)
{
	u32 fd;

	BUG_ON(do_open(stage.m, stage.file, &fd));
	return fd;
}

/* ---- what is written is read ---- */

static void write_read_map(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	int *result = arg;
	u32 fd = opened();
	u64 done, va, private;

	(void)t;
	*result = do_pwrite(m, fd, 100, PAGES(600), &done) || done != PAGES(600);
	*result |= do_pread(m, fd, 0, PAGES(600), &done) || done != PAGES(600);
	*result |= do_mmap_file(m, fd, 0, PAGES(600), MM_PROT_READ | MM_PROT_WRITE, MM_MAP_SHARED,
	                        &va);
	*result |= do_mmap_file(m, fd, 0, PAGES(600), MM_PROT_READ | MM_PROT_WRITE, 0, &private);
	*result |= mm_access(m, va, PAGES(600), WORLD_READ, 0);
	*result |= mm_access(m, va, PAGES(300), WORLD_WRITE, 5);
	*result |= mm_access(m, private, PAGES(100), WORLD_WRITE, 0);
	*result |= do_pwrite(m, fd, PAGES(50), PAGES(300), &done);
	*result |= mm_access(m, private, PAGES(600), WORLD_SCAN, 0);
	*result |= do_fsync(m, fd);
	*result |= do_fadvise(m, fd, 0, 0, MM_FADV_DONTNEED);
	*result |= do_pread(m, fd, 0, PAGES(700), &done) || done != PAGES(600) + 100;
	*result |= mm_access(m, va, PAGES(600), WORLD_READ, 9);
	do_close(m, fd);
}

TEST(what_is_written_is_read_back_through_calls_and_mappings)
{
	static const char *const preset[] = {"2.6.36", "3.16", "6.18"};

	for (u32 i = 0; i < ARRAY_SIZE(preset); i++) {
		set(8192, 8192, preset[i]);
		stage_file(0, true);
		play(write_read_map, NULL);
		assert_int_equal(result[0], 0);
		stage_strike();
	}
}

/* More than fits: every page comes from the disk twice, and what comes back is noticed. */
static void read_twice(struct task *t, void *arg)
{
	int *result = arg;
	u32 fd = opened();
	u64 done;

	(void)t;
	for (u32 i = 0; i < 2; i++)
		*result |= do_pread(stage.m, fd, 0, PAGES(6000), &done) || done != PAGES(6000);
	do_close(stage.m, fd);
}

TEST(a_file_larger_than_memory_is_read_twice_and_refaults)
{
	set(4096, 8192, "6.18");
	stage_file(6000, false);
	play(read_twice, NULL);
	assert_int_equal(result[0], 0);
	assert_int_equal(stage_event(PGPGIN), 2 * 6000 * 4);
	assert_true(global_page_state(stage.m, WORKINGSET_REFAULT_FILE) > 5000);
	stage_strike();
}

/* ---- where a mapping lies ---- */

/* 4 MiB of a file, and 1 MiB, where no huge page fits; from its page 1 on, and under 3 pages of memory. */
static void map_large(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	int *result = arg;
	u32 fd = opened();
	u64 va[3];

	(void)t;
	*result = do_mmap(m, PAGES(3), MM_PROT_READ, 0, &va[0]);
	*result |= do_mmap_file(m, fd, PAGES(1), PAGES(1024), MM_PROT_READ, 0, &va[1]);
	*result |= do_mmap_file(m, fd, PAGES(1), PAGES(256), MM_PROT_READ, 0, &va[2]);
	do_close(m, fd);
	if (m->knob.mmap_align) {
		/* A multiple of 2 MiB, and a page: 4 MiB and 3 pages below the first that is room enough. */
		*result |= (va[1] & ~PMD_MASK) != PAGES(1);
		*result |= va[1] + PAGES(1024) > va[0];
		*result |= va[2] != va[0] - PAGES(256); /* in what was left open */
	} else {
		*result |= va[1] != va[0] - PAGES(1024) || va[2] != va[1] - PAGES(256);
	}
}

TEST(a_mapping_that_could_hold_huge_pages_lies_as_they_must)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 i = 0; i < ARRAY_SIZE(preset); i++) {
		set(8192, 8192, preset[i]);
		stage_file(2048, true);
		play(map_large, NULL);
		assert_int_equal(result[0], 0);
		stage_strike();
	}
}

/* ---- cut off under a mapping ---- */

static void reads_mapping(struct task *t, void *arg)
{
	u32 fd = opened();
	int *result = arg;
	u64 va;

	(void)t;
	BUG_ON(do_mmap_file(stage.m, fd, 0, PAGES(100), MM_PROT_READ, MM_MAP_SHARED, &va));
	do_close(stage.m, fd);
	BUG_ON(mm_access(stage.m, va, PAGES(100), WORLD_READ, 0));
	wait_ms(20);
	BUG_ON(mm_access(stage.m, va, PAGES(40), WORLD_READ, 0)); /* what is left of it */
	*result = mm_access(stage.m, va, PAGES(100), WORLD_READ, 0);
}

static void cuts_off(struct task *t, void *arg)
{
	u32 fd = opened();
	int *result = arg;

	(void)t;
	wait_ms(10);
	*result = do_ftruncate(stage.m, fd, PAGES(40));
	do_close(stage.m, fd);
}

TEST(a_mapping_of_what_has_been_cut_off_is_a_sigbus)
{
	set(4096, 4096, "4.0");
	stage_file(100, false);
	play(reads_mapping, cuts_off);
	assert_int_equal(result[0], -EINTR);
	assert_true(stage.killed[0]);
	assert_int_equal(result[1], 0);
	assert_false(stage.killed[1]);
	/* Blocks of what is left. */
	assert_int_equal(stage.m->fs->sb[0].nr_blocks - stage.m->fs->sb[0].nr_free, 40);
	stage_strike();
}

/* ---- a full disk ---- */

static void fills_the_disk(struct task *t, void *arg)
{
	u32 fd = opened();
	int *result = arg;
	u64 done;

	(void)t;
	BUG_ON(do_pwrite(stage.m, fd, 0, PAGES(80), &done) || done != PAGES(64));
	*result = do_pwrite(stage.m, fd, PAGES(70), PAGES(1), &done);
	BUG_ON(do_fsync(stage.m, fd));
	BUG_ON(do_fadvise(stage.m, fd, 0, 0, MM_FADV_DONTNEED));
	BUG_ON(do_pread(stage.m, fd, 0, PAGES(80), &done) || done != PAGES(64));
	BUG_ON(do_ftruncate(stage.m, fd, PAGES(10)));
	BUG_ON(do_pwrite(stage.m, fd, PAGES(10), PAGES(54), &done) || done != PAGES(54));
	do_close(stage.m, fd);
}

TEST(a_full_disk_ends_a_write_and_loses_nothing)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 i = 0; i < ARRAY_SIZE(preset); i++) {
		set(4096, 64, preset[i]);
		stage_file(0, true);
		play(fills_the_disk, NULL);
		assert_int_equal(result[0], -ENOSPC);
		stage_strike();
	}
}

/* ---- where blocks lie ---- */

static u32 nr_extents(u32 fd)
{
	u32 nr = 0;

	for (struct rb_node *n = rb_first(&fd_file(stage.m, fd)->f_inode->extents); n;
	     n = rb_next(n))
		nr++;
	return nr;
}

/* Two files get a page by turns, 64 each. */
static void grows_two(struct task *t, void *arg)
{
	int *result = arg;
	u32 other;
	u32 fd[2];
	u64 done;

	(void)t;
	BUG_ON(do_creat(stage.m, "other", &other) || do_open(stage.m, other, &fd[1]));
	fd[0] = opened();
	for (u64 i = 0; i < 128; i++)
		BUG_ON(do_pwrite(stage.m, fd[i & 1], PAGES(i / 2), PAGES(1), &done) ||
		       done != PAGES(1));
	*result = (int)(nr_extents(fd[0]) * 100 + nr_extents(fd[1]));
	is_full = do_pwrite(stage.m, fd[0], PAGES(64), PAGES(1), &done) == -ENOSPC;
	do_close(stage.m, fd[0]);
	do_close(stage.m, fd[1]);
}

/*
 * Without room kept every page is an extent of its own. With it a file's first run is of 4 blocks, and
 * each later one of the power of two above what it has: 4, 8 (of 5), 16 (of 13), and so on. The disk of
 * 128 blocks ends before both have a run of 32; what lies between runs is used up.
 */
TEST(files_that_grow_together_have_room_of_their_own)
{
	int extents;

	set(4096, 128, "4.0");
	stage_file(0, true);
	play(grows_two, NULL);
	assert_int_equal(result[0], 6464);
	assert_true(is_full);
	stage_strike();

	set(4096, 128, "6.18");
	stage_file(0, true);
	play(grows_two, NULL);
	extents = result[0];
	assert_true(is_full);
	assert_in_range(extents / 100, 4, 12);
	assert_in_range(extents % 100, 4, 12);
	stage_strike();

	/* A disk that is large enough: 4, 8, 16, 32 and the last 4 of 64. */
	set(4096, 1024, "6.18");
	stage_file(0, true);
	stage.m->knob.fs_prealloc = 64;
	play(grows_two, NULL);
	assert_int_equal(result[0], 505);
	stage_strike();
}

static void stores_to_hole(struct task *t, void *arg)
{
	u32 fd = opened();
	int *result = arg;
	u64 va;

	(void)t;
	BUG_ON(do_mmap_file(stage.m, fd, 0, PAGES(80), MM_PROT_READ | MM_PROT_WRITE, MM_MAP_SHARED,
	                    &va));
	do_close(stage.m, fd);
	BUG_ON(mm_access(stage.m, va, PAGES(80), WORLD_READ, 0));
	BUG_ON(mm_access(stage.m, va, PAGES(64), WORLD_WRITE, 0));
	*result = mm_access(stage.m, va + PAGES(64), PAGES(1), WORLD_WRITE, 0);
}

TEST(a_store_to_a_hole_of_a_full_disk_is_a_sigbus)
{
	set(4096, 64, "4.0");
	stage_file(80, true);
	play(stores_to_hole, NULL);
	assert_int_equal(result[0], -EINTR);
	assert_true(stage.killed[0]);
	stage_strike();
}

/* ---- a disk that fails ---- */

static void reads_bad_disk(struct task *t, void *arg)
{
	u32 fd = opened();
	int *result = arg;
	u64 done;
	u64 va;

	(void)t;
	*result = do_pread(stage.m, fd, 0, PAGES(10), &done);
	BUG_ON(do_mmap_file(stage.m, fd, 0, PAGES(10), MM_PROT_READ, MM_MAP_SHARED, &va));
	do_close(stage.m, fd);
	BUG_ON(mm_access(stage.m, va, PAGES(1), WORLD_READ, 0) != -EINTR);
}

TEST(a_read_that_fails_is_eio_for_read_and_sigbus_for_a_mapping)
{
	set(4096, 4096, "4.0");
	stage.hw->disk[0].error_ppm = 1000000;
	stage_file(10, false);
	play(reads_bad_disk, NULL);
	assert_int_equal(result[0], -EIO);
	assert_true(stage.killed[0]);
	assert_true(stage.m->fs->nr_io_errors[0] > 0);
	stage_strike();
}

static void writes_bad_disk(struct task *t, void *arg)
{
	u32 fd = opened();
	int *result = arg;
	u64 done;

	(void)t;
	BUG_ON(do_pwrite(stage.m, fd, 0, PAGES(10), &done));
	*result = do_fsync(stage.m, fd);
	BUG_ON(do_fsync(stage.m, fd)); /* said once */
	do_close(stage.m, fd);
}

TEST(a_write_that_fails_is_reported_by_the_next_fsync_once)
{
	set(4096, 4096, "4.0");
	stage.hw->disk[0].error_ppm = 1000000;
	stage_file(0, true);
	play(writes_bad_disk, NULL);
	assert_int_equal(result[0], -EIO);
	assert_int_equal(stage.m->fs->nr_io_errors[1], 10);
	stage_strike();
}

/* ---- what is removed ---- */

static void removes(struct task *t, void *arg)
{
	u32 fd = opened();
	int *result = arg;
	u64 done, va;

	(void)t;
	BUG_ON(do_mmap_file(stage.m, fd, 0, PAGES(100), MM_PROT_READ, MM_MAP_SHARED, &va));
	*result = do_unlink(stage.m, stage.file);
	BUG_ON(do_pread(stage.m, fd, 0, PAGES(100), &done) || done != PAGES(100));
	do_close(stage.m, fd);
	BUG_ON(mm_access(stage.m, va, PAGES(100), WORLD_READ, 0)); /* still mapped */
	BUG_ON(do_munmap(stage.m, va, PAGES(100)));
	BUG_ON(stage.m->fs->sb[0].nr_free != stage.m->fs->sb[0].nr_blocks);
}

TEST(a_removed_file_lives_until_it_is_closed_and_unmapped)
{
	set(4096, 4096, "4.0");
	stage_file(100, false);
	play(removes, NULL);
	assert_int_equal(result[0], 0);
	assert_int_equal(global_page_state(stage.m, NR_FILE_PAGES), 0);
	stage_strike();
}

TEST_MAIN("files")
