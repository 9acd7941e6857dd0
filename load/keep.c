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
	char *text;
	char *kept;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		panic("out of host memory");
	va_end(args);
	kept = keep_strdup(k, text);
	free(text);
	return kept;
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
