/*
 * Texts put together piece by piece. See append.h.
 */
#include "lib/append.h"

#include <stdio.h>
#include <string.h>

void vappend_text(char *buf, size_t size, const char *fmt, va_list args)
{
	size_t used = strlen(buf);

	vsnprintf(buf + used, size - used, fmt, args);
}

void append_text(char *buf, size_t size, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vappend_text(buf, size, fmt, args);
	va_end(args);
}
