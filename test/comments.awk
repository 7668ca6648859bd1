# SPDX-License-Identifier: MIT
# What the comments of public functions must say first, for test/tidy.sh:
#
#	awk -f comments.awk -f src/man/header.awk include/baton/*.h
#
# - A function that is given a function says, before its labels (Thread safety: and so on), where
#   that runs: on this thread, on the runner's thread, on the executor's thread.
# - A function that takes memory, or gives some out, says whose it is: Ownership:.
# - A struct or an enum says what it is: it has a page.
#
# A comment that begins with "As baton_x()" says what that of x says.

FNR == 1 {
	if (NR > 1)
		finish()
	start(FILENAME)
}

{ line($0) }

END {
	finish()
	exit bad
}

function finish(	i)
{
	end_item()
	for (i = 1; i <= items; i++) {
		find_names(i)
		judge_types(i)
		if (functions[i] && docs[i] !~ /^As baton_/)
			judge(i)
	}
}

# A struct or enum without a comment is in the item before it: behind a struct, or a function.
function judge_types(i,	k, seen)
{
	for (k = 1; k <= types[i]; k++)
		if (type[i, k] ~ /^(struct|enum|union) baton_[a-z0-9][a-z0-9_]* \{/ && \
		    (docs[i] == "" || seen++ && !functions[i] || functions[i] && \
		     index(codes[i], type[i, k]) > index(codes[i], name[i, 1] "("))) {
			sub(/ \{.*/, "", type[i, k])
			print "include/baton/" header ".h: " type[i, k] " has no comment of its own"
			bad = 1
		}
}

function complain(i, message)
{
	print "include/baton/" header ".h: " name[i, 1] " " message
	bad = 1
}

function judge(i,	k, first, takes_function, hands)
{
	for (k = 1; k <= functions[i]; k++) {
		if (proto[i, k] ~ /baton_[a-z_]*_fn [a-z]|\(\*/)
			takes_function = 1
		if (name[i, k] ~ /_(create|ref|alloc|async|retire|push|add|detach)(_within)?$/ || \
		    name[i, k] ~ /_(submit|arm|acquire|arrive|fire|suspend)(_[a-z_]*)?$/ || \
		    name[i, k] ~ /_(then|schedule|post|start|quiesce)$/)
			hands = 1
	}
	first = docs[i]
	gsub(/[ \t\n]+/, " ", first)
	if (hands && first !~ /Ownership:/)
		complain(i, "does not say whose the memory is: Ownership: ...")
	sub(/ (Corner cases|Thread safety|Blocking|Ownership)[.:].*/, "", first)
	if (takes_function && first !~ /on the thread that / &&
	    first !~ /on (this|the (runner's|executor's|owner's|loop's)) /)
		complain(i, "does not say first where its function runs: on this thread, on the " \
			"runner's thread, on the executor's thread")
}
