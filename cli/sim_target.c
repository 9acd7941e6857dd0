/*
 * Joins a simulated world to a machine, and scenario tasks to the machine's tasks.
 *
 * A task of the scenario is a user task of the machine whose user code is the scenario's Lua: the body
 * runs in the task's fiber and comes back through operations (sim_ops.c, sim_files.c, sim_sync.c), each of
 * which is what the program would do: a system call, or an access to its memory. The Lua interpreter's own
 * time is not charged; what a program computes between calls is what it says with compute().
 */
#include "cli/sim_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/heatmap.h"
#include "report/trace.h"
#include "sim/sim.h"

/* ---- tasks ------------------------------------------------------------------------------------- */

int sim_sleep_until(u64 when)
{
	world_syscall_enter();
	while (world_now() < when && !current_task()->killed) {
		world_current()->state = WORLD_TASK_INTERRUPTIBLE;
		schedule_timeout(when - world_now());
	}
	world_syscall_exit();
	return killed();
}

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
		return rc ? rc : task_killed(current_task()) ? -EINTR : -ENOMEM;
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
}

/* A disk's errors have no counter in /proc/vmstat. */
static void note_disk_errors(struct sim_target *s)
{
	for (u32 i = 0; i < s->req->hw->nr_disks; i++) {
		const struct sim_disk_stats *d = sim_disk_stats(s->world, i);

		if (d && d->nr_errors)
			sim_note(s, "disk \"%s\": %lu of %lu requests failed\n",
			         s->req->hw->disk[i].name, d->nr_errors, d->nr_ended);
	}
}

#define HUNG_TASKS_NOTED 10

struct hung_notes {
	struct sim_target *s;
	u32 nr;
};

/* As the kernel's log has it. */
static void note_hung_task(const struct sim_hung_task *h, void *arg)
{
	struct hung_notes *n = arg;

	if (n->nr++ < HUNG_TASKS_NOTED)
		sim_note(n->s,
		         "[%5lu.%06lu] INFO: task %s:%u blocked for more than 120 seconds. (since "
		         "%lu.%06lu s, %s)\n",
		         h->reported_ns / 1000000000, h->reported_ns / 1000 % 1000000, h->name,
		         h->id, h->since_ns / 1000000000, h->since_ns / 1000 % 1000000, h->where);
}

/* @over: nobody can go on, so that all who wait would be found. */
static void note_hung_disks(struct sim_target *s, bool over)
{
	struct hung_notes n = {.s = s};
	bool hung = false;

	for (u32 i = 0; i < s->req->hw->nr_disks; i++) {
		const struct sim_disk_stats *d = sim_disk_stats(s->world, i);

		if (!d || !d->nr_unanswered)
			continue;
		hung = true;
		sim_note(s, "disk \"%s\" has not answered since %.3f s: %lu requests\n",
		         s->req->hw->disk[i].name, (double)s->req->hw->disk[i].hang_at_ns / 1e9,
		         d->nr_unanswered);
	}
	if (!hung)
		return;
	sim_hung_tasks(s->world, over ? ~0UL : sim_elapsed(s->world), note_hung_task, &n);
	if (n.nr > HUNG_TASKS_NOTED)
		sim_note(s, "and %u more tasks\n", n.nr - HUNG_TASKS_NOTED);
	if (over && s->nr_foreground)
		sim_note(s, "%u tasks of the scenario will never end\n", s->nr_foreground);
}

/* A child that was waited for is not in the list: its parent has its times. */
static void add_times(struct sim_target *s, struct target_result *res)
{
	struct sim_task *st;

	list_for_each_entry (st, &s->tasks, all) {
		u64 user;
		u64 sys;

		if (!st->task) /* the run has ended while its parent was in fork() */
			continue;
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
	res->nr_oom_kills = machine_oom_kills(s->machine);
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
		sim_note(s, "%u tasks were killed by SIGBUS: a page could not be read back\n",
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
	bool expired;
	int rc;

	memset(res, 0, sizeof(*res));
	machine_counters(s->machine, add_counter, &(struct counting){&s->before, NULL});
	for (u32 i = 0; i < s->req->nr_groups; i++) {
		rc = start_group(s, i);
		if (rc) {
			snprintf(res->error, sizeof(res->error),
			         "%.200s: the machine has no memory for the %u tasks of group "
			         "\"%s\"",
			         s->req->scenario, s->req->group[i].nr, s->req->group[i].name);
			return -EINVAL;
		}
	}
	list_for_each_entry (st, &s->tasks, all)
		task_start(st->task, -1);
	s->running = true;
	sim_limit_begin(s->world);
	rc = sim_run(s->world);
	expired = sim_limit_end();
	s->running = false;
	if (s->series)
		sim_series_end(s->series, sim_elapsed(s->world));
	note_hung_disks(s, rc == -ENODEV);
	/* The tasks that are left will never end: that is what came of it. */
	if (rc == -ENODEV)
		rc = 0;
	collect(s, res);
	if (res->nr_failed)
		return -ECANCELED;
	if (rc == -ETIME || rc == -ELOOP) {
		sim_describe_endless(s, rc, expired, res->error);
		return -ETIME;
	}
	if (rc == -EDEADLK)
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

/* ---- the target ---------------------------------------------------------------------------------- */

static int op_record_time(struct target_task *t, u64 ns)
{
	if (__builtin_add_overflow(sim_of(t)->time_ns, ns, &sim_of(t)->time_ns))
		return -EOVERFLOW;
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
	.mremap = op_mremap,
	.brk = op_brk,
	.madvise = op_madvise,
	.set_mempolicy = op_set_mempolicy,
	.mbind = op_mbind,
	.move_pages = op_move_pages,
	.migrate_pages = op_migrate_pages,
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
	.swapoff = op_swapoff,
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
