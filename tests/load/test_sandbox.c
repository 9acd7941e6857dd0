/*
 * The sandbox: what a script can reach, that it is the same in every run, and that it is bounded.
 *
 * Scripts are strings; each is expected to return text, or to fail with a message. The pattern
 * functions are compared with Lua's own on random patterns and subjects.
 */
#include "tests/test.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <time.h>

#include "load/sandbox.h"
#include "load/target.h"

static char err[TARGET_ERROR_MAX];
static char text[4096];

/* Run @code in a fresh state. Returns what sandbox_call() did; the result's text is in text[]. */
static int run_with(const char *code, const struct sandbox_options *opt)
{
	struct sandbox *sb = sandbox_new(opt);
	int result;

	assert_non_null(sb);
	sandbox_seed(sb, test_seed());
	result = sandbox_compile(sb, "file.lua", code, strlen(code), err);
	if (!result)
		result = sandbox_call(sb, 0, 1, err);
	if (!result) {
		const char *s = lua_tostring(sb->L, -1);

		snprintf(text, sizeof(text), "%s", s ? s : "nil");
		lua_pop(sb->L, 1);
	}
	assert_int_equal(lua_gettop(sb->L), 0);
	sandbox_free(sb);
	return result;
}

static u64 steps_max; /* of the states that run() makes; 0: the default */

static int run(const char *code)
{
	return run_with(code, &(struct sandbox_options){.steps = steps_max});
}

static void gives(const char *code, const char *expected)
{
	if (run(code))
		fail_msg("%s: %s", code, err);
	assert_string_equal(text, expected);
}

static void fails(const char *code, const char *what)
{
	if (run(code) == 0)
		fail_msg("does not fail: %s", code);
	if (!strstr(err, what))
		fail_msg("%s: says '%s' instead of '%s'", code, err, what);
	if (strncmp(err, "file.lua:", 9) != 0)
		fail_msg("no place in '%s'", err);
}

/* ---- what there is ---- */

TEST(nothing_reaches_the_host)
{
	static const char *const gone[] = {"io",      "os",        "debug",         "require",
	                                   "package", "dofile",    "loadfile",      "load",
	                                   "warn",    "coroutine", "collectgarbage"};
	char code[64];

	for (size_t i = 0; i < ARRAY_SIZE(gone); i++) {
		snprintf(code, sizeof(code), "return %s", gone[i]);
		fails(code, "unknown name");
		snprintf(code, sizeof(code), "return rawget(_G, '%s')", gone[i]);
		gives(code, "nil");
	}
	fails("return string.dump", "unknown name 'string.dump'");
	fails("return math.sin(1)", "unknown name 'math.sin'");
	fails("return getmetatable('').__index", "unknown name 'string.__index'");
	fails("setmetatable(_G, nil)", "protected metatable");
	fails("prnt(1)", "did you mean 'print'");
}

TEST(libraries_work)
{
	gives("return ('%5.1f|%d|%s|%q|%%'):format(1.25, 3, true, 'a')", "  1.2|3|true|\"a\"|%");
	gives("return ('abc'):rep(3, '-') .. #(''):rep(1 << 60)", "abc-abc-abc0");
	gives("return table.concat({1, 2, 3}, ',')", "1,2,3");
	gives("local t = {1, 2, 3} table.insert(t, 2, 9) table.remove(t, 1) return #t .. t[1]",
	      "39");
	gives("return select('#', table.unpack({1, 2, 3}))", "3");
	gives("return table.concat(table.move({1, 2, 3}, 1, 3, 2), ' ')", "1 1 2 3");
	gives("return utf8.char(228) .. utf8.len('\xc3\xa4x')", "\xc3\xa4"
	                                                        "2");
	gives("return tostring(1e15) .. tostring(2^53) .. tostring(-0.0)",
	      "1e+159.007199254741e+15-0.0");
	gives("return math.max(3, 1) .. math.floor(2.5) .. math.type(1)", "32integer");
	gives("local ok, e = pcall(error, 'x') return e", "x");
	gives("local ok, e = xpcall(error, function(m) return m .. '!' end, 'x') return e", "x!");
	gives("return tostring(xpcall(function(...) return select('#', ...) end, print, 1, 2))",
	      "true");
	gives("local t = setmetatable({}, {__index = {a = 1}, __len = function() return 7 end})\n"
	      "return t.a + #t",
	      "8");
	gives("local s = 0 for k, v in ipairs({5, 6, nil, 7}) do s = s + v end return s", "11");
}

/* ---- the same everywhere ---- */

TEST(pairs_and_next_go_in_order)
{
	const char *table =
		"local t = {z = 1, a = 1, [10] = 1, [-1] = 1, [2.5] = 1, [true] = 1,\n"
		"[false] = 1, [1e300] = 1, [-1e300] = 1, aa = 1, ['a\\0'] = 1, [1] = 1}\n"
		"local s = '' ";
	char code[512];
	const char *order = "-1e+300 -1 1 2.5 10 1e+300 a a\\0 aa z false true ";

	snprintf(code, sizeof(code),
	         "%s for k in pairs(t) do s = s .. tostring(k):gsub('%%z', '\\\\0') .. ' ' end "
	         "return s",
	         table);
	gives(code, order);
	snprintf(code, sizeof(code),
	         "%s for k in next, t do s = s .. tostring(k):gsub('%%z', '\\\\0') .. ' ' end "
	         "return s",
	         table);
	gives(code, order);
	gives("local t, n = {1, 2, 3, 4}, 0 for k in pairs(t) do t[k] = nil t[k + 1] = nil n = n + "
	      "1 end "
	      "return n",
	      "2");
	gives("local t, s = setmetatable({}, {__pairs = function(t) return function(_, k)\n"
	      "  if not k then return 1, 5 end end, t, nil end}), 0\n"
	      "for k, v in pairs(t) do s = s + v end return s",
	      "5");
	fails("for k in pairs({[{}] = 1, [{}] = 2}) do end", "no order that repeats");
	gives("local a, b, s = {}, {}, '' local _ = tostring(a) .. tostring(b)\n"
	      "for k in pairs({[b] = 1, [a] = 2}) do s = s .. tostring(k) end return s",
	      "table: 1table: 2");
	fails("return next({}, 1)", "not in the table");
}

TEST(no_address_is_shown)
{
	gives("return tostring({}) .. tostring(print) .. tostring({})",
	      "table: 1function: 2table: 3");
	gives("local t = {} return tostring(t) .. tostring(t)", "table: 1table: 1");
	gives("return ('%s %p %10p'):format({}, {}, 5)", "table: 1 object:2     (null)");
	gives("return tostring(setmetatable({}, {__tostring = function() return 'me' end}))", "me");
	gives("return tostring(setmetatable({}, {__name = 'thing'}))", "thing: 1");
	fails("error(setmetatable({}, {__tostring = 1}))", "not a string");
}

TEST(random_numbers_come_from_the_seed)
{
	char first[64];

	assert_int_equal(run("return math.random(1000000) .. ' ' .. math.random()"), 0);
	strcpy(first, text);
	assert_int_equal(run("return math.random(1000000) .. ' ' .. math.random()"), 0);
	assert_string_equal(first, text);
	gives("for i = 1, 1000 do local r = math.random(3, 7) assert(r >= 3 and r <= 7)\n"
	      "r = math.random() assert(r >= 0 and r < 1) end return math.random(5, 5)",
	      "5");
	gives("return math.type(math.random(0))", "integer");
	gives("return math.random(math.mininteger, math.maxinteger) ~= nil and 'ok'", "ok");
	fails("math.random(0, -1)", "interval is empty");
}

TEST(sort_is_stable_and_notices_bad_orders)
{
	gives("local t = {} for i = 1, 100 do t[i] = {i * 37 % 10, i} end\n"
	      "table.sort(t, function(a, b) return a[1] < b[1] end)\n"
	      "for i = 2, 100 do assert(t[i - 1][1] < t[i][1] or\n"
	      "  t[i - 1][1] == t[i][1] and t[i - 1][2] < t[i][2]) end return 'ok'",
	      "ok");
	gives("local t = {'b', 'a', 'c'} table.sort(t) return table.concat(t)", "abc");
	gives("local t = {3} table.sort(t) table.sort({}) return t[1]", "3");
	fails("table.sort({3, 2, 1, 4}, function() return true end)", "invalid order function");
	fails("table.sort({3, 'x', 1})", "attempt to compare");
	fails("table.sort({1, 2, 3}, 5)", "function expected");
}

TEST(garbage_collection_does_not_show)
{
	fails("setmetatable({}, {__gc = function() end})", "'__gc' is not allowed");
	fails("setmetatable({}, {__mode = 'k'})", "'__mode' is not allowed");
	fails("local m = {__mode = 'k'} m.__index = m return setmetatable({}, m)", "not allowed");
}

/* ---- bounds ---- */

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

TEST(steps_are_bounded)
{
	static const char *const endless[] = {
		"while true do end",
		"repeat until false",
		"for i = 1, math.huge do end",
		"while true do pcall(error) end",
		"while true do pcall(function() while true do end end) end",
		"while true do xpcall(error, function() while true do end end) end",
		"local x <close> = setmetatable({}, {__close = function() while true do end end})\n"
		"while true do end",
		"while true do local s = ('x'):rep(1000000) end",
		"local s = ('x'):rep(1000000) while true do s:upper() end",
		"local s = ('x'):rep(1000000) while true do s:find('y', 1, true) end",
		"local t = {} for i = 1, 10000 do t[i] = i end while true do table.sort(t) end",
		"local t = {} for i = 1, 10000 do t[i] = i end while true do table.remove(t, 1) "
		"t[10000]"
		" = 1 end",
		"local t = {} for i = 1, 10000 do t[i] = i end while true do for k in pairs(t) do "
		"end "
		"end",
		"local t = setmetatable({}, {__index = table.concat})\n"
		"while true do table.concat(t, '', 1, 9999999) end",
		"local t = setmetatable({}, {__index = function() return 1 end})\n"
		"for _, v in ipairs(t) do end",
	};

	steps_max = 3000000;
	for (size_t i = 0; i < ARRAY_SIZE(endless); i++) {
		double begin = cpu_seconds();

		fails(endless[i], "does this end?");
		if (cpu_seconds() - begin > 20)
			fail_msg("takes %.1f s: %s", cpu_seconds() - begin, endless[i]);
	}
	steps_max = 0;
	fails("table.move({}, 1, 1 << 50, 2)", "more than a script may handle");
	fails("table.concat({}, '', 1, 1 << 50)", "more than a script may handle");
	fails("table.insert(setmetatable({}, {__len = function() return 1 << 50 end}), 1, 1)",
	      "more than a script may handle");
}

TEST(memory_is_bounded)
{
	static const char *const huge[] = {
		"return ('x'):rep(1 << 30)",
		"return ('x'):rep(1 << 62)",
		"local s = 'x' while true do s = s .. s end",
		"local s = ('x'):rep(20000000) return s:gsub('x', 'yyyyyyyy')",
		"local s = ('x'):rep(30000000) return s:upper() .. s:lower()",
		"local t = {} for i = 1, 100 do t[i] = ('x'):rep(1e6) end return table.concat(t)",
	};

	for (size_t i = 0; i < ARRAY_SIZE(huge); i++)
		fails(huge[i], "out of memory");
	/* Not to be caught either: what would go on has nothing to go on with. */
	fails("pcall(string.rep, 'x', 1 << 30) return 1", "out of memory");
	fails("while true do pcall(function() local s = 'x' while true do s = s .. s end end) end",
	      "out of memory");
	fails("local function f() return 1 + f() end f()", "does this recursion end?");
	gives("for i = 1, 20 do local s = ('x'):rep(5000000) end return 1", "1");
}

TEST(caps_can_be_chosen)
{
	struct sandbox_options opt = {.memory_bytes = 256 << 10, .steps = 1000000};

	assert_int_equal(run_with("return ('x'):rep(1 << 20)", &opt), -EINVAL);
	assert_non_null(strstr(err, "out of memory"));
	assert_int_equal(run_with("while true do end", &opt), -EINVAL);
	assert_non_null(strstr(err, "1 million steps"));
	/* Even too little memory for the libraries is no crash. */
	for (u64 bytes = 1; bytes < 64 << 10; bytes += 509) {
		struct sandbox *sb = sandbox_new(&(struct sandbox_options){.memory_bytes = bytes});

		sandbox_free(sb);
	}
}

static u32 nr_printed;

static void count_print(void *arg, const char *line)
{
	(void)arg;
	nr_printed += (u32)strlen(line) + 1;
}

TEST(printing_is_bounded)
{
	struct sandbox_options opt = {.print = count_print};

	assert_int_equal(run_with("for i = 1, 100000 do print(i, 'x') end", &opt), 0);
	assert_true(nr_printed > SANDBOX_PRINT_MAX - 100 && nr_printed <= SANDBOX_PRINT_MAX);
}

/* ---- errors ---- */

TEST(errors_are_one_printable_line)
{
	fails("error('a\\nb\\27[31mc')", "a b?[31mc");
	fails("\n\nerror('x', 0)", "file.lua:3: x");
	fails("local t = nil; t.x = 1", "attempt to index a nil value (local 't')");
	fails("error()", "not a string");
	fails("error({code = 1})", "not a string");
	fails("return 1 +", "unexpected symbol");
	fails("\x1bLua", "compiled Lua");
}

TEST(long_paths_stay_whole)
{
	struct sandbox *sb = sandbox_new(&(struct sandbox_options){0});
	const char *path = "/a/very/long/way/down/to/where/somebody/keeps/the/scenarios/of/this/"
			   "program/x.lua";

	assert_int_equal(sandbox_compile(sb, path, "error('x')", 10, err), 0);
	assert_int_equal(sandbox_call(sb, 0, 0, err), -EINVAL);
	if (strncmp(err, path, strlen(path)) != 0 || strcmp(err + strlen(path), ":1: x") != 0)
		fail_msg("%s", err);
	sandbox_free(sb);
}

static int kill_me(lua_State *L)
{
	sandbox_kill(L);
}

TEST(a_kill_is_not_caught)
{
	static const char closes_for_ever[] =
		"local x <close> = setmetatable({}, {__close = function() while true do end end}) "
		"kill()";
	static const char *const codes[] = {
		"kill()",
		"pcall(kill) survived()",
		"xpcall(kill, function() survived() end) survived()",
		closes_for_ever,
		"pcall(table.sort, {2, 1}, kill) survived()",
		"pcall(string.gsub, 'x', 'x', kill) survived()",
		"tostring(setmetatable({}, {__tostring = kill})) survived()",
	};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct sandbox *sb = sandbox_new(&(struct sandbox_options){0});

		lua_register(sb->L, "kill", kill_me);
		assert_int_equal(sandbox_compile(sb, "f", codes[i], strlen(codes[i]), err), 0);
		assert_int_equal(sandbox_call(sb, 0, 0, err), -EINTR);
		sandbox_free(sb);
	}
}

TEST(compiled_files_come_back_with_their_lines)
{
	struct sandbox *a = sandbox_new(&(struct sandbox_options){0});
	struct sandbox *b = sandbox_new(&(struct sandbox_options){0});
	const char *code = "local x = 1\nerror('here')";
	char *bytes;
	size_t len;

	assert_int_equal(sandbox_compile(a, "f.lua", code, strlen(code), err), 0);
	assert_int_equal(sandbox_dump(a, &bytes, &len), 0);
	assert_int_equal(sandbox_undump(b, "f.lua", bytes, len, err), 0);
	assert_int_equal(sandbox_call(b, 0, 0, err), -EINVAL);
	assert_string_equal(err, "f.lua:2: here");
	free(bytes);
	sandbox_free(a);
	sandbox_free(b);
}

/* ---- patterns against the original ---- */

static char *random_text(struct rand_stream *r, char *buf, size_t max, const char *alphabet)
{
	size_t n = rand_below(r, max);

	for (size_t i = 0; i < n; i++)
		buf[i] = alphabet[rand_below(r, strlen(alphabet))];
	buf[n] = '\0';
	return buf;
}

/* All results of the call on top, or its error, as one string. */
static const char *call_all(lua_State *L, int nr_args)
{
	int base = lua_gettop(L) - nr_args;

	if (lua_pcall(L, nr_args, LUA_MULTRET, 0) != LUA_OK) {
		const char *message = lua_tostring(L, -1);
		const char *at = strstr(message, ": "); /* the two put the place differently */

		lua_pushfstring(L, "error: %s", at ? at + 2 : message);
		lua_replace(L, base);
		lua_settop(L, base);
		return lua_tostring(L, -1);
	}

	int n = lua_gettop(L) - base + 1;
	luaL_Buffer b;

	luaL_buffinit(L, &b);
	for (int i = 0; i < n; i++) {
		luaL_tolstring(L, base + i, NULL);
		luaL_addvalue(&b);
		luaL_addchar(&b, '|');
	}
	luaL_pushresult(&b);
	lua_replace(L, base);
	lua_settop(L, base);
	return lua_tostring(L, -1);
}

TEST(patterns_match_as_in_lua)
{
	static const char *const codes[] = {
		"local s, p, i = ... return s:find(p, i)",
		"local s, p, i = ... return s:match(p, i)",
		"local s, p = ... local r = {} for a, b in s:gmatch(p) do\n"
		"r[#r + 1] = tostring(a) .. ',' .. tostring(b) if #r > 50 then break end end\n"
		"return table.concat(r, ';')",
		"local s, p, i = ... return s:gsub(p, '<%0%1>', i)",
		"local s, p = ... return s:gsub(p, function(a) return a and 'f' end)",
		"local s, p = ... return s:gsub(p, {a = 'T', b = false, ab = 5})",
		"local s, p, i = ... return s:find(p, i, true)",
	};
	struct sandbox *sb = sandbox_new(&(struct sandbox_options){.steps = 1UL << 40});
	lua_State *L = luaL_newstate();
	struct rand_stream r;
	u32 nr_errors = 0;

	rand_init(&r, test_seed(), 1, 0);
	luaL_openlibs(L);
	for (size_t c = 0; c < ARRAY_SIZE(codes); c++) {
		assert_int_equal(sandbox_compile(sb, "f", codes[c], strlen(codes[c]), err), 0);
		assert_int_equal(luaL_loadstring(L, codes[c]), LUA_OK);
	}
	for (u32 i = 0; i < 200000; i++) {
		size_t c = rand_below(&r, ARRAY_SIZE(codes));
		char s[32];
		char p[16];
		lua_State *both[] = {sb->L, L};
		const char *said[2];

		random_text(&r, s, 12, "aaabbc.1 ()");
		random_text(&r, p, 10, "aab.%%()[]^$*+-?1fdwzs");
		lua_Integer init = (lua_Integer)rand_below(&r, 8) - 3;

		for (int k = 0; k < 2; k++) {
			lua_pushvalue(both[k], (int)c + 1);
			lua_pushstring(both[k], s);
			lua_pushstring(both[k], p);
			lua_pushinteger(both[k], init);
			said[k] = call_all(both[k], 3);
		}
		nr_errors += strncmp(said[0], "error", 5) == 0;
		if (strcmp(said[0], said[1]) != 0) {
			/* Lua names the capture in this message, and ours does not. */
			bool known = strstr(said[0], "invalid capture index") &&
			             strstr(said[1], "invalid capture index");

			if (!known)
				fail_msg("%s\nsubject '%s' pattern '%s' init %lld:\nours '%s'\n"
				         "Lua's '%s'",
				         codes[c], s, p, init, said[0], said[1]);
		}
		lua_settop(sb->L, ARRAY_SIZE(codes));
		lua_settop(L, ARRAY_SIZE(codes));
	}
	assert_true(nr_errors > 1000 && nr_errors < 190000);
	lua_close(L);
	sandbox_free(sb);
}

TEST(exploding_patterns_are_bounded)
{
	static const char *const codes[] = {
		"local s = ('a'):rep(40) return s:find(('a?'):rep(40) .. s)",
		"local s = ('a'):rep(40) return s:match(('a?'):rep(40) .. s)",
		"local s = ('a'):rep(40) return s:gsub(('a?'):rep(40) .. s, '')",
		"local s = ('a'):rep(40) for x in s:gmatch(('a?'):rep(40) .. s) do end",
		"local s = ('a'):rep(5000) return s:find('.-.-.-.-.-b')",
		"local s = ('a'):rep(5000) return s:find('.*.*.*.*.*b')",
		"local s = ('('):rep(500000) return s:find('%b()')",
		"local s = ('('):rep(500000) return s:gsub('%b()', '')",
	};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		fails(codes[i], "too long: matching pattern");
	fails("return (('x'):rep(300)):find(('x?'):rep(300))", "pattern too complex");
}

TEST(the_cpu_limit_ends_a_child)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		if (sandbox_limit_cpu(1))
			_exit(1);
		for (volatile u64 i = 0;; i++)
			;
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU);
}

TEST(the_cpu_guard_ends_what_no_step_counts)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		struct sandbox *sb = sandbox_new(&(struct sandbox_options){0});
		const char *code = "local s = ('x'):rep(9000000) local r = s .. 'y'\n"
				   "while true do local b = s < r end";

		close(STDERR_FILENO);
		if (sandbox_guard_cpu(600, "", 3))
			_exit(4);
		sandbox_unguard_cpu();
		if (sandbox_guard_cpu(0, "too long", 2))
			_exit(4);
		sandbox_compile(sb, "f", code, strlen(code), err);
		sandbox_call(sb, 0, 0, err);
		_exit(5);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
}

TEST_MAIN("sandbox")
