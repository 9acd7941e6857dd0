/*
 * Tables: variants compared, where the time went, locks, the configuration, notes. See html.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/html.h"
#include "report/metric.h"
#include "report/spans.h"
#include "report/text.h"

#define SPANS_SHOWN 9 /* in the bars; the rest is one piece */

static void head_row(struct html *h, const struct html_group *g, const char *first)
{
	html_print(h, "<tr>");
	html_cell(h, "th", NULL, "%s", first);
	for (u32 i = 0; i < g->nr; i++)
		html_cell(h, "th", NULL, "%s", g->label[i]);
	html_print(h, "</tr>\n");
}

/* ---- comparison --------------------------------------------------------------------------------- */

static void value_text(char *buf, const char *metric, double v)
{
	if (strcmp(metric_unit(metric), "s") == 0)
		text_seconds(buf, v);
	else
		format_count(buf, v);
}

static void metric_row(struct html *h, const struct html_group *g, const char *metric,
                       const char *title)
{
	char value[FORMAT_MAX];
	char change[FORMAT_MAX];

	html_print(h, "<tr>");
	html_cell(h, "td", NULL, "%s", title);
	for (u32 i = 0; i < g->nr; i++) {
		const char *class;
		struct comparison c;
		struct summary s;

		column_summary(g->r, g->column[i], metric, &s);
		if (!s.n) {
			html_cell(h, "td", "mut", "n/a");
			continue;
		}
		value_text(value, metric, s.mean);
		html_print(h, "<td>%s", value);
		if (s.n > 1 && s.mean != 0)
			html_print(h, " <span class=\"mut\">&plusmn;%.1f%%</span>",
			           summary_std_percent(&s));
		if (i) {
			column_compare(g->r, g->column[0], g->column[i], metric, &c);
			format_comparison(change, &c);
			class = metric_judgement(metric, &c);
			html_print(h, " <span class=\"%s\">%s</span>",
			           strcmp(class, "better") == 0  ? "good"
			           : strcmp(class, "worse") == 0 ? "bad"
			                                         : "",
			           change);
		}
		html_print(h, "</td>");
	}
	html_print(h, "</tr>\n");
}

/* Counters of all columns by name, in the first's order, where they count something anywhere. */
static bool counts_something(const struct html_group *g, const char *name)
{
	for (u32 i = 0; i < g->nr; i++)
		for (u32 k = 0; k < g->r->nr_seeds; k++)
			if (record_counter(&g->column[i]->record[k], name))
				return true;
	return false;
}

/* What is asked about first. All else is in the long table. */
static bool is_main(const char *name)
{
	static const char *const stem[] = {
		"pgfault",    "pgmajfault", "pswpin",     "pswpout",    "pgscan_",    "pgsteal_",
		"allocstall", "pglazyfree", "pgrotated",  "pgactivate", "thp_",       "compact_",
		"workingset", "oom_kill",   "nr_dirtied", "nr_written", "unevictable"};

	for (size_t i = 0; i < ARRAY_SIZE(stem); i++)
		if (strncmp(name, stem[i], strlen(stem[i])) == 0)
			return true;
	return false;
}

static void counter_rows(struct html *h, const struct html_group *g, bool main)
{
	const struct run_record *r = &g->column[0]->record[0];

	for (u32 i = 0; i < r->nr_counters; i++)
		if (is_main(r->counter[i].name) == main && !counter_is_time(r->counter[i].name) &&
		    counts_something(g, r->counter[i].name))
			metric_row(h, g, r->counter[i].name, r->counter[i].name);
}

/* Whether a metric is there, and not 0, in a column. */
static bool ever_counts(const struct html_group *g, u32 i, const char *metric)
{
	struct summary s;

	column_summary(g->r, g->column[i], metric, &s);
	return s.n && (s.min != 0 || s.max != 0);
}

static void derived_rows(struct html *h, const struct html_group *g)
{
	const struct metric_info *m;

	for (u32 i = 0; (m = metric_derived_at(i)); i++) {
		bool any = false;
		char title[96];

		for (u32 k = 0; k < g->nr && !any; k++)
			any = ever_counts(g, k, m->name);
		snprintf(title, sizeof(title), "%s%s%s", m->title, *m->unit ? ", " : "", m->unit);
		if (any)
			metric_row(h, g, m->name, title);
	}
}

void html_comparison(struct html *h, const struct html_group *g)
{
	static const char *const time[] = {"elapsed", "user", "sys", "time"};

	html_heading(h, 3, NULL, g->nr > 1 ? "Compared" : "Measured");
	if (g->nr > 1)
		html_print(
			h,
			"<p class=\"mut small\">Means%s. Changes are against the first column; "
			"~ is no difference that could be told, new and gone: one side is 0.</p>\n",
			g->r->nr_seeds > 1 ? " and standard deviations over seeds" : "");
	html_print(h, "<div class=\"scroll\"><table>\n");
	head_row(h, g, "");
	for (size_t i = 0; i < ARRAY_SIZE(time); i++) {
		char title[32];

		if (!column_has(g->r, g->column[0], time[i]))
			continue;
		snprintf(title, sizeof(title), "%s (s)", time[i]);
		metric_row(h, g, time[i], title);
	}
	derived_rows(h, g);
	counter_rows(h, g, true);
	html_print(h, "</table></div>\n<details><summary>All other counters</summary>"
	              "<div class=\"scroll\"><table>\n");
	head_row(h, g, "");
	counter_rows(h, g, false);
	html_print(h, "</table></div></details>\n");
}

/* ---- where the time went ------------------------------------------------------------------------ */

static u64 rest_of(const struct span_row *sum, u32 n, u32 i)
{
	u64 ns = 0;

	for (u32 k = SPANS_SHOWN; k < n; k++)
		ns += sum[k].ns[i];
	return ns;
}

static void bar_piece(struct html *h, u64 ns, double total, u32 colour, const char *path)
{
	char text[FORMAT_MAX];

	if ((double)ns < total / 2000)
		return;
	html_print(h, "<i style=\"width:%.2f%%;background:var(--p%u)\" title=\"",
	           100.0 * (double)ns / total, colour);
	html_text(h, path);
	html_print(h, ": %s\"></i>", format_ns(text, (double)ns));
}

/* A bar per column, as long as its CPU time; idle time is the hatched end. */
static void bars(struct html *h, const struct html_group *g, const struct run_record *mean,
                 const struct span_row *sum, u32 n)
{
	double most = 0;

	for (u32 i = 0; i < g->nr; i++) {
		u64 busy;
		u64 idle;

		record_cpu_time(&mean[i], &busy, &idle);
		most = fmax(most, (double)busy + (double)idle);
	}
	html_print(h, "<div class=\"bars\">\n");
	for (u32 i = 0; i < g->nr; i++) {
		char text[FORMAT_MAX];
		u64 busy;
		u64 idle;

		record_cpu_time(&mean[i], &busy, &idle);
		html_print(h, "<div>");
		html_text(h, g->label[i]);
		html_print(h, " <span class=\"mut small\">%s busy</span></div><div class=\"bar\">",
		           format_ns(text, (double)busy));
		for (u32 k = 0; k < n && k < SPANS_SHOWN; k++)
			bar_piece(h, sum[k].ns[i], most, k + 1, sum[k].path);
		bar_piece(h, rest_of(sum, n, i), most, 67, "all others");
		html_print(
			h,
			"<i class=\"idle\" style=\"width:%.2f%%\" title=\"idle: %s\"></i></div>\n",
			100.0 * (double)idle / most, format_ns(text, (double)idle));
	}
	html_print(h, "</div>\n");
}

static void span_cells(struct html *h, const struct html_group *g, const struct run_record *mean,
                       const u64 *ns)
{
	for (u32 i = 0; i < g->nr; i++) {
		char text[FORMAT_MAX];
		u64 busy;
		u64 idle;

		record_cpu_time(&mean[i], &busy, &idle);
		if (ns[i])
			html_cell(h, "td", NULL, "%s %4.1f%%", format_ns(text, (double)ns[i]),
			          100.0 * (double)ns[i] / (double)max(busy, 1UL));
		else
			html_cell(h, "td", "mut", "-");
	}
	html_print(h, "</tr>\n");
}

static void span_table(struct html *h, const struct html_group *g, const struct run_record *mean,
                       const struct span_row *sum, u32 from, u32 to)
{
	for (u32 k = from; k < to; k++) {
		html_print(h, "<tr><td>");
		if (k < SPANS_SHOWN)
			html_print(h,
			           "<span class=\"chip\" style=\"background:var(--p%u)\"></span>",
			           k + 1);
		html_print(h, "<code>");
		html_text(h, sum[k].path);
		html_print(h, "</code></td>");
		span_cells(h, g, mean, sum[k].ns);
	}
}

static void time_tables(struct html *h, const struct html_group *g, const struct run_record *mean,
                        const struct span_row *sum, u32 n)
{
	u64 rest[HTML_GROUP_MAX];
	u64 idle[HTML_GROUP_MAX];
	u64 busy;

	for (u32 i = 0; i < g->nr; i++) {
		rest[i] = rest_of(sum, n, i);
		record_cpu_time(&mean[i], &busy, &idle[i]);
	}
	html_print(h, "<div class=\"scroll\"><table>\n");
	head_row(h, g, "span: its own time, share of the time not idle");
	span_table(h, g, mean, sum, 0, min_t(u32, n, SPANS_SHOWN));
	html_print(h, "<tr><td><span class=\"chip\" style=\"background:var(--p67)\"></span>all "
	              "others</td>");
	span_cells(h, g, mean, rest);
	html_print(h, "<tr><td><span class=\"chip idle\"></span>idle</td>");
	for (u32 i = 0; i < g->nr; i++) {
		char text[FORMAT_MAX];

		html_cell(h, "td", NULL, "%s", format_ns(text, (double)idle[i]));
	}
	html_print(h, "</tr></table></div>\n");
	if (n <= SPANS_SHOWN)
		return;
	html_print(h, "<details><summary>All %u spans</summary><div class=\"scroll\"><table>\n", n);
	head_row(h, g, "span");
	span_table(h, g, mean, sum, SPANS_SHOWN, min_t(u32, n, 60));
	html_print(h, "</table></div></details>\n");
}

/* The means of the columns that have a ledger, and a group of those. */
static u32 means_of(const struct html_group *g, struct html_group *with, struct run_record *mean)
{
	*with = *g;
	with->nr = 0;
	for (u32 i = 0; i < g->nr; i++) {
		struct run_record *m = &mean[with->nr];

		if (!column_mean(g->r, g->column[i], m))
			continue;
		if (!m->nr_spans) {
			record_free(m);
			continue;
		}
		with->column[with->nr] = g->column[i];
		snprintf(with->label[with->nr], sizeof(with->label[0]), "%s", g->label[i]);
		with->nr++;
	}
	return with->nr;
}

void html_time(struct html *h, const struct html_group *all)
{
	struct run_record *mean = report_alloc(all->nr, sizeof(*mean));
	struct html_group g;
	u32 nr = means_of(all, &g, mean);

	if (nr) {
		u32 n;
		struct span_row *sum = span_rows(mean, nr, &n);

		html_heading(h, 3, NULL, "Where the time went");
		html_print(h,
		           "<p class=\"mut small\">CPU time of all %u CPUs; a bar is as long as "
		           "the run "
		           "took.</p>\n",
		           mean[0].nr_cpus);
		bars(h, &g, mean, sum, n);
		time_tables(h, &g, mean, sum, n);
		free(sum);
	}
	for (u32 i = 0; i < nr; i++)
		record_free(&mean[i]);
	free(mean);
}

/* ---- locks -------------------------------------------------------------------------------------- */

static const struct record_lock *find_lock(const struct run_record *m, const char *name)
{
	for (u32 i = 0; i < m->nr_locks; i++)
		if (strcmp(m->lock[i].name, name) == 0)
			return &m->lock[i];
	return NULL;
}

static void lock_row(struct html *h, const struct html_group *g, const struct run_record *mean,
                     const char *name)
{
	html_print(h, "<tr>");
	html_cell(h, "td", NULL, "%s", name);
	for (u32 i = 0; i < g->nr; i++) {
		const struct record_lock *l = find_lock(&mean[i], name);
		char text[FORMAT_MAX];

		if (l && l->contentions)
			html_cell(h, "td", NULL, "%s in %lu of %lu",
			          format_ns(text, (double)l->wait_ns), l->contentions,
			          l->acquisitions);
		else
			html_cell(h, "td", "mut", "-");
	}
	html_print(h, "</tr>\n");
}

static bool contended(const struct run_record *mean, u32 nr, const char *name, u32 before)
{
	for (u32 k = 0; k < before; k++)
		if (find_lock(&mean[k], name))
			return false; /* it has had its row */
	for (u32 k = 0; k < nr; k++) {
		const struct record_lock *l = find_lock(&mean[k], name);

		if (l && l->contentions)
			return true;
	}
	return false;
}

void html_locks(struct html *h, const struct html_group *all)
{
	struct run_record *mean = report_alloc(all->nr, sizeof(*mean));
	struct html_group g;
	u32 nr = means_of(all, &g, mean);

	html_print(h,
	           "<details><summary>Waiting for locks</summary><div class=\"scroll\"><table>\n");
	head_row(h, &g, "time waited, contended of all acquisitions");
	for (u32 i = 0; i < nr; i++)
		for (u32 k = 0; k < mean[i].nr_locks; k++)
			if (contended(mean, nr, mean[i].lock[k].name, i))
				lock_row(h, &g, mean, mean[i].lock[k].name);
	html_print(h, "</table></div></details>\n");
	for (u32 i = 0; i < nr; i++)
		record_free(&mean[i]);
	free(mean);
}

/* ---- configuration ------------------------------------------------------------------------------ */

static bool differs(const struct html_group *g, const char *name)
{
	const char *first = config_get(&g->column[0]->config, name);

	for (u32 i = 1; i < g->nr; i++) {
		const char *v = config_get(&g->column[i]->config, name);

		if (!v != !first || (v && strcmp(v, first) != 0))
			return true;
	}
	return false;
}

static void config_rows(struct html *h, const struct html_group *g, bool different)
{
	const struct config *c = &g->column[0]->config;

	for (u32 i = 0; i < c->nr; i++) {
		const struct config_entry *e = &c->entry[i];

		if (differs(g, e->name) != different)
			continue;
		html_print(h, "<tr>");
		html_cell(h, "td", NULL, "%s", e->name);
		for (u32 k = 0; k < (different ? g->nr : 1); k++) {
			const char *v = config_get(&g->column[k]->config, e->name);

			html_cell(h, "td", NULL, "%s", v ? v : "-");
		}
		if (!different)
			html_cell(h, "td", "l mut", "%s", e->origin);
		html_print(h, "</tr>\n");
	}
}

void html_config(struct html *h, const struct html_group *g)
{
	html_heading(h, 3, NULL, "Configuration");
	if (g->nr > 1) {
		html_print(h, "<p>In this they differ:</p><div class=\"scroll\"><table>\n");
		head_row(h, g, "");
		config_rows(h, g, true);
		html_print(h, "</table></div>\n");
	}
	html_print(h,
	           "<details><summary>Everything that is %s, and where it comes from</summary>"
	           "<div class=\"scroll\"><table>\n",
	           g->nr > 1 ? "the same for all" : "set");
	html_print(h, "<tr><th>name</th><th>value</th><th class=\"l\">origin</th></tr>\n");
	config_rows(h, g, false);
	html_print(h, "</table></div></details>\n");
}

/* ---- notes -------------------------------------------------------------------------------------- */

static void note_items(struct html *h, const char *text)
{
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, "\n");
		char line[1024];

		snprintf(line, sizeof(line), "%.*s", (int)len, p);
		if (len) {
			html_print(h, "<li>");
			html_text(h, line);
			html_print(h, "</li>\n");
		}
		p += len + (p[len] == '\n');
	}
}

void html_notes(struct html *h, const struct html_group *g)
{
	html_print(h, "<ul class=\"small mut\">\n");
	for (u32 i = 0; i < g->nr; i++) {
		for (u32 k = 0; k < g->r->nr_seeds; k++) {
			const struct run_record *r = &g->column[i]->record[k];

			if (!r->status)
				continue;
			html_print(h, "<li class=\"bad\">");
			html_text(h, g->label[i]);
			html_print(h, ", seed %lu broke off: ", r->seed);
			html_text(h, *r->error ? r->error : strerror(-r->status));
			html_print(h, "</li>\n");
		}
		if (!i || strcmp(g->column[i]->record[0].notes, g->column[0]->record[0].notes) != 0)
			note_items(h, g->column[i]->record[0].notes);
	}
	html_print(h, "<li>The spread is over seeds: over the model's interleavings, not over "
	              "machines.</li>\n");
	if (g->nr_left_out)
		html_print(h, "<li>%u more columns are in the sweep only.</li>\n", g->nr_left_out);
	html_print(h, "</ul>\n");
}
