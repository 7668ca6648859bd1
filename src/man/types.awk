# SPDX-License-Identifier: MIT
# The page of a struct, an enum or a function's type: what it is, its declaration, and a list of its
# members, each with its default and its meaning. Part of pages.awk.
#
# A member's comment stands before it or behind it. A comment before several members that have none
# of their own is the comment of all of them. "0: ..." or "NULL: ..." in it is the default.

# The name of the type that this text declares; "": none that programs use.
function type_name(text)
{
	if (text ~ /^typedef/)
		return match(text, /\(\*baton_[a-z0-9][a-z_0-9]*\)/) ? \
			substr(text, RSTART + 2, RLENGTH - 3) : ""
	if (!match(text, /^(struct|enum|union) baton_[a-z0-9][a-z_0-9]*/))
		return ""
	text = substr(text, RSTART, RLENGTH)
	sub(/^[a-z]+ /, "", text)
	return text
}

# The first type of an item has its page; the page of the item's functions shows the item's types.
function has_type_page(i)
{
	return !functions[i] && types[i] && type_name(type[i, 1]) != ""
}

# A type that has a function's name is on that function's page.
function share_pages(	i, j, k)
{
	for (i = 1; i <= items; i++)
		for (k = 1; k <= functions[i]; k++)
			item_of[name[i, k]] = i
	for (i = 1; i <= items; i++)
		if (has_type_page(i) && type_name(type[i, 1]) in item_of) {
			j = item_of[type_name(type[i, 1])]
			type[j, ++types[j]] = type[i, 1]
			for (k = 1; k < types[i]; k++)
				type[i, k] = type[i, k + 1]
			types[i]--
		}
	delete item_of
}

# Does the name of this type lead to the page of the item's functions?
function is_linked(i, k,	j)
{
	for (j = 1; j <= functions[i]; j++)
		if (name[i, j] == type_name(type[i, k]))
			return 0
	return type_name(type[i, k]) != ""
}

function write_type_page(i,	first, k)
{
	first = type_name(type[i, 1])
	begin_page(first, first, 3)
	self = first
	delete own
	put(".Sh NAME")
	for (k = 1; k <= types[i]; k++)
		put(".Nm " type_name(type[i, k]) (k < types[i] || macros[i] ? " ," : ""))
	for (k = 1; k <= macros[i]; k++)
		put(".Nm " macro_name(i, k) (k < macros[i] ? " ," : ""))
	put(".Nd " summary(docs[i]))
	put(".Sh LIBRARY")
	put(library " (lib" library ", \\-l" library ")")
	put(".Sh SYNOPSIS")
	put(".In baton/" header ".h")
	for (k = 1; k <= types[i]; k++)
		write_literal(without_comments(public_part(type[i, k])))
	for (k = 1; k <= macros[i]; k++)
		write_macro(i, k)
	put(".Sh DESCRIPTION")
	say_experimental()
	write_text(before_corners(docs[i]))
	for (k = 1; k <= types[i]; k++)
		write_members(type[i, k], types[i] > 1)
	write_corners()
	see_also()
	close(page)
	for (k = 2; k <= types[i]; k++)
		write_link(type_name(type[i, k]), "man3/" first ".3")
	for (k = 1; k <= macros[i]; k++)
		write_link(macro_name(i, k), "man3/" first ".3")
}

# The members that have comments.
function write_members(text, several,	n, lines, k, one, comment, behind, names, listed)
{
	if (text ~ /^typedef/)
		return
	n = split(public_part(text), lines, "\n")
	heading_of_members = text ~ /^enum/ ? "VALUES" : "MEMBERS"
	if (several)
		heading_of_members = heading_of_members " OF " type_name(text)
	comment = names = ""
	listed = 0
	for (k = 2; k < n; k++) {
		one = lines[k]
		sub(/^[ \t]+/, "", one)
		if (one ~ /^\/\*/) {
			listed = end_member(names, comment, listed)
			names = comment = ""
			while (one !~ /\*\// && k < n)
				one = one "\n" lines[++k]
			comment = comment_text(one)
			continue
		}
		if (one == "") {
			listed = end_member(names, comment, listed)
			names = comment = ""
			continue
		}
		while (one !~ /[;,{}][ \t]*(\/\*.*)?$/ && k < n - 1 && text !~ /^enum/) {
			sub(/^[ \t]+/, " ", lines[++k])
			one = one lines[k]
		}
		behind = ""
		if (match(one, /\/\*/)) {
			behind = substr(one, RSTART)
			one = substr(one, 1, RSTART - 1)
			while (behind !~ /\*\// && k < n)
				behind = behind "\n" lines[++k]
			behind = comment_text(behind)
		}
		sub(/[;,]?[ \t]*$/, "", one)
		if (behind != "") {
			# What stands before members that have comments is of all of them.
			if (names == "" && comment != "") {
				listed = introduce(comment, listed)
				comment = ""
			}
			listed = end_member(names, comment, listed)
			listed = end_member(one, behind, listed)
			names = comment = ""
			continue
		}
		names = names (names == "" ? "" : "\n") one
	}
	listed = end_member(names, comment, listed)
	if (listed)
		put(".El")
}

function comment_text(text)
{
	sub(/^\/\*+[ \t]*\n?/, "", text)
	sub(/\n?[ \t]*\*\/[ \t]*$/, "", text)
	gsub(/\n[ \t]*\*( |$)/, "\n", text)
	gsub(/\n[ \t]*\*\n/, "\n\n", text)
	sub(/^[ \t]*\* /, "", text)
	return text
}

function introduce(comment, listed)
{
	if (listed)
		put(".El")
	else
		put(".Sh " heading_of_members)
	member_text(comment)
	return begin_members(1)
}

function begin_members(again)
{
	if (!again)
		put(".Sh " heading_of_members)
	put(".Bl -tag -width Ds")
	return 1
}

function end_member(names, comment, listed,	parts, n, k, tag)
{
	if (names == "" || names ~ /^(struct|union) {|^}/)
		return listed
	if (!listed)
		listed = begin_members(0)
	n = split(names, parts, "\n")
	for (k = 1; k <= n; k++) {
		tag = parts[k]
		gsub(/"/, "", tag)
		put(".It Fa \"" escaped(tag) "\"" (k < n ? " ," : ""))
	}
	if (comment != "")
		member_text(with_default(comment))
	return listed
}

# Its paragraphs, within a list.
function member_text(text)
{
	written = 0
	write_text(text)
	held = 0
}

# "0: ten microseconds" goes to the end, as the default. A sentence begins with a capital.
function with_default(text,	zero, rest)
{
	if (text !~ /\n\n|\n  |[|]/)
		gsub(/\n/, " ", text)
	if (text !~ /^(fn|[a-z0-9]*[_(.])/)
		text = capital(text)
	if (text !~ /[.:]$/)
		text = text "."
	if (!match(text, /(^|[.;,]? )(0|NULL|0, or 256): [^.;|]*[.;]/) || text ~ /[|]/)
		return text
	zero = substr(text, RSTART, RLENGTH)
	rest = substr(text, RSTART + RLENGTH)
	text = substr(text, 1, RSTART - 1)
	if (zero ~ /^[.]/ || text != "" && text !~ /[.]$/)
		text = text "."
	sub(/^[.;,]? ?(0|NULL|0, or 256): /, "", zero)
	sub(/[.;]$/, "", zero)
	return text rest (text rest == "" ? "" : " ") "Default: " zero "."
}

# The declaration alone: what the comments say, the list of members says.
function without_comments(text,	n, lines, k, one, shown, inside)
{
	n = split(text, lines, "\n")
	for (k = 1; k <= n; k++) {
		one = lines[k]
		if (inside) {
			inside = one !~ /\*\//
			continue
		}
		if (one == "\t/* ... */") {
			shown = shown one "\n"
			continue
		}
		if (match(one, /[ \t]*\/\*/)) {
			inside = one !~ /\*\//
			one = substr(one, 1, RSTART - 1)
			if (one == "")
				continue
		}
		shown = shown one "\n"
	}
	sub(/\n$/, "", shown)
	return shown
}
