/*
 * What looking costs: the same run plain, with time series, and with everything a trace needs.
 *
 * Eight tasks on four CPUs fill twice the memory there is: faults, reclaim and swap. CPU time, the least
 * of several runs of each; the values are factors of the plain run's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/batch.h"
#include "cli/sim_target.h"
#include "lib/bug.h"
#include "load/scenario.h"
#include "report/trace.h"
#include "tests/bench/yardstick.h"

#define RUNS 5

static const char *const text =
	"scenario 'record'\n"
	"machine { profile = 'small', cpus = 4, ram = '256M', swap = '1G' }\n"
	"group 'hog' { count = 8, run = function(t)\n"
	"  local m = t:mmap('64M')\n"
	"  for _ = 1, 6 do m:fill(); m:madvise('free') end\n"
	"end }\n";

static u64 run(struct scenario *s, bool series, u32 nr_slices)
{
	struct target_result *res = calloc(1, sizeof(*res));
	char err[TARGET_ERROR_MAX] = "";
	struct target_request req;
	struct target *t;
	u64 begin;
	u64 ns;

	scenario_request(s, 0, 1, &sim_target_ops, &req);
	req.series = series;
	req.nr_slices = nr_slices;
	begin = bench_now_ns();
	if (sim_target_ops.open(&req, &t, err) || sim_target_ops.run(t, res))
		panic("%s%s", err, res->error);
	trace_free(sim_target_trace(t));
	sim_target_ops.close(t);
	ns = bench_now_ns() - begin;
	free(res);
	return ns;
}

static void print(const char *name, u64 ns, u64 plain, double wanted, double yard)
{
	printf("{\"name\":\"%s\",\"value\":%.3f,\"unit\":\"x\",\"floor\":%.2f,\"wanted\":%.2f,"
	       "\"yardstick_ns\":%.0f}\n",
	       name, (double)ns / (double)plain, wanted, wanted, yard);
}

int main(void)
{
	char path[] = "/tmp/quire-bench-XXXXXX";
	char err[TARGET_ERROR_MAX] = "";
	struct scenario_options opt = {.names = &cli_load_names,
	                               .machine_dirs = cli_machine_dirs()};
	u64 least[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
	double yard = yardstick();
	int fd = mkstemp(path);
	struct scenario *s;

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		panic("cannot write %s", path);
	close(fd);
	if (scenario_load(path, &opt, &s, err))
		panic("%s", err);
	unlink(path);
	for (u32 i = 0; i < RUNS; i++) {
		least[0] = min(least[0], run(s, false, 0));
		least[1] = min(least[1], run(s, true, 0));
		least[2] = min(least[2], run(s, true, TRACE_SLICES_MAX));
	}
	scenario_free(s);
	printf("plain: %.0f ms\n", (double)least[0] / 1e6);
	print("record_series", least[1], least[0], 1.10, yard);
	print("record_trace", least[2], least[0], 2.00, yard);
	return 0;
}
