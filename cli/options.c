/*
 * Options of a verb: --name VALUE, --name=VALUE, -jN, -j N.
 *
 * Not getopt_long(): it accepts abbreviations, which become ambiguous when an option is added, and
 * cannot suggest the right spelling. Options and words may come in any order.
 */
#include "cli/cli.h"
#include "report/grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPECS_MAX 64

static int wrong_name(const struct options *o, const char *shown, const char *name)
{
	const char *names[SPECS_MAX];
	char dashed[SPECS_MAX][32];
	char word[64];
	size_t n = min_t(size_t, o->nr_specs, SPECS_MAX);

	/* Compare with the dashes, so that the suggestion can be pasted. */
	for (size_t i = 0; i < n; i++) {
		snprintf(dashed[i], sizeof(dashed[i]), "--%s", o->spec[i].name);
		names[i] = dashed[i];
	}
	snprintf(word, sizeof(word), "--%s", name);
	cli_error_near(word, names, n, "%s has no option %s", o->verb, shown);
	return OPTION_WRONG;
}

/* @text is the option's argument if it came in the same word, else NULL. */
static int take(struct options *o, size_t i, const char *text)
{
	const struct option_spec *s = &o->spec[i];

	o->value = text;
	if (!s->arg) {
		if (!text)
			return (int)i;
		cli_error("--%s takes no argument", s->name);
		return OPTION_WRONG;
	}
	if (!text) {
		if (o->at == o->argc) {
			cli_error("--%s needs an argument: --%s %s", s->name, s->name, s->arg);
			return OPTION_WRONG;
		}
		o->value = o->argv[o->at++];
	}
	return (int)i;
}

static int long_option(struct options *o, const char *text)
{
	size_t len = strcspn(text, "=");
	char name[64];

	for (size_t i = 0; i < o->nr_specs; i++)
		if (strlen(o->spec[i].name) == len && strncmp(o->spec[i].name, text, len) == 0)
			return take(o, i, text[len] ? text + len + 1 : NULL);
	snprintf(name, sizeof(name), "%.*s", (int)min_t(size_t, len, 63), text);
	return wrong_name(o, o->argv[o->at - 1], name);
}

/* An option that the caller has to see, or what else there is. */
static int next(struct options *o)
{
	const char *text;

	if (o->at == o->argc)
		return OPTION_END;
	text = o->argv[o->at++];
	if (o->only_words || text[0] != '-' || !text[1]) {
		o->value = text;
		return OPTION_WORD;
	}
	if (strcmp(text, "--") == 0) {
		o->only_words = true;
		return next(o);
	}
	if (text[1] == '-')
		return long_option(o, text + 2);
	for (size_t i = 0; i < o->nr_specs; i++)
		if (o->spec[i].letter == text[1])
			return take(o, i, text[2] ? text + 2 : NULL);
	return wrong_name(o, text, text + 1);
}

/* ->value as a whole number within the option's bounds. */
static bool number(const struct options *o, const struct option_spec *s, u64 *out)
{
	char *end;
	u64 v;

	errno = 0;
	v = strtoull(o->value, &end, 0);
	if (end != o->value && !*end && !errno && o->value[0] != '-' && v >= s->lo && v <= s->hi) {
		*out = v;
		return true;
	}
	if (s->hi == UINT64_MAX)
		cli_error("--%s expects a whole number from %lu on, not \"%s\"", s->name, s->lo,
		          o->value);
	else
		cli_error("--%s expects a whole number from %lu to %lu, not \"%s\"", s->name, s->lo,
		          s->hi, o->value);
	return false;
}

int options_next(struct options *o)
{
	int i;

	while ((i = next(o)) >= 0 && o->spec[i].kind != OPTION_CASE) {
		const struct option_spec *s = &o->spec[i];
		void *to = (char *)o->args + s->at;

		if (s->kind == OPTION_TEXT)
			*(const char **)to = o->value;
		else if (s->kind == OPTION_FLAG)
			*(bool *)to = true;
		else if (!number(o, s, to))
			return OPTION_WRONG;
	}
	return i;
}

bool options_setting(const struct options *o, const char **set, u32 *nr, u32 max)
{
	if (!strchr(o->value, '=')) {
		cli_error("--set expects NAME=VALUE, not \"%s\"", o->value);
		return false;
	}
	if (*nr == max) {
		cli_error("more than %u --set", max);
		return false;
	}
	set[(*nr)++] = o->value;
	return true;
}

void options_print(const struct option_spec *spec, size_t n, FILE *f)
{
	for (size_t i = 0; i < n; i++) {
		char left[64];
		char first[80];
		int len = 0;

		if (spec[i].letter)
			len = snprintf(left, sizeof(left), "-%c, ", spec[i].letter);
		snprintf(left + len, sizeof(left) - (size_t)len, "--%s%s%s", spec[i].name,
		         spec[i].arg ? " " : "", spec[i].arg ? spec[i].arg : "");
		snprintf(first, sizeof(first), "  %-24s ", left);
		text_wrap(f, first, spec[i].help, GRID_WIDTH);
	}
}
