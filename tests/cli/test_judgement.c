/*
 * Whether the judgement of differences can be trusted: runs of one thing against itself are called
 * different as often as the test's level says, and runs of two things are told apart.
 *
 * The runs are real ones, of a scenario with reclaim on two CPUs that takes a few milliseconds, so
 * that what is judged has the distributions that it has in earnest: skewed, with ties, clustered.
 */
#include "cli/sim_target.h"
#include "report/results.h"
#include "tests/cli/scenario_text.h"
#include "tests/test.h"

#define SETS 200
#define PAIRS 8

static const char *const text =
	"scenario 'tiny'\n"
	"machine { profile = 'small', cpus = 2, ram = '8M', swap = '16M' }\n"
	"variant 'base' { }\n"
	"variant 'other' { ['vm.min_free_kbytes'] = 2048 }\n"
	"group 'hog' { count = 3, jitter = '200us', speed = '5%', run = function(t)\n"
	"  local m = t:mmap('2720K')\n"
	"  m:fill()\n"
	"end }\n";

static void run(struct scenario *s, u32 variant, u64 seed, struct run_record *r)
{
	static struct target_result res;
	char err[TARGET_ERROR_MAX];
	struct target_request req;
	struct target *t;

	scenario_request(s, variant, seed, &sim_target_ops, &req);
	if (sim_target_ops.open(&req, &t, err))
		fail_msg("%s", err);
	assert_int_equal(sim_target_ops.run(t, &res), 0);
	/* This also checks that the ledger adds up to the ns. */
	record_fill(r, &req, "sim", &res, 0, sim_target_ledger(t));
	sim_target_ops.close(t);
}

/* Two columns of PAIRS runs each, whose seeds begin at @base and @value. */
static void fill(struct scenario *s, struct results *r, u32 variant, u64 base, u64 value)
{
	*r = (struct results){.nr_seeds = PAIRS, .nr_columns = 2};
	r->seed = calloc(PAIRS, sizeof(*r->seed));
	r->column = calloc(2, sizeof(*r->column));
	for (u32 c = 0; c < 2; c++) {
		r->column[c].record = calloc(PAIRS, sizeof(*r->column[c].record));
		for (u32 i = 0; i < PAIRS; i++) {
			r->seed[i] = base + i;
			run(s, c ? variant : 0, (c ? value : base) + i, &r->column[c].record[i]);
		}
	}
}

static const char *const metric[] = {"elapsed", "sys", "user", "pswpout", "pgscan_direct"};

/*
 * 200 sets of 8 pairs of different seeds. With 8 pairs p is a multiple of 2 / 256, the largest
 * below 0.05 is 12 / 256 = 0.047; ties make it rarer still. Of 200 at 0.05, 99.8 % of all outcomes
 * lie between 2 and 20 by the binomial distribution; at 0.047, between 1 and 20. So many metrics are
 * asked that one outside of 95 % (4 to 17) would be no surprise. The seeds are fixed: it is
 * the same every time.
 */
TEST(the_same_against_itself_is_called_different_as_often_as_p_says)
{
	struct scenario *s = scenario_from_text(text);
	u32 different[ARRAY_SIZE(metric)] = {0};
	u32 moving[ARRAY_SIZE(metric)] = {0};

	for (u32 k = 0; k < SETS; k++) {
		struct results r;

		fill(s, &r, 0, 1 + 2 * PAIRS * k, 1 + 2 * PAIRS * k + PAIRS);
		for (size_t m = 0; m < ARRAY_SIZE(metric); m++) {
			struct comparison c;

			column_compare(&r, &r.column[0], &r.column[1], metric[m], &c);
			assert_true(c.judged && !c.base_missing && !c.value_missing);
			different[m] += c.significant;
			moving[m] += c.base != c.value;
		}
		results_free(&r);
	}
	scenario_free(s);
	for (size_t m = 0; m < ARRAY_SIZE(metric); m++) {
		printf("%-14s called different %u times of %u\n", metric[m], different[m],
		       moving[m]);
		if (moving[m] < SETS * 9 / 10)
			continue; /* seeds hardly move it: it cannot be judged often */
		assert_in_range(different[m], 1, 20);
	}
}

/* Less memory to be had by a reserve that is larger: every set of pairs must show what it costs. */
TEST(two_policies_are_told_apart)
{
	struct scenario *s = scenario_from_text(text);

	for (u32 k = 0; k < 5; k++) {
		struct comparison c;
		struct results r;

		fill(s, &r, 1, 1 + PAIRS * k, 1 + PAIRS * k);
		column_compare(&r, &r.column[0], &r.column[1], "elapsed", &c);
		assert_true(c.significant && c.ratio_lo > 1);
		results_free(&r);
	}
	scenario_free(s);
}

TEST_MAIN("judgement")
