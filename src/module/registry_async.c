/* SPDX-License-Identifier: MIT */
/* Acquires an object by name without waiting: a task of the registry's resource (registry.c). */
#include "module/registry.h"

#include "base/checked.h"
#include "base/refused.h"
#include "future/future.h"

#include <errno.h>

BATON_EXPORT void baton_registry_request_init(struct baton_registry_request *request)
{
	*request = (struct baton_registry_request)BATON_REGISTRY_REQUEST_INIT;
}

/* A task of the registry's resource. */
static int run_asked(struct baton_task *task)
{
	struct baton_registry_request *asked =
		baton_container_of(task, struct baton_registry_request, _task);
	struct baton__search request = {.registry = asked->_registry,
	                                .key._name = asked->_name,
	                                .key._hash = asked->_hash,
	                                .key._length = asked->_length};

	(void)baton__registry_get_or_make(&request);
	asked->_entry = request.entry;
	return request.error;
}

BATON_EXPORT int baton_registry_acquire_async(struct baton_registry *registry, const void *name,
                                              size_t length, struct baton_registry_request *asked)
{
	struct baton__search request;
	int error;

	if (!baton__future_fresh(&asked->future))
		return BATON__ANSWER(NULL, baton__refused("baton_registry_acquire_async: the "
		                                          "request's future is not fresh"));
	error = baton__registry_find(&request, registry, name, length);
	if (!error) {
		asked->_entry = request.entry;
		/* The future is fresh, so no other thread completes it (future.once). */
		baton__future_finish(&asked->future, BATON__FUTURE_DONE, 0, NULL, NULL);
	}
	if (error != -ENOENT)
		return error;
	asked->_registry = registry;
	asked->_name = request.key._name;
	asked->_hash = request.key._hash;
	asked->_length = request.key._length;
	baton_task_init(&asked->_task, run_asked, &asked->future);
	return baton_submit(baton_registry_resource(registry), &asked->_task);
}

BATON_EXPORT struct baton_registry_entry *baton_registry_request_entry(
	const struct baton_registry_request *asked)
{
	return baton__future_final(&asked->future) ? asked->_entry : NULL;
}
