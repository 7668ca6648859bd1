# SPDX-License-Identifier: MIT
# Do the models speak of the sources as they are?
#
#	awk -f src.awk test/models/*.pml test/models/out.txt src/FOLDER/FILE...
#
# A model names what a step stands for, as does out.txt what no model has:
#
#	@src FILE:FUNCTION TEXT          in a comment; TEXT is in that function, white space aside
#	@src FILE:FUNCTION TEXT (xN)     ... N times, where TEXT is an operation that changes memory
#	@out FILE:FUNCTION TEXT -- WHY   on one line
#	@out FILE:FUNCTION * -- WHY      no operation of that function
#
# And every operation of atomic.h that changes memory, in the files given, is named so: once, by a
# TEXT with which the operation begins.

BEGIN {
	OPERATION = "(baton_inline_)?(cas|swap|add|sub|or|store)_" \
		"(relaxed|acquire|release|acq_rel|seq_cst)[(]"
}

function squeeze(text)
{
	gsub(/[ \t\n]+/, " ", text)
	gsub(/^ | $/, "", text)
	return text
}

function complain(where, what)
{
	printf "%s: %s\n", where, what
	bad++
}

# One @src or @out. A text may be named in several places.
function entry(where, text, kind,    key, times, parts)
{
	text = squeeze(text)
	kind = substr(text, 1, 4)
	text = substr(text, 6)
	if (kind == "@out") {
		if (!sub(/ -- .+$/, "", text))
			complain(where, "@out " text ": why? \" -- WHY\" is missing")
	}
	times = 1
	if (match(text, / \(x[0-9]+\)$/)) {
		times = substr(text, RSTART + 3) + 0
		text = substr(text, 1, RSTART - 1)
	}
	if (!match(text, /^[a-z_]+\.[ch]:[a-z_0-9]+ ./)) {
		complain(where, kind " " text ": is not FILE:FUNCTION TEXT")
		return
	}
	key = substr(text, 1, index(text, " ") - 1)
	text = substr(text, index(text, " ") + 1)
	if ((key, text) in times_of)
		return
	n++
	times_of[key, text] = times
	key_of[n] = key
	text_of[n] = text
	where_of[n] = where
	out_of[n] = kind == "@out"
	split(key, parts, ":")
	if (!((parts[1]) in wanted))
		wanted[parts[1]] = 1
}

FILENAME !~ /\.[ch]$/ {
	rest = $0
	# An entry ends with its comment, with its line, or goes on below as ` * TEXT`.
	if (open != "") {
		if (rest ~ /^[ \t]*\* / && rest !~ /@(src|out) /) {
			sub(/^[ \t]*\* /, "", rest)
			closed = sub(/ \*\/.*/, "", rest)
			open = open " " rest
			if (!closed)
				next
			rest = ""
		}
		entry(open_where, open)
		open = ""
	}
	if (FILENAME ~ /\.awk$/ || rest ~ /@src (FILE|file)/)
		next
	if (match(rest, /@(src|out) /)) {
		rest = substr(rest, RSTART)
		open = rest
		open_where = FILENAME ":" FNR
		if (sub(/ \*\/.*/, "", open) || rest ~ /^@out/) {
			entry(open_where, open)
			open = ""
		}
	}
	next
}

FNR == 1 {
	file = FILENAME
	sub(/.*\//, "", file)
	known[file] = 1
	name = ""
	head = ""
}

# A function: from a line at the margin that names it to the brace at the margin.
/^[a-zA-Z].*\(/ && name == "" {
	head = $0
	sub(/__attribute__.*/, "", head)
	if (match(head, /[a-zA-Z_0-9]+\(/))
		candidate = substr(head, RSTART, RLENGTH - 1)
}

/^[^ \t].*;$/ && name == "" { candidate = "" }

/^\{/ && name == "" && candidate != "" {
	name = candidate
	candidate = ""
	next
}

/^\}/ {
	if (name != "")
		body[file ":" name] = squeeze(body[file ":" name])
	name = ""
	next
}

name != "" { body[file ":" name] = body[file ":" name] "\n" $0 }

# The operations of a function that change memory: each with its text, up to its last parenthesis.
function operations(key,    rest, depth, i, c, text)
{
	rest = body[key]
	# Comments may speak of them.
	while (match(rest, /\/\*([^*]|\*+[^*\/])*\*+\//))
		rest = substr(rest, 1, RSTART - 1) substr(rest, RSTART + RLENGTH)
	code[key] = squeeze(rest)
	while (match(rest, "(^|[^a-z_A-Z0-9])" OPERATION)) {
		rest = substr(rest, RSTART)
		sub(/^[^a-z]/, "", rest)
		depth = 0
		for (i = 1; i <= length(rest); i++) {
			c = substr(rest, i, 1)
			if (c == "(")
				depth++
			if (c == ")" && --depth == 0)
				break
		}
		text = squeeze(substr(rest, 1, i))
		ops++
		op_key[ops] = key
		op_text[ops] = text
		rest = substr(rest, 5)
	}
}

function is_operation(text)
{
	return text ~ "^" OPERATION
}

END {
	for (key in body)
		operations(key)
	for (i = 1; i <= n; i++) {
		split(key_of[i], parts, ":")
		if (!(parts[1] in known))
			complain(where_of[i], "no file " parts[1])
		else if (!(key_of[i] in body))
			complain(where_of[i], "no function " key_of[i])
		else if (text_of[i] != "*" && !index(code[key_of[i]], text_of[i]))
			complain(where_of[i], key_of[i] " has no `" text_of[i] \
				"`: is the model still right?")
	}
	for (j = 1; j <= ops; j++) {
		split(op_key[j], parts, ":")
		found = 0
		for (i = 1; i <= n; i++) {
			if (key_of[i] != op_key[j])
				continue
			if (text_of[i] == "*")
				found++
			else if (index(op_text[j], text_of[i]) == 1) {
				found++
				used[i]++
			}
		}
		if (!found)
			complain(parts[1], parts[2] "() does `" op_text[j] \
				"`, which no model has: add the step there, or a line to out.txt")
	}
	for (i = 1; i <= n; i++)
		if (is_operation(text_of[i]) && used[i] > times_of[key_of[i], text_of[i]])
			complain(where_of[i], key_of[i] " has `" text_of[i] "` " used[i] \
				" times: does the model have all of them?")
	named = 0
	for (i = 1; i <= n; i++)
		named += !out_of[i]
	printf "%d operations in the sources, %d steps named, %d left out\n", ops, named, n - named
	exit bad > 0
}
