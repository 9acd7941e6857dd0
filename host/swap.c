/*
 * A swap area for the length of a run: a file, or a zram device.
 *
 * The file is allocated, not written: the kernel swaps to its blocks directly. A file system that
 * wants written blocks gets them in a second try. Ours has the highest priority, so it is used
 * first; areas that are on already are left and reported.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

#include "host/internal.h"

#define SWAP_PAGE 4096UL
#define ZRAM_CONTROL "/sys/class/zram-control"

/* include/linux/swap.h, union swap_header, of 4 KiB pages. */
struct swap_header {
	char bootbits[1024];
	u32 version;
	u32 last_page;
	u32 nr_badpages;
	u8 uuid[16];
	char volume_name[16];
	u32 padding[117];
	u32 badpages[1];
	char unused[SWAP_PAGE - 1024 - 12 - 32 - 117 * 4 - 4 - 10];
	char magic[10];
};
_Static_assert(sizeof(struct swap_header) == SWAP_PAGE, "one page");

static bool kind_is_zram(const struct target *t)
{
	return strcmp(t->req->swap_kind, "zram") == 0;
}

/* ---- checks ---- */

static const char *choose_dir(const struct target *t, const char **why)
{
	return place_choose(t->config.swap_dir, "host.swap_dir", t->req->swap_bytes, PLACE_SWAP,
	                    why);
}

int swap_check(struct target *t, char *err)
{
	const char *kind = t->req->swap_kind;
	const char *why = "";
	char text[32];

	if (!t->req->swap_bytes)
		return 0;
	if (*kind && strcmp(kind, "disk") != 0 && !kind_is_zram(t))
		return host_error(err, -EINVAL, "swap is \"disk\" or \"zram\", not \"%s\"", kind);
	if (t->req->swap_bytes < 10 * SWAP_PAGE) /* the kernel's least for a swap area */
		return host_error(err, -EINVAL, "a swap area has at least 40 KB");
	if (t->req->swap_bytes / SWAP_PAGE >= UINT32_MAX)
		return host_error(err, -EINVAL, "a swap area has less than 16 TB");
	if (!capable(CAP_SYS_ADMIN))
		return host_error(err, -EPERM, "swapon(2) needs root (CAP_SYS_ADMIN)");
	if (kind_is_zram(t)) {
		if (access(ZRAM_CONTROL "/hot_add", F_OK) != 0)
			return host_error(err, -EOPNOTSUPP,
			                  "no zram: %s is missing (modprobe zram, or a kernel with "
			                  "CONFIG_ZRAM)",
			                  ZRAM_CONTROL);
		if (access(ZRAM_CONTROL "/hot_add", R_OK) != 0 ||
		    !file_writable(ZRAM_CONTROL "/hot_remove"))
			return host_error(err, -EPERM, "making a zram device needs root");
		return 0;
	}
	if (!choose_dir(t, &why))
		return host_error(err, -EOPNOTSUPP, "no place for a swap file of %s%s%s: %s",
		                  size_text(t->req->swap_bytes, text),
		                  t->config.swap_dir[0] ? " in " : "", t->config.swap_dir, why);
	return 0;
}

/* ---- the area ---- */

/* @bytes includes the header's page. */
static int write_header(int fd, u64 bytes)
{
	struct swap_header *h = calloc(1, sizeof(*h));
	ssize_t n;

	if (!h)
		return -ENOMEM;
	h->version = 1;
	h->last_page = (u32)(bytes / SWAP_PAGE - 1);
	memcpy(h->magic, "SWAPSPACE2", 10);
	n = pwrite(fd, h, sizeof(*h), 0);
	free(h);
	if (n != (ssize_t)sizeof(*h))
		return n < 0 ? -errno : -EIO;
	return fsync(fd) == 0 ? 0 : -errno;
}

static int write_zeros(struct target *t, int fd, u64 bytes)
{
	const size_t chunk = 1 << 20;
	char *zeros = calloc(1, chunk);
	int err = zeros ? 0 : -ENOMEM;

	for (u64 at = SWAP_PAGE; !err && at < bytes;) {
		ssize_t n = pwrite(fd, zeros, min_t(u64, chunk, bytes - at), (off_t)at);

		if (n <= 0)
			err = n < 0 ? -errno : -EIO;
		else
			at += (u64)n;
		if (host_stopped(t))
			err = -EINTR;
	}
	free(zeros);
	return err ? err : fsync(fd) == 0 ? 0 : -errno;
}

static int swap_on(struct target *t, const char *path)
{
	int rc = undo_arm(t, UNDO_SWAPOFF, path, "");

	if (rc < 0)
		return rc;
	if (swapon(path, SWAP_FLAG_PREFER | SWAP_FLAG_PRIO_MASK) != 0) {
		int err = -errno;

		undo_disarm(t, rc);
		return err;
	}
	return 0;
}

static int file_make(struct target *t, int fd, const char *path, u64 bytes)
{
	int rc = fallocate(fd, 0, 0, (off_t)bytes) == 0 ? 0 : -errno;
	bool is_allocated = rc == 0;

	if (is_allocated)
		rc = write_header(fd, bytes);
	if (!rc)
		rc = swap_on(t, path);
	if (rc == -EOPNOTSUPP || (is_allocated && rc == -EINVAL)) {
		rc = write_zeros(t, fd, bytes);
		if (!rc)
			rc = write_header(fd, bytes);
		if (!rc)
			rc = swap_on(t, path);
	}
	return rc;
}

static int file_apply(struct target *t, char *err)
{
	u64 bytes = ALIGN(t->req->swap_bytes, SWAP_PAGE) + SWAP_PAGE;
	const char *why = "";
	const char *dir = choose_dir(t, &why);
	char path[HOST_PATH_MAX];
	char text[32];
	int rc;
	int fd;

	if (!dir)
		return host_error(err, -EOPNOTSUPP, "no place for the swap file: %s", why);
	rc = place_path(t, dir, "quire-swap", path, err);
	if (rc)
		return rc;
	rc = undo_arm(t, UNDO_UNLINK, path, "");
	if (rc < 0)
		return host_error(err, rc, "too many changes");
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return host_error(err, -EOPNOTSUPP, "cannot make %s: %s", path, strerror(errno));
	rc = file_make(t, fd, path, bytes);
	close(fd);
	if (rc)
		return host_error(err, rc == -EPERM || rc == -EINTR ? rc : -EOPNOTSUPP,
		                  "cannot swap to %s (%s): %s", path, size_text(bytes, text),
		                  strerror(-rc));
	note(t, "swap: a file of %s in %s", size_text(t->req->swap_bytes, text), dir);
	return 0;
}

/* ---- zram ---- */

static void list_zram(char ids[HOST_VALUE_MAX])
{
	size_t len = (size_t)snprintf(ids, HOST_VALUE_MAX, " ");

	for (u32 i = 0; i < 64 && len < HOST_VALUE_MAX - 16; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/sys/block/zram%u", i);
		if (access(path, F_OK) == 0)
			len += (size_t)snprintf(ids + len, HOST_VALUE_MAX - len, "%u ", i);
	}
}

static int zram_make(struct target *t, char dev[32])
{
	u64 bytes = ALIGN(t->req->swap_bytes, SWAP_PAGE) + SWAP_PAGE;
	char ids[HOST_VALUE_MAX];
	char path[64];
	char text[32];
	int unknown;
	int rc;

	/* Its number is known only afterwards; until then "any new one" is to be undone. */
	list_zram(ids);
	unknown = undo_arm(t, UNDO_ZRAM, "", ids);
	if (unknown < 0)
		return unknown;

	ssize_t n = file_read(ZRAM_CONTROL "/hot_add", text, 16);

	if (n <= 0)
		return n < 0 ? (int)n : -EIO;
	snprintf(dev, 32, "/dev/zram%u", (u32)atoi(text));
	rc = undo_arm(t, UNDO_ZRAM, dev, "");
	if (rc < 0)
		return rc;
	undo_disarm(t, unknown);

	snprintf(path, sizeof(path), "/sys/block/%s/disksize", dev + 5);
	snprintf(text, sizeof(text), "%lu", bytes);
	rc = file_write(path, text);
	if (rc)
		return rc;

	int fd = open(dev, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	rc = write_header(fd, bytes);
	close(fd);
	return rc ? rc : swap_on(t, dev);
}

static int zram_apply(struct target *t, char *err)
{
	char dev[32] = "";
	char algorithm[256] = "";
	char path[64];
	char text[32];
	int rc = zram_make(t, dev);

	if (rc)
		return host_error(err, rc == -EPERM ? rc : -EOPNOTSUPP,
		                  "cannot swap to zram%s%s: %s", *dev ? " " : "", dev,
		                  strerror(-rc));
	snprintf(path, sizeof(path), "/sys/block/%s/comp_algorithm", dev + 5);
	file_read(path, algorithm, sizeof(algorithm));
	algorithm[strcspn(algorithm, "\n")] = '\0';
	note(t,
	     "swap: %s of %s, %s; the tasks' pages are nearly uniform and compress far better "
	     "than real ones",
	     dev, size_text(t->req->swap_bytes, text), algorithm);
	return 0;
}

int swap_apply(struct target *t, char *err)
{
	if (!t->req->swap_bytes)
		return 0;
	return kind_is_zram(t) ? zram_apply(t, err) : file_apply(t, err);
}
