/* SPDX-License-Identifier: MIT */
/*
 * W6: publishers that load the broker as fast as they can.
 */
#include "w6_broker.h"
#include "harness.h"

#define WINDOW_MS 80
#define CASES_MAX 32

static void run(const void *setup, double *values)
{
	struct broker broker = *(const struct broker *)setup;
	/* With many threads per CPU each of them must have had several turns. */
	unsigned window_ms = broker.threads > 4 * team_cpus() ? 4 * WINDOW_MS : WINDOW_MS;
	struct broker_latencies latencies;
	struct team_result result =
		broker_run(&broker, broker.way->loop, bench_sample_ms(window_ms), &latencies);

	values[0] = result.per_second / 1e6;
	values[1] = result.fairness;
	values[2] = result.cpu_ns;
	values[3] = 1e3 * result.switches;
	values[4] = latencies.since_sent.p50_us;
	values[5] = latencies.since_sent.p99_us;
	values[6] = latencies.since_sent.p999_us;
	values[7] = latencies.since_sent.max_us;
}

static void run_group(const struct broker *shared, const char *name, unsigned threads)
{
	static const char *const metrics[] = {"M messages/s",  "slowest/fastest", "CPU ns/message",
	                                      "switches/1000", "p50 us",          "p99 us",
	                                      "p99.9 us",      "max us",          NULL};
	static const struct {
		const struct broker_way *way;
		const char *name;
		uint32_t capture_max;
	} ways[] = {
		{&broker_mutex, "pthread_mutex", 0},
		{&broker_pointer, "pthread_mutex, body by pointer", 0},
		{&broker_submit, "baton submit", 0},
		{&broker_submit_inline, "baton submit, inlined", 0},
		{&broker_submit, "baton submit, limit 1000", 1000},
		{&broker_wait, "baton submit, future and wait", 0},
		{&broker_call, "baton call", 0},
		{&broker_call_inline, "baton call, inlined", 0},
		{&broker_two_cases, "two CASes alone", 0},
		{&broker_ticket, "CK ticket lock", 0},
	};
	struct broker brokers[CASES_MAX];
	struct bench_case cases[CASES_MAX];
	struct bench_group group = {
		.name = name,
		.metrics = metrics,
		.cases = cases,
		.note = "latency: from publish to applied, of each 64th message",
	};
	/* A queue lock stands still when its next holder has no CPU. */
	size_t way_count = sizeof(ways) / sizeof(ways[0]) - (threads > team_cpus());

	for (size_t i = 0; i < way_count; i++, group.case_count++) {
		brokers[i] = *shared;
		brokers[i].way = ways[i].way;
		brokers[i].capture_max = ways[i].capture_max;
		cases[i].contender = ways[i].name;
	}
	for (size_t i = 0; peers[i] && group.case_count < CASES_MAX; i++) {
		if (!peers[i]->present || !peers[i]->queue_submit || !peers[i]->queue_is_light)
			continue;
		brokers[group.case_count] = *shared;
		brokers[group.case_count].way = &broker_peer;
		brokers[group.case_count].peer = peers[i];
		cases[group.case_count++].contender = peers[i]->name;
	}
	for (size_t i = 0; i < group.case_count; i++) {
		brokers[i].threads = threads;
		cases[i].run = run;
		cases[i].setup = &brokers[i];
	}
	bench_group(&group);
}

void bench_w6_broker(void)
{
	static const unsigned threads[] = {2, 8, 64};
	struct broker broker = {0};

	for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		char name[96];

		(void)snprintf(name, sizeof(name), "W6: broker, 10,000 topics, %u publishers",
		               threads[i]);
		if (!bench_wanted(name))
			continue;
		if (!broker.topics)
			broker_init(&broker);
		run_group(&broker, name, threads[i]);
	}
	if (broker.topics)
		broker_deinit(&broker);
}
