-- The machine of Minchan Kim's mail of 24 February 2015 (linux-mm): "my 3G machine + 12 CPU +
-- 8G swap". Nothing else about it is known. Everything below that the mail does not say is an
-- assumption, made before the first comparison with the mail's figures.

machine "minchan-2015" {
	about = "12 CPUs, 3 GB, 8 GB swap: the machine of the MADV_FREE throttle mail, otherwise assumed",

	-- Assumed: one socket of six cores with two threads each (Xeon E5-1650, Core i7-3930K), the
	-- common 12-CPU workstation of that time.
	cpus = 12, sockets = 1, threads = 2, nodes = 1,
	ram = "3G",
	-- What it swaps to is not said. zram, since docs/EXPERIMENTS.md: chosen after the first
	-- comparison, with `disks.swap`, which was there before, kept beside it.
	swap = "8G", swap_kind = "zram",

	hz = 250,              -- assumed: the distributions' default
	autogroup = true,      -- assumed: the distributions' default since 2.6.38 (docs/EXPERIMENTS.md)
	spinlocks = "ticket",  -- queued spin locks came with 4.2; this is 4.0-rc
	variation = "1%",      -- assumed: spread of user code's speed on a quiet machine

	-- What users get decides the experiment: 12 x 512 MB against it.
	--
	--    786,432  pages in 3 GB
	--      4,096  below 16M: DMA has 3,998 present (page 0 and 640K-1M are not RAM), of which 21
	--             are reserved: 3,977 managed, "15908kB" in the boot logs of that time
	--      4,096  firmware at the end of RAM, not present               (assumed: 16M)
	--    778,240  DMA32 present
	--     12,160  of it struct page: 778,240 x 64 bytes
	--      7,168  of it kernel: image 20M, dentry/inode/TCP hashes 7M, 12 per-CPU areas (assumed)
	--      9,216  of it what a booted system never gives back: slab 24M, kernel stacks 3M, the
	--             working set of daemons 9M                             (assumed)
	--    749,696  DMA32 managed, which is what users can have; 2,928 of DMA's pages stay free
	--             behind lowmem_reserve (749,696 / 256), and nr_free_pages() counts them
	memory = {
		pci_hole   = "3G",    -- all of RAM lies below it; with more, the rest is above 4G
		firmware   = "16M",
		kernel     = "28M",
		system     = "36M",
		descriptor = 64,
		dma_pages  = 21,
	},

	disks = {
		-- The mail's author maintains zram, and 8 GB of swap on a 3 GB machine is its usual
		-- shape. The pages are memset() to one byte: LZO makes some 40 bytes of one.
		zram = { kind = "ram", ratio = "1%", source = "assumed: one byte, 4,096 times, in LZO" },
		-- The first assumption, a SATA flash disk: `--set machine.swap_kind=disk`.
		swap = {
			kind = "flash",
			read_latency = "100us",   -- linux-mm.md 18.4: SATA SSD 80 to 150 us
			write_latency = "60us",   -- assumed: into the disk's own cache
			rate = "250M",            -- assumed
			channels = 8,             -- assumed: NCQ keeps more in flight than flash serves
			requests = 128,           -- Linux's queue limit, per direction
			max_request = "512K",     -- max_sectors_kb of that time
			variation = "10%",        -- assumed
			barging = true,           -- the request queue of 4.0 lets a new submitter overtake
			source = "assumed: a SATA flash disk",
		},
		-- And a rotating one: `--set machine.swap_kind=hdd`.
		hdd = {
			kind = "rotating",
			rotation = "8.3ms",                    -- 7,200 turns a minute
			seek_min = "0.5ms", seek_max = "9ms",  -- assumed: short and full stroke
			rate = "150M",                         -- linux-mm.md 18.4: 100 to 150 MB/s in 2014
			requests = 128, max_request = "512K", variation = "10%", barging = true,
			source = "assumed: a SATA disk of 2014",
		},
	},

	-- All of world/cost.h, so that a change of a default there does not move this machine.
	costs = {
		line_own        = { 1, "published: L1 hit, EPYC Rome article" },
		line_core       = { 10, "assumed: L2 of the same core" },
		line_socket     = { 60, "assumed: 20-80 ns, one ring bus" },
		line_remote     = { 200, "assumed: there is one socket, so never used" },
		atomic          = { 6, "assumed: 5-8 ns, line owned" },
		spin            = { 10, "assumed: half of a 10-25 ns pair" },
		spin_handoff    = { 60, "assumed: 1-2 line transfers" },
		rwsem           = { 10, "assumed: one atomic and bookkeeping" },
		mutex_spin      = { 1000, "assumed: a short optimistic spin" },
		ctx_switch      = { 1500, "assumed: 1070 ns published for a core of 2021, slower here" },
		wakeup          = { 500, "assumed: try_to_wake_up by the waker" },
		idle_exit       = { 3000, "assumed: 3-10 us wake-up less IPI and switch" },
		tick            = { 1500, "assumed" },
		irq             = { 600, "assumed" },
		timer           = { 200, "assumed" },
		work            = { 100, "assumed: pool and item, locks and lines apart" },
		percpu_alloc    = { 400, "assumed: a mutex, a search, a bitmap" },
		percpu_clear    = { 20, "assumed: two lines" },
		ipi_send        = { 500, "published: TLB shootdown 1 us + 0.2 us a receiver" },
		ipi_send_more   = { 200, "published: TLB shootdown 1 us + 0.2 us a receiver" },
		ipi_flight      = { 500, "published: IPI round trip 1-2 us" },
		syscall         = { 70, "assumed: 50-100 ns, before page-table isolation" },
		fault_trap      = { 400, "assumed: 200-500 ns bare metal" },
		user_word       = { 3, "assumed: a store that misses no cache" },
		user_page       = { 400, "assumed: 4 KiB at 10 GB/s; not fitted to the mail's user time" },
		user_page_read  = { 350, "assumed: 4 KiB at 12 GB/s" },
		tlb_miss        = { 20, "assumed: cached walk 10-20 ns" },
		page_clear      = { 400, "assumed: 4 KiB at 10 GB/s, rep stosb of 2012" },
		page_copy       = { 600, "assumed: 200-400 ns cold on a newer core" },
		vma_lookup      = { 20, "assumed" },
		vma_op          = { 300, "assumed: allocation and tree updates" },
		mlock           = { 100, "assumed: checks, limits, security hooks" },
		pt_walk         = { 20, "assumed: 10-20 ns cached" },
		pt_alloc        = { 200, "assumed: clear and link a table" },
		pte             = { 4, "assumed: warm sequential entry" },
		pte_cold        = { 30, "assumed: a table out of L2" },
		rss             = { 2, "assumed" },
		fork_pte        = { 12, "assumed: 5-20 ns bare metal" },
		mm_op           = { 2000, "assumed" },
		page_line       = { 15, "assumed: L3 hit 10-17 ns" },
		page_line_cold  = { 85, "published: Westmere-class DRAM 65-100 ns" },
		page_flag       = { 5, "assumed: atomic on an owned line" },
		rmap_lookup     = { 40, "assumed" },
		rmap_step       = { 60, "assumed: 100-300 ns hot with walk and lock" },
		anon_vma        = { 150, "assumed" },
		alloc           = { 25, "assumed" },
		pcp             = { 8, "assumed" },
		buddy           = { 30, "assumed: refill of 31 takes 1-3 us" },
		buddy_step      = { 10, "assumed" },
		vmstat          = { 1, "assumed" },
		watermark       = { 6, "assumed" },
		lru_batch       = { 3, "assumed" },
		lru_add         = { 40, "assumed: 14 pages take 0.5-1 us" },
		lru_isolate     = { 50, "assumed: 32 pages take 1-3 us" },
		scan_page       = { 60, "assumed" },
		scan_count      = { 150, "assumed" },
		radix           = { 60, "assumed: two to three levels" },
		invlpg          = { 120, "assumed: 100-200 ns" },
		tlb_full        = { 300, "assumed: about 100 ns and the refills" },
		swap_slot       = { 60, "assumed" },
		swap_scan       = { 1, "assumed: a byte a step, cached" },
		swap_map        = { 8, "assumed" },
		bio             = { 1500, "assumed: bio, request, queue lock" },
		bio_merge       = { 700, "assumed" },
		bio_end         = { 700, "assumed" },
		compress        = { 4000, "assumed: lz4 1-3 us on a newer core" },
		decompress      = { 2000, "assumed: lz4 0.5-1.5 us on a newer core" },
	},
}
