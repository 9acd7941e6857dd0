/*
 * A disk's part in the writing that has been done lately (Linux lib/flex_proportions.c, since 3.6;
 * lib/proportions.c, 2.6.24 to 3.5).
 *
 * Each page whose write ends is an event of its disk and one of all disks, and old events fade: at the
 * end of a period all counts are halved. A period is 3 s, or, to 3.5, so many events that all disks
 * together have twice to four times as many as pages may be dirty. Nobody goes over the disks for that: whoever looks
 * at one makes up for the periods it has missed.
 *
 * The part is what the disk gets of the dirty limits, so that the slow one's pages do not take the room of
 * the fast one's. A disk that has written nothing lately gets next to nothing, and has to earn it.
 *
 * At boot the first disk has all of it: the system has been read from it, and its logs were written
 * to it.
 *
 * Left out: min_ratio and max_ratio of a device (sysfs), the share of a task (to 3.1). Linux ages by a
 * deferrable timer, which may come late.
 */
#include "core/fs.h"
#include "core/writeback.h"

#define PERIOD_SECONDS 3 /* VM_COMPLETIONS_PERIOD_LEN */

static bool by_events(const struct machine *m)
{
	return m->knob.writeback_proportions == PROPORTIONS_EVENTS;
}

/* ---- of all disks ---------------------------------------------------------------------------------- */

/* By events the count only rises, and its upper part is the period. */
static u64 period_of(const struct machine *m, const struct prop_global *g)
{
	return by_events(m) ? g->events >> g->shift : g->period;
}

/*
 * Halved once for each period that is over. With one event or none left nothing can change any more:
 * the clock stops until there is another.
 */
static void age_all(struct machine *m, struct prop_global *g)
{
	u64 now = world_now() / HZ_NS(m);

	while (g->ends && now >= g->ends) {
		if (g->events <= 1) {
			g->ends = 0;
			break;
		}
		g->events /= 2;
		g->period += 1;
		g->ends += PERIOD_SECONDS * m->world->hw->hz;
	}
}

/* ---- of one ------------------------------------------------------------------------------------------- */

static u64 aged_events(const struct machine *m, const struct prop_global *g,
                       const struct prop_local *l)
{
	u64 missed = period_of(m, g) - l->period;

	return missed < 64 ? l->events >> missed : 0;
}

static void age_one(const struct machine *m, const struct prop_global *g, struct prop_local *l)
{
	l->events = aged_events(m, g, l);
	l->period = period_of(m, g);
}

/* A disk has no more than all together. A disk that nobody has looked at since has not been aged. */
void prop_audit(const struct machine *m, const struct bdi_writeback *wb)
{
	const struct prop_global *g = &m->fs->domain.completions;
	u64 events = aged_events(m, g, &wb->completions);

	VM_BUG_ON_MSG(events > g->events, "a disk has written %lu pages lately, all together %lu",
	              events, g->events);
}

/* The write of a page has ended. Any context. */
void prop_events(struct machine *m, struct bdi_writeback *wb, u64 nr)
{
	struct prop_global *g = &m->fs->domain.completions;

	if (!by_events(m)) {
		age_all(m, g);
		if (!g->ends)
			g->ends = world_now() / HZ_NS(m) + PERIOD_SECONDS * m->world->hw->hz;
	}
	age_one(m, g, &wb->completions);
	wb->completions.events += nr;
	g->events += nr;
}

/* @pages times this disk's part. */
u64 prop_share(struct machine *m, struct bdi_writeback *wb, u64 pages)
{
	struct prop_global *g = &m->fs->domain.completions;
	u64 all;

	if (by_events(m)) {
		/* A whole period more than there are of the present one: what is left of those before. */
		all = (1UL << g->shift) + (g->events & ((1UL << g->shift) - 1));
	} else {
		age_all(m, g);
		all = g->events;
	}
	age_one(m, g, &wb->completions);
	all = max(all, max(wb->completions.events, 1UL));
	return pages * wb->completions.events / all;
}

/* Before anything is written. @thresh: how many pages may be dirty. */
void prop_init(struct machine *m, u64 thresh)
{
	struct prop_global *g = &m->fs->domain.completions;
	struct prop_local *first = &m->fs->sb[0].wb.completions;

	g->shift = 1 + (thresh > 1 ? (u32)ilog2(thresh - 1) : 0);
	g->events = by_events(m) ? 1UL << g->shift : 1;
	first->events = g->events;
	first->period = period_of(m, g);
}
