/*
 * How fast the experiment of mail 001 runs: 300,000 mlock and as many munlock calls on 16 CPUs, once with
 * lru_add_drain_all() in each mlock and once without. CPU seconds of both together; scenarios/mlock-drain.lua
 * is the same with Lua around it.
 */
#include <stdio.h>

#include "core/knobs.h"
#include "core/mm.h"
#include "core/mm_types.h"
#include "sim/sim.h"
#include "tests/bench/yardstick.h"
#include "tests/hw_util.h"
#include "world/world.h"

#define CPUS 16
#define RAM_PAGES (24UL << 18)
#define ITERATIONS 100000

static void test_mlock(struct task *t, void *arg)
{
	struct machine *m = arg;
	u64 va, at;

	(void)t;
	BUG_ON(do_mmap(m, 33 * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, 0, &va));
	at = va + 29 * PAGE_SIZE + 2048;
	BUG_ON(mm_access(m, va + 29 * PAGE_SIZE, 4 * PAGE_SIZE, WORLD_WRITE, 0));
	for (u32 i = 0; i < ITERATIONS; i++) {
		BUG_ON(do_mlock(m, at, 24));
		BUG_ON(do_mlock(m, at + 24, 56));
		BUG_ON(do_mlock(m, at + 80, 4168));
		BUG_ON(do_munlock(m, at, 24));
		BUG_ON(do_munlock(m, at + 24, 56));
		BUG_ON(do_munlock(m, at + 80, 4168));
	}
}

static double run(enum mlock_drain_policy drain)
{
	struct hw_machine *hw = hw_make(CPUS, 2, RAM_PAGES);
	struct knobs knobs;
	char err[512] = "";
	struct machine *m;
	struct world *w;
	u64 begin;
	double s;

	BUG_ON(knobs_preset(&knobs, "3.1"));
	knobs.mlock_drain = drain;
	w = sim_create(hw, &(struct sim_options){.seed = 1}, err);
	m = w ? machine_create(w, &knobs, err, sizeof(err)) : NULL;
	if (!m)
		panic("%s", err);
	task_start(task_create(m, "test_mlock", NULL, test_mlock, m), -1);
	begin = bench_now_ns();
	BUG_ON(sim_run(w));
	s = (double)(bench_now_ns() - begin) / 1e9;
	machine_destroy(m);
	sim_destroy(w);
	hw_free(hw);
	return s;
}

int main(void)
{
	double best = 1e9;

	for (u32 i = 0; i < 3; i++) {
		double s = run(MLOCK_DRAIN_ALL) + run(MLOCK_DRAIN_LOCAL);

		best = s < best ? s : best;
	}
	bench_print("mlock_drain_both_16cpu", best, "s", 20, 8, yardstick());
	return 0;
}
