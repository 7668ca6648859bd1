#!/bin/sh
# SPDX-License-Identifier: MIT
# A cross build, as a packager makes one: `make CC=... install` in a copy of the tree. A program of
# each library, shared and static, by pkg-config, runs under qemu-aarch64 where it is. And the
# interface is that of the release.
#
#	MAKE=make CC=aarch64-linux-gnu-gcc cross.sh VERSION RELEASED.txt DEPENDENCIES ROOT
#
# DEPENDENCIES: a folder with include and lib for that machine. ROOT: where its libc lies.
set -eu

cc=$CC
version=$1
released=$2
depends=$(cd "$3" && pwd)
root=$4
make="${MAKE:-make} --no-print-directory"
unset MAKEFLAGS MFLAGS MAKELEVEL
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail()
{
	echo "check-cross: $*"
	exit 1
}

mkdir "$tmp/tree"
cp -r Makefile .ci include src examples test LICENSE README.md "$tmp/tree/"
(cd "$tmp/tree" && $make -j"$(nproc)" CC="$cc" CFLAGS="-O2 -g -isystem $depends/include" \
	LDFLAGS="-L$depends/lib" PREFIX=/usr DESTDIR="$tmp/root" \
	install) >"$tmp/log" 2>&1 || {
	tail -n 40 "$tmp/log"
	fail "make CC=$cc"
}
lib=$tmp/root/usr/lib
machine=$(echo 'int one;' | $cc -c -x c -o "$tmp/one.o" - &&
	readelf -h "$tmp/one.o" | grep 'Machine:')
for library in "$lib"/libbaton*.so."$version"; do
	readelf -h "$library" | grep -qxF "$machine" || fail "$library is not for: $machine"
done
[ ! -e "$depends/lib/libhiredis.so" ] || [ -e "$lib/libbaton-redis.so" ] ||
	fail 'hiredis is there, but no libbaton-redis is made'

export PKG_CONFIG_SYSROOT_DIR="$tmp/root" PKG_CONFIG_LIBDIR="$lib/pkgconfig"
export QEMU_SET_ENV="LD_LIBRARY_PATH=$lib:$depends/lib"
run=true
! command -v qemu-aarch64 >/dev/null || run="qemu-aarch64 -L $root"
cp examples/counter.c examples/check.h test/install/*.c "$tmp"
mv "$tmp/counter.c" "$tmp/baton.c"
for pc in "$lib"/pkgconfig/*.pc; do
	package=${pc##*/}
	package=${package%.pc}
	program=${package#baton-}
	# shellcheck disable=SC2046,SC2086 # words, on purpose
	for kind in shared static; do
		option=
		[ $kind = shared ] || option=-static
		$cc -std=gnu11 $option -o "$tmp/$program-$kind" "$tmp/$program.c" \
			$(pkg-config --cflags ${option:+--static} --libs "$package") \
			-L"$depends/lib" -Wl,-rpath-link,"$depends/lib" >"$tmp/log" 2>&1 || {
			cat "$tmp/log"
			fail "a $kind program does not build by $package.pc"
		}
		timeout 300 $run "$tmp/$program-$kind" >"$tmp/log" 2>&1 || {
			cat "$tmp/log"
			fail "a $kind program with $package fails"
		}
	done
done
[ "$run" != true ] || echo 'check-cross: the programs are not run: no qemu-aarch64'

if command -v abidw >/dev/null; then
	test/abi/interface.sh include "$lib"/libbaton*.so >"$tmp/now"
	awk -v version="$version" -f test/abi/compare.awk "$released" "$tmp/now" ||
		fail 'the interface is not that of the release'
fi
