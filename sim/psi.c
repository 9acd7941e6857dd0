/*
 * Pressure stall information for memory (Linux kernel/sched/psi.c, 4.20 on): in which share of the time
 * were some tasks held up for want of memory, and in which were all that had anything to do?
 *
 * As in Linux each CPU counts its tasks (those that run or are ready there, and those that went to sleep
 * there) and keeps the times during which
 *
 *     some     at least one was in a memory stall
 *     full     and none that was not in one could run
 *     nonidle  there was a task that ran, was ready, or was in a stall
 *
 * The machine's share is the mean of the CPUs' shares, weighted by nonidle. It is kept for every kernel
 * that is simulated, also for those that had no PSI: it is a measurement, and costs the machine nothing.
 */
#include "sim/engine.h"

enum sim_psi_state {
	PSI_RUNNING = 1,
	PSI_STALLED = 2,
};

/* Linux counts a task in a stall as runnable only while it is; kthreads count like all others. */
static void psi_account(struct sim_psi *p, u64 now)
{
	u64 ns;

	if (now <= p->since)
		return; /* a CPU that is ahead has been here */
	ns = now - p->since;
	p->since = now;
	if (p->nr_stalled) {
		p->some_ns += ns;
		if (p->nr_running == p->nr_both)
			p->full_ns += ns;
	}
	if (p->nr_stalled || p->nr_running)
		p->nonidle_ns += ns;
}

static void psi_add(struct sim_psi *p, u8 state, u32 n)
{
	p->nr_stalled += state & PSI_STALLED ? n : 0;
	p->nr_running += state & PSI_RUNNING ? n : 0;
	p->nr_both += state == (PSI_STALLED | PSI_RUNNING) ? n : 0;
}

void psi_task_change(struct sim_task *t, bool runnable, u64 now)
{
	u8 state = (u8)((runnable ? PSI_RUNNING : 0) | (t->task->memstall ? PSI_STALLED : 0));
	u16 cpu = t->task->cpu;

	if (state == t->psi && cpu == t->psi_cpu)
		return;
	t->sim->nr_stalled += !!(state & PSI_STALLED) - !!(t->psi & PSI_STALLED);
	if (t->sim->nr_stalled)
		world_self->ahead = 0; /* the others' is set when they come to run */
	if (t->psi) {
		struct sim_psi *old = &sim_cpu(t->sim, t->psi_cpu)->psi;

		psi_account(old, now);
		psi_add(old, t->psi, -1u);
	}
	if (state) {
		struct sim_psi *p = &sim_cpu(t->sim, cpu)->psi;

		psi_account(p, now);
		psi_add(p, state, 1);
	}
	t->psi = state;
	t->psi_cpu = cpu;
}

void sim_memstall(struct world_task *t)
{
	struct sim_task *st = t->engine;

	if (st && st->sim->running) /* the boot task has no engine part */
		psi_task_change(st, true, world_self->clock);
}

struct sim_load sim_load_at(const struct world *w, u64 now)
{
	struct sim *sim = sim_of(w);
	struct sim_load load = {.nr_queued = sim->nr_queued};
	unsigned __int128 some = 0;
	unsigned __int128 full = 0;
	u64 nonidle = 0;

	for (u32 i = 0; i < sim->nr_sockets; i++)
		load.nr_running += sim->socket[i].nr_busy;
	for (u32 i = 0; i < w->hw->nr_cpus; i++) {
		struct sim_cpu *s = sim_cpu(sim, i);
		struct sim_psi *p = &s->psi;

		load.idle_ns += s->idle_ns;
		if (s->cpu.task == &s->idle_task && now > s->since)
			load.idle_ns += now - s->since;
		psi_account(p, now);
		some += (unsigned __int128)p->some_ns * p->nonidle_ns;
		full += (unsigned __int128)p->full_ns * p->nonidle_ns;
		nonidle += p->nonidle_ns;
		p->some_ns = p->full_ns = p->nonidle_ns = 0;
	}
	if (nonidle) {
		load.some_ns = (u64)(some / nonidle);
		load.full_ns = (u64)(full / nonidle);
	}
	return load;
}
