/*
 * Reclaim: taking pages off the lists in batches, and direct reclaim (Linux mm/vmscan.c).
 *
 * An allocator that finds no page above the min mark reclaims for itself (try_to_free_pages()): it
 * goes over the zones it may use, or since 4.8 their nodes, and scans 1/4096 of each list, then
 * 1/2048, and so on, until 32 pages are free. kswapd does the same for its node (kswapd.c).
 *
 * Pages in hand are on no list, have PG_isolated and a reference of reclaim's, and are counted in
 * NR_ISOLATED_*. lru_lock is held while they are taken and put back, not in between.
 *
 * Which form of a procedure is used follows from what it depends on: lists per zone or per node
 * (lruvec->zone), knobs reclaim.scan_balance and reclaim.throttle.
 *
 * Left out: memcg, compaction (so nothing is reclaimed for its sake), laptop mode.
 */
#include "core/shrinker.h"
#include "core/swap.h"
#include "core/vmscan.h"
#include "core/writeback.h"

/* ---- off the list ------------------------------------------------------------------------------ */

static void mod_isolated(struct lruvec *lruvec, enum lru_list lru, long nr)
{
	mod_node_state(lruvec_zone(lruvec), isolated_item(lru), nr);
}

/* Pages taken or put back, by zone: the lists of a node hold pages of several. */
struct zone_count {
	long nr[MAX_NR_ZONES];
};

static void zone_count_book(struct machine *m, struct lruvec *lruvec, enum lru_list lru,
                            struct zone_count *c, int sign)
{
	for (int z = 0; z < MAX_NR_ZONES; z++)
		if (c->nr[z])
			update_lru_size(m, &lruvec->pgdat->zone[z], lru, sign * c->nr[z]);
}

/* What isolation found. */
struct isolated {
	struct page_list pages; /* the oldest is last */
	unsigned long nr_taken;
	unsigned long nr_scanned;
};

/* Pages of zones above the request's go to the head of the list, uncounted (4.8). */
static void return_skipped(struct machine *m, struct page_list *src, struct page_list *skipped)
{
	struct page *page;

	while ((page = page_list_pop_tail(skipped))) {
		count_vm_event(m, ZONE_EVENT(PGSKIP_DMA, page_zonenum(page)));
		page_list_add(src, page);
	}
}

/* A page of a zone that is not wanted. */
static bool skip_page(const struct page *page, const struct lruvec *lruvec,
                      const struct scan_control *sc)
{
	return !lruvec->zone && (int)page_zonenum(page) > sc->reclaim_idx;
}

/*
 * At most @nr_to_scan pages from the tail of the list. A page whose last reference is just being
 * dropped goes back to the head. lru_lock held.
 *
 * The pages taken stay linked as they are: a run of them leaves the list as a whole, when it is long
 * enough or a page comes that is not taken.
 */
static void isolate_lru_pages(struct machine *m, unsigned long nr_to_scan, struct lruvec *lruvec,
                              enum lru_list lru, struct scan_control *sc, struct isolated *iso)
{
	struct page_list *src = &lruvec->list[lru];
	struct page *page = page_list_last(src);
	struct zone_count taken = {0};
	struct page_list skipped;
	struct page *run = NULL;
	unsigned long nr_run = 0;

	page_list_init(&iso->pages, src->base);
	page_list_init(&skipped, src->base);
	iso->nr_taken = 0;
	iso->nr_scanned = 0;
	while (iso->nr_scanned < nr_to_scan && page) {
		bool skip = skip_page(page, lruvec, sc);

		VM_BUG_ON(!page_test(page, PG_lru));
		charge(COST_PAGE_LINE_COLD);
		/* (To 4.10 a huge page counted as one scanned, and as 512 reclaimed.) */
		iso->nr_scanned += skip ? 0 : compound_nr(page);
		if (unlikely(skip || !page->refcount)) {
			if (nr_run)
				page_list_move_tail(src, run, nr_run, &iso->pages);
			nr_run = 0;
			page_list_del(src, page);
			page_list_add(skip ? &skipped : src, page);
			page = page_list_last(src);
			continue;
		}
		charge(COST_LRU_ISOLATE);
		page->refcount += 1;
		page->flags = (page->flags & ~(1u << PG_lru)) | 1u << PG_isolated;
		taken.nr[page_zonenum(page)] += compound_nr(page);
		iso->nr_taken += compound_nr(page);
		nr_run += 1;
		run = page;
		page = page_list_prev(src, page);
	}
	if (nr_run)
		page_list_move_tail(src, run, nr_run, &iso->pages);
	sc->ahead = page_list_last(src);
	return_skipped(m, src, &skipped);
	zone_count_book(m, lruvec, lru, &taken, -1);
	mod_isolated(lruvec, lru, (long)iso->nr_taken);
	if (lruvec->zone)
		mod_zone_state(lruvec->zone, NR_PAGES_SCANNED, (long)iso->nr_scanned);
}

/*
 * Back to the lists that their flags name, oldest first, without reclaim's reference. Pages that
 * nobody else holds any more go to @free, mlocked ones, as they are, to @culled, for cull_pages().
 * Neighbours that go to one list go there as they are.
 * lru_lock held. Returns how many became active.
 */
static unsigned long putback_pages(struct machine *m, struct lruvec *lruvec,
                                   struct page_list *pages, struct page_list *free,
                                   struct page_list *culled)
{
	struct zone_count added[NR_LRU_LISTS] = {0};
	struct page *page = page_list_last(pages);
	unsigned long nr_active = 0;
	unsigned long nr_run = 0;
	struct page_list *to = free;
	struct page *run = NULL;

	charge_n(COST_PAGE_FLAG, pages->nr);
	for (; page; page = page_list_prev(pages, run)) {
		bool cull = page_test(page, PG_mlocked); /* it keeps the reference */
		enum lru_list lru = page_lru(page);
		struct page_list *list = &lruvec->list[lru];

		if (unlikely(cull))
			list = culled;
		else if (!--page->refcount)
			list = free;

		if (list != to && nr_run) {
			page_list_move_tail(pages, run, nr_run, to);
			nr_run = 0;
		}
		to = list;
		run = page;
		nr_run += 1;
		if (unlikely(cull)) {
			page_clear(page, PG_isolated);
			continue;
		}
		if (list == free) {
			page->flags &= ~(1u << PG_isolated | 1u << PG_active | 1u << PG_waiters);
			continue;
		}
		charge(COST_LRU_ADD);
		page->flags = (page->flags & ~(1u << PG_isolated)) | 1u << PG_lru;
		added[lru].nr[page_zonenum(page)] += compound_nr(page);
		nr_active += is_active_lru(lru) ? compound_nr(page) : 0;
	}
	if (nr_run)
		page_list_move_tail(pages, run, nr_run, to);
	for (enum lru_list lru = 0; lru < NR_LRU_LISTS; lru++)
		zone_count_book(m, lruvec, lru, &added[lru], 1);
	return nr_active;
}

/* To the unevictable list. No lock held. */
static void cull_pages(struct machine *m, struct page_list *culled)
{
	struct page *page;

	while ((page = page_list_pop_tail(culled))) {
		span_enter(SPAN_CULL);
		putback_lru_page(m, page);
		span_exit();
	}
}

/* A huge page goes back to the buddy lists by itself. */
static void free_list(struct machine *m, struct page_list *list)
{
	struct page *next;

	for (struct page *p = page_list_first(list); p; p = next) {
		next = page_link(list, p->lru_next);
		if (page_is_compound(p)) {
			page_list_del(list, p);
			free_huge_page(m, p);
		}
	}
	if (!page_list_empty(list))
		free_unref_page_list(m, list);
}

static bool scan_by_cost(const struct machine *m)
{
	return m->get_scan_count == get_scan_count_cost;
}

/* ---- the active list ------------------------------------------------------------------------------ */

/*
 * References of anonymous pages are only cleared here, not honoured: they have until they arrive at
 * the tail of the inactive list to be used again.
 */
void shrink_active_list(struct machine *m, unsigned long nr_to_scan, struct lruvec *lruvec,
                        struct scan_control *sc, enum lru_list lru)
{
	bool file = is_file_lru(lru);
	unsigned long nr_referenced = 0;
	unsigned long nr_rotated = 0;
	unsigned long nr_deactivated = 0;
	struct page_list free;
	struct page_list culled;
	struct isolated iso;
	struct page *page;

	span_enter(SPAN_SHRINK_ACTIVE);
	lru_add_drain(m);
	page_list_init(&free, lruvec->pgdat->mem_map);
	page_list_init(&culled, lruvec->pgdat->mem_map);
	spin_lock_irq(&lruvec->lru_lock);
	isolate_lru_pages(m, nr_to_scan, lruvec, lru, sc, &iso);
	lruvec->reclaim_stat.recent_scanned[file] += iso.nr_taken;
	count_vm_events(m, ZONE_EVENT(PGREFILL_DMA, lruvec->zone ? lruvec->zone->type : 0),
	                iso.nr_scanned);
	spin_unlock_irq(&lruvec->lru_lock);

	for (page = page_list_last(&iso.pages); page; page = page_list_prev(&iso.pages, page)) {
		u32 vm_flags;
		bool referenced;
		bool dirty;

		world_cond_resched();
		charge(COST_SCAN_PAGE);
		reclaim_fetch_ahead(m, page_list_prev(&iso.pages, page), sc, lruvec);
		if (unlikely(page_test(page, PG_mlocked)))
			continue; /* it is culled with the others */
		nr_deactivated += compound_nr(page);
		span_enter(SPAN_PAGE_REFERENCED);
		referenced = page_referenced(m, page, false, &vm_flags, &dirty) > 0;
		span_exit();
		nr_referenced += referenced ? compound_nr(page) : 0;
		/* The text of programs that run gets another round: a use-once stream is not to push it
		 * out. (Not lazily freed anonymous pages, which are on the file lists as well.) */
		if (unlikely(referenced && vm_flags & VM_EXEC && file && !page_is_anon(page))) {
			nr_rotated += compound_nr(page);
			continue; /* PG_active stays */
		}
		page_clear(page, PG_active);
		if (m->knob.workingset_anon == KNOB_ON)
			page_set(page, PG_workingset);
	}

	spin_lock_irq(&lruvec->lru_lock);
	lruvec->reclaim_stat.recent_rotated[file] += nr_referenced;
	putback_pages(m, lruvec, &iso.pages, &free, &culled);
	count_vm_events(m, PGDEACTIVATE, nr_deactivated - nr_rotated);
	if (nr_rotated && scan_by_cost(m))
		lru_note_cost(lruvec, file, 0, nr_rotated);
	mod_isolated(lruvec, lru, -(long)iso.nr_taken);
	spin_unlock_irq(&lruvec->lru_lock);
	cull_pages(m, &culled);
	free_list(m, &free);
	span_exit();
}

void age_active_anon(struct machine *m, struct lruvec *lruvec, struct scan_control *sc)
{
	if (inactive_is_low(m, lruvec, LRU_INACTIVE_ANON))
		shrink_active_list(m, SWAP_CLUSTER_MAX, lruvec, sc, LRU_ACTIVE_ANON);
}

/* ---- the inactive list ------------------------------------------------------------------------------ */

/* Before 4.8 Linux prints them by zone, then as one sum, and since 5.8 by type as well. */
static void count_reclaim(struct machine *m, const struct lruvec *lruvec, enum vm_event kswapd,
                          enum vm_event direct, enum vm_event by_type, bool file, bool is_kswapd,
                          unsigned long nr)
{
	enum vm_event e = is_kswapd ? kswapd : direct;

	count_vm_events(m, ZONE_EVENT(e, lruvec->zone ? lruvec->zone->type : 0), nr);
	count_vm_events(m, by_type + file, nr);
}

/*
 * To 5.15, after each batch. Only writeback that kswapd meets everywhere stops it; direct
 * reclaimers wait for a congested disk.
 */
static void throttle_by_congestion(struct machine *m, struct lruvec *lruvec,
                                   const struct scan_control *sc, const struct reclaim_stat *stat)
{
	u32 *flags = lruvec_zone_flags(lruvec);
	u64 ticks = m->world->hw->hz / 10;

	if (stat->nr_writeback && stat->nr_writeback == stat->nr_taken)
		WRITE_ONCE(*flags, *flags | ZONE_WRITEBACK);
	if (stat->nr_dirty && stat->nr_dirty == stat->nr_congested)
		WRITE_ONCE(*flags, *flags | ZONE_CONGESTED);
	if (stat->nr_unqueued_dirty == stat->nr_taken)
		WRITE_ONCE(*flags, *flags | ZONE_TAIL_LRU_DIRTY);
	if (stat->nr_immediate)
		congestion_wait(m, true, ticks);
	if (!sc->kswapd)
		wait_iff_congested(m, lruvec_zone(lruvec), true, ticks);
}

/* From 5.16 on the sums over a node decide, at the end of shrink_node(). */
static void note_for_throttle(struct scan_control *sc, const struct reclaim_stat *stat)
{
	sc->nr.nr_dirty += stat->nr_dirty;
	sc->nr.nr_unqueued_dirty += stat->nr_unqueued_dirty;
	sc->nr.nr_congested += stat->nr_congested;
	sc->nr.nr_writeback += stat->nr_writeback;
	sc->nr.nr_immediate += stat->nr_immediate;
	sc->nr.nr_taken += stat->nr_taken;
	sc->nr.nr_file_taken += stat->nr_file_taken;
}

static unsigned long shrink_inactive_list(struct machine *m, unsigned long nr_to_scan,
                                          struct lruvec *lruvec, struct scan_control *sc,
                                          enum lru_list lru)
{
	bool file = is_file_lru(lru);
	struct reclaim_stat stat = {0};
	unsigned long nr_reclaimed;
	struct page_list free;
	struct page_list culled;
	struct isolated iso;

	/* A task that is being killed need not reclaim: it frees all it has. */
	if (!wait_too_many_isolated(m, lruvec, file, sc))
		return world_current()->signal ? SWAP_CLUSTER_MAX : 0;
	lru_add_drain(m);
	page_list_init(&free, lruvec->pgdat->mem_map);
	page_list_init(&culled, lruvec->pgdat->mem_map);
	spin_lock_irq(&lruvec->lru_lock);
	isolate_lru_pages(m, nr_to_scan, lruvec, lru, sc, &iso);
	count_reclaim(m, lruvec, PGSCAN_KSWAPD_DMA, PGSCAN_DIRECT_DMA, PGSCAN_ANON, file,
	              sc->kswapd, iso.nr_scanned);
	spin_unlock_irq(&lruvec->lru_lock);
	if (!iso.nr_taken)
		return 0;
	stat.nr_taken = iso.nr_taken;
	stat.nr_file_taken = file ? iso.nr_taken : 0;

	nr_reclaimed = shrink_page_list(m, &iso.pages, lruvec, sc, &stat);

	spin_lock_irq(&lruvec->lru_lock);
	lruvec->reclaim_stat.recent_scanned[file] += iso.nr_taken;
	count_reclaim(m, lruvec, PGSTEAL_KSWAPD_DMA, PGSTEAL_DIRECT_DMA, PGSTEAL_ANON, file,
	              sc->kswapd, nr_reclaimed);
	lruvec->reclaim_stat.recent_rotated[file] +=
		putback_pages(m, lruvec, &iso.pages, &free, &culled);
	mod_isolated(lruvec, lru, -(long)iso.nr_taken);
	lru_note_cost(lruvec, file, stat.nr_pageout, iso.nr_scanned - nr_reclaimed);
	spin_unlock_irq(&lruvec->lru_lock);
	cull_pages(m, &culled);
	free_list(m, &free);

	/* 4.11 on: what is at the tail is dirty, and nobody has started to write it. */
	if (unlikely(stat.nr_unqueued_dirty) && stat.nr_unqueued_dirty == stat.nr_file_taken &&
	    m->knob.flusher_wakeup == FLUSHER_WAKEUP_TAIL)
		wakeup_flusher_threads(m, 0);
	if (m->knob.throttle == THROTTLE_CONGESTION)
		throttle_by_congestion(m, lruvec, sc, &stat);
	else
		note_for_throttle(sc, &stat);
	return nr_reclaimed;
}

/* ---- one lruvec ------------------------------------------------------------------------------------------ */

static unsigned long shrink_list(struct machine *m, enum lru_list lru, unsigned long nr_to_scan,
                                 struct lruvec *lruvec, struct scan_control *sc)
{
	unsigned long nr;

	if (is_active_lru(lru)) {
		bool file = is_file_lru(lru);

		if (scan_by_cost(m) ? sc->may_deactivate >> file & 1
		                    : inactive_is_low(m, lruvec, lru - 1))
			shrink_active_list(m, nr_to_scan, lruvec, sc, lru);
		else
			sc->skipped_deactivate = true;
		return 0;
	}
	span_enter(SPAN_SHRINK_INACTIVE);
	nr = shrink_inactive_list(m, nr_to_scan, lruvec, sc, lru);
	span_exit();
	return nr;
}

/*
 * Enough is reclaimed. The type with less left to scan is given up, and the other goes on until the
 * same part of its target has been scanned: the proportion is kept. False: done.
 */
static bool scale_to_proportion(const unsigned long *targets, unsigned long *nr)
{
	unsigned long nr_anon = nr[LRU_INACTIVE_ANON] + nr[LRU_ACTIVE_ANON];
	unsigned long nr_file = nr[LRU_INACTIVE_FILE] + nr[LRU_ACTIVE_FILE];
	enum lru_list small = nr_file > nr_anon ? LRU_INACTIVE_ANON : LRU_INACTIVE_FILE;
	enum lru_list large = nr_file > nr_anon ? LRU_INACTIVE_FILE : LRU_INACTIVE_ANON;
	unsigned long percentage;

	if (!nr_file || !nr_anon)
		return false;
	percentage = min(nr_anon, nr_file) * 100 / (targets[small] + targets[small + 1] + 1);
	nr[small] = 0;
	nr[small + 1] = 0;
	for (enum lru_list lru = large; lru <= large + 1; lru++) {
		unsigned long scanned = targets[lru] - nr[lru];
		unsigned long want = targets[lru] * (100 - percentage) / 100;

		nr[lru] = want - min(want, scanned);
	}
	return true;
}

void shrink_lruvec(struct machine *m, struct lruvec *lruvec, struct scan_control *sc)
{
	unsigned long nr[NR_LRU_LISTS] = {0};
	unsigned long targets[NR_LRU_LISTS];
	unsigned long nr_reclaimed = 0;
	unsigned long nr_to_reclaim = sc->nr_to_reclaim;
	/* Direct reclaim's first pass is short and goes through, so that lists age evenly (3.16). */
	bool adjusted = !sc->kswapd && sc->priority == DEF_PRIORITY;
	struct blk_plug plug;
	enum lru_list lru;

	m->get_scan_count(m, lruvec, sc, nr);
	for (lru = 0; lru < NR_LRU_LISTS; lru++)
		targets[lru] = nr[lru];
	blk_start_plug(m, &plug);
	while (nr[LRU_INACTIVE_ANON] || nr[LRU_ACTIVE_FILE] || nr[LRU_INACTIVE_FILE]) {
		for_each_evictable_lru (lru) {
			unsigned long n = min_t(unsigned long, nr[lru], SWAP_CLUSTER_MAX);

			if (!n)
				continue;
			nr[lru] -= n;
			nr_reclaimed += shrink_list(m, lru, n, lruvec, sc);
		}
		world_cond_resched();
		if (nr_reclaimed < nr_to_reclaim || adjusted)
			continue;
		if (m->knob.proportion == KNOB_OFF || !scale_to_proportion(targets, nr))
			break;
		adjusted = true;
	}
	blk_finish_plug(m, &plug);
	sc->nr_reclaimed += nr_reclaimed;
	age_active_anon(m, lruvec, sc);
	/* In Linux shrink_slab() follows, which does this even if there is nothing to shrink. */
	world_cond_resched();
}

/* ---- a zone, a node ---------------------------------------------------------------------------------------- */

static bool is_classzone(const struct zone *zone, const struct scan_control *sc)
{
	for (int i = sc->reclaim_idx; i > (int)zone->type; i--)
		if (managed_zone(&zone->pgdat->zone[i]))
			return false;
	return true;
}

static unsigned long lruvec_pages(const struct lruvec *lruvec)
{
	unsigned long nr = 0;
	enum lru_list lru;

	for_each_evictable_lru (lru)
		nr += READ_ONCE(lruvec->size[lru]);
	return nr;
}

bool shrink_zone(struct machine *m, struct zone *zone, struct scan_control *sc)
{
	unsigned long before = sc->nr_reclaimed;
	unsigned long scanned = sc->nr_scanned;

	if (scan_by_cost(m))
		prepare_scan_control(m, zone->lruvec, sc);
	shrink_lruvec(m, zone->lruvec, sc);
	/* Once for a node: with the highest of its zones that the request may use. */
	if (is_classzone(zone, sc))
		shrink_slab(m, zone->pgdat, sc->priority, sc->nr_scanned - scanned,
		            lruvec_pages(zone->lruvec));
	return sc->nr_reclaimed > before;
}

/* 5.16 on: what the whole node showed. See throttle_by_congestion(). */
static void throttle_node(struct machine *m, struct pglist_data *pgdat, struct lruvec *lruvec,
                          struct scan_control *sc)
{
	const struct reclaim_stat *nr = &sc->nr;

	if (sc->kswapd) {
		u32 *flags = lruvec_zone_flags(lruvec);

		if (nr->nr_writeback && nr->nr_writeback == nr->nr_taken)
			WRITE_ONCE(*flags, *flags | ZONE_WRITEBACK);
		if (nr->nr_unqueued_dirty && nr->nr_unqueued_dirty == nr->nr_file_taken)
			WRITE_ONCE(*flags, *flags | ZONE_TAIL_LRU_DIRTY);
		if (nr->nr_immediate)
			reclaim_throttle(m, pgdat, VMSCAN_THROTTLE_WRITEBACK);
		if (nr->nr_dirty && nr->nr_dirty == nr->nr_congested)
			WRITE_ONCE(lruvec->flags, lruvec->flags | LRUVEC_NODE_CONGESTED);
	} else if (READ_ONCE(lruvec->flags) & LRUVEC_NODE_CONGESTED) {
		reclaim_throttle(m, pgdat, VMSCAN_THROTTLE_CONGESTED);
	}
}

static void shrink_node_lruvec(struct machine *m, struct pglist_data *pgdat, struct lruvec *lruvec,
                               struct scan_control *sc)
{
	sc->nr = (struct reclaim_stat){0};
	if (scan_by_cost(m))
		prepare_scan_control(m, lruvec, sc);
	shrink_lruvec(m, lruvec, sc);
	if (m->knob.throttle == THROTTLE_REASON)
		throttle_node(m, pgdat, lruvec, sc);
}

bool shrink_node(struct machine *m, struct pglist_data *pgdat, struct scan_control *sc)
{
	unsigned long before = sc->nr_reclaimed;
	unsigned long scanned = sc->nr_scanned;
	unsigned long nr_pages = 0;

	if (m->knob.lru_per == LRU_PER_NODE) {
		shrink_node_lruvec(m, pgdat, &pgdat->lruvec, sc);
		nr_pages = lruvec_pages(&pgdat->lruvec);
	} else {
		for (int i = 0; i <= sc->reclaim_idx; i++) {
			if (!managed_zone(&pgdat->zone[i]))
				continue;
			shrink_node_lruvec(m, pgdat, pgdat->zone[i].lruvec, sc);
			nr_pages += lruvec_pages(pgdat->zone[i].lruvec);
		}
	}
	shrink_slab(m, pgdat, sc->priority, sc->nr_scanned - scanned, nr_pages);
	if (sc->nr_reclaimed > before) {
		WRITE_ONCE(pgdat->kswapd_failures, 0);
		return true;
	}
	sc->cache_trim_mode_failed |= sc->cache_trim_mode;
	return false;
}

/* ---- is there anything to reclaim? ---------------------------------------------------------------------------- */

unsigned long zone_reclaimable_pages(struct zone *z)
{
	/* From 4.8 on a zone's share of its node's lists is counted apart. */
	enum vm_item base = z->lruvec->zone ? NR_INACTIVE_ANON : NR_ZONE_INACTIVE_ANON;
	unsigned long nr;

	nr = zone_page_state(z, base + LRU_INACTIVE_FILE) +
	     zone_page_state(z, base + LRU_ACTIVE_FILE);
	if (get_nr_swap_pages(z->machine) > 0)
		nr += zone_page_state(z, base + LRU_INACTIVE_ANON) +
		      zone_page_state(z, base + LRU_ACTIVE_ANON);
	/*
	 * Nothing to take, but free pages: such a zone is not to be left out where it is asked whether there is
	 * enough (6.13; until then throttled tasks and a kswapd that finds all well could wait for ever).
	 */
	if (!nr && !z->lruvec->zone)
		nr = zone_page_state_snapshot(z, NR_FREE_PAGES);
	return nr;
}

/*
 * Not if it was scanned six times over since anything was last freed there. From 4.8 on kswapd's
 * failures are counted instead; who still asks is told whether there is anything at all.
 */
bool zone_reclaimable(struct zone *z)
{
	if (!z->lruvec->zone)
		return zone_reclaimable_pages(z) != 0;
	return zone_page_state(z, NR_PAGES_SCANNED) < zone_reclaimable_pages(z) * 6;
}

/* ---- direct reclaim ---------------------------------------------------------------------------------------------- */

/* To 4.7. Every zone gets its share at each priority. True: some zone is worth another try. */
static bool shrink_zones(struct machine *m, struct scan_control *sc)
{
	struct pglist_data *here = policy_node(m);
	bool reclaimable = false;

	for (u32 i = 0; i < here->nr_zonelist; i++) {
		struct zone *z = here->zonelist[i];

		if ((int)z->type > sc->reclaim_idx || !policy_allows(m, z))
			continue;
		/* kswapd keeps an eye on it. */
		if (sc->priority != DEF_PRIORITY && !zone_reclaimable(z))
			continue;
		if (shrink_zone(m, z, sc))
			reclaimable = true;
		reclaimable = reclaimable || zone_reclaimable(z);
	}
	return reclaimable;
}

/* The node after @last in the zonelist; NULL: none. A node's zones follow each other there. */
static struct pglist_data *next_node(struct machine *m, const struct scan_control *sc, u32 *i,
                                     const struct pglist_data *last)
{
	struct pglist_data *here = policy_node(m);

	for (; *i < here->nr_zonelist; *i += 1) {
		struct zone *z = here->zonelist[*i];

		if ((int)z->type <= sc->reclaim_idx && z->pgdat != last && policy_allows(m, z))
			return z->pgdat;
	}
	return NULL;
}

/* 4.8 on: each node once. */
static bool shrink_nodes(struct machine *m, struct scan_control *sc)
{
	struct pglist_data *first = NULL;
	struct pglist_data *pgdat = NULL;
	bool reclaimed = false;
	u32 i = 0;

	while ((pgdat = next_node(m, sc, &i, pgdat))) {
		first = first ? first : pgdat;
		reclaimed |= shrink_node(m, pgdat, sc);
	}
	if (first && m->knob.throttle == THROTTLE_REASON)
		consider_reclaim_throttle(m, first, sc);
	return reclaimed;
}

static void snapshot_all_refaults(struct machine *m, const struct scan_control *sc)
{
	struct pglist_data *pgdat = NULL;
	u32 i = 0;

	while ((pgdat = next_node(m, sc, &i, pgdat)))
		snapshot_refaults(m, pgdat);
}

/* To 3.10: let writes that have been started end before looking harder. */
static void direct_nap(struct machine *m, const struct scan_control *sc)
{
	u64 ticks = m->world->hw->hz / 10;
	struct pglist_data *here = policy_node(m);
	u32 i = 0;

	if (m->knob.direct_nap == DIRECT_NAP_NEVER)
		return;
	if (m->knob.direct_nap == DIRECT_NAP_ALWAYS) {
		congestion_wait(m, true, ticks);
		return;
	}
	while (i + 1 < here->nr_zonelist && (int)here->zonelist[i]->type > sc->reclaim_idx)
		i++;
	wait_iff_congested(m, here->zonelist[i], true, ticks);
}

/*
 * From priority 12 down until enough is reclaimed. Nothing at all: once more from 12, without
 * respect for what memcgs ask to be spared (3.20; here nobody asks, and Linux looked only from 4.12
 * on) or today in a full walk of them; and today once more with deactivation that was held back.
 * Each start counts as a stall. Returns what was reclaimed; 1: nothing, but do not give up.
 */
static unsigned long do_try_to_free_pages(struct machine *m, struct scan_control *sc)
{
	bool per_node = m->knob.lru_per == LRU_PER_NODE;
	unsigned long total_scanned;
	bool reclaimable;

retry:
	sc->priority = DEF_PRIORITY;
	total_scanned = 0;
	count_vm_event(m, ZONE_EVENT(ALLOCSTALL_DMA, sc->reclaim_idx));
	do {
		sc->nr_scanned = 0;
		reclaimable = per_node ? shrink_nodes(m, sc) : shrink_zones(m, sc);
		if (sc->nr_reclaimed >= sc->nr_to_reclaim)
			break;
		/* To 4.10: it is hard to find clean ones. As many as it had to look at may be dirty. */
		total_scanned += sc->nr_scanned;
		if (m->knob.flusher_wakeup == FLUSHER_WAKEUP_SCANNED &&
		    total_scanned > sc->nr_to_reclaim + sc->nr_to_reclaim / 2)
			wakeup_flusher_threads(m, total_scanned);
		if (sc->nr_scanned && sc->priority < DEF_PRIORITY - 2)
			direct_nap(m, sc);
	} while (--sc->priority >= 0);
	if (scan_by_cost(m))
		snapshot_all_refaults(m, sc);
	if (sc->nr_reclaimed)
		return sc->nr_reclaimed;
	if (!sc->second_walk) {
		sc->second_walk = true;
		goto retry;
	}
	if (scan_by_cost(m) && sc->skipped_deactivate) {
		sc->force_deactivate = true;
		sc->skipped_deactivate = false;
		goto retry;
	}
	return !per_node && reclaimable;
}

/*
 * The caller has set PF_MEMALLOC. Returns pages reclaimed, or what stands for progress; 0: nothing
 * could be reclaimed. May switch tasks.
 */
unsigned long try_to_free_pages(struct machine *m, gfp_t gfp, unsigned int order)
{
	struct scan_control sc = {
		.nr_to_reclaim = SWAP_CLUSTER_MAX,
		.gfp = gfp,
		.order = order,
		.reclaim_idx = gfp_zone(gfp),
		.may_writepage = true,
		.may_unmap = true,
		.may_swap = true,
	};
	unsigned long nr_reclaimed = 1;
	u64 since = world_now();

	psi_memstall_enter();
	blk_flush_plug(m);
	/* A task that is being killed is let through, to die. */
	if (!throttle_direct_reclaim(m, gfp)) {
		span_enter(SPAN_DIRECT_RECLAIM);
		world_trace(EVENT_DIRECT_BEGIN, order, 0);
		nr_reclaimed = do_try_to_free_pages(m, &sc);
		world_trace(EVENT_DIRECT_END, nr_reclaimed, 0);
		span_exit();
	}
	psi_memstall_leave();
	world_latency(HIST_DIRECT_RECLAIM, since);
	return nr_reclaimed;
}
