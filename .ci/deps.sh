#!/bin/sh
# SPDX-License-Identifier: MIT
# Sees to it that what a build needs is there.
#
#	deps.sh --install GROUP...	installs what is missing (Debian; as root, or by sudo)
#	deps.sh --check GROUP...	says what is missing, and fails if something is
#
# Groups: build (the library), test, demo, corpus (fuzz targets without libFuzzer), models,
# fuzz, coverage, bench (the benchmark's peers), commit (the group commit example), qemu (aarch64),
# redis (libbaton-redis and its tests), abi (the comparison of binary interfaces), deb (packages).
# Looks for headers and commands, not for packages, so that what came in another way counts too.
set -eu

mode=$1
shift
cc=${CC:-cc}
cxx=${CXX:-g++}
missing=
of_group=

need() # package
{
	case " $missing " in
	*" $1 "*) ;;
	*)
		missing="$missing $1"
		of_group="$of_group $1"
		;;
	esac
}

what_for() # group
{
	case $1 in
	build) echo 'the library' ;;
	test) echo 'the tests' ;;
	demo) echo 'the demo, the MQTT broker' ;;
	commit) echo 'the group commit example' ;;
	corpus | fuzz) echo 'fuzzing' ;;
	models) echo "the protocols' models" ;;
	coverage) echo 'coverage' ;;
	redis) echo 'libbaton-redis and its tests' ;;
	qemu) echo 'the tests on aarch64' ;;
	abi) echo 'the comparison of binary interfaces' ;;
	deb) echo 'Debian packages' ;;
	bench) echo "the benchmark's peers" ;;
	esac
}

need_command() # command package
{
	command -v "$1" >/dev/null 2>&1 || need "$2"
}

# One run of the preprocessor when all is there; only else one for each.
need_headers() # header package ...
{
	command -v "${cc%% *}" >/dev/null 2>&1 || cc=:
	all=
	list="$*"
	while [ $# -gt 0 ]; do
		all="$all#include <$1>
"
		shift 2
	done
	if [ "$cc" != : ] && printf '%s' "$all" | $cc -E -x c - >/dev/null 2>&1; then
		return
	fi
	# shellcheck disable=SC2086 # words, on purpose
	set -- $list
	while [ $# -gt 0 ]; do
		if [ "$cc" = : ]; then
			[ -e "/usr/include/$1" ] || need "$2"
		else
			echo "#include <$1>" | $cc -E -x c - >/dev/null 2>&1 || need "$2"
		fi
		shift 2
	done
}

# Only looked for: C++ headers take seconds to read.
need_cxx_headers() # header package ...
{
	while [ $# -gt 0 ]; do
		printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" |
			${cxx} -E -x c++ - >/dev/null 2>&1 || need "$2"
		shift 2
	done
}

compiler_package() # command, fallback
{
	case $1 in
	*clang*) echo clang ;;
	*) echo "$2" ;;
	esac
}

# clang with libFuzzer and the sanitizers' runtime, whose package has clang's version in its name.
need_libfuzzer()
{
	clang=${FUZZ_CC:-clang}
	need_command "$clang" clang
	if command -v "$clang" >/dev/null 2>&1; then
		probe=$(mktemp)
		echo 'int LLVMFuzzerTestOneInput(const char *, unsigned long);
			int LLVMFuzzerTestOneInput(const char *d, unsigned long n) {
			return d == 0 && n; }' |
			"$clang" -fsanitize=fuzzer,address -x c -o "$probe" - 2>/dev/null ||
			need "libclang-rt-$("$clang" -dumpversion | cut -d . -f 1)-dev"
		rm -f "$probe"
	else
		version=$(apt-cache depends clang 2>/dev/null |
			sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
		need "libclang-rt-${version:-14}-dev"
	fi
}

purposes=
for group; do
	of_group=
	case $group in
	build)
		need_command "${cc%% *}" "$(compiler_package "$cc" gcc)"
		need_command make make
		need_headers stdio.h libc6-dev ck_pr.h libck-dev
		;;
	test)
		need_command "${cxx%% *}" "$(compiler_package "$cxx" g++)"
		need_command pkg-config pkg-config
		need_command cmake cmake
		need_command mandoc mandoc
		need_command gdb gdb
		need_headers criterion/criterion.h libcriterion-dev ncurses.h libncurses-dev \
			sys/sdt.h systemtap-sdt-dev
		need_cxx_headers asio.hpp libasio-dev
		;;
	demo)
		need_command mosquitto_pub mosquitto-clients
		need_headers uv.h libuv1-dev openssl/ssl.h libssl-dev crypt.h libcrypt-dev \
			sqlite3.h libsqlite3-dev
		;;
	commit)
		need_headers sqlite3.h libsqlite3-dev
		;;
	corpus)
		need_headers uv.h libuv1-dev
		;;
	models)
		need_command spin spin
		need_command tcc tcc
		need_command "${cc%% *}" "$(compiler_package "$cc" gcc)"
		need_headers stdio.h libc6-dev
		;;
	fuzz)
		need_libfuzzer
		;;
	redis)
		need_headers hiredis/hiredis.h libhiredis-dev sqlite3.h libsqlite3-dev
		need_command redis-server redis-server
		;;
	qemu)
		need_command aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
		[ -e /usr/aarch64-linux-gnu/include/stdio.h ] || need libc6-dev-arm64-cross
		need_command qemu-aarch64 qemu-user
		;;
	deb)
		need_command dpkg-buildpackage dpkg-dev
		need_command dh debhelper
		;;
	abi)
		need_command abidw abigail-tools
		;;
	coverage)
		need_command "${cc%% *}" "$(compiler_package "$cc" gcc)"
		need_command gcovr gcovr
		;;
	bench)
		need_command "${cc%% *}" "$(compiler_package "$cc" gcc)"
		need_command "${cxx%% *}" "$(compiler_package "$cxx" g++)"
		need_command pkg-config pkg-config
		need_command gnuplot gnuplot-nox
		need_cxx_headers boost/asio.hpp libboost-dev \
			oneapi/tbb/flow_graph.h libtbb-dev
		need_headers urcu/wfcqueue.h liburcu-dev
		[ -x /usr/sbin/mosquitto ] || need_command mosquitto mosquitto
		pkg-config --exists glib-2.0 2>/dev/null || need libglib2.0-dev
		pkg-config --exists libuv 2>/dev/null || need libuv1-dev
		;;
	*)
		echo "deps.sh: no such group: $group" >&2
		exit 2
		;;
	esac
	[ -z "$of_group" ] || purposes="${purposes}Missing for $(what_for "$group"):$of_group
"
done

[ -n "$missing" ] || exit 0
line="apt-get install -y --no-install-recommends$missing"

as_root=
if [ "$(id -u)" -ne 0 ]; then
	as_root="sudo -n"
fi
if [ "$mode" != --install ] || ! command -v apt-get >/dev/null 2>&1 ||
	! $as_root true 2>/dev/null; then
	printf '%sAs root on Debian: %s\n' "$purposes" "$line" >&2
	exit 1
fi

echo "Installing$missing"
apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300
	-o Acquire::Retries=5"
install="$apt install -y --no-install-recommends$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The package lists of a fresh machine are empty or old: only then is an update worth its time. A
# network, or a mirror that is being renewed, may fail once, and not a little later.
for pause in 0 5 20; do
	sleep $pause
	! $install </dev/null >"$log" 2>&1 || exit 0
	! { $apt update && $install </dev/null; } >"$log" 2>&1 || exit 0
done
cat "$log" >&2
echo "Could not install. As root, on Debian: $line" >&2
exit 1
