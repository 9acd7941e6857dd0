/*
 * The time series of a simulated run. See sim_series.h.
 */
#include "cli/sim_series.h"

#include "core/mm.h"
#include "sim/sim.h"

static void add_sample(void *arg, const char *name, enum sample_kind kind, u64 value)
{
	series_add(arg, name, kind == SAMPLE_PAGES ? SERIES_PAGES : SERIES_EVENTS, value);
}

static void take(struct sim_series *s, u64 now, bool end)
{
	struct sim_load load = sim_load_at(s->world, now);

	s->some_ns += load.some_ns;
	s->full_ns += load.full_ns;
	series_begin(&s->series, now, end);
	machine_sample(s->machine, add_sample, &s->series);
	series_add(&s->series, "running", SERIES_TASKS, load.nr_running);
	series_add(&s->series, "waiting for a CPU", SERIES_TASKS, load.nr_queued);
	series_add(&s->series, "idle", SERIES_NS, load.idle_ns);
	series_add(&s->series, "memory stall some", SERIES_NS, s->some_ns);
	series_add(&s->series, "memory stall full", SERIES_NS, s->full_ns);
}

u64 sim_series_sample(void *arg, u64 now)
{
	struct sim_series *s = arg;

	take(s, now, false);
	return series_next(&s->series, now);
}

/* A run that ended at a moment of the series has had its last sample. */
void sim_series_end(struct sim_series *s, u64 now)
{
	if (!s->series.nr_points || s->series.time[s->series.nr_points - 1] < now)
		take(s, now, true);
}
