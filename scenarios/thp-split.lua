-- Kirill A. Shutemov's test of 4 February 2016 ("thp: rewrite freeze_page()/unfreeze_page() with generic
-- rmap walkers"): 8 GiB of huge pages, of each of which the first 4 KiB are unmapped, shared with `forks`
-- children that do nothing; then `echo 3 > /proc/sys/vm/drop_caches`, which is what is timed. The shrinker
-- splits all 4,096.

scenario "thp-split"
about [[How long does it take to split 4,096 partly unmapped huge pages, mapped by one process or by 101?
The walk per VMA of 4.5 against the generic walk per page that the mail proposes, and what followed it.]]

machine { profile = "kirill-2016" }

kernel "4.5"
set { ["thp.enabled"] = "always" }

param { huge_pages = 4096, forks = 100 }

local huge = 2 * 1024 * 1024

variant "vma_0"     { about = "4.5", ["thp.split_walk"] = "vma" }
variant "vma_100"   { about = "4.5, 100 forks", ["thp.split_walk"] = "vma" }
variant "page_0"    { about = "the patch", ["thp.split_walk"] = "page" }
variant "page_100"  { about = "the patch, 100 forks", ["thp.split_walk"] = "page" }
variant "range_0"   { about = "what became of it", ["thp.split_walk"] = "range" }
variant "range_100" { about = "what became of it, 100 forks", ["thp.split_walk"] = "range" }

local done = event "done"

task "child" (function(t) -- pause()
	done:wait()
end)

group "split" {
	count = 1,
	run = function(t)
		local forks = t.variant:match("_0$") and 0 or param.forks
		-- The program maps at a fixed, aligned address; here a little more, of which the ends go back.
		local size = param.huge_pages * huge
		local map = t:mmap(size + huge)
		local base = (map.va + huge - 1) // huge * huge
		if base > map.va then
			t:region(map.va, base - map.va):munmap()
		end
		t:region(base + size, map.va + huge - base):munmap()
		t:region(base, size):touch()
		for i = 0, param.huge_pages - 1 do
			t:region(base + i * huge, page):munmap()
		end
		local children = {}
		for i = 1, forks do
			children[i] = t:fork("child")
		end
		local start = t:now()
		t:drop_caches("all")
		t:record_time(t:now() - start)
		done:set()
		for i = 1, forks do
			children[i]:wait()
		end
	end,
}

published {
	source = "linux-mm, Message-Id 20160204142736.GB20399@node.shutemov.name",
	note = "mean of several runs; standard deviations 0.017, 0.246, 0.021 and 6.126 s; the machine is not described",
	baseline = "vma_0",
	fitted = "vma_0.time",
	constant = "spin",
	["vma_0"]    = { time = 1.93 },
	["vma_100"]  = { time = 32.08 },
	["page_0"]   = { time = 5.636 },
	["page_100"] = { time = 405.943 },
}

-- Once for each munmap(), which makes a PMD entry a table, before the forks; and each is split once.
expect {
	"each.thp_fault_alloc == 4096",
	"each.thp_split_pmd == 4096",
	"each.thp_deferred_split_page == 4096",
	"each.thp_split_page == 4096",
	"each.thp_split_page_failed == 0",
	"page_0.time > vma_0.time",
	"page_100.time > vma_100.time",
}
