#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs test programs that were built with --coverage in build/coverage, reports what of src/ they
# ran, and checks that each line they did not run is explained in test/uncovered.txt.
#
#	coverage.sh PROGRAM...
set -eu

dir=build/coverage
find "$dir" -name '*.gcda' -exec rm {} +
rm -rf "$dir/html"
mkdir -p "$dir/html"
test/run.sh coverage "$@"

# An assertion's other branch is a bug's; its line counts.
gcovr --root . --filter 'src/' --object-directory "$dir" \
	--gcov-executable "${GCOV:-gcov}" \
	--exclude-unreachable-branches --exclude-branches-by-pattern '.*BATON_ASSERT.*' \
	--html-details "$dir/html/index.html" --csv "$dir/coverage.csv" \
	--sonarqube "$dir/coverage.xml" "$dir" >"$dir/gcovr.log" 2>&1 || {
	cat "$dir/gcovr.log"
	exit 1
}
cat >"$dir/index.html" <<END
<!DOCTYPE html>
<meta http-equiv="refresh" content="0; url=html/index.html">
<a href="html/index.html">Coverage</a>
END

awk -F , '
function row(name, lines, hit, branches, taken) {
	printf "%-24s %6d %6d %6.1f%% %8d %6d %6.1f%%\n", name, lines, hit,
		lines ? 100 * hit / lines : 100, branches, taken,
		branches ? 100 * taken / branches : 100
}
NR == 1 {
	for (i = 1; i <= NF; i++)
		at[$i] = i
	printf "%-24s %6s %6s %7s %8s %6s %7s\n", "file", "lines", "run", "", "branches",
		"taken", ""
	next
}
{
	row($at["filename"], $at["line_total"], $at["line_covered"], $at["branch_total"],
	    $at["branch_covered"])
	lines += $at["line_total"]
	hit += $at["line_covered"]
	branches += $at["branch_total"]
	taken += $at["branch_covered"]
}
END { row("all", lines, hit, branches, taken) }' "$dir/coverage.csv" | tee "$dir/summary.txt"

tr '>' '\n' <"$dir/coverage.xml" >"$dir/lines.txt"
awk -f test/uncovered.awk test/uncovered.txt "$dir/lines.txt"
