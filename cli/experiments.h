/*
 * The experiments of `quire reproduce`: what, beyond its scenario, is known about each.
 *
 * A scenario brings the published figures, the variants and what may be fitted. Here stand the
 * claims: what the mechanism should make true, and the further runs that show it.
 */
#ifndef CLI_EXPERIMENTS_H
#define CLI_EXPERIMENTS_H

#include "report/published.h"

/* A variant with one more setting, run for a claim's sake. */
struct probe {
	const char *variant;
	const char *set; /* "madvise.free_swap=drop"; also its point in claims */
};

struct experiment_spec {
	const char *name;
	const char *scenario; /* NULL: of the same name */
	const char *title;
	u32 nr_probes;
	const struct probe *probe;
	u32 nr_claims;
	const struct claim *claim;
	u32 nr_spreads;
	const struct spread *spread;
	u32 nr_predictions;
	const char *const *prediction;
};

extern const struct experiment_spec experiments[];
extern const u32 nr_experiments;

#endif
