/*
 * Reading machine profiles. See profile.h.
 */
#include "load/profile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/append.h"
#include "lib/sort.h"
#include "load/target.h"

#define DMA_PFN 4096UL /* 16 MiB */
#define DMA32_PFN 1048576UL
#define RATE_MIN 4096             /* bytes a second: a page */
#define DISK_TIME_MAX 10000000000 /* 10 s for one operation of a disk */

/* ---- names of costs ---- */

static const struct {
	const char *name;
	u32 default_ns;
	const char *source;
} costs[NR_WORLD_COSTS] = {
#define X(name, ns, source, doc) {#name, ns, source},
	WORLD_COSTS(X)
#undef X
};

char *cost_name(char *buf, u32 cost)
{
	size_t i = 0;

	for (; costs[cost].name[i] && i + 1 < COST_NAME_MAX; i++)
		buf[i] = (char)tolower((u8)costs[cost].name[i]);
	buf[i] = '\0';
	return buf;
}

/* ---- what the tables hold ---- */

static const char *const swap_kinds[] = {
	[SWAP_ON_DISK] = "disk", [SWAP_ON_ZRAM] = "zram", [SWAP_ON_HDD] = "hdd", NULL};

const char *swap_kind_name(enum swap_kind kind)
{
	return swap_kinds[kind];
}

#define SHAPE(member) offsetof(struct machine_shape, member)
const struct field machine_shape_fields[SHAPE_FIELDS] = {
	{"cpus", FIELD_COUNT, SHAPE(nr_cpus), 1, HW_MAX_CPUS, NULL},
	{"sockets", FIELD_COUNT, SHAPE(nr_sockets), 1, HW_MAX_CPUS, NULL},
	{"threads", FIELD_COUNT, SHAPE(threads), 1, 8, NULL},
	{"nodes", FIELD_COUNT, SHAPE(nr_nodes), 1, HW_MAX_NODES, NULL},
	{"ram", FIELD_SIZE, SHAPE(ram_bytes), MACHINE_RAM_MIN, (s64)MACHINE_RAM_MAX, NULL},
	{"swap", FIELD_SIZE, SHAPE(swap_bytes), 0, (s64)MACHINE_RAM_MAX, NULL},
	{"swap_kind", FIELD_CHOICE, SHAPE(swap_kind), 0, 0, swap_kinds},
};

/* The other fields of a profile, behind those of the shape. */
static const char *const spinlock_kinds[] = {"ticket", "queued", NULL};

#define PROFILE(member) offsetof(struct profile, member)
static const struct field profile_fields[] = {
	/* In the order of PROFILE_HZ and the following. */
	{"hz", FIELD_COUNT, PROFILE(hz), 24, 10000, NULL},
	{"spinlocks", FIELD_CHOICE, PROFILE(spinlocks), 0, 0, spinlock_kinds},
	{"autogroup", FIELD_BOOL, PROFILE(autogroup), 0, 0, NULL},
	{"variation", FIELD_PERCENT, PROFILE(variation_bp), 0, 5000, NULL},
	{"memory", FIELD_TABLE, 0, 0, 0, NULL},

	{"base", FIELD_TEXT, PROFILE(base), 0, 0, NULL},
	{"about", FIELD_TEXT, PROFILE(about), 0, 0, NULL},
	{"distance", FIELD_TABLE, 0, 0, 0, NULL},
	{"disks", FIELD_TABLE, 0, 0, 0, NULL},
	{"costs", FIELD_TABLE, 0, 0, 0, NULL},
	{"fitted", FIELD_TABLE, 0, 0, 0, NULL},
};

#define MEMORY(member) offsetof(struct profile_memory, member)
static const struct field memory_fields[] = {
	{"pci_hole", FIELD_SIZE, MEMORY(pci_hole_bytes), 16 << 20, 4L << 30, NULL},
	{"firmware", FIELD_SIZE, MEMORY(firmware_bytes), 0, 1L << 30, NULL},
	{"kernel", FIELD_SIZE, MEMORY(kernel_bytes), 0, 1L << 40, NULL},
	{"system", FIELD_SIZE, MEMORY(system_bytes), 0, 1L << 40, NULL},
	{"descriptor", FIELD_COUNT, MEMORY(descriptor_bytes), 0, 256, NULL},
	{"dma_pages", FIELD_COUNT, MEMORY(dma_pages), 0, 4096, NULL},
	{"ranges", FIELD_TABLE, 0, 0, 0, NULL},
};

/* Sizes of a range are pages, as /proc/zoneinfo prints them. */
struct range_reading {
	u32 node;
	u64 start_pfn;
	u64 pages;
	u64 reserved;
};

#define DISK(member) offsetof(struct disk_reading, member)
struct disk_reading {
	struct hw_disk disk;
	u32 irq_cpu; /* UINT32_MAX: not said */
	u32 kind;
	u64 rate; /* sets both */
	u64 max_request_bytes;
	char *source;
};

static const char *const disk_kinds[] = {
	[HW_DISK_ROTATING] = "rotating", [HW_DISK_FLASH] = "flash", [HW_DISK_RAM] = "ram", NULL};

static const struct field disk_fields[] = {
	{"kind", FIELD_CHOICE, DISK(kind), 0, 0, disk_kinds},
	{"size", FIELD_SIZE, DISK(disk.size_bytes), 0, 0, NULL},
	{"seek_min", FIELD_TIME, DISK(disk.seek_ns_min), 0, DISK_TIME_MAX, NULL},
	{"seek_max", FIELD_TIME, DISK(disk.seek_ns_max), 0, DISK_TIME_MAX, NULL},
	{"rotation", FIELD_TIME, DISK(disk.rotation_ns), 0, DISK_TIME_MAX, NULL},
	{"read_latency", FIELD_TIME, DISK(disk.read_latency_ns), 0, DISK_TIME_MAX, NULL},
	{"write_latency", FIELD_TIME, DISK(disk.write_latency_ns), 0, DISK_TIME_MAX, NULL},
	{"rate", FIELD_SIZE, DISK(rate), RATE_MIN, 1L << 50, NULL},
	{"read_rate", FIELD_SIZE, DISK(disk.read_bytes_per_s), RATE_MIN, 1L << 50, NULL},
	{"write_rate", FIELD_SIZE, DISK(disk.write_bytes_per_s), RATE_MIN, 1L << 50, NULL},
	{"channels", FIELD_COUNT, DISK(disk.nr_channels), 1, 1024, NULL},
	{"depth", FIELD_COUNT, DISK(disk.depth), 1, 65536, NULL},
	{"requests", FIELD_COUNT, DISK(disk.nr_requests), 1, 65536, NULL},
	{"max_request", FIELD_SIZE, DISK(max_request_bytes), 4096, 1 << 30, NULL},
	{"variation", FIELD_PERCENT, DISK(disk.variation_bp), 0, 10000, NULL},
	{"errors_ppm", FIELD_COUNT, DISK(disk.error_ppm), 0, 1000000, NULL},
	{"hang_at", FIELD_TIME, DISK(disk.hang_at_ns), 0, 1UL << 62, NULL},
	{"ratio", FIELD_PERCENT, DISK(disk.ratio_bp), 0, 10000, NULL},
	{"barging", FIELD_BOOL, DISK(disk.barging), 0, 0, NULL},
	{"irq_cpu", FIELD_COUNT, DISK(irq_cpu), 0, 4095, NULL},
	{"multiqueue", FIELD_BOOL, DISK(disk.multiqueue), 0, 0, NULL},
	{"rotational", FIELD_BOOL, DISK(disk.rotational), 0, 0, NULL},
	{"source", FIELD_TEXT, DISK(source), 0, 0, NULL},
};

/* ---- memory ---- */

static u64 read_pages(const struct field_table *t, const char *key)
{
	int ok = 0;
	s64 value;

	lua_pushstring(t->L, key);
	lua_rawget(t->L, t->index);
	value = lua_isnil(t->L, -1) && strcmp(key, "reserved") == 0 ? (ok = 1, 0)
	                                                            : lua_tointegerx(t->L, -1, &ok);
	if (!ok || value < 0 || (u64)value > MACHINE_RAM_MAX / 4096)
		field_error(t, key, "'%s' must be a number of pages", key);
	lua_pop(t->L, 1);
	return (u64)value;
}

static void check_range(const struct field_table *t, const struct hw_range *r, u64 after)
{
	u64 end = r->start_pfn + r->nr_pages;

	if (r->nr_pages == 0)
		field_error(t, "pages", "a range has no pages");
	if (r->start_pfn < after)
		field_error(t, "start_pfn", "ranges must be in order and must not overlap");
	if (r->nr_reserved > r->nr_pages)
		field_error(t, "reserved", "more pages are reserved than there are");
	if ((r->start_pfn < DMA_PFN && end > DMA_PFN) ||
	    (r->start_pfn < DMA32_PFN && end > DMA32_PFN))
		field_error(t, "pages",
		            "a range crosses 16M (pfn 4096) or 4G (pfn 1048576); "
		            "split it there");
}

static void read_ranges(struct profile *p, const struct field_table *t)
{
	static const struct field known[] = {{"start_pfn", FIELD_ANY, 0, 0, 0, NULL},
	                                     {"pages", FIELD_ANY, 0, 0, 0, NULL},
	                                     {"reserved", FIELD_ANY, 0, 0, 0, NULL},
	                                     {"node", FIELD_COUNT, 0, 0, HW_MAX_NODES - 1, NULL}};
	lua_State *L = t->L;
	s64 n = (s64)lua_rawlen(L, t->index);
	u64 after = 0;
	u64 total = 0;

	if (n < 1 || n > HW_MAX_RANGES)
		field_error(t, NULL, "expected 1 to %d ranges", HW_MAX_RANGES);
	p->memory.range = keep_array(&p->keep, struct hw_range, n);
	for (s64 i = 1; i <= n; i++) {
		struct hw_range *r = &p->memory.range[i - 1];
		struct field_table one;
		u32 node = 0;

		lua_rawgeti(L, t->index, i);
		one = field_subtable(t, "ranges");
		fields_read(&one, known, ARRAY_SIZE(known), &node);
		r->start_pfn = read_pages(&one, "start_pfn");
		r->nr_pages = read_pages(&one, "pages");
		r->nr_reserved = read_pages(&one, "reserved");
		r->node = (u16)node;
		check_range(&one, r, after);
		after = r->start_pfn + r->nr_pages;
		total += r->nr_pages;
		lua_pop(L, 1);
	}
	p->memory.nr_ranges = (u32)n;
	p->shape.ram_bytes = total * 4096;
}

static void read_memory(struct profile *p, const struct field_table *t)
{
	fields_read(t, memory_fields, ARRAY_SIZE(memory_fields), &p->memory);
	if (lua_getfield(t->L, t->index, "ranges") != LUA_TNIL) {
		struct field_table sub = field_subtable(t, "ranges");

		read_ranges(p, &sub);
	}
	lua_pop(t->L, 1);
}

/* ---- distances ---- */

static void read_matrix(struct profile *p, const struct field_table *t, u32 n)
{
	lua_State *L = t->L;

	if (n > HW_MAX_NODES)
		field_error(t, NULL, "more than %d rows", HW_MAX_NODES);
	p->matrix = keep_array(&p->keep, u8, n * n);
	p->nr_matrix = n;
	for (u32 a = 0; a < n; a++) {
		if (lua_rawgeti(L, t->index, a + 1) != LUA_TTABLE || lua_rawlen(L, -1) != n)
			field_error(t, NULL, "row %u must have %u numbers", a + 1, n);
		for (u32 b = 0; b < n; b++) {
			int ok;

			lua_rawgeti(L, -1, b + 1);
			s64 d = lua_tointegerx(L, -1, &ok);

			if (!ok || d < 10 || d > 254 || (a == b) != (d == 10))
				field_error(t, NULL,
				            "a distance is 10 to the node itself and 11 to 254 to "
				            "another (row %u, column %u)",
				            a + 1, b + 1);
			p->matrix[a * n + b] = (u8)d;
			if (b < a && p->matrix[b * n + a] != d)
				field_error(t, NULL, "row %u, column %u differs from its mirror",
				            a + 1, b + 1);
			lua_pop(L, 1);
		}
		lua_pop(L, 1);
	}
}

static void read_distance(struct profile *p, const struct field_table *t)
{
	static const struct field fields[] = {
		{"near", FIELD_COUNT, PROFILE(near), 11, 254, NULL},
		{"far", FIELD_COUNT, PROFILE(far), 11, 254, NULL},
		{"group", FIELD_COUNT, PROFILE(nr_group), 1, HW_MAX_NODES, NULL},
	};
	u32 rows = (u32)lua_rawlen(t->L, t->index);

	if (rows)
		read_matrix(p, t, rows);
	else
		fields_read(t, fields, ARRAY_SIZE(fields), p);
}

/* ---- disks ---- */

/* Its place in disk_fields; ARRAY_SIZE(disk_fields): there is none. */
static size_t disk_field(const char *name)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(disk_fields) && strcmp(disk_fields[i].name, name) != 0)
		i++;
	return i;
}

static u64 disk_bit(const char *name)
{
	size_t i = disk_field(name);

	if (i == ARRAY_SIZE(disk_fields))
		panic("a disk has no field '%s'", name);
	return BIT(i);
}

/* @given: the fields that are not as they were, or as they are where nothing is said. */
static void apply_disk(struct disk_reading *r, u64 given)
{
	r->disk.kind = (enum hw_disk_kind)r->kind;
	if (given & disk_bit("kind") && !(given & disk_bit("rotational")))
		hw_disk_set_kind(&r->disk, r->disk.kind);
	if (given & disk_bit("rate"))
		r->disk.read_bytes_per_s = r->disk.write_bytes_per_s = r->rate;
	r->disk.max_sectors = (u32)(r->max_request_bytes / 512);
	r->disk.irq_cpu = r->irq_cpu + 1;
}

/* What a kind of disk cannot do without. */
static const char *disk_lacks(const struct hw_disk *d)
{
	if (d->kind == HW_DISK_RAM)
		return d->ratio_bp ? NULL : "ratio";
	if (!d->read_bytes_per_s)
		return "read_rate";
	if (!d->write_bytes_per_s)
		return "write_rate";
	if (d->kind == HW_DISK_ROTATING) {
		if (!d->rotation_ns)
			return "rotation";
		return d->seek_ns_max >= d->seek_ns_min ? NULL : "seek_max";
	}
	return NULL;
}

/* In its place by name: instead of the one that a base has there, or between them. */
static void put_disk(struct profile *p, const struct field_table *t, const struct disk_reading *r)
{
	u32 i = 0;

	while (i < p->nr_disks && strcmp(p->disk[i].name, r->disk.name) < 0)
		i++;
	if (i == p->nr_disks || strcmp(p->disk[i].name, r->disk.name) != 0) {
		u32 behind = p->nr_disks - i;

		if (p->nr_disks == HW_MAX_DISKS)
			field_error(t, NULL, "more than %d disks", HW_MAX_DISKS);
		memmove(&p->disk[i + 1], &p->disk[i], behind * sizeof(p->disk[0]));
		memmove(&p->disk_source[i + 1], &p->disk_source[i],
		        behind * sizeof(p->disk_source[0]));
		p->nr_disks++;
	}
	p->disk[i] = r->disk;
	p->disk_source[i] = r->source;
}

static void read_disk(struct profile *p, const struct field_table *t, const char *name)
{
	struct disk_reading r = {
		.kind = HW_DISK_FLASH, .max_request_bytes = 512 << 10, .irq_cpu = UINT32_MAX};

	r.disk.nr_channels = 1;
	r.disk.nr_requests = 128; /* Linux's default, per direction */
	apply_disk(&r, fields_read(t, disk_fields, ARRAY_SIZE(disk_fields), &r));
	if (r.disk.kind == HW_DISK_RAM)
		r.disk.nr_requests = 0;
	if (disk_lacks(&r.disk))
		field_error(t, NULL, "a %s disk needs '%s'", disk_kinds[r.disk.kind],
		            disk_lacks(&r.disk));
	if (strlen(name) >= HW_NAME_MAX)
		field_error(t, NULL, "the name is longer than %d characters", HW_NAME_MAX - 1);
	snprintf(r.disk.name, sizeof(r.disk.name), "%s", name);
	put_disk(p, t, &r);
}

/* NAME = false: the base's disk is not there. */
static void drop_disk(struct profile *p, const struct field_table *t, const char *name)
{
	u32 i = 0;

	while (i < p->nr_disks && strcmp(p->disk[i].name, name) != 0)
		i++;
	if (i == p->nr_disks)
		field_error(t, name, "there is no disk '%s' to leave out", name);
	p->nr_disks--;
	memmove(&p->disk[i], &p->disk[i + 1], (p->nr_disks - i) * sizeof(p->disk[0]));
	memmove(&p->disk_source[i], &p->disk_source[i + 1],
	        (p->nr_disks - i) * sizeof(p->disk_source[0]));
}

static int compare_names(const void *a, const void *b, void *arg)
{
	(void)arg;
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void read_disks(struct profile *p, const struct field_table *t)
{
	const char *names[HW_MAX_DISKS];
	lua_State *L = t->L;
	size_t n = 0;

	for (lua_pushnil(L); lua_next(L, t->index); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			field_error(t, NULL, "a disk needs a name: swap = { ... }");
		if (n == HW_MAX_DISKS)
			field_error(t, NULL, "more than %d disks", HW_MAX_DISKS);
		names[n++] = lua_tostring(L, -2);
	}
	sort_stable(names, n, sizeof(names[0]), compare_names, NULL);
	for (size_t i = 0; i < n; i++) {
		struct field_table one;

		lua_getfield(L, t->index, names[i]);
		if (lua_isboolean(L, -1) && !lua_toboolean(L, -1)) {
			drop_disk(p, t, names[i]);
		} else {
			one = field_subtable(t, names[i]);
			read_disk(p, &one, names[i]);
		}
		lua_pop(L, 1);
	}
}

/* ---- costs ---- */

static u32 find_cost(const struct profile *p, const char *name)
{
	u32 i = 0;

	while (i < NR_WORLD_COSTS && strcmp(p->cost_name[i], name) != 0)
		i++;
	return i;
}

/* A cost is ns, or { ns, "where from" }. It is on top of the stack. */
static void read_cost(struct profile *p, const struct field_table *t, const char *key)
{
	static const struct field ns = {"", FIELD_COUNT, 0, 0, 1000000000, NULL};
	lua_State *L = t->L;
	u32 cost = find_cost(p, key);

	if (cost == NR_WORLD_COSTS)
		field_unknown(t, key, "cost", key, field_name_in_array, p->cost_name,
		              NR_WORLD_COSTS);
	p->cost_source[cost] = "assumed: the profile gives no source";
	if (lua_type(L, -1) == LUA_TTABLE) {
		if (lua_rawgeti(L, -1, 2) != LUA_TSTRING)
			field_error(t, key, "'%s' must be ns or { ns, \"source\" }", key);
		p->cost_source[cost] = keep_strdup(&p->keep, lua_tostring(L, -1));
		lua_pop(L, 1);
		lua_rawgeti(L, -1, 1);
	} else {
		lua_pushvalue(L, -1);
	}
	field_read(t, key, &ns, &p->cost_ns[cost]);
	lua_pop(L, 1);
}

static void read_costs(struct profile *p, const struct field_table *t)
{
	lua_State *L = t->L;
	const char *unknown = NULL;

	for (lua_pushnil(L); lua_next(L, t->index); lua_pop(L, 1)) {
		const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";

		if (find_cost(p, key) == NR_WORLD_COSTS && (!unknown || strcmp(key, unknown) < 0))
			unknown = key;
	}
	if (unknown)
		field_unknown(t, unknown, "cost", unknown, field_name_in_array, p->cost_name,
		              NR_WORLD_COSTS);
	for (u32 i = 0; i < NR_WORLD_COSTS; i++) {
		if (lua_getfield(L, t->index, p->cost_name[i]) != LUA_TNIL)
			read_cost(p, t, p->cost_name[i]);
		lua_pop(L, 1);
	}
}

static void read_fitted(struct profile *p, const struct field_table *t)
{
	static const struct field fields[] = {
		{"constant", FIELD_TEXT, PROFILE(fitted), 0, 0, NULL},
		{"note", FIELD_TEXT, PROFILE(fitted_note), 0, 0, NULL},
	};

	fields_read(t, fields, ARRAY_SIZE(fields), p);
}

/* ---- the whole ---- */

static void read_part(struct profile *p, const struct field_table *t, const char *key,
                      void (*read)(struct profile *p, const struct field_table *t))
{
	if (lua_getfield(t->L, t->index, key) != LUA_TNIL) {
		struct field_table sub = field_subtable(t, key);

		sub.what = key;
		read(p, &sub);
	}
	lua_pop(t->L, 1);
}

static int read_file(struct profile *p, const char *path, char *err);
static char *find_profile(const char *name, profile_dirs dirs, struct keep *keep, char *err);

/* The profile that this one is based on is read into it first. */
static void read_base(struct profile *p, const struct field_table *t)
{
	static const struct field base = {"base", FIELD_TEXT, PROFILE(base), 0, 0, NULL};
	char err[TARGET_ERROR_MAX];
	char *name = p->name;
	char *path;

	if (lua_getfield(t->L, t->index, "base") == LUA_TNIL) {
		lua_pop(t->L, 1);
		return;
	}
	field_read(t, "base", &base, p);
	lua_pop(t->L, 1);
	path = find_profile(p->base, p->dirs, &p->keep, err);
	if (!path)
		field_error(t, "base", "%s", err);
	for (u32 i = 0; i < p->nr_files; i++)
		if (strcmp(p->file[i], path) == 0)
			field_error(t, "base", "'%s' is based on itself, by way of %s", p->base,
			            p->file[p->nr_files - 1]);
	if (p->nr_files > PROFILE_BASES_MAX)
		field_error(t, "base", "more than %d profiles, one based on the other",
		            PROFILE_BASES_MAX);
	p->name = NULL;
	if (read_file(p, path, err))
		field_error(t, "base", "%s", err);
	/* What is said of the base alone. */
	p->name = name;
	p->about = NULL;
	p->fitted = p->fitted_note = NULL;
}

/* machine "name" { ... }: the second call. Upvalue 1 is the name. */
static int profile_body(lua_State *L)
{
	struct profile *p = sandbox_of(L)->user;
	struct field_table t = {.L = L, .index = 1, .what = "machine", .keep = &p->keep};
	struct field all[SHAPE_FIELDS + ARRAY_SIZE(profile_fields)];
	const char *path = p->file[p->nr_files - 1];
	u64 given;

	if (p->name)
		sandbox_error(L, "a profile describes one machine, and '%s' is there already",
		              p->name);
	if (lua_type(L, 1) != LUA_TTABLE)
		sandbox_error(L, "expected machine \"name\" { ... }");
	p->name = keep_strdup(&p->keep, lua_tostring(L, lua_upvalueindex(1)));

	read_base(p, &t);

	/* One list of fields, of which the first fill p->shape. */
	memcpy(all, machine_shape_fields, sizeof(machine_shape_fields));
	for (size_t i = 0; i < SHAPE_FIELDS; i++)
		all[i].offset += offsetof(struct profile, shape);
	memcpy(all + SHAPE_FIELDS, profile_fields, sizeof(profile_fields));
	given = fields_read(&t, all, ARRAY_SIZE(all), p);
	for (u32 i = 0; i < PROFILE_ORIGINS; i++)
		if (given & BIT(i))
			p->origin[i] = path;
	if (given & SHAPE_RAM) /* no base's explicit map has as much */
		p->memory.nr_ranges = 0;

	read_part(p, &t, "memory", read_memory);
	read_part(p, &t, "distance", read_distance);
	read_part(p, &t, "disks", read_disks);
	read_part(p, &t, "costs", read_costs);
	read_part(p, &t, "fitted", read_fitted);

	for (u32 i = 0; i < p->memory.nr_ranges; i++)
		if (p->memory.range[i].node >= p->shape.nr_nodes)
			field_error(&t, "memory", "a range is in node %u of %u",
			            p->memory.range[i].node, p->shape.nr_nodes);
	if (p->nr_matrix && p->nr_matrix != p->shape.nr_nodes)
		field_error(&t, "distance", "%u rows for %u nodes", p->nr_matrix,
		            p->shape.nr_nodes);
	return 0;
}

static int profile_machine(lua_State *L)
{
	if (lua_type(L, 1) != LUA_TSTRING)
		sandbox_error(L, "expected machine \"name\" { ... }");
	if (lua_rawlen(L, 1) == 0 || lua_rawlen(L, 1) >= HW_NAME_MAX)
		sandbox_error(L, "a machine's name has 1 to %d characters", HW_NAME_MAX - 1);
	lua_settop(L, 1);
	lua_pushcclosure(L, profile_body, 1);
	return 1;
}

static void set_defaults(struct profile *p)
{
	char name[COST_NAME_MAX];

	p->shape = (struct machine_shape){
		.nr_cpus = 1, .nr_sockets = 1, .threads = 1, .nr_nodes = 1, .ram_bytes = 1UL << 30};
	p->memory = (struct profile_memory){
		.pci_hole_bytes = 3UL << 30, .descriptor_bytes = 64, .dma_pages = 21};
	p->hz = 250;
	p->spinlocks = 1;
	p->near = p->far = 20;
	p->nr_group = 1;
	for (u32 i = 0; i < NR_WORLD_COSTS; i++) {
		p->cost_ns[i] = costs[i].default_ns;
		p->cost_source[i] = costs[i].source;
		p->cost_name[i] = keep_strdup(&p->keep, cost_name(name, i));
	}
}

/* Reads one file into @p, on top of what is in it. */
static int read_file(struct profile *p, const char *path, char *err)
{
	struct sandbox *sb;
	char *text;
	size_t len;
	int result = sandbox_read_file(path, &text, &len, err);

	if (result)
		return result;
	p->file[p->nr_files++] = keep_strdup(&p->keep, path);
	sb = sandbox_new(&(struct sandbox_options){.user = p});
	if (!sb) {
		free(text);
		snprintf(err, TARGET_ERROR_MAX, "%s: out of memory", path);
		return -ENOMEM;
	}
	lua_register(sb->L, "machine", profile_machine);
	result = sandbox_compile(sb, path, text, len, err);
	if (!result)
		result = sandbox_call(sb, 0, 0, err);
	sandbox_free(sb);
	free(text);
	if (result || p->name)
		return result;
	snprintf(err, TARGET_ERROR_MAX,
	         "%s: describes no machine; expected "
	         "machine \"name\" { ... }",
	         path);
	return -EINVAL;
}

/* What cannot be built should not wait for a scenario to be found out. */
static int try_to_build(struct profile *p, char *err)
{
	char why[TARGET_ERROR_MAX - 64];
	struct machine_shape shape = p->shape;
	struct hw_machine *hw;
	int result = profile_build(p, &shape, ~0UL, &p->keep, &hw, err);

	if (result) {
		snprintf(why, sizeof(why), "%s", err);
		snprintf(err, TARGET_ERROR_MAX, "%.60s: %s", p->path, why);
	}
	return result;
}

/* ---- finding them ---- */

static const char *const default_dirs[] = {"machines", NULL};

u32 profile_list(profile_dirs dirs, struct keep *keep, const char ***names)
{
	const char **list = NULL;
	u32 n = 0;
	u32 unique = 0;

	for (dirs = dirs ? dirs : default_dirs; *dirs; dirs++) {
		DIR *dir = opendir(*dirs);
		struct dirent *entry;

		while (dir && (entry = readdir(dir))) {
			size_t len = strlen(entry->d_name);

			if (len > 4 && entry->d_name[0] != '.' &&
			    strcmp(entry->d_name + len - 4, ".lua") == 0)
				*keep_push(keep, list, n) =
					keep_strndup(keep, entry->d_name, len - 4);
		}
		if (dir)
			closedir(dir);
	}
	sort_stable(list, n, sizeof(*list), compare_names, NULL);
	for (u32 i = 0; i < n; i++)
		if (i == 0 || strcmp(list[i], list[unique - 1]) != 0)
			list[unique++] = list[i];
	*names = list;
	return unique;
}

static char *find_profile(const char *name, profile_dirs dirs, struct keep *keep, char *err)
{
	const char **names;
	u32 n = profile_list(dirs, keep, &names);
	size_t i = 0;

	while (i < n && strcmp(names[i], name) != 0)
		i++;
	if (i == n) {
		field_unknown_text(err, "machine profile", name, field_name_in_array, names, n);
		return NULL;
	}
	for (dirs = dirs ? dirs : default_dirs; *dirs; dirs++) {
		char *path = keep_printf(keep, "%s/%s.lua", *dirs, name);
		FILE *file = fopen(path, "re");

		if (!file)
			continue;
		fclose(file);
		return path;
	}
	snprintf(err, TARGET_ERROR_MAX, "machine profile '%.60s' cannot be opened", name);
	return NULL;
}

int profile_load(const char *name, bool is_path, profile_dirs dirs, struct profile **out, char *err)
{
	struct profile *p = calloc(1, sizeof(*p));
	int result = -ENOENT;

	if (!p) {
		snprintf(err, TARGET_ERROR_MAX, "out of memory");
		return -ENOMEM;
	}
	set_defaults(p);
	p->path = is_path ? keep_strdup(&p->keep, name) : find_profile(name, dirs, &p->keep, err);
	p->dirs = dirs;
	for (u32 i = 0; i < PROFILE_ORIGINS; i++)
		p->origin[i] = p->path;
	if (p->path)
		result = read_file(p, p->path, err);
	if (!result)
		result = try_to_build(p, err);
	if (result) {
		profile_free(p);
		return result;
	}
	*out = p;
	return 0;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	keep_free(&p->keep);
	free(p);
}

/* ---- from the command line ---- */

static const char *disk_field_at(void *arg, size_t i)
{
	(void)arg;
	return disk_fields[i].name;
}

static int set_disk(struct profile *p, const char *key, const char *value, char *err)
{
	const char *dot = strrchr(key, '.');
	struct disk_reading r = {0};
	u32 i = 0;
	size_t f;
	int result;

	while (i < p->nr_disks &&
	       !(dot && strncmp(p->disk[i].name, key, (size_t)(dot - key)) == 0 &&
	         p->disk[i].name[dot - key] == '\0'))
		i++;
	if (i == p->nr_disks) {
		int len = dot ? (int)min_t(size_t, (size_t)(dot - key), 60) : 60;

		snprintf(err, TARGET_ERROR_MAX, "%s has no disk '%.*s'", p->path, len, key);
		for (i = 0; i < p->nr_disks; i++)
			append_text(err, TARGET_ERROR_MAX, "%s%s", i ? ", " : "; it has ",
			            p->disk[i].name);
		return -EINVAL;
	}
	f = disk_field(dot + 1);
	if (f == ARRAY_SIZE(disk_fields)) {
		field_unknown_text(err, "field of a disk", dot + 1, disk_field_at, NULL,
		                   ARRAY_SIZE(disk_fields));
		return -EINVAL;
	}
	r.disk = p->disk[i];
	r.kind = r.disk.kind;
	r.irq_cpu = r.disk.irq_cpu - 1;
	r.max_request_bytes = (u64)r.disk.max_sectors * 512;
	result = field_parse_text("disk", dot + 1, value, &disk_fields[f], NULL, &p->keep, &r, err);
	if (result)
		return result;
	apply_disk(&r, BIT(f));
	if (disk_lacks(&r.disk)) {
		snprintf(err, TARGET_ERROR_MAX, "a %s disk needs '%s'", disk_kinds[r.disk.kind],
		         disk_lacks(&r.disk));
		return -EINVAL;
	}
	p->disk[i] = r.disk;
	return 0;
}

int profile_set(struct profile *p, const char *key, const char *value, char *err)
{
	static const struct field ns = {"", FIELD_COUNT, 0, 0, 1000000000, NULL};
	u32 cost;
	int result;

	if (strncmp(key, "disk.", 5) == 0)
		return set_disk(p, key + 5, value, err);
	if (strncmp(key, "cost.", 5) != 0)
		return -ENOENT;
	cost = find_cost(p, key + 5);
	if (cost == NR_WORLD_COSTS) {
		field_unknown_text(err, "cost", key + 5, field_name_in_array, p->cost_name,
		                   NR_WORLD_COSTS);
		return -EINVAL;
	}
	result = field_parse_text("cost", key + 5, value, &ns, NULL, &p->keep, &p->cost_ns[cost],
	                          err);
	if (!result)
		p->cost_source[cost] = "--set";
	return result;
}
