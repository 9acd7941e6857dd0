/*
 * A run as a trace for Perfetto. See trace.h.
 *
 * The format: an array of events, ts and dur in microseconds. "X" is a slice, and slices of one track
 * must nest; "b" and "e" are the ends of one that need not (requests of a disk); "s" and "f" the ends of
 * an arrow, each within a slice; "i" an instant; "C" a counter; "M" the name of a track. A pid is a group
 * of tracks, a tid a track.
 */
#include "report/trace.h"

#include <stdlib.h>
#include <string.h>

#include "lib/sort.h"
#include "report/results.h"
#include "report/save.h"
#include "world/ledger.h"

/* ---- bytes -------------------------------------------------------------------------------------- */

void trace_free(struct record_trace *t)
{
	if (!t)
		return;
	free(t->slice);
	free(t->task);
	free(t);
}

void trace_write(const struct record_trace *t, struct bytes *out)
{
	bytes_u64(out, t != NULL);
	if (!t)
		return;
	bytes_u64(out, t->info.least_ns);
	bytes_u64(out, t->info.nr_short);
	bytes_u64(out, t->info.nr_instants_lost);
	bytes_u64(out, t->info.nr);
	for (u32 i = 0; i < t->info.nr; i++) {
		const struct slice *s = &t->slice[i];

		bytes_u64(out, s->begin);
		bytes_u64(out, s->end);
		bytes_u64(out, s->a);
		bytes_u64(out, s->b);
		bytes_u64(out,
		          (u64)s->task << 32 | (u64)s->cpu << 16 | (u64)s->kind << 8 | s->name);
	}
	bytes_u64(out, t->nr_tasks);
	for (u32 i = 0; i < t->nr_tasks; i++) {
		bytes_u64(out, t->task[i].id);
		bytes_u64(out, t->task[i].kind);
		bytes_text(out, t->task[i].name);
	}
}

struct record_trace *trace_read(struct bytes_reader *in)
{
	struct record_trace *t;

	if (!bytes_get_u64(in))
		return NULL;
	t = report_alloc(1, sizeof(*t));
	t->info.least_ns = bytes_get_u64(in);
	t->info.nr_short = bytes_get_u64(in);
	t->info.nr_instants_lost = bytes_get_u64(in);
	t->info.nr = bytes_get_count(in, 5 * sizeof(u64));
	t->slice = report_alloc(t->info.nr, sizeof(*t->slice));
	for (u32 i = 0; i < t->info.nr; i++) {
		struct slice *s = &t->slice[i];
		u64 rest;

		s->begin = bytes_get_u64(in);
		s->end = bytes_get_u64(in);
		s->a = bytes_get_u64(in);
		s->b = bytes_get_u64(in);
		rest = bytes_get_u64(in);
		s->task = (u32)(rest >> 32);
		s->cpu = (u16)(rest >> 16);
		s->kind = (u8)(rest >> 8);
		s->name = (u8)rest;
	}
	t->nr_tasks = bytes_get_count(in, 3 * sizeof(u64));
	t->task = report_alloc(t->nr_tasks, sizeof(*t->task));
	for (u32 i = 0; i < t->nr_tasks; i++) {
		char *name;

		t->task[i].id = (u32)bytes_get_u64(in);
		t->task[i].kind = (u8)bytes_get_u64(in);
		name = bytes_get_text(in);
		snprintf(t->task[i].name, sizeof(t->task[i].name), "%s", name);
		free(name);
	}
	return t;
}

/* ---- events ------------------------------------------------------------------------------------- */

/* The groups of tracks of one column. */
enum track_group { GROUP_CPUS, GROUP_TASKS, GROUP_DISKS, NR_TRACK_GROUPS };

struct drawing {
	FILE *f;
	bool any; /* an event has been written */
	u32 column;
	u64 nr_arrows;
	const struct record_trace *t;
};

static u32 pid_of(const struct drawing *d, enum track_group group)
{
	return d->column * NR_TRACK_GROUPS + group + 1;
}

static void text_json(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		if ((unsigned char)*s >= ' ')
			fputc(*s, f);
	}
	fputc('"', f);
}

static void begin_event(struct drawing *d, const char *phase, enum track_group group, u64 track,
                        u64 ns)
{
	fprintf(d->f, "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%lu,\"ts\":%lu.%03lu",
	        d->any ? "," : "", phase, pid_of(d, group), track, ns / 1000, ns % 1000);
	d->any = true;
}

static void put_name(const struct drawing *d, const char *name)
{
	fputs(",\"name\":", d->f);
	text_json(d->f, name);
}

static void meta(struct drawing *d, const char *what, enum track_group group, u64 track,
                 const char *name)
{
	fprintf(d->f,
	        "%s\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%lu,\"name\":\"%s\",\"args\":{\"name\":",
	        d->any ? "," : "", pid_of(d, group), track, what);
	d->any = true;
	text_json(d->f, name);
	fputs("}}", d->f);
}

static const char *task_name(const struct record_trace *t, u32 id)
{
	u32 lo = 0;
	u32 hi = t->nr_tasks;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (t->task[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->nr_tasks && t->task[lo].id == id ? t->task[lo].name : "?";
}

/* A slice that nests in its track. */
static void draw_nested(struct drawing *d, const struct slice *s, enum track_group group, u64 track,
                        const char *name)
{
	u64 ns = s->end - s->begin;

	begin_event(d, "X", group, track, s->begin);
	fprintf(d->f, ",\"dur\":%lu.%03lu", ns / 1000, ns % 1000);
	put_name(d, name);
	if (s->kind == SLICE_RUN)
		fprintf(d->f, ",\"args\":{\"task\":%u}", s->task);
	else if (group == GROUP_TASKS)
		fprintf(d->f, ",\"args\":{\"cpu\":%u}", s->cpu);
	fputc('}', d->f);
}

static void draw_io(struct drawing *d, const struct slice *s, u64 id)
{
	const char *name = s->name ? "write" : "read";

	begin_event(d, "b", GROUP_DISKS, s->cpu, s->begin);
	fprintf(d->f, ",\"cat\":\"disk\",\"id\":%lu", id);
	put_name(d, name);
	fprintf(d->f, ",\"args\":{\"sector\":%lu,\"KB\":%lu}}", s->a, s->b / 2);
	begin_event(d, "e", GROUP_DISKS, s->cpu, s->end);
	fprintf(d->f, ",\"cat\":\"disk\",\"id\":%lu", id);
	put_name(d, name);
	fputc('}', d->f);
}

static void draw_arrow(struct drawing *d, const struct slice *s)
{
	u64 id = ++d->nr_arrows;

	begin_event(d, "s", GROUP_TASKS, s->task, s->begin);
	fprintf(d->f, ",\"cat\":\"ipi\",\"id\":%lu,\"name\":\"IPI\"}", id);
	begin_event(d, "f", GROUP_CPUS, s->a, s->end);
	fprintf(d->f, ",\"cat\":\"ipi\",\"id\":%lu,\"name\":\"IPI\",\"bp\":\"e\"}", id);
}

static void draw_instant(struct drawing *d, const struct slice *s)
{
	begin_event(d, "i", GROUP_TASKS, s->task, s->begin);
	put_name(d, ledger_event_name[s->name % NR_LEDGER_EVENTS]);
	fprintf(d->f, ",\"s\":\"t\",\"args\":{\"a\":%lu,\"b\":%lu}}", s->a, s->b);
}

static void draw_slice(struct drawing *d, const struct slice *s, u64 id)
{
	char name[64];

	switch ((enum slice_kind)s->kind) {
	case SLICE_SPAN:
		draw_nested(d, s, GROUP_TASKS, s->task,
		            ledger_span_name[s->name % NR_LEDGER_SPANS]);
		break;
	case SLICE_IRQ:
		draw_nested(d, s, GROUP_CPUS, s->cpu, ledger_span_name[s->name % NR_LEDGER_SPANS]);
		break;
	case SLICE_RUN:
		draw_nested(d, s, GROUP_CPUS, s->cpu, task_name(d->t, s->task));
		break;
	case SLICE_LOCK:
	case SLICE_IRQ_LOCK:
		snprintf(name, sizeof(name), "wait: %s",
		         ledger_lock_name[s->name % NR_LEDGER_LOCKS]);
		if (s->kind == SLICE_LOCK)
			draw_nested(d, s, GROUP_TASKS, s->task, name);
		else
			draw_nested(d, s, GROUP_CPUS, s->cpu, name);
		break;
	case SLICE_IO:
		draw_io(d, s, id);
		break;
	case SLICE_IPI:
		draw_arrow(d, s);
		break;
	case SLICE_INSTANT:
		draw_instant(d, s);
		break;
	case NR_SLICE_KINDS:
		break;
	}
}

/* By begin; parents, which end later, before their children. */
static int by_begin(const void *a, const void *b, void *arg)
{
	const struct slice *x = a;
	const struct slice *y = b;

	(void)arg;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (int)y->kind - (int)x->kind; /* a wait contains the span of the same length */
}

/* ---- counters ----------------------------------------------------------------------------------- */

/* Totals are shown as what happened per second, ns as a share of the time (of CPUs: in CPUs). */
static void draw_counter(struct drawing *d, const struct run_record *r,
                         const struct record_series *s)
{
	bool total = series_is_total((enum series_kind)s->kind);
	char name[128];

	if (s->kind == SERIES_EVENTS)
		snprintf(name, sizeof(name), "%s per second", s->name);
	else
		snprintf(name, sizeof(name), "%s", s->name);
	for (u32 i = total; i < r->nr_points; i++) {
		double ns = i ? (double)(r->time_ns[i] - r->time_ns[i - 1]) : 0;
		double v = (double)s->v[i];

		if (total)
			v = (v - (double)s->v[i - 1]) / ns * (s->kind == SERIES_EVENTS ? 1e9 : 1);
		begin_event(d, "C", GROUP_CPUS, 0, r->time_ns[total ? i - 1 : i]);
		put_name(d, name);
		fprintf(d->f, ",\"args\":{\"%s\":%.6g}}", series_kind_name[s->kind], v);
	}
}

/* ---- one column --------------------------------------------------------------------------------- */

static void name_tracks(struct drawing *d, const struct run_record *r, const char *label)
{
	static const char *const group[] = {"CPUs", "tasks", "disks"};
	char name[192];

	for (u32 g = 0; g < NR_TRACK_GROUPS; g++) {
		snprintf(name, sizeof(name), "%s%s%s", label, *label ? ": " : "", group[g]);
		meta(d, "process_name", (enum track_group)g, 0, name);
	}
	for (u32 i = 0; i < r->nr_cpus; i++) {
		snprintf(name, sizeof(name), "CPU %u", i);
		meta(d, "thread_name", GROUP_CPUS, i, name);
	}
	for (u32 i = 0; i < d->t->nr_tasks; i++)
		meta(d, "thread_name", GROUP_TASKS, d->t->task[i].id, d->t->task[i].name);
}

static void draw_column(struct drawing *d, const struct run_record *r, const char *label)
{
	struct slice *s = d->t->slice;

	name_tracks(d, r, label);
	sort_stable(s, d->t->info.nr, sizeof(*s), by_begin, NULL);
	for (u32 i = 0; i < d->t->info.nr; i++)
		draw_slice(d, &s[i], (u64)d->column << 32 | i);
	for (u32 i = 0; i < r->nr_series; i++)
		draw_counter(d, r, &r->series[i]);
}

/* What was left out, for those who look at the file and for those who look at the trace's info. */
static void say_dropped(FILE *f, const struct results *r)
{
	fputs("\"otherData\":{", f);
	for (u32 i = 0; i < r->nr_columns; i++) {
		const struct record_trace *t = r->column[i].record[0].trace;
		char label[160];
		char text[256];

		column_label(r, &r->column[i], label, sizeof(label));
		if (!t)
			snprintf(text, sizeof(text), "not traced");
		else if (!t->info.nr_short && !t->info.nr_instants_lost)
			snprintf(text, sizeof(text), "%u slices, nothing left out", t->info.nr);
		else
			snprintf(
				text, sizeof(text),
				"%u slices; left out: %lu slices shorter than %lu ns, %lu instants",
				t->info.nr, t->info.nr_short, t->info.least_ns,
				t->info.nr_instants_lost);
		fputs(i ? "," : "", f);
		text_json(f, label);
		fputc(':', f);
		text_json(f, text);
	}
	fputs("}", f);
}

void save_trace(FILE *f, const void *results)
{
	const struct results *r = results;
	struct drawing d = {.f = f};

	fputs("{\"displayTimeUnit\":\"ns\",", f);
	say_dropped(f, r);
	fputs(",\"traceEvents\":[", f);
	for (u32 i = 0; i < r->nr_columns; i++) {
		char label[160];

		d.t = r->column[i].record[0].trace;
		d.column = i;
		if (!d.t)
			continue;
		column_label(r, &r->column[i], label, sizeof(label));
		draw_column(&d, &r->column[i].record[0], r->nr_columns > 1 ? label : "");
	}
	fputs("\n]}\n", f);
}
