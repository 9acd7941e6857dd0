/*
 * Workingset detection: would this page have stayed if it had been given more time? (Linux
 * mm/workingset.c; for file pages since 3.15, knob workingset.file; for anonymous ones since 5.9,
 * knob workingset.anon)
 *
 * A lruvec counts evictions and activations (nonresident_age). When a page is evicted, the count is
 * kept in its place in the page cache or swap cache, as a shadow. When it comes back, the difference says how
 * much longer the inactive list would have had to be. If the active lists, which are the memory
 * that could have been given, are longer than that, the page is put on the active list at once, to
 * challenge those that are there.
 *
 * Left out: memcg; nodes of the swap cache, which is an array here.
 */
#include <errno.h>

#include "core/shrinker.h"
#include "core/vmscan.h"

/* A shadow: eviction count, node, zone (where lists are per zone), and the page's PG_workingset. */
#define SHADOW_ZONE_BITS 2
#define SHADOW_NODE_BITS 8
#define SHADOW_SHIFT (1 + SHADOW_ZONE_BITS + SHADOW_NODE_BITS)
#define EVICTION_MASK (~0UL >> (SHADOW_SHIFT + 1)) /* one bit is swap_state.c's */

struct shadow {
	struct lruvec *lruvec;
	unsigned long eviction;
	bool workingset;
};

static u64 pack_shadow(const struct lruvec *lruvec, unsigned long eviction, bool workingset)
{
	u64 zone = lruvec->zone ? lruvec->zone->type : 0;

	eviction &= EVICTION_MASK;
	/* All-zero means "no shadow": node and zone are stored with the count above them. */
	return (((eviction << SHADOW_NODE_BITS | lruvec->pgdat->node_id) << SHADOW_ZONE_BITS | zone)
	                << 1 |
	        workingset);
}

static struct shadow unpack_shadow(const struct machine *m, u64 shadow)
{
	struct pglist_data *pgdat =
		&m->node[shadow >> (1 + SHADOW_ZONE_BITS) & ((1u << SHADOW_NODE_BITS) - 1)];
	struct zone *zone = &pgdat->zone[shadow >> 1 & ((1u << SHADOW_ZONE_BITS) - 1)];

	return (struct shadow){
		.lruvec = m->knob.lru_per == LRU_PER_NODE ? &pgdat->lruvec : zone->lruvec,
		.eviction = shadow >> SHADOW_SHIFT,
		.workingset = shadow & 1,
	};
}

void workingset_age_nonresident(struct lruvec *lruvec, unsigned long nr)
{
	lruvec->nonresident_age += nr;
}

/* @page is about to be freed, refcount 0 and locked. What to leave in its place; 0: nothing. */
u64 workingset_eviction(struct machine *m, struct page *page)
{
	struct lruvec *lruvec = page_lruvec(m, page);

	if (page_is_file(page) ? m->knob.workingset_file == KNOB_OFF
	                       : m->knob.workingset_anon == KNOB_OFF)
		return 0;
	/* Counted from 1, so that no shadow is 0. */
	workingset_age_nonresident(lruvec, compound_nr(page));
	return pack_shadow(lruvec, lruvec->nonresident_age, page_test(page, PG_workingset));
}

/*
 * Was the page away for less time than the pages that could have been given up for it would have
 * lasted? To 5.8 those are the active file pages; since then all but its own inactive list.
 */
static bool workingset_test_recent(struct machine *m, const struct shadow *s, bool file)
{
	struct lruvec *lruvec = s->lruvec;
	unsigned long size = READ_ONCE(lruvec->size[LRU_ACTIVE_FILE]);
	unsigned long distance;

	if (m->knob.workingset_anon == KNOB_ON) {
		if (!file)
			size += lruvec->size[LRU_INACTIVE_FILE];
		if (get_nr_swap_pages(m) > 0)
			size += lruvec->size[LRU_ACTIVE_ANON] +
			        (file ? lruvec->size[LRU_INACTIVE_ANON] : 0);
	}
	distance = (lruvec->nonresident_age + 1 - s->eviction) & EVICTION_MASK;
	return distance <= size;
}

/* A page comes back; it is on no list yet. */
void workingset_refault(struct machine *m, struct page *page, u64 shadow)
{
	struct shadow s = unpack_shadow(m, shadow);
	struct lruvec *lruvec = page_lruvec(m, page);
	struct zone *z = page_zone(m, page);
	bool file = page_is_file(page);
	u32 nr = compound_nr(page);

	VM_BUG_ON(!page_test(page, PG_locked));
	mod_node_state(z, WORKINGSET_REFAULT_ANON + file, nr);
	if (!workingset_test_recent(m, &s, file))
		return;
	page_set(page, PG_active);
	workingset_age_nonresident(lruvec, nr);
	mod_node_state(z, WORKINGSET_ACTIVATE_ANON + file, nr);
	if (!s.workingset)
		return;

	/* It was active when it was evicted: reclaim of this type costs reads. */
	page_set(page, PG_workingset);
	mod_node_state(z, WORKINGSET_RESTORE_ANON + file, nr);
	spin_lock_irq(&lruvec->lru_lock);
	lru_note_cost(lruvec, file, nr, 0);
	spin_unlock_irq(&lruvec->lru_lock);
}

/* ---- the shrinker of index nodes that hold nothing but shadows ------------------------------------------- */

/*
 * How many there may be: as many as it takes to remember all of memory once over, if a node in eight
 * of whose slots something is left is what one expects (3.15: twice that; 4.9 to 4.19: of the page cache).
 */
static unsigned long max_shadow_nodes(struct machine *m, const struct pglist_data *pgdat)
{
	const struct zone *z = pgdat->zone;
	const struct lruvec *last = NULL;
	unsigned long pages = 0;

	if (m->knob.shadow_nodes == SHADOW_NODES_FILE_8) {
		for (int i = 0; i < MAX_NR_ZONES; i++) {
			if (!populated_zone(&z[i]) || z[i].lruvec == last) /* the node's, seen */
				continue;
			last = z[i].lruvec;
			pages += z[i].lruvec->size[LRU_ACTIVE_FILE] +
			         z[i].lruvec->size[LRU_INACTIVE_FILE];
		}
		return pages >> (XA_CHUNK_SHIFT - 3);
	}
	for (int i = 0; i < MAX_NR_ZONES; i++)
		pages += z[i].present_pages;
	return pages >> (XA_CHUNK_SHIFT - 3 + (m->knob.shadow_nodes == SHADOW_NODES_PRESENT_16));
}

static unsigned long count_shadow_nodes(struct machine *m, struct pglist_data *pgdat)
{
	unsigned long max = max_shadow_nodes(m, pgdat);

	return pgdat->nr_shadow_nodes > max ? pgdat->nr_shadow_nodes - max : 0;
}

static unsigned long scan_shadow_nodes(struct machine *m, struct pglist_data *pgdat,
                                       unsigned long nr)
{
	unsigned long freed = 0;

	while (nr--) {
		int err = xa_reclaim_shadow_node(m, pgdat);

		if (err == -ENOENT)
			break;
		freed += !err;
		world_cond_resched();
	}
	return freed;
}

void workingset_init(struct machine *m)
{
	struct shrinker *s;

	if (m->knob.workingset_file == KNOB_OFF)
		return;
	s = arena_new(&m->arena, struct shrinker);
	*s = (struct shrinker){
		.count = count_shadow_nodes,
		.scan = scan_shadow_nodes,
		/* 4.20: they cost nothing to bring back, so that half of them goes at once. */
		.seeks = m->knob.shadow_nodes == SHADOW_NODES_PRESENT_8 ? 0 : DEFAULT_SEEKS,
		.numa_aware = true,
	};
	register_shrinker(m, s);
}
