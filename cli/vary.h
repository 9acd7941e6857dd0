/*
 * --vary NAME=A,B,C: the product of all of them is a list of points, each some settings.
 */
#ifndef CLI_VARY_H
#define CLI_VARY_H

#include "lib/types.h"

#define VARY_MAX 8
#define POINTS_MAX 1024

struct vary_axis {
	char *name;
	u32 nr_values;
	char **value;
};

struct vary {
	u32 nr_axes;
	struct vary_axis axis[VARY_MAX];
};

/* Adds an axis from "NAME=A,B,C". False, after saying what is wrong. */
bool vary_add(struct vary *v, const char *text);

/* How many points there are; 1 if nothing is varied. */
u32 vary_points(const struct vary *v);

/* Setting @axis of point @point, "NAME=VALUE", for free(). The last axis changes fastest. */
char *vary_setting(const struct vary *v, u32 point, u32 axis);

/* "NAME=VALUE NAME=VALUE", "" if nothing is varied; for free(). */
char *vary_label(const struct vary *v, u32 point);

void vary_free(struct vary *v);

#endif
