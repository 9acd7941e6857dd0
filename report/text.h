/*
 * Results as text that can be pasted into a mail.
 *
 * A group is what stands beside each other in one table: columns of the same results, the baseline
 * first. text_run() prints everything about a command's results and is made of the others.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdio.h>

#include "report/results.h"

#define TEXT_GROUP_MAX 64 /* a scenario has at most 64 variants */

struct text_group {
	const struct results *r;
	u32 nr;
	const struct result_column *column[TEXT_GROUP_MAX];
};

/* The whole report of `quire run`. */
void text_run(FILE *f, const struct results *r);

/* The scenario and its first words about itself. */
void text_title(FILE *f, const struct results *r);

/* "6.78user 234.09system 0:48.89elapsed" per column, means if there are several seeds. */
void text_times(FILE *f, const struct text_group *g);

/* records, avg, std, max, min and median of @metric (in s). */
void text_records(FILE *f, const struct text_group *g, const char *metric);

/* Ratios of elapsed, sys and user to the baseline with confidence intervals and p. */
void text_ratios(FILE *f, const struct text_group *g);

/* Their differences in seconds, with intervals, and in standard deviations. */
void text_differences(FILE *f, const struct text_group *g);

/* What mmtests derives from the counters of reclaim, under its names. */
void text_derived(FILE *f, const struct text_group *g);

/* Events that happened in any column, with their change against the baseline; then amounts. */
void text_counters(FILE *f, const struct text_group *g);

/* The spans that took most of the CPUs' time. Columns without a ledger are left out. */
void text_spans(FILE *f, const struct text_group *g, u32 nr_rows);

void text_locks(FILE *f, const struct text_group *g, u32 nr_rows);
void text_latencies(FILE *f, const struct text_group *g);

/* Broken runs, killed and failed tasks, the targets' notes. */
void text_notes(FILE *f, const struct text_group *g);

/*
 * What a reader must know about the statistics of @nr_pairs repetitions, of several columns that are
 * @compared or of one. Up to three lines.
 */
void text_statistics_note(FILE *f, u32 nr_pairs, bool compared, bool simulated);

/*
 * What is varied down the side, variants across, a table for each time and for what reclaim did.
 * Ratios are to the first variant at the same point, or of one variant to its first point.
 */
void text_sweep(FILE *f, const struct results *r, const char *target);

/* The same variant on two targets: both values and the error of the first. */
void text_sides(FILE *f, const struct results *r, const struct result_column *sim,
                const struct result_column *host);

/* Whether the two targets give the same answer: which variants are faster than the first. */
void text_sides_verdict(FILE *f, const struct results *r, const char *point);

/* Seconds with digits that fit their size: "0.00123", "1.234", "48.89". */
char *text_seconds(char *buf, double s);

/*
 * @path[@this] in about @room characters. Paths get long: their ends say what, and their first name
 * says whose time it is. More of the beginning is shown, and @room exceeded, where two of the @n
 * would look the same.
 */
void text_path(char *out, size_t size, const char *const *path, u32 n, u32 this, size_t room);

/*
 * Why @c took another time than @base: the spans that took or gave time, by kind of task, adding
 * up exactly to the difference of elapsed time on all CPUs; then the locks and latencies that moved.
 * The two may be of different results that have the same seeds.
 */
void text_why(FILE *f, const struct results *rb, const struct result_column *base,
              const struct results *rv, const struct result_column *c);

#endif
