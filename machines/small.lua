-- A small machine of today: four cores, 1 GB, a flash disk. Nothing special, and therefore the
-- default: scenarios that do not care where they run, run here.
--
-- Costs are those of world/cost.h, whose values and sources `quire list costs` prints.

machine "small" {
	about = "4 CPUs, 1 GB, SATA flash; a small virtual machine or board of the 2020s",

	cpus = 4, sockets = 1, threads = 1, nodes = 1,
	ram = "1G",
	swap = "1G", swap_kind = "disk",

	hz = 250,
	spinlocks = "queued",
	variation = "1%",      -- assumed: spread of user code's speed on a quiet machine

	memory = {
		pci_hole   = "3G",
		firmware   = "1M",    -- assumed: ACPI tables at the end of RAM
		kernel     = "24M",   -- assumed: image, hash tables, per-CPU areas
		system     = "16M",   -- assumed: slab and stacks of a system that is only just up
		descriptor = 64,      -- bytes of struct page
		dma_pages  = 158,     -- today's kernels reserve all of the first megabyte:
		                      -- 3998 present, 3840 managed, as on any live machine
	},

	disks = {
		swap = {
			kind = "flash",
			read_latency = "90us", write_latency = "30us", -- assumed: a SATA SSD
			read_rate = "500M", write_rate = "400M",
			channels = 8, requests = 64, max_request = "512K",
			variation = "10%",
			source = "assumed: a SATA flash disk",
		},
		data = {
			kind = "flash", size = "8G",
			read_latency = "90us", write_latency = "30us",
			read_rate = "500M", write_rate = "400M",
			channels = 8, requests = 64, max_request = "512K",
			variation = "10%",
			source = "assumed: a SATA flash disk, for files",
		},
		zram = { kind = "ram", ratio = "38%", source = "published: lz4, 2.63 to 1" },
	},
}
