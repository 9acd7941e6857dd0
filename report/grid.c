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

void grid_cell(struct grid *g, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!(g->nr_cells & (g->nr_cells - 1))) { /* room doubles at powers of two */
		g->cell = realloc(g->cell, sizeof(*g->cell) * (g->nr_cells ? 2 * g->nr_cells : 1));
		if (!g->cell)
			panic("out of host memory for a table");
	}
	g->cell[g->nr_cells++] = report_strdup(text);
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

static void measure(const struct grid *g, u32 *width)
{
	for (u32 i = 0; i < g->nr_cells; i++) {
		u32 *w = &width[i % g->nr_columns];

		*w = max_t(u32, *w, (u32)strlen(g->cell[i]));
	}
}

/* Columns 0 .. @nr_fixed - 1, then @from .. @to - 1. Spaces are only printed before text. */
static void print_row(const struct grid *g, FILE *f, u32 indent, const u32 *width, u32 nr_fixed,
                      u32 from, u32 to, u32 row)
{
	u32 at = 0;        /* characters printed */
	u32 left = indent; /* where the column begins */

	for (u32 c = 0; c < to; c++) {
		const char *text = cell_at(g, row, c);
		u32 len = (u32)strlen(text);
		u32 start = left + (g->align[c] == 'r' ? width[c] - len : 0);

		if (c >= nr_fixed && c < from)
			continue;
		if (len) {
			fprintf(f, "%*s%s", (int)(start - at), "", text);
			at = start + len;
		}
		left += width[c] + g->gap;
	}
	fputc('\n', f);
}

void grid_print(const struct grid *g, FILE *f, u32 indent, u32 width, u32 nr_fixed)
{
	u32 w[GRID_COLUMNS_MAX] = {0};
	u32 nr_rows = DIV_ROUND_UP(g->nr_cells, g->nr_columns);
	u32 fixed = indent;
	u32 from = nr_fixed;

	measure(g, w);
	for (u32 c = 0; c < nr_fixed; c++)
		fixed += w[c] + g->gap;
	do {
		u32 used = fixed;
		u32 to = from;

		/* At least one column, however wide. */
		while (to < g->nr_columns && (to == from || used + w[to] <= width)) {
			used += w[to] + g->gap;
			to++;
		}
		if (from > nr_fixed)
			fputc('\n', f);
		for (u32 row = 0; row < nr_rows; row++)
			print_row(g, f, indent, w, nr_fixed, from, to, row);
		from = to;
	} while (from < g->nr_columns);
}
