#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Measures baton's queue over Redis, a plain list of Redis, and BullMQ (where npm can have it), on a
# redis-server of its own for each measurement (unix socket, append-only file, everysec), and prints
# a table. Run at the top of the repository when build/redis_bench/load is built (make bench-redis).
#
#	run.sh [--quick]

set -u
export LC_ALL=C

here=$(dirname "$0")
out=build/redis_bench
version=6.7.0
tasks=4000
paced=1000
workers=4
runs=3
[ "${1-}" != --quick ] || { tasks=2000; paced=500; runs=1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/baton-redis-bench.XXXXXX") || exit 1
server=
failed=0

stop_server() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
	server=
}
trap 'stop_server; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

start_server() {
	stop_server
	rm -rf "$work/data"
	mkdir "$work/data"
	redis-server --port 0 --unixsocket "$work/socket" --dir "$work/data" --save '' \
		--appendonly yes --appendfsync everysec --logfile "$work/log" >/dev/null &
	server=$!
	for _ in $(seq 200); do
		[ "$(redis-cli -s "$work/socket" ping 2>/dev/null)" = PONG ] && return
		sleep 0.02
	done
	echo "bench-redis: redis-server does not start" >&2
	exit 1
}

# measure KIND MEASURE A B
measure() {
	local line

	start_server
	if [ "$1" = bullmq ]; then
		line=$(NODE_PATH=$PWD/$out/node_modules timeout 120 node "$here/bullmq.js" \
			"$work/socket" "$2" "$3" "$4" 2>"$work/error")
	else
		line=$(timeout 120 $out/load "$work/socket" "$@" 2>"$work/error")
	fi
	if [ -z "$line" ]; then
		echo "bench-redis: $*: $(tail -n 1 "$work/error")" >&2
		failed=1
		line='- - - -'
	fi
	echo "$line" >>"$work/$1.$2"
}

# The line in the middle, by its first number.
middle() {
	sort -n "$work/$1.$2" | sed -n "$(((runs + 1) / 2))p"
}

kinds='baton list'
if [ ! -e $out/node_modules/ioredis/package.json ] && command -v npm >/dev/null; then
	timeout 200 npm install --no-save --no-audit --no-fund --silent --prefix "$out" \
		"bullmq@$version" ioredis@5.11.1 >"$out/npm.log" 2>&1 </dev/null
fi
if [ -e $out/node_modules/bullmq/package.json ]; then
	kinds="$kinds bullmq"
else
	echo "BullMQ is left out: npm is absent, or could not have it (see $out/npm.log)"
fi

redis-server --version | cut -d ' ' -f 1-3
echo "$workers workers, 4 submitters, tasks that do nothing but their effect; medians of $runs runs"
for ((run = 0; run < runs; run++)); do
	for kind in $kinds; do
		measure "$kind" rate $tasks $workers
		measure "$kind" latency $paced $workers
	done
done
for kind in $kinds; do
	measure "$kind" trips 200 1
done
for kind in baton list; do
	for waiting in 1000 50000; do
		rm -f "$work/$kind.next"
		measure $kind next $waiting $workers
		mv "$work/$kind.next" "$work/$kind.next.$waiting"
	done
done
printf '\n%-8s %9s  %-26s  %-30s  %s\n' '' 'tasks/s' 'submit to start, us' \
	'commands a task, loaded' 'commands a task, alone'
printf '%-8s %9s  %8s %8s %8s  %-30s  %s\n' '' '' median '99 %' longest \
	'submitter, scheduler, worker' 'submitter, scheduler, worker'
for kind in $kinds; do
	read -r rate loaded <<<"$(middle "$kind" rate)"
	read -r p50 p99 most <<<"$(middle "$kind" latency)"
	printf '%-8s %9s  %8s %8s %8s  %-30s  %s\n' "$kind" "$rate" "$p50" "$p99" "$most" \
		"$loaded" "$(cat "$work/$kind.trips")"
done
printf '\n%-8s %s\n' '' 'from an end to the next start, us: median, 99 %, longest'
for kind in baton list; do
	for waiting in 1000 50000; do
		printf '%-8s %6s waiting: %s\n' $kind $waiting "$(cat "$work/$kind.next.$waiting")"
	done
done
printf '\ntake-over, ms (leases 3 s and 10 s)\n'
for who in scheduler worker; do
	for how in killed frozen; do
		rm -f "$work/baton.takeover"
		measure baton takeover $who $how
		printf '%-10s %-7s %8s\n' $who $how "$(cat "$work/baton.takeover")"
	done
done
exit $failed
