/*
 * Memory that is gone before the tasks start: a pool of huge pages, and what others hold.
 *
 * A machine with most of its RAM in the pool of huge pages is not one with less RAM: zones, marks and
 * reserves keep their sizes, and the pool comes from the zones that a request for huge pages
 * gets, so what is left lies mostly in the lower ones. These frames are nobody's: no list has
 * them, they are never freed and never scanned.
 */
#include "core/page_alloc.h"

#include <string.h>

/* The pool's requests, but they do not wake kswapd: there is no time before the tasks start. */
#define GFP_BALLAST (GFP_HIGHUSER_MOVABLE & ~(__GFP_DIRECT_RECLAIM | __GFP_KSWAPD_RECLAIM))

u64 machine_take_blocks(struct machine *m, unsigned int order, u64 nr)
{
	u64 got = 0;

	while (got < nr && alloc_pages(m, GFP_BALLAST, order))
		got++;
	return got;
}

static struct zone *find_zone(struct machine *m, u32 node, const char *name)
{
	struct pglist_data *pgdat;
	struct zone *z;

	for_each_populated_zone (m, pgdat, z)
		if (pgdat->node_id == node && strcmp(z->name, name) == 0)
			return z;
	return NULL;
}

/* Free to an allocation: on the buddy lists, and on those of the CPUs. */
static u64 zone_free(struct machine *m, struct zone *z)
{
	return (u64)stat_exact(m, &z->stat, NR_FREE_PAGES) + pcp_count_pages(z);
}

long machine_leave_free(struct machine *m, u32 node, const char *name, u64 nr)
{
	struct zone *z = find_zone(m, node, name);
	u64 free;

	if (!z)
		return -(long)nr;
	free = zone_free(m, z);
	/* What is left of a zone is never whole blocks alone, but here it may as well be. */
	for (int order = PAGEBLOCK_ORDER; order >= 0; order -= PAGEBLOCK_ORDER)
		while (free >= nr + (1UL << order) &&
		       rmqueue_buddy(z, (unsigned int)order, MIGRATE_MOVABLE, 0))
			free -= 1UL << order;
	return (long)free - (long)nr;
}
