#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks the models with spin: that they speak of the sources as they are (src.awk), that they hold,
# and that each of their breaks is found. Run at the top.
#
#	check.sh LABEL [--deep]
#
# One line per run: states stored, transitions, depth, seconds. Two runs at a time. A search that
# was cut short, by depth or memory, is an error. Under test/all.sh the sum goes to
# build/results/LABEL, else to the last line. Needs: spin, a C compiler.
set -u

models=test/models
dir=build/models
# What the models speak of; every operation on memory in these is in a model, or in out.txt.
sources='inline.h word.h word.c turn.h turn.c frame.h bracket.h bracket.c submit.h submit.c
	resource.c loan.h loan.c debt.c run.c backlog.c inbox.c marks.c drain.c shelf.c handoff.c
	deferred.c callback.c help.c visit.c cancel.c close.c await.c kick.c call.c future.h
	future.c wait.c wait_help.c thread.h thread.c futex.c idle.c alarm.h alarm.c crew.c park.c
	worker.c slot.h steal.c pool.c withdraw.c suspend.c hold.c hold_grant.c who.c reader.c
	reader_party.c hold_shared.c'

# What pan says of a search that has not seen everything.
cut='search depth too small|Search not completed|reached -DMEMLIM'

# One run: KIND (safe, live, break: finds an error), MODEL, MiB, -D...
one() {
	number=$1 kind=$2 model=$3 memory=$4
	shift 4
	here=$dir/$number
	mkdir -p "$here"
	cp "$models/$model.pml" "$here/"
	# A quick search is over before a better compilation of it would be (by gcc: a second); deep
	# ones need memory.
	compile=tcc flags=-DSAFETY search=
	command -v tcc >/dev/null || compile="${CC:-cc} -O0"
	[ "$memory" -le 1000 ] || compile="${CC:-cc} -O2 -DCOLLAPSE"
	case $kind in
	live) flags='-DNFAIR=3' search='-a -f' ;;
	esac
	[ "$kind" != live ] || set -- "$@" -DLIVE
	why=
	# shellcheck disable=SC2086 # words, on purpose
	if ! (cd "$here" && spin -a "$@" "$model.pml" >spin.log 2>&1 &&
		$compile -w $flags -DMEMLIM="$memory" -o pan pan.c 2>cc.log); then
		why='does not compile'
	else
		(cd "$here" && timeout 900 ./pan -m400000 $search >log 2>&1)
		errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$here/log" | tail -n 1)
		if [ -z "$errors" ]; then
			why='pan did not end well'
		elif [ "$kind" = break ]; then
			[ "$errors" -gt 0 ] || why='the break is not found'
		elif [ "$errors" -gt 0 ]; then
			why=$(sed -n 's/^pan:[0-9]*: //p' "$here/log" | head -n 1)
		elif grep -Eq "$cut" "$here/log"; then
			why='the search was cut short'
		fi
	fi
	printf '%-5s %-9s %10s states %10s transitions %6s deep %7s s  %s%s\n' "$kind" "$model" \
		"$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' "$here/log" 2>/dev/null)" \
		"$(sed -n 's/^ *\([0-9]*\) transitions.*/\1/p' "$here/log" 2>/dev/null)" \
		"$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' "$here/log" 2>/dev/null)" \
		"$(sed -n 's/.*elapsed time \([0-9.]*\).*/\1/p' "$here/log" 2>/dev/null)" \
		"$*" "${why:+ -- FAILED: $why}"
	if [ -z "$why" ]; then
		echo pass >"$here/result"
		rm -f "$here/pan" "$here"/pan.? "$here"/*.tmp
	else
		echo fail >"$here/result"
		[ ! -e "$here/$model.pml.trail" ] ||
			echo "  see: cd $here && spin -t -p -g -k $model.pml.trail $* $model.pml"
	fi
}

if [ "${1-}" = --one ]; then
	shift
	one "$@"
	exit 0
fi

label=${1:-check-models}
deep=${2-}
if ! command -v spin >/dev/null; then
	echo 'check.sh: spin is missing (Debian: apt-get install spin)' >&2
	exit 1
fi
rm -rf "$dir"
mkdir -p "$dir" build/results

passed=0
failed=0
files=
for file in $sources; do
	found=$(find src include -name "$file")
	[ -n "$found" ] || {
		echo "check.sh: there is no $file any more: where has it gone?" >&2
		exit 1
	}
	files="$files $found"
done
# shellcheck disable=SC2086 # words, on purpose
if awk -f $models/src.awk $models/*.pml $models/out.txt $files; then
	passed=$((passed + 1))
else
	failed=$((failed + 1))
fi

# runs.txt: quick|deep KIND MODEL -D...
awk -v deep="$deep" '
	/^(quick|deep) / && (deep != "" || $1 == "quick") {
		number++
		memory = $1 == "quick" ? 700 : 2600
		$1 = ""
		kind = $2
		model = $3
		$2 = ""
		$3 = ""
		sub(/^ */, "")
		sub(/ *$/, "")
		# A blank at the end would join lines in xargs.
		print number, kind, model, memory ($0 == "" ? "" : " " $0)
	}' $models/runs.txt >"$dir/runs"
xargs -P 2 -L 1 "$0" --one <"$dir/runs"

while read -r number rest; do
	if [ "$(cat "$dir/$number/result" 2>/dev/null)" = pass ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		[ -e "$dir/$number/result" ] || echo "FAILED, without a result: $rest"
	fi
done <"$dir/runs"

# A line of a model that no run reaches says nothing; but what an inline brings along may be more
# than its caller needs.
for model in "$models"/*.pml; do
	count=0
	lists=
	while read -r number kind name rest; do
		[ "$name" = "$(basename "$model" .pml)" ] || continue
		[ "$kind" = safe ] || [ "$kind" = live ] || continue
		count=$((count + 1))
		lists="$lists $dir/$number/log"
	done <"$dir/runs"
	# shellcheck disable=SC2086 # words, on purpose
	awk -v runs=$count '
		FILENAME ~ /[.]pml$/ {
			if (/^inline /)
				inside = 1
			if (inside)
				inlined[FNR] = 1
			if (/^}/)
				inside = 0
			next
		}
		FNR == 1 { delete seen }
		/^\t.*[.]pml:[0-9]+, state / {
			line = $0
			sub(/, state [0-9]+/, "", line)
			place = line
			sub(/.*[.]pml:/, "", place)
			if (!(line in seen) && !(place + 0 in inlined))
				times[line]++
			seen[line] = 1
		}
		END {
			for (line in times)
				if (times[line] == runs && line !~ /-end-/) {
					print "no run reaches" line
					bad = 1
				}
			exit bad
		}' "$model" $lists || failed=$((failed + 1))
done

# Every break of a model is tried.
for model in "$models"/*.pml; do
	for name in $(grep -o 'BREAK_[A-Z_]*' "$model" | sort -u); do
		grep -q "break $(basename "$model" .pml) .*-D$name\$" $models/runs.txt || {
			echo "$model: $name is not tried in runs.txt"
			failed=$((failed + 1))
		}
	done
done

if [ -n "${BATON_ALL_CHECKS-}" ]; then
	echo "$passed $failed" >"build/results/$label"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
