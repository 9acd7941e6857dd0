/*
 * Huge pages on whole machines.
 *
 * Aim: what a task does to huge pages has the counters, the costs and the effects that Linux's rules say.
 * Method: a machine of 64 MiB runs one or two tasks that do one thing; exact counts are derived beside
 * them. Contents are tagged and checked, and each machine is audited at the end. What random sequences do is
 * test_random_ops' subject.
 */
#include "tests/test.h"

#include "core/huge_memory.h"
#include "sim/sim.h"
#include "tests/hw_util.h"
#include "tests/machine/leaks.h"

#define HUGE PMD_SIZE
#define NR_HUGE 4

struct thp_test {
	struct machine *m;
	struct task *task;
	void (*fn)(struct thp_test *t, u64 va); /* va: NR_HUGE huge pages, written */
	void (*child)(struct thp_test *t, u64 va);
	u64 va;
	u64 swap_mb; /* 0: none */
	bool mthp;   /* 64 KiB are the largest */
	u32 order;   /* not 0: this size and no other */
	bool stop;   /* the child may go */
};

static void set(struct knobs *k, const char *name, const char *value)
{
	char err[256];

	if (knob_set(k, name, value, err, sizeof(err)))
		panic("%s", err);
}

static void task_main(struct task *task, void *arg)
{
	struct thp_test *t = arg;
	u64 va;

	t->task = task;
	assert_int_equal(0,
	                 do_mmap(t->m, (NR_HUGE + 1) * HUGE, MM_PROT_READ | MM_PROT_WRITE, 0, &va));
	t->va = ALIGN(va, HUGE);
	assert_int_equal(0, mm_access(t->m, t->va, NR_HUGE * HUGE, WORLD_WRITE, 0));
	t->fn(t, t->va);
}

/* Ends when the other tasks have, and all I/O that was under way. */
static void janitor_main(struct task *task, void *arg)
{
	struct thp_test *t = arg;

	(void)task;
	world_syscall_enter();
	do
		world_sleep(10000000);
	while (!machine_is_quiet(t->m));
	world_syscall_exit();
}

static void child_main(struct task *task, void *arg)
{
	struct thp_test *t = arg;

	(void)task;
	t->child(t, t->va);
}

static u64 event(const struct thp_test *t, enum vm_event e)
{
	return vm_event_sum(t->m, e);
}

static void on_machine(struct thp_test *t, const char *preset, const char *knob, const char *value)
{
	struct hw_machine *hw = hw_make(2, 1, 64 << 8);
	struct knobs k;
	char err[512] = "";
	struct world *w;
	long frames_at_boot;

	if (t->swap_mb)
		hw_add_flash(hw, t->swap_mb << 20);
	assert_int_equal(0, knobs_preset(&k, preset));
	set(&k, "thp.enabled", "always");
	set(&k, "vm.min_free_kbytes", "512");
	if (t->mthp) {
		set(&k, "thp.2048kB", "never");
		set(&k, "thp.64kB", "inherit");
		set(&k, "thp.16kB", "always");
	}
	if (t->order) {
		char name[32];

		snprintf(name, sizeof(name), "thp.%ukB", 4u << t->order);
		set(&k, "thp.2048kB", "never");
		set(&k, name, "always");
	}
	if (knob)
		set(&k, knob, value);
	w = sim_create(hw, &(struct sim_options){.seed = 1, .check = true, .max_ns = 60000000000},
	               err);
	assert_non_null(w);
	t->m = machine_create(w, &k, err, sizeof(err));
	assert_non_null(t->m);
	if (t->swap_mb)
		assert_int_equal(0, do_swapon(t->m, 0, -1));
	frames_at_boot = frames_out(t->m);
	struct task *task = task_create(t->m, "thp", NULL, task_main, t);
	struct task *janitor = task_create(t->m, "janitor", NULL, janitor_main, t);

	task_start(task, 0);
	task_start(janitor, 1);
	assert_int_equal(0, sim_run(w));
	task_put(task);
	task_put(janitor);
	assert_true(machine_is_quiet(t->m));
	machine_audit(t->m);
	nothing_is_left(t->m, frames_at_boot);
	machine_destroy(t->m);
	sim_destroy(w);
	hw_free(hw);
}

static const char *const presets[] = {"4.5", "6.18"};
static const char *const walks[] = {"vma", "page", "range"};

/* Runs @fn with every walk, as each of the later presets counts. */
static void run_all(void (*fn)(struct thp_test *t, u64 va),
                    void (*child)(struct thp_test *t, u64 va))
{
	for (u32 p = 0; p < ARRAY_SIZE(presets); p++)
		for (u32 w = 0; w < ARRAY_SIZE(walks); w++)
			on_machine(&(struct thp_test){.fn = fn, .child = child}, presets[p],
			           "thp.split_walk", walks[w]);
}

static struct page *page_at(struct thp_test *t, u64 va)
{
	pte_t *pmd;
	u32 table = pt_find_pmd(t->m, t->task->mm, va, &pmd);

	assert_true(table != 0);
	if (pte_huge(*pmd))
		return pfn_to_page(t->m, pte_pfn(*pmd));
	return pfn_to_page(t->m, pte_pfn(*pt_entry(t->m, (u32)pte_pfn(*pmd), va)));
}

static void sleep_in_kernel(u64 ns)
{
	world_syscall_enter();
	world_sleep(ns);
	world_syscall_exit();
}

/* ---- partial unmap ---- */

static void wait_for_stop(struct thp_test *t, u64 va)
{
	(void)va;
	while (!t->stop)
		sleep_in_kernel(1000000);
}

static void unmap_first_pages(struct thp_test *t, u64 va)
{
	for (u32 i = 0; i < NR_HUGE; i++)
		assert_int_equal(0, do_munmap(t->m, va + i * HUGE, PAGE_SIZE));
}

static void partial(struct thp_test *t, u64 va)
{
	struct task *child;
	unsigned long free;

	assert_int_equal(NR_HUGE, event(t, THP_FAULT_ALLOC));
	unmap_first_pages(t, va);
	/* Each munmap() cuts one PMD mapping and leaves one page unmapped. */
	assert_int_equal(NR_HUGE, event(t, THP_SPLIT_PMD));
	assert_int_equal(NR_HUGE, event(t, THP_DEFERRED_SPLIT_PAGE));
	assert_int_equal(0, event(t, THP_SPLIT_PAGE));
	assert_int_equal(0, do_fork(t->m, "child", child_main, t, &child));
	task_start(child, 1);
	free = nr_free_pages(t->m);
	assert_int_equal(0, do_drop_caches(t->m, 2));
	assert_int_equal(NR_HUGE, event(t, THP_SPLIT_PAGE));
	assert_int_equal(NR_HUGE, event(t, THP_SPLIT_PMD));
	assert_int_equal(0, event(t, THP_SPLIT_PAGE_FAILED));
	/* What was unmapped is free now; the counter may lag by its differences. */
	assert_true(nr_free_pages(t->m) + 64 >= free + NR_HUGE);
	for (u32 i = 0; i < NR_HUGE; i++)
		assert_int_equal(0, mm_access(t->m, va + i * HUGE + PAGE_SIZE, HUGE - PAGE_SIZE,
		                              WORLD_READ, 0));
	assert_false(page_is_compound(page_at(t, va + PAGE_SIZE)));
	t->stop = true;
	do_wait(child);
}

TEST(partly_unmapped_pages_are_queued_and_split_once)
{
	run_all(partial, wait_for_stop);
}

static void partial_before_4_5(struct thp_test *t, u64 va)
{
	unmap_first_pages(t, va);
	assert_int_equal(NR_HUGE, event(t, THP_SPLIT_PAGE));
	assert_int_equal(0, event(t, THP_DEFERRED_SPLIT_PAGE));
	assert_false(page_is_compound(page_at(t, va + PAGE_SIZE)));
	assert_int_equal(0, mm_access(t->m, va + PAGE_SIZE, HUGE - PAGE_SIZE, WORLD_READ, 0));
}

TEST(before_4_5_they_are_split_at_once)
{
	on_machine(&(struct thp_test){.fn = partial_before_4_5}, "4.0", NULL, NULL);
}

/* ---- failing ---- */

static void pinned(struct thp_test *t, u64 va)
{
	struct page *page;

	unmap_first_pages(t, va);
	page = page_at(t, va + HUGE + 5 * PAGE_SIZE);
	assert_true(page_is_tail(page));
	get_page(page); /* as a driver that reads into it */
	assert_int_equal(0, do_drop_caches(t->m, 2));
	assert_int_equal(NR_HUGE - 1, event(t, THP_SPLIT_PAGE));
	assert_true(event(t, THP_SPLIT_PAGE_FAILED) >= 1);
	assert_true(page_is_tail(page));
	assert_int_equal(1, page_mapcount(page));
	assert_int_equal(0,
	                 mm_access(t->m, va + HUGE + PAGE_SIZE, HUGE - PAGE_SIZE, WORLD_READ, 0));
	world_syscall_enter();
	put_page(t->m, page);
	world_syscall_exit();
	assert_int_equal(0, do_drop_caches(t->m, 2));
	assert_int_equal(NR_HUGE, event(t, THP_SPLIT_PAGE));
}

TEST(a_pinned_page_is_not_split_and_stays_as_it_was)
{
	run_all(pinned, NULL);
}

/* Being written to swap, whole: it keeps its slots, its entries and its place. */
static void under_writeback(struct thp_test *t, u64 va)
{
	struct machine *m = t->m;
	struct page *page = page_at(t, va);
	s32 refs;

	world_syscall_enter();
	lru_add_drain(m);
	lock_page(m, page);
	get_page(page);
	refs = page->refcount;
	assert_true(add_huge_to_swap(m, page));
	set_page_writeback(m, page);
	assert_int_equal(-EBUSY, split_huge_page(m, page));
	assert_int_equal(1, event(t, THP_SPLIT_PAGE_FAILED));
	assert_true(page_is_head(page) && page_test(page, PG_swapcache));
	assert_int_equal(refs + (s32)HPAGE_PMD_NR, page->refcount);
	end_page_writeback(m, page);
	assert_true(try_to_free_swap(m, page));
	assert_int_equal(refs, page->refcount);
	/* Split while it has slots: each page keeps its own, until nobody needs it. */
	assert_true(add_huge_to_swap(m, page));
	assert_int_equal(0, split_huge_page(m, page));
	for (u32 i = 0; i < HPAGE_PMD_NR; i++)
		assert_true(page_test(page + i, PG_swapcache));
	unlock_page(m, page);
	put_page(m, page);
	world_syscall_exit();
	assert_int_equal(1, event(t, THP_SPLIT_PAGE));
	assert_int_equal(0, mm_access(m, va, HUGE, WORLD_SCAN, 0));
}

TEST(a_page_under_writeback_is_not_split_and_one_in_the_swap_cache_keeps_its_slots)
{
	on_machine(&(struct thp_test){.fn = under_writeback, .swap_mb = 128}, "6.18", NULL, NULL);
	on_machine(&(struct thp_test){.fn = under_writeback, .swap_mb = 128}, "6.18",
	           "thp.split_walk", "page");
}

static void also_drops(struct thp_test *t, u64 va)
{
	(void)va;
	assert_int_equal(0, do_drop_caches(t->m, 2));
}

/* Two tasks split the same pages at the same time. */
static void race(struct thp_test *t, u64 va)
{
	struct task *child;

	unmap_first_pages(t, va);
	assert_int_equal(0, do_fork(t->m, "child", child_main, t, &child));
	task_start(child, 1);
	assert_int_equal(0, do_drop_caches(t->m, 2));
	do_wait(child);
	assert_int_equal(0, do_drop_caches(t->m, 2));
	assert_int_equal(NR_HUGE, event(t, THP_SPLIT_PAGE));
	for (u32 i = 0; i < NR_HUGE; i++)
		assert_int_equal(0, mm_access(t->m, va + i * HUGE + PAGE_SIZE, HUGE - PAGE_SIZE,
		                              WORLD_READ, 0));
}

TEST(of_two_who_race_one_splits)
{
	run_all(race, also_drops);
}

#define LOCKED_NS 700000000

/* Holds one page's lock for a while, as somebody who waits for a disk would. */
static void lock_for_a_while(struct thp_test *t, u64 va)
{
	struct page *head = compound_head(page_at(t, va + PAGE_SIZE));

	world_syscall_enter();
	lock_page(t->m, head);
	world_sleep(LOCKED_NS);
	unlock_page(t->m, head);
	t->stop = true;
	world_sleep(LOCKED_NS); /* its exit would hold references to what it unmaps */
	world_syscall_exit();
}

static void drop_while_locked(struct thp_test *t, u64 va)
{
	struct task *child;
	u64 start;

	unmap_first_pages(t, va);
	assert_int_equal(0, do_fork(t->m, "child", child_main, t, &child));
	task_start(child, 1);
	sleep_in_kernel(100000000);
	start = world_now();
	assert_int_equal(0, do_drop_caches(t->m, 2));
	if (t->m->knob.thp_deferred == DEFERRED_SPLIT_WAIT) {
		assert_true(t->stop);
		assert_int_equal(NR_HUGE, event(t, THP_SPLIT_PAGE));
	} else {
		assert_true(!t->stop && world_now() - start < LOCKED_NS / 2);
		assert_int_equal(NR_HUGE - 1, event(t, THP_SPLIT_PAGE));
	}
	do_wait(child);
}

TEST(the_shrinker_waits_for_a_locked_page_or_passes_it_over)
{
	on_machine(&(struct thp_test){.fn = drop_while_locked, .child = lock_for_a_while}, "4.5",
	           "thp.deferred_split", "wait");
	on_machine(&(struct thp_test){.fn = drop_while_locked, .child = lock_for_a_while}, "4.5",
	           "thp.deferred_split", "try");
}

/* ---- fork and copy-on-write ---- */

static void child_writes(struct thp_test *t, u64 va)
{
	assert_int_equal(0, mm_access(t->m, va + 7 * PAGE_SIZE, PAGE_SIZE, WORLD_WRITE, 0));
}

static void copy_on_write(struct thp_test *t, u64 va)
{
	struct task *child;

	assert_int_equal(0, do_fork(t->m, "child", child_main, t, &child));
	task_start(child, 1);
	do_wait(child);
	assert_int_equal(0, mm_access(t->m, va, NR_HUGE * HUGE, WORLD_READ, 0));
	/* All of it is the child's own (to 5.7), or one page, and the rest of that mapping is ptes. */
	if (t->m->knob.thp_cow == THP_COW_COPY)
		assert_int_equal(0, event(t, THP_SPLIT_PMD));
	else
		assert_int_equal(1, event(t, THP_SPLIT_PMD));
	/* The child is gone: the parent's are its own again. */
	assert_int_equal(0, mm_access(t->m, va, NR_HUGE * HUGE, WORLD_WRITE, 0));
	assert_int_equal(NR_HUGE, event(t, THP_FAULT_ALLOC));
	assert_true(page_is_head(page_at(t, va)));
}

TEST(a_write_to_a_shared_page_copies_all_or_one)
{
	on_machine(&(struct thp_test){.fn = copy_on_write, .child = child_writes}, "4.5", NULL,
	           NULL);
	on_machine(&(struct thp_test){.fn = copy_on_write, .child = child_writes}, "6.18", NULL,
	           NULL);
	on_machine(&(struct thp_test){.fn = copy_on_write, .child = child_writes}, "4.0", NULL,
	           NULL);
}

/* ---- the huge zero page ---- */

static void zeros(struct thp_test *t, u64 va)
{
	assert_int_equal(0, do_madvise(t->m, va, NR_HUGE * HUGE, MM_MADV_DONTNEED));
	assert_int_equal(0, mm_access(t->m, va, NR_HUGE * HUGE, WORLD_READ, 0));
	assert_int_equal(1, event(t, THP_ZERO_PAGE_ALLOC));
	assert_int_equal(NR_HUGE + 1, t->m->huge_zero_refs);
	assert_int_equal(0, mm_access(t->m, va, HUGE, WORLD_WRITE, 0));
	assert_int_equal(NR_HUGE, t->m->huge_zero_refs);
	assert_int_equal(0, do_munmap(t->m, va + HUGE, PAGE_SIZE)); /* that one: 511 small ones */
	assert_int_equal(0, do_munmap(t->m, va + HUGE, NR_HUGE * HUGE - HUGE));
	assert_int_equal(1, t->m->huge_zero_refs);
	assert_int_equal(0, do_drop_caches(t->m, 2));
	assert_null(t->m->huge_zero_page);
}

TEST(the_huge_zero_page_goes_when_nobody_maps_it)
{
	on_machine(&(struct thp_test){.fn = zeros}, "4.5", NULL, NULL);
	on_machine(&(struct thp_test){.fn = zeros}, "6.18", NULL, NULL);
}

/* ---- who gets them ---- */

static void advised(struct thp_test *t, u64 va)
{
	assert_int_equal(0, event(t, THP_FAULT_ALLOC));
	/* What has a leaf table keeps it, also when it is empty. */
	assert_int_equal(0, do_madvise(t->m, va, NR_HUGE * HUGE, MM_MADV_HUGEPAGE));
	assert_int_equal(0, do_madvise(t->m, va, NR_HUGE * HUGE, MM_MADV_DONTNEED));
	assert_int_equal(0, mm_access(t->m, va, NR_HUGE * HUGE, WORLD_WRITE, 0));
	assert_int_equal(0, event(t, THP_FAULT_ALLOC));
	assert_int_equal(0, do_munmap(t->m, va, NR_HUGE * HUGE));
	assert_int_equal(0,
	                 do_mmap(t->m, (NR_HUGE + 1) * HUGE, MM_PROT_READ | MM_PROT_WRITE, 0, &va));
	va = ALIGN(va, HUGE);
	assert_int_equal(0, do_madvise(t->m, va, 2 * HUGE, MM_MADV_HUGEPAGE));
	assert_int_equal(0, do_madvise(t->m, va + HUGE, HUGE, MM_MADV_NOHUGEPAGE));
	assert_int_equal(0, mm_access(t->m, va, NR_HUGE * HUGE, WORLD_WRITE, 0));
	assert_int_equal(1, event(t, THP_FAULT_ALLOC));
}

TEST(advice_decides_who_gets_huge_pages)
{
	on_machine(&(struct thp_test){.fn = advised}, "4.5", "thp.enabled", "madvise");
	on_machine(&(struct thp_test){.fn = advised}, "6.18", "thp.enabled", "madvise");
}

/* ---- swapping out ---- */

/* More than there is, filled and read twice. */
static void swap_out(struct thp_test *t, u64 va)
{
	const u64 len = 72 << 20;
	u64 map;

	assert_int_equal(0, mm_access(t->m, va, NR_HUGE * HUGE, WORLD_FILL, 0));
	assert_int_equal(0, do_mmap(t->m, len, MM_PROT_READ | MM_PROT_WRITE, 0, &map));
	assert_int_equal(0, mm_access(t->m, map, len, WORLD_FILL, 0));
	assert_int_equal(0, mm_access(t->m, va, NR_HUGE * HUGE, WORLD_SCAN, 0));
	assert_int_equal(0, mm_access(t->m, map, len, WORLD_SCAN, 0));
}

static void swap_out_whole(struct thp_test *t, u64 va)
{
	swap_out(t, va);
	assert_true(event(t, THP_SWPOUT) > 0);
	assert_true(event(t, PSWPOUT) >= event(t, THP_SWPOUT) * HPAGE_PMD_NR);
	assert_int_equal(0, event(t, THP_SWPOUT_FALLBACK));
}

static void swap_out_split(struct thp_test *t, u64 va)
{
	swap_out(t, va);
	assert_int_equal(0, event(t, THP_SWPOUT));
	assert_true(event(t, THP_SPLIT_PAGE) > 0);
}

/* Every third time no slots are found. */
static void swap_out_fallback(struct thp_test *t, u64 va)
{
	t->m->world->fail_every[WORLD_FAIL_SWAP_SLOT] = 3;
	swap_out(t, va);
	assert_true(event(t, THP_SWPOUT) > 0);
	assert_true(event(t, THP_SWPOUT_FALLBACK) > 0);
	assert_true(event(t, THP_SPLIT_PAGE) > 0);
}

TEST(since_4_13_huge_pages_are_swapped_out_whole_where_there_is_room)
{
	on_machine(&(struct thp_test){.fn = swap_out_split, .swap_mb = 128}, "4.0", NULL, NULL);
	on_machine(&(struct thp_test){.fn = swap_out_split, .swap_mb = 128}, "4.5", NULL, NULL);
	on_machine(&(struct thp_test){.fn = swap_out_split, .swap_mb = 128}, "6.18", "thp.swapout",
	           "split");
	on_machine(&(struct thp_test){.fn = swap_out_whole, .swap_mb = 128}, "6.18", NULL, NULL);
	on_machine(&(struct thp_test){.fn = swap_out_fallback, .swap_mb = 128}, "6.18", NULL, NULL);
}

/*
 * Two of the four are written to again: these are ordinary pages. The others are dropped, as they are, when memory
 * is wanted; before 6.11 as small ones.
 */
static void drop_lazily(struct thp_test *t, u64 va)
{
	const u64 len = 76 << 20;
	bool whole = t->m->knob.thp_swapout == THP_SWAPOUT_LARGE;
	u64 map;

	assert_int_equal(0, do_madvise(t->m, va, NR_HUGE * HUGE, MM_MADV_FREE));
	assert_int_equal(0, mm_access(t->m, va, 1, WORLD_WRITE, 0));
	assert_int_equal(0, mm_access(t->m, va + 2 * HUGE, 1, WORLD_WRITE, 0));
	assert_int_equal(0, do_mmap(t->m, len, MM_PROT_READ | MM_PROT_WRITE, 0, &map));
	assert_int_equal(0, do_madvise(t->m, map, len, MM_MADV_NOHUGEPAGE));
	assert_int_equal(0, mm_access(t->m, map, len, WORLD_FILL, 0));
	assert_int_equal(2 * HPAGE_PMD_NR, event(t, PGLAZYFREED));
	if (whole) {
		assert_int_equal(0, event(t, THP_SPLIT_PAGE));
		/* The other two, if they went, went to slots in a row. */
		assert_int_equal(event(t, THP_SWPOUT), event(t, THP_SPLIT_PMD));
	} else {
		assert_true(event(t, THP_SPLIT_PAGE) >= 2);
	}
	assert_int_equal(0, mm_access(t->m, va, NR_HUGE * HUGE, WORLD_READ, 0));
}

TEST(lazily_freed_huge_pages_are_dropped_whole_since_6_11)
{
	on_machine(&(struct thp_test){.fn = drop_lazily, .swap_mb = 128}, "6.18", NULL, NULL);
	on_machine(&(struct thp_test){.fn = drop_lazily, .swap_mb = 128}, "6.18", "thp.swapout",
	           "whole");
}

/* ---- other sizes ---- */

static u64 stat64(const struct thp_test *t, enum mthp_stat s)
{
	return t->m->mthp_stat[4][s];
}

static void sizes(struct thp_test *t, u64 va)
{
	const u32 nr = NR_HUGE * HPAGE_PMD_NR / 16;
	struct page *page = page_at(t, va + PAGE_SIZE);
	struct task *child;

	assert_int_equal(0, event(t, THP_FAULT_ALLOC));
	assert_int_equal(nr, stat64(t, MTHP_ANON_FAULT_ALLOC));
	assert_true(page_is_tail(page) && compound_order(compound_head(page)) == 4);
	assert_int_equal(NR_HUGE * HPAGE_PMD_NR, atomic_long_peek(&t->task->mm->rss[MM_ANONPAGES]));
	assert_int_equal(0, do_fork(t->m, "child", child_main, t, &child));
	task_start(child, 1);
	do_wait(child);
	/* A part is unmapped: it waits, and is split, and only the part is freed. */
	assert_int_equal(0, do_munmap(t->m, va, PAGE_SIZE));
	assert_int_equal(1, stat64(t, MTHP_SPLIT_DEFERRED));
	assert_int_equal(0, event(t, THP_DEFERRED_SPLIT_PAGE));
	assert_int_equal(0, do_drop_caches(t->m, 2));
	assert_int_equal(1, stat64(t, MTHP_SPLIT));
	assert_int_equal(0, event(t, THP_SPLIT_PAGE));
	assert_false(page_is_compound(page_at(t, va + PAGE_SIZE)));
	assert_int_equal(0, mm_access(t->m, va + PAGE_SIZE, HUGE, WORLD_SCAN, 0));
}

TEST(other_sizes_are_taken_where_they_fit_and_split_like_those_of_2_mib)
{
	on_machine(&(struct thp_test){.fn = sizes, .child = child_writes, .mthp = true}, "6.18",
	           NULL, NULL);
	on_machine(&(struct thp_test){.fn = sizes, .child = child_writes, .mthp = true}, "6.18",
	           "thp.split_walk", "page");
}

static void one_size(struct thp_test *t, u64 va)
{
	assert_int_equal((NR_HUGE * HPAGE_PMD_NR) >> t->order,
	                 t->m->mthp_stat[t->order][MTHP_ANON_FAULT_ALLOC]);
	assert_int_equal(t->order, compound_order(compound_head(page_at(t, va))));
}

TEST(each_size_has_a_policy_of_its_own)
{
	for (u32 o = MTHP_MIN_ORDER; o < MTHP_MAX_ORDER; o++)
		on_machine(&(struct thp_test){.fn = one_size, .order = o}, "6.18", NULL, NULL);
}

static void sizes_swapped(struct thp_test *t, u64 va)
{
	swap_out(t, va);
	assert_true(stat64(t, MTHP_SPLIT) > 0);
	assert_int_equal(0, stat64(t, MTHP_SWPOUT) + stat64(t, MTHP_SWPOUT_FALLBACK));
	assert_int_equal(0, event(t, THP_SWPOUT_FALLBACK));
}

/* Whole ones are test_mthp_swap's. */
TEST(other_sizes_are_split_before_they_are_swapped_out_to_6_9)
{
	on_machine(&(struct thp_test){.fn = sizes_swapped, .mthp = true, .swap_mb = 128}, "6.18",
	           "thp.swapout", "whole");
}

TEST_MAIN("thp")
