/*
 * What world.h promises, checked against a world: one set of tests for all of them.
 *
 * The including file defines contract_run(fn), which builds a machine of contract_hw(), calls
 * @fn(world) in a task that may sleep, runs until it ends, and takes the world down. It says with
 * CONTRACT_NULL whether started tasks have to be run by hand.
 */
#ifndef TESTS_WORLD_CONTRACT_H
#define TESTS_WORLD_CONTRACT_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"
#include "world/null.h"

/* Four CPUs on two nodes and sockets. */
static struct hw_machine *contract_hw(void)
{
	struct hw_machine *hw = null_hw(4, 2, 4096);

	hw->nr_disks = 2;
	hw->disk[1] = (struct hw_disk){.name = "zram0", .kind = HW_DISK_RAM, .size_bytes = 1 << 24};
	return hw;
}

static void contract_run(void (*fn)(struct world *w));

/* Lets tasks that were started or woken run until they end or wait. */
static void contract_let_run(struct world_task *t)
{
	if (CONTRACT_NULL) {
		if (t->state == WORLD_TASK_RUNNING)
			null_run_task(t);
	} else {
		world_sleep(50000000);
	}
}

/* ---- time and charging ---------------------------------------------------------------------- */

static void charge_moves_the_clock(struct world *w)
{
	u64 before = world_now();
	u64 count = w->ledger.cost_count[COST_BUDDY];

	charge(COST_BUDDY);
	charge_n(COST_BUDDY, 3);
	charge_ns(7);
	assert_int_equal(world_now() - before, 4 * w->hw->cost_ns[COST_BUDDY] + 7);
	assert_int_equal(w->ledger.cost_count[COST_BUDDY] - count, 4);
}

static void span_takes_the_time_that_is_charged_in_it(struct world *w)
{
	struct ledger_node *here = world_self->span;
	struct ledger_node *alloc;

	span_enter(SPAN_ALLOC);
	alloc = world_self->span;
	charge_ns(100);
	span_enter(SPAN_DIRECT_RECLAIM);
	charge_ns(1000);
	span_exit();
	charge_ns(11);
	span_exit();
	assert_ptr_equal(world_self->span, here);
	assert_int_equal(alloc->ns, 111);
	assert_int_equal(alloc->count, 1);
	assert_ptr_equal(&w->ledger.node[alloc->parent], here);
}

static void line_costs_grow_with_distance(struct world *w)
{
	struct world_line line;
	u64 before;

	world_line_init(w, &line);
	before = world_now();
	world_line_read(&line); /* nobody has written it */
	assert_int_equal(world_now() - before, w->hw->cost_ns[COST_LINE_OWN]);
	line.writer = 1 + (world_cpu_id() ^ 1); /* the other CPU of this socket */
	line.version++;
	before = world_now();
	world_line_read(&line);
	assert_int_equal(world_now() - before, w->hw->cost_ns[COST_LINE_SOCKET]);
	before = world_now();
	world_line_read(&line); /* has it now */
	assert_int_equal(world_now() - before, w->hw->cost_ns[COST_LINE_OWN]);
	line.writer = 1 + (world_cpu_id() ^ 2); /* another socket */
	line.version++;
	before = world_now();
	world_line_write(&line);
	assert_int_equal(world_now() - before, w->hw->cost_ns[COST_LINE_REMOTE]);
}

static void a_line_that_a_neighbour_has_fetched_is_in_the_socket(struct world *w)
{
	u32 self = world_cpu_id();
	struct world_line line[2];
	u64 before;

	for (u32 i = 0; i < 2; i++) {
		world_line_init(w, &line[i]);
		line[i].writer = (u16)(1 + (self ^ 2)); /* another socket */
		line[i].version++;
	}
	line[0].shared = (u16)(1u << w->socket_of[self]);
	line[1].shared = (u16)(1u << w->socket_of[self ^ 2]);
	before = world_now();
	world_line_read(&line[0]);
	assert_int_equal(world_now() - before, w->hw->cost_ns[COST_LINE_SOCKET]);
	/* That the writer's own socket has it, too, does not help; one of several costs less. */
	before = world_now();
	world_line_read_next(&line[1]);
	assert_int_equal(world_now() - before, w->hw->cost_ns[COST_LINE_REMOTE_MORE]);
	assert_int_equal(line[1].shared >> w->socket_of[self] & 1, 1);
}

/* ---- locks ---------------------------------------------------------------------------------- */

/* Its books say what those of a section that others could see would. */
static void a_lock_taken_unseen_costs_and_counts_the_same(struct world *w)
{
	struct ledger_lock_stat *st = &w->ledger.lock[LOCK_ZONE];
	struct ledger_lock_stat seen;
	struct spinlock l;
	u64 begin, ns;

	spin_lock_init(w, &l, LOCK_ZONE);
	spin_lock_irq(&l); /* from here on it is at hand */
	spin_unlock_irq(&l);
	memset(st, 0, sizeof(*st));
	begin = world_now();
	spin_lock_irq(&l);
	charge_ns(500);
	spin_unlock_irq(&l);
	ns = world_now() - begin;
	seen = *st;
	memset(st, 0, sizeof(*st));
	begin = world_now();
	spin_lock_unseen(&l);
	charge_ns(500);
	spin_unlock_unseen(&l);
	assert_int_equal(world_now() - begin, ns);
	assert_memory_equal(st, &seen, sizeof(seen));
	assert_false(spin_is_locked(&l));
	assert_int_equal(l.free_at, world_now());
}

static void spin_lock_excludes_and_counts(struct world *w)
{
	struct ledger_lock_stat *st = &w->ledger.lock[LOCK_SWAP_INFO];
	struct spinlock l;

	spin_lock_init(w, &l, LOCK_SWAP_INFO);
	assert_false(spin_is_locked(&l));
	spin_lock(&l);
	assert_true(spin_held(&l));
	assert_false(spin_trylock(&l));
	charge_ns(500);
	spin_unlock(&l);
	assert_false(spin_held(&l));
	assert_true(spin_trylock(&l));
	spin_unlock(&l);
	assert_int_equal(st->acquisitions, 2);
	assert_int_equal(st->contentions, 0);
	assert_true(st->hold_ns_max >= 500 && st->hold_ns_max < 600);
}

static void taking_a_lock_twice_panics(struct world *w)
{
	struct spinlock l;

	spin_lock_init(w, &l, LOCK_ZONE);
	spin_lock(&l);
	assert_panics("&zone->lock", spin_lock(&l));
	spin_unlock(&l);
}

static void sleeping_with_a_lock_panics(struct world *w)
{
	struct spinlock l;

	spin_lock_init(w, &l, LOCK_ZONE);
	spin_lock(&l);
	assert_panics("spin lock", world_sleep(1000));
	spin_unlock(&l);
	world_irq_save();
	assert_panics("interrupts off", world_sleep(1000));
	world_irq_restore();
}

static void contract_lock_zone(struct world_timer *t)
{
	struct spinlock l;

	(void)t;
	spin_lock_init(world_self->w, &l, LOCK_ZONE);
	spin_lock(&l);
	spin_unlock(&l);
}

static void lock_of_interrupts_must_be_taken_with_interrupts_off(struct world *w)
{
	struct world_timer timer = {.fn = contract_lock_zone};
	struct spinlock l;

	if (DEBUG_VM < 1)
		return;
	spin_lock_init(w, &l, LOCK_ZONE);
	spin_lock_irq(&l);
	spin_unlock_irq(&l);
	world_timer_arm(&timer, world_now() + 10000);
	world_sleep(20000);
	assert_int_equal(w->lock_use[LOCK_ZONE], WORLD_LOCK_IN_IRQ);
	spin_lock_irq(&l);
	spin_unlock_irq(&l);
	assert_panics("&zone->lock", spin_lock(&l));
}

static void semaphore_admits_readers_or_a_writer(struct world *w)
{
	struct rw_semaphore s;
	struct mutex m;

	init_rwsem(w, &s, LOCK_MMAP);
	down_read(&s);
	down_read(&s);
	assert_false(down_write_trylock(&s));
	up_read(&s);
	up_read(&s);
	down_write(&s);
	assert_false(down_read_trylock(&s));
	assert_false(down_write_trylock(&s));
	up_write(&s);
	assert_true(down_read_trylock(&s));
	up_read(&s);
	mutex_init(w, &m, LOCK_OOM);
	mutex_lock(&m);
	assert_false(mutex_trylock(&m));
	mutex_unlock(&m);
	assert_true(mutex_trylock(&m));
	mutex_unlock(&m);
	assert_int_equal(w->ledger.lock[LOCK_MMAP].acquisitions, 4);
	assert_int_equal(w->ledger.lock[LOCK_OOM].acquisitions, 2);
}

/* ---- sleeping and waking -------------------------------------------------------------------- */

static void sleep_takes_its_time(struct world *w)
{
	u64 before = world_now();

	world_sleep(123456);
	assert_true(world_now() - before >= 123456);
	assert_true(world_now() - before < 123456 + 20000);
	before = world_now();
	world_sleep(world_ticks_to_ns(1));
	assert_true(world_now() / w->ns_per_tick >= before / w->ns_per_tick + 2);
}

static void wake_up_before_the_sleep_is_not_lost(struct world *w)
{
	struct wait_queue_head q;
	struct wait_queue_entry e;

	(void)w;
	init_waitqueue_head(&q);
	prepare_to_wait(&q, &e, 0, false, WORLD_TASK_UNINTERRUPTIBLE);
	assert_true(waitqueue_active(&q));
	wake_up(&q);
	assert_false(waitqueue_active(&q));
	assert_int_equal(schedule_timeout(WORLD_FOREVER), WORLD_FOREVER);
	finish_wait(&e);
	assert_int_equal(world_current()->state, WORLD_TASK_RUNNING);
}

static void interruptible_sleep_ends_by_a_signal(struct world *w)
{
	struct world_task *me = world_current();
	u64 before = world_now();

	(void)w;
	me->state = WORLD_TASK_INTERRUPTIBLE;
	me->signal = true;
	assert_int_equal(schedule_timeout(1000000), 1000000);
	assert_true(world_now() - before < 100000);
	me->state = WORLD_TASK_UNINTERRUPTIBLE; /* does not care */
	assert_int_equal(schedule_timeout(1000000), 0);
	assert_true(world_now() - before >= 1000000);
	me->signal = false;
}

/* A timer that wakes a queue. */
struct contract_alarm {
	struct world_timer timer;
	struct wait_queue_head q;
	u64 rang_at;
	bool was_irq;
	bool ringing;
};

static void contract_ring(struct world_timer *t)
{
	struct contract_alarm *a = container_of(t, struct contract_alarm, timer);

	a->rang_at = world_now();
	a->was_irq = world_in_irq();
	a->ringing = true;
	wake_up(&a->q);
}

static void timer_runs_as_an_interrupt_and_ends_a_wait(struct world *w)
{
	struct contract_alarm a = {.timer.fn = contract_ring};
	u64 at = world_now() + 300000;

	(void)w;
	init_waitqueue_head(&a.q);
	world_timer_arm(&a.timer, at);
	assert_true(a.timer.expires);
	wait_event(&a.q, a.ringing);
	assert_true(a.was_irq);
	assert_true(a.rang_at >= at && a.rang_at < at + 20000);
	assert_int_equal(a.timer.expires, 0);
}

static void timer_runs_while_its_cpu_is_busy(struct world *w)
{
	struct contract_alarm a = {.timer.fn = contract_ring};
	u64 at = world_now() + 5000;

	(void)w;
	init_waitqueue_head(&a.q);
	world_timer_arm(&a.timer, at);
	while (!READ_ONCE(a.ringing) && world_now() < at + 100000)
		charge_ns(100);
	assert_true(a.ringing);
	assert_true(a.rang_at < at + 2000);
}

static void interrupts_wait_while_they_are_off(struct world *w)
{
	struct contract_alarm a = {.timer.fn = contract_ring};

	(void)w;
	init_waitqueue_head(&a.q);
	world_timer_arm(&a.timer, world_now() + 1000);
	world_irq_save();
	world_irq_save();
	charge_ns(5000);
	world_order();
	world_irq_restore();
	world_order();
	assert_false(a.ringing);
	world_irq_restore();
	assert_true(a.ringing);
}

static void cancelled_timer_does_not_run(struct world *w)
{
	struct contract_alarm a = {.timer.fn = contract_ring};

	(void)w;
	init_waitqueue_head(&a.q);
	world_timer_arm(&a.timer, world_now() + 1000);
	world_timer_arm(&a.timer, world_now() + 9000); /* moves it */
	world_sleep(5000);
	assert_false(a.ringing);
	world_timer_cancel(&a.timer);
	world_timer_cancel(&a.timer);
	world_sleep(9000);
	assert_false(a.ringing);
}

/* ---- tasks ---------------------------------------------------------------------------------- */

struct contract_child {
	struct world_task task;
	struct wait_queue_head q;
	struct rw_semaphore *sem;
	bool go;
	u32 steps;
};

static void contract_child_main(void *arg)
{
	struct contract_child *c = arg;

	VM_BUG_ON(world_current() != &c->task);
	c->steps = 1;
	wait_event(&c->q, READ_ONCE(c->go));
	c->steps = 2;
	if (c->sem) {
		down_write(c->sem);
		c->steps = 3;
		up_write(c->sem);
	}
	world_task_exit();
}

static void contract_child_init(struct world *w, struct contract_child *c)
{
	memset(c, 0, sizeof(*c));
	init_waitqueue_head(&c->q);
	world_task_init(w, &c->task, "child", WORLD_TASK_KTHREAD, WORLD_STACK_KERNEL,
	                contract_child_main, c);
}

static void task_runs_waits_and_ends(struct world *w)
{
	struct contract_child c;

	contract_child_init(w, &c);
	assert_int_equal(c.task.state, WORLD_TASK_NEW);
	world_task_start(w, &c.task, -1);
	contract_let_run(&c.task);
	assert_int_equal(c.steps, 1);
	assert_int_equal(c.task.state, WORLD_TASK_UNINTERRUPTIBLE);
	c.go = true;
	wake_up(&c.q);
	assert_false(world_wake(&c.task));
	contract_let_run(&c.task);
	assert_int_equal(c.steps, 2);
	assert_int_equal(c.task.state, WORLD_TASK_DEAD);
	world_task_free(w, &c.task);
}

static void semaphore_is_handed_to_a_task_that_sleeps(struct world *w)
{
	struct contract_child c;
	struct rw_semaphore s;

	init_rwsem(w, &s, LOCK_MMAP);
	contract_child_init(w, &c);
	c.sem = &s;
	c.go = true;
	down_read(&s);
	world_task_start(w, &c.task, -1);
	contract_let_run(&c.task);
	assert_int_equal(c.steps, 2);
	assert_int_equal(s.nr_waiters, 1);
	assert_false(down_read_trylock(&s)); /* the writer goes first */
	up_read(&s);
	assert_ptr_equal(s.writer, &c.task);
	contract_let_run(&c.task);
	assert_int_equal(c.steps, 3);
	assert_int_equal(c.task.state, WORLD_TASK_DEAD);
	assert_true(down_write_trylock(&s));
	up_write(&s);
	assert_int_equal(w->ledger.lock[LOCK_MMAP].contentions, 1);
	world_task_free(w, &c.task);
}

static void wake_up_key_wakes_equal_keys_and_one_exclusive_waiter(struct world *w)
{
	struct world_task t[4];
	struct wait_queue_entry e[4];
	struct wait_queue_head q;

	init_waitqueue_head(&q);
	memset(t, 0, sizeof(t));
	for (u32 i = 0; i < 4; i++) {
		t[i].state = WORLD_TASK_RUNNING; /* has been woken: nothing to do but the list */
		e[i] = (struct wait_queue_entry){
			.task = &t[i], .key = i / 2 + 1, .exclusive = i < 2};
		list_add_tail(&e[i].list, &q.list);
	}
	(void)w;
	assert_int_equal(wake_up_key(&q, 2, 1), 2);
	assert_true(e[2].woken && e[3].woken && !e[0].woken);
	assert_int_equal(wake_up_key(&q, 1, 1), 1);
	assert_true(e[0].woken && !e[1].woken);
	assert_int_equal(wake_up_key(&q, 0, 1), 1);
	assert_false(waitqueue_active(&q));
}

/* ---- interrupts of other CPUs --------------------------------------------------------------- */

struct contract_ipi {
	u64 cpus[1];
	u32 nr;
	bool in_irq;
};

static void contract_ipi_fn(void *arg)
{
	struct contract_ipi *i = arg;

	i->cpus[0] |= BIT(world_cpu_id());
	i->nr += 1;
	i->in_irq = world_in_irq();
}

static void ipi_runs_on_every_other_cpu_of_the_mask(struct world *w)
{
	u64 mask[HW_MAX_CPUS / 64] = {0xf};
	struct contract_ipi got = {.nr = 0};
	u64 before = world_now();

	world_ipi(mask, contract_ipi_fn, &got);
	assert_int_equal(got.nr, 3);
	assert_true(got.in_irq);
	assert_int_equal(got.cpus[0], 0xf & ~BIT(world_cpu_id()));
	assert_true(world_now() - before >= w->hw->cost_ns[COST_IPI_FLIGHT]);
	mask[0] = BIT(world_cpu_id());
	world_ipi(mask, contract_ipi_fn, &got);
	assert_int_equal(got.nr, 3);
}

/* ---- address spaces ------------------------------------------------------------------------- */

/* A manager of one leaf table: table 0 -> 1 -> 2 -> 3, which maps the first 2 MiB. */
struct contract_mm {
	struct world_as as;
	pte_t *tables;
	u32 nr_faults;
	u64 fail_va;
	bool write_only;
};

static int contract_fault(void *machine, struct world_task *t, u64 va, enum world_access kind)
{
	struct contract_mm *mm = machine;
	pte_t *pte = &mm->tables[3 * PTRS_PER_TABLE + pte_index(va, 0)];
	bool write = kind == WORLD_WRITE || kind == WORLD_FILL;

	VM_BUG_ON(t != world_current());
	mm->nr_faults += 1;
	if (va == mm->fail_va)
		return -EFAULT;
	world_frame_clear(pte_index(va, 0) + 100);
	*pte = pte_make(pte_index(va, 0) + 100, PTE_PRESENT | PTE_USER | (write ? PTE_WRITE : 0));
	return 0;
}

static const struct world_upcalls contract_upcalls = {.fault = contract_fault};

static void contract_mm_init(struct world *w, struct contract_mm *mm)
{
	memset(mm, 0, sizeof(*mm));
	mm->tables = aligned_alloc(PAGE_SIZE, 4 * PAGE_SIZE);
	memset(mm->tables, 0, 4 * PAGE_SIZE);
	for (u32 i = 0; i < 3; i++)
		mm->tables[i * PTRS_PER_TABLE] =
			pte_make(i + 1, PTE_PRESENT | PTE_USER | PTE_WRITE);
	mm->fail_va = ~0UL;
	world_attach(w, &contract_upcalls, mm, mm->tables);
}

static int contract_user_access(struct contract_mm *mm, u64 va, u64 len, enum world_access kind,
                                u64 seed)
{
	int err;

	world_syscall_exit();
	err = world_user_access(&mm->as, va, len, kind, seed);
	world_syscall_enter();
	return err;
}

static u32 contract_count(const struct contract_mm *mm, u64 flags)
{
	u32 nr = 0;

	for (u32 i = 0; i < PTRS_PER_TABLE; i++)
		nr += (mm->tables[3 * PTRS_PER_TABLE + i].v & flags) == flags;
	return nr;
}

static void user_access_faults_once_and_sets_accessed_and_dirty(struct world *w)
{
	struct contract_mm mm;
	u64 trap = w->ledger.cost_count[COST_FAULT_TRAP];

	contract_mm_init(w, &mm);
	world_use_as(&mm.as);
	assert_true(mm.as.cpumask[0] == BIT(world_cpu_id()));
	assert_int_equal(mm.as.nr_loaded, 1);
	assert_int_equal(contract_user_access(&mm, 0x10000, 0x8000, WORLD_READ, 0), 0);
	assert_int_equal(mm.nr_faults, 8);
	assert_int_equal(w->ledger.cost_count[COST_FAULT_TRAP] - trap, 8);
	assert_int_equal(contract_count(&mm, PTE_PRESENT | PTE_ACCESSED), 8);
	assert_int_equal(contract_count(&mm, PTE_DIRTY), 0);
	assert_int_equal(contract_user_access(&mm, 0x10000, 0x8000, WORLD_SCAN, 0), 0);
	assert_int_equal(mm.nr_faults, 8);
	/* A write to a page without PTE_WRITE faults again. */
	assert_int_equal(contract_user_access(&mm, 0x10000, 0x1000, WORLD_FILL, 0), 0);
	assert_int_equal(mm.nr_faults, 9);
	assert_int_equal(contract_count(&mm, PTE_DIRTY), 1);
	/* Every page once, also in random order. */
	assert_int_equal(contract_user_access(&mm, 0, 512 * PAGE_SIZE, WORLD_WRITE, 77), 0);
	assert_int_equal(contract_count(&mm, PTE_DIRTY), 512);
	assert_int_equal(mm.nr_faults, 9 + 511);
	world_use_as(NULL);
	assert_int_equal(mm.as.nr_loaded, 0);
	assert_int_equal(mm.as.cpumask[0], 0);
	free(mm.tables);
}

static void user_access_returns_the_error_of_its_fault(struct world *w)
{
	struct contract_mm mm;

	contract_mm_init(w, &mm);
	mm.fail_va = 3 * PAGE_SIZE;
	world_use_as(&mm.as);
	assert_int_equal(contract_user_access(&mm, 0, 8 * PAGE_SIZE, WORLD_READ, 0), -EFAULT);
	assert_int_equal(mm.nr_faults, 4);
	assert_int_equal(contract_user_access(&mm, 0, 1, WORLD_READ, 0), 0); /* part of a page */
	assert_int_equal(contract_user_access(&mm, 0, 0, WORLD_READ, 0), 0);
	assert_int_equal(mm.nr_faults, 4);
	world_use_as(NULL);
	free(mm.tables);
}

static void tlb_flush_costs_by_page_up_to_the_ceiling(struct world *w)
{
	const u32 *cost = w->hw->cost_ns;
	struct contract_mm mm;
	u64 before = world_now();

	contract_mm_init(w, &mm);
	world_tlb_flush(&mm.as, 0, 8 * PAGE_SIZE); /* nobody has it */
	assert_int_equal(world_now() - before, cost[COST_TLB_NOBODY]);
	world_use_as(&mm.as);
	before = world_now();
	world_tlb_flush(&mm.as, 0, 8 * PAGE_SIZE);
	assert_int_equal(world_now() - before, 8 * cost[COST_INVLPG]);
	before = world_now();
	world_tlb_flush(&mm.as, 0, 34 * PAGE_SIZE);
	assert_int_equal(world_now() - before, cost[COST_TLB_FULL]);
	before = world_now();
	world_tlb_flush_mask(mm.as.cpumask);
	assert_int_equal(world_now() - before, cost[COST_TLB_FULL]);
	world_use_as(NULL);
	free(mm.tables);
}

/* ---- disks ---------------------------------------------------------------------------------- */

struct contract_io {
	struct world_io io;
	struct wait_queue_head q;
	bool done;
	bool was_irq;
	int err;
};

static void contract_io_done(struct world_io *io, int err)
{
	struct contract_io *c = io->priv;

	c->done = true;
	c->err = err;
	c->was_irq = world_in_irq();
	wake_up(&c->q);
}

static void contract_io_init(struct contract_io *c, u32 disk, bool write, u32 nr)
{
	memset(c, 0, sizeof(*c));
	init_waitqueue_head(&c->q);
	c->io.disk = disk;
	c->io.write = write;
	c->io.sync = !write;
	c->io.nr_pages = nr;
	c->io.sector = 800;
	for (u32 i = 0; i < nr; i++)
		c->io.pfn[i] = 10 + i;
	c->io.done = contract_io_done;
	c->io.priv = c;
}

static void io_ends_by_an_interrupt(struct world *w)
{
	(void)w;
	for (u32 i = 0; i < 4; i++) {
		struct contract_io c;

		contract_io_init(&c, i / 2, i % 2 == 0, 4);
		for (u32 j = 0; j < 4; j++)
			world_frame_clear(10 + j);
		assert_int_equal(world_io_submit(&c.io), 0);
		if (i / 2) /* a RAM disk has already done it */
			assert_true(c.done);
		wait_event(&c.q, READ_ONCE(c.done));
		assert_int_equal(c.err, 0);
		assert_true(c.was_irq);
		assert_false(world_disk_congested(w, i / 2, true));
	}
}

static void failure_injection_counts(struct world *w)
{
	w->fail_every[WORLD_FAIL_RADIX] = 3;
	assert_false(world_should_fail(w, WORLD_FAIL_RADIX));
	assert_false(world_should_fail(w, WORLD_FAIL_RADIX));
	assert_true(world_should_fail(w, WORLD_FAIL_RADIX));
	assert_false(world_should_fail(w, WORLD_FAIL_TABLE));
}

#define CONTRACT(name)                                                                             \
	TEST(contract_##name)                                                                      \
	{                                                                                          \
		contract_run(name);                                                                \
	}

CONTRACT(charge_moves_the_clock)
CONTRACT(span_takes_the_time_that_is_charged_in_it)
CONTRACT(line_costs_grow_with_distance)
CONTRACT(a_line_that_a_neighbour_has_fetched_is_in_the_socket)
CONTRACT(a_lock_taken_unseen_costs_and_counts_the_same)
CONTRACT(spin_lock_excludes_and_counts)
CONTRACT(taking_a_lock_twice_panics)
CONTRACT(sleeping_with_a_lock_panics)
CONTRACT(lock_of_interrupts_must_be_taken_with_interrupts_off)
CONTRACT(semaphore_admits_readers_or_a_writer)
CONTRACT(sleep_takes_its_time)
CONTRACT(wake_up_before_the_sleep_is_not_lost)
CONTRACT(interruptible_sleep_ends_by_a_signal)
CONTRACT(timer_runs_as_an_interrupt_and_ends_a_wait)
CONTRACT(timer_runs_while_its_cpu_is_busy)
CONTRACT(interrupts_wait_while_they_are_off)
CONTRACT(cancelled_timer_does_not_run)
CONTRACT(task_runs_waits_and_ends)
CONTRACT(semaphore_is_handed_to_a_task_that_sleeps)
CONTRACT(wake_up_key_wakes_equal_keys_and_one_exclusive_waiter)
CONTRACT(ipi_runs_on_every_other_cpu_of_the_mask)
CONTRACT(user_access_faults_once_and_sets_accessed_and_dirty)
CONTRACT(user_access_returns_the_error_of_its_fault)
CONTRACT(tlb_flush_costs_by_page_up_to_the_ceiling)
CONTRACT(io_ends_by_an_interrupt)
CONTRACT(failure_injection_counts)

#endif
