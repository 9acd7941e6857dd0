/*
 * A binary min-heap of 64-bit keys that carry the number of their owner.
 *
 * The low KEYHEAP_ID_BITS bits of a key are an id (a CPU's number), the rest is
 * what is compared first (its clock): equal clocks order by id, and one word
 * moves instead of a key and a pointer. @pos remembers where each id is, so
 * that its key can be changed or taken out. An id is in the heap at most once.
 *
 * Inline and unchecked in release builds, because the simulation asks for the
 * next CPU some twenty million times a second.
 */
#ifndef LIB_HEAP_H
#define LIB_HEAP_H

#include "lib/bug.h"
#include "lib/types.h"

#define KEYHEAP_ID_BITS 12
#define KEYHEAP_ID_MASK ((1u << KEYHEAP_ID_BITS) - 1)
#define KEYHEAP_NONE (~0u)       /* in @pos: this id is not in the heap */
#define KEYHEAP_EMPTY UINT64_MAX /* what heap_top() says when nothing is there */

struct keyheap {
	u64 *key; /* key[0] is the smallest */
	u32 *pos; /* by id: index into key, or KEYHEAP_NONE */
	u32 n;
};

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

/* @key and @pos have room for ids 0 to @nr_ids - 1 and belong to the caller. */
static inline void heap_init(struct keyheap *h, u64 *key, u32 *pos, u32 nr_ids)
{
	VM_BUG_ON(nr_ids > KEYHEAP_ID_MASK + 1);
	h->key = key;
	h->pos = pos;
	h->n = 0;
	for (u32 i = 0; i < nr_ids; i++)
		pos[i] = KEYHEAP_NONE;
}

static __always_inline bool heap_empty(const struct keyheap *h)
{
	return h->n == 0;
}

static __always_inline bool heap_contains(const struct keyheap *h, u32 id)
{
	return h->pos[id] != KEYHEAP_NONE;
}

/* The smallest key, or KEYHEAP_EMPTY. */
static __always_inline u64 heap_top(const struct keyheap *h)
{
	return likely(h->n) ? h->key[0] : KEYHEAP_EMPTY;
}

/* Write @key into the hole at @i or above, moving larger parents down. */
static __always_inline void heap_sift_up(struct keyheap *h, u32 i, u64 key)
{
	while (i) {
		u32 parent = (i - 1) / 2;
		u64 above = h->key[parent];

		if (above <= key)
			break;
		h->key[i] = above;
		h->pos[heap_key_id(above)] = i;
		i = parent;
	}
	h->key[i] = key;
	h->pos[heap_key_id(key)] = i;
}

/* Write @key into the hole at @i or below, moving smaller children up. */
static __always_inline void heap_sift_down(struct keyheap *h, u32 i, u64 key)
{
	u64 *const keys = h->key;
	const u32 n = h->n;
	u32 child = 2 * i + 1;

	while (child + 1 < n) {
		child += keys[child + 1] < keys[child];

		u64 below = keys[child];

		if (key <= below)
			goto place;
		keys[i] = below;
		h->pos[heap_key_id(below)] = i;
		i = child;
		child = 2 * i + 1;
	}
	if (child < n && keys[child] < key) {
		keys[i] = keys[child];
		h->pos[heap_key_id(keys[child])] = i;
		i = child;
	}
place:
	keys[i] = key;
	h->pos[heap_key_id(key)] = i;
}

/* The id in @key must not be in the heap. */
static __always_inline void heap_push(struct keyheap *h, u64 key)
{
	VM_BUG_ON(heap_contains(h, heap_key_id(key)));
	heap_sift_up(h, h->n++, key);
}

/* Take out the smallest key. The heap must not be empty. */
static __always_inline u64 heap_pop(struct keyheap *h)
{
	VM_BUG_ON(h->n == 0);

	u64 top = h->key[0];
	u64 last = h->key[--h->n];

	h->pos[heap_key_id(top)] = KEYHEAP_NONE;
	if (h->n)
		heap_sift_down(h, 0, last);
	return top;
}

/*
 * Take out the smallest key and put @key in, in one pass: what the engine does
 * when the running CPU gives way to the next. The heap must not be empty; @key
 * may have the id that is taken out.
 */
static __always_inline u64 heap_replace_top(struct keyheap *h, u64 key)
{
	VM_BUG_ON(h->n == 0);

	u64 top = h->key[0];

	h->pos[heap_key_id(top)] = KEYHEAP_NONE;
	VM_BUG_ON(heap_contains(h, heap_key_id(key)));
	heap_sift_down(h, 0, key);
	return top;
}

/* Give the id in @key this key instead of the one it has in the heap. */
static __always_inline void heap_update(struct keyheap *h, u64 key)
{
	u32 i = h->pos[heap_key_id(key)];

	VM_BUG_ON(i == KEYHEAP_NONE);
	if (key < h->key[i])
		heap_sift_up(h, i, key);
	else
		heap_sift_down(h, i, key);
}

/* Take @id, which is in the heap, out of it. Returns its key. */
static inline u64 heap_remove(struct keyheap *h, u32 id)
{
	u32 i = h->pos[id];

	VM_BUG_ON(i == KEYHEAP_NONE);

	u64 key = h->key[i];
	u64 last = h->key[--h->n];

	h->pos[id] = KEYHEAP_NONE;
	if (i < h->n) {
		if (last < key)
			heap_sift_up(h, i, last);
		else
			heap_sift_down(h, i, last);
	}
	return key;
}

/* The key of @id, which is in the heap. */
static __always_inline u64 heap_key_of(const struct keyheap *h, u32 id)
{
	VM_BUG_ON(!heap_contains(h, id));
	return h->key[h->pos[id]];
}

#endif
