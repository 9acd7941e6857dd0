/*
 * Shrinkers: caches that are not on the LRU and can give memory back (Linux include/linux/shrinker.h).
 */
#ifndef CORE_SHRINKER_H
#define CORE_SHRINKER_H

#include "core/internal.h"

#define SHRINK_STOP (~0UL)
#define SHRINK_BATCH 128
#define DEFAULT_SEEKS 2

struct shrinker {
	/* Objects of the node that could be freed; 0: none. Cheap, no locks. */
	unsigned long (*count)(struct machine *m, struct pglist_data *pgdat);
	/* Looks at @nr of them; freed objects, or SHRINK_STOP: no progress, do not come again now.
	 * May switch tasks. */
	unsigned long (*scan)(struct machine *m, struct pglist_data *pgdat, unsigned long nr);
	u32 seeks; /* what an object costs to bring back, relative to a page; 0: nothing */
	bool numa_aware;
	long *nr_deferred; /* (a) per node: scanning that was asked for and not done */
	struct shrinker *next;
};

void register_shrinker(struct machine *m, struct shrinker *s); /* boot */

/*
 * Asks every shrinker for a share of its objects. To 4.15 it is the share of pages that the lists were
 * scanned for, @nr_scanned of @nr_eligible; since then (9092c71bb724) 1 / 2^@priority, as of the lists.
 * Returns how many objects were freed. May switch tasks.
 */
unsigned long shrink_slab(struct machine *m, struct pglist_data *pgdat, int priority,
                          unsigned long nr_scanned, unsigned long nr_eligible);

void huge_shrinkers_init(struct machine *m); /* huge_shrink.c; boot */

#endif
