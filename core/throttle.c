/*
 * Who is put to sleep for reclaiming too fast (parts of Linux mm/vmscan.c).
 *
 * Two eras, by the knob reclaim.throttle. To 5.15 (congestion): congestion_wait() for a tenth of a
 * second, cut short only by a disk that leaves congestion; see backing-dev.c. From 5.16 on
 * (reason): four queues per node, each with its own length and its own wake-up: writes ended,
 * isolated pages came back, others made progress, or just a tick.
 *
 * And in both, throttle_direct_reclaim(): when half of the min marks is used up, allocators wait for
 * kswapd, so that what is left serves those who free memory.
 */
#include "core/swap.h"
#include "core/vmscan.h"

static bool current_is_kthread(struct machine *m)
{
	return world_current()->kind != WORLD_TASK_USER ||
	       !(world_current()->id > m->nr_world_tasks);
}

/* ---- by reason: 5.16 on ---------------------------------------------------------------------------- */

/* Would sleeping help? Not if kswapd has given up, or if what is left is not waiting for writes. */
static bool skip_throttle_noprogress(struct pglist_data *pgdat)
{
	unsigned long reclaimable = 0;
	unsigned long write_pending = 0;

	if (READ_ONCE(pgdat->kswapd_failures) >= MAX_RECLAIM_RETRIES)
		return true;
	for (int i = 0; i < MAX_NR_ZONES; i++) {
		struct zone *z = &pgdat->zone[i];

		if (!managed_zone(z))
			continue;
		reclaimable += zone_reclaimable_pages(z);
		write_pending += zone_page_state_snapshot(z, NR_ZONE_WRITE_PENDING);
	}
	return 2 * write_pending <= reclaimable;
}

static u64 throttle_ticks(struct machine *m, enum vmscan_throttle_state reason)
{
	u64 hz = m->world->hw->hz;

	switch (reason) {
	case VMSCAN_THROTTLE_WRITEBACK:
		return hz / 10;
	case VMSCAN_THROTTLE_ISOLATED:
		return hz / 50;
	default:
		return 1;
	}
}

/* Kernel threads but kswapd are let through. May switch tasks. */
void reclaim_throttle(struct machine *m, struct pglist_data *pgdat,
                      enum vmscan_throttle_state reason)
{
	bool writeback = reason == VMSCAN_THROTTLE_WRITEBACK;
	struct wait_queue_entry e;

	if ((current_is_kthread(m) && !(current_flags(m) & PF_KSWAPD)) ||
	    ((reason == VMSCAN_THROTTLE_NOPROGRESS || reason == VMSCAN_THROTTLE_CONGESTED) &&
	     skip_throttle_noprogress(pgdat))) {
		world_cond_resched();
		return;
	}
	span_enter(SPAN_THROTTLE);
	if (writeback && atomic_long_add_return(1, &pgdat->nr_writeback_throttled) == 1)
		WRITE_ONCE(pgdat->nr_reclaim_start,
		           node_page_state(&pgdat->zone[0], NR_THROTTLED_WRITTEN));
	blk_flush_plug(m);
	prepare_to_wait(&pgdat->reclaim_wait[reason], &e, 0, false, WORLD_TASK_UNINTERRUPTIBLE);
	schedule_timeout(world_ticks_to_ns(throttle_ticks(m, reason)));
	finish_wait(&e);
	if (writeback)
		atomic_long_add_return(-1, &pgdat->nr_writeback_throttled);
	span_exit();
}

void acct_reclaim_writeback(struct machine *m, struct page *page)
{
	struct pglist_data *pgdat = page_pgdat(m, page);
	long nr_throttled = atomic_long_peek(&pgdat->nr_writeback_throttled);
	struct zone *z = page_zone(m, page);
	unsigned long nr_written;

	if (likely(!nr_throttled))
		return;
	mod_node_state(z, NR_THROTTLED_WRITTEN, 1);
	nr_written = node_page_state(z, NR_THROTTLED_WRITTEN) - READ_ONCE(pgdat->nr_reclaim_start);
	if (nr_written > SWAP_CLUSTER_MAX * (unsigned long)nr_throttled)
		wake_up(&pgdat->reclaim_wait[VMSCAN_THROTTLE_WRITEBACK]);
}

void wake_throttle_isolated(struct pglist_data *pgdat)
{
	struct wait_queue_head *q = &pgdat->reclaim_wait[VMSCAN_THROTTLE_ISOLATED];

	if (waitqueue_active(q))
		wake_up(q);
}

/* Direct reclaim is through with all nodes: did it get anywhere? */
void consider_reclaim_throttle(struct machine *m, struct pglist_data *pgdat,
                               const struct scan_control *sc)
{
	struct wait_queue_head *q = &pgdat->reclaim_wait[VMSCAN_THROTTLE_NOPROGRESS];

	/* More than one page in eight: those who made no progress may try again. */
	if (sc->nr_reclaimed > sc->nr_scanned >> 3) {
		if (waitqueue_active(q))
			wake_up(q);
		return;
	}
	if (!sc->kswapd && sc->priority == 1 && !sc->nr_reclaimed)
		reclaim_throttle(m, pgdat, VMSCAN_THROTTLE_NOPROGRESS);
}

/* ---- too many isolated ----------------------------------------------------------------------------------- */

/*
 * More pages of the type in hands than on the inactive list? An eighth of it is enough for those
 * who may do I/O; the others must not wait for them in a circle.
 */
static bool too_many_isolated(struct lruvec *lruvec, bool file, const struct scan_control *sc)
{
	enum lru_list lru = file ? LRU_INACTIVE_FILE : LRU_INACTIVE_ANON;
	unsigned long inactive;
	unsigned long isolated;

	if (sc->kswapd)
		return false;
	inactive = node_page_state(lruvec_zone(lruvec), NR_INACTIVE_ANON + lru);
	isolated = node_page_state(lruvec_zone(lruvec), file ? NR_ISOLATED_FILE : NR_ISOLATED_ANON);
	if ((sc->gfp & (__GFP_IO | __GFP_FS)) == (__GFP_IO | __GFP_FS))
		inactive >>= 3;
	return isolated > inactive;
}

/*
 * To 4.13 (db73ee0d4637) one waits for as long as it takes, which can be for ever: on a list of a
 * handful of pages, a single one in the hands of a kswapd that cannot free it is too many. Here it
 * is given up after five seconds, so that there is an end, by the OOM killer if need be.
 */
#define ISOLATED_ROUNDS_MAX 50

static bool wait_isolated_congestion(struct machine *m, struct lruvec *lruvec, bool file,
                                     const struct scan_control *sc)
{
	for (u32 i = 0; too_many_isolated(lruvec, file, sc); i++) {
		if (i == ISOLATED_ROUNDS_MAX)
			return false;
		congestion_wait(m, true, m->world->hw->hz / 10);
		if (world_current()->signal)
			return false;
	}
	return true;
}

static bool wait_isolated_reason(struct machine *m, struct lruvec *lruvec, bool file,
                                 const struct scan_control *sc)
{
	struct pglist_data *pgdat = lruvec->pgdat;

	if (too_many_isolated(lruvec, file, sc)) {
		reclaim_throttle(m, pgdat, VMSCAN_THROTTLE_ISOLATED);
		if (world_current()->signal || too_many_isolated(lruvec, file, sc))
			return false;
	}
	wake_throttle_isolated(pgdat);
	return true;
}

bool wait_too_many_isolated(struct machine *m, struct lruvec *lruvec, bool file,
                            const struct scan_control *sc)
{
	if (m->knob.throttle == THROTTLE_CONGESTION)
		return wait_isolated_congestion(m, lruvec, file, sc);
	return wait_isolated_reason(m, lruvec, file, sc);
}

/* ---- the reserves ------------------------------------------------------------------------------------------ */

/*
 * Linux: pfmemalloc_watermark_ok(), today allow_direct_reclaim(). Before 4.8 it reads the cheap
 * counter. That a zone without anything to reclaim does not count came with 4.2 (f012a84aff9f); until
 * then throttled tasks and kswapd could wake each other for ever, which is not worth modelling. For
 * the same reason zones that kswapd has given up do not count here: with swap on compressed RAM
 * there can be slots but no memory to fill them.
 */
bool allow_direct_reclaim(struct machine *m, struct pglist_data *pgdat)
{
	bool per_node = m->knob.lru_per == LRU_PER_NODE;
	unsigned long reserve = 0;
	unsigned long free = 0;

	/* Of 4.8 on; what 3.12's kswapd gives up are zones. */
	if (READ_ONCE(pgdat->kswapd_failures) >= MAX_RECLAIM_RETRIES)
		return true;
	for (int i = 0; i <= ZONE_NORMAL; i++) {
		struct zone *z = &pgdat->zone[i];

		if (!managed_zone(z) || !zone_reclaimable_pages(z) || !zone_reclaimable(z))
			continue;
		reserve += wmark(z, WMARK_MIN);
		free += per_node ? zone_page_state_snapshot(z, NR_FREE_PAGES)
		                 : zone_page_state(z, NR_FREE_PAGES);
	}
	if (!reserve || free > reserve / 2)
		return true;

	/* Somebody has to end the wait. */
	if (waitqueue_active(&pgdat->kswapd_wait)) {
		if (READ_ONCE(pgdat->kswapd_highest_zoneidx) > ZONE_NORMAL)
			WRITE_ONCE(pgdat->kswapd_highest_zoneidx, ZONE_NORMAL);
		wake_up(&pgdat->kswapd_wait);
	}
	return false;
}

/* The node whose zone the request would use first, zones above Normal apart. */
static struct pglist_data *first_node(struct machine *m, gfp_t gfp)
{
	struct pglist_data *here = policy_node(m);
	int highest = min_t(int, gfp_zone(gfp), ZONE_NORMAL);

	for (u32 i = 0; i < here->nr_zonelist; i++)
		if ((int)here->zonelist[i]->type <= highest && policy_allows(m, here->zonelist[i]))
			return here->zonelist[i]->pgdat;
	return NULL;
}

/* Waits for kswapd: killable, or at most a second for those who may hold a file system's locks. */
static void wait_pfmemalloc(struct machine *m, struct pglist_data *pgdat, gfp_t gfp)
{
	bool limited = !(gfp & __GFP_FS);
	u64 left = world_ticks_to_ns(m->world->hw->hz);
	struct wait_queue_entry e;

	blk_flush_plug(m);
	for (;;) {
		prepare_to_wait(&pgdat->pfmemalloc_wait, &e, 0, false, WORLD_TASK_INTERRUPTIBLE);
		if (world_current()->signal || !left || allow_direct_reclaim(m, pgdat))
			break;
		if (limited)
			left = schedule_timeout(left);
		else
			schedule_timeout(WORLD_FOREVER);
		finish_wait(&e);
	}
	finish_wait(&e);
}

bool throttle_direct_reclaim(struct machine *m, gfp_t gfp)
{
	struct pglist_data *pgdat;

	if (m->knob.throttle_direct == KNOB_OFF || current_is_kthread(m) || world_current()->signal)
		return false;
	pgdat = first_node(m, gfp);
	if (!pgdat || allow_direct_reclaim(m, pgdat))
		return false;
	count_vm_event(m, PGSCAN_DIRECT_THROTTLE);
	span_enter(SPAN_THROTTLE);
	wait_pfmemalloc(m, pgdat, gfp);
	span_exit();
	return world_current()->signal;
}
