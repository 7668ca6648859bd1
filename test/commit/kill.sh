#!/bin/sh
# SPDX-License-Identifier: MIT
# Kills the group commit example (kill -9) in the middle of its work, again and again, and looks in
# the database whether each row is there that it had acknowledged.
#
#	kill.sh LABEL PROGRAM [ROUNDS]
#
# The acknowledged rows come through a pipe: what the program has written before it was killed is
# not lost with it. Under test/all.sh the counts go to build/results/LABEL.
set -u

label=$1
program=$2
rounds=${3:-10}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
passed=0
failed=0
if "$program" "$directory/thousand.db"; then
	passed=$((passed + 1))
else
	failed=$((failed + 1))
fi
round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	: >"$directory/acknowledged"
	rm -f "$directory/victim"
	{
		"$program" --until-killed "$directory/rows.db" &
		echo $! >"$directory/victim"
		wait
	} 2>/dev/null | cat >"$directory/acknowledged" &
	reader=$!
	while [ ! -s "$directory/victim" ]; do
		sleep 0.01
	done
	# From before its first commit to some hundred later.
	sleep "0.$((round % 4))$((round * 7 % 10))"
	# Not killed before it has acknowledged anything, save in every fifth round.
	tries=0
	while [ $((round % 5)) -ne 0 ] && [ ! -s "$directory/acknowledged" ] &&
		[ "$tries" -lt 1200 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
	kill -9 "$(cat "$directory/victim")"
	wait "$reader"
	cat "$directory/acknowledged" >>"$directory/all"
	if "$program" --check "$directory/rows.db" <"$directory/acknowledged" \
		>"$directory/said" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "round $round: $(cat "$directory/said")"
	fi
done
# And all of them together; with nothing acknowledged nothing would be shown.
if [ -s "$directory/all" ] && "$program" --check "$directory/rows.db" <"$directory/all"; then
	passed=$((passed + 1))
else
	failed=$((failed + 1))
	echo 'some rows of earlier rounds are lost, or there were none'
fi
if [ -n "${BATON_ALL_CHECKS-}" ]; then
	mkdir -p build/results
	echo "$passed $failed" >"build/results/$label"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
