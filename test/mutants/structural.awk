# SPDX-License-Identifier: MIT
# Lists the mutants of structural.txt, or applies one of them to its file.
#
#	awk -v paths="src/..." -f structural.awk structural.txt    lines "NAME PATH PLACE"
#	awk -v name=NAME -f structural.awk structural.txt FILE
#
# Ends with status 3 if a passage to be replaced is not found exactly once in its function.

BEGIN {
	count_paths = split(paths, words, /[ \n]+/)
	for (i = 1; i <= count_paths; i++) {
		base = words[i]
		sub(/.*\//, "", base)
		path[base] = words[i]
		base = words[i]
		sub(/^src\//, "", base)
		path[base] = words[i]
	}
}

function trim(text)
{
	sub(/^[ \t]+/, "", text)
	return text
}


# structural.txt
FNR == NR {
	if ($1 == "=") {
		current = $2
		if (name == "") {
			base = $3
			sub(/.*\//, "", base)
			print $2, ($3 in path ? path[$3] : $3), base ":" $4
		} else if ($2 == name) {
			scope = $4
		}
		hunk = 0
		last = ""
	} else if (name != "" && current == name && /^[-+] ?/) {
		sign = substr($0, 1, 1)
		text = substr($0, 3)
		if (sign == "-" && last != "-")
			hunk++
		last = sign
		count[hunk, sign]++
		lines[hunk, sign, count[hunk, sign]] = sign == "-" ? trim(text) : text
		total = hunk
	}
	next
}

/^[A-Za-z_].*[A-Za-z0-9_]\(/ && !/^#/ && !/^_Static_assert/ && !/;$/ {
	where = $0
	sub(/\(.*/, "", where)
	sub(/.*[^A-Za-z0-9_]/, "", where)
}

{
	source[++length_] = $0
	place[length_] = where
}

END {
	if (name == "")
		exit 0
	for (i = 1; i <= length_; i++) {
		replaced = 0
		for (h = 1; h <= total && !replaced; h++) {
			if (place[i] != scope || !count[h, "-"])
				continue
			for (j = 1; j <= count[h, "-"]; j++)
				if (trim(source[i + j - 1]) != lines[h, "-", j])
					break
			if (j <= count[h, "-"])
				continue
			used[h]++
			for (j = 1; j <= count[h, "+"]; j++)
				print lines[h, "+", j]
			i += count[h, "-"] - 1
			replaced = 1
		}
		if (!replaced)
			print source[i]
	}
	for (h = 1; h <= total; h++)
		if (used[h] != 1)
			exit 3
	exit total ? 0 : 3
}
