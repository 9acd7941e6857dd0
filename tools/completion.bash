# Completion of quire for bash: verbs, their options, scenarios, machines, knobs. Everything is asked of the
# program, so it knows what the program knows.

_quire_lines() {
	"$quire" list "$1" 2>/dev/null | awk '/^[^ ]/ { print $1 }'
}

_quire() {
	local quire=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]}
	local prev=${COMP_WORDS[COMP_CWORD - 1]} words=

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		words="$("$quire" --help 2>/dev/null | awk '/^  [a-z]+  +[^ ]/ { print $1 }') --help --version"
	elif [[ $cur == -* ]]; then
		words=$("$quire" "$verb" --help 2>/dev/null | grep -oE '^ +(-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+')
	else
		case $prev in
		--machine) words=$(_quire_lines machines) ;;
		--set | --vary) words=$(_quire_lines knobs | sed 's/$/=/') ;;
		--kernel) words=$(_quire_lines kernels) ;;
		--on) words="sim host sim,host" ;;
		--stop-at | --from | --json | --csv | --md | --html | --trace | --folded | --state) ;;
		*)
			case $verb in
			run) words=$(_quire_lines scenarios) ;;
			reproduce) words=$("$quire" reproduce --help 2>/dev/null |
				awk '/^  [a-z]/ && !/^  quire/ { print $1 }') ;;
			list) words=$("$quire" list --help 2>/dev/null |
				awk '/^  [a-z]/ && !/^  quire/ { print $1 }') ;;
			esac
			;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	[ "${#COMPREPLY[@]}" = 1 ] && [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
	[ "${#COMPREPLY[@]}" = 0 ] && mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	return 0
}

complete -F _quire quire
