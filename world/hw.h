/*
 * What a machine is made of: CPUs, nodes, the memory map, disks, and what things cost on it.
 *
 * Filled by load/ from a profile (in machines/), built by a simulated world, read by the core at
 * boot. Constant afterwards. Whoever fills it owns the arrays and keeps them alive as long as
 * anything built from them.
 */
#ifndef WORLD_HW_H
#define WORLD_HW_H

#include "lib/types.h"
#include "world/cost.h"

#define HW_MAX_CPUS 4096
#define HW_MAX_NODES 256
#define HW_MAX_DISKS 8
#define HW_MAX_RANGES 1024
#define HW_NAME_MAX 32

/* Two CPUs with the same core are threads of it; with the same socket they share its last cache. */
struct hw_cpu {
	u16 node;
	u16 socket;
	u16 core;
};

/*
 * A range of physical memory. It lies within one node and one zone: the boundaries at 16 MiB
 * (pfn 4096) and 4 GiB (pfn 1048576) are never inside a range. Sorted by start_pfn.
 * nr_reserved pages at its start are never given to the allocator (kernel image, memmap, holes the
 * firmware keeps): present = nr_pages, managed = nr_pages - nr_reserved.
 */
struct hw_range {
	u64 start_pfn;
	u64 nr_pages;
	u64 nr_reserved;
	u16 node;
};

enum hw_disk_kind {
	HW_DISK_ROTATING, /* one head: seeks, rotation, a transfer rate */
	HW_DISK_FLASH,    /* latency and bandwidth, several channels */
	HW_DISK_RAM,      /* compressed RAM (zram): no queue, completes inside submit */
};

/* Times in ns, rates in bytes a second. Fields a kind does not use are 0. */
struct hw_disk {
	char name[HW_NAME_MAX];
	enum hw_disk_kind kind;
	u64 size_bytes;
	u64 seek_ns_min;     /* rotating: track to track */
	u64 seek_ns_max;     /* rotating: full stroke */
	u64 rotation_ns;     /* rotating: one turn */
	u64 read_latency_ns; /* flash: of one request */
	u64 write_latency_ns;
	u64 read_bytes_per_s;
	u64 write_bytes_per_s;
	u32 nr_channels;  /* flash: requests served at once */
	u32 depth;        /* flash: taken at once, in the order they come; at least nr_channels */
	u32 nr_requests;  /* queue limit per direction (Linux: 128); RAM: 0 */
	u32 max_sectors;  /* largest merged request, in 512-byte sectors */
	u32 variation_bp; /* seeded spread of each service time, parts of 10,000 */
	u32 error_ppm;    /* injected I/O errors per million requests */
	u64 hang_at_ns;   /* injected: from then on no request is ever completed; 0: never */
	u32 ratio_bp;     /* RAM: compressed size, parts of 10,000 */
	bool multiqueue;  /* blk-mq (virtio: 3.13): nobody is told that the queue is congested */
	bool barging;     /* submitters may overtake sleepers, who batch (Linux); else FIFO */
	bool files;       /* holds files; else it is for swap */
	bool rotational; /* what it tells the system, queue/rotational: swap looks for slots by that */
	u32 irq_cpu;     /* 1 + the CPU that gets its interrupts; 0: the one that submitted */
};

/* Until it says otherwise, a disk is rotational if it does rotate. */
static inline void hw_disk_set_kind(struct hw_disk *d, enum hw_disk_kind kind)
{
	d->kind = kind;
	d->rotational = kind == HW_DISK_ROTATING;
}

struct hw_machine {
	char name[HW_NAME_MAX]; /* the profile's name; printed with every simulated second */
	u32 nr_cpus;
	u32 nr_nodes;
	u32 nr_ranges;
	u32 nr_disks;
	u32 hz;                 /* timer ticks a second */
	u32 seed_jitter_bp;     /* seeded spread of user code's time, per call, parts of 10,000 */
	u32 descriptor_bytes;   /* of a page descriptor; those of a range are in its nr_reserved */
	bool queued_spinlocks;  /* 4.2 and later; otherwise ticket locks */
	bool autogroup;         /* all user tasks are one session, with one task's share of a CPU */
	struct hw_cpu *cpu;     /* [nr_cpus] */
	struct hw_range *range; /* [nr_ranges] */
	u8 *distance;           /* [nr_nodes * nr_nodes], SLIT: 10 is local */
	struct hw_disk disk[HW_MAX_DISKS];
	u32 cost_ns[NR_WORLD_COSTS];
};

#endif
