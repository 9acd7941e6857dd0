-- A kernel build: make -j over units (C files), and a link at the end. The workload of mail 002, Minchan
-- Kim, "[PATCH v3 0/3] free reclaimed pages by paging out instantly", 2 July 2014:
--
--   "On 1G, 12 CPU kvm guest, build kernel 5 times"
--
-- Sizes are those of a traced build (docs/KERNEL-BUILD.md), not of the mail. A unit is, as there: a shell of
-- make's; gcc, which runs cc1 and as; objtool, nm and fixdep; and some ten small shells and their commands,
-- which are one process here. 23,400 faults a unit.
--
--   cc1     reads the source and some 700 headers of 963, 7 MB; its heap grows, in ten steps, to 60 MB and is
--           used again here and there; its text, 33 MB, is shared by all; writes assembler text
--   as      reads that, writes the object; the text is thrown away
--   objtool and nm look at the object, fixdep reads most of the headers again and writes a list
--
-- What differs from unit to unit follows from its number alone, so that every run builds the same tree.

scenario "kernel-build"
about [[A kernel build in 1 GB: are pages that reclaim has written freed when the write ends, or rotated to
wait for the next scan?]]

machine { profile = "minchan-2014" }
kernel "3.16"

-- Assumed: ext4, as most distributions had it then; its journal does not hold data pages. THP by madvise, as
-- Debian and Ubuntu had it; khugepaged raises min_free_kbytes with it.
set { ["thp.enabled"] = "madvise", ["fs.buffer_heads"] = "on", ["fs.journal"] = "none" }

param {
	-- C files. The one constant that is fitted, to the mail's pgrotated, from a run of 1,000 (docs/EXPERIMENTS.md).
	-- 100 take seconds, 400 a quarter of a minute, and show the same ratios.
	units = 1090,
	-- make -j. Not in the mail. 12 compilers of the traced build have some 350 MB of memory of their own at
	-- a time, and the mail's guest swaps all the time: assumed is -j24, two a CPU, which is a custom too.
	jobs = 24,
}

variant "rotate" { about = "3.16", ["reclaim.writeback_end"] = "rotate" }
variant "free"   { about = "3.16 + the patches", ["reclaim.writeback_end"] = "free" }

-- ---- files ----

local kb = 1024

-- Sources: p10 2 KB, median 11 KB, p90 66 KB, mean 26 KB. A fifth of the units has each size.
local source_sizes = { 2, 6, 11, 27, 84 }
local sources = {}
for i, size in ipairs(source_sizes) do
	sources[i] = file("source_" .. i) { size = size .. "K", count = (param.units + 4) // 5 }
end

-- Headers: 963, 7.0 MB, median 2.8 KB, p90 17 KB, largest 262 KB.
local header_sizes = { { 1, 300 }, { 3, 300 }, { 7, 200 }, { 17, 120 }, { 40, 40 }, { 262, 3 } }
local headers = {}
for i, h in ipairs(header_sizes) do
	headers[i] = file("header_" .. i) { size = h[1] .. "K", count = h[2] }
end

local object = file "object" { size = "4K", sparse = true, count = param.units }
local depend = file "depend" { size = "4K", sparse = true, count = param.units }
local asm = file "asm" { size = "4K", sparse = true, count = param.jobs }
local image = file "image" { size = "4K", sparse = true }

local text = {
	cc1 = file "cc1" { size = "33M" },
	libs = file "libs" { size = "14M" },
	as = file "as" { size = "900K" },
	ld = file "ld" { size = "1300K" },
	objtool = file "objtool" { size = "800K" },
	sh = file "sh" { size = "130K" },
	libc = file "libc" { size = "1900K" },
	plugin = file "plugin" { size = "245M" }, -- of nm
}

-- ---- what a unit is like ----

-- Number @k of unit @unit: evenly spread in [0, 1), whatever units are taken.
local function share(unit, k)
	return (unit * 0.6180339887498949 + k * 0.7548776662466927 + 0.5) % 1.0
end

-- Of quantiles 0, 0.1, 0.5, 0.9, 1.
local function quantile(q, values)
	local at = { 0, 0.1, 0.5, 0.9, 1 }
	for i = 1, 4 do
		if q <= at[i + 1] then
			return values[i] + (values[i + 1] - values[i]) * (q - at[i]) / (at[i + 1] - at[i])
		end
	end
end

-- cc1's faults: median 13,960, p90 21,976, largest 39,328, mean 15,720.
local function cc1_pages(unit)
	return math.floor(quantile(share(unit, 1), { 6000, 9500, 13960, 21976, 39328 }))
end

-- Its user time: mean 0.96 s, and in proportion to its memory. @part of it.
local function cc1_time(unit, part)
	return string.format("%dus", math.floor(960000 * cc1_pages(unit) / 15720 * part))
end

-- Objects: p10 4.5 KB, median 20 KB, p90 112 KB, mean 46 KB.
local function object_size(unit)
	return math.floor(quantile(share(unit, 2), { 2, 4.5, 20, 112, 240 }) * kb)
end

-- Assembler text: 74 to 315 KB, more for a larger object.
local function asm_size(unit)
	return math.floor((74 + 241 * share(unit, 2)) * kb)
end

-- ---- parts of processes ----

-- The first @bytes of a program's or library's text, which is mapped and run.
local function exec(t, program, bytes)
	local m = t:mmap(program, { prot = "rx", shared = false })
	t:region(m.va, bytes):read()
	return m
end

-- What every process has: libc's text, a page or two of stack and data.
local function start(t, program, bytes)
	exec(t, text.libc, 600 * kb)
	exec(t, program, bytes)
	t:mmap(30 * page):touch()
end

local function read_whole(t, f)
	local o = t:open(f)
	local n = o:pread(0, 16 * 1024 * kb)
	o:close()
	return n
end

-- Headers that unit @unit reads: of each size the first three fifths, and two fifths of the others.
local function read_headers(t, unit, from, to, common)
	for i, h in ipairs(header_sizes) do
		local first, last = h[2] * from // 1, h[2] * to // 1 - 1
		for k = first, last do
			if k < h[2] * common or share(unit, 10 + i + 7 * k) < 0.4 then
				read_whole(t, headers[i][k])
			end
		end
	end
end

local function write_file(t, f, size)
	local o = t:open(f)
	o:pwrite(0, size .. "B")
	o:close()
end

-- ---- processes ----

-- Memory that grows in ten steps; a fifth of what is there is used again in each.
task "cc1" (function(t, unit, slot)
	local steps = 10
	local own = cc1_pages(unit) - 700 -- the rest are faults on text and libraries
	local chunk = own // steps
	local libs, cc1

	start(t, text.libs, 2 * 1024 * kb)
	t:mmap(text.libs, { prot = "rw", shared = false })
	cc1 = t:mmap(text.cc1, { prot = "rx", shared = false })
	read_whole(t, sources[unit % 5 + 1][unit // 5])
	local heap = t:mmap(own * page)
	for i = 0, steps - 1 do
		if i < 5 then
			read_headers(t, unit, i / 5, (i + 1) / 5, 0.6)
		end
		t:region(heap.va + i * chunk * page, chunk * page):fill()
		-- Text: two thirds of it in all, a seventh at a time; parser first, then passes.
		t:region(cc1.va + i * 2 * 1024 * kb, 4800 * kb):read()
		-- Used again: the symbols, which came first, and what came last.
		if i > 1 then
			t:region(heap.va, chunk * page):touch()
			t:region(heap.va + (i - 1) * chunk * page, chunk * page):touch()
		end
		t:compute(cc1_time(unit, 0.1))
	end
	write_file(t, asm[slot], asm_size(unit))
end)

task "as" (function(t, unit, slot)
	local o = t:open(asm[slot])
	start(t, text.as, 700 * kb)
	o:pread(0, 16 * 1024 * kb)
	o:close()
	t:mmap(280 * page):fill()
	t:compute "20ms"
	write_file(t, object[unit], object_size(unit))
end)

task "gcc" (function(t, unit, slot)
	start(t, text.sh, 130 * kb)
	t:mmap(60 * page):touch()
	t:spawn("cc1", unit, slot):wait()
	t:spawn("as", unit, slot):wait()
	-- The assembler text goes.
	local o = t:open(asm[slot])
	o:truncate(0)
	o:close()
end)

-- 3,214 pages of the libraries of its plug-in, which are relocated when they are loaded: private copies.
task "nm" (function(t, unit)
	start(t, text.ld, 600 * kb)
	local m = t:mmap(text.plugin, { prot = "rw", shared = false })
	t:region(m.va, 3000 * page):touch()
	t:mmap(200 * page):touch()
	t:compute "20ms"
	read_whole(t, object[unit])
end)

task "objtool" (function(t, unit)
	start(t, text.objtool, 700 * kb)
	read_whole(t, object[unit])
	-- Grows and shrinks: 2,290 faults on 460 pages.
	for _ = 1, 4 do
		local m = t:mmap(460 * page)
		m:touch()
		m:munmap()
	end
	t:mmap(300 * page):touch()
	t:compute "5ms"
end)

task "fixdep" (function(t, unit)
	start(t, text.sh, 60 * kb)
	read_headers(t, unit, 0, 1, 0.55)
	t:mmap(60 * page):touch()
	t:compute "5ms"
	write_file(t, depend[unit], 52 * kb)
end)

-- Nine shells, awk, rm, two scripts, a cc1 that only tests an option, every fourth time.
task "shells" (function(t, unit)
	start(t, text.sh, 130 * kb)
	for _ = 1, 9 + 5 do
		local m = t:mmap(60 * page)
		m:touch()
		m:munmap()
		t:compute "1ms"
	end
	if unit % 4 == 0 then
		exec(t, text.cc1, 4 * 1024 * kb)
		t:mmap(700 * page):touch()
		t:compute "10ms"
	end
end)

-- make's shell for one unit.
task "recipe" (function(t, unit, slot)
	start(t, text.sh, 130 * kb)
	t:spawn("shells", unit):wait()
	t:spawn("gcc", unit, slot):wait()
	t:spawn("objtool", unit):wait()
	t:spawn("nm", unit):wait()
	t:spawn("fixdep", unit):wait()
end)

-- The link reads all objects, holds them in memory, and writes the image.
task "ld" (function(t)
	start(t, text.ld, 1300 * kb)
	local total = 0
	for unit = 0, param.units - 1 do
		total = total + read_whole(t, object[unit])
	end
	t:mmap((total // page + 1) * page):fill()
	write_file(t, image, total)
	t:compute "1s"
end)

-- ---- make ----

local next_unit = counter "next_unit"
local built = barrier "built" (param.jobs)

group "make" {
	count = param.jobs,
	jitter = "50ms", -- assumed: make starts its jobs one after the other, as it reads the makefiles
	speed = "2%",    -- assumed
	run = function(t)
		t:mmap(3600 * kb // param.jobs):touch() -- make itself: a share each
		while true do
			local unit = next_unit:add(1) - 1
			if unit >= param.units then break end
			t:spawn("recipe", unit, t.index):wait()
		end
		built:wait()
		if t.index == 0 then
			t:spawn("ld"):wait()
		end
	end,
}

published {
	source = "linux-mm, Message-Id 1404260029-11525-1-git-send-email-minchan@kernel.org",
	note = "five builds each; the number of jobs, the file system, the guest's disks and swap are not in the mail",
	baseline = "rotate",
	fitted = "rotate.pgrotated",
	constant = "units",
	rotate = { allocstall = 4733.80, pgrotated = 873313.80 },
	free   = { allocstall = 1514.20, pgrotated = 28406.40 },
}

expect {
	"each.oom_kill == 0",
}
