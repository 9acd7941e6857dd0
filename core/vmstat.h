/*
 * Counters: their names, and how they are read and changed.
 *
 * Items (nr_...) are amounts. Each belongs to a zone or a node and is kept as a global value plus a
 * small signed difference per CPU, folded when it passes a threshold. Events
 * (pgfault, ...) are per-CPU totals that only grow. Names are those of /proc/vmstat.
 */
#ifndef CORE_VMSTAT_H
#define CORE_VMSTAT_H

#include "lib/types.h"

struct machine;
struct zone;
struct pglist_data;

/* X(NAME, "proc name", where it is kept from 4.8 on: ZONE or NODE). Before, all are per zone. */
#define VM_ITEMS(X)                                                                                \
	X(NR_FREE_PAGES, "nr_free_pages", ZONE)                                                    \
	X(NR_ALLOC_BATCH, "nr_alloc_batch", ZONE)                                                  \
	X(NR_INACTIVE_ANON, "nr_inactive_anon", NODE)                                              \
	X(NR_ACTIVE_ANON, "nr_active_anon", NODE)                                                  \
	X(NR_INACTIVE_FILE, "nr_inactive_file", NODE)                                              \
	X(NR_ACTIVE_FILE, "nr_active_file", NODE)                                                  \
	X(NR_UNEVICTABLE, "nr_unevictable", NODE)                                                  \
	X(NR_ZONE_INACTIVE_ANON, "nr_zone_inactive_anon", ZONE)                                    \
	X(NR_ZONE_ACTIVE_ANON, "nr_zone_active_anon", ZONE)                                        \
	X(NR_ZONE_INACTIVE_FILE, "nr_zone_inactive_file", ZONE)                                    \
	X(NR_ZONE_ACTIVE_FILE, "nr_zone_active_file", ZONE)                                        \
	X(NR_ZONE_UNEVICTABLE, "nr_zone_unevictable", ZONE)                                        \
	X(NR_ZONE_WRITE_PENDING, "nr_zone_write_pending", ZONE)                                    \
	X(NR_MLOCK, "nr_mlock", ZONE)                                                              \
	X(NR_ZSPAGES, "nr_zspages", ZONE)                                                          \
	X(NR_ANON_MAPPED, "nr_anon_pages", NODE)                                                   \
	X(NR_ANON_THPS, "nr_anon_transparent_hugepages", NODE)                                     \
	X(NR_FILE_MAPPED, "nr_mapped", NODE)                                                       \
	X(NR_FILE_PAGES, "nr_file_pages", NODE)                                                    \
	X(NR_SHMEM, "nr_shmem", NODE)                                                              \
	X(NR_FILE_DIRTY, "nr_dirty", NODE)                                                         \
	X(NR_WRITEBACK, "nr_writeback", NODE)                                                      \
	X(NR_SLAB_UNRECLAIMABLE, "nr_slab_unreclaimable", NODE)                                    \
	X(NR_PAGETABLE, "nr_page_table_pages", NODE)                                               \
	X(NR_KERNEL_STACK, "nr_kernel_stack", NODE)                                                \
	X(NR_ISOLATED_ANON, "nr_isolated_anon", NODE)                                              \
	X(NR_ISOLATED_FILE, "nr_isolated_file", NODE)                                              \
	X(NR_VMSCAN_WRITE, "nr_vmscan_write", NODE)                                                \
	X(NR_VMSCAN_IMMEDIATE, "nr_vmscan_immediate_reclaim", NODE)                                \
	X(NR_WRITTEN, "nr_written", NODE)                                                          \
	X(NR_DIRTIED, "nr_dirtied", NODE)                                                          \
	X(NR_THROTTLED_WRITTEN, "nr_throttled_written", NODE)                                      \
	X(NR_SWAPCACHE, "nr_swapcached", NODE)                                                     \
	X(NR_PAGES_SCANNED, "nr_pages_scanned", ZONE)                                              \
	X(WORKINGSET_NODES, "workingset_nodes", NODE)                                              \
	X(WORKINGSET_REFAULT_ANON, "workingset_refault_anon", NODE)                                \
	X(WORKINGSET_REFAULT_FILE, "workingset_refault_file", NODE)                                \
	X(WORKINGSET_ACTIVATE_ANON, "workingset_activate_anon", NODE)                              \
	X(WORKINGSET_ACTIVATE_FILE, "workingset_activate_file", NODE)                              \
	X(WORKINGSET_RESTORE_ANON, "workingset_restore_anon", NODE)                                \
	X(WORKINGSET_RESTORE_FILE, "workingset_restore_file", NODE)                                \
	X(WORKINGSET_NODERECLAIM, "workingset_nodereclaim", NODE)                                  \
	X(NUMA_INTERLEAVE_HIT, "numa_interleave", ZONE)                                            \
	X(NUMA_HIT, "numa_hit", ZONE)                                                              \
	X(NUMA_MISS, "numa_miss", ZONE)                                                            \
	X(NUMA_FOREIGN, "numa_foreign", ZONE)                                                      \
	X(NUMA_LOCAL, "numa_local", ZONE)                                                          \
	X(NUMA_OTHER, "numa_other", ZONE)

enum vm_item {
#define X(name, text, where) name,
	VM_ITEMS(X)
#undef X
		NR_VM_ITEMS
};

/* Events counted per zone in some era: four consecutive ones, in zone order. */
#define FOR_ALL_ZONES(X, NAME, text)                                                               \
	X(NAME##_DMA, text "_dma")                                                                 \
	X(NAME##_DMA32, text "_dma32")                                                             \
	X(NAME##_NORMAL, text "_normal")                                                           \
	X(NAME##_MOVABLE, text "_movable")

#define VM_EVENTS(X)                                                                               \
	X(PGPGIN, "pgpgin")                                                                        \
	X(PGPGOUT, "pgpgout")                                                                      \
	X(PSWPIN, "pswpin")                                                                        \
	X(PSWPOUT, "pswpout")                                                                      \
	FOR_ALL_ZONES(X, PGALLOC, "pgalloc")                                                       \
	FOR_ALL_ZONES(X, ALLOCSTALL, "allocstall")                                                 \
	FOR_ALL_ZONES(X, PGSKIP, "pgskip")                                                         \
	X(PGFREE, "pgfree")                                                                        \
	X(PGACTIVATE, "pgactivate")                                                                \
	X(PGDEACTIVATE, "pgdeactivate")                                                            \
	X(PGLAZYFREE, "pglazyfree")                                                                \
	X(PGFAULT, "pgfault")                                                                      \
	X(PGMAJFAULT, "pgmajfault")                                                                \
	X(PGLAZYFREED, "pglazyfreed")                                                              \
	FOR_ALL_ZONES(X, PGREFILL, "pgrefill")                                                     \
	X(PGREUSE, "pgreuse")                                                                      \
	FOR_ALL_ZONES(X, PGSTEAL_KSWAPD, "pgsteal_kswapd")                                         \
	FOR_ALL_ZONES(X, PGSTEAL_DIRECT, "pgsteal_direct")                                         \
	FOR_ALL_ZONES(X, PGSCAN_KSWAPD, "pgscan_kswapd")                                           \
	FOR_ALL_ZONES(X, PGSCAN_DIRECT, "pgscan_direct")                                           \
	X(PGSCAN_DIRECT_THROTTLE, "pgscan_direct_throttle")                                        \
	X(PGSCAN_ANON, "pgscan_anon")                                                              \
	X(PGSCAN_FILE, "pgscan_file")                                                              \
	X(PGSTEAL_ANON, "pgsteal_anon")                                                            \
	X(PGSTEAL_FILE, "pgsteal_file")                                                            \
	X(KSWAPD_LOW_WMARK_HIT_QUICKLY, "kswapd_low_wmark_hit_quickly")                            \
	X(KSWAPD_HIGH_WMARK_HIT_QUICKLY, "kswapd_high_wmark_hit_quickly")                          \
	X(KSWAPD_SKIP_CONGESTION_WAIT, "kswapd_skip_congestion_wait")                              \
	X(ZONE_RECLAIM_SUCCESS, "zone_reclaim_success")                                            \
	X(ZONE_RECLAIM_FAILED, "zone_reclaim_failed")                                              \
	X(PAGEOUTRUN, "pageoutrun")                                                                \
	X(PGROTATED, "pgrotated")                                                                  \
	X(OOM_KILL, "oom_kill")                                                                    \
	X(PGMIGRATE_SUCCESS, "pgmigrate_success")                                                  \
	X(PGMIGRATE_FAIL, "pgmigrate_fail")                                                        \
	X(THP_MIGRATION_SUCCESS, "thp_migration_success")                                          \
	X(THP_MIGRATION_FAIL, "thp_migration_fail")                                                \
	X(THP_MIGRATION_SPLIT, "thp_migration_split")                                              \
	X(COMPACTMIGRATE_SCANNED, "compact_migrate_scanned")                                       \
	X(COMPACTFREE_SCANNED, "compact_free_scanned")                                             \
	X(COMPACTISOLATED, "compact_isolated")                                                     \
	X(COMPACTSTALL, "compact_stall")                                                           \
	X(COMPACTFAIL, "compact_fail")                                                             \
	X(COMPACTSUCCESS, "compact_success")                                                       \
	X(KCOMPACTD_WAKE, "compact_daemon_wake")                                                   \
	X(KCOMPACTD_MIGRATE_SCANNED, "compact_daemon_migrate_scanned")                             \
	X(KCOMPACTD_FREE_SCANNED, "compact_daemon_free_scanned")                                   \
	X(UNEVICTABLE_PGCULLED, "unevictable_pgs_culled")                                          \
	X(SLABS_SCANNED, "slabs_scanned")                                                          \
	X(DROP_PAGECACHE, "drop_pagecache")                                                        \
	X(DROP_SLAB, "drop_slab")                                                                  \
	X(THP_FAULT_ALLOC, "thp_fault_alloc")                                                      \
	X(THP_FAULT_FALLBACK, "thp_fault_fallback")                                                \
	X(THP_COLLAPSE_ALLOC, "thp_collapse_alloc")                                                \
	X(THP_COLLAPSE_ALLOC_FAILED, "thp_collapse_alloc_failed")                                  \
	X(THP_SCAN_EXCEED_NONE_PTE, "thp_scan_exceed_none_pte")                                    \
	X(THP_SCAN_EXCEED_SWAP_PTE, "thp_scan_exceed_swap_pte")                                    \
	X(THP_SCAN_EXCEED_SHARE_PTE, "thp_scan_exceed_share_pte")                                  \
	X(THP_SPLIT_PAGE, "thp_split_page")                                                        \
	X(THP_SPLIT_PAGE_FAILED, "thp_split_page_failed")                                          \
	X(THP_DEFERRED_SPLIT_PAGE, "thp_deferred_split_page")                                      \
	X(THP_SPLIT_PMD, "thp_split_pmd")                                                          \
	X(THP_SWPOUT, "thp_swpout")                                                                \
	X(THP_SWPOUT_FALLBACK, "thp_swpout_fallback")                                              \
	X(THP_ZERO_PAGE_ALLOC, "thp_zero_page_alloc")                                              \
	X(THP_ZERO_PAGE_ALLOC_FAILED, "thp_zero_page_alloc_failed")                                \
	X(UNEVICTABLE_PGRESCUED, "unevictable_pgs_rescued")                                        \
	X(UNEVICTABLE_PGMLOCKED, "unevictable_pgs_mlocked")                                        \
	X(UNEVICTABLE_PGMUNLOCKED, "unevictable_pgs_munlocked")                                    \
	X(UNEVICTABLE_PGCLEARED, "unevictable_pgs_cleared")                                        \
	X(UNEVICTABLE_PGSTRANDED, "unevictable_pgs_stranded")                                      \
	X(SWAP_RA, "swap_ra")                                                                      \
	X(SWAP_RA_HIT, "swap_ra_hit")

enum vm_event {
#define X(name, text) name,
	VM_EVENTS(X)
#undef X
		NR_VM_EVENTS
};

extern const char *const vm_item_name[NR_VM_ITEMS];
extern const char *const vm_event_name[NR_VM_EVENTS];

/* The event @e (its _DMA member) of zone number @zone. */
#define ZONE_EVENT(e, zone) ((enum vm_event)((e) + (zone)))

/* Sum over all zones (or nodes), differences left out, negatives as 0. Any context. */
unsigned long global_page_state(struct machine *m, enum vm_item item);

/* Sum over all CPUs. */
u64 vm_event_sum(const struct machine *m, enum vm_event e);

/* Sum of the four zones' events; @e is the _DMA member. */
u64 vm_event_zones(const struct machine *m, enum vm_event e);

#endif
