#!/bin/sh
# SPDX-License-Identifier: MIT
# The manual as HTML, by mandoc: one file a page, references are links. index.html lists all pages.
# Each page has a search box over names.js, which is made here of the pages' NAME sections. All of
# it works from files, without a server.
#
#	html.sh MANUAL HTML
set -eu

manual=$1
html=$2
from=$(dirname "$0")

rm -rf "$html"
mkdir -p "$html"
cp "$from/style.css" "$from/search.js" "$html"

# Above each page: the way to the index, and the search box.
box='<nav><a href="index.html">baton</a>\
<input id="search" type="search" placeholder="search" autocomplete="off"><ol id="found"></ol>\
<script src="names.js"></script><script src="search.js"></script></nav>'

for page in "$manual"/man[137]/*.[137]; do
	name=${page##*/}
	if target=$(sed -n 's|^[.]so man[37]/||p' "$page") && [ -n "$target" ]; then
		ln -sf "$target.html" "$html/$name.html"
	else
		mandoc -T html -O "man=%N.%S.html,style=style.css" "$page" |
			sed "s|^<body>|&$box|" >"$html/$name.html"
	fi
done

# Name, section, page and summary of each name: "name|section|page|summary".
names=$html/names.txt
for page in "$manual"/man[137]/*.[137]; do
	awk -v page="${page##*/}" '
	/^[.]so man3/ {exit}
	# A constant that its header explains.
	/^[.]so / {
		name = page
		sub(/[.]3$/, "", name)
		page = $2
		sub(/man7./, "", page)
		header = page
		sub(/[.]7$/, "", header)
		print name "|3|" page ".html|" "see " header "(7)"
		exit
	}
	/^[.]Nm / && !described {
		name = $2
		gsub(/\\/, "", name)
		named[++count] = name
	}
	/^[.]Nd / {
		described = 1
		summary = substr($0, 5)
		gsub(/\\e/, "\\", summary)
		gsub(/\\-/, "-", summary)
		section = page
		sub(/.*[.]/, "", section)
		for (i = 1; i <= count; i++)
			print named[i] "|" section "|" page ".html|" summary
		exit
	}' "$page"
done | LC_ALL=C sort >"$names"

# As an array of JavaScript, and as a list.
awk -F'|' '
BEGIN {print "var names = ["}
{
	gsub(/["\\]/, "\\\\&", $4)
	printf "[\"%s\", \"%s\", \"%s\", \"%s\"],\n", $1, $2, $3, $4
}
END {print "];"}' "$names" >"$html/names.js"
{
	printf '<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>baton</title>\n'
	printf '<link rel="stylesheet" href="style.css"></head>\n<body>%s\n' "$box" | tr -d '\\'
	awk -F'|' '
	function list(heading, wanted,	k) {
		print "<h1 class=\"Sh\">" heading "</h1>\n<table class=\"index\">"
		for (k = 1; k <= NR; k++)
			if (kind[k] == wanted)
				print row[k]
		print "</table>"
	}
	{
		gsub(/&/, "\\&amp;", $4)
		gsub(/</, "\\&lt;", $4)
		header = "include/baton/" substr($1, 7) ".h"
		kind[NR] = $2 != 7 ? $2 : (getline one <header) > 0 ? "header" : "guide"
		row[NR] = "<tr><td><a href=\"" $3 "\">" $1 "</a></td><td>" $4 \
			"</td></tr>"
	}
	END {
		list("Guides", "guide")
		list("Programs", "1")
		list("Headers", "header")
		list("Functions, types and constants", "3")
	}' "$names"
	printf '</body></html>\n'
} >"$html/index.html"
rm "$names"
