# SPDX-License-Identifier: MIT
# The rules of test/tidy.sh. Variables: layers, the folders of src, lowest first;
# companion_headers, the public headers of the companions, without ".h"; broker_layers, the folders
# of the broker.
#
# In a C file, `code` is the current line without comments and with empty strings; comments are
# counted, so that an ordering tag's two ends can be told from one comment that names it twice.

function complain(where, message)
{
	print where ": " message
	bad = 1
}

function here(message)
{
	complain(FILENAME ":" FNR, message)
}

function stem(name)
{
	sub(/^.*\//, "", name)
	sub(/\.[a-z]+$/, "", name)
	return name
}

# src/core/turn.c: core
function folder_of(path)
{
	sub(/^src\//, "", path)
	sub(/\/[^\/]*$/, "", path)
	return path
}

# A tag names one ordering edge, [inbox.publish], and stands in a comment at each of its two ends.
function note_tags(text,    tag)
{
	if (!in_src && FILENAME != "include/baton/inline.h")
		return
	while (match(text, /\[[a-z_]+\.[a-z_]+\]/)) {
		tag = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		if (tag_seen[tag] == FILENAME ":" comment)
			continue
		tag_seen[tag] = FILENAME ":" comment
		tag_first[tag] = tag_count[tag]++ ? tag_first[tag] : FILENAME ":" FNR
	}
}

function strip(line,    out, end, token)
{
	out = ""
	while (line != "") {
		if (in_comment) {
			end = index(line, "*/")
			note_tags(end ? substr(line, 1, end - 1) : line)
			if (!end)
				return out
			in_comment = 0
			out = out " "
			line = substr(line, end + 2)
			continue
		}
		if (!match(line, /\/\*|\/\/|"|'/))
			return out line
		out = out substr(line, 1, RSTART - 1)
		token = substr(line, RSTART, RLENGTH)
		line = substr(line, RSTART + RLENGTH)
		if (token == "/*") {
			in_comment = 1
			comment++
		} else if (token == "//") {
			comment++
			note_tags(line)
			return out
		} else {
			out = out token token
			while (match(line, /\\.|"|'/)) {
				end = substr(line, RSTART, RLENGTH)
				line = substr(line, RSTART + RLENGTH)
				if (end == token)
					break
			}
		}
	}
	return out
}

function columns(line,    width, tab)
{
	width = 0
	while ((tab = index(line, "\t")) > 0) {
		width += tab - 1
		width += 8 - width % 8
		line = substr(line, tab + 1)
	}
	gsub(/[\200-\277]/, "", line) # UTF-8: count characters
	return width + length(line)
}

function finish_file()
{
	if (file == "" || file ~ /(Makefile|\.mk)$/)
		return
	if (file_lines > 500)
		complain(file, file_lines " lines (500 at most): split off what has its own name")
	if (file ~ /\.h$/ && !guarded)
		complain(file, "no include guard: #ifndef NAME, #define NAME, first of all")
	if (function_start)
		complain(file ":" function_start, "no closing brace in column 1 ends this function")
}

# A companion stands on the public interface; nothing that is not a companion includes its headers.
function check_companion(name,    own)
{
	own = FILENAME ~ /^src\/companion\// ? folder_of(FILENAME) : ""
	if (own != "" && name ~ /^"/ && name !~ /^"base\// && index(name, "\"" own "/") != 1)
		here("a companion includes public headers, base/ and its own folder only: use " \
		     "the public interface, or improve it")
	if (name !~ /^<baton\//)
		return
	sub(/^<baton\//, "", name)
	sub(/\.h>.*/, "", name)
	if (own == "" && name in of_companion && !(in_public && stem(FILENAME) in of_companion))
		here("<baton/" name ".h> belongs to a companion, which is above all folders")
}

function check_include(line,    name, level)
{
	name = line
	sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
	if (in_src || in_public)
		check_companion(name)
	if (in_public && name !~ /^<(stdbool\.h|stddef\.h|stdint\.h|time\.h|baton(\/[a-z_]+)?\.h)>/)
		here("a public header includes <stdbool.h>, <stddef.h>, <stdint.h>, <time.h> " \
		     "and <baton/...> only")
	if (in_broker && name ~ /^"/)
		check_broker_include(name)
	if (!in_src)
		return
	if (name ~ /^<baton\.h>/)
		here("the umbrella header is for users: include the <baton/...> that is needed")
	if (name ~ /^<stdatomic\.h>/)
		here("shared words go through src/base/atomic.h, not <stdatomic.h>")
	if (name ~ /^"/)
		check_own(name)
	else if (name !~ /^<baton\//)
		return
	sub(/^["<](baton\/)?/, "", name)
	sub(/[">].*/, "", name)
	if (line ~ /"/ && !(("src/" name) in present)) {
		here("no src/" name ": includes are \"folder/name.h\"")
		return
	}
	# A public header is in the folder of the .c of its name. The types that users embed are
	# below all folders.
	if (line ~ /<baton\/(task|future|resource|executor|hold)\.h>/)
		return
	level = line ~ /"/ ? folder_of("src/" name) : defined_in[stem(name)]
	if (level == "" || !(level in layer))
		return
	if (layer[level] > layer[folder_of(FILENAME)])
		here("includes " name " of layer " level " from layer " folder_of(FILENAME) \
		     ": turn the dependency round (a callback, or a table of functions)")
}

# The files at the broker's top are above all of its folders.
function broker_level(path)
{
	if (path !~ /\//)
		return broker_top
	sub(/\/.*$/, "", path)
	return path in broker_layer ? broker_layer[path] : broker_top + 1
}

function check_broker_include(name,    own, at)
{
	sub(/^"/, "", name)
	sub(/".*$/, "", name)
	at = substr(FILENAME, length("examples/broker/") + 1)
	own = at
	sub(/\.c$/, ".h", own)
	if (at ~ /\.c$/ && !own_included && (("examples/broker/" own) in present) && name != own)
		here("a file's own header comes first: include \"" own "\"")
	own_included = 1
	if (!(("examples/broker/" name) in present))
		here("no examples/broker/" name ": includes are \"folder/name.h\"")
	else if (broker_level(name) > broker_level(at))
		here("includes " name ", of a folder above its own (BROKER_FOLDERS in the " \
		     "makefile): turn the dependency round (a table of functions)")
}

# A file's own header comes first.
function check_own(name,    own)
{
	if (FILENAME !~ /\.c$/ || own_included)
		return
	own_included = 1
	own = FILENAME
	sub(/^src\//, "", own)
	sub(/\.c$/, ".h", own)
	if (("src/" own) in present && index(name, "\"" own "\"") != 1)
		here("a file's own header comes first: include \"" own "\"")
}

# The words of a resource are touched in the files that have their transitions. (Timers, groups and
# windows have words of their own, which have the same name.)
function check_owner(code)
{
	if (code ~ /(->|\.)_turn[^a-z_0-9]/ && stem(FILENAME) != "turn")
		here("the turn is touched in src/core/turn.[ch] alone: call, or add, a " \
		     "transition there")
	if (code ~ /(->|\.)_word[^a-z_0-9]/ &&
	    stem(FILENAME) !~ /^(word|timers?(_.*)?|group|window)$/)
		here("the word is touched in src/core/word.[ch] alone: call, or add, a " \
		     "transition there")
	if (FILENAME !~ /companion|src\/(top|checked)\// && FILENAME !~ /base\/error\.c$/ &&
	    code ~ /(return|[=?:]) -EINVAL/ && code !~ /== -EINVAL/)
		here("an -EINVAL says which argument is not valid: return baton__refused(...) of " \
		     "base/refused.h")
	# Set in a config, or read.
	if (code ~ /(->|\.)capture_max[^a-z_0-9]/ && code !~ /\.capture_max = / &&
	    FILENAME !~ /core\/config\.h$/)
		here("a capture_max says 0 for 10, and BATON_CAPTURE_NONE for 0: read it by " \
		     "baton__capture_max(), or baton__config_capture_max(), of core/config.h")
}

# A shared word is touched by its address, which goes to an operation of src/base/atomic.h.
function check_shared(code, raw,    before)
{
	while (match(code, /(->|\.)(_word|_state|_turn)[^a-z_0-9]/)) {
		before = substr(code, 1, RSTART - 1)
		code = substr(code, RSTART + RLENGTH)
		if (raw ~ /[Uu]nshared/ || before ~ /[{,][ \t]*$|^[ \t]*$/)
			continue
		sub(/([A-Za-z0-9_]|->|\.|\[[^\]]*\])*$/, "", before)
		if (before !~ /&$/)
			here("a shared word outside src/base/atomic.h: load_relaxed(&...) and " \
			     "the like, or say /* unshared: why */ here or a line before")
	}
}

function check_code(code, raw)
{
	if (in_src && FILENAME != "src/base/atomic.h" &&
	    code ~ /_Atomic|__atomic_|__sync_|atomic_thread_fence|(^|[^a-z_])atomic_[a-z]+/)
		here("atomics go through src/base/atomic.h: use (or add) an operation there")
	if (in_src && code ~ /pthread_(mutex|rwlock|spin|cond)_/ && raw !~ /lock allowed:/)
		here("the library does not lock: use its own protocols, or say here or a " \
		     "line before /* lock allowed: why nobody waits for a stopped thread */")
	if (in_src) {
		check_shared(code, raw)
		check_owner(code)
	}
	if (no_private && code ~ /(->|\.)_[a-z]/)
		here("a member that starts with _ is private: use the public functions")
	if (FILENAME ~ /^examples\// && code ~ /(^|[^a-z_])assert\(/)
		here("assert is gone with -DNDEBUG, and its call too: use CHECK " \
		     "(examples/check.h) or an if")
	if (in_broker && FILENAME != "examples/broker/common/atomic.h" &&
	    code ~ /_Atomic|__atomic_|__sync_|(^|[^a-z_])atomic_[a-z]+/)
		here("the broker's atomics go through common/atomic.h: use (or add) an " \
		     "operation there")
	if (in_broker && code ~ /pthread_(mutex|rwlock)/)
		here("the broker has no locks: make what is guarded a resource")
	if (in_test && code ~ /^TestSuite\(.*\.timeout/)
		suite_timeout = 1
	if (in_test && code ~ /^Test\(/ && !suite_timeout)
		untimed = FNR
	if (code ~ /\.timeout/)
		untimed = 0
	if (code ~ /^{/) {
		if (untimed)
			complain(FILENAME ":" untimed, "a test without .timeout: give it one")
		untimed = 0
		function_start = FNR
	} else if (code ~ /^}/ && function_start) {
		if (FNR - function_start - 1 > 70)
			complain(FILENAME ":" function_start, "function of " \
			         (FNR - function_start - 1) " lines (70 at most): split it")
		function_start = 0
	}
}

BEGIN {
	marks = "(^|[^A-Za-z_])(FIX" "ME|TO" "DO|XX" "X)([^A-Za-z_]|$)"
	count = split(layers, word, " ")
	for (i = 1; i <= count; i++)
		layer[word[i]] = i
	for (i = split(companion_headers, word, " "); i > 0; i--)
		of_companion[word[i]] = 1
	broker_top = split(broker_layers, word, " ") + 1
	for (i = 1; i < broker_top; i++)
		broker_layer[word[i]] = i
	for (i = 1; i < ARGC; i++) {
		present[ARGV[i]] = 1
		if (ARGV[i] ~ /^examples\/broker\/.*\// &&
		    broker_level(substr(ARGV[i], length("examples/broker/") + 1)) > broker_top)
			complain(ARGV[i], "in no layer: move it to one of BROKER_FOLDERS")
		if (ARGV[i] !~ /^src\//)
			continue
		if (ARGV[i] ~ /[.][ch]$/ && !(folder_of(ARGV[i]) in layer))
			complain(ARGV[i], "in no layer: move it to one of the makefile's FOLDERS")
		if (ARGV[i] ~ /\.c$/) {
			if (stem(ARGV[i]) in defined_in)
				complain(ARGV[i], "a second file of that name: mutants, models " \
				         "and tests go by the name")
			defined_in[stem(ARGV[i])] = folder_of(ARGV[i])
		}
	}
}

FNR == 1 {
	finish_file()
	file = FILENAME
	in_src = file ~ /^src\//
	in_public = file ~ /^include\//
	in_broker = file ~ /^examples\/broker\//
	in_test = file ~ /^test\/(unit|api|broker\/unit)\/([a-z]+\/)?test_/
	no_private = file ~ /^examples\// || file ~ /^test\/api\// || file ~ /\.cc$/
	is_c = file ~ /\.(c|h|cc)$/
	in_comment = function_start = suite_timeout = untimed = own_included = guarded = 0
	guard = previous = ""
	comment = 0
	if (is_c && $0 !~ /SPDX-License-Identifier: MIT/)
		here("the first line is /* SPDX-License-Identifier: MIT */")
}

{
	file_lines = FNR
	if (length($0) > 50 && (width = columns($0)) > 100)
		here(width " columns (100 at most): break the line")
	if ($0 ~ marks)
		here("do it now, or write it down elsewhere")
	if ($0 ~ /[ \t]$/)
		here("white space at the end of the line: take it away")
}

is_c {
	if ($0 ~ /^[ \t]*#[ \t]*include/ && !in_comment)
		check_include($0)
	if ($1 == "#ifndef" && guard == "")
		guard = $2
	if ($1 == "#define" && $2 == guard)
		guarded = 1
	code = strip($0)
	if (code != "")
		check_code(code, previous $0)
	previous = $0
	if (in_public && $1 == "#define" && $2 ~ /^BATON_[A-Z_]*_INIT(_[A-Z]+)?(\(|$)/) {
		name = $2
		sub(/\(.*/, "", name)
		initialiser[name] = FILENAME ":" FNR
	}
	if (FILENAME == "test/unit/cxx_smoke.cc")
		smoke = smoke code "\n"
}

END {
	finish_file()
	for (tag in tag_count)
		if (tag_count[tag] < 2)
			complain(tag_first[tag], "ordering tag " tag " stands in one comment " \
			         "only: name it at the other end of the edge, too")
	for (name in initialiser)
		if (smoke !~ name "[^A-Z_]")
			complain(initialiser[name], name " is not in test/unit/cxx_smoke.cc: " \
			         "use it there, so that it stays a constant in C++")
	exit bad
}
