-- A slow disk and a fast one share the memory in which pages may be dirty. Before 2.6.24 whoever wrote
-- to the slow one filled it, and then all writers went at its speed. Since then each disk has the part of the
-- limits that it has of the writing, and since 3.2 a rate of its own.
--
-- The metric "time" is what the writer to the fast disk takes for so many bytes once both have gone on for so
-- long that the disks' speeds are known: a new disk is taken for one of 100 MB/s, and what the slow one
-- has been given too much of has to be written first. With less memory (--set machine.ram=64M) that takes
-- minutes: between where pauses begin and the limit there are few pages then, and rates change in
-- small steps.

scenario "two-disks"
about [[Is a writer to a fast disk held up by one to a slow disk?]]

machine { profile = "two-disks", ram = "256M", swap = 0 }
kernel "6.18"

param {
	warm = "20s",
	size = "200M",
}

variant "alone" { about = "nobody writes to the slow disk" }
variant "beside" { about = "another task writes to it all the time" }
variant "events" {
	about = "the same; shares fade by pages written, as to 3.5",
	["writeback.proportions"] = "events",
}

local fast = file "fast" { size = "200M", sparse = true }
local slow = file "slow" { size = "200M", sparse = true, disk = "stick" }

group "fast" {
	run = function(t)
		local f = t:open(fast)
		while t:now() < param.warm do
			f:pwrite(0, "20M")
		end
		t:start_measuring()
		local start = t:now()
		f:pwrite(0, param.size)
		t:record_time(t:now() - start)
		f:close()
	end,
}

group "slow" {
	background = true,
	run = function(t)
		if t.variant ~= "alone" then
			local f = t:open(slow)
			while true do
				f:pwrite(0, "400M")
			end
		end
	end,
}

expect {
	"each.oom_kill == 0",
	"near(beside.time, alone.time, '10%')",
}
