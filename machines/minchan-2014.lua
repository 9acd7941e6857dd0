-- The machine of Minchan Kim's mail of 2 July 2014 (linux-mm): "On 1G, 12 CPU kvm guest, build kernel 5
-- times". Nothing else about it is known. Everything below that the mail does not say is an assumption,
-- made before the first comparison with the mail's figures.

machine "minchan-2014" {
	about = "kvm guest, 12 CPUs, 1 GB: the machine of the writeback-completion mail, otherwise assumed",

	-- Assumed: the guest sees one socket of twelve cores, as qemu's -smp 12 with one core a socket would
	-- be scheduled; the host has at least as many.
	cpus = 12, sockets = 1, threads = 1, nodes = 1,
	ram = "1G",
	swap = "2G", swap_kind = "disk", -- assumed: twice the RAM, a partition of the guest's virtual disk

	hz = 250,              -- assumed: the distributions' default
	autogroup = true,      -- assumed: the distributions' default since 2.6.38
	spinlocks = "ticket",  -- queued spin locks came with 4.2; this is 3.16-rc
	variation = "1%",      -- assumed: spread of user code's speed

	--    262,144  pages in 1 GB; only DMA and DMA32 exist
	--      4,096  below 16M: 3,998 present, 3,977 managed, as in minchan-2015
	--    258,048  DMA32 present
	--      4,032  of it struct page: 258,048 x 64 bytes
	--      5,120  of it kernel: image 14M, hashes 2M, 12 per-CPU areas       (assumed: 20M)
	--      6,144  of it what a booted system keeps: slab, stacks, daemons    (assumed: 24M)
	memory = {
		pci_hole   = "3G",
		firmware   = "0M",
		kernel     = "20M",
		system     = "24M",
		descriptor = 64,
		dma_pages  = 21,
	},

	-- A virtio disk on a file of the host, through the host's page cache (qemu's default since 1.2 is
	-- cache=writeback): linux-mm.md 18.4 gives 50 to 150 us a request. virtio-blk uses blk-mq since 3.13, so
	-- nobody learns of congestion. Files and swap are given a disk each, since one disk of a machine has
	-- either; they are alike.
	disks = {
		swap = {
			kind = "flash",
			read_latency = "100us", write_latency = "100us", -- linux-mm.md 18.4: 50 to 150 us
			rate = "400M",            -- assumed: what a SATA flash disk under the host's cache keeps up
			channels = 8,             -- assumed: qemu's thread pool
			requests = 128,           -- virtio-blk's default queue
			max_request = "504K",     -- 126 segments of 4 KiB
			variation = "20%",        -- assumed: other load of the host
			multiqueue = true,        -- 3.13
			source = "assumed: a virtio disk through the host's page cache",
		},
		data = {
			kind = "flash", size = "20G",
			read_latency = "100us", write_latency = "100us",
			rate = "400M",
			channels = 8, requests = 128, max_request = "504K", variation = "20%",
			multiqueue = true,
			source = "assumed: a virtio disk through the host's page cache",
		},
	},

	-- All of world/cost.h, so that a change of a default there does not move this machine.
	costs = {
		line_own        = { 1, "published: L1 hit, EPYC Rome article" },
		line_core       = { 10, "assumed: L2 of the same core" },
		line_socket     = { 60, "assumed: 20-80 ns, one ring bus" },
		line_socket_more = { 20, "assumed: a third of line_socket" },
		line_remote     = { 200, "assumed: there is one socket, so never used" },
		line_remote_more = { 67, "assumed: a third, never used" },
		atomic          = { 6, "assumed: 5-8 ns, line owned" },
		touch_l1        = { 1, "published: L1 hit, EPYC Rome article" },
		touch_l2        = { 4, "assumed: L2 hit" },
		touch_l3        = { 15, "assumed: L3 hit 10-17 ns" },
		touch_dram      = { 85, "published: Westmere-class DRAM 65-100 ns" },
		spin            = { 10, "assumed: half of a 10-25 ns pair" },
		spin_handoff    = { 60, "assumed: 1-2 line transfers" },
		rwsem           = { 10, "assumed: one atomic and bookkeeping" },
		mutex_spin      = { 1000, "assumed: a short optimistic spin" },
		ctx_switch      = { 1500, "assumed: 1070 ns published for a core of 2021, slower here" },
		wakeup          = { 500, "assumed: try_to_wake_up by the waker" },
		idle_exit       = { 6000, "assumed: 3-10 us, and an exit from the guest" },
		tick            = { 3000, "assumed: two exits more than on metal" },
		irq             = { 2000, "assumed: injected by the host, with an exit for the end of interrupt" },
		timer           = { 200, "assumed" },
		work            = { 100, "assumed: pool and item, locks and lines apart" },
		percpu_alloc    = { 400, "assumed: a mutex, a search, a bitmap" },
		percpu_clear    = { 20, "assumed: two lines" },
		ipi_send        = { 2500, "assumed: linux-mm.md 18.1, 5-20 us round trip in a guest" },
		ipi_send_more   = { 1500, "assumed: an exit a receiver, batched by nobody in 2014" },
		ipi_flight      = { 2500, "assumed: linux-mm.md 18.1, 5-20 us round trip in a guest" },
		syscall         = { 70, "assumed: 50-100 ns, before page-table isolation" },
		fault_trap      = { 500, "assumed: 200-500 ns; nested page tables make no exit of it" },
		user_word       = { 3, "assumed: a store that misses no cache" },
		user_page       = { 400, "assumed: 4 KiB at 10 GB/s; not fitted to the mail's user time" },
		user_page_read  = { 350, "assumed: 4 KiB at 12 GB/s" },
		tlb_miss        = { 40, "assumed: a walk in two dimensions, cached" },
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
		exec            = { 90000, "assumed: 60 us of a newer core" },
		mm_op           = { 2000, "assumed" },
		page_line       = { 15, "assumed: L3 hit 10-17 ns" },
		page_line_cold  = { 85, "published: Westmere-class DRAM 65-100 ns" },
		page_flag       = { 5, "assumed: atomic on an owned line" },
		rmap_lookup     = { 40, "assumed" },
		rmap_step       = { 60, "assumed: 100-300 ns hot with walk and lock" },
		rmap_node       = { 4, "assumed: two compares and a branch" },
		anon_vma        = { 150, "assumed" },
		compound_tail   = { 5, "assumed" },
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
		radix_level     = { 20, "assumed: a warm node" },
		radix_node      = { 120, "assumed: 576 bytes cleared and linked" },
		filemap         = { 40, "assumed" },
		copy_user       = { 300, "assumed: 4 KiB, 200-400 ns cold" },
		readahead       = { 80, "assumed" },
		block_map       = { 80, "assumed: an extent in memory" },
		buffer_head     = { 70, "assumed" },
		dirty_limits    = { 300, "assumed: a dozen divisions" },
		file_op         = { 1200, "assumed: path look-up, file table" },
		invlpg          = { 120, "assumed: 100-200 ns" },
		tlb_nobody      = { 10, "assumed" },
		tlb_full        = { 300, "assumed: about 100 ns and the refills" },
		swap_slot       = { 60, "assumed" },
		swap_scan       = { 1, "assumed: a byte a step, cached" },
		swap_map        = { 8, "assumed" },
		bio             = { 4000, "assumed: bio, request, and its part of a kick of the host" },
		bio_merge       = { 700, "assumed" },
		bio_end         = { 700, "assumed" },
		compress        = { 4000, "assumed: lz4 1-3 us on a newer core" },
		decompress      = { 2000, "assumed: lz4 0.5-1.5 us on a newer core" },
	},
}
