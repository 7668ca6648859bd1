#!/bin/bash
# SPDX-License-Identifier: MIT
# How long a broker with a store takes to start, and its memory: for queued messages of one session,
# and for sessions with a subscription and a message each, of ten sizes apart. Both must grow in
# proportion; a ratio of more than 30 for ten times as much is a failure. The rows are written by
# sqlite3. Run from the repository's root.
set -u
broker=${BROKER:-build/examples/broker/broker}
work=$(mktemp -d "${TMPDIR:-/tmp}/baton-restart.XXXXXX") || exit 1
pid=
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; rm -rf "$work"' EXIT
failed=0
passed=0

# start: sets pid, port, ms, kib.
start() {
	local began
	began=$(date +%s%N)
	"$broker" --port 0 --store "$work/store" --max-queued 100M --max-queued-bytes 64G \
		--max-queued-total 64G --max-sessions 10M --stats-interval 0 >"$work/out" &
	pid=$!
	until grep -qs '^listening on' "$work/out"; do
		kill -0 "$pid" 2>/dev/null || { echo 'restart: the broker did not start'; exit 1; }
		sleep 0.01
	done
	ms=$((($(date +%s%N) - began) / 1000000))
	port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$work/out")
	kib=$(awk '/^VmRSS/ {print $2}' "/proc/$pid/status")
}

stop() {
	{ kill -"$1" "$pid"; wait "$pid"; } 2>/dev/null
	pid=
}

# fill SESSIONS MESSAGES: each session has so many, of 100 bytes.
fill() {
	rm -f "$work/store"*
	start
	stop TERM
	sqlite3 "$work/store" "
		BEGIN;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
			INSERT INTO sessions (id, client) SELECT i, CAST('s' || i AS BLOB) FROM n;
		INSERT INTO subscriptions (session, filter, qos)
			SELECT id, CAST('t/' || id AS BLOB), 1 FROM sessions;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1 * $2)
			INSERT INTO messages (id, qos, topic, payload)
			SELECT $1 + i, 1, CAST('t' AS BLOB),
				CAST(printf('%0100d', i) AS BLOB) FROM n;
		INSERT INTO queue (session, row, message, qos, retain, state, packet_id)
			SELECT 1 + (id - $1 - 1) / $2, id, id, 1, 0, 0, 0 FROM messages;
		COMMIT;" || exit 1
}

# round SESSIONS MESSAGES: prints a row; the first session gets its first messages.
round() {
	local got
	fill "$1" "$2"
	start
	got=$(timeout 60 mosquitto_sub -p "$port" -i s1 -c -q 1 -t t/1 -C 1 -W 50)
	if [ "$got" != "$(printf '%0100d' 1)" ]; then
		echo "restart: got '$got'"
		failed=$((failed + 1))
	fi
	printf '%9d %9d %9d %9d\n' "$1" "$(($1 * $2))" "$ms" "$((kib / 1024))"
	stop 9
}

# judge SMALL LARGE WHAT
judge() {
	if [ "$2" -gt $((30 * ($1 + 1))) ]; then
		echo "restart: $3 grows from $1 to $2 for ten times as much"
		failed=$((failed + 1))
	else
		passed=$((passed + 1))
	fi
}

command -v sqlite3 >/dev/null || { echo 'restart: no sqlite3'; exit 77; }
printf '%9s %9s %9s %9s\n' sessions messages ms MiB
for shape in '1 100000 1 1000000' '10000 1 100000 1'; do
	read -r sessions messages more_sessions more_messages <<<"$shape"
	round "$sessions" "$messages"
	small_ms=$ms small_kib=$kib
	round "$more_sessions" "$more_messages"
	judge "$small_ms" "$ms" 'the time'
	judge "$small_kib" "$kib" 'the memory'
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
