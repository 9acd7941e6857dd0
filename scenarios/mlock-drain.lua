-- Mail 001: Tao Ma, "[PATCH] mm: do not drain pagevecs for mlock", 30 December 2011.
--
--   "In 8891d6da, lru_add_drain_all is added to mlock to flush all the per cpu pagevecs. It makes
--    this system call runs much slower than the predecessor (For a 16 core Xeon E5620, it is
--    around 20 times)."                                      time ./test_mlock -c 100000
--
-- The program, quoted in the thread, has three arrays of 24, 56 and 4,168 bytes on its stack and
-- locks and unlocks them one after the other, 100,000 times. Nothing but one thread runs. What else
-- the thread argues about is here too, as parameters: CPUs that are busy, pages that escape the
-- unevictable list, and what culling them costs.

scenario "mlock-drain"
about [[mlock with and without lru_add_drain_all() (linux-mm, December 2011)]]

machine { profile = "tao-ma-2011" }
kernel "3.1"

param {
	iterations = 100000,
	offset = 2048,      -- where in its page the first array begins; not in the mail
	user = "6us",       -- of 100 iterations; assumed: 10 ns a call, its wrapper and the loop
	busy = "none",      -- what the other CPUs do: none, or fault
	busy_tasks = ncpu,  -- how many tasks do so
}

variant "all" {
	about = "a work item on every CPU, as since 2.6.28",
	["mlock.drain"] = "all",
}
variant "none" {
	about = "this patch: no other CPU is asked",
	["mlock.drain"] = "local", -- each page's own drain of this CPU stays
}
variant "counted" {
	about = "the author's first idea, 3.12: only CPUs that have pages",
	["mlock.drain"] = "counted",
}

-- Small: pages come and go, so that a CPU's batch is seldom empty and memory never short.
if param.busy ~= "none" then
	group "busy" {
		count = param.busy_tasks,
		background = true,
		run = function(t)
			local m = t:mmap("256K")
			while true do
				m:touch()
				m:madvise("dontneed")
				t:compute("50us")
			end
		end,
	}
end

group "test_mlock" {
	run = function(t)
		local stack = t:mmap("132K") -- the usual one; its pages below the arrays are not there
		local at = stack.va + stack.len - 16384 + param.offset
		local a, b, c = at, at + 24, at + 24 + 56

		stack:touch(stack.len - 16384)
		for i = 1, param.iterations do
			t:mlock(a, 24)
			t:mlock(b, 56)
			t:mlock(c, 4168)
			t:munlock(a, 24)
			t:munlock(b, 56)
			t:munlock(c, 4168)
			if i % 100 == 0 then t:compute(param.user) end
		end
	end,
}

published {
	source = "linux-mm, Message-Id 1325226961-4271-1-git-send-email-tm@tao.ma",
	note = "one run each, by the shell's time",
	fitted = "none.real",
	constant = "cost.mlock",
	baseline = "none",
	all  = { real = 20.566, user = 0.074, sys = 12.759 },
	none = { real = 1.675, user = 0.049, sys = 1.622 },
}

expect {
	"each.oom_kill == 0",
	"all.real > none.real",
	"all.sys > none.sys",
	"counted.real < all.real",
	"all.unevictable_pgs_munlocked == all.unevictable_pgs_mlocked",
	"counted.unevictable_pgs_munlocked == counted.unevictable_pgs_mlocked",
	"none.unevictable_pgs_munlocked == none.unevictable_pgs_mlocked",
}

note "where the arrays lie in their pages is not in the mail: the first two share a page, and the third reaches into the next"
