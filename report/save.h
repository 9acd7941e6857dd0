/*
 * Writing results to files: whole or not at all.
 */
#ifndef REPORT_SAVE_H
#define REPORT_SAVE_H

#include <stdio.h>

#include "report/results.h"

#define SAVE_ERROR_MAX 512

/*
 * Replaces @path by what @fn writes: aside first, then renamed, so that a full disk or a signal
 * leaves the old file. "-" is standard output; devices and pipes are written in place.
 * Returns 0 or a negative errno, with a sentence in @err.
 */
int save_file(const char *path, void (*fn)(FILE *f, const void *arg), const void *arg, char *err);

/* Whether save_file() could succeed, asked before a long run. The same results. */
int save_check(const char *path, char *err);

/* Formats; @arg is a struct results. */
void save_json(FILE *f, const void *results);
void save_csv(FILE *f, const void *results);    /* one value a line */
void save_md(FILE *f, const void *results);     /* the comparison as Markdown tables */
void save_folded(FILE *f, const void *results); /* stacks for flame graphs, in ns, idle left out */

#endif
