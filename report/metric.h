/*
 * What is known about metrics: which way is good, and those that are made of others.
 *
 * The derived ones are mmtests' under its names: what a report of its says of reclaim, so that one
 * of ours can lie beside it.
 */
#ifndef REPORT_METRIC_H
#define REPORT_METRIC_H

#include "report/record.h"
#include "report/stats.h"

enum metric_good {
	METRIC_NEUTRAL, /* neither: that more pages were allocated is no merit and no fault */
	METRIC_LESS,
	METRIC_MORE,
};

/* Which way @metric, by any of the names of record_metric(), is good. */
enum metric_good metric_good(const char *metric);

/* What @metric is counted in: "s", "%", "pages/s", "pages", "" (a share) or "events". */
const char *metric_unit(const char *metric);

/*
 * The smallest difference of @metric that is worth a judgement: 0.05 %, which would print as 0.1 %, of @base. Of a
 * time that is a part of the run, such as "user", 0.05 % of @elapsed: a microsecond more in five seconds is no loss,
 * though it be five times what it was, or there was nothing before.
 */
double metric_least(const char *metric, double base, double elapsed);

/* "better", "worse", or "" if @c is not significant, the change is neither, or smaller than c->least. */
const char *metric_judgement(const char *metric, const struct comparison *c);

struct metric_info {
	const char *name;  /* as record_metric() knows it: "kswapd_efficiency" */
	const char *title; /* as mmtests prints it: "Kswapd efficiency" */
	const char *unit;  /* "", "%", "pages/s" */
	enum metric_good good;
};

/* The derived metrics in mmtests' order; NULL behind the last. */
const struct metric_info *metric_derived_at(u32 i);

/* What the i-th is made of: "100 x pgsteal_kswapd / pgscan_kswapd", to @buf of 128 bytes. */
char *metric_made_of(char *buf, u32 i);

/*
 * The value of a derived metric. False if the record does not have what it is made of, or if that
 * gives no value: the efficiency of a reclaim that scanned nothing.
 */
bool metric_derived(const struct run_record *r, const char *name, double *value);

#endif
