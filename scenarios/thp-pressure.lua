-- The question that Dave Hansen asked on 3 February 2016, and that mail 003 leaves open: "Can you quantify
-- what the slowdown is? Is it noticeable, or would it be in the noise during all the other stuff that happens
-- under memory pressure?"
--
-- Servers that fork before they serve, generation after generation: each fills a heap with huge pages, gives
-- a small page of every one back, as allocators do, and forks workers. A worker's request takes memory of its
-- own, waits for its client, reads the whole heap, computes and gives its memory back. All want more than there is. Reclaim splits
-- huge pages, those of the heap where 1 + forks address spaces map them, those of the workers where one
-- does, and swaps out what they were made of. The memory wanted does not depend on the number of forks.

scenario "thp-pressure"
about [[Does it matter under memory pressure by which walk huge pages are split? Servers that fork, short of memory]]

machine { profile = "kirill-2016", cpus = 4, sockets = 1, threads = 1, ram = "320M", swap = "1G", swap_kind = "disk" }

kernel "4.5"
set { ["thp.enabled"] = "always" }

param {
	servers = 2,
	forks = 8,     -- workers of each; 0: it works itself
	heap_mb = 40, -- of each
	work_mb = 64, -- of all workers of a server together
	generations = 8,
	rounds = 4,    -- requests of each worker
	compute = "2ms",
	think = "20ms", -- a request waits for its client, and keeps its memory meanwhile
	trim = 1,      -- of every trim-th huge page of the heap a small one is given back; 0: of none
}

variant "vma"   { about = "4.5", ["thp.split_walk"] = "vma" }
variant "page"  { about = "the patch", ["thp.split_walk"] = "page" }
variant "range" { about = "what became of it", ["thp.split_walk"] = "range" }

local huge = 2 * 1024 * 1024

-- A region of whole huge pages, at least one.
local function map_huge(t, size)
	local len = math.max(1, size // huge) * huge
	local m = t:mmap(len + huge)
	return t:region((m.va + huge - 1) // huge * huge, len)
end

local function serve(t, va, len, size)
	local heap = t:region(va, len)

	for _ = 1, param.rounds do
		local own = map_huge(t, size)

		own:touch()
		t:sleep(param.think)
		heap:read()
		own:touch()
		t:compute(param.compute)
		own:munmap()
	end
end

task "worker" (function(t, va, len, size)
	serve(t, va, len, size)
end)

group "server" {
	count = param.servers,
	jitter = "1ms",
	run = function(t)
		local size = param.work_mb << 20

		for _ = 1, param.generations do
			local heap = map_huge(t, param.heap_mb << 20)
			local workers = {}

			heap:touch()
			if param.trim > 0 then
				for at = 0, heap.len - 1, huge * param.trim do
					heap:madvise("dontneed", at, page)
				end
			end
			if param.forks == 0 then
				serve(t, heap.va, heap.len, size)
			end
			for i = 1, param.forks do
				workers[i] = t:fork("worker", heap.va, heap.len, size // param.forks)
			end
			for i = 1, param.forks do workers[i]:wait() end
			heap:munmap()
		end
	end,
}

expect {
	"each.oom_kill == 0",
	"each.thp_split_page > 0",
}
