/*
 * The whole-machine audit: every structure walked by the file that has it, and what no single file
 * can know checked here: that each frame is in exactly one place, and that pages
 * counted by kind are as many as there are.
 *
 * Runs between tasks and charges nothing. It costs time and host memory in the number of frames that
 * were ever used.
 */
#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/page_alloc.h"

#define BLOCK_PAGES (1UL << (MAX_ORDER - 1))

/* Where a frame is. */
enum frame_place {
	FRAME_ELSEWHERE, /* allocated, and on no list */
	FRAME_FREE,
	FRAME_FRESH,
	FRAME_PCP,
	FRAME_LRU,
};

static const char *const place_name[] = {"allocated", "free", "never used", "on a per-CPU list",
                                         "on an LRU list"};

/* What a count by kind must be equal to. */
static const struct {
	enum pageflags flag;
	enum vm_item item;
} counted_flags[] = {
	{PG_table, NR_PAGETABLE},     {PG_slab, NR_SLAB_UNRECLAIMABLE}, {PG_zsmalloc, NR_ZSPAGES},
	{PG_swapcache, NR_SWAPCACHE}, {PG_writeback, NR_WRITEBACK},     {PG_mlocked, NR_MLOCK},
};

struct census {
	struct machine *m;
	struct arena arena;
	u8 *place; /* [max_pfn] enum frame_place */
	long nr_flag[ARRAY_SIZE(counted_flags)];
	unsigned long nr_allocated; /* LRU pages included */
};

/* ---- where frames are ---------------------------------------------------------------------------------- */

static void put_frames(struct census *c, u64 pfn, unsigned long nr, enum frame_place place)
{
	for (u64 end = pfn + nr; pfn < end; pfn++) {
		VM_BUG_ON_MSG(c->place[pfn], "frame 0x%lx is %s and %s", pfn,
		              place_name[c->place[pfn]], place_name[place]);
		c->place[pfn] = (u8)place;
	}
}

static void put_list(struct census *c, const struct page_list *list, unsigned int order,
                     enum frame_place place)
{
	for (u32 link = list->first; link; link = page_link(list, link)->lru_next)
		put_frames(c, page_to_pfn(c->m, page_link(list, link)), 1UL << order, place);
}

static void put_zone(struct census *c, struct zone *z)
{
	for (unsigned int order = 0; order < MAX_ORDER; order++)
		for (int mt = 0; mt < MIGRATE_TYPES; mt++)
			put_list(c, &z->free_area[order].list[mt], order, FRAME_FREE);
	/* One mark for each block never used is enough to pass over it. */
	for (u32 i = z->fresh_next; i < z->nr_fresh; i++)
		for (u64 pfn = z->fresh[i].start_pfn; pfn < z->fresh[i].end_pfn; pfn += BLOCK_PAGES)
			put_frames(c, pfn, 1, FRAME_FRESH);
	for (u32 cpu = 0; cpu < c->m->nr_cpus; cpu++) {
		const struct per_cpu_pages *pcp = z->pcp[cpu];

		for (u32 i = 0; pcp && i < ARRAY_SIZE(pcp->list); i++)
			put_list(c, &pcp->list[i], i / MIGRATE_PCPTYPES, FRAME_PCP);
	}
}

static void put_lruvec(struct census *c, const struct lruvec *lruvec)
{
	for (int lru = 0; lru < NR_LRU_LISTS; lru++)
		put_list(c, &lruvec->list[lru], 0, FRAME_LRU);
}

/* ---- what frames say of themselves ---------------------------------------------------------------------- */

static void check_frame(struct census *c, u64 pfn)
{
	const struct page *p = pfn_to_page(c->m, pfn);
	enum frame_place place = (enum frame_place)c->place[pfn];

	if (place == FRAME_FREE || place == FRAME_PCP) {
		VM_BUG_ON_MSG(p->refcount || p->mapcount, "frame 0x%lx is %s with refcount %d", pfn,
		              place_name[place], p->refcount);
		return;
	}
	c->nr_allocated += 1;
	if (page_test(p, PG_buddy) || page_test(p, PG_lru) != (place == FRAME_LRU)) {
		dump_page(c->m, p, place_name[place]);
		panic("frame 0x%lx is %s, its flags say otherwise", pfn, place_name[place]);
	}
	VM_BUG_ON_MSG(place == FRAME_LRU && p->refcount <= 0, "frame 0x%lx: refcount %d on an LRU",
	              pfn, p->refcount);
	for (u32 i = 0; i < ARRAY_SIZE(counted_flags); i++)
		c->nr_flag[i] += page_test(p, counted_flags[i].flag) ? compound_nr(p) : 0;
}

/* Frames that the one at @pfn, just checked, stands for: a compound page's tails are in its place. */
static u32 check_compound(struct census *c, u64 pfn)
{
	const struct page *p = pfn_to_page(c->m, pfn);
	u32 nr_filled;

	VM_BUG_ON_MSG(page_is_tail(p), "frame 0x%lx is a tail without a head", pfn);
	if (!page_is_head(p))
		return 1;
	VM_BUG_ON(!IS_ALIGNED(pfn, compound_nr(p)));
	nr_filled = p[1].compound_flags & COMPOUND_TAILS ? compound_nr(p) : 3;
	for (u32 i = 1; i < compound_nr(p); i++) {
		VM_BUG_ON_MSG(c->place[pfn + i], "tail 0x%lx is %s", pfn + i,
		              place_name[c->place[pfn + i]]);
		VM_BUG_ON(i < nr_filled && (!page_is_tail(p + i) || p[i].head_distance != i));
		VM_BUG_ON(p[i].refcount);
	}
	c->nr_allocated += compound_nr(p) - 1;
	return compound_nr(p);
}

/* Frames never used are passed over a block at a time: their structs are not even read. */
static void check_frames(struct census *c)
{
	const struct hw_machine *hw = c->m->world->hw;

	for (u32 i = 0; i < hw->nr_ranges; i++) {
		u64 pfn = hw->range[i].start_pfn + hw->range[i].nr_reserved;
		u64 end = hw->range[i].start_pfn + hw->range[i].nr_pages;

		while (pfn < end) {
			if (c->place[pfn] == FRAME_FRESH) {
				pfn += BLOCK_PAGES;
				continue;
			}
			check_frame(c, pfn);
			pfn += check_compound(c, pfn);
		}
	}
}

/* ---- counts ------------------------------------------------------------------------------------------------ */

static void check_counts(const struct census *c)
{
	const struct machine *m = c->m;
	u64 nr_out = vm_event_zones(m, PGALLOC_DMA) + m->nr_taken - vm_event_sum(m, PGFREE);
	u64 steal = vm_event_zones(m, PGSTEAL_KSWAPD_DMA) + vm_event_zones(m, PGSTEAL_DIRECT_DMA);
	u64 scan = vm_event_zones(m, PGSCAN_KSWAPD_DMA) + vm_event_zones(m, PGSCAN_DIRECT_DMA);

	VM_BUG_ON_MSG(nr_out != c->nr_allocated,
	              "%lu frames are allocated, pgalloc + taken - pgfree is %lu", c->nr_allocated,
	              nr_out);
	VM_BUG_ON_MSG(steal > scan, "pgsteal is %lu, pgscan only %lu", steal, scan);
	for (u32 i = 0; i < ARRAY_SIZE(counted_flags); i++)
		VM_BUG_ON_MSG(c->nr_flag[i] != item_exact(m, counted_flags[i].item),
		              "%s is %ld, but there are %ld such pages",
		              vm_item_name[counted_flags[i].item],
		              item_exact(m, counted_flags[i].item), c->nr_flag[i]);
}

static void census(struct machine *m)
{
	struct census c = {.m = m};
	struct pglist_data *pgdat;
	struct zone *z;

	if (arena_init(&c.arena, m->max_pfn + 1, "audit"))
		panic("no host memory to audit %lu frames", m->max_pfn);
	c.place = arena_array(&c.arena, u8, m->max_pfn);
	for_each_populated_zone (m, pgdat, z) {
		put_zone(&c, z);
		if (m->knob.lru_per == LRU_PER_ZONE)
			put_lruvec(&c, z->lruvec);
	}
	if (m->knob.lru_per == LRU_PER_NODE)
		for_each_node (m, pgdat)
			put_lruvec(&c, &pgdat->lruvec);
	check_frames(&c);
	check_counts(&c);
	arena_destroy(&c.arena);
}

void machine_audit(struct machine *m)
{
	page_alloc_audit(m);
	vmstat_audit(m);
	lru_audit(m);
	mmap_audit(m);
	overcommit_audit(m);
	rmap_audit(m);
	swapfile_audit(m);
	fs_audit(m);
	deferred_split_audit(m);
	census(m);
}
