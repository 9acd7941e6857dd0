/*
 * Looking at a run does not change it, and what is seen is what was counted.
 */
#include "cli/batch.h"
#include "cli/sim_target.h"
#include "load/scenario.h"
#include "report/record.h"
#include "tests/test.h"
#include "world/ledger.h"

/* Two tasks fill more memory than there is, and read it back: reclaim, swap, both kinds of faults. */
static const char *const text =
	"scenario 'tiny'\n"
	"machine { profile = 'small', cpus = 2, ram = '32M', swap = '128M' }\n"
	"group 'hog' { count = 2, run = function(t)\n"
	"  local m = t:mmap('24M')\n"
	"  for _ = 1, 2 do m:fill(); m:touch { random = true } end\n"
	"end }\n";

static void run(bool series, bool trace, struct run_record *r)
{
	char path[] = "/tmp/quire-series-XXXXXX";
	char err[TARGET_ERROR_MAX];
	struct scenario_options opt = {.names = &cli_load_names,
	                               .machine_dirs = cli_machine_dirs()};
	struct target_result *res = calloc(1, sizeof(*res));
	struct target_request req;
	struct scenario *s;
	struct target *t;
	int fd = mkstemp(path);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	if (scenario_load(path, &opt, &s, err))
		fail_msg("%s", err);
	unlink(path);
	scenario_request(s, 0, test_seed(), &sim_target_ops, &req);
	req.series = series;
	req.trace = trace;
	if (sim_target_ops.open(&req, &t, err))
		fail_msg("%s", err);
	assert_int_equal(sim_target_ops.run(t, res), 0);
	record_fill(r, &req, "sim", res, 0, sim_target_ledger(t));
	if (series)
		record_add_series(r, sim_target_series(t));
	sim_target_ops.close(t);
	scenario_free(s);
	free(res);
}

static void assert_same(const struct run_record *a, const struct run_record *b)
{
	assert_int_equal(a->elapsed_ns, b->elapsed_ns);
	assert_int_equal(a->nr_counters, b->nr_counters);
	for (u32 i = 0; i < a->nr_counters; i++)
		assert_int_equal(a->counter[i].value, b->counter[i].value);
	assert_int_equal(a->nr_spans, b->nr_spans);
	for (u32 i = 0; i < a->nr_spans; i++)
		assert_int_equal(a->span[i].ns, b->span[i].ns);
}

static u64 last(const struct run_record *r, const char *name)
{
	const struct record_series *s = record_series(r, name);

	assert_non_null(s);
	return s->v[r->nr_points - 1];
}

TEST(a_run_that_is_looked_at_is_the_same_run)
{
	struct run_record plain;
	struct run_record seen;

	run(false, false, &plain);
	run(true, false, &seen);
	assert_same(&plain, &seen);
	record_free(&plain);
	record_free(&seen);
}

TEST(series_end_where_the_counters_do)
{
	static const char *const name[] = {"pgfault", "pgmajfault", "pswpin", "pswpout", "pgfree"};
	struct run_record r;

	run(true, false, &r);
	for (size_t i = 0; i < ARRAY_SIZE(name); i++)
		assert_int_equal(last(&r, name[i]), record_counter(&r, name[i]));
	assert_int_equal(last(&r, "nr_free_pages"), record_counter(&r, "nr_free_pages"));
	assert_int_equal(r.time_ns[r.nr_points - 1], r.elapsed_ns);
	record_free(&r);
}

TEST(pressure_is_a_share_of_the_time_and_full_is_part_of_some)
{
	struct run_record r;
	const struct record_series *some;
	const struct record_series *full;

	run(true, false, &r);
	some = record_series(&r, "memory stall some");
	full = record_series(&r, "memory stall full");
	assert_true(last(&r, "memory stall full") > 0);
	for (u32 i = 1; i < r.nr_points; i++) {
		u64 ns = r.time_ns[i] - r.time_ns[i - 1];

		/* A CPU that is ahead may have booked a little more than the time of the moment. */
		assert_true(some->v[i] - some->v[i - 1] <= ns + 100000);
		assert_true(full->v[i] <= some->v[i]);
	}
	assert_true(last(&r, "memory stall some") <= r.elapsed_ns);
	record_free(&r);
}

/* A CPU is idle until it runs a task; interrupts that it takes meanwhile have spans of their own. */
TEST(idle_time_is_that_of_the_ledger_and_interrupts_of_idle_cpus)
{
	struct run_record r;
	u64 idle = 0;
	u64 irq = 0;

	run(true, false, &r);
	for (u32 i = 0; i < r.nr_spans; i++) {
		if (strcmp(r.span[i].path, "idle") == 0)
			idle = r.span[i].ns;
		if (strncmp(r.span[i].path, "irq", 3) == 0 || strcmp(r.span[i].path, "sched") == 0)
			irq += r.span[i].ns;
	}
	assert_in_range(last(&r, "idle"), idle, idle + irq);
	record_free(&r);
}

TEST_MAIN("sim_series")
