/* SPDX-License-Identifier: MIT */
/*
 * W6b: the broker at 30 % of its capacity, without and with rare messages whose tasks sleep for a
 * millisecond, on topics of their own. Is anybody else delayed?
 *
 * Open loop: each publisher has a schedule, a burst every 250 us, as a thread that reads a socket;
 * a message's latency counts from the time when its burst was due, however late the publisher came
 * to it. Publishers sleep between bursts; their schedules are shifted against each other.
 * The capacity is the contender's own, measured just before.
 *
 * A lock's user sleeps under the lock, on the publisher's thread. baton's slow topics have
 * BATON_CAPTURE_NONE, so that only workers sleep.
 */
#include "harness.h"
#include "w6_broker.h"

#include <math.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define PUBLISHERS 8U
#define LOAD 0.3
#define PERIOD_NS 250000U
#define SLOW_US 1000U
#define SLOW_PER_SECOND 200.0
#define SAMPLE 16U
#define CAPACITY_MS 60
#define WINDOW_MS 400
#define CASES_MAX 32

/* A contender: measured without the slow ones, then with them at the same rate. */
struct pair {
	struct broker broker;
	const char *name;
	double rate;           /* messages per second, all publishers together */
	double p99_without_us; /* this run's */
	char names[2][64];
};

struct mix {
	double per_burst;    /* messages */
	uint32_t slow_every; /* one in so many of a publisher's messages; 0: none */
};

static void sleep_until(uint64_t ns)
{
	struct timespec at = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL))
		;
}

/* Publishes what is due. `due`: since when, in ticks; 0: nobody wants to know. */
static void publish_burst(struct publisher *publisher, const struct mix *mix, unsigned count,
                          uint64_t due)
{
	const struct broker *broker = publisher->broker;
	broker_publish *publish = broker->way->publish;

	for (unsigned i = 0; i < count; i++) {
		uint32_t number = publisher->number;
		uint64_t sent = 0;
		uint32_t turn = number + mix->slow_every / PUBLISHERS * publisher->index;

		if (mix->slow_every && (turn + 1) % mix->slow_every == 0) {
			uint32_t slow = publisher->slow++ % BROKER_SLOW;

			publish(publisher, &broker->topics[BROKER_TOPICS + slow], SLOW_US, 0);
			continue;
		}
		if (due && number % SAMPLE == 0) {
			sent = machine_ticks();
			publisher->late = sent - due;
		}
		publish(publisher, publisher_topic(publisher, number - publisher->slow), 0, sent);
	}
}

static void paced(struct team_member *member)
{
	struct broker *broker = member->context;
	const struct mix *mix = broker->context;
	struct publisher *publisher = &broker->publishers[member->index];
	uint64_t begin = machine_now_ns() + PERIOD_NS / PUBLISHERS * member->index;
	double per_ns = machine_ticks_per_ns();
	uint64_t sent = 0;

	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	for (uint64_t burst = 0; !team_stopped(member); burst++) {
		uint64_t due_ns = begin + burst * PERIOD_NS;
		uint64_t until = (uint64_t)((double)(burst + 1) * mix->per_burst);
		uint64_t ticks;

		if (machine_now_ns() < due_ns)
			sleep_until(due_ns);
		ticks = machine_ticks();
		ticks -= (uint64_t)((double)(machine_now_ns() - due_ns) * per_ns);
		publish_burst(publisher, mix, (unsigned)(until - sent),
		              team_measuring(member) ? ticks : 0);
		team_count(member, until - sent);
		sent = until;
	}
	publisher_finish(publisher);
}

static void measure(struct pair *pair, bool slow, double *values)
{
	unsigned window_ms = bench_sample_ms(WINDOW_MS);
	struct mix mix = {
		.per_burst = pair->rate / PUBLISHERS * PERIOD_NS / 1e9,
		.slow_every = slow ? (uint32_t)(pair->rate / SLOW_PER_SECOND) : 0,
	};
	struct broker_latencies latencies;
	struct team_result result;

	pair->broker.context = &mix;
	result = broker_run(&pair->broker, paced, window_ms, &latencies);
	if (!slow)
		pair->p99_without_us = latencies.since_due.p99_us;
	values[0] = latencies.since_due.p99_us;
	values[1] = slow ? latencies.since_due.p99_us / pair->p99_without_us : NAN;
	values[2] = latencies.since_due.p50_us;
	values[3] = latencies.since_due.p999_us;
	values[4] = latencies.since_due.max_us;
	values[5] = latencies.since_sent.p99_us;
	values[6] = latencies.since_sent.p999_us;
	values[7] = result.per_second / 1e6;
}

static void run_without(const void *setup, double *values)
{
	struct pair *pair = *(struct pair *const *)setup;
	struct broker_latencies latencies;
	struct team_result result = broker_run(&pair->broker, pair->broker.way->loop,
	                                       bench_sample_ms(CAPACITY_MS), &latencies);

	pair->rate = LOAD * result.per_second;
	measure(pair, false, values);
}

static void run_with(const void *setup, double *values)
{
	measure(*(struct pair *const *)setup, true, values);
}

static void add_pair(struct pair *pairs, size_t *count, struct broker broker, const char *name)
{
	struct pair *pair = &pairs[(*count)++];

	broker.threads = PUBLISHERS;
	pair->broker = broker;
	(void)snprintf(pair->names[0], sizeof(pair->names[0]), "%s", name);
	(void)snprintf(pair->names[1], sizeof(pair->names[1]), "  with 1 ms tasks");
}

static size_t add_pairs(struct pair *pairs, struct broker broker)
{
	size_t count = 0;

	broker.way = &broker_mutex;
	add_pair(pairs, &count, broker, broker.way->name);
	broker.way = &broker_submit;
	add_pair(pairs, &count, broker, "baton submit");
	broker.workers = team_cpus() + BROKER_SLOW;
	add_pair(pairs, &count, broker, "baton, 4 more workers");
	broker.workers = 0;
	broker.own_pool = true;
	add_pair(pairs, &count, broker, "baton, slow ones' own pool");
	broker.own_pool = false;
	broker.way = &broker_peer;
	for (size_t i = 0; peers[i] && count < CASES_MAX; i++) {
		if (!peers[i]->present || !peers[i]->queue_submit || !peers[i]->queue_is_light)
			continue;
		/* One that runs tasks inline would sleep in its publishers: nobody uses it so. */
		if (peers[i]->queue_submit == peers[i]->queue_dispatch)
			continue;
		broker.peer = peers[i];
		add_pair(pairs, &count, broker, peers[i]->name);
	}
	return count;
}

void bench_w6_mix(void)
{
	static const char *const metrics[] = {"p99 us",
	                                      "p99 with/without",
	                                      "p50 us",
	                                      "p99.9 us",
	                                      "max us",
	                                      "since sent: p99 us",
	                                      "since sent: p99.9 us",
	                                      "M messages/s",
	                                      NULL};
	static const char name[] = "W6b: broker at 30 % of its capacity, with rare 1 ms tasks";
	static struct pair pairs[CASES_MAX];
	struct pair *pointers[CASES_MAX];
	struct bench_case cases[2 * CASES_MAX];
	struct bench_group group = {
		.name = name,
		.metrics = metrics,
		.cases = cases,
		.note = "open loop, 8 publishers, a burst every 250 us each; latency of the other "
			"topics' messages since they were due; 200 slow ones a second, 4 topics",
	};
	struct broker broker = {0};
	size_t count;

	if (!bench_wanted(name))
		return;
	broker_init(&broker);
	count = add_pairs(pairs, broker);
	for (size_t i = 0; i < count; i++) {
		pointers[i] = &pairs[i];
		cases[2 * i] = (struct bench_case){pairs[i].names[0], run_without, &pointers[i]};
		cases[2 * i + 1] = (struct bench_case){pairs[i].names[1], run_with, &pointers[i]};
	}
	group.case_count = 2 * count;
	bench_group(&group);
	broker_deinit(&broker);
}
