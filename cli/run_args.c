/*
 * The command line of quire run.
 */
#include "cli/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "load/quantity.h"
#include "report/load.h"
#include "report/save.h"

#define REPEAT_MAX 10000
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
	OPT_SERIES_WINDOW,
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
                      "run again what made this result (--json); other options come on top",
                      TO_CASE},
	[OPT_ON] = {"on", 0, "TARGETS", "sim (default), host, or both: sim,host", TO_CASE},
	[OPT_VARIANT] = {"variant", 0, "NAME,...", "only these of the scenario's variants",
                         TO_TEXT(struct run_args, variants)},
	[OPT_VARY] = {"vary", 0, "NAME=A,B,...",
                      "run with each of these values, or with N of them: NAME=512M..4G:8, or\n"
                      "NAME=1..64:7x by equal factors; several --vary give the product",
                      TO_CASE},
	[OPT_ZIP] = {"zip", 0, NULL, "several --vary go in step instead",
                     TO_FLAG(struct run_args, vary.zip)},
	[OPT_STATE] = {"state", 0, "FILE",
                       "keep the runs here as they end; what is here is not run again",
                       TO_TEXT(struct run_args, state)},
	[OPT_SET] = {"set", 0, "NAME=VALUE",
                     "a knob, a parameter of the scenario, machine.X, disk.X.Y or cost.X", TO_CASE},
	[OPT_REPEAT] = {"repeat", 0, "N",
                        "seeds for each variant (default 8 where simulated variants or points\n"
                        "are compared, else 1)",
                        TO_NUMBER(struct run_args, repeat, 1, REPEAT_MAX)},
	[OPT_SEED] = {"seed", 0, "S", "the first seed (default 1); the next is S + 1",
                      TO_NUMBER(struct run_args, seed, 0, INT64_MAX - REPEAT_MAX)},
	[OPT_MACHINE] = {"machine", 0, "NAME", "another machine profile (a name or a file)",
                         TO_TEXT(struct run_args, machine)},
	[OPT_KERNEL] = {"kernel", 0, "NAME", "another preset of knobs",
                        TO_TEXT(struct run_args, kernel)},
	[OPT_JOBS] = {"jobs", 'j', "N",
                      "runs at once (default: one a CPU; 0: in this process, for a debugger)",
                      TO_NUMBER(struct run_args, jobs, 0, 256)},
	[OPT_JSON] = {"json", 0, "FILE", "everything, with seeds and effective configuration",
                      TO_TEXT(struct run_args, json)},
	[OPT_CSV] = {"csv", 0, "FILE", "every value on a line of its own",
                     TO_TEXT(struct run_args, csv)},
	[OPT_HTML] = {"html", 0, "FILE",
                      "a page with tables and pictures (drawn by gnuplot) in one file",
                      TO_TEXT(struct run_args, html)},
	[OPT_MD] = {"md", 0, "FILE", "the comparison as Markdown tables",
                    TO_TEXT(struct run_args, md)},
	[OPT_FOLDED] = {"folded", 0, "FILE",
                        "where the time went as folded stacks (ns), for flame graphs",
                        TO_TEXT(struct run_args, folded)},
	[OPT_TRACE] =
		{"trace", 0, "FILE",
                 "the first run of each column for ui.perfetto.dev: CPUs, tasks, locks, I/O,\n"
                 "IPIs, counters; if that is too much, what took longest",
                 TO_TEXT(struct run_args, trace)},
	[OPT_TRACE_WINDOW] = {"trace-window", 0, "FROM,TO",
                              "only what happens between two times of the run: 1.2s,1.3s", TO_CASE},
	[OPT_SERIES_WINDOW] = {"series-window", 0, "FROM,TO",
                               "counters over time of this part of the run only, but closely; and\n"
                               "between which moments two builds part (quire compare)",
                               TO_CASE},
	[OPT_HEATMAP] = {"heatmap", 0, NULL,
                         "which memory was touched when, here and in --html and --json",
                         TO_FLAG(struct run_args, heatmap)},
	[OPT_PROC] =
		{"proc", 0, "DIR",
                 "vmstat, zoneinfo, meminfo, buddyinfo, pagetypeinfo at the end of the first run",
                 TO_TEXT(struct run_args, proc)},
	[OPT_TAP] = {"tap", 0, NULL,
                     "print only what the scenario expects and whether it came true, as KTAP",
                     TO_FLAG(struct run_args, tap)},
	[OPT_STOP_AT] =
		{"stop-at", 0, "TIME|EVENT",
                 "run the first seed up to there and print the machine as it is: at a time\n"
                 "(1.5s), the N-th event (#1200), or a kind of event (oom_kill, page_fault:7)",
                 TO_CASE},
	[OPT_STEP] = {"step", 0, NULL, "walk through the run event by event, asking at each",
                      TO_FLAG(struct run_args, step)},
	[OPT_NO_PART] = {"no-divergence", 0, NULL,
                         "do not look for the first event at which variants differ",
                         TO_FLAG(struct run_args, no_divergence)},
	[OPT_CHECK] = {"check", 0, NULL,
                       "check every page's contents when it is read, and audit the machine",
                       TO_FLAG(struct run_args, check)},
	[OPT_CPU_LIMIT] = {"cpu-limit", 0, "S",
                           "CPU seconds a simulated run may take (default 600; 0: no limit)",
                           TO_NUMBER(struct run_args, cpu_seconds, 0, 1000000)},
	[OPT_PRINT_CONFIG] = {"print-config", 0, NULL,
                              "print every effective value and where it comes from; run nothing",
                              TO_FLAG(struct run_args, print_config)},
	[OPT_QUIET] = {"quiet", 'q', NULL, "no progress", TO_FLAG(struct run_args, quiet)},
	[OPT_HELP] = {"help", 'h', NULL, "this text", TO_CASE},
};

static void print_help(void)
{
	printf("usage: quire run SCENARIO [OPTION]...\n\n"
	       "Runs a scenario (a Lua file, or the name of one of ours) and says what it took\n"
	       "and where the time went. Variants are compared with the first.\n\n");
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

bool run_args_from(struct run_args *a, const char *path)
{
	char err[LOAD_ERROR_MAX];
	struct options o = {
		.verb = "quire run --from", .spec = spec, .nr_specs = ARRAY_SIZE(spec), .args = a};
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
	a->from_machine = a->machine;
	return true;
}

/* Two times, of which the first is the earlier. */
static bool parse_window(const char *option, const char *text, u64 *from_ns, u64 *to_ns)
{
	const char *comma = strchr(text, ',');
	char err[TARGET_ERROR_MAX] = "";
	char from[64];

	snprintf(from, sizeof(from), "%.*s", comma ? (int)(comma - text) : 0, text);
	if (comma && quantity_time(from, from_ns, err) == 0 &&
	    quantity_time(comma + 1, to_ns, err) == 0 && *from_ns < *to_ns)
		return true;
	cli_error("--%s expects two times, the earlier first, as 1.2s,1.3s, not \"%s\"%s%s", option,
	          text, *err ? ": " : "", err);
	return false;
}

static bool parse_option(struct run_args *a, struct options *o, int opt)
{
	switch (opt) {
	case OPT_FROM:
		return run_args_from(a, o->value);
	case OPT_ON:
		return parse_targets(a, o->value);
	case OPT_VARY:
		if (a->vary.nr_axes < VARY_MAX)
			a->vary_text[a->vary.nr_axes] = o->value;
		return vary_add(&a->vary, o->value);
	case OPT_SET:
		return options_setting(o, a->set, &a->nr_sets, SETTINGS_MAX);
	case OPT_TRACE_WINDOW:
		return parse_window("trace-window", o->value, &a->trace_from_ns, &a->trace_to_ns);
	case OPT_SERIES_WINDOW:
		a->series_window = o->value;
		return parse_window("series-window", o->value, &a->series_from_ns,
		                    &a->series_to_ns);
	case OPT_STOP_AT:
		a->stops = true;
		return stop_point_parse(o->value, &a->stop_at);
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
	} file[] = {{"--json", a->json},  {"--csv", a->csv},   {"--folded", a->folded},
	            {"--md", a->md},      {"--html", a->html}, {"--trace", a->trace},
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

bool run_args_parse(struct run_args *a, int argc, char **argv, int *status)
{
	struct options o = {.verb = "quire run",
	                    .spec = spec,
	                    .nr_specs = ARRAY_SIZE(spec),
	                    .args = a,
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

u32 run_args_words(const struct run_args *a, const char **word, char *numbers, u32 nr_seeds)
{
	const struct {
		const char *name;
		const char *value;
	} one[] = {{"--variant", a->variants},
	           {"--machine", a->machine},
	           {"--kernel", a->kernel},
	           {"--series-window", a->series_window}};
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

void run_args_init(struct run_args *a)
{
	*a = (struct run_args){
		.on = {target_by_name("sim")},
		.nr_on = 1,
		.seed = 1,
		.jobs = (u64)max(sysconf(_SC_NPROCESSORS_ONLN), 1L),
		.cpu_seconds = CPU_SECONDS,
	};
}

void run_args_free(struct run_args *a)
{
	vary_free(&a->vary);
	results_free(&a->made);
}
