/*
 * mlock and the unevictable list (core/mlock.c, mlock_page.c, gup.c), both eras.
 *
 * Aim: a locked page is PG_mlocked, counted, and on the unevictable list as soon as its era can bring it
 * there, and never reclaimed; unlocking undoes all of it, unless another VMA locks the page; VMAs split
 * and merge; limits and errors are Linux's. Method: a task on the null world, CPU 0 of 2, whose batches
 * are looked at, filled and drained by hand; reclaim is try_to_free_pages().
 */
#include "tests/core/mm_fixture.h"

#include "core/mlock.h"
#include "core/workqueue.h"

#define PAGES 8

static void drain_local(struct knobs *k)
{
	k->mlock_drain = MLOCK_DRAIN_LOCAL;
}

static void drain_none(struct knobs *k)
{
	k->mlock_drain = MLOCK_DRAIN_NONE;
}

static long item(enum vm_item i)
{
	long nr = stat_exact(fix.m, &fix.m->node[0].stat, i);

	for (u32 z = 0; z < MAX_NR_ZONES; z++)
		nr += stat_exact(fix.m, &fix.m->node[0].zone[z].stat, i);
	return nr;
}

/* 8 pages that have been written, and are on their lists. */
static u64 filled(void)
{
	u64 va = fix_mmap(PAGES);

	for (u64 i = 0; i < PAGES; i++)
		fix_write(va + i * PAGE_SIZE, (u32)i + 1);
	lru_add_drain(fix.m);
	return va;
}

/* Mlocked, unevictable, in how many of [va, va + 8 pages)? */
static u32 count_flag(u64 va, enum pageflags f)
{
	u32 nr = 0;

	for (u64 i = 0; i < PAGES; i++)
		nr += page_test(fix_page(fix.t, va + i * PAGE_SIZE), f);
	return nr;
}

static void on_cpu(u32 cpu)
{
	null_set_cpu(fix.w, cpu);
	fix_become(fix.t);
}

static void each_era(void (*test)(void))
{
	static const char *const preset[] = {"3.1", "4.0", "6.18"};

	for (u32 i = 0; i < 3; i++) {
		fix_start(2, 8192, preset[i], drain_local);
		test();
		machine_audit(fix.m);
		fix_stop();
	}
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void lock_and_unlock(void)
{
	u64 va = filled();

	assert_int_equal(do_mlock(fix.m, va, PAGES * PAGE_SIZE), 0);
	assert_int_equal(count_flag(va, PG_mlocked), PAGES);
	assert_int_equal(count_flag(va, PG_unevictable), PAGES);
	assert_int_equal(item(NR_MLOCK), PAGES);
	assert_int_equal(item(NR_UNEVICTABLE), PAGES);
	assert_int_equal(fix_event(UNEVICTABLE_PGMLOCKED), PAGES);
	assert_int_equal(fix_event(UNEVICTABLE_PGCULLED), PAGES);
	assert_int_equal(fix.t->mm->locked_vm, PAGES);

	assert_int_equal(do_munlock(fix.m, va, PAGES * PAGE_SIZE), 0);
	lru_add_drain(fix.m);
	assert_int_equal(count_flag(va, PG_mlocked), 0);
	assert_int_equal(count_flag(va, PG_unevictable), 0);
	assert_int_equal(item(NR_MLOCK), 0);
	assert_int_equal(item(NR_UNEVICTABLE), 0);
	assert_int_equal(fix_event(UNEVICTABLE_PGMUNLOCKED), PAGES);
	assert_int_equal(fix_event(UNEVICTABLE_PGRESCUED), PAGES);
	assert_int_equal(fix.t->mm->locked_vm, 0);
}

TEST(locked_pages_are_unevictable_until_they_are_unlocked)
{
	each_era(lock_and_unlock);
}

static void populate_by_lock(void)
{
	u64 va = fix_mmap(PAGES);

	assert_int_equal(do_mlock(fix.m, va, PAGES * PAGE_SIZE), 0);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), PAGES);
	lru_add_drain(fix.m);
	assert_int_equal(count_flag(va, PG_unevictable), PAGES);
	assert_int_equal(item(NR_MLOCK), PAGES);
	/* New ones in a locked mapping, at their first touch. */
	assert_int_equal(
		do_mmap(fix.m, PAGES * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, MM_MAP_LOCKED, &va),
		0);
	lru_add_drain(fix.m);
	assert_int_equal(count_flag(va, PG_unevictable), PAGES);
	assert_int_equal(do_munmap(fix.m, va, PAGES * PAGE_SIZE), 0);
	assert_int_equal(fix.t->mm->locked_vm, PAGES);
	lru_add_drain(fix.m);
	assert_int_equal(item(NR_MLOCK), PAGES);
}

TEST(locking_fills_the_range_and_unmapping_unlocks_it)
{
	each_era(populate_by_lock);
}

static void on_fault(void)
{
	u64 va = fix_mmap(PAGES);

	fix_write(va, 1);
	lru_add_drain(fix.m);
	assert_int_equal(do_mlock2(fix.m, va, PAGES * PAGE_SIZE, MM_MLOCK_ONFAULT), 0);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 1);
	for (u64 i = 1; i < PAGES; i++)
		fix_write(va + i * PAGE_SIZE, 1);
	lru_add_drain(fix.m);
	/* To 5.17 it is gup that mlocks pages which are there, and this call has none of it. */
	assert_int_equal(count_flag(va, PG_unevictable), mlock_today(fix.m) ? PAGES : PAGES - 1);
	/* With that it is an ordinary lock again, and nothing is missing. */
	assert_int_equal(do_mlock(fix.m, va, PAGES * PAGE_SIZE), 0);
	lru_add_drain(fix.m);
	assert_int_equal(count_flag(va, PG_unevictable), PAGES);
	assert_int_equal(fix.t->mm->locked_vm, PAGES);
}

TEST(onfault_locks_what_is_touched_later)
{
	each_era(on_fault);
}

/* A page that CPU 1 has in its batch of new pages cannot be isolated by CPU 0. */
static void in_a_batch(void)
{
	u64 va = fix_mmap(PAGES);
	struct page *page;

	on_cpu(1);
	for (u64 i = 0; i < PAGES; i++)
		fix_write(va + i * PAGE_SIZE, 1);
	on_cpu(0);
	page = fix_page(fix.t, va);
	assert_int_equal(do_mlock(fix.m, va, PAGES * PAGE_SIZE), 0);
	assert_int_equal(item(NR_MLOCK), PAGES);
	assert_int_equal(item(NR_UNEVICTABLE), 0);
	on_cpu(1);
	lru_add_drain(fix.m);
	on_cpu(0);
	if (mlock_today(fix.m)) {
		/* Sorted on its way to a list. */
		assert_int_equal(item(NR_UNEVICTABLE), PAGES);
		return;
	}
	/* It escaped: reclaim culls it. */
	assert_int_equal(count_flag(va, PG_unevictable), 0);
	assert_true(page_test(page, PG_lru));
	fix_reclaim();
	assert_int_equal(count_flag(va, PG_unevictable), PAGES);
	assert_int_equal(fix_event(UNEVICTABLE_PGCULLED), PAGES);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), PAGES);
}

static void batch_on_other_cpu(const char *preset)
{
	fix_start(2, 8192, preset, drain_local);
	fix_swapon();
	in_a_batch();
	fix_audit();
	fix_stop();
}

TEST(pages_in_another_cpus_batch_escape_until_reclaim_culls_them)
{
	batch_on_other_cpu("3.1");
	batch_on_other_cpu("4.0");
	batch_on_other_cpu("6.18");
}

/* Even the own batch, if it is not emptied either: what mlock.drain = none leaves out. */
TEST(without_the_local_drain_pages_in_the_own_batch_escape_too)
{
	u64 va;

	fix_start(1, 8192, "4.0", drain_none);
	va = fix_mmap(PAGES);
	for (u64 i = 0; i < PAGES; i++)
		fix_write(va + i * PAGE_SIZE, 1);
	assert_int_equal(do_mlock(fix.m, va, PAGES * PAGE_SIZE), 0);
	assert_int_equal(item(NR_MLOCK), PAGES);
	assert_int_equal(item(NR_UNEVICTABLE), 0);
	fix_stop();
}

/* Two VMAs of one page, by fork; only the parent's is locked, then the child locks it, too. */
static void shared_page(void)
{
	struct task *parent = fix.t;
	struct task *child = NULL;
	u64 va = filled();

	assert_int_equal(do_mlock(fix.m, va, PAGES * PAGE_SIZE), 0);
	assert_int_equal(do_fork(fix.m, "child", fix_body, NULL, &child), 0);
	assert_int_equal(child->mm->locked_vm, 0);
	fix_become(child);
	/* Read-only, so that locking does not copy the pages. */
	assert_int_equal(do_mprotect(fix.m, va, PAGES * PAGE_SIZE, MM_PROT_READ), 0);
	assert_int_equal(do_mlock(fix.m, va, PAGES * PAGE_SIZE), 0);
	assert_ptr_equal(fix_page(parent, va), fix_page(child, va));
	fix_become(parent);
	assert_int_equal(do_mprotect(fix.m, va, PAGES * PAGE_SIZE, MM_PROT_READ), 0);
	assert_int_equal(do_munlock(fix.m, va, PAGES * PAGE_SIZE), 0);
	lru_add_drain(fix.m);
	assert_int_equal(count_flag(va, PG_unevictable), PAGES);
	assert_int_equal(item(NR_MLOCK), PAGES);
	fix_end(child);
	task_put(child);
	fix_become(parent);
	lru_add_drain(fix.m);
	assert_int_equal(count_flag(va, PG_unevictable), 0);
	assert_int_equal(item(NR_MLOCK), 0);
}

TEST(a_page_stays_locked_as_long_as_one_vma_locks_it)
{
	each_era(shared_page);
}

/* The parent's write makes a copy, which is locked; what the child keeps is not. */
static void copied_page(void)
{
	struct task *parent = fix.t;
	struct task *child = NULL;
	u64 va = filled();
	struct page *old = fix_page(fix.t, va);

	assert_int_equal(do_mlock(fix.m, va, PAGES * PAGE_SIZE), 0);
	assert_int_equal(do_fork(fix.m, "child", fix_body, NULL, &child), 0);
	fix_write(va, 7);
	lru_add_drain(fix.m);
	assert_ptr_not_equal(fix_page(parent, va), old);
	assert_false(page_test(old, PG_mlocked));
	assert_true(page_test(fix_page(parent, va), PG_unevictable));
	assert_int_equal(item(NR_MLOCK), PAGES);
	fix_end(child);
	task_put(child);
	fix_become(parent);
}

TEST(a_copy_made_by_a_fault_takes_over_the_lock)
{
	each_era(copied_page);
}

/* ---- reclaim --------------------------------------------------------------------------------- */

/* The mlock lost the race: the page is on an ordinary list, not even PG_mlocked, VMA VM_LOCKED. */
static void lost_race(const char *preset)
{
	u64 va;

	fix_start(1, 8192, preset, drain_local);
	fix_swapon();
	va = filled();
	find_vma(fix.t->mm, va)->vm_flags |= VM_LOCKED;
	fix.t->mm->locked_vm = PAGES;
	fix_reclaim();
	assert_int_equal(fix_event(PSWPOUT), 0);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), PAGES);
	assert_int_equal(count_flag(va, PG_mlocked), PAGES);
	assert_int_equal(count_flag(va, PG_unevictable), PAGES);
	assert_int_equal(count_flag(va, PG_swapcache), 0);
	assert_int_equal(count_flag(va, PG_active), 0);
	fix_stop();
}

TEST(reclaim_finds_locked_mappings_that_mlock_missed)
{
	lost_race("3.1");
	lost_race("4.0");
	lost_race("6.18");
}

/* ---- VMAs ------------------------------------------------------------------------------------ */

static u32 nr_vmas(void)
{
	return fix.t->mm->map_count;
}

/* The mail's program: 24, 56 and 4168 bytes, of which the first two lie in the same page. */
static void bytes(void)
{
	u64 va = fix_mmap(PAGES);
	u64 at = va + 2 * PAGE_SIZE + 100;

	fix_write(va, 1);
	assert_int_equal(nr_vmas(), 1);
	assert_int_equal(do_mlock(fix.m, at, 24), 0);
	assert_int_equal(nr_vmas(), 3);
	assert_int_equal(do_mlock(fix.m, at + 24, 56), 0);
	assert_int_equal(nr_vmas(), 3);
	assert_int_equal(fix.t->mm->locked_vm, 1);
	/* 100 + 24 + 56 + 4168 bytes end in the next page. */
	assert_int_equal(do_mlock(fix.m, at + 80, 4168), 0);
	assert_int_equal(nr_vmas(), 3);
	assert_int_equal(fix.t->mm->locked_vm, 2);
	assert_int_equal(do_munlock(fix.m, at, 24), 0);
	assert_int_equal(nr_vmas(), 3);
	assert_int_equal(do_munlock(fix.m, at + 24, 56), 0);
	assert_int_equal(do_munlock(fix.m, at + 80, 4168), 0);
	assert_int_equal(nr_vmas(), 1);
	assert_int_equal(fix.t->mm->locked_vm, 0);
}

TEST(ranges_of_bytes_split_and_merge_vmas_by_pages)
{
	each_era(bytes);
}

static void all(void)
{
	u64 va = filled();
	u64 other, now;

	assert_int_equal(do_mlockall(fix.m, MM_MCL_CURRENT | MM_MCL_FUTURE), 0);
	lru_add_drain(fix.m);
	assert_int_equal(count_flag(va, PG_unevictable), PAGES);
	other = fix_mmap(PAGES);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 2 * PAGES);
	assert_int_equal(do_brk(fix.m, BRK_START + 2 * PAGE_SIZE, &now), 0);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 2 * PAGES + 2);
	assert_int_equal(fix.t->mm->locked_vm, 2 * PAGES + 2);
	assert_int_equal(do_munlockall(fix.m), 0);
	assert_int_equal(fix.t->mm->locked_vm, 0);
	assert_int_equal(fix.t->mm->def_flags, 0);
	lru_add_drain(fix.m);
	assert_int_equal(item(NR_MLOCK), 0);
	/* Future ones alone leave what there is. */
	assert_int_equal(do_mlockall(fix.m, MM_MCL_FUTURE | MM_MCL_ONFAULT), 0);
	assert_int_equal(fix.t->mm->locked_vm, 0);
	assert_int_equal(do_munmap(fix.m, other, PAGES * PAGE_SIZE), 0);
	other = fix_mmap(PAGES);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), PAGES + 2);
	fix_write(other, 1);
	lru_add_drain(fix.m);
	assert_true(page_test(fix_page(fix.t, other), PG_unevictable));
}

TEST(mlockall_locks_what_is_mapped_and_what_will_be)
{
	each_era(all);
}

/* ---- limits and errors ----------------------------------------------------------------------- */

static void limits(void)
{
	u64 va = fix_mmap(PAGES);
	u64 other, now;

	task_set_memlock(fix.t, 4 * PAGE_SIZE, false);
	assert_int_equal(do_mlock(fix.m, va, 5 * PAGE_SIZE), -ENOMEM);
	assert_int_equal(do_mlock(fix.m, va, 4 * PAGE_SIZE), 0);
	/* Once more: today what is locked already is not counted again. */
	assert_int_equal(do_mlock(fix.m, va, 4 * PAGE_SIZE), mlock_today(fix.m) ? 0 : -ENOMEM);
	assert_int_equal(do_mmap(fix.m, PAGE_SIZE, MM_PROT_READ, MM_MAP_LOCKED, &other), -EAGAIN);
	assert_int_equal(do_mlockall(fix.m, MM_MCL_CURRENT), -ENOMEM);
	assert_int_equal(do_mlockall(fix.m, MM_MCL_FUTURE), 0);
	assert_int_equal(do_mmap(fix.m, PAGE_SIZE, MM_PROT_READ, 0, &other), -EAGAIN);
	assert_int_equal(do_brk(fix.m, BRK_START + PAGE_SIZE, &now), 0);
	assert_int_equal(now, BRK_START);
	task_set_memlock(fix.t, 0, false);
	assert_int_equal(do_mlock(fix.m, va, PAGE_SIZE), -EPERM);
	assert_int_equal(do_mlockall(fix.m, MM_MCL_CURRENT), -EPERM);
	assert_int_equal(do_mmap(fix.m, PAGE_SIZE, MM_PROT_READ, MM_MAP_LOCKED, &other), -EPERM);
	task_set_memlock(fix.t, 0, true);
	assert_int_equal(do_mlock(fix.m, va, PAGES * PAGE_SIZE), 0);
	/* What is locked must not be given up by advice. */
	assert_int_equal(do_madvise(fix.m, va, PAGE_SIZE, MM_MADV_DONTNEED), -EINVAL);
	assert_int_equal(do_madvise(fix.m, va, PAGE_SIZE, MM_MADV_FREE), -EINVAL);
}

TEST(limits_are_kept_without_cap_ipc_lock)
{
	each_era(limits);
}

static void errors(void)
{
	u64 va = fix_mmap(PAGES);

	assert_int_equal(do_munmap(fix.m, va + 2 * PAGE_SIZE, PAGE_SIZE), 0);
	assert_int_equal(do_mlock(fix.m, va, PAGES * PAGE_SIZE), -ENOMEM); /* up to the hole */
	assert_int_equal(fix.t->mm->locked_vm, 2);
	assert_int_equal(do_munlock(fix.m, va, PAGES * PAGE_SIZE), -ENOMEM);
	assert_int_equal(fix.t->mm->locked_vm, 0);
	assert_int_equal(do_mlock(fix.m, va, 0), 0);
	assert_int_equal(do_mlock(fix.m, va, ~0UL), 0);              /* wraps to nothing */
	assert_int_equal(do_mlock(fix.m, va, ~0UL - 8192), -EINVAL); /* ends before it begins */
	assert_int_equal(do_mlock2(fix.m, va, PAGE_SIZE, 2), -EINVAL);
	assert_int_equal(do_mlockall(fix.m, 0), -EINVAL);
	assert_int_equal(do_mlockall(fix.m, 8), -EINVAL);
	assert_int_equal(do_mlockall(fix.m, MM_MCL_ONFAULT), -EINVAL);
	/* Nothing may be read or written there: locked, but it cannot be filled. */
	assert_int_equal(do_mprotect(fix.m, va, PAGE_SIZE, MM_PROT_NONE), 0);
	assert_int_equal(do_mlock(fix.m, va, PAGE_SIZE), -ENOMEM);
	assert_int_equal(fix.t->mm->locked_vm, 1);
}

TEST(errors_are_those_of_linux)
{
	each_era(errors);
}

/* ---- the drain ------------------------------------------------------------------------------- */

/* On the null world nobody runs the workers: it is enough to see whom the call has work for. */
static void counted_machine(struct knobs *k)
{
	k->mlock_drain = MLOCK_DRAIN_COUNTED;
}

TEST(a_counted_drain_asks_nobody_when_all_batches_are_empty)
{
	u64 va;

	fix_start(2, 8192, "4.0", counted_machine);
	va = filled();
	assert_int_equal(do_mlock(fix.m, va, PAGES * PAGE_SIZE), 0);
	assert_null(fix.m->worker_pool[0]);
	assert_null(fix.m->worker_pool[1]);
	assert_int_equal(count_flag(va, PG_unevictable), PAGES);
	fix_stop();
}

TEST(map_populate_fills_but_does_not_lock)
{
	u64 va = 0;

	fix_start(1, 8192, "6.18", NULL);
	assert_int_equal(do_mmap(fix.m, PAGES * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE,
	                         MM_MAP_POPULATE, &va),
	                 0);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), PAGES);
	assert_int_equal(fix.t->min_flt, PAGES);
	assert_int_equal(count_flag(va, PG_mlocked), 0);
	/* What may only be read gets the zero page. */
	assert_int_equal(do_mmap(fix.m, PAGES * PAGE_SIZE, MM_PROT_READ, MM_MAP_POPULATE, &va), 0);
	assert_true(pte_special(fix_pte(fix.t, va)));
	fix_stop();
}

TEST_MAIN("mlock")
