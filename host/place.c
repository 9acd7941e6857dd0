/*
 * Where on this host a swap file or a scenario's files go: a directory on a disk, with room.
 */
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "host/internal.h"

#ifndef OVERLAYFS_SUPER_MAGIC
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#endif
#define BTRFS_MAGIC 0x9123683EUL
#define ZFS_MAGIC 0x2FC12FC1UL

#define SPARE (512UL << 20) /* left free beside what is asked for */

/* NULL: it is suitable; else why not. */
static const char *unsuitable(const char *dir, u64 bytes, enum place_use use)
{
	struct statfs fs;

	if (statfs(dir, &fs) != 0)
		return "no such directory";
	if (access(dir, W_OK) != 0)
		return "this user cannot write there";
	switch ((unsigned long)fs.f_type & UINT32_MAX) {
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
		return "its file system lives in memory";
	case NFS_SUPER_MAGIC:
		return "its file system is another machine's";
	case ZFS_MAGIC:
		return "its file system has a cache of its own";
	case OVERLAYFS_SUPER_MAGIC:
	case BTRFS_MAGIC: /* only with copy-on-write off */
		if (use == PLACE_SWAP)
			return "its file system cannot hold a swap file";
		break;
	}
	if ((u64)fs.f_bavail * (u64)fs.f_bsize < bytes + SPARE)
		return "too little space";
	return NULL;
}

/* /var/tmp before the rest: it is on a disk and meant for large files. */
const char *place_choose(const char *given, const char *setting, u64 bytes, enum place_use use,
                         const char **why)
{
	static const char *const dirs[] = {"/var/tmp", "/var/lib", "/tmp", "/home", "/", "."};
	static char text[128];

	if (*given) {
		*why = unsuitable(given, bytes, use);
		return *why ? NULL : given;
	}
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (!unsuitable(dirs[i], bytes, use))
			return dirs[i];
	snprintf(text, sizeof(text), "no directory on a disk with enough space; name one with %s",
	         setting);
	*why = text;
	return NULL;
}

int place_path(const struct target *t, const char *dir, const char *prefix,
               char path[HOST_PATH_MAX], char *err)
{
	char name[HOST_PATH_MAX];
	char *cwd = dir[0] == '/' ? NULL : getcwd(NULL, 0);
	int n = snprintf(name, sizeof(name), "%s%s%s.%d.%lx", dir,
	                 dir[strlen(dir) - 1] == '/' ? "" : "/", prefix, t->runner,
	                 clock_ns(CLOCK_REALTIME));

	/* The watcher, which removes it, has another working directory. */
	if (n < (int)sizeof(name))
		n = snprintf(path, HOST_PATH_MAX, "%s%s%s", cwd ? cwd : "", cwd ? "/" : "", name);
	free(cwd);
	if (n >= HOST_PATH_MAX || path[0] != '/')
		return host_error(err, -EINVAL, "the path of %s in %s is too long", prefix, dir);
	return 0;
}
