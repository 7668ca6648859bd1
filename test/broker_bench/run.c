/* SPDX-License-Identifier: MIT */
/* A run, phase by phase; see run.h. Each phase ends: by what it waits for, by time, or because
 * nothing has come for too long. */
#include "run.h"

#include <time.h>

#include "client.h"
#include "load.h"
#include "network.h"
#include "process.h"
#include "publisher.h"

#define CONNECTING_MAX 64U
#define SETTLE_SECONDS 0.3
/* Messages that come due closer together than this go together. */
#define ALARM_MIN_NS 50000U

static double seconds_since(const struct load *load, uint64_t then)
{
	return load->now > then ? (double)(load->now - then) / 1e9 : 0;
}

static void enter(struct load *load, enum load_phase phase)
{
	load->phase = phase;
	load->phase_ns = load->now;
	load->progress_ns = load->now;
}

/* Connections are started in the order subscribers, publishers, idle ones. */
static void start_connections(struct load *load)
{
	const double due = load->options.ramp * seconds_since(load, load->phase_ns);

	while (load->started < load->client_count && load->status == LOAD_GOOD) {
		if (load->started - load->ready_count >= CONNECTING_MAX)
			break;
		if (load->options.ramp > 0 && load->started > due)
			break;
		if (load->options.ramp > 0)
			load->progress_ns = load->now;
		network_connect(load, &load->clients[load->started++]);
	}
	if (load->ready_count == load->client_count) {
		load->connect_seconds = seconds_since(load, load->phase_ns);
		enter(load, LOAD_SETTLE);
	}
}

static void begin_publishing(struct load *load)
{
	if (load->options.pid > 0)
		load->rss_connected = process_rss(load->options.pid);
	enter(load, LOAD_WARM_UP);
	load->paced_ns = load->now;
	for (unsigned int i = 0; i < load->options.publishers; i++)
		publisher_wake(load, &load->publishers[i]);
}

/* Messages that have come due are owed by one publisher after the other. */
static void pace(struct load *load)
{
	const uint64_t rate = load->options.rate;
	const uint64_t due = (load->now - load->paced_ns) * rate / 1000000000U;
	uint64_t next;

	for (; load->paced <= due; load->paced++) {
		struct publisher *publisher =
			&load->publishers[load->paced % load->options.publishers];
		const uint64_t at = load->paced_ns + load->paced * 1000000000U / rate;

		publisher->owed++;
		publisher_wake(load, publisher);
		if (load->phase == LOAD_MEASURE)
			latency_add(&load->late, load->now > at ? load->now - at : 0);
	}
	next = load->paced_ns + load->paced * 1000000000U / rate;
	network_alarm(load, next > load->now + ALARM_MIN_NS ? next : load->now + ALARM_MIN_NS);
}

static void publish(struct load *load)
{
	if (load->options.rate > 0 && load->options.publishers > 0)
		pace(load);
	while (load->first_ready != NULL && load->status == LOAD_GOOD) {
		struct publisher *publisher = load->first_ready;

		load->first_ready = publisher->next_ready;
		publisher->ready = false;
		load->now = load_clock();
		publisher_fill(load, publisher);
		network_flush(load, publisher->client);
	}
}

static void flush(struct load *load)
{
	while (load->first_dirty != NULL && load->status == LOAD_GOOD) {
		struct client *client = load->first_dirty;

		load->first_dirty = client->next_dirty;
		client->dirty = false;
		network_flush(load, client);
	}
}

static uint64_t outstanding(const struct load *load)
{
	return load->counts.expected - load->counts.delivered + load->under_way + load->held;
}

/* Nothing has come for too long, although something should. */
static void check_silence(struct load *load)
{
	const unsigned long long missing = outstanding(load);

	if (seconds_since(load, load->progress_ns) < load->options.timeout)
		return;
	if (load->phase == LOAD_CONNECT)
		load_fail(load, LOAD_BROKER, NULL,
		          "nothing for %.1f s, %u of %u connections are ready",
		          load->options.timeout, load->ready_count, load->client_count);
	else if (load->phase == LOAD_DRAIN || missing > 0)
		load_fail(load, LOAD_BROKER, NULL,
		          "nothing for %.1f s, %llu deliveries and handshakes are missing",
		          load->options.timeout, missing);
}

static void advance(struct load *load)
{
	const double elapsed = seconds_since(load, load->phase_ns);

	switch (load->phase) {
	case LOAD_CONNECT:
		start_connections(load);
		break;
	case LOAD_SETTLE:
		if (elapsed >= SETTLE_SECONDS)
			begin_publishing(load);
		break;
	case LOAD_WARM_UP:
		if (elapsed < load->options.warm_up)
			break;
		load_snapshot(load, &load->begin);
		enter(load, LOAD_MEASURE);
		break;
	case LOAD_MEASURE:
		if (elapsed < load->options.seconds)
			break;
		load_snapshot(load, &load->end);
		enter(load, LOAD_DRAIN);
		break;
	case LOAD_DRAIN:
		if (outstanding(load) == 0)
			enter(load, LOAD_DONE);
		break;
	case LOAD_DONE:
		break;
	}
	check_silence(load);
}

/* Until the phase may end, in milliseconds. */
static int patience(const struct load *load)
{
	double left = 0.1;

	if (load->phase == LOAD_CONNECT && load->options.ramp > 0)
		left = 0.001;
	else if (load->phase == LOAD_WARM_UP)
		left = load->options.warm_up - seconds_since(load, load->phase_ns);
	else if (load->phase == LOAD_MEASURE)
		left = load->options.seconds - seconds_since(load, load->phase_ns);
	if (left > 0.1)
		left = 0.1;
	return left > 0 ? (int)(left * 1000) + 1 : 0;
}

void run(struct load *load)
{
	const struct timespec accepted = {.tv_nsec = 100000000};

	if (network_init(load) != 0 || !network_probe(load))
		return;
	nanosleep(&accepted, NULL); /* the broker is done with the probe */
	if (load->options.pid > 0)
		load->rss_start = process_rss(load->options.pid);
	load->now = load_clock();
	enter(load, LOAD_CONNECT);
	while (load->status == LOAD_GOOD) {
		advance(load);
		if (load->phase == LOAD_DONE)
			break;
		if (load->phase == LOAD_WARM_UP || load->phase == LOAD_MEASURE)
			publish(load);
		flush(load);
		if (load->status == LOAD_GOOD)
			network_wait(load, patience(load));
		load->now = load_clock();
	}
}
