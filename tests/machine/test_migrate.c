/*
 * Pages that move, on whole machines.
 *
 * Aim: what compaction moves, file pages and locked ones included, keeps its contents, its place in a cache,
 * its list and its counts. Method: a machine of 64 MiB with a file; memory is cut into pieces, and all of it
 * compacted. Contents are tagged and checked, and each machine is audited at the end.
 */
#include "tests/test.h"

#include "core/fs.h"
#include "core/mlock.h"
#include "sim/sim.h"
#include "tests/hw_util.h"
#include "tests/machine/compact.h"

#define NR_PAGES 1024 /* of the file, and of the locked memory */

struct test {
	struct machine *m;
	struct task *task;
	void (*fn)(struct test *t);
	u32 ino;
};

static void task_main(struct task *task, void *arg)
{
	struct test *t = arg;

	t->task = task;
	t->fn(t);
}

static void on_machine(struct test *t, const char *preset, bool buffers)
{
	struct hw_machine *hw = hw_make(1, 1, 64 << 8);
	struct knobs k;
	char err[512] = "";
	struct task *task;
	struct world *w;

	hw_add_files(hw, 64 << 20);
	assert_int_equal(0, knobs_preset(&k, preset));
	k.min_free_kbytes = 512;
	k.buffer_heads = buffers ? KNOB_ON : KNOB_OFF;
	w = sim_create(hw, &(struct sim_options){.seed = 1, .check = true}, err);
	assert_non_null(w);
	t->m = machine_create(w, &k, err, sizeof(err));
	assert_non_null(t->m);
	assert_int_equal(0,
	                 machine_file_create(t->m, "file", NR_PAGES * PAGE_SIZE, false, &t->ino));
	task = task_create(t->m, "user", NULL, task_main, t);
	task_start(task, 0);
	assert_int_equal(0, sim_run(w));
	task_put(task);
	machine_audit(t->m);
	machine_destroy(t->m);
	sim_destroy(w);
	hw_free(hw);
}

static struct page *page_at(struct test *t, u64 va)
{
	u32 table = pt_find(t->m, t->task->mm, va);

	assert_true(table != 0);
	return pfn_to_page(t->m, pte_pfn(*pt_entry(t->m, table, va)));
}

static u64 map(struct test *t, u64 nr_pages)
{
	u64 va;

	assert_int_equal(0,
	                 do_mmap(t->m, nr_pages * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, 0, &va));
	return va;
}

/* Every second page of the rest of memory is free. */
static void cut(struct test *t)
{
	u64 nr = nr_free_pages(t->m) - 700;
	u64 va = map(t, nr);

	assert_int_equal(0, mm_access(t->m, va, nr * PAGE_SIZE, WORLD_WRITE, 0));
	for (u64 i = 0; i < nr; i += 2)
		do_madvise(t->m, va + i * PAGE_SIZE, PAGE_SIZE, MM_MADV_DONTNEED);
}

static void compact_all(struct test *t)
{
	struct pglist_data *pgdat;
	struct zone *z;

	world_syscall_enter();
	lru_add_drain(t->m);
	drain_all_pages(t->m);
	for_each_populated_zone (t->m, pgdat, z)
		compact_whole_zone(t->m, z);
	lru_add_drain(t->m);
	world_syscall_exit();
}

/* How many of @nr pages from @va on are where they were not before. */
static u32 nr_elsewhere(struct test *t, u64 va, u32 nr, struct page **before)
{
	u32 n = 0;

	for (u32 i = 0; i < nr; i++)
		n += page_at(t, va + i * PAGE_SIZE) != before[i];
	return n;
}

static void where(struct test *t, u64 va, u32 nr, struct page **page)
{
	for (u32 i = 0; i < nr; i++)
		page[i] = page_at(t, va + i * PAGE_SIZE);
}

static struct page *before[NR_PAGES];

static void file_pages(struct test *t)
{
	long dirty;
	u64 va;
	u32 fd;

	assert_int_equal(0, do_open(t->m, t->ino, &fd));
	assert_int_equal(0, do_mmap_file(t->m, fd, 0, NR_PAGES * PAGE_SIZE,
	                                 MM_PROT_READ | MM_PROT_WRITE, MM_MAP_SHARED, &va));
	assert_int_equal(0, mm_access(t->m, va, NR_PAGES * PAGE_SIZE, WORLD_READ, 0));
	assert_int_equal(0, mm_access(t->m, va, NR_PAGES / 4 * PAGE_SIZE, WORLD_FILL, 7));
	where(t, va, NR_PAGES, before);
	cut(t);
	dirty = item_exact(t->m, NR_FILE_DIRTY);
	assert_true(dirty > 0);
	compact_all(t);
	assert_true(nr_elsewhere(t, va, NR_PAGES, before) > 0);
	assert_int_equal(dirty, item_exact(t->m, NR_FILE_DIRTY));
	assert_int_equal(0, mm_access(t->m, va, NR_PAGES * PAGE_SIZE, WORLD_SCAN, 0));
	/* What was dirty still is known to be. */
	assert_int_equal(0, do_fsync(t->m, fd));
	assert_int_equal(0, item_exact(t->m, NR_FILE_DIRTY));
	assert_int_equal(0, mm_access(t->m, va, NR_PAGES * PAGE_SIZE, WORLD_WRITE, 0));
	assert_int_equal(0, do_close(t->m, fd));
}

TEST(pages_of_files_move_and_stay_dirty)
{
	on_machine(&(struct test){.fn = file_pages}, "4.0", true);
	on_machine(&(struct test){.fn = file_pages}, "6.18", true);
	on_machine(&(struct test){.fn = file_pages}, "6.18", false);
}

static void locked_pages(struct test *t)
{
	bool moves = t->m->knob.compact_unevictable;
	u64 va = map(t, NR_PAGES);
	u32 nr = 0;

	assert_int_equal(0, do_mlock(t->m, va, NR_PAGES * PAGE_SIZE));
	where(t, va, NR_PAGES, before);
	cut(t);
	compact_all(t);
	assert_true((nr_elsewhere(t, va, NR_PAGES, before) > 0) == moves);
	for (u32 i = 0; i < NR_PAGES; i++) {
		struct page *page = page_at(t, va + i * PAGE_SIZE);

		assert_true(page_test(page, PG_mlocked));
		nr += page_test(page, PG_unevictable) && page_test(page, PG_lru);
	}
	assert_int_equal(NR_PAGES, nr);
	assert_int_equal(NR_PAGES, item_exact(t->m, NR_MLOCK));
	assert_int_equal(0, do_munlock(t->m, va, NR_PAGES * PAGE_SIZE));
	compact_all(t); /* and drains */
	assert_int_equal(0, item_exact(t->m, NR_MLOCK));
	assert_int_equal(0, item_exact(t->m, NR_UNEVICTABLE));
}

TEST(locked_pages_move_since_4_2_and_stay_locked)
{
	on_machine(&(struct test){.fn = locked_pages}, "4.0", true);
	on_machine(&(struct test){.fn = locked_pages}, "4.5", true);
	on_machine(&(struct test){.fn = locked_pages}, "6.18", true);
}

/* Whoever locks a page that migration has isolated cannot move it to the list; who puts it back does. */
static void locked_while_isolated(struct test *t)
{
	struct machine *m = t->m;
	u64 va = map(t, NR_PAGES);
	struct page_list isolated;

	assert_int_equal(0, mm_access(m, va, NR_PAGES * PAGE_SIZE, WORLD_FILL, 0));
	world_syscall_enter();
	lru_add_drain(m);
	page_list_init(&isolated, m->node[0].mem_map);
	for (u32 i = 0; i < NR_PAGES; i++) {
		struct page *page = page_at(t, va + i * PAGE_SIZE);

		assert_true(isolate_lru_page(m, page));
		page_set(page, PG_isolated);
		mod_node_state(page_zone(m, page), isolated_item(page_lru(page)), 1);
		page_list_add(&isolated, page);
	}
	world_syscall_exit();
	assert_int_equal(0, do_mlock(m, va, NR_PAGES / 2 * PAGE_SIZE));
	assert_int_equal(0, item_exact(m, NR_UNEVICTABLE));
	world_syscall_enter();
	putback_movable_pages(m, &isolated);
	lru_add_drain(m);
	world_syscall_exit();
	for (u32 i = 0; i < NR_PAGES; i++)
		assert_true(page_test(page_at(t, va + i * PAGE_SIZE), PG_unevictable) ==
		            (i < NR_PAGES / 2));
	assert_int_equal(NR_PAGES / 2, item_exact(m, NR_UNEVICTABLE));
}

TEST(a_page_locked_while_it_is_isolated_goes_back_as_unevictable)
{
	on_machine(&(struct test){.fn = locked_while_isolated}, "4.0", true);
	on_machine(&(struct test){.fn = locked_while_isolated}, "6.18", true);
}

static struct page *isolate(struct test *t, struct page *page, struct page_list *list)
{
	struct machine *m = t->m;

	lru_add_drain(m);
	page_list_init(list, m->node[0].mem_map);
	assert_true(isolate_lru_page(m, page));
	page_set(page, PG_isolated);
	mod_node_state(page_zone(m, page), isolated_item(page_lru(page)), 1);
	page_list_add(list, page);
	return page;
}

static struct page *new_page(const struct page *page, void *arg)
{
	(void)page;
	return alloc_pages(((struct test *)arg)->m, GFP_HIGHUSER_MOVABLE, 0);
}

static void free_page(struct page *page, void *arg)
{
	put_page(((struct test *)arg)->m, page);
}

static void assert_not_locked(struct test *t, const struct page *page)
{
	world_syscall_enter();
	lru_add_drain(t->m);
	world_syscall_exit();
	assert_false(page_test(page, PG_mlocked));
	assert_int_equal(0, item_exact(t->m, NR_MLOCK));
	assert_int_equal(0, item_exact(t->m, NR_UNEVICTABLE));
}

/* Ten times a migration takes the pte of a pinned page away, and gives it back. One munlock is enough. */
static void pinned(struct test *t)
{
	const struct migrate_target to = {.get = new_page, .put = free_page, .arg = t};
	struct machine *m = t->m;
	u64 va = map(t, 1);
	struct page_list list;
	struct page *page;

	assert_int_equal(0, do_mlock(m, va, PAGE_SIZE));
	world_syscall_enter();
	page = isolate(t, page_at(t, va), &list);
	get_page(page);
	assert_int_equal(1, migrate_pages(m, &list, &to, MIGRATE_SYNC));
	put_page(m, page);
	putback_movable_pages(m, &list);
	world_syscall_exit();
	assert_ptr_equal(page, page_at(t, va));
	assert_true(page_test(page, PG_mlocked));
	assert_int_equal(0, do_munlock(m, va, PAGE_SIZE));
	assert_not_locked(t, page);
}

TEST(a_locked_page_that_cannot_move_is_not_locked_more_than_once)
{
	on_machine(&(struct test){.fn = pinned}, "4.5", true);
	on_machine(&(struct test){.fn = pinned}, "6.18", true);
}

/* munlock() passes over a migration entry. Today the page has been counted out by who set it. */
static void unlocked_while_moved(struct test *t)
{
	struct machine *m = t->m;
	struct mm_struct *mm = t->task->mm;
	u64 va = map(t, 1);
	struct vm_area_struct *vma;
	struct page *page;
	u32 table;

	assert_int_equal(0, do_mlock(m, va, PAGE_SIZE));
	page = page_at(t, va);
	table = pt_find(m, mm, va);
	world_syscall_enter();
	get_page(page);
	lock_page(m, page);
	spin_lock(&m->table[table].ptl);
	set_migration_pte(m, page, find_vma(mm, va), table, va, 0);
	spin_unlock(&m->table[table].ptl);
	world_syscall_exit();
	assert_int_equal(0, do_munlock(m, va, PAGE_SIZE));
	world_syscall_enter();
	vma = find_vma(mm, va); /* it may have been merged */
	spin_lock(&m->table[table].ptl);
	assert_true(remove_migration_pte(m, vma, table, va, page));
	spin_unlock(&m->table[table].ptl);
	unlock_page(m, page);
	put_page(m, page);
	world_syscall_exit();
	assert_not_locked(t, page);
}

TEST(a_page_unlocked_while_it_moves_does_not_stay_locked)
{
	on_machine(&(struct test){.fn = unlocked_while_moved}, "6.18", true);
}

TEST_MAIN("migrate")
