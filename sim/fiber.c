/*
 * Stacks for fibers. See fiber.h.
 */
#include "sim/fiber.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "lib/bug.h"

#define GUARD_BYTES 4096UL

/*
 * Stacks begin at different offsets in their first page: fibers that stand at the same call would
 * else compete for one set of the host's first cache. All in the upper half of the page, so that a
 * shallow fiber touches no second one.
 */
#define COLOUR_BYTES 4096UL
#define COLOUR_STEP (5 * 64UL)

#ifdef FIBER_ASAN
__thread const void *fiber_bottom;
__thread size_t fiber_size;
#endif

/* What frames of a fiber that never returned have poisoned. */
static void fiber_stack_unpoison(char *base, u64 size)
{
#ifdef FIBER_ASAN
	__asan_unpoison_memory_region(base, size + COLOUR_BYTES);
#else
	(void)base;
	(void)size;
#endif
}

void fiber_stacks_init(struct fiber_stacks *p, u64 size)
{
	*p = (struct fiber_stacks){.size = size};
}

static void fiber_stack_unmap(char *base, u64 size)
{
	fiber_stack_unpoison(base, size);
	munmap(base - GUARD_BYTES, GUARD_BYTES + size + COLOUR_BYTES);
}

void fiber_stacks_destroy(struct fiber_stacks *p)
{
	while (p->nr_free)
		fiber_stack_unmap(p->free[--p->nr_free], p->size);
	free(p->free);
	p->free = NULL;
}

struct fiber_stack fiber_stack_get(struct fiber_stacks *p)
{
	char *base;

	if (p->nr_free) {
		base = p->free[--p->nr_free];
		fiber_stack_unpoison(base, p->size);
		return (struct fiber_stack){base, p->size, p->colour};
	}
	base = mmap(NULL, GUARD_BYTES + p->size + COLOUR_BYTES, PROT_READ | PROT_WRITE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (base == MAP_FAILED || mprotect(base, GUARD_BYTES, PROT_NONE))
		panic("the host has no memory for another stack (or vm.max_map_count is too low)");
	p->colour = COLOUR_BYTES / 2 + (p->colour + COLOUR_STEP) % (COLOUR_BYTES / 2);
	return (struct fiber_stack){base + GUARD_BYTES, p->size, p->colour};
}

void fiber_stack_put(struct fiber_stacks *p, struct fiber_stack s)
{
	if (!s.base)
		return;
	VM_BUG_ON(s.size != p->size);
	if (p->nr_free == p->max_free) {
		u32 max = p->max_free ? 2 * p->max_free : 64;
		char **bigger = realloc(p->free, max * sizeof(*bigger));

		if (!bigger) {
			fiber_stack_unmap(s.base, s.size);
			return;
		}
		p->free = bigger;
		p->max_free = max;
	}
	p->free[p->nr_free++] = s.base;
}

#ifdef FIBER_ASAN
__attribute__((no_sanitize_address))
#endif
u64 fiber_stack_used(struct fiber_stack s)
{
	const u64 *word = (const u64 *)s.base;
	u64 n = (s.size + s.colour) / sizeof(*word);
	u64 i = 0;

	while (i < n && !word[i])
		i++;
	return (n - i) * sizeof(*word);
}

void fiber_init(struct fiber *f, struct fiber_stack s, void (*entry)(void))
{
	u64 *top = (u64 *)(s.base + s.size + s.colour);

	/* As after a call: the return address, which is none, makes the pointer odd by 8. */
	top -= 3;
	top[0] = 0;
	f->sp = top;
	f->bp = NULL;
	f->pc = (void *)entry;
#ifdef FIBER_ASAN
	f->bottom = s.base;
	f->size = s.size + s.colour;
	f->fake = NULL;
#endif
}
