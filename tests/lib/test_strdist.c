/*
 * Aim: lib/strdist.c.
 * Method: all pairs of short words over two letters against a recursive
 * definition; suggestions by example.
 */
#include "tests/test.h"

#include "lib/strdist.h"

/* The definition, from the ends of both words backwards. */
static u32 model(const char *a, size_t i, const char *b, size_t j)
{
	u32 best;

	if (i == 0 || j == 0)
		return (u32)(i + j);
	best = model(a, i - 1, b, j - 1) + (a[i - 1] != b[j - 1]);
	best = min(best, model(a, i - 1, b, j) + 1);
	best = min(best, model(a, i, b, j - 1) + 1);
	if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
		best = min(best, model(a, i - 2, b, j - 2) + 1);
	return best;
}

/* The @n-th word over a and b: its binary digits after the leading one. */
static void word(char *buf, u32 n)
{
	int len = ilog2(n);

	for (int i = 0; i < len; i++)
		buf[i] = n >> (len - 1 - i) & 1 ? 'b' : 'a';
	buf[len] = '\0';
}

TEST(distances_of_short_words_match_the_definition)
{
	char a[8], b[8];

	for (u32 i = 1; i < 64; i++) {
		for (u32 j = 1; j < 64; j++) {
			word(a, i);
			word(b, j);
			assert_int_equal(string_distance(a, b), model(a, strlen(a), b, strlen(b)));
		}
	}
	assert_int_equal(string_distance("swapines", "swappiness"), 2);
	assert_int_equal(string_distance("free", "fere"), 1);
}

TEST(long_words_are_cut_not_overrun)
{
	char a[200], b[200];

	memset(a, 'x', sizeof(a));
	memset(b, 'y', sizeof(b));
	a[199] = b[199] = '\0';
	assert_int_equal(string_distance(a, b), STRDIST_MAX);
	assert_int_equal(string_distance(a, ""), STRDIST_MAX);
}

static const char *name_at(void *arg, size_t i)
{
	return ((const char **)arg)[i];
}

TEST(the_nearest_name_is_suggested_if_it_is_near)
{
	const char *names[] = {"madvise", "mlock", "mmap", "munmap", "touch", "fill", "full"};
	const size_t n = ARRAY_SIZE(names);

	assert_string_equal(nearest_name("madvize", name_at, names, n), "madvise");
	assert_string_equal(nearest_name("mlcok", name_at, names, n), "mlock");
	assert_string_equal(nearest_name("tuch", name_at, names, n), "touch");
	assert_string_equal(nearest_name("touch", name_at, names, n), "touch");
	assert_string_equal(nearest_name("fll", name_at, names, n), "fill"); /* first of two */
	assert_null(nearest_name("read", name_at, names, n));
	assert_null(nearest_name("", name_at, names, n));
	assert_null(nearest_name("mmap", name_at, names, 0));
}

TEST_MAIN("strdist")
