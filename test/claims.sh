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
	calls 'SIM_(SCENARIO|SCRIPT(_FROZEN)?)' test/sim/scenarios/*.c | awk '{print "sim/" $2}'
	calls SCENARIO test/faults/*.c | awk '{print "faults/" $2 "/" $3}'
	grep -hoE 'row[a-z_]*\("[^"]+' test/bench/counts/*.c | sed 's/.*"/budget\//'
	cat src/*/*.[ch] src/*/*/*.[ch] | tr -s '\n\t ' ' ' |
		grep -oE '_Static_assert\([^;"]*, "' | sed 's/, "$//'
} >"$tests"

# shellcheck disable=SC2016 # awk's
LC_ALL=C awk -v missing="${1-}" -f test/claims.awk "$tests" test/claims.txt include/baton/*.h

# Each limit of a public header has a test that names it.
# shellcheck disable=SC2016 # awk's
grep -hoE '^#define BATON_[A-Z_]*_(MAX|MIN)\>' include/baton/*.h | LC_ALL=C awk '
	FILENAME == "-" {
		if (!($2 in listed)) {
			print "test/limits.txt: no line for " $2 ": name its test"
			bad = 1
		}
		defined[$2] = 1
		next
	}
	FILENAME ~ /limits.txt$/ {
		if ($0 !~ /^#/ && NF) {
			listed[$1] = 1
			if (!($2 in tests)) {
				print "test/limits.txt: " $1 ": there is no test " $2
				bad = 1
			}
		}
		next
	}
	{
		tests[$1] = 1
	}
	END {
		for (limit in listed)
			if (!(limit in defined)) {
				print "test/limits.txt: no header has " limit
				bad = 1
			}
		exit bad
	}' "$tests" test/limits.txt - >&2
for limit in $(sed -n 's/^\(BATON_[A-Z_]*\) .*/\1/p' test/limits.txt); do
	grep -qrw "$limit" --include='test_*.c' test/unit test/redis || {
		echo "test/limits.txt: no test has the word $limit" >&2
		exit 1
	}
done
