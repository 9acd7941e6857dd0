/*
 * quire run: a scenario's variants, at every point of --vary, on the targets of --on.
 */
#include "cli/run.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/diverge.h"
#include "cli/expect.h"
#include "cli/jobs.h"
#include "cli/state.h"
#include "report/heatmap.h"
#include "report/html.h"
#include "report/save.h"
#include "report/text.h"
#include "report/trace.h"

static void print_configs(const struct run_plan *p)
{
	for (u32 i = 0; i < p->nr_cells; i++) {
		const struct batch_cell *c = &p->cell[i];
		struct config config;

		if (p->nr_cells > 1)
			printf("%s# variant %s%s%s, on %s\n", i ? "\n" : "",
			       c->s->variant[c->variant].name, *c->point ? ", " : "", c->point,
			       c->ops->name);
		batch_config(c, &config);
		config_print(&config, stdout);
		config_free(&config);
	}
}

/* ---- results ------------------------------------------------------------------------------------ */

/*
 * Expectations speak of all variants under the conditions that the scenario sets: they say nothing
 * about a part of them, nor about a sweep.
 */
static int check_expectations(const struct run_args *a, const struct run_plan *p,
                              const struct results *r, FILE *f)
{
	const char *target[ARRAY_SIZE(a->on)];

	if (a->variants || a->vary.nr_axes)
		return CLI_OK;
	for (u32 t = 0; t < a->nr_on; t++)
		target[t] = a->on[t]->name;
	return expect_check(p->scenario[0], r, target, a->nr_on,
	                    a->nr_sets || a->machine || a->kernel, a->tap, f);
}

static int save_all(const struct run_args *a, const struct results *r)
{
	const struct {
		const char *path;
		void (*fn)(FILE *f, const void *results);
	} file[] = {{a->json, save_json}, {a->csv, save_csv},       {a->html, save_html},
	            {a->md, save_md},     {a->folded, save_folded}, {a->trace, save_trace}};
	int status = CLI_OK;

	for (size_t i = 0; i < ARRAY_SIZE(file); i++) {
		char err[SAVE_ERROR_MAX];

		if (!file[i].path || !save_file(file[i].path, file[i].fn, r, err))
			continue;
		cli_error("%s", err);
		status = CLI_FAILED;
	}
	return status;
}

static bool any_ran(const struct results *r)
{
	for (u32 i = 0; i < r->nr_columns; i++)
		for (u32 k = 0; k < r->nr_seeds; k++)
			if (!r->column[i].record[k].status)
				return true;
	return false;
}

static bool simulated(const struct run_args *a)
{
	for (u32 i = 0; i < a->nr_on; i++)
		if (strcmp(a->on[i]->name, "sim") != 0)
			return false;
	return true;
}

#define DIVERGENCES_MAX 4

/* Where each variant of the first point parts from the first: by name or, if only points differ, value. */
static void print_divergences(const struct run_plan *p, const struct results *r)
{
	u32 nr = 0;

	for (u32 i = 1; i < p->nr_cells && nr < DIVERGENCES_MAX; i++) {
		const struct batch_cell *a = &p->cell[0];
		const struct batch_cell *b = &p->cell[i];
		char name[2][128];
		const char *const names[2] = {name[0], name[1]};
		char err[TARGET_ERROR_MAX];
		struct divergence d;

		/* Other machines part at once, and need no explanation. */
		if (strcmp(a->point, b->point) != 0 && strstr(b->point, "machine."))
			continue;
		if (a->ops != b->ops || strcmp(a->ops->name, "sim") != 0 ||
		    (a->variant != b->variant && strcmp(a->point, b->point) != 0) ||
		    r->column[0].record[0].status || r->column[i].record[0].status)
			continue;
		nr++;
		column_label(r, &r->column[0], name[0], sizeof(name[0]));
		column_label(r, &r->column[i], name[1], sizeof(name[1]));
		if (!diverge_find(a, b, r->seed[0], &d, err)) {
			cli_error("%s", err);
			continue;
		}
		diverge_print(stdout, &d, names, r->seed[0]);
		diverge_free(&d);
	}
}

static int execute(const struct run_args *a, struct run_plan *p)
{
	const char *word[RUN_WORDS_MAX];
	char numbers[64];
	struct batch b = {
		.path = a->path,
		.nr_cells = p->nr_cells,
		.cell = p->cell,
		.seed = a->seed,
		.nr_parallel = (u32)a->jobs,
		.cpu_seconds = (u32)a->cpu_seconds,
		.check = a->check,
		.quiet = a->quiet,
		.proc_dir = a->proc,
		.heat = a->heatmap,
		.nr_slices = a->trace ? TRACE_SLICES_MAX / min(p->nr_cells, 16u) : 0,
		.trace_from_ns = a->trace_from_ns,
		.trace_to_ns = a->trace_to_ns,
		.series_from_ns = a->series_from_ns,
		.series_to_ns = a->series_to_ns,
	};
	struct results r;
	int status;

	b.nr_seeds = (u32)a->repeat;
	if (!b.nr_seeds)
		b.nr_seeds = p->nr_cells > 1 && simulated(a) ? 8 : 1;
	b.vary = &a->vary;
	b.nr_holes = p->nr_holes;
	b.hole = p->hole;
	b.word = word;
	b.nr_words = run_args_words(a, word, numbers, b.nr_seeds);
	b.again = p->again = again_options(a->set, a->nr_sets, a->machine, a->kernel, a->check);
	if (a->state && !(b.state = state_open(a->state)))
		return CLI_FAILED;
	status = batch_run(&b, &r);
	p->hole = NULL; /* they are the results' now */
	if (p->nr_holes)
		status = max_t(int, status, CLI_FAILED);
	p->nr_holes = 0;
	state_close(b.state);
	if (status != CLI_USAGE && status != CLI_NO_HOST && (any_ran(&r) || a->tap)) {
		/* Results that go to standard output go there alone. */
		bool piped = (a->json && strcmp(a->json, "-") == 0) ||
		             (a->csv && strcmp(a->csv, "-") == 0) ||
		             (a->md && strcmp(a->md, "-") == 0) ||
		             (a->folded && strcmp(a->folded, "-") == 0) ||
		             (a->html && strcmp(a->html, "-") == 0) ||
		             (a->trace && strcmp(a->trace, "-") == 0);

		if (!piped && !a->tap)
			text_run(stdout, &r);
		if (!piped && !a->tap && a->heatmap)
			text_heatmap(stdout, &r);
		if (!piped && !a->tap && !a->no_divergence)
			print_divergences(p, &r);
		status = max(status, check_expectations(a, p, &r, piped ? stderr : stdout));
		status = max(status, save_all(a, &r));
	}
	results_free(&r);
	return status;
}

/* --stop-at, --step: one cell, one seed, in this process. */
static int stop(const struct run_args *a, const struct run_plan *p)
{
	if (!simulated(a)) {
		cli_error("--stop-at and --step are for the simulated machine");
		return CLI_USAGE;
	}
	if (p->nr_cells != 1) {
		cli_error("--stop-at and --step look at one run: choose a --variant");
		return CLI_USAGE;
	}
	return stop_run(&p->cell[0], a->seed, a->check, a->stops ? &a->stop_at : NULL, a->step);
}

int verb_run(int argc, char **argv)
{
	struct run_args *a = report_alloc(1, sizeof(*a));
	struct run_plan p = {0};
	int status;

	run_args_init(a);
	if (run_args_parse(a, argc, argv, &status)) {
		status = CLI_USAGE;
		if (run_plan_make(a, &p)) {
			status = CLI_OK;
			if (a->print_config)
				print_configs(&p);
			else if (a->stops || a->step)
				status = stop(a, &p);
			else
				status = execute(a, &p);
		}
	}
	run_plan_free(&p);
	run_args_free(a);
	free(a);
	return status;
}
