/*
 * A published experiment beside its simulation, as text and as JSON.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/grid.h"
#include "report/json.h"
#include "report/published.h"
#include "report/text.h"

static const struct figure *find_figure(const struct experiment *e, const char *variant,
                                        const char *metric)
{
	for (u32 i = 0; i < e->nr_figures; i++)
		if (strcmp(e->figure[i].variant, variant) == 0 &&
		    strcmp(e->figure[i].metric, metric) == 0)
			return &e->figure[i];
	return NULL;
}

static bool first_of_variant(const struct experiment *e, u32 i)
{
	for (u32 k = 0; k < i; k++)
		if (strcmp(e->figure[k].variant, e->figure[i].variant) == 0)
			return false;
	return true;
}

static bool first_of_metric(const struct experiment *e, u32 i)
{
	for (u32 k = 0; k < i; k++)
		if (strcmp(e->figure[k].metric, e->figure[i].metric) == 0)
			return false;
	return true;
}

static void print_heading(FILE *f, const struct experiment *e)
{
	const struct results *r = &e->results;
	const struct run_record *run = &r->column[0].record[0];
	const char *ram = config_get(&r->column[0].config, "machine.ram");
	char name[128];

	snprintf(name, sizeof(name), "%s: ", e->name);
	text_wrap(f, name, r->title, GRID_WIDTH);
	text_wrap(f, "  published  ", e->source, GRID_WIDTH);
	fprintf(f, "  simulated  profile %s, %u CPU%s, %s, kernel %s, ", run->machine, run->nr_cpus,
	        run->nr_cpus == 1 ? "" : "s", ram ? ram : "?", run->kernel);
	if (r->nr_seeds == 1)
		fprintf(f, "seed %lu\n", r->seed[0]);
	else
		fprintf(f, "%u seeds from %lu\n", r->nr_seeds, r->seed[0]);
	for (u32 i = 0; i < e->nr_sets; i++)
		fprintf(f, "  changed    %s\n", e->set[i]);
	fputc('\n', f);
}

static void figures_line(char *buf, const struct experiment *e, const char *variant)
{
	static const char *const metric[] = {"user", "sys", "elapsed"};
	u64 ns[3];

	buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(metric); i++) {
		const struct figure *f = find_figure(e, variant, metric[i]);

		if (!f)
			return;
		ns[i] = (u64)llround(f->published * 1e9);
	}
	format_time_line(buf, ns[0], ns[1], ns[2]);
}

/* The mail's own lines, where it has all three times, above ours. */
static void print_lines(FILE *f, const struct experiment *e)
{
	const struct results *r = &e->results;
	bool any = false;
	struct grid grid;

	grid_init(&grid, "lll");
	for (u32 i = 0; i < e->nr_figures; i++) {
		const char *variant = e->figure[i].variant;
		const struct result_column *c = results_find(r, variant, "", NULL);
		char line[FORMAT_MAX];
		struct run_record mean;

		if (!first_of_variant(e, i))
			continue;
		figures_line(line, e, variant);
		if (!*line)
			continue;
		any = true;
		grid_cell(&grid, "%s", variant);
		grid_cell(&grid, "published");
		grid_cell(&grid, "%s", line);
		grid_cell(&grid, "%s", "");
		grid_cell(&grid, "simulated");
		if (!c || !column_mean(r, c, &mean)) {
			grid_cell(&grid, "not run");
			continue;
		}
		format_time_line(line, mean.user_ns, mean.sys_ns, mean.elapsed_ns);
		record_free(&mean);
		if (r->nr_seeds > 1)
			grid_cell(&grid, "%s  (mean of %u)", line, r->nr_seeds);
		else
			grid_cell(&grid, "%s", line);
	}
	if (any) {
		grid_print(&grid, f, 2, GRID_WIDTH, 3);
		fputc('\n', f);
	}
	grid_free(&grid);
}

/* Times as the mails print them; shares with enough digits; counts whole. */
static const char *figure_value(char *buf, const struct figure *f, double v)
{
	double size = fabs(v);

	if (strcmp(f->unit, "s") == 0)
		snprintf(buf, FORMAT_MAX, "%.*f", size && size < 0.1 ? 4 : 2, v);
	else if (size >= 100 || v == floor(v))
		snprintf(buf, FORMAT_MAX, "%.0f", v);
	else
		snprintf(buf, FORMAT_MAX, "%.*f", size >= 1 ? 2 : 4, v);
	return buf;
}

/* Against nothing there is no percentage, and what is fitted has no error to speak of. */
static const char *figure_error(char *buf, const struct figure *f)
{
	if (f->fitted)
		snprintf(buf, FORMAT_MAX, "fitted");
	else if (f->published != 0)
		snprintf(buf, FORMAT_MAX, "%+.1f%%", 100 * f->error);
	else
		snprintf(buf, FORMAT_MAX, "%s", f->simulated.mean == 0 ? "=" : "new");
	return buf;
}

static void figure_cells(struct grid *grid, const struct experiment *e, const struct figure *f)
{
	bool base = strcmp(f->variant, e->baseline) == 0;
	char text[FORMAT_MAX];

	grid_cell(grid, "  %s", f->variant);
	grid_cell(grid, "%s", figure_value(text, f, f->published));
	grid_cell(grid, f->published_ratio ? "%.2f" : "-", f->published_ratio);
	if (!f->simulated.n) {
		grid_cell(grid, "not run");
		for (int i = 0; i < 5; i++)
			grid_cell(grid, "-");
		return;
	}
	grid_cell(grid, "%s", figure_value(text, f, f->simulated.mean));
	grid_cell(grid, f->simulated.n > 1 ? "%.1f%%" : "-", summary_std_percent(&f->simulated));
	grid_cell(grid, f->ratio ? "%.2f" : "-", f->ratio);
	grid_cell(grid, !base && f->simulated.n > 1 ? "[%.2f, %.2f]" : "-", f->ratio_lo,
	          f->ratio_hi);
	grid_cell(grid, "%s", figure_error(text, f));
	grid_cell(grid, base || !f->published_ratio ? "-" : "%+.1f%%", 100 * f->ratio_error);
}

static void print_figures(FILE *f, const struct experiment *e)
{
	static const char *const head[] = {"",      "published",    "ratio", "here",    "std",
	                                   "ratio", "95% interval", "error", "of ratio"};
	struct grid grid;

	grid_init(&grid, "lrrrrrrrr");
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		grid_cell(&grid, "%s", head[i]);
	for (u32 i = 0; i < e->nr_figures; i++) {
		const char *metric = e->figure[i].metric;

		if (!first_of_metric(e, i))
			continue;
		if (e->figure[i].unit[0])
			grid_heading(&grid, "%s (%s)", metric, e->figure[i].unit);
		else
			grid_heading(&grid, "%s", metric);
		for (u32 k = i; k < e->nr_figures; k++)
			if (strcmp(e->figure[k].metric, metric) == 0)
				figure_cells(&grid, e, &e->figure[k]);
	}
	grid_print(&grid, f, 2, GRID_WIDTH, 1);
	grid_free(&grid);
	fputc('\n', f);
	if (e->fitted && e->constant)
		fprintf(f, "  %s may be fitted by %s; everything else is predicted.\n", e->fitted,
		        e->constant);
	else
		fprintf(f, "  Nothing is fitted: every figure is predicted.\n");
}

static void print_statistics(FILE *f, u32 nr_pairs)
{
	if (nr_pairs < 2) {
		fprintf(f, "  One seed: nothing is known about the spread.\n");
		return;
	}
	fprintf(f,
	        "  Intervals are of 95%%, from %u pairs with the same seed. The spread is over\n"
	        "  seeds: over the model's interleavings, not over machines.\n",
	        nr_pairs);
	if (nr_pairs < SIGNIFICANT_PAIRS)
		fprintf(f,
		        "  n too small: the smallest p that %u pairs allow is %.4g, so nothing is\n"
		        "  called significant, and the intervals are too narrow for 95%%.\n",
		        nr_pairs, sign_flip_p_min(nr_pairs));
}

/* "between 1.39 and 2.31", "0", "above 1", "below 0.5". */
static void wanted_text(const struct claim *c, char *buf, size_t n)
{
	if (c->lo == c->hi)
		snprintf(buf, n, "%.8g", c->lo);
	else if (isinf(c->hi))
		snprintf(buf, n, "above %.8g", c->lo);
	else if (isinf(c->lo) || c->lo == 0)
		snprintf(buf, n, "below %.8g", c->hi);
	else
		snprintf(buf, n, "%.2f to %.2f", c->lo, c->hi);
}

static void value_cell(struct grid *grid, const struct claim *c, const struct claim_result *r)
{
	char text[FORMAT_MAX];

	if (r->verdict == VERDICT_NOT_RUN)
		grid_cell(grid, "-");
	else if (c->kind == CLAIM_VALUE && r->value > 0 && r->value < 1) /* a share */
		grid_cell(grid, "%.3g", r->value);
	else if (c->kind == CLAIM_VALUE)
		grid_cell(grid, "%s", format_count(text, r->value));
	else
		grid_cell(grid, "%.2f", r->value);
}

static void print_claims(FILE *f, const struct experiment *e)
{
	static const char *const verdict[] = {
		[VERDICT_NOT_RUN] = "not run",
		[VERDICT_HOLDS] = "holds",
		[VERDICT_WEAK] = "in doubt",
		[VERDICT_FAILS] = "FAILS",
	};
	struct grid grid;

	if (!e->nr_claims)
		return;
	grid_init(&grid, "lrrll");
	grid_cell(&grid, "claims");
	grid_cell(&grid, "value");
	grid_cell(&grid, "95%% interval");
	grid_cell(&grid, "wanted");
	grid_cell(&grid, "%s", "");
	for (u32 i = 0; i < e->nr_claims; i++) {
		const struct claim_result *r = &e->result[i];
		char wanted[64];

		wanted_text(&e->claim[i], wanted, sizeof(wanted));
		grid_cell(&grid, "%s", verdict[r->verdict]);
		value_cell(&grid, &e->claim[i], r);
		grid_cell(&grid, r->lo < r->hi ? "[%.2f, %.2f]" : "-", r->lo, r->hi);
		grid_cell(&grid, "%s", wanted);
		grid_cell(&grid, "%s", e->claim[i].text);
	}
	fputc('\n', f);
	grid.wrap = true;
	grid_print(&grid, f, 2, GRID_WIDTH, 5);
	grid_free(&grid);
}

static void print_sensitivity(FILE *f, const struct experiment *e)
{
	struct grid grid;

	if (!e->sensitivity_run)
		return;
	fprintf(f,
	        "\n  sensitivity: %u assumed constants halved and doubled, %u seed%s: those that "
	        "take\n  at least %.1f%% of the CPUs' busy time in some variant\n",
	        e->nr_constants, e->nr_seeds_sensitivity, e->nr_seeds_sensitivity == 1 ? "" : "s",
	        100 * e->least_share);
	if (e->nr_within_noise)
		fprintf(f,
		        "    %u moved by more than %.0f%%, but by no more than seeds alone move "
		        "them\n",
		        e->nr_within_noise, 100 * SENSITIVITY_SHOWN);
	if (!e->nr_sensitivities) {
		fprintf(f, "    none moves a ratio by more than %.0f%%%s\n",
		        100 * SENSITIVITY_SHOWN, e->nr_within_noise ? " and more than that" : "");
		return;
	}
	grid_init(&grid, "lrlrrrrl");
	grid_cell(&grid, "constant");
	grid_cell(&grid, "ns");
	grid_cell(&grid, "ratio of");
	grid_cell(&grid, "as is");
	grid_cell(&grid, "half");
	grid_cell(&grid, "twice");
	grid_cell(&grid, "by seeds");
	grid_cell(&grid, "source");
	for (u32 i = 0; i < e->nr_sensitivities; i++) {
		const struct sensitivity *s = &e->sensitivity[i];

		grid_cell(&grid, "%s", s->constant);
		grid_cell(&grid, "%lu", s->value);
		grid_cell(&grid, "%s", s->figure);
		grid_cell(&grid, "%.2f", s->ratio);
		grid_cell(&grid, s->half ? "%.2f" : "-", s->half);
		grid_cell(&grid, s->twice ? "%.2f" : "-", s->twice);
		grid_cell(&grid, s->noise ? "%.0f%%" : "-", 100 * s->noise);
		grid_cell(&grid, "%s", s->source);
	}
	grid.wrap = true;
	grid_print(&grid, f, 4, GRID_WIDTH, 8);
	grid_free(&grid);
}

void experiment_print(FILE *f, const struct experiment *e)
{
	struct text_group all = {.r = &e->results};

	print_heading(f, e);
	print_lines(f, e);
	print_figures(f, e);
	experiment_print_spreads(f, e);
	print_statistics(f, e->results.nr_seeds);
	print_claims(f, e);
	experiment_print_predictions(f, e);
	print_sensitivity(f, e);
	if (e->nr_notes)
		fputc('\n', f);
	for (u32 i = 0; i < e->nr_notes; i++)
		text_wrap(f, "  note: ", e->note[i], GRID_WIDTH);
	if (find_figure(e, e->baseline, "user"))
		text_wrap(f, "  note: ",
		          "user time is what the profile's costs and the scenario say, and is no "
		          "evidence for the model",
		          GRID_WIDTH);
	for (u32 i = 0; i < e->results.nr_columns && all.nr < TEXT_GROUP_MAX; i++)
		all.column[all.nr++] = &e->results.column[i];
	text_notes(f, &all);
}

/* ---- JSON --------------------------------------------------------------------------------------- */

static json_t *ratio_or_null(double v)
{
	return v != 0 ? json_double(v) : json_null();
}

static json_t *figure_json(const struct figure *f)
{
	json_t *j = json_object();
	bool ran = f->simulated.n > 0;

	json_object_set_new(j, "variant", json_string(f->variant));
	json_object_set_new(j, "metric", json_string(f->metric));
	json_object_set_new(j, "unit", json_string(f->unit));
	json_object_set_new(j, "published", json_double(f->published));
	json_object_set_new(j, "mean", ran ? json_double(f->simulated.mean) : json_null());
	json_object_set_new(j, "std", ran ? json_double(f->simulated.std) : json_null());
	json_object_set_new(j, "n", json_integer(f->simulated.n));
	json_object_set_new(j, "fitted", json_boolean(f->fitted));
	json_object_set_new(j, "published_ratio", ratio_or_null(f->published_ratio));
	json_object_set_new(j, "ratio", ratio_or_null(f->ratio));
	json_object_set_new(j, "ratio_lo", ratio_or_null(f->ratio_lo));
	json_object_set_new(j, "ratio_hi", ratio_or_null(f->ratio_hi));
	json_object_set_new(j, "error", ran ? json_double(f->error) : json_null());
	json_object_set_new(j, "ratio_error", f->ratio ? json_double(f->ratio_error) : json_null());
	return j;
}

static json_t *claims_json(const struct experiment *e)
{
	static const char *const verdict[] = {
		[VERDICT_NOT_RUN] = "not run",
		[VERDICT_HOLDS] = "holds",
		[VERDICT_WEAK] = "in doubt",
		[VERDICT_FAILS] = "fails",
	};
	json_t *j = json_array();

	for (u32 i = 0; i < e->nr_claims; i++) {
		const struct claim_result *r = &e->result[i];
		bool ran = r->verdict != VERDICT_NOT_RUN;
		json_t *o = json_object();

		json_object_set_new(o, "text", json_string(e->claim[i].text));
		json_object_set_new(o, "metric", json_string(e->claim[i].metric));
		json_object_set_new(o, "wanted_lo", json_double(e->claim[i].lo));
		json_object_set_new(o, "wanted_hi", json_double(e->claim[i].hi));
		json_object_set_new(o, "value", ran ? json_double(r->value) : json_null());
		json_object_set_new(o, "verdict", json_string(verdict[r->verdict]));
		json_array_append_new(j, o);
	}
	return j;
}

static json_t *sensitivity_json(const struct experiment *e)
{
	json_t *j = json_array();

	for (u32 i = 0; i < e->nr_sensitivities; i++) {
		const struct sensitivity *s = &e->sensitivity[i];
		json_t *o = json_object();

		json_object_set_new(o, "constant", json_string(s->constant));
		json_object_set_new(o, "source", json_string(s->source));
		json_object_set_new(o, "ns", json_integer((json_int_t)s->value));
		json_object_set_new(o, "figure", json_string(s->figure));
		json_object_set_new(o, "ratio", json_double(s->ratio));
		json_object_set_new(o, "half", ratio_or_null(s->half));
		json_object_set_new(o, "twice", ratio_or_null(s->twice));
		json_object_set_new(o, "noise", ratio_or_null(s->noise));
		json_array_append_new(j, o);
	}
	return j;
}

json_t *experiment_json(const struct experiment *e)
{
	json_t *j = json_object();
	json_t *figures = json_array();
	json_t *notes = json_array();

	for (u32 i = 0; i < e->nr_figures; i++)
		json_array_append_new(figures, figure_json(&e->figure[i]));
	for (u32 i = 0; i < e->nr_notes; i++)
		json_array_append_new(notes, json_string(e->note[i]));
	json_object_set_new(j, "name", json_string(e->name));
	json_object_set_new(j, "title", json_string(e->results.title));
	json_object_set_new(j, "source", json_string(e->source));
	json_object_set_new(j, "scenario", json_string(e->results.scenario));
	json_object_set_new(j, "baseline", json_string(e->baseline));
	json_object_set_new(j, "fitted", e->fitted ? json_string(e->fitted) : json_null());
	json_object_set_new(j, "constant", e->constant ? json_string(e->constant) : json_null());
	json_object_set_new(j, "seeds", json_seeds(&e->results));
	json_object_set_new(j, "figures", figures);
	json_object_set_new(j, "claims", claims_json(e));
	if (e->sensitivity_run)
		json_object_set_new(j, "sensitivity", sensitivity_json(e));
	json_object_set_new(j, "notes", notes);
	json_object_set_new(j, "columns", json_columns(&e->results));
	return j;
}
