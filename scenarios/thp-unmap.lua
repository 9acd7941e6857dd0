-- The test of mail 003 (scenarios/thp-split.lua) at 1 GiB, for a simulated machine and this host's kernel
-- side by side (docs/ACCURACY.md): huge pages are populated, of each the first 4 KiB are unmapped, children
-- are forked, and drop_caches splits what is left. The metric "time" is that of drop_caches.
--
--   quire run thp-unmap --on host,sim

scenario "thp-unmap"
about [[Huge pages are populated, unmapped in part, shared with children, and split by drop_caches]]

machine { profile = "this-host", swap = 0 }
kernel "6.18"
set { ["thp.enabled"] = "madvise" }

param { huge_pages = 512, forks = 5 }

local huge = 2 * 1024 * 1024

variant "alone" { about = "mapped by one process" }
variant "forked" { about = "and by its five children" }

local done = event "done"

task "child" (function(t)
	done:wait()
end)

group "split" {
	run = function(t)
		local size = param.huge_pages * huge
		local map = t:mmap(size + huge)
		local base = (map.va + huge - 1) // huge * huge
		local m = t:region(base, size)
		local children = {}

		t:drop_caches("all") -- what others have left is not what is timed
		m:madvise("hugepage")
		m:touch()
		for i = 0, param.huge_pages - 1 do
			t:region(base + i * huge, page):munmap()
		end
		for i = 1, t.variant == "forked" and param.forks or 0 do
			children[i] = t:fork("child")
		end
		local start = t:now()
		t:drop_caches("all")
		t:record_time(t:now() - start)
		done:set()
		for _, child in ipairs(children) do
			child:wait()
		end
	end,
}

expect {
	"each.thp_fault_alloc >= " .. param.huge_pages, -- on a host other programs have some,
	"each.thp_split_page >= " .. param.huge_pages,
	"forked.time > alone.time",
}
