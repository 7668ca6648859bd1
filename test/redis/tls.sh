#!/bin/sh
# SPDX-License-Identifier: MIT
# tls.sh DIRECTORY: gets a hiredis with TLS, as source, from a later Debian, and makes it in
# DIRECTORY: include/hiredis, lib. Exits with 77 if there is none to be had.
set -eu

[ ! -e "$1/lib/libhiredis_ssl.a" ] || exit 0
suite=trixie
uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security |
	head -n 1) || uri=
keys=/usr/share/keyrings/debian-archive-keyring.gpg

command -v dpkg-source >/dev/null && [ -e $keys ] && [ "$uri" ] || exit 77
mkdir -p "$1/lists/partial" "$1/parts" "$1/include/hiredis/adapters" "$1/lib"
directory=$(cd "$1" && pwd)
cat >"$directory/parts/source.sources" <<END
Types: deb-src
URIs: $uri
Suites: $suite
Components: main
Signed-By: $keys
END
apt()
{
	apt-get -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$directory/parts" \
		-o "Dir::State::lists=$directory/lists" -o Dir::Cache::srcpkgcache= \
		-o Dir::Cache::pkgcache= "$@"
}
cd "$directory"
apt update && apt source hiredis || exit 77
cd hiredis-*/
make USE_SSL=1 static
cp ./*.h ../include/hiredis/
cp libhiredis.a libhiredis_ssl.a ../lib/
