-- This host, measured on 2026-11-30 by tools/measure-host.sh: five runs, of which tools/merge-profiles took the
-- lower quartile of each cost, and two of the part on files. Other programs ran all the time (load average 10 to
-- 15), as they do while this host's kernel is compared with the simulation: what a core shares with others, its
-- cache first of all, is slower by half to twice than on the quiet machine of the first profile.
-- AMD EPYC, Linux 6.18.44-fc-v782, under a hypervisor

machine "this-host" {
	about = "the machine that Quire was measured on: AMD EPYC, 2 CPUs, 25.3 GB",

	cpus = 2, sockets = 1, threads = 1, nodes = 1,
	ram = "24105M",
	swap = "8G", swap_kind = "disk",

	hz = 250,
	spinlocks = "queued",
	autogroup = false, -- kernel.sched_autogroup_enabled

	-- /proc/zoneinfo (pages):
	--   node zone       start_pfn    spanned    present    managed    min    low   high
	--      0 DMA                1       4095       3998       3840     26     32     38
	--      0 DMA32           4096    1044480     782336     772808   5263   6578   7893
	--      0 Normal       1048576    5505024    5505024    1703936  11606  14507  17408
	-- MemTotal 6170914, MemAvailable 6014619, huge pages 0
	-- This kernel initialises memory when it is first used (2480584 of 6170914 pages so far);
	-- the last zone's reserve is what MemTotal leaves for it.
	memory = {
		ranges = {
			{ node = 0, start_pfn = 1, pages = 158, reserved = 0 }, -- DMA
			{ node = 0, start_pfn = 256, pages = 3840, reserved = 158 }, -- DMA
			{ node = 0, start_pfn = 4096, pages = 782336, reserved = 9528 }, -- DMA32
			{ node = 0, start_pfn = 1048576, pages = 5505024, reserved = 110758 }, -- Normal
		},
	},

	disks = {
		swap = {
			-- random reads of 4 KB a second, by requests in flight: 1: 30002 2: 47851 4: 77229 8: 84863 16: 48580 32: 60719 64: 77595
			kind = "flash",
			read_latency = "14us",  -- measured: 4 KB at random, from the end of io_submit() until it is seen; with submitting, sleeping and waking 29us
			write_latency = "89us", -- measured: the same, lower quartile of ten runs (57 to 1300us)
			read_rate = "379M",     -- measured: four requests of 1 MB at once, in pages
			write_rate = "418M",    -- measured: the same
			channels = 3,          -- measured: most reads a second x the longer of the two; 2 to 4
			requests = 256,        -- queue/nr_requests
			depth = 128,           -- mq/0/nr_tags
			max_request = "4096K",  -- queue/max_sectors_kb
			irq_cpu = 1,           -- /proc/interrupts: gets them all
			variation = "10%",    -- assumed
			source = "measured: a file in /var/tmp, O_DIRECT; a hypervisor may cache",
			rotational = true,      -- queue/rotational
		},
		files = { -- the same disk; here swap does not disturb it
			size = "64G",
			-- random reads of 4 KB a second, by requests in flight: 1: 26692 2: 48362 4: 54558 8: 98610 16: 75384 32: 77263 64: 58816
			kind = "flash",
			read_latency = "17us",  -- measured: 4 KB at random, from the end of io_submit() until it is seen; with submitting, sleeping and waking 29us
			write_latency = "89us", -- measured: the same, lower quartile of ten runs (57 to 1300us)
			read_rate = "2522M",     -- measured: four requests of 1 MB at once, each in one piece of memory
			write_rate = "1299M",    -- measured: the same
			channels = 3,          -- measured: most reads a second x the longer of the two
			requests = 256,        -- queue/nr_requests
			depth = 128,           -- mq/0/nr_tags
			max_request = "4096K",  -- queue/max_sectors_kb
			irq_cpu = 1,           -- /proc/interrupts: gets them all
			variation = "10%",    -- assumed
			source = "measured: a file in /var/tmp, O_DIRECT; a hypervisor may cache",
		},
	},

	costs = {
		line_own       = { 1, "measured: dependent loads from 16 KB; of 1 1 1 1 1" },
		atomic         = { 3, "measured: locked add to an own line; of 3 3 3 3 3" },
		spin           = { 1, "measured: compare-and-swap and store, halved; of 1 1 1 1 1" },
		page_line      = { 195, "measured: dependent loads from 4 MB in huge pages; of 251 346 210 178 195" },
		page_line_cold = { 317, "measured: dependent loads from 512 MB in huge pages; of 317 610 365 295 345" },
		syscall        = { 232, "measured: getppid(); of 237 549 217 232 264" },
		ctx_switch     = { 3342, "measured: a hop through a pipe on one CPU, less write and read without a switch (883); with the wake-up; of 4013 3696 6370 3342 2468" },
		line_socket    = { 140, "measured: dependent loads of lines that the other CPU has written; of 141 188 299 112 140" },
		spin_handoff   = { 247, "measured: two CPUs pass a flag, one way; of 214 415 639 253 247" },
		ipi_send       = { 1840, "measured: a third of the 5610 ns that membarrier() takes longer with the other CPU busy; of 1860 1870 1830 1840 1870" },
		ipi_flight     = { 1840, "measured: a third of the same round trip; of 1860 1870 1830 1840 1870" },
		irq            = { 1840, "measured: a third of the same round trip; of 1860 1870 1830 1840 1870" },
		wakeup         = { 4510, "measured: futex wake of a sleeper on the idle other CPU, less one that wakes nobody and the ipi_send above; of 4899 3842 4510 5452 5299" },
		idle_exit      = { 10464, "measured: from the wake until the sleeper runs, less wakeup, ipi_flight, ctx_switch; of 185145 7993 16892 95214 10464" },
		tick           = { 14066, "measured: median gap in a loop on the clock, 1400 gaps a second; of 26269 8856 22682 24877 14066" },
		user_word      = { 5, "measured: a store to each page of a resident 1 MB; of 5 5 4 5 5" },
		tlb_miss       = { 19, "measured: the same over 256 MB, less user_word; with the miss of the data's own line; of 16 24 41 19 21" },
		user_page      = { 463, "measured: memset() of resident 256 MB; of 463 580 515 417 467" },
		user_page_read = { 657, "measured: words read from resident 256 MB; of 662 781 793 536 657" },
		page_clear     = { 490, "measured: read() of /dev/zero into resident 128 MB; of 455 723 602 507 490" },
		page_copy      = { 760, "measured: memcpy() of 128 MB by pages; of 760 804 1178 735 775" },
		fault_trap     = { 627, "measured: an anonymous fault (2664) less the same page by MADV_POPULATE_WRITE (2037); of 1389 788 3464 356 627" },
		pt_alloc       = { 1197, "measured: a fault that needs a table (3840) less one that does not (2154) and page_clear; of 360 1 1575 1473 1197" },
		-- total: anonymous write fault: 2664 ns (best 2572), 16 MB of small pages, freed and touched again
		-- total: the same without trap: 2037 ns (best 1983), MADV_POPULATE_WRITE
		-- total: read fault (zero page): 1093 ns (best 1068), 16 MB
		-- total: the same without trap: 726 ns (best 711), MADV_POPULATE_READ
		-- total: MADV_DONTNEED, a page: 346 ns (best 298), 16 MB, resident and dirty
		-- total: MADV_FREE, a page: 279 ns (best 249), 16 MB, resident and dirty
		-- total: touch of a lazily freed page: 235 ns (best 212), 16 MB
		vma_op         = { 2723, "measured: mmap() and munmap() of a page, halved; with the call; of 2723 3152 3370 2601 2984" },
		pte            = { 100, "measured: mprotect() of 4,096 pages less that of one (1294), by page; of 87 116 105 100 104" },
		-- total: mprotect() of a page, twice, and a touch: 3206 ns (best 3036), alone
		-- total: the same, a thread on the other CPU: 16651 ns (best 16010), with the flush there
		-- total: MADV_DONTNEED of one page, and a touch: 4589 ns (best 4499), alone
		-- total: the same, a thread on the other CPU: 10490 ns (best 10359), with the flush there
		fork_pte       = { 1, "measured: fork() with 64 MB more, by page, less page_line: 108 131 188 100 116 less 251 346 210 178 195" },
		mm_op          = { 255629, "measured: fork, exit and wait of this small process, halved; its pages are in it; of 214304 255629 712172 273775 414860" },
		bio            = { 15794, "measured: WILLNEED of a page less that of a hole (7958), and page_clear; with the notification of the hypervisor; of 17279 12838 14344 15794 18777 19213 48404" },
		bio_end        = { 4603, "measured: what a read of a page takes more of the CPU that gets its interrupt than of the other (6473), less irq; of 6022 7876 2208 1 6937 36099 4603" },
		bio_page       = { 117, "measured: io_submit() of a direct read of 32 pages less that of one (16684), by further page; into a huge page, as the page cache has large folios; of 117 1 1" },
		bio_end_page   = { 98, "measured: what is missing from a loop on the clock behind a read of 32 pages (11902) less behind one of 16 (10930), by page; of 98 210 113 264 1 1 61" },
		file_op        = { 1425, "measured: open() and close(), halved, less syscall; of 1828 1801 1223 1347 1425 1570 2019" },
		filemap        = { 110, "measured: pread() of 128 KB, by page, less memcpy() of a page in the same caches (121); of 102 134 603 110 7 149 348" },
		copy_user      = { 592, "measured: a page of 256 MB read by 1 MB, less filemap; of 592 813 504 778 777 648 514" },
		-- total: pread() of a cached byte: 835 ns (best 802), the call, and filemap
		-- total: pread() of a cached page: 1177 ns (best 1125), the same with a copy, 128 KB in all
		-- total: pwrite() over cached pages, a page: 1652 ns (best 1308), 256 MB by 1 MB
		-- total: read fault on a cached page: 416 ns (best 404), 256 MB, MADV_RANDOM: no fault-around
		-- total: the same with fault-around, by page: 447 ns (best 389), 256 MB, in order
	},
}
