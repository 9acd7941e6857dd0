/*
 * --state FILE: what a sweep has run so far, so that one that was interrupted goes on.
 *
 * A file of records, each under a key that says everything that decides about it: sources, scenario,
 * configuration, target, seed. So the file may also serve another sweep that shares points with this
 * one, and nothing stale is ever taken from it. Records are appended as runs end; the last one may be
 * cut off, and is then dropped.
 */
#ifndef CLI_STATE_H
#define CLI_STATE_H

#include "report/bytes.h"

struct state;

/* Opens or creates @path. NULL, after saying what is wrong. */
struct state *state_open(const char *path);

/* The record under @key, or NULL. */
const struct bytes *state_find(const struct state *s, u64 key);

/* Appends a record. False, after saying so, if it could not be written. */
bool state_add(struct state *s, u64 key, const struct bytes *record);

/* How many records there were when it was opened. */
u32 state_nr(const struct state *s);

void state_close(struct state *s);

#endif
