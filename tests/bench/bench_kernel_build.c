/*
 * A kernel build (mail 002) of 400 units on 12 CPUs and 1 GB: CPU time of one run of each variant.
 */
#include <stdio.h>

#include "tests/bench/bench_scenario.h"

int main(void)
{
	const char *set[] = {"param.units=400"};
	double yard = yardstick();
	struct scenario *s = bench_scenario("scenarios/kernel-build.lua", set, ARRAY_SIZE(set));

	for (u32 v = 0; v < s->nr_variants; v++) {
		char name[64];
		u64 ns = bench_variant(s, v);

		snprintf(name, sizeof(name), "kernel build, 400 units, %s", s->variant[v].name);
		bench_print(name, (double)ns / 1e9, "s", 60, 20, yard);
		fflush(stdout);
	}
	scenario_free(s);
	return 0;
}
