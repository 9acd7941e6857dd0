/*
 * The objects of memory management: pages, VMAs, address spaces, tasks.
 *
 * Names and meanings are Linux's (include/linux/mm_types.h). struct page is 32 bytes, because DRAM
 * latency on it bounds how fast a machine can be simulated; what is seldom used lives in arrays
 * beside it (machine->page_private).
 *
 * Letters for locks:  (c) constant after creation  (o) only the owning CPU  (a) atomic
 *   (P) page lock (PG_locked)   (L) lru_lock   (Z) zone->lock   (M) mm->mmap_sem
 *   (D) split_queue_lock
 *   (T) page-table lock         (A) root anon_vma's rwsem       (S) swap_info's lock
 */
#ifndef CORE_MM_TYPES_H
#define CORE_MM_TYPES_H

#include "lib/interval_tree.h"
#include "lib/list.h"
#include "lib/rbtree.h"
#include "lib/types.h"
#include "world/world.h"

struct machine;
struct mm_struct;
struct anon_vma;
struct file;

/* ---- pages ------------------------------------------------------------------------------- */

/*
 * One frame. Links are frame numbers relative to the node's first frame, plus one, so that 16 TiB
 * fit 32 bits; they are used by whichever list the page is on: a free list, a per-CPU list, an LRU
 * list, or a private list in someone's hands. Only the list's owner touches them.
 */
struct page {
	u32 flags;    /* (a) enum pageflags, zone and node on top */
	s32 refcount; /* (a) 0: free or frozen */
	s32 mapcount; /* (T) ptes that map it (Linux's _mapcount + 1) */
	union {
		u32 lru_next;
		u32 head_distance; /* (c) of a tail: how many pages before it its head is */
	};
	union {
		u32 lru_prev;
		s32 total_mapcount; /* (a) second page: entries that map any part of it */
	};
	u32 mapping; /* (P) PAGE_MAPPING_ANON | number of the anon_vma, or of the inode; 0: none; TAIL_MAPPING */
	union {
		u64 index; /* page offset in the mapping; PG_buddy: the block's order and list, see
			    * buddy_order(); in a pcp list: the migrate type */
		struct {   /* second page of a compound page */
			s32 compound_mapcount; /* (a) PMD entries that map all of it */
			u8 compound_order;     /* (c) */
			u8 compound_flags;     /* (a) enum compound_flags */
			u16 nr_io; /* (a) of a file's: pages whose read or write has not ended */
		};
		struct { /* third page: the deferred split queue, in pages' links */
			u32 deferred_next; /* (D) */
			u32 deferred_prev; /* (D) */
		};
		u64 nr_writes; /* (a) fourth page: of it to swap, or reads, that have not ended */
	};
};
_Static_assert(sizeof(struct page) == 32, "struct page is half a cache line");

#define PAGE_MAPPING_ANON (1u << 31)
#define TAIL_MAPPING 0xfffffffeu /* counts as anonymous; no anon_vma has this number */
#define TAIL_MAPPING_FILE (TAIL_MAPPING & ~PAGE_MAPPING_ANON) /* and no inode this one */

enum compound_flags {
	COMPOUND_TAILS = 1 << 0,      /* tails beyond the third page are filled in: prep_tails() */
	COMPOUND_DOUBLE_MAP = 1 << 1, /* mapcounts of tails are one higher: some map them by pte,
				       * some by PMD (4.5, PageDoubleMap) */
	COMPOUND_DEFERRED =
		1 << 2, /* (D) waits to be split: on the queue, or in the shrinker's hands */
	COMPOUND_QUEUED = 1 << 3, /* (D) on the queue */
	/* Of a file's (filemap_folio.c): */
	COMPOUND_BLOCK_DIRTY =
		1 << 4, /* (P) as PG_dirty of a tail: the head's own block is to be written */
	COMPOUND_IO_ERROR = 1 << 5, /* (a) some of the read under way has failed */
};

enum pageflags {
	PG_locked,
	PG_referenced,
	PG_uptodate,
	PG_dirty,
	PG_lru,
	PG_active,
	PG_unevictable,
	PG_swapbacked,
	PG_swapcache,
	PG_writeback,
	PG_reclaim, /* free me soon after writeback; on others: PG_readahead */
	PG_workingset,
	PG_waiters,  /* somebody sleeps for PG_locked or PG_writeback */
	PG_reserved, /* boot-reserved: never the allocator's */
	PG_buddy,    /* head of a free block; index is its order and type */
	PG_table,    /* a page-table page */
	PG_slab,
	PG_zsmalloc, /* holds compressed pages */
	PG_isolated, /* taken off its LRU by reclaim */
	PG_compound, /* head or tail of a compound page */
	PG_private,  /* has buffer heads, which hold a reference */
	PG_mlocked,  /* a VM_LOCKED VMA maps it, or did: mlock_page.c */
	NR_PAGEFLAGS
};
#define PG_readahead PG_reclaim

#define PAGE_ZONE_SHIFT 22
#define PAGE_NODE_SHIFT 24
_Static_assert(NR_PAGEFLAGS <= PAGE_ZONE_SHIFT, "flags below zone and node");
#define PAGE_FLAGS_MASK ((1u << PAGE_ZONE_SHIFT) - 1)

/* Flags that must be clear when a page is freed. */
#define PAGE_FLAGS_CHECK_AT_FREE                                                                   \
	(1u << PG_locked | 1u << PG_lru | 1u << PG_swapcache | 1u << PG_writeback |                \
	 1u << PG_unevictable | 1u << PG_reserved | 1u << PG_buddy | 1u << PG_table |              \
	 1u << PG_slab | 1u << PG_zsmalloc | 1u << PG_mlocked)

static inline bool page_test(const struct page *p, enum pageflags f)
{
	return p->flags >> f & 1;
}

/* Flag changes are atomic read-modify-writes in Linux; the cost is charged by the operation. */
static inline void page_set(struct page *p, enum pageflags f)
{
	p->flags |= 1u << f;
}

static inline void page_clear(struct page *p, enum pageflags f)
{
	p->flags &= ~(1u << f);
}

static inline bool page_test_clear(struct page *p, enum pageflags f)
{
	bool was = page_test(p, f);

	page_clear(p, f);
	return was;
}

static inline unsigned int page_zonenum(const struct page *p)
{
	return p->flags >> PAGE_ZONE_SHIFT & 3;
}

static inline unsigned int page_nid(const struct page *p)
{
	return p->flags >> PAGE_NODE_SHIFT;
}

static inline bool page_is_anon(const struct page *p)
{
	return p->mapping & PAGE_MAPPING_ANON;
}

/* On the file lists by nature: neither anonymous nor shared memory, nor on its way from swap. */
static inline bool page_is_file(const struct page *p)
{
	return !page_is_anon(p) && !page_test(p, PG_swapbacked);
}

/*
 * Compound pages: 2^order frames with one reference count, one lock, one place on the LRU, which are
 * those of the first page, the head. Tails say how far away it is. What does not fit the head is in
 * the second and third page.
 */
static inline bool page_is_compound(const struct page *p)
{
	return unlikely(page_test(p, PG_compound));
}

static inline bool page_is_tail(const struct page *p)
{
	return page_is_compound(p) && (p->mapping | PAGE_MAPPING_ANON) == TAIL_MAPPING;
}

static inline bool page_is_head(const struct page *p)
{
	return page_is_compound(p) && (p->mapping | PAGE_MAPPING_ANON) != TAIL_MAPPING;
}

static inline struct page *compound_head(struct page *p)
{
	return page_is_tail(p) ? p - p->head_distance : p;
}

static inline unsigned int compound_order(const struct page *head)
{
	return page_is_compound(head) ? head[1].compound_order : 0;
}

/* Frames that a head, or a page of its own, stands for. */
static inline u32 compound_nr(const struct page *head)
{
	return page_is_compound(head) ? 1u << head[1].compound_order : 1;
}

/* Its offset in its mapping, wherever in a compound page it is. */
static inline u64 page_index(const struct page *p)
{
	return unlikely(page_is_tail(p)) ? (p - p->head_distance)->index + p->head_distance
	                                 : p->index;
}

static inline bool page_mapped(const struct page *p)
{
	return p->mapcount > 0 || (page_is_head(p) && p[1].total_mapcount > 0);
}

/*
 * A list of pages of one node, in the pages' own links. @base is the node's page of frame 0 of that
 * node (pgdat->mem_map). Adding at the head and taking from the tail is LRU order.
 */
struct page_list {
	struct page *base;
	u32 first; /* link value; 0: empty */
	u32 last;
	unsigned long nr;
};

static inline void page_list_init(struct page_list *l, struct page *base)
{
	*l = (struct page_list){.base = base};
}

static inline bool page_list_empty(const struct page_list *l)
{
	return !l->first;
}

static inline struct page *page_link(const struct page_list *l, u32 link)
{
	return link ? &l->base[link - 1] : NULL;
}

/* The link that stands for @p. */
static inline u32 page_link_to(const struct page_list *l, const struct page *p)
{
	return (u32)(p - l->base) + 1;
}

static inline struct page *page_list_first(const struct page_list *l)
{
	return page_link(l, l->first);
}

static inline struct page *page_list_last(const struct page_list *l)
{
	return page_link(l, l->last);
}

static inline void page_list_add(struct page_list *l, struct page *p)
{
	struct page *base = l->base;
	u32 link = (u32)(p - base) + 1;
	u32 next = l->first;

	p->lru_next = next;
	p->lru_prev = 0;
	*(next ? &base[next - 1].lru_prev : &l->last) = link;
	l->first = link;
	l->nr += 1;
}

/* Many pages to the head, one after the other: the list is right again when page_list_added() is told. */
struct page_list_adding {
	struct page_list *l;
	struct page *base;
	u32 first; /* what l->first will be */
	u32 *prev; /* where that one's neighbour towards the head belongs */
	unsigned long nr;
};

static inline struct page_list_adding page_list_adding(struct page_list *l)
{
	u32 *prev = l->first ? &l->base[l->first - 1].lru_prev : &l->last;

	return (struct page_list_adding){.l = l, .base = l->base, .first = l->first, .prev = prev};
}

static inline void page_list_add_next(struct page_list_adding *a, struct page *p)
{
	p->lru_next = a->first;
	a->first = (u32)(p - a->base) + 1;
	*a->prev = a->first;
	a->prev = &p->lru_prev;
	a->nr += 1;
}

/* At least one has been. */
static inline void page_list_added(const struct page_list_adding *a)
{
	*a->prev = 0;
	a->l->first = a->first;
	a->l->nr += a->nr;
}

static inline void page_list_add_tail(struct page_list *l, struct page *p)
{
	u32 link = (u32)(p - l->base) + 1;

	p->lru_prev = l->last;
	p->lru_next = 0;
	if (l->last)
		l->base[l->last - 1].lru_next = link;
	else
		l->first = link;
	l->last = link;
	l->nr += 1;
}

/* @nr pages from @p on, whose links to each other have been set, to the tail. */
static inline void page_list_add_run_tail(struct page_list *l, struct page *p, u32 nr)
{
	u32 link = page_link_to(l, p);

	p->lru_prev = l->last;
	p[nr - 1].lru_next = 0;
	*(l->last ? &l->base[l->last - 1].lru_next : &l->first) = link;
	l->last = link + nr - 1;
	l->nr += nr;
}

/* Just before @pos, which is in the list. */
static inline void page_list_add_before(struct page_list *l, struct page *pos, struct page *p)
{
	u32 link = (u32)(p - l->base) + 1;

	p->lru_prev = pos->lru_prev;
	p->lru_next = (u32)(pos - l->base) + 1;
	if (pos->lru_prev)
		l->base[pos->lru_prev - 1].lru_next = link;
	else
		l->first = link;
	pos->lru_prev = link;
	l->nr += 1;
}

static inline void page_list_del(struct page_list *l, struct page *p)
{
	if (p->lru_prev)
		l->base[p->lru_prev - 1].lru_next = p->lru_next;
	else
		l->first = p->lru_next;
	if (p->lru_next)
		l->base[p->lru_next - 1].lru_prev = p->lru_prev;
	else
		l->last = p->lru_prev;
	l->nr -= 1;
}

/* Takes out @nr pages in a row, @first being the nearest to the head and @last to the tail. */
static inline void page_list_cut(struct page_list *l, const struct page *first,
                                 const struct page *last, unsigned long nr)
{
	*(first->lru_prev ? &l->base[first->lru_prev - 1].lru_next : &l->first) = last->lru_next;
	*(last->lru_next ? &l->base[last->lru_next - 1].lru_prev : &l->last) = first->lru_prev;
	l->nr -= nr;
}

static inline struct page *page_list_pop(struct page_list *l)
{
	struct page *p = page_list_first(l);

	if (!p)
		return NULL;
	l->first = p->lru_next;
	*(l->first ? &l->base[l->first - 1].lru_prev : &l->last) = 0;
	l->nr -= 1;
	return p;
}

/* The @nr pages before l->first, which has been moved past them, have left. */
static inline void page_list_cut_head(struct page_list *l, unsigned long nr)
{
	*(l->first ? &l->base[l->first - 1].lru_prev : &l->last) = 0;
	l->nr -= nr;
}

/* Takes off the last @nr pages, @p being the first of them. */
static inline void page_list_cut_tail(struct page_list *l, struct page *p, unsigned long nr)
{
	l->last = p->lru_prev;
	if (l->last)
		l->base[l->last - 1].lru_next = 0;
	else
		l->first = 0;
	l->nr -= nr;
}

static inline struct page *page_list_pop_tail(struct page_list *l)
{
	struct page *p = page_list_last(l);

	if (p)
		page_list_del(l, p);
	return p;
}

/* The neighbour of a page of @l on the way to the head; NULL: it is the first. */
static inline struct page *page_list_prev(const struct page_list *l, const struct page *p)
{
	return page_link(l, p->lru_prev);
}

/* The last @nr pages of @from, the first of which is @run, go to the head of @to as they are. */
static inline void page_list_move_tail(struct page_list *from, struct page *run, unsigned long nr,
                                       struct page_list *to)
{
	u32 rest = run->lru_prev;
	u32 last = from->last;

	from->last = rest;
	*(rest ? &from->base[rest - 1].lru_next : &from->first) = 0;
	from->nr -= nr;
	run->lru_prev = 0;
	from->base[last - 1].lru_next = to->first;
	*(to->first ? &to->base[to->first - 1].lru_prev : &to->last) = last;
	to->first = (u32)(run - to->base) + 1;
	to->nr += nr;
}

/* ---- page tables ------------------------------------------------------------------------- */

/* One page-table page. Its entries are at machine->tables + number * PAGE_SIZE. */
struct pt_table {
	u32 nr_used;              /* (T) entries that are not none */
	u32 deposit;              /* (T) second level: tables kept for its huge entries, the first;
				   * leaf that is kept: the next */
	struct spinlock ptl;      /* of a leaf table: Linux's split page_table_lock */
	u64 pfn;                  /* (c) the frame it occupies */
	struct world_touch touch; /* its lock's line, and that of the entry looked at */
};

/* ---- VMAs ---------------------------------------------------------------------------------- */

enum vm_flags {
	VM_READ = 1 << 0,
	VM_WRITE = 1 << 1,
	VM_EXEC = 1 << 2,
	VM_SHARED = 1 << 3,
	VM_GROWSDOWN = 1 << 8,
	VM_LOCKED = 1 << 13,
	VM_NOHUGEPAGE = 1 << 14, /* madvise() */
	VM_HUGEPAGE = 1 << 15,
	VM_SEQ_READ = 1 << 16,  /* MADV_SEQUENTIAL */
	VM_RAND_READ = 1 << 17, /* MADV_RANDOM */
	VM_IO = 1 << 18,        /* with VM_LOCKED: its pages are being counted, mlock_page.c */
	VM_LOCKONFAULT = 1 << 19,
	VM_ACCOUNT = 1 << 20,
	VM_NORESERVE = 1 << 21,
};
#define VM_POLICY_SHIFT 24 /* above the flags: the number of its memory policy; 0: none */
#define VM_FLAGS_MASK ((1u << VM_POLICY_SHIFT) - 1)
#define VM_LOCKED_MASK ((u32)(VM_LOCKED | VM_LOCKONFAULT))

struct vm_area_struct {
	/* One line of the host: what a first touch reads. */
	u64 vm_start __attribute__((aligned(64))); /* (M) */
	u64 vm_end;                                /* (M) exclusive */
	u64 vm_pgoff; /* (M) in the file; anonymous: vm_start >> PAGE_SHIFT till it moves */
	u32 vm_flags; /* (M) */
	struct mm_struct *vm_mm;   /* (c) */
	struct file *vm_file;      /* (M) what it maps; NULL: anonymous memory */
	struct anon_vma *anon_vma; /* (M) set once, under mmap_sem read and page_table_lock */
	u64 vm_lock_seq;           /* == mm->mm_lock_seq: write-locked by mmap_sem's writer */

	struct rw_semaphore vm_lock;     /* read: a fault is at work here (knob fault.vma_lock) */
	struct rb_node vm_rb;            /* (M) in mm->mm_rb, by address */
	u64 gap;                         /* (M) bytes free below vm_start */
	u64 subtree_gap;                 /* (M) the largest gap at or below vm_rb */
	struct interval_node shared;     /* (i_mmap lock) in the file's i_mmap, by page offset */
	struct list_head anon_vma_chain; /* (M, A) of struct anon_vma_chain */
	struct world_touch touch;        /* of what reverse walks read */
	u64 swap_readahead_info;         /* VMA-based readahead: address, window, hits */
};

/*
 * The reverse map of anonymous pages: every VMA that may map a page of this anon_vma is in its
 * tree, by page offset. fork clones a VMA's chain and adds an anon_vma of the child's own; all of a
 * family share the root's lock. Linux mm/rmap.c.
 */
struct anon_vma {
	struct anon_vma *root;         /* (c) */
	struct anon_vma *parent;       /* (A) */
	struct rw_semaphore rwsem;     /* used in the root */
	s32 refcount;                  /* (a) users other than VMAs, children's included */
	u32 degree;                    /* (A) child anon_vmas, and VMAs that point here */
	struct rb_root_cached rb_root; /* (A) of anon_vma_chain */
	u32 nr_chains;                 /* (A) in rb_root */
};

/* Links one VMA to one anon_vma. */
struct anon_vma_chain {
	struct vm_area_struct *vma;
	struct anon_vma *anon_vma;
	struct list_head same_vma; /* in vma->anon_vma_chain */
	struct interval_node node; /* in anon_vma->rb_root: [vm_pgoff, last page offset] */
	struct world_touch touch;
	struct look *look; /* (A) a split is searching: split_walk.c */
};

/* ---- address spaces -------------------------------------------------------------------------- */

enum mm_counter { MM_ANONPAGES, MM_SWAPENTS, MM_FILEPAGES, NR_MM_COUNTERS };

struct mm_struct {
	struct world_as as; /* first: the world knows it */

	/* Two lines of the host: what a first touch reads and writes. */
	struct vm_area_struct *vmacache __attribute__((aligned(64))); /* (M) the last one found */
	u64 leaf_cache;                    /* (a) the last leaf table found: see pt_find() */
	u64 mm_lock_seq;                   /* (M) counts the write holds of mmap_sem */
	s32 mm_users;                      /* (a) tasks */
	s32 mm_count;                      /* (a) 1 for them all, and khugepaged */
	atomic_long_t rss[NR_MM_COUNTERS]; /* (a) */
	struct machine *machine;
	struct rw_semaphore mmap_sem;

	struct spinlock page_table_lock; /* upper tables; vma->anon_vma */
	struct rb_root mm_rb;            /* (M) VMAs by address */
	u32 map_count;                   /* (M) */
	u32 id;                          /* (c) numbered from 1 */
	u64 total_vm;                    /* (M) pages */
	u64 locked_vm;                   /* (M) pages of VM_LOCKED VMAs */
	u64 rlim_memlock;                /* RLIMIT_MEMLOCK of its tasks, bytes */
	u32 def_flags;                   /* (M) of new mappings: mlockall(MCL_FUTURE) */
	bool cap_ipc_lock;               /* its tasks need not mind the limit */
	bool mlock_counts;               /* (M) mlock is about to count pages in: mlock_fixup() */
	u64 start_brk;                   /* (c) */
	u64 brk;                         /* (M) */
	u64 nr_tables;                   /* (a) page-table pages */
	u64 rmap_leaf_cache;             /* (a) as leaf_cache, for reverse walks: pt_find_rmap() */
	u64 pmd_cache;                   /* (a) the last second-level table found: pt_find_pmd() */
	u64 swap_readahead_hits;
	struct world_touch touch;    /* of the mm and its upper tables, by reverse walks */
	bool tlb_flush_batched;      /* reclaim owes this mm a flush */
	bool oom_victim;             /* MMF: being killed */
	bool oom_skip;               /* MMF_OOM_SKIP: nothing more to get */
	struct list_head mmlist;     /* (c) in machine->mms */
	struct list_head khugepaged; /* in machine->khugepaged->mms, if it may have huge pages */
};

/* ---- tasks ------------------------------------------------------------------------------------- */

enum task_flags {
	PF_EXITING = 1 << 0,
	PF_KSWAPD = 1 << 1,
	PF_MEMALLOC = 1 << 2, /* allocate without watermarks, never reclaim */
	PF_LESS_THROTTLE = 1 << 3,
	TIF_MEMDIE = 1 << 4, /* OOM victim with access to reserves */
};

/* Unmaps whose flushes reclaim still owes (tlbflush_unmap_batch, 4.3). */
struct tlbflush_unmap_batch {
	u64 cpumask[HW_MAX_CPUS / 64];
	bool flush_required;
	bool writable; /* a dirty pte among them: flush before I/O */
};

struct task {
	struct world_task w; /* first: world_current() is a struct task */
	struct machine *machine;
	struct mm_struct *mm; /* NULL: kernel task */
	u32 flags;            /* enum task_flags */
	s32 oom_score_adj;
	u8 mempolicy;   /* number of its memory policy; 0: the default */
	u16 alloc_node; /* the request under way: node to begin with + 1; 0: the CPU's */
	u32 il_next;    /* whose turn it is to give a page */
	u64 alloc_mask; /* the request under way: nodes it is bound to; 0: none */
	bool killed;    /* by the OOM killer or a SIGBUS; system calls return -EINTR */
	u64 min_flt;
	u64 maj_flt;
	struct list_head tasks; /* in machine->tasks */
	struct wait_queue_head exit_wait;
	int exit_code;
	bool exited;   /* do_exit() is done with it: do_wait() may free it */
	u64 cutime_ns; /* of children waited for */
	u64 cstime_ns;
	struct tlbflush_unmap_batch tlb_ubc;
	struct blk_plug *plug; /* page_io.c: I/O held back until the task sleeps */
	/* dirty_limits.c: pages dirtied since the last pause, after how many to look, when that was */
	u32 nr_dirtied;
	u32 nr_dirtied_pause;
	u64 dirty_paused_when; /* ticks */
	void (*fn)(struct task *t, void *arg);
	void *arg;
	void *owner; /* whoever created it */
};

static inline struct task *current_task(void)
{
	return (struct task *)world_current();
}

#endif
