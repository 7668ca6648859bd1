#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: age.sh FILE...
# How old are the figures? Prints, for each commit that a file names beside figures ("commit
# 0123abc"), how many later commits have changed what was measured. Status 1: a figure is older than
# AGE_MAX such commits (default: no limit), or its commit is not in the history.
set -u

age_max=${AGE_MAX:-}
failed=0

if ! git rev-parse --git-dir >/dev/null 2>&1; then
	echo "no history here: the age of the figures is not known"
	exit 0
fi
if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
	echo "a shallow clone: the age of the figures is not known"
	exit 0
fi
for file in "$@"; do
	case $file in
	examples/broker/*) measured='src include examples/broker' ;;
	*) measured='src include' ;;
	esac
	for commit in $(grep -oE 'commit [0-9a-f]{7,12}\b' "$file" | cut -d' ' -f2 | sort -u); do
		# shellcheck disable=SC2086 # two folders
		if ! age=$(git rev-list --count "$commit..HEAD" -- $measured 2>/dev/null); then
			echo "$file: commit $commit is not in the history: measure again"
			failed=1
			continue
		fi
		printf '%s: figures of commit %s: %s later commits changed what they measure\n' \
			"$file" "$commit" "$age"
		if [ -n "$age_max" ] && [ "$age" -gt "$age_max" ]; then
			failed=1
		fi
	done
done
exit $failed
