/*
 * A run that is stopped to look at it (--stop-at), or walked through event by event (--step).
 */
#ifndef CLI_STOP_H
#define CLI_STOP_H

#include <stdio.h>

#include "cli/batch.h"
#include "cli/events.h"

/*
 * Runs @cell in this process up to @at and prints the machine as it is there. @step: asks at each
 * event, from the first or from @at (NULL: the first) on, what to do, on standard input.
 * An exit code; CLI_FAILED if the run ends before.
 */
int stop_run(const struct batch_cell *cell, u64 seed, bool check, const struct stop_point *at,
             bool step);

struct target;

/* CPUs, tasks, and the memory of a simulated target, as they are now. */
void stop_dump(const struct target *t, FILE *f);

#endif
