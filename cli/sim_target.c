/*
 * Joins a simulated world to a machine, and scenario tasks to the machine's tasks.
 *
 * A task of the scenario is a user task of the machine whose user code is the scenario's Lua: the body
 * runs in the task's fiber and comes back through the operations below, each of which is what the
 * program would do: a system call, or an access to its memory. The Lua interpreter's own time is not
 * charged; what a program computes between calls is what it says with compute().
 */
#include "cli/sim_target.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/sim_series.h"
#include "core/knobs.h"
#include "core/mm.h"
#include "core/mm_types.h"
#include "load/profile.h"
#include "report/heatmap.h"
#include "report/trace.h"
#include "sim/sim.h"
#include "world/world.h"

#define BALLAST_ORDER 9 /* pages of BALLAST_PAGE_BYTES */

struct sim_task {
	struct target_task t; /* first: a body is given this */
	struct task *task;
	struct list_head all;      /* in sim_target->tasks */
	struct list_head sibling;  /* in its parent's children, until waited for */
	struct list_head children; /* newest first */
	u32 number;                /* among its parent's children, from 0 */
	u32 *open;                 /* descriptors, 0 where none is */
	u32 nr_open;
	u64 start_ns;
	u32 nr_spawned;
	bool background;
	bool ended;
	char error[TARGET_ERROR_MAX];
	int err;
};

struct sim_barrier {
	struct wait_queue_head queue;
	u32 size;
	u32 arrived;
	u32 generation;
};

struct sim_event {
	struct wait_queue_head queue;
	bool set;
};

struct sim_target {
	const struct target_ops *ops; /* first: struct target is this */
	const struct target_request *req;
	struct world *world;
	struct machine *machine;
	struct sim_series *series; /* NULL: not asked for */
	struct list_head tasks;    /* in order of creation, without those waited for */
	struct sim_barrier barrier[TARGET_SYNC_MAX];
	struct sim_event event[TARGET_SYNC_MAX];
	s64 counter[TARGET_SYNC_MAX];
	u64 time_ns; /* record_time() */
	u32 *file;   /* inode numbers, by the scenario's number */
	u32 nr_files;
	u32 nr_tasks;                /* ever */
	u32 nr_foreground;           /* still running */
	bool running;                /* booting is nobody's business */
	struct target_result before; /* counters and times when measuring began */
	char notes[1024];
};

static struct sim_target *to_sim(const struct target *t)
{
	return (struct sim_target *)t;
}

static struct sim_target *sim_of(const struct target_task *t)
{
	return to_sim(t->target);
}

static struct sim_task *sim_task_of(const struct target_task *t)
{
	return (struct sim_task *)t;
}

/* ---- building ------------------------------------------------------------------------------- */

static int set_knobs(const struct target_request *req, struct knobs *k, char *err)
{
	int rc = knobs_preset(k, req->kernel);

	if (rc) {
		snprintf(err, TARGET_ERROR_MAX, "%s: no kernel preset named \"%s\"", req->scenario,
		         req->kernel);
		return rc;
	}
	for (u32 i = 0; i < req->nr_settings; i++) {
		const struct target_setting *s = &req->setting[i];
		char why[256];

		if (strncmp(s->name, "host.", 5) == 0)
			continue; /* only the host target has these */
		rc = knob_set(k, s->name, s->value, why, sizeof(why));
		if (rc) {
			snprintf(err, TARGET_ERROR_MAX, "%s: %s", s->origin, why);
			return -EINVAL;
		}
	}
	return 0;
}

/* ---- a twin's memory ---- */

__printf(2, 3) static void note(struct sim_target *s, const char *fmt, ...)
{
	size_t len = strlen(s->notes);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->notes + len, sizeof(s->notes) - len, fmt, ap);
	va_end(ap);
}

/* What the zones of the host had for its tasks, the twin's have too. */
static void leave_free(struct sim_target *s, const struct target_memory *host)
{
	for (u32 i = 0; i < host->nr_zones; i++) {
		const struct target_zone *z = &host->zone[i];
		long left = machine_leave_free(s->machine, z->node, z->name, z->nr_pages);

		note(s, "%s%s %lu", i ? ", " : "pages for the tasks as on the host: ", z->name,
		     z->nr_pages);
		if (left)
			note(s, " (%ld)", (long)z->nr_pages + left);
	}
	note(s, ", after %.2f GB of ballast there\n", (double)host->ballast_bytes / (1UL << 30));
}

/* Without figures of a run: whatever the allocator gives to the pool of huge pages. */
static int take_ballast(struct sim_target *s, char *err)
{
	u64 nr = s->req->ballast_bytes / BALLAST_PAGE_BYTES;
	u64 got;

	if (!nr || (s->req->twin_of && s->req->twin_of->nr_zones))
		return 0;
	got = machine_take_blocks(s->machine, BALLAST_ORDER, nr);
	if (got != nr) {
		snprintf(err, TARGET_ERROR_MAX,
		         "the ballast could not be filled: %lu of %lu huge pages", got, nr);
		return -EINVAL;
	}
	note(s, "ballast: %lu huge pages of 2 MB; nothing else is held\n", nr);
	return 0;
}

static struct sim_series *new_series(void)
{
	struct sim_series *series = report_alloc(1, sizeof(*series));

	series_init(&series->series, SIM_SERIES_FIRST_NS);
	return series;
}

static void free_series(struct sim_target *s)
{
	if (!s->series)
		return;
	series_free(&s->series->series);
	free(s->series);
}

static void tell_watch(void *arg, const struct sim_trace_event *e)
{
	struct sim_target *s = arg;

	if (s->running)
		s->req->watch->fn(s->req->watch, (struct target *)s, e);
}

static u64 tell_time(void *arg, u64 now)
{
	struct sim_target *s = arg;

	s->req->watch->at_time(s->req->watch, (struct target *)s, now);
	return UINT64_MAX; /* never again */
}

/* ---- files ---- */

static int create_files(struct sim_target *s, char *err)
{
	const struct target_request *req = s->req;
	u32 nr = 0;

	for (u32 i = 0; i < req->nr_files; i++)
		nr += req->files[i].nr;
	if (!nr)
		return 0;
	s->file = calloc(nr, sizeof(*s->file));
	if (!s->file)
		return -ENOMEM;
	for (u32 i = 0; i < req->nr_files; i++) {
		const struct target_files *f = &req->files[i];

		for (u32 k = 0; k < f->nr; k++) {
			int rc = machine_file_create(s->machine, f->name, f->size_bytes, f->sparse,
			                             &s->file[s->nr_files]);

			if (rc) {
				snprintf(err, TARGET_ERROR_MAX, "file \"%s\" [%u] of %lu bytes: %s",
				         f->name, k, f->size_bytes,
				         rc == -ENOSPC ? "the profile's disk for files is too "
				                         "small, or there is none"
				                       : strerror(-rc));
				return -EINVAL;
			}
			s->nr_files += 1;
		}
	}
	return 0;
}

static int sim_open(const struct target_request *req, struct target **out, char *err)
{
	struct sim_options opt = {
		.seed = req->seed,
		.check = req->check,
		.tracing = req->trace,
		.heat = req->heat,
		.nr_slices_max = req->nr_slices,
		.slices_from_ns = req->trace_from_ns,
		.slices_to_ns = req->trace_to_ns,
		.max_ns = req->max_ns,
	};
	struct sim_target *s;
	struct knobs knobs;
	int rc = set_knobs(req, &knobs, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->ops = &sim_target_ops;
	s->req = req;
	INIT_LIST_HEAD(&s->tasks);
	if (req->watch) {
		opt.tracing = true;
		opt.watch = tell_watch;
		opt.watch_arg = s;
		opt.sample = req->watch->time_ns ? tell_time : NULL;
		opt.sample_arg = s;
		opt.sample_ns = req->watch->time_ns;
	} else if (req->series) {
		s->series = new_series();
		opt.sample = sim_series_sample;
		opt.sample_arg = s->series;
	}
	s->world = sim_create(req->hw, &opt, err);
	if (!s->world) {
		rc = errno == ENOMEM ? -EOPNOTSUPP : -EINVAL;
		goto out_free;
	}
	s->machine = machine_create(s->world, &knobs, err, TARGET_ERROR_MAX);
	if (!s->machine) {
		rc = errno == ENOMEM ? -EOPNOTSUPP : -EINVAL;
		goto out_world;
	}
	if (s->series) {
		s->series->world = s->world;
		s->series->machine = s->machine;
	}
	rc = take_ballast(s, err);
	if (rc)
		goto out_machine;
	for (u32 i = 0; req->swap_bytes && i < req->hw->nr_disks; i++) {
		if (req->hw->disk[i].files)
			continue;
		rc = do_swapon(s->machine, i, -1);
		if (rc) {
			snprintf(err, TARGET_ERROR_MAX, "disk \"%s\": swapon failed: %s",
			         req->hw->disk[i].name, strerror(-rc));
			goto out_machine;
		}
	}
	rc = create_files(s, err);
	if (rc)
		goto out_machine;
	if (req->twin_of)
		leave_free(s, req->twin_of);
	for (u32 i = 0; i < req->nr_barriers; i++) {
		init_waitqueue_head(&s->barrier[i].queue);
		s->barrier[i].size = req->barrier_size[i];
	}
	for (u32 i = 0; i < req->nr_events; i++)
		init_waitqueue_head(&s->event[i].queue);
	*out = (struct target *)s;
	return 0;

out_machine:
	free(s->file);
	machine_destroy(s->machine);
out_world:
	sim_destroy(s->world);
out_free:
	free_series(s);
	free(s);
	return rc;
}

static void sim_close(struct target *t)
{
	struct sim_target *s = to_sim(t);
	struct sim_task *st, *next;

	list_for_each_entry_safe (st, next, &s->tasks, all) {
		free(st->open);
		free(st);
	}
	free(s->file);
	machine_destroy(s->machine);
	sim_destroy(s->world);
	free_series(s);
	free(s);
}

/* ---- tasks ------------------------------------------------------------------------------------- */

static int sim_sleep_until(u64 when);

/* The run is over when the foreground tasks are: the others are killed, as by a signal. */
static void foreground_ended(struct sim_target *s)
{
	struct sim_task *st;

	if (--s->nr_foreground)
		return;
	list_for_each_entry (st, &s->tasks, all) {
		if (!st->background || st->ended)
			continue;
		st->task->killed = true;
		world_wake_signal(&st->task->w);
	}
}

static void sim_task_main(struct task *task, void *arg)
{
	struct sim_task *st = arg;
	struct sim_target *s = sim_of(&st->t);

	(void)task;
	if (!st->start_ns || sim_sleep_until(st->start_ns) == 0)
		st->err = s->req->body(s->req->program, &st->t, st->error);
	for (u32 i = 0; i < st->nr_open; i++)
		if (st->open[i])
			do_close(s->machine, st->open[i]);
	st->ended = true;
	if (st->err && st->err != -EINTR)
		sim_stop(s->world); /* a scenario's own error ends the run */
	if (!st->background)
		foreground_ended(s);
}

static struct sim_task *new_task(struct sim_target *s, const char *function, u32 index, u32 nr,
                                 u64 seed)
{
	struct sim_task *st = calloc(1, sizeof(*st));

	if (!st)
		panic("out of host memory for task %u", s->nr_tasks);
	st->t.target = (struct target *)s;
	st->t.function = function;
	st->t.index = index;
	st->t.nr = nr;
	st->t.seed = seed;
	list_add_tail(&st->all, &s->tasks);
	INIT_LIST_HEAD(&st->sibling);
	INIT_LIST_HEAD(&st->children);
	return st;
}

/* Its children are nobody's then, as those of a process that has ended. */
static void free_task(struct sim_task *st)
{
	struct sim_task *child, *next;

	list_for_each_entry_safe (child, next, &st->children, sibling)
		list_del_init(&child->sibling);
	list_del(&st->all);
	list_del(&st->sibling);
	free(st);
}

static int start_group(struct sim_target *s, u32 group)
{
	const struct target_group *g = &s->req->group[group];

	for (u32 i = 0; i < g->nr; i++) {
		u64 seed = target_task_seed(s->req, group, i);
		struct sim_task *st = new_task(s, g->name, i, g->nr, seed);

		st->background = g->background;
		st->start_ns = target_start_ns(s->req, group, i);
		st->task = task_create(s->machine, g->name, NULL, sim_task_main, st);
		if (!st->task)
			return -ENOMEM;
		st->task->oom_score_adj = g->oom_score_adj;
		if (g->has_memlock)
			task_set_memlock(st->task, g->memlock_bytes, false);
		st->task->owner = st;
		s->nr_tasks += 1;
		if (g->speed_bp)
			sim_task_set_speed(&st->task->w, target_slowness_bp(s->req, group, i));
		s->nr_foreground += !g->background;
	}
	return 0;
}

/* ---- running ------------------------------------------------------------------------------------ */

/* Of events only what happened during the run counts: booting allocates pages, too. */
struct counting {
	struct target_result *res;
	const struct target_result *before; /* NULL: this is before */
};

static void add_counter(const char *name, u64 value, bool event, void *arg)
{
	struct counting *counting = arg;
	struct target_result *res = counting->res;
	struct target_counter *c;

	if (res->nr_counters == TARGET_COUNTERS_MAX)
		return;
	c = &res->counter[res->nr_counters++];
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->value = (s64)value;
	if (event && counting->before)
		c->value -= counting->before->counter[c - res->counter].value;
	if (strcmp(name, "oom_kill") == 0)
		res->nr_oom_kills = (u32)value;
}

/* A disk's errors have no counter in /proc/vmstat. */
static void note_disk_errors(struct sim_target *s)
{
	for (u32 i = 0; i < s->req->hw->nr_disks; i++) {
		const struct sim_disk_stats *d = sim_disk_stats(s->world, i);

		if (d && d->nr_errors)
			note(s, "disk \"%s\": %lu of %lu requests failed\n",
			     s->req->hw->disk[i].name, d->nr_errors, d->nr_ended);
	}
}

/* A child that was waited for is not in the list: its parent has its times. */
static void add_times(struct sim_target *s, struct target_result *res)
{
	struct sim_task *st;

	list_for_each_entry (st, &s->tasks, all) {
		u64 user;
		u64 sys;

		task_times(st->task, &user, &sys);
		res->user_ns += user;
		res->sys_ns += sys;
	}
}

static void collect(struct sim_target *s, struct target_result *res)
{
	struct sim_task *st;

	res->elapsed_ns = sim_elapsed(s->world) - sim_measured_from(s->world);
	res->nr_tasks = s->nr_tasks;
	add_times(s, res);
	res->user_ns -= s->before.user_ns;
	res->sys_ns -= s->before.sys_ns;
	list_for_each_entry (st, &s->tasks, all) {
		/* A child that was waited for ended well. */
		if (st->err && st->err != -EINTR) {
			res->nr_failed += 1;
			if (!res->error[0])
				snprintf(res->error, sizeof(res->error), "%s", st->error);
		}
	}
	machine_counters(s->machine, add_counter, &(struct counting){res, &s->before});
	machine_gauges(s->machine, add_counter, &(struct counting){res, NULL});
	if (s->time_ns)
		add_counter("time_ns", s->time_ns, false, &(struct counting){res, NULL});
	note_disk_errors(s);
	if (machine_sigbus_kills(s->machine))
		note(s, "%u tasks were killed by SIGBUS: a page could not be read back\n",
		     machine_sigbus_kills(s->machine));
	snprintf(res->notes, sizeof(res->notes), "%s", s->notes);
}

/* Said of the scenario's line, if it is one of its barriers or events that nobody comes to. */
static void describe_deadlock(const struct sim_target *s, struct target_result *res)
{
	const struct sim_task *first = NULL;
	const struct sim_task *st;
	u32 nr = 0;

	list_for_each_entry (st, &s->tasks, all) {
		if (st->ended || !st->t.waits_for[0])
			continue;
		if (!first)
			first = st;
		nr += 1;
	}
	if (!first)
		snprintf(res->error, sizeof(res->error), "deadlock: every task waits for another");
	else
		snprintf(res->error, sizeof(res->error),
		         "%s, which never comes: deadlock (%u of the tasks wait%s in this way)",
		         first->t.waits_for, nr, nr == 1 ? "s" : "");
}

static int sim_target_run(struct target *t, struct target_result *res)
{
	struct sim_target *s = to_sim(t);
	struct sim_task *st;
	int rc;

	memset(res, 0, sizeof(*res));
	machine_counters(s->machine, add_counter, &(struct counting){&s->before, NULL});
	for (u32 i = 0; i < s->req->nr_groups; i++) {
		rc = start_group(s, i);
		if (rc) {
			snprintf(res->error, sizeof(res->error),
			         "the machine is too small for the tasks of group \"%s\"",
			         s->req->group[i].name);
			return rc;
		}
	}
	list_for_each_entry (st, &s->tasks, all)
		task_start(st->task, -1);
	s->running = true;
	rc = sim_run(s->world);
	s->running = false;
	if (s->series)
		sim_series_end(s->series, sim_elapsed(s->world));
	collect(s, res);
	if (res->nr_failed)
		return -ECANCELED;
	if (rc == -ETIME)
		snprintf(res->error, sizeof(res->error),
		         "still running after %.3f simulated seconds",
		         (double)res->elapsed_ns / 1e9);
	else if (rc == -EDEADLK)
		describe_deadlock(s, res);
	else if (s->req->check && !s->req->watch) /* who watches may have stopped it anywhere */
		machine_audit(s->machine);
	return rc;
}

static int write_one(struct sim_target *s, const char *dir, const char *name,
                     void (*fn)(struct machine *m, FILE *f), char *err)
{
	char path[TARGET_ERROR_MAX - 64];
	bool broken;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f) {
		int rc = -errno;

		snprintf(err, TARGET_ERROR_MAX, "%s: %s", path, strerror(-rc));
		return rc;
	}
	fn(s->machine, f);
	broken = ferror(f) != 0;
	if (fclose(f) || broken) {
		int rc = errno ? -errno : -EIO;

		snprintf(err, TARGET_ERROR_MAX, "%s: %s", path, strerror(-rc));
		return rc;
	}
	return 0;
}

static int sim_write_proc(struct target *t, const char *dir, char *err)
{
	struct sim_target *s = to_sim(t);
	static const struct {
		const char *name;
		void (*fn)(struct machine *m, FILE *f);
	} file[] = {
		{"vmstat", proc_vmstat},
		{"zoneinfo", proc_zoneinfo},
		{"meminfo", proc_meminfo},
		{"buddyinfo", proc_buddyinfo},
		{"pagetypeinfo", proc_pagetypeinfo},
	};

	if (mkdir(dir, 0777) && errno != EEXIST) {
		int rc = -errno;

		snprintf(err, TARGET_ERROR_MAX, "%s: %s", dir, strerror(-rc));
		return rc;
	}
	for (u32 i = 0; i < ARRAY_SIZE(file); i++) {
		int rc = write_one(s, dir, file[i].name, file[i].fn, err);

		if (rc)
			return rc;
	}
	return 0;
}

/* ---- operations of a task -------------------------------------------------------------------------- */

static struct machine *machine_of(const struct target_task *t)
{
	return sim_of(t)->machine;
}

static int killed(void)
{
	return current_task()->killed ? -EINTR : 0;
}

static int op_mmap(struct target_task *t, u64 len, int prot, int flags, u64 *va)
{
	int p = (prot & TARGET_PROT_READ ? MM_PROT_READ : 0) |
	        (prot & TARGET_PROT_WRITE ? MM_PROT_WRITE : 0);
	int f = (flags & TARGET_MAP_NORESERVE ? MM_MAP_NORESERVE : 0) |
	        (flags & TARGET_MAP_LOCKED ? MM_MAP_LOCKED : 0) |
	        (flags & TARGET_MAP_POPULATE ? MM_MAP_POPULATE : 0);

	return do_mmap(machine_of(t), len, p, f, va);
}

static int op_mlock(struct target_task *t, u64 va, u64 len, int flags)
{
	if (flags & TARGET_MLOCK_ONFAULT)
		return do_mlock2(machine_of(t), va, len, MM_MLOCK_ONFAULT);
	return do_mlock(machine_of(t), va, len);
}

static int op_munlock(struct target_task *t, u64 va, u64 len)
{
	return do_munlock(machine_of(t), va, len);
}

static int op_mlockall(struct target_task *t, int flags)
{
	int f = (flags & TARGET_MCL_CURRENT ? MM_MCL_CURRENT : 0) |
	        (flags & TARGET_MCL_FUTURE ? MM_MCL_FUTURE : 0) |
	        (flags & TARGET_MCL_ONFAULT ? MM_MCL_ONFAULT : 0);

	return f ? do_mlockall(machine_of(t), f) : do_munlockall(machine_of(t));
}

static int op_munmap(struct target_task *t, u64 va, u64 len)
{
	return do_munmap(machine_of(t), va, len);
}

static int op_mprotect(struct target_task *t, u64 va, u64 len, int prot)
{
	int p = (prot & TARGET_PROT_READ ? MM_PROT_READ : 0) |
	        (prot & TARGET_PROT_WRITE ? MM_PROT_WRITE : 0);

	return do_mprotect(machine_of(t), va, len, p);
}

static int op_brk(struct target_task *t, s64 delta, u64 *end)
{
	u64 now;
	int rc = do_brk(machine_of(t), 0, &now);

	if (rc)
		return rc;
	return do_brk(machine_of(t), now + (u64)delta, end);
}

static int op_madvise(struct target_task *t, u64 va, u64 len, enum target_advice advice)
{
	static const enum mm_advice to_mm[] = {
		[TARGET_MADV_NORMAL] = MM_MADV_NORMAL,
		[TARGET_MADV_DONTNEED] = MM_MADV_DONTNEED,
		[TARGET_MADV_FREE] = MM_MADV_FREE,
		[TARGET_MADV_WILLNEED] = MM_MADV_WILLNEED,
		[TARGET_MADV_RANDOM] = MM_MADV_RANDOM,
		[TARGET_MADV_SEQUENTIAL] = MM_MADV_SEQUENTIAL,
		[TARGET_MADV_HUGEPAGE] = MM_MADV_HUGEPAGE,
		[TARGET_MADV_NOHUGEPAGE] = MM_MADV_NOHUGEPAGE,
	};

	return do_madvise(machine_of(t), va, len, to_mm[advice]);
}

/* Where the task keeps @fd, or (0) a new one. */
static u32 *open_slot(struct sim_task *st, u32 fd)
{
	for (u32 i = 0; i < st->nr_open; i++)
		if (st->open[i] == fd)
			return &st->open[i];
	if (fd)
		return NULL;
	st->open = realloc(st->open, (st->nr_open + 1) * sizeof(*st->open));
	if (!st->open)
		panic("out of host memory for open files");
	st->open[st->nr_open] = 0;
	return &st->open[st->nr_open++];
}

static int op_file_open(struct target_task *t, u32 file, u32 *fd)
{
	struct sim_target *s = sim_of(t);
	u32 *slot = open_slot(sim_task_of(t), 0);
	int rc;

	if (file >= s->nr_files)
		return -ENOENT;
	rc = do_open(s->machine, s->file[file], slot);
	if (!rc)
		*fd = *slot;
	return rc ? rc : killed();
}

static int op_file_close(struct target_task *t, u32 fd)
{
	u32 *slot = open_slot(sim_task_of(t), fd);

	if (!fd || !slot)
		return -EBADF;
	*slot = 0;
	return do_close(machine_of(t), fd);
}

/* A descriptor that the task has open. */
static bool is_open(struct target_task *t, u32 fd)
{
	return fd && open_slot(sim_task_of(t), fd);
}

static int op_file_mmap(struct target_task *t, u32 fd, u64 offset, u64 len, int prot, int flags,
                        u64 *va)
{
	int p = (prot & TARGET_PROT_READ ? MM_PROT_READ : 0) |
	        (prot & TARGET_PROT_WRITE ? MM_PROT_WRITE : 0) |
	        (prot & TARGET_PROT_EXEC ? MM_PROT_EXEC : 0);

	if (!is_open(t, fd))
		return -EBADF;
	return do_mmap_file(machine_of(t), fd, offset, len, p,
	                    flags & TARGET_MAP_SHARED ? MM_MAP_SHARED : 0, va);
}

static int op_file_read(struct target_task *t, u32 fd, u64 offset, u64 len, u64 *done)
{
	return is_open(t, fd) ? do_pread(machine_of(t), fd, offset, len, done) : -EBADF;
}

static int op_file_write(struct target_task *t, u32 fd, u64 offset, u64 len, u64 *done)
{
	return is_open(t, fd) ? do_pwrite(machine_of(t), fd, offset, len, done) : -EBADF;
}

static int op_file_fsync(struct target_task *t, u32 fd)
{
	return is_open(t, fd) ? do_fsync(machine_of(t), fd) : -EBADF;
}

static int op_file_truncate(struct target_task *t, u32 fd, u64 size)
{
	return is_open(t, fd) ? do_ftruncate(machine_of(t), fd, size) : -EBADF;
}

static int op_file_advise(struct target_task *t, u32 fd, u64 offset, u64 len,
                          enum target_fadvice advice)
{
	static const enum mm_fadvice to_mm[] = {
		[TARGET_FADV_NORMAL] = MM_FADV_NORMAL,
		[TARGET_FADV_RANDOM] = MM_FADV_RANDOM,
		[TARGET_FADV_SEQUENTIAL] = MM_FADV_SEQUENTIAL,
		[TARGET_FADV_WILLNEED] = MM_FADV_WILLNEED,
		[TARGET_FADV_DONTNEED] = MM_FADV_DONTNEED,
	};

	return is_open(t, fd) ? do_fadvise(machine_of(t), fd, offset, len, to_mm[advice]) : -EBADF;
}

static int op_file_temporary(struct target_task *t, u32 *fd)
{
	struct machine *m = machine_of(t);
	u32 *slot = open_slot(sim_task_of(t), 0);
	u32 ino;
	int rc = do_creat(m, "temporary", &ino);

	if (rc)
		return rc;
	rc = do_open(m, ino, slot);
	if (!rc)
		*fd = *slot;
	do_unlink(m, ino);
	return rc ? rc : killed();
}

static int op_sync(struct target_task *t)
{
	return do_sync(machine_of(t));
}

static int op_access(struct target_task *t, u64 va, u64 len, enum target_access kind, u64 seed)
{
	static const enum world_access to_world[] = {
		[TARGET_READ] = WORLD_READ,
		[TARGET_TOUCH] = WORLD_WRITE,
		[TARGET_FILL] = WORLD_FILL,
		[TARGET_SCAN] = WORLD_SCAN,
	};

	return mm_access(machine_of(t), va, len, to_world[kind], seed);
}

static int op_spawn(struct target_task *t, enum target_spawn how, const char *function,
                    const s64 arg[4], u32 *child)
{
	struct sim_target *s = sim_of(t);
	struct sim_task *parent = sim_task_of(t);
	u32 number = parent->nr_spawned++;
	u64 seed = target_child_seed(t->seed, number);
	struct sim_task *st = new_task(s, function, 0, 1, seed);
	int rc = 0;

	memcpy(st->t.arg, arg, sizeof(st->t.arg));
	if (how == TARGET_THREAD)
		st->task = task_create(s->machine, function, current_task(), sim_task_main, st);
	else if (how == TARGET_EXEC)
		rc = do_spawn(s->machine, function, sim_task_main, st, &st->task);
	else
		rc = do_fork(s->machine, function, sim_task_main, st, &st->task);
	if (!st->task) {
		free_task(st);
		return rc ? rc : -ENOMEM;
	}
	st->task->owner = st;
	st->background = parent->background;
	s->nr_foreground += !st->background;
	list_add(&st->sibling, &parent->children);
	st->number = *child = number;
	s->nr_tasks += 1;
	task_start(st->task, -1);
	return 0;
}

static int op_wait(struct target_task *t, u32 child)
{
	struct sim_task *st;
	int rc;

	list_for_each_entry (st, &sim_task_of(t)->children, sibling) {
		if (st->number != child)
			continue;
		rc = do_wait(st->task);
		/* A child that failed has ended the run, and is kept for its message. */
		if (!rc && (!st->err || st->err == -EINTR))
			free_task(st);
		return rc;
	}
	return -ECHILD;
}

/* nanosleep(): high-resolution, ended by a fatal signal. */
static int sim_sleep_until(u64 when)
{
	world_syscall_enter();
	while (world_now() < when && !current_task()->killed) {
		world_current()->state = WORLD_TASK_INTERRUPTIBLE;
		schedule_timeout(when - world_now());
	}
	world_syscall_exit();
	return killed();
}

static int op_sleep(struct target_task *t, u64 ns)
{
	(void)t;
	return sim_sleep_until(world_now() + ns);
}

static int op_compute(struct target_task *t, u64 ns)
{
	(void)t;
	world_user_compute(ns);
	return killed();
}

/* Sleeps on @q until *@flag differs from @old, or the task is killed. In the kernel. */
static void wait_change(struct wait_queue_head *q, const u32 *flag, u32 old)
{
	struct wait_queue_entry e;

	for (;;) {
		prepare_to_wait(q, &e, 0, false, WORLD_TASK_INTERRUPTIBLE);
		if (READ_ONCE(*flag) != old || current_task()->killed)
			break;
		schedule_timeout(WORLD_FOREVER);
		finish_wait(&e);
	}
	finish_wait(&e);
}

static int op_barrier(struct target_task *t, u32 barrier)
{
	struct sim_barrier *b = &sim_of(t)->barrier[barrier];
	u32 generation;

	world_syscall_enter();
	world_order();
	generation = b->generation;
	if (++b->arrived == b->size) {
		b->arrived = 0;
		b->generation += 1;
		wake_up_all(&b->queue);
	} else {
		wait_change(&b->queue, &b->generation, generation);
	}
	world_syscall_exit();
	return killed();
}

static int op_event_set(struct target_task *t, u32 event)
{
	struct sim_event *e = &sim_of(t)->event[event];

	world_syscall_enter();
	WRITE_ONCE(e->set, true);
	wake_up_all(&e->queue);
	world_syscall_exit();
	return killed();
}

static int op_event_wait(struct target_task *t, u32 event)
{
	struct sim_event *e = &sim_of(t)->event[event];
	struct wait_queue_entry w;

	world_syscall_enter();
	for (;;) {
		prepare_to_wait(&e->queue, &w, 0, false, WORLD_TASK_INTERRUPTIBLE);
		if (READ_ONCE(e->set) || current_task()->killed)
			break;
		schedule_timeout(WORLD_FOREVER);
		finish_wait(&w);
	}
	finish_wait(&w);
	world_syscall_exit();
	return killed();
}

static int op_counter_add(struct target_task *t, u32 counter, s64 delta, s64 *value)
{
	s64 *c = &sim_of(t)->counter[counter];

	world_order(); /* an atomic of user code */
	charge(COST_ATOMIC);
	*value = *c += delta;
	return killed();
}

static u64 op_now(struct target_task *t)
{
	(void)t;
	return world_now();
}

static int op_drop_caches(struct target_task *t, u32 what)
{
	return do_drop_caches(machine_of(t), what);
}

static int op_record_time(struct target_task *t, u64 ns)
{
	sim_of(t)->time_ns += ns;
	return killed();
}

static int op_start_measuring(struct target_task *t)
{
	struct sim_target *s = sim_of(t);

	sim_start_measuring(s->world);
	s->time_ns = 0;
	memset(&s->before, 0, sizeof(s->before));
	add_times(s, &s->before);
	machine_counters(s->machine, add_counter, &(struct counting){&s->before, NULL});
	return killed();
}

const struct target_ops sim_target_ops = {
	.name = "sim",
	.open = sim_open,
	.run = sim_target_run,
	.write_proc = sim_write_proc,
	.close = sim_close,
	.mmap = op_mmap,
	.munmap = op_munmap,
	.mprotect = op_mprotect,
	.brk = op_brk,
	.madvise = op_madvise,
	.file_open = op_file_open,
	.file_close = op_file_close,
	.file_mmap = op_file_mmap,
	.file_read = op_file_read,
	.file_write = op_file_write,
	.file_fsync = op_file_fsync,
	.file_truncate = op_file_truncate,
	.file_advise = op_file_advise,
	.file_temporary = op_file_temporary,
	.sync = op_sync,
	.mlock = op_mlock,
	.munlock = op_munlock,
	.mlockall = op_mlockall,
	.access = op_access,
	.spawn = op_spawn,
	.wait = op_wait,
	.sleep = op_sleep,
	.compute = op_compute,
	.barrier = op_barrier,
	.event_set = op_event_set,
	.event_wait = op_event_wait,
	.counter_add = op_counter_add,
	.now = op_now,
	.drop_caches = op_drop_caches,
	.record_time = op_record_time,
	.start_measuring = op_start_measuring,
};

struct world *sim_target_world(const struct target *t)
{
	return to_sim(t)->world;
}

const struct series *sim_target_series(const struct target *t)
{
	const struct sim_series *s = to_sim(t)->series;

	return s ? &s->series : NULL;
}

struct record_trace *sim_target_trace(const struct target *t)
{
	const struct world *w = to_sim(t)->world;
	struct record_trace *trace;
	const struct slice *slice;

	if (!to_sim(t)->req->nr_slices)
		return NULL;
	trace = report_alloc(1, sizeof(*trace));
	slice = sim_slices(w, &trace->info);
	trace->slice = report_alloc(trace->info.nr, sizeof(*slice));
	memcpy(trace->slice, slice, trace->info.nr * sizeof(*slice));
	trace->nr_tasks = sim_slice_names(w, NULL, 0);
	trace->task = report_alloc(trace->nr_tasks, sizeof(*trace->task));
	sim_slice_names(w, trace->task, trace->nr_tasks);
	return trace;
}

struct record_heat *sim_target_heat(const struct target *t)
{
	const struct world *w = to_sim(t)->world;
	struct record_heat *heat;
	u64 column_ns;
	u32 nr_columns;
	u32 nr;

	if (!to_sim(t)->req->heat)
		return NULL;
	nr = sim_heat_rows(w, &column_ns, &nr_columns);
	heat = heat_new(column_ns, nr_columns, nr);
	for (u32 i = 0; i < nr; i++) {
		struct sim_heat_row r;

		sim_heat_row(w, i, &r);
		heat_add(heat, r.space, r.name, r.page, r.nr_pages, r.touched);
	}
	heat_reduce(heat, HEATMAP_ROWS_MAX);
	return heat;
}

const struct ledger *sim_target_ledger(const struct target *t)
{
	return &to_sim(t)->world->ledger;
}

struct machine *sim_target_machine(const struct target *t)
{
	return to_sim(t)->machine;
}
