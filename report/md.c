/*
 * Results as Markdown: for a commit message on the web, an issue, a wiki. The numbers of the text
 * report that compare columns, and where the time went.
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "report/diff.h"
#include "report/format.h"
#include "report/metric.h"
#include "report/save.h"
#include "report/text.h"

#define WHY_ROWS 12

/* Text from a user's file, as it must be in a table. */
static void cell_text(FILE *f, const char *text)
{
	fputs("| ", f);
	for (; *text; text++) {
		if (strchr("|*_`<\\", *text))
			fputc('\\', f);
		fputc(*text == '\n' ? ' ' : *text, f);
	}
	fputc(' ', f);
}

__printf(2, 3) static void cell(FILE *f, const char *fmt, ...)
{
	va_list ap;

	fputs("| ", f);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fputc(' ', f);
}

/* The line under the heads: @nr_left columns to the left, the rest to the right. */
static void rule(FILE *f, u32 nr_left, u32 nr_right)
{
	while (nr_left--)
		fputs("|:---", f);
	while (nr_right--)
		fputs("|---:", f);
	fputs("|\n", f);
}

static const char *const time_metric[] = {"elapsed", "sys", "user", "time"};

static void print_summaries(FILE *f, const struct results *r)
{
	char label[128];

	fputs("| seconds | | n | mean | std | std % | min | max | median |\n", f);
	rule(f, 2, 7);
	for (size_t m = 0; m < ARRAY_SIZE(time_metric); m++) {
		for (u32 i = 0; i < r->nr_columns; i++) {
			char text[FORMAT_MAX];
			struct summary s;

			if (!column_has(r, &r->column[i], time_metric[m]))
				continue;
			column_summary(r, &r->column[i], time_metric[m], &s);
			column_label(r, &r->column[i], label, sizeof(label));
			cell_text(f, time_metric[m]);
			cell_text(f, label);
			cell(f, "%u", s.n);
			cell(f, "%s", text_seconds(text, s.mean));
			cell(f, "%s", s.n > 1 ? text_seconds(text, s.std) : "-");
			cell(f, s.n > 1 ? "%.2f" : "-", summary_std_percent(&s));
			cell(f, "%s", text_seconds(text, s.min));
			cell(f, "%s", text_seconds(text, s.max));
			cell(f, "%s", text_seconds(text, s.median));
			fputs("|\n", f);
		}
	}
}

static bool comparable(const struct results *r, u32 i)
{
	return results_find(r, NULL, NULL, r->column[i].target) != &r->column[i];
}

static void comparison_cells(FILE *f, const char *metric, const struct comparison *c)
{
	char change[FORMAT_MAX];

	if (c->base != 0 && c->n > 1) {
		cell(f, "%.3f", c->ratio);
		cell(f, "[%.3f, %.3f]", c->ratio_lo, c->ratio_hi);
	} else {
		cell(f, "-");
		cell(f, "-");
	}
	cell(f, c->n > 1 ? "%.4f" : "-", c->p);
	cell_text(f, c->n > 1 ? format_effect(change, c->g) : "-");
	cell_text(f, format_comparison(change, c));
	cell(f, "%s", metric_judgement(metric, c));
	fputs("|\n", f);
}

static void print_ratios(FILE *f, const struct results *r)
{
	char label[128];

	column_label(r, &r->column[0], label, sizeof(label));
	fprintf(f, "\n| ratio to %s | | ratio | 95 %% interval | p | Hedges' g | change | |\n",
	        label);
	rule(f, 2, 6);
	for (size_t m = 0; m < ARRAY_SIZE(time_metric); m++) {
		for (u32 i = 0; i < r->nr_columns; i++) {
			struct comparison c;

			if (!comparable(r, i) || !column_has(r, &r->column[i], time_metric[m]))
				continue;
			column_label(r, &r->column[i], label, sizeof(label));
			column_compare(r, results_find(r, NULL, NULL, r->column[i].target),
			               &r->column[i], time_metric[m], &c);
			cell_text(f, time_metric[m]);
			cell_text(f, label);
			comparison_cells(f, time_metric[m], &c);
		}
	}
}

static bool anybody_has(const struct results *r, const char *metric)
{
	for (u32 i = 0; i < r->nr_columns; i++) {
		struct summary s;

		column_summary(r, &r->column[i], metric, &s);
		if (s.n && (s.max != 0 || s.min != 0))
			return true;
	}
	return false;
}

static void count_row(FILE *f, const struct results *r, const char *title, const char *metric)
{
	if (!anybody_has(r, metric))
		return;
	cell_text(f, title);
	for (u32 i = 0; i < r->nr_columns; i++) {
		const struct result_column *base = results_find(r, NULL, NULL, r->column[i].target);
		char text[FORMAT_MAX];
		char change[FORMAT_MAX];
		struct comparison c;

		if (!column_has(r, &r->column[i], metric)) {
			cell(f, "n/a");
			continue;
		}
		column_compare(r, base, &r->column[i], metric, &c);
		if (comparable(r, i))
			cell(f, "%s (%s)", format_count(text, c.value),
			     format_comparison(change, &c));
		else
			cell(f, "%s", format_count(text, c.value));
	}
	fputs("|\n", f);
}

static void print_counts(FILE *f, const struct results *r)
{
	const struct run_record *names = &r->column[0].record[0];
	const struct metric_info *m;
	char label[128];

	fputs("\n| counts |", f);
	for (u32 i = 0; i < r->nr_columns; i++) {
		column_label(r, &r->column[i], label, sizeof(label));
		fprintf(f, " %s |", label);
	}
	fputc('\n', f);
	rule(f, 1, r->nr_columns);
	for (u32 i = 0; (m = metric_derived_at(i)); i++)
		count_row(f, r, m->title, m->name);
	for (u32 i = 0; i < names->nr_counters; i++)
		if (!counter_is_amount(names->counter[i].name) &&
		    !counter_is_time(names->counter[i].name))
			count_row(f, r, names->counter[i].name, names->counter[i].name);
}

static void exact(FILE *f, s64 ns)
{
	u64 size = (u64)(ns < 0 ? -ns : ns);

	cell(f, "%c%lu.%09lu", ns < 0 ? '-' : '+', size / 1000000000, size % 1000000000);
}

static void print_why(FILE *f, const struct results *r, const struct result_column *base,
                      const struct result_column *c)
{
	struct ledger_diff d;
	s64 rest = 0;
	char label[128];

	if (!ledger_diff(r, base, r, c, &d))
		return;
	column_label(r, c, label, sizeof(label));
	fprintf(f, "\n| CPU seconds, %s, over %u pairs | span |\n|---:|:---|\n", label, d.nr_pairs);
	for (u32 i = 0; i < d.nr; i++) {
		s64 diff = d.row[i].value_ns - d.row[i].base_ns;

		if (i >= WHY_ROWS) {
			rest += diff;
			continue;
		}
		exact(f, diff);
		cell_text(f, d.row[i].path);
		fputs("|\n", f);
	}
	exact(f, rest);
	fputs("| all other spans |\n", f);
	exact(f, d.value_ns - d.base_ns);
	fputs("| = elapsed x CPUs |\n", f);
	ledger_diff_free(&d);
}

void save_md(FILE *f, const void *results)
{
	const struct results *r = results;

	fprintf(f, "### %s\n\n%s; ", r->title, r->scenario);
	if (r->nr_seeds > 1)
		fprintf(f, "seeds %lu to %lu\n\n", r->seed[0], r->seed[r->nr_seeds - 1]);
	else
		fprintf(f, "seed %lu\n\n", r->seed[0]);
	print_summaries(f, r);
	if (r->nr_columns > 1)
		print_ratios(f, r);
	print_counts(f, r);
	for (u32 i = 1; i < r->nr_columns; i++)
		if (comparable(r, i))
			print_why(f, r, results_find(r, NULL, NULL, r->column[i].target),
			          &r->column[i]);
	fputc('\n', f);
	text_statistics_note(f, r->nr_seeds, r->nr_columns > 1,
	                     strcmp(r->column[0].target, "host") != 0);
}
