/*
 * Reclaim: what becomes of a page, and how batches are taken from the lists.
 *
 * Aim: each row of shrink_page_list()'s decision table decides as it says, in both eras. Method: a user
 * task with a few pages; one of them is brought into the state a row names, isolated, and given to
 * shrink_page_list(). The rest is worked out by hand in comments. How far lists are scanned is in
 * test_vmscan_balance.c, who reclaims and who waits in test_vmscan_reclaim.c.
 */
#include "core/vmscan.c"

#include "tests/core/vmscan_fixture.h"

static void (*more_knobs)(struct knobs *k);

/* One page, written and on its list, whose pte is old but dirty. */
static struct page *row_start(const char *preset)
{
	u32 table;
	struct page *page;

	fix_start(1, 8192, preset, more_knobs);
	fix_swapon();
	va = fix_mmap(16);
	fix_write(va, 42);
	page = fix_page(fix.t, va);
	in_kernel();
	lru_add_drain(fix.m);
	table = pt_find(fix.m, fix.t->mm, va);
	pt_entry(fix.m, table, va)->v &= ~PTE_ACCESSED;
	return page;
}

static pte_t *row_pte(void)
{
	return pt_entry(fix.m, pt_find(fix.m, fix.t->mm, va), va);
}

/* Isolates @page alone, as if it had been at the tail of its inactive list. */
static void take(struct page *page, struct page_list *list)
{
	struct lruvec *lruvec = page_lruvec(fix.m, page);

	VM_BUG_ON(!page_test(page, PG_lru));
	spin_lock_irq(&lruvec->lru_lock);
	del_page_from_lru_list(fix.m, page, lruvec);
	spin_unlock_irq(&lruvec->lru_lock);
	page_clear(page, PG_lru);
	page_clear(page, PG_active);
	page_set(page, PG_isolated);
	page->refcount += 1;
	page_list_init(list, lruvec->pgdat->mem_map);
	page_list_add(list, page);
}

static void give_back(struct page_list *list)
{
	struct lruvec *lruvec;
	struct page_list culled;
	struct page_list free;

	if (page_list_empty(list))
		return;
	lruvec = page_lruvec(fix.m, page_list_first(list));
	page_list_init(&free, list->base);
	page_list_init(&culled, list->base);
	spin_lock_irq(&lruvec->lru_lock);
	putback_pages(fix.m, lruvec, list, &free, &culled);
	spin_unlock_irq(&lruvec->lru_lock);
	cull_pages(fix.m, &culled);
	free_list(fix.m, &free);
}

static struct reclaim_stat last_stat;

/* One page through the table. Returns the pages freed: 0 or 1. */
static unsigned long shrink_with(struct page *page, struct scan_control *sc)
{
	struct lruvec *lruvec = page_lruvec(fix.m, page);
	struct page_list list;
	unsigned long nr;

	take(page, &list);
	last_stat = (struct reclaim_stat){.nr_taken = 1};
	nr = shrink_page_list(fix.m, &list, lruvec, sc, &last_stat);
	give_back(&list);
	return nr;
}

static unsigned long shrink(struct page *page)
{
	struct scan_control sc = new_sc();

	return shrink_with(page, &sc);
}

/* The same, with writes that end after the round, as on any disk but RAM. */
static unsigned long shrink_async(struct page *page)
{
	unsigned long nr;

	null_defer_io(fix.w, true);
	nr = shrink(page);
	null_complete_io(fix.w, ~0u);
	null_defer_io(fix.w, false);
	lru_add_drain(fix.m);
	return nr;
}

static bool on_active(const struct page *page)
{
	return page_test(page, PG_lru) && page_test(page, PG_active);
}

static bool on_inactive(const struct page *page)
{
	return page_test(page, PG_lru) && !page_test(page, PG_active);
}

/* ---- the table ---- */

/* Row 1. Not even counted as scanned. */
TEST(a_locked_page_is_kept)
{
	struct page *page = row_start("4.0");
	struct scan_control sc = new_sc();

	lock_page(fix.m, page);
	assert_int_equal(shrink_with(page, &sc), 0);
	assert_true(on_inactive(page));
	assert_int_equal(sc.nr_scanned, 0);
	unlock_page(fix.m, page);
	row_stop();
}

/* Row 3; and the double count of mapped pages before 4.8. */
TEST(a_mapped_page_is_kept_if_reclaim_may_not_unmap)
{
	struct page *page = row_start("4.0");
	struct scan_control sc = new_sc();

	sc.may_unmap = false;
	assert_int_equal(shrink_with(page, &sc), 0);
	assert_true(on_inactive(page));
	assert_int_equal(sc.nr_scanned, 2);
	row_stop();
	page = row_start("6.18");
	sc = new_sc();
	sc.may_unmap = false;
	assert_int_equal(shrink_with(page, &sc), 0);
	assert_int_equal(sc.nr_scanned, 1);
	row_stop();
}

/* Row 4: anonymous pages are nobody's dirty pages but reclaim's. */
TEST(anonymous_pages_do_not_count_as_dirty_or_congested)
{
	struct page *page = row_start("4.0");

	page_set(page, PG_dirty);
	shrink(page);
	assert_int_equal(last_stat.nr_dirty, 0);
	assert_int_equal(last_stat.nr_unqueued_dirty, 0);
	assert_int_equal(last_stat.nr_congested, 0);
	row_stop();
}

/* Row 5. The write is put off; the page is met while it runs. */
static void meet_writeback(const char *preset, bool kswapd, bool flagged, bool active)
{
	struct page *page = row_start(preset);
	struct scan_control sc = new_sc();
	u32 *flags = lruvec_zone_flags(page_lruvec(fix.m, page));

	null_defer_io(fix.w, true);
	assert_int_equal(shrink(page), 0);
	assert_true(page_test(page, PG_writeback));
	assert_true(page_test(page, PG_reclaim));
	assert_true(on_inactive(page));
	if (flagged)
		*flags |= ZONE_WRITEBACK;
	sc.kswapd = kswapd;
	assert_int_equal(shrink_with(page, &sc), 0);
	assert_int_equal(last_stat.nr_immediate, kswapd && flagged);
	assert_int_equal(last_stat.nr_writeback, !(kswapd && flagged));
	assert_int_equal(on_active(page), active);
	null_complete_io(fix.w, 1);
	null_defer_io(fix.w, false);
	lru_add_drain(fix.m);
	/* Rotated to the inactive tail, from the active list as well today. */
	assert_true(on_inactive(page));
	assert_int_equal(fix_event(PGROTATED), 1);
	assert_int_equal(shrink(page), 1);
	row_stop();
}

TEST(a_page_under_writeback_is_kept_and_rotated_at_its_end_in_4_0)
{
	meet_writeback("4.0", false, false, false);
	meet_writeback("4.0", false, true, false);
	meet_writeback("4.0", true, false, false);
	meet_writeback("4.0", true, true, false);
}

TEST(a_page_under_writeback_is_activated_and_rotated_at_its_end_today)
{
	meet_writeback("6.18", false, false, true);
	meet_writeback("6.18", true, true, true);
}

/* Row 6. */
TEST(a_referenced_anonymous_page_is_activated_at_once_in_4_0)
{
	struct page *page = row_start("4.0");

	row_pte()->v |= PTE_ACCESSED;
	assert_int_equal(shrink(page), 0);
	assert_true(on_active(page));
	assert_false(pte_young(*row_pte()));
	assert_int_equal(fix_event(PGACTIVATE), 1);
	row_stop();
}

TEST(a_referenced_anonymous_page_gets_a_second_round_today)
{
	struct page *page = row_start("6.18");

	row_pte()->v |= PTE_ACCESSED;
	assert_int_equal(shrink(page), 0);
	assert_true(on_inactive(page));
	assert_true(page_test(page, PG_referenced));
	row_pte()->v |= PTE_ACCESSED;
	assert_int_equal(shrink(page), 0);
	assert_true(on_active(page));
	row_stop();
}

/* Row 8. */
TEST(without_io_a_page_that_needs_a_slot_is_kept)
{
	struct page *page = row_start("4.0");
	struct scan_control sc = new_sc();

	sc.gfp = GFP_NOIO;
	assert_int_equal(shrink_with(page, &sc), 0);
	assert_true(on_inactive(page));
	assert_false(page_test(page, PG_swapcache));
	row_stop();
}

TEST(without_a_slot_a_page_is_activated)
{
	struct page *page = row_start("4.0");

	fix.w->fail_every[WORLD_FAIL_SWAP_SLOT] = 1;
	assert_int_equal(shrink(page), 0);
	fix.w->fail_every[WORLD_FAIL_SWAP_SLOT] = 0;
	assert_true(on_active(page));
	row_stop();
}

/* Rows 8, 9, 11c, 14: two rounds. Its contents come back. */
TEST(a_dirty_anonymous_page_is_written_in_one_round_and_freed_in_the_next)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 p = 0; p < 2; p++) {
		struct page *page = row_start(preset[p]);

		assert_int_equal(shrink_async(page), 0);
		assert_true(pte_swap(*row_pte()));
		assert_true(page_test(page, PG_swapcache));
		assert_false(page_test(page, PG_dirty));
		assert_int_equal(last_stat.nr_pageout, 1);
		assert_int_equal(fix_event(PSWPOUT), 1);
		assert_int_equal(shrink(page), 1);
		assert_int_equal(page->refcount, 0);
		in_user();
		assert_int_equal(fix_read(va), 42);
		assert_int_equal(fix_event(PSWPIN), 1);
		fix_stop();
	}
}

/* Row 11c on a device that ends a write inside the submission, as this null disk does. */
TEST(a_page_written_synchronously_is_freed_in_the_same_round)
{
	struct page *page = row_start("6.18");

	assert_int_equal(shrink(page), 1);
	assert_int_equal(fix_event(PSWPOUT), 1);
	in_user();
	assert_int_equal(fix_read(va), 42);
	fix_stop();
}

TEST(a_dirty_page_is_kept_if_reclaim_may_not_write)
{
	struct page *page = row_start("4.0");
	struct scan_control sc = new_sc();

	sc.may_writepage = false;
	assert_int_equal(shrink_with(page, &sc), 0);
	assert_true(page_test(page, PG_dirty));
	assert_true(on_inactive(page));
	assert_int_equal(fix_event(PSWPOUT), 0);
	row_stop();
}

/* pageout() needs to be the page's only user: cache 1, isolation 1, and whoever else. */
TEST(a_page_that_somebody_holds_is_not_written)
{
	struct page *page = row_start("4.0");

	get_page(page);
	assert_int_equal(shrink(page), 0);
	assert_true(on_inactive(page));
	assert_true(page_test(page, PG_dirty));
	assert_int_equal(fix_event(PSWPOUT), 0);
	put_page(fix.m, page);
	row_stop();
}

TEST(a_failed_write_leaves_the_page_dirty_on_the_inactive_list)
{
	struct page *page = row_start("4.0");

	null_fail_io(fix.w, 1);
	assert_int_equal(shrink_async(page), 0);
	assert_true(on_inactive(page));
	assert_true(page_test(page, PG_dirty));
	assert_int_equal(fix_event(PGROTATED), 0);
	assert_int_equal(shrink_async(page), 0); /* written again */
	assert_int_equal(fix_event(PGROTATED), 1);
	assert_int_equal(shrink(page), 1);
	row_stop();
}

/* Row 14: references are frozen at 2; a reader of the cache keeps the page. */
TEST(a_clean_page_that_somebody_holds_is_kept)
{
	struct page *page = row_start("4.0");

	shrink_async(page);
	get_page(page);
	assert_int_equal(shrink(page), 0);
	assert_true(on_inactive(page));
	assert_true(page_test(page, PG_swapcache));
	put_page(fix.m, page);
	assert_int_equal(shrink(page), 1);
	row_stop();
}

/* Row A: with swap more than half full, what is activated gives up a slot that no pte needs. */
TEST(an_activated_page_loses_its_slot_when_swap_is_full)
{
	struct page *page = row_start("4.0");

	assert_int_equal(shrink_async(page), 0);
	in_user();
	assert_int_equal(fix_read(va), 42); /* from the cache, where it stays */
	in_kernel();
	assert_true(page_test(page, PG_swapcache));
	row_pte()->v |= PTE_ACCESSED;
	fix.m->total_swap_pages *= 3; /* as if that many were in use */
	assert_int_equal(shrink(page), 0);
	fix.m->total_swap_pages /= 3;
	assert_true(on_active(page));
	assert_false(page_test(page, PG_swapcache));
	assert_int_equal(get_nr_swap_pages(fix.m), fix.m->total_swap_pages);
	row_stop();
}

/* ---- lazily freed pages ---- */

static void drop_knobs(struct knobs *k)
{
	k->free_swap = FREE_SWAP_DROP;
	k->free_list = FREE_LIST_INACTIVE_ANON;
	k->free_slot = FREE_SLOT_FIRST;
}

static struct page *lazy_start(const char *preset, void (*knobs)(struct knobs *k))
{
	struct page *page;

	more_knobs = knobs;
	page = row_start(preset);
	in_user();
	assert_int_equal(do_madvise(fix.m, va, PAGE_SIZE, MM_MADV_FREE), 0);
	in_kernel();
	lru_add_drain(fix.m);
	more_knobs = NULL;
	return page;
}

/* 7.6, all three columns: freed at once, without I/O; the next read finds zeros. */
TEST(a_lazily_freed_page_is_dropped_without_a_write)
{
	static const struct {
		const char *preset;
		void (*knobs)(struct knobs *k);
	} column[] = {{"4.0", NULL}, {"4.0", drop_knobs}, {"6.18", NULL}};

	for (u32 i = 0; i < 3; i++) {
		struct page *page = lazy_start(column[i].preset, column[i].knobs);

		assert_int_equal(shrink(page), 1);
		assert_true(pte_none(*row_pte()));
		assert_int_equal(fix_event(PGLAZYFREED), 1);
		assert_int_equal(fix_event(PSWPOUT), 0);
		assert_int_equal(get_nr_swap_pages(fix.m), fix.m->total_swap_pages);
		assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 0);
		in_user();
		assert_int_equal(fix_read(va), 0);
		fix_stop();
	}
}

/* Written since: it is in use again, and must not be lost. */
TEST(a_lazily_freed_page_that_was_written_again_stays)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 p = 0; p < 2; p++) {
		struct page *page = lazy_start(preset[p], NULL);

		row_pte()->v |= PTE_DIRTY;
		assert_int_equal(shrink_async(page), 0);
		assert_int_equal(fix_event(PGLAZYFREED), 0);
		assert_int_equal(fix_event(PSWPOUT),
		                 !p); /* an ordinary page, for the seed's tree */
		if (p) {
			assert_true(on_active(page));
			assert_true(page_test(page, PG_swapbacked));
		}
		in_user();
		assert_int_equal(fix_read(va), 42);
		fix_stop();
	}
}

/* Columns 2: it has its slot, and is swapped after all. */
TEST(in_4_5_a_page_written_after_madv_free_is_swapped_with_the_slot_it_has)
{
	struct page *page = lazy_start("4.0", drop_knobs);

	row_pte()->v |= PTE_DIRTY;
	assert_int_equal(shrink_async(page), 0);
	assert_true(pte_swap(*row_pte()));
	assert_int_equal(fix_event(PGLAZYFREED), 0);
	assert_int_equal(fix_event(PSWPOUT), 1);
	in_user();
	assert_int_equal(fix_read(va), 42);
	fix_stop();
}

/* Row 13: references are frozen at 1. */
TEST(a_lazily_freed_page_that_somebody_holds_is_not_freed)
{
	struct page *page = lazy_start("4.0", NULL);

	get_page(page);
	assert_int_equal(shrink(page), 0);
	assert_int_equal(fix_event(PGLAZYFREED), 0);
	put_page(fix.m, page);
	row_stop();
}

/* Where nothing was advised, a page that was only swapped in by a read is not taken for one. */
TEST(a_page_read_back_from_swap_is_not_taken_for_a_lazily_freed_one)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 p = 0; p < 2; p++) {
		struct page *page = row_start(preset[p]);

		assert_int_equal(shrink(page), 1);
		in_user();
		assert_int_equal(fix_read(va), 42);
		in_kernel();
		lru_add_drain(fix.m);
		page = fix_page(fix.t, va);
		row_pte()->v &= ~PTE_ACCESSED;
		assert_true(trylock_page(fix.m, page));
		assert_true(try_to_free_swap(fix.m, page));
		unlock_page(fix.m, page);
		shrink(page);
		assert_int_equal(fix_event(PGLAZYFREED), 0);
		in_user();
		assert_int_equal(fix_read(va), 42);
		fix_stop();
	}
}

/* ---- batches ---- */

/* 40 pages on the active list; 32 are deactivated, the oldest, in order. */
TEST(shrink_active_list_moves_the_oldest_to_the_inactive_head)
{
	struct scan_control sc = new_sc();
	struct lruvec *lruvec;
	u64 deactivated;

	fix_start(1, 4096, "4.0", NULL);
	fix_swapon();
	fill(40);
	lruvec = fix.m->node[0].zone[0].lruvec;
	assert_int_equal(lruvec->size[LRU_ACTIVE_ANON], 40);
	deactivated = fix_event(PGDEACTIVATE);
	shrink_active_list(fix.m, 32, lruvec, &sc, LRU_ACTIVE_ANON);
	assert_int_equal(lruvec->size[LRU_ACTIVE_ANON], 8);
	assert_int_equal(lruvec->size[LRU_INACTIVE_ANON], 32);
	assert_ptr_equal(page_list_last(&lruvec->list[LRU_INACTIVE_ANON]), fix_page(fix.t, va));
	assert_ptr_equal(page_list_first(&lruvec->list[LRU_INACTIVE_ANON]),
	                 fix_page(fix.t, va + 31 * PAGE_SIZE));
	assert_int_equal(fix_event(PGDEACTIVATE) - deactivated, 32);
	assert_int_equal(fix_event(PGREFILL_DMA), 32);
	/* References are cleared and counted as rotated, not honoured. 40 were new and active. */
	assert_false(pte_young(fix_pte(fix.t, va)));
	assert_int_equal(lruvec->reclaim_stat.recent_rotated[0], 40 + 32);
	assert_int_equal(lruvec->reclaim_stat.recent_scanned[0], 40 + 32);
	lru_audit(fix.m);
	row_stop();
}

TEST(pages_in_other_cpus_batches_are_not_isolated)
{
	struct scan_control sc = new_sc();

	fix_start(2, 4096, "6.18", NULL);
	fix_swapon();
	va = fix_mmap(8);
	assert_int_equal(mm_access(fix.m, va, 8 * PAGE_SIZE, WORLD_FILL, 0), 0);
	in_kernel();
	null_set_cpu(fix.w, 1);
	assert_int_equal(
		shrink_inactive_list(fix.m, 32, &fix.m->node[0].lruvec, &sc, LRU_INACTIVE_ANON), 0);
	assert_int_equal(fix_event(PGSCAN_DIRECT_DMA), 0);
	null_set_cpu(fix.w, 0);
	lru_add_drain(fix.m);
	shrink_inactive_list(fix.m, 32, &fix.m->node[0].lruvec, &sc, LRU_INACTIVE_ANON);
	assert_int_equal(fix_event(PGSCAN_DIRECT_DMA), 8);
	row_stop();
}

TEST(counters_of_a_batch_add_up)
{
	struct scan_control sc = new_sc();
	struct lruvec *lruvec;

	fix_start(1, 4096, "4.0", NULL);
	fix_swapon();
	fill(32);
	lruvec = fix.m->node[0].zone[0].lruvec;
	make_old(32);
	shrink_active_list(fix.m, 32, lruvec, &sc, LRU_ACTIVE_ANON);
	null_defer_io(fix.w, true);
	assert_int_equal(shrink_inactive_list(fix.m, 32, lruvec, &sc, LRU_INACTIVE_ANON), 0);
	assert_int_equal(fix_event(PSWPOUT), 32);
	null_complete_io(fix.w, ~0u);
	null_defer_io(fix.w, false);
	lru_add_drain(fix.m);
	assert_int_equal(fix_event(PGROTATED), 32);
	assert_int_equal(shrink_inactive_list(fix.m, 32, lruvec, &sc, LRU_INACTIVE_ANON), 32);
	assert_int_equal(fix_event(PGSCAN_DIRECT_DMA), 64);
	assert_int_equal(fix_event(PGSTEAL_DIRECT_DMA), 32);
	assert_int_equal(fix_event(PGSCAN_ANON), 64);
	assert_int_equal(stat_exact(fix.m, &fix.m->node[0].zone[0].stat, NR_ISOLATED_ANON), 0);
	/* First round: 32 mapped pages count twice; second: 32 in the swap cache do. */
	assert_int_equal(sc.nr_scanned, 128);
	lru_audit(fix.m);
	row_stop();
}

/* A page of a zone above the request's is left where it is, and counted apart (4.8). */
TEST(pages_of_higher_zones_are_skipped)
{
	struct scan_control sc = new_sc();
	struct lruvec *lruvec;
	struct isolated iso;

	fix_start(1, 8192, "6.18", NULL);
	fix_swapon();
	fill(8); /* from DMA32 */
	lruvec = &fix.m->node[0].lruvec;
	sc.reclaim_idx = ZONE_DMA;
	spin_lock_irq(&lruvec->lru_lock);
	isolate_lru_pages(fix.m, 32, lruvec, LRU_INACTIVE_ANON, &sc, &iso);
	spin_unlock_irq(&lruvec->lru_lock);
	assert_int_equal(iso.nr_taken, 0);
	assert_int_equal(iso.nr_scanned, 0);
	assert_int_equal(fix_event(PGSKIP_DMA32), 8);
	lru_audit(fix.m);
	row_stop();
}

TEST_MAIN("vmscan")
