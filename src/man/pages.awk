# SPDX-License-Identifier: MIT
# Makes manual pages out of a public header: baton-NAME(7) out of the header's first comment, and a
# page of section 3 out of each comment that stands before functions or types. The pages are in
# mdoc(7).
#
#	awk -v out=DIR -v date='November 22, 2026' -v version=0.3.0 -v headers='future task ...' \
#		-v library=baton \
#		-f pages.awk -f header.awk -f types.awk -f text.awk -f errors.awk \
#		include/baton/future.h
#	awk -v list=1 -f pages.awk ... include/baton/*.h	prints the pages' names
#	awk -v errors_only=1 -f pages.awk ... include/baton/*.h		see errors.awk
#
# A section whose heading says "not for programs" has no pages.
#
# What the comments must look like is what STYLE asks of them: a comment stands directly before its
# declarations; a blank line ends them; what is indented by a tab, or has a |, is a figure; "  -EX
# text" is a row of a list; a label (LABELS) stands at the beginning of a sentence. "Corner cases."
# begins the last paragraphs of a comment, which are a section of their own at the page's end.

BEGIN {
	LABELS = "Thread safety|Blocking|Ownership|Ordering|Progress|Cost|Source|Lifetime|" \
		"Returns|Errors"
	count = split(headers, names, " ")
	for (i = 1; i <= count; i++)
		is_header[names[i]] = 1
}

FNR == 1 {
	if (NR > 1)
		finish()
	start(FILENAME)
}

{ line($0) }

END { finish() }

function finish(	i)
{
	end_item()
	for (i = 1; i <= items; i++)
		find_names(i)
	share_pages()
	if (list) {
		print "7/baton-" header ".7"
		for (i = 1; i <= items; i++)
			list_pages(i)
		return
	}
	if (errors_only) {
		for (i = 1; i <= items; i++)
			list_errors(i)
		return
	}
	for (i = 1; i <= items; i++)
		if (functions[i])
			write_function_page(i)
		else if (has_type_page(i))
			write_type_page(i)
	write_header_page()
	for (i = 1; i <= items; i++)
		delete functions[i]
}

function list_pages(i,	k)
{
	if (has_type_page(i))
		for (k = 1; k <= types[i]; k++)
			print "3/" type_name(type[i, k]) ".3"
	for (k = 1; k <= macros[i]; k++)
		print "3/" macro_name(i, k) ".3"
	if (!functions[i])
		return
	for (k = 1; k <= functions[i]; k++)
		print "3/" name[i, k] ".3"
	for (k = 1; k <= types[i]; k++)
		if (is_linked(i, k))
			print "3/" type_name(type[i, k]) ".3"
}

# ---- Writing pages ----

function begin_page(file, page_name, section)
{
	page = out "/man" section "/" file "." section
	held = after_head = 0
	put("'\\\" t")
	put(".\\\" Made from include/baton/" header ".h; edit that file.")
	put(".Dd " date)
	put(".Dt " toupper(page_name) " " section)
	put(".Os baton " version)
}

function write_function_page(i,	k, first, named, saved)
{
	first = name[i, 1]
	begin_page(first, first, 3)
	self = first
	delete own
	for (k = 1; k <= functions[i]; k++)
		own[name[i, k]] = 1
	put(".Sh NAME")
	named = name[i, 1]
	for (k = 2; k <= functions[i]; k++)
		named = named " ,\n.Nm " name[i, k]
	for (k = 1; k <= macros[i]; k++)
		named = named " ,\n.Nm " macro_name(i, k)
	for (k = 1; k <= types[i]; k++)
		if (is_linked(i, k))
			named = named " ,\n.Nm " type_name(type[i, k])
	put(".Nm " named)
	put(".Nd " summary(docs[i]))
	put(".Sh LIBRARY")
	put(library " (lib" library ", \\-l" library ")")
	put(".Sh SYNOPSIS")
	put(".In baton/" header ".h")
	for (k = 1; k <= functions[i]; k++)
		write_prototype(proto[i, k], name[i, k])
	for (k = 1; k <= macros[i]; k++)
		write_macro(i, k)
	for (k = 1; k <= types[i]; k++)
		write_literal(without_comments(public_part(type[i, k])))
	put(".Sh DESCRIPTION")
	say_experimental()
	write_text(with_threads(before_corners(docs[i]), functions[i]))
	# A function that returns an int says which errors (check-man).
	if (functions[i] && docs[i] !~ /(Errors|Returns):/ && proto[i, 1] !~ /^int /) {
		put(".Sh ERRORS")
		put("None.")
	}
	saved = corners
	for (k = 1; k <= types[i]; k++)
		write_members(type[i, k], types[i] > 1)
	corners = saved
	write_corners()
	see_also()
	close(page)
	for (k = 2; k <= functions[i]; k++)
		write_link(name[i, k], "man3/" first ".3")
	for (k = 1; k <= macros[i]; k++)
		write_link(macro_name(i, k), "man3/" first ".3")
	for (k = 1; k <= types[i]; k++)
		if (is_linked(i, k))
			write_link(type_name(type[i, k]), "man3/" first ".3")
}

function say_experimental()
{
	if (title ~ /\nExperimental: /)
		put("Experimental, see\n.Xr baton\\-" header " 7 .\n.Pp")
}

function see_also()
{
	put(".Sh SEE ALSO")
	put(".Xr baton 7 ,")
	put(".Xr baton\\-" header " 7")
}

# Where the header says for all its functions, or for those of a type, which threads may call them,
# the page of each function leads there.
function with_threads(text, is_function,	k)
{
	if (!is_function || text ~ /Thread safety:/)
		return text
	for (k = 0; k <= items; k++)
		if (k ? !functions[k] && docs[k] ~ /Thread safety:/ : \
		    title ~ /Thread safety:|may run beside|[|] +from/)
			return text "\n\nThread safety: as " header ".h says of its functions."
	return text
}

function write_link(from, to,	file)
{
	file = out "/man3/" from ".3"
	print ".so " to >file
	close(file)
}

function write_prototype(text, function_name,	at, result, arguments, k, nested, one, c)
{
	at = index(text, function_name "(")
	result = substr(text, 1, at - 1)
	sub(/ +$/, "", result)
	arguments = substr(text, at + length(function_name) + 1)
	arguments = substr(arguments, 1, length(arguments) - 1)
	if (result != "")
		put(".Ft \"" result "\"")
	put(".Fo " function_name)
	nested = 0
	one = ""
	for (k = 1; k <= length(arguments); k++) {
		c = substr(arguments, k, 1)
		nested += (c == "(") - (c == ")")
		if (c == "," && !nested) {
			put(".Fa \"" one "\"")
			one = ""
			if (substr(arguments, k + 1, 1) == " ")
				k++
		} else {
			one = one c
		}
	}
	put(".Fa \"" one "\"")
	put(".Fc")
}

function write_macro(i, which,	text, at, parameters, n, parts, k)
{
	text = macro[i, which]
	at = index(text, "(")
	if (!at) {
		put(".Fd #define " defined(i, which))
		return
	}
	parameters = substr(text, at + 1, length(text) - at - 1)
	n = split(parameters, parts, /, */)
	put(".Fo " substr(text, 1, at - 1))
	for (k = 1; k <= n; k++)
		put(".Fa " parts[k])
	put(".Fc")
}

function defined(i, k)
{
	return macro[i, k] (macro_value[i, k] == "" ? "" : " " escaped(macro_value[i, k]))
}

# The constants of the header that are on no other page, each with its value and what it is.
function write_constants(	i, k, any)
{
	for (i = 1; i <= items; i++) {
		if (functions[i] || has_type_page(i) || !macros[i])
			continue
		if (!any++) {
			put(".Sh CONSTANTS")
			put(".Bl -tag -width Ds")
		}
		for (k = 1; k <= macros[i]; k++) {
			put(".It Sy \"" defined(i, k) "\"")
			write_link(macro_name(i, k), "man7/baton-" header ".7")
		}
		member_text(docs[i])
	}
	if (any)
		put(".El")
}

# The code in the header's first comment goes to the page's end, so that its text is on one screen.
function write_header_page(	i, k, any, saved)
{
	begin_page("baton-" header, "baton-" header, 7)
	self = ""
	delete own
	put(".Sh NAME")
	put(".Nm baton\\-" header)
	put(".Nd " summary(title))
	put(".Sh SYNOPSIS")
	put(".In baton/" header ".h")
	put(".Sh DESCRIPTION")
	examples = ""
	keep_examples = 1
	write_text(before_corners(title))
	keep_examples = 0
	saved = corners
	write_constants()
	any = 0
	for (i = 1; i <= items; i++)
		for (k = 1; has_type_page(i) && k <= types[i]; k++) {
			if (!any++)
				begin_references("TYPES")
			put(".It Xr " type_name(type[i, k]) " 3")
			put(k == 1 ? summary(docs[i]) : "see " type_name(type[i, 1]))
		}
	if (any)
		put(".El")
	any = 0
	for (i = 1; i <= items; i++)
		for (k = 1; k <= functions[i]; k++) {
			if (!any++)
				begin_references("FUNCTIONS")
			put(".It Xr " name[i, k] " 3")
			put(k == 1 ? summary(docs[i]) : "see " name[i, 1])
		}
	if (any)
		put(".El")
	if (examples != "") {
		put(".Sh EXAMPLES")
		put_lines(examples)
	}
	corners = saved
	write_corners()
	put(".Sh SEE ALSO")
	put(".Xr baton 7")
	close(page)
}

function begin_references(heading)
{
	put(".Sh " heading)
	put(".Bl -tag -width baton_future_wait_all -compact")
}

# A type without its private members.
function public_part(text,	n, lines, k, shown, hidden)
{
	n = split(text, lines, "\n")
	shown = ""
	for (k = 1; k <= n; k++) {
		if (lines[k] ~ /^\t+[^\/;]*[ *(]_[a-z][a-z_0-9]*(\[[^]]*\])*[);]/) {
			hidden = 1
			continue
		}
		if (hidden && lines[k] ~ /^}/)
			shown = shown "\t/* ... */\n"
		shown = shown lines[k] "\n"
	}
	sub(/\n$/, "", shown)
	return shown
}

function write_literal(text,	n, lines, k)
{
	put(".Bd -literal -offset indent")
	n = split(text, lines, "\n")
	for (k = 1; k <= n; k++)
		put(guarded(escaped(lines[k])))
	put(".Ed")
}
