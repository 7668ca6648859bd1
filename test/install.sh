#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into a temporary place, builds the README's first complete C example against it by
# pkg-config, shared and static, runs both, uninstalls, and sees that nothing is left.
#
#	MAKE=make CC=cc CXX=g++ install.sh
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
	$cc $flags -static -o "$tmp/static" "$tmp/example.c" $(pkg-config --static --libs baton) ||
		fail "the example does not build with -static"
	$cc $flags -o "$tmp/archive" "$tmp/example.c" "$prefix/lib/libbaton.a" -pthread ||
		fail "the example does not build with libbaton.a"
	# A C++ program may begin with the same lines.
	$cxx $(pkg-config --cflags baton) -std=c++17 -Wall -Wextra -Wpedantic \
		-Werror -x c++ -o "$tmp/cxx" "$tmp/example.c" $libs ||
		fail "the example does not build as C++"
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
for kind in shared static archive cxx hpp; do
	LD_LIBRARY_PATH=$prefix/lib timeout 120 "$tmp/$kind" >"$tmp/$kind.out" ||
		fail "the README's example, $kind, ended with status $?"
done
LD_LIBRARY_PATH=$prefix/lib ldd "$tmp/shared" | grep -q "$prefix/lib/libbaton.so.${version%.*} " ||
	[ "$(readelf -d "$tmp/shared" | grep -c 'NEEDED.*\[libbaton.so.[0-9.]*\]')" = 1 ] ||
	fail "the example does not use the library by its soname"
# By CMake, the same.
mkdir "$tmp/cmake"
cat >"$tmp/cmake/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.10)
project(example C)
find_package(baton 0.3 REQUIRED)
add_executable(shared ../example.c)
target_link_libraries(shared baton::baton)
add_executable(static ../example.c)
target_link_libraries(static baton::baton_static)
EOF
cmake -S "$tmp/cmake" -B "$tmp/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" \
	-DCMAKE_C_COMPILER="$(command -v "${cc##* }")" >"$tmp/cmake.log" 2>&1 &&
	cmake --build "$tmp/cmake/build" >>"$tmp/cmake.log" 2>&1 || {
	cat "$tmp/cmake.log"
	fail "the example does not build with CMake"
}
for kind in shared static; do
	timeout 120 "$tmp/cmake/build/$kind" >"$tmp/cmake.out" || fail "CMake's $kind program fails"
	cmp -s "$tmp/cmake.out" "$tmp/shared.out" || fail "CMake's $kind program prints other lines"
done
sed -i 's/baton 0.3 /baton 0.2 /' "$tmp/cmake/CMakeLists.txt"
! cmake -S "$tmp/cmake" -B "$tmp/cmake/other" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null 2>&1 ||
	fail "CMake takes this version for one that an older program may use"
# The companions: by pkg-config, shared and static, and by CMake.
mkdir "$tmp/companions"
cat >"$tmp/companions/mainloop.c" <<'EOF'
#include <baton/mainloop.h>
static int run(struct baton_source *source)
{
	return *baton_source_name(source) == 'o' ? 0 : -1;
}
int main(void)
{
	static const struct baton_source_config config = {.fn = run};
	static struct baton_mainloop loop;
	static struct baton_source once = BATON_SOURCE_INIT(&loop, &config, "once");
	return baton_mainloop_init(&loop, NULL) || baton_source_start(&once) ||
	       baton_mainloop_run(&loop, 1) != 1 || baton_mainloop_deinit(&loop);
}
EOF
cat >"$tmp/companions/admission.c" <<'EOF'
#include <baton/admission.h>
static int run(struct baton_task *task)
{
	return task ? 0 : -1;
}
int main(void)
{
	static const struct baton_admission_config config = {.rules = {.limit = {1, 1, 1}}};
	static struct baton_admission admission;
	static struct baton_admitted admitted;
	struct baton_future outcome = BATON_PROMISE_INIT;
	if (baton_admission_init(&admission, &config))
		return 1;
	baton_admitted_init(&admitted, 0, run);
	admitted.outcome = &outcome;
	return baton_admission_arrive(&admission, &admitted) ||
	       baton_admission_close(&admission, BATON_ADMISSION_RUN) ||
	       baton_admission_await(&admission) || baton_future_status(&outcome);
}
EOF
cat >"$tmp/companions/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.10)
project(companions C)
find_package(baton REQUIRED COMPONENTS mainloop admission OPTIONAL_COMPONENTS nonesuch)
if(baton_nonesuch_FOUND)
	message(FATAL_ERROR "a component that is not there is found")
endif()
foreach(companion mainloop admission)
	add_executable(${companion}-shared ${companion}.c)
	target_link_libraries(${companion}-shared baton::${companion})
	add_executable(${companion}-static ${companion}.c)
	target_link_libraries(${companion}-static baton::${companion}_static)
endforeach()
EOF
by_cmake()
{
	rm -rf "$tmp/companions/cmake"
	cmake -S "$tmp/companions" -B "$tmp/companions/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
		-DCMAKE_C_COMPILER="$(command -v "${cc##* }")" >"$tmp/cmake.log" 2>&1 &&
		cmake --build "$tmp/companions/cmake" >>"$tmp/cmake.log" 2>&1
}
by_cmake || {
	cat "$tmp/cmake.log"
	fail "programs with companions do not build with CMake"
}
for companion in mainloop admission; do
	source=$tmp/companions/$companion.c
	# shellcheck disable=SC2046 # words, on purpose
	$cc -std=c11 -o "$tmp/companions/shared" "$source" \
		$(pkg-config --cflags --libs "baton-$companion") -Wl,-rpath-link,"$prefix/lib" &&
		$cc -std=c11 -static -o "$tmp/companions/static" "$source" \
			$(pkg-config --static --cflags --libs "baton-$companion") ||
		fail "a program does not build with libbaton-$companion"
	for program in shared static "cmake/$companion-shared" "cmake/$companion-static"; do
		LD_LIBRARY_PATH=$prefix/lib timeout 120 "$tmp/companions/$program" ||
			fail "a program with libbaton-$companion, $program, ends with $?"
	done
done
sed -i 's/OPTIONAL_COMPONENTS//' "$tmp/companions/CMakeLists.txt"
! by_cmake || fail "CMake takes a package without a component that is required"
grep -q 'libbaton-nonesuch is not there' "$tmp/cmake.log" ||
	fail "CMake does not name the component that is missing"
# The library over Redis, where hiredis is.
if [ -e "$prefix/lib/pkgconfig/baton-redis.pc" ]; then
	cat >"$tmp/redis.c" <<'EOF'
#include <baton/redis.h>
#include <baton/remote.h>
int main(void)
{
	struct baton_remote_options options = {.node = "no name"};
	struct baton_remote *remote;
	char token[BATON_REDIS_TOKEN_SIZE];
	if (baton_remote_create(&options, &remote) == 0)
		return 1;
	baton_remote_destroy(remote);
	return baton_redis_token(token);
}
EOF
	# shellcheck disable=SC2046 # words, on purpose
	$cc -std=c11 -o "$tmp/redis" "$tmp/redis.c" $(pkg-config --cflags --libs baton-redis) \
		-Wl,-rpath-link,"$prefix/lib" &&
		LD_LIBRARY_PATH=$prefix/lib "$tmp/redis" || fail "a program with libbaton-redis"
fi
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
	lib/triplet/cmake/baton/baton-config.cmake share/man/man7/baton.7; do
	[ -e "$tmp/stage/usr/$file" ] || fail "install with DESTDIR leaves out $file"
done
! grep -q "$tmp" "$tmp/stage/usr/lib/triplet/pkgconfig/baton.pc" || fail "baton.pc names DESTDIR"
sed -i 's/baton 0.2 /baton 0.3 /' "$tmp/cmake/CMakeLists.txt"
cmake -S "$tmp/cmake" -B "$tmp/cmake/staged" \
	-Dbaton_DIR="$tmp/stage/usr/lib/triplet/cmake/baton" \
	-DCMAKE_C_COMPILER="$(command -v "${cc##* }")" >"$tmp/cmake.log" 2>&1 &&
	cmake --build "$tmp/cmake/staged" >>"$tmp/cmake.log" 2>&1 || {
	cat "$tmp/cmake.log"
	fail "the example does not build with CMake below DESTDIR"
}
# shellcheck disable=SC2086,SC2046 # words, on purpose
$make uninstall $dirs
[ -z "$(left_in "$tmp/stage")" ] || fail "uninstall leaves $(left_in "$tmp/stage")"
