/*
 * Results back from the JSON that save_json() wrote.
 */
#ifndef REPORT_LOAD_H
#define REPORT_LOAD_H

#include "report/results.h"

#define LOAD_ERROR_MAX 512

/*
 * Reads @path ("-": standard input) into @r, for results_free(). -EINVAL with a sentence in @err
 * and nothing to free if it cannot be read, is not whole, has another schema, has been edited, or
 * contradicts itself.
 */
int results_load(const char *path, struct results *r, char *err);

#endif
