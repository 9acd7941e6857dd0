/*
 * Boot of nodes and zones: from the memory map to free lists and zonelists.
 *
 * A zone is what the ranges of one node have in DMA, DMA32 or Normal (Movable is
 * always empty: there is no kernelcore=). Nothing per frame is touched here. Whole order-10 blocks
 * stay in the zone's `fresh` ranges until they are wanted; only what does not fill such a block is
 * put on the free lists, a few page structs per range. Frames reserved at boot are never touched at
 * all: their zeroed page structs are nobody's, and the buddy takes none of them for a neighbour.
 *
 * Left out: hot-plug, ZONE_MOVABLE, deferred initialisation of struct page (which this resembles).
 */
#include "core/page_alloc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/sort.h"

#define DMA_END_PFN (16UL << 20 >> PAGE_SHIFT)
#define DMA32_END_PFN (4UL << 30 >> PAGE_SHIFT)
#define BLOCK_PAGES (1UL << (MAX_ORDER - 1))

/* A mem_map up to this size is better off on huge host pages: fewer host faults and TLB misses. */
#define HUGE_MEM_MAP_MAX (1UL << 30)

static const char *const zone_names[MAX_NR_ZONES] = {"DMA", "DMA32", "Normal", "Movable"};

static enum zone_type pfn_zone_type(u64 pfn)
{
	return pfn < DMA_END_PFN ? ZONE_DMA : pfn < DMA32_END_PFN ? ZONE_DMA32 : ZONE_NORMAL;
}

/* ---- is it a memory map? ----------------------------------------------------------------------- */

static int check_range(const struct hw_machine *hw, u32 i, char *err, size_t n)
{
	const struct hw_range *r = &hw->range[i];
	u64 end = r->start_pfn + r->nr_pages;

	if (!r->nr_pages || r->nr_reserved > r->nr_pages)
		snprintf(err, n, "memory range %u has %lu pages, %lu of them reserved", i,
		         r->nr_pages, r->nr_reserved);
	else if (r->node >= hw->nr_nodes)
		snprintf(err, n, "memory range %u is on node %u of %u", i, r->node, hw->nr_nodes);
	else if (i && r->start_pfn < r[-1].start_pfn + r[-1].nr_pages)
		snprintf(err, n, "memory range %u begins before range %u ends", i, i - 1);
	else if (pfn_zone_type(r->start_pfn) != pfn_zone_type(end - 1))
		snprintf(err, n, "memory range %u crosses a zone boundary (16 MiB or 4 GiB)", i);
	else
		return 0;
	return -EINVAL;
}

static int check_hw(const struct hw_machine *hw, char *err, size_t n)
{
	u64 managed = 0;

	if (!hw->nr_cpus || hw->nr_cpus > HW_MAX_CPUS || !hw->nr_nodes ||
	    hw->nr_nodes > HW_MAX_NODES) {
		snprintf(err, n, "a machine has 1 to %u CPUs and 1 to %u nodes, not %u and %u",
		         HW_MAX_CPUS, HW_MAX_NODES, hw->nr_cpus, hw->nr_nodes);
		return -EINVAL;
	}
	for (u32 i = 0; i < hw->nr_ranges; i++) {
		int ret = check_range(hw, i, err, n);

		if (ret)
			return ret;
		managed += hw->range[i].nr_pages - hw->range[i].nr_reserved;
	}
	if (!managed) {
		snprintf(err, n, "a machine needs memory that is not reserved");
		return -EINVAL;
	}
	return 0;
}

/* ---- zones --------------------------------------------------------------------------------------- */

/* Extends [*@start, *@start + *@spanned) over a range. */
static void span_add(u64 *start, unsigned long *spanned, const struct hw_range *r)
{
	u64 first = *spanned ? *start : r->start_pfn;

	/* Ranges come in ascending order. */
	*spanned = r->start_pfn + r->nr_pages - first;
	*start = first;
}

/* DMA has none: the descriptors of its few pages are where there is more room. */
static u64 range_memmap(const struct hw_machine *hw, const struct hw_range *r)
{
	if (r->start_pfn < DMA_END_PFN)
		return 0;
	return min(r->nr_pages * hw->descriptor_bytes / PAGE_SIZE, r->nr_reserved);
}

static void zone_size_add(struct machine *m, struct zone *z, const struct hw_range *r)
{
	struct pglist_data *pgdat = z->pgdat;

	span_add(&z->zone_start_pfn, &z->spanned_pages, r);
	span_add(&pgdat->node_start_pfn, &pgdat->node_spanned_pages, r);
	z->present_pages += r->nr_pages;
	z->managed_pages += r->nr_pages - r->nr_reserved;
	z->memmap_pages += range_memmap(m->world->hw, r);
	z->nr_fresh += 1; /* at most one fresh range each */
	m->totalram_pages += r->nr_pages - r->nr_reserved;
	m->max_pfn = max(m->max_pfn, r->start_pfn + r->nr_pages);
}

static void zone_init(struct machine *m, struct pglist_data *pgdat, enum zone_type type)
{
	struct zone *z = &pgdat->zone[type];

	z->name = zone_names[type];
	z->machine = m;
	z->pgdat = pgdat;
	z->type = type;
	z->page_flags = pgdat->node_id << PAGE_NODE_SHIFT | (u32)type << PAGE_ZONE_SHIFT;
	spin_lock_init(m->world, &z->lock, LOCK_ZONE);
	m->zone_by_key[z->page_flags >> PAGE_ZONE_SHIFT] = z;
}

/* What only a zone with memory needs, once its size and the node's mem_map are known. */
static void zone_init_populated(struct machine *m, struct zone *z)
{
	u64 blocks = (zone_end_pfn(z) >> PAGEBLOCK_ORDER) - (z->zone_start_pfn >> PAGEBLOCK_ORDER);

	for (unsigned int order = 0; order < MAX_ORDER; order++)
		for (int mt = 0; mt < MIGRATE_TYPES; mt++)
			page_list_init(&z->free_area[order].list[mt], z->pgdat->mem_map);
	z->fresh = arena_array(&m->arena, struct fresh_range, z->nr_fresh);
	z->nr_fresh = 0;
	z->pageblock_type = arena_array(&m->arena, u8, blocks + 1);
	if (m->page_group_by_mobility_disabled)
		memset(z->pageblock_type, MIGRATE_UNMOVABLE ^ MIGRATE_MOVABLE, blocks + 1);
	z->pageblock_skip = arena_array(&m->arena, u8, blocks + 1);
	z->pcp = arena_array(&m->arena, struct per_cpu_pages *, m->nr_cpus);
	vmstat_init_holder(m, &z->stat);
}

static void node_init(struct machine *m, u32 nid)
{
	struct pglist_data *pgdat = &m->node[nid];

	pgdat->machine = m;
	pgdat->node_id = nid;
	for (int type = 0; type < MAX_NR_ZONES; type++)
		zone_init(m, pgdat, (enum zone_type)type);
	if (m->knob.lru_per == LRU_PER_NODE)
		vmstat_init_holder(m, &pgdat->stat);
}

/* Whose lists and counters a zone uses: its own before 4.8, the node's from then on. */
static void node_init_lrus(struct machine *m, struct pglist_data *pgdat)
{
	bool per_node = m->knob.lru_per == LRU_PER_NODE;

	if (per_node)
		lruvec_init(m, &pgdat->lruvec, pgdat, NULL);
	for (struct zone *z = pgdat->zone; z < pgdat->zone + MAX_NR_ZONES; z++) {
		z->lruvec = per_node ? &pgdat->lruvec : &z->own_lruvec;
		z->node_stat = per_node ? &pgdat->stat : &z->stat;
		if (!per_node)
			lruvec_init(m, z->lruvec, pgdat, z);
	}
}

/* A range's frames become free, except those reserved at its start. */
static void range_free(struct machine *m, const struct hw_range *r)
{
	struct zone *z = &m->node[r->node].zone[pfn_zone_type(r->start_pfn)];
	u64 start = r->start_pfn + r->nr_reserved;
	u64 end = r->start_pfn + r->nr_pages;
	long nr = (long)(end - start);

	if (!nr)
		return;
	free_boot_range(z, start, end);
	z->nr_free += nr;
	z->stat.v[NR_FREE_PAGES].v += nr;
	m->vm_stat.v[NR_FREE_PAGES].v += nr;
}

/* ---- zonelists ------------------------------------------------------------------------------------- */

/* A node as a fallback of another one. */
struct node_choice {
	u64 key; /* the smaller, the earlier */
	u32 distance;
	u32 nid;
};

static int node_choice_cmp(const void *a, const void *b, void *arg __attribute__((unused)))
{
	const struct node_choice *x = a;
	const struct node_choice *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/*
 * Nearest first. Of nodes equally near, those with higher numbers come first ("prefer the next
 * node"), and those that head fewer lists so far, so that not all nodes spill to the same one.
 */
static void node_order(struct machine *m, u32 nid, struct node_choice *choice, u32 *load)
{
	const u8 *distance = m->world->hw->distance + (size_t)nid * m->nr_nodes;
	u32 before = 10; /* SLIT's own node */

	for (u32 i = 0; i < m->nr_nodes; i++) {
		u32 far = i == nid ? 0 : distance[i] + (i < nid) + (m->node[i].nr_cpus != 0);

		choice[i] = (struct node_choice){
			.key = (u64)far << 40 | (u64)load[i] << 16 | i,
			.distance = distance[i],
			.nid = i,
		};
	}
	sort_stable(choice, m->nr_nodes, sizeof(*choice), node_choice_cmp, NULL);
	for (u32 i = 1; i < m->nr_nodes; i++) {
		load[choice[i].nid] += choice[i].distance != before;
		before = choice[i].distance;
	}
}

/* Zones of @pgdat, high before low, to the end of @list. Returns how many. */
static u32 zonelist_add_node(struct zone **list, struct pglist_data *pgdat)
{
	u32 nr = 0;

	for (int type = MAX_NR_ZONES - 1; type >= 0; type--)
		if (managed_zone(&pgdat->zone[type]))
			list[nr++] = &pgdat->zone[type];
	return nr;
}

static void build_zonelists(struct machine *m, u32 nr_zones)
{
	u32 *load = arena_array(&m->arena, u32, m->nr_nodes);
	struct node_choice *choice = arena_array(&m->arena, struct node_choice, m->nr_nodes);

	for (u32 nid = 0; nid < m->nr_nodes; nid++) {
		struct pglist_data *pgdat = &m->node[nid];

		node_order(m, nid, choice, load);
		pgdat->zonelist = arena_array(&m->arena, struct zone *, nr_zones);
		pgdat->nr_local_zones = zonelist_add_node(pgdat->zonelist, pgdat);
		pgdat->nr_zonelist = pgdat->nr_local_zones;
		for (u32 i = 1; i < m->nr_nodes; i++)
			pgdat->nr_zonelist += zonelist_add_node(
				&pgdat->zonelist[pgdat->nr_zonelist], &m->node[choice[i].nid]);
	}
}

/* ---- boot ------------------------------------------------------------------------------------------ */

/* One struct page and one page_private for every frame number, none of them touched. */
static void mem_map_init(struct machine *m)
{
	u64 frames = round_up(m->max_pfn, BLOCK_PAGES); /* a buddy may lie beyond the last frame */
	u64 bytes = frames * sizeof(struct page);

	m->mem_map = arena_alloc(&m->arena, bytes, PAGE_SIZE);
	if (bytes <= HUGE_MEM_MAP_MAX)
		madvise(m->mem_map, bytes, MADV_HUGEPAGE); /* if the host will not: as good */
	m->page_private = arena_array(&m->arena, u64, frames);
	m->page_mlock_count = arena_array(&m->arena, u16, frames);
}

static void nodes_init(struct machine *m)
{
	const struct hw_machine *hw = m->world->hw;

	m->node = arena_alloc(&m->arena, sizeof(*m->node) * hw->nr_nodes, 64);
	m->zone_by_key = arena_array(&m->arena, struct zone *, hw->nr_nodes * MAX_NR_ZONES);
	for (u32 nid = 0; nid < hw->nr_nodes; nid++)
		node_init(m, nid);
	for (u32 cpu = 0; cpu < hw->nr_cpus; cpu++)
		m->node[hw->cpu[cpu].node].nr_cpus += 1;
	for (u32 i = 0; i < hw->nr_ranges; i++) {
		const struct hw_range *r = &hw->range[i];

		zone_size_add(m, &m->node[r->node].zone[pfn_zone_type(r->start_pfn)], r);
	}
}

int zones_init(struct machine *m, char *err, size_t n)
{
	const struct hw_machine *hw = m->world->hw;
	struct pglist_data *pgdat;
	struct zone *z;
	u32 nr_zones = 0;
	int ret = check_hw(hw, err, n);

	if (ret)
		return ret;
	m->nr_cpus = hw->nr_cpus;
	m->nr_nodes = hw->nr_nodes;
	world_line_init(m->world, &m->vm_stat.line);
	nodes_init(m);
	mem_map_init(m);
	/* Six types to Linux: three more than here are reserved, isolated or CMA. */
	m->page_group_by_mobility_disabled = m->totalram_pages < PAGEBLOCK_PAGES * 6;
	for_each_node (m, pgdat) {
		if (pgdat->node_spanned_pages >= UINT32_MAX) {
			snprintf(err, n, "node %u spans more than 16 TiB", pgdat->node_id);
			return -EINVAL;
		}
		pgdat->mem_map = m->mem_map + pgdat->node_start_pfn;
		node_init_lrus(m, pgdat);
	}
	for_each_populated_zone (m, pgdat, z) {
		zone_init_populated(m, z);
		nr_zones += managed_zone(z);
	}
	for (u32 i = 0; i < hw->nr_ranges; i++)
		range_free(m, &hw->range[i]);
	build_zonelists(m, nr_zones);
	return 0;
}

/* All of it is in the machine's arena. */
void zones_destroy(struct machine *m)
{
	m->node = NULL;
	m->mem_map = NULL;
}
