/*
 * Byte counts as people write them: 512M, 3G, 1.5T. Units are binary.
 */
#ifndef LIB_SIZE_H
#define LIB_SIZE_H

#include "lib/types.h"

/*
 * Read @text, a decimal number with a unit B, K, M, G or T (either case), into
 * @bytes. A fraction is cut to whole bytes. The unit is required, because a bare
 * 512 has meant pages, kilobytes and megabytes to different people.
 *
 * Returns 0, or -EINVAL (@bytes is left alone) if @text is anything else or
 * does not fit 64 bits.
 */
int __must_check parse_size(const char *text, u64 *bytes);

#define SIZE_TEXT_MAX 24 /* room for every result of format_size() */

/*
 * Write @bytes in the largest unit that needs no fraction ("1536K", "4097B"),
 * so that parse_size() gives the same number back. Returns @buf.
 */
char *format_size(char *buf, size_t size, u64 bytes);

#endif
