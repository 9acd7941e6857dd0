/*
 * What the files of the scenario share: load/scenario*.c and load/script_*.c alone.
 *
 * A script is a Lua state with the scenario's vocabulary. In the state that reads the file the
 * words declare; in a task's state they only collect functions.
 */
#ifndef LOAD_SCRIPT_H
#define LOAD_SCRIPT_H

#include <lauxlib.h>

#include "load/fields.h"
#include "load/sandbox.h"
#include "load/scenario.h"

/* A "name=value" of --set. */
struct script_set {
	char *name;
	char *value;
	const char *option; /* "--set" or "--vary": for messages and origins */
	bool used;
};

struct script {
	struct scenario *s;
	struct sandbox *sb;

	/* While the file is read. */
	bool declaring;
	u32 nr_sets;
	struct script_set *set;
	const char *pending; /* 'group "x"' whose { ... } has not come yet */
	int pending_line;
	int published_line;
	int barrier_line[TARGET_SYNC_MAX];

	/* In a task. */
	const struct scenario *program;
	const struct target_ops *ops;
	const char *variant;
	struct target_task *task;
	u64 nr_random; /* random accesses so far: each has its own order */
};

static inline struct script *script_of(lua_State *L)
{
	return sandbox_of(L)->user;
}

/* Put the declaring words into the globals of a state. */
void script_open_declarations(lua_State *L);

/* Put the words for a task's state there: group and task collect, others do nothing. */
void script_open_task(lua_State *L);

/* Push the function of a group or task; nil and false if the state has none of that name. */
bool script_push_function(lua_State *L, const char *name);

/* Push the task object, t. */
void script_push_task(lua_State *L);

/*
 * The rest of a declaration, when the whole file has been read: the machine if none was asked for,
 * what was left open, what --set names and nothing took. A C function for sandbox_call().
 */
int script_finish(lua_State *L);

/* ---- the parts of the vocabulary, each in its file ---- */

void script_open_machine(lua_State *L);
void script_open_tasks(lua_State *L);
void script_open_results(lua_State *L);
void script_open_objects(lua_State *L);
void script_open_memory(lua_State *L); /* these two by script_open_objects() */
void script_open_meetings(lua_State *L);
void script_open_files(lua_State *L);
void script_finish_machine(lua_State *L);
void script_finish_tasks(lua_State *L);
void script_finish_results(lua_State *L);

/* Set the globals ncpu, ram, swap, and param with what the scenario has. */
void script_set_machine(lua_State *L, const struct scenario *s);
void script_set_params(lua_State *L, const struct scenario *s, bool declaring);

/* What a method does first and last: script_objects.c. @what names it in messages. */
struct script *script_begin_call(lua_State *L);
void script_end_call(lua_State *L, const char *what, int result);
void *script_check_object(lua_State *L, const char *kind, const char *what);
void script_push_region(lua_State *L, u64 va, u64 len);
void script_add_object(lua_State *L, const char *kind, const luaL_Reg *methods,
                       lua_CFunction index);
void script_add_methods(lua_State *L, const char *kind, const luaL_Reg *methods); /* more of them */
int script_plain_index(lua_State *L); /* of objects without fields */
int script_lookup(lua_State *L, bool (*field)(lua_State *L, const char *key));
u64 script_check_size(lua_State *L, int arg, const char *what);
u32 script_check_choice(lua_State *L, int arg, const char *what, const char *kind,
                        const char *const *names);
#define SCRIPT_TASK "task"

/* t:open() and t:mmap() of a file: script_files.c. */
int script_task_open(lua_State *L);
int script_task_temporary(lua_State *L);
int script_task_sync(lua_State *L);
bool script_is_file(lua_State *L, int arg);
int script_mmap_file(lua_State *L);

/* Push a barrier, event or counter object. */
enum script_sync { SYNC_BARRIER, SYNC_EVENT, SYNC_COUNTER };
void script_push_sync(lua_State *L, enum script_sync kind, u32 index);

/* ---- what all words need (script_declare.c) ---- */

/* The table that @what was called with, which is argument @index. */
struct field_table script_table(lua_State *L, int index, const char *what);

/* Its keys, sorted and kept; an error if one is no string. */
u32 script_sorted_keys(const struct field_table *t, const char ***keys);

/* "path:line", kept. */
char *script_origin(lua_State *L, int line);

/* Argument 1, alone, is a name that files, tables and the command line can carry. */
const char *script_check_name(lua_State *L, const char *word);
bool script_name_is_plain(const char *name);

/* The one variant of a scenario that declares none. */
void script_default_variant(struct scenario *s);

/* word "name" waits for the second half, @rest. */
void script_set_pending(lua_State *L, const char *word, const char *name, const char *rest);
void script_clear_pending(lua_State *L);

/* The --set of prefix + name, or NULL. The last one wins, and the earlier ones count as used. */
struct script_set *script_find_set(struct script *sc, const char *prefix, const char *name);

#endif
