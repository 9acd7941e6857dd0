-- Mail 000: Minchan Kim, "[PATCH RFC 1/4] mm: throttle MADV_FREE", 24 February 2015.
--
--   "When I test the patch on my 3G machine + 12 CPU + 8G swap,
--    test: 12 processes   loop = 5;  mmap(512M);
--          while (loop--) { memset(512M); madvise(MADV_FREE or MADV_DONTNEED); }"
--
-- Twelve processes want 6 GB of 3 GB. MADV_DONTNEED gives memory back at once and faults it in
-- again; MADV_FREE leaves that to reclaim, which finds it late; the patch does the one or the
-- other by how much memory is free at the moment of the call.

scenario "madv-free"
about [[MADV_DONTNEED, MADV_FREE and MADV_FREE throttled under memory pressure (linux-mm, February 2015)]]

machine { profile = "minchan-2015" }
kernel "4.0"

-- With THP on, even in madvise mode, khugepaged raises min_free_kbytes to 45056 here, and the
-- throttle's threshold with it: to 16,896 pages.
set { ["thp.enabled"] = "madvise" }

param {
	processes = 12,
	size = "512M",
	loops = 5,
	-- Not in the mail, and it matters: processes that start together stay in phase, and then
	-- they all ask for memory, and all look at free memory, at the same moment.
	stagger = "0s",  -- between the starts of two processes
	jitter = "10ms", -- each starts up to this much later: a shell starts them one by one
	speed = "2%",    -- spread of the processes' own speed
}

-- In the tree of the mail MADV_FREE looked at present ptes only (free_swap = keep) and left the
-- pages where they were, mostly on the active list (free_list = stay).
variant "dontneed" {
	about = "MADV_DONTNEED",
	["madvise.free"] = "dontneed",
}
variant "lazy" {
	about = "MADV_FREE as it was in -mm",
	["madvise.free"] = "lazy",
	["madvise.free_swap"] = "keep",
	["madvise.free_list"] = "stay",
	["madvise.free_slot"] = "none",
}
variant "throttle" {
	about = "MADV_FREE + this patch",
	["madvise.free"] = "throttle",
	["madvise.free_swap"] = "keep",
	["madvise.free_list"] = "stay",
	["madvise.free_slot"] = "none",
}

group "hog" {
	count = param.processes,
	stagger = param.stagger,
	jitter = param.jitter,
	speed = param.speed,
	run = function(t)
		local m = t:mmap(param.size)
		for _ = 1, param.loops do
			m:fill()
			m:madvise("free")
		end
	end,
}

published {
	source = "linux-mm, Message-Id 1424765897-27377-1-git-send-email-minchan@kernel.org",
	note = "one run each, as /usr/bin/time printed it; the swap device is not known",
	baseline = "dontneed",
	dontneed = { user = 6.78, sys = 234.09, elapsed = 48.89 },
	lazy     = { user = 6.03, sys = 401.17, elapsed = 90.67 },
	throttle = { user = 5.68, sys = 113.42, elapsed = 36.52 },
}

-- Signs that follow from the mechanism, not the published figures: those are shown, not required.
expect {
	"each.oom_kill == 0",
	"lazy.pswpin > 10 * dontneed.pswpin", -- stale swap entries are read back to be overwritten
	"lazy.pswpout >= dontneed.pswpout",
	"lazy.allocstall > dontneed.allocstall",
	"lazy.elapsed > dontneed.elapsed",
	"lazy.sys > dontneed.sys",
}

note "pages of DMA behind lowmem_reserve stay free and nr_free_pages counts them: with the plain square-root min_free_kbytes (threshold 2,659 pages) the throttle would never act; khugepaged's raise makes it 16,896"
note "the kind of swap device is not in the mail: zram was chosen after the first comparison, by what it does to lazy against dontneed; no constant is fitted (docs/EXPERIMENTS.md)"
note "when the processes start, and how evenly they run, is not in the mail: vary param stagger and speed"
