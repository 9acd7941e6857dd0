/*
 * How many pages are free? What NR_FREE_PAGES says is off by what the CPUs' differences hide, up to
 * CPUs x threshold, which can be more than all that watermarks keep free.
 *
 * Linux mm/mmzone.c, mm/vmstat.c and mail 004. Five answers, by
 * the knob vmstat.free_estimate:
 *
 * cheap (to 2.6.35). Believe the counter: min can be breached unseen.
 * snapshot (2.6.36, 2.6.37). While kswapd is awake and the counter is below the drift mark, every
 * watermark test adds up the differences of all CPUs: a remote cache line for each.
 * reserve (the mail). Where the drift is less than 1 % of the zone, keep that many pages more, and
 * the counter may be believed. Elsewhere as snapshot.
 * reserve-as-posted. The mail's patch to the letter; see setup_wmarks_as_posted().
 * pressure (2.6.38 on). Believe the counter, and while kswapd is awake make it exact enough, by
 * smaller thresholds (set_pgdat_percpu_threshold()); only kswapd's own tests look at all CPUs.
 */
#include "core/khugepaged.h"
#include "core/page_alloc.h"

/* kswapd sleeps, or naps: then memory is not short enough to be worth the trouble. */
static bool kswapd_is_asleep(const struct zone *z)
{
	return waitqueue_active(&z->pgdat->kswapd_wait);
}

long zone_nr_free_checked(struct zone *z, long free)
{
	if (kswapd_is_asleep(z))
		return free;
	span_enter(SPAN_ESTIMATE);
	free = (long)zone_page_state_snapshot(z, NR_FREE_PAGES);
	span_exit();
	return free;
}

long zone_nr_free_pages(struct zone *z)
{
	long free = (long)zone_page_state(z, NR_FREE_PAGES);

	return free < z->estimate_mark ? zone_nr_free_checked(z, free) : free;
}

/* ---- mail 004 --------------------------------------------------------------------------------------- */

static bool fits_into_reserve(const struct zone *z, unsigned long pages)
{
	return pages < zone_size(z) / 100;
}

unsigned long zone_drift_reserve(const struct zone *z)
{
	unsigned long drift = zone_max_drift(z);

	if (z->machine->knob.free_estimate != ESTIMATE_RESERVE || !fits_into_reserve(z, drift))
		return 0;
	return drift;
}

/*
 * What the patch does when the marks are set once more after boot, as any write to
 * vm.min_free_kbytes has them. (At boot the drift marks are computed after the marks, so that the
 * loop finds none, and the patch does nothing.) It adds to the pages that all zones share, zone by
 * zone: the first gets its share of one reserve, the last that of all. And what it adds is not the
 * drift but the drift mark, which has the high mark in it.
 */
void setup_wmarks_as_posted(struct machine *m, unsigned long pages_min, unsigned long lowmem)
{
	struct pglist_data *pgdat;
	struct zone *z;

	for_each_zone (m, pgdat, z) {
		long unreserved = z->min_unreserved;

		if (fits_into_reserve(z, z->percpu_drift_mark)) {
			pages_min += z->percpu_drift_mark;
			z->percpu_drift_mark = 0;
		}
		zone_set_marks(z, pages_min, lowmem);
		z->min_unreserved = unreserved;
	}
}

/* ---- boot ------------------------------------------------------------------------------------------- */

void setup_free_estimate(struct machine *m)
{
	u32 policy = m->knob.free_estimate;
	struct pglist_data *pgdat;
	struct zone *z;

	for_each_populated_zone (m, pgdat, z) {
		if (policy == ESTIMATE_CHEAP || zone_drift_reserve(z))
			z->percpu_drift_mark = 0;
		z->estimate_mark = policy == ESTIMATE_PRESSURE ? 0 : (long)z->percpu_drift_mark;
	}
}

/* ---- what came of it -------------------------------------------------------------------------------- */

/* What a watermark test would be told now. Charges nothing and is no order point: nobody can tell that it was asked. */
static long peek_estimate(const struct zone *z)
{
	long cheap = atomic_long_peek(&z->stat.v[NR_FREE_PAGES]);
	bool awake = list_empty(&z->pgdat->kswapd_wait.list);

	return cheap < z->estimate_mark && awake ? z->nr_free : cheap;
}

/*
 * There are less pages free than min without the mail's reserve. If the estimate says so too, somebody has been allowed to use
 * the reserves. If it does not, nobody knows: keep how bad that gets. zone->lock held.
 */
void note_min_breach(struct zone *z)
{
	if (peek_estimate(z) > (long)z->_watermark[WMARK_MIN])
		z->min_breach_pages = max(z->min_breach_pages, z->min_unreserved - z->nr_free);
}

void machine_gauges(struct machine *m,
                    void (*fn)(const char *name, u64 value, bool event, void *arg), void *arg)
{
	const struct pglist_data *pgdat;
	const struct zone *z;
	unsigned long min = 0;
	long breach = 0;

	for_each_populated_zone (m, pgdat, z) {
		breach = max(breach, z->min_breach_pages);
		min = max(min, z->_watermark[WMARK_MIN]);
	}
	fn("min_breach_pages", (u64)breach, false, arg);
	fn("watermark_min", min, false, arg);
	if (m->mthp_always | m->mthp_madvise)
		mthp_gauges(m, fn, arg);
	if (!m->khugepaged || !m->khugepaged->started)
		return;
	fn("khugepaged_pages_collapsed", m->khugepaged->pages_collapsed, false, arg);
	fn("khugepaged_full_scans", m->khugepaged->full_scans, false, arg);
}

/* The counter cannot hide more than the differences of all CPUs. */
void free_estimate_audit(const struct zone *z)
{
	VM_BUG_ON(z->min_breach_pages > (long)zone_max_drift(z));
	VM_BUG_ON(z->min_breach_pages > z->min_unreserved);
}
