/* SPDX-License-Identifier: MIT */
/*
 * W6c: what it costs that all topics of the broker are on a board, and that a trace of them is on.
 */
#include "harness.h"
#include "w6_broker.h"

#define WINDOW_MS 80

static void run(const void *setup, double *values)
{
	struct broker broker = *(const struct broker *)setup;
	struct broker_latencies latencies;
	struct team_result result =
		broker_run(&broker, broker.way->loop, bench_sample_ms(WINDOW_MS), &latencies);

	values[0] = result.per_second / 1e6;
	values[1] = result.cpu_ns;
	values[2] = latencies.since_sent.p50_us;
	values[3] = latencies.since_sent.p99_us;
}

static void run_group(const struct broker *shared, const char *name, const struct broker_way *way)
{
	static const char *const metrics[] = {"M messages/s", "CPU ns/message", "p50 us", "p99 us",
	                                      NULL};
	static const char *const seen[] = {"without a board", "on a board", "traced"};
	struct broker brokers[3];
	struct bench_case cases[3];
	struct bench_group group = {
		.name = name,
		.metrics = metrics,
		.cases = cases,
		.case_count = 3,
		.note = "each of the topics is on the board, and each message is in the trace",
	};

	for (unsigned i = 0; i < 3; i++) {
		brokers[i] = *shared;
		brokers[i].way = way;
		brokers[i].seen = (enum broker_seen)i;
		cases[i].contender = seen[i];
		cases[i].run = run;
		cases[i].setup = &brokers[i];
	}
	bench_group(&group);
}

void bench_w6_seen(void)
{
	static const unsigned threads[] = {2, 8};
	static const struct {
		const struct broker_way *way;
		const char *name;
	} ways[] = {{&broker_submit, "submit"}, {&broker_call, "call"}};
	struct broker broker = {0};

	for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		for (unsigned w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
			char name[96];

			(void)snprintf(name, sizeof(name),
			               "W6c: broker that is seen, %s, %u publishers", ways[w].name,
			               threads[i]);
			if (!bench_wanted(name))
				continue;
			if (!broker.topics)
				broker_init(&broker);
			broker.threads = threads[i];
			run_group(&broker, name, ways[w].way);
		}
	}
	if (broker.topics)
		broker_deinit(&broker);
}
