/*
 * The simulated machine as a target for scenarios (load/target.h): a sim/ world with a core/ machine
 * on it. The only place that joins the two.
 */
#ifndef CLI_SIM_TARGET_H
#define CLI_SIM_TARGET_H

#include "load/target.h"

struct ledger;
struct series;
struct record_trace;
struct record_heat;
struct world;
struct machine;

extern const struct target_ops sim_target_ops;

/* Of an open simulated target, for reports. Valid until close(). */
const struct ledger *sim_target_ledger(const struct target *t);
const struct series *sim_target_series(const struct target *t); /* NULL: not asked for */
struct record_trace *sim_target_trace(const struct target *t);  /* NULL; else for trace_free() */
/*
 * A request with one of these has every trace event told, in the task that causes it: fn() may look
 * at world and machine, and end the run with sim_stop().
 */
struct sim_trace_event;
struct sim_watch {
	void (*fn)(struct sim_watch *watch, struct target *t, const struct sim_trace_event *e);
	u64 time_ns; /* and, if not 0, at_time() is called when every CPU has come to this */
	void (*at_time)(struct sim_watch *watch, struct target *t, u64 now);
};

struct record_heat *sim_target_heat(const struct target *t); /* NULL; else for heat_free() */
struct world *sim_target_world(const struct target *t);
struct machine *sim_target_machine(const struct target *t);

#endif
