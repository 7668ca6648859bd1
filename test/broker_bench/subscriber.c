/* SPDX-License-Identifier: MIT */
/* Takes what is delivered and checks it; see subscriber.h. */
#include "subscriber.h"

#include <stdlib.h>

#include "client.h"
#include "ledger.h"
#include "load.h"
#include "payload.h"
#include "stream.h"
#include "wire.h"

int subscriber_init(struct load *load, struct subscriber *subscriber, struct client *client)
{
	const struct options *options = &load->options;

	subscriber->client = client;
	subscriber->ledger_count =
		share_count(options->subscribers, options->topics, client->index) *
		stream_lanes(options);
	subscriber->ledgers = calloc(subscriber->ledger_count + 1, sizeof(*subscriber->ledgers));
	subscriber->held = calloc(8192, 1);
	return subscriber->ledgers == NULL || subscriber->held == NULL ? LOAD_SYSTEM : 0;
}

void subscriber_deinit(struct subscriber *subscriber)
{
	for (unsigned int i = 0; subscriber->ledgers != NULL && i < subscriber->ledger_count; i++)
		ledger_deinit(&subscriber->ledgers[i]);
	free(subscriber->ledgers);
	free(subscriber->held);
}

/* The number behind "load/"; -1 if it is not one of ours. */
static long topic_number(const struct wire_publish *publish)
{
	long number = 0;

	if (publish->topic_size < 6 || publish->topic_size > 14 ||
	    memcmp(publish->topic, "load/", 5) != 0)
		return -1;
	for (size_t i = 5; i < publish->topic_size; i++) {
		if (publish->topic[i] < '0' || publish->topic[i] > '9')
			return -1;
		number = number * 10 + (publish->topic[i] - '0');
	}
	return number;
}

/* Is it a message that was sent, to that topic, and should have come to this subscriber? */
static bool genuine(const struct load *load, const struct subscriber *subscriber,
                    const struct wire_publish *publish, struct payload *payload)
{
	const struct options *options = &load->options;
	const unsigned int qos = options->publish_qos < options->subscribe_qos
	                                 ? options->publish_qos
	                                 : options->subscribe_qos;

	if (publish->payload_size != options->payload || publish->qos != qos || publish->retain)
		return false;
	payload_get(publish->payload, payload);
	if (payload->mark != load->mark || payload->publisher >= options->publishers ||
	    topic_number(publish) != (long)payload->topic || payload->topic >= options->topics ||
	    !share_has(options->publishers, options->topics, payload->publisher, payload->topic) ||
	    !share_has(options->subscribers, options->topics, subscriber->client->index,
	               payload->topic))
		return false;
	return payload->sequence <
	               load->streams[stream_number(options, payload->topic, payload->publisher)]
	                       .sent &&
	       payload_intact(publish->payload, load->pattern, options->payload);
}

static bool deliver(struct load *load, struct subscriber *subscriber,
                    const struct wire_publish *publish)
{
	const struct options *options = &load->options;
	struct payload payload;
	struct ledger *ledger;
	struct stream *stream;
	uint64_t before;

	if (!genuine(load, subscriber, publish, &payload)) {
		load->counts.corrupt++;
		return true;
	}
	ledger = &subscriber->ledgers[stream_local(options, payload.topic, payload.publisher)];
	stream = &load->streams[stream_number(options, payload.topic, payload.publisher)];
	before = ledger->next;
	switch (ledger_note(ledger, payload.sequence)) {
	case LEDGER_DUPLICATE:
		load->counts.duplicates++;
		return true;
	case LEDGER_LATE:
		load->counts.disordered++;
		break;
	case LEDGER_NO_MEMORY:
		load_fail(load, LOAD_SYSTEM, subscriber->client, "no memory");
		return false;
	case LEDGER_NEXT:
	case LEDGER_AHEAD:
		if (before == stream->low)
			stream_passed(load, payload.topic, payload.publisher);
		break;
	}
	load->counts.delivered++;
	if (load->phase == LOAD_MEASURE)
		latency_add(&load->latency,
		            load->now > payload.sent_ns ? load->now - payload.sent_ns : 0);
	return true;
}

static bool take_publish(struct load *load, struct subscriber *subscriber,
                         const struct wire_publish *publish)
{
	uint8_t *const held = &subscriber->held[publish->packet_id / 8];
	const uint8_t bit = (uint8_t)(1U << publish->packet_id % 8);

	if (publish->qos < 2)
		return deliver(load, subscriber, publish) &&
		       (publish->qos == 0 ||
		        client_ack(load, subscriber->client, WIRE_PUBACK, publish->packet_id));
	if (*held & bit) {
		load_fail(load, LOAD_BROKER, subscriber->client,
		          "packet %u is published again before its PUBREL", publish->packet_id);
		return false;
	}
	*held |= bit;
	load->held++;
	return deliver(load, subscriber, publish) &&
	       client_ack(load, subscriber->client, WIRE_PUBREC, publish->packet_id);
}

bool subscriber_take(struct load *load, struct subscriber *subscriber,
                     const struct wire_frame *frame)
{
	struct wire_publish publish;
	uint16_t packet_id;
	uint8_t bit;

	if (frame->type == WIRE_PUBLISH) {
		if (wire_publish(frame, &publish))
			return take_publish(load, subscriber, &publish);
		load_fail(load, LOAD_BROKER, subscriber->client, "malformed PUBLISH");
		return false;
	}
	if (!wire_ack(frame, &packet_id)) {
		load_fail(load, LOAD_BROKER, subscriber->client, "malformed PUBREL");
		return false;
	}
	bit = (uint8_t)(1U << packet_id % 8);
	if ((subscriber->held[packet_id / 8] & bit) == 0) {
		load_fail(load, LOAD_BROKER, subscriber->client,
		          "PUBREL of packet %u, which is not held", packet_id);
		return false;
	}
	subscriber->held[packet_id / 8] &= (uint8_t)~bit;
	load->held--;
	return client_ack(load, subscriber->client, WIRE_PUBCOMP, packet_id);
}
