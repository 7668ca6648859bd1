#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a mutant of the library for each way in which one of its orders could be weaker or one of
# its steps wrong, and looks whether the explorer finds that out.
#
#	run.sh LABEL EXPLORER [FILE | TEXT...]
#
# FILE: only mutants that it lists; TEXT: only those whose name contains one; "quick": those of
# quick.txt. Fails if a mutant survives that is not in survivors.txt, or if one that is there does
# not; "~ NAME" there: one that is rarely found. Environment: as try.sh; JOBS; LEARN=1 writes
# killers.txt anew: what is known to kill a mutant is tried first.
set -u

label=$1
explorer=$2
shift 2
here=test/mutants
# Programs compile the idle path themselves, and so do scenarios.
files='src include/baton/inline.h'
out=build/mutants
rm -rf $out/results $out/tried
mkdir -p $out/results $out/tried build/results
begin=$(date +%s)

{
	find $files -name '*.[ch]' ! -name atomic.h | sort | xargs awk -f $here/orders.awk
	awk -v paths="$(find $files -name '*.[ch]')" -f $here/structural.awk $here/structural.txt
} >$out/all
if [ "${1-}" = quick ]; then
	awk 'FILENAME == ARGV[1] {if (!/^#/) wanted[$1] = 1; next}
		$1 in wanted' $here/quick.txt $out/all
elif [ -e "${1-}" ]; then
	awk 'FILENAME == ARGV[1] {wanted[$1] = 1; next} $1 in wanted' "$1" $out/all
elif [ $# -gt 0 ]; then
	printf '%s\n' "$@" | grep -F -f - $out/all
else
	cat $out/all
fi >$out/list

# Where each scenario comes to. What a mutant's place has never seen cannot kill it.
if [ "${1-}" != quick ]; then
	"$explorer" --sites --quiet --seconds 0.03 --seed 1 \
		>$out/sites.all 2>$out/sites.errors ||
		grep ': fails in execution' $out/sites.errors
	# One that fails without a mutant says nothing about mutants.
	awk 'FILENAME == ARGV[1] {sub(/:$/, "", $1); fails[$1] = 1; next}
	$2 == "at" && $1 !~ /^litmus_/ && !($1 in fails)' \
		$out/sites.errors $out/sites.all >$out/sites
fi

touch $out/sites

# Those not known to survive first.
awk 'FILENAME == ARGV[1] {known[$1 == "~" ? $2 : $1] = 1; next}
	{print ($1 in known) + 0, $0}' $here/survivors.txt $out/list |
	sort -s -k1,1n | cut -d ' ' -f 2- | xargs -r -P "${JOBS:-$(nproc)}" -n 3 $here/try.sh

# ---- What came of it ----
while read -r name _; do
	echo "$name $(cat "$out/results/$name" 2>/dev/null || echo broken no result)"
done <$out/list >$out/summary
if [ -n "${LEARN-}" ]; then
	{
		sed '/^[^#]/,$d' $here/killers.txt
		awk 'FNR == 1 {file++}
		file == 1 && /^[^#]/ {line[$1] = $0}
		file == 2 && $2 == "killed" {line[$1] = $1 " " $3 " " $4}
		file == 2 && $2 != "killed" {delete line[$1]}
		file == 3 && $1 in line {print line[$1]}' $here/killers.txt $out/summary $out/all
	} >$out/killers && mv $out/killers $here/killers.txt
fi
awk -v seconds=$(($(date +%s) - begin)) -v results="${BATON_ALL_CHECKS+build/results/$label}" '
FILENAME == ARGV[1] {
	if ($1 == "~")
		rare[$2] = 1
	else if ($0 !~ /^#/ && $0 !~ /^[ \t]/ && NF)
		known[$1] = 1
	next
}
{
	total++
	if ($2 == "killed" && !($1 in known)) {
		killed++
	} else if ($2 ~ /^survives/ && ($1 in known || $1 in rare)) {
		explained++
	} else {
		print $0 ($1 in known ? ", and is in survivors.txt" : "")
		bad++
	}
}
END {
	if (results != "")
		print killed + explained, bad + 0 >results
	printf "%u mutants: %u killed, %u survive as explained, %u unexplained or wrong (%u s)\n",
		total, killed, explained, bad, seconds
	exit bad > 0
}' $here/survivors.txt $out/summary
