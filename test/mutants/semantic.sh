#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes small faults in the library and in the broker's own files, a random sample, and looks
# whether the unit tests, the failing calls of test/faults and a quick look of the explorer find
# them.
#
#	semantic.sh LABEL [TEXT...]
#
# With PATCH, a patch or a folder of them: judges these faults, written by hand, in place of a
# sample. Each is of one file, and applies to the tree as it is. Fails if one survives.
#
# TEXT: all whose name contains one, in place of a sample. Fails if one survives that is not in
# semantic_survivors.txt, or if one that is there has no fault of its name or is found. Environment:
# as semantic_try.sh; FILES: what is mutated; REDIS_FILES: likewise, of libbaton-redis, whose faults
# take minutes each, and are drawn only where ONLY has "redis" in it (semantic_redis.sh); ONLY: an
# extended regular expression, which selects the files that sample and TEXT are drawn from; SEED,
# SAMPLE: which, and how many; JOBS; RESUME=1: goes on where a run with the same SEED and SAMPLE was
# stopped.
set -u

label=$1
shift
here=test/mutants
out=build/semantic
seed=${SEED:-$(date +%s)}
[ -n "${RESUME-}" ] || rm -rf $out/results $out/times
rm -rf $out/tried
mkdir -p $out/results $out/tried build/results
begin=$(date +%s)

# Puts what a patch makes of its file where the try looks for it, and prints the fault's line.
#	patched PATCH
patched()
{
	name=$(basename "$1" .patch)
	# shellcheck disable=SC2046 # words, on purpose
	set -- "$1" $(awk -f $here/changed.awk "$1")
	lines=${3-}
	why=
	case " $FILES ${REDIS_FILES-} " in
	*" ${2-} "*) ;;
	*) why="no test here is of ${2:-it}" ;;
	esac
	if [ $# -ne 3 ]; then
		why="it does not change the code of one file"
	elif [ -z "$why" ]; then
		patch -s -f -p1 -r - -o $out/patched/"$name" "$2" <"$1" >/dev/null ||
			why="it does not apply"
	fi
	[ -z "$why" ] || echo "broken $why" >$out/results/"$name"
	echo "$name ${2-} $(awk -v at="${lines%%,*}" '
		NR <= at && /^[A-Za-z_].*[A-Za-z0-9_]\(/ && !/^#/ && !/;$/ {
			where = $0
			sub(/\(.*/, "", where)
			sub(/.*[^A-Za-z0-9_]/, "", where)
		}
		END {print where == "" ? "-" : where}' "${2:-/dev/null}") $lines"
}

rm -rf $out/patched
mkdir -p $out/patched
# shellcheck disable=SC2086 # words, on purpose
for file in $FILES; do
	awk -f $here/semantic.awk include/baton/*.h src/*/*.h src/*/*/*.h \
		"${file%/*}"/*.h -- "$file"
done >$out/all
# shellcheck disable=SC2086 # words, on purpose
for file in ${REDIS_FILES-}; do
	case $file in
	*.lua) awk -f $here/semantic_lua.awk "$file" ;;
	*) awk -f $here/semantic.awk include/baton/*.h src/*/*.h src/*/*/*.h -- "$file" ;;
	esac
done >>$out/all
awk -v only="${ONLY-}" '$2 ~ only && (only ~ /redis/ || $2 !~ /redis/)' $out/all >$out/chosen
if [ -n "${PATCH-}" ]; then
	find "$PATCH" -name '*.patch' | sort | while read -r patch; do patched "$patch"; done
elif [ $# -gt 0 ]; then
	printf '%s\n' "$@" | grep -F -f - $out/chosen
else
	echo "$label: SEED=$seed SAMPLE=${SAMPLE:-300} of $(wc -l <$out/chosen)"
	awk -v seed="$seed" 'BEGIN {srand(seed)} {printf "%.9f %s\n", rand(), $0}' $out/chosen |
		sort -k1,1n | head -n "${SAMPLE:-300}" | cut -d ' ' -f 2-
fi >$out/list.new
grep -v -e ': SEED=' $out/list.new >$out/list
grep -e ': SEED=' $out/list.new

# Without the broker's.
library()
{
	echo "$1" | tr ' ' '\n' | grep -v examples/
}

# A program that fails without a fault says nothing about faults.
: >$out/fail
# shellcheck disable=SC2046,SC2086 # words, on purpose
$LINK -o $out/faults $FAULTS $(library "$OBJECTS") $LINK_FLAGS || exit 1
if ! timeout 120 build/bench/counts >$out/fail.log 2>&1; then
	echo "$label: counts fails by itself, and is left out"
	echo counts >>$out/fail
fi
# With RESUME=1: what an earlier run of the same sample has not come to.
while read -r line; do
	[ -e "$out/results/${line%% *}" ] || echo "$line"
done <$out/list | cut -f 1 | xargs -r -P "${JOBS:-$(nproc)}" -n 4 $here/semantic_try.sh

if [ -n "${PATCH-}" ]; then
	while read -r name _; do
		echo "$name $(cat "$out/results/$name" 2>/dev/null || echo broken no result)"
	done <$out/list | awk -v label="$label" '
		{print; n[$2]++}
		END {
			printf "%s: %u patches: %u noticed, %u survive, %u are not judged\n", label,
				NR, n["killed"], NR - n["killed"] - n["broken"] - n["same"],
				n["broken"] + n["same"]
			exit NR != n["killed"]
		}'
	exit
fi

# ---- What came of it, per area ----
while read -r name file _; do
	echo "$name $file $(cat "$out/results/$name" 2>/dev/null || echo broken no result)"
done <$out/list >$out/summary
awk -v seconds=$(($(date +%s) - begin)) -v results="${BATON_ALL_CHECKS+build/results/$label}" '
function area_of(file) {
	if (file ~ /broker|redis/)
		return file ~ /redis/ ? "redis" : "broker"
	if (file ~ /core\/gauge/)
		return "gauge"
	if (file ~ /\/hooks\//)
		return "hooks"
	if (file ~ /(mainloop|admission)\//)
		return file ~ /mainloop/ ? "mainloop" : "admission"
	sub(/.*\//, "", file)
	if (file ~ /^(pool|worker|park|idle|crew|vacancy|spawn|withdraw|default_pool|cpus)/ ||
	    file ~ /^(runqueue|injection)/)
		return "pool"
	if (file ~ /^(wheel|timer)/)
		return "timers"
	if (file ~ /^(registry|nameset|epoch)/)
		return "registry"
	if (file ~ /^(suspend|quiesce|group|fan_out|undo|detach|deadline|window|trigger)/ ||
	    file ~ /^(lane|bound|tag|label|extension|stats)/)
		return "modules"
	return "core"
}
FNR == 1 {
	part++
}
part == 1 {
	if ($0 !~ /^#/ && $0 !~ /^[ \t]/ && NF)
		known[$1] = 1
	next
}
part == 2 {
	exists[$1] = 1
	next
}
{
	area = area_of($2)
	if ($3 == "broken" || $3 == "same") {
		left_out++
		next
	}
	tried[area]++
	if ($3 == "killed" && !($1 in known)) {
		noticed[area]++
		killed++
	} else if ($3 ~ /^survives/ && $1 in known) {
		explained[area]++
		argued++
	} else {
		print $1, substr($0, index($0, $3)) \
			($1 in known ? ", and is in semantic_survivors.txt" : "")
		bad++
	}
}
END {
	for (name in known)
		if (!(name in exists)) {
			print name " is in semantic_survivors.txt, but there is no such fault"
			bad++
		}
	for (area in tried)
		printf "%-9s %u of %u noticed, %u survive as explained\n", area, noticed[area],
			tried[area], explained[area]
	if (results != "")
		print killed + argued, bad + 0 >results
	printf "%u faults: %u noticed, %u survive as explained, %u unexplained or wrong; " \
		"%u make no other code or do not compile (%u s)\n", killed + argued + bad,
		killed, argued, bad, left_out, seconds
	exit bad > 0
}' $here/semantic_survivors.txt $out/all $out/summary
