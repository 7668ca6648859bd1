#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds one small fault into the library and runs the tests, and the scenarios of the explorer,
# that come to its line.
#
#	semantic_try.sh NAME FILE FUNCTION LINE[,LINE...]
#
# The fault is the generator's of this name, or the source in build/semantic/patched/NAME.
#
# Leaves a line in build/semantic/results/NAME:
#	killed TEST, or killed explorer SCENARIO
#	survives[: no test comes there]
#	same                 the compiler makes the same code of it
#	broken WHY           it does not compile
#
# Environment: COMPILE, TEST_COMPILE (command and flags; of the library, of a test), LINK (command),
# LINK_FLAGS, FILES (what is mutated), OBJECTS (the library's), TEST_OBJECTS (what each test is
# linked of, beside it), FAULTS (what test/faults is linked of, beside the library's);
# COUNTS_COMPILE, COUNTS (command, and what the budget's check is linked of); SIM_COMPILE, SIM_LINK,
# SIM_OBJECTS, SIM_LINK_FLAGS (as the first four, of the explorer, which links what it explores);
# TESTS_MAX (400), SCENARIOS_MAX (120): so many at most; LONG (6): for so many seconds, in each way,
# are the scenarios explored that are named like the file; PATIENCE (1): how many times longer a
# test may take than it should; KEEP=1 keeps the mutant's files.
set -u

name=$1
file=$2
function=$3
line=$4
case $file in
src/companion/redis/*) exec "${0%/*}/semantic_redis.sh" "$@" ;;
esac
here=test/mutants
out=build/semantic
dir=$out/tried/$(echo "$name" | tr : .) # a folder of LD_LIBRARY_PATH
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

# Without the broker's.
library()
{
	echo "$1" | tr ' ' '\n' | grep -v examples/
}

# ---- Mutate ----
# A source stands beside its own headers; a header is found before the one that it replaces.
case $file in
*.h)
	place=$dir/include/${file#src/}
	place=$(echo "$place" | sed 's|include/include/|include/|')
	;;
*) place=$dir/$base ;;
esac
mkdir -p "${place%/*}"
cp $out/patched/"$name" "$place" 2>/dev/null ||
	awk -v name="$name" -f $here/semantic.awk include/baton/*.h src/*/*.h src/*/*/*.h \
		"${file%/*}"/*.h -- "$file" >"$place" || over "broken the generator"

# The functions and macros of headers through which the function is used, with itself.
users()
{
	awk -v wanted="$1" '
		/^[A-Za-z_].*[A-Za-z0-9_]\(/ && !/^#/ && !/;$/ {
			where = $0
			sub(/\(.*/, "", where)
			sub(/.*[^A-Za-z0-9_]/, "", where)
		}
		/^#define [A-Za-z_]/ {
			where = $2
			sub(/\(.*/, "", where)
		}
		{
			rest = $0
			while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
				uses[where, substr(rest, RSTART, RLENGTH)] = 1
				rest = substr(rest, RSTART + RLENGTH)
			}
		}
		END {
			found[wanted] = more = 1
			while (more) {
				more = 0
				for (pair in uses) {
					split(pair, part, SUBSEP)
					if (part[2] in found && !(part[1] in found))
						found[part[1]] = more = 1
				}
			}
			for (one in found)
				if (one != "")
					printf "%s%s", bar++ ? "|" : "", one
		}' include/baton/inline.h src/*/*.h src/*/*/*.h
}

# ---- Compile: what holds the fault ----
# The sources, without their ".c", whose code the fault changes; and tests with such code.
own_tests=
case $file in
*.h)
	names=$(users "$function")
	# shellcheck disable=SC2086 # words, on purpose
	candidates=$(grep -l -w -E "$names" $FILES | grep '\.c$')
	more_scenarios=$(grep -l -w -E "$names" test/sim/scenarios/*.c)
	own_tests=$(grep -l -r -w -E "$names" --include='test_*.c' test/unit)
	case $file in
	*/inline.h)
		more_scenarios=$(echo "$more_scenarios" | xargs -r grep -l 'baton/inline.h')
		own_tests=$(echo "$own_tests" | xargs -r grep -l 'baton/inline.h')
		;;
	esac
	;;
*)
	candidates=$file
	more_scenarios=
	own_tests=$(grep -l -r "^#include \"${file#src/}\"" test/unit)
	;;
esac

#	compile COMMAND OUTPUT SOURCE
compile()
{
	own=${3%/*}
	case $3 in
	"$dir"/*) own=${file%/*} ;;
	esac
	# shellcheck disable=SC2046 # words, on purpose
	CCACHE_DISABLE=1 $(echo "$1" | sed "s| -iquote src | -iquote $dir/include -iquote src |
		s| -Iinclude | -I$dir/include -Iinclude |") -iquote "$own" -w \
		'-Dvisibility(kind)=visibility("default")' \
		'-DIF_NOT(...)=if (!(__VA_ARGS__))' '-DIF_NEVER(...)=if ((__VA_ARGS__) && 0)' \
		'-DIF_ALWAYS(...)=if ((__VA_ARGS__) || 1)' \
		-c -o "$2" "$3" 2>"$dir/errors" || over "broken $(head -n 1 "$dir/errors")"
}

# The source with the fault in it.
faulty()
{
	case $file in
	*.h) echo "$1" ;;
	*) echo "$dir/$base" ;;
	esac
}

changed=
edits=
for source in $candidates; do
	object=$dir/$(echo "${source%.c}" | tr / +).o
	compile "$COMPILE" "$object" "$(faulty "$source")"
	if ! cmp -s "$object" "$out/${source%.c}.o"; then
		changed="$changed $source"
		edits="$edits;s| $out/${source%.c}.o | $object |"
	fi
done
[ -n "$changed$more_scenarios$own_tests" ] || over same
case $file in
*/inline.h) ;;
*) [ -n "$changed" ] || over same ;;
esac
objects=$(echo " $OBJECTS " | sed "$edits")
# shellcheck disable=SC2086 # words, on purpose
$LINK -shared -Wl,-soname,libtested.so -o "$dir/libtested.so" $objects $LINK_FLAGS \
	2>"$dir/errors" || over "broken $(head -n 1 "$dir/errors")"

# ---- Run: tests named after the file first, then those that share a word of its name, then those
# that come to the fewest lines ----
# A test that fails is run again: others' load, too, makes tests fail. One that fails by time says
# something only if it passes at the same time without the fault.
#	fails SECONDS TEST SAME-TEST-WITHOUT-FAULT [ARGUMENT...]
once()
{
	libraries=$1
	shift
	CRITERION_FAIL_FAST=1 LD_LIBRARY_PATH=$libraries \
		timeout -k 1 "$((limit * ${PATIENCE:-1}))" "$@" >"$dir/log" 2>&1
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

# "RANK NAME SECONDS COST", the best first: who comes to the line.
reach=$(awk -v lines="$line" -f $here/semantic_at.awk "$out/reach/$base" "$out/reach/$base" |
	awk -v stem="${base%.*}" '
	function rank(test, words, i) {
		if (test ~ /^=/) {
			sub(/^=/, "", test)
			sub(/_.*/, "", test)
			return index(stem, test) == 0
		}
		if (index("/" test, "/test_" stem))
			return 0
		for (i = split(stem, words, "_"); i > 0; i--)
			if (index(test "_", "_" words[i] "_"))
				return 1
		return 2
	}
	{print rank($1), $0}' | LC_ALL=C sort -k1,1n -k4,4n)

# A test with the fault in its own code, which leaves no trace.
for test in $own_tests; do
	# A source that is included stands beside the test; a header is found before its original.
	case $file in
	*.h) cp "$test" "$dir/test.c" ;;
	*) sed "s|^#include \"${file#src/}\"|#include \"$base\"|" "$test" >"$dir/test.c" ;;
	esac
	compile "$TEST_COMPILE -iquote ${test%/*} -iquote ${file%/*}" "$dir/test.o" "$dir/test.c"
	# shellcheck disable=SC2046,SC2086 # words, on purpose
	$LINK -Wl,--allow-shlib-undefined -o "$dir/test" "$dir/test.o" $TEST_OBJECTS \
		"$dir/libtested.so" $LINK_FLAGS -lcriterion 2>"$dir/errors" ||
		continue
	test=${test#test/}
	! fails 30 "$dir/test" "$out/${test%.c}" || over killed "$test"
done
[ -n "$changed" ] || over survives
tests=$(echo "$reach" | awk -v most="${TESTS_MAX:-400}" 'NF && $2 !~ /^(=|faults\/)/ && n++ < most {
	printf "%s:%u\n", $2, 5 + 4 * $3}')
for test in $tests; do
	! fails "${test#*:}" "$out/${test%:*}" "$out/${test%:*}" || over killed "${test%:*}"
done
# What is linked in a way of its own.
program()
{
	# shellcheck disable=SC2086 # words, on purpose
	$LINK -o "$dir/$1" $2 $LINK_FLAGS 2>"$dir/errors" ||
		over "broken $(head -n 1 "$dir/errors")"
}
# Whatever fails below it, the library gives everything back.
failing=$(echo "$reach" | awk '$2 ~ /^faults\// {printf "%s:%u\n", substr($2, 8), 5 + 4 * $3}')
[ -z "$failing" ] || program faults "$FAULTS $(library "$objects")"
for test in $failing; do
	! fails "${test#*:}" "$dir/faults" $out/faults --until-failure --filter "${test%:*} *" ||
		over killed "faults ${test%:*}"
done
# The hot paths cost what they may.
case $file in
examples/*) ;;
*)
	edits=
	for source in $changed; do
		object=$dir/$(echo "${source%.c}" | tr / +).count.o
		compile "$COUNTS_COMPILE -g0" "$object" "$(faulty "$source")"
		edits="$edits;s| build/counts/${source%.c}.o | $object |"
	done
	program counts "$(echo " $COUNTS " | sed "$edits")"
	grep -q -x counts $out/fail || ! fails 20 "$dir/counts" build/bench/counts ||
		over killed counts
	;;
esac
# What depends on the interleaving: the scenarios that come to the line. First those whose name
# begins with a word of the file's; at the end these again, for longer.
ranked=$(echo "$reach" | awk '$2 ~ /^=/ {print $1, $2}' | head -n "${SCENARIOS_MAX:-120}")
scenarios=$(echo "$ranked" | sed 's/.* //' | paste -s -d , -)
named_alike=$(echo "$ranked" | sed -n 's/^0 //p' | paste -s -d , -)
[ -n "$tests$failing$scenarios" ] || over "survives: no test comes there"
[ -n "$scenarios" ] || over survives
edits=
for source in $changed $more_scenarios; do
	case " $SIM_OBJECTS " in
	*" build/sim/${source%.c}.simo "*) ;;
	*) continue ;;
	esac
	object=$dir/$(echo "${source%.c}" | tr / +).simo
	case $source in
	test/*) compile "$SIM_COMPILE -g0" "$object" "$source" ;;
	*) compile "$SIM_COMPILE -g0" "$object" "$(faulty "$source")" ;;
	esac
	edits="$edits;s| build/sim/${source%.c}.simo | $object |"
done
# shellcheck disable=SC2086,SC2046 # words, on purpose
$SIM_LINK -Wl,-S -o "$dir/sim" $(echo " $SIM_OBJECTS " | sed "$edits") $SIM_LINK_FLAGS \
	2>"$dir/errors" || over "broken $(head -n 1 "$dir/errors")"
look()
{
	found=$("$dir/sim" --seed 1 --brief --quiet --scenario "$1" --seconds "$2" \
		2>"$dir/errors" |
		awk '$2 == "search" || $2 == "walk" || $2 == "freeze" || $2 == "died" {
			print $1; exit}')
	[ -z "$found" ] || over "killed explorer $found"
}

look "$scenarios" 0.05
# At most a second for each, and some seconds for all.
[ -z "$named_alike" ] || look "$named_alike" "$(echo "$named_alike" |
	awk -F , -v all="${LONG:-6}" '{seconds = all / NF; print seconds < 1 ? seconds : 1}')"
over survives
