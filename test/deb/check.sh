#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the Debian packages in a fresh root, with their tests; runs lintian; installs them into
# another fresh root, uses and purges them there (packages.sh). Where there can be no such roots,
# says why, builds the packages on this machine, and installs them below a folder.
#
#	DEB=build/deb VERSION=0.3.0 SOVERSION=0.3 ARCH= check.sh
set -eu

packaging=src/packaging
root=$DEB/root-packages
here=$(dirname "$0")

fail()
{
	echo "deep-deb: $*"
	exit 1
}

# Warnings, too: what is no defect has an override with its reason.
lint="lintian --allow-root --fail-on error,warning --tag-display-limit 0"
packaged() # folder: the packages without debugging information
{
	for file in "$1"/*.deb; do
		case $file in *-dbgsym_*) ;; *) echo "$file" ;; esac
	done
}

$packaging/source.sh
if why=$($packaging/root.sh can); then
	$packaging/build.sh '' "$DEB/root-build" >/dev/null
	echo 'deep-deb: built'
	$packaging/root.sh in "$DEB/root-build" sh -c "
		apt-get -qq install -y --no-install-recommends lintian >/tmp/log 2>&1 || {
			cat /tmp/log
			exit 1
		}
		cd /build && $lint ./*.changes ./*.dsc" || fail 'lintian, see above'
	echo 'deep-deb: lintian'

	$packaging/root.sh new "$root"
	mkdir "$root/packages" "$root/test"
	# shellcheck disable=SC2046 # words, on purpose
	cp $(packaged "$DEB") "$root/packages/"
	(cd "$root/packages" && dpkg-scanpackages -m . >Packages 2>/dev/null)
	cp "$here"/* README.md "$root/test/"
	$packaging/root.sh in "$root" env ARCH="$ARCH" sh /test/packages.sh
	rm -rf "$root" "$DEB/root-build"
	echo 'deep-deb: installed, used, purged'
	exit 0
fi

[ -z "$ARCH" ] || fail "nothing is built for $ARCH: $why"
echo "deep-deb: without a root, by dpkg --root: $why"
$packaging/build.sh nocheck >/dev/null
if command -v lintian >/dev/null; then
	(cd "$DEB" && $lint ./*.changes ./*.dsc) || fail 'lintian, see above'
else
	echo 'deep-deb: skipped: no lintian (Debian: lintian)'
fi
rm -rf "$root"
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
: >"$root/var/lib/dpkg/status"
below=$(realpath "$root")
installer() # action and packages, as fakeroot if not root
{
	PATH=$PATH:/usr/sbin:/sbin
	# shellcheck disable=SC2086 # words, on purpose
	${as_root-} dpkg --root="$below" --force-not-root --force-depends \
		--force-script-chrootless "$@" >"$DEB/dpkg.log" 2>&1 || {
		cat "$DEB/dpkg.log"
		fail "dpkg --root $1"
	}
}
[ "$(id -u)" = 0 ] || as_root=fakeroot
# shellcheck disable=SC2046 # words, on purpose
installer --install $(packaged "$DEB")
sh "$here/use.sh" README.md "$below"
# shellcheck disable=SC2046 # words, on purpose
installer --purge $(for file in $(packaged "$DEB"); do dpkg-deb -f "$file" Package; done)
left=$(find "$root" ! -type d ! -path '*/var/lib/dpkg/*' ! -path '*/var/log/*')
[ -z "$left" ] || fail "purging the packages leaves $left"
rm -rf "$root"
echo 'deep-deb: installed below a folder, used, purged'
