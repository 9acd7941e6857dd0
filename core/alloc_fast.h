/*
 * The fast path of an allocation: one page from a per-CPU list. page_alloc.c's, and inline because the first
 * touch of a page (fault.c) has it in the middle.
 *
 * It falls into two halves with an order point between them. The first, alloc_is_easy(), is a guess that
 * nothing special will come up; then what the way costs is charged, and with every other CPU caught up the
 * second half, alloc_page_easy(), looks again and takes the page.
 */
#ifndef CORE_ALLOC_FAST_H
#define CORE_ALLOC_FAST_H

#include "core/page_alloc.h"

/* Which zone a request may use at most, by its four zone bits. There is no HighMem. */
static const u8 gfp_zone_table[16] = {
#define ZONE_OF(bits)                                                                              \
	[bits] = (bits)&__GFP_DMA     ? ZONE_DMA                                                   \
	         : (bits)&__GFP_DMA32 ? ZONE_DMA32                                                 \
	         : ((bits) & (__GFP_HIGHMEM | __GFP_MOVABLE)) == (__GFP_HIGHMEM | __GFP_MOVABLE)   \
	                 ? ZONE_MOVABLE                                                            \
	                 : ZONE_NORMAL
	ZONE_OF(0),  ZONE_OF(1),  ZONE_OF(2),  ZONE_OF(3),  ZONE_OF(4),  ZONE_OF(5),
	ZONE_OF(6),  ZONE_OF(7),  ZONE_OF(8),  ZONE_OF(9),  ZONE_OF(10), ZONE_OF(11),
	ZONE_OF(12), ZONE_OF(13), ZONE_OF(14), ZONE_OF(15),
#undef ZONE_OF
};

/* ---- counters, and what a new page is ---------------------------------------------------------------- */

void __numa_fold(struct zone *z, struct stat_cpu *s, enum vm_item item);

static __always_inline void numa_event(struct zone *z, struct stat_cpu *s, enum vm_item item)
{
	s->diff[item] += 1;
	if (unlikely(s->diff[item] > s->threshold))
		__numa_fold(z, s, item);
}

/* NUMA_HIT, NUMA_LOCAL, and the turn in the fair pass. */
static inline u32 nr_alloc_counters(const struct machine *m)
{
	return 2 + m->knob.zone_fair;
}

/*
 * The zone's counters of an allocation, unless they are @paid for already. Its turn in the fair
 * pass shortens; that is looked at without an order point, since the watermark test has just had one.
 */
static __always_inline void count_zone_alloc(struct machine *m, struct zone *preferred,
                                             struct zone *z, unsigned int order, bool paid)
{
	struct stat_cpu *s = stat_cpu(m, &z->stat, paid ? 0 : nr_alloc_counters(m));

	if (m->knob.zone_fair) {
		__mod_stat(m, &z->stat, s, NR_ALLOC_BATCH, -(1L << order));
		if (unlikely(atomic_long_peek(&z->stat.v[NR_ALLOC_BATCH]) <= 0))
			z->flags |= ZONE_FAIR_DEPLETED;
	}
	if (likely(z->pgdat == preferred->pgdat)) {
		numa_event(z, s, NUMA_HIT);
	} else {
		numa_event(z, s, NUMA_MISS);
		numa_event(preferred, stat_cpu(m, &preferred->stat, 1), NUMA_FOREIGN);
	}
	numa_event(z, s, likely(z->pgdat->node_id == world_self->node) ? NUMA_LOCAL : NUMA_OTHER);
}

static __always_inline void prep_new_page(struct machine *m, struct zone *z, struct page *page,
                                          gfp_t gfp, unsigned int order)
{
	page->refcount = 1;
	page->index = 0;
	if (unlikely(order)) {
		if (gfp & __GFP_COMP)
			prep_compound_page(z, page, order);
		else
			for (unsigned long i = 1; i < 1UL << order; i++)
				page[i].flags = z->page_flags;
	}
	count_vm_events(m, ZONE_EVENT(PGALLOC_DMA, z->type), 1UL << order);
}

/* ---- the two halves ------------------------------------------------------------------------------------ */

/* What an order-0 allocation from a per-CPU list charges, with @nr_counters but without lines. */
static __always_inline void charge_alloc_fast(u32 nr_counters)
{
	struct world_cpu *c = world_self;
	const u32 *cost = c->cost;
	u64 *count = c->cost_count;

	count[COST_ALLOC] += 1;
	count[COST_WATERMARK] += 1;
	count[COST_PCP] += 1;
	count[COST_PAGE_LINE] += 1;
	count[COST_VMSTAT] += nr_counters;
	c->clock += cost[COST_ALLOC] + cost[COST_WATERMARK] + cost[COST_PCP] +
	            cost[COST_PAGE_LINE] + (u64)cost[COST_VMSTAT] * nr_counters;
}

/* Is nothing special about @z, which has more than the mark? Looks at what other CPUs change. */
static __always_inline bool zone_is_easy(const struct machine *m, const struct zone *z, gfp_t gfp)
{
	enum zone_watermarks mark = pcp_is_auto(m) ? WMARK_HIGH : WMARK_LOW;
	long free = atomic_long_peek(&z->stat.v[NR_FREE_PAGES]);

	return likely(
		!(z->flags & (ZONE_FAIR_DEPLETED | ZONE_BELOW_HIGH | ZONE_BOOSTED_WATERMARK)) &&
		z->type <= gfp_zone_table[gfp & 15] && free > (long)wmark(z, mark) &&
		free >= z->estimate_mark);
}

/* Where a request is served from, if it is easy. */
struct easy_alloc {
	struct zone *zone;
	struct per_cpu_pages *pcp;
	struct page_list *list;
};

/* Does @e's list have pages, and is nothing special about its zone? */
static __always_inline bool still_easy(const struct machine *m, const struct easy_alloc *e,
                                       gfp_t gfp)
{
	return likely(!page_list_empty(e->list)) && zone_is_easy(m, e->zone, gfp);
}

/*
 * Which zone of the CPU's node is to give a page: the first, or while that one has used up its turn the
 * second, if this is @in_turn. But to see that, the general way would look at other CPUs' doings at
 * other moments: so nobody may be about to do anything.
 */
static __always_inline struct zone *
easy_zone(const struct machine *m, const struct pglist_data *pgdat, gfp_t gfp, bool in_turn)
{
	struct zone *first = pgdat->zonelist[0];
	struct zone *second;

	if (!in_turn || likely(!(first->flags & ZONE_FAIR_DEPLETED)))
		return first;
	second = pgdat->zonelist[1];
	if (pgdat->nr_local_zones < 2 || first->type > gfp_zone_table[gfp & 15] ||
	    !world_alone_for(world_self, m->alloc_ns_max) ||
	    atomic_long_peek(&second->stat.v[NR_FREE_PAGES]) <=
	            (long)wmark(second, WMARK_LOW) + second->lowmem_reserve[first->type])
		return first; /* which will not be easy */
	return second;
}

/*
 * The request that is nearly all of them: one page from a per-CPU list that has some,
 * in the CPU's own node, from a zone where nothing is special. False: the general way must decide.
 */
static __always_inline bool alloc_is_easy(struct machine *m, gfp_t gfp, bool in_turn,
                                          struct easy_alloc *e)
{
	const struct pglist_data *pgdat = this_node(m);
	struct zone *z = easy_zone(m, pgdat, gfp, in_turn);
	struct per_cpu_pages *pcp = z->pcp[world_self->id];

	if (unlikely(!pcp || z->pgdat != pgdat || m->nr_mempolicies || gfp & __GFP_WRITE ||
	             m->world->fail_every[WORLD_FAIL_PAGE_ALLOC]))
		return false;
	*e = (struct easy_alloc){z, pcp, &pcp->list[gfp_migratetype(m, gfp)]};
	return still_easy(m, e, gfp);
}

/*
 * What is known to be paid for, charge_alloc_fast(), has been charged; then comes the order point (unless
 * @ordered: the caller has passed it), and only if that has let others run need one ask whether it is
 * still easy. What comes after it, here and, in a fault, until the page is mapped, happens at one time. So the first look was
 * no more than a guess at which way it would be, and it may have cost a charge too many. The cost of the
 * zone's line, which only the order point decides, is left to the caller to spend: @late, in ns.
 */
static __always_inline struct page *alloc_page_easy(struct machine *m, const struct easy_alloc *e,
                                                    gfp_t gfp, bool ordered, u32 *late)
{
	struct world_cpu *c = world_self;
	struct zone *z = e->zone;
	struct page *page;

	if (!ordered && unlikely(c->clock >= c->limit)) {
		c->w->ops->order(c);
		if (!still_easy(m, e, gfp))
			return NULL;
	}
	if (pcp_is_auto(m)) {
		if (unlikely(!__spin_is_at_hand(c, &e->pcp->lock)))
			return NULL;
		c->clock += pcp_lock_ns(c);
		pcp_locked(e->pcp, 0, 1);
	}
	page = pcp_pop(e->pcp, e->list, 0);
	*late = count_cost(__world_line_read(c, &z->stat.line));
	count_zone_alloc(m, z, z, 0, true);
	prep_new_page(m, z, page, gfp, 0);
	return page;
}

#endif
