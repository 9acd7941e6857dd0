/*
 * Numbers as text. See format.h.
 */
#include "report/format.h"

#include <math.h>
#include <stdio.h>

char *format_elapsed(char *buf, u64 ns)
{
	u64 cs = DIV_ROUND_CLOSEST(ns, 10000000UL);
	u64 s = cs / 100;

	if (s >= 3600)
		snprintf(buf, FORMAT_MAX, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
	else
		snprintf(buf, FORMAT_MAX, "%lu:%02lu.%02lu", s / 60, s % 60, cs % 100);
	return buf;
}

char *format_time_line(char *buf, u64 user_ns, u64 sys_ns, u64 elapsed_ns)
{
	u64 user = DIV_ROUND_CLOSEST(user_ns, 10000000UL);
	u64 sys = DIV_ROUND_CLOSEST(sys_ns, 10000000UL);
	char elapsed[FORMAT_MAX];

	snprintf(buf, FORMAT_MAX, "%lu.%02luuser %lu.%02lusystem %.20selapsed", user / 100,
	         user % 100, sys / 100, sys % 100, format_elapsed(elapsed, elapsed_ns));
	return buf;
}

/* @v >= 0 with three significant digits, without an exponent. */
static void three_digits(char *buf, size_t n, double v)
{
	snprintf(buf, n, "%.*f", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v);
}

char *format_ns(char *buf, double ns)
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	size_t u = 0;
	char digits[32];

	if (ns < 999.5) {
		snprintf(buf, FORMAT_MAX, "%.0fns", ns);
		return buf;
	}
	while (ns >= 999.5 && u + 1 < ARRAY_SIZE(unit)) {
		ns /= 1000;
		u++;
	}
	three_digits(digits, sizeof(digits), ns);
	snprintf(buf, FORMAT_MAX, "%s%s", digits, unit[u]);
	return buf;
}

char *format_count(char *buf, double value)
{
	bool whole = value == floor(value) || fabs(value) >= 1e5;

	snprintf(buf, FORMAT_MAX, "%.*f", whole ? 0 : 1, value);
	return buf;
}

char *format_change(char *buf, double ratio)
{
	if (ratio >= 10)
		snprintf(buf, FORMAT_MAX, "x%.*f", ratio < 99.95 ? 1 : 0, ratio);
	else
		snprintf(buf, FORMAT_MAX, "%+.1f%%", 100 * (ratio - 1));
	return buf;
}

char *format_comparison(char *buf, const struct comparison *c)
{
	if (c->base_missing || c->value_missing)
		snprintf(buf, FORMAT_MAX, "n/a");
	else if (c->base == c->value)
		snprintf(buf, FORMAT_MAX, "=");
	else if (c->base == 0 || c->value == 0)
		snprintf(buf, FORMAT_MAX, "%s", c->base == 0 ? "new" : "gone");
	else if (c->judged && !c->significant)
		snprintf(buf, FORMAT_MAX, "~");
	else
		format_change(buf, c->ratio);
	return buf;
}

char *format_effect(char *buf, double g)
{
	if (!isfinite(g))
		snprintf(buf, FORMAT_MAX, "-");
	else if (fabs(g) > 100)
		snprintf(buf, FORMAT_MAX, "%s", g > 0 ? ">+100" : "<-100");
	else
		snprintf(buf, FORMAT_MAX, "%+.1f", g);
	return buf;
}
