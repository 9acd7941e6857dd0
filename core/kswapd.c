/*
 * kswapd: one task per node that reclaims in the background (Linux mm/vmscan.c; linux-mm.md 5.12).
 *
 * It sleeps until an allocator falls below a low mark, and then shrinks lists at rising priority
 * until the high marks are reached. Before it goes to sleep for good it naps for a tenth of a
 * second, to see whether the balance lasts. Three forms, by the knob reclaim.kswapd:
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
 * Left out: memcg soft limits, freezing, hotplug.
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
static bool zone_balanced(struct zone *z, unsigned int order, unsigned long gap, int classzone_idx)
{
	if (!zone_watermark_ok_safe(z, order, wmark(z, WMARK_HIGH) + gap, classzone_idx, 0))
		return false;
	return !may_compact(z, order) || !too_little_to_compact(z, order);
}

/*
 * Order 0: all zones up to the class zone are balanced, or hopeless. Larger orders: those that are
 * have a quarter of the memory.
 */
bool pgdat_balanced_3_12(struct machine *m, struct pglist_data *pgdat, unsigned int order,
                         int classzone_idx)
{
	unsigned long managed = 0;
	unsigned long balanced = 0;

	(void)m;
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

static void balance_pgdat_2_6_36(struct machine *m, struct pglist_data *pgdat, int *order,
                                 int *zoneidx)
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
static bool pgdat_balanced_2_6_36(struct pglist_data *pgdat, unsigned int order)
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
static void balance_pgdat_3_12(struct machine *m, struct pglist_data *pgdat, int *order,
                               int *zoneidx)
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
	} while (sc.priority >= 1 && !pgdat_balanced_3_12(m, pgdat, sc.order, *zoneidx));
	/* Lists of the node know no hopeless zones: who waits for this task looks at its failures. */
	if (m->knob.lru_per == LRU_PER_NODE && sc.priority < 1)
		WRITE_ONCE(pgdat->kswapd_failures, nr_reclaimed ? 0 : pgdat->kswapd_failures + 1);
	*order = (int)sc.order;
	*zoneidx = max(end_zone, 0);
}

/* ---- 6.18 ------------------------------------------------------------------------------------------------ */

/* One eligible zone above its high mark, reserves included, is enough. */
bool pgdat_balanced_6_18(struct machine *m, struct pglist_data *pgdat, unsigned int order,
                         int highest_zoneidx)
{
	bool any = false;

	(void)m;
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
static void clear_pgdat_congested(struct pglist_data *pgdat)
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
	bool balanced = pgdat_balanced_6_18(m, pgdat, sc->order, sc->reclaim_idx);

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

static void balance_pgdat_6_18(struct machine *m, struct pglist_data *pgdat, int *order,
                               int *zoneidx)
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

	/* Only file pages were tried, because there seemed to be plenty: once more without that. */
	if (done != 1 && !sc.no_cache_trim_mode && sc.cache_trim_mode_failed) {
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

/* ---- sleeping ---------------------------------------------------------------------------------------------- */

static bool pgdat_balanced(struct machine *m, struct pglist_data *pgdat, unsigned int order,
                           int zoneidx)
{
	if (m->balance_pgdat == balance_pgdat_2_6_36)
		return pgdat_balanced_2_6_36(pgdat, order);
	if (m->balance_pgdat == balance_pgdat_3_12)
		return pgdat_balanced_3_12(m, pgdat, order, zoneidx);
	return pgdat_balanced_6_18(m, pgdat, order, zoneidx);
}

/* May kswapd sleep? Nobody must be left who waits for it. */
static bool prepare_kswapd_sleep(struct machine *m, struct pglist_data *pgdat, int order,
                                 int zoneidx)
{
	bool today = m->balance_pgdat == balance_pgdat_6_18;

	if (waitqueue_active(&pgdat->pfmemalloc_wait))
		wake_up_all(&pgdat->pfmemalloc_wait);
	if (today && READ_ONCE(pgdat->kswapd_failures) >= MAX_RECLAIM_RETRIES)
		return true;
	if (!pgdat_balanced(m, pgdat, (unsigned int)order, zoneidx))
		return false;
	if (today)
		clear_pgdat_congested(pgdat);
	return true;
}

/* While it sleeps, counters may drift further: nobody relies on them as much. */
static void kswapd_sleep(struct machine *m, struct pglist_data *pgdat)
{
	world_trace(EVENT_KSWAPD_SLEEP, pgdat->node_id, 0);
	set_pgdat_percpu_threshold(pgdat, false);
	(void)m;
	schedule_timeout(WORLD_FOREVER);
	set_pgdat_percpu_threshold(pgdat, true);
}

/* What a wake-up during the nap asked for is kept: the run that follows reads it. */
static void keep_request(struct machine *m, struct pglist_data *pgdat, int order, int zoneidx)
{
	if (m->balance_pgdat != balance_pgdat_6_18)
		return;
	if (READ_ONCE(pgdat->kswapd_highest_zoneidx) == MAX_NR_ZONES)
		WRITE_ONCE(pgdat->kswapd_highest_zoneidx, zoneidx);
	if (READ_ONCE(pgdat->kswapd_order) < order)
		WRITE_ONCE(pgdat->kswapd_order, order);
}

static void kswapd_try_to_sleep(struct machine *m, struct pglist_data *pgdat, int order,
                                int asked_order, int zoneidx)
{
	struct wait_queue_entry e;
	u64 left = 0;

	prepare_to_wait(&pgdat->kswapd_wait, &e, 0, false, WORLD_TASK_INTERRUPTIBLE);
	if (prepare_kswapd_sleep(m, pgdat, order, zoneidx)) {
		compaction_before_kswapd_sleeps(pgdat);
		wakeup_kcompactd(pgdat, asked_order, zoneidx);
		left = schedule_timeout(world_ticks_to_ns(m->world->hw->hz / 10));
		if (left)
			keep_request(m, pgdat, order, zoneidx);
		finish_wait(&e);
		prepare_to_wait(&pgdat->kswapd_wait, &e, 0, false, WORLD_TASK_INTERRUPTIBLE);
	}
	if (!left && prepare_kswapd_sleep(m, pgdat, order, zoneidx))
		kswapd_sleep(m, pgdat);
	else
		count_vm_event(m,
		               left ? KSWAPD_LOW_WMARK_HIT_QUICKLY : KSWAPD_HIGH_WMARK_HIT_QUICKLY);
	finish_wait(&e);
}

/* ---- the task ------------------------------------------------------------------------------------------------- */

static int highest_zone(const struct pglist_data *pgdat)
{
	int i = MAX_NR_ZONES - 1;

	while (i && !populated_zone(&pgdat->zone[i]))
		i--;
	return i;
}

static void balance(struct machine *m, struct pglist_data *pgdat, int *order, int *zoneidx)
{
	world_trace(EVENT_KSWAPD_WAKE, pgdat->node_id, (u64)*order);
	psi_memstall_enter(); /* as Linux has it: what kswapd does is not productive either */
	span_enter(SPAN_BALANCE);
	m->balance_pgdat(m, pgdat, order, zoneidx);
	span_exit();
	psi_memstall_leave();
}

/* The request that came in meanwhile; takes it. */
static void take_request(struct pglist_data *pgdat, int none, int *order, int *zoneidx)
{
	*order = READ_ONCE(pgdat->kswapd_order);
	*zoneidx = READ_ONCE(pgdat->kswapd_highest_zoneidx);
	WRITE_ONCE(pgdat->kswapd_order, 0);
	WRITE_ONCE(pgdat->kswapd_highest_zoneidx, none);
}

/*
 * A run that ended as it was asked to looks whether something larger, or for lower zones, has been
 * asked for since, and only then does not try to sleep.
 */
static void kswapd_loop_3_12(struct machine *m, struct pglist_data *pgdat)
{
	int none = highest_zone(pgdat);
	int order = 0;
	int zoneidx = none;
	int new_order = 0;
	int new_zoneidx = none;
	int balanced_order = 0;
	int balanced_zoneidx = none;

	pgdat->kswapd_highest_zoneidx = none;
	for (;;) {
		if (balanced_zoneidx >= new_zoneidx && balanced_order == new_order)
			take_request(pgdat, none, &new_order, &new_zoneidx);
		if (order < new_order || zoneidx > new_zoneidx) {
			order = new_order;
			zoneidx = new_zoneidx;
		} else {
			kswapd_try_to_sleep(m, pgdat, balanced_order, 0, balanced_zoneidx);
			take_request(pgdat, none, &order, &zoneidx);
			new_order = order;
			new_zoneidx = zoneidx;
		}
		balanced_order = order;
		balanced_zoneidx = zoneidx;
		balance(m, pgdat, &balanced_order, &balanced_zoneidx);
	}
}

/* A larger order that was asked for meanwhile is seen to at once, anything else after a sleep. */
static void kswapd_loop_2_6_36(struct machine *m, struct pglist_data *pgdat)
{
	int zoneidx = highest_zone(pgdat);
	int order = 0;

	pgdat->kswapd_highest_zoneidx = zoneidx;
	for (;;) {
		int new_order = READ_ONCE(pgdat->kswapd_order);
		int run;

		WRITE_ONCE(pgdat->kswapd_order, 0);
		if (order < new_order) {
			order = new_order;
		} else {
			kswapd_try_to_sleep(m, pgdat, order, 0, zoneidx);
			order = READ_ONCE(pgdat->kswapd_order);
		}
		run = order;
		balance(m, pgdat, &run, &zoneidx);
	}
}

/* A request without a zone is about the zones of the last one. */
static int requested_zone(struct pglist_data *pgdat, int last)
{
	int zoneidx = READ_ONCE(pgdat->kswapd_highest_zoneidx);

	return zoneidx == MAX_NR_ZONES ? last : zoneidx;
}

static void kswapd_loop_6_18(struct machine *m, struct pglist_data *pgdat)
{
	int zoneidx = MAX_NR_ZONES - 1;
	int reclaim_order = 0;
	int order = 0;

	pgdat->kswapd_highest_zoneidx = MAX_NR_ZONES;
	for (;;) {
		/* A run that gave up a larger order may sleep for having reached what it did. */
		if (reclaim_order >= order) {
			reclaim_order = READ_ONCE(pgdat->kswapd_order);
			zoneidx = requested_zone(pgdat, zoneidx);
		}
		kswapd_try_to_sleep(m, pgdat, reclaim_order, order, zoneidx);
		zoneidx = requested_zone(pgdat, zoneidx);
		order = READ_ONCE(pgdat->kswapd_order);
		WRITE_ONCE(pgdat->kswapd_order, 0);
		WRITE_ONCE(pgdat->kswapd_highest_zoneidx, MAX_NR_ZONES);
		reclaim_order = order;
		balance(m, pgdat, &reclaim_order, &zoneidx);
	}
}

static void kswapd(void *arg)
{
	struct pglist_data *pgdat = arg;
	struct machine *m = pgdat->machine;

	if (m->balance_pgdat == balance_pgdat_2_6_36)
		kswapd_loop_2_6_36(m, pgdat);
	else if (m->balance_pgdat == balance_pgdat_3_12)
		kswapd_loop_3_12(m, pgdat);
	else
		kswapd_loop_6_18(m, pgdat);
}

/* ---- waking it ---------------------------------------------------------------------------------------------------- */

/* The zone is not remembered with an order of 0: such requests are about the whole node. */
static void wakeup_kswapd_3_12(struct machine *m, struct zone *z, int order, int classzone_idx)
{
	struct pglist_data *pgdat = z->pgdat;

	(void)m;
	if (READ_ONCE(pgdat->kswapd_order) < order) {
		WRITE_ONCE(pgdat->kswapd_order, order);
		WRITE_ONCE(pgdat->kswapd_highest_zoneidx,
		           min(pgdat->kswapd_highest_zoneidx, classzone_idx));
	}
	if (waitqueue_active(&pgdat->kswapd_wait) && !zone_balanced(z, (unsigned int)order, 0, 0))
		wake_up(&pgdat->kswapd_wait);
}

/* Nothing is noted, let alone waked, for a zone that is above its low mark. */
static void wakeup_kswapd_2_6_36(struct zone *z, int order)
{
	struct pglist_data *pgdat = z->pgdat;

	if (zone_watermark_ok_safe(z, (unsigned int)order, wmark(z, WMARK_LOW), 0, 0))
		return;
	if (READ_ONCE(pgdat->kswapd_order) < order)
		WRITE_ONCE(pgdat->kswapd_order, order);
	if (waitqueue_active(&pgdat->kswapd_wait))
		wake_up(&pgdat->kswapd_wait);
}

static bool pgdat_watermark_boosted(const struct pglist_data *pgdat, int highest_zoneidx)
{
	for (int i = 0; i <= highest_zoneidx; i++)
		if (pgdat->zone[i].watermark_boost)
			return true;
	return false;
}

static void wakeup_kswapd_6_18(struct machine *m, struct zone *z, int order, int highest_zoneidx)
{
	struct pglist_data *pgdat = z->pgdat;
	int now = READ_ONCE(pgdat->kswapd_highest_zoneidx);

	if (now == MAX_NR_ZONES || now < highest_zoneidx)
		WRITE_ONCE(pgdat->kswapd_highest_zoneidx, highest_zoneidx);
	if (READ_ONCE(pgdat->kswapd_order) < order)
		WRITE_ONCE(pgdat->kswapd_order, order);
	if (!waitqueue_active(&pgdat->kswapd_wait))
		return;
	if (READ_ONCE(pgdat->kswapd_failures) >= MAX_RECLAIM_RETRIES)
		return;
	if (pgdat_balanced_6_18(m, pgdat, (unsigned int)order, highest_zoneidx) &&
	    !pgdat_watermark_boosted(pgdat, highest_zoneidx))
		return;
	wake_up(&pgdat->kswapd_wait);
}

/* An allocation of @order from zones up to @highest_zoneidx found @z low. Never switches tasks. */
void wakeup_kswapd(struct machine *m, struct zone *z, unsigned int order, int highest_zoneidx)
{
	if (!managed_zone(z))
		return;
	if (m->balance_pgdat == balance_pgdat_2_6_36)
		wakeup_kswapd_2_6_36(z, (int)order);
	else if (m->balance_pgdat == balance_pgdat_3_12)
		wakeup_kswapd_3_12(m, z, (int)order, highest_zoneidx);
	else
		wakeup_kswapd_6_18(m, z, (int)order, highest_zoneidx);
}

/* Before 4.8 once for each zone of the zonelist, then once for each node. */
void wake_all_kswapds(struct machine *m, gfp_t gfp, unsigned int order)
{
	struct pglist_data *here = policy_node(m);
	bool by_node = m->balance_pgdat == balance_pgdat_6_18;
	struct pglist_data *last = NULL;
	int highest = gfp_zone(gfp);

	for (u32 i = 0; i < here->nr_zonelist; i++) {
		struct zone *z = here->zonelist[i];

		if ((int)z->type > highest || !managed_zone(z) || !policy_allows(m, z) ||
		    (by_node && z->pgdat == last))
			continue;
		last = z->pgdat;
		wakeup_kswapd(m, z, order, highest);
	}
}

/* ---- boot -------------------------------------------------------------------------------------------------------------- */

static void init_waits(struct pglist_data *pgdat)
{
	init_waitqueue_head(&pgdat->kswapd_wait);
	init_waitqueue_head(&pgdat->pfmemalloc_wait);
	for (int i = 0; i < NR_VMSCAN_THROTTLE; i++)
		init_waitqueue_head(&pgdat->reclaim_wait[i]);
}

static void kswapd_start(struct machine *m, struct pglist_data *pgdat)
{
	struct task *t = arena_new(&m->arena, struct task);
	char name[24];

	snprintf(name, sizeof(name), "kswapd%u", pgdat->node_id);
	t->flags = PF_MEMALLOC | PF_KSWAPD;
	pgdat->kswapd = t;
	kthread_run(m, t, name, WORLD_TASK_KSWAPD, kswapd, pgdat, -1);
}

int kswapd_init(struct machine *m)
{
	struct pglist_data *pgdat;

	m->get_scan_count = m->knob.scan_balance == BALANCE_COST     ? get_scan_count_cost
	                    : m->knob.scan_balance == BALANCE_RECENT ? get_scan_count_recent
	                                                             : get_scan_count_batched;
	m->balance_pgdat = m->knob.kswapd == KSWAPD_6_18   ? balance_pgdat_6_18
	                   : m->knob.kswapd == KSWAPD_3_12 ? balance_pgdat_3_12
	                                                   : balance_pgdat_2_6_36;
	for_each_node (m, pgdat) {
		init_waits(pgdat);
		if (pgdat->node_spanned_pages)
			kswapd_start(m, pgdat);
	}
	oom_init(m);
	return 0;
}
