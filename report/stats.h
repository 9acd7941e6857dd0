/*
 * Statistics of a few repetitions.
 *
 * Repetitions are paired by seed: the i-th value of a variant and of its baseline come from the
 * same seed. Nothing is assumed about how values are distributed where it can be avoided: the test
 * for a difference is a permutation test, and confidence intervals come from resampling the pairs.
 */
#ifndef REPORT_STATS_H
#define REPORT_STATS_H

#include "lib/types.h"

struct summary {
	u32 n;
	double mean;
	double std; /* of a sample: n - 1; 0 if n < 2 */
	double min;
	double max;
	double median;
};

void summarise(const double *v, u32 n, struct summary *s);

/* std in percent of the mean; 0 if the mean is 0. */
double summary_std_percent(const struct summary *s);

/* Two-sided quantile of Student's t for 95 %: t such that P(|T| <= t) = 0.95. */
double stat_t95(u32 degrees_of_freedom);

/*
 * The two-sided p of "these differences are as often positive as negative": of all ways to flip
 * their signs, the share whose sum is at least as far from 0. Exact up to SIGN_FLIP_EXACT values,
 * 2^20 flips; beyond, from SIGN_FLIP_DRAWS of them drawn with @seed. 1 if all differences are 0.
 */
#define SIGN_FLIP_EXACT 20
#define SIGN_FLIP_DRAWS (1u << 20)
double sign_flip_p(const double *difference, u32 n, u64 seed);

/* The smallest p that @n pairs can give: both all-positive and all-negative. */
double sign_flip_p_min(u32 n);

#define SIGNIFICANT_P 0.05
#define SIGNIFICANT_PAIRS 6 /* 2 / 2^5 is above 0.05, 2 / 2^6 below */

#define BOOTSTRAP_DRAWS 2000

/* A variant against its baseline. */
struct comparison {
	u32 n;       /* pairs */
	double base; /* means */
	double value;
	double diff;    /* value - base */
	double diff_lo; /* 95 % confidence intervals; equal to the figure if n < 2 */
	double diff_hi;
	double ratio; /* value / base; 0 if base is 0 */
	double ratio_lo;
	double ratio_hi;
	double g; /* Hedges' g: the difference in standard deviations; NAN where there are none */
	double p;
	double least; /* a smaller difference is nothing to judge, however sure (set by column_compare()) */
	bool judged; /* enough pairs to call a difference significant at all */
	bool significant;
	bool base_missing; /* a side does not have the metric at all (set by column_compare()) */
	bool value_missing;
};

/*
 * Compare @value with @base, paired. The intervals are percentiles of BOOTSTRAP_DRAWS means of
 * pairs drawn with replacement, widened for small samples. Everything is a function of the
 * arguments.
 */
void compare_pairs(const double *base, const double *value, u32 n, u64 seed, struct comparison *c);

/*
 * The geometric mean of the ratios of @n comparisons of different things, with its interval:
 * their logarithms are independent, so the squares of their distances to the bounds add up.
 * False if one of them has no ratio.
 */
bool geometric_mean(const struct comparison *c, u32 n, double *mean, double *lo, double *hi);

/* @a / @b - 1: the error of @a if @b is right. 0 if both are 0, infinite if only @b is. */
double relative_error(double a, double b);

#endif
