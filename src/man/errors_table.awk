# SPDX-License-Identifier: MIT
# The table of baton-errors(7): each error of each call.
#
#	awk -f errors_table.awk src/base/error.c test/faults/contract_rows.inc NAMED
#	awk -v check=1 -f errors_table.awk ...		complains where they differ
#
# Which errors a call returns, contract_rows.inc says: test/faults sees that it returns no other. Of
# calls that are not in there (libbaton-redis), the header says it. When a call returns one, its
# header says (NAMED: what errors.awk has printed), or the header of a call that this one is said to
# be as.

BEGIN {
	FS = "|"
	always["-ENOMEM"] = always["-ECHILD"] = 1 # of every call, see thread.h
}

FNR == 1 { part++ }

# ---- error.c ----
part == 1 && match($0, /^\t\[E[A-Z]+\] = "/) {
	error = "-" substr($0, 3, index($0, "]") - 3)
	meaning[error] = substr($0, RLENGTH + 1)
	sub(/",.*/, "", meaning[error])
	listed[++meanings] = error
}

# ---- contract_rows.inc ----
part == 2 && /^#define [A-Z_]+ [A-Z]/ {
	split($0, words, / /)
	expansion[words[2]] = $0
	sub(/^#define [A-Z_]+ /, "", expansion[words[2]])
}

part == 2 && match($0, /^\t\{"baton_[a-z_0-9]+",/) {
	at = RLENGTH
	row = call = $0
	while (row !~ /\}/ && (getline more) > 0)
		row = row more
	sub(/^\t\{"/, "", call)
	sub(/".*/, "", call)
	rest = substr(row, at + 1)
	gsub(/[ \t]+/, " ", rest)
	sub(/^ \{/, "", rest)
	sub(/\}.*/, "", rest)
	in_contract[call] = 1
	add_words(call, rest)
}

function add_words(call, text,	n, words, k)
{
	n = split(text, words, /, */)
	for (k = 1; k <= n; k++)
		if (words[k] in expansion)
			add_words(call, expansion[words[k]])
		else if (words[k] ~ /^E/)
			add_error(call, "-" words[k])
}

function add_error(call, error)
{
	if ((call, error) in has)
		return
	has[call, error] = 1
	errors[call] = errors[call] " " error
}

# ---- What the headers name ----
part == 3 && NF == 3 {
	calls++
	header_of[calls] = $1
	first_of[calls] = $2
	call_at[calls] = $3
	next
}

part == 3 && $4 == "" {
	others[$3] = others[$3] " " $5
	next
}

part == 3 {
	names[$3, $4] = 1
	if (!(($3, $4) in when) && $5 !~ /^(as|see) /)
		when[$3, $4] = $5
	if (!($3 in in_contract))
		add_error($3, $4)
	first[$3] = $2
	if (($3, $4) in has)
		returned[$2, $4] = 1
	else if (!(($2, $4) in always_said))
		always_said[$2, $4] = FNR
}

END {
	if (check)
		exit compare()
	print_meanings()
	print_table()
}

# What the call, or one that it is as, says of the error: the text; "-": that there is such an
# error; "": nothing.
function found_when(call, error, depth,	n, parts, k, text)
{
	if (when[call, error] != "")
		return when[call, error]
	if (depth < 4) {
		n = split(others[call], parts, / /)
		for (k = 1; k <= n; k++)
			if (parts[k] != "" && parts[k] != call) {
				text = found_when(parts[k], error, depth + 1)
				if (text != "" && text != "-")
					return text
				if (text == "-")
					names[call, error] = 1
			}
	}
	return (call, error) in names ? "-" : ""
}

# Is what a header says of an error a sentence of that error alone?
function is_cut(text)
{
	return text ~ /-E[A-Z]|[.] |^[(,;:]|[,;:]$/ || text == ""
}

function compare(	k, n, parts, j, bad, place)
{
	for (place in when) {
		split(place, parts, SUBSEP)
		if ((place in has) && when[place] != "" && is_cut(when[place])) {
			print parts[1] ": of " parts[2] " its header says: " when[place]
			bad = 1
		}
	}
	for (k = 1; k <= calls; k++) {
		n = split(errors[call_at[k]], parts, / /)
		for (j = 1; j <= n; j++)
			if (parts[j] != "" && !(parts[j] in always) && \
			    found_when(call_at[k], parts[j], 0) == "") {
				print call_at[k] " may return " parts[j] \
					" (test/faults/contract_rows.inc), which baton/" \
					header_of[k] ".h does not say"
				bad = 1
			}
	}
	for (place in always_said) {
		split(place, parts, SUBSEP)
		if (!(place in returned) && !(parts[2] in always)) {
			print parts[1] ": its header names " parts[2] ", and " \
				"test/faults/contract_rows.inc does not"
			bad = 1
		}
	}
	return bad
}

function quoted(text)
{
	gsub(/\\/, "\\e", text)
	gsub(/-E/, "\\-E", text)
	gsub(/`/, "", text)
	gsub(/[.] /, ".\n", text)
	return text ~ /^[.']/ ? "\\&" text : text
}

function print_meanings(	k)
{
	print ".Bl -tag -width ENOTRECOVERABLE -compact"
	for (k = 1; k <= meanings; k++)
		print ".It Er " quoted(listed[k]) "\n" quoted(meaning[listed[k]])
	print ".El"
}

function print_table(	k, j, n, parts, header, text, both)
{
	print ".Sh CALLS"
	for (k = 1; k <= calls; k++) {
		if (errors[call_at[k]] == "")
			continue
		if (header_of[k] != header) {
			if (header != "")
				print ".El"
			header = header_of[k]
			print ".Ss baton/" header ".h\n.Bl -tag -width Ds"
		}
		print ".It Xr " call_at[k] " 3"
		if (last_errors == first_of[k] errors[call_at[k]]) {
			print "The same."
			continue
		}
		last_errors = first_of[k] errors[call_at[k]]
		n = split(errors[call_at[k]], parts, / /)
		both = (call_at[k], "-ENOMEM") in has && (call_at[k], "-ECHILD") in has
		print ".Bl -tag -width ENOTRECOVERABLE -compact"
		for (j = 1; j <= n; j++) {
			if (parts[j] == "" || both && parts[j] == "-ECHILD")
				continue
			text = both && parts[j] == "-ENOMEM" ? "" : \
				found_when(call_at[k], parts[j], 0)
			if (text == "" || text == "-")
				text = parts[j] in always ? "see baton/thread.h" : \
					meaning[parts[j]]
			if (text ~ /^[a-z_]+[.]h$/)
				text = "see baton/" text
			print ".It Er " quoted(parts[j]) (both && parts[j] == "-ENOMEM" ? \
				" , \\-ECHILD" : "") "\n" quoted(text)
		}
		print ".El"
	}
	print ".El"
}
