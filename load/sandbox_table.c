/*
 * The sandbox's table and utf8 libraries.
 *
 * table.sort is a stable merge sort, so that equal elements and bad comparison functions give the
 * same result everywhere. Loops of the original functions over a range that a script names are
 * bounded before they begin.
 */
#include "load/sandbox_lib.h"

#include <lauxlib.h>
#include <lualib.h>

/* ---- sort ---- */

/* Does the value at @a come before the one at @b? Stack: 1 the table, 2 the function or nil. */
static bool comes_before(lua_State *L, int a, int b)
{
	bool before;

	a = lua_absindex(L, a);
	b = lua_absindex(L, b);
	if (lua_isnil(L, 2))
		return lua_compare(L, a, b, LUA_OPLT);
	lua_pushvalue(L, 2);
	lua_pushvalue(L, a);
	lua_pushvalue(L, b);
	lua_call(L, 2, 1);
	before = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return before;
}

/* Merge from[lo, mid) and from[mid, hi) into @to, both tables in stack slots. */
static void merge(lua_State *L, int from, int to, s64 lo, s64 mid, s64 hi)
{
	s64 a = lo;
	s64 b = mid;

	for (s64 i = lo; i < hi; i++) {
		bool take_b = a == mid;

		if (a < mid && b < hi) {
			lua_rawgeti(L, from, b);
			lua_rawgeti(L, from, a);
			take_b = comes_before(L, -2, -1);
			lua_pop(L, 2);
		}
		lua_rawgeti(L, from, take_b ? b++ : a++);
		lua_rawseti(L, to, i);
	}
}

static s64 checked_length(lua_State *L, int index)
{
	lua_Integer n = luaL_len(L, index);

	if (n > SANDBOX_TABLE_MAX)
		sandbox_error(L, "a table of %lld elements is more than a script may handle",
		              (long long)n);
	return n;
}

static int table_sort(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	sandbox_check_stack(L, SANDBOX_STACK);
	if (!lua_isnoneornil(L, 2))
		luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_settop(L, 2);

	s64 n = checked_length(L, 1);
	int from = 3;
	int to = 4;

	if (n < 2)
		return 0;
	sandbox_charge(L, (u64)n * (u64)fls64((u64)n));
	lua_createtable(L, (int)n, 0);
	lua_createtable(L, (int)n, 0);
	for (s64 i = 1; i <= n; i++) {
		lua_geti(L, 1, i);
		lua_rawseti(L, from, i);
	}
	for (s64 width = 1; width < n; width *= 2) {
		for (s64 lo = 1; lo <= n; lo += 2 * width)
			merge(L, from, to, lo, min(lo + width, n + 1), min(lo + 2 * width, n + 1));
		swap(from, to);
	}
	/* A function that calls b before a, after it let a stand before b, is no order. */
	for (s64 i = 1; i < n && !lua_isnil(L, 2); i++) {
		lua_rawgeti(L, from, i + 1);
		lua_rawgeti(L, from, i);
		if (comes_before(L, -2, -1))
			sandbox_error(L, "invalid order function for sorting");
		lua_pop(L, 2);
	}
	for (s64 i = 1; i <= n; i++) {
		lua_rawgeti(L, from, i);
		lua_seti(L, 1, i);
	}
	return 0;
}

/* ---- bounds before the original functions; the function itself is upvalue 1 ---- */

static int call_original(lua_State *L)
{
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static void check_range(lua_State *L, s64 from, s64 to)
{
	if (to >= from && (u64)to - (u64)from >= SANDBOX_TABLE_MAX)
		sandbox_error(L, "elements %lld to %lld are more than a script may handle",
		              (long long)from, (long long)to);
	if (to >= from)
		sandbox_charge(L, (u64)to - (u64)from);
}

/* table.insert, table.remove: they shift up to all elements. */
static int bounded_length(lua_State *L)
{
	sandbox_check_stack(L, SANDBOX_STACK);
	luaL_checktype(L, 1, LUA_TTABLE);
	if (lua_gettop(L) > 1) { /* else it is the last, and nothing moves */
		s64 n = checked_length(L, 1);

		if (n > 0 && lua_gettop(L) > (lua_isinteger(L, 2) ? 1 : 2))
			sandbox_charge(L, (u64)n / 8);
	}
	return call_original(L);
}

static int bounded_concat(lua_State *L)
{
	s64 from = luaL_optinteger(L, 3, 1);

	sandbox_check_stack(L, SANDBOX_STACK);
	check_range(L, from, lua_isnoneornil(L, 4) ? luaL_len(L, 1) : luaL_checkinteger(L, 4));
	return call_original(L);
}

static int bounded_unpack(lua_State *L)
{
	s64 from = luaL_optinteger(L, 2, 1);

	sandbox_check_stack(L, SANDBOX_STACK);
	check_range(L, from, lua_isnoneornil(L, 3) ? luaL_len(L, 1) : luaL_checkinteger(L, 3));
	return call_original(L);
}

static int bounded_move(lua_State *L)
{
	sandbox_check_stack(L, SANDBOX_STACK);
	check_range(L, luaL_checkinteger(L, 2), luaL_checkinteger(L, 3));
	return call_original(L);
}

static void copy_bounded(lua_State *L, const char *name, lua_CFunction bound)
{
	lua_getfield(L, -2, name);
	lua_pushcclosure(L, bound, 1);
	lua_setfield(L, -2, name);
}

void sandbox_open_table(lua_State *L)
{
	luaopen_table(L);
	lua_newtable(L);
	sandbox_copy_guarded(L, -2, "pack");
	copy_bounded(L, "unpack", bounded_unpack);
	copy_bounded(L, "insert", bounded_length);
	copy_bounded(L, "remove", bounded_length);
	copy_bounded(L, "concat", bounded_concat);
	copy_bounded(L, "move", bounded_move);
	lua_pushcfunction(L, table_sort);
	lua_setfield(L, -2, "sort");
	sandbox_make_strict(L, "table.");
	lua_remove(L, -2);
	lua_setfield(L, -2, "table");
}

void sandbox_open_utf8(lua_State *L)
{
	static const char *const copied[] = {"char", "codepoint", "codes", "len", "offset"};

	luaopen_utf8(L);
	lua_newtable(L);
	for (size_t i = 0; i < ARRAY_SIZE(copied); i++)
		sandbox_copy_guarded(L, -2, copied[i]);
	lua_getfield(L, -2, "charpattern");
	lua_setfield(L, -2, "charpattern");
	sandbox_make_strict(L, "utf8.");
	lua_remove(L, -2);
	lua_setfield(L, -2, "utf8");
}
