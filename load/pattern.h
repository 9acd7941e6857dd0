/*
 * Lua's string patterns, with a budget.
 *
 * The matcher of Lua's own library can run for ever inside one call, where neither the count hook
 * nor anything else reaches it. This one counts its steps, so that a pattern that backtracks
 * without end becomes an ordinary error, the same on every machine. What it matches is what the
 * Lua 5.4 manual (6.4.1) says; tests compare it with the original.
 */
#ifndef LOAD_PATTERN_H
#define LOAD_PATTERN_H

#include "lib/types.h"

#define PATTERN_CAPTURES_MAX 32
#define PATTERN_DEPTH_MAX 200 /* of recursion; Lua's own limit */

enum {
	PATTERN_CAPTURE_OPEN = -1,
	PATTERN_CAPTURE_POSITION = -2,
};

struct pattern {
	const char *src; /* the subject */
	const char *src_end;
	const char *pat_end;
	u64 budget;        /* steps left */
	const char *error; /* set when the match was given up: what is wrong with the pattern */
	bool exhausted;    /* set when the budget was used up */
	int depth;
	int nr_captures;
	struct {
		const char *start;
		ptrdiff_t len; /* or PATTERN_CAPTURE_... */
	} capture[PATTERN_CAPTURES_MAX];
};

void pattern_init(struct pattern *m, const char *src, size_t src_len, const char *pat,
                  size_t pat_len, u64 budget);

/*
 * Match @pat at exactly @s, a place in the subject. Returns where the match ends, or NULL if there
 * is none, or if m->error or m->exhausted is set. A leading '^' is the caller's business.
 */
const char *pattern_match(struct pattern *m, const char *s, const char *pat);

#endif
