#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds, for each library that is installed, a program in C and in C++, shared and static, by
# pkg-config and by CMake, and runs it.
#
#	CC=cc CXX=g++ packages.sh PROGRAMS LIBDIR [PKG_CONFIG_OPTION...]
#
# PROGRAMS: a folder with LIBRARY.c. LIBDIR: where the libraries lie now. The options say so to
# pkg-config. With no option PKG_CONFIG_PATH does.
set -eu

programs=$1
libdir=$2
shift 2
cc=${CC:-cc}
cxx=${CXX:-g++}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export PKG_CONFIG_PATH="$libdir/pkgconfig"

fail()
{
	echo "check-install: in $libdir: $*"
	exit 1
}

components=
for file in "$libdir"/libbaton-*.a; do
	name=${file##*/libbaton-}
	components="$components ${name%.a}"
done

runs() # program, kind: shared or static
{
	LD_LIBRARY_PATH=$libdir timeout 120 "$1" >"$dir/out" || fail "$1 ends with status $?"
	needs=$(readelf -d "$1" | grep -c 'NEEDED.*\[libbaton' || true)
	case $2$needs in
	shared0) fail "$1 does not use a shared library" ;;
	static[1-9]*) fail "$1 uses a shared library" ;;
	esac
}

for library in baton $components; do
	package=baton-$library
	[ "$library" != baton ] || package=baton
	pkg-config "$@" --validate "$package" || fail "$package.pc is not well formed"
	cp "$programs/$library.c" "$dir/$library.cc"
	# shellcheck disable=SC2046 # words, on purpose
	for kind in shared static; do
		option=
		[ $kind = shared ] || option=--static
		flags=$(pkg-config "$@" --cflags "$package") ||
			fail "pkg-config does not know $package"
		libs=$(pkg-config "$@" $option --libs "$package")
		# shellcheck disable=SC2086 # words, on purpose
		for language in c cxx; do
			to=$dir/$library-$language-$kind
			case $language in
			c) compile="$cc -std=c11" source=$programs/$library.c ;;
			cxx) compile="$cxx -std=c++17" source=$dir/$library.cc ;;
			esac
			$compile -Wall -Wextra -Wpedantic -Werror $flags ${option#-} -o "$to" \
				"$source" $libs >"$dir/log" 2>&1 || {
				cat "$dir/log"
				fail "a $kind program in $language does not build by $package.pc"
			}
			runs "$to" $kind
		done
	done
done

version=$(pkg-config "$@" --modversion baton)
by_cmake() # version, components with semicolons
{
	rm -rf "$dir/cmake"
	cmake -S "${0%/*}" -B "$dir/cmake" -DCMAKE_C_COMPILER="$(command -v "${cc##* }")" \
		-DCMAKE_CXX_COMPILER="$(command -v "${cxx##* }")" -DPROGRAMS="$programs" \
		-Dbaton_DIR="$libdir/cmake/baton" -DVERSION="$1" -DCOMPONENTS="$2" \
		>"$dir/log" 2>&1
}
list=$(echo $components | tr ' ' ';')
by_cmake "${version%.*}" "$list" && cmake --build "$dir/cmake" >>"$dir/log" 2>&1 || {
	cat "$dir/log"
	fail "programs do not build with CMake"
}
for library in baton $components; do
	for kind in shared static; do
		for language in c cxx; do
			runs "$dir/cmake/$library-$language-$kind" $kind
		done
	done
done
! by_cmake "${version%.*}" "absent" || fail "CMake takes a package without a required component"
tr -s '\n ' '  ' <"$dir/log" | grep -q "component absent: no libbaton-absent is installed in" || {
	cat "$dir/log"
	fail "CMake does not name the component that is missing"
}
