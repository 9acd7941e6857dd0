/*
 * The experiments of `quire reproduce`. See experiments.h.
 */
#include "cli/experiments.h"

#include <math.h>

/* ---- madv-free: throttle MADV_FREE (Minchan Kim, 24 February 2015) ------------------------------- */

#define DROP "madvise.free_swap=drop"
#define FILE_LIST "madvise.free_list=inactive_file"
#define BATCHED "reclaim.unmap_flush=batch"

static const struct probe madv_free_probes[] = {
	{"lazy", DROP},
	{"lazy", FILE_LIST},
	{"lazy", BATCHED},
};

/* A published ratio and the quarter around it in which the simulation is asked to be. */
#define WITHIN_25(ratio) .lo = 0.75 * (ratio), .hi = 1.25 * (ratio)

static const struct claim madv_free_claims[] = {
	{.text = "elapsed, lazy to dontneed: published 1.85",
         .kind = CLAIM_RATIO,
         .metric = "elapsed",
         .of = {"lazy", ""},
         .to = {"dontneed", ""},
         WITHIN_25(90.67 / 48.89)},
	{.text = "sys, lazy to dontneed: published 1.71",
         .kind = CLAIM_RATIO,
         .metric = "sys",
         .of = {"lazy", ""},
         .to = {"dontneed", ""},
         WITHIN_25(401.17 / 234.09)},
	{.text = "elapsed, throttle to dontneed: published 0.75",
         .kind = CLAIM_RATIO,
         .metric = "elapsed",
         .of = {"throttle", ""},
         .to = {"dontneed", ""},
         WITHIN_25(36.52 / 48.89)},
	{.text = "sys, throttle to dontneed: published 0.48",
         .kind = CLAIM_RATIO,
         .metric = "sys",
         .of = {"throttle", ""},
         .to = {"dontneed", ""},
         WITHIN_25(113.42 / 234.09)},
	{.text = "dontneed swaps nothing in",
         .kind = CLAIM_VALUE,
         .metric = "pswpin",
         .of = {"dontneed", ""},
         .lo = 0,
         .hi = 0},
	/* One in a hundred of the 12 x 5 x 131072 pages that are written. */
	{.text = "lazy swaps many pages in, to overwrite them",
         .kind = CLAIM_VALUE,
         .metric = "pswpin",
         .of = {"lazy", ""},
         .lo = 78643,
         .hi = INFINITY},
	/* A page that reclaim has locked during the call keeps its entry: a few in millions. */
	{.text = "and next to none if MADV_FREE drops swap entries",
         .kind = CLAIM_VALUE,
         .metric = "pswpin",
         .of = {"lazy", DROP},
         .lo = 0,
         .hi = 100},
	{.text = "allocstall: lazy above throttle",
         .kind = CLAIM_RATIO,
         .metric = "allocstall",
         .of = {"lazy", ""},
         .to = {"throttle", ""},
         .lo = 1,
         .hi = INFINITY},
	{.text = "allocstall: throttle above dontneed",
         .kind = CLAIM_RATIO,
         .metric = "allocstall",
         .of = {"throttle", ""},
         .to = {"dontneed", ""},
         .lo = 1,
         .hi = INFINITY},
	{.text = "on the file list lazy loses most of its penalty",
         .kind = CLAIM_PENALTY,
         .metric = "elapsed",
         .of = {"lazy", FILE_LIST},
         .to = {"dontneed", ""},
         .from = {"lazy", ""},
         .lo = -INFINITY,
         .hi = 0.5},
	{.text = "batched TLB flushes lower lazy's sys",
         .kind = CLAIM_RATIO,
         .metric = "sys",
         .of = {"lazy", BATCHED},
         .to = {"lazy", ""},
         .lo = 0,
         .hi = 1},
};

/* ---- drift: reserve max drift in the watermarks (KOSAKI Motohiro, 13 October 2010) --------------- */

static const struct claim drift_claims[] = {
	{.text = "snapshot's share of CPU time: published 5 to 10 %",
         .kind = CLAIM_VALUE,
         .metric = "estimate_cpu_share",
         .of = {"snapshot", ""},
         .lo = 0.05,
         .hi = 0.10},
	{.text = "the reserve costs no estimate",
         .kind = CLAIM_VALUE,
         .metric = "estimate_cpu_share",
         .of = {"reserve", ""},
         .lo = 0,
         .hi = 0.001},
	{.text = "throughput: reserve above snapshot",
         .kind = CLAIM_RATIO,
         .metric = "throughput",
         .of = {"reserve", ""},
         .to = {"snapshot", ""},
         .lo = 1,
         .hi = INFINITY},
	{.text = "min is breached unseen if the counter is believed",
         .kind = CLAIM_VALUE,
         .metric = "min_breach_pages",
         .of = {"cheap", ""},
         .lo = 1,
         .hi = INFINITY},
	{.text = "and is not with the reserve, DMA's small zone apart",
         .kind = CLAIM_VALUE,
         .metric = "min_breach_pages",
         .of = {"reserve", ""},
         .lo = 0,
         .hi = 0},
	{.text = "what became of it: pressure costs next to nothing",
         .kind = CLAIM_RATIO,
         .metric = "estimate_cpu_share",
         .of = {"pressure", ""},
         .to = {"snapshot", ""},
         .lo = 0,
         .hi = 0.1},
};

/* ---- thp-split: generic rmap walkers (Kirill A. Shutemov, 4 February 2016) ------------------------ */

static const struct claim thp_split_claims[] = {
	{.text = "time, page to vma: published 2.92",
         .kind = CLAIM_RATIO,
         .metric = "time",
         .of = {"page_0", ""},
         .to = {"vma_0", ""},
         WITHIN_25(5.636 / 1.93)},
	{.text = "time, page to vma, 100 forks: published 12.65",
         .kind = CLAIM_RATIO,
         .metric = "time",
         .of = {"page_100", ""},
         .to = {"vma_100", ""},
         WITHIN_25(405.943 / 32.08)},
	{.text = "time, vma, 100 forks to none: published 16.6",
         .kind = CLAIM_RATIO,
         .metric = "time",
         .of = {"vma_100", ""},
         .to = {"vma_0", ""},
         WITHIN_25(32.08 / 1.93)},
	{.text = "what became of it is between the two, with 100 forks",
         .kind = CLAIM_RATIO,
         .metric = "time",
         .of = {"range_100", ""},
         .to = {"page_100", ""},
         .lo = 0,
         .hi = 1},
	/* 4096 huge pages, each unmapped in part once, by 4096 munmap(), and split once. */
	{.text = "every huge page is queued once",
         .kind = CLAIM_VALUE,
         .metric = "thp_deferred_split_page",
         .of = {"vma_100", ""},
         .lo = 4096,
         .hi = 4096},
	{.text = "forks copy ptes, and split nothing",
         .kind = CLAIM_VALUE,
         .metric = "thp_split_pmd",
         .of = {"page_100", ""},
         .lo = 4096,
         .hi = 4096},
	{.text = "the shrinker splits them all",
         .kind = CLAIM_VALUE,
         .metric = "thp_split_page",
         .of = {"page_100", ""},
         .lo = 4096,
         .hi = 4096},
};

/* ---- mlock-drain: do not drain pagevecs for mlock (Tao Ma, 30 December 2011) --------------------- */

static const struct claim mlock_drain_claims[] = {
	{.text = "real, all to none: published 12.3",
         .kind = CLAIM_RATIO,
         .metric = "real",
         .of = {"all", ""},
         .to = {"none", ""},
         WITHIN_25(20.566 / 1.675)},
	{.text = "sys, all to none: published 7.9",
         .kind = CLAIM_RATIO,
         .metric = "sys",
         .of = {"all", ""},
         .to = {"none", ""},
         WITHIN_25(12.759 / 1.622)},
	/*
         * Half of the calls are mlock's, and without the drain all take the same time (2.79 us): what
         * is left of 20.566 s is 65.8 us for each of 300,000. The mail says "around 20 times".
         */
	{.text = "the mlock call alone, all to none: 23.6 by the mail's figures",
         .kind = CLAIM_RATIO,
         .metric = "mlock_call",
         .of = {"all", ""},
         .to = {"none", ""},
         WITHIN_25(2 * 20.566 / 1.675 - 1)},
	/* Its own munlock has put pages into this CPU's batch: one worker in 16, every third call. */
	{.text = "counted costs one CPU's share of all, if that, where nobody else runs",
         .kind = CLAIM_PENALTY,
         .metric = "real",
         .of = {"counted", ""},
         .to = {"none", ""},
         .from = {"all", ""},
         .lo = 0,
         .hi = 1.0 / 8},
};

/* ---- writeback-free: free reclaimed pages at writeback completion (Minchan Kim, 2 July 2014) ------- */

#define FIVE(avg, sd, largest, smallest)                                                           \
	{                                                                                          \
		.n = 5, .mean = avg, .std = sd, .max = largest, .min = smallest                    \
	}

static const struct spread writeback_free_spreads[] = {
	{"allocstall", "rotate", FIVE(4733.80, 913.55, 6442, 3719)},
	{"allocstall", "free", FIVE(1514.20, 441.69, 1974, 863)},
	{"pgrotated", "rotate", FIVE(873313.80, 40999.20, 954722, 845903)},
	{"pgrotated", "free", FIVE(28406.40, 3296.02, 34552, 25047)},
};

/* "Most of field in vmstat are not changed too much": which those are, the mail does not say. */
static const char *const writeback_free_predictions[] = {
	"elapsed",
	"user",
	"sys",
	"pgfault",
	"pgmajfault",
	"pswpin",
	"pswpout",
	"pgfree",
	"pgscan_kswapd",
	"pgscan_direct",
	"pgsteal_kswapd",
	"pgsteal_direct",
	"pgscan_direct_throttle",
	"pgactivate",
	"pgdeactivate",
	"pageoutrun",
	"kswapd_low_wmark_hit_quickly",
	"kswapd_high_wmark_hit_quickly",
	"slabs_scanned",
	"workingset_refault",
	"workingset_activate",
	"nr_vmscan_write",
	"nr_vmscan_immediate_reclaim",
	"nr_dirtied",
	"nr_written",
	"oom_kill",
};

/* What the project's plan asks: more than nine tenths of the rotations, half to four fifths of the stalls, and
 * within a factor of two of the baseline. */
static const struct claim writeback_free_claims[] = {
	{.text = "pgrotated, free to rotate: published 0.033",
         .kind = CLAIM_RATIO,
         .metric = "pgrotated",
         .of = {"free", ""},
         .to = {"rotate", ""},
         .lo = 0,
         .hi = 0.1},
	{.text = "allocstall, free to rotate: published 0.32",
         .kind = CLAIM_RATIO,
         .metric = "allocstall",
         .of = {"free", ""},
         .to = {"rotate", ""},
         .lo = 0.2,
         .hi = 0.5},
	{.text = "allocstall of rotate within a factor of two: published 4734",
         .kind = CLAIM_VALUE,
         .metric = "allocstall",
         .of = {"rotate", ""},
         .lo = 4733.8 / 2,
         .hi = 4733.8 * 2},
	{.text = "what is freed when its write ends is not scanned again",
         .kind = CLAIM_RATIO,
         .metric = "pgscan_kswapd",
         .of = {"free", ""},
         .to = {"rotate", ""},
         .lo = 0,
         .hi = 1},
};

/* ---- the table ---------------------------------------------------------------------------------- */

const struct experiment_spec experiments[] = {
	{
		.name = "madv-free",
		.title = "throttle MADV_FREE (RFC 1/4, Minchan Kim, 24 February 2015)",
		.nr_probes = ARRAY_SIZE(madv_free_probes),
		.probe = madv_free_probes,
		.nr_claims = ARRAY_SIZE(madv_free_claims),
		.claim = madv_free_claims,
	},
	{
		.name = "drift",
		.title = "reserve max drift in the watermarks (RFC 3/3, KOSAKI Motohiro, 13 "
			 "October 2010)",
		.nr_claims = ARRAY_SIZE(drift_claims),
		.claim = drift_claims,
	},
	{
		.name = "thp-split",
		.title = "split huge pages by generic rmap walkers (Kirill A. Shutemov, 4 February "
			 "2016)",
		.nr_claims = ARRAY_SIZE(thp_split_claims),
		.claim = thp_split_claims,
	},
	{
		.name = "writeback-free",
		.scenario = "kernel-build",
		.title = "free reclaimed pages by paging out instantly (v3, Minchan Kim, 2 July "
			 "2014)",
		.nr_claims = ARRAY_SIZE(writeback_free_claims),
		.claim = writeback_free_claims,
		.nr_spreads = ARRAY_SIZE(writeback_free_spreads),
		.spread = writeback_free_spreads,
		.nr_predictions = ARRAY_SIZE(writeback_free_predictions),
		.prediction = writeback_free_predictions,
	},
	{
		.name = "mlock-drain",
		.title = "do not drain pagevecs for mlock (Tao Ma, 30 December 2011)",
		.nr_claims = ARRAY_SIZE(mlock_drain_claims),
		.claim = mlock_drain_claims,
	},
};

const u32 nr_experiments = ARRAY_SIZE(experiments);
