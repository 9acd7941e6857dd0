-- The machine of Minchan Kim's mail of 24 February 2015 (linux-mm): "my 3G machine + 12 CPU +
-- 8G swap". Nothing else about it is known. Everything below that the mail does not say is an
-- assumption, made before the first comparison with the mail's figures.

machine "minchan-2015" {
	base = "core-2012",
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
			read_latency = "100us",   -- assumed: SATA SSD 80 to 150 us
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
			rate = "150M",                         -- assumed: 100 to 150 MB/s in 2014
			requests = 128, max_request = "512K", variation = "10%", barging = true,
			source = "assumed: a SATA disk of 2014",
		},
	},

	-- What is not in the base, which minchan-2014 shares: this one is no guest.
	costs = {
		idle_exit     = { 3000, "assumed: 3-10 us wake-up less IPI and switch" },
		tick          = { 1500, "assumed" },
		irq           = { 600, "assumed" },
		ipi_send      = { 500, "published: TLB shootdown 1 us + 0.2 us a receiver" },
		ipi_send_more = { 200, "published: TLB shootdown 1 us + 0.2 us a receiver" },
		ipi_flight    = { 500, "published: IPI round trip 1-2 us" },
		fault_trap    = { 400, "assumed: 200-500 ns bare metal" },
		tlb_miss      = { 20, "assumed: cached walk 10-20 ns" },
		bio           = { 1500, "assumed: bio, request, queue lock" },
	},
}
