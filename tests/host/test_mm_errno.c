/*
 * Error numbers of the calls about address spaces: this host's kernel beside the simulated one.
 *
 * Aim: EFAULT, EINVAL, ENOMEM and EAGAIN exactly where Linux gives them. Method: twin.h, with programs on a
 * mapping of 16 pages that lies in the middle of 64 free ones. Needs Linux 5.18 or later here.
 */
#include "tests/host/twin.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGES 16
#define ROOM 64   /* free pages, ... */
#define BEFORE 24 /* of which so many are below the mapping */

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
	SETPOL,  /* mode in .flags, nodes in .to */
	MBIND,   /* flags in .new_len */
	WHERE,   /* the status that move_pages() has for one page */
	MOVE_TO, /* and that it leaves of moving it to node .to; flags in .flags */
	MIGRATE, /* from nodes .len to nodes .to */
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
	struct step step[TWIN_CALLS_MAX];
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
          {SETPOL, 0, 0, 0, MM_MPOL_WEIGHTED_INTERLEAVE, 1},
          {SETPOL, 0, 0, 0, MM_MPOL_PREFERRED, 1},
          {SETPOL, 0, 0, 0, MM_MPOL_PREFERRED, 0},
          {SETPOL, 0, 0, 0, MM_MPOL_LOCAL, 0},
          {SETPOL, 0, 0, 0, MM_MPOL_DEFAULT, 0}}},
	{"policies that say too much or too little",
         {{SETPOL, 0, 0, 0, MM_MPOL_DEFAULT, 1},
          {SETPOL, 0, 0, 0, MM_MPOL_LOCAL, 1},
          {SETPOL, 0, 0, 0, MM_MPOL_BIND, 0},
          {SETPOL, 0, 0, 0, MM_MPOL_INTERLEAVE, 0},
          {SETPOL, 0, 0, 0, MM_MPOL_WEIGHTED_INTERLEAVE, 0},
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
	{"policies that move, or insist",
         {{MBIND, 0, P(16), MM_MPOL_MF_MOVE, MM_MPOL_BIND, 1},
          {MBIND, 0, P(16), MM_MPOL_MF_STRICT, MM_MPOL_BIND, 1},
          {MBIND, 0, P(16), MM_MPOL_MF_STRICT | MM_MPOL_MF_MOVE_ALL, MM_MPOL_INTERLEAVE, 1},
          {MBIND, 0, P(16), 8, MM_MPOL_BIND, 1},
          {UNMAP, P(4), P(4)},
          {MBIND, 0, P(16), MM_MPOL_MF_MOVE, MM_MPOL_BIND, 1}}},
	{"where pages are",
         {{WHERE, 0},
          {WHERE, 5},
          {UNMAP, P(4), P(4)},
          {WHERE, P(4)},
          {DONTNEED, P(8), P(1)},
          {WHERE, P(8)}}},
	{"pages that go to a node",
         {{MOVE_TO, 0, 0, 0, MM_MPOL_MF_MOVE, 0},
          {MOVE_TO, 0, 0, 0, MM_MPOL_MF_MOVE_ALL, 0},
          {MOVE_TO, 0, 0, 0, 0, 0},
          {MOVE_TO, 0, 0, 0, MM_MPOL_MF_MOVE, 1},
          {MOVE_TO, 0, 0, 0, MM_MPOL_MF_MOVE, -1},
          {MOVE_TO, 0, 0, 0, MM_MPOL_MF_MOVE, 1L << 20},
          {MOVE_TO, 0, 0, 0, MM_MPOL_MF_STRICT, 0},
          {MOVE_TO, 0, 0, 0, 8, 0}}},
	{"nodes that there are not, before what there is not",
         {{UNMAP, P(4), P(4)},
          {MOVE_TO, P(4), 0, 0, MM_MPOL_MF_MOVE, 0},
          {MOVE_TO, P(4), 0, 0, MM_MPOL_MF_MOVE, 3},
          {DONTNEED, P(8), P(1)},
          {MOVE_TO, P(8), 0, 0, MM_MPOL_MF_MOVE, 0},
          {MOVE_TO, P(8), 0, 0, MM_MPOL_MF_MOVE, 3}}},
	{"a page of zeros",
         {{DONTNEED, P(8), P(1)},
          {PROTECT_READ, P(8), P(1)},
          {LOCK, P(8), P(1)},
          {WHERE, P(8)},
          {MOVE_TO, P(8), 0, 0, MM_MPOL_MF_MOVE, 0}}},
	{"all of a process, from nodes to nodes",
         {{MIGRATE, 0, 1, 0, 0, 1},
          {MIGRATE, 0, 0, 0, 0, 1},
          {MIGRATE, 0, 1, 0, 0, 0},
          {MIGRATE, 0, 1, 0, 0, 2},
          {MIGRATE, 0, 2, 0, 0, 1},
          {MIGRATE, 0, 3, 0, 0, 3},
          {MIGRATE, 0, 1, 0, 0, 1L << 40}}},
	{"locked memory", {{LOCK, 0, P(16)}, {MREMAP, 0, P(16), P(20)}, {MREMAP, 0, P(20), P(1)}}},
};

TWIN_TABLE(table)

/* ---- this host --------------------------------------------------------------------------------- */

static int host_result(bool ok)
{
	return ok ? 0 : -errno;
}

static const int host_mode[] = {
	[MM_MPOL_DEFAULT] = MPOL_DEFAULT,
	[MM_MPOL_PREFERRED] = MPOL_PREFERRED,
	[MM_MPOL_BIND] = MPOL_BIND,
	[MM_MPOL_INTERLEAVE] = MPOL_INTERLEAVE,
	[MM_MPOL_LOCAL] = MPOL_LOCAL,
	[MM_MPOL_WEIGHTED_INTERLEAVE] = 6, /* younger than the header */
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

/* The page's status, or the call's error. */
static int host_move_pages(void *at, const struct step *s)
{
	int node = (int)s->to;
	int status = -EIO;
	long rc = syscall(SYS_move_pages, 0, 1UL, &at, s->call == MOVE_TO ? &node : NULL, &status,
	                  s->flags);

	return rc < 0 ? -errno : rc ? (int)rc + 1000 : status;
}

static int host_call(char *base, const struct step *s)
{
	char *at = base + s->offset;
	long rc;

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
		return host_result(kernel_mlock(at, s->len) == 0);
	case SETPOL:
		return host_result(syscall(SYS_set_mempolicy, host_mode[s->flags], &s->to, 64) ==
		                   0);
	case MBIND:
		return host_result(syscall(SYS_mbind, at, s->len, host_mode[s->flags], &s->to, 64,
		                           (unsigned)s->new_len) == 0);
	case WHERE:
	case MOVE_TO:
		return host_move_pages(at, s);
	case MIGRATE:
		rc = syscall(SYS_migrate_pages, 0, 64, &s->len, &s->to);
		return rc < 0 ? -errno : (int)rc;
	case END:
		break;
	}
	return 0;
}

static int on_host(u32 nr, struct twin_result *r)
{
	char *room = mmap(NULL, P(ROOM), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *base = room + P(BEFORE);

	if (room == MAP_FAILED || munmap(room, P(ROOM)) ||
	    mmap(base, P(PAGES), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	         -1, 0) != base)
		return 1;
	memset(base, 1, P(PAGES));
	for (u32 i = 0; i < row_nr_calls(nr); i++)
		r->value[i] = host_call(base, &table[nr].step[i]);
	return 0;
}

/* ---- the simulated machine ----------------------------------------------------------------------- */

static int sim_move_pages(struct machine *m, u64 at, const struct step *s)
{
	s32 node = (s32)s->to;
	s32 status = -EIO;
	long rc = do_move_pages(m, 1, &at, s->call == MOVE_TO ? &node : NULL, &status, s->flags);

	return rc < 0 ? (int)rc : rc ? (int)rc + 1000 : status;
}

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
		return do_mbind_flags(m, at, s->len, (enum mm_mempolicy)s->flags, (u64)s->to,
		                      (int)s->new_len);
	case WHERE:
	case MOVE_TO:
		return sim_move_pages(m, at, s);
	case MIGRATE:
		return (int)do_migrate_pages(m, s->len, (u64)s->to);
	case END:
		break;
	}
	return 0;
}

static void on_sim(struct task *t, struct twin_sim *s)
{
	u64 room, base;

	(void)t;
	BUG_ON(do_mmap(s->m, P(ROOM), MM_PROT_READ | MM_PROT_WRITE, 0, &room));
	base = room + P(BEFORE);
	BUG_ON(do_munmap(s->m, room, P(BEFORE)));
	BUG_ON(do_munmap(s->m, base + P(PAGES), P(ROOM - BEFORE - PAGES)));
	BUG_ON(mm_access(s->m, base, P(PAGES), WORLD_FILL, 0));
	for (u32 i = 0; i < row_nr_calls(s->row); i++)
		s->r->value[i] = sim_call(s->m, base, &table[s->row].step[i]);
}

TEST(every_call_gives_the_same_error_as_this_kernel)
{
	twin_needs_kernel(5, 18);
	twin_compare(&(struct twin){
		.nr_rows = ARRAY_SIZE(table),
		.what = row_what,
		.nr_calls = row_nr_calls,
		.on_host = on_host,
		.on_sim = on_sim,
	});
}

TEST_MAIN("mm_errno")
