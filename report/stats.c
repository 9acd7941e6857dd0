/*
 * Statistics of a few repetitions. See stats.h.
 */
#include "report/stats.h"

#include <math.h>
#include <stdlib.h>

#include "lib/bug.h"
#include "lib/random.h"
#include "lib/sort.h"

static int compare_doubles(const void *a, const void *b, void *arg)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	(void)arg;
	return (x > y) - (x < y);
}

static double mean_of(const double *v, u32 n)
{
	double sum = 0;

	for (u32 i = 0; i < n; i++)
		sum += v[i];
	return n ? sum / n : 0;
}

/* Of a sample. Two passes, because values differ little beside their size. */
static double std_of(const double *v, u32 n, double mean)
{
	double sum = 0;

	if (n < 2)
		return 0;
	for (u32 i = 0; i < n; i++)
		sum += (v[i] - mean) * (v[i] - mean);
	return sqrt(sum / (n - 1));
}

static double *copy_of(const double *v, u32 n)
{
	double *copy = malloc(sizeof(*copy) * (n ? n : 1));

	if (!copy)
		panic("out of host memory for %u values", n);
	for (u32 i = 0; i < n; i++)
		copy[i] = v[i];
	return copy;
}

void summarise(const double *v, u32 n, struct summary *s)
{
	double *sorted;

	*s = (struct summary){.n = n};
	if (!n)
		return;
	sorted = copy_of(v, n);
	sort_stable(sorted, n, sizeof(*sorted), compare_doubles, NULL);
	s->mean = mean_of(v, n);
	s->std = std_of(v, n, s->mean);
	s->min = sorted[0];
	s->max = sorted[n - 1];
	s->median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
	free(sorted);
}

double summary_std_percent(const struct summary *s)
{
	return s->mean != 0 ? 100 * s->std / fabs(s->mean) : 0;
}

double stat_t95(u32 df)
{
	/* Any table of the distribution; the 97.5 % column, for one side. */
	static const double t[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
	                           2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
	                           2.120, 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
	                           2.064, 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};

	if (df < ARRAY_SIZE(t))
		return t[df];
	/* Cornish-Fisher around the normal quantile z: z + (z^3 + z) / 4df +
	 * (5 z^5 + 16 z^3 + 3 z) / 96df^2. */
	return 1.95996 + 2.37227 / df + 2.8225 / df / df;
}

/* Whether the sum of @d with the signs in @flips is at least @bound away from 0. */
static bool flipped_is_far(const double *d, u32 n, const u64 *flips, double bound)
{
	double sum = 0;

	for (u32 i = 0; i < n; i++)
		sum += flips[i / 64] >> (i % 64) & 1 ? -d[i] : d[i];
	return fabs(sum) >= bound;
}

static double sampled_p(const double *d, u32 n, double bound, u64 seed)
{
	const u32 draws = 1u << SIGN_FLIP_EXACT;
	u32 words = DIV_ROUND_UP(n, 64);
	u64 *flips = calloc(words, sizeof(*flips));
	struct rand_stream r;
	u32 far = 1; /* the observed signs are one of the flips */

	if (!flips)
		panic("out of host memory for %u values", n);
	rand_init(&r, seed, 0x7374a751, n);
	for (u32 i = 1; i < draws; i++) {
		for (u32 w = 0; w < words; w++)
			flips[w] = rand_u64(&r);
		far += flipped_is_far(d, n, flips, bound);
	}
	free(flips);
	return (double)far / draws;
}

double sign_flip_p(const double *d, u32 n, u64 seed)
{
	double sum = 0;
	double size = 0;
	double bound;
	u64 far = 0;

	for (u32 i = 0; i < n; i++) {
		sum += d[i];
		size += fabs(d[i]);
	}
	if (size == 0)
		return 1;
	/* Sums that are equal on paper may differ in their last digits. */
	bound = fabs(sum) - size * 1e-12;
	if (n > SIGN_FLIP_EXACT)
		return sampled_p(d, n, bound, seed);
	for (u64 flips = 0; flips < BIT(n); flips++)
		far += flipped_is_far(d, n, &flips, bound);
	return (double)far / (double)BIT(n);
}

double sign_flip_p_min(u32 n)
{
	return n ? ldexp(2, -(int)n) : 1;
}

double relative_error(double a, double b)
{
	if (b == 0)
		return a == 0 ? 0 : INFINITY;
	return a / b - 1;
}

void compare_pairs(const double *base, const double *value, u32 n, u64 seed, struct comparison *c)
{
	double *d = copy_of(value, n);
	double half = 0;

	*c = (struct comparison){.n = n, .base = mean_of(base, n), .value = mean_of(value, n)};
	for (u32 i = 0; i < n; i++)
		d[i] -= base[i];
	c->p = sign_flip_p(d, n, seed);
	c->judged = n >= SIGNIFICANT_PAIRS;
	c->significant = c->judged && c->p < SIGNIFICANT_P;
	if (c->base != 0) {
		c->ratio = c->value / c->base;
		for (u32 i = 0; i < n; i++)
			d[i] = value[i] - c->ratio * base[i];
		if (n >= 2)
			half = stat_t95(n - 1) * std_of(d, n, mean_of(d, n)) / sqrt(n) /
			       fabs(c->base);
	}
	c->ratio_lo = c->ratio - half;
	c->ratio_hi = c->ratio + half;
	free(d);
}
