-- This host, measured on 2026-12-01 by tools/measure-host.sh; load average before: 0.69.
-- AMD EPYC, Linux 6.18.44-fc-v782, under a hypervisor

machine "this-host-quiet" {
	base = "this-host", -- the same machine
	about = "the machine that Quire was measured on, with nothing else running",

	autogroup = true, -- kernel.sched_autogroup_enabled

	disks = {
		swap = {
			-- random reads of 4 KB a second, by requests in flight: 1: 36563 2: 64224 4: 95542 8: 118709 16: 122059 32: 89993 64: 86183
			kind = "flash",
			read_latency = "13us",  -- measured: 4 KB at random, from the end of io_submit() until it is seen; with submitting, sleeping and waking 20us
			write_latency = "36us", -- measured: the same
			read_rate = "1649M",     -- measured: four requests of 1 MB at once, in pages
			write_rate = "463M", -- measured: 4 GB by dd in requests of 1 MB, oflag=direct (256 MB at a time: 1746M, into a cache of the hypervisor)
			channels = 2,          -- measured: most reads a second x the longer of the two
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
			-- random reads of 4 KB a second, by requests in flight: 1: 38933 2: 72641 4: 100367 8: 115682 16: 114069 32: 97864 64: 102058
			kind = "flash",
			read_latency = "15us",  -- measured: 4 KB at random, from the end of io_submit() until it is seen; with submitting, sleeping and waking 21us
			write_latency = "30us", -- measured: the same
			read_rate = "3167M",     -- measured: four requests of 1 MB at once, each in one piece of memory
			write_rate = "2454M",    -- measured: the same
			channels = 2,          -- measured: most reads a second x the longer of the two
			requests = 256,        -- queue/nr_requests
			depth = 128,           -- mq/0/nr_tags
			max_request = "4096K",  -- queue/max_sectors_kb
			irq_cpu = 1,           -- /proc/interrupts: gets them all
			variation = "10%",    -- assumed
			source = "measured: a file in /var/tmp, O_DIRECT; a hypervisor may cache",
		},
	},

	costs = {
		line_own       = { 1, "measured: dependent loads from 16 KB; lower quartile 1.4, best 1.4" },
		atomic         = { 3, "measured: locked add to an own line; lower quartile 2.9, best 2.8" },
		spin           = { 1, "measured: compare-and-swap and store, halved; lower quartile 1.5, best 1.5" },
		page_line      = { 147, "measured: dependent loads from 4 MB in huge pages; lower quartile 146.7, best 138.7" },
		page_line_cold = { 288, "measured: dependent loads from 512 MB in huge pages; lower quartile 288.0, best 279.4" },
		syscall        = { 279, "measured: getppid(); lower quartile 278.9, best 270.6" },
		ctx_switch     = { 2186, "measured: a hop through a pipe on one CPU, less write and read without a switch (1190); with the wake-up; lower quartile 3375.7, best 3306.3" },
		line_socket    = { 4, "measured: dependent loads of lines that the other CPU has written; lower quartile 4.5, best 4.5" },
		spin_handoff   = { 32, "measured: two CPUs pass a flag, one way; lower quartile 31.6, best 31.3" },
		ipi_send       = { 1496, "measured: a third of the 4488 ns that membarrier() takes longer with the other CPU busy" },
		ipi_flight     = { 1496, "measured: a third of the same round trip" },
		irq            = { 1496, "measured: a third of the same round trip" },
		wakeup         = { 2004, "measured: futex wake of a sleeper on the idle other CPU, less one that wakes nobody and the ipi_send above; lower quartile 3500.1, best 3424.6" },
		idle_exit      = { 9700, "measured: from the wake until the sleeper runs, less wakeup, ipi_flight, ctx_switch; lower quartile 16881.6, best 16725.4" },
		tick           = { 12574, "measured: median gap in a loop on the clock, 1350 gaps a second; lower quartile 12574.0, best 10871.0" },
		user_word      = { 5, "measured: a store to each page of a resident 1 MB; lower quartile 5.4, best 5.3" },
		tlb_miss       = { 14, "measured: the same over 256 MB, less user_word; with the miss of the data's own line; lower quartile 19.8, best 18.7" },
		user_page      = { 425, "measured: memset() of resident 256 MB; lower quartile 425.3, best 410.0" },
		user_page_read = { 423, "measured: words read from resident 256 MB; lower quartile 422.8, best 396.1" },
		page_clear     = { 459, "measured: read() of /dev/zero into resident 128 MB; lower quartile 459.4, best 449.9" },
		page_copy      = { 716, "measured: memcpy() of 128 MB by pages; lower quartile 716.4, best 676.5" },
		fault_trap     = { 587, "measured: an anonymous fault (2387) less the same page by MADV_POPULATE_WRITE (1800)" },
		pt_alloc       = { 690, "measured: a fault that needs a table (3047) less one that does not (1897) and page_clear" },
		-- total: anonymous write fault: 2387 ns (best 2344), 16 MB of small pages, freed and touched again
		-- total: the same without trap: 1800 ns (best 1678), MADV_POPULATE_WRITE
		-- total: read fault (zero page): 983 ns (best 939), 16 MB
		-- total: the same without trap: 610 ns (best 604), MADV_POPULATE_READ
		-- total: MADV_DONTNEED, a page: 303 ns (best 267), 16 MB, resident and dirty
		-- total: MADV_FREE, a page: 292 ns (best 266), 16 MB, resident and dirty
		-- total: touch of a lazily freed page: 217 ns (best 197), 16 MB
		vma_op         = { 2650, "measured: mmap() and munmap() of a page, halved; with the call; lower quartile 5300.6, best 5193.9" },
		pte            = { 92, "measured: mprotect() of 4,096 pages less that of one (1310), by page; lower quartile 376846.3, best 329575.2" },
		-- total: mprotect() of a page, twice, and a touch: 3556 ns (best 3346), alone
		-- total: the same, a thread on the other CPU: 13997 ns (best 13856), with the flush there
		-- total: MADV_DONTNEED of one page, and a touch: 4258 ns (best 4168), alone
		-- total: the same, a thread on the other CPU: 9428 ns (best 9127), with the flush there
		fork_pte       = { 1, "measured: fork() with 64 MB more (without: 131118), by page, less page_line; lower quartile 1731306.2, best 1420339.2" },
		mm_op          = { 151584, "measured: fork, exit and wait of this small process, halved; its pages are in it; lower quartile 303168.4, best 280576.2" },
		bio            = { 13626, "measured: WILLNEED of a page less that of a hole (8399), and page_clear; with the notification of the hypervisor; lower quartile 21566.0, best 19248.4" },
		bio_page       = { 78, "measured: io_submit() of a direct read of 32 pages less that of one (11504), by further page; into a huge page, as the page cache has large folios; lower quartile 13919.1, best 13322.2" },
		bio_end        = { 4005, "measured: what a read of a page takes more of the CPU that gets its interrupt than of the other (5501), less irq" },
		bio_end_page   = { 1, "measured: what is missing from a loop on the clock behind a read of 32 pages (11201) less behind one of 16 (12704), by page" },
		file_op        = { 1620, "measured: open() and close(), halved, less syscall; lower quartile 3798.6, best 3741.5" },
		filemap        = { 112, "measured: pread() of 128 KB, by page, less memcpy() of a page in the same caches (143); lower quartile 255.6, best 243.2" },
		copy_user      = { 522, "measured: a page of 256 MB read by 1 MB, less filemap; lower quartile 634.9, best 608.8" },
		-- total: pread() of a cached byte: 748 ns (best 706), the call, and filemap
		-- total: pread() of a cached page: 1081 ns (best 900), the same with a copy, 128 KB in all
		-- total: pwrite() over cached pages, a page: 1177 ns (best 1165), 256 MB by 1 MB
		-- total: read fault on a cached page: 327 ns (best 322), 256 MB, MADV_RANDOM: no fault-around
		-- total: the same with fault-around, by page: 329 ns (best 325), 256 MB, in order
	},
}
