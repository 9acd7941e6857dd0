/*
 * Texts that are put together piece by piece in a buffer, and cut off where it ends.
 */
#ifndef LIB_APPEND_H
#define LIB_APPEND_H

#include <stdarg.h>
#include <stddef.h>

#include "lib/types.h"

/* Adds to the text in @buf, which has room for @size bytes, its end included. */
void append_text(char *buf, size_t size, const char *fmt, ...) __printf(3, 4);
void vappend_text(char *buf, size_t size, const char *fmt, va_list args) __printf(3, 0);

#endif
