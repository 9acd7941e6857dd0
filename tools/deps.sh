#!/bin/sh
# Install, with apt-get, what is missing of what Quire is built from; silent if nothing is.
#
#   tools/deps.sh          for building and testing
#   tools/deps.sh check    also what `make check` needs
#
# Everything is looked for by use, not by package name, so other systems only have to have it.

need=
add() { need="$need $1"; }

command -v gcc >/dev/null || add gcc
command -v make >/dev/null || add make
if command -v pkg-config >/dev/null; then
	pkg-config --exists lua5.4 || add liblua5.4-dev
	pkg-config --exists jansson || add libjansson-dev
	pkg-config --exists cmocka || add libcmocka-dev
else
	need="$need pkg-config liblua5.4-dev libjansson-dev libcmocka-dev"
fi
[ -e /usr/include/stdio.h ] || add libc6-dev
command -v gnuplot >/dev/null || add gnuplot-nox

if [ "$1" = check ]; then
	command -v clang >/dev/null || add clang
	command -v clang-format >/dev/null || add clang-format
	# clang's sanitizer runtime is a package of its own, named after its version.
	if command -v clang >/dev/null; then
		version=$(clang -dumpversion | cut -d. -f1)
		[ -e "$(clang -print-file-name=libclang_rt.asan-x86_64.a)" ] ||
			[ -e "$(clang --rtlib=compiler-rt -print-file-name=libclang_rt.asan.a)" ] ||
			add "libclang-rt-$version-dev"
	else
		add libclang-rt-dev
	fi
fi

[ -z "$need" ] && exit 0

if ! command -v apt-get >/dev/null; then
	echo "quire: please install (Debian's names):$need" >&2
	exit 1
fi
root=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "quire: as root, please run: apt-get install$need" >&2
		exit 1
	fi
	root=sudo
fi

echo "quire: installing$need"
install() {
	# shellcheck disable=SC2086 # a list of words
	DEBIAN_FRONTEND=noninteractive $root apt-get install -y -q --no-install-recommends $need
}
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
if install >"$log" 2>&1; then
	exit 0
fi
# Package lists may be absent or stale on a fresh machine.
if $root apt-get update -q >>"$log" 2>&1 && install >>"$log" 2>&1; then
	exit 0
fi
cat "$log" >&2
exit 1
