/*
 * The sandbox's base and math libraries: Lua's own where they are harmless, and ours where order,
 * addresses, unbounded work or uncatchable errors matter.
 */
#include "load/sandbox_lib.h"

#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/sort.h"
#include "lib/strdist.h"

/* ---- libraries ---- */

/* What stands before every library function that is not ours. */
static int guard(lua_State *L)
{
	lua_CFunction fn = lua_tocfunction(L, lua_upvalueindex(1));
	int nr_args = lua_gettop(L);
	u64 bytes = 0;

	sandbox_check_stack(L, SANDBOX_STACK);
	for (int i = nr_args; i > 0; i--)
		if (lua_type(L, i) == LUA_TSTRING)
			bytes += lua_rawlen(L, i);
	sandbox_charge(L, 1 + (u64)nr_args + bytes / 16);
	return fn(L);
}

void sandbox_push_guarded(lua_State *L, lua_CFunction fn)
{
	lua_pushcfunction(L, fn);
	lua_pushcclosure(L, guard, 1);
}

void sandbox_copy_guarded(lua_State *L, int from, const char *name)
{
	from = lua_absindex(L, from);
	lua_getfield(L, from, name);
	lua_pushcclosure(L, guard, 1);
	lua_setfield(L, -2, name);
}

/* __index of a strict table: (table, key), with what it is called as upvalue. */
static int unknown_key(lua_State *L)
{
	const char *what = lua_tostring(L, lua_upvalueindex(1));
	const char *key;
	const char *near;

	if (lua_type(L, 2) != LUA_TSTRING)
		return 0;
	key = lua_tostring(L, 2);
	near = sandbox_nearest_key(L, 1, key);
	if (near)
		sandbox_error(L, "unknown name '%s%.60s'; did you mean '%s%s'?", what, key, what,
		              near);
	sandbox_error(L, "unknown name '%s%.60s'", what, key);
}

void sandbox_make_strict(lua_State *L, const char *what)
{
	lua_createtable(L, 0, 2);
	lua_pushstring(L, what);
	lua_pushcclosure(L, unknown_key, 1);
	lua_setfield(L, -2, "__index");
	lua_pushliteral(L, "locked");
	lua_setfield(L, -2, "__metatable");
	lua_setmetatable(L, -2);
}

/* ---- objects by number ---- */

static const char serials_key; /* registry: weak table from object to its number */

s64 sandbox_serial(lua_State *L, int index, bool make)
{
	s64 serial;

	index = lua_absindex(L, index);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &serials_key);
	lua_pushvalue(L, index);
	lua_rawget(L, -2);
	serial = lua_tointeger(L, -1);
	lua_pop(L, 1);
	if (!serial && make) {
		serial = ++sandbox_of(L)->nr_serials;
		lua_pushvalue(L, index);
		lua_pushinteger(L, serial);
		lua_rawset(L, -3);
	}
	lua_pop(L, 1);
	return serial;
}

const char *sandbox_tostring(lua_State *L, int index)
{
	index = lua_absindex(L, index);
	if (luaL_callmeta(L, index, "__tostring")) {
		if (!lua_isstring(L, -1))
			sandbox_error(L, "'__tostring' must return a string");
		return lua_tostring(L, -1);
	}
	switch (lua_type(L, index)) {
	case LUA_TSTRING:
	case LUA_TNUMBER:
		lua_pushvalue(L, index); /* a copy: conversion changes the value in place */
		break;
	case LUA_TBOOLEAN:
		lua_pushstring(L, lua_toboolean(L, index) ? "true" : "false");
		break;
	case LUA_TNIL:
		lua_pushliteral(L, "nil");
		break;
	default: {
		const char *kind = luaL_typename(L, index);
		int type = luaL_getmetafield(L, index, "__name");

		if (type == LUA_TSTRING)
			kind = lua_tostring(L, -1);
		lua_pushfstring(L, "%s: %I", kind, (LUAI_UACINT)sandbox_serial(L, index, true));
		if (type != LUA_TNIL)
			lua_remove(L, -2);
	}
	}
	return lua_tostring(L, -1);
}

static int base_tostring(lua_State *L)
{
	luaL_checkany(L, 1);
	sandbox_check_stack(L, SANDBOX_STACK);
	sandbox_tostring(L, 1);
	return 1;
}

static int base_print(lua_State *L)
{
	struct sandbox *sb = sandbox_of(L);
	luaL_Buffer b;
	int n = lua_gettop(L);
	size_t len;

	sandbox_check_stack(L, SANDBOX_STACK);
	luaL_buffinit(L, &b);
	for (int i = 1; i <= n; i++) {
		if (i > 1)
			luaL_addchar(&b, '\t');
		sandbox_tostring(L, i);
		luaL_addvalue(&b);
	}
	luaL_pushresult(&b);
	lua_tolstring(L, -1, &len);
	if (len + 1 > SANDBOX_PRINT_MAX - sb->printed_bytes) {
		sb->printed_bytes = SANDBOX_PRINT_MAX;
		return 0;
	}
	sb->printed_bytes += len + 1;
	if (sb->print)
		sb->print(sb->print_arg, lua_tostring(L, -1));
	else
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
	return 0;
}

/* ---- iteration in order ---- */

/* A table key as C sees it. The table holds on to the strings. */
struct key {
	int type;
	bool is_int;
	s64 integer; /* also: boolean, serial number */
	double number;
	const char *text;
	size_t len;
	s64 at; /* where the value itself lies, in the list of keys */
};

static int rank(const struct key *k)
{
	switch (k->type) {
	case LUA_TNUMBER:
		return 0;
	case LUA_TSTRING:
		return 1;
	case LUA_TBOOLEAN:
		return 2;
	default:
		return 3;
	}
}

/* An integer and a float, exactly. They are never equal: Lua makes such a float an integer. */
static int compare_mixed(s64 i, double d)
{
	if (d >= 0x1p63)
		return -1;
	if (d < -0x1p63)
		return 1;
	return i <= (s64)floor(d) ? -1 : 1;
}

static int key_compare(const void *pa, const void *pb, void *arg)
{
	const struct key *a = pa;
	const struct key *b = pb;
	int order = rank(a) - rank(b);

	(void)arg;
	if (order)
		return order;
	if (a->type == LUA_TSTRING) {
		order = memcmp(a->text, b->text, min(a->len, b->len));
		return order ? order : (a->len > b->len) - (a->len < b->len);
	}
	if (a->type == LUA_TNUMBER && !(a->is_int && b->is_int)) {
		if (a->is_int)
			return compare_mixed(a->integer, b->number);
		if (b->is_int)
			return -compare_mixed(b->integer, a->number);
		return (a->number > b->number) - (a->number < b->number);
	}
	return (a->integer > b->integer) - (a->integer < b->integer);
}

/* What is needed to order the key at @index. */
static void key_read(lua_State *L, int index, struct key *k)
{
	k->type = lua_type(L, index);
	switch (k->type) {
	case LUA_TNUMBER:
		k->is_int = lua_isinteger(L, index);
		if (k->is_int)
			k->integer = lua_tointeger(L, index);
		else
			k->number = lua_tonumber(L, index);
		break;
	case LUA_TSTRING:
		k->text = lua_tolstring(L, index, &k->len);
		break;
	case LUA_TBOOLEAN:
		k->integer = lua_toboolean(L, index);
		break;
	default:
		k->integer = sandbox_serial(L, index, false);
	}
}

/*
 * Push a list of the keys of the table at @index, in order. Tables, functions and the like can
 * be ordered only by the number they were shown with, or if there is but one without.
 */
static void push_sorted_keys(lua_State *L, int index)
{
	struct key *keys;
	size_t n = 0;
	int nr_unordered = 0;

	index = lua_absindex(L, index);
	for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1))
		n++;
	sandbox_charge(L, n * (1 + (u64)fls64(n)));
	keys = lua_newuserdatauv(L, (n + 1) * sizeof(*keys), 0);
	lua_createtable(L, (int)n, 0); /* as they come */
	n = 0;
	for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
		memset(&keys[n], 0, sizeof(keys[n]));
		key_read(L, -2, &keys[n]);
		if (rank(&keys[n]) == 3 && !keys[n].integer)
			nr_unordered++;
		keys[n].at = (s64)n + 1;
		lua_pushvalue(L, -2);
		lua_rawseti(L, -4, keys[n].at);
		n++;
	}
	if (nr_unordered > 1)
		sandbox_error(L, "tables or functions as keys have no order that repeats: "
		                 "use a list, or strings as keys");
	sort_stable(keys, n, sizeof(*keys), key_compare, NULL);
	lua_createtable(L, (int)n, 0);
	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(L, -2, keys[i].at);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_replace(L, -3);
	lua_pop(L, 1);
}

/* The iterator of pairs(): upvalues are the table, its keys and how many were visited. */
static int pairs_step(lua_State *L)
{
	s64 i = lua_tointeger(L, lua_upvalueindex(3));

	for (;;) {
		lua_settop(L, 0);
		if (lua_rawgeti(L, lua_upvalueindex(2), ++i) == LUA_TNIL)
			return 1;
		lua_pushvalue(L, 1);
		if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL)
			break; /* else: removed since */
	}
	lua_pushinteger(L, i);
	lua_replace(L, lua_upvalueindex(3));
	return 2;
}

static int base_pairs(lua_State *L)
{
	luaL_checkany(L, 1);
	sandbox_check_stack(L, SANDBOX_STACK);
	if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
		lua_pushvalue(L, 1);
		lua_call(L, 1, 3);
		return 3;
	}
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_pushvalue(L, 1);
	push_sorted_keys(L, 1);
	lua_pushinteger(L, 0);
	lua_pushcclosure(L, pairs_step, 3);
	lua_pushvalue(L, 1);
	lua_pushnil(L);
	return 3;
}

/* The key after the given one in the order of pairs(). Looks at all keys each time. */
static int base_next(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 2);
	push_sorted_keys(L, 1);

	s64 n = (s64)lua_rawlen(L, 3);
	s64 i = 1;

	if (!lua_isnil(L, 2)) {
		for (;; i++) {
			if (i > n)
				return luaL_error(L, "the key given to 'next' is not in the table");
			lua_rawgeti(L, 3, i);
			bool same = lua_rawequal(L, -1, 2);

			lua_pop(L, 1);
			if (same)
				break;
		}
		i++;
	}
	if (i > n) {
		lua_pushnil(L);
		return 1;
	}
	lua_rawgeti(L, 3, i);
	lua_pushvalue(L, -1);
	lua_rawget(L, 1);
	return 2;
}

static const char *listed_name(void *arg, size_t i)
{
	lua_State *L = arg;
	const char *name = "";

	if (lua_rawgeti(L, -1, (lua_Integer)i + 1) == LUA_TSTRING)
		name = lua_tostring(L, -1); /* the table that has it as a key keeps it */
	lua_pop(L, 1);
	return name;
}

const char *sandbox_nearest_key(lua_State *L, int index, const char *word)
{
	const char *name;

	push_sorted_keys(L, index);
	name = nearest_name(word, listed_name, L, lua_rawlen(L, -1));
	lua_pop(L, 1);
	return name && *name ? name : NULL;
}

/* ---- errors and metatables ---- */

static int base_pcall(lua_State *L)
{
	int status;

	luaL_checkany(L, 1);
	sandbox_check_stack(L, SANDBOX_STACK);
	status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
	sandbox_rethrow(L, status);
	lua_pushboolean(L, status == LUA_OK);
	lua_insert(L, 1);
	return lua_gettop(L);
}

/*
 * The message handler of xpcall(), upvalue 1, unless the script is over or the stack too deep for
 * it: a handler that fails is called for its own error, so that it could nest without end.
 */
static int call_handler(lua_State *L)
{
	lua_settop(L, 1);
	if (sandbox_of(L)->end != SANDBOX_RUNS || sandbox_stack_used(L) > SANDBOX_STACK)
		return 1;
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, 1, 1);
	return 1;
}

static int base_xpcall(lua_State *L)
{
	int nr_args = lua_gettop(L) - 2;
	int status;

	luaL_checktype(L, 2, LUA_TFUNCTION);
	sandbox_check_stack(L, SANDBOX_STACK);
	lua_pushvalue(L, 2); /* f, handler, args  ->  call_handler, f, args */
	lua_pushcclosure(L, call_handler, 1);
	lua_copy(L, 1, 2);
	lua_replace(L, 1);
	status = lua_pcall(L, nr_args, LUA_MULTRET, 1);
	sandbox_rethrow(L, status);
	lua_pushboolean(L, status == LUA_OK);
	lua_replace(L, 1);
	return lua_gettop(L);
}

static int base_setmetatable(lua_State *L)
{
	int type = lua_type(L, 2);

	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_argexpected(L, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table");
	if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
		sandbox_error(L, "cannot change a protected metatable");
	if (type == LUA_TTABLE) {
		static const char *const refused[] = {"__gc", "__mode"};

		for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
			lua_pushstring(L, refused[i]);
			if (lua_rawget(L, 2) != LUA_TNIL)
				sandbox_error(L,
				              "'%s' is not allowed: when garbage is collected "
				              "must not show",
				              refused[i]);
			lua_pop(L, 1);
		}
	}
	lua_settop(L, 2);
	lua_setmetatable(L, 1);
	return 1;
}

void sandbox_open_base(lua_State *L)
{
	static const char *const copied[] = {"assert",   "error",    "getmetatable", "ipairs",
	                                     "rawequal", "rawget",   "rawlen",       "rawset",
	                                     "select",   "tonumber", "type"};
	static const luaL_Reg own[] = {
		{"next", base_next},
		{"pairs", base_pairs},
		{"pcall", base_pcall},
		{"print", base_print},
		{"setmetatable", base_setmetatable},
		{"tostring", base_tostring},
		{"xpcall", base_xpcall},
		{NULL, NULL},
	};

	lua_newtable(L);
	lua_createtable(L, 0, 1);
	lua_pushliteral(L, "k");
	lua_setfield(L, -2, "__mode");
	lua_setmetatable(L, -2);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &serials_key);

	luaopen_base(L);
	lua_insert(L, -2);
	for (size_t i = 0; i < ARRAY_SIZE(copied); i++)
		sandbox_copy_guarded(L, -2, copied[i]);
	luaL_setfuncs(L, own, 0);
	lua_remove(L, -2);
}

/* ---- math ---- */

void sandbox_seed(struct sandbox *sb, u64 seed)
{
	rand_init(&sb->random, seed, 0x6c756101, 0); /* "lua", 1: what scripts draw */
	sb->random_ok = true;
}

static int math_random(lua_State *L)
{
	struct sandbox *sb = sandbox_of(L);
	lua_Integer lo = 1;
	lua_Integer hi;

	if (!sb->random_ok)
		sandbox_error(L, "math.random() works inside tasks only: what stands at the top "
		                 "of a file is the same for every seed");
	switch (lua_gettop(L)) {
	case 0:
		lua_pushnumber(L, rand_unit(&sb->random));
		return 1;
	case 1:
		hi = luaL_checkinteger(L, 1);
		if (hi == 0) {
			lua_pushinteger(L, (lua_Integer)rand_u64(&sb->random));
			return 1;
		}
		break;
	case 2:
		lo = luaL_checkinteger(L, 1);
		hi = luaL_checkinteger(L, 2);
		break;
	default:
		return luaL_error(L, "wrong number of arguments");
	}
	luaL_argcheck(L, lo <= hi, lua_gettop(L), "interval is empty");
	lua_pushinteger(L,
	                (lua_Integer)((u64)lo + rand_range_u64(&sb->random, 0, (u64)hi - (u64)lo)));
	return 1;
}

void sandbox_open_math(lua_State *L)
{
	static const char *const copied[] = {"abs",  "ceil",      "floor", "fmod", "max", "min",
	                                     "modf", "tointeger", "sqrt",  "type", "ult"};
	static const char *const constants[] = {"huge", "pi", "maxinteger", "mininteger"};

	luaopen_math(L);
	lua_newtable(L);
	for (size_t i = 0; i < ARRAY_SIZE(copied); i++)
		sandbox_copy_guarded(L, -2, copied[i]);
	for (size_t i = 0; i < ARRAY_SIZE(constants); i++) {
		lua_getfield(L, -2, constants[i]);
		lua_setfield(L, -2, constants[i]);
	}
	lua_pushcfunction(L, math_random);
	lua_setfield(L, -2, "random");
	sandbox_make_strict(L, "math.");
	lua_remove(L, -2);
	lua_setfield(L, -2, "math");
}
