#!/bin/sh
# Run the benchmark programs and gather what they print; called by `make bench`.
#
#   tools/bench.sh OUT.json PROGRAM...
#
# A program prints text for people and, each on a line of its own, objects such as
#   {"name":"fault","value":14.2,"unit":"M/s","floor":10,"wanted":14,"yardstick_ns":1.1}
# which become the elements of one array.

out=$1
shift
if [ $# = 0 ]; then
	echo "no benchmarks (tests/bench/*.c)" >&2
	exit 0
fi
mkdir -p "$(dirname "$out")"
lines=$(mktemp) || exit 1
trap 'rm -f "$lines"' EXIT
status=0
for program; do
	echo "== $(basename "$program")"
	"$program" </dev/null >"$lines.one" || {
		echo "FAIL $(basename "$program")" >&2
		status=1
	}
	grep -v '^{.*}$' "$lines.one"
	grep '^{.*}$' "$lines.one" | tee -a "$lines"
	rm -f "$lines.one"
done
awk 'BEGIN { printf "[" } { printf "%s\n  %s", (NR > 1 ? "," : ""), $0 } END { print "\n]" }' \
	"$lines" >"$out" || exit 1
echo "results: $out"
exit $status
