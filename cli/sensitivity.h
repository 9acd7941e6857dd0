/*
 * Which assumed constants decide a result: each is halved and doubled, and the ratios looked at.
 */
#ifndef CLI_SENSITIVITY_H
#define CLI_SENSITIVITY_H

#include "cli/batch.h"
#include "report/published.h"

struct sensitivity_options {
	const char *path;       /* of the scenario */
	const char *const *set; /* the user's settings */
	u32 nr_sets;
	u32 nr_seeds;
	u64 seed;
	u32 nr_parallel;
	u32 cpu_seconds;
	bool quiet;
};

/*
 * Fills in the sensitivity of @e, whose results are there and judged: they say which constants
 * matter at all. Returns an exit code.
 *
 * Tried are the constants whose source begins with "assumed" and that took at least
 * SENSITIVITY_SHARE of the CPUs' time in some variant.
 */
int sensitivity_run(const struct sensitivity_options *o, const struct scenario *s,
                    struct experiment *e);

#define SENSITIVITY_SHARE 0.005

#endif
