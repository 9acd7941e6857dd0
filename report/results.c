/*
 * What a command ran. See results.h.
 */
#include "report/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/metric.h"

void result_axis_free(struct result_axis *a)
{
	for (u32 i = 0; i < a->nr_values; i++)
		free(a->value[i]);
	free(a->value);
	free(a->name);
	*a = (struct result_axis){0};
}

void results_free(struct results *r)
{
	for (u32 i = 0; i < r->nr_axes; i++)
		result_axis_free(&r->axis[i]);
	for (u32 i = 0; i < r->nr_holes; i++) {
		free(r->hole[i].point);
		free(r->hole[i].error);
	}
	free(r->axis);
	free(r->hole);
	for (u32 i = 0; i < r->nr_columns; i++) {
		struct result_column *c = &r->column[i];

		for (u32 k = 0; c->record && k < r->nr_seeds; k++)
			record_free(&c->record[k]);
		config_free(&c->config);
		free(c->record);
		free(c->variant);
		free(c->point);
		free(c->target);
		free(c->profile_hash);
	}
	for (u32 i = 0; i < r->nr_words; i++)
		free(r->word[i]);
	free(r->word);
	free(r->scenario_hash);
	free(r->commit);
	free(r->sources);
	free(r->column);
	free(r->seed);
	free(r->scenario);
	free(r->title);
	*r = (struct results){0};
}

bool column_all_ran(const struct results *r, const struct result_column *c)
{
	for (u32 i = 0; i < r->nr_seeds; i++)
		if (c->record[i].status)
			return false;
	return true;
}

u32 column_values(const struct results *r, const struct result_column *c, const char *metric,
                  double *v)
{
	u32 n = 0;

	for (u32 i = 0; i < r->nr_seeds; i++)
		if (!c->record[i].status && record_metric(&c->record[i], metric, &v[n]))
			n++;
	return n;
}

void column_summary(const struct results *r, const struct result_column *c, const char *metric,
                    struct summary *s)
{
	double *v = report_alloc(r->nr_seeds, sizeof(*v));

	summarise(v, column_values(r, c, metric, v), s);
	free(v);
}

bool column_has(const struct results *r, const struct result_column *c, const char *metric)
{
	double v;

	for (u32 i = 0; i < r->nr_seeds; i++)
		if (!c->record[i].status && record_metric(&c->record[i], metric, &v))
			return true;
	return false;
}

void columns_compare(const struct results *rb, const struct result_column *base,
                     const struct results *rv, const struct result_column *c, const char *metric,
                     struct comparison *out)
{
	u32 room = min(rb->nr_seeds, rv->nr_seeds);
	double *b = report_alloc(room, sizeof(*b));
	double *v = report_alloc(room, sizeof(*v));
	struct summary s;
	u32 n = 0;

	for (u32 i = 0; i < room; i++)
		if (!base->record[i].status && !c->record[i].status &&
		    record_metric(&base->record[i], metric, &b[n]) &&
		    record_metric(&c->record[i], metric, &v[n]))
			n++;
	compare_pairs(b, v, n, rb->nr_seeds ? rb->seed[0] : 0, out);
	out->base_missing = !column_has(rb, base, metric);
	out->value_missing = !column_has(rv, c, metric);
	column_summary(rb, base, "elapsed", &s);
	out->least = metric_least(metric, out->base, s.mean);
	if (!n) { /* one side may still be shown */
		column_summary(rb, base, metric, &s);
		out->base = s.mean;
		column_summary(rv, c, metric, &s);
		out->value = s.mean;
	}
	free(b);
	free(v);
}

void column_compare(const struct results *r, const struct result_column *base,
                    const struct result_column *c, const char *metric, struct comparison *out)
{
	columns_compare(r, base, r, c, metric, out);
}

/* ---- the mean of a column ----------------------------------------------------------------------- */

/*
 * The element of @to's list that has the name of @from's i-th, appended if need be. Records of one
 * column have nearly the same names in the same order, so look in the same place first.
 */
#define MATCH(to, list, nr, key, from, i)                                                          \
	__extension__({                                                                            \
		u32 k = i;                                                                         \
		if (k >= (to)->nr || strcmp((to)->list[k].key, (from)->list[i].key) != 0)          \
			for (k = 0; k < (to)->nr; k++)                                             \
				if (strcmp((to)->list[k].key, (from)->list[i].key) == 0)           \
					break;                                                     \
		if (k == (to)->nr) {                                                               \
			(to)->list = realloc((to)->list, sizeof(*(to)->list) * (k + 1));           \
			if (!(to)->list)                                                           \
				abort();                                                           \
			memset(&(to)->list[k], 0, sizeof((to)->list[k]));                          \
			(to)->list[k].key = report_strdup((from)->list[i].key);                    \
			(to)->nr = k + 1;                                                          \
		}                                                                                  \
		&(to)->list[k];                                                                    \
	})

/* Histograms add up: all latencies of all seeds. Both lists are in order. */
static void add_buckets(struct record_latency *to, const struct record_latency *from)
{
	struct record_bucket *b = report_alloc(to->nr_buckets + from->nr_buckets, sizeof(*b));
	u32 i = 0;
	u32 k = 0;
	u32 n = 0;

	while (i < to->nr_buckets || k < from->nr_buckets) {
		u64 x = i < to->nr_buckets ? to->bucket[i].low_ns : UINT64_MAX;
		u64 y = k < from->nr_buckets ? from->bucket[k].low_ns : UINT64_MAX;

		b[n] = x <= y ? to->bucket[i++] : from->bucket[k++];
		if (x == y)
			b[n].count += from->bucket[k++].count;
		n++;
	}
	free(to->bucket);
	to->bucket = b;
	to->nr_buckets = n;
}

static void add_record(struct run_record *sum, const struct run_record *r)
{
	sum->elapsed_ns += r->elapsed_ns;
	sum->user_ns += r->user_ns;
	sum->sys_ns += r->sys_ns;
	sum->nr_oom_kills += r->nr_oom_kills;
	sum->nr_failed += r->nr_failed;
	for (u32 i = 0; i < r->nr_counters; i++)
		MATCH(sum, counter, nr_counters, name, r, i)->value += r->counter[i].value;
	for (u32 i = 0; i < r->nr_costs; i++)
		MATCH(sum, cost, nr_costs, name, r, i)->count += r->cost[i].count;
	for (u32 i = 0; i < r->nr_spans; i++) {
		struct record_span *s = MATCH(sum, span, nr_spans, path, r, i);

		s->ns += r->span[i].ns;
		s->count += r->span[i].count;
	}
	for (u32 i = 0; i < r->nr_locks; i++) {
		const struct record_lock *f = &r->lock[i];
		struct record_lock *l = MATCH(sum, lock, nr_locks, name, r, i);

		l->acquisitions += f->acquisitions;
		l->contentions += f->contentions;
		l->wait_ns += f->wait_ns;
		l->hold_ns += f->hold_ns;
		l->wait_ns_max = max(l->wait_ns_max, f->wait_ns_max);
		l->hold_ns_max = max(l->hold_ns_max, f->hold_ns_max);
	}
	for (u32 i = 0; i < r->nr_latencies; i++) {
		const struct record_latency *f = &r->latency[i];
		struct record_latency *l = MATCH(sum, latency, nr_latencies, name, r, i);

		l->count += f->count;
		l->mean_ns += f->mean_ns;
		l->p50_ns += f->p50_ns;
		l->p90_ns += f->p90_ns;
		l->p99_ns += f->p99_ns;
		l->p999_ns += f->p999_ns;
		l->max_ns = max(l->max_ns, f->max_ns);
		add_buckets(l, f);
	}
}

static void divide(u64 *v, u32 n)
{
	*v = (*v + n / 2) / n;
}

static void divide_record(struct run_record *r, u32 n)
{
	divide(&r->elapsed_ns, n);
	divide(&r->user_ns, n);
	divide(&r->sys_ns, n);
	r->nr_oom_kills = (r->nr_oom_kills + n / 2) / n;
	r->nr_failed = (r->nr_failed + n / 2) / n;
	for (u32 i = 0; i < r->nr_counters; i++)
		r->counter[i].value = (r->counter[i].value + n / 2) / n;
	for (u32 i = 0; i < r->nr_costs; i++)
		divide(&r->cost[i].count, n);
	for (u32 i = 0; i < r->nr_spans; i++) {
		divide(&r->span[i].ns, n);
		divide(&r->span[i].count, n);
	}
	for (u32 i = 0; i < r->nr_locks; i++) {
		struct record_lock *l = &r->lock[i];

		divide(&l->acquisitions, n);
		divide(&l->contentions, n);
		divide(&l->wait_ns, n);
		divide(&l->hold_ns, n);
	}
	for (u32 i = 0; i < r->nr_latencies; i++) {
		struct record_latency *l = &r->latency[i];

		divide(&l->count, n);
		divide(&l->mean_ns, n);
		divide(&l->p50_ns, n);
		divide(&l->p90_ns, n);
		divide(&l->p99_ns, n);
		divide(&l->p999_ns, n);
	}
}

bool column_mean(const struct results *r, const struct result_column *c, struct run_record *mean)
{
	const struct run_record *first = NULL;
	u32 n = 0;

	*mean = (struct run_record){0};
	for (u32 i = 0; i < r->nr_seeds; i++) {
		if (c->record[i].status)
			continue;
		if (!first)
			first = &c->record[i];
		add_record(mean, &c->record[i]);
		n++;
	}
	if (!n)
		return false;
	divide_record(mean, n);
	mean->target = report_strdup(first->target);
	mean->variant = report_strdup(first->variant);
	mean->machine = report_strdup(first->machine);
	mean->kernel = report_strdup(first->kernel);
	mean->error = report_strdup("");
	mean->notes = report_strdup(first->notes);
	mean->seed = first->seed;
	mean->nr_cpus = first->nr_cpus;
	mean->nr_tasks = first->nr_tasks;
	return true;
}

/* ---- columns ------------------------------------------------------------------------------------ */

const struct result_column *results_find(const struct results *r, const char *variant,
                                         const char *point, const char *target)
{
	for (u32 i = 0; i < r->nr_columns; i++) {
		const struct result_column *c = &r->column[i];

		if ((!variant || strcmp(c->variant, variant) == 0) &&
		    (!point || strcmp(c->point, point) == 0) &&
		    (!target || strcmp(c->target, target) == 0))
			return c;
	}
	return NULL;
}

/* "vm.swappiness=10 ram=3G" to "10 3G": what is varied stands above the table. */
static void values_only(const char *point, char *buf, size_t n)
{
	size_t len = 0;

	while (*point && len + 1 < n) {
		const char *equals = strchr(point, '=');
		size_t end;

		point = equals ? equals + 1 : point;
		end = strcspn(point, " ");
		if (len)
			buf[len++] = ' ';
		end = min_t(size_t, end, n - len - 1);
		memcpy(buf + len, point, end);
		len += end;
		point += end;
		point += strspn(point, " ");
	}
	buf[len] = '\0';
}

void column_label_among(const struct result_column *const *among, u32 nr,
                        const struct result_column *c, char *buf, size_t n)
{
	bool variants = false;
	bool points = false;
	bool targets = false;
	char point[128] = "";

	for (u32 i = 1; i < nr; i++) {
		variants |= strcmp(among[i]->variant, among[0]->variant) != 0;
		points |= strcmp(among[i]->point, among[0]->point) != 0;
		targets |= strcmp(among[i]->target, among[0]->target) != 0;
	}
	if (!variants && !points && !targets)
		variants = true; /* a lone column has its variant's name */
	if (points)
		values_only(c->point, point, sizeof(point));
	snprintf(buf, n, "%s%s%s%s%s", variants ? c->variant : "", variants && *point ? " " : "",
	         point, targets && (variants || *point) ? " " : "", targets ? c->target : "");
}

void column_label(const struct results *r, const struct result_column *c, char *buf, size_t n)
{
	const struct result_column **all = report_alloc(r->nr_columns, sizeof(*all));

	for (u32 i = 0; i < r->nr_columns; i++)
		all[i] = &r->column[i];
	column_label_among(all, r->nr_columns, c, buf, n);
	free(all);
}

void record_cpu_time(const struct run_record *r, u64 *busy_ns, u64 *idle_ns)
{
	*busy_ns = 0;
	*idle_ns = 0;
	for (u32 i = 0; i < r->nr_spans; i++) {
		/* The root of that name; what the idle loop does in spans of its own is work. */
		if (strcmp(r->span[i].path, "idle") == 0)
			*idle_ns += r->span[i].ns;
		else
			*busy_ns += r->span[i].ns;
	}
}
