/*
 * The words machine and param, and the globals that follow from them: ncpu, ram, swap, param.
 *
 * Relative sizes ("80%ram") are resolved when they are read, so the machine comes first.
 */
#include "load/script.h"

#include <ctype.h>
#include <errno.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/size.h"

#define DEFAULT_PROFILE "small"
#define PARAMS_MAX 256

/* ---- machine ---- */

void script_set_machine(lua_State *L, const struct scenario *s)
{
	lua_pushinteger(L, s->shape.nr_cpus);
	lua_setglobal(L, "ncpu");
	lua_pushinteger(L, (lua_Integer)s->shape.ram_bytes);
	lua_setglobal(L, "ram");
	lua_pushinteger(L, (lua_Integer)s->shape.swap_bytes);
	lua_setglobal(L, "swap");
}

/* Read the profile and apply what --set says of its constants. */
static int load_profile(struct script *sc, const char *name, bool is_path, char *err)
{
	struct scenario *s = sc->s;
	int result = profile_load(name, is_path, s->opt.machine_dirs, &s->profile, err);

	if (result && s->opt.machine) {
		char why[TARGET_ERROR_MAX - 100];

		snprintf(why, sizeof(why), "%s", err);
		snprintf(err, TARGET_ERROR_MAX, "--machine: %s", why);
	}
	if (result)
		return result;
	for (u32 i = 0; i < sc->nr_sets; i++) {
		result = profile_set(s->profile, sc->set[i].name, sc->set[i].value, err);
		if (result == -ENOENT)
			continue;
		if (result) {
			char why[TARGET_ERROR_MAX - 100];

			snprintf(why, sizeof(why), "%s", err);
			snprintf(err, TARGET_ERROR_MAX, "%s %.60s: %s", sc->set[i].option,
			         sc->set[i].name, why);
			return result;
		}
		sc->set[i].used = true;
	}
	return 0;
}

/* What --set machine.* asks for, on top of @given. */
static int override_shape(struct script *sc, u64 *given, char *err)
{
	struct scenario *s = sc->s;

	for (u32 i = 0; i < SHAPE_FIELDS; i++) {
		const struct field *f = &machine_shape_fields[i];
		struct script_set *set = script_find_set(sc, "machine.", f->name);
		int result;

		if (!set)
			continue;
		result = field_parse_text(set->option, f->name, set->value, f, NULL, &s->keep,
		                          &s->shape, err);
		if (result)
			return result;
		*given |= BIT(i);
		s->machine_declared = true;
		s->shape_origin[i] = keep_strdup(&s->keep, set->option);
	}
	return 0;
}

static int build_machine(struct script *sc, u64 given, char *err)
{
	struct scenario *s = sc->s;
	int result = override_shape(sc, &given, err);

	if (result)
		return result;
	for (u32 i = 0; i < SHAPE_FIELDS; i++)
		if (!s->shape_origin[i])
			s->shape_origin[i] = keep_strdup(&s->keep, s->profile->origin[i]);

	struct machine_shape asked = s->shape;

	result = profile_build(s->profile, &s->shape, given, &s->keep, &s->hw, err);
	if (result)
		return result;

	/* Parts of the profile that gave way to what was asked for. */
	const u32 before[] = {asked.nr_cpus, asked.nr_sockets, asked.threads, asked.nr_nodes};
	const u32 after[] = {s->shape.nr_cpus, s->shape.nr_sockets, s->shape.threads,
	                     s->shape.nr_nodes};

	for (u32 i = 0; i < ARRAY_SIZE(before); i++)
		if (before[i] != after[i])
			s->shape_origin[i] = keep_printf(&s->keep, "adapted (%s has %u)",
			                                 s->profile->name, before[i]);
	return 0;
}

/* --machine wins over what the file says. */
static int choose_profile(struct script *sc, const char *name, char *origin, char *err)
{
	struct scenario *s = sc->s;

	if (s->opt.machine) {
		size_t len = strlen(s->opt.machine);
		bool is_path = strchr(s->opt.machine, '/') ||
		               (len > 4 && strcmp(s->opt.machine + len - 4, ".lua") == 0);

		s->profile_origin = keep_strdup(&s->keep, "--machine");
		s->machine_declared = true;
		return load_profile(sc, s->opt.machine, is_path, err);
	}
	s->profile_origin = origin;
	return load_profile(sc, name, false, err);
}

struct machine_reading {
	struct machine_shape shape;
	char *profile;
};

static int word_machine(lua_State *L)
{
	struct script *sc = script_of(L);
	struct scenario *s = sc->s;
	struct field_table t = script_table(L, 1, "machine");
	struct field fields[SHAPE_FIELDS + 1];
	const struct field *profile = &fields[SHAPE_FIELDS];
	struct machine_reading r = {.profile = NULL};
	char err[TARGET_ERROR_MAX];
	u64 given;

	if (s->profile)
		sandbox_error(L, "the machine is declared already");
	memcpy(fields, machine_shape_fields, sizeof(machine_shape_fields));
	fields[SHAPE_FIELDS] = (struct field){
		"profile", FIELD_TEXT, offsetof(struct machine_reading, profile), 0, 0, NULL};

	/* The profile first: the other fields change its machine. */
	if (lua_getfield(L, 1, "profile") != LUA_TNIL)
		field_read(&t, "profile", profile, &r);
	lua_pop(L, 1);
	if (choose_profile(sc, r.profile ? r.profile : DEFAULT_PROFILE,
	                   script_origin(L, field_line(&t, "profile")), err))
		field_error(&t, "profile", "%s", err);
	r.shape = s->profile->shape;
	given = fields_read(&t, fields, ARRAY_SIZE(fields), &r) & (BIT(SHAPE_FIELDS) - 1);
	s->shape = r.shape;
	for (u32 i = 0; i < SHAPE_FIELDS; i++)
		if (given & BIT(i))
			s->shape_origin[i] = script_origin(L, field_line(&t, fields[i].name));
	if (build_machine(sc, given, err))
		field_error(&t, NULL, "%s", err);
	s->machine_declared = true;
	script_set_machine(L, s);
	return 0;
}

void script_finish_machine(lua_State *L)
{
	struct script *sc = script_of(L);
	struct scenario *s = sc->s;
	char err[TARGET_ERROR_MAX];

	if (s->profile)
		return;
	if (choose_profile(sc, DEFAULT_PROFILE, keep_strdup(&s->keep, "default"), err))
		sandbox_error_line(L, -1, "%s", err);
	s->shape = s->profile->shape;
	if (!s->machine_declared) { /* nobody asked for swap, here or of a host */
		s->shape.swap_bytes = 0;
		s->shape_origin[5] = keep_strdup(&s->keep, "default");
	}
	if (build_machine(sc, 0, err))
		sandbox_error_line(L, -1, "%s", err);
}

/* ---- parameters ---- */

static char *param_format(struct scenario *s, const struct scenario_param *p)
{
	char buf[QUANTITY_TEXT_MAX];

	switch (p->kind) {
	case PARAM_SIZE:
		return keep_strdup(&s->keep, format_size(buf, sizeof(buf), (u64)p->integer));
	case PARAM_TIME:
		return keep_strdup(&s->keep, quantity_format_time(buf, (u64)p->integer));
	case PARAM_BOOL:
		return keep_strdup(&s->keep, p->integer ? "true" : "false");
	case PARAM_NUMBER:
		if (p->is_integer)
			return keep_printf(&s->keep, "%ld", p->integer);
		return keep_printf(&s->keep, "%.14g", p->number);
	default:
		return p->text;
	}
}

/* What a string stands for: a size, a time, a percentage, or itself. */
static void read_param_text(struct scenario *s, struct scenario_param *p, const char *text,
                            const struct field_table *t)
{
	char err[TARGET_ERROR_MAX];
	u64 value;
	u32 bp;

	p->text = keep_strdup(&s->keep, text);
	p->kind = PARAM_TEXT;
	if (quantity_size(text, &t->base, &value, err) == 0) {
		p->kind = PARAM_SIZE;
		p->integer = (s64)value;
	} else if (quantity_time(text, &value, err) == 0) {
		p->kind = PARAM_TIME;
		p->integer = (s64)value;
	} else if (quantity_percent(text, &bp, err) == 0) {
		p->kind = PARAM_PERCENT;
	} else if (isdigit((u8)text[0])) {
		/* A number that is none of them is a slip, and which one its form tells. */
		if (quantity_size(text, &t->base, &value, err))
			field_error(t, p->name, "'%s': %s", p->name, err);
	}
}

static void read_param_value(struct scenario *s, struct scenario_param *p,
                             const struct field_table *t)
{
	lua_State *L = t->L;

	switch (lua_type(L, -1)) {
	case LUA_TNUMBER:
		p->kind = PARAM_NUMBER;
		p->is_integer = lua_isinteger(L, -1);
		p->integer = lua_tointeger(L, -1);
		p->number = lua_tonumber(L, -1);
		if (!isfinite(p->number))
			field_error(t, p->name, "'%s' must be finite", p->name);
		break;
	case LUA_TBOOLEAN:
		p->kind = PARAM_BOOL;
		p->integer = lua_toboolean(L, -1);
		break;
	case LUA_TSTRING:
		read_param_text(s, p, lua_tostring(L, -1), t);
		break;
	default:
		field_error(t, p->name, "'%s' must be a number, a string, true or false", p->name);
	}
	p->text = param_format(s, p);
}

/* --set of this parameter: the text must be of the kind that the file's value has. */
static void override_param(struct scenario *s, struct scenario_param *p,
                           const struct script_set *set, const struct quantity_base *base,
                           lua_State *L)
{
	const char *text = set->value;
	char err[TARGET_ERROR_MAX];
	u64 value = 0;
	u32 bp;
	int result = 0;

	switch (p->kind) {
	case PARAM_SIZE:
		result = quantity_size(text, base, &value, err);
		p->integer = (s64)value;
		break;
	case PARAM_TIME:
		result = quantity_time(text, &value, err);
		p->integer = (s64)value;
		break;
	case PARAM_PERCENT:
		result = quantity_percent(text, &bp, err);
		break;
	case PARAM_BOOL:
		p->integer = strcmp(text, "true") == 0;
		if (!p->integer && strcmp(text, "false") != 0) {
			snprintf(err, sizeof(err), "expected true or false");
			result = -EINVAL;
		}
		break;
	case PARAM_NUMBER:
		if (!lua_stringtonumber(L, text)) {
			snprintf(err, sizeof(err), "expected a number");
			result = -EINVAL;
			break;
		}
		if (p->is_integer && !lua_isinteger(L, -1)) {
			snprintf(err, sizeof(err), "expected a whole number");
			result = -EINVAL;
		}
		p->integer = lua_tointeger(L, -1);
		p->number = lua_tonumber(L, -1);
		lua_pop(L, 1);
		break;
	case PARAM_TEXT:
		break;
	}
	if (result)
		sandbox_error_line(L, -1, "%s %s=%s: %s", set->option, p->name, text, err);
	p->text = keep_strdup(&s->keep, text);
	p->text = param_format(s, p);
	p->origin = keep_strdup(&s->keep, set->option);
}

/* param.NAME = the value. The param table is on top of the stack. */
static void store_param(lua_State *L, const struct scenario_param *p)
{
	lua_pushstring(L, p->name);
	switch (p->kind) {
	case PARAM_SIZE:
	case PARAM_TIME:
		lua_pushinteger(L, p->integer);
		break;
	case PARAM_NUMBER:
		if (p->is_integer)
			lua_pushinteger(L, p->integer);
		else
			lua_pushnumber(L, p->number);
		break;
	case PARAM_BOOL:
		lua_pushboolean(L, p->integer != 0);
		break;
	case PARAM_PERCENT:
	case PARAM_TEXT:
		lua_pushstring(L, p->text);
		break;
	}
	lua_rawset(L, -3);
}

/* param { ... }: __call of the param table, so the declarations are argument 2. */
static int word_param(lua_State *L)
{
	struct script *sc = script_of(L);
	struct scenario *s = sc->s;
	struct field_table t = script_table(L, 2, "param");
	const char **names;
	u32 n = script_sorted_keys(&t, &names);

	for (u32 i = 0; i < n; i++) {
		struct scenario_param p = {.name = (char *)names[i]};
		struct script_set *set;

		for (u32 j = 0; j < s->nr_params; j++)
			if (strcmp(s->param[j].name, p.name) == 0)
				field_error(&t, p.name, "'%s' is declared already", p.name);
		if (!script_name_is_plain(p.name) || strchr(p.name, '.'))
			field_error(&t, p.name, "'%.60s' is no name for a parameter", p.name);
		if (s->nr_params == PARAMS_MAX)
			field_error(&t, p.name, "more than %d parameters", PARAMS_MAX);
		p.origin = script_origin(L, field_line(&t, p.name));
		lua_getfield(L, 2, p.name);
		read_param_value(s, &p, &t);
		lua_pop(L, 1);
		set = script_find_set(sc, "", p.name);
		if (!set)
			set = script_find_set(sc, "param.", p.name);
		if (set)
			override_param(s, &p, set, &t.base, L);
		*keep_push(&s->keep, s->param, s->nr_params) = p;
		lua_pushvalue(L, 1);
		store_param(L, &p);
		lua_pop(L, 1);
	}
	return 0;
}

static int ignore(lua_State *L)
{
	(void)L;
	return 0;
}

static int param_newindex(lua_State *L)
{
	sandbox_error(L, "parameters do not change; declare them with param { ... }");
}

static int param_index(lua_State *L)
{
	const char *key = lua_tostring(L, 2);
	const char *near = key ? sandbox_nearest_key(L, 1, key) : NULL;

	if (near)
		sandbox_error(L, "unknown parameter '%.60s'; did you mean '%s'?", key, near);
	sandbox_error(L, "unknown parameter '%.60s'", key ? key : "?");
}

void script_set_params(lua_State *L, const struct scenario *s, bool declaring)
{
	lua_newtable(L);
	for (u32 i = 0; i < s->nr_params; i++)
		store_param(L, &s->param[i]);
	lua_createtable(L, 0, 4);
	lua_pushcfunction(L, declaring ? word_param : ignore);
	lua_setfield(L, -2, "__call");
	lua_pushcfunction(L, param_index);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, param_newindex);
	lua_setfield(L, -2, "__newindex");
	lua_pushliteral(L, "locked");
	lua_setfield(L, -2, "__metatable");
	lua_setmetatable(L, -2);
	lua_setglobal(L, "param");
}

/* ncpu, ram and swap are not there before the machine is: say so instead of "unknown name". */
static int early_global(lua_State *L)
{
	static const char *const names[] = {"ncpu", "ram", "swap"};
	const char *key = lua_tostring(L, 2);

	for (size_t i = 0; key && i < ARRAY_SIZE(names); i++)
		if (strcmp(key, names[i]) == 0 && !script_of(L)->s->profile)
			sandbox_error(L,
			              "'%s' is known once the machine is: put machine { ... } "
			              "before",
			              key);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, 2, 1);
	return 1;
}

void script_open_machine(lua_State *L)
{
	lua_register(L, "machine", word_machine);
	script_set_params(L, script_of(L)->s, true);
	lua_pushinteger(L, 4096);
	lua_setglobal(L, "page");

	lua_pushglobaltable(L);
	lua_getmetatable(L, -1);
	lua_getfield(L, -1, "__index");
	lua_pushcclosure(L, early_global, 1);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 2);
}
