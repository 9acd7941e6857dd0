#!/bin/bash
# The command as its user meets it: exit codes, messages, files, Ctrl-C.
#
# Each line of the first part is a command, the exit code it must have, and a text that must appear
# in what it prints. Run from the root of the sources; QUIRE is the program.

quire=${QUIRE:-build/quire}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

fail() {
	echo "FAIL $*"
	failed=1
}

# expect CODE TEXT ARGUMENT...
expect() {
	local code=$1 text=$2 got
	shift 2
	timeout 120 "$quire" "$@" >"$dir/out" 2>&1 </dev/null
	got=$?
	if [ $got != "$code" ]; then
		fail "quire $*: exit code $got instead of $code"
		tail -5 "$dir/out"
	elif ! grep -qF -- "$text" "$dir/out"; then
		fail "quire $*: does not say '$text' but"
		tail -5 "$dir/out"
	fi
}

# ---- the command line ----

expect 2 "usage: quire VERB"
expect 0 "usage: quire VERB" --help
expect 0 "quire 0." --version
expect 2 "did you mean run?" rnu
expect 2 "did you mean reproduce?" reproduse
expect 0 "usage: quire run SCENARIO" run --help
expect 0 "examples:" reproduce --help
expect 0 "examples:" list --help
expect 0 "(was " list kernels
expect 0 "vm.swappiness" list kernels 4.5
expect 2 "did you mean 4.5?" list kernels 4.5x
expect 2 "does not know what to do" list machines small
expect 2 "which scenario?" run
expect 2 "did you mean smoke?" run smok
expect 2 "there is no scenario" run nothing/like/this.lua
expect 2 "did you mean --repeat?" run smoke --repaet 3
expect 2 "did you mean --print-config?" run smoke --print-confg
expect 2 "--json and --html would both be" run smoke --html "$dir/x" --json "$dir/x"
expect 2 "--jobs expects a whole number from 0 to 256" reproduce madv-free -j 257
expect 2 "--set expects NAME=VALUE" reproduce madv-free --set size
expect 2 "there are madv-free, " reproduce smoke
expect 2 "there is default" run smoke --variant x
expect 2 "Is a directory" compare "$dir"
expect 2 "the file is empty" compare /dev/null
expect 2 "has no option -x" run smoke -x
expect 2 "--repeat expects a whole number" run smoke --repeat many
expect 2 "--repeat expects a whole number" run smoke --repeat 0
expect 2 "--repeat expects a whole number" run smoke --repeat -1
expect 2 "--seed expects a whole number" run smoke --seed 1e3
expect 2 "--json needs an argument" run smoke --json
expect 2 "takes no argument" run smoke --check=yes
expect 2 "--on expects" run smoke --on simm
expect 2 "--on expects" run smoke --on ""
expect 2 "--set expects NAME=VALUE" run smoke --set size
expect 2 "--vary expects NAME=VALUE" run smoke --vary loops=
expect 2 "one scenario at a time" run smoke smoke
expect 2 "has no variant" run smoke --variant lazi
expect 2 "did you mean lazy?" run madv-free --variant lazi
expect 2 "vm.swappiness" run smoke --set vm.swapiness=10
expect 2 "unit" run smoke --set size=12
expect 0 "elapsed" run smoke --set machine.swap=0
expect 2 "smoke.lua:6: machine: swap of 4K is less than a header and a page, 8K" run smoke --set machine.swap=4K
expect 2 "did you mean 'cpus'?" run smoke --set machine.cpu=3
expect 2 "no disk 'swp'; it has data, swap, zram" run smoke --set disk.swp.errors_ppm=3
expect 2 "did you mean 'errors_ppm'?" run smoke --set disk.swap.error_ppm=3
expect 2 "--machine: unknown machine profile 'smal'; did you mean 'small'?" run smoke --machine smal
expect 2 "unknown kernel preset '4.1'" run smoke --kernel 4.1
expect 2 "did you mean madv-free?" reproduce madv-fre
expect 2 "did you mean knobs?" list knob
expect 2 "no knob begins with" list knobs nothing
expect 2 "does not know what to do" list machines small extra
expect 1 "cannot write /nonexistent/x" run smoke --json /nonexistent/x
expect 1 "cannot write $dir" run smoke --csv "$dir"
expect 1 "cannot write /nonexistent/x" reproduce madv-free --json /nonexistent/x
expect 1 "cannot write /nonexistent/x" run smoke --html /nonexistent/x
expect 1 "cannot write /nonexistent/x" run smoke --trace /nonexistent/x
expect 1 "cannot write /nonexistent/x" reproduce madv-free --html /nonexistent/x
expect 1 "cannot write /nonexistent/x" compare nothing.json --html /nonexistent/x
expect 2 "--across has no page" compare --across a.json b.json --html "$dir/x.html"
expect 2 "--trace-window expects two times" run smoke --trace "$dir/t" --trace-window 1s
expect 2 "--trace-window expects two times" run smoke --trace "$dir/t" --trace-window 2s,1s
expect 2 "--trace-window expects two times" run smoke --trace "$dir/t" --trace-window 1,2

# ---- lists ----

expect 0 "madvise.free_list" list knobs
expect 0 "stay | inactive_anon | inactive_file" list knobs madvise.free_list
expect 0 "0 to 10, in log2 pages" list knobs vm.page-cluster
expect 0 "page_clear" list costs
expect 0 "assumed" list costs minchan-2015
expect 0 "minchan-2015" list machines
expect 0 "madv-free" list scenarios
expect 0 "pgrotated" list counters
expect 0 "Kswapd efficiency: 100 x pgsteal_kswapd /" list counters

# ---- runs ----

expect 0 "elapsed" run smoke
expect 0 "elapsed" run smoke --check
expect 0 "elapsed" run smoke -j 0
expect 0 "vm.swappiness" run smoke --print-config
expect 0 "--set" run smoke --print-config --set vm.swappiness=10

cat >"$dir/loop.lua" <<'END'
scenario "loop"
machine { profile = "small", cpus = 1, ram = "64M", swap = 0 }
group "g" { count = 1, run = function(t)
	while true do end
end }
END
expect 2 "loop.lua:" run "$dir/loop.lua"

cat >"$dir/error.lua" <<'END'
scenario "error"
machine { profile = "small", cpus = 1, ram = "64M", swap = 0 }
group "g" { count = 1, run = function(t)
	local m = t:mmap("1M")
	m:fil()
end }
END
expect 2 "error.lua:5" run "$dir/error.lua"

cat >"$dir/wrong.lua" <<'END'
scenario "wrong"
machine { profile = "small", cpus = 1, ram = "64M", swap = 0 }
group "g" { count = 1, run = function(t) t:mmap("1M"):fill() end }
expect { "each.pgfault == 0" }
END
expect 1 "NOT MET" run "$dir/wrong.lua"

# Children of several parents, started at once: each is waited for by its own parent.
cat >"$dir/children.lua" <<'END'
scenario "children"
machine { profile = "small" }
task "child" (function(t) t:mmap("64K"):touch() end)
group "parents" { count = 4, run = function(t)
	for i = 1, 50 do
		local c = t:spawn("child")
		local d = t:fork("child")
		c:wait()
		d:wait()
	end
end }
END
expect 0 "elapsed" run "$dir/children.lua" --check

cat >"$dir/barrier.lua" <<'END'
scenario "barrier"
machine { profile = "small", cpus = 1, ram = "64M", swap = 0 }
local all = barrier "all" (2)
group "g" { count = 2, run = function(t)
	if t.index == 0 then all:wait() end
end }
END
expect 1 "barrier.lua:5: g waits for all 2 tasks of barrier 'all'" run "$dir/barrier.lua"
expect 1 "again: quire run" run "$dir/barrier.lua"
sed 's/(2)/(3)/' "$dir/barrier.lua" >"$dir/barrier3.lua"
expect 2 'barrier3.lua:3: barrier "all": 3 tasks are to meet, and the groups have 2' run "$dir/barrier3.lua"

{
	echo 'scenario "deep"'
	echo "local a = $(printf '(%.0s' $(seq 300))1$(printf ')%.0s' $(seq 300))"
} >"$dir/deep.lua"
expect 2 "deep.lua:2: C stack overflow" run "$dir/deep.lua"
(
	ulimit -v 2000000
	expect 3 "the host has no" run smoke
) || failed=1

cat >"$dir/event.lua" <<'END'
scenario "event"
machine { profile = "small", cpus = 1, ram = "64M", swap = 0 }
local done = event "done"
group "g" { count = 1, run = function(t) done:wait() end }
END
expect 1 "event.lua:4: g waits for event 'done'" run "$dir/event.lua"

# What goes wrong on the simulated machine is an outcome.
cat >"$dir/full.lua" <<'END'
scenario "full"
machine { profile = "small", cpus = 1, ram = "64M", swap = "64M" }
group "g" { count = 2, run = function(t)
	local m = t:mmap("40M")
	m:fill()
	m:touch()
end }
END
expect 0 "the OOM killer killed 1 of 2 tasks" run "$dir/full.lua" --set machine.swap=8M --check
grep -qE "PG_locked.* -  *-$" "$dir/out" || fail "page locks have a hold time that nobody took"
expect 0 "requests failed" run "$dir/full.lua" --set disk.swap.errors_ppm=100000 --check
expect 0 "killed by SIGBUS: a page could not be read back" run "$dir/full.lua" --set disk.swap.errors_ppm=100000 --check

cat >"$dir/long.lua" <<'END'
scenario "long"
machine { profile = "small", cpus = 1, ram = "64M", swap = 0 }
timeout "1000h"
group "g" { count = 1, run = function(t)
	local m = t:mmap("16M")
	for _ = 1, 1000000 do m:fill() m:madvise("dontneed") end
end }
END
expect 2 "no end after 1 s of CPU time" run "$dir/long.lua" --cpu-limit 1

# A run without an end says where it is. Simulated time, CPU time, and a script that does not come back.
expect 2 "long.lua:6: no end after 1 s of CPU time (--cpu-limit allows more), still running after" run "$dir/long.lua" --cpu-limit 1
grep -q "simulated seconds: g (" "$dir/out" || fail "what is a run without an end doing?"
sed -i 's/1000h/2s/' "$dir/long.lua"
expect 2 "long.lua:6: no end (timeout allows more), still running after 2.000 simulated seconds: g (" run "$dir/long.lua"
sed -i 's/2s/1000h/' "$dir/long.lua"
cat >"$dir/pattern.lua" <<'END'
scenario "pattern"
machine { profile = "small", cpus = 1, ram = "64M", swap = 0 }
group "g" { count = 1, run = function(t)
	local s = ("a"):rep(100000)
	while true do s:find((".-"):rep(20) .. "b") end
end }
END
expect 2 "pattern.lua: no end after 1 s of CPU time" run "$dir/pattern.lua" --cpu-limit 1

# A time that no clock reaches; what overflows is refused or wraps as Lua's numbers do.
cat >"$dir/far.lua" <<'END'
scenario "far"
machine { profile = "small", cpus = 2, ram = "64M", swap = "16M" }
local c = counter "c"
group "g" { run = function(t)
	c:add(math.maxinteger)
	if c:add(1) ~= math.mininteger then error("no wrap") end
	if pcall(function() for _ = 1, 5 do t:record_time(1 << 62) end end) then error("no overflow") end
	t:compute("2h")
	t:sleep(1 << 62)
end }
END
expect 2 "far.lua:8: no end (timeout allows more), still running after 3600.000 simulated seconds: g (8) in user" run "$dir/far.lua"
sed -i 's/"2h"/"1s"/' "$dir/far.lua"
expect 2 "far.lua:9: no end (timeout allows more), still running after 3600.000 simulated seconds: g (8) in user" run "$dir/far.lua"
sed -i '1s/$/ timeout "1201h"/' "$dir/far.lua"
expect 2 "far.lua:1: timeout: must be at most 1200h" run "$dir/far.lua"
sed -i '1s/.*/scenario "far"/; s/run =/count = 9, stagger = "200h", run =/' "$dir/far.lua"
expect 2 'far.lua:4: group "g": the last of 9 tasks would start after more than 1200h' run "$dir/far.lua"

# Machines that cannot be: which file, and why.
cat >"$dir/huge.lua" <<'END'
scenario "huge"
machine { profile = "small", cpus = 1, ram = "64M", swap = "1T" }
group "g" { run = function(t) end }
END
expect 2 'huge.lua: swap of 1T on disk "swap": the machine has no memory for its map' run "$dir/huge.lua"
expect 2 "huge.lua:2: machine: RAM of 20T is more than 16T for each of 1 nodes" run "$dir/huge.lua" --set machine.ram=20T
sed -i 's/"1T"/0/; s/run =/count = 4096, run =/' "$dir/huge.lua"
expect 2 'huge.lua: the machine has no memory for the 4096 tasks of group "g"' run "$dir/huge.lua"
sed -i 's/count = 4096/count = 1/; 2s/$/ file "f" { size = "1P" }/' "$dir/huge.lua"
expect 2 'huge.lua: file "f" [0] of 1024T: ' run "$dir/huge.lua"

# A store to a folio larger than the dirty limit faults for ever, as in Linux: no mistake of ours.
cat >"$dir/folio.lua" <<'END'
scenario "folio"
machine { profile = "small", cpus = 1, ram = "64M", swap = 0 }
kernel "6.18"
set { ["fs.max_folio_order"] = 9, ["vm.dirty_bytes"] = 40960, ["vm.dirty_background_bytes"] = 4096 }
local a = file "a" { size = "8M" }
group "g" { count = 1, run = function(t)
	local f = t:open(a)
	f:pread(0, "8M")
	f:mmap({ prot = "rw", shared = true }):touch()
end }
END
expect 2 "folio.lua:9: the access to 0x" run "$dir/folio.lua"
grep -q "has faulted 100000 times and is not done, still running after" "$dir/out" || fail "a fault without an end"

# The OOM killer waits for a victim that waits for a lock, whose holder waits for memory: a reaper (4.6) helps.
cat >"$dir/victim.lua" <<'END'
scenario "victim"
machine { profile = "small", cpus = 1, ram = "48M", swap = 0 }
kernel "4.0"
set { ["vm.overcommit_memory"] = 1 }
timeout "1s"
local a = shm "a" { size = "16M" }
local filled = barrier "filled" (3)
group "g" { count = 3, run = function(t)
	local f = t:open(a)
	t:mmap("10M"):fill()
	filled:wait()
	f:pwrite(0, "16M", "16M")
end }
END
expect 2 "the OOM killer waits for g (" run "$dir/victim.lua"
grep -q "waits for &inode->i_mutex, held by g (" "$dir/out" || fail "who holds what the victim waits for?"
# That kills are told is no matter of the kernel, though to 4.12 it has no counter of them.
expect 0 "the OOM killer killed" run "$dir/victim.lua" --set oom.reserves=reaper

# A run that ends while a task is in fork().
cat >"$dir/forks.lua" <<'END'
scenario "forks"
machine { profile = "small" }
task "child" (function(t) t:nothing() end)
group "forks" { run = function(t)
	t:mmap("64M"):fill()
	for i = 1, 8 do t:fork("child") end
end }
END
expect 2 "forks.lua:3: a task has no 'nothing'" run "$dir/forks.lua"

# Files: the same bytes twice, and however many run at once.
for i in 1 2; do
	"$quire" run smoke --repeat 3 -j $i --json "$dir/$i.json" --csv "$dir/$i.csv" \
		--folded "$dir/$i.folded" --html "$dir/$i.html" --trace "$dir/$i.trace" >"$dir/$i.txt" 2>&1 || fail "run smoke, -j $i"
done
for kind in json csv folded html trace txt; do
	cmp -s "$dir/1.$kind" "$dir/2.$kind" || fail "-j changes the $kind output"
	[ -s "$dir/1.$kind" ] || fail "no $kind output"
done
"$quire" run smoke --json - 2>/dev/null | grep -q '"schema": 2' || fail "--json -"
"$quire" run smoke --csv - 2>/dev/null | head -1 | grep -q '^scenario,target' || fail "--csv -"
expect 1 "No space left" run smoke --json /dev/full
expect 1 "No space left" run smoke --html /dev/full
expect 1 "No space left" run smoke --trace /dev/full

# Text pastes into a mail: 80 columns. What is compared, why, where it parts; and what was published.
cat >"$dir/many.lua" <<'END'
scenario "many-variants"
about [[Six variants with names of some length, which differ, and a title that is longer than a line]]
machine { profile = "small", cpus = 4, ram = "64M", swap = "256M" }
variant "give_everything_back" { ["madvise.free"] = "dontneed" }
variant "keep_what_is_there" { ["madvise.free"] = "lazy" }
variant "throttle_above_min" { ["madvise.free"] = "throttle" }
variant "swappiness_is_none" { ["vm.swappiness"] = 0 }
variant "cluster_of_eight" { ["vm.page-cluster"] = 3 }
variant "cluster_of_one" { ["vm.page-cluster"] = 0 }
group "g" { count = 4, run = function(t)
	local m = t:mmap("24M")
	for _ = 1, 2 do m:fill() m:madvise("free") m:touch { random = true } end
end }
expect { "each.pgfault + each.pswpin + each.pswpout + each.pgalloc_dma32 + each.pgsteal_direct < 1" }
END
wide() {
	awk -v what="$1" 'length($0) > 80 { print "FAIL " what " has a line of " length($0) ": " $0; n = 1 } END { exit n }' "$dir/out"
}
"$quire" run "$dir/many.lua" --json "$dir/many.json" >"$dir/out" 2>&1 </dev/null
wide "a run" || failed=1
"$quire" compare "$dir/many.json" >"$dir/out" 2>&1
wide "compare" || failed=1
"$quire" run "$dir/many.lua" --set vm.swappiness=10 --json "$dir/many2.json" --no-divergence >/dev/null 2>&1
"$quire" compare "$dir/many.json" "$dir/many2.json" >"$dir/out" 2>&1
wide "compare of two" || failed=1
"$quire" run smoke --vary loops=1..6:6 --repeat 3 >"$dir/out" 2>&1
wide "a sweep" || failed=1
"$quire" reproduce madv-free -q --seeds 2 --all --set size=4M --set machine.ram=32M --set machine.swap=256M >"$dir/out" 2>&1
wide "reproduce" || failed=1

# ---- pages and traces ----

# A result that cannot be written leaves what was there, and nothing beside it.
mkdir "$dir/pages"
echo old >"$dir/pages/p.html"
if [ "$(id -u)" != 0 ]; then
	chmod a-w "$dir/pages"
	expect 1 "cannot write" run smoke -q --html "$dir/pages/p.html"
	chmod u+w "$dir/pages"
fi
# 8 KB are less than a page has: as on a full disk, the write fails in the middle.
if (
	ulimit -f 8
	trap '' XFSZ
	"$quire" run smoke -q --html "$dir/pages/p.html" >"$dir/out" 2>&1
); then
	fail "a page that does not fit is written"
fi
[ "$(ls -A "$dir/pages")" = p.html ] && [ "$(cat "$dir/pages/p.html")" = old ] ||
	fail "half a page is left behind: $(ls -A "$dir/pages")"
grep -q "cannot write $dir/pages/p.html: File too large" "$dir/out" || fail "what cannot be written?"
for kind in json trace csv; do
	echo old >"$dir/pages/p.$kind"
	if (
		ulimit -f 2
		trap '' XFSZ
		"$quire" run smoke -q --$kind "$dir/pages/p.$kind" >"$dir/out" 2>&1
	); then
		fail "--$kind: what does not fit is written"
	fi
	[ "$(cat "$dir/pages/p.$kind")" = old ] || fail "--$kind leaves half of a file"
	rm "$dir/pages/p.$kind"
done
[ "$(ls -A "$dir/pages")" = p.html ] || fail "half a file is left behind: $(ls -A "$dir/pages")"

# Without gnuplot the page has its tables and says what is missing.
mkdir "$dir/bin"
PATH="$dir/bin" "$quire" run smoke -q --html "$dir/plain.html" >/dev/null || fail "run without gnuplot"
grep -q "The pictures are missing: gnuplot" "$dir/plain.html" || fail "a page without pictures is silent"
grep -q 49152 "$dir/plain.html" || fail "a page without pictures has no tables"

expect 0 "memory touched, address by time" run smoke -q --heatmap --trace "$dir/t.trace" --html "$dir/h.html"
grep -q '"nothing left out"\|slices, nothing left out' "$dir/t.trace" || fail "the trace does not say what was left out"
grep -q '"name":"CPU 3"' "$dir/t.trace" || fail "the trace has no CPUs"
grep -q '"ph":"C"' "$dir/t.trace" || fail "the trace has no counters"
grep -q "Memory touched" "$dir/h.html" || fail "the page has no heat map"

# Expectations as a test. Under other conditions than the scenario's they are told, and no failure.
expect 0 "NOT MET with these settings" run "$dir/wrong.lua" --set vm.swappiness=10
expect 1 "not ok 2" run "$dir/wrong.lua" --set vm.swappiness=10 --tap
expect 1 "not ok 2 sim: each.pgfault == 0" run "$dir/wrong.lua" --tap
expect 1 "# $dir/wrong.lua:4: default.pgfault = " run "$dir/wrong.lua" --tap
expect 0 "ok 1 sim: every run ends well" run smoke --tap
[ "$("$quire" run smoke --tap | sed -n 1,2p)" = "KTAP version 1
1..4" ] || fail "--tap does not begin with version and plan"
expect 1 "not ok 1 sim: every run ends well" run "$dir/barrier.lua" --tap
expect 2 "are of all variants" run smoke --tap --vary loops=1,2

# Files: one for each kind.
expect 2 "--json and --csv would both be" run smoke --json "$dir/one" --csv "$dir/one"
expect 0 "elapsed" run smoke --json /dev/null --csv "$dir/one.csv"
"$quire" run madv-free --set size=1M --repeat 6 --md "$dir/x.md" --no-divergence >/dev/null 2>&1
grep -q '^| elapsed | lazy | [0-9.]* | \[' "$dir/x.md" || fail "--md has no ratios"
awk -F'|' '/CPU seconds/ { sum = 0 }
	$2 ~ /^ [+-][0-9]+\.[0-9]+ $/ {
		ns = $2; gsub(/[ .]/, "", ns)
		if ($3 !~ /= elapsed/) sum += ns
		else if (sum != ns + 0) exit 1
		else n++
	}
	END { exit n != 2 }' "$dir/x.md" || fail "--md: the spans do not add up"

# Stopping and walking.
expect 0 "stopped at 0.001000000 s, after" run smoke --stop-at 1ms
expect 0 "node 0 zone DMA32: free" run smoke --stop-at 1ms
"$quire" run smoke --set machine.ram=64M --stop-at 5ms | awk 'length > 80 { exit 1 }' || fail "a dump is too wide"
expect 0 "stopped at event #100 " run smoke --stop-at '#100'
expect 0 "page_fault address" run smoke --stop-at page_fault:7
expect 1 "before it comes to that" run smoke --stop-at oom_kill
expect 2 "did you mean page_fault?" run smoke --stop-at page_fult
expect 2 "is no time to stop at" run smoke --stop-at 1.5
expect 2 "expected a number from 1 on" run smoke --stop-at page_fault:0
expect 2 "choose a --variant" run madv-free --stop-at 1ms
expect 2 "are for the simulated machine" run smoke --stop-at 1ms --on host
printf 's\nt 2ms\nn madvise\nd\nx\nr\nq\n' | "$quire" run smoke --step >"$dir/out" 2>&1 || fail "--step"
for text in '^#1 ' 'madvise: \|: madvise address' 'LRU lists' 'the next event' '#.*  0\.002' 'the last events'; do
	grep -q "$text" "$dir/out" || fail "--step does not show $text"
done
"$quire" run smoke --step </dev/null >"$dir/out" 2>&1 || fail "--step without a terminal"
echo c | "$quire" run smoke --step >"$dir/out" 2>&1 || fail "--step c"
grep -q 'the run has ended at' "$dir/out" || fail "--step c does not reach the end"

# Sweeps: several axes, what is impossible, what goes on.
expect 2 "--vary expects NAME=VALUE" run smoke --vary size=1M..2M
expect 2 "--zip: loops has 2 values and size has 3" run smoke --vary loops=1,2 --vary size=1M..3M:3 --zip
expect 2 "--vary loops=x" run smoke --vary loops=x,y
expect 1 "impossible: loops=x" run smoke --vary loops=1,x,2 --repeat 1
expect 1 "elapsed" run smoke --vary loops=1,x,2 --repeat 1
expect 1 "impossible: machine.ram=1M" run smoke --vary machine.ram=1M,64M,128M --repeat 1
expect 0 "against loops; ratios to the first row" run smoke --vary loops=1..5:5 --repeat 2
expect 0 "against loops in step with size" run smoke --vary loops=1..5:5 --vary size=1M..5M:5 --zip --repeat 2
"$quire" run smoke --vary loops=1..6:6 --repeat 2 --json "$dir/sweep1.json" >"$dir/sweep1" 2>&1 || fail "sweep"
"$quire" run smoke --vary loops=1,2,3 --repeat 2 --state "$dir/state" >/dev/null 2>&1 || fail "--state"
size=$(stat -c %s "$dir/state")
truncate -s $((size - 100)) "$dir/state" # as if it had been interrupted while writing
"$quire" run smoke --vary loops=1..6:6 --repeat 2 --state "$dir/state" --json "$dir/sweep2.json" \
	>"$dir/sweep2" 2>&1 || fail "--state goes on"
cmp "$dir/sweep1" "$dir/sweep2" || fail "a resumed sweep prints something else"
cmp "$dir/sweep1.json" "$dir/sweep2.json" || fail "a resumed sweep writes something else"
size=$(stat -c %s "$dir/state")
"$quire" run smoke --vary loops=1..6:6 --repeat 2 --state "$dir/state" >/dev/null 2>&1
[ "$(stat -c %s "$dir/state")" = "$size" ] || fail "a finished sweep runs again"
expect 1 "is no state file" run smoke --vary loops=1,2 --state "$dir/sweep1.json"
expect 1 "No such file" run smoke --vary loops=1,2 --state /nonexistent/x
"$quire" run --from "$dir/sweep1.json" --json "$dir/sweep3.json" >/dev/null 2>&1
cmp "$dir/sweep1.json" "$dir/sweep3.json" || fail "--from of a sweep gives other bytes"

# Where variants part.
cat >"$dir/part.lua" <<'END'
scenario "part"
machine { profile = "small", cpus = 2, ram = "64M", swap = 0 }
variant "give" { ["madvise.free"] = "dontneed" }
variant "keep" { ["madvise.free"] = "lazy" }
variant "give2" { ["madvise.free"] = "dontneed" }
group "g" { count = 2, run = function(t)
	local m = t:mmap("1M")
	m:fill()
	m:madvise("free")
	m:munmap()
end }
END
expect 0 "where give and keep part, seed 1: event #" run "$dir/part.lua" --repeat 1
expect 0 "madvise_choice lazy 1" run "$dir/part.lua" --repeat 1
expect 0 "where give and give2 part, seed 1: nowhere; all" run "$dir/part.lua" --repeat 1
"$quire" run "$dir/part.lua" --repeat 1 --no-divergence | grep -q "part, seed" && fail "--no-divergence"

"$quire" run "$dir/part.lua" --repeat 1 --json "$dir/part.json" >/dev/null 2>&1
expect 0 "where give and keep part, seed 1: event #" compare "$dir/part.json"
"$quire" run "$dir/part.lua" --repeat 1 --set madvise.free=lazy --json "$dir/part2.json" >/dev/null 2>&1
expect 0 "where A and B part, seed 1: event #" compare "$dir/part.json" "$dir/part2.json"
"$quire" compare "$dir/part.json" --no-divergence | grep -q "part, seed" && fail "compare --no-divergence"

# A result runs again to the same bytes, is compared, and is believed only if it is whole.
"$quire" run --from "$dir/1.json" --json "$dir/again.json" >/dev/null 2>&1 || fail "--from"
cmp -s "$dir/1.json" "$dir/again.json" || fail "--from gives other bytes"
expect 0 "the same in every value" compare "$dir/1.json" "$dir/again.json"
expect 0 "3 seeds from 1" compare "$dir/1.json"
expect 2 "has one variant" compare --across "$dir/1.json" "$dir/again.json"
expect 2 "which result?" compare
expect 2 "--across takes more" compare "$dir/1.json" "$dir/1.json" "$dir/1.json"
expect 2 "No such file" compare "$dir/nothing.json"
expect 2 "did you mean compare?" compere
"$quire" run smoke --repeat 3 --set size=8M --json "$dir/half.json" >/dev/null 2>&1
expect 0 "setting: param.size" compare "$dir/1.json" "$dir/half.json"
expect 0 "= elapsed x CPUs" compare "$dir/1.json" "$dir/half.json"
"$quire" run smoke --repeat 3 --seed 2 --json "$dir/seeds.json" >/dev/null 2>&1
expect 2 "they are no pairs" compare "$dir/1.json" "$dir/seeds.json"
"$quire" run "$dir/full.lua" --repeat 3 --json "$dir/full.json" >/dev/null 2>&1
expect 2 "only the same can be compared" compare "$dir/1.json" "$dir/full.json"
head -c 3000 "$dir/1.json" >"$dir/cut.json"
expect 2 "cut.json: line" compare "$dir/cut.json"
expect 2 "it is not whole" run --from "$dir/cut.json"
sed 's/"pgfault": [0-9][0-9]*,/"pgfault": 7,/' "$dir/1.json" >"$dir/edit.json"
expect 2 "has been changed since quire wrote it" compare "$dir/1.json" "$dir/edit.json"
sed 's/"schema": 2/"schema": 1/' "$dir/1.json" >"$dir/old.json"
expect 2 "has schema 1, and this Quire reads schema 2" compare "$dir/old.json"
"$quire" reproduce madv-free --seeds 1 --set size=1M --json "$dir/rep.json" >/dev/null 2>&1
expect 2 'is of kind "reproduce"' compare "$dir/rep.json"
cp "$dir/full.lua" "$dir/moved.lua"
"$quire" run "$dir/moved.lua" --json "$dir/moved.json" >/dev/null 2>&1
echo "-- another" >>"$dir/moved.lua"
expect 2 "has changed since" run --from "$dir/moved.json"
# So has a machine, by the profile that its own is based on.
mkdir -p "$dir/data/machines" "$dir/data/scenarios"
cp "${QUIRE_DATA:-.}/machines/small.lua" "$dir/data/machines/"
cp "${QUIRE_DATA:-.}/scenarios/smoke.lua" "$dir/data/scenarios/"
echo 'machine "mine" { base = "small", hz = 100 }' >"$dir/data/machines/mine.lua"
(
	export QUIRE_DATA="$dir/data"
	expect 0 "machine.hz                           = 100 " run smoke --machine mine --print-config
	"$quire" run smoke -q --machine mine --json "$dir/mine.json" >/dev/null 2>&1 || fail "--machine mine"
	expect 0 "elapsed" run -q --from "$dir/mine.json"
	echo '-- another' >>"$dir/data/machines/small.lua"
	expect 2 "has changed since" run -q --from "$dir/mine.json"
	expect 0 "elapsed" run -q --from "$dir/mine.json" --machine small
	echo 'machine "mine" { base = "smal" }' >"$dir/data/machines/mine.lua"
	expect 2 "mine.lua:1: machine: unknown machine profile 'smal'; did you mean 'small'?" run smoke --machine mine
	exit $failed
) || failed=1
"$quire" run smoke --proc "$dir/proc" >/dev/null 2>&1 || fail "--proc"
for f in vmstat zoneinfo meminfo buddyinfo; do
	[ -s "$dir/proc/$f" ] || fail "--proc writes no $f"
done
expect 1 "/nonexistent/proc" run smoke --proc /nonexistent/proc
"$quire" run smoke >/dev/full 2>"$dir/err"
[ $? = 1 ] && grep -q 'cannot write the output' "$dir/err" || fail "full standard output"

"$quire" --help 2>/dev/null >/dev/full
[ $? = 1 ] || fail "--help on a full disk"

# start_measuring() leaves out what came before, on both targets: 16 MiB of faults do not count, 4 do.
# On the simulated machine every CPU's spans still add up, or the run would panic.
cat >"$dir/warm.lua" <<'EOF'
scenario "warm"
param { host = 0 }
group "main" { run = function(t)
	local m = t:mmap("20M")
	m:fill(0, "16M")
	t:start_measuring()
	m:fill("16M", "4M")
end }
group "other" { count = 3, run = function(t) for _ = 1, 50 do t:compute("100us") end end }
if param.host == 0 then expect { "each.pgfault == 1024", "each.elapsed < 0.01" } end
if param.host == 1 then expect { "each.pgfault >= 1024", "each.pgfault < 4096" } end
EOF
expect 0 "1024" run "$dir/warm.lua"
expect 0 "pgfault" run "$dir/warm.lua" --on host --set param.host=1

children() {
	cat "/proc/$1/task/$1/children" 2>/dev/null
}

# Ctrl-C: dies of the signal, takes its children along, leaves no file.
"$quire" run "$dir/long.lua" --repeat 4 -j 2 --json "$dir/never.json" >/dev/null 2>&1 &
pid=$!
for _ in $(seq 50); do
	read -r child other < <(children $pid)
	[ -n "$other" ] && break
	sleep 0.1
done
[ -n "$other" ] || fail "no two children are running"
kill -TERM $pid
wait $pid
status=$?
[ $status = 143 ] || fail "ended with $status instead of 143 after SIGTERM"
sleep 0.2
[ -z "$child" ] || ! kill -0 "$child" 2>/dev/null || fail "a child outlives SIGTERM"
compgen -G "$dir/never*" >/dev/null && fail "a file is left after SIGTERM"

# A parent that is killed takes its children along too.
"$quire" run "$dir/long.lua" --repeat 4 -j 2 >/dev/null 2>&1 &
pid=$!
for _ in $(seq 50); do
	read -r child other < <(children $pid)
	[ -n "$child" ] && break
	sleep 0.1
done
kill -KILL $pid
wait $pid 2>/dev/null
for _ in $(seq 20); do
	kill -0 "$child" 2>/dev/null || break
	sleep 0.1
done
kill -0 "$child" 2>/dev/null && fail "a child outlives SIGKILL of its parent"

[ $failed = 0 ] && echo "ok"
exit $failed
