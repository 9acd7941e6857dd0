/*
 * Huge pages in locked memory: this host's kernel beside the simulated one.
 *
 * Aim: nr_mlock, nr_unevictable and unevictable_pgs_mlocked change by the same numbers. Method: twin.h; a program is a
 * range of two huge pages, and calls on it, each of whose results is by how much a counter has changed. On the host
 * the counters are the whole machine's: a program is run until it has twice given the same. Needs Linux 6.18 here,
 * huge pages for who asks for them, and stat_refresh, which is root's.
 */
#include "tests/host/twin.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "core/internal.h"

enum call {
	END,
	FILL, /* every page is written */
	MLOCK,
	LOCK_ONFAULT,
	MUNLOCK,
	DONTNEED,
	UNMAP,
	PROTECT_READ,
	PROTECT_WRITE,
	FORK,          /* the child ends at once */
	FORK_CHILD,    /* the child writes to the page at .page, and ends */
	FORK_PARENT,   /* the parent does, while the child is there */
	MOVE_FIRST_2M, /* to another place, aligned alike */
};

struct step {
	enum call call;
	u32 page;
	u32 nr;
};

#define ALL 0, 1024

static const struct row {
	const char *what;
	struct step step[TWIN_CALLS_MAX];
} table[] = {
	{"they are there", {{FILL, ALL}, {MLOCK, ALL}, {MUNLOCK, ALL}, {MLOCK, ALL}, {UNMAP, ALL}}},
	{"they are not yet there", {{MLOCK, ALL}, {MUNLOCK, ALL}}},
	{"locked on fault", {{LOCK_ONFAULT, ALL}, {FILL, ALL}, {MUNLOCK, ALL}}},
	{"one of the two", {{FILL, ALL}, {MLOCK, 512, 512}, {MLOCK, ALL}, {MUNLOCK, 0, 512}}},
	{"twice", {{FILL, ALL}, {MLOCK, ALL}, {MLOCK, ALL}, {MUNLOCK, ALL}}},
	{"a page of one is unlocked",
         {{FILL, ALL}, {MLOCK, ALL}, {MUNLOCK, 100, 1}, {MUNLOCK, ALL}}},
	{"the last page of one is unlocked", {{MLOCK, ALL}, {MUNLOCK, 511, 1}, {MUNLOCK, ALL}}},
	{"a page of one is locked", {{FILL, ALL}, {MLOCK, 100, 1}, {MUNLOCK, 100, 1}}},
	{"a page of one is locked first",
         {{FILL, ALL}, {MLOCK, 100, 1}, {MLOCK, ALL}, {MUNLOCK, ALL}}},
	{"all but a page", {{FILL, ALL}, {MLOCK, 1, 1023}, {MUNLOCK, ALL}}},
	{"ptes map one",
         {{FILL, ALL}, {PROTECT_READ, 1, 1}, {PROTECT_WRITE, 1, 1}, {MLOCK, ALL}, {MUNLOCK, ALL}}},
	{"ptes map one in another protection",
         {{FILL, ALL}, {PROTECT_READ, 1, 1}, {MLOCK, ALL}, {MUNLOCK, ALL}}},
	{"one has lost a page", {{FILL, ALL}, {DONTNEED, 5, 1}, {MLOCK, ALL}, {MUNLOCK, ALL}}},
	{"a locked one becomes ptes",
         {{FILL, ALL}, {MLOCK, ALL}, {PROTECT_READ, 7, 1}, {MUNLOCK, ALL}}},
	{"a page of a locked one is unmapped",
         {{FILL, ALL}, {MLOCK, ALL}, {UNMAP, 0, 1}, {UNMAP, 700, 1}}},
	{"a fork", {{FILL, ALL}, {MLOCK, ALL}, {FORK, ALL}, {MUNLOCK, ALL}}},
	{"a fork, and the child writes", {{FILL, ALL}, {MLOCK, ALL}, {FORK_CHILD, 3, 1}}},
	{"a fork, and the parent writes", {{FILL, ALL}, {MLOCK, ALL}, {FORK_PARENT, 3, 1}}},
	{"locked memory moves", {{FILL, ALL}, {MLOCK, ALL}, {MOVE_FIRST_2M, ALL}}},
};

TWIN_TABLE(table)

static enum { METRIC_MLOCK, METRIC_UNEVICTABLE, METRIC_EVENT } metric;

/* ---- this host --------------------------------------------------------------------------------- */

#define HUGE (2UL << 20)
#define HOST_RUNS_MAX 12

static int refresh = -1;

static s64 host_counter(void)
{
	static const char *const name[] = {"\nnr_mlock ", "\nnr_unevictable ",
	                                   "\nunevictable_pgs_mlocked "};
	static char text[65536];
	size_t len = 0;
	ssize_t n;
	char *at;
	int fd;

	if (write(refresh, "1", 1) != 1)
		return -1;
	fd = open("/proc/vmstat", O_RDONLY);
	while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	text[len] = '\0';
	at = strstr(text, name[metric]);
	return at ? strtoll(at + strlen(name[metric]), NULL, 10) : -1;
}

static char *host_map(void)
{
	char *p = mmap(NULL, 4 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p = (char *)ALIGN((u64)p, HUGE);
	return madvise(p, 2 * HUGE, MADV_HUGEPAGE) ? NULL : p;
}

/* Returns the counter while the child is there, if it waits. */
static s64 host_fork(volatile char *at, enum call call)
{
	int pipefd[2];
	s64 now = 0;
	pid_t pid;

	if (pipe(pipefd))
		return -1;
	pid = fork();
	if (pid == 0) {
		char c;

		close(pipefd[1]);
		if (call == FORK_CHILD)
			*at = 2;
		if (call == FORK_PARENT && read(pipefd[0], &c, 1) < 0)
			_exit(1);
		_exit(0);
	}
	if (call == FORK_PARENT) {
		*at = 3;
		now = host_counter();
	}
	close(pipefd[1]);
	close(pipefd[0]);
	waitpid(pid, NULL, 0);
	return call == FORK_PARENT ? now : host_counter();
}

static s64 host_call(char *base, const struct step *s)
{
	char *at = base + s->page * PAGE_SIZE;
	size_t len = s->nr * PAGE_SIZE;
	int rc = 0;

	switch (s->call) {
	case FILL:
		for (size_t i = 0; i < len; i += PAGE_SIZE)
			((volatile char *)at)[i] = 1;
		break;
	case MLOCK:
		rc = kernel_mlock(at, len);
		break;
	case LOCK_ONFAULT:
		rc = mlock2(at, len, MLOCK_ONFAULT);
		break;
	case MUNLOCK:
		rc = kernel_munlock(at, len);
		break;
	case DONTNEED:
		rc = madvise(at, len, MADV_DONTNEED);
		break;
	case UNMAP:
		rc = munmap(at, len);
		break;
	case PROTECT_READ:
		rc = mprotect(at, len, PROT_READ);
		break;
	case PROTECT_WRITE:
		rc = mprotect(at, len, PROT_READ | PROT_WRITE);
		break;
	case FORK:
	case FORK_CHILD:
	case FORK_PARENT:
		return host_fork(at, s->call);
	case MOVE_FIRST_2M: {
		char *to = host_map();

		rc = !to || munmap(to, HUGE) ||
		     mremap(base, HUGE, HUGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED;
		break;
	}
	case END:
		break;
	}
	return rc ? -1 : host_counter();
}

static int host_once(const struct row *row, u32 nr, struct twin_result *r)
{
	char *base = host_map();
	s64 before = host_counter();

	if (!base)
		return 1;
	for (u32 i = 0; i < nr; i++) {
		s64 now = host_call(base, &row->step[i]);

		if (now < 0)
			return 1;
		r->value[i] = now - before;
		before = now;
	}
	munmap(base, 2 * HUGE);
	return 0;
}

static int on_host(u32 nr, struct twin_result *r)
{
	struct twin_result run[HOST_RUNS_MAX] = {0};

	for (u32 i = 0; i < HOST_RUNS_MAX; i++) {
		if (host_once(&table[nr], row_nr_calls(nr), &run[i]))
			return 1;
		for (u32 k = 0; k < i; k++)
			if (!memcmp(&run[k], &run[i], sizeof(*r))) {
				*r = run[i];
				return 0;
			}
	}
	return TEST_SKIPPED; /* somebody else locks memory all the time */
}

/* ---- the simulated machine ----------------------------------------------------------------------- */

static s64 sim_counter(struct machine *m)
{
	s64 nr;

	if (metric == METRIC_EVENT)
		return (s64)vm_event_sum(m, UNEVICTABLE_PGMLOCKED);
	nr = item_exact(m, metric == METRIC_MLOCK ? NR_MLOCK : NR_UNEVICTABLE);
	return nr;
}

struct sim_child {
	struct machine *m;
	u64 va;
	enum call call;
};

static void sim_child(struct task *t, void *arg)
{
	struct sim_child *c = arg;

	(void)t;
	if (c->call == FORK_CHILD)
		BUG_ON(mm_access(c->m, c->va, 1, WORLD_WRITE, 0));
	if (c->call == FORK_PARENT) {
		world_syscall_enter();
		world_sleep(50000000);
		world_syscall_exit();
	}
}

static s64 sim_fork(struct machine *m, u64 va, enum call call)
{
	struct sim_child c = {.m = m, .va = va, .call = call};
	struct task *child;
	s64 now = 0;

	BUG_ON(do_fork(m, "child", sim_child, &c, &child));
	task_start(child, -1);
	if (call == FORK_PARENT) {
		BUG_ON(mm_access(m, va, 1, WORLD_WRITE, 0));
		now = sim_counter(m);
	}
	BUG_ON(do_wait(child));
	return call == FORK_PARENT ? now : sim_counter(m);
}

static u64 sim_map(struct machine *m)
{
	u64 va;

	BUG_ON(do_mmap(m, 4 * HUGE, MM_PROT_READ | MM_PROT_WRITE, 0, &va));
	va = ALIGN(va, HUGE);
	BUG_ON(do_madvise(m, va, 2 * HUGE, MM_MADV_HUGEPAGE));
	return va;
}

static s64 sim_call(struct machine *m, u64 base, const struct step *s)
{
	u64 at = base + s->page * PAGE_SIZE;
	u64 len = s->nr * PAGE_SIZE;
	int rc = 0;

	switch (s->call) {
	case FILL:
		rc = mm_access(m, at, len, WORLD_WRITE, 0);
		break;
	case MLOCK:
		rc = do_mlock(m, at, len);
		break;
	case LOCK_ONFAULT:
		rc = do_mlock2(m, at, len, MM_MLOCK_ONFAULT);
		break;
	case MUNLOCK:
		rc = do_munlock(m, at, len);
		break;
	case DONTNEED:
		rc = do_madvise(m, at, len, MM_MADV_DONTNEED);
		break;
	case UNMAP:
		rc = do_munmap(m, at, len);
		break;
	case PROTECT_READ:
		rc = do_mprotect(m, at, len, MM_PROT_READ);
		break;
	case PROTECT_WRITE:
		rc = do_mprotect(m, at, len, MM_PROT_READ | MM_PROT_WRITE);
		break;
	case FORK:
	case FORK_CHILD:
	case FORK_PARENT:
		return sim_fork(m, at, s->call);
	case MOVE_FIRST_2M: {
		u64 to = sim_map(m);

		rc = do_munmap(m, to, HUGE);
		rc |= do_mremap(m, base, HUGE, HUGE, MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED, &to);
		break;
	}
	case END:
		break;
	}
	BUG_ON(rc);
	return sim_counter(m);
}

static void on_sim(struct task *t, struct twin_sim *s)
{
	u64 base = sim_map(s->m);
	s64 before = sim_counter(s->m);

	(void)t;
	for (u32 i = 0; i < row_nr_calls(s->row); i++) {
		s64 now = sim_call(s->m, base, &table[s->row].step[i]);

		s->r->value[i] = now - before;
		before = now;
	}
}

static void compare(void)
{
	twin_needs_kernel(6, 18);
	refresh = open("/proc/sys/vm/stat_refresh", O_WRONLY);
	if (refresh < 0)
		test_skip_all("stat_refresh is not ours");
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK))
		test_skip_all("this kernel has no huge pages");
	twin_compare(&(struct twin){
		.nr_rows = ARRAY_SIZE(table),
		.what = row_what,
		.nr_calls = row_nr_calls,
		.on_host = on_host,
		.on_sim = on_sim,
	});
	close(refresh);
}

TEST(nr_mlock_changes_as_in_this_kernel)
{
	metric = METRIC_MLOCK;
	compare();
}

TEST(nr_unevictable_changes_as_in_this_kernel)
{
	metric = METRIC_UNEVICTABLE;
	compare();
}

TEST(unevictable_pgs_mlocked_changes_as_in_this_kernel)
{
	metric = METRIC_EVENT;
	compare();
}

TEST_MAIN("mlock_huge")
