# SPDX-License-Identifier: MIT
# Do the mutants still fit the sources? Each passage of structural.txt must be in its function once;
# each name in the other lists must be that of a mutant; where a list quotes, after the name and a
# bar, the line that the mutant changes, the mutant must change a line with that text.
#
#	awk -f orders.awk src/*/*.[ch] | awk -f applies.awk - structural.txt LIST... src/*/*.[ch]
#	awk -f semantic.awk HEADER... -- FILE... | awk -f applies.awk - semantic_survivors.txt

function trim(text)
{
	sub(/^[ \t]+/, "", text)
	return text
}

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

FILENAME ~ /structural\.txt$/ {
	if ($1 == "=") {
		mutant++
		name[mutant] = $2
		file[mutant] = $3
		scope[mutant] = $4
		exists[$2] = 1
		last = ""
	} else if (mutant && /^[-+] ?/) {
		sign = substr($0, 1, 1)
		if (sign == "-") {
			if (last != "-")
				hunks[mutant]++
			lines[mutant, hunks[mutant], ++count[mutant, hunks[mutant]]] = \
				trim(substr($0, 3))
		}
		last = sign
	}
	next
}

FILENAME ~ /\.txt$/ {
	listed = $1 == "~" ? $2 : $1
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

FNR == 1 {
	where = ""
}

/^[A-Za-z_].*[A-Za-z0-9_]\(/ && !/^#/ && !/^_Static_assert/ && !/;$/ {
	where = $0
	sub(/\(.*/, "", where)
	sub(/.*[^A-Za-z0-9_]/, "", where)
}

{
	length_[FILENAME] = FNR
	source[FILENAME, FNR] = trim($0)
	place[FILENAME, FNR] = where
}

# How often is the passage in its function?
function found(path, m, hunk, i, j, times)
{
	for (i = 1; i <= length_[path]; i++) {
		if (place[path, i] != scope[m])
			continue
		for (j = 1; j <= count[m, hunk]; j++)
			if (source[path, i + j - 1] != lines[m, hunk, j])
				break
		times += j > count[m, hunk]
	}
	return times
}

END {
	for (path in length_) {
		short = path
		sub(/^src\//, "", short)
		full[short] = path
		sub(/.*\//, "", short)
		with_name[short]++
		full[short] = path
	}
	for (m = 1; m <= mutant; m++) {
		if (with_name[file[m]] > 1)
			complain("structural.txt: " name[m] ": there are several " file[m] \
				": name the folder, too")
		else if (!(file[m] in full))
			complain("structural.txt: " name[m] ": there is no " file[m])
		for (hunk = 1; file[m] in full && hunk <= hunks[m]; hunk++)
			if (found(full[file[m]], m, hunk) != 1)
				complain("structural.txt: " name[m] ": " scope[m] " of " file[m] \
					" does not have this passage once: " lines[m, hunk, 1])
	}
	exit bad > 0
}
