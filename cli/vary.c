/*
 * --vary. See vary.h.
 */
#include "cli/vary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "report/bytes.h"

static bool wrong(const char *text)
{
	cli_error("--vary expects NAME=VALUE,VALUE..., not \"%s\"", text);
	return false;
}

bool vary_add(struct vary *v, const char *text)
{
	const char *equals = strchr(text, '=');
	struct vary_axis *a = &v->axis[v->nr_axes];
	u64 nr_points = vary_points(v);

	if (!equals || equals == text || !equals[1])
		return wrong(text);
	if (v->nr_axes == VARY_MAX) {
		cli_error("more than %d --vary", VARY_MAX);
		return false;
	}
	a->name = report_alloc((size_t)(equals - text) + 1, 1);
	memcpy(a->name, text, (size_t)(equals - text));
	a->value = report_alloc(strlen(equals), sizeof(*a->value));
	v->nr_axes++; /* so that vary_free() sees it */
	for (const char *p = equals + 1;; p++) {
		size_t len = strcspn(p, ",");

		if (!len)
			return wrong(text);
		a->value[a->nr_values] = report_alloc(len + 1, 1);
		memcpy(a->value[a->nr_values++], p, len);
		p += len;
		if (!*p)
			break;
	}
	if (nr_points * a->nr_values > POINTS_MAX) {
		cli_error("--vary gives %lu points; %d are the most", nr_points * a->nr_values,
		          POINTS_MAX);
		return false;
	}
	return true;
}

u32 vary_points(const struct vary *v)
{
	u32 n = 1;

	for (u32 i = 0; i < v->nr_axes; i++)
		n *= v->axis[i].nr_values;
	return n;
}

char *vary_setting(const struct vary *v, u32 point, u32 axis)
{
	const struct vary_axis *a = &v->axis[axis];
	size_t room;
	char *text;
	const char *value;

	for (u32 i = v->nr_axes; --i > axis;)
		point /= v->axis[i].nr_values;
	value = a->value[point % a->nr_values];
	room = strlen(a->name) + strlen(value) + 2;
	text = report_alloc(room, 1);
	snprintf(text, room, "%s=%s", a->name, value);
	return text;
}

char *vary_label(const struct vary *v, u32 point)
{
	struct bytes b = {0};

	for (u32 i = 0; i < v->nr_axes; i++) {
		char *setting = vary_setting(v, point, i);

		if (i)
			bytes_add(&b, " ", 1);
		bytes_add(&b, setting, strlen(setting));
		free(setting);
	}
	bytes_add(&b, "", 1);
	return b.data;
}

void vary_free(struct vary *v)
{
	for (u32 i = 0; i < v->nr_axes; i++) {
		for (u32 k = 0; k < v->axis[i].nr_values; k++)
			free(v->axis[i].value[k]);
		free(v->axis[i].value);
		free(v->axis[i].name);
	}
	*v = (struct vary){0};
}
