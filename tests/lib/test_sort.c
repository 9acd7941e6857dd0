/*
 * Aim: lib/sort.c.
 * Method: random arrays of many lengths and element sizes with few distinct
 * keys, each element tagged with where it was: the result must be in order,
 * stable, and hold the same elements. Enough elements to need malloc() are
 * included.
 */
#include "tests/test.h"

#include "lib/sort.h"

/* An element of @size bytes begins with a key and the index it had. */
struct elem {
	u16 key;
	u16 index;
};

static int cmp_key(const void *a, const void *b, void *arg)
{
	u64 *nr_compares = arg;

	++*nr_compares;
	return (int)((const struct elem *)a)->key - ((const struct elem *)b)->key;
}

static void sort_and_check(struct rand_stream *r, u32 n, size_t size, u32 nr_keys)
{
	char *base = malloc(n * size + 1);
	u64 nr_compares = 0;
	bool *seen = calloc(n + 1, 1);

	assert_non_null(base);
	assert_non_null(seen);
	for (u32 i = 0; i < n; i++) {
		struct elem e = {.key = (u16)rand_below(r, nr_keys), .index = (u16)i};

		memset(base + i * size, (int)(i & 0xff), size);
		memcpy(base + i * size, &e, sizeof(e));
	}
	base[n * size] = 0x5a;
	sort_stable(base, n, size, cmp_key, &nr_compares);
	assert_int_equal(base[n * size], 0x5a);

	struct elem last = {0, 0};

	for (u32 i = 0; i < n; i++) {
		struct elem e;

		memcpy(&e, base + i * size, sizeof(e));
		assert_false(seen[e.index]);
		seen[e.index] = true;
		if (i)
			assert_true(last.key < e.key ||
			            (last.key == e.key && last.index < e.index));
		for (size_t k = sizeof(e); k < size; k++)
			assert_int_equal((u8)base[i * size + k], e.index & 0xff);
		last = e;
	}
	if (n > 1) /* n log2 n, and what insertion on short runs adds */
		assert_true(nr_compares <= (u64)n * (fls64(n) + 3));
	free(base);
	free(seen);
}

TEST(sorting_is_stable_and_loses_nothing)
{
	struct rand_stream r;

	rand_init(&r, test_seed(), 1, 0);
	for (u32 n = 0; n < 200; n++)
		for (size_t size = 4; size <= 40; size += 12)
			sort_and_check(&r, n, size, 1 + rand_below(&r, n + 1));
	sort_and_check(&r, 20000, 4, 65536);
	sort_and_check(&r, 20000, 24, 10);
	sort_and_check(&r, 3, 8000, 2); /* one element is larger than the stack buffer */
}

TEST(sorted_input_is_only_read)
{
	struct elem elems[1024];
	u64 nr_compares = 0;

	for (u32 i = 0; i < 1024; i++)
		elems[i] = (struct elem){.key = (u16)i, .index = (u16)i};
	sort_stable(elems, 1024, sizeof(elems[0]), cmp_key, &nr_compares);
	/* 7 per run of 8, and one per merge of the 128 runs. */
	assert_int_equal(nr_compares, 128 * 7 + 127);
}

TEST_MAIN("sort")
