#!/bin/sh
# SPDX-License-Identifier: MIT
# Fetches Debian's Concurrency Kit for arm64 into a folder, without a foreign architecture on this
# machine: apt-get with lists of its own.
#
#	arm64.sh DIRECTORY	then DIRECTORY/include and DIRECTORY/lib/libck.a are there
set -eu

mkdir -p "$1"
dir=$(cd "$1" && pwd)
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
rm -rf "$dir/root" "$dir/include" "$dir/lib"
dpkg-deb -x "$dir"/libck-dev_*_arm64.deb "$dir/root"
mkdir -p "$dir/lib"
mv "$dir/root/usr/include" "$dir/include"
# The archive alone: nothing of this is found at run time.
mv "$dir/root/usr/lib/aarch64-linux-gnu/libck.a" "$dir/lib/"
rm -rf "$dir/root" "$dir/lists" "$dir/cache" "$dir"/*.deb
