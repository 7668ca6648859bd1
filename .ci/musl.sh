#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes Concurrency Kit for musl, from Debian's source package: the library's archive is glibc's.
#
#	musl.sh DIRECTORY	then DIRECTORY/include and DIRECTORY/lib/libck.a are there
#
# The headers are those of libck-dev, and the kernel's, which musl-gcc does not find by itself.
# Environment: MUSL_CC (musl-gcc).
set -eu

cc=${MUSL_CC:-musl-gcc}
mkdir -p "$1"
dir=$(cd "$1" && pwd)
rm -rf "$dir/include" "$dir/lib"
mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/sources" "$dir/include" "$dir/lib"
log=$dir/apt.log

# This machine's sources, but for source packages, with lists of our own.
for file in /etc/apt/sources.list.d/*.sources; do
	[ ! -e "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$dir/sources/${file##*/}"
done
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
	[ ! -e "$file" ] || sed -n 's/^deb[ \t]/deb-src /p' "$file" >"$dir/sources/${file##*/}"
done
[ ! -e "$dir/sources/sources.list" ] || mv "$dir/sources/sources.list" "$dir/sources/main.list"

apt()
{
	apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$dir/sources" \
		-o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir/cache" \
		-o Debug::NoLocking=1 "$@" >>"$log" 2>&1
}

: >"$log"
# A list that cannot be had is somebody else's; what is missing then shows at the download.
apt update || true
(cd "$dir" && apt source --download-only ck) || {
	cat "$log" >&2
	echo "No sources of Concurrency Kit: apt-get source ck has failed" >&2
	exit 1
}
mkdir -p "$dir/ck"
tar -C "$dir/ck" --strip-components 1 -xf "$dir"/ck_*.orig.tar.*

triplet=$(${CC:-cc} -print-multiarch)
for header in /usr/include/ck_*.h /usr/include/gcc /usr/include/spinlock /usr/include/linux \
	/usr/include/asm-generic "/usr/include/$triplet/asm"; do
	[ ! -e "$header" ] || ln -s "$header" "$dir/include/"
done
for name in epoch hs; do
	$cc -std=gnu11 -D_GNU_SOURCE -O2 -w -isystem "$dir/include" -c "$dir/ck/src/ck_$name.c" \
		-o "$dir/lib/ck_$name.o"
done
ar rcs "$dir/lib/libck.a" "$dir"/lib/*.o
rm -rf "$dir/ck" "$dir/lists" "$dir/cache" "$dir/sources" "$dir"/lib/*.o "$dir"/ck_*
