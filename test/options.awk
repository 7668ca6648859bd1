# SPDX-License-Identifier: MIT
# The structs by which a program sets something, for test/unit/core/test_settings.c:
#
#	awk -f options.awk include/baton/*.h
#
# prints OPTIONS(name) for each struct whose name ends in _config, _options, _policy, _ops or
# _events, MEMBER(name, member) for each of its members, and RESERVED(name, words). Names are
# without "baton_".

function end_of_member()
{
	gsub(/[ \t]+/, " ", text)
	if (match(text, /_reserved[^\[]*\[[0-9]+\]/)) {
		words = substr(text, RSTART, RLENGTH)
		gsub(/[^0-9]/, "", words)
		print "RESERVED(" name ", " words ")"
	} else if (match(text, /\(\*[a-z_]+\)/)) {
		print "MEMBER(" name ", " substr(text, RSTART + 2, RLENGTH - 3) ")"
	} else {
		sub(/(\[[^\]]*\])? ?;.*/, "", text)
		count = split(text, parts, /[ *]/)
		print "MEMBER(" name ", " parts[count] ")"
	}
	text = ""
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

line ~ /^struct baton_[a-z_]+_(config|options|policy|ops|events) \{/ {
	split(line, parts, " ")
	name = substr(parts[2], 7)
	print "OPTIONS(" name ")"
	text = ""
	next
}

line ~ /^}/ { name = "" }

name {
	text = text line
	if (text ~ /;/)
		end_of_member()
}
