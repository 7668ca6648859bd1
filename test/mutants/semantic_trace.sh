#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a test against the traced library, and writes which functions it enters: a line
# "seconds N", then lines "FILE:FUNCTION". Nothing at all if the test fails.
#
#	semantic_trace.sh TEST LIBRARY-FOLDER >MAP
set -u

trace=$(mktemp "${TMPDIR:-/tmp}/baton-trace.XXXXXX")
trap 'rm -f "$trace"' EXIT
begin=$(date +%s%N)
LD_LIBRARY_PATH=$2 SEMANTIC_TRACE=$trace timeout 120 "$1" >/dev/null 2>&1 || exit 0
echo "seconds $((($(date +%s%N) - begin) / 1000000))" | awk '{print $1, $2 / 1000}'
# Symbols first, then the offsets that were entered.
{
	cat "$2/symbols"
	echo --
	LC_ALL=C grep -obUaP '\x01' "$trace" | cut -d : -f 1
} | awk '$1 == "--" {entered = 1; next}
	!entered {name[$1] = $2; next}
	$1 in name {print name[$1]}' | sort -u
