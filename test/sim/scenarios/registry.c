/* SPDX-License-Identifier: MIT */
/*
 * The registry: references, ends, names. What Concurrency Kit does is one step here, without old
 * values: explored is what is built of it.
 */
#include "support.h"

struct item {
	struct baton_registry_entry entry;
	bool alive;
	uint32_t tasks; /* under its baton */
};

struct note {
	struct baton_task task;
	struct item *item;
};

static struct baton_registry *registry;
static uint32_t made, ended, ran;
static struct note notes[3];

static int item_init(struct baton_registry_entry *entry, void *arg)
{
	((struct item *)entry)->alive = true;
	made++;
	return 0;
}

static void item_deinit(struct baton_registry_entry *entry, void *arg)
{
	struct item *item = (struct item *)entry;

	sim_require(item->alive);
	item->alive = false;
	(void)add_relaxed(&ran, item->tasks);
	(void)add_relaxed(&ended, 1);
}

static int note_run(struct baton_task *task)
{
	struct note *note = baton_container_of(task, struct note, task);

	sim_require(note->item->alive);
	note->item->tasks++;
	return 0;
}

static void begin(void)
{
	const struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct item), item_init, item_deinit, NULL);

	sim_require(baton_registry_create(&options, &registry) == 0);
}

static void use(struct item *item, struct note *note)
{
	note->item = item;
	baton_task_init(&note->task, note_run, NULL);
	sim_require(baton_submit(&item->entry.resource, &note->task) == 0);
	sim_require(baton_registry_unref(&item->entry) == 0);
}

static void acquire(void *note)
{
	struct baton_registry_entry *entry;

	sim_require(baton_registry_acquire(registry, "a", 1, &entry) == 0);
	use((struct item *)entry, note);
}

static void find(void *note)
{
	struct baton_registry_entry *entry;
	int status = baton_registry_find(registry, "a", 1, &entry);

	sim_require(status == 0 || status == -ENOENT);
	if (status == 0)
		use((struct item *)entry, note);
	else
		(void)add_relaxed(&ran, 1);
}

static void remove_it(void *note)
{
	struct baton_registry_entry *entry, *other = NULL;

	sim_require(baton_registry_acquire(registry, "a", 1, &entry) == 0);
	(void)baton_registry_remove(entry);
	if (baton_registry_find(registry, "a", 1, &other) == 0) {
		sim_require(other != entry);
		sim_require(baton_registry_unref(other) == 0);
	}
	use((struct item *)entry, note);
}

static void finish(uint32_t notes_sent)
{
	sim_join_started();
	sim_require(baton_registry_destroy(registry) == 0);
	sim_require(made == ended);
	sim_require(ran == notes_sent);
}

SIM_SCENARIO(registry_acquire, "an acquire beside the last release makes another one", .bound = 2)
{
	begin();
	sim_start(acquire, &notes[0]);
	sim_start(acquire, &notes[1]);
	finish(2);
	sim_require(made == 1 || made == 2);
}

SIM_SCENARIO(registry_find, "a look-up beside the last release finds a living one, or none",
             .bound = 2)
{
	begin();
	sim_start(acquire, &notes[0]);
	sim_start(find, &notes[1]);
	finish(2);
}

SIM_SCENARIO(registry_remove, "one that is removed is replaced, and both end", .bound = 2)
{
	begin();
	sim_start(remove_it, &notes[0]);
	sim_start(acquire, &notes[1]);
	finish(2);
}

static bool visit(struct baton_registry_entry *entry, void *arg)
{
	int *visits = arg;

	sim_require(((struct item *)entry)->alive);
	(*visits)++;
	return true;
}

static void walk(void *arg)
{
	int visits = 0;

	sim_require(baton_registry_walk(registry, visit, &visits) == 0);
	sim_require(visits <= 1);
	(void)add_relaxed(&ran, 1);
}

SIM_SCENARIO(registry_walk, "a walk beside the last release keeps what it visits", .bound = 2)
{
	begin();
	sim_start(acquire, &notes[0]);
	sim_start(walk, NULL);
	finish(2);
}

static struct baton_registry_request asked[2];

/* Takes the outcome of a request, as a continuation does: without a wait that helps. */
static void take(struct baton_registry_request *request, struct note *note)
{
	struct item *item;

	sim_require(baton_future_wait(&request->future) == 0);
	item = (struct item *)baton_registry_request_entry(request);
	sim_require((baton_future_state(&request->future) == BATON_CANCELLED) == !item);
	if (item)
		use(item, note);
	else
		(void)add_relaxed(&ran, 1);
}

static void ask(void *note)
{
	sim_require(baton_registry_acquire_async(registry, "a", 1, &asked[0]) == 0);
	take(&asked[0], note);
}

static void ask_and_cancel(void *note)
{
	sim_require(baton_registry_acquire_async(registry, "a", 1, &asked[1]) == 0);
	(void)baton_future_cancel(&asked[1].future);
	take(&asked[1], note);
}

static void begin_asking(void)
{
	begin();
	baton_registry_request_init(&asked[0]);
	baton_registry_request_init(&asked[1]);
}

SIM_SCENARIO(registry_async, "a request beside the last release gets a living object", .bound = 2)
{
	begin_asking();
	sim_start(ask, &notes[0]);
	sim_start(acquire, &notes[1]);
	finish(2);
}

SIM_SCENARIO(registry_async_cancel, "a cancelled request leaves no object and no reference",
             .bound = 2)
{
	begin_asking();
	sim_start(ask_and_cancel, &notes[0]);
	sim_start(acquire, &notes[1]);
	finish(2);
}

static struct look_up {
	struct baton_continuation then;
	struct baton_task found;
	struct baton_resource resource;
} look_up;

static int look_up_found(struct baton_task *task)
{
	(void)task;
	sim_require(baton_future_is_complete(&asked[0].future));
	use((struct item *)baton_registry_request_entry(&asked[0]), &notes[0]);
	return 0;
}

/* As an event loop asks: the continuation comes after the call, beside the completion. */
static void ask_with_continuation(void *arg)
{
	sim_require(baton_registry_acquire_async(registry, "a", 1, &asked[0]) == 0);
	baton_future_then(&asked[0].future, &look_up.then);
}

SIM_SCENARIO(registry_async_then, "a request's continuation gets the object once", .daemons = true,
             .bound = 2)
{
	begin_asking();
	baton_resource_init(&look_up.resource, NULL);
	baton_task_init(&look_up.found, look_up_found, NULL);
	baton_continuation_task(&look_up.then, &look_up.resource, &look_up.found);
	sim_start(ask_with_continuation, NULL);
	sim_start(acquire, &notes[1]);
	finish(2);
	sim_require(baton_resource_close(&look_up.resource) == 0);
	sim_require(baton_resource_await(&look_up.resource) == 0);
}

SIM_SCENARIO(registry_three, "two that acquire and one that looks up", .walk_only = true)
{
	begin();
	sim_start(acquire, &notes[0]);
	sim_start(remove_it, &notes[1]);
	sim_start(find, &notes[2]);
	finish(3);
}

static struct baton_registry_entry *last;
static struct baton_future released;

static int release_run(struct baton_task *task)
{
	sim_require(baton_registry_unref(last) == 0);
	sim_require(baton_future_complete(&released, 0, NULL) == 0);
	return 0;
}

/* The object ends on this thread, once its resource is let go. */
static void release_inside(void *task)
{
	sim_require(baton_submit(&last->resource, task) == 0);
}

SIM_SCENARIO(registry_destroy, "the registry ends beside the thread that ends its last object",
             .bound = 2)
{
	static struct baton_task task;

	begin();
	baton_promise_init(&released);
	baton_task_init(&task, release_run, NULL);
	sim_require(baton_registry_acquire(registry, "a", 1, &last) == 0);
	sim_start(release_inside, &task);
	sim_require(baton_future_wait(&released) == 0);
	sim_require(baton_registry_destroy(registry) == 0);
	sim_require(ended == 1);
	sim_join_started();
}
