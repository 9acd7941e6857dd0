/*
 * Shrinkers (Linux mm/vmscan.c, today mm/shrinker.c).
 *
 * Reclaim scans caches in proportion to the lists. How much of a cache that is follows from its size, from
 * how hard the lists are scanned, and from what its objects cost to bring back (seeks). It is done in
 * batches of 128; what is less than a batch is remembered for the next time (nr_deferred), so that small
 * caches are not spared for ever.
 *
 * Left out: memcg. shrinker_rwsem is only ever taken for reading here, as nobody registers late; 6.7 reads
 * the list under RCU.
 */
#include "core/shrinker.h"

void register_shrinker(struct machine *m, struct shrinker *s)
{
	struct shrinker **link = &m->shrinkers;

	s->nr_deferred = arena_array(&m->arena, long, s->numa_aware ? m->nr_nodes : 1);
	while (*link)
		link = &(*link)->next;
	*link = s;
}

/* How many of @freeable objects this round is about, without what was deferred. */
static unsigned long slab_delta(const struct machine *m, const struct shrinker *s,
                                unsigned long freeable, int priority, unsigned long nr_scanned,
                                unsigned long nr_eligible)
{
	unsigned long delta;

	if (!s->seeks)
		return freeable / 2;
	if (m->knob.slab_scan == SLAB_SCAN_PRIORITY)
		return (freeable >> priority) * 4 / s->seeks;
	delta = 4 * nr_scanned / s->seeks;
	return (unsigned long)((unsigned __int128)delta * freeable / (nr_eligible + 1));
}

/*
 * The whole target: with much deferred from rounds that could do nothing (GFP_NOFS), a light round would
 * empty the cache, so that half of it is the most (to 4.15: of light rounds), and twice it in any case.
 */
static unsigned long slab_target(const struct machine *m, unsigned long freeable,
                                 unsigned long deferred, unsigned long delta, int priority)
{
	unsigned long target;

	if (m->knob.slab_scan == SLAB_SCAN_PRIORITY) {
		target = (deferred >> priority) + delta;
	} else {
		target = deferred + delta;
		if (delta < freeable / 4)
			target = min(target, freeable / 2);
	}
	return min(target, 2 * freeable);
}

static unsigned long do_shrink_slab(struct machine *m, struct pglist_data *pgdat,
                                    struct shrinker *s, int priority, unsigned long nr_scanned,
                                    unsigned long nr_eligible)
{
	long *deferred = &s->nr_deferred[s->numa_aware ? pgdat->node_id : 0];
	unsigned long freed = 0;
	unsigned long scanned = 0;
	unsigned long freeable;
	unsigned long delta;
	unsigned long target;
	unsigned long nr;

	charge(COST_SCAN_COUNT);
	world_order();
	freeable = s->count(m, pgdat);
	if (!freeable)
		return 0;
	nr = (unsigned long)*deferred;
	*deferred = 0;
	delta = slab_delta(m, s, freeable, priority, nr_scanned, nr_eligible);
	target = slab_target(m, freeable, nr, delta, priority);
	while (target >= SHRINK_BATCH || target >= freeable) {
		unsigned long batch = min_t(unsigned long, SHRINK_BATCH, target);
		unsigned long ret = s->scan(m, pgdat, batch);

		if (ret == SHRINK_STOP)
			break;
		freed += ret;
		count_vm_events(m, SLABS_SCANNED, batch);
		target -= batch;
		scanned += batch;
		world_cond_resched();
	}
	world_order();
	if (m->knob.slab_scan == SLAB_SCAN_PRIORITY)
		target = min(nr + delta - min(nr + delta, scanned), 2 * freeable);
	*deferred += (long)target;
	return freed;
}

unsigned long shrink_slab(struct machine *m, struct pglist_data *pgdat, int priority,
                          unsigned long nr_scanned, unsigned long nr_eligible)
{
	unsigned long freed = 0;

	span_enter(SPAN_SHRINK_SLAB);
	if (!nr_scanned)
		nr_scanned = SWAP_CLUSTER_MAX;
	charge(COST_RWSEM);
	for (struct shrinker *s = m->shrinkers; s; s = s->next)
		if (s->numa_aware || !pgdat->node_id)
			freed += do_shrink_slab(m, pgdat, s, priority, nr_scanned, nr_eligible);
	charge(COST_RWSEM);
	world_cond_resched();
	span_exit();
	return freed;
}
