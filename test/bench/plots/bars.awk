# SPDX-License-Identifier: MIT
# Bars, as gnuplot's commands: a panel for each group, a bar for each contender in it, in the order
# of their values. See lines.awk for the figures.

function bar_colour(contender)
{
	if (contender ~ /^baton/)
		return "0xD55E00"
	return contender ~ /mutex/ ? "0x444444" : "0xA9B8C6"
}

# The contenders of the group into order[]; how many. `order_by`: "least" or "most" first, or as in
# the "table".
function sort_contenders(group, metric, order, order_by,    i, j, n, key, part, value)
{
	n = 0
	for (i = 1; i <= figures; i++) {
		split(key_at[i], part, SUBSEP)
		if (part[1] != group || part[3] != metric || part[4] != "" || hidden(part[2]))
			continue
		value = order_by == "table" ? i : median[key_at[i]] * (order_by == "least" ? 1 : -1)
		for (j = n++; j >= 1 && worth[j] > value; j--) {
			order[j + 1] = order[j]
			worth[j + 1] = worth[j]
		}
		order[j + 1] = part[2]
		worth[j + 1] = value
	}
	return n
}

# Left out of the pictures, which have not room for every variant.
function hidden(contender)
{
	return contender ~ /by pointer|limit 10$|post, wait$/
}

function panel(number, group, label, metric, unit, order_by, logarithmic,
               n, i, key, order, least, most)
{
	n = sort_contenders(group, metric, order, order_by)
	printf "$panel%d << EOD\n", number
	for (i = 1; i <= n; i++) {
		key = group SUBSEP order[i] SUBSEP metric SUBSEP ""
		printf "%s %d %s %s %s %s\n", median[key], -i, bar_colour(order[i]), \
			lower[key], upper[key], digits(median[key])
		if (i == 1 || median[key] < least)
			least = median[key]
		if (i == 1 || upper[key] > most)
			most = upper[key]
	}
	print "EOD"
	printf "set title %s font ',12' offset 0,-0.6\nunset key\nset ytics (", quoted(label)
	for (i = 1; i <= n; i++)
		printf "%s%s %d", (i > 1 ? ", " : ""), quoted(order[i]), -i
	printf ") font ',10' scale 0\nset xtics font ',10'\n"
	printf "set yrange [%g:-0.4]\n", (n < 5 ? -5.6 : -n - 0.6)
	if (logarithmic) {
		least = 10 ^ int_below(log(least) / log(10) - 0.1)
		printf "set logscale x\nset xrange [%g:%g]\n", least, \
			most * (most / least) ^ 0.3
	} else {
		least = 0
		printf "unset logscale x\nset xrange [0:%g]\n", most * 1.25
	}
	printf "set xlabel %s offset 0,0.4\n", quoted(unit)
	printf "plot $panel%d using (%g):2:(%g):1:($2-0.36):($2+0.36):3 with boxxyerror " \
		"fs solid 0.9 noborder lc rgb variable, \\\n", number, least, least
	printf "  $panel%d using 1:2:4:5 with xerrorbars pt 0 lw 1 lc rgb '#000000', \\\n", number
	printf "  $panel%d using 5:2:6 with labels left offset 0.6,0 font ',10'\n", number
}

function digits(value)
{
	return sprintf(value < 1000 ? "%.3g" : "%.0f", value)
}

function int_below(value)
{
	return value < int(value) ? int(value) - 1 : int(value)
}

# Groups and their labels separated by |; a group without figures is left out. `height` of a row of
# two panels.
function bars(name, title, groups, labels, metric, unit, order_by, logarithmic, height,
              group, label, count, i, n, kept, order, rows)
{
	count = split(groups, group, "|")
	split(labels, label, "|")
	n = 0
	for (i = 1; i <= count; i++)
		if (sort_contenders(group[i], metric, order, order_by) > 0)
			kept[++n] = i
	if (n == 0)
		return
	rows = int((n + 1) / 2)
	height = 60 + height * rows
	begin_picture(name, height, title)
	printf "set multiplot layout %d,%d margins screen %g,0.975,%.4f,%.4f " \
		"spacing screen 0.235,%.4f\n", rows, (n > 1 ? 2 : 1), (n > 1 ? 0.22 : 0.3), \
		55 / height, 1 - 80 / height, 90 / height
	for (i = 1; i <= n; i++) {
		panel(i, group[kept[i]], label[kept[i]], metric, unit, order_by, logarithmic)
		print "unset label 1\nunset label 2"
	}
	print "unset multiplot\nunset output"
}
