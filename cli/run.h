/*
 * quire run's own: its command line (run_args.c), what that makes to be run (run_plan.c), and running it
 * (run.c).
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <limits.h>

#include "cli/batch.h"
#include "cli/stop.h"
#include "cli/vary.h"

#define SETTINGS_MAX 256

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
	const char *from_machine; /* as the result has it: --machine wins over that */
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
	const char *series_window; /* as given; NULL: the whole run */
	u64 series_from_ns;
	u64 series_to_ns;
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

/* What is run if nothing else is said. */
void run_args_init(struct run_args *a);
void run_args_free(struct run_args *a);

/* Ends with an exit code in @status if there is nothing to run. */
bool run_args_parse(struct run_args *a, int argc, char **argv, int *status);

/* The scenario and the options of the result in @path. They stay in a->made. */
bool run_args_from(struct run_args *a, const char *path);

/*
 * The options that decide about the results, for --from, to @word; how many. The texts live as long as @a
 * and @numbers (64 bytes).
 */
u32 run_args_words(const struct run_args *a, const char **word, char *numbers, u32 nr_seeds);
#define RUN_WORDS_MAX (2 * SETTINGS_MAX + 2 * VARY_MAX + 16)

/* False after saying what is wrong: nothing of it can be run. Either way for run_plan_free(). */
bool run_plan_make(const struct run_args *a, struct run_plan *p);
void run_plan_free(struct run_plan *p);

#endif
