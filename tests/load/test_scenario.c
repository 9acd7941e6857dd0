/*
 * Scenarios: what a file declares arrives; what is wrong with it is said with its line and the
 * right spelling; tasks do on a target what their functions say; the same file does the same twice.
 *
 * Files are written to a temporary directory and run on the fake target.
 */
#include "tests/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include "load/scenario.h"
#include "tests/load/fake_target.c"

/* ---- help ---- */

static char file_path[64];
static char err[TARGET_ERROR_MAX];

static void write_file(const char *text)
{
	FILE *f;

	if (!file_path[0])
		snprintf(file_path, sizeof(file_path), "/tmp/quire-test-%d.lua", (int)getpid());
	f = fopen(file_path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

__attribute__((destructor)) static void remove_file(void)
{
	if (file_path[0])
		unlink(file_path);
}

#define HEAD "scenario 'x' machine { ram = '64M', swap = '64M' }\n" /* line 1 */
#define GROUP "group 'g' { run = function(t) end }\n"

static const char *const knobs[] = {"vm.swappiness", "madvise.free", "thp.enabled"};

static const char *knob_at(u32 i)
{
	return i < ARRAY_SIZE(knobs) ? knobs[i] : NULL;
}

static int knob_check(const char *name, const char *value, char *why)
{
	if (strcmp(name, "madvise.free") != 0 || strcmp(value, "lazy") == 0 ||
	    strcmp(value, "dontneed") == 0)
		return 0;
	sprintf(why, "expected lazy or dontneed, not %s", value);
	return -EINVAL;
}

static const char *preset_at(u32 i)
{
	static const char *const presets[] = {"4.0", "6.18"};

	return i < ARRAY_SIZE(presets) ? presets[i] : NULL;
}

static const char *metric_at(u32 i)
{
	static const char *const metrics[] = {"user", "sys", "elapsed", "pswpin", "pgfault"};

	return i < ARRAY_SIZE(metrics) ? metrics[i] : NULL;
}

static const struct load_names names = {knob_at, knob_check, preset_at, metric_at};

static struct scenario *load_with(const char *text, u32 nr_set, const char *const *set)
{
	struct scenario_options opt = {.names = &names, .nr_set = nr_set, .set = set};
	struct scenario *s = NULL;

	write_file(text);
	if (scenario_load(file_path, &opt, &s, err))
		fail_msg("does not load: %s", err);
	return s;
}

static struct scenario *load(const char *text)
{
	return load_with(text, 0, NULL);
}

/* The file is refused, at @line (0: any), with a message that contains @what. */
static void refused_with(const char *text, int line, const char *what, u32 nr_set,
                         const char *const *set)
{
	struct scenario_options opt = {.names = &names, .nr_set = nr_set, .set = set};
	struct scenario *s = NULL;
	char place[96];
	struct timespec begin;
	struct timespec end;

	write_file(text);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	if (scenario_load(file_path, &opt, &s, err) == 0) {
		scenario_free(s);
		fail_msg("loads, but should be refused: %s", what);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_true(end.tv_sec - begin.tv_sec < 20); /* bounded, also under sanitizers */
	snprintf(place, sizeof(place), "%s:%d: ", file_path, line);
	if (line && strncmp(err, place, strlen(place)) != 0)
		fail_msg("says '%s', should be at line %d", err, line);
	if (!strstr(err, what))
		fail_msg("says '%s' instead of '%s'", err, what);
}

static void refused(const char *text, int line, const char *what)
{
	refused_with(text, line, what, 0, NULL);
}

/* Run it on the fake target and return what run() returned. */
static int run_scenario(struct scenario *s, u32 variant, u64 seed, struct target_result *res)
{
	struct target_request req;
	struct target *t;
	int result;

	scenario_request(s, variant, seed, &fake_target_ops, &req);
	assert_int_equal(fake_target_ops.open(&req, &t, err), 0);
	result = fake_target_ops.run(t, res);
	fake_target_ops.close(t);
	return result;
}

static struct target_result result;

/* Load and run; the run must end well. */
static void runs(const char *text)
{
	struct scenario *s = load(text);

	if (run_scenario(s, 0, 1, &result))
		fail_msg("breaks: %s", result.error);
	scenario_free(s);
}

/* Load and run; the run must break with @what, at @line. */
static void breaks(const char *text, int line, const char *what)
{
	struct scenario *s = load(text);
	char place[96];

	if (run_scenario(s, 0, 1, &result) == 0)
		fail_msg("runs, but should break: %s", what);
	snprintf(place, sizeof(place), "%s:%d: ", file_path, line);
	if (line && strncmp(result.error, place, strlen(place)) != 0)
		fail_msg("says '%s', should be at line %d", result.error, line);
	if (!strstr(result.error, what))
		fail_msg("says '%s' instead of '%s'", result.error, what);
	scenario_free(s);
}

/* ---- declarations ---- */

TEST(a_whole_scenario_arrives)
{
	struct scenario *s =
		load("scenario 'all' about 'text' note 'one' note 'two'\n"
	             "machine { profile = 'small', cpus = 8, ram = '2G', swap = '1G' }\n"
	             "kernel '4.0' timeout '5min'\n"
	             "set { ['vm.swappiness'] = 10, ['host.limit'] = 'memcg' }\n"
	             "param { size = '80%ram', n = 5, wait = '10ms', spread = '2%',\n"
	             "        on = true, word = 'abc', f = 1.5 }\n"
	             "variant 'a' { ['madvise.free'] = 'dontneed' }\n"
	             "variant 'b-2' { about = 'second', ['madvise.free'] = 'lazy' }\n"
	             "local b = barrier 'b' (ncpu) event 'e' counter 'c'\n"
	             "group 'g' { count = ncpu * 2, start = '1s', stagger = param.wait,\n"
	             "  jitter = '5us', speed = param.spread, oom_score_adj = -5,\n"
	             "  run = function(t) end }\n"
	             "group 'h' { background = true, run = function(t) end }\n"
	             "task 'child' (function(t) end)\n"
	             "published { source = 'mail', baseline = 'b-2', a = { sys = 2, "
	             "elapsed = 3, user = 1 },\n"
	             "  fitted = 'a.elapsed', constant = 'disk.swap.rate' }\n"
	             "expect { 'a.pswpin < b_2.pswpin', 'each.elapsed > 0' }\n");
	struct target_request req;

	assert_string_equal(s->name, "all");
	assert_string_equal(s->about, "text");
	assert_int_equal(s->nr_notes, 2);
	assert_int_equal(s->shape.nr_cpus, 8);
	assert_true(s->hw->nr_cpus == 8 && s->hw->disk[0].size_bytes == 1UL << 30);
	assert_int_equal(s->timeout_ns, 300000000000);
	assert_int_equal(s->nr_variants, 2);
	assert_string_equal(s->variant[1].about, "second");
	assert_int_equal(s->nr_params, 7);                 /* f n on size spread wait word */
	assert_string_equal(s->param[3].text, "1677720K"); /* 0.8 x 2 GiB in whole pages */
	assert_int_equal(s->nr_groups, 2);
	assert_true(s->group[0].nr == 16 && s->group[0].stagger_ns == 10000000);
	assert_true(s->group[0].jitter_ns == 5000 && s->group[0].speed_bp == 200);
	assert_true(s->group[0].oom_score_adj == -5 && s->group[1].background);
	assert_int_equal(s->nr_functions, 3);
	assert_int_equal(s->published.baseline, 1);
	assert_string_equal(s->published.figure[0].metric, "user");
	assert_true(s->published.figure[2].fitted && !s->published.figure[0].fitted);
	assert_int_equal(s->nr_expectations, 2);

	scenario_request(s, 1, 7, &fake_target_ops, &req);
	assert_string_equal(req.kernel, "4.0");
	assert_string_equal(req.limit_kind, "memcg");
	assert_true(req.ram_bytes == 2UL << 30 && req.swap_bytes == 1UL << 30);
	assert_int_equal(req.nr_settings, 2);
	assert_string_equal(req.setting[0].name, "vm.swappiness");
	assert_string_equal(req.setting[0].value, "10");
	assert_string_equal(req.setting[1].value, "lazy");
	assert_non_null(strstr(req.setting[1].origin, ".lua:8"));
	assert_true(req.nr_barriers == 1 && req.barrier_size[0] == 8);
	scenario_free(s);
}

/* a.x is 10, b.x is 11; sys of both is 0. */
static bool given_metric(void *arg, u32 variant, const char *metric, double *value)
{
	(void)arg;
	*value = strcmp(metric, "sys") == 0 ? 0 : 10 + variant;
	return true;
}

TEST(expectations_compare_with_tolerance)
{
	static const struct {
		const char *text;
		int met;
	} e[] = {
		{"near(a.pgfault, b.pgfault, 0.1)", 1}, /* 1 of 11 is 9.1 % */
		{"near(a.pgfault, b.pgfault, '9%')", 0},
		{"near(a.pgfault, 10, 0)", 1},
		{"ratio(b.pgfault, a.pgfault) == 1.1", 1},
		{"between(ratio(b.pgfault, a.pgfault), 1.05, 1.1)", 1},
		{"between(b.pgfault, 1, 10)", 0},
		{"ratio(a.sys, b.sys) == 1", 1}, /* nothing against nothing */
		{"ratio(a.pgfault, b.sys) > 1e9", 1},
		{"not near(each.pgfault, 0, '50%')", 1},
	};
	char text[2048] = "scenario 'x' variant 'a' {} variant 'b' {} " GROUP " expect {";
	struct scenario *s;

	for (size_t i = 0; i < ARRAY_SIZE(e); i++)
		sprintf(text + strlen(text), " \"%s\",", e[i].text);
	strcat(text, " }");
	s = load(text);
	for (u32 i = 0; i < ARRAY_SIZE(e); i++) {
		char why[TARGET_ERROR_MAX];

		if (scenario_expect(s, i, given_metric, NULL, why) != e[i].met)
			fail_msg("%s: %s", e[i].text, why);
	}
	scenario_free(s);
}

TEST(what_is_not_declared_has_a_default)
{
	struct scenario *s = load("scenario 'x' " GROUP);

	assert_string_equal(s->profile->name, "small");
	assert_string_equal(s->kernel, "6.18");
	assert_int_equal(s->nr_variants, 1);
	assert_string_equal(s->variant[0].name, "default");
	assert_true(s->shape.swap_bytes == 0 && s->hw->nr_disks == 1); /* of files */
	scenario_free(s);
}

TEST(set_overrides_what_the_file_says)
{
	static const char *const set[] = {"size=1M",          "machine.cpus=2", "machine.ram=128M",
	                                  "vm.swappiness=0",  "wait=2s",        "cost.syscall=999",
	                                  "disk.swap.rate=1M"};
	struct scenario *s = load_with("scenario 'x' machine { cpus = 4, swap = '1G' }\n"
	                               "param { size = '4M', wait = '1s' }\n"
	                               "set { ['vm.swappiness'] = 60 }\n"
	                               "group 'g' { count = ncpu, start = param.wait,\n"
	                               "            run = function(t) t:mmap(param.size) end }",
	                               ARRAY_SIZE(set), set);
	struct target_request req;

	assert_int_equal(s->group[0].nr, 2);
	assert_int_equal(s->group[0].start_ns, 2000000000);
	assert_int_equal(s->shape.ram_bytes, 128UL << 20);
	assert_int_equal(s->hw->cost_ns[COST_SYSCALL], 999);
	assert_int_equal(s->hw->disk[0].write_bytes_per_s, 1 << 20);
	scenario_request(s, 0, 1, &fake_target_ops, &req);
	assert_int_equal(req.nr_settings, 2);
	assert_string_equal(req.setting[1].value, "0"); /* the later wins */
	assert_int_equal(run_scenario(s, 0, 1, &result), 0);
	assert_non_null(strstr(fake_log(), "mmap 1048576 "));
	scenario_free(s);
}

struct found {
	const char *key;
	char value[128];
	char origin[128];
};

static void find_key(void *arg, const char *key, const char *value, const char *origin)
{
	struct found *f = arg;

	if (strcmp(key, f->key) == 0) {
		snprintf(f->value, sizeof(f->value), "%s", value);
		snprintf(f->origin, sizeof(f->origin), "%s", origin);
	}
}

TEST(config_names_value_and_origin)
{
	static const char *const set[] = {"n=3"};
	struct scenario *s = load_with("scenario 'x' machine {\n  ram = '64M' }\n"
	                               "param { n = 2 } set { ['vm.swappiness'] = 1 }\n"
	                               "variant 'v' {\n['vm.swappiness'] = 2 }" GROUP,
	                               1, set);
	static const char *const expected[][3] = {{"param.n", "3", "--set"},
	                                          {"machine.ram", "64M", ".lua:2"},
	                                          {"machine.cpus", "4", "machines/small.lua"},
	                                          {"vm.swappiness", "2", ".lua:5"},
	                                          {"cost.line_own", "1 ns", "published: L1"},
	                                          {"kernel", "6.18", "default"}};

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct found f = {.key = expected[i][0]};

		scenario_config(s, 0, find_key, &f);
		assert_string_equal(f.value, expected[i][1]);
		if (!strstr(f.origin, expected[i][2]))
			fail_msg("%s comes from '%s'", f.key, f.origin);
	}
	scenario_free(s);
}

/* ---- bad input ---- */

TEST(unknown_names_get_their_line_and_a_suggestion)
{
	refused(HEAD "grup 'g' { }", 2, "did you mean 'group'");
	refused(HEAD "group 'g' {\n  count = 2,\n  ran = function(t) end }", 4,
	        "unknown field 'ran'; did you mean 'run'");
	refused("scenario 'x' machine { profile = 'smal' }" GROUP, 1, "did you mean 'small'");
	refused("scenario 'x' machine {\n cpu = 3 }" GROUP, 2, "did you mean 'cpus'");
	refused("scenario 'x' machine { profile = 'two-disks' }\n file 'f' {\nsize = '1M', disk = "
	        "'stik' }" GROUP,
	        3, "unknown disk for files 'stik'; did you mean 'stick'");
	refused("scenario 'x' file 'f' { size = '1M', disk = 'data' }" GROUP, 1,
	        "the machine comes before files that name a disk of it");
	refused("scenario 'x' machine { swap_kind = 'zrm' }" GROUP, 1, "did you mean 'zram'");
	refused(HEAD "kernel '4.1'" GROUP, 2, "did you mean '4.0'");
	refused(HEAD "set { ['vm.swapiness'] = 1 }" GROUP, 2, "did you mean 'vm.swappiness'");
	refused(HEAD "variant 'a' {\n['madvise.free'] = 'lasy' }" GROUP, 3,
	        "expected lazy or dontneed");
	refused(HEAD "param { size = '1M' } group 'g' { count = param.sise }", 2,
	        "unknown parameter 'sise'; did you mean 'size'");
	refused(HEAD GROUP "expect { 'defalt.elapsed > 1' }", 3, "did you mean 'default'");
	refused(HEAD GROUP "expect {\n'default.pswpn > 1' }", 4, "did you mean 'pswpin'");
	refused(HEAD GROUP "expect { 'default.elapsed >> 1' }", 3, "expectation");
	refused(HEAD GROUP "expect { '1 + 1' }", 3, "expected a comparison");
	refused(HEAD GROUP "expect { [[near(each.pgfault, 1, '5')]] }", 3, "near: ");
	refused(HEAD GROUP "expect { 'near(each.pgfault, 1, -1)' }", 3, "is not negative");
	refused(HEAD GROUP "expect { 'between(each.pgfault, 2, 1)' }", 3, "is above");
	refused(HEAD GROUP "variant 'default' {} published { source = 'x', defaul = { sys = 1 } }",
	        3, "did you mean 'default'");
	refused(HEAD GROUP "published { source = 'x', v = { sys = 1 } } variant 'v' {}", 3,
	        "declare the variants before");
	refused(HEAD GROUP "published { source = 'x', default = { sis = 1 } }", 3,
	        "did you mean 'sys'");
	refused(HEAD GROUP "published { source = 'x', default = { sys = 1 },\n fitted = "
	                   "'default.user' }",
	        4, "not a published figure");
}

TEST(set_is_checked_like_the_file)
{
	static const char *const unknown[] = {"sise=1M"};
	static const char *const unitless[] = {"size=12"};
	static const char *const knob[] = {"madvise.free=x"};
	static const char *const cost[] = {"cost.sycall=1"};
	static const char *const cpus[] = {"machine.cpus=0"};
	static const char *const form[] = {"size"};
	const char *file = HEAD "param { size = '1M' }" GROUP;

	refused_with(file, 0, "did you mean 'size'", 1, unknown);
	refused_with(file, 0, "--set size=12: the size '12' has no unit", 1, unitless);
	refused_with(file, 0, "expected lazy or dontneed", 1, knob);
	refused_with(file, 0, "did you mean 'syscall'", 1, cost);
	refused_with(file, 0, "'cpus' must be a whole number from 1 to 4096", 1, cpus);
	refused_with(file, 0, "expected name=value", 1, form);
}

TEST(impossible_machines_are_refused)
{
	refused("scenario 'x' machine {\n\ncpus = 0 }" GROUP, 3, "from 1 to 4096, not '0'");
	refused("scenario 'x' machine { cpus = -1 }" GROUP, 1, "from 1 to 4096");
	refused("scenario 'x' machine { cpus = 5000 }" GROUP, 1, "from 1 to 4096");
	refused("scenario 'x' machine { cpus = 1.5 }" GROUP, 1, "whole number");
	refused("scenario 'x' machine { cpus = 3, nodes = 2 }" GROUP, 1, "do not divide");
	refused("scenario 'x' machine { ram = '4M' }" GROUP, 1, "at least 8M");
	refused("scenario 'x' machine { ram = '512' }" GROUP, 1, "no unit");
	refused("scenario 'x' machine { ram = 512 }" GROUP, 1, "give a unit");
	refused("scenario 'x' machine { ram = '64M', cpus = 16, nodes = 16 }" GROUP, 1,
	        "less than the 8M that each needs");
	refused("scenario 'x' machine { ram = 'lots' }" GROUP, 1, "not a size");
	refused("scenario 'x' machine { ram = {} }" GROUP, 1, "must be a size");
}

TEST(counts_and_times_are_checked)
{
	refused(HEAD "group 'g' { count = -3, run = function(t) end }", 2, "'-3'");
	refused(HEAD "group 'g' { count = 0, run = function(t) end }", 2, "from 1");
	refused(HEAD "group 'g' { stagger = 10, run = function(t) end }", 2, "give a unit");
	refused(HEAD "group 'g' { stagger = '10', run = function(t) end }", 2, "no unit");
	refused(HEAD "group 'g' { stagger = '-1s', run = function(t) end }", 2, "not a time");
	refused(HEAD "group 'g' { speed = 2, run = function(t) end }", 2, "a percentage");
	refused(HEAD "group 'g' { count = 2 }", 2, "needs run");
	refused(HEAD "group 'g' { run = 3 }", 2, "must be a function");
	refused(HEAD "barrier 'b' (0)" GROUP, 2, "1 to");
	refused(HEAD "param { size = '512' }" GROUP, 2, "no unit");
	refused(HEAD "timeout '5'" GROUP, 2, "no unit");
}

TEST(incomplete_files_are_refused)
{
	refused("", 0, "scenario \"name\"");
	refused("scenario 'x'", 0, "nothing runs");
	refused("scenario 'x' group 'g'", 1, "incomplete: expected group \"g\" { ... }");
	refused(HEAD "group 'g'\nlocal y = 1\nvariant 'v' { }" GROUP, 2, "incomplete");
	refused(HEAD "group 'g' { background = true, run = function(t) end }", 1, "background");
	refused(HEAD GROUP GROUP, 3, "declared already");
	refused(HEAD "variant 'a' {} variant 'a' {}" GROUP, 2, "declared already");
	refused(HEAD "machine {}" GROUP, 2, "declared already");
	refused("scenario 'x' local n = ncpu machine { }" GROUP, 1, "put machine { ... } before");
	refused("scenario 'x' param { size = '80%ram' } machine { }" GROUP, 1, "not known here");
	refused("scenario 'x y'" GROUP, 1, "letters");
	refused(HEAD "local x = = 2", 2, "unexpected symbol");
	refused(HEAD "group 'g' { run = function(t) end", 2, "'}' expected");
	refused(HEAD "kernel(4.0)" GROUP, 2, "as a string");
	refused(HEAD "machine.cpus = 3", 2, "index a function");
	refused(HEAD "math.random(3)" GROUP, 2, "inside tasks only");
	refused(HEAD "local m = require 'os'" GROUP, 2, "unknown name 'require'");
}

TEST(endless_and_huge_files_are_bounded)
{
	refused(HEAD "while true do end", 2, "does this end?");
	refused(HEAD "local function f() return f() + 1 end f()", 2, "does this recursion end?");
	refused(HEAD "local s = ('x'):rep(1 << 30)", 2, "out of memory");
	refused(HEAD "local s = 'x' while true do s = s .. s end", 2, "out of memory");
	refused(HEAD "local t = {} while true do t[#t + 1] = {} end", 2, "");
	refused(HEAD "local s = ('a'):rep(40) s:find(('a?'):rep(40) .. s)", 2, "matching pattern");
	refused(HEAD "local s = ('a'):rep(3000) s:find('.-.-.-.-b')", 2, "matching pattern");
	refused(HEAD "pcall(function() while true do end end)", 2, "does this end?");
	refused("\x1bLua", 0, "compiled Lua");
}

TEST(only_regular_files_of_sane_size_are_read)
{
	struct scenario *s;

	assert_int_equal(scenario_load("/no/such/file.lua", NULL, &s, err), -ENOENT);
	assert_non_null(strstr(err, "/no/such/file.lua: No such file"));
	assert_int_equal(scenario_load("/dev/zero", NULL, &s, err), -EINVAL);
	assert_non_null(strstr(err, "not a regular file"));
	assert_int_equal(scenario_load("/tmp", NULL, &s, err), -EINVAL);
	write_file("");
	assert_int_equal(truncate(file_path, 2 << 20), 0);
	assert_int_equal(scenario_load(file_path, NULL, &s, err), -EINVAL);
	assert_non_null(strstr(err, "larger than 1 MiB"));
}

/* ---- tasks ---- */

#define RUN(body) HEAD "group 'g' { run = function(t)\n" body "\nend }" /* body is line 3 */

TEST(tasks_call_the_target)
{
	runs(RUN("local m = t:mmap('1M') m:fill() m:touch() m:read() m:scan()\n"
	         "m:touch('64K', '4K') m:touch(128 * 1024, '8K', { random = true })\n"
	         "m:touch { random = true } m:madvise('free') m:madvise('dontneed', '4K', '4K')\n"
	         "m:mprotect('r', 0, '4K') m:munmap('512K') t:brk('64K') t:brk('-4K')\n"
	         "t:sleep('10ms') t:compute('1ms') assert(t:now() > 11000000)\n"
	         "assert(m.len == 1 << 20 and t.index == 0 and t.count == 1 and t.ncpu == ncpu)\n"
	         "assert(t.variant == 'default' and t.name == 'g' and page == 4096)"));
	assert_int_equal(fake_stats()->pages[TARGET_FILL], 256);
	assert_int_equal(fake_stats()->pages[TARGET_TOUCH], 256 + 1 + 2 + 256);
	assert_int_equal(fake_stats()->pages[TARGET_READ], 256);
	assert_int_equal(fake_stats()->pages[TARGET_SCAN], 256);
	assert_int_equal(fake_stats()->nr_random, 2);
	assert_int_equal(fake_stats()->nr_madvise[TARGET_MADV_FREE], 1);
	assert_int_equal(fake_stats()->nr_madvise[TARGET_MADV_DONTNEED], 1);
	assert_non_null(strstr(fake_log(), "munmap 524288"));
}

/* Bytes, not pages; flags by name. */
TEST(tasks_lock_memory)
{
	runs(RUN("local m = t:mmap('8K', { populate = true }) t:mmap('4K', { locked = true })\n"
	         "t:mlock(m.va + 100, 24) t:mlock2(m.va, 4168, 'onfault') t:munlock(m.va + 1, "
	         "'4K')\n"
	         "t:mlockall('current', 'future') t:mlockall('future', 'onfault') t:munlockall()\n"
	         "local ok, why = pcall(t.mlock, t, 4096, 1)\n"
	         "assert(not ok and tostring(why):find('ENOMEM', 1, true))"));
	assert_non_null(strstr(fake_log(), "mmap 8192 prot 3 flags 8"));
	assert_non_null(strstr(fake_log(), "mmap 4096 prot 3 flags 4"));
	assert_non_null(strstr(fake_log(), "mlock 100 24 flags 0"));
	assert_non_null(strstr(fake_log(), "mlock 0 4168 flags 1"));
	assert_non_null(strstr(fake_log(), "munlock 1 4096"));
	assert_non_null(strstr(fake_log(), "mlockall flags 3"));
	assert_non_null(strstr(fake_log(), "mlockall flags 6"));
	assert_non_null(strstr(fake_log(), "mlockall flags 0"));
}

/* Both say how many pages are not where they should be: the fake target's 2 and 3. */
TEST(tasks_move_pages_to_nodes)
{
	runs(RUN("local m = t:mmap('1M')\n"
	         "assert(m:move_pages(1) == 2 and m:move_pages(0, '64K', '8K') == 2)\n"
	         "assert(t:migrate_pages({ 0, 2 }, { 1 }) == 3)"));
	assert_non_null(strstr(fake_log(), "move_pages 1048576 to 1"));
	assert_non_null(strstr(fake_log(), "move_pages 8192 to 0"));
	assert_non_null(strstr(fake_log(), "migrate_pages 0x5 to 0x2"));
	breaks(RUN("t:mmap('1M'):move_pages('1')"), 3, "a node is a number");
	breaks(RUN("t:mmap('1M'):move_pages(64)"), 3, "a node is a number");
	breaks(RUN("t:migrate_pages({ 0 }, { -1 })"), 3, "nodes are numbers");
}

TEST(sizes_in_tasks_may_be_relative)
{
	runs(RUN("t:mmap('50%ram') t:mmap(ram // 2) t:mmap('25%swap') t:mmap('5000B')"));
	assert_non_null(strstr(fake_log(), "mmap 33554432 "));
	assert_non_null(strstr(fake_log(), "mmap 16777216 "));
	assert_non_null(strstr(fake_log(), "mmap 8192 ")); /* whole pages */
}

TEST(bad_calls_in_tasks_have_their_line)
{
	breaks(RUN("t:mmap('512')"), 3, "has no unit");
	breaks(RUN("t:mlock('1M', '4K')"), 3, "expected an address");
	breaks(RUN("t:mlock(t, '4K')"), 3, "expected an address");
	breaks(RUN("t:mlock(4096)"), 3, "expected a size");
	breaks(RUN("t:mlock2(4096, '4K', 'on_fault')"), 3, "did you mean 'onfault'");
	breaks(RUN("t:mlockall()"), 3, "expected \"current\"");
	breaks(RUN("t:mlockall('onfault')"), 3, "EINVAL");
	breaks(RUN("t:mmap('4K', { lockd = true })"), 3, "did you mean 'locked'");
	breaks(RUN("t:mmap(512)"), 3, "give a unit");
	breaks(RUN("t:mmap(-5000)"), 3, "cannot be -5000");
	breaks(RUN("t:mmap()"), 3, "expected a size");
	breaks(RUN("t:map('1M')"), 3, "did you mean 'mmap'");
	breaks(RUN("local m = t:mmap('1M') m:madvise('dontned')"), 3, "did you mean 'dontneed'");
	breaks(RUN("local m = t:mmap('1M') m:touch('2M')"), 3, "behind the region's end");
	breaks(RUN("local m = t:mmap('1M') m:touch('512K', '1M')"), 3, "beyond the region's end");
	breaks(RUN("local m = t:mmap('1M') m:touch('5000B', '4K')"), 3, "multiple of 4K");
	breaks(RUN("local m = t:mmap('1M') m:touch { randem = true }"), 3, "did you mean 'random'");
	breaks(RUN("local m = t:mmap('1M') m:munmap() m:touch()"), 3, "has been unmapped");
	breaks(RUN("local m = t:mmap('1M', { prot = 'r' }) m:fill()"), 3, "fill: not mapped");
	breaks(RUN("t:sleep('10')"), 3, "has no unit");
	breaks(RUN("t:sleep(10)"), 3, "give a unit");
	breaks(RUN("t:fork('h')"), 3, "unknown task 'h'; did you mean 'g'");
	breaks(RUN("t:fork('g', {})"), 3, "whole numbers");
	breaks(RUN("t.mmap('1M')"), 3, "expected a task");
	breaks(RUN("t.x = 1"), 3, "no fields");
	breaks(RUN("error('mine')"), 3, "mine");
	breaks(RUN("error({})"), 3, "not a string");
	breaks(RUN("local x = nil + 1"), 3, "arithmetic on a nil value");
}

TEST(the_top_of_a_file_cannot_call_the_target)
{
	refused(HEAD "local c = counter 'c' c:add(1)" GROUP, 2, "inside a task only");
}

TEST(errors_of_calls_can_be_caught)
{
	fake_limit_mmap(1 << 20);
	runs(RUN("local ok, why = pcall(t.mmap, t, '2M')\n"
	         "assert(not ok and why:find('ENOMEM'), why)"));
}

TEST(barriers_events_and_counters_join_tasks)
{
	runs(HEAD "local b = barrier 'b' (3) local e = event 'e' local n = counter 'n'\n"
	          "group 'w' { count = 3, run = function(t)\n"
	          "  t:sleep(10 * t.index .. 'ms') b:wait() assert(t:now() >= 20000000)\n"
	          "  if n:add(1) == 3 then e:set() end end }\n"
	          "group 'v' { run = function(t) e:wait() assert(n:get() == 3) end }");
	breaks(HEAD "local b = barrier 'b' (2) group 'g' { count = 2, run = function(t)\n"
	            "  if t.index == 0 then b:wait() end end }",
	       0, "deadlock");
	/* Who starts others may bring as many as it takes; otherwise too few is a mistake. */
	refused(HEAD "local b = barrier 'b' (2) group 'g' { run = function(t) b:wait() end }", 2,
	        "barrier \"b\": 2 tasks are to meet, and the groups have 1");
	runs(HEAD "local b = barrier 'b' (2) task 'c' (function(t) b:wait() end)\n"
	          "group 'g' { run = function(t) local c = t:fork('c') b:wait() c:wait() end }");
}

TEST(children_get_numbers_and_copies_of_memory)
{
	runs(HEAD "local n = counter 'n'\n"
	          "task 'child' (function(t, va, len, k)\n"
	          "  local m = t:region(va, len) m:touch() m:munmap() n:add(k) end)\n"
	          "group 'g' { run = function(t)\n"
	          "  local m = t:mmap('64K')\n"
	          "  local c = t:fork('child', m.va, m.len, 5) c:wait() m:touch()\n"
	          "  local d = t:thread('child', m.va, m.len, 7) d:wait()\n"
	          "  assert(not pcall(m.touch, m)) assert(n:get() == 12)\n"
	          "  local ok, why = pcall(d.wait, d) assert(why:find('has been waited')) end }");
	assert_int_equal(fake_stats()->nr_tasks, 3);
}

TEST(a_spawned_task_has_memory_of_its_own)
{
	runs(HEAD "task 'child' (function(t, va, len)\n"
	          "  local m = t:region(va, len) assert(not pcall(m.touch, m))\n"
	          "  t:mmap('4K'):touch() end)\n"
	          "group 'g' { run = function(t)\n"
	          "  local m = t:mmap('64K')\n"
	          "  local c = t:spawn('child', m.va, m.len) c:wait() m:touch() end }");
	assert_int_equal(fake_stats()->nr_tasks, 2);
}

TEST(background_groups_end_with_the_others)
{
	runs(HEAD "group 'bg' { background = true,\n"
	          "  run = function(t) while true do t:sleep('1ms') end end }\n"
	          "group 'g' { run = function(t) t:sleep('5ms') end }");
}

TEST(tasks_that_never_end_are_ended)
{
	breaks(HEAD "timeout '1s' group 'g' { run = function(t) while true do t:sleep('1ms') end "
	            "end }",
	       0, "longer than the timeout");
}

TEST(tasks_that_call_nothing_are_ended_too)
{
	struct scenario_options opt = {.names = &names, .steps_task = 1000000};
	struct scenario *s;

	write_file(RUN("while true do end"));
	assert_int_equal(scenario_load(file_path, &opt, &s, err), 0);
	assert_int_equal(run_scenario(s, 0, 1, &result), -EINVAL);
	assert_non_null(strstr(result.error, "does this end?"));
	scenario_free(s);
	write_file(RUN("while true do t:now() end"));
	assert_int_equal(scenario_load(file_path, &opt, &s, err), 0);
	assert_int_equal(run_scenario(s, 0, 1, &result), -EINVAL);
	assert_non_null(strstr(result.error, "does this end?"));
	scenario_free(s);
}

/* Whatever a script does when it is killed, it makes no further call. */
TEST(a_killed_task_unwinds_without_calls)
{
	static const char *const bodies[] = {
		"local m = t:mmap('1M') while true do m:touch() end",
		"local m = t:mmap('1M') while true do pcall(m.touch, m) end",
		"local m = t:mmap('1M') xpcall(function() while true do m:touch() end end,\n"
		"function() m:touch() end)",
		"local m = t:mmap('1M')\n"
		"local c <close> = setmetatable({}, { __close = function() m:touch() end })\n"
		"while true do m:touch() end",
		"local m = t:mmap('1M')\n"
		"local c <close> = setmetatable({}, { __close = function() while true do end end "
		"})\n"
		"while true do m:touch() end",
		"local m = t:mmap('1M') table.sort({3, 2, 1, 4}, function(a, b)\n"
		"m:touch() m:touch() return a < b end) m:touch()",
		"local m = t:mmap('1M') for i = 1, 9 do ('abc'):gsub('.', function() m:touch() "
		"end) "
		"end",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		for (u32 call = 1; call <= 6; call++) {
			char text[1024];
			struct scenario *s;

			snprintf(text, sizeof(text), HEAD "group 'g' { run = function(t) %s end }",
			         bodies[i]);
			s = load(text);
			fake_kill("g", 0, call);
			assert_int_equal(run_scenario(s, 0, 1, &result), 0);
			assert_int_equal(fake_stats()->nr_calls_after_kill, 0);
			scenario_free(s);
		}
}

/* Recursion through every function that calls back stays on a task's stack. */
TEST(deep_calls_stay_on_a_small_stack)
{
	static const char *const bodies[] = {
		"local function f() return (('a'):gsub('a', f)) end pcall(f)",
		"local function f() return pcall(f) end pcall(f)",
		"local function f() return xpcall(f, f) end pcall(f)",
		"local o = setmetatable({}, { __tostring = function(s) return ('%s'):format(s) end "
		"})\n"
		"pcall(tostring, o)",
		"local o = setmetatable({}, { __index = function(s, k) return s[k + 1] end })\n"
		"pcall(function() return o[1] end)",
		"local o = setmetatable({}, { __concat = function(a, b) return a .. b end })\n"
		"pcall(function() return o .. o end)",
		"local function f() table.sort({3, 2, 1}, f) return true end pcall(f)",
		"local o o = setmetatable({}, { __index = function() return table.concat(o, '', 1, "
		"2) "
		"end }) pcall(table.concat, o, '', 1, 2)",
		"local o o = setmetatable({}, { __pairs = function() return pairs(o) end })\n"
		"pcall(pairs, o)",
		"local m = t:mmap('1M')\n"
		"local function f() m:touch() return (('a'):gsub('a', f)) end pcall(f)",
		"local function f() local x <close> = setmetatable({}, { __close = function() f() "
		"end }) "
		"end pcall(f)",
		"local s = ('('):rep(300) pcall(string.find, s, s) "
		"pcall(string.find, ('a'):rep(10000), ('a?'):rep(10000))",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		char text[1024];
		struct scenario *s;

		snprintf(text, sizeof(text), HEAD "group 'g' { run = function(t) %s end }",
		         bodies[i]);
		s = load(text);
		if (run_scenario(s, 0, 1, &result))
			fail_msg("body %zu: %s", i, result.error);
#if !defined(__SANITIZE_ADDRESS__) /* its redzones are not part of a task's needs */
		if (fake_stats()->stack_bytes_max > 200 << 10)
			fail_msg("body %zu used %lu bytes of stack", i,
			         fake_stats()->stack_bytes_max);
#endif
		scenario_free(s);
	}
}

/* ---- the same twice ---- */

TEST(the_same_file_and_seed_do_the_same)
{
	static char first[FAKE_LOG_MAX];
	struct scenario *s = load(
		HEAD
		"local n = counter 'n'\n"
		"group 'g' { count = 5, stagger = '1ms', run = function(t)\n"
		"  local m = t:mmap('1M') local w = { a = 1, b = 2, c = 3, [3] = 1, [1] = 2 }\n"
		"  for k, v in pairs(w) do n:add(#tostring(k) + v) end\n"
		"  for i = 1, math.random(5, 9) do\n"
		"    m:touch { random = true } t:sleep(math.random(1, 1000) .. 'us')\n"
		"    if tostring({}):find('0x') then error('address') end\n"
		"  end end }");

	assert_int_equal(run_scenario(s, 0, test_seed(), &result), 0);
	strcpy(first, fake_log());
	assert_int_equal(run_scenario(s, 0, test_seed(), &result), 0);
	assert_string_equal(first, fake_log());
	assert_int_equal(run_scenario(s, 0, test_seed() + 1, &result), 0);
	assert_string_not_equal(first, fake_log());
	scenario_free(s);
}

/* ---- expectations ---- */

static bool value_of(void *arg, u32 variant, const char *metric, double *value)
{
	(void)arg;
	*value = variant + (strcmp(metric, "pswpin") == 0 ? 10 : 1);
	return strcmp(metric, "nothing") != 0;
}

TEST(expectations_are_evaluated)
{
	struct scenario *s = load(HEAD "variant 'a' {} variant 'b-c' {}" GROUP
	                               "expect { 'a.elapsed < b_c.elapsed', 'each.pswpin == 10',\n"
	                               "'each.pswpin >= 10 and a.sys * 2 == b_c.sys' }");
	char why[TARGET_ERROR_MAX];

	assert_int_equal(scenario_expect(s, 0, value_of, NULL, why), 1);
	assert_string_equal(why, "a.elapsed = 1, b-c.elapsed = 2");
	assert_int_equal(scenario_expect(s, 1, value_of, NULL, why), 0);
	assert_string_equal(why, "a.pswpin = 10, b-c.pswpin = 11");
	assert_int_equal(scenario_expect(s, 2, value_of, NULL, why), 1);
	scenario_free(s);
}

/* ---- the scenarios that come with the program ---- */

static void ships(const char *path)
{
	struct scenario *s;

	if (scenario_load(path, NULL, &s, err))
		fail_msg("%s", err);
	for (u32 v = 0; v < s->nr_variants; v++)
		if (run_scenario(s, v, 1, &result))
			fail_msg("%s: %s", path, result.error);
	scenario_free(s);
}

TEST(shipped_scenarios_run)
{
	ships("scenarios/smoke.lua");
	ships("scenarios/madv-free.lua");
	assert_int_equal(fake_stats()->pages[TARGET_FILL], 12 * 5 * 131072);
	assert_int_equal(fake_stats()->nr_madvise[TARGET_MADV_FREE], 60);
}

TEST_MAIN("scenario")
