# SPDX-License-Identifier: MIT
# Does a program that was built with the interface of one file run with that of another? Each fact
# of the first must be one of the second, except what is reserved: members may take its place, as
# long as the struct keeps its size. Facts may be added.
#
#	awk -v version=VERSION_NOW -f compare.awk RELEASED.txt NOW.txt
#
# The released file begins with its version. A symbol that was not in that release has a version of
# its own, as soon as the version is another.

function complain(text)
{
	print text
	bad = 1
}

{
	key = $0
	sub(/: .*/, "", key)
}

/^# baton / {released = $3}
/^#/ {next}

FILENAME == ARGV[1] {
	before[key] = $0
	if ($1 == "symbol")
		versions[$2, $4] = 1
	next
}

{
	now[key] = $0
	if ($1 == "symbol")
		made[$2] = 1
	compared = compared || $1 == "symbol" && key in before
}

$1 == "symbol" && !(key in before) && version != released && (($2, $4) in versions) {
	complain($2 ": " $3 " came after " released ", and has its version " $4 \
		": give it one of its own, in the map")
}

END {
	for (key in before) {
		split(key, part, " ")
		if (key in now && now[key] == before[key] || key ~ /[.]_reserved$/)
			continue
		if (part[1] ~ /^(library|symbol)$/ && !(part[2] in made))
			skipped[part[2]] = 1 # it was not made here
		else if (key in now)
			complain("was " before[key] "\n now " now[key])
		else
			complain("gone: " before[key])
	}
	for (library in skipped)
		print library " is not there, and not compared"
	if (!compared)
		complain("no library is there that the release had")
	exit bad
}
