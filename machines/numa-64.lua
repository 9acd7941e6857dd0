-- A four-socket server: 64 CPUs, 32 GB in four nodes of 8 GB. The machine of mail 004 had this
-- shape (64 CPUs; zones of 8 GB), on a kernel before queued spin locks.

machine "numa-64" {
	about = "64 CPUs on 4 sockets, 4 nodes of 8 GB; a four-socket server of 2010",

	cpus = 64, sockets = 4, threads = 1, nodes = 4,
	ram = "32G",
	swap = "32G", swap_kind = "disk",

	hz = 250,
	spinlocks = "ticket",
	variation = "1%",      -- assumed

	-- SLIT: every socket has a link to every other.
	distance = { {10, 20, 20, 20},
	             {20, 10, 20, 20},
	             {20, 20, 10, 20},
	             {20, 20, 20, 10} },

	memory = {
		pci_hole   = "2G",    -- assumed: servers with many PCI windows leave less below 4G
		firmware   = "64M",   -- assumed
		kernel     = "160M",  -- assumed: hash tables grow with RAM
		system     = "128M",  -- assumed
		descriptor = 56,      -- bytes of struct page on x86-64 in 2010
		dma_pages  = 21,
	},

	disks = {
		data = {
			kind = "rotating", size = "256G",
			seek_min = "1ms", seek_max = "15ms", rotation = "6ms", -- 10,000 rpm
			rate = "120M",
			requests = 128, max_request = "512K",
			variation = "5%",
			source = "assumed: as the disk for swap",
		},
		swap = {
			kind = "rotating",
			seek_min = "1ms", seek_max = "15ms", rotation = "6ms", -- 10,000 rpm
			rate = "120M",
			requests = 128, max_request = "512K",
			variation = "5%",
			source = "assumed: a disk of 7,200 turns, 8 ms random, 100 to 150 MB/s",
		},
	},

	costs = {
		line_socket  = { 60, "assumed: 20 to 80 ns" },
		line_remote  = { 200, "assumed: 100 to 300 ns, four sockets" },
		spin_handoff = { 120, "assumed: 1 to 2 transfers, mostly across sockets" },
		ctx_switch   = { 2000, "assumed: 1.07 us published for a core of 2021, slower here" },
		fault_trap   = { 500, "assumed: 200 to 500 ns, an old core" },
		user_word    = { 3, "assumed" },
		user_page    = { 500, "assumed: 4 KiB at 8 GB/s" },
		user_page_read = { 400, "assumed: 4 KiB at 10 GB/s" },
		page_clear   = { 500, "assumed: 8 GB/s" },
		page_copy    = { 900, "assumed" },
		page_line_cold = { 110, "published: local DRAM 80 to 125 ns" },
	},
}
