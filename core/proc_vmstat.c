/*
 * /proc/vmstat: the counters of each kernel, under its names and in its order.
 *
 * 6.18's, as the live file has it, and 3.12's with what 4.0 had added (and the
 * two counters of the MADV_FREE series, which mail 000's tree carried). What this model does not
 * count is printed as 0. Like the kernel's file, reading does not fold differences, so amounts may
 * be off by CPUs x threshold; events are exact.
 */
#include <string.h>

#include "core/proc.h"
#include "core/writeback.h"

/* clang-format off */
#define NONE(text) {text, COUNTER_NONE, 0}
#define ITEM(id, text) {text, COUNTER_ITEM, id}
#define TOTAL(id, text) {text, COUNTER_TOTAL, id}
#define EVENT(id, text) {text, COUNTER_EVENT, id}
#define ZONES(id, text) {text, COUNTER_ZONES, id}
#define BLOCKS(id, text) {text, COUNTER_BLOCKS, id}
#define LIMIT(id, text) {text, COUNTER_LIMIT, id}

/* ---- 4.0 ---- */

static const struct counter zone_4_0[] = {
	ITEM(NR_FREE_PAGES, "nr_free_pages"), ITEM(NR_ALLOC_BATCH, "nr_alloc_batch"),
	ITEM(NR_INACTIVE_ANON, "nr_inactive_anon"), ITEM(NR_ACTIVE_ANON, "nr_active_anon"),
	ITEM(NR_INACTIVE_FILE, "nr_inactive_file"), ITEM(NR_ACTIVE_FILE, "nr_active_file"),
	ITEM(NR_UNEVICTABLE, "nr_unevictable"), ITEM(NR_MLOCK, "nr_mlock"),
	ITEM(NR_ANON_MAPPED, "nr_anon_pages"), ITEM(NR_FILE_MAPPED, "nr_mapped"),
	ITEM(NR_FILE_PAGES, "nr_file_pages"), ITEM(NR_FILE_DIRTY, "nr_dirty"),
	ITEM(NR_WRITEBACK, "nr_writeback"), NONE("nr_slab_reclaimable"),
	ITEM(NR_SLAB_UNRECLAIMABLE, "nr_slab_unreclaimable"),
	ITEM(NR_PAGETABLE, "nr_page_table_pages"), ITEM(NR_KERNEL_STACK, "nr_kernel_stack"),
	NONE("nr_unstable"), NONE("nr_bounce"), TOTAL(NR_VMSCAN_WRITE, "nr_vmscan_write"),
	TOTAL(NR_VMSCAN_IMMEDIATE, "nr_vmscan_immediate_reclaim"), NONE("nr_writeback_temp"),
	ITEM(NR_ISOLATED_ANON, "nr_isolated_anon"), ITEM(NR_ISOLATED_FILE, "nr_isolated_file"),
	ITEM(NR_SHMEM, "nr_shmem"), TOTAL(NR_DIRTIED, "nr_dirtied"), TOTAL(NR_WRITTEN, "nr_written"),
	ITEM(NR_PAGES_SCANNED, "nr_pages_scanned"), TOTAL(NUMA_HIT, "numa_hit"),
	TOTAL(NUMA_MISS, "numa_miss"), TOTAL(NUMA_FOREIGN, "numa_foreign"),
	TOTAL(NUMA_INTERLEAVE_HIT, "numa_interleave"), TOTAL(NUMA_LOCAL, "numa_local"), TOTAL(NUMA_OTHER, "numa_other"),
	TOTAL(WORKINGSET_REFAULT_FILE, "workingset_refault"),
	TOTAL(WORKINGSET_ACTIVATE_FILE, "workingset_activate"),
	TOTAL(WORKINGSET_NODERECLAIM, "workingset_nodereclaim"),
	ITEM(NR_ANON_THPS, "nr_anon_transparent_hugepages"), NONE("nr_free_cma"),
};

static const struct counter event_4_0[] = {
	LIMIT(false, "nr_dirty_threshold"), LIMIT(true, "nr_dirty_background_threshold"),
	EVENT(PGPGIN, "pgpgin"), EVENT(PGPGOUT, "pgpgout"), EVENT(PSWPIN, "pswpin"),
	EVENT(PSWPOUT, "pswpout"), EVENT(PGALLOC_DMA, "pgalloc_dma"),
	EVENT(PGALLOC_DMA32, "pgalloc_dma32"), EVENT(PGALLOC_NORMAL, "pgalloc_normal"),
	EVENT(PGALLOC_MOVABLE, "pgalloc_movable"), EVENT(PGFREE, "pgfree"),
	EVENT(PGACTIVATE, "pgactivate"), EVENT(PGDEACTIVATE, "pgdeactivate"),
	EVENT(PGFAULT, "pgfault"), EVENT(PGMAJFAULT, "pgmajfault"),
	EVENT(PGLAZYFREE, "pglazyfree"), EVENT(PGLAZYFREED, "pglazyfreed"),
	EVENT(PGREFILL_DMA, "pgrefill_dma"), EVENT(PGREFILL_DMA32, "pgrefill_dma32"),
	EVENT(PGREFILL_NORMAL, "pgrefill_normal"), EVENT(PGREFILL_MOVABLE, "pgrefill_movable"),
	EVENT(PGSTEAL_KSWAPD_DMA, "pgsteal_kswapd_dma"),
	EVENT(PGSTEAL_KSWAPD_DMA32, "pgsteal_kswapd_dma32"),
	EVENT(PGSTEAL_KSWAPD_NORMAL, "pgsteal_kswapd_normal"),
	EVENT(PGSTEAL_KSWAPD_MOVABLE, "pgsteal_kswapd_movable"),
	EVENT(PGSTEAL_DIRECT_DMA, "pgsteal_direct_dma"),
	EVENT(PGSTEAL_DIRECT_DMA32, "pgsteal_direct_dma32"),
	EVENT(PGSTEAL_DIRECT_NORMAL, "pgsteal_direct_normal"),
	EVENT(PGSTEAL_DIRECT_MOVABLE, "pgsteal_direct_movable"),
	EVENT(PGSCAN_KSWAPD_DMA, "pgscan_kswapd_dma"),
	EVENT(PGSCAN_KSWAPD_DMA32, "pgscan_kswapd_dma32"),
	EVENT(PGSCAN_KSWAPD_NORMAL, "pgscan_kswapd_normal"),
	EVENT(PGSCAN_KSWAPD_MOVABLE, "pgscan_kswapd_movable"),
	EVENT(PGSCAN_DIRECT_DMA, "pgscan_direct_dma"),
	EVENT(PGSCAN_DIRECT_DMA32, "pgscan_direct_dma32"),
	EVENT(PGSCAN_DIRECT_NORMAL, "pgscan_direct_normal"),
	EVENT(PGSCAN_DIRECT_MOVABLE, "pgscan_direct_movable"),
	EVENT(PGSCAN_DIRECT_THROTTLE, "pgscan_direct_throttle"), EVENT(ZONE_RECLAIM_FAILED, "zone_reclaim_failed"),
	NONE("pginodesteal"), EVENT(SLABS_SCANNED, "slabs_scanned"), NONE("kswapd_inodesteal"),
	EVENT(KSWAPD_LOW_WMARK_HIT_QUICKLY, "kswapd_low_wmark_hit_quickly"),
	EVENT(KSWAPD_HIGH_WMARK_HIT_QUICKLY, "kswapd_high_wmark_hit_quickly"),
	EVENT(PAGEOUTRUN, "pageoutrun"), ZONES(ALLOCSTALL_DMA, "allocstall"),
	EVENT(PGROTATED, "pgrotated"), EVENT(DROP_PAGECACHE, "drop_pagecache"), EVENT(DROP_SLAB, "drop_slab"),
	NONE("numa_pte_updates"), NONE("numa_huge_pte_updates"), NONE("numa_hint_faults"),
	NONE("numa_hint_faults_local"), NONE("numa_pages_migrated"), EVENT(PGMIGRATE_SUCCESS, "pgmigrate_success"),
	EVENT(PGMIGRATE_FAIL, "pgmigrate_fail"), EVENT(COMPACTMIGRATE_SCANNED, "compact_migrate_scanned"), EVENT(COMPACTFREE_SCANNED, "compact_free_scanned"),
	EVENT(COMPACTISOLATED, "compact_isolated"), EVENT(COMPACTSTALL, "compact_stall"), EVENT(COMPACTFAIL, "compact_fail"),
	EVENT(COMPACTSUCCESS, "compact_success"), NONE("htlb_buddy_alloc_success"), NONE("htlb_buddy_alloc_fail"),
	EVENT(UNEVICTABLE_PGCULLED, "unevictable_pgs_culled"), NONE("unevictable_pgs_scanned"),
	EVENT(UNEVICTABLE_PGRESCUED, "unevictable_pgs_rescued"), EVENT(UNEVICTABLE_PGMLOCKED, "unevictable_pgs_mlocked"),
	EVENT(UNEVICTABLE_PGMUNLOCKED, "unevictable_pgs_munlocked"), EVENT(UNEVICTABLE_PGCLEARED, "unevictable_pgs_cleared"),
	EVENT(UNEVICTABLE_PGSTRANDED, "unevictable_pgs_stranded"), EVENT(THP_FAULT_ALLOC, "thp_fault_alloc"), EVENT(THP_FAULT_FALLBACK, "thp_fault_fallback"),
	EVENT(THP_COLLAPSE_ALLOC, "thp_collapse_alloc"), EVENT(THP_COLLAPSE_ALLOC_FAILED, "thp_collapse_alloc_failed"), EVENT(THP_SPLIT_PAGE, "thp_split"),
	EVENT(THP_SPLIT_PAGE, "thp_split_page"),
	EVENT(THP_SPLIT_PAGE_FAILED, "thp_split_page_failed"),
	EVENT(THP_DEFERRED_SPLIT_PAGE, "thp_deferred_split_page"),
	EVENT(THP_SPLIT_PMD, "thp_split_pmd"),
	EVENT(THP_ZERO_PAGE_ALLOC, "thp_zero_page_alloc"), EVENT(THP_ZERO_PAGE_ALLOC_FAILED, "thp_zero_page_alloc_failed"), NONE("balloon_inflate"),
	NONE("balloon_deflate"), NONE("balloon_migrate"),
};

/* ---- 6.18 ---- */

static const struct counter zone_6_18[] = {
	ITEM(NR_FREE_PAGES, "nr_free_pages"), BLOCKS(0, "nr_free_pages_blocks"),
	ITEM(NR_ZONE_INACTIVE_ANON, "nr_zone_inactive_anon"),
	ITEM(NR_ZONE_ACTIVE_ANON, "nr_zone_active_anon"),
	ITEM(NR_ZONE_INACTIVE_FILE, "nr_zone_inactive_file"),
	ITEM(NR_ZONE_ACTIVE_FILE, "nr_zone_active_file"),
	ITEM(NR_ZONE_UNEVICTABLE, "nr_zone_unevictable"),
	ITEM(NR_ZONE_WRITE_PENDING, "nr_zone_write_pending"), ITEM(NR_MLOCK, "nr_mlock"),
	ITEM(NR_ZSPAGES, "nr_zspages"), NONE("nr_free_cma"), TOTAL(NUMA_HIT, "numa_hit"),
	TOTAL(NUMA_MISS, "numa_miss"), TOTAL(NUMA_FOREIGN, "numa_foreign"),
	TOTAL(NUMA_INTERLEAVE_HIT, "numa_interleave"), TOTAL(NUMA_LOCAL, "numa_local"), TOTAL(NUMA_OTHER, "numa_other"),
};

static const struct counter node_6_18[] = {
	ITEM(NR_INACTIVE_ANON, "nr_inactive_anon"), ITEM(NR_ACTIVE_ANON, "nr_active_anon"),
	ITEM(NR_INACTIVE_FILE, "nr_inactive_file"), ITEM(NR_ACTIVE_FILE, "nr_active_file"),
	ITEM(NR_UNEVICTABLE, "nr_unevictable"), NONE("nr_slab_reclaimable"),
	ITEM(NR_SLAB_UNRECLAIMABLE, "nr_slab_unreclaimable"),
	ITEM(NR_ISOLATED_ANON, "nr_isolated_anon"), ITEM(NR_ISOLATED_FILE, "nr_isolated_file"),
	ITEM(WORKINGSET_NODES, "workingset_nodes"),
	TOTAL(WORKINGSET_REFAULT_ANON, "workingset_refault_anon"),
	TOTAL(WORKINGSET_REFAULT_FILE, "workingset_refault_file"),
	TOTAL(WORKINGSET_ACTIVATE_ANON, "workingset_activate_anon"),
	TOTAL(WORKINGSET_ACTIVATE_FILE, "workingset_activate_file"),
	TOTAL(WORKINGSET_RESTORE_ANON, "workingset_restore_anon"),
	TOTAL(WORKINGSET_RESTORE_FILE, "workingset_restore_file"), TOTAL(WORKINGSET_NODERECLAIM, "workingset_nodereclaim"),
	ITEM(NR_ANON_MAPPED, "nr_anon_pages"), ITEM(NR_FILE_MAPPED, "nr_mapped"),
	ITEM(NR_FILE_PAGES, "nr_file_pages"), ITEM(NR_FILE_DIRTY, "nr_dirty"),
	ITEM(NR_WRITEBACK, "nr_writeback"), ITEM(NR_SHMEM, "nr_shmem"), NONE("nr_shmem_hugepages"),
	NONE("nr_shmem_pmdmapped"), NONE("nr_file_hugepages"), NONE("nr_file_pmdmapped"),
	ITEM(NR_ANON_THPS, "nr_anon_transparent_hugepages"), TOTAL(NR_VMSCAN_WRITE, "nr_vmscan_write"),
	TOTAL(NR_VMSCAN_IMMEDIATE, "nr_vmscan_immediate_reclaim"),
	TOTAL(NR_DIRTIED, "nr_dirtied"), TOTAL(NR_WRITTEN, "nr_written"),
	TOTAL(NR_THROTTLED_WRITTEN, "nr_throttled_written"), NONE("nr_kernel_misc_reclaimable"),
	NONE("nr_foll_pin_acquired"), NONE("nr_foll_pin_released"),
	ITEM(NR_KERNEL_STACK, "nr_kernel_stack"), ITEM(NR_PAGETABLE, "nr_page_table_pages"),
	NONE("nr_sec_page_table_pages"), NONE("nr_iommu_pages"),
	ITEM(NR_SWAPCACHE, "nr_swapcached"), NONE("pgpromote_success"),
	NONE("pgpromote_candidate"), NONE("pgpromote_candidate_nrl"), NONE("pgdemote_kswapd"),
	NONE("pgdemote_direct"), NONE("pgdemote_khugepaged"), NONE("pgdemote_proactive"),
	NONE("nr_hugetlb"), NONE("nr_balloon_pages"), NONE("nr_kernel_file_pages"),
};

static const struct counter event_6_18[] = {
	LIMIT(false, "nr_dirty_threshold"), LIMIT(true, "nr_dirty_background_threshold"),
	NONE("nr_memmap_pages"), NONE("nr_memmap_boot_pages"), EVENT(PGPGIN, "pgpgin"),
	EVENT(PGPGOUT, "pgpgout"), EVENT(PSWPIN, "pswpin"), EVENT(PSWPOUT, "pswpout"),
	EVENT(PGALLOC_DMA, "pgalloc_dma"), EVENT(PGALLOC_DMA32, "pgalloc_dma32"),
	EVENT(PGALLOC_NORMAL, "pgalloc_normal"), EVENT(PGALLOC_MOVABLE, "pgalloc_movable"),
	NONE("pgalloc_device"), EVENT(ALLOCSTALL_DMA, "allocstall_dma"),
	EVENT(ALLOCSTALL_DMA32, "allocstall_dma32"),
	EVENT(ALLOCSTALL_NORMAL, "allocstall_normal"),
	EVENT(ALLOCSTALL_MOVABLE, "allocstall_movable"), NONE("allocstall_device"),
	EVENT(PGSKIP_DMA, "pgskip_dma"), EVENT(PGSKIP_DMA32, "pgskip_dma32"),
	EVENT(PGSKIP_NORMAL, "pgskip_normal"), EVENT(PGSKIP_MOVABLE, "pgskip_movable"),
	NONE("pgskip_device"), EVENT(PGFREE, "pgfree"), EVENT(PGACTIVATE, "pgactivate"),
	EVENT(PGDEACTIVATE, "pgdeactivate"), EVENT(PGLAZYFREE, "pglazyfree"),
	EVENT(PGFAULT, "pgfault"), EVENT(PGMAJFAULT, "pgmajfault"),
	EVENT(PGLAZYFREED, "pglazyfreed"), ZONES(PGREFILL_DMA, "pgrefill"),
	EVENT(PGREUSE, "pgreuse"), ZONES(PGSTEAL_KSWAPD_DMA, "pgsteal_kswapd"),
	ZONES(PGSTEAL_DIRECT_DMA, "pgsteal_direct"), NONE("pgsteal_khugepaged"),
	NONE("pgsteal_proactive"), ZONES(PGSCAN_KSWAPD_DMA, "pgscan_kswapd"),
	ZONES(PGSCAN_DIRECT_DMA, "pgscan_direct"), NONE("pgscan_khugepaged"),
	NONE("pgscan_proactive"), EVENT(PGSCAN_DIRECT_THROTTLE, "pgscan_direct_throttle"),
	EVENT(PGSCAN_ANON, "pgscan_anon"), EVENT(PGSCAN_FILE, "pgscan_file"),
	EVENT(PGSTEAL_ANON, "pgsteal_anon"), EVENT(PGSTEAL_FILE, "pgsteal_file"),
	EVENT(ZONE_RECLAIM_SUCCESS, "zone_reclaim_success"),
	EVENT(ZONE_RECLAIM_FAILED, "zone_reclaim_failed"), NONE("pginodesteal"),
	EVENT(SLABS_SCANNED, "slabs_scanned"), NONE("kswapd_inodesteal"),
	EVENT(KSWAPD_LOW_WMARK_HIT_QUICKLY, "kswapd_low_wmark_hit_quickly"),
	EVENT(KSWAPD_HIGH_WMARK_HIT_QUICKLY, "kswapd_high_wmark_hit_quickly"),
	EVENT(PAGEOUTRUN, "pageoutrun"), EVENT(PGROTATED, "pgrotated"), EVENT(DROP_PAGECACHE, "drop_pagecache"),
	EVENT(DROP_SLAB, "drop_slab"), EVENT(OOM_KILL, "oom_kill"), NONE("numa_pte_updates"),
	NONE("numa_huge_pte_updates"), NONE("numa_hint_faults"), NONE("numa_hint_faults_local"),
	NONE("numa_pages_migrated"), EVENT(PGMIGRATE_SUCCESS, "pgmigrate_success"), EVENT(PGMIGRATE_FAIL, "pgmigrate_fail"),
	EVENT(THP_MIGRATION_SUCCESS, "thp_migration_success"), EVENT(THP_MIGRATION_FAIL, "thp_migration_fail"), EVENT(THP_MIGRATION_SPLIT, "thp_migration_split"),
	EVENT(COMPACTMIGRATE_SCANNED, "compact_migrate_scanned"), EVENT(COMPACTFREE_SCANNED, "compact_free_scanned"), EVENT(COMPACTISOLATED, "compact_isolated"),
	EVENT(COMPACTSTALL, "compact_stall"), EVENT(COMPACTFAIL, "compact_fail"), EVENT(COMPACTSUCCESS, "compact_success"),
	EVENT(KCOMPACTD_WAKE, "compact_daemon_wake"), EVENT(KCOMPACTD_MIGRATE_SCANNED, "compact_daemon_migrate_scanned"),
	EVENT(KCOMPACTD_FREE_SCANNED, "compact_daemon_free_scanned"), NONE("htlb_buddy_alloc_success"),
	NONE("htlb_buddy_alloc_fail"), EVENT(UNEVICTABLE_PGCULLED, "unevictable_pgs_culled"),
	NONE("unevictable_pgs_scanned"), EVENT(UNEVICTABLE_PGRESCUED, "unevictable_pgs_rescued"),
	EVENT(UNEVICTABLE_PGMLOCKED, "unevictable_pgs_mlocked"), EVENT(UNEVICTABLE_PGMUNLOCKED, "unevictable_pgs_munlocked"),
	EVENT(UNEVICTABLE_PGCLEARED, "unevictable_pgs_cleared"), EVENT(UNEVICTABLE_PGSTRANDED, "unevictable_pgs_stranded"),
	EVENT(THP_FAULT_ALLOC, "thp_fault_alloc"), EVENT(THP_FAULT_FALLBACK, "thp_fault_fallback"), NONE("thp_fault_fallback_charge"),
	EVENT(THP_COLLAPSE_ALLOC, "thp_collapse_alloc"), EVENT(THP_COLLAPSE_ALLOC_FAILED, "thp_collapse_alloc_failed"), NONE("thp_file_alloc"),
	NONE("thp_file_fallback"), NONE("thp_file_fallback_charge"), NONE("thp_file_mapped"),
	EVENT(THP_SPLIT_PAGE, "thp_split_page"), EVENT(THP_SPLIT_PAGE_FAILED, "thp_split_page_failed"), EVENT(THP_DEFERRED_SPLIT_PAGE, "thp_deferred_split_page"),
	NONE("thp_underused_split_page"), EVENT(THP_SPLIT_PMD, "thp_split_pmd"), EVENT(THP_SCAN_EXCEED_NONE_PTE, "thp_scan_exceed_none_pte"),
	EVENT(THP_SCAN_EXCEED_SWAP_PTE, "thp_scan_exceed_swap_pte"), EVENT(THP_SCAN_EXCEED_SHARE_PTE, "thp_scan_exceed_share_pte"),
	NONE("thp_split_pud"), EVENT(THP_ZERO_PAGE_ALLOC, "thp_zero_page_alloc"), EVENT(THP_ZERO_PAGE_ALLOC_FAILED, "thp_zero_page_alloc_failed"),
	EVENT(THP_SWPOUT, "thp_swpout"), EVENT(THP_SWPOUT_FALLBACK, "thp_swpout_fallback"), NONE("balloon_inflate"),
	NONE("balloon_deflate"), NONE("balloon_migrate"), EVENT(SWAP_RA, "swap_ra"),
	EVENT(SWAP_RA_HIT, "swap_ra_hit"), NONE("swpin_zero"), NONE("swpout_zero"),
	NONE("ksm_swpin_copy"), NONE("cow_ksm"), NONE("zswpin"), NONE("zswpout"), NONE("zswpwb"),
	NONE("direct_map_level2_splits"), NONE("direct_map_level3_splits"),
	NONE("direct_map_level2_collapses"), NONE("direct_map_level3_collapses"),
	NONE("nr_unstable"),
};

/* clang-format on */

static const struct counter_list list_4_0 = {
	zone_4_0, ARRAY_SIZE(zone_4_0), NULL, 0, event_4_0, ARRAY_SIZE(event_4_0),
};

static const struct counter_list list_6_18 = {
	zone_6_18,  ARRAY_SIZE(zone_6_18),  node_6_18, ARRAY_SIZE(node_6_18),
	event_6_18, ARRAY_SIZE(event_6_18),
};

/* The lists go with the split of counters into zones' and nodes'. */
const struct counter_list *machine_counter_list(const struct machine *m)
{
	return m->knob.lru_per == LRU_PER_ZONE ? &list_4_0 : &list_6_18;
}

/* ---- values ------------------------------------------------------------------------------------------ */

static u64 not_negative(long v)
{
	return v > 0 ? (u64)v : 0;
}

u64 counter_of_holder(const struct counter *c, const struct stat_holder *h)
{
	if (c->kind != COUNTER_ITEM && c->kind != COUNTER_TOTAL)
		return 0;
	return not_negative(atomic_long_peek(&h->v[c->id]));
}

u64 zone_free_in_blocks(const struct zone *z)
{
	u64 sum = 0;

	for (int order = PAGEBLOCK_ORDER; order < MAX_ORDER; order++)
		sum += z->free_area[order].nr_free << order;
	return sum;
}

static u64 free_in_blocks(const struct machine *m)
{
	const struct pglist_data *pgdat;
	const struct zone *z;
	u64 sum = 0;

	for_each_populated_zone (m, pgdat, z)
		sum += zone_free_in_blocks(z);
	return sum;
}

static u64 counter_value(const struct machine *m, const struct counter *c)
{
	switch ((enum counter_kind)c->kind) {
	case COUNTER_ITEM:
	case COUNTER_TOTAL:
		return not_negative(atomic_long_peek(&m->vm_stat.v[c->id]));
	case COUNTER_EVENT:
		return vm_event_sum(m, (enum vm_event)c->id);
	case COUNTER_ZONES:
		return vm_event_zones(m, (enum vm_event)c->id);
	case COUNTER_BLOCKS:
		return free_in_blocks(m);
	case COUNTER_LIMIT:
		return dirty_limit_peek(m, c->id);
	case COUNTER_NONE:
		break;
	}
	return 0;
}

typedef void counter_fn(const char *name, u64 value, bool event, void *arg);

/* 4.5 has four counters instead of thp_split. */
static bool counter_exists(const struct machine *m, const struct counter *c)
{
	bool new = m->knob.thp_partial == THP_PARTIAL_PMD;

	if (c->kind != COUNTER_EVENT)
		return true;
	switch (c->id) {
	case THP_SPLIT_PAGE:
		if (machine_counter_list(m) != &list_4_0)
			return true;
		return new == (strcmp(c->name, "thp_split") != 0);
	case THP_SPLIT_PAGE_FAILED:
	case THP_DEFERRED_SPLIT_PAGE:
	case THP_SPLIT_PMD:
		return new || machine_counter_list(m) != &list_4_0;
	}
	return true;
}

static void counters(struct machine *m, const struct counter *c, u32 nr, counter_fn *fn, void *arg)
{
	for (u32 i = 0; i < nr; i++)
		if (counter_exists(m, &c[i]))
			fn(c[i].name, counter_value(m, &c[i]),
			   c[i].kind == COUNTER_TOTAL || c[i].kind == COUNTER_EVENT ||
			           c[i].kind == COUNTER_ZONES,
			   arg);
}

/* @event: a total that only grows, of which differences make sense. */
void machine_counters(struct machine *m, counter_fn *fn, void *arg)
{
	const struct counter_list *l = machine_counter_list(m);

	counters(m, l->zone, l->nr_zone, fn, arg);
	counters(m, l->node, l->nr_node, fn, arg);
	counters(m, l->event, l->nr_event, fn, arg);
}

static void print_counter(const char *name, u64 value, bool event, void *arg)
{
	(void)event;
	fprintf(arg, "%s %lu\n", name, value);
}

void proc_vmstat(struct machine *m, FILE *f)
{
	machine_counters(m, print_counter, f);
}
