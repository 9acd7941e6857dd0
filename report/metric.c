/*
 * What is known about metrics. See metric.h.
 */
#include "report/metric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How a derived metric is made of two sums of counters. */
enum how {
	SUM,        /* a */
	DIFFERENCE, /* a - b */
	PERCENT,    /* 100 a / b */
	SHARE,      /* 100 a / (a + b) */
	RATE,       /* a / elapsed */
};

struct derived {
	struct metric_info info;
	enum how how;
	const char *a;
	const char *b; /* NULL: none */
};

#define LESS METRIC_LESS
#define MORE METRIC_MORE
#define NEUTRAL METRIC_NEUTRAL

static const struct derived derived[] = {
	{{"minor_faults", "Minor Faults", "", NEUTRAL}, DIFFERENCE, "pgfault", "pgmajfault"},
	{{"major_faults", "Major Faults", "", LESS}, SUM, "pgmajfault", NULL},
	{{"swap_ins", "Swap Ins", "", LESS}, SUM, "pswpin", NULL},
	{{"swap_outs", "Swap Outs", "", LESS}, SUM, "pswpout", NULL},
	{{"allocation_stalls", "Allocation stalls", "", LESS}, SUM, "allocstall", NULL},
	{{"dma_allocs", "DMA allocs", "", NEUTRAL}, SUM, "pgalloc_dma", NULL},
	{{"dma32_allocs", "DMA32 allocs", "", NEUTRAL}, SUM, "pgalloc_dma32", NULL},
	{{"normal_allocs", "Normal allocs", "", NEUTRAL}, SUM, "pgalloc_normal", NULL},
	{{"movable_allocs", "Movable allocs", "", NEUTRAL}, SUM, "pgalloc_movable", NULL},
	{{"direct_scanned", "Direct pages scanned", "", LESS}, SUM, "pgscan_direct", NULL},
	{{"kswapd_scanned", "Kswapd pages scanned", "", NEUTRAL}, SUM, "pgscan_kswapd", NULL},
	{{"kswapd_reclaimed", "Kswapd pages reclaimed", "", NEUTRAL}, SUM, "pgsteal_kswapd", NULL},
	{{"direct_reclaimed", "Direct pages reclaimed", "", NEUTRAL}, SUM, "pgsteal_direct", NULL},
	{{"kswapd_efficiency", "Kswapd efficiency", "%", MORE},
         PERCENT,
         "pgsteal_kswapd",
         "pgscan_kswapd"},
	{{"kswapd_velocity", "Kswapd velocity", "pages/s", NEUTRAL}, RATE, "pgscan_kswapd", NULL},
	{{"direct_efficiency", "Direct efficiency", "%", MORE},
         PERCENT,
         "pgsteal_direct",
         "pgscan_direct"},
	{{"direct_velocity", "Direct velocity", "pages/s", LESS}, RATE, "pgscan_direct", NULL},
	{{"direct_share", "Percentage direct scans", "%", LESS},
         SHARE,
         "pgscan_direct",
         "pgscan_kswapd"},
	{{"reclaim_writes", "Page writes by reclaim", "", LESS}, SUM, "nr_vmscan_write", NULL},
	{{"reclaim_writes_file", "Page writes file", "", LESS},
         DIFFERENCE,
         "nr_vmscan_write",
         "pswpout"},
	{{"reclaim_writes_anon", "Page writes anon", "", LESS}, SUM, "pswpout", NULL},
	{{"reclaim_immediate", "Page reclaim immediate", "", LESS},
         SUM,
         "nr_vmscan_immediate_reclaim",
         NULL},
	{{"slabs_scanned", "Slabs scanned", "", NEUTRAL}, SUM, "slabs_scanned", NULL},
	{{"thp_fault_allocs", "THP fault alloc", "", MORE}, SUM, "thp_fault_alloc", NULL},
	{{"thp_collapse_allocs", "THP collapse alloc", "", MORE}, SUM, "thp_collapse_alloc", NULL},
	{{"thp_splits", "THP splits", "", LESS}, SUM, "thp_split", NULL},
	{{"thp_fault_fallbacks", "THP fault fallback", "", LESS}, SUM, "thp_fault_fallback", NULL},
	{{"thp_collapse_fails", "THP collapse fail", "", LESS},
         SUM,
         "thp_collapse_alloc_failed",
         NULL},
	{{"compaction_stalls", "Compaction stalls", "", LESS}, SUM, "compact_stall", NULL},
	{{"compaction_success", "Compaction success", "", MORE}, SUM, "compact_success", NULL},
	{{"compaction_failures", "Compaction failures", "", LESS}, SUM, "compact_fail", NULL},
	{{"migrate_success", "Page migrate success", "", NEUTRAL}, SUM, "pgmigrate_success", NULL},
	{{"migrate_failure", "Page migrate failure", "", LESS}, SUM, "pgmigrate_fail", NULL},
};

const struct metric_info *metric_derived_at(u32 i)
{
	return i < ARRAY_SIZE(derived) ? &derived[i].info : NULL;
}

char *metric_made_of(char *buf, u32 i)
{
	static const char *const form[] = {
		[SUM] = "%s",
		[DIFFERENCE] = "%s - %s",
		[PERCENT] = "100 x %s / %s",
		[SHARE] = "100 x %1$s / (%1$s + %2$s)",
		[RATE] = "%s / elapsed seconds",
	};
	const struct derived *d = &derived[i];

	snprintf(buf, 128, form[d->how], d->a, d->b);
	return buf;
}

static const struct derived *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(derived); i++)
		if (strcmp(derived[i].info.name, name) == 0)
			return &derived[i];
	return NULL;
}

bool metric_derived(const struct run_record *r, const char *name, double *value)
{
	const struct derived *d = find(name);
	double a;
	double b = 0;

	/* A counter of the same name is no reason to ask again. */
	if (!d || strcmp(d->a, name) == 0 || !record_metric(r, d->a, &a) ||
	    (d->b && !record_metric(r, d->b, &b)))
		return false;
	switch (d->how) {
	case SUM:
		*value = a;
		return true;
	case DIFFERENCE:
		*value = a > b ? a - b : 0; /* counters with per-CPU differences may lag */
		return true;
	case PERCENT:
		*value = b != 0 ? 100 * a / b : 0;
		return b != 0;
	case SHARE:
		*value = a + b != 0 ? 100 * a / (a + b) : 0;
		return a + b != 0;
	case RATE:
		*value = r->elapsed_ns ? a * 1e9 / (double)r->elapsed_ns : 0;
		return r->elapsed_ns != 0;
	}
	return false;
}

/* ---- which way is good -------------------------------------------------------------------------- */

static const char *const less_is_good[] = {
	"elapsed",
	"real",
	"time",
	"user",
	"sys",
	"allocstall",
	"pgmajfault",
	"pswpin",
	"pswpout",
	"oom_kill",
	"pgscan_direct",
	"pgscan_direct_throttle",
	"pgsteal_direct",
	"kswapd_low_wmark_hit_quickly",
	"estimate_cpu_share",
	"min_breach_pages",
	"mlock_call",
	"munlock_call",
	"stall_time",
	"pageoutrun",
	"workingset_refault",
	"workingset_refault_anon",
	"workingset_refault_file",
	"nr_vmscan_write",
	"nr_vmscan_immediate_reclaim",
	"compact_stall",
	"compact_fail",
	"thp_fault_fallback",
	"thp_split",
	"thp_split_page_failed",
	"pgmigrate_fail",
};

static const char *const more_is_good[] = {"throughput"};

enum metric_good metric_good(const char *metric)
{
	const struct derived *d = find(metric);
	size_t stem = counter_stem(metric);

	for (size_t i = 0; i < ARRAY_SIZE(less_is_good); i++)
		if (strcmp(less_is_good[i], metric) == 0 ||
		    (strlen(less_is_good[i]) == stem &&
		     strncmp(less_is_good[i], metric, stem) == 0))
			return METRIC_LESS;
	for (size_t i = 0; i < ARRAY_SIZE(more_is_good); i++)
		if (strcmp(more_is_good[i], metric) == 0)
			return METRIC_MORE;
	return d ? d->info.good : METRIC_NEUTRAL;
}

const char *metric_unit(const char *metric)
{
	static const char *const time[] = {"elapsed", "real", "user", "sys", "time", "stall_time"};
	const struct derived *d = find(metric);

	for (size_t i = 0; i < ARRAY_SIZE(time); i++)
		if (strcmp(time[i], metric) == 0)
			return "s";
	if (strcmp(metric, "throughput") == 0)
		return "faults/s";
	if (strcmp(metric, "estimate_cpu_share") == 0)
		return "";
	if (d && d->info.unit[0])
		return d->info.unit;
	if (strcmp(metric, "watermark_min") == 0 || strstr(metric, "_pages"))
		return "pages";
	return counter_is_amount(metric) ? "pages" : "events";
}

double metric_least(const char *metric, double base, double elapsed)
{
	if (strcmp(metric_unit(metric), "s") == 0)
		base = max(fabs(base), elapsed);
	return 0.0005 * fabs(base);
}

const char *metric_judgement(const char *metric, const struct comparison *c)
{
	enum metric_good good = metric_good(metric);

	/* Where runs hardly vary what is of no use to anybody may be significant. */
	if (!c->significant || good == METRIC_NEUTRAL || c->base == c->value ||
	    fabs(c->value - c->base) < c->least)
		return "";
	return (c->value < c->base) == (good == METRIC_LESS) ? "better" : "worse";
}
