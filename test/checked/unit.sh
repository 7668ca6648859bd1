#!/bin/sh
# SPDX-License-Identifier: MIT
# The unit tests with libbaton-checked. A test that misuses the library on purpose, and expects what
# the ordinary library does then, stands in differ.txt, with the reason: it is left out here, and
# must fail when it is run by itself. So no line of differ.txt outlives its reason.
#
#	unit.sh LABEL EXECUTABLE...
set -u

differ=test/checked/differ.txt
label=$1
shift
names=$(sed -n 's/^\([a-z_]*\/[a-zA-Z0-9_]*\): .*/\1/p' $differ)
# Criterion's filter is a glob with alternatives: !(a|b)
left_out=$(echo "$names" | paste -s -d '|')
TEST_ARGS="-j2 --filter !($left_out) ${TEST_ARGS-}" test/run.sh "$label" "$@"
status=$?

# Narrowed by the caller: the lines that stand for other programs prove nothing.
[ -z "${TEST_ARGS-}" ] && [ -z "${T-}" ] || exit $status
failures=$(for executable; do
	"$executable" -j2 --filter "@($left_out)" 2>&1
done | sed -n 's/^\[FAIL\] \([a-z_]*\)::\([a-zA-Z0-9_]*\):.*/\1\/\2/p' | sort -u)
for name in $names; do
	if ! echo "$failures" | grep -qx "$name"; then
		echo "$label: $name does not fail with the checked library: take it out of $differ"
		status=1
	fi
done
exit $status
