# SPDX-License-Identifier: MIT
# The types of abidw's XML, one fact a line: functions, to which the variables abi_NAME point;
# typedefs; sizes of structs; offsets and types of members; values of enumerators. A typedef that is
# not baton's is what it stands for.

function attribute(name)
{
	if (!match($0, " " name "='[^']*'"))
		return ""
	return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
}

# const after what it belongs to, so that texts can be put together from the left.
function text(id,    inner)
{
	if (kind[id] == "pointer") {
		inner = base[id]
		if (kind[inner] == "function")
			return text(returns[inner]) " (*)(" parameters(inner) ")"
		return text(inner) " *"
	}
	if (kind[id] == "typedef")
		return name[id] ~ /^baton_/ ? name[id] : text(base[id])
	if (kind[id] == "qualified")
		return text(base[id]) qualifiers[id]
	if (kind[id] == "array")
		return text(base[id]) lengths[id]
	if (kind[id] == "function")
		return text(returns[id]) " (" parameters(id) ")"
	return name[id]
}

function parameters(id,    i, list)
{
	for (i = 1; i <= count[id]; i++)
		list = list (i > 1 ? ", " : "") text(parameter[id, i])
	return list == "" ? "void" : list
}

# The members of a struct without a name are its owner's.
function members(id, prefix, begin,    i, type, at)
{
	for (i = 1; i <= count[id]; i++) {
		type = parameter[id, i]
		at = begin + offset[id, i]
		if (nameless[type])
			members(type, prefix (called[id, i] == "" ? "" : called[id, i] "."), at)
		else
			print prefix called[id, i] ": at " at / 8 ", " text(type)
	}
}

/<(class|union|enum|typedef|type)-decl / || /<(pointer|array|qualified)-type-def / ||
		/<function-type / {
	id = attribute("id")
	name[id] = attribute("name")
	base[id] = attribute("type-id")
	size[id] = attribute("size-in-bits")
	nameless[id] = /<(class|union)-decl / && attribute("is-anonymous") == "yes"
	kind[id] = $1
	sub(/^</, "", kind[id])
	sub(/-.*/, "", kind[id])
	if (/<(class|union|enum)-decl /) {
		owner = id
		name[id] = (kind[id] == "class" ? "struct" : kind[id]) " " name[id]
	}
	if (/<function-type /)
		owner = id
	if (/<array-type-def /)
		owner = id
	if (/<qualified-type-def /)
		qualifiers[id] = (attribute("const") == "yes" ? " const" : "") \
			(attribute("volatile") == "yes" ? " volatile" : "")
}
/<subrange / {lengths[owner] = lengths[owner] "[" attribute("length") "]"}
/<parameter / {
	parameter[owner, ++count[owner]] = attribute("type-id")
	if (attribute("is-variadic") == "yes") {
		parameter[owner, count[owner]] = "..."
		name["..."] = "..."
	}
}
/<return / {returns[owner] = attribute("type-id")}
/<data-member / {at = attribute("layout-offset-in-bits"); inside = 1}
/<var-decl / && inside {
	called[owner, ++count[owner]] = attribute("name")
	parameter[owner, count[owner]] = attribute("type-id")
	offset[owner, count[owner]] = at + 0
	inside = 0
	next
}
/<enumerator / {
	called[owner, ++count[owner]] = attribute("name")
	value[owner, count[owner]] = attribute("value")
}
/<var-decl / && attribute("name") ~ /^abi_baton_/ {
	variable[substr(attribute("name"), 5)] = attribute("type-id")
}

END {
	for (function_name in variable)
		print "function " function_name ": " text(base[variable[function_name]])
	for (id in kind) {
		if (name[id] !~ /(^| )baton_/ || nameless[id])
			continue
		if (kind[id] == "typedef")
			print "typedef " name[id] ": " text(base[id])
		else if (kind[id] == "enum")
			for (i = 1; i <= count[id]; i++)
				print name[id] "." called[id, i] ": " value[id, i]
		else if (size[id]) {
			print name[id] ": " size[id] / 8 " bytes"
			members(id, name[id] ".", 0)
		}
	}
}
