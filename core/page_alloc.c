/*
 * The page allocator's front: which zone a page comes from, and how pages come back.
 *
 * Linux mm/page_alloc.c. alloc_pages() walks the zonelist of the running
 * CPU's node and takes a page from the first zone that is above its low mark; what happens if there
 * is none is in alloc_slowpath.c. From 3.12 to 4.7 (knob alloc.zone_fair) a first pass has the zones
 * of a node take turns, in proportion to their size, so that pages age alike in all of them.
 *
 * This is the hottest path of the simulation: one order point per page, no span, no lock of its own.
 *
 * Left out: cpusets, the zonelist cache of NUMA machines before 4.5, bulk allocation, high-atomic pageblocks.
 */
#include "core/alloc_fast.h"
#include "core/writeback.h"

#include <stdio.h>

/* ---- requests -------------------------------------------------------------------------------------------- */

int gfp_zone(gfp_t gfp)
{
	return gfp_zone_table[gfp & 15];
}

/* ---- taking a page from a zone ------------------------------------------------------------------------------ */

/*
 * A NUMA event's byte is full. Before 4.14 these were items like others, with inc_zone_state()'s
 * rule; since then they are sums that nobody reads until they are printed.
 */
void __numa_fold(struct zone *z, struct stat_cpu *s, enum vm_item item)
{
	struct machine *m = z->machine;
	long overstep = s->threshold >> 1;

	if (m->knob.lru_per == LRU_PER_ZONE) {
		__stat_fold(m, &z->stat, item, s->diff[item] + overstep);
		s->diff[item] = (s8)-overstep;
	} else {
		atomic_long_add(s->diff[item], &z->stat.v[item]);
		atomic_long_add(s->diff[item], &m->vm_stat.v[item]);
		s->diff[item] = 0;
	}
}

/* One block from @z, whose marks allow it; NULL if there is no block of that size. */
static __always_inline struct page *rmqueue(struct machine *m, struct zone *preferred,
                                            struct zone *z, gfp_t gfp, unsigned int order,
                                            u32 alloc_flags)
{
	enum migratetype mt = gfp_migratetype(m, gfp);
	struct page *page;

	if (likely(pcp_allowed_order(m, order)))
		page = rmqueue_pcplist(m, z, order, mt, alloc_flags);
	else
		page = rmqueue_buddy(z, order, mt, alloc_flags);
	if (unlikely(!page))
		return NULL;
	count_zone_alloc(m, preferred, z, order, false);
	prep_new_page(m, z, page, gfp, order);
	/* 5.0: the marks have been raised, and kswapd need not find out by itself. */
	if (unlikely(z->flags & ZONE_BOOSTED_WATERMARK) && alloc_flags & ALLOC_KSWAPD) {
		z->flags &= ~(u32)ZONE_BOOSTED_WATERMARK;
		wakeup_kswapd(m, z, 0, z->type);
	}
	return page;
}

/* ---- the free-list pass ---------------------------------------------------------------------------------------- */

/* zone_watermark_ok() with a short cut for the usual request: one page, no access to reserves. */
static __always_inline bool zone_watermark_fast(struct zone *z, unsigned int order,
                                                unsigned long mark, int highest, u32 alloc_flags)
{
	long free;

	world_order();
	world_line_read(&z->stat.line);
	free = max(atomic_long_peek(&z->stat.v[NR_FREE_PAGES]), 0L);
	if (unlikely(free < z->estimate_mark))
		free = zone_nr_free_checked(z, free);
	if (likely(!order && free > (long)mark + z->lowmem_reserve[highest])) {
		charge(COST_WATERMARK);
		return true;
	}
	if (__zone_watermark_ok(z, order, mark, highest, alloc_flags, free))
		return true;
	/* 5.9: at the min mark an urgent request sees through the boost. */
	if (!order && alloc_flags & ALLOC_HIGH && z->watermark_boost &&
	    (alloc_flags & ALLOC_WMARK_MASK) == WMARK_MIN)
		return __zone_watermark_ok(z, order, z->_watermark[WMARK_MIN], highest, alloc_flags,
		                           free);
	return false;
}

/*
 * May @z give a page? 6.7: an allocation that finds the zone below its high mark says so, and
 * per-CPU lists shrink instead of growing.
 */
static __always_inline bool zone_allows(struct machine *m, struct zone *z, unsigned int order,
                                        int highest, u32 alloc_flags)
{
	if (alloc_flags & ALLOC_NO_WATERMARKS)
		return true;
	if (pcp_is_auto(m) && !(z->flags & ZONE_BELOW_HIGH)) {
		if (zone_watermark_fast(z, order, wmark(z, WMARK_HIGH), highest, alloc_flags))
			return true;
		z->flags |= ZONE_BELOW_HIGH;
	}
	return zone_watermark_fast(z, order, wmark(z, alloc_flags & ALLOC_WMARK_MASK), highest,
	                           alloc_flags);
}

/* A new round of turns for the preferred zone and those below it. */
static void reset_alloc_batches(struct zone *preferred)
{
	for (struct zone *z = preferred->pgdat->zone; z <= preferred; z++) {
		long batch = (long)(z->_watermark[WMARK_HIGH] - z->_watermark[WMARK_LOW]);

		if (!managed_zone(z))
			continue;
		mod_zone_state(z, NR_ALLOC_BATCH,
		               batch - atomic_long_read(&z->stat.v[NR_ALLOC_BATCH]));
		z->flags &= ~(u32)ZONE_FAIR_DEPLETED;
	}
}

/*
 * Gives up one rule for the next pass: first that of turns, which also keeps to the node, then that
 * of unmixed blocks. @skipped: a zone had used up its turn. False: there is no next pass.
 */
static bool relax_alloc_flags(const struct machine *m, struct zone *preferred, bool skipped,
                              u32 *alloc_flags)
{
	if (*alloc_flags & ALLOC_FAIR) {
		*alloc_flags &= ~ALLOC_FAIR;
		if (skipped)
			reset_alloc_batches(preferred);
		return skipped || m->nr_nodes > 1;
	}
	if (*alloc_flags & ALLOC_NOFRAGMENT) {
		*alloc_flags &= ~ALLOC_NOFRAGMENT;
		return true;
	}
	return false;
}

struct page *get_page_from_freelist(struct machine *m, gfp_t gfp, unsigned int order,
                                    u32 alloc_flags)
{
	const struct pglist_data *pgdat = policy_node(m);
	u32 nr = gfp & __GFP_THISNODE ? pgdat->nr_local_zones : pgdat->nr_zonelist;
	int highest = gfp_zone(gfp);
	struct zone *preferred;
	bool skipped;

again:
	preferred = NULL;
	skipped = false;
	for (u32 i = 0; i < nr; i++) {
		struct zone *z = pgdat->zonelist[i];
		struct page *page;

		if (z->type > (u32)highest || !policy_allows(m, z))
			continue;
		if (!preferred) {
			preferred = z;
			if (reserves_by_preferred(m))
				highest = z->type;
		}
		if (unlikely(z->pgdat != preferred->pgdat)) {
			if (alloc_flags & ALLOC_FAIR)
				break;
			/* Better a mixed block here than a clean one elsewhere. */
			if (alloc_flags & ALLOC_NOFRAGMENT)
				break;
		}
		if (alloc_flags & ALLOC_FAIR && z->flags & ZONE_FAIR_DEPLETED) {
			skipped = true;
			continue;
		}
		if (unlikely(alloc_flags & ALLOC_SPREAD_DIRTY) && !node_dirty_ok(m, z))
			continue;
		if (!zone_allows(m, z, order, highest, alloc_flags) &&
		    (likely(!m->zone_reclaim_mode) || !node_reclaim(m, z, gfp, order) ||
		     !zone_allows(m, z, order, highest, alloc_flags)))
			continue;
		page = rmqueue(m, preferred, z, gfp, order, alloc_flags);
		if (likely(page))
			return page;
	}
	if (preferred && relax_alloc_flags(m, preferred, skipped, &alloc_flags))
		goto again;
	return NULL;
}

/* ---- alloc_pages --------------------------------------------------------------------------------------------------- */

/*
 * How the fast path goes about it. 5.0: on a node with something below Normal, Normal's pageblocks
 * are not to be mixed while other zones have unmixed ones.
 */
static __always_inline u32 fast_alloc_flags(struct machine *m, gfp_t gfp)
{
	u32 alloc_flags = WMARK_LOW;
	struct zone *z;

	if (gfp & __GFP_KSWAPD_RECLAIM)
		alloc_flags |= ALLOC_KSWAPD;
	if (gfp & __GFP_WRITE && m->knob.dirty_spread)
		alloc_flags |= ALLOC_SPREAD_DIRTY;
	if (m->knob.zone_fair)
		return alloc_flags | ALLOC_FAIR;
	z = this_node(m)->nr_local_zones ? this_node(m)->zonelist[0] : NULL;
	if (lists_follow_blocks(m) && z && z->type == ZONE_NORMAL && gfp_zone(gfp) >= ZONE_NORMAL &&
	    (m->nr_nodes == 1 || populated_zone(z - 1)))
		alloc_flags |= ALLOC_NOFRAGMENT;
	return alloc_flags;
}

static noinline struct page *alloc_pages_slow(struct machine *m, gfp_t gfp, unsigned int order)
{
	u64 since = world_now();
	struct page *page;

	/* With interrupts off there is no reclaim: it would sleep. */
	if (world_self->irq_off)
		gfp &= ~__GFP_DIRECT_RECLAIM;
	span_enter(SPAN_ALLOC);
	page = m->slowpath(m, gfp, order);
	span_exit();
	world_latency(HIST_ALLOC_SLOW, since);
	return page;
}

static noinline struct page *alloc_pages_general(struct machine *m, gfp_t gfp, unsigned int order)
{
	struct page *page;

	charge2(COST_ALLOC, COST_PAGE_LINE);
	if (unlikely(order >= MAX_ORDER))
		return NULL;
	if (unlikely(world_should_fail(m->world, WORLD_FAIL_PAGE_ALLOC)) && !(gfp & __GFP_NOFAIL))
		return NULL;
	page = get_page_from_freelist(m, gfp, order, fast_alloc_flags(m, gfp));
	if (unlikely(!page))
		page = alloc_pages_slow(m, gfp, order);
	return page;
}

struct page *alloc_pages(struct machine *m, gfp_t gfp, unsigned int order)
{
	if (unlikely(m->nr_mempolicies))
		return alloc_pages_task_policy(m, gfp, order);
	return alloc_pages_nopolicy(m, gfp, order);
}

/* Boot: how long a page from a per-CPU list takes at most, with every line far away and all counters folded. */
void alloc_init(struct machine *m)
{
	const u32 *cost = m->world->hw->cost_ns;
	u32 nr = nr_alloc_counters(m);

	m->alloc_ns_max = cost[COST_ALLOC] + cost[COST_WATERMARK] + cost[COST_PCP] +
	                  cost[COST_PAGE_LINE] + nr * cost[COST_VMSTAT] +
	                  2 * nr * cost[COST_ATOMIC] + (2 * nr + 2) * cost[COST_LINE_REMOTE];
}

/* A single page, if it is easy; NULL: the general way must be gone. */
static inline struct page *alloc_single(struct machine *m, gfp_t gfp)
{
	struct page *page;
	struct easy_alloc e;
	u32 late;

	if (!alloc_is_easy(m, gfp, true, &e))
		return NULL;
	charge_alloc_fast(nr_alloc_counters(m));
	page = alloc_page_easy(m, &e, gfp, false, &late);
	if (likely(page))
		charge_ns(late);
	return page;
}

struct page *alloc_pages_nopolicy(struct machine *m, gfp_t gfp, unsigned int order)
{
	struct page *page = order ? NULL : alloc_single(m, gfp);
	u64 pfn;

	if (!page)
		page = alloc_pages_general(m, gfp, order);
	if (unlikely(!page))
		return NULL;
	pfn = page_to_pfn(m, page);
	if (gfp & __GFP_ZERO)
		for (unsigned long i = 0; i < 1UL << order; i++)
			world_frame_clear(pfn + i);
	world_trace(EVENT_ALLOC, pfn, order);
	return page;
}

struct page *alloc_zeroed_user_page_slow(struct machine *m)
{
	struct page *page = alloc_pages_general(m, GFP_HIGHUSER_MOVABLE, 0);

	if (unlikely(!page))
		return NULL;
	__world_frame_clear(page_to_pfn(m, page));
	world_trace(EVENT_ALLOC, page_to_pfn(m, page), 0);
	return page;
}

struct page *alloc_zeroed_user_page(struct machine *m, u32 *late)
{
	struct page *page = NULL;
	struct easy_alloc e;

	*late = 0;
	charge(COST_PAGE_CLEAR);
	if (alloc_is_easy(m, GFP_HIGHUSER_MOVABLE, false, &e)) {
		charge_alloc_fast(nr_alloc_counters(m));
		page = alloc_page_easy(m, &e, GFP_HIGHUSER_MOVABLE, false, late);
	}
	if (unlikely(!page))
		return alloc_zeroed_user_page_slow(m);
	__world_frame_clear(page_to_pfn(m, page));
	world_trace(EVENT_ALLOC, page_to_pfn(m, page), 0);
	return page;
}

/* ---- freeing --------------------------------------------------------------------------------------------------------- */

void dump_page(const struct machine *m, const struct page *page, const char *why)
{
	static const char *const names[NR_PAGEFLAGS] = {
		[PG_locked] = "locked",
		[PG_referenced] = "referenced",
		[PG_uptodate] = "uptodate",
		[PG_dirty] = "dirty",
		[PG_lru] = "lru",
		[PG_active] = "active",
		[PG_unevictable] = "unevictable",
		[PG_swapbacked] = "swapbacked",
		[PG_swapcache] = "swapcache",
		[PG_writeback] = "writeback",
		[PG_reclaim] = "reclaim",
		[PG_workingset] = "workingset",
		[PG_waiters] = "waiters",
		[PG_reserved] = "reserved",
		[PG_buddy] = "buddy",
		[PG_table] = "table",
		[PG_slab] = "slab",
		[PG_zsmalloc] = "zsmalloc",
		[PG_isolated] = "isolated",
		[PG_compound] = "compound",
		[PG_mlocked] = "mlocked",
	};

	fprintf(stderr, "page 0x%lx: refcount %d mapcount %d mapping 0x%x index 0x%lx, %s\n",
	        page_to_pfn(m, page), page->refcount, page->mapcount, page->mapping, page->index,
	        why);
	fprintf(stderr, "  node %u zone %u flags:", page_nid(page), page_zonenum(page));
	for (int f = 0; f < NR_PAGEFLAGS; f++)
		if (page_test(page, (enum pageflags)f))
			fprintf(stderr, " %s", names[f]);
	fprintf(stderr, "\n");
}

/* Freed while mlocked: truncated, or its last mapping went while a batch had the news. */
static void free_page_mlock(struct machine *m, struct page *page, long nr)
{
	page_clear(page, PG_mlocked);
	mod_zone_state(page_zone(m, page), NR_MLOCK, -nr);
	count_vm_event(m, UNEVICTABLE_PGCLEARED);
}

/* A page that is freed mlocked is only unusual. */
static noinline __cold void bad_page(struct machine *m, struct page *page)
{
	if (page_test(page, PG_mlocked))
		free_page_mlock(m, page, 1);
	if (!(page->flags & PAGE_FLAGS_CHECK_AT_FREE) && !page->refcount && !page->mapcount)
		return;

	const char *why = page->refcount                           ? "nonzero refcount"
	                  : page->mapcount                         ? "still mapped"
	                  : page->flags & PAGE_FLAGS_CHECK_AT_FREE ? "flags set that must not be"
	                                                           : "mapping set";

	dump_page(m, page, why);
	panic("bad page 0x%lx freed: %s", page_to_pfn(m, page), why);
}

/* Checks that nobody needs @p any more, and makes it blank. */
static __always_inline void page_prepare(struct machine *m, struct page *p)
{
	if (unlikely((p->flags & PAGE_FLAGS_CHECK_AT_FREE) || (p->refcount | p->mapcount)))
		bad_page(m, p);
	p->flags &= ~PAGE_FLAGS_MASK;
	p->mapping = 0;
}

/*
 * The same for those of an order. They are counted, PGFREE, where they come to a list, by who has its lock: so
 * that the count is exact whenever somebody looks.
 */
static __always_inline void free_pages_prepare(struct machine *m, struct page *page,
                                               unsigned int order)
{
	u64 pfn = page_to_pfn(m, page);

	for (unsigned long i = 0; i < 1UL << order; i++) {
		page_prepare(m, page + i);
		world_frame_free(pfn + i);
	}
	world_trace(EVENT_FREE, pfn, order);
}

/*
 * To a list of 4.0's kind that has room, which is the running CPU's alone: no lock, and since there
 * is no order point, no interrupt to keep out. False: the general way must decide.
 */
static __always_inline bool free_pcp_fast(struct machine *m, struct page *page)
{
	struct zone *z = page_zone(m, page);
	struct per_cpu_pages *pcp = z->pcp[world_self->id];
	enum migratetype mt;

	if (pcp_is_auto(m) || unlikely(!pcp || pcp->count + 1 >= pcp->high))
		return false;
	mt = get_pageblock_migratetype(z, page_to_pfn(m, page));
	page->index = mt;
	page_list_add(&pcp->list[mt], page);
	pcp->count += 1;
	charge(COST_PCP);
	count_vm_event(m, PGFREE);
	return true;
}

void free_unref_page(struct machine *m, struct page *page)
{
	free_pages_prepare(m, page, 0);
	if (!free_pcp_fast(m, page))
		free_pcp_page(m, page_zone(m, page), page, 0, false);
}

static void free_page_list(struct machine *m, struct page_list *list, bool cold)
{
	struct page *page;

	if (!pcp_is_auto(m) && !cold) {
		while ((page = page_list_pop(list))) {
			free_pages_prepare(m, page, 0);
			if (!free_pcp_fast(m, page))
				free_pcp_page(m, page_zone(m, page), page, 0, false);
		}
		return;
	}
	for (u32 link = list->first; link; link = page_link(list, link)->lru_next)
		free_pages_prepare(m, page_link(list, link), 0);
	free_pcp_list(m, list, cold);
}

/* @nr single pages have been added to the list, and are not yet charged or counted. */
static void free_pages_count(struct machine *m, struct per_cpu_pages *pcp, u32 nr)
{
	if (!nr)
		return;
	pcp->count += (s32)nr;
	charge_n(COST_PCP, nr);
	count_vm_events(m, PGFREE, nr);
}

/*
 * The last of @pages, and those before it that are of its zone and whose pageblocks have the type of its own, at
 * most @max, to the list of that type, and blank. Returns how many.
 */
static u32 free_type_run(struct machine *m, struct zone *z, struct per_cpu_pages *pcp,
                         struct page **pages, u32 nr, u32 max)
{
	u64 pfn = page_to_pfn(m, pages[nr - 1]);
	u64 block = pfn / PAGEBLOCK_PAGES;
	u32 zone_flags = z->page_flags;
	enum migratetype mt = get_pageblock_migratetype(z, pfn);
	struct page_list_adding adding = page_list_adding(&pcp->list[mt]);
	bool watched = m->world->check || m->world->tracing;

	max = min(max, nr);
	while (adding.nr < max) {
		struct page *page = pages[nr - 1 - adding.nr];

		if ((page->flags & ~PAGE_FLAGS_MASK) != zone_flags)
			break;
		pfn = page_to_pfn(m, page);
		if (pfn / PAGEBLOCK_PAGES != block) {
			if (get_pageblock_migratetype(z, pfn) != mt)
				break;
			block = pfn / PAGEBLOCK_PAGES;
		}
		if (unlikely(watched))
			free_pages_prepare(m, page, 0);
		else
			page_prepare(m, page);
		page->index = mt;
		page_list_add_next(&adding, page);
	}
	page_list_added(&adding);
	return (u32)adding.nr;
}

/*
 * To 4.0's lists, checked first: free_pcp_fast() for many, the charge and the look-ups once for a run
 * of pages of a zone, or of a type.
 */
static void free_pages_fixed(struct machine *m, struct page **pages, u32 nr)
{
	struct per_cpu_pages *pcp = NULL;
	struct zone *z = NULL;
	u32 nr_given = 0;

	while (nr) {
		struct page *page = pages[nr - 1];
		u32 n;

		if (unlikely(page_zone(m, page) != z)) {
			free_pages_count(m, pcp, nr_given);
			nr_given = 0;
			z = page_zone(m, page);
			pcp = zone_pcp(z);
		}
		if (unlikely(pcp->count + (s32)nr_given + 1 >= pcp->high)) {
			free_pages_prepare(m, page, 0);
			free_pages_count(m, pcp, nr_given);
			nr_given = 0;
			free_pcp_page(m, z, page, 0, false);
			nr -= 1;
			continue;
		}
		n = free_type_run(m, z, pcp, pages, nr,
		                  (u32)(pcp->high - pcp->count - 1) - nr_given);
		nr_given += n;
		nr -= n;
	}
	free_pages_count(m, pcp, nr_given);
}

void free_unref_pages(struct machine *m, struct page **pages, u32 nr)
{
	if (!pcp_is_auto(m)) {
		free_pages_fixed(m, pages, nr);
		return;
	}
	for (u32 i = nr; i--;)
		free_pages_prepare(m, pages[i], 0);
	free_pcp_pages(m, pages, nr);
}

void free_unref_page_list(struct machine *m, struct page_list *list)
{
	free_page_list(m, list, false);
}

void free_cold_page_list(struct machine *m, struct page_list *list)
{
	free_page_list(m, list, true);
}

void free_compound_page(struct machine *m, struct page *head)
{
	unsigned int order = head[1].compound_order;
	struct zone *z = page_zone(m, head);
	u64 pfn = page_to_pfn(m, head);

	destroy_compound_page(z, head);
	if (unlikely((head->flags & PAGE_FLAGS_CHECK_AT_FREE) || head->refcount ||
	             head->mapcount)) {
		if (page_test(head, PG_mlocked))
			free_page_mlock(m, head, 1L << order);
		bad_page(m, head);
	}
	head->flags &= ~PAGE_FLAGS_MASK;
	head->mapping = 0;
	for (u64 i = 0; unlikely(m->world->check) && i < 1UL << order; i++)
		world_frame_free(pfn + i);
	world_trace(EVENT_FREE, pfn, order);
	if (pcp_allowed_order(m, order))
		free_pcp_page(m, z, head, order, false);
	else
		free_one_page(z, head, order);
}

static noinline void free_pages_of_order(struct machine *m, struct page *page, unsigned int order)
{
	free_pages_prepare(m, page, order);
	if (pcp_allowed_order(m, order))
		free_pcp_page(m, page_zone(m, page), page, order, false);
	else
		free_one_page(page_zone(m, page), page, order);
}

void __free_pages(struct machine *m, struct page *page, unsigned int order)
{
	world_order();
	VM_BUG_ON(page->refcount <= 0);
	charge(COST_PAGE_FLAG);
	if (--page->refcount)
		return;
	if (unlikely(order)) {
		free_pages_of_order(m, page, order);
		return;
	}
	free_pages_prepare(m, page, 0);
	if (free_pcp_fast(m, page))
		world_irq_point();
	else
		free_pcp_page(m, page_zone(m, page), page, 0, false);
}

/* ---- counts and audit -------------------------------------------------------------------------------------------------- */

unsigned long nr_free_pages(struct machine *m)
{
	world_order();
	world_line_read(&m->vm_stat.line);
	return global_page_state(m, NR_FREE_PAGES);
}

/* The counter is the truth, all differences included; and pages in per-CPU lists are not in it. */
static void zone_audit(struct machine *m, struct zone *z)
{
	unsigned long nr_free = buddy_count_free(z);

	buddy_audit(z);
	pcp_audit(z);
	VM_BUG_ON_MSG((long)nr_free != stat_exact(m, &z->stat, NR_FREE_PAGES),
	              "node %u zone %s: %lu pages are free, nr_free_pages says %ld",
	              z->pgdat->node_id, z->name, nr_free, stat_exact(m, &z->stat, NR_FREE_PAGES));
	VM_BUG_ON(nr_free + pcp_count_pages(z) > z->managed_pages);
	VM_BUG_ON((long)nr_free != z->nr_free);
	free_estimate_audit(z);
}

void page_alloc_audit(struct machine *m)
{
	struct pglist_data *pgdat;
	struct zone *z;

	for_each_populated_zone (m, pgdat, z)
		zone_audit(m, z);
}
