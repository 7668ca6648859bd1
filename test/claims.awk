# SPDX-License-Identifier: MIT
# Compares the claims of the public headers with test/claims.txt. The first file names the tests,
# one on each line; the second is claims.txt; the others are headers.
#
# A claim is a sentence of a comment with a number, or with one of the words below. No claim is
# made by a piece of code, a table, what a "Source:" says, and the comment of a member that is
# baton's own.

BEGIN {
	word = "(^|[^a-z_])(never|at most|exactly|every)([^a-z_]|$)"
	number = "(^|[^a-z_0-9/-])[0-9][0-9,.]*([^a-z_0-9]|$)"
	cost = "(^|[^a-z_])(one|two|three|four)( more)? atomic"
}

function complain(place, what)
{
	if (missing == "")
		print place ": " what
	bad = 1
}

# As they are compared: in small letters, white space squeezed, without quotes.
function plain(text)
{
	gsub(/`/, "", text)
	gsub(/[ \t]+/, " ", text)
	sub(/^ /, "", text)
	sub(/ $/, "", text)
	return tolower(text)
}

FNR == 1 {
	part++
	header = FILENAME
	sub(/.*\//, "", header)
	section = ""
	in_comment = 0
	text = ""
}

# ---- The tests ----
part == 1 {
	exists[plain($0)] = 1
	next
}

# ---- claims.txt ----
part == 2 && /^(#|[ \t]*$)/ {
	next
}

part == 2 && /^\[.*\]$/ {
	section = substr($0, 2, length($0) - 2)
	sections[section] = FNR
	next
}

part == 2 {
	at = index($0, " | ")
	if (!at || section == "") {
		complain(FILENAME ":" FNR, "no \"words | test\" in a [header]: write it so")
		next
	}
	entries++
	line_of[entries] = FNR
	header_of[entries] = section
	words_of[entries] = plain(substr($0, 1, at - 1))
	test = plain(substr($0, at + 3))
	if (test !~ /^none: ./ && !(test in exists))
		complain(FILENAME ":" FNR, "there is no test \"" substr($0, at + 3) "\". Mend: " \
		         "name one that would fail if the sentence were not so; " \
		         "claims.txt says at its top how")
	next
}

# ---- The headers ----
# Do the words stand in the sentence, in their order? " ... " stands for whatever is between.
function stands_in(words, sentence, count, piece, i, at)
{
	count = split(words, piece, / ?\.\.\. ?/)
	for (i = 1; i <= count; i++) {
		at = index(sentence, piece[i])
		if (!at)
			return 0
		sentence = substr(sentence, at + length(piece[i]))
	}
	return 1
}

function check(sentence, low, i, found)
{
	low = plain(sentence)
	if (low !~ word && low !~ number && low !~ cost)
		return
	for (i = 1; i <= entries; i++)
		if ((header_of[i] == header || header_of[i] == "*") && stands_in(words_of[i], low))
			found = used[i] = 1
	if (found)
		return
	if (missing != "")
		print header ": " sentence
	complain(FILENAME, "a claim (a number, never, at most, exactly, every) names no test: \"" \
	         sentence "\". Mend: in test/claims.txt, section [" header "], write a line of " \
	         "words from this sentence, \" | \", and the test that would fail if it were not " \
	         "so; or, if the sentence was only reworded, change the words of its line there")
}

function end_paragraph(sentence)
{
	sub(/^[ \t]+/, "", text)
	if (text ~ /^Source:/)
		text = ""
	while (text != "") {
		if (match(text, /[.!?]\)*( +|$)/)) {
			sentence = substr(text, 1, RSTART + RLENGTH - 1)
			text = substr(text, RSTART + RLENGTH)
		} else {
			sentence = text
			text = ""
		}
		gsub(/[ \t]+/, " ", sentence)
		sub(/ $/, "", sentence)
		check(sentence)
	}
}

{
	line = $0
	while (line != "") {
		if (!in_comment) {
			at = index(line, "/*")
			if (!at)
				break
			own = substr(line, 1, at - 1) ~ /[ *]_[a-z_]+;[ \t]*$/
			line = substr(line, at + 2)
			in_comment = 1
		}
		at = index(line, "*/")
		body = at ? substr(line, 1, at - 1) : line
		line = at ? substr(line, at + 2) : ""
		if (own || body ~ /^[ \t]*\*\t/ || body ~ / \| /)
			body = ""
		sub(/^[ \t]*\*( |$)/, "", body)
		# What a paragraph says of sources is the last it says.
		if (body ~ /^[ \t]*$/ || body ~ /^Source:/)
			end_paragraph()
		text = text " " body
		if (at) {
			in_comment = 0
			end_paragraph()
		}
	}
}

END {
	for (i = 1; i <= entries; i++)
		if (!used[i])
			complain("test/claims.txt:" line_of[i], "no claim in " header_of[i] \
			         " has the words \"" words_of[i] "\". Mend: take the words " \
			         "from the sentence as it is now, or, if the promise is gone, " \
			         "delete the line")
	exit bad && missing == ""
}
