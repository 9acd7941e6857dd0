/*
 * Where the runs of results that exist part. See parting.h.
 */
#include "cli/parting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/diverge.h"
#include "cli/events.h"
#include "cli/rerun.h"
#include "lib/sort.h"
#include "load/quantity.h"
#include "report/grid.h"

#define DIVERGENCES_MAX 4

/* Only the build that made a result can run it again. */
static bool made_by_this(const struct results *r)
{
	return strcmp(r->sources, quire_sources) == 0;
}

static void print_divergence(const struct rerun *ra, const struct result_column *a,
                             const struct rerun *rb, const struct result_column *b,
                             const char *const name[2], u64 seed)
{
	const struct batch_cell *x = rerun_cell(ra, a);
	const struct batch_cell *y = rerun_cell(rb, b);
	char err[TARGET_ERROR_MAX];
	struct divergence d;

	if (!x || !y || strcmp(a->target, "sim") != 0 || strcmp(b->target, "sim") != 0)
		return;
	if (!diverge_find(x, y, seed, &d, err)) {
		cli_error("%s", err);
		return;
	}
	diverge_print(stdout, &d, name, seed);
	diverge_free(&d);
}

void parting_within(const char *path, const struct results *r)
{
	struct rerun *again;
	u32 nr = 0;

	if (r->nr_columns < 2)
		return;
	if (!made_by_this(r)) {
		printf("\n  where the runs part can be told by the build that made them (sources "
		       "%s)\n",
		       r->sources);
		return;
	}
	again = rerun_load(path);
	for (u32 i = 1; again && i < r->nr_columns && nr < DIVERGENCES_MAX; i++) {
		const struct result_column *c = &r->column[i];
		char base[128];
		char label[128];

		if (strcmp(c->point, r->column[0].point) != 0)
			continue;
		nr++;
		column_label(r, &r->column[0], base, sizeof(base));
		column_label(r, c, label, sizeof(label));
		print_divergence(again, &r->column[0], again, c, (const char *const[]){base, label},
		                 r->seed[0]);
	}
	if (again)
		rerun_free(again);
}

#define MOVED_MAX 6

struct moved_value {
	const char *name;
	u64 a;
	u64 b;
};

/* The largest part of the larger side comes first. */
static int by_part(const void *x, const void *y, void *arg)
{
	const struct moved_value *m[2] = {x, y};
	double part[2];

	(void)arg;
	for (int i = 0; i < 2; i++) {
		double a = (double)m[i]->a;
		double b = (double)m[i]->b;

		part[i] = fabs(a - b) / fmax(a, b);
	}
	return (part[0] < part[1]) - (part[0] > part[1]);
}

/* What the two have at moment @i of @a, which is moment @k of @b. */
static void print_moved_values(const struct run_record *a, u32 i, const struct run_record *b, u32 k)
{
	struct moved_value *m = report_alloc(b->nr_series, sizeof(*m));
	struct grid grid;
	u32 n = 0;

	for (u32 s = 0; s < b->nr_series; s++) {
		const struct record_series *other = record_series(a, b->series[s].name);
		u64 was = other ? other->v[i] : 0;

		if (was != b->series[s].v[k])
			m[n++] = (struct moved_value){b->series[s].name, was, b->series[s].v[k]};
	}
	sort_stable(m, n, sizeof(*m), by_part, NULL);
	grid_init(&grid, "lrr");
	grid_cell(&grid, "then");
	grid_cell(&grid, "A");
	grid_cell(&grid, "B");
	for (u32 s = 0; s < min_t(u32, n, MOVED_MAX); s++) {
		grid_cell(&grid, "%s", m[s].name);
		grid_cell(&grid, "%lu", m[s].a);
		grid_cell(&grid, "%lu", m[s].b);
	}
	if (n)
		grid_print(&grid, stdout, 6, GRID_WIDTH, 1);
	else
		printf("      times, but no counter yet\n");
	grid_free(&grid);
	free(m);
}

/*
 * Two builds cannot be run side by side, but each run has left a digest of what had happened at each
 * moment of its series. The last moment that both have and at which the digests are the same, and the
 * next one, stand on either side of the event at which they part.
 */
static void bracket(const struct result_column *ca, const struct result_column *cb, u64 seed)
{
	const struct run_record *a = &ca->record[0];
	const struct run_record *b = &cb->record[0];
	char time[2][EVENT_TEXT_MAX];
	char text[2][QUANTITY_TEXT_MAX];
	u64 same_ns = 0;
	u32 i = 0;
	u32 at[2] = {0};
	bool differ = false;

	if (a->status || b->status || !a->nr_points || !b->nr_points || !a->digest[0] ||
	    !b->digest[0])
		return;
	for (u32 k = 0; k < b->nr_points; k++) {
		while (i < a->nr_points && a->time_ns[i] < b->time_ns[k])
			i++;
		if (i == a->nr_points)
			break;
		if (a->time_ns[i] != b->time_ns[k])
			continue;
		if (a->digest[i] == b->digest[k]) {
			same_ns = b->time_ns[k];
			differ = false;
		} else if (!differ) {
			differ = true;
			at[0] = i;
			at[1] = k;
		}
	}
	printf("\n  where A and B part%s%s%s%s, seed %lu: ", *cb->variant ? ", " : "", cb->variant,
	       *cb->point ? ", " : "", cb->point, seed);
	if (!differ) {
		printf("not before %s, as far as can be told\n", event_time(time[0], same_ns));
		return;
	}
	printf("between\n    %s and %s\n", event_time(time[0], same_ns),
	       event_time(time[1], b->time_ns[at[1]]));
	print_moved_values(a, at[0], b, at[1]);
	printf("    closer: each build runs its result again (--from) with\n"
	       "      --series-window %s,%s --json FILE, for another compare;\n"
	       "    then it shows the machine with --stop-at %s\n",
	       quantity_format_time(text[0], same_ns),
	       quantity_format_time(text[1], b->time_ns[at[1]]), text[0]);
}

static void brackets_between(const struct results *r)
{
	u32 nr = 0;

	for (u32 i = 0; i < r[1].nr_columns && nr < DIVERGENCES_MAX; i++) {
		const struct result_column *c = &r[1].column[i];
		const struct result_column *base =
			results_find(&r[0], c->variant, c->point, c->target);

		if (!base || strcmp(c->target, "sim") != 0)
			continue;
		nr++;
		bracket(base, c, r[0].seed[0]);
	}
}

void parting_between(const char *const *path, const struct results *r)
{
	struct rerun *a;
	struct rerun *b;
	u32 nr = 0;

	if (!made_by_this(&r[0]) || !made_by_this(&r[1])) {
		brackets_between(r);
		return;
	}
	a = rerun_load(path[0]);
	b = a ? rerun_load(path[1]) : NULL;
	for (u32 i = 0; b && i < r[1].nr_columns && nr < DIVERGENCES_MAX; i++) {
		const struct result_column *c = &r[1].column[i];
		const struct result_column *base =
			results_find(&r[0], c->variant, c->point, c->target);

		if (!base)
			continue;
		nr++;
		print_divergence(a, base, b, c, (const char *const[]){"A", "B"}, r[0].seed[0]);
	}
	if (a)
		rerun_free(a);
	if (b)
		rerun_free(b);
}
