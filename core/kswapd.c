/*
 * kswapd: one task per node that reclaims in the background (Linux mm/vmscan.c).
 *
 * It sleeps until an allocator falls below a low mark, and then shrinks lists at rising priority
 * until the high marks are reached. Before it goes to sleep for good it naps for a tenth of a
 * second, to see whether the balance lasts. What a run does is in kswapd_balance.c, in three forms; how it
 * sleeps and is woken differs with them.
 *
 * Left out: freezing, hotplug.
 */
#include "core/compaction.h"
#include "core/swap.h"
#include "core/vmscan.h"

/* ---- sleeping ---------------------------------------------------------------------------------------------- */

static bool pgdat_balanced(struct machine *m, struct pglist_data *pgdat, unsigned int order,
                           int zoneidx)
{
	if (m->balance_pgdat == balance_pgdat_2_6_36)
		return pgdat_balanced_2_6_36(pgdat, order);
	if (m->balance_pgdat == balance_pgdat_3_12)
		return pgdat_balanced_3_12(pgdat, order, zoneidx);
	return pgdat_balanced_6_18(pgdat, order, zoneidx);
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
static void kswapd_sleep(struct pglist_data *pgdat)
{
	world_trace(EVENT_KSWAPD_SLEEP, pgdat->node_id, 0);
	set_pgdat_percpu_threshold(pgdat, false);
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
		kswapd_sleep(pgdat);
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
static void wakeup_kswapd_3_12(struct zone *z, int order, int classzone_idx)
{
	struct pglist_data *pgdat = z->pgdat;

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

static void wakeup_kswapd_6_18(struct zone *z, int order, int highest_zoneidx)
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
	if (pgdat_balanced_6_18(pgdat, (unsigned int)order, highest_zoneidx) &&
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
		wakeup_kswapd_3_12(z, (int)order, highest_zoneidx);
	else
		wakeup_kswapd_6_18(z, (int)order, highest_zoneidx);
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
