#!/bin/sh
# SPDX-License-Identifier: MIT
# Each header compiles alone: all as C11, the public ones also without GNU extensions and as C++17;
# those of C++ as C++17 and C++20.
# A result that must be used cannot be dropped by mistake (baton/attributes.h).
# With the compilers that are set, and with gcc and clang where these are there.
# Arguments: libbaton's headers, which baton/all.h includes.
set -u

warnings="-Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only"

if [ "${1-}" = --try ]; then # header compiler...
	header=$2
	shift 2
	# The include comes twice: a guard that guards nothing shows.
	printf '#include "%s"\n#include "%s"\nextern int end;\n' "$header" "$header" |
		"$@" - -I. || {
		echo "$header does not compile alone: $*"
		exit 1
	}
	exit 0
fi

if [ "${1-}" = --must-use ]; then # compiler...
	shift
	# A dropped result is an error, one that is ignored is none, nor where results are optional.
	dropped='baton_submit(resource, task);'
	drops='int drops(struct baton_resource *resource, struct baton_task *task,
		struct baton_timer *timer)'
	ignored='BATON_IGNORE(baton_submit(resource, task));'
	stop='baton_timer_stop(timer);'
	for call in "fails $dropped" "compiles $ignored" "-DBATON_OPTIONAL_RESULTS $dropped" \
		"fails $stop" "compiles BATON_IGNORE(${stop%;}.met);" \
		"-DBATON_OPTIONAL_RESULTS $stop"; do
		case $call in -D*) option=${call%% *} ;; *) option=-DNOTHING ;; esac
		if printf '%s\n' '#include <baton/all.h>' "$drops;" \
			"$drops { (void)resource, (void)task, (void)timer; ${call#* } return 0; }" |
			"$@" "$option" - 2>/dev/null
		then
			compiled=compiles
		else
			compiled=fails
		fi
		case $compiled:$call in
		compiles:fails*) echo "a dropped result goes unseen: $*"; exit 1 ;;
		fails:fails*) ;;
		fails:*) echo "does not compile: $* ($call)"; exit 1 ;;
		esac
	done
	exit 0
fi

for header; do
	case $header in
	include/baton.h | */all.h | */attributes.h | */inline.h) ;;
	*)
		cat include/baton.h include/baton/all.h | grep -qF "<${header#include/}>" || {
			echo "baton/all.h does not include ${header#include/}"
			exit 1
		}
		;;
	esac
done

try() # header compiler...: a line for xargs
{
	echo --try "$@"
}

# shellcheck disable=SC2086 # words, on purpose
check_all() # C compiler, C++ compiler
{
	cxx_warnings="-Wshadow -Wconversion -Wold-style-cast"
	case $2 in *clang*) ;; *) cxx_warnings="$cxx_warnings -Wuseless-cast" ;; esac
	for header in include/*.h include/baton/*.h; do
		try "$header" $1 -x c -std=c11 $warnings
		[ -z "$2" ] || try "$header" $2 -x c++ -std=c++17 $warnings $cxx_warnings
	done
	for header in include/*.hpp include/baton/*.hpp; do
		[ -n "$2" ] || break
		if [ "$header" = include/baton/asio.hpp ]; then
			echo '#include <boost/asio.hpp>' | $2 -E -x c++ - >/dev/null 2>&1 ||
				continue
		fi
		try "$header" $2 -x c++ -std=c++17 $warnings $cxx_warnings
		try "$header" $2 -x c++ -std=c++20 $warnings $cxx_warnings
	done
	must_use="-Wall -Wextra -Wpedantic -Werror -Iinclude -S -o /dev/null"
	echo --must-use $1 -x c -std=c11 $must_use
	[ -z "$2" ] || echo --must-use $2 -x c++ -std=c++17 $must_use -Wold-style-cast
	for header in src/*/*.h src/*/*/*.h; do
		try "$header" $1 -x c -std=c11 -D_GNU_SOURCE $warnings -iquote src \
			-Wno-unused-function
	done
}

{
check_all "${CC:-cc}" "${CXX:-g++}"
for pair in gcc:g++ clang:clang++; do
	c=${pair%:*}
	cpp=${pair#*:}
	command -v "$c" >/dev/null 2>&1 || continue
	command -v "$cpp" >/dev/null 2>&1 || cpp=
	case $(readlink -f "$(command -v "${CC:-cc}")") in
	"$(readlink -f "$(command -v "$c")")") ;;
	*) check_all "$c" "$cpp" ;;
	esac
done
} | xargs -P "$(nproc)" -L 1 "$0"
