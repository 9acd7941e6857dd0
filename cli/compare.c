/*
 * quire compare: results that exist, explained. One result: its variants, as when it was made. Two:
 * the second against the first, column by column, as after an edit of core/. Several: the same
 * variants in different scenarios, and the geometric mean of their ratios.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/parting.h"
#include "report/format.h"
#include "report/grid.h"
#include "report/html.h"
#include "report/load.h"
#include "report/metric.h"
#include "report/save.h"
#include "report/text.h"

#define FILES_MAX 64

struct compare_args {
	bool across;
	bool no_divergence;
	const char *html;
};

enum {
	OPT_ACROSS,
	OPT_HTML,
	OPT_NO_DIVERGENCE,
	OPT_HELP,
};

static const struct option_spec spec[] = {
	[OPT_ACROSS] = {"across", 0, NULL,
                        "the results are of different scenarios with the same variants:\n"
                        "ratios to the first variant, and their geometric mean",
                        TO_FLAG(struct compare_args, across)},
	[OPT_HTML] = {"html", 0, "FILE",
                      "a page with pictures (drawn by gnuplot); not with --across",
                      TO_TEXT(struct compare_args, html)},
	[OPT_NO_DIVERGENCE] = {"no-divergence", 0, NULL,
                               "do not run anything again to find where runs part",
                               TO_FLAG(struct compare_args, no_divergence)},
	[OPT_HELP] = {"help", 'h', NULL, "this text", TO_CASE},
};

static void print_help(void)
{
	printf("usage: quire compare A.json [B.json]\n"
	       "       quire compare --across A.json B.json...\n\n"
	       "Explains results that quire run --json has written. Of one, its variants\n"
	       "against the first. Of two, of the same scenario and seeds, each column of the\n"
	       "second against the same column of the first: what a change of Quire's core, or\n"
	       "of an option, did.\n\n");
	options_print(spec, ARRAY_SIZE(spec), stdout);
	printf("\nexamples:\n"
	       "  quire run madv-free --json before.json\n"
	       "  ... edit core/, make ...\n"
	       "  quire run --from before.json --json after.json\n"
	       "  quire compare before.json after.json\n"
	       "  quire compare --across small.json large.json numa.json\n");
}

/* ---- two results -------------------------------------------------------------------------------- */

static bool same_seeds(const struct results *a, const struct results *b)
{
	if (a->nr_seeds != b->nr_seeds)
		return false;
	for (u32 i = 0; i < a->nr_seeds; i++)
		if (a->seed[i] != b->seed[i])
			return false;
	return true;
}

static bool check_pair(const char *const *path, const struct results *r)
{
	if (strcmp(r[0].scenario, r[1].scenario) != 0 &&
	    (!r[0].scenario_hash || !r[1].scenario_hash ||
	     strcmp(r[0].scenario_hash, r[1].scenario_hash) != 0)) {
		cli_error("%s is of scenario %s, %s of %s: only the same can be compared", path[0],
		          r[0].scenario, path[1], r[1].scenario);
		return false;
	}
	if (!same_seeds(&r[0], &r[1])) {
		cli_error("%s has %u seeds from %lu, %s has %u from %lu: they are no pairs; "
		          "quire run --from %s gives the right ones",
		          path[0], r[0].nr_seeds, r[0].seed[0], path[1], r[1].nr_seeds,
		          r[1].seed[0], path[0]);
		return false;
	}
	return true;
}

/* What differs between the two but the code: settings whose values are not the same. */
static void print_settings(const struct config *a, const struct config *b)
{
	u32 nr = 0;

	for (u32 i = 0; i < b->nr; i++) {
		const char *name = b->entry[i].name;
		const char *was = config_get(a, name);

		if (was && strcmp(was, config_get(b, name)) == 0)
			continue;
		if (nr++ < 16)
			printf("  setting: %s = %s (A: %s)\n", name, b->entry[i].value,
			       was ? was : "none");
	}
	for (u32 i = 0; i < a->nr; i++)
		if (!config_get(b, a->entry[i].name) && nr++ < 16)
			printf("  setting: %s only in A\n", a->entry[i].name);
	if (nr > 16)
		printf("  setting: %u more differ\n", nr - 16);
}

static void print_identity(const char *name, const char *path, const struct results *r)
{
	char first[16];
	char text[1024];

	snprintf(first, sizeof(first), "  %s  ", name);
	snprintf(text, sizeof(text), "%s: commit %s, sources %s", path, r->commit, r->sources);
	text_wrap(stdout, first, text, GRID_WIDTH);
}

static const char *const time_metric[] = {"elapsed", "sys", "user", "time"};

static void side_cell(struct grid *grid, const char *metric, bool time, bool missing, double v)
{
	char text[FORMAT_MAX];

	if (missing)
		grid_cell(grid, "n/a");
	else if (strcmp(metric_unit(metric), "%") == 0)
		grid_cell(grid, "%.1f%%", v);
	else
		grid_cell(grid, "%s", time ? text_seconds(text, v) : format_count(text, v));
}

/* @full: with intervals and effect size, for which long names leave no room. */
static void metric_row(struct grid *grid, const char *title, const char *metric, bool full,
                       const struct comparison *c)
{
	char text[FORMAT_MAX];

	grid_cell(grid, "%s", title);
	side_cell(grid, metric, full, c->base_missing, c->base);
	side_cell(grid, metric, full, c->value_missing, c->value);
	grid_cell(grid, "%s", format_comparison(text, c));
	if (full) {
		bool interval = c->n > 1 && c->base != 0;

		grid_cell(grid, interval ? "%.3f [%.3f, %.3f]" : "-", c->ratio, c->ratio_lo,
		          c->ratio_hi);
		grid_cell(grid, "%s", c->n > 1 ? format_effect(text, c->g) : "-");
	}
	grid_cell(grid, c->n > 1 ? "%.4f" : "-", c->p);
	grid_cell(grid, "%s", metric_judgement(metric, c));
}

static void print_times(const struct results *r, const struct result_column *a,
                        const struct result_column *b)
{
	static const char *const head[] = {"seconds",   "A", "B", "change", "ratio, 95 % interval",
	                                   "Hedges' g", "p", ""};
	struct comparison c;
	struct grid grid;

	grid_init(&grid, "lrrrrrrl");
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		grid_cell(&grid, "%s", head[i]);
	for (size_t i = 0; i < ARRAY_SIZE(time_metric); i++) {
		columns_compare(&r[0], a, &r[1], b, time_metric[i], &c);
		if (c.base_missing && c.value_missing)
			continue;
		metric_row(&grid, time_metric[i], time_metric[i], true, &c);
	}
	grid_print(&grid, stdout, 2, GRID_WIDTH, 1);
	grid_free(&grid);
}

/* Counters that are not the same: events, or @amounts under a heading of their own. */
static void counter_rows(struct grid *grid, const struct results *r, const struct result_column *a,
                         const struct result_column *b, bool amounts)
{
	const struct run_record *names = &b->record[0];
	bool headed = !amounts;

	for (u32 i = 0; i < names->nr_counters; i++) {
		const char *name = names->counter[i].name;
		struct comparison c;

		if (counter_is_amount(name) != amounts || counter_is_time(name))
			continue;
		columns_compare(&r[0], a, &r[1], b, name, &c);
		if (c.base == c.value)
			continue;
		if (!headed)
			grid_heading(grid, "amounts at the end (pages)");
		headed = true;
		metric_row(grid, name, name, false, &c);
	}
}

/* mmtests' metrics, then the kernel's counters: those that are not the same. */
static void print_counters(const struct results *r, const struct result_column *a,
                           const struct result_column *b)
{
	static const char *const head[] = {"counts that changed", "A", "B", "change", "p", ""};
	const struct metric_info *m;
	struct comparison c;
	struct grid grid;

	grid_init(&grid, "lrrrrl");
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		grid_cell(&grid, "%s", head[i]);
	for (u32 i = 0; (m = metric_derived_at(i)); i++) {
		columns_compare(&r[0], a, &r[1], b, m->name, &c);
		if (c.base != c.value)
			metric_row(&grid, m->title, m->name, false, &c);
	}
	counter_rows(&grid, r, a, b, false);
	counter_rows(&grid, r, a, b, true);
	putchar('\n');
	grid_print(&grid, stdout, 2, GRID_WIDTH, 1);
	grid_free(&grid);
}

static bool identical(const struct results *r, const struct result_column *a,
                      const struct result_column *b)
{
	bool same = true;

	for (u32 i = 0; i < r->nr_seeds && same; i++) {
		struct bytes x = {0};
		struct bytes y = {0};

		record_write(&a->record[i], &x);
		record_write(&b->record[i], &y);
		same = x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
		bytes_free(&x);
		bytes_free(&y);
	}
	return same;
}

static void compare_column(const struct results *r, const struct result_column *a,
                           const struct result_column *b)
{
	printf("\n%s%s%s on %s\n", *b->variant ? b->variant : "run", *b->point ? ", " : "",
	       b->point, b->target);
	print_settings(&a->config, &b->config);
	if (identical(r, a, b)) {
		printf("  the same in every value, for every seed\n");
		return;
	}
	print_times(r, a, b);
	print_counters(r, a, b);
	text_why(stdout, &r[0], a, &r[1], b);
}

static int compare_two(const char *const *path, const struct results *r, bool diverge)
{
	struct comparison c[FILES_MAX];
	double mean[3];
	u32 nr = 0;
	u32 nr_found = 0;

	if (!check_pair(path, r))
		return CLI_USAGE;
	text_title(stdout, &r[0]);
	print_identity("A", path[0], &r[0]);
	print_identity("B", path[1], &r[1]);
	for (u32 i = 0; i < r[1].nr_columns; i++) {
		const struct result_column *b = &r[1].column[i];
		const struct result_column *a =
			results_find(&r[0], b->variant, b->point, b->target);

		if (!a) {
			printf("\n%s%s%s on %s: not in A\n", b->variant, *b->point ? ", " : "",
			       b->point, b->target);
			continue;
		}
		nr_found++;
		compare_column(r, a, b);
		if (nr < FILES_MAX)
			columns_compare(&r[0], a, &r[1], b, "elapsed", &c[nr++]);
	}
	if (!nr_found) {
		cli_error("%s and %s have no variant in common", path[0], path[1]);
		return CLI_USAGE;
	}
	if (nr > 1 && geometric_mean(c, nr, &mean[0], &mean[1], &mean[2]))
		printf("\nelapsed, geometric mean over %u columns: B / A = %.3f [%.3f, %.3f]\n", nr,
		       mean[0], mean[1], mean[2]);
	if (diverge)
		parting_between(path, r);
	putchar('\n');
	text_statistics_note(stdout, r[0].nr_seeds, true,
	                     strcmp(r[0].column[0].target, "host") != 0);
	return CLI_OK;
}

/* ---- across scenarios ----------------------------------------------------------------------------- */

/* The ratios of variant @name to the first, one a scenario. False: a scenario has no such variant. */
static bool across_variant(const char *const *path, const struct results *r, u32 nr,
                           const char *name, const char *metric, struct grid *grid)
{
	struct comparison c[FILES_MAX];
	double mean;
	double lo;
	double hi;

	for (u32 i = 0; i < nr; i++) {
		const struct result_column *base = &r[i].column[0];
		const struct result_column *col =
			results_find(&r[i], name, base->point, base->target);

		if (!col) {
			cli_error("%s has no variant \"%s\", as %s has", path[i], name, path[0]);
			return false;
		}
		column_compare(&r[i], base, col, metric, &c[i]);
		grid_cell(grid, "%s", i ? "" : metric);
		grid_cell(grid, "%s", i ? "" : name);
		grid_cell(grid, "%s", r[i].scenario);
		grid_cell(grid, c[i].base != 0 ? "%.3f" : "n/a", c[i].ratio);
		grid_cell(grid, c[i].n > 1 && c[i].base != 0 ? "[%.3f, %.3f]" : "-", c[i].ratio_lo,
		          c[i].ratio_hi);
	}
	grid_cell(grid, "%s", "");
	grid_cell(grid, "%s", "");
	grid_cell(grid, "geometric mean");
	if (geometric_mean(c, nr, &mean, &lo, &hi)) {
		grid_cell(grid, "%.3f", mean);
		grid_cell(grid, "[%.3f, %.3f]", lo, hi);
	} else {
		grid_cell(grid, "n/a");
		grid_cell(grid, "-");
	}
	return true;
}

static int compare_across(const char *const *path, const struct results *r, u32 nr)
{
	static const char *const metric[] = {"elapsed", "sys"};
	struct grid grid;
	bool ok = true;

	if (r[0].nr_columns < 2) {
		cli_error("%s has one variant: there is no ratio to speak of", path[0]);
		return CLI_USAGE;
	}
	grid_init(&grid, "lllrr");
	grid_cell(&grid, "ratio to %s", r[0].column[0].variant);
	grid_cell(&grid, "variant");
	grid_cell(&grid, "scenario");
	grid_cell(&grid, "ratio");
	grid_cell(&grid, "95%% interval");
	for (size_t k = 0; k < ARRAY_SIZE(metric); k++)
		for (u32 v = 1; ok && v < r[0].nr_columns; v++)
			if (strcmp(r[0].column[v].point, r[0].column[0].point) == 0 &&
			    strcmp(r[0].column[v].target, r[0].column[0].target) == 0)
				ok = across_variant(path, r, nr, r[0].column[v].variant, metric[k],
				                    &grid);
	if (ok)
		grid_print(&grid, stdout, 2, GRID_WIDTH, 3);
	grid_free(&grid);
	return ok ? CLI_OK : CLI_USAGE;
}

static int save_page(const char *html, const char *const *path, const struct results *r, u32 nr)
{
	struct html_pair pair = {&r[0], &r[1], path[0], nr == 2 ? path[1] : ""};
	char err[SAVE_ERROR_MAX];
	int rc;

	if (nr == 2)
		rc = save_file(html, save_html_pair, &pair, err);
	else
		rc = save_file(html, save_html, &r[0], err);
	if (!rc)
		return CLI_OK;
	cli_error("%s", err);
	return CLI_FAILED;
}

/* ---- the verb ------------------------------------------------------------------------------------- */

static int compare(const char *const *path, struct results *r, u32 nr, bool across, bool diverge,
                   const char *html)
{
	char err[LOAD_ERROR_MAX];
	int status = CLI_OK;

	for (u32 i = 0; i < nr; i++) {
		if (results_load(path[i], &r[i], err)) {
			cli_error("%s", err);
			return CLI_USAGE;
		}
	}
	if (across)
		return compare_across(path, r, nr);
	if (nr == 2)
		status = compare_two(path, r, diverge);
	else
		text_run(stdout, &r[0]);
	if (nr == 1 && diverge)
		parting_within(path[0], &r[0]);
	if (html && status == CLI_OK)
		status = save_page(html, path, r, nr);
	return status;
}

int verb_compare(int argc, char **argv)
{
	struct compare_args a = {0};
	struct options o = {.verb = "quire compare",
	                    .spec = spec,
	                    .nr_specs = ARRAY_SIZE(spec),
	                    .args = &a,
	                    .argc = argc,
	                    .argv = argv};
	const char *path[FILES_MAX];
	struct results *r;
	char err[SAVE_ERROR_MAX];
	u32 nr = 0;
	int status;
	int opt;

	while ((opt = options_next(&o)) != OPTION_END) {
		if (opt == OPT_HELP) {
			print_help();
			return CLI_OK;
		}
		if (opt == OPTION_WRONG)
			return CLI_USAGE;
		if (nr == FILES_MAX) {
			cli_error("more than %d results", FILES_MAX);
			return CLI_USAGE;
		}
		path[nr++] = o.value;
	}
	if (!nr || (!a.across && nr > 2)) {
		cli_error(nr ? "two results are compared; --across takes more"
		             : "which result? (quire run --json FILE makes one)");
		return CLI_USAGE;
	}
	if (a.html && a.across) {
		cli_error("--across has no page: --html is for one result, or two");
		return CLI_USAGE;
	}
	if (a.html && save_check(a.html, err)) {
		cli_error("%s", err);
		return CLI_FAILED;
	}
	r = report_alloc(nr, sizeof(*r));
	status = compare(path, r, nr, a.across, !a.no_divergence, a.html);
	for (u32 i = 0; i < nr; i++)
		results_free(&r[i]);
	free(r);
	return status;
}
