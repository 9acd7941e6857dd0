-- The machine of Tao Ma's mail of 30 December 2011 (linux-mm): "a 16 core Xeon E5620", which is
-- two sockets of four cores with two threads each at 2.4 GHz (Westmere). Nothing else about it is
-- known. What follows was written down before the first comparison with the mail's figures.

machine "tao-ma-2011" {
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
			source = "assumed: linux-mm.md 18.4, 8 ms random, 100 to 150 MB/s",
		},
	},

	-- Caches and memory by Molka, Hackenberg, Schoene and Mueller, "Memory Performance and Cache
	-- Coherency Effects on an Intel Nehalem Multiprocessor System" (PACT 2009). Code paths take
	-- twice what world/cost.h says: its published ones are of cores at 4.5 GHz and more, and this
	-- one has 2.4 GHz. One rule for all of them, so that none could be chosen for its effect.
	costs = {
		line_own        = { 2, "published: 4 cycles of L1 on Nehalem (Molka et al., PACT 2009), 2.4 GHz" },
		line_core       = { 4, "published: 10 cycles of L2 on Nehalem (Molka et al., PACT 2009)" },
		line_socket     = { 35, "published: 83 cycles, modified in another core of the socket (Molka et al., PACT 2009)" },
		line_remote     = { 110, "published: 102 to 109 ns, modified on the other socket (Molka et al., PACT 2009)" },
		atomic          = { 12, "assumed: twice 6 ns" },
		spin            = { 16, "assumed: twice 8 ns" },
		spin_handoff    = { 120, "assumed: twice 60 ns" },
		rwsem           = { 20, "assumed: twice 10 ns" },
		mutex_spin      = { 2000, "assumed: twice 1000 ns" },
		ctx_switch      = { 2140, "assumed: twice the 1070 ns published for a core of 2021" },
		wakeup          = { 1000, "assumed: twice 500 ns" },
		idle_exit       = { 3000, "published: exit latency of C1 in intel_idle, Nehalem and Westmere" },
		tick            = { 3000, "assumed: twice 1500 ns" },
		irq             = { 1200, "assumed: twice 600 ns" },
		timer           = { 400, "assumed: twice 200 ns" },
		work            = { 200, "assumed: twice 100 ns" },
		percpu_alloc    = { 800, "assumed: twice 400 ns" },
		percpu_clear    = { 40, "assumed: twice 20 ns" },
		ipi_send        = { 500, "published: TLB shootdown 1 us + 0.2 us a receiver" },
		ipi_send_more   = { 200, "published: TLB shootdown 1 us + 0.2 us a receiver" },
		ipi_flight      = { 500, "published: IPI round trip 1-2 us" },
		syscall         = { 160, "assumed: twice 80 ns" },
		fault_trap      = { 600, "assumed: twice 300 ns" },
		user_word       = { 4, "assumed: twice 2 ns" },
		user_page       = { 600, "assumed: 4 KiB at 7 GB/s" },
		user_page_read  = { 500, "assumed: 4 KiB at 8 GB/s" },
		tlb_miss        = { 40, "assumed: twice 20 ns" },
		page_clear      = { 600, "assumed: 4 KiB at 7 GB/s" },
		page_copy       = { 1000, "assumed: 4 KiB at 4 GB/s" },
		vma_lookup      = { 40, "assumed: twice 20 ns" },
		vma_op          = { 600, "assumed: twice 300 ns" },
		mlock           = { 1392, "fitted: none.real of mail 001 (200 before: twice the assumed 100 ns)" },
		pt_walk         = { 40, "assumed: twice 20 ns" },
		pt_alloc        = { 400, "assumed: twice 200 ns" },
		pte             = { 8, "assumed: twice 4 ns" },
		pte_cold        = { 60, "assumed: twice 30 ns" },
		rss             = { 4, "assumed: twice 2 ns" },
		fork_pte        = { 24, "assumed: twice 12 ns" },
		mm_op           = { 4000, "assumed: twice 2000 ns" },
		page_line       = { 16, "published: 38 cycles of L3 on Nehalem (Molka et al., PACT 2009)" },
		page_line_cold  = { 65, "published: 65 ns local DRAM, Nehalem (Molka et al., PACT 2009)" },
		page_flag       = { 10, "assumed: twice 5 ns" },
		rmap_lookup     = { 80, "assumed: twice 40 ns" },
		rmap_step       = { 120, "assumed: twice 60 ns" },
		anon_vma        = { 300, "assumed: twice 150 ns" },
		alloc           = { 50, "assumed: twice 25 ns" },
		pcp             = { 16, "assumed: twice 8 ns" },
		buddy           = { 60, "assumed: twice 30 ns" },
		buddy_step      = { 20, "assumed: twice 10 ns" },
		vmstat          = { 2, "assumed: twice 1 ns" },
		watermark       = { 12, "assumed: twice 6 ns" },
		lru_batch       = { 6, "assumed: twice 3 ns" },
		lru_add         = { 80, "assumed: twice 40 ns" },
		lru_isolate     = { 100, "assumed: twice 50 ns" },
		scan_page       = { 120, "assumed: twice 60 ns" },
		scan_count      = { 300, "assumed: twice 150 ns" },
		radix           = { 120, "assumed: twice 60 ns" },
		invlpg          = { 240, "assumed: twice 120 ns" },
		tlb_full        = { 600, "assumed: twice 300 ns" },
		swap_slot       = { 120, "assumed: twice 60 ns" },
		swap_scan       = { 2, "assumed: twice 1 ns" },
		swap_map        = { 16, "assumed: twice 8 ns" },
		bio             = { 3000, "assumed: twice 1500 ns" },
		bio_merge       = { 1400, "assumed: twice 700 ns" },
		bio_end         = { 1400, "assumed: twice 700 ns" },
		compress        = { 4000, "assumed: twice 2000 ns" },
		decompress      = { 2000, "assumed: twice 1000 ns" },
	},
}
