#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles each form in test/upgrade/forms.txt with the headers of this version. Where the history
# is there, it compiles the old forms with the headers of 0.2, too: a form that never compiled
# proves nothing.
#
#	CC=cc forms.sh
set -u

table=test/upgrade/forms.txt
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cc=${CC:-cc}
failed=0

# As compilers of today have it by default.
flags="-std=c11 -fsyntax-only -Wno-all -Wno-extra -Werror=int-conversion
	-Werror=implicit-function-declaration -Werror=incompatible-pointer-types
	-iquote test/upgrade"

# Each piece is a function; its lines have the number of its line in the table.
pieces() # side: old, new, same
{
	awk -v side="$1" '
		BEGIN {print "#include \"prelude.h\""}
		/^#/ || !NF {next}
		{
			sep = index($0, " => ") ? " => " : " == "
			if (!(at = index($0, sep))) {
				print "#error " FILENAME ":" FNR ": neither => nor =="
				next
			}
			old = substr($0, 1, at - 1)
			new = substr($0, at + 4)
			piece = side == "new" ? new : old
			if (side == "same" ? sep == " == " : sep == " => " && piece != "-") {
				printf "#line %d \"%s\"\n", FNR, FILENAME
				printf "void piece_%d(void);\n", FNR
				printf "#line %d \"%s\"\n", FNR, FILENAME
				printf "void piece_%d(void) {%s}\n", FNR, piece
			}
		}' "$table"
}

# shellcheck disable=SC2086 # words, on purpose
compile() # include directory, file
{
	LC_ALL=C $cc $flags -I"$1" "$2"
}

fail()
{
	echo "$*"
	failed=1
}

numbers() # of a file of pieces
{
	sed -n 's/^void piece_\([0-9]*\)(void);/\1/p' "$1"
}

for side in old new same; do
	pieces $side >"$tmp/$side.c"
done
compile include "$tmp/new.c" || fail "$table: forms of this version do not compile"
compile include "$tmp/same.c" || fail "$table: forms that stay as they are do not compile"

# Most errors are found by one run of the compiler. One that it reports once only, such as a
# function that is not declared, is looked for again.
compile include "$tmp/old.c" 2>&1 | sed -n "s|^$table:\([0-9]*\):.* error: .*|\1|p" |
	sort -u >"$tmp/errors" || true
for number in $(numbers "$tmp/old.c"); do
	grep -qx "$number" "$tmp/errors" || {
		grep -E "^#include|piece_$number\(" "$tmp/old.c" >"$tmp/one.c"
		! compile include "$tmp/one.c" 2>/dev/null ||
			fail "$table:$number: compiles, and may mean something else:" \
				"$(sed -n "${number}p" "$table")"
	}
done

# The tests that say of the others that they mean the same.
sed -n 's/^[^#].* == //p' "$table" | while read -r claimed; do
	grep -rqE "^Test\(${claimed%%/*}, ${claimed#*/}," test/unit || echo "$claimed"
done >"$tmp/no_tests"
[ ! -s "$tmp/no_tests" ] || fail "$table: no such test: $(cat "$tmp/no_tests")"

# With the headers of 0.2's last commit.
if git archive aee3e30b include 2>/dev/null | tar xf - -C "$tmp" 2>/dev/null; then
	cat "$tmp/old.c" "$tmp/same.c" >"$tmp/both.c"
	compile "$tmp/include" "$tmp/both.c" || fail "$table: forms of 0.2 do not compile with it"
fi
exit $failed
