/*
 * Where the runs of results that exist part, for quire compare: the event, if this build made them and can
 * run them again, else the moments between which it lies.
 */
#ifndef CLI_PARTING_H
#define CLI_PARTING_H

#include "report/results.h"

/* The variants of one result, at its first point. */
void parting_within(const char *path, const struct results *r);

/* Each column of two results: two builds, or one with different options. */
void parting_between(const char *const *path, const struct results *r);

#endif
