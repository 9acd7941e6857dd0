/*
 * Whole machines under random operations.
 *
 * Aim: whatever tasks do, in whatever order, the machine's invariants hold and nothing is lost.
 * Method: tiny machines (1 to 4 CPUs, 12 to 40 MiB, swap on each kind of disk, both presets, random
 * knobs), a few tasks that map, fill, read, advise, protect, fork, wait and unmap at random; contents
 * are tagged and every read is checked by the simulation; the whole machine is audited at the end,
 * and then every frame must be free again. Each case prints its own seed when it fails.
 */
#include "tests/test.h"

#include <errno.h>

#include "core/internal.h"
#include "lib/random.h"
#include "sim/sim.h"
#include "tests/hw_util.h"
#include "world/world.h"

enum {
	STREAM_CASE = 1,
	STREAM_TASK,
};

#define MAPS_MAX 8
#define CHILDREN_MAX 3

struct plan {
	struct machine *m;
	u64 seed;
	u64 max_pages; /* of one mapping */
	u32 nr_ops;
	u32 next_task;
	u32 nr_killed;
};

struct worker {
	struct plan *plan;
	struct rand_stream r;
	u32 depth;
	u32 nr_maps;
	struct {
		u64 va;
		u64 pages;
	} map[MAPS_MAX];
	struct task *child[CHILDREN_MAX];
	u32 nr_children;
};

static void worker_main(struct task *t, void *arg);

static struct worker *worker_new(struct plan *p, const struct worker *parent)
{
	struct worker *w = calloc(1, sizeof(*w));

	BUG_ON(!w);
	if (parent) { /* a fork has its parent's mappings */
		*w = *parent;
		w->nr_children = 0;
		w->depth += 1;
	}
	w->plan = p;
	rand_init(&w->r, p->seed, STREAM_TASK, p->next_task++);
	return w;
}

static int op_map(struct worker *w)
{
	u64 pages = 1 + rand_below(&w->r, w->plan->max_pages);
	u64 va;
	int rc;

	if (w->nr_maps == MAPS_MAX)
		return 0;
	rc = do_mmap(w->plan->m, pages * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, 0, &va);
	if (rc)
		return rc;
	w->map[w->nr_maps].va = va;
	w->map[w->nr_maps++].pages = pages;
	return 0;
}

/* A random part of a random mapping. False: there is none. */
static bool pick(struct worker *w, u32 *i, u64 *va, u64 *len)
{
	u64 first;

	if (!w->nr_maps)
		return false;
	*i = (u32)rand_below(&w->r, w->nr_maps);
	first = rand_below(&w->r, w->map[*i].pages);
	*va = w->map[*i].va + first * PAGE_SIZE;
	*len = (1 + rand_below(&w->r, w->map[*i].pages - first)) * PAGE_SIZE;
	return true;
}

static int op_access(struct worker *w)
{
	static const enum world_access kind[] = {WORLD_READ, WORLD_WRITE, WORLD_FILL, WORLD_SCAN};
	u64 va, len;
	u32 i;
	int rc;

	if (!pick(w, &i, &va, &len))
		return 0;
	rc = mm_access(w->plan->m, va, len, kind[rand_below(&w->r, 4)],
	               rand_below(&w->r, 2) ? rand_u64(&w->r) | 1 : 0);
	return rc == -EFAULT ? 0 : rc; /* parts may be protected or unmapped */
}

static int op_advise(struct worker *w)
{
	static const enum mm_advice advice[] = {MM_MADV_DONTNEED, MM_MADV_FREE, MM_MADV_FREE,
	                                        MM_MADV_WILLNEED, MM_MADV_NORMAL};
	u64 va, len;
	u32 i;
	int rc;

	if (!pick(w, &i, &va, &len))
		return 0;
	rc = do_madvise(w->plan->m, va, len, advice[rand_below(&w->r, ARRAY_SIZE(advice))]);
	return rc == -ENOMEM ? 0 : rc; /* a hole: mprotect and munmap make them */
}

static int op_protect(struct worker *w)
{
	static const int prot[] = {MM_PROT_NONE, MM_PROT_READ, MM_PROT_READ | MM_PROT_WRITE,
	                           MM_PROT_READ | MM_PROT_WRITE};
	u64 va, len;
	u32 i;
	int rc;

	if (!pick(w, &i, &va, &len))
		return 0;
	rc = do_mprotect(w->plan->m, va, len, prot[rand_below(&w->r, ARRAY_SIZE(prot))]);
	return rc == -ENOMEM ? 0 : rc;
}

static int op_unmap(struct worker *w)
{
	u64 va, len;
	u32 i;
	int rc;

	if (!pick(w, &i, &va, &len))
		return 0;
	if (rand_below(&w->r, 3) == 0)
		return do_munmap(w->plan->m, va, len); /* a hole or an end */
	rc = do_munmap(w->plan->m, w->map[i].va, w->map[i].pages * PAGE_SIZE);
	w->map[i] = w->map[--w->nr_maps];
	return rc;
}

static int op_fork(struct worker *w)
{
	struct worker *c;
	struct task *child = NULL;
	int rc;

	if (w->depth == 2 || w->nr_children == CHILDREN_MAX)
		return 0;
	c = worker_new(w->plan, w);
	rc = do_fork(w->plan->m, "child", worker_main, c, &child);
	if (rc) {
		free(c);
		return rc == -ENOMEM ? 0 : rc;
	}
	w->child[w->nr_children++] = child;
	task_start(child, -1);
	return 0;
}

static int op_wait(struct worker *w)
{
	if (!w->nr_children)
		return 0;
	return do_wait(w->child[--w->nr_children]);
}

static int op_sleep(struct worker *w)
{
	world_syscall_enter();
	world_sleep(rand_below(&w->r, 3000000));
	world_syscall_exit();
	return 0;
}

static int one_op(struct worker *w)
{
	u64 op = rand_below(&w->r, 100);

	if (op < 15)
		return op_map(w);
	if (op < 60)
		return op_access(w);
	if (op < 75)
		return op_advise(w);
	if (op < 79)
		return op_protect(w);
	if (op < 87)
		return op_unmap(w);
	if (op < 90)
		return op_fork(w);
	if (op < 94)
		return op_wait(w);
	return op_sleep(w);
}

static void worker_main(struct task *t, void *arg)
{
	struct worker *w = arg;
	u32 nr = w->plan->nr_ops >> w->depth;
	int rc = 0;

	while (nr-- && !rc)
		rc = one_op(w);
	while (!rc && w->nr_children)
		rc = op_wait(w);
	if (rc) {
		/* Only the OOM killer ends a worker early: anything else is a bug. */
		BUG_ON(rc != -EINTR || !task_killed(t));
		w->plan->nr_killed += 1;
	}
	free(w);
}

/* Values that change how the machine works, half of the time other than the preset's. */
static void random_knobs(struct knobs *k, struct rand_stream *r)
{
	for (u32 i = 0; i < knob_count(); i++) {
		const struct knob_info *info = knob_at(i);
		char err[256];

		if (!info->nr_values || rand_below(r, 4))
			continue;
		assert_int_equal(0, knob_set(k, info->name,
		                             info->value[rand_below(r, info->nr_values)], err,
		                             sizeof(err)));
	}
}

/*
 * What nobody uses any more must be gone; writes may still be under way. Exact values: /proc's leave out the
 * CPUs' differences.
 */
static void nothing_is_left(struct machine *m)
{
	static const enum vm_item item[] = {NR_ANON_MAPPED, NR_PAGETABLE, NR_ISOLATED_ANON,
	                                    NR_ISOLATED_FILE};
	struct pglist_data *nd;
	struct zone *z;

	for (u32 i = 0; i < ARRAY_SIZE(item); i++) {
		long nr = 0;

		for_each_node (m, nd)
			nr += stat_exact(m, &nd->stat, item[i]);
		for_each_zone (m, nd, z)
			nr += stat_exact(m, &z->stat, item[i]);
		if (nr)
			print_message("%s is %ld after all tasks have ended\n",
			              vm_item_name[item[i]], nr);
		assert_int_equal(0, nr);
	}
}

static void run_case(u64 seed)
{
	struct rand_stream r;
	struct knobs knobs;
	struct hw_machine *hw;
	struct world *w;
	struct plan plan = {.seed = seed};
	u32 nr_tasks;
	char err[512];
	int rc;

	rand_init(&r, seed, STREAM_CASE, 0);
	hw = hw_make(1 + (u32)rand_below(&r, 4), 1 + (u32)rand_below(&r, 2),
	             3072 + rand_below(&r, 7168));
	switch (rand_below(&r, 4)) {
	case 0:
		break;
	case 1:
		hw_add_flash(hw, 64 << 20);
		break;
	case 2:
		hw_add_rotating(hw, 64 << 20);
		break;
	default:
		hw_add_zram(hw, 64 << 20);
		break;
	}
	assert_int_equal(0, knobs_preset(&knobs, rand_below(&r, 2) ? "4.0" : "6.18"));
	if (rand_below(&r, 2))
		random_knobs(&knobs, &r);
	w = sim_create(hw,
	               &(struct sim_options){.seed = seed, .check = true, .max_ns = 600000000000},
	               err);
	assert_non_null(w);
	plan.m = machine_create(w, &knobs, err, sizeof(err));
	if (!plan.m)
		print_message("%s\n", err);
	assert_non_null(plan.m);
	if (hw->nr_disks)
		assert_int_equal(0, do_swapon(plan.m, 0, -1));
	plan.max_pages = 16 + rand_below(&r, 3000);
	plan.nr_ops = 30 + (u32)rand_below(&r, 120);
	nr_tasks = 1 + (u32)rand_below(&r, 5);
	for (u32 i = 0; i < nr_tasks; i++) {
		struct task *t =
			task_create(plan.m, "worker", NULL, worker_main, worker_new(&plan, NULL));

		assert_non_null(t);
		task_start(t, -1);
	}
	rc = sim_run(w);
	if (rc)
		print_message("case seed 0x%lx: sim_run returned %d\n", seed, rc);
	assert_int_equal(0, rc);
	machine_audit(plan.m);
	nothing_is_left(plan.m);
	machine_destroy(plan.m);
	sim_destroy(w);
	hw_free(hw);
}

TEST(random_operations_keep_every_invariant)
{
	const char *nr = getenv("QUIRE_CASES");
	u64 cases = nr ? strtoull(nr, NULL, 0) : 60;

	for (u64 i = 0; i < cases; i++) {
		u64 seed = rand_hash(test_seed(), 0, i, 0);

		if (getenv("QUIRE_CASE"))
			seed = strtoull(getenv("QUIRE_CASE"), NULL, 0);
		if (getenv("QUIRE_VERBOSE"))
			print_message("case %lu: QUIRE_CASE=0x%lx QUIRE_CASES=1\n", i, seed);
		run_case(seed);
	}
}

TEST_MAIN("random_ops")
