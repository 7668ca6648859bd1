/* SPDX-License-Identifier: MIT */
/* The checks of resources. */
#include "checked/objects.h"

#include "checked/copied.h"
#include "core/config.h"
#include "core/word.h"

#include <string.h>

#define RESERVED (sizeof(((struct baton_resource_config *)NULL)->_reserved) / sizeof(uint64_t))

static uint64_t sum_config(const struct baton_resource_config *config)
{
	const unsigned char *bytes = (const unsigned char *)config;
	uint64_t sum = UINT64_C(0xCBF29CE484222325);

	for (size_t i = 0; config && i < sizeof(*config); i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001B3);
	return sum;
}

static void copy_bounded(char copy[BATON__RECORD_NAME_MAX], const char *name)
{
	copy[0] = 0;
	if (name)
		(void)strncpy(copy, name, BATON__RECORD_NAME_MAX - 1);
	copy[BATON__RECORD_NAME_MAX - 1] = 0;
}

/* What tells a resource from another one that has come to the same address. */
static bool same(const struct baton__record *record, const struct baton_resource *resource)
{
	return record->extras == resource->_extras;
}

/* Notes what identifies a resource that has not been seen at this address before. */
static void sign(struct baton__record *record, const struct baton_resource *resource,
                 const char *call)
{
	record->extras = resource->_extras;
	record->config = baton__config(resource);
	record->config_sum = sum_config(record->config);
	record->gone = false;
	record->left = false;
	record->used = false;
	record->suspended = 0;
	copy_bounded(record->name, baton__name(resource));
	baton__records_note(record, call);
}

/* Does the call belong to the set-up, during which the config may still be filled in? */
static bool sets_up(const char *call)
{
	return strcmp(call, "baton_resource_init") == 0 ||
	       strncmp(call, "baton_resource_set_", strlen("baton_resource_set_")) == 0;
}

/* Has the program changed what it must not change after the first use? */
static void look_at_constants(struct baton__record *record, const struct baton_resource *resource,
                              const char *call, struct baton__mistake *mistake)
{
	char name[BATON__RECORD_NAME_MAX];

	if (record->used && record->config_sum != sum_config(record->config)) {
		baton__mistake(mistake, record->name,
		               "has a config that has changed, or is gone, since %s (thread %d): "
		               "the config must outlive the resource and not change",
		               record->call, (int)record->thread);
		return;
	}
	copy_bounded(name, baton__name(resource));
	/* name_of may return another name: then another resource of this config lies here now. */
	if (record->used && !(record->config && record->config->name_of) &&
	    strcmp(name, record->name) != 0)
		baton__mistake(mistake, record->name,
		               "has another name now, since %s (thread %d): the name must live as "
		               "long as the resource, and not change",
		               record->call, (int)record->thread);
	if (!record->used) {
		record->config_sum = sum_config(record->config);
		record->used = !sets_up(call);
	}
	memcpy(record->name, name, sizeof(name));
}

static void look_at_config(const struct baton__record *record, struct baton__mistake *mistake)
{
	for (size_t i = 0; record->config && i < RESERVED; i++)
		if (record->config->_reserved[i])
			baton__mistake(mistake, record->name,
			               "has a config whose last members are not zero: initialise "
			               "it by BATON_RESOURCE_CONFIG_INIT or by designated "
			               "initialisers");
}

/* Has the submit of one of the queue's newest records returned (`accepted`)? */
static bool has_accepted(const struct baton__record *record)
{
	const struct baton__record *task = record->newest;

	for (size_t looks = 0; task && looks < LOOKS_MAX; looks++) {
		if (task->accepted)
			return true;
		task = task->older;
	}
	return false;
}

/* The record says that tasks wait in the resource: is the resource busy, and still the same? */
static void look_at_queue(const struct baton__record *record, const struct baton_resource *resource,
                          struct baton__mistake *mistake)
{
	const bool idle = !baton__word_is_busy(baton__word(resource));

	if (!same(record, resource) || (idle && has_accepted(record)))
		baton__mistake(mistake, record->name,
		               "was zeroed, initialised anew or overwritten while %zu task%s in it "
		               "(the last by %s, thread %d): close and await it first",
		               record->tasks, record->tasks > 1 ? "s wait" : " waits",
		               record->newest->call, (int)record->newest->thread);
}

void baton__check_resource(struct baton_resource *resource, const char *call)
{
	struct baton__mistake mistake = {.text = ""};
	struct baton__record *record;
	bool copied = false;

	if (!resource)
		BATON_MISUSE(call, "the resource is NULL: give the address of a resource");
	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_get(resource, BATON__RECORD_RESOURCE);
	if (!record || (record->left && !record->gone && same(record, resource))) {
		baton__records_unlock(resource, BATON__RECORD_RESOURCE);
		return;
	}
	if (record->gone && baton__word_is_closed(baton__word(resource)) && same(record, resource))
		baton__mistake(&mistake, record->name,
		               "is no resource any more, since %s (thread %d): initialise it anew "
		               "before it is used again",
		               record->call, (int)record->thread);
	else if (record->tasks)
		look_at_queue(record, resource, &mistake);
	else if (!record->call || record->gone || !same(record, resource)) {
		copied = baton__word_is_busy(baton__word(resource));
		if (!copied)
			sign(record, resource, call);
		if (!copied)
			look_at_config(record, &mistake);
	}
	if (!mistake.text[0] && !copied)
		look_at_constants(record, resource, call, &mistake);
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
	if (copied)
		baton__mistake_copied(&mistake, resource);
	baton__mistake_end(&mistake, call);
}

void baton__check_left(struct baton_resource *resource)
{
	struct baton__record *record;

	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_find(resource, BATON__RECORD_RESOURCE);
	if (record)
		record->left = true;
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
}

void baton__check_deinit(struct baton_resource *resource, const char *call)
{
	struct baton__record *record;

	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_find(resource, BATON__RECORD_RESOURCE);
	if (record) {
		record->gone = true;
		baton__records_note(record, call);
	}
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
}

void baton__check_suspended(struct baton_resource *resource, bool more)
{
	struct baton__record *record;

	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_find(resource, BATON__RECORD_RESOURCE);
	if (record && (more || record->suspended))
		record->suspended += more ? 1 : SIZE_MAX;
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
}

/* The library itself may use the resource first: for a timer or a fan-out. Called before the
 * capture, so that no other thread finds the resource busy and unknown. A busy resource that is
 * unknown stays unknown: another thread captures it. */
void baton__check_use(struct baton_resource *resource)
{
	struct baton__record *record;

	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_get(resource, BATON__RECORD_RESOURCE);
	if (record && !record->tasks &&
	    (!record->call || record->gone || !same(record, resource)) &&
	    !baton__word_is_busy(baton__word(resource)))
		sign(record, resource, "a timer, trigger, continuation or the like");
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
}

/* What lay at this address before is forgotten. */
void baton__check_init(struct baton_resource *resource, const char *call)
{
	struct baton__mistake mistake = {.text = ""};
	struct baton__record *record;

	if (!resource)
		BATON_MISUSE(call, "the resource is NULL: give the address of a resource");
	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_find(resource, BATON__RECORD_RESOURCE);
	if (record && record->tasks)
		baton__mistake(
			&mistake, record->name,
			"is initialised anew while %zu task%s in it (the last by %s, thread %d): "
			"close and await it first",
			record->tasks, record->tasks > 1 ? "s wait" : " waits",
			record->newest->call, (int)record->newest->thread);
	else if (record)
		baton__records_forget(record);
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
	baton__mistake_end(&mistake, call);
}

void baton__check_hand_off(struct baton_resource *resource, const void *executor)
{
	struct baton__mistake mistake = {.text = ""};
	struct baton__record copy = {.gone = false};
	const struct baton__record *record;

	baton__records_lock(executor, BATON__RECORD_OWNED);
	record = baton__records_find(executor, BATON__RECORD_OWNED);
	if (record)
		copy = *record;
	baton__records_unlock(executor, BATON__RECORD_OWNED);
	if (!copy.gone)
		return;
	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_find(resource, BATON__RECORD_RESOURCE);
	/* A resource made after that executor's end has another executor, at the same address. */
	if (record && record->serial < copy.serial)
		baton__mistake(&mistake, record->name,
		               "is handed off to an executor that %s has ended (thread %d): close "
		               "and await the resource before its executor ends",
		               copy.call, (int)copy.thread);
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
	baton__mistake_end(&mistake, "baton_submit");
}
