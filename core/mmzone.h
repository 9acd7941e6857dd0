/*
 * Zones, nodes, LRU lists, per-CPU page lists: where pages are.
 *
 * Linux include/linux/mmzone.h. One structure serves both eras: what was per zone before 4.8 and per
 * node after it (LRU lists, most counters) is reached through zone->lruvec and zone->node_stat, which
 * point to the zone's own or to the node's. Nothing else differs.
 *
 * Letters: (c) constant after boot  (Z) zone->lock  (L) lruvec->lru_lock  (o) only the owning CPU, or
 * (6.18) pcp->lock  (a) atomic or read without a lock
 */
#ifndef CORE_MMZONE_H
#define CORE_MMZONE_H

#include "core/mm_types.h"
#include "core/vmstat.h"

enum zone_type { ZONE_DMA, ZONE_DMA32, ZONE_NORMAL, ZONE_MOVABLE, MAX_NR_ZONES };

enum migratetype {
	MIGRATE_UNMOVABLE,
	MIGRATE_MOVABLE,
	MIGRATE_RECLAIMABLE,
	MIGRATE_PCPTYPES, /* number of types on per-CPU lists */
	MIGRATE_TYPES = MIGRATE_PCPTYPES
};

enum zone_watermarks { WMARK_MIN, WMARK_LOW, WMARK_HIGH, WMARK_PROMO, NR_WMARK };
_Static_assert(WMARK_MIN < WMARK_LOW && WMARK_LOW < WMARK_HIGH, "watermarks rise");

#define MAX_ORDER 11 /* orders 0 .. 10 */
#define PAGEBLOCK_ORDER 9
#define PAGEBLOCK_PAGES (1UL << PAGEBLOCK_ORDER)
#define PAGE_ALLOC_COSTLY_ORDER 3
#define NR_PCP_ORDERS 4 /* 6.18 keeps orders 0 .. 3 on per-CPU lists; 4.0 order 0 only */

enum lru_list {
	LRU_INACTIVE_ANON,
	LRU_ACTIVE_ANON,
	LRU_INACTIVE_FILE,
	LRU_ACTIVE_FILE,
	LRU_UNEVICTABLE,
	NR_LRU_LISTS
};
#define for_each_evictable_lru(l) for ((l) = 0; (l) <= LRU_ACTIVE_FILE; (l)++)

static inline bool is_file_lru(enum lru_list l)
{
	return l == LRU_INACTIVE_FILE || l == LRU_ACTIVE_FILE;
}

static inline bool is_active_lru(enum lru_list l)
{
	return l == LRU_ACTIVE_ANON || l == LRU_ACTIVE_FILE;
}

/* ---- counters ---------------------------------------------------------------------------- */

/* One CPU's differences for one zone or node. */
struct stat_cpu {
	s8 diff[NR_VM_ITEMS];   /* (o) */
	u8 threshold;           /* (a) written by set_pgdat_percpu_threshold() */
	struct world_line line; /* the bytes above; remote readers pay for it */
};

#define FOLDS_KEPT 64 /* a power of two */

/* Global values of one zone or node. @cpu[i] is NULL while CPU i has no differences here. */
struct stat_holder {
	atomic_long_t v[NR_VM_ITEMS]; /* (a) */
	struct world_line line;
	u8 threshold;             /* (a) what a new stat_cpu starts with */
	struct stat_cpu **cpu;    /* (c) [nr_cpus] */
	u32 nr_folds;             /* (a) of differences, the last of which */
	u16 fold_cpu[FOLDS_KEPT]; /* (a) were this CPU's */
	u64 fold_at[FOLDS_KEPT];  /* (a) at this time: first_touch.h asks, who runs ahead of them */
};

/* Linux's vm_stat[]: the sums over all zones or nodes, differences left out. */
struct stat_total {
	atomic_long_t v[NR_VM_ITEMS]; /* (a) */
	struct world_line line;
};

/* ---- LRU ----------------------------------------------------------------------------------- */

/* How recently scanned pages were found in use; [0] anon, [1] file. (L) */
struct zone_reclaim_stat {
	unsigned long recent_rotated[2];
	unsigned long recent_scanned[2];
};

struct lruvec {
	struct spinlock lru_lock;              /* irq-safe */
	struct page_list list[NR_LRU_LISTS];   /* (L) */
	unsigned long size[NR_LRU_LISTS];      /* (a) pages; Linux's lru_size or the nr_ items */
	struct zone_reclaim_stat reclaim_stat; /* (L) before 5.8 */
	unsigned long nr_saved_scan[NR_LRU_LISTS - 1]; /* (a) to 2.6.39: less than a batch */
	unsigned long anon_cost;                       /* (L) 5.8 on */
	unsigned long file_cost;                       /* (L) */
	unsigned long nonresident_age;                 /* (a) evictions and activations */
	unsigned long refaults[2]; /* (a) snapshot at the last reclaim; anon, file */
	u32 flags;                 /* (a) enum lruvec_flags */
	struct pglist_data *pgdat; /* (c) */
	struct zone *zone;         /* (c) NULL when the lists are per node */
};

enum lruvec_flags {
	LRUVEC_CGROUP_CONGESTED = 1 << 0,
	LRUVEC_NODE_CONGESTED = 1 << 1,
};

/* ---- per-CPU lists ---------------------------------------------------------------------------- */

struct per_cpu_pages {
	/* One line of the host: what taking and giving a movable page needs. */
	s32 count;
	s32 high;
	s32 batch;
	s16 free_count;  /* 6.18: consecutive frees */
	u8 alloc_factor; /* 6.18: refills double, up to 5 times */
	u8 flags;
	struct page_list list[MIGRATE_PCPTYPES * NR_PCP_ORDERS]; /* by order * types + type */

	struct spinlock lock; /* 6.18; 4.0 relies on interrupts being off */
	s32 high_min;
	s32 high_max;
	u8 expire;    /* folds until a remote zone's list is drained */
	u8 next_type; /* where the round-robin of free stands */
	u16 cpu;      /* (c) */
};

/* ---- zones --------------------------------------------------------------------------------------- */

struct free_area {
	struct page_list list[MIGRATE_TYPES]; /* (Z) */
	unsigned long nr_free;                /* (Z) blocks, those not yet carved included */
};

enum zone_flags {
	ZONE_CONGESTED = 1 << 0,
	ZONE_TAIL_LRU_DIRTY = 1 << 1,
	ZONE_WRITEBACK = 1 << 2,
	ZONE_FAIR_DEPLETED = 1 << 3,
	ZONE_RECLAIM_ACTIVE = 1 << 4,
	ZONE_BELOW_HIGH = 1 << 5,
	ZONE_BOOSTED_WATERMARK = 1 << 6,
	ZONE_RECLAIM_LOCKED = 1 << 7, /* somebody is in node_reclaim() */
};

/* A run of order-10 blocks never used so far, or what is left of it: not on the free lists. (Z) */
struct fresh_range {
	u64 start_pfn;
	u64 end_pfn;
};

struct zone {
	const char *name;            /* (c) "DMA32" */
	struct machine *machine;     /* (c) */
	struct pglist_data *pgdat;   /* (c) */
	enum zone_type type;         /* (c) */
	u32 page_flags;              /* (c) what a page of it has in its flags: zone and node */
	u64 zone_start_pfn;          /* (c) */
	unsigned long spanned_pages; /* (c) */
	unsigned long present_pages; /* (c) */
	unsigned long managed_pages; /* (c) */
	unsigned long memmap_pages;  /* (c) of the present ones, what page descriptors take */

	unsigned long _watermark[NR_WMARK]; /* (a) pages, boost left out; use wmark() */
	unsigned long watermark_boost;      /* (a) pages */
	long lowmem_reserve[MAX_NR_ZONES];  /* (c) by the highest zone the request may use */
	unsigned long percpu_drift_mark;    /* (a) 0: the cheap counter is good enough */
	long estimate_mark;    /* (c) cheap values below it are checked: see free_estimate.c */
	u8 threshold_normal;   /* (c) */
	u8 threshold_pressure; /* (c) */
	u32 inactive_ratio;    /* (c) before 4.8 */
	u32 flags;             /* (a) enum zone_flags */

	struct spinlock lock;                  /* irq-safe */
	struct free_area free_area[MAX_ORDER]; /* (Z) */
	struct fresh_range *fresh;             /* (Z) taken from fresh[fresh_next] on */
	u32 nr_fresh;
	u32 fresh_next;
	long nr_free; /* (Z) pages that are free: what NR_FREE_PAGES estimates */
	unsigned long totalreserve_pages; /* (c) of the machine's: its part */
	long min_unreserved;              /* (c) the min mark without mail 004's reserve */
	long min_breach_pages;            /* (Z) see note_min_breach() */
	u8 *pageblock_type; /* (Z) by block from the zone's first on; see get_pageblock_migratetype() */

	/* Where compaction's scanners go on: [0] asynchronous, [1] others. (a) */
	u64 compact_migrate_pfn[2];
	u64 compact_free_pfn;
	u32 compact_considered; /* (a) requests since it was deferred */
	int compact_defer_shift;
	int compact_order_failed;     /* (a) the smallest order that failed */
	bool compact_blockskip_flush; /* (a) a whole pass is done: forget the next */
	bool pageblock_skip_used;     /* (a) any of it */
	u8 *pageblock_skip;           /* (a) by block, as pageblock_type: nothing found there */

	s32 pcp_high; /* (c) of a new per-CPU list: batch, high and its bounds */
	s32 pcp_high_min;
	s32 pcp_high_max;
	s32 pcp_batch;
	struct per_cpu_pages **pcp; /* (c) [nr_cpus]; NULL until used: zone_pcp() */

	struct stat_holder stat;       /* zone items; before 4.8 all items */
	struct stat_holder *node_stat; /* (c) &stat, or &pgdat->stat */
	struct lruvec *lruvec;         /* (c) &own_lruvec, or &pgdat->lruvec */
	struct lruvec own_lruvec;
};

/* A mark as it is tested: with the boost. */
static inline unsigned long wmark(const struct zone *z, enum zone_watermarks w)
{
	return z->_watermark[w] + z->watermark_boost;
}

static inline bool populated_zone(const struct zone *z)
{
	return z->present_pages != 0;
}

static inline bool managed_zone(const struct zone *z)
{
	return z->managed_pages != 0;
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

struct pglist_data {
	struct machine *machine;          /* (c) */
	u32 node_id;                      /* (c) */
	u64 node_start_pfn;               /* (c) */
	unsigned long node_spanned_pages; /* (c) */
	struct page *mem_map; /* (c) of node_start_pfn; base of every page_list of this node */
	struct zone zone[MAX_NR_ZONES];
	u32 shadow_first; /* (t of each) index nodes with shadows only, newest first: xarray.c */
	u32 shadow_last;
	u64 nr_shadow_nodes;
	u32 nr_zonelist; /* (c) */
	struct zone *
		*zonelist;  /* (c) zones to try from here: nearest node first, high zone first */
	u32 nr_local_zones; /* (c) how many of the list are this node's */
	u32 nr_cpus;        /* (c) */
	struct stat_holder stat; /* node items, 4.8 on */
	struct lruvec lruvec;    /* 4.8 on */

	/* Huge pages partly unmapped, to be split when memory is wanted: huge_split.c. */
	struct spinlock split_queue_lock; /* irq-safe */
	u32 split_queue_first;            /* links, through the third page; 0: empty */
	u32 split_queue_last;
	unsigned long split_queue_len; /* those in the shrinker's hands included */

	struct task *kcompactd; /* NULL: there is none */
	struct wait_queue_head kcompactd_wait;
	int kcompactd_max_order;       /* (a) asked for */
	int kcompactd_highest_zoneidx; /* (a) */

	struct task *kswapd;
	struct wait_queue_head kswapd_wait;
	struct wait_queue_head pfmemalloc_wait;
	int kswapd_order;                       /* (a) asked for */
	int kswapd_highest_zoneidx;             /* (a) 4.0: classzone_idx */
	u32 kswapd_failures;                    /* (a) */
	u32 reclaim_flags;                      /* (a) zone_flags of the node, 4.8 on */
	struct wait_queue_head reclaim_wait[4]; /* 6.18 reclaim_throttle, by reason */
	atomic_long_t nr_writeback_throttled;   /* (a) tasks in reclaim_wait[WRITEBACK] */
	unsigned long nr_reclaim_start; /* (a) NR_THROTTLED_WRITTEN when the first was throttled */
};

#endif
