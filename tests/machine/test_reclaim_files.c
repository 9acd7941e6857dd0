/*
 * Reclaim of file pages, where it takes many of them to see it.
 *
 * Aim: index nodes that hold nothing but shadows do not fill memory; refaults are counted as Linux counts
 * them; zone_reclaim_mode takes from the local node's page cache before it goes to another node; mlocked
 * pages of mapped files stay where they are. Method: small simulated machines, audited at the end.
 */
#include "tests/machine/stage.h"

static u64 number; /* what a task found */

static void set(const char *preset, u32 nr_nodes, u64 ram_pages, const char *knob,
                const char *value)
{
	char err[256];

	stage_begin(preset, nr_nodes == 1 ? 2 : 1, nr_nodes, ram_pages);
	hw_add_files(stage.hw, PAGES(8192));
	BUG_ON(knob && knob_set(&stage.knobs, knob, value, err, sizeof(err)));
	stage_build();
}

/* ---- shadows ---- */

#define LONG_FILE 60000

static void reads_once(struct task *t, void *arg)
{
	u64 done;
	u32 fd;

	(void)t, (void)arg;
	stage.result |= do_open(stage.m, stage.file, &fd);
	stage.result |= do_pread(stage.m, fd, 0, PAGES(LONG_FILE), &done);
	stage.result |= done != PAGES(LONG_FILE);
	stage.result |= do_close(stage.m, fd);
}

TEST(index_nodes_of_shadows_do_not_fill_memory)
{
	static const struct {
		const char *preset;
		const char *value;
		u64 max; /* spared, of 3,072 pages; about as many are in the page cache */
	} row[] = {
		{"4.0", "present/16", 3072 / 16},
		{"4.0", "file/8", 3072 / 8},
		{"6.18", "present/8", 3072 / 8},
	};

	for (u32 i = 0; i < ARRAY_SIZE(row); i++) {
		set(row[i].preset, 1, 3072, "workingset.nodes", row[i].value);
		stage_file(LONG_FILE, true);
		stage_play(reads_once);
		/* 60,000 pages have left shadows in some 900 nodes of 64 slots. */
		print_message("%s, %s: %lu nodes reclaimed, %lu left\n", row[i].preset,
		              row[i].value, stage_item(WORKINGSET_NODERECLAIM),
		              stage_item(WORKINGSET_NODES));
		assert_true(stage_item(WORKINGSET_NODERECLAIM) > 200);
		assert_true(stage_event(SLABS_SCANNED) >= stage_item(WORKINGSET_NODERECLAIM));
		/* They are taken in proportion to what else is scanned, and so some late. */
		assert_true(stage_item(WORKINGSET_NODES) < 3 * row[i].max);
		stage_strike();
	}
}

TEST(without_shadows_there_is_nothing_to_shrink)
{
	set("3.1", 1, 3072, NULL, NULL); /* before 3.15 */
	stage_file(LONG_FILE, true);
	stage_play(reads_once);
	assert_int_equal(stage_item(WORKINGSET_NODERECLAIM), 0);
	assert_int_equal(stage_item(WORKINGSET_NODES), 0);
	stage_strike();
}

/* A loop over somewhat more than fits: what comes back was away for less than the active list is long. */
static void loops(struct task *t, void *arg)
{
	u64 done;
	u32 fd;

	(void)t, (void)arg;
	stage.result |= do_open(stage.m, stage.file, &fd);
	for (u32 i = 0; i < 2; i++) /* twice at once: active */
		stage.result |= do_pread(stage.m, fd, 0, PAGES(800), &done);
	for (u32 i = 0; i < 12; i++) {
		stage.result |= do_pread(stage.m, fd, PAGES(800), PAGES(2400), &done);
		if (i % 4 == 3) /* by then they have been active, and evicted */
			stage.result |= do_pread(stage.m, fd, 0, PAGES(800), &done);
	}
	stage.result |= do_close(stage.m, fd);
}

TEST(refaults_activate_and_restore)
{
	set("6.18", 1, 3072, NULL, NULL);
	stage_file(3200, false);
	stage_play(loops);
	print_message("%lu refaults, %lu activated, %lu restored\n",
	              stage_item(WORKINGSET_REFAULT_FILE), stage_item(WORKINGSET_ACTIVATE_FILE),
	              stage_item(WORKINGSET_RESTORE_FILE));
	assert_true(stage_item(WORKINGSET_REFAULT_FILE) > 1000);
	assert_true(stage_item(WORKINGSET_ACTIVATE_FILE) > 100);
	assert_true(stage_item(WORKINGSET_ACTIVATE_FILE) <= stage_item(WORKINGSET_REFAULT_FILE));
	/* Restored: activated, and it had been active when it was evicted. */
	assert_true(stage_item(WORKINGSET_RESTORE_FILE) > 0);
	assert_true(stage_item(WORKINGSET_RESTORE_FILE) <= stage_item(WORKINGSET_ACTIVATE_FILE));
	assert_int_equal(stage_item(WORKINGSET_REFAULT_ANON), 0);
	stage_strike();
}

/* ---- node_reclaim ---- */

/* The page cache fills node 0, which has 6,143 pages and the CPU; then memory is wanted there. How much of it comes from node 1? */
static void wants_memory(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 done, va;
	u64 other = stage_item(NUMA_OTHER);
	u32 fd;

	(void)t, (void)arg;
	stage.result |= do_open(m, stage.file, &fd);
	stage.result |= do_pread(m, fd, 0, PAGES(5700), &done);
	other = stage_item(NUMA_OTHER);
	stage.result |= do_mmap(m, PAGES(1500), RW, 0, &va);
	stage.result |= mm_access(m, va, PAGES(1500), WORLD_FILL, 0);
	number = stage_item(NUMA_OTHER) - other;
	stage.result |= do_close(m, fd);
}

TEST(the_local_page_cache_goes_before_another_node_is_used)
{
	static const char *const preset[] = {"2.6.36", "3.1", "4.0", "6.18"};

	for (u32 i = 0; i < ARRAY_SIZE(preset); i++) {
		u64 without;

		set(preset[i], 2, 8192, "vm.zone_reclaim_mode", "0");
		stage_file(5700, true);
		stage_play(wants_memory);
		without = number;
		assert_int_equal(
			stage_event(ZONE_RECLAIM_SUCCESS) + stage_event(ZONE_RECLAIM_FAILED), 0);
		stage_strike();

		set(preset[i], 2, 8192, "vm.zone_reclaim_mode", "1");
		stage_file(5700, true);
		stage_play(wants_memory);
		assert_true(stage_event(ZONE_RECLAIM_SUCCESS) > 10);
		print_message("%s: %lu pages from the other node, %lu with zone_reclaim_mode\n",
		              preset[i], without, number);
		assert_true(without > 500);
		assert_true(number < without / 4);
		stage_strike();
	}
}

static void wants_mapped(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 map, va, other;
	u32 fd;

	(void)t, (void)arg;
	stage.result |= do_open(m, stage.file, &fd);
	stage.result |= do_mmap_file(m, fd, 0, PAGES(5700), MM_PROT_READ, MM_MAP_SHARED, &map);
	stage.result |= mm_access(m, map, PAGES(5700), WORLD_READ, 0);
	other = stage_item(NUMA_OTHER);
	stage.result |= do_mmap(m, PAGES(1500), RW, 0, &va);
	stage.result |= mm_access(m, va, PAGES(1500), WORLD_FILL, 0);
	number = stage_item(NUMA_OTHER) - other;
	stage.result |= do_close(m, fd);
}

TEST(mapped_pages_are_not_for_node_reclaim_to_take)
{
	/* Mode 1 may not unmap: file pages that are mapped do not count as reclaimable. */
	set("4.0", 2, 8192, "vm.zone_reclaim_mode", "1");
	stage_file(5700, true);
	stage_play(wants_mapped);
	assert_true(number > 500);
	assert_int_equal(stage_event(ZONE_RECLAIM_SUCCESS), 0);
	stage_strike();
	/* 1 + 4 may. */
	set("4.0", 2, 8192, "vm.zone_reclaim_mode", "5");
	stage_file(5700, true);
	stage_play(wants_mapped);
	assert_true(stage_event(ZONE_RECLAIM_SUCCESS) > 0);
	stage_strike();
}

/* ---- mlock of mapped files ---- */

static const char *const mlock_presets[] = {"3.1", "3.16", "4.5", "6.18"};

/* Locked pages stay while four times as much is read past them. */
static void locks_and_reads(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 map, done, major;
	u32 fd;

	(void)arg;
	stage.result |= do_open(m, stage.file, &fd);
	stage.result |= do_mmap_file(m, fd, 0, PAGES(500), RW, MM_MAP_SHARED, &map);
	stage.result |= do_mlock(m, map + PAGES(100), PAGES(300));
	BUG_ON(stage_item(NR_MLOCK) != 300 && !m->knob.mlock_isolate);
	stage.result |= mm_access(m, map, PAGES(500), WORLD_WRITE, 0);
	for (u32 i = 0; i < 2; i++)
		stage.result |= do_pread(m, fd, PAGES(500), PAGES(5000), &done);
	/* They are written back like others, and stay mapped. */
	stage.result |= do_msync(m, map, PAGES(500));
	major = t->maj_flt;
	stage.result |= mm_access(m, map + PAGES(100), PAGES(300), WORLD_READ, 0);
	BUG_ON(t->maj_flt != major);
	world_syscall_enter();
	lru_add_drain_all(m, false);
	world_syscall_exit();
	BUG_ON(stage_item(NR_MLOCK) != 300 || stage_item(NR_UNEVICTABLE) != 300);
	/* Half of it is unlocked, a quarter unmapped: those pages are as others again. */
	stage.result |= do_munlock(m, map + PAGES(100), PAGES(150));
	stage.result |= do_munmap(m, map + PAGES(250), PAGES(75));
	world_syscall_enter();
	lru_add_drain_all(m, false);
	world_syscall_exit();
	BUG_ON(stage_item(NR_MLOCK) != 75 || stage_item(NR_UNEVICTABLE) != 75);
	/* Cut off under the lock: nothing is left to be locked. */
	stage.result |= do_ftruncate(m, fd, PAGES(350));
	world_syscall_enter();
	lru_add_drain_all(m, false);
	world_syscall_exit();
	BUG_ON(stage_item(NR_MLOCK) != 25);
	stage.result |= do_close(m, fd);
}

TEST(locked_pages_of_a_file_stay_until_unlocked_unmapped_or_cut_off)
{
	for (u32 i = 0; i < ARRAY_SIZE(mlock_presets); i++) {
		set(mlock_presets[i], 1, 4096, "fs.max_folio_order", "0");
		stage_file(5500, false);
		stage_play(locks_and_reads);
		assert_int_equal(stage_item(NR_MLOCK), 0);
		assert_true(stage_event(PGSTEAL_FILE) > 0 ||
		            vm_event_zones(stage.m, PGSTEAL_KSWAPD_DMA));
		stage_strike();
	}
}

/* Large folios are not mlocked themselves: reclaim finds the lock at their ptes. */
static void locks_large_folios(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 map, done, major;
	u32 fd;

	(void)arg;
	stage.result |= do_open(m, stage.file, &fd);
	stage.result |= do_pread(m, fd, 0, PAGES(500), &done);
	stage.result |= do_mmap_file(m, fd, 0, PAGES(500), RW, MM_MAP_SHARED, &map);
	stage.result |= do_mlock(m, map + PAGES(100), PAGES(300));
	for (u32 i = 0; i < 2; i++)
		stage.result |= do_pread(m, fd, PAGES(500), PAGES(5000), &done);
	major = t->maj_flt;
	stage.result |= mm_access(m, map + PAGES(100), PAGES(300), WORLD_READ, 0);
	BUG_ON(t->maj_flt != major);
	stage.result |= do_munlock(m, map + PAGES(100), PAGES(300));
	stage.result |= do_ftruncate(m, fd, PAGES(350));
	stage.result |= do_close(m, fd);
}

TEST(locked_large_folios_stay_too)
{
	set("6.18", 1, 4096, NULL, NULL);
	stage_file(5500, false);
	stage_play(locks_large_folios);
	assert_true(stage_event(PGSTEAL_FILE) > 0);
	assert_int_equal(stage_item(NR_MLOCK), 0);
	stage_strike();
}

static void is_second(struct task *t, void *arg)
{
	u64 map;
	u32 fd;

	(void)t, (void)arg;
	stage.result |= do_open(stage.m, stage.file, &fd);
	stage.result |= do_mmap_file(stage.m, fd, 0, PAGES(200), MM_PROT_READ, 0, &map);
	stage.result |= do_mlock(stage.m, map, PAGES(200));
	stage.result |= do_close(stage.m, fd);
}

/* Two tasks lock the same pages: they are locked until both have let go. */
static void shares_locked(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	struct task *child;
	u64 map;
	u32 fd;

	(void)t, (void)arg;
	stage.result |= do_open(m, stage.file, &fd);
	stage.result |= do_mmap_file(m, fd, 0, PAGES(200), MM_PROT_READ, MM_MAP_SHARED, &map);
	stage.result |= do_mlock(m, map, PAGES(200));
	stage.result |= do_fork(m, "child", is_second, NULL, &child);
	task_start(child, -1);
	stage.result |= do_wait(child); /* its locks went with it */
	world_syscall_enter();
	lru_add_drain_all(m, false);
	world_syscall_exit();
	BUG_ON(stage_item(NR_MLOCK) != 200);
	stage.result |= do_munlock(m, map, PAGES(200));
	world_syscall_enter();
	lru_add_drain_all(m, false);
	world_syscall_exit();
	BUG_ON(stage_item(NR_MLOCK));
	stage.result |= do_close(m, fd);
}

TEST(pages_that_two_have_locked_are_locked_until_both_let_go)
{
	for (u32 i = 0; i < ARRAY_SIZE(mlock_presets); i++) {
		set(mlock_presets[i], 1, 4096, "fs.max_folio_order", "0");
		stage_file(300, false);
		stage_play(shares_locked);
		stage_strike();
	}
}

/* A private mapping: the copy is locked, the file's page is not any more. */
static void copies_locked(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 map;
	u32 fd;

	(void)t, (void)arg;
	stage.result |= do_open(m, stage.file, &fd);
	stage.result |= do_mmap_file(m, fd, 0, PAGES(100), RW, 0, &map);
	/* Populating a writable private mapping copies at once. */
	stage.result |= do_mlock(m, map, PAGES(50));
	BUG_ON(stage_item(NR_ANON_MAPPED) != 50);
	stage.result |= do_mlock2(m, map + PAGES(50), PAGES(50), MM_MLOCK_ONFAULT);
	stage.result |= mm_access(m, map + PAGES(50), PAGES(50), WORLD_READ, 0);
	stage.result |= mm_access(m, map + PAGES(50), PAGES(20), WORLD_WRITE, 0);
	world_syscall_enter();
	lru_add_drain_all(m, false);
	world_syscall_exit();
	BUG_ON(stage_item(NR_ANON_MAPPED) != 70);
	number = stage_item(NR_MLOCK);
	stage.result |= do_close(m, fd);
}

TEST(copies_of_locked_private_pages_are_locked)
{
	/* mlock2() is of 4.4; the calls are there in every preset. */
	for (u32 i = 0; i < ARRAY_SIZE(mlock_presets); i++) {
		set(mlock_presets[i], 1, 4096, "fs.max_folio_order", "0");
		stage_file(300, false);
		stage_play(copies_locked);
		/* 70 copies; the 30 that were only read: today they are mlocked when they are mapped. */
		assert_in_range(number, 70, 100);
		stage_strike();
	}
}

TEST_MAIN("reclaim_files")
