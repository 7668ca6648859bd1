#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the explorer in as many parts at once as there are CPUs, and sums up.
#
#	run.sh LABEL EXPLORER [ARGUMENT...]
#
# Each scenario's figures go to build/logs/LABEL. Under test/all.sh the sum goes to
# build/results/LABEL.
set -u

label=$1
explorer=$2
shift 2
parts=$(nproc)
dir=build/logs/$label
rm -rf "$dir"
mkdir -p "$dir" build/results

seq "$parts" | xargs -P "$parts" -I '{}' sh -c '
	part=$1 parts=$2 explorer=$3 dir=$4
	shift 4
	"$explorer" --part "$part/$parts" "$@" >"$dir/part-$part" 2>"$dir/errors-$part"
	exit 0' sh '{}' "$parts" "$explorer" "$dir" "$@"

cat "$dir"/errors-* >&2
cat "$dir"/part-* | grep -v -e '^\[====\]' -e ' interleavings, ' | sort >"$dir/scenarios"
# A part that has not come to its closing line has failed.
awk -v parts="$parts" -v results="${BATON_ALL_CHECKS+build/results/$label}" '
/ interleavings, / {executions += $1}
/^\[====\]/ {
	gsub(/[^0-9]+/, " ")
	passed += $2
	failed += $3
	ended++
}
END {
	failed += parts - ended
	if (results != "")
		print passed + 0, failed + 0 >results
	printf "%u interleavings of %u scenarios; %u passed, %u failed\n", executions,
		passed + failed, passed, failed
	exit failed > 0
}' "$dir"/part-*
