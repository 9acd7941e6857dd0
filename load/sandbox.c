/*
 * The bounded Lua state: memory, steps, stack, errors. See sandbox.h.
 *
 * A script that reached a bound or was killed is unwound by an error whose value is a light
 * userdata that scripts cannot make. pcall() passes it on, the hook and every call into the target
 * raise it again, so that a handler run on the way out does not get far.
 */
#include "load/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/size.h"
#include "load/sandbox_lib.h"
#include "load/target.h"

#define HOOK_INTERVAL 1000       /* VM instructions between two looks at the budget */
#define VARARGS_CHEAP 64         /* extra arguments that are not worth counting */
#define BYTES_PER_STEP 64        /* allocated or passed to a library function */
#define RECURSION_DEEP 10000     /* calls: more is taken for recursion without end */
#define FILE_BYTES_MAX (1 << 20) /* of a scenario or profile */
#define CHUNK_NAME_MAX 55        /* Lua cuts names at 60 */

static const char over_key; /* its address is the error value of a script that is over */

/* ---- bounds ---- */

/* "file:line" of the innermost Lua function, into sb->where. Allocates nothing. */
static void note_where(struct sandbox *sb)
{
	lua_Debug ar;

	for (int level = 0; lua_getstack(sb->L, level, &ar); level++) {
		lua_getinfo(sb->L, "l", &ar);
		if (ar.currentline > 0) {
			snprintf(sb->where, sizeof(sb->where), "%.100s:%d", sb->path,
			         ar.currentline);
			return;
		}
	}
	snprintf(sb->where, sizeof(sb->where), "%.120s", sb->path);
}

/* No memory for the script: remember what it was doing while that can still be seen. */
static void note_refusal(struct sandbox *sb, u64 bytes)
{
	lua_Debug ar;

	sb->refused_bytes = bytes;
	if (!sb->L)
		return;
	note_where(sb);
	sb->recursing = lua_getstack(sb->L, RECURSION_DEEP, &ar);
}

static void *allocate(void *arg, void *ptr, size_t old_size, size_t new_size)
{
	struct sandbox *sb = arg;

	if (!ptr)
		old_size = 0; /* Lua passes the kind of object */
	if (new_size == 0) {
		sb->memory_bytes -= old_size;
		free(ptr);
		return NULL;
	}
	if (new_size > old_size) {
		u64 more = new_size - old_size;

		if (more > sb->memory_max - sb->memory_bytes) {
			note_refusal(sb, new_size);
			return NULL;
		}
		sb->steps += more / BYTES_PER_STEP;
	}

	void *result = realloc(ptr, new_size);

	if (result)
		sb->memory_bytes += new_size - old_size;
	return result;
}

static __attribute__((noreturn)) void raise_over(lua_State *L)
{
	lua_pushlightuserdata(L, (void *)&over_key);
	lua_error(L);
	__builtin_unreachable();
}

static void set_limit(struct sandbox *sb, const char *fmt, va_list args)
{
	if (sb->end != SANDBOX_RUNS)
		return;
	sb->end = SANDBOX_LIMIT;
	vsnprintf(sb->message, sizeof(sb->message), fmt, args);
}

int sandbox_limit(lua_State *L, const char *fmt, ...)
{
	struct sandbox *sb = sandbox_of(L);
	va_list args;

	if (sb->end == SANDBOX_RUNS)
		note_where(sb);
	va_start(args, fmt);
	set_limit(sb, fmt, args);
	va_end(args);
	raise_over(L);
}

__printf(2, 3) static void set_limit_fmt(struct sandbox *sb, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	set_limit(sb, fmt, args);
	va_end(args);
}

/* note_refusal() has been called by the allocator, when there still was a stack to look at. */
static void set_memory_limit(struct sandbox *sb)
{
	char text[SIZE_TEXT_MAX];

	set_limit_fmt(sb, "out of memory: one Lua state may use %s%s",
	              format_size(text, sizeof(text), sb->memory_max),
	              sb->recursing ? "; does this recursion end?" : "");
}

void sandbox_check(lua_State *L)
{
	struct sandbox *sb = sandbox_of(L);

	if (sb->end != SANDBOX_RUNS)
		raise_over(L);
	if (sb->steps > sb->steps_max)
		sandbox_limit(L, "too long: more than %lu million steps; does this end?",
		              sb->steps_max / 1000000);
}

void sandbox_charge(lua_State *L, u64 steps)
{
	struct sandbox *sb = sandbox_of(L);

	sb->steps += min(steps, UINT64_MAX / 2);
	sandbox_check(L);
}

/* How many extra arguments ("...") the running function has, to within a factor of two. */
static u64 count_varargs(lua_State *L, lua_Debug *ar)
{
	int n = VARARGS_CHEAP;

	while (lua_getlocal(L, ar, -n)) {
		lua_pop(L, 1);
		n *= 2;
	}
	return n == VARARGS_CHEAP ? 0 : (u64)n;
}

/* An instruction that hands on "..." may copy a million values. */
static void count_hook(lua_State *L, lua_Debug *ar)
{
	sandbox_charge(L, HOOK_INTERVAL + HOOK_INTERVAL / 16 * count_varargs(L, ar));
}

u32 sandbox_stack_used(lua_State *L)
{
	struct sandbox *sb = sandbox_of(L);
	char *here = __builtin_frame_address(0);

	return sb->stack_base && sb->stack_base > here ? (u32)(sb->stack_base - here) : 0;
}

void sandbox_check_stack(lua_State *L, u32 bytes)
{
	if (sandbox_stack_used(L) > bytes)
		sandbox_error(L, "too deep: calls are nested too far inside library functions");
}

int sandbox_kill(lua_State *L)
{
	struct sandbox *sb = sandbox_of(L);

	if (sb->end == SANDBOX_RUNS)
		sb->end = SANDBOX_KILLED;
	raise_over(L);
}

/* Did a protected call end for want of memory? Buffers of the C library say so by a plain string. */
static bool is_memory_error(lua_State *L, int status)
{
	if (status == LUA_ERRMEM)
		return true;
	return sandbox_of(L)->refused_bytes && lua_type(L, -1) == LUA_TSTRING &&
	       strcmp(lua_tostring(L, -1), "not enough memory") == 0;
}

void sandbox_rethrow(lua_State *L, int status)
{
	struct sandbox *sb = sandbox_of(L);

	if (status == LUA_OK)
		return;
	if (is_memory_error(L, status))
		set_memory_limit(sb);
	if (sb->end != SANDBOX_RUNS)
		raise_over(L);
}

/* ---- errors ---- */

int sandbox_line(lua_State *L)
{
	lua_Debug ar;

	for (int level = 0; lua_getstack(L, level, &ar); level++) {
		lua_getinfo(L, "l", &ar);
		if (ar.currentline > 0)
			return ar.currentline;
	}
	return 0;
}

static __attribute__((noreturn)) void raise_at(lua_State *L, int line, const char *fmt,
                                               va_list args)
{
	char text[TARGET_ERROR_MAX];
	struct sandbox *sb = sandbox_of(L);

	vsnprintf(text, sizeof(text), fmt, args);
	if (line > 0)
		lua_pushfstring(L, "%s:%d: %s", sb->chunk, line, text);
	else
		lua_pushfstring(L, "%s: %s", sb->chunk, text);
	lua_error(L);
	__builtin_unreachable();
}

int sandbox_error(lua_State *L, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	raise_at(L, sandbox_line(L), fmt, args);
	va_end(args);
}

int sandbox_error_line(lua_State *L, int line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	raise_at(L, line > 0 ? line : sandbox_line(L), fmt, args);
	va_end(args);
}

/* Message handler: remember the place of an error that does not say it. */
static int on_error(lua_State *L)
{
	struct sandbox *sb = sandbox_of(L);

	if (sb->end == SANDBOX_RUNS)
		note_where(sb);
	return 1;
}

/* The text of the error on top of the stack, with its place, printable, on one line. */
static void describe_error(struct sandbox *sb, char *err)
{
	lua_State *L = sb->L;
	const char *text = sb->message;
	size_t chunk_len = strlen(sb->chunk);

	if (sb->end == SANDBOX_LIMIT) {
		snprintf(err, TARGET_ERROR_MAX, "%s: %s", sb->where, text);
	} else {
		if (lua_type(L, -1) == LUA_TSTRING || lua_type(L, -1) == LUA_TNUMBER)
			text = lua_tostring(L, -1);
		else
			text = "an error that is not a string was raised";
		if (strncmp(text, sb->chunk, chunk_len) == 0 && text[chunk_len] == ':')
			snprintf(err, TARGET_ERROR_MAX, "%s%s", sb->path, text + chunk_len);
		else
			snprintf(err, TARGET_ERROR_MAX, "%s: %s", sb->where, text);
	}
	for (char *c = err; *c; c++)
		if ((u8)*c < ' ' || *c == 0x7f)
			*c = *c == '\n' || *c == '\t' ? ' ' : '?';
}

int sandbox_call(struct sandbox *sb, int nr_args, int nr_results, char *err)
{
	lua_State *L = sb->L;
	int handler = lua_gettop(L) - nr_args;
	int status;

	sb->stack_base = __builtin_frame_address(0);
	lua_pushcfunction(L, on_error);
	lua_insert(L, handler);
	status = lua_pcall(L, nr_args, nr_results, handler);
	lua_remove(L, handler);
	sb->stack_base = NULL;
	if (status == LUA_OK)
		return 0;
	if (is_memory_error(L, status))
		set_memory_limit(sb);
	if (sb->end == SANDBOX_KILLED) {
		lua_settop(L, handler - 1);
		return -EINTR;
	}
	describe_error(sb, err);
	lua_settop(L, handler - 1);
	return -EINVAL;
}

/* ---- files and chunks ---- */

int sandbox_read_file(const char *path, char **text, size_t *len, char *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char *buf = NULL;
	size_t n = 0;
	int result = -EINVAL;

	if (fd < 0) {
		result = -errno;
		snprintf(err, TARGET_ERROR_MAX, "%s: %s", path, strerror(-result));
		return result;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		snprintf(err, TARGET_ERROR_MAX, "%s: not a regular file", path);
		goto out_close;
	}
	buf = malloc(FILE_BYTES_MAX + 1);
	if (!buf) {
		result = -ENOMEM;
		snprintf(err, TARGET_ERROR_MAX, "%s: out of memory", path);
		goto out_close;
	}
	while (n <= FILE_BYTES_MAX) {
		ssize_t got = read(fd, buf + n, FILE_BYTES_MAX + 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			result = -errno;
			snprintf(err, TARGET_ERROR_MAX, "%s: %s", path, strerror(-result));
			goto out_close;
		}
		if (got == 0)
			break;
		n += (size_t)got;
	}
	if (n > FILE_BYTES_MAX) {
		snprintf(err, TARGET_ERROR_MAX, "%s: larger than 1 MiB, which no scenario is",
		         path);
		goto out_close;
	}
	buf[n] = '\0';
	*text = buf;
	*len = n;
	buf = NULL;
	result = 0;
out_close:
	free(buf);
	close(fd);
	return result;
}

static void set_path(struct sandbox *sb, const char *path)
{
	const char *name = path;

	snprintf(sb->path, sizeof(sb->path), "%s", path);
	if (strlen(name) > CHUNK_NAME_MAX && strrchr(name, '/'))
		name = strrchr(name, '/') + 1;
	if (strlen(name) > CHUNK_NAME_MAX)
		name += strlen(name) - CHUNK_NAME_MAX;
	snprintf(sb->chunk, sizeof(sb->chunk), "%s", name);
	snprintf(sb->where, sizeof(sb->where), "%.120s", path);
}

/* Text goes to the compiler line by line, so that an error that names no line has one. */
struct feed {
	const char *at;
	const char *end;
	u32 line;
	bool binary;
};

static const char *feed_line(lua_State *L, void *arg, size_t *len)
{
	struct feed *f = arg;
	const char *at = f->at;
	const char *newline = f->binary ? NULL : memchr(at, '\n', (size_t)(f->end - at));

	(void)L;
	f->at = newline ? newline + 1 : f->end;
	f->line++;
	*len = (size_t)(f->at - at);
	return *len ? at : NULL;
}

static int load_chunk(struct sandbox *sb, const char *path, const char *bytes, size_t len,
                      const char *mode, char *err)
{
	char name[sizeof(sb->chunk) + 1];
	struct feed feed = {.at = bytes, .end = bytes + len, .binary = *mode == 'b'};
	int status;

	set_path(sb, path);
	snprintf(name, sizeof(name), "@%s", sb->chunk);
	status = lua_load(sb->L, feed_line, &feed, name, mode);
	if (status == LUA_OK)
		return 0;
	if (!feed.binary)
		snprintf(sb->where, sizeof(sb->where), "%.120s:%u", path, feed.line);
	if (is_memory_error(sb->L, status))
		set_memory_limit(sb);
	describe_error(sb, err);
	lua_pop(sb->L, 1);
	return -EINVAL;
}

int sandbox_compile(struct sandbox *sb, const char *path, const char *text, size_t len, char *err)
{
	if (len && text[0] == LUA_SIGNATURE[0]) {
		snprintf(err, TARGET_ERROR_MAX, "%s: compiled Lua; expected its source text", path);
		return -EINVAL;
	}
	sb->text = text;
	return load_chunk(sb, path, text, len, "t", err);
}

struct dump {
	char *bytes;
	size_t len;
	size_t size;
};

static int dump_more(lua_State *L, const void *bytes, size_t len, void *arg)
{
	struct dump *d = arg;

	(void)L;
	if (len > d->size - d->len) {
		size_t size = d->size * 2 + len + 4096;
		char *larger = realloc(d->bytes, size);

		if (!larger)
			return -1;
		d->bytes = larger;
		d->size = size;
	}
	memcpy(d->bytes + d->len, bytes, len);
	d->len += len;
	return 0;
}

int sandbox_dump(struct sandbox *sb, char **code, size_t *len)
{
	struct dump d = {0};

	if (lua_dump(sb->L, dump_more, &d, 0)) {
		free(d.bytes);
		return -ENOMEM;
	}
	*code = d.bytes;
	*len = d.len;
	return 0;
}

int sandbox_undump(struct sandbox *sb, const char *path, const char *code, size_t len, char *err)
{
	return load_chunk(sb, path, code, len, "b", err);
}

/* ---- life ---- */

static int open_libraries(lua_State *L)
{
	luaL_checkversion(L);
	lua_newtable(L); /* the script's globals; the original ones stay out of reach */
	sandbox_open_base(L);
	sandbox_open_math(L);
	sandbox_open_string(L);
	sandbox_open_table(L);
	sandbox_open_utf8(L);
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "_G");
	sandbox_make_strict(L, "");
	lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
	return 0;
}

struct sandbox *sandbox_new(const struct sandbox_options *opt)
{
	struct sandbox *sb = calloc(1, sizeof(*sb));

	if (!sb)
		return NULL;
	sb->memory_max = opt->memory_bytes ? opt->memory_bytes : SANDBOX_MEMORY;
	sb->steps_max = opt->steps ? opt->steps : SANDBOX_STEPS_FILE;
	sb->print = opt->print;
	sb->print_arg = opt->print_arg;
	sb->user = opt->user;

	lua_State *L = lua_newstate(allocate, sb);

	if (!L) {
		free(sb);
		return NULL;
	}
	sb->L = L;
	*(struct sandbox **)lua_getextraspace(L) = sb;
	lua_pushcfunction(L, open_libraries);
	if (lua_pcall(L, 0, 0, 0) != LUA_OK) {
		sandbox_free(sb);
		return NULL;
	}
	sb->steps = 0;
	lua_sethook(L, count_hook, LUA_MASKCOUNT, HOOK_INTERVAL);
	return sb;
}

void sandbox_free(struct sandbox *sb)
{
	if (!sb)
		return;
	lua_close(sb->L);
	free(sb);
}
