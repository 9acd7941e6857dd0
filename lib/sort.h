/*
 * A sort whose result does not depend on the C library.
 */
#ifndef LIB_SORT_H
#define LIB_SORT_H

#include "lib/types.h"

/* Less than, equal to or greater than 0 as *@a comes before, with or after *@b. */
typedef int sort_cmp_fn(const void *a, const void *b, void *arg);

/*
 * Sort @n elements of @size bytes at @base in place; equal elements keep their
 * order. O(n log n). Needs room for half the elements: on the stack up to 4 KB,
 * from malloc() beyond, and panics if the host has no memory left.
 */
void sort_stable(void *base, size_t n, size_t size, sort_cmp_fn *cmp, void *arg);

#endif
