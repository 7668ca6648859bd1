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
# FAULTS (what test/faults is linked of, beside these); COUNTS_COMPILE, COUNTS (command, and what
# the budget's check is linked of); MAPS (which test comes where); SIM_COMPILE, SIM_LINK,
# SIM_OBJECTS, SIM_LINK_FLAGS (as the first four, of the explorer, which links what it explores);
# TESTS_MAX (400), SCENARIOS_MAX (250): so many at most; PATIENCE (1): how many times longer a test
# may take than it should; KEEP=1 keeps the mutant's files.
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
# A test that fails is run again: others' load, too, makes tests fail. One that fails by time says
# something only if it passes at the same time without the fault.
#	fails SECONDS TEST SAME-TEST-WITHOUT-FAULT [ARGUMENT...]
once()
{
	libraries=$1
	shift
	LD_LIBRARY_PATH=$libraries timeout -k 1 "$((limit * ${PATIENCE:-1}))" "$@" >"$dir/log" 2>&1
	status=$?
	! grep -q 'Timed out' "$dir/log" || status=124
	# All tests have passed, and the program has not died: the machine's fault.
	[ $status -gt 123 ] || ! grep -q 'Failing: 0 | Crashing: 0' "$dir/log" || status=0
	[ $status -ne 0 ]
}
fails()
{
	limit=$1 mutant=$2 control=$3
	shift 3
	for _ in 1 2 3; do
		once "$dir" "$mutant" "$@" && once "$dir" "$mutant" "$@" || return 1
		case $status in
		124 | 137) once $out "$control" "$@" || return 0 ;;
		*) return 0 ;;
		esac
	done
	return 1
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
	compile $COMPILE '-Dvisibility(kind)=visibility("default")' -iquote test/unit \
		-iquote "${test%/*}" -o "$dir/test.o" "$dir/test.c"
	# shellcheck disable=SC2086 # words, on purpose
	$LINK -Wl,--allow-shlib-undefined -o "$dir/test" "$dir/test.o" "$dir/libtested.so" \
		$LINK_FLAGS -lcriterion 2>"$dir/errors" || over "broken $(head -n 1 "$dir/errors")"
	test=${test#test/}
	! fails 30 "$dir/test" "$out/${test%.c}" || over killed "$test"
done
for test in $tests; do
	! fails "${test#*:}" "$out/${test%:*}" "$out/${test%:*}" || over killed "${test%:*}"
done
# A program that is built in a way of its own.
#	program NAME SECONDS COMPILE OBJECTS SAME-WITHOUT-FAULT
program()
{
	# shellcheck disable=SC2086 # words, on purpose
	compile $3 -o "$dir/$1.o" "$dir/$base"
	# shellcheck disable=SC2046,SC2086 # words, on purpose
	$LINK -o "$dir/$1" $(echo "" $4 "" | sed "s| [^ ]*/${file%.c}\.o | $dir/$1.o |") \
		$LINK_FLAGS 2>"$dir/errors" || over "broken $(head -n 1 "$dir/errors")"
	grep -q -x "$1" $out/fail || ! fails "$2" "$dir/$1" "$5" || over killed "$1"
}
case $file in
src/*.c)
	# Whatever fails below it, the library gives everything back; and the hot paths cost what
	# they may.
	program faults 60 "$COMPILE" "$FAULTS $(library "$OBJECTS")" $out/faults
	program counts 20 "$COUNTS_COMPILE -g0" "$COUNTS" build/bench/counts
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
# At most 2 s for each, and some 20 s for all.
[ -z "$named_alike" ] || look "$named_alike" "$(echo "$named_alike" |
	awk -F , '{seconds = 20 / NF; print seconds < 2 ? seconds : 2}')"
over survives
