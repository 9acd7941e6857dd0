/*
 * Published beside simulated: figures, ratios, errors, claims, JSON.
 *
 * The simulation is the fixture: "base" takes 11 s and "other" 22 s on average, four times that in
 * sys. The published figures are chosen so that errors are round.
 */
#include "report/published.h"

#include <math.h>

#include "tests/report/fixture.h"

static struct figure figures[] = {
	{.variant = "base", .metric = "elapsed", .unit = "s", .published = 10, .fitted = true},
	{.variant = "other", .metric = "elapsed", .unit = "s", .published = 16},
	{.variant = "base", .metric = "sys", .unit = "s", .published = 44},
	{.variant = "other", .metric = "sys", .unit = "s", .published = 88},
	{.variant = "third", .metric = "sys", .unit = "s", .published = 22},
};

static const struct claim claims[] = {
	{.text = "twice as slow",
         .kind = CLAIM_RATIO,
         .metric = "elapsed",
         .of = {"other", ""},
         .to = {"base", ""},
         .lo = 1.5,
         .hi = 2.5},
	{.text = "at most two: in the mean, but not surely",
         .kind = CLAIM_RATIO,
         .metric = "elapsed",
         .of = {"other", ""},
         .to = {"base", ""},
         .lo = 0,
         .hi = 2.01},
	{.text = "faster",
         .kind = CLAIM_RATIO,
         .metric = "elapsed",
         .of = {"other", ""},
         .to = {"base", ""},
         .lo = 0,
         .hi = 1},
	{.text = "no swap-ins",
         .kind = CLAIM_VALUE,
         .metric = "pswpin",
         .of = {"other", ""},
         .lo = 0,
         .hi = 0},
	{.text = "something against nothing",
         .kind = CLAIM_RATIO,
         .metric = "pswpin",
         .of = {"other", ""},
         .to = {"base", ""},
         .lo = 1.5,
         .hi = INFINITY},
	{.text = "a column that was not run",
         .kind = CLAIM_VALUE,
         .metric = "pswpin",
         .of = {"other", "knob=x"},
         .lo = 0,
         .hi = 0},
	/* (22 - 11) / (22 - 11) */
	{.text = "all of the penalty is left",
         .kind = CLAIM_PENALTY,
         .metric = "elapsed",
         .of = {"other", ""},
         .to = {"base", ""},
         .from = {"other", ""},
         .lo = 0.9,
         .hi = 1.1},
};

static void fill(struct experiment *e, struct figure *figure, struct claim_result *result)
{
	static const char *const notes[] = {"a note"};

	memcpy(figure, figures, sizeof(figures));
	*e = (struct experiment){
		.name = "by-hand",
		.source = "nobody, today",
		.baseline = "base",
		.fitted = "base.elapsed",
		.constant = "disk.swap.rate",
		.figure = figure,
		.nr_figures = ARRAY_SIZE(figures),
		.claim = claims,
		.nr_claims = ARRAY_SIZE(claims),
		.result = result,
		.note = notes,
		.nr_notes = 1,
	};
	fixture_results(&e->results, FIXTURE_SEEDS);
	experiment_judge(e);
}

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) < 1e-6))
		fail_msg("%.9g is not %.9g", a, b);
}

TEST(figures_get_ratios_and_errors)
{
	struct figure f[ARRAY_SIZE(figures)];
	struct claim_result result[ARRAY_SIZE(claims)];
	struct experiment e;

	fill(&e, f, result);
	assert_near(f[0].simulated.mean, 11);
	assert_near(f[0].error, 0.1); /* 11 / 10 - 1 */
	assert_near(f[0].ratio, 1);
	assert_near(f[1].published_ratio, 1.6);
	assert_near(f[1].ratio, 2);
	assert_near(f[1].error, 0.375);      /* 22 / 16 - 1 */
	assert_near(f[1].ratio_error, 0.25); /* 2 / 1.6 - 1 */
	assert_near(f[3].ratio_error, 0);
	assert_near(f[4].published_ratio, 0.5); /* published, but not run */
	assert_int_equal(f[4].simulated.n, 0);
	results_free(&e.results);
}

TEST(claims_are_judged_by_value_and_interval)
{
	struct figure f[ARRAY_SIZE(figures)];
	struct claim_result result[ARRAY_SIZE(claims)];
	struct experiment e;

	fill(&e, f, result);
	assert_int_equal(result[0].verdict, VERDICT_HOLDS);
	assert_int_equal(result[1].verdict, VERDICT_WEAK); /* the interval reaches 2.07 */
	assert_int_equal(result[2].verdict, VERDICT_FAILS);
	assert_int_equal(result[3].verdict, VERDICT_HOLDS);
	assert_int_equal(result[4].verdict, VERDICT_FAILS); /* nothing against nothing is 1 */
	assert_int_equal(result[5].verdict, VERDICT_NOT_RUN);
	assert_int_equal(result[6].verdict, VERDICT_HOLDS);
	results_free(&e.results);
}

/* Each run of spaces to one: where the columns stand is the grid's business. */
static void squeeze(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (*text != ' ' || to[-1] != ' ')
			*to++ = *text;
	*to = '\0';
}

TEST(the_text_marks_what_was_fitted_and_what_failed)
{
	struct figure f[ARRAY_SIZE(figures)];
	struct claim_result result[ARRAY_SIZE(claims)];
	struct experiment e;
	char *text;

	fill(&e, f, result);
	text = fixture_printed(experiment_print(f, &e));
	squeeze(text);
	assert_non_null(strstr(text, "by-hand: made by hand\n"));
	assert_non_null(strstr(text, " base 10.00 1.00 11.00 8.1% 1.00 - fitted -\n"));
	assert_non_null(
		strstr(text, " other 16.00 1.60 22.00 6.4% 2.00 [1.94, 2.07] +37.5% +25.0%\n"));
	assert_non_null(strstr(text, " third 22.00 0.50"));
	assert_non_null(strstr(text, "not run"));
	assert_non_null(strstr(text, "FAILS"));
	assert_non_null(strstr(text, "in doubt"));
	assert_non_null(strstr(text, "base.elapsed may be fitted by disk.swap.rate"));
	assert_non_null(strstr(text, "note: a note"));
	free(text);
	results_free(&e.results);
}

/* What the mail prints of its five runs beside ours; counters it does not mention, if there are any. */
TEST(spreads_and_predictions_are_printed)
{
	static const struct spread spread = {
		"elapsed", "base", {.n = 5, .mean = 10, .std = 1, .max = 12, .min = 9}};
	static const char *const predictions[] = {"sys", "pswpin"};
	struct figure f[ARRAY_SIZE(figures)];
	struct claim_result result[ARRAY_SIZE(claims)];
	struct experiment e;
	char *text;

	fill(&e, f, result);
	e.spread = &spread;
	e.nr_spreads = 1;
	e.prediction = predictions;
	e.nr_predictions = ARRAY_SIZE(predictions);
	text = fixture_printed(experiment_print(f, &e));
	squeeze(text);
	assert_non_null(strstr(text, " elapsed records avg std max min\n"));
	assert_non_null(strstr(text, " base published 5 10.00 1.00(10.00%) 12.00 9.00\n"));
	assert_non_null(strstr(text, " simulated 6 11.00 0.8"));
	assert_non_null(strstr(text, " sys 44.00 88.00 2.00 [1.94, 2.07]\n"));
	assert_null(strstr(text, " pswpin 0 0")); /* nothing was swapped in */
	free(text);
	results_free(&e.results);
}

TEST(json_figures_have_the_promised_fields)
{
	static const char *const keys[] = {
		"variant", "metric",          "unit",  "published", "mean", "std", "n",
		"fitted",  "published_ratio", "ratio", "error"};
	struct figure f[ARRAY_SIZE(figures)];
	struct claim_result result[ARRAY_SIZE(claims)];
	struct experiment e;
	json_t *j;
	json_t *figure;

	fill(&e, f, result);
	j = experiment_json(&e);
	assert_string_equal(json_string_value(json_object_get(j, "name")), "by-hand");
	assert_int_equal(json_array_size(json_object_get(j, "figures")), ARRAY_SIZE(figures));
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		figure = json_array_get(json_object_get(j, "figures"), i);
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
			if (!json_object_get(figure, keys[k]))
				fail_msg("figure %zu has no %s", i, keys[k]);
	}
	figure = json_array_get(json_object_get(j, "figures"), 1);
	assert_near(json_real_value(json_object_get(figure, "ratio")), 2);
	assert_near(json_real_value(json_object_get(figure, "error")), 0.375);
	assert_int_equal(json_integer_value(json_object_get(figure, "n")), 6);
	assert_true(json_is_false(json_object_get(figure, "fitted")));
	figure = json_array_get(json_object_get(j, "figures"), 4);
	assert_true(json_is_null(json_object_get(figure, "mean"))); /* not run: nothing made up */
	json_decref(j);
	results_free(&e.results);
}

TEST_MAIN("published")
