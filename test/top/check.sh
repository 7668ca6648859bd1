#!/bin/sh
# SPDX-License-Identifier: MIT
# Looks with baton-top at a program whose resources are hot, slow, stuck and quiet (subject.c):
# while the program runs, while it is stopped, and after it was killed; and tries what is no board.
#
#	check.sh LABEL BATON_TOP SUBJECT HISTORY
#
# And a trace tells what has happened (history.c, history.py).
#
# Under test/all.sh the sum goes to build/results/LABEL, else to the last line.
set -u

label=$1
top=$2
subject=$3
history=$4
tmp=$(mktemp -d)
pids=
trap 'kill -9 $pids 2>/dev/null; rm -rf "$tmp"' EXIT
mkdir -p build/results
passed=0
failed=0

# What baton-top prints for a number and for a time that are not 0.
some='[1-9][0-9.]*[kMGT]?'
time='[1-9][0-9.]*[mun]?s'

begin() # file or nothing: sets pid
{
	: >"$tmp/out"
	"$subject" "$@" >"$tmp/out" 2>"$tmp/reports" &
	pid=$!
	pids="$pids $pid"
	for _ in $(seq 3000); do
		! grep -qs ready "$tmp/out" || return
		sleep 0.02
	done
	echo 'the program to look at did not begin'
}

# A look shows what runs, and what has run since the look before: on a busy machine that may be
# nothing. So there are up to 20 looks.
looks() # what, what is looked for, a command that judges the look, baton-top's arguments...
{
	what=$1
	wanted=$2
	judge=$3
	shift 3
	for _ in $(seq 20); do
		if timeout 60 "$top" "$@" >"$tmp/shown" 2>&1 && $judge; then
			passed=$((passed + 1))
			return
		fi
	done
	failed=$((failed + 1))
	echo "check-top: $what: not so: '$wanted' in: baton-top $*"
	cat "$tmp/shown"
}

has_line()
{
	grep -Eq -- "$wanted" "$tmp/shown"
}

has_first_row()
{
	sed -n 5p "$tmp/shown" | grep -Eq -- "$wanted"
}

has_runs()
{
	grep -q 'is written' "$tmp/shown" &&
		[ "$(grep -c '"cat": "run", "name": "hot"' "$tmp/trace")" -ge 1000 ]
}

is_so()
{
	python3 - "$tmp/shown" "$wanted" 2>"$tmp/why" <<'END'
import json, sys
board = json.load(open(sys.argv[1]))
by = {r['name']: r for r in board['resources']}
sys.exit(not eval(sys.argv[2]))
END
}

shows() # what, pattern, baton-top's arguments...
{
	what=$1
	wanted=$2
	shift 2
	looks "$what" "$wanted" has_line "$@"
}

shows_first() # what, pattern of the first row, baton-top's arguments...
{
	what=$1
	wanted=$2
	shift 2
	looks "$what" "$wanted" has_first_row "$@"
}

json() # what, a Python expression about `board` and `by` (name -> resource)
{
	looks "$1" "$2" is_so --json --delay 0.3 "$whose"
}

refuses() # what, status, pattern, baton-top's arguments...
{
	what=$1
	wanted=$2
	pattern=$3
	shift 3
	timeout 60 "$top" "$@" >"$tmp/shown" 2>&1
	status=$?
	if [ "$status" -eq "$wanted" ] && grep -Eq -- "$pattern" "$tmp/shown"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "check-top: $what: status $status, expected $wanted and '$pattern':"
		cat "$tmp/shown"
	fi
}

if command -v python3 >/dev/null 2>&1; then
	if timeout 300 "$history" "$tmp/trace" "$tmp/history" &&
		python3 test/top/history.py "$tmp/trace" "$tmp/history"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo 'check-top: the trace does not tell what has happened'
	fi
fi

begin
whose=$pid
shows_first 'the most tasks first' '^hot +[1-9]' --once --delay 0.3 --sort tasks "$whose"
awk 'length > 80 + 34 {exit 1}' "$tmp/shown" || {
	failed=$((failed + 1))
	echo 'check-top: a line is longer than 80 columns and a function'
}
shows 'the busiest, and the longest queue' \
	"^busiest: .* 100%; longest queue: slow .* $some, oldest $time" \
	--once --delay 0.3 --sort name "$whose"
shows 'by refusals' ' OLDEST REFUS.  RUN99' --once --delay 0.1 --sort refused "$whose"
shows 'by waiting' '^slow .* slow_task' --once --delay 0.3 --sort waiting "$whose"
shows 'by failures' "^slow .*s +1 +$time +[0-9]+%" --once --delay 0.1 \
	--sort failed "$whose"
shows 'their column' 'OLDEST FAILED  RUN99' --once --delay 0.1 --sort failed "$whose"
shows 'the sum of failures' '^by busy; 1 task has failed; t: .*3 threads wait$' --once --delay 0.1 \
	"$whose"
shows 'by name' '^by busy.*; 1 with .laned. in their names' --once --delay 0.1 --match laned \
	"$whose"
shows 'all names in waits' 'runs stuck_task of stuck' --threads --delay 0.1 --match laned "$whose"
shows 'no control characters' '^slow "\?\[31mcons' --once --delay 0.1 "$whose"
name=$(printf 'slow "\033[31mconsumer')
shows 'a name as it is' '^executed ' --once --delay 0.1 --resource "$name" "$whose"
shows 'a part of it' '; 1 with .* in their names' --once --delay 0.1 --match "${name%sumer}" \
	"$whose"
shows 'what is held up' ', 2 resources held up, ' --once --delay 0.3 "$whose"
shows_first 'what is held up, before what is busy' '^windowed .* 0%  window is full' --once \
	--delay 0.3 "$whose"
shows 'why it is held up' "^windowed: 1 wait, the oldest for $time: their window is full" \
	--threads --delay 0.1 "$whose"
shows 'why, on its page' '^ +their window is full' --once --delay 0.1 --resource windowed "$whose"
shows 'who has suspended it' \
	'^withheld: 1 wait.*; thread [0-9]+ .subject. .* in withhold_task of windowed$' \
	--threads --delay 0.1 "$whose"
shows 'who, on its page' \
	'^ +the resource is suspended.*; thread [0-9]+ .* in withhold_task of windowed$' \
	--once --delay 0.1 --resource withheld "$whose"
shows 'how many readers are at work' '^readers       2 at work$' --once --delay 0.1 \
	--resource looked "$whose"
shows 'submits a second' "^a second +$some submitted, $some ended" --once --delay 0.3 \
	--resource hot "$whose"
shows 'what is stuck' '^stuck .* 100%  stuck_task' --once --delay 0.3 "$whose"
shows 'a promise' \
	'thread [0-9]+ \(stuck\?\[31m one\) waits since .* a promise that nobody has completed' \
	--threads --delay 0.1 "$whose"
shows 'who has made it' 'nobody has completed.*; thread [0-9]+ .* has made it' --threads \
	--delay 0.1 "$whose"
shows 'who is asleep' 'runs stuck_task of stuck( for .*)?, asleep' --threads --delay 0.1 \
	"$whose"
shows 'a task that sleeps' 'a second .*, of which asleep [1-9][0-9]* %' --once \
	--delay 0.3 --resource 'slow "?[31mconsumer' "$whose"
shows 'a lane' '^time in lane 1: [1-9][0-9]* measured' --once --delay 0.1 --resource laned "$whose"
shows 'what waits in a lane' "^  [1-9][0-9]* wait there now, the oldest for $time" --once \
	--delay 0.1 --resource laned "$whose"
shows 'a pool' '^pool wor\?\[1mkers: [0-9]+ workers' --threads --delay 0.1 "$whose"
shows 'histograms' '^ +[1-9][0-9.]*ms +#+ [0-9]+$' --once --delay 0.1 \
	--resource 'slow "?[31mconsumer' "$whose"
if command -v python3 >/dev/null 2>&1; then
	json 'counts' 'by["hot"]["tasks_per_s"] > 1000 and by["quiet"]["executed"] == 0'
	json 'waiting' 'by["slow \"?[31mconsumer"]["waiting"] > 0'
	json 'times' 'by["slow \"?[31mconsumer"]["run_ns"]["p50"] > 4500000'
	json 'the function' 'by["stuck"]["function"] == "stuck_task" and by["stuck"]["busy"] == 1'
	json 'lanes' 'len(by["laned"]["lanes"]) == 2 and "lanes" not in by["hot"]'
	json 'the lower lane waits' \
		'by["laned"]["lanes"][1]["waiting"] > by["laned"]["lanes"][0]["waiting"]'
	json 'the lower lane waits for longer' \
		'by["laned"]["lanes"][1]["oldest_ns"] > by["laned"]["lanes"][0]["oldest_ns"]'
	json 'times of lanes' 'all(lane["wait_ns"]["p50"] > 0 for lane in by["laned"]["lanes"])'
	json 'the function of an async' 'by["laned"]["function"] == "slow_task"'
	json 'asleep' 'by["laned"]["asleep"] > by["hot"].get("asleep", 0)'
	json 'names of threads' '"stuck?[31m one" in board["threads"].values()'
	json 'the cause' 'by["windowed"]["cause"] == "window is full" and not by["hot"]["cause"]'
	json 'by whom' 'by["withheld"]["by"]["thread"] == board["pid"]'
	json 'in what' 'list(by["withheld"]["by"].values())[1:] == ["withhold_task", "windowed"]'
	json 'by nobody' 'not any("by" in by[name] for name in by if name != "withheld")'
	json 'submits' 'by["hot"]["submits_per_s"] > 1000'
	json 'waits' 'any(w["promise"] for w in board["waits"])'
fi
looks 'a trace' '1000 runs of hot' has_runs --trace 0.2 "$tmp/trace" "$whose"
refuses 'a trace below what is no folder' 1 'trace/x: Not a directory$' \
	--trace 0.05 "$tmp/trace/x" "$whose"
refuses 'a trace that cannot be written' 1 'no/trace: there is none of that name$' \
	--trace 0.05 "$tmp/no/trace" "$whose"
if command -v python3 >/dev/null 2>&1; then
	# Tasks of a resource never overlap, whatever thread ran them: the trace shows it.
	python3 - "$tmp/trace" <<'END' && passed=$((passed + 1)) || failed=$((failed + 1))
import json, sys
events = json.load(open(sys.argv[1]))['traceEvents']
runs = {}
for event in events:
    if event.get('cat') == 'run':
        runs.setdefault(event['name'], []).append((event['ts'], event['ts'] + event['dur']))
for name, spans in runs.items():
    spans.sort()
    for before, after in zip(spans, spans[1:]):
        if after[0] < before[1] - 0.001:
            sys.exit('check-top: tasks of %s overlap: %s %s' % (name, before, after))
starts = [event['ts'] for event in events]
if starts != sorted(starts):
    sys.exit('check-top: the trace is not in order')
END
fi
debugger() # what, pattern, gdb's arguments and commands...
{
	what=$1
	pattern=$2
	shift 2
	timeout 300 gdb -q -batch -x src/gdb/baton-gdb.py "$@" >"$tmp/shown" 2>&1
	if grep -Eq -- "$pattern" "$tmp/shown"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "check-top: gdb, $what: no line as '$pattern'"
		cat "$tmp/shown"
	fi
}

for folder in src/*/; do
	folder=$(basename "$folder")
	case $folder in
	bpftrace | cmake | companion | gdb | man | packaging | pkgconfig | top | upgrade)
		continue
		;;
	esac
	if ! grep -q "\"$folder\"" src/gdb/baton-gdb.py; then
		failed=$((failed + 1))
		echo "check-top: src/gdb/baton-gdb.py: FOLDERS has no $folder"
	fi
done
stuck='\(stuck\?\[31m one\)'
debugger 'what threads hold' \
	"^thread [0-9]+ $stuck holds \"stuck\", in stuck_task; waits since .* for a promise" \
	-p "$pid" -ex 'baton threads' -ex "generate-core-file $tmp/core"
cp "$tmp/shown" "$tmp/threads"
thread=$(sed -n 's/^thread \([0-9]*\) .* holds "stuck".*/\1/p' "$tmp/shown")
# A gdb that is older than the CPU's registers (AMX) cannot call a function of the process.
if timeout 300 gdb -q -batch -p "$pid" -ex 'print (int)getpid()' 2>/dev/null |
	grep -q "^\$1 = $pid$"; then
	debugger 'a name by name_of' '^thread [0-9]+ .*holds "unlisted/7", in stuck_task;' \
		-p "$pid" -ex 'baton threads'
else
	echo 'check-top: skipped: a name by name_of: this gdb calls no function of a process here'
fi
debugger 'the name in a core file' '^thread [0-9]+ .*holds "unlisted", in stuck_task;' \
	"$subject" "$tmp/core" -ex 'baton threads'
debugger 'in a core file' '^"quiet": idle$' "$subject" "$tmp/core" -ex 'baton resources quiet'
debugger 'who holds what' "^\"stuck\": held by thread $thread $stuck, in stuck_task$" "$subject" \
	"$tmp/core" -ex 'baton resources'
debugger 'how much waits' \
	'^"slow .*; [1-9][0-9]* tasks wait, the oldest since .*; 1 task has failed' \
	"$subject" "$tmp/core" -ex 'baton resources'
deed='has suspended it, in withhold_task, in a task of "windowed"; 1 task waits'
debugger 'who has suspended what' "^\"withheld\": suspended, .*; thread $pid .subject. $deed" \
	"$subject" "$tmp/core" -ex 'baton resources withheld'
hidden=$(sed -n 's/^thread \([0-9]*\) .* waits .* task of "hidden"$/\1/p' "$tmp/threads")
debugger 'who, of a resource on no board' \
	"^\"hidden\": suspended, .*; thread $hidden .*has suspended it; 1 task waits" \
	"$subject" "$tmp/core" -ex 'baton resources hidden'
debugger 'why, up to who has suspended it' '^this is a cycle$' "$subject" "$tmp/core" \
	-ex "baton why $hidden"
debugger 'how many readers are at work' '^"looked": .*; 2 readers are at work$' \
	"$subject" "$tmp/core" -ex 'baton resources looked'
debugger 'a full window' '^"windowed": its window is full: .*; 1 task waits, the oldest since ' \
	"$subject" "$tmp/core" -ex 'baton resources windowed'
debugger 'where gdb thinks of assembly' '^"quiet": idle$' "$subject" "$tmp/core" \
	-ex 'set language asm' -ex 'baton resources quiet'
debugger 'the rest is counted' '^[0-9] (more )?are idle' "$subject" "$tmp/core" \
	-ex 'baton resources'
debugger 'why' "^thread $thread $stuck, in stuck_task of \"stuck\", waits since .* for a promise" \
	"$subject" "$tmp/core" -ex "baton why $thread"
debugger 'why of whom' 'the kernel.s id' "$subject" "$tmp/core" -ex 'baton why'
if grep -q 'stuck: thread [0-9]* (stuck?\[31m one)' "$tmp/reports"; then
	passed=$((passed + 1))
else
	failed=$((failed + 1))
	echo 'check-top: the watchdog reports no thread by its name, printable'
fi
refuses 'no such resource' 1 "no resource 'nothing'" --once --delay 0.1 --resource nothing "$whose"
# Longer than this look lasts: the watchdog has seen the task all the time.
shows 'since when' "^stuck .* stuck_task for $time\\+" --once --delay 0.1 "$whose"
shows 'that it lasts' '^by busy.*; t: 2 tasks last' --once --delay 0.1 "$whose"
kill -STOP "$pid"
shows 'a stopped program' ', stopped, .*: 8 resources' --once "$whose"
kill -9 "$pid"

begin "$tmp/board"
kill -9 "$pid"
wait "$pid" 2>/dev/null
shows 'a dead program' ', gone, ' --once "$tmp/board"
"$top" --json "$tmp/board" >"$tmp/before"
if "$top" --json "$tmp/board" | cmp -s "$tmp/before" -; then
	passed=$((passed + 1))
else
	failed=$((failed + 1))
	echo 'check-top: the clock of a dead program goes on'
fi
shows 'of a dead program what it ran' '^stuck .* stuck_task' --once "$tmp/board"

head -c 20000 "$tmp/board" >"$tmp/cut"
refuses 'a board cut off' 1 'cut off' --once "$tmp/cut"
head -c 10000 /dev/zero >"$tmp/zero"
refuses 'another file' 1 'no board of baton' --once "$tmp/zero"
refuses 'an empty file' 1 'no board of baton' --once /dev/null
refuses 'no file' 1 'No such file' --once "$tmp/nothing"
refuses 'a process without a board' 1 'has no board' --once $$
refuses 'no process' 1 'no process has this id' --once 4194305
refuses 'no argument' 2 '^Usage'
refuses 'a bad key' 2 "no sort key 'x'" --sort x 1
refuses 'a bad number' 2 "no number from 0.05 to 3600: 'never'" --delay never 1

if [ -n "${BATON_ALL_CHECKS-}" ]; then
	echo "$passed $failed" >"build/results/$label"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
