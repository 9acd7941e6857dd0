/*
 * Memory that is given back all at once: what a scenario or a profile is made of.
 *
 * Strings and arrays of a parsed file have one life, so nobody frees them one by one. Running out
 * of host memory ends the program; the sizes are bounded by the sandbox the file was read in.
 */
#ifndef LOAD_KEEP_H
#define LOAD_KEEP_H

#include <stdarg.h>

#include "lib/types.h"

struct keep {
	struct keep_block *first;
};

/* @bytes of zeroed memory. */
void *keep_alloc(struct keep *k, size_t bytes);

char *keep_strdup(struct keep *k, const char *text);
char *keep_strndup(struct keep *k, const char *text, size_t len);
char *keep_printf(struct keep *k, const char *fmt, ...) __printf(2, 3);

/* Free everything; @k is empty and usable afterwards. */
void keep_free(struct keep *k);

#define keep_array(k, type, n) ((type *)keep_alloc(k, sizeof(type) * (size_t)(n)))

/*
 * Room for one more element at the end of an array that grew by this macro only: @array and @nr
 * are lvalues. Old copies stay until keep_free(), which doubling bounds to the size of the last.
 */
#define keep_push(k, array, nr)                                                                    \
	((array) = keep_grow(k, array, nr, sizeof(*(array))), &(array)[(nr)++])
void *keep_grow(struct keep *k, void *array, u32 nr, size_t size);

#endif
