/*
 * Sensitivity. See sensitivity.h.
 */
#include "cli/sensitivity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "load/profile.h"

/* A constant with another value is a scenario of its own. */
struct trial {
	u32 cost;
	bool half;
	char set[64]; /* "cost.spin=20": the --set, and the point of its columns */
	struct scenario *s;
};

struct trials {
	u32 nr_constants;
	u32 nr;
	struct trial trial[2 * NR_WORLD_COSTS];
};

static u64 charged(const struct run_record *r, const char *name)
{
	for (u32 i = 0; i < r->nr_costs; i++)
		if (strcmp(r->cost[i].name, name) == 0)
			return r->cost[i].count;
	return 0;
}

/* The largest share of a variant's busy time that went into cost @i. */
static double share_of(const struct experiment *e, const struct scenario *s, u32 i)
{
	double most = 0;

	for (u32 k = 0; k < e->results.nr_columns; k++) {
		const struct run_record *r = &e->results.column[k].record[0];
		u64 busy;
		u64 idle;

		record_cpu_time(r, &busy, &idle);
		if (busy)
			most = fmax(most, (double)charged(r, s->profile->cost_name[i]) *
			                          (double)s->hw->cost_ns[i] / (double)busy);
	}
	return most;
}

static bool worth_trying(const struct experiment *e, const struct scenario *s, u32 i)
{
	const char *source = s->profile->cost_source[i];

	if (!source || strncmp(source, "assumed", strlen("assumed")) != 0)
		return false;
	/* This one is waited for rather than charged, so its share is not known. */
	return i == COST_IPI_FLIGHT || share_of(e, s, i) >= SENSITIVITY_SHARE;
}

static bool add_trial(const struct sensitivity_options *o, const struct scenario *s,
                      struct trials *t, u32 cost, u64 ns)
{
	struct trial *new = &t->trial[t->nr];
	const char **set = report_alloc(o->nr_sets + 1, sizeof(*set));
	char err[TARGET_ERROR_MAX] = "";
	struct scenario_options opt = {
		.names = &cli_load_names,
		.machine_dirs = cli_machine_dirs(),
		.set = set,
		.nr_set = o->nr_sets + 1,
	};
	int rc;

	new->cost = cost;
	new->half = ns < s->hw->cost_ns[cost];
	snprintf(new->set, sizeof(new->set), "cost.%s=%lu", s->profile->cost_name[cost], ns);
	for (u32 i = 0; i < o->nr_sets; i++)
		set[i] = o->set[i];
	set[o->nr_sets] = new->set;
	rc = cli_scenario_load(o->path, &opt, &new->s, err);
	free(set);
	if (rc)
		cli_error("%s", err);
	else
		t->nr++;
	return rc == 0;
}

static bool collect_trials(const struct sensitivity_options *o, const struct scenario *s,
                           const struct experiment *e, struct trials *t)
{
	for (u32 i = 0; i < NR_WORLD_COSTS; i++) {
		u64 ns = s->hw->cost_ns[i];

		if (!ns || !worth_trying(e, s, i))
			continue;
		t->nr_constants++;
		/* Half of one is nothing, which is another machine. */
		if (ns > 1 && !add_trial(o, s, t, i, ns / 2))
			return false;
		if (!add_trial(o, s, t, i, 2 * ns))
			return false;
	}
	return true;
}

/* Ratio of figure @f to the baseline at @point, over the sensitivity's own seeds. */
static double ratio_at(const struct results *r, const struct experiment *e, const struct figure *f,
                       const char *point)
{
	const struct result_column *c = results_find(r, f->variant, point, NULL);
	const struct result_column *b = results_find(r, e->baseline, point, NULL);
	struct comparison cmp;

	if (!c || !b)
		return 0;
	column_compare(r, b, c, f->metric, &cmp);
	return cmp.base ? cmp.ratio : 0;
}

static const struct trial *find_trial(const struct trials *t, u32 cost, bool half)
{
	for (u32 i = 0; i < t->nr; i++)
		if (t->trial[i].cost == cost && t->trial[i].half == half)
			return &t->trial[i];
	return NULL;
}

static bool moves(double ratio, double base, double least)
{
	return ratio != 0 && fabs(log(ratio / base)) > log(1 + least);
}

/*
 * How far two means of @nr_seeds ratios may be apart by chance, as part of them: from the spread of the
 * experiment's own runs. A changed constant changes the order of events, so that seeds are no pairs here.
 * 0: one run has no spread.
 */
static double noise_of(const struct experiment *e, const struct figure *f, u32 nr_seeds)
{
	const struct result_column *c = results_find(&e->results, f->variant, "", NULL);
	const struct result_column *b = results_find(&e->results, e->baseline, "", NULL);
	struct comparison cmp;
	double half_width; /* of the interval, in logarithms: ratios are far from normal near a cliff */

	if (!c || !b)
		return 0;
	column_compare(&e->results, b, c, f->metric, &cmp);
	if (cmp.n < 2 || !cmp.base || cmp.ratio_lo <= 0)
		return 0;
	half_width = log(cmp.ratio_hi / cmp.ratio_lo) / 2;
	return exp(half_width * sqrt(2.0 * cmp.n / nr_seeds)) - 1;
}

static void add_row(struct experiment *e, const struct scenario *s, u32 cost,
                    const struct figure *f, double ratio, double half, double twice, double noise)
{
	struct sensitivity *row;
	char text[128];

	e->sensitivity =
		realloc(e->sensitivity, sizeof(*e->sensitivity) * (e->nr_sensitivities + 1));
	if (!e->sensitivity)
		abort();
	row = &e->sensitivity[e->nr_sensitivities++];
	*row = (struct sensitivity){
		.source = report_strdup(s->profile->cost_source[cost]),
		.value = s->hw->cost_ns[cost],
		.ratio = ratio,
		.half = half,
		.twice = twice,
		.noise = noise,
	};
	snprintf(text, sizeof(text), "cost.%s", s->profile->cost_name[cost]);
	row->constant = report_strdup(text);
	snprintf(text, sizeof(text), "%s.%s", f->variant, f->metric);
	row->figure = report_strdup(text);
}

static void judge(struct experiment *e, const struct scenario *s, const struct trials *t,
                  const struct results *r)
{
	for (u32 cost = 0; cost < NR_WORLD_COSTS; cost++) {
		const struct trial *half = find_trial(t, cost, true);
		const struct trial *twice = find_trial(t, cost, false);

		for (u32 i = 0; twice && i < e->nr_figures; i++) {
			const struct figure *f = &e->figure[i];
			double base = ratio_at(r, e, f, "");
			double h = half ? ratio_at(r, e, f, half->set) : 0;
			double w = ratio_at(r, e, f, twice->set);

			double noise = noise_of(e, f, e->nr_seeds_sensitivity);
			double least = fmax(SENSITIVITY_SHOWN, noise);

			if (!base)
				continue;
			if (moves(h, base, least) || moves(w, base, least))
				add_row(e, s, cost, f, base, h, w, noise);
			else if (moves(h, base, SENSITIVITY_SHOWN) ||
			         moves(w, base, SENSITIVITY_SHOWN))
				e->nr_within_noise++;
		}
	}
}

/* All variants with figures, as they are and in every trial. */
static u32 make_cells(const struct experiment *e, struct scenario *s, const struct trials *t,
                      struct batch_cell *cell)
{
	u32 n = 0;

	for (u32 i = 0; i <= t->nr; i++) {
		struct scenario *run = i ? t->trial[i - 1].s : s;

		for (u32 v = 0; v < s->nr_variants; v++) {
			const struct claim_side side = {s->variant[v].name, ""};

			if (results_find(&e->results, side.variant, "", NULL))
				cell[n++] =
					(struct batch_cell){run, v, i ? t->trial[i - 1].set : "",
				                            target_by_name("sim")};
		}
	}
	return n;
}

int sensitivity_run(const struct sensitivity_options *o, const struct scenario *s,
                    struct experiment *e)
{
	struct trials *t = report_alloc(1, sizeof(*t));
	struct batch_cell *cell = NULL;
	struct results r = {0};
	int status = CLI_USAGE;

	if (!collect_trials(o, s, e, t))
		goto out;
	cell = report_alloc((size_t)(t->nr + 1) * s->nr_variants, sizeof(*cell));

	struct batch b = {
		.path = o->path,
		.again = "",
		.nr_cells = make_cells(e, (struct scenario *)s, t, cell),
		.cell = cell,
		.nr_seeds = o->nr_seeds,
		.seed = o->seed,
		.nr_parallel = o->nr_parallel,
		.cpu_seconds = o->cpu_seconds,
		.quiet = o->quiet,
	};

	status = batch_run(&b, &r);
	e->sensitivity_run = true;
	e->nr_seeds_sensitivity = o->nr_seeds;
	e->nr_constants = t->nr_constants;
	e->least_share = SENSITIVITY_SHARE;
	judge(e, s, t, &r);
	results_free(&r);
out:
	for (u32 i = 0; i < t->nr; i++)
		scenario_free(t->trial[i].s);
	free(cell);
	free(t);
	return status;
}
