#!/bin/sh
# SPDX-License-Identifier: MIT
# Fresh roots: this machine's release of Debian, by debootstrap, from this machine's mirror.
#
#	root.sh can			says what a root lacks here, and fails if it lacks something
#	root.sh new ROOT		makes one; the folder DEB keeps what was downloaded
#	root.sh in ROOT COMMAND...	runs a command in it; mounts and processes end with it
set -eu

here=$(realpath "$0")
cache=$(realpath -m "$DEB/archives")

mirror()
{
	. /etc/os-release
	apt-get update --print-uris |
		sed -n "s|^'\(.*\)/dists/$VERSION_CODENAME/InRelease'.*|\1|p" | head -n 1
}

case $1 in
can)
	lacks=
	for command in debootstrap unshare chroot apt-get; do
		command -v $command >/dev/null || lacks=$command
	done
	[ "$(id -u)" = 0 ] || lacks='right of root'
	[ -n "$lacks" ] || unshare --mount true 2>/dev/null || lacks='leave to mount'
	[ -n "$lacks" ] || [ -n "$(mirror)" ] || lacks="a mirror of Debian in apt's sources"
	[ -n "$lacks" ] || "$here" base || lacks='what debootstrap downloads'
	[ -z "$lacks" ] || {
		echo "There is no $lacks."
		exit 1
	}
	;;
base) # of which all roots are copies
	[ ! -e "$DEB/base/made" ] || exit 0
	. /etc/os-release
	rm -rf "$DEB/base"
	mkdir -p "$DEB/base" "$cache/partial"
	debootstrap --variant=minbase --cache-dir="$cache" "$VERSION_CODENAME" "$DEB/base" \
		"$(mirror)" >"$DEB/base.log" 2>&1
	touch "$DEB/base/made"
	;;
new)
	"$here" base
	rm -rf "$2"
	cp -a "$DEB/base" "$2"
	"$here" in "$2" apt-get -qq update
	;;
in)
	root=$2
	shift 2
	# shellcheck disable=SC2016 # expanded by the shell inside
	exec unshare --mount --pid --fork --kill-child sh -c '
		root=$1 cache=$2
		shift 2
		mount -t proc proc "$root/proc"
		mkdir -p "$root/dev/shm"
		mount -t tmpfs tmpfs "$root/dev/shm"
		mount --bind "$cache" "$root/var/cache/apt/archives"
		exec chroot "$root" env -i "PATH=/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root \
			LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
			"http_proxy=${http_proxy-}" "$@"' sh "$root" "$cache" "$@"
	;;
esac
