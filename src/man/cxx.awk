# SPDX-License-Identifier: MIT
# A manual page out of a header of C++, baton-cxx-NAME(7): its first comment, and its declarations
# without bodies, private members and what is in namespace detail.
#
#	awk -v out=DIR -v date='November 22, 2026' -v version=0.3.0 \
#		-f cxx.awk -f text.awk include/baton/future.hpp

BEGIN {
	LABELS = "Thread safety|Blocking|Ownership|Ordering|Progress|Cost|Source|Lifetime|" \
		"Returns|Errors"
}

# The first comment is the text; FNR 1 is the licence.
FNR > 1 && !title_over {
	if ($0 == " */")
		title_over = 1
	else if (sub(/^ \* ?/, ""))
		title = title (title == "" ? "" : "\n") $0
	next
}

/^namespace detail$/ {in_detail = 1}
/^} \/\* namespace detail \*\/$/ {in_detail = 0; next}
in_detail || /^(#|namespace baton|} \/\* namespace)/ {next}
FNR == 1 || !title_over {next}

# What is private ends with its class.
/^private:$/ {in_private = 1; next}
in_private {
	if ($0 != "};")
		next
	in_private = 0
}

# A body, or the initialisers before it; the brace of a class is none.
in_body {
	if ($0 == indent "}")
		in_body = 0
	next
}
/^\t*\{$/ && previous !~ /^(template <.*> )?(class|struct) / {
	indent = $0
	sub(/\{$/, "", indent)
	if (indent == "" && previous == "")
		next # of the namespace
	in_body = 1
	sub(/\n$/, ";\n", shown)
	next
}
/^\t* *: [a-z_]+[({]/ {next}

{
	previous = $0
	# An empty line stands for many.
	if ($0 == "" && (shown == "" || shown ~ /\n\n$/))
		next
	shown = shown $0 "\n"
}

END {
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/[.]hpp$/, "", name)
	header = name ".hpp"
	page = out "/man7/baton-cxx-" name ".7"
	printf "" >page
	put("'\\\" t")
	put(".\\\" Generated from include/baton/" header)
	put(".Dd " date)
	put(".Dt BATON\\-CXX\\-" toupper(name) " 7")
	put(".Os baton " version)
	put(".Sh NAME")
	put(".Nm baton\\-cxx\\-" name)
	put(".Nd " summary(title))
	put(".Sh SYNOPSIS")
	put(".In baton/" header)
	put(".Sh DESCRIPTION")
	write_text(title)
	if (shown ~ /[a-z]/) {
		sub(/\n+$/, "", shown)
		put(".Sh DECLARATIONS")
		put("In namespace")
		put(".Sy baton :")
		put(".Bd -literal -offset indent")
		n = split(shown, lines, "\n")
		for (k = 1; k <= n; k++)
			put(guarded(escaped(lines[k])))
		put(".Ed")
	}
	put(".Sh SEE ALSO")
	put(".Xr baton 7 ,")
	put(".Xr baton\\-cxx 7")
}
