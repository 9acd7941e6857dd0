/*
 * gnuplot's SVG, made fit for a page: smaller, without names that clash, in the colours of the theme.
 */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include "lib/types.h"

/*
 * Takes the @nr documents that follow each other in @text, rewritten, to @svg[], each for free(). False,
 * with nothing to free, if there are not as many.
 */
bool svg_split(const char *text, char **svg, u32 nr);

/* Replaces *@svg by one that tells those who cannot see it what it is. */
void svg_label(char **svg, const char *label);

#endif
