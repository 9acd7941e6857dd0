/*
 * Words that declare a scenario: its texts, the kernel, knobs and variants. The others are in
 * script_machine.c (machine, param), script_tasks.c (group, task, barrier ...) and
 * script_results.c (published, expect).
 *
 * Every word checks what it is given at once, so that the error has its line. What can only be
 * known at the end is in script_finish().
 */
#include "load/script.h"

#include <ctype.h>
#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "lib/sort.h"

#define DEFAULT_KERNEL "6.18"
#define LIST_MAX 1024 /* of expectations, notes, figures */

/* ---- what all words need ---- */

struct field_table script_table(lua_State *L, int index, const char *what)
{
	struct scenario *s = script_of(L)->s;
	struct field_table t = {.L = L, .index = index, .what = what, .keep = &s->keep};

	if (lua_type(L, index) != LUA_TTABLE)
		sandbox_error(L, "expected %s { ... }", what);
	t.line = sandbox_line(L);
	t.base.ram_bytes = s->shape.ram_bytes;
	t.base.swap_bytes = s->shape.swap_bytes;
	return t;
}

char *script_origin(lua_State *L, int line)
{
	struct scenario *s = script_of(L)->s;

	return keep_printf(&s->keep, "%s:%d", s->path, line);
}

static const char *check_text(lua_State *L, const char *word)
{
	if (lua_type(L, 1) != LUA_TSTRING || lua_gettop(L) != 1)
		sandbox_error(L, "expected %s \"text\"", word);
	return lua_tostring(L, 1);
}

bool script_name_is_plain(const char *name)
{
	size_t n = 0;

	for (; name[n]; n++)
		if (!isalnum((u8)name[n]) && !strchr("_-.+", name[n]))
			return false;
	return n > 0 && n < TARGET_NAME_MAX;
}

const char *script_check_name(lua_State *L, const char *word)
{
	if (lua_type(L, 1) != LUA_TSTRING || lua_gettop(L) != 1)
		sandbox_error(L, "expected %s \"name\"", word);
	if (!script_name_is_plain(lua_tostring(L, 1)))
		sandbox_error(L,
		              "%s: a name has 1 to %d letters, digits or any of _-.+, not '%.80s'",
		              word, TARGET_NAME_MAX - 1, lua_tostring(L, 1));
	return lua_tostring(L, 1);
}

void script_set_pending(lua_State *L, const char *word, const char *name, const char *rest)
{
	struct script *sc = script_of(L);

	if (sc->pending)
		sandbox_error_line(L, sc->pending_line, "incomplete: %s", sc->pending);
	sc->pending = keep_printf(&sc->s->keep, "expected %s \"%s\" %s", word, name, rest);
	sc->pending_line = sandbox_line(L);
}

void script_clear_pending(lua_State *L)
{
	script_of(L)->pending = NULL;
}

static int compare_names(const void *a, const void *b, void *arg)
{
	(void)arg;
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

u32 script_sorted_keys(const struct field_table *t, const char ***keys)
{
	lua_State *L = t->L;
	const char **list = NULL;
	u32 n = 0;

	for (lua_pushnil(L); lua_next(L, t->index); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			field_error(t, NULL, "expected name = value");
		*keep_push(t->keep, list, n) = keep_strdup(t->keep, lua_tostring(L, -2));
	}
	sort_stable(list, n, sizeof(*list), compare_names, NULL);
	*keys = list;
	return n;
}

/* ---- --set ---- */

struct script_set *script_find_set(struct script *sc, const char *prefix, const char *name)
{
	struct script_set *found = NULL;
	size_t len = strlen(prefix);

	for (u32 i = 0; i < sc->nr_sets; i++) {
		struct script_set *set = &sc->set[i];

		if (strncmp(set->name, prefix, len) == 0 && strcmp(set->name + len, name) == 0) {
			set->used = true;
			found = set;
		}
	}
	return found;
}

/* ---- texts ---- */

static int word_scenario(lua_State *L)
{
	struct scenario *s = script_of(L)->s;

	if (s->name)
		sandbox_error(L, "a file is one scenario, and '%s' is declared already", s->name);
	s->name = keep_strdup(&s->keep, script_check_name(L, "scenario"));
	return 0;
}

static int word_about(lua_State *L)
{
	struct scenario *s = script_of(L)->s;

	s->about = keep_strdup(&s->keep, check_text(L, "about"));
	return 0;
}

static int word_note(lua_State *L)
{
	struct scenario *s = script_of(L)->s;

	if (s->nr_notes == LIST_MAX)
		sandbox_error(L, "more than %d notes", LIST_MAX);
	*keep_push(&s->keep, s->note, s->nr_notes) = keep_strdup(&s->keep, check_text(L, "note"));
	return 0;
}

static int word_timeout(lua_State *L)
{
	struct scenario *s = script_of(L)->s;
	char err[TARGET_ERROR_MAX];

	if (quantity_time(check_text(L, "timeout"), &s->timeout_ns, err))
		sandbox_error(L, "timeout: %s", err);
	if (s->timeout_ns == 0)
		sandbox_error(L, "timeout: must be more than 0");
	if (s->timeout_ns > SCENARIO_TIME_MAX)
		sandbox_error(L, "timeout: must be at most 1200h");
	return 0;
}

/* ---- kernel and knobs ---- */

static const char *preset_name(void *arg, size_t i)
{
	const struct scenario *s = arg;

	return s->opt.names->preset_at((u32)i);
}

/* Is @kernel a preset? The error text, if not, goes to @err. */
static bool kernel_is_known(const struct scenario *s, const char *kernel, char *err)
{
	size_t n = 0;

	if (!s->opt.names || !s->opt.names->preset_at)
		return true;
	for (const char *name; (name = preset_name((void *)s, n)); n++)
		if (strcmp(name, kernel) == 0)
			return true;
	field_unknown_text(err, "kernel preset", kernel, preset_name, (void *)s, n);
	return false;
}

static int word_kernel(lua_State *L)
{
	struct scenario *s = script_of(L)->s;
	const char *kernel;
	char err[TARGET_ERROR_MAX];

	if (lua_type(L, 1) == LUA_TNUMBER)
		sandbox_error(L,
		              "expected kernel \"4.0\", as a string: 4.10 and 4.1 are not equal");
	kernel = check_text(L, "kernel");
	if (s->kernel && strcmp(s->kernel_origin, "--kernel") != 0)
		sandbox_error(L, "the kernel is declared already");
	if (!kernel_is_known(s, kernel, err))
		sandbox_error(L, "%s", err);
	if (s->kernel)
		return 0;
	s->kernel = keep_strdup(&s->keep, kernel);
	s->kernel_origin = script_origin(L, sandbox_line(L));
	return 0;
}

/* Settings that only the host knows; the others are knobs of the memory manager. */
static const char *const host_settings[] = {"host.file_dir", "host.limit", "host.swap_dir",
                                            "host.thp"};
static const char *const limit_kinds[] = {"ballast", "memcg"};

static const char *knob_name(void *arg, size_t i)
{
	const struct scenario *s = arg;

	if (i < ARRAY_SIZE(host_settings))
		return host_settings[i];
	return s->opt.names->knob_at((u32)(i - ARRAY_SIZE(host_settings)));
}

static size_t count_knobs(const struct scenario *s)
{
	size_t n = ARRAY_SIZE(host_settings);

	if (s->opt.names && s->opt.names->knob_at)
		while (knob_name((void *)s, n))
			n++;
	return n;
}

/* 0, -ENOENT if there is no such knob, -EINVAL if it cannot have that value. */
static int check_knob(const struct scenario *s, const char *name, const char *value, char *err)
{
	size_t n = count_knobs(s);
	char why[TARGET_ERROR_MAX - 100] = "not allowed";
	size_t i = 0;

	if (!strchr(name, '.')) {
		field_unknown_text(err, "knob", name, knob_name, (void *)s, n);
		return -ENOENT;
	}
	if (strcmp(name, "host.limit") == 0) {
		for (i = 0; i < ARRAY_SIZE(limit_kinds); i++)
			if (strcmp(value, limit_kinds[i]) == 0)
				return 0;
		field_unknown_text(err, "host.limit", value, field_name_in_array,
		                   (void *)limit_kinds, ARRAY_SIZE(limit_kinds));
		return -EINVAL;
	}
	if (strncmp(name, "host.", 5) != 0 && !(s->opt.names && s->opt.names->knob_at))
		return 0;
	while (i < n && strcmp(knob_name((void *)s, i), name) != 0)
		i++;
	if (i == n) {
		field_unknown_text(err, "knob", name, knob_name, (void *)s, n);
		return -ENOENT;
	}
	if (i < ARRAY_SIZE(host_settings) || !s->opt.names->knob_check)
		return 0;
	if (s->opt.names->knob_check(name, value, why) == 0)
		return 0;
	if (strstr(why, name))
		snprintf(err, TARGET_ERROR_MAX, "%s", why);
	else
		snprintf(err, TARGET_ERROR_MAX, "%s = %.60s: %s", name, value, why);
	return -EINVAL;
}

static void make_setting(struct target_setting *setting, const char *name, const char *value,
                         const char *origin)
{
	snprintf(setting->name, sizeof(setting->name), "%s", name);
	snprintf(setting->value, sizeof(setting->value), "%s", value);
	snprintf(setting->origin, sizeof(setting->origin), "%s", origin);
}

/* The value on top of the stack as the text of a knob's value. */
static const char *knob_value(const struct field_table *t, const char *key)
{
	lua_State *L = t->L;
	const char *text;

	switch (lua_type(L, -1)) {
	case LUA_TBOOLEAN:
		return lua_toboolean(L, -1) ? "on" : "off";
	case LUA_TSTRING:
	case LUA_TNUMBER:
		text = lua_tostring(L, -1);
		if (strlen(text) < TARGET_NAME_MAX)
			return text;
		/* fallthrough */
	default:
		field_error(t, key, "'%s' must be a short string, a number, true or false", key);
	}
}

/* All keys of @t with a dot are knobs; others must have been read before. */
static void read_settings(const struct field_table *t, struct target_setting **settings, u32 *nr,
                          const char *variant)
{
	struct scenario *s = script_of(t->L)->s;
	const char **keys;
	u32 n = script_sorted_keys(t, &keys);

	for (u32 i = 0; i < n; i++) {
		char err[TARGET_ERROR_MAX];
		const char *origin;
		const char *value;

		if (variant && strcmp(keys[i], "about") == 0)
			continue;
		if (strlen(keys[i]) >= TARGET_NAME_MAX)
			field_error(t, keys[i], "unknown knob '%.60s...'", keys[i]);
		lua_getfield(t->L, t->index, keys[i]);
		value = knob_value(t, keys[i]);
		if (check_knob(s, keys[i], value, err))
			field_error(t, keys[i], "%s", err);
		origin = script_origin(t->L, field_line(t, keys[i]));
		if (strcmp(keys[i], "host.limit") == 0 && variant)
			field_error(t, keys[i], "host.limit is the same for all variants");
		if (strcmp(keys[i], "host.limit") == 0)
			s->limit_kind = keep_strdup(&s->keep, value);
		else
			make_setting(keep_push(&s->keep, *settings, *nr), keys[i], value, origin);
		lua_pop(t->L, 1);
	}
}

static int word_set(lua_State *L)
{
	struct scenario *s = script_of(L)->s;
	struct field_table t = script_table(L, 1, "set");

	read_settings(&t, &s->setting, &s->nr_settings, NULL);
	return 0;
}

/* variant "name" { ... }, second call. */
static int variant_body(lua_State *L)
{
	struct scenario *s = script_of(L)->s;
	const char *name = lua_tostring(L, lua_upvalueindex(1));
	char *what = keep_printf(&s->keep, "variant \"%s\"", name);
	struct field_table t = script_table(L, 1, what);
	struct scenario_variant v = {.name = keep_strdup(&s->keep, name)};
	static const struct field about = {
		"about", FIELD_TEXT, offsetof(struct scenario_variant, about), 0, 0, NULL};

	script_clear_pending(L);
	if (lua_getfield(L, 1, "about") != LUA_TNIL)
		field_read(&t, "about", &about, &v);
	lua_pop(L, 1);
	read_settings(&t, &v.setting, &v.nr_settings, v.name);
	if (s->nr_variants == SCENARIO_VARIANTS_MAX)
		sandbox_error(L, "more than %d variants", SCENARIO_VARIANTS_MAX);
	*keep_push(&s->keep, s->variant, s->nr_variants) = v;
	return 0;
}

static int word_variant(lua_State *L)
{
	struct scenario *s = script_of(L)->s;
	const char *name = script_check_name(L, "variant");
	static const char *const reserved[] = {"source", "baseline", "note",
	                                       "fitted", "constant", "each"};

	if (scenario_variant(s, name) < s->nr_variants)
		sandbox_error(L, "variant '%s' is declared already", name);
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (strcmp(name, reserved[i]) == 0)
			sandbox_error(L, "a variant cannot be called '%s'", name);
	script_set_pending(L, "variant", name, "{ ... }");
	lua_pushcclosure(L, variant_body, 1);
	return 1;
}

/* ---- the end ---- */

static const char *param_name(void *arg, size_t i)
{
	const struct scenario *s = arg;

	return i < s->nr_params ? s->param[i].name : knob_name(arg, i - s->nr_params);
}

static const char *shape_name(void *arg, size_t i)
{
	(void)arg;
	return machine_shape_fields[i].name;
}

/* No parameter, no knob, nothing of the machine's. */
static void unknown_set(struct scenario *s, const char *name, char *err)
{
	if (strncmp(name, "machine.", 8) == 0)
		field_unknown_text(err, "field of the machine", name + 8, shape_name, NULL,
		                   SHAPE_FIELDS);
	else
		field_unknown_text(err, "parameter or knob", name, param_name, s,
		                   s->nr_params + count_knobs(s));
}

/* What is left of --set must be knobs. */
static void finish_sets(lua_State *L)
{
	struct script *sc = script_of(L);
	struct scenario *s = sc->s;

	for (u32 i = 0; i < sc->nr_sets; i++) {
		const struct script_set *set = &sc->set[i];
		char err[TARGET_ERROR_MAX];

		if (set->used)
			continue;
		switch (check_knob(s, set->name, set->value, err)) {
		case 0:
			break;
		case -ENOENT:
			unknown_set(s, set->name, err);
			/* fallthrough */
		default:
			sandbox_error_line(L, -1, "%s %s=%s: %s", set->option, set->name,
			                   set->value, err);
		}
		if (strcmp(set->name, "host.limit") == 0)
			s->limit_kind = set->value;
		else
			make_setting(keep_push(&s->keep, s->override, s->nr_overrides), set->name,
			             set->value, set->option);
	}
}

void script_default_variant(struct scenario *s)
{
	struct scenario_variant v = {.name = keep_strdup(&s->keep, "default")};

	*keep_push(&s->keep, s->variant, s->nr_variants) = v;
}

int script_finish(lua_State *L)
{
	struct script *sc = script_of(L);
	struct scenario *s = sc->s;
	char err[TARGET_ERROR_MAX];

	if (sc->pending)
		sandbox_error_line(L, sc->pending_line, "incomplete: %s", sc->pending);
	if (!s->name)
		sandbox_error_line(L, 1, "a scenario begins with scenario \"name\"");
	script_finish_machine(L);
	if (!s->kernel) {
		s->kernel = keep_strdup(&s->keep, DEFAULT_KERNEL);
		s->kernel_origin = keep_strdup(&s->keep, "default");
		if (!kernel_is_known(s, s->kernel, err))
			sandbox_error_line(L, -1, "%s", err);
	} else if (!kernel_is_known(s, s->kernel, err)) {
		sandbox_error_line(L, -1, "%s: %s", s->kernel_origin, err);
	}
	if (s->nr_variants == 0)
		script_default_variant(s);
	script_finish_tasks(L);
	finish_sets(L);
	script_finish_results(L);
	return 0;
}

void script_open_declarations(lua_State *L)
{
	static const luaL_Reg words[] = {
		{"about", word_about},     {"kernel", word_kernel},
		{"note", word_note},       {"scenario", word_scenario},
		{"set", word_set},         {"timeout", word_timeout},
		{"variant", word_variant}, {NULL, NULL},
	};

	for (const luaL_Reg *w = words; w->name; w++)
		lua_register(L, w->name, w->func);
	script_open_machine(L);
	script_open_tasks(L);
	script_open_results(L);
}
