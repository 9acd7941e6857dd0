/*
 * Work items on a simulated machine (core/workqueue.c), and lru_add_drain_all() made of them.
 *
 * Aim: an item runs once, on its CPU, after those queued before it; who flushes it goes on when it has
 * run and not before; draining empties the batches of every CPU, or of those that have any, and is as
 * slow as the busiest of them. Method: one task of a small machine queues items whose functions write
 * down what they see.
 */
#include "tests/test.h"

#include "core/internal.h"
#include "core/workqueue.h"
#include "sim/sim.h"
#include "tests/hw_util.h"

#define CPUS 4
#define ITEMS 3

static struct fixture {
	struct hw_machine *hw;
	struct world *w;
	struct machine *m;
	u64 busy_ns; /* what slow_func() takes */
	u32 nr_log;
	struct {
		const struct work_struct *work;
		u32 cpu;
	} log[64];
} fix;

static void body_start(struct task *t, void *arg)
{
	void (*body)(void) = arg;

	(void)t;
	world_syscall_enter();
	body();
	world_syscall_exit();
}

/* Runs @body as the kernel part of a task on a machine of @nr_cpus. */
static void run(const char *preset, u32 nr_cpus, void (*body)(void))
{
	struct knobs knobs;
	char err[512];

	memset(&fix, 0, sizeof(fix));
	assert_int_equal(0, knobs_preset(&knobs, preset));
	knobs.min_free_kbytes = 512;
	fix.hw = hw_make(nr_cpus, 1, 8192);
	fix.w = sim_create(fix.hw, &(struct sim_options){.seed = 1, .max_ns = 10000000000}, err);
	assert_non_null(fix.w);
	fix.m = machine_create(fix.w, &knobs, err, sizeof(err));
	assert_non_null(fix.m);
	task_start(task_create(fix.m, "test", NULL, body_start, body), -1);
	assert_int_equal(0, sim_run(fix.w));
	machine_audit(fix.m);
	machine_destroy(fix.m);
	sim_destroy(fix.w);
	hw_free(fix.hw);
}

static void log_func(struct machine *m, struct work_struct *work)
{
	(void)m;
	fix.log[fix.nr_log].work = work;
	fix.log[fix.nr_log++].cpu = world_cpu_id();
}

/* Core code is not preempted: nothing else runs on this CPU meanwhile. */
static void slow_func(struct machine *m, struct work_struct *work)
{
	charge_ns(fix.busy_ns);
	log_func(m, work);
}

/* Three new pages into the batches of the CPU that this runs on. */
static void fill_func(struct machine *m, struct work_struct *work)
{
	log_func(m, work);
	for (u32 i = 0; i < ITEMS; i++) {
		struct page *page = alloc_page(m, GFP_KERNEL);

		BUG_ON(!page);
		page_set(page, PG_swapbacked);
		page_set(page, PG_uptodate);
		lru_cache_add(m, page);
	}
}

static void fill_batch_of(u32 cpu)
{
	struct work_struct work;

	init_work(&work, fill_func);
	queue_work_on(fix.m, cpu, &work);
	assert_true(flush_work(fix.m, &work));
}

static u32 pages_in_batches(u32 cpu)
{
	u32 nr = 0;

	for (u32 l = 0; fix.m->cpu[cpu] && l < NR_LRU_LISTS; l++)
		nr += fix.m->cpu[cpu]->pvec.lru_add[l].nr;
	return nr;
}

/* The pages have no owner: the test gives them back, or the audit would find them. */
static void free_lists(void)
{
	struct zone *z = &fix.m->node[0].zone[0];
	struct page_list *list;

	for (; z < fix.m->node[0].zone + MAX_NR_ZONES; z++) {
		list = populated_zone(z) ? &z->lruvec->list[LRU_INACTIVE_ANON] : NULL;
		while (list && !page_list_empty(list))
			put_page(fix.m, page_list_first(list));
	}
}

/* ---- items ---- */

static void items_run_in_order_body(void)
{
	struct work_struct work[CPUS][ITEMS];
	u32 seen[CPUS] = {0};

	for (u32 i = 0; i < ITEMS; i++) {
		for (u32 cpu = 0; cpu < CPUS; cpu++) {
			init_work(&work[cpu][i], log_func);
			assert_true(queue_work_on(fix.m, cpu, &work[cpu][i]));
		}
	}
	for (u32 cpu = CPUS; cpu-- > 0;)
		for (u32 i = 0; i < ITEMS; i++)
			flush_work(fix.m, &work[cpu][i]);
	assert_int_equal(fix.nr_log, CPUS * ITEMS);
	for (u32 i = 0; i < fix.nr_log; i++) {
		u32 cpu = fix.log[i].cpu;

		assert_ptr_equal(fix.log[i].work, &work[cpu][seen[cpu]]);
		seen[cpu] += 1;
	}
}

TEST(items_run_once_on_their_cpu_in_the_order_they_were_queued)
{
	run("4.0", CPUS, items_run_in_order_body);
}

static void flush_body(void)
{
	struct work_struct slow, work;
	u64 start = world_now();

	fix.busy_ns = 1000000;
	init_work(&slow, slow_func);
	init_work(&work, log_func);
	assert_false(flush_work(fix.m, &work)); /* never queued */
	assert_true(queue_work_on(fix.m, 1, &slow));
	assert_true(queue_work_on(fix.m, 1, &work));
	assert_false(queue_work_on(fix.m, 1, &work)); /* once is enough */
	assert_true(flush_work(fix.m, &work));
	assert_int_equal(fix.nr_log, 2);
	assert_true(world_now() - start >= 1000000);
	assert_false(flush_work(fix.m, &work)); /* it is over */
	/* It may be queued again. */
	assert_true(queue_work_on(fix.m, 1, &work));
	assert_true(flush_work(fix.m, &work));
	assert_int_equal(fix.nr_log, 3);
}

TEST(flush_waits_for_the_item_and_what_was_queued_before_it)
{
	run("4.0", 2, flush_body);
}

static void own_cpu_body(void)
{
	struct work_struct work;

	init_work(&work, log_func);
	queue_work_on(fix.m, world_cpu_id(), &work);
	assert_int_equal(fix.nr_log, 0); /* the worker needs this very CPU */
	assert_true(flush_work(fix.m, &work));
	assert_int_equal(fix.nr_log, 1);
}

TEST(the_own_cpus_worker_runs_when_the_caller_waits)
{
	run("4.0", 1, own_cpu_body);
}

/* ---- draining ---- */

static void drain_all_body(void)
{
	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		fill_batch_of(cpu);
		assert_int_equal(pages_in_batches(cpu), ITEMS);
	}
	lru_add_drain_all(fix.m, false);
	for (u32 cpu = 0; cpu < CPUS; cpu++)
		assert_int_equal(pages_in_batches(cpu), 0);
	free_lists();
}

TEST(draining_empties_the_batches_of_every_cpu)
{
	run("4.0", CPUS, drain_all_body);
	run("3.1", CPUS, drain_all_body);
	run("6.18", CPUS, drain_all_body);
}

static void counted_body(void)
{
	lru_add_drain_all(fix.m, true);
	for (u32 cpu = 0; cpu < CPUS; cpu++)
		assert_null(fix.m->worker_pool[cpu]);
	fill_batch_of(2);
	lru_add_drain_all(fix.m, true);
	assert_int_equal(pages_in_batches(2), 0);
	for (u32 cpu = 0; cpu < CPUS; cpu++)
		assert_true(cpu == 2 || !fix.m->worker_pool[cpu]);
	free_lists();
}

TEST(a_counted_drain_leaves_cpus_alone_that_have_nothing)
{
	run("4.0", CPUS, counted_body);
}

static u64 drain_ns(bool counted)
{
	u64 start = world_now();

	lru_add_drain_all(fix.m, counted);
	return world_now() - start;
}

static void busy_body(void)
{
	struct work_struct slow;
	u64 idle_ns;

	drain_ns(false); /* the workers appear */
	idle_ns = drain_ns(false);
	fix.busy_ns = 3000000;
	init_work(&slow, slow_func);
	queue_work_on(fix.m, (world_cpu_id() + 1) % CPUS, &slow);
	/* All of the 3 ms but for what it took to get here. */
	assert_true(drain_ns(false) > 2900000);
	assert_true(idle_ns < 100000);
	/* CPUs without pages are not asked, however busy. */
	queue_work_on(fix.m, (world_cpu_id() + 1) % CPUS, &slow);
	assert_true(drain_ns(true) < 10000);
	flush_work(fix.m, &slow);
}

TEST(a_drain_is_as_slow_as_the_busiest_cpu)
{
	run("4.0", CPUS, busy_body);
}

static void rival(struct task *t, void *arg)
{
	(void)arg;
	world_syscall_enter();
	for (u32 i = 0; i < 5; i++)
		lru_add_drain_all(t->machine, i % 2);
	world_syscall_exit();
}

static void rivals_body(void)
{
	struct task *t[8];

	for (u32 i = 0; i < 8; i++) {
		t[i] = task_create(fix.m, "rival", NULL, rival, NULL);
		assert_non_null(t[i]);
		task_start(t[i], -1);
	}
	world_syscall_exit();
	for (u32 i = 0; i < 8; i++)
		do_wait(t[i]);
	world_syscall_enter();
	assert_int_equal(pool_live(&fix.m->drain_pool), 0);
}

TEST(many_may_drain_at_once)
{
	run("4.0", CPUS, rivals_body);
}

TEST_MAIN("workqueue")
