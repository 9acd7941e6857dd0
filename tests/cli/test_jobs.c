/*
 * Jobs as processes: results in index order, crashes as outcomes, limits, and the end by a signal.
 */
#include "cli/jobs.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

#include "tests/test.h"

#define NR 12

static void sleep_ms(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&ts, NULL);
}

static void free_outcomes(struct job_outcome *o, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		bytes_free(&o[i].result);
		bytes_free(&o[i].said);
	}
}

static void square(void *arg, u32 index, struct bytes *result)
{
	(void)arg;
	sleep_ms(index % 3 ? 1 : 20); /* they end in another order than they start */
	fprintf(stderr, "job %u\n", index);
	bytes_u64(result, index * index);
}

static bool count(void *arg, u32 index, const struct job_outcome *o)
{
	(void)index;
	(void)o;
	++*(u32 *)arg;
	return true;
}

static void run_squares(u32 nr_parallel)
{
	struct job_outcome o[NR];
	u32 nr_ended = 0;
	struct jobs j = {.nr = NR,
	                 .nr_parallel = nr_parallel,
	                 .run = square,
	                 .ended = count,
	                 .arg = &nr_ended};

	assert_int_equal(jobs_run(&j, o), 0);
	assert_int_equal(nr_ended, NR);
	for (u32 i = 0; i < NR; i++) {
		struct bytes_reader in = {o[i].result.data, o[i].result.data + o[i].result.len,
		                          false};
		char said[32];

		assert_int_equal(o[i].state, JOB_DONE);
		assert_int_equal(bytes_get_u64(&in), i * i);
		if (!nr_parallel)
			continue; /* in this process stderr is not kept */
		snprintf(said, sizeof(said), "job %u\n", i);
		assert_int_equal(o[i].said.len, strlen(said));
		assert_memory_equal(o[i].said.data, said, strlen(said));
	}
	free_outcomes(o, NR);
}

TEST(results_are_kept_by_index)
{
	run_squares(1);
	run_squares(5);
	run_squares(200); /* more than there are jobs */
}

TEST(jobs_can_run_in_this_process)
{
	run_squares(0);
}

static void large(void *arg, u32 index, struct bytes *result)
{
	static char block[1 << 20];

	(void)arg;
	(void)index;
	for (int i = 0; i < 8; i++)
		bytes_add(result, block, sizeof(block)); /* far more than a pipe holds */
}

TEST(large_results_arrive_whole)
{
	struct job_outcome o[2];
	struct jobs j = {.nr = 2, .nr_parallel = 2, .run = large};

	assert_int_equal(jobs_run(&j, o), 0);
	assert_int_equal(o[0].result.len, 8 << 20);
	assert_int_equal(o[1].result.len, 8 << 20);
	free_outcomes(o, 2);
}

static void misbehave(void *arg, u32 index, struct bytes *result)
{
	(void)arg;
	bytes_u64(result, index);
	if (index == 1)
		abort();
	if (index == 2)
		_exit(7);
	if (index == 3)
		for (;;)
			; /* until its CPU time is used up */
}

TEST(a_job_that_dies_does_not_take_others_along)
{
	struct job_outcome o[5];
	struct jobs j = {.nr = 5, .nr_parallel = 5, .cpu_seconds = 1, .run = misbehave};

	assert_int_equal(jobs_run(&j, o), 0);
	assert_int_equal(o[0].state, JOB_DONE);
	assert_int_equal(o[1].state, JOB_CRASHED);
	assert_int_equal(o[1].signal, SIGABRT);
	assert_int_equal(o[2].state, JOB_CRASHED);
	assert_int_equal(o[2].exit_code, 7);
	assert_int_equal(o[3].state, JOB_TOO_LONG);
	assert_int_equal(o[4].state, JOB_DONE);
	free_outcomes(o, 5);
}

static void sleep_long(void *arg, u32 index, struct bytes *result)
{
	(void)arg;
	(void)result;
	if (index)
		sleep_ms(60000);
}

static bool stop(void *arg, u32 index, const struct job_outcome *o)
{
	(void)arg;
	(void)index;
	(void)o;
	return false;
}

TEST(the_first_end_can_be_the_last)
{
	struct job_outcome o[4];
	struct jobs j = {.nr = 4, .nr_parallel = 2, .run = sleep_long, .ended = stop};

	assert_int_equal(jobs_run(&j, o), -EINTR);
	assert_int_equal(o[0].state, JOB_DONE);
	assert_int_equal(o[1].state, JOB_NOT_RUN); /* was ended */
	assert_int_equal(o[2].state, JOB_NOT_RUN); /* never started */
	free_outcomes(o, 4);
}

static void interrupt_parent(void *arg, u32 index, struct bytes *result)
{
	(void)arg;
	(void)result;
	if (index == 0)
		kill(getppid(), SIGTERM);
	sleep_ms(60000);
}

TEST(a_signal_ends_the_children_first)
{
	struct job_outcome o[3];
	struct jobs j = {.nr = 3, .nr_parallel = 2, .run = interrupt_parent};

	assert_int_equal(jobs_run(&j, o), SIGTERM);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD); /* none is left */
	free_outcomes(o, 3);
}

TEST_MAIN("jobs")
