/*
 * What the files of core/ share: the machine, page tables, address spaces, and each file's functions for its
 * neighbours, where they have no header of their own. Functions follow their Linux namesakes in
 * meaning and locking unless they say otherwise.
 */
#ifndef CORE_INTERNAL_H
#define CORE_INTERNAL_H

#include <errno.h>

#include "core/machine.h"
#include "core/pgtable.h"
#include "core/vma.h"

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

/* How reclaim recognises a lazily freed page. */
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
