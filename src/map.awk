# SPDX-License-Identifier: MIT
# A library's version script: its last version gets each function and variable that the public
# headers declare and no earlier version has. The rest stays as it stands.
#
#	awk -f map.awk MAP include/baton/*.h >MAP.new
#
# A version begins with its name and a brace. The names stand between an empty line and "local:", or
# the closing brace. Functions that are added after a release are in a version of their own, which
# stands last in the script:
#
#	BATON_0.3.1 {
#	global:
#
#	} BATON_0.3;

FILENAME == ARGV[1] {
	if (/^[A-Z_]+[0-9.]+ [{]/) {
		before = before head names tail
		head = names = tail = ""
		for (name in named)
			earlier[name] = 1
	}
	if (/^(local:|[}])/ || tail != "")
		tail = tail $0 "\n"
	else if (names != "" || $0 == "")
		names = names $0 "\n"
	else
		head = head $0 "\n"
	if (/^\tbaton_[a-z0-9_]+;/)
		named[substr($1, 1, length($1) - 1)] = 1
	next
}

FNR == 1 {
	if (!begun++)
		printf "%s%s\n", before, head
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
	name = substr($0, RSTART + 1, RLENGTH - 1)
	sub(/[(;]$/, "", name)
	if (!(name in earlier)) {
		if (title != "")
			printf "%s\t/* %s */\n", groups++ ? "\n" : "", title
		title = ""
		printf "\t%s;\n", name
	}
}

/;/ {
	declaration = 0
}

END {
	printf "\n%s", tail
}
