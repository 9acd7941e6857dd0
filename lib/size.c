/*
 * Reading and writing byte counts. See size.h.
 */
#include "lib/size.h"

#include <errno.h>
#include <stdio.h>

static const char units[] = "BKMGT"; /* each 1024 times the one before */

/* The power of 1024 that @c stands for, or -1. */
static int unit_power(char c)
{
	for (int i = 0; units[i]; i++)
		if (c == units[i] || c == (units[i] | 0x20))
			return i;
	return -1;
}

int parse_size(const char *text, u64 *bytes)
{
	const char *p = text;
	u64 whole = 0;
	u64 num = 0; /* the fraction is num / den */
	u64 den = 1;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		u64 digit = *p - '0';

		if (whole > (UINT64_MAX - digit) / 10)
			return -EINVAL;
		whole = whole * 10 + digit;
	}
	if (*p == '.') {
		p++;
		if (*p < '0' || *p > '9')
			return -EINVAL;
		for (; *p >= '0' && *p <= '9'; p++) {
			if (den > UINT64_MAX / 100)
				return -EINVAL; /* more digits than any size needs */
			num = num * 10 + (*p - '0');
			den *= 10;
		}
	}

	int power = unit_power(*p);

	if (power < 0 || p[1] != '\0')
		return -EINVAL;

	int shift = power * 10;

	if (whole > UINT64_MAX >> shift)
		return -EINVAL;
	*bytes = (whole << shift) + mul_div_u64(num, 1UL << shift, den);
	return 0;
}

char *format_size(char *buf, size_t size, u64 bytes)
{
	int power = 0;

	while (bytes && bytes % 1024 == 0 && units[power + 1]) {
		bytes /= 1024;
		power++;
	}
	snprintf(buf, size, "%lu%c", bytes, units[power]);
	return buf;
}
