/* SPDX-License-Identifier: MIT */
/* Messages on their way to a client; see inflight.h. */
#include "session/inflight.h"

#include <errno.h>
#include <stdlib.h>

#include "mqtt/codec.h"
#include "net/message.h"
#include "common/must.h"

#define INFLIGHT_CAPACITY_FIRST 16
#define INFLIGHT_ORDER_MASK (((uint64_t)1 << 44) - 1) /* enough for years */

static struct inflight_entry *inflight_slot(const struct inflight *inflight, uint16_t packet_id)
{
	return &inflight->entries[packet_id & (inflight->capacity - 1)];
}

/* Ids in different slots of a table are in different slots of one of twice its size. */
static void inflight_grow(struct inflight *inflight)
{
	struct inflight grown = *inflight;

	grown.capacity = inflight->capacity == 0 ? INFLIGHT_CAPACITY_FIRST : inflight->capacity * 2;
	grown.entries = must_alloc(grown.capacity * sizeof(*grown.entries));
	for (size_t i = 0; i < inflight->capacity; i++)
		if (inflight->entries[i].state != INFLIGHT_FREE)
			*inflight_slot(&grown, inflight->entries[i].packet_id) =
				inflight->entries[i];
	if (inflight->members != NULL) {
		grown.members = must_alloc(grown.capacity * sizeof(*grown.members));
		for (size_t i = 0; i < inflight->capacity; i++)
			if (inflight->entries[i].state != INFLIGHT_FREE)
				grown.members[inflight->entries[i].packet_id &
				              (grown.capacity - 1)] = inflight->members[i];
	}
	free(inflight->members);
	free(inflight->entries);
	*inflight = grown;
}

void inflight_lend(struct inflight *inflight, const struct inflight_entry *entry,
                   struct member *member)
{
	if (inflight->members == NULL && member != NULL)
		inflight->members = must_alloc(inflight->capacity * sizeof(*inflight->members));
	if (inflight->members != NULL)
		inflight->members[entry - inflight->entries] = member;
}

struct member *inflight_member(const struct inflight *inflight, const struct inflight_entry *entry)
{
	return inflight->members != NULL ? inflight->members[entry - inflight->entries] : NULL;
}

void inflight_take_back(struct inflight *inflight, struct inflight_entry *entry)
{
	entry->state = INFLIGHT_FREE;
	inflight->count--;
}

struct inflight_entry *inflight_add(struct inflight *inflight, struct message *message, uint8_t qos,
                                    bool retain)
{
	struct inflight_entry *entry;
	uint16_t packet_id = inflight->packet_id;

	if (inflight->count * 2 >= inflight->capacity)
		inflight_grow(inflight);
	do { /* ends: half of the slots are free, and consecutive ids reach all slots */
		packet_id = (uint16_t)(packet_id == UINT16_MAX ? 1 : packet_id + 1);
		entry = inflight_slot(inflight, packet_id);
	} while (entry->state != INFLIGHT_FREE);
	inflight->packet_id = packet_id;
	inflight->count++;
	*entry = (struct inflight_entry){
		.message = message,
		.order = ++inflight->order & INFLIGHT_ORDER_MASK,
		.packet_id = packet_id,
		.state = qos == 1 ? INFLIGHT_AWAITS_PUBACK : INFLIGHT_AWAITS_PUBREC,
		.retain = retain,
	};
	inflight_lend(inflight, entry, NULL); /* the slot may be of an earlier one */
	return entry;
}

void inflight_restore(struct inflight *inflight, const struct inflight_entry *entry)
{
	/* Ends: in a table of 65,536 slots each packet id has its own. */
	while (inflight->count * 2 >= inflight->capacity ||
	       inflight_slot(inflight, entry->packet_id)->state != INFLIGHT_FREE)
		inflight_grow(inflight);
	*inflight_slot(inflight, entry->packet_id) = *entry;
	inflight_slot(inflight, entry->packet_id)->order = ++inflight->order & INFLIGHT_ORDER_MASK;
	inflight->count++;
	inflight->packet_id = entry->packet_id;
}

struct inflight_entry *inflight_find(const struct inflight *inflight, uint16_t packet_id)
{
	struct inflight_entry *entry;

	if (inflight->capacity == 0)
		return NULL;
	entry = inflight_slot(inflight, packet_id);
	return entry->state != INFLIGHT_FREE && entry->packet_id == packet_id ? entry : NULL;
}

static void entry_drop_message(struct inflight_entry *entry)
{
	if (entry->message != NULL)
		message_release(entry->message, MESSAGE_REFERENCE);
	entry->message = NULL;
}

int inflight_acknowledge(struct inflight *inflight, uint8_t type, uint16_t packet_id)
{
	static const uint8_t answers[] = {
		[INFLIGHT_AWAITS_PUBACK] = CODEC_PUBACK,
		[INFLIGHT_AWAITS_PUBREC] = CODEC_PUBREC,
		[INFLIGHT_AWAITS_PUBCOMP] = CODEC_PUBCOMP,
	};
	struct inflight_entry *entry = inflight_find(inflight, packet_id);

	if (entry == NULL || (entry->state == INFLIGHT_AWAITS_PUBCOMP && type == CODEC_PUBREC))
		return 0;
	if (answers[entry->state] != type)
		return -EPROTO;
	entry_drop_message(entry);
	if (type == CODEC_PUBREC) {
		entry->state = INFLIGHT_AWAITS_PUBCOMP;
		entry->order = ++inflight->order & INFLIGHT_ORDER_MASK;
		return 0;
	}
	entry->state = INFLIGHT_FREE;
	inflight->count--;
	return 0;
}

static int entry_compare(const void *left, const void *right)
{
	const struct inflight_entry *a = *(struct inflight_entry *const *)left;
	const struct inflight_entry *b = *(struct inflight_entry *const *)right;
	const bool a_first = a->state == INFLIGHT_AWAITS_PUBCOMP;
	const bool b_first = b->state == INFLIGHT_AWAITS_PUBCOMP;

	if (a_first != b_first)
		return a_first ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

struct inflight_entry **inflight_sorted(const struct inflight *inflight)
{
	struct inflight_entry **sorted =
		must_alloc((inflight->count + 1) * sizeof(struct inflight_entry *));
	size_t count = 0;

	for (size_t i = 0; i < inflight->capacity; i++)
		if (inflight->entries[i].state != INFLIGHT_FREE)
			sorted[count++] = &inflight->entries[i];
	qsort(sorted, count, sizeof(*sorted), entry_compare);
	return sorted;
}

void inflight_settle(struct inflight *inflight, uint64_t attempted)
{
	for (size_t i = 0; i < inflight->capacity; i++) {
		struct inflight_entry *entry = &inflight->entries[i];

		if (entry->order <= attempted)
			entry->attempted = true;
	}
}

void inflight_clear(struct inflight *inflight)
{
	for (size_t i = 0; i < inflight->capacity; i++)
		if (inflight->entries[i].state != INFLIGHT_FREE)
			entry_drop_message(&inflight->entries[i]);
	free(inflight->members);
	free(inflight->entries);
	inflight->members = NULL;
	inflight->entries = NULL;
	inflight->capacity = 0;
	inflight->count = 0;
}
