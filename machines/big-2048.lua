-- A machine to scale on: 2,048 CPUs in 256 nodes, 16 TB. Each node is a socket of 8 CPUs with
-- 64 GB; eight of them share a chassis. Mail 004 reasons about a machine of this size.

machine "big-2048" {
	about = "2,048 CPUs, 256 nodes, 16 TB; the largest machines of 2010, the costs of today",

	cpus = 2048, sockets = 256, threads = 1, nodes = 256,
	ram = "16T",
	swap = "64G", swap_kind = "disk",

	hz = 250,
	spinlocks = "queued",
	variation = "1%",      -- assumed

	distance = { near = 16, far = 32, group = 8 }, -- assumed: one hop in the chassis, two outside

	memory = {
		pci_hole   = "2G",
		firmware   = "256M",  -- assumed
		kernel     = "2G",    -- assumed: hash tables and 2,048 per-CPU areas
		system     = "1G",    -- assumed
		descriptor = 64,
		dma_pages  = 21,
	},

	disks = {
		swap = {
			kind = "flash",
			read_latency = "80us", write_latency = "20us", -- assumed: NVMe
			read_rate = "3G", write_rate = "2G",
			channels = 32, requests = 1024, max_request = "1M",
			variation = "10%",
			source = "assumed: an NVMe disk",
		},
	},

	costs = {
		line_remote    = { 400, "assumed: beyond the 100 to 300 ns of a four-socket machine" },
		spin_handoff   = { 400, "assumed: 200 to 600 ns across sockets" },
		ipi_flight     = { 1500, "assumed: across chassis" },
		page_line_cold = { 125, "published: DRAM 80 to 125 ns" },
	},
}
