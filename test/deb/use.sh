#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds programs with the installed packages, by pkg-config, shared and static, and by CMake, and
# runs them: README.md's in C and C++, one for each companion, the installed examples.
#
#	use.sh README.md [ROOT]
#
# ROOT: the packages are below it (dpkg --root). Environment: CC, CXX, PKG_CONFIG, RUN (words before
# each program), CMAKE_ARGS.
set -eu

readme=$1
root=${2-}
cc=${CC:-cc}
cxx=${CXX:-c++}
pkg_config=${PKG_CONFIG:-pkg-config}
lib=$root/usr/lib/$($cc -print-multiarch)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ -n "$root" ]; then
	export LD_LIBRARY_PATH="$lib" PKG_CONFIG_SYSROOT_DIR="$root"
	export PKG_CONFIG_PATH="$lib/pkgconfig"
fi

fail()
{
	echo "deep-deb: $*"
	exit 1
}

builds() # what, command...
{
	what=$1
	shift
	# What a linker says of a static getaddrinfo is no fault.
	"$@" >"$tmp/said" 2>&1 || {
		cat "$tmp/said"
		fail "$what does not build"
	}
}

says() # program, expected line
{
	# shellcheck disable=SC2086 # words, on purpose
	said=$(timeout 120 ${RUN-} "$1") || fail "${1#"$tmp/"} ends with status $?"
	[ -z "${2-}" ] || [ "$said" = "$2" ] || fail "${1#"$tmp/"} prints $said"
}

# The program in C, which prints what README.md says in backquotes; of the piece in C++, the
# account, and its first statements.
awk '/^```/ {inside = $0 == "```c"; if (text ~ /int main/) exit; text = ""; next}
	inside {text = text $0 "\n"} END {printf "%s", text}' "$readme" >"$tmp/baton.c"
expected=$(sed -n 's/.*`\(balance [0-9]*\)`.*/\1/p' "$readme")
awk '
BEGIN {print "#include <baton.hpp>\n#include <cstdio>"}
/^```/ {inside = $0 == "```c++"; next}
inside && $0 == "" && ++blanks == 1 {print "int main()\n{\nstd::error_code error;"; next}
inside && blanks < 2
END {print "return error ? 1 : std::printf(\"balance %ld\\n\", balance) < 0;\n}"}
' "$readme" >"$tmp/baton.cc"
examples=$root/usr/share/baton/examples
cp -R "$examples" "$tmp/examples"
cp "$tmp/examples/features/admission.c" "$tmp/baton-admission.c"
cp "$tmp/examples/features/mainloop_fd.c" "$tmp/baton-mainloop.c"
sed -i 's|"../check.h"|"examples/check.h"|' "$tmp"/*.c
cat >"$tmp/baton-redis.c" <<'END'
#include <baton/redis.h>
#include <baton/remote.h>
int main(void)
{
	struct baton_remote_options options = {.node = "no name"};
	struct baton_remote *remote;
	char token[BATON_REDIS_TOKEN_SIZE];

	return baton_remote_create(&options, &remote) == 0 || baton_redis_token(token);
}
END

flags='-std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror'
# shellcheck disable=SC2086,SC2046 # words, on purpose
for name in baton baton-admission baton-mainloop baton-redis; do
	builds "a program with $name" $cc $flags -o "$tmp/$name" "$tmp/$name.c" \
		$($pkg_config --cflags --libs $name) -Wl,-rpath-link,"$lib"
	builds "a static program with $name" $cc $flags -static -o "$tmp/$name-static" \
		"$tmp/$name.c" $($pkg_config --static --cflags --libs $name)
	for program in "$name" "$name-static"; do
		says "$tmp/$program" "$([ $name != baton ] || echo "$expected")"
	done
done
# shellcheck disable=SC2086,SC2046 # words, on purpose
{
	builds "README.md's C++" $cxx -std=c++17 -Wall -Wextra -Werror -o "$tmp/cxx" \
		"$tmp/baton.cc" $($pkg_config --cflags --libs baton)
	says "$tmp/cxx" 'balance 21'
	builds 'a program with baton-checked' $cc $flags -o "$tmp/checked" "$tmp/baton.c" \
		$($pkg_config --cflags --libs baton-checked)
	readelf -d "$tmp/checked" | grep -q 'RUNPATH.*baton-checked' ||
		fail 'pkg-config does not lead a program to the checked library'
	says "$tmp/checked" "$expected"
	builds 'a program with baton-tsan' $cc $flags -o "$tmp/tsan" "$tmp/baton.c" \
		$($pkg_config --cflags --libs baton-tsan)
}

# The examples that need baton alone.
# shellcheck disable=SC2086,SC2046 # words, on purpose
for source in "$tmp"/examples/*.c "$tmp"/examples/*/*.c; do
	case $source in */group_commit.c | */examples/mainloop.c) continue ;; esac
	builds "the example ${source##*/}" $cc $flags -o "$tmp/example" "$source" \
		-Wl,-rpath-link,"$lib" \
		$($pkg_config --cflags --libs baton baton-admission baton-mainloop)
	says "$tmp/example"
done

cat >"$tmp/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.10)
project(packages C CXX)
set(THREADS_PREFER_PTHREAD_FLAG TRUE)
find_package(baton $($pkg_config --modversion baton | sed 's/[.][0-9]*$//') REQUIRED
	COMPONENTS admission mainloop redis)
add_executable(cmake-cxx baton.cc)
target_link_libraries(cmake-cxx baton::baton)
foreach(name baton admission mainloop redis)
	string(REGEX REPLACE "^baton-baton" "baton" source baton-\${name}.c)
	add_executable(cmake-\${name} \${source})
	target_link_libraries(cmake-\${name} baton::\${name})
	add_executable(cmake-\${name}-static \${source})
	target_link_libraries(cmake-\${name}-static baton::\${name}_static)
endforeach()
END
# shellcheck disable=SC2086 # words, on purpose
builds 'a project of CMake' cmake -S "$tmp" -B "$tmp/cmake" -DCMAKE_C_COMPILER="$cc" \
	-DCMAKE_CXX_COMPILER="$cxx" ${root:+-DCMAKE_PREFIX_PATH="$root/usr"} ${CMAKE_ARGS-}
builds 'a project of CMake' cmake --build "$tmp/cmake"
says "$tmp/cmake/cmake-cxx" 'balance 21'
for name in baton admission mainloop redis; do
	for program in "cmake-$name" "cmake-$name-static"; do
		says "$tmp/cmake/$program" "$([ $name != baton ] || echo "$expected")"
	done
done

for tool in baton-top baton-queue; do
	# shellcheck disable=SC2086 # words, on purpose
	${RUN-} "$root/usr/bin/$tool" --help | grep -q "$tool" || fail "$tool --help"
	zcat "$root/usr/share/man/man1/$tool.1.gz" | grep -q '^[.]Sh NAME' ||
		fail "$tool has no page"
done
