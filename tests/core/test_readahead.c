/*
 * Readahead windows.
 *
 * Aim: the windows are Linux's, and so is what interrupts a sequence. Method: a file of holes on the
 * null world, whose reads complete at once; after each access the state of the open file is compared.
 */
#include "core/fs.h"
#include "tests/core/mm_fixture.h"

static struct file *file;

/* The test's task stays in the kernel, as in a system call. */
static void machine_setup(const char *preset)
{
	fix_start(1, 4096, preset, NULL);
	world_syscall_enter();
}

static void machine_teardown(void)
{
	world_syscall_exit();
	fix_stop();
}

static void make_file(u64 pages)
{
	struct inode *inode;

	assert_int_equal(
		0, inode_create(fix.m, &fix.m->fs->sb[0], "data", pages * PAGE_SIZE, true, &inode));
	assert_int_equal(0, file_open(fix.m, inode, &file));
}

/* What read() of one page does. */
static void read_page(u64 index)
{
	struct address_space *mapping = &file->f_inode->i_data;
	struct page *page = find_get_page(fix.m, mapping, index);

	if (!page) {
		page_cache_sync_readahead(fix.m, file, index, 1);
		page = find_get_page(fix.m, mapping, index);
	}
	if (!page) { /* the window began behind it: the reader gets it for itself */
		do_page_cache_readahead(fix.m, file, index, 1, 0);
		page = find_get_page(fix.m, mapping, index);
	}
	assert_non_null(page);
	if (page_test(page, PG_readahead))
		page_cache_async_readahead(fix.m, file, page, index, 1);
	put_page(fix.m, page);
	file->f_ra.prev_pos = (s64)(index << PAGE_SHIFT);
}

static void window_is(u64 start, u32 size, u32 async)
{
	assert_int_equal(file->f_ra.start, start);
	assert_int_equal(file->f_ra.size, size);
	assert_int_equal(file->f_ra.async_size, async);
}

/* Windows 4 (marker at 1), 8, 16, 32, 32 ... */
static void reads_in_order(void)
{
	make_file(200);
	read_page(0);
	window_is(0, 4, 3);
	read_page(1); /* the marker: the next window starts behind this one, all of it ahead */
	window_is(4, 8, 8);
	for (u64 i = 2; i < 5; i++)
		read_page(i);
	window_is(12, 16, 16);
	for (u64 i = 5; i < 13; i++)
		read_page(i);
	window_is(28, 32, 32);
	for (u64 i = 13; i < 29; i++)
		read_page(i);
	window_is(60, 32, 32);
	assert_int_equal(file->f_inode->i_data.nrpages, 92);
}

TEST(sequential_reads_open_windows_of_4_8_16_32_pages)
{
	machine_setup("4.0");
	reads_in_order();
	machine_teardown();
	machine_setup("6.18");
	fix.m->knob.max_folio_order = 0;
	reads_in_order();
	machine_teardown();
}

/* The folio that has @index begins at @start and has @nr pages. */
static void folio_is(u64 index, u64 start, u32 nr)
{
	struct page *folio = find_get_page(fix.m, &file->f_inode->i_data, index);

	assert_non_null(folio);
	assert_int_equal(folio->index, start);
	assert_int_equal(compound_nr(folio), nr);
	put_page(fix.m, folio);
}

/*
 * page_cache_async_ra() of 6.18, by hand: each marker makes the order 2 higher, of which a window takes what fits
 * it, and cuts the window where a folio of that order would end, if that leaves anything of it.
 *
 *   marker at   window before that  order, aligned to  end      window     folios
 *   1           4 + 8               2, 4               12       4 + 8      of 4
 *   4           12 + 16             4, 16              28: 16   12 + 4     of 4, ilog2(4) being 2
 *   12          16 + 8              4, 16              24: none 16 + 8     of 8
 *   16          24 + 16             5, 32              40: 32   24 + 8     of 8
 *   24          32 + 16             5, 32              48: none 32 + 16    of 16
 *   32          48 + 32             6, 32              80: 64   48 + 16    of 16
 *   48          64 + 32             6, 32              96       64 + 32    of 32
 *   64          96 + 32             7, 32              128      96 + 32    of 32
 */
TEST(folios_grow_with_the_windows_of_a_sequence)
{
	static const struct {
		u64 at;
		u64 start;
		u32 size;
		u32 nr;
	} row[] = {
		{1, 4, 8, 4},     {4, 12, 4, 4},    {12, 16, 8, 8},   {16, 24, 8, 8},
		{24, 32, 16, 16}, {32, 48, 16, 16}, {48, 64, 32, 32}, {64, 96, 32, 32},
	};
	u64 index = 0;

	machine_setup("6.18");
	make_file(200);
	for (u32 i = 0; i < ARRAY_SIZE(row); i++) {
		while (index <= row[i].at)
			read_page(index++);
		window_is(row[i].start, row[i].size, row[i].size);
		folio_is(row[i].start, row[i].start, row[i].nr);
		folio_is(row[i].start + row[i].size - 1, row[i].start + row[i].size - row[i].nr,
		         row[i].nr);
	}
	/* The file's end: 196 to 199, and nothing behind it. */
	while (index < 200)
		read_page(index++);
	assert_int_equal(file->f_inode->i_data.nrpages, 200);
	folio_is(199, 192, 8);
	machine_audit(fix.m);
	machine_teardown();
}

/* fs.max_folio_order is what limits them; where there is a page in the way, single pages fill the rest. */
TEST(folios_are_as_large_as_the_file_system_allows_and_leave_out_what_is_there)
{
	machine_setup("6.18");
	fix.m->knob.max_folio_order = 1;
	make_file(200);
	do_page_cache_readahead(fix.m, file, 7, 1, 0);
	for (u64 i = 0; i < 2; i++)
		read_page(i);
	window_is(4, 8, 8);
	folio_is(5, 4, 2);
	for (u64 i = 6; i < 12; i++)
		folio_is(i, i, 1);
	machine_teardown();
}

TEST(window_sizes_are_those_of_the_table)
{
	static const u64 init[][2] = {{1, 4}, {2, 4}, {4, 8}, {8, 16}, {9, 32}, {33, 32}};
	static const u64 next[][2] = {{1, 4}, {2, 4}, {4, 8}, {8, 16}, {16, 32}, {32, 32}};

	for (u32 i = 0; i < ARRAY_SIZE(init); i++)
		assert_int_equal(get_init_ra_size(init[i][0], 32), init[i][1]);
	for (u32 i = 0; i < ARRAY_SIZE(next); i++)
		assert_int_equal(get_next_ra_size(next[i][0], 32), next[i][1]);
}

TEST(a_read_that_follows_nothing_reads_what_it_asks_for)
{
	machine_setup("6.18");
	make_file(1000);
	read_page(500);
	assert_int_equal(file->f_inode->i_data.nrpages, 1);
	window_is(0, 0, 0);
	machine_teardown();
}

/* Another file description read what comes before: the cache says so. One page more than asked for. */
TEST(pages_cached_before_the_miss_are_taken_for_a_sequence)
{
	struct inode *inode;

	machine_setup("6.18");
	make_file(1000);
	for (u64 i = 0; i < 3; i++)
		do_page_cache_readahead(fix.m, file, 100 + i, 1, 0);
	inode = file->f_inode;
	assert_int_equal(0, file_open(fix.m, inode, &file));
	read_page(103);
	window_is(103, 4, 1); /* 3 before, 1 asked for */
	machine_teardown();
}

/* A page that was dropped in the middle of a sequence: only the older form knows that it was expected. */
TEST(a_miss_at_an_expected_place_continues_the_sequence_before_6_18)
{
	for (u32 i = 0; i < 2; i++) {
		machine_setup(i ? "6.18" : "4.0");
		make_file(200);
		file->f_ra = (struct file_ra_state){
			.start = 50, .size = 8, .async_size = 4, .ra_pages = 32, .prev_pos = 0};
		read_page(54);
		if (i)
			window_is(50, 8, 4); /* random: just the page */
		else
			window_is(58, 16, 16);
		machine_teardown();
	}
}

TEST(the_marker_is_ignored_on_a_page_under_writeback)
{
	struct page *page;

	machine_setup("4.0");
	make_file(200);
	read_page(0);
	page = find_get_page(fix.m, &file->f_inode->i_data, 1);
	assert_true(page_test(page, PG_readahead));
	page->flags |= 1u << PG_writeback;
	page_cache_async_readahead(fix.m, file, page, 1, 1);
	page->flags &= ~(1u << PG_writeback);
	window_is(0, 4, 3);
	put_page(fix.m, page);
	machine_teardown();
}

TEST(readahead_ends_with_the_file)
{
	machine_setup("6.18");
	make_file(3);
	read_page(0);
	assert_int_equal(file->f_inode->i_data.nrpages, 3);
	machine_teardown();
}

TEST_MAIN("readahead")
