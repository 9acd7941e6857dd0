#!/bin/bash
# The comparisons of the mails, small, with eight pairs each: quire compare calls them in the mails' direction,
# with significance. QUIRE is the program.

quire=${QUIRE:-build/quire}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

compare() { # SCENARIO OPTION...: what quire compare says of it
	"$quire" run "$@" --repeat 8 -q --no-divergence --json "$dir/r.json" >"$dir/run" 2>&1
	"$quire" compare "$dir/r.json" --no-divergence >"$dir/out" 2>&1 || {
		echo "FAIL compare of $*: $(tail -1 "$dir/out")"
		failed=1
	}
}

called() { # TIME VARIANT better|worse
	grep -qE "^ +$1 +$2 .* ($3)\$" "$dir/out" && return
	echo "FAIL $1 of $2 is not called $3:"
	sed -n '/^ *ratio to/,/^$/p' "$dir/out"
	failed=1
}

# 001: mlock without the drain is many times faster (20.566 s to 1.675 s); asking only CPUs that hold pages
# lies between them on a machine that is idle.
compare mlock-drain --set iterations=200
called elapsed none better
called sys none better
called elapsed counted better

# 003: the walk per page is slower than that per VMA (1.93 s to 5.636 s), with forks even more so.
compare thp-split --set huge_pages=32 --set forks=10 --variant vma_0,page_0
called elapsed page_0 worse
compare thp-split --set huge_pages=32 --set forks=10 --variant vma_100,page_100
called elapsed page_100 worse
called sys page_100 worse

# 004: what the snapshots cost is system time. (Of elapsed time the mail says nothing. On a machine as small as this
# the reserve shortens it, too, probably because reclaim waits less for bios with more pages free.)
compare drift --variant snapshot,reserve --set machine.cpus=16 --set machine.nodes=1 --set machine.sockets=1 \
	--set machine.ram=512M --set percent=200
called sys reserve better

# 000: of a machine as small as this the times differ from the mail's (docs/EXPERIMENTS.md has those of larger
# ones); that pages freed lazily are read back from swap to be overwritten does not.
compare madv-free --variant dontneed,lazy --set size=4M --set machine.ram=32M --set machine.swap=256M
grep -qE "^ +pswpin +0 +[0-9.]+ \( +new\)" "$dir/out" || {
	echo "FAIL lazily freed pages are not swapped in"
	failed=1
}
[ $failed = 0 ] && echo ok
exit $failed
