/*
 * The time series of a simulated run: the memory manager's counters and zones, and the CPUs' load.
 */
#ifndef CLI_SIM_SERIES_H
#define CLI_SIM_SERIES_H

#include "report/series.h"

struct machine;
struct world;

struct sim_series {
	struct series series;
	struct world *world;
	struct machine *machine;
	u64 some_ns; /* memory pressure so far */
	u64 full_ns;
};

#define SIM_SERIES_FIRST_NS 50000 /* the interval to begin with: 20 ms of run fill the table */

/* For struct sim_options; @arg is the struct sim_series, whose machine may be set later. */
u64 sim_series_sample(void *arg, u64 now);

/* The run has ended, at @now. */
void sim_series_end(struct sim_series *s, u64 now);

#endif
