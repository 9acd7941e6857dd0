-- The machine of Kirill A. Shutemov's mail of 4 February 2016 (linux-mm). The mail says nothing about it.
-- Everything below is an assumption: a test box of an Intel kernel developer of that time, and a kernel
-- built as such people build theirs, with lock debugging.
--
-- One constant is fitted, to the mail's 1.93 s (variant vma_0): `spin`. Lock debugging makes taking or
-- releasing a lock cost a hundred nanoseconds and more; how many depends on the kernel's configuration,
-- which is not known. The other three figures, and all ratios, are predictions (docs/EXPERIMENTS.md).

machine "kirill-2016" {
	base = "core-2400mhz",
	about = "Xeon E5-2630 v3, 16 GB, lock debugging: the machine of the THP split mail, all assumed",

	-- Assumed: one socket of eight cores with two threads each at 2.4 GHz.
	cpus = 16, sockets = 1, threads = 2, nodes = 1,
	ram = "16G",           -- assumed: 8 GiB of huge pages and 101 address spaces' page tables fit
	swap = "2G", swap_kind = "disk", -- assumed; the experiment does not swap

	hz = 250,              -- assumed
	autogroup = true,      -- assumed
	spinlocks = "queued",  -- 4.2
	variation = "1%",      -- assumed

	memory = {
		pci_hole   = "3G",
		firmware   = "64M",
		kernel     = "128M",
		system     = "128M",
		descriptor = 64,
		dma_pages  = 21,
	},

	disks = {
		swap = {
			kind = "flash",
			read_latency = "100us", write_latency = "60us", rate = "400M",
			channels = 8, requests = 128, max_request = "512K", variation = "10%",
			barging = true,
			source = "assumed: a SATA flash disk",
		},
	},

	-- Caches and memory by Molka, Hackenberg, Schoene and Nagel, "Cache Coherence Protocol and Memory
	-- Performance of the Intel Haswell-EP Architecture" (ICPP 2015). Code paths are the base's, and those
	-- that it lacks take twice what world/cost.h says, too.
	costs = {
		line_own       = { 2, "published: L1 1.6 ns, Haswell-EP at 2.5 GHz (Molka et al., ICPP 2015)" },
		line_core      = { 5, "published: L2 4.8 ns (Molka et al., ICPP 2015)" },
		line_socket    = { 50, "assumed: modified in another core of the socket, 40 to 60 ns" },
		line_remote    = { 200, "assumed: there is one socket, so never used" },
		touch_l1       = { 2, "published: L1 1.6 ns, Haswell-EP at 2.5 GHz (Molka et al., ICPP 2015)" },
		touch_l2       = { 5, "published: L2 4.8 ns (Molka et al., ICPP 2015)" },
		touch_l3       = { 21, "published: L3 21.2 ns (Molka et al., ICPP 2015)" },
		touch_dram     = { 96, "published: local memory 96.4 ns (Molka et al., ICPP 2015)" },
		spin           = { 170, "fitted to 1.93 s: lock debugging, see above" },
		ctx_switch     = { 2140, "assumed: twice 1070 ns" },
		idle_exit      = { 4000, "assumed: twice 2000 ns" },
		ipi_send       = { 1000, "assumed: twice 500 ns" },
		ipi_send_more  = { 400, "assumed: twice 200 ns" },
		ipi_flight     = { 1000, "assumed: twice 500 ns" },
		user_page      = { 400, "assumed: 4 KiB at 10 GB/s" },
		user_page_read = { 350, "assumed: 4 KiB at 12 GB/s" },
		page_clear     = { 400, "assumed: 4 KiB at 10 GB/s" },
		page_copy      = { 600, "assumed: 4 KiB cold" },
		exec           = { 120000, "assumed: twice 60000 ns" },
		page_line      = { 21, "published: L3 21.2 ns (Molka et al., ICPP 2015)" },
		page_line_cold = { 96, "published: local memory 96.4 ns (Molka et al., ICPP 2015)" },
		rmap_node      = { 6, "assumed: twice 3 ns" },
		compound_tail  = { 10, "assumed: twice 5 ns" },
		tlb_nobody     = { 20, "assumed: twice 10 ns" },
	},
}
