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
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/append.h"
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

/* "g (7) in user/fault/alloc", "g (7) in user/write waits for &inode->i_mutex, held by g (8)". */
static void add_task(const struct sim_target *s, char *text, u32 id)
{
	char where[256];

	sim_task_where(s->world, id, where, sizeof(where));
	append_text(text, TARGET_ERROR_MAX, "%s", where);
	if (sim_task_lock(s->world, id, where, sizeof(where)))
		append_text(text, TARGET_ERROR_MAX, " waits for %s", where);
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

void sim_describe_endless(const struct sim_target *s, int rc, bool expired, char *error)
{
	const struct target_request *req = s->req;
	const struct task *victim = machine_oom_victim(s->machine);
	struct sim_stuck stuck = sim_stuck(s->world);
	const struct sim_task *st;
	char line[TARGET_WAITS_MAX];
	struct rlimit cpu;
	u32 nr;

	error[0] = '\0';
	st = who_is_left(s, rc == -ELOOP ? stuck.task : 0, &nr);
	if (st && req->line && req->line(req->program, &st->t, line, sizeof(line)))
		append_text(error, TARGET_ERROR_MAX, "%s: ", line);
	else
		append_text(error, TARGET_ERROR_MAX, "%s: ", req->scenario);
	if (rc == -ELOOP)
		append_text(error, TARGET_ERROR_MAX,
		            "the access to 0x%lx has faulted %lu times and is not done", stuck.va,
		            stuck.nr);
	else if (expired && !getrlimit(RLIMIT_CPU, &cpu))
		append_text(error, TARGET_ERROR_MAX,
		            "no end after %lu s of CPU time (--cpu-limit allows more)",
		            (unsigned long)cpu.rlim_max - JOB_GRACE_S);
	else
		append_text(error, TARGET_ERROR_MAX, "no end (timeout allows more)");
	append_text(error, TARGET_ERROR_MAX, ", still running after %.3f simulated seconds",
	            (double)sim_elapsed(s->world) / 1e9);
	if (st) {
		append_text(error, TARGET_ERROR_MAX, ": ");
		add_task(s, error, st->task->w.id);
	}
	if (nr > 1)
		append_text(error, TARGET_ERROR_MAX, "; %u tasks are left", nr);
	if (victim) {
		append_text(error, TARGET_ERROR_MAX, "; the OOM killer waits for ");
		add_task(s, error, victim->w.id);
	}
}
