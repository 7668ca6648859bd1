#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds one small fault into the library and runs the tests, and the scenarios of the explorer,
# that come to its function.
#
#	semantic_try.sh NAME FILE FUNCTION
#
# Leaves a line in build/semantic/results/NAME:
#	killed TEST, or killed explorer SCENARIO
#	survives[: no test comes there]
#	same                 the compiler makes the same code of it
#	broken WHY           it does not compile
#
# Environment: COMPILE (command and flags), LINK (command), LINK_FLAGS, OBJECTS (the library's),
# FAULTS (what test/faults is linked of, beside these); MAPS (which test comes where); SIM_COMPILE,
# SIM_LINK, SIM_OBJECTS, SIM_LINK_FLAGS (as the first four, of the explorer, which links what it
# explores); TESTS_MAX (400), SCENARIOS_MAX (250): so many at most; KEEP=1 keeps the mutant's files.
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
compile()
{
	"$@" -iquote "${file%/*}" -w \
		'-DIF_NOT(...)=if (!(__VA_ARGS__))' '-DIF_NEVER(...)=if ((__VA_ARGS__) && 0)' \
		-c 2>"$dir/errors" || over "broken $(head -n 1 "$dir/errors")"
}

# shellcheck disable=SC2086 # words, on purpose
compile $COMPILE '-Dvisibility(kind)=visibility("default")' -o "$dir/mutant.o" "$dir/$base"
! cmp -s "$dir/mutant.o" "$object" || over same
objects=$(echo " $OBJECTS " | sed "s| $object | $dir/mutant.o |")
# shellcheck disable=SC2086 # words, on purpose
$LINK -shared -Wl,-soname,libtested.so -o "$dir/libtested.so" $objects $LINK_FLAGS \
	2>"$dir/errors" || over "broken $(head -n 1 "$dir/errors")"

# ---- Run: tests named after the file first, then those that share a word of its name, then those
# that enter the fewest functions ----
# A test that fails is run again: others' load, too, makes tests fail.
fails()
{
	LD_LIBRARY_PATH=$dir timeout -k 1 "$1" "$2" >/dev/null 2>&1
	[ $? -ne 0 ] || return 1
	[ "$(LD_LIBRARY_PATH=$dir timeout -k 1 "$1" "$2" >/dev/null 2>&1 || echo no)" ]
}

# Functions that are always inlined leave no trace: then those that come to the file.
# shellcheck disable=SC2086 # words, on purpose
tests=$(awk -v place="$base:$function" -v file="$base" -v stem="${base%.c}" '
	FNR == 1 {test = FILENAME; sub(/.*\/maps\//, "", test); sub(/\.map$/, "", test); lines = 0}
	$1 == "seconds" {seconds[test] = $2}
	{count[test]++}
	index($1, file ":") == 1 {near[test] = 1}
	$1 == place {hit[test] = any = 1}
	function rank(test, words, i) {
		if (index("/" test, "/test_" stem))
			return 0
		for (i = split(stem, words, "_"); i > 0; i--)
			if (index(test "_", "_" words[i] "_"))
				return 1
		return 2
	}
	END {
		for (test in near) {
			if (any && !(test in hit))
				continue
			printf "%u %f %s %u\n", rank(test), count[test] * (0.2 + seconds[test]),
				test, 5 + 4 * seconds[test]
		}
	}' $MAPS | sort -k1,1n -k2,2n | head -n "${TESTS_MAX:-400}" |
	awk '{print $3 ":" $4}')
# A test that includes the file has a copy of its own, and leaves no trace.
# shellcheck disable=SC2086 # words, on purpose
for test in $(grep -l -r "^#include \"${file#src/}\"" test/unit); do
	sed "s|^#include \"${file#src/}\"|#include \"$base\"|" "$test" >"$dir/test.c"
	compile $COMPILE -iquote test/unit -iquote "${test%/*}" -o "$dir/test.o" "$dir/test.c"
	# shellcheck disable=SC2086 # words, on purpose
	$LINK -Wl,--allow-shlib-undefined -o "$dir/test" "$dir/test.o" "$dir/libtested.so" \
		$LINK_FLAGS -lcriterion 2>"$dir/errors" || over "broken $(head -n 1 "$dir/errors")"
	! fails 30 "$dir/test" || over killed "${test#test/}"
done
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
# What depends on the interleaving: the scenarios that come to the function. A function without an
# atomic operation leaves no trace. First those whose name begins with a word of the file's; at the
# end these again, for longer.
case " ${SIM_OBJECTS-} " in
*" build/sim/${file%.c}.simo "*) ;;
*) over "survives$([ -n "$tests" ] || echo : no test comes there)" ;;
esac
ranked=$(awk -v place="$base:$function:" -v file="$base:" -v stem="${base%.c}" '
	index($3, file) == 1 {near[$1] = 1}
	index($3, place) == 1 {hit[$1] = any = 1}
	END {
		for (scenario in near) {
			if (any && !(scenario in hit))
				continue
			word = scenario
			sub(/_.*/, "", word)
			print index(stem, word) == 0, "=" scenario
		}
	}' $out/sites | sort | head -n "${SCENARIOS_MAX:-250}")
scenarios=$(echo "$ranked" | sed 's/.* //' | paste -s -d , -)
named_alike=$(echo "$ranked" | sed -n 's/^0 //p' | paste -s -d , -)
[ -n "$tests$scenarios" ] || over "survives: no test comes there"
[ -n "$scenarios" ] || over survives
# shellcheck disable=SC2086 # words, on purpose
compile $SIM_COMPILE -o "$dir/mutant.simo" "$dir/$base"
# shellcheck disable=SC2086,SC2046 # words, on purpose
$SIM_LINK -o "$dir/sim" $(echo " $SIM_OBJECTS " |
	sed "s| build/sim/${file%.c}.simo | $dir/mutant.simo |") $SIM_LINK_FLAGS 2>"$dir/errors" ||
	over "broken $(head -n 1 "$dir/errors")"
look()
{
	found=$("$dir/sim" --seed 1 --brief --quiet --scenario "$1" --seconds "$2" \
		2>"$dir/errors" |
		awk '$2 == "search" || $2 == "walk" || $2 == "freeze" || $2 == "died" {
			print $1; exit}')
	[ -z "$found" ] || over "killed explorer $found"
}

look "$scenarios" 0.05
[ -z "$named_alike" ] || look "$named_alike" 2
over survives
