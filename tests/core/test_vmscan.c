/*
 * Reclaim: what becomes of a page, how far lists are scanned, when to stop, who is throttled.
 *
 * Aim: each row of the decision table (linux-mm.md 5.10) decides as it says, in both eras, and the
 * arithmetic of the balance is the documented one. Method: a user task with a few pages; one of them
 * is brought into the state a row names, isolated, and given to shrink_page_list(). The rest is worked
 * out by hand in comments.
 */
#include "core/kswapd.c"
#include "core/vmscan.c"
#include "core/vmscan_balance.c"

#include "tests/core/mm_fixture.h"

static struct scan_control new_sc(void)
{
	return (struct scan_control){
		.nr_to_reclaim = 32,
		.gfp = GFP_HIGHUSER_MOVABLE,
		.priority = DEF_PRIORITY,
		.reclaim_idx = MAX_NR_ZONES - 1,
		.may_writepage = true,
		.may_unmap = true,
		.may_swap = true,
	};
}

static void in_kernel(void)
{
	world_syscall_enter();
}

static void in_user(void)
{
	world_syscall_exit();
}

static void (*more_knobs)(struct knobs *k);

static u64 va;

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

static void row_stop(void)
{
	in_user();
	fix_stop();
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

static void fill(u64 nr_pages)
{
	va = fix_mmap(nr_pages);
	assert_int_equal(mm_access(fix.m, va, nr_pages * PAGE_SIZE, WORLD_FILL, 0), 0);
	in_kernel();
	lru_add_drain(fix.m);
}

/* Everything old, so that reclaim can have it. */
static void make_old(u64 nr_pages)
{
	for (u64 i = 0; i < nr_pages; i++) {
		u64 a = va + i * PAGE_SIZE;

		pt_entry(fix.m, pt_find(fix.m, fix.t->mm, a), a)->v &= ~PTE_ACCESSED;
	}
}

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

/* ---- the balance, 4.0 ---- */

static struct lruvec fake;

/* Sizes of the four lists on a zone of their own; no counters behind them. */
static struct lruvec *fake_lists(struct zone *zone, unsigned long ia, unsigned long aa,
                                 unsigned long in_f, unsigned long af)
{
	memset(&fake, 0, sizeof(fake));
	spin_lock_init(fix.w, &fake.lru_lock, LOCK_LRU);
	fake.size[LRU_INACTIVE_ANON] = ia;
	fake.size[LRU_ACTIVE_ANON] = aa;
	fake.size[LRU_INACTIVE_FILE] = in_f;
	fake.size[LRU_ACTIVE_FILE] = af;
	fake.zone = zone;
	fake.pgdat = &fix.m->node[0];
	return &fake;
}

static struct zone *balance_start(const char *preset)
{
	fix_start(1, 8192, preset, NULL);
	fix_swapon();
	in_kernel();
	return &fix.m->node[0].zone[ZONE_DMA32];
}

/* Free is far above high, and there are no file pages: "plenty of inactive cache", which is none. */
TEST(with_free_memory_4_0_scans_file_pages_even_if_there_are_none)
{
	struct zone *z = balance_start("4.0");
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];

	get_scan_count_recent(fix.m, fake_lists(z, 40960, 40960, 0, 0), &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 0);
	assert_int_equal(nr[LRU_ACTIVE_ANON], 0);
	row_stop();
}

/* file 0 + free <= high: anonymous pages only, a 4096th of each list: 40960 >> 12 = 10. */
TEST(when_free_and_file_are_below_high_4_0_scans_anonymous_pages)
{
	struct zone *z = balance_start("4.0");
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];

	z->_watermark[WMARK_HIGH] = 1 << 20;
	get_scan_count_recent(fix.m, fake_lists(z, 40960, 8192, 4096, 0), &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 10);
	assert_int_equal(nr[LRU_ACTIVE_ANON], 2);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 0);
	row_stop();
}

/*
 * File inactive is low (active 8192 > inactive 4096), so both are scanned. Anon 40960 in all: 20000
 * scanned is more than a quarter, halved to 10000, rotated 4000 to 2000. File 12288: 3000 scanned is
 * no more than a quarter (3072); 999 rotated.
 * ap = 60 * 10001 / 2001 = 299;  fp = 140 * 3001 / 1000 = 420;  denominator 299 + 420 + 1 = 720.
 * At priority 2: anon 40960 >> 2 = 10240 * 299 / 720 = 4252;  file 4096 >> 2 = 1024 * 420 / 720 = 597
 * and 8192 >> 2 = 2048 * 420 / 720 = 1194.
 */
TEST(the_fractions_of_4_0)
{
	struct zone *z = balance_start("4.0");
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];
	struct lruvec *l = fake_lists(z, 40960, 0, 4096, 8192);

	l->reclaim_stat = (struct zone_reclaim_stat){{4000, 999}, {20000, 3000}};
	sc.priority = 2;
	get_scan_count_recent(fix.m, l, &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 4252);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 597);
	assert_int_equal(nr[LRU_ACTIVE_FILE], 1194);
	assert_int_equal(l->reclaim_stat.recent_scanned[0], 10000);
	assert_int_equal(l->reclaim_stat.recent_rotated[0], 2000);
	assert_int_equal(l->reclaim_stat.recent_scanned[1], 3000);
	row_stop();
}

/*
 * The same numbers, and each swappiness counts one more: ap = 61 * 10001 / 2001 = 304;
 * fp = 141 * 3001 / 1000 = 423; sum 728. At priority 2: anon 10240 * 304 / 728 = 4276; file
 * 1024 * 423 / 728 = 594 and 2048 * 423 / 728 = 1189. At priority 12 anon is 10 * 304 / 728 = 4 pages,
 * which come together as 32 at the eighth time.
 */
TEST(the_fractions_of_2_6_36_and_what_it_saves_for_later)
{
	struct zone *z = balance_start("2.6.36");
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];
	struct lruvec *l = fake_lists(z, 40960, 0, 4096, 8192);

	l->reclaim_stat = (struct zone_reclaim_stat){{4000, 999}, {20000, 3000}};
	sc.priority = 2;
	get_scan_count_batched(fix.m, l, &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 4276);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 594);
	assert_int_equal(nr[LRU_ACTIVE_FILE], 1189);
	sc.priority = DEF_PRIORITY;
	for (u32 i = 1; i <= 8; i++) {
		get_scan_count_batched(fix.m, l, &sc, nr);
		assert_int_equal(nr[LRU_INACTIVE_ANON], i < 8 ? 0 : 32);
	}
	row_stop();
}

TEST(priority_0_scans_all_of_every_list)
{
	struct zone *z = balance_start("4.0");
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];

	sc.priority = 0;
	get_scan_count_recent(fix.m, fake_lists(z, 11, 12, 13, 14), &sc, nr);
	for (u32 l = 0; l < 4; l++)
		assert_int_equal(nr[l], 11 + l);
	row_stop();
}

TEST(without_swap_only_file_pages_are_scanned)
{
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];

	fix_start(1, 8192, "4.0", NULL);
	in_kernel();
	sc.priority = 0;
	get_scan_count_recent(fix.m, fake_lists(&fix.m->node[0].zone[1], 11, 12, 13, 14), &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 0);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 13);
	row_stop();
}

/* ---- the balance, today ---- */

/*
 * anon cost 300, file cost 100: total 400, ac = 700, fc = 500, total 1200.
 * ap = 60 * 1201 / 701 = 102;  fp = 140 * 1201 / 501 = 335;  sum 437.
 * Per-zone lists are used here, so that sizes can be given: 43700 >> 0 ... at priority 1:
 * anon 43700 >> 1 = 21850 * 102 / 437 = 5100;  file 8740 >> 1 = 4370 * 335 / 437 = 3350.
 */
TEST(the_fractions_of_today)
{
	struct zone *z = balance_start("6.18");
	struct scan_control sc = new_sc();
	unsigned long nr[NR_LRU_LISTS];

	sc.priority = 1;
	sc.anon_cost = 300;
	sc.file_cost = 100;
	get_scan_count_cost(fix.m, fake_lists(z, 43700, 0, 8740, 0), &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 5100);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 3350);
	sc.file_is_tiny = true;
	get_scan_count_cost(fix.m, &fake, &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 21850);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 0);
	sc.file_is_tiny = false;
	sc.cache_trim_mode = true;
	get_scan_count_cost(fix.m, &fake, &sc, nr);
	assert_int_equal(nr[LRU_INACTIVE_ANON], 0);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 4370);
	row_stop();
}

/* 3 pages of I/O and 10 rotated: 3 * 32 + 10 = 106; above a quarter of 400 pages both are halved. */
TEST(costs_are_noted_and_fade)
{
	struct zone *z = balance_start("6.18");
	struct lruvec *l = fake_lists(z, 400, 0, 40, 0);

	lru_note_cost(l, false, 3, 10); /* 106 <= 110 */
	assert_int_equal(l->anon_cost, 106);
	lru_note_cost(l, true, 0, 6); /* 112 > 110 */
	assert_int_equal(l->anon_cost, 53);
	assert_int_equal(l->file_cost, 3);
	row_stop();
}

TEST(refaults_since_the_last_round_allow_deactivation)
{
	struct scan_control sc = new_sc();
	struct lruvec *lruvec;

	fix_start(1, 4096, "6.18", NULL);
	fix_swapon();
	fill(40);
	lruvec = &fix.m->node[0].lruvec;
	prepare_scan_control(fix.m, lruvec, &sc);
	assert_int_equal(sc.may_deactivate, 0); /* 40 inactive, none active: not low */
	mod_node_state(&fix.m->node[0].zone[0], WORKINGSET_ACTIVATE_ANON, 100);
	prepare_scan_control(fix.m, lruvec, &sc);
	assert_int_equal(sc.may_deactivate, DEACTIVATE_ANON);
	snapshot_refaults(fix.m, &fix.m->node[0]);
	prepare_scan_control(fix.m, lruvec, &sc);
	assert_int_equal(sc.may_deactivate, 0);
	sc.force_deactivate = true;
	prepare_scan_control(fix.m, lruvec, &sc);
	assert_int_equal(sc.may_deactivate, DEACTIVATE_ANON | DEACTIVATE_FILE);
	row_stop();
}

/* linux-mm.md 5.7 and 20.2. */
TEST(inactive_ratios_are_those_of_the_table)
{
	static const struct {
		unsigned long gib;
		unsigned long ratio;
	} row[] = {{0, 1}, {1, 3}, {4, 6}, {10, 10}, {32, 17}, {100, 31}, {1024, 101}, {4096, 202}};

	for (u32 i = 0; i < ARRAY_SIZE(row); i++)
		assert_int_equal(inactive_ratio_of(row[i].gib << 18), row[i].ratio);
}

TEST(inactive_lists_are_low_by_ratio)
{
	struct zone *z = balance_start("4.0");

	z->inactive_ratio = 3;
	assert_false(inactive_is_low(fix.m, fake_lists(z, 100, 300, 100, 100), LRU_INACTIVE_ANON));
	assert_true(inactive_is_low(fix.m, fake_lists(z, 100, 301, 100, 100), LRU_INACTIVE_ANON));
	assert_false(inactive_is_low(fix.m, fake_lists(z, 0, 0, 100, 100), LRU_INACTIVE_FILE));
	assert_true(inactive_is_low(fix.m, fake_lists(z, 0, 0, 100, 101), LRU_INACTIVE_FILE));
	/* Today by the lists' own size: 400 pages are less than 1 GiB, ratio 1. */
	assert_true(inactive_is_low(fix.m, fake_lists(NULL, 199, 201, 0, 0), LRU_INACTIVE_ANON));
	row_stop();
}

/* ---- proportional stop ---- */

/*
 * Targets anon 100 + 100, file 400 + 400; left when enough is reclaimed: anon 40 + 0, file 300 + 200.
 * Anon has less left (40 against 500): percentage left = 40 * 100 / (200 + 1) = 19. File shall be
 * scanned to 81 %: 400 * 81 / 100 = 324, less the 100 done = 224; active 324 - 200 = 124.
 */
TEST(the_larger_type_goes_on_to_the_proportion_the_smaller_reached)
{
	unsigned long targets[NR_LRU_LISTS] = {100, 100, 400, 400};
	unsigned long nr[NR_LRU_LISTS] = {40, 0, 300, 200};

	assert_true(scale_to_proportion(targets, nr));
	assert_int_equal(nr[LRU_INACTIVE_ANON], 0);
	assert_int_equal(nr[LRU_INACTIVE_FILE], 224);
	assert_int_equal(nr[LRU_ACTIVE_FILE], 124);
	nr[LRU_INACTIVE_FILE] = 0;
	nr[LRU_ACTIVE_FILE] = 0;
	assert_false(scale_to_proportion(targets, nr));
}

/* ---- direct reclaim and kswapd ---- */

TEST(direct_reclaim_frees_pages_and_counts_a_stall)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 p = 0; p < 2; p++) {
		fix_start(1, 8192, preset[p], NULL);
		fix_swapon();
		fill(2000);
		make_old(2000);
		for (int i = 0; i < MAX_NR_ZONES; i++)
			fix.m->node[0].zone[i]._watermark[WMARK_HIGH] = 1 << 20;
		assert_true(try_to_free_pages(fix.m, GFP_HIGHUSER_MOVABLE, 0) >= 32);
		assert_int_equal(vm_event_zones(fix.m, ALLOCSTALL_DMA), 1);
		/* Counted for the highest zone the request may use. */
		assert_int_equal(
			fix_event(ZONE_EVENT(ALLOCSTALL_DMA, gfp_zone(GFP_HIGHUSER_MOVABLE))), 1);
		assert_true(vm_event_zones(fix.m, PGSTEAL_DIRECT_DMA) >= 32);
		assert_int_equal(vm_event_zones(fix.m, PGSCAN_KSWAPD_DMA), 0);
		lru_audit(fix.m);
		in_user();
		fix_audit();
		fix_stop();
	}
}

/* Nothing to reclaim: from priority 12 to 0 twice, which counts as two stalls. */
TEST(direct_reclaim_of_nothing_fails_after_two_walks)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 p = 0; p < 2; p++) {
		fix_start(1, 8192, preset[p], NULL);
		in_kernel();
		assert_int_equal(try_to_free_pages(fix.m, GFP_HIGHUSER_MOVABLE, 0), 0);
		assert_int_equal(vm_event_zones(fix.m, ALLOCSTALL_DMA), 2);
		row_stop();
	}
}

TEST(kswapd_reclaims_until_the_node_is_balanced)
{
	static const char *const preset[] = {"2.6.36", "3.1", "4.0", "6.18"};

	for (u32 p = 0; p < ARRAY_SIZE(preset); p++) {
		struct pglist_data *pgdat;

		fix_start(1, 8192, preset[p], NULL);
		fix_swapon();
		fill(3000);
		make_old(3000);
		pgdat = &fix.m->node[0];
		/* Both zones 300 pages short of their high marks. */
		for (int i = 0; i <= ZONE_DMA32; i++)
			pgdat->zone[i]._watermark[WMARK_HIGH] =
				zone_page_state_snapshot(&pgdat->zone[i], NR_FREE_PAGES) + 300;
		assert_false(null_run_task(&pgdat->kswapd->w)); /* until it sleeps */
		assert_true(fix_event(PAGEOUTRUN) >= 1);
		assert_true(fix_event(KSWAPD_HIGH_WMARK_HIT_QUICKLY) >= 1); /* no nap before */
		assert_true(vm_event_zones(fix.m, PGSTEAL_KSWAPD_DMA) >= 300);
		assert_int_equal(vm_event_zones(fix.m, PGSTEAL_DIRECT_DMA), 0);
		in_user();
		fix_stop();
	}
}

TEST(a_balanced_node_does_not_wake_kswapd)
{
	static const char *const preset[] = {"2.6.36", "3.1", "4.0", "6.18"};

	for (u32 p = 0; p < ARRAY_SIZE(preset); p++) {
		struct pglist_data *pgdat;

		fix_start(1, 8192, preset[p], NULL);
		in_kernel();
		pgdat = &fix.m->node[0];
		null_run_task(&pgdat->kswapd->w);
		wakeup_kswapd(fix.m, &pgdat->zone[ZONE_DMA32], 0, ZONE_MOVABLE);
		assert_int_equal(pgdat->kswapd->w.state, WORLD_TASK_INTERRUPTIBLE);
		pgdat->zone[ZONE_DMA]._watermark[WMARK_HIGH] = 1 << 20;
		pgdat->zone[ZONE_DMA32]._watermark[WMARK_HIGH] = 1 << 20;
		/* 2.6.36 looks at the low mark. */
		pgdat->zone[ZONE_DMA32]._watermark[WMARK_LOW] = 1 << 20;
		wakeup_kswapd(fix.m, &pgdat->zone[ZONE_DMA32], 0, ZONE_MOVABLE);
		assert_int_equal(pgdat->kswapd->w.state, WORLD_TASK_RUNNING);
		row_stop();
	}
}

/*
 * kswapd of 2.6.36 stops after 32 pages of a pass, and begins again at priority 12: each time counts
 * as a run. From 3.12 on it is one run, however long.
 */
TEST(kswapd_of_2_6_36_begins_again_until_all_zones_are_balanced)
{
	struct pglist_data *pgdat;

	fix_start(1, 8192, "2.6.36", NULL);
	fix_swapon();
	fill(3000);
	make_old(3000);
	pgdat = &fix.m->node[0];
	pgdat->zone[ZONE_DMA32]._watermark[WMARK_HIGH] =
		zone_page_state_snapshot(&pgdat->zone[ZONE_DMA32], NR_FREE_PAGES) + 300;
	null_run_task(&pgdat->kswapd->w);
	assert_true(fix_event(PAGEOUTRUN) > 1);
	assert_true(pgdat_balanced_2_6_36(pgdat, 0));
	in_user();
	fix_stop();
}

/* 16 runs without a page, and it leaves the node to direct reclaim (4.12). */
TEST(a_hopeless_kswapd_gives_up_today)
{
	struct pglist_data *pgdat;

	fix_start(1, 8192, "6.18", NULL);
	in_kernel();
	pgdat = &fix.m->node[0];
	for (int i = 0; i < MAX_NR_ZONES; i++)
		pgdat->zone[i]._watermark[WMARK_HIGH] = 1 << 20;
	assert_false(null_run_task(&pgdat->kswapd->w));
	assert_int_equal(pgdat->kswapd_failures, MAX_RECLAIM_RETRIES);
	assert_int_equal(fix_event(PAGEOUTRUN), MAX_RECLAIM_RETRIES);
	wakeup_kswapd(fix.m, &pgdat->zone[ZONE_DMA32], 0, ZONE_MOVABLE);
	assert_int_equal(pgdat->kswapd->w.state, WORLD_TASK_INTERRUPTIBLE);
	row_stop();
}

/* ---- throttles ---- */

/* Isolated > inactive / 8: 4.0 waits a tenth of a second each time it looks; here for ever. */
TEST(too_many_isolated_pages_stop_direct_reclaim_but_not_kswapd)
{
	struct scan_control sc = new_sc();
	struct lruvec *lruvec;
	u64 before;

	fix_start(1, 4096, "6.18", NULL);
	fix_swapon();
	fill(80);
	lruvec = &fix.m->node[0].lruvec;
	mod_isolated(lruvec, LRU_INACTIVE_ANON, 10);
	assert_true(wait_too_many_isolated(fix.m, lruvec, false, &sc)); /* 10 <= 80 / 8 */
	mod_isolated(lruvec, LRU_INACTIVE_ANON, 3); /* more than a CPU keeps to itself */
	before = world_now();
	assert_false(wait_too_many_isolated(fix.m, lruvec, false, &sc));
	/* HZ/50 at 250 Hz: 5 ticks of 4 ms, and what is left of the present one. */
	assert_in_range(world_now() - before, 20000000, 24100000);
	sc.kswapd = true;
	assert_true(wait_too_many_isolated(fix.m, lruvec, false, &sc));
	sc.kswapd = false;
	sc.gfp = GFP_NOIO; /* may hold what those with I/O wait for: all of the list, 13 <= 80 */
	assert_true(wait_too_many_isolated(fix.m, lruvec, false, &sc));
	mod_isolated(lruvec, LRU_INACTIVE_ANON, -13);
	row_stop();
}

/* Counters stay as far off as they were when the test began. */
static void never_fold(struct knobs *k)
{
	k->stat_interval = 3600;
}

/* Less than half of the min marks free, and something to reclaim: wait for kswapd. */
TEST(direct_reclaimers_wait_while_reserves_are_low)
{
	struct pglist_data *pgdat;

	fix_start(1, 8192, "4.0", never_fold);
	fix_swapon();
	fill(100);
	pgdat = &fix.m->node[0];
	assert_true(allow_direct_reclaim(fix.m, pgdat));
	null_run_task(&pgdat->kswapd->w);
	pgdat->zone[ZONE_DMA32]._watermark[WMARK_MIN] = 1 << 20;
	assert_false(allow_direct_reclaim(fix.m, pgdat));
	assert_int_equal(pgdat->kswapd->w.state, WORLD_TASK_RUNNING);
	/* A killed task does not wait. */
	fix.t->w.signal = true;
	assert_false(throttle_direct_reclaim(fix.m, GFP_KERNEL));
	fix.t->w.signal = false;
	/* Without __GFP_FS at most a second. */
	assert_false(throttle_direct_reclaim(fix.m, GFP_NOFS));
	assert_int_equal(fix_event(PGSCAN_DIRECT_THROTTLE), 1);
	row_stop();
}

TEST(writes_that_end_wake_those_who_wait_for_writeback)
{
	struct pglist_data *pgdat;
	struct page *page;

	fix_start(1, 4096, "6.18", NULL);
	fix_swapon();
	fill(1);
	pgdat = &fix.m->node[0];
	page = fix_page(fix.t, va);
	pgdat->nr_writeback_throttled.v = 1;
	pgdat->nr_reclaim_start = 0;
	for (u32 i = 0; i < 32; i++)
		acct_reclaim_writeback(fix.m, page);
	assert_int_equal(stat_exact(fix.m, &pgdat->stat, NR_THROTTLED_WRITTEN), 32);
	pgdat->nr_writeback_throttled.v = 0;
	acct_reclaim_writeback(fix.m, page); /* nobody waits: not counted */
	assert_int_equal(stat_exact(fix.m, &pgdat->stat, NR_THROTTLED_WRITTEN), 32);
	row_stop();
}

/* congestion_wait() sleeps whether or not anything is congested; wait_iff_congested() only then. */
TEST(congestion_waits_last_until_a_disk_is_free_or_the_time_is_over)
{
	struct zone *z;
	u64 before;

	fix_start(1, 4096, "4.0", NULL);
	in_kernel();
	z = &fix.m->node[0].zone[0];
	before = world_now();
	congestion_wait(fix.m, true, 25);
	assert_in_range(world_now() - before, 100000000, 104000000);
	before = world_now();
	wait_iff_congested(fix.m, z, true, 25);
	z->flags |= ZONE_CONGESTED;
	wait_iff_congested(fix.m, z, true, 25);
	assert_true(world_now() - before < 1000000);
	null_set_congested(fix.w, false, true);
	wait_iff_congested(fix.m, z, true, 25);
	assert_in_range(world_now() - before, 100000000, 108000000);
	null_set_congested(fix.w, false, false);
	row_stop();
}

/* Else somebody who is throttled until half of its min mark is free is never told that it is (6.13). */
TEST(a_zone_of_free_pages_alone_counts_them_today)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 p = 0; p < 2; p++) {
		struct zone *z;

		fix_start(1, 4096, preset[p], NULL);
		in_kernel();
		z = &fix.m->node[0].zone[0];
		assert_int_equal(zone_reclaimable_pages(z), p ? nr_free_pages(fix.m) : 0);
		assert_true(nr_free_pages(fix.m) > 2048);
		row_stop();
	}
}

TEST_MAIN("vmscan")
