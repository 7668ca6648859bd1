#!/bin/sh
# SPDX-License-Identifier: MIT
# What of the project's style a program can check; each complaint says the mend. Run at the top.
set -eu

# The makefile's folders, which are the layers, lowest first; then the companions, and the programs.
listed()
{
	sed -e ':a' -e '/\\$/{N; s/\\\n//; ba' -e '}' Makefile | sed -n "s/^$1 := //p"
}
companions=$(listed COMPANIONS)
companion_headers=$(for name in $companions; do listed "HEADERS_$name"; done)
layers="$(listed FOLDERS) $(for name in $companions; do echo "companion/$name"; done) \
	$(listed PROGRAM_FOLDERS) $(listed CHECKING_FOLDERS)"
sources='src/*/*.[ch] src/*/*/*.[ch]'
broker_layers=$(listed BROKER_FOLDERS)

find src include examples test .ci \
	\( -name '*.[ch]' -o -name '*.cc' -o -name '*.hpp' -o -name '*.sh' -o -name '*.awk' \) |
	LC_ALL=C sort >"${TMPDIR:-/tmp}/baton-tidy.$$"
trap 'rm -f "${TMPDIR:-/tmp}/baton-tidy.$$"' EXIT

# shellcheck disable=SC2046 # one file per word; none has a space
LC_ALL=C awk -v layers="$(echo $layers)" -v companion_headers="$(echo $companion_headers)" \
	-v broker_layers="$broker_layers" -f test/tidy.awk \
	$(cat "${TMPDIR:-/tmp}/baton-tidy.$$") Makefile examples/*.mk */*/*.mk \
	src/companion/*/*.mk
LC_ALL=C awk -f test/structure.awk $sources
LC_ALL=C awk -v optional=test/optional_results.txt -f test/prototypes.awk include/baton/*.h
LC_ALL=C awk -f test/comments.awk -f src/man/header.awk include/baton/*.h
LC_ALL=C awk -f test/checked/entries.awk include/baton/*.h test/checked/firsts*.c $sources

# baton-where(7) says no more of where functions run than the headers that it names.
awk '
function judge(    i, line, all) {
	if (name == "")
		return
	rows++
	while ((getline line <name) > 0)
		all = all " " line
	close(name)
	gsub(/[ \t*]+/, " ", all)
	for (i = split("this thread,the runner\047s thread,the executor\047s thread", where, ",");
	     i; i--)
		if (index(text, "on " where[i]) && !index(all, "on " where[i])) {
			print "src/man/baton-where.7: " name " does not say: on " where[i] \
				>"/dev/stderr"
			bad = 1
		}
	name = text = ""
}
/^[.](It|El)/ {judge()}
/^[.]It/ {inside = 1; next}
inside && /^[.]Xr baton-[a-z_]* 7/ {name = "include/baton/" substr($2, 7) ".h"; inside = 0}
inside {text = text " " $0}
END {exit bad || rows < 10}
' src/man/baton-where.7

# A test's log and counts have its base name (test/run.sh).
twice=$(find test/unit test/broker/unit -name 'test_*.c' | sed 's|.*/||' | sort | uniq -d)
if [ -n "$twice" ]; then
	echo "test/unit: two files have the name $twice: rename one" >&2
	exit 1
fi

# The version scripts are those that src/map.awk makes.
check_map() # map, headers...
{
	awk -f src/map.awk "$@" | cmp -s - "$1" || {
		echo "$1 is not what the public headers declare: make map" >&2
		exit 1
	}
}
headers=$(ls include/baton/*.h)
for companion in $companions; do
	own=$(listed "HEADERS_$companion" | sed 's|[a-z_][a-z_]*|include/baton/&.h|g')
	check_map "src/companion/$companion/$companion.map" $own
	headers=$(printf '%s\n' "$headers" $own | sort | uniq -u)
done
check_map src/baton.map $headers

# Each function that libbaton and its plain companions export is called in a fork's child.
maps="src/baton.map $(for name in $(listed PLAIN_COMPANIONS); do
	echo "src/companion/$name/$name.map"; done)"
# shellcheck disable=SC2086 # one file per word
rows=test/unit/thread/fork_rows.inc
exported=$(sed -n 's/^[[:space:]]*\(baton_[a-z0-9_]*\);.*/\1/p' $maps | sort)
called=$(sed -n 's/^[A-Z_]*ROW(\(baton_[a-z0-9_]*\),.*/\1/p' $rows | sort)
if [ "$exported" != "$called" ]; then
	echo "$rows: a row for each function of $maps, and no other: mend the list" >&2
	printf '%s\n' "$exported" "$called" | sort | uniq -u >&2
	exit 1
fi

# Each error that a header or a source names has a text, and each text an error.
named=$(grep -ohE '(^|[^A-Za-z0-9_"])-E[A-Z]{2,}' include/baton/*.h $sources |
	grep -oE 'E[A-Z]+' | sort -u)
texts=$(sed -n 's/^	\[\(E[A-Z]*\)\] = .*/\1/p' src/base/error.c | sort -u)
if [ "$named" != "$texts" ]; then
	echo "src/base/error.c: each of these is named without a text, or has a text for nothing:" \
		$(printf '%s\n%s\n' "$named" "$texts" | sort | uniq -u) >&2
	exit 1
fi

# The broker's README has a row for each event of its log.
for event in $(cat examples/broker/*.c examples/broker/*/*.c | tr -s '\n\t ' ' ' |
	grep -oE '(log_event|line_fill)\([^"]*, "[a-z_]+"' | grep -oE '"[a-z_]+"' | tr -d '"' |
	sort -u); do
	grep -q "^|.*\`$event\`" examples/broker/README.md || {
		echo "examples/broker/README.md: the log's event $event has no row" >&2
		exit 1
	}
done

# The core is to be read in an evening.
evening=$(sed -n '/^## In an evening/,/^Then /{/^Then /!p}' src/README.md |
	grep -o '`[a-z]*/[a-z_]*\.[ch]`' | tr -d '`' | sed 's|^|src/|')
# shellcheck disable=SC2086 # one file per word
lines=$(cat $evening | wc -l)
if [ "$lines" -gt 5350 ]; then
	echo "src/README.md: an evening has 5,350 lines, and its files $lines: shorten the core" >&2
	exit 1
fi

# What quotes the sources must follow them.
mutants=test/mutants
# shellcheck disable=SC2046 # as above
{
	LC_ALL=C awk -f $mutants/orders.awk include/baton/inline.h \
		$(find src -name '*.[ch]' ! -name atomic.h)
	LC_ALL=C awk -f $mutants/structural.awk $mutants/structural.txt include/baton/inline.h \
		$sources
} >"${TMPDIR:-/tmp}/baton-tidy.$$"
LC_ALL=C awk -f $mutants/applies.awk - $mutants/quick.txt <"${TMPDIR:-/tmp}/baton-tidy.$$"
{
	LC_ALL=C awk -f $mutants/semantic.awk include/baton/*.h src/*/*.h src/*/*/*.h \
		examples/broker/*/*.h -- \
		include/baton/inline.h $sources examples/broker/*.c examples/broker/*/*.c
	LC_ALL=C awk -f $mutants/semantic_lua.awk src/companion/redis/*.lua
} |
	LC_ALL=C awk -f $mutants/applies.awk - $mutants/semantic_survivors.txt

# The text of a refusal names a constant as the headers do. (NULL and CPU are none of baton's.)
for word in $(cat src/*/*.c | tr -s '\n\t ' ' ' | grep -oE 'baton__refused\(("[^"]*" ?)+' |
	grep -oE '\<[A-Z][A-Z_]{2,}\>' | sort -u); do
	case $word in NULL | CPU) continue ;; esac
	grep -qE "(define |^[[:space:]]*)$word\>" include/baton/*.h || {
		echo "src: the text of a refusal names $word, which no public header declares" >&2
		exit 1
	}
done

# The first bar of a header's table stands in one column.
awk '
!/^[ \t]*\*.* *\|( |$)/ || /\|\||;/ {column = 0; next}
{
	if (column && index($0, "|") != column) {
		print FILENAME ":" FNR ": the bar is not below the one above" >"/dev/stderr"
		bad = 1
	}
	column = index($0, "|")
}
END {exit bad}
' include/baton/*.h
