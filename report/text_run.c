/*
 * The report of `quire run`: which tables, in which order.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/bug.h"
#include "report/format.h"
#include "report/grid.h"
#include "report/text.h"

#define SPAN_ROWS 16
#define LOCK_ROWS 8

void text_statistics_note(FILE *f, u32 nr_pairs, bool compared, bool simulated)
{
	if (nr_pairs < 2)
		return;
	if (compared && nr_pairs < SIGNIFICANT_PAIRS)
		fprintf(f,
		        "  %u pairs: n too small, smallest p = %.4g; nothing is called "
		        "different,\n"
		        "  and the intervals are too narrow for 95%%.\n",
		        nr_pairs, sign_flip_p_min(nr_pairs));
	else if (compared)
		fprintf(f,
		        "  %u pairs; ~ means p >= %.2f in a sign-flip permutation test of the "
		        "pairs.\n"
		        "  Each row is tested by itself: of 20 without a difference about one is "
		        "called.\n",
		        nr_pairs, SIGNIFICANT_P);
	if (simulated)
		fprintf(f, "  The spread is over seeds: over the model's interleavings, not over "
		           "machines.\n");
}

/* ---- notes -------------------------------------------------------------------------------------- */

/* Each line of @text after @prefix. */
static void print_lines(FILE *f, const char *prefix, const char *text)
{
	char line[1024];

	while (*text) {
		size_t len = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)len, text);
		if (len)
			text_wrap(f, prefix, line, GRID_WIDTH);
		text += len + (text[len] == '\n');
	}
}

static bool same_notes_before(const struct text_group *g, u32 i)
{
	for (u32 k = 0; k < i; k++)
		if (strcmp(g->column[k]->record[0].notes, g->column[i]->record[0].notes) == 0)
			return true;
	return false;
}

/* One line for all seeds: "lazy: the OOM killer killed 1 to 6 of 12 tasks in 3 of 8 runs". */
static void print_kills(FILE *f, const struct results *r, const struct result_column *c,
                        const char *label)
{
	u32 least = UINT32_MAX;
	u32 most = 0;
	u32 nr_runs = 0;
	u32 nr_tasks = 0;

	for (u32 k = 0; k < r->nr_seeds; k++) {
		u32 n = c->record[k].nr_oom_kills;

		if (!n)
			continue;
		least = min(least, n);
		most = max(most, n);
		nr_tasks = c->record[k].nr_tasks;
		nr_runs++;
	}
	if (!nr_runs)
		return;
	fprintf(f, "  note: %s: the OOM killer killed %u", label, least);
	if (most > least)
		fprintf(f, " to %u", most);
	fprintf(f, " of %u tasks", nr_tasks);
	if (r->nr_seeds > 1)
		fprintf(f, " in %u of %u runs", nr_runs, r->nr_seeds);
	fputc('\n', f);
}

void text_notes(FILE *f, const struct text_group *g)
{
	for (u32 i = 0; i < g->nr; i++) {
		const struct result_column *c = g->column[i];
		char label[128];

		column_label_among(g->column, g->nr, c, label, sizeof(label));
		print_kills(f, g->r, c, label);
		for (u32 k = 0; k < g->r->nr_seeds; k++) {
			const struct run_record *r = &c->record[k];

			if (r->status)
				fprintf(f, "  note: %s, seed %lu, was broken off: %s\n", label,
				        r->seed, *r->error ? r->error : strerror(-r->status));
			else if (r->nr_failed)
				fprintf(f, "  note: %s, seed %lu: %u tasks failed\n", label,
				        r->seed, r->nr_failed);
		}
		if (g->r->nr_seeds && !same_notes_before(g, i))
			print_lines(f, "  note: ", c->record[0].notes);
	}
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static void print_heading(FILE *f, const struct results *r, const struct result_column *c)
{
	const struct run_record *run = &c->record[0];
	const char *ram = config_get(&c->config, "machine.ram");

	fprintf(f, "%s", c->target);
	if (strcmp(c->target, "host") != 0)
		fprintf(f, ": profile %s, %u CPU%s, %s, kernel %s", run->machine, run->nr_cpus,
		        run->nr_cpus == 1 ? "" : "s", ram ? ram : "?", run->kernel);
	if (r->nr_seeds == 1)
		fprintf(f, ", seed %lu", r->seed[0]);
	else
		fprintf(f, ", %u seeds from %lu", r->nr_seeds, r->seed[0]);
	fputc('\n', f);
}

/* "vm.swappiness=10 ram=3G": columns are headed by the values, so say once of what they are. */
static void print_varied(FILE *f, const char *point)
{
	const char *comma = "";

	fprintf(f, "varied: ");
	while (*point) {
		fprintf(f, "%s%.*s", comma, (int)strcspn(point, "="), point);
		comma = ", ";
		point += strcspn(point, " ");
		point += strspn(point, " ");
	}
	fputc('\n', f);
}

/* @brief: only what a sweep's points are looked at for; the rest is in --json and --csv. */
static void print_group(FILE *f, const struct text_group *g, bool brief)
{
	static const char *const metric[] = {"elapsed", "user", "sys", "time"};
	bool simulated = strcmp(g->column[0]->target, "host") != 0;

	text_times(f, g);
	for (size_t i = 0; !brief && g->r->nr_seeds > 1 && i < ARRAY_SIZE(metric); i++) {
		if (!column_has(g->r, g->column[0], metric[i]))
			continue;
		fputc('\n', f);
		text_records(f, g, metric[i]);
	}
	if (g->nr > 1) {
		fputc('\n', f);
		text_ratios(f, g);
	}
	if (brief)
		return;
	if (g->nr > 1 && g->r->nr_seeds > 1) {
		fputc('\n', f);
		text_differences(f, g);
	}
	text_statistics_note(f, g->r->nr_seeds, g->nr > 1, simulated);
	text_derived(f, g);
	text_counters(f, g);
	text_spans(f, g, SPAN_ROWS);
	for (u32 i = 1; simulated && i < g->nr; i++)
		text_why(f, g->r, g->column[0], g->r, g->column[i]);
	text_latencies(f, g);
	text_locks(f, g, LOCK_ROWS);
}

static bool same_point(const struct result_column *a, const struct result_column *b)
{
	return strcmp(a->point, b->point) == 0;
}

static bool same_target(const struct result_column *a, const struct result_column *b)
{
	return strcmp(a->target, b->target) == 0;
}

/*
 * Whether the points of --vary are compared with each other, as they are if there is one variant.
 * Otherwise the variants are compared at each point.
 */
static bool points_are_compared(const struct results *r)
{
	for (u32 i = 1; i < r->nr_columns; i++)
		if (strcmp(r->column[i].variant, r->column[0].variant) != 0)
			return false;
	return true;
}

/* The columns that belong in the same table as column @first. */
static void fill_group(const struct results *r, u32 first, bool all_points, struct text_group *g)
{
	const struct result_column *lead = &r->column[first];

	*g = (struct text_group){.r = r};
	for (u32 i = 0; i < r->nr_columns; i++) {
		const struct result_column *c = &r->column[i];

		if (same_target(c, lead) && (all_points || same_point(c, lead)) &&
		    g->nr < TEXT_GROUP_MAX)
			g->column[g->nr++] = c;
	}
}

static void print_targets_beside(FILE *f, const struct results *r)
{
	bool head = false;

	for (u32 i = 0; i < r->nr_columns; i++) {
		const struct result_column *sim = &r->column[i];
		const struct result_column *host;

		if (strcmp(sim->target, "sim") != 0)
			continue;
		host = results_find(r, sim->variant, sim->point, "host");
		if (!host)
			continue;
		if (!head)
			fprintf(f, "\nsimulated beside the host\n");
		head = true;
		text_sides(f, r, sim, host);
		/* After the last variant of a point. */
		if (i + 1 == r->nr_columns || !same_target(sim, &r->column[i + 1]) ||
		    strcmp(sim->point, r->column[i + 1].point) != 0)
			text_sides_verdict(f, r, sim->point);
	}
}

/* The notes with an empty line before them, if there are any. */
static void print_notes(FILE *f, const struct text_group *g)
{
	char *text = NULL;
	size_t len = 0;
	FILE *mem = open_memstream(&text, &len);

	if (!mem)
		panic("out of host memory for notes");
	text_notes(mem, g);
	fclose(mem);
	if (len)
		fprintf(f, "\n%s", text);
	free(text);
}

static u32 count_points(const struct results *r)
{
	u32 n = 0;

	for (u32 i = 0; i < r->nr_columns; i++)
		n += results_find(r, NULL, r->column[i].point, NULL) == &r->column[i];
	return n;
}

#define POINTS_IN_FULL 2
#define POINTS_ABREAST 4

static void print_hole(FILE *f, const struct result_hole *h)
{
	char prefix[256];

	snprintf(prefix, sizeof(prefix), "  impossible: %s: ", h->point);
	text_wrap(f, prefix, h->error, GRID_WIDTH);
}

static void print_holes(FILE *f, const struct results *r)
{
	if (r->nr_holes)
		fputc('\n', f);
	for (u32 i = 0; i < r->nr_holes; i++)
		print_hole(f, &r->hole[i]);
}

/* One variant at many points: the tables of the sweep say it all. */
static void print_long_sweep(FILE *f, const struct results *r)
{
	for (u32 i = 0; i < r->nr_columns; i++) {
		const struct result_column *c = &r->column[i];
		struct text_group g;

		if (results_find(r, NULL, NULL, c->target) != c)
			continue;
		fputc('\n', f);
		print_heading(f, r, c);
		text_sweep(f, r, c->target);
		fputc('\n', f);
		text_statistics_note(f, r->nr_seeds, true, strcmp(c->target, "host") != 0);
		fill_group(r, i, true, &g);
		print_notes(f, &g);
	}
	print_holes(f, r);
}

void text_title(FILE *f, const struct results *r)
{
	char *all = NULL;
	size_t len;
	FILE *mem = open_memstream(&all, &len);

	if (!mem)
		panic("out of host memory for a title");
	fprintf(mem, "%s%s%s", r->scenario, *r->title ? ": " : "", r->title);
	fclose(mem);
	text_wrap(f, "", all, GRID_WIDTH);
	free(all);
}

void text_run(FILE *f, const struct results *r)
{
	bool all_points = points_are_compared(r);
	bool brief = !all_points && count_points(r) > POINTS_IN_FULL;

	text_title(f, r);
	if (all_points && count_points(r) > POINTS_ABREAST) {
		print_long_sweep(f, r);
		print_targets_beside(f, r);
		return;
	}
	for (u32 i = 0; i < r->nr_columns; i++) {
		const struct result_column *c = &r->column[i];
		struct text_group g;

		fill_group(r, i, all_points, &g);
		if (g.column[0] != c)
			continue; /* not the first of its table */
		fputc('\n', f);
		print_heading(f, r, c);
		if (!all_points && *c->point)
			fprintf(f, "with %s\n", c->point);
		else if (*c->point)
			print_varied(f, c->point);
		fputc('\n', f);
		print_group(f, &g, brief);
		print_notes(f, &g);
		/* After the last point of a target: all of them in one table. */
		if (all_points || !*c->point ||
		    (i + g.nr < r->nr_columns && same_target(c, &r->column[i + g.nr])))
			continue;
		text_sweep(f, r, c->target);
		if (brief) {
			fputc('\n', f);
			text_statistics_note(f, r->nr_seeds, true, strcmp(c->target, "host") != 0);
		}
	}
	print_holes(f, r);
	print_targets_beside(f, r);
}
