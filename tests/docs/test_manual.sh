#!/bin/bash
# The manual page and the completion know every verb and every option; the installed program finds its data.

quire=${QUIRE:-build/quire}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
	echo "FAIL $*"
	failed=1
}

tools/make-man "$quire" >"$work/quire.1" || fail "make-man"
verbs=$("$quire" --help | awk '/^  [a-z]+  +[^ ]/ { print $1 }')
[ "$(echo "$verbs" | wc -l)" -ge 4 ] || fail "verbs: $verbs"
for verb in $verbs; do
	"$quire" "$verb" --help >"$work/help" || fail "$verb --help"
	grep -q '^examples:' "$work/help" || fail "$verb --help has no examples"
	for option in $(grep -oE '^ +(-[a-z], )?--[a-z-]+' "$work/help" | grep -oE -- '--[a-z-]+'); do
		grep -qF -- "${option//-/\\-}" "$work/quire.1" || fail "quire(1) lacks $verb $option"
	done
done
if command -v groff >/dev/null; then
	groff -man -Tutf8 -ww -z "$work/quire.1" >"$work/warnings" 2>&1
	[ -s "$work/warnings" ] && fail "groff: $(head -3 "$work/warnings")"
fi

# What completion offers after some words; the last is the beginning that is typed.
offers() {
	COMP_WORDS=("$quire" "$@")
	COMP_CWORD=$#
	_quire
	echo "${COMPREPLY[*]}"
}
. tools/completion.bash
[ "$(offers compa)" = compare ] || fail "completion of a verb: $(offers compa)"
[ "$(offers run --stop)" = --stop-at ] || fail "completion of an option: $(offers run --stop)"
[ "$(offers run smo)" = smoke ] || fail "completion of a scenario: $(offers run smo)"
[ "$(offers run smoke --set vm.swapp)" = vm.swappiness= ] || fail "completion of a knob"
[ "$(offers run smoke --machine smal)" = small ] || fail "completion of a machine"

[ "$(offers run smoke --kernel 2.6.35)" = 2.6.35 ] || fail "completion of a kernel"
[ "$(offers list kern)" = kernels ] || fail "completion of a topic"
for verb in run compare reproduce list; do
	"$quire" $verb --help | awk -v v=$verb 'length($0) > 80 { print "FAIL " v " --help is wide: " $0; n = 1 } END { exit n }' || failed=1
done

make -s install DESTDIR="$work/root" PREFIX=/usr >"$work/out" 2>&1 || fail "make install: $(tail -3 "$work/out")"
[ -s "$work/root/usr/share/man/man1/quire.1" ] || fail "no manual page is installed"
[ -s "$work/root/usr/share/bash-completion/completions/quire" ] || fail "no completion is installed"
(cd / && unset QUIRE_DATA && "$work/root/usr/bin/quire" run smoke >/dev/null) || fail "the installed quire"
[ $failed = 0 ] && echo ok
exit $failed
