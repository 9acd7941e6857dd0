/*
 * How the tasks get only part of this host's memory.
 *
 * Ballast: the pool of huge pages is raised until the rest is what the scenario asks for. These
 * pages are nobody's, cannot be reclaimed, and come back by writing the old number; reclaim is that
 * of the whole machine, kswapd and watermarks included. A memory cgroup limits the tasks alone: only
 * direct reclaim inside the group, nothing of kswapd.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/internal.h"
#include "lib/append.h"

#define NR_HUGEPAGES "/proc/sys/vm/nr_hugepages"
/* What a ballast must leave to everybody together, below which the host itself would suffer. */
#define BALLAST_LEAVES_MIN (256UL << 20)

static bool kind_is_memcg(const struct target *t)
{
	return strcmp(t->req->limit_kind, "memcg") == 0;
}

/* ---- ballast ---- */

struct ballast {
	u64 page_bytes;
	u64 old_nr;
	u64 nr; /* to be added */
};

/* 0 with nr = 0 if no ballast is needed. Changes nothing. */
static int ballast_plan(struct target *t, struct ballast *b, char *err)
{
	u64 ram = t->req->ram_bytes;
	s64 total = meminfo_bytes("MemTotal");
	s64 available = meminfo_bytes("MemAvailable");
	s64 page = meminfo_bytes("Hugepagesize");
	char buf[64];
	char text[3][32];

	memset(b, 0, sizeof(*b));
	if (total <= 0 || available < 0)
		return host_error(err, -EOPNOTSUPP, "cannot read /proc/meminfo");
	if (ram > (u64)total + (u64)total / 50)
		return host_error(err, -EOPNOTSUPP, "this host has %s of RAM, %s are asked for",
		                  size_text((u64)total, text[0]), size_text(ram, text[1]));
	if (ram >= (u64)total)
		return 0;
	if (page <= 0 || file_read(NR_HUGEPAGES, buf, sizeof(buf)) < 0)
		return host_error(err, -EOPNOTSUPP,
		                  "no ballast: this kernel has no huge pages (CONFIG_HUGETLBFS)");
	b->page_bytes = (u64)page;
	b->old_nr = strtoull(buf, NULL, 10);
	/* What the pool holds already is part of what is missing from MemTotal. */
	u64 held = b->old_nr * b->page_bytes;

	if ((u64)total - held <= ram)
		return 0;
	b->nr = DIV_ROUND_CLOSEST((u64)total - held - ram, b->page_bytes);

	u64 ballast = b->nr * b->page_bytes;
	u64 needed = max(ram / 2, BALLAST_LEAVES_MIN);

	if ((u64)available < ballast + needed)
		return host_error(
			err, -EOPNOTSUPP,
			"a ballast that leaves %s of RAM would leave only %s available: "
			"other programs hold the rest (at least %s must be left); "
			"--set machine.ram=SIZE asks for more",
			size_text(ram, text[0]),
			size_text((u64)available > ballast ? (u64)available - ballast : 0, text[1]),
			size_text(needed, text[2]));
	return 0;
}

static u64 pool_size(void)
{
	char buf[64];

	return file_read(NR_HUGEPAGES, buf, sizeof(buf)) > 0 ? strtoull(buf, NULL, 10) : 0;
}

static void note_zones(struct target *t)
{
	char *text = file_read_all("/proc/zoneinfo");
	char line[256] = "";

	for (char *p = text; p && (p = strstr(p, "zone")); p += 4) {
		char zone[32];
		unsigned long nr_free;

		if (sscanf(p, "zone %31s pages free %lu", zone, &nr_free) == 2 && nr_free)
			append_text(line, sizeof(line), "%s%s %lu", *line ? ", " : "", zone,
			            nr_free);
	}
	free(text);
	if (*line)
		note(t, "free pages by zone at the start: %s", line);
}

static int ballast_apply(struct target *t, char *err)
{
	struct ballast b;
	char old[32];
	char value[32];
	char text[4][32];
	int rc = ballast_plan(t, &b, err);

	if (rc)
		return rc;
	if (!b.nr) {
		note(t, "no ballast is needed: this host has the RAM that is asked for");
		return 0;
	}
	snprintf(old, sizeof(old), "%lu", b.old_nr);
	snprintf(value, sizeof(value), "%lu", b.old_nr + b.nr);
	rc = undo_arm(t, UNDO_WRITE, NR_HUGEPAGES, old);
	if (rc < 0)
		return host_error(err, rc, "too many changes");

	/* The kernel gives what it can; a fragmented host gives more after compaction. */
	for (int i = 0; i < 3 && pool_size() < b.old_nr + b.nr; i++) {
		if (host_stopped(t))
			return host_error(err, -EINTR, "interrupted");
		if (i > 0)
			file_write("/proc/sys/vm/compact_memory", "1");
		rc = file_write(NR_HUGEPAGES, value);
		if (rc && rc != -EINTR)
			return host_error(err, rc == -EACCES ? -EPERM : -EOPNOTSUPP,
			                  "cannot write " NR_HUGEPAGES ": %s", strerror(-rc));
	}

	u64 got = pool_size() - min(pool_size(), b.old_nr);
	u64 missing = (b.nr - min(got, b.nr)) * b.page_bytes;

	if (host_stopped(t))
		return host_error(err, -EINTR, "interrupted");
	if (missing > t->req->ram_bytes / 100)
		return host_error(err, -EOPNOTSUPP,
		                  "the ballast could not be filled: %s of %s in huge pages, memory "
		                  "is too fragmented or in use",
		                  size_text(got * b.page_bytes, text[0]),
		                  size_text(b.nr * b.page_bytes, text[1]));
	t->ballast_bytes = pool_size() * b.page_bytes;
	note(t, "ballast: %s in %lu huge pages; %s of RAM are left (%s asked for), %s available",
	     size_text(got * b.page_bytes, text[0]), got,
	     size_text((u64)meminfo_bytes("MemTotal") - pool_size() * b.page_bytes, text[1]),
	     size_text(t->req->ram_bytes, text[2]),
	     size_text((u64)max_t(s64, meminfo_bytes("MemAvailable"), 0), text[3]));
	note_zones(t);
	return 0;
}

static int ballast_check(struct target *t, char *err)
{
	struct ballast b;
	int rc = ballast_plan(t, &b, err);

	if (rc || !b.nr)
		return rc;
	if (!file_writable(NR_HUGEPAGES))
		return host_error(err, -EPERM, "writing " NR_HUGEPAGES " (the ballast) needs root");
	return 0;
}

/*
 * Free pages, those on the lists of the CPUs, and the page cache, which reclaim takes first. The rest
 * of what is missing is the kernel's and other programs'.
 */
void limit_measure(struct target *t, struct target_memory *memory)
{
	char *text = t->ballast_bytes ? file_read_all("/proc/zoneinfo") : NULL;
	struct target_zone *z = NULL;

	memset(memory, 0, sizeof(*memory));
	memory->ballast_bytes = t->ballast_bytes;
	for (char *p = text; p && *p; p = strchr(p, '\n'), p += p != NULL) {
		struct target_zone next = {.nr_pages = 0};
		u64 nr;

		if (sscanf(p, "Node %u, zone %15s", &next.node, next.name) == 2) {
			if (memory->nr_zones == TARGET_ZONES_MAX)
				break;
			z = &memory->zone[memory->nr_zones++];
			*z = next;
		} else if (z && (sscanf(p, " pages free %lu", &nr) == 1 ||
		                 sscanf(p, " nr_zone_inactive_file %lu", &nr) == 1 ||
		                 sscanf(p, " nr_zone_active_file %lu", &nr) == 1 ||
		                 sscanf(p, " count: %lu", &nr) == 1)) {
			z->nr_pages += nr;
		}
	}
	free(text);
	/* Zones that have nothing are zones that are not there. */
	for (u32 i = memory->nr_zones; i-- > 0;)
		if (!memory->zone[i].nr_pages)
			memory->zone[i] = memory->zone[--memory->nr_zones];
}

/* ---- memory cgroup ---- */

struct hierarchy {
	char root[HOST_PATH_MAX]; /* where the memory controller is mounted */
	bool is_v2;
};

static int hierarchy_find(struct hierarchy *h)
{
	char *text = file_read_all("/proc/self/mounts");
	char dir[HOST_PATH_MAX];
	char type[32];
	char options[256];
	char path[HOST_PATH_MAX + 32];
	char controllers[256];
	int err = -ENOENT;

	for (char *p = text; p && *p; p = strchr(p, '\n'), p += p != NULL) {
		if (sscanf(p, "%*s %255s %31s %255s", dir, type, options) != 3)
			continue;
		if (strcmp(type, "cgroup") == 0 && strstr(options, "memory")) {
			strcpy(h->root, dir);
			h->is_v2 = false;
			err = 0;
			break; /* the controller is in one hierarchy only */
		}
		snprintf(path, sizeof(path), "%s/cgroup.controllers", dir);
		if (strcmp(type, "cgroup2") == 0 &&
		    file_read(path, controllers, sizeof(controllers)) > 0 &&
		    strstr(controllers, "memory")) {
			strcpy(h->root, dir);
			h->is_v2 = true;
			err = 0;
		}
	}
	free(text);
	return err;
}

static int memcg_check(struct target *t, char *err)
{
	struct hierarchy h;

	(void)t;
	if (hierarchy_find(&h) != 0)
		return host_error(err, -EOPNOTSUPP,
		                  "no memory cgroup: no mounted hierarchy has the controller");
	if (access(h.root, W_OK) != 0)
		return host_error(err, errno == EROFS ? -EOPNOTSUPP : -EPERM,
		                  "making a memory cgroup in %s needs root%s", h.root,
		                  errno == EROFS ? " and a mount that is not read-only" : "");
	return 0;
}

/* v2: groups below the root have the controller only if the root passes it on. */
static int memcg_delegate(struct target *t, const struct hierarchy *h)
{
	char path[HOST_PATH_MAX];
	char on[256];
	int rc;

	if (snprintf(path, sizeof(path), "%.200s/cgroup.subtree_control", h->root) < 0)
		return -EINVAL;
	if (file_read(path, on, sizeof(on)) > 0 && strstr(on, "memory"))
		return 0;
	rc = undo_arm(t, UNDO_WRITE, path, "-memory");
	if (rc < 0)
		return rc;
	return file_write(path, "+memory");
}

static int memcg_write(struct target *t, const char *file, u64 bytes)
{
	char path[HOST_PATH_MAX + 64];
	char value[32];

	snprintf(path, sizeof(path), "%s/%s", t->cgroup, file);
	snprintf(value, sizeof(value), "%lu", bytes);
	return file_write(path, value);
}

static int memcg_limit(struct target *t, const struct hierarchy *h)
{
	u64 ram = t->req->ram_bytes;
	u64 swap = t->req->swap_bytes;
	int rc;

	if (h->is_v2) {
		rc = memcg_write(t, "memory.max", ram);
		if (!rc && memcg_write(t, "memory.swap.max", swap) != 0)
			note(t, "memcg: this kernel does not limit the group's swap");
		return rc;
	}
	rc = memcg_write(t, "memory.limit_in_bytes", ram);
	if (!rc && memcg_write(t, "memory.memsw.limit_in_bytes", ram + swap) != 0)
		note(t, "memcg: this kernel does not limit the group's swap");
	return rc;
}

static int memcg_apply(struct target *t, char *err)
{
	struct hierarchy h;
	char path[HOST_PATH_MAX];
	char text[32];
	int rc = hierarchy_find(&h);

	if (!rc && h.is_v2)
		rc = memcg_delegate(t, &h);
	if (rc)
		return host_error(err, -EOPNOTSUPP,
		                  "the memory controller cannot be used in %s: %s", h.root,
		                  strerror(-rc));
	/* Not below this process's own group, which may have processes and then no children (v2). */
	snprintf(path, sizeof(path), "%.200s/quire-host.%d", h.root, t->runner);
	rc = undo_arm(t, UNDO_CGROUP, path, "");
	if (rc < 0)
		return host_error(err, rc, "too many changes");
	if (mkdir(path, 0755) != 0) {
		rc = -errno;
	} else {
		strcpy(t->cgroup, path);
		rc = memcg_limit(t, &h);
	}
	if (rc)
		return host_error(err, rc == -EPERM || rc == -EACCES ? -EPERM : -EOPNOTSUPP,
		                  "cannot set up the memory cgroup %s: %s", path, strerror(-rc));
	note(t,
	     "memory cgroup (v%d) of %s for the tasks: reclaim is the group's own, without kswapd, "
	     "and /proc/vmstat leaves it out of pgscan_direct, pgsteal_direct and allocstall",
	     h.is_v2 ? 2 : 1, size_text(t->req->ram_bytes, text));
	return 0;
}

/* ---- either ---- */

int limit_check(struct target *t, char *err)
{
	const char *kind = t->req->limit_kind;

	if (!t->req->ram_bytes)
		return 0;
	if (*kind && strcmp(kind, "ballast") != 0 && !kind_is_memcg(t))
		return host_error(err, -EINVAL, "a limit is \"ballast\" or \"memcg\", not \"%s\"",
		                  kind);
	return kind_is_memcg(t) ? memcg_check(t, err) : ballast_check(t, err);
}

int limit_apply(struct target *t, char *err)
{
	if (!t->req->ram_bytes)
		return 0;
	return kind_is_memcg(t) ? memcg_apply(t, err) : ballast_apply(t, err);
}
