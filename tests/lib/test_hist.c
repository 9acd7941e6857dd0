/*
 * Aim: lib/hist.c.
 * Method: bucket edges in full; random values against a sorted array.
 */
#include "tests/test.h"

#include "lib/hist.h"
#include "lib/sort.h"

TEST(buckets_cover_every_value_once)
{
	u64 next = 0;

	for (u32 i = 0; i < HIST_BUCKETS; i++) {
		u64 low = hist_bucket_low(i);
		u64 high = hist_bucket_high(i);

		assert_int_equal(low, next);
		assert_true(high >= low);
		assert_int_equal(hist_index(low), i);
		assert_int_equal(hist_index(high), i);
		assert_int_equal(hist_index(low + (high - low) / 2), i);
		assert_true((high - low) / 16 <= low / 16 / 16 + 1); /* at most 1/16 wide */
		next = high + 1;
	}
	assert_int_equal(next, 0); /* the last bucket ends at 2^64 - 1 */
}

static int cmp_u64(const void *a, const void *b, void *arg)
{
	u64 x = *(const u64 *)a;
	u64 y = *(const u64 *)b;

	(void)arg;
	return (x > y) - (x < y);
}

static void compare(const struct hist *h, u64 *values, u64 n)
{
	u64 sum = 0;

	sort_stable(values, n, sizeof(*values), cmp_u64, NULL);
	for (u64 i = 0; i < n; i++)
		sum += values[i];
	assert_int_equal(h->count, n);
	assert_int_equal(h->sum, sum);
	assert_int_equal(hist_min(h), values[0]);
	assert_int_equal(hist_max(h), values[n - 1]);
	assert_int_equal(hist_mean(h), sum / n);
	for (u32 bp = 0; bp <= 10000; bp += 10) {
		u64 rank = DIV_ROUND_UP(n * bp, 10000);
		u64 exact = values[rank ? rank - 1 : 0];
		u64 got = hist_percentile(h, bp);

		assert_true(got >= exact);
		assert_true(got - exact <= exact / 16);
	}
	assert_int_equal(hist_percentile(h, 0), values[0]);
	assert_int_equal(hist_percentile(h, 10000), values[n - 1]);
}

TEST(percentiles_are_within_a_sixteenth)
{
	static u64 values[4000];
	struct rand_stream r;

	rand_init(&r, test_seed(), 1, 0);
	for (u64 n = 1; n <= 2000; n = n * 3 + 1) {
		struct hist a, b;
		u64 nr = 0;

		hist_init(&a);
		hist_init(&b);
		for (u64 i = 0; i < n; i++) {
			/* All magnitudes, but small enough for the sum to fit. */
			u64 v = rand_u64(&r) >> (12 + rand_below(&r, 52));

			hist_add(rand_chance(&r, 1, 2) ? &a : &b, v);
			values[nr++] = v;
		}
		hist_merge(&a, &b);
		compare(&a, values, nr);
		hist_add_nr(&a, 77, n);
		for (u64 i = 0; i < n; i++)
			values[nr++] = 77;
		compare(&a, values, nr);
	}
}

TEST(an_empty_histogram_says_zero)
{
	struct hist empty = {0};
	struct hist one = {0};

	assert_int_equal(hist_percentile(&empty, 5000), 0);
	assert_int_equal(hist_min(&empty), 0);
	assert_int_equal(hist_max(&empty), 0);
	assert_int_equal(hist_mean(&empty), 0);
	hist_add_nr(&empty, 9, 0);
	assert_int_equal(empty.count, 0);
	hist_add(&one, UINT64_MAX);
	hist_merge(&one, &empty);
	assert_int_equal(hist_min(&one), UINT64_MAX);
	hist_merge(&empty, &one);
	assert_int_equal(hist_min(&empty), UINT64_MAX);
	assert_int_equal(hist_percentile(&empty, 1), UINT64_MAX);
	assert_panics("bp > 10000", hist_percentile(&one, 10001));
}

TEST_MAIN("hist")
