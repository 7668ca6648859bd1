#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs test executables, as many at a time as there are processors, all of them whatever becomes of
# the first, and sums up their closing lines.
#
#	run.sh LABEL EXECUTABLE...
#
# An executable fails if a test of it fails, if it ends in another way than by its closing line, if
# it has no tests, or if a sanitizer has left a report. TEST_ARGS: arguments for each executable.
# ASAN_MORE: further options for AddressSanitizer. RUNNER: words before each executable. JOBS: how
# many at a time.
# Under test/all.sh the sum goes to build/results/LABEL, else to the last line.
set -u

# One executable. Its log is $dir/NAME.log. What run.sh says of it is $dir/NAME.said. How many of
# its tests have passed and failed is $dir/NAME.counts.
if [ "$1" = --one ]; then
	dir=$2
	executable=$3
	name=${executable##*/}
	log=$dir/$name.log
	reports=$dir/$name.report
	export ASAN_OPTIONS="log_path=$reports:detect_leaks=1:detect_stack_use_after_return=1"
	ASAN_OPTIONS=$ASAN_OPTIONS${ASAN_MORE:+:$ASAN_MORE}
	export TSAN_OPTIONS="log_path=$reports:second_deadlock_stack=1:history_size=4"
	export UBSAN_OPTIONS="log_path=$reports:print_stacktrace=1"
	[ ! -e test/tsan.supp ] ||
		TSAN_OPTIONS="$TSAN_OPTIONS:suppressions=$PWD/test/tsan.supp"

	# shellcheck disable=SC2086 # words, on purpose
	timeout -k 10 1800 ${RUNNER-} "$executable" ${TEST_ARGS-} >"$log" 2>&1 &
	running=$!
	trap 'kill $running 2>/dev/null; exit 130' INT TERM
	wait $running
	status=$?
	counts=$(awk -F '[:|]' '/Synthesis: Tested:/ {print $3 + 0, $5 + 0, $7 + 0}' "$log" |
		tail -n 1)
	ran=${counts%% *}
	lost=${counts##* }
	good=${counts#* }
	good=${good% *}
	why=
	if [ -z "$counts" ]; then
		ran=0 good=0 lost=1
		why="ended with status $status and without a closing line"
	elif ls "$reports".* >/dev/null 2>&1; then
		# A report counts even where its process ends well or as a test expects.
		cat "$reports".* >>"$log"
		mkdir -p "$dir/$name.reports"
		mv "$reports".* "$dir/$name.reports/"
		[ "$lost" -gt 0 ] || why="a sanitizer has reported something"
	elif [ "$status" -ne 0 ] && [ "$lost" -eq 0 ]; then
		why="ended with status $status though no test failed"
	elif [ "$ran" -eq 0 ] && ! ${RUNNER-} "$executable" --list 2>/dev/null | grep -q .; then
		why="has no tests"
	fi
	if [ -n "$why" ] && [ "$lost" -eq 0 ]; then
		lost=1
	fi
	{
		if [ "$lost" -gt 0 ]; then
			grep -av '^\[====\]' "$log" | head -n 200
			[ -z "$why" ] || echo "$name: $why"
			echo "$name: see ${log#"$PWD/"}"
		fi
		printf '%-24s [====] Synthesis: Tested: %u | Passing: %u | Failing: %u\n' \
			"$name" "$ran" "$good" "$lost"
	} >"$dir/$name.said"
	cat "$dir/$name.said"
	echo "$good $lost" >"$dir/$name.counts"
	exit 0
fi

label=$1
shift
dir=$PWD/build/logs/$label
rm -rf "$dir"
mkdir -p "$dir" build/results

# ThreadSanitizer dies at its start where mmap is too random; not everywhere may that be changed.
if [ "$label" = check-tsan ] && setarch "$(uname -m)" -R true 2>/dev/null; then
	RUNNER="setarch $(uname -m) -R"
fi
export RUNNER="${RUNNER-}" TEST_ARGS="${TEST_ARGS-}" ASAN_MORE="${ASAN_MORE-}"

printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -n 1 "$0" --one "$dir" &
running=$!
trap 'kill $running 2>/dev/null; exit 130' INT TERM
wait $running

# An executable that left no counts was killed together with what ran it.
passed=0
failed=0
for executable; do
	good=0
	lost=1
	[ ! -e "$dir/${executable##*/}.counts" ] ||
		read -r good lost <"$dir/${executable##*/}.counts"
	passed=$((passed + good))
	failed=$((failed + lost))
done

if [ -n "${BATON_ALL_CHECKS-}" ]; then
	echo "$passed $failed" >"build/results/$label"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
