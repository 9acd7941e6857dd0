/*
 * A Lua state for files that strangers wrote: bounded, and the same in every run.
 *
 * A script can reach base, math, string, table and utf8 without whatever reads
 * the host, the clock or an address. There are no io, os, debug, require, load, coroutine or
 * collectgarbage; pairs() and next() go in sorted order; tostring() numbers objects in the order
 * they were first shown; math.random() draws from a seeded stream, and math has no functions
 * whose last digit depends on the C library (exp, log, sin ...).
 *
 * Three bounds, each ending the script with an error that pcall() does not catch:
 *   memory   by the allocator;
 *   steps    VM instructions, plus what library functions and allocations cost, plus the steps of
 *            pattern matching;
 *   stack    of C: a script runs on a small stack of the target's, see SANDBOX_STACK.
 * What escapes them (comparing two huge strings in a loop) is for sandbox_limit_cpu().
 *
 * Weak tables and finalizers are refused by setmetatable(). A __mode that is added to a metatable
 * later does take effect; collection follows the bytes allocated, so that too repeats.
 *
 * A state belongs to one thread. Several states run side by side.
 */
#ifndef LOAD_SANDBOX_H
#define LOAD_SANDBOX_H

#include <lua.h>

#include "lib/list.h"
#include "lib/random.h"
#include "lib/types.h"

#define SANDBOX_MEMORY (64UL << 20)
#define SANDBOX_STEPS_FILE 20000000UL  /* to read a file: a fifth of a second */
#define SANDBOX_STEPS_TASK 500000000UL /* of one task: some seconds */

/*
 * Bytes of C stack that library functions may have below them before they refuse to call Lua
 * again. Calls through metamethods are bounded by Lua itself (200 levels, 90 KB measured), so
 * the worst sum is 160 KB. SANDBOX_STACK_CALL is the same for calls into the target, which runs
 * its memory manager on what is left of the stack.
 */
#define SANDBOX_STACK (64u << 10)
#define SANDBOX_STACK_CALL (96u << 10)

#define SANDBOX_PRINT_MAX (64u << 10) /* bytes one state may print; the rest is dropped */

enum sandbox_end {
	SANDBOX_RUNS,
	SANDBOX_KILLED, /* the target ended the task: unwind quietly */
	SANDBOX_LIMIT,  /* a bound was reached: sandbox.message says which */
};

struct sandbox_options {
	u64 memory_bytes;                           /* 0: SANDBOX_MEMORY */
	u64 steps;                                  /* 0: SANDBOX_STEPS_FILE */
	void (*print)(void *arg, const char *text); /* NULL: stderr */
	void *print_arg;
	void *user; /* sandbox_of(L)->user */
};

struct sandbox {
	lua_State *L;
	u64 memory_bytes;
	u64 memory_max;
	u64 steps;
	u64 steps_max;
	char *stack_base; /* where the innermost sandbox_call() began */
	enum sandbox_end end;
	u64 refused_bytes; /* the last allocation that was not granted; 0: none */
	bool recursing;    /* and it was asked for under very many calls */
	bool random_ok;    /* math.random() has a seed */
	struct rand_stream random;
	u32 printed_bytes;
	s64 nr_serials; /* objects that have been shown by number */
	void (*print)(void *arg, const char *text);
	void *print_arg;
	void *user;
	struct list_head list; /* the user's */
	const char *text;      /* what was compiled, while it is read; the caller keeps it alive */
	char path[256];        /* of the file, as its user wrote it */
	char chunk[64];        /* Lua's short form of it, which begins every message */
	char where[128];       /* "file:line" of the last error */
	char message[256];     /* with end == SANDBOX_LIMIT */
};

/* A state with the libraries above, and nothing loaded. NULL: no host memory. */
struct sandbox *sandbox_new(const struct sandbox_options *opt);
void sandbox_free(struct sandbox *sb);

static inline struct sandbox *sandbox_of(lua_State *L)
{
	return *(struct sandbox **)lua_getextraspace(L);
}

/* math.random() of this state draws from @seed from now on. Before, it is an error. */
void sandbox_seed(struct sandbox *sb, u64 seed);

/*
 * Read the text file @path (regular, at most 1 MiB). *@text is for free().
 * Returns 0 or a negative errno with the reason in @err (TARGET_ERROR_MAX bytes, as everywhere).
 */
int sandbox_read_file(const char *path, char **text, size_t *len, char *err);

/*
 * Compile @text, which ends with a NUL and stays where it is, and push the function.
 * Returns 0, or -EINVAL and @err.
 */
int sandbox_compile(struct sandbox *sb, const char *path, const char *text, size_t len, char *err);

/* The function on top of the stack as bytes for sandbox_undump(), for free(). */
int sandbox_dump(struct sandbox *sb, char **code, size_t *len);

/* Push the function that @code holds. It must come from sandbox_dump(): nothing is checked. */
int sandbox_undump(struct sandbox *sb, const char *path, const char *code, size_t len, char *err);

/*
 * Call the function below @nr_args arguments. Returns 0 with @nr_results on the stack; -EINVAL
 * with "file:line: text" in @err; or -EINTR if the task was killed. Not from inside a script.
 */
int sandbox_call(struct sandbox *sb, int nr_args, int nr_results, char *err);

/* ---- for C functions that a script calls ---- */

/* Raise an error at the caller's line. sandbox_error_line() names another line of the file. */
int sandbox_error(lua_State *L, const char *fmt, ...) __printf(2, 3) __attribute__((noreturn));
int sandbox_error_line(lua_State *L, int line, const char *fmt, ...) __printf(3, 4)
	__attribute__((noreturn));

/* Unwind the script because its task was killed. */
int sandbox_kill(lua_State *L) __attribute__((noreturn));

/* Count work that the VM does not see. Raises the limit's error. */
void sandbox_charge(lua_State *L, u64 steps);

/* Raise what a script that has ended must see again and again. */
void sandbox_check(lua_State *L);

/* Refuse to go deeper if more than @bytes of C stack are in use. */
void sandbox_check_stack(lua_State *L, u32 bytes);

/* The line the caller is at, or 0. */
int sandbox_line(lua_State *L);

/* Push the text that tostring() shows for the value at @index. */
const char *sandbox_tostring(lua_State *L, int index);

/* The string key of the table at @index nearest to @word, or NULL. It lives as long as the key. */
const char *sandbox_nearest_key(lua_State *L, int index, const char *word);

/* ---- for the process: what Lua's bounds do not reach ends here ---- */

/* At most @seconds of CPU time in all, then SIGXCPU. For a child that runs scenarios. */
int sandbox_limit_cpu(u32 seconds);

/*
 * The same for a process that means to go on: from here to sandbox_unguard_cpu() it may use
 * @seconds; then @message and a newline go to stderr, and it ends with @status. Not nested.
 */
int sandbox_guard_cpu(u32 seconds, const char *message, int status);
void sandbox_unguard_cpu(void);

#endif
