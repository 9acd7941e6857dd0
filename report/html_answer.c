/*
 * What was asked, and the answer in a sentence with its confidence. See html.h.
 */
#include <math.h>
#include <string.h>

#include "report/format.h"
#include "report/html.h"

/* "82 % longer", "25 % less time", "3.1 times as long". */
static void put_change(struct html *h, double ratio)
{
	if (ratio >= 3)
		html_print(h, "%.1f times as long as", ratio);
	else if (ratio >= 1)
		html_print(h, "%.*f %% longer than", ratio < 1.1 ? 1 : 0, (ratio - 1) * 100);
	else
		html_print(h, "%.*f %% less time than", ratio > 0.9 ? 1 : 0, (1 - ratio) * 100);
}

/* How sure that is. */
static void put_confidence(struct html *h, const struct comparison *c)
{
	if (c->n < 2) {
		html_print(h, " (one run of each: nothing is known about chance)");
		return;
	}
	html_print(h, " (ratio %.3f, 95 %% interval %.3f to %.3f, %u pairs, p = %.2g", c->ratio,
	           c->ratio_lo, c->ratio_hi, c->n, c->p);
	if (!c->judged)
		html_print(
			h,
			"; too few pairs to call a difference significant: the smallest possible "
			"p is %.2g",
			sign_flip_p_min(c->n));
	html_print(h, ")");
}

static void put_sentence(struct html *h, const struct html_group *g, u32 i)
{
	struct comparison c;

	column_compare(g->r, g->column[0], g->column[i], "elapsed", &c);
	html_print(h, "<p>");
	if (!c.n || !(c.ratio > 0)) {
		html_print(h, "<b>");
		html_text(h, g->label[i]);
		html_print(h, "</b> and <b>");
		html_text(h, g->label[0]);
		html_print(
			h,
			"</b> cannot be compared: there is no pair of runs that both ended.</p>\n");
		return;
	}
	if (c.ratio == 1 && c.ratio_lo == 1 && c.ratio_hi == 1) {
		html_print(h, "<b>");
		html_text(h, g->label[i]);
		html_print(h, "</b> takes exactly as long as <b>");
	} else if (c.judged && !c.significant) {
		html_print(h, "No difference can be told between <b>");
		html_text(h, g->label[i]);
		html_print(h, "</b> and <b>");
	} else {
		html_print(h, "<b>");
		html_text(h, g->label[i]);
		html_print(h, "</b> takes <b class=\"%s\">",
		           !c.significant ? ""
		           : c.ratio > 1  ? "bad"
		                          : "good");
		put_change(h, c.ratio);
		html_print(h, "</b> <b>");
	}
	html_text(h, g->label[0]);
	html_print(h, "</b>");
	put_confidence(h, &c);
	html_print(h, ".</p>\n");
}

static void put_machine(struct html *h, const struct html_group *g)
{
	const struct result_column *c = g->column[0];
	const struct run_record *run = &c->record[0];
	const char *ram = config_get(&c->config, "machine.ram");

	html_print(h, "<p class=\"mut\">");
	html_text(h, g->r->scenario);
	html_print(h, ": profile ");
	html_text(h, run->machine);
	html_print(h, ", %u CPU%s%s", run->nr_cpus, run->nr_cpus == 1 ? "" : "s", ram ? ", " : "");
	html_text(h, ram ? ram : "");
	html_print(h, ", kernel ");
	html_text(h, run->kernel);
	html_print(h, ", ");
	html_seeds(h, g->r);
	html_print(h, ".</p>\n");
}

/* With a single column: what it took. */
static void put_times(struct html *h, const struct html_group *g)
{
	struct run_record mean;
	char text[FORMAT_MAX];

	if (!column_mean(g->r, g->column[0], &mean)) {
		html_print(h, "<p>No run ended: ");
		html_text(h, g->column[0]->record[0].error);
		html_print(h, "</p>\n");
		return;
	}
	html_print(h, "<p>It took <b>%s</b>", format_ns(text, (double)mean.elapsed_ns));
	html_print(h, ": %s of the tasks' own time", format_ns(text, (double)mean.user_ns));
	html_print(h, " and %s in the kernel.</p>\n", format_ns(text, (double)mean.sys_ns));
	record_free(&mean);
}

static void put_pressure(struct html *h, const struct html_group *g)
{
	bool any = false;

	for (u32 i = 0; i < g->nr; i++) {
		const struct run_record *r = &g->column[i]->record[0];
		const struct record_series *s = record_series(r, "memory stall some");

		if (!s || r->nr_points < 2 || !s->v[r->nr_points - 1])
			continue;
		html_print(h, any ? ", "
		                  : "<p class=\"mut\">Share of the time in which some task was "
		                    "stalled for want of memory: ");
		any = true;
		if (g->nr > 1) {
			html_text(h, g->label[i]);
			html_print(h, " ");
		}
		html_print(h, "%.0f %%",
		           100.0 * (double)s->v[r->nr_points - 1] /
		                   (double)r->time_ns[r->nr_points - 1]);
	}
	if (any)
		html_print(h, ".</p>\n");
}

void html_answer(struct html *h, const struct html_group *g)
{
	put_machine(h, g);
	html_print(h, "<div class=\"answer\">\n");
	if (html_is_sweep(g->r)) {
		html_sweep_answer(h, g->r);
	} else if (g->nr == 1) {
		put_times(h, g);
	} else {
		for (u32 i = 1; i < g->nr; i++)
			put_sentence(h, g, i);
	}
	put_pressure(h, g);
	html_print(h, "</div>\n");
}
