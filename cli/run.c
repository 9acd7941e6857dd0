/*
 * quire run: a scenario's variants, at every point of --vary, on the targets of --on.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/batch.h"
#include "cli/cli.h"
#include "cli/diverge.h"
#include "cli/expect.h"
#include "cli/jobs.h"
#include "cli/rerun.h"
#include "cli/state.h"
#include "cli/stop.h"
#include "cli/vary.h"
#include "load/quantity.h"
#include "report/heatmap.h"
#include "report/html.h"
#include "report/load.h"
#include "report/save.h"
#include "report/text.h"

#define REPEAT_MAX 10000
#define SETTINGS_MAX 256
#define CPU_SECONDS 600

enum {
	OPT_FROM,
	OPT_ON,
	OPT_VARIANT,
	OPT_VARY,
	OPT_ZIP,
	OPT_STATE,
	OPT_SET,
	OPT_REPEAT,
	OPT_SEED,
	OPT_MACHINE,
	OPT_KERNEL,
	OPT_JOBS,
	OPT_JSON,
	OPT_CSV,
	OPT_HTML,
	OPT_MD,
	OPT_FOLDED,
	OPT_TRACE,
	OPT_TRACE_WINDOW,
	OPT_HEATMAP,
	OPT_PROC,
	OPT_TAP,
	OPT_STOP_AT,
	OPT_STEP,
	OPT_NO_PART,
	OPT_CHECK,
	OPT_CPU_LIMIT,
	OPT_PRINT_CONFIG,
	OPT_QUIET,
	OPT_HELP,
};

static const struct option_spec spec[] = {
	[OPT_FROM] = {"from", 0, "FILE",
                      "run again what made this result (--json); other options come on top"},
	[OPT_ON] = {"on", 0, "TARGETS", "sim (default), host, or both: sim,host"},
	[OPT_VARIANT] = {"variant", 0, "NAME,...", "only these of the scenario's variants"},
	[OPT_VARY] = {"vary", 0, "NAME=A,B,...",
                      "run with each of these values, or with N of them: NAME=512M..4G:8, or\n"
                      "NAME=1..64:7x by equal factors; several --vary give the product"},
	[OPT_ZIP] = {"zip", 0, NULL, "several --vary go in step instead"},
	[OPT_STATE] = {"state", 0, "FILE",
                       "keep the runs here as they end; what is here is not run again"},
	[OPT_SET] = {"set", 0, "NAME=VALUE",
                     "a knob, a parameter of the scenario, machine.X, disk.X.Y or cost.X"},
	[OPT_REPEAT] = {"repeat", 0, "N",
                        "seeds for each variant (default 8 where simulated variants or points\n"
                        "are compared, else 1)"},
	[OPT_SEED] = {"seed", 0, "S", "the first seed (default 1); the next is S + 1"},
	[OPT_MACHINE] = {"machine", 0, "NAME", "another machine profile (a name or a file)"},
	[OPT_KERNEL] = {"kernel", 0, "NAME", "another preset of knobs"},
	[OPT_JOBS] = {"jobs", 'j', "N",
                      "runs at once (default: one a CPU; 0: in this process, for a debugger)"},
	[OPT_JSON] = {"json", 0, "FILE", "everything, with seeds and effective configuration"},
	[OPT_CSV] = {"csv", 0, "FILE", "every value on a line of its own"},
	[OPT_HTML] = {"html", 0, "FILE",
                      "a page with tables and pictures (drawn by gnuplot) in one file"},
	[OPT_MD] = {"md", 0, "FILE", "the comparison as Markdown tables"},
	[OPT_FOLDED] = {"folded", 0, "FILE",
                        "where the time went as folded stacks (ns), for flame graphs"},
	[OPT_TRACE] =
		{"trace", 0, "FILE",
                 "the first run of each column for ui.perfetto.dev: CPUs, tasks, locks, I/O,\n"
                 "IPIs, counters; if that is too much, what took longest"},
	[OPT_TRACE_WINDOW] = {"trace-window", 0, "FROM,TO",
                              "only what happens between two times of the run: 1.2s,1.3s"},
	[OPT_HEATMAP] = {"heatmap", 0, NULL,
                         "which memory was touched when, here and in --html and --json"},
	[OPT_PROC] = {"proc", 0, "DIR",
                      "vmstat, zoneinfo, meminfo, buddyinfo at the end of the first run"},
	[OPT_TAP] = {"tap", 0, NULL,
                     "print only what the scenario expects and whether it came true, as KTAP"},
	[OPT_STOP_AT] =
		{"stop-at", 0, "TIME|EVENT",
                 "run the first seed up to there and print the machine as it is: at a time\n"
                 "(1.5s), the N-th event (#1200), or a kind of event (oom_kill, page_fault:7)"},
	[OPT_STEP] = {"step", 0, NULL, "walk through the run event by event, asking at each"},
	[OPT_NO_PART] = {"no-divergence", 0, NULL,
                         "do not look for the first event at which variants differ"},
	[OPT_CHECK] = {"check", 0, NULL,
                       "check every page's contents when it is read, and audit the machine"},
	[OPT_CPU_LIMIT] = {"cpu-limit", 0, "S",
                           "CPU seconds a simulated run may take (default 600; 0: no limit)"},
	[OPT_PRINT_CONFIG] = {"print-config", 0, NULL,
                              "print every effective value and where it comes from; run nothing"},
	[OPT_QUIET] = {"quiet", 'q', NULL, "no progress"},
	[OPT_HELP] = {"help", 'h', NULL, "this text"},
};

struct run_args {
	const char *scenario; /* as given */
	char path[PATH_MAX];
	const struct target_ops *on[4];
	u32 nr_on;
	const char *from;     /* NULL: a new run */
	struct results made;  /* what is in that file */
	const char *variants; /* NULL: all */
	struct vary vary;
	const char *vary_text[VARY_MAX];
	const char *state;
	const char *set[SETTINGS_MAX];
	u32 nr_sets;
	u64 repeat; /* 0: by default */
	u64 seed;
	u64 jobs;
	u64 cpu_seconds;
	const char *machine;
	const char *kernel;
	const char *json;
	const char *csv;
	const char *html;
	const char *md;
	const char *folded;
	const char *trace;
	bool heatmap;
	u64 trace_from_ns;
	u64 trace_to_ns;
	const char *proc;
	bool tap;
	bool stops;
	struct stop_point stop_at;
	bool step;
	bool no_divergence;
	bool check;
	bool print_config;
	bool quiet;
};

/* What is being run: a scenario per point, and the cells made of them. */
struct run_plan {
	u32 nr_points;
	struct scenario **scenario; /* [nr_points] */
	char **label;
	u32 nr_holes; /* points that could not be loaded: the others are run */
	struct result_hole *hole;
	u32 nr_cells;
	struct batch_cell *cell;
	char *again;
};

static void print_help(void)
{
	printf("usage: quire run SCENARIO [OPTION]...\n\n"
	       "Runs a scenario (a Lua file, or the name of one of ours) and says what it took "
	       "and\n"
	       "where the time went. Variants are compared with the first.\n\n");
	options_print(spec, ARRAY_SIZE(spec), stdout);
	printf("\nexamples:\n"
	       "  quire run smoke\n"
	       "  quire run madv-free --repeat 8 --json out.json\n"
	       "  quire run madv-free --variant lazy --vary madvise.free_swap=keep,drop\n"
	       "  quire run madv-free --vary machine.ram=2G,3G,4G --repeat 3\n"
	       "  quire run madv-free --on sim,host\n");
}

/* ---- the command line --------------------------------------------------------------------------- */

static bool parse_targets(struct run_args *a, const char *text)
{
	a->nr_on = 0;
	for (const char *p = text;; p++) {
		size_t len = strcspn(p, ",");
		char name[32];

		snprintf(name, sizeof(name), "%.*s", (int)min_t(size_t, len, 31), p);
		if (a->nr_on == ARRAY_SIZE(a->on) || !(a->on[a->nr_on] = target_by_name(name))) {
			cli_error_near(name, target_names, nr_target_names,
			               "--on expects sim, host or sim,host, not \"%s\"", text);
			return false;
		}
		a->nr_on++;
		p += len;
		if (!*p)
			return true;
	}
}

static bool parse_option(struct run_args *a, struct options *o, int opt);

/* The scenario and the options of a result. They stay in a->made. */
static bool load_from(struct run_args *a, const char *path)
{
	char err[LOAD_ERROR_MAX];
	struct options o = {.verb = "quire run --from", .spec = spec, .nr_specs = ARRAY_SIZE(spec)};
	int opt;

	if (a->from || results_load(path, &a->made, err)) {
		cli_error("%s", a->from ? "--from can be given once" : err);
		return false;
	}
	a->from = path;
	if (!a->scenario)
		a->scenario = a->made.scenario;
	o.argc = (int)a->made.nr_words;
	o.argv = a->made.word;
	while ((opt = options_next(&o)) != OPTION_END)
		if (opt == OPT_FROM || opt == OPTION_WORD || !parse_option(a, &o, opt)) {
			cli_error("%s: the options in it are not those of a run", path);
			return false;
		}
	return true;
}

static bool parse_window(struct run_args *a, const char *text)
{
	const char *comma = strchr(text, ',');
	char err[TARGET_ERROR_MAX] = "";
	char from[64];

	snprintf(from, sizeof(from), "%.*s", comma ? (int)(comma - text) : 0, text);
	if (comma && quantity_time(from, &a->trace_from_ns, err) == 0 &&
	    quantity_time(comma + 1, &a->trace_to_ns, err) == 0 &&
	    a->trace_from_ns < a->trace_to_ns)
		return true;
	cli_error(
		"--trace-window expects two times, the earlier first, as 1.2s,1.3s, not \"%s\"%s%s",
		text, *err ? ": " : "", err);
	return false;
}

static bool parse_option(struct run_args *a, struct options *o, int opt)
{
	switch (opt) {
	case OPT_FROM:
		return load_from(a, o->value);
	case OPT_ON:
		return parse_targets(a, o->value);
	case OPT_VARIANT:
		a->variants = o->value;
		return true;
	case OPT_VARY:
		if (a->vary.nr_axes < VARY_MAX)
			a->vary_text[a->vary.nr_axes] = o->value;
		return vary_add(&a->vary, o->value);
	case OPT_ZIP:
		a->vary.zip = true;
		return true;
	case OPT_STATE:
		a->state = o->value;
		return true;
	case OPT_SET:
		if (!strchr(o->value, '=')) {
			cli_error("--set expects NAME=VALUE, not \"%s\"", o->value);
			return false;
		}
		if (a->nr_sets == SETTINGS_MAX) {
			cli_error("more than %d --set", SETTINGS_MAX);
			return false;
		}
		a->set[a->nr_sets++] = o->value;
		return true;
	case OPT_REPEAT:
		return options_number(o, opt, 1, REPEAT_MAX, &a->repeat);
	case OPT_SEED:
		return options_number(o, opt, 0, INT64_MAX - REPEAT_MAX, &a->seed);
	case OPT_MACHINE:
		a->machine = o->value;
		return true;
	case OPT_KERNEL:
		a->kernel = o->value;
		return true;
	case OPT_JOBS:
		return options_number(o, opt, 0, 256, &a->jobs);
	case OPT_JSON:
		a->json = o->value;
		return true;
	case OPT_CSV:
		a->csv = o->value;
		return true;
	case OPT_MD:
		a->md = o->value;
		return true;
	case OPT_FOLDED:
		a->folded = o->value;
		return true;
	case OPT_HTML:
		a->html = o->value;
		return true;
	case OPT_TRACE:
		a->trace = o->value;
		return true;
	case OPT_HEATMAP:
		return a->heatmap = true;
	case OPT_TRACE_WINDOW:
		return parse_window(a, o->value);
	case OPT_PROC:
		a->proc = o->value;
		return true;
	case OPT_TAP:
		a->tap = true;
		return true;
	case OPT_STOP_AT:
		a->stops = true;
		return stop_point_parse(o->value, &a->stop_at);
	case OPT_STEP:
		a->step = true;
		return true;
	case OPT_NO_PART:
		a->no_divergence = true;
		return true;
	case OPT_CHECK:
		a->check = true;
		return true;
	case OPT_CPU_LIMIT:
		return options_number(o, opt, 0, 1000000, &a->cpu_seconds);
	case OPT_PRINT_CONFIG:
		a->print_config = true;
		return true;
	case OPT_QUIET:
		a->quiet = true;
		return true;
	case OPTION_WORD:
		if (a->scenario) {
			cli_error("one scenario at a time: \"%s\" or \"%s\"", a->scenario,
			          o->value);
			return false;
		}
		a->scenario = o->value;
		return true;
	}
	return false;
}

/* Two kinds of output in one file would be one of them. */
static bool same_files(const struct run_args *a)
{
	const struct {
		const char *option;
		const char *path;
	} file[] = {{"--json", a->json},
	            {"--csv", a->csv},
	            {"--folded", a->folded},
	            {"--md", a->md},
	            {"--state", a->state}};

	for (size_t i = 0; i < ARRAY_SIZE(file); i++) {
		for (size_t k = 0; k < i; k++) {
			if (!file[i].path || !file[k].path ||
			    strcmp(file[i].path, file[k].path) != 0)
				continue;
			cli_error("%s and %s would both be %s", file[k].option, file[i].option,
			          file[i].path);
			return true;
		}
	}
	return false;
}

/* Ends with an exit code in @status if there is nothing to run. */
static bool parse(struct run_args *a, int argc, char **argv, int *status)
{
	struct options o = {.verb = "quire run",
	                    .spec = spec,
	                    .nr_specs = ARRAY_SIZE(spec),
	                    .argc = argc,
	                    .argv = argv};
	const char *const *file[] = {&a->json, &a->csv, &a->md, &a->html, &a->folded, &a->trace};
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
	if (!a->scenario) {
		cli_error("which scenario? (quire list scenarios)");
		return false;
	}
	if (!vary_check(&a->vary))
		return false;
	if (a->tap && (a->variants || a->vary.nr_axes)) {
		cli_error("--tap: expectations are of all variants, as the scenario declares them");
		return false;
	}
	if (same_files(a))
		return false;
	if (!scenario_path(a->scenario, a->path, sizeof(a->path)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(file); i++) {
		if (*file[i] && save_check(*file[i], err)) {
			cli_error("%s", err);
			*status = CLI_FAILED;
			return false;
		}
	}
	return true;
}

/* ---- what to run -------------------------------------------------------------------------------- */

static bool load_point(const struct run_args *a, struct run_plan *p, u32 point)
{
	const char *set[SETTINGS_MAX + VARY_MAX];
	char *varied[VARY_MAX];
	char err[TARGET_ERROR_MAX] = "";
	struct scenario_options opt = {
		.names = &cli_load_names,
		.machine = a->machine,
		.kernel = a->kernel,
		.machine_dirs = cli_machine_dirs(),
		.set = set,
		.nr_set = a->nr_sets + a->vary.nr_axes,
		.nr_varied = a->vary.nr_axes,
	};
	int rc;

	for (u32 i = 0; i < a->nr_sets; i++)
		set[i] = a->set[i];
	for (u32 i = 0; i < a->vary.nr_axes; i++)
		set[a->nr_sets + i] = varied[i] = vary_setting(&a->vary, point, i);
	p->label[point] = vary_label(&a->vary, point);
	rc = cli_scenario_load(a->path, &opt, &p->scenario[point], err);
	for (u32 i = 0; i < a->vary.nr_axes; i++)
		free(varied[i]);
	if (!rc)
		return true;
	if (!*p->label[point]) {
		cli_error("%s", err);
		return false;
	}
	cli_error("impossible: %s: %s", p->label[point], err);
	p->hole = realloc(p->hole, sizeof(*p->hole) * (p->nr_holes + 1));
	if (!p->hole)
		abort();
	p->hole[p->nr_holes++] =
		(struct result_hole){report_strdup(p->label[point]), report_strdup(err)};
	return false;
}

/* Whether --variant names @name; those that it names are counted. */
static bool wanted(const char *list, const char *name)
{
	size_t n = strlen(name);

	if (!list)
		return true;
	for (const char *p = list; *p; p += strspn(p, ",")) {
		size_t len = strcspn(p, ",");

		if (len == n && strncmp(p, name, n) == 0)
			return true;
		p += len;
	}
	return false;
}

/* Every name of --variant must be one of the scenario's. */
static bool check_variants(const struct scenario *s, const char *list)
{
	const char *names[SCENARIO_VARIANTS_MAX];

	for (u32 i = 0; i < s->nr_variants; i++)
		names[i] = s->variant[i].name;
	for (const char *p = list; *p; p += strspn(p, ",")) {
		size_t len = strcspn(p, ",");
		char name[TARGET_NAME_MAX];

		snprintf(name, sizeof(name), "%.*s", (int)min_t(size_t, len, sizeof(name) - 1), p);
		if (scenario_variant(s, name) == s->nr_variants) {
			cli_error_near(name, names, s->nr_variants, "%s has no variant \"%s\"",
			               s->path, name);
			return false;
		}
		p += len;
	}
	return true;
}

static bool unchanged(const struct run_args *a, const char *path, const char *then)
{
	char *now = hash_file(path);
	bool same = !then || strcmp(then, now) == 0;

	if (!same)
		cli_error("%s has changed since %s was made (%s then, %s now)", path, a->from, then,
		          now);
	free(now);
	return same;
}

/* Whether what --from names is still what it was. */
static bool check_from(const struct run_args *a, const struct scenario *s)
{
	return !a->from || strcmp(a->scenario, a->made.scenario) != 0 ||
	       (unchanged(a, a->path, a->made.scenario_hash) &&
	        (a->machine || unchanged(a, s->profile->path, a->made.column[0].profile_hash)));
}

static bool make_plan(const struct run_args *a, struct run_plan *p)
{
	const struct scenario *s = NULL;
	u32 n = 0;

	p->nr_points = vary_points(&a->vary);
	p->scenario = report_alloc(p->nr_points, sizeof(*p->scenario));
	p->label = report_alloc(p->nr_points, sizeof(*p->label));
	for (u32 i = 0; i < p->nr_points; i++)
		if (load_point(a, p, i) && !s)
			s = p->scenario[i];
	if (!s)
		return false;
	if (!check_from(a, s))
		return false;
	if (a->variants && !check_variants(s, a->variants))
		return false;
	p->cell = report_alloc((size_t)a->nr_on * p->nr_points * s->nr_variants, sizeof(*p->cell));
	for (u32 t = 0; t < a->nr_on; t++)
		for (u32 i = 0; i < p->nr_points; i++)
			for (u32 v = 0; p->scenario[i] && v < s->nr_variants; v++)
				if (wanted(a->variants, s->variant[v].name))
					p->cell[n++] = (struct batch_cell){p->scenario[i], v,
					                                   p->label[i], a->on[t]};
	p->nr_cells = n;
	if (!n)
		cli_error("--variant %s names no variant of %s", a->variants, a->path);
	return n > 0;
}

static void free_plan(struct run_plan *p)
{
	for (u32 i = 0; i < p->nr_holes; i++) { /* no batch has taken them */
		free(p->hole[i].point);
		free(p->hole[i].error);
	}
	free(p->hole);
	for (u32 i = 0; i < p->nr_points; i++) {
		if (p->scenario && p->scenario[i])
			scenario_free(p->scenario[i]);
		if (p->label)
			free(p->label[i]);
	}
	free(p->scenario);
	free(p->label);
	free(p->cell);
	free(p->again);
}

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

/* The options that decide about the results, for --from. The texts live as long as @a. */
static u32 options_of(const struct run_args *a, const char **word, char *numbers, u32 nr_seeds)
{
	const struct {
		const char *name;
		const char *value;
	} one[] = {{"--variant", a->variants}, {"--machine", a->machine}, {"--kernel", a->kernel}};
	u32 n = 0;

	word[n++] = "--on";
	word[n++] = a->nr_on == 1                       ? a->on[0]->name
	            : a->on[0] == a->on[1]              ? "sim,sim"
	            : a->on[0] == target_by_name("sim") ? "sim,host"
	                                                : "host,sim";
	for (size_t i = 0; i < ARRAY_SIZE(one); i++) {
		if (one[i].value) {
			word[n++] = one[i].name;
			word[n++] = one[i].value;
		}
	}
	for (u32 i = 0; i < a->nr_sets; i++) {
		word[n++] = "--set";
		word[n++] = a->set[i];
	}
	for (u32 i = 0; i < a->vary.nr_axes; i++) {
		word[n++] = "--vary";
		word[n++] = a->vary_text[i];
	}
	if (a->vary.zip)
		word[n++] = "--zip";
	snprintf(numbers, 32, "%u", nr_seeds);
	snprintf(numbers + 32, 32, "%lu", a->seed);
	word[n++] = "--repeat";
	word[n++] = numbers;
	word[n++] = "--seed";
	word[n++] = numbers + 32;
	if (a->check)
		word[n++] = "--check";
	return n;
}

static int execute(const struct run_args *a, struct run_plan *p)
{
	const char *word[2 * SETTINGS_MAX + 2 * VARY_MAX + 16];
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
	b.nr_words = options_of(a, word, numbers, b.nr_seeds);
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

/* ---- results that exist ------------------------------------------------------------------------- */

struct rerun {
	struct run_args a;
	struct run_plan p;
};

struct rerun *rerun_load(const char *path)
{
	struct rerun *r = report_alloc(1, sizeof(*r));
	struct run_args *a = &r->a;

	a->on[0] = target_by_name("sim");
	a->nr_on = 1;
	if (load_from(a, path) && vary_check(&a->vary) &&
	    scenario_path(a->scenario, a->path, sizeof(a->path)) && make_plan(a, &r->p))
		return r;
	rerun_free(r);
	return NULL;
}

const struct batch_cell *rerun_cell(const struct rerun *r, const struct result_column *c)
{
	for (u32 i = 0; i < r->p.nr_cells; i++) {
		const struct batch_cell *cell = &r->p.cell[i];

		if (strcmp(cell->s->variant[cell->variant].name, c->variant) == 0 &&
		    strcmp(cell->point, c->point) == 0 && strcmp(cell->ops->name, c->target) == 0)
			return cell;
	}
	return NULL;
}

void rerun_free(struct rerun *r)
{
	free_plan(&r->p);
	vary_free(&r->a.vary);
	results_free(&r->a.made);
	free(r);
}

int verb_run(int argc, char **argv)
{
	struct run_args *a = report_alloc(1, sizeof(*a));
	struct run_plan p = {0};
	int status;

	a->on[0] = target_by_name("sim");
	a->nr_on = 1;
	a->seed = 1;
	a->jobs = (u64)max(sysconf(_SC_NPROCESSORS_ONLN), 1L);
	a->cpu_seconds = CPU_SECONDS;
	if (parse(a, argc, argv, &status)) {
		status = CLI_USAGE;
		if (make_plan(a, &p)) {
			status = CLI_OK;
			if (a->print_config)
				print_configs(&p);
			else if (a->stops || a->step)
				status = stop(a, &p);
			else
				status = execute(a, &p);
		}
	}
	free_plan(&p);
	vary_free(&a->vary);
	results_free(&a->made);
	free(a);
	return status;
}
