/*
 * khugepaged on whole machines.
 *
 * Aim: what it collapses, what it leaves, and when, are as the knobs say. Method: a task
 * of a machine of 64 MiB fills a range of small pages (huge ones are forbidden meanwhile), allows huge ones,
 * sleeps over a scan and looks. Contents are tagged and checked, and each machine is audited at the end.
 */
#include "tests/test.h"

#include "core/khugepaged.h"
#include "core/mlock.h"
#include "core/swap.h"
#include "sim/sim.h"
#include "tests/hw_util.h"
#include "tests/machine/leaks.h"

#define HUGE PMD_SIZE
#define SECOND 1000000000UL
#define SCAN_NS (11 * SECOND) /* scan_sleep_millisecs and a little */

struct test {
	struct machine *m;
	struct task *task;
	void (*fn)(struct test *t, u64 va); /* va: 2 MiB that nothing is mapped in */
	u32 param;
	bool stop;
};

static void task_main(struct task *task, void *arg)
{
	struct test *t = arg;
	u64 va;

	t->task = task;
	assert_int_equal(0, do_mmap(t->m, 8 * HUGE, MM_PROT_READ | MM_PROT_WRITE, 0, &va));
	va = ALIGN(va, HUGE);
	assert_int_equal(0, do_madvise(t->m, va, HUGE, MM_MADV_NOHUGEPAGE));
	t->fn(t, va);
}

static void on_machine(struct test *t, const char *preset, const char *knob, const char *value)
{
	struct hw_machine *hw = hw_make(2, 1, 64 << 8);
	struct knobs k;
	char err[512] = "";
	struct task *task;
	struct world *w;
	long frames_at_boot;

	hw_add_flash(hw, 64 << 20);
	assert_int_equal(0, knobs_preset(&k, preset));
	k.thp_enabled = THP_ALWAYS;
	k.min_free_kbytes = 512;
	if (knob && knob_set(&k, knob, value, err, sizeof(err)))
		panic("%s", err);
	w = sim_create(hw, &(struct sim_options){.seed = 1, .check = true, .max_ns = 600 * SECOND},
	               err);
	assert_non_null(w);
	t->m = machine_create(w, &k, err, sizeof(err));
	assert_non_null(t->m);
	assert_int_equal(0, do_swapon(t->m, 0, -1));
	frames_at_boot = frames_out(t->m);
	task = task_create(t->m, "user", NULL, task_main, t);
	task_start(task, 0);
	assert_int_equal(0, sim_run(w));
	task_put(task);
	assert_true(machine_is_quiet(t->m));
	machine_audit(t->m);
	nothing_is_left(t->m, frames_at_boot);
	machine_destroy(t->m);
	sim_destroy(w);
	hw_free(hw);
}

static u64 event(const struct test *t, enum vm_event e)
{
	return vm_event_sum(t->m, e);
}

static void sleep_ns(u64 ns)
{
	world_syscall_enter();
	world_sleep(ns);
	world_syscall_exit();
}

static bool is_huge(struct test *t, u64 va)
{
	pte_t *pmd;

	return pt_find_pmd(t->m, t->task->mm, va, &pmd) && pte_huge(*pmd);
}

static struct page *page_at(struct test *t, u64 va)
{
	u32 table = pt_find(t->m, t->task->mm, va);

	assert_true(table != 0);
	return pfn_to_page(t->m, pte_pfn(*pt_entry(t->m, table, va)));
}

static void touch(struct test *t, u64 va, u32 nr_pages)
{
	assert_int_equal(0, mm_access(t->m, va, nr_pages * PAGE_SIZE, WORLD_FILL, 0));
	/* To 5.7 it does not see to that itself, and what is in a batch keeps its range from collapsing. */
	world_syscall_enter();
	lru_add_drain(t->m);
	world_syscall_exit();
}

/* Somebody uses it, or it is not worth it, and huge pages are allowed; then a scan comes by. */
static bool collapses(struct test *t, u64 va)
{
	assert_int_equal(0, do_madvise(t->m, va, HUGE, MM_MADV_HUGEPAGE));
	sleep_ns(SCAN_NS);
	assert_int_equal(0, mm_access(t->m, va, HUGE, WORLD_READ, 0));
	return is_huge(t, va);
}

/* ---- what is collapsed ---- */

static void small_pages(struct test *t, u64 va)
{
	long rss;

	touch(t, va, 512);
	rss = atomic_long_peek(&t->task->mm->rss[MM_ANONPAGES]);
	assert_false(is_huge(t, va));
	assert_true(collapses(t, va));
	assert_int_equal(1, event(t, THP_COLLAPSE_ALLOC));
	assert_int_equal(1, t->m->khugepaged->pages_collapsed);
	assert_int_equal(rss, atomic_long_peek(&t->task->mm->rss[MM_ANONPAGES]));
	/* It is a huge page like others. */
	assert_int_equal(0, do_munmap(t->m, va, PAGE_SIZE));
	assert_int_equal(0, mm_access(t->m, va + PAGE_SIZE, HUGE - PAGE_SIZE, WORLD_WRITE, 0));
}

TEST(small_pages_become_a_huge_one_and_keep_their_contents)
{
	on_machine(&(struct test){.fn = small_pages}, "4.0", NULL, NULL);
	on_machine(&(struct test){.fn = small_pages}, "4.5", NULL, NULL);
	on_machine(&(struct test){.fn = small_pages}, "6.18", NULL, NULL);
}

/* t->param pages of the range are there. */
static void few_pages(struct test *t, u64 va)
{
	bool wanted = t->m->knob.khugepaged_max_ptes_none >= 512 - t->param;

	touch(t, va + 7 * PAGE_SIZE, t->param);
	assert_true(collapses(t, va) == wanted);
	assert_true((event(t, THP_SCAN_EXCEED_NONE_PTE) != 0) == !wanted);
	/* What was not there is zeros, and is there now. */
	if (wanted)
		assert_true(atomic_long_peek(&t->task->mm->rss[MM_ANONPAGES]) >= 512);
}

TEST(max_ptes_none_decides_about_sparse_ranges)
{
	on_machine(&(struct test){.fn = few_pages, .param = 1}, "6.18", NULL, NULL);
	on_machine(&(struct test){.fn = few_pages, .param = 1}, "4.0", NULL, NULL);
	on_machine(&(struct test){.fn = few_pages, .param = 1}, "6.18", "khugepaged.max_ptes_none",
	           "510");
	on_machine(&(struct test){.fn = few_pages, .param = 2}, "6.18", "khugepaged.max_ptes_none",
	           "510");
}

static void wait_for_stop(struct task *task, void *arg)
{
	struct test *t = arg;

	(void)task;
	while (!t->stop)
		sleep_ns(SECOND);
}

static void shared_pages(struct test *t, u64 va)
{
	bool wanted = t->m->knob.khugepaged_max_ptes_shared >= t->param;
	struct task *child;

	touch(t, va, t->param);
	assert_int_equal(0, do_fork(t->m, "child", wait_for_stop, t, &child));
	task_start(child, 1);
	/* After the fork, one page of its own that may be written. */
	touch(t, va + HUGE - PAGE_SIZE, 1);
	assert_true(collapses(t, va) == wanted);
	assert_true(wanted || event(t, THP_SCAN_EXCEED_SHARE_PTE));
	t->stop = true;
	do_wait(child);
}

TEST(max_ptes_shared_decides_about_pages_others_map)
{
	on_machine(&(struct test){.fn = shared_pages, .param = 1}, "4.5", NULL, NULL);
	on_machine(&(struct test){.fn = shared_pages, .param = 256}, "6.18", NULL, NULL);
	on_machine(&(struct test){.fn = shared_pages, .param = 257}, "6.18", NULL, NULL);
	on_machine(&(struct test){.fn = shared_pages, .param = 100}, "6.18",
	           "khugepaged.max_ptes_shared", "99");
}

/* As reclaim does it: a slot, an entry for it, written. */
static void swap_out(struct test *t, u64 va)
{
	struct machine *m = t->m;
	struct page *page = page_at(t, va);

	world_syscall_enter();
	lru_add_drain(m);
	lock_page(m, page);
	assert_true(isolate_lru_page(m, page));
	assert_true(add_to_swap(m, page));
	assert_int_equal(SWAP_SUCCESS, try_to_unmap(m, page, 0));
	page_clear(page, PG_dirty);
	swap_writepage(m, page);
	wait_on_page_writeback(m, page);
	putback_lru_page(m, page);
	world_syscall_exit();
}

static void swapped_pages(struct test *t, u64 va)
{
	bool wanted = t->m->knob.khugepaged_max_ptes_swap >= t->param;

	touch(t, va, 512);
	for (u32 i = 0; i < t->param; i++)
		swap_out(t, va + 2 * i * PAGE_SIZE);
	assert_int_equal(0, do_madvise(t->m, va, HUGE, MM_MADV_HUGEPAGE));
	sleep_ns(SCAN_NS);
	assert_true(is_huge(t, va) == wanted);
	assert_int_equal(wanted ? 0 : t->param, atomic_long_peek(&t->task->mm->rss[MM_SWAPENTS]));
	assert_int_equal(0, mm_access(t->m, va, HUGE, WORLD_READ, 0));
}

TEST(max_ptes_swap_decides_about_what_is_swapped_out)
{
	on_machine(&(struct test){.fn = swapped_pages, .param = 64}, "6.18", NULL, NULL);
	on_machine(&(struct test){.fn = swapped_pages, .param = 65}, "6.18", NULL, NULL);
	on_machine(&(struct test){.fn = swapped_pages, .param = 1}, "4.5", NULL, NULL);
	on_machine(&(struct test){.fn = swapped_pages, .param = 1}, "6.18",
	           "khugepaged.max_ptes_swap", "0");
}

static void read_only(struct test *t, u64 va)
{
	touch(t, va, 512);
	assert_int_equal(0, do_mprotect(t->m, va, HUGE, MM_PROT_READ));
	assert_true(collapses(t, va) == (t->m->knob.khugepaged_form == KHUGEPAGED_6_18));
}

TEST(it_once_wanted_a_page_that_may_be_written)
{
	on_machine(&(struct test){.fn = read_only}, "4.0", NULL, NULL);
	on_machine(&(struct test){.fn = read_only}, "4.0", "khugepaged.form", "6.18");
}

/* A huge page mapped by ptes, of which one was given up. */
static void parts(struct test *t, u64 va)
{
	va += HUGE;
	assert_int_equal(0, mm_access(t->m, va, HUGE, WORLD_FILL, 0));
	assert_true(is_huge(t, va));
	assert_int_equal(0, do_madvise(t->m, va + 5 * PAGE_SIZE, PAGE_SIZE, MM_MADV_DONTNEED));
	touch(t, va + 5 * PAGE_SIZE, 1);
	assert_false(is_huge(t, va));
	sleep_ns(SCAN_NS);
	assert_int_equal(0, mm_access(t->m, va, HUGE, WORLD_READ, 0));
	assert_true(is_huge(t, va) == (t->m->knob.khugepaged_form == KHUGEPAGED_6_18));
}

TEST(parts_of_huge_pages_may_be_collapsed_today)
{
	on_machine(&(struct test){.fn = parts}, "6.18", NULL, NULL);
	on_machine(&(struct test){.fn = parts}, "4.5", NULL, NULL);
}

static void pinned(struct test *t, u64 va)
{
	struct page *page;

	touch(t, va, 512);
	page = page_at(t, va + 100 * PAGE_SIZE);
	get_page(page);
	assert_false(collapses(t, va));
	assert_true(page == page_at(t, va + 100 * PAGE_SIZE));
	world_syscall_enter();
	put_page(t->m, page);
	world_syscall_exit();
	sleep_ns(SCAN_NS);
	assert_true(is_huge(t, va));
}

TEST(a_pinned_page_keeps_its_range_as_it_is)
{
	on_machine(&(struct test){.fn = pinned}, "4.5", NULL, NULL);
	on_machine(&(struct test){.fn = pinned}, "6.18", NULL, NULL);
}

/* ---- when ---- */

/* t->param seconds after it was allowed it has been tried. */
static void later(struct test *t, u64 va)
{
	touch(t, va, 512);
	assert_int_equal(0, do_madvise(t->m, va, HUGE, MM_MADV_HUGEPAGE));
	/* It was registered by this, and looks at it at once, but then sleeps. */
	sleep_ns(SECOND);
	assert_true(is_huge(t, va));
	assert_int_equal(0, do_madvise(t->m, va, HUGE, MM_MADV_DONTNEED));
	assert_int_equal(0, do_madvise(t->m, va, HUGE, MM_MADV_NOHUGEPAGE));
	touch(t, va, 512);
	assert_int_equal(0, do_madvise(t->m, va, HUGE, MM_MADV_HUGEPAGE));
	sleep_ns((t->param - 2) * SECOND);
	assert_false(is_huge(t, va));
	sleep_ns(3 * SECOND);
	assert_true(is_huge(t, va));
}

TEST(it_sleeps_between_its_rounds)
{
	on_machine(&(struct test){.fn = later, .param = 10}, "6.18", NULL, NULL);
	on_machine(&(struct test){.fn = later, .param = 20}, "6.18",
	           "khugepaged.scan_sleep_millisecs", "20000");
}

static void budget(struct test *t, u64 va)
{
	u32 nr = 0;

	assert_int_equal(0, do_madvise(t->m, va, 6 * HUGE, MM_MADV_NOHUGEPAGE));
	touch(t, va, 6 * 512);
	assert_int_equal(0, do_madvise(t->m, va, 6 * HUGE, MM_MADV_HUGEPAGE));
	sleep_ns(SECOND);
	for (u32 i = 0; i < 6; i++)
		nr += is_huge(t, va + i * HUGE);
	assert_int_equal(nr, t->param);
}

/* A round ends with the range in which the budget does: 1 for the address space and 512 for each. */
TEST(a_round_looks_at_pages_to_scan)
{
	on_machine(&(struct test){.fn = budget, .param = 6}, "6.18", NULL, NULL);
	on_machine(&(struct test){.fn = budget, .param = 2}, "6.18", "khugepaged.pages_to_scan",
	           "1024");
}

static void no_memory(struct test *t, u64 va)
{
	u32 *fail = &t->m->world->fail_every[WORLD_FAIL_PAGE_ALLOC];

	touch(t, va, 512);
	*fail = 1;
	assert_int_equal(0, do_madvise(t->m, va, HUGE, MM_MADV_HUGEPAGE));
	sleep_ns(SECOND);
	assert_int_equal(1, event(t, THP_COLLAPSE_ALLOC_FAILED));
	*fail = 0;
	sleep_ns((t->param - 2) * SECOND);
	assert_false(is_huge(t, va));
	sleep_ns(2 * SECOND + SCAN_NS);
	assert_true(is_huge(t, va));
}

TEST(without_memory_it_sleeps_longer)
{
	on_machine(&(struct test){.fn = no_memory, .param = 60}, "6.18", NULL, NULL);
	on_machine(&(struct test){.fn = no_memory, .param = 5}, "6.18",
	           "khugepaged.alloc_sleep_millisecs", "5000");
}

/* All memory is in use; then half is given back, page by page: no huge page is free. */
static void in_pieces(struct test *t, u64 va)
{
	struct machine *m = t->m;
	u64 len, map;

	/* What will be left, tables apart, is above all marks: nothing is swapped, and kcompactd has no reason. */
	len = (nr_free_pages(m) - 1000 - 512) * PAGE_SIZE;
	assert_int_equal(0, do_mmap(m, len, MM_PROT_READ | MM_PROT_WRITE, 0, &map));
	assert_int_equal(0, do_madvise(m, map, len, MM_MADV_NOHUGEPAGE));
	assert_int_equal(0, mm_access(m, map, len, WORLD_WRITE, 0));
	touch(t, va, 512);
	for (u64 at = map; at < map + len; at += 2 * PAGE_SIZE)
		assert_int_equal(0, do_madvise(m, at, PAGE_SIZE, MM_MADV_DONTNEED));
	assert_true(collapses(t, va) == (m->knob.khugepaged_defrag == KNOB_ON));
}

TEST(defrag_decides_whether_it_compacts)
{
	on_machine(&(struct test){.fn = in_pieces}, "6.18", NULL, NULL);
	on_machine(&(struct test){.fn = in_pieces}, "6.18", "khugepaged.defrag", "off");
}

TEST_MAIN("khugepaged")
