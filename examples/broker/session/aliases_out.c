/* SPDX-License-Identifier: MIT */
/* Topic aliases in packets to a client; see aliases_out.h. */
#include "session/aliases_out.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"

#define ALIASES_OUT_WAYS 4
#define ALIASES_OUT_SAVED 3 /* bytes of an alias: a topic that is not longer gets none */

struct alias_place {
	uint64_t hash;
	char *topic; /* NULL: the place is free */
	uint16_t size;
	uint8_t uses; /* halved at each look for a place */
};

struct aliases_out {
	uint16_t count;
	uint16_t misses;
	struct alias_place places[]; /* the number of each is its index plus 1 */
};

static struct aliases_out *aliases_create(uint16_t most)
{
	const uint16_t count = most < ALIASES_OUT_MAX ? most : ALIASES_OUT_MAX;
	struct aliases_out *aliases =
		calloc(1, sizeof(*aliases) + count * sizeof(struct alias_place));

	if (aliases != NULL)
		aliases->count = count;
	return aliases;
}

static bool place_has(const struct alias_place *place, uint64_t hash, struct slice topic)
{
	return place->topic != NULL && place->hash == hash && place->size == topic.size &&
	       memcmp(place->topic, topic.bytes, topic.size) == 0;
}

/* A place for the topic among its four; NULL: it gets none. */
static struct alias_place *aliases_victim(struct aliases_out *aliases, uint64_t hash)
{
	struct alias_place *victim = NULL;

	for (unsigned int way = 0; way < ALIASES_OUT_WAYS; way++) {
		struct alias_place *place = &aliases->places[(hash + way) % aliases->count];

		if (place->topic == NULL)
			return place;
	}
	if (++aliases->misses % ALIASES_OUT_MISSES != 0)
		return NULL;
	for (unsigned int way = 0; way < ALIASES_OUT_WAYS; way++) {
		struct alias_place *place = &aliases->places[(hash + way) % aliases->count];

		if (place->uses == 0)
			victim = place;
		place->uses /= 2;
	}
	return victim;
}

struct packet_alias aliases_out_choose(struct aliases_out **aliases, uint16_t most,
                                       struct slice topic)
{
	const uint64_t hash = hash_bytes(topic.bytes, topic.size, 0);
	struct alias_place *place;
	char *copy;

	if (topic.size <= ALIASES_OUT_SAVED || topic.size > ALIASES_OUT_TOPIC)
		return (struct packet_alias){0};
	if (*aliases == NULL)
		*aliases = aliases_create(most);
	if (*aliases == NULL)
		return (struct packet_alias){0};
	for (unsigned int way = 0; way < ALIASES_OUT_WAYS; way++) {
		const size_t at = (hash + way) % (*aliases)->count;

		place = &(*aliases)->places[at];
		if (place_has(place, hash, topic)) {
			if (place->uses < UINT8_MAX)
				place->uses++;
			return (struct packet_alias){(uint16_t)(at + 1), true};
		}
	}
	place = aliases_victim(*aliases, hash);
	copy = place != NULL ? malloc(topic.size) : NULL;
	if (copy == NULL)
		return (struct packet_alias){0};
	free(place->topic);
	memcpy(copy, topic.bytes, topic.size);
	*place = (struct alias_place){.hash = hash, .topic = copy, .size = (uint16_t)topic.size};
	return (struct packet_alias){(uint16_t)(place - (*aliases)->places + 1), false};
}

void aliases_out_free(struct aliases_out *aliases)
{
	for (uint16_t i = 0; aliases != NULL && i < aliases->count; i++)
		free(aliases->places[i].topic);
	free(aliases);
}
