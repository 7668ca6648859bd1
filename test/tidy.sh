#!/bin/sh
# SPDX-License-Identifier: MIT
# What of the project's style a program can check; each complaint says the mend. Run at the top.
set -eu

# The makefile's folders, which are the layers, lowest first.
layers=$(sed -n 's/^FOLDERS := //p' Makefile)
broker_layers=$(sed -n 's/^BROKER_FOLDERS := //p' Makefile)

find src include examples test .ci \
	\( -name '*.[ch]' -o -name '*.cc' -o -name '*.sh' -o -name '*.awk' \) |
	LC_ALL=C sort >"${TMPDIR:-/tmp}/baton-tidy.$$"
trap 'rm -f "${TMPDIR:-/tmp}/baton-tidy.$$"' EXIT

# shellcheck disable=SC2046 # one file per word; none has a space
LC_ALL=C awk -v layers="$layers" -v broker_layers="$broker_layers" -f test/tidy.awk \
	$(cat "${TMPDIR:-/tmp}/baton-tidy.$$") Makefile
LC_ALL=C awk -f test/structure.awk src/*/*.[ch]
LC_ALL=C awk -f test/prototypes.awk include/baton/*.h
