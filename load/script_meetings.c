/*
 * Children, time, and what tasks meet at, in a task's script.
 */
#include "load/script.h"

#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CHILD "child"

static const char *const sync_names[] = {
	[SYNC_BARRIER] = "barrier", [SYNC_EVENT] = "event", [SYNC_COUNTER] = "counter"};

struct child {
	u32 number;
	bool waited;
};

struct sync {
	u32 index;
};

/* ---- children ---- */

static int spawn(lua_State *L, enum target_spawn how, const char *what)
{
	struct script *sc = script_begin_call(L);
	const struct scenario *s = sc->program;
	int nr_args = lua_gettop(L) - 2;
	s64 arg[4] = {0};
	struct child *c;
	char text[TARGET_ERROR_MAX];
	u32 function = 0;
	u32 number = 0;

	script_check_object(L, SCRIPT_TASK, what);
	if (lua_type(L, 2) != LUA_TSTRING)
		sandbox_error(L, "%s: expected the name of a task", what);
	while (function < s->nr_functions && strcmp(s->function[function], lua_tostring(L, 2)) != 0)
		function++;
	if (function == s->nr_functions) {
		field_unknown_text(text, "task", lua_tostring(L, 2), field_name_in_array,
		                   s->function, s->nr_functions);
		sandbox_error(L, "%s: %s", what, text);
	}
	if (nr_args > (int)ARRAY_SIZE(arg))
		sandbox_error(L, "%s: at most %d arguments reach a child", what,
		              (int)ARRAY_SIZE(arg));
	for (int i = 0; i < nr_args; i++) {
		int ok;

		arg[i] = lua_tointegerx(L, 3 + i, &ok);
		if (!ok)
			sandbox_error(L,
			              "%s: arguments are whole numbers, not a %s (a region m goes "
			              "as m.va, m.len)",
			              what, luaL_typename(L, 3 + i));
	}
	script_end_call(L, what,
	                sc->ops->spawn(sc->task, how, s->function[function], arg, &number));
	c = lua_newuserdatauv(L, sizeof(*c), 0);
	*c = (struct child){.number = number};
	luaL_setmetatable(L, CHILD);
	return 1;
}

static int task_fork(lua_State *L)
{
	return spawn(L, TARGET_FORK, "fork");
}

static int task_thread(lua_State *L)
{
	return spawn(L, TARGET_THREAD, "thread");
}

static int task_spawn(lua_State *L)
{
	return spawn(L, TARGET_EXEC, "spawn");
}

static int child_wait(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	struct child *c = script_check_object(L, CHILD, "wait");

	if (c->waited)
		sandbox_error(L, "wait: this child has been waited for");
	script_end_call(L, "wait", sc->ops->wait(sc->task, c->number));
	c->waited = true;
	return 0;
}

/* ---- time ---- */

static u64 check_time(lua_State *L, int arg, const char *what)
{
	char err[TARGET_ERROR_MAX];
	u64 ns = 0;
	int result;

	if (lua_type(L, arg) == LUA_TNUMBER)
		result = quantity_time_number(lua_tonumber(L, arg), &ns, err);
	else if (lua_type(L, arg) == LUA_TSTRING)
		result = quantity_time(lua_tostring(L, arg), &ns, err);
	else
		sandbox_error(L, "%s: expected a time such as '10ms', got %s", what,
		              luaL_typename(L, arg));
	if (result)
		sandbox_error(L, "%s: %s", what, err);
	return ns;
}

static int task_sleep(lua_State *L)
{
	struct script *sc = script_begin_call(L);

	script_check_object(L, SCRIPT_TASK, "sleep");
	script_end_call(L, "sleep", sc->ops->sleep(sc->task, check_time(L, 2, "sleep")));
	return 0;
}

static int task_compute(lua_State *L)
{
	struct script *sc = script_begin_call(L);

	script_check_object(L, SCRIPT_TASK, "compute");
	script_end_call(L, "compute", sc->ops->compute(sc->task, check_time(L, 2, "compute")));
	return 0;
}

/* t:drop_caches("pagecache" | "slab" | "all") */
static int task_drop_caches(lua_State *L)
{
	static const char *const names[] = {"pagecache", "slab", "all", NULL};
	struct script *sc = script_begin_call(L);
	u32 what;

	script_check_object(L, SCRIPT_TASK, "drop_caches");
	what = script_check_choice(L, 2, "drop_caches", "what to drop", names);
	script_end_call(L, "drop_caches", sc->ops->drop_caches(sc->task, what + 1));
	return 0;
}

static int task_swapoff(lua_State *L)
{
	struct script *sc = script_begin_call(L);

	script_check_object(L, SCRIPT_TASK, "swapoff");
	if (!sc->ops->swapoff)
		sandbox_error(L, "swapoff: this target's swap is not for scenarios to turn off");
	script_end_call(L, "swapoff", sc->ops->swapoff(sc->task));
	return 0;
}

/* t:record_time(ns): something that the task has measured, for the metric "time". */
static int task_record_time(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	lua_Integer ns;

	script_check_object(L, SCRIPT_TASK, "record_time");
	ns = luaL_checkinteger(L, 2);
	if (ns < 0)
		sandbox_error(L, "record_time: a time below 0");
	script_end_call(L, "record_time", sc->ops->record_time(sc->task, (u64)ns));
	return 0;
}

/* t:start_measuring(): what came before was for warming up. */
static int task_start_measuring(lua_State *L)
{
	struct script *sc = script_begin_call(L);

	script_check_object(L, SCRIPT_TASK, "start_measuring");
	script_end_call(L, "start_measuring", sc->ops->start_measuring(sc->task));
	return 0;
}

static int task_now(lua_State *L)
{
	struct script *sc = script_begin_call(L);

	script_check_object(L, SCRIPT_TASK, "now");
	lua_pushinteger(L, (lua_Integer)sc->ops->now(sc->task));
	return 1;
}

/* ---- meeting points ---- */

void script_push_sync(lua_State *L, enum script_sync kind, u32 index)
{
	struct sync *object = lua_newuserdatauv(L, sizeof(*object), 0);

	object->index = index;
	luaL_setmetatable(L, sync_names[kind]);
}

static u32 check_sync(lua_State *L, enum script_sync kind, const char *what)
{
	return ((struct sync *)script_check_object(L, sync_names[kind], what))->index;
}

/* For the report of a deadlock. */
__printf(2, 3) static void say_waits_for(lua_State *L, const char *fmt, ...)
{
	char *text = script_of(L)->task->waits_for;
	va_list ap;
	int n;

	luaL_where(L, 1);
	n = snprintf(text, TARGET_WAITS_MAX, "%.120s", lua_tostring(L, -1));
	lua_pop(L, 1);
	va_start(ap, fmt);
	vsnprintf(text + n, TARGET_WAITS_MAX - (size_t)n, fmt, ap);
	va_end(ap);
}

static int end_wait(lua_State *L, struct script *sc, int err)
{
	script_end_call(L, "wait", err);
	sc->task->waits_for[0] = '\0';
	return 0;
}

static int barrier_wait(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	u32 i = check_sync(L, SYNC_BARRIER, "wait");

	say_waits_for(L, "%s waits for all %u tasks of barrier '%s'", sc->task->function,
	              sc->program->barrier_size[i], sc->program->barrier[i]);
	return end_wait(L, sc, sc->ops->barrier(sc->task, i));
}

static int event_set(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	u32 i = check_sync(L, SYNC_EVENT, "set");

	script_end_call(L, "set", sc->ops->event_set(sc->task, i));
	return 0;
}

static int event_wait(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	u32 i = check_sync(L, SYNC_EVENT, "wait");

	say_waits_for(L, "%s waits for event '%s'", sc->task->function, sc->program->event[i]);
	return end_wait(L, sc, sc->ops->event_wait(sc->task, i));
}

static int counter_add(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	u32 i = check_sync(L, SYNC_COUNTER, "add");
	s64 value = 0;

	script_end_call(L, "add",
	                sc->ops->counter_add(sc->task, i, luaL_optinteger(L, 2, 1), &value));
	lua_pushinteger(L, value);
	return 1;
}

static int counter_get(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	u32 i = check_sync(L, SYNC_COUNTER, "get");
	s64 value = 0;

	script_end_call(L, "get", sc->ops->counter_add(sc->task, i, 0, &value));
	lua_pushinteger(L, value);
	return 1;
}

void script_open_meetings(lua_State *L)
{
	static const luaL_Reg task[] = {
		{"compute", task_compute},
		{"drop_caches", task_drop_caches},
		{"fork", task_fork},
		{"now", task_now},
		{"record_time", task_record_time},
		{"sleep", task_sleep},
		{"spawn", task_spawn},
		{"start_measuring", task_start_measuring},
		{"swapoff", task_swapoff},
		{"thread", task_thread},
		{NULL, NULL},
	};
	static const luaL_Reg child[] = {{"wait", child_wait}, {NULL, NULL}};
	static const luaL_Reg barrier[] = {{"wait", barrier_wait}, {NULL, NULL}};
	static const luaL_Reg event[] = {{"set", event_set}, {"wait", event_wait}, {NULL, NULL}};
	static const luaL_Reg counter[] = {
		{"add", counter_add}, {"get", counter_get}, {NULL, NULL}};

	script_add_methods(L, SCRIPT_TASK, task);
	script_add_object(L, CHILD, child, script_plain_index);
	script_add_object(L, sync_names[SYNC_BARRIER], barrier, script_plain_index);
	script_add_object(L, sync_names[SYNC_EVENT], event, script_plain_index);
	script_add_object(L, sync_names[SYNC_COUNTER], counter, script_plain_index);
}
