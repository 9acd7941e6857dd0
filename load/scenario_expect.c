/*
 * Is an expectation met? It is a Lua expression over variant.metric:
 *
 *   lazy.elapsed > 1.3 * dontneed.elapsed        each.oom_kills == 0
 *
 * Variants whose names are no Lua names are spelt with _ for what does not fit. `each` stands for
 * every variant in turn. Values are numbers; times are in seconds.
 */
#include "load/scenario.h"

#include <ctype.h>
#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

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

/* The expression alone: it sees variants and math, nothing else. */
static void push_globals(lua_State *L)
{
	lua_newtable(L);
	lua_getglobal(L, "math");
	lua_setfield(L, -2, "math");
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
