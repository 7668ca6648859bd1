/* SPDX-License-Identifier: MIT */
/* One run's parts: their beginning and end; see load.h. */
#include "load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "ledger.h"
#include "payload.h"
#include "process.h"
#include "publisher.h"
#include "stream.h"
#include "subscriber.h"

/* A read takes up to this much, and there is room for the beginning of a frame before it. */
#define FRAME_ROOM 64U

uint64_t load_clock(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

void load_fail(struct load *load, enum load_status status, const struct client *client,
               const char *format, ...)
{
	static const char *const phases[] = {
		[LOAD_CONNECT] = "connecting", [LOAD_SETTLE] = "settling",
		[LOAD_WARM_UP] = "warming up", [LOAD_MEASURE] = "measuring",
		[LOAD_DRAIN] = "draining",     [LOAD_DONE] = "ending",
	};
	va_list arguments;
	char text[160];

	if (load->status != LOAD_GOOD)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	load->status = status;
	if (client == NULL)
		snprintf(load->failure, sizeof(load->failure), "while %s: %s", phases[load->phase],
		         text);
	else
		snprintf(load->failure, sizeof(load->failure), "while %s: %s %u: %s",
		         phases[load->phase], client_kind(client), client->index, text);
}

void load_snapshot(const struct load *load, struct load_snapshot *snapshot)
{
	snapshot->at_ns = load_clock();
	snapshot->counts = load->counts;
	snapshot->broker_cpu = load->options.pid > 0 ? process_cpu(load->options.pid) : -1;
	snapshot->own_cpu = process_own_cpu();
}

static int init_clients(struct load *load)
{
	const struct options *options = &load->options;
	struct client *client = load->clients;

	for (unsigned int i = 0; i < options->subscribers; i++, client++) {
		client->subscriber = &load->subscribers[i];
		client->index = i;
		if (subscriber_init(load, client->subscriber, client) != 0)
			return LOAD_SYSTEM;
	}
	if (streams_init(load) != 0)
		return LOAD_SYSTEM;
	for (unsigned int i = 0; i < options->publishers; i++, client++) {
		client->publisher = &load->publishers[i];
		client->index = i;
		if (publisher_init(load, client->publisher, client) != 0)
			return LOAD_SYSTEM;
	}
	for (unsigned int i = 0; i < options->idle; i++, client++)
		client->index = i;
	return 0;
}

int load_init(struct load *load, const struct options *options)
{
	*load = (struct load){.options = *options, .epoll = -1, .timer = -1};
	load->mark = (uint32_t)(load_clock() >> 10) ^ (uint32_t)getpid() << 16;
	load->frame_max = options->payload + FRAME_ROOM;
	load->refill = options->window / 8 > 1 ? options->window / 8 : 1;
	load->client_count = options->publishers + options->subscribers + options->idle;
	load->clients = calloc(load->client_count, sizeof(*load->clients));
	load->publishers = calloc(options->publishers + 1, sizeof(*load->publishers));
	load->subscribers = calloc(options->subscribers + 1, sizeof(*load->subscribers));
	load->pattern = calloc(options->payload, 1);
	if (load->clients == NULL || load->publishers == NULL || load->subscribers == NULL ||
	    load->pattern == NULL)
		return LOAD_SYSTEM;
	for (unsigned int i = 0; i < load->client_count; i++)
		load->clients[i].fd = -1;
	if (init_clients(load) != 0)
		return LOAD_SYSTEM;
	payload_fill(load->pattern, options->payload);
	return 0;
}

void load_deinit(struct load *load)
{
	for (unsigned int i = 0; load->clients != NULL && i < load->client_count; i++)
		client_deinit(&load->clients[i]);
	for (unsigned int i = 0; load->publishers != NULL && i < load->options.publishers; i++)
		publisher_deinit(&load->publishers[i]);
	for (unsigned int i = 0; load->subscribers != NULL && i < load->options.subscribers; i++)
		subscriber_deinit(&load->subscribers[i]);
	free(load->clients);
	free(load->publishers);
	free(load->subscribers);
	free(load->streams);
	free(load->pattern);
}

uint64_t load_lost(const struct load *load)
{
	const struct options *options = &load->options;
	uint64_t lost = 0;

	for (unsigned int s = 0; s < options->subscribers && options->publishers > 0; s++) {
		const unsigned int count = share_count(options->subscribers, options->topics, s);

		for (unsigned int i = 0; i < count; i++) {
			const unsigned int topic =
				share_topic(options->subscribers, options->topics, s, i);

			for (unsigned int p = 0; p < options->publishers; p++)
				if (share_has(options->publishers, options->topics, p, topic))
					lost += ledger_missing(
						&load->subscribers[s]
							 .ledgers[stream_local(options, topic, p)],
						load->streams[stream_number(options, topic, p)]
							.sent);
		}
	}
	return lost;
}
