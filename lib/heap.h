/*
 * A priority queue of 64-bit keys that carry the number of their owner.
 *
 * The low KEYHEAP_ID_BITS bits of a key are an id (a CPU's number), the rest is
 * what is compared first (its clock): equal clocks order by id, and one word
 * moves instead of a key and a pointer. An id is queued at most once.
 *
 * It is a tournament: every id has a fixed leaf (KEYHEAP_EMPTY while it is not
 * queued), every inner node holds the smaller of its two children, and node 1
 * the smallest of all. A change replays the matches from one leaf up. Unlike a
 * binary heap's, its way is known beforehand and nothing in it depends on a
 * comparison but a conditional move. Replacing the first of 12, 64 and 2,048
 * ids by itself costs 5, 6 and 9 ns here, and cost 13, 16 and 22 ns as a heap;
 * the simulation does that up to twenty million times a second.
 */
#ifndef LIB_HEAP_H
#define LIB_HEAP_H

#include "lib/bug.h"
#include "lib/types.h"

#define KEYHEAP_ID_BITS 12
#define KEYHEAP_ID_MASK ((1u << KEYHEAP_ID_BITS) - 1)
#define KEYHEAP_EMPTY UINT64_MAX /* no key: its value, 2^52 - 1, is not used */

/* The largest value of a key that is not mistaken for none. In ns: 52 days. */
#define KEYHEAP_VALUE_MAX ((UINT64_MAX >> KEYHEAP_ID_BITS) - 1)

struct keyheap {
	u64 *tree;  /* nodes 1 to 2 * leaves - 1; the children of i are 2i and 2i + 1 */
	u64 leaves; /* a power of two; the leaf of an id is tree[leaves + id] */
};

/* How many u64 a queue of ids 0 to @nr_ids - 1 needs. */
static inline u64 heap_words(u32 nr_ids)
{
	return 2 * roundup_pow_of_two(nr_ids);
}

static __always_inline u64 heap_key(u64 value, u32 id)
{
	return value << KEYHEAP_ID_BITS | id;
}

static __always_inline u32 heap_key_id(u64 key)
{
	return (u32)key & KEYHEAP_ID_MASK;
}

static __always_inline u64 heap_key_value(u64 key)
{
	return key >> KEYHEAP_ID_BITS;
}

/* @tree has heap_words(@nr_ids) words and belongs to the caller. */
static inline void heap_init(struct keyheap *h, u64 *tree, u32 nr_ids)
{
	VM_BUG_ON(nr_ids == 0 || nr_ids > KEYHEAP_ID_MASK + 1);
	h->tree = tree;
	h->leaves = roundup_pow_of_two(nr_ids);
	for (u32 i = 0; i < 2 * h->leaves; i++)
		tree[i] = KEYHEAP_EMPTY;
}

/* The key of @id, or KEYHEAP_EMPTY. */
static __always_inline u64 heap_key_of(const struct keyheap *h, u32 id)
{
	return h->tree[h->leaves + id];
}

static __always_inline bool heap_contains(const struct keyheap *h, u32 id)
{
	return heap_key_of(h, id) != KEYHEAP_EMPTY;
}

/* The smallest key, or KEYHEAP_EMPTY. */
static __always_inline u64 heap_top(const struct keyheap *h)
{
	return h->tree[1];
}

static __always_inline bool heap_empty(const struct keyheap *h)
{
	return heap_top(h) == KEYHEAP_EMPTY;
}

/*
 * The smallest key but one, or KEYHEAP_EMPTY: the smallest that lost a match
 * against the top. The queue must not be empty.
 */
static __always_inline u64 heap_runner_up(const struct keyheap *h)
{
	u64 second = KEYHEAP_EMPTY;

	VM_BUG_ON(heap_empty(h));
	for (u64 i = h->leaves + heap_key_id(heap_top(h)); i > 1; i /= 2) {
		u64 other = h->tree[i ^ 1];

		second = other < second ? other : second;
	}
	return second;
}

/*
 * Node @i gets @key; brings everything above it up to date. Returns the smallest key: what comes next depends on
 * it, and here it comes without a detour through memory.
 */
static __always_inline u64 __heap_replay(struct keyheap *h, u64 i, u64 key)
{
	u64 *const tree = h->tree;

	tree[i] = key;
	while (i > 1) {
		u64 other = tree[i ^ 1];

		key = other < key ? other : key;
		i /= 2;
		tree[i] = key;
	}
	return key;
}

/* The id in @key must not be queued. */
static __always_inline void heap_push(struct keyheap *h, u64 key)
{
	VM_BUG_ON(key == KEYHEAP_EMPTY);
	VM_BUG_ON(heap_contains(h, heap_key_id(key)));
	__heap_replay(h, h->leaves + heap_key_id(key), key);
}

/* Give the id in @key, which is queued, this key instead of the one it has. */
static __always_inline void heap_update(struct keyheap *h, u64 key)
{
	VM_BUG_ON(key == KEYHEAP_EMPTY);
	VM_BUG_ON(!heap_contains(h, heap_key_id(key)));
	__heap_replay(h, h->leaves + heap_key_id(key), key);
}

/* Take @id, which is queued, out. Returns its key. */
static __always_inline u64 heap_remove(struct keyheap *h, u32 id)
{
	u64 key = heap_key_of(h, id);

	VM_BUG_ON(key == KEYHEAP_EMPTY);
	__heap_replay(h, h->leaves + id, KEYHEAP_EMPTY);
	return key;
}

/* Take out the smallest key. The queue must not be empty. */
static __always_inline u64 heap_pop(struct keyheap *h)
{
	VM_BUG_ON(heap_empty(h));
	return heap_remove(h, heap_key_id(heap_top(h)));
}

/*
 * Take out the smallest key and put @key in: what the engine does when the
 * running CPU gives way to the next, if it keeps that one outside. (Keeping it
 * inside, with heap_update() and heap_runner_up(), costs about the same: less
 * for tens of ids, more for thousands.) The queue must not be empty; @key may
 * have the id that is taken out. The two ways up are walked side by side until they
 * meet, which takes less time than one after the other.
 */
static __always_inline u64 heap_replace_top(struct keyheap *h, u64 key)
{
	u64 *const tree = h->tree;
	u64 top = heap_top(h);
	u64 gone = KEYHEAP_EMPTY;
	u64 i = h->leaves + heap_key_id(key);
	u64 j = h->leaves + heap_key_id(top);

	VM_BUG_ON(heap_empty(h));
	VM_BUG_ON(key == KEYHEAP_EMPTY);
	VM_BUG_ON(i != j && tree[i] != KEYHEAP_EMPTY);
	while (i != j) {
		tree[i] = key;
		tree[j] = gone;

		u64 other_i = tree[i ^ 1];
		u64 other_j = tree[j ^ 1];

		key = other_i < key ? other_i : key;
		gone = other_j < gone ? other_j : gone;
		i /= 2;
		j /= 2;
	}
	__heap_replay(h, i, key);
	return top;
}

#endif
