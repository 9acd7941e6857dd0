/*
 * Aim: lib/size.c.
 * Method: examples, good and bad, and a random round trip.
 */
#include "tests/test.h"

#include <errno.h>

#include "lib/size.h"

TEST(sizes_are_read_in_binary_units)
{
	static const struct {
		const char *text;
		u64 bytes;
	} good[] = {
		{"0B", 0},
		{"4096B", 4096},
		{"64K", 64 << 10},
		{"512M", 512 << 20},
		{"512m", 512 << 20},
		{"3G", 3UL << 30},
		{"16T", 16UL << 40},
		{"1.5G", 3UL << 29},
		{"0.1K", 102}, /* 102.4 cut */
		{"16777215T", 16777215UL << 40},
		{"18446744073709551615B", UINT64_MAX},
	};

	for (u32 i = 0; i < ARRAY_SIZE(good); i++) {
		u64 bytes = 1;

		assert_int_equal(parse_size(good[i].text, &bytes), 0);
		assert_int_equal(bytes, good[i].bytes);
	}
}

TEST(anything_else_is_refused)
{
	static const char *const bad[] = {
		"",
		"512",
		"M",
		"-1M",
		"+1M",
		" 1M",
		"1M ",
		"1 M",
		"1MB",
		"1.M",
		".5M",
		"1..5M",
		"1.5",
		"0x10M",
		"1e3M",
		"1P",
		"1MM",
		"1,5M",
		"16777216T",
		"18446744073709551616B",
		"1.00000000000000000001G",
	};

	for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
		u64 bytes = 77;

		assert_int_equal(parse_size(bad[i], &bytes), -EINVAL);
		assert_int_equal(bytes, 77);
	}
}

TEST(written_sizes_read_back_the_same)
{
	char text[SIZE_TEXT_MAX];
	struct rand_stream r;

	rand_init(&r, test_seed(), 1, 0);
	for (int i = 0; i < 100000; i++) {
		u64 bytes = rand_u64(&r) >> rand_below(&r, 64) << rand_below(&r, 40);
		u64 back = 0;

		assert_int_equal(parse_size(format_size(text, sizeof(text), bytes), &back), 0);
		assert_int_equal(back, bytes);
	}
	assert_string_equal(format_size(text, sizeof(text), 0), "0B");
	assert_string_equal(format_size(text, sizeof(text), 4097), "4097B");
	assert_string_equal(format_size(text, sizeof(text), 1536 << 10), "1536K");
	assert_string_equal(format_size(text, sizeof(text), 512 << 20), "512M");
	assert_string_equal(format_size(text, sizeof(text), 1UL << 50), "1024T");
	assert_string_equal(format_size(text, sizeof(text), UINT64_MAX), "18446744073709551615B");
}

TEST_MAIN("size")
