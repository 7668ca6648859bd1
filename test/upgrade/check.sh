#!/bin/sh
# SPDX-License-Identifier: MIT
# The script that rewrites programs of 0.2 (src/upgrade/to-0.3.sh) rewrites a program of 0.2 as it
# should, names what it leaves, and compiles; so do the examples of 0.2, where the history is there.
#
#	CC=cc check.sh
set -u

if [ "${1-}" = --try ]; then # directory file
	message=$(${CC:-cc} -std=c11 -D_GNU_SOURCE -fsyntax-only -w -Werror=int-conversion \
		-Werror=implicit-function-declaration -Iinclude -iquote "$2/examples/broker" \
		"$2/$3" 2>&1) && exit
	case $message in
	*"No such file"*) exit ;;
	esac
	echo "$message" | grep error: | head -n 3
	exit 1
fi

script=src/upgrade/to-0.3.sh
here=test/upgrade
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

fail()
{
	echo "$*"
	failed=1
}

# ---- A program with each form that the script has a rule for ----
cp $here/program.c.0.2 "$tmp/program.c"
(cd "$tmp" && "$OLDPWD/$script" program.c 2>left)
[ $? = 1 ] || fail "$script: its exit status is not 1, although it leaves something"
diff $here/program.c.0.3 "$tmp/program.c" || fail "$script: rewrites program.c.0.2 otherwise"
diff $here/program.c.left "$tmp/left" || fail "$script: leaves other places of program.c.0.2"
cp "$tmp/program.c" "$tmp/again.c"
"$script" "$tmp/again.c" 2>/dev/null
cmp -s "$tmp/program.c" "$tmp/again.c" || fail "$script: a second run changes something"

# A header of 0.2 brought <time.h>.
printf '#include <baton.h>\nstruct timespec now(void);\n' >"$tmp/time.c"
"$script" "$tmp/time.c" 2>/dev/null
${CC:-cc} -std=c11 -D_GNU_SOURCE -fsyntax-only -Wall -Werror -Iinclude "$tmp/time.c" ||
	fail "$script: a program that has <time.h> from baton.h does not compile"

# What it leaves is all that the compiler does not like.
${CC:-cc} -std=c11 -D_GNU_SOURCE -fsyntax-only -w -Iinclude "$tmp/program.c" 2>&1 |
	sed -n 's/^[^:]*program\.c:\([0-9]*\):.* error: .*/program.c:\1:/p' |
	sort -u >"$tmp/errors"
while read -r place; do
	grep -q "^$place" "$tmp/left" || fail "$script: $place: does not compile, and is not named"
done <"$tmp/errors"

# ---- The examples of 0.2, from its last commit ----
if git archive aee3e30b examples 2>/dev/null | tar xf - -C "$tmp" 2>/dev/null; then
	(cd "$tmp" && find examples -name '*.[ch]' | sort | xargs "$OLDPWD/$script" 2>left)
	diff $here/examples.left "$tmp/left" || fail "$script: leaves other places of the examples"
	# Where it leaves nothing, an example compiles; if all its headers are here.
	(cd "$tmp" && find examples -name '*.c') |
		grep -vxF "$(sed 's/:.*//' $here/examples.left)" |
		xargs -P "$(nproc)" -L 1 "$0" --try "$tmp" ||
		fail "$script: examples of 0.2 do not compile after it"
fi
exit $failed
