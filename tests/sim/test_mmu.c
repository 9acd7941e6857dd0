/*
 * User mode: what accesses cost, set and see; random order; preemption; TLB flushes and lazy TLBs.
 */
#include "tests/sim/pager.h"

/* The test's body runs as the machine's only task, in the kernel. */
struct mmu_test {
	struct pager p;
	void (*fn)(struct test_machine *m, struct mmu_test *t);
	u64 seen_at;
	u64 until;
	u32 nr_preempted;
	u64 ipis;
	bool go;
	struct world_as other;
};

static void mmu_body(struct test_machine *m, u32 i)
{
	struct mmu_test *t = m->data;

	(void)i;
	world_use_as(&t->p.as);
	t->fn(m, t);
	world_use_as(NULL);
}

static void mmu_run_on(u32 nr_cpus, void (*fn)(struct test_machine *m, struct mmu_test *t))
{
	struct test_machine m;
	struct mmu_test *t = calloc(1, sizeof(*t));

	test_machine_init(&m, nr_cpus, 1);
	m.opt.check = true;
	m.hw->range[m.hw->nr_ranges - 1].nr_pages = 4096 + PAGER_PAGES;
	test_machine_build(&m);
	pager_init(&m, &t->p);
	t->fn = fn;
	m.data = t;
	test_task_start(&m, WORLD_TASK_USER, 0, mmu_body);
	assert_int_equal(sim_run(m.w), 0);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
	free(t->p.tables);
	free(t);
}

static void costs(struct test_machine *m, struct mmu_test *t)
{
	const u32 *cost = m->hw->cost_ns;
	struct world_task *me = world_current();
	u64 user;
	u64 sys;

	m->w->ns_per_tick = 1UL << 40;
	world_sleep(1000000); /* the next tick is far away now */
	user = me->utime_ns;
	assert_int_equal(pager_access(&t->p, 0, 100, WORLD_FILL, 0), 0);
	assert_int_equal(me->utime_ns - user, 100 * (cost[COST_USER_PAGE] + cost[COST_TLB_MISS]));
	assert_int_equal(t->p.nr_faults, 100);
	user = me->utime_ns;
	sys = me->stime_ns;
	assert_int_equal(pager_access(&t->p, 0, 100, WORLD_SCAN, 0), 0);
	assert_int_equal(me->utime_ns - user,
	                 100 * (cost[COST_USER_PAGE_READ] + cost[COST_TLB_MISS]));
	assert_int_equal(me->stime_ns - sys, cost[COST_SYSCALL]);
	user = me->utime_ns;
	assert_int_equal(pager_access(&t->p, 0, 100, WORLD_WRITE, 123), 0);
	assert_int_equal(me->utime_ns - user, 100 * (cost[COST_USER_WORD] + cost[COST_TLB_MISS]));
}

TEST(access_costs_by_page_and_kind)
{
	mmu_run_on(1, costs);
}

static void trap_span(struct test_machine *m, struct mmu_test *t)
{
	struct ledger *l = &m->w->ledger;
	struct ledger_node *fault;

	assert_int_equal(pager_access(&t->p, 0, 10, WORLD_WRITE, 0), 0);
	fault = ledger_child(l, ledger_root(l, SPAN_USER), SPAN_FAULT);
	/* Trap and clearing: all of a fault's time is in its span. */
	assert_int_equal(fault->ns,
	                 10 * (m->hw->cost_ns[COST_FAULT_TRAP] + m->hw->cost_ns[COST_PAGE_CLEAR]));
	assert_int_equal(fault->count, 10);
}

TEST(time_of_the_trap_is_in_the_span_of_the_fault)
{
	mmu_run_on(1, trap_span);
}

static void random_order(struct test_machine *m, struct mmu_test *t)
{
	static const u64 sizes[] = {1, 2, 3, 7, 64, 65, 511, 512, 513, 1000, 4096, PAGER_PAGES};
	u64 first = 0;

	(void)m;
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		u64 in_order = 0;

		memset(&t->p.tables[3 * PTRS_PER_TABLE], 0, PAGER_LEAVES * PAGE_SIZE);
		world_contents_zero(&t->p.as, 0, PAGER_PAGES * PAGE_SIZE, false);
		world_contents_zero(&t->p.as, 0, PAGER_PAGES * PAGE_SIZE, true);
		t->p.nr_faults = 0;
		assert_int_equal(pager_access(&t->p, 0, sizes[i], WORLD_WRITE, 1 + i), 0);
		assert_int_equal(t->p.nr_faults, sizes[i]); /* each page once */
		for (u64 k = 0; k < sizes[i]; k++)
			assert_true(pte_dirty(*pager_pte(&t->p, k * PAGE_SIZE)));
		for (u64 k = 1; k < sizes[i]; k++)
			in_order += t->p.log[k] == t->p.log[k - 1] + PAGE_SIZE;
		if (sizes[i] >= 64)
			assert_true(in_order < sizes[i] / 8);
	}
	first = t->p.log[0];
	memset(&t->p.tables[3 * PTRS_PER_TABLE], 0, PAGER_LEAVES * PAGE_SIZE);
	world_contents_zero(&t->p.as, 0, PAGER_PAGES * PAGE_SIZE, false);
	world_contents_zero(&t->p.as, 0, PAGER_PAGES * PAGE_SIZE, true);
	t->p.nr_faults = 0;
	assert_int_equal(pager_access(&t->p, 0, PAGER_PAGES, WORLD_WRITE, 99), 0);
	assert_int_not_equal(t->p.log[0], first); /* another seed, another order */
}

TEST(random_order_visits_each_page_once)
{
	mmu_run_on(1, random_order);
}

static void errors(struct test_machine *m, struct mmu_test *t)
{
	(void)m;
	assert_int_equal(pager_access(&t->p, PAGER_PAGES - 4, 8, WORLD_READ, 0), -EFAULT);
	assert_int_equal(t->p.nr_faults, 5);
	assert_int_equal(pager_access(&t->p, PAGER_PAGES + 4, 8, WORLD_READ, 5), -EFAULT);
	t->p.nr_spurious = 3;
	t->p.nr_faults = 0;
	assert_int_equal(pager_access(&t->p, 0, 2, WORLD_READ, 0), 0);
	assert_int_equal(t->p.nr_faults, 5); /* tried until it worked */
	world_current()->signal = true;
	assert_int_equal(pager_access(&t->p, 100, 8, WORLD_READ, 0), -EINTR);
	world_current()->signal = false;
}

TEST(access_ends_by_errors_and_signals)
{
	mmu_run_on(1, errors);
}

static void huge(struct test_machine *m, struct mmu_test *t)
{
	pte_t *pmd = &t->p.tables[2 * PTRS_PER_TABLE + 2];
	u64 misses = m->w->ledger.cost_count[COST_TLB_MISS];

	for (u32 i = 0; i < 512; i++)
		world_frame_clear(2048 + i);
	*pmd = pte_make(2048, PTE_PRESENT | PTE_USER | PTE_WRITE | PTE_HUGE);
	t->p.as.table_gen++;
	assert_int_equal(pager_access(&t->p, 1024, 512, WORLD_WRITE, 0), 0);
	assert_true(pmd->v & PTE_DIRTY);
	assert_int_equal(pager_access(&t->p, 1024, 512, WORLD_READ, 7), 0);
	assert_int_equal(t->p.nr_faults, 0);
	/* In order one miss does for all of it, or for what lies between two order points. */
	assert_true(m->w->ledger.cost_count[COST_TLB_MISS] - misses <= 2 + 512);
}

TEST(huge_entry_maps_all_its_pages)
{
	mmu_run_on(1, huge);
}

/* ---- with other CPUs ------------------------------------------------------------------------ */

/* Unmaps the last page of a range that the other task is touching. */
static void unmapper(struct test_machine *m, u32 i)
{
	struct mmu_test *t = m->data;

	(void)i;
	while (!READ_ONCE(t->go))
		charge_ns(100);
	*pager_pte(&t->p, 400 * PAGE_SIZE) = (pte_t){0};
	t->seen_at = world_now();
	world_tlb_flush(&t->p.as, 400 * PAGE_SIZE, 401 * PAGE_SIZE);
	world_contents_zero(&t->p.as, 400 * PAGE_SIZE, 401 * PAGE_SIZE, false);
	world_contents_zero(&t->p.as, 400 * PAGE_SIZE, 401 * PAGE_SIZE, true);
}

static void toucher(struct test_machine *m, struct mmu_test *t)
{
	(void)m;
	assert_int_equal(pager_access(&t->p, 0, 512, WORLD_FILL, 0), 0);
	t->p.nr_faults = 0;
	t->go = true;
	/* 512 pages of 200 ns: the unmapping happens early in it, and is seen. */
	assert_int_equal(pager_access(&t->p, 0, 512, WORLD_FILL, 0), 0);
	assert_int_equal(t->p.nr_faults, 1);
	assert_int_equal(t->p.log[0], 400 * PAGE_SIZE);
	assert_true(world_now() - t->seen_at < 200 * 512 + 20000);
}

TEST(task_runs_ahead_of_unmapping_by_20_us_at_most)
{
	struct test_machine m;
	struct mmu_test *t = calloc(1, sizeof(*t));

	test_machine_init(&m, 2, 1);
	m.hw->range[m.hw->nr_ranges - 1].nr_pages = 4096 + PAGER_PAGES;
	test_machine_build(&m);
	pager_init(&m, &t->p);
	t->fn = toucher;
	m.data = t;
	test_task_start(&m, WORLD_TASK_USER, 0, mmu_body);
	test_task_start(&m, WORLD_TASK_USER, 1, unmapper);
	assert_int_equal(sim_run(m.w), 0);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
	free(t->p.tables);
	free(t);
}

static void preemptible(struct test_machine *m, u32 i)
{
	struct mmu_test *t = m->data;

	(void)i;
	for (u32 n = 0; n < 10; n++) {
		u64 due = world_now() + 3000000;

		world_sleep(3000000);
		/* At most 20 us of run-ahead, the tick, the switch. */
		if (world_now() - due > 30000)
			t->nr_preempted++;
	}
	t->go = true;
}

static void touch_on(struct test_machine *m, struct mmu_test *t)
{
	(void)m;
	while (!t->go)
		assert_int_equal(pager_access(&t->p, 0, 512, WORLD_FILL, 0), 0);
}

TEST(user_accesses_are_preempted)
{
	struct test_machine m;
	struct mmu_test *t = calloc(1, sizeof(*t));

	test_machine_init(&m, 1, 1);
	test_machine_build(&m);
	pager_init(&m, &t->p);
	t->fn = touch_on;
	m.data = t;
	test_task_start(&m, WORLD_TASK_USER, 0, mmu_body);
	test_task_start(&m, WORLD_TASK_USER, 0, preemptible);
	assert_int_equal(sim_run(m.w), 0);
	assert_int_equal(t->nr_preempted, 0);
	test_machine_destroy(&m);
	free(t->p.tables);
	free(t);
}

/* 1 uses the address space once and goes idle: one IPI later its TLB is no longer asked. */
static void lazy_user(struct test_machine *m, u32 i)
{
	struct mmu_test *t = m->data;

	(void)i;
	world_use_as(&t->p.as);
	while (!READ_ONCE(t->go))
		world_sleep(1000000);
	world_use_as(NULL);
}

static void flusher(struct test_machine *m, struct mmu_test *t)
{
	u64 ipis[3];

	world_sleep(500000);
	assert_int_equal(t->p.as.nr_loaded, 2);
	for (u32 i = 0; i < 3; i++) {
		ipis[i] = m->w->ledger.cost_count[COST_IPI_SEND];
		world_tlb_flush(&t->p.as, 0, PAGE_SIZE);
	}
	assert_int_equal(ipis[1] - ipis[0], 1);
	assert_int_equal(ipis[2] - ipis[1], 0);
	assert_int_equal(t->p.as.nr_loaded, 1);
	t->go = true;
}

TEST(lazy_cpu_takes_one_flush_and_no_more)
{
	struct test_machine m;
	struct mmu_test *t = calloc(1, sizeof(*t));

	test_machine_init(&m, 2, 1);
	test_machine_build(&m);
	pager_init(&m, &t->p);
	t->fn = flusher;
	m.data = t;
	test_task_start(&m, WORLD_TASK_USER, 0, mmu_body);
	test_task_start(&m, WORLD_TASK_USER, 1, lazy_user);
	assert_int_equal(sim_run(m.w), 0);
	assert_int_equal(t->p.as.nr_loaded, 0);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
	free(t->p.tables);
	free(t);
}

/* A task of another address space, on the CPU that the flusher has been on before. */
static void other_user(struct test_machine *m, u32 i)
{
	struct mmu_test *t = m->data;

	(void)i;
	world_use_as(&t->p.as); /* in the mask ... */
	world_use_as(&t->other);
	while (!READ_ONCE(t->go)) {
		charge_ns(1000);
		world_cond_resched();
	}
	world_use_as(NULL);
}

/* How many IPIs a flush takes: of the address space, or of all that its mask names. */
static u64 ipis_of_flush(struct test_machine *m, struct mmu_test *t, bool by_mask)
{
	u64 before = m->w->ledger.cost_count[COST_IPI_SEND];

	if (by_mask)
		world_tlb_flush_mask(t->p.as.cpumask);
	else
		world_tlb_flush(&t->p.as, 0, PAGE_SIZE);
	return m->w->ledger.cost_count[COST_IPI_SEND] - before;
}

static void lazy_mask_flusher(struct test_machine *m, struct mmu_test *t)
{
	world_sleep(5000000);
	assert_int_equal(t->p.as.nr_loaded, 2); /* ... though CPU 1 runs another now */
	/* A flush that names no address space disturbs it every time. */
	assert_int_equal(ipis_of_flush(m, t, true), 1);
	assert_int_equal(ipis_of_flush(m, t, true), 1);
	/* One that does takes it out, but only when a second has passed since the last. */
	t->p.as.trim_at = world_now() + 1000000000;
	assert_int_equal(ipis_of_flush(m, t, false), 0);
	assert_int_equal(t->p.as.nr_loaded, 2);
	world_sleep(1000000000);
	assert_int_equal(ipis_of_flush(m, t, false), 1);
	assert_int_equal(t->p.as.nr_loaded, 1);
	assert_int_equal(ipis_of_flush(m, t, true), 0);
	t->go = true;
}

TEST(cpu_stays_in_a_lazy_mask_until_a_flush_trims_it)
{
	struct test_machine m;
	struct mmu_test *t = calloc(1, sizeof(*t));

	test_machine_init(&m, 2, 1);
	test_machine_build(&m);
	m.w->lazy_cpumask = true;
	pager_init(&m, &t->p);
	t->fn = lazy_mask_flusher;
	m.data = t;
	test_task_start(&m, WORLD_TASK_USER, 0, mmu_body);
	test_task_start(&m, WORLD_TASK_USER, 1, other_user);
	assert_int_equal(sim_run(m.w), 0);
	assert_int_equal(t->p.as.nr_loaded, 0);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
	free(t->p.tables);
	free(t);
}

TEST_MAIN("mmu")
