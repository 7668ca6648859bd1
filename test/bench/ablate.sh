#!/bin/sh
# SPDX-License-Identifier: MIT
# What each remedy of src/core/contention.h is worth: the benchmark with the library without it,
# and with the whole library, in turns.
#
#	ablate.sh REMEDY...
#
# build/ablate/NAME is the benchmark without the remedy NAME; build/ablate/all has all of them.
# ROUNDS (3): rounds; ONLY: the benchmark's tables, a part of the title each; BENCH_ARGS.
# Prints a line for each table and way to submit: for each remedy, the ratio to the mutex with all
# remedies by that without this one (1.10: the remedy is worth 10 %), the median of the rounds.
set -u

dir=build/ablate
rounds=${ROUNDS:-3} # empty, too
only=${ONLY:-W2: async;W2s;W3: 1;W6: broker}
rm -f $dir/*.json
round=1
order="all $*"
while [ "$round" -le "$rounds" ]; do
	for name in $order; do
		# shellcheck disable=SC2086 # words, on purpose
		$dir/$name --quick --runs 1 --only "$only" --json $dir/$name.$round.json \
			${BENCH_ARGS-} >$dir/log 2>&1 || {
			tail -n 5 $dir/log
			exit 1
		}
	done
	round=$((round + 1))
	# Who comes first meets another state of the machine: the next round goes the other way.
	back=
	for name in $order; do
		back="$name $back"
	done
	order=$back
done

awk -v remedies="$*" -v rounds="$rounds" '
	function text(line, key) {
		sub(".*\"" key "\": \"", "", line)
		sub(/".*/, "", line)
		return line
	}
	function number(line, key) {
		sub(".*\"" key "\": ", "", line)
		return line + 0
	}
	function median(list, count, i, j, swap) {
		for (i = 1; i < count; i++)
			for (j = i + 1; j <= count; j++)
				if (list[j] < list[i]) {
					swap = list[i]
					list[i] = list[j]
					list[j] = swap
				}
		return (list[int((count + 1) / 2)] + list[int(count / 2) + 1]) / 2
	}
	function worth(row, remedy, round, without) {
		without = ratio[row, remedy, round]
		return without ? ratio[row, "all", round] / without : 0
	}
	FNR == 1 {
		split(FILENAME, part, "[/.]")
		name = part[3]
		round = part[4]
		group = ""
	}
	/"group"/ {
		if (text($0, "group") != group) {
			group = text($0, "group")
			metric = text($0, "metric")
			mutex = 0
		}
		if (text($0, "metric") != metric)
			next
		if (text($0, "contender") == "pthread_mutex")
			mutex = number($0, "median")
		else if (text($0, "contender") ~ /^baton/ && mutex > 0) {
			row = group " | " text($0, "contender")
			if (!(row in known)) {
				known[row] = 1
				rows[++count] = row
			}
			ratio[row, name, round] = number($0, "median") / mutex
		}
	}
	END {
		kinds = split(remedies, kind, " ")
		printf "%-72s %9s", "worth of the remedy; all: baton by the mutex", "all"
		for (k = 1; k <= kinds; k++)
			printf " %15s", kind[k]
		print ""
		for (i = 1; i <= count; i++) {
			for (r = 1; r <= rounds; r++)
				list[r] = ratio[rows[i], "all", r]
			printf "%-72s %9.3f", substr(rows[i], 1, 72), median(list, rounds)
			for (k = 1; k <= kinds; k++) {
				for (r = 1; r <= rounds; r++)
					list[r] = worth(rows[i], kind[k], r)
				printf " %15.2f", median(list, rounds)
			}
			print ""
		}
	}' $dir/*.json
