#!/bin/sh
# SPDX-License-Identifier: MIT
# The tarball of `make dist`: twice the same, from here and from a clone; it has the files of the
# commit, in order, with the commit's time and no owner; and unpacked, without git, it passes.
#
#	MAKE=make dist.sh VERSION [make's arguments in the unpacked tree...]
set -eu

version=$1
shift
make="${MAKE:-make} --no-print-directory"
unset MAKEFLAGS MFLAGS
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
name=baton-$version

fail()
{
	echo "check-dist: $*"
	exit 1
}

$make dist
cp "build/$name.tar.gz" "$tmp/first.tar.gz"
git clone -q . "$tmp/clone"
(cd "$tmp/clone" && umask 077 && TZ=Asia/Tokyo GZIP=-1 $make dist)
cmp "$tmp/first.tar.gz" "$tmp/clone/build/$name.tar.gz" || fail 'a clone makes another tarball'
rm -rf "$tmp/clone"

git ls-tree -r --name-only HEAD | sed "s|^|$name/|" | LC_ALL=C sort >"$tmp/tracked"
tar -tf "$tmp/first.tar.gz" | grep -v '/$' >"$tmp/files"
cmp "$tmp/tracked" "$tmp/files" || fail "other files than the commit's, or in another order"
tar --utc --full-time -tvf "$tmp/first.tar.gz" | awk '{print $2, $4, $5}' | sort -u >"$tmp/owners"
time=$(TZ=UTC git log -1 --format=%cd --date=format-local:'%Y-%m-%d %H:%M:%S')
[ "$(cat "$tmp/owners")" = "root/root $time" ] || {
	head -n 3 "$tmp/owners"
	fail "an owner other than root, or another time than the commit's, $time"
}

tar -C "$tmp" -xf "$tmp/first.tar.gz"
cd "$tmp/$name"
! git rev-parse --git-dir >/dev/null 2>&1 || fail "$tmp is in a git repository"
$make -j"$(nproc)" "$@" >"$tmp/log" 2>&1 || {
	tail -n 40 "$tmp/log"
	fail "the unpacked tree does not pass: make $*"
}
! $make dist >/dev/null 2>&1 || fail 'a tarball is made without git'
