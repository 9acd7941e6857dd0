/*
 * The sandbox's string library: Lua's own functions, but pattern matching on our matcher, which
 * has a budget (pattern.h), and string.format without addresses.
 *
 * find, match, gmatch and gsub follow the Lua 5.4 manual; tests compare them with the originals.
 */
#include "load/sandbox_lib.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "load/pattern.h"

/* ---- patterns ---- */

static void begin(lua_State *L, struct pattern *m, const char *s, size_t len, const char *p,
                  size_t plen)
{
	struct sandbox *sb = sandbox_of(L);

	sandbox_charge(L, 1);
	pattern_init(m, s, len, p, plen, sb->steps_max - sb->steps);
}

/* One match at @s; what it cost is charged at once. */
static const char *match_at(lua_State *L, struct pattern *m, const char *s, const char *p)
{
	u64 budget = m->budget;
	const char *end = pattern_match(m, s, p);

	sandbox_of(L)->steps += budget - m->budget;
	if (m->exhausted)
		sandbox_limit(L,
		              "too long: matching pattern '%.40s' takes more than %lu million "
		              "steps",
		              p, sandbox_of(L)->steps_max / 1000000);
	if (m->error)
		sandbox_error(L, "%s", m->error);
	return end;
}

/* Push capture @i of the match [@s, @end); the whole match if there are no captures. */
static void push_capture(lua_State *L, const struct pattern *m, int i, const char *s,
                         const char *end)
{
	if (i >= m->nr_captures) {
		if (i != 0)
			sandbox_error(L, "invalid capture index %%%d", i + 1);
		lua_pushlstring(L, s, (size_t)(end - s));
	} else if (m->capture[i].len == PATTERN_CAPTURE_POSITION) {
		lua_pushinteger(L, m->capture[i].start - m->src + 1);
	} else if (m->capture[i].len == PATTERN_CAPTURE_OPEN) {
		sandbox_error(L, "unfinished capture");
	} else {
		lua_pushlstring(L, m->capture[i].start, (size_t)m->capture[i].len);
	}
}

/* Push all captures; @whole: the whole match if there are none. Returns how many. */
static int push_captures(lua_State *L, const struct pattern *m, const char *s, const char *end,
                         bool whole)
{
	int n = m->nr_captures == 0 && whole ? 1 : m->nr_captures;

	luaL_checkstack(L, n, "too many captures");
	for (int i = 0; i < n; i++)
		push_capture(L, m, i, s, end);
	return n;
}

/* Where a search that was asked to begin at @init begins: an offset, possibly beyond @len. */
static size_t start_offset(lua_Integer init, size_t len)
{
	if (init > 0)
		return (size_t)init - 1;
	if (init == 0 || init < -(lua_Integer)len)
		return 0;
	return len + (size_t)init;
}

static bool is_plain(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] && strchr("^$*+?.([%-", p[i]))
			return false;
	return true;
}

static int find_or_match(lua_State *L, bool find)
{
	size_t len;
	size_t plen;
	const char *s = luaL_checklstring(L, 1, &len);
	const char *p = luaL_checklstring(L, 2, &plen);
	size_t init = start_offset(luaL_optinteger(L, 3, 1), len);
	struct pattern m;

	if (init > len) {
		lua_pushnil(L);
		return 1;
	}
	if (find && (lua_toboolean(L, 4) || is_plain(p, plen))) {
		const char *at = memmem(s + init, len - init, p, plen);

		if (!at) {
			lua_pushnil(L);
			return 1;
		}
		lua_pushinteger(L, at - s + 1);
		lua_pushinteger(L, at - s + (lua_Integer)plen);
		return 2;
	}

	bool anchored = plen > 0 && *p == '^';

	begin(L, &m, s, len, p, plen);
	p += anchored;
	for (const char *at = s + init;; at++) {
		const char *end = match_at(L, &m, at, p);

		if (end && find) {
			lua_pushinteger(L, at - s + 1);
			lua_pushinteger(L, end - s);
			return 2 + push_captures(L, &m, at, end, false);
		}
		if (end)
			return push_captures(L, &m, at, end, true);
		if (anchored || at == m.src_end)
			break;
	}
	lua_pushnil(L);
	return 1;
}

static int string_find(lua_State *L)
{
	return find_or_match(L, true);
}

static int string_match(lua_State *L)
{
	return find_or_match(L, false);
}

/* Upvalues: subject, pattern, offset to go on from, end offset of the last match or -1. */
static int gmatch_step(lua_State *L)
{
	size_t len;
	size_t plen;
	const char *s = lua_tolstring(L, lua_upvalueindex(1), &len);
	const char *p = lua_tolstring(L, lua_upvalueindex(2), &plen);
	const char *from = s + lua_tointeger(L, lua_upvalueindex(3));
	lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
	struct pattern m;

	begin(L, &m, s, len, p, plen);
	for (; from <= m.src_end; from++) {
		const char *end = match_at(L, &m, from, p);

		if (end && end - s != last) {
			lua_pushinteger(L, end - s);
			lua_copy(L, -1, lua_upvalueindex(3));
			lua_replace(L, lua_upvalueindex(4));
			return push_captures(L, &m, from, end, true);
		}
	}
	return 0;
}

static int string_gmatch(lua_State *L)
{
	size_t len;
	size_t init;

	luaL_checklstring(L, 1, &len);
	luaL_checkstring(L, 2);
	init = start_offset(luaL_optinteger(L, 3, 1), len);
	lua_settop(L, 2);
	lua_pushinteger(L, (lua_Integer)min(init, len + 1));
	lua_pushinteger(L, -1);
	lua_pushcclosure(L, gmatch_step, 4);
	return 1;
}

/* Append the replacement string at index 3 with its %n filled in. */
static void add_template(lua_State *L, const struct pattern *m, luaL_Buffer *b, const char *s,
                         const char *end)
{
	size_t len;
	const char *text = lua_tolstring(L, 3, &len);

	for (size_t i = 0; i < len; i++) {
		if (text[i] != '%') {
			luaL_addchar(b, text[i]);
			continue;
		}
		i++;
		if (i < len && text[i] == '%') {
			luaL_addchar(b, '%');
		} else if (i < len && text[i] == '0') {
			luaL_addlstring(b, s, (size_t)(end - s));
		} else if (i < len && text[i] >= '1' && text[i] <= '9') {
			push_capture(L, m, text[i] - '1', s, end);
			lua_tolstring(L, -1, NULL); /* a position becomes text */
			luaL_addvalue(b);
		} else {
			sandbox_error(L, "invalid use of '%%' in replacement string");
		}
	}
}

/* Append what the match [@s, @end) is replaced by. Returns whether that changes anything. */
static bool add_value(lua_State *L, const struct pattern *m, luaL_Buffer *b, const char *s,
                      const char *end)
{
	switch (lua_type(L, 3)) {
	case LUA_TFUNCTION: {
		lua_pushvalue(L, 3);
		lua_call(L, push_captures(L, m, s, end, true), 1);
		break;
	}
	case LUA_TTABLE:
		push_capture(L, m, 0, s, end);
		lua_gettable(L, 3);
		break;
	default:
		add_template(L, m, b, s, end);
		return true;
	}
	if (!lua_toboolean(L, -1)) {
		lua_pop(L, 1);
		luaL_addlstring(b, s, (size_t)(end - s));
		return false;
	}
	if (!lua_isstring(L, -1))
		sandbox_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
	luaL_addvalue(b);
	return true;
}

static int string_gsub(lua_State *L)
{
	size_t len;
	size_t plen;
	const char *s = luaL_checklstring(L, 1, &len);
	const char *p = luaL_checklstring(L, 2, &plen);
	int type = lua_type(L, 3);
	lua_Integer max_n = luaL_optinteger(L, 4, (lua_Integer)len + 1);
	const char *last = NULL;
	lua_Integer n = 0;
	bool changed = false;
	struct pattern m;
	luaL_Buffer b;

	luaL_argexpected(L,
	                 type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION ||
	                         type == LUA_TTABLE,
	                 3, "string/function/table");
	if (type == LUA_TNUMBER)
		lua_tolstring(L, 3, NULL);

	bool anchored = plen > 0 && *p == '^';

	begin(L, &m, s, len, p, plen);
	p += anchored;
	luaL_buffinit(L, &b);
	while (n < max_n) {
		/* A replacement function may have used steps in between. */
		m.budget = sandbox_of(L)->steps_max - sandbox_of(L)->steps;

		const char *end = match_at(L, &m, s, p);

		if (end && end != last) {
			n++;
			changed |= add_value(L, &m, &b, s, end);
			sandbox_check(L);
			s = last = end;
		} else if (s < m.src_end) {
			luaL_addchar(&b, *s++);
		} else {
			break;
		}
		if (anchored)
			break;
	}
	if (changed) {
		luaL_addlstring(&b, s, (size_t)(m.src_end - s));
		luaL_pushresult(&b);
	} else {
		lua_pushvalue(L, 1);
	}
	lua_pushinteger(L, n);
	return 2;
}

/* ---- format and rep ---- */

/*
 * string.format of the original, after every %s has been given text without addresses and every
 * %p has become a %s with the object's number. Upvalue 1: the original.
 */
static int string_format(lua_State *L)
{
	size_t len;
	const char *format = luaL_checklstring(L, 1, &len);
	int arg = 1;
	char *copy;

	sandbox_check_stack(L, SANDBOX_STACK);
	sandbox_charge(L, 1 + len / 16);
	copy = lua_newuserdatauv(L, len + 1, 0);
	lua_insert(L, 1);
	memcpy(copy, format, len + 1);
	for (size_t i = 0; i < len; i++) {
		if (copy[i] != '%')
			continue;
		if (copy[++i] == '%')
			continue;
		i += strspn(copy + i, "-+ #0123456789.");
		arg++;
		if (arg + 1 > lua_gettop(L))
			continue; /* the original says what is missing */
		if (copy[i] == 'p') {
			copy[i] = 's';
			if (lua_type(L, arg + 1) < LUA_TTABLE) {
				lua_pushliteral(L, "(null)");
			} else {
				lua_pushfstring(L, "object:%I",
				                (LUAI_UACINT)sandbox_serial(L, arg + 1, true));
			}
			lua_replace(L, arg + 1);
		} else if (copy[i] == 's') {
			sandbox_tostring(L, arg + 1);
			lua_replace(L, arg + 1);
		}
	}
	lua_pushlstring(L, copy, len);
	lua_replace(L, 2);
	lua_remove(L, 1);
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static int string_rep(lua_State *L)
{
	size_t len;
	size_t sep_len;
	const char *s = luaL_checklstring(L, 1, &len);
	lua_Integer n = luaL_checkinteger(L, 2);
	const char *sep = luaL_optlstring(L, 3, "", &sep_len);
	struct sandbox *sb = sandbox_of(L);
	luaL_Buffer b;

	if (n <= 0 || len + sep_len == 0) {
		lua_pushliteral(L, "");
		return 1;
	}
	if ((u64)n > sb->memory_max / (len + sep_len))
		sandbox_limit(L, "out of memory: string.rep() of %lu bytes %lld times", len,
		              (long long)n);

	size_t total = len * (size_t)n + sep_len * (size_t)(n - 1);

	char *to = luaL_buffinitsize(L, &b, total);

	sandbox_charge(L, (u64)n / 16);
	for (lua_Integer i = 0; i < n; i++) {
		memcpy(to, s, len);
		to += len;
		if (i + 1 < n) {
			memcpy(to, sep, sep_len);
			to += sep_len;
		}
	}
	luaL_pushresultsize(&b, total);
	return 1;
}

void sandbox_open_string(lua_State *L)
{
	static const char *const copied[] = {"byte",    "char", "len",  "lower",
	                                     "reverse", "sub",  "upper"};
	static const luaL_Reg own[] = {
		{"find", string_find},   {"gmatch", string_gmatch}, {"gsub", string_gsub},
		{"match", string_match}, {"rep", string_rep},       {NULL, NULL},
	};

	luaopen_string(L);
	lua_newtable(L);
	for (size_t i = 0; i < ARRAY_SIZE(copied); i++)
		sandbox_copy_guarded(L, -2, copied[i]);
	for (const luaL_Reg *r = own; r->name; r++) {
		sandbox_push_guarded(L, r->func);
		lua_setfield(L, -2, r->name);
	}
	lua_getfield(L, -2, "format");
	lua_pushcclosure(L, string_format, 1);
	lua_setfield(L, -2, "format");
	sandbox_make_strict(L, "string.");

	/* Methods of strings, s:rep(2), are found here too. */
	lua_pushliteral(L, "");
	lua_getmetatable(L, -1);
	lua_pushvalue(L, -3);
	lua_setfield(L, -2, "__index");
	lua_pushliteral(L, "locked");
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 2);

	lua_remove(L, -2);
	lua_setfield(L, -2, "string");
}
