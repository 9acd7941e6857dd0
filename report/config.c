/*
 * Every effective value of a run. See config.h.
 */
#include "report/config.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/knobs.h"
#include "lib/bug.h"
#include "lib/size.h"
#include "report/bytes.h"
#include "world/hw.h"

void config_add(struct config *c, const char *name, const char *value, const char *origin)
{
	/* Room doubles at powers of two. */
	if (!(c->nr & (c->nr - 1))) {
		c->entry = realloc(c->entry, sizeof(*c->entry) * (c->nr ? 2 * c->nr : 1));
		if (!c->entry)
			panic("out of host memory for a configuration");
	}
	c->entry[c->nr++] = (struct config_entry){report_strdup(name), report_strdup(value),
	                                          report_strdup(origin)};
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
		fprintf(f, "%-36s = %-22s # %s\n", c->entry[i].name, c->entry[i].value,
		        c->entry[i].origin);
}

/* ---- what a request asks for -------------------------------------------------------------------- */

static __printf(4, 5) void add(struct config *c, const char *name, const char *origin,
                               const char *fmt, ...)
{
	char value[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	config_add(c, name, value, origin);
}

static void add_bytes(struct config *c, const char *name, const char *origin, u64 bytes)
{
	char text[SIZE_TEXT_MAX];

	config_add(c, name, format_size(text, sizeof(text), bytes), origin);
}

static void add_disk(struct config *c, u32 i, const struct hw_disk *d, const char *origin)
{
	static const char *const kind[] = {
		[HW_DISK_ROTATING] = "rotating", [HW_DISK_FLASH] = "flash", [HW_DISK_RAM] = "ram"};
	const struct {
		const char *name;
		u64 value;
	} field[] = {
		{"seek_ns_min", d->seek_ns_min},
		{"seek_ns_max", d->seek_ns_max},
		{"rotation_ns", d->rotation_ns},
		{"read_latency_ns", d->read_latency_ns},
		{"write_latency_ns", d->write_latency_ns},
		{"read_bytes_per_s", d->read_bytes_per_s},
		{"write_bytes_per_s", d->write_bytes_per_s},
		{"nr_channels", d->nr_channels},
		{"nr_requests", d->nr_requests},
		{"max_sectors", d->max_sectors},
		{"variation_bp", d->variation_bp},
		{"error_ppm", d->error_ppm},
		{"ratio_bp", d->ratio_bp},
		{"barging", d->barging},
	};
	char name[64];

	snprintf(name, sizeof(name), "machine.disk.%u.kind", i);
	config_add(c, name, kind[d->kind], origin);
	snprintf(name, sizeof(name), "machine.disk.%u.size", i);
	add_bytes(c, name, origin, d->size_bytes);
	for (size_t k = 0; k < ARRAY_SIZE(field); k++) {
		if (!field[k].value) /* this kind has no such thing */
			continue;
		snprintf(name, sizeof(name), "machine.disk.%u.%s", i, field[k].name);
		add(c, name, origin, "%lu", field[k].value);
	}
}

static void add_machine(struct config *c, const struct hw_machine *hw)
{
	char origin[64];
	u64 pages = 0;
	u64 reserved = 0;

	for (u32 i = 0; i < hw->nr_ranges; i++) {
		pages += hw->range[i].nr_pages;
		reserved += hw->range[i].nr_reserved;
	}
	snprintf(origin, sizeof(origin), "profile %s", hw->name);
	config_add(c, "machine", hw->name, "scenario or --machine");
	add(c, "machine.cpus", origin, "%u", hw->nr_cpus);
	add(c, "machine.nodes", origin, "%u", hw->nr_nodes);
	add_bytes(c, "machine.ram", origin, pages << 12);
	add_bytes(c, "machine.reserved", origin, reserved << 12);
	add(c, "machine.hz", origin, "%u", hw->hz);
	add(c, "machine.locks", origin, "%s", hw->queued_spinlocks ? "queued" : "ticket");
	add(c, "machine.jitter_bp", origin, "%u", hw->seed_jitter_bp);
	for (u32 i = 0; i < hw->nr_disks; i++)
		add_disk(c, i, &hw->disk[i], origin);
}

static void add_costs(struct config *c, const struct hw_machine *hw)
{
	static const char *const cost[NR_WORLD_COSTS] = {
#define X(name, ns, source, doc) #name,
		WORLD_COSTS(X)
#undef X
	};
	char origin[64];
	char name[48];

	snprintf(origin, sizeof(origin), "profile %s", hw->name);
	for (u32 i = 0; i < NR_WORLD_COSTS; i++) {
		snprintf(name, sizeof(name), "cost.%s", cost[i]);
		for (char *p = name; *p; p++)
			*p = (char)tolower((unsigned char)*p);
		add(c, name, origin, "%u", hw->cost_ns[i]);
	}
}

static void add_groups(struct config *c, const struct target_request *req)
{
	for (u32 i = 0; i < req->nr_groups; i++) {
		const struct target_group *g = &req->group[i];
		const struct {
			const char *name;
			s64 value;
		} field[] = {
			{"nr", g->nr},
			{"start_ns", (s64)g->start_ns},
			{"stagger_ns", (s64)g->stagger_ns},
			{"jitter_ns", (s64)g->jitter_ns},
			{"speed_bp", g->speed_bp},
			{"oom_score_adj", g->oom_score_adj},
			{"background", g->background},
		};
		char name[TARGET_NAME_MAX + 32];

		for (size_t k = 0; k < ARRAY_SIZE(field); k++) {
			snprintf(name, sizeof(name), "task.%s.%s", g->name, field[k].name);
			add(c, name, req->scenario, "%ld", field[k].value);
		}
	}
}

/* The setting of @name that wins, or NULL. */
static const struct target_setting *find_setting(const struct target_request *req, const char *name)
{
	for (u32 i = req->nr_settings; i-- > 0;)
		if (strcmp(req->setting[i].name, name) == 0)
			return &req->setting[i];
	return NULL;
}

static bool is_knob(const char *name)
{
	for (u32 i = 0; i < knob_count(); i++)
		if (strcmp(knob_at(i)->name, name) == 0)
			return true;
	return false;
}

static void add_knobs(struct config *c, const struct target_request *req)
{
	char preset[64];
	struct knobs k;

	if (!req->kernel || knobs_preset(&k, req->kernel))
		return;
	config_add(c, "kernel", req->kernel, "scenario or --set");
	snprintf(preset, sizeof(preset), "preset %s", req->kernel);
	for (u32 i = 0; i < knob_count(); i++) {
		const struct knob_info *info = knob_at(i);
		const struct target_setting *s = find_setting(req, info->name);
		char value[64];

		if (s) {
			config_add(c, info->name, s->value, s->origin);
			continue;
		}
		knob_get(&k, info, value, sizeof(value));
		config_add(c, info->name, value, preset);
	}
}

void config_fill(struct config *c, const struct target_request *req, const char *target)
{
	bool host = strcmp(target, "host") == 0;

	*c = (struct config){0};
	if (host) {
		if (req->ram_bytes)
			add_bytes(c, "host.ram", req->scenario, req->ram_bytes);
		config_add(c, "host.limit", req->limit_kind, req->scenario);
	} else if (req->hw) {
		add_machine(c, req->hw);
	}
	if (req->swap_bytes) {
		add_bytes(c, "swap", req->scenario, req->swap_bytes);
		config_add(c, "swap.kind", req->swap_kind, req->scenario);
	}
	if (!host)
		add_knobs(c, req);
	/* What is not a knob of ours: the host's settings, the scenario's parameters. */
	for (u32 i = 0; i < req->nr_settings; i++) {
		const struct target_setting *s = &req->setting[i];

		if ((host || !is_knob(s->name)) && find_setting(req, s->name) == s)
			config_add(c, s->name, s->value, s->origin);
	}
	add_groups(c, req);
	if (!host && req->hw)
		add_costs(c, req->hw);
}
