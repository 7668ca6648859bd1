# SPDX-License-Identifier: MIT
# The errors that a header names, for errors_table.awk: "header|first|call|-EX|when" for each error
# of each call, where `first` is the first call of the same comment, and "header|first|call||other"
# for each call whose comment says of it: as another. Part of pages.awk, given `errors_only`.
#
# An error stands in a list below "Errors:" or "Returns:", or in their sentences: "-EX: when".

function list_errors(i,	k, text, n, lines, at, part, inside)
{
	if (!functions[i])
		return
	text = before_corners(docs[i])
	part = ""
	n = split(text, lines, "\n")
	for (k = 1; k <= n; k++) {
		if (match(lines[k], /(Errors|Returns):( |$)/)) {
			inside = 1
			part = part " " substr(lines[k], RSTART + RLENGTH)
		} else if (lines[k] == "" || lines[k] ~ /^[A-Z][a-z]+( [a-z]+)?: /) {
			inside = inside && lines[k] == "" && lines[k + 1] ~ /^ /
		} else if (inside) {
			part = part (lines[k] ~ /^ +-E/ ? "\n" : " ") lines[k]
		}
	}
	gsub(/(except|without) -E[A-Z]+/, "", part)
	for (k = 1; k <= functions[i]; k++)
		print header "|" name[i, 1] "|" name[i, k]
	name_errors(i, part)
	name_others(i, text)
}

# Cuts where a new error begins: at a list's row, after a full stop, a semicolon, or the bracket
# that says when: "-EX (when), -EY (when)". An error's text is one sentence.
function name_errors(i, text,	n, parts, k, named, when, rest)
{
	gsub(/[ \t]+/, " ", text)
	gsub(/([.;:]|\),?|[.]\)) -E/, "&\n-E", text)
	gsub(/-E\n/, "\n", text)
	n = split(text, parts, "\n")
	for (k = 1; k <= n; k++) {
		when = parts[k]
		if (when !~ /-E[A-Z]/)
			continue
		named = ""
		if (match(when, /^ ?-E[A-Z]+(,? (and|or)? ?-E[A-Z]+)*/)) {
			named = substr(when, RSTART, RLENGTH)
			when = substr(when, RSTART + RLENGTH)
			sub(/^[:;,]? /, "", when)
		}
		sub(/[.;:]? ?$/, "", when)
		rest = when
		sub(/[.] .*/, "", when)
		if (when ~ /^\([^()]*\),?$/)
			when = substr(when, 2, index(when, ")") - 2)
		name_each(i, named, when)
		name_each(i, rest, "") # what a sentence names in passing
	}
}

function say(i, k, what)
{
	print header "|" name[i, 1] "|" name[i, k] "|" what
}

function name_each(i, named, when,	k)
{
	while (match(named, /-E[A-Z][A-Z]+/)) {
		for (k = 1; k <= functions[i]; k++)
			if (proto[i, k] ~ /^int/)
				say(i, k, substr(named, RSTART, RLENGTH) "|" when)
		named = substr(named, RSTART + RLENGTH)
	}
}

# "As baton_x()", and "as x" for a function of this header whose name ends in x.
function name_others(i, text,	k, other)
{
	gsub(/\n/, " ", text)
	while (match(text, /([Aa]s|of|in|by) (for )?(baton_)?[a-z_0-9]+(\(\))?/)) {
		other = other_name(substr(text, RSTART, RLENGTH))
		text = substr(text, RSTART + RLENGTH)
		for (k = 1; other != "" && k <= functions[i]; k++)
			say(i, k, "|" other)
	}
}

function other_name(text,	is_as, i, k)
{
	is_as = text ~ /^[Aa]s /
	sub(/.* /, "", text)
	sub(/\(\)/, "", text)
	if (text ~ /^baton_/)
		return text
	for (i = 1; i <= items && is_as; i++)
		for (k = 1; k <= functions[i]; k++)
			if (name[i, k] ~ ("_" text "$"))
				return name[i, k]
	return ""
}
