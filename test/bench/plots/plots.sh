#!/bin/sh
# SPDX-License-Identifier: MIT
# Draws what the benchmark's --data DIR holds: plots.sh DATA PICTURES. A picture whose figures were
# not measured is left out, and one of an earlier run taken away.
set -eu

data=$1
pictures=$2
here=$(dirname "$0")

if ! [ -e "$data/figures.tsv" ]; then
	echo "No figures in $data: run \`make bench\` first." >&2
	exit 1
fi
if ! command -v gnuplot >/dev/null 2>&1; then
	echo "No gnuplot: \`make deps\`, or as root on Debian: apt-get install gnuplot-nox" >&2
	exit 1
fi
mkdir -p "$pictures"
rm -f "$pictures"/w[1-8]*.svg

script=$(mktemp)
trap 'rm -f "$script"' EXIT
LC_ALL=C awk -F '\t' -v machine="$(cat "$data/machine.txt")" -v pictures="$pictures" \
	-f "$here/lines.awk" -f "$here/bars.awk" -f "$here/plots.awk" "$data/figures.tsv" >"$script"
gnuplot "$script"
ls "$pictures"/*.svg 2>/dev/null || echo "Nothing in $data of which there is a picture."
