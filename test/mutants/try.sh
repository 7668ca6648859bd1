#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds one mutant into an explorer of its own and looks whether a scenario fails.
#
#	try.sh NAME FILE PLACE FATE
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
fate=$4
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
[ "${file%.h}" = "$file" ] || sources=$(grep -lF " $file" build/sim/src/*/*.d \
	build/sim/src/*/*/*.d |
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
}' build/mutants/known)
# shellcheck disable=SC2086 # words, on purpose
[ -z "$killer" ] || look $killer --seconds 20

# The scenarios that come to the place; if it is a function that none is known to come to, all.
# First those that are made for one edge, then those whose names have most words of the mutant's.
reach()
{
	awk -v place="$1" -v about="$name $place" '
	$3 ~ /./ && (place == "" || $3 == place || index($3, place ":") == 1) && !seen[$1]++ {
		alike = 0
		for (i = split($1, words, "_"); i > 0; i--)
			alike += length(words[i]) > 2 && index(about, words[i])
		print $1 !~ /^edge_/, -alike, "=" $1
	}' build/mutants/sites | sort -s -k1,1n -k2,2n | cut -d ' ' -f 3
}
scenarios=$(reach "$place")
if [ -z "$scenarios" ]; then
	case $name in
	*:*) over survives: no scenario comes there ;;
	esac
	scenarios=$(reach "")
fi

# These for SECONDS each.
#	look_at SECONDS SCENARIO...
look_at()
{
	seconds=$1
	shift
	[ $# -eq 0 ] || look --seconds "$seconds" --scenario "$(echo "$*" | tr ' ' ,)"
}
edges=$(echo "$scenarios" | grep '^=edge_')
first=$(echo "$scenarios" | grep -v '^=edge_' | head -n 24)
rest=$(echo "$scenarios" | grep -v '^=edge_' | tail -n +25)
# shellcheck disable=SC2086 # words, on purpose
{
	look_at "${LONG:-0.03}" $edges
	look_at "${LONG:-0.02}" $first
	# Of one that is said to survive, or to be found rarely, this is enough.
	if [ "$fate" = found ] || [ -n "${LONG-}" ]; then
		look_at "${LONG:-0.02}" $rest
		[ -n "${LONG-}" ] || look_at 0.3 $edges $first
	fi
}
over survives
