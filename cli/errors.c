/*
 * Messages for the user, each on a line of standard error.
 */
#include "cli/cli.h"

#include <stdarg.h>
#include <string.h>

#include "lib/strdist.h"

static void say(const char *fmt, va_list ap)
{
	fflush(stdout); /* so that both streams keep their order in a log */
	fputs("quire: ", stderr);
	vfprintf(stderr, fmt, ap);
}

void cli_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

#define SHOWN_MAX 160 /* characters of names */

/* What there is, if that is not long. */
static void print_names(const char *const *names, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += strlen(names[i]) + 2;
	for (size_t i = 0; i < n && len <= SHOWN_MAX; i++)
		fprintf(stderr, "%s%s",
		        i       ? ", "
		        : n > 1 ? "; there are "
		                : "; there is ",
		        names[i]);
}

static const char *name_at(void *arg, size_t i)
{
	return ((const char *const *)arg)[i];
}

void cli_error_near(const char *word, const char *const *names, size_t n, const char *fmt, ...)
{
	const char *near = word && names ? nearest_name(word, name_at, (void *)names, n) : NULL;
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	if (near)
		fprintf(stderr, "; did you mean %s?", near);
	else if (names)
		print_names(names, n);
	fputc('\n', stderr);
}
