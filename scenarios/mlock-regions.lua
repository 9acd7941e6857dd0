-- Many small regions, locked, unlocked, forked and unmapped: for the counters of locked memory on
-- a simulated machine and on this host's kernel (docs/ACCURACY.md).

scenario "mlock-regions"
about [[Small regions are locked in turn; the counters of locked memory on both sides]]

machine { profile = "this-host" }
kernel "6.18"

param { regions = 500, pages = 4 }

task "child" (function(t, va, len)
	t:region(va, len):touch() -- copies, which are not locked
end)

group "locker" {
	run = function(t)
		local len = param.pages * page
		local m = t:mmap(2 * param.regions * len)
		local at = function(i) return m.va + 2 * i * len end -- every other one

		-- Some are there already, the others are faulted in by the call.
		for i = 0, param.regions // 2 - 1 do
			t:region(at(i), len):touch()
		end
		for i = 0, param.regions - 1 do t:mlock(at(i), len) end
		local child = t:fork("child", m.va, m.len)
		child:wait()
		for i = 0, param.regions - 1, 2 do t:munlock(at(i) + 100, len - 200) end
		for i = 0, param.regions - 1 do t:mlock2(at(i), len, "onfault") end
		for i = 1, param.regions - 1, 4 do t:munlock(at(i), len) end
		m:munmap() -- with what is still locked
		t:mmap("1M", { populate = true })
		t:mmap("1M", { locked = true })
	end,
}

expect {
	"each.oom_kill == 0",
	"each.unevictable_pgs_mlocked > 0",
}
