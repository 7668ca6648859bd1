#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the packages of the source package in the folder DEB (source.sh): on this machine, or in a
# root (root.sh), where what they build with need not be installed on the machine.
#
#	DEB=build/deb VERSION=0.3.0 ARCH= build.sh OPTIONS [ROOT]
#
# ARCH: another architecture than this machine's, by a cross compiler; in a root alone. OPTIONS: of
# DEB_BUILD_OPTIONS, such as nocheck, beside those of the environment. With nocheck a build does not
# ask for what the tests need. What a build says is in DEB/build.log.
set -eu

here=$(dirname "$0")
root=${2-}
log=$DEB/build.log
options="parallel=$(nproc)${1:+ $1}${DEB_BUILD_OPTIONS:+ $DEB_BUILD_OPTIONS}"
profiles=
if [ "$ARCH" = "$(dpkg --print-architecture)" ]; then
	ARCH=
fi
if [ -n "$ARCH" ]; then
	: "${root:=$DEB/root-$ARCH}"
	options="$options nocheck"
fi
case $options in *nocheck*) profiles=${ARCH:+cross,}nocheck ;; esac

run() # command...
{
	"$@" >>"$log" 2>&1 || {
		tail -n 40 "$log" >&2
		echo "See $log" >&2
		exit 1
	}
}

: >"$log"
if [ -z "$root" ]; then
	unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL
	cd "$DEB/baton-$VERSION"
	log=../build.log
	DEB_BUILD_OPTIONS=$options run dpkg-buildpackage -us -uc -b ${profiles:+"-P$profiles"}
else
	"$here/root.sh" can
	run "$here/root.sh" new "$root"
	mkdir "$root/build"
	cp "$DEB"/baton_* "$root/build/"
	cat >"$root/build/build.sh" <<-'EOF2'
		set -eux
		install="apt-get install -q -y --no-install-recommends"
		if [ -n "$ARCH" ]; then
			dpkg --add-architecture "$ARCH"
			apt-get -q update
			$install "crossbuild-essential-$ARCH"
		else
			$install build-essential
		fi
		how="${ARCH:+-a$ARCH} ${PROFILES:+-P$PROFILES}"
		apt-get build-dep -q -y --no-install-recommends $how ./*.dsc
		dpkg-source -x ./*.dsc source
		cd source
		dpkg-buildpackage -us -uc -b $how
	EOF2
	run "$here/root.sh" in "$root" env -C /build ARCH="$ARCH" PROFILES="$profiles" \
		DEB_BUILD_OPTIONS="$options" sh build.sh
	cp "$root"/build/*.deb "$root"/build/*.buildinfo "$root"/build/*.changes "$DEB/"
fi
cd "$(dirname "$log")"
ls ./*.deb
