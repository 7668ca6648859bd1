#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Loads baton's broker, Debian's mosquitto and FlashMQ in turn with the same scenarios and equal
# settings, and prints one table of medians; each run has a fresh broker on a port of its own. Run
# at the top of the repository when the broker and the generator are built (make bench-broker).
# FlashMQ is no package of Debian's: FLASHMQ=path says where it is; without, and not in PATH, it is
# left out.
#
#	run.sh [--store] [--quick] [--runs N] [--only TEXT]	TEXT: part of a scenario's name
#
# --store: durable messages, QoS 1 to stored sessions. baton acknowledges what is committed (commit)
# or gathers for 10 ms and acknowledges at once (batch); mosquitto acknowledges at once, and writes
# its whole state each second. The floor is a plain program that runs baton's statements.
#
# What each run measured is in build/bench/broker.jsonl. Exit status 1: a run failed, or messages
# were lost, doubled, out of order or altered. What a broker does not support is only said.
set -u
export LC_ALL=C

here=$(dirname "$0")
broker=${BROKER:-build/examples/broker/broker}
load=${LOAD:-build/broker_bench/load}
out=build/bench/broker.jsonl
runs=3
flat='--seconds 2 --warm-up 0.5'
paced='--seconds 3 --warm-up 0.5'
paced_qos='0 1'
only=
store=
inflight=100 # also the generator's window where one publisher or subscriber has the broker alone

while [ $# -gt 0 ]; do
	case $1 in
	--quick)
		runs=1
		flat='--seconds 0.5 --warm-up 0.2'
		paced='--seconds 1 --warm-up 0.2'
		paced_qos=0
		;;
	--store) store=true ;;
	--runs | --only)
		[ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
		if [ "$1" = --runs ]; then runs=$2; else only=$2; fi
		shift
		;;
	*)
		echo "usage: run.sh [--store] [--quick] [--runs N] [--only TEXT]" >&2
		exit 2
		;;
	esac
	shift
done

for program in "$broker" "$load"; do
	[ -x "$program" ] || { echo "run.sh: $program is not built" >&2; exit 1; }
done
mosquitto=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v mosquitto)
contenders='baton mosquitto'
paced_contenders='baton baton-1-loop mosquitto'
if [ -z "$mosquitto" ]; then
	echo 'mosquitto is missing (Debian: mosquitto): baton alone.' >&2
	contenders=baton
	paced_contenders='baton baton-1-loop'
fi
flashmq=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v "${FLASHMQ:-flashmq}")
if [ -n "$flashmq" ]; then
	contenders="$contenders flashmq"
	paced_contenders="$paced_contenders flashmq"
elif [ -n "${FLASHMQ:-}" ]; then
	echo "run.sh: $FLASHMQ is no program" >&2
	exit 1
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/broker-bench.XXXXXX") || exit 1
pid=

stop()
{
	[ -n "$pid" ] || return 0
	kill "$pid" 2>/dev/null
	tries=0
	while kill -0 "$pid" 2>/dev/null && [ $tries -lt 100 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
	if kill -9 "$pid" 2>/dev/null; then
		echo "run.sh: the broker had to be killed" >&2
	fi
	wait "$pid" 2>/dev/null
	pid=
}
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Those of these options that our broker has. Its limits are the defaults.
ours="--max-inflight $inflight"
help=$("$broker" --help)
for option in '--allow-anonymous'; do
	case $help in
	*"${option%% *}"*) ours="$ours $option" ;;
	esac
done

# Two threads, as ours. For clients of MQTT 3 it bounds no window of its own. What older ones do not
# know (tcp_nodelay) is left out for them.
flashmq_configuration() # port
{
	for more in 'tcp_nodelay true' ''; do
		cat >"$work/flashmq.conf" <<-END
			allow_anonymous true
			allow_unsafe_clientid_chars true
			quiet true
			log_file $work/flashmq.log
			thread_count 2
			client_max_write_buffer_size 67108864
			max_qos_msg_pending_per_client 65535
			max_qos_bytes_pending_per_client 67108864
			listen {
			protocol mqtt
			inet_protocol ip4
			inet4_bind_address 127.0.0.1
			port $1
			$more
			}
		END
		if "$flashmq" --test-config --config-file "$work/flashmq.conf" >/dev/null 2>&1; then
			return
		fi
	done
}

start() # contender port
{
	case $1 in
	flashmq)
		flashmq_configuration "$2"
		"$flashmq" --config-file "$work/flashmq.conf" >"$work/log" 2>&1 &
		;;
	mosquitto)
		cat >"$work/mosquitto.conf" <<-END
			listener $2 127.0.0.1
			allow_anonymous true
			persistence ${store:-false}
			set_tcp_nodelay true
			max_inflight_messages $inflight
			max_inflight_bytes 0
			max_queued_messages 0
			max_queued_bytes 0
			max_connections -1
			sys_interval 0
			connection_messages false
			log_dest stderr
			log_type error
			user $(id -un)
			${store:+persistence_location $work/}
			${store:+autosave_interval 1}
		END
		"$mosquitto" -c "$work/mosquitto.conf" >"$work/log" 2>&1 &
		;;
	baton-*[ht])
		# shellcheck disable=SC2086
		"$broker" --port "$2" --threads 2 $ours --store "$work/store-$2" \
			--durability "${1#baton-}" >"$work/log" 2>&1 &
		;;
	baton)
		# shellcheck disable=SC2086 # words, on purpose
		"$broker" --port "$2" --threads 2 $ours >"$work/log" 2>&1 &
		;;
	*)
		# shellcheck disable=SC2086
		"$broker" --port "$2" --threads 1 $ours >"$work/log" 2>&1 &
		;;
	esac
	pid=$!
}

port=$((18000 + $$ % 10000))

measure() # scenario contender generator's-options
{
	port=$((port + 1))
	start "$2" $port
	# shellcheck disable=SC2086
	timeout -k 5 90 "$load" --port $port --pid $pid --wait 5 --json --label "$1/$2" $3 \
		>"$work/line" 2>"$work/error"
	status=$?
	if [ ! -s "$work/line" ]; then
		printf '{"label": "%s", "status": %d, "failure": "ended with %d"}\n' \
			"$1/$2" "$status" "$status" >"$work/line"
	fi
	cat "$work/line" >>"$out"
	case $status in
	0 | 4) ;;
	*)
		printf '\n%s, %s: ' "$1" "$2" >&2
		cat "$work/error" "$work/log" >&2
		;;
	esac
	stop
}

scenario() # name contenders generator's-options
{
	case $1 in
	*"$only"*) ;;
	*) return ;;
	esac
	if [ -t 2 ]; then
		printf '  %-24s\r' "$1" >&2
	fi
	run=0
	order=$2
	while [ $run -lt "$runs" ]; do
		for contender in $order; do
			measure "$1" "$contender" "$3"
		done
		turned=
		for contender in $order; do
			turned="$contender $turned"
		done
		order=$turned
		run=$((run + 1))
	done
}

mkdir -p build/bench
: >"$out"
printf 'baton %s; mosquitto %s;%s %s CPUs, %s, load %s\n' \
	"$(git describe --always --dirty 2>/dev/null || echo unknown)" \
	"$("${mosquitto:-false}" -h 2>/dev/null | sed -n 's/^mosquitto version //p')" \
	"$(if [ -n "$flashmq" ]; then
		"$flashmq" --version 2>/dev/null | sed -n '1s/.*/ &;/p'
	fi)" \
	"$(nproc)" "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" \
	"$(cut -d ' ' -f 1-3 /proc/loadavg)"

if [ -n "$store" ]; then
	contenders="baton-commit baton-batch${mosquitto:+ mosquitto}"
	flat="-q 1 --persistent $flat"
	scenario '1:1' "$contenders" "--window $inflight $flat"
	scenario '50:50' "$contenders" "-p 50 -s 50 -t 50 --window 20 $flat"
	scenario '1:200' "$contenders" "-s 200 --window 20 $flat"
	scenario '200:1' "$contenders" "-p 200 --window 10 $flat"
	scenario '50:50, 1000/s' "$contenders" \
		"-q 1 --persistent -p 50 -s 50 -t 50 --rate 1000 $paced"
	awk -v goals=none -f "$here/table.awk" "$out"
	build/broker_bench/floor "$work/floor"
	exit
fi
for qos in 0 1 2; do
	scenario "1:1 QoS $qos" "$contenders" "-q $qos --window $inflight $flat"
	scenario "50:50 QoS $qos" "$contenders" "-q $qos -p 50 -s 50 -t 50 --window 20 $flat"
	scenario "1:200 QoS $qos" "$contenders" "-q $qos -s 200 --window 20 $flat"
	scenario "200:1 QoS $qos" "$contenders" "-q $qos -p 200 --window 10 $flat"
done
for qos in $paced_qos; do
	scenario "1:1 QoS $qos, 5000/s" "$paced_contenders" "-q $qos --rate 5000 $paced"
	scenario "50:50 QoS $qos, 5000/s" "$paced_contenders" \
		"-q $qos -p 50 -s 50 -t 50 --rate 5000 $paced"
done
scenario '2000 idle' "$contenders" '-p 0 -s 0 --idle 2000 --seconds 0.5 --warm-up 0'

awk -f "$here/table.awk" "$out"
