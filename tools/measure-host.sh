#!/bin/bash
# Measure this machine and print a profile for machines/, to run the simulated twin of host runs on:
#
#   tools/measure-host.sh [DIRECTORY] >machines/this-host.lua
#
# DIRECTORY (default /var/tmp) is where swap and other files go: its disk is measured with files of 256 MB.
# Takes about two minutes, needs no rights (with root it finds the exact memory map), and wants a
# machine that does nothing else. Where others cannot be kept away, make several such files, as root, which
# runs at nice -20, and let tools/merge-profiles make one of them. What cannot be measured from user space is left to the defaults of
# world/cost.h.
cd "$(dirname "$0")/.." || exit 1

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
${CC:-cc} -std=gnu11 -Wall -Wextra -O2 -I. -D_GNU_SOURCE -o "$work/measure-host" \
	tools/measure-host*.c lib/bug.c -lpthread -lm || exit 1

config() {
	zcat /proc/config.gz 2>/dev/null || cat "/boot/config-$(uname -r)" 2>/dev/null
}
hz=$(config | sed -n 's/^CONFIG_HZ=//p')
"$work/measure-host" "${hz:-0}" "${1:-/var/tmp}"
