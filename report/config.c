/*
 * Every effective value of a run. See config.h.
 */
#include "report/config.h"

#include <stdlib.h>
#include <string.h>

#include "core/knobs.h"
#include "lib/bug.h"
#include "report/bytes.h"

void config_add(struct config *c, const char *name, const char *value, const char *origin)
{
	if (!(c->nr & (c->nr - 1))) { /* room doubles at powers of two */
		c->entry = realloc(c->entry, sizeof(*c->entry) * (c->nr ? 2 * c->nr : 1));
		if (!c->entry)
			panic("out of host memory for a configuration");
	}
	c->entry[c->nr++] = (struct config_entry){report_strdup(name), report_strdup(value),
	                                          report_strdup(origin)};
}

void config_add_preset(struct config *c, const char *kernel)
{
	char origin[64];
	struct knobs k;

	if (knobs_preset(&k, kernel))
		return;
	snprintf(origin, sizeof(origin), "preset %s", kernel);
	for (u32 i = 0; i < knob_count(); i++) {
		const struct knob_info *info = knob_at(i);
		char value[64];

		if (config_get(c, info->name))
			continue;
		knob_get(&k, info, value, sizeof(value));
		config_add(c, info->name, value, origin);
	}
}

const char *config_get(const struct config *c, const char *name)
{
	for (u32 i = c->nr; i-- > 0;)
		if (strcmp(c->entry[i].name, name) == 0)
			return c->entry[i].value;
	return NULL;
}

void config_free(struct config *c)
{
	for (u32 i = 0; i < c->nr; i++) {
		free(c->entry[i].name);
		free(c->entry[i].value);
		free(c->entry[i].origin);
	}
	free(c->entry);
	*c = (struct config){0};
}

void config_print(const struct config *c, FILE *f)
{
	for (u32 i = 0; i < c->nr; i++)
		fprintf(f, "%-36s = %-20s # %s\n", c->entry[i].name, c->entry[i].value,
		        c->entry[i].origin);
}
