/*
 * Knobs: everything about the memory manager that can be chosen.
 *
 * Sysctls keep their names (vm.swappiness). The others name a policy or a mechanism that changed
 * over time; a kernel preset is a set of values and nothing else: the two columns here, and what
 * core/presets.c changes in them for other kernels. `quire list knobs` prints all. A knob is read in one function, or decides once, at creation, which of several named
 * functions a machine uses.
 *
 *   KNOB_NUM(field, "name", unit, min, max, default 4.0, default 6.18, origin, what it does)
 *   KNOB_ENUM(field, "name", enum's values list, default 4.0, default 6.18, origin, what it does)
 */
#ifndef CORE_KNOBS_H
#define CORE_KNOBS_H

#include "lib/types.h"

/* Values of each enumerated knob: E(PREFIX_NAME, "text"). */
#define KNOB_MADVISE_FREE(E)                                                                       \
	E(MADV_LAZY, "lazy") E(MADV_THROTTLE, "throttle") E(MADV_ZAP, "dontneed")
#define KNOB_FREE_SWAP(E) E(FREE_SWAP_KEEP, "keep") E(FREE_SWAP_DROP, "drop")
#define KNOB_FREE_LIST(E)                                                                          \
	E(FREE_LIST_STAY, "stay")                                                                  \
	E(FREE_LIST_INACTIVE_ANON, "inactive_anon") E(FREE_LIST_INACTIVE_FILE, "inactive_file")
#define KNOB_FREE_SLOT(E) E(FREE_SLOT_NONE, "none") E(FREE_SLOT_FIRST, "first")
#define KNOB_THP(E) E(THP_NEVER, "never") E(THP_MADVISE, "madvise") E(THP_ALWAYS, "always")
#define KNOB_WMARK_GAP(E) E(WMARK_GAP_QUARTER, "quarter") E(WMARK_GAP_SCALE, "scale")
#define KNOB_WMARK_ORDER(E) E(WMARK_ORDER_DECAY, "decay") E(WMARK_ORDER_BLOCK, "block")
#define KNOB_MTHP(E)                                                                               \
	E(MTHP_NEVER, "never")                                                                     \
	E(MTHP_MADVISE, "madvise") E(MTHP_INHERIT, "inherit") E(MTHP_ALWAYS, "always")
#define KNOB_THP_DEFRAG(E)                                                                         \
	E(THP_DEFRAG_NEVER, "never")                                                               \
	E(THP_DEFRAG_MADVISE, "madvise")                                                           \
	E(THP_DEFRAG_DEFER_MADVISE, "defer+madvise")                                               \
	E(THP_DEFRAG_DEFER, "defer") E(THP_DEFRAG_ALWAYS, "always")
#define KNOB_THP_NODE(E) E(THP_NODE_POLICY, "policy") E(THP_NODE_LOCAL_FIRST, "local_first")
#define KNOB_KHUGEPAGED(E) E(KHUGEPAGED_4_0, "4.0") E(KHUGEPAGED_6_18, "6.18")
#define KNOB_KHUGEPAGED_NODE(E)                                                                    \
	E(KHUGEPAGED_NODE_FIRST, "first")                                                          \
	E(KHUGEPAGED_NODE_MOST, "most")                                                            \
	E(KHUGEPAGED_NODE_MOST_ONLY, "most_only") E(KHUGEPAGED_NODE_MOST_ANY, "most_any")
#define KNOB_THP_PARTIAL(E) E(THP_PARTIAL_PAGE, "page") E(THP_PARTIAL_PMD, "pmd")
#define KNOB_THP_MAPCOUNT(E) E(THP_MAPCOUNT_DOUBLE, "double_map") E(THP_MAPCOUNT_LARGE, "large")
#define KNOB_THP_SPLIT_WALK(E)                                                                     \
	E(SPLIT_WALK_VMA, "vma") E(SPLIT_WALK_PAGE, "page") E(SPLIT_WALK_RANGE, "range")
#define KNOB_THP_SWAPOUT(E)                                                                        \
	E(THP_SWAPOUT_SPLIT, "split")                                                              \
	E(THP_SWAPOUT_WHOLE, "whole") E(THP_SWAPOUT_LARGE, "large")
#define KNOB_THP_SWAPIN(E) E(THP_SWAPIN_PAGE, "page") E(THP_SWAPIN_LARGE, "large")
#define KNOB_THP_DEFERRED(E) E(DEFERRED_SPLIT_WAIT, "wait") E(DEFERRED_SPLIT_TRY, "try")
#define KNOB_SLAB_SCAN(E) E(SLAB_SCAN_RATIO, "ratio") E(SLAB_SCAN_PRIORITY, "priority")
#define KNOB_THP_COW(E) E(THP_COW_COPY, "copy") E(THP_COW_SPLIT, "split")
#define KNOB_THP_MIGRATION(E) E(THP_MOVE_SPLIT, "split") E(THP_MOVE_WHOLE, "whole")
#define KNOB_MLOCK_DRAIN(E)                                                                        \
	E(MLOCK_DRAIN_ALL, "all")                                                                  \
	E(MLOCK_DRAIN_COUNTED, "counted")                                                          \
	E(MLOCK_DRAIN_LOCAL, "local") E(MLOCK_DRAIN_NONE, "none")
#define KNOB_MLOCK_HUGE(E)                                                                         \
	E(MLOCK_HUGE_NEW, "new") E(MLOCK_HUGE_PMD, "pmd") E(MLOCK_HUGE_WHOLE, "whole")
#define KNOB_MLOCK_ISOLATE(E) E(MLOCK_ISOLATE_NOW, "now") E(MLOCK_ISOLATE_BATCH, "batch")
#define KNOB_OFF_ON(E) E(KNOB_OFF, "off") E(KNOB_ON, "on")
#define KNOB_PCP(E) E(PCP_FIXED, "fixed") E(PCP_AUTO, "auto")
#define KNOB_SLOWPATH(E)                                                                           \
	E(SLOWPATH_2_6_36, "2.6.36")                                                               \
	E(SLOWPATH_3_0, "3.0") E(SLOWPATH_3_19, "3.19") E(SLOWPATH_6_18, "6.18")
#define KNOB_FALLBACK(E) E(FALLBACK_4_0, "4.0") E(FALLBACK_6_18, "6.18")
#define KNOB_COMPACTION(E)                                                                         \
	E(COMPACTION_OFF, "off") E(COMPACTION_3_16, "3.16") E(COMPACTION_6_18, "6.18")
#define KNOB_LRU_PER(E) E(LRU_PER_ZONE, "zone") E(LRU_PER_NODE, "node")
#define KNOB_LRU_ANON(E) E(LRU_ANON_ACTIVE, "active") E(LRU_ANON_INACTIVE, "inactive")
#define KNOB_LRU_ADD(E) E(LRU_ADD_ONE, "one") E(LRU_ADD_PER_LIST, "per_list")
#define KNOB_KSWAPD(E) E(KSWAPD_2_6_36, "2.6.36") E(KSWAPD_3_12, "3.12") E(KSWAPD_6_18, "6.18")
#define KNOB_BALANCE(E)                                                                            \
	E(BALANCE_BATCHED, "batched") E(BALANCE_RECENT, "recent") E(BALANCE_COST, "cost")
#define KNOB_DIRECT_NAP(E)                                                                         \
	E(DIRECT_NAP_ALWAYS, "always")                                                             \
	E(DIRECT_NAP_CONGESTED, "congested") E(DIRECT_NAP_NEVER, "never")
#define KNOB_PCP_DRAIN(E) E(PCP_DRAIN_ALL, "all") E(PCP_DRAIN_COUNTED, "counted")
#define KNOB_STAT_WORKER(E) E(STAT_WORKER_ALL, "all") E(STAT_WORKER_BUSY, "busy")
#define KNOB_REFERENCED(E) E(REFERENCED_ACTIVATE, "activate") E(REFERENCED_SECOND, "second_chance")
#define KNOB_WRITEBACK_MET(E) E(WRITEBACK_KEEP, "keep") E(WRITEBACK_ACTIVATE, "activate")
#define KNOB_THROTTLE(E) E(THROTTLE_CONGESTION, "congestion") E(THROTTLE_REASON, "reason")
#define KNOB_UNMAP_FLUSH(E) E(UNMAP_FLUSH_PTE, "pte") E(UNMAP_FLUSH_BATCH, "batch")
#define KNOB_MM_CPUMASK(E) E(MM_CPUMASK_EXACT, "exact") E(MM_CPUMASK_LAZY, "lazy")
#define KNOB_RMAP_LOCK(E) E(RMAP_LOCK_WAIT, "wait") E(RMAP_LOCK_TRY, "try")
#define KNOB_SWAP_READAHEAD(E) E(SWAP_RA_CLUSTER, "cluster") E(SWAP_RA_VMA, "vma")
#define KNOB_SWAP_SLOTS(E) E(SWAP_SLOTS_3_12, "3.12") E(SWAP_SLOTS_6_12, "6.12")
#define KNOB_I_MMAP_LOCK(E) E(I_MMAP_SPIN, "spin") E(I_MMAP_MUTEX, "mutex") E(I_MMAP_RWSEM, "rwsem")
#define KNOB_READAHEAD(E) E(READAHEAD_2_6_31, "2.6.31") E(READAHEAD_6_18, "6.18")
#define KNOB_JOURNAL(E) E(JOURNAL_NONE, "none") E(JOURNAL_ORDERED, "ordered")
#define KNOB_FILE_PAGEOUT(E)                                                                       \
	E(FILE_PAGEOUT_ANY, "any") E(FILE_PAGEOUT_KSWAPD, "kswapd") E(FILE_PAGEOUT_NEVER, "never")
#define KNOB_WRITEBACK_END(E) E(WRITEBACK_END_ROTATE, "rotate") E(WRITEBACK_END_FREE, "free")
#define KNOB_DIRTY_THROTTLE(E) E(DIRTY_THROTTLE_WRITE, "write") E(DIRTY_THROTTLE_PAUSE, "pause")
#define KNOB_MMAP_ALIGN(E) E(MMAP_ALIGN_PAGE, "page") E(MMAP_ALIGN_HUGE, "huge")
#define KNOB_PROPORTIONS(E) E(PROPORTIONS_EVENTS, "events") E(PROPORTIONS_TIME, "time")
#define KNOB_FLUSHER_WAKEUP(E)                                                                     \
	E(FLUSHER_WAKEUP_SCANNED, "scanned") E(FLUSHER_WAKEUP_TAIL, "tail_dirty")
#define KNOB_ZRAM_STREAMS(E) E(ZRAM_STREAMS_ONE, "one") E(ZRAM_STREAMS_PER_CPU, "per_cpu")
#define KNOB_FREE_ESTIMATE(E)                                                                      \
	E(ESTIMATE_CHEAP, "cheap")                                                                 \
	E(ESTIMATE_SNAPSHOT, "snapshot")                                                           \
	E(ESTIMATE_RESERVE, "reserve")                                                             \
	E(ESTIMATE_AS_POSTED, "reserve-as-posted") E(ESTIMATE_PRESSURE, "pressure")
#define KNOB_OVERCOMMIT(E)                                                                         \
	E(OVERCOMMIT_GUESS, "0") E(OVERCOMMIT_ALWAYS, "1") E(OVERCOMMIT_NEVER, "2")
#define KNOB_OVERCOMMIT_GUESS(E) E(OVERCOMMIT_GUESS_FREE, "free") E(OVERCOMMIT_GUESS_TOTAL, "total")
#define KNOB_OVERCOMMIT_RESERVE(E)                                                                 \
	E(OVERCOMMIT_RESERVE_SHARE, "share") E(OVERCOMMIT_RESERVE_FIXED, "fixed")
#define KNOB_MREMAP_MOVE(E)                                                                        \
	E(MREMAP_MOVE_PTES, "ptes")                                                                \
	E(MREMAP_MOVE_HUGE, "huge") E(MREMAP_MOVE_TABLES, "tables")
#define KNOB_MREMAP_FLUSH(E) E(MREMAP_FLUSH_END, "end") E(MREMAP_FLUSH_TABLE, "table")
#define KNOB_MREMAP_ERRORS(E)                                                                      \
	E(MREMAP_ERRORS_4_0, "4.0") E(MREMAP_ERRORS_4_1, "4.1") E(MREMAP_ERRORS_6_17, "6.17")
#define KNOB_SHADOW_NODES(E)                                                                       \
	E(SHADOW_NODES_PRESENT_16, "present/16")                                                   \
	E(SHADOW_NODES_FILE_8, "file/8") E(SHADOW_NODES_PRESENT_8, "present/8")
#define KNOB_WMARK_PAGES(E) E(WMARK_PAGES_PRESENT, "present") E(WMARK_PAGES_MANAGED, "managed")
#define KNOB_OOM(E) E(OOM_MEMDIE, "memdie") E(OOM_REAPER, "reaper")

#define KNOBS(NUM, ENUM)                                                                           \
	NUM(swappiness, "vm.swappiness", "", 0, 200, 60, 60, "sysctl",                             \
	    "how much reclaim prefers anonymous pages")                                            \
	NUM(min_free_kbytes, "vm.min_free_kbytes", "kB", 0, 1 << 30, 0, 0, "sysctl",               \
	    "memory kept free; 0: computed from the size of low memory")                           \
	NUM(watermark_scale_factor, "vm.watermark_scale_factor", "1/10000", 1, 3000, 10, 10,       \
	    "sysctl, 4.6", "distance of the watermarks when watermark.gap = scale")                \
	NUM(watermark_boost_factor, "vm.watermark_boost_factor", "1/10000", 0, 1 << 20, 0, 15000,  \
	    "sysctl, 5.0", "how far fragmentation raises the watermarks for a while; 0: never")    \
	NUM(page_cluster, "vm.page-cluster", "log2 pages", 0, 10, 3, 3, "sysctl",                  \
	    "largest swap readahead")                                                              \
	NUM(lowmem_reserve_dma, "vm.lowmem_reserve_ratio.dma", "1/n", 0, 1 << 20, 256, 256,        \
	    "sysctl", "part of DMA kept from requests that could use higher zones")                \
	NUM(lowmem_reserve_dma32, "vm.lowmem_reserve_ratio.dma32", "1/n", 0, 1 << 20, 256, 256,    \
	    "sysctl", "part of DMA32 kept from requests that could use higher zones")              \
	NUM(lowmem_reserve_normal, "vm.lowmem_reserve_ratio.normal", "1/n", 0, 1 << 20, 32, 32,    \
	    "sysctl", "part of Normal kept from requests that could use higher zones")             \
	NUM(pcp_high_fraction, "vm.percpu_pagelist_high_fraction", "1/n", 0, 1 << 20, 0, 0,        \
	    "sysctl",                                                                              \
	    "a per-CPU list holds up to a zone's pages / n (auto: / CPUs too); 0: computed")       \
	NUM(zone_reclaim_mode, "vm.zone_reclaim_mode", "bits", 0, 7, 0, 0, "sysctl",               \
	    "1: reclaim a node before using others; +2: by writing, +4: by unmapping")             \
	NUM(reclaim_distance, "numa.reclaim_distance", "SLIT", 0, 255, 0, 0,                       \
	    "RECLAIM_DISTANCE; 4f9b16a64753 (3.16) none",                                          \
	    "zone_reclaim_mode is 1 if a node is farther than this from another; 0: never")        \
	ENUM(mpol_weighted, "numa.weighted_interleave", KNOB_OFF_ON, KNOB_OFF, KNOB_ON,            \
	     "fa3bea4e1f82 (6.9)", "there is a memory policy that gives nodes turns by weight")    \
	NUM(numa_weight_0, "numa.weight.node0", "turns", 1, 255, 1, 1,                             \
	    "sysfs, dce41f5ae253 (6.9)", "turns in a row that node 0 has in weighted interleave")  \
	NUM(numa_weight_1, "numa.weight.node1", "turns", 1, 255, 1, 1, "sysfs", "node 1")          \
	NUM(numa_weight_2, "numa.weight.node2", "turns", 1, 255, 1, 1, "sysfs", "node 2")          \
	NUM(numa_weight_3, "numa.weight.node3", "turns", 1, 255, 1, 1, "sysfs",                    \
	    "node 3; further ones have 1")                                                         \
	NUM(extfrag_threshold, "vm.extfrag_threshold", "", 0, 1000, 500, 500, "sysctl",            \
	    "a fragmentation index up to this: memory is short rather than in pieces")             \
	NUM(compact_unevictable, "vm.compact_unevictable_allowed", "", 0, 1, 0, 1,                 \
	    "sysctl, 5bbe3547aa3b (4.2)", "1: mlocked pages may be moved, too")                    \
	NUM(dirty_ratio, "vm.dirty_ratio", "%", 0, 100, 20, 20, "sysctl",                          \
	    "dirty pages up to this part of free and file memory; dirtiers pause before")          \
	NUM(dirty_background_ratio, "vm.dirty_background_ratio", "%", 0, 100, 10, 10, "sysctl",    \
	    "with more of it dirty, flushers write")                                               \
	NUM(dirty_bytes, "vm.dirty_bytes", "B", 0, 1L << 50, 0, 0, "sysctl, 2.6.29",               \
	    "the same as an amount; 0: by vm.dirty_ratio")                                         \
	NUM(dirty_background_bytes, "vm.dirty_background_bytes", "B", 0, 1L << 50, 0, 0,           \
	    "sysctl, 2.6.29", "the same as an amount; 0: by vm.dirty_background_ratio")            \
	NUM(dirty_expire_centisecs, "vm.dirty_expire_centisecs", "1/100 s", 0, 1 << 24, 3000,      \
	    3000, "sysctl", "files that have been dirty for longer are written")                   \
	NUM(dirty_writeback_centisecs, "vm.dirty_writeback_centisecs", "1/100 s", 0, 1 << 24, 500, \
	    500, "sysctl", "how often flushers look for them; 0: never")                           \
	NUM(stat_interval, "vm.stat_interval", "s", 1, 3600, 1, 1, "sysctl",                       \
	    "how often counters are folded")                                                       \
	NUM(overcommit_ratio, "vm.overcommit_ratio", "%", 0, 1000, 50, 50, "sysctl",               \
	    "part of RAM that may be promised, with all of swap, if vm.overcommit_memory = 2")     \
	NUM(overcommit_kbytes, "vm.overcommit_kbytes", "kB", 0, 1UL << 40, 0, 0, "sysctl, 3.14",   \
	    "the same as an amount; 0: vm.overcommit_ratio says it")                               \
	NUM(admin_reserve, "vm.admin_reserve_kbytes", "kB", 0, 1UL << 40, 0, 0, "sysctl, 3.10",    \
	    "kept from who is not root; 0: 3 % of what is free at boot, at most 8 MiB")            \
	NUM(user_reserve, "vm.user_reserve_kbytes", "kB", 0, 1UL << 40, 0, 0, "sysctl, 3.10",      \
	    "at most this, and 1/32 of its size, is kept from each process; 0: 3 % of what is "    \
	    "free at boot, at most 128 MiB")                                                       \
	NUM(fs_prealloc, "fs.prealloc", "pages", 0, 1 << 20, 0, 2048,                              \
	    "ext4_mb_normalize_request(): up to 8 MiB; delayed allocation",                        \
	    "a growing file keeps room for as much as it has, up to this; 0: none")                \
	NUM(max_folio_order, "fs.max_folio_order", "log2 pages", 0, 9, 0, 9,                       \
	    "mapping_set_large_folios(); ext4 7ac67301e82f (6.16)",                                \
	    "files are cached in folios of up to this, as readahead and writes go; 0: in pages")   \
	NUM(read_ahead_kb, "vm.read_ahead_kb", "kB", 0, 1 << 20, 128, 128,                         \
	    "sysfs, queue/read_ahead_kb", "largest readahead window of a file")                    \
	NUM(fault_around_bytes, "vm.fault_around_bytes", "B", 4096, 2 << 20, 65536, 65536,         \
	    "debugfs, 8c6e50b0290c (3.15)",                                                        \
	    "pages of the cache around a read fault are mapped too; 4096: only the one")           \
	NUM(lru_batch, "lru.batch", "pages", 1, 31, 14, 31,                                        \
	    "PAGEVEC_SIZE 14; folio_batch 31 (6.9)",                                               \
	    "pages gathered per CPU before a lruvec is locked")                                    \
	ENUM(overcommit_memory, "vm.overcommit_memory", KNOB_OVERCOMMIT, OVERCOMMIT_GUESS,         \
	     OVERCOMMIT_GUESS, "sysctl",                                                           \
	     "promises of memory: 0 what is not absurd, 1 any, 2 up to CommitLimit")               \
	ENUM(overcommit_guess, "overcommit.guess", KNOB_OVERCOMMIT_GUESS, OVERCOMMIT_GUESS_FREE,   \
	     OVERCOMMIT_GUESS_TOTAL, "8c7829b04c52 (5.1)",                                         \
	     "absurd is more than is free or easily freed, or more than there is at all")          \
	ENUM(overcommit_reserve, "overcommit.reserve", KNOB_OVERCOMMIT_RESERVE,                    \
	     OVERCOMMIT_RESERVE_FIXED, OVERCOMMIT_RESERVE_FIXED,                                   \
	     "c9b1d0981fcc, 4eeab4f5580d (3.10)",                                                  \
	     "what is kept back: 1/32 each, or vm.admin_reserve_kbytes, vm.user_reserve_kbytes")   \
	ENUM(mremap_move, "mremap.move", KNOB_MREMAP_MOVE, MREMAP_MOVE_HUGE, MREMAP_MOVE_TABLES,   \
	     "37a1c49a91ad (3.2), 2c91bd4a4e2e (5.0)",                                             \
	     "what moves at once: entries, huge entries too, or whole leaf tables")                \
	ENUM(mremap_flush, "mremap.flush", KNOB_MREMAP_FLUSH, MREMAP_FLUSH_END,                    \
	     MREMAP_FLUSH_TABLE, "eb66ae030829 (4.19)",                                            \
	     "TLB flush when all has been moved, or with each table's lock held")                  \
	ENUM(mremap_errors, "mremap.errors", KNOB_MREMAP_ERRORS, MREMAP_ERRORS_4_0,                \
	     MREMAP_ERRORS_6_17, "12215182c80f (4.1), 6.17",                                       \
	     "when overcommit refuses: EFAULT (4.0), or ENOMEM; more than an address space: "      \
	     "ENOMEM, or EINVAL (6.17)")                                                           \
	ENUM(thp_enabled, "thp.enabled", KNOB_THP, THP_MADVISE, THP_MADVISE, "sysfs",              \
	     "who gets huge pages; other than never, min_free_kbytes is raised at boot")           \
	ENUM(thp_16kB, "thp.16kB", KNOB_MTHP, MTHP_NEVER, MTHP_NEVER, "sysfs, 3485b88390b0 (6.8)", \
	     "who gets huge pages of 16 KiB, mapped by ptes")                                      \
	ENUM(thp_32kB, "thp.32kB", KNOB_MTHP, MTHP_NEVER, MTHP_NEVER, "sysfs, 3485b88390b0 (6.8)", \
	     "who gets huge pages of 32 KiB, mapped by ptes")                                      \
	ENUM(thp_64kB, "thp.64kB", KNOB_MTHP, MTHP_NEVER, MTHP_NEVER, "sysfs, 3485b88390b0 (6.8)", \
	     "who gets huge pages of 64 KiB, mapped by ptes")                                      \
	ENUM(thp_128kB, "thp.128kB", KNOB_MTHP, MTHP_NEVER, MTHP_NEVER,                            \
	     "sysfs, 3485b88390b0 (6.8)", "who gets huge pages of 128 KiB, mapped by ptes")        \
	ENUM(thp_256kB, "thp.256kB", KNOB_MTHP, MTHP_NEVER, MTHP_NEVER,                            \
	     "sysfs, 3485b88390b0 (6.8)", "who gets huge pages of 256 KiB, mapped by ptes")        \
	ENUM(thp_512kB, "thp.512kB", KNOB_MTHP, MTHP_NEVER, MTHP_NEVER,                            \
	     "sysfs, 3485b88390b0 (6.8)", "who gets huge pages of 512 KiB, mapped by ptes")        \
	ENUM(thp_1024kB, "thp.1024kB", KNOB_MTHP, MTHP_NEVER, MTHP_NEVER,                          \
	     "sysfs, 3485b88390b0 (6.8)", "who gets huge pages of 1024 KiB, mapped by ptes")       \
	ENUM(thp_2048kB, "thp.2048kB", KNOB_MTHP, MTHP_INHERIT, MTHP_INHERIT,                      \
	     "sysfs, 3485b88390b0 (6.8)", "who gets those of 2 MiB; inherit: as thp.enabled says") \
	ENUM(thp_defrag, "thp.defrag", KNOB_THP_DEFRAG, THP_DEFRAG_ALWAYS, THP_DEFRAG_MADVISE,     \
	     "444eb2a449ef (4.6)", "whose faults reclaim for a huge page, or have kswapd do so")   \
	ENUM(thp_node, "thp.node", KNOB_THP_NODE, THP_NODE_POLICY, THP_NODE_LOCAL_FIRST,           \
	     "b39d0ee2632d, 19deb7695e07 (5.4)",                                                   \
	     "huge pages of 2 MiB come from nodes as others do; or from the own, or preferred, "   \
	     "one first, and from others only if the request may take pains")                      \
	ENUM(khugepaged_form, "khugepaged.form", KNOB_KHUGEPAGED, KHUGEPAGED_4_0, KHUGEPAGED_6_18, \
	     "kernel version",                                                                     \
	     "a range must be writable somewhere and have no parts of huge pages; or (5.8) "       \
	     "batches "                                                                            \
	     "are drained first and parts may go")                                                 \
	ENUM(khugepaged_node, "khugepaged.node", KNOB_KHUGEPAGED_NODE, KHUGEPAGED_NODE_MOST,       \
	     KHUGEPAGED_NODE_MOST_ANY,                                                             \
	     "9f1b868a13ac (3.13), 5265047ac301 (4.1), e031ff96b334 (6.2)",                        \
	     "where a range's huge page is taken: where its first page is, or most of them, "      \
	     "equals "                                                                             \
	     "in turn, and elsewhere if there is none, or not; or on any of those that have most") \
	ENUM(khugepaged_abort, "khugepaged.node_abort", KNOB_OFF_ON, KNOB_ON, KNOB_ON,             \
	     "14a4e2141e24 (3.17)",                                                                \
	     "with vm.zone_reclaim_mode, ranges whose pages are on nodes far apart are left")      \
	ENUM(khugepaged_defrag, "khugepaged.defrag", KNOB_OFF_ON, KNOB_ON, KNOB_ON, "sysfs",       \
	     "it reclaims and compacts for a huge page")                                           \
	NUM(khugepaged_pages_to_scan, "khugepaged.pages_to_scan", "pages", 1, 1 << 30, 4096, 4096, \
	    "sysfs", "how much it looks at before it sleeps")                                      \
	NUM(khugepaged_scan_sleep, "khugepaged.scan_sleep_millisecs", "ms", 0, 1 << 30, 10000,     \
	    10000, "sysfs", "how long it sleeps")                                                  \
	NUM(khugepaged_alloc_sleep, "khugepaged.alloc_sleep_millisecs", "ms", 0, 1 << 30, 60000,   \
	    60000, "sysfs", "how long it sleeps when no huge page was to be had")                  \
	NUM(khugepaged_max_ptes_none, "khugepaged.max_ptes_none", "pages", 0, 511, 511, 511,       \
	    "sysfs", "a range with more that is not mapped, or zeros, is not collapsed")           \
	NUM(khugepaged_max_ptes_swap, "khugepaged.max_ptes_swap", "pages", 0, 511, 0, 64,          \
	    "sysfs, 8a966ed746d6 (4.8)", "nor one with more that is swapped out")                  \
	NUM(khugepaged_max_ptes_shared, "khugepaged.max_ptes_shared", "pages", 0, 511, 0, 256,     \
	    "sysfs, 71a2c112a0f6 (5.8)", "nor one with more that others map too")                  \
	ENUM(thp_zero_page, "thp.use_zero_page", KNOB_OFF_ON, KNOB_ON, KNOB_ON, "sysfs, 3.8",      \
	     "reads of untouched memory map 2 MiB of zeros")                                       \
	ENUM(thp_partial, "thp.partial_unmap", KNOB_THP_PARTIAL, THP_PARTIAL_PAGE,                 \
	     THP_PARTIAL_PMD, "eef1b3ba053a (4.5)",                                                \
	     "part of a huge page is unmapped: it is split at once, or only its mapping")          \
	ENUM(thp_mapcount, "thp.mapcount", KNOB_THP_MAPCOUNT, THP_MAPCOUNT_DOUBLE,                 \
	     THP_MAPCOUNT_LARGE, "53f9263baba6 (4.5), 6.2 to 6.9",                                 \
	     "ptes and PMDs of one page: tails count one more, or one count of all is kept")       \
	ENUM(thp_split_walk, "thp.split_walk", KNOB_THP_SPLIT_WALK, SPLIT_WALK_VMA,                \
	     SPLIT_WALK_RANGE, "mail 003 (4 February 2016)",                                       \
	     "splitting unmaps and maps again: a walk per VMA; per page (fec89c109f3a, 4.6); per " \
	     "VMA one way, per page back (4.11)")                                                  \
	ENUM(thp_deferred, "thp.deferred_split", KNOB_THP_DEFERRED, DEFERRED_SPLIT_WAIT,           \
	     DEFERRED_SPLIT_TRY, "fa41b900c30b (5.6), 6.16",                                       \
	     "the shrinker waits for a page's lock, or passes it over; batches of 128, or 31")     \
	ENUM(thp_swapout, "thp.swapout", KNOB_THP_SWAPOUT, THP_SWAPOUT_SPLIT, THP_SWAPOUT_LARGE,   \
	     "38d8b4e6bdc8 (4.13), bd4c82c22c36 (4.14), 5ed890ce5147 (6.10)",                      \
	     "huge pages are split before they are swapped out; or those of 2 MiB, or of any "     \
	     "size, are written whole to slots in a row")                                          \
	ENUM(thp_swapin, "thp.swapin", KNOB_THP_SWAPIN, THP_SWAPIN_PAGE, THP_SWAPIN_LARGE,         \
	     "508758960b8d (6.11), 242d12c98174 (6.13)",                                           \
	     "faults on what was swapped out whole take one page; or all of what the swap cache "  \
	     "still has, and read as much from RAM disks as the policies of the sizes allow")      \
	ENUM(slab_scan, "slab.scan", KNOB_SLAB_SCAN, SLAB_SCAN_RATIO, SLAB_SCAN_PRIORITY,          \
	     "9092c71bb724 (4.16)",                                                                \
	     "shrinkers are asked in proportion to pages scanned, or by reclaim's priority")       \
	ENUM(thp_migration, "thp.migration", KNOB_THP_MIGRATION, THP_MOVE_SPLIT, THP_MOVE_WHOLE,   \
	     "616b8371539a (4.14)",                                                                \
	     "huge pages and large folios that are moved are split first, or stay whole")          \
	ENUM(thp_cow, "thp.cow", KNOB_THP_COW, THP_COW_COPY, THP_COW_SPLIT, "ec0abae6dcdf (5.8)",  \
	     "a write to a shared huge page copies all of it, or one page")                        \
	ENUM(lru_batch_huge, "lru.batch_huge", KNOB_OFF_ON, KNOB_ON, KNOB_OFF,                     \
	     "8f182270dfec (4.7)",                                                                 \
	     "a huge page waits in a batch like others on its way to a list")                      \
	ENUM(watermark_gap, "watermark.gap", KNOB_WMARK_GAP, WMARK_GAP_QUARTER, WMARK_GAP_SCALE,   \
	     "795ae7a0de6b (4.6)", "min to low to high: a quarter of min, or scaled by zone size") \
	ENUM(watermark_order, "watermark.order", KNOB_WMARK_ORDER, WMARK_ORDER_DECAY,              \
	     WMARK_ORDER_BLOCK, "97a16fc82a7c (4.4)",                                              \
	     "order > 0: min halves with each order, or one suitable block is enough")             \
	ENUM(watermark_pages, "watermark.pages", KNOB_WMARK_PAGES, WMARK_PAGES_MANAGED,            \
	     WMARK_PAGES_MANAGED, "3.9",                                                           \
	     "size of a zone for marks: all but its mem_map, or what the allocator got")           \
	ENUM(free_estimate, "vmstat.free_estimate", KNOB_FREE_ESTIMATE, ESTIMATE_PRESSURE,         \
	     ESTIMATE_PRESSURE,                                                                    \
	     "mail 004 (13 October 2010), aa45484031dd (2.6.36), "                                 \
	     "88f5acf88ae6 (2.6.38)",                                                              \
	     "what watermark tests know of free pages that CPUs' counters hide")                   \
	ENUM(zone_fair, "alloc.zone_fair", KNOB_OFF_ON, KNOB_ON, KNOB_OFF,                         \
	     "81c0a2bb515f (3.12) to 4.7", "zones of a node take turns by nr_alloc_batch")         \
	ENUM(pcp, "pcp.high", KNOB_PCP, PCP_FIXED, PCP_AUTO, "6.7",                                \
	     "per-CPU lists: 6 * batch pages of order 0, or tuned between bounds, orders 0 to 3")  \
	ENUM(pcp_drain, "pcp.drain", KNOB_PCP_DRAIN, PCP_DRAIN_COUNTED, PCP_DRAIN_COUNTED,         \
	     "74046494ea68 (3.4)",                                                                 \
	     "drain_all_pages(): IPIs to all CPUs, or to those whose lists hold pages")            \
	ENUM(stat_worker, "vmstat.worker", KNOB_STAT_WORKER, STAT_WORKER_BUSY, STAT_WORKER_BUSY,   \
	     "7cc36bbddde5 (3.18)",                                                                \
	     "who folds counters: a worker of every CPU that is used, or where there is need")     \
	ENUM(slowpath, "alloc.slowpath", KNOB_SLOWPATH, SLOWPATH_3_19, SLOWPATH_6_18,              \
	     "kernel version", "which form of __alloc_pages_slowpath()")                           \
	ENUM(fallback, "alloc.fallback", KNOB_FALLBACK, FALLBACK_4_0, FALLBACK_6_18,               \
	     "kernel version",                                                                     \
	     "blocks of another migrate type: split the largest, or claim large and steal small")  \
	ENUM(compaction, "alloc.compaction", KNOB_COMPACTION, COMPACTION_3_16, COMPACTION_6_18,    \
	     "kernel version",                                                                     \
	     "free memory in pieces: none, by the requests, or also by a daemon (4.6)")            \
	ENUM(lru_per, "lru.per", KNOB_LRU_PER, LRU_PER_ZONE, LRU_PER_NODE, "599d0c954f91 (4.8)",   \
	     "one set of LRU lists and counters per zone or per node")                             \
	ENUM(lru_anon, "lru.new_anon", KNOB_LRU_ANON, LRU_ANON_ACTIVE, LRU_ANON_INACTIVE,          \
	     "b518154e59aa (5.9)", "where new anonymous pages start")                              \
	ENUM(lru_add_batches, "lru.add_batches", KNOB_LRU_ADD, LRU_ADD_ONE, LRU_ADD_ONE, "3.11",   \
	     "a CPU's new pages wait in one batch, or in one for each list")                       \
	ENUM(workingset_anon, "workingset.anon", KNOB_OFF_ON, KNOB_OFF, KNOB_ON,                   \
	     "aae466b0052e (5.9)", "shadow entries of swapped-out pages; refaults activate")       \
	ENUM(kswapd, "reclaim.kswapd", KNOB_KSWAPD, KSWAPD_3_12, KSWAPD_6_18, "kernel version",    \
	     "which form of balance_pgdat()")                                                      \
	ENUM(scan_balance, "reclaim.scan_balance", KNOB_BALANCE, BALANCE_RECENT, BALANCE_COST,     \
	     "e9868505987a (3.8), 314b57fb0460 (5.8)",                                             \
	     "anon against file: by recent rotations (batched: in whole batches, and without "     \
	     "preference for plenty of file pages), or by cost")                                   \
	ENUM(proportion, "reclaim.proportion", KNOB_OFF_ON, KNOB_ON, KNOB_ON,                      \
	     "e82e0561dae9 (3.11)",                                                                \
	     "when enough is reclaimed, lists are scanned on until their proportion is kept")      \
	ENUM(direct_nap, "reclaim.direct_nap", KNOB_DIRECT_NAP, DIRECT_NAP_NEVER,                  \
	     DIRECT_NAP_NEVER, "0e093d99763e (2.6.37) congested, to 3.10",                         \
	     "from priority 9 on, direct reclaim waits a tenth of a second after each pass")       \
	ENUM(throttle_direct, "reclaim.throttle_direct", KNOB_OFF_ON, KNOB_ON, KNOB_ON,            \
	     "5515061d22f0 (3.6)", "below half of min, direct reclaimers wait for kswapd")         \
	ENUM(referenced, "reclaim.referenced_anon", KNOB_REFERENCED, REFERENCED_ACTIVATE,          \
	     REFERENCED_SECOND, "b518154e59aa (5.9)",                                              \
	     "a referenced inactive anonymous page: activated, or one more round")                 \
	ENUM(writeback_met, "reclaim.writeback_met", KNOB_WRITEBACK_MET, WRITEBACK_KEEP,           \
	     WRITEBACK_ACTIVATE, "c55e8d035b28 (4.11)",                                            \
	     "where reclaim leaves a page it finds under writeback")                               \
	ENUM(file_pageout, "reclaim.file_pageout", KNOB_FILE_PAGEOUT, FILE_PAGEOUT_KSWAPD,         \
	     FILE_PAGEOUT_NEVER, "ee72886d8ed5 (3.2), d43006d503ac (3.11), 6.16",                  \
	     "dirty file pages are written by any reclaimer, by kswapd when it meets nothing "     \
	     "else, "                                                                              \
	     "or by flushers only")                                                                \
	ENUM(writeback_end, "reclaim.writeback_end", KNOB_WRITEBACK_END, WRITEBACK_END_ROTATE,     \
	     WRITEBACK_END_ROTATE, "mail 002 (2 July 2014)",                                       \
	     "what reclaim has written is moved to the tail, or freed there and then")             \
	ENUM(throttle, "reclaim.throttle", KNOB_THROTTLE, THROTTLE_CONGESTION, THROTTLE_REASON,    \
	     "8cd7c588decf (5.16)", "congestion_wait(), or reclaim_throttle() by reason")          \
	ENUM(unmap_flush, "reclaim.unmap_flush", KNOB_UNMAP_FLUSH, UNMAP_FLUSH_PTE,                \
	     UNMAP_FLUSH_BATCH, "72b252aed506 (4.3)",                                              \
	     "TLB flush per pte, or one per batch of pages")                                       \
	ENUM(mm_cpumask, "tlb.mm_cpumask", KNOB_MM_CPUMASK, MM_CPUMASK_EXACT, MM_CPUMASK_LAZY,     \
	     "209954cbc7d0, 6db2526c1d69 (6.14)",                                                  \
	     "a CPU leaves it when it switches away, or at a flush, once a second")                \
	ENUM(rmap_lock, "reclaim.rmap_lock", KNOB_RMAP_LOCK, RMAP_LOCK_WAIT, RMAP_LOCK_TRY,        \
	     "6d4675e60135 (5.19)",                                                                \
	     "the ageing walk waits for a busy reverse-map lock, or keeps the page")               \
	ENUM(young_flush, "reclaim.young_flush", KNOB_OFF_ON, KNOB_OFF, KNOB_OFF,                  \
	     "b13b1d2d8692 (3.16) off", "clearing an accessed bit flushes its translation")        \
	ENUM(i_mmap_lock, "file.i_mmap_lock", KNOB_I_MMAP_LOCK, I_MMAP_RWSEM, I_MMAP_RWSEM,        \
	     "97a894136f29 (3.0) mutex, c8c06efa8b55 (3.19) rwsem",                                \
	     "lock of the tree of a file's mappings")                                              \
	ENUM(readahead, "readahead.form", KNOB_READAHEAD, READAHEAD_2_6_31, READAHEAD_6_18,        \
	     "kernel version", "what continues a sequence: expected offsets too, or markers only") \
	ENUM(mmap_sequential, "readahead.mmap_sequential", KNOB_OFF_ON, KNOB_OFF, KNOB_OFF,        \
	     "to 2.6.38: 2.6.31's ondemand mmap readahead",                                        \
	     "a fault on the page after the last one read is read ahead for as by read()")         \
	ENUM(workingset_file, "workingset.file", KNOB_OFF_ON, KNOB_ON, KNOB_ON,                    \
	     "a528910e12ec (3.15)", "shadow entries of evicted file pages; refaults activate")     \
	ENUM(shadow_nodes, "workingset.nodes", KNOB_SHADOW_NODES, SHADOW_NODES_PRESENT_16,         \
	     SHADOW_NODES_PRESENT_8, "449dd6984d0e (3.15), 4.9, 95f9ab2d596e (4.20)",              \
	     "index nodes of shadows that are spared: by pages present, or in the page cache")     \
	ENUM(mmap_align, "mmap.align", KNOB_MMAP_ALIGN, MMAP_ALIGN_PAGE, MMAP_ALIGN_HUGE,          \
	     "1854bc6e2420 (5.18: files), efa7df3e3bb5 (6.7), d4148aeab412 (6.13)",                \
	     "mappings of files that hold a huge page, and others of a multiple of 2 MiB, lie as " \
	     "huge pages must")                                                                    \
	ENUM(stable_pages, "fs.stable_pages", KNOB_OFF_ON, KNOB_OFF, KNOB_OFF,                     \
	     "1d1d1a767206 (3.9)",                                                                 \
	     "a page under writeback is not written to until that has ended")                      \
	ENUM(dirty_throttle, "writeback.throttle", KNOB_DIRTY_THROTTLE, DIRTY_THROTTLE_PAUSE,      \
	     DIRTY_THROTTLE_PAUSE, "143dfe8611a6 (3.2)",                                           \
	     "who dirties too many pages writes some himself, or pauses")                          \
	ENUM(writeback_proportions, "writeback.proportions", KNOB_PROPORTIONS, PROPORTIONS_TIME,   \
	     PROPORTIONS_TIME, "eb608e3a344b (3.6)",                                               \
	     "a disk's part in the dirty limits fades by pages written, or every 3 s")             \
	ENUM(dirty_spread, "writeback.spread", KNOB_OFF_ON, KNOB_ON, KNOB_ON,                      \
	     "a756cf5908530 (3.3)",                                                                \
	     "a page to be written to comes from a zone or node that is below its own dirty "      \
	     "limit")                                                                              \
	ENUM(flusher_wakeup, "reclaim.flusher_wakeup", KNOB_FLUSHER_WAKEUP,                        \
	     FLUSHER_WAKEUP_SCANNED, FLUSHER_WAKEUP_TAIL, "726d061fbd36, bbef938429f5 (4.11)",     \
	     "direct reclaim wakes flushers for as many pages as it scanned, or a dirty tail for " \
	     "all")                                                                                \
	ENUM(buffer_heads, "fs.buffer_heads", KNOB_OFF_ON, KNOB_ON, KNOB_ON, "ext3, ext4",         \
	     "pages that are written carry a buffer head, which holds a reference")                \
	ENUM(journal, "fs.journal", KNOB_JOURNAL, JOURNAL_NONE, JOURNAL_NONE, "ext3",              \
	     "ordered: buffers of written pages stay until the transaction commits")               \
	ENUM(swap_readahead, "swap.readahead", KNOB_SWAP_READAHEAD, SWAP_RA_CLUSTER, SWAP_RA_VMA,  \
	     "ec560175c0b6 (4.14)",                                                                \
	     "by swap offset, or by address where the disk does not rotate")                       \
	ENUM(swap_slots, "swap.slots", KNOB_SWAP_SLOTS, SWAP_SLOTS_3_12, SWAP_SLOTS_6_12,          \
	     "kernel version", "how slots are found: scan and per-CPU clusters, or cluster lists") \
	ENUM(swap_sync, "swap.synchronous", KNOB_OFF_ON, KNOB_OFF, KNOB_ON, "0bcac06f27d7 (4.15)", \
	     "RAM disks: what only one pte needs is read past the swap cache")                     \
	ENUM(zram_streams, "zram.streams", KNOB_ZRAM_STREAMS, ZRAM_STREAMS_ONE,                    \
	     ZRAM_STREAMS_PER_CPU, "da9556a2367c (4.7)",                                           \
	     "compressions at a time: one, by max_comp_streams' default, or one per CPU")          \
	ENUM(oom, "oom.reserves", KNOB_OOM, OOM_MEMDIE, OOM_REAPER, "aac453635549 (4.6)",          \
	     "a victim may use all reserves, or half of min and is reaped")                        \
	ENUM(vma_lock, "fault.vma_lock", KNOB_OFF_ON, KNOB_OFF, KNOB_ON, "6.4",                    \
	     "faults lock their VMA instead of mmap_sem")                                          \
	ENUM(mlock_drain, "mlock.drain", KNOB_MLOCK_DRAIN, MLOCK_DRAIN_COUNTED, MLOCK_DRAIN_LOCAL, \
	     "mail 001 (30 December 2011); 8891d6da (2.6.28) to 4.14, counted since 3.12",         \
	     "mlock empties the batches of all CPUs, of those with pages, of its own, or none")    \
	ENUM(mlock_isolate, "mlock.isolate", KNOB_MLOCK_ISOLATE, MLOCK_ISOLATE_NOW,                \
	     MLOCK_ISOLATE_BATCH, "2fbb0c10d1e8 (5.18)",                                           \
	     "a locked page changes its list at once, or with a batch, and its locks are counted") \
	ENUM(mlock_huge, "mlock.huge", KNOB_MLOCK_HUGE, MLOCK_HUGE_PMD, MLOCK_HUGE_WHOLE,          \
	     "b676b293fb48 (3.7), dc68badcede4 (6.7)",                                             \
	     "huge pages are mlocked when a fault makes them; if a huge entry maps them; or, "     \
	     "with "                                                                               \
	     "mlock.isolate = batch, if ptes map all of it")                                       \
	ENUM(madvise_free, "madvise.free", KNOB_MADVISE_FREE, MADV_LAZY, MADV_LAZY,                \
	     "mail 000 (24 February 2015)",                                                        \
	     "MADV_FREE: lazy; lazy only above 1.5 x min free; or as MADV_DONTNEED")               \
	ENUM(madvise_cold, "madvise.cold", KNOB_OFF_ON, KNOB_OFF, KNOB_ON,                         \
	     "9c276cc65a58, 1a4e58cce84e (5.4)", "MADV_COLD and MADV_PAGEOUT are known")           \
	ENUM(free_swap, "madvise.free_swap", KNOB_FREE_SWAP, FREE_SWAP_KEEP, FREE_SWAP_DROP,       \
	     "854e9ed09ded (4.5)", "MADV_FREE: swap entries in the range stay, or are freed")      \
	ENUM(free_list, "madvise.free_list", KNOB_FREE_LIST, FREE_LIST_STAY,                       \
	     FREE_LIST_INACTIVE_FILE, "10853a039208 (4.5), f7ad2a6cb9f7 (4.12)",                   \
	     "MADV_FREE: which list the pages move to")                                            \
	ENUM(free_slot, "madvise.free_slot", KNOB_FREE_SLOT, FREE_SLOT_NONE, FREE_SLOT_NONE,       \
	     "10853a039208 (4.5), 802a3a92ad7a (4.12)",                                            \
	     "reclaim of a lazily freed page: dropped at once, or given a swap slot first")

#define E(name, text) name,
#define KNOB_DECLARE(name, list) enum name { list(E) }
KNOB_DECLARE(madvise_free_policy, KNOB_MADVISE_FREE);
KNOB_DECLARE(free_swap_policy, KNOB_FREE_SWAP);
KNOB_DECLARE(free_list_policy, KNOB_FREE_LIST);
KNOB_DECLARE(free_slot_policy, KNOB_FREE_SLOT);
KNOB_DECLARE(mlock_drain_policy, KNOB_MLOCK_DRAIN);
KNOB_DECLARE(mlock_isolate_policy, KNOB_MLOCK_ISOLATE);
KNOB_DECLARE(mlock_huge_policy, KNOB_MLOCK_HUGE);
KNOB_DECLARE(thp_policy, KNOB_THP);
KNOB_DECLARE(mthp_policy, KNOB_MTHP);
KNOB_DECLARE(thp_defrag_policy, KNOB_THP_DEFRAG);
KNOB_DECLARE(khugepaged_policy, KNOB_KHUGEPAGED);
KNOB_DECLARE(thp_node_policy, KNOB_THP_NODE);
KNOB_DECLARE(khugepaged_node_policy, KNOB_KHUGEPAGED_NODE);
KNOB_DECLARE(thp_partial_policy, KNOB_THP_PARTIAL);
KNOB_DECLARE(thp_mapcount_policy, KNOB_THP_MAPCOUNT);
KNOB_DECLARE(thp_deferred_policy, KNOB_THP_DEFERRED);
KNOB_DECLARE(thp_swapout_policy, KNOB_THP_SWAPOUT);
KNOB_DECLARE(thp_swapin_policy, KNOB_THP_SWAPIN);
KNOB_DECLARE(slab_scan_policy, KNOB_SLAB_SCAN);
KNOB_DECLARE(thp_migration_policy, KNOB_THP_MIGRATION);
KNOB_DECLARE(thp_cow_policy, KNOB_THP_COW);
KNOB_DECLARE(thp_split_walk_policy, KNOB_THP_SPLIT_WALK);
KNOB_DECLARE(watermark_gap_policy, KNOB_WMARK_GAP);
KNOB_DECLARE(watermark_order_policy, KNOB_WMARK_ORDER);
KNOB_DECLARE(knob_off_on, KNOB_OFF_ON);
KNOB_DECLARE(pcp_policy, KNOB_PCP);
KNOB_DECLARE(slowpath_policy, KNOB_SLOWPATH);
KNOB_DECLARE(fallback_policy, KNOB_FALLBACK);
KNOB_DECLARE(compaction_policy, KNOB_COMPACTION);
KNOB_DECLARE(lru_per_policy, KNOB_LRU_PER);
KNOB_DECLARE(lru_anon_policy, KNOB_LRU_ANON);
KNOB_DECLARE(lru_add_policy, KNOB_LRU_ADD);
KNOB_DECLARE(kswapd_policy, KNOB_KSWAPD);
KNOB_DECLARE(scan_balance_policy, KNOB_BALANCE);
KNOB_DECLARE(referenced_policy, KNOB_REFERENCED);
KNOB_DECLARE(writeback_met_policy, KNOB_WRITEBACK_MET);
KNOB_DECLARE(throttle_policy, KNOB_THROTTLE);
KNOB_DECLARE(unmap_flush_policy, KNOB_UNMAP_FLUSH);
KNOB_DECLARE(mm_cpumask_policy, KNOB_MM_CPUMASK);
KNOB_DECLARE(rmap_lock_policy, KNOB_RMAP_LOCK);
KNOB_DECLARE(swap_readahead_policy, KNOB_SWAP_READAHEAD);
KNOB_DECLARE(swap_slots_policy, KNOB_SWAP_SLOTS);
KNOB_DECLARE(zram_streams_policy, KNOB_ZRAM_STREAMS);
KNOB_DECLARE(free_estimate_policy, KNOB_FREE_ESTIMATE);
KNOB_DECLARE(watermark_pages_policy, KNOB_WMARK_PAGES);
KNOB_DECLARE(direct_nap_policy, KNOB_DIRECT_NAP);
KNOB_DECLARE(pcp_drain_policy, KNOB_PCP_DRAIN);
KNOB_DECLARE(stat_worker_policy, KNOB_STAT_WORKER);
KNOB_DECLARE(oom_policy, KNOB_OOM);
KNOB_DECLARE(overcommit_policy, KNOB_OVERCOMMIT);
KNOB_DECLARE(overcommit_guess_policy, KNOB_OVERCOMMIT_GUESS);
KNOB_DECLARE(overcommit_reserve_policy, KNOB_OVERCOMMIT_RESERVE);
KNOB_DECLARE(mremap_move_policy, KNOB_MREMAP_MOVE);
KNOB_DECLARE(mremap_flush_policy, KNOB_MREMAP_FLUSH);
KNOB_DECLARE(mremap_errors_policy, KNOB_MREMAP_ERRORS);
KNOB_DECLARE(shadow_nodes_policy, KNOB_SHADOW_NODES);
KNOB_DECLARE(i_mmap_lock_policy, KNOB_I_MMAP_LOCK);
KNOB_DECLARE(readahead_policy, KNOB_READAHEAD);
KNOB_DECLARE(journal_policy, KNOB_JOURNAL);
KNOB_DECLARE(file_pageout_policy, KNOB_FILE_PAGEOUT);
KNOB_DECLARE(writeback_end_policy, KNOB_WRITEBACK_END);
KNOB_DECLARE(dirty_throttle_policy, KNOB_DIRTY_THROTTLE);
KNOB_DECLARE(mmap_align_policy, KNOB_MMAP_ALIGN);
KNOB_DECLARE(proportions_policy, KNOB_PROPORTIONS);
KNOB_DECLARE(flusher_wakeup_policy, KNOB_FLUSHER_WAKEUP);
#undef KNOB_DECLARE
#undef E

/* A machine's values. */
struct knobs {
#define NUM(field, name, unit, lo, hi, s, t, origin, doc) u64 field;
#define ENUM(field, name, values, s, t, origin, doc) u32 field;
	KNOBS(NUM, ENUM)
#undef NUM
#undef ENUM
};

/* One row of the table, for lists and messages. */
struct knob_info {
	const char *name;
	const char *unit;
	const char *origin;
	const char *doc;
	u64 min;
	u64 max;
	u32 nr_values;            /* 0: a number */
	const char *const *value; /* [nr_values] */
	size_t offset;
	u64 column[2]; /* defaults of 4.0 and 6.18; see knob_preset_value() for all presets */
};

u32 knob_count(void);
const struct knob_info *knob_at(u32 i);
const char *knob_preset_name(u32 i); /* by age; NULL past the last */

/* What preset @i (as for knob_preset_name()) gives a knob. */
u64 knob_preset_value(const struct knob_info *info, u32 i);

/* A field of @k by its row: no check of the value. */
void knob_write(struct knobs *k, const struct knob_info *info, u64 value);
u64 knob_read(const struct knobs *k, const struct knob_info *info);

/* Sets all knobs to preset @name's values; -EINVAL if there is no such preset. */
int knobs_preset(struct knobs *k, const char *name);

/*
 * Sets one. -ENOENT: no such knob; -EINVAL: not a value of it; @err (size @n) gets a sentence that
 * names what was expected and the nearest right spelling.
 */
int knob_set(struct knobs *k, const char *name, const char *value, char *err, size_t n);

/* Writes the knob's present value as text. */
void knob_get(const struct knobs *k, const struct knob_info *info, char *buf, size_t n);

#endif
