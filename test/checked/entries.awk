# SPDX-License-Identifier: MIT
# What libbaton-checked needs of each public function, for test/tidy.sh:
#
#	awk -f entries.awk include/baton/*.h test/checked/firsts*.c src/*/*.[ch] src/*/*/*.[ch]
#
# - A function that is given a resource, or what leads to one, has a program in test/checked/firsts*
#   whose first use is a call of that function: the checks must not stop it.
# - The first line of a function that is given a resource to change is a check.
# - A resource is captured by core/word.h alone, which says that it is used.

BEGIN {
	objects = "\\(.*struct baton_(resource|task|future|continuation|timer|trigger|suspension|" \
		"window|window_part|io) \\*"
}

function complain(where, message)
{
	print where ": " message
	bad = 1
}

FNR == 1 {
	text = ""
	in_comment = 0
	definition = ""
}

# Comments do not count.
{
	line = $0
	if (in_comment) {
		if (!sub(/.*\*\//, "", line))
			next
		in_comment = 0
	}
	gsub(/\/\*[^*]*\*\//, "", line)
	if (sub(/\/\*.*/, "", line))
		in_comment = 1
}

function name_in(text)
{
	match(text, /baton_[a-z0-9_]+\(/)
	return substr(text, RSTART, RLENGTH - 1)
}

FILENAME ~ /^include/ && FILENAME !~ /\/(inline|redis|remote)\.h$/ {
	if (text == "" && (line ~ /^(static|typedef)/ ||
	    line !~ /^[a-zA-Z][a-zA-Z_0-9 *]*[ *]baton_[a-z0-9_]+\(/))
		next
	text = text " " line
	if (line !~ /;/)
		next
	declared[name_in(text)] = 1
	if (text ~ objects)
		wanted[name_in(text)] = FILENAME ":" FNR
	text = ""
}

FILENAME ~ /^test/ && /^FIRST\(/ {
	first = $0
	gsub(/^FIRST\(|\).*/, "", first)
	has[first] = 1
}

FILENAME ~ /^src/ && FILENAME !~ /core\/word\.h$/ &&
		line ~ /baton_inline_(enter|capture|capture_plain)\(/ {
	complain(FILENAME ":" FNR, "captures past the checks: use core/word.h")
}

FILENAME ~ /^src/ && FILENAME !~ /\/(redis|checked)\// {
	if (line ~ /^BATON_EXPORT .*baton_[a-z0-9_]+\(/)
		definition = line
	else if (definition != "" && line ~ /^{/) {
		must_check = definition ~ /[(,] *struct baton_resource \*/ &&
			definition !~ /baton_inline_/
		at = name_in(definition)
		definition = ""
	} else if (definition != "")
		definition = definition " " line
	else if (must_check) {
		if (line !~ /^\tBATON__(CHECKED|CHECKED_SUBMIT|NEED)\(/)
			complain(FILENAME ":" FNR, at " does not begin with a check: " \
				"BATON__CHECKED(resource(...)), see base/checked.h")
		must_check = 0
	}
}

END {
	for (name in wanted) {
		found++
		if (!(name in has))
			complain(wanted[name], name " has no FIRST(" name ") in test/checked")
	}
	for (name in has)
		if (!(name in declared))
			complain("test/checked", "FIRST(" name ") names no such function")
	if (!found)
		complain("entries.awk", "no declaration found")
	exit bad
}
