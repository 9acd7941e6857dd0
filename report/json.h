/*
 * Results as JSON. docs/JSON.md is the schema; JSON_SCHEMA changes when a name goes or changes its
 * meaning, not when one is added.
 */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "report/results.h"

#define JSON_SCHEMA 2

/* {schema, kind, quire, commit, sources}: how every document begins. */
json_t *json_document(const char *kind);

/* The columns of @r, each with its configuration, summaries and runs. */
json_t *json_columns(const struct results *r);

json_t *json_seeds(const struct results *r);
json_t *json_summary(const struct summary *s);

/* Doubles that JSON cannot hold become null. */
json_t *json_double(double v);

/* Prints and frees @root, which gets a checksum as its last member. */
void json_print(FILE *f, json_t *root);

/* The checksum of a document, that member apart: 16 digits, for free(). */
char *json_checksum(const json_t *root);

#endif
