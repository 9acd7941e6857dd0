/*
 * Writing results to files. See save.h.
 */
#include "report/save.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *path, int rc, char *err)
{
	snprintf(err, SAVE_ERROR_MAX, "cannot write %s: %s", path, strerror(-rc));
	return rc;
}

/* Things that cannot be renamed over: a terminal, a pipe, /dev/null. */
static bool in_place(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static int replace(const char *path, const char *text, size_t len)
{
	char aside[PATH_MAX];
	struct stat st;
	int rc;
	int fd;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (snprintf(aside, sizeof(aside), "%s.XXXXXX", path) >= (int)sizeof(aside))
		return -ENAMETOOLONG;
	fd = mkstemp(aside);
	if (fd < 0)
		return -errno;
	rc = write_all(fd, text, len);
	if (!rc) {
		mode_t mask = umask(0);

		umask(mask);
		if (fchmod(fd, 0666 & ~mask) || fsync(fd))
			rc = -errno;
	}
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && rename(aside, path))
		rc = -errno;
	if (rc)
		unlink(aside);
	return rc;
}

int save_file(const char *path, void (*fn)(FILE *f, const void *arg), const void *arg, char *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int rc;

	if (!f)
		return fail(path, -errno, err);
	fn(f, arg);
	if (fclose(f)) {
		rc = -errno;
	} else if (strcmp(path, "-") == 0) {
		fflush(stdout);
		rc = write_all(STDOUT_FILENO, text, len);
	} else if (in_place(path)) {
		f = fopen(path, "w");
		rc = f ? write_all(fileno(f), text, len) : -errno;
		if (f && fclose(f) && !rc)
			rc = -errno;
	} else {
		rc = replace(path, text, len);
	}
	free(text);
	return rc ? fail(path, rc, err) : 0;
}

int save_check(const char *path, char *err)
{
	char dir[PATH_MAX];
	struct stat st;
	char *slash;

	if (strcmp(path, "-") == 0)
		return 0;
	if (!*path)
		return fail("\"\"", -ENOENT, err);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return fail(path, -EISDIR, err);
	if (in_place(path))
		return access(path, W_OK) ? fail(path, -errno, err) : 0;
	if (snprintf(dir, sizeof(dir), "%s", path) >= (int)sizeof(dir))
		return fail(path, -ENAMETOOLONG, err);
	slash = strrchr(dir, '/');
	if (!slash)
		strcpy(dir, ".");
	else
		slash[slash == dir] = '\0';
	if (access(dir, W_OK | X_OK))
		return fail(path, -errno, err);
	return 0;
}
