/*
 * Numbers as text, against the forms of the mails; and tables that find their widths.
 */
#include "report/format.h"

#include "report/grid.h"
#include "tests/report/fixture.h"

#define MS 1000000UL

TEST(time_lines_are_the_mails)
{
	char buf[FORMAT_MAX];

	/* Mail 000, its three lines. */
	assert_string_equal(format_time_line(buf, 6780 * MS, 234090 * MS, 48890 * MS),
	                    "6.78user 234.09system 0:48.89elapsed");
	assert_string_equal(format_time_line(buf, 6030 * MS, 401170 * MS, 90670 * MS),
	                    "6.03user 401.17system 1:30.67elapsed");
	assert_string_equal(format_time_line(buf, 5680 * MS, 113420 * MS, 36520 * MS),
	                    "5.68user 113.42system 0:36.52elapsed");
}

TEST(elapsed_carries_into_minutes_and_hours)
{
	char buf[FORMAT_MAX];

	assert_string_equal(format_elapsed(buf, 0), "0:00.00");
	assert_string_equal(format_elapsed(buf, 59994 * MS), "0:59.99");
	assert_string_equal(format_elapsed(buf, 59996 * MS), "1:00.00");
	assert_string_equal(format_elapsed(buf, 3599990 * MS), "59:59.99");
	assert_string_equal(format_elapsed(buf, 3600000 * MS), "1:00:00");
	assert_string_equal(format_elapsed(buf, 3723000 * MS), "1:02:03");
}

TEST(nanoseconds_have_three_digits)
{
	char buf[FORMAT_MAX];

	assert_string_equal(format_ns(buf, 0), "0ns");
	assert_string_equal(format_ns(buf, 145), "145ns");
	assert_string_equal(format_ns(buf, 999.6), "1.00us");
	assert_string_equal(format_ns(buf, 1070), "1.07us");
	assert_string_equal(format_ns(buf, 12345678), "12.3ms");
	assert_string_equal(format_ns(buf, 999.6e6), "1.00s");
	assert_string_equal(format_ns(buf, 234090e6), "234s");
}

TEST(counts_are_whole_where_they_are_whole)
{
	char buf[FORMAT_MAX];

	assert_string_equal(format_count(buf, 7864320), "7864320");
	assert_string_equal(format_count(buf, 4733.8), "4733.8");
	assert_string_equal(format_count(buf, 873313.8), "873314");
	assert_string_equal(format_count(buf, 0), "0");
}

TEST(comparisons_never_invent_a_percent)
{
	char buf[FORMAT_MAX];
	struct comparison c = {
		.base = 10, .value = 18.55, .ratio = 1.855, .judged = true, .significant = true};

	assert_string_equal(format_comparison(buf, &c), "+85.5%");
	c.significant = false;
	assert_string_equal(format_comparison(buf, &c), "~");
	c.judged = false; /* too few pairs: shown, and said elsewhere */
	assert_string_equal(format_comparison(buf, &c), "+85.5%");
	c.ratio = 12.34;
	assert_string_equal(format_comparison(buf, &c), "x12.3");
	c.value = 0;
	assert_string_equal(format_comparison(buf, &c), "gone");
	c.base = 0;
	assert_string_equal(format_comparison(buf, &c), "=");
	c.value = 3;
	assert_string_equal(format_comparison(buf, &c), "new");
}

TEST(grids_align_and_have_no_trailing_spaces)
{
	struct grid g;
	char *text;

	grid_init(&g, "lrl");
	grid_cell(&g, "name");
	grid_cell(&g, "n");
	grid_cell(&g, "note");
	grid_cell(&g, "a");
	grid_cell(&g, "%d", 1234);
	grid_cell(&g, "%s", "");
	grid_cell(&g, "longer");
	grid_cell(&g, "7"); /* the last cell is missing */
	text = fixture_printed(grid_print(&g, f, 2, 80, 1));
	assert_string_equal(text, "  name       n  note\n"
	                          "  a       1234\n"
	                          "  longer     7\n");
	free(text);
	grid_free(&g);
}

TEST(wide_grids_are_cut_and_repeat_their_first_columns)
{
	struct grid g;
	char *text;

	grid_init(&g, "lrrr");
	grid_cell(&g, "k");
	grid_cell(&g, "one");
	grid_cell(&g, "two");
	grid_cell(&g, "three");
	grid_cell(&g, "x");
	grid_cell(&g, "1");
	grid_cell(&g, "2");
	grid_cell(&g, "3");
	text = fixture_printed(grid_print(&g, f, 0, 12, 1));
	assert_string_equal(text, "k  one  two\n"
	                          "x    1    2\n"
	                          "\n"
	                          "k  three\n"
	                          "x      3\n");
	free(text);
	/* With single spaces it needs 1 + 4 + 4 + 6. */
	text = fixture_printed(grid_print(&g, f, 0, 15, 1));
	assert_string_equal(text, "k one two three\n"
	                          "x   1   2     3\n");
	free(text);
	grid_free(&g);
}

TEST(headings_have_no_column_and_last_columns_may_wrap)
{
	struct grid g;
	char *text;

	grid_init(&g, "rl");
	g.wrap = true;
	grid_heading(&g, "a heading that is long (%s)", "s");
	grid_cell(&g, "1");
	grid_cell(&g, "user/fault/alloc/direct_reclaim/shrink_inactive");
	grid_cell(&g, "22");
	grid_cell(&g, "short");
	text = fixture_printed(grid_print(&g, f, 1, 32, 1));
	assert_string_equal(text, " a heading that is long (s)\n"
	                          "  1 user/fault/alloc/\n"
	                          "    direct_reclaim/\n"
	                          "    shrink_inactive\n"
	                          " 22 short\n");
	free(text);
	grid_free(&g);
	text = fixture_printed(text_wrap(f, " note: ", "one two\n three  four", 16));
	assert_string_equal(text, " note: one two\n"
	                          "       three\n"
	                          "       four\n");
	free(text);
}

TEST(lines_too_long_go_on_further_in)
{
	char *text;

	/* 16 columns hold "  one two  three"; two spaces between words stay, and go where a line ends. */
	text = fixture_printed(text_fold(f, "  one two  three", 16));
	assert_string_equal(text, "  one two  three\n");
	free(text);
	text = fixture_printed(text_fold(f, "  one two  three four five", 15));
	assert_string_equal(text, "  one two\n"
	                          "      three\n"
	                          "      four five\n");
	free(text);
	/* A word that fits nowhere stays whole. */
	text = fixture_printed(text_fold(f, "  a direct_reclaim/shrink_inactive", 15));
	assert_string_equal(text, "  a\n"
	                          "      direct_reclaim/shrink_inactive\n");
	free(text);
}

TEST_MAIN("format")
