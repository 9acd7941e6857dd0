/*
 * What a run's time series are made of: this machine's counters, and its zones against their marks.
 *
 * Read from outside, between tasks: nothing is charged, no order point is passed, and no CPU notices.
 * Counters are those that this kernel's /proc/vmstat has and this model counts. A zone's free pages
 * are the true number, the CPUs' differences included: that the counter may be far from it is the
 * subject of mail 004. The counter itself is there too, as nr_free_pages.
 */
#include "core/proc.h"
#include "core/writeback.h"

struct sampling {
	struct machine *m;
	u64 event[NR_VM_EVENTS]; /* sums over all CPUs */
	void (*fn)(void *arg, const char *name, enum sample_kind kind, u64 value);
	void *arg;
};

static void sum_events(struct sampling *s)
{
	for (u32 cpu = 0; cpu < s->m->nr_cpus; cpu++) {
		const struct cpu_data *d = s->m->cpu[cpu];

		for (int e = 0; d && e < NR_VM_EVENTS; e++)
			s->event[e] += d->event[e];
	}
}

static void sample_counter(const struct sampling *s, const struct counter *c)
{
	const struct stat_total *total = &s->m->vm_stat;
	u64 sum = 0;

	switch ((enum counter_kind)c->kind) {
	case COUNTER_ITEM:
		s->fn(s->arg, c->name, SAMPLE_PAGES,
		      (u64)max(atomic_long_peek(&total->v[c->id]), 0L));
		return;
	case COUNTER_TOTAL:
		s->fn(s->arg, c->name, SAMPLE_EVENTS,
		      (u64)max(atomic_long_peek(&total->v[c->id]), 0L));
		return;
	case COUNTER_EVENT:
		s->fn(s->arg, c->name, SAMPLE_EVENTS, s->event[c->id]);
		return;
	case COUNTER_ZONES:
		for (int type = 0; type < MAX_NR_ZONES; type++)
			sum += s->event[c->id + type];
		s->fn(s->arg, c->name, SAMPLE_EVENTS, sum);
		return;
	case COUNTER_LIMIT:
		s->fn(s->arg, c->name, SAMPLE_PAGES, dirty_limit_peek(s->m, c->id));
		return;
	case COUNTER_BLOCKS:
	case COUNTER_NONE:
		return;
	}
}

/* "Normal", or with several nodes "node 1 Normal"; then what of it. */
static void sample_zone(const struct sampling *s, const struct zone *z, const char *what, u64 value)
{
	char name[64];

	if (s->m->nr_nodes == 1)
		snprintf(name, sizeof(name), "%s %s", z->name, what);
	else
		snprintf(name, sizeof(name), "node %u %s %s", z->pgdat->node_id, z->name, what);
	s->fn(s->arg, name, SAMPLE_PAGES, value);
}

void machine_sample(struct machine *m,
                    void (*fn)(void *arg, const char *name, enum sample_kind kind, u64 value),
                    void *arg)
{
	const struct counter_list *list = machine_counter_list(m);
	struct sampling s = {.m = m, .fn = fn, .arg = arg};
	struct pglist_data *pgdat;
	struct zone *z;

	sum_events(&s);
	for_each_populated_zone (m, pgdat, z) {
		sample_zone(&s, z, "free", (u64)max(stat_exact(m, &z->stat, NR_FREE_PAGES), 0L));
		sample_zone(&s, z, "min", wmark(z, WMARK_MIN));
		sample_zone(&s, z, "low", wmark(z, WMARK_LOW));
		sample_zone(&s, z, "high", wmark(z, WMARK_HIGH));
	}
	fn(arg, "swap used", SAMPLE_PAGES,
	   m->total_swap_pages - (u64)atomic_long_peek(&m->nr_swap_pages));
	for (u32 i = 0; i < list->nr_zone; i++)
		sample_counter(&s, &list->zone[i]);
	for (u32 i = 0; i < list->nr_node; i++)
		sample_counter(&s, &list->node[i]);
	for (u32 i = 0; i < list->nr_event; i++)
		sample_counter(&s, &list->event[i]);
}
