/*
 * Locks with waiters: order, times, statistics, interrupts meanwhile, and what a deadlock prints.
 */
#include "tests/sim/machine.h"

struct locks {
	struct spinlock a;
	struct spinlock b;
	struct rw_semaphore sem;
	struct mutex mutex;
	u32 order[TEST_TASKS_MAX]; /* task numbers as they got it */
	u64 got_at[TEST_TASKS_MAX];
	u32 nr;
	u32 nr_ipis;
	bool irqs_off;
};

static void locks_init(struct test_machine *m, struct locks *l)
{
	memset(l, 0, sizeof(*l));
	spin_lock_init(m->w, &l->a, LOCK_LRU);
	spin_lock_init(m->w, &l->b, LOCK_PTL);
	init_rwsem(m->w, &l->sem, LOCK_MMAP);
	mutex_init(m->w, &l->mutex, LOCK_OOM);
	m->data = l;
}

static void got(struct locks *l, u32 i)
{
	l->order[l->nr++] = i;
	l->got_at[i] = world_now();
}

/* All tasks are on their CPUs and at the same time. */
static void meet_at(u64 time)
{
	VM_BUG_ON(world_now() > time);
	charge_ns(time - world_now());
	world_order();
}

#define MEET 50000UL
#define HOLD 20000UL

/* Task i arrives i us after the meeting; the first holds the lock for HOLD. */
static void queue_up(struct test_machine *m, u32 i)
{
	struct locks *l = m->data;

	meet_at(MEET + 1000 * i);
	spin_lock(&l->a);
	got(l, i);
	charge_ns(i ? 100 : HOLD);
	spin_unlock(&l->a);
}

static void run_queue_up(struct test_machine *m, struct locks *l, u32 nr, bool queued)
{
	test_machine_init(m, nr, 1);
	m->hw->queued_spinlocks = queued;
	test_machine_build(m);
	locks_init(m, l);
	for (u32 i = 0; i < nr; i++)
		test_task_start(m, WORLD_TASK_USER, (int)i, queue_up);
	assert_int_equal(sim_run(m->w), 0);
	assert_int_equal(l->nr, nr);
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(l->order[i], i);
	test_machine_check_books(m);
}

TEST(spin_lock_is_given_in_order_of_arrival)
{
	for (u32 queued = 0; queued < 2; queued++) {
		struct test_machine m;
		struct locks l;
		const u32 *cost;
		struct ledger_lock_stat *st;
		u64 released;

		run_queue_up(&m, &l, 6, queued);
		cost = m.hw->cost_ns;
		st = &m.w->ledger.lock[LOCK_LRU];
		assert_int_equal(st->acquisitions, 6);
		assert_int_equal(st->contentions, 5);
		/* The first takes it at MEET, and charges a line, SPIN, HOLD, SPIN. */
		released = MEET + cost[COST_LINE_OWN] + 2 * cost[COST_SPIN] + HOLD;
		/* Hand-over; with a ticket lock the 4 that still wait re-read the line first. */
		assert_int_equal(l.got_at[1], released + cost[COST_SPIN_HANDOFF] +
		                                      (queued ? 0 : 4 * cost[COST_LINE_SOCKET]) +
		                                      cost[COST_LINE_SOCKET] + cost[COST_SPIN]);
		assert_true(st->wait_ns_max > st->wait_ns / 5);
		assert_true(st->hold_ns_max >= HOLD);
		test_machine_destroy(&m);
	}
}

TEST(ticket_hand_over_slows_down_with_the_queue)
{
	struct test_machine m;
	struct locks l;
	u64 last[2];

	for (u32 queued = 0; queued < 2; queued++) {
		run_queue_up(&m, &l, 16, queued);
		last[queued] = l.got_at[15];
		test_machine_destroy(&m);
	}
	/* 14 + 13 + ... + 1 more reads of a line on the same socket. */
	assert_int_equal(last[0] - last[1], 14 * 15 / 2 * 50);
}

/* ---- interrupts of a CPU that spins --------------------------------------------------------- */

static void count_ipi(void *arg)
{
	struct locks *l = arg;

	l->nr_ipis++;
}

/* 0 holds the lock and interrupts 1, which spins for it. */
static void ipi_with_lock(struct test_machine *m, u32 i)
{
	struct locks *l = m->data;

	if (i == 0) {
		u64 mask[1] = {2};

		meet_at(MEET);
		spin_lock(&l->a);
		charge_ns(5000);
		world_ipi(mask, count_ipi, l);
		spin_unlock(&l->a);
	} else {
		meet_at(MEET + 1000);
		if (l->irqs_off)
			world_irq_save();
		spin_lock(&l->a);
		got(l, i);
		spin_unlock(&l->a);
		if (l->irqs_off)
			world_irq_restore();
	}
}

static int run_ipi_with_lock(struct test_machine *m, struct locks *l, bool irqs_off, FILE *report)
{
	test_machine_init(m, 2, 1);
	m->opt.report = report;
	m->opt.again = "make test T=lock";
	test_machine_build(m);
	locks_init(m, l);
	l->irqs_off = irqs_off;
	test_task_start(m, WORLD_TASK_USER, 0, ipi_with_lock);
	test_task_start(m, WORLD_TASK_USER, 1, ipi_with_lock);
	return sim_run(m->w);
}

TEST(spinning_cpu_serves_interrupts)
{
	struct test_machine m;
	struct locks l;

	assert_int_equal(run_ipi_with_lock(&m, &l, false, NULL), 0);
	assert_int_equal(l.nr_ipis, 1);
	assert_int_equal(l.nr, 1);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
}

/* ---- timers of a CPU that comes to a lock ------------------------------------------------------ */

struct timed {
	struct locks l;
	struct world_timer timer;
	u64 expires;
	u64 ran_at;
};

static void timed_out(struct world_timer *t)
{
	container_of(t, struct timed, timer)->ran_at = world_now();
}

/* 0 has released the lock, in the host's order, before 1 and 2 come to it; 1 has the timer. */
static void come_with_timer(struct test_machine *m, u32 i)
{
	static const u64 comes_at[3] = {MEET, MEET + 250, MEET + 1250};
	struct timed *t = m->data;

	if (i == 1)
		world_timer_arm(&t->timer, t->expires);
	charge_ns(comes_at[i] - world_now()); /* the lock's is the only order point */
	spin_lock(&t->l.a);
	got(&t->l, i);
	charge_ns(i ? 100 : 3000);
	spin_unlock(&t->l.a);
}

static void run_with_timer(struct timed *t, u64 expires, bool check)
{
	struct test_machine m;
	const u32 *cost;

	test_machine_init(&m, 3, 1);
	test_machine_build(&m);
	locks_init(&m, &t->l);
	m.data = t;
	t->timer = (struct world_timer){.fn = timed_out};
	t->expires = expires;
	t->ran_at = 0;
	for (u32 i = 0; i < 3; i++)
		test_task_start(&m, WORLD_TASK_USER, (int)i, come_with_timer);
	assert_int_equal(sim_run(m.w), 0);
	test_machine_check_books(&m);
	cost = m.hw->cost_ns;
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(t->l.order[i], i);
	if (check) {
		u64 soonest = expires + cost[COST_IRQ] + cost[COST_TIMER];

		/* The longest stretch without an order point is that to the release. */
		assert_true(t->ran_at >= soonest);
		assert_true(t->ran_at <= soonest + 3000 + cost[COST_IDLE_EXIT]);
	}
	test_machine_destroy(&m);
}

/* When it comes, while it catches up, while it is handed over, when it has it, and after. */
TEST(timers_find_a_spinner_at_every_stage)
{
	struct timed never;
	struct timed t;
	u64 irq = 1000; /* more than a timer's interrupt takes */

	run_with_timer(&never, MEET + 100000, false);
	for (u64 at = MEET; at < MEET + 3400; at += 11) {
		run_with_timer(&t, at, true);
		for (u32 i = 0; i < 3; i++) {
			assert_true(t.l.got_at[i] >= never.l.got_at[i]);
			assert_true(t.l.got_at[i] <= never.l.got_at[i] + irq);
		}
		/* One that ends before the lock is free costs nobody anything. */
		if (at >= MEET + 250 && t.ran_at < MEET + 3000)
			assert_int_equal(t.l.got_at[1], never.l.got_at[1]);
	}
}

static void assert_says(const char *report, const char *text)
{
	if (!strstr(report, text))
		fail_msg("the report lacks '%s':\n%s", text, report);
}

TEST(deadlock_of_a_lock_and_an_ipi_is_explained)
{
	struct test_machine m;
	struct locks l;
	char *text = NULL;
	size_t size;
	FILE *report = open_memstream(&text, &size);

	assert_int_equal(run_ipi_with_lock(&m, &l, true, report), -EDEADLK);
	fclose(report);
	assert_says(text, "deadlock");
	assert_says(text, "CPU 0, task task/0");
	assert_says(text, "waits for an IPI");
	assert_says(text, "spins for &lruvec->lru_lock, held by CPU 0");
	assert_says(text, "interrupts off");
	assert_says(text, "again: make test T=lock");
	free(text);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
}

static void cross(struct test_machine *m, u32 i)
{
	struct locks *l = m->data;

	meet_at(MEET);
	spin_lock(i ? &l->a : &l->b);
	charge_ns(1000);
	spin_lock(i ? &l->b : &l->a);
}

TEST(deadlock_of_two_locks_names_holders)
{
	struct test_machine m;
	struct locks l;
	char *text = NULL;
	size_t size;

	test_machine_init(&m, 2, 1);
	m.opt.report = open_memstream(&text, &size);
	test_machine_build(&m);
	locks_init(&m, &l);
	test_task_start(&m, WORLD_TASK_USER, 0, cross);
	test_task_start(&m, WORLD_TASK_USER, 1, cross);
	assert_int_equal(sim_run(m.w), -EDEADLK);
	fclose(m.opt.report);
	assert_says(text, "spins for &lruvec->lru_lock, held by CPU 1");
	assert_says(text, "spins for &page_table_lock, held by CPU 0");
	free(text);
	test_machine_destroy(&m);
}

static void cross_mutex(struct test_machine *m, u32 i)
{
	struct locks *l = m->data;

	if (i)
		mutex_lock(&l->mutex);
	else
		down_write(&l->sem);
	world_sleep(1000000);
	if (i)
		down_read(&l->sem);
	else
		mutex_lock(&l->mutex);
}

TEST(deadlock_of_sleeping_tasks_names_holders)
{
	struct test_machine m;
	struct locks l;
	char *text = NULL;
	size_t size;

	test_machine_init(&m, 2, 1);
	m.opt.report = open_memstream(&text, &size);
	test_machine_build(&m);
	locks_init(&m, &l);
	test_task_start(&m, WORLD_TASK_USER, -1, cross_mutex);
	test_task_start(&m, WORLD_TASK_USER, -1, cross_mutex);
	assert_int_equal(sim_run(m.w), -EDEADLK);
	fclose(m.opt.report);
	assert_says(text, "task task/0 (");
	assert_says(text, "waits for oom_lock, held by task/1");
	assert_says(text, "waits for &mm->mmap_sem, held by task/0");
	free(text);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
}

static void round_and_round(struct test_machine *m, u32 i)
{
	(void)m;
	(void)i;
	for (;;)
		world_sleep(1000000000);
}

TEST(deadlock_is_found_though_kernel_tasks_go_on)
{
	struct test_machine m;
	struct locks l;
	char *text = NULL;
	size_t size;

	test_machine_init(&m, 2, 1);
	m.opt.max_ns = 0;
	m.opt.report = open_memstream(&text, &size);
	test_machine_build(&m);
	locks_init(&m, &l);
	test_task_start(&m, WORLD_TASK_USER, -1, cross_mutex);
	test_task_start(&m, WORLD_TASK_USER, -1, cross_mutex);
	test_task_start(&m, WORLD_TASK_KTHREAD, 0, round_and_round);
	assert_int_equal(sim_run(m.w), -EDEADLK);
	fclose(m.opt.report);
	assert_says(text, "waits for oom_lock, held by task/1");
	free(text);
	test_machine_destroy(&m);
}

/* ---- semaphores ----------------------------------------------------------------------------- */

/* 0 and 1 read; 2 wants to write; 3 wants to read and comes last: 2 goes first. */
static void sem_users(struct test_machine *m, u32 i)
{
	struct locks *l = m->data;

	world_sleep(1000000 * (i + 1));
	if (i == 2)
		down_write(&l->sem);
	else
		down_read(&l->sem);
	got(l, i);
	world_sleep(10000000);
	if (i == 2)
		up_write(&l->sem);
	else
		up_read(&l->sem);
}

TEST(waiting_writer_holds_off_readers)
{
	struct test_machine m;
	struct locks l;
	struct ledger_lock_stat *st;

	test_machine_init(&m, 2, 1);
	test_machine_build(&m);
	locks_init(&m, &l);
	for (u32 i = 0; i < 4; i++)
		test_task_start(&m, WORLD_TASK_USER, -1, sem_users);
	assert_int_equal(sim_run(m.w), 0);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(l.order[i], i);
	assert_true(l.got_at[1] < l.got_at[0] + 2000000);   /* readers together */
	assert_true(l.got_at[2] >= l.got_at[1] + 10000000); /* after the last of them */
	assert_true(l.got_at[3] >= l.got_at[2] + 10000000);
	st = &m.w->ledger.lock[LOCK_MMAP];
	assert_int_equal(st->acquisitions, 4);
	assert_int_equal(st->contentions, 2);
	assert_true(st->wait_ns > 15000000 && st->wait_ns < 30000000);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
}

/* ---- mutexes -------------------------------------------------------------------------------- */

/* Task i arrives i us after the meeting and holds the mutex for 5 us. */
static void mutex_users(struct test_machine *m, u32 i)
{
	struct locks *l = m->data;

	meet_at(MEET + 1000 * i);
	mutex_lock(&l->mutex);
	got(l, i);
	charge_ns(5000);
	mutex_unlock(&l->mutex);
}

/* All spin, in order of arrival: no one is put to sleep for a few microseconds. */
TEST(mutex_is_handed_over_among_those_who_spin)
{
	struct test_machine m;
	struct locks l;
	struct ledger_lock_stat *st;

	test_machine_init(&m, 4, 1);
	test_machine_build(&m);
	locks_init(&m, &l);
	for (u32 i = 0; i < 4; i++)
		test_task_start(&m, WORLD_TASK_USER, -1, mutex_users);
	assert_int_equal(sim_run(m.w), 0);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(l.order[i], i);
	for (u32 i = 1; i < 4; i++)
		assert_in_range(l.got_at[i] - l.got_at[i - 1], 5000, 5500);
	st = &m.w->ledger.lock[LOCK_OOM];
	assert_int_equal(st->acquisitions, 4);
	assert_int_equal(st->contentions, 3);
	assert_in_range(st->wait_ns, 4000 + 8000 + 12000, 4000 + 8000 + 12000 + 2000);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
}

/* 0 sleeps with the mutex held; 1 has begun to spin by then, 2 comes later. */
static void mutex_sleepers(struct test_machine *m, u32 i)
{
	struct locks *l = m->data;

	meet_at(MEET + 1000 * i);
	if (i == 2)
		world_sleep(1000000);
	mutex_lock(&l->mutex);
	got(l, i);
	if (!i) {
		charge_ns(3000);
		world_sleep(10000000);
	} else
		charge_ns(5000);
	mutex_unlock(&l->mutex);
}

TEST(mutex_of_a_sleeping_owner_is_slept_for)
{
	struct test_machine m;
	struct locks l;
	u64 busy_ns = 0;

	test_machine_init(&m, 4, 1);
	test_machine_build(&m);
	locks_init(&m, &l);
	for (u32 i = 0; i < 3; i++)
		test_task_start(&m, WORLD_TASK_USER, -1, mutex_sleepers);
	assert_int_equal(sim_run(m.w), 0);
	assert_int_equal(l.nr, 3);
	assert_int_equal(l.order[0], 0);
	assert_true(l.got_at[1] > l.got_at[0] + 10000000);
	assert_true(m.w->ledger.lock[LOCK_OOM].wait_ns > 2 * 8000000);
	/* Had they spun, their CPUs would have been busy for as long. */
	for (u32 i = 0; i < 4; i++)
		busy_ns += sim_cpu_times(m.w, i).busy_ns;
	assert_true(busy_ns < 1000000);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
}

/* More tasks than CPUs: whoever spins gives way when its CPU is wanted. */
static void mutex_crowd(struct test_machine *m, u32 i)
{
	struct locks *l = m->data;

	(void)i;
	for (int n = 0; n < 300; n++) {
		mutex_lock(&l->mutex);
		charge_ns(20000);
		world_order();
		mutex_unlock(&l->mutex);
		charge_ns(3000);
		world_cond_resched();
	}
	got(l, i);
}

TEST(mutex_among_more_tasks_than_cpus)
{
	struct test_machine m;
	struct locks l;

	test_machine_init(&m, 2, 1);
	test_machine_build(&m);
	locks_init(&m, &l);
	for (u32 i = 0; i < 5; i++)
		test_task_start(&m, WORLD_TASK_USER, -1, mutex_crowd);
	assert_int_equal(sim_run(m.w), 0);
	assert_int_equal(l.nr, 5);
	assert_int_equal(m.w->ledger.lock[LOCK_OOM].acquisitions, 1500);
	assert_true(sim_elapsed(m.w) >= 1500 * 20000);
	assert_true(sim_elapsed(m.w) < 1500 * 26000);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
}

TEST_MAIN("lock")
