#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Jobs of all classes through a queue over Redis, on this machine: a redis-server of the demo's own
# (unix socket, temporary directory, append-only file), two schedulers, five backends, and a
# submitter for each job. Meanwhile a backend and the leading scheduler are killed. Ends with a
# table. Run from the repository's root when the programs are built (make demo-queue). Exit status
# 0: every job came to an end, each effect happened once, nothing is left on the server.
#
#   DEMO_JOBS=n    jobs (default 60)
#   BUILD=dir      where the binaries are (default build)

set -u
export LC_ALL=C

bin=${BUILD:-build}/examples/queue
jobs=${DEMO_JOBS:-60}
pids=()

work=$(mktemp -d "${TMPDIR:-/tmp}/baton-queue.XXXXXX") || exit 1

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
	echo "demo-queue: FAILED: $*" >&2
	exit 1
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}

for program in redis-server redis-cli; do
	command -v "$program" >/dev/null || fail "$program is missing (Debian: redis-server)"
done

socket=$work/redis.sock
redis() {
	redis-cli -s "$socket" "$@" 2>/dev/null
}
answers() {
	[ "$(redis ping)" = PONG ]
}

redis-server --port 0 --unixsocket "$socket" --dir "$work" --save '' --appendonly yes \
	--appendfsync everysec --logfile "$work/redis.log" >/dev/null &
pids+=($!)
wait_for 60 answers || fail "redis-server did not start"

echo "classes: fast 1 s, medium 2 s, slow 4 s; limits 4, 2, 1; leases 3 s"
declare -a schedulers backends
for i in 0 1; do
	"$bin/scheduler" --socket "$socket" --limits 4,2,1 --durations 1,2,4 --lease 3 --verbose \
		>"$work/scheduler.$i" 2>&1 &
	schedulers[i]=$!
	pids+=($!)
	disown
done
for i in 0 1 2 3 4; do
	"$bin/backend" --socket "$socket" --listen "unix:$work/backend.$i" --name "backend-$i" \
		--lease 3 --verbose >"$work/backend.$i.log" 2>&1 &
	backends[i]=$!
	pids+=($!)
	disown
done
leader() {
	local i

	for i in 0 1; do
		[ "$(grep leads "$work/scheduler.$i" | tail -n 1 | grep -c epoch)" = 1 ] &&
			kill -0 "${schedulers[i]}" 2>/dev/null && leading=$i && return
	done
	return 1
}
wait_for 60 leader || fail "no scheduler leads"

victim() {
	victim=$(redis hvals '{baton}:run' | sed -n 's/.*:backend-//p' | head -n 1)
	[ -n "$victim" ]
}

# ---- the job mix, seeded ----

RANDOM=19
submit() { # class, command...
	local class=$1

	shift
	"$bin/submitter" --socket "$socket" --class "$class" --quiet --report "$work/report" \
		--id "job-$number" "$@" >"$work/out.$number" 2>"$work/err.$number" &
	submitters+=($!)
	pids+=($!)
}

begin=$(date +%s%N)
submitters=()
for ((number = 0; number < jobs; number++)); do
	ms=$((RANDOM % 10))
	case $((RANDOM % 10)) in
	0 | 1 | 2 | 3) submit fast sh -c "sleep 0.$ms; echo fast $number" ;;
	4 | 5) submit medium sh -c "sleep 1.$ms; echo medium $number" ;;
	6) submit slow sh -c "sleep 2.$ms; echo slow $number" ;;
	7 | 8) submit default sh -c "sleep $((ms % 4)).$ms; echo default $number" ;;
	9) submit interactive sh -c "sleep 3; echo interactive $number" ;;
	esac
	case $number in
	$((jobs / 4)))
		# The job of this backend starts elsewhere when its lease is over.
		wait_for 60 victim || fail "no backend has a job"
		kill -KILL "${backends[victim]}"
		echo "killed backend-$victim, which had a job"
		;;
	$((jobs / 2)))
		wait_for 60 leader || fail "no scheduler leads"
		kill -KILL "${schedulers[leading]}"
		old=$leading
		echo "killed scheduler $leading, which led"
		;;
	esac
	sleep 0.1
done
wait_for 60 leader || fail "no scheduler has taken over"
[ "$leading" != "$old" ] || fail "the killed scheduler leads"
echo "scheduler $leading leads now"
limit=$((SECONDS + 600))
for pid in "${submitters[@]}"; do
	while kill -0 "$pid" 2>/dev/null; do
		[ "$SECONDS" -lt "$limit" ] || fail "job of process $pid does not end"
		sleep 0.05
	done
done
elapsed=$((($(date +%s%N) - begin) / 1000000))

# ---- what came of them ----

[ "$(wc -l <"$work/report")" = "$jobs" ] || fail "$(wc -l <"$work/report") jobs of $jobs reported"
awk '
	{
		class = $2; wait = $4 / 1000
		count[class]++
		sum[class] += wait
		if (wait > longest[class]) longest[class] = wait
		if ($3 > 0) {
			told[class]++
			if ($4 > $3 + 300) late[class]++
		}
		if ($5 == "exit") ran[class]++
		if ($5 == "denied") denied[class]++
		if ($5 == "halted") halted[class]++
		if ($5 == "time") time[class]++
		if ($5 == "failed") failed[class]++
		if ($8) shortened[class]++
		if ($7 > 1) again[class]++
	}
	END {
		printf "\n%-12s %5s %5s %6s %6s %7s %6s %8s %10s %10s %7s %6s\n", "class", "jobs",
			"done", "time", "denied", "halted", "down-", "again", "mean", "longest",
			"told an", "late"
		printf "%-12s %5s %5s %6s %6s %7s %6s %8s %10s %10s %7s %6s\n", "", "", "", "out",
			"", "", "graded", "started", "wait", "wait", "est.", ""
		split("fast medium slow default interactive", names)
		for (i = 1; i <= 5; i++) {
			c = names[i]
			printf "%-12s %5d %5d %6d %6d %7d %6d %8d %8.2f s %8.2f s %7d %6d\n", c,
				count[c], ran[c], time[c], denied[c], halted[c], shortened[c],
				again[c], count[c] ? sum[c] / count[c] : 0, longest[c], told[c],
				late[c]
		}
		printf "\nlate: waited more than 0.3 s longer than its first estimate (a lost " \
			"backend or leader may make it so)\n"
	}' "$work/report"
grep -h ' failed ' "$work/report" && fail "jobs have failed"
for ((number = 0; number < jobs; number++)); do
	line=$(grep "^job-$number " "$work/report")
	case $line in
	*' exit 0 '*)
		grep -q " $number\$" "$work/out.$number" || fail "job $number: its output is lost"
		;;
	esac
done
twice=$(redis --raw xrange '{baton}:effects' - + | grep '^job-' | sort | uniq -d)
[ -z "$twice" ] || fail "effects twice: $twice"
left=$(redis --raw keys '{baton}:*' | grep -E ':(task|files|note):')
[ -z "$left" ] || fail "keys are left: $left"
[ "$(redis zcard '{baton}:queue')$(redis hlen '{baton}:run')" = 00 ] || fail "tasks are left"
awk '$7 > 1 {found = 1} END {exit !found}' "$work/report" || fail "no job was started again"
echo "$jobs jobs in $((elapsed / 1000)).$((elapsed % 1000 / 100)) s: each came to its end, each" \
	"effect once, no key left"
