#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into a temporary place, builds the README's first complete C example and a program of
# each companion against it (packages.sh), there, moved, and below a DESTDIR; uninstalls, and sees
# that nothing is left.
#
#	MAKE=make CC=cc CXX=g++ check.sh
set -eu

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
make="${MAKE:-make} --no-print-directory"
cc=${CC:-cc}
cxx=${CXX:-g++}
prefix=$tmp/prefix

fail()
{
	echo "check-install: $*"
	exit 1
}

left_in() # directory: files, and directories of ours
{
	find "$1" ! -type d -o -name baton
}

# The first ```c block with a main().
[ -e README.md ] || fail "there is no README.md, whose example is built here"
awk '
	/^```c$/ {inside = 1; text = ""; next}
	/^```/ && inside {
		inside = 0
		if (text ~ /int main/) {
			printf "%s", text
			exit
		}
	}
	inside {text = text $0 "\n"}' README.md >"$tmp/example.c"
[ -s "$tmp/example.c" ] || fail "README.md has no \`\`\`c block with a main()"

# Where a user would have it: a prefix of its own.
dirs="PREFIX=$prefix LIBDIR=$prefix/lib INCLUDEDIR=$prefix/include MANDIR=$prefix/man DESTDIR="
# shellcheck disable=SC2086,SC2046 # words, on purpose
$make install $dirs
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
version=$(pkg-config --modversion baton)
flags="$(pkg-config --cflags baton) -std=c11 -Wall -Wextra -Wpedantic -Werror"
libs=$(pkg-config --libs baton)
# shellcheck disable=SC2086,SC2046 # words, on purpose
{
	$cc $flags -o "$tmp/shared" "$tmp/example.c" $libs || fail "the example does not build"
	$cc $flags -o "$tmp/archive" "$tmp/example.c" "$prefix/lib/libbaton.a" -pthread ||
		fail "the example does not build with libbaton.a"
}
cat >"$tmp/account.cc" <<'EOF'
#include <baton.hpp>
#include <cstdio>

int main()
{
	baton::resource account;
	long balance = 0;

	if (account.post([&] { balance += 21; }))
		return 1;
	std::printf("balance %ld\n", account.call([&] { return balance += 21; }));
}
EOF
# shellcheck disable=SC2086,SC2046 # words, on purpose
$cxx $(pkg-config --cflags baton) -std=c++17 -Wall -Wextra -Wpedantic -Werror \
	-o "$tmp/hpp" "$tmp/account.cc" $libs || fail "a program with baton.hpp does not build"
for kind in shared archive hpp; do
	LD_LIBRARY_PATH=$prefix/lib timeout 120 "$tmp/$kind" >"$tmp/$kind.out" ||
		fail "the program $kind ended with status $?"
done
LD_LIBRARY_PATH=$prefix/lib ldd "$tmp/shared" | grep -q "$prefix/lib/libbaton.so.${version%.*} " ||
	[ "$(readelf -d "$tmp/shared" | grep -c 'NEEDED.*\[libbaton.so.[0-9.]*\]')" = 1 ] ||
	fail "the example does not use the library by its soname"
# Each library, by pkg-config and CMake: here, and moved to another place.
mkdir "$tmp/programs"
cp test/install/*.c "$tmp/programs"
cp "$tmp/example.c" "$tmp/programs/baton.c"
export CC="$cc" CXX="$cxx"
test/install/packages.sh "$tmp/programs" "$prefix/lib"
test/install/versions.sh "$prefix/lib" "$version"
cp -r "$prefix" "$tmp/moved"
mv "$prefix" "$tmp/away"
test/install/packages.sh "$tmp/programs" "$tmp/moved/lib" --define-variable=prefix="$tmp/moved"
test/install/packages.sh "$tmp/programs" "$tmp/moved/lib" --define-prefix
mv "$tmp/away" "$prefix"
# Without the static libraries their targets are not there, and the others are.
rm "$tmp"/moved/lib/*.a
mkdir "$tmp/alone"
cat >"$tmp/alone/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.10)
project(alone C)
find_package(baton REQUIRED COMPONENTS mainloop)
if(TARGET baton::mainloop_static OR NOT TARGET baton::mainloop OR NOT TARGET baton::baton)
	message(FATAL_ERROR "targets of other libraries than those that are there")
endif()
EOF
cmake -S "$tmp/alone" -B "$tmp/alone/build" -Dbaton_DIR="$tmp/moved/lib/cmake/baton" \
	>"$tmp/cmake.log" 2>&1 || {
	cat "$tmp/cmake.log"
	fail "CMake without static libraries"
}
rm -rf "$tmp/moved"
# The examples, from where they are installed to.
# shellcheck disable=SC2086,SC2046 # words, on purpose
{
	flags="$(pkg-config --cflags baton baton-mainloop baton-admission) -std=gnu11 -Wall -Werror"
	for example in "$prefix"/share/baton/examples/*.c "$prefix"/share/baton/examples/*/*.c; do
		$cc $flags -fsyntax-only "$example" || fail "${example##*/} does not compile"
	done
	$cc $flags -o "$tmp/transfer" "$prefix/share/baton/examples/transfer.c" $libs &&
		LD_LIBRARY_PATH=$prefix/lib timeout 120 "$tmp/transfer" >"$tmp/transfer.out" ||
		fail "the installed example transfer.c"
}
# The checked library, which the same program finds in another folder; and the one for programs
# under ThreadSanitizer.
# shellcheck disable=SC2086,SC2046 # words, on purpose
$make install CHECKED=1 TSAN=1 $dirs
cat >"$tmp/empty.c" <<'EOF'
#include <baton.h>
#include <baton/inline.h>
static const struct baton_resource_config config = BATON_RESOURCE_CONFIG_NAMED("topic/7");
static struct baton_resource topic = BATON_RESOURCE_INIT(&config);
int main(void)
{
	struct baton_task task = BATON_TASK_INIT(NULL, NULL);
	return baton_submit_later(&topic, &task);
}
EOF
# shellcheck disable=SC2046 # words, on purpose
$cc -std=c11 -o "$tmp/empty" "$tmp/empty.c" $(pkg-config --cflags --libs baton) &&
	$cc -std=c11 -o "$tmp/checked" "$tmp/empty.c" $(pkg-config --cflags --libs baton-checked) &&
	$cc -std=c11 -o "$tmp/tsan" "$tmp/example.c" $(pkg-config --cflags --libs baton-tsan) ||
	fail "a program does not build with baton-checked or baton-tsan"
(ulimit -c 0 && LD_LIBRARY_PATH=$prefix/lib/baton-checked "$tmp/empty") 2>&1 |
	grep -q 'baton_submit_later: "topic/7" was given a task without a function' ||
	fail "LD_LIBRARY_PATH does not lead a program to the checked library"
(ulimit -c 0 && "$tmp/checked") 2>&1 | grep -q 'without a function' ||
	fail "pkg-config does not lead a program to the checked library"
# The manual.
[ -s "$prefix/man/man3/baton_submit.3" ] && [ -s "$prefix/man/man7/baton.7" ] ||
	fail "install leaves out the manual"
# shellcheck disable=SC2086,SC2046 # words, on purpose
$make uninstall $dirs
[ -z "$(left_in "$prefix")" ] || fail "uninstall leaves $(left_in "$prefix")"

# Where a packager would have it.
dirs="PREFIX=/usr LIBDIR=/usr/lib/triplet INCLUDEDIR=/usr/include DESTDIR=$tmp/stage"
# shellcheck disable=SC2086,SC2046 # words, on purpose
$make install $dirs
for file in include/baton.h include/baton/task.h lib/triplet/libbaton.a lib/triplet/libbaton.so \
	"lib/triplet/libbaton.so.$version" lib/triplet/pkgconfig/baton.pc \
	lib/triplet/cmake/baton/baton-config.cmake \
	lib/triplet/cmake/baton/components/mainloop.cmake share/man/man7/baton.7; do
	[ -e "$tmp/stage/usr/$file" ] || fail "install with DESTDIR leaves out $file"
done
! grep -q "$tmp" "$tmp/stage/usr/lib/triplet/pkgconfig/baton.pc" || fail "baton.pc names DESTDIR"
rm -rf "$prefix"
PKG_CONFIG_SYSROOT_DIR=$tmp/stage \
	test/install/packages.sh "$tmp/programs" "$tmp/stage/usr/lib/triplet"
# shellcheck disable=SC2086,SC2046 # words, on purpose
$make uninstall $dirs
[ -z "$(left_in "$tmp/stage")" ] || fail "uninstall leaves $(left_in "$tmp/stage")"
