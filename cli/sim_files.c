/*
 * What a task of the scenario does to files. See sim_target.c.
 */
#include <stdlib.h>

#include "cli/sim_internal.h"

/* Where the task keeps @fd, or (0) a new one. */
static u32 *open_slot(struct sim_task *st, u32 fd)
{
	for (u32 i = 0; i < st->nr_open; i++)
		if (st->open[i] == fd)
			return &st->open[i];
	if (fd)
		return NULL;
	st->open = realloc(st->open, (st->nr_open + 1) * sizeof(*st->open));
	if (!st->open)
		panic("out of host memory for open files");
	st->open[st->nr_open] = 0;
	return &st->open[st->nr_open++];
}

int op_file_open(struct target_task *t, u32 file, u32 *fd)
{
	struct sim_target *s = sim_of(t);
	u32 *slot = open_slot(sim_task_of(t), 0);
	int rc;

	if (file >= s->nr_files)
		return -ENOENT;
	rc = do_open(s->machine, s->file[file], slot);
	if (!rc)
		*fd = *slot;
	return rc ? rc : killed();
}

int op_file_close(struct target_task *t, u32 fd)
{
	u32 *slot = open_slot(sim_task_of(t), fd);

	if (!fd || !slot)
		return -EBADF;
	*slot = 0;
	return do_close(machine_of(t), fd);
}

/* A descriptor that the task has open. */
static bool is_open(struct target_task *t, u32 fd)
{
	return fd && open_slot(sim_task_of(t), fd);
}

int op_file_mmap(struct target_task *t, u32 fd, u64 offset, u64 len, int prot, int flags, u64 *va)
{
	int p = (prot & TARGET_PROT_READ ? MM_PROT_READ : 0) |
	        (prot & TARGET_PROT_WRITE ? MM_PROT_WRITE : 0) |
	        (prot & TARGET_PROT_EXEC ? MM_PROT_EXEC : 0);

	if (!is_open(t, fd))
		return -EBADF;
	return do_mmap_file(machine_of(t), fd, offset, len, p,
	                    flags & TARGET_MAP_SHARED ? MM_MAP_SHARED : 0, va);
}

int op_file_read(struct target_task *t, u32 fd, u64 offset, u64 len, u64 *done)
{
	return is_open(t, fd) ? do_pread(machine_of(t), fd, offset, len, done) : -EBADF;
}

int op_file_write(struct target_task *t, u32 fd, u64 offset, u64 len, u64 *done)
{
	return is_open(t, fd) ? do_pwrite(machine_of(t), fd, offset, len, done) : -EBADF;
}

int op_file_fsync(struct target_task *t, u32 fd)
{
	return is_open(t, fd) ? do_fsync(machine_of(t), fd) : -EBADF;
}

int op_file_truncate(struct target_task *t, u32 fd, u64 size)
{
	return is_open(t, fd) ? do_ftruncate(machine_of(t), fd, size) : -EBADF;
}

int op_file_advise(struct target_task *t, u32 fd, u64 offset, u64 len, enum target_fadvice advice)
{
	static const enum mm_fadvice to_mm[] = {
		[TARGET_FADV_NORMAL] = MM_FADV_NORMAL,
		[TARGET_FADV_RANDOM] = MM_FADV_RANDOM,
		[TARGET_FADV_SEQUENTIAL] = MM_FADV_SEQUENTIAL,
		[TARGET_FADV_WILLNEED] = MM_FADV_WILLNEED,
		[TARGET_FADV_DONTNEED] = MM_FADV_DONTNEED,
	};

	return is_open(t, fd) ? do_fadvise(machine_of(t), fd, offset, len, to_mm[advice]) : -EBADF;
}

int op_file_temporary(struct target_task *t, u32 *fd)
{
	struct machine *m = machine_of(t);
	u32 *slot = open_slot(sim_task_of(t), 0);
	u32 ino;
	int rc = do_creat(m, "temporary", &ino);

	if (rc)
		return rc;
	rc = do_open(m, ino, slot);
	if (!rc)
		*fd = *slot;
	do_unlink(m, ino);
	return rc ? rc : killed();
}

int op_sync(struct target_task *t)
{
	return do_sync(machine_of(t));
}
