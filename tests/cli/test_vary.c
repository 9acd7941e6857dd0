/*
 * --vary: axes, their product, and what is refused.
 */
#include "cli/vary.h"

#include "tests/test.h"

static void assert_point(const struct vary *v, u32 point, const char *expected)
{
	char *label = vary_label(v, point);

	assert_string_equal(label, expected);
	free(label);
}

TEST(nothing_varied_is_one_point)
{
	struct vary v = {0};

	assert_int_equal(vary_points(&v), 1);
	assert_point(&v, 0, "");
}

TEST(points_are_the_product_and_the_last_axis_is_fastest)
{
	struct vary v = {0};

	assert_true(vary_add(&v, "a=1,2"));
	assert_true(vary_add(&v, "b.c=x,y,z"));
	assert_int_equal(vary_points(&v), 6);
	assert_point(&v, 0, "a=1 b.c=x");
	assert_point(&v, 1, "a=1 b.c=y");
	assert_point(&v, 3, "a=2 b.c=x");
	assert_point(&v, 5, "a=2 b.c=z");
	vary_free(&v);
}

TEST(values_may_hold_equals_signs)
{
	struct vary v = {0};

	assert_true(vary_add(&v, "a=b=c"));
	assert_point(&v, 0, "a=b=c");
	vary_free(&v);
}

TEST(what_is_not_an_axis_is_refused)
{
	static const char *const bad[] = {"", "a", "=1", "a=", "a=,", "a=1,,2", "a=1,"};
	struct vary v = {0};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (vary_add(&v, bad[i]))
			fail_msg("accepts '%s'", bad[i]);
	vary_free(&v);
}

TEST(too_many_points_or_axes_are_refused)
{
	struct vary v = {0};

	for (int i = 0; i < 5; i++)
		assert_true(vary_add(&v, "a=1,2,3,4")); /* 4^5 = 1024 */
	assert_false(vary_add(&v, "b=1,2"));
	vary_free(&v);
	for (int i = 0; i < VARY_MAX; i++)
		assert_true(vary_add(&v, "a=1"));
	assert_false(vary_add(&v, "a=1"));
	vary_free(&v);
}

TEST_MAIN("vary")
