/*
 * Aim: the arithmetic in lib/types.h and the asserts of lib/bug.h.
 * Method: small arguments in full against the definition, edges by hand, and
 * random 64-bit values against a slower way to say the same.
 */
#include "tests/test.h"

TEST(bit_numbers_match_their_definition)
{
	assert_int_equal(fls(0), 0);
	assert_int_equal(fls64(0), 0);
	for (int i = 0; i < 64; i++) {
		u64 low_bits = BIT(i) | (BIT(i) - 1);

		assert_int_equal(fls64(BIT(i)), i + 1);
		assert_int_equal(fls64(low_bits), i + 1);
		assert_int_equal(ilog2(low_bits), i);
		assert_int_equal(__ffs64(~0UL << i), i);
		assert_int_equal(hweight64(low_bits), i + 1);
		if (i < 32)
			assert_int_equal(fls((u32)low_bits), i + 1);
	}
	assert_int_equal(GENMASK(63, 0), ~0UL);
	assert_int_equal(GENMASK(7, 4), 0xf0);
}

TEST(powers_of_two_round_both_ways)
{
	for (u64 x = 1; x < 5000; x++) {
		u64 up = 1;

		while (up < x)
			up *= 2;
		assert_int_equal(roundup_pow_of_two(x), up);
		assert_int_equal(rounddown_pow_of_two(x), up == x ? x : up / 2);
		assert_int_equal(is_power_of_2(x), up == x);
	}
	assert_false(is_power_of_2(0));
	assert_int_equal(roundup_pow_of_two(0), 1);
	assert_int_equal(roundup_pow_of_two(BIT(63)), BIT(63));
	assert_int_equal(rounddown_pow_of_two(UINT64_MAX), BIT(63));
}

TEST(int_sqrt_is_the_floor)
{
	struct rand_stream r;

	rand_init(&r, test_seed(), 1, 0);
	for (u64 i = 0; i < 100000; i++) {
		u64 x = i < 10000 ? i : rand_u64(&r) >> rand_below(&r, 64);
		unsigned __int128 root = int_sqrt(x);

		assert_true(root * root <= x);
		assert_true((root + 1) * (root + 1) > x);
	}
	assert_int_equal(int_sqrt(UINT64_MAX), UINT32_MAX);
	assert_int_equal(int_sqrt((u64)UINT32_MAX * UINT32_MAX), UINT32_MAX);
	assert_int_equal(int_sqrt((u64)UINT32_MAX * UINT32_MAX - 1), UINT32_MAX - 1);
}

TEST(rounding_keeps_the_type_and_is_exact)
{
	for (u64 x = 0; x < 300; x++) {
		assert_int_equal(ALIGN(x, 64), (x + 63) / 64 * 64);
		assert_int_equal(ALIGN_DOWN(x, 64), x / 64 * 64);
		assert_int_equal(IS_ALIGNED(x, 8), x % 8 == 0);
		for (u64 d = 1; d < 20; d++)
			assert_int_equal(DIV_ROUND_UP(x, d), x / d + (x % d != 0));
	}
	/* An int as alignment must not cut a 64-bit address. */
	assert_int_equal(ALIGN_DOWN(0xffff800000001234UL, 4096), 0xffff800000001000UL);
	assert_int_equal(mul_div_u64(UINT64_MAX, 1000, 1001), UINT64_MAX - UINT64_MAX / 1001 - 1);
}

TEST(min_and_max_evaluate_once)
{
	int i = 3;
	int *p = &i;

	assert_int_equal(min((*p)++, 10), 3);
	assert_int_equal(i, 4);
	assert_int_equal(max(min(i, 9), max(2, 1)), 4);
	assert_int_equal(clamp(5, 1, 3), 3);
	assert_int_equal(clamp(-5, 1, 3), 1);
	assert_int_equal(clamp(2, 1, 3), 2);
	assert_int_equal(min_t(s64, -1, 5UL), -1);
	assert_int_equal(max3(1, 7, 3), 7);

	u32 a = 1, b = 2;

	swap(a, b);
	assert_true(a == 2 && b == 1);
}

TEST(container_of_finds_the_object)
{
	struct {
		int before;
		char member[3];
		int after;
	} object, *found;

	found = container_of(&object.after, __typeof__(object), after);
	assert_ptr_equal(found, &object);
	assert_int_equal(ARRAY_SIZE(object.member), 3);
}

static bool evaluated(bool *flag)
{
	*flag = true;
	return true;
}

TEST(asserts_stop_the_program_and_say_where)
{
	bool seen = false;

	BUG_ON(1 == 2);
	VM_BUG_ON(1 == 2);
	VM_BUG_ON_MSG(1 == 2, "never");
	VM_CHECK(evaluated(&seen));
	assert_int_equal(seen, DEBUG_VM >= 1);

	assert_panics("quire: BUG: page 0x2a", panic("page %#x", 42));
	assert_panics("tests/lib/test_types.c:", panic("x"));
	assert_panics("1 + 1 == 2", BUG_ON(1 + 1 == 2));
	assert_panics("1 + 1 == 2", VM_BUG_ON(1 + 1 == 2));
	assert_panics("zone 7 is odd", VM_BUG_ON_MSG(true, "zone %d is odd", 7));
	if (DEBUG_VM >= 1)
		assert_panics("check failed: 1 + 1 == 3", VM_CHECK(1 + 1 == 3));
}

TEST(a_false_assert_about_panics_fails)
{
	int status;
	pid_t child = fork();

	/* assert_panics() on a statement that does not panic must not pass. */
	if (child == 0) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(3);
		signal(SIGABRT, SIG_DFL);
		assert_panics("x", (void)0);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_MAIN("types")
