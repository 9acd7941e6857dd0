#!/bin/bash
# docs/POLICY.md, followed literally in a copy of the tree: it works, and touches at most three files.

. tests/docs/scratch.sh
tools/follow-doc docs/POLICY.md >changed || {
	cat changed
	exit 1
}
cat changed
[ "$(grep -c '^changed:' changed)" -le 3 ] || {
	echo "FAIL more than three files"
	exit 1
}
[ -s above-low.json ] && grep -q '"value": "above_low"' above-low.json || {
	echo "FAIL the result does not have the new value"
	exit 1
}
