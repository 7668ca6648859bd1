# SPDX-License-Identifier: MIT
# Line plots, as gnuplot's commands. The figures are in median[], lower[] and upper[], their index
# group SUBSEP contender SUBSEP metric SUBSEP x.

# Colours of Okabe and Ito, which colour-blind people can tell apart; baton's lines are the thick
# ones.
function style(contender,    colour, width, point, dash)
{
	width = 1.5
	dash = 1
	if (contender ~ /^baton/) {
		colour = "#D55E00"
		width = 3.5
		point = 7
		if (contender ~ /batch/) {
			dash = 2
			width = 2.5
			point = 5
		} else if (contender ~ /poll|post/) {
			dash = 3
			width = 2.5
			point = 9
		} else if (contender ~ /call/) {
			point = 9
		}
		if (contender ~ / 8 threads|61 fixed/)
			colour = "#0072B2"
		else if (contender ~ /10 us, max-mean/)
			colour = "#009E73"
		else if (contender ~ /the source/)
			colour = "#CC79A7"
	} else if (contender ~ /mutex/) {
		colour = "#000000"
		width = 2.5
		point = 4
	} else if (contender ~ /Asio/) {
		colour = "#0072B2"
		point = 8
	} else if (contender ~ /TBB/) {
		colour = "#009E73"
		point = 10
		dash = contender ~ /light/ ? 2 : 1
	} else if (contender ~ /GLib/) {
		colour = "#CC79A7"
		point = 12
	} else if (contender ~ /combining/) {
		colour = "#56B4E9"
		point = 6
	} else if (contender ~ /Oyama/) {
		colour = "#E69F00"
		point = 1
		dash = 2
	} else if (contender ~ /CC-Synch/) {
		colour = "#56B4E9"
		point = 14
		dash = 2
	} else {
		colour = "#999999"
		point = 2
	}
	return sprintf("lc rgb '%s' lw %s dt %d pt %d ps 0.8", colour, width, dash, point)
}

function quoted(text)
{
	gsub(/["\\]/, "", text)
	return "\"" text "\""
}

# There is room for so many letters only.
function short(contender)
{
	if (length(contender) > 36)
		sub(/waits on a future/, "a future", contender)
	return contender
}

# The head of each picture: its size, title and whose figures they are.
function begin_picture(name, height, title)
{
	printf "reset\nset terminal svg size 800,%d noenhanced font 'Helvetica,12' " \
		"background 'white'\n", height
	printf "set output %s\n", quoted(pictures "/" name ".svg")
	printf "set label 1 %s at screen 0.02, screen %.4f font ',16'\n", quoted(title), \
		1 - 20 / height
	printf "set label 2 %s at screen 0.02, screen %.4f font ',10' tc rgb '#555555'\n", \
		quoted(machine), 1 - 40 / height
	print "set border 3 lc rgb '#555555'\nset tics nomirror\n"
}

# `groups`: of each x in `xs`, or one group for all, which is a sweep; contenders separated by |.
# `options`: further commands of gnuplot. False if nothing of it was measured.
function lines(name, title, groups, xs, metric, contenders, xlabel, ylabel, options,
               group, contender, x, i, j, key, blocks, plots, used, sweep)
{
	nx = split(xs, x, " ")
	sweep = split(groups, group, "|") == 1
	blocks = plots = ""
	count = split(contenders, contender, "|")
	for (i = 1; i <= count; i++) {
		used = ""
		for (j = 1; j <= nx; j++) {
			key = group[sweep ? 1 : j] SUBSEP contender[i] SUBSEP metric SUBSEP \
				(sweep ? x[j] : "")
			if (key in median)
				used = used sprintf("%s %s %s %s\n", at(x[j]), median[key], \
					lower[key], upper[key])
		}
		if (used == "")
			continue
		blocks = blocks sprintf("$line%d << EOD\n%sEOD\n", i, used)
		plots = plots sprintf("%s$line%d using 1:3:4 with filledcurves notitle %s " \
			"fs transparent solid 0.15 noborder, " \
			"$line%d using 1:2 with linespoints title %s %s", \
			plots == "" ? "" : ", \\\n", i, colour_of(contender[i]), i, \
			quoted(short(contender[i])), style(contender[i]))
	}
	if (plots == "")
		return 0
	begin_picture(name, 450, title)
	printf "%s", blocks
	printf "set xlabel %s\n", quoted(xlabel)
	printf "set label 3 %s at graph 0, graph 1.05 font ',12'\n", quoted(ylabel)
	print "set lmargin at screen 0.085\nset rmargin at screen 0.6\nset tmargin at screen 0.81"
	print "set bmargin at screen 0.14\nset autoscale xfix"
	print "set key at screen 0.615, screen 0.81 left top Left reverse samplen 2.5 spacing 1.3"
	print "set grid y lc rgb '#dddddd' lt 1"
	print options
	printf "plot %s\nunset output\n", plots
	return 1
}

function colour_of(contender,    text)
{
	text = style(contender)
	sub(/ lw.*/, "", text)
	return text
}

# Where a value of x stands: 0 has no place on a logarithmic axis.
function at(x)
{
	return x == 0 ? 8 : x
}
