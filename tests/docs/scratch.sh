# A copy of the sources to follow a document in; sourced by the tests beside it.
#
# Compiled without optimisation, because what is looked at is whether it works; and as its reader would: what
# variables this test was made with is not for that.

root=$PWD
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
for d in lib world core sim load report host cli scenarios machines tools docs; do
	[ -d "$d" ] && cp -r "$d" "$scratch/"
done
cp Makefile "$scratch/"
export CFLAGS=-O0
unset QUIRE QUIRE_DATA QUIRE_BUILD MAKEFLAGS MAKELEVEL CC SAN OPT WERROR DEBUG_VM BUILD
export PATH="$scratch/build:$PATH"
cd "$scratch" || exit 1
