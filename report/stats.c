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

/*
 * Sums of every choice of signs of @n values; 2^n of them. The first has all signs as they are.
 */
static void signed_sums(const double *d, u32 n, double *sum)
{
	sum[0] = 0;
	for (u32 i = 0; i < n; i++) {
		for (u32 k = 0; k < BIT(i); k++) {
			sum[BIT(i) + k] = sum[k] - d[i];
			sum[k] += d[i];
		}
	}
}

/* How many of @sum[@n], sorted, are less than @x. */
static u32 nr_below(const double *sum, u32 n, double x)
{
	u32 lo = 0;

	while (n > lo) {
		u32 mid = lo + (n - lo) / 2;

		if (sum[mid] < x)
			lo = mid + 1;
		else
			n = mid;
	}
	return lo;
}

/*
 * Of the 2^n sums, how many are at least @bound away from 0: each is one of the first half's plus
 * one of the second's, so the second's are sorted and looked up. Flipping all signs gives the
 * negative sum, so what is far below is counted by what is far above.
 */
static u64 nr_far(const double *d, u32 n, double bound)
{
	double left[1u << (SIGN_FLIP_EXACT / 2)];
	double right[1u << (SIGN_FLIP_EXACT / 2)];
	u32 n_left = n / 2;
	u32 n_right = n - n_left;
	u64 far = 0;

	signed_sums(d, n_left, left);
	signed_sums(d + n_left, n_right, right);
	sort_stable(right, BIT(n_right), sizeof(*right), compare_doubles, NULL);
	if (bound <= 0)
		return BIT(n);
	for (u32 i = 0; i < BIT(n_left); i++)
		far += BIT(n_right) - nr_below(right, (u32)BIT(n_right), bound - left[i]);
	return 2 * far;
}

#define SIGNS_AT_ONCE 8

/* Eight signs are drawn as one byte, which finds their sum in a table. */
static double sampled_p(const double *d, u32 n, double bound, u64 seed)
{
	u32 nr_tables = DIV_ROUND_UP(n, SIGNS_AT_ONCE);
	double(*table)[1 << SIGNS_AT_ONCE] = calloc(nr_tables, sizeof(*table));
	struct rand_stream r;
	u32 far = 1; /* the observed signs are one of the flips */

	if (!table)
		panic("out of host memory for %u values", n);
	for (u32 i = 0; i < nr_tables; i++)
		signed_sums(d + i * SIGNS_AT_ONCE, min_t(u32, n - i * SIGNS_AT_ONCE, SIGNS_AT_ONCE),
		            table[i]);
	rand_init(&r, seed, 0x7374a751, n);
	for (u32 i = 1; i < SIGN_FLIP_DRAWS; i++) {
		double sum = 0;
		u64 signs = 0;

		for (u32 k = 0; k < nr_tables; k++, signs >>= SIGNS_AT_ONCE) {
			u32 nr = min_t(u32, n - k * SIGNS_AT_ONCE, SIGNS_AT_ONCE);

			if (k % (64 / SIGNS_AT_ONCE) == 0)
				signs = rand_u64(&r);
			sum += table[k][signs & (BIT(nr) - 1)];
		}
		far += fabs(sum) >= bound;
	}
	free(table);
	return (double)far / SIGN_FLIP_DRAWS;
}

double sign_flip_p(const double *d, u32 n, u64 seed)
{
	double sum = 0;
	double size = 0;
	double bound;

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
	return (double)nr_far(d, n, bound) / (double)BIT(n);
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

/* ---- intervals --------------------------------------------------------------------------------- */

/*
 * The share of draws that lies outside the interval, on each side. The percentiles of resampled
 * means are too near to each other where values are few, by the factor sqrt(n / (n - 1)) and
 * by what Student's t is wider than the normal distribution; so those are taken that would give
 * the t interval if the values were normal (T. Hesterberg, "What Teachers Should Know About the
 * Bootstrap", 2015: expanded percentiles).
 */
static double tail_of(u32 n)
{
	double z = sqrt(n / (n - 1.0)) * stat_t95(n - 1);

	return erfc(z / sqrt(2)) / 2;
}

static void bounds(double *v, u32 n, double *lo, double *hi)
{
	u32 outside = (u32)(tail_of(n) * BOOTSTRAP_DRAWS);

	sort_stable(v, BOOTSTRAP_DRAWS, sizeof(*v), compare_doubles, NULL);
	*lo = v[outside];
	*hi = v[BOOTSTRAP_DRAWS - 1 - outside];
}

/* Pairs are drawn, with replacement, so what the seeds share stays in both. */
static void bootstrap(const double *base, const double *value, u32 n, u64 seed,
                      struct comparison *c)
{
	double *diff = malloc(sizeof(*diff) * 2 * BOOTSTRAP_DRAWS);
	double *ratio;
	struct rand_stream r;

	if (!diff)
		panic("out of host memory for %d draws", BOOTSTRAP_DRAWS);
	ratio = diff + BOOTSTRAP_DRAWS;
	rand_init(&r, seed, 0x7374b007, n);
	for (u32 i = 0; i < BOOTSTRAP_DRAWS; i++) {
		double b = 0;
		double v = 0;

		for (u32 k = 0; k < n; k++) {
			u32 pair = (u32)rand_below(&r, n);

			b += base[pair];
			v += value[pair];
		}
		diff[i] = (v - b) / n;
		/* None of the pairs drawn has anything on one side. */
		ratio[i] = b != 0 ? v / b : v == 0 ? c->ratio : INFINITY;
	}
	bounds(diff, n, &c->diff_lo, &c->diff_hi);
	if (c->base != 0)
		bounds(ratio, n, &c->ratio_lo, &c->ratio_hi);
	free(diff);
}

/* J(df) takes the bias of small samples out; the pooled spread is that of both sides. */
static double hedges_g(const double *base, const double *value, u32 n, double diff)
{
	double b = std_of(base, n, mean_of(base, n));
	double v = std_of(value, n, mean_of(value, n));
	double pooled = sqrt((b * b + v * v) / 2);
	double df = 2.0 * n - 2;

	if (diff == 0)
		return 0;
	if (n < 2 || pooled == 0)
		return NAN;
	return diff / pooled * (1 - 3 / (4 * df - 1));
}

void compare_pairs(const double *base, const double *value, u32 n, u64 seed, struct comparison *c)
{
	double *d = copy_of(value, n);

	*c = (struct comparison){.n = n, .base = mean_of(base, n), .value = mean_of(value, n)};
	for (u32 i = 0; i < n; i++)
		d[i] -= base[i];
	c->diff = c->diff_lo = c->diff_hi = mean_of(d, n);
	if (c->base != 0)
		c->ratio = c->ratio_lo = c->ratio_hi = c->value / c->base;
	c->g = hedges_g(base, value, n, c->diff);
	c->p = sign_flip_p(d, n, seed);
	c->judged = n >= SIGNIFICANT_PAIRS;
	c->significant = c->judged && c->p < SIGNIFICANT_P;
	if (n >= 2)
		bootstrap(base, value, n, seed, c);
	free(d);
}

bool geometric_mean(const struct comparison *c, u32 n, double *mean, double *lo, double *hi)
{
	double sum = 0;
	double below = 0; /* squares of the distances to each bound */
	double above = 0;

	for (u32 i = 0; i < n; i++) {
		if (!(c[i].ratio > 0 && c[i].ratio_lo > 0 && isfinite(c[i].ratio_hi)))
			return false;
		sum += log(c[i].ratio);
		below += pow(log(c[i].ratio / c[i].ratio_lo), 2);
		above += pow(log(c[i].ratio_hi / c[i].ratio), 2);
	}
	if (!n)
		return false;
	*mean = exp(sum / n);
	*lo = *mean * exp(-sqrt(below) / n);
	*hi = *mean * exp(sqrt(above) / n);
	return true;
}
