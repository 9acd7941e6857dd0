/*
 * A body's calls on files, with the real system calls.
 *
 * A descriptor is the process's own. Each task lists those it has opened, so that a scenario can neither
 * use nor close one of this program. Reads and writes go through a buffer of the task that is used
 * again and again: it is made, and every page of it touched, at the first call of its size.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/internal.h"

#define BUFFER_MAX (64UL << 20) /* a larger call is several */

/* ---- descriptors ---- */

static int *open_find(struct host_task *ht, int fd)
{
	for (u32 i = 0; i < ht->nr_open; i++)
		if (ht->open[i] == fd)
			return &ht->open[i];
	return NULL;
}

static bool is_open(struct target_task *task, u32 fd)
{
	return fd <= INT32_MAX && open_find(host_task_of(task), (int)fd);
}

static int open_add(struct host_task *ht, int fd)
{
	int *place = open_find(ht, -1);

	if (!place) {
		int *more = realloc(ht->open, (ht->nr_open + 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		ht->open = more;
		place = &ht->open[ht->nr_open++];
	}
	*place = fd;
	return 0;
}

/* @fd as open(2) returned it. */
static int opened(struct target_task *task, int fd, u32 *out)
{
	int err;

	if (fd < 0)
		return -errno;
	err = open_add(host_task_of(task), fd);
	if (err)
		close(fd);
	else
		*out = (u32)fd;
	return err;
}

int host_file_open(struct target_task *task, u32 file, u32 *fd)
{
	struct target *t = task->target;
	char path[HOST_PATH_MAX + 16];

	if (!t->files[0])
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/%05u", t->files, file);
	return opened(task, open(path, O_RDWR | O_CLOEXEC), fd);
}

/*
 * Nameless, or a name that is removed at once. A scenario that declares no files has no directory; then
 * only a nameless one will do, as nobody would remove it after a kill.
 */
int host_file_temporary(struct target_task *task, u32 *fd)
{
	struct target *t = task->target;
	const char *why;
	const char *dir = t->files[0] ? t->files
	                              : place_choose(t->config.file_dir, "host.file_dir", 0,
	                                             PLACE_FILES, &why);
	char path[HOST_PATH_MAX + 16];
	int new;

	if (!dir)
		return -EOPNOTSUPP;
	new = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (new < 0 && t->files[0] && (errno == EOPNOTSUPP || errno == EISDIR)) {
		snprintf(path, sizeof(path), "%s/tmp.XXXXXX", t->files);
		new = mkostemp(path, O_CLOEXEC);
		if (new >= 0)
			unlink(path);
	}
	return opened(task, new, fd);
}

int host_file_close(struct target_task *task, u32 fd)
{
	int *place = fd <= INT32_MAX ? open_find(host_task_of(task), (int)fd) : NULL;

	if (!place)
		return -EBADF;
	*place = -1;
	return close((int)fd) == 0 ? 0 : -errno;
}

void task_close_files(struct host_task *ht)
{
	for (u32 i = 0; i < ht->nr_open; i++)
		if (ht->open[i] >= 0)
			close(ht->open[i]);
	free(ht->open);
	ht->open = NULL;
	ht->nr_open = 0;
	if (ht->buffer)
		munmap(ht->buffer, ht->buffer_bytes);
	ht->buffer = NULL;
	ht->buffer_bytes = 0;
}

/* ---- mapping ---- */

int host_file_mmap(struct target_task *task, u32 fd, u64 offset, u64 len, int prot, int flags,
                   u64 *va)
{
	int map = flags & TARGET_MAP_SHARED ? MAP_SHARED : MAP_PRIVATE;

	if (!is_open(task, fd))
		return -EBADF;
	return memory_map(&task->target->memory, len, prot, map, (int)fd, offset, va);
}

/* ---- reading and writing ---- */

static void *buffer_of(struct host_task *ht, u64 bytes)
{
	void *p;

	if (bytes <= ht->buffer_bytes)
		return ht->buffer;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	memset(p, 0x5a, bytes); /* what is written is not zeros */
	if (ht->buffer)
		munmap(ht->buffer, ht->buffer_bytes);
	ht->buffer = p;
	ht->buffer_bytes = bytes;
	return p;
}

static int transfer(struct target_task *task, u32 fd, u64 offset, u64 len, u64 *done, bool write)
{
	void *buf = buffer_of(host_task_of(task), min(len, BUFFER_MAX));
	ssize_t n = 0;

	*done = 0;
	if (!is_open(task, fd))
		return -EBADF;
	if (!len)
		return 0;
	if (!buf)
		return -ENOMEM;
	if (offset > INT64_MAX)
		return -EINVAL;
	while (*done < len) {
		u64 want = min(len - *done, BUFFER_MAX);

		n = write ? pwrite((int)fd, buf, want, (off_t)(offset + *done))
		          : pread((int)fd, buf, want, (off_t)(offset + *done));
		if (n <= 0)
			break;
		*done += (u64)n;
		if ((u64)n < want)
			break;
	}
	return n < 0 && !*done ? -errno : 0;
}

int host_file_read(struct target_task *task, u32 fd, u64 offset, u64 len, u64 *done)
{
	return transfer(task, fd, offset, len, done, false);
}

int host_file_write(struct target_task *task, u32 fd, u64 offset, u64 len, u64 *done)
{
	return transfer(task, fd, offset, len, done, true);
}

/* ---- the rest ---- */

int host_file_fsync(struct target_task *task, u32 fd)
{
	if (!is_open(task, fd))
		return -EBADF;
	return fsync((int)fd) == 0 ? 0 : -errno;
}

int host_file_truncate(struct target_task *task, u32 fd, u64 size)
{
	if (!is_open(task, fd))
		return -EBADF;
	return ftruncate((int)fd, (off_t)size) == 0 ? 0 : -errno;
}

int host_file_advise(struct target_task *task, u32 fd, u64 offset, u64 len,
                     enum target_fadvice advice)
{
	static const int code[] = {
		[TARGET_FADV_NORMAL] = POSIX_FADV_NORMAL,
		[TARGET_FADV_RANDOM] = POSIX_FADV_RANDOM,
		[TARGET_FADV_SEQUENTIAL] = POSIX_FADV_SEQUENTIAL,
		[TARGET_FADV_WILLNEED] = POSIX_FADV_WILLNEED,
		[TARGET_FADV_DONTNEED] = POSIX_FADV_DONTNEED,
	};

	if (!is_open(task, fd))
		return -EBADF;
	return -posix_fadvise((int)fd, (off_t)offset, (off_t)len, code[advice]);
}

/* All of this host, as sync(2) does: the others' dirty pages, too. */
int host_sync(struct target_task *task)
{
	(void)task;
	sync();
	return 0;
}
