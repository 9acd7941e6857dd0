-- How long fork() takes by how much memory is mapped, in small and in huge pages, on a simulated machine and
-- on this host's kernel (docs/ACCURACY.md). The metric "time" is that of all forks together; each child ends
-- at once and is waited for outside of it.
--
--   quire run fork-time --on host,sim --vary size=64M,256M,1G

scenario "fork-time"
about [[fork() against the memory that is mapped, with small and huge pages]]

machine { profile = "this-host", swap = 0 }
kernel "6.18"
set { ["thp.enabled"] = "madvise" }

param { size = "256M", forks = 10 }

local huge = 2 * 1024 * 1024

variant "small" { about = "pages of 4 KiB" }
variant "huge" { about = "pages of 2 MiB" }

task "child" (function() end)

group "parent" {
	run = function(t)
		local map = t:mmap(param.size + huge)
		local m = t:region((map.va + huge - 1) // huge * huge, param.size)

		m:madvise(t.variant == "huge" and "hugepage" or "nohugepage")
		m:touch()
		for _ = 1, param.forks do
			local start = t:now()
			local child = t:fork("child")
			t:record_time(t:now() - start)
			child:wait()
		end
	end,
}

expect {
	"each.oom_kill == 0",
	"small.time > huge.time",
}
