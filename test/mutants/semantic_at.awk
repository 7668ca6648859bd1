# SPDX-License-Identifier: MIT
# Which tests, scenarios and failing calls come to some lines of a source, as lines "TEST SECONDS
# COST". A line without code of its own belongs to the line with code before it.
#
#	awk -v lines=LINE,LINE... -f semantic_at.awk REACH REACH
#
# REACH: the source's file in build/semantic/reach, twice.

BEGIN {
	count = split(lines, line, ",")
}

NR == FNR {
	for (i = 1; $2 == "-" && i <= count; i++)
		if ($1 + 0 <= line[i] + 0 && $1 + 0 > best[i] + 0)
			best[i] = $1
	next
}

FNR == 1 {
	for (i in best)
		wanted[best[i]] = 1
}

$1 in wanted && $2 != "-" && !seen[$2]++ {
	print $2, $3, $4
}
