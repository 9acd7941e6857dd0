#!/bin/bash
# docs/TUTORIAL.md, followed literally in a copy of the tree.

. tests/docs/scratch.sh
tools/follow-doc docs/TUTORIAL.md || exit 1
for f in first.json sweep.csv sweep.state before.json after.json; do
	[ -s "$f" ] || {
		echo "FAIL no $f"
		exit 1
	}
done
quire compare before.json after.json >compared
grep -q '= elapsed x CPUs\|the same in every value' compared || {
	echo "FAIL the edit is not compared"
	exit 1
}

# Two builds: between which moments their runs part, and closer once each has looked there.
window() { # FILE: the moments in what compare printed, as an option has them
	sed -n 's/^ *--series-window \([^ ]*\) --json.*/\1/p' "$1"
}
from=$(window compared)
[ -n "$from" ] || {
	echo "FAIL compare does not say where the two builds' runs part"
	exit 1
}
quire run --from after.json --series-window "$from" --json after2.json -q >/dev/null
sed -i 's/threshold += threshold;/threshold += threshold >> 1;/' core/madvise.c
make -s
quire run --from before.json --series-window "$from" --json before2.json -q >/dev/null
quire compare before2.json after2.json >closer
[ -n "$(window closer)" ] && [ "$(window closer)" != "$from" ] || {
	echo "FAIL no closer than $from"
	exit 1
}
