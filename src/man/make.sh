#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the manual: section 3 and baton-HEADER(7) out of the public headers, the other pages of
# sections 1 and 7 out of the files beside this one.
#
#	make.sh MANUAL VERSION DATE DATADIR CHECKEDDIR
set -eu

manual=$1
version=$2
date=$3
datadir=$4
checkeddir=$5
from=$(dirname "$0")
names=$(cd include/baton && for file in *.h; do printf '%s ' "${file%.h}"; done)

pages()
{
	awk -f "$from/pages.awk" -f "$from/header.awk" -f "$from/types.awk" -f "$from/text.awk" \
		-f "$from/errors.awk" "$@"
}

rm -rf "$manual"
mkdir -p "$manual/man1" "$manual/man3" "$manual/man7"
for name in $names; do
	# The library whose map has the header; of inline functions alone, libbaton.
	map=$(grep -l "baton/$name\.h" src/companion/*/*.map) || map=
	library=${map:+-$(basename "$map" .map)}
	pages -v out="$manual" -v date="$date" -v version="$version" -v headers="$names" \
		-v library="baton$library" "include/baton/$name.h"
done

# baton(7) lists the headers' pages, each with the line that its NAME section has.
for name in $names; do
	mark=
	! grep -q '^ \* Experimental: ' "include/baton/$name.h" || mark="; experimental"
	printf '.It Xr baton\\-%s 7\n%s%s\n' "$name" \
		"$(sed -n 's/^[.]Nd //p' "$manual/man7/baton-$name.7")" "$mark"
done >"$manual/headers"

# baton-versions(7) lists those that are experimental.
grep -l '^ \* Experimental: ' include/baton/*.h |
	sed -n 's|.*baton/\(.*\)\.h|.Xr baton\\-\1 7 ,|p' | sed '$s/,$/./' >"$manual/experimental"

# A page for each header of C++, and their list in baton-cxx(7).
for header in include/baton/*.hpp; do
	name=$(basename "$header" .hpp)
	[ "$name" != callable ] || continue # not for programs
	awk -v out="$manual" -v date="$date" -v version="$version" \
		-f "$from/cxx.awk" -f "$from/text.awk" "$header"
	printf '.It Xr baton\\-cxx\\-%s 7\n%s\n' "$name" \
		"$(sed -n 's/^[.]Nd //p' "$manual/man7/baton-cxx-$name.7")"
done >"$manual/cxx"

# The table of baton-errors(7); $manual/named, for check-man.
for name in $names; do
	pages -v errors_only=1 "include/baton/$name.h"
done >"$manual/named"
awk -f "$from/errors_table.awk" src/base/error.c test/faults/contract_rows.inc "$manual/named" \
	>"$manual/errors"

# The list of baton-words(7).
sed -n -e '1,/^| ---/d' -e 's/^| \(.*\) | \(.*\) |$/.It \1\n\2/p' "$from/words.md" |
	sed 's/`\([^`]*\)`/\\fB\1\\fP/g' >"$manual/words"

# @FILE name@ in baton-tutorial(7): what the file has between its two marks.
shown()
{
	awk '
	/^@FILE .*@$/ {
		file = substr($2, 1, length($2) - 1)
		print ".Bd -literal -offset indent"
		inside = lines = 0
		while ((getline one <file) > 0) {
			if (one ~ /^\/\* ---- To here ---- \*\/$/)
				inside = 0
			if (inside) {
				gsub(/\\/, "\\e", one)
				gsub(/\t/, "    ", one)
				print (one ~ /^[.]/ ? "\\&" : "") one
				lines++
			}
			if (one ~ /^\/\* ---- In baton-tutorial/)
				inside = 1
		}
		print ".Ed"
		if (!lines)
			exit 1
		next
	}
	{print}' "$1"
}

for page in "$from"/*.[17]; do
	shown "$page" >"$manual/page"
	sed -e "s/@DATE@/$date/; s/@VERSION@/$version/" \
		-e "s|@DATADIR@|$datadir|g; s|@CHECKEDDIR@|$checkeddir|g" \
		-e "/^@HEADERS@$/ {r $manual/headers" -e 'd;}' \
		-e "/^@EXPERIMENTAL@$/ {r $manual/experimental" -e 'd;}' \
		-e "/^@CXX@$/ {r $manual/cxx" -e 'd;}' \
		-e "/^@ERRORS@$/ {r $manual/errors" -e 'd;}' \
		-e "/^@WORDS@$/ {r $manual/words" -e 'd;}' "$manual/page" \
		>"$manual/man${page##*.}/${page##*/}"
done
rm "$manual/headers" "$manual/experimental" "$manual/cxx" "$manual/errors" "$manual/words" \
	"$manual/page"
