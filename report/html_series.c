/*
 * Counters over virtual time, variants overlaid. See html.h.
 *
 * Of each column the run with the first seed. What is drawn is chosen by what moved: lists that were
 * always small beside memory, rates that were always 0 and zones that hold next to nothing have no picture.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"

#define MB_PER_PAGE (4096.0 / (1 << 20))
#define POINTS_MAX 150 /* of a line; more is not seen and costs room */

static const struct run_record *run_of(const struct html_group *g, u32 i)
{
	return &g->column[i]->record[0];
}

/* Every @step-th moment is drawn. */
static u32 step_of(const struct run_record *r)
{
	return max((r->nr_points + POINTS_MAX - 1) / POINTS_MAX, 1u);
}

static double seconds_at(const struct run_record *r, u32 i)
{
	return (double)r->time_ns[i] / 1e9;
}

/* ---- amounts ------------------------------------------------------------------------------------ */

static double largest(const struct html_group *g, const char *name)
{
	u64 most = 0;

	for (u32 i = 0; i < g->nr; i++) {
		const struct run_record *r = run_of(g, i);
		const struct record_series *s = record_series(r, name);

		for (u32 k = 0; s && k < r->nr_points; k++)
			most = max(most, s->v[k]);
	}
	return (double)most;
}

static void add_amount(struct chart *c, const struct html_group *g, u32 i, const char *name,
                       const char *label, u32 colour, u32 dash, double scale)
{
	const struct run_record *r = run_of(g, i);
	const struct record_series *s = record_series(r, name);
	u32 step = step_of(r);
	struct chart_line *l;
	u32 n = 0;

	if (!r->nr_points)
		return;
	l = chart_line(c, label, colour, (r->nr_points + step - 1) / step);
	if (!l)
		return;
	l->dash = dash;
	for (u32 k = 0; k < r->nr_points; k += step) {
		l->x[n] = seconds_at(r, k);
		l->y[n++] = s ? (double)s->v[k] * scale : 0;
	}
	l->n = n;
}

static u32 colour_of(u32 i)
{
	return 1 + i % CHART_COLOURS;
}

/* Dashes tell apart what colours cannot, from the ninth column on. */
static u32 dash_of(u32 i)
{
	return i / CHART_COLOURS;
}

static void amount_chart(struct html *h, const struct html_group *g, const char *title,
                         const char *name, const char *unit, double scale)
{
	struct chart *c = chart_new(&h->charts, title, "time (s)", unit);

	c->from_zero = true;
	for (u32 i = 0; i < g->nr; i++)
		add_amount(c, g, i, name, g->label[i], colour_of(i), dash_of(i), scale);
	html_chart(h, c);
}

/* ---- free pages --------------------------------------------------------------------------------- */

/* The three marks of a zone, of the first column that has them: they are alike in most runs. */
static void add_marks(struct chart *c, const struct html_group *g, const char *zone)
{
	static const char *const mark[] = {"high", "low", "min"};

	for (u32 m = 0; m < ARRAY_SIZE(mark); m++) {
		char name[128];

		snprintf(name, sizeof(name), "%s %s", zone, mark[m]);
		for (u32 i = 0; i < g->nr; i++) {
			if (!record_series(run_of(g, i), name))
				continue;
			add_amount(c, g, i, name, m ? NULL : "marks: high, low, min", 0, 1,
			           MB_PER_PAGE);
			break;
		}
	}
}

static void zone_chart(struct html *h, const struct html_group *g, const char *zone)
{
	char title[160];
	char name[128];
	struct chart *c;

	snprintf(title, sizeof(title), "free memory: zone %s", zone);
	snprintf(name, sizeof(name), "%s free", zone);
	c = chart_new(&h->charts, title, "time (s)", "MB (log)");
	c->log_y = true; /* the marks are far below what is free at the beginning */
	for (u32 i = 0; i < g->nr; i++)
		add_amount(c, g, i, name, g->label[i], colour_of(i), dash_of(i), MB_PER_PAGE);
	add_marks(c, g, zone);
	html_chart(h, c);
}

/* Zones that ever had a fiftieth of the largest; at most six. */
static void zone_charts(struct html *h, const struct html_group *g)
{
	const struct run_record *r = NULL;
	double most = 0;
	u32 nr = 0;

	for (u32 i = 0; i < g->nr && !r; i++)
		r = run_of(g, i)->nr_points ? run_of(g, i) : NULL;
	for (u32 pass = 0; r && pass < 2; pass++) {
		for (u32 i = 0; i < r->nr_series; i++) {
			const char *name = r->series[i].name;
			size_t len = strlen(name);
			char zone[96];

			if (len < 6 || strcmp(name + len - 5, " free") != 0)
				continue;
			snprintf(zone, sizeof(zone), "%.*s", (int)(len - 5), name);
			if (pass == 0)
				most = fmax(most, largest(g, name));
			else if (largest(g, name) * 50 >= most && nr++ < 6)
				zone_chart(h, g, zone);
		}
	}
}

/* ---- rates -------------------------------------------------------------------------------------- */

/* What totals grew by per second, over windows of @step moments. Several names are added up. */
static bool add_rate(struct chart *c, const struct html_group *g, u32 i, const char *const *name,
                     double scale, bool draw, double *most)
{
	const struct run_record *r = run_of(g, i);
	u32 step = step_of(r);
	struct chart_line *l = NULL;
	u32 n = 0;

	if (r->nr_points < 2)
		return false;
	if (draw)
		l = chart_line(c, g->label[i], colour_of(i), (r->nr_points + step - 2) / step);
	if (draw && !l)
		return false;
	for (u32 k = 0; k + 1 < r->nr_points; k += step) {
		u32 to = min(k + step, r->nr_points - 1);
		double ns = (double)(r->time_ns[to] - r->time_ns[k]);
		double sum = 0;

		for (u32 m = 0; name[m]; m++) {
			const struct record_series *s = record_series(r, name[m]);

			sum += s ? (double)(s->v[to] - s->v[k]) : 0;
		}
		if (ns <= 0)
			continue;
		*most = fmax(*most, sum / ns * 1e9);
		if (!l)
			continue;
		l->x[n] = (seconds_at(r, k) + seconds_at(r, to)) / 2;
		l->y[n++] = sum / ns * 1e9 * scale;
	}
	if (l) {
		l->n = n;
		l->dash = dash_of(i);
	}
	return true;
}

/* Its unit's prefix is chosen so that the axis has short numbers. */
static void rate_chart(struct html *h, const struct html_group *g, const char *title,
                       const char *unit, const char *const *name)
{
	double scale = 1;
	double most = 0;
	char label[64];
	struct chart *c;

	for (u32 i = 0; i < g->nr; i++)
		add_rate(NULL, g, i, name, 1, false, &most);
	if (most <= 0)
		return;
	if (most >= 2e6) {
		scale = 1e-6;
		snprintf(label, sizeof(label), "million %s/s", unit);
	} else if (most >= 2e3) {
		scale = 1e-3;
		snprintf(label, sizeof(label), "thousand %s/s", unit);
	} else {
		snprintf(label, sizeof(label), "%s/s", unit);
	}
	c = chart_new(&h->charts, title, "time (s)", label);
	c->from_zero = true;
	for (u32 i = 0; i < g->nr; i++)
		add_rate(c, g, i, name, scale, true, &most);
	html_chart(h, c);
}

/* Names differ between kernels, by zone among others: all that begin with one of @stem. For free(). */
static const char **names_of(const struct html_group *g, const char *const *stem)
{
	const char **name = report_alloc(512, sizeof(*name));
	u32 nr = 0;

	for (u32 i = 0; i < g->nr; i++) {
		const struct run_record *r = run_of(g, i);

		for (u32 k = 0; k < r->nr_series && nr < 511; k++) {
			const char *n = r->series[k].name;
			bool known = false;

			for (u32 m = 0; m < nr && !known; m++)
				known = strcmp(name[m], n) == 0;
			for (u32 m = 0; stem[m] && !known; m++) {
				size_t len = counter_stem(n);

				if (strlen(stem[m]) == len && strncmp(n, stem[m], len) == 0) {
					name[nr++] = n;
					break;
				}
			}
		}
	}
	return name;
}

static const struct {
	const char *title;
	const char *unit;
	const char *stem[3];
} rates[] = {
	{"page faults", "faults", {"pgfault"}},
	{"major faults", "faults", {"pgmajfault"}},
	{"pages scanned by reclaim", "pages", {"pgscan_kswapd", "pgscan_direct"}},
	{"pages reclaimed", "pages", {"pgsteal_kswapd", "pgsteal_direct"}},
	{"of these, by allocating tasks themselves", "pages", {"pgsteal_direct"}},
	{"allocations that had to reclaim", "stalls", {"allocstall"}},
	{"swapped out", "pages", {"pswpout"}},
	{"swapped in", "pages", {"pswpin"}},
	{"lazily freed pages dropped", "pages", {"pglazyfreed"}},
	{"pages rotated after writeback", "pages", {"pgrotated"}},
	{"pages activated", "pages", {"pgactivate"}},
	{"pages written back", "pages", {"nr_written"}},
	{"pages dirtied", "pages", {"nr_dirtied"}},
	{"huge pages split", "pages", {"thp_split", "thp_split_page"}},
	{"pages migrated by compaction", "pages", {"pgmigrate_success"}},
};

static void rate_charts(struct html *h, const struct html_group *g)
{
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		const char *stem[] = {rates[i].stem[0], rates[i].stem[1], NULL};
		const char **name = names_of(g, stem);

		if (name[0])
			rate_chart(h, g, rates[i].title, rates[i].unit, name);
		free(name);
	}
}

/* ---- shares of the time ------------------------------------------------------------------------- */

static void share_chart(struct html *h, const struct html_group *g, const char *title,
                        const char *name)
{
	const char *const names[] = {name, NULL};
	struct chart *c;
	double most = 0;

	for (u32 i = 0; i < g->nr; i++)
		add_rate(NULL, g, i, names, 1, false, &most);
	if (most <= 0)
		return;
	c = chart_new(&h->charts, title, "time (s)", "% of the time");
	c->from_zero = true;
	for (u32 i = 0; i < g->nr; i++)
		add_rate(c, g, i, names, 1e-9 * 100, true, &most);
	html_chart(h, c);
}

/* CPUs that are not idle. */
static void busy_chart(struct html *h, const struct html_group *g)
{
	static const char *const idle[] = {"idle", NULL};
	struct chart *c = chart_new(&h->charts, "CPUs that are busy", "time (s)", "CPUs");
	double most = 0;

	c->from_zero = true;
	for (u32 i = 0; i < g->nr; i++) {
		u32 nr_cpus = run_of(g, i)->nr_cpus;
		struct chart_line *l;

		if (!add_rate(c, g, i, idle, 1e-9, true, &most))
			continue;
		l = &c->line[c->nr_lines - 1];
		for (u32 k = 0; k < l->n; k++)
			l->y[k] = fmax((double)nr_cpus - l->y[k], 0);
	}
	html_chart(h, c);
}

/* ---- all ---------------------------------------------------------------------------------------- */

static const struct {
	const char *title;
	const char *name;
	double least; /* of the largest free zone: what is never more is not shown */
} amounts[] = {
	{"anonymous pages, inactive list", "nr_inactive_anon", 0.01},
	{"anonymous pages, active list", "nr_active_anon", 0.01},
	{"file pages, inactive list", "nr_inactive_file", 0.01},
	{"file pages, active list", "nr_active_file", 0.01},
	{"unevictable pages", "nr_unevictable", 0.002},
	{"dirty pages", "nr_dirty", 0.0005},
	{"pages under writeback", "nr_writeback", 0.0005},
	{"swap used", "swap used", 0},
};

static bool any_series(const struct html_group *g)
{
	for (u32 i = 0; i < g->nr; i++)
		if (run_of(g, i)->nr_points > 1)
			return true;
	return false;
}

void html_series(struct html *h, const struct html_group *g)
{
	double memory = largest(g, "nr_free_pages");

	if (!any_series(g))
		return;
	html_heading(h, 3, NULL, "Over virtual time");
	html_print(h, "<p class=\"mut small\">One run of each: seed %lu.</p>\n",
	           run_of(g, 0)->seed);
	html_charts_begin(h);
	zone_charts(h, g);
	for (size_t i = 0; i < ARRAY_SIZE(amounts); i++)
		if (largest(g, amounts[i].name) > amounts[i].least * memory)
			amount_chart(h, g, amounts[i].title, amounts[i].name, "MB", MB_PER_PAGE);
	rate_charts(h, g);
	share_chart(h, g, "memory pressure: some tasks stalled", "memory stall some");
	share_chart(h, g, "memory pressure: all tasks stalled (full)", "memory stall full");
	busy_chart(h, g);
	if (largest(g, "waiting for a CPU") > 0)
		amount_chart(h, g, "tasks waiting for a CPU", "waiting for a CPU", "tasks", 1);
	html_charts_end(h);
}
