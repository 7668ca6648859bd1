# SPDX-License-Identifier: MIT
# The table of run.sh, from the generator's lines of JSON: medians over the runs of a scenario and
# broker; counts of what went wrong are sums. Exit status 1: something did.

function text(name,    value)
{
	if (!match($0, "\"" name "\": \"[^\"]*\""))
		return ""
	value = substr($0, RSTART, RLENGTH)
	sub(/^"[^"]*": "/, "", value)
	sub(/"$/, "", value)
	return value
}

function number(name,    value)
{
	if (!match($0, "\"" name "\": -?[0-9.]+"))
		return ""
	value = substr($0, RSTART, RLENGTH)
	sub(/^.*: /, "", value)
	return value + 0
}

function note(name,    value)
{
	value = number(name)
	if (value != "")
		values[label, name, ++count[label, name]] = value
}

function median(key, name,    n, i, j, list, value)
{
	n = count[key, name]
	if (n == 0)
		return ""
	for (i = 1; i <= n; i++) {
		value = values[key, name, i]
		for (j = i - 1; j > 0 && list[j] > value; j--)
			list[j + 1] = list[j]
		list[j + 1] = value
	}
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}

function show(value, format)
{
	return value == "" ? "-" : sprintf(format, value)
}

# What the project asks for in this scenario, and whether it is so.
function verdict(key, scenario, broker,    other, ratio)
{
	if (broker !~ /^baton/ || goals == "none")
		return ""
	other = scenario "/mosquitto"
	if (scenario ~ /idle/)
		return median(key, "bytes_per_connection") <= 8192 ? "met (at most 8192)" : \
			"MISSED (at most 8192)"
	if (!(other in good) || !(key in good))
		return ""
	if (scenario !~ /\/s$/) {
		ratio = median(key, "delivered_per_s") / median(other, "delivered_per_s")
		return sprintf("%s (deliveries %.2f, at least 1)", ratio >= 1 ? "met" : "MISSED",
		               ratio)
	}
	ratio = median(key, "p99_us") / median(other, "p99_us")
	return sprintf("%s (p99 %.2f, at most %s)",
	               ratio <= (broker == "baton" ? 2 : 1.25) ? "met" : "MISSED", ratio,
	               broker == "baton" ? "2" : "1.25")
}

function row(key,    part, scenario, broker)
{
	split(key, part, "/")
	broker = part[split(key, part, "/")]
	scenario = substr(key, 1, length(key) - length(broker) - 1)
	printf "%-22s %-12s ", scenario == last ? "" : scenario, broker
	last = scenario
	if (!(key in good)) {
		print failure[key]
		return
	}
	if (scenario ~ /idle/) {
		printf "%d connections, %.0f/s, %.0f bytes each, %.1f %% CPU  %s\n",
			median(key, "connections"), median(key, "connections_per_s"),
			median(key, "bytes_per_connection"), median(key, "cpu_percent"),
			verdict(key, scenario, broker)
		return
	}
	printf "%9.0f %8.0f %8.0f %8.0f %7s %5.0f %5d %6d %6d %6d %6d  %s\n",
		median(key, "delivered_per_s"), median(key, "p50_us"), median(key, "p99_us"),
		median(key, "p999_us"), show(median(key, "cpu_us_per_delivery"), "%.2f"),
		median(key, "load_cpu_percent"), median(key, "connections"), sum[key, "lost"],
		sum[key, "duplicates"], sum[key, "disordered"], sum[key, "corrupt"],
		verdict(key, scenario, broker)
	if (median(key, "late_p99_us") > median(key, "p99_us"))
		late = 1
}

{
	label = text("label")
	if (!(label in seen)) {
		seen[label] = 1
		labels[++label_count] = label
	}
	status = number("status")
	if (status == 4) {
		failure[label] = text("failure")
		sub(/^.*not supported/, "not supported", failure[label])
		next
	}
	if (status != 0)
		bad = 1
	if (status > 1) {
		failure[label] = "FAILED " text("failure")
		next
	}
	good[label] = 1
	split("delivered_per_s p50_us p99_us p999_us late_p99_us cpu_us_per_delivery cpu_percent " \
	      "load_cpu_percent connections connections_per_s bytes_per_connection", names, " ")
	for (i in names)
		note(names[i])
	split("lost duplicates disordered corrupt", sums, " ")
	for (i in sums)
		sum[label, sums[i]] += number(sums[i])
}

# A scenario's rows stand together, in the order of first appearance.
END {
	columns = "%-22s %-12s %9s %8s %8s %8s %7s %5s %5s %6s %6s %6s %6s  %s\n"
	printf columns, "", "", "deliv.", "p50", "p99", "p99.9", "CPU us", "load", "", "",
		"dupli-", "out of", "", ""
	printf columns, "scenario", "broker", "per s", "us", "us", "us", "/deliv.", "CPU%",
		"conns", "lost", "cates", "order", "alter.", "goal, against mosquitto"
	for (i = 1; i <= label_count; i++)
		row(labels[i])
	for (key in failure)
		if (key in good)
			print key ": some of its runs: " failure[key]
	if (late)
		print "The generator was late itself: the machine is busy, latencies mean little."
	exit bad
}
