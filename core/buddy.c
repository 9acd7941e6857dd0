/*
 * The buddy allocator of a zone: free blocks of 2^order pages, split on demand and merged when freed.
 *
 * Linux mm/page_alloc.c. Free blocks are listed by order and migrate type. A block
 * whose type has run out falls back on another's (knob alloc.fallback): 4.0 splits the largest block
 * it finds and keeps the rest; 6.18 claims a large block's pageblock if it is mostly free or alike,
 * and otherwise steals the smallest block that does, leaving the rest where it was.
 *
 * Only the head of a free block has a meaningful struct page. Blocks never used so far are not on
 * the lists: they are carved from the zone's fresh ranges, in ascending order, as if they stood at
 * the end of the list of their order, and nobody's neighbour needs to look at them, since a block
 * of the largest order merges with nothing.
 *
 * Locks: everything here but rmqueue_bulk(), rmqueue_buddy(), free_one_page() and the boot runs
 * under zone->lock with interrupts off.
 */
#include "core/page_alloc.h"

/* ---- lists ------------------------------------------------------------------------------------------ */

static struct page_list *free_list(struct zone *z, unsigned int order, enum migratetype mt)
{
	return &z->free_area[order].list[mt];
}

static __always_inline void add_to_free_list(struct zone *z, struct page *p, unsigned int order,
                                             enum migratetype mt, bool tail)
{
	p->flags = z->page_flags | 1u << PG_buddy;
	p->index = (u64)mt << 8 | order;
	if (tail)
		page_list_add_tail(free_list(z, order, mt), p);
	else
		page_list_add(free_list(z, order, mt), p);
	z->free_area[order].nr_free += 1;
}

/* @p is of @order, as its index says. */
static __always_inline void del_block_of_order(struct zone *z, struct page *p, unsigned int order)
{
	page_list_del(free_list(z, order, buddy_type(p)), p);
	page_clear(p, PG_buddy);
	z->free_area[order].nr_free -= 1;
}

static void del_from_free_list(struct zone *z, struct page *p)
{
	del_block_of_order(z, p, buddy_order(p));
}

/* The next block of the fresh ranges. */
static struct page *carve_fresh(struct zone *z)
{
	struct fresh_range *range = &z->fresh[z->fresh_next];
	struct page *p = pfn_to_page(z->machine, range->start_pfn);

	range->start_pfn += 1UL << (MAX_ORDER - 1);
	if (range->start_pfn == range->end_pfn)
		z->fresh_next += 1;
	z->free_area[MAX_ORDER - 1].nr_free -= 1;
	p->flags = z->page_flags;
	return p;
}

static bool has_free_block(struct zone *z, unsigned int order, enum migratetype mt)
{
	if (!page_list_empty(free_list(z, order, mt)))
		return true;
	return order == MAX_ORDER - 1 && zone_has_fresh(z) && mt == fresh_type(z->machine);
}

/* Takes the first block of a list; there is one. */
static inline struct page *take_free_block(struct zone *z, unsigned int order, enum migratetype mt)
{
	struct page *p = page_list_first(free_list(z, order, mt));

	if (unlikely(!p))
		return carve_fresh(z);
	del_block_of_order(z, p, order);
	return p;
}

/*
 * Halves a block of order @high down to @low. Upper halves go to the heads of their lists, so that
 * what is taken from a large block comes in ascending order.
 */
static void expand(struct zone *z, struct page *p, unsigned int low, unsigned int high,
                   enum migratetype mt)
{
	charge_n(COST_BUDDY_STEP, high - low);
	while (high > low) {
		high -= 1;
		add_to_free_list(z, p + (1UL << high), high, mt, false);
	}
}

static struct page *__rmqueue_smallest(struct zone *z, unsigned int order, enum migratetype mt)
{
	for (unsigned int o = order; o < MAX_ORDER; o++) {
		if (!has_free_block(z, o, mt))
			continue;

		struct page *p = take_free_block(z, o, mt);

		expand(z, p, order, o, mt);
		return p;
	}
	return NULL;
}

/* ---- fallback between migrate types ------------------------------------------------------------------- */

static const u8 fallbacks[MIGRATE_TYPES][2] = {
	[MIGRATE_UNMOVABLE] = {MIGRATE_RECLAIMABLE, MIGRATE_MOVABLE},
	[MIGRATE_MOVABLE] = {MIGRATE_RECLAIMABLE, MIGRATE_UNMOVABLE},
	[MIGRATE_RECLAIMABLE] = {MIGRATE_UNMOVABLE, MIGRATE_MOVABLE},
};

/* Which other type has a block of @order? -1: none. */
static int find_fallback(struct zone *z, unsigned int order, enum migratetype start)
{
	for (u32 i = 0; i < ARRAY_SIZE(fallbacks[start]); i++)
		if (has_free_block(z, order, (enum migratetype)fallbacks[start][i]))
			return fallbacks[start][i];
	return -1;
}

/* May a request of type @start have the rest of the pageblock too? Kernel pages pollute; they may. */
static bool may_claim(const struct zone *z, unsigned int order, enum migratetype start)
{
	return order >= PAGEBLOCK_ORDER / 2 || start != MIGRATE_MOVABLE ||
	       z->machine->page_group_by_mobility_disabled;
}

/* Is a block of another type free that a request of type @start may claim? Without the lock. */
bool block_is_claimable(struct zone *z, unsigned int order, enum migratetype start)
{
	return may_claim(z, order, start) && find_fallback(z, order, start) >= 0;
}

static void change_pageblock_range(struct zone *z, const struct page *p, unsigned int order,
                                   enum migratetype mt)
{
	u64 pfn = page_to_pfn(z->machine, p);

	for (u64 end = pfn + (1UL << order); pfn < end; pfn += PAGEBLOCK_PAGES)
		set_pageblock_migratetype(z, pfn, mt);
}

/* What a pageblock holds. */
struct block_use {
	u64 start; /* its first pfn */
	unsigned long nr_free;
	unsigned long nr_movable; /* on LRU lists */
};

/* Looks at every page of the block of @p. False if it is not wholly in the zone. */
static bool count_block(struct zone *z, const struct page *p, struct block_use *use)
{
	struct machine *m = z->machine;
	u64 start = ALIGN_DOWN(page_to_pfn(m, p), PAGEBLOCK_PAGES);
	u64 end = start + PAGEBLOCK_PAGES;

	*use = (struct block_use){.start = start};
	if (start < z->zone_start_pfn || end > zone_end_pfn(z))
		return false;
	for (u64 pfn = start; pfn < end;) {
		const struct page *q = pfn_to_page(m, pfn);

		charge(COST_BUDDY_STEP);
		if (page_test(q, PG_buddy)) {
			use->nr_free += 1UL << buddy_order(q);
			pfn += 1UL << buddy_order(q);
			continue;
		}
		use->nr_movable += page_test(q, PG_lru);
		pfn += 1;
	}
	return true;
}

/* The free pages of a block change lists: to the head in 4.0, to the tail in 6.18. */
static void move_freepages_block(struct zone *z, u64 start, enum migratetype mt, bool tail)
{
	for (u64 pfn = start; pfn < start + PAGEBLOCK_PAGES;) {
		struct page *p = pfn_to_page(z->machine, pfn);
		unsigned int order;

		if (!page_test(p, PG_buddy)) {
			pfn += 1;
			continue;
		}
		order = buddy_order(p);
		del_from_free_list(z, p);
		add_to_free_list(z, p, order, mt, tail);
		pfn += 1UL << order;
	}
}

/*
 * 4.0: the largest block of another type; its rest, and if may_claim() the free pages around it,
 * become ours, and the pageblock too if half of it was free.
 */
static struct page *rmqueue_fallback_4_0(struct zone *z, unsigned int order, enum migratetype start)
{
	for (int o = MAX_ORDER - 1; o >= (int)order; o--) {
		int other = find_fallback(z, (unsigned int)o, start);
		struct block_use use;
		struct page *p;

		if (other < 0)
			continue;
		p = take_free_block(z, (unsigned int)o, (enum migratetype)other);
		if (o >= PAGEBLOCK_ORDER) {
			change_pageblock_range(z, p, (unsigned int)o, start);
		} else if (may_claim(z, (unsigned int)o, start) && count_block(z, p, &use)) {
			move_freepages_block(z, use.start, start, false);
			/* @p has left the list, but it is one of the free pages. */
			if (use.nr_free + (1UL << o) >= PAGEBLOCK_PAGES / 2)
				set_pageblock_migratetype(z, use.start, start);
		}
		expand(z, p, order, (unsigned int)o, start);
		return p;
	}
	return NULL;
}

/*
 * 6.18: makes the pageblock of the first free block of @other ours if at least half of it is free
 * or used by pages like those we want, and takes a block from it. NULL: it stays the other's.
 */
static struct page *try_to_claim_block(struct zone *z, unsigned int o, unsigned int order,
                                       enum migratetype start, enum migratetype other,
                                       u32 alloc_flags)
{
	struct page *p;
	struct block_use use;
	unsigned long alike;

	if (o >= PAGEBLOCK_ORDER) {
		p = take_free_block(z, o, other);
		change_pageblock_range(z, p, o, start);
		expand(z, p, order, o, start);
		return p;
	}
	boost_watermark(z, alloc_flags);
	if (!count_block(z, page_list_first(free_list(z, o, other)), &use))
		return NULL;
	if (start == MIGRATE_MOVABLE)
		alike = use.nr_movable;
	else if (other == MIGRATE_MOVABLE)
		alike = PAGEBLOCK_PAGES - use.nr_free - use.nr_movable;
	else
		alike = 0; /* unmovable and reclaimable pages cannot be told apart */
	if (use.nr_free + alike < PAGEBLOCK_PAGES / 2 &&
	    !z->machine->page_group_by_mobility_disabled)
		return NULL;
	move_freepages_block(z, use.start, start, true);
	set_pageblock_migratetype(z, use.start, start);
	return __rmqueue_smallest(z, order, start);
}

/* The largest first: the rest of its pageblock is likely to be free too. */
static struct page *rmqueue_claim(struct zone *z, unsigned int order, enum migratetype start,
                                  u32 alloc_flags)
{
	unsigned int smallest = order;

	if (alloc_flags & ALLOC_NOFRAGMENT && order < PAGEBLOCK_ORDER)
		smallest = PAGEBLOCK_ORDER;
	for (int o = MAX_ORDER - 1; o >= (int)smallest; o--) {
		int other = find_fallback(z, (unsigned int)o, start);
		struct page *p;

		if (other < 0)
			continue;
		if (!may_claim(z, (unsigned int)o, start))
			return NULL;
		p = try_to_claim_block(z, (unsigned int)o, order, start, (enum migratetype)other,
		                       alloc_flags);
		if (p)
			return p;
	}
	return NULL;
}

/* One block and no more, the smallest that does; what is left of it stays the other's. */
static struct page *rmqueue_steal(struct zone *z, unsigned int order, enum migratetype start)
{
	for (unsigned int o = order; o < MAX_ORDER; o++) {
		int other = find_fallback(z, o, start);

		if (other < 0)
			continue;

		struct page *p = take_free_block(z, o, (enum migratetype)other);

		expand(z, p, order, o, (enum migratetype)other);
		return p;
	}
	return NULL;
}

static struct page *rmqueue_fallback_6_18(struct zone *z, unsigned int order,
                                          enum migratetype start, u32 alloc_flags)
{
	struct page *p = rmqueue_claim(z, order, start, alloc_flags);

	if (!p && !(alloc_flags & ALLOC_NOFRAGMENT))
		p = rmqueue_steal(z, order, start);
	return p;
}

/* ---- taking and giving -------------------------------------------------------------------------------- */

struct page *__rmqueue(struct zone *z, unsigned int order, enum migratetype mt, u32 alloc_flags)
{
	struct page *p = __rmqueue_smallest(z, order, mt);

	charge(COST_BUDDY);
	if (likely(p))
		return p;
	if (!lists_follow_blocks(z->machine))
		return rmqueue_fallback_4_0(z, order, mt);
	return rmqueue_fallback_6_18(z, order, mt, alloc_flags);
}

/* Zone and node are in the flags too, so a free block of a neighbouring zone is no buddy. */
static inline bool page_is_buddy(const struct zone *z, const struct page *p, unsigned int order)
{
	return p->flags == (z->page_flags | 1u << PG_buddy) && buddy_order(p) == order;
}

/*
 * Is the partner that the block at @pfn would merge with next, if its present buddy were free, free
 * already? Then the buddy is probably about to be freed, and this block should not be reused soon.
 */
static inline bool buddy_merge_likely(const struct zone *z, const struct page *map, u64 pfn,
                                      unsigned int order)
{
	u64 merged = pfn & ~(1UL << order);
	u64 partner = merged ^ (1UL << (order + 1));

	if (order >= MAX_ORDER - 2)
		return false;
	return page_is_buddy(z, map + partner, order + 1);
}

/* free_block(), inline where single pages are freed in runs. */
static __always_inline u32 free_and_merge(struct zone *z, u64 pfn, unsigned int order,
                                          enum migratetype mt)
{
	const struct machine *m = z->machine;
	struct page *map = m->mem_map;
	unsigned int from = order;

	for (; order < MAX_ORDER - 1; order++) {
		u64 buddy_pfn = pfn ^ (1UL << order);
		struct page *buddy = map + buddy_pfn;

		if (!page_is_buddy(z, buddy, order))
			break;
		/* 6.10: lists and pageblocks agree, also when whole pageblocks merge. */
		if (unlikely(order >= PAGEBLOCK_ORDER) && lists_follow_blocks(m) &&
		    buddy_type(buddy) != mt)
			set_pageblock_migratetype(z, buddy_pfn, mt);
		del_block_of_order(z, buddy, order);
		pfn &= ~(1UL << order);
	}
	add_to_free_list(z, map + pfn, order, mt, buddy_merge_likely(z, map, pfn, order));
	return order - from;
}

u32 free_block(struct zone *z, u64 pfn, unsigned int order, enum migratetype mt)
{
	return free_and_merge(z, pfn, order, mt);
}

void __free_one_page(struct zone *z, u64 pfn, unsigned int order, enum migratetype mt)
{
	charge_free_blocks(1, free_block(z, pfn, order, mt));
}

/* The largest order of a block that begins, or ends, at @pfn and has at most @nr pages. */
static unsigned int run_order(u64 pfn, u32 nr)
{
	return (unsigned int)min(__ffs64(pfn | BIT(MAX_ORDER - 1)), fls(nr) - 1);
}

/*
 * Page by page, what is freed of a block merges with nothing outside it before the last page; so a
 * block is freed as a whole, for what its pages would have cost: all of them but one have merged.
 */
u32 free_run(struct zone *z, u64 pfn, u32 nr, bool upwards, enum migratetype mt)
{
	u64 end = pfn + nr;
	u32 nr_merges = 0;

	while (pfn < end) {
		unsigned int order = run_order(upwards ? pfn : end, (u32)(end - pfn));
		u64 block = upwards ? pfn : end - (1UL << order);

		nr_merges += (1u << order) - 1 + free_and_merge(z, block, order, mt);
		if (upwards)
			pfn += 1UL << order;
		else
			end = block;
	}
	return nr_merges;
}

bool pfn_is_fresh(const struct zone *z, u64 pfn)
{
	for (u32 i = z->fresh_next; i < z->nr_fresh; i++)
		if (pfn >= z->fresh[i].start_pfn && pfn < z->fresh[i].end_pfn)
			return true;
	return false;
}

void take_buddy(struct zone *z, struct page *p)
{
	struct machine *m = z->machine;
	unsigned int order = buddy_order(p);
	enum migratetype mt = buddy_type(p);

	del_from_free_list(z, p);
	charge(COST_BUDDY);
	for (unsigned long i = 0; i < 1UL << order; i++)
		p[i].flags = z->page_flags;
	mod_zone_state(z, NR_FREE_PAGES, -(1L << order));
	zone_free_taken(z, 1L << order);
	m->nr_taken += 1UL << order;
	/* What is moved here is movable, and most of the block will be. */
	if (order < PAGEBLOCK_ORDER - 1 || mt == fresh_type(m))
		return;
	change_pageblock_range(z, p, order, fresh_type(m));
	if (lists_follow_blocks(m) && order < PAGEBLOCK_ORDER)
		move_freepages_block(z, ALIGN_DOWN(page_to_pfn(m, p), PAGEBLOCK_PAGES),
		                     fresh_type(m), true);
}

/* @nr pages from @p on, in a row, to the tail of @list. */
static void add_run(const struct zone *z, struct page_list *list, struct page *p, u32 nr,
                    enum migratetype mt)
{
	u32 link = page_link_to(list, p);
	u32 flags = z->page_flags;

	for (u32 i = 0; i < nr; i++) {
		p[i].flags = flags;
		p[i].index = mt;
		p[i].lru_prev = link + i - 1;
		p[i].lru_next = link + i + 1;
	}
	page_list_add_run_tail(list, p, nr);
}

/* How often blocks are split for pages 1 to @last of one: for page i, as far as the alignment of i. */
static u32 nr_splits(u32 last)
{
	u32 nr = 0;

	while (last >>= 1)
		nr += last; /* those that are even, of them those that are multiples of 4, ... */
	return nr;
}

/* Frames [@start, @end), the end of a block just split, are free: largest blocks last. */
static void add_rest(struct zone *z, u64 start, u64 end, enum migratetype mt)
{
	while (start < end) {
		unsigned int order = (unsigned int)__ffs64(start);

		add_to_free_list(z, pfn_to_page(z->machine, start), order, mt, false);
		start += 1UL << order;
	}
}

/*
 * Up to @count single pages from the smallest block of the type: what as many calls of __rmqueue()
 * would take, leave and charge. There is nothing smaller, so they would use up this block, in
 * ascending order, before they came to another. Returns how many; 0: the type has run out.
 */
static u32 take_run(struct zone *z, u32 count, struct page_list *list, enum migratetype mt)
{
	for (unsigned int o = 0; o < MAX_ORDER; o++) {
		u32 nr = min(count, 1u << o);
		struct page *p;
		u64 pfn;

		if (!has_free_block(z, o, mt))
			continue;
		p = take_free_block(z, o, mt);
		pfn = page_to_pfn(z->machine, p);
		add_run(z, list, p, nr, mt);
		add_rest(z, pfn + nr, pfn + (1UL << o), mt);
		charge_n(COST_BUDDY, nr);
		charge_n(COST_BUDDY_STEP, o + nr_splits(nr - 1)); /* page 0 all the way */
		return nr;
	}
	return 0;
}

/* One block by the general way. */
static u32 take_block(struct zone *z, unsigned int order, struct page_list *list,
                      enum migratetype mt, u32 alloc_flags)
{
	struct page *p = __rmqueue(z, order, mt, alloc_flags);

	if (!p)
		return 0;
	p->index = mt;
	page_list_add_tail(list, p);
	return 1;
}

u32 rmqueue_bulk(struct zone *z, unsigned int order, u32 count, struct page_list *list,
                 enum migratetype mt, u32 alloc_flags)
{
	u32 nr = 0;

	spin_lock_unseen(&z->lock);
	while (nr < count) {
		u32 run = order ? 0 : take_run(z, count - nr, list, mt);

		if (!run)
			run = take_block(z, order, list, mt, alloc_flags);
		if (unlikely(!run))
			break;
		nr += run;
	}
	/* 6.10 on: counted block by block. */
	if (lists_follow_blocks(z->machine))
		mod_zone_state_steps(z, NR_FREE_PAGES, -(1 << order), nr);
	else
		mod_zone_state(z, NR_FREE_PAGES, -(long)(nr << order));
	zone_free_taken(z, (long)nr << order);
	spin_unlock_unseen(&z->lock);
	return nr;
}

struct page *rmqueue_buddy(struct zone *z, unsigned int order, enum migratetype mt, u32 alloc_flags)
{
	struct page *p;

	spin_lock_unseen(&z->lock);
	p = __rmqueue(z, order, mt, alloc_flags);
	if (p) {
		mod_zone_state(z, NR_FREE_PAGES, -(1L << order));
		zone_free_taken(z, 1L << order);
	}
	spin_unlock_unseen(&z->lock);
	return p;
}

void free_one_page(struct zone *z, struct page *page, unsigned int order)
{
	u64 pfn = page_to_pfn(z->machine, page);

	spin_lock_unseen(&z->lock);
	zone_reset_scanned(z);
	count_vm_events(z->machine, PGFREE, 1UL << order);
	__free_one_page(z, pfn, order, get_pageblock_migratetype(z, pfn));
	mod_zone_state(z, NR_FREE_PAGES, 1L << order);
	z->nr_free += 1L << order;
	spin_unlock_unseen(&z->lock);
}

void return_taken_page(struct zone *z, struct page *page)
{
	struct machine *m = z->machine;
	u64 pfn = page_to_pfn(m, page);

	spin_lock_irq(&z->lock);
	zone_reset_scanned(z);
	m->nr_taken -= 1;
	__free_one_page(z, pfn, 0, get_pageblock_migratetype(z, pfn));
	mod_zone_state(z, NR_FREE_PAGES, 1);
	z->nr_free += 1;
	spin_unlock_irq(&z->lock);
}

/* ---- boot --------------------------------------------------------------------------------------------- */

/* What fills no order-10 block goes to the lists, in the largest aligned blocks there are. */
static void free_boot_blocks(struct zone *z, u64 start, u64 end)
{
	enum migratetype mt = fresh_type(z->machine);

	while (start < end) {
		unsigned int order = (unsigned int)ilog2(end - start);

		if (start)
			order = min(order, (unsigned int)__ffs64(start));
		order = min(order, MAX_ORDER - 1u);
		add_to_free_list(z, pfn_to_page(z->machine, start), order, mt, true);
		start += 1UL << order;
	}
}

void free_boot_range(struct zone *z, u64 start, u64 end)
{
	u64 first = round_up(start, 1UL << (MAX_ORDER - 1));
	u64 last = round_down(end, 1UL << (MAX_ORDER - 1));

	if (first >= last) {
		free_boot_blocks(z, start, end);
		return;
	}
	free_boot_blocks(z, start, first);
	free_boot_blocks(z, last, end);
	z->fresh[z->nr_fresh++] = (struct fresh_range){.start_pfn = first, .end_pfn = last};
	z->free_area[MAX_ORDER - 1].nr_free += (last - first) >> (MAX_ORDER - 1);
}

/* ---- audit ---------------------------------------------------------------------------------------------- */

unsigned long buddy_count_free(const struct zone *z)
{
	unsigned long pages = 0;

	for (unsigned int order = 0; order < MAX_ORDER; order++)
		for (int mt = 0; mt < MIGRATE_TYPES; mt++)
			pages += z->free_area[order].list[mt].nr << order;
	for (u32 i = z->fresh_next; i < z->nr_fresh; i++)
		pages += z->fresh[i].end_pfn - z->fresh[i].start_pfn;
	return pages;
}

static unsigned long list_audit(struct zone *z, unsigned int order, int mt)
{
	struct page_list *list = free_list(z, order, (enum migratetype)mt);
	unsigned long nr = 0;

	for (u32 link = list->first; link; link = page_link(list, link)->lru_next) {
		const struct page *p = page_link(list, link);
		u64 pfn = page_to_pfn(z->machine, p);

		if (!page_is_buddy(z, p, order) || buddy_type(p) != (enum migratetype)mt ||
		    p->refcount || p->mapcount) {
			dump_page(z->machine, p, "on a free list");
			panic("frame 0x%lx is no free block of order %u, type %d", pfn, order, mt);
		}
		VM_BUG_ON(pfn < z->zone_start_pfn || pfn + (1UL << order) > zone_end_pfn(z));
		VM_BUG_ON(!IS_ALIGNED(pfn, 1UL << order));
		if (order < MAX_ORDER - 1)
			VM_BUG_ON_MSG(page_is_buddy(z, pfn_to_page(z->machine, pfn ^ 1UL << order),
			                            order),
			              "frame 0x%lx and its buddy of order %u are both free", pfn,
			              order);
		nr += 1;
	}
	VM_BUG_ON(nr != list->nr);
	return nr;
}

void buddy_audit(struct zone *z)
{
	for (unsigned int order = 0; order < MAX_ORDER; order++) {
		unsigned long nr = 0;

		for (int mt = 0; mt < MIGRATE_TYPES; mt++)
			nr += list_audit(z, order, mt);
		if (order == MAX_ORDER - 1)
			for (u32 i = z->fresh_next; i < z->nr_fresh; i++)
				nr += (z->fresh[i].end_pfn - z->fresh[i].start_pfn) >> order;
		VM_BUG_ON(nr != z->free_area[order].nr_free);
	}
}
