-- Mail 004: KOSAKI Motohiro, "[RFC][PATCH 3/3] mm: reserve max drift pages at boot time instead using
-- zone_page_state_snapshot()", 13 October 2010, quoting Shaohua Li:
--
--   "In a 4 socket 64 CPU system, zone_nr_free_pages() takes about 5% ~ 10% cpu time according to perf
--    when memory pressure is high. The workload does something like:
--      for i in `seq 1 $nr_cpu`
--      do
--        create_sparse_file $SPARSE_FILE-$i $((10 * mem / nr_cpu))
--        $USEMEM -f $SPARSE_FILE-$i -j 4096 --readonly $((10 * mem / nr_cpu)) &
--      done"
--
-- usemem maps its file shared and reads a word of every 4,096 bytes. The files are holes: pages are
-- cleared, no disk is read, and the page cache turns over. A page is found referenced when it is
-- scanned first, loses its accessed bit with a TLB flush, and is unmapped with another one at the
-- second scan.

scenario "drift"
about [[What watermark tests should know of the free pages that per-CPU counters hide (linux-mm, October 2010)]]

machine { profile = "nehalem-ex-64" }
kernel "2.6.36"

param {
	-- All files together, in percent of RAM. The mail's make ten turns of memory, 1000. The first
	-- one only fills what is free: measuring starts behind it, and all that follow are alike.
	percent = 125,
	filled = 100,
}

variant "cheap" {
	about = "2.6.35: believe the counter",
	["vmstat.free_estimate"] = "cheap",
}
variant "snapshot" {
	about = "2.6.36: ask every CPU while memory is short",
	["vmstat.free_estimate"] = "snapshot",
}
variant "reserve" {
	about = "this mail's intention: keep the drift free, and believe the counter",
	["vmstat.free_estimate"] = "reserve",
}
variant "reserve-as-posted" {
	about = "its patch, after a write to vm.min_free_kbytes",
	["vmstat.free_estimate"] = "reserve-as-posted",
}
variant "pressure" {
	about = "2.6.38: smaller thresholds while kswapd is awake",
	["vmstat.free_estimate"] = "pressure",
}

local data = file "sparse" {
	size = ram * param.percent // 100 // ncpu // page * page, sparse = true, count = ncpu,
}

local full = barrier "full" (ncpu)

group "usemem" {
	count = ncpu,
	run = function(t)
		local m = t:mmap(data[t.index], { shared = true, prot = "r" })
		local first = ram * param.filled // 100 // ncpu // page * page
		m:read(0, first)
		full:wait()
		if t.index == 0 then
			t:start_measuring()
		end
		m:read(first)
		m:munmap()
	end,
}

published {
	source = "linux-mm, Message-Id 20101013152922.ADC6.A69D9226@jp.fujitsu.com",
	note = "the share is the middle of \"about 5% ~ 10%\"; the min marks are of node 3's zone Normal: printed, and as the mail computes it",
	baseline = "snapshot",
	snapshot = { estimate_cpu_share = 0.075, watermark_min = 1441 },
	reserve  = { watermark_min = 7720 },
}

-- What the mechanism says.
expect {
	"each.oom_kill == 0",
	"each.pgpgin == 0", -- holes are not read
	"snapshot.estimate_cpu_share > 0.01",
	"cheap.estimate_cpu_share == 0",
	"reserve.watermark_min > 5 * snapshot.watermark_min",
}
