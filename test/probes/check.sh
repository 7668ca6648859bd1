#!/bin/sh
# SPDX-License-Identifier: MIT
# The shared library has a note for each probe, where it was built with <sys/sdt.h>; the bpftrace
# scripts use probes that exist; and bpftrace reads the scripts, where there is one and it may.
#
#	check.sh LABEL LIBBATON.so
set -u

label=$1
library=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0

result() # status, what
{
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "$label: $2"
	fi
}

finish()
{
	mkdir -p build/results
	if [ -n "${BATON_ALL_CHECKS-}" ]; then
		echo "$passed $failed" >"build/results/$label"
	else
		echo "$passed passed, $failed failed"
	fi
	[ "$failed" -eq 0 ]
	exit
}

grep -hro 'BATON_PROBE([a-z_]*, ' src/*/*.[ch] | sed 's/.*(//; s/,.*//' | grep -v '^name$' |
	sort -u >"$tmp/said"
[ "$(wc -l <"$tmp/said")" -ge 11 ]
result $? "src has fewer probes than it had: mend check.sh"

# What the scripts use must be there, with or without notes.
for script in src/bpftrace/*.bt; do
	grep -o 'baton:[a-z_]*$' "$script" | sed 's/.*://' | sort -u >"$tmp/used"
	[ -s "$tmp/used" ] && [ -z "$(comm -23 "$tmp/used" "$tmp/said")" ]
	result $? "$script uses what is no probe: $(comm -23 "$tmp/used" "$tmp/said" | tr '\n' ' ')"
done

if ! echo '#include <sys/sdt.h>' | ${CC:-cc} -E -x c - >/dev/null 2>&1; then
	echo "$label: no probes here: no sys/sdt.h (Debian: systemtap-sdt-dev)"
	finish
fi
readelf -n "$library" 2>/dev/null |
	awk '/Provider: baton/ {on = 1} on && /Name:/ {print $2; on = 0}' | sort -u >"$tmp/notes"
cmp -s "$tmp/said" "$tmp/notes"
result $? "$library has other notes than src has probes: $(diff "$tmp/said" "$tmp/notes" |
	tr '\n' ' ')"

if ! command -v bpftrace >/dev/null 2>&1; then
	echo "$label: the scripts are not read by bpftrace: there is none (Debian: bpftrace)"
	finish
fi
# Reads a script, and starts nothing. Older ones call that debugging.
dry=-d
! bpftrace --help 2>&1 | grep -q dry-run || dry=--dry-run
if ! bpftrace $dry -e 'BEGIN { exit(); }' >"$tmp/permitted" 2>&1; then
	echo "$label: the scripts are not read by bpftrace: $(head -n 1 "$tmp/permitted")"
	finish
fi
for script in src/bpftrace/*.bt; do
	sed "s|usdt:[*]:|usdt:$PWD/$library:|" "$script" >"$tmp/script.bt"
	bpftrace $dry "$tmp/script.bt" >"$tmp/read" 2>&1
	result $? "$script: $(grep -a ERROR "$tmp/read" | head -n 3 | tr '\n' ' ')"
done
finish
