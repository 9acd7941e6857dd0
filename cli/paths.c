/*
 * Where scenarios and machine profiles are.
 */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/sort.h"

static bool is_dir(const char *dir, const char *sub)
{
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/%s", dir, sub) >= (int)sizeof(path))
		return false;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Cuts the last component off. False when nothing is left. */
static bool go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

static bool find_data(char *dir, size_t n)
{
	const char *env = getenv("QUIRE_DATA");
	char up[PATH_MAX];
	ssize_t len;

	if (env && *env)
		return snprintf(dir, n, "%s", env) < (int)n;
	len = readlink("/proc/self/exe", up, sizeof(up) - 1);
	if (len <= 0)
		return false;
	up[len] = '\0';
	go_up(up);
	if (is_dir(up, "../share/quire/scenarios")) {
		go_up(up);
		return snprintf(dir, n, "%s/share/quire", up) < (int)n;
	}
	/* A build directory can be a few levels deep: build/clang-vm2/quire. */
	do {
		if (is_dir(up, "scenarios") && is_dir(up, "machines"))
			return snprintf(dir, n, "%s", up) < (int)n;
	} while (go_up(up));
	/* A build tree somewhere else, used from the sources. */
	if (is_dir(".", "scenarios") && is_dir(".", "machines"))
		return snprintf(dir, n, ".") < (int)n;
	return false;
}

static bool is_here(const char *dir)
{
	struct stat a;
	struct stat b;

	return stat(dir, &a) == 0 && stat(".", &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

const char *data_dir(void)
{
	static char dir[PATH_MAX];

	if (!dir[0] && !find_data(dir, sizeof(dir)))
		return NULL;
	if (is_here(dir))
		strcpy(dir, ".");
	return dir;
}

bool data_path(const char *subdir, const char *name, char *buf, size_t n)
{
	const char *dir = data_dir();
	bool here;

	if (!dir)
		return false;
	here = strcmp(dir, ".") == 0;
	return snprintf(buf, n, "%s%s%s%s%s", here ? "" : dir, here ? "" : "/", subdir,
	                *name ? "/" : "", name) < (int)n;
}

static int compare_names(const void *a, const void *b, void *arg)
{
	(void)arg;
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names, without ".lua", sorted. *@out and what it holds is for free(). */
static int read_names(const char *subdir, char ***out)
{
	char path[PATH_MAX];
	struct dirent *e;
	char **name = NULL;
	int n = 0;
	DIR *d;

	if (!data_path(subdir, "", path, sizeof(path)))
		return -ENOENT;
	d = opendir(path);
	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (len <= 4 || e->d_name[0] == '.' || strcmp(e->d_name + len - 4, ".lua") != 0)
			continue;
		name = realloc(name, sizeof(*name) * (size_t)(n + 1));
		if (!name || !(name[n] = strndup(e->d_name, len - 4)))
			abort();
		n++;
	}
	closedir(d);
	if (n)
		sort_stable(name, (size_t)n, sizeof(*name), compare_names, NULL);
	*out = name;
	return n;
}

static void free_names(char **name, int n)
{
	for (int i = 0; i < n; i++)
		free(name[i]);
	free(name);
}

int data_each(const char *subdir, void (*fn)(const char *name, const char *path, void *arg),
              void *arg)
{
	char path[PATH_MAX];
	char **name = NULL;
	int n = read_names(subdir, &name);

	for (int i = 0; i < n; i++) {
		char file[NAME_MAX + 8];

		snprintf(file, sizeof(file), "%s.lua", name[i]);
		if (data_path(subdir, file, path, sizeof(path)))
			fn(name[i], path, arg);
	}
	if (n >= 0)
		free_names(name, n);
	return n;
}

bool scenario_path(const char *given, char *buf, size_t n)
{
	const char *slash = strrchr(given, '/');
	char base[NAME_MAX + 1];
	char **name = NULL;
	int nr;

	if (is_file(given))
		return snprintf(buf, n, "%s", given) < (int)n;
	if (!slash) {
		const char *dot = strrchr(given, '.');
		bool suffix = dot && strcmp(dot, ".lua") == 0;

		snprintf(base, sizeof(base), "%s%s", given, suffix ? "" : ".lua");
		if (data_path("scenarios", base, buf, n) && is_file(buf))
			return true;
	}
	snprintf(base, sizeof(base), "%s", slash ? slash + 1 : given);
	if (strlen(base) > 4 && strcmp(base + strlen(base) - 4, ".lua") == 0)
		base[strlen(base) - 4] = '\0';
	nr = read_names("scenarios", &name);
	cli_error_near(base, (const char *const *)name, nr > 0 ? (size_t)nr : 0,
	               "there is no scenario \"%s\"", given);
	if (nr >= 0)
		free_names(name, nr);
	return false;
}
