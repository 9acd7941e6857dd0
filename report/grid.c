/*
 * Tables of text. See grid.h.
 */
#include "report/grid.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bug.h"
#include "report/bytes.h"

void grid_init(struct grid *g, const char *align)
{
	*g = (struct grid){.gap = 2};
	while (*align)
		grid_column(g, *align++);
}

void grid_column(struct grid *g, char align)
{
	VM_BUG_ON(g->nr_cells || g->nr_columns == GRID_COLUMNS_MAX);
	g->align[g->nr_columns++] = align;
}

static void add_cell(struct grid *g, const char *text)
{
	if (!(g->nr_cells & (g->nr_cells - 1))) { /* room doubles at powers of two */
		g->cell = realloc(g->cell, sizeof(*g->cell) * (g->nr_cells ? 2 * g->nr_cells : 1));
		if (!g->cell)
			panic("out of host memory for a table");
	}
	g->cell[g->nr_cells++] = report_strdup(text);
}

void grid_cell(struct grid *g, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add_cell(g, text);
}

#define HEADING '\f' /* begins the first cell of a row that is one */

void grid_heading(struct grid *g, const char *fmt, ...)
{
	char text[512] = {HEADING};
	va_list ap;

	VM_BUG_ON(g->nr_cells % g->nr_columns);
	va_start(ap, fmt);
	vsnprintf(text + 1, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	add_cell(g, text);
	while (g->nr_cells % g->nr_columns)
		add_cell(g, "");
}

void grid_free(struct grid *g)
{
	for (u32 i = 0; i < g->nr_cells; i++)
		free(g->cell[i]);
	free(g->cell);
	*g = (struct grid){0};
}

static const char *cell_at(const struct grid *g, u32 row, u32 column)
{
	u32 i = row * g->nr_columns + column;

	return i < g->nr_cells ? g->cell[i] : "";
}

static bool is_heading(const struct grid *g, u32 row)
{
	return cell_at(g, row, 0)[0] == HEADING;
}

static void measure(const struct grid *g, u32 *width)
{
	for (u32 i = 0; i < g->nr_cells; i++) {
		u32 *w = &width[i % g->nr_columns];

		if (!is_heading(g, i / g->nr_columns))
			*w = max_t(u32, *w, (u32)strlen(g->cell[i]));
	}
}

/* How much of @text fits into @room: to its end, a space, or behind a slash; at least one word. */
static u32 line_length(const char *text, u32 room)
{
	u32 best = 0;
	u32 i;

	for (i = 0; text[i]; i++) {
		if (i > room && best)
			return best;
		if (text[i] == ' ' || (i && text[i - 1] == '/'))
			best = i;
	}
	return i <= room || !best ? i : best;
}

void text_wrap(FILE *f, const char *first, const char *text, u32 width)
{
	u32 indent = (u32)strlen(first);
	u32 room = width > indent ? width - indent : 1;

	fputs(first, f);
	text += strspn(text, " \t\n");
	for (u32 at = 0; *text;) {
		u32 len = (u32)strcspn(text, " \t\n");

		/* Word by word, as newlines of the text are spaces here. */
		if (at && at + 1 + len > room) {
			fprintf(f, "\n%*s", (int)indent, "");
			at = 0;
		}
		if (len > room) /* a path: behind one of its slashes */
			len = min(len, line_length(text, room));
		at += (u32)fprintf(f, "%s%.*s", at ? " " : "", (int)len, text);
		text += len;
		if (*text && !strchr(" \t\n", *text)) /* in the middle of a word */
			at = room;
		text += strspn(text, " \t\n");
	}
	fputc('\n', f);
}

void text_fold(FILE *f, const char *line, u32 width)
{
	u32 indent = (u32)strspn(line, " ");
	u32 lead = indent;
	u32 room = width;

	while (strlen(line) > room) {
		u32 at = room;

		while (at > lead && (line[at] != ' ' || line[at - 1] == ' '))
			at--;
		if (at <= lead) /* one long word */
			break;
		fprintf(f, "%.*s\n%*s", (int)at, line, (int)indent + 4, "");
		line += at + strspn(line + at, " ");
		lead = 0;
		room = width - indent - 4;
	}
	fprintf(f, "%s\n", line);
}

/* Columns that are printed: 0 .. @nr_fixed - 1, then @from .. @to - 1. */
struct slice {
	u32 indent;
	u32 gap;
	u32 nr_fixed;
	u32 from;
	u32 to;
	const u32 *width;
};

static u32 slice_width(const struct slice *s)
{
	u32 at = s->indent;

	for (u32 c = 0; c < s->to; c++)
		if (c < s->nr_fixed || c >= s->from)
			at += s->width[c] + s->gap;
	return at - s->gap;
}

/* What is left of the last column's text goes on below its beginning. */
static void print_rest(FILE *f, const char *text, u32 left, u32 room)
{
	while (*text) {
		u32 len = line_length(text, room);

		fprintf(f, "\n%*s%.*s", (int)left, "", (int)len, text);
		text += len;
		text += *text == ' ';
	}
}

/* Spaces are only printed before text. @wrapped: the width of the last column, 0 if it is whole. */
static void print_row(const struct grid *g, FILE *f, const struct slice *s, u32 row, u32 wrapped)
{
	u32 at = 0;           /* characters printed */
	u32 left = s->indent; /* where the column begins */

	if (is_heading(g, row)) {
		fprintf(f, "%*s%s\n", (int)s->indent, "", cell_at(g, row, 0) + 1);
		return;
	}
	for (u32 c = 0; c < s->to; c++) {
		const char *text = cell_at(g, row, c);
		u32 len = (u32)strlen(text);
		u32 start = left + (g->align[c] == 'r' ? s->width[c] - len : 0);

		if (c >= s->nr_fixed && c < s->from)
			continue;
		if (wrapped && c + 1 == g->nr_columns && len > wrapped) {
			u32 first = line_length(text, wrapped);

			fprintf(f, "%*s%.*s", (int)(left - at), "", (int)first, text);
			print_rest(f, text + first + (text[first] == ' '), left, wrapped);
		} else if (len) {
			fprintf(f, "%*s%s", (int)(start - at), "", text);
			at = start + len;
		}
		left += s->width[c] + s->gap;
	}
	fputc('\n', f);
}

#define WRAPPED_MIN 12 /* characters to which a last column may be wrapped */

void grid_print(const struct grid *g, FILE *f, u32 indent, u32 width, u32 nr_fixed)
{
	u32 w[GRID_COLUMNS_MAX] = {0};
	u32 nr_rows = DIV_ROUND_UP(g->nr_cells, g->nr_columns);
	struct slice s = {indent, g->gap, g->nr_columns, 0, g->nr_columns, w};
	u32 before_last;

	measure(g, w);
	if (slice_width(&s) > width && s.gap > 1)
		s.gap = 1;
	before_last = slice_width(&s) - w[g->nr_columns - 1];
	if (slice_width(&s) <= width || (g->wrap && before_last + WRAPPED_MIN <= width)) {
		u32 wrapped = slice_width(&s) <= width ? 0 : width - before_last;

		for (u32 row = 0; row < nr_rows; row++)
			print_row(g, f, &s, row, wrapped);
		return;
	}
	s.gap = g->gap;
	s.nr_fixed = s.from = s.to = nr_fixed;
	do {
		/* At least one column, however wide. */
		do
			s.to++;
		while (s.to < g->nr_columns && slice_width(&s) + s.gap + w[s.to] <= width);
		s.to = min(s.to, g->nr_columns);
		if (s.from > nr_fixed)
			fputc('\n', f);
		for (u32 row = 0; row < nr_rows; row++)
			print_row(g, f, &s, row, 0);
		s.from = s.to;
	} while (s.from < g->nr_columns);
}
