/*
 * Time series of a run. See series.h.
 */
#include "report/series.h"

#include <stdlib.h>

#include "lib/bug.h"
#include "report/bytes.h"

const char *const series_kind_name[NR_SERIES_KINDS] = {"pages", "tasks", "events", "ns"};

void series_init(struct series *s, u64 interval_ns)
{
	*s = (struct series){.interval_ns = interval_ns};
	s->time = report_alloc(SERIES_POINTS + 1, sizeof(*s->time));
	s->digest = report_alloc(SERIES_POINTS + 1, sizeof(*s->digest));
	s->value = report_alloc(SERIES_VALUES_MAX, sizeof(*s->value));
}

void series_free(struct series *s)
{
	for (u32 i = 0; i < s->nr_values; i++) {
		free(s->name[i]);
		free(s->value[i]);
	}
	free(s->time);
	free(s->digest);
	free(s->value);
	*s = (struct series){0};
}

/* Every second moment goes; the first stays, it is what totals are counted from. */
static void series_thin(struct series *s)
{
	u32 nr = 0;

	for (u32 i = 0; i < s->nr_points; i += 2) {
		s->time[nr] = s->time[i];
		s->digest[nr] = s->digest[i];
		for (u32 k = 0; k < s->nr_values; k++)
			s->value[k][nr] = s->value[k][i];
		nr++;
	}
	s->nr_points = nr;
	s->interval_ns *= 2;
}

void series_begin(struct series *s, u64 now, bool end)
{
	VM_BUG_ON_MSG(s->nr_points && s->at != s->nr_values,
	              "a moment has other values than the first");
	s->named = s->nr_points != 0;
	if (s->nr_points == SERIES_POINTS && !end)
		series_thin(s);
	s->time[s->nr_points++] = now;
	s->at = 0;
}

void series_add(struct series *s, const char *name, enum series_kind kind, u64 value)
{
	if (!s->named) {
		if (s->nr_values == SERIES_VALUES_MAX)
			panic("more than %d time series", SERIES_VALUES_MAX);
		s->name[s->nr_values] = report_strdup(name);
		s->kind[s->nr_values] = (u8)kind;
		s->value[s->nr_values++] = report_alloc(SERIES_POINTS + 1, sizeof(u64));
	}
	VM_BUG_ON(s->at >= s->nr_values);
	s->value[s->at++][s->nr_points - 1] = value;
}

void series_digest(struct series *s, u64 digest)
{
	s->digest[s->nr_points - 1] = digest;
}

u64 series_next(const struct series *s, u64 now)
{
	return (now / s->interval_ns + 1) * s->interval_ns;
}
