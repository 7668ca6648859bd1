# SPDX-License-Identifier: MIT
# Of headers: each inline function, and a sum of its text without comments and white space. What the
# function does with a struct is in the programs' binaries.
BEGIN {
	for (i = 1; i < 128; i++)
		code[sprintf("%c", i)] = i
}

{
	if (in_comment && !sub(/^.*\*\//, ""))
		next
	gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "")
	sub(/\/\/.*/, "")
	in_comment = sub(/\/\*.*/, "")
}

/^static inline/ {
	inside = 1
	body = ""
}

inside {
	body = body " " $0
}

inside && /^}/ {
	inside = 0
	match(body, /baton_[a-z0-9_]+\(/)
	name = substr(body, RSTART, RLENGTH - 1)
	gsub(/[ \t]/, "", body)
	sum = 0
	for (i = 1; i <= length(body); i++)
		sum = (sum * 31 + code[substr(body, i, 1)]) % 2147483647
	print "inline " name ": " sum
}
