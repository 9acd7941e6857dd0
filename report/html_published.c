/*
 * The mails' experiments on one page: what each asked, its published figures, ours, what was predicted,
 * what was missed, and why. See html.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/html.h"
#include "report/text.h"

static const char *const verdict_name[] = {
	[VERDICT_NOT_RUN] = "not run",
	[VERDICT_HOLDS] = "holds",
	[VERDICT_WEAK] = "in doubt",
	[VERDICT_FAILS] = "fails",
};

static const char *verdict_class(enum verdict v)
{
	return v == VERDICT_HOLDS ? "good" : v == VERDICT_FAILS ? "bad" : "mut";
}

static const char *value_text(char *buf, const struct figure *f, double v)
{
	if (strcmp(f->unit, "s") == 0)
		return text_seconds(buf, v);
	return format_count(buf, v);
}

/* ---- figures ------------------------------------------------------------------------------------ */

/* Within a quarter is a hit: what the experiments ask of themselves. */
static bool is_hit(double error)
{
	return fabs(error) <= 0.25;
}

static void ratio_cells(struct html *h, const struct figure *f)
{
	if (f->published_ratio == 0 || f->ratio == 0) {
		html_print(h, "<td></td><td></td><td></td>");
		return;
	}
	html_cell(h, "td", NULL, "%.2f", f->published_ratio);
	html_print(h, "<td>%.2f", f->ratio);
	if (f->ratio_lo != f->ratio_hi)
		html_print(h, " <span class=\"mut\">[%.2f, %.2f]</span>", f->ratio_lo, f->ratio_hi);
	html_print(h, "</td>");
	if (f->ratio_lo == f->ratio_hi && f->ratio == 1 && f->published_ratio == 1)
		html_print(h, "<td></td>");
	else
		html_cell(h, "td",
		          f->fitted                ? "mut"
		          : is_hit(f->ratio_error) ? "good"
		                                   : "bad",
		          "%+.0f%%", 100 * f->ratio_error);
}

static void figure_row(struct html *h, const struct figure *f, bool first)
{
	char text[FORMAT_MAX];

	html_print(h, first ? "<tr class=\"sep\">" : "<tr>");
	html_cell(h, "td", NULL, "%s%s%s", f->metric, strcmp(f->unit, "s") == 0 ? " (s)" : "",
	          f->fitted ? " (fitted)" : "");
	html_cell(h, "td", "l", "%s", f->variant);
	html_cell(h, "td", NULL, "%s", value_text(text, f, f->published));
	if (!f->simulated.n) {
		html_print(h, "<td class=\"mut\">not run</td><td></td>");
	} else {
		html_print(h, "<td>%s", value_text(text, f, f->simulated.mean));
		if (f->simulated.n > 1)
			html_print(h, " <span class=\"mut\">&plusmn;%.1f%%</span>",
			           summary_std_percent(&f->simulated));
		html_print(h, "</td>");
		if (isfinite(f->error))
			html_cell(h, "td",
			          f->fitted          ? "mut"
			          : is_hit(f->error) ? "good"
			                             : "bad",
			          "%+.0f%%", 100 * f->error);
		else
			html_print(h, "<td class=\"bad\">new</td>");
	}
	ratio_cells(h, f);
	html_print(h, "</tr>\n");
}

static bool first_of_metric(const struct experiment *e, u32 i)
{
	for (u32 k = 0; k < i; k++)
		if (strcmp(e->figure[k].metric, e->figure[i].metric) == 0)
			return false;
	return true;
}

static void figures(struct html *h, const struct experiment *e)
{
	html_heading(h, 3, NULL, "Published and simulated");
	html_print(h, "<div class=\"scroll\"><table>\n<tr><th></th><th class=\"l\">variant</th>"
	              "<th>published</th><th>simulated</th><th>error</th>"
	              "<th>ratio published</th><th>ratio simulated [95&nbsp;%%]</th><th>error</th>"
	              "</tr>\n");
	for (u32 i = 0; i < e->nr_figures; i++) {
		if (!first_of_metric(e, i))
			continue;
		for (u32 k = i; k < e->nr_figures; k++)
			if (strcmp(e->figure[k].metric, e->figure[i].metric) == 0)
				figure_row(h, &e->figure[k], k == i);
	}
	html_print(h, "</table></div>\n<p class=\"mut small\">Ratios are to ");
	html_text(h, e->baseline);
	html_print(h, ". Errors within 25 %% are marked as hits. ");
	if (e->fitted) {
		html_print(h, "One figure is fitted, ");
		html_text(h, e->fitted);
		html_print(h, " by ");
		html_text(h, e->constant ? e->constant : "a constant");
		html_print(h, "; every other is a prediction.</p>\n");
	} else {
		html_print(h, "Nothing is fitted: every figure is a prediction.</p>\n");
	}
}

static void spread_row(struct html *h, const char *variant, const char *who,
                       const struct summary *s)
{
	html_print(h, "<tr>");
	html_cell(h, "td", NULL, "%s", variant);
	html_cell(h, "td", "l", "%s", who);
	html_cell(h, "td", NULL, "%u", s->n);
	html_cell(h, "td", NULL, "%.2f", s->mean);
	html_cell(h, "td", NULL, "%.2f (%.1f%%)", s->std, summary_std_percent(s));
	html_cell(h, "td", NULL, "%.2f", s->max);
	html_cell(h, "td", NULL, "%.2f", s->min);
	html_print(h, "</tr>\n");
}

/* Where the mail says how its runs spread, how ours do. */
static void spreads(struct html *h, const struct experiment *e)
{
	if (!e->nr_spreads)
		return;
	html_heading(h, 3, NULL, "How runs spread");
	html_print(h, "<div class=\"scroll\"><table>\n");
	for (u32 i = 0; i < e->nr_spreads; i++) {
		const struct spread *p = &e->spread[i];
		const struct result_column *c = results_find(&e->results, p->variant, "", NULL);
		struct summary s;

		if (!i || strcmp(e->spread[i - 1].metric, p->metric) != 0) {
			html_print(h, "<tr>");
			html_cell(h, "th", NULL, "%s", p->metric);
			html_print(h, "<th></th><th>records</th><th>avg</th><th>std</th>"
			              "<th>max</th><th>min</th></tr>\n");
		}
		spread_row(h, p->variant, "published", &p->published);
		if (!c)
			continue;
		column_summary(&e->results, c, p->metric, &s);
		spread_row(h, "", "simulated", &s);
	}
	html_print(h, "</table></div>\n");
}

/* Counters of which the mail says nothing. */
static void predictions(struct html *h, const struct experiment *e)
{
	const struct result_column *base = results_find(&e->results, e->baseline, "", NULL);

	if (!e->nr_predictions || !base)
		return;
	html_heading(h, 3, NULL, "Predicted, not published");
	html_print(h, "<div class=\"scroll\"><table>\n<tr><th></th>");
	html_cell(h, "th", NULL, "%s", e->baseline);
	for (u32 i = 0; i < e->results.nr_columns; i++)
		if (&e->results.column[i] != base && !*e->results.column[i].point)
			html_cell(h, "th", NULL, "%s", e->results.column[i].variant);
	html_print(h, "</tr>\n");
	for (u32 k = 0; k < e->nr_predictions; k++) {
		struct summary s;

		column_summary(&e->results, base, e->prediction[k], &s);
		html_print(h, "<tr>");
		html_cell(h, "td", NULL, "%s", e->prediction[k]);
		html_cell(h, "td", NULL, "%.6g", s.mean);
		for (u32 i = 0; i < e->results.nr_columns; i++) {
			const struct result_column *c = &e->results.column[i];
			struct comparison cmp;
			char change[FORMAT_MAX];

			if (c == base || *c->point)
				continue;
			column_compare(&e->results, base, c, e->prediction[k], &cmp);
			html_cell(h, "td", NULL, "%.6g %s", cmp.value,
			          format_comparison(change, &cmp));
		}
		html_print(h, "</tr>\n");
	}
	html_print(h, "</table></div>\n");
}

/* ---- claims ------------------------------------------------------------------------------------- */

static void bound_text(char *buf, size_t n, double lo, double hi)
{
	char a[FORMAT_MAX];
	char b[FORMAT_MAX];

	format_count(a, lo);
	format_count(b, hi);
	if (lo == hi)
		snprintf(buf, n, "%s", a);
	else if (isinf(hi))
		snprintf(buf, n, "above %s", a);
	else if (isinf(lo) || lo == 0)
		snprintf(buf, n, "below %s", b);
	else
		snprintf(buf, n, "%.2f to %.2f", lo, hi);
}

static void claims(struct html *h, const struct experiment *e)
{
	if (!e->nr_claims)
		return;
	html_heading(h, 3, NULL, "What must come out if the mechanism is right");
	html_print(h, "<div class=\"scroll\"><table>\n<tr><th></th><th class=\"l\">claim</th>"
	              "<th>value</th><th>95&nbsp;%% interval</th><th>wanted</th></tr>\n");
	for (u32 i = 0; i < e->nr_claims; i++) {
		const struct claim_result *r = &e->result[i];
		char text[2 * FORMAT_MAX];

		html_print(h, "<tr>");
		html_cell(h, "td", verdict_class(r->verdict), "%s", verdict_name[r->verdict]);
		html_cell(h, "td", "l w", "%s", e->claim[i].text);
		if (r->verdict == VERDICT_NOT_RUN) {
			html_print(h, "<td></td><td></td>");
		} else {
			if (e->claim[i].kind == CLAIM_VALUE)
				html_cell(h, "td", NULL, "%s", format_count(text, r->value));
			else
				html_cell(h, "td", NULL, "%.2f", r->value);
			if (r->lo != r->hi)
				html_cell(h, "td", NULL, "[%.2f, %.2f]", r->lo, r->hi);
			else
				html_print(h, "<td></td>");
		}
		bound_text(text, sizeof(text), e->claim[i].lo, e->claim[i].hi);
		html_cell(h, "td", NULL, "%s", text);
		html_print(h, "</tr>\n");
	}
	html_print(h, "</table></div>\n");
}

/* ---- sensitivity, notes ------------------------------------------------------------------------- */

static void sensitivities(struct html *h, const struct experiment *e)
{
	if (!e->sensitivity_run)
		return;
	html_print(
		h,
		"<details><summary>Constants that move a ratio by more than 10 %% when halved or "
		"doubled: %u</summary><div class=\"scroll\"><table>\n"
		"<tr><th>constant</th><th>value</th><th>figure</th><th>ratio</th>"
		"<th>halved</th><th>doubled</th><th class=\"l\">source</th></tr>\n",
		e->nr_sensitivities);
	for (u32 i = 0; i < e->nr_sensitivities; i++) {
		const struct sensitivity *s = &e->sensitivity[i];

		html_print(h, "<tr>");
		html_cell(h, "td", NULL, "%s", s->constant);
		html_cell(h, "td", NULL, "%lu", s->value);
		html_cell(h, "td", NULL, "%s", s->figure);
		html_cell(h, "td", NULL, "%.2f", s->ratio);
		html_cell(h, "td", NULL, "%.2f", s->half);
		html_cell(h, "td", NULL, "%.2f", s->twice);
		html_cell(h, "td", "l mut", "%s", s->source);
		html_print(h, "</tr>\n");
	}
	html_print(h, "</table></div></details>\n");
}

static void notes(struct html *h, const struct experiment *e)
{
	if (!e->nr_notes)
		return;
	html_heading(h, 3, NULL, "Why, and what is not known");
	html_print(h, "<ul>\n");
	for (u32 i = 0; i < e->nr_notes; i++) {
		html_print(h, "<li>");
		html_text(h, e->note[i]);
		html_print(h, "</li>\n");
	}
	html_print(h, "</ul>\n");
}

/* ---- the verdict -------------------------------------------------------------------------------- */

struct score {
	u32 nr_figures; /* predicted ones that were simulated */
	u32 nr_hits;
	u32 nr_ratios;
	u32 nr_ratio_hits;
	u32 nr_claims[4]; /* by verdict */
};

static void add_score(struct score *s, const struct experiment *e)
{
	for (u32 i = 0; i < e->nr_figures; i++) {
		const struct figure *f = &e->figure[i];

		if (f->fitted || !f->simulated.n)
			continue;
		s->nr_figures += 1;
		s->nr_hits += is_hit(f->error);
		if (f->published_ratio == 0 || f->ratio == 0 ||
		    strcmp(f->variant, e->baseline) == 0)
			continue;
		s->nr_ratios += 1;
		s->nr_ratio_hits += is_hit(f->ratio_error);
	}
	for (u32 i = 0; i < e->nr_claims; i++)
		s->nr_claims[e->result[i].verdict] += 1;
}

/* Ratios where there are any: of these the mails speak. Else the figures. */
static void missed(struct html *h, const struct experiment *e)
{
	u32 nr = 0;

	for (u32 i = 0; i < e->nr_figures; i++) {
		const struct figure *f = &e->figure[i];
		bool ratio = f->published_ratio != 0 && f->ratio != 0;

		if (f->fitted || !f->simulated.n || is_hit(ratio ? f->ratio_error : f->error))
			continue;
		html_print(h, nr++ ? "; " : "<p>Missed: ");
		html_text(h, f->metric);
		html_print(h, " of ");
		html_text(h, f->variant);
		if (ratio)
			html_print(h, " (%.2f instead of %.2f times the baseline's)", f->ratio,
			           f->published_ratio);
		else if (isfinite(f->error))
			html_print(h, " (%+.0f %%)", 100 * f->error);
	}
	if (nr)
		html_print(h, ".</p>\n");
}

static void verdict(struct html *h, const struct experiment *e)
{
	struct score s = {0};

	add_score(&s, e);
	html_print(h,
	           "<div class=\"answer\"><p>Of %u published figure%s that we predicted, <b>%u</b> "
	           "came within 25 %%",
	           s.nr_figures, s.nr_figures == 1 ? "" : "s", s.nr_hits);
	if (s.nr_ratios)
		html_print(h, "; of %u ratio%s, <b>%u</b>", s.nr_ratios,
		           s.nr_ratios == 1 ? "" : "s", s.nr_ratio_hits);
	html_print(h, ".");
	if (e->nr_claims)
		html_print(
			h,
			" Of %u claims about the mechanism %u hold, %u are in doubt, %u fail and "
			"%u were not run.",
			e->nr_claims, s.nr_claims[VERDICT_HOLDS], s.nr_claims[VERDICT_WEAK],
			s.nr_claims[VERDICT_FAILS], s.nr_claims[VERDICT_NOT_RUN]);
	html_print(h, "</p>\n");
	missed(h, e);
	html_print(h, "</div>\n");
}

void html_experiment(struct html *h, const struct experiment *e)
{
	struct html_group g;

	html_heading(h, 2, e->name, e->name);
	html_print(h, "<p><b>");
	html_text(h, e->results.title);
	html_print(h, "</b></p>\n<p class=\"mut\">");
	html_text(h, e->source);
	html_print(h, "</p>\n");
	if (e->nr_sets) {
		html_print(h, "<p>Changed against the experiment as declared: <code>");
		for (u32 i = 0; i < e->nr_sets; i++) {
			html_text(h, i ? " " : "");
			html_text(h, e->set[i]);
		}
		html_print(h, "</code></p>\n");
	}
	verdict(h, e);
	figures(h, e);
	spreads(h, e);
	claims(h, e);
	predictions(h, e);
	notes(h, e);
	sensitivities(h, e);
	html_heading(h, 3, NULL, "What the simulation says by itself");
	html_group(&g, &e->results, "", NULL); /* the probes are in the claims */
	if (!g.nr)
		return;
	html_answer(h, &g);
	html_comparison(h, &g);
	html_time(h, &g);
	html_locks(h, &g);
	html_series(h, &g);
	html_latency(h, &g);
	html_config(h, &g);
	html_notes(h, &g);
}

/* ---- all of them -------------------------------------------------------------------------------- */

static void overview(struct html *h, const struct html_experiments *x)
{
	html_print(h, "<div class=\"scroll\"><table>\n<tr><th>experiment</th>"
	              "<th class=\"l\">what it asks</th><th>figures within 25&nbsp;%%</th>"
	              "<th>ratios within 25&nbsp;%%</th><th>claims that hold</th></tr>\n");
	for (u32 i = 0; i < x->nr; i++) {
		const struct experiment *e = x->e[i];
		struct score s = {0};

		add_score(&s, e);
		html_print(h, "<tr><td><a href=\"#");
		html_text(h, e->name);
		html_print(h, "\">");
		html_text(h, e->name);
		html_print(h, "</a></td>");
		html_cell(h, "td", "l w", "%s", e->results.title);
		html_cell(h, "td", NULL, "%u of %u", s.nr_hits, s.nr_figures);
		html_cell(h, "td", NULL, "%u of %u", s.nr_ratio_hits, s.nr_ratios);
		html_cell(h, "td", NULL, "%u of %u", s.nr_claims[VERDICT_HOLDS], e->nr_claims);
		html_print(h, "</tr>\n");
	}
	html_print(h, "</table></div>\n");
}

void save_html_experiments(FILE *f, const void *experiments)
{
	static const char title[] = "Published experiments, simulated";
	const struct html_experiments *x = experiments;
	struct html h;

	html_begin(&h, title);
	html_heading(&h, 1, NULL, title);
	html_print(
		&h,
		"<p>Each mail asked something of the memory manager and answered it on a machine "
		"that nobody else has. Here its experiment runs on a simulated one. Every "
		"published "
		"figure stands beside ours, right or wrong.</p>\n");
	overview(&h, x);
	for (u32 i = 0; i < x->nr; i++)
		html_experiment(&h, x->e[i]);
	html_end(&h, f);
}
