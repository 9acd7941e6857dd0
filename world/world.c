/*
 * What all worlds share: whose turn it is on this host thread, how CPUs and tasks begin, and what to
 * say when an assert fires.
 */
#include "world/impl.h"

__thread struct world_cpu *world_self;

struct ledger_node *world_root_span(struct ledger *l, enum world_task_kind kind)
{
	static const enum ledger_span root[] = {
		[WORLD_TASK_USER] = SPAN_USER,
		[WORLD_TASK_KSWAPD] = SPAN_KSWAPD,
		[WORLD_TASK_KTHREAD] = SPAN_KTHREAD,
		[WORLD_TASK_IDLE] = SPAN_IDLE,
	};

	return ledger_root(l, root[kind]);
}

void world_cpu_init(struct world *w, struct world_cpu *c, u32 id)
{
	c->w = w;
	c->id = (u16)id;
	c->mark = id + 1;
	c->node = w->hw->cpu[id].node;
	c->cost = w->hw->cost_ns;
	c->ledger = &w->ledger;
	c->cost_count = w->ledger.cost_count;
	c->limit = UINT64_MAX;
	c->turn = UINT64_MAX;
	w->cpu[id] = c;
}

void world_task_setup(struct world *w, struct world_task *t, const char *name,
                      enum world_task_kind kind)
{
	t->id = ++w->next_task;
	t->kind = kind;
	t->state = WORLD_TASK_NEW;
	t->span = world_root_span(&w->ledger, kind);
	t->in_user = kind == WORLD_TASK_USER;
	snprintf(t->name, sizeof(t->name), "%s", name);
}

void bug_context(FILE *out)
{
	const struct world_cpu *c = world_self;

	if (!c)
		return;
	fprintf(out, "  at %lu ns, CPU %u, task %s (%u)%s, %s world, seed 0x%lx\n", c->clock, c->id,
	        c->task ? c->task->name : "none", c->task ? c->task->id : 0,
	        c->in_irq ? ", in an interrupt" : "", c->w->ops->name, c->w->seed);
	if (c->w->again)
		fprintf(out, "again: %s\n", c->w->again);
}
