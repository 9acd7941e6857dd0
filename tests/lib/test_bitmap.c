/*
 * Aim: lib/bitmap.h.
 * Method: random operations on maps of every awkward size against an array of
 * bools. The bits of the last word beyond the size hold rubbish throughout.
 */
#include "tests/test.h"

#include "lib/bitmap.h"

#define MAX_BITS 200

static u64 model_next(const bool *model, u64 size, u64 from, bool value)
{
	for (u64 i = from; i < size; i++)
		if (model[i] == value)
			return i;
	return size;
}

static u64 model_zero_area(const bool *model, u64 size, u64 start, u64 nr, u64 align_mask)
{
	for (u64 i = ALIGN(start, align_mask + 1); i + nr <= size; i += align_mask + 1)
		if (model_next(model, i + nr, i, true) == i + nr)
			return i;
	return size;
}

static void compare(struct rand_stream *r, const unsigned long *map, const bool *model, u64 size)
{
	u64 from = rand_below(r, size + 3);
	u64 weight = 0;
	u64 last = size;
	u64 bit;

	for (u64 i = 0; i < size; i++) {
		assert_int_equal(test_bit(i, map), model[i]);
		weight += model[i];
		if (model[i])
			last = i;
	}
	assert_int_equal(bitmap_weight(map, size), weight);
	assert_int_equal(find_last_bit(map, size), last);
	assert_int_equal(bitmap_empty(map, size), weight == 0);
	assert_int_equal(bitmap_full(map, size), weight == size);
	assert_int_equal(find_next_bit(map, size, from), model_next(model, size, from, true));
	assert_int_equal(find_next_zero_bit(map, size, from), model_next(model, size, from, false));
	assert_int_equal(find_first_bit(map, size), model_next(model, size, 0, true));
	assert_int_equal(find_first_zero_bit(map, size), model_next(model, size, 0, false));
	for_each_set_bit (bit, map, size) {
		assert_true(model[bit]);
		weight--;
	}
	assert_int_equal(weight, 0);
	for_each_clear_bit (bit, map, size)
		weight++;
	assert_int_equal(weight, size - bitmap_weight(map, size));

	u64 nr = 1 + rand_below(r, 20);
	u64 align_mask = BIT(rand_below(r, 6)) - 1;
	u64 start = rand_below(r, size + 1);

	assert_int_equal(bitmap_find_zero_area(map, size, start, nr, align_mask),
	                 model_zero_area(model, size, start, nr, align_mask));
}

TEST(bitmaps_match_bools_at_every_size)
{
	struct rand_stream r;

	rand_init(&r, test_seed(), 1, 0);
	for (u64 size = 1; size <= MAX_BITS; size++) {
		DECLARE_BITMAP(map, MAX_BITS + 64);
		bool model[MAX_BITS];

		for (u64 i = 0; i < ARRAY_SIZE(map); i++)
			map[i] = rand_u64(&r);
		for (u64 i = 0; i < size; i++)
			model[i] = test_bit(i, map);
		for (int step = 0; step < 100; step++) {
			u64 at = rand_below(&r, size);
			u64 nr = rand_below(&r, size - at + 1);

			switch (rand_below(&r, 6)) {
			case 0:
				__set_bit(at, map);
				model[at] = true;
				break;
			case 1:
				__clear_bit(at, map);
				model[at] = false;
				break;
			case 2:
				assert_int_equal(__test_and_set_bit(at, map), model[at]);
				model[at] = true;
				break;
			case 3:
				assert_int_equal(__test_and_clear_bit(at, map), model[at]);
				model[at] = false;
				break;
			case 4:
				bitmap_set(map, at, nr);
				memset(model + at, true, nr);
				break;
			case 5:
				bitmap_clear(map, at, nr);
				memset(model + at, false, nr);
				break;
			}
			compare(&r, map, model, size);
		}
	}
}

TEST(setting_a_range_leaves_its_neighbours_alone)
{
	DECLARE_BITMAP(map, 192);

	for (u64 start = 0; start < 192; start++) {
		for (u64 nr = 0; start + nr <= 192; nr++) {
			bitmap_zero(map, 192);
			bitmap_set(map, start, nr);
			assert_int_equal(bitmap_weight(map, 192), nr);
			assert_int_equal(bitmap_weight(map, start), 0);
		}
	}
	bitmap_fill(map, 192);
	assert_true(bitmap_full(map, 192));
}

TEST_MAIN("bitmap")
