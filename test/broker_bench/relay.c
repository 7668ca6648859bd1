/* SPDX-License-Identifier: MIT */
/* What a broker does, for the selftest; see relay.h. */
#include "relay.h"

#include "buffer.h"
#include "client.h"
#include "publisher.h"
#include "wire.h"

/* The delivery, or the acknowledgement, that the fault befalls. */
#define VICTIM 5U
#define INPUT_SIZE 65536U

struct relay {
	struct load *load;
	enum relay_fault fault;
	size_t piece;
	unsigned int deliveries, acks;
	uint16_t next_id;
	struct buffer *to; /* by client: bytes on their way */
	struct buffer late;
	unsigned char input[INPUT_SIZE];
};

static void put(struct buffer *to, const unsigned char *bytes, size_t size)
{
	unsigned char *at = buffer_reserve(to, size);

	if (at == NULL)
		abort();
	memcpy(at, bytes, size);
	buffer_add(to, size);
}

static void put_ack(struct buffer *to, enum wire_type type, uint16_t packet_id)
{
	unsigned char bytes[WIRE_ACK_SIZE];

	put(to, bytes, wire_put_ack(bytes, (uint8_t)type, packet_id));
}

/* One message to one subscriber, or what the fault makes of it. */
static void deliver(struct relay *relay, struct buffer *to, const struct wire_publish *publish)
{
	const unsigned int qos = relay->load->options.subscribe_qos < publish->qos
	                                 ? relay->load->options.subscribe_qos
	                                 : publish->qos;
	const enum relay_fault fault =
		++relay->deliveries == VICTIM ? relay->fault : RELAY_NO_FAULT;
	unsigned char bytes[512];
	char topic[32] = "";
	size_t id_at, size;

	memcpy(topic, publish->topic, publish->topic_size);
	size = wire_put_publish(bytes, topic, (uint8_t)qos, publish->payload_size, &id_at);
	memcpy(bytes + size, publish->payload, publish->payload_size);
	size += publish->payload_size;
	if (qos > 0 && fault != RELAY_REUSES_ID)
		relay->next_id++;
	if (qos > 0)
		wire_put_id(bytes + id_at, relay->next_id);
	if (fault == RELAY_ALTERS)
		bytes[size - 1] ^= 1;
	if (fault == RELAY_SWAPS) {
		put(&relay->late, bytes, size);
		return;
	}
	if (fault != RELAY_LOSES)
		put(to, bytes, size);
	if (fault == RELAY_DOUBLES) {
		if (qos > 0)
			wire_put_id(bytes + id_at, ++relay->next_id);
		put(to, bytes, size);
	}
	if (buffer_pending(&relay->late) > 0) {
		put(to, relay->late.bytes, relay->late.tail);
		buffer_take(&relay->late, relay->late.tail);
	}
}

static void take_publish(struct relay *relay, struct buffer *from,
                         const struct wire_publish *publish)
{
	const struct options *options = &relay->load->options;
	const enum wire_type type = publish->qos == 2 ? WIRE_PUBREC : WIRE_PUBACK;

	if (publish->qos > 0 && (++relay->acks != VICTIM || relay->fault != RELAY_FORGETS_ACK))
		put_ack(from, type, publish->packet_id);
	if (relay->acks == VICTIM && relay->fault == RELAY_DOUBLES_ACK)
		put_ack(from, type, publish->packet_id);
	for (unsigned int s = 0; s < options->subscribers; s++)
		deliver(relay, &relay->to[s], publish);
}

static void take_frame(struct relay *relay, struct buffer *from, const struct wire_frame *frame)
{
	const unsigned char connack[] = {WIRE_CONNACK << 4, 2, 0, 0};
	unsigned char suback[] = {WIRE_SUBACK << 4, 3, frame->body[0], frame->body[1], 0};
	struct wire_publish publish;
	uint16_t packet_id;

	switch (frame->type) {
	case WIRE_CONNECT:
		put(from, connack, sizeof(connack));
		break;
	case WIRE_SUBSCRIBE:
		suback[4] = frame->body[frame->body_size - 1];
		if (relay->fault == RELAY_LOWERS_GRANT)
			suback[4]--;
		put(from, suback, sizeof(suback));
		break;
	case WIRE_PUBLISH:
		if (!wire_publish(frame, &publish))
			abort();
		take_publish(relay, from, &publish);
		break;
	case WIRE_PUBREC:
	case WIRE_PUBREL:
		if (!wire_ack(frame, &packet_id))
			abort();
		put_ack(from, frame->type == WIRE_PUBREC ? WIRE_PUBREL : WIRE_PUBCOMP, packet_id);
		break;
	default: /* PUBACK, PUBCOMP */
		break;
	}
}

/* What the client has to say; false: nothing. */
static bool hear(struct relay *relay, unsigned int number)
{
	struct buffer *out = &relay->load->clients[number].out;
	struct wire_frame frame;
	bool heard = false;

	while (wire_frame(out->bytes + out->head, buffer_pending(out), INPUT_SIZE, &frame) == 1) {
		take_frame(relay, &relay->to[number], &frame);
		buffer_take(out, frame.size);
		heard = true;
	}
	return heard;
}

static void tell(struct relay *relay, unsigned int number)
{
	struct client *client = &relay->load->clients[number];
	struct buffer *to = &relay->to[number];

	while (buffer_pending(to) > 0 && relay->load->status == LOAD_GOOD) {
		const size_t before = client_prefix(client, relay->input);
		const size_t piece =
			buffer_pending(to) < relay->piece ? buffer_pending(to) : relay->piece;

		memcpy(relay->input + before, to->bytes + to->head, piece);
		buffer_take(to, piece);
		client_feed(relay->load, client, relay->input, before + piece);
	}
}

/* Until nobody has anything to say. */
static void converse(struct relay *relay)
{
	bool heard = true;

	while (heard && relay->load->status == LOAD_GOOD) {
		heard = false;
		for (unsigned int i = 0; i < relay->load->client_count; i++)
			heard |= hear(relay, i);
		for (unsigned int i = 0; i < relay->load->client_count; i++)
			tell(relay, i);
	}
}

void relay_run(struct load *load, enum relay_fault fault, unsigned int rounds, size_t piece)
{
	static struct relay relay;

	relay = (struct relay){.load = load, .fault = fault, .piece = piece};
	relay.to = calloc(load->client_count, sizeof(*relay.to));
	if (relay.to == NULL)
		abort();
	for (unsigned int i = 0; i < load->client_count; i++)
		client_begin(load, &load->clients[i]);
	converse(&relay);
	load->phase = LOAD_MEASURE;
	for (unsigned int i = 0; i < rounds && load->status == LOAD_GOOD; i++) {
		for (unsigned int p = 0; p < load->options.publishers; p++)
			publisher_fill(load, &load->publishers[p]);
		converse(&relay);
	}
	for (unsigned int i = 0; i < load->client_count; i++)
		buffer_deinit(&relay.to[i]);
	free(relay.to);
	buffer_deinit(&relay.late);
}
