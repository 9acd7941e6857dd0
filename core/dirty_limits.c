/*
 * How many pages may be dirty, and how those who make more of them are slowed down (the second half of
 * Linux mm/page-writeback.c).
 *
 * Above the background threshold the flusher writes. Half-way between that and the dirty threshold begins
 * the range in which dirtiers pause. The flusher's speed is measured every 200 ms, and so is how fast pages
 * become dirty; from both follows the rate at which one task may dirty pages so that all together they
 * dirty as many as are written (dirty_ratelimit). How far the present number is from the middle of the range
 * scales it (position ratio): 2 at its beginning, 0 at its end. A task that has dirtied nr_dirtied_pause pages
 * sleeps as long as its rate makes of them, at most 200 ms.
 *
 * To 3.1 (writeback.throttle = write) a dirtier above the threshold writes instead, one and a half times what
 * it has dirtied, and looks again.
 *
 * All numbers are Linux's: rates are pages a second, ratios are parts of 1024, time is ticks.
 *
 * The share of one disk in the thresholds is that of its completions among all disks' (proportions.c).
 *
 * Left out: cgroups' limits, strictlimit.
 */
#include "core/fs.h"
#include "core/swap.h"
#include "core/writeback.h"

#define RATELIMIT_SHIFT 10
#define RATIO_1 (1UL << RATELIMIT_SHIFT)
#define INIT_BW (100UL << (20 - PAGE_SHIFT)) /* 100 MB/s, until it is known */
#define DIRTY_POLL_THRESH (128UL >> (PAGE_SHIFT - 10))
#define EXCEEDED_PAGES (32UL >> (PAGE_SHIFT - 10)) /* between looks, while the limit is exceeded */

static u64 hz(const struct machine *m)
{
	return m->world->hw->hz;
}

static u64 now_ticks(const struct machine *m)
{
	return world_now() / HZ_NS(m);
}

/* ---- thresholds ------------------------------------------------------------------------------------ */

static unsigned long peek(const struct machine *m, enum vm_item item)
{
	return (unsigned long)max(atomic_long_peek(&m->vm_stat.v[item]), 0L);
}

/* Pages that could be dirty: free ones, the reserves apart, and those of files. */
static unsigned long dirtyable_memory(const struct machine *m)
{
	unsigned long nr = peek(m, NR_FREE_PAGES);

	nr -= min(nr, m->totalreserve_pages);
	nr += peek(m, NR_INACTIVE_FILE) + peek(m, NR_ACTIVE_FILE);
	return nr + 1; /* never 0 */
}

static unsigned long limit_of(u64 bytes, u64 percent, unsigned long available)
{
	return bytes ? DIV_ROUND_UP(bytes, PAGE_SIZE) : percent * available / 100;
}

static void limits_peek(const struct machine *m, unsigned long *background, unsigned long *thresh)
{
	const struct knobs *k = &m->knob;
	unsigned long available = dirtyable_memory(m);

	*thresh = limit_of(k->dirty_bytes, k->dirty_ratio, available);
	*background = limit_of(k->dirty_background_bytes, k->dirty_background_ratio, available);
	if (*background >= *thresh)
		*background = *thresh / 2;
}

void global_dirty_limits(struct machine *m, unsigned long *background, unsigned long *thresh)
{
	world_order();
	limits_peek(m, background, thresh);
	/* Who writes for others (a loop device) must not be held up by those he cleans for. */
	if (current_flags(m) & PF_LESS_THROTTLE) {
		*background += *background / 4;
		*thresh += *thresh / 4;
	}
}

unsigned long dirty_limit_peek(const struct machine *m, bool of_background)
{
	unsigned long background, thresh;

	limits_peek(m, &background, &thresh);
	return of_background ? background : thresh;
}

/* ---- of a node -------------------------------------------------------------------------------------- */

/* Those of @z alone, to 4.7; with the other zones of its node from then on. */
static unsigned long node_free_peek(const struct zone *z)
{
	unsigned long nr = 0;

	if (z->lruvec->zone)
		return (unsigned long)max(atomic_long_peek(&z->stat.v[NR_FREE_PAGES]), 0L);
	for (int type = 0; type < MAX_NR_ZONES; type++)
		nr += (unsigned long)max(
			atomic_long_peek(&z->pgdat->zone[type].stat.v[NR_FREE_PAGES]), 0L);
	return nr;
}

static unsigned long node_reserve(const struct zone *z)
{
	unsigned long nr = 0;

	if (z->lruvec->zone)
		return z->totalreserve_pages;
	for (int type = 0; type < MAX_NR_ZONES; type++)
		nr += z->pgdat->zone[type].totalreserve_pages;
	return nr;
}

static unsigned long node_peek(const struct zone *z, enum vm_item item)
{
	return (unsigned long)max(atomic_long_peek(&z->node_stat->v[item]), 0L);
}

/*
 * May a page that is about to be written to come from @z? Dirty pages are to lie on all nodes in proportion:
 * otherwise one could be full of them while all together are few, and its reclaim would find nothing
 * else. zone_dirty_ok(), since 4.8 node_dirty_ok(); 3.14's form, without anonymous pages.
 */
bool node_dirty_ok(struct machine *m, struct zone *z)
{
	const struct knobs *k = &m->knob;
	unsigned long nr, limit;

	world_order();
	world_line_read(&z->node_stat->line);
	charge(COST_WATERMARK);
	nr = node_free_peek(z);
	nr -= min(nr, node_reserve(z));
	nr += node_peek(z, NR_INACTIVE_FILE) + node_peek(z, NR_ACTIVE_FILE);
	if (k->dirty_bytes)
		limit = DIV_ROUND_UP(k->dirty_bytes, PAGE_SIZE) * nr / dirtyable_memory(m);
	else
		limit = k->dirty_ratio * nr / 100;
	if (current_flags(m) & PF_LESS_THROTTLE)
		limit += limit / 4;
	return node_peek(z, NR_FILE_DIRTY) + node_peek(z, NR_WRITEBACK) <= limit;
}

/* ---- of a disk -------------------------------------------------------------------------------------- */

/* What is dirty or being written. Swap's writes are among the latter, in Linux too. */
static unsigned long nr_dirty_and_writeback(struct machine *m)
{
	return global_page_state(m, NR_FILE_DIRTY) + global_page_state(m, NR_WRITEBACK);
}

/* This disk's part of it. */
static unsigned long wb_dirty(struct bdi_writeback *wb)
{
	return READ_ONCE(wb->nr_reclaimable) + READ_ONCE(wb->nr_writeback);
}

/* Too much is dirty altogether; or, since 3.2, of this disk's for its share of the threshold. */
bool over_bground_thresh(struct machine *m, struct bdi_writeback *wb)
{
	unsigned long background, thresh;

	global_dirty_limits(m, &background, &thresh);
	if (global_page_state(m, NR_FILE_DIRTY) > background)
		return true;
	return m->knob.dirty_throttle == DIRTY_THROTTLE_PAUSE &&
	       READ_ONCE(wb->nr_reclaimable) > prop_share(m, wb, background);
}

/* The limit in force: it rises with the threshold, and falls slowly. */
static u64 hard_dirty_limit(const struct machine *m, u64 thresh)
{
	return max(thresh, m->fs->domain.dirty_limit);
}

/* Whichever disk's dirtiers come first. */
static void update_dirty_limit(struct machine *m, u64 thresh, u64 dirty)
{
	struct wb_domain *dom = &m->fs->domain;
	u64 interval = max(hz(m) / 5, 1UL);

	if (now_ticks(m) < READ_ONCE(dom->limit_stamp) + interval)
		return;
	spin_lock_irq(&dom->lock);
	if (now_ticks(m) >= dom->limit_stamp + interval) {
		dom->limit_stamp = now_ticks(m);
		thresh = max(thresh, dom->dirty_limit > thresh ? dirty : thresh);
		if (dom->dirty_limit < thresh)
			dom->dirty_limit = thresh;
		else
			dom->dirty_limit -= (dom->dirty_limit - thresh) >> 5;
	}
	spin_unlock_irq(&dom->lock);
}

void dirty_limits_init(struct machine *m)
{
	struct wb_domain *dom = &m->fs->domain;
	unsigned long background, thresh;

	spin_lock_init(m->world, &dom->lock, LOCK_WB_DOMAIN);
	global_dirty_limits(m, &background, &thresh);
	dom->dirty_limit = thresh;
	/* How many pages a CPU's tasks may dirty together before one of them looks. */
	dom->ratelimit = max(thresh / (m->nr_cpus * 32), 16UL);
	prop_init(m, thresh);
}

void wb_rates_init(struct bdi_writeback *wb)
{
	wb->write_bandwidth = INIT_BW;
	wb->avg_write_bandwidth = INIT_BW;
	wb->dirty_ratelimit = INIT_BW;
	wb->balanced_dirty_ratelimit = INIT_BW;
}

/* ---- position ratio ----------------------------------------------------------------------------------- */

/*
 *        setpoint - dirty  3
 *   1 + (----------------)        2 at freerun, 1 at setpoint, 0 at limit
 *        limit - setpoint
 */
u64 pos_ratio_polynom(u64 setpoint, u64 dirty, u64 limit)
{
	s64 x = ((s64)setpoint - (s64)dirty) * (s64)RATIO_1 / (s64)((limit - setpoint) | 1);
	s64 ratio = x;

	ratio = ratio * x >> RATELIMIT_SHIFT;
	ratio = ratio * x >> RATELIMIT_SHIFT;
	ratio += (s64)RATIO_1;
	return (u64)clamp(ratio, (s64)0, (s64)(2 * RATIO_1));
}

/*
 * Of all dirty pages, times that of this disk's: a straight line through 1 at its share of the setpoint,
 * which is steep where the share is small; and a disk with next to nothing to write gets more.
 */
u64 wb_position_ratio(const struct bdi_writeback *wb, u64 limit, u64 thresh, u64 background,
                      u64 dirty, u64 wb_thresh, u64 wb_dirty)
{
	u64 setpoint = ((thresh + background) / 2 + limit) / 2;
	u64 ratio, x, wb_setpoint, span, intercept;

	if (dirty >= limit)
		return 0;
	ratio = pos_ratio_polynom(setpoint, dirty, limit);
	wb_thresh = max(min(wb_thresh, thresh), (limit - dirty) / 8);
	x = (wb_thresh << 16) / (thresh | 1);
	wb_setpoint = setpoint * x >> 16;
	span = (thresh - min(wb_thresh, thresh) + 8 * wb->avg_write_bandwidth) * x >> 16;
	intercept = wb_setpoint + span;
	if (wb_dirty < intercept - span / 4)
		ratio = ratio * (intercept - wb_dirty) / ((intercept - wb_setpoint) | 1);
	else
		ratio /= 4;
	intercept = wb_thresh / 2;
	if (wb_dirty < intercept)
		ratio = wb_dirty > intercept / 8 ? ratio * intercept / wb_dirty : ratio * 8;
	return ratio;
}

/* ---- measuring ---------------------------------------------------------------------------------------------- */

/* Where everybody stands: what is dirty, and what may be. */
struct dirty_state {
	unsigned long background;
	unsigned long thresh;
	unsigned long limit; /* the threshold, or what it has been lately */
	unsigned long dirty;
	unsigned long wb_thresh;
	unsigned long wb_dirty;
};

static void dirty_state_read(struct machine *m, struct bdi_writeback *wb, struct dirty_state *s)
{
	global_dirty_limits(m, &s->background, &s->thresh);
	s->limit = hard_dirty_limit(m, s->thresh);
	s->dirty = nr_dirty_and_writeback(m);
	s->wb_thresh = prop_share(m, wb, s->thresh);
	s->wb_dirty = wb_dirty(wb);
}

static u64 position_ratio(const struct bdi_writeback *wb, const struct dirty_state *s)
{
	return wb_position_ratio(wb, s->limit, s->thresh, s->background, s->dirty, s->wb_thresh,
	                         s->wb_dirty);
}

/* Over three seconds or so; and a second, smoother one that follows only what goes on. */
static void update_write_bandwidth(struct machine *m, struct bdi_writeback *wb, u64 elapsed,
                                   u64 written)
{
	u64 period = roundup_pow_of_two(3 * hz(m));
	u64 avg = wb->avg_write_bandwidth;
	u64 old = wb->write_bandwidth;
	u64 bw = (written - wb->written_stamp) * hz(m);

	if (elapsed > period) {
		bw /= elapsed;
		avg = bw;
	} else {
		bw = (bw + old * (period - elapsed)) >> ilog2(period);
		if (avg > old && old >= bw)
			avg -= (avg - old) >> 3;
		if (avg < old && old <= bw)
			avg += (old - avg) >> 3;
	}
	wb->write_bandwidth = bw;
	wb->avg_write_bandwidth = max(avg, 1UL);
}

/* A small step at a time, and only if all the estimates agree where to. */
static void step_ratelimit(struct bdi_writeback *wb, u64 balanced, u64 task, bool below)
{
	u64 limit = wb->dirty_ratelimit;
	u64 last = wb->balanced_dirty_ratelimit;
	u64 step = 0;

	if (below) {
		u64 x = min(last, min(balanced, task));

		step = limit < x ? x - limit : 0;
	} else {
		u64 x = max(last, max(balanced, task));

		step = limit > x ? limit - x : 0;
	}
	/* Do not chase what is within the noise. */
	step = limit / (2 * step + 1) < 64 ? step >> (limit / (2 * step + 1)) : 0;
	step = (step + 7) / 8;
	limit = limit < balanced ? limit + step : limit - min(step, limit);
	wb->dirty_ratelimit = max(limit, 1UL);
	wb->balanced_dirty_ratelimit = balanced;
}

/* The rate at which tasks dirty now, times written / dirtied, is the one that is balanced. */
static void update_dirty_ratelimit(struct machine *m, struct bdi_writeback *wb,
                                   const struct dirty_state *s, u64 elapsed, u64 dirtied)
{
	u64 setpoint = ((s->thresh + s->background) / 2 + s->limit) / 2;
	u64 dirty_rate = (dirtied - wb->dirtied_stamp) * hz(m) / elapsed;
	u64 task = (wb->dirty_ratelimit * position_ratio(wb, s) >> RATELIMIT_SHIFT) + 1;
	u64 balanced = task * wb->avg_write_bandwidth / (dirty_rate | 1);

	balanced = min(balanced, wb->avg_write_bandwidth);
	step_ratelimit(wb, balanced, task, s->dirty < setpoint);
}

/* Every 200 ms. @s: NULL: by the flusher, who has not looked. list_lock held. @start: ticks. */
static void update_bandwidth(struct machine *m, struct bdi_writeback *wb,
                             const struct dirty_state *s, u64 start)
{
	u64 now = now_ticks(m);
	u64 elapsed = now - wb->bw_stamp;
	u64 dirtied = wb->nr_dirtied;
	u64 written = wb->nr_written;

	if (elapsed < max(hz(m) / 5, 1UL))
		return;
	/* A period in which nothing was done says nothing about the disk. */
	if (elapsed <= hz(m) || wb->bw_stamp >= start) {
		if (s) {
			update_dirty_limit(m, s->thresh, s->dirty);
			update_dirty_ratelimit(m, wb, s, elapsed, dirtied);
		}
		update_write_bandwidth(m, wb, elapsed, written);
	}
	wb->dirtied_stamp = dirtied;
	wb->written_stamp = written;
	wb->bw_stamp = now;
}

void wb_update_bandwidth(struct machine *m, struct bdi_writeback *wb, u64 start)
{
	update_bandwidth(m, wb, NULL, start / HZ_NS(m));
}

/* ---- pauses: 3.2 on ----------------------------------------------------------------------------------------- */

/* Long enough to be worth it, short enough that the disk does not run dry meanwhile. */
static u64 max_pause(struct machine *m, const struct bdi_writeback *wb, u64 wb_dirty)
{
	u64 bw = wb->avg_write_bandwidth;
	u64 t = wb_dirty / (1 + bw / roundup_pow_of_two(1 + hz(m) / 8)) + 1;

	return min(t, max(hz(m) / 5, 1UL));
}

/* 10 ms for one dirtier, 20 for two, 30 for four ...; and how many pages go with that. */
static u64 min_pause(struct machine *m, const struct bdi_writeback *wb, u64 longest, u64 task_rate,
                     u64 *nr_pause)
{
	u64 rate = wb->dirty_ratelimit;
	u64 per_tick = roundup_pow_of_two(hz(m));
	int more = ilog2(wb->avg_write_bandwidth) - ilog2(rate);
	u64 t = max(hz(m) / 100, 1UL);
	u64 pages, pause;

	if (more > 0)
		t += (u64)more * (10 * hz(m)) / 1024;
	t = min(t, 1 + longest / 2);
	pages = rate * t / per_tick;
	if (pages < DIRTY_POLL_THRESH) {
		t = longest;
		pages = rate * t / per_tick;
		if (pages > DIRTY_POLL_THRESH) {
			pages = DIRTY_POLL_THRESH;
			t = hz(m) * DIRTY_POLL_THRESH / rate;
		}
	}
	pause = hz(m) * pages / (task_rate + 1);
	if (pause > longest) {
		t = longest;
		pages = task_rate * t / per_tick;
	}
	*nr_pause = pages;
	return pages >= DIRTY_POLL_THRESH ? 1 + t / 2 : t;
}

/* Below the range there is no need to look often: as seldom as cannot miss it. */
static unsigned long poll_interval(unsigned long dirty, unsigned long thresh)
{
	return thresh > dirty ? 1UL << (ilog2(thresh - dirty) / 2) : 1;
}

/* What a task is to do now. */
struct pause {
	s64 ticks; /* to sleep; below min: it goes on */
	u64 nr_dirtied_pause;
	bool stopped; /* nothing may be dirtied at all: look again afterwards */
};

/*
 * How long for @pages? What a task has computed since its last pause counts; what it has slept too long
 * or too little then is settled now.
 */
static bool decide_pause(struct machine *m, struct bdi_writeback *wb, struct task *t,
                         const struct dirty_state *s, u64 pages, struct pause *p)
{
	u64 now = now_ticks(m);
	u64 rate = wb->dirty_ratelimit * position_ratio(wb, s) >> RATELIMIT_SHIFT;
	s64 longest = (s64)max_pause(m, wb, s->wb_dirty);
	s64 shortest = (s64)min_pause(m, wb, (u64)longest, rate, &p->nr_dirtied_pause);
	u64 period;

	p->stopped = !rate;
	p->ticks = longest;
	if (!rate)
		return true;
	period = hz(m) * pages / rate;
	p->ticks = (s64)period;
	if (t->dirty_paused_when)
		p->ticks -= (s64)(now - t->dirty_paused_when);
	if (p->ticks < shortest) {
		if (p->ticks < -(s64)hz(m)) { /* it has been away: all is forgiven */
			t->dirty_paused_when = now;
			t->nr_dirtied = 0;
		} else if (period) {
			t->dirty_paused_when += period;
			t->nr_dirtied = 0;
		} else if (t->nr_dirtied_pause <= pages) {
			t->nr_dirtied_pause += (u32)pages;
		}
		return false;
	}
	p->ticks = min(p->ticks, longest);
	return true;
}

static void take_pause(struct machine *m, struct task *t, const struct pause *p)
{
	span_enter(SPAN_DIRTY);
	blk_flush_plug(m);
	world_order();
	world_current()->state = WORLD_TASK_INTERRUPTIBLE;
	schedule_timeout(world_ticks_to_ns((u64)p->ticks));
	span_exit();
	t->dirty_paused_when = now_ticks(m);
	t->nr_dirtied = 0;
	t->nr_dirtied_pause = (u32)p->nr_dirtied_pause;
}

static void balance_dirty_pages_pause(struct machine *m, struct bdi_writeback *wb, struct task *t)
{
	u64 start = now_ticks(m);
	bool exceeded = false;
	struct dirty_state s;

	for (;;) {
		u64 pages = t->nr_dirtied;
		struct pause p;

		dirty_state_read(m, wb, &s);
		if (s.dirty <= (s.thresh + s.background) / 2) {
			t->dirty_paused_when = now_ticks(m);
			t->nr_dirtied = 0;
			t->nr_dirtied_pause = (u32)poll_interval(s.dirty, s.thresh);
			break;
		}
		wb_start_background(m, wb);
		exceeded = s.wb_dirty > s.wb_thresh && s.dirty > s.thresh;
		if (exceeded && !READ_ONCE(wb->dirty_exceeded))
			WRITE_ONCE(wb->dirty_exceeded, true);
		if (now_ticks(m) - wb->bw_stamp >= max(hz(m) / 5, 1UL)) {
			spin_lock_irq(&wb->list_lock);
			update_bandwidth(m, wb, &s, start);
			spin_unlock_irq(&wb->list_lock);
		}
		if (!decide_pause(m, wb, t, &s, pages, &p))
			break;
		take_pause(m, t, &p);
		if (!p.stopped || !s.wb_dirty || world_current()->signal)
			break;
	}
	if (!exceeded && READ_ONCE(wb->dirty_exceeded))
		WRITE_ONCE(wb->dirty_exceeded, false);
	if (global_page_state(m, NR_FILE_DIRTY) > s.background)
		wb_start_background(m, wb);
}

/* ---- writing oneself: to 3.1 ---------------------------------------------------------------------------------- */

static void balance_dirty_pages_write(struct machine *m, struct bdi_writeback *wb, struct task *t)
{
	long chunk = (long)t->nr_dirtied + (long)t->nr_dirtied / 2;
	bool exceeded = false;
	struct dirty_state s;
	u64 pause = 1;
	long wrote = 0;

	t->nr_dirtied = 0;
	for (;;) {
		dirty_state_read(m, wb, &s);
		if (s.dirty <= (s.background + s.thresh) / 2)
			break;
		exceeded = s.wb_dirty >= s.wb_thresh || s.dirty >= s.thresh;
		if (!exceeded)
			break;
		WRITE_ONCE(wb->dirty_exceeded, true);
		if (READ_ONCE(wb->nr_reclaimable) > s.wb_thresh) {
			wrote += writeback_inodes_wb(m, wb, chunk);
			if (wrote >= chunk)
				break;
		}
		span_enter(SPAN_DIRTY);
		blk_flush_plug(m);
		world_order();
		world_current()->state = WORLD_TASK_INTERRUPTIBLE;
		schedule_timeout(world_ticks_to_ns(pause));
		span_exit();
		if (world_current()->signal)
			break;
		pause = min(2 * pause, hz(m) / 10);
	}
	if (!exceeded)
		WRITE_ONCE(wb->dirty_exceeded, false);
	if (global_page_state(m, NR_FILE_DIRTY) > s.background)
		wb_start_background(m, wb);
}

/* ---- who has to look ------------------------------------------------------------------------------------------ */

/* After so many pages; its CPU's tasks together; and what others have left unpaid when they ended. */
static bool must_look(struct machine *m, const struct bdi_writeback *wb, struct task *t)
{
	struct cpu_data *d = this_cpu(m);
	u32 limit = t->nr_dirtied_pause;

	if (READ_ONCE(wb->dirty_exceeded))
		limit = min_t(u32, limit, EXCEEDED_PAGES);
	if (unlikely(t->nr_dirtied >= limit)) {
		d->nr_dirtied = 0;
	} else if (unlikely(d->nr_dirtied >= m->fs->domain.ratelimit)) {
		d->nr_dirtied = 0;
		limit = 0;
	}
	if (d->dirty_leaks && t->nr_dirtied < limit) {
		u32 nr = min(d->dirty_leaks, limit - t->nr_dirtied);

		d->dirty_leaks -= nr;
		t->nr_dirtied += nr;
	}
	return t->nr_dirtied >= limit;
}

void balance_dirty_pages_ratelimited(struct machine *m, struct address_space *mapping)
{
	struct task *t = current_task();
	struct bdi_writeback *wb;

	if (!mapping || mapping_is_shmem(mapping))
		return;
	wb = mapping_wb(mapping);
	if (likely(!must_look(m, wb, t)))
		return;
	charge(COST_DIRTY_LIMITS);
	if (m->knob.dirty_throttle == DIRTY_THROTTLE_PAUSE)
		balance_dirty_pages_pause(m, wb, t);
	else
		balance_dirty_pages_write(m, wb, t);
}

void dirty_throttle_exit(struct machine *m, struct task *t)
{
	this_cpu(m)->dirty_leaks += t->nr_dirtied;
}
