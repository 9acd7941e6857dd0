/*
 * Looking at a run does not change it, and what is seen is what was counted: time series, slices,
 * memory touched.
 */
#include "cli/sim_target.h"
#include "report/record.h"
#include "tests/cli/scenario_text.h"
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

static void run_all(bool series, bool heat, u32 nr_slices, u64 from_ns, u64 to_ns,
                    struct run_record *r)
{
	char err[TARGET_ERROR_MAX];
	struct target_result *res = calloc(1, sizeof(*res));
	struct target_request req;
	struct scenario *s = scenario_from_text(text);
	struct target *t;

	scenario_request(s, 0, test_seed(), &sim_target_ops, &req);
	req.series = series;
	req.heat = heat;
	req.nr_slices = nr_slices;
	req.trace_from_ns = from_ns;
	req.trace_to_ns = to_ns;
	if (sim_target_ops.open(&req, &t, err))
		fail_msg("%s", err);
	assert_int_equal(sim_target_ops.run(t, res), 0);
	record_fill(r, &req, "sim", res, 0, sim_target_ledger(t));
	if (series)
		record_add_series(r, sim_target_series(t));
	r->trace = sim_target_trace(t);
	r->heat = sim_target_heat(t);
	sim_target_ops.close(t);
	scenario_free(s);
	free(res);
}

static void run(bool series, u32 nr_slices, struct run_record *r)
{
	run_all(series, false, nr_slices, 0, 0, r);
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

	run(false, 0, &plain);
	run(true, 0, &seen);
	assert_same(&plain, &seen);
	record_free(&seen);
	run_all(true, true, 1000, 0, 0, &seen);
	assert_same(&plain, &seen);
	record_free(&plain);
	record_free(&seen);
}

TEST(series_end_where_the_counters_do)
{
	static const char *const name[] = {"pgfault", "pgmajfault", "pswpin", "pswpout", "pgfree"};
	struct run_record r;

	run(true, 0, &r);
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

	run(true, 0, &r);
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

	run(true, 0, &r);
	for (u32 i = 0; i < r.nr_spans; i++) {
		if (strcmp(r.span[i].path, "idle") == 0)
			idle = r.span[i].ns;
		if (strncmp(r.span[i].path, "irq", 3) == 0 || strcmp(r.span[i].path, "sched") == 0)
			irq += r.span[i].ns;
	}
	assert_in_range(last(&r, "idle"), idle, idle + irq);
	record_free(&r);
}

/* ---- slices ------------------------------------------------------------------------------------- */

#define ALL_SLICES 1000000

static bool same_track(const struct slice *a, const struct slice *b)
{
	bool cpu = a->kind == SLICE_IRQ || a->kind == SLICE_RUN;

	if (cpu != (b->kind == SLICE_IRQ || b->kind == SLICE_RUN))
		return false;
	return cpu ? a->cpu == b->cpu : a->task == b->task;
}

static bool nests(const struct slice *s)
{
	return s->kind == SLICE_SPAN || s->kind == SLICE_IRQ || s->kind == SLICE_RUN;
}

/* Those that end later and are not apart must contain: they are in order of their ends. */
TEST(slices_of_a_track_nest)
{
	struct run_record r;

	run(false, 3000, &r);
	assert_in_range(r.trace->info.nr, 100, 3000);
	assert_true(r.trace->info.nr_short > 0);
	for (u32 i = 0; i < r.trace->info.nr; i++) {
		const struct slice *a = &r.trace->slice[i];

		assert_true(a->begin <= a->end && a->end <= r.elapsed_ns);
		for (u32 k = i + 1; nests(a) && k < r.trace->info.nr; k++) {
			const struct slice *b = &r.trace->slice[k];

			if (nests(b) && same_track(a, b) && b->begin < a->end)
				assert_true(b->begin <= a->begin && b->end >= a->end);
		}
	}
	record_free(&r);
}

/* In full: what the ledger says of a span is what its slices and their children last. */
TEST(slices_of_faults_are_as_many_as_the_ledger_has)
{
	struct run_record r;
	u64 faults = 0;
	u64 ipis = 0;
	u64 ios = 0;

	run(false, ALL_SLICES, &r);
	assert_int_equal(r.trace->info.nr_short, 0);
	for (u32 i = 0; i < r.trace->info.nr; i++) {
		const struct slice *s = &r.trace->slice[i];

		faults += s->kind == SLICE_SPAN && s->name == SPAN_FAULT;
		ipis += s->kind == SLICE_IPI;
		ios += s->kind == SLICE_IO;
	}
	for (u32 i = 0; i < r.nr_spans; i++)
		if (strcmp(r.span[i].path, "user/fault") == 0)
			assert_int_equal(faults, r.span[i].count);
	assert_true(ipis > 0);
	assert_true(ios > 0);
	record_free(&r);
}

TEST(a_window_has_what_touches_it)
{
	struct run_record r;

	run_all(false, false, ALL_SLICES, 10000000, 11000000, &r);
	assert_true(r.trace->info.nr > 0);
	for (u32 i = 0; i < r.trace->info.nr; i++) {
		assert_true(r.trace->slice[i].end >= 10000000);
		assert_true(r.trace->slice[i].begin <= 11000000);
	}
	record_free(&r);
}

/* ---- memory touched ----------------------------------------------------------------------------- */

/* Two tasks, each fills and then touches 24 MB twice: 2 x 4 x 6144 pages of 4 KB. */
TEST(every_access_is_on_the_heat_map_once)
{
	struct run_record r;
	u64 sum = 0;

	run_all(false, true, 0, 0, 0, &r);
	assert_in_range(r.heat->nr_columns, 64, 128);
	assert_in_range(r.heat->nr_rows, 2, HEATMAP_ROWS_MAX + 2);
	for (u32 i = 0; i < r.heat->nr_rows; i++)
		for (u32 c = 0; c < r.heat->nr_columns; c++)
			sum += r.heat->row[i].touched[c];
	assert_int_equal(sum, 2 * 4 * 6144);
	record_free(&r);
}

TEST_MAIN("recording")
