/* SPDX-License-Identifier: MIT */
/*
 * The subscribers that get a topic's messages; see audience.h.
 *
 * Identifiers. While subscriptions are added, each identifier is a link in a list of its entry:
 * entry->identifiers is the index of the first link plus 1. Sealing makes the bytes of each list,
 * those without "no local" first, behind two sizes: of the bytes for the session's own messages,
 * and of all. Then entry->identifiers is the place of the two sizes in `bytes`, plus 1.
 */
#include "topic/audience.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "mqtt/properties.h"

#define AUDIENCE_CAPACITY_FIRST 8

struct audience_link {
	uint32_t identifier;
	uint32_t next : 31; /* as in the entry */
	uint32_t no_local : 1;
};

struct audience_identifiers {
	struct audience_link *links; /* until the audience is sealed */
	size_t count;
	size_t capacity;
	size_t size; /* of `bytes` */
	unsigned char *bytes;
};

struct audience_sizes {
	uint32_t own;
	uint32_t all;
};

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

/* Puts the identifier before those that the entry has. */
static bool audience_identify(struct audience *audience, struct audience_entry *entry,
                              union subscription_options options)
{
	struct audience_identifiers *all = audience->identifiers;
	struct audience_link *links;

	if (all == NULL) {
		all = calloc(1, sizeof(*all));
		if (all == NULL)
			return false;
		audience->identifiers = all;
	}
	if (all->count == all->capacity) {
		const size_t capacity =
			all->capacity == 0 ? AUDIENCE_CAPACITY_FIRST : 2 * all->capacity;

		links = realloc(all->links, capacity * sizeof(*links));
		if (links == NULL)
			return false;
		all->links = links;
		all->capacity = capacity;
	}
	all->links[all->count++] = (struct audience_link){
		.identifier = options.identifier,
		.next = entry->identifiers & INT32_MAX,
		.no_local = options.no_local,
	};
	entry->identifiers = (uint32_t)all->count;
	return true;
}

static uint8_t qos_higher(uint8_t qos, uint8_t other)
{
	return qos == AUDIENCE_NOTHING || other > qos ? other : qos;
}

bool audience_add(struct audience *audience, struct session *session,
                  union subscription_options options)
{
	struct audience_entry *entry;
	uint32_t *slot;

	if (audience->count == audience->capacity && !audience_grow(audience))
		return false;
	slot = audience_slot(audience, session);
	if (*slot == 0) {
		audience->entries[audience->count++] =
			(struct audience_entry){.session = session,
		                                .qos = AUDIENCE_NOTHING,
		                                .own_qos = AUDIENCE_NOTHING,
		                                .plain = true};
		*slot = (uint32_t)audience->count;
	}
	entry = &audience->entries[*slot - 1];
	entry->qos = qos_higher(entry->qos, options.qos);
	entry->plain &=
		(options.no_local | options.retain_as_published) == 0 && options.identifier == 0;
	entry->retain |= options.retain_as_published;
	if (options.no_local) {
		entry->no_local = true;
	} else {
		entry->own_qos = qos_higher(entry->own_qos, options.qos);
		entry->own_retain |= options.retain_as_published;
	}
	return options.identifier == 0 || audience_identify(audience, entry, options);
}

/* Writes the identifiers of the list that have that "no local"; returns how many bytes. */
static uint32_t identifiers_put(const struct audience_identifiers *all, uint32_t first,
                                bool no_local, unsigned char *out)
{
	uint32_t size = 0;

	for (uint32_t at = first; at != 0; at = all->links[at - 1].next)
		if (all->links[at - 1].no_local == no_local)
			size += (uint32_t)properties_put_id(out + size,
			                                    all->links[at - 1].identifier);
	return size;
}

static void audience_seal_entry(struct audience_identifiers *all, struct audience_entry *entry)
{
	unsigned char *at = all->bytes + all->size;
	unsigned char *out = at + sizeof(struct audience_sizes);
	struct audience_sizes sizes;

	if (entry->identifiers == 0)
		return;
	sizes.own = identifiers_put(all, entry->identifiers, false, out);
	sizes.all = sizes.own + identifiers_put(all, entry->identifiers, true, out + sizes.own);
	memcpy(at, &sizes, sizeof(sizes));
	entry->identifiers = (uint32_t)all->size + 1;
	all->size += sizeof(sizes) + sizes.all;
}

static bool audience_seal_identifiers(struct audience *audience)
{
	struct audience_identifiers *all = audience->identifiers;
	/* There are no more entries with identifiers than identifiers. */
	const size_t most = all->count * (sizeof(struct audience_sizes) + PROPERTIES_ID_MAX);
	unsigned char *bytes = most < UINT32_MAX ? malloc(most) : NULL;

	if (bytes == NULL)
		return false;
	all->bytes = bytes;
	for (size_t i = 0; i < audience->count; i++)
		audience_seal_entry(all, &audience->entries[i]);
	free(all->links);
	all->links = NULL;
	bytes = all->size > 0 ? realloc(all->bytes, all->size) : NULL;
	if (bytes != NULL) /* else it stays as large as it is */
		all->bytes = bytes;
	return true;
}

void audience_keep(struct audience *audience,
                   bool (*keep)(const struct session *session, void *arg), void *arg)
{
	size_t kept = 0;

	for (size_t i = 0; i < audience->count; i++)
		if (keep(audience->entries[i].session, arg))
			audience->entries[kept++] = audience->entries[i];
	audience->count = kept;
	if (kept == 0)
		audience_clear(audience);
}

bool audience_seal(struct audience *audience)
{
	struct audience_entry *entries;

	free(audience->slots);
	audience->slots = NULL;
	if (audience->identifiers != NULL && !audience_seal_identifiers(audience))
		return false;
	if (audience->count == audience->capacity)
		return true;
	entries = realloc(audience->entries, audience->count * sizeof(*entries));
	if (entries == NULL)
		return true; /* it stays as large as it is */
	audience->entries = entries;
	audience->capacity = audience->count;
	return true;
}

void audience_clear(struct audience *audience)
{
	if (audience->identifiers != NULL) {
		free(audience->identifiers->links);
		free(audience->identifiers->bytes);
		free(audience->identifiers);
	}
	free(audience->slots);
	free(audience->entries);
	*audience = (struct audience){0};
}

size_t audience_memory(const struct audience *audience)
{
	const struct audience_identifiers *all = audience->identifiers;

	return audience->capacity * sizeof(*audience->entries) +
	       (all != NULL ? sizeof(*all) + all->size : 0);
}

struct slice audience_identifiers(const struct audience *audience,
                                  const struct audience_entry *entry, bool own)
{
	const unsigned char *at;
	struct audience_sizes sizes;

	if (entry->identifiers == 0)
		return (struct slice){NULL, 0};
	at = audience->identifiers->bytes + entry->identifiers - 1;
	memcpy(&sizes, at, sizeof(sizes));
	return (struct slice){(const char *)at + sizeof(sizes), own ? sizes.own : sizes.all};
}
