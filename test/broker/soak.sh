#!/bin/bash
# SPDX-License-Identifier: MIT
# A quarter of an hour of load on one broker with a store, in rounds. The load generator checks each
# delivery: none is lost, doubled, out of order or altered. Beside it clients come and go, take each
# other over, leave wills and retained messages, log in rightly and wrongly; clients of MQTT 5 share
# a subscription; and the broker's file is changed and read again. After each round all clients
# leave; then the broker must use no CPU, and its memory must not grow from round to round. Run from
# the repository's root.
# SOAK_SECONDS=900
set -u
export LC_ALL=C
broker=${BROKER:-build/examples/broker/broker}
load=${LOAD:-build/broker_bench/load}
seconds=${SOAK_SECONDS:-900}
work=$(mktemp -d "${TMPDIR:-/tmp}/baton-soak.XXXXXX") || exit 1
pid= beside= fives=
trap 'kill $beside $fives $pid 2>/dev/null; rm -rf "$work"' EXIT
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
		timeout 3 mosquitto_sub -V 5 -p "$port" -i "taken5" -c -x $((at % 3 * 100)) -q 1 \
			-t 'soak/#' -t "\$share/$((at % 2))/soak/kept/+" \
			-D CONNECT receive-maximum 5 -D CONNECT topic-alias-maximum 20 \
			-D SUBSCRIBE subscription-identifier 7 \
			--will-topic soak/will --will-payload gone -D WILL will-delay-interval 2 \
			>/dev/null &
		seq 20 | mosquitto_pub -V 5 -p "$port" -u ann -P secret -q $((at % 3)) -l \
			-t soak/five -D PUBLISH topic-alias $((at % 10 + 1)) \
			-D PUBLISH message-expiry-interval 1 -D PUBLISH user-property name value
		mosquitto_pub -V $((at % 2 == 0 ? 5 : 311)) -p "$port" -u ann -P wrong \
			-t soak/none -m x
		configure $((at % 2 * 1000 + 20000))
		sleep 0.2
	done
} 2>/dev/null

# The broker's file; it reads it again.
configure() {
	printf '%s\n' 'log_level error' 'persistent_client_expiration 5' "max_queued_messages $1" \
		"password_file $work/users" 'allow_anonymous true' >"$work/conf.new"
	mv "$work/conf.new" "$work/conf"
	[ -z "$pid" ] || kill -HUP "$pid"
}

# A subscriber of MQTT 5 gets all in order; of two members of a group each gets a part.
five() {
	local name filter members
	fives=
	for name in all one two; do
		filter=five/#
		[ $name = all ] || filter="\$share/five/$filter"
		mosquitto_sub -V 5 -p "$port" -i "five-$name" -c -x 100 -q 1 \
			-D CONNECT receive-maximum 10 -t "$filter" >"$work/five-$name" &
		fives="$fives $!"
	done
	until [ "$(mosquitto_pub -V 5 -p "$port" -q 1 -t five/ready -m ready -d |
		grep -c 'RC:0')" -gt 0 ] && grep -qs ready "$work/five-all" &&
		grep -qs ready "$work/five-one" && grep -qs ready "$work/five-two"; do
		sleep 0.1
	done
	seq 3000 | mosquitto_pub -V 5 -p "$port" -u ann -P secret -q 1 -l -t five/x \
		-D PUBLISH topic-alias 1 -D PUBLISH user-property name value
	for _ in $(seq 100); do
		members=$(cat "$work/five-one" "$work/five-two" | grep -cv ready)
		[ "$members" -lt 3000 ] || [ "$(grep -cv ready "$work/five-all")" -lt 3000 ] ||
			break
		sleep 0.1
	done
	{ kill $fives; wait $fives; } 2>/dev/null
	fives=
	check 'a subscriber of MQTT 5 got something else' \
		cmp -s <(grep -v ready "$work/five-all") <(seq 3000)
	check 'the members of a group got something else' \
		cmp -s <(sort -n "$work/five-one" "$work/five-two" | grep -v ready) <(seq 3000)
}

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
	five
	{ kill $beside; wait $beside; } 2>/dev/null
	beside=
	quiet
}

for program in "$broker" "$load"; do
	[ -x "$program" ] || { echo "soak: $program is not built"; exit 1; }
done
echo "ann:$(openssl passwd -6 -salt soak secret)" >"$work/users"
configure 20000
"$broker" --config "$work/conf" --port 0 --store "$work/store" --stats-interval 0 >"$work/out" &
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
