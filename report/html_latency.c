/*
 * Latencies: a histogram per operation, and its percentiles. See html.h.
 *
 * Both axes are logarithmic: what matters is the tail, and it is thin. The buckets of all seeds are added
 * up; four of the 16 parts of a power of two make one step of the picture.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/html.h"

#define STEPS_PER_OCTAVE 4
#define STEPS (64 * STEPS_PER_OCTAVE)

/* By how many decades there are: labels must not run into each other. */
static const char every_decade[] = "'1ns' 1, '10ns' 1e1, '100ns' 1e2, '1us' 1e3, '10us' 1e4, "
				   "'100us' 1e5, '1ms' 1e6, '10ms' 1e7, '100ms' 1e8, '1s' 1e9, "
				   "'10s' 1e10, '100s' 1e11";
static const char few_decades[] = "'1ns' 1, '100ns' 1e2, '10us' 1e4, '1ms' 1e6, '100ms' 1e8, "
				  "'10s' 1e10";

static const struct record_latency *find(const struct run_record *m, const char *name)
{
	for (u32 i = 0; i < m->nr_latencies; i++)
		if (strcmp(m->latency[i].name, name) == 0)
			return &m->latency[i];
	return NULL;
}

/* In which step of the picture a latency lies. */
static u32 step_of(u64 ns)
{
	u32 octave = ns ? ilog2(ns) : 0;
	u64 part = octave >= 2 ? (ns >> (octave - 2)) & 3 : 0;

	return octave * STEPS_PER_OCTAVE + (u32)part;
}

static double step_begin(u32 step)
{
	u32 octave = step / STEPS_PER_OCTAVE;

	return ldexp(1 + (double)(step % STEPS_PER_OCTAVE) / STEPS_PER_OCTAVE, (int)octave);
}

static void add_histogram(struct chart *c, const struct record_latency *l, const char *label,
                          u32 colour)
{
	double share[STEPS] = {0};
	struct chart_line *line;
	double total = 0;
	u32 first = STEPS;
	u32 last = 0;
	u32 n = 0;

	for (u32 i = 0; i < l->nr_buckets; i++)
		total += (double)l->bucket[i].count;
	for (u32 i = 0; i < l->nr_buckets; i++) {
		u32 s = step_of(l->bucket[i].low_ns);

		share[s] += 100.0 * (double)l->bucket[i].count / total;
		first = min(first, s);
		last = max(last, s);
	}
	if (first > last)
		return;
	/* An octave of nothing on both sides, so that one step alone has a shape. */
	first -= min_t(u32, first, STEPS_PER_OCTAVE);
	last = min_t(u32, last + STEPS_PER_OCTAVE, STEPS - 1);
	line = chart_line(c, label, colour, last - first + 1);
	if (!line)
		return;
	line->style = CHART_STEPS;
	for (u32 s = first; s <= last; s++) {
		line->x[n] = sqrt(step_begin(s) * step_begin(s + 1));
		line->y[n++] = share[s];
		if (share[s] > 0 && (c->floor == 0 || share[s] / 2 < c->floor))
			c->floor = share[s] / 2;
	}
	line->n = n;
}

static void percentile_table(struct html *h, const struct html_group *g,
                             const struct run_record *mean, const char *name)
{
	char text[6][FORMAT_MAX];

	html_print(h, "<div class=\"scroll\"><table><tr>");
	html_cell(h, "th", NULL, "%s", name);
	for (size_t i = 0; i < 7; i++) {
		static const char *const head[] = {"count", "mean",  "p50", "p90",
		                                   "p99",   "p99.9", "max"};

		html_cell(h, "th", NULL, "%s", head[i]);
	}
	html_print(h, "</tr>\n");
	for (u32 i = 0; i < g->nr; i++) {
		const struct record_latency *l = find(&mean[i], name);

		if (!l)
			continue;
		html_print(h, "<tr>");
		html_cell(h, "td", NULL, "%s", g->label[i]);
		html_cell(h, "td", NULL, "%lu", l->count);
		html_cell(h, "td", NULL, "%s", format_ns(text[0], (double)l->mean_ns));
		html_cell(h, "td", NULL, "%s", format_ns(text[1], (double)l->p50_ns));
		html_cell(h, "td", NULL, "%s", format_ns(text[2], (double)l->p90_ns));
		html_cell(h, "td", NULL, "%s", format_ns(text[3], (double)l->p99_ns));
		html_cell(h, "td", NULL, "%s", format_ns(text[4], (double)l->p999_ns));
		html_cell(h, "td", NULL, "%s", format_ns(text[5], (double)l->max_ns));
		html_print(h, "</tr>\n");
	}
	html_print(h, "</table></div>\n");
}

static double decades_of(const struct chart *c)
{
	double lo = INFINITY;
	double hi = 1;

	for (u32 i = 0; i < c->nr_lines; i++) {
		lo = fmin(lo, c->line[i].x[0]);
		hi = fmax(hi, c->line[i].x[c->line[i].n - 1]);
	}
	return log10(hi / lo);
}

static void one_operation(struct html *h, const struct html_group *g, const struct run_record *mean,
                          const char *name)
{
	char title[128];
	struct chart *c;

	snprintf(title, sizeof(title), "latency of %s", name);
	c = chart_new(&h->charts, title, "latency (log)", "% of operations (log)");
	c->log_x = c->log_y = true;
	for (u32 i = 0; i < g->nr; i++) {
		const struct record_latency *l = find(&mean[i], name);

		if (l)
			add_histogram(c, l, g->label[i], 1 + i % CHART_COLOURS);
	}
	c->x_tics = report_strdup(decades_of(c) > 6 ? few_decades : every_decade);
	html_chart(h, c);
}

/* Whether the @k-th operation of column @i has not been seen in an earlier one. */
static bool is_new(const struct run_record *mean, u32 i, const char *name)
{
	for (u32 k = 0; k < i; k++)
		if (find(&mean[k], name))
			return false;
	return true;
}

void html_latency(struct html *h, const struct html_group *g)
{
	struct run_record *mean = report_alloc(g->nr, sizeof(*mean));
	bool any = false;

	for (u32 i = 0; i < g->nr; i++) {
		column_mean(g->r, g->column[i], &mean[i]);
		any = any || mean[i].nr_latencies;
	}
	if (any) {
		html_heading(h, 3, NULL, "Latencies");
		html_charts_begin(h);
		for (u32 i = 0; i < g->nr; i++)
			for (u32 k = 0; k < mean[i].nr_latencies; k++)
				if (is_new(mean, i, mean[i].latency[k].name))
					one_operation(h, g, mean, mean[i].latency[k].name);
		html_charts_end(h);
		html_print(h, "<details><summary>Percentiles</summary>\n");
		for (u32 i = 0; i < g->nr; i++)
			for (u32 k = 0; k < mean[i].nr_latencies; k++)
				if (is_new(mean, i, mean[i].latency[k].name))
					percentile_table(h, g, mean, mean[i].latency[k].name);
		html_print(h, "</details>\n");
	}
	for (u32 i = 0; i < g->nr; i++)
		record_free(&mean[i]);
	free(mean);
}
