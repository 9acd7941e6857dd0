/*
 * What all objects of a task's script have: calls of the target, arguments, fields; and the task itself.
 * Memory is in script_memory.c, children and meeting points in script_meetings.c, files in script_files.c.
 *
 * Before each call: a script that is over goes no further, and enough C stack must be left for
 * the target, whose memory manager runs on it. After each call: -EINTR means that the task was
 * killed, any other error is raised and may be caught.
 */
#include "load/script.h"

#include <errno.h>
#include <lauxlib.h>
#include <string.h>

#define CALL_STEPS 20 /* what a call of the target counts as */

/* ---- calling the target ---- */

struct script *script_begin_call(lua_State *L)
{
	struct script *sc = script_of(L);

	if (!sc->task)
		sandbox_error(L, "this works inside a task only");
	sandbox_check_stack(L, SANDBOX_STACK_CALL);
	sandbox_charge(L, CALL_STEPS);
	return sc;
}

static const char *describe_errno(int err)
{
	switch (err) {
	case EFAULT:
		return "not mapped, or not with this protection (EFAULT)";
	case ENOMEM:
		return "no memory (ENOMEM)";
	case EINVAL:
		return "refused (EINVAL)";
	case EPERM:
		return "not allowed (EPERM)";
	case EAGAIN:
		return "not now, or above a limit (EAGAIN)";
	default:
		return strerror(err);
	}
}

void script_end_call(lua_State *L, const char *what, int result)
{
	if (result == -EINTR)
		sandbox_kill(L);
	if (result < 0)
		sandbox_error(L, "%s: %s", what, describe_errno(-result));
}

/* ---- arguments ---- */

/* The error goes to the line of the call. */
u64 script_check_size(lua_State *L, int arg, const char *what)
{
	const struct scenario *s = script_of(L)->program;
	struct quantity_base base = {s->shape.ram_bytes, s->shape.swap_bytes};
	char err[TARGET_ERROR_MAX];
	u64 bytes = 0;
	int result;

	if (lua_type(L, arg) == LUA_TNUMBER)
		result = quantity_size_number(lua_tonumber(L, arg), &bytes, err);
	else if (lua_type(L, arg) == LUA_TSTRING)
		result = quantity_size(lua_tostring(L, arg), &base, &bytes, err);
	else
		sandbox_error(L, "%s: expected a size such as '512M', got %s", what,
		              luaL_typename(L, arg));
	if (result)
		sandbox_error(L, "%s: %s", what, err);
	return bytes;
}

u32 script_check_choice(lua_State *L, int arg, const char *what, const char *kind,
                        const char *const *names)
{
	char text[TARGET_ERROR_MAX];
	u32 n = 0;

	if (lua_type(L, arg) != LUA_TSTRING)
		sandbox_error(L, "%s: expected the name of %s", what, kind);
	for (; names[n]; n++)
		if (strcmp(names[n], lua_tostring(L, arg)) == 0)
			return n;
	field_unknown_text(text, kind, lua_tostring(L, arg), field_name_in_array, (void *)names, n);
	sandbox_error(L, "%s: %s", what, text);
}

/* The object of kind @kind that @what is called on. */
void *script_check_object(lua_State *L, const char *kind, const char *what)
{
	void *object = luaL_testudata(L, 1, kind);

	if (!object)
		sandbox_error(L, "%s: expected a %s before the ':'", what, kind);
	return object;
}

/* ---- fields and metatables ---- */

/* Upvalue 1: the methods, upvalue 2: the kind. Falls back on @field, then on an error. */
int script_lookup(lua_State *L, bool (*field)(lua_State *L, const char *key))
{
	const char *key;
	const char *near;

	if (lua_type(L, 2) != LUA_TSTRING)
		return 0;
	key = lua_tostring(L, 2);
	lua_pushvalue(L, 2);
	if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TFUNCTION || (field && field(L, key)))
		return 1;
	near = sandbox_nearest_key(L, lua_upvalueindex(1), key);
	sandbox_error(L, "a %s has no '%.60s'%s%s%s", lua_tostring(L, lua_upvalueindex(2)), key,
	              near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int script_plain_index(lua_State *L)
{
	return script_lookup(L, NULL);
}

static bool task_field(lua_State *L, const char *key)
{
	struct script *sc = script_of(L);

	if (strcmp(key, "index") == 0)
		lua_pushinteger(L, sc->task->index);
	else if (strcmp(key, "count") == 0)
		lua_pushinteger(L, sc->task->nr);
	else if (strcmp(key, "ncpu") == 0)
		lua_pushinteger(L, sc->program->shape.nr_cpus);
	else if (strcmp(key, "variant") == 0)
		lua_pushstring(L, sc->variant);
	else if (strcmp(key, "name") == 0)
		lua_pushstring(L, sc->task->function);
	else
		return false;
	return true;
}

static int task_index(lua_State *L)
{
	return script_lookup(L, task_field);
}

static int no_assignment(lua_State *L)
{
	sandbox_error(L, "a %s has no fields of one's own", lua_tostring(L, lua_upvalueindex(1)));
}

void script_add_methods(lua_State *L, const char *kind, const luaL_Reg *methods)
{
	luaL_getmetatable(L, kind);
	lua_getfield(L, -1, "__index");
	lua_getupvalue(L, -1, 1); /* see script_lookup() */
	luaL_setfuncs(L, methods, 0);
	lua_pop(L, 3);
}

void script_add_object(lua_State *L, const char *kind, const luaL_Reg *methods, lua_CFunction index)
{
	luaL_newmetatable(L, kind);
	lua_newtable(L);
	luaL_setfuncs(L, methods, 0);
	lua_pushstring(L, kind);
	lua_pushcclosure(L, index, 2);
	lua_setfield(L, -2, "__index");
	lua_pushstring(L, kind);
	lua_pushcclosure(L, no_assignment, 1);
	lua_setfield(L, -2, "__newindex");
	lua_pushliteral(L, "locked");
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 1);
}

void script_open_objects(lua_State *L)
{
	static const luaL_Reg files[] = {
		{"open", script_task_open},
		{"sync", script_task_sync},
		{"temporary", script_task_temporary},
		{NULL, NULL},
	};

	script_add_object(L, SCRIPT_TASK, files, task_index);
	script_open_memory(L);
	script_open_meetings(L);
}

void script_push_task(lua_State *L)
{
	lua_newuserdatauv(L, 1, 0);
	luaL_setmetatable(L, SCRIPT_TASK);
}
