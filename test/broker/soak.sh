#!/bin/bash
# SPDX-License-Identifier: MIT
# A quarter of an hour of load on one broker with a store, in rounds. The load generator checks each
# delivery: none is lost, doubled, out of order or altered. Beside it clients come and go, take each
# other over, leave wills and retained messages. After each round all clients leave; then the broker
# must use no CPU, and its memory must not grow from round to round. Run from the repository's root.
# SOAK_SECONDS=900
set -u
export LC_ALL=C
broker=${BROKER:-build/examples/broker/broker}
load=${LOAD:-build/broker_bench/load}
seconds=${SOAK_SECONDS:-900}
work=$(mktemp -d "${TMPDIR:-/tmp}/baton-soak.XXXXXX") || exit 1
pid= beside=
trap 'kill $beside $pid 2>/dev/null; rm -rf "$work"' EXIT
passed=0 failed=0
memory=()

check() { # check WHAT COMMAND...
	local what=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "soak: $what"
		return 1
	fi
}

# Clients of all sorts, until they are killed.
others() {
	local at=0
	while :; do
		at=$((at + 1))
		timeout 5 mosquitto_sub -p "$port" -i "taken" -c -q 2 -t 'soak/#' >"$work/taken" &
		timeout 2 mosquitto_sub -p "$port" -i "mortal$((at % 7))" -t 'soak/none' \
			--will-topic soak/will --will-payload gone --will-retain -k 5 >/dev/null &
		mosquitto_pub -p "$port" -q $((at % 3)) -r -t "soak/kept/$((at % 50))" -m "$at"
		mosquitto_pub -p "$port" -q 1 -t soak/long -f "$load"
		mosquitto_pub -p "$port" -q 1 -r -n -t "soak/kept/$(((at + 25) % 50))"
		sleep 0.2
	done
} 2>/dev/null

ticks() { awk '{print $14 + $15}' "/proc/$pid/stat"; }

# The broker has no clients: what it still holds, and whether it sleeps.
quiet() {
	local before
	sleep 20 # sessions that are kept end, and memory goes back
	before=$(ticks)
	sleep 5
	check "an idle broker used $(($(ticks) - before)) ticks of CPU in 5 s" \
		[ $(($(ticks) - before)) -le 1 ]
	memory+=("$(awk '/^VmRSS/ {print $2}' "/proc/$pid/status")")
}

loads() { # loads ARGUMENTS...: with the generator's own checks
	"$load" --port "$port" --timeout 30 --warm-up 0.5 "$@" >"$work/load" 2>&1
	status=$?
	[ $status -eq 0 ] || sed 's/^/soak: /' "$work/load"
	check "load $*: status $status" [ $status -eq 0 ]
}

round() {
	others &
	beside=$!
	loads -p 50 -s 50 -t 50 -q 1 --rate 3000 --idle 500 --persistent --seconds 15
	loads -p 1 -s 200 -q 0 --rate 200 --seconds 8
	loads -p 200 -s 1 -q 2 --rate 1000 --seconds 8
	loads -p 20 -s 20 -t 4 --publish-qos 2 --subscribe-qos 1 --window 50 --seconds 8
	{ kill $beside; wait $beside; } 2>/dev/null
	beside=
	quiet
}

for program in "$broker" "$load"; do
	[ -x "$program" ] || { echo "soak: $program is not built"; exit 1; }
done
"$broker" --port 0 --store "$work/store" --session-expiry 5 --stats-interval 0 --log-level error \
	>"$work/out" &
pid=$!
until grep -qs '^listening on' "$work/out"; do
	kill -0 $pid 2>/dev/null || { echo 'soak: the broker did not start'; exit 1; }
	sleep 0.01
done
port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$work/out")
while [ $SECONDS -lt "$seconds" ] || [ ${#memory[@]} -lt 3 ]; do
	round
	check 'the broker has died' kill -0 $pid || break
done
echo "KiB after each round: ${memory[*]}"
# The first round makes what stays: threads, tables, the cache of the store.
check "memory grows: ${memory[*]}" [ "${memory[-1]}" -le $((memory[1] * 11 / 10 + 2048)) ]
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
