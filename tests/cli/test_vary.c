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

static void assert_values(const char *text, const char *expected)
{
	struct vary v = {0};
	struct bytes b = {0};

	if (!vary_add(&v, text))
		fail_msg("refuses '%s'", text);
	for (u32 i = 0; i < v.axis[0].nr_values; i++) {
		bytes_add(&b, v.axis[0].value[i], strlen(v.axis[0].value[i]));
		bytes_add(&b, " ", 1);
	}
	bytes_add(&b, "", 1);
	assert_string_equal(b.data, expected);
	bytes_free(&b);
	vary_free(&v);
}

TEST(ranges_are_cut_into_equal_steps_or_factors)
{
	assert_values("machine.ram=512M..4G:8", "512M 1G 1536M 2G 2560M 3G 3584M 4G ");
	assert_values("cpus=1..64:7x", "1 2 4 8 16 32 64 ");
	assert_values("n=10..0:3", "10 5 0 ");
	assert_values("n=1..2:5", "1 2 "); /* 1.25 is no whole number, and nothing comes twice */
	assert_values("n=0.5..1:3", "0.5 0.75 1 ");
	assert_values("t=1ms..2ms:3", "1ms 1500us 2ms ");
	assert_values("p=10%..20%:3", "10% 15% 20% ");
	/* Steps of 88M / 7 are rounded to an eighth of them, a power of 2: whole M. */
	assert_values("ram=8M..96M:8", "8M 21M 33M 46M 58M 71M 83M 96M ");
}

TEST(ranges_that_make_no_sense_are_refused)
{
	static const char *const bad[] = {"a=1..2",    "a=1..2:1",     "a=1..2:x",
	                                  "a=1..2:3y", "a=..2:3",      "a=1M..2s:3",
	                                  "a=0..8:3x", "a=1..2:99999", "a=x..y:3"};
	struct vary v = {0};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (vary_add(&v, bad[i]))
			fail_msg("accepts '%s'", bad[i]);
		vary_free(&v);
	}
}

TEST(zipped_axes_go_in_step)
{
	struct vary v = {.zip = true};

	assert_true(vary_add(&v, "a=1,2,3"));
	assert_true(vary_add(&v, "b=x,y,z"));
	assert_true(vary_check(&v));
	assert_int_equal(vary_points(&v), 3);
	assert_point(&v, 2, "a=3 b=z");
	assert_true(vary_add(&v, "c=1,2"));
	assert_false(vary_check(&v));
	vary_free(&v);
}

TEST(too_many_points_or_axes_are_refused)
{
	struct vary v = {0};

	for (int i = 0; i < 5; i++)
		assert_true(vary_add(&v, "a=1,2,3,4")); /* 4^5 = 1024 */
	assert_true(vary_check(&v));
	assert_true(vary_add(&v, "b=1,2"));
	assert_false(vary_check(&v));
	vary_free(&v);
	for (int i = 0; i < VARY_MAX; i++)
		assert_true(vary_add(&v, "a=1"));
	assert_false(vary_add(&v, "a=1"));
	vary_free(&v);
}

TEST_MAIN("vary")
