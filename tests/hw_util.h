/*
 * Machines for tests and benchmarks, without a profile: default costs, x86's memory layout.
 */
#ifndef TESTS_HW_UTIL_H
#define TESTS_HW_UTIL_H

#include <stdlib.h>
#include <string.h>

#include "lib/bug.h"
#include "lib/types.h"
#include "world/hw.h"

static inline void hw_add_range(struct hw_machine *hw, u64 start, u64 end, u32 node)
{
	if (start >= end)
		return;
	hw->range[hw->nr_ranges++] = (struct hw_range){
		.start_pfn = start,
		.nr_pages = end - start,
		.node = (u16)node,
	};
}

/* Frames [@start, @end) divided among the nodes, in whole order-10 blocks but for the ends. */
static inline void hw_share_range(struct hw_machine *hw, u64 start, u64 end)
{
	u64 each = (end - start) / hw->nr_nodes & ~1023UL;

	for (u32 n = 0; n < hw->nr_nodes; n++)
		hw_add_range(hw, start + n * each,
		             n + 1 == hw->nr_nodes ? end : start + (n + 1) * each, n);
}

/*
 * @nr_cpus CPUs, @nr_nodes nodes of one socket each, @nr_pages of RAM: frame 0 missing, a hole from
 * 3 GiB to 4 GiB. Above 3 GiB the nodes share Normal, below they share DMA32; node 0 has the rest.
 * hw_free() when done.
 */
static inline struct hw_machine *hw_make(u32 nr_cpus, u32 nr_nodes, u64 nr_pages)
{
	struct hw_machine *hw = calloc(1, sizeof(*hw));
	u64 low_end = nr_pages < 786432 ? nr_pages : 786432;
	u64 high = nr_pages - low_end;

	BUG_ON(!hw);
	strcpy(hw->name, "test");
	hw->nr_cpus = nr_cpus;
	hw->nr_nodes = nr_nodes;
	hw->hz = 250;
	hw->cpu = calloc(nr_cpus, sizeof(*hw->cpu));
	hw->range = calloc(2 * nr_nodes + 3, sizeof(*hw->range));
	hw->distance = calloc(nr_nodes, nr_nodes);
	BUG_ON(!hw->cpu || !hw->range || !hw->distance);
	for (u32 c = 0; c < nr_cpus; c++) {
		u16 node = (u16)((u64)c * nr_nodes / nr_cpus);

		hw->cpu[c] = (struct hw_cpu){.node = node, .socket = node, .core = (u16)c};
	}
	for (u32 i = 0; i < nr_nodes * nr_nodes; i++)
		hw->distance[i] = i / nr_nodes == i % nr_nodes ? 10 : 20;
	hw_add_range(hw, 1, low_end < 4096 ? low_end : 4096, 0);
	if (high) {
		hw_add_range(hw, 4096, low_end, 0);
		hw_share_range(hw, 1048576, 1048576 + high);
	} else if (low_end > 4096) {
		hw_share_range(hw, 4096, low_end);
	}
#define X(name, ns, source, doc) hw->cost_ns[COST_##name] = ns;
	WORLD_COSTS(X)
#undef X
	return hw;
}

static inline struct hw_disk *hw_add_flash(struct hw_machine *hw, u64 size_bytes);

/* Adds a flash disk for files. */
static inline struct hw_disk *hw_add_files(struct hw_machine *hw, u64 size_bytes)
{
	struct hw_disk *d = hw_add_flash(hw, size_bytes);

	d->files = true;
	return d;
}

/* Adds a flash disk of @size_bytes. */
static inline struct hw_disk *hw_add_flash(struct hw_machine *hw, u64 size_bytes)
{
	struct hw_disk *d = &hw->disk[hw->nr_disks++];

	*d = (struct hw_disk){
		.name = "flash",
		.kind = HW_DISK_FLASH,
		.size_bytes = size_bytes,
		.read_latency_ns = 90000,
		.write_latency_ns = 25000,
		.read_bytes_per_s = 500000000,
		.write_bytes_per_s = 400000000,
		.nr_channels = 8,
		.nr_requests = 128,
		.max_sectors = 1024,
		.variation_bp = 1000,
	};
	return d;
}

/* Adds a rotating disk of @size_bytes. */
static inline struct hw_disk *hw_add_rotating(struct hw_machine *hw, u64 size_bytes)
{
	struct hw_disk *d = &hw->disk[hw->nr_disks++];

	*d = (struct hw_disk){
		.name = "rotating",
		.kind = HW_DISK_ROTATING,
		.rotational = true,
		.size_bytes = size_bytes,
		.seek_ns_min = 500000,
		.seek_ns_max = 9000000,
		.rotation_ns = 8333333,
		.read_bytes_per_s = 120000000,
		.write_bytes_per_s = 120000000,
		.nr_channels = 1,
		.nr_requests = 128,
		.max_sectors = 1024,
		.variation_bp = 1000,
	};
	return d;
}

/* Adds compressed RAM of @size_bytes. */
static inline struct hw_disk *hw_add_zram(struct hw_machine *hw, u64 size_bytes)
{
	struct hw_disk *d = &hw->disk[hw->nr_disks++];

	*d = (struct hw_disk){
		.name = "zram",
		.kind = HW_DISK_RAM,
		.size_bytes = size_bytes,
		.ratio_bp = 3800,
		.max_sectors = 8,
	};
	return d;
}

static inline void hw_free(struct hw_machine *hw)
{
	free(hw->cpu);
	free(hw->range);
	free(hw->distance);
	free(hw);
}

#endif
