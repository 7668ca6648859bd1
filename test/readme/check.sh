#!/bin/sh
# SPDX-License-Identifier: MIT
# The public names, and the members in nanoseconds, that the documents use are in the headers. And
# compiles each piece of C in the README, and in that of the features, as the body of a function;
# its declarations are in prelude.h. A whole program (test/install.sh builds it) is left out.
#
#	CC=cc check.sh
set -eu
export LC_ALL=C

dir=build/readme
rm -rf "$dir"
mkdir -p "$dir"
grep -ohE '\<(baton_[a-z0-9]|BATON_[A-Z0-9]|[a-z_]*_ns\>)[A-Za-z0-9_]*' \
	README.md src/man/*.7 examples/*/README.md | sort -u | while read -r name; do
	grep -rqwF -e "$name" include/baton src/checked examples/queue || echo "$name"
done >"$dir/unknown"
if [ -s "$dir/unknown" ]; then
	echo "README.md, the manual or an example's README has names that are in no header:"
	cat "$dir/unknown"
	exit 1
fi
awk -v dir="$dir" '
	/^```c$/ {inside = 1; text = ""; next}
	/^```$/ && inside {
		inside = 0
		if (text ~ /int main/)
			next
		file = sprintf("%s/piece_%02d.c", dir, ++pieces)
		print "#include \"prelude.h\"" >file
		print "int piece(struct baton_undo_log *log);" >file
		print "int piece(struct baton_undo_log *log)\n{\n(void)log;" >file
		print text "return 0;\n}" >file
		close(file)
	}
	inside {text = text $0 "\n"}
	END {exit pieces < 15}
' README.md examples/features/README.md
for file in "$dir"/piece_*.c; do
	"$CC" -std=c11 -Wall -Wextra -Werror -Iinclude -iquote test/readme \
		-c -o "${file%.c}.o" "$file"
done
