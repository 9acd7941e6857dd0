/*
 * A histogram of 64-bit values, made for latencies: buckets grow with the value.
 *
 * Values below 16 have a bucket each; above, every power of two is cut into 16
 * equal parts, so a bucket is at most 1/16 as wide as its lowest value. Count,
 * sum, min and max are exact. A zeroed struct is an empty histogram.
 */
#ifndef LIB_HIST_H
#define LIB_HIST_H

#include "lib/types.h"

#define HIST_SUB_BITS 4
#define HIST_SUB (1u << HIST_SUB_BITS)
#define HIST_BUCKETS ((64 - HIST_SUB_BITS + 1) * HIST_SUB) /* 976 */

struct hist {
	u64 count;
	u64 sum; /* wraps: in ns, after 584 years of latency */
	u64 min; /* both mean nothing while count is 0: see hist_min() */
	u64 max;
	u64 bucket[HIST_BUCKETS];
};

_Static_assert(sizeof(struct hist) <= 8192, "a histogram is at most two pages");

static __always_inline u32 hist_index(u64 value)
{
	if (value < HIST_SUB)
		return (u32)value;

	u32 shift = ilog2(value) - HIST_SUB_BITS;

	return (shift << HIST_SUB_BITS) + (u32)(value >> shift);
}

/* Smallest and largest value that bucket @i counts. */
static inline u64 hist_bucket_low(u32 i)
{
	if (i < 2 * HIST_SUB)
		return i;

	u32 shift = i / HIST_SUB - 1;

	return (u64)(i % HIST_SUB + HIST_SUB) << shift;
}

static inline u64 hist_bucket_high(u32 i)
{
	return i + 1 < HIST_BUCKETS ? hist_bucket_low(i + 1) - 1 : UINT64_MAX;
}

/* Count @value @nr times. */
static inline void hist_add_nr(struct hist *h, u64 value, u64 nr)
{
	if (!nr)
		return;
	if (!h->count || value < h->min)
		h->min = value;
	if (!h->count || value > h->max)
		h->max = value;
	h->count += nr;
	h->sum += value * nr;
	h->bucket[hist_index(value)] += nr;
}

static inline void hist_add(struct hist *h, u64 value)
{
	hist_add_nr(h, value, 1);
}

void hist_init(struct hist *h);

/* Add everything @from counts to @to. */
void hist_merge(struct hist *to, const struct hist *from);

/*
 * The value that @bp parts in 10,000 of the values do not exceed (nearest rank:
 * 5000 is the median, 9900 the 99th percentile), as the upper edge of its bucket,
 * but never outside [min, max]: 0 gives the minimum, 10000 the maximum, exactly.
 * 0 for an empty histogram.
 */
u64 hist_percentile(const struct hist *h, u32 bp);

/* 0 for an empty histogram. */
static inline u64 hist_min(const struct hist *h)
{
	return h->count ? h->min : 0;
}

static inline u64 hist_max(const struct hist *h)
{
	return h->count ? h->max : 0;
}

static inline u64 hist_mean(const struct hist *h)
{
	return h->count ? h->sum / h->count : 0;
}

#endif
