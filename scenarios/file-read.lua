-- Buffered reads of files on a simulated machine and on this host's kernel (docs/ACCURACY.md): one that is
-- twice as large as memory, in order and at random; one that fits, twice. For the counters of the page
-- cache, of readahead, and of reclaim without anything dirty.
--
--   quire run file-read --on host,sim

scenario "file-read"
about [[Buffered reads: of a file twice as large as memory in order and at random, and of one that fits, twice]]

machine { profile = "this-host", ram = "5G", swap = 0 }
kernel "6.18"

-- This host's disk says 8192; most say 128.
set { ["vm.read_ahead_kb"] = 128 }

param {
	size = ram * 3 // 2, -- twice what is free where a gigabyte is others'
	fits = ram // 4,
	readers = 4, -- of the random reads; else one
	reads = ram * 5 // 4 // 16384, -- random ones, all readers together: more than fills memory
	block = "16K",        -- a random one
}

variant "in_order" { about = "one reader, from the beginning to the end, 1 MiB a call" }
variant "random" { about = "blocks of 16 KiB anywhere in the file" }
variant "again" { about = "a file that fits, from the beginning to the end, twice" }

local data = file "data" { size = param.size }

group "reader" {
	count = param.readers,
	run = function(t)
		local f = t:open(data[0])
		if t.variant == "random" then
			local nr = param.size // param.block
			for _ = 1, param.reads // param.readers do
				f:pread(math.random(0, nr - 1) * param.block, param.block)
			end
		elseif t.index == 0 and t.variant == "in_order" then
			f:pread(0, param.size, "1M")
		elseif t.index == 0 then
			f:pread(0, param.fits, "1M")
			f:pread(0, param.fits, "1M")
		end
		f:close()
	end,
}

expect {
	"each.oom_kill == 0",
	"each.pswpout == 0",
	"in_order.pgpgin >= 2 * again.pgpgin",
}
