/*
 * The cells of a result that exists, loaded again, so that its runs can be repeated.
 */
#ifndef CLI_RERUN_H
#define CLI_RERUN_H

#include "cli/batch.h"

struct rerun;

/* What made the result in @path. NULL, after saying why not, if that is not what it was any more. */
struct rerun *rerun_load(const char *path);

/* The cell of a column, or NULL. */
const struct batch_cell *rerun_cell(const struct rerun *r, const struct result_column *c);

void rerun_free(struct rerun *r);

#endif
