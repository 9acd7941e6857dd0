/*
 * Everything one run yields, free of the target it ran on.
 *
 * A record is filled in the process that ran (often a child that does one repetition), written as
 * bytes, read by the parent, and from then on what every report is made of. It names things by
 * text, so that records of different targets, and later of different builds, can be compared.
 */
#ifndef REPORT_RECORD_H
#define REPORT_RECORD_H

#include "lib/types.h"
#include "load/target.h"
#include "report/bytes.h"
#include "report/heatmap.h"
#include "report/series.h"
#include "report/trace.h"

struct ledger;

/* A span of the ledger: a path and its own time, that of its children apart. */
struct record_span {
	char *path; /* "user/fault/alloc/direct_reclaim" */
	u64 ns;
	u64 count;
};

/* A lock class, as lock_stat has them. */
struct record_lock {
	char *name;
	u64 acquisitions;
	u64 contentions;
	u64 wait_ns;
	u64 wait_ns_max;
	u64 hold_ns;
	u64 hold_ns_max;
};

/* Latencies from @low_ns to below @high_ns. */
struct record_bucket {
	u64 low_ns;
	u64 high_ns;
	u64 count;
};

/* The latency of an operation. */
struct record_latency {
	char *name;
	u64 count;
	u64 mean_ns;
	u64 p50_ns;
	u64 p90_ns;
	u64 p99_ns;
	u64 p999_ns;
	u64 max_ns;
	u32 nr_buckets;
	struct record_bucket *bucket; /* those that are not empty, in order */
};

/* How often an operation with a price was done. */
struct record_cost {
	char *name; /* as in the profile: lower case */
	u64 count;
};

struct record_counter {
	char *name;
	s64 value; /* events: during the run; nr_...: at its end */
};

/* A value over time (report/series.h); totals count from the beginning of the run. */
struct record_series {
	char *name;
	u32 kind; /* enum series_kind */
	u64 *v;   /* [nr_points] */
};

/* What a zone of a limited host had for the tasks (struct target_zone). */
struct record_zone {
	char *name;
	u32 node;
	u64 nr_pages;
};

struct run_record {
	char *target;  /* "sim", "host" */
	char *variant; /* of the scenario, and what --vary added */
	char *machine; /* profile */
	char *kernel;
	u64 seed;
	u32 nr_cpus;
	u32 nr_tasks;
	u32 nr_oom_kills;
	u32 nr_failed;
	u64 elapsed_ns;
	u64 user_ns;
	u64 sys_ns;
	s32 status;  /* 0, or the negative errno with which the run was broken off */
	char *error; /* why; "" */
	char *notes; /* one a line; "" */
	u32 nr_counters;
	u32 nr_spans;
	u32 nr_locks;
	u32 nr_latencies;
	u32 nr_costs;
	u32 nr_zones;
	u32 nr_points; /* moments of the time series; 0: none were kept */
	u32 nr_series;
	u64 *time_ns;                 /* [nr_points] */
	u64 *digest;                  /* [nr_points] of what has happened by then (sim_series.h) */
	struct record_series *series; /* those that were ever other than 0 */
	struct record_trace *trace;   /* NULL: none was asked for */
	struct record_heat *heat;     /* NULL: the same */
	u64 ballast_bytes;            /* of the host, with which it was limited */
	struct record_counter *counter; /* in the kernel's order */
	struct record_span *span;       /* parents before their children */
	struct record_lock *lock;       /* those that were taken */
	struct record_latency *latency; /* those that happened */
	struct record_cost *cost;       /* those that were charged */
	struct record_zone *zone;       /* of the host, if there was ballast */
};

/*
 * Fills @r from a request and its result; @ledger (NULL: none, as on the host) must be closed.
 * @status is what the target's run returned.
 */
void record_fill(struct run_record *r, const struct target_request *req, const char *target,
                 const struct target_result *res, s32 status, const struct ledger *ledger);

/* Adds time series to a record. */
void record_add_series(struct run_record *r, const struct series *s);

/* The series of that name, or NULL. */
const struct record_series *record_series(const struct run_record *r, const char *name);

/* A record of a run that did not get as far as a result. @err is a sentence. */
void record_broken(struct run_record *r, const struct target_request *req, const char *target,
                   s32 status, const char *err);

void record_free(struct run_record *r);

void record_write(const struct run_record *r, struct bytes *out);

/* -EINVAL, with nothing to free, if the bytes are not a whole record, or its spans do not add up. */
int __must_check record_read(struct run_record *r, struct bytes_reader *in);

/* What a twin of this run of the host needs. False: the run was not limited by ballast. */
bool record_memory(const struct run_record *r, struct target_memory *memory);

/* The value of a counter, 0 if this record has none of that name. */
s64 record_counter(const struct run_record *r, const char *name);
bool record_has_counter(const struct run_record *r, const char *name);

/* Amounts (nr_free_pages) have a value at any time; all other counters count what happened. */
bool counter_is_amount(const char *name);
/* What tasks have timed themselves is kept among the counters, and shown as the metric "time". */
bool counter_is_time(const char *name);

/* The length of a counter's name without the zone it ends in: of "pgalloc_normal" 7. */
size_t counter_stem(const char *name);

/*
 * A metric by name: "elapsed" (also "real"), "user", "sys" in seconds, "oom_kill", a counter, a sum
 * of counters that differ in their last part ("allocstall" is also allocstall_normal and so on, as
 * kernels before and after 4.8 would say), or a derived one of metric.h. False if there is no such
 * thing in this record.
 */
bool record_metric(const struct run_record *r, const char *metric, double *value);

#endif
