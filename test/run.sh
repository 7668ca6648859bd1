#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs test executables one after the other, all of them whatever becomes of the first, and sums up
# their closing lines.
#
#	run.sh LABEL EXECUTABLE...
#
# An executable fails if a test of it fails, if it ends in another way than by its closing line, if
# it has no tests, or if a sanitizer has left a report. TEST_ARGS: arguments for each executable.
# ASAN_MORE: further options for AddressSanitizer. RUNNER: words before each executable.
# Under test/all.sh the sum goes to build/results/LABEL, else to the last line.
set -u

label=$1
shift
dir=build/logs/$label
rm -rf "$dir"
mkdir -p "$dir" build/results

# A report counts even where its process ends well or as a test expects.
reports=$PWD/$dir/report
export ASAN_OPTIONS="log_path=$reports:detect_leaks=1:detect_stack_use_after_return=1"
ASAN_OPTIONS=$ASAN_OPTIONS${ASAN_MORE:+:$ASAN_MORE}
export TSAN_OPTIONS="log_path=$reports:second_deadlock_stack=1:history_size=4"
export UBSAN_OPTIONS="log_path=$reports:print_stacktrace=1"
[ ! -e test/tsan.supp ] || TSAN_OPTIONS="$TSAN_OPTIONS:suppressions=$PWD/test/tsan.supp"

# ThreadSanitizer dies at its start where mmap is too random; not everywhere may that be changed.
runner=${RUNNER-}
[ "$label" != check-tsan ] || ! setarch "$(uname -m)" -R true 2>/dev/null ||
	runner="setarch $(uname -m) -R"

running=
trap 'kill $running 2>/dev/null; exit 130' INT TERM

passed=0
failed=0
for executable; do
	name=${executable##*/}
	log=$dir/$name.log
	# shellcheck disable=SC2086 # words, on purpose
	timeout -k 10 900 $runner "$executable" ${TEST_ARGS-} >"$log" 2>&1 &
	running=$!
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
		cat "$reports".* >>"$log"
		mkdir -p "$dir/$name.reports"
		mv "$reports".* "$dir/$name.reports/"
		[ "$lost" -gt 0 ] || why="a sanitizer has reported something"
	elif [ "$status" -ne 0 ] && [ "$lost" -eq 0 ]; then
		why="ended with status $status though no test failed"
	elif [ "$ran" -eq 0 ] && ! $runner "$executable" --list 2>/dev/null | grep -q .; then
		why="has no tests"
	fi
	if [ -n "$why" ] && [ "$lost" -eq 0 ]; then
		lost=1
	fi
	if [ "$lost" -gt 0 ]; then
		grep -v '^\[====\]' "$log" | head -n 200
		[ -z "$why" ] || echo "$name: $why"
		echo "$name: see $log"
	fi
	printf '%-24s [====] Synthesis: Tested: %u | Passing: %u | Failing: %u\n' "$name" \
		"$ran" "$good" "$lost"
	passed=$((passed + good))
	failed=$((failed + lost))
done

if [ -n "${BATON_ALL_CHECKS-}" ]; then
	echo "$passed $failed" >"build/results/$label"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
