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
};

const u32 nr_experiments = ARRAY_SIZE(experiments);
