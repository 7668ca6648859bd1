#!/bin/sh
# SPDX-License-Identifier: MIT
# Rewrites a program's C and C++ sources from baton 0.2 to baton 0.3, in place.
#
#	to-0.3.sh FILE...
#
# Prints FILE:LINE: and a sentence for each place that it leaves to you. The exit status is 0 if
# there are none, else 1. It changes nothing but the names, members and calls of the rules below,
# outside comments and strings, so that you can read what it has done in a diff; a second run
# changes nothing. include/CHANGES.md has the whole table.
set -eu

if [ $# = 0 ] || [ "$1" = --help ]; then
	sed -n '3,/^set/ {/^set/d; s/^#[ ]\{0,1\}//; p;}' "$0"
	[ $# != 0 ] || exit 2
	exit 0
fi

# One rule a line; the order of the lines does not matter.
#
#   wait NAME POSITION [NEW]    the argument at POSITION is a deadline. NULL: NEW(...) without it.
#                               Else: NEW_until(...), with nanoseconds in its place.
#   append NAME NEW ARGUMENT    NEW(..., ARGUMENT) in place of NAME(...)
#   rename OLD NEW              a name that is baton's alone
#   member STRUCT OLD NEW       a member of `struct STRUCT`: in its initialisers, and of variables
#                               and parameters that the file declares
#   zero STRUCT OLD NEW NAME [names]
#                               as member; a value of 0, which meant something else, is NAME. Values
#                               that are not a number or name of baton's (names: not a name), and
#                               initialisers without the member, are left to you
#   calls NAME COUNT TEXT       a call with so many arguments is left to you: TEXT says what to do
#   result NAME TEXT            a call whose result is used is left to you
#   left NAME TEXT              a name that is left to you
#   left-member STRUCT OLD TEXT the same for a member
#   include HEADER NEW          in place of #include <HEADER>
#   split HEADER PREFIX ...     a file that includes a header of baton's, but neither HEADER nor
#                               baton/all.h, and uses a name that begins so, includes HEADER, too
#   beside HEADER PREFIX ...    the same, also where the file includes baton/all.h
rules()
{
	cat <<-'EOF'
		wait baton_future_wait 2
		wait baton_future_wait_any 3
		wait baton_future_wait_all 3
		wait baton_future_wait_all_or_cancel 3
		wait baton_group_wait 2
		wait baton_fan_out_wait 2
		wait baton_suspension_wait 2
		wait baton_quiesce 4
		wait baton_timer_stop_wait 2
		wait baton_pool_submit_wait 3
		wait baton_pool_await_termination 2 baton_pool_await
		wait baton_resource_await 2
		wait baton_admission_await 2
		append baton_manual_run_one baton_manual_run 1
		append baton_manual_run_until_idle baton_manual_run 0
		member baton_bound_config wait_ns timeout_ns
		zero baton_resource_config capture_limit capture_max BATON_CAPTURE_NONE
		member baton_resource_config capture_limit_ns capture_ns
		member baton_resource_config hold_completions delay_completions
		rename BATON_CAPTURE_LIMIT BATON_CAPTURE_MAX
		rename BATON_DETACH_HOLD BATON_DETACH_EXCLUSIVE
		zero baton_source_config priority level BATON_PRIORITY_HIGHEST names
		left baton_source_set_priority is baton_source_set_level, whose levels begin with 1
		left baton_labelled is a task whose type has a stamp: baton/task.h, baton/label.h
		left baton_labelled_init is baton_task_init_of, of a type that has a stamp
		left baton_windowed is a task whose type has a window: baton/window.h
		left baton_windowed_init is baton_task_init_of and baton_window_part_init
		left baton_windowed_cancel is baton_window_cancel_task, which is given the task
		left baton_task_init_typed is baton_task_init_of, which empties the type's parts
		rename BATON_TYPED_TASK_INIT BATON_TASK_INIT_OF
		left baton_post_or is baton_post_with: its options have cancelled (baton/call.h)
		calls baton_trigger_init 4 has no cancelled, and a function that returns an int: 0
		calls BATON_TRIGGER_INIT 3 has no cancelled, and a function that returns an int: 0
		calls baton_timer_stop_then 2 calls baton_stopped_complete, of the promise
		result baton_timer_stop returns a struct: .met is an enum baton_stop
		result baton_timer_stop_then returns a struct: .met is an enum baton_stop
		result baton_timer_disarm returns nothing: ask baton_timer_state
		result baton_trigger_stop returns a struct: .met is an enum baton_stop
		result baton_io_stop returns a struct: .met is an enum baton_stop
		result baton_source_stop returns a struct: .met is an enum baton_stop
		left BATON_SOURCE_INACTIVE is BATON_STOP_NOTHING; on another thread QUEUED
		left BATON_SOURCE_WAITING is BATON_STOP_PREVENTED; on another thread QUEUED
		left BATON_SOURCE_RUNNING is BATON_STOP_RUNNING
		left baton_source_forget is baton_source_stop and baton_source_undepend_all
		rename baton_watchdog_start baton_watchdog_create
		rename baton_watchdog_stop baton_watchdog_destroy
		rename baton_mainloop_create baton_mainloop_init
		rename baton_mainloop_destroy baton_mainloop_deinit
		rename baton_mainloop_drain baton_mainloop_drain_until
		rename baton_group_notify baton_group_then
		rename baton_board_pool_add baton_board_pool_join
		rename baton_board_pool_remove baton_board_pool_leave
		rename BATON_TIMER_GONE BATON_GONE
		rename BATON_IO_GONE BATON_GONE
		left baton_trigger_cancelled_fn is baton_trigger_dropped_fn: an error, too
		rename BATON_SOURCE_GONE BATON_GONE
		include baton.h baton/all.h
		include baton/labelled.h baton/label.h
		include baton/task_type.h baton/task.h
		split baton/call.h baton_post_with baton_async_with baton_call_with baton_call_opt
		split baton/loop.h baton_loop
		split baton/manual.h baton_manual
		split baton/stats.h baton_resource_stats baton_resource_set_stats
		split baton/timers.h baton_timers_ BATON_TIMERS_
		beside time.h timespec clock_gettime CLOCK_
		beside baton/admission.h baton_admission baton_admitted BATON_ADMISSION
		beside baton/rules.h baton_rules BATON_RULES
		beside baton/mainloop.h baton_mainloop baton_source BATON_MAINLOOP BATON_SOURCE
		left-member baton_call_options deadline is timeout_ns, a span from the call on
	EOF
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
rules >"$tmp/rules"
cat >"$tmp/rewrite.awk" <<'EOF'
# The text with comments, strings and character constants blanked, line ends kept. As long as the
# text, so that a place in the one is the same place in the other.
function masked(s,    out, i, rest, skip) {
	out = ""
	while (match(s, /["']|\/[*]|\/\//)) {
		out = out substr(s, 1, RSTART - 1)
		rest = substr(s, RSTART)
		if (rest ~ /^\/[*]/)
			skip = (i = index(substr(rest, 3), "*/")) ? i + 3 : length(rest)
		else if (rest ~ /^\/\//)
			skip = (i = index(rest, "\n")) ? i - 1 : length(rest)
		else if (rest ~ /^'/ && out ~ /[0-9a-fA-F]$/)
			skip = 1 # of a number: 1'000
		else if (rest ~ /^"/ && match(rest, /^"([^"\\\n]|\\.|\\\n)*"?/) ||
				match(rest, /^'([^'\\\n]|\\.)*'?/))
			skip = RLENGTH
		out = out blank(substr(rest, 1, skip))
		s = substr(rest, skip + 1)
	}
	return out s
}

function blank(s) {
	gsub(/[^\n]/, " ", s)
	return s
}

# Where `name` stands as a word at or after `from`; 0: nowhere.
function find(name, from,    at, before, after) {
	while ((at = index(substr(mask, from), name)) > 0) {
		at += from - 1
		before = at > 1 ? substr(mask, at - 1, 1) : " "
		after = substr(mask, at + length(name), 1)
		if (before !~ /[A-Za-z0-9_]/ && after !~ /[A-Za-z0-9_]/)
			return at
		from = at + length(name)
	}
	return 0
}

function replace(at, len, by) {
	text = substr(text, 1, at - 1) by substr(text, at + len)
	mask = substr(mask, 1, at - 1) masked(by) substr(mask, at + len)
}

# The call of the name at `at`: argument i begins at begins[i], and ends before ends[i]. Returns how
# many there are; -1: it is no call. `open`, `close`: of its parentheses.
function arguments(at, name,    i, c, depth, n, rest) {
	i = at + length(name)
	rest = substr(mask, i)
	if (!match(rest, /^[ \t\n]*\(/))
		return -1
	open = i + RLENGTH - 1
	depth = n = 0
	for (i = open; i <= length(mask); i++) {
		c = substr(mask, i, 1)
		if (c ~ /[][(){}]/) {
			if (c ~ /[[({]/) {
				if (++depth == 1)
					begins[++n] = i + 1
			} else if (--depth == 0) {
				ends[n] = close_at = i
				return n
			}
		} else if (c == "," && depth == 1) {
			ends[n] = i
			begins[++n] = i + 1
		}
	}
	return -1
}

# The text of the argument i, which begins at `first`, without the comments around it.
function argument(i,    last) {
	for (first = begins[i]; substr(mask, first, 1) ~ /[ \t\n]/; first++)
		;
	for (last = ends[i] - 1; substr(mask, last, 1) ~ /[ \t\n]/; last--)
		;
	return substr(text, first, last - first + 1)
}

# Each call of the wait, from the first to the last. A call among another's arguments comes later.
function rewrite_wait(name, position, new,    at, n, deadline) {
	for (at = find(name, 1); at; at = find(name, at + 1)) {
		n = arguments(at, name)
		if (n != arity[name]) {
			if (n < 0 || n != arity[name] - 1)
				leave(at + length(name),
					name (n < 0 ? " is named without a call: " : ": ") new \
					" has no deadline, and " new "_until has nanoseconds")
			else if (name != new)
				replace(at, length(name), new)
			continue
		}
		deadline = argument(position)
		if (deadline ~ /^(NULL|nullptr|0)$/) {
			if (position < n) # what follows goes on where the deadline was
				replace(begins[position],
					begins[position + 1] - begins[position], "")
			else
				replace(ends[position - 1], ends[position] - ends[position - 1], "")
			if (name != new)
				replace(at, length(name), new)
			continue
		}
		replace(first, length(deadline), "baton_0_2_deadline_ns(" deadline ")")
		replace(at, length(name), new "_until")
		converted = 1
	}
}

function rewrite_append(name, new, value,    at) {
	for (at = find(name, 1); at; at = find(name, at + 1)) {
		if (arguments(at, name) != 1) {
			leave(at + length(name), name " is " new "(..., " value ")")
			continue
		}
		replace(ends[1], 0, ", " value)
		replace(at, length(name), new)
	}
}

function leave_calls(name, count, text_of,    at) {
	for (at = find(name, 1); at; at = find(name, at + 1))
		if (arguments(at, name) == count)
			leave(at + length(name), name " " text_of)
}

# A call is a statement behind ; { } ) or else, but not behind a cast to anything but void; and new
# code takes a member of the result.
function used_result(name, text_of,    at, before) {
	for (at = find(name, 1); at; at = find(name, at + 1)) {
		before = substr(mask, 1, at - 1)
		if (arguments(at, name) > 0 && substr(mask, close_at + 1) !~ "^" S "[.]" &&
				(before !~ "([;{})]|[^a-z_]else)" S "$" ||
				(before ~ "([^A-Za-z0-9_) \t\n]|[^A-Za-z0-9_]return)" S \
					"\\(" S "[A-Za-z_][A-Za-z0-9_ \t\n*]*\\)" S "$" &&
				before !~ "\\(" S "void" S "\\)" S "$")))
			leave(at + length(name), name " " text_of)
	}
}

function rename(old, new,    at) {
	for (at = find(old, 1); at; at = find(old, at + length(new)))
		replace(at, length(old), new)
}

# The end of the braces that open at `at`.
function closing(at,    depth, c) {
	for (depth = 0; at <= length(mask); at++) {
		c = substr(mask, at, 1)
		if (c == "{")
			depth++
		else if (c == "}" && --depth == 0)
			return at
	}
	return length(mask)
}

# Initialisers of the struct: `struct S name = {...}`, `(struct S){...}`, `name[] = {{...}}`. And
# names that are declared with the type: `name.old`, `name->old`, `name[i].old`.
function rewrite_member(type, old, new,    at, rest, from, list, seen, i, n, word) {
	n = 0
	for (at = find(type, 1); at; at = find(type, at + 1)) {
		rest = substr(mask, at + length(type))
		word = ""
		if (match(rest, "^" S "[)]?(" S WORD S "(\\[[^]]*\\])*" S "=)?" S "\\{")) {
			from = at + length(type) + RLENGTH - 1
			rest = substr(rest, 1, RLENGTH)
			if (match(rest, WORD))
				word = substr(rest, RSTART, RLENGTH)
			members_in(from, old, new)
		} else if (match(rest, "^[ \t\n*]*(const[ \t\n*]+)?" WORD)) {
			word = substr(rest, 1, RLENGTH)
			sub(/^[ \t\n*]*(const[ \t\n*]+)?/, "", word)
		}
		if (word != "" && !(word in seen)) {
			seen[word] = 1
			list[++n] = word
		}
	}
	for (i = 1; i <= n; i++) {
		for (at = find(list[i], 1); at; at = find(list[i], at + 1)) {
			rest = substr(mask, at + length(list[i]))
			if (match(rest, "^(\\[[^]]*\\])?" S "([.]|->)" S old "[^A-Za-z0-9_]"))
				member(at + length(list[i]) + RLENGTH - 1 - length(old), old, new)
		}
	}
	# Of variables that are declared elsewhere.
	if (note == "")
		for (at = find(old, 1); at; at = find(old, at + 1))
			if (substr(mask, 1, at - 1) ~ /([.]|->)[ \t\n]*$/)
				leave(at + length(old), old " of a struct " type " is " new)
}

# The initialiser that begins at `from`, and those in it.
function members_in(from, old, new,    at, found) {
	found = 0
	for (at = find(old, from); at && at < closing(from); at = find(old, at + 1))
		if (substr(mask, from, at - from) ~ /[{,][ \t\n]*[.][ \t\n]*$/) {
			member(at, old, new)
			found = 1
		}
	rest = substr(mask, from, closing(from) - from)
	if (zero != "" && !found && rest !~ zero && index(rest, new) == 0)
		leave(from, old " was 0 here: for the same, set " new " to " zero)
}

function member(at, old, new,    rest) {
	if (note != "") {
		leave(at + length(old), "." old " " note)
		return
	}
	replace(at, length(old), new)
	if (zero == "")
		return
	at += length(new)
	rest = substr(mask, at)
	if (match(rest, "^" S "=" S "0[uUlL]*" S "[,;}]")) {
		match(rest, "^" S "=" S)
		at += RLENGTH
		match(substr(rest, RLENGTH + 1), /^0[uUlL]*/)
		replace(at, RLENGTH, zero)
	} else if (match(rest, "^" S "=[^=]") &&
			rest !~ "^" S "=" S "(" certain ")" S "[,;}]") {
		leave(at, new ": look at the value: not each number means what " old "'s did")
	}
}

# In place of an #include: another.
function rewrite_include(old, new,    at) {
	while ((at = index(mask, "<" old ">")) > 0)
		replace(at + 1, length(old), new)
}

# An #include more, behind the last of baton's, if a name is used that begins with a prefix.
function add_include(header, prefixes, beside,    names, n, i, rest) {
	if (index(mask, "<" header ">") || (!beside && index(mask, "<baton/all.h>")) ||
			(header == "time.h" && converted)) # the converter includes it
		return
	n = split(prefixes, names, " ")
	for (i = 1; i <= n; i++)
		if (match(mask, "(^|[^A-Za-z0-9_])" names[i])) {
			if ((i = after_includes()))
				replace(i, 0, "#include <" header ">\n")
			return
		}
}

# Where a line goes that follows the includes: behind the last #include of a header of baton, or, if
# the text has none, behind its last #include. 0: the text has no #include.
function after_includes(    at, last, any, rest, line) {
	rest = text
	for (at = 1; rest != ""; at += length(line)) {
		line = substr(rest, 1, index(rest "\n", "\n"))
		rest = substr(rest, length(line) + 1)
		if (line ~ /^[ \t]*#[ \t]*include/) {
			any = at + length(line)
			if (line ~ /<baton[.\/]/)
				last = any
		}
	}
	return last ? last : any
}

# A place is kept as a mark in the text, so that later changes do not move it.
function leave(at, what,    mark) {
	notes[++note_count] = what
	mark = "\001" note_count "\002"
	text = substr(text, 1, at - 1) mark substr(text, at)
	mask = substr(mask, 1, at - 1) blank(mark) substr(mask, at)
}

function max(a, b) {
	return a > b ? a : b
}

# A converter for deadlines.
function add_converter() {
	if (text !~ /define BATON_0_2_DEADLINE/)
		replace(max(after_includes(), 1), 0, converter)
}

function report(    at, n, upto, line) {
	while (match(text, /\001[0-9]+\002/)) {
		n = substr(text, RSTART + 1, RLENGTH - 2) + 0
		upto = substr(text, 1, RSTART - 1)
		text = upto substr(text, RSTART + RLENGTH)
		line = gsub(/\n/, "", upto) + 1
		print file ":" line ": " notes[n] >"/dev/stderr"
	}
}

function text_behind(rule, words) {
	while (words--)
		sub(/^[^ ]+ /, "", rule)
	return rule
}

BEGIN {
	S = "[ \t\n]*"
	WORD = "[A-Za-z_][A-Za-z0-9_]*"
	while ((getline line <rules_file) > 0) {
		split(line, f, " ")
		rule[++rules] = line
	}
	converter = "#include <time.h>\n" \
		"#ifndef BATON_0_2_DEADLINE\n#define BATON_0_2_DEADLINE\n" \
		"/* A deadline of baton 0.2, absolute or NULL, for a wait of 0.3. */\n" \
		"static inline uint64_t baton_0_2_deadline_ns(const struct timespec *time)\n{\n" \
		"\tif (time && time->tv_sec < 0)\n\t\treturn 0;\n" \
		"\tif (!time || (uint64_t)time->tv_sec >= BATON_FOREVER / BATON_SECOND)\n" \
		"\t\treturn BATON_FOREVER;\n" \
		"\treturn (uint64_t)time->tv_sec * BATON_SECOND + (uint64_t)time->tv_nsec;\n}\n" \
		"#endif\n"
}

{
	text = text $0 "\n"
}

END {
	mask = masked(text)
	for (r = 1; r <= rules; r++) {
		split(rule[r], f, " ")
		if (f[1] == "wait") {
			# The index of wait_any follows its deadline.
			arity[f[2]] = f[2] == "baton_future_wait_any" ? 4 : f[3]
			rewrite_wait(f[2], f[3] + 0, f[4] ? f[4] : f[2])
		} else if (f[1] == "append") {
			rewrite_append(f[2], f[3], f[4])
		} else if (f[1] == "calls") {
			leave_calls(f[2], f[3] + 0, text_behind(rule[r], 3))
		} else if (f[1] == "result") {
			used_result(f[2], text_behind(rule[r], 2))
		} else if (f[1] == "rename") {
			rename(f[2], f[3])
		} else if (f[1] == "member" || f[1] == "zero") {
			zero = f[1] == "zero" ? f[5] : ""
			certain = "BATON_[A-Z_]*" (f[6] == "names" ? "" : "|[1-9][0-9]*[uUlL]*")
			note = ""
			rewrite_member(f[2], f[3], f[4])
		} else if (f[1] == "left") {
			note = text_behind(rule[r], 2)
			for (at = find(f[2], 1); at; at = find(f[2], at + 1))
				leave(at + length(f[2]), f[2] " " note)
		} else if (f[1] == "left-member") {
			zero = ""
			note = text_behind(rule[r], 3)
			rewrite_member(f[2], f[3], f[3])
		} else if (f[1] == "include") {
			rewrite_include(f[2], f[3])
		} else {
			add_include(f[2], text_behind(rule[r], 2), f[1] == "beside")
		}
	}
	if (converted)
		add_converter()
	report()
	printf "%s", text
	exit note_count > 0
}
EOF

status=0
for file; do
	awk -v file="$file" -v rules_file="$tmp/rules" -f "$tmp/rewrite.awk" "$file" \
		>"$tmp/new" || {
		[ $? = 1 ] && [ -s "$tmp/new" ] || exit 2
		status=1
	}
	cmp -s "$tmp/new" "$file" || cat "$tmp/new" >"$file"
done
exit $status
