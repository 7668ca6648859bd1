#!/bin/sh
# SPDX-License-Identifier: MIT
# Traces the broker under load, and draws a part of the trace (trace.py): the picture in
# examples/broker/README.md.
#
#	trace.sh BROKER LOAD BATON_TOP PICTURE
set -eu

broker=$1
load=$2
top=$3
picture=$4
port=18830
tmp=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid"; rm -rf "$tmp"' EXIT

"$broker" --allow-anonymous --port $port --board "$tmp/board" --workers 2 >"$tmp/broker.log" 2>&1 &
pid=$!
"$load" --port $port --wait 5 --publishers 4 --subscribers 8 --topics 2 --publish-qos 1 \
	--subscribe-qos 1 --window 8 --warm-up 0.3 --seconds 2 >"$tmp/load.log" 2>&1 &
sleep 1
"$top" --trace 0.05 "$tmp/trace" "$tmp/board"
python3 "$(dirname "$0")/trace.py" "$tmp/trace" "${TRACE_US:-40}" >"$picture"
[ -z "${TRACE_KEEP-}" ] || cp "$tmp/trace" "$TRACE_KEEP"
