# SPDX-License-Identifier: MIT
# What the declarations of the public headers have in common, for test/tidy.sh:
#
#	awk -v optional=test/optional_results.txt -f prototypes.awk include/baton/*.h
#
# - A function has at most four parameters: more are an options struct (src/README.md). A callback
#   and its argument count as one.
# - A function that is given a pointer says which pointers may not be NULL (attributes.h). The
#   exceptions are given arrays that may be empty, or a value that is any pointer.
# - A function that returns an int or an int64_t, which may be an error, or a struct baton_stopped,
#   which says whose the memory is, is BATON_MUST_USE. The exceptions are in the file `optional`,
#   each with its reason.
# - An example in a comment does not drop the result of such a function.

BEGIN {
	while ((getline line < optional) > 0)
		if (line !~ /^#/ && split(line, parts, / \| /) == 2)
			may_drop[parts[1]] = 1
	PARAMETERS = 4
	count = split("baton_deadlock_cycle baton_future_wait_all baton_future_wait_all_until " \
		"baton_future_wait_all_or_cancel baton_future_wait_all_or_cancel_until " \
		"baton_future_wait_any baton_future_wait_any_until baton_quiesce " \
		"baton_quiesce_until baton_quiesce_end baton_set_carried " \
		"baton_set_result", names, " ")
	for (i = 1; i <= count; i++)
		exempt[names[i]] = 1
}

function complain(where, message)
{
	print where ": " message
	bad = 1
}

# A declaration that begins in the first column, without what is in parentheses inside its list.
function judge(text,	name, list, pairs, rest, parts)
{
	match(text, /baton_[a-z0-9_]+\(/)
	name = substr(text, RSTART, RLENGTH - 1)
	list = substr(text, RSTART + RLENGTH)
	while (match(list, /\([^()]*\)\([^()]*\)/)) # a pointer to a function
		list = substr(list, 1, RSTART - 1) "*function" substr(list, RSTART + RLENGTH)
	rest = list
	sub(/\).*/, "", list)
	sub(/^[^)]*\)/, "", rest)
	pairs = list
	sub(/_fn [a-z_]+, *void \*arg *$/, "_fn", pairs)
	if (split(pairs, parts, ",") > PARAMETERS)
		complain(at, name " has more than " PARAMETERS \
			" parameters: give it an options struct")
	if (text !~ /^static/ && list ~ /\*|_fn / && rest !~ /BATON_NONNULL/ && !(name in exempt))
		complain(at, name " does not say which pointers may not be NULL: " \
			"BATON_NONNULL, or BATON_NONNULL_AT(1, ...)")
	if (text !~ /(^|[ \t])(int(64_t)?|struct baton_stopped) baton_/)
		return
	seen[name] = 1
	if (text ~ /BATON_MUST_USE/)
		must_use[name] = 1
	if (text !~ /BATON_MUST_USE/ && !(name in may_drop))
		complain(at, name " may return what nobody sees: BATON_MUST_USE, or " \
			"its line with a reason in " optional)
	if (text ~ /BATON_MUST_USE/ && name in may_drop)
		complain(at, name " is BATON_MUST_USE, and in " optional)
}

# A statement of an example.
match($0, /^ \*\t+(\(void\))?baton_[a-z0-9_]+\(/) {
	name = substr($0, RSTART, RLENGTH - 1)
	sub(/.*[\t)]/, "", name)
	dropped[FILENAME ":" FNR] = name
}

# Comments do not count.
{
	line = $0
	if (in_comment) {
		if (!sub(/.*\*\//, "", line))
			next
		in_comment = 0
	}
	gsub(/\/\*[^*]*\*\//, "", line)
	if (sub(/\/\*.*/, "", line))
		in_comment = 1
}

FNR == 1 { text = "" }

text == "" && line !~ /^typedef/ &&
		line ~ /^[a-zA-Z][a-zA-Z_0-9 *]*[ *]baton_[a-z0-9_]+\(/ {
	text = line
	at = FILENAME ":" FNR
	if (line ~ /;/) {
		judge(text)
		text = ""
	}
	next
}

text != "" {
	text = text " " line
	if (line ~ /;/) {
		judge(text)
		text = ""
	}
}

END {
	for (at in dropped)
		if (dropped[at] in must_use)
			complain(at, "an example drops the result of " dropped[at] \
				": error = ..., or BATON_IGNORE(...)")
	for (name in may_drop)
		if (!(name in seen))
			complain(optional, name " is no function that returns an int, or a " \
				"struct baton_stopped")
	exit bad
}
