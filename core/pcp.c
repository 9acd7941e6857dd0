/*
 * Per-CPU page lists: a CPU takes and gives single pages without a lock, and fetches from and
 * returns to the buddy in batches.
 *
 * Linux mm/page_alloc.c. Two forms, by knob pcp.high:
 *
 * - fixed (4.0): order 0 only, high = 6 * batch, interrupts off and no lock. A full list returns
 *   one batch, round-robin over the migrate types, coldest page first.
 * - auto (6.7 to 6.18): orders 0 to 3, a lock that others take to drain the list, batches that
 *   double while a CPU only allocates, and a high mark that moves between bounds: up while the CPU
 *   uses what it holds, down when the zone runs low, is being reclaimed, or nothing happens.
 *
 * Linux holds the lock with interrupts on and has interrupts use a trylock; here they are off
 * meanwhile, so that a lock is taken in one way only. The lists of the THP order are left out.
 */
#include "core/page_alloc.h"

#include <string.h>

#define PCP_BATCH_SCALE_MAX 5 /* CONFIG_PCP_BATCH_SCALE_MAX: batches grow to 32 times */
#define PCP_HIGH_FRACTION_MIN 8
#define NR_PCP_LISTS (MIGRATE_PCPTYPES * NR_PCP_ORDERS)

/* ---- sizes --------------------------------------------------------------------------------------------- */

/* One less than a power of two, so that batches of several CPUs do not share cache colours. */
static s32 batch_round(unsigned long batch)
{
	return (s32)rounddown_pow_of_two(batch + batch / 2) - 1;
}

/* Half a megabyte or 1/1024 of the zone, a quarter of that: at most 31. 0 acts as 1. */
static s32 zone_batchsize_fixed(const struct zone *z)
{
	unsigned long batch = min(zone_size(z) / 1024, (512UL << 10) / PAGE_SIZE) / 4;

	return batch_round(max(batch, 1UL));
}

static s32 zone_batchsize_auto(const struct zone *z)
{
	unsigned long batch = min(z->managed_pages >> 12, (256UL << 10) / PAGE_SIZE);

	return batch <= 1 ? 1 : batch_round(batch);
}

/* A node's pages are shared by its CPUs; those of a node without any, by all. */
static s32 pages_per_cpu(const struct machine *m, const struct zone *z, unsigned long pages)
{
	u32 nr_cpus = z->pgdat->nr_cpus ? z->pgdat->nr_cpus : m->nr_cpus;

	return (s32)min_t(unsigned long, pages / nr_cpus, INT32_MAX);
}

static void set_sizes_fixed(const struct machine *m, struct zone *z)
{
	s32 batch = zone_batchsize_fixed(z);

	z->pcp_high = 6 * batch;
	z->pcp_batch = max(batch, 1);
	if (m->knob.pcp_high_fraction) {
		unsigned long high = z->managed_pages / m->knob.pcp_high_fraction;

		z->pcp_high = (s32)min_t(unsigned long, high, INT32_MAX);
		z->pcp_batch = clamp(z->pcp_high / 4, 1, PAGE_SHIFT * 8);
	}
	z->pcp_high_min = z->pcp_high;
	z->pcp_high_max = z->pcp_high;
}

static void set_sizes_auto(const struct machine *m, struct zone *z)
{
	s32 batch = zone_batchsize_auto(z);
	u64 fraction = m->knob.pcp_high_fraction;
	s32 low = pages_per_cpu(m, z, z->_watermark[WMARK_LOW]);
	s32 most = pages_per_cpu(m, z, z->managed_pages / PCP_HIGH_FRACTION_MIN);

	if (fraction)
		low = most = pages_per_cpu(m, z, z->managed_pages / fraction);
	z->pcp_batch = batch;
	z->pcp_high_min = max(low, batch << 2);
	z->pcp_high_max = max(most, batch << 2);
	z->pcp_high = 0; /* raised to high_min by the first use */
}

void zone_set_pageset_sizes(struct machine *m, struct zone *z)
{
	if (!pcp_is_auto(m))
		set_sizes_fixed(m, z);
	else
		set_sizes_auto(m, z);
}

struct per_cpu_pages *__zone_pcp_alloc(struct zone *z)
{
	struct machine *m = z->machine;
	struct per_cpu_pages *pcp = arena_alloc(&m->arena, sizeof(*pcp), 64);

	spin_lock_init(m->world, &pcp->lock, LOCK_PCP);
	pcp->high = z->pcp_high;
	pcp->high_min = z->pcp_high_min;
	pcp->high_max = z->pcp_high_max;
	pcp->batch = z->pcp_batch;
	pcp->cpu = (u16)world_cpu_id();
	for (int i = 0; i < NR_PCP_LISTS; i++)
		page_list_init(&pcp->list[i], z->pgdat->mem_map);
	z->pcp[pcp->cpu] = pcp;
	return pcp;
}

/* ---- who may touch a list ------------------------------------------------------------------------------- */

/* The running CPU's own: interrupts off, and in the auto form the lock, unless someone drains. */
static __always_inline bool pcp_trylock(const struct machine *m, struct per_cpu_pages *pcp)
{
	world_irq_save();
	if (!pcp_is_auto(m) || likely(spin_trylock(&pcp->lock)))
		return true;
	world_irq_restore();
	return false;
}

static void pcp_lock(const struct machine *m, struct per_cpu_pages *pcp)
{
	world_irq_save();
	if (pcp_is_auto(m))
		spin_lock(&pcp->lock);
}

static __always_inline void pcp_unlock(const struct machine *m, struct per_cpu_pages *pcp)
{
	if (pcp_is_auto(m))
		spin_unlock(&pcp->lock);
	world_irq_restore();
}

/* ---- returning batches ------------------------------------------------------------------------------------ */

/*
 * Takes the last page of @list off it, and up to @max with those before it whose frames are in a row
 * with it, upwards or downwards, in one pageblock. Returns how many: negative if downwards.
 */
static __always_inline s32 take_coldest(struct page_list *list, u64 pfn, u32 max)
{
	struct page *p = page_list_last(list);
	u64 mt = p->index;
	u32 link = list->last;
	u32 below = min_t(u32, pfn % PAGEBLOCK_PAGES, link - 1); /* frames that there are */
	u32 above = PAGEBLOCK_PAGES - 1 - pfn % PAGEBLOCK_PAGES;
	s32 step = below && p->lru_prev == link - 1 ? -1 : 1;
	s32 nr = 1;

	max = min(max, 1 + (step < 0 ? below : above));
	while (nr < (s32)max && p->lru_prev == link + (u32)step && p[step].index == mt) {
		p += step;
		link += (u32)step;
		nr += 1;
	}
	page_list_cut_tail(list, p, (unsigned long)nr);
	return nr * step;
}

/*
 * Returns the coldest page, and up to @max of those that are in a row with it. Returns how many; what they
 * merged is added to @nr_merges, for the caller to charge.
 */
static __always_inline u32 free_coldest(struct zone *z, struct page_list *list, unsigned int order,
                                        u32 max, u32 *nr_merges)
{
	struct machine *m = z->machine;
	const struct page *last = page_list_last(list);
	u64 pfn = page_to_pfn(m, last);
	enum migratetype mt = (enum migratetype)last->index;
	s32 run = take_coldest(list, pfn, order ? 1 : max);
	u32 nr = (u32)(run < 0 ? -run : run);

	/* 4.0 trusts the type noted when the page came; the block may have changed since. */
	if (pcp_is_auto(m))
		mt = get_pageblock_migratetype(z, pfn);
	if (order)
		*nr_merges += free_block(z, pfn, order, mt);
	else
		*nr_merges += free_run(z, run > 0 ? pfn : pfn - nr + 1, nr, run > 0, mt);
	return nr;
}

/* 4.0: one from each type in turn, two from each if one type is empty, all from the last. */
static void free_bulk_fixed(struct zone *z, struct per_cpu_pages *pcp, s32 count)
{
	u32 nr_all = (u32)count;
	u32 nr_merges = 0;
	int mt = 0;
	s32 batch = 0;

	pcp->count -= count;
	mod_zone_state_steps(z, NR_FREE_PAGES, 1, nr_all);
	z->nr_free += count;
	while (count) {
		do {
			batch += 1;
			mt = (mt + 1) % MIGRATE_PCPTYPES;
		} while (page_list_empty(&pcp->list[mt]));
		if (batch == MIGRATE_PCPTYPES)
			batch = count;
		do {
			u32 nr = free_coldest(z, &pcp->list[mt], 0, (u32)min(batch, count),
			                      &nr_merges);

			count -= (s32)nr;
			batch -= (s32)nr;
		} while (count && batch && !page_list_empty(&pcp->list[mt]));
	}
	charge_free_blocks(nr_all, nr_merges);
}

/* 6.18: list @first to its end, then the next ones, until @count pages have gone. */
static void free_bulk_auto(struct zone *z, struct per_cpu_pages *pcp, s32 count, int first)
{
	int i = first;

	while (count > 0) {
		struct page_list *list = &pcp->list[i];
		unsigned int order = (unsigned int)i / MIGRATE_PCPTYPES;
		u32 nr_merges = 0;
		u32 nr = 0;

		while (count > 0 && !page_list_empty(list)) {
			u32 n = free_coldest(z, list, order, (u32)count, &nr_merges);

			nr += n;
			count -= (s32)(n << order);
		}
		charge_free_blocks(nr, nr_merges);
		pcp->count -= (s32)(nr << order);
		mod_zone_state_steps(z, NR_FREE_PAGES, 1 << order, nr);
		z->nr_free += (long)nr << order;
		i = (i + 1) % NR_PCP_LISTS;
	}
}

/* Returns up to @count pages, in one hold of zone->lock. The list is ours. */
static void free_pcppages_bulk(struct zone *z, struct per_cpu_pages *pcp, s32 count, int first)
{
	count = min(count, pcp->count);
	if (!count)
		return;
	spin_lock(&z->lock);
	zone_reset_scanned(z);
	if (!pcp_is_auto(z->machine))
		free_bulk_fixed(z, pcp, count);
	else
		free_bulk_auto(z, pcp, count, first);
	spin_unlock(&z->lock);
}

/* ---- taking ------------------------------------------------------------------------------------------------ */

/* How many blocks to fetch (6.18): twice as many each time, as long as the CPU only takes. */
static u32 nr_pcp_alloc(struct zone *z, struct per_cpu_pages *pcp, unsigned int order)
{
	s32 batch = order ? pcp->batch : pcp->batch << pcp->alloc_factor;
	s32 most;

	pcp->high = clamp(pcp->high, pcp->high_min, pcp->high_max);
	if (pcp->high < pcp->batch)
		return 1;
	/* With a larger list this trip to the zone would have been spared. */
	if (pcp->high_min != pcp->high_max && !(z->flags & ZONE_BELOW_HIGH))
		pcp->high = min(pcp->high + batch, pcp->high_max);
	if (!order) {
		most = max(pcp->high - pcp->count - pcp->batch, pcp->batch);
		if (batch <= most && pcp->alloc_factor < PCP_BATCH_SCALE_MAX)
			pcp->alloc_factor += 1;
		batch = min(batch, most);
	}
	return (u32)(batch > 1 ? max(batch >> order, 2) : batch);
}

static noinline bool pcp_refill(struct machine *m, struct zone *z, struct per_cpu_pages *pcp,
                                struct page_list *list, unsigned int order, enum migratetype mt,
                                u32 alloc_flags)
{
	u32 count = !pcp_is_auto(m) ? (u32)pcp->batch : nr_pcp_alloc(z, pcp, order);
	u32 nr = rmqueue_bulk(z, order, count, list, mt, alloc_flags);

	pcp->count += (s32)(nr << order);
	return nr != 0;
}

struct page *rmqueue_pcplist(struct machine *m, struct zone *z, unsigned int order,
                             enum migratetype mt, u32 alloc_flags)
{
	struct per_cpu_pages *pcp = zone_pcp(z);
	struct page_list *list = &pcp->list[order * MIGRATE_PCPTYPES + mt];
	struct page *page = NULL;

	if (unlikely(!pcp_trylock(m, pcp)))
		return rmqueue_buddy(z, order, mt, alloc_flags);
	if (likely(list->first) || pcp_refill(m, z, pcp, list, order, mt, alloc_flags))
		page = pcp_pop(pcp, list, order);
	charge(COST_PCP);
	pcp_unlock(m, pcp);
	return page;
}

/* ---- giving (6.18) -------------------------------------------------------------------------------------------- */

/*
 * How many pages the list may hold just now; pcp->high moves as a side effect. @free_high: a burst
 * of high-order frees, which go back to the buddy at once.
 */
static s32 nr_pcp_high(struct zone *z, struct per_cpu_pages *pcp, bool free_high)
{
	s32 batch = pcp->batch;
	s32 high = clamp(pcp->high, pcp->high_min, pcp->high_max);
	s32 freed = max((s32)pcp->free_count, batch);

	pcp->high = high;
	if (!high)
		return 0;
	if (free_high) {
		pcp->high = max(high - (batch << PCP_BATCH_SCALE_MAX), pcp->high_min);
		return 0;
	}
	if (z->flags & ZONE_RECLAIM_ACTIVE) {
		pcp->high = max(high - freed, pcp->high_min);
		return min(batch << 2, pcp->high);
	}
	if (pcp->high_min == pcp->high_max)
		return high;
	if (z->flags & ZONE_BELOW_HIGH) {
		pcp->high = max(high - freed, pcp->high_min);
		return max(pcp->count, pcp->high_min);
	}
	if (pcp->count >= high && pcp->high < pcp->free_count + batch)
		pcp->high = clamp(pcp->free_count + batch, pcp->high_min, pcp->high_max);
	return high;
}

/* How many to return: as many as were freed in a row, but a batch stays and a batch goes. */
static s32 nr_pcp_free(const struct per_cpu_pages *pcp, s32 high, bool free_high)
{
	if (free_high)
		return min(pcp->count, pcp->batch << PCP_BATCH_SCALE_MAX);
	if (high < pcp->batch)
		return 1;
	return max(min((s32)pcp->free_count, high - pcp->batch), pcp->batch);
}

/* Does this free follow many others of higher orders? They fragment, and are not kept. */
static bool is_free_high(struct per_cpu_pages *pcp, unsigned int order)
{
	bool burst = order && pcp->flags & PCPF_PREV_FREE_HIGH_ORDER &&
	             pcp->free_count >= pcp->batch + pcp->high_min / 2;

	if (order)
		pcp->flags |= PCPF_PREV_FREE_HIGH_ORDER;
	else
		pcp->flags &= (u8)~PCPF_PREV_FREE_HIGH_ORDER;
	return burst;
}

/* The list is ours. */
static void free_commit_auto(struct zone *z, struct per_cpu_pages *pcp, struct page *page,
                             unsigned int order, enum migratetype mt)
{
	int i = (int)(order * MIGRATE_PCPTYPES + mt);
	bool free_high;
	s32 high;

	pcp->alloc_factor >>= 1;
	page_list_add(&pcp->list[i], page);
	pcp->count += 1 << order;
	free_high = is_free_high(pcp, order);
	if (pcp->free_count < pcp->batch << PCP_BATCH_SCALE_MAX)
		pcp->free_count += (s16)(1 << order);
	high = nr_pcp_high(z, pcp, free_high);
	if (likely(pcp->count < high))
		return;
	free_pcppages_bulk(z, pcp, nr_pcp_free(pcp, high, free_high), i);
	if (z->flags & ZONE_BELOW_HIGH &&
	    zone_watermark_ok(z, 0, wmark(z, WMARK_HIGH), ZONE_MOVABLE, 0))
		z->flags &= ~(u32)ZONE_BELOW_HIGH;
}

/* ---- giving ------------------------------------------------------------------------------------------------------ */

static __always_inline void free_commit(struct machine *m, struct zone *z,
                                        struct per_cpu_pages *pcp, struct page *page,
                                        unsigned int order, bool cold)
{
	enum migratetype mt = get_pageblock_migratetype(z, page_to_pfn(m, page));

	page->index = mt;
	charge(COST_PCP);
	count_vm_events(m, PGFREE, 1UL << order);
	if (pcp_is_auto(m)) {
		free_commit_auto(z, pcp, page, order, mt);
		return;
	}
	if (unlikely(cold))
		page_list_add_tail(&pcp->list[mt], page);
	else
		page_list_add(&pcp->list[mt], page);
	pcp->count += 1;
	if (unlikely(pcp->count >= pcp->high))
		free_pcppages_bulk(z, pcp, pcp->batch, 0);
}

/* @page has passed the checks of free. */
void free_pcp_page(struct machine *m, struct zone *z, struct page *page, unsigned int order,
                   bool cold)
{
	struct per_cpu_pages *pcp = zone_pcp(z);

	if (unlikely(!pcp_trylock(m, pcp))) {
		free_one_page(z, page, order);
		return;
	}
	free_commit(m, z, pcp, page, order, cold);
	pcp_unlock(m, pcp);
}

/*
 * The same for many pages. 6.18 holds the lock of a per-CPU list for as long
 * as the pages are of its zone, but for no more than a folio batch.
 */
struct pcp_walk {
	struct machine *m;
	struct zone *held; /* NULL: no list is ours */
	struct per_cpu_pages *pcp;
	u32 nr; /* pages given in this hold */
};

static inline void pcp_walk_unlock(struct pcp_walk *w)
{
	if (w->held)
		pcp_unlock(w->m, w->pcp);
	w->held = NULL;
}

static inline void pcp_walk_free(struct pcp_walk *w, struct page *page, bool cold)
{
	struct zone *z = page_zone(w->m, page);

	if (z != w->held || w->nr == PAGEVEC_MAX)
		pcp_walk_unlock(w);
	if (!w->held) {
		w->pcp = zone_pcp(z);
		if (!pcp_trylock(w->m, w->pcp)) {
			free_one_page(z, page, 0);
			return;
		}
		w->held = z;
		w->nr = 0;
	}
	free_commit(w->m, z, w->pcp, page, 0, cold);
	w->nr += 1;
}

void free_pcp_list(struct machine *m, struct page_list *list, bool cold)
{
	struct pcp_walk w = {.m = m};
	struct page *page;

	while ((page = page_list_pop(list)))
		pcp_walk_free(&w, page, cold);
	pcp_walk_unlock(&w);
}

void free_pcp_pages(struct machine *m, struct page **pages, u32 nr)
{
	struct pcp_walk w = {.m = m};

	while (nr)
		pcp_walk_free(&w, pages[--nr], false);
	pcp_walk_unlock(&w);
}

/* ---- draining ------------------------------------------------------------------------------------------------------ */

static void drain_pages_zone(struct machine *m, struct zone *z, struct per_cpu_pages *pcp)
{
	s32 most = pcp_is_auto(m) ? pcp->batch << PCP_BATCH_SCALE_MAX : INT32_MAX;
	s32 left;

	do {
		pcp_lock(m, pcp);
		free_pcppages_bulk(z, pcp, most, 0);
		left = pcp->count;
		pcp_unlock(m, pcp);
	} while (left);
}

/* From the fold of counters: pages of a remote node have been idle. At most a batch at a time. */
void drain_zone_pages(struct machine *m, struct zone *z, struct per_cpu_pages *pcp)
{
	pcp_lock(m, pcp);
	free_pcppages_bulk(z, pcp, pcp->batch, 0);
	pcp_unlock(m, pcp);
}

bool decay_pcp_high(struct machine *m, struct zone *z, struct per_cpu_pages *pcp)
{
	bool todo = false;
	s32 excess;

	if (pcp->high > pcp->high_min) {
		pcp->high = max3(pcp->count - (pcp->batch << PCP_BATCH_SCALE_MAX),
		                 pcp->high - (pcp->high >> 3), pcp->high_min);
		todo = pcp->high > pcp->high_min;
	}
	excess = pcp->count - pcp->high;
	if (excess > 0) {
		pcp_lock(m, pcp);
		free_pcppages_bulk(z, pcp, excess, 0);
		pcp_unlock(m, pcp);
		todo = true;
	}
	return todo;
}

static void drain_cpu_pages(struct machine *m, u32 cpu)
{
	struct pglist_data *pgdat;
	struct zone *z;

	for_each_populated_zone (m, pgdat, z)
		if (z->pcp[cpu] && z->pcp[cpu]->count)
			drain_pages_zone(m, z, z->pcp[cpu]);
}

static void drain_local_pages(void *arg)
{
	drain_cpu_pages(arg, world_cpu_id());
}

void drain_cpu_lists(struct machine *m)
{
	drain_cpu_pages(m, world_cpu_id());
}

/* Which CPUs hold pages: the count of each, which its owner keeps writing, is looked at. */
static void find_cpus_with_pcps(struct machine *m, u64 *mask)
{
	struct pglist_data *pgdat;
	struct zone *z;
	u32 nr_unused = 0;

	world_order();
	for_each_populated_zone (m, pgdat, z) {
		for (u32 cpu = 0; cpu < m->nr_cpus; cpu++) {
			const struct per_cpu_pages *pcp = z->pcp[cpu];

			if (!pcp) {
				nr_unused += 1;
				continue;
			}
			charge(world_distance(world_self, cpu));
			if (pcp->count)
				mask[cpu / 64] |= 1UL << (cpu % 64);
		}
	}
	charge_n(COST_LINE_OWN, nr_unused);
}

/* 6.18: whoever drains takes the locks of the others' lists. One at a time; the rest go without. */
static void drain_all_by_lock(struct machine *m, const u64 *mask)
{
	if (READ_ONCE(m->draining))
		return;
	m->draining = true;
	for (u32 cpu = 0; cpu < m->nr_cpus; cpu++)
		if (mask[cpu / 64] >> (cpu % 64) & 1)
			drain_cpu_pages(m, cpu);
	WRITE_ONCE(m->draining, false);
}

/* 3.4 to 4.10: an IPI to those that hold pages. */
static void drain_all_by_ipi(struct machine *m, const u64 *mask)
{
	u32 self = world_cpu_id();

	world_ipi(mask, drain_local_pages, m);
	if (mask[self / 64] >> (self % 64) & 1)
		drain_local_pages(m);
}

/* To 3.3: nobody looks who has any. */
static void drain_all_by_ipi_to_all(struct machine *m)
{
	u64 mask[HW_MAX_CPUS / 64];

	memset(mask, 0, DIV_ROUND_UP(m->nr_cpus, 64) * sizeof(*mask));
	for (u32 cpu = 0; cpu < m->nr_cpus; cpu++)
		mask[cpu / 64] |= 1UL << (cpu % 64);
	drain_all_by_ipi(m, mask);
}

void drain_all_pages(struct machine *m)
{
	u64 mask[HW_MAX_CPUS / 64];

	if (m->knob.pcp_drain == PCP_DRAIN_ALL) {
		drain_all_by_ipi_to_all(m);
		return;
	}
	memset(mask, 0, DIV_ROUND_UP(m->nr_cpus, 64) * sizeof(*mask));
	find_cpus_with_pcps(m, mask);
	if (pcp_is_auto(m))
		drain_all_by_lock(m, mask);
	else
		drain_all_by_ipi(m, mask);
}

/* ---- audit ----------------------------------------------------------------------------------------------------------- */

unsigned long pcp_count_pages(const struct zone *z)
{
	unsigned long sum = 0;

	for (u32 cpu = 0; cpu < z->machine->nr_cpus; cpu++)
		if (z->pcp[cpu])
			sum += (unsigned long)z->pcp[cpu]->count;
	return sum;
}

static void pcp_list_audit(struct zone *z, struct per_cpu_pages *pcp, int i)
{
	const struct page_list *list = &pcp->list[i];
	unsigned long nr = 0;

	for (u32 link = list->first; link; link = page_link(list, link)->lru_next) {
		const struct page *p = page_link(list, link);

		if (p->flags != z->page_flags || p->refcount || p->mapcount || p->mapping ||
		    p->index != (u64)(i % MIGRATE_PCPTYPES)) {
			dump_page(z->machine, p, "on a per-CPU list");
			panic("frame 0x%lx is not free", page_to_pfn(z->machine, p));
		}
		nr += 1;
	}
	VM_BUG_ON(nr != list->nr);
}

void pcp_audit(struct zone *z)
{
	for (u32 cpu = 0; cpu < z->machine->nr_cpus; cpu++) {
		struct per_cpu_pages *pcp = z->pcp[cpu];
		s32 count = 0;

		if (!pcp)
			continue;
		for (int i = 0; i < NR_PCP_LISTS; i++) {
			pcp_list_audit(z, pcp, i);
			count += (s32)(pcp->list[i].nr << (i / MIGRATE_PCPTYPES));
		}
		VM_BUG_ON(count != pcp->count);
	}
}
