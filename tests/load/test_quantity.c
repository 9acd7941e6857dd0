/*
 * Sizes, times and percentages: what is read, what is refused, and that writing is the inverse.
 */
#include "tests/test.h"

#include <errno.h>

#include "lib/size.h"
#include "load/quantity.h"
#include "load/target.h"

static char err[TARGET_ERROR_MAX];
static const struct quantity_base base = {.ram_bytes = 1000 * 4096, .swap_bytes = 10 * 4096};

static void size_is(const char *text, u64 expected)
{
	u64 bytes = 0;

	if (quantity_size(text, &base, &bytes, err))
		fail_msg("'%s': %s", text, err);
	assert_int_equal(bytes, expected);
}

static void size_is_refused(const char *text, const char *what)
{
	u64 bytes;

	assert_int_equal(quantity_size(text, &base, &bytes, err), -EINVAL);
	if (!strstr(err, what))
		fail_msg("'%s': says '%s' instead of '%s'", text, err, what);
}

TEST(sizes_are_read)
{
	size_is("512M", 512UL << 20);
	size_is("1.5G", 3UL << 29);
	size_is("4 KiB", 4096);
	size_is("4kB", 4096);
	size_is("7B", 7);
	size_is("16T", 16UL << 40);
	size_is("0B", 0);
	size_is("0", 0);
	size_is("80%ram", 800 * 4096);
	size_is("33.3 %ram", 333 * 4096);
	size_is("150%swap", 15 * 4096);
	size_is("0.01%ram", 0); /* less than a page */
}

TEST(sizes_without_sense_are_refused)
{
	u64 bytes;

	size_is_refused("512", "has no unit; expected for example '512M'");
	size_is_refused("", "not a size");
	size_is_refused("M", "not a size");
	size_is_refused("-5M", "not a size");
	size_is_refused("5X", "not a size");
	size_is_refused("5MM", "not a size");
	size_is_refused("5.M", "not a size");
	size_is_refused("5M5", "not a size");
	size_is_refused("1e3M", "not a size");
	size_is_refused("80%", "not a size");
	size_is_refused("99999999999999999999G", "not a size");
	size_is_refused("99999999999P", "too large");
	size_is_refused("9999999999999999%ram", "too large");
	assert_int_equal(quantity_size("80%ram", NULL, &bytes, err), -EINVAL);
	assert_non_null(strstr(err, "not known here"));
}

TEST(times_are_read)
{
	static const struct {
		const char *text;
		u64 ns;
	} times[] = {{"10ms", 10000000},     {"1.5s", 1500000000},  {"3 us", 3000}, {"7ns", 7},
	             {"2min", 120000000000}, {"1h", 3600000000000}, {"0s", 0},      {"0", 0}};
	u64 ns;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		assert_int_equal(quantity_time(times[i].text, &ns, err), 0);
		assert_int_equal(ns, times[i].ns);
	}
	assert_int_equal(quantity_time("10", &ns, err), -EINVAL);
	assert_non_null(strstr(err, "has no unit; expected for example '10ms'"));
	assert_int_equal(quantity_time("10m", &ns, err), -EINVAL);
	assert_int_equal(quantity_time("-1s", &ns, err), -EINVAL);
	assert_int_equal(quantity_time("99999999999h", &ns, err), -EINVAL);
	assert_non_null(strstr(err, "too long"));
}

TEST(percentages_are_read)
{
	u32 bp;

	assert_int_equal(quantity_percent("2.5%", &bp, err), 0);
	assert_int_equal(bp, 250);
	assert_int_equal(quantity_percent("100 %", &bp, err), 0);
	assert_int_equal(bp, 10000);
	assert_int_equal(quantity_percent("5", &bp, err), -EINVAL);
	assert_int_equal(quantity_percent("-5%", &bp, err), -EINVAL);
	assert_int_equal(quantity_percent("99999999%", &bp, err), -EINVAL);
}

TEST(plain_numbers_are_bytes_and_ns_if_they_can_be)
{
	u64 value;

	assert_int_equal(quantity_size_number(8192, &value, err), 0);
	assert_int_equal(value, 8192);
	assert_int_equal(quantity_size_number(0, &value, err), 0);
	assert_int_equal(quantity_size_number(512, &value, err), -EINVAL);
	assert_non_null(strstr(err, "as in '512M'"));
	assert_int_equal(quantity_size_number(-1, &value, err), -EINVAL);
	assert_int_equal(quantity_size_number(0.0 / 0.0, &value, err), -EINVAL);
	assert_int_equal(quantity_size_number(1e300, &value, err), -EINVAL);
	assert_int_equal(quantity_time_number(1e6, &value, err), 0);
	assert_int_equal(quantity_time_number(10, &value, err), -EINVAL);
}

TEST(writing_is_the_inverse_of_reading)
{
	struct rand_stream r;
	char buf[QUANTITY_TEXT_MAX];

	rand_init(&r, test_seed(), 1, 0);
	for (u32 i = 0; i < 10000; i++) {
		u64 value = rand_u64(&r) >> (2 + rand_below(&r, 60));
		u64 back = 0;
		u32 bp;

		value <<= rand_below(&r, (u64)(62 - fls64(value)) + 1);
		assert_int_equal(
			quantity_size(format_size(buf, sizeof(buf), value), NULL, &back, err), 0);
		assert_int_equal(back, value);
		assert_int_equal(quantity_time(quantity_format_time(buf, value), &back, err), 0);
		assert_int_equal(back, value);
		value %= 1000000;
		assert_int_equal(
			quantity_percent(quantity_format_percent(buf, (u32)value), &bp, err), 0);
		assert_int_equal(bp, value);
	}
}

TEST_MAIN("quantity")
