/*
 * What the engine tells people: deadlocks, and trace events.
 */
#include "sim/engine.h"

#include <errno.h>
#include <stdlib.h>

/* ---- deadlocks ------------------------------------------------------------------------------ */

static const char *sim_state_name(const struct world_task *t)
{
	switch (t->state) {
	case WORLD_TASK_NEW:
		return "not started";
	case WORLD_TASK_RUNNING:
		return "running";
	case WORLD_TASK_INTERRUPTIBLE:
		return "sleeps, interruptible";
	case WORLD_TASK_UNINTERRUPTIBLE:
		return "sleeps";
	case WORLD_TASK_DEAD:
		return "dead";
	}
	return "?";
}

/* A semaphore that a task waits for, and who has it. */
static void sim_sem_text(const struct world_task *t, char *buf, size_t n)
{
	const struct rw_semaphore *s = t->waits_for;

	if (s->writer)
		snprintf(buf, n, "%s, held by %s (%u), %u in the queue",
		         ledger_lock_name[t->waits_class], s->writer->name, s->writer->id,
		         s->nr_waiters);
	else
		snprintf(buf, n, "%s, held by %d readers, %u in the queue",
		         ledger_lock_name[t->waits_class], s->nr_readers, s->nr_waiters);
}

const struct sim_task *sim_find_task(const struct sim *sim, u32 id)
{
	const struct sim_task *st;

	list_for_each_entry (st, &sim->tasks, list)
		if (st->task->id == id)
			return st;
	return NULL;
}

bool sim_task_lock(const struct world *w, u32 id, char *buf, size_t n)
{
	const struct sim_task *st = sim_find_task(sim_of(w), id);

	if (!st || !st->sem)
		return false;
	sim_sem_text(st->task, buf, n);
	return true;
}

void sim_report_task(struct sim *sim, FILE *out, struct world_task *t)
{
	const struct sim_task *st = t->engine;
	const struct world_upcalls *up = sim->w.up;
	char sem[256];

	fprintf(out, "  task %s (%u), CPU %u, %s", t->name, t->id, t->cpu, sim_state_name(t));
	if (st->sem) {
		sim_sem_text(t, sem, sizeof(sem));
		fprintf(out, ", waits for %s", sem);
	} else if (t->waits_for && t->state != WORLD_TASK_RUNNING) {
		fputs(", in a wait queue", out);
	}
	if (st->timeout.pending)
		fprintf(out, ", until %lu ns", st->timeout.time);
	fputc('\n', out);
	if (up && up->describe_task)
		up->describe_task(sim->w.machine, t, out);
}

static void sim_report_cpu(FILE *out, const struct sim_cpu *s)
{
	const struct world_cpu *c = &s->cpu;

	if (s->spins_on)
		fprintf(out,
		        "  CPU %u, task %s (%u), spins for %s, held by CPU %u, %u in the queue%s\n",
		        c->id, c->task->name, c->task->id, ledger_lock_name[s->spins_on->class],
		        s->spins_on->owner - 1, s->spins_on->nr_waiters,
		        c->irq_off ? ", interrupts off" : "");
	else if (s->waits == SIM_PARKED_IPI)
		fprintf(out, "  CPU %u, task %s (%u), waits for an IPI%s\n", c->id, c->task->name,
		        c->task->id, c->irq_off ? ", interrupts off" : "");
}

void sim_report_deadlock(struct sim *sim)
{
	FILE *out = sim->report;
	struct sim_task *st;

	fprintf(out, "quire: deadlock at %lu ns: tasks remain, and nothing will wake them\n",
	        world_now());
	for (u32 i = 0; i < sim->w.hw->nr_cpus; i++)
		sim_report_cpu(out, sim_cpu(sim, i));
	list_for_each_entry (st, &sim->tasks, list) {
		if (st->task->state != WORLD_TASK_DEAD && st->task->state != WORLD_TASK_NEW)
			sim_report_task(sim, out, st->task);
	}
	if (sim->w.again)
		fprintf(out, "again: %s\n", sim->w.again);
	fflush(out);
}

/* ---- trace events --------------------------------------------------------------------------- */

struct sim_trace_ring {
	u64 nr_seen;
	u32 max;
	struct sim_trace_event event[];
};

int sim_trace_create(struct sim *sim, u32 nr)
{
	sim->trace = calloc(1, sizeof(*sim->trace) + nr * sizeof(sim->trace->event[0]));
	if (!sim->trace)
		return -ENOMEM;
	sim->trace->max = nr;
	return 0;
}

void sim_trace_destroy(struct sim *sim)
{
	free(sim->trace);
	sim->trace = NULL;
}

void sim_trace(struct world_cpu *c, enum ledger_event e, u64 a, u64 b)
{
	struct sim *sim = sim_of(c->w);
	struct sim_trace_ring *ring = sim->trace;
	const struct sim_trace_event event = {
		.clock = c->clock,
		.a = a,
		.b = b,
		.task = c->task->id,
		.cpu = c->id,
		.event = (u8)e,
	};

	if (sim->slices && (e == EVENT_KSWAPD_WAKE || e == EVENT_KSWAPD_SLEEP ||
	                    e == EVENT_MADVISE_CHOICE || e == EVENT_OOM_KILL))
		slice_instant(c, e, a, b);
	if (sim->watch)
		sim->watch(sim->watch_arg, &event);
	else if (ring)
		ring->event[ring->nr_seen++ % ring->max] = event;
}

u64 sim_trace_count(const struct world *w, u64 *nr_lost)
{
	const struct sim_trace_ring *ring = sim_of(w)->trace;
	u64 nr = ring ? min_t(u64, ring->nr_seen, ring->max) : 0;

	if (nr_lost)
		*nr_lost = ring ? ring->nr_seen - nr : 0;
	return nr;
}

const struct sim_trace_event *sim_trace_at(const struct world *w, u64 i)
{
	const struct sim_trace_ring *ring = sim_of(w)->trace;
	u64 first = ring->nr_seen > ring->max ? ring->nr_seen - ring->max : 0;

	return &ring->event[(first + i) % ring->max];
}
