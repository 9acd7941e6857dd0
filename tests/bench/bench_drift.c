/*
 * The drift experiment (mail 004): its five policies on 64 CPUs and 32 GB, memory filled and then turned
 * over once. CPU time of all five, halved: they are runs of their own, and take two cores.
 */
#include <stdio.h>

#include "tests/bench/bench_scenario.h"

#define CORES 2

int main(void)
{
	const char *set[] = {"param.percent=200"};
	double yard = yardstick();
	struct scenario *s = bench_scenario("scenarios/drift.lua", set, ARRAY_SIZE(set));
	u64 sum = 0;

	for (u32 v = 0; v < s->nr_variants; v++) {
		u64 ns = bench_variant(s, v);

		printf("  %-20s %.1f s\n", s->variant[v].name, (double)ns / 1e9);
		fflush(stdout);
		sum += ns;
	}
	bench_print("drift, five policies", (double)sum / 1e9 / CORES, "s", 120, 60, yard);
	scenario_free(s);
	return 0;
}
