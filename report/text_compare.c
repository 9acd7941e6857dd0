/*
 * Tables that put variants beside their baseline, in the manner of mmtests.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/append.h"
#include "report/format.h"
#include "report/grid.h"
#include "report/metric.h"
#include "report/text.h"

/* Decimals that suit seconds of the size of @s. */
static int decimals(double s)
{
	return s < 0.1 ? 6 : s < 1 ? 4 : s < 10 ? 3 : 2;
}

char *text_seconds(char *buf, double s)
{
	snprintf(buf, FORMAT_MAX, "%.*f", decimals(s), s);
	return buf;
}

static void head_cells(struct grid *grid, const struct text_group *g, const char *corner)
{
	grid_cell(grid, "%s", corner);
	for (u32 i = 0; i < g->nr; i++) {
		char label[128];

		column_label_among(g->column, g->nr, g->column[i], label, sizeof(label));
		grid_cell(grid, "%s", label);
	}
}

static void start_grid(struct grid *grid, const struct text_group *g)
{
	grid_init(grid, "l");
	for (u32 i = 0; i < g->nr; i++)
		grid_column(grid, 'r');
}

void text_times(FILE *f, const struct text_group *g)
{
	struct grid grid;

	grid_init(&grid, g->nr > 1 ? "ll" : "l");
	for (u32 i = 0; i < g->nr; i++) {
		struct run_record mean;
		char line[2 * FORMAT_MAX];
		char precise[FORMAT_MAX];
		double timed;
		char label[128];

		if (g->nr > 1) {
			column_label_among(g->column, g->nr, g->column[i], label, sizeof(label));
			grid_cell(&grid, "%s", label);
		}
		if (!column_mean(g->r, g->column[i], &mean)) {
			grid_cell(&grid, "broken off");
			continue;
		}
		format_time_line(line, mean.user_ns, mean.sys_ns, mean.elapsed_ns);
		/* Hundredths say nothing about what is over in less than a second. */
		if (mean.elapsed_ns < 1000000000)
			append_text(line, sizeof(line), "  (%s)",
			            format_ns(precise, (double)mean.elapsed_ns));
		if (record_metric(&mean, "time", &timed))
			grid_cell(&grid, "%s, time %s", line, format_ns(precise, 1e9 * timed));
		else
			grid_cell(&grid, "%s", line);
		record_free(&mean);
	}
	grid_print(&grid, f, 2, GRID_WIDTH, g->nr > 1);
	grid_free(&grid);
}

void text_records(FILE *f, const struct text_group *g, const char *metric)
{
	static const char *const row[] = {"records", "avg", "std", "max", "min", "median"};
	struct summary s[TEXT_GROUP_MAX];
	struct grid grid;
	int digits;

	for (u32 i = 0; i < g->nr; i++)
		column_summary(g->r, g->column[i], metric, &s[i]);
	digits = decimals(s[0].mean);
	start_grid(&grid, g);
	head_cells(&grid, g, metric);
	for (size_t k = 0; k < ARRAY_SIZE(row); k++) {
		grid_cell(&grid, "  %s", row[k]);
		for (u32 i = 0; i < g->nr; i++) {
			const double value[] = {s[i].n,   s[i].mean, s[i].std,
			                        s[i].max, s[i].min,  s[i].median};

			if (k == 0)
				grid_cell(&grid, "%u", s[i].n);
			else if (k == 2)
				grid_cell(&grid, "%.*f(%.2f%%)", digits, value[k],
				          summary_std_percent(&s[i]));
			else
				grid_cell(&grid, "%.*f", digits, value[k]);
		}
	}
	grid_print(&grid, f, 2, GRID_WIDTH, 1);
	grid_free(&grid);
}

/* Of "time", which the tasks take themselves, there is only where they do. */
static const char *const time_metric[] = {"elapsed", "sys", "user", "time"};

/* Calls @row for each time and each column but the first. */
static void each_comparison(struct grid *grid, const struct text_group *g,
                            void (*row)(struct grid *grid, const char *metric,
                                        const struct comparison *c))
{
	for (size_t k = 0; k < ARRAY_SIZE(time_metric); k++) {
		if (!column_has(g->r, g->column[0], time_metric[k]))
			continue;
		for (u32 i = 1; i < g->nr; i++) {
			struct comparison c;
			char label[128];

			column_label_among(g->column, g->nr, g->column[i], label, sizeof(label));
			column_compare(g->r, g->column[0], g->column[i], time_metric[k], &c);
			grid_cell(grid, "  %s", time_metric[k]);
			grid_cell(grid, "%s", label);
			row(grid, time_metric[k], &c);
		}
	}
}

/* Of one pair there is neither an interval nor a p; to nothing there is no ratio. */
static void ratio_row(struct grid *grid, const char *metric, const struct comparison *c)
{
	char change[FORMAT_MAX];

	grid_cell(grid, c->base == 0 ? "-" : "%.3f", c->ratio);
	grid_cell(grid, c->base == 0 || c->n < 2 ? "-" : "[%.3f, %.3f]", c->ratio_lo, c->ratio_hi);
	grid_cell(grid, c->n < 2 ? "-" : "%.4f", c->p);
	grid_cell(grid, "%s", format_comparison(change, c));
	grid_cell(grid, "%s", metric_judgement(metric, c));
}

static void difference_row(struct grid *grid, const char *metric, const struct comparison *c)
{
	int digits = decimals(max(c->base, c->value));
	char effect[FORMAT_MAX];

	(void)metric;
	grid_cell(grid, "%+.*f", digits, c->diff);
	grid_cell(grid, "[%+.*f, %+.*f]", digits, c->diff_lo, digits, c->diff_hi);
	grid_cell(grid, "%s", format_effect(effect, c->g));
}

static void start_comparison(struct grid *grid, const struct text_group *g, const char *align,
                             const char *what)
{
	char base[128];

	column_label_among(g->column, g->nr, g->column[0], base, sizeof(base));
	grid_init(grid, align);
	grid_cell(grid, "%s %s", what, base);
	grid_cell(grid, "%s", "");
}

void text_ratios(FILE *f, const struct text_group *g)
{
	struct grid grid;

	if (g->nr < 2)
		return;
	start_comparison(&grid, g, "llrrrrl", "ratio to");
	grid_cell(&grid, "ratio");
	grid_cell(&grid, "95%% interval");
	grid_cell(&grid, "p");
	grid_cell(&grid, "change");
	grid_cell(&grid, "%s", "");
	each_comparison(&grid, g, ratio_row);
	grid_print(&grid, f, 2, GRID_WIDTH, 2);
	grid_free(&grid);
}

void text_differences(FILE *f, const struct text_group *g)
{
	struct grid grid;

	if (g->nr < 2 || g->r->nr_seeds < 2)
		return;
	start_comparison(&grid, g, "llrrr", "difference to");
	grid_cell(&grid, "seconds");
	grid_cell(&grid, "95%% interval");
	grid_cell(&grid, "Hedges' g");
	each_comparison(&grid, g, difference_row);
	grid_print(&grid, f, 2, GRID_WIDTH, 2);
	grid_free(&grid);
}

/* ---- mmtests' summary ------------------------------------------------------------------------------ */

/* "9842.1", "97.3%": percent of what they are of, not of each other. */
static void derived_cell(struct grid *grid, const struct text_group *g, u32 i,
                         const struct metric_info *m)
{
	struct comparison c;
	char value[FORMAT_MAX];
	char change[FORMAT_MAX];

	if (!column_has(g->r, g->column[i], m->name)) {
		grid_cell(grid, i ? "n/a          " : "n/a");
		return;
	}
	column_compare(g->r, g->column[0], g->column[i], m->name, &c);
	if (strcmp(m->unit, "%") == 0)
		snprintf(value, sizeof(value), "%.1f%%", c.value);
	else
		format_count(value, m->unit[0] ? round(c.value) : c.value);
	if (i == 0)
		grid_cell(grid, "%s", value);
	else
		grid_cell(grid, "%s (%7s)", value, format_comparison(change, &c));
}

static bool derived_moved(const struct text_group *g, const char *name)
{
	for (u32 i = 0; i < g->nr; i++)
		for (u32 k = 0; k < g->r->nr_seeds; k++) {
			double v;

			if (record_metric(&g->column[i]->record[k], name, &v) && v != 0)
				return true;
		}
	return false;
}

void text_derived(FILE *f, const struct text_group *g)
{
	const struct metric_info *m;
	struct grid grid;
	u32 n = 0;

	/* What the host counts is the whole machine's. */
	if (strcmp(g->column[0]->target, "host") == 0)
		return;
	start_grid(&grid, g);
	head_cells(&grid, g, "mmtests' summary");
	for (u32 k = 0; (m = metric_derived_at(k)); k++) {
		if (!derived_moved(g, m->name))
			continue;
		grid_cell(&grid, "  %s", m->title);
		for (u32 i = 0; i < g->nr; i++)
			derived_cell(&grid, g, i, m);
		n++;
	}
	if (n) {
		fputc('\n', f);
		grid_print(&grid, f, 2, GRID_WIDTH, 1);
	}
	grid_free(&grid);
}

/* ---- counters ----------------------------------------------------------------------------------- */

static bool moved(const struct text_group *g, const char *name)
{
	for (u32 i = 0; i < g->nr; i++)
		for (u32 k = 0; k < g->r->nr_seeds; k++)
			if (record_counter(&g->column[i]->record[k], name))
				return true;
	return false;
}

static void counter_cells(struct grid *grid, const struct text_group *g, const char *name)
{
	grid_cell(grid, "  %s", name);
	for (u32 i = 0; i < g->nr; i++) {
		struct comparison c;
		char value[FORMAT_MAX];
		char change[FORMAT_MAX];

		column_compare(g->r, g->column[0], g->column[i], name, &c);
		format_count(value, c.value);
		if (i == 0 && !c.value_missing)
			grid_cell(grid, "%s", value);
		else if (c.value_missing)
			grid_cell(grid, i ? "n/a          " : "n/a");
		else
			grid_cell(grid, "%s (%7s)", value, format_comparison(change, &c));
	}
}

/* Of one column there is nothing to compare, so two counters fit on a line. */
static void print_two_abreast(FILE *f, const struct text_group *g, const char *const *name, u32 n)
{
	u32 rows = DIV_ROUND_UP(n, 2);
	struct grid grid;

	grid_init(&grid, "lrlr");
	grid.gap = 3;
	for (u32 i = 0; i < 2 * rows; i++) {
		u32 k = i / 2 + (i & 1) * rows; /* down, then across */
		struct summary s;
		char value[FORMAT_MAX];

		if (k >= n)
			break;
		column_summary(g->r, g->column[0], name[k], &s);
		grid_cell(&grid, "%s", name[k]);
		grid_cell(&grid, "%s", format_count(value, s.mean));
	}
	grid_print(&grid, f, 4, GRID_WIDTH, 0);
	grid_free(&grid);
}

static void print_counters(FILE *f, const struct text_group *g, const char *heading, bool amounts)
{
	const struct run_record *names = NULL;
	const char **name;
	struct grid grid;
	u32 n = 0;

	/* The list of names: that of the first record that has one. */
	for (u32 i = 0; i < g->nr && !names; i++)
		for (u32 k = 0; k < g->r->nr_seeds && !names; k++)
			if (g->column[i]->record[k].nr_counters)
				names = &g->column[i]->record[k];
	if (!names)
		return;
	name = report_alloc(names->nr_counters, sizeof(*name));
	for (u32 i = 0; i < names->nr_counters; i++) {
		const char *text = names->counter[i].name;

		if (counter_is_amount(text) == amounts && !counter_is_time(text) && moved(g, text))
			name[n++] = text;
	}
	if (!n)
		goto out;
	fputc('\n', f);
	if (g->nr == 1) {
		fprintf(f, "  %s\n", heading);
		print_two_abreast(f, g, name, n);
		goto out;
	}
	start_grid(&grid, g);
	head_cells(&grid, g, heading);
	for (u32 i = 0; i < n; i++)
		counter_cells(&grid, g, name[i]);
	grid_print(&grid, f, 2, GRID_WIDTH, 2);
	grid_free(&grid);
out:
	free(name);
}

void text_counters(FILE *f, const struct text_group *g)
{
	print_counters(f, g, "counters that moved", false);
	/* On a host they are the whole machine's, and say little about the run. */
	if (strcmp(g->column[0]->target, "host") != 0)
		print_counters(f, g, "amounts at the end (pages)", true);
}
