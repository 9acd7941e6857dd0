/*
 * Is an expectation met? It is a Lua expression over variant.metric:
 *
 *   lazy.elapsed > 1.3 * dontneed.elapsed        each.oom_kills == 0
 *
 *   near(lazy.pgfault, 1000, "5%")               within 5 % of the second
 *   between(ratio(lazy.sys, dontneed.sys), 1.2, 2)
 *
 * Variants whose names are no Lua names are spelt with _ for what does not fit. `each` stands for
 * every variant in turn. Values are numbers; times are in seconds.
 */
#include "load/scenario.h"

#include <ctype.h>
#include <errno.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "load/quantity.h"
#include "load/sandbox.h"

#define EXPECT_STEPS 1000000

struct expectation {
	const struct scenario *s;
	scenario_metric_fn *value;
	void *arg;
	u32 each;       /* what each means at the moment */
	bool used_each; /* so there is more than one moment */
	char *why;
	size_t len;
};

/* "lazy.pswpin = 0", once. */
static void note_value(struct expectation *e, const char *variant, const char *metric, double value)
{
	char text[160];

	snprintf(text, sizeof(text), "%.60s.%.60s = %.6g", variant, metric, value);
	if (strstr(e->why, text) || e->len + strlen(text) + 3 > TARGET_ERROR_MAX)
		return;
	e->len += (size_t)sprintf(e->why + e->len, "%s%s", e->len ? ", " : "", text);
}

/* __index of a variant: (table, metric). Upvalue 1 is its number, or -1 for each. */
static int metric_index(lua_State *L)
{
	struct expectation *e = sandbox_of(L)->user;
	s64 variant = lua_tointeger(L, lua_upvalueindex(1));
	const char *metric = luaL_checkstring(L, 2);
	double value = 0;

	if (variant < 0) {
		e->used_each = true;
		variant = e->each;
	}
	if (!e->value(e->arg, (u32)variant, metric, &value))
		sandbox_error(L, "there is no metric '%.60s'", metric);
	note_value(e, e->s->variant[variant].name, metric, value);
	lua_pushnumber(L, value);
	return 1;
}

static bool same_name(const char *variant, const char *word)
{
	for (; *variant && *word; variant++, word++)
		if (*variant != *word && !(*word == '_' && !isalnum((u8)*variant)))
			return false;
	return *variant == *word;
}

static const char *variant_name(void *arg, size_t i)
{
	const struct scenario *s = arg;

	return i < s->nr_variants ? s->variant[i].name : "each";
}

/* __index of the globals: (table, variant). */
static int variant_index(lua_State *L)
{
	struct expectation *e = sandbox_of(L)->user;
	const struct scenario *s = e->s;
	const char *name = luaL_checkstring(L, 2);
	char text[TARGET_ERROR_MAX];
	u32 v = 0;

	while (v < s->nr_variants && !same_name(s->variant[v].name, name))
		v++;
	if (v == s->nr_variants && strcmp(name, "each") != 0) {
		field_unknown_text(text, "variant", name, variant_name, (void *)s,
		                   s->nr_variants + 1);
		sandbox_error(L, "%s", text);
	}
	lua_newtable(L);
	lua_newtable(L);
	lua_pushinteger(L, v == s->nr_variants ? -1 : (lua_Integer)v);
	lua_pushcclosure(L, metric_index, 1);
	lua_setfield(L, -2, "__index");
	lua_setmetatable(L, -2);
	return 1;
}

/* 0.05 or "5%". */
static double tolerance_arg(lua_State *L, int index)
{
	char err[TARGET_ERROR_MAX];
	u32 bp;

	if (lua_type(L, index) != LUA_TSTRING)
		return luaL_checknumber(L, index);
	if (quantity_percent(lua_tostring(L, index), &bp, err))
		sandbox_error(L, "near: %s", err);
	return bp / 1e4;
}

/* near(a, b, tolerance): whether a differs from b by at most that part of b. */
static int near_fn(lua_State *L)
{
	double a = luaL_checknumber(L, 1);
	double b = luaL_checknumber(L, 2);
	double tolerance = tolerance_arg(L, 3);

	if (tolerance < 0)
		sandbox_error(L, "near: a tolerance is not negative");
	lua_pushboolean(L, fabs(a - b) <= tolerance * fabs(b));
	return 1;
}

/* between(x, lo, hi), both included. */
static int between_fn(lua_State *L)
{
	double x = luaL_checknumber(L, 1);
	double lo = luaL_checknumber(L, 2);
	double hi = luaL_checknumber(L, 3);

	if (lo > hi)
		sandbox_error(L, "between: %f is above %f", lo, hi);
	lua_pushboolean(L, x >= lo && x <= hi);
	return 1;
}

/* ratio(a, b): a / b, but 1 where both are 0; something over nothing is beyond every bound. */
static int ratio_fn(lua_State *L)
{
	double a = luaL_checknumber(L, 1);
	double b = luaL_checknumber(L, 2);

	lua_pushnumber(L, b != 0 ? a / b : a == 0 ? 1 : copysign(HUGE_VAL, a));
	return 1;
}

/* The expression alone: it sees variants, math and the functions above, nothing else. */
static void push_globals(lua_State *L)
{
	lua_newtable(L);
	lua_getglobal(L, "math");
	lua_setfield(L, -2, "math");
	lua_pushcfunction(L, near_fn);
	lua_setfield(L, -2, "near");
	lua_pushcfunction(L, between_fn);
	lua_setfield(L, -2, "between");
	lua_pushcfunction(L, ratio_fn);
	lua_setfield(L, -2, "ratio");
	lua_newtable(L);
	lua_pushcfunction(L, variant_index);
	lua_setfield(L, -2, "__index");
	lua_setmetatable(L, -2);
	lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}

/* "expectation 'x > y': text", without the place in a chunk that nobody has seen. */
static int explain(const char *expression, const char *text, char *why)
{
	static const char chunk[] = "expect:";

	if (strncmp(text, chunk, strlen(chunk)) == 0) {
		text += strlen(chunk);
		text += strspn(text, "0123456789: ");
	}
	snprintf(why, TARGET_ERROR_MAX, "expectation '%.150s': %.250s", expression, text);
	return -EINVAL;
}

int scenario_expect(const struct scenario *s, u32 i, scenario_metric_fn *value, void *arg,
                    char *why)
{
	struct expectation e = {.s = s, .value = value, .arg = arg, .why = why};
	const char *expression = s->expectation[i].text;
	struct sandbox *sb =
		sandbox_new(&(struct sandbox_options){.steps = EXPECT_STEPS, .user = &e});
	char text[TARGET_ERROR_MAX];
	int result = 1;

	why[0] = '\0';
	if (!sb)
		return explain(expression, "out of memory", why);
	push_globals(sb->L);
	lua_pushfstring(sb->L, "return %s", expression);
	size_t len;
	const char *code = lua_tolstring(sb->L, -1, &len);

	if (sandbox_compile(sb, "expect", code, len, text)) {
		result = explain(expression, text, why);
		goto out;
	}
	do {
		lua_pushvalue(sb->L, -1);
		if (sandbox_call(sb, 0, 1, text)) {
			result = explain(expression, text, why);
			goto out;
		}
		if (lua_type(sb->L, -1) != LUA_TBOOLEAN) {
			result = explain(expression, "expected a comparison", why);
			goto out;
		}
		if (!lua_toboolean(sb->L, -1))
			result = 0;
		lua_pop(sb->L, 1);
	} while (e.used_each && ++e.each < s->nr_variants);
out:
	sandbox_free(sb);
	return result;
}
