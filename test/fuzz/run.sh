#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs fuzz targets under libFuzzer, all of them whatever becomes of the first.
#
#	run.sh SECONDS TARGET...
#
# New inputs go to build/fuzz/TARGET/corpus, one that fails to build/fuzz/TARGET/; it is tried again
# by `build/fuzz/fuzz_TARGET FILE`. When its bug is mended it goes to test/fuzz/corpus/TARGET under
# a name that says what it is.
set -u

seconds=$1
shift
lost=0
for target; do
	dir=build/fuzz/$target
	mkdir -p "$dir/corpus"
	dictionary=
	[ ! -e "test/fuzz/$target.dict" ] || dictionary=-dict=test/fuzz/$target.dict
	# shellcheck disable=SC2086 # no word if it is empty
	if "build/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -max_len=4096 \
		-print_final_stats=1 -artifact_prefix="$dir/" $dictionary "$dir/corpus" \
		"test/fuzz/corpus/$target" >"$dir/log" 2>&1; then
		awk -v name="fuzz_$target" '/^stat::number_of_executed/ {inputs = $2}
			/^stat::average_exec/ {rate = $2}
			END {print name ": " inputs " inputs, " rate " a second"}' "$dir/log"
	else
		tail -n 60 "$dir/log"
		echo "fuzz_$target: failed, see $dir/log"
		lost=1
	fi
done
exit $lost
