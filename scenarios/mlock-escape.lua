-- What mail 001's patch gives up, and what that costs: pages that wait in some CPU's batch while
-- they are mlocked do not get to the unevictable list. "It isn't must ... its failure can rescue
-- in vmscan later" (8891d6da's log). One thread per CPU faults in its part of a mapping, then the
-- first one locks all of it; with param hog another process wants more memory than there is, so
-- that reclaim meets the pages that escaped.
--
-- Before 5.18, escaped = unevictable_pgs_mlocked - unevictable_pgs_rescued of a run without hog:
-- at exit munlock rescues what is on the unevictable list. With one, span cull says how many
-- pages reclaim has culled, and how long it took.

scenario "mlock-escape"
about [[How many locked pages miss the unevictable list without lru_add_drain_all(), and what culling them costs]]

machine { profile = "tao-ma-2011", ram = "1G", swap = "2G", swap_kind = "disk" }
kernel "3.1"

param {
	pages = 100, -- of each thread
	hog = 0,     -- percent of RAM that other processes fill, after the lock
}

variant "all" { about = "as before the patch", ["mlock.drain"] = "all" }
variant "own" { about = "with it: only this CPU's batches", ["mlock.drain"] = "local" }
variant "none" { about = "not even those", ["mlock.drain"] = "none" }

local touched = barrier "touched" (ncpu + 1)
local locked = event "locked"
local done = event "done"

task "toucher" (function(t, va, len)
	t:region(va, len):touch()
	touched:wait()
	done:wait()
end)

group "locker" {
	run = function(t)
		local part = param.pages * page
		local m = t:mmap(ncpu * part)
		local threads = {}

		for i = 1, ncpu do
			threads[i] = t:thread("toucher", m.va + (i - 1) * part, part)
		end
		touched:wait()
		t:mlock(m.va, m.len)
		locked:set()
		if param.hog == 0 then done:set() end
		done:wait()
		for i = 1, ncpu do threads[i]:wait() end
	end,
}

if param.hog > 0 then
	local filled = barrier "filled" (ncpu)

	group "hog" {
		count = ncpu, -- on every CPU: batches of CPUs that do nothing are never emptied
		run = function(t)
			local m = t:mmap(math.floor(ram * param.hog / 100 / ncpu))

			locked:wait()
			m:touch()
			filled:wait()
			done:set()
		end,
	}
end

expect {
	"each.oom_kill == 0",
	"all.unevictable_pgs_mlocked == own.unevictable_pgs_mlocked",
	"own.unevictable_pgs_rescued <= all.unevictable_pgs_rescued",
}
