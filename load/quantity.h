/*
 * Sizes, times and percentages as scenarios and profiles write them.
 *
 *   size      "512M", "1.5 GiB", "80%ram", "50%swap"     units of 1024
 *   time      "10ms", "1.5 s", "90min"                   ns us ms s min h
 *   percent   "2.5%"
 *
 * A unit is required: a bare 512 has meant too many things. In Lua, where numbers come out of
 * arithmetic (ram // 2), a plain number is bytes or ns, and one that is too small to be meant so is
 * refused.
 */
#ifndef LOAD_QUANTITY_H
#define LOAD_QUANTITY_H

#include "lib/types.h"

#define QUANTITY_TEXT_MAX 32

/* What relative sizes refer to; 0: not known here. */
struct quantity_base {
	u64 ram_bytes;
	u64 swap_bytes;
};

/* -EINVAL, with why in @err (TARGET_ERROR_MAX bytes). */
int load_refuse(char *err, const char *fmt, ...) __printf(2, 3);

/* Each returns 0, or -EINVAL with what was expected in @err (TARGET_ERROR_MAX bytes). */
int quantity_size(const char *text, const struct quantity_base *base, u64 *bytes, char *err);
int quantity_time(const char *text, u64 *ns, char *err);
int quantity_percent(const char *text, u32 *bp, char *err);

/* The same from a number of Lua's. */
int quantity_size_number(double value, u64 *bytes, char *err);
int quantity_time_number(double value, u64 *ns, char *err);

/* Back to text, without loss. Each returns @buf (QUANTITY_TEXT_MAX bytes). */
char *quantity_format_time(char *buf, u64 ns);
char *quantity_format_percent(char *buf, u32 bp);

#endif
