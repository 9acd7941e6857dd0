/*
 * The host is as before, whatever ends a run.
 *
 * Each test reads the state of the host (swap areas, all sysctls of vm, huge pages, cgroups, zram
 * devices, swap and scenario files, leftover processes), lets a run change it, ends that run in its own way, and
 * compares. Sizes are small: swap of 64 to 192 MB, a ballast of at most 1 GB that leaves many more.
 * Needs root; what a host lacks beyond that (zram, a memory cgroup) skips a test and says so.
 */
#include "tests/host/host_test.h"

#include <sys/prctl.h>

#include "host/internal.h"

static const struct target_ops *const ops = &host_target_ops;
static struct target_result res;
static struct host_state_text before;

/* ---- bodies ---- */

/* Leaves pages of files in the cache, dirty ones and a temporary file among them. */
static int use_files(struct target_task *t)
{
	u64 done;
	u32 fd;
	int err = ops->file_open(t, t->index, &fd);

	if (!err)
		err = ops->file_read(t, fd, 0, 1 * MB, &done);
	if (!err)
		err = ops->file_write(t, fd, 2 * MB, 1 * MB, &done);
	if (!err)
		err = ops->file_temporary(t, &fd);
	return err ? err : ops->file_write(t, fd, 0, 1 * MB, &done);
}

static int body_hosttask(struct target_task *t, char *err)
{
	u64 va;

	(void)err;
	prctl(PR_SET_NAME, "hosttask");
	if (use_files(t) != 0)
		return -EIO;
	if (ops->mmap(t, 32 * MB, TARGET_PROT_READ | TARGET_PROT_WRITE, 0, &va) != 0)
		return -ENOMEM;
	for (int i = 0; i < 3; i++) {
		ops->access(t, va, 32 * MB, TARGET_FILL, 0);
		ops->madvise(t, va, 32 * MB, TARGET_MADV_FREE);
	}
	return 0;
}

/* Fills more than the cgroup's limit, twice, so that it goes out and comes back. */
static int body_swapper(struct target_task *t, char *err)
{
	u64 va;

	if (ops->mmap(t, 96 * MB, TARGET_PROT_READ | TARGET_PROT_WRITE, 0, &va) != 0)
		return -ENOMEM;
	for (int i = 0; i < 2; i++)
		ops->access(t, va, 96 * MB, TARGET_TOUCH, t->seed | 1);
	for (u64 at = va; at < va + 96 * MB; at += 4096) {
		if (*(volatile u64 *)(uintptr_t)at != at) {
			snprintf(err, TARGET_ERROR_MAX, "page 0x%lx has other contents", at);
			return -EIO;
		}
	}
	return 0;
}

static int body_fails(struct target_task *t, char *err)
{
	(void)t;
	snprintf(err, TARGET_ERROR_MAX, "on purpose");
	return -EINVAL;
}

/* A process and its child that stay until they are killed. */
static int body_stays(struct target_task *t, char *err)
{
	s64 arg[4] = {0};
	u32 child;
	u64 va;

	(void)err;
	prctl(PR_SET_NAME, "hosttask");
	if (strcmp(t->function, "stays") == 0)
		ops->spawn(t, TARGET_FORK, "child", arg, &child);
	if (strcmp(t->function, "stays") == 0)
		use_files(t);
	if (ops->mmap(t, 16 * MB, TARGET_PROT_READ | TARGET_PROT_WRITE, 0, &va) == 0)
		ops->access(t, va, 16 * MB, TARGET_FILL, 0);
	return ops->sleep(t, 1000 * SECOND);
}

static struct test_body bodies[] = {
	{"hosttask", body_hosttask}, {"swapper", body_swapper}, {"fails", body_fails},
	{"stays", body_stays},       {"child", body_stays},     {NULL, NULL},
};

/* ---- requests ---- */

static u64 meminfo(const char *name)
{
	return (u64)max_t(s64, meminfo_bytes(name), 0);
}

/* A ballast of @mb beside what the host holds now, or a skip if that would leave too little. */
static void request_ballast(struct test_request *r, u64 mb)
{
	if (meminfo("MemAvailable") < mb * MB + meminfo("MemTotal") / 2 + 1024 * MB)
		test_skip_all("too little free memory for a ballast that leaves enough");
	r->req.ram_bytes = meminfo("MemTotal") - meminfo("Hugetlb") - mb * MB;
	strcpy(r->req.limit_kind, "ballast");
}

/* Two to read, and one that is a hole. */
static void request_files(struct test_request *r, u64 size)
{
	test_files(r, "data", size, 2);
	test_files(r, "hole", 64 * MB, 1)->sparse = true;
}

static void request_all(struct test_request *r, const char *body)
{
	test_request_init(r, bodies);
	test_group(r, body, 2);
	request_files(r, 24 * MB);
	request_ballast(r, 512);
	r->req.swap_bytes = 64 * MB;
	strcpy(r->req.swap_kind, "disk");
	test_set(r, "vm.swappiness", "42");
	test_set(r, "vm.dirty_bytes", "100000000"); /* its pair must be what is restored */
	test_set(r, "vm.page-cluster", "1");
	test_set(r, "vm.read_ahead_kb", "64");
	test_set(r, "madvise.free", "throttle");
	test_set(r, "reclaim.writeback_end", "free");
}

static bool has(const struct target_result *result, const char *text)
{
	if (strstr(result->notes, text))
		return true;
	fprintf(stderr, "not in the notes: %s\n%s", text, result->notes);
	return false;
}

/* ---- ends in order ---- */

TEST(everything_is_undone_after_a_run)
{
	struct test_request r;
	char err[TARGET_ERROR_MAX];
	struct target *t;
	char buf[4096];
	u64 total = meminfo("MemTotal");
	int rc;

	state_read(&before);
	request_all(&r, "hosttask");
	rc = ops->open(&r.req, &t, err);
	if (rc)
		fail_msg("open: %d, %s", rc, err);

	/* It really changed: one more swap area of the size asked for, first in priority. */
	assert_true(file_read("/proc/swaps", buf, sizeof(buf)) > 0);
	assert_non_null(strstr(buf, "quire-swap."));
	assert_non_null(strstr(buf, "65536"));
	assert_non_null(strstr(buf, "32767"));
	assert_true(file_read("/proc/sys/vm/swappiness", buf, sizeof(buf)) > 0);
	assert_string_equal(buf, "42\n");
	assert_in_range(total - meminfo("Hugetlb"), r.req.ram_bytes - 2 * MB,
	                r.req.ram_bytes + 2 * MB);

	assert_int_equal(ops->run(t, &res), 0);
	assert_true(has(&res, "ballast: 512 MB"));
	assert_true(has(&res, "swap: a file of 64.00 MB"));
	assert_true(has(&res, "files: 48.00 MB on the disk in /var/tmp"));
	assert_true(has(&res, "read_ahead_kb 64,"));
	assert_true(has(&res, "without effect here: reclaim.writeback_end"));
	assert_true(has(&res, "throttle is emulated"));
	assert_true(has(&res, "transparent huge pages"));
	/* Two tasks with 8,192 pages. A page that was lazily freed and written again still has the
	 * mark and is not counted again, and up to a batch (31) per CPU and call is passed over. */
	assert_in_range(test_counter(&res, "pglazyfree"), 2 * 8192 * 9 / 10, 2 * 8192);
	ops->close(t);
	assert_host_as_before(&before, 0);
}

TEST(everything_is_undone_without_a_run)
{
	struct test_request r;
	char err[TARGET_ERROR_MAX];
	struct target *t;

	state_read(&before);
	request_all(&r, "hosttask");
	assert_int_equal(ops->open(&r.req, &t, err), 0);
	ops->close(t);
	assert_host_as_before(&before, 0);
}

TEST(everything_is_undone_after_a_failed_run)
{
	struct test_request r;

	state_read(&before);
	request_all(&r, "fails");
	assert_int_equal(test_run(&r, &res), -EINVAL);
	assert_string_equal(res.error, "on purpose");
	assert_host_as_before(&before, 0);
}

TEST(a_failed_open_leaves_nothing)
{
	struct test_request r;
	char err[TARGET_ERROR_MAX] = "";
	struct target *t;

	state_read(&before);
	request_all(&r, "hosttask");
	/* The first sysctl is written before the kernel refuses this one. */
	strcpy(r.setting[2].name, "vm.overcommit_memory");
	strcpy(r.setting[2].value, "7");
	assert_int_equal(ops->open(&r.req, &t, err), -EINVAL);
	assert_non_null(strstr(err, "vm.overcommit_memory = 7"));
	assert_host_as_before(&before, 0);

	/* No room for the files, or for the swap file, in the directory that was named. */
	request_all(&r, "hosttask");
	test_set(&r, "host.file_dir", "/dev/shm");
	assert_int_equal(ops->open(&r.req, &t, err), -EOPNOTSUPP);
	assert_non_null(strstr(err, "/dev/shm: its file system lives in memory"));
	assert_host_as_before(&before, 0);
	request_all(&r, "hosttask");
	test_set(&r, "host.swap_dir", "/dev/shm");
	assert_int_equal(ops->open(&r.req, &t, err), -EOPNOTSUPP);
	assert_non_null(strstr(err, "/dev/shm"));
	assert_host_as_before(&before, 0);

	/* Nearly all of the RAM: refused before anything is changed. */
	request_all(&r, "hosttask");
	r.req.ram_bytes = 16 * MB;
	assert_int_equal(ops->open(&r.req, &t, err), -EOPNOTSUPP);
	assert_host_as_before(&before, 0);
}

TEST(a_zram_device_comes_and_goes)
{
	struct test_request r;
	char err[TARGET_ERROR_MAX] = "";
	struct target *t;
	int rc;

	state_read(&before);
	test_request_init(&r, bodies);
	test_group(&r, "hosttask", 1);
	request_files(&r, 4 * MB);
	r.req.swap_bytes = 64 * MB;
	strcpy(r.req.swap_kind, "zram");
	rc = ops->open(&r.req, &t, err);
	if (rc == -EOPNOTSUPP) {
		printf("no zram here: %s\n", err);
		assert_host_as_before(&before, 0);
		skip();
	}
	if (rc)
		fail_msg("open: %d, %s", rc, err);

	char buf[4096];

	assert_true(file_read("/proc/swaps", buf, sizeof(buf)) > 0);
	assert_non_null(strstr(buf, "/dev/zram"));
	assert_int_equal(ops->run(t, &res), 0);
	assert_true(has(&res, "swap: /dev/zram"));
	ops->close(t);
	assert_host_as_before(&before, 0);
}

/* ---- memory that does not suffice ---- */

static void cgroup_run(struct test_request *r, u64 ram, u64 swap)
{
	char err[TARGET_ERROR_MAX] = "";
	struct target *t;
	int rc;

	state_read(&before);
	test_request_init(r, bodies);
	test_group(r, "swapper", 1);
	r->req.ram_bytes = ram;
	r->req.swap_bytes = swap;
	r->req.max_ns = 200 * SECOND; /* pages come back one by one, from a disk that others use */
	strcpy(r->req.swap_kind, "disk");
	strcpy(r->req.limit_kind, "memcg");
	test_set(r, "host.thp", "never");
	rc = ops->open(&r->req, &t, err);
	if (rc == -EOPNOTSUPP) {
		printf("no memory cgroup here: %s\n", err);
		assert_host_as_before(&before, 0);
		skip();
	}
	if (rc)
		fail_msg("open: %d, %s", rc, err);
	rc = ops->run(t, &res);
	ops->close(t);
	if (rc)
		fail_msg("run: %d, %s", rc, res.error);
	assert_host_as_before(&before, 0);
}

TEST(a_cgroup_makes_tasks_swap)
{
	struct test_request r;

	cgroup_run(&r, 64 * MB, 128 * MB);
	assert_int_equal(res.nr_oom_kills, 0);
	assert_int_equal(res.nr_failed, 0);
	/* 96 MB through 64 MB: at least the third that does not fit goes out. */
	assert_true(test_counter(&res, "pswpout") >= 6000);
	assert_true(test_counter(&res, "pswpin") >= 6000);
	assert_true(test_counter(&res, "pgscan_anon") > 0);
	assert_true(res.sys_ns > 0);
}

TEST(a_task_that_is_killed_for_memory_is_an_outcome)
{
	struct test_request r;

	cgroup_run(&r, 32 * MB, 0);
	assert_int_equal(res.nr_oom_kills, 1);
	assert_int_equal(test_counter(&res, "oom_kill"), 1);
	assert_int_equal(res.nr_failed, 0);
}

/* ---- ends without order ---- */

/* A runner in a process of its own. Ends with status 0 if its run came to an end in order. */
static __attribute__((noreturn)) void runner_main(void)
{
	struct test_request r;
	char err[TARGET_ERROR_MAX];
	struct target *t;
	int rc;

	request_all(&r, "stays");
	rc = ops->open(&r.req, &t, err);
	if (rc) {
		fprintf(stderr, "open: %d, %s\n", rc, err);
		_exit(2);
	}
	rc = ops->run(t, &res);
	ops->close(t); /* raises the signal again */
	_exit(rc ? 3 : 0);
}

static pid_t runner_start(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		runner_main();
	return pid;
}

/* Until both tasks are there, or some seconds have passed. */
static void wait_for_tasks(void)
{
	static struct host_state_text now;

	for (int i = 0; i < 500; i++) {
		int nr = 0;

		state_read(&now);
		for (const char *p = now.text; (p = strstr(p, "hosttask")); p++)
			nr++;
		if (nr >= 4)
			return;
		test_sleep_ms(10);
	}
	fail_msg("the tasks do not start");
}

static void end_by_signal(int sig)
{
	int status;
	pid_t runner;

	state_read(&before);
	runner = runner_start();
	wait_for_tasks();
	kill(runner, sig);
	assert_int_equal(waitpid(runner, &status, 0), runner);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), sig);
	/* When the shell has its prompt back, nothing is left. */
	assert_host_as_before(&before, 0);
}

TEST(sigint_undoes_before_it_ends)
{
	end_by_signal(SIGINT);
}

TEST(sigterm_undoes_before_it_ends)
{
	end_by_signal(SIGTERM);
}

TEST(sigkill_during_the_run_leaves_nothing)
{
	int status;
	pid_t runner;

	state_read(&before);
	runner = runner_start();
	wait_for_tasks();
	kill(runner, SIGKILL);
	assert_int_equal(waitpid(runner, &status, 0), runner);
	assert_host_as_before(&before, 10000);
}

/* A kill at any moment of open(), run() and close(). */
TEST(a_kill_at_any_moment_leaves_nothing)
{
	struct rand_stream rand;

	rand_init(&rand, test_seed(), 1, 0);
	state_read(&before);
	for (int i = 0; i < 24; i++) {
		pid_t runner = runner_start();
		int sig = i % 4 == 3 ? SIGINT : SIGKILL;
		u64 delay_us = rand_below(&rand, 250000);
		struct timespec ts = {.tv_nsec = (long)delay_us * 1000};
		int status;

		nanosleep(&ts, NULL);
		kill(runner, sig);
		/* A SIGINT is undone in order; sometimes a SIGKILL comes in the middle of that. */
		if (sig == SIGINT && i % 8 == 7) {
			ts.tv_nsec = (long)rand_below(&rand, 30000000);
			nanosleep(&ts, NULL);
			kill(runner, SIGKILL);
		}
		assert_int_equal(waitpid(runner, &status, 0), runner);
		assert_true(WIFSIGNALED(status)); /* or it could not even open the host */
		assert_host_as_before(&before, 10000);
	}
}

/* A kill while gigabytes of files are being written, which takes most of a run. */
TEST(a_kill_while_files_are_made_leaves_nothing)
{
	struct rand_stream rand;

	rand_init(&rand, test_seed(), 2, 0);
	state_read(&before);
	for (int i = 0; i < 6; i++) {
		struct test_request r;
		char err[TARGET_ERROR_MAX];
		struct target *t;
		struct timespec ts = {.tv_nsec = (long)rand_below(&rand, 300000000)};
		pid_t runner;
		int status;

		fflush(NULL);
		runner = fork();
		assert_true(runner >= 0);
		if (runner == 0) {
			test_request_init(&r, bodies);
			test_group(&r, "stays", 1);
			test_files(&r, "large", 512 * MB, 4);
			if (ops->open(&r.req, &t, err) == 0)
				ops->close(t);
			_exit(0);
		}
		nanosleep(&ts, NULL);
		kill(runner, i % 3 == 2 ? SIGTERM : SIGKILL);
		assert_int_equal(waitpid(runner, &status, 0), runner);
		assert_host_as_before(&before, 10000);
	}
}

/* Runner and watcher both killed: the next run finds the journal. */
TEST(the_next_run_undoes_what_a_killed_watcher_left)
{
	static struct host_state_text now;
	struct test_request r;
	int status;
	pid_t runner;
	pid_t watcher = 0;

	state_read(&before);
	runner = runner_start();
	wait_for_tasks();
	state_read(&now);

	char *p = strstr(now.text, "quire-watcher");

	assert_non_null(p);
	while (p > now.text && p[-1] != '\n')
		p--;
	assert_int_equal(sscanf(p, "/proc/%d", &watcher), 1);
	kill(watcher, SIGKILL);
	kill(runner, SIGKILL);
	assert_int_equal(waitpid(runner, &status, 0), runner);

	test_request_init(&r, bodies);
	test_group(&r, "hosttask", 1);
	request_files(&r, 4 * MB);
	assert_int_equal(test_run(&r, &res), 0);
	assert_true(has(&res, "an earlier run was killed together with its watcher"));
	/* Its tasks have ended by themselves. */
	assert_host_as_before(&before, 5000);
}

/* What an earlier test program that was killed has left is not what the host was before. */
static void host_recover(void)
{
	struct test_request r;
	char err[TARGET_ERROR_MAX];
	struct target *t;

	test_request_init(&r, bodies);
	if (ops->open(&r.req, &t, err) == 0)
		ops->close(t);
	else
		printf("cannot open the host: %s\n", err);
}

int main(int argc, char **argv)
{
	if (geteuid() != 0)
		test_skip_all("changing swap and huge pages needs root");
	if (!file_writable("/proc/sys/vm/nr_hugepages"))
		test_skip_all("no right to write /proc/sys/vm/nr_hugepages (a container?)");
	test_host_lock();
	host_recover();
	return test_main("host_undo", argc, argv);
}
