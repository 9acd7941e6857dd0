/*
 * The LRU lists and the per-CPU batches in front of them (Linux mm/swap.c).
 *
 * Five lists per lruvec: pages enter at the head, reclaim takes from the tail. Taking lru_lock for
 * every page would serialise the machine, so each CPU collects pages in small batches and locks a
 * lruvec once for all of them. A page in a batch has an extra reference and, in the batch of new
 * pages, no PG_lru yet: it cannot be isolated until the batch is drained.
 *
 * Batches are the owning CPU's and are filled by tasks, except the rotate batch: completions of
 * writes fill it, so it is touched with interrupts off. lru_lock is irq-safe for the same reason.
 *
 * Counters. A run of pages of one zone and list is added to the counters at once instead of page by
 * page as in Linux; what differs is when a per-CPU difference is folded, by a batch at most.
 *
 * A huge page is one entry of its list and counts as 512; whether it waits in a batch is an era's
 * choice (knob lru.batch_huge).
 *
 * Left out: memcg; in lru_add_drain_all() the count of generations by which a caller today
 * finds out that another has just done it.
 */
#include <string.h>

#include "core/huge_memory.h"
#include "core/mlock.h"
#include "core/workqueue.h"

enum lru_list page_lru(const struct page *page)
{
	unsigned int active = page_test(page, PG_active) ? LRU_ACTIVE_ANON - LRU_INACTIVE_ANON : 0;

	if (unlikely(page_test(page, PG_unevictable)))
		return LRU_UNEVICTABLE;
	return (page_test(page, PG_swapbacked) ? LRU_INACTIVE_ANON : LRU_INACTIVE_FILE) + active;
}

void lruvec_init(struct machine *m, struct lruvec *lruvec, struct pglist_data *pgdat,
                 struct zone *zone)
{
	memset(lruvec, 0, sizeof(*lruvec));
	spin_lock_init(m->world, &lruvec->lru_lock, LOCK_LRU);
	for (int l = 0; l < NR_LRU_LISTS; l++)
		page_list_init(&lruvec->list[l], pgdat->mem_map);
	lruvec->pgdat = pgdat;
	lruvec->zone = zone;
}

/* ---- lists, lru_lock held ---------------------------------------------------------------------- */

/* From 4.8 on a list holds pages of all zones of a node; how many of each is counted apart. */
void update_lru_size(struct machine *m, struct zone *z, enum lru_list lru, long nr)
{
	struct lruvec *lruvec = z->lruvec;

	(void)m;
	lruvec->size[lru] += nr;
	mod_node_state(z, NR_INACTIVE_ANON + lru, nr);
	if (!lruvec->zone)
		mod_zone_state(z, NR_ZONE_INACTIVE_ANON + lru, nr);
}

void add_page_to_lru_list(struct machine *m, struct page *page, struct lruvec *lruvec)
{
	enum lru_list lru = page_lru(page);

	page_list_add(&lruvec->list[lru], page);
	update_lru_size(m, page_zone(m, page), lru, compound_nr(page));
}

void add_page_to_lru_list_tail(struct machine *m, struct page *page, struct lruvec *lruvec)
{
	enum lru_list lru = page_lru(page);

	page_list_add_tail(&lruvec->list[lru], page);
	update_lru_size(m, page_zone(m, page), lru, compound_nr(page));
}

void del_page_from_lru_list(struct machine *m, struct page *page, struct lruvec *lruvec)
{
	enum lru_list lru = page_lru(page);

	page_list_del(&lruvec->list[lru], page);
	update_lru_size(m, page_zone(m, page), lru, -(long)compound_nr(page));
}

/* Before 5.8, placement and movement of pages feed get_scan_count(). */
static inline void update_page_reclaim_stats(struct lruvec *lruvec, bool file, bool rotated, u32 nr)
{
	lruvec->reclaim_stat.recent_scanned[file] += nr;
	lruvec->reclaim_stat.recent_rotated[file] += rotated ? nr : 0;
}

static inline void update_page_reclaim_stat(struct lruvec *lruvec, bool file, bool rotated)
{
	update_page_reclaim_stats(lruvec, file, rotated, 1);
}

/* ---- walking pages with the lock of their lruvec held ------------------------------------------ */

#define LRU_WALK_NO_KEY ~0u

/* Neighbours in a batch mostly share zone, lruvec and list: remember those of the last page. */
struct lru_walk {
	struct machine *m;
	struct zone *zone;     /* of the last page */
	struct lruvec *locked; /* NULL: no lock held */
	u32 key;               /* zone and node bits of the last page's flags, while locked */
	enum lru_list lru;     /* nr_moved of zone came to, or left, this list: */
	u32 nr_moved;          /* not yet charged */
	long nr;     /* the same in pages, positive or negative, not yet in the counters */
	bool is_new; /* they are new on their list */
};

#define LRU_WALK(machine) ((struct lru_walk){.m = (machine), .key = LRU_WALK_NO_KEY})

static noinline void __lru_walk_count_flush(struct lru_walk *w)
{
	charge_n(COST_LRU_ADD, w->nr_moved);
	update_lru_size(w->m, w->zone, w->lru, w->nr);
	if (w->is_new)
		update_page_reclaim_stats(w->locked, is_file_lru(w->lru), is_active_lru(w->lru),
		                          w->nr_moved);
	w->nr_moved = 0;
	w->nr = 0;
}

static inline void lru_walk_count_flush(struct lru_walk *w)
{
	if (w->nr_moved)
		__lru_walk_count_flush(w);
}

/* @nr_moved entries of @lru came or left: @nr pages, negative if they left. */
static inline void lru_walk_count(struct lru_walk *w, enum lru_list lru, u32 nr_moved, long nr)
{
	if (unlikely(w->lru != lru)) {
		lru_walk_count_flush(w);
		w->lru = lru;
	}
	w->nr_moved += nr_moved;
	w->nr += nr;
}

static void lru_walk_unlock(struct lru_walk *w)
{
	if (!w->locked)
		return;
	lru_walk_count_flush(w);
	spin_unlock_irq(&w->locked->lru_lock);
	w->locked = NULL;
	w->key = LRU_WALK_NO_KEY;
}

static noinline void lru_walk_relock(struct lru_walk *w, u32 key)
{
	struct zone *z = zone_of_key(w->m, key);

	lru_walk_count_flush(w);
	w->zone = z;
	if (w->locked != z->lruvec) {
		lru_walk_unlock(w);
		w->locked = z->lruvec;
		spin_lock_irq(&w->locked->lru_lock);
	}
	w->key = key;
}

/* The lruvec of @page, locked, and any other one unlocked. */
static inline struct lruvec *lru_walk_lock(struct lru_walk *w, const struct page *page)
{
	u32 key = page->flags >> PAGE_ZONE_SHIFT;

	if (unlikely(key != w->key))
		lru_walk_relock(w, key);
	return w->locked;
}

static inline void pagevec_prefetch(struct page **pages, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		__builtin_prefetch(pages[i], 1);
}

/* ---- dropping references ------------------------------------------------------------------------- */

/* Nobody refers to @page any more: what it may carry to its free list is none of these. */
static inline void page_clear_lru_flags(struct page *page)
{
	page->flags &= ~(1u << PG_lru | 1u << PG_active | 1u << PG_unevictable | 1u << PG_waiters);
}

static noinline void __put_page(struct machine *m, struct page *page)
{
	if (page_test(page, PG_lru)) {
		struct lruvec *lruvec = page_lruvec(m, page);

		spin_lock_unseen(&lruvec->lru_lock);
		charge(COST_LRU_ADD);
		del_page_from_lru_list(m, page, lruvec);
		page_clear_lru_flags(page);
		spin_unlock_unseen(&lruvec->lru_lock);
	} else {
		page_clear_lru_flags(page);
	}
	if (page_is_compound(page))
		free_huge_page(m, page);
	else
		free_unref_page(m, page);
}

void put_page(struct machine *m, struct page *page)
{
	world_order();
	charge(COST_PAGE_FLAG);
	page = compound_head(page);
	VM_BUG_ON(page->refcount <= 0);
	if (--page->refcount == 0)
		__put_page(m, page);
}

/*
 * Drops a reference to each of @nr pages, all at one time. Those that nobody refers to any more go to
 * @dead, which may be the same array; returns how many.
 */
static u32 drop_references(struct page **pages, u32 nr, struct page **dead)
{
	u32 nr_dead = 0;

	charge_n(COST_PAGE_FLAG, nr);
	world_order();
	for (u32 i = 0; i < nr; i++) {
		struct page *page = compound_head(pages[i]);
		s32 left = page->refcount - 1;

		VM_BUG_ON(left < 0);
		page->refcount = left;
		dead[nr_dead] = page;
		nr_dead += !left;
	}
	return nr_dead;
}

/* What pages must agree in for their places on a list to be taken away together. */
#define LRU_DEL_CLASS (~PAGE_FLAGS_MASK | 1u << PG_compound)

/*
 * Takes dead[0], a single page on a list, off it, and with it those after it that are its neighbours there:
 * each nearer to the head than the one before, as they were added. Of most runs only the ends have
 * neighbours that must be told. Returns how many.
 */
static inline u32 lru_walk_del_run(struct lru_walk *w, struct page **dead, u32 nr)
{
	struct lruvec *lruvec = lru_walk_lock(w, dead[0]);
	enum lru_list lru = page_lru(dead[0]);
	struct page_list *list = &lruvec->list[lru];
	struct page *page = dead[0];
	u32 class = page->flags & LRU_DEL_CLASS;
	u32 n;

	page_clear_lru_flags(page);
	for (n = 1; n < nr; n++) {
		struct page *next = dead[n];

		if ((next->flags & LRU_DEL_CLASS) != class ||
		    page->lru_prev != page_link_to(list, next))
			break;
		page_clear_lru_flags(next);
		page = next;
	}
	page_list_cut(list, page, dead[0], n);
	lru_walk_count(w, lru, n, -(long)n);
	return n;
}

/* Takes dead pages off their lists. Those of an order are freed; the others stay in @dead: how many. */
static u32 lru_del_dead(struct machine *m, struct page **dead, u32 nr)
{
	struct lru_walk w = LRU_WALK(m);
	struct page **single = dead;
	u32 nr_single = 0;

	while (nr) {
		u32 n = 1;

		if (unlikely(page_is_compound(*dead))) {
			lru_walk_unlock(&w);
			if (nr > 1)
				huge_prefetch(dead[1]);
			__put_page(m, *dead);
		} else {
			if (page_test(*dead, PG_lru))
				n = lru_walk_del_run(&w, dead, nr);
			else
				page_clear_lru_flags(*dead);
			if (unlikely(single + nr_single != dead))
				memmove(single + nr_single, dead, n * sizeof(*dead));
			nr_single += n;
		}
		dead += n;
		nr -= n;
	}
	lru_walk_unlock(&w);
	return nr_single;
}

/*
 * A reference reaching 0 is seen by others at once: isolation finds refcount 0 and leaves the page,
 * which is still on its list, alone.
 *
 * Locks: takes lru_lock, for 32 pages at most (as since 3.19, so that interrupts are not held off
 * for a whole gather). Never switches tasks. The array is used up.
 */
void release_pages(struct machine *m, struct page **pages, u32 nr)
{
	u32 nr_dead = 0;
	u32 n;

	pagevec_prefetch(pages, min_t(u32, nr, SWAP_CLUSTER_MAX));
	for (u32 i = 0; i < nr; i += n) {
		struct page **dead = pages + nr_dead;
		u32 more;

		n = min_t(u32, nr - i, SWAP_CLUSTER_MAX);
		pagevec_prefetch(pages + i + n, min_t(u32, nr - i - n, SWAP_CLUSTER_MAX));
		more = drop_references(pages + i, n, dead);
		if (more)
			nr_dead += lru_del_dead(m, dead, more);
	}
	free_unref_pages(m, pages, nr_dead);
}

/* Drops the references of a batch, which is empty from then on. */
static void pagevec_release(struct machine *m, struct pagevec *pvec)
{
	u32 nr_dead = drop_references(pvec->page, pvec->nr, pvec->page);

	pvec->nr = 0;
	if (nr_dead)
		free_unref_pages(m, pvec->page, lru_del_dead(m, pvec->page, nr_dead));
}

/* ---- new pages ------------------------------------------------------------------------------------- */

/* What decides the list of a new page, and how it gets there; those with some of this go one by one. */
#define LRU_ADD_SORT (1u << PG_unevictable | 1u << PG_mlocked)
#define LRU_ADD_CLASS                                                                              \
	(~PAGE_FLAGS_MASK | 1u << PG_lru | 1u << PG_active | 1u << PG_swapbacked |                 \
	 1u << PG_compound | LRU_ADD_SORT)
#define LRU_ADD_NO_CLASS ~0u

/*
 * The first of @pages, and those after it that are of the same class, to the list that their flags name.
 * Returns how many.
 */
static inline u32 lru_walk_add_run(struct lru_walk *w, struct page **pages, u32 nr)
{
	struct page *page = pages[0];
	struct lruvec *lruvec = lru_walk_lock(w, page);
	struct page_list_adding adding;
	enum lru_list lru;
	u32 nr_tails = 0; /* frames that they stand for besides */
	u32 class;
	u32 n = 0;

	VM_BUG_ON(page_test(page, PG_lru));
	/* (From 4.17 on, when there was no batch yet; here it comes with that.) */
	if (unlikely(page->flags & LRU_ADD_SORT) && mlock_today(w->m))
		lru_add_sort(w->m, page);
	lru = page_lru(page);
	class = page->flags & LRU_ADD_SORT ? LRU_ADD_NO_CLASS : page->flags & LRU_ADD_CLASS;
	adding = page_list_adding(&lruvec->list[lru]);
	do {
		page_set(page, PG_lru);
		page_list_add_next(&adding, page);
		if (++n == nr)
			break;
		page = pages[n];
	} while ((page->flags & LRU_ADD_CLASS) == class);
	page_list_added(&adding);
	for (u32 i = 0; unlikely(class & 1u << PG_compound) && i < n; i++)
		nr_tails += compound_nr(pages[i]) - 1;
	lru_walk_count(w, lru, n, n + nr_tails);
	return n;
}

void __pagevec_lru_add(struct machine *m, struct pagevec *pvec)
{
	struct lru_walk w = LRU_WALK(m);

	w.is_new = true;
	span_enter(SPAN_LRU_DRAIN);
	pagevec_prefetch(pvec->page, pvec->nr);
	for (u32 i = 0; i < pvec->nr;)
		i += lru_walk_add_run(&w, pvec->page + i, pvec->nr - i);
	lru_walk_unlock(&w);
	pagevec_release(m, pvec);
	span_exit();
}

/* Onto the list that its flags name, once the batch is drained. */
void lru_cache_add(struct machine *m, struct page *page)
{
	__lru_cache_add(m, page, page_lru(page) & m->lru_add_mask);
}

/* Boot. To 3.10 a page went into the batch of the list it was meant for (knob lru.add_batches). */
void lru_add_init(struct machine *m)
{
	bool active = m->knob.lru_anon == LRU_ANON_ACTIVE;

	m->lru_add_mask = m->knob.lru_add_batches == LRU_ADD_PER_LIST ? ~0u : 0;
	m->lru_add_new_anon = (active ? LRU_ACTIVE_ANON : LRU_INACTIVE_ANON) & m->lru_add_mask;
}

/* ---- moving pages ---------------------------------------------------------------------------------- */

/* Is to be done to @page, which is on a list of @lruvec, lock held. True if it moved. */
typedef bool lru_move_fn(struct machine *m, struct page *page, struct lruvec *lruvec);

static void pagevec_lru_move(struct machine *m, struct pagevec *pvec, lru_move_fn *fn,
                             enum vm_event event)
{
	struct lru_walk w = LRU_WALK(m);
	u32 nr_moved = 0;

	pagevec_prefetch(pvec->page, pvec->nr);
	for (u32 i = 0; i < pvec->nr; i++) {
		struct lruvec *lruvec = lru_walk_lock(&w, pvec->page[i]);

		if (!page_test(pvec->page[i], PG_lru) || page_test(pvec->page[i], PG_unevictable))
			continue;
		charge(COST_LRU_ADD);
		nr_moved += fn(m, pvec->page[i], lruvec) ? compound_nr(pvec->page[i]) : 0;
	}
	lru_walk_unlock(&w);
	count_vm_events(m, event, nr_moved);
	pagevec_release(m, pvec);
}

/*
 * To the tail: written for reclaim, which shall meet it next. Today this includes pages that
 * reclaim activated when it met them under writeback (knob reclaim.writeback_met); before, active
 * ones stay.
 */
static bool rotate_fn(struct machine *m, struct page *page, struct lruvec *lruvec)
{
	if (page_test(page, PG_active) && m->knob.writeback_met == WRITEBACK_KEEP)
		return false;
	del_page_from_lru_list(m, page, lruvec);
	page_clear(page, PG_active);
	add_page_to_lru_list_tail(m, page, lruvec);
	return true;
}

/* Mail 002: it need not wait at the tail to be found by reclaim. */
static bool rotate_or_free_fn(struct machine *m, struct page *page, struct lruvec *lruvec)
{
	if (page_test(page, PG_active) && m->knob.writeback_met == WRITEBACK_KEEP)
		return false;
	if (!free_at_writeback_end(m, page))
		return rotate_fn(m, page, lruvec);
	/* The batch's reference is the last, and is dropped when the lock has been. */
	del_page_from_lru_list(m, page, lruvec);
	page_clear(page, PG_lru);
	return false;
}

/* Interrupts off. */
static void rotate_drain(struct machine *m, struct pagevec *pvec)
{
	bool free = m->knob.writeback_end == WRITEBACK_END_FREE;

	pagevec_lru_move(m, pvec, free ? rotate_or_free_fn : rotate_fn, PGROTATED);
}

static bool activate_fn(struct machine *m, struct page *page, struct lruvec *lruvec)
{
	if (page_test(page, PG_active))
		return false;
	del_page_from_lru_list(m, page, lruvec);
	page_set(page, PG_active);
	add_page_to_lru_list(m, page, lruvec);
	update_page_reclaim_stat(lruvec, !page_test(page, PG_swapbacked), true);
	return true;
}

static bool deactivate_fn(struct machine *m, struct page *page, struct lruvec *lruvec)
{
	if (!page_test(page, PG_active))
		return false;
	del_page_from_lru_list(m, page, lruvec);
	page_clear(page, PG_active);
	page_clear(page, PG_referenced);
	add_page_to_lru_list(m, page, lruvec);
	update_page_reclaim_stat(lruvec, !page_test(page, PG_swapbacked), false);
	return true;
}

/*
 * A page that invalidation had to leave, because it is dirty or somebody had it locked. One that has to
 * be written comes to the tail when that has been done; a clean one is there at once.
 */
static bool deactivate_file_fn(struct machine *m, struct page *page, struct lruvec *lruvec)
{
	bool active = page_test(page, PG_active);
	bool busy = page_test(page, PG_dirty) || page_test(page, PG_writeback);

	if (page_mapped(page))
		return false;
	del_page_from_lru_list(m, page, lruvec);
	page_clear(page, PG_active);
	page_clear(page, PG_referenced);
	if (busy) {
		page_set(page, PG_reclaim);
		add_page_to_lru_list(m, page, lruvec);
	} else {
		add_page_to_lru_list_tail(m, page, lruvec);
		count_vm_events(m, PGROTATED, compound_nr(page));
	}
	update_page_reclaim_stat(lruvec, true, false);
	return active;
}

/* Clean until written again: belongs with what can be dropped without I/O, the file pages (4.12). */
static bool lazyfree_fn(struct machine *m, struct page *page, struct lruvec *lruvec)
{
	if (!page_is_anon(page) || !page_test(page, PG_swapbacked) || page_test(page, PG_swapcache))
		return false;
	del_page_from_lru_list(m, page, lruvec);
	page_clear(page, PG_active);
	page_clear(page, PG_referenced);
	page_clear(page, PG_swapbacked);
	add_page_to_lru_list(m, page, lruvec);
	update_page_reclaim_stat(lruvec, true, false);
	return true;
}

static inline bool page_evictable_lru(const struct page *page)
{
	return page_test(page, PG_lru) && !page_test(page, PG_unevictable);
}

void activate_page(struct machine *m, struct page *page)
{
	struct pagevec *pvec = &this_cpu(m)->pvec.activate_page;

	if (!page_evictable_lru(page) || page_test(page, PG_active))
		return;
	if (pagevec_add(m, pvec, page))
		pagevec_lru_move(m, pvec, activate_fn, PGACTIVATE);
}

void deactivate_page(struct machine *m, struct page *page)
{
	struct pagevec *pvec = &this_cpu(m)->pvec.lru_deactivate;

	if (!page_evictable_lru(page) || !page_test(page, PG_active))
		return;
	if (pagevec_add(m, pvec, page))
		pagevec_lru_move(m, pvec, deactivate_fn, PGDEACTIVATE);
}

void deactivate_file_page(struct machine *m, struct page *page)
{
	struct pagevec *pvec = &this_cpu(m)->pvec.lru_deactivate_file;

	if (!page_evictable_lru(page))
		return;
	if (pagevec_add(m, pvec, page))
		pagevec_lru_move(m, pvec, deactivate_file_fn, PGDEACTIVATE);
}

void mark_page_lazyfree(struct machine *m, struct page *page)
{
	struct pagevec *pvec = &this_cpu(m)->pvec.lru_lazyfree;

	if (!page_evictable_lru(page) || !page_is_anon(page) || !page_test(page, PG_swapbacked) ||
	    page_test(page, PG_swapcache))
		return;
	if (pagevec_add(m, pvec, page))
		pagevec_lru_move(m, pvec, lazyfree_fn, PGLAZYFREE);
}

/*
 * The write that reclaim asked for has ended (PG_reclaim was set, and is cleared already): puts the page
 * into the rotate batch, if it is to go to the tail. True: the batch is full, and rotate_full_batch() must
 * follow. No order point: with the batch's reference the page outlasts the caller's look at it.
 */
bool rotate_reclaimable_page(struct machine *m, struct page *page)
{
	bool full;

	if (page_test(page, PG_locked) || page_test(page, PG_dirty) || !page_evictable_lru(page))
		return false;
	if (page_test(page, PG_active) && m->knob.writeback_met == WRITEBACK_KEEP)
		return false;
	full = pagevec_add(m, &this_cpu(m)->pvec.lru_rotate, page);
	return full;
}

/* Interrupt context or not. */
void rotate_full_batch(struct machine *m)
{
	struct pagevec *pvec;

	world_irq_save();
	pvec = &this_cpu(m)->pvec.lru_rotate;
	if (pvec->nr >= m->knob.lru_batch)
		rotate_drain(m, pvec);
	world_irq_restore();
}

/* Still in this CPU's batch of new pages: it goes straight to the active list. (3.11: before, a
 * batch was for one list, and PG_referenced waited for the next access.) */
static bool lru_cache_activate_page(struct machine *m, struct page *page)
{
	const struct pagevec *pvec = &this_cpu(m)->pvec.lru_add[0];

	for (u32 i = pvec->nr; i-- > 0;) {
		if (pvec->page[i] == page) {
			page_set(page, PG_active);
			return true;
		}
	}
	return false;
}

/* Steps: unreferenced, referenced, active, active and referenced. */
void mark_page_accessed(struct machine *m, struct page *page)
{
	if (page_test(page, PG_unevictable))
		return;
	if (page_test(page, PG_active) || !page_test(page, PG_referenced)) {
		page_set(page, PG_referenced);
		return;
	}
	if (page_test(page, PG_lru))
		activate_page(m, page);
	else if (m->lru_add_mask)
		return;
	else
		lru_cache_activate_page(m, page);
	page_clear(page, PG_referenced);
	workingset_age_nonresident(page_lruvec(m, page),
	                           page_is_file(page) ? compound_nr(page) : 1);
}

/*
 * Empties the batches of this CPU, in Linux's order. Other CPUs keep theirs: what reclaim cannot
 * isolate for that reason it meets in a later round.
 */
void lru_add_drain(struct machine *m)
{
	struct cpu_pagevecs *pv = &this_cpu(m)->pvec;

	if (pv->lru_add[0].nr)
		__pagevec_lru_add(m, &pv->lru_add[0]);
	if (unlikely(m->lru_add_mask))
		for (u32 l = 1; l < NR_LRU_LISTS; l++)
			if (pv->lru_add[l].nr)
				__pagevec_lru_add(m, &pv->lru_add[l]);
	if (pv->lru_rotate.nr) {
		world_irq_save();
		rotate_drain(m, &pv->lru_rotate);
		world_irq_restore();
	}
	if (pv->lru_deactivate_file.nr)
		pagevec_lru_move(m, &pv->lru_deactivate_file, deactivate_file_fn, PGDEACTIVATE);
	if (pv->lru_deactivate.nr)
		pagevec_lru_move(m, &pv->lru_deactivate, deactivate_fn, PGDEACTIVATE);
	if (pv->lru_lazyfree.nr)
		pagevec_lru_move(m, &pv->lru_lazyfree, lazyfree_fn, PGLAZYFREE);
	if (pv->activate_page.nr)
		pagevec_lru_move(m, &pv->activate_page, activate_fn, PGACTIVATE);
	mlock_drain_local(m);
}

/* ---- all CPUs ------------------------------------------------------------------------------------------ */

static void lru_add_drain_per_cpu(struct machine *m, struct work_struct *work)
{
	(void)work;
	lru_add_drain(m);
}

/*
 * Another CPU's batches; the look costs a line, which it has if it has not filled any since the last
 * look: taken to be so where all are empty.
 */
static bool cpu_needs_drain(struct machine *m, u32 cpu)
{
	const struct cpu_pagevecs *pv = m->cpu[cpu] ? &m->cpu[cpu]->pvec : NULL;
	u32 nr = 0;

	world_order();
	if (pv) {
		nr = pv->lru_rotate.nr + pv->lru_deactivate.nr + pv->lru_lazyfree.nr +
		     pv->activate_page.nr + m->cpu[cpu]->mlock.pvec.nr;
		for (u32 l = 0; l < NR_LRU_LISTS; l++)
			nr += pv->lru_add[l].nr;
	}
	charge(nr ? world_distance(world_self, cpu) : COST_LINE_OWN);
	return nr;
}

/*
 * To 3.11 schedule_on_each_cpu(): items from the per-CPU allocator, for each CPU. 3.12: static items
 * under a mutex. Flushed one after the other, while the workers work at the same time.
 */
void lru_add_drain_all(struct machine *m, bool counted)
{
	struct work_struct *works;
	u32 handle;

	span_enter(SPAN_DRAIN_ALL);
	if (counted) {
		mutex_lock(&m->drain_lock);
	} else {
		charge(COST_PERCPU_ALLOC);
		charge_n(COST_PERCPU_CLEAR, m->nr_cpus);
	}
	handle = pool_alloc(&m->drain_pool);
	BUG_ON(!handle);
	works = pool_ptr(&m->drain_pool, handle);
	for (u32 cpu = 0; cpu < m->nr_cpus; cpu++) {
		if (counted && !cpu_needs_drain(m, cpu))
			continue;
		init_work(&works[cpu], lru_add_drain_per_cpu);
		queue_work_on(m, cpu, &works[cpu]);
	}
	for (u32 cpu = 0; cpu < m->nr_cpus; cpu++)
		if (works[cpu].func)
			flush_work(m, &works[cpu]);
	pool_free(&m->drain_pool, handle);
	if (counted)
		mutex_unlock(&m->drain_lock);
	span_exit();
}

/* ---- audit -------------------------------------------------------------------------------------------- */

static void lruvec_audit_list(const struct machine *m, const struct lruvec *lruvec,
                              enum lru_list lru, unsigned long *nr_by_zone)
{
	const struct page_list *list = &lruvec->list[lru];
	unsigned long nr_pages = 0;
	unsigned long nr = 0;
	u32 prev = 0;

	for (struct page *p = page_list_first(list); p; p = page_link(list, p->lru_next)) {
		VM_BUG_ON(page_is_tail(p));
		VM_BUG_ON(p->lru_prev != prev);
		VM_BUG_ON(!page_test(p, PG_lru));
		VM_BUG_ON(page_test(p, PG_isolated));
		VM_BUG_ON(page_lru(p) != lru);
		VM_BUG_ON(page_lruvec(m, p) != lruvec);
		VM_BUG_ON(p->refcount < 1);
		VM_BUG_ON(++nr > list->nr);
		nr_pages += compound_nr(p);
		nr_by_zone[page_zonenum(p)] += compound_nr(p);
		prev = (u32)(p - list->base) + 1;
	}
	VM_BUG_ON(list->last != prev);
	VM_BUG_ON_MSG(nr != list->nr || nr_pages != lruvec->size[lru],
	              "LRU list %d of node %u: %lu pages (%lu), list says %lu, size %lu", lru,
	              lruvec->pgdat->node_id, nr, nr_pages, list->nr, lruvec->size[lru]);
}

static void lruvec_audit(const struct machine *m, const struct lruvec *lruvec)
{
	const struct pglist_data *pgdat = lruvec->pgdat;
	const struct stat_holder *h = lruvec->zone ? &lruvec->zone->stat : &pgdat->stat;

	for (int l = 0; l < NR_LRU_LISTS; l++) {
		unsigned long nr_by_zone[MAX_NR_ZONES] = {0};
		enum vm_item item = NR_INACTIVE_ANON + l;

		lruvec_audit_list(m, lruvec, l, nr_by_zone);
		VM_BUG_ON_MSG(stat_exact(m, h, item) != (long)lruvec->size[l],
		              "%s of node %u: counter %ld, list %lu", vm_item_name[item],
		              pgdat->node_id, stat_exact(m, h, item), lruvec->size[l]);
		for (int z = 0; z < MAX_NR_ZONES && !lruvec->zone; z++)
			VM_BUG_ON(stat_exact(m, &pgdat->zone[z].stat, NR_ZONE_INACTIVE_ANON + l) !=
			          (long)nr_by_zone[z]);
	}
}

/* Batches hold references; new pages there are on no list. */
static void pagevec_audit(const struct pagevec *pvec, bool is_new)
{
	for (u32 i = 0; i < pvec->nr; i++) {
		VM_BUG_ON(pvec->page[i]->refcount < 1);
		VM_BUG_ON(is_new && page_test(pvec->page[i], PG_lru));
	}
}

/* What must be true of the lists. Between tasks: no lru_lock is held. */
void lru_audit(struct machine *m)
{
	struct pglist_data *pgdat;
	struct zone *z;

	if (m->knob.lru_per == LRU_PER_NODE) {
		for_each_node (m, pgdat)
			lruvec_audit(m, &pgdat->lruvec);
	} else {
		for_each_populated_zone (m, pgdat, z)
			lruvec_audit(m, &z->own_lruvec);
	}
	for (u32 i = 0; i < m->nr_cpus; i++) {
		if (!m->cpu[i])
			continue;
		for (u32 l = 0; l < NR_LRU_LISTS; l++)
			pagevec_audit(&m->cpu[i]->pvec.lru_add[l], true);
		pagevec_audit(&m->cpu[i]->pvec.lru_rotate, false);
		pagevec_audit(&m->cpu[i]->pvec.lru_deactivate, false);
		pagevec_audit(&m->cpu[i]->pvec.lru_lazyfree, false);
		pagevec_audit(&m->cpu[i]->pvec.activate_page, false);
		pagevec_audit(&m->cpu[i]->mlock.pvec, false);
	}
}
