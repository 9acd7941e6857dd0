/*
 * A run as a trace in Chrome's JSON format, for ui.perfetto.dev and chrome://tracing.
 *
 * A track per CPU (the tasks it ran, interrupts on top), per task (spans, waits for locks) and per disk;
 * IPIs as arrows; the time series as counters. Of each column the first seed, each as a group of
 * tracks of its own, so that variants can be seen beside each other.
 */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include <stdio.h>

#include "report/bytes.h"
#include "world/slices.h"

/* Slices that a trace has, all columns together: about 100 bytes each in the file. */
#define TRACE_SLICES_MAX 240000

struct record_trace {
	struct slices_info info; /* nr: of @slice */
	struct slice *slice;
	u32 nr_tasks;
	struct slice_task *task;
};

void trace_free(struct record_trace *t);
void trace_write(const struct record_trace *t,
                 struct bytes *out); /* NULL: says that there is none */
struct record_trace *trace_read(struct bytes_reader *in);

/* A format for save_file(); @results is a struct results. */
void save_trace(FILE *f, const void *results);

#endif
