/*
 * Blocks in a list. See keep.h.
 */
#include "load/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bug.h"

struct keep_block {
	struct keep_block *next;
	max_align_t data[];
};

void *keep_alloc(struct keep *k, size_t bytes)
{
	struct keep_block *block = calloc(1, sizeof(*block) + bytes);

	if (!block)
		panic("out of host memory");
	block->next = k->first;
	k->first = block;
	return block->data;
}

char *keep_strndup(struct keep *k, const char *text, size_t len)
{
	char *copy = keep_alloc(k, len + 1);

	memcpy(copy, text, len);
	return copy;
}

char *keep_strdup(struct keep *k, const char *text)
{
	return keep_strndup(k, text, strlen(text));
}

char *keep_printf(struct keep *k, const char *fmt, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, fmt);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	BUG_ON(n < 0);
	text = keep_alloc(k, (size_t)n + 1);
	va_start(args, fmt);
	vsnprintf(text, (size_t)n + 1, fmt, args);
	va_end(args);
	return text;
}

void *keep_grow(struct keep *k, void *array, u32 nr, size_t size)
{
	if (nr && !is_power_of_2(nr))
		return array;

	void *larger = keep_alloc(k, size * (nr ? (size_t)nr * 2 : 1));

	if (nr)
		memcpy(larger, array, size * nr);
	return larger;
}

void keep_free(struct keep *k)
{
	struct keep_block *block = k->first;

	while (block) {
		struct keep_block *next = block->next;

		free(block);
		block = next;
	}
	k->first = NULL;
}
