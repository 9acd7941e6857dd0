/*
 * The files of a scenario: made before the run, in a directory of their own on a disk, removed after it.
 *
 * A file has its blocks written, since blocks that are only allocated are read as zeros without the
 * disk; past the page cache, where the file system allows it, so that making them does not push out
 * what other programs have there. A sparse file is a hole. When the tasks are ready the page cache is
 * dropped: every run begins with one that is as empty as the simulated machine's.
 *
 * The directory holds nothing but these files and, for file systems without nameless files, tasks'
 * temporary ones; so it can be removed without knowing what a killed run had made.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host/internal.h"
#include "lib/random.h"

#define CHUNK (1UL << 20)
#define STREAM_CONTENTS 102 /* streams of lib/random.h that host/ uses */
#define DROP_CACHES "/proc/sys/vm/drop_caches"

static u64 bytes_on_disk(const struct target *t)
{
	u64 bytes = 0;

	for (u32 i = 0; i < t->req->nr_files; i++)
		if (!t->req->files[i].sparse)
			bytes += t->req->files[i].size_bytes * t->req->files[i].nr;
	return bytes;
}

static const char *choose_dir(const struct target *t, const char **why)
{
	return place_choose(t->config.file_dir, "host.file_dir", bytes_on_disk(t), PLACE_FILES,
	                    why);
}

/* "/sys/dev/block/254:0/queue/@file" of the disk below @path. False: there is none. */
static bool queue_path(const char *path, const char *file, char name[HOST_PATH_MAX])
{
	struct stat st;

	if (stat(path, &st) != 0)
		return false;
	snprintf(name, HOST_PATH_MAX, "/sys/dev/block/%u:%u/queue/%s", major(st.st_dev),
	         minor(st.st_dev), file);
	if (access(name, F_OK) != 0) /* a partition: the queue is its disk's */
		snprintf(name, HOST_PATH_MAX, "/sys/dev/block/%u:%u/../queue/%s", major(st.st_dev),
		         minor(st.st_dev), file);
	return access(name, F_OK) == 0;
}

int files_check(struct target *t, char *err)
{
	const char *why = "";
	const char *dir;
	char path[HOST_PATH_MAX];
	char text[32];

	for (u32 i = 0; i < t->req->nr_files; i++) {
		if (t->req->files[i].disk)
			return host_error(err, -EOPNOTSUPP,
			                  "file \"%s\" names its disk: on the host all files are "
			                  "on one",
			                  t->req->files[i].name);
		if (t->req->files[i].shm)
			return host_error(err, -EOPNOTSUPP,
			                  "shm \"%s\": on the host only mappings are shared "
			                  "(t:mmap with shared = true), not files of a tmpfs",
			                  t->req->files[i].name);
	}
	if (!t->req->nr_files)
		return 0;
	dir = choose_dir(t, &why);
	if (dir && t->config.read_ahead_kb[0] && queue_path(dir, "read_ahead_kb", path) &&
	    !file_writable(path))
		return host_error(err, -EPERM, "writing %s (vm.read_ahead_kb) needs root", path);
	if (dir)
		return 0;
	return host_error(err, -EOPNOTSUPP, "no place for files of %s%s%s: %s",
	                  size_text(bytes_on_disk(t), text), t->config.file_dir[0] ? " in " : "",
	                  t->config.file_dir, why);
}

/* ---- making ---- */

/* Not all file systems know O_DIRECT; then the pages go when they have been written. */
static int write_contents(struct target *t, int fd, const char *buf, u64 size)
{
	bool is_direct = fcntl(fd, F_SETFL, O_DIRECT) == 0;

	for (u64 at = 0; at < size;) {
		u64 left = size - at;
		/* Direct writes are of whole blocks: the tail goes through the cache. */
		if (is_direct && left < CHUNK && !IS_ALIGNED(left, 4096)) {
			fcntl(fd, F_SETFL, 0);
			is_direct = false;
		}

		ssize_t n = pwrite(fd, buf, min(left, CHUNK), (off_t)at);

		if (n < 0 && errno == EINVAL && is_direct) {
			fcntl(fd, F_SETFL, 0);
			is_direct = false;
			continue;
		}
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += (u64)n;
		if (host_stopped(t))
			return -EINTR;
	}
	return fsync(fd) == 0 ? 0 : -errno;
}

static int make_one(struct target *t, int dir, u32 number, const struct target_files *f,
                    const char *buf)
{
	char name[16];
	int err = 0;
	int fd;

	snprintf(name, sizeof(name), "%05u", number);
	fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (f->sparse)
		err = ftruncate(fd, (off_t)f->size_bytes) == 0 ? 0 : -errno;
	else
		err = write_contents(t, fd, buf, f->size_bytes);
	close(fd);
	return err;
}

static int make_all(struct target *t, int dir, char *err)
{
	char *buf = aligned_alloc(4096, CHUNK);
	struct rand_stream r;
	u32 number = 0;
	int rc = buf ? 0 : host_error(err, -ENOMEM, "no memory");

	if (rc)
		return rc;
	/* Something that a disk can neither leave out nor compress. */
	rand_init(&r, t->req->seed, STREAM_CONTENTS, 0);
	for (size_t i = 0; i < CHUNK; i += sizeof(u64))
		*(u64 *)(buf + i) = rand_u64(&r);
	for (u32 i = 0; !rc && i < t->req->nr_files; i++) {
		const struct target_files *f = &t->req->files[i];

		for (u32 k = 0; !rc && k < f->nr; k++) {
			rc = make_one(t, dir, number++, f, buf);
			if (rc)
				host_error(err, rc == -EINTR ? rc : -EOPNOTSUPP,
				           "cannot make file \"%s\" [%u] in %s: %s", f->name, k,
				           t->files, strerror(-rc));
		}
	}
	free(buf);
	return rc && rc != -EINTR ? -EOPNOTSUPP : rc;
}

static void queue_value(const char *path, const char *file, char value[64])
{
	char name[HOST_PATH_MAX];

	if (!queue_path(path, file, name) || file_read(name, value, 64) <= 0)
		strcpy(value, "?");
	value[strcspn(value, "\n")] = '\0';
}

/* Files that are opened from now on have it. */
static int read_ahead_apply(struct target *t, char *err)
{
	char path[HOST_PATH_MAX];
	char old[64];
	int rc;

	if (!t->config.read_ahead_kb[0])
		return 0;
	if (!queue_path(t->files, "read_ahead_kb", path))
		return host_error(err, -EOPNOTSUPP,
		                  "vm.read_ahead_kb: the disk of the files has no such setting");
	queue_value(t->files, "read_ahead_kb", old);
	rc = undo_arm(t, UNDO_WRITE, path, old);
	if (rc < 0)
		return host_error(err, rc, "too many changes");
	rc = file_write(path, t->config.read_ahead_kb);
	if (rc)
		return host_error(err, rc == -EACCES ? -EPERM : -EOPNOTSUPP, "cannot write %s: %s",
		                  path, strerror(-rc));
	return 0;
}

static void note_files(struct target *t, const char *dir)
{
	struct statfs fs = {.f_type = 0};
	char ra[64];
	char wbt[64];
	char scheduler[64];
	char text[32];

	statfs(t->files, &fs);
	queue_value(t->files, "read_ahead_kb", ra);
	queue_value(t->files, "wbt_lat_usec", wbt);
	queue_value(t->files, "scheduler", scheduler);
	note(t,
	     "files: %s on the disk in %s (file system 0x%lx); read_ahead_kb %s, scheduler %s, "
	     "wbt_lat_usec %s",
	     size_text(bytes_on_disk(t), text), dir, (unsigned long)fs.f_type & UINT32_MAX, ra,
	     scheduler, wbt);
}

int files_apply(struct target *t, char *err)
{
	const char *why = "";
	const char *dir;
	char path[HOST_PATH_MAX];
	int rc;
	int fd;

	if (!t->req->nr_files)
		return 0;
	dir = choose_dir(t, &why);
	if (!dir)
		return host_error(err, -EOPNOTSUPP, "no place for the files: %s", why);
	rc = place_path(t, dir, "quire-files", path, err);
	if (rc)
		return rc;
	/* Nobody else has this name, so the record may come before the directory. */
	rc = undo_arm(t, UNDO_TREE, path, "");
	if (rc < 0)
		return host_error(err, rc, "too many changes");
	if (mkdir(path, 0700) != 0)
		return host_error(err, -EOPNOTSUPP, "cannot make %s: %s", path, strerror(errno));
	strcpy(t->files, path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return host_error(err, -EOPNOTSUPP, "cannot open %s: %s", path, strerror(errno));
	rc = make_all(t, fd, err);
	close(fd);
	if (!rc)
		rc = read_ahead_apply(t, err);
	if (!rc)
		note_files(t, dir);
	return rc;
}

/* ---- before the start ---- */

static void drop_own(const struct target *t, u32 number)
{
	char path[HOST_PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/%05u", t->files, number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

/* Other programs' dirty pages are written first: only clean ones can be dropped. */
void files_drop_cache(struct target *t)
{
	u32 number = 0;

	if (!t->files[0])
		return;
	for (u32 i = 0; i < t->req->nr_files; i++)
		for (u32 k = 0; k < t->req->files[i].nr; k++)
			drop_own(t, number++);
	sync();
	if (file_write(DROP_CACHES, "1") != 0)
		note(t,
		     "the page cache of other programs could not be dropped (writing " DROP_CACHES
		     " needs root): reclaim will meet it");
}

/* ---- removing ---- */

int files_remove(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir;
	int err = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	for (struct dirent *d; (d = readdir(dir));)
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 &&
		    unlinkat(dirfd(dir), d->d_name, 0) != 0 && errno != ENOENT)
			err = -errno;
	closedir(dir);
	if (!err && rmdir(path) != 0 && errno != ENOENT)
		err = -errno;
	return err;
}
