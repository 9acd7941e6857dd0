/*
 * Reading quantities. See quantity.h.
 */
#include "load/quantity.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/size.h"
#include "load/target.h"

#define NS_MAX (1UL << 62)   /* about 146 years */
#define SIZE_NUMBER_MIN 4096 /* a plain number below a page is a forgotten unit */
#define TIME_NUMBER_MIN 1000 /* and so is one below a microsecond */
#define FRACTION_DIGITS_MAX 9

/* A decimal number, value = whole + num / den, and the unit behind it. */
struct reading {
	u64 whole;
	u64 num;
	u64 den;
	char unit[12];
};

/* Split "12.5 ms". Returns false if @text has another form. */
static bool split(const char *text, struct reading *r)
{
	size_t n = 0;
	int digits = 0;

	*r = (struct reading){.den = 1};
	while (*text == ' ')
		text++;
	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++) {
		u64 digit = (u64)(*text - '0');

		if (r->whole > (UINT64_MAX - digit) / 10)
			return false;
		r->whole = r->whole * 10 + digit;
	}
	if (*text == '.') {
		for (text++; *text >= '0' && *text <= '9'; text++) {
			if (++digits > FRACTION_DIGITS_MAX)
				return false;
			r->num = r->num * 10 + (u64)(*text - '0');
			r->den *= 10;
		}
		if (!digits)
			return false;
	}
	for (; *text; text++) {
		if (*text == ' ')
			continue;
		if (n + 1 == sizeof(r->unit))
			return false;
		r->unit[n++] = *text;
	}
	return true;
}

/* Nothing is nothing in every unit. */
static bool is_plain_zero(const struct reading *r)
{
	return !r->unit[0] && !r->whole && !r->num;
}

/* @r times @scale, cut to whole units. False if it does not fit below @limit. */
static bool scaled(const struct reading *r, u64 scale, u64 limit, u64 *value)
{
	unsigned __int128 v = (unsigned __int128)r->whole * scale;

	v += (unsigned __int128)r->num * scale / r->den;
	if (v > limit)
		return false;
	*value = (u64)v;
	return true;
}

int load_refuse(char *err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(err, TARGET_ERROR_MAX, fmt, args);
	va_end(args);
	return -EINVAL;
}

static int relative_size(const struct reading *r, u64 whole_bytes, const char *text, u64 *bytes,
                         char *err)
{
	struct reading part = *r;
	u64 value;

	if (!whole_bytes)
		return load_refuse(err, "'%.40s' is relative to a size that is not known here",
		                   text);
	part.den *= 100; /* whole / 100 is cut only after the multiplication */
	unsigned __int128 v = (unsigned __int128)r->whole * r->den + r->num;

	if (v > UINT64_MAX / 128)
		return load_refuse(err, "'%.40s' is too large", text);
	v = v * whole_bytes / part.den;
	if (v > UINT64_MAX / 2)
		return load_refuse(err, "'%.40s' is too large", text);
	value = (u64)v;
	*bytes = ALIGN_DOWN(value, 4096);
	return 0;
}

int quantity_size(const char *text, const struct quantity_base *base, u64 *bytes, char *err)
{
	static const char units[] = "BKMGTP";
	struct reading r;
	const char *unit;

	if (!split(text, &r))
		goto unreadable;
	if (is_plain_zero(&r)) {
		*bytes = 0;
		return 0;
	}
	if (!r.unit[0])
		return load_refuse(err,
		                   "the size '%.40s' has no unit; expected for example '%.20sM'",
		                   text, text);
	if (strcmp(r.unit, "%ram") == 0)
		return relative_size(&r, base ? base->ram_bytes : 0, text, bytes, err);
	if (strcmp(r.unit, "%swap") == 0)
		return relative_size(&r, base ? base->swap_bytes : 0, text, bytes, err);
	unit = strchr(units, r.unit[0] & ~0x20);
	if (!unit || !*unit)
		goto unreadable;
	if (r.unit[1] && strcmp(r.unit + 1, "B") != 0 && strcmp(r.unit + 1, "iB") != 0)
		goto unreadable;
	if (!scaled(&r, 1UL << (10 * (unit - units)), UINT64_MAX / 2, bytes))
		return load_refuse(err, "the size '%.40s' is too large", text);
	return 0;
unreadable:
	return load_refuse(
		err, "'%.40s' is not a size; expected for example '512M', '3G' or '80%%ram'", text);
}

static const struct {
	const char *name;
	u64 ns;
} time_units[] = {
	{"h", 3600000000000}, {"min", 60000000000}, {"s", 1000000000},
	{"ms", 1000000},      {"us", 1000},         {"ns", 1},
};

int quantity_time(const char *text, u64 *ns, char *err)
{
	struct reading r;

	if (!split(text, &r))
		goto unreadable;
	if (is_plain_zero(&r)) {
		*ns = 0;
		return 0;
	}
	if (!r.unit[0])
		return load_refuse(err,
		                   "the time '%.40s' has no unit; expected for example '%.20sms'",
		                   text, text);
	for (size_t i = 0; i < ARRAY_SIZE(time_units); i++) {
		if (strcmp(r.unit, time_units[i].name) != 0)
			continue;
		if (!scaled(&r, time_units[i].ns, NS_MAX, ns))
			return load_refuse(err, "the time '%.40s' is too long", text);
		return 0;
	}
unreadable:
	return load_refuse(
		err, "'%.40s' is not a time; expected for example '10ms', '1.5s' or '5min'", text);
}

int quantity_percent(const char *text, u32 *bp, char *err)
{
	struct reading r;
	u64 value;

	if (!split(text, &r) || strcmp(r.unit, "%") != 0)
		return load_refuse(err, "'%.40s' is not a percentage; expected for example '2.5%%'",
		                   text);
	if (!scaled(&r, 100, 1000000, &value))
		return load_refuse(err, "'%.40s' is more than 10000%%", text);
	*bp = (u32)value;
	return 0;
}

int quantity_size_number(double value, u64 *bytes, char *err)
{
	if (!(value >= 0))
		return load_refuse(err, "a size cannot be %.14g", value);
	if (value > (double)(UINT64_MAX / 4))
		return load_refuse(err, "the size %.14g is too large", value);
	if (value > 0 && value < SIZE_NUMBER_MIN)
		return load_refuse(
			err, "%.14g would be bytes, less than a page; give a unit, as in '%.14gM'",
			value, value);
	*bytes = (u64)value;
	return 0;
}

int quantity_time_number(double value, u64 *ns, char *err)
{
	if (!(value >= 0))
		return load_refuse(err, "a time cannot be %.14g", value);
	if (value > (double)NS_MAX)
		return load_refuse(err, "the time %.14g is too long", value);
	if (value > 0 && value < TIME_NUMBER_MIN)
		return load_refuse(err, "%.14g would be nanoseconds; give a unit, as in '%.14gms'",
		                   value, value);
	*ns = (u64)value;
	return 0;
}

char *quantity_format_time(char *buf, u64 ns)
{
	for (size_t i = 0; i < ARRAY_SIZE(time_units); i++) {
		if (strcmp(time_units[i].name, "h") == 0 || ns % time_units[i].ns)
			continue;
		if (ns == 0)
			return strcpy(buf, "0s");
		snprintf(buf, QUANTITY_TEXT_MAX, "%lu%s", ns / time_units[i].ns,
		         time_units[i].name);
		return buf;
	}
	return buf;
}

char *quantity_format_percent(char *buf, u32 bp)
{
	if (bp % 100)
		snprintf(buf, QUANTITY_TEXT_MAX, "%u.%02u%%", bp / 100, bp % 100);
	else
		snprintf(buf, QUANTITY_TEXT_MAX, "%u%%", bp / 100);
	return buf;
}
