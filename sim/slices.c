/*
 * Slices: what happened from when to when, for a picture of the run. Spans on the track of their task
 * (of their CPU, in an interrupt), tasks and interrupts on the tracks of CPUs, waits for locks,
 * requests to disks, IPIs from the sender to the receiver; and a few events that have no length.
 *
 * A run of seconds has millions of them, most of them shorter than a microsecond, and the buffer is
 * bounded. When it is full, the least length that is kept doubles and what is shorter goes. So the
 * whole run is covered, by what took long in it; a slice that is kept has all its ancestors. How many
 * were left out is counted. Whoever wants the short ones asks for a window of time.
 */
#include "sim/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a task, or an interrupt on top of it, is in the middle of. */
struct sim_slice_task {
	u64 begin[LEDGER_DEPTH_MAX];
	struct slice_task name;
};

struct sim_slices {
	struct slices_info info;
	u64 from_ns;
	u64 to_ns;
	u32 max;
	u32 nr_instants;
	u32 nr_tasks; /* room in @task, by id */
	struct sim_slice_task *task;
	struct sim_slice_task *idle; /* [nr_cpus]: idle tasks share a number */
	struct slice slice[];
};

int sim_slices_create(struct sim *sim, const struct sim_options *opt)
{
	struct sim_slices *p = calloc(1, sizeof(*p) + opt->nr_slices_max * sizeof(p->slice[0]));

	if (!p)
		return -ENOMEM;
	p->idle = calloc(sim->w.hw->nr_cpus, sizeof(*p->idle));
	if (!p->idle) {
		free(p);
		return -ENOMEM;
	}
	p->max = opt->nr_slices_max;
	p->from_ns = opt->slices_from_ns;
	p->to_ns = opt->slices_to_ns ? opt->slices_to_ns : SIM_NEVER;
	sim->slices = p;
	sim->w.ledger.slices = true;
	return 0;
}

void sim_slices_destroy(struct sim *sim)
{
	if (sim->slices) {
		free(sim->slices->task);
		free(sim->slices->idle);
	}
	free(sim->slices);
	sim->slices = NULL;
}

/* An IPI lasts as long as its receiver is busy with it: they go together. */
static u64 slice_length(const struct slice *s)
{
	if (s->kind == SLICE_INSTANT)
		return SIM_NEVER;
	return s->kind == SLICE_IPI ? s->b : s->end - s->begin;
}

static void slices_purge(struct sim_slices *p)
{
	u32 n = 0;

	while (p->info.nr == p->max) {
		n = 0;
		p->info.least_ns = p->info.least_ns ? 2 * p->info.least_ns : 64;
		for (u32 i = 0; i < p->info.nr; i++)
			if (slice_length(&p->slice[i]) >= p->info.least_ns)
				p->slice[n++] = p->slice[i];
		p->info.nr_short += p->info.nr - n;
		p->info.nr = n;
	}
}

static void slice_add(struct sim_slices *p, const struct slice *s)
{
	if (s->end < p->from_ns || s->begin > p->to_ns)
		return;
	if (slice_length(s) < p->info.least_ns) {
		p->info.nr_short += 1;
		return;
	}
	/* Instants are never too short: they have an eighth of the room. */
	if (s->kind == SLICE_INSTANT && ++p->nr_instants > p->max / 8) {
		p->info.nr_instants_lost += 1;
		return;
	}
	if (p->info.nr == p->max)
		slices_purge(p);
	p->slice[p->info.nr++] = *s;
}

static struct sim_slice_task *slice_task(struct sim_slices *p, const struct world_task *t)
{
	struct sim_slice_task *st;

	if (unlikely(t->id >= p->nr_tasks)) {
		u32 nr = max(2 * p->nr_tasks, t->id + 64);

		p->task = realloc(p->task, nr * sizeof(*p->task));
		if (!p->task)
			panic("the host has no memory for the slices of %u tasks", nr);
		memset(p->task + p->nr_tasks, 0, (nr - p->nr_tasks) * sizeof(*p->task));
		p->nr_tasks = nr;
	}
	st = &p->task[t->id];
	if (unlikely(!st->name.id)) {
		st->name.id = t->id;
		st->name.kind = (u8)t->kind;
		memcpy(st->name.name, t->name, sizeof(st->name.name));
	}
	return st;
}

/* The running task has entered a span (its depth includes it), or is about to leave one. */
void sim_span(struct world_cpu *c, bool enter)
{
	struct sim_slices *p = sim_of(c->w)->slices;
	struct world_task *t = c->task;
	u64 *begin;

	if (!sim_of(c->w)->running)
		return;
	begin = t->id ? slice_task(p, t)->begin : p->idle[c->id].begin;
	begin += t->span_depth - 1;
	if (enter) {
		*begin = c->clock;
		return;
	}
	if (c->clock - *begin < p->info.least_ns) {
		p->info.nr_short += 1;
		return;
	}
	slice_add(p, &(struct slice){
			     .begin = *begin,
			     .end = c->clock,
			     .task = t->id,
			     .cpu = c->id,
			     .kind = c->in_irq ? SLICE_IRQ : SLICE_SPAN,
			     .name = (u8)c->span->span,
		     });
}

void slice_run(struct sim_cpu *s, const struct world_task *t, u64 begin)
{
	struct sim_slices *p = s->sim->slices;

	slice_task(p, t);
	slice_add(p, &(struct slice){
			     .begin = begin,
			     .end = s->cpu.clock,
			     .task = t->id,
			     .cpu = s->cpu.id,
			     .kind = SLICE_RUN,
		     });
}

void slice_lock(const struct world_cpu *c, u32 class, u64 since)
{
	slice_add(sim_of(c->w)->slices, &(struct slice){
						.begin = since,
						.end = c->clock,
						.task = c->task->id,
						.cpu = c->id,
						.kind = c->in_irq ? SLICE_IRQ_LOCK : SLICE_LOCK,
						.name = (u8) class,
					});
}

void slice_io(struct sim *sim, u32 disk, bool write, u64 sector, u64 nr_sectors, u64 queued,
              u64 now)
{
	slice_add(sim->slices, &(struct slice){
				       .begin = queued,
				       .end = now,
				       .a = sector,
				       .b = nr_sectors,
				       .cpu = (u16)disk,
				       .kind = SLICE_IO,
				       .name = write,
			       });
}

void slice_ipi(struct sim *sim, const struct world_cpu *from, u64 sent, const struct world_cpu *to,
               u64 received)
{
	slice_add(sim->slices, &(struct slice){
				       .begin = sent,
				       .end = received,
				       .a = to->id,
				       .b = to->clock - received,
				       .task = from->task->id,
				       .cpu = from->id,
				       .kind = SLICE_IPI,
			       });
}

void slice_instant(const struct world_cpu *c, enum ledger_event e, u64 a, u64 b)
{
	slice_add(sim_of(c->w)->slices, &(struct slice){
						.begin = c->clock,
						.end = c->clock,
						.a = a,
						.b = b,
						.task = c->task->id,
						.cpu = c->id,
						.kind = SLICE_INSTANT,
						.name = (u8)e,
					});
}

/* ---- for readers ---------------------------------------------------------------------------- */

const struct slice *sim_slices(const struct world *w, struct slices_info *info)
{
	const struct sim_slices *p = sim_of(w)->slices;

	*info = p ? p->info : (struct slices_info){0};
	return p ? p->slice : NULL;
}

u32 sim_slice_names(const struct world *w, struct slice_task *name, u32 max)
{
	const struct sim_slices *p = sim_of(w)->slices;
	u32 n = 0;

	for (u32 i = 0; p && i < p->nr_tasks; i++) {
		if (!p->task[i].name.id)
			continue;
		if (n < max)
			name[n] = p->task[i].name;
		n++;
	}
	return n;
}
