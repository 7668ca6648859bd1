#!/bin/sh
# SPDX-License-Identifier: MIT
# A user's program under ThreadSanitizer, with the library that `make TSAN=1` makes for such
# programs: no report, and the program's own race is found. What the ordinary library says is shown.
# Under valgrind's memcheck the program has no error, where there is valgrind.
#
#	CC=cc check.sh LABEL build/tsan/lib build
set -u

label=$1
sanitized=$2
ordinary=$3
cc=${CC:-cc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
runner=
! setarch "$(uname -m)" -R true 2>/dev/null || runner="setarch $(uname -m) -R"
passed=0
failed=0

result() # status, what
{
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "$label: $2"
	fi
}

# reports PROGRAM ARGUMENT...: runs it; the number of reports goes to standard output
reports()
{
	# shellcheck disable=SC2086 # words, on purpose
	timeout 600 $runner "$@" >"$tmp/out" 2>"$tmp/err"
	grep -c 'WARNING: ThreadSanitizer' "$tmp/err"
}

$cc -O1 -g -fsanitize=thread -Iinclude -o "$tmp/sanitized" test/sanitizer/program.c \
	"$sanitized/libbaton.a" -lck -pthread &&
	$cc -O1 -g -fsanitize=thread -Iinclude -o "$tmp/ordinary" test/sanitizer/program.c \
		"$ordinary/libbaton.a" -lck -pthread
result $? 'the program does not build'

found=$(reports "$tmp/sanitized")
[ "$found" = 0 ] && [ "$(cat "$tmp/out")" = 3600 ]
result $? "$found reports with the library made for ThreadSanitizer; $(head -n 30 "$tmp/err")"
found=$(reports "$tmp/sanitized" race)
[ "$found" -gt 0 ] && grep -q unguarded "$tmp/err"
result $? 'the race in the program was not found'
echo "$label: with the ordinary library: $(reports "$tmp/ordinary") false reports"

if command -v valgrind >/dev/null 2>&1; then
	$cc -O1 -g -Iinclude -o "$tmp/plain" test/sanitizer/program.c "$ordinary/libbaton.a" \
		-lck -pthread
	timeout 900 valgrind --fair-sched=yes --leak-check=full --error-exitcode=9 "$tmp/plain" \
		>"$tmp/out" 2>"$tmp/err"
	result $? "memcheck: $(grep -A12 '^==.*== \(Invalid\|Cond\|Use\|.*definitely\)' "$tmp/err" |
		head -n 40)"
else
	echo "$label: memcheck does not look: there is no valgrind"
fi

mkdir -p build/results
if [ -n "${BATON_ALL_CHECKS-}" ]; then
	echo "$passed $failed" >"build/results/$label"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
