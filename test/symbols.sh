#!/bin/sh
# SPDX-License-Identifier: MIT
# The shared library exports exactly the names in src/baton.map; every function that a public header
# declares is one of them; nothing of ours is left undefined; and the static library occupies no
# names but baton's. A static program that uses no module links none.
#
#	symbols.sh LIBBATON.so LIBBATON.a
set -eu

shared=$1
static=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

complain() # file with names, message
{
	[ -s "$1" ] || return 0
	sed "s|\$|: $2|" "$1"
	bad=1
}

sed -n 's/^[[:space:]]*\(baton_[a-z0-9_]*\);.*/\1/p' src/baton.map | sort >"$tmp/map"
nm -D --defined-only "$shared" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' |
	sort >"$tmp/exported"
nm -D --undefined-only "$shared" | awk '$2 ~ /^baton_/ {print $2}' |
	sort >"$tmp/undefined"
nm -g --defined-only "$static" | awk 'NF == 3 && $3 !~ /^(baton_|DW[.]ref[.])/ {print $3}' |
	sort -u >"$tmp/foreign"

# A program that only submits: whatever of src/timer and src/module it links is named by the core.
cat >"$tmp/plain.c" <<'END'
#include <baton.h>
static struct baton_resource resource;
static struct baton_task task;
int main(void)
{
	return baton_submit(&resource, &task);
}
END
${CC:-cc} -Iinclude -o "$tmp/plain" "$tmp/plain.c" "$static" -lck -pthread
nm --defined-only "$tmp/plain" | awk '{print $3}' | sort >"$tmp/linked"
for member in $(find src/timer src/module -name '*.c' | sed 's|.*/||; s|c$|o|'); do
	nm -A -g --defined-only "$static" 2>/dev/null | awk -v member="$member" \
		'index($1, ":" member ":") {print $NF}'
done | sort -u | comm -12 - "$tmp/linked" >"$tmp/modules"

# Without what is in braces, a declaration is what ends with a semicolon, is no typedef and not
# static, and has a name of ours before a parenthesis.
for header in include/baton/*.h; do
	${CC:-cc} -std=c11 -E -P -Iinclude "$header"
done | awk '
	{
		text = text " " $0
	}
	END {
		while (gsub(/{[^{}]*}/, ";", text)) # from the inside outwards, until none is left
			;
		count = split(text, declarations, /;/)
		for (i = 1; i <= count; i++) {
			if (declarations[i] !~ /typedef|static/ &&
			    match(declarations[i], /baton_[a-z0-9_]+ *\(/)) {
				name = substr(declarations[i], RSTART, RLENGTH - 1)
				sub(/ /, "", name)
				print name
			}
		}
	}' | sort -u >"$tmp/declared"

comm -13 "$tmp/map" "$tmp/exported" >"$tmp/list"
complain "$tmp/list" "exported, but not in src/baton.map: add it there or take BATON_EXPORT away"
comm -23 "$tmp/map" "$tmp/exported" >"$tmp/list"
complain "$tmp/list" "in src/baton.map, but not exported: define it with BATON_EXPORT"
comm -13 "$tmp/map" "$tmp/declared" >"$tmp/list"
complain "$tmp/list" "declared in include/baton, but not in src/baton.map: add it there"
complain "$tmp/undefined" "used by the library, defined nowhere"
complain "$tmp/modules" "linked into a program that uses no module: name no module in the core"
complain "$tmp/foreign" "global in the static library: make it static, or prefix it with baton__"
[ -s "$tmp/declared" ] || { echo "symbols.sh found no declaration: mend symbols.sh"; bad=1; }
exit $bad
