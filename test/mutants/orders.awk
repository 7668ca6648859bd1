# SPDX-License-Identifier: MIT
# Lists the mutants of the atomic operations in the files: for each order that is not relaxed, the
# weaker ones, weakest first. With NAME: writes that mutant's file instead.
#
#	awk -f orders.awk FILE...              lines "NAME FILE PLACE FATE"
#	awk -v name=NAME -f orders.awk FILE    the file, mutated
#
# PLACE: file:function:operation. NAME: file:function:operation:n:order, n counting that operation
# within the function. FATE: what a comment before the operation says of the order, or of a weaker
# one, in one of these sentences:
#
#	ORDER is enough: WHY            survives: no execution tells the mutant from the original
#	ORDER goes unnoticed: WHY       survives: it is needed, and the explorer cannot find that
#	ORDER is seldom noticed: WHY    rare: the explorer needs many executions, or more than were
#	                                tried
#
# Else "found". The sentence is about the next operation that has this weaker ORDER; with "below"
# before the colon, about each of them up to the function's end. Status 4: one is about none.

BEGIN {
	weaker["load_acquire"] = "relaxed"
	weaker["load_seq_cst"] = "relaxed acquire"
	weaker["store_release"] = "relaxed"
	weaker["store_seq_cst"] = "relaxed release"
	split("swap cas add sub or", operations, " ")
	for (i in operations) {
		weaker[operations[i] "_acquire"] = "relaxed"
		weaker[operations[i] "_release"] = "relaxed"
		weaker[operations[i] "_acq_rel"] = "relaxed acquire release"
		weaker[operations[i] "_seq_cst"] = "relaxed acquire release acq_rel"
	}
	# A stronger order than one that is enough is enough, too.
	stronger["relaxed"] = "relaxed acquire release acq_rel"
	stronger["acquire"] = "acquire acq_rel"
	stronger["release"] = "release acq_rel"
	stronger["acq_rel"] = "acq_rel"
	sentence = "(Relaxed|Acquire|Release|Acq_rel) " \
		"(is enough|goes unnoticed|is seldom noticed)( below)?:"
}

function complain(order)
{
	print FILENAME ":" FNR ": a comment above says of an order, " order ", that it is " \
		"enough or not noticed, and no operation with a stronger one follows soon" \
		>"/dev/stderr"
	bad = 4
}

function forget(order)
{
	for (order in said)
		complain(order)
	for (order in below)
		if (!used[order])
			complain(order)
	split("", said)
	split("", below)
	split("", used)
}

# The comment has ended.
function hear(text, words, kind)
{
	while (match(text, sentence)) {
		split(substr(text, RSTART, RLENGTH - 1), words, " ")
		text = substr(text, RSTART + RLENGTH)
		words[1] = tolower(words[1])
		kind = words[3] == "seldom" ? "rare" : "survives"
		if (words[length(words)] == "below")
			below[words[1]] = kind
		else
			said[words[1]] = kind
		at[words[1]] = FNR
	}
}

# Puts the fate of each weaker order of the operation into `fate`. A comment before this operation
# overrides a comment with the word "below" further up.
function judge(orders, count, i, j, n, order, own)
{
	split("", fate)
	for (i = 1; i <= count; i++)
		own += orders[i] in said
	for (i = 1; i <= count; i++) {
		order = orders[i]
		if (!(order in said) && (own || !(order in below)))
			continue
		if (order in said && FNR - at[order] > 12)
			complain(order)
		n = split(stronger[order], more, " ")
		for (j = 1; j <= n; j++)
			if (fate[more[j]] != "survives")
				fate[more[j]] = order in said ? said[order] : below[order]
	}
	for (i = 1; i <= count; i++) {
		used[orders[i]] = 1
		delete said[orders[i]]
	}
}

FNR == 1 {
	forget()
	file = FILENAME
	sub(/.*\//, "", file)
	where = "-"
	in_comment = 0
}

/^}/ {
	forget()
}

/^[A-Za-z_].*[A-Za-z0-9_]\(/ && !/^#/ && !/^_Static_assert/ && !/;$/ {
	where = $0
	sub(/\(.*/, "", where)
	sub(/.*[^A-Za-z0-9_]/, "", where)
}

{
	rest = $0
	done = ""
	while (rest != "") {
		if (in_comment) {
			end = index(rest, "*/")
			text = end ? substr(rest, 1, end - 1) : rest
			sub(/^[ \t]*[*]?[ \t]*/, "", text)
			comment_text = comment_text " " text
			if (!end)
				break
			hear(comment_text)
			done = done substr(rest, 1, end + 1)
			rest = substr(rest, end + 2)
			in_comment = 0
			continue
		}
		comment = index(rest, "/*")
		found = match(rest,
			/(load|store|swap|cas|add|sub|or)_(acquire|release|acq_rel|seq_cst)\(/)
		if (comment && (!found || comment < found)) {
			done = done substr(rest, 1, comment + 1)
			rest = substr(rest, comment + 2)
			in_comment = 1
			comment_text = ""
			continue
		}
		if (!found)
			break
		operation = substr(rest, RSTART, RLENGTH - 1)
		done = done substr(rest, 1, RSTART - 1)
		rest = substr(rest, RSTART + RLENGTH - 1)
		# Part of a longer name: another function. (baton/inline.h has a prefix.)
		prefix = done
		sub(/baton_inline_$/, "", prefix)
		if (prefix ~ /[A-Za-z0-9_]$/ || done ~ /^#define baton_inline_/ ||
		    !(operation in weaker)) {
			done = done operation
			continue
		}
		n = ++seen[FILENAME, where, operation]
		kind = operation
		sub(/_.*/, "", kind)
		count = split(weaker[operation], orders, " ")
		judge(orders, count)
		written = operation
		for (i = 1; i <= count; i++) {
			mutant = file ":" where ":" operation ":" n ":" orders[i]
			if (name == "")
				print mutant, FILENAME, file ":" where ":" operation,
					orders[i] in fate ? fate[orders[i]] : "found"
			else if (name == mutant)
				written = kind "_" orders[i]
		}
		done = done written
	}
	if (name != "")
		print done rest
}

END {
	forget()
	exit name == "" ? bad + 0 : 0
}
