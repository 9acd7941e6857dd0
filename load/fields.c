/*
 * Strict reading of Lua tables. See fields.h.
 */
#include "load/fields.h"

#include <ctype.h>
#include <errno.h>
#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/size.h"
#include "lib/strdist.h"
#include "load/target.h"

/* ---- where a key stands ---- */

/* Behind the long bracket that opens at @p, or NULL if none does. */
static const char *skip_long_bracket(const char *p, int *line)
{
	char close[16] = "]";
	size_t level = strspn(p + 1, "=");

	if (*p != '[' || p[1 + level] != '[' || level > sizeof(close) - 3)
		return NULL;
	memset(close + 1, '=', level);
	close[1 + level] = ']';
	close[2 + level] = '\0';

	const char *end = strstr(p + 2 + level, close);
	const char *stop = end ? end + strlen(close) : p + strlen(p);

	for (; p < stop; p++)
		*line += *p == '\n';
	return stop;
}

/* Behind the quoted string at @p. */
static const char *skip_string(const char *p, int *line)
{
	char quote = *p++;

	for (; *p && *p != quote; p++) {
		if (*p == '\\' && p[1])
			p++;
		*line += *p == '\n';
	}
	return *p ? p + 1 : p;
}

/* Is "key =" or ["key"] = at @p? */
static bool is_key(const char *p, const char *key)
{
	size_t len = strlen(key);

	if (*p == '[') {
		p += 1 + strspn(p + 1, " ");
		if (*p != '"' && *p != '\'')
			return false;
		if (strncmp(p + 1, key, len) != 0 || p[1 + len] != *p)
			return false;
		p += len + 2;
		p += strspn(p, " ]");
	} else {
		if (strncmp(p, key, len) != 0)
			return false;
		p += len;
	}
	p += strspn(p, " \t");
	return *p == '=' && p[1] != '=';
}

int field_line(const struct field_table *t, const char *key)
{
	const char *p = sandbox_of(t->L)->text;
	int first = t->line ? t->line : sandbox_line(t->L);
	int line = 1;
	int depth = 0;

	if (!p || !key)
		return first;
	for (; line < first && *p; p++)
		line += *p == '\n';
	while (*p) {
		const char *behind = NULL;

		if (p[0] == '-' && p[1] == '-') {
			behind = skip_long_bracket(p + 2, &line);
			if (!behind)
				behind = p + strcspn(p, "\n");
		} else if (*p == '"' || *p == '\'') {
			behind = skip_string(p, &line);
		} else if (*p == '[') {
			if (depth && is_key(p, key))
				return line;
			behind = skip_long_bracket(p, &line);
		} else if (isalpha((u8)*p) || *p == '_') {
			if (depth && is_key(p, key))
				return line;
			behind = p;
			while (isalnum((u8)*behind) || *behind == '_')
				behind++;
		} else if (*p == '{') {
			depth++;
		} else if (*p == '}') {
			if (--depth <= 0)
				return first;
		} else if (*p == '\n') {
			if (depth == 0) /* the table was not written here */
				return first;
			line++;
		}
		p = behind ? behind : p + 1;
	}
	return first;
}

/* ---- errors ---- */

void field_error(const struct field_table *t, const char *key, const char *fmt, ...)
{
	char text[TARGET_ERROR_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	sandbox_error_line(t->L, field_line(t, key), "%s: %s", t->what, text);
}

const char *field_name_in_array(void *arg, size_t i)
{
	return ((const char *const *)arg)[i];
}

void field_unknown_text(char *err, const char *what, const char *word,
                        const char *(*name_at)(void *arg, size_t i), void *arg, size_t n)
{
	const char *near = nearest_name(word, name_at, arg, n);
	int len = snprintf(err, TARGET_ERROR_MAX, "unknown %s '%.60s'", what, word);

	if (near) {
		snprintf(err + len, TARGET_ERROR_MAX - (size_t)len, "; did you mean '%s'?", near);
		return;
	}
	for (size_t i = 0; i < n && len < 350; i++)
		len += snprintf(err + len, TARGET_ERROR_MAX - (size_t)len, "%s%.60s",
		                i ? ", " : "; expected one of ", name_at(arg, i));
	if (len >= 350)
		snprintf(err + len, TARGET_ERROR_MAX - (size_t)len, " ...");
}

void field_unknown(const struct field_table *t, const char *key, const char *what, const char *word,
                   const char *(*name_at)(void *arg, size_t i), void *arg, size_t n)
{
	char text[TARGET_ERROR_MAX];

	field_unknown_text(text, what, word, name_at, arg, n);
	sandbox_error_line(t->L, field_line(t, key), "%s: %s", t->what, text);
}

/* ---- values ---- */

static __attribute__((noreturn)) void expected(const struct field_table *t, const char *key,
                                               const char *what)
{
	lua_State *L = t->L;

	if (lua_type(L, -1) == LUA_TSTRING || lua_type(L, -1) == LUA_TNUMBER)
		field_error(t, key, "'%s' must be %s, not '%.40s'", key, what, lua_tostring(L, -1));
	field_error(t, key, "'%s' must be %s, not a %s", key, what, luaL_typename(L, -1));
}

/* A whole number in the field's range. */
static s64 read_integer(const struct field_table *t, const char *key, const struct field *f)
{
	char what[80];
	int ok = 0;
	s64 value = 0;

	if (lua_type(t->L, -1) == LUA_TNUMBER)
		value = lua_tointegerx(t->L, -1, &ok);
	if (ok && value >= f->lo && (!f->hi || value <= f->hi))
		return value;
	if (f->hi)
		snprintf(what, sizeof(what), "a whole number from %ld to %ld", f->lo, f->hi);
	else
		snprintf(what, sizeof(what), "a whole number, at least %ld", f->lo);
	expected(t, key, what);
}

static void check_quantity_range(const struct field_table *t, const char *key,
                                 const struct field *f, u64 value)
{
	char lo[QUANTITY_TEXT_MAX];
	char hi[QUANTITY_TEXT_MAX];

	if (value >= (u64)f->lo && (!f->hi || value <= (u64)f->hi))
		return;
	if (f->kind == FIELD_SIZE) {
		format_size(lo, sizeof(lo), (u64)f->lo);
		format_size(hi, sizeof(hi), (u64)f->hi);
	} else {
		quantity_format_time(lo, (u64)f->lo);
		quantity_format_time(hi, (u64)f->hi);
	}
	if (value < (u64)f->lo)
		field_error(t, key, "'%s' must be at least %s", key, lo);
	field_error(t, key, "'%s' must be at most %s", key, hi);
}

static u64 read_quantity(const struct field_table *t, const char *key, const struct field *f)
{
	lua_State *L = t->L;
	char err[TARGET_ERROR_MAX];
	u64 value = 0;
	int result;

	if (lua_type(L, -1) == LUA_TNUMBER) {
		double number = lua_tonumber(L, -1);

		result = f->kind == FIELD_SIZE ? quantity_size_number(number, &value, err)
		                               : quantity_time_number(number, &value, err);
	} else if (lua_type(L, -1) == LUA_TSTRING) {
		const char *text = lua_tostring(L, -1);

		result = f->kind == FIELD_SIZE ? quantity_size(text, &t->base, &value, err)
		                               : quantity_time(text, &value, err);
	} else {
		expected(t, key,
		         f->kind == FIELD_SIZE ? "a size such as '512M'" : "a time such as '10ms'");
	}
	if (result)
		field_error(t, key, "'%s': %s", key, err);
	check_quantity_range(t, key, f, value);
	return value;
}

static u32 read_choice(const struct field_table *t, const char *key, const struct field *f)
{
	const char *text;
	u32 n = 0;

	if (lua_type(t->L, -1) != LUA_TSTRING)
		expected(t, key, "a name");
	text = lua_tostring(t->L, -1);
	for (; f->choices[n]; n++)
		if (strcmp(f->choices[n], text) == 0)
			return n;
	field_unknown(t, key, key, text, field_name_in_array, (void *)f->choices, n);
}

void field_read(const struct field_table *t, const char *key, const struct field *f, void *out)
{
	lua_State *L = t->L;
	void *at = (char *)out + f->offset;
	char err[TARGET_ERROR_MAX];

	switch (f->kind) {
	case FIELD_TEXT:
		if (lua_type(L, -1) != LUA_TSTRING)
			expected(t, key, "a string");
		*(char **)at = keep_strdup(t->keep, lua_tostring(L, -1));
		break;
	case FIELD_SIZE:
	case FIELD_TIME:
		*(u64 *)at = read_quantity(t, key, f);
		break;
	case FIELD_PERCENT:
		if (lua_type(L, -1) != LUA_TSTRING)
			expected(t, key, "a percentage such as '2.5%'");
		if (quantity_percent(lua_tostring(L, -1), at, err))
			field_error(t, key, "'%s': %s", key, err);
		if (f->hi && *(u32 *)at > f->hi)
			field_error(t, key, "'%s' must be at most %ld%%", key, f->hi / 100);
		break;
	case FIELD_COUNT:
		*(u32 *)at = (u32)read_integer(t, key, f);
		break;
	case FIELD_INT:
		*(s32 *)at = (s32)read_integer(t, key, f);
		break;
	case FIELD_BOOL:
		if (lua_type(L, -1) != LUA_TBOOLEAN)
			expected(t, key, "true or false");
		*(bool *)at = lua_toboolean(L, -1);
		break;
	case FIELD_CHOICE:
		*(u32 *)at = read_choice(t, key, f);
		break;
	case FIELD_TABLE:
		if (lua_type(L, -1) != LUA_TTABLE)
			expected(t, key, "a table { ... }");
		break;
	case FIELD_FUNCTION:
		if (lua_type(L, -1) != LUA_TFUNCTION)
			expected(t, key, "a function");
		break;
	case FIELD_ANY:
		break;
	}
}

struct names {
	const struct field *fields;
};

static const char *field_name_at(void *arg, size_t i)
{
	return ((const struct names *)arg)->fields[i].name;
}

/* The smallest undeclared key, so that the message does not depend on the order of hashing. */
static void check_unknown(const struct field_table *t, const struct field *fields, size_t n)
{
	lua_State *L = t->L;
	const char *unknown = NULL;
	bool unnamed = false;

	for (lua_pushnil(L); lua_next(L, t->index); lua_pop(L, 1)) {
		const char *key;
		size_t i = 0;

		if (lua_type(L, -2) != LUA_TSTRING) {
			unnamed = true;
			continue;
		}
		key = lua_tostring(L, -2);
		while (i < n && strcmp(fields[i].name, key) != 0)
			i++;
		if (i == n && (!unknown || strcmp(key, unknown) < 0))
			unknown = key;
	}
	if (unknown)
		field_unknown(t, unknown, "field", unknown, field_name_at, &(struct names){fields},
		              n);
	if (unnamed)
		field_error(t, NULL, "a value without a name; expected %s = ...", fields[0].name);
}

u64 fields_read(const struct field_table *t, const struct field *fields, size_t n, void *out)
{
	lua_State *L = t->L;
	u64 present = 0;

	check_unknown(t, fields, n);
	for (size_t i = 0; i < n; i++) {
		lua_pushstring(L, fields[i].name);
		if (lua_rawget(L, t->index) != LUA_TNIL) {
			field_read(t, fields[i].name, &fields[i], out);
			present |= BIT(i);
		}
		lua_pop(L, 1);
	}
	return present;
}

struct field_table field_subtable(const struct field_table *t, const char *key)
{
	struct field_table sub = *t;

	if (lua_type(t->L, -1) != LUA_TTABLE)
		expected(t, key, "a table { ... }");
	sub.index = lua_gettop(t->L);
	sub.what = keep_printf(t->keep, "%s.%s", t->what, key);
	sub.line = field_line(t, key);
	return sub;
}

/* ---- values from the command line ---- */

struct text_value {
	struct field_table table;
	const char *key;
	const char *text;
	const struct field *field;
	void *out;
};

/* Text becomes the Lua value that a file would have: a number, true, false or a string. */
void field_push_text(lua_State *L, const char *text)
{
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		lua_pushboolean(L, text[0] == 't');
	else if (!isdigit((u8)text[strlen(text) ? strlen(text) - 1 : 0]) ||
	         !lua_stringtonumber(L, text))
		lua_pushstring(L, text);
}

static int read_text_value(lua_State *L)
{
	struct text_value *v = lua_touserdata(L, 1);

	v->table.L = L;
	if (v->field->kind == FIELD_SIZE || v->field->kind == FIELD_TIME ||
	    v->field->kind == FIELD_TEXT || v->field->kind == FIELD_CHOICE)
		lua_pushstring(L, v->text);
	else
		field_push_text(L, v->text);
	field_read(&v->table, v->key, v->field, v->out);
	return 0;
}

int field_parse_text(const char *what, const char *key, const char *text, const struct field *f,
                     const struct quantity_base *base, struct keep *keep, void *out, char *err)
{
	struct text_value value = {
		.table = {.what = what, .keep = keep},
		.key = key,
		.text = text,
		.field = f,
		.out = out,
	};
	struct sandbox *sb = sandbox_new(&(struct sandbox_options){0});
	char message[TARGET_ERROR_MAX];
	int result;

	if (!sb) {
		snprintf(err, TARGET_ERROR_MAX, "out of memory");
		return -ENOMEM;
	}
	if (base)
		value.table.base = *base;
	lua_pushcfunction(sb->L, read_text_value);
	lua_pushlightuserdata(sb->L, &value);
	result = sandbox_call(sb, 1, 0, message);
	sandbox_free(sb);
	if (result) /* without the file that is not there */
		snprintf(err, TARGET_ERROR_MAX, "%s", message + strspn(message, ": "));
	return result;
}
