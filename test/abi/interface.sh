#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints what the binary of a program has of the interface, one fact a line, sorted.
#
#	CC=cc interface.sh INCLUDE LIBRARY.so...
#
# library, symbol: a shared library's soname, and what it exports, with its version.
# function, typedef, struct, enum: what the headers below INCLUDE declare, as the compiler lays it
# out, read from debug information by abidw.
# macro, inline: constants, initialisers and inline functions, which are compiled into programs.
#
# The types are those of a file that includes all headers, not of the libraries: so they depend
# neither on private types nor on how a library was optimised or stripped. The compiler has seen
# that a library's functions have the types of the headers.
set -eu

include=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

headers=$(cd "$include" && ls baton.h baton/*.h)
{
	for header in $headers; do
		echo "#include <$header>"
	done
} >"$dir/all.c"
{
	cat "$dir/all.c"
	(cd "$include" && awk -f "$OLDPWD/src/map.awk" /dev/null $headers) |
		sed -n 's/^[[:space:]]*\(baton_[a-z0-9_]*\);/__typeof__(\1) *abi_\1;/p'
	(cd "$include" && cat $headers) |
		sed -n 's/^\(\(struct\|enum\|union\) \(baton_[a-z0-9_]*\)\) {$/\1 *abi_of_\3;/p'
} >"$dir/interface.c"
# shellcheck disable=SC2086 # words, on purpose
${CC:-cc} -std=gnu11 -g -O0 -fPIC -shared -nostdlib -I"$include" -o "$dir/interface.so" \
	"$dir/interface.c"
{
	for library; do
		name=${library##*/}
		name=${name%%.so*}
		readelf -d "$library" | sed -n "s/.*soname: \[\(.*\)\]/library $name: \1/p"
		nm -D --defined-only --with-symbol-versions "$library" |
			awk -v name="$name" '$2 != "A" {
				at = index($3, "@")
				print "symbol " name " " substr($3, 1, at - 1) ": " substr($3, at)
			}'
	done
	abidw --exported-interfaces-only --no-show-locs "$dir/interface.so" |
		awk -f test/abi/types.awk
	${CC:-cc} -std=gnu11 -E -dD -I"$include" "$dir/all.c" | awk -f test/abi/macros.awk
	(cd "$include" && cat $headers) | awk -f test/abi/inlines.awk
} | LC_ALL=C sort
