/*
 * A page for what a command ran. See html.h.
 */
#include <string.h>

#include "report/heatmap.h"
#include "report/html.h"

void html_group(struct html_group *g, const struct results *r, const char *point,
                const char *target)
{
	*g = (struct html_group){.r = r};
	for (u32 i = 0; i < r->nr_columns; i++) {
		const struct result_column *c = &r->column[i];

		if ((point && strcmp(point, c->point) != 0) ||
		    (target && strcmp(target, c->target) != 0))
			continue;
		if (g->nr == HTML_GROUP_MAX) {
			g->nr_left_out += 1;
			continue;
		}
		g->column[g->nr++] = c;
	}
	for (u32 i = 0; i < g->nr; i++)
		column_label_among(g->column, g->nr, g->column[i], g->label[i],
		                   sizeof(g->label[i]));
	if (g->nr == 1 && !*g->label[0])
		snprintf(g->label[0], sizeof(g->label[0]), "%s",
		         *g->column[0]->variant ? g->column[0]->variant : "this run");
}

/* The sections after the answer. */
static void details(struct html *h, const struct html_group *g)
{
	html_comparison(h, g);
	html_time(h, g);
	html_locks(h, g);
	html_series(h, g);
	html_latency(h, g);
	html_heatmap(h, g);
	html_config(h, g);
	html_notes(h, g);
}

void html_results(struct html *h, const struct results *r)
{
	struct html_group g;

	/* Few columns stand beside each other; of many points, the first is shown in detail. */
	html_group(&g, r, r->nr_columns > 8 && html_is_sweep(r) ? r->column[0].point : NULL, NULL);
	html_answer(h, &g);
	if (html_is_sweep(r)) {
		html_sweep(h, r);
		if (g.nr < r->nr_columns) {
			html_print(h, "<p>What follows is of the first point: <code>");
			html_text(h, g.column[0]->point);
			html_print(h, "</code></p>\n");
		}
	}
	details(h, &g);
}

void save_html(FILE *f, const void *results)
{
	const struct results *r = results;
	struct html h;

	html_begin(&h, r->title);
	html_heading(&h, 1, NULL, r->title);
	html_results(&h, r);
	html_end(&h, f);
}

/* ---- two results -------------------------------------------------------------------------------- */

/* A and B as two columns of one result, which borrows from both. */
static void pair_section(struct html *h, const struct html_pair *p, const struct result_column *a,
                         const struct result_column *b)
{
	char name[2][2] = {"A", "B"};
	char heading[256];
	struct result_column column[2] = {*a, *b};
	struct results r = *p->a;
	struct html_group g;

	column[0].variant = name[0];
	column[1].variant = name[1];
	r.nr_columns = 2;
	r.column = column;
	snprintf(heading, sizeof(heading), "%s%s%s on %s", *b->variant ? b->variant : "run",
	         *b->point ? ", " : "", b->point, b->target);
	html_heading(h, 2, NULL, heading);
	html_group(&g, &r, NULL, NULL);
	html_answer(h, &g);
	details(h, &g);
}

void save_html_pair(FILE *f, const void *pair)
{
	const struct html_pair *p = pair;
	struct html h;

	html_begin(&h, p->b->title);
	html_heading(&h, 1, NULL, p->b->title);
	html_print(&h, "<p>A is <code>");
	html_text(&h, p->name_a);
	html_print(&h, "</code>, commit ");
	html_text(&h, p->a->commit ? p->a->commit : "unknown");
	html_print(&h, "; B is <code>");
	html_text(&h, p->name_b);
	html_print(&h, "</code>, commit ");
	html_text(&h, p->b->commit ? p->b->commit : "unknown");
	html_print(&h, ". Changes are B's against A.</p>\n");
	for (u32 i = 0; i < p->b->nr_columns; i++) {
		const struct result_column *b = &p->b->column[i];
		const struct result_column *a = results_find(p->a, b->variant, b->point, b->target);

		if (a)
			pair_section(&h, p, a, b);
	}
	html_end(&h, f);
}
