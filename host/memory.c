/*
 * Address-space calls of a body, in its own process.
 *
 * A worker's address space also holds its Lua states and this program. A scenario that touches what
 * it has unmapped must get -EFAULT and not write over whatever malloc() has put there since, so each
 * process keeps the list of what it mapped for its tasks, and every call stays inside. brk() works on
 * an area of its own: the real one is malloc()'s. It grows and shrinks a mapping, as the kernel's does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/internal.h"

#define HEAP_RESERVE (1UL << 40) /* address space only; more than any host has RAM */
#define HOST_PAGE 4096UL

static void *to_ptr(u64 va)
{
	return (void *)(uintptr_t)va;
}

void memory_init(struct host_memory *m)
{
	memset(m, 0, sizeof(*m));
	pthread_mutex_init(&m->lock, NULL);
	m->vmstat_fd = -1;
}

void memory_unmap_all(struct host_memory *m)
{
	for (size_t i = 0; i < m->nr; i++)
		munmap(to_ptr(m->range[i].start), m->range[i].end - m->range[i].start);
	if (m->heap_start)
		munmap(to_ptr(m->heap_start), m->heap_limit - m->heap_start);
	free(m->range);
	m->range = NULL;
	m->nr = 0;
	m->room = 0;
	m->heap_start = 0;
	m->heap_end = 0;
	m->heap_limit = 0;
}

/* ---- the list of ranges ---- */

/* Index of the first range that ends after @va. */
static size_t range_find(const struct host_memory *m, u64 va)
{
	size_t lo = 0;
	size_t hi = m->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->range[mid].end > va)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static int range_make_room(struct host_memory *m)
{
	size_t room = m->room ? m->room * 2 : 16;
	struct host_range *range;

	if (m->nr + 1 < m->room) /* a removal in the middle makes one more */
		return 0;
	range = realloc(m->range, room * sizeof(*range));
	if (!range)
		return -ENOMEM;
	m->range = range;
	m->room = room;
	return 0;
}

/* Adds [start, end), of which no part is listed. There is room. Neighbours are joined. */
static void range_add(struct host_memory *m, u64 start, u64 end)
{
	size_t i = range_find(m, start);
	bool joins_left = i > 0 && m->range[i - 1].end == start;
	bool joins_right = i < m->nr && m->range[i].start == end;

	if (joins_left && joins_right) {
		m->range[i - 1].end = m->range[i].end;
		memmove(&m->range[i], &m->range[i + 1], (m->nr - i - 1) * sizeof(*m->range));
		m->nr--;
	} else if (joins_left) {
		m->range[i - 1].end = end;
	} else if (joins_right) {
		m->range[i].start = start;
	} else {
		memmove(&m->range[i + 1], &m->range[i], (m->nr - i) * sizeof(*m->range));
		m->range[i] = (struct host_range){start, end};
		m->nr++;
	}
}

/* Takes the first listed part of [start, end) off the list. There is room. False: there is none. */
static bool range_take(struct host_memory *m, u64 start, u64 end, struct host_range *taken)
{
	size_t i = range_find(m, start);

	if (i == m->nr || m->range[i].start >= end)
		return false;

	struct host_range r = m->range[i];

	taken->start = max(r.start, start);
	taken->end = min(r.end, end);
	if (taken->start == r.start && taken->end == r.end) {
		memmove(&m->range[i], &m->range[i + 1], (m->nr - i - 1) * sizeof(*m->range));
		m->nr--;
	} else if (taken->start == r.start) {
		m->range[i].start = taken->end;
	} else {
		m->range[i].end = taken->start;
		if (taken->end < r.end) {
			memmove(&m->range[i + 2], &m->range[i + 1],
			        (m->nr - i - 1) * sizeof(*m->range));
			m->range[i + 1] = (struct host_range){taken->end, r.end};
			m->nr++;
		}
	}
	return true;
}

static u64 covered_locked(const struct host_memory *m, u64 va, u64 end)
{
	size_t i = range_find(m, va);

	/* Neighbours are joined, so one range tells. */
	if (i == m->nr || m->range[i].start > va)
		return va;
	return min(m->range[i].end, end);
}

u64 memory_covered(struct host_memory *m, u64 va, u64 end)
{
	pthread_mutex_lock(&m->lock);

	u64 covered = covered_locked(m, va, end);

	pthread_mutex_unlock(&m->lock);
	return covered;
}

/* ---- the calls ---- */

static struct host_memory *memory_of(struct target_task *task)
{
	return &task->target->memory;
}

static int prot_flags(int prot)
{
	return (prot & TARGET_PROT_READ ? PROT_READ : 0) |
	       (prot & TARGET_PROT_WRITE ? PROT_WRITE : 0) |
	       (prot & TARGET_PROT_EXEC ? PROT_EXEC : 0);
}

/* The page-aligned end of [va, va + len), or 0 if the range makes no sense. */
static u64 range_end(u64 va, u64 len)
{
	u64 end = va + len;

	if (!IS_ALIGNED(va, HOST_PAGE) || len == 0 || end < va || end > UINT64_MAX - HOST_PAGE)
		return 0;
	return ALIGN(end, HOST_PAGE);
}

int memory_map(struct host_memory *m, u64 len, int prot, int map_flags, int fd, u64 offset, u64 *va)
{
	int err;

	if (len == 0 || len > UINT64_MAX - HOST_PAGE)
		return -EINVAL;
	pthread_mutex_lock(&m->lock);
	err = range_make_room(m);
	if (!err) {
		void *p = mmap(NULL, len, prot_flags(prot), map_flags, fd, (off_t)offset);

		if (p == MAP_FAILED) {
			err = -errno;
		} else {
			*va = (u64)(uintptr_t)p;
			range_add(m, *va, *va + ALIGN(len, HOST_PAGE));
		}
	}
	pthread_mutex_unlock(&m->lock);
	return err;
}

int host_mmap(struct target_task *task, u64 len, int prot, int flags, u64 *va)
{
	int map = (flags & TARGET_MAP_SHARED ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS |
	          (flags & TARGET_MAP_NORESERVE ? MAP_NORESERVE : 0) |
	          (flags & TARGET_MAP_LOCKED ? MAP_LOCKED : 0) |
	          (flags & TARGET_MAP_POPULATE ? MAP_POPULATE : 0);

	return memory_map(memory_of(task), len, prot, map, -1, 0, va);
}

/* As munmap(2), what is not mapped is passed over. */
int host_munmap(struct target_task *task, u64 va, u64 len)
{
	struct host_memory *m = memory_of(task);
	u64 end = range_end(va, len);
	struct host_range part;
	int err = 0;

	if (!end)
		return -EINVAL;
	pthread_mutex_lock(&m->lock);
	while (!(err = range_make_room(m)) && range_take(m, va, end, &part)) {
		if (munmap(to_ptr(part.start), part.end - part.start) != 0) {
			err = -errno;
			range_add(m, part.start, part.end);
			break;
		}
	}
	pthread_mutex_unlock(&m->lock);
	return err;
}

int host_mprotect(struct target_task *task, u64 va, u64 len, int prot)
{
	u64 end = range_end(va, len);

	if (!end)
		return -EINVAL;
	if (memory_covered(memory_of(task), va, end) != end)
		return -ENOMEM;
	return mprotect(to_ptr(va), len, prot_flags(prot)) == 0 ? 0 : -errno;
}

/* Makes sure that [@start, @end) is the tasks' own, or nobody's: nothing else may be moved over. */
static int range_claim(struct host_memory *m, u64 start, u64 end)
{
	struct host_range part;
	void *p;

	if (covered_locked(m, start, end) != end) {
		p = mmap(to_ptr(start), end - start, PROT_NONE,
		         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
		if (p == MAP_FAILED)
			return errno == EEXIST ? -EPERM : -errno;
	}
	while (range_take(m, start, end, &part))
		;
	return 0;
}

int host_mremap(struct target_task *task, u64 va, u64 old_len, u64 new_len, int flags, u64 *new)
{
	struct host_memory *m = memory_of(task);
	bool fixed = flags & TARGET_MREMAP_FIXED;
	u64 old_end = range_end(va, old_len);
	int f = (flags & TARGET_MREMAP_MAYMOVE ? MREMAP_MAYMOVE : 0) | (fixed ? MREMAP_FIXED : 0);
	struct host_range part;
	void *p;
	int err;

	if (!old_end || !range_end(va, new_len) || (fixed && !range_end(*new, new_len)))
		return -EINVAL;
	if (memory_covered(m, va, old_end) != old_end)
		return -EFAULT;
	pthread_mutex_lock(&m->lock);
	err = range_make_room(m);
	if (!err && fixed)
		err = range_claim(m, *new, range_end(*new, new_len));
	if (!err) {
		p = mremap(to_ptr(va), old_len, new_len, f, to_ptr(*new));
		err = p == MAP_FAILED ? -errno : 0;
	}
	if (!err) {
		while (range_take(m, va, old_end, &part))
			;
		*new = (u64)(uintptr_t)p;
		range_add(m, *new, range_end(*new, new_len));
	}
	pthread_mutex_unlock(&m->lock);
	return err;
}

static int heap_reserve(struct host_memory *m)
{
	void *p = mmap(NULL, HEAP_RESERVE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	               -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	m->heap_start = (u64)(uintptr_t)p;
	m->heap_end = m->heap_start;
	m->heap_limit = m->heap_start + HEAP_RESERVE;
	return 0;
}

/* Moves the end of the heap to @end; only whole pages appear and disappear. */
static int heap_resize(struct host_memory *m, u64 end)
{
	u64 old_page = ALIGN(m->heap_end, HOST_PAGE);
	u64 new_page = ALIGN(end, HOST_PAGE);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	struct host_range part;
	int err = range_make_room(m);

	if (err)
		return err;
	if (new_page > old_page) {
		if (mmap(to_ptr(old_page), new_page - old_page, PROT_READ | PROT_WRITE, flags, -1,
		         0) == MAP_FAILED)
			return -errno;
		range_add(m, old_page, new_page);
	} else if (new_page < old_page) {
		if (mmap(to_ptr(new_page), old_page - new_page, PROT_NONE, flags | MAP_NORESERVE,
		         -1, 0) == MAP_FAILED)
			return -errno;
		while (range_make_room(m) == 0 && range_take(m, new_page, old_page, &part))
			;
	}
	m->heap_end = end;
	return 0;
}

int host_brk(struct target_task *task, s64 delta, u64 *end)
{
	struct host_memory *m = memory_of(task);
	int err = 0;

	pthread_mutex_lock(&m->lock);
	if (!m->heap_start)
		err = heap_reserve(m);
	if (!err) {
		u64 new_end = m->heap_end + (u64)delta;
		bool fits = delta < 0 ? -(u64)delta <= m->heap_end - m->heap_start
		                      : (u64)delta <= m->heap_limit - m->heap_end;

		err = fits ? heap_resize(m, new_end) : -ENOMEM;
	}
	*end = m->heap_end;
	pthread_mutex_unlock(&m->lock);
	return err;
}

/* ---- madvise ---- */

/*
 * Mail 000's throttle, outside the kernel: lazy only while more than 1.5 times min_free_kbytes is
 * free. Reading /proc/vmstat costs some tens of microseconds of system time more than the mail's.
 */
static bool pages_are_plenty(struct target *t)
{
	struct host_memory *m = &t->memory;
	char buf[512]; /* nr_free_pages is among the first lines */
	ssize_t n;

	pthread_mutex_lock(&m->lock);
	if (m->vmstat_fd < 0)
		m->vmstat_fd = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
	n = m->vmstat_fd < 0 ? -1 : pread(m->vmstat_fd, buf, sizeof(buf) - 1, 0);
	pthread_mutex_unlock(&m->lock);
	if (n <= 0)
		return true;
	buf[n] = '\0';
	return vmstat_value(buf, "nr_free_pages") >
	       (s64)(t->min_free_pages + t->min_free_pages / 2);
}

static int free_advice(struct target *t)
{
	switch (t->config.free) {
	case HOST_FREE_DONTNEED:
		return MADV_DONTNEED;
	case HOST_FREE_THROTTLE:
		return pages_are_plenty(t) ? MADV_FREE : MADV_DONTNEED;
	case HOST_FREE_LAZY:
		break;
	}
	return MADV_FREE;
}

int host_madvise(struct target_task *task, u64 va, u64 len, enum target_advice advice)
{
	u64 end = range_end(va, len);
	int code;

	if (!end)
		return len == 0 ? 0 : -EINVAL;
	if (memory_covered(memory_of(task), va, end) != end)
		return -ENOMEM;
	switch (advice) {
	case TARGET_MADV_NORMAL:
		code = MADV_NORMAL;
		break;
	case TARGET_MADV_DONTNEED:
		code = MADV_DONTNEED;
		break;
	case TARGET_MADV_FREE:
		code = free_advice(task->target);
		break;
	case TARGET_MADV_WILLNEED:
		code = MADV_WILLNEED;
		break;
	case TARGET_MADV_RANDOM:
		code = MADV_RANDOM;
		break;
	case TARGET_MADV_SEQUENTIAL:
		code = MADV_SEQUENTIAL;
		break;
	case TARGET_MADV_HUGEPAGE:
		code = MADV_HUGEPAGE;
		break;
	case TARGET_MADV_NOHUGEPAGE:
		code = MADV_NOHUGEPAGE;
		break;
	case TARGET_MADV_COLD:
		code = MADV_COLD;
		break;
	case TARGET_MADV_PAGEOUT:
		code = MADV_PAGEOUT;
		break;
	default:
		return -EINVAL;
	}
	return madvise(to_ptr(va), len, code) == 0 ? 0 : -errno;
}

/* ---- memory policies ---- */

static const int to_mode[] = {
	[TARGET_MPOL_DEFAULT] = MPOL_DEFAULT,
	[TARGET_MPOL_PREFERRED] = MPOL_PREFERRED,
	[TARGET_MPOL_BIND] = MPOL_BIND,
	[TARGET_MPOL_INTERLEAVE] = MPOL_INTERLEAVE,
	[TARGET_MPOL_LOCAL] = MPOL_LOCAL,
	[TARGET_MPOL_WEIGHTED_INTERLEAVE] =
		6, /* MPOL_WEIGHTED_INTERLEAVE, younger than its header */
};

int host_set_mempolicy(struct target_task *task, enum target_mempolicy mode, u64 nodes)
{
	(void)task;
	return syscall(SYS_set_mempolicy, to_mode[mode], &nodes, 64) == 0 ? 0 : -errno;
}

int host_mbind(struct target_task *task, u64 va, u64 len, enum target_mempolicy mode, u64 nodes)
{
	u64 end = range_end(va, len);

	if (!end)
		return -EINVAL;
	if (memory_covered(memory_of(task), va, end) != end)
		return -EFAULT;
	return syscall(SYS_mbind, va, len, to_mode[mode], &nodes, 64, 0) == 0 ? 0 : -errno;
}

int host_move_pages(struct target_task *task, u64 va, u64 len, u32 node, u64 *left)
{
	unsigned long nr = DIV_ROUND_UP(len, HOST_PAGE);
	void **page = calloc(nr, sizeof(*page) + 2 * sizeof(int));
	int *nodes = (int *)(page + nr);
	int *status = nodes + nr;
	int rc;

	(void)task;
	if (!page)
		return -ENOMEM;
	for (unsigned long i = 0; i < nr; i++) {
		page[i] = to_ptr(va + i * HOST_PAGE);
		nodes[i] = (int)node;
		status[i] = -1;
	}
	rc = syscall(SYS_move_pages, 0, nr, page, nodes, status, MPOL_MF_MOVE) < 0 ? -errno : 0;
	for (unsigned long i = 0; i < nr; i++)
		*left += status[i] != (int)node;
	free(page);
	return rc;
}

int host_migrate_pages(struct target_task *task, u64 from, u64 to, u64 *left)
{
	long rc = syscall(SYS_migrate_pages, 0, 64, &from, &to);

	(void)task;
	*left = rc > 0 ? (u64)rc : 0;
	return rc < 0 ? -errno : 0;
}

/* ---- mlock ---- */

/* Of bytes. What the task has not mapped is not there, as far as it is concerned. */
static int lock_range(struct target_task *task, u64 va, u64 len)
{
	u64 start = ALIGN_DOWN(va, HOST_PAGE);
	u64 end = va + len;

	if (end < va || end > UINT64_MAX - HOST_PAGE)
		return -EINVAL;
	end = ALIGN(end, HOST_PAGE);
	return memory_covered(memory_of(task), start, end) == end ? 0 : -ENOMEM;
}

int host_mlock(struct target_task *task, u64 va, u64 len, int flags)
{
	int err = len ? lock_range(task, va, len) : 0;

	if (err)
		return err;
	if (flags & TARGET_MLOCK_ONFAULT)
		return mlock2(to_ptr(va), len, MLOCK_ONFAULT) == 0 ? 0 : -errno;
	return mlock(to_ptr(va), len) == 0 ? 0 : -errno;
}

int host_munlock(struct target_task *task, u64 va, u64 len)
{
	int err = len ? lock_range(task, va, len) : 0;

	if (err)
		return err;
	return munlock(to_ptr(va), len) == 0 ? 0 : -errno;
}

/* All of the process: this program, and the interpreters of its tasks, too. */
int host_mlockall(struct target_task *task, int flags)
{
	int f = (flags & TARGET_MCL_CURRENT ? MCL_CURRENT : 0) |
	        (flags & TARGET_MCL_FUTURE ? MCL_FUTURE : 0) |
	        (flags & TARGET_MCL_ONFAULT ? MCL_ONFAULT : 0);

	(void)task;
	return (f ? mlockall(f) : munlockall()) == 0 ? 0 : -errno;
}

int memory_limit_locks(u64 bytes)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};

	if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || syscall(SYS_capget, &header, data) != 0)
		return -errno;
	data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &= ~CAP_TO_MASK(CAP_IPC_LOCK);
	return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}

/* Whether this kernel knows MADV_FREE (4.5). */
int memory_probe(struct target *t, char *err)
{
	void *p = mmap(NULL, HOST_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int rc = 0;

	if (p == MAP_FAILED)
		return host_error(err, -ENOMEM, "mmap: %s", strerror(errno));
	if (t->config.free != HOST_FREE_DONTNEED && madvise(p, HOST_PAGE, MADV_FREE) != 0)
		rc = host_error(err, -EOPNOTSUPP,
		                "this kernel has no MADV_FREE; only madvise.free = dontneed works");
	munmap(p, HOST_PAGE);
	return rc;
}
