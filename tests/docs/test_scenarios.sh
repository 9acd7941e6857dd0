#!/bin/bash
# docs/SCENARIOS.md names every word and method that a scenario can use, and its examples run.

quire=${QUIRE:-build/quire}
doc=docs/SCENARIOS.md
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
	echo "FAIL $*"
	failed=1
}

# {"name", function} of the tables of words and methods, and lua_register(L, "name", function).
words=$(sed '/ignored\[\]/,/};/d' load/script_*.c |
	grep -oE '\{"[a-z_0-9]+", +[a-z_]+\}|lua_register\(L, "[a-z_]+"' | grep -oE '"[a-z_0-9]+"' | tr -d '"' | sort -u)
[ "$(echo "$words" | wc -l)" -gt 40 ] || fail "too few words found in load/script_*.c"
for word in $words; do
	grep -qE "[\`:]$word( \"|[ (\`])" "$doc" || fail "$doc does not say what '$word' is"
done

awk -v dir="$work" '
	/^```lua$/ { file = sprintf("%s/%d.lua", dir, ++n); next }
	/^```/ { file = ""; next }
	file != "" { print >file }
' "$doc"
for example in "$work"/*.lua; do
	set -- "$example"
	grep -q '^machine "' "$example" && set -- smoke --machine "$example" # a profile
	"$quire" run "$@" >"$work/out" 2>&1 || fail "$(basename "$example"): $(tail -3 "$work/out")"
done
[ $failed = 0 ] && echo ok
exit $failed
