# SPDX-License-Identifier: MIT
# Which lines a unified diff changes, as lines "FILE LINE,LINE..." by the numbers of the old file;
# what is only inserted is at the line before. Comments and empty lines do not count.
#
#	awk -f changed.awk PATCH
#	awk -v new=1 -f changed.awk PATCH	by the numbers of the new file

function note(number)
{
	if (number < 1)
		number = 1
	if (!((file, number) in noted))
		lines = lines (lines == "" ? "" : ",") number
	noted[file, number] = 1
}

function flush_file()
{
	if (file != "" && lines != "")
		print file, lines
	lines = ""
}

/^--- / {
	old_name = $2
	next
}

/^\+\+\+ / {
	flush_file()
	file = $2 == "/dev/null" ? old_name : $2
	sub(/^[ab]\//, "", file)
	next
}

/^@@ / {
	old = -$2
	after = $3 + 0
	# Where a side has no lines, its number is that of the line before.
	if ($2 ~ /,0$/)
		old++
	if ($3 ~ /,0$/)
		after++
	next
}

/^[-+ ]/ || $0 == "" {
	text = substr($0, 2)
	counts = text !~ /^[ \t]*($|\/[*\/]|\*($|[ \/])|-- )/
	if (/^-/) {
		if (counts)
			note(new ? after - 1 : old)
		old++
	} else if (/^\+/) {
		if (counts)
			note(new ? after : old - 1)
		after++
	} else {
		old++
		after++
	}
}

END {
	flush_file()
}
