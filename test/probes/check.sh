#!/bin/sh
# SPDX-License-Identifier: MIT
# The shared library has a note for each probe, where it was built with <sys/sdt.h>. In gdb, probes
# have the arguments that the manual says. The bpftrace scripts use probes that exist. bpftrace,
# where there is one and it may, reads the scripts, and each script tells of a live program.
#
#	check.sh LABEL LIBBATON.so SUBJECT
set -u

label=$1
library=$2
subject=$3
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

grep -hro 'BATON_PROBE([a-z_]*, ' src | sed 's/.*(//; s/,.*//' | grep -v '^name$' |
	sort -u >"$tmp/said"
[ "$(wc -l <"$tmp/said")" -ge 19 ]
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

# In gdb each probe has the arguments that the program expects, wherever the note says they are.
if command -v gdb >/dev/null 2>&1; then
	for probe in $(cat "$tmp/said"); do
		printf 'break -probe-stap baton:%s\ncommands\nsilent\n' "$probe"
		printf 'printf "%s %%lx %%lx\\n", (long)$_probe_arg0, (long)$_probe_arg1\n' "$probe"
		printf 'continue\nend\n'
	done >"$tmp/commands"
	timeout 300 gdb -q -batch -x "$tmp/commands" -ex "run >$tmp/expected" "$subject" \
		>"$tmp/hits" 2>&1
	cut -d ' ' -f 1 "$tmp/expected" | sort -u | cmp -s - "$tmp/said"
	result $? "subject.c does not come to each probe: mend it"
	while read -r line; do
		grep -q -x "$(echo "$line" | sed 's/ -/ [0-9a-f]*/g')" "$tmp/hits"
		result $? "no probe was hit as expected: $line: $(grep "^${line%% *} " "$tmp/hits" |
			tr '\n' ',')"
	done <"$tmp/expected"
else
	echo "$label: the probes' arguments are not looked at: there is no gdb (Debian: gdb)"
fi

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

# On a live program each script prints its figures.
"$subject" on >/dev/null &
pid=$!
told() # patterns: is each of them in the file?
{
	for pattern; do
		grep -Eq "$pattern" "$tmp/told" || return 1
	done
}

all_told()
{
	bad=
	for script in hot queue steals; do
		cp "$tmp/told.$script" "$tmp/told"
		case $script in
		hot) told '^@tasks\[probed' '^@busy_us\[probed' '^@handed_off\[probed' ;;
		queue) told '^@waited_us\[probed' '^\[.* [1-9][0-9]* \|@*' ;;
		steals) told '^@steals\[[0-9]*\]: [1-9]' '^@stolen\[' '^@slept_us\[' ;;
		esac || bad="$bad $script"
	done
	[ -z "$bad" ]
}

for seconds in 3 9 27 81; do # to begin takes longer on a machine that is busy
	pids=
	for script in hot queue steals; do
		timeout -s INT "$seconds" bpftrace -p "$pid" "src/bpftrace/baton-$script.bt" \
			>"$tmp/told.$script" 2>&1 &
		pids="$pids $!"
	done
	# shellcheck disable=SC2086 # words, on purpose
	wait $pids
	! all_told || break
done
all_told
result $? "no figures of a live program:$bad: $(tail -n 3 "$tmp/told" | tr '\n' ' ')"
kill "$pid"
wait "$pid" 2>/dev/null
finish
