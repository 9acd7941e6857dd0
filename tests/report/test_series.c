/*
 * Time series: few points whatever the length of the run, evenly spaced, and nothing counted wrong.
 */
#include "report/series.h"

#include <errno.h>

#include "report/record.h"
#include "tests/test.h"

/* A run of @ns in which one event happens per ns and an amount is @ns / 1000. */
static void fill(struct series *s, u64 ns)
{
	u64 now = 0;

	series_init(s, 10);
	for (; now < ns; now = series_next(s, now)) {
		series_begin(s, now, false);
		series_add(s, "events", SERIES_EVENTS, 1000 + now);
		series_add(s, "amount", SERIES_PAGES, now / 1000);
		series_add(s, "nothing", SERIES_PAGES, 0);
		series_add(s, "never", SERIES_EVENTS, 7);
	}
	series_begin(s, ns, true);
	series_add(s, "events", SERIES_EVENTS, 1000 + ns);
	series_add(s, "amount", SERIES_PAGES, ns / 1000);
	series_add(s, "nothing", SERIES_PAGES, 0);
	series_add(s, "never", SERIES_EVENTS, 7);
}

TEST(a_run_of_any_length_has_a_few_hundred_points_at_equal_distances)
{
	for (u64 ns = 4001; ns < 4000000000; ns = ns * 3 + 1) {
		struct series s;

		fill(&s, ns);
		assert_in_range(s.nr_points, SERIES_POINTS / 2, SERIES_POINTS + 1);
		for (u32 i = 0; i + 1 < s.nr_points; i++)
			assert_int_equal(s.time[i], i * s.interval_ns);
		assert_int_equal(s.time[s.nr_points - 1], ns);
		for (u32 i = 0; i < s.nr_points; i++)
			assert_int_equal(s.value[0][i], 1000 + s.time[i]);
		series_free(&s);
	}
}

TEST(a_record_keeps_what_moved_and_totals_from_the_beginning)
{
	struct run_record r;
	struct run_record back;
	struct bytes b = {0};
	struct bytes_reader in;
	struct series s;

	fill(&s, 123456);
	record_broken(&r, &(struct target_request){0}, "sim", 0, "");
	record_add_series(&r, &s);
	record_write(&r, &b);
	in = bytes_read(&b);
	assert_int_equal(record_read(&back, &in), 0);
	assert_int_equal(back.nr_series, 2);
	assert_null(record_series(&back, "never"));
	assert_int_equal(back.nr_points, s.nr_points);
	assert_int_equal(record_series(&back, "events")->v[0], 0);
	assert_int_equal(record_series(&back, "events")->v[back.nr_points - 1], 123456);
	assert_int_equal(record_series(&back, "amount")->v[back.nr_points - 1], 123);
	assert_int_equal(back.time_ns[back.nr_points - 1], 123456);
	record_free(&r);
	record_free(&back);
	series_free(&s);
	bytes_free(&b);
}

TEST(a_record_that_is_cut_off_anywhere_is_refused)
{
	struct run_record r;
	struct bytes b = {0};
	struct series s;

	fill(&s, 300);
	record_broken(&r, &(struct target_request){0}, "sim", 0, "");
	record_add_series(&r, &s);
	record_write(&r, &b);
	for (size_t len = 0; len < b.len; len++) {
		struct bytes_reader in = {b.data, b.data + len, false};
		struct run_record back;

		assert_int_equal(record_read(&back, &in), -EINVAL);
	}
	record_free(&r);
	series_free(&s);
	bytes_free(&b);
}

TEST_MAIN("series")
