# SPDX-License-Identifier: MIT
# Lists the small faults that a maintainer could make in the files. With NAME: writes the file with
# that fault instead.
#
#	awk -f semantic.awk HEADER... -- FILE...              "NAME FILE FUNCTION LINE", tab, TEXT
#	awk -v name=NAME -f semantic.awk HEADER... -- FILE    the file, mutated
#
# LINE, TEXT: what is changed, and what stands there without the fault.
# NAME: file:function:fault:n, n counting the faults of this sort within the function. HEADER: where
# structs are declared; each member is mistaken for the next one of the same type, and so is each
# parameter and local variable of a function. One is added to a limit, a macro whose name ends in
# _MAX or _MIN. Three macros stand for a condition that is turned round, never true or always true;
# see semantic_try.sh. An operand of && or || is dropped: the operator's neutral element, 1 or 0,
# stands in its place.

BEGIN {
	change["<"] = "<="
	change["<="] = "<"
	change[">"] = ">="
	change[">="] = ">"
	change["=="] = "!="
	change["!="] = "=="
	change["&&"] = "||"
	change["||"] = "&&"
	change["+"] = "-"
	change["-"] = "+"
	change["+="] = "-="
	change["-="] = "+="
	change["++"] = "--"
	change["--"] = "++"
	change["true"] = "false"
	change["false"] = "true"
	sort_of["<"] = sort_of["<="] = sort_of[">"] = sort_of[">="] = "boundary"
	sort_of["=="] = sort_of["!="] = "equality"
	sort_of["&&"] = sort_of["||"] = "logic"
	sort_of["+"] = sort_of["-"] = sort_of["+="] = sort_of["-="] = "sum"
	sort_of["++"] = sort_of["--"] = "step"
	sort_of["true"] = sort_of["false"] = "truth"
	scalar = "^(uint8_t|uint16_t|uint32_t|uint64_t|int32_t|int64_t|size_t|int|unsigned|bool|" \
		"uintptr_t|unsigned int)$"
	declaration = "^\t+(for \\()?(const |static |struct |enum |unsigned )*[a-z_0-9]+ " \
		"\\**(const )?"
	not_statement = "^\t+(return|break|continue|goto|case|default|static|const|struct|else|" \
		"if|while|for|do|BATON_ASSERT|BATON_REQUIRE|BATON_MISUSE|va_|\\(void\\)clock_)"
	tokens = "->[a-z_0-9]+|[.][a-z_0-9]+|[A-Za-z_][A-Za-z0-9_]*|[0-9][0-9A-Fa-fxULl]*|" \
		"<<=?|>>=?|<=|>=|==|!=|&&|[|][|]|[+]=|-=|[+][+]|--|[-<>+]"
	for (i = 1; i < ARGC && ARGV[i] != "--"; i++) {
		header[++headers] = ARGV[i]
		if (ARGV[i] ~ /^(include|src)\//)
			read_members(ARGV[i])
		ARGV[i] = ""
	}
	ARGV[i] = ""
	for (i in twin)
		twin_of_all[i] = twin[i]
}

# The library's, those of the file's own folder, and the file's own: the same, whatever other files
# are read.
function read_all_members(file, folder, i)
{
	delete twin
	for (i in twin_of_all)
		twin[i] = twin_of_all[i]
	folder = folder_of(file)
	for (i = 1; i <= headers; i++)
		if (folder_of(header[i]) == folder)
			read_members(header[i])
	read_members(file)
}

function folder_of(file)
{
	sub(/[^\/]*$/, "", file)
	return file
}

# The members of the structs in a file: twin[member] is the next one of the same type.
function read_members(file, line, type, member, in_struct, last, first, key)
{
	while ((getline line < file) > 0) {
		if (line ~ /^(static )?struct [a-z_]+( |$)/ && line ~ /\{$/) {
			in_struct = 1
			delete last
			delete first
		} else if (line ~ /^}/) {
			in_struct = 0
			for (type in first)
				if (last[type] != first[type])
					twin[last[type]] = first[type]
		}
		sub(/\/\*.*/, "", line)
		sub(/ BATON_CACHE_ALIGNED/, "", line)
		if (!in_struct || line !~ /^\t[a-z0-9_ ]+[ *]+[a-z0-9_]+;[ \t]*$/)
			continue
		sub(/;[ \t]*$/, "", line)
		sub(/^\t/, "", line)
		member = line
		sub(/.*[ *]/, "", member)
		type = substr(line, 1, length(line) - length(member))
		sub(/ $/, "", type)
		if (type in last)
			twin[last[type]] = member
		else
			first[type] = member
		last[type] = member
	}
	close(file)
}

FNR == 1 {
	file = FILENAME
	sub(/.*\//, "", file)
	where = ""
	in_comment = 0
	previous = ";"
	forget_variables(-1)
	read_all_members(FILENAME)
}

/^[A-Za-z_].*[A-Za-z0-9_]\(/ && !/^#/ && !/^_Static_assert/ && !/;$/ {
	where = $0
	sub(/__attribute__\(\([^)]*\)+ /, "", where)
	sub(/\(.*/, "", where)
	sub(/.*[^A-Za-z0-9_]/, "", where)
	inside = 0
	heading = ""
	forget_variables(-1)
}

!inside && where != "" && !/^[{}#]/ {
	heading = heading $0
}

/^{/ {
	inside = 1
	parameters(heading)
}

/^}/ {
	inside = 0
}

# A line of the source, as semantic_survivors.txt quotes it.
function text_of(line)
{
	gsub(/[ \t]+/, " ", line)
	gsub(/^ | $/, "", line)
	return line
}

# One fault: lists it, or, if it is wanted, makes it.
function fault(sort, before, after, instead, this)
{
	this = file ":" where ":" sort ":" ++count[file, where, sort]
	if (name == "")
		print this, FILENAME, where, FNR "\t" text_of($0)
	else if (this == name)
		written = before instead after
}

function blank(n, s)
{
	s = sprintf("%" n "s", "")
	gsub(/ /, "\001", s)
	return n > 0 ? s : ""
}

# The line with comments, strings and characters made unrecognisable, of the same length.
function code_of(line, code, at, end)
{
	code = ""
	while (line != "") {
		if (in_comment) {
			at = index(line, "*/")
			end = at ? at + 1 : length(line)
			in_comment = !at
		} else if (match(line, /\/\*|"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/)) {
			code = code substr(line, 1, RSTART - 1)
			line = substr(line, RSTART)
			if (substr(line, 1, 2) == "/*") {
				in_comment = 1
				end = 2
			} else {
				end = RLENGTH
			}
		} else {
			return code line
		}
		code = code blank(end)
		line = substr(line, end + 1)
	}
	return code
}

# ---- Variables: the innermost function's, with their types ----

# The variables of blocks that are deeper than `depth` are out of scope.
function forget_variables(depth)
{
	while (variables > 0 && depth_of[variables] > depth)
		variables--
}

function declare(type, variable, depth, has_value)
{
	gsub(/const |static |register |volatile /, "", type)
	gsub(/[ \t]/, "", type)
	variables++
	variable_of[variables] = variable
	type_of[variables] = type
	depth_of[variables] = depth
	value_of[variables] = has_value
}

# A variable that is declared without a value has one from the end of the expression on in which its
# name first stands.
function mention(variable, own)
{
	for (own = variables; own > 0 && variable_of[own] != variable; own--)
		;
	if (own && value_of[own] == "none")
		value_of[own] = "soon"
}

function expression_ends(own)
{
	for (own = variables; own > 0; own--)
		if (value_of[own] == "soon")
			value_of[own] = "set"
}

function parameters(heading, part, count, i, at)
{
	sub(/__attribute__\(\([^)]*\)+ /, "", heading)
	sub(/^[^(]*\(/, "", heading)
	count = split(heading, part, ",")
	for (i = 1; i <= count; i++) {
		sub(/\)[ \t]*$/, "", part[i])
		if (part[i] !~ /[()\[]/ && (at = match(part[i], /[A-Za-z_0-9]+$/)) > 1)
			declare(substr(part[i], 1, at - 1), substr(part[i], at), 0, "set")
	}
}

# The variable that a line of code declares, or "". Its name begins at declared_at.
function declared(bare, at, type)
{
	declared_at = 0
	if (match(bare, declaration)) {
		type = substr(bare, 1, RLENGTH)
		at = RLENGTH + 1
		if (type !~ /^\t+(return|goto|else|case|sizeof) / &&
		    match(substr(bare, at), /^[a-z_0-9]+( = |;$)/)) {
			declared_at = at
			sub(/^\t+(for \()?/, "", type)
			declared_type = type
			match(substr(bare, at), /^[a-z_0-9]+/)
			return substr(bare, at, RLENGTH)
		}
	}
	return ""
}

# May the variable i stand where `own` stands?
function may_replace(i, own)
{
	return type_of[i] == type_of[own] && variable_of[i] != variable_of[own] &&
		value_of[i] == "set"
}

# The next variable of the same type, the first after the last, where both have a value; "": there
# is no other.
function other_variable(variable, i, own, first)
{
	for (own = variables; own > 0 && variable_of[own] != variable; own--)
		;
	if (!own || value_of[own] != "set")
		return ""
	for (i = own + 1; i <= variables; i++)
		if (may_replace(i, own))
			return variable_of[i]
	for (first = 1; first < own; first++)
		if (may_replace(first, own))
			return variable_of[first]
	return ""
}

# ---- Operands ----

# Where the operand ends that begins at `at`; 0: not within this line.
function operand_end(bare, at, depth, c, two)
{
	depth = 0
	for (; at <= length(bare); at++) {
		c = substr(bare, at, 1)
		two = substr(bare, at, 2)
		if (c ~ /[(\[{]/)
			depth++
		else if (c ~ /[)\]}]/ && --depth < 0)
			return at - 1
		else if (!depth && (two == "&&" || two == "||" || c ~ /[?:,;]/))
			return at - 1
	}
	return 0
}

# Where the operand begins whose last character is at `at`; 0: not within this line.
function operand_begin(bare, at, depth, c, two)
{
	depth = 0
	for (; at > 0; at--) {
		c = substr(bare, at, 1)
		two = substr(bare, at - 1, 2)
		if (c ~ /[)\]}]/)
			depth++
		else if (c ~ /[(\[{]/ && --depth < 0)
			return at + 1
		else if (!depth && (two == "&&" || two == "||" || c ~ /[?:,;]/ ||
				    (c == "=" && two !~ /[=!<>]=/ && substr(bare, at, 2) != "==")))
			return at + 1
		else if (!depth && substr(bare, at, 7) == "return ")
			return at + 7
	}
	return previous ~ /(&&|\|\|)$/ ? 1 : 0
}

# Each operand of the line's && and || is dropped once.
function operands(line, bare, at, token, begin, end)
{
	if (bare ~ /BATON_ASSERT\(|_Static_assert/)
		return
	if (match(previous, /(&&|\|\|)$/))
		operand(line, bare, 1, operand_end(bare, 1), substr(previous, RSTART, 2))
	for (at = 1; at < length(bare); at++) {
		token = substr(bare, at, 2)
		if (token != "&&" && token != "||")
			continue
		begin = operand_begin(bare, at - 1)
		if (begin > 1 && substr(bare, begin - 2, 2) !~ /&&|\|\|/)
			operand(line, bare, begin, at - 1, token)
		if ((end = operand_end(bare, at + 2)))
			operand(line, bare, at + 2, end, token)
		at++
	}
}

function operand(line, bare, begin, end, token)
{
	if (end && bare ~ /[^ \t]/ && substr(bare, begin, end - begin + 1) ~ /[A-Za-z0-9]/) {
		while (substr(bare, begin, 1) ~ /[ \t]/)
			begin++
		while (substr(bare, end, 1) == " ")
			end--
		fault("operand", substr(line, 1, begin - 1), substr(line, end + 1),
		      token == "&&" ? "1" : "0")
	}
}

function balanced(text, open, close_)
{
	open = gsub(/[({]/, "&", text)
	close_ = gsub(/[)}]/, "&", text)
	return open == close_
}

{
	written = $0
	code = code_of($0)
	bare = code
	gsub(/\001/, " ", bare)
	sub(/[ \t]+$/, "", bare)
	# No code is left of the checks, but in libbaton-checked.
	if (inside && where != "" && bare !~ /^#/ && bare !~ /^[{}]/ && bare != "" &&
	    bare !~ /^\t+BATON__(CHECKED|NEED)/) {
		match(bare, /^\t*/)
		if (substr(bare, RLENGTH + 1, 1) != " ")
			forget_variables(RLENGTH)
		faults($0, code, bare)
	}
	if (bare ~ /[^ \t]/ && bare !~ /^#/)
		previous = bare
	if (name != "")
		print written
}

function faults(line, code, bare, rest, at, token, before, next_, digits, suffix, indent)
{
	match(bare, /^\t*/)
	indent = RLENGTH
	variable = declared(bare)
	# ---- Whole statements ----
	if (previous ~ /[;{}:)]$|else$/ && bare ~ /;$/ && balanced(bare) &&
	    bare !~ not_statement &&
	    (bare ~ /^\t+[A-Za-z_][A-Za-z0-9_>.\[\]-]* ?([-+|&]|<<|>>)?= / ||
	     bare ~ /^\t+[A-Za-z_*+-][A-Za-z0-9_>.\[\]*+-]*(\+\+|--|\(.*\));$/ ||
	     bare ~ /^\t+(\*|--|\+\+|\(void\))[A-Za-z_]/ ||
	     bare ~ /^\t+\*?[a-z_]+(->|\.)[A-Za-z0-9_>.\[\]-]+ ?[-+|&]?= /)) {
		match(line, /^\t+/)
		fault("deleted", substr(line, 1, RLENGTH), "", ";")
	}
	# ---- Conditions ----
	if (match(bare, /^\t+(} else )?(else )?if \(/)) {
		before = substr(line, 1, RSTART + RLENGTH - 5)
		fault("negated", before, substr(line, RSTART + RLENGTH - 1), "IF_NOT ")
		fault("never", before, substr(line, RSTART + RLENGTH - 1), "IF_NEVER ")
		fault("always", before, substr(line, RSTART + RLENGTH - 1), "IF_ALWAYS ")
	}
	operands(line, bare)
	# ---- Tokens ----
	rest = code
	at = 1
	while (match(rest, tokens)) {
		token = substr(rest, RSTART, RLENGTH)
		before = substr(line, 1, at + RSTART - 2)
		next_ = substr(line, at + RSTART - 1 + RLENGTH)
		if (index(substr(rest, 1, RSTART), ";"))
			expression_ends()
		if (token ~ /^[0-9]/) {
			digits = token
			sub(/[ULl]+$/, "", digits)
			suffix = substr(token, length(digits) + 1)
			if (digits !~ /^0x/)
				fault("constant", before, next_, (digits + 1) suffix)
		} else if (token ~ /^(->|\.)/) {
			digits = token
			sub(/^(->|\.)/, "", digits)
			if (digits in twin)
				fault("member", before, next_,
				      substr(token, 1, length(token) - length(digits)) twin[digits])
		} else if (token ~ /^E[A-Z0-9]+$/ && before ~ /-$/) {
			if (token != "EDOM")
				fault("status", before, next_, "EDOM")
		} else if (token ~ /_(MAX|MIN)(_NS)?$/ && token !~ /^(U?INT[0-9]*|SIZE)_MAX$/ &&
			   bare !~ /^\t+[a-z0-9_ *]+\[[^]]+\];$/) {
			fault("limit", before, next_, "(" token " + 1)")
		} else if (token in change &&
			   (token !~ /^[-+<>]$/ || (before ~ / $/ && next_ ~ /^ /))) {
			fault(sort_of[token], before, next_, change[token])
		} else if (token ~ /^[a-z_]/ && next_ !~ /^\(/ && before !~ /goto $/ &&
			   at + RSTART - 1 != declared_at &&
			   (digits = other_variable(token)) != "") {
			fault("variable", before, next_, digits)
		} else if (token ~ /^[a-z_]/) {
			mention(token)
		}
		at += RSTART - 1 + RLENGTH
		rest = substr(rest, RSTART + RLENGTH)
	}
	if (bare ~ /[;{})]$/)
		expression_ends()
	if (variable != "")
		declare(declared_type, variable, bare ~ /^\t+for / ? indent + 1 : indent,
			declared_type ~ /static/ || bare ~ / = / ? "set" : "none")
}
