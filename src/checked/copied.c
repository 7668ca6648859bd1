/* SPDX-License-Identifier: MIT */
#include "checked/copied.h"

#include <string.h>

/* What a search for the original of a copied resource looks for, and finds. */
struct original {
	const struct baton_resource *copy;
	const void *object;
	size_t count;
	char name[BATON__RECORD_NAME_MAX];
};

static void compare_extras(struct baton__record *record, void *arg)
{
	struct original *original = arg;

	if (record->object == original->copy || !record->extras ||
	    record->extras != original->copy->_extras)
		return;
	original->count++;
	original->object = record->object;
	memcpy(original->name, record->name, sizeof(original->name));
}

void baton__mistake_copied(struct baton__mistake *mistake, const struct baton_resource *resource)
{
	struct original original = {.copy = resource};

	if (baton__records_lost())
		return;
	baton__records_each(BATON__RECORD_RESOURCE, compare_extras, &original);
	if (original.count > 1)
		baton__mistake(mistake, NULL,
		               "at %p was copied from another one of its config while that was in "
		               "use, or was never initialised: use a resource where it was "
		               "initialised, by its address",
		               (const void *)resource);
	else if (original.object)
		baton__mistake(mistake, original.name,
		               "was copied from %p to %p while it was in use: use a resource where "
		               "it was initialised, by its address",
		               original.object, (const void *)resource);
	else
		baton__mistake(mistake, NULL,
		               "at %p was never initialised: use BATON_RESOURCE_INIT, "
		               "baton_resource_init or zeroed memory",
		               (const void *)resource);
}
