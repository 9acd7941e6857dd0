/*
 * Compaction of a zone: a scanner that climbs from its start collects movable pages, another that comes
 * down from its end collects free ones, and the former move to the latter until they meet or a block of
 * the wanted order has come free (Linux mm/compaction.c).
 *
 * Both go pageblock by pageblock, remember in the zone where they stopped, and skip blocks in which
 * nothing was found last time (pageblock_skip), until that is forgotten when a whole pass was in vain or
 * kswapd goes to sleep. Asynchronous callers look only at movable blocks, and stop where a lock is taken.
 *
 * Two forms (knob alloc.compaction). 3.16: enough free memory is the low mark and twice the block, and
 * any free block of the right type ends it. 6.18: the marks are lower for small orders, and a block of
 * another type counts if it may be claimed whole.
 *
 * Left out: balloon and other driver pages, CMA, the fast search of free blocks (5.1), proactive
 * compaction (5.9), huge pages, which are passed over; blocks that were never used stay so.
 *
 * Locks: nothing may be held. May switch tasks.
 */
#include <string.h>

#include "core/compaction.h"
#include "core/fs.h"
#include "core/huge_memory.h"

static inline bool compact_is_3_16(const struct zone *z)
{
	return z->machine->knob.compaction == COMPACTION_3_16;
}

/* ---- is it worth it? ---------------------------------------------------------------------------- */

/* Counts of the free lists; read without the lock, as in Linux. */
int fragmentation_index(struct zone *z, unsigned int order)
{
	unsigned long requested = 1UL << order;
	unsigned long free_blocks = 0;
	unsigned long free_pages = 0;

	charge_n(COST_BUDDY_STEP, MAX_ORDER);
	for (unsigned int o = 0; o < MAX_ORDER; o++) {
		unsigned long nr = READ_ONCE(z->free_area[o].nr_free);

		if (nr && o >= order)
			return -1000;
		free_blocks += nr;
		free_pages += nr << o;
	}
	if (!free_blocks)
		return 0;
	return 1000 - (int)((1000 + free_pages * 1000 / requested) / free_blocks);
}

enum compact_result compaction_suitable(struct zone *z, int order, u32 alloc_flags,
                                        int highest_zoneidx)
{
	struct machine *m = z->machine;
	bool costly = order > PAGE_ALLOC_COSTLY_ORDER;
	unsigned long mark = wmark(z, compact_is_3_16(z) || costly ? WMARK_LOW : WMARK_MIN);
	int index;

	if (order < 0)
		return COMPACT_CONTINUE;
	/* Not ALLOC_HARDER and the like: copying needs memory that is really free. */
	if (zone_watermark_ok(z, (unsigned int)order,
	                      compact_is_3_16(z) ? mark : wmark(z, alloc_flags & ALLOC_WMARK_MASK),
	                      highest_zoneidx, alloc_flags))
		return COMPACT_SUCCESS;
	if (!zone_watermark_ok(z, 0, mark + (2UL << order), highest_zoneidx, 0))
		return COMPACT_SKIPPED;
	if (!compact_is_3_16(z) && !costly)
		return COMPACT_CONTINUE;
	index = fragmentation_index(z, (unsigned int)order);
	return index >= 0 && index <= (int)m->knob.extfrag_threshold ? COMPACT_SKIPPED
	                                                             : COMPACT_CONTINUE;
}

/* ---- blocks to skip ------------------------------------------------------------------------------ */

static bool isolation_suitable(const struct compact_control *cc, u64 pfn)
{
	return cc->ignore_skip_hint || !cc->zone->pageblock_skip[pageblock_nr(cc->zone, pfn)];
}

/* The scanners begin at the ends of the zone again. */
static void reset_cached_positions(struct zone *z)
{
	z->compact_migrate_pfn[0] = z->zone_start_pfn;
	z->compact_migrate_pfn[1] = z->zone_start_pfn;
	z->compact_free_pfn = zone_end_pfn(z);
}

void reset_isolation_suitable(struct zone *z)
{
	reset_cached_positions(z);
	z->compact_blockskip_flush = false;
	if (z->pageblock_skip_used)
		memset(z->pageblock_skip, 0, pageblock_nr(z, zone_end_pfn(z) - 1) + 1);
	z->pageblock_skip_used = false;
}

/* A whole block was looked at and gave nothing. The cached positions move past it. */
static void update_pageblock_skip(struct compact_control *cc, u64 pfn, bool migrate)
{
	struct zone *z = cc->zone;

	if (cc->ignore_skip_hint)
		return;
	z->pageblock_skip[pageblock_nr(z, pfn)] = 1;
	z->pageblock_skip_used = true;
	if (!migrate) {
		z->compact_free_pfn = min(z->compact_free_pfn, pfn);
		return;
	}
	z->compact_migrate_pfn[0] = max(z->compact_migrate_pfn[0], pfn);
	if (cc->mode != MIGRATE_ASYNC)
		z->compact_migrate_pfn[1] = max(z->compact_migrate_pfn[1], pfn);
}

/* An asynchronous caller does not wait for a lock. False: stop. Interrupts are off if true. */
static bool compact_lock(struct compact_control *cc, struct spinlock *lock)
{
	if (cc->mode != MIGRATE_ASYNC) {
		spin_lock_irq(lock);
		return true;
	}
	world_irq_save();
	if (spin_trylock(lock))
		return true;
	world_irq_restore();
	cc->contended = true;
	return false;
}

/* ---- the free scanner ------------------------------------------------------------------------------ */

/* Would taking a block of @order push the zone below its mark? zone->lock held. */
static bool may_take(const struct compact_control *cc, unsigned int order)
{
	enum zone_watermarks mark = compact_is_3_16(cc->zone) ? WMARK_LOW : WMARK_MIN;

	return zone_watermark_ok(cc->zone, 0, wmark(cc->zone, mark) + (1UL << order), 0, 0);
}

/* Free blocks of [@pfn, @end) to cc->freepages, page by page. */
static void isolate_freepages_block(struct compact_control *cc, u64 pfn, u64 end)
{
	struct zone *z = cc->zone;
	unsigned long nr_isolated = 0;
	unsigned long nr_scanned = 0;
	u64 start = pfn;

	if (!compact_lock(cc, &z->lock))
		return;
	while (pfn < end) {
		struct page *page = pfn_to_page(z->machine, pfn);
		unsigned int order;

		nr_scanned += 1;
		if (!page_test(page, PG_buddy)) {
			pfn += 1;
			continue;
		}
		order = buddy_order(page);
		if (!may_take(cc, order))
			break;
		take_buddy(z, page);
		for (u64 last = pfn + (1UL << order); pfn < last; pfn++)
			page_list_add_tail(&cc->freepages, pfn_to_page(z->machine, pfn));
		nr_isolated += 1UL << order;
	}
	charge_n(COST_BUDDY_STEP, nr_scanned);
	spin_unlock_irq(&z->lock);
	if (!nr_isolated && pfn >= end)
		update_pageblock_skip(cc, start, false);
	cc->nr_free_scanned += nr_scanned;
	count_vm_events(z->machine, COMPACTFREE_SCANNED, nr_scanned);
	count_vm_events(z->machine, COMPACTISOLATED, nr_isolated);
}

/* May pages of the block be used as targets? Moving into others' blocks would spread the mixture. */
static bool suitable_migration_target(const struct compact_control *cc, u64 pfn)
{
	struct page *page = pfn_to_page(cc->zone->machine, pfn);

	if (pfn_is_fresh(cc->zone, pfn))
		return false;
	if (page_test(page, PG_buddy) && buddy_order(page) >= PAGEBLOCK_ORDER)
		return false; /* a large free block is what all this is for */
	return get_pageblock_migratetype(cc->zone, pfn) == fresh_type(cc->zone->machine);
}

/* Pages for which there may still have to be a place. Where huge pages move whole they do so in batches, off the list. */
static unsigned long nr_to_move(const struct compact_control *cc)
{
	return migrates_whole(cc->zone->machine) ? cc->nr_migratepages : cc->migratepages.nr;
}

/* Refills cc->freepages from the blocks below cc->free_pfn and above the other scanner. */
static void isolate_freepages(struct compact_control *cc)
{
	struct zone *z = cc->zone;
	u64 low = ALIGN(cc->migrate_pfn + 1, PAGEBLOCK_PAGES);
	u64 end = zone_end_pfn(z);
	u64 block = ALIGN_DOWN(cc->free_pfn - 1, PAGEBLOCK_PAGES);

	for (; block >= low && nr_to_move(cc) > cc->freepages.nr; block -= PAGEBLOCK_PAGES) {
		world_cond_resched();
		cc->free_pfn = block;
		if (cc->contended)
			break;
		if (!isolation_suitable(cc, block) || !suitable_migration_target(cc, block))
			continue;
		isolate_freepages_block(cc, block, min(block + PAGEBLOCK_PAGES, end));
	}
	if (block < low) /* they have met */
		cc->free_pfn = cc->migrate_pfn;
}

/* ---- the migrate scanner ----------------------------------------------------------------------------- */

/*
 * Has it a reference that is not a pte's, and is in no cache that would explain one? Then somebody has it
 * pinned, and moving it would be in vain.
 */
static bool page_pinned(const struct machine *m, const struct page *page)
{
	return !page_test(page, PG_swapcache) && !page_mapping(m, page) &&
	       page->refcount > page->mapcount;
}

/* May the page be taken? lru_lock held. */
static bool page_isolatable(const struct compact_control *cc, const struct page *page)
{
	const struct machine *m = cc->zone->machine;

	if (!page_test(page, PG_lru) || page_is_compound(page))
		return false;
	if (page_test(page, PG_unevictable) && !m->knob.compact_unevictable)
		return false;
	if (!page->refcount || page_pinned(m, page))
		return false;
	return cc->mode != MIGRATE_ASYNC || !page_test(page, PG_writeback);
}

/* Pages of [@pfn, @end) to cc->migratepages, a cluster at most. Returns where it stopped. */
static u64 isolate_migratepages_block(struct compact_control *cc, u64 pfn, u64 end)
{
	struct zone *z = cc->zone;
	struct machine *m = z->machine;
	struct lruvec *lruvec = z->lruvec;
	unsigned long nr_scanned = 0;
	unsigned long nr_isolated = 0;
	u64 start = pfn;

	if (!compact_lock(cc, &lruvec->lru_lock))
		return 0;
	while (pfn < end && cc->migratepages.nr < COMPACT_CLUSTER_MAX) {
		struct page *page = pfn_to_page(m, pfn);

		nr_scanned += 1;
		if (page_test(page, PG_buddy)) {
			pfn += 1UL << min(buddy_order(page), MAX_ORDER - 1U);
			continue;
		}
		if (page_is_compound(page)) {
			pfn += compound_nr(compound_head(page));
			continue;
		}
		pfn += 1;
		if (!page_isolatable(cc, page))
			continue;
		charge(COST_LRU_ISOLATE);
		page->refcount += 1;
		page_clear(page, PG_lru);
		del_page_from_lru_list(m, page, lruvec);
		page_set(page, PG_isolated);
		mod_node_state(z, isolated_item(page_lru(page)), 1);
		page_list_add(&cc->migratepages, page);
		nr_isolated += 1;
		cc->last_migrated_pfn = pfn - 1;
	}
	charge_n(COST_BUDDY_STEP, nr_scanned);
	spin_unlock_irq(&lruvec->lru_lock);
	if (pfn >= end && !nr_isolated && start == ALIGN_DOWN(start, PAGEBLOCK_PAGES))
		update_pageblock_skip(cc, start, true);
	cc->nr_migrate_scanned += nr_scanned;
	count_vm_events(m, COMPACTMIGRATE_SCANNED, nr_scanned);
	count_vm_events(m, COMPACTISOLATED, nr_isolated);
	return min(pfn, end);
}

/* Some pages from the next block that has any. False: there is none, or it was broken off. */
static bool isolate_migratepages(struct compact_control *cc)
{
	struct zone *z = cc->zone;

	while (cc->migrate_pfn < cc->free_pfn) {
		u64 pfn = cc->migrate_pfn;
		u64 end = ALIGN(pfn + 1, PAGEBLOCK_PAGES);
		enum migratetype mt = get_pageblock_migratetype(z, pfn);

		world_cond_resched();
		if (end > cc->free_pfn)
			break;
		if (pfn_is_fresh(z, pfn) || !isolation_suitable(cc, pfn) ||
		    (cc->mode == MIGRATE_ASYNC && mt != fresh_type(z->machine))) {
			cc->migrate_pfn = end;
			continue;
		}
		pfn = isolate_migratepages_block(cc, pfn, end);
		if (!pfn)
			return false;
		cc->migrate_pfn = pfn;
		if (!page_list_empty(&cc->migratepages))
			return true;
	}
	return false;
}

/* ---- a zone -------------------------------------------------------------------------------------------- */

static struct page *compaction_alloc(const struct page *migrating, void *arg)
{
	struct compact_control *cc = arg;
	struct page *page;

	(void)migrating;
	if (page_list_empty(&cc->freepages) && !cc->contended)
		isolate_freepages(cc);
	page = page_list_pop(&cc->freepages);
	if (page) {
		cc->nr_migratepages -= 1;
		page->refcount = 1;
		page->index = 0;
	}
	return page;
}

static void compaction_free(struct page *page, void *arg)
{
	struct compact_control *cc = arg;

	page->refcount = 0;
	page_list_add(&cc->freepages, page);
	cc->nr_migratepages += 1;
}

/* What was taken and not needed goes back, and the scanner will find it again. */
static void release_freepages(struct compact_control *cc)
{
	struct zone *z = cc->zone;
	struct page *page;
	u64 high = 0;

	while ((page = page_list_pop(&cc->freepages))) {
		u64 pfn = page_to_pfn(z->machine, page);

		high = max(high, pfn);
		return_taken_page(z, page);
	}
	if (high) {
		high = min(ALIGN(high + 1, PAGEBLOCK_PAGES), zone_end_pfn(z));
		z->compact_free_pfn = max(z->compact_free_pfn, high);
	}
}

/* Is a block of the wanted order and type free, or one that may be claimed? */
static bool block_is_free(struct compact_control *cc)
{
	struct zone *z = cc->zone;

	for (unsigned int o = (unsigned int)cc->order; o < MAX_ORDER; o++) {
		struct free_area *area = &z->free_area[o];

		if (!page_list_empty(&area->list[cc->migratetype]))
			return true;
		if (compact_is_3_16(z) ? o >= PAGEBLOCK_ORDER && READ_ONCE(area->nr_free)
		                       : block_is_claimable(z, o, cc->migratetype))
			return true;
	}
	return false;
}

static enum compact_result compact_finished(struct compact_control *cc)
{
	struct zone *z = cc->zone;

	if (cc->contended)
		return COMPACT_CONTENDED;
	if (cc->migrate_pfn >= cc->free_pfn) {
		reset_cached_positions(z);
		/* Kswapd has the hints forgotten when it goes to sleep. */
		if (cc->whole_zone)
			z->compact_blockskip_flush = true;
		return cc->whole_zone ? COMPACT_COMPLETE : COMPACT_PARTIAL_SKIPPED;
	}
	if (cc->order < 0)
		return COMPACT_CONTINUE;
	/* 4.2: only whole blocks are looked at, since half a block helps nobody. */
	if (!compact_is_3_16(z) && cc->migrate_pfn & (PAGEBLOCK_PAGES - 1))
		return COMPACT_CONTINUE;
	if (compact_is_3_16(z) &&
	    !zone_watermark_ok(z, (unsigned int)cc->order, wmark(z, WMARK_LOW), cc->highest_zoneidx,
	                       cc->alloc_flags))
		return COMPACT_CONTINUE;
	return block_is_free(cc) ? COMPACT_SUCCESS : COMPACT_CONTINUE;
}

/* Freed pages may wait in per-CPU lists and batches, where they cannot merge. */
static void drain_migrated(struct machine *m, struct compact_control *cc)
{
	u64 block;

	if (cc->order <= 0 || !cc->last_migrated_pfn)
		return;
	block = ALIGN_DOWN(cc->migrate_pfn, 1UL << cc->order);
	if (cc->last_migrated_pfn >= block)
		return;
	lru_add_drain(m);
	drain_cpu_lists(m);
	cc->last_migrated_pfn = 0;
}

static void compact_start(struct compact_control *cc)
{
	struct zone *z = cc->zone;
	bool sync = cc->mode != MIGRATE_ASYNC;

	page_list_init(&cc->freepages, z->pgdat->mem_map);
	page_list_init(&cc->migratepages, z->pgdat->mem_map);
	/* After so many deferred ones a new attempt is to see all blocks again. */
	if (z->compact_defer_shift == COMPACT_MAX_DEFER_SHIFT &&
	    z->compact_considered >= 1U << z->compact_defer_shift && !cc->daemon)
		reset_isolation_suitable(z);
	cc->migrate_pfn = z->compact_migrate_pfn[sync];
	cc->free_pfn = z->compact_free_pfn;
	if (cc->free_pfn < z->zone_start_pfn || cc->free_pfn > zone_end_pfn(z) || !cc->free_pfn)
		cc->free_pfn = z->compact_free_pfn = zone_end_pfn(z);
	if (cc->migrate_pfn < z->zone_start_pfn || cc->migrate_pfn > zone_end_pfn(z)) {
		cc->migrate_pfn = z->zone_start_pfn;
		z->compact_migrate_pfn[0] = cc->migrate_pfn;
		z->compact_migrate_pfn[1] = cc->migrate_pfn;
	}
	cc->whole_zone = cc->migrate_pfn <= z->zone_start_pfn;
}

/* The scanners run until there is a result. compact_start() has been called. */
static enum compact_result compact_loop(struct machine *m, struct compact_control *cc)
{
	const struct migrate_target to = {compaction_alloc, compaction_free, cc};
	enum compact_result ret;

	while ((ret = compact_finished(cc)) == COMPACT_CONTINUE) {
		long err;

		if (!isolate_migratepages(cc)) {
			if (!cc->contended)
				cc->migrate_pfn = max(cc->migrate_pfn, cc->free_pfn);
			putback_movable_pages(m, &cc->migratepages);
			continue;
		}
		cc->nr_migratepages = cc->migratepages.nr;
		err = migrate_pages(m, &cc->migratepages, &to, cc->mode);
		putback_movable_pages(m, &cc->migratepages);
		if (err == -ENOMEM && cc->free_pfn > cc->migrate_pfn)
			return cc->contended ? COMPACT_CONTENDED : COMPACT_PARTIAL_SKIPPED;
		drain_migrated(m, cc);
	}
	return ret;
}

enum compact_result compact_zone(struct machine *m, struct compact_control *cc)
{
	struct zone *z = cc->zone;
	enum compact_result ret =
		compaction_suitable(z, cc->order, cc->alloc_flags, cc->highest_zoneidx);

	if (ret != COMPACT_CONTINUE)
		return ret;
	span_enter(SPAN_COMPACT);
	compact_start(cc);
	lru_add_drain(m);
	ret = compact_loop(m, cc);
	release_freepages(cc);
	span_exit();
	return ret;
}
