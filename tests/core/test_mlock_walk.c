/*
 * Huge pages in locked memory (core/mlock_walk.c, mlock_page.c, gup.c), in the four forms there were.
 *
 * Aim: a huge page is mlocked, counted and unevictable as its kernel had it, munlocked in part or as a whole, and of
 * one that is partly locked, or was missed, reclaim makes what it should. Method: a task on the null world with two
 * huge pages. What 6.18 does is compared with a kernel in tests/host/test_mlock_huge.c.
 */
#include "tests/core/mm_fixture.h"

#include "core/huge_memory.h"
#include "core/mlock.h"

#define NR HPAGE_PMD_NR
#define LEN (2UL * PMD_SIZE)

static void huge(struct knobs *k)
{
	k->thp_enabled = THP_ALWAYS;
	k->mlock_drain = MLOCK_DRAIN_LOCAL;
	k->min_free_kbytes = 256;
}

/* Room for two, which are there if @filled. */
static u64 start(const char *preset, bool filled)
{
	u64 va;

	fix_start(2, 8192, preset, huge);
	fix_swapon();
	va = ALIGN(fix_mmap(4 * NR), PMD_SIZE);
	if (filled)
		assert_int_equal(mm_access(fix.m, va, LEN, WORLD_WRITE, 0), 0);
	lru_add_drain(fix.m);
	return va;
}

static void stop(void)
{
	machine_audit(fix.m);
	fix_stop();
}

static void assert_locked(long nr_mlock, long nr_unevictable)
{
	lru_add_drain(fix.m);
	assert_int_equal(item_exact(fix.m, NR_MLOCK), nr_mlock);
	assert_int_equal(item_exact(fix.m, NR_UNEVICTABLE), nr_unevictable);
	fix_audit();
}

static struct page *head_at(u64 va)
{
	pte_t *pmd;

	assert_true(pt_find_pmd(fix.m, fix.t->mm, va, &pmd) != 0 && pte_huge(*pmd));
	return pfn_to_page(fix.m, pte_pfn(*pmd));
}

/* ---- new ---- */

TEST(of_3_1_only_those_that_a_fault_puts_there_are_mlocked)
{
	u64 va = start("3.1", true);

	assert_int_equal(do_mlock(fix.m, va, LEN), 0);
	assert_locked(0, 0);
	stop();
	va = start("3.1", false);
	assert_int_equal(do_mlock(fix.m, va, LEN), 0);
	assert_locked(2 * NR, 2 * NR);
	assert_int_equal(fix_event(UNEVICTABLE_PGMLOCKED), 2);
	assert_int_equal(do_munlock(fix.m, va, LEN), 0);
	assert_locked(0, 0);
	assert_int_equal(fix_event(UNEVICTABLE_PGMUNLOCKED), 2);
	assert_int_equal(fix_event(THP_SPLIT_PAGE), 0);
	stop();
}

/* ---- pmd, split at once ---- */

TEST(of_4_0_unlocking_a_page_of_one_splits_it_and_the_others_stay_mlocked)
{
	u64 va = start("4.0", true);

	assert_int_equal(do_mlock(fix.m, va, LEN), 0);
	assert_locked(2 * NR, 2 * NR);
	assert_int_equal(fix_event(UNEVICTABLE_PGMLOCKED), 2);
	assert_int_equal(do_munlock(fix.m, va + 100 * PAGE_SIZE, PAGE_SIZE), 0);
	assert_locked(2 * NR - 1, 2 * NR - 1);
	assert_int_equal(fix_event(THP_SPLIT_PAGE), 1);
	assert_int_equal(fix_event(UNEVICTABLE_PGMUNLOCKED), 1);
	assert_int_equal(do_munlock(fix.m, va, LEN), 0);
	assert_locked(0, 0);
	assert_int_equal(fix_event(UNEVICTABLE_PGMUNLOCKED), 1 + NR - 1 + 1);
	stop();
}

TEST(of_4_0_locking_a_page_of_one_splits_it)
{
	u64 va = start("4.0", true);

	assert_int_equal(do_mlock(fix.m, va + 100 * PAGE_SIZE, PAGE_SIZE), 0);
	assert_locked(1, 1);
	assert_int_equal(fix_event(THP_SPLIT_PAGE), 1);
	stop();
}

/* ---- pmd, split later ---- */

TEST(of_4_5_one_that_becomes_ptes_is_mlocked_no_more)
{
	u64 va = start("4.5", true);

	assert_int_equal(do_mlock(fix.m, va, LEN), 0);
	assert_locked(2 * NR, 2 * NR);
	assert_int_equal(do_munlock(fix.m, va + 100 * PAGE_SIZE, PAGE_SIZE), 0);
	assert_locked(NR, NR);
	assert_int_equal(fix_event(THP_SPLIT_PMD), 1);
	assert_int_equal(fix_event(UNEVICTABLE_PGMUNLOCKED), 1);
	/* Under pressure it is split, and those of its pages that are locked become mlocked, as small ones. */
	fix_reclaim();
	assert_int_equal(fix_event(THP_SPLIT_PAGE), 1);
	assert_locked(2 * NR - 1, 2 * NR - 1);
	assert_int_equal(do_munlock(fix.m, va, LEN), 0);
	assert_locked(0, 0);
	stop();
}

TEST(of_4_5_what_ptes_map_or_others_too_is_not_mlocked)
{
	struct task *parent, *child;
	u64 va = start("4.5", true);

	assert_int_equal(do_mprotect(fix.m, va, PAGE_SIZE, MM_PROT_READ), 0); /* ptes */
	assert_int_equal(do_mprotect(fix.m, va + PMD_SIZE, PMD_SIZE, MM_PROT_READ), 0);
	assert_int_equal(do_fork(fix.m, "child", fix_body, NULL, &child), 0);
	parent = fix.t;
	assert_int_equal(do_mlock(fix.m, va, PAGE_SIZE), 0);
	assert_int_equal(do_mlock(fix.m, va + PMD_SIZE, PMD_SIZE), 0);
	assert_locked(0, 0);
	fix_become(child);
	fix_end(child);
	task_put(child);
	fix_become(parent);
	/* Now it is the task's alone. Locked already, it is not looked for again. */
	assert_int_equal(do_munlock(fix.m, va + PMD_SIZE, PMD_SIZE), 0);
	assert_int_equal(do_mlock(fix.m, va + PMD_SIZE, PMD_SIZE), 0);
	assert_locked(NR, NR);
	stop();
}

TEST(of_4_5_one_that_is_split_is_mlocked_no_more)
{
	u64 va = start("4.5", true);
	struct page *head = head_at(va);

	assert_int_equal(do_mlock(fix.m, va, PMD_SIZE), 0);
	assert_locked(NR, NR);
	world_syscall_enter();
	get_page(head);
	lock_page(fix.m, head);
	assert_int_equal(split_huge_page(fix.m, head), 0);
	unlock_page(fix.m, head);
	put_page(fix.m, head);
	world_syscall_exit();
	assert_locked(0, 0);
	assert_int_equal(fix_event(UNEVICTABLE_PGCLEARED), 1);
	fix_reclaim();
	assert_locked(NR, NR);
	stop();
}

TEST(of_4_5_a_copy_in_locked_memory_leaves_none_mlocked_to_the_child)
{
	struct task *parent, *child;
	u64 va = start("4.5", true);

	assert_int_equal(do_mlock(fix.m, va, PMD_SIZE), 0);
	assert_int_equal(do_fork(fix.m, "child", fix_body, NULL, &child), 0);
	parent = fix.t;
	fix_write(va, 7); /* all of it is copied, to 5.7 */
	assert_locked(NR, NR);
	assert_true(page_test(head_at(va), PG_mlocked));
	fix_become(child);
	assert_false(page_test(head_at(va), PG_mlocked));
	fix_end(child);
	task_put(child);
	fix_become(parent);
	stop();
}

/* ---- whole ---- */

TEST(of_6_18_reclaim_finds_a_whole_one_that_was_missed)
{
	u64 va = start("6.18", true);

	assert_int_equal(do_mprotect(fix.m, va, PAGE_SIZE, MM_PROT_READ), 0); /* ptes */
	assert_int_equal(do_mprotect(fix.m, va, PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE), 0);
	fix.m->knob.mlock_huge = MLOCK_HUGE_PMD;
	assert_int_equal(do_mlock(fix.m, va, PMD_SIZE), 0);
	assert_locked(0, 0);
	fix.m->knob.mlock_huge = MLOCK_HUGE_WHOLE;
	fix_reclaim();
	assert_locked(NR, NR);
	assert_int_equal(fix_rss(fix.t, MM_SWAPENTS), NR); /* the other one went */
	assert_int_equal(do_munlock(fix.m, va, PMD_SIZE), 0);
	assert_locked(0, 0);
	stop();
}

TEST(of_6_18_one_that_is_split_is_mlocked_page_by_page)
{
	u64 va = start("6.18", true);
	struct page *head = head_at(va);

	assert_int_equal(do_mlock(fix.m, va, PMD_SIZE), 0);
	world_syscall_enter();
	get_page(head);
	lock_page(fix.m, head);
	assert_int_equal(split_huge_page(fix.m, head), 0);
	unlock_page(fix.m, head);
	put_page(fix.m, head);
	world_syscall_exit();
	assert_locked(NR, NR);
	assert_int_equal(do_munlock(fix.m, va, PMD_SIZE), 0);
	assert_locked(0, 0);
	stop();
}

TEST(of_6_18_one_that_is_freed_is_counted_out)
{
	u64 va = start("6.18", true);

	assert_int_equal(do_mlock(fix.m, va, LEN), 0);
	assert_locked(2 * NR, 2 * NR);
	assert_int_equal(do_munmap(fix.m, va, LEN), 0);
	assert_locked(0, 0);
	assert_int_equal(fix_event(UNEVICTABLE_PGMUNLOCKED), 2 * NR);
	stop();
}

TEST_MAIN("mlock_walk")
