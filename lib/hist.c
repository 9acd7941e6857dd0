/*
 * Histograms: merging and percentiles. See hist.h.
 */
#include "lib/hist.h"

#include <string.h>

#include "lib/bug.h"

void hist_init(struct hist *h)
{
	memset(h, 0, sizeof(*h));
}

void hist_merge(struct hist *to, const struct hist *from)
{
	if (!from->count)
		return;
	if (!to->count || from->min < to->min)
		to->min = from->min;
	if (!to->count || from->max > to->max)
		to->max = from->max;
	to->count += from->count;
	to->sum += from->sum;

	/* Only buckets between its extremes can hold anything. */
	for (u32 i = hist_index(from->min); i <= hist_index(from->max); i++)
		to->bucket[i] += from->bucket[i];
}

u64 hist_percentile(const struct hist *h, u32 bp)
{
	VM_BUG_ON(bp > 10000);
	if (!h->count)
		return 0;
	if (bp == 0)
		return h->min;

	/* The rank of the value asked for, counted from 1, rounded up. */
	u64 rank = (u64)(((unsigned __int128)h->count * bp + 9999) / 10000);
	u64 seen = 0;

	for (u32 i = hist_index(h->min); i <= hist_index(h->max); i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			return clamp(hist_bucket_high(i), h->min, h->max);
	}
	panic("histogram counts %lu values but holds %lu", h->count, seen);
}
