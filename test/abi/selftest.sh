#!/bin/sh
# SPDX-License-Identifier: MIT
# Does the comparison find each change of the interface that breaks programs, and pass those that
# break none? Changes a copy of the headers, or of a library's map.
#
#	CC=cc selftest.sh VERSION BUILD
set -eu

version=$1
build=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mainloop=$build/libbaton-mainloop.so
map=src/companion/mainloop/mainloop.map

fail()
{
	echo "abi/selftest: $1"
	cat "$tmp/said"
	exit 1
}

compare() # version; $tmp/include and libraries...
{
	now=$1
	shift
	test/abi/interface.sh "$tmp/include" "$@" >"$tmp/now"
	awk -v version="$now" -f test/abi/compare.awk "$tmp/released" "$tmp/now" >"$tmp/said" 2>&1
}

expect() # breaks or passes, what comes of the change, header, sed expression
{
	rm -rf "$tmp/include"
	cp -r include "$tmp/include"
	sed -i "$4" "$tmp/include/baton/$3"
	! cmp -s "include/baton/$3" "$tmp/include/baton/$3" || fail "$2: nothing is changed"
	result=passes
	compare "$version" "$mainloop" || result=breaks
	[ "$result" = "$1" ] || fail "$2: $result, not $1"
	[ "$1" = passes ] || grep -qE "$5" "$tmp/said" || fail "$2: not named as '$5'"
}

{
	echo "# baton $version"
	test/abi/interface.sh include "$mainloop"
} >"$tmp/released"
cp -r include "$tmp/include"
compare "$version" "$mainloop" || fail 'the interface differs from itself'

# What follows is of the headers as they are: a header that has changed here wants another line.
expect breaks 'a function without its declaration' loop.h \
	'/^void baton_loop_wake(/d' '^gone: function baton_loop_wake: '
expect breaks 'the type of a parameter' resource.h \
	'/^BATON_MUST_USE int baton_resource_await_until(/,/;/s/uint64_t/uint32_t/' \
	'^was function baton_resource_await_until: .*unsigned long'
expect breaks 'the type of a result' version.h \
	's/^int baton_version_number/long baton_version_number/' 'function baton_version_number'
expect breaks 'the type of a callback' task.h \
	's/^typedef int (\*baton_task_fn)/typedef long (*baton_task_fn)/' 'typedef baton_task_fn'
expect breaks 'the size of a struct' pool.h \
	'/^struct baton_pool_options {/,/^}/s/_reserved\[4\]/_reserved[5]/' \
	'struct baton_pool_options: '
expect breaks 'the place of a member' pool.h \
	'/^struct baton_pool_options {/,/^}/{
	s/^\tuint64_t waiting_max;/\tuint64_t _reserved[4];/
	t
	s/^\tuint64_t _reserved\[4\];/\tuint64_t waiting_max;/
	}' 'struct baton_pool_options.waiting_max: '
expect breaks 'the type of a member' pool.h \
	'/^struct baton_pool_options {/,/^}/s/uint64_t waiting_max/int64_t waiting_max/' \
	'struct baton_pool_options.waiting_max: '
expect breaks 'the value of an enumerator' stop.h \
	's/BATON_STOP_QUEUED = 2/BATON_STOP_QUEUED = 9/' 'enum baton_stop.BATON_STOP_QUEUED: 2'
expect breaks 'a constant' future.h \
	's/^#define BATON_HELPING_MAX 32/#define BATON_HELPING_MAX 16/' 'macro BATON_HELPING_MAX'
expect breaks 'an initialiser' future.h \
	'/^#define BATON_PROMISE_INIT/,/}/s/0x40/0x80/' 'macro BATON_PROMISE_INIT'
expect breaks 'an inline function' future.h \
	'/^static inline bool baton_future_is_complete(/,/^}/s/return/return !/' \
	'inline baton_future_is_complete'
expect passes 'a function more' loop.h 's/^void baton_loop_wake(/void baton_loop_new(int);\n&/'
expect passes 'an enumerator more' stop.h 's/^\tBATON_STOP_QUEUED = 2/\tBATON_STOP_NEW = 77,\n&/'
expect passes 'a member in the place of a reserved one' pool.h \
	'/^struct baton_pool_options {/,/^}/s/uint64_t _reserved\[4\]/int64_t a, _reserved[3]/'
expect passes 'a comment in an inline function' future.h \
	'/^static inline bool baton_future_is_complete(/,/^}/s/return/\/* more *\/ return/'

relink() # breaks or passes, what comes of the change, sed expression for the map, version, soname
{
	rm -rf "$tmp/include"
	cp -r include "$tmp/include"
	sed "$3" $map >"$tmp/map"
	! cmp -s $map "$tmp/map" || fail "$2: nothing is changed"
	${CC:-cc} -shared -o "$tmp/libbaton-mainloop.so" -Wl,-soname,"$5" \
		-Wl,--version-script="$tmp/map" -Wl,--whole-archive "$build/libbaton-mainloop.a" \
		-Wl,--no-whole-archive "$build/src/base/assert.o"
	result=passes
	compare "$4" "$tmp/libbaton-mainloop.so" || result=breaks
	[ "$result" = "$1" ] || fail "$2: $result, not $1"
}
soname=$(sed -n 's/^library libbaton-mainloop: //p' "$tmp/released")
relink passes 'a map with a comment more' 's/^global:/global: \/* */' "$version" "$soname"
relink breaks 'a symbol that is not exported' '/\tbaton_mainloop_fd;/d' "$version" "$soname"
relink breaks 'a symbol with another version' 's/^BATON_MAINLOOP_[0-9.]*/BATON_MAINLOOP_9.9/' \
	"$version" "$soname"
relink breaks 'another soname' 's/^global:/global: \/* */' "$version" libbaton-mainloop.so.9
# One that the release lacked.
sed -i '/^symbol libbaton-mainloop baton_mainloop_fd: /d' "$tmp/released"
relink passes 'a symbol more before the release' 's/^global:/global: \/* */' "$version" "$soname"
relink breaks 'a symbol more with the version of a release' 's/^global:/global: \/* */' 9.9.9 \
	"$soname"
relink passes 'a symbol more with a version of its own' \
	'/\tbaton_mainloop_fd;/d; $s/$/\nBATON_MAINLOOP_9.9 {\n\tbaton_mainloop_fd;\n};/' 9.9.9 \
	"$soname"

# A program without the new symbol starts with both libraries. One that has it does not start with
# the older library, and is told which version is missing.
old=$(dirname "$(readlink -f "$mainloop")")
new=$tmp/new
mkdir "$new"
mv "$tmp/libbaton-mainloop.so" "$new/$soname"
for symbol in now fd; do
	echo "extern char baton_mainloop_$symbol; char *used = &baton_mainloop_$symbol;
		int main(void) {return 0;}" >"$tmp/$symbol.c"
	${CC:-cc} -o "$tmp/$symbol" "$tmp/$symbol.c" "$new/$soname" -L"$old" -lbaton
	LD_LIBRARY_PATH=$new:$old "$tmp/$symbol" || fail "baton_mainloop_$symbol: does not start"
done
LD_LIBRARY_PATH=$old "$tmp/now" || fail 'a program does not start with the older library'
! LD_LIBRARY_PATH=$old "$tmp/fd" 2>"$tmp/said" || fail 'a program starts that lacks a symbol'
grep -q "version .BATON_MAINLOOP_9.9' not found" "$tmp/said" || fail 'the loader says otherwise'
