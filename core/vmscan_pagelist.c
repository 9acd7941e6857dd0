/*
 * What becomes of each page that reclaim has isolated (Linux mm/vmscan.c: shrink_page_list(), today
 * shrink_folio_list()).
 *
 * Each step is a function that says "go on" or decides the page's fate. A dirty
 * anonymous page goes through here twice: in the first round it gets a slot, is unmapped and its
 * write is started; after the write it is at the tail of its list, clean, and is freed.
 *
 * A page is freed by freezing its references: 1, the isolation's, if it is lazily freed, 2 if the
 * swap cache has it, and if anybody else holds one it stays. Nobody finds a page with refcount 0.
 *
 * Left out: demotion, memcg's waiting for writeback.
 */
#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/mlock.h"
#include "core/swap.h"
#include "core/vmscan.h"

/* What a step, and in the end shrink_page(), says. */
enum page_fate {
	PAGE_GO_ON,    /* nothing decided yet */
	PAGE_FREED,    /* refcount 0, out of every cache */
	PAGE_ACTIVATE, /* back, to the active list; locked */
	PAGE_KEEP,     /* back to its list; locked */
	PAGE_UNLOCKED, /* the same, not locked */
};

/* One call of shrink_page_list(). */
struct shrink {
	struct machine *m;
	struct lruvec *lruvec;
	struct scan_control *sc;
	struct reclaim_stat *stat;
	enum lazyfree_rule rule;
	struct page_list *pages; /* still to be looked at */
	bool freeable;           /* this page: may be dropped without having been written */
	bool slot_now;           /* this page: got its swap slot in this round */
	bool only_clean;         /* this page: is freed if it is clean, but not written */
};

/* ---- rows 3 to 5: statistics and writeback -------------------------------------------------------- */

/* A page of @order. (Of anonymous huge ones 4.11 on; here, since their lists are the nodes'.) */
static unsigned long scanned_as(const struct shrink *s, unsigned int order)
{
	return s->lruvec->zone ? 1 : 1UL << order;
}

/* Mapped and swap-cache pages once counted double, as pressure on slab. (Before 4.16; not pgscan.) */
static void count_scanned(struct shrink *s, const struct page *page)
{
	s->sc->nr_scanned += scanned_as(s, compound_order(page));
	if (s->lruvec->zone && (page_mapped(page) || page_test(page, PG_swapcache)))
		s->sc->nr_scanned += 1;
}

/*
 * Dirty and congested pages make reclaim throttle, because flushers will clean them. Anonymous pages
 * are written by reclaim itself and are left out (page_check_dirty_writeback(), 3.11).
 */
static void count_dirty(struct shrink *s, const struct page *page)
{
	bool file = !page_is_anon(page) && !page_test(page, PG_swapbacked);
	bool dirty = file && page_test(page, PG_dirty);
	bool writeback = file && page_test(page, PG_writeback);
	u32 nr = compound_nr(page);

	s->stat->nr_dirty += dirty || writeback ? nr : 0;
	s->stat->nr_unqueued_dirty += dirty && !writeback ? nr : 0;
	s->stat->nr_congested += writeback && page_test(page, PG_reclaim) ? nr : 0;
}

/*
 * A page under writeback is left alone, and marked to be rotated when its write ends. If it has
 * that mark already, and this is kswapd in a zone where it saw nothing but writeback, pages are
 * going round faster than the disk writes.
 */
static enum page_fate check_writeback(struct shrink *s, struct page *page)
{
	if (!page_test(page, PG_writeback))
		return PAGE_GO_ON;
	if (s->sc->kswapd && page_test(page, PG_reclaim) &&
	    READ_ONCE(*lruvec_zone_flags(s->lruvec)) & ZONE_WRITEBACK) {
		s->stat->nr_immediate += compound_nr(page);
	} else {
		page_set(page, PG_reclaim);
		s->stat->nr_writeback += compound_nr(page);
	}
	return s->m->knob.writeback_met == WRITEBACK_ACTIVATE ? PAGE_ACTIVATE : PAGE_KEEP;
}

/* ---- row 6: references --------------------------------------------------------------------------------- */

/*
 * A page whose ptes were used since the last look stays: activated at once (anonymous pages, to
 * 5.8), or only if it was used before or by several, with one more round otherwise.
 */
static enum page_fate check_references(struct shrink *s, struct page *page, bool *pte_dirty)
{
	struct machine *m = s->m;
	u32 vm_flags;
	int nr_ptes;
	bool was_referenced;

	span_enter(SPAN_PAGE_REFERENCED);
	nr_ptes = page_referenced(m, page, true, &vm_flags, pte_dirty);
	span_exit();
	charge(COST_PAGE_FLAG);
	was_referenced = page_test_clear(page, PG_referenced);
	if (unlikely(s->sc->ignore_references))
		return PAGE_GO_ON;
	/*
	 * Its mlock lost the race for isolating it. Before 5.18 try_to_unmap() finds out for sure; of a huge
	 * page, of each small one after the split.
	 */
	if (unlikely(vm_flags & VM_LOCKED))
		return mlock_today(m) ? PAGE_ACTIVATE : PAGE_GO_ON;
	if (nr_ptes < 0)
		return PAGE_KEEP;
	if (!nr_ptes) {
		/* read() has used it since: not worth a write, but gone if it is clean. */
		s->only_clean = was_referenced && !page_test(page, PG_swapbacked);
		return PAGE_GO_ON;
	}
	if (m->knob.referenced == REFERENCED_ACTIVATE && page_test(page, PG_swapbacked))
		return PAGE_ACTIVATE;
	page_set(page, PG_referenced);
	if (was_referenced || nr_ptes > 1)
		return PAGE_ACTIVATE;
	/* The text of a running program is activated at its first use (8cab4754d24a, 2.6.31). */
	return vm_flags & VM_EXEC && !page_test(page, PG_swapbacked) ? PAGE_ACTIVATE : PAGE_KEEP;
}

/*
 * A huge page gets a slot for each of its pages (4.13; of other sizes: 6.10), or is split, and its tails are looked at next. In use by
 * somebody: later.
 */
static enum page_fate split_huge(struct shrink *s, struct page *page)
{
	unsigned int order;
	bool whole;

	if (!page_is_compound(page) || !page_is_anon(page))
		return PAGE_GO_ON;
	whole = may_swap_out_whole(s->m, page);
	if (whole && (page_test(page, PG_swapcache) || !page_test(page, PG_swapbacked)))
		return PAGE_GO_ON;
	/* Nobody maps it, and this is the last that holds it. */
	if (!page_mapped(page))
		return PAGE_KEEP;
	if (whole) {
		if (!(s->sc->gfp & __GFP_IO))
			return PAGE_KEEP;
		if (READ_ONCE(page->refcount) != page[1].total_mapcount + 1)
			return PAGE_ACTIVATE;
		if (add_huge_to_swap(s->m, page))
			return PAGE_GO_ON;
	}
	order = compound_order(page);
	if (split_huge_page_to_list(s->m, page, s->pages))
		return PAGE_ACTIVATE;
	s->sc->nr_scanned -= scanned_as(s, order) - 1; /* the others will count for themselves */
	if (whole && order == HPAGE_PMD_ORDER)
		count_vm_event(s->m, THP_SWPOUT_FALLBACK);
	if (whole)
		s->m->mthp_stat[order][MTHP_SWPOUT_FALLBACK] += 1;
	return PAGE_GO_ON;
}

/* Lazily freed? See enum lazyfree_rule. Its contents then need no copy. */
static bool page_is_freeable(const struct shrink *s, const struct page *page, bool pte_dirty)
{
	if (!page_is_anon(page))
		return false;
	switch (s->rule) {
	case LAZYFREE_CLEAN_PTES:
		return !page_test(page, PG_swapcache) && !pte_dirty;
	case LAZYFREE_NOT_SWAPBACKED:
		return !page_test(page, PG_swapbacked);
	case LAZYFREE_SLOT_FIRST:
		return false; /* not known before it has been unmapped */
	}
	return false;
}

/* ---- rows 8 and 9: a slot, and out of the page tables ---------------------------------------------------- */

static enum page_fate get_slot(struct shrink *s, struct page *page)
{
	if (!page_is_anon(page) || page_test(page, PG_swapcache) || s->freeable)
		return PAGE_GO_ON;
	if (!(s->sc->gfp & __GFP_IO))
		return PAGE_KEEP;
	if (!add_to_swap(s->m, page))
		return PAGE_ACTIVATE;
	s->slot_now = true;
	return PAGE_GO_ON;
}

static enum page_fate unmap_page(struct shrink *s, struct page *page)
{
	u32 flags = TTU_BATCH_FLUSH;
	enum ttu_result ret;

	if (!page_mapped(page))
		return PAGE_GO_ON;
	if (s->freeable || (s->slot_now && s->rule == LAZYFREE_SLOT_FIRST))
		flags |= TTU_FREE;
	span_enter(SPAN_UNMAP);
	ret = try_to_unmap(s->m, page, flags);
	span_exit();
	switch (ret) {
	case SWAP_SUCCESS:
		/* 4.5: it had ptes, all were clean, and so is it: dropped, whatever its slot. */
		if (flags & TTU_FREE && s->slot_now)
			s->freeable = !page_test(page, PG_dirty);
		return PAGE_GO_ON;
	case SWAP_AGAIN:
		return PAGE_KEEP;
	case SWAP_FAIL:
	case SWAP_DIRTY:
	case SWAP_MLOCK:
		break;
	}
	return PAGE_ACTIVATE;
}

/* ---- row 11c: the write -------------------------------------------------------------------------------------- */

/* A write has been started. The page is not locked any more; one on a synchronous device is done. */
static enum page_fate after_write(struct shrink *s, struct page *page)
{
	struct machine *m = s->m;

	if (!(READ_ONCE(page->flags) >> PG_writeback & 1))
		page_clear(page, PG_reclaim);
	mod_node_state(page_zone(m, page), NR_VMSCAN_WRITE, compound_nr(page));
	s->stat->nr_pageout += compound_nr(page);
	if (page_test(page, PG_writeback) || page_test(page, PG_dirty))
		return PAGE_UNLOCKED;

	/* The page is clean and can be freed now. */
	if (!trylock_page(m, page))
		return PAGE_UNLOCKED;
	return page_test(page, PG_writeback) || page_test(page, PG_dirty) ? PAGE_KEEP : PAGE_GO_ON;
}

/*
 * Starts the write of a dirty page in the swap cache. PG_reclaim has it rotated when that ends. The
 * swap cache's pseudo device is never congested, so that there is no queue to be polite to.
 */
static enum page_fate pageout(struct shrink *s, struct page *page)
{
	struct machine *m = s->m;

	charge_n(COST_PAGE_FLAG, 2);
	/* The cache's references and the isolation's: somebody else may be changing it. */
	if (!page_test(page, PG_swapcache) ||
	    READ_ONCE(page->refcount) != 1 + (s32)compound_nr(page))
		return PAGE_KEEP;
	page_clear(page, PG_dirty);
	page_set(page, PG_reclaim);
	span_enter(SPAN_PAGEOUT);
	swap_writepage(m, page);
	span_exit();
	return after_write(s, page);
}

/* Row 11a: may this reclaimer write the file's page, or is that left to the flushers, who do it in order? */
static bool may_write_file_page(const struct shrink *s, const struct page *page)
{
	switch ((enum file_pageout_policy)s->m->knob.file_pageout) {
	case FILE_PAGEOUT_ANY: /* to 3.1 */
		return true;
	case FILE_PAGEOUT_KSWAPD:
		/* Only when the tail of the list is nothing but dirty pages; and, since 4.11, only one
		 * that has been round once. */
		return s->sc->kswapd &&
		       READ_ONCE(*lruvec_zone_flags(s->lruvec)) & ZONE_TAIL_LRU_DIRTY &&
		       (s->m->knob.writeback_met == WRITEBACK_KEEP || page_test(page, PG_reclaim));
	case FILE_PAGEOUT_NEVER: /* 6.16 */
		break;
	}
	return false;
}

/* pageout() of a file's page: one at a time, in LRU order, which is why it is to be avoided. */
static enum page_fate pageout_file(struct shrink *s, struct page *page)
{
	struct machine *m = s->m;
	struct mpage mp;

	if (READ_ONCE(page->refcount) != 1 + (s32)compound_nr(page) + page_test(page, PG_private))
		return PAGE_KEEP;
	/* To 5.15 who is not kswapd does not wait for room in a busy queue. */
	if (m->knob.throttle == THROTTLE_CONGESTION && !s->sc->kswapd &&
	    bdi_congested(m, page_mapping(m, page), true))
		return PAGE_KEEP;
	try_to_unmap_flush_dirty(m);
	if (!clear_page_dirty_for_io(m, page))
		return PAGE_GO_ON;
	page_set(page, PG_reclaim);
	span_enter(SPAN_PAGEOUT);
	mpage_start(&mp, m, page_mapping(m, page)->host, true);
	writepage(&mp, page);
	mpage_submit(&mp);
	span_exit();
	return after_write(s, page);
}

/* The same for shared memory, which goes to swap. */
static enum page_fate pageout_shmem(struct shrink *s, struct page *page)
{
	struct machine *m = s->m;
	int err;

	if (!(s->sc->gfp & __GFP_FS) || !s->sc->may_writepage || READ_ONCE(page->refcount) != 2)
		return PAGE_KEEP;
	try_to_unmap_flush_dirty(m);
	page_clear(page, PG_dirty);
	page_set(page, PG_reclaim);
	span_enter(SPAN_PAGEOUT);
	err = shmem_writepage(m, page);
	span_exit();
	if (!err)
		return after_write(s, page);
	page_clear(page, PG_reclaim);
	return PAGE_ACTIVATE;
}

static enum page_fate write_file_page(struct shrink *s, struct page *page)
{
	if (!may_write_file_page(s, page)) {
		/* It is rotated to the tail when a flusher has written it. */
		mod_node_state(page_zone(s->m, page), NR_VMSCAN_IMMEDIATE, compound_nr(page));
		page_set(page, PG_reclaim);
		return s->m->knob.writeback_met == WRITEBACK_ACTIVATE ? PAGE_ACTIVATE : PAGE_KEEP;
	}
	if (s->only_clean || !(s->sc->gfp & __GFP_FS) || !s->sc->may_writepage)
		return PAGE_KEEP;
	return pageout_file(s, page);
}

static enum page_fate write_if_dirty(struct shrink *s, struct page *page)
{
	const struct scan_control *sc = s->sc;

	if (!page_test(page, PG_dirty) || s->freeable)
		return PAGE_GO_ON;
	if (page_mapping(s->m, page))
		return page_is_shmem(page) ? pageout_shmem(s, page) : write_file_page(s, page);
	if (!(sc->gfp & (__GFP_FS | __GFP_IO)) || !sc->may_writepage)
		return PAGE_KEEP;
	/* No CPU may write to it through a stale translation once its write has begun. */
	try_to_unmap_flush_dirty(s->m);
	return pageout(s, page);
}

/* ---- rows 13 and 14: the end ------------------------------------------------------------------------------------ */

/* Nobody but @nr references: from now on nobody gets one. The caller has passed an order point. */
static bool page_freeze_refs(struct page *page, s32 nr)
{
	charge(COST_PAGE_FLAG);
	if (page->refcount != nr)
		return false;
	page->refcount = 0;
	return true;
}

/* A page of a file leaves the page cache, if it is still clean; its place keeps a shadow (3.15). */
static bool remove_file_mapping(struct machine *m, struct page *page)
{
	struct address_space *mapping = page_mapping(m, page);
	s32 refs = 1 + (s32)compound_nr(page); /* the isolation's and the cache's */

	spin_lock_irq(&mapping->tree_lock);
	if (!page_freeze_refs(page, refs))
		goto out_unlock;
	if (page_test(page, PG_dirty)) {
		page->refcount = refs;
		goto out_unlock;
	}
	/* Nothing is known of what comes to an empty place of shared memory. */
	__delete_from_page_cache(m, page, page_is_shmem(page) ? 0 : workingset_eviction(m, page));
	spin_unlock_irq(&mapping->tree_lock);
	return true;

out_unlock:
	spin_unlock_irq(&mapping->tree_lock);
	return false;
}

/* Out of the swap cache, if it is still clean; its place keeps a shadow (5.9). */
static bool remove_mapping(struct machine *m, struct page *page)
{
	swp_entry_t entry = page_swap_entry(m, page);
	struct spinlock *lock = swap_tree_lock(m, entry);
	u32 nr = compound_nr(page);

	spin_lock_irq(lock);
	if (!page_freeze_refs(page, 1 + (s32)nr))
		goto out_unlock;
	if (page_test(page, PG_dirty)) {
		page->refcount = 1 + (s32)nr;
		goto out_unlock;
	}
	__delete_from_swap_cache(m, page, workingset_eviction(m, page));
	spin_unlock_irq(lock);
	swapcache_free_nr(m, entry, nr);
	return true;

out_unlock:
	spin_unlock_irq(lock);
	return false;
}

static enum page_fate free_lazyfree(struct shrink *s, struct page *page)
{
	world_order();
	if (!page_freeze_refs(page, 1))
		return PAGE_KEEP;
	if (s->rule == LAZYFREE_NOT_SWAPBACKED && page_test(page, PG_dirty)) {
		page->refcount = 1;
		return PAGE_KEEP;
	}
	count_vm_events(s->m, PGLAZYFREED, compound_nr(page));
	return PAGE_FREED;
}

static enum page_fate free_page(struct shrink *s, struct page *page)
{
	if (page_mapping(s->m, page)) {
		if (page_test(page, PG_private) && !try_to_free_buffers(s->m, page))
			return PAGE_ACTIVATE;
		return remove_file_mapping(s->m, page) ? PAGE_FREED : PAGE_KEEP;
	}
	if (page_test(page, PG_swapcache)) {
		if (!remove_mapping(s->m, page))
			return PAGE_KEEP;
		count_vm_events(s->m, PGLAZYFREED, s->freeable);
		return PAGE_FREED;
	}
	return s->freeable ? free_lazyfree(s, page) : PAGE_KEEP;
}

/* ---- one page after the other -------------------------------------------------------------------------------------- */

static enum page_fate shrink_page(struct shrink *s, struct page *page)
{
	bool pte_dirty = false;
	enum page_fate fate;

	s->freeable = false;
	s->slot_now = false;
	s->only_clean = false;
	if (!trylock_page(s->m, page))
		return PAGE_UNLOCKED;
	count_scanned(s, page);
	if (unlikely(page_test(page, PG_mlocked)))
		return PAGE_ACTIVATE; /* row 2: who puts it back culls it */
	if (!s->sc->may_unmap && page_mapped(page))
		return PAGE_KEEP;
	count_dirty(s, page);
	fate = check_writeback(s, page);
	if (fate == PAGE_GO_ON)
		fate = check_references(s, page, &pte_dirty);
	if (fate == PAGE_GO_ON)
		fate = split_huge(s, page);
	if (fate != PAGE_GO_ON)
		return fate;
	s->freeable = page_is_freeable(s, page, pte_dirty);
	/* An owner's exit got here first: the seed's tree leaves such a page to its last reference. */
	if (s->freeable && !page_mapped(page) && s->rule == LAZYFREE_CLEAN_PTES)
		return PAGE_KEEP;
	fate = get_slot(s, page);
	if (fate == PAGE_GO_ON)
		fate = unmap_page(s, page);
	if (fate == PAGE_GO_ON)
		fate = write_if_dirty(s, page);
	return fate == PAGE_GO_ON ? free_page(s, page) : fate;
}

/* Row A: reclaim will not want its slot for a while. Mlocked pages go to the unevictable list instead. */
static bool activate_locked(struct machine *m, struct page *page)
{
	bool mlocked = page_test(page, PG_mlocked);

	if (page_test(page, PG_swapcache) && (vm_swap_full(m) || mlocked))
		try_to_free_swap(m, page);
	VM_BUG_ON(page_test(page, PG_active));
	if (!mlocked)
		page_set(page, PG_active);
	return !mlocked;
}

/* What reclaim frees has no other user: neither lock nor flags need atomics. */
static void page_clear_freed(struct page *page)
{
	VM_BUG_ON(page->refcount || page->mapcount);
	VM_BUG_ON(page_test(page, PG_writeback) || page_test(page, PG_lru));
	page->flags &= ~(1u << PG_locked | 1u << PG_active | 1u << PG_isolated | 1u << PG_waiters);
}

/* Until 4.15 what reclaim freed was considered cold in the cache. */
static void free_reclaimed(struct machine *m, struct page_list *list)
{
	if (page_list_empty(list))
		return;
	if (m->knob.pcp == PCP_FIXED)
		free_cold_page_list(m, list);
	else
		free_unref_page_list(m, list);
}

/* Huge pages. Returns how many small ones they are. */
static unsigned long free_reclaimed_huge(struct machine *m, struct page_list *list)
{
	unsigned long nr = 0;
	struct page *page;

	while ((page = page_list_pop(list))) {
		nr += compound_nr(page);
		free_huge_page(m, page);
	}
	return nr;
}

/*
 * Locks: none held; takes page locks by trylock. May switch tasks. The pages freed leave together,
 * after the flush that their unmapping may still owe.
 */
unsigned long shrink_page_list(struct machine *m, struct page_list *pages, struct lruvec *lruvec,
                               struct scan_control *sc, struct reclaim_stat *stat)
{
	struct shrink s = {.m = m,
	                   .lruvec = lruvec,
	                   .sc = sc,
	                   .stat = stat,
	                   .pages = pages,
	                   .rule = lazyfree_rule(m)};
	unsigned long nr_activated = 0;
	unsigned long nr_freed;
	struct page_list free, huge;
	struct page *page = page_list_last(pages);
	struct page *next;

	page_list_init(&free, pages->base);
	page_list_init(&huge, pages->base);
	for (; page; page = next) {
		enum page_fate fate;

		world_cond_resched();
		reclaim_fetch_ahead(m, page_list_prev(pages, page), sc, lruvec);
		fate = shrink_page(&s, page);
		next = page_list_prev(pages, page); /* its first tail, if it was split */
		/* Paid for at the end: unlocking and the next page's lock need one order point. */
		charge(COST_SCAN_PAGE);
		if (fate == PAGE_FREED) {
			page_clear_freed(page);
			page_list_del(pages, page);
			page_list_add(unlikely(page_is_compound(page)) ? &huge : &free, page);
			continue;
		}
		if (fate == PAGE_ACTIVATE)
			nr_activated += activate_locked(m, page) ? compound_nr(page) : 0;
		if (fate != PAGE_UNLOCKED)
			unlock_page(m, page);
	}
	nr_freed = free.nr;
	try_to_unmap_flush(m);
	free_reclaimed(m, &free);
	if (unlikely(!page_list_empty(&huge)))
		nr_freed += free_reclaimed_huge(m, &huge);
	count_vm_events(m, PGACTIVATE, nr_activated);
	return nr_freed;
}
