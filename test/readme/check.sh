#!/bin/sh
# SPDX-License-Identifier: MIT
# The public names, and the members in nanoseconds, that the documents use are in the headers.
# Each piece of C in README.md runs in a test: a whole program is built and run here, and README.md
# has what it prints; other pieces are lines of the example that README.md names before them, which
# `make check-examples` runs. In a piece, an empty line stands for lines that are left out.
# Each piece of C in the README of the features compiles, as the body of a function; its
# declarations are in prelude.h.
#
#	CC=cc check.sh EXAMPLE.c...
set -eu
export LC_ALL=C

dir=build/readme
rm -rf "$dir"
mkdir -p "$dir"
grep -ohE '\<(baton_[a-z0-9]|BATON_[A-Z]|[a-z_]*_ns\>)[A-Za-z0-9_]*' \
	README.md src/man/*.7 examples/*/README.md | sort -u | while read -r name; do
	grep -rqwF -e "$name" include/baton src/checked examples/queue || echo "$name"
done >"$dir/unknown"
if [ -s "$dir/unknown" ]; then
	echo "README.md, the manual or an example's README has names that are in no header:"
	cat "$dir/unknown"
	exit 1
fi

awk -v dir="$dir" -v examples="$*" '
	# The lines of `piece` are lines of the example, in this order, each paragraph in one block.
	function quoted(piece, example,    text, line, paragraphs, count, i, at) {
		text = "\n"
		while ((getline line <example) > 0) {
			sub(/^[ \t]+/, "", line)
			text = text line "\n"
		}
		close(example)
		count = split(piece, paragraphs, /\n\n/)
		for (i = 1; i <= count; i++) {
			at = index(text, "\n" paragraphs[i] "\n")
			if (!at)
				return 0
			text = substr(text, at + length(paragraphs[i]) + 1)
		}
		return 1
	}
	/^```c$/ {inside = 1; text = piece = ""; next}
	/^```$/ && inside {
		inside = 0
		if (text ~ /int main/) {
			printf "%s", text >(dir "/program_" ++programs ".c")
			next
		}
		pieces++
		sub(/\n$/, "", piece)
		known = index(" " examples " ", " " example " ")
		if (!known || !quoted(piece, example)) {
			print "README.md:" NR ": not lines of the example named before, \"" \
				example "\":\n" text
			bad = 1
		}
	}
	inside {
		text = text $0 "\n"
		sub(/^[ \t]+/, "")
		piece = piece $0 "\n"
		next
	}
	{
		rest = $0
		while (match(rest, /examples\/[a-z_\/]*[.]c/)) {
			example = substr(rest, RSTART, RLENGTH)
			rest = substr(rest, RSTART + RLENGTH)
		}
	}
	END {exit bad || !programs || !pieces}
' README.md
for program in "$dir"/program_*.c; do
	"$CC" -std=c11 -Wall -Wextra -Werror -Iinclude -o "${program%.c}" "$program" \
		build/libbaton.a -lck -pthread
	said=$(timeout 30 "${program%.c}")
	if ! grep -qF "\`$said\`" README.md; then
		echo "README.md does not say what its program prints: $said"
		exit 1
	fi
done

awk -v dir="$dir" '
	/^```c$/ {inside = 1; text = ""; next}
	/^```$/ && inside {
		inside = 0
		file = sprintf("%s/piece_%02d.c", dir, ++pieces)
		print "#include \"prelude.h\"" >file
		print "int piece(struct baton_undo_log *log);" >file
		print "int piece(struct baton_undo_log *log)\n{\n(void)log;" >file
		print text "return 0;\n}" >file
		close(file)
	}
	inside {text = text $0 "\n"}
	END {exit pieces < 15}
' examples/features/README.md
for file in "$dir"/piece_*.c; do
	"$CC" -std=c11 -Wall -Wextra -Werror -Iinclude -iquote test/readme \
		-c -o "${file%.c}.o" "$file"
done
