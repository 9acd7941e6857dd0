/*
 * First touches in a row are taken as one (core/first_touch.h).
 *
 * Aim: a run of faults leaves every clock, counter, book and page as single faults would, while no other CPU
 * is behind; and where one is, the same but for what runs ahead by 20 us may differ. Method: the same tasks
 * on the same machine, once with the upcall for runs and once without, under random sizes, orders and advice.
 * On one CPU, with memory to spare and without, everything that a report could print is compared; on several,
 * with memory to spare, what was done, how long it took, and how many lines changed their CPU.
 */
#include "tests/test.h"

#include "core/internal.h"
#include "sim/sim.h"
#include "tests/hw_util.h"

#define NR_FRAMES 24576 /* fewer, and per-CPU lists have one page */

struct plan {
	struct machine *m;
	u64 seed;
	u64 pages;     /* of each task */
	bool in_order; /* nothing is touched at random */
	u32 nr_ops;
	u32 next;
};

/* Touches runs of pages in order or not, gives some back, forks. */
static void worker(struct task *t, void *arg)
{
	struct plan *p = arg;
	struct rand_stream r;
	u64 va;

	rand_init(&r, p->seed, 1, p->next++);
	if (do_mmap(p->m, p->pages * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, 0, &va))
		return;
	for (u32 i = 0; i < p->nr_ops && !task_killed(t); i++) {
		u64 first = rand_below(&r, p->pages);
		u64 nr = 1 + rand_below(&r, p->pages - first);
		u64 order = !p->in_order && rand_chance(&r, 1, 4) ? rand_u64(&r) | 1 : 0;
		u64 at = va + first * PAGE_SIZE;

		if (rand_chance(&r, 2, 3))
			mm_access(p->m, at, nr * PAGE_SIZE, (enum world_access)rand_below(&r, 3),
			          order);
		else
			do_madvise(p->m, at, nr * PAGE_SIZE, MM_MADV_DONTNEED);
	}
}

struct outcome {
	u64 sum;
	u64 elapsed;
	u64 nr_faults;
	u64 nr_moved; /* lines that came from another CPU */
	u64 nr_runs;  /* upcalls that took more than one */
};

static void add(const char *name, u64 value, bool event, void *arg)
{
	struct outcome *o = arg;

	(void)event;
	o->sum = rand_hash(o->sum, 1, value, 0);
	if (strcmp(name, "pgfault") == 0)
		o->nr_faults = value;
}

/* The spans, costs, locks and latencies. */
static void add_ledger(struct outcome *o, const struct world *w)
{
	const struct ledger *l = &w->ledger;

	for (u32 i = 0; i < l->nr_nodes; i++)
		o->sum = rand_hash(o->sum, 2, l->node[i].ns, l->node[i].count);
	for (u32 i = 0; i < NR_WORLD_COSTS; i++)
		o->sum = rand_hash(o->sum, 3, i, l->cost_count[i]);
	for (u32 i = 0; i < NR_LEDGER_LOCKS; i++)
		o->sum = rand_hash(o->sum, 4, l->lock[i].acquisitions,
		                   l->lock[i].hold_ns + rand_mix(l->lock[i].hold_ns_max) +
		                           rand_mix(l->lock[i].wait_ns));
	for (u32 i = 0; i < NR_LEDGER_HISTS; i++)
		for (u32 k = 0; k < HIST_BUCKETS; k++)
			o->sum = rand_hash(o->sum, 5, l->hist[i].bucket[k], l->hist[i].sum);
}

static u64 nr_counted;

static u32 counted_run(void *machine, struct world_task *t, u64 va, u32 max, u64 gap_ns,
                       bool single)
{
	u32 nr = machine_fault_run(machine, t, va, max, gap_ns, single);

	nr_counted += nr > 1;
	return nr;
}

static struct outcome run(u64 seed, const char *preset, u32 nr_cpus, bool runs)
{
	struct outcome o = {0};
	struct plan p = {.seed = seed, .nr_ops = 12};
	struct world_upcalls up;
	struct hw_machine *hw;
	struct rand_stream r;
	struct knobs k;
	struct world *w;
	u64 nr_frames = nr_cpus == 1 ? NR_FRAMES : 4 * NR_FRAMES;
	u32 nr_tasks;
	char err[512];

	rand_init(&r, seed, 0, 0);
	hw = hw_make(nr_cpus, 1, nr_frames);
	p.in_order = nr_cpus > 1;
	nr_tasks = 1 + (u32)rand_below(&r, 12);
	p.pages = (nr_cpus == 1 && rand_chance(&r, 1, 2) ? nr_frames * 9 / 8 : nr_frames / 2) /
	          nr_tasks;
	hw_add_flash(hw, 256 << 20);
	assert_int_equal(0, knobs_preset(&k, preset));
	w = sim_create(hw, &(struct sim_options){.seed = seed, .max_ns = 60000000000}, err);
	assert_non_null(w);
	p.m = machine_create(w, &k, err, sizeof(err));
	assert_non_null(p.m);
	up = *w->up;
	assert_non_null(up.fault_run);
	up.fault_run = runs ? counted_run : NULL;
	w->up = &up;
	assert_int_equal(0, do_swapon(p.m, 0, -1));
	for (u32 i = 0; i < nr_tasks; i++) {
		struct task *t = task_create(p.m, "worker", NULL, worker, &p);

		assert_non_null(t);
		task_start(t, -1);
	}
	nr_counted = 0;
	sim_run(w);
	o.elapsed = sim_elapsed(w);
	machine_counters(p.m, add, &o);
	add_ledger(&o, w);
	o.nr_moved = w->ledger.cost_count[COST_LINE_SOCKET] + w->ledger.cost_count[COST_LINE_CORE];
	o.nr_runs = nr_counted;
	machine_destroy(p.m);
	sim_destroy(w);
	hw_free(hw);
	return o;
}

static const char *const preset[] = {"2.6.36", "3.1", "4.0", "4.5", "6.18"};

TEST(runs_of_faults_leave_what_single_faults_leave)
{
	u64 nr_runs = 0;

	for (u32 i = 0; i < 40; i++) {
		u64 seed = rand_hash(test_seed(), 1, i, 0);
		const char *name = preset[i % ARRAY_SIZE(preset)];
		struct outcome single = run(seed, name, 1, false);
		struct outcome many = run(seed, name, 1, true);

		nr_runs += many.nr_runs;
		if (single.sum != many.sum || single.elapsed != many.elapsed)
			fail_msg("case %u, %s: %lu faults in %lu ns one by one, %lu in %lu ns in "
			         "runs",
			         i, name, single.nr_faults, single.elapsed, many.nr_faults,
			         many.elapsed);
	}
	assert_true(nr_runs > 1000);
}

static bool is_near(u64 a, u64 b, u64 percent)
{
	return a * 100 <= b * (100 + percent) && b * 100 <= a * (100 + percent);
}

TEST(running_ahead_moves_as_many_lines_and_takes_as_long)
{
	struct outcome one = {0}, all = {0};

	for (u32 i = 0; i < 20; i++) {
		u64 seed = rand_hash(test_seed(), 2, i, 0);
		const char *name = preset[i % ARRAY_SIZE(preset)];
		u32 nr_cpus = 2 + i % 7;
		struct outcome single = run(seed, name, nr_cpus, false);
		struct outcome many = run(seed, name, nr_cpus, true);

		assert_int_equal(single.nr_faults, many.nr_faults);
		one.nr_runs += many.nr_runs;
		one.elapsed += single.elapsed;
		all.elapsed += many.elapsed;
		one.nr_moved += single.nr_moved;
		all.nr_moved += many.nr_moved;
	}
	print_message("%lu ms and %lu lines one by one, %lu and %lu in runs\n",
	              one.elapsed / 1000000, one.nr_moved, all.elapsed / 1000000, all.nr_moved);
	assert_true(one.nr_runs > 1000);
	/* If the lines were not paid for afterwards, a fifth of them would be missing. */
	assert_true(is_near(one.elapsed, all.elapsed, 2));
	assert_true(is_near(one.nr_moved, all.nr_moved, 8));
}

TEST_MAIN("fault_runs")
