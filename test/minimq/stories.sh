#!/bin/bash
# SPDX-License-Identifier: MIT
# mosquitto's clients, and what no client may send, against the tiny broker (examples/minimq.c).
#
#	stories.sh LABEL MINIMQ BROKER_STORIES
#
# BROKER_STORIES: test/broker's program, whose stories of malformed packets are told to MINIMQ, too.
# A sanitizer's report fails the test. Under test/all.sh the counts go to build/results/LABEL.
set -u

label=$1
minimq=$2
stories=$3
limit=120 # seconds, for any one client
directory=$(mktemp -d)
trap 'kill "$pid" 2>/dev/null; rm -rf "$directory"' EXIT
export ASAN_OPTIONS=log_path=$directory/report TSAN_OPTIONS=log_path=$directory/report
passed=0
failed=0

"$minimq" 0 >"$directory/port" 2>"$directory/said" &
pid=$!
until grep -q : "$directory/port"; do
	kill -0 "$pid" || exit 1
	sleep 0.05
done
port=$(sed 's/.*://' "$directory/port")

sub() {
	timeout "$limit" mosquitto_sub -p "$port" "$@"
}

pub() {
	timeout "$limit" mosquitto_pub -p "$port" "$@"
}

# behind FILE: waits until the subscriber that writes the file has printed something.
behind() {
	local left=$((limit * 20))

	until [ -s "$1" ] || [ $((left -= 1)) -eq 0 ]; do
		sleep 0.05
	done
}

# A retained message tells when a subscriber of `topic` is there: `ready TOPIC`, then `behind`.
ready() {
	pub -t "$1" -q 1 -r -m ready
}

lines() {
	sub -t "lines$1/+" -q "$1" -C 2001 >"$directory/lines" &
	local subscriber=$!

	ready "lines$1/ready"
	behind "$directory/lines"
	seq 2000 | pub -t "lines$1/all" -q "$1" -l
	wait "$subscriber" && diff <(echo ready; seq 2000) "$directory/lines"
}

wildcards() {
	local filter

	pub -t w/a/b -r -q 1 -m ab && pub -t w -r -q 1 -m w || return 1
	for filter in 'w/#' 'w/+/b' '+/a/#' 'w/a/b'; do
		sub -t "$filter" -C 1 -q 1 | grep -qx 'w\|ab' || return 1
	done
	[ "$(sub -t 'w/#' -C 2 | sort | tr '\n' ' ')" = 'ab w ' ]
}

retained_is_cleared() {
	pub -t r/a -r -m old -q 1 && pub -t r/a -r -n -q 1 && pub -t r/b -r -m new -q 1 || return 1
	[ "$(sub -t 'r/#' -C 1 -q 1)" = new ]
}

session_outlives_its_connection() {
	sub -c -i kept -t kept -q 1 -E || return 1
	seq 900 | pub -t kept -q 1 -l
	sub -c -i kept -t kept -q 1 -C 900 | diff <(seq 900) -
}

clean_session_forgets() {
	sub -c -i forgetful -t forgotten -q 1 -E && sub -i forgetful -t other -E || return 1
	pub -t forgotten -q 1 -m lost && pub -t there -q 1 -r -m kept || return 1
	[ "$(sub -c -i forgetful -t there -q 1 -C 1)" = kept ]
}

newcomer_takes_over() {
	ready taken
	sub -i twin -t taken -q 1 --will-topic gone --will-payload taken >"$directory/first" 2>&1 &
	local first=$! watcher

	sub -t gone -t taken -C 2 >"$directory/will" &
	watcher=$!
	behind "$directory/first"
	behind "$directory/will"
	sub -i twin -t taken -C 1 >"$directory/second" || return 1
	wait "$watcher" || return 1
	kill "$first" 2>/dev/null # it connects again, as mosquitto_sub does
	wait "$first" 2>/dev/null
	[ "$(cat "$directory/will")" = $'ready\ntaken' ]
}

silence_ends_a_connection() {
	ready silent
	sub -t silent -t dead -C 2 >"$directory/will" &
	local watcher=$!

	behind "$directory/will"
	mosquitto_sub -p "$port" -i silent -t nothing -k 5 --will-topic dead --will-payload dead &
	local client=$!

	sleep 1
	kill -STOP "$client"
	wait "$watcher"
	kill -KILL "$client"
	wait "$client" 2>/dev/null
	[ "$(cat "$directory/will")" = $'ready\ndead' ]
}

many_publishers() {
	local clients=() i

	sub -t 'many/#' -q 1 -C 1001 >"$directory/many" &
	local subscriber=$!

	ready many/ready
	behind "$directory/many"
	for i in 1 2 3 4 5; do
		seq 200 | sed "s/^/$i /" | pub -t "many/$i" -q 1 -l &
		clients+=($!)
	done
	wait "${clients[@]}" "$subscriber" || return 1
	for i in 1 2 3 4 5; do
		sed -n "s/^$i //p" "$directory/many" | diff <(seq 200) - || return 1
	done
}

# The stories end with a line that counts them.
malformed() {
	timeout 600 "$stories" --broker "$minimq" --filter 'malformed_*' --jobs 4 \
		>"$directory/malformed"
	grep -q 'Passing: [1-9][0-9]* | Failing: 0' "$directory/malformed" ||
		{ grep -v '^pass' "$directory/malformed"; false; }
}

ends_well() {
	kill "$pid" && wait "$pid" && [ ! -s "$directory/said" ] &&
		! ls "$directory"/report.* 2>/dev/null
}

tell() {
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $*"
		cat "$directory/said" "$directory"/report.* 2>/dev/null
	fi
}

tell lines 0
tell lines 1
tell wildcards
tell retained_is_cleared
tell session_outlives_its_connection
tell clean_session_forgets
tell newcomer_takes_over
tell silence_ends_a_connection
tell many_publishers
tell malformed
tell ends_well

if [ -n "${BATON_ALL_CHECKS-}" ]; then
	mkdir -p build/results
	echo "$passed $failed" >"build/results/$label"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
