/*
 * What looking costs: spans and histograms, which every run has; the same run with time series; and with
 * everything a trace needs.
 *
 * Eight tasks on four CPUs fill twice the memory there is: faults, reclaim and swap. CPU time, in rounds of
 * one run of each kind, whose order changes: a ratio is of runs of the same round, and the median of the
 * rounds counts. Spans and histograms cannot be left out of a run. What they take is what a span and a
 * sample of a histogram take, measured, times how many of them the run has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/sim_target.h"
#include "lib/bug.h"
#include "report/trace.h"
#include "tests/bench/yardstick.h"
#include "tests/cli/scenario_text.h"
#include "world/null.h"
#include "world/world.h"

#define ROUNDS 9

static const char *const text =
	"scenario 'record'\n"
	"machine { profile = 'small', cpus = 4, ram = '256M', swap = '1G' }\n"
	"group 'hog' { count = 8, run = function(t)\n"
	"  local m = t:mmap('64M')\n"
	"  for _ = 1, 6 do m:fill(); m:madvise('free') end\n"
	"end }\n";

enum kind { PLAIN, SERIES, TRACE, NR_KINDS };

/* How often what is measured in share_of_ledger() happened. */
struct counts {
	u64 spans;
	u64 samples;
};

static void count(const struct ledger *l, struct counts *n)
{
	*n = (struct counts){0};
	for (u32 i = 1; i < l->nr_nodes; i++)
		n->spans += l->node[i].count;
	for (u32 i = 0; i < NR_LEDGER_HISTS; i++)
		n->samples += l->hist[i].count;
}

static u64 run(struct scenario *s, enum kind kind, struct counts *n)
{
	struct target_result *res = calloc(1, sizeof(*res));
	char err[TARGET_ERROR_MAX] = "";
	struct target_request req;
	struct target *t;
	u64 begin;
	u64 ns;

	scenario_request(s, 0, 1, &sim_target_ops, &req);
	req.series = kind != PLAIN;
	req.nr_slices = kind == TRACE ? TRACE_SLICES_MAX : 0;
	begin = bench_now_ns();
	if (sim_target_ops.open(&req, &t, err) || sim_target_ops.run(t, res))
		panic("%s%s", err, res->error);
	trace_free(sim_target_trace(t));
	if (n)
		count(sim_target_ledger(t), n);
	sim_target_ops.close(t);
	ns = bench_now_ns() - begin;
	free(res);
	return ns;
}

#define LOOPS 4000000

/* ns of one span, entered and left, and of one sample, on a CPU of the null world. */
static void measure_ledger(double *span_ns, double *sample_ns)
{
	struct hw_machine *hw = null_hw(1, 1, 1024);
	struct world *w = null_create(hw);
	u64 begin = bench_now_ns();
	u64 middle;

	for (u32 i = 0; i < LOOPS; i++) {
		span_enter(SPAN_FAULT);
		charge(COST_PTE);
		span_exit();
	}
	middle = bench_now_ns();
	for (u32 i = 0; i < LOOPS; i++) {
		charge(COST_PTE);
		world_latency(HIST_FAULT, 0);
	}
	*span_ns = (double)(middle - begin) / LOOPS;
	*sample_ns = (double)(bench_now_ns() - middle) / LOOPS;
	null_destroy(w);
	null_hw_free(hw);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, u32 n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static void print(const char *name, double value, double wanted, double yard)
{
	printf("{\"name\":\"%s\",\"value\":%.3f,\"unit\":\"x\",\"floor\":%.2f,\"wanted\":%.2f,"
	       "\"yardstick_ns\":%.0f}\n",
	       name, value, wanted, wanted, yard);
}

int main(void)
{
	double ratio[NR_KINDS][ROUNDS];
	double plain[ROUNDS];
	double yard = yardstick();
	struct scenario *s = scenario_from_text(text);
	struct counts n;
	double span_ns;
	double sample_ns;
	double ledger;

	for (u32 i = 0; i < ROUNDS; i++) {
		u64 ns[NR_KINDS];

		for (u32 k = 0; k < NR_KINDS; k++)
			ns[(i + k) % NR_KINDS] = run(s, (i + k) % NR_KINDS, &n);
		plain[i] = (double)ns[PLAIN];
		for (u32 k = 0; k < NR_KINDS; k++)
			ratio[k][i] = (double)ns[k] / (double)ns[PLAIN];
	}
	scenario_free(s);
	measure_ledger(&span_ns, &sample_ns);
	ledger = (double)n.spans * span_ns + (double)n.samples * sample_ns;
	printf("plain: %.0f ms, of which %lu spans of %.1f ns and %lu samples of %.1f ns\n",
	       median(plain, ROUNDS) / 1e6, n.spans, span_ns, n.samples, sample_ns);
	ledger /= median(plain, ROUNDS);
	/* All three against a run that would have none of them. */
	print("record_ledger", 1 / (1 - ledger), 1.10, yard);
	print("record_series", median(ratio[SERIES], ROUNDS) / (1 - ledger), 1.10, yard);
	print("record_trace", median(ratio[TRACE], ROUNDS) / (1 - ledger), 2.00, yard);
	return 0;
}
