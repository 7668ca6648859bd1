#!/bin/sh
# SPDX-License-Identifier: MIT
# In a fresh root (src/packaging/root.sh), as root: installs the packages from /packages, uses them
# (use.sh), purges them, and sees that nothing is left.
#
#	ARCH=arm64 packages.sh
#
# ARCH: of the packages, if it is not this machine's.
set -eu

export LC_ALL=C
cd "$(dirname "$0")"
native=$(dpkg --print-architecture)
arch=${ARCH:-$native}
install='apt-get -qq install -y --no-install-recommends'
log=/tmp/install.log

fail()
{
	echo "deep-deb: $*"
	exit 1
}

run() # command...
{
	"$@" >$log 2>&1 || {
		cat $log
		fail "$*"
	}
}

of_arch() # packages: as apt-get wants them
{
	for package; do
		[ "$package" != baton-doc ] || { echo baton-doc && continue; }
		echo "$package:$arch"
	done
}

# What apt and dpkg know of packages that are gone is no concern of ours.
files()
{
	find / -xdev \( -path /proc -o -path /tmp -o -path /var/cache -o -path /var/lib/apt \
		-o -path /var/log -o -path '/var/lib/dpkg/*-old' -o -path /test \) -prune \
		-o -print | sort
}

# The compiler, and what it needs to run what it makes.
if [ "$arch" = "$native" ]; then
	run $install gcc g++ libc6-dev make cmake pkg-config
else
	dpkg --add-architecture "$arch"
	run apt-get -qq update
	run $install "crossbuild-essential-$arch" cmake qemu-user "pkg-config:$arch" \
		"libstdc++6:$arch" "libc6-dev:$arch" "libtinfo6:$arch"
	triplet=$(dpkg-architecture -a"$arch" -qDEB_HOST_MULTIARCH)
	export CC="$triplet-gcc" CXX="$triplet-g++" PKG_CONFIG="$triplet-pkg-config"
	export RUN="qemu-${triplet%%-*}" CMAKE_ARGS="-DCMAKE_SYSTEM_NAME=Linux
		-DCMAKE_SYSTEM_PROCESSOR=${triplet%%-*}"
fi
echo 'deb [trusted=yes] file:/packages ./' >/etc/apt/sources.list.d/packages.list
run apt-get -qq update

# Each package alone, by simulation: it brings what it needs, and no more.
packages=$(sed -n 's/^Package: //p' /packages/Packages | sort)
unversioned='s/:.*//; s/t64$//; s/[0-9.]*$//'
for package in $packages; do
	expected=$(sed -n "s/^$(echo "$package" | sed 's/[0-9.]*$//'): //p" depends.txt)
	found=$($install -s "$(of_arch "$package")" | sed -n 's/^Inst \([^ ]*\) .*/\1/p' |
		sed "$unversioned" | sort | xargs)
	[ "$found" = "$expected" ] ||
		fail "$package brings: $found; depends.txt says: $expected"
done

files >/tmp/before
# shellcheck disable=SC2046,SC2086 # words, on purpose
run $install $(of_arch $packages)

# A later version's library lies beside this one: all names of its files have its version.
for package in $(echo "$packages" | grep '^lib.*[0-9]$'); do
	version=$(echo "$package" | sed 's/^[^0-9]*//')
	for file in $(dpkg -L "$package:$arch"); do
		[ -d "$file" ] || case $file in *"$version"*) ;;
		*) fail "$package has $file, which another version would have, too" ;;
		esac
	done
done

# Each function of a library has its header, and its page, in the library's -dev package alone.
for package in $(echo "$packages" | grep '^lib.*[0-9]$'); do
	dev=$(echo "$package" | sed 's/[0-9.]*$//')-dev
	dpkg -L "$dev:$arch" >/tmp/dev
	library=$(dpkg -L "$package:$arch" | grep '[.]so[.][0-9]*[.][0-9]*[.][0-9]*$')
	count=0
	for name in $(readelf --dyn-syms -W "$library" | awk '
		$4 == "FUNC" && $7 != "UND" && /baton_/ {sub(/@.*/, "", $8); print $8}'); do
		grep -rqw "$name" /usr/include/baton || continue # not public
		case $name in baton_inline_*_v*) continue ;; esac
		# shellcheck disable=SC2046 # words, on purpose
		grep -qw "$name" $(grep 'include/.*[.]h$' /tmp/dev) &&
			grep -qx "/usr/share/man/man3/$name.3.gz" /tmp/dev ||
			fail "$dev has not header and page of $name"
		count=$((count + 1))
	done
	[ $count -gt 5 ] || fail "$library has $count functions"
done
for page in 7/baton 7/baton-tutorial 7/baton-redis 1/baton-top 1/baton-queue; do
	zcat "/usr/share/man/man${page%/*}/${page#*/}.${page%/*}.gz" | grep -q '^[.]Sh NAME' ||
		fail "there is no page ${page#*/}(${page%/*})"
done
for link in $(find /usr/share/man /usr/share/doc/*baton* -type l); do
	[ -e "$link" ] || fail "$link leads nowhere"
done

sh ./use.sh README.md

# shellcheck disable=SC2046,SC2086 # words, on purpose
run apt-get -qq purge -y $(of_arch $packages)
run apt-get -qq autoremove -y --purge
files >/tmp/after
diff /tmp/before /tmp/after >/tmp/left || fail "purging the packages leaves: $(cat /tmp/left)"
