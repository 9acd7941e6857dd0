/*
 * madvise(): what each column of knobs does with a page, row by row, and the threshold of mail 000.
 */
#include "tests/core/mm_fixture.h"

/* The three columns of 7.6. */
static void seed_tree(struct knobs *k)
{
	k->free_swap = FREE_SWAP_KEEP;
	k->free_list = FREE_LIST_STAY;
	k->free_slot = FREE_SLOT_NONE;
}

static void linux_4_5(struct knobs *k)
{
	k->free_swap = FREE_SWAP_DROP;
	k->free_list = FREE_LIST_INACTIVE_ANON;
	k->free_slot = FREE_SLOT_FIRST;
}

static void linux_4_12(struct knobs *k)
{
	k->free_swap = FREE_SWAP_DROP;
	k->free_list = FREE_LIST_INACTIVE_FILE;
	k->free_slot = FREE_SLOT_NONE;
}

static void (*const era[])(struct knobs *k) = {seed_tree, linux_4_5, linux_4_12};
enum { SEED, L4_5, L4_12, NR_ERAS };

static int madv(u64 va, u64 nr_pages, enum mm_advice advice)
{
	return do_madvise(fix.m, va, nr_pages * PAGE_SIZE, advice);
}

TEST(bad_arguments_are_refused)
{
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	va = fix_mmap(4);
	assert_int_equal(do_madvise(fix.m, va + 1, PAGE_SIZE, MM_MADV_DONTNEED), -EINVAL);
	assert_int_equal(do_madvise(fix.m, va, TASK_SIZE, MM_MADV_DONTNEED), -EINVAL);
	assert_int_equal(do_madvise(fix.m, va, UINT64_MAX, MM_MADV_DONTNEED), -EINVAL);
	assert_int_equal(do_madvise(fix.m, va, PAGE_SIZE, (enum mm_advice)17), -EINVAL);
	assert_int_equal(do_madvise(fix.m, va, 0, MM_MADV_DONTNEED), 0);
	assert_int_equal(madv(va, 4, MM_MADV_NORMAL), 0);
	assert_int_equal(madv(va, 5, MM_MADV_DONTNEED), -ENOMEM);
	assert_int_equal(madv(va - PAGE_SIZE, 1, MM_MADV_DONTNEED), -ENOMEM);
	fix_stop();
}

/* A hole is an error, but what lies around it has been advised. */
TEST(holes_do_not_stop_the_advice)
{
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	va = fix_mmap(3);
	fix_write(va, 1);
	fix_write(va + 2 * PAGE_SIZE, 2);
	assert_int_equal(do_munmap(fix.m, va + PAGE_SIZE, PAGE_SIZE), 0);
	assert_int_equal(madv(va, 3, MM_MADV_DONTNEED), -ENOMEM);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 0);
	fix_stop();
}

TEST(locked_memory_is_not_given_back)
{
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	fix_swapon();
	va = fix_mmap(1);
	fix_write(va, 1);
	find_vma(fix.t->mm, va)->vm_flags |= VM_LOCKED;
	assert_int_equal(madv(va, 1, MM_MADV_DONTNEED), -EINVAL);
	assert_int_equal(madv(va, 1, MM_MADV_FREE), -EINVAL);
	assert_int_equal(fix_read(va), 1);
	find_vma(fix.t->mm, va)->vm_flags &= ~VM_LOCKED;
	fix_stop();
}

/* Row "present pte": old and clean, still there, flushed once for the range. */
TEST(free_makes_entries_old_and_clean)
{
	for (u32 e = 0; e < NR_ERAS; e++) {
		u64 va, flushes;

		fix_start(1, 2048, "4.0", era[e]);
		fix_swapon();
		va = fix_mmap(40);
		assert_int_equal(mm_access(fix.m, va, 40 * PAGE_SIZE, WORLD_WRITE, 0), 0);
		flushes = null_stats(fix.w)->nr_tlb_flushes;
		assert_int_equal(madv(va, 40, MM_MADV_FREE), 0);
		assert_int_equal(null_stats(fix.w)->nr_tlb_flushes - flushes, 1);
		for (u32 i = 0; i < 40; i++) {
			pte_t pte = fix_pte(fix.t, va + i * PAGE_SIZE);

			assert_true(pte_present(pte) && pte_write(pte));
			assert_false(pte_dirty(pte) || pte_young(pte));
		}
		assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 40);
		/* Clean already: nothing to flush. */
		flushes = null_stats(fix.w)->nr_tlb_flushes;
		assert_int_equal(madv(va, 40, MM_MADV_FREE), 0);
		assert_int_equal(null_stats(fix.w)->nr_tlb_flushes, flushes);
		/* A write is no fault, only a dirty bit. */
		fix_write(va, 7);
		assert_int_equal(fix_event(PGFAULT), 40);
		assert_int_equal(fix_read(va), 7);
		fix_audit();
		fix_stop();
	}
}

/* Row "LRU", from the active list: stays; inactive anonymous; inactive file. */
TEST(free_moves_pages_as_the_era_does)
{
	static const enum lru_list expected[NR_ERAS] = {LRU_ACTIVE_ANON, LRU_INACTIVE_ANON,
	                                                LRU_INACTIVE_FILE};

	for (u32 e = 0; e < NR_ERAS; e++) {
		u64 va;

		fix_start(1, 2048, "4.0", era[e]);
		fix_swapon();
		va = fix_mmap(3);
		assert_int_equal(mm_access(fix.m, va, 3 * PAGE_SIZE, WORLD_WRITE, 0), 0);
		lru_add_drain(fix.m);
		assert_int_equal(page_lru(fix_page(fix.t, va)), LRU_ACTIVE_ANON);
		assert_int_equal(madv(va, 3, MM_MADV_FREE), 0);
		lru_add_drain(fix.m);
		assert_int_equal(page_lru(fix_page(fix.t, va)), expected[e]);
		assert_int_equal(fix_event(PGLAZYFREE), e == L4_12 ? 3 : 0);
		assert_int_equal(fix_event(PGDEACTIVATE), e == L4_5 ? 3 : 0);
		lru_audit(fix.m);
		fix_stop();
	}
}

/* Row "swap entries in range". */
TEST(free_keeps_or_frees_swap_entries)
{
	for (u32 e = 0; e < NR_ERAS; e++) {
		bool keeps = e == SEED;
		long free;
		u64 va;

		fix_start(1, 2048, "4.0", era[e]);
		fix_swapon();
		free = get_nr_swap_pages(fix.m);
		va = fix_mmap(2);
		fix_write(va, 3);
		fix_write(va + PAGE_SIZE, 4);
		fix_swap_out(va, true);
		fix_swap_out(va + PAGE_SIZE, false);
		assert_int_equal(madv(va, 2, MM_MADV_FREE), 0);
		assert_int_equal(get_nr_swap_pages(fix.m), keeps ? free - 2 : free);
		assert_int_equal(fix_rss(fix.t, MM_SWAPENTS), keeps ? 2 : 0);
		fix_audit();
		swapfile_audit(fix.m);
		/* The next write reads back what nobody wants, or is a first touch. */
		fix_write(va, 5);
		assert_int_equal(fix_event(PSWPIN), keeps ? 1 : 0);
		assert_int_equal(fix_event(PGMAJFAULT), keeps ? 1 : 0);
		fix_stop();
	}
}

/* Row "page in swap cache": the slot is freed if nobody else needs it and no write is under way. */
TEST(free_takes_the_slot_of_cached_pages)
{
	for (u32 e = 0; e < NR_ERAS; e++) {
		struct page *page;
		long free;
		u64 va;

		fix_start(1, 2048, "4.0", era[e]);
		fix_swapon();
		free = get_nr_swap_pages(fix.m);
		va = fix_mmap(1);
		fix_write(va, 3);
		fix_swap_out(va, false);
		assert_int_equal(fix_read(va), 3);
		page = fix_page(fix.t, va);
		assert_true(page_test(page, PG_swapcache));

		lock_page(fix.m, page); /* somebody is busy with it: left as it is */
		assert_int_equal(madv(va, 1, MM_MADV_FREE), 0);
		assert_true(page_test(page, PG_swapcache) && pte_young(fix_pte(fix.t, va)));
		unlock_page(fix.m, page);

		page_set(page, PG_writeback); /* its write has not ended */
		assert_int_equal(madv(va, 1, MM_MADV_FREE), 0);
		assert_true(page_test(page, PG_swapcache) && pte_young(fix_pte(fix.t, va)));
		page_clear(page, PG_writeback);

		assert_int_equal(madv(va, 1, MM_MADV_FREE), 0);
		assert_false(page_test(page, PG_swapcache));
		assert_false(page_test(page, PG_dirty));
		assert_int_equal(get_nr_swap_pages(fix.m), free);
		assert_false(pte_young(fix_pte(fix.t, va)) || pte_dirty(fix_pte(fix.t, va)));
		fix_audit();
		swapfile_audit(fix.m);
		fix_stop();
	}
}

/* 4.5 on: a dirty page that others map too is nobody's to give away. */
TEST(free_leaves_shared_dirty_pages_alone_since_4_5)
{
	for (u32 e = 0; e < NR_ERAS; e++) {
		struct task *parent, *child = NULL;
		struct page *page;
		u64 va;

		fix_start(1, 2048, "4.0", era[e]);
		fix_swapon();
		parent = fix.t;
		va = fix_mmap(1);
		fix_write(va, 3);
		assert_int_equal(do_fork(fix.m, "child", fix_body, NULL, &child), 0);
		page = fix_page(parent, va);
		page_set(page, PG_dirty);
		assert_int_equal(madv(va, 1, MM_MADV_FREE), 0);
		assert_int_equal(pte_dirty(fix_pte(parent, va)), e != SEED);
		assert_true(pte_dirty(fix_pte(child, va)));
		fix_end(child);
		fix_become(parent);
		task_put(child);
		fix_stop();
	}
}

/* Row "no swap": at once, except from 4.12 on. */
TEST(free_without_swap)
{
	for (u32 e = 0; e < NR_ERAS; e++) {
		u64 va;

		fix_start(1, 2048, "4.0", era[e]);
		va = fix_mmap(4);
		assert_int_equal(mm_access(fix.m, va, 4 * PAGE_SIZE, WORLD_WRITE, 0), 0);
		assert_int_equal(madv(va, 4, MM_MADV_FREE), 0);
		assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), e == L4_12 ? 4 : 0);
		fix_stop();
	}
}

static void as_dontneed(struct knobs *k)
{
	k->madvise_free = MADV_ZAP;
}

TEST(free_as_dontneed)
{
	u64 va;

	fix_start(1, 2048, "4.0", as_dontneed);
	fix_swapon();
	va = fix_mmap(4);
	fix_write(va, 1);
	assert_int_equal(madv(va, 4, MM_MADV_FREE), 0);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 0);
	assert_int_equal(fix_read(va), 0);
	fix_stop();
}

static void throttle(struct knobs *k)
{
	k->madvise_free = MADV_THROTTLE;
	k->min_free_kbytes = 1024;
}

/*
 * Mail 000: lazily only while more than 1.5 times min_free_kbytes is free, here 256 pages and a half
 * more: 384. Per-CPU lists and differences are folded first, so that the number is exact.
 */
TEST(throttle_is_lazy_above_384_free_pages)
{
	for (int above = 0; above < 2; above++) {
		u64 va;

		fix_start(1, 4096, "4.0", throttle);
		fix_swapon();
		assert_int_equal(fix.m->min_free_kbytes, 1024);
		va = fix_mmap(2);
		fix_write(va, 1);
		lru_add_drain(fix.m);
		/* By hand, and past the watermarks, so that reclaim does not take part. */
		fix.t->flags |= PF_MEMALLOC;
		do {
			assert_non_null(alloc_pages(fix.m, GFP_ATOMIC, 0));
			drain_all_pages(fix.m);
			refresh_cpu_vm_stats(fix.m);
		} while (nr_free_pages(fix.m) > 384 + (u64)above);
		fix.t->flags &= ~PF_MEMALLOC;
		assert_int_equal(nr_free_pages(fix.m), 384 + above);
		assert_int_equal(madv(va, 1, MM_MADV_FREE), 0);
		assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), above);
		/* The frames taken by hand are not given back: the machine ends here. */
		fix_become(NULL);
		machine_destroy(fix.m);
		null_destroy(fix.w);
		null_hw_free(fix.hw);
		free(fix.tag);
		free(fix.disk_tag);
	}
}

TEST(willneed_reads_what_is_swapped_out)
{
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	fix_swapon();
	va = fix_mmap(600); /* more than one leaf table */
	for (u32 i = 0; i < 6; i++)
		fix_write(va + i * 100 * PAGE_SIZE, 70 + i);
	for (u32 i = 0; i < 5; i++)
		fix_swap_out(va + i * 100 * PAGE_SIZE, true);
	assert_int_equal(madv(va, 600, MM_MADV_WILLNEED), 0);
	assert_int_equal(fix_event(PSWPIN), 5);
	assert_int_equal(fix_rss(fix.t, MM_SWAPENTS), 5); /* read, not mapped */
	for (u32 i = 0; i < 6; i++)
		assert_int_equal(fix_read(va + i * 100 * PAGE_SIZE), 70 + i);
	assert_int_equal(fix_event(PGMAJFAULT), 0);
	assert_int_equal(fix_event(PSWPIN), 5);
	swapfile_audit(fix.m);
	fix_stop();
}

TEST_MAIN("madvise")
