/*
 * What the files of core/ share: the machine, and each file's functions for its neighbours.
 *
 * A machine hangs off one struct; the core has no globals. Functions follow their Linux namesakes in
 * meaning and locking unless they say otherwise.
 */
#ifndef CORE_INTERNAL_H
#define CORE_INTERNAL_H

#include <errno.h>

#include "core/knobs.h"
#include "core/mm.h"
#include "core/mm_types.h"
#include "core/mmzone.h"
#include "core/vmstat.h"
#include "core/workqueue.h"
#include "core/xarray.h"
#include "lib/arena.h"

/* ---- allocation flags (linux-mm.md 4.2) ------------------------------------------------------- */

typedef u32 gfp_t;

#define __GFP_DMA (1u << 0)
#define __GFP_DMA32 (1u << 1)
#define __GFP_HIGHMEM (1u << 2)
#define __GFP_MOVABLE (1u << 3)
#define __GFP_RECLAIMABLE (1u << 4)
#define __GFP_HIGH (1u << 5)
#define __GFP_IO (1u << 6)
#define __GFP_FS (1u << 7)
#define __GFP_DIRECT_RECLAIM (1u << 8)
#define __GFP_KSWAPD_RECLAIM (1u << 9)
#define __GFP_NORETRY (1u << 10)
#define __GFP_RETRY_MAYFAIL (1u << 11)
#define __GFP_NOFAIL (1u << 12)
#define __GFP_MEMALLOC (1u << 13)
#define __GFP_NOMEMALLOC (1u << 14)
#define __GFP_THISNODE (1u << 15)
#define __GFP_ZERO (1u << 16)
#define __GFP_NOWARN (1u << 17)
#define __GFP_COMP (1u << 18)  /* a compound page */
#define __GFP_WRITE (1u << 19) /* it will be written to, and to a disk */

#define GFP_ATOMIC (__GFP_HIGH | __GFP_KSWAPD_RECLAIM)
#define GFP_NOWAIT (__GFP_KSWAPD_RECLAIM)
#define GFP_NOIO (__GFP_DIRECT_RECLAIM | __GFP_KSWAPD_RECLAIM)
#define GFP_NOFS (GFP_NOIO | __GFP_IO)
#define GFP_KERNEL (GFP_NOFS | __GFP_FS)
#define GFP_HIGHUSER_MOVABLE (GFP_KERNEL | __GFP_HIGHMEM | __GFP_MOVABLE)

/* Allocation flags of the watermark test. */
#define ALLOC_WMARK_MASK 3u /* enum zone_watermarks */
#define ALLOC_NO_WATERMARKS (1u << 2)
#define ALLOC_HIGH (1u << 3)   /* 6.18: MIN_RESERVE */
#define ALLOC_HARDER (1u << 4) /* 6.18: NON_BLOCK */
#define ALLOC_OOM (1u << 5)
#define ALLOC_FAIR (1u << 6) /* 3.12 to 4.7: the fair pass */
#define ALLOC_KSWAPD (1u << 7)
#define ALLOC_NOFRAGMENT (1u << 8)   /* 6.18: do not take from blocks of another type */
#define ALLOC_SPREAD_DIRTY (1u << 9) /* 3.3: only where few pages are dirty */

#define SWAP_CLUSTER_MAX 32
#define DEF_PRIORITY 12
#define MAX_SWAPFILES 8
#define HZ_NS(m) ((m)->world->ns_per_tick)

/* ---- the machine ---------------------------------------------------------------------------------- */

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

/* What a CPU has of its own. */
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

/* ---- mmzone.c: boot of zones, zonelists -------------------------------------------------------- */

/* Builds nodes and zones from m->world->hw. 0 or -ENOMEM/-EINVAL with a sentence in @err. */
int zones_init(struct machine *m, char *err, size_t n);
void zones_destroy(struct machine *m);

/* ---- watermark.c (mm/page_alloc.c) ------------------------------------------------------------------ */

void setup_per_zone_wmarks(struct machine *m); /* min_free_kbytes, marks, lowmem_reserve, totals */
bool zone_watermark_ok(struct zone *z, unsigned int order, unsigned long mark, int highest_zoneidx,
                       u32 alloc_flags);
bool zone_watermark_ok_safe(struct zone *z, unsigned int order, unsigned long mark,
                            int highest_zoneidx, u32 alloc_flags);

/* ---- page_alloc.c, pcp.c, buddy.c ---------------------------------------------------------------------- */

/*
 * A block of 2^order frames, refcount of the first 1, from the running CPU's node by zonelist.
 * NULL: none to be had under @gfp. May switch tasks if __GFP_DIRECT_RECLAIM. Not cleared unless
 * __GFP_ZERO (which charges the clearing). Interrupts may be on or off (off: no reclaim).
 */
struct page *alloc_pages(struct machine *m, gfp_t gfp, unsigned int order);

/* ---- mempolicy.c: where a request may look */

/* The same whatever anybody's policy says. */
struct page *alloc_pages_nopolicy(struct machine *m, gfp_t gfp, unsigned int order);
struct page *__alloc_pages_policy(struct machine *m, gfp_t gfp, unsigned int order, u32 policy,
                                  u64 index);
struct page *alloc_pages_task_policy(struct machine *m, gfp_t gfp, unsigned int order);
struct page *__alloc_pages_vma(struct machine *m, gfp_t gfp, unsigned int order,
                               const struct vm_area_struct *vma, u64 va);
u64 nodes_with_memory(const struct machine *m);
void mempolicy_look(struct machine *m);
/* move_pages.c */
void moving_prepare(struct machine *m);
long mbind_move(struct machine *m, struct mm_struct *mm, u64 start, u64 end, u32 policy, u64 nodes,
                bool all);
long pages_off_nodes(struct machine *m, struct mm_struct *mm, u64 start, u64 end, u64 nodes);
bool mempolicy_in_oom_domain(const struct machine *m, const struct task *t, u64 mask);
struct pglist_data *__policy_node(struct machine *m);
bool __policy_allows(const struct machine *m, const struct zone *z);

/* A huge page of 2 MiB, if there is more than one node. */
struct page *__alloc_huge_pages_vma(struct machine *m, gfp_t gfp, const struct vm_area_struct *vma,
                                    u64 va);

/* For user memory at @va. */
static inline struct page *alloc_pages_vma(struct machine *m, gfp_t gfp, unsigned int order,
                                           const struct vm_area_struct *vma, u64 va)
{
	if (likely(!m->nr_mempolicies))
		return alloc_pages(m, gfp, order);
	return __alloc_pages_vma(m, gfp, order, vma, va);
}

/* The node whose zonelist the request under way walks, */
static inline struct pglist_data *policy_node(struct machine *m)
{
	return likely(!m->nr_mempolicies) ? this_node(m) : __policy_node(m);
}

/* and which of its zones it may use. */
static inline bool policy_allows(const struct machine *m, const struct zone *z)
{
	return likely(!m->nr_mempolicies) || __policy_allows(m, z);
}

static inline struct page *alloc_page(struct machine *m, gfp_t gfp)
{
	return alloc_pages(m, gfp, 0);
}

/*
 * One page for user code, filled with zeros (GFP_HIGHUSER_MOVABLE); cheap for who maps it at once:
 * everything but @late ns has been charged before the page is taken, and the caller charges those when
 * it is done. So no other CPU comes between the taking and the lock of the page table.
 */
struct page *alloc_zeroed_user_page(struct machine *m, u32 *late);
/* The same where the fast path, which has been charged, found that it would not do. */
struct page *alloc_zeroed_user_page_slow(struct machine *m);

/* Drops a reference to a block that is on no list and frees it at 0. Never switches tasks. */
void __free_pages(struct machine *m, struct page *page, unsigned int order);

/* ---- compound.c ---- */

void prep_compound_page(const struct zone *z, struct page *head, unsigned int order);
/* Before anything can meet a tail other than the first two. */
void prep_tails(struct machine *m, struct page *head);
void destroy_compound_page(const struct zone *z, struct page *head);

/* Frees a compound page whose refcount is already 0 and that is on no list. */
void free_compound_page(struct machine *m, struct page *head);
/* The same for one that may wait to be split. */
void free_huge_page(struct machine *m, struct page *head);

/* Frees pages whose refcount is already 0 and that are on no LRU list: to the per-CPU lists. */
void free_unref_page(struct machine *m, struct page *page);
void free_unref_page_list(struct machine *m, struct page_list *list);
void free_unref_pages(struct machine *m, struct page **pages, u32 nr); /* the last one first */
/* The same for pages that reclaim took: before 4.15 they go where they are used again last. */
void free_cold_page_list(struct machine *m, struct page_list *list);

void drain_all_pages(struct machine *m);
void drain_zone_pages(struct machine *m, struct zone *z, struct per_cpu_pages *pcp); /* own CPU's */
unsigned long nr_free_pages(struct machine *m); /* global, cheap counter */
void alloc_init(struct machine *m);             /* boot */
int gfp_zone(gfp_t gfp);                        /* highest zone index the request may use */

/* The free-list pass, for slow path and OOM: NULL if no zone passes. */
struct page *get_page_from_freelist(struct machine *m, gfp_t gfp, unsigned int order,
                                    u32 alloc_flags);

struct per_cpu_pages *__zone_pcp_alloc(struct zone *z);
static inline struct per_cpu_pages *zone_pcp(struct zone *z)
{
	struct per_cpu_pages *pcp = z->pcp[world_self->id];

	return likely(pcp) ? pcp : __zone_pcp_alloc(z);
}

void page_alloc_audit(struct machine *m);

/* ---- vmstat.c ---------------------------------------------------------------------------------------- */

static inline void count_vm_events(struct machine *m, enum vm_event e, u64 n)
{
	this_cpu(m)->event[e] += n;
}

static inline void count_vm_event(struct machine *m, enum vm_event e)
{
	count_vm_events(m, e, 1);
}

void vmstat_init_holder(struct machine *m, struct stat_holder *h);

/*
 * This CPU's differences of @h, and what to do when one has passed its threshold. What is rare is out
 * of line, and tail calls where they can be, so that a change saves no registers.
 */
struct stat_cpu *__stat_cpu(struct machine *m, struct stat_holder *h, u32 nr);
void __stat_fold(struct machine *m, struct stat_holder *h, enum vm_item item, long amount);

/* For @nr changes, which are paid for here. */
static __always_inline struct stat_cpu *stat_cpu(struct machine *m, struct stat_holder *h, u32 nr)
{
	struct world_cpu *c = world_self;
	struct stat_cpu *s = h->cpu[c->id];

	/* Its line is written; COST_VMSTAT pays for that unless another CPU has looked at it. */
	if (unlikely(!s || s->line.holder != c->mark))
		return __stat_cpu(m, h, nr);
	charge_n(COST_VMSTAT, nr);
	return s;
}

/* An add that passes the threshold takes all of the difference along. */
static __always_inline void __mod_stat(struct machine *m, struct stat_holder *h, struct stat_cpu *s,
                                       enum vm_item item, long delta)
{
	long x = s->diff[item] + delta;

	if (unlikely(x > s->threshold || x < -(long)s->threshold)) {
		s->diff[item] = 0;
		__stat_fold(m, h, item, x);
	} else {
		s->diff[item] = (s8)x;
	}
}

static inline void mod_holder_state(struct machine *m, struct stat_holder *h, enum vm_item item,
                                    long delta)
{
	__mod_stat(m, h, stat_cpu(m, h, 1), item, delta);
}

/* One more, after @s has been found for another and without an order point in between. */
static inline void mod_holder_state_next(struct machine *m, struct stat_holder *h,
                                         struct stat_cpu *s, enum vm_item item, long delta)
{
	charge(COST_VMSTAT);
	__mod_stat(m, h, s, item, delta);
}

/* Two items of one holder. */
static inline void mod_holder_state2(struct machine *m, struct stat_holder *h, enum vm_item a,
                                     long delta_a, enum vm_item b, long delta_b)
{
	struct stat_cpu *s = stat_cpu(m, h, 2);

	__mod_stat(m, h, s, a, delta_a);
	__mod_stat(m, h, s, b, delta_b);
}

/* Adds @delta to a zone or node item with the threshold rule; interrupts off or item not used in
 * interrupts. No order point: adds commute. */
static inline void mod_zone_state(struct zone *z, enum vm_item item, long delta)
{
	mod_holder_state(z->machine, &z->stat, item, delta);
}

/* The same for an item that is the node's from 4.8 on. */
static inline void mod_node_state(struct zone *z, enum vm_item item, long delta)
{
	mod_holder_state(z->machine, z->node_stat, item, delta);
}

/* The rule of Linux's inc_ and dec_ forms: a fold overshoots by half the threshold. @one: 1, -1. */
void inc_zone_state(struct zone *z, enum vm_item item, int one);

/* mod_zone_state(z, item, step), @nr times. */
void mod_zone_state_steps(struct zone *z, enum vm_item item, int step, u32 nr);

/* Cheap value and exact sum, negatives as 0. Order points; charge the lines they read. */
unsigned long zone_page_state(struct zone *z, enum vm_item item);
unsigned long zone_page_state_snapshot(struct zone *z, enum vm_item item);
unsigned long node_page_state(struct zone *z, enum vm_item item); /* through z->node_stat */

/* True value without order points or charges, for audits and reports. */
long stat_exact(const struct machine *m, const struct stat_holder *h, enum vm_item item);
long item_exact(const struct machine *m, enum vm_item item); /* of all zones and nodes */

void refresh_zone_stat_thresholds(struct machine *m);
unsigned long zone_max_drift(const struct zone *z); /* what all CPUs' differences can hide */
void set_pgdat_percpu_threshold(struct pglist_data *pgdat, bool pressure);
void refresh_cpu_vm_stats(struct machine *m); /* folds the running CPU's differences */
void vmstat_audit(struct machine *m);

/* ---- swap.c: LRU lists and their batches (mm/swap.c) ---------------------------------------------------- */

void lru_cache_add(struct machine *m,
                   struct page *page); /* by PG_active, PG_swapbacked; takes a ref */
void __pagevec_lru_add(struct machine *m, struct pagevec *pvec); /* empties a batch of new pages */

/* Puts @page, with a reference of the batch's own, in @pvec. True: the batch is full. */
static inline bool pagevec_add(struct machine *m, struct pagevec *pvec, struct page *page)
{
	VM_BUG_ON(page->refcount <= 0);
	page->refcount += 1;
	charge(COST_LRU_BATCH);
	pvec->page[pvec->nr++] = page;
	return pvec->nr >= m->knob.lru_batch;
}

static inline void __lru_cache_add(struct machine *m, struct page *page, u32 batch)
{
	struct pagevec *pvec = &this_cpu(m)->pvec.lru_add[batch];

	VM_BUG_ON(page_test(page, PG_lru));
	if (pagevec_add(m, pvec, page) ||
	    unlikely(page_is_compound(page) && m->knob.lru_batch_huge == KNOB_OFF))
		__pagevec_lru_add(m, pvec);
}

bool lru_cache_add_mlocked(struct machine *m, struct page *page); /* a new one, VMA is VM_LOCKED */
/* New anonymous page of a fault, as lru.new_anon says. */
static inline void lru_cache_add_inactive_or_unevictable(struct machine *m, struct page *page,
                                                         struct vm_area_struct *vma)
{
	if (unlikely(vma->vm_flags & VM_LOCKED) && lru_cache_add_mlocked(m, page))
		return;
	if (m->knob.lru_anon == LRU_ANON_ACTIVE)
		page_set(page, PG_active);
	__lru_cache_add(m, page, m->lru_add_new_anon);
}

void lru_add_drain(struct machine *m); /* running CPU */
/*
 * The same on all CPUs, by their workers, and waits for each in turn. @counted (3.12): only where a
 * batch is not empty. May switch tasks.
 */
void lru_add_drain_all(struct machine *m, bool counted);
bool rotate_reclaimable_page(struct machine *m, struct page *page); /* interrupt context */
void rotate_full_batch(struct machine *m);
bool free_at_writeback_end(struct machine *m, struct page *page); /* writeback_end.c */
void activate_page(struct machine *m, struct page *page);
void mark_page_accessed(struct machine *m, struct page *page);
void deactivate_page(struct machine *m, struct page *page);      /* to inactive anon head */
void deactivate_file_page(struct machine *m, struct page *page); /* could not be invalidated */
void mark_page_lazyfree(struct machine *m, struct page *page);   /* to inactive file head */
void put_page(struct machine *m, struct page *page);
static inline void get_page(struct page *page)
{
	page = compound_head(page);
	VM_BUG_ON(page->refcount <= 0);
	page->refcount += 1;
}
/* Drops a reference to each of @nr pages; frees those that reach 0 together, one lru_lock hold per
 * run of pages of a lruvec. The array is used up. */
void release_pages(struct machine *m, struct page **pages, u32 nr);
enum lru_list page_lru(const struct page *page);

/* What pages of a list are counted as while they are in somebody's hands. */
static inline enum vm_item isolated_item(enum lru_list lru)
{
	return is_file_lru(lru) ? NR_ISOLATED_FILE : NR_ISOLATED_ANON;
}

/* lru_lock held. They keep list, size, nr_ items. */
void add_page_to_lru_list(struct machine *m, struct page *page, struct lruvec *lruvec);
void add_page_to_lru_list_tail(struct machine *m, struct page *page, struct lruvec *lruvec);
void del_page_from_lru_list(struct machine *m, struct page *page, struct lruvec *lruvec);
void update_lru_size(struct machine *m, struct zone *z, enum lru_list lru, long nr);
/* Boot: empty lists, @zone NULL where they are the node's. */
void lruvec_init(struct machine *m, struct lruvec *lruvec, struct pglist_data *pgdat,
                 struct zone *zone);
void lru_add_init(struct machine *m); /* boot */

/* ---- mlock_page.c: the unevictable list (mm/vmscan.c, mm/mlock.c); more in mlock.h ---------------------- */

/* Takes the page off its list, with a reference; false: it is on none. */
bool isolate_lru_page(struct machine *m, struct page *page);
/* Puts it back, on the list where it belongs now, and drops the reference. */
void putback_lru_page(struct machine *m, struct page *page);
void lru_add_sort(struct machine *m, struct page *page);
void munlock_replaced_page(struct machine *m, struct page *page);
void lru_audit(struct machine *m);

/* ---- filemap.c: page lock and waiting for pages (mm/filemap.c) ------------------------------------------ */

#define PAGE_WAIT_TABLE 256
void page_wait_init(struct machine *m); /* boot: m->page_wait and m->congestion_wait */
bool trylock_page(struct machine *m, struct page *page);                   /* order point */
void lock_page(struct machine *m, struct page *page);                      /* may switch tasks */
int __must_check lock_page_killable(struct machine *m, struct page *page); /* -EINTR */
void unlock_page(struct machine *m, struct page *page);
void wait_on_page_locked(struct machine *m, struct page *page); /* may switch tasks */
void wait_on_page_writeback(struct machine *m, struct page *page);
void end_page_writeback(struct machine *m, struct page *page); /* interrupt context or not */
void set_page_writeback(struct machine *m, struct page *page);

/* ---- backing-dev.c: congestion (mm/backing-dev.c) --------------------------------------------------------- */

void disk_uncongested(void *machine, u32 disk, bool write); /* world upcall */
void congestion_wait(struct machine *m, bool write, u64 ticks);
void wait_iff_congested(struct machine *m, struct zone *z, bool write, u64 ticks);

/* ---- pgtable.c: page tables ----------------------------------------------------------------------------- */

/* Reserves tables for as many frames as the machine has; before world_attach(). 0 or -ENOMEM. */
int pt_init(struct machine *m);
void pt_destroy(struct machine *m);

static inline pte_t *table_entries(const struct machine *m, u32 table)
{
	return (pte_t *)((char *)m->tables + (u64)table * PAGE_SIZE);
}

/* A cleared table in a frame of its own; 0 if no frame (gfp GFP_KERNEL: may reclaim, may switch). */
u32 pt_alloc(struct machine *m, struct mm_struct *mm);
/* Frees an empty table that was never in the tree, or whose walks were forgotten when it left it. */
void __pt_free(struct machine *m, struct mm_struct *mm, u32 table);

/* A table leaves the tree: no walk remembered by a CPU, or here, may end in it. */
static inline void pt_forget_walks(struct mm_struct *mm)
{
	mm->as.table_gen += 1;
	mm->leaf_cache = 0;
	mm->rmap_leaf_cache = 0;
	mm->pmd_cache = 0;
}

static inline void pt_free(struct machine *m, struct mm_struct *mm, u32 table)
{
	pt_forget_walks(mm);
	__pt_free(m, mm, table);
}

/* Walks the tables for pt_find(). */
u32 __pt_find(struct machine *m, struct mm_struct *mm, u64 va);
/* The same, allocating what is missing, and remembering it. 0: out of frames. May switch tasks. */
u32 __pt_find_alloc(struct machine *m, struct mm_struct *mm, u64 va);

/*
 * The leaf table that a fault found last is kept in one word of the mm, (va >> PMD_SHIFT) + 1 above the
 * table's number, so that it is read and written whole: other CPUs use it too.
 * pt_free() forgets it. Saves host time only, the walk is charged.
 */
static inline u64 leaf_cache_key(u64 va)
{
	return (va >> PMD_SHIFT) + 1;
}

/* The leaf table that maps @va: 0 if none. Charges PT_WALK. */
static inline u32 pt_find(struct machine *m, struct mm_struct *mm, u64 va)
{
	u64 cache = mm->leaf_cache;

	charge(COST_PT_WALK);
	return likely(cache >> 32 == leaf_cache_key(va)) ? (u32)cache : __pt_find(m, mm, va);
}

/* The same without its charge; allocates what is missing. 0: out of frames. May switch tasks. */
static inline u32 pt_find_alloc_uncharged(struct machine *m, struct mm_struct *mm, u64 va)
{
	u64 cache = mm->leaf_cache;

	return likely(cache >> 32 == leaf_cache_key(va)) ? (u32)cache : __pt_find_alloc(m, mm, va);
}

/*
 * For reverse walks, without its charge. Reclaim works where the owner is not, but itself goes on
 * where it was: they have a word of their own.
 */
static inline u32 pt_find_rmap(struct machine *m, struct mm_struct *mm, u64 va)
{
	u64 key = leaf_cache_key(va);
	u32 table;

	if (likely(mm->rmap_leaf_cache >> 32 == key))
		return (u32)mm->rmap_leaf_cache;
	table = __pt_find(m, mm, va);
	if (table)
		mm->rmap_leaf_cache = key << 32 | table;
	return table;
}

static inline u32 pt_find_alloc(struct machine *m, struct mm_struct *mm, u64 va)
{
	charge(COST_PT_WALK);
	return pt_find_alloc_uncharged(m, mm, va);
}

/* Entry of @va in leaf @table. */
static inline pte_t *pt_entry(const struct machine *m, u32 table, u64 va)
{
	return table_entries(m, table) + pte_index(va, 0);
}

/* Changes an entry under the table's ptl; keeps nr_used. */
static inline void set_pte(struct machine *m, u32 table, pte_t *pte, pte_t val)
{
	m->table[table].nr_used += !pte_none(val);
	m->table[table].nr_used -= !pte_none(*pte);
	*pte = val;
}

/*
 * The first leaf table at or above *@va, which moves there (to a leaf's start, unless it began in
 * it); 0: none below @end; PT_HUGE: a huge entry maps *@va. Charges PT_WALK.
 */
u32 pt_next_leaf(struct machine *m, struct mm_struct *mm, u64 *va, u64 end);

/* What pt_next_leaf() and __pt_find_alloc() return where a huge entry maps the address. */
#define PT_HUGE UINT32_MAX

/* The second-level table that was found last is kept in the same way. */
static inline u64 pmd_cache_key(u64 va)
{
	return (va >> PUD_SHIFT) + 1;
}

/* That of @va; 0: it is another. */
static inline u32 pt_cached_pmd(const struct mm_struct *mm, u64 va)
{
	u64 cache = mm->pmd_cache;

	return likely(cache >> 32 == pmd_cache_key(va)) ? (u32)cache : 0;
}

/* Walks the tables for pt_find_pmd(). */
u32 __pt_find_pmd(struct machine *m, struct mm_struct *mm, u64 va);

/* The second-level table of @va and, in *@pmd, its entry there; 0: none. pt_pmd_alloc() makes what is
 * missing; 0: out of frames, may switch tasks. Neither charges a walk. */
static inline u32 pt_find_pmd(struct machine *m, struct mm_struct *mm, u64 va, pte_t **pmd)
{
	u32 table = pt_cached_pmd(mm, va);

	if (unlikely(!table))
		table = __pt_find_pmd(m, mm, va);
	*pmd = table_entries(m, table) + pte_index(va, 1);
	return table;
}

u32 pt_pmd_alloc(struct machine *m, struct mm_struct *mm, u64 va, pte_t **pmd);
/* An empty leaf table kept beside a huge entry, for when it is split; pmd lock held. */
static inline void pt_deposit(struct machine *m, u32 pmd_table, u32 leaf)
{
	VM_BUG_ON(m->table[leaf].nr_used || m->table[leaf].deposit);
	m->table[leaf].deposit = m->table[pmd_table].deposit;
	m->table[pmd_table].deposit = leaf;
}

static inline u32 pt_withdraw(struct machine *m, u32 pmd_table)
{
	u32 leaf = m->table[pmd_table].deposit;

	VM_BUG_ON(!leaf);
	m->table[pmd_table].deposit = m->table[leaf].deposit;
	m->table[leaf].deposit = 0;
	return leaf;
}

/* Frees all tables that only map within [@floor, @ceiling) around the unmapped [@start, @end). */
void free_pgtables(struct machine *m, struct mm_struct *mm, u64 start, u64 end, u64 floor,
                   u64 ceiling);

/* ---- madvise_cold.c ---- */

int madvise_cold_or_pageout(struct machine *m, struct vm_area_struct *vma, u64 start, u64 end,
                            bool pageout);

/* ---- slab.c ------------------------------------------------------------------------------------------------ */

int slab_init(struct machine *m);
void slab_destroy(struct machine *m);
/* A zeroed object; NULL if a frame was needed and there was none. May switch tasks. */
void *slab_alloc(struct machine *m, enum slab_kind kind, gfp_t gfp);
void slab_free(struct machine *m, enum slab_kind kind, void *obj);

/* The same for objects that are counted and nothing else. Usable in interrupts. */
bool slab_reserve(struct machine *m, enum slab_kind kind, gfp_t gfp);
void slab_release(struct machine *m, enum slab_kind kind);

/* ---- bio.c ----------------------------------------------------------------------------------------------------- */

void bio_init(struct machine *m); /* boot */

/* A bio for @disk. Waits for it without end, having let the task's plug go. No lock held; may switch tasks. */
void bio_alloc(struct machine *m, u32 disk, gfp_t gfp);
void bio_free(struct machine *m, u32 disk); /* its I/O has ended; usable in interrupts */

/* ---- kthread.c ------------------------------------------------------------------------------------------------- */

/* Starts a kernel task in @t, which is zeroed but for its flags; on @cpu, or wherever there is room: -1. */
void kthread_run(struct machine *m, struct task *t, const char *name, enum world_task_kind kind,
                 void (*fn)(void *arg), void *arg, int cpu);

/* ---- task.c: tasks and system calls --------------------------------------------------------------------------- */

/* What begins and ends a system call of the running task. A killed task gets -EINTR. */
static inline struct task *sys_enter(enum ledger_span span)
{
	world_syscall_enter();
	span_enter(span);
	return current_task();
}

static inline int sys_exit(struct task *t, int err)
{
	span_exit();
	world_syscall_exit();
	return t->killed ? -EINTR : err;
}

/* ---- mmap.c, mprotect.c, fork.c: address spaces ---------------------------------------------------------------- */

#define MMAP_MIN_ADDR 0x10000UL             /* vm.mmap_min_addr */
#define MMAP_BASE (TASK_SIZE - (128 << 20)) /* below the smallest stack gap, no randomization */
#define BRK_START 0x555555800000UL
#define MAX_MAP_COUNT 65530 /* vm.max_map_count */

/* util.c: more memory may be promised? -ENOMEM. Accounted then, till vm_unacct_memory(). */
int __must_check vm_enough_memory(struct machine *m, const struct mm_struct *mm,
                                  unsigned long nr_pages);
void vm_unacct_memory(struct machine *m, unsigned long nr_pages);
unsigned long vm_commit_limit(const struct machine *m);
long vm_committed_exact(const struct machine *m);
void overcommit_init(struct machine *m); /* boot */
void overcommit_audit(struct machine *m);

struct mm_struct *mm_alloc(struct machine *m);
void mm_put(struct machine *m, struct mm_struct *mm);  /* last user: exit_mmap() */
void mm_drop(struct machine *m, struct mm_struct *mm); /* mm_count */
void exit_mmap(struct machine *m, struct mm_struct *mm);
int dup_mmap(struct machine *m, struct mm_struct *dst, struct mm_struct *src); /* fork */
/* Walks the tree for find_vma(), and remembers what it found. */
struct vm_area_struct *__find_vma(struct mm_struct *mm, u64 va);

/* The same without its charge, for those who charge several things at once. */
static inline struct vm_area_struct *find_vma_uncharged(struct mm_struct *mm, u64 va)
{
	struct vm_area_struct *vma = mm->vmacache;

	return likely(vma && vma->vm_start <= va && va < vma->vm_end) ? vma : __find_vma(mm, va);
}

/* First VMA that ends above @va; mmap_sem held. */
static inline struct vm_area_struct *find_vma(struct mm_struct *mm, u64 va)
{
	charge(COST_VMA_LOOKUP);
	return find_vma_uncharged(mm, va);
}

/* Its neighbours in the tree; NULL @vma: next is the first one. */
struct vm_area_struct *vma_next(const struct mm_struct *mm, const struct vm_area_struct *vma);
struct vm_area_struct *vma_prev(const struct vm_area_struct *vma);
struct vm_area_struct *vma_last(const struct mm_struct *mm);
/* Where @len bytes fit; 0: nowhere. */
u64 get_unmapped_area(const struct machine *m, const struct mm_struct *mm, const struct file *file,
                      u64 off, u64 len);
/* munmap() with mmap_sem held for write. */
int __do_munmap(struct machine *m, struct mm_struct *mm, u64 start, u64 len);
struct vm_area_struct *vm_area_alloc(struct machine *m, struct mm_struct *mm);
struct vm_area_struct *vm_area_dup(struct machine *m, const struct vm_area_struct *vma);
void vm_area_free(struct machine *m, struct vm_area_struct *vma);
void vma_link(struct mm_struct *mm, struct vm_area_struct *vma);
int split_vma(struct machine *m, struct vm_area_struct *vma, u64 addr, bool new_below);
/* The VMA that [@addr, @end) with @vm_flags became part of; NULL: no neighbour can take it. */
struct vm_area_struct *vma_merge(struct machine *m, struct mm_struct *mm,
                                 struct vm_area_struct *prev, u64 addr, u64 end, u32 vm_flags,
                                 struct file *file, struct anon_vma *anon_vma, u64 pgoff);
/* Flags of [@start, @end) in *@vmap become @vm_flags: it is merged or split, and *@vmap is that range's. */
int vma_modify_flags(struct machine *m, struct vm_area_struct **vmap, struct vm_area_struct *prev,
                     u64 start, u64 end, u32 vm_flags);
/* A neighbour's anon_vma that @vma may share, so that they can merge later. */
struct anon_vma *find_mergeable_anon_vma(struct vm_area_struct *vma);
void mmap_audit(struct machine *m);

/*
 * mmap_sem for write, and what keeps the faults out that lock only their VMA (6.4, knob
 * fault.vma_lock): a VMA is write-locked once per hold, by vma_start_write(), and let go with it.
 */
static inline void mmap_write_lock(struct mm_struct *mm)
{
	down_write(&mm->mmap_sem);
	mm->mm_lock_seq += 1;
}

/*
 * A read lock that only the running task's own threads ever take for write. If there are none, no other
 * CPU can have done so at an earlier time, and whether one is behind need not be asked.
 */
static inline bool read_lock_alone(const struct mm_struct *mm, struct rw_semaphore *s)
{
	struct world_cpu *c = world_self;

	if (unlikely(mm->mm_users > 1 || !rwsem_is_free(s, c, false)))
		return false;
	__rwsem_taken(c, s, false);
	return true;
}

static inline void mmap_write_unlock(struct mm_struct *mm)
{
	mm->mm_lock_seq += 1;
	up_write(&mm->mmap_sem);
}

/* Waits for faults at work in @vma and lets no new one in. mmap_sem held for write. */
void vma_start_write(struct vm_area_struct *vma);

static inline unsigned long vma_pages(const struct vm_area_struct *vma)
{
	return (vma->vm_end - vma->vm_start) >> PAGE_SHIFT;
}

static inline u64 vma_index(const struct vm_area_struct *vma, u64 va)
{
	return ((va - vma->vm_start) >> PAGE_SHIFT) + vma->vm_pgoff;
}

/* ---- memory.c, fork.c: faults, fork's copy (mm/memory.c) ---------------------------------------------------------- */

struct page *zero_page(struct machine *m); /* NULL: out of frames */
void fault_init(struct machine *m);        /* boot */
u32 machine_fault_run(void *machine, struct world_task *t, u64 va, u32 max, u64 gap_ns,
                      bool single);                                                     /* upcall */
int machine_fault(void *machine, struct world_task *t, u64 va, enum world_access kind); /* upcall */
int copy_page_range(struct machine *m, struct mm_struct *dst, struct mm_struct *src,
                    struct vm_area_struct *vma);

/* ---- zap.c: unmapping ranges (mm/memory.c) ------------------------------------------------------------------------ */

/*
 * Gathers unmapped pages until their translations are flushed: 8 in the structure, then up to 19
 * frames' worth of 510. Each page gathered still has the reference its pte held.
 */
#define MMU_GATHER_BUNDLE 8
#define MMU_GATHER_BATCH 510
#define MMU_GATHER_BATCH_COUNT 19

struct mmu_gather_batch {
	struct mmu_gather_batch *next;
	struct page *frame; /* where Linux would have put it */
	u32 nr;             /* once it is full, or flushed */
	struct page *pages[MMU_GATHER_BATCH];
};

struct mmu_gather {
	struct machine *m;
	struct mm_struct *mm;
	bool fullmm;      /* the address space ends: flush all of it */
	bool atomic;      /* a spin lock is held around it */
	bool force_flush; /* what was just unmapped must be flushed before its lock is dropped */
	bool seq_read;    /* the VMA being unmapped is read in order: its accesses do not count */
	u64 start;        /* what to flush; start >= end: nothing */
	u64 end;
	struct page **cursor; /* where the next page goes, */
	struct page **limit;  /* and where its batch ends */
	struct mmu_gather_batch *first;
	struct mmu_gather_batch *last;
	u32 nr_batches;
	u32 nr_local; /* once it is full, or flushed */
	struct page *local[MMU_GATHER_BUNDLE];
};

int gather_init(struct machine *m);
void gather_destroy(struct machine *m);
void tlb_gather_mmu(struct mmu_gather *tlb, struct machine *m, struct mm_struct *mm, bool fullmm);
/* Entries of the range changed: it must be flushed before tlb_finish_mmu() returns. */
static inline void tlb_remove_tlb_range(struct mmu_gather *tlb, u64 start, u64 end)
{
	tlb->start = min(tlb->start, start);
	tlb->end = max(tlb->end, end);
}

static inline void tlb_remove_tlb_entry(struct mmu_gather *tlb, u64 va)
{
	tlb_remove_tlb_range(tlb, va, va + PAGE_SIZE);
}
/* Gathers @page and the reference its entry held. False: flush before the next one. */
bool tlb_remove_page(struct mmu_gather *tlb, struct page *page);
void tlb_flush_mmu(struct mmu_gather *tlb);
void tlb_finish_mmu(struct mmu_gather *tlb);
/* Unmaps [@start, @end) of @vma; may flush, and may switch tasks between leaf tables. */
void unmap_vma_range(struct mmu_gather *tlb, struct vm_area_struct *vma, u64 start, u64 end);
/* What a truncated file's mapping still shows: unmap_mapping_range(). The i_mmap lock is held, which
 * may be a spin lock: never switches tasks. */
void zap_file_range(struct machine *m, struct vm_area_struct *vma, u64 start, u64 end);
/* The same with a gather of its own: MADV_DONTNEED. mmap_sem held. */
void zap_page_range(struct machine *m, struct vm_area_struct *vma, u64 start, u64 end);

/* ---- rmap.c ------------------------------------------------------------------------------------------------------ */

int anon_vma_prepare(struct machine *m, struct vm_area_struct *vma); /* 0 or -ENOMEM */
int anon_vma_clone(struct machine *m, struct vm_area_struct *dst, struct vm_area_struct *src);
int anon_vma_fork(struct machine *m, struct vm_area_struct *vma, struct vm_area_struct *pvma);
void unlink_anon_vmas(struct machine *m, struct vm_area_struct *vma);
/* VMA's range changes: its chain entries' intervals follow. Root lock held for write. */
void anon_vma_interval_remove(struct vm_area_struct *vma);
void anon_vma_interval_insert(struct vm_area_struct *vma);

static inline void anon_vma_lock_write(struct anon_vma *anon_vma)
{
	down_write(&anon_vma->root->rwsem);
}

static inline void anon_vma_unlock_write(struct anon_vma *anon_vma)
{
	up_write(&anon_vma->root->rwsem);
}

/* page->mapping and back. The anon_vma is alive as long as a pte maps the page. */
static inline struct anon_vma *page_anon_vma(const struct machine *m, const struct page *page)
{
	return pool_ptr(&m->slab[SLAB_ANON_VMA].pool, page->mapping & ~PAGE_MAPPING_ANON);
}

static inline u32 anon_vma_mapping(const struct machine *m, const struct anon_vma *anon_vma)
{
	return PAGE_MAPPING_ANON | pool_index(&m->slab[SLAB_ANON_VMA].pool, anon_vma);
}

/*
 * A new page, mapped once and known to nobody else. Its fields are changed without atomics in Linux
 * too; the pte lock is held.
 */
static inline void page_add_new_anon_rmap(struct machine *m, struct page *page,
                                          struct vm_area_struct *vma, u64 va)
{
	page_set(page, PG_swapbacked);
	page->mapcount = 1;
	page->mapping = anon_vma_mapping(m, vma->anon_vma);
	page->index = vma_index(vma, va);
	mod_node_state(page_zone(m, page), NR_ANON_MAPPED, 1);
}

/* Drops a reference that is not a VMA's. */
void __put_anon_vma(struct machine *m, struct anon_vma *anon_vma);
static inline void put_anon_vma(struct machine *m, struct anon_vma *anon_vma)
{
	VM_BUG_ON(anon_vma->refcount <= 0);
	if (unlikely(--anon_vma->refcount == 0))
		__put_anon_vma(m, anon_vma);
}

void page_add_anon_rmap(struct machine *m, struct page *page, struct vm_area_struct *vma, u64 va);
/* @exclusive: nobody else has it, so it may belong to the VMA's own anon_vma, not the root's. */
void do_page_add_anon_rmap(struct machine *m, struct page *page, struct vm_area_struct *vma, u64 va,
                           bool exclusive);
void page_move_anon_rmap(struct machine *m, struct page *page, struct vm_area_struct *vma);
void page_dup_rmap(struct page *page);
void page_remove_rmap(struct machine *m, struct page *page);

/* One pte less; true if it was the last, and the caller counts NR_ANON_MAPPED. */
static inline bool __page_remove_rmap(struct page *page)
{
	VM_BUG_ON(page->mapcount <= 0);
	return --page->mapcount == 0;
}

/* Number of ptes found young, which are made old. *@dirty: was any pte dirty (anonymous pages)?
 * @is_locked: the caller has the page lock. -1: the rmap lock is contended (6.18). */
int page_referenced(struct machine *m, struct page *page, bool is_locked, u32 *vm_flags,
                    bool *dirty);
void rmap_fetch_ahead(struct machine *m, const struct page *page);

enum ttu_flags {
	TTU_BATCH_FLUSH = 1 << 0, /* leave the TLB flush to try_to_unmap_flush() */
	TTU_FREE = 1 << 1,        /* seed's tree: a lazily freed page, drop clean ptes */
	TTU_IGNORE_MLOCK = 1 << 2,
};

enum ttu_result {
	SWAP_SUCCESS, /* no pte maps it any more */
	SWAP_AGAIN,   /* missed a lock, try later */
	SWAP_FAIL,    /* e.g. no memory for the swap map; put back */
	SWAP_DIRTY,   /* lazily freed, but written since: still mapped, made dirty */
	SWAP_MLOCK,   /* a VM_LOCKED VMA maps it: it belongs on the unevictable list */
};
enum ttu_result try_to_unmap(struct machine *m, struct page *page, u32 flags);
void try_to_unmap_flush(struct machine *m);       /* current task's batch */
void try_to_unmap_flush_dirty(struct machine *m); /* if it has a dirty pte */
void flush_tlb_batched_pending(struct mm_struct *mm);
void rmap_audit(struct machine *m);
/* Swap ptes of all address spaces, for swapfile_audit(): calls @fn for each, without charges. */
void for_each_swap_pte(struct machine *m,
                       void (*fn)(struct machine *m, swp_entry_t entry, void *arg), void *arg);

/* How reclaim recognises a lazily freed page (linux-mm.md 7.6). */
enum lazyfree_rule {
	LAZYFREE_CLEAN_PTES,     /* seed's tree: not in the swap cache, and no pte is dirty */
	LAZYFREE_SLOT_FIRST,     /* 4.5: in the swap cache, and neither page nor ptes are dirty */
	LAZYFREE_NOT_SWAPBACKED, /* 4.12: PG_swapbacked is clear */
};

static inline enum lazyfree_rule lazyfree_rule(const struct machine *m)
{
	if (m->knob.free_list == FREE_LIST_INACTIVE_FILE)
		return LAZYFREE_NOT_SWAPBACKED;
	return m->knob.free_slot == FREE_SLOT_FIRST ? LAZYFREE_SLOT_FIRST : LAZYFREE_CLEAN_PTES;
}

/* ---- migrate.c ------------------------------------------------------------------------------------------------------ */

/* If the pte of @va, whose table is locked, is a migration entry of @page (of frame @old_pfn), it becomes one
 * of @page, with a reference. */
bool remove_migration_pte(struct machine *m, struct vm_area_struct *vma, u32 table, u64 va,
                          struct page *page);
bool remove_migration_pte_of(struct machine *m, struct vm_area_struct *vma, u32 table, u64 va,
                             struct page *page, u64 old_pfn);

/* Which of an address space's counters the page of a migration entry is in. */
static inline enum mm_counter migration_counter(const struct machine *m, pte_t entry)
{
	return page_is_anon(pfn_to_page(m, pte_pfn(entry))) ? MM_ANONPAGES : MM_FILEPAGES;
}

/* ---- swapfile.c ------------------------------------------------------------------------------------------------------ */

int swap_init(struct machine *m); /* boot: swap_avail_lock, io_pool; 0 or -ENOMEM */
void swap_destroy(struct machine *m);

#define SWAPFILE_CLUSTER 256
#define SWAP_MAP_MAX 0x3e
#define SWAP_MAP_BAD 0x3f
#define SWAP_HAS_CACHE 0x40
#define COUNT_CONTINUED 0x80

/* A slot with count 0 and SWAP_HAS_CACHE; .v == 0: none. Slot 0 of an area (the header) is never given out. */
swp_entry_t get_swap_pages(struct machine *m, u32 order); /* so many in a row */
static inline swp_entry_t get_swap_page(struct machine *m)
{
	return get_swap_pages(m, 0);
}

int swap_duplicate(struct machine *m, swp_entry_t entry);    /* one more pte; -ENOMEM */
int swapcache_prepare(struct machine *m, swp_entry_t entry); /* take HAS_CACHE: -EEXIST, -ENOENT */
int swapcache_prepare_nr(struct machine *m, swp_entry_t entry,
                         u32 nr); /* of one cluster, or none */
bool swap_entries_single(struct machine *m, swp_entry_t entry, u32 nr); /* one pte names each? */
void swap_free(struct machine *m, swp_entry_t entry);                   /* one pte less */
void swap_free_nr(struct machine *m, swp_entry_t entry, u32 nr);        /* of ptes in a row */
void swapcache_free_nr(struct machine *m, swp_entry_t entry, u32 nr);
void swapcache_free(struct machine *m, swp_entry_t entry); /* HAS_CACHE dropped */
bool free_swap_and_cache(struct machine *m,
                         swp_entry_t entry); /* swap_free, and the cached page if last */
void free_swap_and_cache_nr(struct machine *m, swp_entry_t entry, u32 nr);
bool try_to_free_swap(struct machine *m,
                      struct page *page); /* page locked; leaves the cache if no pte needs it */
bool reuse_swap_page(struct machine *m,
                     struct page *page); /* page locked: may the only user write to it? */
int page_swapcount(struct machine *m, struct page *page);
int swp_swapcount(struct machine *m, swp_entry_t entry);
bool vm_swap_full(const struct machine *m);
long get_nr_swap_pages(const struct machine *m);
bool swap_is_synchronous(const struct machine *m,
                         swp_entry_t entry); /* RAM disk and swap.synchronous */
bool swap_is_rotating(const struct machine *m, swp_entry_t entry);
void swapfile_audit(struct machine *m);

/* ---- swap_state.c: swap cache and readahead --------------------------------------------------------------------------- */

bool add_to_swap(struct machine *m, struct page *page);      /* page locked; slot + cache + dirty */
bool add_huge_to_swap(struct machine *m, struct page *head); /* the same for a huge page, whole */
void delete_from_swap_cache(struct machine *m, struct page *page); /* page locked */
void __delete_from_swap_cache(struct machine *m, struct page *page,
                              u64 shadow); /* tree lock held */
struct page *lookup_swap_cache(struct machine *m, swp_entry_t entry, struct vm_area_struct *vma,
                               u64 va); /* with a reference, or NULL */
/* Reads @entry (and neighbours). A page with a reference, perhaps still locked; NULL: no memory, or
 * the entry was freed meanwhile. May switch tasks. */
struct page *swapin_readahead(struct machine *m, swp_entry_t entry, gfp_t gfp,
                              struct vm_area_struct *vma, u64 va);
struct page *read_swap_cache_async(struct machine *m, swp_entry_t entry, gfp_t gfp,
                                   struct vm_area_struct *vma, u64 va);
/* What the page that was swapped out to @entry left, for workingset_refault(); 0: nothing. */
u64 get_shadow_from_swap_cache(struct machine *m, swp_entry_t entry);
static inline swp_entry_t page_swap_entry(const struct machine *m, const struct page *p)
{
	return (swp_entry_t){m->page_private[page_to_pfn(m, p)]};
}

/* ---- page_io.c ---------------------------------------------------------------------------------------------------------- */

int swap_writepage(struct machine *m,
                   struct page *page); /* page locked, dirty cleared; unlocks it */
void swap_readpage(struct machine *m,
                   struct page *page); /* page locked, in swap cache; completion unlocks */

/* ---- vmscan.c, kswapd.c ---------------------------------------------------------------------------------------------------- */

unsigned long try_to_free_pages(struct machine *m, gfp_t gfp, unsigned int order);
void wakeup_kswapd(struct machine *m, struct zone *z, unsigned int order, int highest_zoneidx);
void wake_all_kswapds(struct machine *m, gfp_t gfp, unsigned int order);
/* Boot, after zones and knobs: the node's wait queues, the procedures reclaim uses, and the tasks. */
int kswapd_init(struct machine *m);
unsigned long zone_reclaimable_pages(struct zone *z);
bool zone_reclaimable(struct zone *z);

/* ---- workingset.c ------------------------------------------------------------------------------------------------------------- */

void workingset_init(struct machine *m); /* boot: the shrinker of shadow nodes */
u64 workingset_eviction(struct machine *m, struct page *page); /* a shadow, or 0 */
void workingset_refault(struct machine *m, struct page *page, u64 shadow);
void workingset_age_nonresident(struct lruvec *lruvec, unsigned long nr);

/* ---- oom_kill.c ------------------------------------------------------------------------------------------------------------------ */

/* Kills something, or finds a victim still dying. False: nothing to kill. oom_lock held. */
bool out_of_memory(struct machine *m, gfp_t gfp, unsigned int order);
void exit_oom_victim(struct machine *m, struct task *t);
void oom_init(struct machine *m); /* boot; called by kswapd_init() */

#endif
