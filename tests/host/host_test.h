/*
 * What the tests of host/ share: requests, the state of the host before and after, and a lock, so
 * that two test programs (and two engineers) do not take each other's changes for leftovers.
 */
#ifndef TESTS_HOST_HOST_TEST_H
#define TESTS_HOST_HOST_TEST_H

#include "tests/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#include "host/host.h"

#define MB (1UL << 20)
#define MS 1000000UL
#define SECOND 1000000000UL

/* In a task's function, which has @err and returns an errno. */
#define CHECK(c)                                                                                   \
	do {                                                                                       \
		if (!(c)) {                                                                        \
			snprintf(err, TARGET_ERROR_MAX, "line %d: %s", __LINE__, #c);              \
			return -EINVAL;                                                            \
		}                                                                                  \
	} while (0)

__attribute__((unused)) static void test_host_lock(void)
{
	const char *path = "/tmp/quire-host-test.lock";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
	/* Held until the program ends. */
	if (fd < 0 || flock(fd, LOCK_EX) != 0)
		test_skip_all("cannot lock /tmp/quire-host-test.lock");
}

__attribute__((unused)) static void test_sleep_ms(unsigned long ms)
{
	struct timespec ts = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * MS)};

	nanosleep(&ts, NULL);
}

typedef int (*body_fn)(struct target_task *t, char *err);

/* The "program" of these tests: a C function for each name. */
struct test_body {
	const char *name;
	body_fn fn;
};

__attribute__((unused)) static int test_run_body(void *program, struct target_task *t, char *err)
{
	for (const struct test_body *b = program; b->name; b++)
		if (strcmp(b->name, t->function) == 0)
			return b->fn(t, err);
	snprintf(err, TARGET_ERROR_MAX, "no body %s", t->function);
	return -EINVAL;
}

struct test_request {
	struct target_request req;
	struct target_group group[4];
	struct target_setting setting[8];
	struct target_files files[4];
};

__attribute__((unused)) static void test_request_init(struct test_request *r, void *bodies)
{
	memset(r, 0, sizeof(*r));
	r->req.scenario = "test";
	r->req.variant = "test";
	r->req.kernel = "";
	r->req.seed = test_seed();
	r->req.setting = r->setting;
	r->req.group = r->group;
	r->req.files = r->files;
	r->req.max_ns = 20 * SECOND;
	r->req.body = test_run_body;
	r->req.program = bodies;
}

__attribute__((unused)) static struct target_group *test_group(struct test_request *r,
                                                               const char *name, u32 nr)
{
	struct target_group *g = &r->group[r->req.nr_groups++];

	snprintf(g->name, sizeof(g->name), "%s", name);
	g->nr = nr;
	return g;
}

__attribute__((unused)) static void test_set(struct test_request *r, const char *name,
                                             const char *value)
{
	struct target_setting *s = &r->setting[r->req.nr_settings++];

	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->value, sizeof(s->value), "%s", value);
	snprintf(s->origin, sizeof(s->origin), "test");
}

__attribute__((unused)) static struct target_files *test_files(struct test_request *r,
                                                               const char *name, u64 size, u32 nr)
{
	struct target_files *f = &r->files[r->req.nr_files++];

	snprintf(f->name, sizeof(f->name), "%s", name);
	f->size_bytes = size;
	f->nr = nr;
	return f;
}

__attribute__((unused)) static s64 test_counter(const struct target_result *res, const char *name)
{
	for (u32 i = 0; i < res->nr_counters; i++)
		if (strcmp(res->counter[i].name, name) == 0)
			return res->counter[i].value;
	return -1;
}

/* open() and run() that must succeed; *res is the result. The target is closed. */
__attribute__((unused)) static int test_run(struct test_request *r, struct target_result *res)
{
	char err[TARGET_ERROR_MAX] = "";
	struct target *t = NULL;
	int rc = host_target_ops.open(&r->req, &t, err);

	if (rc)
		fail_msg("open: %d, %s", rc, err);
	rc = host_target_ops.run(t, res);
	host_target_ops.close(t);
	return rc;
}

/* ---- the state of the host ---- */

struct host_state_text {
	char text[32768];
	size_t len;
};

__attribute__((unused)) static void state_add(struct host_state_text *s, const char *what,
                                              const char *value)
{
	int n = snprintf(s->text + s->len, sizeof(s->text) - s->len, "%s: %s\n", what, value);

	s->len = (size_t)n < sizeof(s->text) - s->len ? s->len + (size_t)n : s->len;
}

__attribute__((unused)) static void state_add_file(struct host_state_text *s, const char *path)
{
	char buf[2048] = "";
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return;

	ssize_t n = read(fd, buf, sizeof(buf) - 1);

	close(fd);
	if (n >= 0)
		state_add(s, path, buf);
}

static int state_compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Names in @dir that contain @part; their contents too if @content. */
__attribute__((unused)) static void state_add_dir(struct host_state_text *s, const char *dir,
                                                  const char *part, bool content)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, state_compare_names);

	for (int i = 0; i < n; i++) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		if (names[i]->d_name[0] != '.' && strstr(names[i]->d_name, part) &&
		    strcmp(names[i]->d_name, "stat_refresh") != 0) {
			if (content)
				state_add_file(s, path);
			else
				state_add(s, "name", path);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* Everything a run may change: swap, sysctls, pools, cgroups, devices, files, processes. */
__attribute__((unused)) static void state_read(struct host_state_text *s)
{
	struct dirent **names;
	int n;

	s->len = 0;
	state_add_file(s, "/proc/swaps");
	state_add_dir(s, "/proc/sys/vm", "", true);
	state_add_file(s, "/proc/self/oom_score_adj");
	state_add_dir(s, "/sys/fs/cgroup", "quire", false);
	state_add_dir(s, "/sys/fs/cgroup/memory", "quire", false);
	state_add_dir(s, "/sys/block", "zram", false);
	state_add_file(s, "/sys/block/vda/queue/read_ahead_kb");
	state_add_file(s, "/sys/block/sda/queue/read_ahead_kb");
	state_add_file(s, "/sys/block/nvme0n1/queue/read_ahead_kb");
	state_add_dir(s, "/var/tmp", "quire-", false);
	state_add_dir(s, "/run", "quire", false);
	state_add_dir(s, "/tmp", "quire-host-0", false);

	n = scandir("/proc", &names, NULL, state_compare_names);
	for (int i = 0; i < n; i++) {
		char path[512];
		char comm[64] = "";
		char state = 'Z';
		FILE *f;

		/* "12 (name) S ...": zombies are up to whoever is their parent now. */
		snprintf(path, sizeof(path), "/proc/%s/stat", names[i]->d_name);
		free(names[i]);
		f = strtol(path + 6, NULL, 10) > 0 ? fopen(path, "r") : NULL;
		if (!f)
			continue;
		if (fscanf(f, "%*d (%63[^)]) %c", comm, &state) == 2 && state != 'Z' &&
		    (strstr(comm, "quire-watcher") || strstr(comm, "quire-anchor") ||
		     strstr(comm, "hosttask")))
			state_add(s, path, comm);
		fclose(f);
	}
	if (n >= 0)
		free(names);
}

/* The first line that differs, for the message. */
__attribute__((unused)) static void state_difference(const char *a, const char *b, char *text,
                                                     size_t size)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	snprintf(text, size, "before '%.200s', now '%.200s'", a, b);
}

/* The host must be as in @before, at once or (after a kill) within @wait_ms. */
__attribute__((unused)) static void assert_host_as_before(const struct host_state_text *before,
                                                          unsigned long wait_ms)
{
	static struct host_state_text now;
	char text[512];

	for (unsigned long ms = 0;; ms += 20) {
		state_read(&now);
		if (strcmp(before->text, now.text) == 0)
			return;
		if (ms >= wait_ms)
			break;
		test_sleep_ms(20);
	}
	state_difference(before->text, now.text, text, sizeof(text));
	fail_msg("the host is not as before: %s", text);
}

#endif
