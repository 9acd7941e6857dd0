/*
 * The runner during a run: starts the groups' processes, waits, decides when it is over.
 *
 * Everything is forked first and waits for one word; then the counters are read and the word is
 * set, so that creating processes is not part of what is measured. The run ends when the processes
 * of all foreground groups, and what they forked, are gone. Orphans of killed workers come to the
 * runner, which is their subreaper.
 *
 * A run is broken off when a body fails, when all that live wait for each other, when max_ns is
 * over, and by a signal. That the kernel kills tasks for memory is an outcome and not an error; tasks
 * that wait for a killed one for ever are found as a deadlock.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/internal.h"

#define POLL_NS 100000000UL /* how often deadlines and deadlocks are looked for */
#define READY_NS 60000000000UL

struct run {
	struct target *t;
	struct target_result *res;
	u64 deadline_ns; /* CLOCK_MONOTONIC; UINT64_MAX: none */
	u64 end_ns;
	u64 measured_from_ns; /* 0: from the beginning */
	bool ending;          /* the rest is killed by us, and no victim */
	u32 nr_killed_other;  /* SIGKILL without an OOM kill counted */
	u64 nr_faults[2];     /* of the tasks: minor, major */
	sigset_t old_mask;
	struct sigaction old_chld;
	int old_subreaper;
	char *vmstat_begin;
};

static bool is_foreground(const struct host_slot *slot)
{
	return !slot->background;
}

/* ---- ends of processes ---- */

static u64 timeval_ns(struct timeval tv)
{
	return (u64)tv.tv_sec * 1000000000 + (u64)tv.tv_usec * 1000;
}

static struct host_slot *slot_of_pid(struct host_shared *s, pid_t pid)
{
	for (u32 i = 0; i < host_load(&s->nr_spawned); i++) {
		struct host_slot *slot = &s->slot[i];

		if (host_load(&slot->used) && !slot->thread && slot->pid == pid)
			return slot;
	}
	return NULL;
}

/* Threads end with their process. */
static void threads_ended(struct host_shared *s, pid_t pid)
{
	for (u32 i = 0; i < host_load(&s->nr_spawned); i++)
		if (s->slot[i].thread && s->slot[i].pid == pid)
			host_store(&s->slot[i].reaped, 1);
}

static void process_ended(struct run *r, pid_t pid, int status, const struct rusage *ru)
{
	struct host_shared *s = r->t->shared;
	struct host_slot *slot = slot_of_pid(s, pid);

	r->res->user_ns += timeval_ns(ru->ru_utime);
	r->res->sys_ns += timeval_ns(ru->ru_stime);
	r->nr_faults[0] += (u64)ru->ru_minflt;
	r->nr_faults[1] += (u64)ru->ru_majflt;
	if (slot) {
		slot->status = status;
		host_store(&slot->reaped, 1);
		threads_ended(s, pid);
	}
	if (r->ending)
		return;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		host_add(&s->nr_oom, 1);
	} else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) {
		host_add(&s->nr_failed, 1);
		note(r->t,
		     "task %s[%u] was killed by SIGBUS: its memory could not be read back, or a "
		     "file "
		     "it maps has become shorter",
		     slot ? slot->function : "?", slot ? slot->index : 0);
	} else if (WIFSIGNALED(status)) {
		char text[128];

		snprintf(text, sizeof(text), "task %s[%u] died of signal %d (%s)",
		         slot ? slot->function : "?", slot ? slot->index : 0, WTERMSIG(status),
		         strsignal(WTERMSIG(status)));
		host_fail(r->t, slot, -EIO, text);
	} else if (WEXITSTATUS(status) != 0) {
		/* Normally it has said why itself, and this changes nothing. */
		if (!host_load(&s->error_owner))
			host_fail(r->t, slot, -EIO, NULL);
		else if (!host_load(&s->broken))
			host_store(&s->broken, -EIO);
	}
}

static void reap(struct run *r)
{
	struct rusage ru;
	int status;
	pid_t pid;

	while ((pid = wait4(-r->t->shared->anchor, &status, WNOHANG, &ru)) > 0)
		process_ended(r, pid, status, &ru);
}

static bool foreground_is_over(const struct run *r)
{
	struct host_shared *s = r->t->shared;

	for (u32 i = 0; i < host_load(&s->nr_spawned); i++) {
		struct host_slot *slot = &s->slot[i];

		if (host_load(&slot->used) && !host_load(&slot->reaped) && is_foreground(slot))
			return false;
	}
	return true;
}

/* ---- deadlocks ---- */

static bool process_is_gone(pid_t pid)
{
	char path[64];
	char buf[512];
	char *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, buf, sizeof(buf)) < 0)
		return true;
	p = strrchr(buf, ')');
	return p && (p[2] == 'Z' || p[2] == 'X');
}

/* Whether nothing but another task can wake it, and none has. */
static bool slot_is_stuck(const struct host_shared *s, const struct host_slot *slot)
{
	u32 state = host_load(&slot->state);
	u32 object = slot->object;

	switch (state) {
	case HOST_IN_BARRIER:
		return host_load(&s->barrier[object].word) >> 32 == slot->round;
	case HOST_IN_EVENT:
		return !host_load(&s->event[object]);
	case HOST_IN_WAIT:
		return host_load(&s->slot[object].state) != HOST_ENDED;
	default:
		return false;
	}
}

/* Describes the tasks that wait for each other in @text, or returns false: somebody can go on. */
static bool find_deadlock(const struct run *r, char *text, size_t size)
{
	struct host_shared *s = r->t->shared;
	u32 nr_stuck = 0;
	u32 nr_barrier = 0;
	u32 nr_event = 0;
	u32 last_barrier = 0;
	u32 last_event = 0;

	for (u32 i = 0; i < host_load(&s->nr_spawned); i++) {
		const struct host_slot *slot = &s->slot[i];
		u32 state = host_load(&slot->state);

		if (!host_load(&slot->used) || host_load(&slot->reaped))
			continue;
		if (!slot_is_stuck(s, slot)) {
			/* A killed child whose parent does not look cannot go on either. */
			if (slot->parent == 0 || slot->pid <= 0 || !process_is_gone(slot->pid))
				return false;
			if (slot->parent != SLOT_NO_PARENT && slot->parent > 0 &&
			    host_load(&s->slot[slot->parent - 1].state) == HOST_IN_WAIT)
				return false; /* its parent is about to notice */
			continue;
		}
		nr_stuck++;
		if (state == HOST_IN_BARRIER) {
			nr_barrier++;
			last_barrier = slot->object;
		} else if (state == HOST_IN_EVENT) {
			nr_event++;
			last_event = slot->object;
		}
	}
	if (!nr_stuck)
		return false;

	int n = snprintf(text, size, "deadlock: ");

	if (nr_barrier)
		n += snprintf(text + n, size - (size_t)n,
		              "%u wait at a barrier (number %u is for %u)", nr_barrier,
		              last_barrier + 1, r->t->req->barrier_size[last_barrier]);
	if (nr_event)
		n += snprintf(text + n, size - (size_t)n, "%s%u wait for an event (number %u)",
		              nr_barrier ? ", " : "", nr_event, last_event + 1);
	snprintf(text + n, size - (size_t)n, ", nobody else runs; %u were killed by the OOM killer",
	         host_load(&s->nr_oom));
	return true;
}

/* ---- start ---- */

static void run_break(struct run *r, int err, const char *text)
{
	host_fail(r->t, NULL, err, text);
	host_add(&r->t->shared->nr_failed, (u32)-1); /* it is the run that failed, not a task */
}

static int start_one(struct run *r, u32 group, u32 index)
{
	struct target *t = r->t;
	const struct target_group *g = &t->req->group[group];
	struct host_slot *slot = slot_claim(t->shared);
	pid_t pid;

	if (!slot)
		return -EAGAIN;
	slot->parent = 0;
	slot->index = index;
	slot->thread = false;
	slot->background = g->background;
	snprintf(slot->function, sizeof(slot->function), "%s", g->name);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		worker_main(t, (u32)(slot - t->shared->slot), group, index);
	host_store(&slot->pid, pid);
	setpgid(pid, t->shared->anchor); /* the child does it too: whoever is first */
	return 0;
}

static int start_all(struct run *r, u32 *nr_started)
{
	const struct target_request *req = r->t->req;

	*nr_started = 0;
	for (u32 g = 0; g < req->nr_groups; g++) {
		for (u32 i = 0; i < req->group[g].nr; i++) {
			int err = host_stopped(r->t) ? -EINTR : start_one(r, g, i);

			if (err) {
				char text[160];

				snprintf(text, sizeof(text), "cannot start task %s[%u]: %s",
				         req->group[g].name, i, strerror(-err));
				run_break(r, err, text);
				return err;
			}
			++*nr_started;
		}
	}
	return 0;
}

static int wait_ready(struct run *r, u32 nr)
{
	struct host_shared *s = r->t->shared;
	u64 deadline = clock_ns(CLOCK_MONOTONIC) + READY_NS;
	u32 ready;

	while ((ready = host_load(&s->nr_ready)) < nr) {
		reap(r);
		if (host_load(&s->broken) || host_stopped(r->t))
			return -EINTR;
		if (host_load(&s->nr_oom) || clock_ns(CLOCK_MONOTONIC) > deadline) {
			run_break(r, -ETIME,
			          "the tasks could not all be started: too little memory");
			return -ETIME;
		}
		futex_wait(&s->nr_ready, ready);
	}
	return 0;
}

/* ---- the loop ---- */

/* True when the run is over, in order or not. */
static bool run_is_over(struct run *r, u32 *nr_deadlocked)
{
	struct host_shared *s = r->t->shared;
	char text[256];

	if (host_load(&s->broken) || host_stopped(r->t))
		return true;
	if (foreground_is_over(r))
		return true;
	if (clock_ns(CLOCK_MONOTONIC) >= r->deadline_ns) {
		snprintf(text, sizeof(text), "the run took longer than the %.1f s it may take",
		         (double)r->t->req->max_ns / 1e9);
		run_break(r, -ETIME, text);
		return true;
	}
	/* Twice in a row, since the slots are not read in one instant. */
	*nr_deadlocked = find_deadlock(r, text, sizeof(text)) ? *nr_deadlocked + 1 : 0;
	if (*nr_deadlocked >= 2) {
		run_break(r, -EDEADLK, text);
		return true;
	}
	return false;
}

/* ---- start_measuring() ---- */

/* User and system time of a process and of the children it has waited for, in clock ticks. */
static void process_ticks(pid_t pid, u64 *user, u64 *sys)
{
	u64 self[2];
	u64 waited[2];
	char path[64];
	char buf[1024];
	char *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, buf, sizeof(buf)) < 0)
		return;
	p = strrchr(buf, ')');
	if (!p || sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
	                 &self[0], &self[1], &waited[0], &waited[1]) != 4)
		return;
	*user += self[0] + waited[0];
	*sys += self[1] + waited[1];
}

/* What the tasks have used so far is taken off again: it will be part of what wait4() says. */
static void start_measuring(struct run *r)
{
	struct host_shared *s = r->t->shared;
	u64 tick_ns = 1000000000UL / (u64)sysconf(_SC_CLK_TCK);
	u64 user = 0;
	u64 sys = 0;

	for (u32 i = 0; i < host_load(&s->nr_spawned); i++) {
		const struct host_slot *slot = &s->slot[i];

		if (host_load(&slot->used) && !host_load(&slot->reaped) && !slot->thread)
			process_ticks(slot->pid, &user, &sys);
	}
	r->res->user_ns = -user * tick_ns;
	r->res->sys_ns = -sys * tick_ns;
	s->time_ns = 0;
	vmstat_fold();
	free(r->vmstat_begin);
	r->vmstat_begin = file_read_all("/proc/vmstat");
	r->measured_from_ns = clock_ns(CLOCK_MONOTONIC);
	host_store(&s->measure, 0);
	futex_wake_all(&s->measure);
}

static void run_loop(struct run *r)
{
	u32 nr_deadlocked = 0;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	for (;;) {
		struct timespec ts = {.tv_nsec = (long)POLL_NS};

		reap(r);
		if (host_load(&r->t->shared->measure))
			start_measuring(r);
		if (run_is_over(r, &nr_deadlocked))
			break;
		sigtimedwait(&chld, NULL, &ts);
	}
	r->end_ns = clock_ns(CLOCK_MONOTONIC);
}

/* ---- results ---- */

static void proc_capture(struct target *t)
{
	char path[64];

	for (u32 i = 0; i < NR_PROC_FILES; i++) {
		snprintf(path, sizeof(path), "/proc/%s", proc_file_name[i]);
		free(t->proc_end[i]);
		t->proc_end[i] = file_read_all(path);
	}
}

static void count_victims(struct run *r)
{
	struct target *t = r->t;
	struct host_shared *s = t->shared;
	s64 by_kernel = 0;
	u32 ours = host_load(&s->nr_oom);

	for (u32 i = 0; i < r->res->nr_counters; i++)
		if (strcmp(r->res->counter[i].name, "oom_kill") == 0)
			by_kernel = r->res->counter[i].value;
	r->res->nr_oom_kills = (u32)clamp((s64)ours, (s64)0, by_kernel);
	if ((s64)ours > by_kernel) {
		note(t, "%u tasks were killed by somebody other than the kernel",
		     ours - (u32)by_kernel);
		host_add(&s->nr_failed, ours - (u32)by_kernel);
	}
	if (by_kernel > (s64)ours)
		note(t, "the kernel killed %lu other processes of this host for memory",
		     (u64)by_kernel - ours);
}

static void add_counter(struct target_result *res, const char *name, s64 value)
{
	struct target_counter *c = &res->counter[res->nr_counters];

	if (res->nr_counters == TARGET_COUNTERS_MAX)
		return;
	res->nr_counters++;
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->value = value;
}

static void run_results(struct run *r)
{
	struct target *t = r->t;
	struct host_shared *s = t->shared;
	struct target_result *res = r->res;
	u64 begin = s->begin_ns;

	if (begin) {
		res->elapsed_ns = r->end_ns - (r->measured_from_ns ? r->measured_from_ns : begin);
		vmstat_fold();
		proc_capture(t);
		if (r->vmstat_begin && t->proc_end[PROC_VMSTAT])
			res->nr_counters =
				vmstat_difference(r->vmstat_begin, t->proc_end[PROC_VMSTAT],
			                          res->counter, TARGET_COUNTERS_MAX);
		if (s->time_ns)
			add_counter(res, "time_ns", s->time_ns);
		/* pgfault and pgmajfault are everybody's. */
		if (!r->measured_from_ns) {
			add_counter(res, "tasks_minflt", (s64)r->nr_faults[0]);
			add_counter(res, "tasks_majflt", (s64)r->nr_faults[1]);
		}
	}
}

static int run_outcome(struct run *r)
{
	struct target *t = r->t;
	struct host_shared *s = t->shared;
	u32 sig = host_load(&s->stop_signal);
	int err = host_load(&s->broken);

	if (s->begin_ns)
		count_victims(r);
	r->res->nr_tasks = host_load(&s->nr_tasks);
	r->res->nr_failed = host_load(&s->nr_failed);
	if (sig) {
		snprintf(r->res->error, sizeof(r->res->error), "interrupted by %s",
		         strsignal((int)sig));
		err = -EINTR;
	} else if (err) {
		snprintf(r->res->error, sizeof(r->res->error), "%s", s->error);
	}
	snprintf(r->res->notes, sizeof(r->res->notes), "%s", t->notes);
	return err;
}

/* ---- the whole ---- */

static void run_prepare(struct run *r)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &r->old_mask);
	sigaction(SIGCHLD, &dfl, &r->old_chld); /* ignored, it would reap behind our back */
	prctl(PR_GET_CHILD_SUBREAPER, &r->old_subreaper);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void run_restore(struct run *r)
{
	prctl(PR_SET_CHILD_SUBREAPER, r->old_subreaper);
	sigaction(SIGCHLD, &r->old_chld, NULL);
	sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
}

/* Ends the background groups, or all that is left of a broken run. */
static void end_workers(struct run *r)
{
	struct target *t = r->t;

	r->ending = true;
	if (t->lifeline[1] >= 0)
		close(t->lifeline[1]);
	t->lifeline[1] = -1;
	if (workers_end(t) != 0)
		note(t, "some tasks do not end although they were killed");
	reap(r);
}

static void note_inputs(struct target *t)
{
	const struct target_request *req = t->req;
	bool is_slowed = false;
	bool has_scores = false;

	for (u32 g = 0; g < req->nr_groups; g++) {
		is_slowed = is_slowed || req->group[g].speed_bp;
		has_scores = has_scores || req->group[g].oom_score_adj;
	}
	if (is_slowed)
		note(t, "the tasks' own speed applies to compute() only: real stores cannot be "
		        "slowed");
	if (has_scores)
		note(t, "oom_score_adj -1000 ... 1000 becomes 800 ... 1000, so that no stranger is "
		        "hit");
	if (req->check)
		note(t, "contents are not checked on the host");
	if (req->trace)
		note(t, "no trace is recorded on the host");
}

int host_run(struct target *t, struct target_result *res)
{
	struct run r = {.t = t, .res = res, .deadline_ns = UINT64_MAX};
	struct host_shared *s = t->shared;
	u32 nr_started;

	memset(res, 0, sizeof(*res));
	if (t->ran) {
		snprintf(res->error, sizeof(res->error), "a host target runs once: open it again");
		return -EINVAL;
	}
	t->ran = true;
	note_inputs(t);
	run_prepare(&r);
	if (start_all(&r, &nr_started) == 0 && wait_ready(&r, nr_started) == 0) {
		files_drop_cache(t);
		limit_measure(t, &res->memory);
		vmstat_fold();
		r.vmstat_begin = file_read_all("/proc/vmstat");
		s->begin_ns = clock_ns(CLOCK_MONOTONIC);
		if (t->req->max_ns)
			r.deadline_ns = s->begin_ns + t->req->max_ns;
		host_store(&s->go, 1);
		futex_wake_all(&s->go);
		run_loop(&r);
		run_results(&r);
	}
	end_workers(&r);
	run_restore(&r);
	free(r.vmstat_begin);
	return run_outcome(&r);
}
