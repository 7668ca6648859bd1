#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Two broker nodes share the sessions of clients: take-over by a connect elsewhere, while the former
# node lives, is frozen, or was killed. On a redis-server of the demo's own. Run from the
# repository's root when the program is built (make demo-sessions). Exit status 0: everything was as
# said.
#
#   BUILD=dir      where the binary is (default build)

set -u
export LC_ALL=C

bin=${BUILD:-build}/examples/sessions/node
pids=()

work=$(mktemp -d "${TMPDIR:-/tmp}/baton-sessions.XXXXXX") || exit 1

stop() {
	local pid

	for pid in "${pids[@]}"; do
		kill -CONT "$pid" 2>/dev/null
		kill "$pid" 2>/dev/null
	done
	wait 2>/dev/null
	rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

fail() {
	echo "demo-sessions: FAILED: $*" >&2
	exit 1
}

for program in redis-server redis-cli; do
	command -v "$program" >/dev/null || fail "$program is missing (Debian: redis-server)"
done

# wait_for SECONDS COMMAND...: until the command succeeds. A file may not be there yet: grep -s.
wait_for() {
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.02
	done
}

socket=$work/redis.sock
redis() {
	redis-cli -s "$socket" "$@" 2>/dev/null
}
answers() {
	[ "$(redis ping)" = PONG ]
}

"$bin" --socket "$socket" </dev/null >/dev/null 2>"$work/absent" &&
	fail "a node starts without a server"
grep -q "no Redis at $socket" "$work/absent" || fail "no clear error: $(cat "$work/absent")"
echo "without a server: no Redis at PATH"

redis-server --port 0 --unixsocket "$socket" --dir "$work" --save '' --appendonly yes \
	--appendfsync everysec --logfile "$work/redis.log" >/dev/null &
pids+=($!)
wait_for 60 answers || fail "redis-server did not start"

# start NAME DESCRIPTOR: what is written to the descriptor goes to the node.
start() {
	mkfifo "$work/$1.in"
	"$bin" --socket "$socket" --node "$1" --lease 3 <"$work/$1.in" >"$work/$1.out" 2>&1 &
	pids+=($!)
	disown
	eval "exec $2>\"$work/$1.in\""
	wait_for 60 grep -qs '^node ' "$work/$1.out" || fail "$1: $(cat "$work/$1.out")"
}
start a 3
a=${pids[-1]}
start b 4

# expect NODE LINE: it is, or comes, among the node's output; then it is shown.
expect() {
	wait_for 60 grep -qsx "$2" "$work/$1.out" ||
		fail "$1 did not say \"$2\": $(cat "$work/$1.out")"
	echo "$1: $2"
}

echo "a client connects to a, and then to b:"
echo "connect client-1" >&3
expect a "client-1 connected, generation 1"
echo "publish client-1 from a" >&3
expect a "client-1 published"
echo "connect client-1" >&4
expect b "client-1 connected, generation 2"
expect a "client-1 was taken over: generation 1 is over"
echo "publish client-1 too late" >&3
expect a "client-1 refused: the session is another's"
echo "publish client-1 from b" >&4
expect b "client-1 published"

echo "a is frozen for longer than its lease, its client connects to b:"
echo "connect client-2" >&3
expect a "client-2 connected, generation 1"
kill -STOP "$a"
echo "publish client-2 from a frozen node" >&3
echo "connect client-2" >&4
expect b "client-2 connected, generation 2"
kill -CONT "$a"
expect a "client-2 refused: the session is another's"
expect a "client-2 was taken over: generation 1 is over"

echo "a is killed, its client connects to b:"
echo "connect client-3" >&3
expect a "client-3 connected, generation 1"
kill -KILL "$a"
echo "connect client-3" >&4
expect b "client-3 connected, generation 2"
echo "disconnect client-3" >&4
expect b "client-3 disconnected"

echo "what was published:"
redis --raw xrange '{sessions}:remote:effects' - + | sed -n '/^data$/{n;p;}'
