/*
 * Pages: results as one self-contained HTML file with pictures.
 *
 * No script, no network, both themes, any width. A page is written from top to bottom into struct html;
 * charts go where they are mentioned and are drawn when the page ends.
 *
 *   html.c            the page itself: style, text, tables, legends
 *   html_answer.c     what was asked, and the answer in a sentence
 *   html_tables.c     comparisons, where the time went, locks, configuration
 *   html_series.c     counters over virtual time
 *   html_latency.c    latencies
 *   html_sweep.c      what was varied
 *   html_published.c  the mails' experiments
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include <stdio.h>

#include "report/chart.h"
#include "report/published.h"
#include "report/results.h"

struct html {
	FILE *f; /* the page so far, with marks where charts go */
	char *text;
	size_t len;
	struct charts charts;
};

/* Columns that are shown beside each other, the baseline first. */
#define HTML_GROUP_MAX 16

struct html_group {
	const struct results *r;
	u32 nr;
	const struct result_column *column[HTML_GROUP_MAX];
	char label[HTML_GROUP_MAX][128];
	u32 nr_left_out; /* columns for which there was no room */
};

/* ---- html.c ------------------------------------------------------------------------------------- */

void html_begin(struct html *h, const char *title);

/* Draws the charts and writes the whole page to @f; @h is gone. */
void html_end(struct html *h, FILE *f);

/* Text, with what means something in HTML made harmless; html_print() escapes nothing of @fmt. */
void html_text(struct html *h, const char *text);
void html_print(struct html *h, const char *fmt, ...) __printf(2, 3);

/* "<h2 id=...>" with a text. */
void html_heading(struct html *h, u32 level, const char *id, const char *text);

/* A cell of a table: "td" or "th", and a class or NULL. */
void html_cell(struct html *h, const char *tag, const char *class, const char *fmt, ...)
	__printf(4, 5);

/* A picture with its title and, unless it has a single line, its legend. Charts stand in a grid. */
void html_charts_begin(struct html *h);
void html_chart(struct html *h, struct chart *c);
void html_charts_end(struct html *h);

/* "8 seeds from 1" and the like. */
void html_seeds(struct html *h, const struct results *r);

/* ---- the sections ------------------------------------------------------------------------------- */

/* The columns of one point and target; all if NULL. */
void html_group(struct html_group *g, const struct results *r, const char *point,
                const char *target);

void html_answer(struct html *h, const struct html_group *g);
void html_comparison(struct html *h, const struct html_group *g);
void html_time(struct html *h, const struct html_group *g);
void html_series(struct html *h, const struct html_group *g);
void html_latency(struct html *h, const struct html_group *g);
void html_locks(struct html *h, const struct html_group *g);
void html_config(struct html *h, const struct html_group *g);
void html_notes(struct html *h, const struct html_group *g);
bool html_is_sweep(const struct results *r);
void html_sweep_answer(struct html *h, const struct results *r);
void html_sweep(struct html *h, const struct results *r);

/* All of the sections for one set of results, at heading level 2 and below. */
void html_results(struct html *h, const struct results *r);
void html_experiment(struct html *h, const struct experiment *e);

/* ---- formats for save_file() -------------------------------------------------------------------- */

void save_html(FILE *f, const void *results);

/* Two results with the same seeds: each column of the second against the first's. */
struct html_pair {
	const struct results *a;
	const struct results *b;
	const char *name_a;
	const char *name_b;
};

void save_html_pair(FILE *f, const void *pair);

struct html_experiments {
	u32 nr;
	const struct experiment *const *e;
};

void save_html_experiments(FILE *f, const void *experiments); /* struct html_experiments */

#endif
