#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds one small fault into the library and runs the tests that come to its function.
#
#	semantic_try.sh NAME FILE FUNCTION
#
# Leaves a line in build/semantic/results/NAME:
#	killed TEST
#	survives[: no test comes there]
#	same                 the compiler makes the same code of it
#	broken WHY           it does not compile
#
# Environment: COMPILE (command and flags), LINK (command), LINK_FLAGS, OBJECTS (the library's),
# FAULTS (what test/faults is linked of, beside these); TESTS_MAX (25): so many tests at most;
# KEEP=1 keeps the mutant's files.
set -u

name=$1
file=$2
function=$3
here=test/mutants
out=build/semantic
dir=$out/tried/$(echo "$name" | tr : .) # a folder of LD_LIBRARY_PATH
result=$out/results/$name
base=${file##*/}
mkdir -p "$dir"

over()
{
	echo "$@" >"$result"
	[ -n "${KEEP-}" ] || rm -rf "$dir"
	exit 0
}

# Without the broker's.
library()
{
	echo "$1" | tr ' ' '\n' | grep -v examples/
}

# ---- Mutate and compile: the one file, beside its own headers ----
awk -v name="$name" -f $here/semantic.awk include/baton/*.h src/*/*.h "${file%/*}"/*.h -- "$file" \
	>"$dir/$base" || over "broken the generator"
object=$out/${file%.c}.o
# shellcheck disable=SC2086 # words, on purpose
$COMPILE -iquote "${file%/*}" -w '-Dvisibility(kind)=visibility("default")' \
	'-DIF_NOT(...)=if (!(__VA_ARGS__))' '-DIF_NEVER(...)=if ((__VA_ARGS__) && 0)' \
	-c -o "$dir/mutant.o" "$dir/$base" 2>"$dir/errors" ||
	over "broken $(head -n 1 "$dir/errors")"
! cmp -s "$dir/mutant.o" "$object" || over same
objects=$(echo " $OBJECTS " | sed "s| $object | $dir/mutant.o |")
# shellcheck disable=SC2086 # words, on purpose
$LINK -shared -Wl,-soname,libtested.so -o "$dir/libtested.so" $objects $LINK_FLAGS \
	2>"$dir/errors" || over "broken $(head -n 1 "$dir/errors")"

# ---- Run: those named after the file first, then those that enter the fewest functions ----
# A test that fails is run again: others' load, too, makes tests fail.
fails()
{
	LD_LIBRARY_PATH=$dir timeout -k 1 "$1" "$2" >/dev/null 2>&1
	[ $? -ne 0 ] || return 1
	[ "$(LD_LIBRARY_PATH=$dir timeout -k 1 "$1" "$2" >/dev/null 2>&1 || echo no)" ]
}

# Functions that are always inlined leave no trace: then those that come to the file.
tests=$(awk -v place="$base:$function" -v file="$base" -v stem="${base%.c}" '
	FNR == 1 {test = FILENAME; sub(/.*\/maps\//, "", test); sub(/\.map$/, "", test); lines = 0}
	$1 == "seconds" {seconds[test] = $2}
	{count[test]++}
	index($1, file ":") == 1 {near[test] = 1}
	$1 == place {hit[test] = any = 1}
	END {
		for (test in near) {
			if (any && !(test in hit))
				continue
			printf "%u %f %s %u\n", index("/" test, "/test_" stem) == 0,
				count[test] * (0.2 + seconds[test]), test, 5 + 4 * seconds[test]
		}
	}' $(find $out/maps -name '*.map') | sort -k1,1n -k2,2n | head -n "${TESTS_MAX:-25}" |
	awk '{print $3 ":" $4}')
for test in $tests; do
	! fails "${test#*:}" "$out/${test%:*}" || over killed "${test%:*}"
done
# Whatever fails below it, the library gives everything back.
case $file$(cat $out/no_faults 2>/dev/null) in
src/*.c)
	# shellcheck disable=SC2046,SC2086 # words, on purpose
	$LINK -o "$dir/faults" $FAULTS $(library "$objects") $LINK_FLAGS 2>"$dir/errors" ||
		over "broken $(head -n 1 "$dir/errors")"
	! fails 60 "$dir/faults" || over killed faults
	;;
esac
[ -n "$tests" ] || over "survives: no test comes there"
over survives
