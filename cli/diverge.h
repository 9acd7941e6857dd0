/*
 * The first event at which two simulated runs with one seed differ, and the state that led there.
 */
#ifndef CLI_DIVERGE_H
#define CLI_DIVERGE_H

#include <stdio.h>

#include "cli/batch.h"
#include "cli/events.h"

struct divergence {
	bool found;
	bool given_up; /* no difference within DIVERGE_EVENTS_MAX events */
	u64 nr_common; /* events that both have */
	bool ended[2]; /* a run has no further event: it is over */
	bool has_last; /* there is an event in common */
	struct sim_trace_event last;
	struct sim_trace_event event[2];
	char where[2][256]; /* whose event it is, and in which spans */
	char *state[2]; /* the machine at the event, as --stop-at prints it; "" if it has ended */
};

#define DIVERGE_EVENTS_MAX 50000000

/*
 * Runs both side by side with @seed, each in a process of its own, until their events differ; then
 * again up to there. False, with a sentence in @err (TARGET_ERROR_MAX), if they cannot be run.
 */
bool diverge_find(const struct batch_cell *a, const struct batch_cell *b, u64 seed,
                  struct divergence *d, char *err);
void diverge_free(struct divergence *d);

/* In words, of columns that are called @name. */
void diverge_print(FILE *f, const struct divergence *d, const char *const name[2], u64 seed);

#endif
