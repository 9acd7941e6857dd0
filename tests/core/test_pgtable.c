/*
 * Page tables: how many there are, when they go, what walking skips; and the frames of slabs.
 *
 * Every count below follows from the format: a table has 512 entries, so a leaf maps 2 MiB, the next
 * levels 1 GiB and 512 GiB, and an address space has one root.
 */
#include "tests/core/mm_fixture.h"

static u64 nr_tables(void)
{
	return fix.t->mm->nr_tables;
}

static long nr_pagetable(void)
{
	return stat_exact(fix.m, fix.m->node[0].zone[ZONE_DMA].node_stat, NR_PAGETABLE);
}

TEST(first_touch_makes_three_tables_and_munmap_takes_them_back)
{
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	va = fix_mmap(1);
	assert_int_equal(nr_tables(), 1); /* the root */
	fix_write(va, 1);
	assert_int_equal(nr_tables(), 4);
	assert_int_equal(nr_pagetable(), 4);
	assert_int_equal(do_munmap(fix.m, va, PAGE_SIZE), 0);
	assert_int_equal(nr_tables(), 1);
	assert_int_equal(nr_pagetable(), 1);
	fix_stop();
}

/* 4 MiB + 2 pages at the top: 2 whole leaves and two that are cut, in one table each above. */
TEST(a_leaf_goes_when_no_neighbour_can_use_it)
{
	u64 va;

	fix_start(1, 4096, "4.0", NULL);
	va = fix_mmap(3 * 512);
	va = ALIGN(va, PMD_SIZE); /* two whole leaves lie within */
	for (u32 i = 0; i < 2 * 512; i += 64)
		fix_write(va + i * PAGE_SIZE, 1);
	assert_int_equal(nr_tables(), 1 + 2 + 2);
	/* Half of the second leaf: the rest is a neighbour. */
	assert_int_equal(do_munmap(fix.m, va + 512 * PAGE_SIZE, 256 * PAGE_SIZE), 0);
	assert_int_equal(nr_tables(), 1 + 2 + 2);
	/* The first half too, and what is below: the table's range is free of VMAs up to the hole. */
	assert_int_equal(do_munmap(fix.m, va, 512 * PAGE_SIZE), 0);
	assert_int_equal(nr_tables(), 1 + 2 + 1);
	fix_audit();
	fix_stop();
}

TEST(dontneed_keeps_tables)
{
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	va = fix_mmap(8);
	fix_write(va, 1);
	assert_int_equal(do_madvise(fix.m, va, 8 * PAGE_SIZE, MM_MADV_DONTNEED), 0);
	assert_int_equal(nr_tables(), 4);
	fix_stop();
}

/* Leaves 1, 1000 and 300,000 of a large mapping, found in order, the gaps skipped by level. */
TEST(next_leaf_finds_the_touched_ones)
{
	static const u64 leaf[] = {1, 1000, 300000};
	u64 va, at, end;

	fix_start(1, 2048, "4.0", NULL);
	assert_int_equal(do_mmap(fix.m, 2UL << 40, MM_PROT_READ | MM_PROT_WRITE, 0, &va), 0);
	end = va + (2UL << 40);
	va = ALIGN(va, PMD_SIZE);
	for (u32 i = 0; i < 3; i++)
		fix_write(va + leaf[i] * PMD_SIZE + 5 * PAGE_SIZE, 1);
	at = va;
	for (u32 i = 0; i < 3; i++) {
		assert_true(pt_next_leaf(fix.m, fix.t->mm, &at, end));
		assert_int_equal(at, va + leaf[i] * PMD_SIZE);
		at += PMD_SIZE;
	}
	assert_int_equal(pt_next_leaf(fix.m, fix.t->mm, &at, end), 0);
	fix_audit();
	fix_stop();
}

/*
 * No frame for a table: reclaim and the OOM killer have been asked by the allocator already, so the
 * fault asks for a victim, which here can only be the task itself. Nothing is mapped, nothing is left.
 */
TEST(a_fault_without_tables_ends_in_the_oom_killer)
{
	u64 va;

	for (u32 nth = 1; nth <= 3; nth++) {
		fix_start(1, 2048, "4.0", NULL);
		va = fix_mmap(1);
		fix.w->fail_count[WORLD_FAIL_TABLE] = 0;
		fix.w->fail_every[WORLD_FAIL_TABLE] = nth; /* the nth table of three */
		assert_int_equal(mm_access(fix.m, va, 1, WORLD_WRITE, 0), -EINTR);
		fix.w->fail_every[WORLD_FAIL_TABLE] = 0;
		assert_true(task_killed(fix.t));
		assert_true(pte_none(fix_pte(fix.t, va)));
		assert_int_equal(nr_tables(), nth); /* the root and those that did not fail */
		fix_audit();
		fix_stop();
	}
}

/* 22 VMAs of 184 bytes fit a frame; one frame may stay empty. */
TEST(slabs_take_and_return_frames)
{
	struct kmem_cache *c;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	c = &fix.m->slab[SLAB_VMA];
	assert_int_equal(c->objs_per_frame, 22);
	assert_int_equal(c->nr_frames, 0);
	va = fix_mmap(200);
	assert_int_equal(c->nr_frames, 1);
	for (u32 i = 1; i < 100; i++)
		assert_int_equal(do_munmap(fix.m, va + (2 * i - 1) * PAGE_SIZE, PAGE_SIZE), 0);
	assert_int_equal(fix.t->mm->map_count, 100);
	assert_int_equal(c->nr_frames, 5); /* 100 / 22, rounded up */
	assert_int_equal(do_munmap(fix.m, va, 200 * PAGE_SIZE), 0);
	assert_int_equal(c->nr_objs, 0);
	assert_int_equal(c->nr_frames, 1);
	fix_stop();
}

TEST_MAIN("pgtable")
