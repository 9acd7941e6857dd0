/*
 * Two columns' ledgers, subtracted: which spans took or gave time.
 *
 * Everything is summed over the pairs of seeds with which both columns ran, in whole nanoseconds, so
 * that the rows add up to the difference of elapsed time x CPUs, to the last one.
 */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include "report/results.h"

/* Whose time a span is, by the root of its path. */
enum diff_kind {
	DIFF_WORKERS,    /* user/...: the scenario's tasks */
	DIFF_KSWAPD,     /* kswapd/... */
	DIFF_KWORKERS,   /* kthread/...: flushers, per-CPU workers */
	DIFF_INTERRUPTS, /* irq/... */
	DIFF_SCHEDULER,  /* sched/..., and what the idle loop does */
	DIFF_IDLE,
	NR_DIFF_KINDS,
};

extern const char *const diff_kind_name[NR_DIFF_KINDS];

struct diff_row {
	const char *path; /* of the results */
	enum diff_kind kind;
	s64 base_ns;
	s64 value_ns;
};

struct ledger_diff {
	u32 nr_pairs;
	u32 nr;
	struct diff_row *row; /* the largest difference first, either way; idle among them */
	s64 kind_base_ns[NR_DIFF_KINDS];
	s64 kind_value_ns[NR_DIFF_KINDS];
	s64 base_ns; /* elapsed x CPUs */
	s64 value_ns;
};

/* False, with nothing to free, if no pair has a ledger on both sides. */
bool ledger_diff(const struct results *rb, const struct result_column *base,
                 const struct results *rv, const struct result_column *c, struct ledger_diff *d);
void ledger_diff_free(struct ledger_diff *d);

#endif
