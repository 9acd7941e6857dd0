/*
 * The words published and expect: what a run is held against.
 */
#include "load/script.h"

#include <errno.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/sort.h"

#define EXPECTATIONS_MAX 256

/* ---- metrics ---- */

/* real, user, sys and elapsed come first in every table, then the rest by name. */
static int metric_rank(const char *metric)
{
	static const char *const first[] = {"real", "user", "sys", "elapsed"};

	for (int i = 0; i < (int)ARRAY_SIZE(first); i++)
		if (strcmp(metric, first[i]) == 0)
			return i;
	return ARRAY_SIZE(first);
}

static int compare_figures(const void *pa, const void *pb, void *arg)
{
	const struct scenario_figure *a = pa;
	const struct scenario_figure *b = pb;
	int order = (a->variant > b->variant) - (a->variant < b->variant);

	(void)arg;
	if (!order)
		order = metric_rank(a->metric) - metric_rank(b->metric);
	return order ? order : strcmp(a->metric, b->metric);
}

static const char *metric_name(void *arg, size_t i)
{
	const struct scenario *s = arg;

	return s->opt.names->metric_at((u32)i);
}

/* Is @metric one that results can have? The error text, if not, goes to @err. */
static bool metric_is_known(const struct scenario *s, const char *metric, char *err)
{
	size_t n = 0;

	if (!s->opt.names || !s->opt.names->metric_at)
		return true;
	for (const char *name; (name = metric_name((void *)s, n)); n++)
		if (strcmp(name, metric) == 0)
			return true;
	field_unknown_text(err, "metric", metric, metric_name, (void *)s, n);
	return false;
}

static const char *variant_name(void *arg, size_t i)
{
	return ((const struct scenario *)arg)->variant[i].name;
}

/* ---- published ---- */

#define PUBLISHED(member) offsetof(struct published_reading, member)
struct published_reading {
	char *source;
	char *note;
	char *baseline;
	char *fitted;
	char *constant;
};

static const struct field published_fields[] = {
	{"source", FIELD_TEXT, PUBLISHED(source), 0, 0, NULL},
	{"note", FIELD_TEXT, PUBLISHED(note), 0, 0, NULL},
	{"baseline", FIELD_TEXT, PUBLISHED(baseline), 0, 0, NULL},
	{"fitted", FIELD_TEXT, PUBLISHED(fitted), 0, 0, NULL},
	{"constant", FIELD_TEXT, PUBLISHED(constant), 0, 0, NULL},
};

static u32 find_variant(const struct field_table *t, struct scenario *s, const char *key,
                        const char *name)
{
	u32 v;

	if (s->nr_variants == 0 && strcmp(name, "default") != 0)
		field_error(t, key, "declare the variants before their figures");
	if (s->nr_variants == 0)
		script_default_variant(s);
	v = scenario_variant(s, name);
	if (v == s->nr_variants)
		field_unknown(t, key, "variant", name, variant_name, s, s->nr_variants);
	return v;
}

/* dontneed = { user = 6.78, ... }, on top of the stack. */
static void read_figures(struct scenario *s, const struct field_table *t, const char *variant)
{
	struct scenario_published *p = &s->published;
	u32 v = find_variant(t, s, variant, variant);
	struct field_table sub = field_subtable(t, variant);
	const char **metrics;
	u32 n = script_sorted_keys(&sub, &metrics);

	for (u32 i = 0; i < n; i++) {
		struct scenario_figure f = {.variant = v, .metric = (char *)metrics[i]};
		char err[TARGET_ERROR_MAX];

		if (!metric_is_known(s, metrics[i], err))
			field_error(&sub, metrics[i], "%s", err);
		if (lua_getfield(t->L, sub.index, metrics[i]) != LUA_TNUMBER ||
		    !isfinite(lua_tonumber(t->L, -1)) || lua_tonumber(t->L, -1) < 0)
			field_error(&sub, metrics[i],
			            "'%s' must be a number from 0 on (times in seconds)",
			            metrics[i]);
		f.value = lua_tonumber(t->L, -1);
		lua_pop(t->L, 1);
		*keep_push(&s->keep, p->figure, p->nr_figures) = f;
	}
}

/* Which of the figures chose a constant. There is at most one, and it is a published one. */
static void read_fitted(struct scenario *s, const struct field_table *t,
                        const struct published_reading *r)
{
	struct scenario_published *p = &s->published;

	if (r->constant && !r->fitted)
		field_error(t, "constant", "'constant' goes with fitted = \"variant.metric\"");
	if (!r->fitted)
		return;
	p->fitted = r->fitted;
	p->constant = r->constant ? r->constant : s->profile ? s->profile->fitted : NULL;
	for (u32 i = 0; i < p->nr_figures; i++) {
		struct scenario_figure *f = &p->figure[i];
		const char *name = s->variant[f->variant].name;
		size_t len = strlen(name);

		if (strncmp(r->fitted, name, len) == 0 && r->fitted[len] == '.' &&
		    strcmp(r->fitted + len + 1, f->metric) == 0) {
			f->fitted = true;
			return;
		}
	}
	field_error(t, "fitted", "'%.60s' is not a published figure; expected \"variant.metric\"",
	            r->fitted);
}

static int word_published(lua_State *L)
{
	struct scenario *s = script_of(L)->s;
	struct scenario_published *p = &s->published;
	struct field_table t = script_table(L, 1, "published");
	struct published_reading r = {.source = NULL};
	const char **keys;
	u32 n = script_sorted_keys(&t, &keys);

	if (p->source)
		sandbox_error(L, "the published figures are declared already");
	for (size_t i = 0; i < ARRAY_SIZE(published_fields); i++) {
		if (lua_getfield(L, 1, published_fields[i].name) != LUA_TNIL)
			field_read(&t, published_fields[i].name, &published_fields[i], &r);
		lua_pop(L, 1);
	}
	if (!r.source)
		field_error(&t, NULL, "needs source = \"where these figures are published\"");
	p->source = r.source;
	p->note = r.note;
	if (r.baseline)
		p->baseline = find_variant(&t, s, "baseline", r.baseline);
	for (u32 i = 0; i < n; i++) {
		bool is_field = false;

		for (size_t j = 0; j < ARRAY_SIZE(published_fields); j++)
			is_field |= strcmp(keys[i], published_fields[j].name) == 0;
		if (is_field)
			continue;
		lua_getfield(L, 1, keys[i]);
		read_figures(s, &t, keys[i]);
		lua_pop(L, 1);
	}
	sort_stable(p->figure, p->nr_figures, sizeof(*p->figure), compare_figures, NULL);
	read_fitted(s, &t, &r);
	return 0;
}

/* ---- expect ---- */

/* The line on which @text stands, from @line on. */
static int text_line(lua_State *L, const char *text, int line)
{
	const char *p = sandbox_of(L)->text;
	const char *at;
	int found = line;

	for (int i = 1; p && i < line; i++) {
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	at = p ? strstr(p, text) : NULL;
	for (; at && p < at; p++)
		found += *p == '\n';
	return found;
}

static int word_expect(lua_State *L)
{
	struct scenario *s = script_of(L)->s;
	struct field_table t = script_table(L, 1, "expect");
	s64 n = (s64)lua_rawlen(L, 1);

	for (s64 i = 1; i <= n; i++) {
		struct scenario_expectation e;

		if (lua_rawgeti(L, 1, i) != LUA_TSTRING)
			field_error(&t, NULL,
			            "expected strings such as \"lazy.elapsed > "
			            "dontneed.elapsed\"");
		if (s->nr_expectations == EXPECTATIONS_MAX)
			sandbox_error(L, "more than %d expectations", EXPECTATIONS_MAX);
		e.text = keep_strdup(&s->keep, lua_tostring(L, -1));
		e.line = text_line(L, e.text, t.line);
		*keep_push(&s->keep, s->expectation, s->nr_expectations) = e;
		lua_pop(L, 1);
	}
	return 0;
}

/* ---- the end ---- */

struct trial {
	const struct scenario *s;
	char err[TARGET_ERROR_MAX];
};

static bool trial_value(void *arg, u32 variant, const char *metric, double *value)
{
	struct trial *trial = arg;

	(void)variant;
	*value = 1;
	return metric_is_known(trial->s, metric, trial->err);
}

/* Expectations must at least be readable: a slip should not come out after an hour's run. */
void script_finish_results(lua_State *L)
{
	struct scenario *s = script_of(L)->s;

	for (u32 i = 0; i < s->nr_expectations; i++) {
		struct trial trial = {.s = s};
		char why[TARGET_ERROR_MAX];

		if (scenario_expect(s, i, trial_value, &trial, why) >= 0)
			continue;
		sandbox_error_line(L, s->expectation[i].line, "%s", trial.err[0] ? trial.err : why);
	}
}

void script_open_results(lua_State *L)
{
	lua_register(L, "published", word_published);
	lua_register(L, "expect", word_expect);
}
