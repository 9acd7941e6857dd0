/*
 * Many runs: cells (a scenario's variant on a target) times seeds, as struct results.
 */
#ifndef CLI_BATCH_H
#define CLI_BATCH_H

#include "load/scenario.h"
#include "report/results.h"

struct state;
struct vary;

struct batch_cell {
	struct scenario *s;
	u32 variant;
	const char *point; /* the varied settings; "" */
	const struct target_ops *ops;
};

struct batch {
	const char *path;  /* of the scenario, as the user gave it */
	const char *again; /* options that a repetition of one run needs, with a leading space */
	u32 nr_words;      /* options by which `quire run` does all of this again */
	const char *const *word;
	const struct vary *vary; /* what the cells' points are of; NULL: there are none */
	u32 nr_holes;            /* points that could not be loaded; batch_run() takes them */
	struct result_hole *hole;
	struct state *state; /* what has been run already, or NULL */
	u32 nr_cells;
	const struct batch_cell *cell;
	u32 nr_seeds;
	u64 seed; /* the first; then seed + 1 ... */
	u32 nr_parallel;
	u32 cpu_seconds;
	bool check;
	bool quiet;
	bool heat;     /* each cell's first run says what memory was touched when */
	u32 nr_slices; /* of each cell's first run, for a trace; 0: none */
	u64 trace_from_ns;
	u64 trace_to_ns;
	u64 series_from_ns; /* time series of a part of the run; to 0: of all of it */
	u64 series_to_ns;
	const char *proc_dir; /* NULL; else /proc files of each cell's first run go there */
};

/*
 * Runs everything; @out is filled in any case, and is for results_free(). Returns an exit code
 * (enum cli_exit) after saying what went wrong: the worst of all runs, where wrong input or an
 * unable host ends the batch. Does not return if this process is told to end by a signal.
 */
int batch_run(const struct batch *b, struct results *out);

/* The options that decide about a run's result, each after a space; for batch.again and free(). */
char *again_options(const char *const *set, u32 nr_sets, const char *machine, const char *kernel,
                    bool check);

/* Every effective value of a cell's runs and where it came from; for config_free(). */
void batch_config(const struct batch_cell *c, struct config *config);

/* Of the profile's file and those of its bases. For free(). */
char *batch_profile_hash(const struct profile *p);

/* Whether the target can be named at --on; its operations, or NULL. */
const struct target_ops *target_by_name(const char *name);
extern const char *const target_names[];
extern const u32 nr_target_names;

/* What load/ asks about knobs and counters. */
extern const struct load_names cli_load_names;

/*
 * scenario_load(), bounded: a file that takes longer than any scenario does ends the program with an
 * error.
 */
int cli_scenario_load(const char *path, const struct scenario_options *opt, struct scenario **out,
                      char *err);

/* machines/ of the data directory, for scenario_options. */
profile_dirs cli_machine_dirs(void);

#endif
