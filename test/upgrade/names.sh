#!/bin/sh
# SPDX-License-Identifier: MIT
# The table of 0.3 in include/CHANGES.md: has each name of 0.2's headers a row that is gone from the
# headers, and each function that is declared otherwise? Is no row there twice, and are the rows
# sorted? The headers of 0.2 are looked at where the history is there.
set -u
export LC_ALL=C

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

fail()
{
	echo "include/CHANGES.md: $*"
	failed=1
}

# Without comments, one line each; attributes left out.
code() # include directory
{
	awk '
		in_comment && !sub(/.*\*\//, "") {next}
		{
			gsub(/\/\*[^*]*\*\//, "")
			in_comment = sub(/\/\*.*/, "")
			print
		}' "$1/baton.h" "$1"/baton/*.h
}

names() # include directory
{
	{
		code "$1" | grep -oE '\<(baton_[a-z]|BATON_[A-Z])[A-Za-z0-9_]*' | grep -v '_H$'
		(cd "$1" && ls baton/*.h)
	} | sort -u
}

# NAME declaration, without the parameters' names
declared() # include directory
{
	code "$1" | grep -v '^#' | tr -s '\n\t ' ' ' | sed 's/[;{}]/\n/g' |
		sed -E -n -e 's/BATON_[A-Z_]+(\([^()]*\))?//g' -e 's/ +/ /g; s/\( /(/g' \
			-e 's/^ //; s/ $//' -e '/=|return|\[/d' \
			-e 's/([ *])[a-z_0-9]+([,)])/\1\2/g' \
			-e 's/^[a-z][a-z_ *]*[ *](baton_[a-z_0-9]+)\(.*\)$/\1 &/p' | sort -u
}

sed -n '/^| header | 0.2 | 0.3 |$/,/^$/ {/^| /p;}' include/CHANGES.md | sed 1,2d >"$tmp/rows"
cut -d '|' -f 2 "$tmp/rows" | grep -v '^ all $' | sort -c ||
	fail "the rows are not sorted by header"
twice=$(cut -d '|' -f 3 "$tmp/rows" | grep -v '^ - $' | sort | uniq -d)
[ -z "$twice" ] || fail "two rows: $twice"

if git archive aee3e30b include 2>/dev/null | tar xf - -C "$tmp" 2>/dev/null; then
	names "$tmp/include" >"$tmp/names.2"
	names include >"$tmp/names.3"
	declared "$tmp/include" >"$tmp/declared.2"
	declared include >"$tmp/declared.3"
	cut -d '|' -f 3 "$tmp/rows" >"$tmp/old"
	[ -s "$tmp/declared.2" ] && [ -s "$tmp/declared.3" ] || fail "no function is found"
	comm -23 "$tmp/names.2" "$tmp/names.3" >"$tmp/missing"
	comm -23 "$tmp/declared.2" "$tmp/declared.3" | cut -d ' ' -f 1 >>"$tmp/missing"
	for name in $(grep -v '^baton_inline_' "$tmp/missing" | sort -u); do
		grep -qwF -e "$name" "$tmp/old" || fail "no row for $name of 0.2"
	done
fi
exit $failed
