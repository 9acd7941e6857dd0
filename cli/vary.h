/*
 * --vary: axes, and the points that they span, each some settings.
 *
 *   NAME=A,B,C        these values
 *   NAME=LO..HI:N     N values from LO to HI at equal distances (sizes, times, percent, numbers)
 *   NAME=LO..HI:Nx    N values, each the same factor above the one before
 *
 * Several axes give their product, the last one fastest; with --zip they go in step.
 */
#ifndef CLI_VARY_H
#define CLI_VARY_H

#include "report/results.h"

#define VARY_MAX 8
#define POINTS_MAX 1024

struct vary {
	bool zip;
	u32 nr_axes;
	struct result_axis axis[VARY_MAX];
};

/* Adds an axis. False, after saying what is wrong. */
bool vary_add(struct vary *v, const char *text);

/* When all have been added: whether there are points, and not too many. */
bool vary_check(const struct vary *v);

/* How many points there are; 1 if nothing is varied. */
u32 vary_points(const struct vary *v);

/* Setting @axis of point @point, "NAME=VALUE", for free(). */
char *vary_setting(const struct vary *v, u32 point, u32 axis);

/* "NAME=VALUE NAME=VALUE", "" if nothing is varied; for free(). */
char *vary_label(const struct vary *v, u32 point);

void vary_free(struct vary *v);

#endif
