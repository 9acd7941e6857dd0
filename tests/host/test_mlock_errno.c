/*
 * Error numbers of the calls about locked memory: this host's kernel beside the simulated one.
 *
 * Aim: ENOMEM, EAGAIN, EINVAL and EPERM exactly where Linux gives them. Method: twin.h; a program is a limit, a
 * mapping of 16 pages with a hole and protections, then calls on it, without CAP_IPC_LOCK unless the row says
 * so. Needs Linux 5.18 or later here, whose rules are the ones that are simulated, and a hard RLIMIT_MEMLOCK
 * of 4 MiB.
 */
#include "tests/host/twin.h"

#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define PAGES 16
#define UNLIMITED (~0UL)
#define ENOUGH (4UL << 20) /* for all rows, and allowed to anybody since 5.16 */

enum call {
	END,
	MLOCK,
	LOCK_ONFAULT,
	MLOCK_BAD_FLAG, /* mlock2() with flag 2 */
	MUNLOCK,
	MLOCKALL, /* of flags in .offset */
	MUNLOCKALL,
	MMAP_LOCKED,   /* .length more bytes */
	MMAP_POPULATE, /* the same */
	MMAP,
	DONTNEED,
	FREE,
	WILLNEED,
	UNMAP,
	PROTECT_NONE,
	PROTECT_READ,
	TOUCH,
};

struct step {
	enum call call;
	long offset; /* of the first page */
	unsigned long length;
};

#define P(n) ((n)*PAGE_SIZE)

static const struct row {
	const char *what;
	bool privileged; /* CAP_IPC_LOCK */
	unsigned long limit;
	struct step step[TWIN_CALLS_MAX];
} table[] = {
	{"lock and unlock", false, UNLIMITED, {{MLOCK, 0, P(16)}, {MUNLOCK, 0, P(16)}}},
	{"no length", false, UNLIMITED, {{MLOCK, 0, 0}, {MUNLOCK, 100, 0}}},
	{"bytes", false, UNLIMITED, {{MLOCK, 100, 24}, {MLOCK, 124, 4168}, {MUNLOCK, 1, 1}}},
	{"a length that wraps to 0", false, UNLIMITED, {{MLOCK, 0, ~0UL}, {MUNLOCK, 0, ~0UL}}},
	{"a length that ends before it begins",
         true,
         UNLIMITED,
         {{MLOCK, 0, ~0UL - P(2)}, {MUNLOCK, 0, ~0UL - P(2)}}},
	{"far too much", false, P(64), {{MLOCK, 0, 1UL << 46}}},
	{"far too much, but allowed", true, 0, {{MLOCK, 0, 1UL << 46}}},
	{"a hole in the middle",
         false,
         UNLIMITED,
         {{UNMAP, P(4), P(2)}, {MLOCK, 0, P(16)}, {MUNLOCK, 0, P(16)}, {MLOCK, P(4), P(1)}}},
	{"a hole at the start",
         false,
         UNLIMITED,
         {{UNMAP, 0, P(1)}, {MLOCK, 0, P(4)}, {MUNLOCK, 0, P(4)}, {MLOCK, P(1), P(4)}}},
	{"a hole at the end",
         false,
         UNLIMITED,
         {{UNMAP, P(15), P(1)}, {MLOCK, P(8), P(8)}, {MLOCK, P(8), P(7)}}},
	{"nothing is mapped there",
         false,
         UNLIMITED,
         {{UNMAP, 0, P(16)}, {MLOCK, P(3), P(1)}, {MUNLOCK, P(3), P(1)}}},
	{"memory that must not be touched",
         false,
         UNLIMITED,
         {{PROTECT_NONE, P(2), P(2)}, {MLOCK, P(2), P(1)}, {MUNLOCK, P(2), P(1)}}},
	{"some of it must not be touched",
         false,
         UNLIMITED,
         {{PROTECT_NONE, P(2), P(2)}, {MLOCK, 0, P(16)}, {LOCK_ONFAULT, 0, P(16)}}},
	{"memory that may be read",
         false,
         UNLIMITED,
         {{PROTECT_READ, 0, P(16)}, {MLOCK, 0, P(16)}, {MUNLOCK, 0, P(16)}}},
	{"at the limit", false, P(4), {{MLOCK, 0, P(4)}, {MLOCK, P(4), 1}, {MUNLOCK, 0, P(4)}}},
	{"above the limit",
         false,
         P(4),
         {{MLOCK, 0, P(5)}, {MLOCK, 0, P(4) + 1}, {MLOCK, 1, P(4)}}},
	{"the same again is not counted twice",
         false,
         P(4),
         {{MLOCK, 0, P(4)}, {MLOCK, 0, P(4)}, {MLOCK, P(2), P(4)}, {MLOCK, P(1), P(2)}}},
	{"a limit that is no whole page", false, P(4) + 100, {{MLOCK, 0, P(4)}, {MLOCK, P(4), 1}}},
	{"less than a page is allowed", false, 100, {{MLOCK, 0, 1}, {MLOCKALL, MCL_FUTURE, 0}}},
	{"nothing is allowed", false, 0, {{MLOCK, 0, P(1)}, {MLOCK, 0, 0}, {LOCK_ONFAULT, 0, 1}}},
	{"nothing is allowed, and munlock", false, 0, {{MUNLOCK, 0, P(4)}, {MUNLOCKALL, 0, 0}}},
	{"privilege needs no limit", true, 0, {{MLOCK, 0, P(16)}, {MMAP_LOCKED, 0, P(4)}}},
	{"locked on fault",
         false,
         P(8),
         {{LOCK_ONFAULT, 0, P(8)}, {LOCK_ONFAULT, 0, P(8)}, {MLOCK, 0, P(8)}, {TOUCH, 0, 1}}},
	{"mlock2 with an unknown flag", false, UNLIMITED, {{MLOCK_BAD_FLAG, 0, P(1)}}},
	{"mlock2 with an unknown flag comes first", false, 0, {{MLOCK_BAD_FLAG, 0, P(1)}}},
	{"mlockall without a flag", false, UNLIMITED, {{MLOCKALL, 0, 0}}},
	{"mlockall with an unknown flag", false, 0, {{MLOCKALL, 8, 0}, {MLOCKALL, 9, 0}}},
	{"mlockall on fault alone", false, 0, {{MLOCKALL, MCL_ONFAULT, 0}}},
	{"mlockall where nothing is allowed",
         false,
         0,
         {{MLOCKALL, MCL_CURRENT, 0}, {MLOCKALL, MCL_FUTURE, 0}, {MLOCKALL, MCL_FUTURE | 4, 0}}},
	{"mlockall of more than is allowed",
         false,
         P(2),
         {{MLOCKALL, MCL_CURRENT, 0}, {MLOCKALL, MCL_CURRENT | MCL_FUTURE, 0}}},
	{"mlockall for the future asks later",
         false,
         P(2),
         {{MLOCKALL, MCL_FUTURE, 0}, {MMAP, 0, P(2)}, {MMAP, 0, P(1)}, {MUNLOCKALL, 0, 0}}},
	{"after munlockall anything goes",
         false,
         P(2),
         {{MLOCKALL, MCL_FUTURE, 0}, {MUNLOCKALL, 0, 0}, {MMAP, 0, P(64)}}},
	{"mmap locked", false, P(4), {{MMAP_LOCKED, 0, P(4)}, {MMAP_LOCKED, 0, P(1)}}},
	{"mmap locked above the limit", false, P(4), {{MMAP_LOCKED, 0, P(5)}}},
	{"mmap locked where nothing is allowed", false, 0, {{MMAP_LOCKED, 0, P(1)}}},
	{"mmap locked of nothing", false, 0, {{MMAP_LOCKED, 0, 0}}},
	{"mmap locked of all there is", false, 0, {{MMAP_LOCKED, 0, 1UL << 47}}},
	{"mmap populate needs no limit", false, 0, {{MMAP_POPULATE, 0, P(8)}}},
	{"what is locked must not be given up",
         false,
         UNLIMITED,
         {{MLOCK, 0, P(4)}, {DONTNEED, 0, P(4)}, {FREE, P(3), P(1)}, {DONTNEED, P(4), P(4)}}},
	{"not even in part",
         false,
         UNLIMITED,
         {{MLOCK, P(4), P(1)}, {DONTNEED, 0, P(16)}, {FREE, 0, P(16)}, {WILLNEED, 0, P(16)}}},
	{"nor what will be locked when touched",
         false,
         UNLIMITED,
         {{LOCK_ONFAULT, 0, P(4)}, {DONTNEED, 0, P(1)}, {MUNLOCK, 0, P(1)}, {DONTNEED, 0, P(1)}}},
	{"advice on a hole",
         false,
         UNLIMITED,
         {{UNMAP, P(4), P(1)}, {MLOCK, P(8), P(1)}, {DONTNEED, P(2), P(4)}, {DONTNEED, 0, P(16)}}},
	{"advice at an odd address", false, UNLIMITED, {{DONTNEED, 1, P(1)}, {FREE, 0, 0}}},
};

TWIN_TABLE(table)

/* ---- this host --------------------------------------------------------------------------------- */

static int host_result(long rc)
{
	return rc == -1 ? -errno : 0;
}

static int host_map(const struct step *s, int flags)
{
	void *p = mmap(NULL, s->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
	               -1, 0);

	return p == MAP_FAILED ? -errno : 0;
}

static int host_call(char *base, const struct step *s)
{
	char *at = base + s->offset;

	switch (s->call) {
	case MLOCK:
		return host_result(kernel_mlock(at, s->length));
	case LOCK_ONFAULT:
		return host_result(mlock2(at, s->length, MLOCK_ONFAULT));
	case MLOCK_BAD_FLAG:
		return host_result(mlock2(at, s->length, 2));
	case MUNLOCK:
		return host_result(kernel_munlock(at, s->length));
	case MLOCKALL:
		return host_result(kernel_mlockall((int)s->offset));
	case MUNLOCKALL:
		return host_result(kernel_munlockall());
	case MMAP_LOCKED:
		return host_map(s, MAP_LOCKED);
	case MMAP_POPULATE:
		return host_map(s, MAP_POPULATE);
	case MMAP:
		return host_map(s, 0);
	case DONTNEED:
		return host_result(madvise(at, s->length, MADV_DONTNEED));
	case FREE:
		return host_result(madvise(at, s->length, MADV_FREE));
	case WILLNEED:
		return host_result(madvise(at, s->length, MADV_WILLNEED));
	case UNMAP:
		return host_result(munmap(at, s->length));
	case PROTECT_NONE:
		return host_result(mprotect(at, s->length, PROT_NONE));
	case PROTECT_READ:
		return host_result(mprotect(at, s->length, PROT_READ));
	case TOUCH:
		*(volatile char *)at = 1;
		return 0;
	case END:
		break;
	}
	return 0;
}

/* RLIMIT_MEMLOCK and CAP_IPC_LOCK as the row wants them, or -errno. */
static int host_limits(const struct row *row)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	rlim_t bytes = row->limit == UNLIMITED ? ENOUGH : row->limit;
	struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
	u32 mask = CAP_TO_MASK(CAP_IPC_LOCK);

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || syscall(SYS_capget, &header, data))
		return -errno;
	if (row->privileged)
		return data[0].effective & mask ? 0 : -EPERM;
	data[0].effective &= ~mask;
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static int on_host(u32 nr, struct twin_result *r)
{
	const struct row *row = &table[nr];
	char *base =
		mmap(NULL, P(PAGES), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err = host_limits(row);

	if (base == MAP_FAILED || err)
		return err == -EPERM ? TEST_SKIPPED : 1;
	for (u32 i = 0; i < row_nr_calls(nr); i++)
		r->value[i] = host_call(base, &row->step[i]);
	return 0;
}

/* ---- the simulated machine ----------------------------------------------------------------------- */

static int sim_call(struct machine *m, u64 base, const struct step *s)
{
	u64 at = base + (u64)s->offset;
	u64 va;

	switch (s->call) {
	case MLOCK:
		return do_mlock(m, at, s->length);
	case LOCK_ONFAULT:
		return do_mlock2(m, at, s->length, MM_MLOCK_ONFAULT);
	case MLOCK_BAD_FLAG:
		return do_mlock2(m, at, s->length, 2);
	case MUNLOCK:
		return do_munlock(m, at, s->length);
	case MLOCKALL:
		return do_mlockall(m, (int)s->offset);
	case MUNLOCKALL:
		return do_munlockall(m);
	case MMAP_LOCKED:
		return do_mmap(m, s->length, MM_PROT_READ | MM_PROT_WRITE, MM_MAP_LOCKED, &va);
	case MMAP_POPULATE:
		return do_mmap(m, s->length, MM_PROT_READ | MM_PROT_WRITE, MM_MAP_POPULATE, &va);
	case MMAP:
		return do_mmap(m, s->length, MM_PROT_READ | MM_PROT_WRITE, 0, &va);
	case DONTNEED:
		return do_madvise(m, at, s->length, MM_MADV_DONTNEED);
	case FREE:
		return do_madvise(m, at, s->length, MM_MADV_FREE);
	case WILLNEED:
		return do_madvise(m, at, s->length, MM_MADV_WILLNEED);
	case UNMAP:
		return do_munmap(m, at, s->length);
	case PROTECT_NONE:
		return do_mprotect(m, at, s->length, MM_PROT_NONE);
	case PROTECT_READ:
		return do_mprotect(m, at, s->length, MM_PROT_READ);
	case TOUCH:
		return mm_access(m, at, 1, WORLD_WRITE, 0);
	case END:
		break;
	}
	return 0;
}

static void on_sim(struct task *t, struct twin_sim *s)
{
	const struct row *row = &table[s->row];
	u64 base;

	BUG_ON(do_mmap(s->m, P(PAGES), MM_PROT_READ | MM_PROT_WRITE, 0, &base));
	task_set_memlock(t, row->limit == UNLIMITED ? ENOUGH : row->limit, row->privileged);
	for (u32 i = 0; i < row_nr_calls(s->row); i++)
		s->r->value[i] = sim_call(s->m, base, &row->step[i]);
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

TEST_MAIN("mlock_errno")
