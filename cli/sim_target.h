/*
 * The simulated machine as a target for scenarios (load/target.h): a sim/ world with a core/ machine
 * on it. The only place that joins the two.
 */
#ifndef CLI_SIM_TARGET_H
#define CLI_SIM_TARGET_H

#include "load/target.h"

struct ledger;
struct series;
struct world;
struct machine;

extern const struct target_ops sim_target_ops;

/* Of an open simulated target, for reports. Valid until close(). */
const struct ledger *sim_target_ledger(const struct target *t);
const struct series *sim_target_series(const struct target *t); /* NULL: not asked for */
struct world *sim_target_world(const struct target *t);
struct machine *sim_target_machine(const struct target *t);

#endif
