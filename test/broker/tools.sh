#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What real clients see of a broker: mosquitto_pub and mosquitto_sub. test_tools.c runs this.
#
#	PORT=1883 tools.sh STORY
#
# Client ids and topics begin with the story's name. Ends with status 0, or with one line that says
# what went wrong.
set -u

story=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/baton-e2e.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
	printf '%s' "$*"
	exit 1
}

pub() { # ARGUMENT...
	timeout 60 mosquitto_pub -h 127.0.0.1 -p "$PORT" "$@" || fail "mosquitto_pub $*: status $?"
}

# Subscribes in the background, by an id of this name; returns when that is acknowledged.
declare -A pids=()
sub() { # NAME ARGUMENT...
	local name=$1

	shift
	: >"$work/$name" # a former run may have written there that it has subscribed
	timeout 120 stdbuf -oL mosquitto_sub -h 127.0.0.1 -p "$PORT" -d -i "$story-$name" \
		-F 'got %q %r %t %p' \
		"$@" >"$work/$name" 2>&1 &
	pids[$name]=$!
	for ((i = 0; i < 3000; i++)); do
		! grep -qs '^Subscribed' "$work/$name" || return
		sleep 0.02
	done
	fail "$name: no SUBACK"
}

# Waits for a subscriber's end (-C); what it has got must be this, as printed by a command.
got_by() { # COMMAND NAME LINES
	local status

	wait "${pids[$2]}"
	status=$?
	[ $status -eq 0 ] || fail "$2 ended with status $status, got: $(lines "$2")"
	[ "$(lines "$2" | $1)" = "$(echo "$3" | $1)" ] || fail "$2 got: $(lines "$2")"
}

got() { # NAME LINES
	got_by cat "$@"
}

got_in_any_order() { # NAME LINES
	got_by sort "$@"
}

lines() { # NAME
	sed -n 's/^got //p' "$work/$1" | sed "s#$story/##"
}

tools_qos() {
	local qos

	for qos in 0 1 2; do
		sub "s$qos" -q $qos -t "$story/$qos" -C 3
		pub -q $qos -t "$story/$qos" -m one
		pub -q $qos -t "$story/$qos" -m 'two words'
		pub -q $qos -t "$story/$qos" -n
		# Three clients, which at QoS 0 do not wait until their message has come.
		got_in_any_order "s$qos" "$qos 0 $qos one
$qos 0 $qos two words
$qos 0 $qos "
	done
}

tools_many_lines() {
	local qos

	for qos in 0 1 2; do
		seq 2000 | sed "s/^/$qos /" >"$work/sent$qos"
		sub "s$qos" -q $qos -t "$story/t$qos" -C 2000
		pub -q $qos -t "$story/t$qos" -l <"$work/sent$qos"
	done
	for qos in 0 1 2; do
		got "s$qos" "$(sed "s#^#$qos 0 t$qos #" "$work/sent$qos")"
	done
}

tools_retained() {
	pub -q 1 -r -t "$story/a" -m kept
	pub -q 1 -r -t "$story/b" -m gone
	pub -q 1 -r -t "$story/b" -n
	sub late -q 2 -t "$story/+" -C 2
	pub -q 0 -t "$story/end" -m x
	got late "1 1 a kept
0 0 end x"
}

tools_will() {
	sub heir -q 2 -t "$story/w" -C 1
	stdbuf -oL mosquitto_sub -h 127.0.0.1 -p "$PORT" -i "$story-dying" -t "$story/none" -d \
		--will-topic "$story/w" --will-payload 'it has died' --will-qos 1 \
		>"$work/dying" 2>&1 &
	for ((i = 0; i < 3000; i++)); do
		! grep -qs 'CONNACK' "$work/dying" || break
		sleep 0.02
	done
	kill -KILL $!
	got heir "1 0 w it has died"
}

tools_session() {
	sub away -c -q 2 -t "$story/t" -C 1
	pub -q 1 -t "$story/t" -m first
	got away "1 0 t first"
	pub -q 1 -t "$story/t" -m second
	pub -q 2 -t "$story/t" -m third
	sub away -c -q 2 -t "$story/t" -C 3
	pub -q 2 -t "$story/t" -m fourth # QoS 2 is told at the end of its handshake
	got away "1 0 t second
2 0 t third
2 0 t fourth"
}

tools_five() {
	local qos

	for qos in 0 1 2; do
		sub "s$qos" -V 5 -q $qos -t "$story/$qos" -C 3
		pub -V 5 -q $qos -t "$story/$qos" -m one -D publish topic-alias 3
		pub -V 5 -q $qos -t "$story/$qos" -m 'two words' -D publish user-property a b
		pub -q $qos -t "$story/$qos" -n
		got_in_any_order "s$qos" "$qos 0 $qos one
$qos 0 $qos two words
$qos 0 $qos "
	done
}

tools_five_session() {
	sub away -V 5 -c -x 100 -q 2 -t "$story/t" -C 1
	pub -V 5 -q 1 -t "$story/t" -m first
	got away "1 0 t first"
	pub -q 2 -t "$story/t" -m second
	sub away -V 5 -c -x 100 -q 2 -t "$story/t" -C 2
	pub -q 2 -t "$story/t" -m third # behind the SUBACK
	got away "2 0 t second
2 0 t third"
}

tools_five_will() {
	sub heir -V 5 -q 2 -t "$story/w" -C 1
	stdbuf -oL mosquitto_sub -V 5 -h 127.0.0.1 -p "$PORT" -i "$story-dying" -d -c -x 100 \
		-t "$story/none" --will-topic "$story/w" --will-payload 'it has died' --will-qos 1 \
		-D will will-delay-interval 1 >"$work/dying" 2>&1 &
	for ((i = 0; i < 3000; i++)); do
		! grep -qs 'CONNACK' "$work/dying" || break
		sleep 0.02
	done
	kill -KILL $!
	got heir "1 0 w it has died"
}

tools_large() {
	head -c 900000 /dev/zero | tr '\0' 'x' >"$work/large"
	sub reader -q 2 -t "$story/t" -C 1
	pub -q 2 -t "$story/t" -f "$work/large"
	wait "${pids[reader]}" || fail "mosquitto_sub ended with status $?"
	lines reader | sed 's/^2 0 t //' | cmp -s - <(cat "$work/large" && echo) ||
		fail "$(wc -c <"$work/large") bytes are not the $(lines reader | wc -c) that came"
}

# shellcheck disable=SC2016 # $SYS is a name
tools_sys() {
	timeout 120 mosquitto_sub -h 127.0.0.1 -p "$PORT" -t '$SYS/#' -C 3 -W 60 -v >"$work/sys" ||
		fail "mosquitto_sub of \$SYS: status $?"
	[ "$(grep -c '^$SYS/broker/' "$work/sys")" -eq 3 ] || fail "$(head -n 1 "$work/sys")"
	timeout 120 mosquitto_sub -h 127.0.0.1 -p "$PORT" -t '#' -W 3 -v >"$work/all" 2>&1
	! grep -q '^\$SYS' "$work/all" || fail "# matches $(grep '^\$SYS' "$work/all" | head -n 1)"
}

"$story"
