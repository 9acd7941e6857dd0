/*
 * Columns of results: pairs, means, labels; the tables and files made of them.
 */
#include "report/results.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <math.h>

#include "report/diff.h"
#include "report/json.h"
#include "report/load.h"
#include "report/metric.h"
#include "report/save.h"
#include "report/text.h"
#include "tests/report/fixture.h"

static struct text_group group_of(const struct results *r)
{
	struct text_group g = {.r = r};

	for (u32 i = 0; i < r->nr_columns; i++)
		g.column[g.nr++] = &r->column[i];
	return g;
}

/* ---- pairs and means ---------------------------------------------------------------------------- */

TEST(columns_are_compared_by_seed)
{
	struct results r;
	struct comparison c;

	fixture_results(&r, FIXTURE_SEEDS);
	column_compare(&r, &r.column[0], &r.column[1], "elapsed", &c);
	assert_int_equal(c.n, 6);
	assert_true(fabs(c.base - 11) < 1e-9);
	assert_true(fabs(c.value - 22) < 1e-9);
	assert_true(fabs(c.ratio - 2) < 1e-9);
	assert_true(c.significant);
	results_free(&r);
}

TEST(a_broken_run_takes_its_pair_along)
{
	struct results r;
	struct comparison c;
	struct summary s;

	fixture_results(&r, FIXTURE_SEEDS);
	r.column[0].record[1].status = -EIO; /* 11 s, against 22 s */
	column_compare(&r, &r.column[0], &r.column[1], "elapsed", &c);
	assert_int_equal(c.n, 5);
	assert_true(fabs(c.base - 11) < 1e-9);
	assert_true(fabs(c.value - 22) < 1e-9);
	column_summary(&r, &r.column[0], "elapsed", &s);
	assert_int_equal(s.n, 5);
	column_summary(&r, &r.column[1], "elapsed", &s);
	assert_int_equal(s.n, 6);
	assert_false(column_all_ran(&r, &r.column[0]));
	results_free(&r);
}

TEST(the_mean_record_averages_sums_and_keeps_maxima)
{
	struct results r;
	struct run_record mean;

	fixture_results(&r, 2); /* 10 and 11 s */
	r.column[0].record[1].lock[0].wait_ns_max = 5000;
	free(r.column[0].record[1].span[1].path); /* a path that the first run has not */
	r.column[0].record[1].span[1].path = report_strdup("user/madvise");
	assert_true(column_mean(&r, &r.column[0], &mean));
	assert_int_equal(mean.elapsed_ns, 10500000000);
	assert_int_equal(record_counter(&mean, "allocstall_normal"), 105);
	assert_int_equal(mean.nr_spans, 4);
	assert_int_equal(mean.span[1].ns, 2500000000); /* user/fault: 5 s and nothing */
	assert_string_equal(mean.span[3].path, "user/madvise");
	assert_int_equal(mean.span[3].ns, 2750000000); /* nothing and 5.5 s */
	assert_int_equal(mean.lock[0].wait_ns_max, 5000);
	assert_int_equal(mean.latency[0].p99_ns, 900);
	record_free(&mean);
	r.column[0].record[0].status = r.column[0].record[1].status = -EIO;
	assert_false(column_mean(&r, &r.column[0], &mean));
	results_free(&r);
}

/* ---- labels ------------------------------------------------------------------------------------- */

static void assert_label(const char *v0, const char *p0, const char *t0, const char *v1,
                         const char *p1, const char *t1, const char *expected)
{
	struct result_column a = {(char *)v0, (char *)p0, (char *)t0, NULL, {0}, NULL};
	struct result_column b = {(char *)v1, (char *)p1, (char *)t1, NULL, {0}, NULL};
	const struct result_column *among[] = {&a, &b};
	char label[64];

	column_label_among(among, 2, &b, label, sizeof(label));
	assert_string_equal(label, expected);
}

TEST(labels_say_only_what_differs)
{
	assert_label("a", "", "sim", "b", "", "sim", "b");
	assert_label("a", "k=1", "sim", "a", "k=2", "sim", "2");
	assert_label("a", "k=1 l=x", "sim", "a", "k=2 l=y", "sim", "2 y");
	assert_label("a", "k=1", "sim", "b", "k=2", "sim", "b 2");
	assert_label("a", "k=1", "sim", "b", "k=1", "sim", "b");
	assert_label("a", "", "sim", "a", "", "host", "host");
	assert_label("a", "", "sim", "b", "", "host", "b host");
	assert_label("a", "", "sim", "a", "", "sim", "a");
}

/* ---- tables ------------------------------------------------------------------------------------- */

TEST(times_records_and_ratios)
{
	struct results r;
	struct text_group g;
	char *text;

	fixture_results(&r, FIXTURE_SEEDS);
	g = group_of(&r);
	text = fixture_printed(text_times(f, &g));
	assert_string_equal(text, "  base   0.50user 44.00system 0:11.00elapsed\n"
	                          "  other  0.50user 88.00system 0:22.00elapsed\n");
	free(text);

	/* Squared deviations from 11: 1 0 1 1 0 1 = 4, from 22: 4 0 4 1 0 1 = 10; over 5. */
	text = fixture_printed(text_records(f, &g, "elapsed"));
	assert_string_equal(text, "  elapsed           base        other\n"
	                          "    records            6            6\n"
	                          "    avg            11.00        22.00\n"
	                          "    std      0.89(8.13%)  1.41(6.43%)\n"
	                          "    max            12.00        24.00\n"
	                          "    min            10.00        20.00\n"
	                          "    median         11.00        22.00\n");
	free(text);

	/* Pairs have ratios between 22/12 and 21/10, so every mean of some has; p = 2 / 64. */
	text = fixture_printed(text_ratios(f, &g));
	assert_non_null(strstr(text, "    elapsed      other  2.000  ["));
	assert_non_null(strstr(text, "]  0.0312  +100.0%  worse\n"));
	assert_non_null(
		strstr(text, "    user         other  1.000  [1.000, 1.000]  1.0000        =\n"));
	free(text);

	/* 11 s more; standard deviations 0.894 and 1.414 pool to sqrt(1.4), J(10) = 1 - 3/39:
	 * 11 / 1.1832 x 0.9231 = 8.58. */
	text = fixture_printed(text_differences(f, &g));
	assert_non_null(strstr(text, "elapsed           other   +11.00"));
	assert_non_null(strstr(text, "       +8.6\n"));
	free(text);
	results_free(&r);
}

/* What is said of a change that is certain, in a run of @elapsed seconds. */
static const char *judged(const char *metric, double base, double value, double elapsed)
{
	struct comparison c = {.base = base, .value = value, .significant = true};

	c.least = metric_least(metric, base, elapsed);
	return metric_judgement(metric, &c);
}

TEST(a_change_that_prints_as_nothing_is_neither_better_nor_worse)
{
	assert_string_equal(judged("user", 3.296, 3.298, 1), "worse"); /* 0.06 % */
	assert_string_equal(judged("user", 3.296, 3.294, 1), "better");
	assert_string_equal(judged("user", 3.296, 3.297, 1), ""); /* 0.03 % */
	assert_string_equal(judged("throughput", 100, 110, 1), "better");
	assert_string_equal(judged("pgfault", 5, 5, 1), "");
}

/* 0.05 % of five seconds are 2.5 ms. */
TEST(a_part_of_the_time_too_small_to_matter_is_neither_better_nor_worse)
{
	assert_string_equal(judged("user", 0, 1e-6, 5), "");
	assert_string_equal(judged("user", 1e-6, 5e-6, 5), "");
	assert_string_equal(judged("sys", 0.003, 0.001, 5), "");
	assert_string_equal(judged("user", 0, 0.003, 5), "worse");
	assert_string_equal(judged("sys", 0.004, 0.001, 5), "better");
	/* An event that there was not is one, however few. */
	assert_string_equal(judged("oom_kill", 0, 1, 5), "worse");
}

TEST(columns_of_a_long_run_are_not_judged_by_microseconds)
{
	struct results r;
	struct comparison c;

	fixture_results(&r, FIXTURE_SEEDS);
	for (u32 i = 0; i < r.nr_seeds; i++) {
		r.column[0].record[i].user_ns = 0;
		r.column[1].record[i].user_ns = 1000;
	}
	column_compare(&r, &r.column[0], &r.column[1], "user", &c);
	assert_true(c.significant);
	assert_string_equal(metric_judgement("user", &c), "");
	column_compare(&r, &r.column[0], &r.column[1], "elapsed", &c);
	assert_string_equal(metric_judgement("elapsed", &c), "worse");
	results_free(&r);
}

TEST(mmtests_metrics_are_derived_from_the_counters)
{
	struct results r;
	struct text_group g;
	double v = 0;
	char *text;

	fixture_results(&r, FIXTURE_SEEDS);
	for (u32 c = 0; c < 2; c++) {
		for (u32 i = 0; i < FIXTURE_SEEDS; i++) {
			struct run_record *run = &r.column[c].record[i];

			for (u32 k = 0; k < 3; k++)
				free(run->counter[k].name);
			run->counter[0] = (struct record_counter){
				report_strdup("pgsteal_direct_normal"), c ? 30 : 0};
			run->counter[1] = (struct record_counter){
				report_strdup("pgscan_direct_normal"), c ? 40 : 0};
			run->counter[2] =
				(struct record_counter){report_strdup("pgscan_kswapd_normal"), 360};
		}
	}
	g = group_of(&r);
	assert_true(record_metric(&r.column[1].record[0], "direct_efficiency", &v));
	assert_true(v == 75); /* 30 of 40 */
	assert_true(record_metric(&r.column[1].record[0], "direct_share", &v));
	assert_true(v == 10); /* 40 of 400 */
	assert_true(record_metric(&r.column[1].record[0], "kswapd_velocity", &v));
	assert_true(v == 18); /* 360 in 20 s */
	/* Nothing was scanned, so nothing can be said about how well. */
	assert_false(record_metric(&r.column[0].record[0], "direct_efficiency", &v));
	assert_false(record_metric(&r.column[0].record[0], "kswapd_efficiency", &v));
	text = fixture_printed(text_derived(f, &g));
	assert_non_null(strstr(text, "Direct efficiency         n/a  75.0% (    n/a)\n"));
	assert_non_null(strstr(text, "Percentage direct scans  0.0%  10.0% (    new)\n"));
	assert_null(strstr(text, "Kswapd efficiency"));
	free(text);
	results_free(&r);
}

TEST(the_ledger_difference_adds_up_to_the_ns)
{
	struct results r;
	struct ledger_diff d;
	char *text;

	fixture_results(&r, FIXTURE_SEEDS);
	assert_true(ledger_diff(&r, &r.column[0], &r, &r.column[1], &d));
	assert_int_equal(d.nr_pairs, 6);
	assert_int_equal(d.base_ns, 2 * 66000000000);
	assert_int_equal(d.value_ns, 2 * 132000000000);
	assert_string_equal(d.row[0].path, "user"); /* +66 s; its fault and idle +33 s each */
	assert_int_equal(d.row[0].value_ns - d.row[0].base_ns, 66000000000);
	assert_int_equal(d.kind_value_ns[DIFF_WORKERS] - d.kind_base_ns[DIFF_WORKERS], 99000000000);
	ledger_diff_free(&d);
	text = fixture_printed(text_why(f, &r, &r.column[0], &r, &r.column[1]));
	assert_non_null(strstr(text, "other against base, summed over 6 pairs\n"));
	assert_non_null(strstr(text, "    +66.000000000  66.0s   132s  user\n"));
	assert_non_null(strstr(text, "   +132.000000000   132s   264s  = elapsed x CPUs\n"));
	assert_non_null(strstr(text, "    +33.000000000  33.0s  66.0s    of idle\n"));
	free(text);
	/* A broken run takes its pair along; without any pair there is nothing to say. */
	for (u32 i = 0; i < FIXTURE_SEEDS; i++)
		r.column[0].record[i].status = -EIO;
	assert_false(ledger_diff(&r, &r.column[0], &r, &r.column[1], &d));
	results_free(&r);
}

TEST(counters_that_did_not_move_are_left_out)
{
	struct results r;
	struct text_group g;
	char *text;

	fixture_results(&r, FIXTURE_SEEDS);
	for (u32 i = 0; i < FIXTURE_SEEDS; i++)
		r.column[1].record[i].counter[1].value = 0; /* pgfault */
	g = group_of(&r);
	text = fixture_printed(text_counters(f, &g));
	assert_string_equal(text, "\n"
	                          "  counters that moved  base          other\n"
	                          "    pgfault            1000    0 (   gone)\n"
	                          "    allocstall_normal   110  220 (+100.0%)\n"
	                          "\n"
	                          "  amounts at the end (pages)  base          other\n"
	                          "    nr_free_pages              100  100 (      =)\n");
	free(text);
	results_free(&r);
}

TEST(spans_give_shares_of_busy_time)
{
	struct results r;
	struct text_group g;
	char *text;

	fixture_results(&r, 1);
	r.nr_columns = 1;
	g = group_of(&r);
	text = fixture_printed(text_spans(f, &g, 10));
	/* 10 s of user and 5 of user/fault are the 15 that are not idle, of 20. */
	assert_string_equal(text, "\n"
	                          "  where the time went: 2 CPUs, 75.0% busy, 15.0s of CPU time\n"
	                          "    share   self  count    each  span\n"
	                          "    66.7%  10.0s      3   3.33s  user\n"
	                          "    33.3%  5.00s   1000  5.00ms  user/fault\n");
	free(text);
	text = fixture_printed(text_locks(f, &g, 10));
	assert_non_null(strstr(text, "&zone->lock          10         0.90           5.00"));
	free(text);
	text = fixture_printed(text_latencies(f, &g));
	assert_non_null(strstr(text, "fault     1000  500ns  400ns  600ns  900ns  950ns  990ns"));
	free(text);
	r.nr_columns = 2;
	results_free(&r);
}

/* Long paths lose their middle, but not what tells them apart. */
TEST(shortened_spans_stay_different)
{
#define RECLAIM "alloc/direct_reclaim/shrink_inactive/try_to_unmap/spin_wait"
	static const char *const path[] = {"user/fault/" RECLAIM, "user/fault/swap_in/" RECLAIM,
	                                   "kswapd/fault/swap_in/" RECLAIM};
	struct results r;
	struct text_group g;
	struct run_record *run;
	char *text;

	fixture_results(&r, 1);
	r.nr_columns = 1;
	run = &r.column[0].record[0];
	for (u32 i = 0; i < 3; i++) {
		free(run->span[i].path);
		run->span[i].path = report_strdup(path[i]);
	}
	g = group_of(&r);
	text = fixture_printed(text_spans(f, &g, 10));
	assert_non_null(strstr(text, "  user/fault/alloc/.../try_to_unmap/spin_wait\n"));
	assert_non_null(strstr(text, "  user/fault/swap_in/.../try_to_unmap/spin_wait\n"));
	assert_non_null(strstr(text, "  kswapd/.../try_to_unmap/spin_wait\n"));
	free(text);
	r.nr_columns = 2;
	results_free(&r);
#undef RECLAIM
}

TEST(two_targets_stand_side_by_side_with_the_error_of_the_simulation)
{
	struct results r;
	struct run_record *host;
	char *text;

	fixture_results(&r, 1); /* 10 s and 20 s */
	free(r.column[1].target);
	r.column[1].target = report_strdup("host");
	host = &r.column[1].record[0];
	host->counter[1].value = 1250; /* pgfault: 1000 simulated */
	free(host->counter[3].name);   /* allocstall_normal: simulated only */
	host->counter[3].name = report_strdup("thp_fault_alloc");
	text = fixture_printed(text_sides(f, &r, &r.column[0], &r.column[1]));
	assert_string_equal(text, "\n"
	                          "  base          sim    host   error\n"
	                          "    elapsed   10.00   20.00  -50.0%\n"
	                          "    user     0.5000  0.5000       =\n"
	                          "    sys       40.00   80.00  -50.0%\n"
	                          "    pgfault    1000    1250  -20.0%\n"
	                          "  only the host counts: thp_fault_alloc 200\n"
	                          "  only the simulation counts: allocstall 100\n");
	free(text);
	results_free(&r);
}

/* "base" and "other" on both; @host: how long "other" takes there, where "base" takes 10 s. */
static char *verdict(double host)
{
	struct results r;
	struct result_column *column = report_alloc(4, sizeof(*column));
	char *text;

	fixture_results(&r, 1); /* 10 s and 20 s, simulated */
	for (u32 i = 0; i < 2; i++) {
		struct result_column *c = &column[2 + i];

		column[i] = r.column[i];
		c->variant = report_strdup(r.column[i].variant);
		c->point = report_strdup("");
		c->target = report_strdup("host");
		c->record = report_alloc(1, sizeof(*c->record));
		fixture_record(&c->record[0], c->variant, r.seed[0], i ? host : 10);
	}
	free(r.column);
	r.column = column;
	r.nr_columns = 4;
	text = fixture_printed(text_sides_verdict(f, &r, ""));
	results_free(&r);
	return text;
}

TEST(the_verdict_says_whether_the_simulation_agrees)
{
	char *text = verdict(15);

	assert_string_equal(
		text, "\n  other is slower than base on the host, and the simulation says so too\n"
		      "    elapsed: host x1.500, simulation x2.000\n");
	free(text);
	text = verdict(5);
	assert_string_equal(text,
	                    "\n  other is faster than base on the host; the simulation says it is "
	                    "slower than it\n"
	                    "    elapsed: host x0.500, simulation x2.000\n");
	free(text);
}

TEST(few_pairs_are_said_to_be_few)
{
	char *text = fixture_printed(text_statistics_note(f, 5, true, false));

	assert_non_null(strstr(text, "n too small, smallest p = 0.0625"));
	free(text);
	text = fixture_printed(text_statistics_note(f, 8, true, true));
	assert_non_null(strstr(text, "~ means p >= 0.05"));
	assert_non_null(strstr(text, "over seeds"));
	free(text);
	text = fixture_printed(text_statistics_note(f, 1, true, true));
	assert_string_equal(text, "");
	free(text);
}

TEST(a_whole_report_stays_within_eighty_columns)
{
	struct results r;
	char *text;

	fixture_results(&r, FIXTURE_SEEDS);
	r.column[1].record[2].nr_oom_kills = 1;
	text = fixture_printed(text_run(f, &r));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strlen(line) > 80)
			fail_msg("%zu columns: %s", strlen(line), line);
	free(text);
	text = fixture_printed(text_run(f, &r));
	assert_non_null(strstr(text, "scenarios/x.lua: made by hand"));
	assert_non_null(strstr(text, "profile tiny, 2 CPUs, 512M, kernel 4.0, 6 seeds from 1"));
	assert_non_null(strstr(text, "other: the OOM killer killed 1 of 3 tasks in 1 of 6 runs"));
	assert_non_null(strstr(text, "note: made by hand"));
	free(text);
	results_free(&r);
}

/* ---- files -------------------------------------------------------------------------------------- */

TEST(json_has_its_schema_seeds_configuration_and_values)
{
	struct results r;
	json_error_t error;
	const char *value;
	json_t *j;
	json_t *column;
	json_t *run;
	char *text;

	fixture_results(&r, FIXTURE_SEEDS);
	text = fixture_printed(save_json(f, &r));
	j = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!j)
		fail_msg("line %d: %s", error.line, error.text);
	assert_int_equal(json_integer_value(json_object_get(j, "schema")), JSON_SCHEMA);
	assert_string_equal(json_string_value(json_object_get(j, "kind")), "run");
	assert_int_equal(json_array_size(json_object_get(j, "seeds")), 6);
	assert_int_equal(json_array_size(json_object_get(j, "columns")), 2);
	column = json_array_get(json_object_get(j, "columns"), 1);
	assert_int_equal(
		json_unpack(column, "{s:{s:{s:s}}}", "config", "madvise.free", "value", &value), 0);
	assert_string_equal(value, "other");
	run = json_array_get(json_object_get(column, "runs"), 2);
	assert_int_equal(json_integer_value(json_object_get(run, "seed")), 3);
	assert_int_equal(json_integer_value(json_object_get(run, "elapsed_ns")), 24000000000);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(run, "counters"), "pgfault")),
		1000);
	json_decref(j);
	free(text);
	results_free(&r);
}

/* @fn writes what it wants to @path and the rest is loaded. */
static int load_text(const char *text, size_t len, struct results *r, char *err)
{
	char path[] = "/tmp/quire-test-XXXXXX";
	int fd = mkstemp(path);
	int rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
	rc = results_load(path, r, err);
	unlink(path);
	return rc;
}

TEST(json_that_is_loaded_and_saved_again_is_the_same)
{
	struct results r;
	struct results back;
	char err[LOAD_ERROR_MAX] = "";
	char *text;
	char *again;

	fixture_results(&r, FIXTURE_SEEDS);
	r.column[1].record[2].status = -EIO;
	text = fixture_printed(save_json(f, &r));
	if (load_text(text, strlen(text), &back, err))
		fail_msg("%s", err);
	assert_int_equal(back.nr_columns, 2);
	assert_int_equal(back.column[1].record[2].status, -EIO);
	again = fixture_printed(save_json(f, &back));
	assert_string_equal(text, again);
	free(text);
	free(again);
	results_free(&back);
	results_free(&r);
}

static noinline size_t place_of(const char *text, const char *part)
{
	return (size_t)(strstr(text, part) - text);
}

TEST(json_that_is_not_whole_or_was_edited_is_refused)
{
	static const struct {
		const char *from;
		const char *to;
		const char *error;
	} edit[] = {
		{"\"schema\": 2", "\"schema\": 1", "has schema 1, and this Quire reads schema 2"},
		{"\"kind\": \"run\"", "\"kind\": \"runs\"", "is of kind \"runs\""},
		{"\"pgfault\": 1000", "\"pgfault\": 1001", "has been changed since quire wrote it"},
		{"\"checksum\": ", "\"checksun\": ", "its checksum is gone"},
		{"\"schema\"", "\"scheme\"", "this is no result of quire"},
		{"{\n", "{,\n", "line 1: this is no JSON"},
	};
	struct results r;
	struct results back;
	char err[LOAD_ERROR_MAX];
	char *text;

	fixture_results(&r, 2);
	text = fixture_printed(save_json(f, &r));
	for (size_t i = 0; i < ARRAY_SIZE(edit); i++) {
		size_t at = place_of(text, edit[i].from);
		char *changed;

		assert_true(asprintf(&changed, "%.*s%s%s", (int)at, text, edit[i].to,
		                     text + at + strlen(edit[i].from)) > 0);

		assert_int_equal(load_text(changed, strlen(changed), &back, err), -EINVAL);
		if (!strstr(err, edit[i].error))
			fail_msg("says '%s' instead of '%s'", err, edit[i].error);
		free(changed);
	}
	/* Cut anywhere; the last character is only the newline. */
	for (size_t len = 0; len + 1 < strlen(text); len += len < 60 ? 1 : 997)
		assert_int_equal(load_text(text, len, &back, err), -EINVAL);
	assert_non_null(strstr(err, "it is not whole"));
	assert_int_equal(results_load("/nonexistent/x", &back, err), -EINVAL);
	assert_string_equal(err, "/nonexistent/x: No such file or directory");
	free(text);
	results_free(&r);
}

TEST(csv_is_long_and_quoted_where_it_must_be)
{
	struct results r;
	char *text;

	fixture_results(&r, 1);
	free(r.column[1].point);
	r.column[1].point = report_strdup("size=1,5 \"x\"");
	text = fixture_printed(save_csv(f, &r));
	assert_non_null(strstr(text,
	                       "scenario,target,machine,kernel,variant,point,seed,metric,value\n"
	                       "scenarios/x.lua,sim,tiny,4.0,base,,1,elapsed_ns,10000000000\n"));
	assert_non_null(strstr(text, ",other,\"size=1,5 \"\"x\"\"\",1,pgfault,1000\n"));
	assert_non_null(strstr(text, ",latency:fault:p99.9_ns,950\n"));
	free(text);
	results_free(&r);
}

TEST(folded_stacks_leave_idle_out)
{
	struct results r;
	char *text;

	fixture_results(&r, 1);
	text = fixture_printed(save_folded(f, &r));
	assert_string_equal(text, "base;user 10000000000\n"
	                          "base;user;fault 5000000000\n"
	                          "other;user 20000000000\n"
	                          "other;user;fault 10000000000\n");
	free(text);
	results_free(&r);
}

static void write_hello(FILE *f, const void *arg)
{
	fprintf(f, "%s\n", (const char *)arg);
}

TEST(files_are_replaced_whole_or_not_at_all)
{
	char dir[] = "/tmp/quire-test-XXXXXX";
	char path[64];
	char pattern[64];
	char err[SAVE_ERROR_MAX];
	char text[32] = "";
	glob_t left;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/out", dir);
	assert_int_equal(save_check(path, err), 0);
	assert_int_equal(save_file(path, write_hello, "one", err), 0);
	assert_int_equal(save_file(path, write_hello, "two", err), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, "two\n");

	snprintf(pattern, sizeof(pattern), "%s/*", dir);
	assert_int_equal(glob(pattern, 0, NULL, &left), 0);
	assert_int_equal(left.gl_pathc, 1); /* nothing aside is left */
	globfree(&left);

	assert_int_equal(save_check(dir, err), -EISDIR);
	assert_int_equal(save_file(dir, write_hello, "x", err), -EISDIR);
	assert_int_equal(save_check("/nonexistent/x", err), -ENOENT);
	assert_int_equal(save_file("/nonexistent/x", write_hello, "x", err), -ENOENT);
	assert_string_equal(err, "cannot write /nonexistent/x: No such file or directory");
	unlink(path);
	rmdir(dir);
}

TEST(a_full_disk_is_an_error)
{
	char err[SAVE_ERROR_MAX];

	if (access("/dev/full", W_OK))
		skip();
	assert_int_equal(save_file("/dev/full", write_hello, "x", err), -ENOSPC);
	assert_non_null(strstr(err, "No space left"));
}

TEST_MAIN("results")
