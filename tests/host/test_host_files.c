/*
 * Files on the real kernel: what a scenario's calls do, and what is there when a run begins.
 *
 * Needs no rights, and a directory on a disk with a gigabyte of room; that everything is removed again
 * is the matter of test_host_undo.c. Bodies are C functions that check what they see.
 */
#include "tests/host/host_test.h"

#include <sys/mman.h>

#include "host/internal.h"

#define PAGE 4096UL
#define SIZE (4 * MB)

enum { DATA, OTHER, HOLE }; /* numbers of the files, in the order they are declared */

static const struct target_ops *const ops = &host_target_ops;
static struct target_result res;

static u64 word_at(u64 va)
{
	return *(volatile u64 *)(uintptr_t)va;
}

/* Pages of [va, va + len), which is mapped, that are in the page cache. */
static u64 nr_cached(u64 va, u64 len)
{
	static unsigned char vec[SIZE / PAGE];
	u64 nr = 0;

	if (mincore((void *)(uintptr_t)va, len, vec) != 0)
		return UINT64_MAX;
	for (u64 i = 0; i < len / PAGE; i++)
		nr += vec[i] & 1;
	return nr;
}

static int map(struct target_task *t, u32 fd, u64 len, int prot, int flags, u64 *va)
{
	return ops->file_mmap(t, fd, 0, len, prot, flags, va);
}

/* ---- bodies ---- */

static int body_reads(struct target_task *t, char *err)
{
	u64 done;
	u64 va;
	u32 fd;
	u64 nr_zeros = 0;

	CHECK(ops->file_open(t, DATA, &fd) == 0);
	CHECK(map(t, fd, SIZE, TARGET_PROT_READ, TARGET_MAP_SHARED, &va) == 0);
	CHECK(nr_cached(va, SIZE) == 0); /* dropped before the start */
	CHECK(ops->file_read(t, fd, 0, SIZE, &done) == 0 && done == SIZE);
	CHECK(nr_cached(va, SIZE) == SIZE / PAGE);
	for (u64 at = 0; at < SIZE; at += PAGE)
		nr_zeros += word_at(va + at) == 0;
	CHECK(nr_zeros == 0); /* random contents */
	/* Short at the end, nothing behind it. */
	CHECK(ops->file_read(t, fd, SIZE - 100, 4096, &done) == 0 && done == 100);
	CHECK(ops->file_read(t, fd, SIZE, 4096, &done) == 0 && done == 0);
	CHECK(ops->file_read(t, fd, 0, 0, &done) == 0 && done == 0);
	CHECK(ops->file_advise(t, fd, 0, 0, TARGET_FADV_RANDOM) == 0);
	CHECK(ops->munmap(t, va, SIZE) == 0);
	CHECK(ops->file_advise(t, fd, 0, 0, TARGET_FADV_DONTNEED) == 0);
	CHECK(map(t, fd, SIZE, TARGET_PROT_READ, TARGET_MAP_SHARED, &va) == 0);
	CHECK(nr_cached(va, SIZE) == 0);
	/* One page by a fault with MADV_RANDOM; more without. */
	CHECK(ops->madvise(t, va, SIZE, TARGET_MADV_RANDOM) == 0);
	CHECK(ops->access(t, va + 2 * MB, 1, TARGET_READ, 0) == 0);
	CHECK(nr_cached(va, SIZE) == 1);
	CHECK(ops->madvise(t, va, SIZE, TARGET_MADV_NORMAL) == 0);
	CHECK(ops->access(t, va + 1 * MB, 1, TARGET_READ, 0) == 0);
	CHECK(nr_cached(va, SIZE) > 2);
	CHECK(ops->file_close(t, fd) == 0);
	CHECK(ops->file_open(t, 99, &fd) == -ENOENT);
	return 0;
}

static int body_writes(struct target_task *t, char *err)
{
	u64 done;
	u64 private;
	u64 shared;
	u32 fd;
	u32 other;

	CHECK(ops->file_open(t, OTHER, &fd) == 0);
	CHECK(map(t, fd, SIZE, TARGET_PROT_READ | TARGET_PROT_WRITE, TARGET_MAP_SHARED, &shared) ==
	      0);
	CHECK(map(t, fd, SIZE, TARGET_PROT_READ | TARGET_PROT_WRITE, TARGET_MAP_PRIVATE,
	          &private) == 0);
	CHECK(ops->file_write(t, fd, PAGE, 2 * PAGE, &done) == 0 && done == 2 * PAGE);
	CHECK(word_at(shared + PAGE) == 0x5a5a5a5a5a5a5a5aUL);
	CHECK(word_at(private + PAGE) == 0x5a5a5a5a5a5a5a5aUL);
	/* A copy is the task's own, and what is shared is the file's. */
	CHECK(ops->access(t, private, PAGE, TARGET_TOUCH, 0) == 0);
	CHECK(word_at(shared) != word_at(private));
	CHECK(ops->access(t, shared, PAGE, TARGET_TOUCH, 0) == 0);
	CHECK(word_at(shared) == shared);
	CHECK(ops->file_fsync(t, fd) == 0);
	CHECK(ops->sync(t) == 0);
	/* It grows, with a hole, and becomes shorter. */
	CHECK(ops->file_write(t, fd, SIZE + MB, 10, &done) == 0 && done == 10);
	CHECK(ops->file_read(t, fd, SIZE, 2 * MB, &done) == 0 && done == MB + 10);
	CHECK(ops->file_truncate(t, fd, PAGE) == 0);
	CHECK(ops->file_read(t, fd, 0, SIZE, &done) == 0 && done == PAGE);
	CHECK(ops->access(t, shared, PAGE, TARGET_READ, 0) == 0);

	/* A hole reads as zeros. */
	CHECK(ops->file_open(t, HOLE, &other) == 0 && other != fd);
	CHECK(map(t, other, MB, TARGET_PROT_READ, TARGET_MAP_SHARED, &shared) == 0);
	CHECK(word_at(shared) == 0 && word_at(shared + MB - 8) == 0);
	CHECK(ops->access(t, shared, MB, TARGET_TOUCH, 0) == -EFAULT);

	/* Descriptors are the task's own. */
	CHECK(ops->file_close(t, fd) == 0);
	CHECK(ops->file_close(t, fd) == -EBADF);
	CHECK(ops->file_read(t, fd, 0, 1, &done) == -EBADF);
	CHECK(ops->file_close(t, 2) == -EBADF); /* stderr */
	CHECK(ops->file_write(t, 2, 0, 1, &done) == -EBADF);
	CHECK(ops->file_truncate(t, UINT32_MAX, 0) == -EBADF);
	CHECK(ops->file_fsync(t, UINT32_MAX) == -EBADF);
	CHECK(map(t, fd, PAGE, TARGET_PROT_READ, TARGET_MAP_SHARED, &shared) == -EBADF);
	return 0;
}

static int body_temporary(struct target_task *t, char *err)
{
	s64 arg[4] = {0};
	u32 child;
	u64 done;
	u32 fd;

	CHECK(ops->file_temporary(t, &fd) == 0);
	CHECK(ops->file_read(t, fd, 0, PAGE, &done) == 0 && done == 0);
	CHECK(ops->file_write(t, fd, 0, MB, &done) == 0 && done == MB);
	CHECK(ops->file_read(t, fd, 0, 2 * MB, &done) == 0 && done == MB);
	arg[0] = fd;
	CHECK(ops->spawn(t, TARGET_FORK, "heir", arg, &child) == 0);
	CHECK(ops->wait(t, child) == 0);
	CHECK(ops->file_close(t, fd) == 0);
	return 0;
}

/* What its parent has open is not the child's. */
static int body_heir(struct target_task *t, char *err)
{
	u64 done;

	CHECK(ops->file_read(t, (u32)t->arg[0], 0, 1, &done) == -EBADF);
	CHECK(pread((int)t->arg[0], &done, 1, 0) < 0 && errno == EBADF);
	return 0;
}

static int body_beyond_the_end(struct target_task *t, char *err)
{
	u32 fd;
	u64 va;

	CHECK(ops->file_open(t, DATA, &fd) == 0);
	CHECK(map(t, fd, SIZE, TARGET_PROT_READ, TARGET_MAP_SHARED, &va) == 0);
	CHECK(ops->access(t, va, SIZE, TARGET_READ, 0) == 0);
	CHECK(ops->file_truncate(t, fd, MB) == 0);
	ops->access(t, va + 2 * MB, PAGE, TARGET_READ, 0);
	CHECK(!"it has survived");
	return 0;
}

static int body_all_of_it(struct target_task *t, char *err)
{
	u64 done;
	u32 fd;

	CHECK(ops->file_open(t, DATA, &fd) == 0);
	CHECK(ops->file_read(t, fd, 0, SIZE, &done) == 0 && done == SIZE);
	CHECK(ops->file_open(t, OTHER, &fd) == 0);
	CHECK(ops->file_write(t, fd, 0, SIZE, &done) == 0 && done == SIZE);
	CHECK(ops->file_fsync(t, fd) == 0);
	return 0;
}

static struct test_body bodies[] = {
	{"reads", body_reads}, {"writes", body_writes},         {"temporary", body_temporary},
	{"heir", body_heir},   {"beyond", body_beyond_the_end}, {"all", body_all_of_it},
	{NULL, NULL},
};

/* ---- tests ---- */

static void files_run(const char *body)
{
	struct test_request r;

	test_request_init(&r, bodies);
	test_group(&r, body, 1);
	test_files(&r, "data", SIZE, 1);
	test_files(&r, "other", SIZE, 1);
	test_files(&r, "hole", SIZE, 1)->sparse = true;
	if (test_run(&r, &res) != 0)
		fail_msg("%s", res.error);
}

TEST(a_file_is_read_through_the_page_cache)
{
	files_run("reads");
	assert_int_equal(res.nr_failed, 0);
}

TEST(a_file_is_written_mapped_and_truncated)
{
	files_run("writes");
	assert_int_equal(res.nr_failed, 0);
}

TEST(temporary_files_are_the_tasks_own)
{
	files_run("temporary");
	assert_int_equal(res.nr_failed, 0);
}

TEST(a_file_truncated_under_a_mapping_kills_the_task_with_sigbus)
{
	files_run("beyond");
	assert_int_equal(res.nr_failed, 1);
	assert_non_null(strstr(res.notes, "SIGBUS"));
	assert_int_equal(res.nr_oom_kills, 0);
}

TEST(the_counters_see_the_disk)
{
	files_run("all");
	/* 4 MB each way; others on this host only add. pgpgin and pgpgout are KiB. */
	assert_true(test_counter(&res, "pgpgin") >= 4096);
	assert_true(test_counter(&res, "pgpgout") >= 4096);
	assert_true(test_counter(&res, "nr_dirtied") >= 1024);
	assert_true(test_counter(&res, "nr_written") >= 1024);
}

TEST(a_temporary_file_needs_no_declared_one)
{
	struct test_request r;

	test_request_init(&r, bodies);
	test_group(&r, "temporary", 1);
	if (test_run(&r, &res) != 0)
		fail_msg("%s", res.error);
}

TEST(files_are_refused_where_there_is_no_place)
{
	struct test_request r;
	char err[TARGET_ERROR_MAX] = "";
	struct target *t;

	test_request_init(&r, bodies);
	test_group(&r, "all", 1);
	test_files(&r, "data", 1UL << 50, 1);
	assert_int_equal(ops->open(&r.req, &t, err), -EOPNOTSUPP);
	assert_non_null(strstr(err, "host.file_dir"));
	assert_non_null(strstr(err, "1024 TB"));

	test_set(&r, "host.file_dir", "/nowhere");
	assert_int_equal(ops->open(&r.req, &t, err), -EOPNOTSUPP);
	assert_non_null(strstr(err, "in /nowhere: no such directory"));

	/* A hole needs no place. */
	r.req.nr_settings = 0;
	r.files[0].sparse = true;
	r.files[0].size_bytes = 1UL << 40;
	test_files(&r, "other", SIZE, 1);
	strcpy(r.files[0].name, "hole");
	assert_int_equal(ops->open(&r.req, &t, err), 0);
	ops->close(t);
}

int main(int argc, char **argv)
{
	const char *why;

	if (!place_choose("", "host.file_dir", 1UL << 30, PLACE_FILES, &why))
		test_skip_all(why);
	test_host_lock();
	return test_main("host_files", argc, argv);
}
