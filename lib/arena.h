/*
 * Host memory for one machine: reserved when it is built, committed by touch.
 *
 * An arena hands out zeroed memory from the front and takes nothing back. A
 * pool holds objects of one size in a reservation of its own and names them by
 * 32-bit handles, half the size of a pointer and the same in every run. Memory
 * that is never touched costs only address space, so reserve for the largest
 * case. Running out is a host error: it ends the program, and says which arena.
 */
#ifndef LIB_ARENA_H
#define LIB_ARENA_H

#include "lib/bug.h"
#include "lib/types.h"

struct arena {
	char *base;
	u64 size;         /* bytes reserved */
	u64 used;         /* bytes handed out, with padding */
	const char *name; /* for messages; not copied */
};

/* Reserve @bytes. Returns 0, or -ENOMEM if the host has no such range left. */
int __must_check arena_init(struct arena *a, u64 bytes, const char *name);

/* Give everything back. A zeroed or destroyed arena is allowed. */
void arena_destroy(struct arena *a);

/*
 * @bytes of zeroed memory at a multiple of @align, a power of two up to 4096.
 * Never NULL: an arena that is exhausted ends the program.
 */
void *arena_alloc(struct arena *a, u64 bytes, u64 align);

#define arena_new(a, type) ((type *)arena_alloc(a, sizeof(type), _Alignof(type)))
#define arena_array(a, type, n) ((type *)arena_alloc(a, sizeof(type) * (u64)(n), _Alignof(type)))

struct pool {
	char *base;  /* of handle 0, which is never handed out */
	u32 objsize; /* rounded up to a multiple of 8 */
	u32 max;     /* largest handle */
	u32 fresh;   /* handles above this were never used and are still zero */
	u32 free;    /* last freed handle, the head of the list through free objects; 0: none */
	u32 nr_live;
	u32 shift;   /* objsize is odd << shift ... */
	u64 inverse; /* ... and this is 1 / odd, modulo 2^64 */
	u64 size;    /* bytes reserved */
	const char *name;
};

/*
 * Reserve room for @max objects of @objsize bytes. Objects are aligned as an
 * array of them would be (to 8 at least). Returns 0 or -ENOMEM.
 */
int __must_check pool_init(struct pool *p, u32 objsize, u32 max, const char *name);

/* A zeroed or destroyed pool is allowed. */
void pool_destroy(struct pool *p);

/* A zeroed object, the last freed first; 0 if all @max are in use. */
u32 __must_check pool_alloc(struct pool *p);

/* @handle is in use, and nothing refers to it any more. */
void pool_free(struct pool *p, u32 handle);

/* The object of @handle, which must be in use: not checked, this is the fast path. */
static __always_inline void *pool_ptr(const struct pool *p, u32 handle)
{
	return p->base + (u64)handle * p->objsize;
}

/* The same, with NULL for handle 0. */
static __always_inline void *pool_ptr_or_null(const struct pool *p, u32 handle)
{
	return handle ? pool_ptr(p, handle) : NULL;
}

/*
 * The handle of the object at @ptr. Objects lie at exact multiples of objsize,
 * and an exact division is a shift and a multiplication.
 */
static __always_inline u32 pool_index(const struct pool *p, const void *ptr)
{
	u64 offset = (u64)((const char *)ptr - p->base);

	return (u32)((offset >> p->shift) * p->inverse);
}

/* Objects in use. */
static inline u32 pool_live(const struct pool *p)
{
	return p->nr_live;
}

#endif
