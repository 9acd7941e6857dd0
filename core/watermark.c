/*
 * Watermarks: how much memory is kept free, and the test whether a zone may give a page.
 *
 * Linux mm/page_alloc.c. Two forms of the distances between
 * marks (knob watermark.gap: a quarter of min, or from 4.6 on scaled by the zone) and two of the
 * test for blocks (watermark.order: the mark halves with each order, or from 4.4 on one suitable
 * block is enough). Watermark boost came with 5.0; a factor of 0 switches it off.
 *
 * Left out: the high-atomic and MIGRATE_RESERVE pageblocks, and CMA, which would be subtracted
 * from what is free; all zones have none.
 */
#include "core/page_alloc.h"

/* 4.6: distances grow with the zone. What changed with it or soon after goes by the same knob. */
static bool gap_is_scaled(const struct machine *m)
{
	return m->knob.watermark_gap == WMARK_GAP_SCALE;
}

/* ---- min_free_kbytes ------------------------------------------------------------------------------- */

/* Pages of all zones that requests like GFP_USER can use, above the high mark as it is now. */
static unsigned long nr_free_buffer_pages(struct machine *m)
{
	struct pglist_data *pgdat;
	struct zone *z;
	unsigned long sum = 0;

	for_each_populated_zone (m, pgdat, z) {
		unsigned long high = z->_watermark[WMARK_HIGH];

		if (z->type != ZONE_MOVABLE && zone_size(z) > high)
			sum += zone_size(z) - high;
	}
	return sum;
}

/* The square-root rule. The upper bound was 64 MiB until 5.8. */
static unsigned long min_free_kbytes_computed(struct machine *m)
{
	u64 lowmem_kbytes = nr_free_buffer_pages(m) * (PAGE_SIZE >> 10);
	u64 limit = gap_is_scaled(m) ? 262144 : 65536;

	return clamp_t(u64, int_sqrt(lowmem_kbytes * 16), 128, limit);
}

/*
 * What khugepaged asks for when it starts, in kB: two free pageblocks per zone, and one for each
 * pair of migrate types to fall back between; at most 5 % of low memory.
 */
static unsigned long khugepaged_min_free_kbytes(struct machine *m)
{
	struct pglist_data *pgdat;
	struct zone *z;
	unsigned long nr_zones = 0;
	unsigned long pages;

	if (m->knob.thp_enabled == THP_NEVER)
		return 0;
	for_each_populated_zone (m, pgdat, z)
		nr_zones += z->type != ZONE_MOVABLE;
	pages = PAGEBLOCK_PAGES * nr_zones * (2 + MIGRATE_PCPTYPES * MIGRATE_PCPTYPES);
	return min(pages, nr_free_buffer_pages(m) / 20) << (PAGE_SHIFT - 10);
}

/* ---- marks ------------------------------------------------------------------------------------------ */

/* Low memory: what shares min_free_kbytes. */
static unsigned long lowmem_pages(struct machine *m)
{
	struct pglist_data *pgdat;
	struct zone *z;
	unsigned long sum = 0;
	bool all = !gap_is_scaled(m); /* then Movable had its share */

	for_each_zone (m, pgdat, z)
		if (all || z->type != ZONE_MOVABLE)
			sum += zone_size(z);
	return sum;
}

void zone_set_marks(struct zone *z, unsigned long pages_min, unsigned long lowmem)
{
	const struct knobs *k = &z->machine->knob;
	unsigned long share = mul_div_u64(pages_min, zone_size(z), lowmem);
	unsigned long min;
	unsigned long gap;

	z->min_unreserved = (long)share;
	share += zone_drift_reserve(z);
	min = share;
	gap = share >> 2;
	if (!gap_is_scaled(z->machine)) {
		z->_watermark[WMARK_MIN] = min;
		z->_watermark[WMARK_LOW] = min + gap;
		z->_watermark[WMARK_HIGH] = min + (share >> 1);
		z->_watermark[WMARK_PROMO] = z->_watermark[WMARK_HIGH];
		return;
	}
	if (z->type == ZONE_MOVABLE)
		min = clamp_t(unsigned long, z->managed_pages / 1024, SWAP_CLUSTER_MAX, 128);
	gap = max(gap, mul_div_u64(z->managed_pages, k->watermark_scale_factor, 10000));
	z->_watermark[WMARK_MIN] = min;
	z->_watermark[WMARK_LOW] = min + gap;
	z->_watermark[WMARK_HIGH] = min + 2 * gap;
	z->_watermark[WMARK_PROMO] = min + 3 * gap;
}

static void set_marks(struct machine *m, unsigned long min_free_kbytes)
{
	unsigned long pages_min = min_free_kbytes >> (PAGE_SHIFT - 10);
	unsigned long lowmem = lowmem_pages(m);
	struct pglist_data *pgdat;
	struct zone *z;

	m->min_free_kbytes = min_free_kbytes;
	for_each_zone (m, pgdat, z)
		zone_set_marks(z, pages_min, lowmem);
}

/*
 * What a lower zone keeps from requests that could use higher ones: the more there is above it, the
 * more. reserve[j] of zone i is for requests whose highest zone is j.
 */
static void set_lowmem_reserve(struct machine *m, struct pglist_data *pgdat)
{
	const struct knobs *k = &m->knob;
	const u64 ratio[MAX_NR_ZONES] = {
		[ZONE_DMA] = k->lowmem_reserve_dma,
		[ZONE_DMA32] = k->lowmem_reserve_dma32,
		[ZONE_NORMAL] = k->lowmem_reserve_normal,
		[ZONE_MOVABLE] = 0,
	};

	for (int i = 0; i < MAX_NR_ZONES; i++) {
		struct zone *z = &pgdat->zone[i];
		unsigned long above = 0;

		for (int j = i + 1; j < MAX_NR_ZONES; j++) {
			above += zone_size(&pgdat->zone[j]);
			z->lowmem_reserve[j] =
				ratio[i] && managed_zone(z) ? (long)(above / ratio[i]) : 0;
		}
	}
}

/* What no amount of reclaim makes usable: all reserves and high marks. */
static void set_totalreserve_pages(struct machine *m)
{
	struct pglist_data *pgdat;
	struct zone *z;

	m->totalreserve_pages = 0;
	for_each_zone (m, pgdat, z) {
		long most = 0;

		for (int j = z->type; j < MAX_NR_ZONES; j++)
			most = max(most, z->lowmem_reserve[j]);
		z->totalreserve_pages =
			min(z->managed_pages, (unsigned long)most + wmark(z, WMARK_HIGH));
		m->totalreserve_pages += z->totalreserve_pages;
	}
}

/* How many active anonymous pages there may be for each inactive one: before 4.8 by zone size. */
static u32 zone_inactive_ratio(unsigned long pages)
{
	unsigned long gb = pages >> (30 - PAGE_SHIFT);

	return gb ? (u32)int_sqrt(10 * gb) : 1;
}

/* The zone's share of a round of the fair pass (3.12 to 4.7): what lies between low and high. */
static void zone_set_alloc_batch(struct machine *m, struct zone *z)
{
	long batch = (long)(z->_watermark[WMARK_HIGH] - z->_watermark[WMARK_LOW]);
	long change = batch - atomic_long_peek(&z->stat.v[NR_ALLOC_BATCH]);

	atomic_long_add(change, &z->stat.v[NR_ALLOC_BATCH]);
	atomic_long_add(change, &m->vm_stat.v[NR_ALLOC_BATCH]);
}

/*
 * khugepaged starts after the first marks are set, and raises them. A value the user sets comes
 * later still, and is final.
 */
void setup_per_zone_wmarks(struct machine *m)
{
	struct pglist_data *pgdat;
	struct zone *z;

	set_marks(m, min_free_kbytes_computed(m));
	set_marks(m, max(m->min_free_kbytes, khugepaged_min_free_kbytes(m)));
	if (m->knob.min_free_kbytes)
		set_marks(m, m->knob.min_free_kbytes);
	refresh_zone_stat_thresholds(m);
	if (m->knob.free_estimate == ESTIMATE_AS_POSTED)
		setup_wmarks_as_posted(m, m->min_free_kbytes >> (PAGE_SHIFT - 10), lowmem_pages(m));
	setup_free_estimate(m);
	for_each_node (m, pgdat)
		set_lowmem_reserve(m, pgdat);
	set_totalreserve_pages(m);
	for_each_populated_zone (m, pgdat, z) {
		z->inactive_ratio = zone_inactive_ratio(zone_size(z));
		zone_set_pageset_sizes(m, z);
		zone_set_alloc_batch(m, z);
	}
}

/* ---- the test --------------------------------------------------------------------------------------- */

/*
 * To 4.3: of what is free, blocks too small for the request do not count, but for each order of
 * theirs the mark halves. So an order-k request needs min / 2^k pages in blocks of its order.
 */
static bool watermark_ok_decay(const struct zone *z, unsigned int order, long min, long reserve,
                               u32 alloc_flags, long free)
{
	free -= (1L << order) - 1;
	if (alloc_flags & ALLOC_HIGH)
		min -= min / 2;
	if (alloc_flags & ALLOC_HARDER)
		min -= min / 4;
	if (alloc_flags & ALLOC_OOM)
		min -= min / 2;
	if (free <= min + reserve)
		return false;
	for (unsigned int o = 0; o < order; o++) {
		free -= (long)(z->free_area[o].nr_free << o);
		min >>= 1;
		if (free <= min)
			return false;
	}
	return true;
}

/* From 4.4 on: enough pages, and one block that is large enough. */
static bool watermark_ok_block(const struct zone *z, unsigned int order, long min, long reserve,
                               u32 alloc_flags, long free)
{
	free -= (1L << order) - 1;
	if (alloc_flags & ALLOC_HIGH) {
		min -= min / 2;
		if (alloc_flags & ALLOC_HARDER)
			min -= min / 4;
	}
	if (alloc_flags & ALLOC_OOM)
		min -= min / 2;
	if (free <= min + reserve)
		return false;
	if (!order)
		return true;
	for (unsigned int o = order; o < MAX_ORDER; o++)
		if (z->free_area[o].nr_free)
			return true;
	return false;
}

bool __zone_watermark_ok(struct zone *z, unsigned int order, unsigned long mark,
                         int highest_zoneidx, u32 alloc_flags, long free)
{
	long reserve = z->lowmem_reserve[highest_zoneidx];

	charge(COST_WATERMARK);
	if (z->machine->knob.watermark_order == WMARK_ORDER_DECAY)
		return watermark_ok_decay(z, order, (long)mark, reserve, alloc_flags, free);
	return watermark_ok_block(z, order, (long)mark, reserve, alloc_flags, free);
}

bool zone_watermark_ok(struct zone *z, unsigned int order, unsigned long mark, int highest_zoneidx,
                       u32 alloc_flags)
{
	return __zone_watermark_ok(z, order, mark, highest_zoneidx, alloc_flags,
	                           zone_nr_free_pages(z));
}

/* kswapd's own from 2.6.38 on. As exact as need be: below the drift mark all CPUs are asked. */
bool zone_watermark_ok_safe(struct zone *z, unsigned int order, unsigned long mark,
                            int highest_zoneidx, u32 alloc_flags)
{
	unsigned long free;

	if (z->machine->knob.free_estimate != ESTIMATE_PRESSURE)
		return zone_watermark_ok(z, order, mark, highest_zoneidx, alloc_flags);
	free = zone_page_state(z, NR_FREE_PAGES);
	if (z->percpu_drift_mark && free < z->percpu_drift_mark) {
		span_enter(SPAN_ESTIMATE);
		free = zone_page_state_snapshot(z, NR_FREE_PAGES);
		span_exit();
	}
	return __zone_watermark_ok(z, order, mark, highest_zoneidx, alloc_flags, (long)free);
}

/* ---- boost (5.0) ------------------------------------------------------------------------------------ */

/*
 * The marks rise for a while, so that kswapd frees whole blocks before types mix any further. Zones
 * of less than four pageblocks are left alone: it would only bring the OOM killer nearer.
 */
void boost_watermark(struct zone *z, u32 alloc_flags)
{
	u64 factor = z->machine->knob.watermark_boost_factor;
	unsigned long most;

	if (!factor || PAGEBLOCK_PAGES * 4 > z->managed_pages)
		return;
	most = mul_div_u64(z->_watermark[WMARK_HIGH], factor, 10000);
	if (!most)
		return;
	most = max(most, PAGEBLOCK_PAGES);
	z->watermark_boost = min(z->watermark_boost + PAGEBLOCK_PAGES, most);
	if (alloc_flags & ALLOC_KSWAPD)
		z->flags |=
			ZONE_BOOSTED_WATERMARK; /* the allocation wakes kswapd when it is done */
}
