#!/bin/sh
# SPDX-License-Identifier: MIT
# Does tidy.awk find includes that are against the rules of companions, and nothing else? Run at the
# top.
set -eu

rules=$PWD/test/tidy.awk
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
mkdir -p src/base src/core src/companion/upper src/companion/lower include/baton

#	expect COMPLAINTS FILE INCLUDE: so many does tidy make of a file with this line.
expect()
{
	printf '/* SPDX-License-Identifier: MIT */\n#ifndef A\n#define A\n#include %s\n#endif\n' \
		"$3" >"$2"
	found=$(LC_ALL=C awk -v layers='base core companion/lower companion/upper' \
		-v companion_headers='lower upper' -f "$rules" "$(find src/base -name '*.h')" \
		"$(find src/core -name 'word.h')" "$(find src/companion/upper -name own.h)" \
		"$(find src/companion/lower -name own.h)" "$2" | grep -c -e companion || true)
	rm "$2"
	[ "$found" = "$1" ] || {
		echo "tidy_selftest: $2 that includes $3: $found complaints, not $1: mend tidy.awk"
		exit 1
	}
}

for file in base/atomic core/word companion/upper/own companion/lower/own; do
	printf '/* SPDX-License-Identifier: MIT */\n#ifndef B\n#define B\n#endif\n' \
		>src/$file.h
done
expect 0 src/companion/upper/a.h '<baton/resource.h>'
expect 0 src/companion/upper/a.h '<baton/lower.h>'
expect 0 src/companion/upper/a.h '"base/atomic.h"'
expect 0 src/companion/upper/a.h '"companion/upper/own.h"'
expect 1 src/companion/upper/a.h '"core/word.h"'
expect 1 src/companion/upper/a.h '"companion/lower/own.h"'
expect 1 src/core/a.h '<baton/lower.h>'
expect 0 include/baton/lower.h '<baton/upper.h>'
expect 1 include/baton/resource.h '<baton/lower.h>'
expect 1 include/baton.h '<baton/lower.h>'
