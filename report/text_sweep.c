/*
 * Sweeps: a table per metric, with what was varied down its side.
 */
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/grid.h"
#include "report/metric.h"
#include "report/text.h"

/* Those columns of one target that are at the same point, or of the same variant, as @i. */
static bool seen_before(const struct results *r, u32 i, const char *target, bool variants)
{
	for (u32 k = 0; k < i; k++) {
		const struct result_column *a = &r->column[k];
		const struct result_column *b = &r->column[i];

		if (strcmp(a->target, target) == 0 &&
		    strcmp(variants ? a->variant : a->point, variants ? b->variant : b->point) == 0)
			return true;
	}
	return false;
}

static bool first_of(const struct results *r, u32 i, const char *target, bool variants)
{
	return strcmp(r->column[i].target, target) == 0 && !seen_before(r, i, target, variants);
}

static u32 nr_variants(const struct results *r, const char *target)
{
	u32 n = 0;

	for (u32 i = 0; i < r->nr_columns; i++)
		n += first_of(r, i, target, true);
	return n;
}

/* What stands in a point's row: the bare value if one thing is varied. */
static const char *row_label(const struct results *r, const char *point)
{
	const char *equals = strchr(point, '=');

	return r->nr_axes == 1 && equals ? equals + 1 : point;
}

static void value_text(char *buf, const struct metric_info *m, bool time, double v)
{
	if (time)
		text_seconds(buf, v);
	else if (m && strcmp(m->unit, "%") == 0)
		snprintf(buf, FORMAT_MAX, "%.1f%%", v);
	else
		format_count(buf, v);
}

/* "48.9  1.85 [1.81, 1.89]", with ~ where the ratio may well be 1. */
static void sweep_cell(struct grid *grid, const struct results *r, const struct result_column *base,
                       const struct result_column *c, const char *metric,
                       const struct metric_info *m, bool time)
{
	struct comparison cmp;
	char text[FORMAT_MAX];

	if (!column_has(r, c, metric)) {
		grid_cell(grid, "n/a");
		return;
	}
	column_compare(r, base, c, metric, &cmp);
	value_text(text, m, time, cmp.value);
	if (c == base)
		grid_cell(grid, "%s", text);
	else if (cmp.base == 0 || cmp.base_missing)
		grid_cell(grid, "%s  %s", text, cmp.value == cmp.base ? "=" : "new");
	else if (cmp.n > 1)
		grid_cell(grid, "%s %s %.2f [%.2f, %.2f]", text,
		          cmp.judged && !cmp.significant ? "~" : " ", cmp.ratio, cmp.ratio_lo,
		          cmp.ratio_hi);
	else
		grid_cell(grid, "%s  %.2f", text, cmp.ratio);
}

static void print_metric(FILE *f, const struct results *r, const char *target, const char *title,
                         const char *metric, const struct metric_info *m, bool time)
{
	bool alone = nr_variants(r, target) == 1;
	const struct result_column *first = NULL;
	struct grid grid;

	grid_init(&grid, "l");
	for (u32 i = 0; i < r->nr_columns; i++)
		if (first_of(r, i, target, true))
			grid_column(&grid, 'r');
	grid_cell(&grid, "%s", title);
	for (u32 i = 0; i < r->nr_columns; i++)
		if (first_of(r, i, target, true))
			grid_cell(&grid, "%s", r->column[i].variant);
	for (u32 i = 0; i < r->nr_columns; i++) {
		const struct result_column *base = alone ? first : NULL;

		if (!first_of(r, i, target, false))
			continue;
		grid_cell(&grid, "  %s", row_label(r, r->column[i].point));
		for (u32 v = 0; v < r->nr_columns; v++) {
			const struct result_column *c;

			if (!first_of(r, v, target, true))
				continue;
			c = results_find(r, r->column[v].variant, r->column[i].point, target);
			if (!c) {
				grid_cell(&grid, "-");
				continue;
			}
			base = base ? base : c;
			first = first ? first : c;
			sweep_cell(&grid, r, base, c, metric, m, time);
		}
	}
	fputc('\n', f);
	grid_print(&grid, f, 2, GRID_WIDTH, 1);
	grid_free(&grid);
}

static bool metric_moves(const struct results *r, const char *target, const char *metric)
{
	for (u32 i = 0; i < r->nr_columns; i++) {
		struct summary s;

		if (strcmp(r->column[i].target, target) != 0)
			continue;
		column_summary(r, &r->column[i], metric, &s);
		if (s.n && s.max != 0)
			return true;
	}
	return false;
}

static void print_axes(FILE *f, const struct results *r, const char *target)
{
	bool alone = nr_variants(r, target) == 1;

	fprintf(f, "\n  against ");
	for (u32 i = 0; i < r->nr_axes; i++)
		fprintf(f, "%s%s", i ? r->zip ? " in step with " : ", " : "", r->axis[i].name);
	fprintf(f, "; ratios to the first %s, with 95 %% intervals\n", alone ? "row" : "column");
}

void text_sweep(FILE *f, const struct results *r, const char *target)
{
	static const char *const time[] = {"elapsed", "sys", "user"};
	static const char *const count[] = {
		"allocation_stalls", "major_faults",      "swap_ins",         "swap_outs",
		"direct_share",      "kswapd_efficiency", "direct_efficiency"};

	if (r->nr_axes)
		print_axes(f, r, target);
	for (size_t k = 0; k < ARRAY_SIZE(time); k++)
		print_metric(f, r, target, time[k], time[k], NULL, true);
	for (size_t k = 0; k < ARRAY_SIZE(count); k++) {
		const struct metric_info *m = NULL;

		for (u32 i = 0; (m = metric_derived_at(i)) && strcmp(m->name, count[k]) != 0; i++)
			;
		if (m && metric_moves(r, target, count[k]))
			print_metric(f, r, target, m->title, count[k], m, false);
	}
}
