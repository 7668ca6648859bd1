/* SPDX-License-Identifier: MIT */
/* Topic aliases of a client; see aliases.h. */
#include "aliases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int alias_give(struct alias *alias, struct slice topic)
{
	char *copy;

	if (alias->topic != NULL && names_equal((struct slice){alias->topic, alias->size}, topic))
		return 0;
	copy = realloc(alias->topic, topic.size);
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, topic.bytes, topic.size);
	*alias = (struct alias){copy, topic.size};
	return 0;
}

int aliases_apply(struct alias **table, unsigned int count, uint16_t number, struct slice *topic)
{
	struct alias *alias;

	if (topic->size == 0 && (*table == NULL || (*table)[number - 1].topic == NULL))
		return -EBADMSG;
	if (*table == NULL)
		*table = calloc(count, sizeof(**table));
	if (*table == NULL)
		return -ENOMEM;
	alias = &(*table)[number - 1];
	if (topic->size > 0)
		return alias_give(alias, *topic);
	*topic = (struct slice){alias->topic, alias->size};
	return 0;
}

void aliases_free(struct alias *table, unsigned int count)
{
	for (unsigned int i = 0; table != NULL && i < count; i++)
		free(table[i].topic);
	free(table);
}
