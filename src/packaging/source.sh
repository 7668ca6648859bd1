#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes baton's Debian source package in the folder DEB: the tarball of `make dist`, which has the
# last commit, and the debian/ folder as it is now. In an unpacked tarball, of what lies there.
#
#	DEB=build/deb VERSION=0.3.0 SOVERSION=0.3 MAKE=make source.sh
set -eu

debian=src/packaging/debian

fail()
{
	echo "$debian: $*" >&2
	exit 1
}

# The changelog and the packages' names are those of this version.
case $(dpkg-parsechangelog -l "$debian/changelog" -S Version) in
"$VERSION"-*) ;;
*) fail "changelog: the first entry is not of $VERSION: add one" ;;
esac
awk -v soversion="$SOVERSION" '/^Package: lib/ && !/-dev$/ {
	name = $2
	sub(/[0-9.]*$/, "", name)
	if ($2 != name soversion)
		exit 1
}' "$debian/control" ||
	fail "control: libraries are named for a soname of another version than $SOVERSION"

tree=$DEB/baton-$VERSION
rm -rf "$DEB"/baton* "$DEB"/lib*
mkdir -p "$DEB"
orig=$DEB/baton_$VERSION.orig.tar.gz
if [ -e .git ]; then
	$MAKE --no-print-directory dist >/dev/null
	cp "build/baton-$VERSION.tar.gz" "$orig"
else
	tar --exclude=./build --transform="s|^[.]|baton-$VERSION|" -czf "$orig" .
fi
tar -C "$DEB" -xf "$orig"
cp -R "$debian" "$tree/"
cd "$DEB"
dpkg-source -b "baton-$VERSION" >source.log || {
	cat source.log >&2
	exit 1
}
