# SPDX-License-Identifier: MIT
# Turns round what semantic_trace.sh has written: a file build/semantic/reach/SOURCE for each source
# and header, with lines "LINE TEST SECONDS COST", and "LINE -" for each line that has code.
#
#	awk -f semantic_reach.awk LINES MAP...
#
# LINES: what semantic_lines.sh says. COST: small for a test that is quick and comes to few lines.

function put(place, text, part)
{
	split(place, part, ":")
	print part[2], text >("build/semantic/reach/" part[1])
}

NR == FNR {
	for (i = 2; i <= NF; i++)
		if (!known[$i]++)
			put($i, "-")
	next
}

function flush_test(i)
{
	for (i = 1; i <= count; i++)
		put(line[i], test " " seconds " " count * (0.2 + seconds))
	count = 0
}

FNR == 1 {
	flush_test()
	test = FILENAME
	sub(/.*\/maps\//, "", test)
	sub(/\.map$/, "", test)
}

$1 == "seconds" {
	seconds = $2
	next
}

{
	line[++count] = $1
}

END {
	flush_test()
}
