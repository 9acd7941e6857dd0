/*
 * Every effective value of a run and where it came from: `--print-config`.
 */
#include "load/scenario.h"

#include <stdio.h>
#include <string.h>

#include "lib/size.h"

struct writer {
	scenario_config_fn *emit;
	void *arg;
};

__printf(4, 5) static void put(struct writer *w, const char *key, const char *origin,
                               const char *fmt, ...)
{
	char value[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	w->emit(w->arg, key, value, origin ? origin : "default");
}

static void put_size(struct writer *w, const char *key, const char *origin, u64 bytes)
{
	char text[SIZE_TEXT_MAX];

	put(w, key, origin, "%s", format_size(text, sizeof(text), bytes));
}

static void put_time(struct writer *w, const char *key, const char *origin, u64 ns)
{
	char text[QUANTITY_TEXT_MAX];

	put(w, key, origin, "%s", quantity_format_time(text, ns));
}

static void put_percent(struct writer *w, const char *key, const char *origin, u32 bp)
{
	char text[QUANTITY_TEXT_MAX];

	put(w, key, origin, "%s", quantity_format_percent(text, bp));
}

static void put_shape(struct writer *w, const struct scenario *s)
{
	const struct machine_shape *m = &s->shape;
	char *const *from = s->shape_origin;

	put(w, "machine.profile", s->profile_origin, "%s", s->profile->name);
	put(w, "machine.cpus", from[0], "%u", m->nr_cpus);
	put(w, "machine.sockets", from[1], "%u", m->nr_sockets);
	put(w, "machine.threads", from[2], "%u", m->threads);
	put(w, "machine.nodes", from[3], "%u", m->nr_nodes);
	put_size(w, "machine.ram", from[4], m->ram_bytes);
	put_size(w, "machine.swap", from[5], m->swap_bytes);
	put(w, "machine.swap_kind", from[6], "%s", swap_kind_name(m->swap_kind));
}

static void put_disk(struct writer *w, const struct hw_disk *d, const char *origin)
{
	static const char *const kinds[] = {
		[HW_DISK_ROTATING] = "rotating", [HW_DISK_FLASH] = "flash", [HW_DISK_RAM] = "ram"};
	char key[80];

#define KEY(field) (snprintf(key, sizeof(key), "disk.%s.%s", d->name, field), key)
	put(w, KEY("kind"), origin, "%s", kinds[d->kind]);
	put_size(w, KEY("size"), origin, d->size_bytes);
	if (d->kind == HW_DISK_ROTATING) {
		put_time(w, KEY("seek_min"), origin, d->seek_ns_min);
		put_time(w, KEY("seek_max"), origin, d->seek_ns_max);
		put_time(w, KEY("rotation"), origin, d->rotation_ns);
	}
	if (d->kind == HW_DISK_FLASH) {
		put_time(w, KEY("read_latency"), origin, d->read_latency_ns);
		put_time(w, KEY("write_latency"), origin, d->write_latency_ns);
		put(w, KEY("channels"), origin, "%u", d->nr_channels);
		put(w, KEY("depth"), origin, "%u", max(d->depth, d->nr_channels));
	}
	if (d->kind == HW_DISK_RAM) {
		put_percent(w, KEY("ratio"), origin, d->ratio_bp);
	} else {
		put_size(w, KEY("read_rate"), origin, d->read_bytes_per_s);
		put_size(w, KEY("write_rate"), origin, d->write_bytes_per_s);
		put(w, KEY("requests"), origin, "%u", d->nr_requests);
		put_size(w, KEY("max_request"), origin, (u64)d->max_sectors * 512);
		put(w, KEY("barging"), origin, "%s", d->barging ? "true" : "false");
		if (d->irq_cpu)
			put(w, KEY("irq_cpu"), origin, "%u", d->irq_cpu - 1);
		put(w, KEY("multiqueue"), origin, "%s", d->multiqueue ? "true" : "false");
		put(w, KEY("rotational"), origin, "%s", d->rotational ? "true" : "false");
		put_percent(w, KEY("variation"), origin, d->variation_bp);
	}
	put(w, KEY("errors_ppm"), origin, "%u", d->error_ppm);
	if (d->hang_at_ns)
		put(w, KEY("hang_at"), origin, "%luns", d->hang_at_ns);
#undef KEY
}

static void put_hardware(struct writer *w, const struct scenario *s)
{
	const struct profile *p = s->profile;
	const struct hw_machine *hw = s->hw;
	char key[80];

	put(w, "machine.hz", p->origin[PROFILE_HZ], "%u", hw->hz);
	put(w, "machine.spinlocks", p->origin[PROFILE_SPINLOCKS], "%s",
	    hw->queued_spinlocks ? "queued" : "ticket");
	put(w, "machine.autogroup", p->origin[PROFILE_AUTOGROUP], "%s",
	    hw->autogroup ? "true" : "false");
	if (s->shape.ballast_bytes)
		put(w, "machine.ballast", s->shape_origin[4], "%luM", s->shape.ballast_bytes >> 20);
	put_percent(w, "machine.variation", p->origin[PROFILE_VARIATION], hw->seed_jitter_bp);
	for (u32 i = 0; i < hw->nr_ranges; i++) {
		const struct hw_range *r = &hw->range[i];

		snprintf(key, sizeof(key), "memory.range.%u", i);
		put(w, key, p->origin[PROFILE_MEMORY],
		    "node %u, start_pfn %lu, present %lu, managed %lu", r->node, r->start_pfn,
		    r->nr_pages, r->nr_pages - r->nr_reserved);
	}
	for (u32 i = 0; i < hw->nr_disks; i++) {
		const char *source = NULL;

		for (u32 j = 0; j < p->nr_disks; j++)
			if (strcmp(p->disk[j].name, hw->disk[i].name) == 0)
				source = p->disk_source[j];
		put_disk(w, &hw->disk[i], source ? source : p->path);
	}
	for (u32 i = 0; i < NR_WORLD_COSTS; i++) {
		snprintf(key, sizeof(key), "cost.%s", p->cost_name[i]);
		put(w, key, p->cost_source[i], "%u ns", hw->cost_ns[i]);
	}
}

/* Settings in the order in which they win, each name once, where its last value is. */
static void put_settings(struct writer *w, const struct scenario *s, u32 variant)
{
	const struct scenario_variant *v = &s->variant[variant];
	const struct target_setting *list[] = {s->setting, v->setting, s->override};
	const u32 nr[] = {s->nr_settings, v->nr_settings, s->nr_overrides};

	for (u32 l = 0; l < ARRAY_SIZE(list); l++)
		for (u32 i = 0; i < nr[l]; i++) {
			bool last = true;

			for (u32 l2 = l; l2 < ARRAY_SIZE(list); l2++)
				for (u32 j = l2 == l ? i + 1 : 0; j < nr[l2]; j++)
					last &= strcmp(list[l2][j].name, list[l][i].name) != 0;
			if (last)
				put(w, list[l][i].name, list[l][i].origin, "%s", list[l][i].value);
		}
}

static void put_groups(struct writer *w, const struct scenario *s)
{
	char key[160];

	for (u32 i = 0; i < s->nr_groups; i++) {
		const struct target_group *g = &s->group[i];

#define KEY(field) (snprintf(key, sizeof(key), "group.%s.%s", g->name, field), key)
		put(w, KEY("count"), s->path, "%u", g->nr);
		put_time(w, KEY("start"), s->path, g->start_ns);
		put_time(w, KEY("stagger"), s->path, g->stagger_ns);
		put_time(w, KEY("jitter"), s->path, g->jitter_ns);
		put_percent(w, KEY("speed"), s->path, (u32)g->speed_bp);
		put(w, KEY("oom_score_adj"), s->path, "%d", g->oom_score_adj);
		if (g->has_memlock)
			put(w, KEY("memlock"), s->path, "%lu", g->memlock_bytes);
		put(w, KEY("background"), s->path, "%s", g->background ? "true" : "false");
#undef KEY
	}
	for (u32 i = 0; i < s->nr_barriers; i++) {
		snprintf(key, sizeof(key), "barrier.%s", s->barrier[i]);
		put(w, key, s->path, "%u", s->barrier_size[i]);
	}
}

void scenario_config(const struct scenario *s, u32 variant, scenario_config_fn *emit, void *arg)
{
	struct writer w = {emit, arg};
	char key[TARGET_NAME_MAX + 8];

	put(&w, "scenario", s->path, "%s", s->name);
	put(&w, "variant", s->path, "%s", s->variant[variant].name);
	put(&w, "kernel", s->kernel_origin, "%s", s->kernel);
	put_shape(&w, s);
	put_hardware(&w, s);
	put_settings(&w, s, variant);
	put(&w, "host.limit", s->path, "%s", s->limit_kind);
	put_time(&w, "timeout", s->path, s->timeout_ns);
	for (u32 i = 0; i < s->nr_params; i++) {
		snprintf(key, sizeof(key), "param.%s", s->param[i].name);
		put(&w, key, s->param[i].origin, "%s", s->param[i].text);
	}
	put_groups(&w, s);
}
