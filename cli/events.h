/*
 * Trace events in words, and the places in a run that they name.
 */
#ifndef CLI_EVENTS_H
#define CLI_EVENTS_H

#include "sim/sim.h"

#define EVENT_TEXT_MAX 160

/* "page_fault address 0x7f0000001000, write". */
char *event_text(char *buf, const struct sim_trace_event *e);

/* "1.234567890 s". */
char *event_time(char *buf, u64 ns);

/* Where to stop: at a time, at the n-th event, or at the n-th of a kind. */
struct stop_point {
	bool at_time;
	u64 time_ns;
	int event; /* enum ledger_event; -1: any */
	u64 nth;   /* from 1 */
};

/* Reads "1.5s", "#1200", "oom_kill", "page_fault:7". False, after saying what is expected. */
bool stop_point_parse(const char *text, struct stop_point *p);

/* Counts @e, an event; whether it is the one. */
bool stop_point_reached(struct stop_point *p, const struct sim_trace_event *e);

#endif
