/*
 * The scheduler: which task a CPU runs. Linux's CFS (kernel/sched/fair.c of 3.x and 4.x), reduced to
 * what decides when a task runs.
 *
 * Each task has a virtual run time that grows by its time on a CPU, scaled by the weight of its nice
 * value. A CPU runs the task with the smallest, until its slice ends (a tick finds out) or a task
 * that wakes up is behind it by more than the wake-up granularity. A task that has slept is placed
 * at most half a latency before the others, so that it runs soon but cannot save up.
 *
 * A woken task goes to the CPU it was on if that is idle, else to an idle one of the same socket,
 * in order of cores, else to where it was. A CPU that becomes idle pulls a task from the longest
 * queue. A tick of a CPU with waiting tasks pushes one to an idle CPU, as the no-hz balancer does,
 * and now and then pulls from a queue that is longer by two.
 *
 * A task gives way only in user mode, on return to it, in world_cond_resched(), or by sleeping.
 *
 * With hw->autogroup (kernel.sched_autogroup_enabled, the usual setting since 2.6.38) the user tasks
 * are one session: together they weigh as much as one task, while each kernel thread keeps its own
 * weight. A group's share on a CPU is its weight times the part of its runnable load that is there, so
 * each task's is its own divided by the number that can run; that is what is done here, without
 * queues of queues. It decides how much of a CPU kswapd gets beside a crowd of allocators.
 *
 * Left out: other groups, real-time classes, load averages, buddies, NUMA balancing, the cost of
 * balancing.
 */
#include "sim/engine.h"

#include "lib/bitmap.h"

/* Linux's prio_to_weight: nice -20 to 19; each step is about 10 % of CPU time. */
static const u32 sched_weight[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548,  7620,  6100,  4904,  3906,  3121,  2501,  1991,  1586,  1277,
	1024,  820,   655,   526,   423,   335,   272,   215,   172,   137,
	110,   87,    70,    56,    45,    36,    29,    23,    18,    15,
};

#define NICE_0_WEIGHT 1024

/* Linux: sysctl_sched_latency and its kin, each times 1 + log2(CPUs, at most 8). */
#define SCHED_LATENCY_NS 6000000UL
#define SCHED_MIN_GRANULARITY_NS 750000UL
#define SCHED_WAKEUP_GRANULARITY_NS 1000000UL
#define SCHED_NR_LATENCY 8 /* latency / min_granularity: more tasks stretch the period */

#define SCHED_HOT_NS 500000UL /* Linux: sysctl_sched_migration_cost */
#define SCHED_BALANCE_TICKS 16

void sched_init(struct sim *sim)
{
	u64 factor = 1 + (u64)ilog2(min(sim->w.hw->nr_cpus, 8u));

	sim->sched_latency_ns = SCHED_LATENCY_NS * factor;
	sim->sched_min_granularity_ns = SCHED_MIN_GRANULARITY_NS * factor;
	sim->sched_wakeup_granularity_ns = SCHED_WAKEUP_GRANULARITY_NS * factor;
}

/* ---- run queues ----------------------------------------------------------------------------- */

static struct sim_task *sched_task(const struct world_task *t)
{
	return t->engine;
}

static bool sched_before(const struct rb_node *x, const struct rb_node *y)
{
	const struct sim_task *a = rb_entry(x, struct sim_task, node);
	const struct sim_task *b = rb_entry(y, struct sim_task, node);

	if (a->vruntime != b->vruntime)
		return a->vruntime < b->vruntime;
	return a->task->id < b->task->id;
}

static struct sim_task *sched_first(const struct sim_cpu *s)
{
	return rb_entry_safe(rb_first_cached(&s->rq.tree), struct sim_task, node);
}

static struct sim_socket *sched_socket(const struct sim_cpu *s)
{
	return &s->sim->socket[s->socket];
}

/* @t becomes runnable, or stops being so. */
static void sched_group_add(struct sim_task *t, int nr)
{
	if (t->task->kind == WORLD_TASK_USER)
		t->sim->nr_in_group += (u32)nr;
}

static void sched_enqueue(struct sim_cpu *s, struct sim_task *t)
{
	sched_group_add(t, 1);
	VM_BUG_ON(t->queued || t->on_cpu);
	t->queued = true;
	t->task->cpu = s->cpu.id;
	rb_add_cached(&t->node, &s->rq.tree, sched_before);
	s->rq.nr += 1;
	s->rq.load += t->weight;
	s->sim->nr_queued += 1;
	sched_socket(s)->nr_queued += 1;
	__clear_bit(s->in_socket, sched_socket(s)->idle);
}

static void sched_dequeue(struct sim_cpu *s, struct sim_task *t)
{
	VM_BUG_ON(!t->queued);
	sched_group_add(t, -1);
	t->queued = false;
	rb_erase_cached(&t->node, &s->rq.tree);
	s->rq.nr -= 1;
	s->rq.load -= t->weight;
	s->sim->nr_queued -= 1;
	sched_socket(s)->nr_queued -= 1;
}

static struct sim_task *sched_running(const struct sim_cpu *s)
{
	return s->cpu.task == &s->idle_task ? NULL : sched_task(s->cpu.task);
}

/* Virtual time of @ns on a CPU. */
static s64 sched_scale(u64 ns, const struct sim_task *t)
{
	if (t->sim->w.hw->autogroup && t->task->kind == WORLD_TASK_USER)
		ns *= max(t->sim->nr_in_group, 1U);
	return t->weight == NICE_0_WEIGHT ? (s64)ns : (s64)(ns * NICE_0_WEIGHT / t->weight);
}

/* Brings the running task and min_vruntime up to @now. Other CPUs may do it, before or after ours. */
static void sched_update(struct sim_cpu *s, u64 now)
{
	struct sim_task *t = sched_running(s);
	const struct sim_task *first = sched_first(s);
	s64 v;

	if (t && now > t->exec_start) {
		u64 ns = now - t->exec_start;

		t->exec_start = now;
		t->sum_exec_ns += ns;
		t->vruntime += sched_scale(ns, t);
	}
	if (!t && !first)
		return;
	v = t ? t->vruntime : first->vruntime;
	if (first && first->vruntime < v)
		v = first->vruntime;
	s->rq.min_vruntime = max(s->rq.min_vruntime, v);
}

/* The share of @t in one period, were it in @s's queue. */
static u64 sched_slice(const struct sim_cpu *s, const struct sim_task *t, u32 nr, u64 load)
{
	const struct sim *sim = s->sim;
	u64 period =
		nr > SCHED_NR_LATENCY ? nr * sim->sched_min_granularity_ns : sim->sched_latency_ns;

	return mul_div_u64(period, t->weight, load);
}

/* @t moves from the queue of one CPU to another's: its lead or lag comes with it. */
static void sched_move(struct sim_task *t, const struct sim_cpu *from, struct sim_cpu *to)
{
	t->vruntime += to->rq.min_vruntime - from->rq.min_vruntime;
	t->task->cpu = to->cpu.id;
}

/* ---- switching ------------------------------------------------------------------------------ */

/* The present task of @s, which may be the idle task, leaves. */
static void sched_leave(struct sim_cpu *s)
{
	struct world_cpu *c = &s->cpu;
	struct world_task *t = c->task;

	world_task_account(c, t);
	*(t == &s->idle_task ? &s->idle_ns : &s->busy_ns) += c->clock - s->since;
	s->since = c->clock;
	if (t != &s->idle_task) {
		if (unlikely(s->sim->slices))
			slice_run(s, t, s->run_since);
		t->span = c->span;
		sched_task(t)->on_cpu = false;
		if (unlikely(sched_task(t)->spun_on))
			sim_owner_leaves(s->sim, sched_task(t));
		sched_group_add(sched_task(t), -1);
	}
}

/* A CPU that got here before the task was ready waits for it, idle. */
static void sched_wait_until(struct sim_cpu *s, u64 time)
{
	struct world_cpu *c = &s->cpu;

	if (c->clock >= time)
		return;
	__span_to(c, s->idle_task.span);
	s->idle_ns += time - c->clock;
	s->idle_task.utime_ns += time - c->clock;
	c->clock = time;
	s->since = time;
}

/* @t, in no queue, becomes the task of @s; the caller switches fibers. */
static void sched_enter(struct sim_cpu *s, struct sim_task *t)
{
	struct world_cpu *c = &s->cpu;
	struct world_task *prev = c->task;

	sched_wait_until(s, t->ready_at);
	world_latency(HIST_RUN_DELAY, t->ready_at);
	__span_to(c, ledger_root(c->ledger, SPAN_SCHED));
	t->task->stime_ns += c->cost[COST_CTX_SWITCH];
	charge(COST_CTX_SWITCH);
	world_trace(EVENT_SWITCH, prev->id, t->task->id);
	c->task = t->task;
	__span_to(c, t->task->span);
	t->task->mode_start = c->clock;
	t->task->nr_switches += 1;
	t->task->cpu = c->id;
	t->on_cpu = true;
	sched_group_add(t, 1);
	t->exec_start = c->clock;
	s->run_since = c->clock;
	t->prev_sum_exec_ns = t->sum_exec_ns;
	t->nr_runs += 1;
	psi_task_change(t, true, c->clock);
	if (t->task->kind == WORLD_TASK_USER)
		s->sim->user_ran_at = c->clock;
	if (t->task->as)
		sim_load_as(s, t->task->as);
	if (prev == &s->idle_task) {
		sched_socket(s)->nr_busy += 1;
		sim_tick_start(s);
	}
}

static struct sim_task *sched_pull(struct sim_cpu *s);

static void sched_become_idle(struct sim_cpu *s)
{
	struct world_cpu *c = &s->cpu;

	__set_bit(s->in_socket, sched_socket(s)->idle);
	if (c->task == &s->idle_task)
		return;
	world_trace(EVENT_SWITCH, c->task->id, s->idle_task.id);
	c->task = &s->idle_task;
	s->idle_task.mode_start = c->clock;
	__span_to(c, s->idle_task.span);
	sched_socket(s)->nr_busy -= 1;
	sim_tick_stop(s);
}

void sched_switch(struct sim_cpu *s, bool ready)
{
	struct world_cpu *c = &s->cpu;
	struct sim_task *prev = sched_task(c->task);
	struct sim_task *next;

	VM_BUG_ON_MSG(c->in_irq, "an interrupt sleeps");
	VM_BUG_ON_MSG(c->irq_off, "a task leaves its CPU with interrupts off");
	VM_BUG_ON_MSG(c->nr_spin, "a task leaves its CPU with %u spin locks held", c->nr_spin);
	sched_update(s, c->clock);
	c->need_resched = false;
	next = sched_first(s);
	if (ready) {
		if (!next || sched_before(&prev->node, &next->node)) {
			prev->prev_sum_exec_ns = prev->sum_exec_ns;
			return;
		}
		prev->ready_at = c->clock;
	}
	if (next)
		sched_dequeue(s, next);
	else
		next = sched_pull(s);
	sched_leave(s);
	if (ready)
		sched_enqueue(s, prev);
	else
		psi_task_change(prev, false, c->clock);
	if (next) {
		sched_enter(s, next);
		fiber_switch(&prev->fiber, &next->fiber);
	} else {
		sched_become_idle(s);
		sim_go_idle(s, &prev->fiber);
	}
}

bool sched_leave_idle(struct sim_cpu *s)
{
	struct sim_task *next = sched_first(s);

	if (!next) {
		sched_become_idle(s); /* what it was woken for has been taken by another CPU */
		return false;
	}
	sched_dequeue(s, next);
	sched_leave(s);
	sched_enter(s, next);
	s->cpu.need_resched = false;
	fiber_switch(&s->idle.fiber, &next->fiber);
	return true;
}

/* ---- where a task runs ---------------------------------------------------------------------- */

static bool sched_allowed(const struct sim_task *t, const struct sim_cpu *s)
{
	const struct world_task *wt = t->task;

	if (t->pinned)
		return wt->cpu == s->cpu.id;
	return wt->kind != WORLD_TASK_KSWAPD || s->sim->w.cpu[wt->cpu]->node == s->cpu.node;
}

/* The first idle CPU of @k that may run @t, or NULL. */
static struct sim_cpu *sched_idle_in(struct sim *sim, const struct sim_socket *k,
                                     const struct sim_task *t)
{
	u64 i;

	for_each_set_bit (i, k->idle, k->nr) {
		struct sim_cpu *s = sim_cpu(sim, k->cpu[i]);

		if (sched_allowed(t, s))
			return s;
	}
	return NULL;
}

static struct sim_cpu *sched_select(struct sim_task *t)
{
	struct sim *sim = t->sim;
	struct sim_cpu *prev = sim_cpu(sim, t->task->cpu);
	struct sim_cpu *idle;

	if (t->pinned || test_bit(prev->in_socket, sched_socket(prev)->idle))
		return prev;
	idle = sched_idle_in(sim, sched_socket(prev), t);
	return idle ? idle : prev;
}

/* For a new task: the emptiest socket, there an idle CPU or else the shortest queue. */
static struct sim_cpu *sched_select_new(struct sim_task *t)
{
	struct sim *sim = t->sim;
	struct sim_socket *best = NULL;
	struct sim_cpu *cpu;

	for (u32 i = 0; i < sim->nr_sockets; i++) {
		struct sim_socket *k = &sim->socket[i];

		/* Tasks per CPU, compared without dividing. */
		if (!best || (u64)(k->nr_busy + k->nr_queued) * best->nr <
		                     (u64)(best->nr_busy + best->nr_queued) * k->nr)
			best = k;
	}
	cpu = sched_idle_in(sim, best, t);
	if (cpu)
		return cpu;
	cpu = sim_cpu(sim, best->cpu[0]);
	for (u32 i = 1; i < best->nr; i++)
		if (sim_cpu(sim, best->cpu[i])->rq.nr < cpu->rq.nr)
			cpu = sim_cpu(sim, best->cpu[i]);
	return cpu;
}

/* @s, which is idle or should preempt, looks at its queue. */
static void sched_kick(struct sim_cpu *s)
{
	struct sim *sim = s->sim;
	struct world_cpu *c = world_self;
	u64 at;

	if (sim->running && &s->cpu == c) {
		c->need_resched = true;
		return;
	}
	if (s->parked != SIM_PARKED_IDLE && s->cpu.task == &s->idle_task)
		return; /* awake and idle: it will look before it sleeps again */
	if (!sim->running) {
		at = 0;
	} else {
		charge(COST_IPI_SEND);
		at = c->clock + c->cost[COST_IPI_FLIGHT];
	}
	if (s->resched.pending) {
		if (s->resched.time <= at)
			return;
		sim_cancel(sim, &s->resched);
	}
	sim_post(s, &s->resched, at);
}

/* @t, placed, joins the queue of @s; the running task is preempted if it is too far ahead. */
static void sched_activate(struct sim_cpu *s, struct sim_task *t)
{
	struct sim_task *running = sched_running(s);
	bool idle = s->cpu.task == &s->idle_task;

	if (!s->sim->running && s->parked == SIM_PARKED_IDLE)
		idle = true;
	sched_enqueue(s, t);
	psi_task_change(t, true, t->ready_at);
	if (idle ||
	    running->vruntime - t->vruntime > sched_scale(s->sim->sched_wakeup_granularity_ns, t))
		sched_kick(s);
}

void sched_fork(struct sim_task *t, int cpu)
{
	struct sim *sim = t->sim;
	struct sim_cpu *s = cpu >= 0 ? sim_cpu(sim, (u32)cpu) : sched_select_new(t);
	u64 now = sim->running ? world_self->clock : 0;

	t->weight = sched_weight[clamp_t(int, t->task->nice, -20, 19) + 20];
	t->ready_at = now;
	if (sim->running)
		sched_update(s, now);
	/* Linux's START_DEBIT: a new task waits for the slice it would have had. */
	t->vruntime = s->rq.min_vruntime;
	if (sim->running && sched_running(s))
		t->vruntime +=
			sched_scale(sched_slice(s, t, s->rq.nr + 2,
		                                s->rq.load + t->weight + sched_running(s)->weight),
		                    t);
	sched_activate(s, t);
}

bool sched_wake(struct sim_task *t)
{
	struct world_task *wt = t->task;
	struct sim *sim = t->sim;
	struct sim_cpu *prev;
	struct sim_cpu *s;

	if (wt->state != WORLD_TASK_INTERRUPTIBLE && wt->state != WORLD_TASK_UNINTERRUPTIBLE)
		return false;
	charge(COST_WAKEUP);
	wt->state = WORLD_TASK_RUNNING;
	if (t->timeout.pending)
		sim_cancel(sim, &t->timeout);
	if (t->on_cpu)
		return true; /* it has not gone to sleep yet */
	t->ready_at = world_self->clock;
	prev = sim_cpu(sim, wt->cpu);
	s = sched_select(t);
	if (s != prev)
		sched_move(t, prev, s);
	sched_update(s, t->ready_at);
	t->vruntime = max(t->vruntime, s->rq.min_vruntime - (s64)(sim->sched_latency_ns / 2));
	world_trace(EVENT_WAKEUP, wt->id, s->cpu.id);
	sched_activate(s, t);
	return true;
}

/* ---- ticks and balancing -------------------------------------------------------------------- */

/* The first task of @from that may move to @to: it is ready, and has not run for a while. */
static struct sim_task *sched_movable(const struct sim_cpu *from, const struct sim_cpu *to, u64 now)
{
	struct rb_node *n;

	for (n = rb_first_cached(&from->rq.tree); n; n = rb_next(n)) {
		struct sim_task *t = rb_entry(n, struct sim_task, node);
		bool hot = t->nr_runs && t->exec_start + SCHED_HOT_NS > now;

		if (sched_allowed(t, to) && !hot && t->ready_at <= now)
			return t;
	}
	return NULL;
}

static struct sim_cpu *sched_longest_queue(struct sim *sim, const struct sim_socket *k)
{
	struct sim_cpu *longest = sim_cpu(sim, k->cpu[0]);

	for (u32 i = 1; i < k->nr; i++) {
		struct sim_cpu *s = sim_cpu(sim, k->cpu[i]);

		if (s->rq.nr > longest->rq.nr)
			longest = s;
	}
	return longest;
}

static struct sim_socket *sched_busiest_socket(struct sim *sim)
{
	struct sim_socket *busiest = &sim->socket[0];

	for (u32 i = 1; i < sim->nr_sockets; i++)
		if (sim->socket[i].nr_queued > busiest->nr_queued)
			busiest = &sim->socket[i];
	return busiest;
}

/* Takes a task from @from's queue for @to; NULL if none may move. */
static struct sim_task *sched_steal(struct sim_cpu *from, struct sim_cpu *to, u64 now)
{
	struct sim_task *t;

	if (from == to)
		return NULL;
	t = sched_movable(from, to, now);
	if (t) {
		sched_dequeue(from, t);
		sched_move(t, from, to);
	}
	return t;
}

/* A task for @s, which has none, from the longest queue of its socket, else of the busiest. */
static struct sim_task *sched_pull(struct sim_cpu *s)
{
	struct sim *sim = s->sim;
	struct sim_task *t = NULL;

	if (!sim->nr_queued)
		return NULL;
	if (sched_socket(s)->nr_queued)
		t = sched_steal(sched_longest_queue(sim, sched_socket(s)), s, s->cpu.clock);
	if (!t)
		t = sched_steal(sched_longest_queue(sim, sched_busiest_socket(sim)), s,
		                s->cpu.clock);
	return t;
}

/* Tasks wait here: one goes to an idle CPU, if there is one. */
static void sched_push(struct sim_cpu *s)
{
	struct sim *sim = s->sim;

	for (u32 i = 0; i < sim->nr_sockets; i++) {
		struct sim_socket *k = &sim->socket[(s->socket + i) % sim->nr_sockets];
		u64 bit = find_first_bit(k->idle, k->nr);
		struct sim_cpu *to;
		struct sim_task *t;

		if (bit == k->nr)
			continue;
		to = sim_cpu(sim, k->cpu[bit]);
		t = sched_steal(s, to, s->cpu.clock);
		if (t) {
			sched_enqueue(to, t);
			sched_kick(to);
		}
		return;
	}
}

/* What a task weighs beside others, in parts of 1 / nr_in_group: a kernel thread as much as all users. */
static u64 sched_group_load(const struct sim_task *t)
{
	return t->task->kind == WORLD_TASK_USER ? t->weight
	                                        : (u64)t->weight * max(t->sim->nr_in_group, 1U);
}

static u64 sched_cpu_load(const struct sim_cpu *s)
{
	const struct sim_task *running = sched_running(s);
	u64 load = running ? sched_group_load(running) : 0;
	struct rb_node *n;

	for (n = rb_first_cached(&s->rq.tree); n; n = rb_next(n))
		load += sched_group_load(rb_entry(n, struct sim_task, node));
	return load;
}

/*
 * With groups the numbers of tasks say nothing: beside kswapd a CPU has as much to do as with all users. Up
 * to half of what another CPU of the socket has more comes here.
 */
static void sched_balance_groups(struct sim_cpu *s)
{
	const struct sim_socket *k = sched_socket(s);
	u64 own = sched_cpu_load(s);
	u64 most = own;
	struct sim_cpu *from = NULL;

	for (u32 i = 0; i < k->nr; i++) {
		struct sim_cpu *other = sim_cpu(s->sim, k->cpu[i]);
		u64 load = other->rq.nr ? sched_cpu_load(other) : 0;

		if (load > most) {
			most = load;
			from = other;
		}
	}
	for (u64 left = (most - own) / 2; from;) {
		struct sim_task *t = sched_movable(from, s, s->cpu.clock);

		if (!t || sched_group_load(t) > left)
			return;
		left -= sched_group_load(t);
		sched_dequeue(from, t);
		sched_move(t, from, s);
		sched_enqueue(s, t);
	}
}

static void sched_balance(struct sim_cpu *s)
{
	struct sim *sim = s->sim;
	struct sim_cpu *from = sched_longest_queue(sim, sched_socket(s));
	struct sim_task *t;

	if (sim->w.hw->autogroup) {
		sched_balance_groups(s);
		return;
	}
	if (from->rq.nr < s->rq.nr + 2)
		from = sched_longest_queue(sim, sched_busiest_socket(sim));
	if (from->rq.nr < s->rq.nr + 2)
		return;
	t = sched_steal(from, s, s->cpu.clock);
	if (t)
		sched_enqueue(s, t);
}

void sched_tick(struct sim_cpu *s)
{
	struct world_cpu *c = &s->cpu;
	struct sim_task *t = sched_running(s);
	const struct sim_task *first = sched_first(s);
	u64 ran;
	u64 slice;

	sched_update(s, c->clock);
	if ((world_ticks() + c->id) % SCHED_BALANCE_TICKS == 0 && s->sim->nr_queued > s->rq.nr)
		sched_balance(s);
	if (!t || !first)
		return;
	ran = t->sum_exec_ns - t->prev_sum_exec_ns;
	slice = sched_slice(s, t, s->rq.nr + 1, s->rq.load + t->weight);
	if (ran > slice ||
	    (ran >= s->sim->sched_min_granularity_ns && t->vruntime - first->vruntime > (s64)slice))
		c->need_resched = true;
	sched_push(s);
}
