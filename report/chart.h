/*
 * Pictures: what a chart shows, and its drawing by gnuplot as SVG.
 *
 * Charts are collected while a page is written, and drawn all at once when it is complete, by one
 * gnuplot that reads its commands from a pipe and leaves no files behind. Colours are those of the page's
 * theme (--p1 ... of html.c), so that one picture serves light and dark.
 */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include <stdio.h>

#include "lib/types.h"

#define CHART_LINES_MAX 24
#define CHART_COLOURS 8

enum chart_style {
	CHART_LINE,
	CHART_STEPS,  /* around each point */
	CHART_POINTS, /* with a line through them */
};

struct chart_line {
	char *label; /* NULL: not in the legend */
	u32 colour;  /* 1 ... CHART_COLOURS; 0: that of remarks */
	u32 dash;    /* 0: none */
	enum chart_style style;
	u32 n;
	double *x;
	double *y;
	double *lo; /* NULL; else a band around the line */
	double *hi;
};

struct chart {
	char *title;
	char *x_label;
	char *y_label;
	char *x_tics; /* gnuplot's list; NULL: its own choice */
	bool log_x;
	bool log_y;
	bool from_zero; /* the y axis; ignored if it is logarithmic */
	double floor;   /* of a logarithmic y axis: what is less lies on it; 0: is left out */
	u32 nr_lines;
	struct chart_line line[CHART_LINES_MAX];
};

struct charts {
	u32 nr;
	struct chart **chart;
};

/* A chart of its own for each call. Texts are copied. */
struct chart *chart_new(struct charts *c, const char *title, const char *x_label,
                        const char *y_label);

/* A line with room for @n points; NULL if the chart is full. @label may be NULL. */
struct chart_line *chart_line(struct chart *c, const char *label, u32 colour, u32 n);
void chart_band(struct chart_line *l); /* gives it room for lo and hi */

void charts_free(struct charts *c);

/*
 * Draws all charts: @svg[i] is the i-th as an <svg> element for free(). False if there are no pictures
 * to be had, and @why says why in a sentence.
 */
bool charts_draw(const struct charts *c, char **svg, char *why, size_t n);

#endif
