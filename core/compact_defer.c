/*
 * Who has memory compacted, and when it is not tried (Linux mm/compaction.c, page_alloc.c, vmscan.c).
 *
 * A request of order > 0 that finds no block compacts the zones it may use, one after the other, before
 * or after it reclaims (alloc_slowpath.c). Where that was in vain, the next 2, 4, ... 64 requests of this
 * order and above do without (defer_compaction()). Since 4.6 a daemon per node, kcompactd, is woken when
 * kswapd has freed memory for a large block, and does it in the background.
 *
 * Locks: nothing may be held. May switch tasks.
 */
#include <stdio.h>

#include "core/compaction.h"

/* ---- deferral ------------------------------------------------------------------------------------ */

static void defer_compaction(struct zone *z, int order)
{
	z->compact_considered = 0;
	z->compact_defer_shift = min(z->compact_defer_shift + 1, COMPACT_MAX_DEFER_SHIFT);
	z->compact_order_failed = min(z->compact_order_failed, order);
}

/* True: not this time. */
static bool compaction_deferred(struct zone *z, int order)
{
	u32 limit = 1U << z->compact_defer_shift;

	if (order < z->compact_order_failed)
		return false;
	if (++z->compact_considered >= limit) {
		z->compact_considered = limit;
		return false;
	}
	return true;
}

/* @allocated: it was not only compacted, the request also got its block. */
static void compaction_defer_reset(struct zone *z, int order, bool allocated)
{
	if (allocated) {
		z->compact_considered = 0;
		z->compact_defer_shift = 0;
	}
	z->compact_order_failed = max(z->compact_order_failed, order + 1);
}

/* ---- direct compaction ------------------------------------------------------------------------------- */

static enum compact_result compact_zone_order(struct machine *m, struct zone *z, gfp_t gfp,
                                              int order, u32 alloc_flags,
                                              enum compact_priority prio)
{
	struct compact_control cc = {
		.zone = z,
		.order = order,
		.migratetype = gfp_migratetype(m, gfp),
		.alloc_flags = alloc_flags,
		.highest_zoneidx = gfp_zone(gfp),
		.mode = prio == COMPACT_PRIO_ASYNC ? MIGRATE_ASYNC : MIGRATE_SYNC_LIGHT,
		.ignore_skip_hint = prio == COMPACT_PRIO_SYNC_FULL,
	};

	return compact_zone(m, &cc);
}

/*
 * Compacts the zones that the request may use until one has a block. The best result of all; SKIPPED
 * and DEFERRED: nothing was tried.
 */
static enum compact_result try_to_compact_pages(struct machine *m, gfp_t gfp, int order,
                                                u32 alloc_flags, enum compact_priority prio)
{
	const struct pglist_data *pgdat = policy_node(m);
	enum compact_result best = COMPACT_SKIPPED;

	if (!(gfp & __GFP_IO))
		return COMPACT_SKIPPED;
	for (u32 i = 0; i < pgdat->nr_zonelist; i++) {
		struct zone *z = pgdat->zonelist[i];
		enum compact_result ret;

		if (z->type > (u32)gfp_zone(gfp) || !policy_allows(m, z))
			continue;
		if (prio > COMPACT_PRIO_SYNC_FULL && compaction_deferred(z, order)) {
			best = max_t(enum compact_result, best, COMPACT_DEFERRED);
			continue;
		}
		ret = compact_zone_order(m, z, gfp, order, alloc_flags, prio);
		best = max(best, ret);
		if (ret == COMPACT_SUCCESS) {
			compaction_defer_reset(z, order, false);
			break;
		}
		if (prio != COMPACT_PRIO_ASYNC &&
		    (ret == COMPACT_COMPLETE || ret == COMPACT_PARTIAL_SKIPPED))
			defer_compaction(z, order);
		if (ret == COMPACT_CONTENDED || world_current()->signal)
			break;
	}
	return best;
}

struct page *alloc_pages_direct_compact(struct machine *m, gfp_t gfp, unsigned int order,
                                        u32 alloc_flags, enum compact_priority prio,
                                        enum compact_result *result)
{
	struct task *t = current_task();
	struct page *page;

	*result = COMPACT_SKIPPED;
	if (!order || m->knob.compaction == COMPACTION_OFF || t->w.id <= m->nr_world_tasks)
		return NULL;
	psi_memstall_enter();
	t->flags |= PF_MEMALLOC;
	*result = try_to_compact_pages(m, gfp, (int)order, alloc_flags, prio);
	t->flags &= ~(u32)PF_MEMALLOC;
	psi_memstall_leave();
	if (*result <= COMPACT_DEFERRED)
		return NULL;
	count_vm_event(m, COMPACTSTALL);
	page = get_page_from_freelist(m, gfp, order, alloc_flags);
	if (page) {
		struct zone *z = page_zone(m, page);

		z->compact_blockskip_flush = false;
		compaction_defer_reset(z, (int)order, true);
		count_vm_event(m, COMPACTSUCCESS);
		return page;
	}
	count_vm_event(m, COMPACTFAIL);
	world_cond_resched();
	return NULL;
}

bool compaction_zonelist_suitable(struct machine *m, gfp_t gfp, int order, u32 alloc_flags)
{
	const struct pglist_data *pgdat = policy_node(m);

	for (u32 i = 0; i < pgdat->nr_zonelist; i++) {
		struct zone *z = pgdat->zonelist[i];
		unsigned long available;

		if (z->type > (u32)gfp_zone(gfp) || !policy_allows(m, z))
			continue;
		/* Were a part of what can be reclaimed free, could it be compacted? */
		available = zone_reclaimable_pages(z) / (unsigned long)order +
		            zone_page_state_snapshot(z, NR_FREE_PAGES);
		if (__zone_watermark_ok(
			    z, 0,
			    wmark(z, order > PAGE_ALLOC_COSTLY_ORDER ? WMARK_LOW : WMARK_MIN) +
				    (2UL << order),
			    gfp_zone(gfp), alloc_flags & ALLOC_WMARK_MASK, (long)available))
			return true;
	}
	return false;
}

void compaction_before_kswapd_sleeps(struct pglist_data *pgdat)
{
	for (int i = 0; i < MAX_NR_ZONES; i++)
		if (populated_zone(&pgdat->zone[i]) && pgdat->zone[i].compact_blockskip_flush)
			reset_isolation_suitable(&pgdat->zone[i]);
}

/* ---- kswapd of 3.12, and the daemon ----------------------------------------------------------------------- */

void compact_pgdat(struct machine *m, struct pglist_data *pgdat, int order)
{
	for (int i = 0; i < MAX_NR_ZONES; i++) {
		struct zone *z = &pgdat->zone[i];
		struct compact_control cc = {
			.zone = z,
			.order = order,
			.migratetype = MIGRATE_UNMOVABLE,
			.alloc_flags = WMARK_LOW,
			.highest_zoneidx = i,
			.mode = MIGRATE_ASYNC,
		};

		if (m->knob.compaction == COMPACTION_OFF || !populated_zone(z) ||
		    compaction_deferred(z, order))
			continue;
		compact_zone(m, &cc);
		if (zone_watermark_ok(z, (unsigned int)order, wmark(z, WMARK_LOW), 0, 0))
			compaction_defer_reset(z, order, false);
	}
}

/* Is there a zone in which it would help? */
static bool kcompactd_node_suitable(struct pglist_data *pgdat, int order, int highest)
{
	for (int i = 0; i <= highest; i++) {
		struct zone *z = &pgdat->zone[i];

		if (populated_zone(z) &&
		    compaction_suitable(z, order, WMARK_HIGH, highest) == COMPACT_CONTINUE)
			return true;
	}
	return false;
}

static void kcompactd_zone(struct machine *m, struct zone *z, int order, int highest)
{
	struct compact_control cc = {
		.zone = z,
		.order = order,
		.migratetype = MIGRATE_MOVABLE,
		.alloc_flags = WMARK_HIGH,
		.highest_zoneidx = highest,
		.mode = MIGRATE_SYNC_LIGHT,
		.daemon = true,
	};
	enum compact_result ret;

	if (!populated_zone(z) || compaction_deferred(z, order))
		return;
	ret = compact_zone(m, &cc);
	if (ret == COMPACT_SUCCESS) {
		compaction_defer_reset(z, order, false);
	} else if (ret == COMPACT_PARTIAL_SKIPPED || ret == COMPACT_COMPLETE) {
		/* What it has freed may be in per-CPU lists. */
		drain_all_pages(m);
		defer_compaction(z, order);
	}
	count_vm_events(m, KCOMPACTD_MIGRATE_SCANNED, cc.nr_migrate_scanned);
	count_vm_events(m, KCOMPACTD_FREE_SCANNED, cc.nr_free_scanned);
}

static void kcompactd_sleep(struct pglist_data *pgdat)
{
	struct wait_queue_entry e;

	for (;;) {
		prepare_to_wait(&pgdat->kcompactd_wait, &e, 0, false, WORLD_TASK_INTERRUPTIBLE);
		if (READ_ONCE(pgdat->kcompactd_max_order) > 0)
			break;
		schedule_timeout(WORLD_FOREVER);
	}
	finish_wait(&e);
}

static void kcompactd(void *arg)
{
	struct pglist_data *pgdat = arg;
	struct machine *m = pgdat->machine;

	for (;;) {
		int order, highest;

		kcompactd_sleep(pgdat);
		order = pgdat->kcompactd_max_order;
		highest = pgdat->kcompactd_highest_zoneidx;
		pgdat->kcompactd_max_order = 0;
		pgdat->kcompactd_highest_zoneidx = -1;
		psi_memstall_enter();
		span_enter(SPAN_KCOMPACTD);
		count_vm_event(m, KCOMPACTD_WAKE);
		for (int i = 0; i <= highest; i++)
			kcompactd_zone(m, &pgdat->zone[i], order, highest);
		span_exit();
		psi_memstall_leave();
	}
}

void wakeup_kcompactd(struct pglist_data *pgdat, int order, int highest)
{
	if (!order || !pgdat->kcompactd)
		return;
	WRITE_ONCE(pgdat->kcompactd_max_order, max(pgdat->kcompactd_max_order, order));
	pgdat->kcompactd_highest_zoneidx = max(pgdat->kcompactd_highest_zoneidx, highest);
	if (!kcompactd_node_suitable(pgdat, order, highest)) {
		pgdat->kcompactd_max_order = 0;
		return;
	}
	wake_up_all(&pgdat->kcompactd_wait);
}

void compaction_init(struct machine *m)
{
	struct pglist_data *pgdat;
	struct zone *z;

	for_each_populated_zone (m, pgdat, z)
		reset_isolation_suitable(z);
	for_each_node (m, pgdat) {
		char name[24];

		init_waitqueue_head(&pgdat->kcompactd_wait);
		pgdat->kcompactd_highest_zoneidx = -1;
		if (m->knob.compaction != COMPACTION_6_18 || !pgdat->node_spanned_pages)
			continue;
		snprintf(name, sizeof(name), "kcompactd%u", pgdat->node_id);
		pgdat->kcompactd = arena_new(&m->arena, struct task);
		kthread_run(m, pgdat->kcompactd, name, WORLD_TASK_KTHREAD, kcompactd, pgdat, -1);
	}
}
