/*
 * The time series of a simulated run: the memory manager's counters and zones, and the CPUs' load.
 *
 * Each moment has a digest of all that the ledger has booked so far: every span's time, every charge,
 * every lock, and the clocks. Two runs whose digests are the same have come there in the same way, as far as
 * can be told; two builds of Quire need no more than that to find out between which moments their runs part.
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
	u64 to_ns; /* no moments after this; 0: up to the end */
};

#define SIM_SERIES_FIRST_NS 50000 /* the interval to begin with: 20 ms of run fill the table */

/* For struct sim_options; @arg is the struct sim_series, whose machine may be set later. */
u64 sim_series_sample(void *arg, u64 now);

/* The run has ended, at @now. */
void sim_series_end(struct sim_series *s, u64 now);

#endif
