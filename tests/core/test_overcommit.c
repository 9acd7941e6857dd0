/*
 * Overcommit: ENOMEM exactly where Linux gives it, in each mode and era.
 *
 * Method: machines of known size on the null world; limits are computed here by Linux's formulas and
 * approached page by page. The per-CPU counter makes the sum that is compared up to a batch too small:
 * machines of one CPU and few pages have a batch of 2 * CPUs or pages / 256.
 */
#include "tests/core/mm_fixture.h"

#define P(n) ((u64)(n)*PAGE_SIZE)
#define RW (MM_PROT_READ | MM_PROT_WRITE)

static u32 mode;
static u64 ratio, kbytes, admin, user;

static void setup(struct knobs *k)
{
	k->overcommit_memory = mode;
	k->overcommit_ratio = ratio;
	k->overcommit_kbytes = kbytes;
	k->admin_reserve = admin;
	k->user_reserve = user;
}

static void start(const char *preset, u32 m)
{
	mode = m;
	ratio = 50;
	kbytes = 0;
	admin = user = 4; /* a page each */
	fix_start(1, 4096, preset, setup);
}

/* How many pages, a batch apart, can be mapped in pieces of one. */
static u64 promised(u64 piece, int flags)
{
	u64 nr = 0;
	u64 va;

	while (do_mmap(fix.m, P(piece), RW, flags, &va) == 0)
		nr += piece;
	return nr;
}

static bool near_batch(u64 have, u64 want)
{
	u64 batch = fix.m->committed_batch;

	return have >= want - min(want, 2 * batch) && have <= want + 2 * batch;
}

TEST(mode_2_promises_up_to_the_limit)
{
	u64 limit;
	u64 va;

	start("6.18", OVERCOMMIT_NEVER);
	limit = fix.m->totalram_pages / 2;
	assert_int_equal(vm_commit_limit(fix.m), limit);
	assert_true(near_batch(promised(16, 0), limit));
	/* MAP_NORESERVE is no way around it; what cannot be written is. */
	assert_int_equal(do_mmap(fix.m, P(200), RW, MM_MAP_NORESERVE, &va), -ENOMEM);
	assert_int_equal(do_mmap(fix.m, P(200), MM_PROT_READ, 0, &va), 0);
	assert_int_equal(do_mprotect(fix.m, va, P(200), RW), -ENOMEM);
	fix_stop();
}

TEST(swap_and_kbytes_are_part_of_the_limit)
{
	start("6.18", OVERCOMMIT_NEVER);
	fix_swapon();
	assert_int_equal(vm_commit_limit(fix.m),
	                 fix.m->totalram_pages / 2 + fix.m->total_swap_pages);
	fix.m->knob.overcommit_kbytes = 4000;
	assert_int_equal(vm_commit_limit(fix.m), 1000 + fix.m->total_swap_pages);
	fix_stop();
}

TEST(mode_2_keeps_the_reserves)
{
	u64 limit, nr;

	start("6.18", OVERCOMMIT_NEVER);
	limit = fix.m->totalram_pages / 2;
	fix.m->admin_reserve_pages = 300;
	fix.m->user_reserve_pages = 100;
	task_set_memlock(fix.t, 0, false); /* nor root in other respects */
	nr = promised(8, 0);
	/* The process keeps total_vm / 32 from itself, here less than 100 pages. */
	assert_true(near_batch(nr, (limit - 300) * 32 / 33));
	fix_stop();

	/* To 3.9: 1/32 of the limit, and 1/32 of the process. */
	start("3.1", OVERCOMMIT_NEVER);
	task_set_memlock(fix.t, 0, false);
	limit = fix.m->totalram_pages / 2;
	assert_true(near_batch(promised(8, 0), (limit - limit / 32) * 32 / 33));
	fix_stop();
}

TEST(mode_1_promises_anything)
{
	u64 va;

	start("4.0", OVERCOMMIT_ALWAYS);
	assert_int_equal(do_mmap(fix.m, 1UL << 45, RW, 0, &va), 0);
	assert_int_equal(vm_committed_exact(fix.m), 1UL << 33);
	assert_int_equal(do_munmap(fix.m, va, 1UL << 45), 0);
	assert_int_equal(vm_committed_exact(fix.m), 0);
	fix_stop();
}

TEST(mode_0_today_refuses_only_more_than_there_is)
{
	u64 all;
	u64 va;

	start("6.18", OVERCOMMIT_GUESS);
	fix_swapon();
	all = fix.m->totalram_pages + fix.m->total_swap_pages;
	assert_int_equal(do_mmap(fix.m, P(all + 1), RW, 0, &va), -ENOMEM);
	assert_int_equal(do_mmap(fix.m, P(all + 1), RW, MM_MAP_NORESERVE, &va), 0);
	/* As often as one likes. */
	for (u32 i = 0; i < 5; i++)
		assert_int_equal(do_mmap(fix.m, P(all), RW, 0, &va), 0);
	fix_stop();
}

TEST(mode_0_of_4_0_refuses_more_than_is_free)
{
	u64 free, va;

	start("4.0", OVERCOMMIT_GUESS);
	fix_swapon();
	va = fix_mmap(1000);
	for (u32 i = 0; i < 1000; i++)
		fix_write(va + P(i), i);
	free = nr_free_pages(fix.m) + (u64)get_nr_swap_pages(fix.m) - fix.m->totalreserve_pages;
	assert_int_equal(do_mmap(fix.m, P(free), RW, 0, &va), -ENOMEM);
	/* Mapping it may take a frame for a VMA's slab or two. */
	assert_int_equal(do_mmap(fix.m, P(free - 8), RW, 0, &va), 0);
	/* Nothing of it is used: the next one may be as large. */
	assert_int_equal(do_mmap(fix.m, P(free - 8), RW, 0, &va), 0);
	/* Who is not root leaves a reserve. */
	fix.m->admin_reserve_pages = 200;
	task_set_memlock(fix.t, 0, false);
	assert_int_equal(do_mmap(fix.m, P(free - 100), RW, 0, &va), -ENOMEM);
	assert_int_equal(do_mmap(fix.m, P(free - 210), RW, 0, &va), 0);
	fix_stop();
}

TEST(what_is_refused_changes_nothing)
{
	struct task *child = NULL;
	u64 va, brk, now, at = 0;
	long before;

	start("6.18", OVERCOMMIT_NEVER);
	va = fix_mmap(fix.m->totalram_pages / 2 - 100);
	before = vm_committed_exact(fix.m);
	assert_int_equal(do_brk(fix.m, 0, &brk), 0);
	assert_int_equal(do_brk(fix.m, brk + P(300), &now), 0);
	assert_int_equal(now, brk);
	assert_int_equal(do_fork(fix.m, "child", fix_body, NULL, &child), -ENOMEM);
	assert_int_equal(do_mremap(fix.m, va, P(50), P(400), MM_MREMAP_MAYMOVE, &at), -ENOMEM);
	fix.m->knob.mremap_errors = MREMAP_ERRORS_4_0;
	assert_int_equal(do_mremap(fix.m, va, P(50), P(400), MM_MREMAP_MAYMOVE, &at), -EFAULT);
	assert_int_equal(vm_committed_exact(fix.m), before);
	overcommit_audit(fix.m);
	fix_stop();
}

TEST(reserves_without_a_value_are_three_percent_of_what_is_free)
{
	start("6.18", OVERCOMMIT_GUESS);
	fix_stop();
	admin = user = 0;
	fix_start(1, 4096, "6.18", setup);
	/* 4,096 frames less what boot took: about 500 kB, below both maxima. */
	assert_in_range(fix.m->admin_reserve_pages, 4096 * 9 / 10 / 32, 4096 / 32);
	assert_int_equal(fix.m->user_reserve_pages, fix.m->admin_reserve_pages);
	fix_stop();
}

TEST_MAIN("overcommit")
