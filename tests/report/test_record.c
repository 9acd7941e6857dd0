/*
 * Records: from a ledger, over a pipe, and what is looked up in them.
 */
#include "report/record.h"

#include <errno.h>

#include "tests/report/fixture.h"
#include "world/hw.h"
#include "world/ledger.h"

static void assert_same(const struct run_record *a, const struct run_record *b)
{
	struct bytes x = {0};
	struct bytes y = {0};

	record_write(a, &x);
	record_write(b, &y);
	assert_int_equal(x.len, y.len);
	assert_memory_equal(x.data, y.data, x.len);
	bytes_free(&x);
	bytes_free(&y);
}

TEST(a_record_survives_the_pipe)
{
	struct run_record a;
	struct run_record b;
	struct bytes bytes = {0};
	struct bytes_reader in;

	fixture_record(&a, "lazy", 5, 1.5);
	a.status = -ETIME;
	a.counter[2].value = -7; /* an amount can fall */
	record_write(&a, &bytes);
	in = (struct bytes_reader){bytes.data, bytes.data + bytes.len, false};
	assert_int_equal(record_read(&b, &in), 0);
	assert_true(in.at == in.end);
	assert_string_equal(b.variant, "lazy");
	assert_int_equal(b.status, -ETIME);
	assert_int_equal(record_counter(&b, "pswpin"), -7);
	assert_string_equal(b.span[1].path, "user/fault");
	assert_int_equal(b.lock[0].hold_ns_max, 800);
	assert_int_equal(b.latency[0].p999_ns, 950);
	assert_same(&a, &b);
	record_free(&a);
	record_free(&b);
	bytes_free(&bytes);
}

TEST(no_part_of_a_record_is_taken_for_a_whole_one)
{
	struct run_record a;
	struct run_record b;
	struct bytes bytes = {0};

	fixture_record(&a, "lazy", 5, 1.5);
	record_write(&a, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		struct bytes_reader in = {bytes.data, bytes.data + len, false};

		assert_int_equal(record_read(&b, &in), -EINVAL);
	}
	record_free(&a);
	bytes_free(&bytes);
}

/* A file of --state may have been written by anybody. */
TEST(a_record_whose_spans_do_not_add_up_is_refused)
{
	struct run_record a;
	struct run_record b;
	struct bytes bytes = {0};
	struct bytes_reader in;

	fixture_record(&a, "a", 1, 1.0);
	assert_true(a.nr_spans > 0);
	a.span[0].ns += 1;
	record_write(&a, &bytes);
	in = bytes_read(&bytes);
	assert_int_equal(record_read(&b, &in), -EINVAL);
	bytes_free(&bytes);
	record_free(&a);
}

TEST(damaged_records_are_refused_or_read_but_never_huge)
{
	struct rand_stream r;
	struct run_record a;
	struct bytes bytes = {0};

	fixture_record(&a, "lazy", 5, 1.5);
	record_write(&a, &bytes);
	rand_init(&r, test_seed(), 1, 0);
	for (u32 i = 0; i < 20000; i++) {
		char *copy = report_alloc(bytes.len, 1);
		struct bytes_reader in = {copy, copy + bytes.len, false};
		struct run_record b;

		memcpy(copy, bytes.data, bytes.len);
		for (u64 k = 1 + rand_below(&r, 4); k--;)
			copy[rand_below(&r, bytes.len)] = (char)rand_u64(&r);
		if (record_read(&b, &in) == 0)
			record_free(&b);
		free(copy);
	}
	record_free(&a);
	bytes_free(&bytes);
}

TEST(metrics_are_times_counters_and_sums_over_zones)
{
	struct run_record r;
	double v;

	fixture_record(&r, "x", 1, 2.5);
	assert_true(record_metric(&r, "elapsed", &v));
	assert_true(v == 2.5);
	assert_true(record_metric(&r, "sys", &v));
	assert_true(v == 10);
	assert_true(record_metric(&r, "pgfault", &v));
	assert_true(v == 1000);
	assert_true(record_metric(&r, "allocstall", &v)); /* of allocstall_normal */
	assert_true(v == 25);
	r.nr_oom_kills = 2;
	assert_true(record_metric(&r, "oom_kill", &v)); /* no counter of this kernel's */
	assert_true(v == 2);
	assert_false(record_metric(&r, "pgsteal_kswapd", &v));
	assert_false(record_metric(&r, "", &v));
	record_free(&r);
}

TEST(a_ledger_becomes_spans_locks_and_percentiles)
{
	struct hw_machine hw = {.name = "tiny", .nr_cpus = 2};
	struct target_request req = {.variant = "v", .seed = 9, .hw = &hw, .kernel = "4.0"};
	struct target_result *res = report_alloc(1, sizeof(*res));
	struct target_memory memory;
	struct run_record copy;
	struct bytes_reader in;
	struct bytes b = {0};
	struct run_record r;
	struct ledger l;
	u64 busy;
	u64 idle;

	assert_int_equal(ledger_init(&l), 0);

	struct ledger_node *user = ledger_root(&l, SPAN_USER);
	struct ledger_node *fault = ledger_child(&l, user, SPAN_FAULT);

	user->ns = 100;
	fault->ns = 30;
	fault->count = 3;
	ledger_root(&l, SPAN_IDLE)->ns = 70;
	l.lock[LOCK_ZONE].acquisitions = 5;
	for (u64 i = 1; i <= 100; i++)
		hist_add(&l.hist[HIST_FAULT], 1000); /* all alike: every percentile is exact */
	l.cost_count[COST_FAULT_TRAP] = 3;
	res->elapsed_ns = 100;
	res->nr_counters = 1;
	strcpy(res->counter[0].name, "pgfault");
	res->counter[0].value = 3;
	res->memory = (struct target_memory){
		.ballast_bytes = 4UL << 20,
		.nr_zones = 2,
		.zone = {{"DMA32", 0, 1000}, {"Normal", 1, 2000}},
	};
	record_fill(&r, &req, "sim", res, 0, &l);

	assert_string_equal(r.machine, "tiny");
	assert_int_equal(r.seed, 9);
	assert_int_equal(r.nr_spans, 3);
	assert_string_equal(r.span[1].path, "user/fault");
	assert_int_equal(r.span[1].ns, 30);
	assert_int_equal(r.nr_locks, 1); /* only what was taken */
	assert_string_equal(r.lock[0].name, "&zone->lock");
	assert_int_equal(r.nr_latencies, 1);
	assert_int_equal(r.latency[0].p50_ns, 1000);
	assert_int_equal(r.latency[0].max_ns, 1000);
	assert_int_equal(r.nr_costs, 1);
	assert_string_equal(r.cost[0].name, "fault_trap");
	/* Both CPUs for 100 ns. */
	record_cpu_time(&r, &busy, &idle);
	assert_int_equal(busy, 130);
	assert_int_equal(idle, 70);

	/* What a twin is made of survives the way through a pipe. */
	record_write(&r, &b);
	in = bytes_read(&b);
	assert_int_equal(record_read(&copy, &in), 0);
	assert_true(record_memory(&copy, &memory));
	assert_int_equal(memory.ballast_bytes, 4UL << 20);
	assert_int_equal(memory.nr_zones, 2);
	assert_string_equal(memory.zone[1].name, "Normal");
	assert_int_equal(memory.zone[1].node, 1);
	assert_int_equal(memory.zone[1].nr_pages, 2000);

	bytes_free(&b);
	record_free(&copy);
	record_free(&r);
	ledger_destroy(&l);
	free(res);
}

/* 1,000 entries of direct reclaim, 500 ns each. */
TEST(the_time_of_stalls_is_their_number_times_the_mean)
{
	struct run_record r;
	double value;

	fixture_record(&r, "base", 1, 1);
	assert_true(record_metric(&r, "stall_time", &value));
	assert_true(value == 0);
	free(r.latency[0].name);
	r.latency[0].name = report_strdup("direct_reclaim");
	assert_true(record_metric(&r, "stall_time", &value));
	assert_true(value > 0.000499 && value < 0.000501);
	record_free(&r);
}

TEST_MAIN("record")
