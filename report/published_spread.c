/*
 * What some mails print of several runs, in their form; and counters they say nothing of, as predictions.
 */
#include <string.h>

#include "report/format.h"
#include "report/grid.h"
#include "report/metric.h"
#include "report/published.h"
#include "report/text.h"

static void spread_row(struct grid *grid, const char *variant, const char *who,
                       const struct summary *s)
{
	grid_cell(grid, "%s", variant);
	grid_cell(grid, "%s", who);
	grid_cell(grid, "%u", s->n);
	grid_cell(grid, "%.2f", s->mean);
	grid_cell(grid, s->n > 1 ? "%.2f(%.2f%%)" : "-", s->std, summary_std_percent(s));
	grid_cell(grid, "%.2f", s->max);
	grid_cell(grid, "%.2f", s->min);
}

static void spread_heading(struct grid *grid, const char *metric)
{
	static const char *const heading[] = {"", "records", "avg", "std", "max", "min"};

	grid_cell(grid, "%s", metric);
	for (u32 i = 0; i < ARRAY_SIZE(heading); i++)
		grid_cell(grid, "%s", heading[i]);
}

/* Minchan Kim's form: "records: 5 avg: 4733.80 std: 913.55(19.30%) max: 6442.00 min: 3719.00". */
void experiment_print_spreads(FILE *f, const struct experiment *e)
{
	struct grid grid;

	if (!e->nr_spreads)
		return;
	grid_init(&grid, "llrrrrr");
	for (u32 i = 0; i < e->nr_spreads; i++) {
		const struct spread *p = &e->spread[i];
		const struct result_column *c = results_find(&e->results, p->variant, "", NULL);
		struct summary s;

		if (!i || strcmp(e->spread[i - 1].metric, p->metric) != 0)
			spread_heading(&grid, p->metric);
		spread_row(&grid, p->variant, "published", &p->published);
		if (!c)
			continue;
		column_summary(&e->results, c, p->metric, &s);
		spread_row(&grid, "", "simulated", &s);
	}
	fputc('\n', f);
	grid_print(&grid, f, 2, GRID_WIDTH, 2);
	grid_free(&grid);
}

static const char *amount(char *buf, const char *metric, double v)
{
	return strcmp(metric_unit(metric), "s") == 0 ? text_seconds(buf, v) : format_count(buf, v);
}

/* Of every variant but the baseline: metric, both means, their ratio. */
static void predictions_of(struct grid *grid, const struct experiment *e,
                           const struct result_column *base, const struct result_column *c)
{
	for (u32 i = 0; i < e->nr_predictions; i++) {
		struct comparison cmp;
		char text[FORMAT_MAX];

		column_compare(&e->results, base, c, e->prediction[i], &cmp);
		if (cmp.base == 0 && cmp.value == 0)
			continue;
		grid_cell(grid, "  %s", e->prediction[i]);
		grid_cell(grid, "%s", amount(text, e->prediction[i], cmp.base));
		grid_cell(grid, "%s", amount(text, e->prediction[i], cmp.value));
		grid_cell(grid, cmp.base != 0 ? "%.2f" : "-", cmp.ratio);
		grid_cell(grid, cmp.base != 0 && e->results.nr_seeds > 1 ? "[%.2f, %.2f]" : "-",
		          cmp.ratio_lo, cmp.ratio_hi);
	}
}

void experiment_print_predictions(FILE *f, const struct experiment *e)
{
	const struct result_column *base = results_find(&e->results, e->baseline, "", NULL);
	struct grid grid;

	if (!e->nr_predictions || !base)
		return;
	for (u32 i = 0; i < e->results.nr_columns; i++) {
		const struct result_column *c = &e->results.column[i];

		if (c == base || (c->point && c->point[0]))
			continue;
		grid_init(&grid, "lrrrr");
		grid_cell(&grid, "predicted, not published");
		grid_cell(&grid, "%s", e->baseline);
		grid_cell(&grid, "%s", c->variant);
		grid_cell(&grid, "ratio");
		grid_cell(&grid, "95%% interval");
		predictions_of(&grid, e, base, c);
		fputc('\n', f);
		grid_print(&grid, f, 2, GRID_WIDTH, 1);
		grid_free(&grid);
	}
}
