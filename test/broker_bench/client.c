/* SPDX-License-Identifier: MIT */
/* One connection; see client.h. */
#include "client.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "load.h"
#include "publisher.h"
#include "subscriber.h"
#include "wire.h"

/* Longer than a run: the broker keeps watch, but nobody has to ping. */
#define KEEP_ALIVE 65535U

const char *client_kind(const struct client *client)
{
	if (client->publisher != NULL)
		return "publisher";
	return client->subscriber != NULL ? "subscriber" : "idle connection";
}

unsigned char *client_reserve(struct load *load, struct client *client, size_t size)
{
	unsigned char *to = buffer_reserve(&client->out, size);

	if (to == NULL) {
		load_fail(load, LOAD_SYSTEM, client, "no memory");
		return NULL;
	}
	if (!client->dirty) {
		client->dirty = true;
		client->next_dirty = load->first_dirty;
		load->first_dirty = client;
	}
	return to;
}

bool client_ack(struct load *load, struct client *client, unsigned char type,
                unsigned short packet_id)
{
	unsigned char *to = client_reserve(load, client, WIRE_ACK_SIZE);

	if (to == NULL)
		return false;
	buffer_add(&client->out, wire_put_ack(to, type, packet_id));
	return true;
}

void client_begin(struct load *load, struct client *client)
{
	unsigned char *to = client_reserve(load, client, 128);
	char id[64];

	client->state = CLIENT_CONNECTING;
	if (to == NULL)
		return;
	snprintf(id, sizeof(id), "load-%c-%u-%ld", client_kind(client)[0], client->index,
	         (long)getpid());
	buffer_add(&client->out, wire_put_connect(to, id, !load->options.persistent, KEEP_ALIVE));
}

static void become_ready(struct load *load, struct client *client)
{
	client->state = CLIENT_READY;
	load->ready_count++;
}

static bool subscribe(struct load *load, struct client *client)
{
	const struct options *options = &load->options;
	const unsigned int count =
		share_count(options->subscribers, options->topics, client->index);

	for (unsigned int i = 0; i < count; i++) {
		unsigned char *to = client_reserve(load, client, 64);
		char filter[32];

		if (to == NULL)
			return false;
		snprintf(filter, sizeof(filter), "load/%u",
		         share_topic(options->subscribers, options->topics, client->index, i));
		buffer_add(&client->out, wire_put_subscribe(to, (uint16_t)(i % 65535 + 1), filter,
		                                            (uint8_t)options->subscribe_qos));
	}
	client->answers_due = count;
	client->state = CLIENT_SUBSCRIBING;
	return true;
}

static bool take_connack(struct load *load, struct client *client, const struct wire_frame *frame)
{
	uint8_t code;
	bool present;

	if (client->state != CLIENT_CONNECTING || !wire_connack(frame, &present, &code)) {
		load_fail(load, LOAD_BROKER, client, "unexpected or malformed CONNACK");
		return false;
	}
	if (code != 0) {
		load_fail(load, LOAD_BROKER, client, "refused, CONNACK return code %u", code);
		return false;
	}
	if (present) { /* the id is new */
		load_fail(load, LOAD_BROKER, client, "CONNACK tells of a session that cannot be");
		return false;
	}
	if (client->subscriber != NULL)
		return subscribe(load, client);
	become_ready(load, client);
	return true;
}

static bool take_suback(struct load *load, struct client *client, const struct wire_frame *frame)
{
	const unsigned int asked = load->options.subscribe_qos;
	const uint8_t *codes;
	uint16_t packet_id;
	size_t count;

	if (client->state != CLIENT_SUBSCRIBING ||
	    !wire_suback(frame, &packet_id, &codes, &count) || count != 1) {
		load_fail(load, LOAD_BROKER, client, "unexpected or malformed SUBACK");
		return false;
	}
	if (codes[0] == 0x80) {
		load_fail(load, LOAD_BROKER, client, "subscription refused");
		return false;
	}
	if (codes[0] != asked) {
		load_fail(load, LOAD_UNSUPPORTED, client,
		          "not supported: asked for QoS %u, granted QoS %u", asked, codes[0]);
		return false;
	}
	if (--client->answers_due == 0)
		become_ready(load, client);
	return true;
}

static bool take_frame(struct load *load, struct client *client, const struct wire_frame *frame)
{
	switch (frame->type) {
	case WIRE_CONNACK:
		return take_connack(load, client, frame);
	case WIRE_SUBACK:
		return take_suback(load, client, frame);
	case WIRE_PUBLISH:
	case WIRE_PUBREL:
		if (client->subscriber != NULL && client->state == CLIENT_READY)
			return subscriber_take(load, client->subscriber, frame);
		break;
	case WIRE_PUBACK:
	case WIRE_PUBREC:
	case WIRE_PUBCOMP:
		if (client->publisher != NULL && client->state == CLIENT_READY)
			return publisher_take(load, client->publisher, frame);
		break;
	default:
		break;
	}
	load_fail(load, LOAD_BROKER, client, "unexpected packet of type %u", frame->type);
	return false;
}

size_t client_prefix(struct client *client, unsigned char *input)
{
	if (client->partial_size > 0)
		memcpy(input, client->partial, client->partial_size);
	return client->partial_size;
}

bool client_feed(struct load *load, struct client *client, const unsigned char *input, size_t size)
{
	struct wire_frame frame;
	int status;

	while ((status = wire_frame(input, size, load->frame_max, &frame)) == 1) {
		if (!take_frame(load, client, &frame))
			return false;
		input += frame.size;
		size -= frame.size;
	}
	if (status < 0) {
		load_fail(load, LOAD_BROKER, client, "malformed or too large packet");
		return false;
	}
	client->partial_size = size;
	if (size > 0) {
		if (client->partial == NULL)
			client->partial = malloc(load->frame_max);
		if (client->partial == NULL) {
			load_fail(load, LOAD_SYSTEM, client, "no memory");
			return false;
		}
		memcpy(client->partial, input, size);
	}
	return true;
}

void client_deinit(struct client *client)
{
	buffer_deinit(&client->out);
	free(client->partial);
	client->partial = NULL;
}
