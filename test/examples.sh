#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the examples, each of which checks itself: it says what it shows, and its exit status is 0 if
# that was so. An example that prints always the same with --deterministic has its output in
# test/examples/NAME.txt.
#
#	examples.sh LABEL EXECUTABLE...
#
# Under test/all.sh the sum goes to build/results/LABEL, else to the last line.
set -u

label=$1
shift
dir=build/logs/$label
rm -rf "$dir"
mkdir -p "$dir" build/results

passed=0
failed=0
for executable; do
	log=$dir/${executable##*/}.log
	expected=test/examples/${executable##*/}.txt
	if timeout -k 10 300 "$executable" >"$log" 2>&1 && [ -s "$log" ] &&
		if [ -e "$expected" ]; then
			timeout 300 "$executable" --deterministic 2>&1 | diff "$expected" - >>"$log"
		fi; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		cat "$log"
		echo "${executable##*/}: failed, or said nothing"
	fi
done

if [ -n "${BATON_ALL_CHECKS-}" ]; then
	echo "$passed $failed" >"build/results/$label"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
