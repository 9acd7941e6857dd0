/*
 * "Did you mean": the known name that a misspelt one was probably meant to be.
 */
#ifndef LIB_STRDIST_H
#define LIB_STRDIST_H

#include "lib/types.h"

/*
 * How many characters must be inserted, deleted, replaced or swapped with their
 * neighbour to make @b of @a (Damerau-Levenshtein, each place edited once).
 * Only the first STRDIST_MAX characters are looked at.
 */
u32 string_distance(const char *a, const char *b);

#define STRDIST_MAX 63

/*
 * The name nearest to @word among name_at(arg, 0) ... name_at(arg, n - 1), or
 * NULL if none is near enough to be worth suggesting: at most one edit for every
 * three characters of @word, and one for a shorter word. The first of equals.
 */
const char *nearest_name(const char *word, const char *(*name_at)(void *arg, size_t i), void *arg,
                         size_t n);

#endif
