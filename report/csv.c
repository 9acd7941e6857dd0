/*
 * Results in long form, one value a line, for R, pandas or sqlite; and folded stacks.
 */
#include <string.h>

#include "report/save.h"

static void csv_text(FILE *f, const char *text)
{
	if (!strpbrk(text, ",\"\n")) {
		fputs(text, f);
		return;
	}
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

struct csv_row {
	FILE *f;
	const struct results *r;
	const struct result_column *c;
	const struct run_record *run;
};

/* Everything but metric and value. */
static void csv_start(const struct csv_row *row)
{
	const char *const text[] = {row->r->scenario, row->c->target,  row->run->machine,
	                            row->run->kernel, row->c->variant, row->c->point};

	for (size_t i = 0; i < ARRAY_SIZE(text); i++) {
		csv_text(row->f, text[i]);
		fputc(',', row->f);
	}
	fprintf(row->f, "%lu,", row->run->seed);
}

static void csv_number(const struct csv_row *row, const char *kind, const char *name,
                       const char *part, s64 value)
{
	char metric[1200];

	csv_start(row);
	snprintf(metric, sizeof(metric), "%s%s%s%s", kind, name, *part ? ":" : "", part);
	csv_text(row->f, metric);
	fprintf(row->f, ",%ld\n", value);
}

static void csv_run(const struct csv_row *row)
{
	const struct run_record *r = row->run;

	csv_number(row, "", "elapsed_ns", "", (s64)r->elapsed_ns);
	csv_number(row, "", "user_ns", "", (s64)r->user_ns);
	csv_number(row, "", "sys_ns", "", (s64)r->sys_ns);
	csv_number(row, "", "oom_kills", "", r->nr_oom_kills);
	for (u32 i = 0; i < r->nr_counters; i++)
		csv_number(row, "", r->counter[i].name, "", r->counter[i].value);
	for (u32 i = 0; i < r->nr_latencies; i++) {
		const struct record_latency *l = &r->latency[i];

		csv_number(row, "latency:", l->name, "count", (s64)l->count);
		csv_number(row, "latency:", l->name, "p50_ns", (s64)l->p50_ns);
		csv_number(row, "latency:", l->name, "p90_ns", (s64)l->p90_ns);
		csv_number(row, "latency:", l->name, "p99_ns", (s64)l->p99_ns);
		csv_number(row, "latency:", l->name, "p99.9_ns", (s64)l->p999_ns);
		csv_number(row, "latency:", l->name, "max_ns", (s64)l->max_ns);
	}
	for (u32 i = 0; i < r->nr_locks; i++) {
		const struct record_lock *l = &r->lock[i];

		csv_number(row, "lock:", l->name, "acquisitions", (s64)l->acquisitions);
		csv_number(row, "lock:", l->name, "contentions", (s64)l->contentions);
		csv_number(row, "lock:", l->name, "wait_ns", (s64)l->wait_ns);
		csv_number(row, "lock:", l->name, "hold_ns", (s64)l->hold_ns);
	}
	for (u32 i = 0; i < r->nr_spans; i++)
		csv_number(row, "span:", r->span[i].path, "ns", (s64)r->span[i].ns);
}

void save_csv(FILE *f, const void *results)
{
	const struct results *r = results;
	struct csv_row row = {.f = f, .r = r};

	fprintf(f, "scenario,target,machine,kernel,variant,point,seed,metric,value\n");
	for (u32 i = 0; i < r->nr_columns; i++) {
		row.c = &r->column[i];
		for (u32 k = 0; k < r->nr_seeds; k++) {
			row.run = &row.c->record[k];
			if (!row.run->status)
				csv_run(&row);
		}
	}
}

void save_folded(FILE *f, const void *results)
{
	const struct results *r = results;

	for (u32 i = 0; i < r->nr_columns; i++) {
		struct run_record mean;
		char label[128];

		if (!column_mean(r, &r->column[i], &mean))
			continue;
		column_label(r, &r->column[i], label, sizeof(label));
		for (u32 k = 0; k < mean.nr_spans; k++) {
			const struct record_span *s = &mean.span[k];

			if (!s->ns || strcmp(s->path, "idle") == 0)
				continue;
			if (r->nr_columns > 1) {
				for (const char *p = label; *p; p++)
					fputc(*p == ' ' || *p == ';' ? '_' : *p, f);
				fputc(';', f);
			}
			for (const char *p = s->path; *p; p++)
				fputc(*p == '/' ? ';' : *p, f);
			fprintf(f, " %lu\n", s->ns);
		}
		record_free(&mean);
	}
}
