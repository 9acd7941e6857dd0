/*
 * What a task's script holds in its hands: the task, regions of memory, children, and what tasks
 * meet at. Every method ends in a call of the target.
 *
 * Before each call: a script that is over goes no further, and enough C stack must be left for
 * the target, whose memory manager runs on it. After each call: -EINTR means that the task was
 * killed, any other error is raised and may be caught.
 */
#include "load/script.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/random.h"
#include "lib/size.h"

#define CALL_STEPS 20            /* what a call of the target counts as */
#define STREAM_ACCESS 0x6c756102 /* "lua", 2: orders of random accesses */
#define PAGE 4096UL

#define TASK SCRIPT_TASK
#define REGION "region"
#define CHILD "child"

static const char *const sync_names[] = {
	[SYNC_BARRIER] = "barrier", [SYNC_EVENT] = "event", [SYNC_COUNTER] = "counter"};

struct region {
	u64 va;
	u64 len;
	bool gone; /* unmapped as a whole */
};

struct child {
	u32 number;
	bool waited;
};

struct sync {
	u32 index;
};

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

/* ---- memory ---- */

void script_push_region(lua_State *L, u64 va, u64 len)
{
	struct region *r = lua_newuserdatauv(L, sizeof(*r), 0);

	*r = (struct region){.va = va, .len = len};
	luaL_setmetatable(L, REGION);
}

static const char *const prot_names[] = {"none", "r", "rw", "rx", NULL};
static const int prot_bits[] = {0, TARGET_PROT_READ, TARGET_PROT_READ | TARGET_PROT_WRITE,
                                TARGET_PROT_READ | TARGET_PROT_EXEC};

static int task_mmap(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	struct {
		u32 prot;
		bool noreserve;
		bool locked;
		bool populate;
		bool shared;
	} opt = {.prot = 2};
	static const struct field fields[] = {
		{"prot", FIELD_CHOICE, 0, 0, 0, prot_names},
		{"noreserve", FIELD_BOOL, sizeof(u32), 0, 0, NULL},
		{"locked", FIELD_BOOL, sizeof(u32) + 1, 0, 0, NULL},
		{"populate", FIELD_BOOL, sizeof(u32) + 2, 0, 0, NULL},
		{"shared", FIELD_BOOL, sizeof(u32) + 3, 0, 0, NULL},
	};
	int flags;
	u64 len;
	u64 va = 0;

	script_check_object(L, TASK, "mmap");
	if (script_is_file(L, 2))
		return script_mmap_file(L);
	len = script_check_size(L, 2, "mmap");
	if (len == 0)
		sandbox_error(L, "mmap: a size of 0");
	if (!lua_isnoneornil(L, 3)) {
		struct field_table t = {.L = L, .index = 3, .what = "mmap"};

		luaL_checktype(L, 3, LUA_TTABLE);
		fields_read(&t, fields, ARRAY_SIZE(fields), &opt);
	}
	len = ALIGN(len, PAGE);
	flags = (opt.noreserve ? TARGET_MAP_NORESERVE : 0) | (opt.locked ? TARGET_MAP_LOCKED : 0) |
	        (opt.populate ? TARGET_MAP_POPULATE : 0) | (opt.shared ? TARGET_MAP_SHARED : 0);
	script_end_call(L, "mmap", sc->ops->mmap(sc->task, len, prot_bits[opt.prot], flags, &va));
	script_push_region(L, va, len);
	return 1;
}

static int task_region(lua_State *L)
{
	s64 va;

	script_begin_call(L);
	script_check_object(L, TASK, "region");
	va = luaL_checkinteger(L, 2);
	if (va <= 0 || !IS_ALIGNED(va, (s64)PAGE))
		sandbox_error(L, "region: the address must be that of a page");
	script_push_region(L, (u64)va, ALIGN(script_check_size(L, 3, "region"), PAGE));
	return 1;
}

/* ---- locked memory: of bytes, at any address ---- */

static void check_bytes(lua_State *L, const char *what, u64 *va, u64 *len)
{
	int ok;

	script_check_object(L, TASK, what);
	*va = (u64)lua_tointegerx(L, 2, &ok);
	if (!ok)
		sandbox_error(L, "%s: expected an address, as m.va, got %s", what,
		              luaL_typename(L, 2));
	/* A whole number is one of bytes here, however small. */
	if (lua_isinteger(L, 3) && lua_tointeger(L, 3) >= 0)
		*len = (u64)lua_tointeger(L, 3);
	else
		*len = script_check_size(L, 3, what);
}

static int task_mlock(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	u64 va, len;

	check_bytes(L, "mlock", &va, &len);
	script_end_call(L, "mlock", sc->ops->mlock(sc->task, va, len, 0));
	return 0;
}

static int task_mlock2(lua_State *L)
{
	static const char *const names[] = {"onfault", NULL};
	struct script *sc = script_begin_call(L);
	int flags = 0;
	u64 va, len;

	check_bytes(L, "mlock2", &va, &len);
	for (int arg = 4; arg <= lua_gettop(L); arg++)
		flags |= 1 << script_check_choice(L, arg, "mlock2", "flag", names);
	script_end_call(L, "mlock2", sc->ops->mlock(sc->task, va, len, flags));
	return 0;
}

static int task_munlock(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	u64 va, len;

	check_bytes(L, "munlock", &va, &len);
	script_end_call(L, "munlock", sc->ops->munlock(sc->task, va, len));
	return 0;
}

static int task_mlockall(lua_State *L)
{
	static const char *const names[] = {"current", "future", "onfault", NULL};
	struct script *sc = script_begin_call(L);
	int flags = 0;

	script_check_object(L, TASK, "mlockall");
	for (int arg = 2; arg <= lua_gettop(L); arg++)
		flags |= 1 << script_check_choice(L, arg, "mlockall", "flag", names);
	if (!flags)
		sandbox_error(L, "mlockall: expected \"current\", \"future\" or \"onfault\"");
	script_end_call(L, "mlockall", sc->ops->mlockall(sc->task, flags));
	return 0;
}

static int task_munlockall(lua_State *L)
{
	struct script *sc = script_begin_call(L);

	script_check_object(L, TASK, "munlockall");
	script_end_call(L, "munlockall", sc->ops->mlockall(sc->task, 0));
	return 0;
}

/* A policy's name and, as a table of numbers, its nodes: arguments 2 and 3. */
static enum target_mempolicy check_policy(lua_State *L, const char *what, u64 *nodes)
{
	static const char *const names[] = {"default",    "preferred", "bind",
	                                    "interleave", "local",     NULL};
	u32 mode = script_check_choice(L, 2, what, "policy", names);

	*nodes = 0;
	if (lua_isnoneornil(L, 3))
		return (enum target_mempolicy)mode;
	luaL_checktype(L, 3, LUA_TTABLE);
	for (lua_Integer i = 1; lua_geti(L, 3, i) != LUA_TNIL; i++) {
		int ok;
		lua_Integer node = lua_tointegerx(L, -1, &ok);

		if (!ok || node < 0 || node > 63)
			sandbox_error(L, "%s: nodes are numbers from 0 to 63", what);
		*nodes |= 1UL << node;
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return (enum target_mempolicy)mode;
}

static int task_set_mempolicy(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	enum target_mempolicy mode;
	u64 nodes;

	script_check_object(L, TASK, "set_mempolicy");
	mode = check_policy(L, "set_mempolicy", &nodes);
	script_end_call(L, "set_mempolicy", sc->ops->set_mempolicy(sc->task, mode, nodes));
	return 0;
}

static int task_brk(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	s64 delta;
	u64 end = 0;

	script_check_object(L, TASK, "brk");
	if (lua_type(L, 2) == LUA_TSTRING && lua_tostring(L, 2)[0] == '-') {
		lua_pushstring(L, lua_tostring(L, 2) + 1);
		delta = -(s64)script_check_size(L, -1, "brk");
	} else if (lua_type(L, 2) == LUA_TNUMBER && lua_tonumber(L, 2) < 0) {
		lua_pushnumber(L, -lua_tonumber(L, 2));
		delta = -(s64)script_check_size(L, -1, "brk");
	} else {
		delta = (s64)script_check_size(L, 2, "brk");
	}
	script_end_call(L, "brk", sc->ops->brk(sc->task, delta, &end));
	lua_pushinteger(L, (lua_Integer)end);
	return 1;
}

/* The optional (offset, length) from argument @arg on, as [*va, *va + *len). */
static void check_range(lua_State *L, const struct region *r, int arg, const char *what, u64 *va,
                        u64 *len)
{
	u64 offset = 0;

	if (r->gone)
		sandbox_error(L, "%s: this region has been unmapped", what);
	if (!lua_isnoneornil(L, arg) && !lua_istable(L, arg))
		offset = script_check_size(L, arg, what);
	if (!IS_ALIGNED(offset, PAGE))
		sandbox_error(L, "%s: the offset must be a multiple of 4K", what);
	if (offset > r->len)
		sandbox_error(L, "%s: the offset is behind the region's end", what);
	*va = r->va + offset;
	*len = r->len - offset;
	if (!lua_isnoneornil(L, arg) && !lua_isnoneornil(L, arg + 1) && !lua_istable(L, arg) &&
	    !lua_istable(L, arg + 1)) {
		u64 wanted = ALIGN(script_check_size(L, arg + 1, what), PAGE);

		if (wanted > *len)
			sandbox_error(L, "%s: offset and length reach beyond the region's end",
			              what);
		*len = wanted;
	}
}

static int access_region(lua_State *L, enum target_access kind, const char *what)
{
	static const struct field fields[] = {{"random", FIELD_BOOL, 0, 0, 0, NULL}};
	struct script *sc = script_begin_call(L);
	struct region *r = script_check_object(L, REGION, what);
	bool random = false;
	u64 seed = 0;
	u64 va;
	u64 len;

	check_range(L, r, 2, what, &va, &len);
	if (lua_gettop(L) > 1 && lua_istable(L, -1)) {
		struct field_table t = {.L = L, .index = lua_gettop(L), .what = what};

		fields_read(&t, fields, ARRAY_SIZE(fields), &random);
	}
	if (random)
		seed = rand_hash(sc->task->seed, STREAM_ACCESS, 0, sc->nr_random++) | 1;
	if (len)
		script_end_call(L, what, sc->ops->access(sc->task, va, len, kind, seed));
	lua_settop(L, 1);
	return 1; /* so that calls can be chained */
}

static int region_fill(lua_State *L)
{
	return access_region(L, TARGET_FILL, "fill");
}

static int region_touch(lua_State *L)
{
	return access_region(L, TARGET_TOUCH, "touch");
}

static int region_read(lua_State *L)
{
	return access_region(L, TARGET_READ, "read");
}

static int region_scan(lua_State *L)
{
	return access_region(L, TARGET_SCAN, "scan");
}

static int region_madvise(lua_State *L)
{
	static const char *const names[] = {[TARGET_MADV_NORMAL] = "normal",
	                                    [TARGET_MADV_DONTNEED] = "dontneed",
	                                    [TARGET_MADV_FREE] = "free",
	                                    [TARGET_MADV_WILLNEED] = "willneed",
	                                    [TARGET_MADV_RANDOM] = "random",
	                                    [TARGET_MADV_SEQUENTIAL] = "sequential",
	                                    [TARGET_MADV_HUGEPAGE] = "hugepage",
	                                    [TARGET_MADV_NOHUGEPAGE] = "nohugepage",
	                                    [TARGET_MADV_COLD] = "cold",
	                                    [TARGET_MADV_PAGEOUT] = "pageout",
	                                    NULL};
	struct script *sc = script_begin_call(L);
	struct region *r = script_check_object(L, REGION, "madvise");
	u32 advice = script_check_choice(L, 2, "madvise", "advice", names);
	u64 va;
	u64 len;

	check_range(L, r, 3, "madvise", &va, &len);
	if (len)
		script_end_call(L, "madvise",
		                sc->ops->madvise(sc->task, va, len, (enum target_advice)advice));
	lua_settop(L, 1);
	return 1;
}

static int region_mbind(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	struct region *r = script_check_object(L, REGION, "mbind");
	u64 nodes;
	enum target_mempolicy mode = check_policy(L, "mbind", &nodes);
	u64 va;
	u64 len;

	check_range(L, r, 4, "mbind", &va, &len);
	if (len)
		script_end_call(L, "mbind", sc->ops->mbind(sc->task, va, len, mode, nodes));
	lua_settop(L, 1);
	return 1;
}

static int region_mprotect(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	struct region *r = script_check_object(L, REGION, "mprotect");
	u32 prot = script_check_choice(L, 2, "mprotect", "protection", prot_names);
	u64 va;
	u64 len;

	check_range(L, r, 3, "mprotect", &va, &len);
	if (len)
		script_end_call(L, "mprotect",
		                sc->ops->mprotect(sc->task, va, len, prot_bits[prot]));
	lua_settop(L, 1);
	return 1;
}

/*
 * m:mremap(size [, {maymove = true, to = address}]): m is what it has become. Without options it grows in
 * place or not at all, as mremap() without flags.
 */
static int region_mremap(lua_State *L)
{
	struct {
		u64 to;
		bool maymove;
	} opt = {0};
	static const struct field fields[] = {
		{"to", FIELD_SIZE, 0, 1, 0, NULL},
		{"maymove", FIELD_BOOL, sizeof(u64), 0, 0, NULL},
	};
	struct script *sc = script_begin_call(L);
	struct region *r = script_check_object(L, REGION, "mremap");
	u64 len = ALIGN(script_check_size(L, 2, "mremap"), PAGE);
	int flags = 0;
	u64 va;

	if (r->gone)
		sandbox_error(L, "mremap: this region has been unmapped");
	if (!lua_isnoneornil(L, 3)) {
		struct field_table t = {.L = L, .index = 3, .what = "mremap"};

		luaL_checktype(L, 3, LUA_TTABLE);
		fields_read(&t, fields, ARRAY_SIZE(fields), &opt);
	}
	if (opt.to)
		flags = TARGET_MREMAP_FIXED | TARGET_MREMAP_MAYMOVE;
	else if (opt.maymove)
		flags = TARGET_MREMAP_MAYMOVE;
	va = opt.to;
	script_end_call(L, "mremap", sc->ops->mremap(sc->task, r->va, r->len, len, flags, &va));
	r->va = va;
	r->len = len;
	lua_settop(L, 1);
	return 1;
}

static int region_munmap(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	struct region *r = script_check_object(L, REGION, "munmap");
	u64 va;
	u64 len;

	check_range(L, r, 2, "munmap", &va, &len);
	if (len)
		script_end_call(L, "munmap", sc->ops->munmap(sc->task, va, len));
	r->gone = len == r->len;
	return 0;
}

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

	script_check_object(L, TASK, what);
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

static int task_sleep(lua_State *L)
{
	struct script *sc = script_begin_call(L);

	script_check_object(L, TASK, "sleep");
	script_end_call(L, "sleep", sc->ops->sleep(sc->task, check_time(L, 2, "sleep")));
	return 0;
}

static int task_compute(lua_State *L)
{
	struct script *sc = script_begin_call(L);

	script_check_object(L, TASK, "compute");
	script_end_call(L, "compute", sc->ops->compute(sc->task, check_time(L, 2, "compute")));
	return 0;
}

/* t:drop_caches("pagecache" | "slab" | "all") */
static int task_drop_caches(lua_State *L)
{
	static const char *const names[] = {"pagecache", "slab", "all", NULL};
	struct script *sc = script_begin_call(L);
	u32 what;

	script_check_object(L, TASK, "drop_caches");
	what = script_check_choice(L, 2, "drop_caches", "what to drop", names);
	script_end_call(L, "drop_caches", sc->ops->drop_caches(sc->task, what + 1));
	return 0;
}

static int task_swapoff(lua_State *L)
{
	struct script *sc = script_begin_call(L);

	script_check_object(L, TASK, "swapoff");
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

	script_check_object(L, TASK, "record_time");
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

	script_check_object(L, TASK, "start_measuring");
	script_end_call(L, "start_measuring", sc->ops->start_measuring(sc->task));
	return 0;
}

static int task_now(lua_State *L)
{
	struct script *sc = script_begin_call(L);

	script_check_object(L, TASK, "now");
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

static int barrier_wait(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	u32 i = check_sync(L, SYNC_BARRIER, "wait");

	say_waits_for(L, "%s waits for all %u tasks of barrier '%s'", sc->task->function,
	              sc->program->barrier_size[i], sc->program->barrier[i]);
	script_end_call(L, "wait", sc->ops->barrier(sc->task, i));
	sc->task->waits_for[0] = '\0';
	return 0;
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
	script_end_call(L, "wait", sc->ops->event_wait(sc->task, i));
	sc->task->waits_for[0] = '\0';
	return 0;
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

static int plain_index(lua_State *L)
{
	return script_lookup(L, NULL);
}

static bool region_field(lua_State *L, const char *key)
{
	struct region *r = script_check_object(L, REGION, "field");

	if (strcmp(key, "va") == 0)
		lua_pushinteger(L, (lua_Integer)r->va);
	else if (strcmp(key, "len") == 0)
		lua_pushinteger(L, (lua_Integer)r->len);
	else
		return false;
	return true;
}

static int region_index(lua_State *L)
{
	return script_lookup(L, region_field);
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
	static const luaL_Reg task[] = {
		{"brk", task_brk},
		{"compute", task_compute},
		{"fork", task_fork},
		{"drop_caches", task_drop_caches},
		{"swapoff", task_swapoff},
		{"record_time", task_record_time},
		{"start_measuring", task_start_measuring},
		{"mlock", task_mlock},
		{"mlock2", task_mlock2},
		{"mlockall", task_mlockall},
		{"mmap", task_mmap},
		{"munlock", task_munlock},
		{"munlockall", task_munlockall},
		{"now", task_now},
		{"region", task_region},
		{"open", script_task_open},
		{"sync", script_task_sync},
		{"temporary", script_task_temporary},
		{"set_mempolicy", task_set_mempolicy},
		{"sleep", task_sleep},
		{"spawn", task_spawn},
		{"thread", task_thread},
		{NULL, NULL},
	};
	static const luaL_Reg region[] = {
		{"fill", region_fill},       {"mbind", region_mbind},
		{"madvise", region_madvise}, {"mprotect", region_mprotect},
		{"mremap", region_mremap},   {"munmap", region_munmap},
		{"read", region_read},       {"scan", region_scan},
		{"touch", region_touch},     {NULL, NULL},
	};
	static const luaL_Reg child[] = {{"wait", child_wait}, {NULL, NULL}};
	static const luaL_Reg barrier[] = {{"wait", barrier_wait}, {NULL, NULL}};
	static const luaL_Reg event[] = {{"set", event_set}, {"wait", event_wait}, {NULL, NULL}};
	static const luaL_Reg counter[] = {
		{"add", counter_add}, {"get", counter_get}, {NULL, NULL}};

	script_add_object(L, TASK, task, task_index);
	script_add_object(L, REGION, region, region_index);
	script_add_object(L, CHILD, child, plain_index);
	script_add_object(L, sync_names[SYNC_BARRIER], barrier, plain_index);
	script_add_object(L, sync_names[SYNC_EVENT], event, plain_index);
	script_add_object(L, sync_names[SYNC_COUNTER], counter, plain_index);
}

void script_push_task(lua_State *L)
{
	lua_newuserdatauv(L, 1, 0);
	luaL_setmetatable(L, TASK);
}
