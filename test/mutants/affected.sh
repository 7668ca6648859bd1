#!/bin/sh
# SPDX-License-Identifier: MIT
# Says which unit tests, failing calls of test/faults and scenarios of the explorer come to the
# lines in which the working tree differs from a commit, and runs them.
#
#	affected.sh
#
# The tests that come to a line are those of build/semantic/reach, which may be of an older state of
# the tree: build/semantic/mapped has the sources of that state. Environment: SINCE (HEAD): the
# commit; RUN=1: run them; MAKE.
set -u

here=test/mutants
out=build/semantic
since=${SINCE:-HEAD}
git rev-parse -q --verify "$since^{commit}" >/dev/null || {
	echo "affected: no commit $since" >&2
	exit 1
}

# The lines of a file by the numbers of the mapped state. A hunk's lines are all lines that it has
# replaced, or the line before.
mapped_lines()
{
	diff -U0 "$out/mapped/$1" "$1" | awk -v lines="$2" '
		/^@@ / {
			hunks++
			split($2 ",1", old, /[-,]/)
			split($3 ",1", new, /[+,]/)
			old_count[hunks] = old[3]
			new_count[hunks] = new[3]
			old_first[hunks] = old[2] + (old[3] == 0)
			new_first[hunks] = new[2] + (new[3] == 0)
		}
		END {
			for (i = split(lines, line, ","); i > 0; i--) {
				at = line[i]
				for (k = 1; k <= hunks && new_first[k] <= line[i]; k++) {
					at = old_first[k] + old_count[k]
					past = line[i] - new_first[k] - new_count[k]
					for (j = 1; past < 0 && j < old_count[k]; j++)
						print at - 1 - j
					at += past < 0 ? -1 : past
				}
				print at
			}
		}' | sort -nu | paste -s -d , -
}

{
	git diff -U0 "$since" -- include src test/unit test/broker/unit examples |
		awk -v new=1 -f $here/changed.awk
	git ls-files --others --exclude-standard -- test/unit test/broker/unit
} | while read -r file lines; do
	case $file in
	test/*/test_*.c)
		[ ! -e "$file" ] || echo "${file#test/}" | sed 's/\.c$//'
		continue
		;;
	esac
	if [ -e "$out/mapped/$file" ] && [ -e "$out/reach/${file##*/}" ]; then
		[ ! -e "$file" ] || lines=$(mapped_lines "$file" "$lines")
		awk -v lines="$lines" -f $here/semantic_at.awk "$out/reach/${file##*/}" \
			"$out/reach/${file##*/}" | sed 's/ .*//'
	else
		echo "affected: it is not known which tests come to $file" >&2
	fi
done | LC_ALL=C sort -u >$out/affected

tests=$(sed -n 's|^\(.*/\)*test_||p' $out/affected | paste -s -d ' ' -)
failing=$(sed -n 's|^faults/||p' $out/affected)
scenarios=$(sed -n 's|^=||p' $out/affected | paste -s -d , -)
echo "unit tests: ${tests:-none}"
echo "faults: $(echo "${failing:-none}" | paste -s -d ' ' -)"
echo "scenarios: $(echo "${scenarios:-none}" | tr , ' ')"
[ -n "${RUN-}" ] || exit 0

bad=0
[ -z "$tests" ] || $MAKE --no-print-directory check T="$tests" || bad=1
[ -z "$failing$scenarios" ] ||
	$MAKE --no-print-directory build/faults/faults build/sim/sim || exit 1
for name in $failing; do
	build/faults/faults --filter "$name *" >$out/affected.log 2>&1 || {
		cat $out/affected.log
		bad=1
	}
done
[ -z "$scenarios" ] ||
	build/sim/sim --seed 1 --brief --quiet --scenario "$scenarios" --seconds 0.05 || bad=1
exit $bad
