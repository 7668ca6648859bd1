#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the explorer's scenarios that are beside what has changed: those of a scenario file that has,
# and those whose file or name has the name of a source or header that has (cancel.c: cancel_...);
# all, each for a shorter time, where nothing has a changed source's name. Some 30 s of CPU time.
#
#	changed.sh LABEL EXPLORER [COMMIT]
#
# Changed is what differs from COMMIT (HEAD) or is not in git; if nothing does, the last commit.
set -u

label=$1
explorer=$2
since=${3:-HEAD}
sources='include/baton src test/sim/scenarios'

changes() # commit
{
	# shellcheck disable=SC2086 # words, on purpose
	{
		git diff --name-only "$1" -- $sources
		git ls-files --others --exclude-standard -- $sources
	} | grep '\.[ch]$' | tr '\n' ' '
}

changed=$(changes "$since")
[ -n "$changed" ] || changed=$(changes HEAD~1)
if [ -z "$changed" ]; then
	echo "$label: no source has changed"
	mkdir -p build/results
	echo 0 0 >"build/results/$label"
	exit 0
fi

# FILE NAME of each scenario; then the changed files choose.
names=$(for file in test/sim/scenarios/*.c; do
		tr -s '\n\t ' ' ' <"$file" |
			grep -oE 'SIM_(SCENARIO|SCRIPT(_FROZEN)?)\([a-z_0-9]+' |
			sed "s|.*(|$file |"
	done | awk -v changed="$changed" '
	{
		file[NR] = $1
		name[NR] = $2
	}
	END {
		count = split(changed, paths, " ")
		for (i = 1; i <= count; i++) {
			word = paths[i]
			sub(/.*\//, "", word)
			sub(/s?\.[ch]$/, "", word)
			alike = 0
			for (j = 1; j <= NR; j++) {
				base = file[j]
				sub(/.*\//, "", base)
				if (paths[i] == file[j] || paths[i] !~ /^test/ &&
				    (index(base, word) || index(name[j], word))) {
					chosen[j] = 1
					alike = 1
				}
			}
			if (!alike)
				exit # all of them: no names
		}
		for (j = 1; j <= NR; j++)
			if (j in chosen)
				printf "%s=%s", sep++ ? "," : "", name[j]
	}')
count=$(if [ -n "$names" ]; then echo "$names" | tr ',' '\n'; else "$explorer" --list; fi | wc -l)
test/sim/run.sh "$label" "$explorer" ${names:+--scenario "$names"} \
	--seconds "$(awk -v count="$count" 'BEGIN {print 15 / count < 0.5 ? 15 / count : 0.5}')"
