-- The smallest thing that exercises everything from fault to zap; a run takes milliseconds.

scenario "smoke"
about [[Four tasks fill, touch and give back anonymous memory. Nothing is short, nothing is swapped.]]

machine { profile = "small", cpus = 4, ram = "256M", swap = 0 }

param { size = "16M", loops = 3 }

local start = barrier "start" (ncpu)
local bytes = counter "bytes"

group "worker" {
	count = ncpu,
	run = function(t)
		local m = t:mmap(param.size)
		start:wait()
		for _ = 1, param.loops do
			m:fill()
			m:touch { random = true }
			m:madvise("dontneed")
			bytes:add(m.len)
		end
		m:munmap()
	end,
}

expect {
	"each.pswpout == 0",
	"each.oom_kill == 0",
	"each.pgfault > 0",
}
