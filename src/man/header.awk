# SPDX-License-Identifier: MIT
# Reads a header: comments, and what they belong to. Part of pages.awk.
#
# Item i: docs[i], its comment; codes[i], its declarations, and what find_names() finds in these.

# ---- Reading a header ----

function start(file)
{
	header = file
	sub(/.*\//, "", header)
	sub(/[.]h$/, "", header)
	title = doc = code = ""
	items = depth = in_comment = in_preamble = is_private = 0
	titled = 0
}

function line(text)
{
	if (in_comment) {
		comment_line(text)
		return
	}
	if (depth == 0 && text ~ /^\/\*/ && text !~ /SPDX/) {
		end_item()
		doc = ""
		in_comment = 1
		comment_line(text)
		return
	}
	if (skipped(text))
		return
	if (text == "" && depth == 0 && !continued) {
		end_item()
		return
	}
	code = code text "\n"
	continued = text ~ /\\$/
	depth += gsub(/{/, "{", text) - gsub(/}/, "}", text)
}

function skipped(text)
{
	if (text ~ /^\/\* SPDX/ || text ~ /^#include/ || text ~ /^#define BATON_[A-Z_]*_H$/)
		return 1
	if (text ~ /^#ifdef __cplusplus/) {
		in_preamble = 1
		return 1
	}
	if (in_preamble) {
		if (text ~ /^#endif/)
			in_preamble = 0
		return 1
	}
	return text ~ /^#(if|ifndef|ifdef|else|endif)/
}

# Collects a comment without its frame of stars.
function comment_line(text,	last)
{
	last = text ~ /\*\/[ \t]*$/
	sub(/^\/\*+/, "", text)
	sub(/[ \t]*\*\/[ \t]*$/, "", text)
	sub(/^ \*/, "", text)
	sub(/^ /, "", text)
	doc = doc text "\n"
	if (!last)
		return
	in_comment = 0
	gsub(/^\n+|\n+$/, "", doc)
	if (!titled) {
		titled = 1
		title = doc
		doc = ""
	}
}

# A comment and the declarations after it are an item. Declarations without a comment belong to the
# item before them.
function end_item()
{
	if (doc ~ /^---- .* ----$/)
		is_private = doc ~ /not for programs/
	if (is_private)
		doc = code = ""
	if (code != "") {
		if (doc != "" || !items) {
			docs[++items] = doc
			codes[items] = code
		} else {
			codes[items] = codes[items] "\n" code
		}
		doc = ""
	} else if (doc ~ /^---- .* ----$/) {
		doc = "" # a heading in the header
	}
	code = ""
}

# ---- What an item declares ----

# functions[i]: how many; name[i, k], proto[i, k]. macros[i]: macro[i, k], with its parameters.
function find_names(i,	text, rest, whole, at)
{
	functions[i] = macros[i] = types[i] = 0
	rest = codes[i]
	while (rest != "") {
		at = index(rest, "\n")
		whole = substr(rest, 1, at - 1)
		rest = substr(rest, at + 1)
		if (whole == "")
			continue
		if (whole ~ /^#/) {
			while (whole ~ /\\$/) {
				at = index(rest, "\n")
				whole = substr(whole, 1, length(whole) - 1) substr(rest, 1, at - 1)
				rest = substr(rest, at + 1)
			}
			add_macro(i, whole)
			continue
		}
		# Up to the semicolon or body that ends it.
		while (!ended(whole) && rest != "") {
			at = index(rest, "\n")
			whole = whole "\n" substr(rest, 1, at - 1)
			rest = substr(rest, at + 1)
		}
		add_declaration(i, whole)
	}
}

function ended(text,	copy, opens, closes)
{
	copy = text
	opens = gsub(/{/, "", copy)
	closes = gsub(/}/, "", copy)
	if (opens != closes)
		return 0
	sub(/[ \t]*\/\*.*\*\/[ \t]*$/, "", copy)
	return opens ? text ~ /}[ \t]*;?$|}[^;{}]*;/ : copy ~ /;[ \t]*$/
}

# macro[i, k], its name and parameters; macro_value[i, k], a number or an expression of one.
function add_macro(i, text,	rest, k)
{
	if (text !~ /^#define (BATON|baton)_[A-Za-z_0-9]+/)
		return
	sub(/^#define /, "", text)
	match(text, /^[A-Za-z_0-9]+(\([^)]*\))?/)
	rest = substr(text, RLENGTH + 1)
	text = substr(text, RSTART, RLENGTH)
	if (text ~ /^BATON__/)
		return
	for (k = 1; k <= macros[i]; k++)
		if (macro[i, k] == text) # of another compiler
			return
	if (text ~ /^baton_.*[(][.][.][.][)]$/) # in place of the function of its name (inline.h)
		return
	if (text ~ /^baton_.*[(]/) { # used as a function
		proto[i, ++functions[i]] = text
		name[i, functions[i]] = substr(text, 1, index(text, "(") - 1)
		return
	}
	sub(/[ \t]*\/\*.*/, "", rest)
	gsub(/[ \t]+/, " ", rest)
	macro[i, ++macros[i]] = text
	macro_value[i, macros[i]] = text !~ /\(/ && rest !~ /[{]|__|,/ ? substr(rest, 2) : ""
}

function add_declaration(i, text,	flat, at)
{
	if (text ~ /^(struct|enum|union) [a-z_0-9]+[ \n]*{/ || text ~ /^typedef/) {
		type[i, ++types[i]] = text
		return
	}
	if (text ~ /^(struct|enum) [a-z_0-9]+;/)
		return
	flat = text
	sub(/\n{.*/, "", flat) # the body of an inline function
	sub(/;.*/, "", flat)
	gsub(/[ \t\n]+/, " ", flat)
	sub(/^static inline /, "", flat)
	gsub(/BATON_[A-Z_]+\([^()]*\) ?/, "", flat)
	gsub(/BATON_[A-Z_]+ /, "", flat)
	sub(/ *BATON_[A-Z_]+$/, "", flat)
	sub(/ +$/, "", flat)
	if (flat !~ /^[a-z].*[ *]baton_[a-z_0-9]+\(.*\)$/)
		return
	at = match(flat, /baton_[a-z_0-9]+\(/)
	functions[i]++
	name[i, functions[i]] = substr(flat, at, RLENGTH - 1)
	proto[i, functions[i]] = flat
}

function macro_name(i, k)
{
	return substr(macro[i, k], 1, match(macro[i, k] "(", /\(/) - 1)
}
