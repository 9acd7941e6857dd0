/*
 * The words about tasks: group, task, barrier, event, counter.
 *
 * While the file is read they declare. In a task's state group and task only remember their
 * function, and barrier, event and counter look up the number that they were given then.
 */
#include "load/script.h"

#include <lauxlib.h>
#include <string.h>

static const char functions_key; /* registry: table from name to function */

/* ---- functions by name ---- */

/* Remember the function on top of the stack. Pops it. */
static void store_function(lua_State *L, const char *name)
{
	lua_rawgetp(L, LUA_REGISTRYINDEX, &functions_key);
	lua_insert(L, -2);
	lua_setfield(L, -2, name);
	lua_pop(L, 1);
}

bool script_push_function(lua_State *L, const char *name)
{
	lua_rawgetp(L, LUA_REGISTRYINDEX, &functions_key);
	lua_getfield(L, -1, name);
	lua_remove(L, -2);
	return lua_isfunction(L, -1);
}

static void declare_function(lua_State *L, const char *name)
{
	struct scenario *s = script_of(L)->s;

	for (u32 i = 0; i < s->nr_functions; i++)
		if (strcmp(s->function[i], name) == 0)
			sandbox_error(L, "a task or group '%s' is declared already", name);
	if (s->nr_functions == 1024)
		sandbox_error(L, "more than 1024 tasks and groups");
	*keep_push(&s->keep, s->function, s->nr_functions) = keep_strdup(&s->keep, name);
}

/* task "name" (function(t, ...) ... end), second call. */
static int task_body(lua_State *L)
{
	const char *name = lua_tostring(L, lua_upvalueindex(1));

	if (lua_type(L, 1) != LUA_TFUNCTION)
		sandbox_error(L, "expected task \"%s\" (function(t) ... end)", name);
	lua_settop(L, 1);
	if (script_of(L)->declaring) {
		script_clear_pending(L);
		declare_function(L, name);
	}
	store_function(L, name);
	return 0;
}

static int word_task(lua_State *L)
{
	const char *name = script_check_name(L, "task");

	if (script_of(L)->declaring)
		script_set_pending(L, "task", name, "(function(t) ... end)");
	lua_pushcclosure(L, task_body, 1);
	return 1;
}

/* ---- groups ---- */

#define GROUP(member) offsetof(struct target_group, member)
static const struct field group_fields[] = {
	{"count", FIELD_COUNT, GROUP(nr), 1, SCENARIO_TASKS_MAX, NULL},
	{"run", FIELD_FUNCTION, 0, 0, 0, NULL},
	{"start", FIELD_TIME, GROUP(start_ns), 0, SCENARIO_TIME_MAX, NULL},
	{"stagger", FIELD_TIME, GROUP(stagger_ns), 0, SCENARIO_TIME_MAX, NULL},
	{"jitter", FIELD_TIME, GROUP(jitter_ns), 0, SCENARIO_TIME_MAX, NULL},
	{"speed", FIELD_PERCENT, GROUP(speed_bp), 0, 9000, NULL},
	{"oom_score_adj", FIELD_INT, GROUP(oom_score_adj), -1000, 1000, NULL},
	{"background", FIELD_BOOL, GROUP(background), 0, 0, NULL},
	{"memlock", FIELD_SIZE, GROUP(memlock_bytes), 0, 0, NULL},
};
#define GROUP_MEMLOCK (ARRAY_SIZE(group_fields) - 1) /* its place there */

static void declare_group(lua_State *L, const char *name)
{
	struct scenario *s = script_of(L)->s;
	char *what = keep_printf(&s->keep, "group \"%s\"", name);
	struct field_table t = script_table(L, 1, what);
	struct target_group g = {.nr = 1};

	script_clear_pending(L);
	declare_function(L, name);
	g.has_memlock =
		fields_read(&t, group_fields, ARRAY_SIZE(group_fields), &g) >> GROUP_MEMLOCK & 1;
	if (g.stagger_ns && g.nr > SCENARIO_TIME_MAX / g.stagger_ns)
		field_error(&t, "stagger", "the last of %u tasks would start after more than 1200h",
		            g.nr);
	if (lua_getfield(L, 1, "run") != LUA_TFUNCTION)
		field_error(&t, NULL, "needs run = function(t) ... end");
	lua_pop(L, 1);
	strcpy(g.name, name); /* of a length that was checked */
	*keep_push(&s->keep, s->group, s->nr_groups) = g;
}

/* group "name" { ... }, second call. */
static int group_body(lua_State *L)
{
	const char *name = lua_tostring(L, lua_upvalueindex(1));

	lua_settop(L, 1);
	if (script_of(L)->declaring)
		declare_group(L, name);
	else
		luaL_checktype(L, 1, LUA_TTABLE);
	lua_getfield(L, 1, "run");
	store_function(L, name);
	return 0;
}

static int word_group(lua_State *L)
{
	const char *name = script_check_name(L, "group");

	if (script_of(L)->declaring)
		script_set_pending(L, "group", name, "{ ... }");
	lua_pushcclosure(L, group_body, 1);
	return 1;
}

/* ---- meeting points ---- */

/* The number of @name; a new one while declaring. */
static u32 sync_index(lua_State *L, const char *word, const char **names, u32 *nr, const char *name)
{
	struct script *sc = script_of(L);
	u32 i = 0;

	while (i < *nr && strcmp(names[i], name) != 0)
		i++;
	if (!sc->declaring) {
		if (i == *nr)
			sandbox_error(L, "%s '%s' was not declared when the file was first read",
			              word, name);
		return i;
	}
	if (i < *nr)
		sandbox_error(L, "%s '%s' is declared already", word, name);
	if (*nr == TARGET_SYNC_MAX)
		sandbox_error(L, "more than %d of %s", TARGET_SYNC_MAX, word);
	names[i] = keep_strdup(&sc->s->keep, name);
	return (*nr)++;
}

/* The scenario whose names are looked at: the one being read, or the one being run. */
static struct scenario *syncs_of(lua_State *L)
{
	struct script *sc = script_of(L);

	return sc->declaring ? sc->s : (struct scenario *)sc->program;
}

/* barrier "name" (n), second call. */
static int barrier_body(lua_State *L)
{
	const char *name = lua_tostring(L, lua_upvalueindex(1));
	struct scenario *s = syncs_of(L);
	u32 i;

	if (script_of(L)->declaring) {
		int ok;
		s64 n = lua_tointegerx(L, 1, &ok);

		script_clear_pending(L);
		if (!ok || n < 1 || n > SCENARIO_TASKS_MAX)
			sandbox_error(L, "barrier \"%s\": expected how many tasks meet, 1 to %d",
			              name, SCENARIO_TASKS_MAX);
		i = sync_index(L, "barrier", s->barrier, &s->nr_barriers, name);
		s->barrier_size[i] = (u32)n;
		script_of(L)->barrier_line[i] = sandbox_line(L);
	} else {
		i = sync_index(L, "barrier", s->barrier, &s->nr_barriers, name);
	}
	script_push_sync(L, SYNC_BARRIER, i);
	return 1;
}

static int word_barrier(lua_State *L)
{
	const char *name = script_check_name(L, "barrier");

	if (script_of(L)->declaring)
		script_set_pending(L, "barrier", name, "(number of tasks)");
	lua_pushcclosure(L, barrier_body, 1);
	return 1;
}

static int word_event(lua_State *L)
{
	struct scenario *s = syncs_of(L);
	const char *name = script_check_name(L, "event");

	script_push_sync(L, SYNC_EVENT, sync_index(L, "event", s->event, &s->nr_events, name));
	return 1;
}

static int word_counter(lua_State *L)
{
	struct scenario *s = syncs_of(L);
	const char *name = script_check_name(L, "counter");

	script_push_sync(L, SYNC_COUNTER,
	                 sync_index(L, "counter", s->counter, &s->nr_counters, name));
	return 1;
}

/* ---- both states ---- */

/*
 * Whether the file can start tasks beyond its groups: the compiled text of one that does holds the
 * name of the method, and there is no other way to call it.
 */
static bool starts_tasks(const struct scenario *s)
{
	static const char *const method[] = {"fork", "thread", "spawn"};

	for (size_t i = 0; i < ARRAY_SIZE(method); i++)
		if (memmem(s->code, s->code_len, method[i], strlen(method[i])))
			return true;
	return false;
}

/* More than there are would wait for ever; that is better said now than after an hour. */
static void check_barriers(lua_State *L, u64 nr_tasks)
{
	const struct script *sc = script_of(L);
	const struct scenario *s = sc->s;

	for (u32 i = 0; i < s->nr_barriers; i++)
		if (s->barrier_size[i] > nr_tasks && !starts_tasks(s))
			sandbox_error_line(L, sc->barrier_line[i],
			                   "barrier \"%s\": %u tasks are to meet, and the groups "
			                   "have %lu",
			                   s->barrier[i], s->barrier_size[i], nr_tasks);
}

void script_finish_tasks(lua_State *L)
{
	struct scenario *s = script_of(L)->s;
	u64 nr = 0;
	bool waited_for = false;

	for (u32 i = 0; i < s->nr_groups; i++) {
		nr += s->group[i].nr;
		waited_for |= !s->group[i].background;
	}
	if (s->nr_groups == 0)
		sandbox_error_line(L, 1,
		                   "nothing runs; expected group \"name\" { run = "
		                   "function(t) ... end }");
	if (!waited_for)
		sandbox_error_line(L, 1,
		                   "all groups are in the background: the run would end at "
		                   "once");
	if (nr > SCENARIO_TASKS_MAX)
		sandbox_error_line(L, 1, "%lu tasks are more than %d", nr, SCENARIO_TASKS_MAX);
	check_barriers(L, nr);
}

void script_open_tasks(lua_State *L)
{
	static const luaL_Reg words[] = {
		{"barrier", word_barrier}, {"counter", word_counter}, {"event", word_event},
		{"group", word_group},     {"task", word_task},       {NULL, NULL},
	};

	lua_newtable(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &functions_key);
	for (const luaL_Reg *w = words; w->name; w++)
		lua_register(L, w->name, w->func);
	script_open_objects(L);
	script_open_files(L);
}

static int ignore(lua_State *L)
{
	(void)L;
	return 0;
}

static int ignore_twice(lua_State *L)
{
	lua_pushcfunction(L, ignore);
	return 1;
}

void script_open_task(lua_State *L)
{
	static const char *const ignored[] = {"about",     "expect",   "kernel", "machine", "note",
	                                      "published", "scenario", "set",    "timeout"};
	const struct scenario *s = script_of(L)->program;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		lua_register(L, ignored[i], ignore);
	lua_register(L, "variant", ignore_twice);
	script_set_machine(L, s);
	script_set_params(L, s, false);
	lua_pushinteger(L, 4096);
	lua_setglobal(L, "page");
	script_open_tasks(L);
}
