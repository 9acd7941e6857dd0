/*
 * Aim: lib/heap.h.
 * Method: random operations against an array of keys by id, at every size from
 * one id to a few dozen; after each, every match of the tournament is checked.
 */
#include "tests/test.h"

#include "lib/heap.h"

#define MAX_IDS 40

static void check(const struct keyheap *h, const u64 *model, u32 nr_ids)
{
	u64 smallest = KEYHEAP_EMPTY;
	u64 second = KEYHEAP_EMPTY;
	u32 n = 0;

	for (u32 id = 0; id < nr_ids; id++) {
		assert_int_equal(heap_contains(h, id), model[id] != KEYHEAP_EMPTY);
		assert_int_equal(heap_key_of(h, id), model[id]);
		second = min(second, max(smallest, model[id]));
		smallest = min(smallest, model[id]);
		n += model[id] != KEYHEAP_EMPTY;
	}
	assert_int_equal(heap_top(h), smallest);
	assert_int_equal(heap_empty(h), n == 0);
	if (n)
		assert_int_equal(heap_runner_up(h), second);
	for (u32 i = 1; i < h->leaves; i++)
		assert_int_equal(h->tree[i], min(h->tree[2 * i], h->tree[2 * i + 1]));
	for (u32 id = nr_ids; id < h->leaves; id++)
		assert_int_equal(h->tree[h->leaves + id], KEYHEAP_EMPTY);
}

TEST(heaps_match_a_search_for_the_smallest)
{
	struct rand_stream r;

	rand_init(&r, test_seed(), 1, 0);
	for (u32 nr_ids = 1; nr_ids <= MAX_IDS; nr_ids++) {
		u64 tree[2 * 64];
		u64 model[MAX_IDS];
		struct keyheap h;

		assert_true(heap_words(nr_ids) <= ARRAY_SIZE(tree));
		heap_init(&h, tree, nr_ids);
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
	u64 tree[4];
	struct keyheap h;

	assert_int_equal(heap_words(1), 2);
	assert_int_equal(heap_words(2), 4);
	assert_int_equal(heap_words(12), 32);
	assert_int_equal(heap_words(4096), 8192);
	heap_init(&h, tree, 2);
	assert_panics("heap_empty", heap_pop(&h));
	assert_panics("heap_empty", heap_replace_top(&h, heap_key(1, 0)));
	assert_panics("key == KEYHEAP_EMPTY", heap_remove(&h, 1));
	assert_panics("!heap_contains", heap_update(&h, heap_key(1, 1)));
	heap_push(&h, heap_key(1, 1));
	heap_push(&h, heap_key(2, 0));
	assert_panics("heap_contains", heap_push(&h, heap_key(2, 1)));
	assert_panics("i != j", heap_replace_top(&h, heap_key(3, 0)));
	assert_panics("nr_ids", heap_init(&h, tree, 4097));
	assert_panics("nr_ids", heap_init(&h, tree, 0));
}

TEST_MAIN("heap")
