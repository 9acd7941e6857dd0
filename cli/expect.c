/*
 * Expectations. See expect.h.
 */
#include "cli/expect.h"

#include <string.h>

#include "cli/cli.h"
#include "report/grid.h"

struct lookup {
	const struct results *r;
	const struct scenario *s;
	const char *target;
};

/* For scenario_expect(): the mean of a metric over the seeds. */
static bool mean_metric(void *arg, u32 variant, const char *metric, double *value)
{
	const struct lookup *l = arg;
	const struct result_column *c =
		results_find(l->r, l->s->variant[variant].name, "", l->target);
	struct summary s;

	if (!c || !column_has(l->r, c, metric))
		return false;
	column_summary(l->r, c, metric, &s);
	*value = s.mean;
	return true;
}

/* Why runs on this target broke; NULL: none did. */
static const char *first_break(const struct lookup *l)
{
	for (u32 i = 0; i < l->r->nr_columns; i++) {
		const struct result_column *c = &l->r->column[i];

		if (strcmp(c->target, l->target) != 0)
			continue;
		for (u32 k = 0; k < l->r->nr_seeds; k++)
			if (c->record[k].status)
				return *c->record[k].error ? c->record[k].error
				                           : strerror(-c->record[k].status);
	}
	return NULL;
}

/* 1, 0 or negative, as scenario_expect(); the values or the error in @why. */
static int judge(struct lookup *l, u32 k, char *why)
{
	why[0] = '\0';
	return scenario_expect(l->s, k, mean_metric, l, why);
}

static int check_target(struct lookup *l, bool changed, FILE *f)
{
	const struct scenario *s = l->s;
	int status = CLI_OK;

	for (u32 k = 0; k < s->nr_expectations; k++) {
		char why[TARGET_ERROR_MAX];
		int met = judge(l, k, why);

		if (met == 1)
			continue;
		fprintf(f, "  %s: %s:%d\n",
		        met < 0   ? "cannot be told"
		        : changed ? "NOT MET with these settings"
		                  : "NOT MET",
		        s->path, s->expectation[k].line);
		if (met == 0) /* else the reason names it */
			text_wrap(f, "    ", s->expectation[k].text, GRID_WIDTH);
		text_wrap(f, "    ", why, GRID_WIDTH);
		if (met < 0 || !changed)
			status = CLI_FAILED;
	}
	return status;
}

/* A description may hold no # and no newline. */
static void tap_line(FILE *f, bool ok, u32 n, const char *target, const char *text)
{
	fprintf(f, "%s %u %s: ", ok ? "ok" : "not ok", n, target);
	for (; *text; text++)
		fputc(*text == '\n' ? ' ' : *text == '#' ? '_' : *text, f);
	fputc('\n', f);
}

static void tap_comment(FILE *f, const struct scenario *s, int line, const char *text)
{
	fprintf(f, "# %s", s->path);
	if (line)
		fprintf(f, ":%d", line);
	fprintf(f, ": ");
	for (; *text; text++)
		fputc(*text == '\n' ? ' ' : *text, f);
	fputc('\n', f);
}

static int tap_target(struct lookup *l, u32 *n, FILE *f)
{
	const struct scenario *s = l->s;
	const char *broke = first_break(l);
	int status = broke ? CLI_FAILED : CLI_OK;

	tap_line(f, !broke, ++*n, l->target, "every run ends well");
	if (broke)
		tap_comment(f, s, 0, broke);
	for (u32 k = 0; k < s->nr_expectations; k++) {
		char why[TARGET_ERROR_MAX];
		int met = judge(l, k, why);

		tap_line(f, met == 1, ++*n, l->target, s->expectation[k].text);
		if (met != 1) {
			tap_comment(f, s, s->expectation[k].line, why);
			status = CLI_FAILED;
		}
	}
	return status;
}

int expect_check(const struct scenario *s, const struct results *r, const char *const *target,
                 u32 nr_targets, bool changed, bool tap, FILE *f)
{
	int status = CLI_OK;
	u32 n = 0;

	if (tap)
		fprintf(f, "KTAP version 1\n1..%u\n", nr_targets * (1 + s->nr_expectations));
	for (u32 t = 0; t < nr_targets; t++) {
		struct lookup l = {r, s, target[t]};

		status = max(status, tap ? tap_target(&l, &n, f) : check_target(&l, changed, f));
	}
	return status;
}
