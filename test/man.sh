#!/bin/sh
# SPDX-License-Identifier: MIT
# The manual: each public function has a page, mandoc has nothing to complain about, each reference
# leads to a page, the pages name every law, and `man` shows a page.
#
#	man.sh MANUAL HTML
set -eu

manual=$1
html=$2
maps='src/baton.map src/companion/*/*.map'
bad=0
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT

complain()
{
	echo "check-man: $*"
	bad=1
}

pages=$(cd "$manual" && grep -L '^[.]so ' man1/*.1 man3/*.3 man7/*.7)
# shellcheck disable=SC2086 # words, on purpose
(cd "$manual" && mandoc -T lint -W warning $pages) || complain "mandoc complains, see above"

# groff's man(1) makes tables of a page alone whose first line asks for it; mandoc of any page.
# shellcheck disable=SC2086 # words, on purpose
for page in $(cd "$manual" && grep -l '^[.]TS' $pages); do
	head -n 1 "$manual/$page" | grep -qx "'.\" t" ||
		complain "$page has a table, and does not begin with '\\\" t"
done

for name in $(sed -n 's/^[[:space:]]*\(baton_[a-z0-9_]*\);.*/\1/p' $maps); do
	grep -q "extern .*[(][*]$name[)]" src/*/*.h src/*/*/*.h && continue # not public
	case $name in
	baton_inline_*_v*) continue ;; # not for programs
	esac
	[ -s "$manual/man3/$name.3" ] || complain "$name: no page, no comment?"
done

# So has each struct, union and enum, and each type of a function.
for name in $(sed -n -e 's/^\(struct\|union\|enum\) \(baton_[a-z0-9][a-z0-9_]*\) {.*/\2/p' \
	-e 's/^typedef .*(\*\(baton_[a-z0-9_]*\))(.*/\1/p' include/baton/*.h); do
	[ -s "$manual/man3/$name.3" ] || [ "$name" = baton_inline_way ] ||
		complain "$name: no page, no comment?"
done

for link in $(cd "$manual" && grep -l '^[.]so ' man3/*.3); do
	target=$(sed -n 's/^[.]so //p' "$manual/$link")
	[ -s "$manual/$target" ] || complain "$link leads to $target, which is not there"
done

# Xr NAME SECTION, wherever it stands in a line.
for reference in $(cd "$manual" && cat man1/*.1 man3/*.3 man7/*.7 |
	sed -n 's/.*Xr \([^ ]*\) \([137]\).*/\1.\2/p' | sed 's/\\-/-/g' | sort -u); do
	section=${reference##*.}
	[ -s "$manual/man$section/$reference" ] || complain "no page $reference"
done

for law in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
	grep -q "^[.]It L$law " "$manual/man7/baton-laws.7" || complain "baton-laws: no L$law"
done

# A function that returns a number says which.
# shellcheck disable=SC2086 # words, on purpose
(cd "$manual" && grep -l '^[.]Ft "int"$' $(echo "$pages" | grep '^man3/')) |
	while read -r page; do
		grep -qE '^[.]Sh (ERRORS|RETURN VALUES)' "$manual/$page" || echo "$page"
	done >"$tmp"
while read -r page; do
	complain "${page#man3/}: returns int, and has neither Returns: nor Errors:"
done <"$tmp"

# Each function says which threads may call it.
# shellcheck disable=SC2086 # words, on purpose
(cd "$manual" && grep -l '^[.]Fo baton_[a-z_0-9]*$' $(echo "$pages" | grep '^man3/')) |
	while read -r page; do
		grep -q '^[.]Ft' "$manual/$page" || continue # a macro
		grep -q '^[.]It Sy Thread safety' "$manual/$page" || echo "$page: no Thread safety:"
		grep -qE '^[.]Sh (ERRORS|RETURN VALUES)' "$manual/$page" || echo "$page: no Errors:"
	done >"$tmp"
while read -r page; do
	complain "${page#man3/}"
done <"$tmp"

# baton-top's page has each option that its usage names, and no other.
sed -n 's/^.*"  -\(.\), --\([a-z]*\) .*/-\1 --\2/p' src/top/main.c | sort >"$tmp"
sed -n 's/^[.]It Fl \(.\) , Fl Fl \([a-z]*\).*/-\1 --\2/p' "$manual/man1/baton-top.1" | sort |
	diff "$tmp" - || complain "baton-top.1 and baton-top --help differ"
[ -s "$tmp" ] || complain "baton-top's usage names no options"

# So has baton-queue's, of the options that are its own; the exit statuses are the same.
{
	sed -n '/^static const char help/,/;$/s/^.*"  --\([a-z]*\)  .*/--\1/p' \
		examples/queue/figures.c
	echo '--help'
} | sort >"$tmp"
sed -n 's/^[.]It Fl Fl \([a-z]*\)$/--\1/p' "$manual/man1/baton-queue.1" | sort | diff "$tmp" - ||
	complain "baton-queue.1 and baton-queue --help differ"
sed -n '/"Exit status: /,/;$/s/^.*"\(.*\)\\n".*/\1/p' examples/queue/figures.c | tr '\n' ' ' |
	sed 's/^Exit status: //; s/ $//' >"$tmp"
[ -s "$tmp" ] && grep -qFf "$tmp" "$manual/man1/baton-queue.1" ||
	complain "baton-queue.1 and baton-queue --help: other exit statuses"

# The features' README marks the experimental headers, and no other. What a program of ours uses is
# none: its mark has to go.
features=examples/features/README.md
for header in include/baton/*.h; do
	name=$(basename "$header")
	grep -q '^ \* Experimental: ' "$header" && marked=1 || marked=0
	grep -qE "\`(baton/)?$name\`, \*experimental\*" "$features" && said=1 || said=0
	[ $marked = $said ] || complain "$features and $name: is it experimental?"
	[ $marked = 1 ] || continue
	functions=$(awk -f src/map.awk /dev/null "$header" | sed -n 's/^\t\(baton_.*\);/-e \1/p')
	# shellcheck disable=SC2086 # words, on purpose
	users=$(find examples src/top src/companion -name '*.[ch]' \
		! -path 'examples/features/*' ! -path 'examples/tutorial/*' \
		-exec grep -lwF $functions {} + || true)
	[ -z "$users" ] || complain "$name is experimental, and $users uses it"
done

# As man shows them: no line is too long for its column, no cell of a table is empty. A prototype
# cannot be broken within a parameter, so the pages of functions are a little wider.
if command -v groff >/dev/null 2>&1; then
	for page in $pages; do
		width=78n
		[ "${page#man3/}" = "$page" ] || width=84n
		(cd "$manual" && groff -z -t -mdoc -Tutf8 -rLL=$width "$page" 2>&1)
	done >"$tmp"
	! grep . "$tmp" || complain "groff complains, see above"
fi

# No path of the building machine's is in a page.
! grep -n "$manual" "$manual"/man[137]/* || complain "a page names the folder of its making"

# A label, and a text, are once in a page.
for page in $pages; do
	sed -n 's/^[.]It Sy \([A-Z][a-z ]*\) :$/\1/p' "$manual/$page" | sort | uniq -d |
		sed "s|^|$page: twice: |"
done >"$tmp"
! grep . "$tmp" || complain "say it once"

# A class in C++ shows its members.
! (cd "$manual" && grep -nE '(class|struct) .*[^:]: (public|private) .*;$' man7/baton-cxx-*.7) ||
	complain "a class has no members"

# The errors of each call are the same in its header and in test/faults.
awk -v check=1 -f src/man/errors_table.awk src/base/error.c test/faults/contract_rows.inc \
	"$manual/named" >"$tmp" || complain "mend the header or test/faults/contract_rows.inc:"
cat "$tmp"

# What a page says before its corner cases, and before its lists of members, types and functions,
# fits one screen: SCREEN lines. "Corner cases." in the comment begins what need not.
SCREEN=30
# shellcheck disable=SC2086 # words, on purpose
for page in $(echo "$pages" | grep '^man3/\|^man7/'); do
	header=${page#man7/baton-}
	[ "${page#man3/}" != "$page" ] || [ -e "include/baton/${header%.7}.h" ] || continue
	lines=$(cd "$manual" && mandoc -T ascii -O width=78 "$page" | awk '
		{gsub(/.\010/, "")}
		/^[A-Z]/ {inside = /^DESCRIPTION|^RETURN VALUES|^ERRORS/}
		inside {lines++}
		END {print lines - 1}')
	[ "$lines" -le $SCREEN ] ||
		complain "$page: $lines lines before its corner cases ($SCREEN at most)"
done

# What a user does.
for page in baton_submit baton_future_wait BATON_TASK_INIT; do
	(cd "$manual" && mandoc -T ascii "man3/$page.3") |
		awk '{gsub(/.\010/, ""); print}' | grep -q "$page" ||
		complain "man $page shows nothing"
done

# The HTML: each link leads to a page, or to a place in its own page; the index has each page.
for link in $(cat "$html"/*.html | grep -o 'href="[a-zA-Z_][^":#]*[.]html"' | sort -u); do
	target=${link#href=\"}
	[ -s "$html/${target%\"}" ] || complain "$link leads nowhere"
done
for page in "$html"/*.html; do
	[ ! -L "$page" ] || continue
	grep -o ' id="[^"]*"' "$page" | sed 's/.*="/#/' >"$tmp"
	for place in $(grep -o 'href="#[^"]*"' "$page" | sed 's/href="//' | tr -d '"' | sort -u); do
		grep -qxF "$place\"" "$tmp" || complain "${page##*/}: $place leads nowhere"
	done
	name=${page##*/}
	[ "$name" = index.html ] || grep -q "href=\"$name\"" "$html/index.html" ||
		complain "index.html has no link to $name"
	grep -q '<script src="names.js">' "$page" || complain "$name has no search box"
done

# What the search box finds.
if command -v node >/dev/null 2>&1; then
	{
		cat "$html/names.js" src/man/search.js
		cat <<-'END'
		function check(query, wanted) {
			var found = find(query);
			if ((found.length ? found[0][0] : "") !== wanted)
				console.log(query + ": found " + found[0] + ", wanted " + wanted);
		}
		check("baton_submit", "baton_submit");
		check("Baton_Submit(3)", "baton_submit");
		check("BATON_TASK_INIT", "BATON_TASK_INIT");
		check("resource_config", "baton_resource_config");
		check("future wait until", "baton_future_wait_until");
		check("no such thing", "");
		check("", "");
		END
	} | node - >"$tmp" 2>&1 || complain "search.js does not run"
	while read -r answer; do
		complain "search: $answer"
	done <"$tmp"
fi
exit $bad
