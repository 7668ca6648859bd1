#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds one small fault into libbaton-redis, or into the functions that it gives the server, and
# runs the tests of its half of the library: the queue's, or the remote resources'. Not run: the
# matrices of processes that are killed and the fail-overs, which take too long for each fault, and
# the programs of examples/queue.
#
#	semantic_redis.sh NAME FILE FUNCTION LINE
#
# Leaves a line in build/semantic/results/NAME, as semantic_try.sh does. Environment: COMPILE
# (command and flags), REDIS_LINK (command), REDIS_OBJECTS (what the tests are linked of),
# REDIS_LINK_FLAGS; REDIS_TIMEOUT (60): so many seconds for the tests; PATIENCE, KEEP.
set -u

name=$1
file=$2
here=test/mutants
out=build/semantic
dir=$out/tried/$(echo "$name" | tr : .)
result=$out/results/$name
base=${file##*/}
mkdir -p "$dir"
begin=$(date +%s%N)

over()
{
	echo "$@" >"$result"
	echo "$name $((($(date +%s%N) - begin) / 1000000)) $*" >>$out/times
	[ -n "${KEEP-}" ] || rm -rf "$dir"
	exit 0
}

queue='functions|queue|lost|effect|refused|same|versions|elsewhere'
case $base in
remote*) suites='@(functions|remote|remote_much|remote_refused)/*' ;;
queue.lua | redis_*) suites="@($queue|stats|cluster)/*" ;;
*) suites="@($queue|remote|remote_much|remote_refused)/*" ;;
esac

# ---- Mutate, compile ----
case $file in
*.lua)
	cp $out/patched/"$name" "$dir/$base" 2>/dev/null ||
		awk -v name="$name" -f $here/semantic_lua.awk "$file" >"$dir/$base" ||
		over "broken the generator"
	source=$dir/functions.c
	object=build/redis/functions.o
	{
		echo '#include "companion/redis/redis.h"'
		echo 'const char baton__redis_functions[] = {'
		for part in queue.lua remote.lua names.lua; do
			[ ! -e "$dir/$part" ] || cat "$dir/$part"
			[ -e "$dir/$part" ] || cat "src/companion/redis/$part"
		done | od -An -v -t x1 | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
		echo '0};'
	} >"$source"
	;;
*)
	cp $out/patched/"$name" "$dir/$base" 2>/dev/null ||
		awk -v name="$name" -f $here/semantic.awk include/baton/*.h src/*/*.h src/*/*/*.h \
			-- "$file" >"$dir/$base" || over "broken the generator"
	source=$dir/$base
	object=build/${file%.c}.o
	;;
esac
# shellcheck disable=SC2086 # words, on purpose
CCACHE_DISABLE=1 $COMPILE -iquote src/companion/redis -w '-DIF_NOT(...)=if (!(__VA_ARGS__))' \
	'-DIF_NEVER(...)=if ((__VA_ARGS__) && 0)' '-DIF_ALWAYS(...)=if ((__VA_ARGS__) || 1)' \
	-c -o "$dir/mutant.o" "$source" 2>"$dir/errors" || over "broken $(head -n 1 "$dir/errors")"
# shellcheck disable=SC2046,SC2086 # words, on purpose
$REDIS_LINK -o "$dir/tests" $(echo " $REDIS_OBJECTS " | sed "s| $object | $dir/mutant.o |") \
	$REDIS_LINK_FLAGS 2>"$dir/errors" || over "broken $(head -n 1 "$dir/errors")"

# ---- Run ----
# A test that fails is run again, alone: others' load, too, makes tests fail. It says something only
# if it passes without the fault.
#	once TESTS FILTER
once()
{
	CRITERION_FAIL_FAST=1 timeout -k 1 "$((${REDIS_TIMEOUT:-60} * ${PATIENCE:-1}))" "$1" \
		-j4 --filter "$2" >"$dir/log" 2>&1
}
for _ in 1 2; do
	! once "$dir/tests" "$suites" || over survives
	test=$(sed -n 's/^\[.*FAIL.*\] \([a-z_]*\)::\([a-z_0-9]*\).*/\1\/\2/p' "$dir/log" |
		head -n 1)
	once "$dir/tests" "${test:-$suites}" || ! once build/redis/tests "${test:-$suites}" ||
		over "killed ${test:-timeout}"
done
over "broken the tests fail now and then, or without the fault"
