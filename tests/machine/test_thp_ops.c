/*
 * Huge pages under random operations, in three eras.
 *
 * Aim: after 10,000 operations (map, fill, lock, fork, split, zap, collapse, pin, swap out) in each of three
 * eras of huge pages the machine's invariants hold, nothing is lost, and all of them have happened. Method: the
 * workers of the random-operations test (workers.h), with more that concerns huge pages, on machines of 16 to 32
 * MiB with swap and a hasty khugepaged; contents are tagged and checked, each machine is audited at its end,
 * with DEBUG_VM=2 every 25 operations too, and everything must have been given back.
 *
 *   QUIRE_OPS=10000 SEED=7 make test T=thp_ops      so many operations in each era (1,000 otherwise)
 */
#include "tests/test.h"

#include "core/vmstat.h"
#include "sim/sim.h"
#include "tests/hw_util.h"
#include "tests/machine/leaks.h"
#include "tests/machine/workers.h"

#define STREAM_MACHINE 90
#define OPS_DEFAULT 1000

/* What must have happened at least once in an era's run. */
static const enum vm_event wanted[] = {
	THP_FAULT_ALLOC, THP_COLLAPSE_ALLOC, THP_SPLIT_PAGE, UNEVICTABLE_PGMLOCKED, PSWPOUT, PSWPIN,
};
/* The same for those that split later than at once. */
static const enum vm_event wanted_4_5[] = {
	THP_SPLIT_PMD,
	THP_DEFERRED_SPLIT_PAGE,
};
#define OPS_LONG 10000 /* splits that fail, of pinned pages, are seldom */

struct era {
	const char *preset;
	bool sizes; /* others than 2 MiB too, and swap in RAM */
	u64 ops;
	u64 event[NR_VM_EVENTS];
	u64 size_event[NR_MTHP_STATS]; /* of those below 2 MiB */
};

static void janitor_main(struct task *t, void *arg)
{
	struct plan *p = arg;

	(void)t;
	world_syscall_enter();
	do
		world_sleep(100000000);
	while (p->nr_running || !machine_is_quiet(p->m));
	world_syscall_exit();
}

static void start_tasks(struct plan *p, u32 nr)
{
	for (u32 i = 0; i <= nr; i++) {
		struct task *t = i < nr ? task_create(p->m, "worker", NULL, worker_main,
		                                      worker_new(p, NULL, false))
		                        : task_create(p->m, "janitor", NULL, janitor_main, p);

		BUG_ON(!t);
		plan_start(p, t);
	}
	p->task[p->nr_tasks - 1]->oom_score_adj = -1000;
	p->nr_running -= 1;
}

static void set(struct knobs *k, const char *name, const char *value)
{
	char err[256];

	if (knob_set(k, name, value, err, sizeof(err)))
		panic("%s", err);
}

/* Each size by chance; 2 MiB seldom, or the others would not come to anything. */
static void random_sizes(struct knobs *k, struct rand_stream *r)
{
	static const char *const policy[] = {"never", "madvise", "inherit", "always"};
	char name[32];

	for (u32 o = MTHP_MIN_ORDER; o < MTHP_MAX_ORDER; o++) {
		snprintf(name, sizeof(name), "thp.%ukB", 4u << o);
		set(k, name, policy[rand_below(r, ARRAY_SIZE(policy))]);
	}
	if (rand_below(r, 4))
		set(k, "thp.2048kB", "never");
}

static void era_knobs(struct knobs *k, const char *preset, struct rand_stream *r)
{
	BUG_ON(knobs_preset(k, preset));
	set(k, "thp.enabled", "always");
	set(k, "vm.min_free_kbytes", "512");
	set(k, "khugepaged.scan_sleep_millisecs", "4");
	set(k, "khugepaged.alloc_sleep_millisecs", "10");
	if (rand_below(r, 2))
		set(k, "khugepaged.max_ptes_none", "64");
	if (rand_below(r, 2))
		set(k, "thp.defrag", "always");
}

/* One machine. */
static void run(struct era *era, u64 seed)
{
	struct sim_options opt = {.seed = seed, .check = true, .max_ns = 3000000000000};
	struct plan p = {
		.seed = seed, .max_pages = 2500, .nr_ops = 100, .locks = true, .huge = true};
	struct rand_stream r;
	struct hw_machine *hw;
	struct knobs k;
	struct world *w;
	long frames_at_boot;
	char err[SIM_ERROR_MAX];

	rand_init(&r, seed, STREAM_MACHINE, 0);
	hw = hw_make(1 + (u32)rand_below(&r, 3), 1, 4096 + rand_below(&r, 4096));
	if (era->sizes && rand_below(&r, 2))
		hw_add_zram(hw, 64 << 20);
	else
		hw_add_flash(hw, 64 << 20);
	era_knobs(&k, era->preset, &r);
	if (era->sizes)
		random_sizes(&k, &r);
	opt.explore = rand_below(&r, 2);
	p.audit_every = DEBUG_VM >= 2 ? 25 : 0;
	p.threads = rand_below(&r, 2);
	w = sim_create(hw, &opt, err);
	BUG_ON(!w);
	p.m = machine_create(w, &k, err, sizeof(err));
	BUG_ON(!p.m);
	BUG_ON(do_swapon(p.m, 0, -1));
	frames_at_boot = frames_out(p.m);
	start_tasks(&p, 3);
	BUG_ON(sim_run(w));
	while (p.nr_tasks)
		task_put(p.task[--p.nr_tasks]);
	machine_audit(p.m);
	xa_drop_stocks(p.m);
	nothing_is_left(p.m, frames_at_boot);
	for (u32 e = 0; e < NR_VM_EVENTS; e++)
		era->event[e] += vm_event_sum(p.m, (enum vm_event)e);
	for (u32 o = MTHP_MIN_ORDER; o < MTHP_MAX_ORDER; o++)
		for (u32 e = 0; e < NR_MTHP_STATS; e++)
			era->size_event[e] += p.m->mthp_stat[o][e];
	era->ops += p.nr_done;
	machine_destroy(p.m);
	sim_destroy(w);
	hw_free(hw);
}

static u64 nr_ops_wanted(void)
{
	const char *ops = getenv("QUIRE_OPS");

	return ops ? strtoull(ops, NULL, 0) : OPS_DEFAULT;
}

/* An event that every era should see and this one has not; NULL: none. */
static const char *lacks(const struct era *era, bool splits_later)
{
	for (u32 i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!era->event[wanted[i]])
			return vm_event_name[wanted[i]];
	for (u32 i = 0; splits_later && i < ARRAY_SIZE(wanted_4_5); i++)
		if (!era->event[wanted_4_5[i]])
			return vm_event_name[wanted_4_5[i]];
	return NULL;
}

/* Goes on, eight times as long at most, until all has been seen. Returns how many splits have failed. */
static u64 run_era(const char *preset, bool splits_later)
{
	u64 target = nr_ops_wanted();
	struct era era = {.preset = preset};
	const char *lack;

	for (u64 i = 0; era.ops < target || (lacks(&era, splits_later) && era.ops < 8 * target);
	     i++)
		run(&era, rand_hash(test_seed(), STREAM_MACHINE, i, 0));
	lack = lacks(&era, splits_later);
	VM_BUG_ON_MSG(lack, "%s: %s has not happened in %lu operations", preset, lack, era.ops);
	return era.event[THP_SPLIT_PAGE_FAILED];
}

TEST(of_3_1_they_are_split_at_once)
{
	run_era("3.1", false);
}

TEST(of_4_5_they_are_split_later)
{
	u64 nr_failed = run_era("4.5", true);

	VM_BUG_ON_MSG(!nr_failed && nr_ops_wanted() >= OPS_LONG, "no split has failed");
}

TEST(of_6_18_they_are_swapped_out_whole_too)
{
	run_era("6.18", true);
}

TEST(of_6_18_other_sizes_are_swapped_out_and_in_whole)
{
	u64 target = nr_ops_wanted();
	struct era era = {.preset = "6.18", .sizes = true};

	for (u64 i = 0; era.ops < target; i++)
		run(&era, rand_hash(test_seed(), STREAM_MACHINE, i, 1));
	for (u32 e = 0; e < NR_MTHP_STATS; e++)
		VM_BUG_ON_MSG(!era.size_event[e] && e != MTHP_SPLIT_FAILED &&
		                      e != MTHP_SWPIN_FALLBACK && e != MTHP_SWPOUT_FALLBACK,
		              "%s has not happened in %lu operations", mthp_stat_name(e), era.ops);
}

TEST_MAIN("thp_ops")
