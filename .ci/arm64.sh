#!/bin/sh
# SPDX-License-Identifier: MIT
# Fetches Debian's Concurrency Kit for arm64 into a folder, without a foreign architecture on this
# machine: apt-get with lists of its own.
#
#	arm64.sh DIRECTORY [PACKAGE...]	then DIRECTORY/include and DIRECTORY/lib/libck.a are there
#
# And the headers and libraries of further packages that can be had.
set -eu

mkdir -p "$1"
dir=$(cd "$1" && pwd)
shift
mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
log=$dir/apt.log

apt()
{
	apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 \
		-o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir/cache" \
		-o Debug::NoLocking=1 "$@" >>"$log" 2>&1
}

: >"$log"
# A list that cannot be had is somebody else's; what is missing then shows at the download.
apt update || true
(cd "$dir" && apt download libck-dev:arm64) || {
	cat "$log" >&2
	echo "No libck-dev for arm64: apt-get download libck-dev:arm64 has failed" >&2
	exit 1
}
for package; do
	(cd "$dir" && apt download "$package:arm64") || echo "Going on without $package for arm64"
done
rm -rf "$dir/root" "$dir/include" "$dir/lib"
for package in "$dir"/*_arm64.deb; do
	dpkg-deb -x "$package" "$dir/root"
done
mkdir -p "$dir/lib"
mv "$dir/root/usr/include" "$dir/include"
# Of Concurrency Kit the archive alone: it is not found at run time.
rm -f "$dir"/root/usr/lib/aarch64-linux-gnu/libck.so*
mv "$dir"/root/usr/lib/aarch64-linux-gnu/lib*.* "$dir/lib/"
rm -rf "$dir/root" "$dir/lists" "$dir/cache" "$dir"/*.deb
