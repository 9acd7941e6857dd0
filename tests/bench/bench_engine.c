/*
 * What the engine itself costs: an order point that changes CPUs, one that does not, pairs of lock
 * calls, touches of resident memory. Best of five runs each.
 */
#include <string.h>

#include "sim/sim.h"
#include "tests/bench/yardstick.h"
#include "world/null.h"

#define RUNS 5

struct bench {
	struct world *w;
	u32 nr_cpus;
	u64 n; /* per task */
	struct spinlock *own;
	struct spinlock shared;
	struct rw_semaphore *sem;
	struct world_as as;
	pte_t *tables;
	u64 nr_pages;
	u64 seed;
};

struct bench_task {
	struct world_task task;
	struct bench *b;
	u32 i;
};

static void order_switches(void *arg)
{
	struct bench_task *t = arg;

	for (u64 i = 0; i < t->b->n; i++) {
		charge_ns(997 + (i * 7 + t->i) % 13);
		world_order();
	}
}

static void order_stays(void *arg)
{
	struct bench_task *t = arg;

	for (u64 i = 0; i < t->b->n; i++) {
		charge(COST_VMSTAT);
		world_order();
	}
}

static void lock_pairs(void *arg)
{
	struct bench_task *t = arg;
	struct spinlock *l = &t->b->own[t->i * 4];

	for (u64 i = 0; i < t->b->n; i++) {
		spin_lock(l);
		spin_unlock(l);
	}
}

static void contended_pairs(void *arg)
{
	struct bench_task *t = arg;

	for (u64 i = 0; i < t->b->n; i++) {
		spin_lock(&t->b->shared);
		charge_ns(100);
		spin_unlock(&t->b->shared);
		charge_ns(500);
	}
}

static void semaphore_pairs(void *arg)
{
	struct bench_task *t = arg;

	for (u64 i = 0; i < t->b->n; i++) {
		down_read(&t->b->sem[t->i]);
		up_read(&t->b->sem[t->i]);
	}
}

static void touches(void *arg)
{
	struct bench_task *t = arg;
	struct bench *b = t->b;
	u64 per = b->nr_pages / b->nr_cpus;

	world_use_as(&b->as);
	for (u64 i = 0; i < b->n; i++)
		world_user_access(&b->as, t->i * per * PAGE_SIZE, per * PAGE_SIZE, WORLD_WRITE,
		                  b->seed ? b->seed + i : 0);
}

static const struct world_upcalls no_upcalls = {.fault = NULL};

/* Tables that map nr_pages, all present: root, one second, some third, leaves. */
static void map_all(struct bench *b)
{
	u64 nr_leaves = DIV_ROUND_UP(b->nr_pages, PTRS_PER_TABLE);
	u64 nr_pmd = DIV_ROUND_UP(nr_leaves, PTRS_PER_TABLE);
	u64 flags = PTE_PRESENT | PTE_USER | PTE_WRITE;

	b->tables = aligned_alloc(PAGE_SIZE, (2 + nr_pmd + nr_leaves) * PAGE_SIZE);
	memset(b->tables, 0, (2 + nr_pmd + nr_leaves) * PAGE_SIZE);
	b->tables[0] = pte_make(1, flags);
	for (u64 i = 0; i < nr_pmd; i++)
		b->tables[PTRS_PER_TABLE + i] = pte_make(2 + i, flags);
	for (u64 i = 0; i < nr_leaves; i++)
		b->tables[2 * PTRS_PER_TABLE + i] = pte_make(2 + nr_pmd + i, flags);
	for (u64 i = 0; i < b->nr_pages; i++)
		b->tables[(2 + nr_pmd) * PTRS_PER_TABLE + i] = pte_make(i, flags);
	world_attach(b->w, &no_upcalls, NULL, b->tables);
}

/* ns of host time per step of all tasks. */
static double measure_once(void (*fn)(void *), u32 nr_cpus, u64 n, u64 nr_pages, u64 seed)
{
	struct hw_machine *hw = null_hw(nr_cpus, nr_cpus >= 64 ? 4 : 1, 4096);
	struct sim_options opt = {.seed = 1};
	struct bench b = {.nr_cpus = nr_cpus, .n = n, .nr_pages = nr_pages, .seed = seed};
	struct bench_task *task = calloc(nr_cpus, sizeof(*task));
	char err[SIM_ERROR_MAX];
	u64 begin;
	u64 ns;

	b.w = sim_create(hw, &opt, err);
	if (!b.w)
		panic("%s", err);
	b.own = calloc(nr_cpus * 4, sizeof(*b.own));
	b.sem = calloc(nr_cpus, sizeof(*b.sem));
	spin_lock_init(b.w, &b.shared, LOCK_ZONE);
	if (nr_pages)
		map_all(&b);
	for (u32 i = 0; i < nr_cpus; i++) {
		spin_lock_init(b.w, &b.own[i * 4], LOCK_PTL);
		init_rwsem(b.w, &b.sem[i], LOCK_MMAP);
		task[i].b = &b;
		task[i].i = i;
		world_task_init(b.w, &task[i].task, "bench", WORLD_TASK_USER, WORLD_STACK_KERNEL,
		                fn, &task[i]);
		world_task_start(b.w, &task[i].task, (int)i);
	}
	begin = bench_now_ns();
	if (sim_run(b.w))
		panic("the run failed");
	ns = bench_now_ns() - begin;
	sim_destroy(b.w);
	free(b.tables);
	free(b.own);
	free(b.sem);
	free(task);
	null_hw_free(hw);
	return (double)ns / (double)(n * (nr_pages ? nr_pages : nr_cpus));
}

static double measure(void (*fn)(void *), u32 nr_cpus, u64 n, u64 nr_pages, u64 seed)
{
	double best = 0;

	for (u32 i = 0; i < RUNS; i++) {
		double ns = measure_once(fn, nr_cpus, n, nr_pages, seed);

		if (!i || ns < best)
			best = ns;
	}
	return best;
}

int main(void)
{
	static const u32 cpus[] = {2, 12, 64, 2048};
	const u64 pages = 3UL << 30 >> PAGE_SHIFT;
	double y = yardstick();
	char name[64];

	bench_print("engine/order", measure(order_stays, 1, 20000000, 0, 0), "ns", 0, 0, y);
	for (u32 i = 0; i < ARRAY_SIZE(cpus); i++) {
		snprintf(name, sizeof(name), "engine/switch/%u", cpus[i]);
		bench_print(name, measure(order_switches, cpus[i], 10000000 / cpus[i], 0, 0), "ns",
		            0, 0, y);
	}
	for (u32 i = 0; i < ARRAY_SIZE(cpus); i++) {
		snprintf(name, sizeof(name), "engine/lock_pair/%u", cpus[i]);
		bench_print(name, measure(lock_pairs, cpus[i], 10000000 / cpus[i], 0, 0), "ns", 0,
		            0, y);
	}
	bench_print("engine/lock_pair/1", measure(lock_pairs, 1, 10000000, 0, 0), "ns", 0, 0, y);
	bench_print("engine/sem_pair/1", measure(semaphore_pairs, 1, 10000000, 0, 0), "ns", 0, 0,
	            y);
	bench_print("engine/contended_pair/12", measure(contended_pairs, 12, 200000, 0, 0), "ns", 0,
	            0, y);
	bench_print("engine/touch/sequential", 1e3 / measure(touches, 1, 20, pages, 0),
	            "M touches/s", 250, 500, y);
	bench_print("engine/touch/random", 1e3 / measure(touches, 1, 5, pages, 77), "M touches/s",
	            30, 60, y);
	bench_print("engine/touch/sequential/12", 1e3 / measure(touches, 12, 20, pages, 0),
	            "M touches/s", 250, 500, y);
	return 0;
}
