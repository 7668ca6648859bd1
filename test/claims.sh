#!/bin/sh
# SPDX-License-Identifier: MIT
# Does each claim of the public headers name a test? See claims.txt. Each complaint says the mend.
# Run at the top. With an argument: lists the claims that have no test, and nothing else.
set -eu

tests=${TMPDIR:-/tmp}/baton-claims.$$
trap 'rm -f "$tests"' EXIT

# The macros' arguments, wherever their lines break: "MACRO a b".
calls()
{
	macro=$1
	shift
	cat "$@" | tr -s '\n\t ' ' ' | grep -oE "[ ;}]$macro\([a-z_0-9]+(, ?[a-z_0-9]+)?" |
		sed -e 's/^.//' -e 's/[(,]/ /g'
}

{
	# shellcheck disable=SC2046 # one file per word; none has a space
	calls Test $(find test/unit test/redis -name 'test_*.c') | awk '{print $2 "/" $3}'
	calls SIM_SCENARIO test/sim/scenarios/*.c | awk '{print "sim/" $2}'
	calls SCENARIO test/faults/*.c | awk '{print "faults/" $2 "/" $3}'
	grep -hoE 'row[a-z_]*\("[^"]+' test/bench/counts/*.c | sed 's/.*"/budget\//'
	cat src/*/*.[ch] | tr -s '\n\t ' ' ' |
		grep -oE '_Static_assert\([^;"]*, "' | sed 's/, "$//'
} >"$tests"

# shellcheck disable=SC2016 # awk's
LC_ALL=C awk -v missing="${1-}" -f test/claims.awk "$tests" test/claims.txt include/baton/*.h
