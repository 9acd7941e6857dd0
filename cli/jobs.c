/*
 * Repetitions as processes. See jobs.h.
 */
#include "cli/jobs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/bug.h"

#define PARALLEL_MAX 256
#define CHILD_FAILED 125 /* a child that could not write its result */

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static volatile sig_atomic_t end_signal;

static void on_signal(int sig)
{
	end_signal = sig;
}

struct slot {
	pid_t pid; /* 0: free */
	u32 index;
	int result; /* fds; -1 when at their end */
	int said;
};

struct crew {
	const struct jobs *j;
	struct job_outcome *outcome;
	struct slot slot[PARALLEL_MAX];
	u32 nr_slots;
	u32 nr_running;
	u32 next;      /* job to start */
	bool stopping; /* ended() wants no more */
	bool ending;   /* the children that run have been told to end */
	sigset_t mask; /* outside jobs_run() */
	struct sigaction old[ARRAY_SIZE(end_signals)];
};

/* ---- the child ---------------------------------------------------------------------------------- */

static void write_result(int fd, const struct bytes *b)
{
	size_t done = 0;

	while (done < b->len) {
		ssize_t n = write(fd, b->data + done, b->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			_exit(CHILD_FAILED);
		done += (size_t)n;
	}
}

static void __attribute__((noreturn))
be_child(const struct crew *c, u32 index, int result_fd, int said_fd, pid_t parent)
{
	struct bytes result = {0};

	for (size_t i = 0; i < ARRAY_SIZE(end_signals); i++)
		signal(end_signals[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
	/* A parent that is killed takes its children with it. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(CHILD_FAILED);
	if (dup2(said_fd, STDERR_FILENO) < 0)
		_exit(CHILD_FAILED);
	if (c->j->cpu_seconds) {
		/* The run ends itself then, and says where it was: sim_endless.c. */
		struct rlimit limit = {c->j->cpu_seconds, c->j->cpu_seconds + JOB_GRACE_S};

		setrlimit(RLIMIT_CPU, &limit);
	}
	c->j->run(c->j->arg, index, &result);
	fflush(NULL);
	write_result(result_fd, &result);
	_exit(0);
}

/* ---- the parent --------------------------------------------------------------------------------- */

static void start(struct crew *c, struct slot *s)
{
	int result[2];
	int said[2];
	pid_t parent = getpid();

	if (pipe2(result, 0) || pipe2(said, 0))
		panic("cannot make a pipe: %s", strerror(errno));
	fflush(NULL); /* or the child would print it again */
	s->pid = fork();
	if (s->pid < 0)
		panic("cannot fork: %s", strerror(errno));
	if (s->pid == 0) {
		close(result[0]);
		close(said[0]);
		be_child(c, c->next, result[1], said[1], parent);
	}
	close(result[1]);
	close(said[1]);
	s->result = result[0];
	s->said = said[0];
	s->index = c->next++;
	c->nr_running++;
}

/* False at the end of the file. */
static bool drain(int fd, struct bytes *to, size_t most)
{
	char buf[65536];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	if (to->len < most)
		bytes_add(to, buf, min_t(size_t, (size_t)n, most - to->len));
	return true;
}

static void judge(struct job_outcome *o, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		o->state = JOB_DONE;
	} else if (WIFSIGNALED(status)) {
		o->signal = WTERMSIG(status);
		o->state = o->signal == SIGXCPU ? JOB_TOO_LONG : JOB_CRASHED;
	} else {
		o->exit_code = WEXITSTATUS(status);
		o->state = JOB_CRASHED;
	}
}

static void reap(struct crew *c, struct slot *s)
{
	struct job_outcome *o = &c->outcome[s->index];
	int status = 0;

	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		;
	judge(o, status);
	s->pid = 0;
	c->nr_running--;
	if (c->ending) /* it was told to end: that is no result */
		o->state = JOB_NOT_RUN;
	else if (!c->stopping && c->j->ended && !c->j->ended(c->j->arg, s->index, o))
		c->stopping = true;
}

static void signal_children(struct crew *c, int sig)
{
	for (u32 i = 0; i < c->nr_slots; i++)
		if (c->slot[i].pid)
			kill(c->slot[i].pid, sig);
}

/* Wait until some child says something or ends, or a signal comes. */
static void wait_for_news(struct crew *c)
{
	struct pollfd fd[2 * PARALLEL_MAX];

	for (u32 i = 0; i < c->nr_slots; i++) {
		struct slot *s = &c->slot[i];

		fd[2 * i] = (struct pollfd){s->pid ? s->result : -1, POLLIN, 0};
		fd[2 * i + 1] = (struct pollfd){s->pid ? s->said : -1, POLLIN, 0};
	}
	if (ppoll(fd, 2 * c->nr_slots, NULL, &c->mask) < 0)
		return;
	for (u32 i = 0; i < c->nr_slots; i++) {
		struct slot *s = &c->slot[i];

		if (!s->pid)
			continue;
		if (fd[2 * i].revents &&
		    !drain(s->result, &c->outcome[s->index].result, SIZE_MAX)) {
			close(s->result);
			s->result = -1;
		}
		if (fd[2 * i + 1].revents &&
		    !drain(s->said, &c->outcome[s->index].said, JOB_SAID_MAX)) {
			close(s->said);
			s->said = -1;
		}
		if (s->result < 0 && s->said < 0)
			reap(c, s);
	}
}

/*
 * Children are asked to end (SIGTERM), because one on the host has changes to undo; who asks this
 * process a second time means it.
 */
static void end_children(struct crew *c)
{
	int first = end_signal;

	c->ending = true;
	signal_children(c, SIGTERM);
	end_signal = 0;
	while (c->nr_running) {
		wait_for_news(c);
		if (end_signal) {
			signal_children(c, SIGKILL);
			first = first ? first : end_signal;
			end_signal = 0;
		}
	}
	end_signal = first;
}

static void run_here(const struct jobs *j, struct job_outcome *outcome)
{
	for (u32 i = 0; i < j->nr; i++) {
		j->run(j->arg, i, &outcome[i].result);
		outcome[i].state = JOB_DONE;
		if (j->ended && !j->ended(j->arg, i, &outcome[i]))
			return;
	}
}

static void catch_signals(struct crew *c)
{
	struct sigaction sa = {.sa_handler = on_signal};
	sigset_t block;

	end_signal = 0;
	sigemptyset(&block);
	for (size_t i = 0; i < ARRAY_SIZE(end_signals); i++) {
		sigaddset(&block, end_signals[i]);
		sigaction(end_signals[i], &sa, &c->old[i]);
		/* One that was ignored (nohup) stays so. */
		if (c->old[i].sa_handler == SIG_IGN)
			sigaction(end_signals[i], &c->old[i], NULL);
	}
	sigprocmask(SIG_BLOCK, &block, &c->mask);
}

static void restore_signals(struct crew *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(end_signals); i++)
		sigaction(end_signals[i], &c->old[i], NULL);
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
}

int jobs_run(const struct jobs *j, struct job_outcome *outcome)
{
	struct crew c = {.j = j, .outcome = outcome};

	memset(outcome, 0, sizeof(*outcome) * j->nr);
	if (!j->nr_parallel) {
		run_here(j, outcome);
		return 0;
	}
	c.nr_slots = min_t(u32, j->nr_parallel, PARALLEL_MAX);
	catch_signals(&c);
	while (!c.stopping && !end_signal) {
		for (u32 i = 0; i < c.nr_slots; i++)
			if (!c.slot[i].pid && c.next < j->nr)
				start(&c, &c.slot[i]);
		if (!c.nr_running)
			break;
		wait_for_news(&c);
	}
	if (c.nr_running)
		end_children(&c);
	restore_signals(&c);
	return end_signal ? end_signal : c.stopping ? -EINTR : 0;
}

void jobs_raise(int sig)
{
	signal(sig, SIG_DFL);
	raise(sig);
	_exit(128 + sig);
}
