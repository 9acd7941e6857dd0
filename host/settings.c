/*
 * What the scenario's settings mean on a real kernel.
 *
 * "vm.*" are sysctls: written before the run, restored after it. A few are refused, because they
 * are actions that nothing can undo, or could take the host down. "host.*" are our own. Of the other
 * knobs only madvise.free means something here; the rest is named once in the notes.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/internal.h"
#include "lib/append.h"

/* Of each pair one is in force and the other reads 0, which cannot be written back. */
static const char *const exclusive[][2] = {
	{"dirty_bytes", "dirty_ratio"},
	{"dirty_background_bytes", "dirty_background_ratio"},
	{"overcommit_kbytes", "overcommit_ratio"},
};

static const char *const refused[] = {
	"nr_hugepages",
	"nr_hugepages_mempolicy",
	"nr_overcommit_hugepages",
	"panic_on_oom",
	"drop_caches",
	"compact_memory",
	"stat_refresh",
	"numa_stat",
};

static void sysctl_path(const char *name, char path[HOST_PATH_MAX])
{
	snprintf(path, HOST_PATH_MAX, "/proc/sys/vm/%s", name);
}

static bool name_is_plain(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
			return false;
	return *name != '\0';
}

static int read_sysctl(struct target *t, const struct target_setting *s, char *err)
{
	struct host_config *c = &t->config;
	const char *name = s->name + strlen("vm.");
	struct host_sysctl *slot = NULL;

	if (!name_is_plain(name))
		return host_error(err, -EINVAL, "%s: '%s' is no name of a sysctl", s->origin,
		                  s->name);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (strcmp(name, refused[i]) == 0)
			return host_error(err, -EINVAL, "%s: vm.%s cannot be set on the host",
			                  s->origin, name);
	for (u32 i = 0; i < c->nr_sysctls; i++)
		if (strcmp(c->sysctl[i].name, name) == 0)
			slot = &c->sysctl[i]; /* a later setting wins */
	if (!slot) {
		if (c->nr_sysctls == HOST_SYSCTLS_MAX)
			return host_error(err, -EINVAL, "%s: more than %d sysctls", s->origin,
			                  HOST_SYSCTLS_MAX);
		slot = &c->sysctl[c->nr_sysctls++];
	}
	snprintf(slot->name, sizeof(slot->name), "%s", name);
	snprintf(slot->value, sizeof(slot->value), "%s", s->value);
	snprintf(slot->origin, sizeof(slot->origin), "%s", s->origin);
	return 0;
}

static int read_choice(const struct target_setting *s, const char *const *values, size_t nr,
                       char *err)
{
	char list[128] = "";

	for (size_t i = 0; i < nr; i++) {
		if (strcmp(s->value, values[i]) == 0)
			return (int)i;
		append_text(list, sizeof(list), "%s%s", i ? ", " : "", values[i]);
	}
	return host_error(err, -EINVAL, "%s: %s is one of %s, not '%s'", s->origin, s->name, list,
	                  s->value);
}

/* No sysctl: it belongs to the disk that the scenario's files lie on (files.c). */
static int read_read_ahead(struct target *t, const struct target_setting *s, char *err)
{
	char *end;
	u64 kb = strtoull(s->value, &end, 10);

	if (!isdigit((unsigned char)s->value[0]) || *end || kb > 1 << 20)
		return host_error(err, -EINVAL, "%s: %s is a number of kB, not '%s'", s->origin,
		                  s->name, s->value);
	snprintf(t->config.read_ahead_kb, sizeof(t->config.read_ahead_kb), "%lu", kb);
	return 0;
}

/* Returns 1 if the setting is none of the host's. */
static int read_setting(struct target *t, const struct target_setting *s, char *err)
{
	static const char *const free_values[] = {"lazy", "throttle", "dontneed"};
	static const char *const thp_values[] = {"leave", "never"};
	int choice;

	if (strcmp(s->name, "vm.read_ahead_kb") == 0)
		return read_read_ahead(t, s, err);
	if (strncmp(s->name, "vm.", 3) == 0)
		return read_sysctl(t, s, err);
	if (strcmp(s->name, "madvise.free") == 0) {
		choice = read_choice(s, free_values, ARRAY_SIZE(free_values), err);
		if (choice >= 0)
			t->config.free = (enum host_free)choice;
		return min(choice, 0);
	}
	if (strcmp(s->name, "host.thp") == 0) {
		choice = read_choice(s, thp_values, ARRAY_SIZE(thp_values), err);
		if (choice >= 0)
			t->config.thp = (enum host_thp)choice;
		return min(choice, 0);
	}
	if (strcmp(s->name, "host.swap_dir") == 0) {
		snprintf(t->config.swap_dir, sizeof(t->config.swap_dir), "%s", s->value);
		return 0;
	}
	if (strcmp(s->name, "host.file_dir") == 0) {
		snprintf(t->config.file_dir, sizeof(t->config.file_dir), "%s", s->value);
		return 0;
	}
	if (strncmp(s->name, "host.", 5) == 0)
		return host_error(err, -EINVAL,
		                  "%s: unknown setting %s; the host has host.thp, host.swap_dir "
		                  "and host.file_dir",
		                  s->origin, s->name);
	return 1;
}

int settings_read(struct target *t, char *err)
{
	char ignored[512] = "";

	for (u32 i = 0; i < t->req->nr_settings; i++) {
		const struct target_setting *s = &t->req->setting[i];
		int rc = read_setting(t, s, err);

		if (rc < 0)
			return rc;
		if (rc && !strstr(ignored, s->name))
			append_text(ignored, sizeof(ignored), "%s%s", *ignored ? ", " : "",
			            s->name);
	}
	if (*ignored)
		note(t, "only for the simulation, without effect here: %s", ignored);
	if (t->config.free == HOST_FREE_THROTTLE)
		note(t,
		     "madvise.free = throttle is emulated by the tasks: before each MADV_FREE they "
		     "compare nr_free_pages with 1.5 x min_free_kbytes");
	return 0;
}

int sysctls_check(struct target *t, char *err)
{
	char path[HOST_PATH_MAX];

	for (u32 i = 0; i < t->config.nr_sysctls; i++) {
		const struct host_sysctl *s = &t->config.sysctl[i];

		sysctl_path(s->name, path);
		if (access(path, F_OK) != 0)
			return host_error(err, -EOPNOTSUPP, "%s: this kernel has no vm.%s",
			                  s->origin, s->name);
		if (!file_writable(path))
			return host_error(err, -EPERM, "writing %s needs root", path);
	}
	return 0;
}

/* Arms what puts @name back. Of an exclusive pair it is the one that is in force. */
static int sysctl_save(struct target *t, const char *name)
{
	const char *saved = name;
	char path[HOST_PATH_MAX];
	char old[HOST_VALUE_MAX];
	ssize_t n;
	int rc;

	sysctl_path(name, path);
	n = file_read(path, old, sizeof(old));
	for (size_t i = 0; n > 0 && i < ARRAY_SIZE(exclusive); i++)
		for (size_t k = 0; k < 2; k++)
			if (strcmp(name, exclusive[i][k]) == 0 && strcmp(old, "0\n") == 0)
				saved = exclusive[i][1 - k];
	if (saved != name) {
		sysctl_path(saved, path);
		n = file_read(path, old, sizeof(old));
	}
	if (n < 0)
		return (int)n;
	old[strcspn(old, "\n")] = '\0';
	rc = undo_arm(t, UNDO_WRITE, path, old);
	return min(rc, 0);
}

/* The kernel prints "32 32 32" with tabs, and may round. */
static bool same_words(const char *a, const char *b)
{
	for (;;) {
		a += strspn(a, " \t\n");
		b += strspn(b, " \t\n");

		size_t n = strcspn(a, " \t\n");

		if (n != strcspn(b, " \t\n") || strncmp(a, b, n) != 0)
			return false;
		if (n == 0)
			return true;
		a += n;
		b += n;
	}
}

int sysctls_apply(struct target *t, char *err)
{
	char path[HOST_PATH_MAX];
	char now[HOST_VALUE_MAX];

	for (u32 i = 0; i < t->config.nr_sysctls; i++) {
		const struct host_sysctl *s = &t->config.sysctl[i];
		int rc = sysctl_save(t, s->name);

		sysctl_path(s->name, path);
		if (!rc)
			rc = file_write(path, s->value);
		if (rc)
			return host_error(
				err, rc == -EINVAL || rc == -ERANGE ? -EINVAL : -EOPNOTSUPP,
				"%s: vm.%s = %s: %s", s->origin, s->name, s->value, strerror(-rc));
		if (file_read(path, now, sizeof(now)) > 0 && !same_words(now, s->value)) {
			now[strcspn(now, "\n")] = '\0';
			note(t, "vm.%s became %s instead of %s", s->name, now, s->value);
		}
	}
	return 0;
}
