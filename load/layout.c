/*
 * Laying out a machine: CPUs on cores, sockets and nodes; RAM around a PC's holes; distances.
 *
 * RAM is what the modules hold. A PC shows it from 0 to the PCI hole and, what is left, from 4G
 * on; page 0 and the 640K-1M area are not RAM. Nodes get equal shares in address order, cut at
 * 4 MiB so that no block of the buddy allocator can span two.
 */
#include "load/profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/size.h"
#include "load/target.h"

#define PFN_16M 4096UL
#define PFN_4G 1048576UL
#define PFN_640K 0x9fUL /* the last page below 640K is the firmware's */
#define PFN_1M 0x100UL
#define NODE_ALIGN 1024UL /* pages: the largest block of the buddy allocator */

/* ---- CPUs ---- */

/*
 * Make the parts of @s fit together. What was asked for stands, what came from the profile gives
 * way: threads to 1, sockets to one per node or 1, nodes to 1.
 */
static int fit_topology(struct machine_shape *s, u64 given, char *err)
{
	u32 cores;

	if (given & (SHAPE_CPUS | SHAPE_NODES | SHAPE_SOCKETS)) {
		if (!(given & SHAPE_THREADS) && s->nr_cpus % s->threads)
			s->threads = 1;
		if (!(given & SHAPE_NODES) &&
		    (s->nr_nodes > s->nr_cpus / s->threads || s->nr_cpus % s->nr_nodes))
			s->nr_nodes = 1;
		if (!(given & SHAPE_SOCKETS) &&
		    (given & SHAPE_NODES || s->nr_cpus / s->threads % s->nr_sockets))
			s->nr_sockets = s->nr_nodes;
		if (!(given & SHAPE_THREADS) && s->nr_cpus / s->threads % s->nr_nodes)
			s->threads = 1;
	}
	if (s->nr_cpus % s->threads)
		return load_refuse(err, "%u CPUs do not divide into cores of %u threads",
		                   s->nr_cpus, s->threads);
	cores = s->nr_cpus / s->threads;
	if (s->nr_nodes > cores)
		return load_refuse(err, "%u nodes for %u cores: every node needs one", s->nr_nodes,
		                   cores);
	if (cores % s->nr_nodes)
		return load_refuse(err, "%u cores do not divide into %u nodes", cores, s->nr_nodes);
	if (cores % s->nr_sockets)
		return load_refuse(err, "%u cores do not divide into %u sockets", cores,
		                   s->nr_sockets);
	if (s->nr_nodes % s->nr_sockets && s->nr_sockets % s->nr_nodes)
		return load_refuse(err,
		                   "%u sockets and %u nodes: one must be a multiple of the other",
		                   s->nr_sockets, s->nr_nodes);
	return 0;
}

/* Numbered as Linux finds them on a PC: first threads of all cores, then second threads. */
static void lay_out_cpus(const struct machine_shape *s, struct hw_cpu *cpu)
{
	u32 cores = s->nr_cpus / s->threads;

	for (u32 i = 0; i < s->nr_cpus; i++) {
		u32 core = i % cores;

		cpu[i].core = (u16)core;
		cpu[i].socket = (u16)(core / (cores / s->nr_sockets));
		cpu[i].node = (u16)(core / (cores / s->nr_nodes));
	}
}

/* ---- RAM ---- */

struct map {
	struct hw_range *range;
	u32 nr;
	u32 nr_nodes;
	u32 node;   /* that is being filled */
	u64 total;  /* pages of all segments */
	u64 placed; /* pages that have a node */
};

/* Add [@start, @end), which lies in one zone, to as many nodes as it takes. */
static void add_segment(struct map *m, u64 start, u64 end)
{
	while (start < end) {
		u64 cut = end;

		if (m->node + 1 < m->nr_nodes) {
			u64 share = mul_div_u64(m->total, m->node + 1, m->nr_nodes);
			u64 room = share > m->placed ? share - m->placed : 0;

			if (end - start > room) {
				cut = ALIGN_DOWN(start + room, NODE_ALIGN);
				cut = max(cut, start);
			}
		}
		if (cut > start)
			m->range[m->nr++] = (struct hw_range){
				.start_pfn = start, .nr_pages = cut - start, .node = (u16)m->node};
		m->placed += cut - start;
		start = cut;
		if (start < end)
			m->node++;
	}
}

/* Take @pages from the start of @r, but leave at least @keep_part parts of 4. */
static void reserve(struct hw_range *r, u64 pages, u64 keep_part)
{
	u64 most = r->nr_pages - r->nr_pages * keep_part / 4;

	r->nr_reserved = min(r->nr_reserved + pages, most);
}

static void lay_out_ram(const struct profile_memory *pm, const struct machine_shape *s,
                        struct hw_machine *hw)
{
	u64 pages = s->ram_bytes / 4096;
	u64 low = min(pages, pm->pci_hole_bytes / 4096);
	u64 high = pages - low;
	u64 low_end = low - min(pm->firmware_bytes / 4096, low / 64);
	struct map m = {.range = hw->range, .nr_nodes = s->nr_nodes};
	struct hw_range *boot = NULL; /* where the kernel lies */

	m.total = (PFN_640K - 1) + (low_end - PFN_1M) + high;
	add_segment(&m, 1, PFN_640K);
	add_segment(&m, PFN_1M, min(low_end, PFN_16M));
	if (low_end > PFN_16M)
		add_segment(&m, PFN_16M, low_end);
	add_segment(&m, PFN_4G, PFN_4G + high);
	hw->nr_ranges = m.nr;

	for (u32 i = 0; i < m.nr; i++) {
		struct hw_range *r = &m.range[i];

		if (r->start_pfn < PFN_16M) {
			if (r->start_pfn >= PFN_1M && !boot) {
				reserve(r, pm->dma_pages, 3);
				boot = r;
			}
			continue;
		}
		reserve(r, r->nr_pages * pm->descriptor_bytes / 4096, 2);
		if (boot && boot->start_pfn < PFN_16M)
			boot = r;
	}
	reserve(boot, (pm->kernel_bytes + pm->system_bytes) / 4096, 3);
}

/* ---- distances ---- */

static void lay_out_distances(const struct profile *p, u32 n, u8 *distance)
{
	for (u32 a = 0; a < n; a++)
		for (u32 b = 0; b < n; b++) {
			u8 *d = &distance[a * n + b];

			if (a == b)
				*d = 10;
			else if (p->nr_matrix == n)
				*d = p->matrix[a * n + b];
			else if (p->nr_group && a / p->nr_group == b / p->nr_group)
				*d = (u8)p->near;
			else
				*d = (u8)p->far;
		}
}

/* ---- disks ---- */

static const char *const swap_disk_names[] = {
	[SWAP_ON_DISK] = "swap", [SWAP_ON_ZRAM] = "zram", [SWAP_ON_HDD] = "hdd"};

static bool is_swap_disk(const struct hw_disk *d)
{
	for (u32 i = 0; i < ARRAY_SIZE(swap_disk_names); i++)
		if (strcmp(d->name, swap_disk_names[i]) == 0)
			return true;
	return false;
}

static void place_file_disks(const struct profile *p, struct hw_machine *hw, bool data)
{
	for (u32 i = 0; i < p->nr_disks; i++) {
		const struct hw_disk *d = &p->disk[i];

		if (is_swap_disk(d) || (strcmp(d->name, "data") == 0) != data)
			continue;
		hw->disk[hw->nr_disks] = *d;
		hw->disk[hw->nr_disks++].files = true;
	}
}

/* The swap device first, if there is swap, then the disks for files: data, and others by name. */
static int place_disks(const struct profile *p, const struct machine_shape *s,
                       struct hw_machine *hw, char *err)
{
	const char *wanted = swap_disk_names[s->swap_kind];
	char size[SIZE_TEXT_MAX];

	if (s->swap_bytes) {
		if (s->swap_bytes < MACHINE_SWAP_MIN)
			return load_refuse(err, "swap of %s is less than a header and a page, 8K",
			                   format_size(size, sizeof(size), s->swap_bytes));
		for (u32 i = 0; i < p->nr_disks && !hw->nr_disks; i++)
			if (strcmp(p->disk[i].name, wanted) == 0)
				hw->disk[hw->nr_disks++] = p->disk[i];
		if (!hw->nr_disks)
			return load_refuse(err, "%s has no disk named '%s' to swap to", p->path,
			                   wanted);
		hw->disk[0].size_bytes = s->swap_bytes;
	}
	place_file_disks(p, hw, true);
	place_file_disks(p, hw, false);
	return 0;
}

/* ---- ballast ---- */

/* Leaves @ram of what the kernel manages (MemTotal), as nearly as huge pages can. */
static u64 ballast_for(const struct hw_machine *hw, u64 ram)
{
	u64 total = 0;

	for (u32 i = 0; i < hw->nr_ranges; i++)
		total += (hw->range[i].nr_pages - hw->range[i].nr_reserved) * 4096;
	if (total <= ram)
		return 0;
	return DIV_ROUND_CLOSEST(total - ram, BALLAST_PAGE_BYTES) * BALLAST_PAGE_BYTES;
}

/* ---- all of it ---- */

static int check_ram(const struct machine_shape *s, char *err)
{
	char ram[SIZE_TEXT_MAX];

	format_size(ram, sizeof(ram), s->ram_bytes);
	if (s->ram_bytes < MACHINE_RAM_MIN)
		return load_refuse(err, "RAM of %s is less than the 8M that a kernel needs", ram);
	if (s->ram_bytes > MACHINE_RAM_MAX)
		return load_refuse(err, "RAM of %s is more than the 1024T that fit", ram);
	if (s->ram_bytes / s->nr_nodes > MACHINE_NODE_RAM_MAX)
		return load_refuse(err, "RAM of %s is more than 16T for each of %u nodes", ram,
		                   s->nr_nodes);
	if (s->ram_bytes / s->nr_nodes < MACHINE_NODE_RAM_MIN)
		return load_refuse(err,
		                   "RAM of %s for %u nodes is less than the 8M that each needs",
		                   ram, s->nr_nodes);
	return 0;
}

int profile_build(const struct profile *p, struct machine_shape *shape, u64 given,
                  struct keep *keep, struct hw_machine **out, char *err)
{
	struct hw_machine *hw;
	bool use_map;
	int result = fit_topology(shape, given, err);

	if (result)
		return result;

	/* A map that was written down is of one machine: with more RAM it means nothing. */
	use_map = p->memory.nr_ranges && shape->nr_nodes == p->shape.nr_nodes &&
	          (!(given & SHAPE_RAM) || shape->ram_bytes <= p->shape.ram_bytes);
	shape->ballast_bytes = 0;
	if (!use_map && (result = check_ram(shape, err)))
		return result;

	hw = keep_alloc(keep, sizeof(*hw));
	snprintf(hw->name, sizeof(hw->name), "%s", p->name);
	hw->nr_cpus = shape->nr_cpus;
	hw->nr_nodes = shape->nr_nodes;
	hw->hz = p->hz;
	hw->seed_jitter_bp = p->variation_bp;
	hw->descriptor_bytes = (u32)p->memory.descriptor_bytes;
	hw->queued_spinlocks = p->spinlocks == 1;
	hw->autogroup = p->autogroup;
	memcpy(hw->cost_ns, p->cost_ns, sizeof(hw->cost_ns));
	hw->cpu = keep_array(keep, struct hw_cpu, hw->nr_cpus);
	lay_out_cpus(shape, hw->cpu);
	hw->range = keep_array(keep, struct hw_range, HW_MAX_RANGES);
	if (use_map) {
		hw->nr_ranges = p->memory.nr_ranges;
		memcpy(hw->range, p->memory.range, sizeof(*hw->range) * hw->nr_ranges);
		if (shape->ram_bytes < p->shape.ram_bytes) {
			result = check_ram(shape, err);
			if (result)
				return result;
			shape->ballast_bytes = ballast_for(hw, shape->ram_bytes);
		}
	} else {
		lay_out_ram(&p->memory, shape, hw);
	}
	hw->distance = keep_array(keep, u8, hw->nr_nodes * hw->nr_nodes);
	lay_out_distances(p, hw->nr_nodes, hw->distance);
	result = place_disks(p, shape, hw, err);
	if (result)
		return result;
	*out = hw;
	return 0;
}
