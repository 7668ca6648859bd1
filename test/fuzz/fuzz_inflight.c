/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: what the example broker's sessions remember of packets under way, in both directions
 * (inflight.c, received.c), beside a model that is a plain list. The input is a program, an
 * operation a byte and its arguments behind it. Properties:
 *
 * - packet ids are given in turn, from 1, without those in use;
 * - only the acknowledgement that is awaited moves an entry on; a message is given back once, when
 *   its client has it, and none is left at the end;
 * - what is to be said again comes in the order of the standard (4.4, 4.6), with DUP where a
 *   connection had begun to say it;
 * - a packet id of QoS 2 is new exactly if it is not there.
 */
#include <stdbool.h>

#include "mqtt/codec.h"
#include "fuzz.h"
#include "session/inflight.h"
#include "net/message.h"
#include "session/received.h"

#define MODEL_MAX 600
#define IDS_MAX 512

struct item {
	struct message *message;
	uint64_t order;
	uint16_t packet_id;
	uint8_t state;
	bool retain;
	bool attempted;
};

static struct inflight inflight;
static struct received received;

/* In the order of `order`, which is that of the last change. */
static struct item items[MODEL_MAX];
static size_t count;
static uint16_t last;
static bool ids[IDS_MAX];

static size_t there; /* of ids */
static size_t messages_out;
void message_release(struct message *message, uint64_t counts)
{
	FUZZ_CHECK(counts == MESSAGE_REFERENCE);
	free(message); /* once, or AddressSanitizer will say so */
	messages_out--;
}

static struct item *item_find(uint16_t packet_id)
{
	for (size_t i = 0; i < count; i++)
		if (items[i].packet_id == packet_id)
			return &items[i];
	return NULL;
}

static void item_remove(struct item *item)
{
	memmove(item, item + 1, (size_t)(&items[count] - (item + 1)) * sizeof(*item));
	count--;
}

static void add(uint8_t argument)
{
	const struct inflight_entry *entry;
	struct message *message = NULL;
	const uint8_t qos = 1 + argument % 2;
	const bool retain = argument / 2 % 2 == 1, kept = argument / 4 % 4 != 0;
	if (count == MODEL_MAX)
		return;
	if (kept) {
		message = malloc(sizeof(*message));
		FUZZ_CHECK(message != NULL);
		messages_out++;
	}
	/* The capacity is a matter of speed; ids that a slot's other user blocks are left out. */
	entry = inflight_add(&inflight, message, qos, retain);
	FUZZ_CHECK(entry->packet_id != 0 && item_find(entry->packet_id) == NULL);
	for (uint16_t id = last; id != entry->packet_id;) {
		id = (uint16_t)(id == UINT16_MAX ? 1 : id + 1);
		if (id == entry->packet_id)
			break;
		FUZZ_CHECK(inflight.entries[id & (inflight.capacity - 1)].state != INFLIGHT_FREE);
	}
	last = entry->packet_id;
	FUZZ_CHECK(count == 0 || entry->order > items[count - 1].order);
	items[count++] = (struct item){
		.message = message,
		.order = entry->order,
		.packet_id = last,
		.state = qos == 1 ? INFLIGHT_AWAITS_PUBACK : INFLIGHT_AWAITS_PUBREC,
		.retain = retain,
	};
}

static void acknowledge(uint8_t type, uint16_t packet_id)
{
	struct item *item = item_find(packet_id), moved;

	inflight_acknowledge(&inflight, type, packet_id);
	if (item == NULL)
		return;
	moved = *item;
	if ((item->state == INFLIGHT_AWAITS_PUBACK && type == CODEC_PUBACK) ||
	    (item->state == INFLIGHT_AWAITS_PUBCOMP && type == CODEC_PUBCOMP)) {
		item_remove(item);
	} else if (item->state == INFLIGHT_AWAITS_PUBREC && type == CODEC_PUBREC) {
		item_remove(item);
		moved.state = INFLIGHT_AWAITS_PUBCOMP;
		moved.message = NULL;
		moved.order = inflight.order;
		items[count++] = moved;
	}
}

static void settle(uint8_t argument)
{
	const uint64_t attempted = count == 0 ? argument : items[argument % count].order;

	inflight_settle(&inflight, attempted);
	for (size_t i = 0; i < count; i++)
		items[i].attempted = items[i].attempted || items[i].order <= attempted;
}

static void check_entry(const struct inflight_entry *entry, const struct item *item)
{
	FUZZ_CHECK(entry == inflight_find(&inflight, item->packet_id));
	FUZZ_CHECK(entry->packet_id == item->packet_id && entry->order == item->order);
	FUZZ_CHECK(entry->message == item->message && entry->state == item->state);
	FUZZ_CHECK(entry->retain == item->retain && entry->attempted == item->attempted);
}

static void check(void)
{
	struct inflight_entry **sorted = inflight_sorted(&inflight);
	size_t at = 0, kept = 0;

	FUZZ_CHECK(inflight.count == count);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < count; i++)
			if ((items[i].state == INFLIGHT_AWAITS_PUBCOMP) == (round == 0))
				check_entry(sorted[at++], &items[i]);
	for (size_t i = 0; i < count; i++)
		kept += items[i].message != NULL ? 1 : 0;
	FUZZ_CHECK(kept == messages_out);
	free(sorted);
}

static void receive(uint8_t operation, uint16_t packet_id)
{
	if (operation % 2 == 0) {
		FUZZ_CHECK(received_add(&received, packet_id) == (ids[packet_id] ? 0 : 1));
		there += ids[packet_id] ? 0 : 1;
		ids[packet_id] = true;
	} else {
		received_remove(&received, packet_id);
		there -= ids[packet_id] ? 1 : 0;
		ids[packet_id] = false;
	}
	FUZZ_CHECK(received.count == there);
	if (operation % 16 < 2)
		received_trim(&received);
}

/* One operation with its two bytes of arguments. */
static void step(const uint8_t *bytes)
{
	static const uint8_t types[] = {CODEC_PUBACK, CODEC_PUBREC, CODEC_PUBCOMP, CODEC_PUBREL};
	const uint16_t word = (uint16_t)(bytes[1] << 8 | bytes[2]);
	const uint16_t packet_id = count == 0 ? word : items[word % count].packet_id;

	switch (bytes[0] % 8) {
	case 0:
	case 1:
	case 2:
		for (unsigned int i = 0; i <= bytes[2] % 24U; i++)
			add((uint8_t)(bytes[1] + i));
		break;
	case 3:
		acknowledge(types[bytes[0] / 8 % 4], packet_id);
		break;
	case 4:
		acknowledge(types[bytes[0] / 8 % 4], word);
		break;
	case 5:
		settle(bytes[1]);
		break;
	case 6:
		receive(bytes[0] / 8, word % IDS_MAX);
		break;
	default: /* the ids have gone round, or nearly */
		last = inflight.packet_id = (uint16_t)(word | 0xff00);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	inflight = (struct inflight){0};
	memset(ids, 0, sizeof(ids));
	count = messages_out = there = 0;
	last = 0;
	for (size_t at = 0; at + 3 <= size && at < 900; at += 3) {
		step(data + at);
		check();
	}
	inflight_clear(&inflight);
	received_clear(&received);
	FUZZ_CHECK(messages_out == 0 && inflight.count == 0);
	return 0;
}
