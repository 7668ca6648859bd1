#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes one target after the other, all of them whatever becomes of the first, and ends with
# "N passed, N failed" over all: a target that runs tests counts each of them, any other counts one.
#
#	MAKE=make all.sh [-jN] TARGET...
set -u

jobs=
case $1 in
-j*)
	jobs=$1
	shift
	;;
esac

export BATON_ALL_CHECKS=1
rm -rf build/results
mkdir -p build/results
passed=0
failed=0
broken=
for target; do
	begin=$(date +%s)
	# shellcheck disable=SC2086 # words, on purpose
	$MAKE --no-print-directory $jobs "$target"
	status=$?
	good=0
	lost=0
	if [ -e "build/results/$target" ]; then
		read -r good lost <"build/results/$target"
	elif [ "$status" -eq 0 ]; then
		good=1
	fi
	if [ "$status" -ne 0 ] && [ "$lost" -eq 0 ]; then
		lost=1
	fi
	[ "$lost" -eq 0 ] || broken="$broken $target"
	passed=$((passed + good))
	failed=$((failed + lost))
	printf '== %s: %u passed, %u failed (%u s)\n' "$target" "$good" "$lost" \
		$(($(date +%s) - begin))
done

[ -z "$broken" ] || echo "Failed:$broken"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
