/*
 * What a command ran: columns, each a variant under one setting of the varied knobs on one target,
 * with one record per seed. The i-th records of all columns have the same seed, so they are pairs.
 */
#ifndef REPORT_RESULTS_H
#define REPORT_RESULTS_H

#include "report/config.h"
#include "report/record.h"
#include "report/stats.h"

struct result_column {
	char *variant; /* "" if the scenario has none */
	char *point;   /* the varied settings: "vm.swappiness=10 ram=3G"; "" if nothing is varied */
	char *target;  /* "sim", "host" */
	struct run_record *record; /* [results.nr_seeds] */
	struct config config;      /* every effective value and where it came from */
	char *profile_hash;        /* of the machine profile's file; NULL: not known */
};

/* What --vary varied, and its values in order. */
struct result_axis {
	char *name; /* "machine.ram" */
	u32 nr_values;
	char **value;
};

/* A point at which nothing could be run. */
struct result_hole {
	char *point;
	char *error;
};

struct results {
	char *scenario;      /* path */
	char *title;         /* one line on what it is; "" */
	char *scenario_hash; /* of the file; NULL: not known */
	char *commit;        /* of the Quire that ran it; NULL: of this one */
	char *sources;       /* the hash of its sources; NULL: the same */
	u32 nr_words; /* what follows `quire run SCENARIO` to run it again: "--set", "a=b" ... */
	char **word;
	u32 nr_seeds;
	u64 *seed;
	u32 nr_columns;
	struct result_column *column;
	bool zip; /* the axes went in step; else their product was run */
	u32 nr_axes;
	struct result_axis *axis;
	u32 nr_holes;
	struct result_hole *hole;
};

void result_axis_free(struct result_axis *a);

void results_free(struct results *r);

/* A broken run's record has a status; the others count. */
bool column_all_ran(const struct results *r, const struct result_column *c);

/*
 * The values of @metric in @c, of the seeds that ran and have it, to @v[nr_seeds]; returns how many
 * there are.
 */
u32 column_values(const struct results *r, const struct result_column *c, const char *metric,
                  double *v);

void column_summary(const struct results *r, const struct result_column *c, const char *metric,
                    struct summary *s);

/* Whether any run of @c has @metric: other kernels have other counters. */
bool column_has(const struct results *r, const struct result_column *c, const char *metric);

/* Compares @c with @base over the seeds with which both ran and have the metric. */
void column_compare(const struct results *r, const struct result_column *base,
                    const struct result_column *c, const char *metric, struct comparison *out);

/* The same between two results that have the same seeds. */
void columns_compare(const struct results *rb, const struct result_column *base,
                     const struct results *rv, const struct result_column *c, const char *metric,
                     struct comparison *out);

/*
 * One record that stands for the column: counters, spans, locks and costs averaged over the seeds
 * that ran; percentiles averaged, histograms added up and maxima taken; notes of the first; no series. False if none ran.
 * For record_free().
 */
bool column_mean(const struct results *r, const struct result_column *c, struct run_record *mean);

/* The first column with this variant, point and target (NULL: any), or NULL. */
const struct result_column *results_find(const struct results *r, const char *variant,
                                         const char *point, const char *target);

/*
 * What heads a column among others: "lazy", "10", "lazy 10 host" ... only that in which they
 * differ. column_label(): among all of the results.
 */
void column_label_among(const struct result_column *const *among, u32 nr,
                        const struct result_column *c, char *buf, size_t n);
void column_label(const struct results *r, const struct result_column *c, char *buf, size_t n);

/* Time of all CPUs that a record's ledger calls idle, and all others. */
void record_cpu_time(const struct run_record *r, u64 *busy_ns, u64 *idle_ns);

#endif
