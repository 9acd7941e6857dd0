/*
 * Pages: they show the results' numbers, refer to nothing outside, and do what names in users' files say
 * to nobody: not to the browser, not to gnuplot.
 */
#include "report/html.h"

#include "report/heatmap.h"
#include "report/svg.h"
#include "tests/report/fixture.h"

static bool has(const char *text, const char *what)
{
	return strstr(text, what) != NULL;
}

static u32 count(const char *text, const char *what)
{
	u32 n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

/* Every table, row and cell that is opened is closed. */
static void assert_balanced(const char *page)
{
	static const char *const tag[] = {"table",   "tr", "td",  "th",  "div", "figure",
	                                  "details", "p",  "ul",  "li",  "b",   "h1",
	                                  "h2",      "h3", "svg", "code"};

	for (size_t i = 0; i < ARRAY_SIZE(tag); i++) {
		char open[2][16];
		char close[16];

		snprintf(open[0], sizeof(open[0]), "<%s>", tag[i]);
		snprintf(open[1], sizeof(open[1]), "<%s ", tag[i]);
		snprintf(close, sizeof(close), "</%s>", tag[i]);
		if (count(page, open[0]) + count(page, open[1]) != count(page, close))
			fail_msg("%s: %u opened, %u closed", tag[i],
			         count(page, open[0]) + count(page, open[1]), count(page, close));
	}
}

static void add_series(struct run_record *r)
{
	struct series s;

	series_init(&s, 1000000);
	for (u64 i = 0; i < 100; i++) {
		series_begin(&s, i * 1000000, false);
		series_add(&s, "Normal free", SERIES_PAGES, 10000 - 50 * i);
		series_add(&s, "Normal min", SERIES_PAGES, 100);
		series_add(&s, "Normal low", SERIES_PAGES, 125);
		series_add(&s, "Normal high", SERIES_PAGES, 150);
		series_add(&s, "nr_free_pages", SERIES_PAGES, 10000 - 50 * i);
		series_add(&s, "pgfault", SERIES_EVENTS, 1000 * i);
		series_add(&s, "idle", SERIES_NS, 500000 * i);
	}
	record_add_series(r, &s);
	series_free(&s);
}

static void fill(struct results *r)
{
	fixture_results(r, FIXTURE_SEEDS);
	for (u32 i = 0; i < r->nr_columns; i++)
		add_series(&r->column[i].record[0]);
}

TEST(a_page_says_who_is_slower_and_how_sure_that_is)
{
	struct results r;
	char *page;

	fill(&r);
	page = fixture_printed(save_html(f, &r));
	assert_balanced(page);
	/* Means of fixture_base and _other: 66 and 132 seconds over 6 seeds. */
	assert_true(has(page, "<b>other</b> takes <b class=\"bad\">100 % longer than</b>"));
	assert_true(has(page, "6 pairs"));
	assert_true(has(page, "11.00"));
	assert_true(has(page, "22.00"));
	assert_true(has(page, "madvise.free"));
	free(page);
	results_free(&r);
}

TEST(a_page_refers_to_nothing_outside)
{
	struct results r;
	char *page;

	fill(&r);
	page = fixture_printed(save_html(f, &r));
	assert_false(has(page, "http"));
	assert_false(has(page, "<script"));
	assert_false(has(page, "@import"));
	assert_false(has(page, "url("));
	free(page);
	results_free(&r);
}

TEST(names_of_users_are_only_text)
{
	static const char name[] =
		"<script>alert(1)</script>\"'`touch /tmp/quire-was-here`$(x)\n\\";
	struct results r;
	char *page;

	unlink("/tmp/quire-was-here");
	fill(&r);
	for (u32 i = 0; i < 2; i++) {
		free(r.column[i].point);
		r.column[i].point = report_strdup(i ? "x=`touch /tmp/quire-was-here`"
		                                    : "x='`touch /tmp/quire-was-here`");
	}
	free(r.column[1].variant);
	r.column[1].variant = report_strdup(name);
	free(r.title);
	r.title = report_strdup(name);
	page = fixture_printed(save_html(f, &r));
	assert_balanced(page);
	assert_false(has(page, "<script"));
	assert_int_equal(access("/tmp/quire-was-here", F_OK), -1);
	free(page);
	results_free(&r);
}

TEST(without_gnuplot_the_tables_stay_and_the_page_says_so)
{
	char *path = report_strdup(getenv("PATH"));
	struct results r;
	char *page;

	fill(&r);
	setenv("PATH", "/nonexistent", 1);
	page = fixture_printed(save_html(f, &r));
	setenv("PATH", path, 1);
	assert_balanced(page);
	assert_true(has(page, "The pictures are missing: gnuplot"));
	assert_false(has(page, "<svg"));
	assert_true(has(page, "22.00"));
	free(page);
	free(path);
	results_free(&r);
}

static bool gnuplot_is_there(void)
{
	return system("command -v gnuplot >/dev/null") == 0;
}

TEST(pictures_have_the_colours_of_the_theme_and_no_names_that_clash)
{
	struct results r;
	char *page;

	if (!gnuplot_is_there())
		skip();
	fill(&r);
	page = fixture_printed(save_html(f, &r));
	/* Zone Normal, page faults, busy CPUs; latency of faults. */
	assert_int_equal(count(page, "<svg"), 4);
	assert_true(has(page, "var(--p1)"));
	assert_true(has(page, "var(--p2)"));
	assert_false(has(page, "rgb("));
	assert_false(has(page, "gpPt"));
	assert_false(has(page, "gnuplot_plot"));
	assert_false(has(page, "<title>Gnuplot"));
	free(page);
	results_free(&r);
}

TEST(svg_that_is_not_what_was_ordered_is_refused)
{
	static const char *const text[] = {
		"",
		"<svg viewBox=\"0 0 1 1\">",
		"<svg viewBox=\"0 0 1 1\"><defs></defs></g>",
		"<svg><defs></defs></g></svg>",
	};
	char *svg[2];

	for (size_t i = 0; i < ARRAY_SIZE(text); i++)
		assert_false(svg_split(text[i], svg, 1));
	/* One of two. */
	assert_false(svg_split("<svg viewBox=\"0 0 1 1\"><defs></defs><g></g></g></svg>", svg, 2));
	assert_true(svg_split("<svg viewBox=\"0 0 1 1\"><g id=\"c\"><defs></defs>"
	                      "<path stroke='rgb(  1,   1,   7)' d='M1.25,2.00'/></g></svg>",
	                      svg, 1));
	assert_string_equal(
		svg[0], "<svg role='img' viewBox='0 0 1 1'><g fill='none' "
			"stroke='currentColor'><path stroke='var(--p7)' d='M1.2,2'/></g></svg>");
	free(svg[0]);
}

/* ---- heat maps ---------------------------------------------------------------------------------- */

/* Two address spaces of four regions; each region is touched in the column of its own number. */
static struct record_heat *diagonal(void)
{
	struct record_heat *h = heat_new(1000000, 4, 8);

	for (u32 i = 8; i--;) {
		u32 touched[4] = {0};

		touched[i % 4] = 64;
		heat_add(h, i / 4, i / 4 ? "b 2" : "a 1", 16 * (i % 4), 16, touched);
	}
	return h;
}

TEST(regions_are_in_order_of_address_and_merge_with_their_neighbours_only)
{
	struct record_heat *h = diagonal();

	heat_reduce(h, 100);
	assert_int_equal(h->nr_rows, 8);
	for (u32 i = 0; i < 8; i++) {
		assert_int_equal(h->row[i].page, 16 * (i % 4));
		assert_string_equal(h->row[i].name, i / 4 ? "b 2" : "a 1");
		assert_int_equal(heat_level(h, i, i % 4, 8), 7);
		assert_int_equal(heat_level(h, i, (i + 1) % 4, 8), 0);
	}
	heat_free(h);
	h = diagonal();
	heat_reduce(h, 3); /* three regions in a row, and what is left of the space */
	assert_int_equal(h->nr_rows, 4);
	assert_int_equal(h->row[0].nr_pages, 48);
	assert_int_equal(h->row[1].nr_pages, 16);
	assert_string_equal(h->row[1].name, "a 1");
	assert_int_equal(h->row[0].touched[2], 64);
	heat_free(h);
}

TEST(a_heat_map_is_drawn_in_the_terminal_and_on_the_page)
{
	struct results r;
	char *text;

	fill(&r);
	r.column[0].record[0].heat = diagonal();
	heat_reduce(r.column[0].record[0].heat, 100);
	text = fixture_printed(text_heatmap(f, &r));
	assert_true(has(text, "|@   |"));
	assert_true(has(text, "|   @|"));
	assert_true(has(text, "b 2"));
	free(text);
	text = fixture_printed(save_html(f, &r));
	assert_balanced(text);
	assert_true(has(text, "memory touched, address by time"));
	assert_true(has(text, "fill='var(--h7)'"));
	free(text);
	results_free(&r);
}

TEST_MAIN("html")
