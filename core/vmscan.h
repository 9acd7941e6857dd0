/*
 * What the files of reclaim share: vmscan.c, vmscan_pagelist.c, vmscan_balance.c, kswapd.c, kswapd_balance.c,
 * throttle.c.
 *
 * Who calls whom: kswapd.c and direct reclaim (vmscan.c) shrink nodes or zones at rising priority;
 * for each lruvec vmscan_balance.c says how many pages of which list; vmscan.c takes them off in
 * batches of 32; vmscan_pagelist.c decides what becomes of each page; throttle.c puts to sleep who
 * is too fast.
 */
#ifndef CORE_VMSCAN_H
#define CORE_VMSCAN_H

#include "core/internal.h"

#define MAX_RECLAIM_RETRIES 16
#define MAX_SWAPPINESS 200

/* What shrink_page_list() met; pages. Anonymous pages count only in writeback, immediate, pageout. */
struct reclaim_stat {
	unsigned long nr_dirty;
	unsigned long nr_unqueued_dirty;
	unsigned long nr_congested;
	unsigned long nr_writeback;
	unsigned long nr_immediate;
	unsigned long nr_pageout;
	unsigned long nr_taken;
	unsigned long nr_file_taken;
};

enum may_deactivate { DEACTIVATE_ANON = 1 << 0, DEACTIVATE_FILE = 1 << 1 };

/* One call of reclaim: what is wanted, what is allowed, what came of it. */
struct scan_control {
	unsigned long nr_to_reclaim;
	unsigned long nr_scanned; /* before 4.8 mapped and swap-cache pages count twice */
	unsigned long nr_reclaimed;
	gfp_t gfp;
	unsigned int order;
	int priority;    /* 12: 1/4096 of each list ... 0: all of it */
	int reclaim_idx; /* highest zone whose pages are wanted */
	bool kswapd;
	bool may_writepage;
	bool may_unmap;
	bool may_swap;
	bool ignore_references; /* MADV_PAGEOUT: used or not */
	bool second_walk;       /* 4.0: may_thrash; today: memcg_full_walk */

	/* 5.8 on: vmscan_balance.c */
	u8 may_deactivate; /* enum may_deactivate */
	bool force_deactivate;
	bool skipped_deactivate;
	bool file_is_tiny;
	bool cache_trim_mode;
	bool no_cache_trim_mode;
	bool cache_trim_mode_failed;
	unsigned long anon_cost;
	unsigned long file_cost;
	struct reclaim_stat nr; /* of the node, for throttling */

	/* Host time only: the page that the next batch probably reaches; see reclaim_fetch_ahead(). */
	const struct page *ahead;
};

/* The zone_flags of a lruvec: its zone's, or its node's (4.8). */
static inline u32 *lruvec_zone_flags(struct lruvec *lruvec)
{
	return lruvec->zone ? &lruvec->zone->flags : &lruvec->pgdat->reclaim_flags;
}

/* A zone whose counters stand for the lruvec's: node items are reached through any of them. */
static inline struct zone *lruvec_zone(struct lruvec *lruvec)
{
	return lruvec->zone ? lruvec->zone : &lruvec->pgdat->zone[0];
}

/* ---- vmscan.c -------------------------------------------------------------------------------- */

void shrink_lruvec(struct machine *m, struct lruvec *lruvec, struct scan_control *sc);
/* @nr_to_scan pages from the tail of an active list to the inactive one. */
void shrink_active_list(struct machine *m, unsigned long nr_to_scan, struct lruvec *lruvec,
                        struct scan_control *sc, enum lru_list lru);
/* Before 4.8: one zone. True if something was reclaimed. */
bool shrink_zone(struct machine *m, struct zone *zone, struct scan_control *sc);
/* 4.8 on: one node. */
bool shrink_node(struct machine *m, struct pglist_data *pgdat, struct scan_control *sc);
/* Some active anonymous pages are deactivated, whether reclaim needs them or not. */
void age_active_anon(struct machine *m, struct lruvec *lruvec, struct scan_control *sc);

/*
 * Called before each page in hand is looked at. Fetches into the host's cache the entry of @next, the page
 * after it, and one more of the pages behind the batch, where the next batch finds them. By then
 * @sc->ahead may be anywhere, and its link may be something else; nothing is done with it but that.
 */
static inline void reclaim_fetch_ahead(struct machine *m, const struct page *next,
                                       struct scan_control *sc, const struct lruvec *lruvec)
{
	u32 link = sc->ahead ? sc->ahead->lru_prev : 0;

	if (next)
		rmap_fetch_ahead(m, next);
	if (!link || link > lruvec->pgdat->node_spanned_pages)
		return;
	sc->ahead = &lruvec->pgdat->mem_map[link - 1];
	__builtin_prefetch(sc->ahead, 1);
}

/* ---- vmscan_pagelist.c ----------------------------------------------------------------------- */

/* Frees what can be freed of @pages, isolated ones of one lruvec; the rest is left on the list. */
unsigned long shrink_page_list(struct machine *m, struct page_list *pages, struct lruvec *lruvec,
                               struct scan_control *sc, struct reclaim_stat *stat);

/* ---- vmscan_balance.c ------------------------------------------------------------------------ */

bool inactive_is_low(struct machine *m, struct lruvec *lruvec, enum lru_list inactive_lru);
/* 5.8 on: sets the fields of @sc that depend on the state of the lists. */
void prepare_scan_control(struct machine *m, struct lruvec *lruvec, struct scan_control *sc);
void snapshot_refaults(struct machine *m, struct pglist_data *pgdat);
/* How many pages of each evictable list to scan: nr[]. */
void get_scan_count_recent(struct machine *m, struct lruvec *lruvec, void *sc, unsigned long *nr);
void get_scan_count_batched(struct machine *m, struct lruvec *lruvec, void *sc, unsigned long *nr);
void get_scan_count_cost(struct machine *m, struct lruvec *lruvec, void *sc, unsigned long *nr);
/* What reclaim of a list cost: I/O started, and pages that were scanned in vain. lru_lock held. */
void lru_note_cost(struct lruvec *lruvec, bool file, unsigned long nr_io, unsigned long nr_rotated);

/* ---- kswapd_balance.c -------------------------------------------------------------------------------- */

/* One run, from *order and *zoneidx, which say afterwards what it was for in the end. */
void balance_pgdat_2_6_36(struct machine *m, struct pglist_data *pgdat, int *order, int *zoneidx);
void balance_pgdat_3_12(struct machine *m, struct pglist_data *pgdat, int *order, int *zoneidx);
void balance_pgdat_6_18(struct machine *m, struct pglist_data *pgdat, int *order, int *zoneidx);
bool pgdat_balanced_2_6_36(struct pglist_data *pgdat, unsigned int order);
bool pgdat_balanced_3_12(struct pglist_data *pgdat, unsigned int order, int classzone_idx);
bool pgdat_balanced_6_18(struct pglist_data *pgdat, unsigned int order, int highest_zoneidx);
/* To 4.7: has the zone its high mark and @gap pages more? */
bool zone_balanced(struct zone *z, unsigned int order, unsigned long gap, int classzone_idx);
void clear_pgdat_congested(struct pglist_data *pgdat);

/* ---- throttle.c ------------------------------------------------------------------------------ */

/* Indexes of pgdat->reclaim_wait. */
enum vmscan_throttle_state {
	VMSCAN_THROTTLE_WRITEBACK,
	VMSCAN_THROTTLE_ISOLATED,
	VMSCAN_THROTTLE_NOPROGRESS,
	VMSCAN_THROTTLE_CONGESTED,
	NR_VMSCAN_THROTTLE,
};

void reclaim_throttle(struct machine *m, struct pglist_data *pgdat,
                      enum vmscan_throttle_state reason);
/* The write of @page has ended; those who wait for such may have waited enough. Interrupts. */
void acct_reclaim_writeback(struct machine *m, struct page *page);
void wake_throttle_isolated(struct pglist_data *pgdat);
void consider_reclaim_throttle(struct machine *m, struct pglist_data *pgdat,
                               const struct scan_control *sc);
/* Waits if too many pages are in the hands of reclaimers. False: do not isolate more. */
bool wait_too_many_isolated(struct machine *m, struct lruvec *lruvec, bool file,
                            const struct scan_control *sc);
/* May direct reclaimers go on, as far as the node's reserves are concerned? Wakes kswapd if not. */
bool allow_direct_reclaim(struct machine *m, struct pglist_data *pgdat);
/* Puts a direct reclaimer to sleep if reserves are nearly gone. True: it was killed meanwhile. */
bool throttle_direct_reclaim(struct machine *m, gfp_t gfp);

#endif
