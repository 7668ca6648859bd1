# SPDX-License-Identifier: MIT
# Lists the mutants of structural.txt, or applies one of them to its file.
#
#	awk -f structural.awk structural.txt FILE...              lines "NAME FILE PLACE FATE"
#	awk -v name=NAME -f structural.awk structural.txt FILE    the file, mutated
#
# Status 3: what a mutant changes is not in its function exactly once; the list says so.

function trim(text)
{
	sub(/^[ \t]+/, "", text)
	return text
}

FNR == NR {
	if ($1 == "=") {
		m = ++mutants
		names[m] = $2
		file_of[m] = $3
		scope[m] = $4
		split_of[m] = $5 == "split" ? ($6 == "" ? "(cas|swap|or)" : $6) : ""
		number[m] = $7 + 0
		fate[m] = "found"
		last = ""
	} else if (/^(survives|rare): /) {
		fate[m] = substr($1, 1, length($1) - 1)
	} else if (/^[-+]/) {
		sign = substr($0, 1, 1)
		if (sign == "-" && last != "-")
			hunks[m]++
		last = sign
		h = hunks[m]
		count[m, h, sign]++
		lines[m, h, sign, count[m, h, sign]] = sign == "-" ? trim(substr($0, 2)) : \
			substr($0, 3)
	}
	next
}

FNR == 1 {
	f = ++files
	where = ""
	short[f] = base[f] = path[f] = FILENAME
	sub(/^.*src\//, "", short[f])
	sub(/.*\//, "", base[f])
}

/^[A-Za-z_].*[A-Za-z0-9_]\(/ && !/^#/ && !/^_Static_assert/ && !/;$/ {
	where = $0
	sub(/\(.*/, "", where)
	sub(/.*[^A-Za-z0-9_]/, "", where)
}

{
	source[f, FNR] = $0
	trimmed[f, FNR] = trim($0)
	place[f, FNR] = where
	if (!((f, where) in first))
		first[f, where] = FNR
	last_of[f, where] = FNR
	length_[f] = FNR
}

# Begins hunk h of mutant m in this line?
function fits(f, line, m, h, j)
{
	if (place[f, line] != scope[m])
		return 0
	for (j = 1; j <= count[m, h, "-"]; j++)
		if (trimmed[f, line + j - 1] != lines[m, h, "-", j])
			return 0
	return 1
}

# The line with its operation in two steps; `seen` counts the operations of the function.
function split_line(m, text, done)
{
	while (match(text, "(^|[^A-Za-z0-9_])(baton_inline_)?" split_of[m] \
		"_(relaxed|acquire|release|acq_rel|seq_cst)\\(")) {
		operation = substr(text, RSTART, RLENGTH)
		done = done substr(text, 1, RSTART - 1)
		text = substr(text, RSTART + RLENGTH)
		seen++
		if (!number[m] || number[m] == seen) {
			changes++
			sub(/_(relaxed|acquire|release|acq_rel|seq_cst)\($/, "(", operation)
			sub(/baton_inline_/, "", operation)
			match(operation, /[a-z]+\($/)
			operation = substr(operation, 1, RSTART - 1) "split_" \
				substr(operation, RSTART)
		}
		done = done operation
	}
	return done text
}

# Does the mutant fit the file? Else says why not.
function applies(m, f, h, i, times)
{
	seen = changes = 0
	for (i = first[f, scope[m]]; split_of[m] != "" && i && i <= last_of[f, scope[m]]; i++)
		split_line(m, source[f, i])
	if (split_of[m] != "" && changes != 1)
		return scope[m] " does not have this operation once: " split_of[m]
	for (h = 1; h <= hunks[m]; h++) {
		times = 0
		for (i = first[f, scope[m]]; i && i <= last_of[f, scope[m]]; i++)
			times += fits(f, i, m, h)
		if (times != 1)
			return scope[m] " does not have this passage once: " lines[m, h, "-", 1]
	}
	return split_of[m] == "" && !hunks[m] ? "it changes nothing" : ""
}

function write(m, f, i, h, j, done)
{
	seen = 0
	for (i = 1; i <= length_[f]; i++) {
		done = 0
		for (h = 1; h <= hunks[m] && !done; h++)
			if (fits(f, i, m, h)) {
				for (j = 1; j <= count[m, h, "+"]; j++)
					print lines[m, h, "+", j]
				i += count[m, h, "-"] - 1
				done = 1
			}
		if (!done)
			print split_of[m] != "" && place[f, i] == scope[m] ? \
				split_line(m, source[f, i]) : source[f, i]
	}
}

END {
	for (m = 1; m <= mutants; m++) {
		found = 0
		if (name != "" && names[m] != name)
			continue
		for (f = 1; f <= files; f++)
			if (name != "" || file_of[m] == base[f] || file_of[m] == short[f]) {
				found++
				at = f
			}
		why = found == 1 ? applies(m, at) : found " files have the name " file_of[m]
		if (why != "") {
			print "structural.txt: " names[m] ": " why >"/dev/stderr"
			status = 3
		} else if (name != "") {
			write(m, at)
		} else {
			print names[m], path[at], base[at] ":" scope[m], fate[m]
		}
	}
	exit status + 0
}
