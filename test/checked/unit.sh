#!/bin/sh
# SPDX-License-Identifier: MIT
# The unit tests with libbaton-checked. A test that misuses the library on purpose, and expects what
# the ordinary library does then, stands in differ.txt, with the reason: it is left out here.
#
#	unit.sh LABEL EXECUTABLE...
set -u

differ=test/checked/differ.txt
label=$1
shift
left_out=$(sed -n 's/^\([a-z_]*\/[a-zA-Z0-9_]*\):.*/\1/p' $differ | paste -s -d '|')
# Criterion's filter is a glob with alternatives: !(a|b)
TEST_ARGS="-j2 ${left_out:+--filter !($left_out)} ${TEST_ARGS-}" test/run.sh "$label" "$@"
