/*
 * What the files of the sandbox share. For load/sandbox*.c alone.
 */
#ifndef LOAD_SANDBOX_LIB_H
#define LOAD_SANDBOX_LIB_H

#include "load/sandbox.h"

/* A loop over a table inside one library call is at most this long. */
#define SANDBOX_TABLE_MAX 10000000

/* Each puts its names into the globals table on top of the stack. */
void sandbox_open_base(lua_State *L);
void sandbox_open_math(lua_State *L);
void sandbox_open_string(lua_State *L);
void sandbox_open_table(lua_State *L);
void sandbox_open_utf8(lua_State *L);

/*
 * Copy function @name of the original library at @from into the table on top, behind a check of
 * the stack and a charge for the length of its string arguments.
 */
void sandbox_copy_guarded(lua_State *L, int from, const char *name);

/* Push @fn behind the same guard. */
void sandbox_push_guarded(lua_State *L, lua_CFunction fn);

/* Make reading an unknown key of the table on top an error that says @what.key. */
void sandbox_make_strict(lua_State *L, const char *what);

/* End the script because a bound was reached. */
int sandbox_limit(lua_State *L, const char *fmt, ...) __printf(2, 3) __attribute__((noreturn));

/* Bytes of C stack in use since sandbox_call(). */
u32 sandbox_stack_used(lua_State *L);

/* After a protected call that ended with @status and left its error on top: raise it again if
 * the script may not catch it. */
void sandbox_rethrow(lua_State *L, int status);

/* The number by which the object at @index is shown; 0 if it has none and @make is false. */
s64 sandbox_serial(lua_State *L, int index, bool make);

#endif
