/*
 * Bitmaps over arrays of unsigned long, bit 0 lowest in word 0.
 *
 * The names with two underscores are Linux's for operations that are not
 * atomic; the plain names (set_bit ...) are left to whoever makes them so.
 * Bits of the last word beyond the size are never read as part of the map.
 */
#ifndef LIB_BITMAP_H
#define LIB_BITMAP_H

#include <string.h>

#include "lib/types.h"

#define BITS_TO_LONGS(n) DIV_ROUND_UP(n, BITS_PER_LONG)
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]

static inline void __set_bit(u64 nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] |= BIT(nr % BITS_PER_LONG);
}

static inline void __clear_bit(u64 nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] &= ~BIT(nr % BITS_PER_LONG);
}

static inline bool test_bit(u64 nr, const unsigned long *map)
{
	return map[nr / BITS_PER_LONG] >> (nr % BITS_PER_LONG) & 1;
}

/* Set the bit and return what it was. */
static inline bool __test_and_set_bit(u64 nr, unsigned long *map)
{
	bool old = test_bit(nr, map);

	__set_bit(nr, map);
	return old;
}

static inline bool __test_and_clear_bit(u64 nr, unsigned long *map)
{
	bool old = test_bit(nr, map);

	__clear_bit(nr, map);
	return old;
}

/* The first bit at or after @from that is 1 (0 with @invert = ~0UL), or @size. */
static inline u64 __find_next(const unsigned long *map, u64 size, u64 from, unsigned long invert)
{
	if (from >= size)
		return size;

	u64 i = from / BITS_PER_LONG;
	unsigned long word = (map[i] ^ invert) & (~0UL << (from % BITS_PER_LONG));

	while (!word) {
		if (++i * BITS_PER_LONG >= size)
			return size;
		word = map[i] ^ invert;
	}
	return min_t(u64, i * BITS_PER_LONG + __ffs64(word), size);
}

static inline u64 find_next_bit(const unsigned long *map, u64 size, u64 from)
{
	return __find_next(map, size, from, 0);
}

static inline u64 find_next_zero_bit(const unsigned long *map, u64 size, u64 from)
{
	return __find_next(map, size, from, ~0UL);
}

static inline u64 find_first_bit(const unsigned long *map, u64 size)
{
	return __find_next(map, size, 0, 0);
}

static inline u64 find_first_zero_bit(const unsigned long *map, u64 size)
{
	return __find_next(map, size, 0, ~0UL);
}

/* The last set bit below @size, or @size if there is none. */
static inline u64 find_last_bit(const unsigned long *map, u64 size)
{
	for (u64 i = BITS_TO_LONGS(size); i-- > 0;) {
		unsigned long word = map[i];

		if ((i + 1) * BITS_PER_LONG > size)
			word &= ~(~0UL << (size % BITS_PER_LONG));
		if (word)
			return i * BITS_PER_LONG + ilog2(word);
	}
	return size;
}

#define for_each_set_bit(bit, map, size)                                                           \
	for (bit = find_first_bit(map, size); bit < (size); bit = find_next_bit(map, size, bit + 1))

#define for_each_clear_bit(bit, map, size)                                                         \
	for (bit = find_first_zero_bit(map, size); bit < (size);                                   \
	     bit = find_next_zero_bit(map, size, bit + 1))

static inline void bitmap_zero(unsigned long *map, u64 size)
{
	memset(map, 0, BITS_TO_LONGS(size) * sizeof(*map));
}

/* Change @nr bits from @start on: to 1 with @value = ~0UL, to 0 with 0. */
static inline void __bitmap_assign(unsigned long *map, u64 start, u64 nr, unsigned long value)
{
	while (nr) {
		u64 off = start % BITS_PER_LONG;
		u64 len = min_t(u64, BITS_PER_LONG - off, nr);
		unsigned long mask = (~0UL >> (BITS_PER_LONG - len)) << off;
		unsigned long *word = &map[start / BITS_PER_LONG];

		*word = (*word & ~mask) | (value & mask);
		start += len;
		nr -= len;
	}
}

static inline void bitmap_set(unsigned long *map, u64 start, u64 nr)
{
	__bitmap_assign(map, start, nr, ~0UL);
}

static inline void bitmap_clear(unsigned long *map, u64 start, u64 nr)
{
	__bitmap_assign(map, start, nr, 0);
}

static inline void bitmap_fill(unsigned long *map, u64 size)
{
	bitmap_set(map, 0, size);
}

static inline bool bitmap_empty(const unsigned long *map, u64 size)
{
	return find_first_bit(map, size) == size;
}

static inline bool bitmap_full(const unsigned long *map, u64 size)
{
	return find_first_zero_bit(map, size) == size;
}

/* How many of the first @size bits are set. */
static inline u64 bitmap_weight(const unsigned long *map, u64 size)
{
	u64 n = 0;
	u64 i;

	for (i = 0; i < size / BITS_PER_LONG; i++)
		n += hweight64(map[i]);
	if (size % BITS_PER_LONG)
		n += hweight64(map[i] & ~(~0UL << (size % BITS_PER_LONG)));
	return n;
}

/*
 * Start of the first run of @nr clear bits at or after @start that is aligned
 * to @align_mask + 1 (a power of two), or @size if there is none.
 */
static inline u64 bitmap_find_zero_area(const unsigned long *map, u64 size, u64 start, u64 nr,
                                        u64 align_mask)
{
	for (;;) {
		u64 index = find_next_zero_bit(map, size, start);

		index = (index + align_mask) & ~align_mask;
		if (index >= size || nr > size - index)
			return size;

		u64 taken = find_next_bit(map, index + nr, index);

		if (taken >= index + nr)
			return index;
		start = taken + 1;
	}
}

#endif
