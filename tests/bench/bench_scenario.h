/*
 * One run of a scenario's variant on the simulated machine, in this process; how long it took.
 */
#ifndef TESTS_BENCH_SCENARIO_H
#define TESTS_BENCH_SCENARIO_H

#include <stdlib.h>

#include "cli/batch.h"
#include "cli/sim_target.h"
#include "lib/bug.h"
#include "load/scenario.h"
#include "tests/bench/yardstick.h"

static inline struct scenario *bench_scenario(const char *path, const char *const *set, u32 nr_set)
{
	struct scenario_options opt = {
		.names = &cli_load_names,
		.machine_dirs = cli_machine_dirs(),
		.set = (const char **)set,
		.nr_set = nr_set,
	};
	char err[TARGET_ERROR_MAX] = "";
	struct scenario *s;

	if (scenario_load(path, &opt, &s, err))
		panic("%s", err);
	return s;
}

/* CPU time, ns. */
static inline u64 bench_variant(struct scenario *s, u32 variant)
{
	struct target_result *res = calloc(1, sizeof(*res));
	char err[TARGET_ERROR_MAX] = "";
	struct target_request req;
	struct target *t;
	u64 begin;
	u64 ns;

	scenario_request(s, variant, 1, &sim_target_ops, &req);
	begin = bench_now_ns();
	if (sim_target_ops.open(&req, &t, err) || sim_target_ops.run(t, res))
		panic("%s%s", err, res->error);
	sim_target_ops.close(t);
	ns = bench_now_ns() - begin;
	free(res);
	return ns;
}

#endif
