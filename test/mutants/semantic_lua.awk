# SPDX-License-Identifier: MIT
# As semantic.awk, for the functions that run on the Redis server.
#
#	awk -f semantic_lua.awk FILE...              "NAME FILE FUNCTION LINE", tab, TEXT
#	awk -v name=NAME -f semantic_lua.awk FILE    the file, mutated

BEGIN {
	change["<"] = "<="
	change["<="] = "<"
	change[">"] = ">="
	change[">="] = ">"
	change["=="] = "~="
	change["~="] = "=="
	change["and"] = "or"
	change["or"] = "and"
	change["+"] = "-"
	change["-"] = "+"
	sort_of["<"] = sort_of["<="] = sort_of[">"] = sort_of[">="] = "boundary"
	sort_of["=="] = sort_of["~="] = "equality"
	sort_of["and"] = sort_of["or"] = "logic"
	sort_of["+"] = sort_of["-"] = "sum"
	tokens = "[A-Za-z_][A-Za-z0-9_.]*|[0-9]+|<=|>=|==|~=|[.][.]|[-<>+]"
}

FNR == 1 {
	file = FILENAME
	sub(/.*\//, "", file)
	where = "top"
}

/^(local )?function / {
	where = $0
	sub(/^(local )?function /, "", where)
	sub(/\(.*/, "", where)
	sub(/.*[.]/, "", where)
}

/^end/ {
	where = "top"
}

function text_of(line)
{
	gsub(/[ \t]+/, " ", line)
	gsub(/^ | $/, "", line)
	return line
}

# One fault: lists it, or, if it is wanted, makes it.
function fault(sort, before, after, instead, this)
{
	this = file ":" where ":" sort ":" ++count[file, where, sort]
	if (name == "")
		print this, FILENAME, where, FNR "\t" text_of($0)
	else if (this == name)
		written = before instead after
}

# The line with comments and strings made unrecognisable, of the same length.
function code_of(line, code, text, at, end)
{
	code = ""
	while (match(line, /--|'([^'\\]|\\.)*'/)) {
		end = substr(line, RSTART, 2) == "--" ? length(line) : RSTART + RLENGTH - 1
		code = code substr(line, 1, RSTART - 1)
		text = substr(line, RSTART, end - RSTART + 1)
		gsub(/./, "\001", text)
		code = code text
		line = substr(line, end + 1)
	}
	return code line
}

{
	written = $0
	code = code_of($0)
	if (code ~ /[^ \t\001]/)
		faults($0, code)
	if (name != "")
		print written
}

function faults(line, code, rest, at, token, before, next_)
{
	# ---- Whole statements ----
	if (code ~ /^\t+[A-Za-z_][A-Za-z0-9_.:]*(\[[^=]*\])?( = .*|\(.*\))[ \t\001]*$/ &&
	    gsub(/[({]/, "&", code) == gsub(/[)}]/, "&", code)) {
		match(line, /^\t+/)
		fault("deleted", substr(line, 1, RLENGTH), "", "do end")
	}
	# ---- Conditions ----
	if (match(code, /^\t+(else)?if .* then$/)) {
		match(line, /if /)
		before = substr(line, 1, RSTART + RLENGTH - 1)
		next_ = substr(line, RSTART + RLENGTH)
		sub(/ then$/, ") then", next_)
		fault("negated", before, next_, "not (")
		fault("never", before, next_, "false and (")
		fault("always", before, next_, "true or (")
	}
	# ---- Tokens ----
	rest = code
	at = 1
	while (match(rest, tokens)) {
		token = substr(rest, RSTART, RLENGTH)
		before = substr(line, 1, at + RSTART - 2)
		next_ = substr(line, at + RSTART - 1 + RLENGTH)
		if (token ~ /^[0-9]/)
			fault("constant", before, next_, token + 1)
		else if (token in change && (token !~ /^[-+<>]$/ || next_ ~ /^ /))
			fault(sort_of[token], before, next_, change[token])
		at += RSTART - 1 + RLENGTH
		rest = substr(rest, RSTART + RLENGTH)
	}
}
