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
quire compare before.json after.json | grep -q '= elapsed x CPUs\|the same in every value' || {
	echo "FAIL the edit is not compared"
	exit 1
}
