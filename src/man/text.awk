# SPDX-License-Identifier: MIT
# Turns the text of comments into mdoc(7): paragraphs, figures, lists, labels, references. Part of
# pages.awk, which has the variables: page, header, is_header, self, own.

function escaped(text)
{
	gsub(/\\/, "\\e", text)
	gsub(/-E/, "\\-E", text)
	while (match(text, /^ *\t/))
		sub(/\t/, "    ", text)
	gsub(/\t/, "    ", text)
	return text
}

function guarded(text)
{
	return text ~ /^[.']/ ? "\\&" text : text
}

# The first sentence, as the line after the name; without a bracket that the sentence leaves open.
function summary(text,	at, copy)
{
	sub(/\n\n.*/, "", text)
	sub(/\n[ \t].*/, "", text)
	gsub(/\n/, " ", text)
	at = match(text, /[.;?]( |$)/)
	if (at)
		text = substr(text, 1, at - 1)
	copy = text
	if (gsub(/\(/, "", copy) > gsub(/\)/, "", copy))
		sub(/ *\([^()]*$/, "", text)
	gsub(/`/, "", text)
	gsub(/\(\)/, "", text)
	if (text !~ /^[A-Z]+[A-Z_]/)
		text = tolower(substr(text, 1, 1)) substr(text, 2)
	return text == "" ? header : escaped(text)
}

# The text before the paragraph that begins with "Corner cases."; `corners`: that paragraph and what
# follows it.
function before_corners(text,	at)
{
	corners = ""
	at = match("\n" text, /\n(\n)?Corner cases[.:]( |\n|$)/)
	if (!at)
		return text
	corners = substr(text, at)
	sub(/^\n*Corner cases[.:][ \n]*/, "", corners)
	text = substr(text, 1, at - 1)
	sub(/\n+$/, "", text)
	return text
}

function write_corners()
{
	if (corners == "")
		return
	put(".Sh CORNER CASES")
	write_text(corners)
	corners = ""
}

# Paragraphs and figures in order; labelled sentences come after them, the errors last.
function write_text(text,	n, lines, k, paragraph, figure)
{
	labels = 0
	errors = errors_seen = ""
	label = ""
	n = split(text, lines, "\n")
	paragraph = figure = ""
	written = 0
	for (k = 1; k <= n; k++) {
		if (lines[k] ~ /^(\t|  )/ || (figure != "" && lines[k] == "" && \
		    lines[k + 1] ~ (figure ~ /^\t/ ? "^\t" : "^  "))) {
			if (paragraph != "")
				write_paragraph(paragraph)
			paragraph = ""
			figure = figure lines[k] "\n"
			continue
		}
		if (figure != "")
			write_figure(figure)
		figure = ""
		if (lines[k] == "") {
			if (paragraph != "")
				write_paragraph(paragraph)
			paragraph = ""
			label = ""
			continue
		}
		paragraph = paragraph (paragraph == "" ? "" : " ") lines[k]
	}
	if (figure != "")
		write_figure(figure)
	if (paragraph != "")
		write_paragraph(paragraph)
	label = ""
	write_labels()
}

# A sentence that begins with a label goes on under that label until the paragraph ends, or another
# label comes.
function write_paragraph(text,	n, sentences, k, first)
{
	first = 1
	n = split(by_sentence(text), sentences, "\n")
	for (k = 1; k <= n; k++) {
		if (match(sentences[k], "^(" LABELS "): ")) {
			label = substr(sentences[k], 1, RLENGTH - 2)
			sentences[k] = substr(sentences[k], RLENGTH + 1)
			label_text[++labels] = ""
			label_name[labels] = label
		} else if (match(sentences[k], "^(" LABELS "):$")) {
			label = substr(sentences[k], 1, RLENGTH - 1)
			label_text[++labels] = ""
			label_name[labels] = label
			continue
		}
		if (label != "") {
			if (label_text[labels] == "" && label ~ /^(Errors|Returns)$/ && \
			    sentences[k] !~ /^(fn|[^ ]*[_(])/)
				sentences[k] = capital(sentences[k])
			label_text[labels] = label_text[labels] marked(sentences[k])
			continue
		}
		if (first && written)
			put(".Pp")
		first = 0
		written = 1
		put_lines(marked(sentences[k]))
	}
}

function by_sentence(text)
{
	gsub(/[.] +/, ".\n", text)
	gsub(/[.][)] +/, ".)\n", text)
	gsub(/[?] +/, "?\n", text)
	return text
}

# A figure is a list if its first line is "  word  text" or "  - text", otherwise it is shown as it
# is.
function write_figure(text,	n, lines, k, shown, row, tag, width)
{
	sub(/\n+$/, "", text)
	n = split(text, lines, "\n")
	if (lines[1] ~ /^ +- / && text !~ /\t/) {
		shown = row = ""
		for (k = 1; k <= n; k++) {
			if (sub(/^ +- /, "", lines[k])) {
				shown = shown (row == "" ? "" : marked(row)) ".It\n"
				row = lines[k]
			} else {
				sub(/^ +/, "", lines[k])
				row = row " " lines[k]
			}
		}
		shown = ".Bl -dash -compact\n" shown marked(row) ".El\n"
	} else if (text ~ / [|] / && text !~ /\t/) {
		shown = table(lines, n)
	} else if (text ~ /\t|[|]/ || lines[1] !~ /^ +[^ ]+( [^ ]+)*  +[^ ]/) {
		shown = ".Bd -literal -offset indent\n"
		for (k = 1; k <= n; k++)
			shown = shown guarded(escaped(lines[k])) "\n"
		shown = shown ".Ed\n"
	} else {
		shown = row = width = ""
		for (k = 1; k <= n; k++) {
			if (match(lines[k], /^ ? ? ? ?[^ ]+( [^ ]+)*  +/)) {
				tag = substr(lines[k], 1, RLENGTH)
				lines[k] = substr(lines[k], RLENGTH + 1)
				gsub(/^ +| +$/, "", tag)
				if (length(tag) > length(width) && length(tag) <= 14)
					width = tag
				if (row != "")
					shown = shown marked(row)
				row = lines[k]
				shown = shown ".It " escaped(tag) "\n"
			} else {
				sub(/^ +/, "", lines[k])
				row = row " " lines[k]
			}
		}
		gsub(/./, "x", width)
		shown = ".Bl -tag -width " (width == "" ? "Ds" : width) " -compact\n" shown \
			marked(row) ".El\n"
	}
	if (keep_examples && text ~ /\t/) {
		examples = examples shown
		return
	}
	if (label != "") {
		label_text[labels] = label_text[labels] shown
		return
	}
	written = 1
	put_lines(shown)
}

# A table, for tbl(1). A line continues the row above if its first cell is empty or indented
# further, or if all its other cells are empty. The columns share the width of a screen.
function table(lines, n,	k, j, m, cells, rows, columns, cell, width, widest, longest, \
	words, sum, shown, indent)
{
	match(lines[1], /^ */)
	indent = RLENGTH
	rows = columns = 0
	for (k = 1; k <= n; k++) {
		m = split(lines[k], cells, / *[|]( |$)/)
		columns = m > columns ? m : columns
		match(lines[k], /^ */)
		sub(/^ +/, "", cells[1])
		sum = ""
		for (j = 2; j <= m; j++)
			sum = sum cells[j]
		gsub(/ /, "", sum)
		if (k == 1 || !(cells[1] == "" && k > 2 || RLENGTH > indent || sum == ""))
			rows++
		for (j = 1; j <= m; j++) {
			gsub(/^ +| +$/, "", cells[j])
			if (cells[j] != "")
				cell[rows, j] = cell[rows, j] (cell[rows, j] == "" ? "" : " ") \
					cells[j]
		}
	}
	sum = 0
	for (j = 1; j <= columns; j++) {
		widest[j] = 4
		for (k = 1; k <= rows; k++)
			if (length(cell[k, j]) > widest[j])
				widest[j] = length(cell[k, j])
		longest[j] = 0
		for (k = 1; k <= rows; k++) {
			m = split(cell[k, j], words, / /)
			while (m)
				longest[j] = longer(longest[j], length(words[m--]))
		}
		sum += widest[j] > 30 ? 30 : widest[j]
	}
	shown = ".Pp\n.TS\n"
	for (j = 1; j <= columns; j++) {
		width = widest[j] > 30 ? 30 : widest[j]
		width = longer(sum > 64 ? int(width * 64 / sum) : width, longest[j])
		shown = shown "lw(" width "n)" (j < columns ? " " : ".\n")
	}
	for (k = 1; k <= rows; k++)
		for (j = 1; j <= columns; j++)
			shown = shown "T{\n" \
				(cell[k, j] == "" ? "\\&" : guarded(styled(cell[k, j]))) \
				(j < columns ? "\nT}\t" : "\nT}\n")
	return shown ".TE\n"
}

function longer(a, b)
{
	return a > b ? a : b
}

function write_labels(	k, any)
{
	any = 0
	for (k = 1; k <= labels; k++) {
		if (label_name[k] == "Errors" || label_name[k] == "Returns")
			continue
		if (!any++) {
			if (written) {
				put_lines(".Pp\n")
				held = 0
			}
			put(".Bl -inset -compact")
		}
		put(".It Sy " label_name[k] " :")
		put_lines(label_text[k])
	}
	if (any)
		put(".El")
	write_labels_of("Returns", "RETURN VALUES")
	write_labels_of("Errors", "ERRORS")
}

function write_labels_of(wanted, heading,	k, any)
{
	any = 0
	for (k = 1; k <= labels; k++)
		if (label_name[k] == wanted) {
			if (!any++) # mandoc knows these sections in the pages of functions alone
				put(self == "" ? ".Ss " capital(tolower(heading)) : ".Sh " heading)
			put_lines(label_text[k])
		}
}

function capital(text)
{
	return toupper(substr(text, 1, 1)) substr(text, 2)
}

# Sentences as lines of mdoc.
function marked(text,	n, sentences, k, result)
{
	result = ""
	n = split(by_sentence(text), sentences, "\n")
	for (k = 1; k <= n; k++)
		result = result marked_sentence(sentences[k])
	return result
}

# Functions and headers are references.
function marked_sentence(text,	n, words, k, result, current, reference)
{
	result = current = ""
	n = split(text, words, " ")
	for (k = 1; k <= n; k++) {
		reference = reference_to(words[k])
		if (reference == "") {
			current = current (current == "" ? "" : " ") styled(words[k])
			continue
		}
		if (current != "")
			result = result guarded(current) "\n"
		current = ""
		result = result reference "\n"
	}
	if (current != "")
		result = result guarded(current) "\n"
	return result
}

function styled(word)
{
	word = escaped(word)
	while (match(word, /`[^`]+`/))
		word = substr(word, 1, RSTART - 1) "\\fB" substr(word, RSTART + 1, RLENGTH - 2) \
			"\\fP" substr(word, RSTART + RLENGTH)
	return word
}

function reference_to(word,	before, after, core)
{
	before = after = ""
	core = word
	if (core ~ /^\(/) {
		before = "("
		core = substr(core, 2)
	}
	if (match(core, /[.,:;?)]+$/) && core !~ /\(\)$/) {
		after = substr(core, RSTART)
		core = substr(core, 1, RSTART - 1)
		if (after ~ /^\)/ && core ~ /\($/) {
			core = core ")"
			after = substr(after, 2)
		}
	}
	if (core ~ /^baton_[a-z_0-9]+\(\)$/) {
		sub(/\(\)/, "", core)
		core = (core in own) ? "Fn " core : "Xr " core " 3"
	} else if (core ~ /^(baton\/)?[a-z_]+[.]h$/) {
		sub(/^baton\//, "", core)
		sub(/[.]h$/, "", core)
		if (!(core in is_header) || core == header && self == "")
			return ""
		core = "Xr baton\\-" core " 7"
	} else {
		return ""
	}
	gsub(/./, " &", after)
	if (before != "")
		return ".No \\&( Ns " core (after == "" ? "" : after)
	return "." core after
}

# A paragraph's macro is held back until something comes that a paragraph may begin with.
function put(text)
{
	if (text == ".Pp") {
		held = !after_head
		return
	}
	put_lines(text "\n")
	after_head = text ~ /^[.]S[hs] /
}

function put_lines(text)
{
	if (held && text !~ /^[.](Sh|Bl|Bd|Pp)/)
		print ".Pp" >page
	held = after_head = 0
	printf "%s", text >page
}
