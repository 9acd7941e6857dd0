/*
 * Every effective value of a run, and where it came from.
 */
#ifndef REPORT_CONFIG_H
#define REPORT_CONFIG_H

#include <stdio.h>

#include "lib/types.h"

struct config_entry {
	char *name;
	char *value;
	char *origin; /* "preset 4.0", "--set", "scenarios/x.lua:12" */
};

struct config {
	u32 nr;
	struct config_entry *entry;
};

void config_add(struct config *c, const char *name, const char *value, const char *origin);

/* Adds the knobs that are not there yet, with the values of preset @kernel. */
void config_add_preset(struct config *c, const char *kernel);

const char *config_get(const struct config *c, const char *name); /* NULL if it is not there */
void config_free(struct config *c);

/* "name = value   # origin" lines. */
void config_print(const struct config *c, FILE *f);

#endif
