#!/bin/sh
# SPDX-License-Identifier: MIT
# What of the project's style a program can check; each complaint says the mend. Run at the top.
set -eu

# The makefile's layers, continuation lines joined: "LAYER_0 := platform.c".
layers=$(awk '{while (sub(/\\$/, "") && (getline more) > 0) $0 = $0 more} /^LAYER_[0-9]+ *:?=/' \
	Makefile)

find src include examples test .ci \
	\( -name '*.[ch]' -o -name '*.cc' -o -name '*.sh' -o -name '*.awk' \) |
	LC_ALL=C sort >"${TMPDIR:-/tmp}/baton-tidy.$$"
trap 'rm -f "${TMPDIR:-/tmp}/baton-tidy.$$"' EXIT

# shellcheck disable=SC2046 # one file per word; none has a space
LC_ALL=C awk -v layers="$layers" -f test/tidy.awk \
	$(cat "${TMPDIR:-/tmp}/baton-tidy.$$") Makefile
