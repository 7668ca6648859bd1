# SPDX-License-Identifier: MIT
# Which pictures there are. Groups, contenders and metrics are named as the workloads name them.

/^#/ {
	next
}

# What took for ever (not one task was done) has no place in a picture: its table says so.
$5 ~ /[0-9]/ {
	key_at[++figures] = $1 SUBSEP $2 SUBSEP $3 SUBSEP $4
	median[key_at[figures]] = $5
	lower[key_at[figures]] = $7 ~ /[0-9]/ ? $7 : $5
	upper[key_at[figures]] = $8 ~ /[0-9]/ ? $8 : $5
}

# The group once for each number, in place of the #.
function each(group, numbers,    number, count, i, one, all)
{
	count = split(numbers, number, " ")
	for (i = 1; i <= count; i++) {
		one = group
		sub(/#/, number[i], one)
		all = all (i > 1 ? "|" : "") one
	}
	return all
}

function w2(    threads, peers, axis, async, batons)
{
	threads = "2 4 16 64"
	axis = "set logscale xy\nset xtics (2, 4, 16, 64)\nset xrange [1.7:75]"
	peers = "|pthread_mutex|Oyama's lock|flat combining|CC-Synch|oneTBB lightweight node|" \
		"oneTBB serial node|Boost.Asio strand|GLib GThreadPool|liburcu wfcqueue, one thread"
	batons = "baton batch of 16, limit 1000, waits on a future|" \
		"baton submit, waits on a future|baton submit, polls a counter"
	async = "W2: asynchronous, one resource, # threads, "
	lines("w2-async-empty", "One hot resource, asynchronous, empty tasks", \
		each(async "empty body", threads), threads, "M tasks/s", \
		batons peers, \
		"threads", "million tasks per second", axis)
	lines("w2-async-200ns", "One hot resource, asynchronous, tasks of 200 ns", \
		each(async "200 ns body", threads), threads, "M tasks/s", \
		batons peers, "threads", \
		"million tasks per second", axis "\nset arrow from 1.7,5 to 75,5 nohead dt 3\n" \
		"set label 4 'ceiling: 1/body' at 1.8,5.6 font ',10'")
	lines("w2-sync", "One hot resource, each thread waits for its own call", \
		each("W2s: synchronous, one resource, # threads", threads), threads, "M calls/s", \
		"baton call" peers, "threads", "million calls per second", axis)
	lines("w2-sync-longest", "One hot resource: the longest that a thread waited", \
		each("W2s: synchronous, one resource, # threads", threads), threads, "max, ms", \
		"baton call" peers, "threads", "ms", axis)
}

function bars_all(    zipf)
{
	bars("w1", "An idle resource, one thread: cost of a task", \
		"W1: one thread, an idle resource", "", "ns/task", "ns per task", "least", 0, 400)
	zipf = " resources, Zipf 0.99, "
	bars("w3", "Many resources, a few of them hot", \
		"W3: 1024" zipf "2 threads|W3: 1024" zipf "8 threads|" \
		"W3: 1000000" zipf "2 threads|W3: 1000000" zipf "8 threads", \
		"1,024 resources, 2 threads|1,024 resources, 8 threads|" \
		"1,000,000 resources, 2 threads|1,000,000 resources, 8 threads", \
		"M tasks/s", "million tasks per second", "most", 0, 270)
	bars("w4", "Pool: cost of a job", \
		"W4: 2 workers, 2^20 jobs from outside (quick: 2^16)|" \
		"W4: 2 workers, recursive fan-out, 2^20 jobs (quick: 2^17)", \
		"2^20 jobs from outside|a tree of 2^20 jobs", "ns/job", "ns per job", "least", 0, \
		390)
	bars("w3-bytes", "Memory of an idle resource", "W3: memory of an idle resource", "", \
		"bytes", "bytes", "least", 0, 390)
	bars("w5", "From a submit to a pool to the job's start, median", \
		"W5: idle pool, submit to start, the submitter's CPU its own, 200 us apart|" \
		"W5: idle pool, submit to start, a CPU shared with the submitter, 200 us apart|" \
		"W5: idle pool, submit to start, nothing pinned, 10 ms apart|" \
		"W5: busy pool, submit to start, every worker in jobs of 5 us", \
		"idle, on another CPU|idle, on the submitter's CPU|idle, nothing pinned|" \
		"busy: every worker in jobs of 5 us", "p50, us", "us", "least", 1, 240)
	bars("w6", "A broker's work: 10,000 topics, Zipf", \
		each("W6: broker, 10,000 topics, # publishers", "8 64"), \
		"8 publishers|64 publishers", "M messages/s", "million messages per second", \
		"most", 0, 390)
	bars("w6-mix", "The broker at 30 % of its capacity, with and without rare 1 ms tasks", \
		"W6b: broker at 30 % of its capacity, with rare 1 ms tasks", "", "p99 us", \
		"us, 99th percentile of the other topics' messages", "table", 1, 390)
}

# A line down at each length at which baton and the mutex are equal.
function crossings(group,    i, key, commands)
{
	for (i = 1; i <= 10; i++) {
		key = group ", crossing" SUBSEP "baton submit, waits on a future" SUBSEP \
			"number " i ", ns" SUBSEP ""
		if (!(key in median))
			break
		commands = commands sprintf("set arrow from %g, graph 0 to %g, graph 0.9 nohead " \
			"dt 3 lw 1.5 lc rgb '#D55E00'\n", at_least(median[key]), \
			at_least(median[key]))
	}
	if (i > 1)
		commands = commands "set label 4 'dotted: baton submit, waits on a future, " \
			"equals the mutex' " \
			"at graph 0.02, graph 0.95 font ',10' tc rgb '#D55E00'\n"
	return commands
}

function at_least(x)
{
	return x < at(0) ? at(0) : x
}

# The mutex's time over baton's, as figures of a group of their own.
function gain(lengths, threads, contender, name,    group, length_, n, i, mutex, baton, mine)
{
	group = "W7: task length, " threads " threads"
	n = split(lengths, length_, " ")
	for (i = 1; i <= n; i++) {
		mutex = group SUBSEP "pthread_mutex" SUBSEP "ns/task" SUBSEP length_[i]
		baton = group SUBSEP contender SUBSEP "ns/task" SUBSEP length_[i]
		if (!(mutex in median) || !(baton in median))
			continue
		mine = "gain" SUBSEP name SUBSEP "x" SUBSEP length_[i]
		median[mine] = lower[mine] = upper[mine] = median[mutex] / median[baton]
	}
}

function w7(    lengths, axis, group, threads, numbers, i, contenders)
{
	lengths = "0 20 50 100 200 500 1000 2000 5000 10000 100000"
	axis = "set logscale xy\nset xtics ('0' 8, '20' 20, '50' 50, '100' 100, '200' 200, " \
		"'500' 500, '1000' 1000, '' 2000, '' 5000, '10,000' 10000, " \
		"'100,000' 100000)\n"
	split("2 8", numbers, " ")
	for (i = 1; i <= 2; i++) {
		threads = numbers[i]
		group = "W7: task length, " threads " threads"
		lines("w7-" threads, "Cost of a task of each length, one hot resource, " threads \
			" threads", group, lengths, "ns/task", \
			"baton submit, waits on a future|" \
			"baton submit, polls a counter|pthread_mutex|Boost.Asio strand", \
			"what the task computes, ns", "ns per task, all threads together", \
			axis "set format y '%.0f'\n" crossings(group))
		gain(lengths, threads, "baton submit, polls a counter", \
			"baton, polling, " threads " threads")
		gain(lengths, threads, "baton submit, waits on a future", \
			"baton, a future, " threads " threads")
		contenders = contenders (i > 1 ? "|" : "") "baton, a future, " threads \
			" threads|baton, polling, " threads " threads"
	}
	lines("w7-gain", "One hot resource: what baton gains over a mutex", "gain", lengths, "x", \
		contenders, "what the task computes, ns", "mutex's time / baton's", axis \
		"set yrange [*<0.6:1.6<*]\n" \
		"set ytics (0.1, 0.2, 0.33, 0.5, 0.7, 1, 1.4, 2, 3, 5, 10)\n" \
		"set arrow from graph 0, first 1 to graph 1, first 1 nohead lw 1.5\n" \
		"set label 4 'below 1 the mutex is faster' at graph 0.98, graph 0.1 right " \
		"font ',10'")
}

function w8()
{
	lines("w8-tasks", "Cost of a task when so many wait", \
		"W8: tasks that wait at one resource", "1000 10000 100000 1000000 10000000 " \
		"100000000", "ns/task", "baton batch of 16|baton submit|baton post|" \
		"list under a mutex", "tasks that wait", "ns per task", \
		"set logscale xy\nset format x '10^%T'")
	lines("w8-resources", "Cost of a task when so many resources are in use", \
		"W8: resources, one thread", "1 10 100 1000 10000 100000 1000000", "ns/task", \
		"baton submit|baton call|pthread_mutex", "resources", "ns per task", \
		"set logscale xy\nset format x '10^%T'")
	lines("w8-threads", "One hot resource, more and more threads", \
		"W8: threads at one hot resource", "1 2 4 8 16 32 64", "M tasks/s", \
		"baton submit, waits on a future|baton submit, polls a counter|" \
		"baton batch of 16, polls a counter|pthread_mutex", "threads", \
		"million tasks per second", "set logscale x 2\nset yrange [0:*]")
}

function w21()
{
	lines("w21-policies", "A saturated worker: how late a job from outside starts", \
		"W21: a saturated worker, jobs from outside", "0.1 1 10 100 1000", "p50, us", \
		"baton, 61 fixed|baton, default: 10 us|baton, 10 us, max-mean|" \
		"baton, the source: 1 ms, max-mean", "own job, us", \
		"median from submit to start, us", "set logscale xy\nset format y '%.0f'")
}

END {
	w2()
	bars_all()
	w7()
	w8()
	w21()
}
