/*
 * Results back from JSON. See load.h.
 *
 * A file comes from outside, so every member is asked for by name and type, and the first that is
 * missing or wrong is named by its path. That the numbers are those that were written is what the
 * checksum says; that they fit each other is looked at all the same.
 */
#include "report/load.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"

struct reader {
	const char *path;
	char *err;
	bool bad;
	char where[160]; /* "columns[1].runs[3]" */
};

__printf(2, 3) static void wrong(struct reader *in, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (in->bad)
		return;
	in->bad = true;
	n = snprintf(in->err, LOAD_ERROR_MAX, "%.200s: ", in->path);
	va_start(ap, fmt);
	vsnprintf(in->err + n, LOAD_ERROR_MAX - (size_t)n, fmt, ap);
	va_end(ap);
}

static const json_t *member(struct reader *in, const json_t *object, const char *key,
                            json_type type, const char *expected)
{
	const json_t *j = json_object_get(object, key);

	if (j && json_typeof(j) == type)
		return j;
	wrong(in, "%s%s%s: expected %s%s", in->where, *in->where ? "." : "", key, expected,
	      j ? "" : "; there is nothing of that name");
	return NULL;
}

static u64 get_u64(struct reader *in, const json_t *object, const char *key)
{
	const json_t *j = member(in, object, key, JSON_INTEGER, "a whole number");

	if (j && json_integer_value(j) < 0)
		wrong(in, "%s.%s: expected no negative number", in->where, key);
	return j && !in->bad ? (u64)json_integer_value(j) : 0;
}

static u32 get_u32(struct reader *in, const json_t *object, const char *key)
{
	u64 v = get_u64(in, object, key);

	if (v > UINT32_MAX)
		wrong(in, "%s.%s: %lu is too large", in->where, key, v);
	return (u32)v;
}

static char *get_text(struct reader *in, const json_t *object, const char *key)
{
	const json_t *j = member(in, object, key, JSON_STRING, "a text");

	return report_strdup(j ? json_string_value(j) : "");
}

static char *get_text_or_null(struct reader *in, const json_t *object, const char *key)
{
	return json_is_null(json_object_get(object, key)) ? NULL : get_text(in, object, key);
}

static const json_t *get_array(struct reader *in, const json_t *object, const char *key)
{
	return member(in, object, key, JSON_ARRAY, "a list");
}

static const json_t *get_object(struct reader *in, const json_t *object, const char *key)
{
	return member(in, object, key, JSON_OBJECT, "an object");
}

/* ---- one run ------------------------------------------------------------------------------------ */

static void load_counters(struct reader *in, const json_t *j, struct run_record *r)
{
	const char *name;
	json_t *value;

	r->counter = report_alloc(json_object_size(j), sizeof(*r->counter));
	json_object_foreach((json_t *)j, name, value)
	{
		if (!json_is_integer(value))
			wrong(in, "%s.counters.%s: expected a whole number", in->where, name);
		r->counter[r->nr_counters++] =
			(struct record_counter){report_strdup(name), json_integer_value(value)};
	}
}

static void load_spans(struct reader *in, const json_t *list, struct run_record *r)
{
	u64 sum = 0;

	r->span = report_alloc(json_array_size(list), sizeof(*r->span));
	for (size_t i = 0; i < json_array_size(list) && !in->bad; i++) {
		const json_t *j = json_array_get(list, i);
		struct record_span *s = &r->span[r->nr_spans++];

		s->path = get_text(in, j, "path");
		s->ns = get_u64(in, j, "ns");
		s->count = get_u64(in, j, "count");
		sum += s->ns;
	}
	if (r->nr_spans && !r->status && sum != r->elapsed_ns * r->nr_cpus)
		wrong(in, "%s.spans: %lu ns in all instead of %lu ns x %u CPUs", in->where, sum,
		      r->elapsed_ns, r->nr_cpus);
}

static void load_locks(struct reader *in, const json_t *j, struct run_record *r)
{
	const char *name;
	json_t *o;

	r->lock = report_alloc(json_object_size(j), sizeof(*r->lock));
	json_object_foreach((json_t *)j, name, o)
	{
		struct record_lock *l = &r->lock[r->nr_locks++];

		l->name = report_strdup(name);
		l->acquisitions = get_u64(in, o, "acquisitions");
		l->contentions = get_u64(in, o, "contentions");
		l->wait_ns = get_u64(in, o, "wait_ns");
		l->wait_ns_max = get_u64(in, o, "wait_ns_max");
		l->hold_ns = get_u64(in, o, "hold_ns");
		l->hold_ns_max = get_u64(in, o, "hold_ns_max");
	}
}

/* A list of whole numbers, @n of them unless @n is 0; *@nr how many. For free(). */
static u64 *load_numbers(struct reader *in, const json_t *list, const char *what, size_t n, u32 *nr)
{
	u64 *v = report_alloc(json_array_size(list), sizeof(*v));

	if (n && json_array_size(list) != n)
		wrong(in, "%s.%s: expected %zu numbers, not %zu", in->where, what, n,
		      json_array_size(list));
	for (*nr = 0; *nr < json_array_size(list); ++*nr) {
		const json_t *j = json_array_get(list, *nr);

		if (!json_is_integer(j))
			wrong(in, "%s.%s[%u]: expected a whole number", in->where, what, *nr);
		v[*nr] = (u64)json_integer_value(j);
	}
	return v;
}

static void load_buckets(struct reader *in, const json_t *list, struct record_latency *l)
{
	l->bucket = report_alloc(json_array_size(list), sizeof(*l->bucket));
	for (size_t i = 0; i < json_array_size(list) && !in->bad; i++) {
		u32 nr;
		u64 *v = load_numbers(in, json_array_get(list, i), "buckets", 3, &nr);

		if (nr == 3)
			l->bucket[l->nr_buckets++] = (struct record_bucket){
				.low_ns = v[0], .high_ns = v[1], .count = v[2]};
		free(v);
	}
}

static u32 series_kind(struct reader *in, const char *unit, bool total)
{
	for (u32 k = 0; k < NR_SERIES_KINDS; k++)
		if (strcmp(series_kind_name[k], unit) == 0 && series_is_total(k) == total)
			return k;
	wrong(in, "%s.series: no series is in %.20s", in->where, unit);
	return 0;
}

static void load_series(struct reader *in, const json_t *j, struct run_record *r)
{
	const json_t *values;
	const char *name;
	json_t *o;

	if (json_is_null(j))
		return;
	r->time_ns =
		load_numbers(in, get_array(in, j, "time_ns"), "series.time_ns", 0, &r->nr_points);
	if (json_object_get(j, "digest")) { /* results of older builds have none */
		u32 nr;

		r->digest = load_numbers(in, get_array(in, j, "digest"), "series.digest",
		                         r->nr_points, &nr);
	} else {
		r->digest = report_alloc(r->nr_points, sizeof(u64));
	}
	values = get_object(in, j, "values");
	r->series = report_alloc(json_object_size(values), sizeof(*r->series));
	json_object_foreach((json_t *)values, name, o)
	{
		struct record_series *s = &r->series[r->nr_series++];
		char *unit = get_text(in, o, "unit");
		u32 nr;

		s->name = report_strdup(name);
		s->kind = series_kind(in, unit, json_is_true(json_object_get(o, "total")));
		s->v = load_numbers(in, get_array(in, o, "values"), name, r->nr_points, &nr);
		free(unit);
	}
}

static struct record_heat *load_heat(struct reader *in, const json_t *j)
{
	const json_t *rows = get_array(in, j, "rows");
	struct record_heat *h =
		heat_new(get_u64(in, j, "column_ns"), 0, (u32)json_array_size(rows));

	for (size_t i = 0; i < json_array_size(rows) && !in->bad; i++) {
		const json_t *o = json_array_get(rows, i);
		struct heat_region *r = &h->row[h->nr_rows++];
		u32 nr;
		u64 *v;

		r->name = get_text(in, o, "space");
		r->page = get_u64(in, o, "page");
		r->nr_pages = get_u64(in, o, "pages");
		v = load_numbers(in, get_array(in, o, "touched"), "heatmap.touched", h->nr_columns,
		                 &nr);
		h->nr_columns = nr;
		r->touched = report_alloc(nr, sizeof(*r->touched));
		for (u32 c = 0; c < nr; c++)
			r->touched[c] = (u32)v[c];
		free(v);
	}
	if (!h->column_ns)
		wrong(in, "%s.heatmap.column_ns: expected more than 0", in->where);
	return h;
}

static void load_latencies(struct reader *in, const json_t *j, struct run_record *r)
{
	const char *name;
	json_t *o;

	r->latency = report_alloc(json_object_size(j), sizeof(*r->latency));
	json_object_foreach((json_t *)j, name, o)
	{
		struct record_latency *l = &r->latency[r->nr_latencies++];

		l->name = report_strdup(name);
		l->count = get_u64(in, o, "count");
		l->mean_ns = get_u64(in, o, "mean_ns");
		l->p50_ns = get_u64(in, o, "p50_ns");
		l->p90_ns = get_u64(in, o, "p90_ns");
		l->p99_ns = get_u64(in, o, "p99_ns");
		l->p999_ns = get_u64(in, o, "p99.9_ns");
		l->max_ns = get_u64(in, o, "max_ns");
		load_buckets(in, get_array(in, o, "buckets"), l);
	}
}

static void load_costs(struct reader *in, const json_t *j, struct run_record *r)
{
	const char *name;
	json_t *value;

	r->cost = report_alloc(json_object_size(j), sizeof(*r->cost));
	json_object_foreach((json_t *)j, name, value)
	{
		r->cost[r->nr_costs++] =
			(struct record_cost){report_strdup(name), get_u64(in, j, name)};
	}
}

static char *load_notes(const json_t *list)
{
	struct bytes b = {0};

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *line = json_string_value(json_array_get(list, i));

		bytes_add(&b, line ? line : "", line ? strlen(line) : 0);
		bytes_add(&b, "\n", 1);
	}
	bytes_add(&b, "", 1);
	return b.data;
}

static void load_run(struct reader *in, const json_t *j, struct run_record *r)
{
	const json_t *status = member(in, j, "status", JSON_INTEGER, "a whole number");

	r->seed = get_u64(in, j, "seed");
	r->status = status ? (s32)json_integer_value(status) : 0;
	r->error = get_text(in, j, "error");
	r->elapsed_ns = get_u64(in, j, "elapsed_ns");
	r->user_ns = get_u64(in, j, "user_ns");
	r->sys_ns = get_u64(in, j, "sys_ns");
	r->nr_tasks = get_u32(in, j, "tasks");
	r->nr_oom_kills = get_u32(in, j, "oom_kills");
	r->nr_failed = get_u32(in, j, "failed_tasks");
	load_counters(in, get_object(in, j, "counters"), r);
	load_spans(in, get_array(in, j, "spans"), r);
	load_locks(in, get_object(in, j, "locks"), r);
	load_latencies(in, get_object(in, j, "latencies"), r);
	load_costs(in, get_object(in, j, "charged"), r);
	load_series(in, json_object_get(j, "series"), r);
	if (json_object_get(j, "heatmap"))
		r->heat = load_heat(in, get_object(in, j, "heatmap"));
	r->notes = load_notes(get_array(in, j, "notes"));
}

/* ---- columns ------------------------------------------------------------------------------------ */

static void load_config(struct reader *in, const json_t *j, struct config *c)
{
	const char *name;
	json_t *entry;

	json_object_foreach((json_t *)j, name, entry)
	{
		char *value = get_text(in, entry, "value");
		char *origin = get_text(in, entry, "origin");

		config_add(c, name, value, origin);
		free(value);
		free(origin);
	}
}

static void load_column(struct reader *in, const json_t *j, const struct results *r,
                        struct result_column *c, u32 n)
{
	char *machine = get_text(in, j, "machine");
	char *kernel = get_text(in, j, "kernel");
	u32 nr_cpus = get_u32(in, j, "cpus");
	const json_t *runs = get_array(in, j, "runs");

	c->variant = get_text(in, j, "variant");
	c->point = get_text(in, j, "point");
	c->target = get_text(in, j, "target");
	c->profile_hash = get_text_or_null(in, j, "profile_hash");
	c->record = report_alloc(r->nr_seeds, sizeof(*c->record));
	load_config(in, get_object(in, j, "config"), &c->config);
	if (runs && json_array_size(runs) != r->nr_seeds)
		wrong(in, "%s.runs: %zu runs for %u seeds", in->where, json_array_size(runs),
		      r->nr_seeds);
	for (u32 i = 0; i < r->nr_seeds && !in->bad; i++) {
		struct run_record *rec = &c->record[i];

		snprintf(in->where, sizeof(in->where), "columns[%u].runs[%u]", n, i);
		rec->target = report_strdup(c->target);
		rec->variant = report_strdup(c->variant);
		rec->machine = report_strdup(machine);
		rec->kernel = report_strdup(kernel);
		rec->nr_cpus = nr_cpus;
		load_run(in, json_array_get(runs, i), rec);
		if (rec->seed != r->seed[i])
			wrong(in, "%s.seed: %lu, but seeds[%u] is %lu", in->where, rec->seed, i,
			      r->seed[i]);
	}
	free(machine);
	free(kernel);
}

static void load_axis(struct reader *in, const json_t *j, struct result_axis *a)
{
	const json_t *values = get_array(in, j, "values");

	a->name = get_text(in, j, "name");
	a->value = report_alloc(json_array_size(values), sizeof(*a->value));
	while (a->nr_values < json_array_size(values)) {
		const char *v = json_string_value(json_array_get(values, a->nr_values));

		if (!v)
			wrong(in, "%s.values[%u]: expected a text", in->where, a->nr_values);
		a->value[a->nr_values++] = report_strdup(v ? v : "");
	}
}

static void load_sweep(struct reader *in, const json_t *j, struct results *r)
{
	const json_t *axes;
	const json_t *holes;

	if (json_is_null(j))
		return;
	axes = get_array(in, j, "axes");
	holes = get_array(in, j, "impossible");
	snprintf(in->where, sizeof(in->where), "sweep");
	r->zip = json_is_true(json_object_get(j, "zip"));
	r->axis = report_alloc(json_array_size(axes), sizeof(*r->axis));
	r->hole = report_alloc(json_array_size(holes), sizeof(*r->hole));
	while (r->nr_axes < json_array_size(axes)) {
		u32 n = r->nr_axes++;

		load_axis(in, json_array_get(axes, n), &r->axis[n]);
	}
	while (r->nr_holes < json_array_size(holes)) {
		const json_t *hole = json_array_get(holes, r->nr_holes);
		struct result_hole *h = &r->hole[r->nr_holes++];

		h->point = get_text(in, hole, "point");
		h->error = get_text(in, hole, "error");
	}
	in->where[0] = '\0';
}

static void load_lists(struct reader *in, const json_t *root, struct results *r)
{
	const json_t *seeds = get_array(in, root, "seeds");
	const json_t *words = get_array(in, root, "options");
	const json_t *columns = get_array(in, root, "columns");

	if (in->bad)
		return;
	if (!json_array_size(seeds) || !json_array_size(columns))
		wrong(in, "expected at least one seed and one column");
	r->seed = report_alloc(json_array_size(seeds), sizeof(*r->seed));
	r->word = report_alloc(json_array_size(words), sizeof(*r->word));
	r->column = report_alloc(json_array_size(columns), sizeof(*r->column));
	while (r->nr_seeds < json_array_size(seeds)) {
		const json_t *j = json_array_get(seeds, r->nr_seeds);

		if (!json_is_integer(j))
			wrong(in, "seeds[%u]: expected a whole number", r->nr_seeds);
		r->seed[r->nr_seeds++] = (u64)json_integer_value(j);
	}
	while (r->nr_words < json_array_size(words)) {
		const char *word = json_string_value(json_array_get(words, r->nr_words));

		if (!word)
			wrong(in, "options[%u]: expected a text", r->nr_words);
		r->word[r->nr_words++] = report_strdup(word ? word : "");
	}
	while (r->nr_columns < json_array_size(columns) && !in->bad) {
		u32 n = r->nr_columns++;

		snprintf(in->where, sizeof(in->where), "columns[%u]", n);
		load_column(in, json_array_get(columns, n), r, &r->column[n], n);
	}
	in->where[0] = '\0';
}

/* ---- the document ------------------------------------------------------------------------------- */

static void check_document(struct reader *in, const json_t *root)
{
	const char *kind = json_string_value(json_object_get(root, "kind"));
	const json_t *schema = json_object_get(root, "schema");
	const char *said = json_string_value(json_object_get(root, "checksum"));
	char *checksum;

	if (!json_is_integer(schema) || !kind) {
		wrong(in, "this is no result of quire: it has no schema and kind");
		return;
	}
	if (json_integer_value(schema) != JSON_SCHEMA) {
		wrong(in, "has schema %lld, and this Quire reads schema %d: run it again",
		      (long long)json_integer_value(schema), JSON_SCHEMA);
		return;
	}
	if (strcmp(kind, "run") != 0) {
		wrong(in, "is of kind \"%.40s\", not \"run\": made by another verb than quire run",
		      kind);
		return;
	}
	checksum = json_checksum(root);
	if (!said || strcmp(said, checksum) != 0)
		wrong(in, "has been changed since quire wrote it: its checksum %s",
		      said ? "does not fit" : "is gone");
	free(checksum);
}

static json_t *parse(struct reader *in)
{
	json_error_t e;
	int err;
	FILE *f = strcmp(in->path, "-") == 0 ? stdin : fopen(in->path, "r");
	json_t *root;

	if (!f) {
		wrong(in, "%s", strerror(errno));
		return NULL;
	}
	root = json_loadf(f, JSON_REJECT_DUPLICATES, &e);
	err = errno;
	if (!root && ferror(f))
		wrong(in, "%s", strerror(err));
	else if (!root && ftell(f) == 0)
		wrong(in, "the file is empty");
	else if (!root && json_error_code(&e) == json_error_premature_end_of_input)
		wrong(in, "line %d: the file ends in the middle: it is not whole", e.line);
	else if (!root)
		wrong(in, "line %d: this is no JSON: %.160s", e.line, e.text);
	if (f != stdin)
		fclose(f);
	return root;
}

int results_load(const char *path, struct results *r, char *err)
{
	struct reader in = {.path = path, .err = err};
	json_t *root = parse(&in);

	*r = (struct results){0};
	if (root)
		check_document(&in, root);
	if (!in.bad) {
		r->scenario = get_text(&in, root, "scenario");
		r->scenario_hash = get_text_or_null(&in, root, "scenario_hash");
		r->title = get_text(&in, root, "title");
		r->commit = get_text(&in, root, "commit");
		r->sources = get_text(&in, root, "sources");
		load_sweep(&in, json_object_get(root, "sweep"), r);
		load_lists(&in, root, r);
	}
	json_decref(root);
	if (!in.bad)
		return 0;
	results_free(r);
	return -EINVAL;
}
