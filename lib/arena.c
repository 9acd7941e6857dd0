/*
 * Arenas and pools. See arena.h.
 */
#include "lib/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define HOST_PAGE 4096UL

/* What is written over the start of a free object. */
struct pool_free_object {
	u32 next;
	u32 mark;
};

#define POOL_FREE_MARK 0x0bad0f3eu

static char *reserve(u64 bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (bytes >= 4UL << 20 && bytes <= 1UL << 30)
		madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

int arena_init(struct arena *a, u64 bytes, const char *name)
{
	u64 size = ALIGN(max(bytes, HOST_PAGE), HOST_PAGE);
	char *base = reserve(size);

	*a = (struct arena){.name = name};
	if (!base)
		return -ENOMEM;
	a->base = base;
	a->size = size;
	return 0;
}

void arena_destroy(struct arena *a)
{
	if (a->base)
		munmap(a->base, a->size);
	*a = (struct arena){.name = a->name};
}

void *arena_alloc(struct arena *a, u64 bytes, u64 align)
{
	VM_BUG_ON(!is_power_of_2(align) || align > HOST_PAGE);
	VM_BUG_ON(!a->base);

	u64 start = ALIGN(a->used, align);

	if (start > a->size || bytes > a->size - start)
		panic("host: arena '%s' is exhausted: %lu of %lu bytes used, %lu more asked for",
		      a->name, a->used, a->size, bytes);
	a->used = start + bytes;
	return a->base + start;
}

/* The inverse of @odd modulo 2^64: each step of Newton's method doubles the right bits. */
static u64 inverse_of_odd(u64 odd)
{
	u64 x = odd; /* right in the lowest three bits */

	for (int bits = 3; bits < 64; bits *= 2)
		x *= 2 - odd * x;
	return x;
}

int pool_init(struct pool *p, u32 objsize, u32 max, const char *name)
{
	VM_BUG_ON(objsize == 0 || max == 0 || max == UINT32_MAX);
	*p = (struct pool){.name = name};
	objsize = ALIGN(objsize, 8);

	u64 size = ALIGN(((u64)max + 1) * objsize, HOST_PAGE);
	char *base = reserve(size);

	if (!base)
		return -ENOMEM;
	p->base = base;
	p->size = size;
	p->objsize = objsize;
	p->max = max;
	p->shift = __ffs64(objsize);
	p->inverse = inverse_of_odd(objsize >> p->shift);
	return 0;
}

void pool_destroy(struct pool *p)
{
	if (p->base)
		munmap(p->base, p->size);
	*p = (struct pool){.name = p->name};
}

u32 pool_alloc(struct pool *p)
{
	u32 handle = p->free;

	if (handle) {
		struct pool_free_object *object = pool_ptr(p, handle);

		VM_BUG_ON_MSG(object->mark != POOL_FREE_MARK,
		              "pool '%s': object %u was written to after it was freed", p->name,
		              handle);
		p->free = object->next;
		memset(object, 0, p->objsize);
	} else if (p->fresh < p->max) {
		handle = ++p->fresh;
	} else {
		return 0;
	}
	p->nr_live++;
	return handle;
}

static bool on_free_list(const struct pool *p, u32 handle)
{
	u32 at = p->free;

	while (at && at != handle)
		at = ((struct pool_free_object *)pool_ptr(p, at))->next;
	return at == handle;
}

void pool_free(struct pool *p, u32 handle)
{
	VM_BUG_ON_MSG(handle == 0 || handle > p->fresh, "pool '%s': object %u is not in use",
	              p->name, handle);

	struct pool_free_object *object = pool_ptr(p, handle);

	/* The mark alone proves nothing, an object may hold any number; but it is rare. */
	VM_BUG_ON_MSG(object->mark == POOL_FREE_MARK && on_free_list(p, handle),
	              "pool '%s': object %u is freed twice", p->name, handle);
	VM_BUG_ON(p->nr_live == 0);
	object->next = p->free;
	object->mark = POOL_FREE_MARK;
	p->free = handle;
	p->nr_live--;
}
