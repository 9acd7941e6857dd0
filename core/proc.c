/*
 * /proc/zoneinfo, meminfo, buddyinfo and pagetypeinfo, as each kernel prints them. What this model
 * does not have is printed as 0, so that a program which parses the real files can read these.
 */
#include "core/proc.h"

#include "core/page_alloc.h"

static bool is_6_18(const struct machine *m)
{
	return m->knob.lru_per == LRU_PER_NODE;
}

/* ---- zoneinfo ---------------------------------------------------------------------------------------- */

static unsigned long peek(const struct stat_holder *h, enum vm_item item)
{
	long v = atomic_long_peek(&h->v[item]);

	return v > 0 ? (unsigned long)v : 0;
}

static void print_items(FILE *f, const char *indent, const struct counter *c, u32 nr,
                        const struct stat_holder *h, const struct zone *z)
{
	for (u32 i = 0; i < nr; i++) {
		u64 value = c[i].kind == COUNTER_BLOCKS ? zone_free_in_blocks(z)
		                                        : counter_of_holder(&c[i], h);

		fprintf(f, "\n%s%-12s %lu", indent, c[i].name, value);
	}
}

static void print_protection(const struct machine *m, FILE *f, const struct zone *z)
{
	fprintf(f, "\n        protection: (%ld", z->lowmem_reserve[0]);
	for (int j = 1; j < MAX_NR_ZONES; j++)
		fprintf(f, ", %ld", z->lowmem_reserve[j]);
	if (is_6_18(m)) /* ZONE_DEVICE, whose reserve is that of the last zone with memory */
		fprintf(f, ", %ld", z->lowmem_reserve[MAX_NR_ZONES - 1]);
	fprintf(f, ")");
}

/* A CPU without a list of its own has the one it would get. */
static void print_pageset(const struct machine *m, FILE *f, const struct zone *z, u32 cpu)
{
	const struct per_cpu_pages *pcp = z->pcp[cpu];
	const struct stat_cpu *s = z->stat.cpu[cpu];

	fprintf(f, "\n    cpu: %u\n              count: %*d", cpu, is_6_18(m) ? 4 : 0,
	        pcp ? pcp->count : 0);
	if (is_6_18(m)) {
		fprintf(f, "\n              high:  %4d", pcp ? pcp->high : z->pcp_high);
		fprintf(f, "\n              batch: %4d", pcp ? pcp->batch : z->pcp_batch);
		fprintf(f, "\n              high_min: %d", z->pcp_high_min);
		fprintf(f, "\n              high_max: %d", z->pcp_high_max);
	} else {
		fprintf(f, "\n              high:  %d", pcp ? pcp->high : z->pcp_high);
		fprintf(f, "\n              batch: %d", pcp ? pcp->batch : z->pcp_batch);
	}
	fprintf(f, "\n  vm stats threshold: %u", s ? s->threshold : z->stat.threshold);
}

static void print_pagesets(const struct machine *m, FILE *f, const struct zone *z)
{
	fprintf(f, "\n  pagesets");
	for (u32 cpu = 0; cpu < m->nr_cpus; cpu++)
		print_pageset(m, f, z, cpu);
}

static void zoneinfo_4_0(const struct machine *m, FILE *f, struct zone *z)
{
	const struct counter_list *l = machine_counter_list(m);
	unsigned long reclaimable = 0;

	for (int lru = LRU_INACTIVE_ANON; lru <= LRU_ACTIVE_FILE; lru++)
		if (is_file_lru((enum lru_list)lru) || atomic_long_peek(&m->nr_swap_pages) > 0)
			reclaimable += peek(&z->stat, (enum vm_item)(NR_INACTIVE_ANON + lru));
	fprintf(f, "Node %u, zone %8s", z->pgdat->node_id, z->name);
	fprintf(f, "\n  pages free     %lu", peek(&z->stat, NR_FREE_PAGES));
	fprintf(f, "\n        min      %lu", z->_watermark[WMARK_MIN]);
	fprintf(f, "\n        low      %lu", z->_watermark[WMARK_LOW]);
	fprintf(f, "\n        high     %lu", z->_watermark[WMARK_HIGH]);
	fprintf(f, "\n        scanned  %lu", peek(&z->stat, NR_PAGES_SCANNED));
	fprintf(f, "\n        spanned  %lu", z->spanned_pages);
	fprintf(f, "\n        present  %lu", z->present_pages);
	fprintf(f, "\n        managed  %lu", z->managed_pages);
	print_items(f, "    ", l->zone, l->nr_zone, &z->stat, z);
	print_protection(m, f, z);
	print_pagesets(m, f, z);
	fprintf(f, "\n  all_unreclaimable: %u",
	        peek(&z->stat, NR_PAGES_SCANNED) >= reclaimable * 6);
	fprintf(f, "\n  start_pfn:         %lu", z->zone_start_pfn);
	fprintf(f, "\n  inactive_ratio:    %u\n", z->inactive_ratio);
}

static void zone_sizes_6_18(FILE *f, const struct zone *z)
{
	fprintf(f, "\n  pages free     %lu", peek(&z->stat, NR_FREE_PAGES));
	fprintf(f, "\n        boost    %lu", z->watermark_boost);
	fprintf(f, "\n        min      %lu", z->_watermark[WMARK_MIN]);
	fprintf(f, "\n        low      %lu", z->_watermark[WMARK_LOW]);
	fprintf(f, "\n        high     %lu", z->_watermark[WMARK_HIGH]);
	fprintf(f, "\n        promo    %lu", z->_watermark[WMARK_PROMO]);
	fprintf(f, "\n        spanned  %lu", z->spanned_pages);
	fprintf(f, "\n        present  %lu", z->present_pages);
	fprintf(f, "\n        managed  %lu", z->managed_pages);
	fprintf(f, "\n        cma      0");
}

/* @node_items: the first populated zone of its node shows them. */
static void zoneinfo_6_18(const struct machine *m, FILE *f, const struct zone *z, bool node_items)
{
	const struct counter_list *l = machine_counter_list(m);

	fprintf(f, "Node %u, zone %8s", z->pgdat->node_id, z->name);
	if (node_items) {
		fprintf(f, "\n  per-node stats");
		print_items(f, "      ", l->node, l->nr_node, &z->pgdat->stat, z);
	}
	zone_sizes_6_18(f, z);
	print_protection(m, f, z);
	if (!populated_zone(z)) {
		fprintf(f, "\n");
		return;
	}
	print_items(f, "      ", l->zone, l->nr_zone, &z->stat, z);
	print_pagesets(m, f, z);
	fprintf(f, "\n  node_unreclaimable:  %d", z->pgdat->kswapd_failures >= 16);
	fprintf(f, "\n  start_pfn:           %lu\n", z->zone_start_pfn);
}

static void node_zoneinfo_6_18(const struct machine *m, FILE *f, struct pglist_data *pgdat)
{
	const struct zone device = {.name = "Device", .pgdat = pgdat}; /* always empty */
	bool shown = false;

	for (struct zone *z = pgdat->zone; z < pgdat->zone + MAX_NR_ZONES; z++) {
		bool first = !shown && populated_zone(z);

		zoneinfo_6_18(m, f, z, first);
		shown |= first;
	}
	zoneinfo_6_18(m, f, &device, false);
}

void proc_zoneinfo(struct machine *m, FILE *f)
{
	struct pglist_data *pgdat;
	struct zone *z;

	if (is_6_18(m)) {
		for_each_node (m, pgdat)
			node_zoneinfo_6_18(m, f, pgdat);
		return;
	}
	for_each_populated_zone (m, pgdat, z)
		zoneinfo_4_0(m, f, z);
}

/* ---- meminfo ----------------------------------------------------------------------------------------- */

static void kb(FILE *f, const char *name, u64 pages)
{
	char label[32];

	snprintf(label, sizeof(label), "%s:", name);
	fprintf(f, "%-16s%8lu kB\n", label, pages << (PAGE_SHIFT - 10));
}

static u64 sum_low_marks(const struct machine *m)
{
	const struct pglist_data *pgdat;
	const struct zone *z;
	u64 sum = 0;

	for_each_zone (m, pgdat, z)
		sum += z->_watermark[WMARK_LOW];
	return sum;
}

/*
 * What could be allocated without swapping: free pages, and the page cache but for a part that will
 * be wanted. 3.14 left the low marks out of what is free, 4.6 all reserves.
 */
static u64 mem_available(struct machine *m)
{
	u64 low = sum_low_marks(m);
	u64 cache = global_page_state(m, NR_ACTIVE_FILE) + global_page_state(m, NR_INACTIVE_FILE);
	u64 free = global_page_state(m, NR_FREE_PAGES);
	u64 kept = is_6_18(m) ? m->totalreserve_pages : low;

	free += cache - min(cache / 2, low);
	return free > kept ? free - kept : 0;
}

static void meminfo_lists(struct machine *m, FILE *f)
{
	u64 lru[NR_LRU_LISTS];

	for (int l = 0; l < NR_LRU_LISTS; l++)
		lru[l] = global_page_state(m, (enum vm_item)(NR_INACTIVE_ANON + l));
	kb(f, "Active", lru[LRU_ACTIVE_ANON] + lru[LRU_ACTIVE_FILE]);
	kb(f, "Inactive", lru[LRU_INACTIVE_ANON] + lru[LRU_INACTIVE_FILE]);
	kb(f, "Active(anon)", lru[LRU_ACTIVE_ANON]);
	kb(f, "Inactive(anon)", lru[LRU_INACTIVE_ANON]);
	kb(f, "Active(file)", lru[LRU_ACTIVE_FILE]);
	kb(f, "Inactive(file)", lru[LRU_INACTIVE_FILE]);
	kb(f, "Unevictable", lru[LRU_UNEVICTABLE]);
	kb(f, "Mlocked", global_page_state(m, NR_MLOCK));
}

static void meminfo_kernel(struct machine *m, FILE *f, u64 slab)
{
	if (is_6_18(m))
		kb(f, "KReclaimable", 0);
	kb(f, "Slab", slab);
	kb(f, "SReclaimable", 0);
	kb(f, "SUnreclaim", slab);
	kb(f, "KernelStack", 0);
	kb(f, "PageTables", global_page_state(m, NR_PAGETABLE));
	if (is_6_18(m))
		kb(f, "SecPageTables", 0);
	kb(f, "NFS_Unstable", 0);
	kb(f, "Bounce", 0);
	kb(f, "WritebackTmp", 0);
	kb(f, "CommitLimit", vm_commit_limit(m));
	kb(f, "Committed_AS", (u64)vm_committed_exact(m));
	fprintf(f, "VmallocTotal:   34359738367 kB\n");
	kb(f, "VmallocUsed", 0);
	kb(f, "VmallocChunk", 0);
	if (is_6_18(m))
		kb(f, "Percpu", 0);
}

static void meminfo_huge(struct machine *m, FILE *f)
{
	static const char *const huge_6_18[] = {"ShmemHugePages", "ShmemPmdMapped", "FileHugePages",
	                                        "FilePmdMapped", "Balloon"};

	kb(f, "AnonHugePages", global_page_state(m, NR_ANON_THPS) * PAGEBLOCK_PAGES);
	for (u32 i = 0; is_6_18(m) && i < ARRAY_SIZE(huge_6_18); i++)
		kb(f, huge_6_18[i], 0);
	fprintf(f, "HugePages_Total:   %5u\nHugePages_Free:    %5u\n", 0, 0);
	fprintf(f, "HugePages_Rsvd:    %5u\nHugePages_Surp:    %5u\n", 0, 0);
	kb(f, "Hugepagesize", PAGEBLOCK_PAGES);
	if (is_6_18(m))
		kb(f, "Hugetlb", 0);
	/* The kernel maps all memory by large pages, and the odd ends by small ones. */
	kb(f, "DirectMap4k", m->max_pfn % PAGEBLOCK_PAGES);
	kb(f, "DirectMap2M", round_down(m->max_pfn, PAGEBLOCK_PAGES));
}

void proc_meminfo(struct machine *m, FILE *f)
{
	u64 swapcache = global_page_state(m, NR_SWAPCACHE);
	u64 files = global_page_state(m, NR_FILE_PAGES);
	long swap_free = atomic_long_peek(&m->nr_swap_pages);

	kb(f, "MemTotal", m->totalram_pages);
	kb(f, "MemFree", global_page_state(m, NR_FREE_PAGES));
	kb(f, "MemAvailable", mem_available(m));
	kb(f, "Buffers", 0);
	kb(f, "Cached", files > swapcache ? files - swapcache : 0);
	kb(f, "SwapCached", swapcache);
	meminfo_lists(m, f);
	kb(f, "SwapTotal", m->total_swap_pages);
	kb(f, "SwapFree", swap_free > 0 ? (u64)swap_free : 0);
	if (is_6_18(m)) {
		kb(f, "Zswap", 0);
		kb(f, "Zswapped", 0);
	}
	kb(f, "Dirty", global_page_state(m, NR_FILE_DIRTY));
	kb(f, "Writeback", global_page_state(m, NR_WRITEBACK));
	kb(f, "AnonPages", global_page_state(m, NR_ANON_MAPPED));
	kb(f, "Mapped", global_page_state(m, NR_FILE_MAPPED));
	kb(f, "Shmem", global_page_state(m, NR_SHMEM));
	meminfo_kernel(m, f, global_page_state(m, NR_SLAB_UNRECLAIMABLE));
	meminfo_huge(m, f);
}

/* ---- buddyinfo, pagetypeinfo ------------------------------------------------------------------------------- */

void proc_buddyinfo(struct machine *m, FILE *f)
{
	struct pglist_data *pgdat;
	struct zone *z;

	for_each_populated_zone (m, pgdat, z) {
		fprintf(f, "Node %u, zone %8s ", pgdat->node_id, z->name);
		for (int order = 0; order < MAX_ORDER; order++)
			fprintf(f, "%6lu ", z->free_area[order].nr_free);
		fprintf(f, "\n");
	}
}

/* The kernel's types, in its order; -1: one this model does not have. */
struct type_row {
	const char *name;
	int mt;
};

static const struct type_row types_4_0[] = {
	{"Unmovable", MIGRATE_UNMOVABLE},
	{"Reclaimable", MIGRATE_RECLAIMABLE},
	{"Movable", MIGRATE_MOVABLE},
	{"Reserve", -1},
	{"Isolate", -1},
};

static const struct type_row types_6_18[] = {
	{"Unmovable", MIGRATE_UNMOVABLE},
	{"Movable", MIGRATE_MOVABLE},
	{"Reclaimable", MIGRATE_RECLAIMABLE},
	{"HighAtomic", -1},
	{"Isolate", -1},
};

#define NR_TYPE_ROWS 5
_Static_assert(ARRAY_SIZE(types_4_0) == NR_TYPE_ROWS && ARRAY_SIZE(types_6_18) == NR_TYPE_ROWS,
               "as many types in both kernels");

static u64 nr_free_of_type(const struct zone *z, int order, int mt)
{
	u64 nr;

	if (mt < 0)
		return 0;
	nr = z->free_area[order].list[mt].nr;
	if (order == MAX_ORDER - 1 && mt == (int)fresh_type(z->machine))
		for (u32 i = z->fresh_next; i < z->nr_fresh; i++)
			nr += (z->fresh[i].end_pfn - z->fresh[i].start_pfn) >> order;
	return nr;
}

static void print_free_of_type(FILE *f, const struct zone *z, const struct type_row *t)
{
	fprintf(f, "Node %4u, zone %8s, type %12s ", z->pgdat->node_id, z->name, t->name);
	for (int order = 0; order < MAX_ORDER; order++) {
		u64 nr = nr_free_of_type(z, order, t->mt);

		/* 5.7: the kernel stops counting there, so as not to hold the lock for long. */
		if (is_6_18(z->machine) && nr >= 100000)
			fprintf(f, ">%6lu ", 100000UL);
		else
			fprintf(f, "%6lu ", nr);
	}
	fprintf(f, "\n");
}

static void print_block_counts(FILE *f, const struct zone *z, const struct type_row *row)
{
	u64 count[MIGRATE_TYPES] = {0};
	u64 pfn = z->zone_start_pfn;

	for (; pfn < zone_end_pfn(z); pfn = round_down(pfn, PAGEBLOCK_PAGES) + PAGEBLOCK_PAGES)
		count[get_pageblock_migratetype(z, pfn)] += 1;
	fprintf(f, "Node %u, zone %8s ", z->pgdat->node_id, z->name);
	for (int i = 0; i < NR_TYPE_ROWS; i++)
		fprintf(f, "%12lu ", row[i].mt < 0 ? 0 : count[row[i].mt]);
	fprintf(f, "\n");
}

static void node_pagetypeinfo(const struct machine *m, FILE *f, struct pglist_data *pgdat)
{
	const struct type_row *row = is_6_18(m) ? types_6_18 : types_4_0;
	struct zone *end = pgdat->zone + MAX_NR_ZONES;

	fprintf(f, "Page block order: %d\nPages per block:  %lu\n\n", PAGEBLOCK_ORDER,
	        PAGEBLOCK_PAGES);
	fprintf(f, "%-43s ", "Free pages count per migrate type at order");
	for (int order = 0; order < MAX_ORDER; order++)
		fprintf(f, "%6d ", order);
	fprintf(f, "\n");
	for (struct zone *z = pgdat->zone; z < end; z++)
		for (int i = 0; populated_zone(z) && i < NR_TYPE_ROWS; i++)
			print_free_of_type(f, z, &row[i]);
	fprintf(f, "\n%-23s", "Number of blocks type ");
	for (int i = 0; i < NR_TYPE_ROWS; i++)
		fprintf(f, "%12s ", row[i].name);
	fprintf(f, "\n");
	for (struct zone *z = pgdat->zone; z < end; z++)
		if (populated_zone(z))
			print_block_counts(f, z, row);
}

void proc_pagetypeinfo(struct machine *m, FILE *f)
{
	struct pglist_data *pgdat;

	for_each_node (m, pgdat)
		if (pgdat->node_spanned_pages)
			node_pagetypeinfo(m, f, pgdat);
}
