-- The workload of mail 004 (KOSAKI Motohiro, 13 October 2010, quoting Shaohua Li): per CPU one
-- "usemem -f FILE -j 4096 --readonly SIZE" on its own sparse file of 10 * mem / nr_cpu bytes. usemem
-- maps the file shared and reads one word of every 4,096 bytes. The files are holes: their pages are
-- cleared, no disk is read, and the page cache turns over ten times.

scenario "sparse-readers"
about [[One process per CPU reads a sparse file of its own through a mapping; the page cache turns over]]

machine { profile = "numa-64" }
kernel "4.0"

param {
	turns = 10, -- how often the page cache is filled with other pages
}

local data = file "sparse" { size = ram * param.turns // ncpu // page * page, sparse = true, count = ncpu }

group "reader" {
	count = ncpu,
	run = function(t)
		local m = t:mmap(data[t.index], { shared = true, prot = "r" })
		m:read()
		m:munmap()
	end,
}

expect {
	"each.oom_kill == 0",
	"each.pswpout == 0", -- there is nothing to swap
	"each.pgpgin == 0",  -- holes are not read
}
