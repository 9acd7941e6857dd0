/*
 * Repetitions as processes: each job runs in a child and sends its result over a pipe.
 *
 * Jobs start in order, @nr_parallel at a time, and their results are kept by index, so that
 * nothing depends on which ends first. What a child prints on standard error is kept with its
 * result. A child that crashes is an outcome; a child's CPU time is limited; when this process is
 * told to end, its children end first.
 */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include "lib/types.h"
#include "report/bytes.h"

#define JOB_SAID_MAX 65536

/* How long after its limit of CPU time a child may live that catches the signal. */
#define JOB_GRACE_S 30

enum job_state {
	JOB_NOT_RUN, /* jobs_run() was stopped before */
	JOB_DONE,
	JOB_CRASHED, /* by job_outcome.signal, or with job_outcome.exit_code */
	JOB_TOO_LONG,
};

struct job_outcome {
	enum job_state state;
	int signal;
	int exit_code;
	struct bytes result; /* what the job wrote; for bytes_free() */
	struct bytes said;   /* what it printed on stderr, at most JOB_SAID_MAX; the same */
};

struct jobs {
	u32 nr;
	u32 nr_parallel; /* 0: in this process, one after the other, for a debugger */
	u32 cpu_seconds; /* limit for each, at which it gets SIGXCPU every second; 0: none */
	void (*run)(void *arg, u32 index, struct bytes *result);
	/* Told in this process after each end. False: start no more, end those that run. */
	bool (*ended)(void *arg, u32 index, const struct job_outcome *outcome);
	void *arg;
};

/*
 * Runs all jobs, @outcome[nr]. Returns 0; -EINTR if ended() said so; or the number of the signal
 * that asked this process to end (SIGINT ...), after the children have ended: the caller frees
 * what it has and raises it again with jobs_raise().
 */
int jobs_run(const struct jobs *j, struct job_outcome *outcome);

/* Die of @signal, as whoever sent it expects. */
void jobs_raise(int signal) __attribute__((noreturn));

#endif
