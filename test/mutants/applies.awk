# SPDX-License-Identifier: MIT
# Do the lists still fit the sources? Each name in a list must be that of a mutant; where a list
# quotes, after the name and a bar, the line that the mutant changes, the mutant must change a line
# with that text.
#
#	awk -f orders.awk FILE... | awk -f applies.awk - quick.txt
#	awk -f semantic.awk HEADER... -- FILE... | awk -f applies.awk - semantic_survivors.txt

function complain(text)
{
	print text
	bad++
}

NR == FNR {
	exists[$1] = 1
	if (/\t/) {
		text[$1] = $0
		sub(/^[^\t]*\t/, "", text[$1])
		kind = $1
		sub(/:[0-9]+$/, "", kind)
		now[kind, text[$1]] = now[kind, text[$1]] " " $1
	}
	next
}

{
	listed = $1
	if (/^[#\t ]/ || !NF)
		next
	quoted = $0
	sub(/^[^|]*[|]? ?/, "", quoted)
	kind = listed
	sub(/:[0-9]+$/, "", kind)
	if (listed in text ? text[listed] != quoted : quoted != "" && (kind, quoted) in now)
		complain(FILENAME ": " listed " does not change this line: " quoted ": " \
			((kind, quoted) in now ? "that is now" now[kind, quoted] : \
			"is the argument still true of: " text[listed]))
	else if (!(listed in exists))
		complain(FILENAME ": " listed " is no mutant any more: give it its new name, or " \
			"take it out")
	next
}

END {
	exit bad > 0
}
