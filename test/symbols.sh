#!/bin/sh
# SPDX-License-Identifier: MIT
# The shared library exports exactly the names in its map, each with the version that the map says;
# a program that links it asks for this version; every function that a public header declares is one
# of the names; nothing of ours is left undefined; and the static library occupies no names but
# baton's. A static program that uses no module links none.
#
#	symbols.sh LIBBATON.so LIBBATON.a
#	symbols.sh LIBBATON-COMPANION.so LIBBATON-COMPANION.a
set -eu

shared=$1
static=$2
map=src/baton.map
headers=$(ls include/baton/*.h)
own= # the companion
for companion in $(sed -n 's/^COMPANIONS := //p' Makefile); do
	names=$(sed -n "s/^HEADERS_$companion := //p" Makefile)
	case $static in
	*-"$companion".a)
		own=$companion
		map=src/companion/$own/$own.map
		headers=$(for name in $names; do echo "include/baton/$name.h"; done)
		break
		;;
	esac
	for name in $names; do
		headers=$(echo "$headers" | grep -v "/$name.h$")
	done
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

complain() # file with names, message
{
	[ -s "$1" ] || return 0
	sed "s|\$|: $2|" "$1"
	bad=1
}

awk '/^[A-Z_]+[0-9.]+ [{]/ {version = $1}
	/^[ \t]*baton_[a-z0-9_]+;/ {sub(/;.*/, ""); print $1 "@@" version}' "$map" |
	sort >"$tmp/versions"
sed 's/@.*//' "$tmp/versions" >"$tmp/map"
nm -D --defined-only --with-symbol-versions "$shared" | awk '$2 != "A" {print $3}' |
	sort >"$tmp/versioned"
sed 's/@.*//' "$tmp/versioned" >"$tmp/exported"
# A program with one symbol of each version asks for each version.
sort -t @ -k 3 -u "$tmp/versions" | sed 's/@.*//' | awk '
	{print "extern char " $1 ";"; used = used "&" $1 ", "}
	END {print "char *used[] = {" used "}; int main(void) {return 0;}"}' >"$tmp/needs.c"
${CC:-cc} -w -o "$tmp/needs" "$tmp/needs.c" "$shared" -Wl,-rpath-link,"${shared%/*}" -pthread
sed 's/.*@//' "$tmp/versions" | sort -u | while read -r version; do
	readelf --version-info --wide "$tmp/needs" | grep -q "Name: $version  Flags:" ||
		echo "$version"
done >"$tmp/unversioned"
# A library beside libbaton uses libbaton's; its linker looks after those.
[ -n "$own" ] || nm -D --undefined-only "$shared" | awk '$2 ~ /^baton_/ {print $2}' |
	sort >"$tmp/undefined"
nm -g --defined-only "$static" |
	awk 'NF == 3 && $3 !~ /^(baton_|DW[.]ref[.]|_[.]stapsdt[.])/ {print $3}' |
	sort -u >"$tmp/foreign"

if [ -z "$own" ]; then
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
nm --defined-only "$tmp/plain" | awk '{print $3}' | grep -v "^_[.]stapsdt" | sort >"$tmp/linked"
for member in $(find src/timer src/module -name '*.c' | sed 's|.*/||; s|c$|o|'); do
	nm -A -g --defined-only "$static" 2>/dev/null | awk -v member="$member" \
		'index($1, ":" member ":") && $NF ~ /^baton/ {print $NF}'
done | sort -u | comm -12 - "$tmp/linked" >"$tmp/modules"
fi

# Without what is in braces, a declaration is what ends with a semicolon, is no typedef and not
# static, and has a name of ours before a parenthesis. What a header includes does not count.
for header in $headers; do
	${CC:-cc} -std=c11 -E -Iinclude "$header" | awk -v own="\"$header\"" '
		/^#/ {here = $3 == own; next}
		here'
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

# A program that has the idle path inlined, with a library that lacks the interface: it calls.
inlined()
{
cat >"$tmp/inlined.c" <<'END'
#include <baton.h>
#include <baton/inline.h>
static struct baton_resource resource;
static void *add(void *arg)
{
	++*(int *)arg;
	return arg;
}
int main(int argc, char **argv)
{
	int count = 0;

	(void)argv;
	for (int i = 0; i < 3; i++)
		if (baton_call(&resource, add, &count, NULL))
			return 2;
	return count != 3 || baton_inline_served() != (argc == 1);
}
END
cp "$static" "$tmp/older.a"
for symbol in baton_inline_thread_v2 baton_inline_end_v2 baton_inline_left_v2; do
	echo "--localize-symbol=$symbol"
done | xargs -I{} objcopy {} "$tmp/older.a"
sed '/baton_inline_/d' src/baton.map >"$tmp/older.map"
${CC:-cc} -shared -Wl,-soname,"$(readelf -d "$shared" |
	sed -n 's/.*soname: \[\(.*\)\]/\1/p')" -Wl,--version-script="$tmp/older.map" \
	-o "$tmp/$(basename "$shared" | sed 's/^\(libbaton.so.[0-9]*.[0-9]*\).*/\1/')" \
	-Wl,--whole-archive "$static" -Wl,--no-whole-archive -lck -pthread
${CC:-cc} -O2 -Iinclude -o "$tmp/new" "$tmp/inlined.c" "$static" -lck -pthread
${CC:-cc} -O2 -Iinclude -o "$tmp/old" "$tmp/inlined.c" "$tmp/older.a" -lck -pthread
${CC:-cc} -O2 -Iinclude -o "$tmp/dynamic" "$tmp/inlined.c" "$shared" -pthread
{
	"$tmp/new" || echo "a static program, status $?"
	"$tmp/old" older || echo "a static program with an older library, status $?"
	LD_LIBRARY_PATH=${shared%/*} "$tmp/dynamic" || echo "a program, status $?"
	LD_LIBRARY_PATH=$tmp "$tmp/dynamic" older ||
		echo "a program with an older library, status $?"
} >"$tmp/inlined"
}
: >"$tmp/inlined"
[ -n "$own" ] || inlined

comm -13 "$tmp/map" "$tmp/exported" >"$tmp/list"
complain "$tmp/list" "exported, but not in $map: add it there or take BATON_EXPORT away"
comm -23 "$tmp/map" "$tmp/exported" >"$tmp/list"
complain "$tmp/list" "in $map, but not exported: define it with BATON_EXPORT"
comm -13 "$tmp/versions" "$tmp/versioned" >"$tmp/list"
complain "$tmp/list" "exported with this version, but $map has another"
complain "$tmp/unversioned" "a program that links $shared does not ask for this version"
comm -13 "$tmp/map" "$tmp/declared" >"$tmp/list"
complain "$tmp/list" "declared in include/baton, but not in $map: add it there"
[ -n "$own" ] || complain "$tmp/undefined" "used by the library, defined nowhere"
[ -n "$own" ] ||
	complain "$tmp/modules" "linked into a program without modules: name no module in the core"
complain "$tmp/inlined" "inline.h: inlines where it should call, or the other way round"
complain "$tmp/foreign" "global in the static library: make it static, or prefix it with baton__"
[ -s "$tmp/declared" ] || { echo "symbols.sh found no declaration: mend symbols.sh"; bad=1; }
exit $bad
