/*
 * What workers do with files, for the random-operations test: open, close, read, write, map, cut off,
 * advise, write back, create and remove.
 *
 * Numbers come from a stream of their own, so that cases without files stay what they are.
 */
#ifndef TESTS_MACHINE_FILE_OPS_H
#define TESTS_MACHINE_FILE_OPS_H

#include "core/fs.h"

/* A file's number, or an error that a program must expect: the disk's, or a full one's, or no memory. */
static int file_error(int rc)
{
	return rc == -EIO || rc == -ENOSPC || rc == -ENOMEM ? 0 : rc;
}

static u32 random_file(struct worker *w)
{
	return w->plan->ino[rand_below(&w->fr, w->plan->nr_files)];
}

static int fop_open(struct worker *w)
{
	u32 i = (u32)rand_below(&w->fr, FDS_MAX);
	u32 old = w->fd[i];
	int rc;

	w->fd[i] = 0;
	rc = old ? do_close(w->plan->m, old) : 0;
	return rc ? rc : file_error(do_open(w->plan->m, random_file(w), &w->fd[i]));
}

static u64 random_offset(struct worker *w)
{
	return rand_below(&w->fr, w->plan->file_pages * PAGE_SIZE);
}

/* Up to 40 pages; half of them whole ones. */
static void random_part(struct worker *w, u64 *offset, u64 *len)
{
	*offset = random_offset(w);
	*len = 1 + rand_below(&w->fr, 40 * PAGE_SIZE);
	if (rand_below(&w->fr, 2)) {
		*offset &= PAGE_MASK;
		*len = ALIGN(*len, PAGE_SIZE);
	}
}

/* In order half of the time, so that there is something to read ahead. */
static int fop_read(struct worker *w, u32 fd)
{
	u64 offset, len, done;
	int rc = 0;

	if (rand_below(&w->fr, 2)) {
		random_part(w, &offset, &len);
		return file_error(do_pread(w->plan->m, fd, offset, len, &done));
	}
	offset = random_offset(w) & PAGE_MASK;
	for (u32 n = (u32)rand_below(&w->fr, 60); n && !rc; n--, offset += PAGE_SIZE)
		rc = file_error(do_pread(w->plan->m, fd, offset, PAGE_SIZE, &done));
	return rc;
}

static int fop_write(struct worker *w, u32 fd)
{
	u64 offset, len, done;

	random_part(w, &offset, &len);
	return file_error(do_pwrite(w->plan->m, fd, offset, len, &done));
}

/* Nobody's accesses reach behind the end, unless the file is cut off later. */
static int fop_map(struct worker *w, u32 fd)
{
	struct space *s = w->space;
	u64 size = fd_file(w->plan->m, fd)->f_inode->i_size / PAGE_SIZE;
	int flags = rand_below(&w->fr, 2) ? MM_MAP_SHARED : 0;
	u64 first, pages, va;
	int rc;

	if (s->nr_maps == MAPS_MAX || !size)
		return 0;
	first = rand_below(&w->fr, size);
	pages = 1 + rand_below(&w->fr, size - first);
	rc = do_mmap_file(w->plan->m, fd, first * PAGE_SIZE, pages * PAGE_SIZE,
	                  MM_PROT_READ | MM_PROT_WRITE, flags, &va);
	if (rc == -EAGAIN && w->plan->locks) /* RLIMIT_MEMLOCK, and mlockall(MCL_FUTURE) */
		return 0;
	if (rc)
		return expected(w, rc, -ENOMEM);
	if (s->nr_maps == MAPS_MAX)
		return expected(w, do_munmap(w->plan->m, va, pages * PAGE_SIZE), 0);
	s->map[s->nr_maps].va = va;
	s->map[s->nr_maps++].pages = pages;
	return 0;
}

static int fop_advise(struct worker *w, u32 fd)
{
	u64 offset, len;

	random_part(w, &offset, &len);
	return do_fadvise(w->plan->m, fd, offset, rand_below(&w->fr, 4) ? len : 0,
	                  (enum mm_fadvice)rand_below(&w->fr, MM_FADV_DONTNEED + 1));
}

static int fop_map_advise(struct worker *w)
{
	static const enum mm_advice advice[] = {MM_MADV_NORMAL, MM_MADV_RANDOM, MM_MADV_SEQUENTIAL,
	                                        MM_MADV_WILLNEED};
	const struct space *s = w->space;
	u32 i;

	if (!s->nr_maps)
		return 0;
	i = (u32)rand_below(&w->fr, s->nr_maps);
	return expected(w,
	                do_madvise(w->plan->m, s->map[i].va, s->map[i].pages * PAGE_SIZE,
	                           advice[rand_below(&w->fr, ARRAY_SIZE(advice))]),
	                -ENOMEM);
}

/* A new file in the place of an old one, which goes when its last user does. */
static int fop_replace(struct worker *w)
{
	u32 i = (u32)rand_below(&w->fr, w->plan->nr_files);
	u32 old = w->plan->ino[i];
	u32 ino;
	int rc = do_creat(w->plan->m, "new", &ino);

	if (rc)
		return file_error(rc);
	if (w->plan->ino[i] != old) /* somebody was faster */
		return do_unlink(w->plan->m, ino);
	w->plan->ino[i] = ino;
	return do_unlink(w->plan->m, old);
}

static int fop_drop(struct worker *w)
{
	world_syscall_enter();
	drop_pagecache(w->plan->m);
	world_syscall_exit();
	return 0;
}

static int file_op(struct worker *w)
{
	u32 fd = w->fd[rand_below(&w->fr, FDS_MAX)];
	u64 op = rand_below(&w->fr, 100);

	if (!fd || op < 10)
		return fop_open(w);
	if (op < 40)
		return fop_read(w, fd);
	if (op < 62)
		return fop_write(w, fd);
	if (op < 76)
		return fop_map(w, fd);
	if (op < 84)
		return fop_advise(w, fd);
	if (op < 88)
		return fop_map_advise(w);
	if (op < 91)
		return file_error(do_fsync(w->plan->m, fd));
	if (op < 93)
		return do_ftruncate(w->plan->m, fd, random_offset(w));
	if (op < 95)
		return fop_replace(w);
	if (op < 96)
		return do_sync(w->plan->m);
	if (op < 97)
		return fop_drop(w);
	if (w->space->nr_maps)
		return file_error(do_msync(w->plan->m, w->space->map[0].va, PAGE_SIZE));
	return 0;
}

static void worker_close_all(struct worker *w)
{
	for (u32 i = 0; i < FDS_MAX; i++)
		if (w->fd[i])
			do_close(w->plan->m, w->fd[i]);
}

#endif
