# SPDX-License-Identifier: MIT
# A library's version script: its head and tail as they stand, and between them each function and
# variable that the public headers declare.
#
#	awk -f map.awk MAP include/baton/*.h >MAP.new
#
# The head ends with the first empty line; the tail begins with "local:".

FILENAME == ARGV[1] {
	head = head_over ? head : head $0 "\n"
	head_over = head_over || $0 == ""
	tail = /^local:/ || tail != "" ? tail $0 "\n" : ""
	next
}

FNR == 1 {
	printf "%s", head
	head = ""
	title = FILENAME
	sub(/.*include\//, "", title)
	in_comment = declaration = 0
}

# Comments do not count.
{
	if (in_comment && !sub(/.*\*\//, ""))
		next
	gsub(/\/\*[^*]*\*\//, "")
	in_comment = sub(/\/\*.*/, "")
}

!declaration && /^[a-zA-Z]/ && !/^(static|typedef)/ && (match($0, /[ *]baton_[a-z0-9_]+\(/) ||
		/^extern/ && match($0, /[ *]baton_[a-z0-9_]+.?$/)) {
	declaration = 1
	if (title != "")
		printf "%s\t/* %s */\n", groups++ ? "\n" : "", title
	title = ""
	name = substr($0, RSTART + 1, RLENGTH - 1)
	sub(/[(;]$/, "", name)
	printf "\t%s;\n", name
}

/;/ {
	declaration = 0
}

END {
	printf "\n%s", tail
}
