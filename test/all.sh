#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes one target after the other, all of them whatever becomes of the first, and ends with
# "N passed, N failed" over all: a target that runs tests counts each of them, any other counts one.
#
#	MAKE=make all.sh [-jN] [--first TARGET] [TARGET... --together] TARGET...
#
# The target of --first is made before all other targets. It builds the programs that these run. If
# a part of it cannot be built, the other targets are made all the same. Then the targets before
# --together are made side by side, as many at once as there are CPUs, and the targets behind it one
# after the other. A+B is A, then B. A target's output is printed when the target has ended. The
# last line says how long each target took, the longest first.
set -u

results=build/results

one() # target
{
	begin=$(date +%s)
	# shellcheck disable=SC2086 # words, on purpose
	$MAKE --no-print-directory $jobs "$1"
	status=$?
	good=0
	lost=0
	if [ -e "$results/$1" ]; then
		read -r good lost <"$results/$1"
	elif [ "$status" -eq 0 ]; then
		good=1
	fi
	if [ "$status" -ne 0 ] && [ "$lost" -eq 0 ]; then
		lost=1
	fi
	seconds=$(($(date +%s) - begin))
	printf '== %s: %u passed, %u failed (%u s)\n' "$1" "$good" "$lost" "$seconds"
	echo "$1 $good $lost $seconds" >>$results/sums
}

if [ "$1" = --lane ]; then
	for target in $(echo "$2" | tr + ' '); do
		one "$target" >"$results/$target.out" 2>&1
		flock $results cat "$results/$target.out"
	done
	exit 0
fi

export BATON_ALL_CHECKS=1 jobs=
rm -rf $results
mkdir -p $results
case $1 in
-j*)
	jobs=$1
	shift
	;;
esac
if [ "$1" = --first ]; then
	begin=$(date +%s)
	# What fails here fails again where it is used.
	for target in $(echo "$2" | tr + ' '); do
		# shellcheck disable=SC2086 # words, on purpose
		$MAKE --no-print-directory -k $jobs "$target"
	done
	echo "$2 0 0 $(($(date +%s) - begin))" >>$results/sums
	shift 2
fi
case " $* " in
*" --together "*)
	for target; do
		shift
		[ "$target" != --together ] || break
		echo "$target"
	done | xargs -P "$(nproc)" -n 1 "$0" --lane
	while [ "$1" != --together ]; do
		shift
	done
	shift
	;;
esac
for target; do
	one "$target"
done

echo 'Seconds:' "$(sort -k4,4nr $results/sums | awk '{printf "%s%s %s", sep, $1, $4; sep = ", "}')"
awk '$3 {printf "%s %s", broken ? "" : "Failed:", $1; broken = 1}
	END {if (broken) print ""}' $results/sums
awk '{passed += $2; failed += $3}
	END {printf "%u passed, %u failed\n", passed, failed; exit failed > 0}' $results/sums
