/*
 * quire list: what there is to choose from.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/batch.h"
#include "cli/cli.h"
#include "core/knobs.h"
#include "core/vmstat.h"
#include "load/profile.h"
#include "load/scenario.h"
#include "report/grid.h"
#include "report/metric.h"
#include "world/cost.h"

/* ---- files ------------------------------------------------------------------------------------ */

/* @about is the file's, or what is wrong with it. */
static void print_about(const char *name, const char *about)
{
	char first[64];
	char line[512];

	about = about ? about + strspn(about, " \t\n") : "";
	snprintf(first, sizeof(first), "%-16s ", name);
	snprintf(line, sizeof(line), "%s", about);
	for (char *p = line; (p = strchr(p, '\n'));)
		*p = ' ';
	text_wrap(stdout, first, line, GRID_WIDTH);
}

static void print_scenario(const char *name, const char *path, void *arg)
{
	const struct scenario_options opt = {.names = &cli_load_names,
	                                     .machine_dirs = cli_machine_dirs()};
	char err[TARGET_ERROR_MAX] = "";
	struct scenario *s;

	(void)arg;
	if (cli_scenario_load(path, &opt, &s, err)) {
		print_about(name, err);
		return;
	}
	print_about(name, s->about);
	scenario_free(s);
}

static void print_machine(const char *name, const char *path, void *arg)
{
	char err[TARGET_ERROR_MAX] = "";
	struct profile *p;

	(void)arg;
	if (profile_load(path, true, cli_machine_dirs(), &p, err)) {
		print_about(name, err);
		return;
	}
	print_about(name, p->about);
	profile_free(p);
}

static int list_files(const char *subdir,
                      void (*print)(const char *name, const char *path, void *arg))
{
	int n = data_each(subdir, print, NULL);

	if (n > 0)
		return CLI_OK;
	if (!data_dir())
		cli_error("cannot find the directory that holds %s/; set QUIRE_DATA to it", subdir);
	else if (n == 0)
		cli_error("%s/%s is empty", data_dir(), subdir);
	else
		cli_error("%s/%s: %s", data_dir(), subdir, strerror(-n));
	return CLI_USAGE;
}

static int list_scenarios(const char *only)
{
	(void)only;
	return list_files("scenarios", print_scenario);
}

static int list_machines(const char *only)
{
	(void)only;
	return list_files("machines", print_machine);
}

/* ---- knobs ------------------------------------------------------------------------------------ */

/* The value of the oldest preset, then each preset that has another than the one before it. */
static void print_presets(const struct knob_info *k)
{
	char before[64] = "";
	const char *preset;
	char first[64];
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		abort();
	for (u32 i = 0; (preset = knob_preset_name(i)); i++) {
		struct knobs values;
		char value[64];

		if (knobs_preset(&values, preset))
			continue;
		knob_get(&values, k, value, sizeof(value));
		if (!i)
			fprintf(f, "%s", value);
		else if (strcmp(value, before) != 0)
			fprintf(f, "; from %s: %s", preset, value);
		memcpy(before, value, sizeof(before));
	}
	fclose(f);
	snprintf(first, sizeof(first), "%-34s  ", k->name);
	text_wrap(stdout, first, text, GRID_WIDTH);
	free(text);
}

static void print_values(const struct knob_info *k)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		abort();
	for (u32 i = 0; i < k->nr_values; i++)
		fprintf(f, "%s%s", i ? " | " : "", k->value[i]);
	if (!k->nr_values)
		fprintf(f, "%lu to %lu%s%s", k->min, k->max, *k->unit ? ", in " : "", k->unit);
	fclose(f);
	text_wrap(stdout, "    ", text, GRID_WIDTH);
	free(text);
}

static void print_knob(const struct knob_info *k)
{
	print_presets(k);
	print_values(k);
	text_wrap(stdout, "    ", k->doc, GRID_WIDTH);
	text_wrap(stdout, "    from: ", k->origin, GRID_WIDTH);
}

static int list_knobs(const char *only)
{
	bool found = false;

	for (u32 i = 0; i < knob_count(); i++) {
		const struct knob_info *k = knob_at(i);

		if (only && strncmp(k->name, only, strlen(only)) != 0)
			continue;
		if (found)
			putchar('\n');
		print_knob(k);
		found = true;
	}
	if (!found) {
		const char *names[512];
		u32 n = min_t(u32, knob_count(), ARRAY_SIZE(names));

		for (u32 i = 0; i < n; i++)
			names[i] = knob_at(i)->name;
		cli_error_near(only, names, n, "no knob begins with \"%s\"", only);
	}
	return found ? CLI_OK : CLI_USAGE;
}

/* ---- kernels ---------------------------------------------------------------------------------- */

/* What changed in preset @i since the one before it, or all of it if @whole; how many knobs. */
static u32 print_kernel(u32 i, bool whole)
{
	struct knobs now;
	struct knobs before;
	u32 n = 0;

	if (knobs_preset(&now, knob_preset_name(i)) ||
	    knobs_preset(&before, knob_preset_name(i ? i - 1 : 0)))
		return 0;
	for (u32 j = 0; j < knob_count(); j++) {
		const struct knob_info *k = knob_at(j);
		char value[64];
		char old[64];

		knob_get(&now, k, value, sizeof(value));
		knob_get(&before, k, old, sizeof(old));
		if (whole)
			printf("  %-34s %s\n", k->name, value);
		else if (strcmp(value, old) != 0)
			printf("  %-34s %s (was %s)\n", k->name, value, old);
		else
			continue;
		n += 1;
	}
	return n;
}

static int list_kernels(const char *only)
{
	const char *name;
	u32 i;

	for (i = 0; (name = knob_preset_name(i)); i++) {
		if (only && strcmp(only, name) != 0)
			continue;
		printf("%s\n", name);
		if (!print_kernel(i, only != NULL))
			printf("  %s\n", i ? "as the one before" : "the oldest");
		if (only)
			return CLI_OK;
	}
	if (only) {
		const char *names[64];
		u32 n = min_t(u32, i, ARRAY_SIZE(names));

		for (i = 0; i < n; i++)
			names[i] = knob_preset_name(i);
		cli_error_near(only, names, n, "no kernel preset is called \"%s\"", only);
		return CLI_USAGE;
	}
	return CLI_OK;
}

/* ---- costs ------------------------------------------------------------------------------------ */

static const struct {
	u32 ns;
	const char *source;
	const char *doc;
} costs[NR_WORLD_COSTS] = {
#define X(name, ns, source, doc) {ns, source, doc},
	WORLD_COSTS(X)
#undef X
};

/* The profile's value and source, where @p has one, else the default's. */
static void print_cost(const struct profile *p, u32 i)
{
	const char *source = p && p->cost_source[i] ? p->cost_source[i] : costs[i].source;
	char name[COST_NAME_MAX];
	char first[64];

	snprintf(first, sizeof(first), "%-18s %6u  ", cost_name(name, i),
	         p ? p->cost_ns[i] : costs[i].ns);
	text_wrap(stdout, first, costs[i].doc, GRID_WIDTH);
	snprintf(first, sizeof(first), "%27s", "");
	text_wrap(stdout, first, source, GRID_WIDTH);
}

static int list_costs(const char *machine)
{
	char err[TARGET_ERROR_MAX] = "";
	struct profile *p = NULL;

	if (machine &&
	    profile_load(machine, strchr(machine, '/') != NULL, cli_machine_dirs(), &p, err)) {
		cli_error("%s", err);
		return CLI_USAGE;
	}
	printf("%-18s %6s  %s\n", machine ? machine : "default", "ns", "what it is; source");
	for (u32 i = 0; i < NR_WORLD_COSTS; i++)
		print_cost(p, i);
	if (p)
		profile_free(p);
	return CLI_OK;
}

/* ---- counters ----------------------------------------------------------------------------------- */

static int list_counters(const char *only)
{
	static const char *const where[NR_VM_ITEMS] = {
#define X(name, text, where) #where,
		VM_ITEMS(X)
#undef X
	};

	static const char *const good[] = {[METRIC_NEUTRAL] = "",
	                                   [METRIC_LESS] = "; less is good",
	                                   [METRIC_MORE] = "; more is good"};
	const struct metric_info *m;
	char made_of[128];

	(void)only;
	for (u32 i = 0; i < NR_VM_ITEMS; i++)
		printf("%-34s %s, kept per %s\n", vm_item_name[i],
		       counter_is_amount(vm_item_name[i]) ? "amount" : "event",
		       strcmp(where[i], "ZONE") == 0 ? "zone" : "node (per zone before 4.8)");
	for (u32 i = 0; i < NR_VM_EVENTS; i++)
		printf("%-34s event\n", vm_event_name[i]);
	printf("\nmmtests' metrics, made of these\n");
	for (u32 i = 0; (m = metric_derived_at(i)); i++) {
		char first[64];
		char text[256];

		snprintf(first, sizeof(first), "%-30s ", m->name);
		snprintf(text, sizeof(text), "%s: %s%s", m->title, metric_made_of(made_of, i),
		         good[m->good]);
		text_wrap(stdout, first, text, GRID_WIDTH);
	}
	return CLI_OK;
}

/* ---- the verb ------------------------------------------------------------------------------------ */

static const struct topic {
	const char *name;
	const char *summary;
	int (*print)(const char *only);
	bool narrows; /* takes a second word */
} topics[] = {
	{"scenarios", "the workloads that come with Quire", list_scenarios, false},
	{"machines", "machine profiles, for --machine", list_machines, false},
	{"kernels", "presets of the knobs, oldest first: what each changed", list_kernels, true},
	{"knobs", "what can be chosen in the memory manager: values, defaults, origin", list_knobs,
         true},
	{"costs", "charged operations: what each takes, and where that comes from", list_costs,
         true},
	{"counters", "/proc/vmstat's counters, and what mmtests makes of them", list_counters,
         false},
};

/* Of words that are no topic the verb speaks itself. */
static bool topic_narrows(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(topics); i++)
		if (strcmp(topics[i].name, name) == 0)
			return topics[i].narrows;
	return false;
}

static void print_help(FILE *f)
{
	fprintf(f, "usage: quire list TOPIC\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(topics); i++)
		fprintf(f, "  %-10s  %s\n", topics[i].name, topics[i].summary);
	fprintf(f, "\n"
	           "examples:\n"
	           "  quire list scenarios\n"
	           "  quire list kernels 4.5          with the value of every knob\n"
	           "  quire list knobs madvise.       only those that begin so\n"
	           "  quire list costs minchan-2015   with the values of that machine\n");
}

int verb_list(int argc, char **argv)
{
	static const struct option_spec spec[] = {{"help", 'h', NULL, "this text", TO_CASE}};
	struct options o = {
		.verb = "quire list", .spec = spec, .nr_specs = 1, .argc = argc, .argv = argv};
	const char *word[2] = {NULL, NULL};
	const char *names[ARRAY_SIZE(topics)];
	int nr_words = 0;
	int opt;

	while ((opt = options_next(&o)) != OPTION_END) {
		if (opt == OPTION_WRONG)
			return CLI_USAGE;
		if (opt == 0) {
			print_help(stdout);
			return CLI_OK;
		}
		if (nr_words == 2 || (nr_words == 1 && !topic_narrows(word[0]))) {
			cli_error("quire list does not know what to do with \"%s\"", o.value);
			return CLI_USAGE;
		}
		word[nr_words++] = o.value;
	}
	if (!nr_words) {
		print_help(stdout);
		return CLI_OK;
	}
	for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
		names[i] = topics[i].name;
		if (strcmp(word[0], topics[i].name) == 0)
			return topics[i].print(word[1]);
	}
	cli_error_near(word[0], names, ARRAY_SIZE(topics), "quire list knows no \"%s\"", word[0]);
	return CLI_USAGE;
}
