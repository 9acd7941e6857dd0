/*
 * Machine profiles: machines/NAME.lua, read into numbers and built into a struct hw_machine.
 *
 * A profile describes one machine as it is. A scenario may ask for it with other CPUs, RAM, nodes
 * or swap; then the same description is laid out again (layout.c). Costs, locks and disks stay the
 * profile's: comparisons rest on them.
 *
 *   machine "small" {
 *           base = "other",                                    -- what is not said here is as there:
 *                                                              -- fields, disks and costs, one by one
 *           about = [[what it stands for]],
 *           cpus = 4, sockets = 1, threads = 1, nodes = 1,
 *           ram = "1G", swap = "1G", swap_kind = "disk",       -- or "zram"
 *           hz = 250, spinlocks = "queued", autogroup = false, variation = "1%",
 *           memory = { pci_hole = "3G", ... },                 -- see struct profile_memory
 *           distance = { near = 16, far = 21, group = 4 },     -- or a matrix { {10, 21}, {21, 10} }
 *           disks = { swap = { kind = "flash", ... }, data = { ... }, hdd = false }, -- the base's hdd
 *           costs = { syscall = { 80, "assumed" }, ... },      -- names of world/cost.h
 *           fitted = { constant = "disk.swap.rate", note = "..." },
 *   }
 */
#ifndef LOAD_PROFILE_H
#define LOAD_PROFILE_H

#include "load/fields.h"
#include "load/keep.h"
#include "world/hw.h"

#define MACHINE_SWAP_MIN 8192UL     /* a header and a page */
#define MACHINE_RAM_MIN (8UL << 20) /* below, no kernel boots */
#define MACHINE_NODE_RAM_MIN (8UL << 20)
#define MACHINE_NODE_RAM_MAX (16UL << 40) /* links of pages have 32 bits */
#define MACHINE_RAM_MAX (1UL << 50)

enum swap_kind {
	SWAP_ON_DISK, /* the disk named "swap" */
	SWAP_ON_ZRAM, /* the one named "zram" */
	SWAP_ON_HDD,  /* the one named "hdd", for a machine that is tried with several */
};

/* As profiles and --set spell it. */
const char *swap_kind_name(enum swap_kind kind);

/* What a scenario may ask for. */
struct machine_shape {
	u32 nr_cpus;
	u32 nr_sockets;
	u32 threads; /* of one core */
	u32 nr_nodes;
	u64 ram_bytes;
	u64 swap_bytes; /* 0: none */
	u32 swap_kind;  /* enum swap_kind */

	/* Not asked for, but a result: what a pool of huge pages must take of an explicit map. */
	u64 ballast_bytes;
};

/* The same as fields of a table, in the order of these bits of what fields_read() returns. */
enum {
	SHAPE_CPUS = 1,
	SHAPE_SOCKETS = 2,
	SHAPE_THREADS = 4,
	SHAPE_NODES = 8,
	SHAPE_RAM = 16,
	SHAPE_SWAP = 32,
	SHAPE_SWAP_KIND = 64,
};
#define SHAPE_FIELDS 7
extern const struct field machine_shape_fields[SHAPE_FIELDS];

/*
 * How a PC's firmware and kernel divide its RAM. Sizes are of memory that users never get. What
 * the kernel takes when it boots is limited to a quarter of the first range it lies in, so that a
 * profile of a large machine still works with little RAM.
 */
struct profile_memory {
	u64 pci_hole_bytes;   /* where RAM stops below 4G; the rest lies above 4G */
	u64 firmware_bytes;   /* not present at all, at the end of the low RAM */
	u64 kernel_bytes;     /* image, hash tables, per-CPU areas: in the first node */
	u64 system_bytes;     /* slab, stacks, daemons that never rest: the same */
	u32 descriptor_bytes; /* struct page, for each page of a range, in that range */
	u32 dma_pages;        /* reserved below 16M */
	u32 nr_ranges;        /* an explicit map instead of all this; 0: none */
	struct hw_range *range;
};

/* Directories in which profiles are looked for, ending with NULL. NULL: "machines". */
typedef const char *const *profile_dirs;

#define PROFILE_BASES_MAX 8 /* profiles on which one is based, one on the other */

/* What is given at one place and may come from a base. Those of machine_shape_fields come first. */
enum {
	PROFILE_HZ = SHAPE_FIELDS,
	PROFILE_SPINLOCKS,
	PROFILE_AUTOGROUP,
	PROFILE_VARIATION,
	PROFILE_MEMORY,
	PROFILE_ORIGINS,
};

struct profile {
	struct keep keep;
	char *path; /* of the profile itself, file[0] */
	u32 nr_files;
	char *file[PROFILE_BASES_MAX + 1]; /* then those of its bases */
	const char *
		origin[PROFILE_ORIGINS]; /* the file that says so, the profile's own if none does */
	profile_dirs dirs;
	char *name;
	char *base; /* the name of the last base; NULL: none */
	char *about;
	struct machine_shape shape;
	struct profile_memory memory;
	u32 hz;
	u32 variation_bp;
	u32 spinlocks; /* 0: ticket, 1: queued */
	bool autogroup;
	u32 near; /* SLIT distance of nodes in one group of nr_group */
	u32 far;  /* and of others */
	u32 nr_group;
	u32 nr_matrix; /* nodes of an explicit matrix; 0: none */
	u8 *matrix;
	u32 nr_disks;
	struct hw_disk disk[HW_MAX_DISKS]; /* by name */
	char *disk_source[HW_MAX_DISKS];
	u32 cost_ns[NR_WORLD_COSTS];
	const char *cost_name[NR_WORLD_COSTS]; /* lower case */
	const char *cost_source[NR_WORLD_COSTS];
	char *fitted; /* the constant that may be fitted to one figure, or NULL */
	char *fitted_note;
};

/*
 * Read profile @name, or the file of that path if @is_path. @out is for profile_free().
 * Returns 0, or -EINVAL / -ENOENT with the reason in @err (TARGET_ERROR_MAX bytes).
 */
int profile_load(const char *name, bool is_path, profile_dirs dirs, struct profile **out,
                 char *err);
void profile_free(struct profile *p);

/* The profiles there are, sorted, without ".lua"; allocated in @keep. */
u32 profile_list(profile_dirs dirs, struct keep *keep, const char ***names);

/*
 * Change one constant: "cost.NAME" (ns) or "disk.NAME.FIELD". Returns 0, -ENOENT if @key is not of
 * this kind, or -EINVAL and @err.
 */
int profile_set(struct profile *p, const char *key, const char *value, char *err);

/* The blocks that ballast comes in: an x86 PC's huge pages. */
#define BALLAST_PAGE_BYTES (2UL << 20)

/*
 * The machine of @p with @shape, of which @given (SHAPE_ bits) was asked for and is binding, while
 * the rest is adapted to it. @shape becomes what was built. Memory comes from @keep.
 * If swap_bytes is not 0, disk[0] is the swap device.
 * A profile with an explicit memory map describes one existing machine. With less RAM it is that machine
 * with ballast, as a host is limited: the map stays, and @shape says how much to take away first.
 */
int profile_build(const struct profile *p, struct machine_shape *shape, u64 given,
                  struct keep *keep, struct hw_machine **out, char *err);

/* A name of world/cost.h in lower case, as profiles spell it. Returns @buf. */
#define COST_NAME_MAX 32
char *cost_name(char *buf, u32 cost);

#endif
