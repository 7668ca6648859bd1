#!/bin/sh
# SPDX-License-Identifier: MIT
# Does each row of musts.txt name tests that are there? Run at the top; each complaint says the
# mend. With an argument: lists the rows that are open, and nothing else.
set -eu

tests=${TMPDIR:-/tmp}/baton-musts.$$
trap 'rm -f "$tests"' EXIT

{
	cat test/broker/unit/test_*.c | tr -s '\n\t ' ' ' |
		grep -oE '[ ;}]Test\([a-z_0-9]+, [a-z_0-9]+' | sed -e 's/.*(//' -e 's/, /\//'
	grep -hoE '^STORY(_WITH)?\([a-z_0-9]+' test/broker/test_*.c | sed 's/.*(//'
} >"$tests"

LC_ALL=C awk -v list="${1-}" '
# "3.10.4": the parts of the section, as a number that sorts as they do.
function order(section,    parts, i, number) {
	split(section, parts, ".")
	for (i = 1; i <= 3; i++)
		number = number * 100 + parts[i]
	return number
}
function complain(what) {
	print FILENAME ":" FNR ": " what
	bad = 1
}
FILENAME != "test/broker/musts.txt" {tests[$1] = 1; next}
/^(#|$)/ {next}
{
	if (split($0, field, / \| /) != 3 || field[1] !~ /^[1-6](\.[0-9]+)+-[0-9]+$/) {
		complain("write: NUMBER | what it says | TEST ..., as the beginning says")
		next
	}
	split(field[1], number, "-")
	# Of section 2.2.1 the standard has no first statement.
	if (number[1] == section ? number[2] != last + 1 : order(number[1]) <= order(section) ||
	    number[2] != (number[1] == "2.2.1" ? 2 : 1))
		complain(field[1] ": it does not follow " section "-" last)
	section = number[1]
	last = number[2]
	rows++
	if (field[3] ~ /^open: ./ && list != "")
		print field[1], field[2], "--", substr(field[3], 7)
	if (field[3] ~ /^(open|client|free): ./)
		next
	for (i = split(field[3], names, " "); i > 0; i--)
		if (!(names[i] in tests))
			complain("there is no test " names[i] ": write it, or name another")
}
END {
	if (rows != 251 && list == "") {
		print "test/broker/musts.txt: the standard has 251 statements, the list " rows + 0
		bad = 1
	}
	exit bad
}' "$tests" test/broker/musts.txt
