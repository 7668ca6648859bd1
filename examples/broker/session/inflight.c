/* SPDX-License-Identifier: MIT */
/* Messages on their way to a client; see inflight.h. */
#include "session/inflight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	if (inflight->beside != NULL)
		grown.beside = must_alloc(grown.capacity * sizeof(*grown.beside));
	for (size_t i = 0; i < inflight->capacity; i++) {
		struct inflight_entry *to = inflight_slot(&grown, inflight->entries[i].packet_id);

		if (inflight->entries[i].state == INFLIGHT_FREE)
			continue;
		*to = inflight->entries[i];
		if (inflight->beside != NULL)
			grown.beside[to - grown.entries] = inflight->beside[i];
	}
	free(inflight->beside);
	free(inflight->entries);
	*inflight = grown;
}

/* What is beside the entry. NULL: the table has nothing of the kind. */
static struct inflight_beside *inflight_beside(const struct inflight *inflight,
                                               const struct inflight_entry *entry)
{
	return inflight->beside != NULL ? &inflight->beside[entry - inflight->entries] : NULL;
}

static struct inflight_beside *inflight_make_beside(struct inflight *inflight,
                                                    const struct inflight_entry *entry)
{
	if (inflight->beside == NULL)
		inflight->beside = must_alloc(inflight->capacity * sizeof(*inflight->beside));
	return inflight_beside(inflight, entry);
}

void inflight_lend(struct inflight *inflight, const struct inflight_entry *entry,
                   struct member *member)
{
	inflight_make_beside(inflight, entry)->member = member;
}

struct member *inflight_member(const struct inflight *inflight, const struct inflight_entry *entry)
{
	const struct inflight_beside *beside = inflight_beside(inflight, entry);

	return beside != NULL ? beside->member : NULL;
}

void inflight_identify(struct inflight *inflight, const struct inflight_entry *entry,
                       struct slice identifiers)
{
	struct inflight_identifiers *copy;

	if (identifiers.size == 0)
		return;
	copy = must_alloc(sizeof(*copy) + identifiers.size);
	copy->size = identifiers.size;
	memcpy(copy->bytes, identifiers.bytes, identifiers.size);
	inflight_make_beside(inflight, entry)->identifiers = copy;
}

struct slice inflight_identifiers(const struct inflight *inflight,
                                  const struct inflight_entry *entry)
{
	const struct inflight_beside *beside = inflight_beside(inflight, entry);
	const struct inflight_identifiers *found = beside != NULL ? beside->identifiers : NULL;

	return found != NULL ? (struct slice){found->bytes, found->size} : (struct slice){NULL, 0};
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
	if (inflight->beside != NULL)
		inflight_lend(inflight, entry, NULL); /* the slot may be of an earlier one */
	return entry;
}

struct inflight_entry *inflight_restore(struct inflight *inflight,
                                        const struct inflight_entry *entry)
{
	struct inflight_entry *restored;

	/* Ends: in a table of 65,536 slots each packet id has its own. */
	while (inflight->count * 2 >= inflight->capacity ||
	       inflight_slot(inflight, entry->packet_id)->state != INFLIGHT_FREE)
		inflight_grow(inflight);
	restored = inflight_slot(inflight, entry->packet_id);
	*restored = *entry;
	restored->order = ++inflight->order & INFLIGHT_ORDER_MASK;
	inflight->count++;
	inflight->packet_id = entry->packet_id;
	return restored;
}

struct inflight_entry *inflight_find(const struct inflight *inflight, uint16_t packet_id)
{
	struct inflight_entry *entry;

	if (inflight->capacity == 0)
		return NULL;
	entry = inflight_slot(inflight, packet_id);
	return entry->state != INFLIGHT_FREE && entry->packet_id == packet_id ? entry : NULL;
}

static void entry_drop_identifiers(struct inflight *inflight, const struct inflight_entry *entry)
{
	struct inflight_beside *beside = inflight_beside(inflight, entry);

	if (beside == NULL)
		return;
	free(beside->identifiers);
	beside->identifiers = NULL;
}

static void entry_drop_message(struct inflight *inflight, struct inflight_entry *entry)
{
	if (entry->message != NULL)
		message_release(entry->message, MESSAGE_REFERENCE);
	entry->message = NULL;
	entry_drop_identifiers(inflight, entry);
}

void inflight_drop(struct inflight *inflight, struct inflight_entry *entry)
{
	entry_drop_message(inflight, entry);
	inflight_take_back(inflight, entry);
}

void inflight_take_back(struct inflight *inflight, struct inflight_entry *entry)
{
	entry_drop_identifiers(inflight, entry);
	entry->state = INFLIGHT_FREE;
	inflight->count--;
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
	if (type == CODEC_PUBREC) {
		entry_drop_message(inflight, entry);
		entry->state = INFLIGHT_AWAITS_PUBCOMP;
		entry->order = ++inflight->order & INFLIGHT_ORDER_MASK;
	} else {
		inflight_drop(inflight, entry);
	}
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
			entry_drop_message(inflight, &inflight->entries[i]);
	free(inflight->beside);
	free(inflight->entries);
	inflight->beside = NULL;
	inflight->entries = NULL;
	inflight->capacity = 0;
	inflight->count = 0;
}
