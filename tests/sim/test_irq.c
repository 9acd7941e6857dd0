/*
 * Interrupts: IPIs and who waits for them, interrupts-off sections, idle CPUs, timers in numbers.
 */
#include "tests/sim/machine.h"

#define MEET 50000UL

struct irqs {
	u64 ran_at[8];
	u32 nr;
	u64 off_until;
	u64 sent_at;
	u64 done_at;
};

static void meet_at(u64 time)
{
	VM_BUG_ON(world_now() > time);
	charge_ns(time - world_now());
	world_order();
}

static void note_cpu(void *arg)
{
	struct irqs *q = arg;

	q->ran_at[world_cpu_id()] = world_now();
	q->nr++;
}

static void irqs_off_receiver(struct test_machine *m, u32 i)
{
	struct irqs *q = m->data;

	(void)i;
	meet_at(MEET);
	world_irq_save();
	charge_ns(30000);
	world_order();
	assert_int_equal(q->ran_at[world_cpu_id()], 0);
	q->off_until = world_now();
	world_irq_restore();
	assert_int_not_equal(q->ran_at[world_cpu_id()], 0);
}

static void send_to_all(struct test_machine *m, u32 i)
{
	struct irqs *q = m->data;
	u64 mask[1] = {0xff};

	(void)i;
	meet_at(MEET + 1000);
	q->sent_at = world_now();
	world_ipi(mask, note_cpu, q);
	q->done_at = world_now();
}

TEST(ipi_waits_for_the_slowest_receiver)
{
	struct test_machine m;
	struct irqs q = {.nr = 0};
	const u32 *cost;

	test_machine_init(&m, 8, 1);
	test_machine_build(&m);
	cost = m.hw->cost_ns;
	m.data = &q;
	test_task_start(&m, WORLD_TASK_USER, 0, send_to_all);
	test_task_start(&m, WORLD_TASK_USER, 1, irqs_off_receiver);
	assert_int_equal(sim_run(m.w), 0);
	assert_int_equal(q.nr, 7);
	assert_int_equal(q.ran_at[1], q.off_until + cost[COST_IRQ]);
	assert_true(q.done_at >= q.ran_at[1]);
	/* CPU 2 is idle: the second to be sent to; it has to wake up first. */
	assert_int_equal(q.ran_at[2], q.sent_at + cost[COST_IPI_SEND] + cost[COST_IPI_SEND_MORE] +
	                                      cost[COST_IPI_FLIGHT] + cost[COST_IDLE_EXIT] +
	                                      cost[COST_IRQ]);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
}

static void send_both_ways(struct test_machine *m, u32 i)
{
	struct irqs *q = m->data;
	u64 mask[1] = {0xff};

	(void)i;
	meet_at(MEET);
	for (u32 n = 0; n < 100; n++)
		world_ipi(mask, note_cpu, q);
}

TEST(senders_serve_each_other_while_they_wait)
{
	struct test_machine m;
	struct irqs q = {.nr = 0};

	test_machine_init(&m, 4, 2);
	test_machine_build(&m);
	m.data = &q;
	for (int i = 0; i < 4; i++)
		test_task_start(&m, WORLD_TASK_USER, i, send_both_ways);
	assert_int_equal(sim_run(m.w), 0);
	assert_int_equal(q.nr, 4 * 100 * 3);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
}

static void send_with_irqs_off(struct test_machine *m, u32 i)
{
	u64 mask[1] = {2};

	(void)i;
	world_irq_save();
	assert_panics("interrupts off", world_ipi(mask, note_cpu, m->data));
	world_irq_restore();
}

TEST(ipi_with_interrupts_off_panics)
{
	struct test_machine m;
	struct irqs q = {.nr = 0};

	test_machine_init(&m, 2, 1);
	test_machine_build(&m);
	m.data = &q;
	test_task_start(&m, WORLD_TASK_USER, 0, send_with_irqs_off);
	assert_int_equal(sim_run(m.w), 0);
	test_machine_destroy(&m);
}

/* ---- timers --------------------------------------------------------------------------------- */

#define NR_TIMERS 500

struct alarms {
	struct world_timer timer[NR_TIMERS];
	u64 due[NR_TIMERS];
	u64 last;
	u32 nr_rang;
	u32 nr_cancelled;
	struct rand_stream r;
};

static void ring(struct world_timer *t)
{
	struct alarms *a = (struct alarms *)world_self->w->machine;
	u32 i = (u32)(t - a->timer);

	assert_true(world_now() >= a->due[i]);
	assert_true(a->due[i] >= a->last || world_now() - a->due[i] < 100000);
	a->last = max(a->last, a->due[i]);
	a->nr_rang++;
	if (rand_chance(&a->r, 1, 2)) {
		/* Cancels another, which may not be armed. */
		u32 other = (u32)rand_below(&a->r, NR_TIMERS);

		if (a->timer[other].expires) {
			world_timer_cancel(&a->timer[other]);
			a->nr_cancelled++;
		}
	}
}

static void arm_many(struct test_machine *m, u32 i)
{
	struct alarms *a = m->data;

	(void)i;
	for (u32 n = 0; n < NR_TIMERS; n++) {
		a->timer[n].fn = ring;
		a->due[n] = world_now() + rand_below(&a->r, 5000000);
		world_timer_arm(&a->timer[n], a->due[n]);
		if (n % 3 == 0) {
			a->due[n] += 1000;
			world_timer_arm(&a->timer[n], a->due[n]);
		}
	}
	world_sleep(20000000);
}

TEST(timers_run_in_order_or_are_cancelled)
{
	struct test_machine m;
	struct alarms *a = calloc(1, sizeof(*a));

	test_machine_init(&m, 2, 1);
	test_machine_build(&m);
	rand_init(&a->r, test_seed(), 1, 1);
	m.data = a;
	world_attach(m.w, NULL, a, NULL);
	test_task_start(&m, WORLD_TASK_USER, 0, arm_many);
	assert_int_equal(sim_run(m.w), 0);
	assert_int_equal(a->nr_rang + a->nr_cancelled, NR_TIMERS);
	assert_true(a->nr_cancelled > 20);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
	free(a);
}

/* ---- sleeping ------------------------------------------------------------------------------- */

struct naps {
	struct wait_queue_head q;
	u32 nr_woken;
	u32 nr_timed_out;
};

static void napper(struct test_machine *m, u32 i)
{
	struct naps *n = m->data;

	for (u32 k = 0; k < 200; k++) {
		struct wait_queue_entry e;
		u64 timeout = 10000 + (i * 7 + k * 13) % 50 * 1000;
		u64 before;
		u64 left;

		prepare_to_wait(&n->q, &e, 0, i % 2, WORLD_TASK_UNINTERRUPTIBLE);
		before = world_now();
		left = schedule_timeout(timeout);
		if (e.woken) {
			n->nr_woken++;
		} else {
			assert_int_equal(left, 0);
			assert_true(world_now() >= before + timeout);
			n->nr_timed_out++;
		}
		finish_wait(&e);
	}
}

static void waker(struct test_machine *m, u32 i)
{
	struct naps *n = m->data;

	(void)i;
	for (u32 k = 0; k < 300; k++) {
		world_sleep(20000 + k % 7 * 1000);
		if (k % 5)
			wake_up(&n->q);
		else
			wake_up_all(&n->q);
	}
}

TEST(wait_ends_by_wake_up_or_timeout_and_never_by_both)
{
	struct test_machine m;
	struct naps n = {.nr_woken = 0};

	test_machine_init(&m, 4, 1);
	test_machine_build(&m);
	init_waitqueue_head(&n.q);
	m.data = &n;
	for (u32 i = 0; i < 8; i++)
		test_task_start(&m, WORLD_TASK_USER, -1, napper);
	test_task_start(&m, WORLD_TASK_USER, -1, waker);
	assert_int_equal(sim_run(m.w), 0);
	assert_int_equal(n.nr_woken + n.nr_timed_out, 8 * 200);
	assert_true(n.nr_woken > 100 && n.nr_timed_out > 100);
	assert_true(list_empty(&n.q.list));
	test_machine_check_books(&m);
	test_machine_destroy(&m);
}

/* ---- traces --------------------------------------------------------------------------------- */

TEST(trace_keeps_the_last_events)
{
	struct test_machine m;
	struct naps n = {.nr_woken = 0};
	u64 lost;

	test_machine_init(&m, 2, 1);
	m.opt.tracing = true;
	m.opt.nr_trace_max = 100;
	test_machine_build(&m);
	init_waitqueue_head(&n.q);
	m.data = &n;
	test_task_start(&m, WORLD_TASK_USER, 0, napper);
	assert_int_equal(sim_run(m.w), 0);
	assert_int_equal(sim_trace_count(m.w, &lost), 100);
	assert_true(lost > 100);
	for (u32 i = 1; i < 100; i++)
		assert_true(sim_trace_at(m.w, i)->clock >= sim_trace_at(m.w, i - 1)->clock);
	test_machine_destroy(&m);
}

TEST_MAIN("irq")
