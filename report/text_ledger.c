/*
 * Where the time went: spans, locks and latencies as tables.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/sort.h"
#include "report/format.h"
#include "report/grid.h"
#include "report/spans.h"
#include "report/text.h"

/*
 * The first @heads names of @path, "...", and as many whole names of its end as fit into @room, but
 * no fewer than two: "spin_wait" alone says nothing.
 */
static void shorten(char *out, size_t n, const char *path, u32 heads, size_t room)
{
	size_t len = strlen(path);
	size_t head = strcspn(path, "/");
	const char *rest;

	while (--heads && head < len)
		head += 1 + strcspn(path + head + 1, "/");
	rest = strrchr(path, '/');
	while (rest && rest > path && *--rest != '/')
		;
	if (len <= room || !rest || rest <= path + head) {
		snprintf(out, n, "%s", path);
		return;
	}
	for (const char *p = rest; p > path + head; p--)
		if (*p == '/' && (size_t)(path + len - p) + head + 4 <= room)
			rest = p;
	snprintf(out, n, "%.*s/...%s", (int)head, path, rest);
}

void text_path(char *out, size_t size, const char *const *path, u32 n, u32 this, size_t room)
{
	char other[256];
	bool alone = false;

	for (u32 heads = 1; !alone && heads < 16; heads++) {
		shorten(out, size, path[this], heads, room);
		alone = true;
		for (u32 i = 0; alone && i < n; i++) {
			shorten(other, sizeof(other), path[i], heads, room);
			alone = i == this || strcmp(out, other) != 0;
		}
	}
}

static void path_cell(struct grid *grid, const struct span_row *row, u32 n, u32 this, size_t room)
{
	const char **path = report_alloc(n, sizeof(*path));
	char text[256];

	for (u32 i = 0; i < n; i++)
		path[i] = row[i].path;
	text_path(text, sizeof(text), path, n, this, room);
	free(path);
	grid_cell(grid, "%s", text);
}

/* One column: share, time, how often, how long each. */
static void print_one(FILE *f, const struct run_record *m, const struct span_row *row, u32 n)
{
	u64 busy;
	u64 idle;
	struct grid grid;
	char text[FORMAT_MAX];

	record_cpu_time(m, &busy, &idle);
	fprintf(f, "\n  where the time went: %u CPU%s, %.1f%% busy, %s of CPU time\n", m->nr_cpus,
	        m->nr_cpus == 1 ? "" : "s",
	        busy + idle ? 100.0 * (double)busy / (double)(busy + idle) : 0,
	        format_ns(text, (double)busy));
	grid_init(&grid, "rrrrl");
	grid_cell(&grid, "share");
	grid_cell(&grid, "self");
	grid_cell(&grid, "count");
	grid_cell(&grid, "each");
	grid_cell(&grid, "span");
	for (u32 i = 0; i < n; i++) {
		grid_cell(&grid, "%.1f%%", 100.0 * (double)row[i].ns[0] / (double)max(busy, 1UL));
		grid_cell(&grid, "%s", format_ns(text, (double)row[i].ns[0]));
		grid_cell(&grid, "%lu", row[i].count);
		grid_cell(&grid, "%s",
		          row[i].count
		                  ? format_ns(text, (double)row[i].ns[0] / (double)row[i].count)
		                  : "");
		path_cell(&grid, row, n, i, 42);
	}
	grid.wrap = true;
	grid_print(&grid, f, 4, GRID_WIDTH, 5);
	grid_free(&grid);
}

#define SPANS_ABREAST 3 /* columns, so that there is room for the paths */

/* Several: seconds and share of each. */
static void print_some(FILE *f, const struct text_group *g, u32 from, u32 to,
                       const struct run_record *mean, const struct span_row *row, u32 n)
{
	size_t room = GRID_WIDTH - 4 - 15 * (size_t)(to - from);
	u64 busy[TEXT_GROUP_MAX];
	u64 idle[TEXT_GROUP_MAX];
	struct grid grid;
	char text[FORMAT_MAX];

	grid_init(&grid, "");
	for (u32 i = from; i < to; i++)
		grid_column(&grid, 'r');
	grid_column(&grid, 'l');
	for (u32 i = from; i < to; i++) {
		char label[128];

		column_label_among(g->column, g->nr, g->column[i], label, sizeof(label));
		grid_cell(&grid, "%s", label);
		record_cpu_time(&mean[i], &busy[i], &idle[i]);
	}
	grid_cell(&grid, "span");
	for (u32 i = from; i < to; i++)
		grid_cell(&grid, "%s      ", format_ns(text, (double)idle[i]));
	grid_cell(&grid, "idle");
	for (u32 i = from; i < to; i++)
		grid_cell(&grid, "%s      ", format_ns(text, (double)busy[i]));
	grid_cell(&grid, "all but idle");
	for (u32 k = 0; k < n; k++) {
		for (u32 i = from; i < to; i++) {
			if (row[k].ns[i])
				grid_cell(&grid, "%s %4.1f%%",
				          format_ns(text, (double)row[k].ns[i]),
				          100.0 * (double)row[k].ns[i] / (double)busy[i]);
			else
				grid_cell(&grid, "-      ");
		}
		path_cell(&grid, row, n, k, room);
	}
	grid.wrap = true;
	grid_print(&grid, f, 4, GRID_WIDTH, to - from + 1);
	grid_free(&grid);
}

static void print_many(FILE *f, const struct text_group *g, const struct run_record *mean,
                       const struct span_row *row, u32 n)
{
	fprintf(f, "\n  where the time went: CPU time, and its share of the time not idle\n");
	for (u32 from = 0; from < g->nr; from += SPANS_ABREAST) {
		if (from)
			fputc('\n', f);
		print_some(f, g, from, min(g->nr, from + SPANS_ABREAST), mean, row, n);
	}
}

/* Means of the columns that have any; the group is shrunk to those. */
static u32 means_of(struct text_group *g, struct run_record *mean)
{
	u32 n = 0;

	for (u32 i = 0; i < g->nr; i++) {
		if (!column_mean(g->r, g->column[i], &mean[n]))
			continue;
		if (!mean[n].nr_spans && !mean[n].nr_locks && !mean[n].nr_latencies) {
			record_free(&mean[n]);
			continue;
		}
		g->column[n++] = g->column[i];
	}
	g->nr = n;
	return n;
}

static void free_means(struct run_record *mean, u32 n)
{
	for (u32 i = 0; i < n; i++)
		record_free(&mean[i]);
}

/* A thousandth of the busiest column's time: what would be printed as 0.0% is left out. */
static u64 least_shown(const struct run_record *mean, u32 nr)
{
	u64 most = 0;

	for (u32 i = 0; i < nr; i++) {
		u64 busy;
		u64 idle;

		record_cpu_time(&mean[i], &busy, &idle);
		most = max(most, busy);
	}
	return max(most / 1000, 1UL);
}

void text_spans(FILE *f, const struct text_group *group, u32 nr_rows)
{
	struct run_record mean[TEXT_GROUP_MAX];
	struct text_group g = *group;
	u32 nr = means_of(&g, mean);
	struct span_row *row;
	u32 n;

	if (!nr)
		return;
	row = span_rows(mean, nr, &n);
	n = min(n, nr_rows);
	while (n && row[n - 1].largest < least_shown(mean, nr))
		n--;
	if (n && nr == 1)
		print_one(f, &mean[0], row, n);
	else if (n)
		print_many(f, &g, mean, row, n);
	free(row);
	free_means(mean, nr);
}

/* ---- locks -------------------------------------------------------------------------------------- */

static int by_wait(const void *a, const void *b, void *arg)
{
	const struct record_lock *x = a;
	const struct record_lock *y = b;

	(void)arg;
	if (x->wait_ns != y->wait_ns)
		return (x->wait_ns < y->wait_ns) - (x->wait_ns > y->wait_ns);
	return (x->acquisitions < y->acquisitions) - (x->acquisitions > y->acquisitions);
}

static void lock_rows(struct grid *grid, struct run_record *m, u32 nr_rows)
{
	sort_stable(m->lock, m->nr_locks, sizeof(*m->lock), by_wait, NULL);
	for (u32 i = 0; i < min(m->nr_locks, nr_rows); i++) {
		const struct record_lock *l = &m->lock[i];

		grid_cell(grid, "%s", l->name);
		grid_cell(grid, "%lu", l->contentions);
		grid_cell(grid, "%.2f", (double)l->wait_ns_max / 1e3);
		grid_cell(grid, "%.2f", (double)l->wait_ns / 1e3);
		grid_cell(grid, "%lu", l->acquisitions);
		if (l->hold_ns_max) {
			grid_cell(grid, "%.2f", (double)l->hold_ns_max / 1e3);
			grid_cell(grid, "%.2f", (double)l->hold_ns / 1e3);
		} else { /* of page locks it is not recorded */
			grid_cell(grid, "-");
			grid_cell(grid, "-");
		}
	}
}

void text_locks(FILE *f, const struct text_group *group, u32 nr_rows)
{
	static const char *const head[] = {"contentions",  "waittime-max", "waittime-total",
	                                   "acquisitions", "holdtime-max", "holdtime-total"};
	struct run_record mean[TEXT_GROUP_MAX];
	struct text_group g = *group;
	u32 nr = means_of(&g, mean);
	u32 nr_locks = 0;
	struct grid grid;

	for (u32 i = 0; i < nr; i++)
		nr_locks += mean[i].nr_locks;
	if (nr_locks) {
		fprintf(f, "\n  locks, in the columns of lock_stat (us)\n");
		grid_init(&grid, "lrrrrrr");
		grid.gap = 1;
		for (u32 i = 0; i < nr; i++) {
			char label[128];

			column_label_among(g.column, g.nr, g.column[i], label, sizeof(label));
			grid_cell(&grid, "%s", nr > 1 ? label : "class name");
			for (size_t k = 0; k < ARRAY_SIZE(head); k++)
				grid_cell(&grid, "%s", i ? "" : head[k]);
			lock_rows(&grid, &mean[i], nr_rows);
		}
		grid_print(&grid, f, 4, GRID_WIDTH, 1);
		grid_free(&grid);
	}
	free_means(mean, nr);
}

/* ---- latencies ---------------------------------------------------------------------------------- */

static const struct record_latency *find_latency(const struct run_record *m, const char *name)
{
	for (u32 i = 0; i < m->nr_latencies; i++)
		if (strcmp(m->latency[i].name, name) == 0)
			return &m->latency[i];
	return NULL;
}

static void latency_cells(struct grid *grid, const struct record_latency *l)
{
	const u64 ns[] = {l->mean_ns, l->p50_ns, l->p90_ns, l->p99_ns, l->p999_ns, l->max_ns};
	char text[FORMAT_MAX];

	grid_cell(grid, "%lu", l->count);
	for (size_t k = 0; k < ARRAY_SIZE(ns); k++)
		grid_cell(grid, "%s", format_ns(text, (double)ns[k]));
}

/* One row per operation and column; the operation is named once. */
static void latency_rows(struct grid *grid, const struct text_group *g,
                         const struct run_record *mean, const char *name)
{
	bool named = false;

	for (u32 i = 0; i < g->nr; i++) {
		const struct record_latency *l = find_latency(&mean[i], name);
		char label[128];

		if (!l)
			continue;
		grid_cell(grid, "%s", named ? "" : name);
		if (g->nr > 1) {
			column_label_among(g->column, g->nr, g->column[i], label, sizeof(label));
			grid_cell(grid, "%s", label);
		}
		latency_cells(grid, l);
		named = true;
	}
}

void text_latencies(FILE *f, const struct text_group *group)
{
	static const char *const head[] = {"count", "mean", "p50", "p90", "p99", "p99.9", "max"};
	struct run_record mean[TEXT_GROUP_MAX];
	struct text_group g = *group;
	u32 nr = means_of(&g, mean);
	u32 most = 0;
	struct grid grid;

	for (u32 i = 1; i < nr; i++)
		if (mean[i].nr_latencies > mean[most].nr_latencies)
			most = i;
	if (nr && mean[most].nr_latencies) {
		grid_init(&grid, nr > 1 ? "llrrrrrrr" : "lrrrrrrr");
		grid_cell(&grid, "latency");
		if (nr > 1)
			grid_cell(&grid, "%s", "");
		for (size_t k = 0; k < ARRAY_SIZE(head); k++)
			grid_cell(&grid, "%s", head[k]);
		for (u32 i = 0; i < mean[most].nr_latencies; i++)
			latency_rows(&grid, &g, mean, mean[most].latency[i].name);
		fputc('\n', f);
		grid_print(&grid, f, 2, GRID_WIDTH, nr > 1 ? 2 : 1);
		grid_free(&grid);
	}
	free_means(mean, nr);
}
