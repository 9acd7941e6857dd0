/*
 * Stable sort: insertion sort on short runs, then a top-down merge sort that
 * keeps only the left half of each merge in a scratch buffer. See sort.h.
 */
#include "lib/sort.h"

#include <stdlib.h>
#include <string.h>

#include "lib/bug.h"

#define SORT_RUN 8              /* runs this short are sorted by insertion */
#define SORT_STACK_BYTES 4096UL /* scratch that needs no malloc() */

struct sort {
	sort_cmp_fn *cmp;
	void *arg;
	size_t size;
	char *scratch; /* room for half the elements, and at least one */
};

static void insertion_sort(const struct sort *s, char *base, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		char *elem = base + i * s->size;
		char *to = elem;

		while (to > base && s->cmp(to - s->size, elem, s->arg) > 0)
			to -= s->size;
		if (to == elem)
			continue;
		memcpy(s->scratch, elem, s->size);
		memmove(to + s->size, to, elem - to);
		memcpy(to, s->scratch, s->size);
	}
}

static void merge_sort(const struct sort *s, char *base, size_t n)
{
	if (n <= SORT_RUN) {
		insertion_sort(s, base, n);
		return;
	}

	size_t nr_left = n / 2;
	char *mid = base + nr_left * s->size;
	char *end = base + n * s->size;

	merge_sort(s, base, nr_left);
	merge_sort(s, mid, n - nr_left);
	if (s->cmp(mid - s->size, mid, s->arg) <= 0)
		return; /* already in order: common, and free to ask */

	/*
	 * The left half waits in scratch. What is written never overtakes what is
	 * read of the right half, because the gap is what is left in scratch.
	 */
	char *left = s->scratch;
	char *left_end = left + nr_left * s->size;
	char *right = mid;
	char *out = base;

	memcpy(left, base, mid - base);
	while (left < left_end && right < end) {
		char **from = s->cmp(left, right, s->arg) <= 0 ? &left : &right;

		memcpy(out, *from, s->size);
		*from += s->size;
		out += s->size;
	}
	memcpy(out, left, left_end - left);
}

void sort_stable(void *base, size_t n, size_t size, sort_cmp_fn *cmp, void *arg)
{
	_Alignas(16) char stack[SORT_STACK_BYTES];
	struct sort s = {.cmp = cmp, .arg = arg, .size = size, .scratch = stack};

	VM_BUG_ON(size == 0);
	if (n < 2)
		return;

	size_t bytes = max_t(size_t, n / 2, 1) * size;

	if (bytes > SORT_STACK_BYTES) {
		s.scratch = malloc(bytes);
		if (!s.scratch)
			panic("host: no memory to sort %zu elements of %zu bytes", n, size);
	}
	merge_sort(&s, base, n);
	if (s.scratch != stack)
		free(s.scratch);
}
