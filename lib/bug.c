/*
 * The way out when an assert fires. See bug.h.
 */
#include "lib/bug.h"

#include <stdarg.h>
#include <stdlib.h>

/* Weak, so that lib links alone: NULL unless some world defines it. */
void bug_context(FILE *out) __attribute__((weak));

void bug_panic(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	fflush(stdout); /* what was printed before belongs before this */
	fputs("quire: BUG: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n  at %s:%d\n", file, line);
	if (bug_context)
		bug_context(stderr);
	fflush(stderr);
	abort();
}
