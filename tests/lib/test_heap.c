/*
 * Aim: lib/heap.h.
 * Method: random operations against an array of keys by id, at every size from
 * one id to a few dozen; after each, heap order and positions are checked.
 */
#include "tests/test.h"

#include "lib/heap.h"

#define MAX_IDS 40

static void check(const struct keyheap *h, const u64 *model, u32 nr_ids)
{
	u64 smallest = KEYHEAP_EMPTY;
	u32 n = 0;

	for (u32 id = 0; id < nr_ids; id++) {
		assert_int_equal(heap_contains(h, id), model[id] != KEYHEAP_EMPTY);
		if (model[id] == KEYHEAP_EMPTY)
			continue;
		n++;
		smallest = min(smallest, model[id]);
		assert_int_equal(heap_key_of(h, id), model[id]);
	}
	assert_int_equal(h->n, n);
	assert_int_equal(heap_top(h), smallest);
	assert_int_equal(heap_empty(h), n == 0);
	for (u32 i = 1; i < n; i++)
		assert_true(h->key[(i - 1) / 2] < h->key[i]);
}

TEST(heaps_match_a_search_for_the_smallest)
{
	struct rand_stream r;

	rand_init(&r, test_seed(), 1, 0);
	for (u32 nr_ids = 1; nr_ids <= MAX_IDS; nr_ids++) {
		u64 keys[MAX_IDS];
		u32 pos[MAX_IDS];
		u64 model[MAX_IDS];
		struct keyheap h;

		heap_init(&h, keys, pos, nr_ids);
		memset(model, 0xff, sizeof(model));
		for (int step = 0; step < 2000; step++) {
			u32 id = rand_below(&r, nr_ids);
			u64 key = heap_key(rand_below(&r, 60), id); /* equal values are common */
			u64 top = heap_top(&h);

			switch (rand_below(&r, 5)) {
			case 0:
				if (top == KEYHEAP_EMPTY)
					break;
				assert_int_equal(heap_pop(&h), top);
				model[heap_key_id(top)] = KEYHEAP_EMPTY;
				break;
			case 1:
				if (top == KEYHEAP_EMPTY ||
				    (heap_contains(&h, id) && heap_key_id(top) != id))
					break;
				assert_int_equal(heap_replace_top(&h, key), top);
				model[heap_key_id(top)] = KEYHEAP_EMPTY;
				model[id] = key;
				break;
			case 2:
				if (!heap_contains(&h, id))
					break;
				assert_int_equal(heap_remove(&h, id), model[id]);
				model[id] = KEYHEAP_EMPTY;
				break;
			default:
				if (heap_contains(&h, id))
					heap_update(&h, key);
				else
					heap_push(&h, key);
				model[id] = key;
			}
			check(&h, model, nr_ids);
		}
	}
}

TEST(a_key_carries_value_and_id)
{
	u64 key = heap_key(123456789, 4095);

	assert_int_equal(heap_key_value(key), 123456789);
	assert_int_equal(heap_key_id(key), 4095);
	assert_true(heap_key(5, 0) < heap_key(5, 1));
	assert_true(heap_key(5, 4095) < heap_key(6, 0));
}

TEST(misuse_is_caught)
{
	u64 keys[2];
	u32 pos[2];
	struct keyheap h;

	heap_init(&h, keys, pos, 2);
	assert_panics("h->n == 0", heap_pop(&h));
	assert_panics("h->n == 0", heap_replace_top(&h, heap_key(1, 0)));
	assert_panics("KEYHEAP_NONE", heap_remove(&h, 1));
	assert_panics("KEYHEAP_NONE", heap_update(&h, heap_key(1, 1)));
	heap_push(&h, heap_key(1, 1));
	assert_panics("heap_contains", heap_push(&h, heap_key(2, 1)));
	assert_panics("nr_ids", heap_init(&h, keys, pos, 4097));
}

TEST_MAIN("heap")
