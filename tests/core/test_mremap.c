/*
 * mremap(): what was written is found where it went, and counted.
 *
 * Method: a user task that the test plays on the null world, with contents; page by page what a mapping
 * should hold is known. Each case is tried with all three ways of moving tables.
 */
#include "tests/core/mm_fixture.h"

#define P(n) ((u64)(n)*PAGE_SIZE)
#define RW (MM_PROT_READ | MM_PROT_WRITE)

static u32 move; /* knob of the next fix_start() */

static void setup(struct knobs *k)
{
	k->mremap_move = move;
	k->mremap_flush = move == MREMAP_MOVE_TABLES ? MREMAP_FLUSH_TABLE : MREMAP_FLUSH_END;
}

static void fill(u64 va, u32 nr, u32 from)
{
	for (u32 i = 0; i < nr; i++)
		fix_write(va + P(i), from + i);
}

static void holds(u64 va, u32 nr, u32 from)
{
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(fix_read(va + P(i)), from + i);
}

static struct vm_area_struct *vma_at(u64 va)
{
	struct vm_area_struct *vma = find_vma(fix.t->mm, va);

	return vma && vma->vm_start <= va ? vma : NULL;
}

static int remap(u64 *va, u32 old, u32 new, int flags, u64 to)
{
	u64 at = to;
	int rc = do_mremap(fix.m, *va, P(old), P(new), flags, &at);

	if (!rc)
		*va = at;
	return rc;
}

/* Runs @test once for each way to move. */
static void each_way(void (*test)(void))
{
	for (move = 0; move <= MREMAP_MOVE_TABLES; move++) {
		fix_start(2, 8192, "6.18", setup);
		fix_swapon();
		test();
		fix_audit();
		fix_stop();
	}
}

static void grows_in_place(void)
{
	u64 va = fix_mmap(20);
	u64 old = va;

	assert_int_equal(do_munmap(fix.m, va + P(8), P(6)), 0);
	fill(va, 8, 100);
	/* There is room for 6, not for 7. */
	assert_int_equal(remap(&va, 8, 15, 0, 0), -ENOMEM);
	assert_int_equal(remap(&va, 8, 10, 0, 0), 0);
	assert_int_equal(fix.t->mm->map_count, 2);
	assert_int_equal(remap(&va, 10, 14, 0, 0), 0);
	assert_int_equal(va, old);
	holds(va, 8, 100);
	assert_int_equal(fix_read(va + P(8)), 0);
	/* It has met what is above, which has no anon_vma and stays by itself. */
	assert_int_equal(fix.t->mm->map_count, 2);
	assert_int_equal(fix.t->mm->total_vm, 20);
}

TEST(a_mapping_grows_in_place_where_there_is_room)
{
	each_way(grows_in_place);
}

static void shrinks(void)
{
	u64 va = fix_mmap(1030);

	fill(va, 1030, 1);
	assert_int_equal(remap(&va, 1030, 5, 0, 0), 0);
	holds(va, 5, 1);
	assert_null(vma_at(va + P(5)));
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 5);
	assert_int_equal(vm_committed_exact(fix.m), 5);
}

TEST(a_mapping_shrinks)
{
	each_way(shrinks);
}

/* 3 MiB that begin in the middle of 2 MiB, some of it in swap, go to an address that lies alike. */
static void moves(void)
{
	u32 nr = 768;
	u64 base = ALIGN(fix_mmap(4096), PMD_SIZE);
	u64 va = base + P(256);
	u64 old = va;

	fill(va, nr, 1000);
	fix_swap_out(va + P(3), true);
	fix_swap_out(va + P(700), true);
	assert_int_equal(remap(&va, nr, nr, MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED,
	                       base + P(256) + 2 * PMD_SIZE),
	                 0);
	assert_int_equal(va, old + 2 * PMD_SIZE);
	assert_null(vma_at(old));
	assert_int_equal(mm_access(fix.m, old, 1, WORLD_READ, 0), -EFAULT);
	assert_int_equal(fix_rss(fix.t, MM_SWAPENTS), 2);
	fix_audit();
	holds(va, nr, 1000);
	assert_int_equal(fix.t->mm->total_vm, 4096 - nr);
}

TEST(what_was_written_moves_along_in_memory_and_in_swap)
{
	each_way(moves);
}

static void moves_by_pages(void)
{
	u64 va = fix_mmap(600);
	u64 to = va - P(3000);

	fill(va, 600, 7);
	assert_int_equal(remap(&va, 600, 600, MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED, to), 0);
	holds(va, 600, 7);
	/* Reclaim finds it there. */
	fix_swap_out(va + P(20), true);
	holds(va, 600, 7);
}

TEST(a_move_that_lies_otherwise_goes_entry_by_entry)
{
	each_way(moves_by_pages);
}

static void from_the_middle(void)
{
	u64 va = fix_mmap(30);
	u64 mid = va + P(10);

	fill(va, 30, 50);
	assert_int_equal(remap(&mid, 10, 15, MM_MREMAP_MAYMOVE, 0), 0);
	holds(va, 10, 50);
	holds(mid, 10, 60);
	assert_int_equal(fix_read(mid + P(10)), 0);
	holds(va + P(20), 10, 70);
	assert_null(vma_at(va + P(10)));
	assert_int_equal(fix.t->mm->map_count, 3);
	assert_int_equal(vm_committed_exact(fix.m), 35);
	/* Both pieces are accounted, and so is what moved. */
	assert_true(vma_at(va)->vm_flags & VM_ACCOUNT);
	assert_true(vma_at(va + P(20))->vm_flags & VM_ACCOUNT);
	assert_true(vma_at(mid)->vm_flags & VM_ACCOUNT);
	/* Back: the three are one again. */
	assert_int_equal(remap(&mid, 10, 10, MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED, va + P(10)), 0);
	holds(va, 30, 50);
}

TEST(a_part_moves_out_of_the_middle_and_back)
{
	each_way(from_the_middle);
}

static void over_another(void)
{
	u64 va = fix_mmap(8);
	u64 other = va - P(100);

	fill(va, 8, 10);
	assert_int_equal(remap(&va, 8, 8, MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED, other), 0);
	other = fix_mmap(8);
	fill(other, 8, 90);
	assert_int_equal(remap(&va, 8, 4, MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED, other + P(2)), 0);
	holds(va, 4, 10);
	holds(other, 2, 90);
	holds(other + P(6), 2, 96);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 8);
	assert_int_equal(vm_committed_exact(fix.m), 8);
}

TEST(fixed_moves_over_what_is_there_and_cuts_off_what_does_not_fit)
{
	each_way(over_another);
}

static void after_fork(void)
{
	u64 va = fix_mmap(600);
	u64 old = va;
	struct task *parent = fix.t;
	struct task *child;

	fill(va, 600, 30);
	assert_int_equal(do_fork(fix.m, "child", fix_body, NULL, &child), 0);
	assert_int_equal(
		remap(&va, 600, 600, MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED, old - 2 * PMD_SIZE), 0);
	fix_write(va, 1); /* a copy of its own */
	fix_swap_out(va + P(1), true);
	fix_become(child);
	holds(old, 600, 30);
	fix_end(child);
	task_put(child);
	fix_become(parent);
	holds(va + P(1), 599, 31);
}

TEST(pages_that_a_child_shares_are_found_at_both_addresses)
{
	each_way(after_fork);
}

static void locked(void)
{
	u64 va = fix_mmap(10);

	assert_int_equal(do_mlock(fix.m, va, P(10)), 0);
	assert_int_equal(remap(&va, 10, 20, MM_MREMAP_MAYMOVE, 0), 0);
	/* What it has grown by is filled. */
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 20);
	assert_int_equal(fix.t->mm->locked_vm, 20);
	task_set_memlock(fix.t, P(25), false);
	assert_int_equal(remap(&va, 20, 26, MM_MREMAP_MAYMOVE, 0), -EAGAIN);
	assert_int_equal(remap(&va, 20, 25, MM_MREMAP_MAYMOVE, 0), 0);
	assert_int_equal(remap(&va, 25, 3, 0, 0), 0);
	assert_int_equal(fix.t->mm->locked_vm, 3);
}

TEST(locked_memory_stays_locked_and_within_its_limit)
{
	each_way(locked);
}

static void out_of_frames(void)
{
	u64 va = fix_mmap(1024);
	u64 old = va;

	fill(va, 1024, 5);
	fix.w->fail_every[WORLD_FAIL_TABLE] = 2;
	/* Every second table is refused; it comes back in one piece, at the old place or the new one. */
	for (u32 i = 0; i < 4; i++) {
		u64 to = old - (i + 1) * 3 * PMD_SIZE - P(7 * i);
		int rc = remap(&va, 1024, 1024, MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED, to);

		assert_true(rc == 0 || rc == -ENOMEM);
		fix.w->fail_every[WORLD_FAIL_TABLE] = 0;
		holds(va, 1024, 5);
		fix_audit();
		overcommit_audit(fix.m);
		fix.w->fail_every[WORLD_FAIL_TABLE] = 2;
	}
	fix.w->fail_every[WORLD_FAIL_TABLE] = 0;
	assert_int_equal(vm_committed_exact(fix.m), 1024);
}

TEST(without_frames_for_tables_everything_is_where_it_was)
{
	each_way(out_of_frames);
}

TEST_MAIN("mremap")
