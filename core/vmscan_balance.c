/*
 * Which lists reclaim scans, and how far (Linux mm/vmscan.c: get_scan_count() and what it needs).
 *
 * At priority p a list's share is its size >> p; what is decided here is whether anonymous or file
 * pages bear it, or both, and in what proportion. To 5.7: by how many of the pages that came by
 * lately were found in use. Since 5.8: by what reclaim of each type has cost. Both favour file
 * pages as long as there are plenty of them that nobody misses.
 */
#include "core/vmscan.h"

enum scan_balance { SCAN_EQUAL, SCAN_FRACT, SCAN_ANON, SCAN_FILE };

/* ---- is the inactive list too short? ---------------------------------------------------------------- */

/* 4.7 on: the larger the lists, the smaller the part that is enough to notice references. */
static unsigned long inactive_ratio_of(unsigned long nr_pages)
{
	unsigned long gb = nr_pages >> (30 - PAGE_SHIFT);

	return gb ? int_sqrt(10 * gb) : 1;
}

bool inactive_is_low(struct machine *m, struct lruvec *lruvec, enum lru_list inactive_lru)
{
	unsigned long inactive = READ_ONCE(lruvec->size[inactive_lru]);
	unsigned long active = lruvec->size[inactive_lru + 1];
	unsigned long ratio;

	if (!is_file_lru(inactive_lru) && !m->total_swap_pages)
		return false;
	if (!lruvec->zone)
		ratio = inactive_ratio_of(inactive + active);
	else
		ratio = is_file_lru(inactive_lru) ? 1 : lruvec->zone->inactive_ratio;
	return inactive * ratio < active;
}

/* ---- by recent rotations: to 5.7 --------------------------------------------------------------------- */

/* Few scanned pages rotated: the type is worth scanning. Old observations fade. */
static void recent_fractions(struct machine *m, struct lruvec *lruvec, u64 *fraction)
{
	struct zone_reclaim_stat *stat = &lruvec->reclaim_stat;
	u64 swappiness = m->knob.swappiness;

	spin_lock_irq(&lruvec->lru_lock);
	for (int file = 0; file < 2; file++) {
		enum lru_list lru = file ? LRU_INACTIVE_FILE : LRU_INACTIVE_ANON;
		unsigned long size = lruvec->size[lru] + lruvec->size[lru + 1];

		if (stat->recent_scanned[file] > size / 4) {
			stat->recent_scanned[file] /= 2;
			stat->recent_rotated[file] /= 2;
		}
		fraction[file] = (file ? MAX_SWAPPINESS - swappiness : swappiness) *
		                 (stat->recent_scanned[file] + 1) /
		                 (stat->recent_rotated[file] + 1);
	}
	spin_unlock_irq(&lruvec->lru_lock);
}

/* Free and file pages of the zone, or of the node, and the high marks they are measured by. */
static void count_file_and_free(struct lruvec *lruvec, unsigned long *file, unsigned long *free,
                                unsigned long *high)
{
	struct zone *z = lruvec_zone(lruvec);

	*file = node_page_state(z, NR_ACTIVE_FILE) + node_page_state(z, NR_INACTIVE_FILE);
	*free = 0;
	*high = 0;
	for (int i = 0; i < MAX_NR_ZONES; i++) {
		z = &lruvec->pgdat->zone[i];
		if (!managed_zone(z) || (lruvec->zone && z != lruvec->zone))
			continue;
		*free += zone_page_state(z, NR_FREE_PAGES);
		*high += wmark(z, WMARK_HIGH);
	}
}

static enum scan_balance balance_recent(struct machine *m, struct lruvec *lruvec,
                                        const struct scan_control *sc)
{
	unsigned long file;
	unsigned long free;
	unsigned long high;

	if (!sc->may_swap || get_nr_swap_pages(m) <= 0)
		return SCAN_FILE;
	if (!sc->priority && m->knob.swappiness)
		return SCAN_EQUAL;
	/* A few file pages under a huge load would be rotated for ever and look attractive for it. */
	count_file_and_free(lruvec, &file, &free, &high);
	if (file + free <= high)
		return SCAN_ANON;
	/*
	 * "Plenty of inactive cache"; none at all is plenty in this sense. Not on a node's lists (4.8):
	 * there the sums can be above the marks while one zone is below its own.
	 */
	if (!inactive_is_low(m, lruvec, LRU_INACTIVE_FILE) &&
	    (lruvec->zone || READ_ONCE(lruvec->size[LRU_INACTIVE_FILE]) >> sc->priority))
		return SCAN_FILE;
	return SCAN_FRACT;
}

/* Fills nr[]; @force: at least 32 pages, or all, of lists too short for the priority. */
static bool spread_recent(struct lruvec *lruvec, const struct scan_control *sc,
                          enum scan_balance balance, const u64 *fraction, bool force,
                          unsigned long *nr)
{
	bool some = false;
	enum lru_list lru;

	for_each_evictable_lru (lru) {
		bool file = is_file_lru(lru);
		unsigned long size = READ_ONCE(lruvec->size[lru]);
		unsigned long scan = size >> sc->priority;

		if (!scan && force)
			scan = min_t(unsigned long, size, SWAP_CLUSTER_MAX);
		if (balance == SCAN_FRACT)
			scan = scan * fraction[file] / (fraction[0] + fraction[1] + 1);
		else if (balance != SCAN_EQUAL && (balance == SCAN_FILE) != file)
			scan = 0;
		nr[lru] = scan;
		some |= scan != 0;
	}
	return some;
}

void get_scan_count_recent(struct machine *m, struct lruvec *lruvec, void *arg, unsigned long *nr)
{
	const struct scan_control *sc = arg;
	enum scan_balance balance = balance_recent(m, lruvec, sc);
	u64 fraction[2] = {0, 0};
	/* kswapd alone can end the state of a zone that has become unreclaimable. */
	bool force = sc->kswapd && lruvec->zone && !zone_reclaimable(lruvec->zone);

	charge(COST_SCAN_COUNT);
	if (balance == SCAN_FRACT)
		recent_fractions(m, lruvec, fraction);
	if (!spread_recent(lruvec, sc, balance, fraction, false, nr) && force)
		spread_recent(lruvec, sc, balance, fraction, true, nr);
}

/* ---- to 3.7 ------------------------------------------------------------------------------------------ */

/* Swappiness of both types counts one more, so that neither is ever left out for it. */
static void batched_fractions(struct machine *m, struct lruvec *lruvec, u64 *fraction)
{
	const struct zone_reclaim_stat *stat = &lruvec->reclaim_stat;
	u64 swappiness = m->knob.swappiness;

	recent_fractions(m, lruvec, fraction); /* lets old observations fade */
	for (int file = 0; file < 2; file++)
		fraction[file] = ((file ? MAX_SWAPPINESS - swappiness : swappiness) + 1) *
		                 (stat->recent_scanned[file] + 1) /
		                 (stat->recent_rotated[file] + 1);
}

/*
 * What is less than a batch is kept for later (nr_scan_try_batch(), to 2.6.39), so that small lists
 * are scanned in whole batches. Others may add to it meanwhile; so they may in Linux.
 */
static unsigned long scan_try_batch(struct lruvec *lruvec, enum lru_list lru, unsigned long nr)
{
	nr += READ_ONCE(lruvec->nr_saved_scan[lru]);
	lruvec->nr_saved_scan[lru] = nr >= SWAP_CLUSTER_MAX ? 0 : nr;
	return nr >= SWAP_CLUSTER_MAX ? nr : 0;
}

void get_scan_count_batched(struct machine *m, struct lruvec *lruvec, void *arg, unsigned long *nr)
{
	const struct scan_control *sc = arg;
	bool no_swap = !sc->may_swap || get_nr_swap_pages(m) <= 0;
	u64 fraction[2] = {0, 1};
	unsigned long file;
	unsigned long free;
	unsigned long high;
	enum lru_list lru;
	u64 sum = 1;

	charge(COST_SCAN_COUNT);
	if (!no_swap) {
		count_file_and_free(lruvec, &file, &free, &high);
		if (file + free <= high) {
			fraction[0] = 1;
			fraction[1] = 0;
		} else {
			batched_fractions(m, lruvec, fraction);
			sum = fraction[0] + fraction[1] + 1;
		}
	}
	for_each_evictable_lru (lru) {
		unsigned long scan = READ_ONCE(lruvec->size[lru]);

		if (sc->priority || no_swap)
			scan = (scan >> sc->priority) * fraction[is_file_lru(lru)] / sum;
		nr[lru] = scan_try_batch(lruvec, lru, scan);
	}
}

/* ---- by cost: 5.8 on ------------------------------------------------------------------------------------ */

/* A page of I/O weighs as much as a batch of rotations. The sums fade by halves. */
void lru_note_cost(struct lruvec *lruvec, bool file, unsigned long nr_io, unsigned long nr_rotated)
{
	unsigned long size = lruvec->size[LRU_INACTIVE_ANON] + lruvec->size[LRU_ACTIVE_ANON] +
	                     lruvec->size[LRU_INACTIVE_FILE] + lruvec->size[LRU_ACTIVE_FILE];
	unsigned long cost = nr_io * SWAP_CLUSTER_MAX + nr_rotated;

	if (file)
		lruvec->file_cost += cost;
	else
		lruvec->anon_cost += cost;
	if (cost && lruvec->anon_cost + lruvec->file_cost > size / 4) {
		lruvec->file_cost /= 2;
		lruvec->anon_cost /= 2;
	}
}

/* Refaults activated pages since the last round: a new workingset moves in, let the old one age. */
static void prepare_may_deactivate(struct machine *m, struct lruvec *lruvec,
                                   struct scan_control *sc)
{
	unsigned long refaults;

	if (sc->force_deactivate) {
		sc->may_deactivate = DEACTIVATE_ANON | DEACTIVATE_FILE;
		return;
	}
	refaults = node_page_state(lruvec_zone(lruvec), WORKINGSET_ACTIVATE_ANON);
	if (refaults != lruvec->refaults[0] || inactive_is_low(m, lruvec, LRU_INACTIVE_ANON))
		sc->may_deactivate |= DEACTIVATE_ANON;
	else
		sc->may_deactivate &= ~DEACTIVATE_ANON;
	refaults = node_page_state(lruvec_zone(lruvec), WORKINGSET_ACTIVATE_FILE);
	if (refaults != lruvec->refaults[1] || inactive_is_low(m, lruvec, LRU_INACTIVE_FILE))
		sc->may_deactivate |= DEACTIVATE_FILE;
	else
		sc->may_deactivate &= ~DEACTIVATE_FILE;
}

void prepare_scan_control(struct machine *m, struct lruvec *lruvec, struct scan_control *sc)
{
	struct zone *z = lruvec_zone(lruvec);
	unsigned long file;
	unsigned long free;
	unsigned long high;

	spin_lock_irq(&lruvec->lru_lock);
	sc->anon_cost = lruvec->anon_cost;
	sc->file_cost = lruvec->file_cost;
	spin_unlock_irq(&lruvec->lru_lock);
	prepare_may_deactivate(m, lruvec, sc);

	/* Plenty of inactive file pages that nobody misses: those first. */
	file = node_page_state(z, NR_INACTIVE_FILE);
	sc->cache_trim_mode = file >> sc->priority && !(sc->may_deactivate & DEACTIVATE_FILE) &&
	                      !sc->no_cache_trim_mode;

	/* As balance_recent()'s test; but not when anonymous pages are short, too. */
	count_file_and_free(lruvec, &file, &free, &high);
	sc->file_is_tiny = file + free <= high && !(sc->may_deactivate & DEACTIVATE_ANON) &&
	                   node_page_state(z, NR_INACTIVE_ANON) >> sc->priority;
}

void snapshot_refaults(struct machine *m, struct pglist_data *pgdat)
{
	for (int i = 0; i < MAX_NR_ZONES; i++) {
		struct zone *z = &pgdat->zone[i];

		if (m->knob.lru_per != LRU_PER_NODE && !managed_zone(z))
			continue;
		WRITE_ONCE(z->lruvec->refaults[0], node_page_state(z, WORKINGSET_ACTIVATE_ANON));
		z->lruvec->refaults[1] = node_page_state(z, WORKINGSET_ACTIVATE_FILE);
	}
}

/* Pages of the list in zones that the request may use. */
static unsigned long lruvec_lru_size(struct lruvec *lruvec, enum lru_list lru, int reclaim_idx)
{
	unsigned long size = 0;

	if (lruvec->zone)
		return READ_ONCE(lruvec->size[lru]);
	for (int i = 0; i <= reclaim_idx; i++)
		if (managed_zone(&lruvec->pgdat->zone[i]))
			size += zone_page_state(&lruvec->pgdat->zone[i],
			                        NR_ZONE_INACTIVE_ANON + lru);
	return size;
}

static enum scan_balance balance_cost(struct machine *m, const struct scan_control *sc)
{
	if (!sc->may_swap || get_nr_swap_pages(m) <= 0)
		return SCAN_FILE;
	if (!sc->priority && m->knob.swappiness)
		return SCAN_EQUAL;
	if (sc->file_is_tiny)
		return SCAN_ANON;
	return sc->cache_trim_mode ? SCAN_FILE : SCAN_FRACT;
}

/* The cheaper type gets the larger part; the sum added to each keeps the ratio within 2 to 1. */
static void cost_fractions(struct machine *m, const struct scan_control *sc, u64 *fraction)
{
	u64 swappiness = m->knob.swappiness;
	u64 total = sc->anon_cost + sc->file_cost;
	u64 anon_cost = total + sc->anon_cost;
	u64 file_cost = total + sc->file_cost;

	total = anon_cost + file_cost;
	fraction[0] = swappiness * (total + 1) / (anon_cost + 1);
	fraction[1] = (MAX_SWAPPINESS - swappiness) * (total + 1) / (file_cost + 1);
}

void get_scan_count_cost(struct machine *m, struct lruvec *lruvec, void *arg, unsigned long *nr)
{
	const struct scan_control *sc = arg;
	enum scan_balance balance = balance_cost(m, sc);
	u64 fraction[2] = {0, 0};
	enum lru_list lru;

	charge(COST_SCAN_COUNT);
	if (balance == SCAN_FRACT)
		cost_fractions(m, sc, fraction);
	for_each_evictable_lru (lru) {
		bool file = is_file_lru(lru);
		unsigned long scan = lruvec_lru_size(lruvec, lru, sc->reclaim_idx) >> sc->priority;

		if (balance == SCAN_FRACT)
			scan = scan * fraction[file] / (fraction[0] + fraction[1]);
		else if (balance != SCAN_EQUAL && (balance == SCAN_FILE) != file)
			scan = 0;
		nr[lru] = scan;
	}
}
