#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles each piece of code in the README's sections on the modules and on the end, as the body of
# a function; its declarations are in prelude.h.
#
#	CC=cc check.sh
set -eu

dir=build/readme
rm -rf "$dir"
mkdir -p "$dir"
awk -v dir="$dir" '
	/^## / {on = $0 == "## What else a broker needs" || $0 == "## The end"}
	on && /^```c$/ {
		file = sprintf("%s/piece_%02d.c", dir, ++pieces)
		print "#include \"prelude.h\"" >file
		print "int piece(struct baton_undo_log *log);" >file
		print "int piece(struct baton_undo_log *log)\n{\n(void)log;" >file
		next
	}
	/^```$/ && file {
		print "return 0;\n}" >file
		close(file)
		file = ""
	}
	file {print >file}
	END {exit pieces < 12}
' README.md
for file in "$dir"/piece_*.c; do
	"$CC" -std=c11 -Wall -Wextra -Werror -Iinclude -iquote test/readme \
		-c -o "${file%.c}.o" "$file"
done
