-- The machine of Minchan Kim's mail of 2 July 2014 (linux-mm): "On 1G, 12 CPU kvm guest, build kernel 5
-- times". Nothing else about it is known. Everything below that the mail does not say is an assumption,
-- made before the first comparison with the mail's figures.

machine "minchan-2014" {
	base = "core-2012",
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
	-- cache=writeback): assumed to take 50 to 150 us a request. virtio-blk uses blk-mq since 3.13, so
	-- nobody learns of congestion. Files and swap are given a disk each, since one disk of a machine has
	-- either; they are alike.
	disks = {
		swap = {
			kind = "flash",
			read_latency = "100us", write_latency = "100us", -- assumed: 50 to 150 us
			rate = "400M",            -- assumed: what a SATA flash disk under the host's cache keeps up
			channels = 8,             -- assumed: qemu's thread pool
			requests = 128,           -- virtio-blk's default queue
			max_request = "504K",     -- 126 segments of 4 KiB
			variation = "20%",        -- assumed: other load of the host
			multiqueue = true,        -- 3.13
			rotational = true,        -- virtio-blk does not say otherwise, whatever the host has; nor does 6.18's
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

	-- What a guest pays, and what the base does not say.
	costs = {
		line_socket_more = { 20, "assumed: a third of line_socket" },
		line_remote_more = { 67, "assumed: a third, never used" },
		touch_l1         = { 1, "published: L1 hit, EPYC Rome article" },
		touch_l2         = { 4, "assumed: L2 hit" },
		touch_l3         = { 15, "assumed: L3 hit 10-17 ns" },
		touch_dram       = { 85, "published: Westmere-class DRAM 65-100 ns" },
		idle_exit        = { 6000, "assumed: 3-10 us, and an exit from the guest" },
		tick             = { 3000, "assumed: two exits more than on metal" },
		irq              = { 2000, "assumed: injected by the host, with an exit for the end of interrupt" },
		ipi_send         = { 2500, "assumed: 5-20 us round trip in a guest" },
		ipi_send_more    = { 1500, "assumed: an exit a receiver, batched by nobody in 2014" },
		ipi_flight       = { 2500, "assumed: 5-20 us round trip in a guest" },
		fault_trap       = { 500, "assumed: 200-500 ns; nested page tables make no exit of it" },
		tlb_miss         = { 40, "assumed: a walk in two dimensions, cached" },
		exec             = { 90000, "assumed: 60 us of a newer core" },
		rmap_node        = { 4, "assumed: two compares and a branch" },
		compound_tail    = { 5, "assumed" },
		radix_level      = { 20, "assumed: a warm node" },
		radix_node       = { 120, "assumed: 576 bytes cleared and linked" },
		filemap          = { 40, "assumed" },
		copy_user        = { 300, "assumed: 4 KiB, 200-400 ns cold" },
		readahead        = { 80, "assumed" },
		block_map        = { 80, "assumed: an extent in memory" },
		buffer_head      = { 70, "assumed" },
		dirty_limits     = { 300, "assumed: a dozen divisions" },
		file_op          = { 1200, "assumed: path look-up, file table" },
		bio              = { 4000, "assumed: bio, request, and its part of a kick of the host" },
	},
}
