/*
 * The null world: it keeps the contract of world.h, and what null.h adds to it.
 */
#define CONTRACT_NULL true
#include "tests/world/contract.h"

static void contract_run(void (*fn)(struct world *w))
{
	struct hw_machine *hw = contract_hw();
	struct world *w = null_create(hw);

	fn(w);
	null_destroy(w);
	null_hw_free(hw);
}

TEST(null_hw_cuts_ranges_at_zone_boundaries)
{
	struct hw_machine *hw = null_hw(1, 2, 3000);

	assert_int_equal(hw->nr_ranges, 3);
	assert_int_equal(hw->range[1].start_pfn, 3000);
	assert_int_equal(hw->range[1].nr_pages, 1096);
	assert_int_equal(hw->range[2].start_pfn, 4096);
	assert_int_equal(hw->range[2].node, 1);
	null_hw_free(hw);
}

static void null_wait_forever(struct world *w)
{
	struct contract_child c;

	contract_child_init(w, &c);
	assert_panics("nothing can end it", wait_event(&c.q, c.go));
	assert_panics("not started", null_run_task(&c.task));
}

TEST(null_wait_that_nothing_can_end_panics)
{
	contract_run(null_wait_forever);
}

static void null_defers(struct world *w)
{
	struct contract_io a;
	struct contract_io b;

	contract_io_init(&a, 0, true, 1);
	contract_io_init(&b, 0, true, 1);
	null_defer_io(w, true);
	null_fail_io(w, 1);
	assert_int_equal(world_io_submit(&a.io), 0);
	assert_int_equal(world_io_submit(&b.io), 0);
	assert_false(a.done);
	assert_int_equal(null_complete_io(w, 1), 1);
	assert_true(a.done && !b.done);
	assert_int_equal(a.err, -EIO);
	wait_event(&b.q, b.done); /* completes it */
	assert_int_equal(b.err, 0);
	assert_int_equal(null_complete_io(w, 9), 0);
	assert_int_equal(null_stats(w)->nr_io[1], 2);
}

TEST(null_deferred_io_ends_when_the_test_says_so_or_waits)
{
	contract_run(null_defers);
}

static void null_cpus(struct world *w)
{
	struct world_as as = {.root = 0};
	struct world_task t = {.id = 0};
	struct spinlock l;

	world_task_init(w, &t, "user", WORLD_TASK_USER, WORLD_STACK_KERNEL, NULL, NULL);
	null_set_task(w, &t);
	assert_ptr_equal(world_current(), &t);
	world_use_as(&as);
	null_set_cpu(w, 3);
	assert_int_equal(world_cpu_id(), 3);
	assert_ptr_not_equal(world_current(), &t);
	null_set_task(w, &t);
	assert_int_equal(as.nr_loaded, 2);
	assert_int_equal(as.cpumask[0], 0x9);
	world_tlb_flush(&as, 0, PAGE_SIZE);
	assert_int_equal(null_stats(w)->nr_ipis, 1);
	null_set_task(w, NULL);
	spin_lock_init(w, &l, LOCK_LRU);
	spin_lock(&l);
	charge_ns(1000);
	spin_unlock(&l);
	w->cpu[2]->clock = 0;
	world_self = w->cpu[2]; /* behind in time: the lock is still held */
	assert_false(spin_trylock(&l));
	spin_lock(&l);
	assert_int_equal(w->ledger.lock[LOCK_LRU].contentions, 1);
	null_set_cpu(w, 1);
	assert_panics("held by CPU 2", spin_lock(&l));
	null_set_cpu(w, 2);
	spin_unlock(&l);
	world_task_free(w, &t);
}

TEST(null_test_goes_from_cpu_to_cpu)
{
	contract_run(null_cpus);
}

TEST_MAIN("null")
