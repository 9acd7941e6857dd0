-- A file is written in one stream, more than may be dirty, on a simulated machine and on this host's kernel
-- (docs/ACCURACY.md): what the flusher writes, when the writer is held back, what is left for fsync().
-- The time of the writes is the metric "time"; what fsync() takes is in "elapsed", too.
--
--   quire run file-write --on host,sim

scenario "file-write"
about [[A streaming write beyond the dirty limits, and fsync()]]

machine { profile = "this-host", ram = "5G", swap = 0 }
kernel "6.18"
set { ["vm.read_ahead_kb"] = 128 }

param { size = ram * 6 // 10 }

variant "stream" { about = "one writer, 1 MiB a call" }
variant "four" { about = "four writers, a quarter each, of files of their own" }

local out = file "out" { size = 4096, sparse = true, count = 4 }

group "writer" {
	count = 4,
	run = function(t)
		local nr = t.variant == "four" and 4 or 1
		if t.index < nr then
			local f = t:open(out[t.index])
			local start = t:now()
			f:pwrite(0, param.size // nr, "1M")
			t:record_time(t:now() - start)
			f:fsync()
			f:close()
		end
	end,
}

expect {
	"each.oom_kill == 0",
	"each.pswpout == 0",
	"each.nr_dirtied > 0",
}
