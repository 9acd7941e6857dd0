/*
 * The scheduler: shares, latencies, where tasks run, what is booked.
 */
#include "tests/sim/machine.h"

#define MS 1000000UL

struct sched {
	u64 compute_ns;
	u64 until;
	u64 late_max;
	u64 steps[TEST_TASKS_MAX];
	u64 cpus_seen[TEST_TASKS_MAX];
};

static void user_compute(u64 ns)
{
	world_syscall_exit();
	world_user_compute(ns);
	world_syscall_enter();
}

static void compute_all(struct test_machine *m, u32 i)
{
	struct sched *s = m->data;

	(void)i;
	user_compute(s->compute_ns);
}

static void hog(struct test_machine *m, u32 i)
{
	struct sched *s = m->data;

	while (world_now() < s->until) {
		user_compute(100000);
		s->steps[i]++;
		s->cpus_seen[i] |= BIT(world_cpu_id());
	}
}

static void run(struct test_machine *m)
{
	assert_int_equal(sim_run(m->w), 0);
	test_machine_check_books(m);
}

TEST(time_of_tasks_is_exact)
{
	struct test_machine m;
	struct sched s = {.compute_ns = 10 * MS};
	struct world_task *t;

	test_machine_init(&m, 1, 1);
	test_machine_build(&m);
	m.data = &s;
	t = &test_task_start(&m, WORLD_TASK_USER, 0, compute_all)->task;
	run(&m);
	assert_int_equal(t->utime_ns, 10 * MS);
	/* Switched to once; three system calls; ticks at 4 and 8 ms. */
	assert_int_equal(t->stime_ns, m.hw->cost_ns[COST_CTX_SWITCH] +
	                                      2 * m.hw->cost_ns[COST_SYSCALL] +
	                                      2 * m.hw->cost_ns[COST_TICK]);
	assert_int_equal(sim_elapsed(m.w), t->utime_ns + t->stime_ns + m.hw->cost_ns[COST_IRQ] +
	                                           m.hw->cost_ns[COST_IDLE_EXIT]);
	test_machine_destroy(&m);
}

TEST(equal_tasks_get_equal_shares)
{
	struct test_machine m;
	struct sched s = {.until = 1000 * MS};

	test_machine_init(&m, 1, 1);
	test_machine_build(&m);
	m.data = &s;
	for (u32 i = 0; i < 3; i++)
		test_task_start(&m, WORLD_TASK_USER, 0, hog);
	run(&m);
	for (u32 i = 0; i < 3; i++) {
		/* A third of a second, give or take a slice of 2 ms and a tick. */
		assert_true(m.task[i].task.utime_ns > 326 * MS);
		assert_true(m.task[i].task.utime_ns < 340 * MS);
		/* With 6 ms of latency and ticks of 4 ms a turn lasts a tick: some 80 each. */
		assert_true(m.task[i].task.nr_switches > 60);
		assert_true(m.task[i].task.nr_switches < 130);
	}
	test_machine_destroy(&m);
}

static void compute_in_one_go(struct test_machine *m, u32 i)
{
	struct sched *s = m->data;

	world_syscall_exit();
	for (u32 n = 0; n < 2000; n++)
		world_user_compute(s->compute_ns);
	s->steps[i] = world_now();
	world_syscall_enter();
}

/* A tick finds user code in the middle of a computation, which is no system call. */
TEST(task_that_only_computes_gives_way)
{
	struct test_machine m;
	struct sched s = {.compute_ns = 50000};

	test_machine_init(&m, 1, 1);
	test_machine_build(&m);
	m.data = &s;
	for (u32 i = 0; i < 2; i++)
		test_task_start(&m, WORLD_TASK_USER, 0, compute_in_one_go);
	run(&m);
	/* 100 ms each; they end together, a turn of a tick or two apart. */
	for (u32 i = 0; i < 2; i++)
		assert_true(s.steps[i] > 190 * MS);
	test_machine_destroy(&m);
}

TEST(nice_tasks_get_their_weight)
{
	struct test_machine m;
	struct sched s = {.until = 2000 * MS};

	test_machine_init(&m, 1, 1);
	test_machine_build(&m);
	m.data = &s;
	for (u32 i = 0; i < 2; i++) {
		struct test_task *t = &m.task[i];

		t->m = &m;
		t->i = i;
		t->fn = hog;
		world_task_init(m.w, &t->task, "hog", WORLD_TASK_USER, WORLD_STACK_KERNEL,
		                test_task_main, t);
		t->task.nice = i ? 5 : 0;
		world_task_start(m.w, &t->task, 0);
	}
	m.nr_tasks = 2;
	run(&m);
	/* Weights 1024 and 335: 0.754 and 0.246 of 2 s. */
	assert_true(m.task[0].task.utime_ns > 1450 * MS && m.task[0].task.utime_ns < 1560 * MS);
	assert_true(m.task[1].task.utime_ns > 440 * MS && m.task[1].task.utime_ns < 540 * MS);
	test_machine_destroy(&m);
}

static void sleeper(struct test_machine *m, u32 i)
{
	struct sched *s = m->data;

	(void)i;
	for (u32 n = 0; n < 100; n++) {
		u64 due = world_now() + 7 * MS;

		world_sleep(7 * MS);
		s->late_max = max(s->late_max, world_now() - due);
		charge_ns(50000);
	}
}

TEST(woken_task_preempts_a_hog)
{
	struct test_machine m;
	struct sched s = {.until = 800 * MS};

	test_machine_init(&m, 1, 1);
	test_machine_build(&m);
	m.data = &s;
	test_task_start(&m, WORLD_TASK_USER, 0, hog);
	test_task_start(&m, WORLD_TASK_USER, 0, sleeper);
	run(&m);
	/* The timer's interrupt, and a switch when it returns to user mode. */
	assert_true(s.late_max < 20000);
	assert_true(hist_max(&m.w->ledger.hist[HIST_RUN_DELAY]) > 1 * MS); /* the hog waited */
	test_machine_destroy(&m);
}

static void kernel_hog(struct test_machine *m, u32 i)
{
	struct sched *s = m->data;

	(void)i;
	while (world_now() < s->until) {
		charge_ns(1000);
		world_order();
	}
	world_cond_resched();
}

TEST(kernel_code_is_not_preempted)
{
	struct test_machine m;
	struct sched s = {.until = 50 * MS};

	test_machine_init(&m, 1, 1);
	test_machine_build(&m);
	m.data = &s;
	test_task_start(&m, WORLD_TASK_USER, 0, sleeper);
	test_task_start(&m, WORLD_TASK_USER, 0, kernel_hog);
	run(&m);
	assert_true(s.late_max > 40 * MS);
	test_machine_destroy(&m);
}

/* ---- where tasks run ------------------------------------------------------------------------ */

TEST(tasks_started_anywhere_spread_over_idle_cpus)
{
	struct test_machine m;
	struct sched s = {.compute_ns = 100 * MS};

	test_machine_init(&m, 8, 2);
	test_machine_build(&m);
	m.data = &s;
	for (u32 i = 0; i < 8; i++)
		test_task_start(&m, WORLD_TASK_USER, -1, compute_all);
	run(&m);
	assert_true(sim_elapsed(m.w) < 102 * MS);
	test_machine_destroy(&m);
}

TEST(idle_cpus_pull_tasks_from_a_busy_one)
{
	struct test_machine m;
	struct sched s = {.until = 400 * MS};
	u64 total = 0;

	test_machine_init(&m, 4, 2);
	test_machine_build(&m);
	m.data = &s;
	for (u32 i = 0; i < 4; i++)
		test_task_start(&m, WORLD_TASK_USER, 0, hog);
	run(&m);
	for (u32 i = 0; i < 4; i++)
		total += m.task[i].task.utime_ns;
	/* Each tick of the busy CPU sends one away: 3 ticks of 4 ms until all four run. */
	assert_true(total > 4 * 380 * MS);
	test_machine_destroy(&m);
}

static void ping(struct test_machine *m, u32 i)
{
	struct sched *s = m->data;

	for (u32 n = 0; n < 50; n++) {
		world_sleep(2 * MS);
		charge_ns(1 * MS);
		world_order();
		s->cpus_seen[i] |= BIT(world_cpu_id());
	}
}

/* A bound kernel task that keeps its CPU busy most of the time. */
static void busy_kthread(struct test_machine *m, u32 i)
{
	struct sched *s = m->data;

	(void)i;
	while (world_now() < s->until) {
		charge_ns(10000);
		world_cond_resched();
	}
}

TEST(woken_task_goes_to_an_idle_cpu_of_its_socket)
{
	struct test_machine m;
	struct sched s = {.until = 150 * MS};

	test_machine_init(&m, 4, 2); /* CPUs 0 and 1 are one socket */
	test_machine_build(&m);
	m.data = &s;
	test_task_start(&m, WORLD_TASK_USER, 0, ping);
	test_task_start(&m, WORLD_TASK_KTHREAD, 0, busy_kthread);
	run(&m);
	assert_true(s.cpus_seen[0] & 2);
	assert_false(s.cpus_seen[0] & ~3UL);
	test_machine_destroy(&m);
}

TEST(bound_tasks_stay)
{
	struct test_machine m;
	struct sched s = {.until = 100 * MS};

	test_machine_init(&m, 4, 2);
	test_machine_build(&m);
	m.data = &s;
	for (u32 i = 0; i < 6; i++)
		test_task_start(&m, WORLD_TASK_USER, -1, hog);
	for (u32 i = 0; i < 4; i++)
		test_task_start(&m, i < 2 ? WORLD_TASK_KTHREAD : WORLD_TASK_KSWAPD, 2, ping);
	run(&m);
	for (u32 i = 6; i < 8; i++)
		assert_int_equal(s.cpus_seen[i], 4);
	for (u32 i = 8; i < 10; i++)
		assert_false(s.cpus_seen[i] & 3); /* its node has CPUs 2 and 3 */
	test_machine_destroy(&m);
}

TEST(more_tasks_than_cpus_share_all_of_them)
{
	struct test_machine m;
	struct sched s = {.until = 500 * MS};

	test_machine_init(&m, 4, 2);
	test_machine_build(&m);
	m.data = &s;
	for (u32 i = 0; i < 10; i++)
		test_task_start(&m, WORLD_TASK_USER, -1, hog);
	run(&m);
	for (u32 i = 0; i < 10; i++) /* 200 ms each, were it perfect */
		assert_true(m.task[i].task.utime_ns > 120 * MS);
	for (u32 i = 0; i < 4; i++)
		assert_true(sim_cpu_times(m.w, i).idle_ns < 10 * MS);
	test_machine_destroy(&m);
}

/*
 * One CPU, six users and a kernel thread: with autogroup the six are one session, which has half of it
 * with the thread; without, each has a seventh.
 */
TEST(a_session_weighs_as_much_as_a_kernel_thread)
{
	for (u32 autogroup = 0; autogroup < 2; autogroup++) {
		struct test_machine m;
		struct sched s = {.until = 2000 * MS};
		u64 expected = autogroup ? 1000 * MS : 2000 * MS / 7;

		test_machine_init(&m, 1, 1);
		m.hw->autogroup = autogroup;
		test_machine_build(&m);
		m.data = &s;
		for (u32 i = 0; i < 6; i++)
			test_task_start(&m, WORLD_TASK_USER, 0, hog);
		test_task_start(&m, WORLD_TASK_KTHREAD, 0, busy_kthread);
		run(&m);
		assert_true(m.task[6].task.stime_ns > expected - 100 * MS);
		assert_true(m.task[6].task.stime_ns < expected + 100 * MS);
		test_machine_destroy(&m);
	}
}

/* Beside a kernel thread that is always busy, the session's tasks gather on the other CPU. */
TEST(a_session_makes_room_for_a_kernel_thread)
{
	struct test_machine m;
	struct sched s = {.until = 2000 * MS};

	test_machine_init(&m, 2, 1);
	m.hw->autogroup = true;
	test_machine_build(&m);
	m.data = &s;
	for (u32 i = 0; i < 8; i++)
		test_task_start(&m, WORLD_TASK_USER, -1, hog);
	test_task_start(&m, WORLD_TASK_KTHREAD, -1, busy_kthread);
	run(&m);
	assert_true(m.task[8].task.stime_ns > 1600 * MS);
	test_machine_destroy(&m);
}

/* ---- ticks and the end ---------------------------------------------------------------------- */

static void sleep_long(struct test_machine *m, u32 i)
{
	(void)m;
	(void)i;
	world_sleep(500 * MS);
}

TEST(idle_cpus_have_no_ticks)
{
	struct test_machine m;

	test_machine_init(&m, 2, 1);
	test_machine_build(&m);
	test_task_start(&m, WORLD_TASK_USER, 0, sleep_long);
	run(&m);
	assert_int_equal(m.w->ledger.cost_count[COST_TICK], 0);
	assert_true(sim_cpu_times(m.w, 0).busy_ns < 10000);
	assert_int_equal(sim_cpu_times(m.w, 1).busy_ns, 0);
	test_machine_destroy(&m);
}

static void forever(struct test_machine *m, u32 i)
{
	(void)i;
	for (;;) {
		charge_ns(1000);
		world_order();
		if (m->data && world_now() > 5 * MS)
			sim_stop(m->w);
	}
}

TEST(run_ends_at_its_time_limit_or_when_it_is_stopped)
{
	for (u32 stop = 0; stop < 2; stop++) {
		struct test_machine m;

		test_machine_init(&m, 2, 1);
		m.opt.max_ns = 20 * MS;
		test_machine_build(&m);
		m.data = stop ? &m : NULL;
		test_task_start(&m, WORLD_TASK_USER, 0, forever);
		test_task_start(&m, WORLD_TASK_USER, 1, sleep_long);
		assert_int_equal(sim_run(m.w), stop ? 0 : -ETIME);
		assert_true(sim_elapsed(m.w) >= (stop ? 5 * MS : 20 * MS));
		assert_true(sim_elapsed(m.w) < (stop ? 6 * MS : 21 * MS));
		test_machine_check_books(&m);
		test_machine_destroy(&m);
	}
}

TEST(run_does_not_wait_for_background_tasks)
{
	struct test_machine m;
	struct sched s = {.until = 1000 * MS};
	struct test_task *t = &m.task[0];

	test_machine_init(&m, 2, 1);
	test_machine_build(&m);
	m.data = &s;
	t->m = &m;
	t->fn = hog;
	world_task_init(m.w, &t->task, "background", WORLD_TASK_USER, WORLD_STACK_KERNEL,
	                test_task_main, t);
	sim_task_set_background(&t->task);
	world_task_start(m.w, &t->task, 0);
	m.nr_tasks = 1;
	s.compute_ns = 10 * MS;
	test_task_start(&m, WORLD_TASK_USER, 1, compute_all);
	run(&m);
	assert_true(sim_elapsed(m.w) < 11 * MS);
	test_machine_destroy(&m);
}

TEST(slow_task_takes_longer_in_user_mode)
{
	struct test_machine m;
	struct sched s = {.compute_ns = 10 * MS};
	struct test_task *t;

	test_machine_init(&m, 1, 1);
	test_machine_build(&m);
	m.data = &s;
	t = test_task_start(&m, WORLD_TASK_USER, 0, compute_all);
	sim_task_set_speed(&t->task, 12500);
	run(&m);
	assert_int_equal(t->task.utime_ns, 12500000);
	test_machine_destroy(&m);
}

TEST(stacks_of_shallow_tasks_stay_small)
{
	struct test_machine m;
	struct sched s = {.until = 10 * MS};

	test_machine_init(&m, 1, 1);
	test_machine_build(&m);
	m.data = &s;
	test_task_start(&m, WORLD_TASK_USER, 0, hog);
	run(&m);
	assert_true(sim_task_stack_used(&m.task[0].task) > 0);
	assert_true(sim_task_stack_used(&m.task[0].task) < 16384);
	assert_true(sim_stack_used_max(m.w, WORLD_STACK_KERNEL) < 16384);
	assert_int_equal(sim_stack_used_max(m.w, WORLD_STACK_LUA), 0);
	test_machine_destroy(&m);
}

TEST_MAIN("sched")
