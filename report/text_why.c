/*
 * Why one column took another time than the other, as text.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff.h"
#include "report/format.h"
#include "report/grid.h"
#include "report/text.h"

#define WHY_ROWS 12
#define PATH_ROOM 38

struct sides {
	const struct results *rb;
	const struct result_column *base;
	const struct results *rv;
	const struct result_column *c;
	char base_label[128];
	char label[128];
};

/* Seconds to the last ns, so that a reader can add them up. */
static void exact_cell(struct grid *grid, s64 ns)
{
	u64 size = (u64)llabs(ns);

	grid_cell(grid, "%c%lu.%09lu", ns < 0 ? '-' : '+', size / 1000000000, size % 1000000000);
}

static void diff_cells(struct grid *grid, s64 base, s64 value, const char *what)
{
	char text[FORMAT_MAX];

	exact_cell(grid, value - base);
	grid_cell(grid, "%s", base ? format_ns(text, (double)base) : "-");
	grid_cell(grid, "%s", value ? format_ns(text, (double)value) : "-");
	grid_cell(grid, "%s", what);
}

static void print_ledger(FILE *f, const struct sides *s, const struct ledger_diff *d)
{
	u32 shown = min_t(u32, d->nr, WHY_ROWS);
	s64 rest_base = 0;
	s64 rest_value = 0;
	const char *path[WHY_ROWS];
	struct grid grid;
	char text[256];
	u32 nr_rest = 0;

	while (shown && d->row[shown - 1].base_ns == d->row[shown - 1].value_ns)
		shown--;
	for (u32 i = 0; i < shown; i++)
		path[i] = d->row[i].path;
	grid_init(&grid, "rrrl");
	grid_cell(&grid, "CPU seconds");
	grid_cell(&grid, "%s", s->base_label);
	grid_cell(&grid, "%s", s->label);
	grid_cell(&grid, "span");
	for (u32 i = 0; i < d->nr; i++) {
		const struct diff_row *row = &d->row[i];

		if (i < shown) {
			text_path(text, sizeof(text), path, shown, i, PATH_ROOM);
			diff_cells(&grid, row->base_ns, row->value_ns, text);
			continue;
		}
		rest_base += row->base_ns;
		rest_value += row->value_ns;
		nr_rest++;
	}
	if (nr_rest) {
		snprintf(text, sizeof(text), "%u other spans", nr_rest);
		diff_cells(&grid, rest_base, rest_value, text);
	}
	diff_cells(&grid, d->base_ns, d->value_ns, "= elapsed x CPUs");
	for (u32 k = 0; k < NR_DIFF_KINDS; k++) {
		s64 base = d->kind_base_ns[k];
		s64 value = d->kind_value_ns[k];

		snprintf(text, sizeof(text), "  of %s", diff_kind_name[k]);
		if (base || value)
			diff_cells(&grid, base, value, text);
	}
	grid.wrap = true;
	grid_print(&grid, f, 4, GRID_WIDTH, 4);
	grid_free(&grid);
}

/* ---- locks and latencies ------------------------------------------------------------------------ */

static const struct record_lock *find_lock(const struct run_record *r, const char *name)
{
	for (u32 i = 0; i < r->nr_locks; i++)
		if (strcmp(r->lock[i].name, name) == 0)
			return &r->lock[i];
	return NULL;
}

static const struct record_latency *find_latency(const struct run_record *r, const char *name)
{
	for (u32 i = 0; i < r->nr_latencies; i++)
		if (strcmp(r->latency[i].name, name) == 0)
			return &r->latency[i];
	return NULL;
}

/* A lock nobody took has waited 0; an operation that did not happen has no latency. */
static bool lock_value(const struct run_record *r, const char *name, u32 part, double *v)
{
	const struct record_lock *l = find_lock(r, name);

	*v = !l ? 0 : part ? (double)l->contentions : (double)l->wait_ns;
	return true;
}

static bool latency_value(const struct run_record *r, const char *name, u32 part, double *v)
{
	const struct record_latency *l = find_latency(r, name);

	if (l)
		*v = (double)(part == 0   ? l->p50_ns
		              : part == 1 ? l->p99_ns
		              : part == 2 ? l->p999_ns
		                          : l->max_ns);
	return l != NULL;
}

typedef bool value_fn(const struct run_record *r, const char *name, u32 part, double *v);

static void compare_part(const struct sides *s, value_fn *fn, const char *name, u32 part,
                         struct comparison *out)
{
	u32 nr = min(s->rb->nr_seeds, s->rv->nr_seeds);
	double *b = report_alloc(nr, sizeof(*b));
	double *v = report_alloc(nr, sizeof(*v));
	u32 n = 0;

	for (u32 i = 0; i < nr; i++)
		if (!s->base->record[i].status && !s->c->record[i].status &&
		    fn(&s->base->record[i], name, part, &b[n]) &&
		    fn(&s->c->record[i], name, part, &v[n]))
			n++;
	compare_pairs(b, v, n, s->rb->seed[0], out);
	free(b);
	free(v);
}

/* Of enough pairs what is significant, of fewer what changed by a tenth. */
static bool moved(const struct comparison *c)
{
	if (!c->n || c->base == c->value)
		return false;
	return c->judged ? c->significant
	                 : fabs(c->value - c->base) >= 0.1 * fmax(c->base, c->value);
}

static void moved_row(struct grid *grid, const char *name, const char *part,
                      const struct comparison *c, bool times)
{
	char text[FORMAT_MAX];

	grid_cell(grid, "%s", name);
	grid_cell(grid, "%s", part);
	grid_cell(grid, "%s", times ? format_ns(text, c->base) : format_count(text, c->base));
	grid_cell(grid, "%s", times ? format_ns(text, c->value) : format_count(text, c->value));
	grid_cell(grid, "%s", format_comparison(text, c));
}

/* A thousandth of the CPUs' time is what a lock must have cost or saved to be named. */
static bool worth_naming(const struct comparison *c, const struct ledger_diff *d)
{
	return moved(c) && fabs(c->diff) * d->nr_pairs >= (double)d->base_ns / 1000;
}

static void print_moved(FILE *f, const struct sides *s, const struct ledger_diff *d)
{
	static const char *const latency_part[] = {"p50", "p99", "p99.9", "max"};
	const struct run_record *r = &s->c->record[0];
	const struct run_record *other = &s->base->record[0];
	struct comparison c;
	struct grid grid;
	u32 n = 0;

	grid_init(&grid, "llrrr");
	grid_cell(&grid, "locks and latencies that moved");
	grid_cell(&grid, "%s", "");
	grid_cell(&grid, "%s", s->base_label);
	grid_cell(&grid, "%s", s->label);
	grid_cell(&grid, "change");
	r = r->nr_locks >= other->nr_locks ? r : other;
	for (u32 i = 0; i < r->nr_locks; i++) {
		compare_part(s, lock_value, r->lock[i].name, 0, &c);
		if (!worth_naming(&c, d))
			continue;
		moved_row(&grid, r->lock[i].name, "wait", &c, true);
		compare_part(s, lock_value, r->lock[i].name, 1, &c);
		moved_row(&grid, "", "contentions", &c, false);
		n += 2;
	}
	for (u32 i = 0; i < r->nr_latencies; i++) {
		for (u32 k = 0; k < ARRAY_SIZE(latency_part); k++) {
			compare_part(s, latency_value, r->latency[i].name, k, &c);
			if (!moved(&c))
				continue;
			moved_row(&grid, r->latency[i].name, latency_part[k], &c, true);
			n++;
		}
	}
	if (n)
		grid_print(&grid, f, 4, GRID_WIDTH, 2);
	grid_free(&grid);
}

void text_why(FILE *f, const struct results *rb, const struct result_column *base,
              const struct results *rv, const struct result_column *c)
{
	const struct result_column *among[] = {base, c};
	struct sides s = {.rb = rb, .base = base, .rv = rv, .c = c};
	struct ledger_diff d;
	char head[512];
	char pairs[64];

	if (!ledger_diff(rb, base, rv, c, &d))
		return;
	column_label_among(among, 2, base, s.base_label, sizeof(s.base_label));
	column_label_among(among, 2, c, s.label, sizeof(s.label));
	if (strcmp(s.base_label, s.label) == 0) { /* one thing by two builds */
		snprintf(s.base_label, sizeof(s.base_label), "A");
		snprintf(s.label, sizeof(s.label), "B");
	}
	pairs[0] = '\0';
	if (d.nr_pairs > 1)
		snprintf(pairs, sizeof(pairs), ", summed over %u pairs", d.nr_pairs);
	snprintf(head, sizeof(head), "what took or gave time, %s against %s%s", s.label,
	         s.base_label, pairs);
	fputc('\n', f);
	text_wrap(f, "  why: ", head, GRID_WIDTH);
	print_ledger(f, &s, &d);
	print_moved(f, &s, &d);
	ledger_diff_free(&d);
}
