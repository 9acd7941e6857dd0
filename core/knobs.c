/*
 * Knobs: the table of core/knobs.h as data, and values read and written as text.
 *
 * Whoever sets a knob by name gets either what was asked for or a sentence that says what was
 * expected. Presets are in core/presets.c.
 */
#include "core/knobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/strdist.h"

/* The texts of each enumerated knob, under the name of its field. */
#define E(name, text) text,
#define NUM(field, name, unit, lo, hi, s, t, origin, doc)
#define ENUM(field, name, values, s, t, origin, doc)                                               \
	static const char *const field##_values[] = {values(E)};
KNOBS(NUM, ENUM)
#undef E
#undef NUM
#undef ENUM

static const struct knob_info knob_table[] = {
#define NUM(f, n, u, lo, hi, s, t, o, d)                                                           \
	{                                                                                          \
		.name = n,                                                                         \
		.unit = u,                                                                         \
		.origin = o,                                                                       \
		.doc = d,                                                                          \
		.min = lo,                                                                         \
		.max = hi,                                                                         \
		.offset = offsetof(struct knobs, f),                                               \
		.column = {s, t},                                                                  \
	},
#define ENUM(f, n, values, s, t, o, d)                                                             \
	{                                                                                          \
		.name = n,                                                                         \
		.unit = "",                                                                        \
		.origin = o,                                                                       \
		.doc = d,                                                                          \
		.max = ARRAY_SIZE(f##_values) - 1,                                                 \
		.nr_values = ARRAY_SIZE(f##_values),                                               \
		.value = f##_values,                                                               \
		.offset = offsetof(struct knobs, f),                                               \
		.column = {s, t},                                                                  \
	},
	KNOBS(NUM, ENUM)
#undef NUM
#undef ENUM
};

u32 knob_count(void)
{
	return ARRAY_SIZE(knob_table);
}

const struct knob_info *knob_at(u32 i)
{
	return i < ARRAY_SIZE(knob_table) ? &knob_table[i] : NULL;
}

/* Numbers are u64 in struct knobs, choices are u32. */
void knob_write(struct knobs *k, const struct knob_info *info, u64 value)
{
	void *field = (char *)k + info->offset;

	if (info->nr_values)
		*(u32 *)field = (u32)value;
	else
		*(u64 *)field = value;
}

u64 knob_read(const struct knobs *k, const struct knob_info *info)
{
	const void *field = (const char *)k + info->offset;

	return info->nr_values ? *(const u32 *)field : *(const u64 *)field;
}

/* ---- setting by name -------------------------------------------------------------------------- */

static const char *knob_name_at(void *arg __attribute__((unused)), size_t i)
{
	return knob_table[i].name;
}

static const char *knob_value_at(void *arg, size_t i)
{
	return ((const struct knob_info *)arg)->value[i];
}

static const struct knob_info *knob_find(const char *name)
{
	for (u32 i = 0; i < knob_count(); i++)
		if (!strcmp(knob_table[i].name, name))
			return &knob_table[i];
	return NULL;
}

static int knob_unknown(const char *name, char *err, size_t n)
{
	const char *near = nearest_name(name, knob_name_at, NULL, knob_count());

	if (near)
		snprintf(err, n, "there is no knob '%s'; did you mean '%s'?", name, near);
	else
		snprintf(err, n, "there is no knob '%s'; 'quire list knobs' shows all", name);
	return -ENOENT;
}

/* Writes "'lazy', 'throttle' or 'dontneed'" to @buf. */
static void knob_choices(const struct knob_info *info, char *buf, size_t n)
{
	size_t len = 0;

	buf[0] = '\0';
	for (u32 i = 0; i < info->nr_values && len < n; i++) {
		const char *before = !i ? "" : i + 1 < info->nr_values ? ", " : " or ";

		len += (size_t)snprintf(buf + len, n - len, "%s'%s'", before, info->value[i]);
	}
}

static int knob_set_choice(struct knobs *k, const struct knob_info *info, const char *value,
                           char *err, size_t n)
{
	char choices[256];
	const char *near;

	for (u32 i = 0; i < info->nr_values; i++) {
		if (!strcmp(info->value[i], value)) {
			knob_write(k, info, i);
			return 0;
		}
	}
	near = nearest_name(value, knob_value_at, (void *)info, info->nr_values);
	knob_choices(info, choices, sizeof(choices));
	if (near)
		snprintf(err, n, "%s = '%s': expected %s; did you mean '%s'?", info->name, value,
		         choices, near);
	else
		snprintf(err, n, "%s = '%s': expected %s", info->name, value, choices);
	return -EINVAL;
}

/* A whole decimal number without sign or blanks; false if it is anything else or too large. */
static bool parse_number(const char *text, u64 *number)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return !errno && !*end;
}

static int knob_set_number(struct knobs *k, const struct knob_info *info, const char *value,
                           char *err, size_t n)
{
	u64 number;

	if (!parse_number(value, &number) || number < info->min || number > info->max) {
		snprintf(err, n, "%s = '%s': expected a whole number from %lu to %lu%s%s",
		         info->name, value, info->min, info->max, info->unit[0] ? ", in " : "",
		         info->unit);
		return -EINVAL;
	}
	knob_write(k, info, number);
	return 0;
}

int knob_set(struct knobs *k, const char *name, const char *value, char *err, size_t n)
{
	const struct knob_info *info = knob_find(name);

	if (!info)
		return knob_unknown(name, err, n);
	if (info->nr_values)
		return knob_set_choice(k, info, value, err, n);
	return knob_set_number(k, info, value, err, n);
}

void knob_get(const struct knobs *k, const struct knob_info *info, char *buf, size_t n)
{
	u64 value = knob_read(k, info);

	if (!info->nr_values)
		snprintf(buf, n, "%lu", value);
	else if (value < info->nr_values)
		snprintf(buf, n, "%s", info->value[value]);
	else
		snprintf(buf, n, "?");
}
