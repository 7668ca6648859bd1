# SPDX-License-Identifier: MIT
# Of `cc -E -dD`: the public headers' macros, one a line, as they are written, without the guards of
# headers and the version. The value of a macro that a program uses is in its binary.
/^# [0-9]+ "/ {
	ours = $3 ~ /\/baton(\/[a-z_]+)?\.h"$/
	next
}
ours && /^#define BATON_/ {
	sub(/^#define /, "")
	match($0, /^[A-Za-z0-9_]+(\([^)]*\))?/)
	head = substr($0, 1, RLENGTH)
	body = substr($0, RLENGTH + 2)
	if (body != "" && head !~ /_H$|^BATON_VERSION/) {
		gsub(/[ \t]+/, " ", body)
		print "macro " head ": " body
	}
}
