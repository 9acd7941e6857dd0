/*
 * Where the time went: spans, latency histograms, lock statistics, trace events.
 *
 * Every charged nanosecond belongs to a CPU, a task and a *span*, a path such as
 * `fault/alloc/direct_reclaim/shrink_inactive/lru_lock`. The paths of a run form a tree; entering
 * a span goes to a child of the present one, created when first used. Time is not added at each
 * charge: a CPU remembers when its present span began and books the difference when it changes.
 *
 * A task has its own present span; the world saves and restores it when tasks switch. Interrupts
 * and idleness have roots of their own. Per CPU, the sum over all spans equals its clock, exactly
 * (the world books what is still open when a run ends).
 *
 * One ledger per world. Only the CPU that runs touches it: a world in which CPUs run in parallel
 * gives each its own and adds them up.
 */
#ifndef WORLD_LEDGER_H
#define WORLD_LEDGER_H

#include "lib/types.h"
#include "lib/hist.h"
#include "world/cost.h"

/* Roots first: a task's kind decides the root its time is booked under. */
#define LEDGER_SPANS(X)                                                                            \
	X(IDLE, "idle")                                                                            \
	X(USER, "user")                                                                            \
	X(KSWAPD, "kswapd")                                                                        \
	X(KCOMPACTD, "kcompactd")                                                                  \
	X(COMPACT, "compact_zone")                                                                 \
	X(MIGRATE, "migrate_pages")                                                                \
	X(KTHREAD, "kthread")                                                                      \
	X(FLUSHER, "flusher")                                                                      \
	X(IRQ, "irq")                                                                              \
	X(SCHED, "sched")                                                                          \
	/* system calls and faults */                                                              \
	X(FAULT, "fault")                                                                          \
	X(MMAP, "mmap")                                                                            \
	X(MUNMAP, "munmap")                                                                        \
	X(MPROTECT, "mprotect")                                                                    \
	X(MREMAP, "mremap")                                                                        \
	X(MEMPOLICY, "mempolicy")                                                                  \
	X(BRK, "brk")                                                                              \
	X(MADVISE, "madvise")                                                                      \
	X(MLOCK, "mlock")                                                                          \
	X(MUNLOCK, "munlock")                                                                      \
	X(POPULATE, "populate")                                                                    \
	X(FORK, "fork")                                                                            \
	X(EXEC, "execve")                                                                          \
	X(EXIT, "exit")                                                                            \
	X(SWAPON, "swapon")                                                                        \
	X(OPEN, "open")                                                                            \
	X(READ, "read")                                                                            \
	X(WRITE, "write")                                                                          \
	X(FSYNC, "fsync")                                                                          \
	X(TRUNCATE, "truncate")                                                                    \
	X(FADVISE, "fadvise")                                                                      \
	/* memory manager */                                                                       \
	X(ALLOC, "alloc")                                                                          \
	X(ZAP, "zap")                                                                              \
	X(DIRECT_RECLAIM, "direct_reclaim")                                                        \
	X(NODE_RECLAIM, "node_reclaim")                                                            \
	X(BALANCE, "balance_pgdat")                                                                \
	X(SHRINK_INACTIVE, "shrink_inactive")                                                      \
	X(SHRINK_ACTIVE, "shrink_active")                                                          \
	X(PAGE_REFERENCED, "page_referenced")                                                      \
	X(CULL, "cull")                                                                            \
	X(UNMAP, "try_to_unmap")                                                                   \
	X(ADD_TO_SWAP, "add_to_swap")                                                              \
	X(PAGEOUT, "pageout")                                                                      \
	X(SWAP_IN, "swap_in")                                                                      \
	X(LRU_DRAIN, "lru_drain")                                                                  \
	X(DRAIN_ALL, "lru_add_drain_all")                                                          \
	X(FLUSH_WORK, "flush_work")                                                                \
	X(TLB_FLUSH, "tlb_flush")                                                                  \
	X(COW, "cow")                                                                              \
	X(CLEAR, "clear_page")                                                                     \
	X(KHUGEPAGED, "khugepaged")                                                                \
	X(COLLAPSE, "collapse_huge_page")                                                          \
	X(SPLIT_PAGE, "split_huge_page")                                                           \
	X(DROP_CACHES, "drop_caches")                                                              \
	X(SHRINK_SLAB, "shrink_slab")                                                              \
	X(FREEZE, "freeze_page")                                                                   \
	X(UNFREEZE, "unfreeze_page")                                                               \
	X(READAHEAD, "readahead")                                                                  \
	X(WRITEBACK, "writeback")                                                                  \
	X(OOM, "oom")                                                                              \
	X(VMSTAT, "vmstat")                                                                        \
	X(ESTIMATE, "estimate")                                                                    \
	X(THROTTLE, "throttle")                                                                    \
	X(DIRTY, "balance_dirty_pages")                                                            \
	X(CONGESTION, "congestion_wait")                                                           \
	X(MEMPOOL, "mempool_alloc")                                                                \
	/* waiting, booked by the world under the span that waits */                               \
	X(SPIN_WAIT, "spin_wait")                                                                  \
	X(IPI_WAIT, "ipi_wait")                                                                    \
	X(IPI, "ipi")                                                                              \
	X(IO_DONE, "io_done")                                                                      \
	X(TIMER, "timer")                                                                          \
	X(TICK, "tick")                                                                            \
	X(SUBMIT_IO, "submit_io")

enum ledger_span {
#define X(name, text) SPAN_##name,
	LEDGER_SPANS(X)
#undef X
		NR_LEDGER_SPANS
};

/* Lock classes. Each has one name in all kernels, where lock_stat's changes: mmap_sem is mmap_lock since 5.8. */
#define LEDGER_LOCKS(X)                                                                            \
	X(ZONE, "&zone->lock")                                                                     \
	X(PCP, "&pcp->lock")                                                                       \
	X(SPLIT_QUEUE, "&pgdata->split_queue_lock")                                                \
	X(LRU, "&lruvec->lru_lock")                                                                \
	X(PTL, "&page_table_lock")                                                                 \
	X(MMAP, "&mm->mmap_sem")                                                                   \
	X(VMA, "vm_lock")                                                                          \
	X(ANON_VMA, "&anon_vma->rwsem")                                                            \
	X(SWAP_AVAIL, "swap_avail_lock")                                                           \
	X(SWAP_INFO, "&si->lock")                                                                  \
	X(SWAP_GLOBAL_CLUSTER, "&si->global_cluster_lock")                                         \
	X(MEMPOOL, "&mempool->lock")                                                               \
	X(SWAP_TREE, "&swapper_space->tree_lock")                                                  \
	X(ZSTRM, "&zstrm->strm_lock")                                                              \
	X(ZS_CLASS, "&class->lock")                                                                \
	X(PAGE, "PG_locked")                                                                       \
	X(TREE, "&mapping->tree_lock")                                                             \
	X(I_MMAP, "&mapping->i_mmap_rwsem")                                                        \
	X(INODE, "&inode->i_mutex")                                                                \
	X(FS, "&sb->lock")                                                                         \
	X(WB, "&wb->list_lock")                                                                    \
	X(WB_DOMAIN, "&dom->lock")                                                                 \
	X(QUEUE, "&q->queue_lock")                                                                 \
	X(OOM, "oom_lock")                                                                         \
	X(WORKQUEUE, "&pool->lock")                                                                \
	X(COMPLETION, "&x->wait.lock")                                                             \
	X(LRU_DRAIN, "lru_add_drain_all lock")

enum ledger_lock {
#define X(name, text) LOCK_##name,
	LEDGER_LOCKS(X)
#undef X
		NR_LEDGER_LOCKS
};

/* Operations whose latency, in ns from entry to return, is kept as a histogram. */
#define LEDGER_HISTS(X)                                                                            \
	X(FAULT, "fault")                                                                          \
	X(MAJOR_FAULT, "major_fault")                                                              \
	X(ALLOC_SLOW, "alloc_slow")                                                                \
	X(MADVISE, "madvise")                                                                      \
	X(MLOCK, "mlock")                                                                          \
	X(MUNLOCK, "munlock")                                                                      \
	X(DIRECT_RECLAIM, "direct_reclaim")                                                        \
	X(SWAP_READ, "swap_read")                                                                  \
	X(SWAP_WRITE, "swap_write")                                                                \
	X(READ, "read")                                                                            \
	X(WRITE, "write")                                                                          \
	X(FILE_READ, "file_read")                                                                  \
	X(FILE_WRITE, "file_write")                                                                \
	X(RUN_DELAY, "run_delay")

enum ledger_hist {
#define X(name, text) HIST_##name,
	LEDGER_HISTS(X)
#undef X
		NR_LEDGER_HISTS
};

/* Trace events; the arguments' meaning is in the comment. */
#define LEDGER_EVENTS(X)                                                                           \
	X(SWITCH, "sched_switch")                         /* previous task id, next task id */     \
	X(WAKEUP, "sched_wakeup")                         /* task id, CPU */                       \
	X(FAULT, "page_fault")                            /* address, kind */                      \
	X(ALLOC, "mm_page_alloc")                         /* pfn, order */                         \
	X(FREE, "mm_page_free")                           /* pfn, order */                         \
	X(KSWAPD_WAKE, "mm_vmscan_kswapd_wake")           /* node, order */                        \
	X(KSWAPD_SLEEP, "mm_vmscan_kswapd_sleep")         /* node, 0 */                            \
	X(DIRECT_BEGIN, "mm_vmscan_direct_reclaim_begin") /* order, 0 */                           \
	X(DIRECT_END, "mm_vmscan_direct_reclaim_end")     /* reclaimed, 0 */                       \
	X(IO_SUBMIT, "block_rq_issue")                    /* sector, 1 if write */                 \
	X(IO_DONE, "block_rq_complete")                   /* sector, error */                      \
	X(IPI, "ipi_send")                                /* receivers, 0 */                       \
	X(MADVISE, "madvise")                             /* address, advice */                    \
	X(MADVISE_CHOICE, "madvise_choice")               /* 1 lazy, 0 dontneed; free pages */     \
	X(OOM_KILL, "oom_kill")                           /* task id, points */

enum ledger_event {
#define X(name, text) EVENT_##name,
	LEDGER_EVENTS(X)
#undef X
		NR_LEDGER_EVENTS
};

/*
 * A path: operations that are always charged together, counted as one until ledger_settle() adds them to
 * each operation's own count.
 */
#define LEDGER_PATHS 4

#define LEDGER_NODE_MAX 4096
#define LEDGER_DEPTH_MAX 24

/* One path. Node 0 is unused; children are created on demand and never freed. */
struct ledger_node {
	u64 ns;                     /* time in this very span, children apart */
	u64 count;                  /* times entered */
	u16 parent;                 /* 0: a root */
	u16 span;                   /* enum ledger_span */
	u16 child[NR_LEDGER_SPANS]; /* 0: not yet */
};

struct ledger_lock_stat {
	u64 acquisitions;
	u64 contentions;
	u64 wait_ns;
	u64 wait_ns_max;
	u64 hold_ns;
	u64 hold_ns_max;
};

struct ledger {
	u32 nr_nodes;   /* nodes 1 .. nr_nodes - 1 are in use */
	u32 nr_dropped; /* entries refused because the tree was full; booked on the parent */
	u16 root[NR_LEDGER_SPANS];
	struct ledger_lock_stat lock[NR_LEDGER_LOCKS];
	struct hist hist[NR_LEDGER_HISTS];
	u64 cost_count[NR_WORLD_COSTS];           /* how often each operation was charged, */
	u64 path_count[LEDGER_PATHS];             /* if these are settled */
	u8 path_nr[LEDGER_PATHS][NR_WORLD_COSTS]; /* (c) operations in a path */
	struct ledger_node *node;                 /* [LEDGER_NODE_MAX] */
	bool slices;                              /* the world is told of every span: ops->span */
};

/* Returns 0 or -ENOMEM (of the host). */
int ledger_init(struct ledger *l);
void ledger_destroy(struct ledger *l);

/* Until now, nothing is left in path_count. Called at the end of a run. */
void ledger_settle(struct ledger *l);

/* Forgets all times and counts. The paths stay. */
void ledger_restart(struct ledger *l);

/* Makes the child of @parent (NULL: a root) for @span; @parent itself if the tree is full. */
struct ledger_node *__ledger_child(struct ledger *l, struct ledger_node *parent,
                                   enum ledger_span span);

/* The root for @span, created if need be. */
static inline struct ledger_node *ledger_root(struct ledger *l, enum ledger_span span)
{
	return likely(l->root[span]) ? &l->node[l->root[span]] : __ledger_child(l, NULL, span);
}

/* The child of @parent, created if need be; @parent itself if the tree is full. */
static inline struct ledger_node *ledger_child(struct ledger *l, struct ledger_node *parent,
                                               enum ledger_span span)
{
	u16 child = parent->child[span];

	return likely(child) ? &l->node[child] : __ledger_child(l, parent, span);
}

/* Writes "fault/alloc/direct_reclaim" to @buf. */
void ledger_path(const struct ledger *l, const struct ledger_node *node, char *buf, size_t size);

extern const char *const ledger_span_name[NR_LEDGER_SPANS];
extern const char *const ledger_lock_name[NR_LEDGER_LOCKS];
extern const char *const ledger_hist_name[NR_LEDGER_HISTS];
extern const char *const ledger_event_name[NR_LEDGER_EVENTS];

#endif
