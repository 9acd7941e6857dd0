/*
 * Spans of several means beside each other (report/spans.h).
 */
#include "report/spans.h"

#include <string.h>

#include "lib/sort.h"
#include "report/format.h"

static int by_largest(const void *a, const void *b, void *arg)
{
	u64 x = ((const struct span_row *)a)->largest;
	u64 y = ((const struct span_row *)b)->largest;

	(void)arg;
	return (x < y) - (x > y);
}

static struct span_row *find_row(struct span_row *row, u32 n, const char *path)
{
	for (u32 i = 0; i < n; i++)
		if (strcmp(row[i].path, path) == 0)
			return &row[i];
	return NULL;
}

struct span_row *span_rows(const struct run_record *mean, u32 nr, u32 *nr_rows)
{
	struct span_row *row;
	u32 most = 0;
	u32 n = 0;

	for (u32 i = 0; i < nr; i++)
		most += mean[i].nr_spans;
	row = report_alloc(most, sizeof(*row));
	for (u32 i = 0; i < nr; i++) {
		for (u32 k = 0; k < mean[i].nr_spans; k++) {
			const struct record_span *s = &mean[i].span[k];
			struct span_row *r = find_row(row, n, s->path);

			if (strcmp(s->path, "idle") == 0)
				continue; /* has a line of its own */
			if (!r) {
				r = &row[n++];
				r->path = s->path;
			}
			r->ns[i] = s->ns;
			r->largest = max(r->largest, s->ns);
			if (i == 0)
				r->count = s->count;
		}
	}
	sort_stable(row, n, sizeof(*row), by_largest, NULL);
	*nr_rows = n;
	return row;
}
