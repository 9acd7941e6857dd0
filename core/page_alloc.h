/*
 * What the page allocator's files share: page_alloc.c, buddy.c, pcp.c, watermark.c, mmzone.c.
 *
 * The order of calls: page_alloc.c asks watermark.c whether a zone may be used, takes a page from
 * pcp.c, which fetches and returns batches from buddy.c under zone->lock.
 */
#ifndef CORE_PAGE_ALLOC_H
#define CORE_PAGE_ALLOC_H

#include "core/internal.h"

/* Which of its two forms a per-CPU list has: pcp.c's subject, but its neighbours must ask. */
static inline bool pcp_is_auto(const struct machine *m)
{
	return m->knob.pcp == PCP_AUTO;
}

/* Since 6.10 a free block is on the list of its pageblock's type, and counted when it is moved. */
static inline bool lists_follow_blocks(const struct machine *m)
{
	return m->knob.fallback == FALLBACK_6_18;
}

/* The lists that a request is served from. */
static inline enum migratetype gfp_migratetype(const struct machine *m, gfp_t gfp)
{
	if (unlikely(m->page_group_by_mobility_disabled))
		return MIGRATE_UNMOVABLE;
	if (gfp & __GFP_MOVABLE)
		return MIGRATE_MOVABLE;
	return gfp & __GFP_RECLAIMABLE ? MIGRATE_RECLAIMABLE : MIGRATE_UNMOVABLE;
}

/* ---- mmzone.c ------------------------------------------------------------------------------- */

/* Which of the zone's pageblocks @pfn is in, from 0. */
static inline u64 pageblock_nr(const struct zone *z, u64 pfn)
{
	return (pfn >> PAGEBLOCK_ORDER) - (z->zone_start_pfn >> PAGEBLOCK_ORDER);
}

/*
 * The migrate type of the pageblock of @pfn. Blocks are kept relative to MOVABLE, with which all
 * begin, so that an array nobody has written to needs no host memory.
 */
static inline enum migratetype get_pageblock_migratetype(const struct zone *z, u64 pfn)
{
	return (enum migratetype)(z->pageblock_type[pageblock_nr(z, pfn)] ^ MIGRATE_MOVABLE);
}

/* Where types are not kept apart, all blocks stay UNMOVABLE. */
static inline void set_pageblock_migratetype(struct zone *z, u64 pfn, enum migratetype mt)
{
	if (likely(!z->machine->page_group_by_mobility_disabled))
		z->pageblock_type[pageblock_nr(z, pfn)] = (u8)(mt ^ MIGRATE_MOVABLE);
}

/*
 * How large a zone is to formulas: to 3.8 all that is present but the page descriptors, then what
 * the allocator was given at boot.
 */
static inline unsigned long zone_size(const struct zone *z)
{
	return z->machine->knob.watermark_pages == WMARK_PAGES_PRESENT
	               ? z->present_pages - z->memmap_pages
	               : z->managed_pages;
}

/* One past the last pfn of the zone. */
static inline u64 zone_end_pfn(const struct zone *z)
{
	return z->zone_start_pfn + z->spanned_pages;
}

/* The type that never-used memory has. */
static inline enum migratetype fresh_type(const struct machine *m)
{
	return m->page_group_by_mobility_disabled ? MIGRATE_UNMOVABLE : MIGRATE_MOVABLE;
}

static inline bool zone_has_fresh(const struct zone *z)
{
	return z->fresh_next < z->nr_fresh;
}

/* ---- free_estimate.c -------------------------------------------------------------------------- */

/* Up to 2.6.37 what a watermark test goes by: the cheap value, unless it may hide a shortage. */
long zone_nr_free_pages(struct zone *z);
/* The same, when the cheap value @free has been read and is below z->estimate_mark. */
long zone_nr_free_checked(struct zone *z, long free);
/* Mail 004: pages that the min mark is raised by, for what the counters of all CPUs may hide. */
unsigned long zone_drift_reserve(const struct zone *z);
/* The mail's patch as it was posted, on marks and drift marks that have been set. */
void setup_wmarks_as_posted(struct machine *m, unsigned long pages_min, unsigned long lowmem);
/* What the policy makes of the drift marks that have been set. */
void setup_free_estimate(struct machine *m);
void note_min_breach(struct zone *z);
void free_estimate_audit(const struct zone *z);

/* @nr pages have left the free lists, and NR_FREE_PAGES knows. zone->lock held. */
static inline void zone_free_taken(struct zone *z, long nr)
{
	z->nr_free -= nr;
	if (unlikely(z->nr_free < z->min_unreserved))
		note_min_breach(z);
}

/* ---- node_reclaim.c --------------------------------------------------------------------------- */

void node_reclaim_init(struct machine *m);
bool node_reclaim(struct machine *m, struct zone *z, gfp_t gfp, unsigned int order);

/* ---- watermark.c ----------------------------------------------------------------------------- */

/* The test itself, on a number of free pages the caller has read. */
bool __zone_watermark_ok(struct zone *z, unsigned int order, unsigned long mark,
                         int highest_zoneidx, u32 alloc_flags, long free);

/* The marks of @z for its share of @pages_min. */
void zone_set_marks(struct zone *z, unsigned long pages_min, unsigned long lowmem);

/* The sizes of per-CPU lists; called by setup_per_zone_wmarks(). */
void zone_set_pageset_sizes(struct machine *m, struct zone *z); /* pcp.c */

/* An allocation has taken part of a block of another type. zone->lock held. */
void boost_watermark(struct zone *z, u32 alloc_flags);

/*
 * Something is freed to @z, so that it is not hopeless: reclaim counts anew (3.12 to 4.7, zone_reclaimable();
 * later kswapd counts its failures instead, and NR_PAGES_SCANNED stays 0). zone->lock held.
 */
static inline void zone_reset_scanned(struct zone *z)
{
	long nr = atomic_long_peek(&z->stat.v[NR_PAGES_SCANNED]);

	if (nr > 0)
		mod_zone_state(z, NR_PAGES_SCANNED, -nr);
}

/* ---- buddy.c ---------------------------------------------------------------------------------- */

/* Order and list of a free block, kept in the index of its first page. */
static inline unsigned int buddy_order(const struct page *p)
{
	return p->index & 0xff;
}

static inline enum migratetype buddy_type(const struct page *p)
{
	return (enum migratetype)(p->index >> 8);
}

/* One block; NULL if there is none. zone->lock held; NR_FREE_PAGES is the caller's. */
struct page *__rmqueue(struct zone *z, unsigned int order, enum migratetype mt, u32 alloc_flags);

/* Gives a block back, merged as far as can be. zone->lock held; NR_FREE_PAGES is the caller's. */
void __free_one_page(struct zone *z, u64 pfn, unsigned int order, enum migratetype mt);

/* The same, for the caller to charge: returns how many merges it took. */
u32 free_block(struct zone *z, u64 pfn, unsigned int order, enum migratetype mt);
static inline void charge_free_blocks(u32 nr, u32 nr_merges)
{
	charge_n(COST_BUDDY, nr);
	charge_n(COST_BUDDY_STEP, nr_merges);
}

/* So for @nr single pages in a row, from the first or (not @upwards) from the last one on. */
u32 free_run(struct zone *z, u64 pfn, u32 nr, bool upwards, enum migratetype mt);

/* Up to @count blocks to the tail of @list, in one hold of zone->lock. Returns how many. */
u32 rmqueue_bulk(struct zone *z, unsigned int order, u32 count, struct page_list *list,
                 enum migratetype mt, u32 alloc_flags);

/* A single block under zone->lock, past the per-CPU lists. */
struct page *rmqueue_buddy(struct zone *z, unsigned int order, enum migratetype mt,
                           u32 alloc_flags);
void free_one_page(struct zone *z, struct page *page, unsigned int order); /* counts PGFREE */
/* What take_buddy() took: nobody has counted that. */
void return_taken_page(struct zone *z, struct page *page);

/* Boot: the frames [@start, @end) are free; whole order-10 blocks of them stay untouched. */
void free_boot_range(struct zone *z, u64 start, u64 end);

/* Is @pfn in a block of the largest order that was never used, and is on no list? */
bool pfn_is_fresh(const struct zone *z, u64 pfn);
/* Compaction takes the free block @p off its list: NR_FREE_PAGES is told. zone->lock held. */
void take_buddy(struct zone *z, struct page *p);
bool block_is_claimable(struct zone *z, unsigned int order, enum migratetype start);

unsigned long buddy_count_free(const struct zone *z); /* pages, by walking; for audits */
void buddy_audit(struct zone *z);

/* ---- pcp.c ------------------------------------------------------------------------------------- */

/* Flags of struct per_cpu_pages. */
#define PCPF_PREV_FREE_HIGH_ORDER 1

/* Is an @order that is kept on per-CPU lists? */
static inline bool pcp_allowed_order(const struct machine *m, unsigned int order)
{
	return !order || (pcp_is_auto(m) && order < NR_PCP_ORDERS);
}

/* The first page of @list, which has one. */
static __always_inline struct page *pcp_pop(struct per_cpu_pages *pcp, struct page_list *list,
                                            unsigned int order)
{
	struct page *page = page_list_pop(list);

	pcp->free_count >>= 1; /* 6.7: fewer pages are freed in a row */
	pcp->count -= 1 << order;
	/* The next one after that: popping it will write to its neighbour. */
	__builtin_prefetch(&list->base[list->first + 1], 1);
	return page;
}

/*
 * 6.18's lock of the running CPU's list, which must be at hand: @nr times taken and given back, now the last
 * time but for @ns. Its costs are pcp_lock_ns(); the caller spends them.
 */
static __always_inline void pcp_locked(struct per_cpu_pages *pcp, u64 ns, u32 nr)
{
	struct world_cpu *c = world_self;

	c->irq_off += 1; /* so that the books of the lock see how it is taken */
	__spins_held(c, &pcp->lock, c->clock - ns, c->cost[COST_SPIN], nr);
	c->irq_off -= 1;
	c->cost_count[COST_LINE_OWN] += nr;
	c->cost_count[COST_SPIN] += 2 * nr;
}

static __always_inline u64 pcp_lock_ns(const struct world_cpu *c)
{
	return c->cost[COST_LINE_OWN] + 2 * c->cost[COST_SPIN];
}

/* Those that free count PGFREE. */
struct page *rmqueue_pcplist(struct machine *m, struct zone *z, unsigned int order,
                             enum migratetype mt, u32 alloc_flags);
void free_pcp_page(struct machine *m, struct zone *z, struct page *page, unsigned int order,
                   bool cold);
void free_pcp_list(struct machine *m, struct page_list *list, bool cold);
/* The last one first. */
void free_pcp_pages(struct machine *m, struct page **pages, u32 nr);

/* 6.7: the list gives back what its CPU did not need lately. Pages still to go: true. */
bool decay_pcp_high(struct machine *m, struct zone *z, struct per_cpu_pages *pcp);
void drain_cpu_lists(struct machine *m);             /* the running CPU's, all zones */
unsigned long pcp_count_pages(const struct zone *z); /* all CPUs, by walking; for audits */
void pcp_audit(struct zone *z);

/* ---- page_alloc.c ------------------------------------------------------------------------------ */

/* The page and what is known of it, for a report. */
void dump_page(const struct machine *m, const struct page *page, const char *why);

/* The form that alloc.slowpath names. */
typedef struct page *slowpath_fn(struct machine *m, gfp_t gfp, unsigned int order);
slowpath_fn *choose_slowpath(const struct machine *m);

/* Until 4.6 reserves were kept by the zone preferred, not the highest. */
static inline bool reserves_by_preferred(const struct machine *m)
{
	return m->knob.slowpath != SLOWPATH_6_18;
}

struct page *slowpath_2_6_36(struct machine *m, gfp_t gfp, unsigned int order);
struct page *slowpath_3_0(struct machine *m, gfp_t gfp, unsigned int order);
struct page *slowpath_3_19(struct machine *m, gfp_t gfp, unsigned int order);
struct page *slowpath_6_18(struct machine *m, gfp_t gfp, unsigned int order);

#endif
