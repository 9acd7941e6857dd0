/*
 * --vary. See vary.h.
 */
#include "cli/vary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "lib/size.h"
#include "load/quantity.h"
#include "load/target.h"

static bool wrong(const char *text)
{
	cli_error("--vary expects NAME=VALUE,VALUE..., NAME=LO..HI:N or NAME=LO..HI:Nx, not \"%s\"",
	          text);
	return false;
}

static void add_value(struct result_axis *a, const char *value, size_t len)
{
	char *copy = report_alloc(len + 1, 1);

	memcpy(copy, value, len);
	if (!(a->nr_values & (a->nr_values - 1))) { /* room doubles at powers of two */
		a->value = realloc(a->value,
		                   sizeof(*a->value) * (a->nr_values ? 2 * a->nr_values : 1));
		if (!a->value)
			abort();
	}
	a->value[a->nr_values++] = copy;
}

/* ---- ranges ----------------------------------------------------------------------------------------- */

enum unit { UNIT_WHOLE, UNIT_NUMBER, UNIT_SIZE, UNIT_TIME, UNIT_PERCENT };

/* In bytes, ns, parts of 10,000, or as it is. */
static bool parse_end(const char *text, enum unit *unit, double *v)
{
	char err[TARGET_ERROR_MAX];
	char *end;
	u64 whole;
	u32 bp;

	*v = strtod(text, &end);
	if (end == text)
		return false;
	if (!*end) {
		*unit = *v == floor(*v) && !strpbrk(text, ".eE") ? UNIT_WHOLE : UNIT_NUMBER;
		return isfinite(*v);
	}
	if (parse_size(text, &whole) == 0) {
		*unit = UNIT_SIZE;
		*v = (double)whole;
		return true;
	}
	if (quantity_time(text, &whole, err) == 0) {
		*unit = UNIT_TIME;
		*v = (double)whole;
		return true;
	}
	if (quantity_percent(text, &bp, err) == 0) {
		*unit = UNIT_PERCENT;
		*v = bp;
		return true;
	}
	return false;
}

/* What sizes of a range are rounded to: an eighth of the smallest step, but whole pages. */
static u64 grain_of(double lo, double hi, unsigned long n, bool factors)
{
	double step = factors ? lo * (pow(hi / lo, 1.0 / (double)(n - 1)) - 1)
	                      : (hi - lo) / (double)(n - 1);
	u64 grain = 4096;

	while ((double)grain * 2 <= fabs(step) / 8)
		grain *= 2;
	return grain;
}

/* Sizes are multiples of @grain, everything else whole units, numbers apart. */
static void format_end(char *buf, size_t n, enum unit unit, u64 grain, double v)
{
	char text[QUANTITY_TEXT_MAX];

	switch (unit) {
	case UNIT_WHOLE:
		snprintf(buf, n, "%.0f", round(v));
		break;
	case UNIT_NUMBER:
		snprintf(buf, n, "%.6g", v);
		break;
	case UNIT_SIZE:
		format_size(buf, n, (u64)llround(v / (double)grain) * grain);
		break;
	case UNIT_TIME:
		snprintf(buf, n, "%s", quantity_format_time(text, (u64)llround(v)));
		break;
	case UNIT_PERCENT:
		snprintf(buf, n, "%s", quantity_format_percent(text, (u32)lround(v)));
		break;
	}
}

/* "LO..HI:N" or "LO..HI:Nx". Values that come out the same are kept once. */
static bool add_range(struct result_axis *a, const char *text, const char *dots)
{
	const char *colon = strrchr(dots, ':');
	char lo_text[64];
	char hi_text[64];
	char *end = NULL;
	unsigned long n = colon ? strtoul(colon + 1, &end, 10) : 0;
	bool factors = end && *end == 'x';
	enum unit unit;
	enum unit hi_unit;
	double lo;
	double hi;
	u64 grain;

	if (!colon || end == colon + 1 || end[factors] || n < 2 || n > POINTS_MAX)
		return false;
	snprintf(lo_text, sizeof(lo_text), "%.*s", (int)(dots - text), text);
	snprintf(hi_text, sizeof(hi_text), "%.*s", (int)(colon - dots - 2), dots + 2);
	if (!parse_end(lo_text, &unit, &lo) || !parse_end(hi_text, &hi_unit, &hi))
		return false;
	if (unit != hi_unit) {
		if (max(unit, hi_unit) > UNIT_NUMBER)
			return false;
		unit = UNIT_NUMBER;
	}
	if (factors && (lo <= 0 || hi <= 0))
		return false;
	grain = grain_of(lo, hi, n, factors);
	for (unsigned long i = 0; i < n; i++) {
		double part = (double)i / (double)(n - 1);
		char value[64];

		format_end(value, sizeof(value), unit, i && i + 1 < n ? grain : 4096,
		           factors ? lo * pow(hi / lo, part) : lo + (hi - lo) * part);
		if (!a->nr_values || strcmp(a->value[a->nr_values - 1], value) != 0)
			add_value(a, value, strlen(value));
	}
	return true;
}

/* ---- axes ------------------------------------------------------------------------------------------- */

bool vary_add(struct vary *v, const char *text)
{
	const char *equals = strchr(text, '=');
	struct result_axis *a = &v->axis[v->nr_axes];
	const char *dots;

	if (!equals || equals == text || !equals[1])
		return wrong(text);
	if (v->nr_axes == VARY_MAX) {
		cli_error("more than %d --vary", VARY_MAX);
		return false;
	}
	a->name = report_alloc((size_t)(equals - text) + 1, 1);
	memcpy(a->name, text, (size_t)(equals - text));
	v->nr_axes++; /* so that vary_free() sees it */
	dots = strstr(equals + 1, "..");
	if (dots && !strchr(equals, ','))
		return add_range(a, equals + 1, dots) || wrong(text);
	for (const char *p = equals + 1;; p++) {
		size_t len = strcspn(p, ",");

		if (!len)
			return wrong(text);
		add_value(a, p, len);
		p += len;
		if (!*p)
			return true;
	}
}

bool vary_check(const struct vary *v)
{
	u64 nr = 1;

	for (u32 i = 0; i < v->nr_axes; i++) {
		if (v->zip && v->axis[i].nr_values != v->axis[0].nr_values) {
			cli_error("--zip: %s has %u values and %s has %u", v->axis[0].name,
			          v->axis[0].nr_values, v->axis[i].name, v->axis[i].nr_values);
			return false;
		}
		nr = v->zip ? v->axis[i].nr_values : nr * v->axis[i].nr_values;
		if (nr > POINTS_MAX) {
			cli_error("--vary gives %lu points; %d are the most", nr, POINTS_MAX);
			return false;
		}
	}
	return true;
}

u32 vary_points(const struct vary *v)
{
	u32 n = 1;

	for (u32 i = 0; i < v->nr_axes; i++)
		n = v->zip ? v->axis[i].nr_values : n * v->axis[i].nr_values;
	return n;
}

static const char *value_at(const struct vary *v, u32 point, u32 axis)
{
	const struct result_axis *a = &v->axis[axis];

	if (!v->zip)
		for (u32 i = v->nr_axes; --i > axis;)
			point /= v->axis[i].nr_values;
	return a->value[point % a->nr_values];
}

char *vary_setting(const struct vary *v, u32 point, u32 axis)
{
	const char *value = value_at(v, point, axis);
	size_t room = strlen(v->axis[axis].name) + strlen(value) + 2;
	char *text = report_alloc(room, 1);

	snprintf(text, room, "%s=%s", v->axis[axis].name, value);
	return text;
}

char *vary_label(const struct vary *v, u32 point)
{
	struct bytes b = {0};

	for (u32 i = 0; i < v->nr_axes; i++) {
		char *setting = vary_setting(v, point, i);

		if (i)
			bytes_add(&b, " ", 1);
		bytes_add(&b, setting, strlen(setting));
		free(setting);
	}
	bytes_add(&b, "", 1);
	return b.data;
}

void vary_free(struct vary *v)
{
	for (u32 i = 0; i < v->nr_axes; i++)
		result_axis_free(&v->axis[i]);
	*v = (struct vary){0};
}
