/*
 * One run of kswapd, until its node is balanced: balance_pgdat() of Linux mm/vmscan.c.
 * Three forms, by the knob reclaim.kswapd, and what each calls balanced:
 *
 * 2.6.36. Zone by zone as below, but all zones must reach their high marks, lower ones are scanned
 * until they have eight times that, and a run does not end before: it begins again, and waits for
 * disks when it gets nowhere, whether they are congested or not.
 *
 * 3.12 to 4.7. Zone by zone, from the lowest up to the highest that is out of balance, each towards
 * its own high mark; priority rises unless some zone was scanned enough to reach it at full
 * efficiency. Zones that were scanned six times without anything freed are left alone.
 *
 * 4.8 to today (6.18). The node's lists as a whole; balanced when any eligible zone is. A boost of
 * the watermarks (5.0) is worked off without writing. A kswapd that fails 16 times gives up until a
 * direct reclaimer has success.
 *
 * Left out: memcg soft limits.
 */
#include "core/compaction.h"
#include "core/swap.h"
#include "core/vmscan.h"

/* ---- 3.12: is the node balanced? ---------------------------------------------------------------- */

/* Is there too little free memory to compact the zone for @order? */
static bool too_little_to_compact(struct zone *z, unsigned int order)
{
	return compaction_suitable(z, (int)order, WMARK_LOW, 0) == COMPACT_SKIPPED;
}

static bool may_compact(const struct zone *z, unsigned int order)
{
	return order && z->machine->knob.compaction != COMPACTION_OFF;
}

/* Without regard to reserves, unless they are asked for: kswapd keeps memory for all. */
bool zone_balanced(struct zone *z, unsigned int order, unsigned long gap, int classzone_idx)
{
	if (!zone_watermark_ok_safe(z, order, wmark(z, WMARK_HIGH) + gap, classzone_idx, 0))
		return false;
	return !may_compact(z, order) || !too_little_to_compact(z, order);
}

/*
 * Order 0: all zones up to the class zone are balanced, or hopeless. Larger orders: those that are
 * have a quarter of the memory.
 */
bool pgdat_balanced_3_12(struct pglist_data *pgdat, unsigned int order, int classzone_idx)
{
	unsigned long managed = 0;
	unsigned long balanced = 0;

	for (int i = 0; i <= classzone_idx; i++) {
		struct zone *z = &pgdat->zone[i];

		if (!populated_zone(z))
			continue;
		managed += z->managed_pages;
		if (!zone_reclaimable(z) || zone_balanced(z, order, 0, i))
			balanced += z->managed_pages;
		else if (!order)
			return false;
	}
	return !order || balanced >= managed >> 2;
}

/* ---- 3.12: one run ---------------------------------------------------------------------------------- */

static void zone_clear_flags(struct zone *z, u32 flags)
{
	WRITE_ONCE(z->flags, z->flags & ~flags);
}

static bool skip_zone(struct zone *z, const struct scan_control *sc)
{
	return !populated_zone(z) || (sc->priority != DEF_PRIORITY && !zone_reclaimable(z));
}

/* The highest zone out of balance; the anonymous pages of the zones above are aged on the way. */
static int find_end_zone(struct machine *m, struct pglist_data *pgdat, struct scan_control *sc)
{
	for (int i = MAX_NR_ZONES - 1; i >= 0; i--) {
		struct zone *z = &pgdat->zone[i];

		if (skip_zone(z, sc))
			continue;
		age_active_anon(m, z->lruvec, sc);
		if (!zone_balanced(z, sc->order, 0, 0))
			return i;
		zone_clear_flags(z, ZONE_CONGESTED | ZONE_TAIL_LRU_DIRTY);
	}
	return -1;
}

/*
 * Shrinks @z towards its high mark, and a gap above it, so that zones below are not preferred by
 * allocators for being just under it. True: it was scanned enough, or is well balanced.
 */
static bool kswapd_shrink_zone(struct machine *m, struct zone *z, int classzone_idx,
                               struct scan_control *sc, unsigned long *nr_attempted)
{
	unsigned long gap = min(wmark(z, WMARK_LOW), DIV_ROUND_UP(z->managed_pages, 100));
	/* Once there is enough to compact with, single pages are what is asked for. */
	bool single = may_compact(z, sc->order) && !too_little_to_compact(z, sc->order);
	unsigned int order = single ? 0 : sc->order;

	sc->nr_to_reclaim = max_t(unsigned long, SWAP_CLUSTER_MAX, wmark(z, WMARK_HIGH));
	if (zone_balanced(z, order, gap, classzone_idx))
		return true;
	shrink_zone(m, z, sc);
	*nr_attempted += sc->nr_to_reclaim;
	zone_clear_flags(z, ZONE_WRITEBACK);
	if (zone_reclaimable(z) && zone_balanced(z, order, 0, classzone_idx))
		zone_clear_flags(z, ZONE_CONGESTED | ZONE_TAIL_LRU_DIRTY);
	return sc->nr_scanned >= sc->nr_to_reclaim;
}

/*
 * One pass over the zones 0 ... @end_zone. True: no zone asks for a higher priority. *@compact: more was
 * freed than was asked for, yet no zone has a block of the order above its low mark.
 */
static bool kswapd_shrink_zones(struct machine *m, struct pglist_data *pgdat, int end_zone,
                                struct scan_control *sc, bool *compact)
{
	unsigned long nr_attempted = 0;
	bool enough = false;

	*compact = sc->order > 0;

	for (int i = 0; i <= end_zone; i++) {
		struct zone *z = &pgdat->zone[i];

		if (skip_zone(z, sc))
			continue;
		sc->nr_scanned = 0;
		if (*compact && zone_watermark_ok(z, sc->order, wmark(z, WMARK_LOW), 0, 0))
			*compact = false;
		enough |= kswapd_shrink_zone(m, z, end_zone, sc, &nr_attempted);
	}
	*compact = *compact && sc->nr_reclaimed > nr_attempted;
	return enough;
}

/* ---- 2.6.36 --------------------------------------------------------------------------------------- */

/* Linux keeps a flag, all_unreclaimable, that kswapd sets where zone_reclaimable() fails. */
static bool above(struct zone *z, const struct scan_control *sc, unsigned long mark, int classzone)
{
	return zone_watermark_ok_safe(z, sc->order, mark, classzone, 0);
}

static int find_end_zone_2_6_36(struct machine *m, struct pglist_data *pgdat,
                                struct scan_control *sc)
{
	for (int i = MAX_NR_ZONES - 1; i >= 0; i--) {
		struct zone *z = &pgdat->zone[i];

		if (skip_zone(z, sc))
			continue;
		age_active_anon(m, z->lruvec, sc);
		if (!above(z, sc, wmark(z, WMARK_HIGH), 0))
			return i;
	}
	return -1;
}

/* What a pass over the zones found. */
struct pass {
	unsigned long nr_scanned;
	bool all_ok;
	bool under_min;
};

/* All zones get equal pressure, but for those that have far too much already. */
static void shrink_zones_2_6_36(struct machine *m, struct pglist_data *pgdat, int end_zone,
                                struct scan_control *sc, struct pass *p)
{
	for (int i = 0; i <= end_zone; i++) {
		struct zone *z = &pgdat->zone[i];

		if (skip_zone(z, sc))
			continue;
		sc->nr_scanned = 0;
		if (!above(z, sc, 8 * wmark(z, WMARK_HIGH), end_zone))
			shrink_zone(m, z, sc);
		p->nr_scanned += sc->nr_scanned;
		if (!zone_reclaimable(z))
			continue;
		if (!above(z, sc, wmark(z, WMARK_HIGH), end_zone)) {
			p->all_ok = false;
			p->under_min |= !above(z, sc, wmark(z, WMARK_MIN), end_zone);
		}
	}
}

/* Priorities 12 to 0, until something has been reclaimed. True: all zones are balanced, or hopeless. */
static bool kswapd_round_2_6_36(struct machine *m, struct pglist_data *pgdat,
                                struct scan_control *sc)
{
	struct pass p = {.all_ok = true};

	sc->nr_reclaimed = 0;
	count_vm_event(m, PAGEOUTRUN);
	for (sc->priority = DEF_PRIORITY; sc->priority >= 0; sc->priority--) {
		int end_zone = find_end_zone_2_6_36(m, pgdat, sc);

		p.all_ok = true;
		p.under_min = false;
		if (end_zone < 0)
			return true;
		sc->reclaim_idx = end_zone;
		shrink_zones_2_6_36(m, pgdat, end_zone, sc, &p);
		if (p.all_ok)
			return true;
		/* In trouble: let the disks catch up, unless atomic requests are about to fail. */
		if (p.nr_scanned && sc->priority < DEF_PRIORITY - 2) {
			if (p.under_min)
				count_vm_event(m, KSWAPD_SKIP_CONGESTION_WAIT);
			else
				congestion_wait(m, true, m->world->hw->hz / 10);
		}
		if (sc->nr_reclaimed >= SWAP_CLUSTER_MAX)
			break;
	}
	return false;
}

void balance_pgdat_2_6_36(struct machine *m, struct pglist_data *pgdat, int *order, int *zoneidx)
{
	struct scan_control sc = {
		.gfp = GFP_KERNEL,
		.order = (unsigned int)*order,
		.nr_to_reclaim = ~0UL, /* every zone gets all of its share */
		.kswapd = true,
		.may_writepage = true,
		.may_unmap = true,
		.may_swap = true,
	};

	(void)zoneidx;
	while (!kswapd_round_2_6_36(m, pgdat, &sc)) {
		world_cond_resched();
		/* Fragmentation may make it impossible: what is left to do is order 0. */
		if (sc.nr_reclaimed < SWAP_CLUSTER_MAX)
			sc.order = 0;
	}
	*order = (int)sc.order;
}

/* Why kswapd must not sleep: Linux's sleeping_prematurely(). */
bool pgdat_balanced_2_6_36(struct pglist_data *pgdat, unsigned int order)
{
	for (int i = 0; i < MAX_NR_ZONES; i++) {
		struct zone *z = &pgdat->zone[i];

		if (populated_zone(z) && zone_reclaimable(z) &&
		    !zone_watermark_ok_safe(z, order, wmark(z, WMARK_HIGH), 0, 0))
			return false;
	}
	return true;
}

/* ---- 3.12: one run, continued ------------------------------------------------------------------------ */

static void wake_throttled(struct machine *m, struct pglist_data *pgdat)
{
	if (waitqueue_active(&pgdat->pfmemalloc_wait) && allow_direct_reclaim(m, pgdat))
		wake_up_all(&pgdat->pfmemalloc_wait);
}

/* *@zoneidx: the class zone of the wake-up, then the highest zone it found out of balance. */
void balance_pgdat_3_12(struct machine *m, struct pglist_data *pgdat, int *order, int *zoneidx)
{
	struct scan_control sc = {
		.gfp = GFP_KERNEL,
		.order = (unsigned int)*order,
		.priority = DEF_PRIORITY,
		.kswapd = true,
		.may_writepage = true,
		.may_unmap = true,
		.may_swap = true,
	};
	unsigned long nr_reclaimed = 0;
	int end_zone = 0;

	count_vm_event(m, PAGEOUTRUN);
	do {
		bool enough, compact;

		sc.nr_reclaimed = 0;
		end_zone = find_end_zone(m, pgdat, &sc);
		if (end_zone < 0)
			break;
		sc.reclaim_idx = end_zone;
		enough = kswapd_shrink_zones(m, pgdat, end_zone, &sc, &compact);
		wake_throttled(m, pgdat);
		if (compact)
			compact_pgdat(m, pgdat, (int)sc.order);
		/* Fragmentation, not lack of memory: what is left to do is order 0. */
		if (sc.order && sc.nr_reclaimed >= 2UL << sc.order)
			sc.order = 0;
		if (!enough || !sc.nr_reclaimed)
			sc.priority -= 1;
		nr_reclaimed += sc.nr_reclaimed;
	} while (sc.priority >= 1 && !pgdat_balanced_3_12(pgdat, sc.order, *zoneidx));
	/* Lists of the node know no hopeless zones: who waits for this task looks at its failures. */
	if (m->knob.lru_per == LRU_PER_NODE && sc.priority < 1)
		WRITE_ONCE(pgdat->kswapd_failures, nr_reclaimed ? 0 : pgdat->kswapd_failures + 1);
	*order = (int)sc.order;
	*zoneidx = max(end_zone, 0);
}

/* ---- 6.18 ------------------------------------------------------------------------------------------------ */

/* One eligible zone above its high mark, reserves included, is enough. */
bool pgdat_balanced_6_18(struct pglist_data *pgdat, unsigned int order, int highest_zoneidx)
{
	bool any = false;

	for (int i = 0; i <= min(highest_zoneidx, MAX_NR_ZONES - 1); i++) {
		struct zone *z = &pgdat->zone[i];

		if (!managed_zone(z))
			continue;
		any = true;
		if (zone_watermark_ok_safe(z, order, wmark(z, WMARK_HIGH), highest_zoneidx, 0))
			return true;
	}
	return !any;
}

/* A node's flags, or where lists are per zone its zones'. */
void clear_pgdat_congested(struct pglist_data *pgdat)
{
	u32 clear = ZONE_CONGESTED | ZONE_TAIL_LRU_DIRTY | ZONE_WRITEBACK;

	for (int i = 0; i < MAX_NR_ZONES; i++) {
		struct lruvec *lruvec = pgdat->zone[i].lruvec;
		u32 *flags = lruvec_zone_flags(lruvec);

		WRITE_ONCE(*flags, *flags & ~clear);
		WRITE_ONCE(lruvec->flags, lruvec->flags & ~(u32)LRUVEC_NODE_CONGESTED);
	}
}

static void kswapd_age_node(struct machine *m, struct pglist_data *pgdat, struct scan_control *sc)
{
	if (m->knob.lru_per == LRU_PER_NODE) {
		age_active_anon(m, &pgdat->lruvec, sc);
		return;
	}
	for (int i = 0; i <= sc->reclaim_idx; i++)
		if (managed_zone(&pgdat->zone[i]))
			age_active_anon(m, pgdat->zone[i].lruvec, sc);
}

/* True: scanned as many pages as would reach the high marks if all were freed. */
static bool kswapd_shrink_node(struct machine *m, struct pglist_data *pgdat,
                               struct scan_control *sc)
{
	unsigned long before = sc->nr_reclaimed;

	sc->nr_to_reclaim = 0;
	for (int i = 0; i <= sc->reclaim_idx; i++)
		if (managed_zone(&pgdat->zone[i]))
			sc->nr_to_reclaim += max_t(unsigned long, SWAP_CLUSTER_MAX,
			                           wmark(&pgdat->zone[i], WMARK_HIGH));
	shrink_node(m, pgdat, sc);
	if (sc->order && sc->nr_reclaimed >= 2UL << sc->order)
		sc->order = 0;
	return max(sc->nr_scanned, sc->nr_reclaimed - before) >= sc->nr_to_reclaim;
}

/* How far fragmentation has raised the marks of the zones up to @highest. */
static unsigned long pgdat_boost(struct pglist_data *pgdat, int highest, unsigned long *boost)
{
	unsigned long sum = 0;

	for (int i = 0; i <= highest; i++) {
		boost[i] = READ_ONCE(pgdat->zone[i].watermark_boost);
		sum += boost[i];
	}
	return sum;
}

/* The reclaim it asked for has been done, or cannot be. */
static void drop_boost(struct pglist_data *pgdat, int highest, const unsigned long *boost)
{
	for (int i = 0; i <= highest; i++) {
		struct zone *z = &pgdat->zone[i];

		if (!boost[i])
			continue;
		spin_lock_irq(&z->lock);
		z->watermark_boost -= min(z->watermark_boost, boost[i]);
		spin_unlock_irq(&z->lock);
	}
}

/*
 * One pass. 1: balanced, out; -1: stop, no progress; 0: go on at sc->priority.
 *
 * A boost is reclaimed for without writing or swapping, and only while the real marks are met; if
 * they are not, it is forgotten for this run (*@nr_boost = 0) and the run starts again.
 */
static int kswapd_pass(struct machine *m, struct pglist_data *pgdat, struct scan_control *sc,
                       unsigned long *nr_boost)
{
	unsigned long reclaimed = sc->nr_reclaimed;
	bool raise_priority = true;
	bool balanced = pgdat_balanced_6_18(pgdat, sc->order, sc->reclaim_idx);

	if (!balanced && *nr_boost) {
		*nr_boost = 0;
		sc->priority = DEF_PRIORITY;
		return 0;
	}
	if (balanced && !*nr_boost)
		return 1;
	if (*nr_boost && sc->priority == DEF_PRIORITY - 2)
		raise_priority = false;
	sc->may_writepage = !*nr_boost;
	sc->may_swap = !*nr_boost;
	kswapd_age_node(m, pgdat, sc);
	sc->nr_scanned = 0;
	if (kswapd_shrink_node(m, pgdat, sc))
		raise_priority = false;
	wake_throttled(m, pgdat);

	reclaimed = sc->nr_reclaimed - reclaimed;
	*nr_boost -= min(*nr_boost, reclaimed);
	if (*nr_boost && !reclaimed)
		return -1;
	if (raise_priority || !reclaimed)
		sc->priority -= 1;
	return 0;
}

void balance_pgdat_6_18(struct machine *m, struct pglist_data *pgdat, int *order, int *zoneidx)
{
	struct scan_control sc = {
		.gfp = GFP_KERNEL,
		.order = (unsigned int)*order,
		.kswapd = true,
		.may_unmap = true,
		.reclaim_idx = min(*zoneidx, MAX_NR_ZONES - 1),
	};
	unsigned long boost[MAX_NR_ZONES] = {0};
	unsigned long nr_boost;
	bool boosted;
	int done;

	count_vm_event(m, PAGEOUTRUN);
	nr_boost = pgdat_boost(pgdat, sc.reclaim_idx, boost);
	boosted = nr_boost;
restart:
	sc.priority = DEF_PRIORITY;
	do {
		done = kswapd_pass(m, pgdat, &sc, &nr_boost);
	} while (!done && sc.priority >= 1);

	/*
	 * All priorities and not a page, and only file pages were tried, because there seemed to be
	 * plenty: once more without that.
	 */
	if (!done && !sc.nr_reclaimed && !sc.no_cache_trim_mode && sc.cache_trim_mode_failed) {
		sc.no_cache_trim_mode = true;
		goto restart;
	}
	if (done != 1 && !sc.nr_reclaimed)
		WRITE_ONCE(pgdat->kswapd_failures, pgdat->kswapd_failures + 1);
	if (boosted) {
		drop_boost(pgdat, sc.reclaim_idx, boost);
		wakeup_kcompactd(pgdat, PAGEBLOCK_ORDER, sc.reclaim_idx);
	}
	snapshot_refaults(m, pgdat);
	*order = (int)sc.order;
}
