-- A file is read through a mapping, a word of every page, on a simulated machine and on this host's kernel
-- (docs/ACCURACY.md): in order and at random, as it comes and with MADV_RANDOM. It fits in memory: this is
-- about readahead of mappings, faults, and how many of them are major.
--
--   quire run file-mmap --on host,sim

scenario "file-mmap"
about [[A mapped file is read in order and at random, with and without MADV_RANDOM]]

machine { profile = "this-host", swap = 0 }
kernel "6.18"
set { ["vm.read_ahead_kb"] = 128 }

param { size = "256M" }

variant "in_order" { about = "every page in order" }
variant "in_order_advised" { about = "the same with MADV_RANDOM" }
variant "random" { about = "every page once, at random" }
variant "random_advised" { about = "the same with MADV_RANDOM" }

local data = file "data" { size = param.size }

group "reader" {
	run = function(t)
		local m = t:mmap(data[0], { shared = true, prot = "r" })
		if t.variant:match("advised$") then
			m:madvise("random")
		end
		m:read { random = t.variant:match("^random") ~= nil }
		m:munmap()
	end,
}

expect {
	"each.oom_kill == 0",
	"random_advised.pgmajfault > random.pgmajfault",
}
