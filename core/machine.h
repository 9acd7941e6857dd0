/*
 * The machine: everything hangs off one struct, the core has no globals. And the way from a frame to its page,
 * zone and node.
 */
#ifndef CORE_MACHINE_H
#define CORE_MACHINE_H

#include "core/gfp.h"
#include "core/knobs.h"
#include "core/mm.h"
#include "core/mm_types.h"
#include "core/mmzone.h"
#include "core/vmstat.h"
#include "core/workqueue.h"
#include "core/xarray.h"
#include "lib/arena.h"

#define SWAP_CLUSTER_MAX 32
#define DEF_PRIORITY 12
#define MAX_SWAPFILES 8
#define HZ_NS(m) ((m)->world->ns_per_tick)

struct swap_info_struct;
struct kmem_cache;
struct worker_pool;
struct fs;

/* One CPU's batches of pages on their way to an LRU list. (o); rotate: with interrupts off. */
#define PAGEVEC_MAX 31
struct pagevec {
	u32 nr;
	struct page *page[PAGEVEC_MAX];
};

struct cpu_pagevecs {
	struct pagevec lru_add[NR_LRU_LISTS]; /* one for all lists, or (to 3.10) one for each */
	struct pagevec lru_rotate;            /* filled by completions: interrupts off */
	struct pagevec lru_deactivate;
	struct pagevec lru_deactivate_file;
	struct pagevec lru_lazyfree;
	struct pagevec activate_page;
};

/* Pages whose locked mappings have changed, and how: mlock_page.c, 5.18 on. (o) */
enum mlock_what { MLOCK_PAGE, MLOCK_NEW_PAGE, MUNLOCK_PAGE };
struct mlock_pagevec {
	struct pagevec pvec;
	u8 what[PAGEVEC_MAX];
};

/* Reads of a zone's counters that ran ahead of other CPUs' folds, the lines of which are to be paid. */
struct ahead_reads {
	struct stat_holder *holder;
	u64 from;      /* the first read */
	u64 period_ns; /* and how far they are apart */
	u32 nr;        /* 0: none */
	u32 nr_left;   /* faults of the run that are still to come, one by one */
};

/* Huge pages, by order. */
#define MTHP_MIN_ORDER 2u
#define MTHP_MAX_ORDER 9u

/* What a CPU has of its own. */
struct cpu_data {
	u64 event[NR_VM_EVENTS]; /* (o) */
	struct cpu_pagevecs pvec;
	struct mlock_pagevec mlock;
	struct world_timer stat_timer; /* folds counters every vm.stat_interval, */
	struct work_struct stat_work;  /* itself or by this */
	struct stat_cpu *stat_free;    /* (o) stat_cpus not in use, linked: see vmstat.c */
	u64 swap_next[MAX_SWAPFILES];  /* cluster the CPU allocates from: next slot + 1; 0: none */
	swp_entry_t
		swap_cluster_next[MTHP_MAX_ORDER + 1]; /* (o) 6.12: the same by order; 0: none */
	long committed;                                /* (o) not yet in machine->vm_committed_as */
	u32 nr_dirtied;             /* (o) since balance_dirty_pages() was last called */
	u32 dirty_leaks;            /* (o) dirtied by tasks that ended before they paid */
	struct ahead_reads ahead;   /* (o) */
	u32 nr_xa_nodes;            /* (o) index nodes in stock: xa_preload() */
	u32 xa_nodes[XA_STOCK_MAX]; /* (o) their handles */
};

enum slab_kind {
	SLAB_VMA,
	SLAB_ANON_VMA,
	SLAB_AVC,
	SLAB_MM,
	SLAB_TASK,
	SLAB_RADIX,
	SLAB_INODE,
	SLAB_FILE,
	SLAB_EXTENT,
	SLAB_BIO,
	NR_SLABS
};

/*
 * Objects of one kind. Their host memory is a pool; the frames that their slabs would occupy are
 * taken from and given back to the machine as the number of objects rises and falls.
 */
struct kmem_cache {
	struct pool pool;
	u32 objs_per_frame;
	u32 frames_per_obj;
	u32 nr_objs;
	u32 nr_frames;
	struct page_list frames[1]; /* LIFO; pages of node 0's base or of where they came from */
};

/* What a first touch, fault.c's, spends in steps, ns, and the flags of its page. (c) */
struct first_touch {
	u32 sem_ns;  /* to the lock of the address space, */
	u32 take_ns; /* to the order point, */
	u32 ptl_ns;  /* to the table's lock, */
	u32 map_ns;  /* to the end of that, */
	u32 end_ns;  /* and to the end, the zone's line apart */
	u32 page_flags;
};

/* Counters per size of huge page: mthp.c. */
enum mthp_stat {
	MTHP_ANON_FAULT_ALLOC,
	MTHP_ANON_FAULT_FALLBACK,
	MTHP_SPLIT,
	MTHP_SPLIT_FAILED,
	MTHP_SPLIT_DEFERRED,
	MTHP_SWPOUT,
	MTHP_SWPOUT_FALLBACK,
	MTHP_SWPIN,
	MTHP_SWPIN_FALLBACK,
	NR_MTHP_STATS
};

struct mempolicy {
	enum mm_mempolicy mode;
	u64 nodes;
};
#define MEMPOLICIES_MAX 256

struct machine {
	struct world *world;
	struct first_touch first_touch;
	struct knobs knob;
	u32 nr_cpus;
	u32 nr_nodes;
	struct pglist_data *node;  /* [nr_nodes] */
	struct zone **zone_by_key; /* (c) what page->flags >> PAGE_ZONE_SHIFT names */
	struct page *mem_map;      /* page of pfn 0; reserved for the highest pfn */
	u64 *page_private;         /* by pfn: swap entry of PG_swapcache pages */
	u16 *page_mlock_count; /* (L) by pfn: VM_LOCKED VMAs, of pages on the unevictable list */
	u64 max_pfn;
	unsigned long totalram_pages; /* managed, all zones */
	unsigned long totalreserve_pages;
	unsigned long min_free_kbytes; /* effective */
	struct stat_total vm_stat;     /* sums over zones and nodes */
	/* Too little memory to keep migrate types apart. (c) */
	bool page_group_by_mobility_disabled;
	u32 zone_reclaim_mode; /* (c) effective: see node_reclaim.c */
	/* Frames that compaction has taken off the free lists (take_buddy()), which are not counted as
	 * allocated; in Linux neither, where those they replace are counted as freed. (a) */
	u64 nr_taken;
	bool draining;         /* (a) 6.18: somebody is in drain_all_pages() */
	u32 nr_mempolicies;    /* (a) in mempolicy[], from 1 on; 0: nobody has one */
	u32 nr_world_tasks;    /* (c) ids up to this are the world's own, not struct tasks */
	u32 lru_add_mask;      /* (c) & page_lru(): which of a CPU's add batches a page joins */
	u32 lru_add_new_anon;  /* (c) the same for a new anonymous page */
	u32 alloc_ns_max;      /* (c) see alloc_init() */
	struct arena arena;    /* everything of known size at boot */
	struct cpu_data **cpu; /* [nr_cpus]; NULL until used: this_cpu() */

	/* page tables */
	void *tables;           /* table n at n * PAGE_SIZE */
	struct pt_table *table; /* [max_tables] */
	u32 max_tables;
	u32 nr_tables;  /* highest number used so far */
	u32 free_table; /* head of the list of free numbers, linked through table.nr_used */
	struct arena table_arena;    /* pgtable.c: tables and table */
	struct page *zero_page;      /* what reads of untouched memory map; NULL until the first */
	struct page *huge_zero_page; /* (a) the same in one entry; NULL: not there */
	s32 huge_zero_refs;          /* (a) entries, and 1 for being kept; freed by a shrinker */
	struct kmem_cache slab[NR_SLABS];
	struct pool gather_pool; /* zap.c: struct mmu_gather_batch */
	struct pool looks_pool;  /* split_walk.c: struct looks */

	/* work for other CPUs: workqueue.c */
	struct worker_pool **worker_pool; /* [nr_cpus]; NULL until used */
	struct pool drain_pool;           /* of work_struct[nr_cpus] */
	struct mutex drain_lock;          /* 3.12: one lru_add_drain_all() at a time */

	struct mempolicy *mempolicy;   /* (a) [MEMPOLICIES_MAX] mempolicy.c; only grows */
	struct shrinker *shrinkers;    /* (c) shrinker.c */
	struct khugepaged *khugepaged; /* (c) NULL: thp.enabled = never */
	u32 mthp_always;               /* (c) bits: orders below 9 that are enabled, */
	u32 mthp_madvise;              /* (c) and those that must be asked for */
	u64 mthp_stat[MTHP_MAX_ORDER + 1][NR_MTHP_STATS]; /* (a) by order */

	/* overcommit: util.c, in pages */
	atomic_long_t vm_committed_as;
	unsigned long committed_batch;     /* (c) */
	unsigned long admin_reserve_pages; /* (c) */
	unsigned long user_reserve_pages;  /* (c) */

	struct list_head tasks; /* all user tasks */
	struct list_head mms;   /* all address spaces */
	u32 next_mm;

	/* swap */
	struct swap_info_struct *swap[MAX_SWAPFILES];
	u32 nr_swapfiles;
	atomic_long_t nr_swap_pages; /* free slots */
	unsigned long total_swap_pages;
	struct spinlock swap_avail_lock;
	u32 swap_order[MAX_SWAPFILES]; /* areas by priority, best first */
	struct pool io_pool;           /* struct world_io */
	u32 swapin_readahead_hits;     /* (a) since the last readahead; starts at 4 */
	u32 last_readahead_pages;      /* (a) */
	u64 prev_swap_offset;          /* (a) */
	u32 nr_rotate_swap;            /* (a) areas on rotating disks */
	struct spinlock bio_lock;
	u32 nr_bio_reserve;              /* bio_lock */
	struct wait_queue_head bio_wait; /* for one to come back to the reserve */
	u64 nr_swap_errors[2];           /* (a) pages whose read, write failed */

	/* files */
	struct fs *fs; /* (c) */

	/* waiting */
	struct wait_queue_head
		*page_wait; /* [PAGE_WAIT_TABLE] hashed by pfn: PG_locked, PG_writeback */
	struct wait_queue_head congestion_wait[2]; /* read, write */
	struct mutex oom_lock;
	u32 oom_victims;
	u32 nr_sigbus; /* tasks killed because a page could not be read back */
	struct wait_queue_head oom_reaper_wait;
	struct task *oom_reaper; /* NULL before 4.6 */

	/* whole procedures chosen at creation */
	void (*balance_pgdat)(struct machine *m, struct pglist_data *pgdat, int *order,
	                      int *zoneidx);
	struct page *(*slowpath)(struct machine *m, gfp_t gfp, unsigned int order);
	void (*get_scan_count)(struct machine *m, struct lruvec *lruvec, void *sc,
	                       unsigned long *nr);
	swp_entry_t (*get_swap_slot)(struct machine *m, struct swap_info_struct *si, u32 order);

	bool booted;
};

/* This CPU's own data. */
struct cpu_data *__this_cpu_alloc(struct machine *m);
static inline struct cpu_data *this_cpu(struct machine *m)
{
	struct cpu_data *d = m->cpu[world_self->id];

	return likely(d) ? d : __this_cpu_alloc(m);
}

/* Flags of the running task; 0 in the boot context, and for tasks that are the world's own. */
static inline u32 current_flags(const struct machine *m)
{
	return world_self->task->id > m->nr_world_tasks ? current_task()->flags : 0;
}

static inline struct page *pfn_to_page(const struct machine *m, u64 pfn)
{
	return &m->mem_map[pfn];
}

static inline u64 page_to_pfn(const struct machine *m, const struct page *p)
{
	return (u64)(p - m->mem_map);
}

static inline struct pglist_data *page_pgdat(const struct machine *m, const struct page *p)
{
	return &m->node[page_nid(p)];
}

/* The zone that page->flags >> PAGE_ZONE_SHIFT names. */
static inline struct zone *zone_of_key(const struct machine *m, u32 key)
{
	return m->zone_by_key[key];
}

static inline struct zone *page_zone(const struct machine *m, const struct page *p)
{
	return zone_of_key(m, p->flags >> PAGE_ZONE_SHIFT);
}

static inline struct lruvec *page_lruvec(const struct machine *m, const struct page *p)
{
	return page_zone(m, p)->lruvec;
}

#define for_each_node(m, nd) for ((nd) = (m)->node; (nd) < (m)->node + (m)->nr_nodes; (nd)++)
#define for_each_zone(m, nd, z)                                                                    \
	for_each_node (m, nd)                                                                      \
		for ((z) = (nd)->zone; (z) < (nd)->zone + MAX_NR_ZONES; (z)++)
#define for_each_populated_zone(m, nd, z)                                                          \
	for_each_zone (m, nd, z)                                                                   \
		if (!populated_zone(z))                                                            \
			;                                                                          \
		else

/* A zone of the first node: what has no place of its own is counted there. */
static inline struct zone *boot_zone(const struct machine *m)
{
	struct zone *z = m->node[0].zone;

	while (!populated_zone(z))
		z++;
	return z;
}

/* The node of the running CPU. */
static inline struct pglist_data *this_node(struct machine *m)
{
	return &m->node[world_self->node];
}

#endif
