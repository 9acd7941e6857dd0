/*
 * Statistics against values computed by hand, and against their own definitions over small spaces.
 */
#include "report/stats.h"

#include <math.h>

#include "lib/random.h"
#include "tests/test.h"

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-4 * fmax(1, fabs(b))))
		fail_msg("%.9g is not %.9g", a, b);
}

TEST(summary_of_a_known_sample)
{
	/* Mean 40/8. Squared deviations 9+1+1+1+0+0+4+16 = 32; sample variance 32/7. */
	const double v[] = {9, 2, 5, 4, 4, 5, 7, 4};
	struct summary s;

	summarise(v, 8, &s);
	assert_int_equal(s.n, 8);
	assert_near(s.mean, 5);
	assert_near(s.std, 2.13809);
	assert_near(summary_std_percent(&s), 42.7618);
	assert_near(s.min, 2);
	assert_near(s.max, 9);
	assert_near(s.median, 4.5); /* between the fourth, 4, and the fifth, 5 */
}

TEST(median_of_an_odd_number_is_the_middle_one)
{
	const double v[] = {3, 1, 2};
	struct summary s;

	summarise(v, 3, &s);
	assert_near(s.median, 2);
}

TEST(one_value_has_no_spread_and_none_has_nothing)
{
	const double v[] = {7};
	struct summary s;

	summarise(v, 1, &s);
	assert_near(s.mean, 7);
	assert_near(s.std, 0);
	assert_near(s.median, 7);
	summarise(NULL, 0, &s);
	assert_int_equal(s.n, 0);
	assert_near(s.mean, 0);
	assert_near(summary_std_percent(&s), 0);
}

TEST(t_quantiles_are_those_of_the_tables)
{
	assert_near(stat_t95(1), 12.706);
	assert_near(stat_t95(7), 2.365);
	assert_near(stat_t95(30), 2.042);
	assert_near(stat_t95(60), 2.0003);
	assert_near(stat_t95(120), 1.9799);
	for (u32 df = 1; df < 200; df++)
		assert_true(stat_t95(df) > stat_t95(df + 1));
}

TEST(sign_flip_counts_flips_at_least_as_far)
{
	/* Sums of +-1 +-2 +-3: 6, 4, 2, 0 and their negatives, two of eight each. */
	const double all[] = {1, 2, 3};    /* 6: only 6 and -6 are as far */
	const double mixed[] = {3, -1, 2}; /* 4: 6, 4 and their negatives */
	const double none[] = {1, 2, -3};  /* 0: every sum is */
	const double zero[] = {0, 0, 0};

	assert_near(sign_flip_p(all, 3, 1), 2.0 / 8);
	assert_near(sign_flip_p(mixed, 3, 1), 4.0 / 8);
	assert_near(sign_flip_p(none, 3, 1), 1);
	assert_near(sign_flip_p(zero, 3, 1), 1);
}

TEST(sign_flip_is_not_fooled_by_the_last_digit)
{
	/* 0.1 + 0.2 is not 0.3, but the flip of all three is as far as they are. */
	const double v[] = {0.1, 0.2, 0.3};

	assert_near(sign_flip_p(v, 3, 1), 2.0 / 8);
}

TEST(smallest_p_is_reached_when_all_differences_have_one_sign)
{
	double v[10];

	for (u32 n = 1; n <= 10; n++) {
		for (u32 i = 0; i < n; i++)
			v[i] = 1 + i;
		assert_near(sign_flip_p(v, n, 1), sign_flip_p_min(n));
	}
	assert_near(sign_flip_p_min(5), 0.0625); /* 2 / 2^5: five pairs can never show anything */
	assert_near(sign_flip_p_min(6), 0.03125);
	assert_true(sign_flip_p_min(SIGNIFICANT_PAIRS - 1) >= SIGNIFICANT_P);
	assert_true(sign_flip_p_min(SIGNIFICANT_PAIRS) < SIGNIFICANT_P);
}

TEST(many_pairs_are_sampled_close_to_the_truth)
{
	double v[24];
	double exact = 0;

	/* Of 24 equal steps, 17 up: sums of at least 10 in size, by the binomial distribution.
	 * C(24, k) for k = 0 .. 7 is 1 24 276 2024 10626 42504 134596 346104; their sum 536155,
	 * twice that of 2^24. */
	for (u32 i = 0; i < 24; i++)
		v[i] = i < 17 ? 1 : -1;
	exact = 2 * 536155.0 / 16777216;
	assert_true(fabs(sign_flip_p(v, 24, test_seed()) - exact) < 0.002);
	/* The same seed gives the same p. */
	assert_true(sign_flip_p(v, 24, 7) == sign_flip_p(v, 24, 7));
}

TEST(the_interval_of_two_pairs_is_their_range)
{
	/* Draws are the first pair twice, the second twice, or both: ratios 18/8, 22/12, 40/20,
	 * differences 10, 10, 10. t(1) is so wide that nothing is left outside. */
	const double base[] = {8, 12};
	const double value[] = {18, 22};
	struct comparison c;

	compare_pairs(base, value, 2, 1, &c);
	assert_near(c.ratio, 2);
	assert_near(c.ratio_lo, 22.0 / 12);
	assert_near(c.ratio_hi, 18.0 / 8);
	assert_near(c.diff, 10);
	assert_near(c.diff_lo, 10);
	assert_near(c.diff_hi, 10);
	assert_near(c.p, 0.5);
	assert_false(c.judged);
	assert_false(c.significant);
}

TEST(the_interval_of_a_mean_is_about_that_of_student)
{
	/* Differences 1 .. 20: mean 10.5, std 5.916, so t(19) = 2.093 gives 10.5 +- 2.769. They are
	 * spread evenly, not normally, and the draws are random: within a tenth of the half width. */
	double base[20];
	double value[20];
	struct comparison c;

	for (u32 i = 0; i < 20; i++) {
		base[i] = 100;
		value[i] = 101 + i;
	}
	compare_pairs(base, value, 20, test_seed(), &c);
	assert_true(fabs(c.diff_lo - (10.5 - 2.769)) < 0.28);
	assert_true(fabs(c.diff_hi - (10.5 + 2.769)) < 0.28);
	assert_near(c.ratio_lo, 1 + c.diff_lo / 100); /* the same draws */
}

TEST(intervals_hold_the_truth_as_often_as_they_say)
{
	/* 400 samples of 8 pairs whose true difference is 0. A right interval misses it 20 times;
	 * by the binomial distribution fewer than 5 or more than 38 times in one of 10,000 tests. */
	struct rand_stream r;
	u32 missed = 0;

	rand_init(&r, test_seed(), 1, 0);
	for (u32 i = 0; i < 400; i++) {
		double base[8];
		double value[8];
		struct comparison c;

		for (u32 k = 0; k < 8; k++) {
			base[k] = 10 + rand_unit(&r) + rand_unit(&r) + rand_unit(&r);
			value[k] = 10 + rand_unit(&r) + rand_unit(&r) + rand_unit(&r);
		}
		compare_pairs(base, value, 8, i, &c);
		missed += c.diff_lo > 0 || c.diff_hi < 0;
	}
	assert_true(missed >= 5 && missed <= 38);
}

TEST(hedges_g_of_a_known_sample)
{
	/* Means 2 and 5, both with variance 1: d = 3; df = 4, J = 1 - 3/15 = 0.8. */
	const double base[] = {1, 2, 3};
	const double value[] = {4, 5, 6};
	const double flat[] = {7, 7, 7};
	struct comparison c;

	compare_pairs(base, value, 3, 1, &c);
	assert_near(c.g, 2.4);
	compare_pairs(flat, flat, 3, 1, &c);
	assert_near(c.g, 0);
	compare_pairs(flat, (const double[]){8, 8, 8}, 3, 1, &c);
	assert_true(isnan(c.g)); /* no spread to measure it by */
}

TEST(every_way_to_count_flips_agrees)
{
	/* The sum over halves against one flip after the other, for every size up to 12. */
	struct rand_stream r;

	rand_init(&r, test_seed(), 2, 0);
	for (u32 n = 1; n <= 12; n++) {
		double d[12];
		double sum = 0;
		u32 far = 0;

		for (u32 i = 0; i < n; i++) {
			d[i] = (double)rand_below(&r, 9) - 4;
			sum += d[i];
		}
		for (u32 flips = 0; flips < BIT(n); flips++) {
			double s = 0;

			for (u32 i = 0; i < n; i++)
				s += flips >> i & 1 ? -d[i] : d[i];
			far += fabs(s) >= fabs(sum);
		}
		assert_near(sign_flip_p(d, n, 1), (double)far / (double)BIT(n));
	}
}

TEST(the_geometric_mean_of_ratios_is_that_of_their_logarithms)
{
	/* sqrt(2 x 8) = 4. Both bounds are a factor e away, so the mean's is e^(sqrt(2)/2). */
	struct comparison c[2] = {{.ratio = 2}, {.ratio = 8}};
	double mean;
	double lo;
	double hi;

	for (int i = 0; i < 2; i++) {
		c[i].ratio_lo = c[i].ratio / exp(1);
		c[i].ratio_hi = c[i].ratio * exp(1);
	}
	assert_true(geometric_mean(c, 2, &mean, &lo, &hi));
	assert_near(mean, 4);
	assert_near(lo, 4 * exp(-sqrt(2) / 2));
	assert_near(hi, 4 * exp(sqrt(2) / 2));
	c[1].ratio = 0;
	assert_false(geometric_mean(c, 2, &mean, &lo, &hi));
}

TEST(pairing_removes_what_seeds_share)
{
	/* Seeds differ tenfold, but each pair has the same ratio. */
	const double base[] = {1, 2, 4, 6, 8, 10};
	const double value[] = {1.5, 3, 6, 9, 12, 15};
	struct comparison c;

	compare_pairs(base, value, 6, 1, &c);
	assert_near(c.ratio, 1.5);
	assert_near(c.ratio_hi - c.ratio_lo, 0);
	assert_near(c.p, 0.03125);
	assert_true(c.judged);
	assert_true(c.significant);
}

TEST(nothing_is_called_different_without_reason)
{
	const double base[] = {1, 2, 3, 4, 5, 6};
	const double value[] = {2, 1, 4, 3, 6, 5};
	struct comparison c;

	compare_pairs(base, value, 6, 1, &c);
	assert_near(c.ratio, 1);
	assert_near(c.p, 1);
	assert_true(c.judged);
	assert_false(c.significant);
}

TEST(a_baseline_of_zero_gives_no_ratio)
{
	const double base[] = {0, 0};
	const double value[] = {3, 5};
	struct comparison c;

	compare_pairs(base, value, 2, 1, &c);
	assert_near(c.base, 0);
	assert_near(c.value, 4);
	assert_near(c.ratio, 0);
}

TEST(errors_are_relative_to_the_second)
{
	assert_near(relative_error(110, 100), 0.1);
	assert_near(relative_error(0, 0), 0);
	assert_true(isinf(relative_error(1, 0)));
}

TEST_MAIN("stats")
