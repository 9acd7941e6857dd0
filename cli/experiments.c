/*
 * The experiments of `quire reproduce`. See experiments.h.
 */
#include "cli/experiments.h"

#include <math.h>

/* ---- how claims are written ---------------------------------------------------------------------- */

/* A published ratio and the quarter around it in which the simulation is asked to be. */
#define WITHIN_25(ratio) .lo = 0.75 * (ratio), .hi = 1.25 * (ratio)
#define BETWEEN(least, most) .lo = (least), .hi = (most)

/* A variant as it is; a probe's, with its setting. */
#define AT(variant, set)                                                                           \
	{                                                                                          \
		variant, set                                                                       \
	}
#define VARIANT(variant) AT(variant, "")

#define RATIO(what, of_metric, one, other, ...)                                                    \
	{                                                                                          \
		.text = (what), .kind = CLAIM_RATIO, .metric = (of_metric), .of = one,             \
		.to = other, __VA_ARGS__                                                           \
	}
#define VALUE(what, of_metric, one, ...)                                                           \
	{                                                                                          \
		.text = (what), .kind = CLAIM_VALUE, .metric = (of_metric), .of = one, __VA_ARGS__ \
	}

/* ---- madv-free: throttle MADV_FREE (Minchan Kim, 24 February 2015) ------------------------------- */

#define DROP "madvise.free_swap=drop"
#define FILE_LIST "madvise.free_list=inactive_file"
#define BATCHED "reclaim.unmap_flush=batch"

static const struct probe madv_free_probes[] = {
	{"lazy", DROP},
	{"lazy", FILE_LIST},
	{"lazy", BATCHED},
};

static const struct claim madv_free_claims[] = {
	RATIO("elapsed, lazy to dontneed: published 1.85", "elapsed", VARIANT("lazy"),
              VARIANT("dontneed"), WITHIN_25(90.67 / 48.89)),
	RATIO("sys, lazy to dontneed: published 1.71", "sys", VARIANT("lazy"), VARIANT("dontneed"),
              WITHIN_25(401.17 / 234.09)),
	RATIO("elapsed, throttle to dontneed: published 0.75", "elapsed", VARIANT("throttle"),
              VARIANT("dontneed"), WITHIN_25(36.52 / 48.89)),
	RATIO("sys, throttle to dontneed: published 0.48", "sys", VARIANT("throttle"),
              VARIANT("dontneed"), WITHIN_25(113.42 / 234.09)),
	VALUE("dontneed swaps nothing in", "pswpin", VARIANT("dontneed"), BETWEEN(0, 0)),
	/* One in a hundred of the 12 x 5 x 131072 pages that are written. */
	VALUE("lazy swaps many pages in, to overwrite them", "pswpin", VARIANT("lazy"),
              BETWEEN(78643, INFINITY)),
	/* A page that reclaim has locked during the call keeps its entry: a few in millions. */
	VALUE("and next to none if MADV_FREE drops swap entries", "pswpin", AT("lazy", DROP),
              BETWEEN(0, 100)),
	RATIO("allocstall: lazy above throttle", "allocstall", VARIANT("lazy"), VARIANT("throttle"),
              BETWEEN(1, INFINITY)),
	RATIO("allocstall: throttle above dontneed", "allocstall", VARIANT("throttle"),
              VARIANT("dontneed"), BETWEEN(1, INFINITY)),
	{.text = "on the file list lazy loses most of its penalty",
         .kind = CLAIM_PENALTY,
         .metric = "elapsed",
         .of = {"lazy", FILE_LIST},
         .to = {"dontneed", ""},
         .from = {"lazy", ""},
         .lo = -INFINITY,
         .hi = 0.5},
	RATIO("batched TLB flushes lower lazy's sys", "sys", AT("lazy", BATCHED), VARIANT("lazy"),
              BETWEEN(0, 1)),
};

/* ---- drift: reserve max drift in the watermarks (KOSAKI Motohiro, 13 October 2010) --------------- */

static const struct claim drift_claims[] = {
	VALUE("snapshot's share of CPU time: published 5 to 10 %", "estimate_cpu_share",
              VARIANT("snapshot"), BETWEEN(0.05, 0.10)),
	VALUE("the reserve costs no estimate", "estimate_cpu_share", VARIANT("reserve"),
              BETWEEN(0, 0.001)),
	RATIO("throughput: reserve above snapshot", "throughput", VARIANT("reserve"),
              VARIANT("snapshot"), BETWEEN(1, INFINITY)),
	VALUE("min is breached unseen if the counter is believed", "min_breach_pages",
              VARIANT("cheap"), BETWEEN(1, INFINITY)),
	VALUE("and is not with the reserve, DMA's small zone apart", "min_breach_pages",
              VARIANT("reserve"), BETWEEN(0, 0)),
	RATIO("what became of it: pressure costs next to nothing", "estimate_cpu_share",
              VARIANT("pressure"), VARIANT("snapshot"), BETWEEN(0, 0.1)),
};

/* ---- thp-split: generic rmap walkers (Kirill A. Shutemov, 4 February 2016) ------------------------ */

static const struct claim thp_split_claims[] = {
	RATIO("time, page to vma: published 2.92", "time", VARIANT("page_0"), VARIANT("vma_0"),
              WITHIN_25(5.636 / 1.93)),
	RATIO("time, page to vma, 100 forks: published 12.65", "time", VARIANT("page_100"),
              VARIANT("vma_100"), WITHIN_25(405.943 / 32.08)),
	RATIO("time, vma, 100 forks to none: published 16.6", "time", VARIANT("vma_100"),
              VARIANT("vma_0"), WITHIN_25(32.08 / 1.93)),
	RATIO("what became of it is between the two, with 100 forks", "time", VARIANT("range_100"),
              VARIANT("page_100"), BETWEEN(0, 1)),
	/* 4096 huge pages, each unmapped in part once, by 4096 munmap(), and split once. */
	VALUE("every huge page is queued once", "thp_deferred_split_page", VARIANT("vma_100"),
              BETWEEN(4096, 4096)),
	VALUE("forks copy ptes, and split nothing", "thp_split_pmd", VARIANT("page_100"),
              BETWEEN(4096, 4096)),
	VALUE("the shrinker splits them all", "thp_split_page", VARIANT("page_100"),
              BETWEEN(4096, 4096)),
};

/* ---- mlock-drain: do not drain pagevecs for mlock (Tao Ma, 30 December 2011) --------------------- */

static const struct claim mlock_drain_claims[] = {
	RATIO("real, all to none: published 12.3", "real", VARIANT("all"), VARIANT("none"),
              WITHIN_25(20.566 / 1.675)),
	RATIO("sys, all to none: published 7.9", "sys", VARIANT("all"), VARIANT("none"),
              WITHIN_25(12.759 / 1.622)),
	/*
         * Half of the calls are mlock's, and without the drain all take the same time (2.79 us): what
         * is left of 20.566 s is 65.8 us for each of 300,000. The mail says "around 20 times".
         */
	RATIO("the mlock call alone, all to none: 23.6 by the mail's figures", "mlock_call",
              VARIANT("all"), VARIANT("none"), WITHIN_25(2 * 20.566 / 1.675 - 1)),
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
	"stall_time", /* of direct reclaim, which allocstall counts */
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
	RATIO("pgrotated, free to rotate: published 0.033", "pgrotated", VARIANT("free"),
              VARIANT("rotate"), BETWEEN(0, 0.1)),
	RATIO("allocstall, free to rotate: published 0.32", "allocstall", VARIANT("free"),
              VARIANT("rotate"), BETWEEN(0.2, 0.5)),
	VALUE("allocstall of rotate within a factor of two: published 4734", "allocstall",
              VARIANT("rotate"), BETWEEN(4733.8 / 2, 4733.8 * 2)),
	RATIO("what is freed when its write ends is not scanned again", "pgscan_kswapd",
              VARIANT("free"), VARIANT("rotate"), BETWEEN(0, 1)),
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
