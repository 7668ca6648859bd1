/* SPDX-License-Identifier: MIT */
/* Publishes; see publisher.h. */
#include "publisher.h"

#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "load.h"
#include "payload.h"
#include "stream.h"
#include "wire.h"

/* With so much unsent it waits for the socket. */
#define OUTPUT_MAX ((size_t)256 << 10)

enum id_state {
	ID_FREE,
	ID_PUBLISHED,
	ID_RELEASED, /* QoS 2: PUBREC has come, PUBREL is sent */
};

static int init_form(struct load *load, struct publisher_form *form, unsigned int topic)
{
	const struct options *options = &load->options;
	char name[32];

	snprintf(name, sizeof(name), "load/%u", topic);
	form->topic = topic;
	form->bytes = malloc(WIRE_HEADER_MAX + 2 + sizeof(name) + 2 + options->payload);
	if (form->bytes == NULL)
		return LOAD_SYSTEM;
	form->payload_at = wire_put_publish(form->bytes, name, (uint8_t)options->publish_qos,
	                                    options->payload, &form->id_at);
	form->size = form->payload_at + options->payload;
	payload_fill(form->bytes + form->payload_at, options->payload);
	return 0;
}

int publisher_init(struct load *load, struct publisher *publisher, struct client *client)
{
	const struct options *options = &load->options;
	const unsigned int p = client->index;

	publisher->client = client;
	publisher->form_count = share_count(options->publishers, options->topics, p);
	publisher->forms = calloc(publisher->form_count, sizeof(*publisher->forms));
	publisher->free_ids = calloc(options->window, sizeof(*publisher->free_ids));
	publisher->id_states = calloc(options->window + 1, sizeof(*publisher->id_states));
	if (publisher->forms == NULL || publisher->free_ids == NULL || publisher->id_states == NULL)
		return LOAD_SYSTEM;
	publisher->free_count = options->window;
	for (unsigned int i = 0; i < options->window; i++)
		publisher->free_ids[i] = (uint16_t)(i + 1);
	for (unsigned int i = 0; i < publisher->form_count; i++) {
		const unsigned int topic = share_topic(options->publishers, options->topics, p, i);

		publisher->forms[i].stream = &load->streams[stream_number(options, topic, p)];
		if (init_form(load, &publisher->forms[i], topic) != 0)
			return LOAD_SYSTEM;
	}
	return 0;
}

void publisher_deinit(struct publisher *publisher)
{
	for (unsigned int i = 0; publisher->forms != NULL && i < publisher->form_count; i++)
		free(publisher->forms[i].bytes);
	free(publisher->forms);
	free(publisher->free_ids);
	free(publisher->id_states);
}

void publisher_wake(struct load *load, struct publisher *publisher)
{
	if (publisher->ready)
		return;
	publisher->ready = true;
	publisher->next_ready = load->first_ready;
	load->first_ready = publisher;
}

/* How many messages it may send to the next topic. */
static uint64_t room(const struct load *load, const struct publisher *publisher)
{
	const struct options *options = &load->options;
	const struct stream *stream = publisher->forms[publisher->form].stream;
	uint64_t most = options->rate > 0 ? publisher->owed
	                                  : options->window - (stream->sent - stream->low);

	if (options->publish_qos > 0 && publisher->free_count < most)
		most = publisher->free_count;
	return most;
}

static uint16_t take_id(struct publisher *publisher, unsigned int window)
{
	const uint16_t packet_id = publisher->free_ids[publisher->first_free];

	publisher->first_free = (publisher->first_free + 1) % window;
	publisher->free_count--;
	publisher->id_states[packet_id] = ID_PUBLISHED;
	return packet_id;
}

/* When its next message came due. */
static uint64_t due_ns(const struct load *load, const struct publisher *publisher)
{
	const uint64_t number =
		publisher->sent * load->options.publishers + publisher->client->index;

	return load->paced_ns + number * 1000000000U / load->options.rate;
}

static bool publish(struct load *load, struct publisher *publisher)
{
	struct publisher_form *form = &publisher->forms[publisher->form];
	struct payload payload = {
		.mark = load->mark,
		.publisher = publisher->client->index,
		.topic = form->topic,
		.sequence = form->stream->sent,
		.sent_ns = publisher->held_back ? due_ns(load, publisher) : load->now,
	};
	unsigned char *to = client_reserve(load, publisher->client, form->size);

	if (to == NULL)
		return false;
	memcpy(to, form->bytes, form->size);
	payload_put(to + form->payload_at, &payload);
	if (load->options.publish_qos > 0) {
		wire_put_id(to + form->id_at, take_id(publisher, load->options.window));
		load->under_way++;
	}
	buffer_add(&publisher->client->out, form->size);
	form->stream->sent++;
	publisher->sent++;
	publisher->form = (publisher->form + 1) % publisher->form_count;
	load->counts.sent++;
	load->counts.expected += form->stream->audience;
	return true;
}

void publisher_fill(struct load *load, struct publisher *publisher)
{
	const bool paced = load->options.rate > 0;

	if (load->phase != LOAD_WARM_UP && load->phase != LOAD_MEASURE)
		return;
	/* Flat out, many small writes would cost both sides more than they bring. */
	if (!paced && room(load, publisher) < load->refill)
		return;
	while (room(load, publisher) > 0 && buffer_pending(&publisher->client->out) < OUTPUT_MAX) {
		if (!publish(load, publisher))
			return;
		if (paced)
			publisher->owed--;
	}
	publisher->held_back = publisher->owed > 0;
}

bool publisher_take(struct load *load, struct publisher *publisher, const struct wire_frame *frame)
{
	const unsigned int window = load->options.window;
	const bool twice = load->options.publish_qos == 2;
	uint8_t expected = ID_PUBLISHED;
	uint16_t packet_id;

	if (!wire_ack(frame, &packet_id) || (frame->type == WIRE_PUBACK) == twice) {
		load_fail(load, LOAD_BROKER, publisher->client,
		          "malformed or wrong acknowledgement");
		return false;
	}
	if (frame->type == WIRE_PUBCOMP)
		expected = ID_RELEASED;
	if (packet_id > window || publisher->id_states[packet_id] != expected) {
		load_fail(load, LOAD_BROKER, publisher->client,
		          "acknowledgement (type %u) of packet %u, which waits for none",
		          frame->type, packet_id);
		return false;
	}
	if (frame->type == WIRE_PUBREC) {
		publisher->id_states[packet_id] = ID_RELEASED;
		return client_ack(load, publisher->client, WIRE_PUBREL, packet_id);
	}
	publisher->id_states[packet_id] = ID_FREE;
	publisher->free_ids[(publisher->first_free + publisher->free_count) % window] = packet_id;
	publisher->free_count++;
	load->under_way--;
	load->counts.acked++;
	publisher_wake(load, publisher);
	return true;
}
