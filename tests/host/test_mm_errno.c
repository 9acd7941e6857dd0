/*
 * Error numbers of the calls about address spaces: this host's kernel beside the simulated one.
 *
 * Aim: EFAULT, EINVAL, ENOMEM and EAGAIN exactly where Linux gives them. Method: as test_mlock_errno: a
 * table of short programs on a mapping of 16 pages that lies in the middle of 64 free ones; each runs once
 * in a child process under this kernel and once as a task of a simulated 6.18 machine. Every call's result
 * must be the same. Needs Linux 5.18 or later here.
 */
#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

#include "core/knobs.h"
#include "core/mm.h"
#include "core/mm_types.h"
#include "sim/sim.h"
#include "tests/hw_util.h"

#define PAGES 16
#define ROOM 64   /* free pages, ... */
#define BEFORE 24 /* of which so many are below the mapping */
#define CALLS_MAX 6

enum call {
	END,
	MREMAP, /* flags in .flags, to .to */
	UNMAP,
	PROTECT_NONE,
	PROTECT_READ,
	FREE,
	DONTNEED,
	COLD,
	PAGEOUT,
	TOUCH,
	LOCK,
	SETPOL, /* mode in .flags, nodes in .to */
	MBIND,
};

struct step {
	enum call call;
	long offset; /* from the mapping's first byte */
	unsigned long len;
	unsigned long new_len;
	int flags;
	long to;
};

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define P(n) ((n)*PAGE_SIZE)
#define MAY MM_MREMAP_MAYMOVE
#define FIX (MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED)

static const struct row {
	const char *what;
	struct step step[CALLS_MAX];
} table[] = {
	{"grow, shrink", {{MREMAP, 0, P(16), P(20)}, {MREMAP, 0, P(20), P(2)}}},
	{"the same size", {{MREMAP, 0, P(16), P(16)}, {MREMAP, P(4), P(4), P(4), MAY}}},
	{"a size of 0", {{MREMAP, 0, P(16), 0}, {MREMAP, 0, 0, 0}}},
	{"an old size of 0, of private memory",
         {{MREMAP, 0, 0, P(4), MAY}, {MREMAP, 0, 0, P(4), FIX, P(20)}}},
	{"a flag that there is not", {{MREMAP, 0, P(4), P(8), 8}, {MREMAP, 0, P(4), P(8), 9}}},
	{"fixed, but may not move", {{MREMAP, 0, P(4), P(4), MM_MREMAP_FIXED, P(20)}}},
	{"an odd address", {{MREMAP, 1, P(4), P(4)}, {MREMAP, 0, P(4), P(4), FIX, P(20) + 1}}},
	{"odd lengths are rounded up",
         {{MREMAP, 0, 10, 100}, {MREMAP, 0, P(16) - 1, P(17) - 1}, {TOUCH, P(16), 1}}},
	{"the middle cannot grow", {{MREMAP, P(4), P(4), P(6)}, {MREMAP, P(4), P(4), P(6), MAY}}},
	{"nothing is mapped there",
         {{UNMAP, P(4), P(4)},
          {MREMAP, P(4), P(1), P(2), MAY},
          {MREMAP, P(4), P(2), P(1)},
          {MREMAP, P(4), P(1), P(1)}}},
	{"a hole in what is to grow",
         {{UNMAP, P(4), P(4)}, {MREMAP, 0, P(16), P(20), MAY}, {MREMAP, 0, P(16), P(8)}}},
	{"more than is mapped", {{MREMAP, P(8), P(16), P(20), MAY}, {MREMAP, P(8), P(16), P(4)}}},
	{"two mappings at once grow",
         {{PROTECT_READ, P(8), P(8)}, {MREMAP, 0, P(16), P(20), MAY}, {MREMAP, P(8), P(8), P(12)}}},
	{"onto itself",
         {{MREMAP, 0, P(16), P(16), FIX, 0},
          {MREMAP, 0, P(16), P(16), FIX, P(15)},
          {MREMAP, P(4), P(4), P(4), FIX, P(1)},
          {MREMAP, P(4), P(4), P(4), FIX, P(0)}}},
	{"next to itself",
         {{MREMAP, 0, P(16), P(16), FIX, P(16)}, {TOUCH, P(16), 1}, {TOUCH, 0, 1}}},
	{"elsewhere, longer and shorter",
         {{MREMAP, 0, P(8), P(12), FIX, P(20)},
          {MREMAP, P(20), P(12), P(4), FIX, -P(10)},
          {TOUCH, -P(10), 1},
          {TOUCH, -P(6), 1},
          {TOUCH, P(20), 1}}},
	{"to the end of the world",
         {{MREMAP, 0, P(4), P(4), FIX, 1L << 47}, {MREMAP, 0, P(4), 1UL << 47, MAY}}},
	{"more than there can be",
         {{MREMAP, 0, P(16), ~0UL, MAY}, {MREMAP, 0, P(16), ~0UL - P(1)}}},
	{"more than there is", {{MREMAP, 0, P(16), 1UL << 46, MAY}}},
	{"a part of what may not be used",
         {{PROTECT_NONE, 0, P(16)}, {MREMAP, 0, P(16), P(30), MAY}, {MREMAP, P(2), P(2), P(1)}}},
	{"what has been freed lazily moves",
         {{FREE, 0, P(16)}, {MREMAP, 0, P(16), P(16), FIX, P(20)}, {TOUCH, P(20), 1}}},
	{"cold, out, and here again",
         {{COLD, 0, P(16)},
          {PAGEOUT, 0, P(16)},
          {TOUCH, 0, 1},
          {COLD, P(3), 100},
          {PAGEOUT, 0, 0}}},
	{"cold, locked",
         {{LOCK, P(4), P(4)}, {COLD, 0, P(16)}, {PAGEOUT, P(4), P(1)}, {COLD, 0, P(4)}}},
	{"cold, a hole",
         {{UNMAP, P(4), P(4)}, {COLD, 0, P(16)}, {PAGEOUT, P(4), P(8)}, {COLD, P(4), P(1)}}},
	{"cold, odd", {{COLD, 1, P(1)}, {PAGEOUT, 0, ~0UL}}},
	{"cold, not for use", {{PROTECT_NONE, 0, P(16)}, {COLD, 0, P(16)}, {PAGEOUT, 0, P(16)}}},
	{"policies of a task",
         {{SETPOL, 0, 0, 0, MM_MPOL_BIND, 1},
          {SETPOL, 0, 0, 0, MM_MPOL_INTERLEAVE, 1},
          {SETPOL, 0, 0, 0, MM_MPOL_PREFERRED, 1},
          {SETPOL, 0, 0, 0, MM_MPOL_PREFERRED, 0},
          {SETPOL, 0, 0, 0, MM_MPOL_LOCAL, 0},
          {SETPOL, 0, 0, 0, MM_MPOL_DEFAULT, 0}}},
	{"policies that say too much or too little",
         {{SETPOL, 0, 0, 0, MM_MPOL_DEFAULT, 1},
          {SETPOL, 0, 0, 0, MM_MPOL_LOCAL, 1},
          {SETPOL, 0, 0, 0, MM_MPOL_BIND, 0},
          {SETPOL, 0, 0, 0, MM_MPOL_INTERLEAVE, 0},
          {MBIND, 0, P(1), 0, MM_MPOL_BIND, 0},
          {MBIND, 0, P(1), 0, MM_MPOL_DEFAULT, 1}}},
	{"nodes that there are not",
         {{SETPOL, 0, 0, 0, MM_MPOL_BIND, 1L << 40},
          {SETPOL, 0, 0, 0, MM_MPOL_BIND, 1 | 1L << 40},
          {SETPOL, 0, 0, 0, MM_MPOL_PREFERRED, 1L << 40},
          {MBIND, 0, P(1), 0, MM_MPOL_INTERLEAVE, 1L << 40}}},
	{"policies of a range",
         {{MBIND, 0, P(16), 0, MM_MPOL_BIND, 1},
          {MBIND, P(4), P(4), 0, MM_MPOL_PREFERRED, 1},
          {MBIND, P(2), 100, 0, MM_MPOL_DEFAULT, 0},
          {MBIND, 0, 0, 0, MM_MPOL_BIND, 1},
          {MBIND, 1, P(1), 0, MM_MPOL_BIND, 1},
          {MBIND, 0, ~0UL - P(1), 0, MM_MPOL_BIND, 1}}},
	{"policies of what is not there",
         {{UNMAP, P(4), P(4)},
          {MBIND, 0, P(16), 0, MM_MPOL_BIND, 1},
          {MBIND, P(5), P(1), 0, MM_MPOL_BIND, 1},
          {MBIND, P(6), P(4), 0, MM_MPOL_BIND, 1},
          {MBIND, P(8), P(8), 0, MM_MPOL_BIND, 1},
          {MBIND, P(8), P(9), 0, MM_MPOL_BIND, 1}}},
	{"locked memory", {{LOCK, 0, P(16)}, {MREMAP, 0, P(16), P(20)}, {MREMAP, 0, P(20), P(1)}}},
};

struct result {
	int err[CALLS_MAX];
};

/* ---- this host --------------------------------------------------------------------------------- */

static int host_result(bool ok)
{
	return ok ? 0 : -errno;
}

static const int host_mode[] = {
	[MM_MPOL_DEFAULT] = MPOL_DEFAULT, [MM_MPOL_PREFERRED] = MPOL_PREFERRED,
	[MM_MPOL_BIND] = MPOL_BIND,       [MM_MPOL_INTERLEAVE] = MPOL_INTERLEAVE,
	[MM_MPOL_LOCAL] = MPOL_LOCAL,
};

/* Whether the page is mapped for writing, without a signal. */
static int host_touch(char *at)
{
	int fd[2];
	int rc;

	if (pipe(fd) || write(fd[1], "x", 1) != 1)
		return -EIO;
	rc = host_result(read(fd[0], at, 1) == 1);
	close(fd[0]);
	close(fd[1]);
	return rc;
}

static int host_call(char *base, const struct step *s)
{
	char *at = base + s->offset;

	switch (s->call) {
	case MREMAP:
		return host_result(mremap(at, s->len, s->new_len, s->flags, base + s->to) !=
		                   MAP_FAILED);
	case UNMAP:
		return host_result(munmap(at, s->len) == 0);
	case PROTECT_NONE:
		return host_result(mprotect(at, s->len, PROT_NONE) == 0);
	case PROTECT_READ:
		return host_result(mprotect(at, s->len, PROT_READ) == 0);
	case FREE:
		return host_result(madvise(at, s->len, MADV_FREE) == 0);
	case DONTNEED:
		return host_result(madvise(at, s->len, MADV_DONTNEED) == 0);
	case COLD:
		return host_result(madvise(at, s->len, MADV_COLD) == 0);
	case PAGEOUT:
		return host_result(madvise(at, s->len, MADV_PAGEOUT) == 0);
	case TOUCH:
		return host_touch(at);
	case LOCK:
		return host_result(mlock(at, s->len) == 0);
	case SETPOL:
		return host_result(syscall(SYS_set_mempolicy, host_mode[s->flags], &s->to, 64) ==
		                   0);
	case MBIND:
		return host_result(
			syscall(SYS_mbind, at, s->len, host_mode[s->flags], &s->to, 64, 0) == 0);
	case END:
		break;
	}
	return 0;
}

static void host_child(const struct row *row, int out)
{
	struct result r = {{0}};
	char *room = mmap(NULL, P(ROOM), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *base = room + P(BEFORE);

	if (room == MAP_FAILED || munmap(room, P(ROOM)) ||
	    mmap(base, P(PAGES), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	         -1, 0) != base)
		_exit(1);
	memset(base, 1, P(PAGES));
	for (u32 i = 0; i < CALLS_MAX && row->step[i].call; i++)
		r.err[i] = host_call(base, &row->step[i]);
	_exit(write(out, &r, sizeof(r)) == sizeof(r) ? 0 : 1);
}

static void run_on_host(const struct row *row, struct result *r)
{
	int pipefd[2];
	int status;
	pid_t pid;

	assert_int_equal(0, pipe(pipefd));
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		host_child(row, pipefd[1]);
	close(pipefd[1]);
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(sizeof(*r), read(pipefd[0], r, sizeof(*r)));
	close(pipefd[0]);
}

/* ---- the simulated machine ----------------------------------------------------------------------- */

struct sim_run {
	struct machine *m;
	const struct row *row;
	struct result *r;
};

static int sim_call(struct machine *m, u64 base, const struct step *s)
{
	u64 at = base + (u64)s->offset;
	u64 to = base + (u64)s->to;

	switch (s->call) {
	case MREMAP:
		return do_mremap(m, at, s->len, s->new_len, s->flags, &to);
	case UNMAP:
		return do_munmap(m, at, s->len);
	case PROTECT_NONE:
		return do_mprotect(m, at, s->len, MM_PROT_NONE);
	case PROTECT_READ:
		return do_mprotect(m, at, s->len, MM_PROT_READ);
	case FREE:
		return do_madvise(m, at, s->len, MM_MADV_FREE);
	case DONTNEED:
		return do_madvise(m, at, s->len, MM_MADV_DONTNEED);
	case COLD:
		return do_madvise(m, at, s->len, MM_MADV_COLD);
	case PAGEOUT:
		return do_madvise(m, at, s->len, MM_MADV_PAGEOUT);
	case TOUCH:
		return mm_access(m, at, 1, WORLD_WRITE, 0);
	case LOCK:
		return do_mlock(m, at, s->len);
	case SETPOL:
		return do_set_mempolicy(m, (enum mm_mempolicy)s->flags, (u64)s->to);
	case MBIND:
		return do_mbind(m, at, s->len, (enum mm_mempolicy)s->flags, (u64)s->to);
	case END:
		break;
	}
	return 0;
}

static void sim_task(struct task *t, void *arg)
{
	struct sim_run *s = arg;
	u64 room, base;

	(void)t;
	BUG_ON(do_mmap(s->m, P(ROOM), MM_PROT_READ | MM_PROT_WRITE, 0, &room));
	base = room + P(BEFORE);
	BUG_ON(do_munmap(s->m, room, P(BEFORE)));
	BUG_ON(do_munmap(s->m, base + P(PAGES), P(ROOM - BEFORE - PAGES)));
	BUG_ON(mm_access(s->m, base, P(PAGES), WORLD_FILL, 0));
	for (u32 i = 0; i < CALLS_MAX && s->row->step[i].call; i++)
		s->r->err[i] = sim_call(s->m, base, &s->row->step[i]);
}

static void run_on_sim(const struct row *row, struct result *r)
{
	struct sim_run s = {.row = row, .r = r};
	struct hw_machine *hw = hw_make(2, 1, 16384);
	struct knobs knobs;
	struct world *w;
	char err[512];

	assert_int_equal(0, knobs_preset(&knobs, "6.18"));
	w = sim_create(hw, &(struct sim_options){.seed = 1, .max_ns = 1000000000, .check = true},
	               err);
	assert_non_null(w);
	s.m = machine_create(w, &knobs, err, sizeof(err));
	assert_non_null(s.m);
	task_start(task_create(s.m, "test", NULL, sim_task, &s), -1);
	assert_int_equal(0, sim_run(w));
	machine_audit(s.m);
	machine_destroy(s.m);
	sim_destroy(w);
	hw_free(hw);
}

/* ---- beside each other ----------------------------------------------------------------------------- */

static bool kernel_is_today(void)
{
	struct utsname name;
	int major = 0;
	int minor = 0;

	return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 18));
}

TEST(every_call_gives_the_same_error_as_this_kernel)
{
	u32 nr_differ = 0;
	u32 nr_calls = 0;

	if (!kernel_is_today())
		test_skip_all("the host's kernel is older than 5.18");
	for (u32 i = 0; i < ARRAY_SIZE(table); i++) {
		const struct row *row = &table[i];
		struct result host = {{0}};
		struct result sim = {{0}};

		run_on_host(row, &host);
		run_on_sim(row, &sim);
		for (u32 c = 0; c < CALLS_MAX && row->step[c].call; c++) {
			nr_calls += 1;
			if (host.err[c] == sim.err[c])
				continue;
			nr_differ += 1;
			print_message("'%s', call %u: this kernel says %d (%s), ours %d (%s)\n",
			              row->what, c + 1, host.err[c], strerror(-host.err[c]),
			              sim.err[c], strerror(-sim.err[c]));
		}
	}
	print_message("%u calls compared\n", nr_calls);
	assert_int_equal(0, nr_differ);
}

TEST_MAIN("mm_errno")
