/*
 * Aim: lib/arena.c, arenas and pools.
 * Method: random allocations and frees against arrays of what is live, each
 * object filled with a pattern of its own; misuse in a child that must panic.
 */
#include "tests/test.h"

#include <errno.h>

#include "lib/arena.h"

static bool is_zero(const char *p, u64 n)
{
	for (u64 i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

TEST(arena_memory_is_aligned_zeroed_and_disjoint)
{
	struct arena a;
	struct rand_stream r;
	char *end = NULL;

	rand_init(&r, test_seed(), 1, 0);
	assert_int_equal(arena_init(&a, 4 << 20, "test"), 0);
	for (int i = 0; i < 2000; i++) {
		u64 bytes = rand_below(&r, 300);
		u64 align = BIT(rand_below(&r, 13));
		u64 room = a.size - a.used;

		if (bytes + align > room)
			break;

		char *p = arena_alloc(&a, bytes, align);

		assert_true(IS_ALIGNED((unsigned long)p, align));
		assert_true(p >= end);
		assert_true(p + bytes <= a.base + a.size);
		assert_true(is_zero(p, bytes));
		memset(p, 0xa5, bytes);
		end = p + bytes;
	}
	arena_destroy(&a);
	assert_null(a.base);
	arena_destroy(&a); /* twice is allowed */
}

TEST(an_exhausted_arena_says_which)
{
	struct arena a;
	u64 *array;

	assert_int_equal(arena_init(&a, 8192, "small"), 0);
	assert_non_null(arena_new(&a, struct arena));
	array = arena_array(&a, u64, 100);
	array[99] = 1;
	assert_panics("arena 'small' is exhausted", arena_alloc(&a, 8192, 8));
	assert_panics("arena 'small' is exhausted", arena_alloc(&a, UINT64_MAX - 16, 8));
	assert_panics("align", arena_alloc(&a, 8, 3));
	/* To the last byte. */
	arena_alloc(&a, a.size - a.used, 1);
	assert_non_null(arena_alloc(&a, 0, 1));
	assert_panics("exhausted", arena_alloc(&a, 1, 1));
	arena_destroy(&a);
}

TEST(reservations_cost_nothing_and_can_fail)
{
	struct arena a;
	struct pool p;

	assert_int_equal(arena_init(&a, 1UL << 40, "terabyte"), 0);
	*(char *)arena_alloc(&a, 1, 1) = 1;
	arena_alloc(&a, 1UL << 39, 1);
	*(char *)arena_alloc(&a, 1, 1) = 1;
	arena_destroy(&a);
	assert_int_equal(arena_init(&a, 1UL << 60, "too large"), -ENOMEM);
	arena_destroy(&a);
	assert_int_equal(pool_init(&p, 1U << 31, UINT32_MAX - 1, "too large"), -ENOMEM);
	pool_destroy(&p);
}

#define POOL_MAX 50

TEST(pools_match_a_list_of_live_objects)
{
	struct rand_stream r;

	rand_init(&r, test_seed(), 2, 0);
	for (u32 objsize = 1; objsize < 200; objsize += 1 + objsize / 4) {
		u32 live[POOL_MAX];
		u32 n = 0;
		u32 last_freed[POOL_MAX];
		u32 nr_freed = 0;
		struct pool p;

		assert_int_equal(pool_init(&p, objsize, POOL_MAX, "test"), 0);
		for (int step = 0; step < 3000; step++) {
			if (rand_chance(&r, 1, 2)) {
				u32 handle = pool_alloc(&p);

				if (n == POOL_MAX) {
					assert_int_equal(handle, 0);
					continue;
				}
				assert_true(handle >= 1 && handle <= POOL_MAX);
				if (nr_freed)
					assert_int_equal(handle, last_freed[--nr_freed]);
				for (u32 i = 0; i < n; i++)
					assert_int_not_equal(live[i], handle);
				assert_true(is_zero(pool_ptr(&p, handle), objsize));
				memset(pool_ptr(&p, handle), (int)handle, objsize);
				live[n++] = handle;
			} else if (n) {
				u32 i = rand_below(&r, n);
				u8 *object = pool_ptr(&p, live[i]);

				assert_int_equal(pool_index(&p, object), live[i]);
				assert_true(IS_ALIGNED((unsigned long)object, 8));
				for (u32 k = 0; k < objsize; k++)
					assert_int_equal(object[k], live[i]);
				pool_free(&p, live[i]);
				last_freed[nr_freed++] = live[i];
				live[i] = live[--n];
			}
			assert_int_equal(pool_live(&p), n);
		}
		pool_destroy(&p);
	}
}

TEST(handles_and_pointers_convert_at_any_size)
{
	for (u32 objsize = 8; objsize < 5000; objsize += 8) {
		struct pool p;

		assert_int_equal(pool_init(&p, objsize, 1U << 28, "test"), 0);
		for (u64 h = 1; h <= 1U << 28; h = h * 3 + 1)
			assert_int_equal(pool_index(&p, pool_ptr(&p, (u32)h)), h);
		assert_null(pool_ptr_or_null(&p, 0));
		assert_ptr_equal(pool_ptr_or_null(&p, 5), pool_ptr(&p, 5));
		pool_destroy(&p);
	}
}

TEST(misuse_of_a_pool_is_caught)
{
	struct pool p;

	assert_int_equal(pool_init(&p, 24, 10, "victim"), 0);

	u32 a = pool_alloc(&p);
	u32 b = pool_alloc(&p);

	assert_panics("pool 'victim': object 0 is not in use", pool_free(&p, 0));
	assert_panics("pool 'victim': object 3 is not in use", pool_free(&p, 3));
	pool_free(&p, a);
	assert_panics("object 1 is freed twice", pool_free(&p, a));
	pool_free(&p, b);
	assert_panics("object 1 is freed twice", pool_free(&p, a));
	memset(pool_ptr(&p, b), 0, 24);
	assert_panics("object 2 was written to after it was freed", a = pool_alloc(&p));
	pool_destroy(&p);
}

TEST_MAIN("arena")
