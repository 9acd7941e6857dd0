/*
 * The time series of a simulated run. See sim_series.h.
 */
#include "cli/sim_series.h"

#include <stdlib.h>
#include <string.h>

#include "core/mm.h"
#include "report/bytes.h"
#include "sim/sim.h"
#include "world/world.h"

static void add_sample(void *arg, const char *name, enum sample_kind kind, u64 value)
{
	series_add(arg, name, kind == SAMPLE_PAGES ? SERIES_PAGES : SERIES_EVENTS, value);
}

static u64 hash_u64(u64 h, u64 v)
{
	return hash_bytes(h, &v, sizeof(v));
}

/*
 * What is 0 is passed over, and names are hashed instead of numbers, so that a build that knows one more
 * span, lock or cost is no different until it is met. Spans that have not been left count with what they have
 * taken so far (@open). 63 bits: JSON has no more.
 */
static u64 digest(const struct world *w)
{
	const struct ledger *l = &w->ledger;
	u64 *open = report_alloc(l->nr_nodes, sizeof(*open));
	u64 h = HASH_START;

	for (u32 i = 0; i < w->hw->nr_cpus; i++) {
		const struct world_cpu *c = w->cpu[i];

		h = hash_u64(h, c->clock);
		if (c->span)
			open[c->span - l->node] += c->clock - c->span_start;
	}
	for (u32 i = 1; i < l->nr_nodes; i++) {
		const struct ledger_node *n = &l->node[i];
		const char *name = ledger_span_name[n->span];

		h = hash_bytes(h, name, strlen(name));
		h = hash_u64(hash_u64(hash_u64(h, n->parent), n->ns + open[i]), n->count);
	}
	free(open);
	for (u32 i = 0; i < NR_LEDGER_LOCKS; i++)
		if (l->lock[i].acquisitions)
			h = hash_u64(hash_u64(h, l->lock[i].acquisitions), l->lock[i].wait_ns);
	for (u32 i = 0; i < NR_WORLD_COSTS; i++)
		if (l->cost_count[i])
			h = hash_u64(h, l->cost_count[i]);
	return h >> 1;
}

static void take(struct sim_series *s, u64 now, bool end)
{
	struct sim_load load = sim_load_at(s->world, now);

	s->some_ns += load.some_ns;
	s->full_ns += load.full_ns;
	series_begin(&s->series, now, end);
	series_digest(&s->series, digest(s->world));
	machine_sample(s->machine, add_sample, &s->series);
	series_add(&s->series, "running", SERIES_TASKS, load.nr_running);
	series_add(&s->series, "waiting for a CPU", SERIES_TASKS, load.nr_queued);
	series_add(&s->series, "idle", SERIES_NS, load.idle_ns);
	series_add(&s->series, "memory stall some", SERIES_NS, s->some_ns);
	series_add(&s->series, "memory stall full", SERIES_NS, s->full_ns);
}

u64 sim_series_sample(void *arg, u64 now)
{
	struct sim_series *s = arg;

	u64 next;

	take(s, now, false);
	next = series_next(&s->series, now);
	return s->to_ns && next > s->to_ns ? UINT64_MAX : next;
}

/* A run that ended at a moment of the series has had its last sample. */
void sim_series_end(struct sim_series *s, u64 now)
{
	if (!s->series.nr_points || s->series.time[s->series.nr_points - 1] < now)
		take(s, now, true);
}
