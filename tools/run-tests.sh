#!/bin/bash
# Run the test programs given as arguments, in parallel, then the tests that are scripts
# (tests/*.sh and tests/*/test_*.sh), one after the other; called by `make test`.
#
# Exit status of a test: 0 passed, 77 skipped (its last lines say why), anything else failed.
# Tests of the host's kernel (tests/host) change the machine, so they run alone.
#
#   T=name       only this one, with its output shown
#   SEED=0x..    handed on as QUIRE_SEED

build=${QUIRE_BUILD:-build}
limit=${QUIRE_TEST_TIMEOUT:-600}
logs=$build/test-logs
mkdir -p "$logs"
rm -f "$logs"/*.log "$logs"/*.status

absolute=$(realpath "$build")
export PATH="$absolute:$PATH"
export QUIRE="$absolute/quire"
export QUIRE_BUILD="$build"
[ -n "$SEED" ] && export QUIRE_SEED="$SEED"
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

# tests/core/test_page_alloc -> core/page_alloc
name_of() {
	local n=${1#"$build"/}
	n=${n#tests/}
	n=${n%.sh}
	echo "${n/test_/}"
}

run_one() {
	local name log status
	name=$(name_of "$1")
	log=$logs/${name//\//-}
	local interpreter=
	[ "${1%.sh}" = "$1" ] || interpreter=bash
	# The group's redirection hides what the shell says about a test that dies of a signal.
	{ timeout -k 10 "$limit" $interpreter "$1" >"$log.log" 2>&1 </dev/null; } 2>/dev/null
	status=$?
	[ $status = 124 ] && echo "no end after $limit s" >>"$log.log"
	echo $status >"$log.status"
	case $status in
	0) printf '  ok    %s\n' "$name" ;;
	77) printf '  SKIP  %s: %s\n' "$name" "$(tail -1 "$log.log" | sed 's/^skipped: //')" ;;
	*)
		# One write, so that failures of parallel tests do not mix.
		printf '%s\n' "$(
			printf '  FAIL  %s (status %s)\n' "$name" $status
			tail -n 60 "$log.log" | sed 's/^/        /'
			if ! grep -q '^again: ' "$log.log"; then
				seed=$(sed -n 's/^seed \(0x[0-9a-f]*\).*/\1/p' "$log.log" | head -1)
				printf '        again: make test T=%s%s\n' "${name##*/}" \
					"${seed:+ SEED=$seed}"
			fi
		)"
		;;
	esac
	[ -n "$T" ] && [ $status = 0 ] && sed 's/^/        /' "$log.log"
	return 0
}
export -f run_one name_of
export build logs limit T

shared=() alone=() scripts=()
for t; do
	case $t in
	*/tests/host/*) alone+=("$t") ;;
	*) shared+=("$t") ;;
	esac
done
for s in tests/*.sh tests/*/test_*.sh; do
	[ -f "$s" ] || continue
	n=$(basename "$s" .sh)
	if [ -z "$T" ] || [ "${n#test_}" = "$T" ]; then scripts+=("$s"); fi
done

if [ ${#shared[@]} -gt 0 ]; then
	printf '%s\0' "${shared[@]}" |
		xargs -0 -n 1 -P "$(nproc 2>/dev/null || echo 1)" bash -c 'run_one "$1"' run_one
fi
for t in "${alone[@]}" "${scripts[@]}"; do run_one "$t"; done

passed=0 failed=0 skipped=0
for f in "$logs"/*.status; do
	[ -f "$f" ] || continue
	case $(cat "$f") in
	0) passed=$((passed + 1)) ;;
	77) skipped=$((skipped + 1)) ;;
	*) failed=$((failed + 1)) ;;
	esac
done
total=$((passed + failed + skipped))
if [ $total = 0 ]; then
	echo "no test is called '${T:-*}'" >&2
	exit 2
fi
[ $total = $((${#shared[@]} + ${#alone[@]} + ${#scripts[@]})) ] || failed=$((failed + 1))
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
