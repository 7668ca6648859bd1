#!/bin/sh
# SPDX-License-Identifier: MIT
# Which versions CMake may ask for, and gets.
#
#	versions.sh LIBDIR VERSION
set -eu

IFS=. read -r major minor patch <<END
$2
END
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# The soname: with the minor version before 1.0.
minors=1
[ "$major" -ne 0 ] || minors=0
cat >"$dir/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.10)
project(versions C)
function(expect found)
	# What does not fit is forgotten.
	set(baton_DIR "$1/cmake/baton" CACHE PATH "" FORCE)
	find_package(baton \${ARGN} QUIET)
	if(NOT baton_FOUND EQUAL found)
		message(SEND_ERROR "version \${ARGN} found: \${baton_FOUND}")
	endif()
endfunction()
expect(1 $major.$minor)
expect(1 $major.$minor.$patch)
expect(1 $major.$minor.$patch EXACT)
expect(0 $major.$minor.$((patch + 1)))
expect(0 $major.$((minor + 1)))
expect(0 $major.${minor}0)
expect(0 $((major + 1)))
expect(0 $((major + 1)).$minor)
expect($minors $major)
if(NOT CMAKE_VERSION VERSION_LESS 3.19)
	expect(1 $major.$minor...$((major + 1)))
	expect(1 0.0.1...$2)
	expect(0 0.0.1...<$2)
	expect(0 $((major + 1))...$((major + 2)))
endif()
set(CMAKE_SIZEOF_VOID_P 4)
expect(0 $major.$minor)
END
cmake -S "$dir" -B "$dir/build" >"$dir/log" 2>&1 || {
	cat "$dir/log"
	exit 1
}
