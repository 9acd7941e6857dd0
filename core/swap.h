/*
 * Swap areas, and what the files of swap share: swapfile.c, swap_slots.c, swap_state.c, page_io.c.
 *
 * An area is a disk cut into slots of a page; slot 0 is its header. One byte per slot, the swap map,
 * counts the page-table entries that name it, and says whether the swap cache has a page for it.
 * The swap cache is an array here, slot to page or to the shadow a page left, where Linux has a
 * radix tree; its tree locks are kept.
 *
 * Letters: (c) constant after swapon   (S) si->lock; from 6.12 on the lock of the slot's cluster
 *          (n) next_lock   (l) si->lock in every era   (V) swap_avail_lock   (T) tree lock   (a) no lock
 */
#ifndef CORE_SWAP_H
#define CORE_SWAP_H

#include "core/internal.h"

/* Up to this many levels of COUNT_CONTINUED, a byte each in Linux. */
#define SWAP_CONT_MAX 0x7f

#define SWAP_NR_ORDERS 10 /* huge pages' and what is smaller */

/* A run of 2^cluster_shift slots, aligned. Links are cluster numbers + 1. */
struct swap_cluster {
	struct spinlock lock; /* 6.12 on */
	u32 next;             /* (l) */
	u32 prev;             /* (l) 6.12 on: these lists are left from the middle */
	u16 count;            /* (S) slots in use */
	u8 list;              /* (S, l) enum swap_cluster_list */
	u8 order;             /* (S) of what was put in it first; 6.12 on */
};

/*
 * Which list a cluster is on. 3.12 has the first only, and clusters in use are on none. From 6.12 on there
 * are nonfull and frag lists for each order: add it to the first.
 */
enum swap_cluster_list {
	SWAP_CLUSTERS_FREE,
	SWAP_CLUSTERS_NONFULL, /* slots have been given back since slots were last looked for */
	SWAP_CLUSTERS_FRAG = SWAP_CLUSTERS_NONFULL + SWAP_NR_ORDERS, /* none have */
	SWAP_CLUSTERS_FULL = SWAP_CLUSTERS_FRAG + SWAP_NR_ORDERS,
	NR_SWAP_CLUSTER_LISTS,
	SWAP_CLUSTERS_NONE = NR_SWAP_CLUSTER_LISTS
};

struct swap_cluster_head {
	u32 first;
	u32 last;
	u32 nr;
};

/* What a RAM disk stores: zram.c. Changed between order points. */
struct zram {
	u32 stored_bytes_per_page;  /* (c) */
	u64 bytes;                  /* of all stored pages */
	unsigned long *stored;      /* [max] bits: slots that hold a page */
	struct page_list frames;    /* what they occupy */
	struct spinlock class_lock; /* of the one size class that there is */
	bool one_stream;            /* (c) */
	struct mutex stream;        /* held by who compresses, if there is one */
};

struct swap_info_struct {
	struct machine *machine; /* (c) */
	struct arena arena;      /* (c) of the arrays below */
	u32 type;                /* (c) number of the area */
	u32 disk;                /* (c) */
	s32 prio;                /* (c) */
	bool rotating;           /* (c) */
	bool ram;                /* (c) a bio-based RAM disk: I/O ends inside submit */
	bool synchronous;        /* (c) and is known to (swap.synchronous) */
	bool by_list;            /* (c) cluster lists of 6.12, with a lock per cluster */
	bool off;                /* (l, V) swapoff() has it, or had: gives out no slots */
	struct page_list frames; /* (c) what the map takes */
	bool avail;              /* (V) has free slots, as far as known */
	u64 max;                 /* (c) slots, the header included */
	u64 pages;               /* (c) usable slots */

	struct spinlock lock;      /* taken with interrupts on */
	u64 inuse_pages;           /* (l) */
	u64 lowest_bit;            /* (l) no free slot below; 4.0 */
	u64 highest_bit;           /* (l) none above; 0: full */
	u64 cluster_next;          /* (l) rotating: where the run goes on */
	s64 cluster_nr;            /* (l) rotating: slots left in the run */
	struct spinlock next_lock; /* rotating, 6.12: one search at a time */
	u64 next[SWAP_NR_ORDERS];  /* (n) where the next one begins; 0: nowhere */
	u8 *swap_map;              /* (S) [max] */
	u32 *continued;            /* (S) [max] what COUNT_CONTINUED stands for, in units of 0x3f */
	u8 *cont_levels;           /* (S) continuation frames per page of the map */

	struct swap_cluster *cluster; /* [nr_clusters]; NULL: found by scanning */
	u64 nr_clusters;              /* (c) */
	u32 cluster_shift;            /* (c) 256 slots; from 4.13 on a huge page's 512 */
	struct swap_cluster_head clusters[NR_SWAP_CLUSTER_LISTS]; /* (l) */

	u64 *cache;                 /* (T) [max] see swap_state.c */
	struct spinlock *tree_lock; /* irq-safe; by slot >> tree_shift */
	u32 tree_shift;             /* (c) */
	struct zram zram;           /* if ram */
	u32 *audit;                 /* [max] swap ptes found; touched by audits only */
};

static inline struct swap_info_struct *swap_info(const struct machine *m, swp_entry_t entry)
{
	return m->swap[swp_type(entry)];
}

/* ---- zram.c ---------------------------------------------------------------------------------- */

void zram_init(struct machine *m, struct swap_info_struct *si);
/* Room for the page of slot @offset; false: no memory. May allocate. */
bool zram_store(struct machine *m, struct swap_info_struct *si, u64 offset);
void zram_free(struct machine *m, struct swap_info_struct *si, u64 offset);
void zram_stream_get(struct swap_info_struct *si);
void zram_stream_put(struct swap_info_struct *si);
void zram_audit(const struct swap_info_struct *si);

/* ---- swapfile.c ------------------------------------------------------------------------------ */

/* The lock of a slot's count. */
static inline struct spinlock *swap_slot_lock(struct swap_info_struct *si, u64 offset)
{
	if (si->by_list)
		return &si->cluster[offset >> si->cluster_shift].lock;
	return &si->lock;
}

struct swap_info_struct *swap_info_trylock(struct machine *m, swp_entry_t entry);
/* swapcache_free(), and lets go of what swap_info_trylock() has locked. */
void swapcache_free_unlock(struct swap_info_struct *si, swp_entry_t entry);

/* A slot that only the swap cache holds: drop the page from it if that needs no waiting. No lock
 * held. True if the slot is free now. */
bool try_to_reclaim_swap(struct machine *m, struct swap_info_struct *si, u64 offset);

/* Bookkeeping of slots in a row that are taken (map 0 so far) or have become free; si->lock held. */
void swap_range_alloc(struct swap_info_struct *si, u64 offset, u32 nr);
void swap_range_free(struct swap_info_struct *si, u64 offset, u32 nr);

void swap_free_map_frames(struct machine *m, struct swap_info_struct *si); /* swapoff() */

/* ---- swap_slots.c ---------------------------------------------------------------------------- */

#define SWAP_START_STREAM 0x53575000 /* random numbers: where a solid-state disk starts */

/* 2^@order slots of @si for the swap cache (map becomes SWAP_HAS_CACHE). No lock held; .v == 0: none. */
swp_entry_t get_swap_slot_3_12(struct machine *m, struct swap_info_struct *si, u32 order);

/* Builds the lists of free clusters. */
void swap_clusters_init(struct machine *m, struct swap_info_struct *si);

/* A slot of the cluster was freed, 3.12; si->lock held. */
void dec_cluster_info_page(struct swap_info_struct *si, u64 offset);
void swap_clusters_audit(struct swap_info_struct *si);

/* ---- swap_cluster.c -------------------------------------------------------------------------- */

swp_entry_t get_swap_slot_6_12(struct machine *m, struct swap_info_struct *si, u32 order);
/* The same from the cluster that this CPU has, whichever area it is in. */
swp_entry_t swap_alloc_fast(struct machine *m, u32 order);
/* @nr slots of one cluster, whose lock is held, have become free. */
void cluster_slots_freed(struct swap_info_struct *si, u64 offset, u32 nr);
void cluster_audit(const struct swap_info_struct *si, const struct swap_cluster *c);

/* Entries from @pte on, at most @max, that name one slot after the other; the first names one. To 6.11: 1. */
u32 swap_pte_batch(const struct machine *m, const pte_t *pte, u32 max);

/* ---- swap_state.c ---------------------------------------------------------------------------- */

static inline struct spinlock *swap_tree_lock(struct machine *m, swp_entry_t entry)
{
	struct swap_info_struct *si = swap_info(m, entry);

	return &si->tree_lock[swp_offset(entry) >> si->tree_shift];
}

/* The page that @entry's place in the cache holds now, with a reference; NULL: none. */
struct page *find_get_swap_page(struct machine *m, swp_entry_t entry);
int add_to_swap_cache(struct machine *m, struct page *page, swp_entry_t entry, u64 *shadow);
int swap_cache_replace(struct machine *m, struct page *old, struct page *new);
void clear_shadow_from_swap_cache(struct machine *m, swp_entry_t entry, u32 nr);
u32 swapin_nr_pages(u64 prev_offset, u64 offset, u32 hits, u32 max_pages, u32 prev_win);
void swap_cache_audit(struct machine *m, struct swap_info_struct *si);

/* ---- page_io.c ------------------------------------------------------------------------------- */

/*
 * Requests that a task holds back, so that neighbouring pages become one request. They go out when
 * the task is done, has too many, or is about to sleep (blk_flush_plug()).
 */
#define BLK_MAX_REQUEST_COUNT 16 /* Linux 4.0 */
struct blk_plug {
	u32 nr;
	struct world_io *io[BLK_MAX_REQUEST_COUNT];
};

/* Nests: an inner plug does nothing. Both may switch tasks. */
void blk_start_plug(struct machine *m, struct blk_plug *plug);
void blk_finish_plug(struct machine *m, struct blk_plug *plug);
void blk_flush_plug(struct machine *m);

/* A request of io_pool, which its completion gives back; waits for one. May switch tasks. */
struct world_io *blk_io_alloc(struct machine *m);
void blk_submit_io(struct world_io *io); /* past the plug */

#endif
