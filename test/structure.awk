# SPDX-License-Identifier: MIT
# What concerns several files of src at once, for test/tidy.sh:
#
#	awk -f structure.awk src/FOLDER/FILE...
#
# - An ordering tag has a name, [inbox.publish], and stands in one folder only. (That it stands at
#   both ends, tidy.awk checks.)
# - A function baton__x is declared in a header of the folder that defines it.
# - Each function baton__x has a use in src; one that tests alone use is named below.
# - No two files have a static function, object or (of a .c) macro with parameters of one name.
# - No two folders have a file of one name: a mention of queue.c means one file.
# - Headers do not include each other in a circle. Counting a .c as its header, at most CIRCLE files
#   do: the pool's crew. A smaller number is better.

BEGIN {
	CIRCLE = 6
	for_tests["baton__slabs_mapped"] = for_tests["baton__idle_asleep"] = 1
}

function complain(where, message)
{
	print where ": " message
	bad = 1
}

# src/core/turn.c: core
function folder_of(path)
{
	sub(/^src\//, "", path)
	sub(/\/[^\/]*$/, "", path)
	return path
}

# src/core/turn.c: turn
function name_of(path)
{
	sub(/^.*\//, "", path)
	sub(/\.[ch]$/, "", path)
	return path
}

# src/core/turn.c: core/turn
function unit_of(path)
{
	sub(/^src\//, "", path)
	sub(/\.[ch]$/, "", path)
	return path
}

function note_tags(text,    tag)
{
	while (match(text, /\[([A-Z]+[0-9]+[a-z]?|[a-z_]+\.[a-z_]+)\]/)) {
		tag = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		if (tag ~ /[0-9]\]$/ && tag !~ /\./)
			complain(FILENAME ":" FNR, "ordering tag " tag " has no name: call it " \
			         "[what.edge], as [inbox.publish]")
		else if (tag in tag_folder && tag_folder[tag] != folder)
			complain(FILENAME ":" FNR, "ordering tag " tag " belongs to " tag_at[tag] \
			         ": another edge needs another name; a mention has no brackets")
		else if (!(tag in tag_folder)) {
			tag_folder[tag] = folder
			tag_at[tag] = FILENAME ":" FNR
		}
	}
}

# The declarator of a function that begins in column 1, its lines joined.
function note_function(text, line,    name)
{
	if (text !~ /^[A-Za-z_]/ || text ~ /^(#|typedef|return|_Static_assert)/)
		return
	if (!match(text, /baton__[a-z0-9_]+\(/) || index(text, "=") && index(text, "=") < RSTART)
		return
	name = substr(text, RSTART, RLENGTH - 1)
	if (text ~ /;$/) {
		declared[name] = declared[name] " " FILENAME ":" line
	} else {
		defined[name] = FILENAME
	}
}

# Begins this line to define a static function or object, or, in a .c, a macro with parameters?
function note_static(code,    name)
{
	if (code ~ /^#[ \t]*define[ \t]+[A-Za-z0-9_]+\(/ && FILENAME ~ /\.c$/) {
		name = code
		sub(/^#[ \t]*define[ \t]+/, "", name)
	} else if (code ~ /^} [a-z0-9_]+[ \[;]/ && nameless) {
		name = code
	} else {
		gsub(/__(attribute__ ?\(\(.*\)\) ?|thread )/, "", code)
		if (code !~ /^(static|BATON_INLINE) /)
			return
		name = code
	}
	nameless = name ~ /^static (const )?struct \{/
	sub(/^#[ \t]*define[ \t]+|^} /, "", name)
	sub(/[ ;]*[\[(={;].*/, "", name)
	sub(/.*[^A-Za-z0-9_]/, "", name)
	if (nameless || name == "")
		return
	if (!(name in static_at))
		static_at[name] = FILENAME ":" FNR
	else if (static_at[name] !~ "^" FILENAME ":")
		complain(FILENAME ":" FNR, name " has its namesake at " static_at[name] \
		         ": let the name say of what")
}

FNR == 1 {
	nameless = 0
	folder = folder_of(FILENAME)
	unit = unit_of(FILENAME)
	units[unit] = 1
	name = name_of(FILENAME)
	if (name in home && home[name] != folder)
		complain(FILENAME, home[name] " has files of this name, too: choose a name that " \
		         "tells them apart")
	home[name] = folder
	head = ""
	in_comment = 0
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
	other = $0
	sub(/^[^"]*"/, "", other)
	sub(/\.h".*/, "", other)
	if (FILENAME ~ /\.h$/)
		above[unit, other] = 1
	if (other != unit) {
		reach[unit, other] = 1
		units[other] = 1
	}
}

{
	note_tags($0)
	code = $0
	if (code !~ /^[ \t]*(\/?\*)/)
		for (rest = code; match(rest, /baton__[a-z0-9_]+/); \
		     rest = substr(rest, RSTART + RLENGTH))
			mentions[substr(rest, RSTART, RLENGTH)]++
	if (in_comment || code ~ /^[ \t]*\/\*/) {
		in_comment = code !~ /\*\//
		next
	}
	sub(/[ \t]*\/\*.*$/, "", code)
	in_comment = $0 ~ /\/\*/ && $0 !~ /\*\//
	note_static(code)
	if (head == "" && code ~ /^[A-Za-z_].*\(/) {
		head = code
		start = FNR
	} else if (head != "") {
		sub(/^[ \t]+/, " ", code)
		head = head code
	}
	if (head != "" && (head ~ /;$/ || code ~ /^{/ || code ~ /^ *{$/)) {
		note_function(head, start)
		head = ""
	}
}

END {
	for (name in defined) {
		count = split(declared[name], where, " ")
		if (mentions[name] <= count + 1 && !(name in for_tests))
			complain(defined[name], name "() is used nowhere: remove it")
		for (i = 1; i <= count; i++)
			if (folder_of(where[i]) != folder_of(defined[name]))
				complain(where[i], name "() is defined in " defined[name] \
				         ": declare it in a header there, and call it from " \
				         "there or by a table")
	}
	# What includes what, directly or not.
	for (k in units)
		for (i in units) {
			if ((i, k) in reach)
				for (j in units)
					if ((k, j) in reach)
						reach[i, j] = 1
			if ((i, k) in above)
				for (j in units)
					if ((k, j) in above)
						above[i, j] = 1
		}
	for (i in units)
		if ((i, i) in above)
			complain("src/" i ".h", "includes itself, through others: move what both " \
			         "need to a header below")
	for (i in units) {
		size = 1
		members = i
		for (j in units)
			if (i != j && (i, j) in reach && (j, i) in reach) {
				size++
				members = members " " j
			}
		if (size > CIRCLE && !seen[i]) {
			for (j in units)
				if ((i, j) in reach && (j, i) in reach)
					seen[j] = 1
			complain("src", size " files include each other in a circle (" CIRCLE \
			         " at most): " members)
		}
	}
	exit bad
}
