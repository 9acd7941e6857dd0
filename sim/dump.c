/*
 * CPUs and tasks in words: what each does, and where in the code it is, as spans.
 */
#include "sim/engine.h"

/* "user/fault/alloc": the outermost first. */
static void print_span(FILE *f, const struct ledger *l, const struct ledger_node *node)
{
	char path[512];

	if (node) {
		ledger_path(l, node, path, sizeof(path));
		fprintf(f, ", in %s", path);
	}
}

static void dump_cpu(FILE *f, const struct sim_cpu *s)
{
	const struct world_cpu *c = &s->cpu;

	fprintf(f, "  CPU %u: %lu ns", c->id, c->clock);
	if (c->task == &s->idle_task) {
		fprintf(f, ", idle");
	} else {
		fprintf(f, ", runs %s (%u)", c->task->name, c->task->id);
		print_span(f, c->ledger, c->span);
	}
	if (s->rq.nr)
		fprintf(f, ", %u ready", s->rq.nr);
	if (c->nr_spin)
		fprintf(f, ", holds %u spin lock%s", c->nr_spin, c->nr_spin > 1 ? "s" : "");
	if (s->spins_on && s->spins_on->owner == c->id + 1u)
		fprintf(f, ", is being handed %s", ledger_lock_name[s->spins_on->class]);
	else if (s->spins_on)
		fprintf(f, ", spins for %s held by CPU %u", ledger_lock_name[s->spins_on->class],
		        s->spins_on->owner - 1);
	if (c->irq_off)
		fprintf(f, ", interrupts off");
	fputc('\n', f);
}

/* What @t is in. When the run has ended it is with the task, as for all that do not run. */
static const struct ledger_node *task_span(const struct sim *sim, const struct world_task *t)
{
	const struct world_cpu *c = &sim_cpu(sim, t->cpu)->cpu;

	return c->task == t && !sim->ended ? c->span : t->span;
}

void sim_dump(struct world *w, FILE *f)
{
	struct sim *sim = sim_of(w);
	struct sim_task *st;
	u32 nr_idle = 0;
	u32 nr_ended = 0;

	fprintf(f, "CPUs\n");
	for (u32 i = 0; i < w->hw->nr_cpus; i++) {
		const struct sim_cpu *s = sim_cpu(sim, i);

		if (s->cpu.task == &s->idle_task && !s->rq.nr)
			nr_idle++;
		else
			dump_cpu(f, s);
	}
	fprintf(f, "  %u idle\ntasks\n", nr_idle);
	list_for_each_entry (st, &sim->tasks, list) {
		const struct world_task *t = st->task;

		if (t->state == WORLD_TASK_DEAD || t->state == WORLD_TASK_NEW) {
			nr_ended += t->state == WORLD_TASK_DEAD;
			continue;
		}
		sim_report_task(sim, f, st->task);
		fprintf(f, "    user %lu ns, system %lu ns", t->utime_ns, t->stime_ns);
		print_span(f, &w->ledger, task_span(sim, t));
		fputc('\n', f);
	}
	fprintf(f, "  %u ended\n", nr_ended);
}

/*
 * Linux's khungtaskd (kernel/hung_task.c) looks every two minutes for tasks that sleep uninterruptibly and
 * have not run since it looked last. Here it is worked out when the run is over: had it gone on, nothing
 * would have woken them.
 */
#define HUNG_TASK_TIMEOUT_NS 120000000000UL

void sim_hung_tasks(const struct world *w, u64 until,
                    void (*fn)(const struct sim_hung_task *h, void *arg), void *arg)
{
	struct sim *sim = sim_of((struct world *)w);
	struct sim_task *st;

	list_for_each_entry (st, &sim->tasks, list) {
		const struct world_task *t = st->task;
		u64 found = DIV_ROUND_UP(st->exec_start, HUNG_TASK_TIMEOUT_NS);
		struct sim_hung_task h = {
			.name = t->name,
			.id = t->id,
			.since_ns = st->exec_start,
			.reported_ns = (found + 1) * HUNG_TASK_TIMEOUT_NS,
		};

		if (t->state != WORLD_TASK_UNINTERRUPTIBLE || st->timeout.pending ||
		    h.reported_ns > until)
			continue;
		sim_task_where(w, t->id, h.where, sizeof(h.where));
		fn(&h, arg);
	}
}

struct sim_stuck sim_stuck(const struct world *w)
{
	return sim_of(w)->stuck;
}

void sim_task_where(const struct world *w, u32 id, char *buf, size_t n)
{
	const struct sim *sim = sim_of(w);
	const struct sim_task *st = sim_find_task(sim, id);
	const struct ledger_node *span;
	size_t len;

	if (!st) {
		snprintf(buf, n, "task %u", id);
		return;
	}
	span = task_span(sim, st->task);
	len = (size_t)snprintf(buf, n, "%s (%u)%s", st->task->name, id, span ? " in " : "");
	if (span && len < n)
		ledger_path(&w->ledger, span, buf + len, n - len);
}
