# SPDX-License-Identifier: MIT
# Is each line that no test runs explained, and does each explanation explain something?
#
#	awk -f test/uncovered.awk test/uncovered.txt lines.txt
#
# lines.txt: gcovr's --sonarqube, each tag on a line of its own.

function squeeze(text)
{
	gsub(/[ \t]+/, " ", text)
	sub(/^ /, "", text)
	sub(/ $/, "", text)
	return text
}

function complain(message)
{
	print message
	bad = 1
}

# "src/file.c:function: the line's text -- kind: reason"; the text is * for all of a function.
function read_explanation(line,    key, reason, at)
{
	at = index(line, " -- ")
	if (line !~ /^src\/[^: ]+:[^: ]+: / || !at) {
		complain(FILENAME ":" FNR ": not FILE:FUNCTION: TEXT -- KIND: REASON")
		return
	}
	reason = substr(line, at + 4)
	key = substr(line, 1, at - 1)
	if (reason !~ /^(sometimes, )?(faults|interleaving|machine|unreachable): ./)
		complain(FILENAME ":" FNR ": the reason begins with faults:, interleaving:, " \
		         "machine: or unreachable:, perhaps behind \"sometimes, \"")
	if (key in explained)
		complain(FILENAME ":" FNR ": stands there twice")
	explained[key] = FILENAME ":" FNR
	sometimes[key] = reason ~ /^sometimes, /
}

# The text of each line of a source file, and the function that it is in.
function read_source(file,    line, number, name, inside)
{
	name = "-"
	number = 0
	inside = 0
	while ((getline line <file) > 0) {
		number++
		text[file, number] = squeeze(line)
		sub(/^__attribute__\(\(.*\)\) /, "", line)
		if (!inside && line ~ /^[A-Za-z_].*[a-z_0-9]\(/) {
			name = line
			sub(/\(.*/, "", name)
			sub(/^.*[^A-Za-z_0-9]/, "", name)
		}
		inside = line ~ /^{/ ? 1 : line ~ /^}/ ? 0 : inside
		function_of[file, number] = name
	}
	close(file)
}

function note_line(number, covered,    key, all)
{
	key = file ":" function_of[file, number] ": " text[file, number]
	all = file ":" function_of[file, number] ": *"
	there[key] = there[all] = 1
	if (covered)
		return
	uncovered[key] = uncovered[all] = 1
	if (key in explained || all in explained)
		counted++
	else
		complain(file ":" number ": no test runs this: write one, or explain it in " \
		         "test/uncovered.txt: " key)
}

FILENAME ~ /uncovered\.txt$/ {
	if ($0 !~ /^(#.*)?$/)
		read_explanation($0)
	next
}

/<file path=/ {
	file = $0
	sub(/^.*<file path="/, "", file)
	sub(/".*$/, "", file)
	sub(/^.*\/src\//, "src/", file)
	read_source(file)
}

/<lineToCover/ {
	number = $0
	sub(/^.*lineNumber="/, "", number)
	sub(/".*$/, "", number)
	note_line(number + 0, /covered="true"/)
}

END {
	for (key in explained) {
		if (!(key in there))
			complain(explained[key] ": explains a line that is gone: " key)
		else if (!(key in uncovered) && !sometimes[key])
			complain(explained[key] ": a test runs this now, so take it out: " key)
	}
	if (!bad)
		print "Each line of src/ is run or explained (" counted + 0 " explained)."
	exit bad
}
