/*
 * Every effective value of a run, and where it came from.
 */
#ifndef REPORT_CONFIG_H
#define REPORT_CONFIG_H

#include <stdio.h>

#include "load/target.h"

struct config_entry {
	char *name;
	char *value;
	char *origin; /* "preset 4.0", "--set", "profile x", "scenarios/x.lua:12" */
};

struct config {
	u32 nr;
	struct config_entry *entry;
};

/*
 * What @req asks for: machine, tasks, knobs and costs. @target "host" leaves out what only a
 * simulated machine has. For config_free().
 */
void config_fill(struct config *c, const struct target_request *req, const char *target);

void config_add(struct config *c, const char *name, const char *value, const char *origin);
const char *config_get(const struct config *c, const char *name); /* NULL if it is not there */
void config_free(struct config *c);

/* "name = value   # origin" lines. */
void config_print(const struct config *c, FILE *f);

#endif
