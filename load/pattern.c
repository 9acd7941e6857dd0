/*
 * A backtracking matcher for Lua patterns. See pattern.h.
 *
 * match() walks the pattern and recurses only where it may have to come back: for a capture, and
 * for the tail behind a repeated item. An error or an empty budget makes every level return NULL.
 */
#include "load/pattern.h"

#include <ctype.h>
#include <string.h>

#define ESCAPE '%'

void pattern_init(struct pattern *m, const char *src, size_t src_len, const char *pat,
                  size_t pat_len, u64 budget)
{
	m->src = src;
	m->src_end = src + src_len;
	m->pat_end = pat + pat_len;
	m->budget = budget;
	m->error = NULL;
	m->exhausted = false;
	m->depth = 0;
	m->nr_captures = 0;
}

static const char *fail(struct pattern *m, const char *error)
{
	if (!m->error)
		m->error = error;
	return NULL;
}

static bool spend(struct pattern *m, u64 steps)
{
	if (m->budget < steps) {
		m->budget = 0;
		m->exhausted = true;
		return false;
	}
	m->budget -= steps;
	return true;
}

static bool broken(const struct pattern *m)
{
	return m->error || m->exhausted;
}

/* The end of the single-character class that begins at @p, or NULL with an error. */
static const char *class_end(struct pattern *m, const char *p)
{
	char c = *p++;

	if (c == ESCAPE) {
		if (p == m->pat_end)
			return fail(m, "malformed pattern (ends with '%')");
		return p + 1;
	}
	if (c != '[')
		return p;
	if (p < m->pat_end && *p == '^')
		p++;
	do { /* a ']' that comes first is an ordinary character */
		if (p == m->pat_end)
			return fail(m, "malformed pattern (missing ']')");
		c = *p++;
		if (c == ESCAPE) {
			if (p == m->pat_end)
				return fail(m, "malformed pattern (missing ']')");
			p++;
		}
	} while (p == m->pat_end || *p != ']');
	return p + 1;
}

/* Does @c belong to the class %@class? */
static bool in_class(int c, int class)
{
	bool is;

	switch (tolower(class)) {
	case 'a':
		is = isalpha(c);
		break;
	case 'c':
		is = iscntrl(c);
		break;
	case 'd':
		is = isdigit(c);
		break;
	case 'g':
		is = isgraph(c);
		break;
	case 'l':
		is = islower(c);
		break;
	case 'p':
		is = ispunct(c);
		break;
	case 's':
		is = isspace(c);
		break;
	case 'u':
		is = isupper(c);
		break;
	case 'w':
		is = isalnum(c);
		break;
	case 'x':
		is = isxdigit(c);
		break;
	case 'z': /* not in the manual any more, and still there */
		is = c == 0;
		break;
	default:
		return class == c;
	}
	return isupper(class) ? !is : is;
}

/* Is @c in the set [@p ... @end], where @end is its closing bracket? */
static bool in_set(int c, const char *p, const char *end)
{
	bool found = true;

	p++;
	if (*p == '^') {
		found = false;
		p++;
	}
	for (; p < end; p++) {
		if (*p == ESCAPE) {
			p++;
			if (in_class(c, (u8)*p))
				return found;
		} else if (p[1] == '-' && p + 2 < end) {
			if ((u8)p[0] <= c && c <= (u8)p[2])
				return found;
			p += 2;
		} else if ((u8)*p == c) {
			return found;
		}
	}
	return !found;
}

/* Does the character at @s match the single item [@p, @end)? */
static bool single(struct pattern *m, const char *s, const char *p, const char *end)
{
	if (s >= m->src_end)
		return false;

	int c = (u8)*s;

	switch (*p) {
	case '.':
		return true;
	case ESCAPE:
		return in_class(c, (u8)p[1]);
	case '[':
		return in_set(c, p, end - 1);
	default:
		return (u8)*p == c;
	}
}

static const char *match(struct pattern *m, const char *s, const char *p);

/* %bxy at @s; @p is behind the 'b'. */
static const char *match_balance(struct pattern *m, const char *s, const char *p)
{
	if (m->pat_end - p < 2)
		return fail(m, "malformed pattern (missing arguments to '%b')");
	if (s >= m->src_end || *s != p[0])
		return NULL;

	int nesting = 1;

	for (s++; s < m->src_end; s++) {
		if (!spend(m, 1))
			return NULL;
		if (*s == p[1]) {
			if (--nesting == 0)
				return s + 1;
		} else if (*s == p[0]) {
			nesting++;
		}
	}
	return NULL;
}

/* The item [@p, @end) as often as it goes, then fewer and fewer until the rest matches. */
static const char *match_most(struct pattern *m, const char *s, const char *p, const char *end)
{
	ptrdiff_t n = 0;

	while (single(m, s + n, p, end)) {
		if (!spend(m, 1))
			return NULL;
		n++;
	}
	for (; n >= 0 && !broken(m); n--) {
		const char *result = match(m, s + n, end + 1);

		if (result)
			return result;
	}
	return NULL;
}

/* The item [@p, @end) as few times as it takes for the rest to match. */
static const char *match_least(struct pattern *m, const char *s, const char *p, const char *end)
{
	for (;;) {
		const char *result = match(m, s, end + 1);

		if (result)
			return result;
		if (broken(m) || !single(m, s, p, end))
			return NULL;
		s++;
	}
}

static const char *start_capture(struct pattern *m, const char *s, const char *p, ptrdiff_t what)
{
	if (m->nr_captures >= PATTERN_CAPTURES_MAX)
		return fail(m, "too many captures");
	m->capture[m->nr_captures].start = s;
	m->capture[m->nr_captures].len = what;
	m->nr_captures++;

	const char *result = match(m, s, p);

	if (!result)
		m->nr_captures--;
	return result;
}

static const char *end_capture(struct pattern *m, const char *s, const char *p)
{
	int i = m->nr_captures - 1;

	while (i >= 0 && m->capture[i].len != PATTERN_CAPTURE_OPEN)
		i--;
	if (i < 0)
		return fail(m, "invalid pattern capture");
	m->capture[i].len = s - m->capture[i].start;

	const char *result = match(m, s, p);

	if (!result)
		m->capture[i].len = PATTERN_CAPTURE_OPEN;
	return result;
}

/* %1 ... %9: what the capture of that number holds, once more. */
static const char *match_capture(struct pattern *m, const char *s, int digit)
{
	int i = digit - '1';

	if (i < 0 || i >= m->nr_captures || m->capture[i].len == PATTERN_CAPTURE_OPEN)
		return fail(m, "invalid capture index in the pattern");

	/* A position capture has no text: Lua compares its length as a huge number, so never. */
	if (m->capture[i].len < 0)
		return NULL;

	size_t len = (size_t)m->capture[i].len;

	if (!spend(m, len / 16))
		return NULL;
	if ((size_t)(m->src_end - s) >= len && memcmp(m->capture[i].start, s, len) == 0)
		return s + len;
	return NULL;
}

/* %f[set] at @s: the character before is outside the set and this one inside. */
static bool frontier(struct pattern *m, const char *s, const char *p, const char *end)
{
	int before = s == m->src ? '\0' : (u8)s[-1];
	int here = s < m->src_end ? (u8)*s : '\0';

	return !in_set(before, p, end - 1) && in_set(here, p, end - 1);
}

static const char *match_here(struct pattern *m, const char *s, const char *p)
{
	while (p != m->pat_end) {
		if (!spend(m, 1))
			return NULL;
		if (*p == '(') {
			if (p + 1 < m->pat_end && p[1] == ')')
				return start_capture(m, s, p + 2, PATTERN_CAPTURE_POSITION);
			return start_capture(m, s, p + 1, PATTERN_CAPTURE_OPEN);
		}
		if (*p == ')')
			return end_capture(m, s, p + 1);
		if (*p == '$' && p + 1 == m->pat_end)
			return s == m->src_end ? s : NULL;
		if (*p == ESCAPE && p + 1 < m->pat_end) {
			if (p[1] == 'b') {
				s = match_balance(m, s, p + 2);
				if (!s)
					return NULL;
				p += 4;
				continue;
			}
			if (p[1] == 'f') {
				p += 2;
				if (p == m->pat_end || *p != '[')
					return fail(m, "missing '[' after '%f' in pattern");

				const char *end = class_end(m, p);

				if (!end || !frontier(m, s, p, end))
					return NULL;
				p = end;
				continue;
			}
			if (isdigit((u8)p[1])) {
				s = match_capture(m, s, (u8)p[1]);
				if (!s)
					return NULL;
				p += 2;
				continue;
			}
		}

		const char *end = class_end(m, p);

		if (!end)
			return NULL;

		char suffix = end < m->pat_end ? *end : '\0';

		if (!single(m, s, p, end)) {
			if (suffix != '*' && suffix != '?' && suffix != '-')
				return NULL;
			p = end + 1; /* none at all will do */
			continue;
		}
		if (suffix == '*')
			return match_most(m, s, p, end);
		if (suffix == '+')
			return match_most(m, s + 1, p, end);
		if (suffix == '-')
			return match_least(m, s, p, end);
		if (suffix == '?') {
			const char *result = match(m, s + 1, end + 1);

			if (result || broken(m))
				return result;
			p = end + 1;
			continue;
		}
		s++;
		p = end;
	}
	return s;
}

static const char *match(struct pattern *m, const char *s, const char *p)
{
	if (broken(m))
		return NULL;
	if (m->depth == PATTERN_DEPTH_MAX)
		return fail(m, "pattern too complex");
	m->depth++;
	s = match_here(m, s, p);
	m->depth--;
	return broken(m) ? NULL : s;
}

const char *pattern_match(struct pattern *m, const char *s, const char *pat)
{
	m->depth = 0;
	m->nr_captures = 0;
	return match(m, s, pat);
}
