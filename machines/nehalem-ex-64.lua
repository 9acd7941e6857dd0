-- The machine of mail 004 (Shaohua Li's figures, quoted by KOSAKI Motohiro, 13 October 2010): "a 4
-- socket 64 CPU system" with 4 x 8 GB, "Node 3, zone Normal: spanned 2097152, present 2068480". Four
-- sockets of eight cores with two threads each are a Xeon 7500 (Nehalem-EX), Intel's four-socket
-- processor of that year. Nothing else about the machine is in the mail. Written, and committed,
-- before the first comparison; later changes are listed in docs/EXPERIMENTS.md.

machine "nehalem-ex-64" {
	base = "numa-64",
	about = "64 CPUs on 4 sockets of 8 cores, 4 nodes of 8 GB; a Xeon 7500 server of 2010",

	threads = 2,
	swap = 0, -- the load has nothing to swap

	-- The base's distances: fully connected by QPI. Firmware of such servers said 20 or 21: 20 keeps
	-- zone_reclaim_mode off on 2.6.36, 21 switches it on. Both are tried.
	--
	-- And its memory, of which the mail says: 2097152 - 2068480 pages for 2097152 descriptors of 56 bytes.

	disks = { data = false, swap = false }, -- files are holes

	costs = {
		line_core    = { 5, "assumed: the threads of a core share L1 and L2" },
		line_socket  = { 60, "assumed: 20 to 80 ns; a core of the same socket, over the ring to L3" },
		line_remote  = { 200, "assumed: 100 to 300 ns a line on this machine" },
		-- A reorder buffer of 128 entries, 40 instructions from one CPU's counter to the next.
		line_socket_more = { 20, "assumed: three of line_socket in flight" },
		line_remote_more = { 67, "assumed: three of line_remote in flight" },
	},
}
