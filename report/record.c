/*
 * Everything one run yields. See record.h.
 */
#include "report/record.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bug.h"
#include "report/metric.h"
#include "world/hw.h"
#include "world/ledger.h"

static const char *const cost_name[NR_WORLD_COSTS] = {
#define X(name, ns, source, doc) #name,
	WORLD_COSTS(X)
#undef X
};

/* ---- filling ------------------------------------------------------------------------------------ */

static void fill_identity(struct run_record *r, const struct target_request *req,
                          const char *target)
{
	*r = (struct run_record){.seed = req->seed};
	r->target = report_strdup(target);
	r->variant = report_strdup(req->variant ? req->variant : "");
	r->machine = report_strdup(req->hw ? req->hw->name : "");
	r->kernel = report_strdup(req->kernel ? req->kernel : "");
	r->nr_cpus = req->hw ? req->hw->nr_cpus : 0;
}

static void fill_spans(struct run_record *r, const struct ledger *l)
{
	char path[1024];

	r->span = report_alloc(l->nr_nodes, sizeof(*r->span));
	for (u32 i = 1; i < l->nr_nodes; i++) {
		ledger_path(l, &l->node[i], path, sizeof(path));
		r->span[r->nr_spans++] = (struct record_span){
			.path = report_strdup(path),
			.ns = l->node[i].ns,
			.count = l->node[i].count,
		};
	}
}

/* The world's promise: per CPU, the sum over all spans equals its clock, to the ns. */
static void check_spans(const struct run_record *r)
{
	u64 sum = 0;

	for (u32 i = 0; i < r->nr_spans; i++)
		sum += r->span[i].ns;
	if (!r->status && sum != r->elapsed_ns * r->nr_cpus)
		panic("seed %lu: the spans add up to %lu ns instead of %lu ns x %u CPUs", r->seed,
		      sum, r->elapsed_ns, r->nr_cpus);
}

static void fill_locks(struct run_record *r, const struct ledger *l)
{
	r->lock = report_alloc(NR_LEDGER_LOCKS, sizeof(*r->lock));
	for (u32 i = 0; i < NR_LEDGER_LOCKS; i++) {
		const struct ledger_lock_stat *s = &l->lock[i];

		if (!s->acquisitions)
			continue;
		r->lock[r->nr_locks++] = (struct record_lock){
			.name = report_strdup(ledger_lock_name[i]),
			.acquisitions = s->acquisitions,
			.contentions = s->contentions,
			.wait_ns = s->wait_ns,
			.wait_ns_max = s->wait_ns_max,
			.hold_ns = s->hold_ns,
			.hold_ns_max = s->hold_ns_max,
		};
	}
}

static void fill_buckets(struct record_latency *l, const struct hist *h)
{
	for (u32 i = 0; i < HIST_BUCKETS; i++)
		l->nr_buckets += h->bucket[i] != 0;
	l->bucket = report_alloc(l->nr_buckets, sizeof(*l->bucket));
	l->nr_buckets = 0;
	for (u32 i = 0; i < HIST_BUCKETS; i++)
		if (h->bucket[i])
			l->bucket[l->nr_buckets++] = (struct record_bucket){
				hist_bucket_low(i), hist_bucket_high(i) + 1, h->bucket[i]};
}

static void fill_latencies(struct run_record *r, const struct ledger *l)
{
	r->latency = report_alloc(NR_LEDGER_HISTS, sizeof(*r->latency));
	for (u32 i = 0; i < NR_LEDGER_HISTS; i++) {
		const struct hist *h = &l->hist[i];

		if (!h->count)
			continue;
		r->latency[r->nr_latencies++] = (struct record_latency){
			.name = report_strdup(ledger_hist_name[i]),
			.count = h->count,
			.mean_ns = hist_mean(h),
			.p50_ns = hist_percentile(h, 5000),
			.p90_ns = hist_percentile(h, 9000),
			.p99_ns = hist_percentile(h, 9900),
			.p999_ns = hist_percentile(h, 9990),
			.max_ns = hist_max(h),
		};
		fill_buckets(&r->latency[r->nr_latencies - 1], h);
	}
}

static void fill_costs(struct run_record *r, const struct ledger *l)
{
	r->cost = report_alloc(NR_WORLD_COSTS, sizeof(*r->cost));
	for (u32 i = 0; i < NR_WORLD_COSTS; i++) {
		struct record_cost *c = &r->cost[r->nr_costs];

		if (!l->cost_count[i])
			continue;
		*c = (struct record_cost){report_strdup(cost_name[i]), l->cost_count[i]};
		for (char *p = c->name; *p; p++)
			*p = (char)tolower((unsigned char)*p);
		r->nr_costs++;
	}
}

static void fill_memory(struct run_record *r, const struct target_memory *m)
{
	r->ballast_bytes = m->ballast_bytes;
	r->nr_zones = m->nr_zones;
	r->zone = report_alloc(m->nr_zones, sizeof(*r->zone));
	for (u32 i = 0; i < m->nr_zones; i++)
		r->zone[i] = (struct record_zone){report_strdup(m->zone[i].name), m->zone[i].node,
		                                  m->zone[i].nr_pages};
}

bool record_memory(const struct run_record *r, struct target_memory *m)
{
	*m = (struct target_memory){.ballast_bytes = r->ballast_bytes};
	for (u32 i = 0; i < r->nr_zones && m->nr_zones < TARGET_ZONES_MAX; i++) {
		struct target_zone *z = &m->zone[m->nr_zones++];

		snprintf(z->name, sizeof(z->name), "%s", r->zone[i].name);
		z->node = r->zone[i].node;
		z->nr_pages = r->zone[i].nr_pages;
	}
	return r->ballast_bytes != 0;
}

void record_fill(struct run_record *r, const struct target_request *req, const char *target,
                 const struct target_result *res, s32 status, const struct ledger *ledger)
{
	fill_identity(r, req, target);
	r->nr_tasks = res->nr_tasks;
	r->nr_oom_kills = res->nr_oom_kills;
	r->nr_failed = res->nr_failed;
	r->elapsed_ns = res->elapsed_ns;
	r->user_ns = res->user_ns;
	r->sys_ns = res->sys_ns;
	r->status = status;
	r->error = report_strdup(res->error);
	r->notes = report_strdup(res->notes);
	r->nr_counters = res->nr_counters;
	r->counter = report_alloc(res->nr_counters, sizeof(*r->counter));
	for (u32 i = 0; i < res->nr_counters; i++)
		r->counter[i] = (struct record_counter){report_strdup(res->counter[i].name),
		                                        res->counter[i].value};
	fill_memory(r, &res->memory);
	if (!ledger)
		return;
	fill_spans(r, ledger);
	check_spans(r);
	fill_locks(r, ledger);
	fill_latencies(r, ledger);
	fill_costs(r, ledger);
}

static bool never_moves(const struct series *s, u32 i)
{
	for (u32 k = 0; k < s->nr_points; k++)
		if (s->value[i][k] != (series_is_total(s->kind[i]) ? s->value[i][0] : 0))
			return false;
	return true;
}

void record_add_series(struct run_record *r, const struct series *s)
{
	r->nr_points = s->nr_points;
	r->time_ns = report_alloc(s->nr_points, sizeof(u64));
	memcpy(r->time_ns, s->time, s->nr_points * sizeof(u64));
	r->digest = report_alloc(s->nr_points, sizeof(u64));
	memcpy(r->digest, s->digest, s->nr_points * sizeof(u64));
	r->series = report_alloc(s->nr_values, sizeof(*r->series));
	for (u32 i = 0; i < s->nr_values; i++) {
		struct record_series *to = &r->series[r->nr_series];

		if (never_moves(s, i))
			continue;
		r->nr_series++;
		to->name = report_strdup(s->name[i]);
		to->kind = s->kind[i];
		to->v = report_alloc(s->nr_points, sizeof(u64));
		for (u32 k = 0; k < s->nr_points; k++)
			to->v[k] =
				s->value[i][k] - (series_is_total(s->kind[i]) ? s->value[i][0] : 0);
	}
}

void record_broken(struct run_record *r, const struct target_request *req, const char *target,
                   s32 status, const char *err)
{
	fill_identity(r, req, target);
	r->status = status;
	r->error = report_strdup(err);
	r->notes = report_strdup("");
}

void record_free(struct run_record *r)
{
	for (u32 i = 0; i < r->nr_counters; i++)
		free(r->counter[i].name);
	for (u32 i = 0; i < r->nr_spans; i++)
		free(r->span[i].path);
	for (u32 i = 0; i < r->nr_locks; i++)
		free(r->lock[i].name);
	for (u32 i = 0; i < r->nr_latencies; i++) {
		free(r->latency[i].name);
		free(r->latency[i].bucket);
	}
	for (u32 i = 0; i < r->nr_series; i++) {
		free(r->series[i].name);
		free(r->series[i].v);
	}
	for (u32 i = 0; i < r->nr_costs; i++)
		free(r->cost[i].name);
	for (u32 i = 0; i < r->nr_zones; i++)
		free(r->zone[i].name);
	free(r->counter);
	free(r->span);
	free(r->lock);
	free(r->latency);
	free(r->cost);
	free(r->zone);
	trace_free(r->trace);
	heat_free(r->heat);
	free(r->time_ns);
	free(r->digest);
	free(r->series);
	free(r->target);
	free(r->variant);
	free(r->machine);
	free(r->kernel);
	free(r->error);
	free(r->notes);
	*r = (struct run_record){0};
}

/* ---- bytes -------------------------------------------------------------------------------------- */

/*
 * One description serves both directions, so that they cannot differ: writer and reader each
 * define what TEXT and NUMBER do with a field.
 */
#define RECORD_HEAD(TEXT, NUMBER)                                                                  \
	TEXT(target)                                                                               \
	TEXT(variant)                                                                              \
	TEXT(machine)                                                                              \
	TEXT(kernel)                                                                               \
	NUMBER(seed)                                                                               \
	NUMBER(nr_cpus)                                                                            \
	NUMBER(nr_tasks)                                                                           \
	NUMBER(nr_oom_kills)                                                                       \
	NUMBER(nr_failed)                                                                          \
	NUMBER(elapsed_ns)                                                                         \
	NUMBER(user_ns)                                                                            \
	NUMBER(sys_ns)                                                                             \
	NUMBER(ballast_bytes)                                                                      \
	NUMBER(status)                                                                             \
	TEXT(error)                                                                                \
	TEXT(notes)

/* LIST(field, number of, element's texts and numbers) */
#define RECORD_LISTS(LIST, TEXT, NUMBER)                                                           \
	LIST(counter, nr_counters, TEXT(name) NUMBER(value))                                       \
	LIST(span, nr_spans, TEXT(path) NUMBER(ns) NUMBER(count))                                  \
	LIST(lock, nr_locks,                                                                       \
	     TEXT(name) NUMBER(acquisitions) NUMBER(contentions) NUMBER(wait_ns)                   \
	             NUMBER(wait_ns_max) NUMBER(hold_ns) NUMBER(hold_ns_max))                      \
	LIST(latency, nr_latencies,                                                                \
	     TEXT(name) NUMBER(count) NUMBER(mean_ns) NUMBER(p50_ns) NUMBER(p90_ns) NUMBER(p99_ns) \
	             NUMBER(p999_ns) NUMBER(max_ns))                                               \
	LIST(cost, nr_costs, TEXT(name) NUMBER(count))                                             \
	LIST(zone, nr_zones, TEXT(name) NUMBER(node) NUMBER(nr_pages))

/* Lists in lists. */
static void write_buckets(const struct run_record *r, struct bytes *out)
{
	for (u32 i = 0; i < r->nr_latencies; i++) {
		const struct record_latency *l = &r->latency[i];

		bytes_u64(out, l->nr_buckets);
		for (u32 k = 0; k < l->nr_buckets; k++) {
			bytes_u64(out, l->bucket[k].low_ns);
			bytes_u64(out, l->bucket[k].high_ns);
			bytes_u64(out, l->bucket[k].count);
		}
	}
}

static void read_buckets(struct run_record *r, struct bytes_reader *in)
{
	for (u32 i = 0; i < r->nr_latencies; i++) {
		struct record_latency *l = &r->latency[i];

		l->nr_buckets = bytes_get_count(in, 3 * sizeof(u64));
		l->bucket = report_alloc(l->nr_buckets, sizeof(*l->bucket));
		for (u32 k = 0; k < l->nr_buckets; k++) {
			l->bucket[k].low_ns = bytes_get_u64(in);
			l->bucket[k].high_ns = bytes_get_u64(in);
			l->bucket[k].count = bytes_get_u64(in);
		}
	}
}

static void write_series(const struct run_record *r, struct bytes *out)
{
	bytes_u64(out, r->nr_points);
	for (u32 k = 0; k < r->nr_points; k++)
		bytes_u64(out, r->time_ns[k]);
	for (u32 k = 0; k < r->nr_points; k++)
		bytes_u64(out, r->digest[k]);
	bytes_u64(out, r->nr_series);
	for (u32 i = 0; i < r->nr_series; i++) {
		bytes_text(out, r->series[i].name);
		bytes_u64(out, r->series[i].kind);
		for (u32 k = 0; k < r->nr_points; k++)
			bytes_u64(out, r->series[i].v[k]);
	}
}

static void read_series(struct run_record *r, struct bytes_reader *in)
{
	r->nr_points = bytes_get_count(in, 2 * sizeof(u64));
	r->time_ns = report_alloc(r->nr_points, sizeof(u64));
	r->digest = report_alloc(r->nr_points, sizeof(u64));
	for (u32 k = 0; k < r->nr_points; k++)
		r->time_ns[k] = bytes_get_u64(in);
	for (u32 k = 0; k < r->nr_points; k++)
		r->digest[k] = bytes_get_u64(in);
	r->nr_series = bytes_get_count(in, 2 * sizeof(u64) + r->nr_points * sizeof(u64));
	r->series = report_alloc(r->nr_series, sizeof(*r->series));
	for (u32 i = 0; i < r->nr_series; i++) {
		struct record_series *s = &r->series[i];

		s->name = bytes_get_text(in);
		s->kind = (u32)bytes_get_u64(in) % NR_SERIES_KINDS;
		s->v = report_alloc(r->nr_points, sizeof(u64));
		for (u32 k = 0; k < r->nr_points; k++)
			s->v[k] = bytes_get_u64(in);
	}
}

void record_write(const struct run_record *r, struct bytes *out)
{
#define TEXT(field) bytes_text(out, e->field);
#define NUMBER(field) bytes_u64(out, (u64)e->field);
#define LIST(field, nr, parts)                                                                     \
	bytes_u64(out, r->nr);                                                                     \
	for (u32 i = 0; i < r->nr; i++) {                                                          \
		__auto_type e = &r->field[i];                                                      \
		parts                                                                              \
	}
	const struct run_record *e = r;

	RECORD_HEAD(TEXT, NUMBER)
	RECORD_LISTS(LIST, TEXT, NUMBER)
#undef TEXT
#undef NUMBER
#undef LIST
	write_buckets(r, out);
	write_series(r, out);
	trace_write(r->trace, out);
	heat_write(r->heat, out);
}

/* What every ledger of a run that ended promises, and everything that is made of spans relies on. */
static bool spans_add_up(const struct run_record *r)
{
	u64 sum = 0;

	for (u32 i = 0; i < r->nr_spans; i++)
		sum += r->span[i].ns;
	return r->status || !r->nr_spans || sum == r->elapsed_ns * r->nr_cpus;
}

int record_read(struct run_record *r, struct bytes_reader *in)
{
#define TEXT(name) e->name = bytes_get_text(in);
#define NUMBER(name) e->name = (__typeof__(e->name))bytes_get_u64(in);
/* No element is smaller than the length of its text. */
#define LIST(field, nr, parts)                                                                     \
	r->nr = bytes_get_count(in, sizeof(u64));                                                  \
	r->field = report_alloc(r->nr, sizeof(*r->field));                                         \
	for (u32 i = 0; i < r->nr; i++) {                                                          \
		__auto_type e = &r->field[i];                                                      \
		parts                                                                              \
	}
	struct run_record *e = r;

	*r = (struct run_record){0};
	RECORD_HEAD(TEXT, NUMBER)
	RECORD_LISTS(LIST, TEXT, NUMBER)
#undef TEXT
#undef NUMBER
#undef LIST
	read_buckets(r, in);
	read_series(r, in);
	r->trace = trace_read(in);
	r->heat = heat_read(in);
	if (!in->bad && spans_add_up(r))
		return 0;
	record_free(r);
	return -EINVAL;
}

/* ---- looking up --------------------------------------------------------------------------------- */

const struct record_series *record_series(const struct run_record *r, const char *name)
{
	for (u32 i = 0; i < r->nr_series; i++)
		if (strcmp(r->series[i].name, name) == 0)
			return &r->series[i];
	return NULL;
}

static const struct record_counter *find_counter(const struct run_record *r, const char *name)
{
	for (u32 i = 0; i < r->nr_counters; i++)
		if (strcmp(r->counter[i].name, name) == 0)
			return &r->counter[i];
	return NULL;
}

s64 record_counter(const struct run_record *r, const char *name)
{
	const struct record_counter *c = find_counter(r, name);

	return c ? c->value : 0;
}

bool record_has_counter(const struct run_record *r, const char *name)
{
	return find_counter(r, name) != NULL;
}

size_t counter_stem(const char *name)
{
	static const char *const zone[] = {"_dma",     "_dma32", "_normal",
	                                   "_movable", "_high",  "_device"};
	const char *last = strrchr(name, '_');

	for (size_t i = 0; last && i < ARRAY_SIZE(zone); i++)
		if (strcmp(last, zone[i]) == 0)
			return (size_t)(last - name);
	return strlen(name);
}

bool counter_is_amount(const char *name)
{
	static const char *const events[] = {"nr_vmscan_write",      "nr_vmscan_immediate_reclaim",
	                                     "nr_dirtied",           "nr_written",
	                                     "nr_foll_pin_acquired", "nr_foll_pin_released",
	                                     "nr_throttled_written"};
	static const char *const amounts[] = {"workingset_nodes", "watermark_min",
	                                      "min_breach_pages"};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (strcmp(name, events[i]) == 0)
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(amounts); i++)
		if (strcmp(name, amounts[i]) == 0)
			return true;
	return strncmp(name, "nr_", 3) == 0;
}

bool counter_is_time(const char *name)
{
	return strcmp(name, "time_ns") == 0;
}

/* Whether @name is @metric with a zone's name behind it. */
static bool is_zone_part(const char *name, const char *metric)
{
	size_t n = strlen(metric);

	return strncmp(name, metric, n) == 0 && name[n] && counter_stem(name) == n;
}

/* How fast a load that touches memory got on, where each touch is a fault. */
static double faults_per_second(const struct run_record *r)
{
	const struct record_counter *c = find_counter(r, "pgfault");

	return c && r->elapsed_ns ? (double)c->value * 1e9 / (double)r->elapsed_ns : 0;
}

/* Time in spans of that name, with what is below them, as a part of all CPUs' busy time. */
static double span_share(const struct run_record *r, const char *name)
{
	u64 busy = 0;
	u64 in = 0;

	for (u32 i = 0; i < r->nr_spans; i++) {
		const char *at = strstr(r->span[i].path, name);
		size_t n = strlen(name);

		if (strcmp(r->span[i].path, "idle") == 0)
			continue;
		busy += r->span[i].ns;
		if (at && (at == r->span[i].path || at[-1] == '/') && (!at[n] || at[n] == '/'))
			in += r->span[i].ns;
	}
	return busy ? (double)in / (double)busy : 0;
}

/* The mean of an operation's latency; 0 if it was never done, or on a host. */
static double latency_mean_us(const struct run_record *r, const char *name)
{
	for (u32 i = 0; i < r->nr_latencies; i++)
		if (strcmp(r->latency[i].name, name) == 0)
			return (double)r->latency[i].mean_ns / 1e3;
	return 0;
}

/* How long all of them took together. */
static double latency_sum_s(const struct run_record *r, const char *name)
{
	for (u32 i = 0; i < r->nr_latencies; i++)
		if (strcmp(r->latency[i].name, name) == 0)
			return (double)r->latency[i].count * (double)r->latency[i].mean_ns / 1e9;
	return 0;
}

bool record_metric(const struct run_record *r, const char *metric, double *value)
{
	const struct record_counter *c = find_counter(r, metric);
	bool found = false;

	if (strcmp(metric, "elapsed") == 0 || strcmp(metric, "real") == 0)
		*value = (double)r->elapsed_ns / 1e9;
	else if (strcmp(metric, "user") == 0)
		*value = (double)r->user_ns / 1e9;
	else if (strcmp(metric, "sys") == 0)
		*value = (double)r->sys_ns / 1e9;
	else if (strcmp(metric, "time") == 0 && find_counter(r, "time_ns"))
		*value = (double)find_counter(r, "time_ns")->value / 1e9;
	else if (c)
		*value = (double)c->value;
	else if (strcmp(metric, "mlock_call") == 0)
		*value = latency_mean_us(r, "mlock");
	else if (strcmp(metric, "stall_time") == 0)
		*value = latency_sum_s(r, "direct_reclaim");
	else if (strcmp(metric, "munlock_call") == 0)
		*value = latency_mean_us(r, "munlock");
	else if (strcmp(metric, "throughput") == 0)
		*value = faults_per_second(r);
	else if (strcmp(metric, "estimate_cpu_share") == 0)
		*value = span_share(r, "estimate");
	else if (strcmp(metric, "oom_kill") == 0) /* a counter since 4.13 only */
		*value = r->nr_oom_kills;
	else {
		*value = 0;
		for (u32 i = 0; i < r->nr_counters; i++) {
			if (!is_zone_part(r->counter[i].name, metric))
				continue;
			*value += (double)r->counter[i].value;
			found = true;
		}
		return found || metric_derived(r, metric, value);
	}
	return true;
}
