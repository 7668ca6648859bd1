#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a mutant of the library for each way in which one of its orders could be weaker or one of
# its steps wrong, and looks whether the explorer finds that out.
#
#	run.sh LABEL EXPLORER [FILE | TEXT...]
#
# FILE: only mutants that it lists; TEXT: only those whose name contains one; "quick": those of
# quick.txt. Fails if a mutant survives of which nothing says that it may, or if one is killed that
# is said to survive: in the source, before the operation (orders.awk), or in structural.txt.
# Environment: as try.sh; JOBS. build/mutants/killers keeps what has killed a mutant: that is tried
# first in the next run.
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
	# shellcheck disable=SC2046,SC2086 # words, on purpose
	awk -f $here/orders.awk $(find $files -name '*.[ch]' ! -name atomic.h | sort)
	# shellcheck disable=SC2046,SC2086 # words, on purpose
	awk -f $here/structural.awk $here/structural.txt $(find $files -name '*.[ch]')
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

# What has killed it before.
touch $out/killers
if [ "${1-}" = quick ]; then
	grep -v '^#' $here/quick.txt
else
	cat $out/killers
fi >$out/known

# Where each scenario comes to. What a mutant's place has never seen cannot kill it.
if [ "${1-}" = quick ]; then
	: >$out/sites
elif [ ! -s $out/sites ] || [ "$explorer" -nt $out/sites ]; then
	"$explorer" --sites --quiet --seconds 0.03 --seed 1 \
		>$out/sites.all 2>$out/sites.errors ||
		grep ': fails in execution' $out/sites.errors
	# One that fails without a mutant says nothing about mutants.
	awk 'FILENAME == ARGV[1] {sub(/:$/, "", $1); fails[$1] = 1; next}
	$2 == "at" && $1 !~ /^litmus_/ && !($1 in fails)' \
		$out/sites.errors $out/sites.all >$out/sites
fi

# Those not known to survive first.
awk '{print ($4 != "found") + 0, $0}' $out/list |
	sort -s -k1,1n | cut -d ' ' -f 2- | xargs -r -P "${JOBS:-$(nproc)}" -n 4 $here/try.sh

# ---- What came of it ----
while read -r name _ _ fate; do
	echo "$name $fate $(cat "$out/results/$name" 2>/dev/null || echo broken no result)"
done <$out/list >$out/summary
awk '$3 == "killed" {print $1, $4, $5; new[$1] = 1}
	FILENAME != ARGV[1] && !($1 in new)' $out/summary $out/killers >$out/killers.new
mv $out/killers.new $out/killers
awk -v seconds=$(($(date +%s) - begin)) -v results="${BATON_ALL_CHECKS+build/results/$label}" '
{
	if ($3 == "killed" && $2 != "survives") {
		killed++
	} else if ($3 ~ /^survives/ && $2 != "found") {
		explained++
	} else {
		print $1, substr($0, length($1 $2) + 3) \
			($2 == "survives" ? ", and is said to survive" : "")
		bad++
	}
}
END {
	if (results != "")
		print killed + explained, bad + 0 >results
	printf "%u mutants: %u killed, %u survive as explained, %u unexplained or wrong (%u s)\n",
		NR, killed, explained, bad, seconds
	exit bad > 0
}' $out/summary
