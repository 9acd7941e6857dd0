/*
 * Results of calls: this host's kernel beside the simulated one.
 *
 * A test has a table of rows, each a short program of calls. A row runs once in a child process of its own
 * under this kernel, and once as the one task of a simulated 6.18 machine; every call's result must be the
 * same: an error number, or what the call says otherwise.
 */
#ifndef TESTS_HOST_TWIN_H
#define TESTS_HOST_TWIN_H

#include "tests/test.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/knobs.h"
#include "core/mm.h"
#include "core/mm_types.h"
#include "sim/sim.h"
#include "tests/hw_util.h"

#define TWIN_CALLS_MAX 8

struct twin_result {
	s64 value[TWIN_CALLS_MAX];
};

/* What the simulated side of a row has. */
struct twin_sim {
	struct machine *m;
	u32 row;
	struct twin_result *r;
	u32 ino; /* the rest is the test's */
	u32 fd;
	u64 base;
	const struct twin *twin;
};

struct twin {
	u32 nr_rows;
	const char *(*what)(u32 row);
	u32 (*nr_calls)(u32 row);
	/* In the child. 0, or the child's exit status: TEST_SKIPPED, this host does not let us. */
	int (*on_host)(u32 row, struct twin_result *r);
	void (*on_sim)(struct task *t, struct twin_sim *s);
	u64 files_bytes; /* the simulated machine has a disk of that size for files */
	void (*prepare)(struct twin_sim *s); /* before its task runs; NULL: nothing */
};

/* This kernel's calls that lock memory: AddressSanitizer replaces the C library's by ones that do nothing. */
static inline long kernel_mlock(const void *at, size_t len)
{
	return syscall(SYS_mlock, at, len);
}

static inline long kernel_munlock(const void *at, size_t len)
{
	return syscall(SYS_munlock, at, len);
}

static inline long kernel_mlockall(int flags)
{
	return syscall(SYS_mlockall, flags);
}

static inline long kernel_munlockall(void)
{
	return syscall(SYS_munlockall);
}

static bool twin_run_host(const struct twin *twin, u32 row, struct twin_result *r)
{
	int pipefd[2];
	int status = 0;
	pid_t pid;

	assert_int_equal(0, pipe(pipefd));
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		status = twin->on_host(row, r);
		if (!status && write(pipefd[1], r, sizeof(*r)) != sizeof(*r))
			status = 1;
		_exit(status);
	}
	close(pipefd[1]);
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) != TEST_SKIPPED) {
		assert_int_equal(0, WEXITSTATUS(status));
		assert_int_equal(sizeof(*r), read(pipefd[0], r, sizeof(*r)));
	}
	close(pipefd[0]);
	return WEXITSTATUS(status) == 0;
}

static void twin_task(struct task *t, void *arg)
{
	struct twin_sim *s = arg;

	s->twin->on_sim(t, s);
}

static void twin_run_sim(const struct twin *twin, u32 row, struct twin_result *r)
{
	struct twin_sim s = {.row = row, .r = r, .twin = twin};
	struct sim_options opt = {.seed = 1, .max_ns = 60000000000, .check = true};
	struct hw_machine *hw = hw_make(2, 1, 16384);
	struct knobs knobs;
	struct world *w;
	struct task *t;
	char err[512];

	if (twin->files_bytes)
		hw_add_files(hw, twin->files_bytes);
	assert_int_equal(0, knobs_preset(&knobs, "6.18"));
	w = sim_create(hw, &opt, err);
	assert_non_null(w);
	s.m = machine_create(w, &knobs, err, sizeof(err));
	assert_non_null(s.m);
	if (twin->prepare)
		twin->prepare(&s);
	t = task_create(s.m, "test", NULL, twin_task, &s);
	task_start(t, -1);
	assert_int_equal(0, sim_run(w));
	task_put(t);
	machine_audit(s.m);
	machine_destroy(s.m);
	sim_destroy(w);
	hw_free(hw);
}

static const char *twin_text(s64 value, char *text, size_t size)
{
	if (value < 0)
		snprintf(text, size, "%ld (%s)", value, strerror((int)-value));
	else
		snprintf(text, size, "%ld", value);
	return text;
}

static void twin_compare(const struct twin *twin)
{
	u32 nr_differ = 0;
	u32 nr_calls = 0;
	u32 nr_skipped = 0;

	for (u32 row = 0; row < twin->nr_rows; row++) {
		struct twin_result host = {{0}};
		struct twin_result sim = {{0}};
		char text[2][80];

		if (!twin_run_host(twin, row, &host)) {
			print_message("'%s' is more than this host lets us do\n", twin->what(row));
			nr_skipped += 1;
			continue;
		}
		twin_run_sim(twin, row, &sim);
		for (u32 c = 0; c < twin->nr_calls(row); c++) {
			nr_calls += 1;
			if (host.value[c] == sim.value[c])
				continue;
			nr_differ += 1;
			print_message("'%s', call %u: this kernel says %s, ours %s\n",
			              twin->what(row), c + 1,
			              twin_text(host.value[c], text[0], sizeof(text[0])),
			              twin_text(sim.value[c], text[1], sizeof(text[1])));
		}
	}
	print_message("%u calls compared, %u programs not\n", nr_calls, nr_skipped);
	assert_true(nr_calls > 0);
	assert_int_equal(0, nr_differ);
}

/* Skips all of the program on a kernel older than that, whose rules are not those simulated. */
__attribute__((unused)) static void twin_needs_kernel(int major, int minor)
{
	struct utsname name;
	int its_major = 0;
	int its_minor = 0;
	char why[80];

	if (uname(&name) == 0 && sscanf(name.release, "%d.%d", &its_major, &its_minor) == 2 &&
	    (its_major > major || (its_major == major && its_minor >= minor)))
		return;
	snprintf(why, sizeof(why), "the host's kernel is older than %d.%d", major, minor);
	test_skip_all(why);
}

/* What a table of struct row, with .what and .step[], has for its struct twin. */
#define TWIN_TABLE(table)                                                                          \
	static const char *row_what(u32 row)                                                       \
	{                                                                                          \
		return (table)[row].what;                                                          \
	}                                                                                          \
	static u32 row_nr_calls(u32 row)                                                           \
	{                                                                                          \
		u32 nr = 0;                                                                        \
                                                                                                   \
		while (nr < TWIN_CALLS_MAX && (table)[row].step[nr].call)                          \
			nr++;                                                                      \
		return nr;                                                                         \
	}

#endif
