#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tells what baton does, in a page: programs that check themselves, and then the MQTT broker with
# Debian's own clients: a retained message, a will, a session that is resumed. Then five
# mosquitto_pub send real text, line by line, at QoS 0, 1 and 2, to five mosquitto_sub with an exact
# topic, `+`, `#` and overlapping subscriptions; what each of these printed is compared with what
# was sent, byte by byte. Meanwhile others send what is not MQTT. Run from the repository's root
# when the examples are built (make demo). Exit status 0: everything was as it should be.
#
#   DEMO_LINES=n   lines per publisher (default 150000; at QoS 1 and 2 at most 60000)
#   BUILD=dir      where the binaries are (default build)

set -u
export LC_ALL=C

build=${BUILD:-build}
lines=${DEMO_LINES:-150000}
limit=600 # seconds, for any one client
pids=()

# mosquitto_pub 2.0.11 -l -q 1 ends too early with more lines than there are packet ids: it takes
# the first acknowledgement of the id that its last line will have for that of the last line.
fewer=$((lines < 60000 ? lines : 60000))
declare -A count=([a]=$lines [b]=$fewer [c]=$lines [d]=$fewer [e]=$fewer)
sent=$((2 * lines + 3 * fewer))
got=0

work=$(mktemp -d "${TMPDIR:-/tmp}/baton-demo.XXXXXX") || exit 1

stop() {
	local pid

	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null
	done
	wait 2>/dev/null
	rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

fail() {
	echo "demo: FAILED: $*" >&2
	exit 1
}

# wait_for SECONDS COMMAND...: until the command succeeds. A file may not be there yet: grep -s.
wait_for() {
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}

for program in mosquitto_pub mosquitto_sub stdbuf timeout; do
	command -v "$program" >/dev/null || fail "$program is missing (Debian: mosquitto-clients)"
done

# ---- how it is told ----

# 1234567 as 1,234,567; from the standard input.
grouped() {
	sed -E ':again; s/([0-9])([0-9]{3})($|[^0-9])/\1,\2\3/; t again'
}

# Paragraphs of the standard input, indented, as wide as a terminal.
told() {
	grouped | fold -s -w 76 | sed 's/ *$//; s/^/  /'
}

say() {
	echo "$*" | told
}

# ms NANOSECONDS
ms() {
	awk -v ns="$1" 'BEGIN {printf "%.1f", ns / 1000000}'
}

# show TITLE NAME: runs the example, which says in sentences what it has done.
show() {
	echo
	echo "$1 (examples/$2.c)"
	timeout -k 5 300 "$build/examples/$2" >"$work/said" || fail "$2"
	told <"$work/said"
}

# ---- the small ones ----

echo
echo "What baton does. A thread that finds an object idle runs its task on it at once."
echo "A thread that finds the object busy leaves its task there, and goes on."
show "100 threads, one number" counter
show "A bank" transfer
show "64 threads that throttle themselves" throttle
show "Clients that read slowly" slow_readers
show "A topic and its subscribers" subscriptions

# ---- the text: whatever of this the machine has, without blank lines ----

text() {
	find /usr/share/common-licenses /usr/include /usr/lib/gcc /usr/share/perl \
		/usr/lib/*/perl-base -type f -size -200k 2>/dev/null |
		LC_ALL=C sort | head -n 3000 | tr '\n' '\0' | xargs -0 cat 2>/dev/null |
		tr -cd '\12\40-\176' | grep '[^ ]' | cut -c1-400 | head -n $sent
}

text >"$work/text"
[ "$(wc -l <"$work/text")" -gt 100 ] || fail "no text found on this machine"
while [ "$(wc -l <"$work/text")" -lt $sent ]; do
	cat "$work/text" "$work/text" >"$work/more" && mv "$work/more" "$work/text"
done

# sent.a to sent.e: each line says whose it is, and its number.
at=1
for name in a b c d e; do
	tail -n +$at "$work/text" | head -n "${count[$name]}" |
		awk -v name=$name '{printf "%s %07d %s\n", name, NR, $0}' >"$work/sent.$name"
	at=$((at + count[$name]))
done

# ---- the broker ----

# Its limits are so wide that it drops nothing, however fast the publishers are.
timeout -k 20 3600 "$build/examples/broker/broker" --host 127.0.0.1 --port 0 --threads 2 \
	--max-buffered 1G --max-queued 1000000 --max-queued-bytes 1G --log-level error \
	--stats --board "$work/board" >"$work/broker" &
broker=$!
pids+=("$broker")
wait_for 60 grep -qs '^listening on' "$work/broker" || fail "the broker did not start"
port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$work/broker")
echo
echo "An MQTT broker (examples/broker) and mosquitto's clients"
say "The broker runs with 2 threads for sockets; each topic, session and connection is" \
	"a resource."

# Arrays, not functions: what runs in the background is `timeout` itself, which stop() can end.
pub=(timeout -k 10 $limit mosquitto_pub -h 127.0.0.1 -p "$port")
sub=(timeout -k 10 $limit stdbuf -oL mosquitto_sub -h 127.0.0.1 -p "$port")

"${pub[@]}" -t demo/retained -q 1 -r -m 'kept for you' || fail "publish a retained message"
[ "$("${sub[@]}" -t 'demo/+' -C 1 -W 60 -F '%r %t %p')" = '1 demo/retained kept for you' ] ||
	fail "the retained message"
say "A message was kept for a client that came later, and reached it."

# ---- a will: its client is killed, so that it cannot say good-bye ----

"${sub[@]}" -d -q 2 -t demo/will -C 1 -W 60 -F 'got %q %t %p' >"$work/heir" 2>&1 &
heir=$!
stdbuf -oL mosquitto_sub -h 127.0.0.1 -p "$port" -d -t demo/nothing --will-topic demo/will \
	--will-payload 'the last words' --will-qos 2 >"$work/dying" 2>&1 &
dying=$!
pids+=("$heir" "$dying")
wait_for 60 grep -qs '^Subscribed' "$work/heir" || fail "will: no SUBACK"
wait_for 60 grep -qs 'CONNACK' "$work/dying" || fail "will: no CONNACK"
{ kill -KILL "$dying"; wait "$dying"; } 2>/dev/null # where the shell says who was killed
wait "$heir" || fail "the will"
grep -qx 'got 2 demo/will the last words' "$work/heir" || fail "the will"
say "A client was killed; its last words were published for it."

# ---- a session: it has a subscription, goes away, and gets what has come meanwhile ----

keeper=("${sub[@]}" -c -i demo-keeper -q 2 -t demo/kept)
"${keeper[@]}" -E || fail "session: subscribe"
for qos in 1 2; do
	"${pub[@]}" -q $qos -t demo/kept -m "while you were away, $qos" || fail "session: publish"
done
printf '%s\n' '1 while you were away, 1' '2 while you were away, 2' >"$work/kept"
"${keeper[@]}" -C 2 -W 60 -F '%q %p' | cmp -s - "$work/kept" || fail "the resumed session"
say "A client went away, came back, and got what had come for it meanwhile."

# ---- subscribers, all acknowledged before anybody publishes ----

declare -A expects=([exact]="c d" [plus]="a b" [once]="e" [hash]="a b c d e"
	[overlap]="a b c d e")

subscribe() {
	local name=$1 expected=0 publisher

	shift
	for publisher in ${expects[$name]}; do
		expected=$((expected + count[$publisher]))
	done
	got=$((got + expected))
	"${sub[@]}" -d -i "demo-$name" -C $expected "$@" >"$work/got.$name" 2>&1 &
	subscribers[$name]=$!
	pids+=($!)
}

declare -A subscribers=()
subscribe exact -q 0 -t text/shared
subscribe plus -q 1 -t text/own/+
subscribe once -q 2 -t text/once
subscribe hash -q 0 -t 'text/#'
subscribe overlap -q 1 -t 'text/#' -t text/shared -t 'text/+/b'
for name in "${!subscribers[@]}"; do
	wait_for 60 grep -qs '^Subscribed' "$work/got.$name" || fail "$name: no SUBACK"
done

# Which task of a client has waited longest, as baton-top sees it: lines `nanoseconds name`.
watch() {
	local name='"name": "\(\(topic\|session\|connection\)[^"]*\)"'

	while sleep 0.3; do
		"$build/baton-top" --json --delay 0.05 "$work/board" | sed -n \
			"s/^.*$name.*\"wait_ns\": {[^}]*\"max\": \([0-9]*\)}.*\$/\3 \1/p"
	done >>"$work/waits" 2>/dev/null
}
echo '0 none' >"$work/waits"
watch &
watcher=$!
pids+=("$watcher")

start=$(date +%s%N)
publishers=()
for name in a b c d e; do
	case $name in
	a) "${pub[@]}" -i demo-a -q 0 -t text/own/a -l <"$work/sent.a" & ;;
	b) "${pub[@]}" -i demo-b -q 1 -t text/own/b -l <"$work/sent.b" & ;;
	c) "${pub[@]}" -i demo-c -q 0 -t text/shared -l <"$work/sent.c" & ;;
	d) "${pub[@]}" -i demo-d -q 1 -t text/shared -l <"$work/sent.d" & ;;
	e) "${pub[@]}" -i demo-e -q 2 -t text/once -l <"$work/sent.e" & ;;
	esac
	publishers+=($!)
	pids+=($!)
done

# ---- meanwhile: clients that do not speak MQTT ----

# The broker may have closed before the last of them is sent.
trap '' PIPE

# Sends the bytes (printf's format); the broker must close this connection, soon.
malformed() {
	local what=$1 bytes=$2 answer status

	exec 3<>"/dev/tcp/127.0.0.1/$port" || fail "malformed: connect"
	# shellcheck disable=SC2059
	printf "$bytes" >&3 2>/dev/null
	IFS= read -r -t 60 -N 64 answer <&3 2>/dev/null
	status=$?
	exec 3<&- 3>&-
	[ $status -le 128 ] || fail "malformed ($what): still connected"
	: "$answer"
}

connect='\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01m'
malformed "not MQTT" 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
malformed "no CONNECT" '\x30\x05\x00\x01txx'
malformed "endless length" '\x10\xff\xff\xff\xff\xff'
malformed "overlong length" "$connect"'\xc0\x80\x00'
malformed "too large" "$connect"'\x30\x80\x80\x80\x01'
malformed "wildcard in a name" "$connect"'\x30\x04\x00\x01#x'
malformed "second CONNECT" "$connect$connect"
malformed "reserved bits" "$connect"'\x80\x06\x00\x01\x00\x01a\x00'

# ---- the end of it ----

for pid in "${publishers[@]}"; do
	wait "$pid" || fail "a publisher ended with status $?"
done
for name in "${!subscribers[@]}"; do
	wait "${subscribers[$name]}" || fail "subscriber $name ended with status $?"
done
end=$(date +%s%N)

for name in "${!subscribers[@]}"; do
	for publisher in ${expects[$name]}; do
		grep "^$publisher " "$work/got.$name" | cmp -s - "$work/sent.$publisher" ||
			fail "$name: the lines of $publisher are not what was sent"
	done
	grep '^[cd] ' "$work/got.$name" >"$work/order.$name"
done
for name in hash overlap; do
	cmp -s "$work/order.exact" "$work/order.$name" || fail "text/shared: no common order"
done
kill "$watcher"
kill -TERM "$broker"
wait "$broker" || fail "the broker ended with status $?"
value() {
	awk -v name="$1" '$1 == name {print $2}' "$work/broker"
}
# kind NAME: of the table of resources: number, tasks, captures, hand-offs.
kind() {
	sed -n "/^resources/,\$s/^$1  *\([0-9]\)/\1/p" "$work/broker"
}
[ "$(value malformed)" -ge 8 ] || fail "the broker counted $(value malformed) malformed clients"
[ "$(value dropped)" -eq 0 ] || fail "the broker dropped $(value dropped) messages"
read -r _ topic_tasks topic_captures _ <<<"$(kind topics)"
[ "$topic_tasks" -ge $sent ] || fail "the topics had $topic_tasks tasks"
read -r _ session_tasks session_captures _ <<<"$(kind sessions)"
read -r _ packets _ handoffs _ <<<"$(kind connections)"
[ "$packets" -ge $got ] || fail "the connections had $packets tasks"

took=$(((end - start) / 1000000))
say "Then 5 mosquitto_pub sent $sent lines of text on 4 topics, and 5 mosquitto_sub" \
	"got $got lines, $((got * 1000 / took)) a second. Compared with what was sent, no line" \
	"is missing, doubled or out of its publisher's order. Two publishers shared a topic:" \
	"its 3 subscribers got their lines in one and the same order."
say "8 other clients sent what is not MQTT: the broker hung up on each of them."
echo
echo "What baton did for the broker"
say "Captures: of the $((topic_tasks + session_tasks)) tasks of topics and sessions," \
	"$((topic_captures + session_captures)) ran at once, without a lock, on the thread" \
	"that had read the message."
say "Hand-offs: $packets packets went to the threads that have their receivers'" \
	"sockets, in $handoffs hand-offs: most packets found one under way."
say "Helped: $(value helped) times a thread took over a resource that waited for the pool."
if [ -x "$build/baton-top" ]; then
	read -r wait_ns waited <<<"$(sort -n "$work/waits" | tail -n 1)"
	[ "$wait_ns" -gt 0 ] || fail "baton-top has seen no task that waited"
	say "The longest wait that baton-top saw: $(ms "$wait_ns") ms, in: $waited."
fi
# ---- a broker that is killed: what it has acknowledged is there again ----

# start_durable: a broker with a store; sets durable and port.
start_durable() {
	"$build/examples/broker/broker" --port 0 --store "$work/store" --max-queued 1000000 \
		--stats-interval 0 >"$work/durable" &
	durable=$!
	pids+=("$durable")
	wait_for 60 grep -qs '^listening on' "$work/durable" || fail "the broker did not start"
	port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$work/durable")
}

start_durable
mosquitto_sub -p "$port" -c -i demo-durable -q 2 -t 'kept/#' -E || fail "durable: subscribe"
head -n 20000 "$work/sent.d" >"$work/lines"
for qos in 1 2; do
	timeout -k 10 $limit stdbuf -oL mosquitto_pub -p "$port" -i demo-$qos -d -q $qos \
		-t kept/$qos -l <"$work/lines" >"$work/said.$qos" 2>&1 &
	pids+=($!)
done
# enough N: each publisher has so many acknowledgements.
enough() {
	[ "$(grep -sc 'received PUBACK' "$work/said.1")" -ge "$1" ] &&
		[ "$(grep -sc 'received PUBREC' "$work/said.2")" -ge "$1" ]
}
wait_for 60 enough 500 || fail "durable: nothing is acknowledged"
{ kill -KILL "$durable"; wait "$durable"; } 2>/dev/null
for pid in "${pids[@]: -2}"; do
	{ kill -KILL "$pid"; wait "$pid"; } 2>/dev/null
done
start_durable
timeout -k 10 $limit mosquitto_sub -p "$port" -c -i demo-durable -q 2 -t 'kept/#' -W 5 \
	-F '%t %p' >"$work/again" 2>/dev/null
acknowledged=0
for qos in 1 2; do
	# The packet id of a line is its number.
	sed -n 's/.*received PUB\(ACK\|REC\) (Mid: \([0-9]*\).*/\2/p' "$work/said.$qos" |
		sort -un >"$work/ids"
	awk -v topic=kept/$qos 'NR == FNR {acked[$1] = 1; next} FNR in acked {print topic, $0}' \
		"$work/ids" "$work/lines" | sort >"$work/due"
	lost=$(grep "^kept/$qos " "$work/again" | sort -u | comm -13 - "$work/due" | wc -l)
	[ "$lost" -eq 0 ] || fail "$lost acknowledged lines of QoS $qos are lost"
	acknowledged=$((acknowledged + $(wc -l <"$work/due")))
done
[ -z "$(grep '^kept/2 ' "$work/again" | sort | uniq -d)" ] || fail "a line of QoS 2 came twice"
kill -TERM "$durable"
wait "$durable" || fail "the broker with a store ended with status $?"
echo
echo "A broker that is killed (--store)"
say "Two mosquitto_pub sent lines for a client that was away. The broker was killed (kill -9)" \
	"and started again: of $acknowledged lines that it had acknowledged, not one is missing;" \
	"none of QoS 2 came twice."
cat <<END

All is well: each program has checked its results. Try next:
  README.md, "Five minutes"; examples/counter.c, the smallest program
  man -M build/man 7 baton                   the manual (make html: for a browser)
  build/examples/broker/broker --board - &   the broker for your own clients
  build/baton-top \$(pidof broker)            what its resources do, live
  make demo-queue                            jobs for many machines, over Redis
END
