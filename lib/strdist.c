/*
 * Edit distance, over three rows of the usual table. See strdist.h.
 */
#include "lib/strdist.h"

#include <string.h>

u32 string_distance(const char *a, const char *b)
{
	size_t len_a = strnlen(a, STRDIST_MAX);
	size_t len_b = strnlen(b, STRDIST_MAX);
	u32 rows[3][STRDIST_MAX + 1];
	u32 *before = rows[0]; /* row i - 2: what a swap builds on */
	u32 *last = rows[1];
	u32 *row = rows[2];

	for (size_t j = 0; j <= len_b; j++)
		row[j] = j;
	for (size_t i = 1; i <= len_a; i++) {
		u32 *spare = before;

		before = last;
		last = row;
		row = spare;
		row[0] = i;
		for (size_t j = 1; j <= len_b; j++) {
			u32 best = last[j - 1] + (a[i - 1] != b[j - 1]);

			best = min3(best, last[j] + 1, row[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = min(best, before[j - 2] + 1);
			row[j] = best;
		}
	}
	return row[len_b];
}

const char *nearest_name(const char *word, const char *(*name_at)(void *arg, size_t i), void *arg,
                         size_t n)
{
	u32 limit = max_t(u32, strnlen(word, STRDIST_MAX) / 3, 1);
	const char *nearest = NULL;

	for (size_t i = 0; i < n; i++) {
		const char *name = name_at(arg, i);
		u32 distance = string_distance(word, name);

		if (distance <= limit) {
			nearest = name;
			if (distance == 0)
				break;
			limit = distance - 1; /* a later name must be nearer */
		}
	}
	return nearest;
}
