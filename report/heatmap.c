/*
 * Address x time. See heatmap.h.
 */
#include "report/heatmap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/size.h"
#include "lib/sort.h"
#include "report/format.h"
#include "report/html.h"

#define TEXT_ROWS 40
#define TEXT_COLUMNS 64
#define LEVELS 8 /* on the page: --h0 ... --h7 */
/* The picture, in its own units: the same for all, and small enough for its text to be read on a phone. */
#define PLOT_WIDTH 340
#define PLOT_HEIGHT 300
#define LABEL_WIDTH 72

/* ---- making it ---------------------------------------------------------------------------------- */

struct record_heat *heat_new(u64 column_ns, u32 nr_columns, u32 nr_rows)
{
	struct record_heat *h = report_alloc(1, sizeof(*h));

	h->column_ns = column_ns;
	h->nr_columns = nr_columns;
	h->row = report_alloc(nr_rows, sizeof(*h->row));
	return h;
}

void heat_add(struct record_heat *h, u32 space, const char *name, u64 page, u64 nr_pages,
              const u32 *touched)
{
	struct heat_region *r = &h->row[h->nr_rows++];

	r->name = report_strdup(name);
	/* The address space goes with the page until the rows are in order. */
	r->page = (u64)space << 48 | page;
	r->nr_pages = nr_pages;
	r->touched = report_alloc(h->nr_columns, sizeof(*touched));
	memcpy(r->touched, touched, h->nr_columns * sizeof(*touched));
}

static int by_page(const void *a, const void *b, void *arg)
{
	u64 x = ((const struct heat_region *)a)->page;
	u64 y = ((const struct heat_region *)b)->page;

	(void)arg;
	return (x > y) - (x < y);
}

static void free_region(struct heat_region *r)
{
	free(r->name);
	free(r->touched);
}

/* Neighbours of the same address space become one, so many that all fit. */
static void merge_rows(struct record_heat *h, u32 per_row)
{
	u32 n = 0;
	u32 merged = 0;

	for (u32 i = 0; i < h->nr_rows; i++) {
		struct heat_region *to = n ? &h->row[n - 1] : NULL;
		struct heat_region *r = &h->row[i];

		if (!to || merged == per_row || strcmp(to->name, r->name) != 0) {
			h->row[n++] = *r;
			merged = 1;
			continue;
		}
		for (u32 c = 0; c < h->nr_columns; c++)
			to->touched[c] += r->touched[c];
		to->nr_pages += r->nr_pages;
		merged++;
		free_region(r);
	}
	h->nr_rows = n;
}

void heat_reduce(struct record_heat *h, u32 nr_rows)
{
	sort_stable(h->row, h->nr_rows, sizeof(*h->row), by_page, NULL);
	for (u32 i = 0; i < h->nr_rows; i++)
		h->row[i].page &= (1UL << 48) - 1;
	if (h->nr_rows > nr_rows)
		merge_rows(h, (h->nr_rows + nr_rows - 1) / nr_rows);
}

void heat_free(struct record_heat *h)
{
	if (!h)
		return;
	for (u32 i = 0; i < h->nr_rows; i++)
		free_region(&h->row[i]);
	free(h->row);
	free(h);
}

void heat_write(const struct record_heat *h, struct bytes *out)
{
	bytes_u64(out, h != NULL);
	if (!h)
		return;
	bytes_u64(out, h->column_ns);
	bytes_u64(out, h->nr_columns);
	bytes_u64(out, h->nr_rows);
	for (u32 i = 0; i < h->nr_rows; i++) {
		bytes_text(out, h->row[i].name);
		bytes_u64(out, h->row[i].page);
		bytes_u64(out, h->row[i].nr_pages);
		for (u32 c = 0; c < h->nr_columns; c++)
			bytes_u64(out, h->row[i].touched[c]);
	}
}

struct record_heat *heat_read(struct bytes_reader *in)
{
	struct record_heat *h;
	u32 nr;

	if (!bytes_get_u64(in))
		return NULL;
	h = report_alloc(1, sizeof(*h));
	h->column_ns = bytes_get_u64(in);
	h->nr_columns = bytes_get_count(in, sizeof(u64));
	nr = bytes_get_count(in, 3 * sizeof(u64) + h->nr_columns * sizeof(u64));
	h->row = report_alloc(nr, sizeof(*h->row));
	for (h->nr_rows = 0; h->nr_rows < nr; h->nr_rows++) {
		struct heat_region *r = &h->row[h->nr_rows];

		r->name = bytes_get_text(in);
		r->page = bytes_get_u64(in);
		r->nr_pages = bytes_get_u64(in);
		r->touched = report_alloc(h->nr_columns, sizeof(*r->touched));
		for (u32 c = 0; c < h->nr_columns; c++)
			r->touched[c] = (u32)bytes_get_u64(in);
	}
	return h;
}

static double heat_at(const struct record_heat *h, u32 row, u32 column)
{
	const struct heat_region *r = &h->row[row];

	return (double)r->touched[column] / (double)max(r->nr_pages, 1UL) /
	       ((double)h->column_ns / 1e9);
}

static double heat_most(const struct record_heat *h)
{
	double most = 0;

	for (u32 i = 0; i < h->nr_rows; i++)
		for (u32 c = 0; c < h->nr_columns; c++)
			most = fmax(most, heat_at(h, i, c));
	return most;
}

/* Each level is half of the one above; what is less than all of them is the lowest. */
static u32 level_of(double heat, double most, u32 levels)
{
	double steps;

	if (heat <= 0)
		return 0;
	steps = log2(most / heat);
	return steps >= levels - 1 ? 1 : levels - 1 - (u32)steps;
}

u32 heat_level(const struct record_heat *h, u32 row, u32 column, u32 levels)
{
	return level_of(heat_at(h, row, column), heat_most(h), levels);
}

/* ---- in the terminal ---------------------------------------------------------------------------- */

/* A copy with fewer rows and columns. */
static struct record_heat *smaller(const struct record_heat *from, u32 rows, u32 columns)
{
	u32 per_column = (from->nr_columns + columns - 1) / columns;
	u32 nr = (from->nr_columns + per_column - 1) / per_column;
	struct record_heat *h = heat_new(from->column_ns * per_column, nr, from->nr_rows);

	for (u32 i = 0; i < from->nr_rows; i++) {
		const struct heat_region *r = &from->row[i];
		u32 *touched = report_alloc(nr, sizeof(*touched));

		for (u32 c = 0; c < from->nr_columns; c++)
			touched[c / per_column] += r->touched[c];
		heat_add(h, 0, r->name, r->page, r->nr_pages, touched);
		free(touched);
	}
	if (h->nr_rows > rows)
		merge_rows(h, (h->nr_rows + rows - 1) / rows);
	return h;
}

static void print_one(FILE *f, const char *label, const struct record_heat *full)
{
	static const char ramp[] = " .:-=+*#%@";
	struct record_heat *h = smaller(full, TEXT_ROWS, TEXT_COLUMNS);
	double most = heat_most(h);
	char text[FORMAT_MAX];
	const char *name = "";

	fprintf(f,
	        "\n  memory touched, address by time%s%s:\n  a column is %s, the darkest %.0f "
	        "touches "
	        "per page and second\n",
	        *label ? ", " : "", label, format_ns(text, (double)h->column_ns), most);
	for (u32 i = 0; i < h->nr_rows; i++) {
		const struct heat_region *r = &h->row[i];

		fprintf(f, "  %-12s %#14lx |", strcmp(name, r->name) != 0 ? r->name : "",
		        r->page << 12);
		name = r->name;
		for (u32 c = 0; c < h->nr_columns; c++)
			fputc(ramp[level_of(heat_at(h, i, c), most, sizeof(ramp) - 1)], f);
		fputs("|\n", f);
	}
	heat_free(h);
}

void text_heatmap(FILE *f, const struct results *r)
{
	for (u32 i = 0; i < r->nr_columns; i++) {
		char label[128];

		column_label(r, &r->column[i], label, sizeof(label));
		if (r->column[i].record[0].heat && r->column[i].record[0].heat->nr_rows)
			print_one(f, r->nr_columns > 1 ? label : "", r->column[i].record[0].heat);
	}
}

/* ---- on the page -------------------------------------------------------------------------------- */

static u32 x_of(const struct record_heat *h, u32 column)
{
	return LABEL_WIDTH + column * PLOT_WIDTH / h->nr_columns;
}

/* In tenths: rows may be thin. */
static u32 y_of(const struct record_heat *h, u32 row)
{
	return row * PLOT_HEIGHT * 10 / h->nr_rows;
}

/* All cells of one level in one path: runs of a row as rectangles. */
static void put_level(struct html *p, const struct record_heat *h, double most, u32 level)
{
	bool any = false;

	for (u32 i = 0; i < h->nr_rows; i++) {
		u32 y = y_of(h, i);
		u32 height = y_of(h, i + 1) - y;

		for (u32 c = 0; c < h->nr_columns; c++) {
			u32 from = c;
			u32 width;

			while (c < h->nr_columns &&
			       level_of(heat_at(h, i, c), most, LEVELS) == level)
				c++;
			if (c == from)
				continue;
			width = x_of(h, c) - x_of(h, from);
			if (!any)
				html_print(p, "<path fill='var(--h%u)' d='", level);
			any = true;
			html_print(p, "M%u %u.%uh%uv%u.%uh-%uz", x_of(h, from), y / 10, y % 10,
			           width, height / 10, height % 10, width);
		}
	}
	if (any)
		html_print(p, "'/>");
}

/* The name of each address space, where there is room for it, and a line where it begins. */
static void put_names(struct html *p, const struct record_heat *h)
{
	u32 last = 0;

	for (u32 i = 0; i < h->nr_rows; i++) {
		u32 y = y_of(h, i) / 10;

		if (i && strcmp(h->row[i].name, h->row[i - 1].name) == 0)
			continue;
		if (i)
			html_print(p, "<path stroke='var(--bg)' d='M%u %uh%u'/>", LABEL_WIDTH, y,
			           PLOT_WIDTH);
		if (i && y < last + 13)
			continue;
		html_print(
			p,
			"<text x='%u' y='%u' text-anchor='end' font-size='12' fill='currentColor'>",
			LABEL_WIDTH - 6, y + 11);
		html_text(p, h->row[i].name);
		html_print(p, "</text>");
		last = y;
	}
}

static void put_time_axis(struct html *p, const struct record_heat *h)
{
	for (u32 k = 0; k <= 4; k++) {
		char text[FORMAT_MAX];

		html_print(
			p,
			"<text x='%u' y='%u' text-anchor='%s' font-size='12' fill='currentColor'>%s"
			"</text>",
			LABEL_WIDTH + k * PLOT_WIDTH / 4, PLOT_HEIGHT + 16,
			k == 0   ? "start"
			: k == 4 ? "end"
				 : "middle",
			format_ns(text, (double)k / 4 * h->nr_columns * (double)h->column_ns));
	}
}

static void put_map(struct html *p, const char *label, const struct record_heat *h)
{
	double most = heat_most(h);

	html_print(p, "<figure><figcaption>");
	html_text(p, label);
	html_print(p,
	           "</figcaption><svg role='img' aria-label='memory touched, address by time' "
	           "viewBox='0 0 %u %u'>",
	           LABEL_WIDTH + PLOT_WIDTH, PLOT_HEIGHT + 22);
	for (u32 level = 0; level < LEVELS; level++)
		put_level(p, h, most, level);
	put_names(p, h);
	put_time_axis(p, h);
	html_print(p, "</svg><div class=\"key\">touches per page and second: ");
	for (u32 level = LEVELS - 1; level; level--) {
		double from = most / (1u << (level == 1 ? LEVELS - 2 : LEVELS - level));

		html_print(
			p,
			"<span><b class=\"chip\" style=\"background:var(--h%u)\"></b>%s%.*g</span>",
			level, level == 1 ? "less than " : "from ", from < 100 ? 2 : 6,
			round(from * 10) / 10);
	}
	html_print(p, "</div></figure>\n");
}

void html_heatmap(struct html *p, const struct html_group *g)
{
	bool any = false;

	for (u32 i = 0; i < g->nr; i++) {
		const struct record_heat *h = g->column[i]->record[0].heat;

		if (!h || !h->nr_rows)
			continue;
		if (!any) {
			html_heading(p, 3, NULL, "Memory touched, address by time");
			html_print(
				p,
				"<p class=\"mut small\">One run of each. A row is a region of a "
				"process's memory, addresses rise downwards; regions that nobody "
				"touched are left out.</p>\n");
			html_charts_begin(p);
		}
		any = true;
		put_map(p, g->label[i], h);
	}
	if (any)
		html_charts_end(p);
}
