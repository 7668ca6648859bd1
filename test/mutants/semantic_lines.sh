#!/bin/sh
# SPDX-License-Identifier: MIT
# Lists the blocks of what is compiled with -fsanitize-coverage=trace-pc, with the lines that each
# block holds: "OFFSET FILE:LINE...". A block goes from one call of the trace to the next.
#
#	semantic_lines.sh PROGRAM-OR-LIBRARY
set -u

{
	LC_ALL=C readelf -lW "$1" | awk '$1 == "LOAD" {print 0, "base", substr($3, 3); exit}'
	LC_ALL=C objdump --dwarf=decodedline "$1" |
		awk '$2 ~ /^[0-9]+$/ && $3 ~ /^0x/ {print substr($3, 3), "row", $1 ":" $2}'
	LC_ALL=C objdump -d --no-show-raw-insn "$1" | awk '
		called && /^ / {sub(/:.*/, "", $1); print $1, "block"; called = 0}
		/call.*<__sanitizer_cov_trace_pc/ {called = 1}'
} | awk '{printf "%16s %s %s\n", $1, $2, $3}' | LC_ALL=C sort -s |
	awk '
	function number(hex, i, n) {
		for (i = 1; i <= length(hex); i++)
			n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
		return n
	}
	$2 == "base" {base = number($3); next}
	# The call itself belongs to the first row of its block.
	$2 == "block" {if (text != "") print text; text = sprintf("%u", number($1) - base) " " row}
	$2 == "row" {
		row = $3
		if (text != "" && !index(text " ", " " row " "))
			text = text " " row
	}
	END {if (text != "") print text}'
