-- This host, measured on 2026-11-30 by tools/measure-host.sh; load average before: 7.64.
-- AMD EPYC, Linux 6.18.44-fc-v669, under a hypervisor

machine "this-host" {
	about = "the machine that Quire was measured on: AMD EPYC, 2 CPUs, 25.3 GB",

	cpus = 2, sockets = 1, threads = 1, nodes = 1,
	ram = "24105M",
	swap = "8G", swap_kind = "disk",

	hz = 250,
	spinlocks = "queued",
	autogroup = true, -- kernel.sched_autogroup_enabled

	-- /proc/zoneinfo (pages):
	--   node zone       start_pfn    spanned    present    managed    min    low   high
	--      0 DMA                1       4095       3998       3840     10     13     16
	--      0 DMA32           4096    1044480     782336     772915   2116   2888   3660
	--      0 Normal       1048576    5505024    5505024    5394266  14769  20163  25557
	-- MemTotal 6171021, MemAvailable 6001774, huge pages 0
	memory = {
		ranges = {
			{ node = 0, start_pfn = 1, pages = 158, reserved = 0 }, -- DMA
			{ node = 0, start_pfn = 256, pages = 3840, reserved = 158 }, -- DMA
			{ node = 0, start_pfn = 4096, pages = 782336, reserved = 9421 }, -- DMA32
			{ node = 0, start_pfn = 1048576, pages = 5505024, reserved = 110758 }, -- Normal
		},
	},

	disks = {
		swap = {
			-- random reads of 4 KB a second, by requests in flight: 1: 30497 2: 57329 4: 71622 8: 107281 16: 127656 32: 145864 64: 150330
			kind = "flash",
			read_latency = "29us",  -- measured: 4 KB alone, random, best 28us
			write_latency = "60us", -- measured: the same, best 59us
			read_rate = "1276M",     -- measured: four requests of 1 MB at once
			write_rate = "2759M",    -- measured: the same
			channels = 4,          -- measured: most reads a second x latency of one
			requests = 256,        -- queue/nr_requests
			max_request = "4096K",  -- queue/max_sectors_kb
			variation = "10%",    -- assumed
			source = "measured: a file in /var/tmp, O_DIRECT; a hypervisor may cache",
		},
		-- The same disk; here it is another one, so swap and files do not disturb each other.
		files = {
			-- random reads of 4 KB a second, by requests in flight: 1: 30497 2: 57329 4: 71622 8: 107281 16: 127656 32: 145864 64: 150330
			kind = "flash", size = "64G",
			read_latency = "29us",  -- measured: 4 KB alone, random, best 28us
			write_latency = "60us", -- measured: the same, best 59us
			read_rate = "1276M",     -- measured: four requests of 1 MB at once
			write_rate = "2759M",    -- measured: the same
			channels = 4,          -- measured: most reads a second x latency of one
			requests = 256,        -- queue/nr_requests
			max_request = "4096K",  -- queue/max_sectors_kb
			variation = "10%",    -- assumed
			source = "measured: a file in /var/tmp, O_DIRECT; a hypervisor may cache",
		},
	},

	costs = {
		line_own       = { 1, "measured: dependent loads from 16 KB; lower quartile 1.1, best 1.1" },
		atomic         = { 2, "measured: locked add to an own line; lower quartile 2.0, best 1.9" },
		spin           = { 1, "measured: compare-and-swap and store, halved; lower quartile 1.1, best 1.1" },
		page_line      = { 15, "measured: dependent loads from 4 MB in huge pages; lower quartile 15.0, best 14.9" },
		page_line_cold = { 164, "measured: dependent loads from 512 MB in huge pages; lower quartile 164.4, best 162.8" },
		syscall        = { 166, "measured: getppid(); lower quartile 166.0, best 165.7" },
		ctx_switch     = { 1861, "measured: a hop through a pipe on one CPU, less write and read without a switch (676); with the wake-up; lower quartile 2537.6, best 2510.9" },
		line_socket    = { 65, "measured: dependent loads of lines that the other CPU has written; lower quartile 65.2, best 65.0" },
		spin_handoff   = { 166, "measured: two CPUs pass a flag, one way; lower quartile 165.8, best 164.6" },
		ipi_send       = { 3321, "measured: a third of the 9964 ns that membarrier() takes longer with the other CPU busy" },
		ipi_flight     = { 3321, "measured: a third of the same round trip" },
		irq            = { 3321, "measured: a third of the same round trip" },
		wakeup         = { 4350, "measured: futex wake of a sleeper on the idle other CPU, less one that wakes nobody and the ipi_send above; lower quartile 7671.5, best 7622.1" },
		idle_exit      = { 5208, "measured: from the wake until the sleeper runs, less wakeup, ipi_flight, ctx_switch; lower quartile 18061.8, best 17297.2" },
		tick           = { 14181, "measured: median gap in a loop on the clock, 505 gaps a second; lower quartile 14181.0, best 2544.0" },
		user_word      = { 4, "measured: a store to each page of a resident 1 MB; lower quartile 4.5, best 4.4" },
		tlb_miss       = { 3, "measured: the same over 256 MB, less user_word; with the miss of the data's own line; lower quartile 8.0, best 7.9" },
		user_page      = { 176, "measured: memset() of resident 256 MB; lower quartile 176.1, best 162.4" },
		user_page_read = { 178, "measured: words read from resident 256 MB; lower quartile 177.7, best 176.5" },
		page_clear     = { 197, "measured: read() of /dev/zero into resident 128 MB; lower quartile 196.6, best 190.1" },
		page_copy      = { 335, "measured: memcpy() of 128 MB by pages; lower quartile 335.2, best 320.2" },
		fault_trap     = { 361, "measured: an anonymous fault (1356) less the same page by MADV_POPULATE_WRITE (995)" },
		pt_alloc       = { 560, "measured: a fault that needs a table (1909) less one that does not (1153) and page_clear" },
		-- total: anonymous write fault: 1356 ns (best 1335), 16 MB of small pages, freed and touched again
		-- total: the same without trap: 995 ns (best 990), MADV_POPULATE_WRITE
		-- total: read fault (zero page): 607 ns (best 603), 16 MB
		-- total: the same without trap: 434 ns (best 433), MADV_POPULATE_READ
		-- total: MADV_DONTNEED, a page: 196 ns (best 194), 16 MB, resident and dirty
		-- total: MADV_FREE, a page: 160 ns (best 159), 16 MB, resident and dirty
		-- total: touch of a lazily freed page: 50 ns (best 45), 16 MB
		vma_op         = { 2003, "measured: mmap() and munmap() of a page, halved; with the call; lower quartile 4007.0, best 3917.2" },
		pte            = { 62, "measured: mprotect() of 4,096 pages less that of one (979), by page; lower quartile 254659.3, best 254244.4" },
		-- total: mprotect() of a page, twice, and a touch: 2023 ns (best 2013), alone
		-- total: the same, a thread on the other CPU: 23435 ns (best 23395), with the flush there
		-- total: MADV_DONTNEED of one page, and a touch: 2774 ns (best 2554), alone
		-- total: the same, a thread on the other CPU: 13590 ns (best 13571), with the flush there
		fork_pte       = { 56, "measured: fork() with 64 MB more (without: 133598), by page; lower quartile 1045702.4, best 1038858.4" },
		mm_op          = { 150769, "measured: fork, exit and wait of this small process, halved; its pages are in it; lower quartile 301538.6, best 292655.6" },
	},
}
