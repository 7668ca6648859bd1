#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares the interface of the libraries and headers with that of the last release of this soname.
#
#	CC=cc check.sh VERSION RELEASED.txt LIBRARY.so...
#	CC=cc check.sh --dump VERSION RELEASED.txt LIBRARY.so...	writes RELEASED.txt anew
set -eu

dump=
[ "$1" != --dump ] || {
	dump=yes
	shift
}
version=$1
released=$2
shift 2
mkdir -p build/abi
now=build/abi/now.txt
test/abi/interface.sh include "$@" >$now

if [ -n "$dump" ]; then
	{
		echo "# baton $version"
		echo '# What programs have compiled in, and link; made by `make abi-dump`.'
		echo '# test/abi/interface.sh says what the lines are.'
		cat $now
	} >"$released"
	exit 0
fi
[ -e "$released" ] || {
	echo "There is no $released: at the first release with this soname, make abi-dump"
	exit 1
}
awk -v version="$version" -f test/abi/compare.awk "$released" $now || {
	echo "Programs built with $(sed -n 's/^# //p; q' "$released") would break."
	echo 'baton-versions(7) says what a version may change.'
	echo "If they do not, put the line of $now in the place of that of $released."
	exit 1
}
