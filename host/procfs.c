/*
 * Files of /proc and /sys: reading, writing, counters, and what is unusual about this host.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host/internal.h"

const char *const proc_file_name[NR_PROC_FILES] = {
	[PROC_VMSTAT] = "vmstat",
	[PROC_ZONEINFO] = "zoneinfo",
	[PROC_MEMINFO] = "meminfo",
	[PROC_BUDDYINFO] = "buddyinfo",
};

/* ---- files ---- */

ssize_t file_read(const char *path, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			n = -errno;
			close(fd);
			return n;
		}
		len += (size_t)n;
	}
	buf[len] = '\0';
	close(fd);
	return (ssize_t)len;
}

char *file_read_all(const char *path)
{
	size_t size = 16384;
	char *buf = NULL;

	for (;; size *= 2) {
		char *bigger = realloc(buf, size);

		if (!bigger)
			break;
		buf = bigger;

		ssize_t n = file_read(path, buf, size);

		if (n < 0)
			break;
		if ((size_t)n < size - 1)
			return buf;
	}
	free(buf);
	return NULL;
}

int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int err = 0;

	if (fd < 0)
		return -errno;
	do {
		n = write(fd, text, strlen(text));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		err = -errno;
	close(fd);
	return err;
}

/* By opening it: access(2) knows nothing of a read-only /proc/sys in a container. */
bool file_writable(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

bool capable(int cap)
{
	char buf[4096];
	char *p;

	if (file_read("/proc/self/status", buf, sizeof(buf)) < 0 || !(p = strstr(buf, "\nCapEff:")))
		return false;
	return strtoull(p + 8, NULL, 16) >> cap & 1;
}

/* ---- counters ---- */

/* The value after "name" at the start of a line of @text, or -1. */
static s64 line_value(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = text; p && *p; p = strchr(p, '\n'), p += p != NULL)
		if (strncmp(p, name, len) == 0 && (p[len] == ' ' || p[len] == ':'))
			return strtoll(p + len + 1, NULL, 10);
	return -1;
}

s64 meminfo_bytes(const char *name)
{
	char buf[8192];

	if (file_read("/proc/meminfo", buf, sizeof(buf)) < 0)
		return -1;

	s64 kb = line_value(buf, name);

	return kb < 0 ? -1 : kb * 1024;
}

s64 vmstat_value(const char *text, const char *name)
{
	return line_value(text, name);
}

/* Adds the per-CPU differences, which may hold back some hundred pages each, to the counters. */
void vmstat_fold(void)
{
	char c[16];

	file_read("/proc/sys/vm/stat_refresh", c, sizeof(c));
}

/* Items that the kernel names like a level although they only grow, and the other way round. */
static bool counter_is_level(const char *name)
{
	static const char *const events[] = {
		"nr_vmscan_write",      "nr_vmscan_immediate_reclaim", "nr_dirtied",
		"nr_written",           "nr_throttled_written",        "nr_foll_pin_acquired",
		"nr_foll_pin_released",
	};

	if (strcmp(name, "workingset_nodes") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (strcmp(name, events[i]) == 0)
			return false;
	return strncmp(name, "nr_", 3) == 0;
}

u32 vmstat_difference(const char *begin, const char *end, struct target_counter *counter, u32 max)
{
	u32 nr = 0;
	const char *b = begin;

	for (const char *e = end; *e && nr < max;) {
		struct target_counter *c = &counter[nr];
		char before[sizeof(c->name)];
		long long value;
		long long old;
		const char *next = strchr(e, '\n');

		if (sscanf(e, "%47s %lld", c->name, &value) == 2) {
			/* Both texts come from one kernel, so the lines correspond. */
			if (!b || sscanf(b, "%47s %lld", before, &old) != 2 ||
			    strcmp(before, c->name) != 0)
				old = vmstat_value(begin, c->name);
			c->value = counter_is_level(c->name) ? value : value - max_t(s64, old, 0);
			nr++;
		}
		if (!next)
			break;
		e = next + 1;
		if (b && (b = strchr(b, '\n')))
			b++;
	}
	return nr;
}

/* ---- what is unusual about this host ---- */

static void strip(char *s)
{
	s[strcspn(s, "\n")] = '\0';
}

/* The word in brackets of "always [madvise] never"; all of it if there is none. */
static const char *chosen(char *s)
{
	char *open = strchr(s, '[');
	char *close = open ? strchr(open, ']') : NULL;

	strip(s);
	if (!close)
		return s;
	*close = '\0';
	return open + 1;
}

static bool cpu_has_flag(const char *flag)
{
	char *text = file_read_all("/proc/cpuinfo");
	char *line = text ? strstr(text, "\nflags") : NULL;
	bool found = false;

	if (line) {
		line++;
		strip(line);
		found = strstr(line, flag) != NULL;
	}
	free(text);
	return found;
}

/* Whether a balloon device with free page reporting (feature bit 5 of device type 5) is there. */
static bool free_pages_are_reported(void)
{
	DIR *dir = opendir("/sys/bus/virtio/devices");
	bool found = false;

	if (!dir)
		return false;
	for (struct dirent *d; !found && (d = readdir(dir));) {
		char path[512];
		char buf[128];

		snprintf(path, sizeof(path), "/sys/bus/virtio/devices/%s/device", d->d_name);
		if (d->d_name[0] == '.' || file_read(path, buf, sizeof(buf)) < 0 ||
		    strtol(buf, NULL, 0) != 5)
			continue;
		snprintf(path, sizeof(path), "/sys/bus/virtio/devices/%s/features", d->d_name);
		found = file_read(path, buf, sizeof(buf)) > 5 && buf[5] == '1';
	}
	closedir(dir);
	return found;
}

/* Somebody's scheme that pages out, or moves on the lists, what was not accessed for a while. */
static bool damon_runs(void)
{
	char path[96];
	char state[16];

	for (u32 i = 0; i < 16; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/mm/damon/admin/kdamonds/%u/state", i);
		if (file_read(path, state, sizeof(state)) > 0 && strncmp(state, "on", 2) == 0)
			return true;
	}
	return false;
}

/* With deferred initialisation zones manage only what has been used yet, and watermarks move. */
static void describe_zones(struct target *t)
{
	char *text = file_read_all("/proc/zoneinfo");
	s64 total = meminfo_bytes("MemTotal");
	u64 managed = 0;
	char a[32];
	char b[32];

	for (char *p = text; p && (p = strstr(p, "\n        managed ")); p++)
		managed += strtoull(p + 17, NULL, 10);
	free(text);
	managed *= (u64)sysconf(_SC_PAGESIZE);
	if (total > 0 && managed < (u64)total - (u64)total / 50)
		note(t,
		     "memory is initialised when first used: the zones manage %s of %s, and they "
		     "and "
		     "their watermarks still grow",
		     size_text(managed, a), size_text((u64)total, b));
}

static void describe_swap(struct target *t)
{
	char buf[4096];
	char path[HOST_PATH_MAX];
	unsigned long long kb;
	char text[32];

	if (file_read("/proc/swaps", buf, sizeof(buf)) < 0)
		return;
	for (char *p = strchr(buf, '\n'); p && *++p; p = strchr(p, '\n'))
		if (sscanf(p, "%255s %*s %llu", path, &kb) == 2)
			note(t, "other swap is left on: %s, %s", path, size_text(kb * 1024, text));
	if (file_read("/sys/module/zswap/parameters/enabled", buf, sizeof(buf)) > 0 && *buf == 'Y')
		note(t, "zswap is on: pages are compressed in RAM before they reach the swap area");
}

void host_describe(struct target *t)
{
	struct utsname u;
	char buf[512];
	char text[32];
	double load;

	if (uname(&u) == 0)
		note(t, "Linux %s, %ld CPUs, %s of RAM%s", u.release, sysconf(_SC_NPROCESSORS_ONLN),
		     size_text((u64)max_t(s64, meminfo_bytes("MemTotal"), 0), text),
		     cpu_has_flag(" hypervisor") ? ", under a hypervisor: faults cost more than on "
		                                   "bare metal, and neighbours can be heard"
		                                 : "");
	if (file_read("/sys/kernel/mm/lru_gen/enabled", buf, sizeof(buf)) > 0 &&
	    strtol(buf, NULL, 0) != 0)
		note(t,
		     "multi-generational LRU is on (%.6s): reclaim is not the active/inactive one",
		     buf);
	if (file_read("/sys/kernel/mm/transparent_hugepage/enabled", buf, sizeof(buf)) > 0) {
		const char *mode = chosen(buf);
		char zero[16] = "";

		file_read("/sys/kernel/mm/transparent_hugepage/use_zero_page", zero, sizeof(zero));
		note(t, "transparent huge pages: %s%s%s", mode,
		     *zero == '1' ? ", reads get the huge zero page" : "",
		     t->config.thp == HOST_THP_NEVER ? "; off in the workers" : "");
	}
	if (free_pages_are_reported())
		note(t, "free pages are reported to the hypervisor: touching a page that was free "
		        "for long costs a fault there too");
	describe_zones(t);
	if (damon_runs())
		note(t,
		     "DAMON runs: pages may be paged out, or moved, although memory is not short");
	if (file_read("/sys/kernel/mm/ksm/run", buf, sizeof(buf)) > 0 && *buf == '1')
		note(t, "kernel same-page merging runs");
	if (file_read("/proc/sys/vm/overcommit_memory", buf, sizeof(buf)) > 0 && *buf == '2')
		note(t, "overcommit is off (vm.overcommit_memory = 2): mmap() may fail");
	if (file_read("/proc/loadavg", buf, sizeof(buf)) > 0 && (load = strtod(buf, NULL)) > 0.3)
		note(t, "the host was not idle before: load average %.2f", load);
	describe_swap(t);
}
