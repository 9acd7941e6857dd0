/*
 * Two targets side by side: what the simulation says, what the host says, and the error.
 */
#include <string.h>

#include "report/format.h"
#include "report/grid.h"
#include "report/text.h"

static void side_cells(struct grid *grid, const char *name, bool is_time, double sim, double host)
{
	char a[FORMAT_MAX];
	char b[FORMAT_MAX];
	char error[FORMAT_MAX];

	grid_cell(grid, "  %s", name);
	grid_cell(grid, "%s", is_time ? text_seconds(a, sim) : format_count(a, sim));
	grid_cell(grid, "%s", is_time ? text_seconds(b, host) : format_count(b, host));
	if (sim == host)
		grid_cell(grid, "=");
	else if (host == 0)
		grid_cell(grid, "none on host");
	else
		grid_cell(grid, "%s", format_change(error, sim / host));
}

/*
 * Zones lie elsewhere on another machine, so counters are looked at without them. True if this is
 * the first of its name in @r; @name gets the name.
 */
static bool first_of_name(const struct run_record *r, u32 i, char *name, size_t n)
{
	size_t len = counter_stem(r->counter[i].name);

	snprintf(name, n, "%.*s", (int)len, r->counter[i].name);
	for (u32 k = 0; k < i; k++)
		if (counter_stem(r->counter[k].name) == len &&
		    strncmp(r->counter[k].name, name, len) == 0)
			return false;
	return !counter_is_amount(name);
}

/* What reclaim is compared by. Other counters are of interest where both sides count something. */
static bool is_reclaim(const char *name)
{
	static const char *const stem[] = {"pgfault",    "pgmajfault",  "pswp",       "pgscan_",
	                                   "pgsteal_",   "allocstall",  "pglazyfree", "pgrotated",
	                                   "pgactivate", "pgdeactivate"};

	for (size_t i = 0; i < ARRAY_SIZE(stem); i++)
		if (strncmp(name, stem[i], strlen(stem[i])) == 0)
			return true;
	return false;
}

static bool is_row(const char *name, double a, double b)
{
	return (a != 0 && b != 0) || ((a != 0 || b != 0) && is_reclaim(name));
}

/* Counters of @a that moved and that have no row beside @b's, on lines of their own. */
static void print_unpaired(FILE *f, const char *heading, const struct run_record *a,
                           const struct run_record *b)
{
	size_t at = 0;

	for (u32 i = 0; i < a->nr_counters; i++) {
		char name[96];
		char text[128];
		double value = 0;
		double other = 0;
		size_t len;

		if (!first_of_name(a, i, name, sizeof(name)) || !record_metric(a, name, &value) ||
		    !value)
			continue;
		if (record_metric(b, name, &other) && (other != 0 || is_row(name, value, other)))
			continue;
		if (!at)
			at = (size_t)fprintf(f, "  %s", heading);
		len = (size_t)snprintf(text, sizeof(text), " %s %.0f", name, value);
		if (at + len > GRID_WIDTH)
			at = (size_t)fprintf(f, "\n   ") - 1;
		fputs(text, f);
		at += len;
	}
	if (at)
		fputc('\n', f);
}

void text_sides(FILE *f, const struct results *r, const struct result_column *sim,
                const struct result_column *host)
{
	static const char *const time[] = {"elapsed", "user", "sys"};
	struct run_record s;
	struct run_record h;
	struct grid grid;

	if (!column_mean(r, sim, &s))
		return;
	if (!column_mean(r, host, &h)) {
		record_free(&s);
		return;
	}
	grid_init(&grid, "lrrr");
	grid_cell(&grid, "%s%s%s", sim->variant, *sim->point ? " " : "", sim->point);
	grid_cell(&grid, "sim");
	grid_cell(&grid, "host");
	grid_cell(&grid, "error");
	for (size_t i = 0; i < ARRAY_SIZE(time); i++) {
		double a = 0;
		double b = 0;

		record_metric(&s, time[i], &a);
		record_metric(&h, time[i], &b);
		side_cells(&grid, time[i], true, a, b);
	}
	for (u32 i = 0; i < h.nr_counters; i++) {
		char name[96];
		double a;
		double b;

		if (first_of_name(&h, i, name, sizeof(name)) && record_metric(&s, name, &a) &&
		    record_metric(&h, name, &b) && is_row(name, a, b))
			side_cells(&grid, name, false, a, b);
	}
	fputc('\n', f);
	grid_print(&grid, f, 2, GRID_WIDTH, 1);
	grid_free(&grid);
	print_unpaired(f, "only the host counts:", &h, &s);
	print_unpaired(f, "only the simulation counts:", &s, &h);
	record_free(&s);
	record_free(&h);
}

/* ---- is the answer the same? -------------------------------------------------------------------- */

enum verdict { SLOWER, FASTER, NO_DIFFERENCE };

/* Of a few runs the interval of the ratio decides, of one its value. */
static enum verdict verdict_of(const struct comparison *c)
{
	double lo = c->n < 2 ? c->ratio : c->ratio_lo;
	double hi = c->n < 2 ? c->ratio : c->ratio_hi;

	return lo > 1 ? SLOWER : hi < 1 ? FASTER : NO_DIFFERENCE;
}

static void say_ratio(FILE *f, const char *target, const struct comparison *c)
{
	fprintf(f, "%s x%.3f", target, c->ratio);
	if (c->n >= 2)
		fprintf(f, " (%.3f to %.3f)", c->ratio_lo, c->ratio_hi);
}

void text_sides_verdict(FILE *f, const struct results *r, const char *point)
{
	static const char *const text[] = {"slower than", "faster than", "no different from"};
	const struct result_column *base[2] = {results_find(r, NULL, point, "sim"), NULL};

	if (base[0])
		base[1] = results_find(r, base[0]->variant, point, "host");
	if (!base[1])
		return;
	for (u32 i = 0; i < r->nr_columns; i++) {
		const struct result_column *sim = &r->column[i];
		const struct result_column *host;
		struct comparison s;
		struct comparison h;

		if (sim == base[0] || strcmp(sim->target, "sim") != 0 ||
		    strcmp(sim->point, point) != 0)
			continue;
		host = results_find(r, sim->variant, point, "host");
		if (!host)
			continue;
		column_compare(r, base[0], sim, "elapsed", &s);
		column_compare(r, base[1], host, "elapsed", &h);
		if (!s.n || !h.n)
			continue;
		fprintf(f, "\n  %s is %s %s on the host", sim->variant, text[verdict_of(&h)],
		        base[0]->variant);
		if (verdict_of(&h) == verdict_of(&s))
			fprintf(f, ", and the simulation says so too");
		else
			fprintf(f, "; the simulation says it is %s it", text[verdict_of(&s)]);
		fprintf(f, "\n    elapsed: ");
		say_ratio(f, "host", &h);
		say_ratio(f, ", simulation", &s);
		fputc('\n', f);
	}
}
