/*
 * A published experiment beside its simulation: what the results say. See published.h.
 */
#include "report/published.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct result_column *side(const struct experiment *e, const struct claim_side *s)
{
	return s->variant ? results_find(&e->results, s->variant, s->point ? s->point : "", NULL)
	                  : NULL;
}

static const struct figure *baseline_figure(const struct experiment *e, const char *metric)
{
	for (u32 i = 0; i < e->nr_figures; i++)
		if (strcmp(e->figure[i].metric, metric) == 0 &&
		    strcmp(e->figure[i].variant, e->baseline) == 0)
			return &e->figure[i];
	return NULL;
}

static void judge_figure(struct experiment *e, struct figure *f)
{
	const struct claim_side own = {f->variant, ""};
	const struct claim_side base = {e->baseline, ""};
	const struct result_column *c = side(e, &own);
	const struct result_column *b = side(e, &base);
	const struct figure *published = baseline_figure(e, f->metric);
	struct comparison cmp;

	f->published_ratio =
		published && published->published ? f->published / published->published : 0;
	if (!c)
		return;
	column_summary(&e->results, c, f->metric, &f->simulated);
	f->error = relative_error(f->simulated.mean, f->published);
	if (!b)
		return;
	column_compare(&e->results, b, c, f->metric, &cmp);
	f->ratio = cmp.ratio;
	f->ratio_lo = cmp.ratio_lo;
	f->ratio_hi = cmp.ratio_hi;
	f->ratio_error = f->published_ratio ? relative_error(f->ratio, f->published_ratio) : 0;
}

static double mean_of(const struct experiment *e, const struct result_column *c, const char *metric)
{
	struct summary s;

	column_summary(&e->results, c, metric, &s);
	return s.mean;
}

/* The claim's value and interval. False if its columns were not run. */
static bool measure_claim(const struct experiment *e, const struct claim *c, struct claim_result *r)
{
	const struct result_column *of = side(e, &c->of);
	const struct result_column *to = side(e, &c->to);
	const struct result_column *from = side(e, &c->from);
	struct comparison cmp;
	double best;

	if (!of || (c->kind != CLAIM_VALUE && !to) || (c->kind == CLAIM_PENALTY && !from))
		return false;
	switch (c->kind) {
	case CLAIM_VALUE:
		r->value = mean_of(e, of, c->metric);
		break;
	case CLAIM_RATIO:
		column_compare(&e->results, to, of, c->metric, &cmp);
		if (cmp.base == 0) /* something against nothing is more than any ratio */
			cmp.ratio = cmp.ratio_lo = cmp.ratio_hi = cmp.value ? INFINITY : 1;
		r->value = cmp.ratio;
		r->lo = cmp.ratio_lo;
		r->hi = cmp.ratio_hi;
		return true;
	case CLAIM_PENALTY:
		best = mean_of(e, to, c->metric);
		r->value =
			(mean_of(e, of, c->metric) - best) / (mean_of(e, from, c->metric) - best);
		break;
	}
	r->lo = r->hi = r->value;
	return true;
}

static void judge_claim(const struct experiment *e, const struct claim *c, struct claim_result *r)
{
	*r = (struct claim_result){0};
	if (!measure_claim(e, c, r))
		return;
	if (!(r->value >= c->lo && r->value <= c->hi)) /* also if it is not a number */
		r->verdict = VERDICT_FAILS;
	else if (r->lo < c->lo || r->hi > c->hi)
		r->verdict = VERDICT_WEAK;
	else
		r->verdict = VERDICT_HOLDS;
}

void experiment_judge(struct experiment *e)
{
	for (u32 i = 0; i < e->nr_figures; i++)
		judge_figure(e, &e->figure[i]);
	for (u32 i = 0; i < e->nr_claims; i++)
		judge_claim(e, &e->claim[i], &e->result[i]);
}
