#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a program that holds the traced library, or loads it, and writes which lines it comes to: a
# line "seconds N", then lines "FILE:LINE". Nothing at all if the program fails three times: then it
# says nothing about faults.
#
#	semantic_trace.sh LINES COMMAND... >MAP
#
# LINES: what semantic_lines.sh says of the library, or of the program.
set -u

lines=$1
shift
trace=$(mktemp "${TMPDIR:-/tmp}/baton-trace.XXXXXX")
trap 'rm -f "$trace"' EXIT
for try in 1 2 3 fails; do
	if [ $try = fails ]; then
		echo "fails without a fault, and is left out: $*" >&2
		exit 0
	fi
	begin=$(date +%s%N)
	! SEMANTIC_TRACE=$trace timeout 120 "$@" >/dev/null 2>&1 || break
done
echo "seconds $((($(date +%s%N) - begin) / 1000000))" | awk '{print $1, $2 / 1000}'
cmp -l "$trace" /dev/zero 2>/dev/null |
	awk 'NR == FNR {entered[$1 - 1] = 1; next}
		$1 in entered {for (i = 2; i <= NF; i++) if (!seen[$i]++) print $i}' - "$lines"
