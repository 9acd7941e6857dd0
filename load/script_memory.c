/*
 * Memory in a task's script: mappings, locks, policies, the break, and regions.
 */
#include "load/script.h"

#include <lauxlib.h>
#include <string.h>

#include "lib/random.h"
#include "lib/size.h"

#define STREAM_ACCESS 0x6c756102 /* "lua", 2: orders of random accesses */
#define PAGE 4096UL
#define REGION "region"

struct region {
	u64 va;
	u64 len;
	bool gone; /* unmapped as a whole */
};

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

	script_check_object(L, SCRIPT_TASK, "mmap");
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
	script_check_object(L, SCRIPT_TASK, "region");
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

	script_check_object(L, SCRIPT_TASK, what);
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

	script_check_object(L, SCRIPT_TASK, "mlockall");
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

	script_check_object(L, SCRIPT_TASK, "munlockall");
	script_end_call(L, "munlockall", sc->ops->mlockall(sc->task, 0));
	return 0;
}

/* A table of nodes, a bit each. */
static u64 check_nodes(lua_State *L, int arg, const char *what)
{
	u64 nodes = 0;

	luaL_checktype(L, arg, LUA_TTABLE);
	for (lua_Integer i = 1; lua_geti(L, arg, i) != LUA_TNIL; i++) {
		int ok;
		lua_Integer node = lua_tointegerx(L, -1, &ok);

		if (!ok || node < 0 || node > 63)
			sandbox_error(L, "%s: nodes are numbers from 0 to 63", what);
		nodes |= 1UL << node;
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return nodes;
}

/* A policy's name and its nodes: arguments 2 and 3. */
static enum target_mempolicy check_policy(lua_State *L, const char *what, u64 *nodes)
{
	static const char *const names[] = {"default", "preferred",           "bind", "interleave",
	                                    "local",   "weighted interleave", NULL};
	u32 mode = script_check_choice(L, 2, what, "policy", names);

	*nodes = 0;
	if (lua_isnoneornil(L, 3))
		return (enum target_mempolicy)mode;
	*nodes = check_nodes(L, 3, what);
	return (enum target_mempolicy)mode;
}

/* t:migrate_pages({ from }, { to }): how many pages are left where they were. */
static int task_migrate_pages(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	u64 left = 0;
	u64 from;

	script_check_object(L, SCRIPT_TASK, "migrate_pages");
	from = check_nodes(L, 2, "migrate_pages");
	script_end_call(
		L, "migrate_pages",
		sc->ops->migrate_pages(sc->task, from, check_nodes(L, 3, "migrate_pages"), &left));
	lua_pushinteger(L, (lua_Integer)left);
	return 1;
}

static int task_set_mempolicy(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	enum target_mempolicy mode;
	u64 nodes;

	script_check_object(L, SCRIPT_TASK, "set_mempolicy");
	mode = check_policy(L, "set_mempolicy", &nodes);
	script_end_call(L, "set_mempolicy", sc->ops->set_mempolicy(sc->task, mode, nodes));
	return 0;
}

static int task_brk(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	s64 delta;
	u64 end = 0;

	script_check_object(L, SCRIPT_TASK, "brk");
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

/* m:move_pages(node [, offset, length]): how many of its pages are not there. */
static int region_move_pages(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	struct region *r = script_check_object(L, REGION, "move_pages");
	lua_Integer node = lua_isinteger(L, 2) ? lua_tointeger(L, 2) : -1;
	u64 left = 0;
	u64 va;
	u64 len;

	if (node < 0 || node > 63)
		sandbox_error(L, "move_pages: a node is a number from 0 to 63");
	check_range(L, r, 3, "move_pages", &va, &len);
	if (len)
		script_end_call(L, "move_pages",
		                sc->ops->move_pages(sc->task, va, len, (u32)node, &left));
	lua_pushinteger(L, (lua_Integer)left);
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

void script_open_memory(lua_State *L)
{
	static const luaL_Reg task[] = {
		{"brk", task_brk},
		{"migrate_pages", task_migrate_pages},
		{"mlock", task_mlock},
		{"mlock2", task_mlock2},
		{"mlockall", task_mlockall},
		{"mmap", task_mmap},
		{"munlock", task_munlock},
		{"munlockall", task_munlockall},
		{"region", task_region},
		{"set_mempolicy", task_set_mempolicy},
		{NULL, NULL},
	};
	static const luaL_Reg region[] = {
		{"fill", region_fill},
		{"mbind", region_mbind},
		{"madvise", region_madvise},
		{"mprotect", region_mprotect},
		{"mremap", region_mremap},
		{"munmap", region_munmap},
		{"read", region_read},
		{"scan", region_scan},
		{"touch", region_touch},
		{"move_pages", region_move_pages},
		{NULL, NULL},
	};

	script_add_methods(L, SCRIPT_TASK, task);
	script_add_object(L, REGION, region, region_index);
}
