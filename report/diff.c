/*
 * Two columns' ledgers, subtracted. See diff.h.
 */
#include "report/diff.h"

#include <stdlib.h>
#include <string.h>

#include "lib/bug.h"
#include "lib/sort.h"

const char *const diff_kind_name[NR_DIFF_KINDS] = {
	[DIFF_WORKERS] = "workers",     [DIFF_KSWAPD] = "kswapd",
	[DIFF_KWORKERS] = "kworkers",   [DIFF_INTERRUPTS] = "interrupts",
	[DIFF_SCHEDULER] = "scheduler", [DIFF_IDLE] = "idle",
};

static enum diff_kind kind_of(const char *path)
{
	static const char *const root[] = {"user", "kswapd", "kthread", "irq"};
	size_t len = strcspn(path, "/");

	if (strcmp(path, "idle") == 0)
		return DIFF_IDLE;
	for (size_t i = 0; i < ARRAY_SIZE(root); i++)
		if (strlen(root[i]) == len && strncmp(root[i], path, len) == 0)
			return (enum diff_kind)i;
	return DIFF_SCHEDULER;
}

/* Records of one column have nearly the same paths in the same order: @hint is where to look. */
static struct diff_row *row_for(struct ledger_diff *d, const char *path, u32 *hint)
{
	for (u32 i = 0; i < d->nr; i++) {
		u32 k = (*hint + i) % d->nr;

		if (strcmp(d->row[k].path, path) == 0) {
			*hint = k + 1;
			return &d->row[k];
		}
	}
	*hint = d->nr + 1;
	d->row[d->nr] = (struct diff_row){.path = path, .kind = kind_of(path)};
	return &d->row[d->nr++];
}

static void add(struct ledger_diff *d, const struct run_record *r, bool value)
{
	s64 *total = value ? &d->value_ns : &d->base_ns;
	s64 sum = 0;
	u32 hint = 0;

	for (u32 i = 0; i < r->nr_spans; i++) {
		struct diff_row *row = row_for(d, r->span[i].path, &hint);
		s64 ns = (s64)r->span[i].ns;

		*(value ? &row->value_ns : &row->base_ns) += ns;
		(value ? d->kind_value_ns : d->kind_base_ns)[row->kind] += ns;
		sum += ns;
	}
	/* The world's promise: per CPU, the sum over all spans equals its clock. */
	VM_BUG_ON(sum != (s64)(r->elapsed_ns * r->nr_cpus));
	*total += sum;
}

static int by_difference(const void *a, const void *b, void *arg)
{
	const struct diff_row *x = a;
	const struct diff_row *y = b;
	s64 dx = llabs(x->value_ns - x->base_ns);
	s64 dy = llabs(y->value_ns - y->base_ns);

	(void)arg;
	if (dx != dy)
		return (dx < dy) - (dx > dy);
	return strcmp(x->path, y->path);
}

static bool has_ledger(const struct run_record *r)
{
	return !r->status && r->nr_spans;
}

bool ledger_diff(const struct results *rb, const struct result_column *base,
                 const struct results *rv, const struct result_column *c, struct ledger_diff *d)
{
	u32 nr_seeds = min(rb->nr_seeds, rv->nr_seeds);
	u32 most = 0;

	*d = (struct ledger_diff){0};
	for (u32 i = 0; i < nr_seeds; i++)
		most += base->record[i].nr_spans + c->record[i].nr_spans;
	d->row = report_alloc(most, sizeof(*d->row));
	for (u32 i = 0; i < nr_seeds; i++) {
		if (!has_ledger(&base->record[i]) || !has_ledger(&c->record[i]))
			continue;
		d->nr_pairs++;
		add(d, &base->record[i], false);
		add(d, &c->record[i], true);
	}
	sort_stable(d->row, d->nr, sizeof(*d->row), by_difference, NULL);
	if (!d->nr_pairs)
		ledger_diff_free(d);
	return d->nr_pairs != 0;
}

void ledger_diff_free(struct ledger_diff *d)
{
	free(d->row);
	d->row = NULL;
}
