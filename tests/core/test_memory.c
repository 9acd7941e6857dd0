/*
 * Faults and zapping: what is mapped, counted, charged, flushed and freed.
 *
 * The counts are derived: a first write is one fault, one frame cleared and one page mapped; a zap frees
 * each page, and flushes the TLB once per full gather of 8 + 19 * 510 pages and once for the rest.
 */
#include "tests/core/mm_fixture.h"

#define RW (MM_PROT_READ | MM_PROT_WRITE)

TEST(first_writes_map_cleared_pages)
{
	u64 cleared, va;

	fix_start(1, 2048, "4.0", NULL);
	va = fix_mmap(40);
	cleared = null_stats(fix.w)->nr_cleared;
	assert_int_equal(mm_access(fix.m, va, 40 * PAGE_SIZE, WORLD_FILL, 0), 0);
	assert_int_equal(null_stats(fix.w)->nr_cleared - cleared, 40);
	assert_int_equal(fix_event(PGFAULT), 40);
	assert_int_equal(fix.t->min_flt, 40);
	assert_int_equal(fix_event(PGMAJFAULT), 0);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 40);
	for (u32 i = 0; i < 40; i++) {
		pte_t pte = fix_pte(fix.t, va + i * PAGE_SIZE);
		struct page *page = fix_page(fix.t, va + i * PAGE_SIZE);

		assert_true(pte_write(pte) && pte_dirty(pte) && pte_young(pte));
		assert_int_equal(page->mapcount, 1);
		assert_true(page_is_anon(page) && page_test(page, PG_swapbacked));
		assert_int_equal(page->index, (va >> PAGE_SHIFT) + i);
	}
	/* Resident now: no further fault, whatever is done. */
	assert_int_equal(mm_access(fix.m, va, 40 * PAGE_SIZE, WORLD_WRITE, 0), 0);
	assert_int_equal(fix_event(PGFAULT), 40);
	fix_audit();
	fix_stop();
}

TEST(new_pages_start_on_the_list_of_their_era)
{
	static const struct {
		const char *preset;
		enum lru_list lru;
	} era[] = {{"4.0", LRU_ACTIVE_ANON}, {"6.18", LRU_INACTIVE_ANON}};

	for (u32 i = 0; i < ARRAY_SIZE(era); i++) {
		struct page *page;
		u64 va;

		fix_start(1, 2048, era[i].preset, NULL);
		va = fix_mmap(1);
		fix_write(va, 1);
		lru_add_drain(fix.m);
		page = fix_page(fix.t, va);
		assert_true(page_test(page, PG_lru));
		assert_int_equal(page_lru(page), era[i].lru);
		fix_stop();
	}
}

/* A read of what was never written maps the zero page: no frame, no rss, no reverse map. */
TEST(reads_map_the_zero_page)
{
	unsigned long free;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	va = fix_mmap(8);
	assert_int_equal(fix_read(va), 0); /* makes the zero page and the tables */
	free = nr_free_pages(fix.m);
	assert_int_equal(mm_access(fix.m, va, 8 * PAGE_SIZE, WORLD_READ, 0), 0);
	assert_int_equal(nr_free_pages(fix.m), free);
	for (u32 i = 0; i < 8; i++) {
		pte_t pte = fix_pte(fix.t, va + i * PAGE_SIZE);

		assert_true(pte_special(pte) && !pte_write(pte));
		assert_int_equal(pte_pfn(pte), page_to_pfn(fix.m, fix.m->zero_page));
	}
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 0);
	assert_null(find_vma(fix.t->mm, va)->anon_vma);

	fix_write(va + PAGE_SIZE, 5); /* a copy of zeros is a cleared page */
	assert_int_equal(fix_read(va), 0);
	assert_int_equal(fix_read(va + PAGE_SIZE), 5);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 1);
	assert_int_equal(null_stats(fix.w)->nr_copied, 0);
	fix_audit();
	assert_int_equal(do_madvise(fix.m, va, 8 * PAGE_SIZE, MM_MADV_DONTNEED), 0);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 0);
	assert_int_equal(fix_read(va + PAGE_SIZE), 0);
	fix_stop();
}

TEST(a_reserved_frame_serves_as_zero_page)
{
	u64 va;

	memset(&fix, 0, sizeof(fix));
	fix_start(1, 2048, "4.0", NULL);
	fix.hw->range[0].nr_reserved =
		16; /* as if it had been so at boot: only do_zero_page() asks */
	va = fix_mmap(1);
	assert_int_equal(fix_read(va), 0);
	assert_int_equal(pte_pfn(fix_pte(fix.t, va)), fix.hw->range[0].start_pfn);
	fix.hw->range[0].nr_reserved = 0;
	fix_stop();
}

TEST(accesses_without_permission_fail)
{
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	va = fix_mmap(2);
	assert_int_equal(mm_access(fix.m, va + 2 * PAGE_SIZE, 1, WORLD_READ, 0), -EFAULT);
	assert_int_equal(mm_access(fix.m, va - PAGE_SIZE, 1, WORLD_READ, 0), -EFAULT);
	fix_write(va, 3);
	assert_int_equal(do_mprotect(fix.m, va, PAGE_SIZE, MM_PROT_READ), 0);
	assert_int_equal(mm_access(fix.m, va, 1, WORLD_WRITE, 0), -EFAULT);
	assert_int_equal(fix_read(va), 3);
	assert_int_equal(do_mprotect(fix.m, va, PAGE_SIZE, MM_PROT_NONE), 0);
	assert_int_equal(mm_access(fix.m, va, 1, WORLD_READ, 0), -EFAULT);
	assert_int_equal(do_mprotect(fix.m, va, PAGE_SIZE, MM_PROT_WRITE), 0); /* implies reading */
	assert_int_equal(fix_read(va), 3);
	fix_write(va, 4);
	assert_int_equal(fix_event(PGREUSE), 1); /* the entry was read-only: one fault, no copy */
	assert_int_equal(null_stats(fix.w)->nr_copied, 0);
	fix_stop();
}

TEST(a_killed_task_gets_eintr_from_every_call)
{
	u64 va, now;
	struct task *child = NULL;

	fix_start(1, 2048, "4.0", NULL);
	va = fix_mmap(2);
	fix.t->killed = true;
	assert_int_equal(mm_access(fix.m, va, 1, WORLD_WRITE, 0), -EINTR);
	assert_int_equal(machine_fault(fix.m, &fix.t->w, va, WORLD_WRITE), -EINTR);
	assert_int_equal(do_mmap(fix.m, PAGE_SIZE, RW, 0, &now), -EINTR);
	assert_int_equal(do_munmap(fix.m, va, PAGE_SIZE), -EINTR);
	assert_int_equal(do_mprotect(fix.m, va, PAGE_SIZE, RW), -EINTR);
	assert_int_equal(do_brk(fix.m, 0, &now), -EINTR);
	assert_int_equal(do_madvise(fix.m, va, PAGE_SIZE, MM_MADV_DONTNEED), -EINTR);
	assert_int_equal(do_fork(fix.m, "child", fix_body, NULL, &child), -EINTR);
	assert_null(child);
	fix_stop();
}

/* ---- zap ---- */

static u64 flushes_of_zap(u64 nr_pages)
{
	u64 va = fix_mmap(nr_pages);
	u64 flushes;

	assert_int_equal(mm_access(fix.m, va, nr_pages * PAGE_SIZE, WORLD_WRITE, 0), 0);
	flushes = null_stats(fix.w)->nr_tlb_flushes;
	assert_int_equal(do_madvise(fix.m, va, nr_pages * PAGE_SIZE, MM_MADV_DONTNEED), 0);
	flushes = null_stats(fix.w)->nr_tlb_flushes - flushes;
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 0);
	assert_int_equal(do_munmap(fix.m, va, nr_pages * PAGE_SIZE), 0);
	return flushes;
}

/* The first page of a batch goes in when the one before is full: 9698 pages fill a gather, which is
 * flushed at once; the end of the range then finds it empty. */
TEST(a_zap_flushes_once_per_full_gather)
{
	fix_start(1, 32768, "4.0", NULL);
	assert_int_equal(flushes_of_zap(1), 1);
	assert_int_equal(flushes_of_zap(8), 1);
	assert_int_equal(flushes_of_zap(9), 1);
	assert_int_equal(flushes_of_zap(9697), 1);
	assert_int_equal(flushes_of_zap(9698), 1);
	assert_int_equal(flushes_of_zap(9699), 2);
	assert_int_equal(flushes_of_zap(2 * 9698 + 1), 3);
	fix_stop();
}

/* Without a frame for the next batch every 8 pages are flushed and freed. */
TEST(a_zap_without_frames_goes_in_small_steps)
{
	u64 va, flushes;

	fix_start(1, 2048, "4.0", NULL);
	va = fix_mmap(64);
	assert_int_equal(mm_access(fix.m, va, 64 * PAGE_SIZE, WORLD_WRITE, 0), 0);
	flushes = null_stats(fix.w)->nr_tlb_flushes;
	fix.w->fail_every[WORLD_FAIL_PAGE_ALLOC] = 1;
	assert_int_equal(do_madvise(fix.m, va, 64 * PAGE_SIZE, MM_MADV_DONTNEED), 0);
	fix.w->fail_every[WORLD_FAIL_PAGE_ALLOC] = 0;
	assert_int_equal(null_stats(fix.w)->nr_tlb_flushes - flushes, 8);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 0);
	fix_audit();
	fix_stop();
}

/* The gather is full when a leaf table ends, and the next one goes on. */
TEST(a_gather_may_fill_up_at_the_end_of_a_table)
{
	u64 va, leaf, flushes;

	fix_start(1, 4096, "4.0", NULL);
	va = fix_mmap(1024);
	leaf = ALIGN(va + 8 * PAGE_SIZE, PMD_SIZE);
	assert_int_equal(mm_access(fix.m, leaf - 8 * PAGE_SIZE, 16 * PAGE_SIZE, WORLD_WRITE, 0), 0);
	flushes = null_stats(fix.w)->nr_tlb_flushes;
	fix.w->fail_every[WORLD_FAIL_PAGE_ALLOC] = 1;
	assert_int_equal(do_madvise(fix.m, va, 1024 * PAGE_SIZE, MM_MADV_DONTNEED), 0);
	fix.w->fail_every[WORLD_FAIL_PAGE_ALLOC] = 0;
	assert_int_equal(null_stats(fix.w)->nr_tlb_flushes - flushes, 2);
	fix_audit();
	fix_stop();
}

TEST(a_zap_frees_every_frame)
{
	unsigned long free;
	u64 va;

	fix_start(1, 8192, "4.0", NULL);
	va = fix_mmap(3000);
	fix_write(va, 1);
	fix_write(va + 2999 * PAGE_SIZE, 1); /* all tables but perhaps those in the middle */
	assert_int_equal(mm_access(fix.m, va, 3000 * PAGE_SIZE, WORLD_WRITE, 0), 0);
	assert_int_equal(do_madvise(fix.m, va, 3000 * PAGE_SIZE, MM_MADV_DONTNEED), 0);
	drain_all_pages(fix.m);
	free = nr_free_pages(fix.m);
	for (u32 i = 0; i < 3; i++) {
		assert_int_equal(mm_access(fix.m, va, 3000 * PAGE_SIZE, WORLD_WRITE, 0), 0);
		assert_int_equal(do_madvise(fix.m, va, 3000 * PAGE_SIZE, MM_MADV_DONTNEED), 0);
		drain_all_pages(fix.m);
		assert_int_equal(nr_free_pages(fix.m), free);
	}
	assert_int_equal(fix_event(PGFAULT), 3002 - 2 + 3 * 3000);
	fix_stop();
}

/* ---- threads ---- */

/* Two threads on two CPUs share memory; the zap by one flushes the other's TLB by an IPI. */
TEST(threads_share_pages_and_flushes)
{
	struct task *a, *b;
	u64 va, ipis;

	fix_start(2, 2048, "6.18", NULL);
	a = fix.t;
	va = fix_mmap(4);
	fix_write(va, 11);
	b = fix_task("b", a);
	null_set_cpu(fix.w, 1);
	fix_become(b);
	assert_int_equal(fix_read(va), 11);
	fix_write(va + PAGE_SIZE, 12);
	ipis = null_stats(fix.w)->nr_ipis;
	assert_int_equal(do_madvise(fix.m, va, PAGE_SIZE, MM_MADV_DONTNEED), 0);
	assert_int_equal(null_stats(fix.w)->nr_ipis - ipis, 1);
	assert_int_equal(fix_read(va), 0);
	fix_end(b);
	task_put(b);
	null_set_cpu(fix.w, 0);
	fix_become(a);
	assert_int_equal(fix_read(va + PAGE_SIZE), 12); /* the address space has outlived it */
	fix_stop();
}

/* ---- swap-in, with pages swapped out by hand ---- */

TEST(contents_come_back_from_swap)
{
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	fix_swapon();
	va = fix_mmap(16);
	for (u32 i = 0; i < 16; i++)
		fix_write(va + i * PAGE_SIZE, 50 + i);
	for (u32 i = 0; i < 16; i++)
		fix_swap_out(va + i * PAGE_SIZE, true);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 0);
	assert_int_equal(fix_rss(fix.t, MM_SWAPENTS), 16);
	fix_audit();
	swapfile_audit(fix.m);
	for (u32 i = 0; i < 16; i++)
		assert_int_equal(fix_read(va + i * PAGE_SIZE), 50 + i);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 16);
	assert_int_equal(fix_rss(fix.t, MM_SWAPENTS), 0);
	/* Readahead brings neighbours along: fewer major faults than pages, but every page was read. */
	assert_true(fix_event(PGMAJFAULT) < 16);
	assert_int_equal(fix_event(PSWPIN), 16);
	assert_int_equal(fix.t->maj_flt, fix_event(PGMAJFAULT));
	fix_audit();
	swapfile_audit(fix.m);
	fix_stop();
}

/* Still in the cache: no reading, a minor fault. */
TEST(a_fault_finds_the_page_in_the_swap_cache)
{
	struct page *page;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	fix_swapon();
	va = fix_mmap(1);
	fix_write(va, 9);
	page = fix_page(fix.t, va);
	fix_swap_out(va, false);
	assert_true(page_test(page, PG_swapcache));
	assert_int_equal(fix_read(va), 9);
	assert_ptr_equal(fix_page(fix.t, va), page);
	assert_int_equal(fix_event(PGMAJFAULT), 0);
	assert_int_equal(fix_event(PSWPIN), 0);
	assert_true(page_test(page, PG_swapcache)); /* a read leaves the copy good */
	fix_write(va, 10);                          /* a write fault gives the slot up */
	assert_false(page_test(page, PG_swapcache));
	swapfile_audit(fix.m);
	fix_stop();
}

/*
 * A page that a read brought back: with the seed's rule its entry is dirty, or reclaim would take it
 * for a lazily freed one as soon as its slot is gone; with the later rules it is clean.
 */
TEST(read_back_pages_are_dirty_only_under_the_seeds_rule)
{
	static const char *const preset[] = {"4.0", "6.18"};

	for (u32 i = 0; i < 2; i++) {
		u64 va;

		fix_start(1, 2048, preset[i], NULL);
		fix_swapon();
		va = fix_mmap(1);
		fix_write(va, 9);
		fix_swap_out(va, true);
		assert_int_equal(fix_read(va), 9);
		assert_int_equal(pte_dirty(fix_pte(fix.t, va)),
		                 lazyfree_rule(fix.m) == LAZYFREE_CLEAN_PTES);
		assert_int_equal(pte_dirty(fix_pte(fix.t, va)), i == 0);
		fix_stop();
	}
}

TEST(zap_frees_swap_slots_and_cached_pages)
{
	long free;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	fix_swapon();
	free = get_nr_swap_pages(fix.m);
	va = fix_mmap(4);
	for (u32 i = 0; i < 4; i++)
		fix_write(va + i * PAGE_SIZE, i);
	fix_swap_out(va, true);
	fix_swap_out(va + PAGE_SIZE, false);
	fix_swap_out(va + 2 * PAGE_SIZE, false);
	assert_int_equal(fix_read(va + 2 * PAGE_SIZE), 2); /* mapped, and in the cache */
	assert_int_equal(get_nr_swap_pages(fix.m), free - 3);
	assert_int_equal(do_madvise(fix.m, va, 4 * PAGE_SIZE, MM_MADV_DONTNEED), 0);
	assert_int_equal(get_nr_swap_pages(fix.m), free);
	assert_int_equal(fix_rss(fix.t, MM_SWAPENTS), 0);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(fix_read(va + i * PAGE_SIZE), 0);
	swapfile_audit(fix.m);
	fix_stop();
}

TEST(a_read_error_kills)
{
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	fix_swapon();
	va = fix_mmap(1);
	fix_write(va, 9);
	fix_swap_out(va, true);
	null_fail_io(fix.w, 1);
	assert_int_equal(mm_access(fix.m, va, 1, WORLD_READ, 0), -EINTR);
	assert_true(task_killed(fix.t));
	assert_int_equal(fix_rss(fix.t, MM_SWAPENTS), 1);
	fix_audit();
	fix_stop();
}

/*
 * A fault that must wait for a page drops mmap_sem meanwhile, is tried again, and still counts once:
 * another thread finds the page locked by the read that the first one started.
 */
TEST(waiting_for_a_page_drops_the_lock_of_the_address_space)
{
	struct page *page;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	fix_swapon();
	va = fix_mmap(1);
	fix_write(va, 9);
	fix_swap_out(va, true);
	null_defer_io(fix.w, true);
	page = read_swap_cache_async(fix.m, pte_to_swp_entry(fix_pte(fix.t, va)),
	                             GFP_HIGHUSER_MOVABLE, find_vma(fix.t->mm, va), va);
	assert_true(page_test(page, PG_locked));
	assert_int_equal(fix_read(va), 9); /* the wait completes the I/O */
	assert_int_equal(fix_event(PGFAULT), 2);
	assert_int_equal(fix_event(PGMAJFAULT), 0); /* the read was somebody else's */
	assert_int_equal(world_self->ledger->lock[LOCK_MMAP].contentions, 0);
	put_page(fix.m, page);
	fix_stop();
}

/* RAM disks of today: past the cache, one page at a time, the slot free afterwards. */
static void ram_disk_setup(struct knobs *k)
{
	(void)k;
	fix.hw->disk[0].kind = HW_DISK_RAM;
}

TEST(synchronous_swap_bypasses_the_cache)
{
	long free;
	u64 va;

	fix_start(1, 2048, "6.18", ram_disk_setup);
	fix_swapon();
	free = get_nr_swap_pages(fix.m);
	va = fix_mmap(8);
	for (u32 i = 0; i < 8; i++) {
		fix_write(va + i * PAGE_SIZE, 60 + i);
		fix_swap_out(va + i * PAGE_SIZE, true);
	}
	for (u32 i = 0; i < 8; i++) {
		assert_int_equal(fix_read(va + i * PAGE_SIZE), 60 + i);
		assert_false(page_test(fix_page(fix.t, va + i * PAGE_SIZE), PG_swapcache));
		assert_int_equal(get_nr_swap_pages(fix.m), free - 7 + i);
	}
	assert_int_equal(fix_event(PGMAJFAULT), 8);
	assert_int_equal(fix_event(PSWPIN), 8);
	fix_audit();
	swapfile_audit(fix.m);
	fix_stop();
}

TEST_MAIN("memory")
