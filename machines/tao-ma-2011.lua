-- The machine of Tao Ma's mail of 30 December 2011 (linux-mm): "a 16 core Xeon E5620", which is
-- two sockets of four cores with two threads each at 2.4 GHz (Westmere). Nothing else about it is
-- known. What follows was written down before the first comparison with the mail's figures.

machine "tao-ma-2011" {
	base = "core-2400mhz",
	about = "16 CPUs on 2 x Xeon E5620, 24 GB: the machine of the mlock mail, otherwise assumed",

	cpus = 16, sockets = 2, threads = 2, nodes = 2,
	ram = "24G",           -- assumed: six modules of 4 GB, a usual server of that year
	swap = "2G", swap_kind = "disk", -- assumed; the experiment does not swap

	hz = 1000,             -- x86_64_defconfig of 3.2
	autogroup = false,     -- as there
	spinlocks = "ticket",  -- queued spin locks came with 4.2
	variation = "1%",      -- assumed

	memory = {
		pci_hole   = "3G",
		firmware   = "64M",   -- assumed
		kernel     = "128M",  -- assumed: hash tables grow with RAM
		system     = "128M",  -- assumed
		descriptor = 56,      -- bytes of struct page on x86-64 in 2011
		dma_pages  = 21,
	},

	disks = {
		swap = {
			kind = "rotating",
			seek_min = "1ms", seek_max = "15ms", rotation = "4ms", -- 15,000 rpm
			rate = "120M",
			requests = 128, max_request = "512K",
			variation = "5%",
			barging = true,
			source = "assumed: a disk of 7,200 turns, 8 ms random, 100 to 150 MB/s",
		},
	},

	-- Caches and memory by Molka, Hackenberg, Schoene and Mueller, "Memory Performance and Cache
	-- Coherency Effects on an Intel Nehalem Multiprocessor System" (PACT 2009). Code paths are the
	-- base's.
	costs = {
		line_own        = { 2, "published: 4 cycles of L1 on Nehalem (Molka et al., PACT 2009), 2.4 GHz" },
		line_core       = { 4, "published: 10 cycles of L2 on Nehalem (Molka et al., PACT 2009)" },
		line_socket     = { 35, "published: 83 cycles, modified in another core of the socket (Molka et al., PACT 2009)" },
		line_remote     = { 110, "published: 102 to 109 ns, modified on the other socket (Molka et al., PACT 2009)" },
		spin            = { 16, "assumed: twice 8 ns" },
		ctx_switch      = { 2140, "assumed: twice the 1070 ns published for a core of 2021" },
		idle_exit       = { 3000, "published: exit latency of C1 in intel_idle, Nehalem and Westmere" },
		ipi_send        = { 500, "published: TLB shootdown 1 us + 0.2 us a receiver" },
		ipi_send_more   = { 200, "published: TLB shootdown 1 us + 0.2 us a receiver" },
		ipi_flight      = { 500, "published: IPI round trip 1-2 us" },
		user_page       = { 600, "assumed: 4 KiB at 7 GB/s" },
		user_page_read  = { 500, "assumed: 4 KiB at 8 GB/s" },
		page_clear      = { 600, "assumed: 4 KiB at 7 GB/s" },
		page_copy       = { 1000, "assumed: 4 KiB at 4 GB/s" },
		mlock           = { 1392, "fitted: none.real of mail 001 (200 before: twice the assumed 100 ns)" },
		page_line       = { 16, "published: 38 cycles of L3 on Nehalem (Molka et al., PACT 2009)" },
		page_line_cold  = { 65, "published: 65 ns local DRAM, Nehalem (Molka et al., PACT 2009)" },
	},
}
