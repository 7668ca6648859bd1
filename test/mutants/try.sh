#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds one mutant into an explorer of its own and looks whether a scenario fails.
#
#	try.sh NAME FILE PLACE
#
# Leaves a line in build/mutants/results/NAME:
#	killed SCENARIO WAY
#	survives[: no scenario comes there]
#	broken WHY           it does not compile, or its passage is not there
#
# Environment: COMPILE (command and flags), LINK (command), LINK_OBJECTS, LINK_FLAGS; LONG=n: look
# for n seconds at each scenario, in each way of searching; KEEP=1 keeps the mutant's files.
set -u

name=$1
file=$2
place=$3
here=test/mutants
dir=build/mutants/tried/$name
result=build/mutants/results/$name
mkdir -p "$dir"

over()
{
	echo "$@" >"$result"
	[ -n "${KEEP-}" ] || rm -rf "$dir"
	exit 0
}

# ---- Mutate ----
mkdir -p "$dir/${file%/*}"
case $file in
*.h) cp -R src include "$dir" ;;
esac
case $name in
*:*) awk -v name="$name" -f $here/orders.awk "$file" >"$dir/$file" ;;
*) awk -v name="$name" -f $here/structural.awk $here/structural.txt "$file" >"$dir/$file" ;;
esac || over "broken its passage is not there"
! cmp -s "$file" "$dir/$file" || over "broken nothing is changed"

# ---- Compile what is concerned, link the rest as it is ----
sources=$file
# A header: the sources that include it, as the compiler has noted for the explorer.
[ "${file%.h}" = "$file" ] || sources=$(grep -lF " $file" build/sim/src/*/*.d |
	sed 's|^build/sim/||; s|\.d$|.c|')
[ -n "$sources" ] || over "broken no source includes it"
# The scenarios that compile the idle path, or what boards share with baton-top, themselves.
case $file in
include/*) include='<baton/inline\.h>' ;;
src/inspect/*.h) include='"inspect/' ;;
*) include= ;;
esac
if [ -n "$include" ]; then
	users=$(grep -l "$include" test/sim/scenarios/*.c) &&
		mkdir -p "$dir/test/sim/scenarios" &&
		cp $users test/sim/scenarios/*.h "$dir/test/sim/scenarios" &&
		sources="$sources $users"
fi
compile=$(echo "$COMPILE" |
	sed "s| -iquote src -Iinclude| -iquote $dir/src -iquote src -I$dir/include -Iinclude|")
objects=$LINK_OBJECTS
for source in $sources; do
	object=${source%.c}.simo
	case " $objects " in
	*" build/sim/$object "*) ;;
	*) continue ;;
	esac
	# shellcheck disable=SC2086 # words, on purpose
	$compile -w -g0 -include $here/split.h -c -o "$dir/$object" "$dir/$source" \
		2>"$dir/errors" ||
		over "broken $(head -n 1 "$dir/errors")"
	objects=$(echo " $objects " | sed "s| build/sim/$object | $dir/$object |")
done
# shellcheck disable=SC2086 # words, on purpose
$LINK -o "$dir/sim" $objects $LINK_FLAGS 2>"$dir/errors" ||
	over "broken $(head -n 1 "$dir/errors")"

# ---- Look ----
look()
{
	found=$("$dir/sim" --seed 1 --brief --quiet "$@" 2>"$dir/errors" |
		awk '$2 == "search" || $2 == "walk" || $2 == "freeze" || $2 == "died" {
			print $1, $2; exit}')
	[ -z "$found" ] || over "killed $found"
}

# What has killed it before.
killer=$(awk -v name="$name" '$1 == name {
	print "--scenario =" $2, $3 == "died" ? "" : "--way " $3
	exit
}' $here/killers.txt)
# shellcheck disable=SC2086 # words, on purpose
[ -z "$killer" ] || look $killer --seconds 4

# The scenarios that come to the place; if it is a function that none is known to come to, all.
again=0.3
scenarios=$(awk -v place="$place" '($3 == place || index($3, place ":") == 1) && !seen[$1]++ {
	printf "%s=%s", comma, $1
	comma = ","
}' build/mutants/sites)
if [ -z "$scenarios" ]; then
	case $name in
	*:*) over survives: no scenario comes there ;;
	esac
	again=0.03
	scenarios=$(awk '!seen[$1]++ {printf "%s=%s", comma, $1; comma = ","}' build/mutants/sites)
fi
# First those that are made for one edge; then others, those first whose name has a word of the
# mutant's, and, unless LONG is set, not all; then the first again, for longer, unless it is known
# that they find nothing.
limit=24
[ -z "${LONG-}" ] || limit=1000
edges=$(echo "$scenarios" | tr , '\n' | grep '^=edge_' | paste -s -d , -)
scenarios=$(echo "$scenarios" | tr , '\n' | grep -v '^=edge_' |
	awk -v about="$name $place" '{word = substr($0, 2); sub(/_.*/, "", word)
		print index(about, word) ? 0 : 1, $0}' | sort -s -k1,1n | cut -d ' ' -f 2 |
	head -n $limit | paste -s -d , -)
[ -z "$edges" ] || look --scenario "$edges" --seconds 0.03
[ -z "$scenarios" ] || look --scenario "$scenarios" --seconds "${LONG:-0.02}"
if [ -n "$edges" ] && ! sed 's/^~ //' test/mutants/survivors.txt | grep -q -x -F "$name"; then
	look --scenario "$edges" --seconds "${LONG:-$again}"
fi
over survives
