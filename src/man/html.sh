#!/bin/sh
# SPDX-License-Identifier: MIT
# The manual as HTML, by mandoc: one file a page, references are links.
#
#	html.sh MANUAL HTML
set -eu

manual=$1
html=$2

rm -rf "$html"
mkdir -p "$html"
cp "$(dirname "$0")/style.css" "$html"
for page in "$manual"/man[137]/*.[137]; do
	name=${page##*/}
	if target=$(sed -n 's|^[.]so man[37]/||p' "$page") && [ -n "$target" ]; then
		ln -sf "$target.html" "$html/$name.html"
	else
		mandoc -T html -O "man=%N.%S.html,style=style.css" "$page" >"$html/$name.html"
	fi
done
ln -sf baton.7.html "$html/index.html"
