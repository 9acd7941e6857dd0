/*
 * Tables of text that find their own widths.
 *
 *   struct grid g;
 *
 *   grid_init(&g, "lrr");                       a column to the left, two to the right
 *   grid_cell(&g, "elapsed");                   cells row by row
 *   grid_cell(&g, "%.2f", 48.89);
 *   grid_cell(&g, "");
 *   grid_print(&g, f, 2, 100, 1);               indented by 2, at most 100 wide
 *   grid_free(&g);
 *
 * A table that is too wide has one space between columns instead of two; if that is not enough, its last
 * column is wrapped, if it may be, or it is printed in slices, each beginning with the first @nr_fixed
 * columns.
 */
#ifndef REPORT_GRID_H
#define REPORT_GRID_H

#include <stdio.h>

#include "lib/types.h"

#define GRID_COLUMNS_MAX 72
#define GRID_WIDTH 80 /* what a mail and a terminal bear */

struct grid {
	char align[GRID_COLUMNS_MAX + 1]; /* 'l' or 'r' */
	u32 nr_columns;
	u32 nr_cells;
	u32 gap;   /* spaces between columns; 2 unless changed */
	bool wrap; /* the last column may be broken into lines, at spaces and behind slashes */
	char **cell;
};

void grid_init(struct grid *g, const char *align);

/* One more column, before the first cell. */
void grid_column(struct grid *g, char align);

void grid_cell(struct grid *g, const char *fmt, ...) __printf(2, 3);
/* A row that is only a heading, as long as it likes; the row before it must be complete. */
void grid_heading(struct grid *g, const char *fmt, ...) __printf(2, 3);

void grid_print(const struct grid *g, FILE *f, u32 indent, u32 width, u32 nr_fixed);
void grid_free(struct grid *g);

/* Text in lines of at most @width characters, the first after @first, the others under its beginning. */
void text_wrap(FILE *f, const char *first, const char *text, u32 width);

/* @line and a newline; what does not fit in @width goes on, between two words, four columns further in. */
void text_fold(FILE *f, const char *line, u32 width);

#endif
