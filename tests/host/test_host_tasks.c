/*
 * Tasks on the real kernel: processes, threads, memory, accesses, barriers, ends of runs.
 *
 * Needs no rights: nothing of the host is changed here, beside the lock file. Bodies are C functions
 * that check what they see themselves and fail the run with a text.
 */
#include "tests/host/host_test.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include "host/internal.h"

#define PAGE 4096UL

static const struct target_ops *const ops = &host_target_ops;

static u64 word_at(u64 va)
{
	return *(volatile u64 *)(uintptr_t)va;
}

/* ---- orders ---- */

TEST(an_order_visits_every_page_once)
{
	static unsigned char seen[5000];

	for (u64 nr = 1; nr <= 4097; nr = nr < 40 ? nr + 1 : nr * 3 / 2) {
		for (u64 seed = 1; seed < 6; seed++) {
			struct page_order o;

			memset(seen, 0, sizeof(seen));
			page_order_init(&o, nr, test_seed() + seed);
			for (u64 i = 0; i < nr; i++) {
				u64 at = page_order_at(&o, i);

				assert_true(at < nr);
				assert_int_equal(seen[at], 0);
				seen[at] = 1;
			}
		}
	}
}

TEST(an_order_looks_random)
{
	struct page_order o;
	struct page_order other;
	u64 nr_near = 0;
	u64 nr_same = 0;
	const u64 nr = 100000;

	page_order_init(&o, nr, test_seed());
	page_order_init(&other, nr, test_seed() + 1);
	for (u64 i = 1; i < nr; i++) {
		u64 a = page_order_at(&o, i - 1);
		u64 b = page_order_at(&o, i);

		nr_near += (a > b ? a - b : b - a) < nr / 100;
		nr_same += b == page_order_at(&other, i);
	}
	/* Two random pages are within 1 % with probability 0.02; two orders agree at 1 place. */
	assert_in_range(nr_near, nr / 100, nr * 4 / 100);
	assert_true(nr_same < 50);
}

/* ---- memory ---- */

static int body_memory(struct target_task *t, char *err)
{
	u64 len = 64 * PAGE;
	u64 va;
	u64 end;

	CHECK(ops->mmap(t, len, TARGET_PROT_READ | TARGET_PROT_WRITE, TARGET_MAP_PRIVATE, &va) ==
	      0);
	CHECK(ops->access(t, va, len, TARGET_READ, 0) == 0);
	CHECK(word_at(va) == 0);
	CHECK(ops->access(t, va, len, TARGET_TOUCH, 7) == 0);
	for (u64 i = 0; i < 64; i++)
		CHECK(word_at(va + i * PAGE) != 0 && word_at(va + i * PAGE + 8) == 0);
	CHECK(ops->access(t, va, len, TARGET_FILL, 0) == 0);
	CHECK(word_at(va + PAGE - 8) == word_at(va));
	CHECK(ops->access(t, va, len, TARGET_SCAN, 3) == 0);
	CHECK(ops->madvise(t, va, len, TARGET_MADV_DONTNEED) == 0);
	CHECK(word_at(va) == 0);
	CHECK(ops->madvise(t, va, len, TARGET_MADV_FREE) == 0);
	CHECK(ops->madvise(t, va, len, TARGET_MADV_WILLNEED) == 0);

	/* A part of a page: only its bytes are written. */
	CHECK(ops->madvise(t, va, len, TARGET_MADV_DONTNEED) == 0);
	CHECK(ops->access(t, va + 4000, 200, TARGET_FILL, 0) == 0);
	CHECK(word_at(va + 3992) == 0 && word_at(va + 4200) == 0);

	/* No access where nothing is mapped, or not so. */
	CHECK(ops->munmap(t, va + 16 * PAGE, 16 * PAGE) == 0);
	CHECK(ops->access(t, va, len, TARGET_READ, 0) == -EFAULT);
	CHECK(ops->access(t, va, len, TARGET_READ, 9) == -EFAULT);
	CHECK(ops->access(t, va, 16 * PAGE, TARGET_READ, 0) == 0);
	CHECK(ops->access(t, va + 32 * PAGE, 32 * PAGE, TARGET_READ, 0) == 0);
	CHECK(ops->madvise(t, va, len, TARGET_MADV_DONTNEED) == -ENOMEM);
	CHECK(ops->access(t, PAGE, PAGE, TARGET_READ, 0) == -EFAULT);
	CHECK(ops->access(t, (u64)(uintptr_t)&end, 8, TARGET_TOUCH, 0) == -EFAULT);
	CHECK(ops->mprotect(t, va, 8 * PAGE, TARGET_PROT_READ) == 0);
	CHECK(ops->access(t, va, 8 * PAGE, TARGET_READ, 0) == 0);
	for (int i = 0; i < 100; i++) /* again and again: the signal must not stay blocked */
		CHECK(ops->access(t, va, 8 * PAGE, TARGET_TOUCH, 0) == -EFAULT);
	CHECK(ops->mprotect(t, va, 8 * PAGE, TARGET_PROT_READ | TARGET_PROT_WRITE) == 0);
	CHECK(ops->access(t, va, 8 * PAGE, TARGET_TOUCH, 0) == 0);
	CHECK(ops->munmap(t, va, len) == 0);
	CHECK(ops->munmap(t, va + 1, len) == -EINVAL);

	CHECK(ops->brk(t, 0, &end) == 0);
	va = end;
	CHECK(ops->brk(t, 3 * PAGE + 100, &end) == 0 && end == va + 3 * PAGE + 100);
	CHECK(ops->access(t, va, 3 * PAGE + 100, TARGET_FILL, 0) == 0);
	CHECK(ops->access(t, va, 5 * PAGE, TARGET_READ, 0) == -EFAULT);
	CHECK(ops->brk(t, -(s64)(2 * PAGE + 100), &end) == 0 && end == va + PAGE);
	CHECK(ops->access(t, va, 2 * PAGE, TARGET_READ, 0) == -EFAULT);
	CHECK(ops->brk(t, PAGE, &end) == 0);
	CHECK(word_at(va + PAGE) == 0);
	CHECK(ops->brk(t, -(s64)(100 * PAGE), &end) == -ENOMEM && end == va + 2 * PAGE);
	return 0;
}

/* kB of AnonHugePages of the whole process. */
static u64 anon_huge_kb(void)
{
	char *text = file_read_all("/proc/self/smaps_rollup");
	char *p = text ? strstr(text, "AnonHugePages:") : NULL;
	u64 kb = p ? strtoull(p + strlen("AnonHugePages:"), NULL, 10) : 0;

	free(text);
	return kb;
}

/* Advice makes huge pages, takes part of one back, and a child copies their mappings. */
static int body_huge(struct target_task *t, char *err)
{
	const u64 huge = 2 * MB;
	s64 arg[4] = {0};
	u32 child;
	u64 va;
	u64 at;

	CHECK(ops->mmap(t, 4 * huge, TARGET_PROT_READ | TARGET_PROT_WRITE, 0, &va) == 0);
	at = ALIGN(va, huge);
	CHECK(ops->madvise(t, va, 4 * huge, TARGET_MADV_HUGEPAGE) == 0);
	CHECK(ops->access(t, at, 2 * huge, TARGET_TOUCH, 0) == 0);
	if (anon_huge_kb() == 0)
		return 0; /* off, or memory is too fragmented: the counters say so */
	CHECK(ops->munmap(t, at, PAGE) == 0);
	CHECK(ops->madvise(t, at + huge, huge, TARGET_MADV_NOHUGEPAGE) == 0);
	CHECK(ops->spawn(t, TARGET_FORK, "nothing", arg, &child) == 0);
	CHECK(ops->wait(t, child) == 0);
	CHECK(word_at(at + PAGE) == at + PAGE);
	return 0;
}

/* Random maps and unmaps beside a model of one bool per page. */
static int body_ranges(struct target_task *t, char *err)
{
	enum { NR = 64 };
	struct host_memory *m = &t->target->memory;
	bool mapped[NR];
	struct rand_stream r;
	u64 va;

	rand_init(&r, t->seed, 1, 0);
	for (int round = 0; round < 50; round++) {
		CHECK(ops->mmap(t, NR * PAGE, TARGET_PROT_READ, TARGET_MAP_NORESERVE, &va) == 0);
		memset(mapped, 1, sizeof(mapped));
		for (int step = 0; step < 20; step++) {
			u64 from = rand_below(&r, NR);
			u64 to = rand_range_u64(&r, from + 1, NR);

			CHECK(ops->munmap(t, va + from * PAGE, (to - from) * PAGE) == 0);
			memset(mapped + from, 0, to - from);
			for (u64 i = 0; i < NR; i++) {
				u64 k = i;

				while (k < NR && mapped[k])
					k++;
				CHECK(memory_covered(m, va + i * PAGE, va + NR * PAGE) ==
				      va + k * PAGE);
				CHECK(ops->access(t, va + i * PAGE, PAGE, TARGET_READ, 0) ==
				      (mapped[i] ? 0 : -EFAULT));
			}
		}
		CHECK(ops->munmap(t, va, NR * PAGE) == 0);
	}
	return 0;
}

/* ---- processes and threads ---- */

static int body_child(struct target_task *t, char *err)
{
	s64 value;

	CHECK(t->arg[1] == -2 && t->nr == 1);
	/* A process has its own copy, a thread shares the memory. */
	if (t->arg[0])
		CHECK(ops->access(t, (u64)t->arg[0], PAGE, TARGET_TOUCH, 0) == 0);
	if (t->arg[2] > 0) {
		s64 arg[4] = {t->arg[0], -2, t->arg[2] - 1, 0};
		u32 child;

		/* Not waited for: the end of this task does that. */
		CHECK(ops->spawn(t, TARGET_FORK, "child", arg, &child) == 0);
	}
	CHECK(ops->counter_add(t, 0, 1, &value) == 0);
	return 0;
}

/* What its parent had mapped is not there; it can map for itself. */
static int body_stranger(struct target_task *t, char *err)
{
	u64 va;

	CHECK(ops->access(t, (u64)t->arg[0], PAGE, TARGET_READ, 0) == -EFAULT);
	CHECK(ops->mmap(t, PAGE, TARGET_PROT_READ | TARGET_PROT_WRITE, 0, &va) == 0);
	CHECK(ops->access(t, va, PAGE, TARGET_TOUCH, 0) == 0);
	return 0;
}

static int body_parent(struct target_task *t, char *err)
{
	u32 child[8];
	s64 value;
	u64 va;

	CHECK(ops->mmap(t, PAGE, TARGET_PROT_READ | TARGET_PROT_WRITE, 0, &va) == 0);
	for (u32 i = 0; i < 8; i++) {
		s64 arg[4] = {(s64)va, -2, 0, 0};

		CHECK(ops->spawn(t, TARGET_FORK, "child", arg, &child[i]) == 0);
	}
	for (u32 i = 0; i < 8; i++)
		CHECK(ops->wait(t, child[7 - i]) == 0);
	CHECK(ops->wait(t, child[0]) == -ECHILD);
	CHECK(word_at(va) == 0);
	for (u32 i = 0; i < 4; i++) {
		s64 arg[4] = {(s64)va, -2, 0, 0};

		CHECK(ops->spawn(t, TARGET_THREAD, "child", arg, &child[i]) == 0);
	}
	for (u32 i = 0; i < 4; i++)
		CHECK(ops->wait(t, child[i]) == 0);
	CHECK(word_at(va) != 0);
	CHECK(ops->spawn(t, TARGET_EXEC, "stranger", (s64[4]){(s64)va}, &child[0]) == 0);
	CHECK(ops->wait(t, child[0]) == 0);
	CHECK(word_at(va) != 0);
	CHECK(ops->counter_add(t, 0, 0, &value) == 0 && value == 12);

	s64 arg[4] = {0, -2, 3, 0};

	CHECK(ops->spawn(t, TARGET_FORK, "child", arg, &child[0]) == 0);
	return 0;
}

/* ---- meeting ---- */

static int body_meet(struct target_task *t, char *err)
{
	s64 value;

	for (u32 round = 0; round < 50; round++) {
		CHECK(ops->counter_add(t, 1, 1, &value) == 0);
		CHECK(ops->barrier(t, 0) == 0);
		CHECK(ops->counter_add(t, 1, 0, &value) == 0);
		CHECK(value == (s64)((round + 1) * t->nr));
		CHECK(ops->barrier(t, 0) == 0);
	}
	if (t->index == 0) {
		CHECK(ops->sleep(t, 20 * MS) == 0);
		CHECK(ops->counter_add(t, 2, 5, NULL) == 0);
		CHECK(ops->event_set(t, 0) == 0);
	}
	CHECK(ops->event_wait(t, 0) == 0);
	CHECK(ops->counter_add(t, 2, 0, &value) == 0 && value == 5);
	CHECK(ops->barrier(t, 9) == -EINVAL && ops->event_set(t, 9) == -EINVAL);
	return 0;
}

static int body_nothing(struct target_task *t, char *err)
{
	(void)t;
	(void)err;
	return 0;
}

static int body_fails(struct target_task *t, char *err)
{
	if (t->index != 2)
		return ops->sleep(t, 60 * SECOND);
	snprintf(err, TARGET_ERROR_MAX, "scenario.lua:7: no such thing");
	return -EINVAL;
}

static int body_waits(struct target_task *t, char *err)
{
	(void)err;
	return t->index == 0 ? ops->event_wait(t, 0) : ops->barrier(t, 0);
}

static int body_crashes(struct target_task *t, char *err)
{
	(void)err;
	if (t->index == 1) {
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	return ops->sleep(t, 60 * SECOND);
}

static int body_dies(struct target_task *t, char *err)
{
	(void)err;
	if (t->index == 0)
		kill(getpid(), SIGKILL);
	return 0;
}

static int body_forever(struct target_task *t, char *err)
{
	s64 arg[4] = {0, -2, 0, 0};
	u32 child;

	(void)err;
	ops->spawn(t, TARGET_FORK, "sleeper", arg, &child);
	while (ops->compute(t, MS) == 0)
		;
	return 0;
}

static int body_sleeper(struct target_task *t, char *err)
{
	(void)err;
	return ops->sleep(t, 1000 * SECOND);
}

static int body_computes(struct target_task *t, char *err)
{
	(void)err;
	return ops->compute(t, 200 * MS);
}

static int body_start_time(struct target_task *t, char *err)
{
	u64 expected = target_start_ns(t->target->req, 0, t->index);
	u64 now = ops->now(t);

	CHECK(now >= expected);
	CHECK(expected >= 30 * MS + t->index * 20 * MS);
	CHECK(expected <= 30 * MS + t->index * 20 * MS + 5 * MS);
	return 0;
}

static struct test_body bodies[] = {
	{"stranger", body_stranger},
	{"memory", body_memory},
	{"ranges", body_ranges},
	{"parent", body_parent},
	{"child", body_child},
	{"meet", body_meet},
	{"nothing", body_nothing},
	{"fails", body_fails},
	{"waits", body_waits},
	{"crashes", body_crashes},
	{"dies", body_dies},
	{"forever", body_forever},
	{"sleeper", body_sleeper},
	{"computes", body_computes},
	{"start", body_start_time},
	{"huge", body_huge},
	{NULL, NULL},
};

static struct target_result res;

static void run_ok(struct test_request *r)
{
	int rc = test_run(r, &res);

	if (rc)
		fail_msg("run: %d, %s", rc, res.error);
	assert_string_equal(res.error, "");
	assert_int_equal(res.nr_failed, 0);
}

TEST(advice_makes_huge_pages)
{
	struct test_request r;
	char mode[64] = "";

	test_request_init(&r, bodies);
	test_group(&r, "huge", 1);
	run_ok(&r);
	file_read("/sys/kernel/mm/transparent_hugepage/enabled", mode, sizeof(mode));
	if (!*mode || strstr(mode, "[never]")) {
		printf("no huge pages on this host\n");
		return;
	}
	/* Two, or fallbacks instead; what others do only adds. */
	assert_true(test_counter(&res, "thp_fault_alloc") +
	                    test_counter(&res, "thp_fault_fallback") >=
	            2);
	if (test_counter(&res, "thp_fault_fallback") == 0)
		assert_true(test_counter(&res, "thp_split_pmd") >= 1);
}

TEST(memory_calls_do_what_they_say)
{
	struct test_request r;

	test_request_init(&r, bodies);
	test_group(&r, "memory", 2);
	run_ok(&r);
	assert_int_equal(res.nr_tasks, 2);
	assert_true(test_counter(&res, "pgfault") > 2 * 64);
	assert_true(test_counter(&res, "nr_free_pages") > 1000);
	assert_int_equal(test_counter(&res, "oom_kill"), 0);
}

TEST(ranges_match_a_model)
{
	struct test_request r;

	test_request_init(&r, bodies);
	test_group(&r, "ranges", 1);
	run_ok(&r);
}

TEST(children_are_processes_or_threads)
{
	struct test_request r;

	test_request_init(&r, bodies);
	r.req.nr_counters = 1;
	test_group(&r, "parent", 1);
	run_ok(&r);
	/* Itself, 8 processes, 4 threads, one without memory, and a chain of 4. */
	assert_int_equal(res.nr_tasks, 1 + 8 + 4 + 1 + 4);
}

TEST(tasks_meet)
{
	struct test_request r;

	test_request_init(&r, bodies);
	r.req.nr_barriers = 1;
	r.req.barrier_size[0] = 6;
	r.req.nr_events = 1;
	r.req.nr_counters = 3;
	test_group(&r, "meet", 6);
	run_ok(&r);
}

TEST(start_times_are_kept)
{
	struct test_request r;
	struct target_group *g;

	test_request_init(&r, bodies);
	g = test_group(&r, "start", 3);
	g->start_ns = 30 * MS;
	g->stagger_ns = 20 * MS;
	g->jitter_ns = 5 * MS;
	run_ok(&r);
	assert_true(res.elapsed_ns >= 70 * MS);
}

TEST(computing_is_user_time)
{
	struct test_request r;

	test_request_init(&r, bodies);
	test_group(&r, "computes", 2);
	run_ok(&r);
	/* Wide: other builds share this machine, its clock changes, and user time is in ticks. */
	assert_in_range(res.user_ns, 250 * MS, 1200 * MS);
	assert_true(res.sys_ns < 200 * MS);
	assert_true(res.elapsed_ns >= 150 * MS);
}

TEST(a_failed_body_breaks_the_run)
{
	struct test_request r;

	test_request_init(&r, bodies);
	test_group(&r, "fails", 4);
	assert_int_equal(test_run(&r, &res), -EINVAL);
	assert_string_equal(res.error, "scenario.lua:7: no such thing");
	assert_int_equal(res.nr_failed, 1);
	assert_true(res.elapsed_ns < 10 * SECOND);
}

TEST(a_crash_breaks_the_run)
{
	struct test_request r;

	test_request_init(&r, bodies);
	test_group(&r, "crashes", 2);
	assert_int_equal(test_run(&r, &res), -EIO);
	assert_non_null(strstr(res.error, "task crashes[1] died of signal 11"));
}

TEST(a_deadlock_is_found)
{
	struct test_request r;

	test_request_init(&r, bodies);
	r.req.nr_barriers = 1;
	r.req.barrier_size[0] = 3;
	r.req.nr_events = 1;
	test_group(&r, "waits", 3);
	assert_int_equal(test_run(&r, &res), -EDEADLK);
	assert_non_null(strstr(res.error, "2 wait at a barrier (number 1 is for 3)"));
	assert_true(res.elapsed_ns < 5 * SECOND);
}

TEST(a_killed_task_is_an_outcome)
{
	struct test_request r;

	test_request_init(&r, bodies);
	test_group(&r, "dies", 3);
	assert_int_equal(test_run(&r, &res), 0);
	/* Not by the kernel: its counter did not move. */
	assert_int_equal(res.nr_oom_kills, 0);
	assert_int_equal(res.nr_failed, 1);
	assert_non_null(strstr(res.notes, "killed by somebody other than the kernel"));
}

TEST(background_groups_end_with_the_others)
{
	struct test_request r;

	test_request_init(&r, bodies);
	test_group(&r, "computes", 1);
	test_group(&r, "forever", 2)->background = true;
	run_ok(&r);
	assert_true(res.elapsed_ns < 5 * SECOND);
}

TEST(a_run_that_takes_too_long_is_broken_off)
{
	struct test_request r;

	test_request_init(&r, bodies);
	r.req.max_ns = 300 * MS;
	test_group(&r, "forever", 1);
	assert_int_equal(test_run(&r, &res), -ETIME);
	assert_non_null(strstr(res.error, "longer than the 0.3 s"));
	assert_in_range(res.elapsed_ns, 300 * MS, 2 * SECOND);
}

TEST(bad_requests_are_told)
{
	struct test_request r;
	struct target *t;
	char err[TARGET_ERROR_MAX];

	test_request_init(&r, bodies);
	test_group(&r, "nothing", 1);
	test_set(&r, "host.thb", "never");
	assert_int_equal(ops->open(&r.req, &t, err), -EINVAL);
	assert_non_null(strstr(err, "host.thb"));

	r.req.nr_settings = 0;
	test_set(&r, "madvise.free", "lazzy");
	assert_int_equal(ops->open(&r.req, &t, err), -EINVAL);
	assert_non_null(strstr(err, "lazy, throttle, dontneed"));

	r.req.nr_settings = 0;
	test_set(&r, "vm.panic_on_oom", "1");
	assert_int_equal(ops->open(&r.req, &t, err), -EINVAL);
	r.req.nr_settings = 0;
	test_set(&r, "vm.swapyness", "1");
	assert_int_equal(ops->open(&r.req, &t, err), -EOPNOTSUPP);
	r.req.nr_settings = 0;
	test_set(&r, "vm.../../kernel/panic", "1");
	assert_int_equal(ops->open(&r.req, &t, err), -EINVAL);

	r.req.nr_settings = 0;
	r.req.ram_bytes = 1UL << 50;
	assert_int_equal(ops->open(&r.req, &t, err), -EOPNOTSUPP);
	strcpy(r.req.limit_kind, "sand");
	assert_int_equal(ops->open(&r.req, &t, err), -EINVAL);
}

TEST(a_second_open_is_refused)
{
	struct test_request r;
	struct target *t;
	struct target *t2;
	char err[TARGET_ERROR_MAX];
	pid_t child;
	int status;

	test_request_init(&r, bodies);
	test_group(&r, "nothing", 1);
	assert_int_equal(ops->open(&r.req, &t, err), 0);
	assert_int_equal(ops->open(&r.req, &t2, err), -EBUSY);
	child = fork();
	if (child == 0) {
		/* Another process: it has not even the target. */
		execl("/proc/self/exe", "busy", "--busy", NULL);
		_exit(9);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(ops->run(t, &res), 0);
	ops->close(t);
}

/* What the process of the test above runs. */
static int open_while_busy(void)
{
	struct test_request r;
	struct target *t;
	char err[TARGET_ERROR_MAX];

	test_request_init(&r, bodies);
	test_group(&r, "nothing", 1);
	return ops->open(&r.req, &t, err) == -EBUSY && strstr(err, "another quire") ? 0 : 1;
}

TEST(files_of_proc_are_written)
{
	struct test_request r;
	struct target *t;
	char err[TARGET_ERROR_MAX];
	char dir[] = "/tmp/quire-test-proc.XXXXXX";
	char path[128];

	test_request_init(&r, bodies);
	test_group(&r, "nothing", 1);
	assert_int_equal(ops->open(&r.req, &t, err), 0);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(ops->write_proc(t, dir, err), -ENODATA);
	assert_int_equal(ops->run(t, &res), 0);
	assert_int_equal(ops->write_proc(t, dir, err), 0);
	ops->close(t);
	for (u32 i = 0; i < NR_PROC_FILES; i++) {
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", dir, proc_file_name[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_true(st.st_size > 50);
		unlink(path);
	}
	rmdir(dir);
}

TEST(many_tasks_start)
{
	struct test_request r;

	test_request_init(&r, bodies);
	test_group(&r, "nothing", 300);
	run_ok(&r);
	assert_int_equal(res.nr_tasks, 300);
}

TEST(without_rights_open_names_the_one)
{
	pid_t child;
	int status;

	if (geteuid() != 0)
		return; /* then the others have shown it */
	child = fork();
	if (child == 0) {
		struct test_request r;
		struct target *t;
		char err[TARGET_ERROR_MAX];

		if (setgid(65534) != 0 || setuid(65534) != 0)
			_exit(10);
		test_request_init(&r, bodies);
		test_group(&r, "nothing", 1);
		r.req.ram_bytes = 16UL << 30;
		if (ops->open(&r.req, &t, err) != -EPERM || !strstr(err, "nr_hugepages"))
			_exit(1);
		strcpy(r.req.limit_kind, "memcg");
		int rc = ops->open(&r.req, &t, err);

		if (rc != -EPERM && rc != -EOPNOTSUPP)
			_exit(2);
		r.req.ram_bytes = 0;
		r.req.swap_bytes = 64 * MB;
		if (ops->open(&r.req, &t, err) != -EPERM || !strstr(err, "swapon"))
			_exit(3);
		strcpy(r.req.swap_kind, "zram");
		rc = ops->open(&r.req, &t, err);
		if (rc != -EPERM && rc != -EOPNOTSUPP)
			_exit(4);
		r.req.swap_bytes = 0;
		test_set(&r, "vm.swappiness", "50");
		if (ops->open(&r.req, &t, err) != -EPERM || !strstr(err, "vm/swappiness"))
			_exit(5);
		/* The readahead of a disk is changed only where there are files. */
		r.req.nr_settings = 0;
		test_set(&r, "vm.read_ahead_kb", "64");
		test_files(&r, "data", 4 * MB, 1);
		if (ops->open(&r.req, &t, err) != -EPERM || !strstr(err, "read_ahead_kb"))
			_exit(8);
		/* What needs no right works. */
		r.req.nr_settings = 0;
		if (ops->open(&r.req, &t, err) != 0)
			_exit(6);
		if (ops->run(t, &res) != 0)
			_exit(7);
		ops->close(t);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status)
		fail_msg("status 0x%x", status);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--busy") == 0)
		return open_while_busy();
	test_host_lock();
	return test_main("host_tasks", argc, argv);
}
