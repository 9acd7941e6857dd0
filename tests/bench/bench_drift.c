/*
 * The drift experiment (mail 004): its five policies on 64 CPUs and 32 GB, memory filled and then turned
 * over once. CPU time of all five, halved: they are runs of their own, and take two cores.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/batch.h"
#include "cli/sim_target.h"
#include "lib/bug.h"
#include "load/scenario.h"
#include "tests/bench/yardstick.h"

#define CORES 2

static u64 run(struct scenario *s, u32 variant)
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

int main(void)
{
	const char *set[] = {"param.percent=200"};
	struct scenario_options opt = {
		.names = &cli_load_names,
		.machine_dirs = cli_machine_dirs(),
		.set = set,
		.nr_set = ARRAY_SIZE(set),
	};
	char err[TARGET_ERROR_MAX] = "";
	double yard = yardstick();
	struct scenario *s;
	u64 sum = 0;

	if (scenario_load("scenarios/drift.lua", &opt, &s, err))
		panic("%s", err);
	for (u32 v = 0; v < s->nr_variants; v++) {
		u64 ns = run(s, v);

		printf("  %-20s %.1f s\n", s->variant[v].name, (double)ns / 1e9);
		fflush(stdout);
		sum += ns;
	}
	bench_print("drift, five policies", (double)sum / 1e9 / CORES, "s", 120, 60, yard);
	scenario_free(s);
	return 0;
}
