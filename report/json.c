/*
 * Results as JSON. See json.h.
 */
#include "report/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bug.h"
#include "report/format.h"
#include "report/metric.h"
#include "report/save.h"
#include "report/version.h"

/* jansson only fails for want of memory, and then nothing it made is worth writing. */
static json_t *made(json_t *j)
{
	if (!j)
		panic("out of host memory for JSON");
	return j;
}

static void set(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, made(value)))
		panic("out of host memory for JSON");
}

static void append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, made(value)))
		panic("out of host memory for JSON");
}

/* Text may come from a user's file; what is not UTF-8 is shown as such. */
static json_t *text(const char *s)
{
	json_t *j = json_string(s);

	return j ? j : json_string("(not UTF-8)");
}

static json_t *number(u64 v)
{
	return json_integer((json_int_t)v);
}

json_t *json_double(double v)
{
	return made(isfinite(v) ? json_real(v) : json_null());
}

json_t *json_document(const char *kind)
{
	json_t *j = made(json_object());

	set(j, "schema", number(JSON_SCHEMA));
	set(j, "kind", text(kind));
	set(j, "quire", text(QUIRE_VERSION));
	set(j, "commit", text(quire_commit));
	set(j, "sources", text(quire_sources));
	return j;
}

json_t *json_seeds(const struct results *r)
{
	json_t *j = made(json_array());

	for (u32 i = 0; i < r->nr_seeds; i++)
		append(j, number(r->seed[i]));
	return j;
}

json_t *json_summary(const struct summary *s)
{
	json_t *j = made(json_object());

	set(j, "n", number(s->n));
	set(j, "mean", json_double(s->mean));
	set(j, "std", json_double(s->std));
	set(j, "min", json_double(s->min));
	set(j, "max", json_double(s->max));
	set(j, "median", json_double(s->median));
	return j;
}

/* ---- one run ------------------------------------------------------------------------------------ */

static json_t *counters_of(const struct run_record *r)
{
	json_t *j = made(json_object());

	for (u32 i = 0; i < r->nr_counters; i++)
		set(j, r->counter[i].name, json_integer(r->counter[i].value));
	return j;
}

static json_t *spans_of(const struct run_record *r)
{
	json_t *j = made(json_array());

	for (u32 i = 0; i < r->nr_spans; i++)
		append(j,
		       json_pack("{s:s, s:I, s:I}", "path", r->span[i].path, "ns",
		                 (json_int_t)r->span[i].ns, "count", (json_int_t)r->span[i].count));
	return j;
}

static json_t *locks_of(const struct run_record *r)
{
	json_t *j = made(json_object());

	for (u32 i = 0; i < r->nr_locks; i++) {
		const struct record_lock *l = &r->lock[i];
		json_t *o = made(json_object());

		set(o, "acquisitions", number(l->acquisitions));
		set(o, "contentions", number(l->contentions));
		set(o, "wait_ns", number(l->wait_ns));
		set(o, "wait_ns_max", number(l->wait_ns_max));
		set(o, "hold_ns", number(l->hold_ns));
		set(o, "hold_ns_max", number(l->hold_ns_max));
		set(j, l->name, o);
	}
	return j;
}

/* [from, to before, count] */
static json_t *buckets_of(const struct record_latency *l)
{
	json_t *j = made(json_array());

	for (u32 i = 0; i < l->nr_buckets; i++)
		append(j,
		       json_pack("[I, I, I]", (json_int_t)l->bucket[i].low_ns,
		                 (json_int_t)l->bucket[i].high_ns, (json_int_t)l->bucket[i].count));
	return j;
}

static json_t *numbers(const u64 *v, u32 n)
{
	json_t *j = made(json_array());

	for (u32 i = 0; i < n; i++)
		append(j, number(v[i]));
	return j;
}

static json_t *series_of(const struct run_record *r)
{
	json_t *j = made(json_object());
	json_t *values = made(json_object());

	if (!r->nr_points) {
		json_decref(values);
		json_decref(j);
		return json_null();
	}
	set(j, "time_ns", numbers(r->time_ns, r->nr_points));
	set(j, "digest", numbers(r->digest, r->nr_points));
	for (u32 i = 0; i < r->nr_series; i++) {
		const struct record_series *s = &r->series[i];
		json_t *o = made(json_object());

		set(o, "unit", text(series_kind_name[s->kind]));
		set(o, "total", json_boolean(series_is_total(s->kind)));
		set(o, "values", numbers(s->v, r->nr_points));
		set(values, s->name, o);
	}
	set(j, "values", values);
	return j;
}

static json_t *heat_of(const struct record_heat *h)
{
	json_t *j = made(json_object());
	json_t *rows = made(json_array());

	set(j, "column_ns", number(h->column_ns));
	for (u32 i = 0; i < h->nr_rows; i++) {
		const struct heat_region *r = &h->row[i];
		json_t *o = made(json_object());
		json_t *touched = made(json_array());

		for (u32 c = 0; c < h->nr_columns; c++)
			append(touched, number(r->touched[c]));
		set(o, "space", text(r->name));
		set(o, "page", number(r->page));
		set(o, "pages", number(r->nr_pages));
		set(o, "touched", touched);
		append(rows, o);
	}
	set(j, "rows", rows);
	return j;
}

static json_t *latencies_of(const struct run_record *r)
{
	json_t *j = made(json_object());

	for (u32 i = 0; i < r->nr_latencies; i++) {
		const struct record_latency *l = &r->latency[i];
		json_t *o = made(json_object());

		set(o, "count", number(l->count));
		set(o, "mean_ns", number(l->mean_ns));
		set(o, "p50_ns", number(l->p50_ns));
		set(o, "p90_ns", number(l->p90_ns));
		set(o, "p99_ns", number(l->p99_ns));
		set(o, "p99.9_ns", number(l->p999_ns));
		set(o, "max_ns", number(l->max_ns));
		set(o, "buckets", buckets_of(l));
		set(j, l->name, o);
	}
	return j;
}

static json_t *costs_of(const struct run_record *r)
{
	json_t *j = made(json_object());

	for (u32 i = 0; i < r->nr_costs; i++)
		set(j, r->cost[i].name, number(r->cost[i].count));
	return j;
}

static json_t *notes_of(const struct run_record *r)
{
	json_t *j = made(json_array());

	for (const char *p = r->notes; *p;) {
		size_t len = strcspn(p, "\n");
		json_t *line = json_stringn(p, len);

		if (len)
			append(j, line ? line : json_string("(not UTF-8)"));
		else
			json_decref(line);
		p += len + (p[len] == '\n');
	}
	return j;
}

static json_t *run_of(const struct run_record *r)
{
	json_t *j = made(json_object());

	set(j, "seed", number(r->seed));
	set(j, "status", json_integer(r->status));
	set(j, "error", text(r->error));
	set(j, "elapsed_ns", number(r->elapsed_ns));
	set(j, "user_ns", number(r->user_ns));
	set(j, "sys_ns", number(r->sys_ns));
	set(j, "tasks", number(r->nr_tasks));
	set(j, "oom_kills", number(r->nr_oom_kills));
	set(j, "failed_tasks", number(r->nr_failed));
	set(j, "counters", counters_of(r));
	set(j, "spans", spans_of(r));
	set(j, "locks", locks_of(r));
	set(j, "latencies", latencies_of(r));
	set(j, "charged", costs_of(r));
	set(j, "series", series_of(r));
	if (r->heat)
		set(j, "heatmap", heat_of(r->heat));
	set(j, "notes", notes_of(r));
	return j;
}

/* ---- columns ------------------------------------------------------------------------------------ */

static json_t *config_of(const struct config *c)
{
	json_t *j = made(json_object());

	for (u32 i = 0; i < c->nr; i++) {
		json_t *entry = made(json_object());

		set(entry, "value", text(c->entry[i].value));
		set(entry, "origin", text(c->entry[i].origin));
		set(j, c->entry[i].name, entry);
	}
	return j;
}

/* What one comparison says; of a side that does not have the metric, nothing. */
static json_t *comparison_of(const char *metric, const struct comparison *c)
{
	bool ratio = c->base != 0;
	json_t *j = made(json_object());
	char change[FORMAT_MAX];

	set(j, "n", number(c->n));
	set(j, "base", c->base_missing ? json_null() : json_double(c->base));
	set(j, "value", c->value_missing ? json_null() : json_double(c->value));
	if (!c->base_missing && !c->value_missing) {
		set(j, "diff", json_double(c->diff));
		set(j, "diff_lo", json_double(c->diff_lo));
		set(j, "diff_hi", json_double(c->diff_hi));
		set(j, "ratio", ratio ? json_double(c->ratio) : json_null());
		set(j, "ratio_lo", ratio ? json_double(c->ratio_lo) : json_null());
		set(j, "ratio_hi", ratio ? json_double(c->ratio_hi) : json_null());
		set(j, "hedges_g", json_double(c->g));
		set(j, "p", json_double(c->p));
	}
	set(j, "significant", json_boolean(c->significant));
	set(j, "change", text(format_comparison(change, c)));
	set(j, "judgement", text(metric_judgement(metric, c)));
	return j;
}

static bool either_has(const struct results *r, const struct result_column *a,
                       const struct result_column *b, const char *metric)
{
	return column_has(r, a, metric) || column_has(r, b, metric);
}

/* Of a column against the first with its target: times, counters, mmtests' metrics. */
static json_t *comparisons_of(const struct results *r, const struct result_column *c)
{
	static const char *const time[] = {"elapsed", "user", "sys"};
	const struct result_column *base = results_find(r, NULL, NULL, c->target);
	const struct run_record *first = &c->record[0];
	const struct metric_info *m;
	json_t *j = made(json_object());
	struct comparison cmp;

	for (size_t i = 0; i < ARRAY_SIZE(time); i++) {
		column_compare(r, base, c, time[i], &cmp);
		set(j, time[i], comparison_of(time[i], &cmp));
	}
	for (u32 i = 0; i < first->nr_counters; i++) {
		column_compare(r, base, c, first->counter[i].name, &cmp);
		if (cmp.base != 0 || cmp.value != 0)
			set(j, first->counter[i].name, comparison_of(first->counter[i].name, &cmp));
	}
	for (u32 i = 0; (m = metric_derived_at(i)); i++) {
		if (json_object_get(j, m->name) || !either_has(r, base, c, m->name))
			continue;
		column_compare(r, base, c, m->name, &cmp);
		set(j, m->name, comparison_of(m->name, &cmp));
	}
	return j;
}

static json_t *column_of(const struct results *r, const struct result_column *c)
{
	static const char *const metric[] = {"elapsed", "user", "sys", "throughput",
	                                     "estimate_cpu_share"};
	json_t *j = made(json_object());
	json_t *runs = made(json_array());
	json_t *summary = made(json_object());

	set(j, "variant", text(c->variant));
	set(j, "point", text(c->point));
	set(j, "target", text(c->target));
	set(j, "machine", text(c->record[0].machine));
	set(j, "kernel", text(c->record[0].kernel));
	set(j, "cpus", number(c->record[0].nr_cpus));
	set(j, "profile_hash", c->profile_hash ? text(c->profile_hash) : json_null());
	set(j, "config", config_of(&c->config));
	for (size_t i = 0; i < ARRAY_SIZE(metric); i++) {
		struct summary s;

		column_summary(r, c, metric[i], &s);
		set(summary, metric[i], json_summary(&s));
	}
	set(j, "summary", summary);
	if (c != results_find(r, NULL, NULL, c->target))
		set(j, "comparison", comparisons_of(r, c));
	for (u32 i = 0; i < r->nr_seeds; i++)
		append(runs, run_of(&c->record[i]));
	set(j, "runs", runs);
	return j;
}

/* What --vary varied: null if nothing was. */
static json_t *sweep_of(const struct results *r)
{
	json_t *j = made(json_object());
	json_t *axes = made(json_array());
	json_t *holes = made(json_array());

	for (u32 i = 0; i < r->nr_axes; i++) {
		json_t *axis = made(json_object());
		json_t *values = made(json_array());

		for (u32 k = 0; k < r->axis[i].nr_values; k++)
			append(values, text(r->axis[i].value[k]));
		set(axis, "name", text(r->axis[i].name));
		set(axis, "values", values);
		append(axes, axis);
	}
	for (u32 i = 0; i < r->nr_holes; i++) {
		json_t *hole = made(json_object());

		set(hole, "point", text(r->hole[i].point));
		set(hole, "error", text(r->hole[i].error));
		append(holes, hole);
	}
	set(j, "zip", json_boolean(r->zip));
	set(j, "axes", axes);
	set(j, "impossible", holes);
	if (r->nr_axes)
		return j;
	json_decref(j);
	return json_null();
}

json_t *json_columns(const struct results *r)
{
	json_t *j = made(json_array());

	for (u32 i = 0; i < r->nr_columns; i++)
		append(j, column_of(r, &r->column[i]));
	return j;
}

/* Where the list of numbers that begins at @p (a bracket) ends; NULL if it is something else. */
static const char *end_of_numbers(const char *p)
{
	p += 1 + strspn(p + 1, "0123456789+-.eE, \n");
	return *p == ']' ? p : NULL;
}

/* Lists of numbers, of which time series have long ones, on one line each. */
static void print_compact(FILE *f, const char *text)
{
	bool quoted = false;

	for (const char *p = text; *p; p++) {
		const char *end = *p == '[' && !quoted ? end_of_numbers(p) : NULL;

		for (; end && p < end; p++)
			if (*p != ' ' && *p != '\n')
				fputc(*p, f);
		if (quoted && *p == '\\')
			fputc(*p++, f);
		else if (*p == '"')
			quoted = !quoted;
		fputc(*p, f);
	}
}

char *json_checksum(const json_t *root)
{
	json_t *bare = made(json_copy((json_t *)root)); /* shallow */
	char buf[17];
	char *dump;

	json_object_del(bare, "checksum");
	dump = json_dumps(bare, JSON_COMPACT | JSON_REAL_PRECISION(12));
	if (!dump)
		panic("out of host memory for JSON");
	snprintf(buf, sizeof(buf), "%016lx", hash_bytes(HASH_START, dump, strlen(dump)));
	free(dump);
	json_decref(bare);
	return report_strdup(buf);
}

void json_print(FILE *f, json_t *root)
{
	char *checksum = json_checksum(root);
	char *dump;

	set(root, "checksum", text(checksum));
	/* Twelve digits: more than any result has, and the same from every compiler. */
	dump = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
	if (!dump)
		panic("out of host memory for JSON");
	print_compact(f, dump);
	fputc('\n', f);
	free(dump);
	free(checksum);
	json_decref(root);
}

void save_json(FILE *f, const void *results)
{
	const struct results *r = results;
	json_t *j = json_document("run");
	json_t *words = made(json_array());

	for (u32 i = 0; i < r->nr_words; i++)
		append(words, text(r->word[i]));
	set(j, "scenario", text(r->scenario));
	set(j, "scenario_hash", r->scenario_hash ? text(r->scenario_hash) : json_null());
	set(j, "title", text(r->title));
	set(j, "options", words);
	set(j, "sweep", sweep_of(r));
	set(j, "seeds", json_seeds(r));
	set(j, "columns", json_columns(r));
	json_print(f, j);
}
