/*
 * What was varied: a picture per metric against the axis, with confidence bands. See html.h.
 *
 * A point is text, "vm.swappiness=10 machine.ram=3G". The name with the most values is the axis; what else
 * was varied makes lines of its own, beside variants and targets. Values that are numbers with the same
 * unit make a scale, logarithmic if they span more than a factor of 20; others stand at equal distances.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/html.h"
#include "report/text.h"

#define VALUES_MAX 256
#define LINES_MAX 16

struct sweep {
	const struct results *r;
	char axis[128];
	u32 nr_values;
	char *value[VALUES_MAX];
	double x[VALUES_MAX];
	bool numeric;
	bool log;
	char unit[16];
	u32 nr_lines;
	char *line[LINES_MAX]; /* "lazy", "lazy loops=2", "lazy host" */
};

/* "name=value" number @i of a point, to @name and @value. */
static bool setting_at(const char *point, u32 i, char *name, char *value, size_t n)
{
	const char *equals;
	size_t len;

	while (i-- && *point) {
		point += strcspn(point, " ");
		point += strspn(point, " ");
	}
	len = strcspn(point, " ");
	equals = memchr(point, '=', len);
	if (!equals)
		return false;
	snprintf(name, n, "%.*s", (int)(equals - point), point);
	snprintf(value, n, "%.*s", (int)(point + len - equals - 1), equals + 1);
	return true;
}

static bool value_of(const char *point, const char *axis, char *value, size_t n)
{
	char name[128];

	for (u32 i = 0; setting_at(point, i, name, value, n); i++)
		if (strcmp(name, axis) == 0)
			return true;
	return false;
}

static u32 index_of(char *const *list, u32 nr, const char *text)
{
	u32 i = 0;

	while (i < nr && strcmp(list[i], text) != 0)
		i++;
	return i;
}

/* What a column is apart from its place on the axis. */
static void line_of(const struct sweep *s, const struct result_column *c, char *buf, size_t n)
{
	bool targets = false;
	bool variants = false;
	char name[128];
	char value[128];
	size_t len;

	for (u32 i = 0; i < s->r->nr_columns; i++) {
		targets = targets || strcmp(s->r->column[i].target, c->target) != 0;
		variants = variants || strcmp(s->r->column[i].variant, c->variant) != 0;
	}
	snprintf(buf, n, "%s", variants ? c->variant : "");
	for (u32 i = 0; setting_at(c->point, i, name, value, sizeof(name)); i++) {
		len = strlen(buf);
		if (strcmp(name, s->axis) != 0)
			snprintf(buf + len, n - len, "%s%s=%s", len ? " " : "", name, value);
	}
	len = strlen(buf);
	if (targets)
		snprintf(buf + len, n - len, "%s%s", len ? " " : "", c->target);
}

/* A number and its unit as the user wrote them: "3G" is 3, "G"; G and M are not the same scale. */
static double number_of(const char *text, char *unit, size_t n)
{
	static const char *const size[] = {"B", "K", "M", "G", "T"};
	char *end;
	double v = strtod(text, &end);

	snprintf(unit, n, "%s", end);
	if (end == text)
		return NAN;
	for (size_t i = 0; i < ARRAY_SIZE(size); i++) {
		if (strcmp(end, size[i]) == 0) {
			snprintf(unit, n, "GB");
			return ldexp(v, 10 * (int)i - 30);
		}
	}
	return v;
}

static void scale_axis(struct sweep *s)
{
	double lo = INFINITY;
	double hi = -INFINITY;

	s->numeric = true;
	for (u32 i = 0; i < s->nr_values; i++) {
		char unit[16];

		s->x[i] = number_of(s->value[i], unit, sizeof(unit));
		if (isnan(s->x[i]) || (i && strcmp(unit, s->unit) != 0))
			s->numeric = false;
		snprintf(s->unit, sizeof(s->unit), "%s", unit);
		lo = fmin(lo, s->x[i]);
		hi = fmax(hi, s->x[i]);
	}
	if (strcmp(s->unit, "GB") == 0 && hi < 1) {
		snprintf(s->unit, sizeof(s->unit), "MB");
		for (u32 i = 0; i < s->nr_values; i++)
			s->x[i] *= 1024;
	}
	if (s->unit[0] && strlen(s->unit) > 3)
		s->numeric = false;
	for (u32 i = 0; !s->numeric && i < s->nr_values; i++)
		s->x[i] = i;
	s->log = s->numeric && lo > 0 && hi > 20 * lo;
}

static u32 nr_values_of(const struct results *r, const char *axis)
{
	char *seen[VALUES_MAX];
	u32 nr = 0;
	char value[128];

	for (u32 i = 0; i < r->nr_columns; i++)
		if (value_of(r->column[i].point, axis, value, sizeof(value)) && nr < VALUES_MAX &&
		    index_of(seen, nr, value) == nr)
			seen[nr++] = report_strdup(value);
	for (u32 i = 0; i < nr; i++)
		free(seen[i]);
	return nr;
}

static void find_axis(struct sweep *s)
{
	char name[128];
	char value[128];
	u32 most = 0;

	for (u32 i = 0; setting_at(s->r->column[0].point, i, name, value, sizeof(name)); i++) {
		u32 nr = nr_values_of(s->r, name);

		if (nr > most) {
			most = nr;
			snprintf(s->axis, sizeof(s->axis), "%s", name);
		}
	}
}

static void sweep_init(struct sweep *s, const struct results *r)
{
	char text[256];

	*s = (struct sweep){.r = r};
	find_axis(s);
	for (u32 i = 0; i < r->nr_columns; i++) {
		if (value_of(r->column[i].point, s->axis, text, sizeof(text)) &&
		    s->nr_values < VALUES_MAX &&
		    index_of(s->value, s->nr_values, text) == s->nr_values)
			s->value[s->nr_values++] = report_strdup(text);
		line_of(s, &r->column[i], text, sizeof(text));
		if (s->nr_lines < LINES_MAX && index_of(s->line, s->nr_lines, text) == s->nr_lines)
			s->line[s->nr_lines++] = report_strdup(text);
	}
	scale_axis(s);
}

static void sweep_free(struct sweep *s)
{
	for (u32 i = 0; i < s->nr_values; i++)
		free(s->value[i]);
	for (u32 i = 0; i < s->nr_lines; i++)
		free(s->line[i]);
}

static const struct result_column *column_at(const struct sweep *s, u32 line, u32 value)
{
	for (u32 i = 0; i < s->r->nr_columns; i++) {
		const struct result_column *c = &s->r->column[i];
		char text[256];

		if (!value_of(c->point, s->axis, text, sizeof(text)) ||
		    strcmp(text, s->value[value]) != 0)
			continue;
		line_of(s, c, text, sizeof(text));
		if (strcmp(text, s->line[line]) == 0)
			return c;
	}
	return NULL;
}

/* ---- pictures ----------------------------------------------------------------------------------- */

static struct chart *new_chart(struct html *h, const struct sweep *s, const char *title,
                               const char *y_label)
{
	char x_label[160];
	struct chart *c;

	snprintf(x_label, sizeof(x_label), "%s%s%s%s", s->axis, s->numeric && *s->unit ? " (" : "",
	         s->numeric ? s->unit : "", s->numeric && *s->unit ? ")" : "");
	c = chart_new(&h->charts, title, x_label, y_label);
	c->log_x = s->log;
	c->from_zero = true;
	if (!s->numeric) {
		char *tics = NULL;
		size_t len = 0;
		FILE *f = open_memstream(&tics, &len);

		for (u32 i = 0; f && i < s->nr_values; i++) {
			fprintf(f, "%s'", i ? ", " : "");
			for (const char *p = s->value[i]; *p; p++)
				fputc((unsigned char)*p < ' ' || strchr("'\"`\\", *p) ? ' ' : *p,
				      f);
			fprintf(f, "' %u", i);
		}
		if (f)
			fclose(f);
		c->x_tics = tics;
	}
	return c;
}

static int by_x(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

/* Fills in one line; @base: as ratios to that line. */
static void sweep_line(struct chart *c, const struct sweep *s, u32 line, const char *metric,
                       const u32 *base)
{
	double point[VALUES_MAX][4];
	struct chart_line *l;
	u32 n = 0;

	for (u32 v = 0; v < s->nr_values; v++) {
		const struct result_column *col = column_at(s, line, v);
		const struct result_column *b = base ? column_at(s, *base, v) : NULL;
		struct comparison cmp;
		struct summary sum;
		double half = 0;

		if (!col || (base && !b))
			continue;
		if (base) {
			column_compare(s->r, b, col, metric, &cmp);
			if (!cmp.n || !(cmp.ratio > 0))
				continue;
			memcpy(point[n++],
			       (double[]){s->x[v], cmp.ratio, cmp.ratio_lo, cmp.ratio_hi},
			       sizeof(point[0]));
			continue;
		}
		column_summary(s->r, col, metric, &sum);
		if (!sum.n)
			continue;
		if (sum.n > 1)
			half = stat_t95(sum.n - 1) * sum.std / sqrt(sum.n);
		memcpy(point[n++], (double[]){s->x[v], sum.mean, sum.mean - half, sum.mean + half},
		       sizeof(point[0]));
	}
	if (!n)
		return;
	qsort(point, n, sizeof(point[0]), by_x);
	l = chart_line(c, *s->line[line] ? s->line[line] : NULL, 1 + line % CHART_COLOURS, n);
	if (!l)
		return;
	l->style = CHART_POINTS;
	l->dash = line / CHART_COLOURS;
	if (s->r->nr_seeds > 1)
		chart_band(l);
	for (u32 i = 0; i < n; i++) {
		l->x[i] = point[i][0];
		l->y[i] = point[i][1];
		if (l->lo) {
			l->lo[i] = point[i][2];
			l->hi[i] = point[i][3];
		}
	}
}

static void sweep_chart(struct html *h, const struct sweep *s, const char *metric,
                        const char *title, const char *unit)
{
	struct chart *c = new_chart(h, s, title, unit);

	for (u32 i = 0; i < s->nr_lines; i++)
		sweep_line(c, s, i, metric, NULL);
	html_chart(h, c);
}

static void ratio_chart(struct html *h, const struct sweep *s, const char *metric)
{
	char title[256];
	struct chart *c;
	u32 base = 0;

	snprintf(title, sizeof(title), "%s, ratio to %s", metric, s->line[0]);
	c = new_chart(h, s, title, "ratio");
	c->from_zero = false;
	for (u32 i = 0; i < s->nr_lines; i++)
		sweep_line(c, s, i, metric, &base);
	html_chart(h, c);
}

static bool ever(const struct results *r, const char *metric)
{
	for (u32 i = 0; i < r->nr_columns; i++) {
		struct summary s;

		column_summary(r, &r->column[i], metric, &s);
		if (s.n && s.mean != 0)
			return true;
	}
	return false;
}

/* ---- the table ---------------------------------------------------------------------------------- */

static void sweep_table(struct html *h, const struct sweep *s)
{
	html_print(h, "<div class=\"scroll\"><table>\n<tr>");
	html_cell(h, "th", NULL, "%s", s->axis);
	for (u32 i = 0; i < s->nr_lines; i++)
		html_cell(h, "th", NULL, "%s%selapsed (s)", s->line[i], *s->line[i] ? ": " : "");
	html_print(h, "</tr>\n");
	for (u32 v = 0; v < s->nr_values; v++) {
		html_print(h, "<tr>");
		html_cell(h, "td", NULL, "%s", s->value[v]);
		for (u32 i = 0; i < s->nr_lines; i++) {
			const struct result_column *c = column_at(s, i, v);
			char text[FORMAT_MAX];
			struct summary sum = {0};

			if (c)
				column_summary(s->r, c, "elapsed", &sum);
			if (!sum.n)
				html_cell(h, "td", "bad", "%s", c ? c->record[0].error : "-");
			else if (sum.n == 1)
				html_cell(h, "td", NULL, "%s", text_seconds(text, sum.mean));
			else
				html_cell(h, "td", NULL, "%s \xc2\xb1%.1f%%",
				          text_seconds(text, sum.mean), summary_std_percent(&sum));
		}
		html_print(h, "</tr>\n");
	}
	html_print(h, "</table></div>\n");
}

/* ---- the answer --------------------------------------------------------------------------------- */

/* One line alone: from where to where. */
static void say_range(struct html *h, const struct sweep *s)
{
	double lo = INFINITY;
	double hi = -INFINITY;
	u32 at_lo = 0;
	u32 at_hi = 0;
	char text[FORMAT_MAX];

	for (u32 v = 0; v < s->nr_values; v++) {
		const struct result_column *c = column_at(s, 0, v);
		struct summary sum = {0};

		if (c)
			column_summary(s->r, c, "elapsed", &sum);
		if (!sum.n)
			continue;
		if (sum.mean < lo) {
			lo = sum.mean;
			at_lo = v;
		}
		if (sum.mean > hi) {
			hi = sum.mean;
			at_hi = v;
		}
	}
	if (!isfinite(lo)) {
		html_print(h, "<p>No run ended.</p>\n");
		return;
	}
	html_print(h, "<p>It takes from <b>%s</b> (", format_ns(text, lo * 1e9));
	html_text(h, s->axis);
	html_print(h, " = ");
	html_text(h, s->value[at_lo]);
	html_print(h, ") to <b>%s</b> (", format_ns(text, hi * 1e9));
	html_text(h, s->value[at_hi]);
	html_print(h, ").</p>\n");
}

/* A line against the first: where it is better, where worse, where nothing can be told. */
static void say_line(struct html *h, const struct sweep *s, u32 line)
{
	double lo = INFINITY;
	double hi = 0;
	u32 nr[3] = {0}; /* faster, no difference, slower */
	u32 nr_unjudged = 0;

	for (u32 v = 0; v < s->nr_values; v++) {
		const struct result_column *c = column_at(s, line, v);
		const struct result_column *b = column_at(s, 0, v);
		struct comparison cmp;

		if (!c || !b)
			continue;
		column_compare(s->r, b, c, "elapsed", &cmp);
		if (!cmp.n || !(cmp.ratio > 0))
			continue;
		lo = fmin(lo, cmp.ratio);
		hi = fmax(hi, cmp.ratio);
		if (!cmp.judged)
			nr_unjudged += 1;
		nr[!cmp.significant ? 1 : cmp.ratio < 1 ? 0 : 2] += 1;
	}
	if (!isfinite(lo))
		return;
	html_print(h, "<p><b>");
	html_text(h, s->line[line]);
	html_print(h, "</b> takes %.2f to %.2f times as long as <b>", lo, hi);
	html_text(h, s->line[0]);
	if (nr_unjudged)
		html_print(h,
		           "</b>; with %u pair%s at each point no difference can be called "
		           "significant.</p>\n",
		           s->r->nr_seeds, s->r->nr_seeds == 1 ? "" : "s");
	else
		html_print(h,
		           "</b>: faster at %u point%s, slower at %u, and at %u no difference can "
		           "be told (p &lt; 0.05, %u pairs at each).</p>\n",
		           nr[0], nr[0] == 1 ? "" : "s", nr[2], nr[1], s->r->nr_seeds);
}

void html_sweep_answer(struct html *h, const struct results *r)
{
	struct sweep s;

	sweep_init(&s, r);
	if (s.nr_lines == 1)
		say_range(h, &s);
	for (u32 i = 1; i < s.nr_lines; i++)
		say_line(h, &s, i);
	sweep_free(&s);
}

bool html_is_sweep(const struct results *r)
{
	for (u32 i = 1; i < r->nr_columns; i++)
		if (strcmp(r->column[i].point, r->column[0].point) != 0 && *r->column[0].point)
			return true;
	return false;
}

void html_sweep(struct html *h, const struct results *r)
{
	static const char *const counter[] = {"pgmajfault", "pswpin",        "pswpout",
	                                      "allocstall", "pgscan_direct", "pgscan_kswapd"};
	struct sweep s;

	sweep_init(&s, r);
	html_heading(h, 3, NULL, "Against what was varied");
	if (r->nr_seeds > 1)
		html_print(h,
		           "<p class=\"mut small\">Points are means of %u seeds, bands their 95 %% "
		           "confidence intervals.</p>\n",
		           r->nr_seeds);
	html_charts_begin(h);
	sweep_chart(h, &s, "elapsed", "elapsed", "seconds");
	if (s.nr_lines > 1 && r->nr_seeds > 1)
		ratio_chart(h, &s, "elapsed");
	sweep_chart(h, &s, "sys", "system time", "seconds");
	sweep_chart(h, &s, "user", "user time", "seconds");
	for (size_t i = 0; i < ARRAY_SIZE(counter); i++)
		if (ever(r, counter[i]))
			sweep_chart(h, &s, counter[i], counter[i], "events");
	html_charts_end(h);
	sweep_table(h, &s);
	sweep_free(&s);
}
