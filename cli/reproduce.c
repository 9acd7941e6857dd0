/*
 * quire reproduce: the mails' experiments, published beside simulated.
 *
 * A published figure that is missed is a result and no failure: it is printed, and the exit code
 * is 0.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/batch.h"
#include "cli/cli.h"
#include "cli/experiments.h"
#include "cli/sensitivity.h"
#include "report/grid.h"
#include "report/html.h"
#include "report/json.h"
#include "report/metric.h"
#include "report/save.h"

#define SEEDS 8 /* DESIGN's default number of pairs */
#define SENSITIVITY_SEEDS 2
#define NAMES_MAX 32
#define SETS_MAX 64

struct reproduce_args {
	const char *name[NAMES_MAX];
	u32 nr_names;
	const char *set[SETS_MAX];
	u32 nr_sets;
	u64 seeds;
	u64 seed;
	u64 jobs;
	u64 cpu_seconds;
	const char *json;
	const char *html;
	bool all;
	bool sensitivity;
	bool check;
	bool quiet;
};

enum {
	OPT_SEEDS,
	OPT_SEED,
	OPT_SET,
	OPT_ALL,
	OPT_SENSITIVITY,
	OPT_JOBS,
	OPT_JSON,
	OPT_HTML,
	OPT_CHECK,
	OPT_CPU_LIMIT,
	OPT_QUIET,
	OPT_HELP,
};

static const struct option_spec spec[] = {
	[OPT_SEEDS] = {"seeds", 0, "N", "repetitions of each variant (default 8)",
                       TO_NUMBER(struct reproduce_args, seeds, 1, 1000)},
	[OPT_SEED] = {"seed", 0, "S", "the first seed (default 1)",
                      TO_NUMBER(struct reproduce_args, seed, 0, INT64_MAX - 1000)},
	[OPT_SET] = {"set", 0, "NAME=VALUE",
                     "change the experiment: a knob, a parameter, machine.X, disk.X.Y or cost.X",
                     TO_CASE},
	[OPT_ALL] = {"all", 0, NULL, "also the further runs that claims about the mechanism need",
                     TO_FLAG(struct reproduce_args, all)},
	[OPT_SENSITIVITY] =
		{"sensitivity", 0, NULL,
                 "halve and double every assumed constant that takes time, with two\n"
                 "seeds, and show which of them move a ratio by more than 10%, and more\n"
                 "than seeds alone do, as far as --seeds of them can tell (many runs)",
                 TO_FLAG(struct reproduce_args, sensitivity)},
	[OPT_JOBS] = {"jobs", 'j', "N", "runs at once (default: one a CPU)",
                      TO_NUMBER(struct reproduce_args, jobs, 0, 256)},
	[OPT_JSON] = {"json", 0, "FILE", "everything, with seeds and effective configuration",
                      TO_TEXT(struct reproduce_args, json)},
	[OPT_HTML] = {"html", 0, "FILE", "one page for all, with pictures (drawn by gnuplot)",
                      TO_TEXT(struct reproduce_args, html)},
	[OPT_CHECK] = {"check", 0, NULL, "check contents and audit the machine",
                       TO_FLAG(struct reproduce_args, check)},
	[OPT_CPU_LIMIT] = {"cpu-limit", 0, "S", "CPU seconds a run may take (default 600)",
                           TO_NUMBER(struct reproduce_args, cpu_seconds, 0, 1000000)},
	[OPT_QUIET] = {"quiet", 'q', NULL, "no progress", TO_FLAG(struct reproduce_args, quiet)},
	[OPT_HELP] = {"help", 'h', NULL, "this text", TO_CASE},
};

/* One experiment while it runs: what struct experiment points to, and how it was made. */
struct work {
	const struct experiment_spec *spec; /* NULL: a scenario of the user's */
	char path[PATH_MAX];
	struct scenario *s;
	struct scenario **probe; /* [spec->nr_probes] */
	char *again;
	struct experiment e;
};

static void print_experiment(const struct experiment_spec *e)
{
	char first[64];

	snprintf(first, sizeof(first), "  %-16s  ", e->name);
	text_wrap(stdout, first, e->title, GRID_WIDTH);
}

static void print_help(void)
{
	printf("usage: quire reproduce [NAME]... [OPTION]...\n\n"
	       "Runs published experiments on a simulated machine and prints the published\n"
	       "figures beside ours. Without a NAME all are run; a NAME may also be a scenario\n"
	       "that declares published figures.\n\n");
	for (u32 i = 0; i < nr_experiments; i++)
		print_experiment(&experiments[i]);
	printf("\n");
	options_print(spec, ARRAY_SIZE(spec), stdout);
	printf("\nexamples:\n"
	       "  quire reproduce\n"
	       "  quire reproduce madv-free --all --json out.json\n"
	       "  quire reproduce madv-free --sensitivity\n");
}

static bool parse_option(struct reproduce_args *a, struct options *o, int opt)
{
	switch (opt) {
	case OPT_SET:
		return options_setting(o, a->set, &a->nr_sets, SETS_MAX);
	case OPTION_WORD:
		if (a->nr_names == NAMES_MAX) {
			cli_error("more than %d experiments", NAMES_MAX);
			return false;
		}
		a->name[a->nr_names++] = o->value;
		return true;
	}
	return false;
}

static bool parse(struct reproduce_args *a, int argc, char **argv, int *status)
{
	struct options o = {.verb = "quire reproduce",
	                    .spec = spec,
	                    .nr_specs = ARRAY_SIZE(spec),
	                    .args = a,
	                    .argc = argc,
	                    .argv = argv};
	char err[SAVE_ERROR_MAX];
	int opt;

	*status = CLI_USAGE;
	while ((opt = options_next(&o)) != OPTION_END) {
		if (opt == OPT_HELP) {
			print_help();
			*status = CLI_OK;
			return false;
		}
		if (!parse_option(a, &o, opt))
			return false;
	}
	if ((a->json && save_check(a->json, err)) || (a->html && save_check(a->html, err))) {
		cli_error("%s", err);
		*status = CLI_FAILED;
		return false;
	}
	for (u32 i = 0; !a->nr_names && i < nr_experiments; i++)
		a->name[i] = experiments[i].name;
	if (!a->nr_names)
		a->nr_names = nr_experiments;
	return true;
}

/* ---- one experiment ----------------------------------------------------------------------------- */

/* The scenario with the user's settings and, if not NULL, one more. */
static bool load(const struct reproduce_args *a, const char *path, const char *more,
                 struct scenario **out)
{
	const char *set[SETS_MAX + 1];
	char err[TARGET_ERROR_MAX] = "";
	struct scenario_options opt = {
		.names = &cli_load_names,
		.machine_dirs = cli_machine_dirs(),
		.set = set,
		.nr_set = a->nr_sets + (more != NULL),
	};

	memcpy(set, a->set, sizeof(a->set));
	set[a->nr_sets] = more;

	if (cli_scenario_load(path, &opt, out, err) == 0)
		return true;
	cli_error("%s", err);
	return false;
}

static const struct experiment_spec *find_spec(const char *name)
{
	for (u32 i = 0; i < nr_experiments; i++)
		if (strcmp(experiments[i].name, name) == 0)
			return &experiments[i];
	return NULL;
}

static bool find_scenario(const struct reproduce_args *a, struct work *w, const char *name)
{
	const char *names[NAMES_MAX];

	w->spec = find_spec(name);
	/* A misspelt experiment is more likely meant than a file that is not there. */
	if (!w->spec && access(name, F_OK) != 0) {
		u32 n = min_t(u32, nr_experiments, NAMES_MAX);

		for (u32 i = 0; i < n; i++)
			names[i] = experiments[i].name;
		cli_error_near(name, names, n, "there is no experiment \"%s\"", name);
		return false;
	}
	if (w->spec && w->spec->scenario)
		name = w->spec->scenario;
	if (!scenario_path(name, w->path, sizeof(w->path)) || !load(a, w->path, NULL, &w->s))
		return false;
	if (!w->s->published.source) {
		cli_error("%s declares no published figures", w->path);
		return false;
	}
	return true;
}

static void fill_experiment(struct work *w)
{
	const struct scenario *s = w->s;
	const struct scenario_published *p = &s->published;
	struct experiment *e = &w->e;
	const char **note;

	*e = (struct experiment){
		.name = w->spec ? w->spec->name : s->name,
		.source = p->source,
		.fitted = p->fitted,
		.constant = p->constant,
		.baseline = s->variant[p->baseline].name,
		.nr_figures = p->nr_figures,
		.nr_claims = w->spec ? w->spec->nr_claims : 0,
		.claim = w->spec ? w->spec->claim : NULL,
		.nr_spreads = w->spec ? w->spec->nr_spreads : 0,
		.spread = w->spec ? w->spec->spread : NULL,
		.nr_predictions = w->spec ? w->spec->nr_predictions : 0,
		.prediction = w->spec ? w->spec->prediction : NULL,
	};
	e->figure = report_alloc(p->nr_figures, sizeof(*e->figure));
	e->result = report_alloc(e->nr_claims, sizeof(*e->result));
	for (u32 i = 0; i < p->nr_figures; i++) {
		const char *metric = p->figure[i].metric;

		e->figure[i] = (struct figure){
			.variant = s->variant[p->figure[i].variant].name,
			.metric = metric,
			.unit = metric_unit(metric),
			.published = p->figure[i].value,
			.fitted = p->figure[i].fitted,
		};
	}
	note = report_alloc(s->nr_notes + 1, sizeof(*note));
	if (p->note)
		note[e->nr_notes++] = p->note;
	for (u32 i = 0; i < s->nr_notes; i++)
		note[e->nr_notes++] = s->note[i];
	e->note = note;
}

/* The published variants, then the probes. For free(). */
static struct batch_cell *make_cells(const struct reproduce_args *a, struct work *w, u32 *nr)
{
	u32 nr_probes = a->all && w->spec ? w->spec->nr_probes : 0;
	struct batch_cell *cell = report_alloc(w->s->nr_variants + nr_probes, sizeof(*cell));
	u32 n = 0;

	for (u32 v = 0; v < w->s->nr_variants; v++)
		cell[n++] = (struct batch_cell){w->s, v, "", target_by_name("sim")};
	w->probe = report_alloc(w->spec ? w->spec->nr_probes : 0, sizeof(*w->probe));
	for (u32 i = 0; i < nr_probes; i++) {
		const struct probe *p = &w->spec->probe[i];

		if (!load(a, w->path, p->set, &w->probe[i])) {
			free(cell);
			return NULL;
		}
		cell[n++] =
			(struct batch_cell){w->probe[i], scenario_variant(w->probe[i], p->variant),
		                            p->set, target_by_name("sim")};
	}
	*nr = n;
	return cell;
}

static int reproduce_one(const struct reproduce_args *a, struct work *w)
{
	w->again = again_options(a->set, a->nr_sets, NULL, NULL, a->check);

	struct batch b = {
		.path = w->path,
		.again = w->again,
		.nr_seeds = (u32)a->seeds,
		.seed = a->seed,
		.nr_parallel = (u32)a->jobs,
		.cpu_seconds = (u32)a->cpu_seconds,
		.check = a->check,
		.quiet = a->quiet,
	};
	struct sensitivity_options so = {
		.path = w->path,
		.set = a->set,
		.nr_sets = a->nr_sets,
		.nr_seeds = min_t(u32, (u32)a->seeds, SENSITIVITY_SEEDS),
		.seed = a->seed,
		.nr_parallel = (u32)a->jobs,
		.cpu_seconds = (u32)a->cpu_seconds,
		.quiet = a->quiet,
	};
	struct batch_cell *cell;
	int status;

	fill_experiment(w);
	w->e.nr_sets = a->nr_sets;
	w->e.set = a->set;
	cell = make_cells(a, w, &b.nr_cells);
	if (!cell)
		return CLI_USAGE;
	b.cell = cell;
	status = batch_run(&b, &w->e.results);
	free(cell);
	if (status == CLI_USAGE || status == CLI_NO_HOST)
		return status;
	experiment_judge(&w->e);
	if (a->sensitivity)
		status = max(status, sensitivity_run(&so, w->s, &w->e));
	return status;
}

static void free_work(struct work *w)
{
	struct experiment *e = &w->e;

	for (u32 i = 0; i < e->nr_sensitivities; i++) {
		free(e->sensitivity[i].constant);
		free(e->sensitivity[i].source);
		free(e->sensitivity[i].figure);
	}
	free(e->sensitivity);
	free(e->figure);
	free(e->result);
	free((void *)e->note);
	results_free(&e->results);
	for (u32 i = 0; w->probe && w->spec && i < w->spec->nr_probes; i++)
		if (w->probe[i])
			scenario_free(w->probe[i]);
	free(w->probe);
	free(w->again);
	if (w->s)
		scenario_free(w->s);
}

/* ---- all of them -------------------------------------------------------------------------------- */

struct document {
	const struct work *work;
	u32 nr;
};

static void save_document(FILE *f, const void *arg)
{
	const struct document *d = arg;
	json_t *j = json_document("reproduce");
	json_t *list = json_array();

	for (u32 i = 0; i < d->nr; i++)
		json_array_append_new(list, experiment_json(&d->work[i].e));
	json_object_set_new(j, "experiments", list);
	json_print(f, j);
}

static void save_page(FILE *f, const void *arg)
{
	const struct document *d = arg;
	const struct experiment *e[NAMES_MAX];

	for (u32 i = 0; i < d->nr; i++)
		e[i] = &d->work[i].e;
	save_html_experiments(f, &(struct html_experiments){d->nr, e});
}

static int reproduce_all(const struct reproduce_args *a, struct work *work)
{
	bool piped =
		(a->json && strcmp(a->json, "-") == 0) || (a->html && strcmp(a->html, "-") == 0);
	struct document d = {work, a->nr_names};
	char err[SAVE_ERROR_MAX];
	int status = CLI_OK;

	for (u32 i = 0; i < a->nr_names; i++)
		if (!find_scenario(a, &work[i], a->name[i]))
			return CLI_USAGE;
	for (u32 i = 0; i < a->nr_names; i++) {
		int rc = reproduce_one(a, &work[i]);

		if (rc == CLI_USAGE || rc == CLI_NO_HOST)
			return rc;
		status = max(status, rc);
		if (!piped) {
			if (i)
				putchar('\n');
			experiment_print(stdout, &work[i].e);
			fflush(stdout);
		}
	}
	if (!piped && a->seeds < SEEDS)
		printf("\n%lu of the usual %d seeds: quire reproduce runs them all.\n", a->seeds,
		       SEEDS);
	if (a->json && save_file(a->json, save_document, &d, err)) {
		cli_error("%s", err);
		status = max_t(int, status, CLI_FAILED);
	}
	if (a->html && save_file(a->html, save_page, &d, err)) {
		cli_error("%s", err);
		status = max_t(int, status, CLI_FAILED);
	}
	return status;
}

int verb_reproduce(int argc, char **argv)
{
	struct reproduce_args a = {
		.seeds = SEEDS,
		.seed = 1,
		.jobs = (u64)max(sysconf(_SC_NPROCESSORS_ONLN), 1L),
		.cpu_seconds = 600,
	};
	struct work *work;
	int status;

	if (!parse(&a, argc, argv, &status))
		return status;
	work = report_alloc(a.nr_names, sizeof(*work));
	status = reproduce_all(&a, work);
	for (u32 i = 0; i < a.nr_names; i++)
		free_work(&work[i]);
	free(work);
	return status;
}
