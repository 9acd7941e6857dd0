/*
 * Results made by hand: variants "base" and "other" over a few seeds, with round numbers.
 */
#ifndef TESTS_REPORT_FIXTURE_H
#define TESTS_REPORT_FIXTURE_H

#include <stdio.h>

#include "report/bytes.h"
#include "report/results.h"
#include "tests/test.h"

/* A run of @s seconds elapsed, 4 @s of sys, 0.5 s of user, on two CPUs. */
__attribute__((unused)) static void fixture_record(struct run_record *r, const char *variant,
                                                   u64 seed, double s)
{
	u64 ns = (u64)(s * 1e9);

	*r = (struct run_record){.seed = seed, .nr_cpus = 2, .nr_tasks = 3};
	r->target = report_strdup("sim");
	r->variant = report_strdup(variant);
	r->machine = report_strdup("tiny");
	r->kernel = report_strdup("4.0");
	r->error = report_strdup("");
	r->notes = report_strdup("made by hand\n");
	r->elapsed_ns = ns;
	r->sys_ns = 4 * ns;
	r->user_ns = 500000000;
	r->nr_counters = 4;
	r->counter = report_alloc(4, sizeof(*r->counter));
	r->counter[0] = (struct record_counter){report_strdup("nr_free_pages"), 100};
	r->counter[1] = (struct record_counter){report_strdup("pgfault"), 1000};
	r->counter[2] = (struct record_counter){report_strdup("pswpin"), 0};
	r->counter[3] = (struct record_counter){report_strdup("allocstall_normal"), (s64)(10 * s)};
	/* Two CPUs for @s: 1.5 s busy, 0.5 s idle for each second. */
	r->nr_spans = 3;
	r->span = report_alloc(3, sizeof(*r->span));
	r->span[0] = (struct record_span){report_strdup("user"), ns, 3};
	r->span[1] = (struct record_span){report_strdup("user/fault"), ns / 2, 1000};
	r->span[2] = (struct record_span){report_strdup("idle"), ns / 2, 7};
	r->nr_locks = 1;
	r->lock = report_alloc(1, sizeof(*r->lock));
	r->lock[0] =
		(struct record_lock){report_strdup("&zone->lock"), 100, 10, 5000, 900, 7000, 800};
	r->nr_latencies = 1;
	r->latency = report_alloc(1, sizeof(*r->latency));
	r->latency[0] = (struct record_latency){
		report_strdup("fault"), 1000, 500, 400, 600, 900, 950, 990, 0, NULL};
	r->nr_costs = 1;
	r->cost = report_alloc(1, sizeof(*r->cost));
	r->cost[0] = (struct record_cost){report_strdup("fault_trap"), 1000};
}

__attribute__((unused)) static void fixture_column(struct result_column *c, const char *variant,
                                                   const char *point, const double *s, u32 n)
{
	*c = (struct result_column){0};
	c->variant = report_strdup(variant);
	c->point = report_strdup(point);
	c->target = report_strdup("sim");
	c->record = report_alloc(n, sizeof(*c->record));
	for (u32 i = 0; i < n; i++)
		fixture_record(&c->record[i], variant, 1 + i, s[i]);
	config_add(&c->config, "machine.ram", "512M", "profile tiny");
	config_add(&c->config, "madvise.free", variant, "variant");
}

/* Seconds elapsed of each seed: "other" takes about twice as long as "base". */
static const double fixture_base[] = {10, 11, 12, 10, 11, 12};
static const double fixture_other[] = {20, 22, 24, 21, 22, 23};
#define FIXTURE_SEEDS 6

__attribute__((unused)) static void fixture_results(struct results *r, u32 nr_seeds)
{
	*r = (struct results){.nr_seeds = nr_seeds, .nr_columns = 2};
	r->scenario = report_strdup("scenarios/x.lua");
	r->title = report_strdup("made by hand");
	r->seed = report_alloc(nr_seeds, sizeof(*r->seed));
	for (u32 i = 0; i < nr_seeds; i++)
		r->seed[i] = 1 + i;
	r->column = report_alloc(2, sizeof(*r->column));
	fixture_column(&r->column[0], "base", "", fixture_base, nr_seeds);
	fixture_column(&r->column[1], "other", "", fixture_other, nr_seeds);
}

/* What @fn prints, for free(). */
#define fixture_printed(...)                                                                       \
	__extension__({                                                                            \
		char *fixture_text = NULL;                                                         \
		size_t fixture_len;                                                                \
		FILE *f = open_memstream(&fixture_text, &fixture_len);                             \
                                                                                                   \
		assert_non_null(f);                                                                \
		__VA_ARGS__;                                                                       \
		fclose(f);                                                                         \
		fixture_text;                                                                      \
	})

#endif
