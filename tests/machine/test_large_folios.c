/*
 * Large folios of files on a whole machine.
 *
 * Aim: a folio is read, mapped, dirtied, written, cut and reclaimed as what it is, and nothing of what it has is
 * lost. Method: a small simulated machine whose contents are checked at every access (--check), audited at the
 * end; one task. What readahead makes is in tests/core/test_readahead.c, random operations in test_random_ops.
 */
#include "tests/machine/stage.h"

static u32 fd;
static bool ran;

static void play(u64 ram_pages, u64 disk_pages, u64 file_pages, bool sparse, stage_fn fn)
{
	ran = false;
	stage_begin("6.18", 2, 1, ram_pages);
	hw_add_files(stage.hw, PAGES(disk_pages));
	stage_build();
	stage_file(file_pages, sparse);
	stage_play(fn);
	assert_true(ran);
	stage_strike();
}

static struct address_space *mapping(void)
{
	return &fd_file(stage.m, fd)->f_inode->i_data;
}

/* The pages of the folio that has @index; 0: nothing is there. */
static u32 folio_nr(u64 index)
{
	u64 entry = xa_load(stage.m, &mapping()->i_pages, index);

	return xa_is_page(entry) ? compound_nr(pfn_to_page(stage.m, entry - 1)) : 0;
}

static void opens(void)
{
	BUG_ON(do_open(stage.m, stage.file, &fd));
}

static void preads(u64 first, u64 nr)
{
	u64 done;

	BUG_ON(do_pread(stage.m, fd, PAGES(first), PAGES(nr), &done) || done != PAGES(nr));
}

static void pwrites(u64 first, u64 nr)
{
	u64 done;

	BUG_ON(do_pwrite(stage.m, fd, PAGES(first), PAGES(nr), &done) || done != PAGES(nr));
}

static u64 maps(u64 nr, u32 prot)
{
	u64 va;

	BUG_ON(do_mmap_file(stage.m, fd, 0, PAGES(nr), prot, MM_MAP_SHARED, &va));
	return va;
}

/* ---- dirty and written ---- */

/* Of a folio of 32 pages one is written: the folio is dirty, the disk gets a block. */
static void writes_one_page(struct task *t, void *arg)
{
	u64 dirtied, written, out;

	(void)t, (void)arg;
	opens();
	preads(0, 256);
	BUG_ON(folio_nr(200) != 32);
	dirtied = stage_item(NR_DIRTIED);
	written = stage_item(NR_WRITTEN);
	out = stage_event(PGPGOUT);
	pwrites(200, 1);
	BUG_ON(stage_item(NR_FILE_DIRTY) != 32);
	BUG_ON(do_fsync(stage.m, fd));
	BUG_ON(stage_item(NR_DIRTIED) - dirtied != 32 || stage_item(NR_WRITTEN) - written != 32);
	BUG_ON(stage_event(PGPGOUT) - out != 4);
	BUG_ON(do_fadvise(stage.m, fd, 0, 0, MM_FADV_DONTNEED));
	BUG_ON(mapping()->nrpages);
	preads(0, 256);
	ran = true;
}

TEST(a_page_written_makes_its_folio_dirty_and_goes_to_disk_alone)
{
	play(4096, 4096, 256, false, writes_one_page);
}

/* A store through a mapping makes all of it dirty; all of it is mapped by one fault, and read-only again after. */
static void stores_to_one_page(struct task *t, void *arg)
{
	u64 va, out, faults;

	(void)arg;
	opens();
	preads(0, 256);
	va = maps(256, MM_PROT_READ | MM_PROT_WRITE);
	/* All of it is mapped, unless it lies in two page tables. */
	va += PAGES(200);
	faults = t->min_flt;
	BUG_ON(mm_access(stage.m, va, PAGE_SIZE, WORLD_WRITE, 0));
	BUG_ON(t->min_flt - faults != 1);
	BUG_ON(stage_item(NR_FILE_MAPPED) != 1 && stage_item(NR_FILE_MAPPED) != 32);
	BUG_ON(stage_item(NR_FILE_DIRTY) != 32);
	out = stage_event(PGPGOUT);
	BUG_ON(do_fsync(stage.m, fd));
	BUG_ON(stage_event(PGPGOUT) - out != 32 * 4);
	BUG_ON(mm_access(stage.m, va, PAGE_SIZE, WORLD_WRITE, 1));
	BUG_ON(stage_item(NR_FILE_DIRTY) != 32);
	ran = true;
}

TEST(a_store_through_a_mapping_makes_all_of_the_folio_dirty)
{
	play(4096, 4096, 256, false, stores_to_one_page);
}

/*
 * While the fault pauses, because its folio has made more dirty than may be, the flusher writes the folio, and makes
 * its entry read-only again; so the store faults again when it comes back, for ever. Linux does the same: 6.18.44 on
 * ext4, a folio of 2 MiB, vm.dirty_bytes = 40960: 105 faults in 9.4 s, and the store was not done.
 */
static u64 nr_store_faults;
static bool stored;

static void stores_to_a_huge_folio(struct task *t, void *arg)
{
	u64 va, faults;

	(void)arg;
	opens();
	pwrites(0, 512);
	BUG_ON(do_fsync(stage.m, fd) || folio_nr(0) != 512);
	va = maps(512, RW);
	faults = t->min_flt;
	stored = !mm_access(stage.m, va, 1, WORLD_WRITE, 0);
	nr_store_faults = t->min_flt - faults;
}

static void kills_after_3_s(struct task *t, void *arg)
{
	struct task *storer = stage.task[0];

	(void)t, (void)arg;
	world_syscall_enter();
	world_sleep(S(3));
	if (!storer->exited) {
		storer->killed = true;
		world_wake_signal(&storer->w);
	}
	world_syscall_exit();
}

static void store_with_limit(long dirty_bytes)
{
	stage_begin("6.18", 2, 1, 16384);
	hw_add_files(stage.hw, MB(16));
	stage.knobs.dirty_bytes = dirty_bytes;
	stage_build();
	stage_file(512, false);
	stage_task("stores", stores_to_a_huge_folio, NULL);
	stage_task("kills", kills_after_3_s, NULL);
	stage_run();
	stage_strike();
}

TEST(a_store_needs_a_dirty_limit_that_its_folio_fits)
{
	store_with_limit(40960);
	assert_false(stored);
	assert_true(nr_store_faults > 20);
	store_with_limit(8 << 20);
	assert_true(stored);
	assert_int_equal(nr_store_faults, 1);
}

/*
 * In locked memory: four folios of 16 pages, in one table. Those that are whole in the mapping are mlocked as such, and
 * munlocked with the first of their pages. The numbers are those of Linux 6.18.44 on ext4.
 */
static void locks(struct task *t, void *arg)
{
	u64 va;

	(void)t, (void)arg;
	opens();
	for (u64 i = 0; i < 64; i += 16)
		pwrites(i, 16);
	BUG_ON(do_fsync(stage.m, fd) || folio_nr(0) != 16 || folio_nr(63) != 16);
	do {
		va = maps(64, RW);
	} while (va >> 21 != (va + PAGES(64) - 1) >> 21);
	BUG_ON(do_mlock(stage.m, va, PAGES(64)));
	BUG_ON(stage_item(NR_MLOCK) != 64 || stage_item(NR_UNEVICTABLE) != 64);
	BUG_ON(do_munlock(stage.m, va, PAGES(64)));
	BUG_ON(stage_item(NR_MLOCK) || stage_item(NR_UNEVICTABLE));
	BUG_ON(do_mlock(stage.m, va, PAGES(64)));
	BUG_ON(stage_item(NR_MLOCK) != 64);
	BUG_ON(do_munlock(stage.m, va + PAGES(20), PAGE_SIZE));
	BUG_ON(stage_item(NR_MLOCK) != 64 - 16);
	/* One goes, one is split, and its rest mapped by nobody. */
	BUG_ON(do_ftruncate(stage.m, fd, PAGES(40)));
	BUG_ON(stage_item(NR_MLOCK) != 16);
	BUG_ON(do_munlock(stage.m, va, PAGES(64)));
	BUG_ON(stage_item(NR_MLOCK));
	BUG_ON(do_mlock(stage.m, va + PAGES(1), PAGE_SIZE));
	BUG_ON(stage_item(NR_MLOCK));
	ran = true;
}

TEST(those_that_are_whole_in_locked_memory_are_mlocked)
{
	play(4096, 4096, 64, false, locks);
}

/* A write makes folios as large as itself and its place allow: 1 at 1, 2 at 2, 4, ... 32 at 32, then 37 are left. */
static void writes_at_one(struct task *t, void *arg)
{
	(void)t, (void)arg;
	opens();
	pwrites(1, 100);
	for (u32 i = 1; i < 64; i *= 2)
		BUG_ON(folio_nr(i) != i);
	BUG_ON(folio_nr(64) != 32 || folio_nr(96) != 4 || folio_nr(100) != 1);
	preads(0, 101);
	BUG_ON(do_fsync(stage.m, fd));
	BUG_ON(stage_item(NR_FILE_DIRTY) || stage_item(NR_WRITEBACK));
	ran = true;
}

TEST(a_write_makes_folios_that_it_fills)
{
	play(4096, 4096, 1, true, writes_at_one);
}

/* ---- cut ---- */

/* Nobody uses it, it is clean: what is left of it are single pages, and what comes behind the end is zero. */
static void cuts_clean(struct task *t, void *arg)
{
	(void)t, (void)arg;
	opens();
	preads(0, 256);
	BUG_ON(folio_nr(200) != 32);
	BUG_ON(do_ftruncate(stage.m, fd, PAGES(200)));
	BUG_ON(mapping()->nrpages != 200 || folio_nr(192) != 1 || folio_nr(199) != 1);
	BUG_ON(folio_nr(160) != 32);
	BUG_ON(do_ftruncate(stage.m, fd, PAGES(256)));
	preads(0, 256);
	ran = true;
}

TEST(a_clean_folio_that_is_cut_is_split)
{
	play(4096, 4096, 256, false, cuts_clean);
}

/* Its buffers cannot be had: it stays whole, of which 10 pages are written, and the others are zero. */
static void cuts_dirty(struct task *t, void *arg)
{
	u64 va, out;

	(void)t, (void)arg;
	opens();
	pwrites(0, 64);
	BUG_ON(folio_nr(0) != 64);
	va = maps(64, MM_PROT_READ | MM_PROT_WRITE);
	BUG_ON(mm_access(stage.m, va, PAGES(64), WORLD_WRITE, 0));
	BUG_ON(do_ftruncate(stage.m, fd, PAGES(10)));
	BUG_ON(folio_nr(0) != 64 || stage_item(NR_FILE_MAPPED));
	out = stage_event(PGPGOUT);
	BUG_ON(do_fsync(stage.m, fd));
	BUG_ON(stage_event(PGPGOUT) - out != 10 * 4);
	BUG_ON(mm_access(stage.m, va, PAGES(10), WORLD_READ, 0));
	BUG_ON(stage_item(NR_FILE_MAPPED) != 10);
	BUG_ON(do_ftruncate(stage.m, fd, PAGES(64)));
	BUG_ON(mm_access(stage.m, va, PAGES(64), WORLD_READ, 0));
	preads(0, 64);
	pwrites(30, 1);
	BUG_ON(do_fsync(stage.m, fd));
	BUG_ON(do_fadvise(stage.m, fd, 0, 0, MM_FADV_DONTNEED));
	preads(0, 64);
	ran = true;
}

TEST(a_dirty_folio_that_is_cut_stays_and_reads_as_zeros_behind_the_end)
{
	play(4096, 4096, 1, true, cuts_dirty);
}

/* ---- given up ---- */

/* Read past twice as much as memory holds: whole folios go, each page of them counted. */
static void reads_twice(struct task *t, void *arg)
{
	(void)t, (void)arg;
	opens();
	for (u32 i = 0; i < 2; i++)
		for (u64 at = 0; at < 8000; at += 100)
			preads(at, 100);
	BUG_ON(stage_event(PGSTEAL_FILE) < 8000 ||
	       stage_event(PGSCAN_FILE) < stage_event(PGSTEAL_FILE));
	BUG_ON(!stage_item(WORKINGSET_REFAULT_FILE));
	ran = true;
}

TEST(folios_are_reclaimed_and_refault_as_the_pages_they_are)
{
	play(4096, 8192, 8000, false, reads_twice);
}

/* Advice about a part of a folio leaves it; about all of it takes it. */
static void advises(struct task *t, void *arg)
{
	(void)t, (void)arg;
	opens();
	preads(0, 256);
	BUG_ON(folio_nr(200) != 32);
	BUG_ON(do_fadvise(stage.m, fd, PAGES(200), PAGES(16), MM_FADV_DONTNEED));
	BUG_ON(folio_nr(200) != 32);
	BUG_ON(do_fadvise(stage.m, fd, PAGES(192), PAGES(32), MM_FADV_DONTNEED));
	BUG_ON(folio_nr(200) || folio_nr(191) != 32 || folio_nr(224) != 32);
	ran = true;
}

TEST(advice_takes_folios_that_it_is_about_as_a_whole)
{
	play(4096, 4096, 256, false, advises);
}

/* ---- a full disk ---- */

/* The disk has 100 blocks left: so many pages of a write are its own, and the rest is none. */
static void fills_the_disk(struct task *t, void *arg)
{
	u64 done;

	(void)t, (void)arg;
	opens();
	BUG_ON(do_pwrite(stage.m, fd, 0, PAGES(300), &done));
	BUG_ON(done != PAGES(100));
	preads(0, 100);
	BUG_ON(do_fsync(stage.m, fd));
	BUG_ON(do_pwrite(stage.m, fd, PAGES(100), PAGE_SIZE, &done) != -ENOSPC);
	BUG_ON(do_fadvise(stage.m, fd, 0, 0, MM_FADV_DONTNEED));
	preads(0, 100);
	ran = true;
}

TEST(a_write_of_folios_ends_where_the_disk_does)
{
	play(4096, 100, 1, true, fills_the_disk);
}

TEST_MAIN("large_folios")
