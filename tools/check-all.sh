#!/bin/bash
# Run every tools/check-* but this one, and say at the end which failed; called by `make check`.
# ONLY="format same" chooses some.

unset MAKEFLAGS MFLAGS MAKELEVEL # each check makes its own builds, on all cores
cd "$(dirname "$0")/.." || exit 1

all="format includes state compilers san same thp docs"
failed=
for check in ${ONLY:-$all}; do
	echo "== check-$check"
	tools/check-"$check" || failed="$failed check-$check"
done
if [ -n "$failed" ]; then
	echo "failed:$failed"
	exit 1
fi
echo "all checks passed"
