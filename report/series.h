/*
 * Time series of a run: many values at the same few hundred moments.
 *
 * The keeper does not know how long the run will be. It begins with a short interval; when it is full
 * every second moment is dropped and the interval doubles. So at the end there are between half of
 * SERIES_POINTS and all of them, evenly spaced, and the memory is bounded. Nothing is averaged: amounts
 * are what they were at the moment, and totals only grow, so that the difference between two moments
 * is right whatever was dropped between them.
 */
#ifndef REPORT_SERIES_H
#define REPORT_SERIES_H

#include "lib/types.h"

#define SERIES_POINTS 400
#define SERIES_VALUES_MAX 1024

enum series_kind {
	SERIES_PAGES,  /* an amount */
	SERIES_TASKS,  /* an amount */
	SERIES_EVENTS, /* a total that grows */
	SERIES_NS,     /* a total that grows */
	NR_SERIES_KINDS
};

extern const char *const series_kind_name[NR_SERIES_KINDS]; /* "pages", "tasks", "events", "ns" */
static inline bool series_is_total(enum series_kind k)
{
	return k >= SERIES_EVENTS;
}

struct series {
	u64 interval_ns;
	u32 nr_points;
	u32 nr_values;
	bool named; /* the first moment gives each value its name and its place */
	char *name[SERIES_VALUES_MAX];
	u8 kind[SERIES_VALUES_MAX];
	u64 *time;   /* [SERIES_POINTS + 1]: one more for the end */
	u64 *digest; /* the same; of everything that has happened up to the moment */
	u64 **value; /* [nr_values][SERIES_POINTS + 1] */
	u32 at;      /* the value that comes next */
};

void series_init(struct series *s, u64 interval_ns);
void series_free(struct series *s);

/*
 * A moment: series_begin(), then the same values in the same order each time. @end: the last one, for
 * which there is always room.
 */
void series_begin(struct series *s, u64 now, bool end);
void series_add(struct series *s, const char *name, enum series_kind kind, u64 value);

/* The digest of the moment that has begun; 0 if it is never called. */
void series_digest(struct series *s, u64 digest);

/* When the moment after @now is due. */
u64 series_next(const struct series *s, u64 now);

#endif
