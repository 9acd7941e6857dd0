/*
 * Address x time: how often which memory was touched when. In the terminal and on the page.
 *
 * A row is a region of one address space, a column a part of the run; a cell says how many of the
 * region's pages user code accessed then, each access counted. Regions that nobody touched have no row.
 */
#ifndef REPORT_HEATMAP_H
#define REPORT_HEATMAP_H

#include <stdio.h>

#include "report/bytes.h"

#define HEATMAP_ROWS_MAX 160

struct heat_region {
	char *name; /* of its address space: "hog 8" */
	u64 page;
	u64 nr_pages; /* touched regions only: less than what lies between the ends */
	u32 *touched; /* [nr_columns] */
};

struct record_heat {
	u64 column_ns;
	u32 nr_columns;
	u32 nr_rows;
	struct heat_region *row; /* by address space, then address */
};

/* Rows are added in any order, then put in order and reduced to HEATMAP_ROWS_MAX. */
struct record_heat *heat_new(u64 column_ns, u32 nr_columns, u32 nr_rows);
void heat_add(struct record_heat *h, u32 space, const char *name, u64 page, u64 nr_pages,
              const u32 *touched);
void heat_reduce(struct record_heat *h, u32 nr_rows);

void heat_free(struct record_heat *h);
void heat_write(const struct record_heat *h, struct bytes *out); /* NULL: there is none */
struct record_heat *heat_read(struct bytes_reader *in);

/* Touches per page and second, logarithmically in @levels steps: 0 (none) to levels - 1 (the most). */
u32 heat_level(const struct record_heat *h, u32 row, u32 column, u32 levels);

struct results;
struct html;
struct html_group;

/* Of each column's first run, if it has one. */
void text_heatmap(FILE *f, const struct results *r);
void html_heatmap(struct html *h, const struct html_group *g);

#endif
