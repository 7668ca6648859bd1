/* SPDX-License-Identifier: MIT */
/* The subscribers that get a topic's messages; see audience.h. */
#include "topic/audience.h"

#include <stdlib.h>

#include "common/hash.h"

#define AUDIENCE_CAPACITY_FIRST 8

/* The slot of this session, or the free slot where it belongs. Ends: half of the slots are free. */
static uint32_t *audience_slot(const struct audience *audience, const struct session *session)
{
	const size_t mask = 2 * audience->capacity - 1;
	size_t at = hash_bytes(&session, sizeof(struct session *), 0) & mask;

	while (audience->slots[at] != 0 &&
	       audience->entries[audience->slots[at] - 1].session != session)
		at = (at + 1) & mask;
	return &audience->slots[at];
}

static bool audience_grow(struct audience *audience)
{
	const size_t capacity =
		audience->capacity == 0 ? AUDIENCE_CAPACITY_FIRST : 2 * audience->capacity;
	uint32_t *slots = calloc(2 * capacity, sizeof(*slots));
	struct audience_entry *entries =
		slots == NULL ? NULL : realloc(audience->entries, capacity * sizeof(*entries));

	if (entries == NULL) {
		free(slots);
		return false;
	}
	free(audience->slots);
	audience->slots = slots;
	audience->entries = entries;
	audience->capacity = capacity;
	for (size_t i = 0; i < audience->count; i++)
		*audience_slot(audience, entries[i].session) = (uint32_t)(i + 1);
	return true;
}

bool audience_add(struct audience *audience, struct session *session, uint8_t qos)
{
	uint32_t *slot;

	if (audience->count == audience->capacity && !audience_grow(audience))
		return false;
	slot = audience_slot(audience, session);
	if (*slot == 0) {
		audience->entries[audience->count++] = (struct audience_entry){session, qos};
		*slot = (uint32_t)audience->count;
	} else if (audience->entries[*slot - 1].qos < qos) {
		audience->entries[*slot - 1].qos = qos;
	}
	return true;
}

void audience_seal(struct audience *audience)
{
	struct audience_entry *entries;

	free(audience->slots);
	audience->slots = NULL;
	if (audience->count == audience->capacity)
		return;
	entries = realloc(audience->entries, audience->count * sizeof(*entries));
	if (entries == NULL)
		return; /* it stays as large as it is */
	audience->entries = entries;
	audience->capacity = audience->count;
}

void audience_clear(struct audience *audience)
{
	free(audience->slots);
	free(audience->entries);
	*audience = (struct audience){0};
}

size_t audience_memory(const struct audience *audience)
{
	return audience->capacity * sizeof(*audience->entries);
}
