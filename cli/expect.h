/*
 * Whether a scenario's expectations are met by the results of all its variants.
 */
#ifndef CLI_EXPECT_H
#define CLI_EXPECT_H

#include <stdio.h>

#include "load/scenario.h"
#include "report/results.h"

/*
 * Prints on @f what is not met on each of the @nr_targets, or, with @tap, everything as KTAP
 * (Documentation/dev-tools/ktap.rst): a test for the runs of each target and one for each
 * expectation. @changed: the conditions are not those that the scenario sets, so that what is not
 * met is told and is no failure, unless it is a test. Returns an exit code.
 */
int expect_check(const struct scenario *s, const struct results *r, const char *const *target,
                 u32 nr_targets, bool changed, bool tap, FILE *f);

#endif
