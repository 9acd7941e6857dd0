/*
 * A published experiment beside its simulation: figures, ratios, errors, claims, sensitivity.
 *
 * Every published figure stands beside ours, right or wrong. At most one may have been fitted;
 * it is marked, and all others are predictions.
 */
#ifndef REPORT_PUBLISHED_H
#define REPORT_PUBLISHED_H

#include <jansson.h>
#include <stdio.h>

#include "report/results.h"

struct figure {
	const char *variant;
	const char *metric; /* "user", "sys", "elapsed", or a counter */
	const char *unit;   /* "s", "1" */
	double published;
	bool fitted;

	/* The rest is filled in by experiment_judge(). */
	struct summary simulated;
	double published_ratio; /* to the baseline's figure of this metric; 0: it has none */
	double ratio;
	double ratio_lo;
	double ratio_hi;
	double error;       /* simulated / published - 1 */
	double ratio_error; /* ratio / published_ratio - 1 */
};

enum claim_kind {
	CLAIM_VALUE,   /* metric of @of */
	CLAIM_RATIO,   /* metric of @of / metric of @to */
	CLAIM_PENALTY, /* what is left in @of of how much worse @from is than @to:
	                * (of - to) / (from - to) */
};

/* A column by its variant and point. */
struct claim_side {
	const char *variant;
	const char *point; /* "": as published */
};

/* Something that must come out if the mechanism is right: a value between bounds. */
struct claim {
	const char *text;
	enum claim_kind kind;
	const char *metric;
	struct claim_side of;
	struct claim_side to;
	struct claim_side from;
	double lo;
	double hi;
};

enum verdict {
	VERDICT_NOT_RUN,
	VERDICT_HOLDS,
	VERDICT_WEAK, /* holds in the mean, but both sides of the bound are in the interval */
	VERDICT_FAILS,
};

struct claim_result {
	enum verdict verdict;
	double value;
	double lo; /* interval; equal to the value where there is none */
	double hi;
};

/* What a mail says of several runs of a variant, where it says more than the mean. */
struct spread {
	const char *metric; /* those of one metric follow each other */
	const char *variant;
	struct summary published;
};

/* What half or twice a constant does to a ratio. */
struct sensitivity {
	char *constant; /* "cost.page_clear" */
	char *source;   /* "assumed: ..." */
	u64 value;
	char *figure; /* "lazy.elapsed" */
	double ratio; /* at @value, with the same seeds */
	double half;  /* with half the value; 0: not run */
	double twice;
	double noise; /* the part of it by which such ratios differ by their seeds alone, in 95 of 100 cases */
};

struct experiment {
	const char *name;
	const char *source;   /* who published it, where and when */
	const char *fitted;   /* "dontneed.elapsed"; NULL: nothing */
	const char *constant; /* what was fitted to it */
	const char *baseline; /* variant */
	u32 nr_figures;
	struct figure *figure;
	u32 nr_claims;
	const struct claim *claim;
	struct claim_result *result; /* [nr_claims] */
	u32 nr_spreads;
	const struct spread *spread;
	u32 nr_predictions; /* metrics of which the mail says nothing */
	const char *const *prediction;
	u32 nr_notes;
	const char *const *note;
	u32 nr_sets; /* settings by which this differs from the experiment as declared */
	const char *const *set;
	struct results results;
	bool sensitivity_run;
	u32 nr_seeds_sensitivity;
	u32 nr_constants;   /* that were tried: all that take ... */
	double least_share; /* ... this much of the busy time */
	u32 nr_sensitivities;
	struct sensitivity
		*sensitivity; /* those beyond SENSITIVITY_SHOWN, and beyond their noise */
	u32 nr_within_noise;  /* beyond SENSITIVITY_SHOWN only */
};

#define SENSITIVITY_SHOWN 0.10

/* Fills in what the results say about figures and claims. */
void experiment_judge(struct experiment *e);

void experiment_print(FILE *f, const struct experiment *e);

void experiment_print_spreads(FILE *f, const struct experiment *e);     /* published_spread.c */
void experiment_print_predictions(FILE *f, const struct experiment *e); /* the same */

/* An element of experiments[]. */
json_t *experiment_json(const struct experiment *e);

#endif
