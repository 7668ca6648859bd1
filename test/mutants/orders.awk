# SPDX-License-Identifier: MIT
# Lists the mutants of the atomic operations in the files: for each order that is not relaxed, the
# weaker ones, weakest first. With NAME: writes that mutant's file instead.
#
#	awk -f orders.awk FILE...              lines "NAME FILE PLACE"
#	awk -v name=NAME -f orders.awk FILE    the file, mutated
#
# PLACE: file:function:operation. NAME: file:function:operation:n:order, n counting that operation
# within the function.

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
}

FNR == 1 {
	file = FILENAME
	sub(/.*\//, "", file)
	where = "-"
	in_comment = 0
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
			if (!(at = index(rest, "*/")))
				break
			done = done substr(rest, 1, at + 1)
			rest = substr(rest, at + 2)
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
		written = operation
		for (i = 1; i <= count; i++) {
			mutant = file ":" where ":" operation ":" n ":" orders[i]
			if (name == "")
				print mutant, FILENAME, file ":" where ":" operation
			else if (name == mutant)
				written = kind "_" orders[i]
		}
		done = done written
	}
	if (name != "")
		print done rest
}
