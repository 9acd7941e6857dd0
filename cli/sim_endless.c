/*
 * Runs that do not end: by simulated time, by CPU time of the host, by a fault that is never done.
 *
 * What is said of one: who is left, at which line of the scenario, and what it is doing; and who is dying without
 * getting any further. A kernel without an OOM reaper hangs where its victim waits for a lock whose holder
 * asks for memory.
 */
#include "cli/jobs.h"
#include "cli/sim_internal.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "sim/sim.h"

/* ---- the limit of CPU time ----------------------------------------------------------------------- */

/* What the signal handler needs, and nothing else can give it. */
static struct {
	struct world *volatile world; /* NULL: it has ended, or been told to */
	volatile sig_atomic_t expired;
	struct sigaction action;
} limit;

/*
 * The kernel signals each second from the limit on. The first time the run is asked to end; if it is in a script and
 * does not come back from there, the second one ends the process.
 */
static void on_xcpu(int sig)
{
	if (limit.expired) {
		signal(sig, SIG_DFL);
		raise(sig);
		return;
	}
	limit.expired = 1;
	sim_expire(limit.world);
}

void sim_limit_begin(struct world *w)
{
	struct sigaction action = {.sa_handler = on_xcpu};

	limit.world = w;
	limit.expired = 0;
	sigaction(SIGXCPU, &action, &limit.action);
}

bool sim_limit_end(void)
{
	if (limit.expired)
		signal(SIGXCPU, SIG_IGN); /* there is still something to say, and a hard limit */
	else
		sigaction(SIGXCPU, &limit.action, NULL);
	return limit.expired;
}

/* ---- what is left -------------------------------------------------------------------------------- */

struct text {
	char *at;
	size_t room;
};

__printf(2, 3) static void add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at, t->room, fmt, ap);
	va_end(ap);
	n = min(n, (int)t->room - 1);
	t->at += n;
	t->room -= (size_t)n;
}

/* "g (7) in user/fault/alloc", "g (7) in user/write waits for &inode->i_mutex, held by g (8)". */
static void add_task(const struct sim_target *s, struct text *t, u32 id)
{
	char where[256];

	sim_task_where(s->world, id, where, sizeof(where));
	add(t, "%s", where);
	if (sim_task_lock(s->world, id, where, sizeof(where)))
		add(t, " waits for %s", where);
}

/* Of those who are left: who makes no progress, or the first that runs. */
static const struct sim_task *who_is_left(const struct sim_target *s, u32 stuck, u32 *nr)
{
	const struct sim_task *first = NULL;
	const struct sim_task *st;

	*nr = 0;
	list_for_each_entry (st, &s->tasks, all) {
		if (st->ended || st->background || !st->task)
			continue;
		*nr += 1;
		if (!first || st->task->w.id == stuck ||
		    (first->task->w.state != WORLD_TASK_RUNNING &&
		     st->task->w.state == WORLD_TASK_RUNNING))
			first = st;
	}
	return first;
}

static const struct sim_task *oom_victim(const struct sim_target *s)
{
	const struct sim_task *st;

	list_for_each_entry (st, &s->tasks, all)
		if (st->task && !st->ended && st->task->flags & TIF_MEMDIE)
			return st;
	return NULL;
}

void sim_describe_endless(const struct sim_target *s, int rc, bool expired, char *error)
{
	struct text t = {error, TARGET_ERROR_MAX};
	const struct target_request *req = s->req;
	const struct sim_task *victim = oom_victim(s);
	struct sim_stuck stuck = sim_stuck(s->world);
	const struct sim_task *st;
	char line[TARGET_WAITS_MAX];
	struct rlimit cpu;
	u32 nr;

	st = who_is_left(s, rc == -ELOOP ? stuck.task : 0, &nr);
	if (st && req->line && req->line(req->program, &st->t, line, sizeof(line)))
		add(&t, "%s: ", line);
	else
		add(&t, "%s: ", req->scenario);
	if (rc == -ELOOP)
		add(&t, "the access to 0x%lx has faulted %lu times and is not done", stuck.va,
		    stuck.nr);
	else if (expired && !getrlimit(RLIMIT_CPU, &cpu))
		add(&t, "no end after %lu s of CPU time (--cpu-limit allows more)",
		    (unsigned long)cpu.rlim_max - JOB_GRACE_S);
	else
		add(&t, "no end (timeout allows more)");
	add(&t, ", still running after %.3f simulated seconds",
	    (double)sim_elapsed(s->world) / 1e9);
	if (st) {
		add(&t, ": ");
		add_task(s, &t, st->task->w.id);
	}
	if (nr > 1)
		add(&t, "; %u tasks are left", nr);
	if (victim) {
		add(&t, "; the OOM killer waits for ");
		add_task(s, &t, victim->task->w.id);
	}
}
