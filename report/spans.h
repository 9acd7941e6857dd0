/*
 * Where the time went, as rows: each span's time in every one of several means.
 */
#ifndef REPORT_SPANS_H
#define REPORT_SPANS_H

#include "report/record.h"

#define SPAN_ROW_MAX 64 /* means; a scenario has at most 64 variants */

struct span_row {
	const char *path;
	u64 ns[SPAN_ROW_MAX];
	u64 count; /* of the first mean */
	u64 largest;
};

/* All paths of all means but "idle", the largest first. For free(). */
struct span_row *span_rows(const struct run_record *mean, u32 nr, u32 *nr_rows);

#endif
